/* capture/reads.c: values that a traced function reads. After path.c, before allowed.c.
 *
 * An opaque read or call cuts the graph, works on the real tensors as if no trace were open, and
 * the trace goes on. */
#include "../dync.in.h"
#include "../op/rows.h"
#include "trace.h"
DYNC__COLD

/* The real tensor behind a handle of traced code, after a cut. */
static dync_tensor *dync__real_handle(dync__tracer *t, const dync_tensor *h)
{
    dync__tensor *x = dync__open(h);
    if (!x || !(x = dync__tracer_adopt(t, x)) || !(x = dync__trace_real(t, x))) return NULL;
    return dync__handle(x);
}

static dync_tensor *dync__real_tensor(void *user, dync_tensor *h)
{
    return dync__real_handle(user, h);
}

DYNC__FN dync_value dync__real_value(dync__tracer *t, dync_value v)
{
    return dync__value_map(v, dync__real_tensor, t);
}

/* Cuts for an opaque read of h; NULL when it was refused or failed (recorded). */
DYNC__FN dync_tensor *dync__opaque_read(dync__tracer *t, const dync_tensor *h, const char *reason,
                                        const char *fullgraph_text)
{
    if (dync__tls.at.file) t->last_at = dync__tls.at;
    if (!dync__open(h) || dync__trace_break(t, reason, fullgraph_text) != DYNC_OK) return NULL;
    return dync__real_handle(t, h);
}

/* ---- values read ----------------------------------------------------------------------------- */
/* As a plain run says it (op/public_read.c). */
DYNC__RARE static void dync__branch_refused(int64_t numel, bool as_bool)
{
    dync__public_frame f = dync__public_begin(as_bool ? "bool" : "item", dync__tls.at);
    if (as_bool)
        dync__fail(DYNC_ERR_VALUE, "Boolean value of Tensor with %s is ambiguous",
                   numel ? "more than one value" : "no values");
    else
        dync__fail(DYNC_ERR_VALUE,
                   "a Tensor with %lld elements cannot be converted to Scalar: select one, or read "
                   "them through dync_data",
                   (long long)numel);
    dync__public_end(&f);
}

/* A value of one element that C code is about to decide by: the graph ends in a branch. Always
 * true: the read was handled; *out is 0 where it failed. */
static bool dync__branch_on(const dync_tensor *h, bool as_bool, int64_t *out)
{
    dync__tracer *t = dync__tracing_or_replay();
    dync__tensor *x = dync__open(h);
    if (dync__tls.at.file) t->last_at = dync__tls.at;
    *out = 0;
    if (!x || !(x = dync__tracer_adopt(t, x))) return true;
    if (x->numel != 1) {
        dync__branch_refused(dync__sz_hint(x->numel), as_bool);
        return true;
    }
    dync__trace_branch(t, x, as_bool, out);
    return true;
}

static bool dync__read_truth(const dync_tensor *h, bool *result)
{
    if (!dync__tracing_or_replay()) return false;
    int64_t v;
    dync__branch_on(h, true, &v);
    *result = v != 0;
    return true;
}

/* Integers and bools are branches: a later call goes the way that its value says, if it is known.
 * Floats are opaque reads: a value of many that is hardly ever met again. */
static bool dync__read_item(const dync_tensor *h, double *result)
{
    dync__tracer *t = dync__tracing_or_replay();
    if (!t) return false;
    const dync__tensor *x = dync__peek(h);
    if (x && dync__dtype_info(x->dtype)->kind != 'f') {
        int64_t v;
        dync__branch_on(h, false, &v);
        *result = (double)v;
        return true;
    }
    dync_tensor *real = dync__opaque_read(t, h, "Tensor.item", NULL);
    dync__trace_pause pause = dync__trace_pause_begin(t);
    *result = real ? (dync_item)(real) : (double)NAN;
    dync__trace_pause_end(t, pause);
    return true;
}

static bool dync__read_data(const dync_tensor *h, void **result)
{
    dync__tracer *t = dync__tracing_or_replay();
    if (!t) return false;
    *result = NULL;
    if (t->fn->opt.fullgraph) {
        dync__fail_no_data();
        dync__tracer_fail(t, DYNC_ERR_DATA_PTR);
        return true;
    }
    dync_tensor *real = dync__opaque_read(t, h, "Tensor.data_ptr", NULL);
    dync__script_may_write(t);
    dync__trace_pause pause = dync__trace_pause_begin(t);
    *result = real ? dync_data(real) : NULL;
    dync__trace_pause_end(t, pause);
    return true;
}

static const char *const dync__print_refused =
    "builtin: print [<class 'torch._dynamo.variables.constant.ConstantVariable'>] False";

static void dync__read_opaque_end(void *tracer)
{
    dync__trace_pause_end(tracer, ((dync__tracer *)tracer)->resting);
}

/* The text is made of the real tensor, by whom it is asked of: a program that compiles links no
 * printer for it. */
static bool dync__read_shows(bool print, dync_tensor **h, dync__opaque *out)
{
    dync__tracer *t = dync__tracing_or_replay();
    if (!t) return true;
    dync_tensor *real = print ? dync__opaque_read(t, *h, "print", dync__print_refused)
                              : dync__opaque_read(t, *h, "Tensor.__repr__", NULL);
    if (!real) return false;
    *h = real;
    t->resting = dync__trace_pause_begin(t);
    *out = (dync__opaque){dync__read_opaque_end, t};
    return true;
}

static dync__comparing dync__read_compares(const char *op, const dync_tensor *a,
                                           const dync_tensor *b)
{
    (void)op, (void)a, (void)b;
    return dync__tracing_or_replay() ? DYNC__BY_OPERATORS : DYNC__BY_DATA;
}

static bool dync__read_from(const dync_make_from *m, bool borrow,
                            dync_tensor *(*from)(dync_make_from), dync_tensor **result)
{
    dync__tracer *t = dync__tracing_or_replay();
    if (!t) return false;
    *result = NULL;
    if (dync__trace_break(t, borrow ? "torch.from_blob" : "torch.tensor",
                          borrow ? "torch.from_blob: dync_wrap reads memory that the graph "
                                   "cannot know; pass the tensor as an argument"
                                 : "torch.tensor: dync_from reads memory that the graph cannot "
                                   "know; pass the tensor as an argument, or "
                                   "bake the data in with dync_constant") != DYNC_OK)
        return true;
    dync__trace_pause pause = dync__trace_pause_begin(t);
    *result = from(*m);
    dync__trace_pause_end(t, pause);
    return true;
}

/* dync_constant: the data are baked into the graph as an attribute. */
static bool dync__read_constant(const dync_make_from *m, dync_tensor *(*from)(dync_make_from),
                                dync_tensor **result)
{
    dync__tracer *t = dync__tracing();
    if (!t) return false;
    *result = NULL;
    dync__trace_pause pause = dync__trace_pause_begin(t);
    dync__tensor *real = dync__open(from(*m));
    dync__trace_pause_end(t, pause);
    dync_loc outer = dync__tls.at;
    if (m->at_.file) dync__tls.at = m->at_;
    if (real) *result = dync__trace_bake(t, real);
    if (real && *result) dync__open(*result)->node->fresh = !dync__tensor_requires_grad(real);
    dync__tls.at = outer;
    return true;
}

/* Begins a piece of C code that works on real tensors: handles in `values` are replaced, and
 * tracing rests until dync__read_opaque_end. false: refused. */
static bool dync__read_opaque(const char *reason, int n, dync_value *values, dync__opaque *out)
{
    dync__tracer *t = dync__tracing_or_replay();
    if (!t) return true;
    if (dync__tls.at.file) t->last_at = dync__tls.at;
    uint64_t errors = dync__error_count();
    if (t->stopped || dync__trace_break(t, reason, NULL) != DYNC_OK) return false;
    for (int i = 0; i < n; i++) values[i] = dync__real_value(t, values[i]);
    if (dync__error_count() != errors) return false;
    dync__script_may_write(t);
    t->resting = dync__trace_pause_begin(t);
    *out = (dync__opaque){dync__read_opaque_end, t};
    return true;
}

#if defined(DYNC_SMALL)
static bool dync__shows_unlinked(bool print, dync_tensor **h, dync__opaque *out)
{
    (void)print, (void)h, (void)out;
    dync__unlinked("dync_print");
    return false;
}
static bool dync__from_unlinked(const dync_make_from *m, bool borrow,
                                dync_tensor *(*from)(dync_make_from), dync_tensor **result)
{
    (void)m, (void)borrow, (void)from;
    dync__unlinked("dync_from");
    *result = NULL;
    return true;
}
#define DYNC__OR_UNLINKED(value, unlinked) unlinked
#else
#define DYNC__OR_UNLINKED(value, unlinked) value
#endif

/* constant, shows, from: by need, of who calls dync_constant, dync_print, dync_from and their
 * kin */
static DYNC__BY_NEED dync__read_intercept dync__reads = {
    .item = dync__read_item,
    .truth = dync__read_truth,
    .data = dync__read_data,
    .shows = DYNC__OR_UNLINKED(dync__read_shows, dync__shows_unlinked),
    .compares = dync__read_compares,
    .from = DYNC__OR_UNLINKED(dync__read_from, dync__from_unlinked),
    .constant = DYNC__AT_FIRST(dync__read_constant),
    .opaque = dync__read_opaque};
DYNC__FN void dync__capture_use_constants(void)
{
    DYNC__PUT(dync__reads.constant, dync__read_constant);
}
DYNC__FN void dync__capture_use_shows(void) { DYNC__PUT(dync__reads.shows, dync__read_shows); }
DYNC__FN void dync__capture_use_makes(void) { DYNC__PUT(dync__reads.from, dync__read_from); }
DYNC__FN const dync__read_intercept *dync__capture_reads(void)
{
    return dync__tracing_or_replay() ? &dync__reads : NULL;
}

/* ---- public ---------------------------------------------------------------------------------- */
DYNC_API bool dync_is_compiling(void)
{
    dync__tracer *t = dync__tracing_or_replay();
    if (t) DYNC__ATOMIC_STORE(&t->entry->particular, true);
    return dync__tls.compiling;
}

DYNC_API void dync_graph_break_at(const char *reason, dync_loc at)
{
    dync__tracer *t = dync__tracing_or_replay();
    if (!t) return;
    t->last_at = at;
    t->own_reason = reason;
    dync__trace_break(t, reason ? reason : "graph_break",
                      "'skip function graph_break in file _dynamo/decorators.py'");
    t->own_reason = NULL;
}

DYNC_API void(dync_graph_break)(const char *reason) { dync_graph_break_at(reason, DYNC_NOWHERE); }

/* The reads with the user's line, so that errors and breaks name it. */
DYNC_API dync_real dync_item_at(dync_tensor *x, dync_loc at)
{
    dync_loc before = dync__tls.at;
    dync__tls.at = at;
    double r = (dync_item)(x);
    dync__tls.at = before;
    return r;
}

DYNC_API bool dync_bool_at(dync_tensor *x, dync_loc at)
{
    dync_loc before = dync__tls.at;
    dync__tls.at = at;
    bool r = (dync_bool)(x);
    dync__tls.at = before;
    return r;
}

DYNC_API void dync_host_print_at(const char *text, dync_loc at)
{
    dync__tracer *t = dync__tracing_or_replay();
    if (t && at.file) t->last_at = at;
    if (t && dync__trace_break(t, "print", dync__print_refused) != DYNC_OK) return;
    dync__out(text ? text : "(null)");
    dync__out("\n");
}

DYNC_API void(dync_host_print)(const char *text) { dync_host_print_at(text, DYNC_NOWHERE); }
