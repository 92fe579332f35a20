/* Random programs on the device: pointwise chains, reductions, norms, products, convolutions,
 * attention, pooling, indexing, sorting, views, writes in place, casts between all dtypes, random
 * numbers, values that go to the CPU and back, branches; some trained. Eager on the CPU is the
 * oracle of every backend on the GPU. Sums round differently, so that a comparison may turn out
 * otherwise: a program is wrong where it is wrong on two of three inputs. It is shrunk and printed
 * with its seed; `--seed N` starts elsewhere, SOAK=50 in the environment runs so many times
 * more. */
#include "dync.h"
#include "dync_cuda.h"
#define TEST_AFTER_EACH (dync_shutdown(), dync_clear_error(), dync_on_error(NULL, NULL))
#include "test.h"
#include "../cuda_emulator/emulator.h"

enum { MAX_INS = 14, MAX_ARGS = 3, MAX_VALUES = MAX_ARGS + MAX_INS, MAX_OUT = 3 };
typedef struct {
    int op, a, b;
    uint32_t r;
} ins;
typedef struct {
    int n, n_args, n_out, out[MAX_OUT];
    bool train, breaks;
    ins at[MAX_INS];
    dync_dims shape[MAX_ARGS];
    dync_dtype dtype[MAX_ARGS];
} program;

static uint64_t state;
static uint32_t rnd(uint32_t n)
{
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (uint32_t)(state >> 33) % n;
}

/* ---- instructions: everything follows from the shapes and r ---------------------------------- */
/* random numbers: once a program, as what nobody uses is not drawn in compiled code */
static bool drew;
/* some value has been one: it leaves its rounding behind */
static bool halves;
static dync_device here; /* where the program runs */
/* r of the instruction under way, used up draw by draw */
static uint32_t die;
static int64_t draw(int64_t n)
{
    int64_t x = n > 0 ? (int64_t)(die >> 8) % n : 0;
    die = die * 1664525u + 1013904223u;
    return x;
}
static dync_dims shape_of(dync_tensor *t)
{
    dync_dims d = {.n = dync_ndim(t)};
    for (int i = 0; i < d.n; i++) d.d[i] = dync_size(t, i);
    return d;
}
static bool is_float(dync_tensor *t)
{
    dync_dtype d = dync_type(t);
    return d == DYNC_F32 || d == DYNC_F64 || d == DYNC_F16 || d == DYNC_BF16;
}
static dync_tensor *real(dync_tensor *t) { return is_float(t) ? t : dync_to_dtype(t, DYNC_F32); }
/* t's elements over and over, in this shape. */
static dync_tensor *spread(dync_tensor *t, dync_dims shape)
{
    int64_t n = 1, have = dync_numel(t);
    for (int i = 0; i < shape.n; i++) n *= shape.d[i];
    t = dync_reshape(t, dync_shape(-1));
    if (have < n) t = dync_repeat(t, dync_shape((n + have - 1) / have));
    return dync_reshape(dync_slice(t, 0, 0, n, 1), shape);
}
static dync_tensor *like(dync_tensor *b, dync_tensor *a) { return spread(b, shape_of(a)); }
static dync_tensor *same_type(dync_tensor *b, dync_tensor *a)
{
    return dync_to_dtype(b, dync_type(a));
}
static int some_dim(dync_tensor *a) { return (int)draw(dync_ndim(a)); }
static dync_tensor *at_least_1d(dync_tensor *a)
{
    return dync_ndim(a) ? a : dync_reshape(a, dync_shape(1));
}
static dync_tensor *calm(dync_tensor *a) { return dync_clamp(a, -30, 30); }
/* Places from b's elements, below n. */
static dync_tensor *places(dync_tensor *b, int64_t n)
{
    dync_tensor *i = dync_to_dtype(
        dync_floor(dync_mul(dync_abs(calm(dync_to_dtype(b, DYNC_F32))), 7.3)), DYNC_I64);
    return dync_remainder(i, n);
}

static dync_tensor *unary(dync_tensor *a)
{
    a = real(a);
    switch (draw(16)) {
    case 0: return dync_sin(a);
    case 1: return dync_tanh(a);
    case 2: return dync_sigmoid(a);
    case 3: return dync_relu(a);
    case 4: return dync_gelu(a);
    case 5: return dync_abs(a);
    case 6: return dync_neg(a);
    case 7: return dync_exp(dync_neg(dync_abs(a)));
    case 8: return dync_sqrt(dync_add(dync_abs(a), 0.25));
    case 9: return dync_log1p(dync_abs(a));
    case 10: return dync_erf(a);
    case 11: return dync_silu(a);
    case 12: return dync_softplus(a);
    case 13: return dync_pow(dync_add(dync_abs(calm(a)), 0.5), 1.5);
    case 14: return dync_where(dync_isfinite(a), a, 0.5);
    default: return dync_hardswish(a);
    }
}
static dync_tensor *binary(dync_tensor *a, dync_tensor *b)
{
    b = like(b, a);
    switch (draw(9)) {
    case 0: return dync_add(a, b);
    case 1: return dync_sub(dync_mul(a, 1), dync_mul(b, 1));
    case 2: return dync_mul(a, dync_type(a) == DYNC_BOOL ? b : same_type(b, a));
    case 3: return dync_maximum(a, same_type(b, a));
    case 4: return dync_minimum(a, same_type(b, a));
    case 5: return dync_div(a, dync_add(dync_abs(real(b)), 1));
    case 6: return dync_where(dync_gt(a, b), a, b);
    case 7: return dync_lt(a, b);
    default: return dync_lerp(real(a), dync_to_dtype(b, dync_type(real(a))), 0.3);
    }
}
static dync_tensor *numbers(dync_tensor *a)
{
    switch (draw(6)) {
    case 0: return dync_mul(real(a), (double)draw(7) / 4 - 0.75);
    case 1: return dync_add(a, draw(5));
    case 2: return dync_clamp(real(a), -0.7, 1.3);
    case 3: return dync_remainder(dync_to_dtype(calm(real(a)), DYNC_I32), 5);
    case 4: return dync_floor_divide(dync_to_dtype(calm(real(a)), DYNC_I64), 3);
    default: return dync_bitwise_xor(dync_to_dtype(calm(real(a)), DYNC_I32), 13);
    }
}
static dync_tensor *reduced(dync_tensor *a)
{
    dync_dims dim = dync_shape(some_dim(a));
    bool keep = draw(2);
    if (draw(4) == 0) dim = DYNC_ALL;
    switch (draw(9)) {
    case 0: return dync_mul(dync_sum(real(a), dim, keep), 0.25);
    case 1: return dync_mean(real(a), dim, keep);
    case 2: return dync_amax(a, dim, keep);
    case 3: return dync_amin(a, dim, keep);
    case 4: return dync_var(real(a), dim, 0, keep);
    case 5: return dync_any(dync_gt(a, 0.0137), dim, keep);
    case 6:
        return dync_argmax(is_float(a) ? dync_round(dync_mul(calm(a), 3.37)) : a, some_dim(a),
                           keep);
    case 7: return dync_logsumexp(calm(real(a)), dim, keep);
    default: return dync_sum(dync_to_dtype(calm(real(a)), DYNC_I32), dim, keep);
    }
}
static dync_tensor *rows(dync_tensor *a)
{
    a = calm(real(a));
    int d = some_dim(a), last = dync_ndim(a) - 1;
    switch (draw(7)) {
    case 0: return dync_softmax(a, d);
    case 1: return dync_log_softmax(a, d);
    case 2: return dync_layer_norm(a, dync_shape(dync_size(a, last)), NULL, NULL, 1e-2);
    case 3: return dync_mul(dync_cumsum(a, d), 0.1);
    case 4: return dync_sub(a, dync_mean(a, dync_shape(d), true));
    case 5: return dync_rms_norm(a, dync_shape(dync_size(a, last)), NULL, 1e-2);
    default: return dync_div(a, dync_add(dync_norm(a, 2, dync_shape(d), true), 1));
    }
}
static dync_tensor *product(dync_tensor *a, dync_tensor *b)
{
    static const int64_t sizes[] = {1, 3, 8, 17, 32, 40};
    int64_t k = sizes[draw(6)], m = sizes[draw(6)], n = sizes[draw(6)];
    a = spread(calm(real(a)), draw(3) ? dync_shape(m, k) : dync_shape(2, m, k));
    b = dync_to_dtype(spread(calm(real(b)), draw(3) ? dync_shape(k, n) : dync_shape(n, k)),
                      dync_type(a));
    if (dync_size(b, 0) != k || (k == n && draw(2))) b = dync_transpose(b, 0, 1);
    dync_tensor *y = dync_mul(dync_matmul(a, b), 0.2);
    switch (draw(4)) {
    case 0: return dync_relu(dync_add(y, dync_select(y, -2, 0)));
    case 1: return dync_softmax(y, -1);
    case 2: return dync_add(y, spread(a, shape_of(y)));
    default: return y;
    }
}
static dync_tensor *convolved(dync_tensor *a, dync_tensor *b)
{
    static const int64_t channels[] = {1, 2, 4, 6, 16};
    int64_t groups = draw(3) ? 1 : 2, c = channels[draw(5)] * groups,
            o = channels[draw(5)] * groups, h = 3 + draw(10), w = 3 + draw(10), kh = 1 + draw(3),
            kw = 1 + draw(3);
    bool depthwise = draw(4) == 0;
    if (depthwise) groups = c, o = c * (1 + draw(2));
    dync_tensor *x = spread(calm(real(a)), dync_shape(1 + draw(2), c, h, w)),
                *k =
                    dync_mul(dync_to_dtype(spread(calm(real(b)), dync_shape(o, c / groups, kh, kw)),
                                           dync_type(x)),
                             0.3);
    dync_tensor *bias = draw(2) ? dync_select(dync_select(dync_select(k, 1, 0), 1, 0), 1, 0) : NULL,
                *y;
    dync_dims stride = dync_shape(1 + draw(3), 1 + draw(3)), pad = dync_shape(draw(2), draw(2)),
              dilation = dync_shape(1, 1 + (kw > 1 && w > 5 ? draw(2) : 0));
    if (draw(5) == 0 && groups == 1)
        return dync_mul(dync_conv_transpose2d(x, spread(k, dync_shape(c, o, kh, kw)), bias, stride,
                                              dync_shape(0, 0), dync_shape(0, 0), 1,
                                              dync_shape(1, 1)),
                        0.3);
    y = dync_mul(dync_conv2d(x, k, bias, stride, pad, dilation, (int)groups), 0.3);
    return draw(3)   ? y
           : draw(2) ? dync_relu(y)
                     : dync_batch_norm(y, NULL, NULL, NULL, NULL, true, 0.1, 1e-1);
}
static dync_tensor *attended(dync_tensor *a, dync_tensor *b)
{
    int64_t heads = 1 + draw(2), l = 1 + draw(20), s = draw(3) ? l : 1 + draw(40),
            e = 8 * (1 + draw(4));
    dync_tensor *q = spread(calm(real(a)), dync_shape(1, heads, l, e)),
                *k = dync_to_dtype(spread(calm(real(b)), dync_shape(1, heads, s, e)), dync_type(q)),
                *v = dync_sin(k);
    dync_tensor *mask = draw(3) ? NULL : same_type(dync_mul(spread(q, dync_shape(l, s)), 0.5), q);
    return dync_scaled_dot_product_attention(q, k, v, mask, 0, !mask && draw(2), DYNC_NONE);
}
static dync_tensor *pooled(dync_tensor *a)
{
    int64_t k = 2 + draw(2);
    a = spread(calm(real(a)), dync_shape(1 + draw(2), 1 + draw(3), 5 + draw(8), 5 + draw(8)));
    if (draw(2))
        return dync_avg_pool2d(a, dync_shape(k, k), dync_shape(1 + draw(3), 2), dync_shape(1, 0),
                               draw(2), draw(2));
    return dync_max_pool2d(a, dync_shape(k, k), dync_shape(1 + draw(3), 2), dync_shape(1, 1),
                           dync_shape(1, 1), draw(2));
}
static dync_tensor *indexed(dync_tensor *a, dync_tensor *b)
{
    int d = some_dim(a);
    int64_t n = dync_size(a, d), count = 1 + draw(40);
    dync_dims shape = shape_of(a);
    shape.d[d] = count;
    dync_tensor *line = places(spread(b, dync_shape(count)), n),
                *each = places(spread(b, shape), n), *source = same_type(spread(b, shape), a);
    switch (draw(7)) {
    case 0: return dync_index_select(a, d, line);
    case 1: return dync_gather(a, d, each);
    case 2: return dync_scatter(a, d, each, source);
    case 3: return dync_type(a) == DYNC_BOOL ? a : dync_scatter_add(a, d, each, source);
    case 4: return dync_type(a) == DYNC_BOOL ? a : dync_index_add(a, d, line, source);
    case 5:
        return dync_embedding(spread(real(a), dync_shape(9, 5)),
                              places(spread(b, dync_shape(3, count)), 9));
    default:
        return dync_take_along_dim(
            a, dync_argsort(is_float(a) ? dync_round(dync_mul(calm(a), 3.37)) : a, d, draw(2)), d);
    }
}
static dync_tensor *sorted(dync_tensor *a)
{
    int d = some_dim(a);
    if (draw(3) == 0)
        return dync_argsort(is_float(a) ? dync_round(dync_mul(calm(a), 3.37)) : a, d, draw(2));
    return draw(2) ? dync_as_tensor(dync_at(dync_sort(a, d, draw(2)), 0))
                   : dync_as_tensor(
                         dync_at(dync_topk(a, 1 + draw(dync_size(a, d)), d, draw(2), true), 0));
}
static dync_tensor *view(dync_tensor *a, dync_tensor *b)
{
    int d = some_dim(a), e = some_dim(a);
    int64_t n = dync_size(a, d), from = draw(n);
    switch (draw(14)) {
    case 0: return dync_transpose(a, d, e);
    case 1: return dync_slice(a, d, from, n, 1 + draw(3));
    case 2: return dync_select(a, d, from);
    case 3: return dync_unsqueeze(a, d);
    case 4: return dync_flip(a, dync_shape(d));
    case 5: return dync_roll(a, dync_shape(1 + draw(5)), dync_shape(d));
    case 6: return dync_expand(dync_slice(a, d, from, from + 1, 1), shape_of(a));
    case 7: return dync_cat(dync_tuple(a, same_type(like(b, a), a), a), d);
    case 8: return dync_stack(dync_tuple(a, same_type(like(b, a), a)), d);
    case 9: return dync_reshape(a, dync_shape(-1));
    case 10: return dync_ndim(a) < 2 ? a : dync_tril(a, (int)draw(3) - 1);
    case 11: return dync_pad(a, dync_shape(draw(3), draw(3)), 2);
    case 12: return dync_unfold(a, d, 1 + draw(n < 3 ? n : 3), 1 + draw(2));
    default: return dync_contiguous(dync_transpose(a, d, e));
    }
}
static dync_tensor *written(dync_tensor *a, dync_tensor *b)
{
    dync_tensor *c = dync_clone(a), *part;
    int d = some_dim(c);
    int64_t n = dync_size(c, d), from = draw(n);
    part = dync_slice(c, d, from, n, 1 + draw(2));
    b = same_type(like(b, part), c);
    switch (draw(6)) {
    case 0: dync_copy_(part, b); break;
    case 1:
        if (dync_type(c) != DYNC_BOOL) dync_add_(part, b);
        break;
    case 2:
        if (is_float(c)) dync_mul_(part, 0.5);
        break;
    case 3: dync_fill_(part, 1); break;
    case 4: dync_masked_fill_(c, dync_gt(a, 0.0137), 1); break;
    default:
        if (is_float(c)) {
            dync_add_(c, 1);
            return dync_softmax(calm(c), d);
        }
    }
    return c;
}
static dync_tensor *cast(dync_tensor *a)
{
    static const dync_dtype all[] = {DYNC_F32, DYNC_F64, DYNC_F16, DYNC_BF16, DYNC_BF16, DYNC_I64,
                                     DYNC_I32, DYNC_I16, DYNC_I8,  DYNC_U8,   DYNC_BOOL};
    dync_dtype to = all[draw(11)];
    if (to == DYNC_U8) a = dync_abs(real(a));
    halves |= to == DYNC_F16 || to == DYNC_BF16;
    return dync_to_dtype(is_float(a) ? calm(a) : a, to);
}
static dync_tensor *mixed(dync_tensor *a, dync_tensor *b)
{
    switch (draw(5)) {
    case 0: return dync_to_device(dync_mul(dync_to_device(real(a), DYNC_CPU), 0.5), here);
    case 1:
        return dync_add(
            a, dync_sum(dync_to_device(dync_to_dtype(spread(b, dync_shape(3)), DYNC_F32), DYNC_CPU),
                        DYNC_ALL, false));
    case 2: drew = true; return dync_dropout(real(a), 0.4, true);
    case 3:
        drew = true;
        return dync_add(real(a), dync_mul(dync_randn(shape_of(a), .device = here), 0.1));
    default: return dync_sub(a, dync_full(DYNC_SCALAR, 0.75));
    }
}
static dync_tensor *broken(dync_tensor *a, dync_tensor *b)
{
    if (draw(2))
        return dync_bool(
                   dync_gt(dync_sum(dync_to_dtype(calm(real(a)), DYNC_I64), DYNC_ALL, false), 3))
                   ? dync_mul(a, 2)
                   : real(a);
    dync_graph_break("random");
    return dync_add(a, like(b, a));
}

enum {
    OP_nop,
    OP_unary,
    OP_binary,
    OP_numbers,
    OP_reduced,
    OP_rows,
    OP_product,
    OP_convolved,
    OP_attended,
    OP_pooled,
    OP_indexed,
    OP_sorted,
    OP_view,
    OP_written,
    OP_cast,
    OP_mixed,
    OP_broken,
    N_OPS
};
static const char *const names[] = {
    "nop",    "unary",   "binary", "numbers", "reduced", "rows", "product", "convolved", "attended",
    "pooled", "indexed", "sorted", "view",    "written", "cast", "mixed",   "broken"};
static dync_tensor *apply(const ins *i, dync_tensor *a, dync_tensor *b)
{
    die = i->r;
    a = at_least_1d(a);
    switch (i->op) {
    case OP_unary: return unary(a);
    case OP_binary: return binary(a, b);
    case OP_numbers: return numbers(a);
    case OP_reduced: return reduced(a);
    case OP_rows: return rows(a);
    case OP_product: return product(a, b);
    case OP_convolved: return convolved(a, b);
    case OP_attended: return attended(a, b);
    case OP_pooled: return pooled(a);
    case OP_indexed: return indexed(a, b);
    case OP_sorted: return sorted(a);
    case OP_view: return view(a, b);
    case OP_written: return written(a, b);
    case OP_cast: return cast(a);
    case OP_mixed: return mixed(a, b);
    case OP_broken: return broken(a, b);
    default: return a;
    }
}
static dync_value run(const dync_value *args, int n, void *user)
{
    const program *p = user;
    dync_tensor *v[MAX_VALUES];
    dync_value out[MAX_OUT];
    int have = 0;
    for (int i = 0; i < n; i++) v[have++] = dync_as_tensor(args[i]);
    for (int i = 0; i < p->n; i++)
        if (!(v[have++] = apply(&p->at[i], v[p->at[i].a], v[p->at[i].b]))) return DYNC_NONE;
    for (int i = 0; i < p->n_out; i++) out[i] = dync_v_tensor(v[p->out[i]]);
    return dync_tuple_of(p->n_out, out);
}

/* ---- one program ----------------------------------------------------------------------------- */
typedef struct {
    int n;
    dync_tensor *t[MAX_OUT + MAX_ARGS];
} outcome;
static outcome run_once(dync_compiled *f, const program *p, bool on_gpu, uint64_t seed)
{
    outcome o = {.n = 0};
    dync_value args[MAX_ARGS];
    dync_tensor *in[MAX_ARGS], *loss = NULL;
    here = on_gpu ? DYNC_CUDA : DYNC_CPU;
    dync_manual_seed(seed);
    for (int i = 0; i < p->n_args; i++) {
        in[i] = dync_to_dtype(dync_mul(dync_randn(p->shape[i]), p->dtype[i] == DYNC_F32 ? 1 : 4),
                              p->dtype[i]);
        halves |= p->dtype[i] == DYNC_F16 || p->dtype[i] == DYNC_BF16;
        if (on_gpu) in[i] = dync_to_device(in[i], DYNC_CUDA);
        if (p->train && is_float(in[i])) dync_requires_grad_(in[i] = dync_detach(in[i]), true);
        args[i] = DYNC_V(in[i]);
    }
    dync_manual_seed(seed + 1);
    dync_value r = f ? dync_call_values(f, p->n_args, args)
                     : run(args, p->n_args, (void *)(uintptr_t)p);
    if (r.kind != DYNC_KIND_LIST) return o;
    for (int i = 0; i < p->n_out; i++) {
        dync_tensor *t = o.t[o.n++] = dync_as_tensor(dync_at(r, i));
        if (p->train && t && dync_requires_grad(t)) {
            t = dync_mean(dync_square(dync_to_dtype(t, DYNC_F32)), DYNC_ALL, false);
            loss = loss ? dync_add(loss, t) : t;
        }
    }
    if (loss) dync_backward(loss);
    for (int i = 0; i < p->n_args; i++) o.t[o.n++] = dync_grad(in[i]);
    return o;
}

static bool near(dync_tensor *got, dync_tensor *want)
{
    /* one node stands for a whole graph: zeros where eager has nothing */
    if (!got || !want) {
        dync_tensor *t = got ? got : want;
        return !t || (got && dync_item(dync_sum(dync_abs(dync_to_dtype(t, DYNC_F32)), DYNC_ALL,
                                                false)) == 0);
    }
    bool exact = !is_float(want);
    if (dync_type(got) != dync_type(want) || dync_ndim(got) != dync_ndim(want)) return false;
    dync_tensor *a = dync_detach(dync_to_device(got, DYNC_CPU)), *b = dync_detach(want);
    for (int i = 0; i < dync_ndim(a); i++)
        if (dync_size(a, i) != dync_size(b, i)) return false;
    if (exact || dync_numel(a) == 0) return dync_equal(a, b);
    a = dync_to_dtype(a, DYNC_F64), b = dync_to_dtype(b, DYNC_F64);
    if (!dync_equal(dync_isnan(a), dync_isnan(b))) return false;
    a = dync_nan_to_num(a, 0, 1e30, -1e30), b = dync_nan_to_num(b, 0, 1e30, -1e30);
    double size = dync_item(dync_amax(dync_abs(b), DYNC_ALL, false)),
           off = dync_item(dync_amax(dync_abs(dync_sub(a, b)), DYNC_ALL, false));
    return off <= (halves ? 0.06 : 3e-3) * (size > 1 ? size : 1);
}

static char what[900];
static bool fails(const program *p, const char *backend, uint64_t seed)
{
    int wrong = 0;
    halves = false;
    dync_compiled *f = backend ? dync_compile(run, .args = "a, b, c", .backend = backend,
                                              .user = (void *)(uintptr_t)p)
                               : NULL;
    for (int call = 0; call < 3 && wrong < 2 && !(call == 2 && wrong == 0); call++) DYNC_SCOPE {
        outcome want = run_once(NULL, p, false, seed + 10 * (uint64_t)call);
        dync_status cpu = dync_error();
        dync_clear_error();
        outcome got = run_once(f, p, true, seed + 10 * (uint64_t)call);
        /* what the CPU refuses says nothing */
        bool ok = cpu == DYNC_OK ? dync_error() == DYNC_OK && want.n == got.n : true;
        if (!ok)
            snprintf(what, sizeof what, "%s %s", dync_error_message(), cuemu_detail()), wrong = 2;
        for (int i = 0; i < want.n && ok && cpu == DYNC_OK; i++)
            if (!near(got.t[i], want.t[i])) {
                snprintf(what, sizeof what, "%s %d, call %d\n  %.300s\n  %.300s",
                         i < p->n_out ? "output" : "gradient", i < p->n_out ? i : i - p->n_out,
                         call, got.t[i] ? dync_str(dync_detach(got.t[i])) : "nothing",
                         want.t[i] ? dync_str(dync_detach(want.t[i])) : "nothing");
                ok = false, wrong++;
            }
        dync_clear_error();
    }
    dync_compiled_free(f);
    return wrong >= 2;
}

/* Instructions that the CPU refuses, or that make values too large for a test, are not taken. */
static void make(program *p, uint64_t seed)
{
    static const int64_t sizes[] = {1, 2, 3, 4, 5, 7, 8, 12, 16, 17, 32, 33, 64};
    state = seed * 0x9e3779b97f4a7c15u + 88172645463325252u;
    memset(p, 0, sizeof *p);
    p->n_args = 1 + (int)rnd(MAX_ARGS);
    p->train = rnd(3) == 0;
    for (int i = 0; i < p->n_args; i++) {
        static const dync_dtype dtypes[] = {DYNC_F32,  DYNC_F32,  DYNC_F32, DYNC_F32,
                                            DYNC_BF16, DYNC_F16,  DYNC_F64, DYNC_I64,
                                            DYNC_I32,  DYNC_BOOL, DYNC_I8};
        p->dtype[i] = dtypes[rnd(11)];
        p->shape[i].n = 1 + (int)rnd(3);
        for (int d = 0; d < p->shape[i].n; d++) p->shape[i].d[d] = sizes[rnd(13)];
    }
    int want = 1 + (int)rnd(MAX_INS);
    bool breaks = rnd(5) == 0;
    for (int tries = 0; p->n < want && tries < 3 * MAX_INS; tries++) {
        int have = p->n_args + p->n;
        p->at[p->n] = (ins){1 + (int)rnd((uint32_t)N_OPS - 1 - !breaks),
                            have - 1 - (int)rnd(have < 3 ? (uint32_t)have : 3),
                            (int)rnd((uint32_t)have), rnd(1u << 30)};
        p->out[0] = have, p->n_out = 1, p->n++;
        bool ok = false, before = drew = false;
        for (int i = 0; i + 1 < p->n; i++) before |= p->at[i].op == OP_mixed;
        DYNC_SCOPE {
            outcome o = run_once(NULL, p, false, seed);
            ok = dync_error() == DYNC_OK && !(before && drew) && o.n && o.t[0] &&
                 dync_numel(o.t[0]) < 6000 && dync_numel(o.t[0]) > 0;
            dync_clear_error();
        }
        if (!ok) p->n--;
    }
    int have = p->n_args + p->n;
    p->n_out = 1 + (int)rnd(MAX_OUT);
    for (int i = 0; i < p->n_out; i++)
        p->out[i] = have - 1 - (i ? (int)rnd(have < 5 ? (uint32_t)have : 5) : 0);
}
static void show(const program *p)
{
    for (int i = 0; i < p->n_args; i++) {
        printf("  v%d: dtype %d [", i, p->dtype[i]);
        for (int d = 0; d < p->shape[i].n; d++)
            printf("%s%d", d ? ", " : "", (int)p->shape[i].d[d]);
        printf("]\n");
    }
    for (int i = 0; i < p->n; i++)
        if (p->at[i].op != OP_nop)
            printf("  v%d = %s(v%d, v%d, r %u)\n", p->n_args + i, names[p->at[i].op], p->at[i].a,
                   p->at[i].b, p->at[i].r);
        else
            printf("  v%d = v%d\n", p->n_args + i, p->at[i].a);
    for (int i = 0; i < p->n_out; i++) printf("%sv%d", i ? ", " : "  return ", p->out[i]);
    printf("%s\n", p->train ? "; trained" : "");
}
static void shrink(program *p, const char *backend, uint64_t seed)
{
    for (bool again = true; again;) {
        again = false;
        for (int i = 0; i < p->n + p->n_out + 1; i++) {
            program q = *p;
            if (i < p->n) {
                if (p->at[i].op == OP_nop) continue;
                q.at[i].op = OP_nop;
            } else if (i < p->n + p->n_out) {
                if (p->n_out == 1) continue;
                for (int k = i - p->n; k + 1 < q.n_out; k++) q.out[k] = q.out[k + 1];
                q.n_out--;
            } else {
                if (!p->train) continue;
                q.train = false;
            }
            bool smaller = false;
            DYNC_SCOPE {
                smaller = fails(&q, backend, seed);
            }
            if (smaller) *p = q, again = true;
        }
    }
}
static void quiet(dync_status status, const char *message, void *user)
{
    (void)status, (void)message, (void)user;
}

static void many(const char *backend, int count)
{
    int bad = 0;
    count = test_count(count);
    dync_on_error(quiet, NULL);
    for (int i = 0; i < count && bad < 5; i++) {
        uint64_t seed = test__state.seed * 1000003 + (uint64_t)i;
        program p;
        bool wrong = false;
        make(&p, seed);
        DYNC_SCOPE {
            wrong = fails(&p, backend, seed);
        }
        if (i % 50 == 49) dync_reset();
        if (!wrong) continue;
        bad++;
        /* a program on the GPU differs from the CPU */
        EXPECT(!wrong);
        shrink(&p, backend, seed);
        DYNC_SCOPE {
            (void)fails(&p, backend, seed);
        }
        printf("program %d of --seed %llu on %s, shrunk: %s\n", i,
               (unsigned long long)test__state.seed, backend ? backend : "nothing", what);
        show(&p);
    }
    EXPECT_EQ_INT(dync_cuda_get_counters().host_steps, 0); /* nothing went to the CPU */
}
TEST(random_plain) { many(NULL, 12); }
TEST(random_inductor) { many("inductor", 25); }
TEST(random_cudagraphs) { many("cudagraphs", 12); }
TEST_MAIN
