/* onnx/whole.c: sizes in tensors of other dtypes than int64, while a model becomes a graph. After
 * held.c.
 *
 * A symbolic size is a token of 60 bits, so a tensor of int32 or float32 cannot hold one, and what
 * Cast makes of sizes is recorded. Exporters go that way all the same: Shape, Cast to int32, Slice,
 * Concat, Cast back, Reshape; or Cast to float32 and Range. So each recorded tensor whose elements
 * are sizes, or integers computed from sizes, has the same numbers in int64 beside it, computed as
 * sized.c does (whole_note.c), for whoever asks for numbers. */
#include "../dync.in.h"
#include "record.h"
DYNC__COLD

DYNC__DATA dync_status (*dync__onnx_answer)(dync__handler *, dync__opcall *) = NULL;

static dync__onnx_recorder *dync__onnx_recorder_of(const dync__handler *h)
{
    dync_status (*answer)(dync__handler *, dync__opcall *) = DYNC__ATOMIC_PEEK(&dync__onnx_answer);
    return answer && h->call == answer ? h->state : NULL;
}

DYNC__FN bool dync__onnx_records(const dync_tensor *h)
{
    const dync__tensor *t = dync__peek(h);
    if (!t || !(t->flags & DYNC__T_FAKE) || !dync__tls.syms || dync__tls.compiling) return false;
    const dync__onnx_recorder *r = dync__tls.handler ? dync__onnx_recorder_of(dync__tls.handler)
                                                     : NULL;
    return r && r->graph;
}

/* f32 holds integers up to 2^24, f16 up to 2^11. */
static int64_t dync__onnx_whole_limit(int dtype)
{
    int bits = dtype == DYNC_F64 ? 53 : dtype == DYNC_F32 ? 24 : dtype == DYNC_F16 ? 11 : 8;
    if (dync__dtype_info(dtype)->kind != 'f') bits = 8 * dync__dtype_info(dtype)->bytes - 1;
    return (int64_t)1 << DYNC__MIN(bits, 53);
}

/* Do data decide it, and may it be beyond? */
static bool dync__onnx_is_beyond(int64_t x, int64_t limit)
{
    double least, most;
    dync__sz_bounds(x, &least, &most);
    return dync__sz_by_data(x) && !(most < (double)limit && least > -(double)limit);
}

/* What data decide is checked by each run to be one that dtype holds: no guard knows it. */
static bool dync__onnx_whole_checked(int dtype, const dync__tensor *t)
{
    int64_t limit = dync__onnx_whole_limit(dtype);
    for (int64_t i = 0; i < t->numel; i++) {
        int64_t x = dync__load_i64((const char *)dync__tensor_data(t) + i * 8, DYNC_I64);
        if (dync__onnx_is_beyond(x, limit) &&
            (dync_check)(dync__value_of_size(x), 1 - limit, limit - 1) != DYNC_OK)
            return false;
    }
    return true;
}

/* Sizes that dtype rounds are left to another graph by a guard; of what data decide the range has
 * to tell. */
DYNC__FN bool dync__onnx_whole_exact(int dtype, const dync__tensor *t)
{
    int64_t limit = dync__onnx_whole_limit(dtype);
    for (int64_t i = 0; i < t->numel; i++) {
        int64_t x = dync__load_i64((const char *)dync__tensor_data(t) + i * 8, DYNC_I64);
        if (dync__onnx_is_beyond(x, limit)) return false;
        if (!dync__sz_lt(x, limit) || !dync__sz_lt(-limit, x)) return false;
    }
    return true;
}

/* The numbers of a recorded tensor in int64; NULL: it has none that are known. */
DYNC__FN dync_tensor *dync__onnx_whole(const dync_tensor *h)
{
    const dync__tensor *t = dync__peek(h);
    uint64_t at;
    if (!t || !(t->flags & DYNC__T_FAKE) || !dync__tls.syms || dync__tls.compiling) return NULL;
    for (const dync__handler *p = dync__tls.handler; p; p = p->below) {
        const dync__onnx_recorder *r = dync__onnx_recorder_of(p);
        if (!r || !dync__map_get(&r->whole, t->id, &at)) continue;
        const dync__tensor *whole = (const dync__tensor *)(uintptr_t)at;
        return dync__onnx_whole_checked(t->dtype, whole) && dync__onnx_whole_exact(t->dtype, whole)
                   ? dync__handle(whole)
                   : NULL;
    }
    return NULL;
}
