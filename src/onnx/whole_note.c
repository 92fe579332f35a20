/* onnx/whole_note.c: what recorded tensors hold in the place of sizes, computed beside them
 * (whole.c tells why). After sized.c. */
#include "../dync.in.h"
#include "record.h"
DYNC__COLD

enum { DYNC__ONNX_WHOLE_MOST = 64 }; /* elements */

/* Runs the call now, whatever is being traced. */
DYNC__FN dync_status dync__onnx_fold(dync__opcall *c)
{
    dync__tracer *tracer = dync__tracing();
    dync__trace_pause pause = {NULL, false};
    dync__handler *top = NULL;
    dync__symtab *syms = dync__tls.syms;
    if (!tracer) dync__tls.syms = NULL;
    if (tracer)
        pause = dync__trace_pause_begin(tracer);
    else
        top = dync__handler_swap(NULL);
    dync_status status = dync__dispatch(c);
    if (tracer)
        dync__trace_pause_end(tracer, pause);
    else
        (void)dync__handler_swap(top);
    dync__tls.syms = syms;
    return status;
}

/* A known tensor in int64: itself, or a copy of one whose elements are integers (owned: *made).
 * NULL: it is none of the kind, or no memory. */
static dync__tensor *dync__onnx_whole_of_known(dync__tensor *t, dync__tensor **made)
{
    dync__layout lay;
    *made = NULL;
    if (t->dtype == DYNC_I64) return t;
    if (t->numel > DYNC__ONNX_WHOLE_MOST || t->dtype == DYNC_BOOL) return NULL;
    dync__tensor *dense = dync__contiguous_copy(t), *whole = NULL;
    if (dense && dync__layout_contiguous(&lay, t->lay.ndim, t->lay.shape) == DYNC_OK)
        whole = dync__tensor_empty(DYNC_I64, DYNC_CPU, &lay);
    int bytes = dync__dtype_info(t->dtype)->bytes;
    bool integers = whole != NULL, real = dync__dtype_info(t->dtype)->kind == 'f';
    for (int64_t i = 0; integers && i < t->numel; i++) {
        const char *at = (const char *)dync__tensor_data(dense) + i * bytes;
        double x = real ? dync__load_f64(at, t->dtype) : 0;
        integers = !real || (x == floor(x) && fabs(x) < 1 << 30);
        int64_t n = integers && real ? (int64_t)x : real ? 0 : dync__load_i64(at, t->dtype);
        dync__store_i64((char *)whole->storage->data + i * 8, DYNC_I64, n);
    }
    dync__unref(dense);
    if (integers) return *made = whole;
    dync__unref(whole);
    return NULL;
}

/* The argument with int64 in the place of what holds the same numbers. false: not all are known. */
static bool dync__onnx_whole_arg(dync__onnx_recorder *r, const dync__arg *in, dync__arg *out,
                                 bool *any)
{
    uint64_t at;
    *out = *in;
    if (in->kind == DYNC__A_FLOAT && in->as.f == floor(in->as.f) && fabs(in->as.f) < 1 << 30) {
        out->kind = DYNC__A_INT;
        out->as.i = (int64_t)in->as.f;
    }
    if (in->kind != DYNC__A_TENSOR) return true;
    if (in->as.t->flags & DYNC__T_FAKE) {
        if (!dync__map_get(&r->whole, in->as.t->id, &at)) return false;
        out->as.t = (dync__tensor *)(uintptr_t)at;
        return *any = true;
    }
    dync__tensor *made;
    out->as.t = dync__onnx_whole_of_known(in->as.t, &made);
    if (made && !dync__vec_push(&r->kept, made)) {
        dync__unref(made);
        return false;
    }
    return out->as.t != NULL;
}

static bool dync__onnx_whole_keep(dync__onnx_recorder *r, const dync__tensor *of, dync__tensor *t)
{
    return dync__map_put(&r->whole, of->id, (uint64_t)(uintptr_t)t);
}

/* of a cast: sizes as they are, in whatever dtype */
static void dync__onnx_whole_cast(dync__onnx_recorder *r, const dync__opcall *c)
{
    dync__tensor *x = c->args[0].as.t, *dense = NULL;
    uint64_t at;
    if (c->out[0]->dtype == DYNC_BOOL) return;
    if (dync__map_get(&r->whole, x->id, &at)) {
        dync__onnx_whole_keep(r, c->out[0], (dync__tensor *)(uintptr_t)at);
    } else if (dync__onnx_holds_sizes(x) && x->numel <= DYNC__ONNX_WHOLE_MOST) {
        dense = dync__contiguous_copy(x);
        if (dense && !dync__vec_push(&r->kept, dense))
            dync__unref(dense);
        else if (dense)
            dync__onnx_whole_keep(r, c->out[0], dense);
    }
}

static bool dync__onnx_rounds(int op)
{
    return op == DYNC__OP_floor || op == DYNC__OP_ceil || op == DYNC__OP_round ||
           op == DYNC__OP_trunc;
}

/* After the call was recorded: what its result holds, where that is known. */
DYNC__FN void dync__onnx_whole_note(dync__onnx_recorder *r, dync__opcall *c)
{
    dync__arg arg[DYNC__MAX_ARGS], list[DYNC__ONNX_WHOLE_MOST];
    dync__opcall twin = *c;
    bool any = false;
    if (!dync__tls.syms || dync__tls.compiling || c->nout != 1 || !c->out[0]) return;
    if (c->op == DYNC__OP_to_dtype) {
        dync__onnx_whole_cast(r, c);
        return;
    }
    if (!r->kept.n) return;
    for (int i = 0, n = 0; i < c->nargs; i++) {
        const dync__arg *a = &c->args[i];
        if (!dync__onnx_whole_arg(r, a, &arg[i], &any)) return;
        if (a->kind != DYNC__A_LIST) continue;
        arg[i].as.list = list + n;
        for (int k = 0; k < a->n; k++, n++)
            if (n == DYNC__ONNX_WHOLE_MOST ||
                !dync__onnx_whole_arg(r, &a->as.list[k], &list[n], &any))
                return;
    }
    if (!any) return;
    if (dync__onnx_rounds(c->op)) {
        dync__onnx_whole_keep(r, c->out[0], arg[0].as.t);
        return;
    }
    dync__tensor *in[DYNC__ONNX_WHOLE_MOST];
    dync_status status = DYNC_OK;
    twin.args = arg;
    twin.nout = 0;
    twin.out[0] = NULL;
    int n = dync__opcall_tensors(&twin, in, DYNC__ONNX_WHOLE_MOST);
    if (n > DYNC__ONNX_WHOLE_MOST) return;
    dync__onnx_known now = dync__onnx_known_call(&twin, in, n, &status);
    if (now == DYNC__ONNX_RUN) status = dync__onnx_fold(&twin);
    dync__tensor *got = now != DYNC__ONNX_RECORD && status == DYNC_OK ? twin.out[0] : NULL;
    if (got && got->dtype == DYNC_I64 && dync__vec_push(&r->kept, got))
        dync__onnx_whole_keep(r, c->out[0], got);
    else
        dync__unref(got);
}
