/* onnx/whole_note.c: what recorded tensors hold in the place of sizes, computed beside them
 * (whole.c tells why). After sized.c. */
#include "../dync.in.h"
#include "record.h"
DYNC__COLD

enum { DYNC__ONNX_WHOLE_MOST = 64 }; /* elements */

/* Runs the call now, whatever is being traced. */
DYNC__FN dync_status dync__onnx_fold(dync__opcall *c)
{
    dync__tracer *tracer = dync__tracing_or_replay();
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

/* The call on int64 in the place of others, run now and kept. NULL: what it gives is not known. */
static dync__tensor *dync__onnx_whole_run(dync__onnx_recorder *r, dync__opcall *c)
{
    dync__tensor *in[DYNC__ONNX_WHOLE_MOST];
    dync_status status = DYNC_OK;
    int n = dync__opcall_tensors(c, in, DYNC__ONNX_WHOLE_MOST);
    if (n > DYNC__ONNX_WHOLE_MOST) return NULL;
    dync__onnx_known now = dync__onnx_known_call(c, in, n, &status);
    if (now == DYNC__ONNX_RUN) status = dync__onnx_fold(c);
    dync__tensor *got = now != DYNC__ONNX_RECORD && status == DYNC_OK ? c->out[0] : NULL;
    if (got && got->dtype == DYNC_I64 && dync__vec_push(&r->kept, got)) return got;
    dync__unref(got);
    return NULL;
}
static dync__tensor *dync__onnx_whole_of_two(dync__onnx_recorder *r, int op, dync__arg a,
                                             dync__arg b)
{
    dync__arg arg[2] = {a, b};
    dync__opcall c = {.row = dync__op_info(op), .op = op, .nargs = 2, .args = arg};
    return dync__onnx_whole_run(r, &c);
}

/* ---- quotients -------------------------------------------------------------------------------
 * ceil(length / 4.0), floor(length * 0.5): what Div or Mul gives is no integer, but of which it is
 * the quotient is known, and so is what a rounding gives: in float32 the same, as long as the
 * dividend is one. */

/* A number that is the only element, times a power of two (at most 2^20) an integer: *by is that
 * power. false: none is. */
static bool dync__onnx_dyadic(const dync__arg *a, int64_t *n, int64_t *by)
{
    const dync__tensor *t = a->kind == DYNC__A_TENSOR ? a->as.t : NULL;
    double x = a->as.f;
    if (t) {
        if (t->flags & DYNC__T_FAKE || t->numel != 1 || dync__dtype_info(t->dtype)->kind != 'f')
            return false;
        x = dync__load_f64(dync__tensor_data(t), t->dtype);
    } else if (a->kind != DYNC__A_FLOAT) {
        return false;
    }
    for (*by = 1; x != floor(x) && *by < 1 << 20; *by *= 2) x *= 2;
    *n = x == floor(x) && fabs(x) < 1 << 20 ? (int64_t)x : 0;
    return *n != 0;
}

/* n, in the shape of another. */
static dync__tensor *dync__onnx_whole_number(dync__onnx_recorder *r, dync__arg like, int64_t n)
{
    dync__tensor *zero = dync__onnx_whole_of_two(r, DYNC__OP_mul, like, dync__arg_i(0));
    return zero ? dync__onnx_whole_of_two(r, DYNC__OP_add, dync__arg_t(zero), dync__arg_i(n))
                : NULL;
}

static void dync__onnx_part_keep(dync__onnx_recorder *r, const dync__tensor *of, dync__tensor *n,
                                 dync__tensor *d)
{
    dync__onnx_part part = {n, d};
    if (n && d && dync__onnx_whole_exact(of->dtype, n) && dync__vec_push(&r->part, part))
        (void)dync__map_put(&r->part_of, of->id, (uint64_t)(r->part.n - 1));
}

/* Is the call a quotient? Noted then. */
static void dync__onnx_part_note(dync__onnx_recorder *r, const dync__opcall *c)
{
    dync__arg arg[2];
    bool any = false;
    int64_t n, by;
    if (c->nargs < 2 || dync__dtype_info(c->out[0]->dtype)->kind != 'f') return;
    if (c->op == DYNC__OP_div && dync__onnx_whole_arg(r, &c->args[0], &arg[0], &any) &&
        dync__onnx_whole_arg(r, &c->args[1], &arg[1], &any) && any) {
        for (int i = 0; i < 2; i++)
            if (arg[i].kind == DYNC__A_INT)
                arg[i].as.t = dync__onnx_whole_number(r, arg[1 - i], arg[i].as.i);
        dync__onnx_part_keep(r, c->out[0], arg[0].as.t, arg[1].as.t);
    }
    for (int k = 0; k < 2 && c->op == DYNC__OP_mul; k++) {
        const dync__arg *x = &c->args[k];
        if (x->kind != DYNC__A_TENSOR || !(x->as.t->flags & DYNC__T_FAKE) ||
            !dync__onnx_dyadic(&c->args[1 - k], &n, &by) || by == 1 ||
            !dync__onnx_whole_arg(r, x, &arg[0], &any))
            continue;
        dync__onnx_part_keep(r, c->out[0],
                             dync__onnx_whole_of_two(r, DYNC__OP_mul, arg[0], dync__arg_i(n)),
                             dync__onnx_whole_number(r, arg[0], by));
    }
}

/* Of a quotient: what it is, rounded down or up. false: it is none. */
static bool dync__onnx_part_round(dync__onnx_recorder *r, const dync__opcall *c, bool up)
{
    uint64_t at;
    const dync__tensor *x = c->nargs && c->args[0].kind == DYNC__A_TENSOR ? c->args[0].as.t : NULL;
    if (!x || !dync__map_get(&r->part_of, x->id, &at)) return false;
    dync__tensor *n = r->part.at[at].n, *d = r->part.at[at].d, *y;
    if (up) {
        y = dync__onnx_whole_of_two(r, DYNC__OP_sub, dync__arg_t(d), dync__arg_i(1));
        n = y ? dync__onnx_whole_of_two(r, DYNC__OP_add, dync__arg_t(n), dync__arg_t(y)) : NULL;
    }
    /* (known of what is not negative alone, where all ways of rounding down are one) */
    y = n ? dync__onnx_whole_of_two(r, DYNC__OP_floor_divide, dync__arg_t(n), dync__arg_t(d))
          : NULL;
    if (y) (void)dync__onnx_whole_keep(r, c->out[0], y);
    return true;
}

/* of a cast: sizes as they are, in whatever dtype */
static void dync__onnx_whole_cast(dync__onnx_recorder *r, const dync__opcall *c)
{
    dync__tensor *x = c->args[0].as.t, *dense = NULL;
    uint64_t at;
    if (c->out[0]->dtype == DYNC_BOOL) return;
    if (dync__dtype_info(c->out[0]->dtype)->kind != 'f' && dync__onnx_part_round(r, c, false))
        return;
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
    if ((c->op == DYNC__OP_floor || c->op == DYNC__OP_ceil) &&
        dync__onnx_part_round(r, c, c->op == DYNC__OP_ceil))
        return;
    dync__onnx_part_note(r, c);
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
    twin.args = arg;
    twin.nout = 0;
    twin.out[0] = NULL;
    dync__tensor *got = dync__onnx_whole_run(r, &twin);
    if (got) (void)dync__onnx_whole_keep(r, c->out[0], got);
}
