/* tensor/nan.c: is there a NaN among elements? By bits, which no compiler flag touches, and without
 * a branch for each: gradients of whole models are looked through. After copy.c; before
 * aot/absent.c. */
#include "../dync.in.h"
#include "tensor.h"
DYNC__HOT

enum { DYNC__NAN_BLOCK = 1024 };

/* Magnitudes above infinity's are NaN: the difference is negative. */
#define DYNC__NAN_AMONG(name, type, infinity)                                                    \
    static bool dync__nan_##name(const type *x, int64_t n)                                       \
    {                                                                                            \
        const type sign = (type)((type)1 << (8 * sizeof(type) - 1)), most = (type)(sign - 1);    \
        type any = 0;                                                                            \
        for (; n >= DYNC__NAN_BLOCK; n -= DYNC__NAN_BLOCK, x += DYNC__NAN_BLOCK) {               \
            for (int i = 0; i < DYNC__NAN_BLOCK; i++) any |= (type)((infinity) - (x[i] & most)); \
            if (any & sign) return true;                                                         \
        }                                                                                        \
        for (int i = 0; i < (int)n; i++) any |= (type)((infinity) - (x[i] & most));              \
        return (any & sign) != 0;                                                                \
    }
DYNC__NAN_AMONG(f32, uint32_t, 0x7f800000u)
DYNC__NAN_AMONG(f64, uint64_t, (uint64_t)0x7ff << 52)
DYNC__NAN_AMONG(f16, uint16_t, 0x7c00u)
DYNC__NAN_AMONG(bf16, uint16_t, 0x7f80u)

DYNC__FN bool dync__any_nan(int dtype, const void *data, int64_t n)
{
    switch (dtype) {
    case DYNC_F32: return dync__nan_f32(data, n);
    case DYNC_F64: return dync__nan_f64(data, n);
    case DYNC_F16: return dync__nan_f16(data, n);
    case DYNC_BF16: return dync__nan_bf16(data, n);
    default: return false;
    }
}
