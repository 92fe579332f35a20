/* codegen/tile_each.c: the arithmetic of tiles one element at a time, by the definitions of eval.c:
 * every primitive, compute type and storage dtype in one function. Before: interp_tile.c, whose
 * loops are faster by far and of some 10 kB; a small program has those of F32 alone. */
#include "../dync.in.h"
#include "interp_tile.h"
DYNC__LEAN

static dync__scalar dync__each_get(const char *from, int dtype)
{
    dync__scalar x = {0};
    if (dtype == DYNC_F32)
        memcpy(&x.f, from, 4);
    else if (dync__is_f64(dtype))
        memcpy(&x, from, 8);
    else if (dtype == DYNC_F16 || dtype == DYNC_BF16)
        x.f = (float)dync__load_f64(from, dtype);
    else
        x.i = dync__load_i64(from, dtype);
    return x;
}

static void dync__each_put(char *to, int dtype, dync__scalar x)
{
    if (dtype == DYNC_F32)
        memcpy(to, &x.f, 4);
    else if (dync__is_f64(dtype))
        memcpy(to, &x, 8);
    else if (dtype == DYNC_F16 || dtype == DYNC_BF16)
        dync__store_f64(to, dtype, (double)x.f);
    else
        dync__store_i64(to, dtype, x.i);
}

static dync__scalar dync__each_value(int prim, int type, int arg_type, int storage,
                                     const dync__scalar *x)
{
    if (prim < DYNC__N_PRIMS)
        return dync__prim_eval(prim, type, arg_type, x[0], x[1], x[2], storage);
    int least = prim == DYNC__TILE_MINSEL;
    dync__scalar other =
        dync__prim_eval(DYNC__P_lt, DYNC_BOOL, arg_type, x[least], x[!least], x[2], 0);
    return x[other.i ? 1 : 0];
}

/* Where `to` is a storage dtype, putting rounds; of `wrap` it is what the value goes through. */
static void dync__each_one(int op, char *d, const char *const *operand)
{
    const int prim = op & 255, from = op >> 8 & 15, to = op >> 12 & 15,
              n = prim < DYNC__N_PRIMS ? dync__prim_info(prim)->n_args : 2;
    const int arg_type = dync__dtype_info(from)->compute,
              type = prim == DYNC__P_wrap ? arg_type : (int)dync__dtype_info(to)->compute;
    dync__scalar x[3] = {{0}, {0}, {0}};
    for (int k = 0; k < n; k++) {
        bool condition = k == 0 && prim == DYNC__P_select;
        x[k] = dync__each_get(operand[k], condition ? (int)DYNC_BOOL : from);
    }
    dync__each_put(d, prim == DYNC__P_wrap ? from : to,
                   dync__each_value(prim, type, arg_type, to, x));
}

DYNC__FN void dync__tile_each(int op, void *d, const void *a, const void *b, const void *c,
                              dync__size n, int scalars)
{
    const int prim = op & 255, from = op >> 8 & 15, to = op >> 12 & 15;
    const size_t bytes = dync__dtype_info(from)->bytes,
                 step[3] = {prim == DYNC__P_select ? 1 : bytes, bytes, bytes},
                 result = prim == DYNC__P_wrap ? bytes : (size_t)dync__dtype_info(to)->bytes;
    const char *block[3] = {a, b, c};
    char *out = d;
    for (; n > 0; n--) {
        for (size_t i = 0; i < DYNC__TILE_LANES; i++) {
            const char *x[3];
            for (int k = 0; k < 3; k++) x[k] = block[k] ? block[k] + i * step[k] : NULL;
            dync__each_one(op, out + i * result, x);
        }
        for (int k = 0; k < 3; k++)
            if (block[k] && !(scalars >> k & 1)) block[k] += DYNC__TILE_LANES * step[k];
        if (!(scalars >> 3 & 1)) out += DYNC__TILE_LANES * result;
    }
}

DYNC__FN int dync__tile_each_op(int prim, int from, int to) { return prim | from << 8 | to << 12; }

DYNC__FN void dync__tile_each_fold(int prim, int type, void *lanes, int half)
{
    const size_t bytes = dync__dtype_info(type)->bytes;
    for (; half > 0; half /= 2)
        for (size_t k = 0; k < (size_t)half; k++) {
            char *x = (char *)lanes + k * bytes;
            const char *operand[3] = {x, x + (size_t)half * bytes, NULL};
            dync__each_one(dync__tile_each_op(prim, type, type), x, operand);
        }
}
