/* Random callers: one compiled function, a sequence of calls whose sizes, dtypes, strides,
 * aliasing, requires_grad, grad mode, training mode, numbers and threads change. Each call gives
 * what the plain function gives (results, written arguments, gradients, buffers, errors), and a
 * sequence that was called before compiles nothing. A sequence that fails is cut down call by call
 * and printed with the command that repeats it: `--seed N` begins with sequence N. SOAK times as
 * many; then the time of compiled calls over that of plain ones is printed, too. */
#include "../capture/counter.h"
#include <pthread.h>
#include <time.h>

/* ---- functions of (a, b, s) ------------------------------------------------------------------ */
#define A dync_as_tensor(v[0])
#define B dync_as_tensor(v[1])
#define FN(name) static dync_value name(const dync_value *v, int n, void *user)
#define ONE(x) ((void)n, (void)user, one(x))
static dync_value one(dync_tensor *x) { return x ? dync_v_tensor(x) : DYNC_NONE; }
static dync_module *net;

FN(pointwise) { return ONE(dync_add(dync_relu(dync_mul(A, 2)), dync_sin(B))); }
FN(centred) { return ONE(dync_add(dync_sub(A, dync_mean(A, dync_shape(0), true)), B)); }
FN(product) { return ONE(dync_matmul(A, dync_transpose(B, 0, 1))); }
FN(every_second) { return ONE(dync_slice(dync_mul(A, B), 1, 0, INT64_MAX, 2)); }
FN(selected)
{
    dync_tensor *v_ = dync_masked_select(dync_mul(A, B), dync_gt(A, 0));
    return ONE(dync_add(dync_sum(v_, DYNC_ALL, false), dync_mul(A, dync_size_sym(v_, 0))));
}
FN(picked)
{
    dync_tensor *nz = dync_nonzero(dync_gt(dync_sum(A, dync_shape(1), false), 0));
    dync_tensor *rows = dync_index_select(B, 0, dync_select(nz, 1, 0));
    return ONE(dync_cat(dync_tuple(rows, dync_mul(rows, 2), A), 0));
}
FN(counted)
{
    dync_tensor *c = dync_sum(dync_to_dtype(dync_gt(A, 0), DYNC_I64), DYNC_ALL, false);
    dync_value k = dync_item_sym(c);
    dync_check(k, 0, 1 << 20);
    dync_tensor *z = dync_full(dync_shape(dync_as_dim(k), 2), 0.5);
    return ONE(dync_add(dync_mul(A, k), dync_sum(z, DYNC_ALL, false)));
}
FN(joined) { return ONE(dync_sum(dync_cat(dync_tuple(A, B), 0), dync_shape(1), false)); }
FN(written)
{
    dync_add_(A, 1);
    return ONE(dync_mul(A, B));
}
FN(written_by_other)
{
    dync_tensor *sum = dync_add(A, B);
    dync_mul_(B, 2);
    (void)n, (void)user;
    return dync_tuple(sum, dync_add(A, 1));
}
FN(view_written)
{
    dync_tensor *y = dync_mul(A, 2), *row = dync_select(y, 0, -1);
    dync_add_(row, 1);
    (void)n, (void)user;
    return dync_tuple(y, row);
}
FN(handed_through)
{
    (void)n, (void)user;
    return dync_tuple(A, dync_transpose(B, 0, 1), dync_mul(A, B));
}
FN(by_size) { return ONE(dync_size(A, 0) > 3 ? dync_sin(A) : dync_cos(B)); }
FN(by_dim) { return ONE(dync_dim_gt(A, 0, 4) ? dync_sin(A) : dync_mul(B, 3)); }
FN(by_value)
{
    return ONE(dync_bool(dync_gt(dync_sum(A, DYNC_ALL, false), 0)) ? dync_add(A, B)
                                                                   : dync_sub(A, B));
}
FN(broken)
{
    dync_tensor *y = dync_sin(A), *dead = dync_mul(B, y);
    (void)dead;
    dync_graph_break("here");
    return ONE(dync_mul(y, dync_add(A, 1)));
}
FN(by_item) { return ONE(dync_mul(B, dync_item(dync_sum(A, DYNC_ALL, false)))); }
FN(without_grad)
{
    bool before = dync_grad_mode_push(false);
    dync_tensor *y = dync_mul(A, 2);
    dync_grad_mode_pop(before);
    return ONE(dync_mul(y, B));
}
FN(scaled) { return ONE(dync_add(dync_mul(A, v[2]), B)); }
FN(by_flags)
{
    return ONE(dync_requires_grad(A)    ? dync_mul(A, 2)
               : dync_is_grad_enabled() ? dync_add(A, B)
                                        : dync_sub(A, B));
}
FN(by_dtype)
{
    return ONE(dync_type(A) == DYNC_F64   ? dync_add(A, 1)
               : dync_type(A) == DYNC_I64 ? dync_mul(A, 3)
                                          : dync_sin(B));
}
static dync_tensor *inner(dync_tensor *x, dync_tensor *y)
{
    x = dync_cos(x);
    dync_graph_break("inside");
    return dync_add(x, y);
}
FN(framed) { return ONE(dync_mul(dync_frame(inner, A, B), A)); }
FN(of_sizes) { return ONE(dync_add(A, dync_ones(dync_shape(dync_dim(A, 0), 1)))); }
FN(normed) { return ONE(dync_softmax(dync_add(dync_mul(A, A), B), 1)); }
FN(network) { return ONE(dync_add(dync_forward_call(net, A), dync_sum(B, dync_shape(1), true))); }
FN(normalised)
{
    return ONE(dync_add(dync_layer_norm(A, dync_shape(dync_dim(A, 1)), NULL, NULL, 1e-5), B));
}
FN(without_last)
{
    return ONE(dync_add(dync_slice(A, 0, 0, -1, 1), dync_sum(B, dync_shape(0), true)));
}
FN(two_breaks)
{
    dync_tensor *x = dync_mul(A, 0.5);
    dync_graph_break("first");
    dync_tensor *y = dync_add(x, B), *dead = dync_exp(dync_neg(dync_mul(y, y)));
    dync_graph_break("second");
    (void)dead;
    return ONE(dync_mul(x, y));
}
FN(leaves_grad_off)
{
    dync_tensor *x = dync_mul(A, B);
    dync_set_grad_enabled(dync_size(A, 0) % 2 == 0);
    return ONE(dync_add(x, 1));
}
static dync_tensor *halved(dync_tensor *g, void *user)
{
    (void)user;
    return dync_mul(g, 0.5);
}
FN(hooked)
{
    dync_tensor *x = dync_mul(A, B);
    if (dync_requires_grad(x)) dync_register_hook(x, halved, NULL);
    return ONE(dync_sin(x));
}
FN(gathered)
{
    dync_tensor *i = dync_argmax(A, 1, true);
    (void)n, (void)user;
    return dync_tuple(dync_gather(B, 1, i), i);
}
FN(viewed)
{
    dync_tensor *flat = dync_reshape(A, dync_shape(-1)),
                *back = dync_reshape(dync_mul(flat, 2), dync_shape(dync_dim(A, 0), -1));
    (void)n, (void)user;
    return dync_tuple(dync_add(back, B), flat);
}
FN(copied_over)
{
    dync_copy_(B, dync_mul(A, 2));
    return ONE(dync_add(B, 1));
}
FN(detached)
{
    (void)n, (void)user;
    return dync_tuple(dync_detach(dync_mul(A, B)), dync_mul(dync_detach(A), B));
}
FN(backward_inside)
{
    dync_tensor *x = dync_requires_grad_(dync_clone(dync_detach(A)), true);
    dync_value g = dync_gradients(
        dync_v_tensor(dync_sum(dync_mul(dync_sin(x), dync_detach(B)), DYNC_ALL, false)),
        dync_v_tensor(x), DYNC_NONE, (dync_grad_options){0});
    return ONE(dync_add(dync_as_tensor(dync_at(g, 0)), B));
}
FN(sizes_told)
{
    (void)n, (void)user;
    return dync_tuple(dync_mul(A, B), dync_v_int(dync_size(A, 0)), dync_v_float(0.5));
}

/* What programs that live are made of: state that grows, rows written, parts by symbolic sizes,
 * branches and loops inside the graph. */
FN(grown)
{
    dync_tensor *all = dync_cat(dync_tuple(A, dync_slice(B, 0, -1, DYNC_END, 1)), 0);
    (void)n, (void)user;
    return dync_tuple(dync_sum(all, dync_shape(0), false), all);
}
FN(row_written)
{
    dync_copy_(dync_slice(B, 0, -1, DYNC_END, 1), dync_mul(dync_slice(A, 0, 0, 1, 1), 2));
    return ONE(dync_add(A, B));
}
FN(places_written)
{
    dync_scatter_(B, 1, dync_argmax(A, 1, true), dync_mul(dync_slice(A, 1, 0, 1, 1), 3));
    return ONE(dync_mul(B, 2));
}
FN(halves)
{
    int64_t half = dync_as_dim(dync_sym_floordiv(dync_size_sym(A, 0), DYNC_V(2)));
    (void)n, (void)user;
    return dync_tuple(dync_mul(dync_slice(A, 0, 0, half, 1), 2),
                      dync_sub(dync_slice(B, 0, half, DYNC_END, 1), 1));
}
static dync_tensor *sum_of(dync_tensor *a, dync_tensor *b) { return dync_add(a, b); }
static dync_tensor *product_of(dync_tensor *a, dync_tensor *b) { return dync_mul(a, b); }
FN(chosen)
{
    dync_tensor *positive = dync_gt(dync_sum(A, DYNC_ALL, false), 0);
    return ONE(dync_as_tensor(dync_cond(positive, sum_of, product_of, dync_tuple(A, B))));
}
static dync_value carry_on(const dync_value *v, int n, void *user)
{
    dync_value x = v[1]; /* a place of each of the two */
    dync_tensor *c = dync_add(dync_mul(v[0], 0.5), dync_mul(dync_at(x, 0), dync_at(x, 1)));
    (void)n, (void)user;
    return dync_tuple(c, c);
}
FN(scanned)
{
    dync_tensor *begin = dync_mul(dync_sum(A, dync_shape(0), false), 0.0);
    (void)n, (void)user;
    return dync_scan(carry_on, begin, dync_tuple(A, B));
}

/* clang-format off */
#define FUNCTIONS_OF(X) \
    X(pointwise) X(centred) X(product) X(every_second) X(joined) X(written) \
    X(written_by_other) X(view_written) X(handed_through) X(by_size) X(by_dim) \
    X(by_value) X(broken) X(by_item) X(without_grad) X(scaled) X(by_flags) X(by_dtype) \
    X(framed) X(of_sizes) X(normed) X(network) X(normalised) X(without_last) \
    X(two_breaks) X(leaves_grad_off) X(hooked) X(gathered) X(viewed) X(copied_over) \
    X(detached) X(backward_inside) X(sizes_told) X(grown) X(row_written) X(places_written) \
    X(halves) X(chosen) X(scanned) X(selected) X(picked) X(counted)
/* clang-format on */
#define X(name) {#name, name},
static const struct {
    const char *name;
    dync_function fn;
} functions[] = {FUNCTIONS_OF(X)};
#undef X
enum { FUNCTIONS = sizeof functions / sizeof *functions, CALLS = 12, PASSES = 3 };

/* ---- one call -------------------------------------------------------------------------------- */
typedef enum { DENSE, TURNED, STEPPED, EXPANDED, OFFSET, LAYOUTS } layout;
typedef enum { APART, SAME, TURNED_VIEW, TWO_PARTS, OVERLAPPING, ALIASES } alias;
static const char *const layouts[] = {"dense", "turned", "stepped", "expanded", "offset"};
static const char *const aliases[] = {"apart", "same", "a view of a", "two parts of one",
                                      "overlapping parts"};
typedef struct {
    int rows, cols, seed;
    dync_dtype dtype;
    layout lay;
    alias shared;
    bool grad_a, grad_b, no_grad, train, backward, has_grad, other_thread;
    double s;
} one_call;
typedef struct {
    int fn, backend, dynamic;
    bool symbolic, fullgraph, captures; /* captures: what data decide stays in the graph */
    uint64_t seed;
    int n;
    one_call at[CALLS];
} sequence;
static const char *const backends[] = {"eager", "aot_eager", "inductor", "ts"};
static const char *const dynamics[] = {"auto", "off", "on"};

static dync_tensor *filled(int rows, int cols, int seed, dync_dtype dtype)
{
    dync_tensor *t = dync_empty(dync_shape(rows, cols));
    float *p = dync_data(t);
    for (int i = 0; i < rows * cols; i++)
        p[i] = (float)((37 * i + 11 * seed) % 23 - 11) / (dtype == DYNC_I64 ? 1 : 4);
    return dync_to_dtype(t, dtype);
}

/* A tensor of [rows, cols] in that layout; its leaf is *leaf. */
static dync_tensor *argument(const one_call *c, int seed, bool grad, dync_tensor **leaf)
{
    int rows = c->lay == TURNED     ? c->cols
               : c->lay == EXPANDED ? 1
               : c->lay == OFFSET   ? c->rows + 1
                                    : c->rows;
    int cols = c->lay == TURNED ? c->rows : c->lay == STEPPED ? 2 * c->cols : c->cols;
    dync_tensor *t = *leaf = filled(rows, cols, seed, c->dtype);
    if (grad && c->dtype != DYNC_I64) dync_requires_grad_(t, true);
    if (grad && c->has_grad && c->dtype != DYNC_I64)
        dync_set_grad(t, filled(rows, cols, seed + 3, c->dtype));
    if (c->lay == TURNED) return dync_transpose(t, 0, 1);
    if (c->lay == STEPPED) return dync_slice(t, 1, 0, INT64_MAX, 2);
    if (c->lay == EXPANDED) return dync_expand(t, dync_shape(c->rows, c->cols));
    return c->lay == OFFSET ? dync_slice(t, 0, 1, INT64_MAX, 1) : t;
}

typedef struct {
    dync_tensor *leaf[2];
    dync_value arg[3];
} inputs;
static inputs make_inputs(const one_call *c)
{
    inputs in = {{NULL, NULL}, {DYNC_NONE, DYNC_NONE, dync_v_float(c->s)}};
    dync_tensor *a, *b;
    if (c->shared == TWO_PARTS || c->shared == OVERLAPPING) {
        int skip = c->shared == TWO_PARTS ? c->rows : 1;
        dync_tensor *base = in.leaf[0] = filled(c->rows + skip, c->cols, c->seed, c->dtype);
        if (c->grad_a && c->dtype != DYNC_I64) dync_requires_grad_(base, true);
        a = dync_slice(base, 0, 0, c->rows, 1);
        b = dync_slice(base, 0, skip, c->rows + skip, 1);
    } else {
        a = argument(c, c->seed, c->grad_a, &in.leaf[0]);
        b = c->shared == SAME          ? a
            : c->shared == TURNED_VIEW ? dync_transpose(dync_transpose(a, 0, 1), 0, 1)
                                       : argument(c, c->seed + 7, c->grad_b, &in.leaf[1]);
    }
    in.arg[0] = dync_v_tensor(a);
    in.arg[1] = dync_v_tensor(b);
    return in;
}

static double tolerance(dync_dtype dtype)
{
    return dtype == DYNC_BF16 ? 1e-1 : dtype == DYNC_F16 ? 2e-2 : dtype == DYNC_F64 ? 1e-6 : 1e-4;
}
static bool same_tensor(dync_tensor *x, dync_tensor *y)
{
    if (!x || !y) return !x && !y;
    if (dync_type(x) != dync_type(y) || dync_ndim(x) != dync_ndim(y)) return false;
    for (int d = 0; d < dync_ndim(x); d++)
        if (dync_size(x, d) != dync_size(y, d)) return false;
    return dync_requires_grad(x) == dync_requires_grad(y) &&
           dync_allclose(dync_detach(x), dync_detach(y), tolerance(dync_type(x)),
                         tolerance(dync_type(x)));
}
/* in: the arguments that each was given, for values that are handed through. */
static bool same_value(dync_value x, dync_value y, const inputs *of_x, const inputs *of_y)
{
    bool same = x.kind == y.kind;
    if (same && x.kind == DYNC_KIND_TENSOR) {
        for (int i = 0; i < 2; i++)
            same = same && (x.as.t == of_x->arg[i].as.t) == (y.as.t == of_y->arg[i].as.t);
        return same && same_tensor(x.as.t, y.as.t);
    }
    if (same && x.kind == DYNC_KIND_LIST) {
        same = dync_len(x) == dync_len(y);
        for (int i = 0; same && i < dync_len(x); i++)
            same = same_value(dync_at(x, i), dync_at(y, i), of_x, of_y);
        return same;
    }
    return same &&
           (x.kind == DYNC_KIND_NONE ||
            (x.kind == DYNC_KIND_INT ? x.as.i == y.as.i : !(x.as.f < y.as.f || x.as.f > y.as.f)));
}

static dync_tensor *loss_of(dync_value r)
{
    dync_tensor *sum = NULL;
    int n = r.kind == DYNC_KIND_LIST ? dync_len(r) : 1;
    for (int i = 0; i < n; i++) {
        dync_value v = r.kind == DYNC_KIND_LIST ? dync_at(r, i) : r;
        if (v.kind != DYNC_KIND_TENSOR || !dync_requires_grad(v.as.t)) continue;
        dync_tensor *part = dync_sum(dync_mul(v.as.t, v.as.t), DYNC_ALL, false);
        sum = sum ? dync_add(sum, part) : part;
    }
    return sum;
}

typedef struct {
    dync_status status;
    dync_value result;
    inputs in;
    dync_tensor *grad[2], *buffer;
    bool grad_mode;
    int64_t ns;
} outcome;
static int64_t now_ns(void)
{
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static outcome run(dync_compiled *f_or_null, int fn, const one_call *c)
{
    outcome o = {DYNC_OK, DYNC_NONE, make_inputs(c), {NULL, NULL}, NULL, false, 0};
    bool before = dync_grad_mode_push(!c->no_grad);
    dync_tensor *parameter = dync_module_param(net, "0.weight");
    dync_tensor *parameters[4];
    for (int i = dync_module_parameters(net, parameters, 4); i-- > 0;)
        dync_set_grad(parameters[i], NULL);
    int64_t start = now_ns();
    o.result = f_or_null ? dync_call_values(f_or_null, 3, o.in.arg)
                         : functions[fn].fn(o.in.arg, 3, NULL);
    o.ns = now_ns() - start;
    o.grad_mode = dync_is_grad_enabled();
    dync_grad_mode_pop(before);
    dync_tensor *loss = c->backward && dync_error() == DYNC_OK ? loss_of(o.result) : NULL;
    if (loss) dync_backward(loss);
    for (int i = 0; i < 2; i++) o.grad[i] = o.in.leaf[i] ? dync_grad(o.in.leaf[i]) : NULL;
    o.buffer = dync_grad(parameter) ? dync_clone(dync_grad(parameter)) : NULL;
    o.status = dync_error();
    dync_clear_error();
    return o;
}

/* NULL: what compiled code did is what the plain function did. */
static const char *differs(const outcome *x, const outcome *y)
{
    if (x->status != y->status) return "an error";
    if (x->status != DYNC_OK) return NULL;
    if (x->grad_mode != y->grad_mode) return "the grad mode";
    if (!same_value(x->result, y->result, &x->in, &y->in)) return "the result";
    for (int i = 0; i < 2; i++) {
        if (x->in.leaf[i] && !same_tensor(x->in.leaf[i], y->in.leaf[i]))
            return "an argument afterwards";
        if (!same_tensor(x->grad[i], y->grad[i])) return "a gradient";
    }
    return same_tensor(x->buffer, y->buffer) ? NULL : "a parameter's gradient";
}

static void quiet(dync_status status, const char *message, void *user)
{
    (void)status, (void)message, (void)user;
}

typedef struct {
    dync_compiled *f;
    const sequence *q;
    const one_call *c;
    const char *what;
    bool failed;
    int64_t plain_ns, compiled_ns;
} job;
static void *run_both(void *arg)
{
    job *j = arg;
    dync_on_error(quiet, NULL);
    DYNC_SCOPE {
        dync_module_train(net, j->c->train);
        outcome plain = run(NULL, j->q->fn, j->c), compiled = run(j->f, j->q->fn, j->c);
        j->what = differs(&plain, &compiled);
        j->failed = plain.status != DYNC_OK;
        j->plain_ns = plain.ns;
        j->compiled_ns = compiled.ns;
    }
    return NULL;
}

/* ---- sequences ------------------------------------------------------------------------------- */
static uint64_t state;
static int rnd(int n)
{
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (int)((state >> 33) % (uint64_t)n);
}
static bool chance(int percent) { return rnd(100) < percent; }

/* Would fullgraph refuse it? The last: where its results can still be differentiated. */
static bool breaks(dync_function fn)
{
    return fn == by_value || fn == broken || fn == by_item || fn == framed || fn == two_breaks ||
           fn == backward_inside;
}
/* Do data decide a size or a number in it? */
static bool by_data(dync_function fn) { return fn == selected || fn == picked || fn == counted; }

static sequence make_sequence(uint64_t seed)
{
    static const dync_dtype dtypes[] = {DYNC_F32, DYNC_F64, DYNC_F16, DYNC_BF16, DYNC_I64};
    static const int sizes[] = {1, 2, 3, 4, 5, 8, 0};
    sequence q = {.seed = seed, .n = CALLS};
    state = (seed + 1) * 0x9E3779B97F4A7C15u;
    for (int i = 0; i < 4; i++) (void)rnd(2);
    q.fn = rnd(FUNCTIONS);
    q.backend = rnd(4);
    q.dynamic = rnd(3);
    q.symbolic = chance(50);
    q.captures = by_data(functions[q.fn].fn) && chance(70);
    q.fullgraph = !breaks(functions[q.fn].fn) && (q.captures || !by_data(functions[q.fn].fn)) &&
                  chance(25);
    bool other_dtypes = chance(40), other_cols = chance(40), aliased = chance(40),
         laid = chance(50), threads = chance(20), zero = chance(20);
    for (int i = 0; i < CALLS; i++) {
        one_call *c = &q.at[i];
        bool repeats = i && chance(25);
        if (repeats) *c = q.at[rnd(i)];
        c->seed = rnd(50);
        if (repeats) continue;
        c->rows = sizes[rnd(zero ? 7 : 6)];
        c->cols = other_cols ? sizes[rnd(4)] : 4;
        c->dtype = other_dtypes ? dtypes[rnd(5)] : DYNC_F32;
        c->lay = laid ? (layout)rnd(LAYOUTS) : DENSE;
        c->shared = aliased ? (alias)rnd(ALIASES) : APART;
        c->grad_a = chance(40), c->grad_b = chance(30);
        c->no_grad = chance(20), c->train = chance(50), c->backward = chance(70);
        c->has_grad = chance(30);
        c->other_thread = threads && chance(50);
        c->s = chance(50) ? 2 : rnd(5);
    }
    return q;
}

static void print_call(const one_call *c)
{
    printf("      [%d, %d] %s, %s, b %s%s%s%s%s%s%s, s %g, data %d\n", c->rows, c->cols,
           c->dtype == DYNC_F32    ? "f32"
           : c->dtype == DYNC_F64  ? "f64"
           : c->dtype == DYNC_F16  ? "f16"
           : c->dtype == DYNC_BF16 ? "bf16"
                                   : "i64",
           layouts[c->lay], aliases[c->shared], c->grad_a ? ", grad a" : "",
           c->grad_b ? ", grad b" : "", c->no_grad ? ", no_grad" : "", c->train ? ", train" : "",
           c->backward ? ", backward" : "", c->other_thread ? ", other thread" : "", c->s, c->seed);
}

/* From which pass on a sequence may compile nothing. The second, but: an entry with symbolic sizes
 * may be met, once, with an outcome of a branch or a number read from data that only the entry of
 * plain sizes knew; a call that fails leaves no entry, and is traced with the sizes that are
 * symbolic by then; a piece behind a break whose sizes data decide meets each of them once for
 * every entry; and a module whose training mode is switched looks new to guards every time. */
static int settled(const sequence *q, bool failed)
{
    bool flips = false;
    if (by_data(functions[q->fn].fn) && !q->captures) return PASSES;
    for (int i = 1; i < q->n; i++) flips = flips || q->at[i].train != q->at[0].train;
    if (functions[q->fn].fn == network && flips) return PASSES;
    return functions[q->fn].fn == by_value || functions[q->fn].fn == by_item || failed ? 2 : 1;
}

typedef struct {
    const char *what;
    int pass, call;
    double plain_ns, compiled_ns;
} verdict;
/* Every pass of the sequence through one compiled function; what NULL: all was well. */
static verdict judge(const sequence *q)
{
    counter c = {.inner = backends[q->backend]};
    verdict v = {NULL, 0, 0, 0, 0};
    dync_backend backend = COUNTER(c);
    bool failed = false;
    dync_compiled *f =
        dync_compile(dync_bind(functions[q->fn].fn, NULL, "a, b, s"), .backend_object = &backend,
                     .dynamic = (dync_dynamic)q->dynamic, .name = functions[q->fn].name,
                     .symbolic = q->symbolic ? "s" : NULL, .fullgraph = q->fullgraph,
                     .capture_scalars = q->captures, .capture_dynamic_shapes = q->captures,
                     .recompile_limit = q->fullgraph ? 64 : 0);
    for (; v.pass < PASSES && !v.what; v.pass++) {
        int frames = c.frame_count;
        for (v.call = 0; v.call < q->n && !v.what; v.call++) {
            job j = {f, q, &q->at[v.call], NULL, false, 0, 0};
            pthread_t thread;
            if (!j.c->other_thread)
                run_both(&j);
            else if (pthread_create(&thread, NULL, run_both, &j) == 0)
                pthread_join(thread, NULL);
            v.what = j.what;
            failed = failed || j.failed;
            v.plain_ns += v.pass == PASSES - 1 && !j.failed ? (double)j.plain_ns : 0;
            v.compiled_ns += v.pass == PASSES - 1 && !j.failed ? (double)j.compiled_ns : 0;
            if (!v.what && v.pass >= settled(q, failed) && c.frame_count != frames)
                v.what = "compiled again";
        }
    }
    dync_compiled_free(f);
    return v;
}

/* Calls that are not needed for the failure go, one by one. */
static void shrink(sequence *q, const char *what)
{
    for (bool less = true; less;) {
        less = false;
        for (int i = q->n - 1; i >= 0 && q->n > 1; i--) {
            sequence shorter = *q;
            memmove(&shorter.at[i], &shorter.at[i + 1], (size_t)(q->n - i - 1) * sizeof *q->at);
            shorter.n--;
            const char *now = judge(&shorter).what;
            if (!now || strcmp(now, what) != 0) continue;
            *q = shorter;
            less = true;
        }
    }
}

static void report(const sequence *full, const char *what)
{
    sequence q = *full;
    shrink(&q, what);
    verdict v = judge(&q);
    printf("  sequence %llu: %s differs in pass %d, call %d: %s, backend %s, dynamic %s%s%s\n",
           (unsigned long long)q.seed, what, v.pass, v.call, functions[q.fn].name,
           backends[q.backend], dynamics[q.dynamic], q.symbolic ? ", s symbolic" : "",
           q.fullgraph  ? ", fullgraph"
           : q.captures ? ", captures"
                        : "");
    for (int i = 0; i < q.n; i++) print_call(&q.at[i]);
    printf("    repeat: %s -t callers --seed %llu\n", test__state.program,
           (unsigned long long)q.seed);
}

TEST(callers)
{
    double plain[FUNCTIONS] = {0}, compiled[FUNCTIONS] = {0};
    int n = test_count(60), failed = 0;
    dync_on_error(quiet, NULL);
    dync_manual_seed(1);
    net = dync_sequential(dync_nn_linear(4, 4, true), dync_nn_relu(), dync_nn_linear(4, 1, true));
    for (int i = 0; i < n && failed < 5; i++) {
        sequence q = make_sequence(test__state.seed + (uint64_t)i);
        verdict v = judge(&q);
        if (v.what) report(&q, v.what), failed++;
        EXPECT(!v.what);
        plain[q.fn] += v.plain_ns;
        compiled[q.fn] += v.compiled_ns;
    }
    if (n > 60) printf("  time of a compiled call in the last pass, by that of a plain one:");
    for (int k = 0; n > 60 && k < FUNCTIONS; k++)
        if (plain[k] > 0)
            printf("%s%s %.2f", k % 8 ? ", " : "\n    ", functions[k].name, compiled[k] / plain[k]);
    if (n > 60) printf("\n");
    dync_module_free(net);
    dync_shutdown();
}

/* ---- at once --------------------------------------------------------------------------------- */
typedef struct {
    dync_compiled *f;
    const sequence *q;
    int from;
    const char *what;
    int call;
} caller;
static void *run_all(void *arg)
{
    caller *t = arg;
    for (int i = 0; i < 2 * t->q->n && !t->what; i++) {
        job j = {t->f, t->q, &t->q->at[(t->from + i) % t->q->n], NULL, false, 0, 0};
        run_both(&j);
        t->what = j.what;
        t->call = (t->from + i) % t->q->n;
    }
    return NULL;
}

TEST(callers_at_once)
{
    enum { THREADS = 3 };
    int n = test_count(12);
    net = dync_sequential(dync_nn_linear(4, 4, true));
    for (int i = 0; i < n; i++) {
        sequence q = make_sequence(test__state.seed + (uint64_t)i);
        if (functions[q.fn].fn == network)
            q.fn--; /* gradients of its parameters would be everybody's */
        for (int k = 0; k < q.n; k++) q.at[k].train = true;
        dync_compiled *f =
            dync_compile(dync_bind(functions[q.fn].fn, NULL, "a, b, s"),
                         .backend = backends[q.backend], .dynamic = (dync_dynamic)q.dynamic,
                         .symbolic = q.symbolic ? "s" : NULL, .name = functions[q.fn].name,
                         .capture_scalars = q.captures, .capture_dynamic_shapes = q.captures);
        caller t[THREADS];
        pthread_t thread[THREADS];
        for (int k = 0; k < THREADS; k++) {
            t[k] = (caller){f, &q, 4 * k, NULL, 0};
            REQUIRE(pthread_create(&thread[k], NULL, run_all, &t[k]) == 0);
        }
        for (int k = 0; k < THREADS; k++) {
            pthread_join(thread[k], NULL);
            if (EXPECT(!t[k].what)) continue;
            printf("  sequence %llu, three threads: %s differs: %s, backend %s, dynamic %s\n",
                   (unsigned long long)q.seed, t[k].what, functions[q.fn].name, backends[q.backend],
                   dynamics[q.dynamic]);
            print_call(&q.at[t[k].call]);
            printf("    repeat: %s -t callers_at_once --seed %llu\n", test__state.program,
                   (unsigned long long)q.seed);
        }
        dync_compiled_free(f);
    }
    dync_module_free(net);
    dync_shutdown();
}
TEST_MAIN
