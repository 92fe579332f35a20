/* tensor/dtype.c: element types: facts, promotion, and reading and writing one element.
 *
 * Promotion is torch.promote_types: within a kind the wider type; float beats int beats bool; u8
 * with a signed type gives the next signed type that holds both; f16 with bf16 gives f32. Sources:
 * pytorch/pytorch c10/core/ScalarType.h (the lattice), the documentation of torch.result_type and
 * torch.can_cast. */
#include "../dync.in.h"
#include "tensor.h"
DYNC__WARM

static const dync__dtype_row dync__dtype_rows[] = {
#define DYNC__X(id, name, c_type, bytes, kind, fx, guard, safetensors, numpy, onnx, ptx, compute) \
    [DYNC_##id] = {DYNC__TEXT(#name),                                                             \
                   bytes,                                                                         \
                   kind,                                                                          \
                   DYNC__TEXT(fx),                                                                \
                   DYNC__TEXT(guard),                                                             \
                   DYNC__TEXT(safetensors),                                                       \
                   DYNC__TEXT(numpy),                                                             \
                   onnx,                                                                          \
                   DYNC__TEXT(ptx),                                                               \
                   DYNC_##compute},
    DYNC__DTYPES(DYNC__X)
#undef DYNC__X
};

DYNC__FN bool dync__dtype_valid(int dtype)
{
    return dtype >= 0 && dtype < DYNC__COUNT_OF(dync__dtype_rows);
}
DYNC__FN const dync__dtype_row *dync__dtype_info(int dtype)
{
    return &dync__dtype_rows[dync__dtype_valid(dtype) ? dtype : DYNC_F32];
}

/* Rows apart: small programs print no C. */
DYNC__FN const char *dync__dtype_c_type(int dtype)
{
#define DYNC__X(id, name, c_type, ...) [DYNC_##id] = #c_type,
    static const char *const types[] = {DYNC__DTYPES(DYNC__X)};
#undef DYNC__X
    return types[dync__dtype_valid(dtype) ? dtype : DYNC_F32];
}
DYNC__FN const char *dync__dtype_c_name(int dtype)
{
#define DYNC__X(id, ...) [DYNC_##id] = "DYNC_" #id,
    static const char *const names[] = {DYNC__DTYPES(DYNC__X)};
#undef DYNC__X
    return names[dync__dtype_valid(dtype) ? dtype : DYNC_F32];
}

/* ---- promotion ------------------------------------------------------------------------------- */

/* 0 bool, 1 integer, 2 float */
static int dync__dtype_kind_rank(int dtype)
{
    char kind = dync__dtype_info(dtype)->kind;
    return kind == 'f' ? 2 : kind == 'i';
}

DYNC__FN int dync__promote(int a, int b)
{
    int kind_a = dync__dtype_kind_rank(a), kind_b = dync__dtype_kind_rank(b);
    int bytes_a = dync__dtype_info(a)->bytes, bytes_b = dync__dtype_info(b)->bytes;
    if (kind_a != kind_b) return kind_a > kind_b ? a : b;
    if (a == b) return a;
    if (kind_a == 2 && bytes_a == 2 && bytes_b == 2) return DYNC_F32;
    if (bytes_a == bytes_b) return DYNC_I16; /* i8 and u8 */
    return bytes_a > bytes_b ? a : b;
}

DYNC__FN void dync__promoter_add(dync__promoter *p, int dtype, int category)
{
    int *slot = category == 2 ? &p->dim_dtype : category == 1 ? &p->zero_dtype : &p->number_dtype;
    *slot = *slot < 0 ? dtype : dync__promote(*slot, dtype);
}

/* A lower category counts only where its kind is higher; then it decides, or combines with what
 * there is. */
static int dync__promoter_combine(int higher, int lower)
{
    if (higher < 0) return lower;
    if (lower < 0) return higher;
    return dync__dtype_kind_rank(lower) > dync__dtype_kind_rank(higher) ? lower : higher;
}

DYNC__FN int dync__promoter_result(const dync__promoter *p)
{
    int result = dync__promoter_combine(dync__promoter_combine(p->dim_dtype, p->zero_dtype),
                                        p->number_dtype);
    return result < 0 ? DYNC_F32 : result;
}

DYNC__FN bool dync__can_cast(int from, int to)
{
    return dync__dtype_kind_rank(from) <= dync__dtype_kind_rank(to);
}

/* ---- one element ----------------------------------------------------------------------------- */

DYNC__FN double dync__load_f64(const void *p, int dtype)
{
    float f;
    double d;
    uint16_t h;
    switch (dtype) {
    case DYNC_F32: memcpy(&f, p, 4); return (double)f;
    case DYNC_F64: memcpy(&d, p, 8); return d;
    case DYNC_F16: memcpy(&h, p, 2); return (double)dync__f16_to_f32(h);
    case DYNC_BF16: memcpy(&h, p, 2); return (double)dync__bf16_to_f32(h);
    default: return (double)dync__load_i64(p, dtype);
    }
}

/* NaN, as bits show it: comparisons may be folded away by the user's compiler flags. */
static bool dync__dtype_is_nan(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, 8);
    return (bits & INT64_MAX) > UINT64_C(0x7ff0000000000000);
}

static DYNC__ONCE int64_t dync__dtype_saturate(double x, int64_t least, int64_t most)
{
    if (dync__dtype_is_nan(x)) return 0;
    if (x <= (double)least) return least;
    /* (double)INT64_MAX is 2^63: nothing above it is converted */
    return x >= (double)most ? most : (int64_t)x;
}

DYNC__FN int64_t dync__load_i64(const void *p, int dtype)
{
    int64_t l;
    int32_t i;
    int16_t s;
    int8_t c;
    uint8_t u;
    switch (dtype) {
    case DYNC_I64: memcpy(&l, p, 8); return l;
    case DYNC_I32: memcpy(&i, p, 4); return i;
    case DYNC_I16: memcpy(&s, p, 2); return s;
    case DYNC_I8: memcpy(&c, p, 1); return c;
    case DYNC_U8: memcpy(&u, p, 1); return u;
    case DYNC_BOOL: memcpy(&u, p, 1); return u != 0;
    default: return dync__dtype_saturate(dync__load_f64(p, dtype), INT64_MIN, INT64_MAX);
    }
}

/* One rounding: through float with round-to-odd, whose last bit remembers what was cut off (Boldo
 * and Melquiond 2008). */
static float dync__dtype_round_to_odd(double x)
{
    float f = (float)x;
    uint32_t bits;
    if ((double)f == x || dync__dtype_is_nan(x)) return f;
    memcpy(&bits, &f, 4);
    if (bits & 1) return f;
    /* rounded away from zero: step back, else step on; both are odd */
    bool away = x < 0 ? (double)f < x : (double)f > x;
    bits = away ? bits - 1 : bits + 1;
    memcpy(&f, &bits, 4);
    return f;
}

DYNC__FN void dync__store_f64(void *p, int dtype, double x)
{
    float f;
    uint16_t h;
    uint8_t u;
    switch (dtype) {
    case DYNC_F32:
        f = (float)x;
        memcpy(p, &f, 4);
        break;
    case DYNC_F64: memcpy(p, &x, 8); break;
    case DYNC_F16:
        h = dync__f32_to_f16(dync__dtype_round_to_odd(x));
        memcpy(p, &h, 2);
        break;
    case DYNC_BF16:
        h = dync__f32_to_bf16(dync__dtype_round_to_odd(x));
        memcpy(p, &h, 2);
        break;
    case DYNC_I32: dync__store_i64(p, dtype, dync__dtype_saturate(x, INT32_MIN, INT32_MAX)); break;
    case DYNC_I16: dync__store_i64(p, dtype, dync__dtype_saturate(x, INT16_MIN, INT16_MAX)); break;
    case DYNC_I8: dync__store_i64(p, dtype, dync__dtype_saturate(x, INT8_MIN, INT8_MAX)); break;
    case DYNC_U8: dync__store_i64(p, dtype, dync__dtype_saturate(x, 0, UINT8_MAX)); break;
    case DYNC_BOOL:
        u = dync__dtype_is_nan(x) || x < 0 || x > 0;
        memcpy(p, &u, 1);
        break;
    default: dync__store_i64(p, dtype, dync__dtype_saturate(x, INT64_MIN, INT64_MAX)); break;
    }
}

DYNC__FN void dync__store_i64(void *p, int dtype, int64_t x)
{
    uint64_t bits = (uint64_t)x;
    uint32_t i = (uint32_t)bits;
    uint16_t s = (uint16_t)bits;
    uint8_t u = (uint8_t)bits;
    switch (dtype) {
    case DYNC_I64: memcpy(p, &x, 8); break;
    case DYNC_I32: memcpy(p, &i, 4); break;
    case DYNC_I16: memcpy(p, &s, 2); break;
    case DYNC_I8:
    case DYNC_U8: memcpy(p, &u, 1); break;
    case DYNC_BOOL:
        u = x != 0;
        memcpy(p, &u, 1);
        break;
    default: dync__store_f64(p, dtype, (double)x); break;
    }
}
