/* loop/expand.c: primitives that no generator has, in terms of those that they have. After fuse.c,
 * before all generators.
 *
 * A gather by rows becomes what holds its index inside the table, a product with the distance of
 * rows, and a loadx at that offset which still knows the number of its index. What row code gives
 * is made an offset of there, once a row.
 *
 * A draw from the normal distribution (Box and Muller 1958, in F64 where there is any) becomes two
 * uniform ones of the same number, kinds 0 and 2 of `random`, and vecmath's log and cos: the same
 * bits everywhere. It is one primitive until here, as nobody wants to fuse into it. What a store
 * rounds anyway need not be rounded before: operators on f16 and bf16 end so. (GPUs look for the
 * two together.) */
#include "../dync.in.h"
#include "vecmath.h"
DYNC__COLD

/* sqrt(-2 log(1 - u)) cos(2 pi v) */
static int dync__expand_normal(dync__lb *b, int number, int type)
{
    dync__inst u = dync__inst_make(DYNC__P_random, DYNC__REAL, number, -1, -1), v = u;
    dync__lb small = *b;
    v.imm.i = 2;
    small.fast_math = true; /* the angle is less than 2 pi */
    int first = dync__lb_share(b, &u, false), second = dync__lb_share(b, &v, false);
    int log = dync__vm_log(b, dync__m_sub(b, dync__m_k(b, first, 1.0), first));
    int cosine = dync__vm_cos(&small, dync__m_mulk(b, second, 6.283185307179586476925));
    return dync__lb_cast(b, dync__m_mul(b, dync__m_sqrt(b, dync__m_mulk(b, log, -2.0)), cosine),
                         type);
}

/* Linked by who draws (dync__expand_draws) in a small program. */
#if defined(DYNC_SMALL)
static int (*dync__expand_draw)(dync__lb *b, int number, int type);
DYNC__FN void dync__expand_draws(void) { dync__expand_draw = dync__expand_normal; }
#else
static int (*const dync__expand_draw)(dync__lb *b, int number, int type) = dync__expand_normal;
DYNC__FN void dync__expand_draws(void) {}
#endif

/* The value that a store rounds to what it is already. */
static const dync__inst *dync__expand_rounded(const dync__kernel *k, const dync__inst *in)
{
    const dync__inst *value = in->prim == DYNC__P_store ? &k->inst.at[in->arg[0]] : NULL;
    return value && value->prim == DYNC__P_wrap && value->imm.i == k->buf.at[in->buf].dtype ? value
                                                                                            : NULL;
}

static bool dync__expand_by_rows(const dync__kernel *k, const dync__inst *in)
{
    return in->prim == DYNC__P_loadx && !in->imm.i && k->access.at[in->access].rows > 0;
}

/* The offset of the row whose number is `index`. */
static int dync__expand_offset(dync__lb *b, int index, const dync__access *at)
{
    int zero = dync__lb_i(b, DYNC_I64, 0),
        last = dync__lb_i(b, DYNC_I64, dync__sz_sub(at->rows, 1));
    index = dync__lb_cast(b, index, DYNC_I64);
    index = dync__lb_op(b, DYNC__P_max, zero, dync__lb_op(b, DYNC__P_min, index, last, -1), -1);
    return dync__lb_op(b, DYNC__P_mul, index, dync__lb_i(b, DYNC_I64, at->row_stride), -1);
}

/* Offsets of what later gathers by rows take from instruction i, which is row code. */
static void dync__expand_ahead(dync__lb *b, const dync__kernel *k, int i, int index)
{
    if (k->inst.at[i].section & 1) return;
    for (int g = i + 1; g < k->inst.n; g++)
        if (k->inst.at[g].arg[0] == i && dync__expand_by_rows(k, &k->inst.at[g]))
            dync__expand_offset(b, index, &k->access.at[k->inst.at[g].access]);
}

static dync__kernel *dync__expand_all(dync__arena *arena, const dync__kernel *k, bool stores_round)
{
    dync__kernel *out = dync__kernel_new(arena, k->name, k->n_outer, k->n_dims, k->extent);
    int32_t *number = dync__arena_alloc(arena, (size_t)(k->inst.n + 1) * sizeof *number);
    if (!out || !number) return NULL;
    out->uses_random = k->uses_random;
    out->ordered = k->ordered;
    for (int i = 0; i < k->buf.n; i++)
        if (!dync__avec_push(arena, &out->buf, k->buf.at[i])) return NULL;
    for (int i = 0; i < k->access.n; i++)
        if (!dync__avec_push(arena, &out->access, k->access.at[i])) return NULL;
    if (!dync__kernel_bounds_of(out, k)) return NULL;
    for (int i = 0; i < k->inst.n; i++) {
        dync__inst in = k->inst.at[i];
        dync__lb b = {.k = out, .section = in.section, .origin = in.origin};
        for (int a = 0; a < 3; a++)
            if (in.arg[a] >= 0) in.arg[a] = number[in.arg[a]];
        const dync__inst *rounded = stores_round ? dync__expand_rounded(k, &k->inst.at[i]) : NULL;
        if (rounded) in.arg[0] = number[rounded->arg[0]];
        if (in.prim == DYNC__P_random && in.imm.i == 1) {
            if (!dync__expand_draw) return NULL;
            number[i] = dync__expand_draw(&b, in.arg[0], in.type);
        } else {
            if (dync__expand_by_rows(k, &in)) {
                int index = in.arg[0];
                in.arg[0] = dync__expand_offset(&b, index, &k->access.at[in.access]);
                in.imm.i = index + 1;
                if (in.arg[0] < 0) return NULL;
            }
            if (!dync__avec_push(arena, &out->inst, in)) return NULL;
            number[i] = out->inst.n - 1;
            dync__expand_ahead(&b, k, i, number[i]);
        }
    }
    return out->failed ? NULL : out;
}

DYNC__FN const dync__kernel *dync__kernel_expand(dync__arena *arena, const dync__kernel *k,
                                                 bool stores_round)
{
    bool any = false;
    for (int i = 0; i < k->inst.n; i++) {
        const dync__inst *in = &k->inst.at[i];
        any |= (in->prim == DYNC__P_random && in->imm.i == 1) || dync__expand_by_rows(k, in) ||
               (stores_round && dync__expand_rounded(k, in));
    }
    if (any && !(k = dync__expand_all(arena, k, stores_round))) dync__fail_memory(0);
    return k;
}
