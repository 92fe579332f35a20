/* graph/slices.c: sums of the gradients of slices, part by part. Each graph runs with the pass and
 * without it, and every element must be the same. */
#include "dync.h"
#include "test.h"
#define TEST_AFTER_EACH (dync_config_set("disable", NULL), dync_reset(), dync_clear_error())

static uint64_t state = 1;
static int draw(int n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int)((state >> 33) % (uint64_t)n);
}

/* ---- graphs of the operators themselves ------------------------------------------------------ */
/* What a program does is drawn again from its seed wherever it runs. */
typedef struct drawn {
    uint64_t seed;
    int n_dims, dtype;
    int64_t shape[4];
} drawn;
static drawn now;

/* A gradient of n dims: contiguous, expanded, or with its dims in another order. */
static dync_tensor *gradient(dync_tensor *x, int n, const int64_t *shape)
{
    dync_dims sizes = {.n = n}, turned = {.n = n}, back = {.n = n};
    int64_t all = 1, first = draw(5);
    for (int d = 0; d < n; d++) all *= sizes.d[d] = shape[d];
    dync_tensor *flat = dync_flatten(x, 0, -1);
    int64_t have = dync_numel(flat);
    if (!all || !have) return dync_to_dtype(dync_zeros(sizes), (dync_dtype)now.dtype);
    while (have < all + 5) {
        flat = dync_cat(dync_tuple(flat, dync_mul(flat, 3)), 0);
        have = dync_numel(flat);
    }
    if (n && draw(5) == 0) { /* expanded */
        dync_dims one = sizes;
        int d = draw(n);
        all /= one.d[d];
        one.d[d] = 1;
        return dync_expand(dync_reshape(dync_narrow(flat, 0, first, all), one), sizes);
    }
    if (n > 1 && draw(4) == 0) { /* turned */
        for (int d = 0; d < n; d++) turned.d[d] = sizes.d[n - 1 - d], back.d[d] = n - 1 - d;
        return dync_permute(dync_reshape(dync_narrow(flat, 0, first, all), turned), back);
    }
    return dync_mul(dync_reshape(dync_narrow(flat, 0, first, all), sizes), 1 + draw(4));
}

static dync_value list_of(int n, const int64_t *size)
{
    dync_value v[4];
    for (int i = 0; i < n; i++) v[i] = DYNC_V(size[i]);
    return dync_tuple_of(n, v);
}

/* Zeros of that shape with a gradient in a part: of a slice, of slices of slices, of a row. */
static dync_tensor *placed(dync_tensor *x, int n, const int64_t *shape, int depth)
{
    int64_t inner[4];
    int d = draw(n);
    for (int i = 0; i < n; i++) inner[i] = shape[i];
    bool select = n > 1 && draw(2) && shape[d], last = depth == 0 || draw(3) == 0;
    int64_t from = draw((int)shape[d] + 1), to = from + draw((int)(shape[d] - from) + 1),
            step = draw(6) ? 1 : 2;
    if (select) {
        from = draw((int)shape[d]);
        for (int i = d; i < n - 1; i++) inner[i] = shape[i + 1];
    } else
        inner[d] = (to - from + step - 1) / step;
    dync_tensor *g = last ? gradient(x, n - select, inner)
                          : placed(x, n - select, inner, depth - 1);
    int dim = draw(2) ? d : d - n;
    if (select) {
        int64_t at = draw(2) ? from : from - shape[d];
        return dync_as_tensor(dync_op_call_values(
            "select_backward", 4,
            (dync_value[]){DYNC_V(g), list_of(n, shape), DYNC_V(dim), DYNC_V(at)}));
    }
    if (to == shape[d] && draw(2)) to = DYNC_END;
    return dync_as_tensor(
        dync_op_call_values("slice_backward", 6,
                            (dync_value[]){DYNC_V(g), list_of(n, shape), DYNC_V(dim), DYNC_V(from),
                                           DYNC_V(to), DYNC_V(step)}));
}

/* Additions of such, of whole arrays and of sums: in chains, in trees, of sums that others read
 * too. Returned: the last, and some of those before. */
static dync_value sums(const dync_value *args, int nargs, void *user)
{
    dync_tensor *x = dync_as_tensor(args[0]);
    (void)nargs, (void)user;
    dync_tensor *v[24], *out[8];
    int n = 0, n_out = 0;
    state = now.seed;
    for (int k = 2 + draw(5); k > 0; k--) v[n++] = placed(x, now.n_dims, now.shape, draw(3));
    if (draw(3)) v[n++] = gradient(x, now.n_dims, now.shape);
    dync_tensor *sum = v[0];
    for (int k = 2 + draw(9); k > 0 && n < 24; k--) {
        dync_tensor *other = v[draw(n)];
        if (draw(5) == 0) sum = v[draw(n)];
        sum = draw(2) ? dync_add(sum, other) : dync_add(other, sum);
        if (draw(4) == 0) v[n++] = sum;
        if (draw(8) == 0) v[n++] = dync_neg(sum);
        if (draw(8) == 0 && n_out < 6) out[n_out++] = sum;
    }
    out[n_out++] = sum;
    dync_value r[8];
    for (int i = 0; i < n_out; i++) r[i] = DYNC_V(out[i]);
    return dync_tuple_of(n_out, r);
}

static bool same(dync_value a, dync_value b)
{
    if (a.kind == DYNC_KIND_TENSOR) {
        dync_tensor *x = dync_as_tensor(a), *y = dync_as_tensor(b);
        for (int d = 0; d < dync_ndim(x); d++)
            if (dync_stride(x, d) != dync_stride(y, d)) return false;
        return dync_type(x) == dync_type(y) && dync_equal(x, y);
    }
    bool ok = dync_len(a) == dync_len(b);
    for (int i = 0; ok && i < dync_len(a); i++) ok = same(dync_at(a, i), dync_at(b, i));
    return ok;
}

static dync_value compiled(const char *disable, const char *backend, dync_tensor *x)
{
    EXPECT_OK(dync_config_set("disable", disable));
    dync_compiled *f = dync_compile(sums, .fullgraph = true, .backend = backend);
    dync_value r = dync_call_value(f, x);
    dync_compiled_free(f);
    return r;
}

TEST(sums_of_placed_gradients)
{
    static const int dtypes[] = {DYNC_F32,  DYNC_F32, DYNC_F64, DYNC_F16,
                                 DYNC_BF16, DYNC_I64, DYNC_I32};
    for (int i = 0; i < test_count(60); i++) DYNC_SCOPE {
        now = (drawn){.seed = (uint64_t)i + 1000 * test__state.seed};
        state = now.seed;
        now.dtype = dtypes[draw(7)];
        now.n_dims = 1 + draw(4);
        for (int d = 0; d < now.n_dims; d++) now.shape[d] = draw(12) ? 1 + draw(7) : 0;
        dync_tensor *x =
            dync_to_dtype(dync_mul(dync_randn(dync_shape(40)), 8), (dync_dtype)now.dtype);
        dync_value in = DYNC_V(x), want = sums(&in, 1, NULL),
                   plain = compiled("slices", "inductor", x), got = compiled(NULL, "inductor", x),
                   one = compiled(NULL, "aot_eager", x);
        if (!EXPECT(dync_error() == DYNC_OK && same(got, plain) && same(one, want))) {
            printf("  program %d: %s\n", i, dync_error() ? dync_error_message() : "differs");
            dync_clear_error();
        }
    }
}

/* ---- loops whose gradients they are ---------------------------------------------------------- */
static dync_tensor *rows(dync_tensor *x, dync_tensor *w)
{
    dync_tensor *h = dync_mul(dync_select(x, 1, 0), 0), *all[16];
    int n = (int)dync_size(x, 1);
    for (int t = 0; t < n; t++)
        all[t] = h = dync_tanh(dync_add(dync_matmul(h, w), dync_select(x, 1, t)));
    dync_value v[16];
    for (int t = 0; t < n; t++) v[t] = DYNC_V(all[t]);
    return dync_stack(dync_tuple_of(n, v), 1);
}
static dync_tensor *stencil(dync_tensor *x, dync_tensor *w)
{
    dync_tensor *p = dync_pad(x, dync_shape(1, 1, 1, 1), DYNC_NONE), *y = dync_mul(x, 2);
    for (int i = 0; i < 9; i++)
        y = dync_add(y, dync_mul(dync_sin(dync_narrow(dync_narrow(p, -1, i % 3, dync_dim(x, -1)),
                                                      -2, i / 3, dync_dim(x, -2))),
                                 0.1 * i));
    return dync_matmul(y, w);
}
static dync_tensor *rotary(dync_tensor *x, dync_tensor *w)
{
    int64_t half = dync_size(x, -1) / 2;
    dync_tensor *turned = dync_cat(
        dync_tuple(dync_neg(dync_narrow(x, -1, half, half)), dync_narrow(x, -1, 0, half)), -1);
    return dync_matmul(dync_add(dync_mul(x, dync_cos(x)), dync_mul(turned, 0.5)), w);
}
static dync_tensor *parts(dync_tensor *x, dync_tensor *w)
{
    int64_t n = dync_size(x, 1);
    dync_tensor *z = dync_mul(x, 3), *a = dync_slice(z, 1, 0, n / 2, 1),
                *b = dync_slice(z, 1, n / 2, DYNC_END, 1), *c = dync_slice(z, 1, 1, -1, 1);
    dync_tensor *y = dync_sub(dync_slice(z, 1, 1, DYNC_END, 1), dync_slice(z, 1, 0, -1, 1));
    dync_tensor *s = dync_sum(dync_mul(a, a), dync_shape(1), true);
    s = dync_add(s, dync_sum(dync_exp(dync_mul(b, 0.1)), dync_shape(1), true));
    s = dync_add(s, dync_sum(dync_mul(c, dync_detach(c)), dync_shape(1), true));
    return dync_matmul(dync_mul(dync_abs(y), s), w);
}
static dync_tensor *pairs(dync_tensor *x, dync_tensor *w)
{
    dync_tensor *e = dync_slice(x, -1, 0, DYNC_END, 2), *o = dync_slice(x, -1, 1, DYNC_END, 2);
    dync_tensor *y = dync_stack(dync_tuple(dync_mul(e, o), dync_sub(o, e), dync_sin(e)), 0);
    return dync_mul(dync_sum(y, DYNC_ALL, false), dync_sum(w, DYNC_ALL, false));
}

/* The result and the gradients of x and w. */
typedef dync_tensor *(*fn2)(dync_tensor *, dync_tensor *);
static void gradients(fn2 plain, dync_compiled *f, dync_tensor *x, dync_tensor *w,
                      dync_tensor *out[3])
{
    dync_tensor *a = dync_requires_grad_(dync_clone(x), true),
                *b = dync_requires_grad_(dync_clone(w), true);
    dync_tensor *y = f ? dync_call(f, a, b) : plain(a, b);
    dync_backward(dync_sum(dync_mul(y, y), DYNC_ALL, false));
    out[0] = y, out[1] = dync_grad(a), out[2] = dync_grad(b);
}

TEST(loops_over_slices)
{
    static const fn2 fns[] = {rows, stencil, rotary, parts, pairs};
    static const char *backends[] = {"inductor", "aot_eager", "eager"};
    static const dync_dtype dtypes[] = {DYNC_F32, DYNC_F64, DYNC_BF16, DYNC_F16};
    for (int i = 0; i < 5 * 3 * 4 * 2; i++) DYNC_SCOPE {
        fn2 fn = fns[i % 5];
        bool symbolic = i >= 5 * 3 * 4, wide = fn == stencil;
        dync_dtype dtype = dtypes[i / 15 % 4];
        dync_compiled *f = dync_compile(fn, .fullgraph = true, .backend = backends[i / 5 % 3]);
        for (int call = 0; call < 3; call++) DYNC_SCOPE {
            int64_t n = 5 + (symbolic ? call : 0);
            dync_tensor *x = dync_mul(wide ? dync_randn(dync_shape(n, 2, 7, 6))
                                           : dync_randn(dync_shape(n, 6, 6)),
                                      0.5),
                        *w = dync_mul(dync_randn(dync_shape(6, 6)), 0.3), *want[3], *got[3];
            if (call == 2)
                x = dync_contiguous(dync_transpose(x, 0, 1)), x = dync_transpose(x, 0, 1);
            x = dync_detach(dync_to_dtype(x, dtype)), w = dync_detach(dync_to_dtype(w, dtype));
            if (symbolic && call == 0) dync_mark_dynamic(x, 0);
            double near = dtype == DYNC_F64 ? 1e-12 : dtype == DYNC_F32 ? 1e-5 : 0.06;
            gradients(fn, NULL, x, w, want);
            gradients(fn, f, x, w, got);
            for (int k = 0; k < 3; k++)
                if (!EXPECT(
                        got[k] && dync_allclose(got[k], want[k], near, near) &&
                        (!dync_ndim(got[k]) || dync_stride(got[k], 0) == dync_stride(want[k], 0))))
                    printf("  function %d, %s, dtype %d, call %d, result %d\n", i % 5,
                           backends[i / 5 % 3], (int)dtype, call, k);
        }
        EXPECT_STATUS(dync_error(), DYNC_OK);
        dync_compiled_free(f);
    }
}
/* ---- what stands between --------------------------------------------------------------------- */
static dync_tensor *doubled(dync_tensor *g, void *user)
{
    (void)user;
    return dync_mul(g, 2);
}
/* A step in one function: slices of a value with a hook and a gradient of its own. */
static dync_tensor *step(dync_tensor *x, dync_tensor *w)
{
    dync_tensor *z = dync_mul(w, dync_sin(x)), *loss = dync_mean(z, DYNC_ALL, false);
    dync_register_hook(z, doubled, NULL);
    dync_retain_grad(z);
    for (int t = 0; t < 4; t++) {
        dync_tensor *row = dync_select(z, 1, t), *tail = dync_slice(z, 1, t, DYNC_END, 1);
        loss = dync_add(loss, dync_sum(dync_mul(row, dync_exp(row)), DYNC_ALL, false));
        loss = dync_add(loss, dync_sum(dync_square(tail), DYNC_ALL, false));
    }
    dync_backward(loss);
    return dync_mul(dync_grad(z), 1);
}
/* Gradients with a history: of a loss of the gradient. */
static dync_tensor *twice(dync_tensor *x, dync_tensor *w)
{
    dync_tensor *loss = NULL;
    for (int t = 0; t < 5; t++) {
        dync_tensor *row = dync_mul(dync_select(w, 1, t), dync_select(w, 1, (t * 2) % 6)),
                    *l = dync_sum(dync_mul(dync_sin(row), dync_select(x, 1, t)), DYNC_ALL, false);
        loss = loss ? dync_add(loss, l) : l;
    }
    dync_value all = dync_gradients(DYNC_V(loss), DYNC_V(w), DYNC_NONE,
                                    (dync_grad_options){.create_graph = true});
    dync_tensor *g = dync_as_tensor(dync_at(all, 0));
    dync_backward(dync_sum(dync_mul(g, dync_cos(g)), DYNC_ALL, false));
    return dync_detach(g);
}

TEST(hooks_retained_and_second_gradients)
{
    static const fn2 fns[] = {step, twice};
    static const char *backends[] = {"inductor", "aot_eager", "eager"};
    for (int i = 0; i < 6; i++) DYNC_SCOPE {
        dync_compiled *f = dync_compile(fns[i % 2], .fullgraph = true, .backend = backends[i / 2]);
        for (int call = 0; call < 3; call++) DYNC_SCOPE {
            dync_tensor *x = dync_randn(dync_shape(3, 6, 4)), *w = dync_randn(dync_shape(3, 6, 4));
            dync_tensor *a = dync_requires_grad_(dync_clone(w), true),
                        *b = dync_requires_grad_(dync_clone(w), true), *y = fns[i % 2](x, a),
                        *z = dync_call(f, x, b);
            EXPECT(z && dync_allclose(z, y, 1e-5, 1e-5));
            if (!EXPECT(dync_allclose(dync_grad(b), dync_grad(a), 1e-5, 1e-5)))
                printf("  function %d, %s, call %d\n", i % 2, backends[i / 2], call);
        }
        EXPECT_STATUS(dync_error(), DYNC_OK);
        dync_compiled_free(f);
    }
}

/* ---- forward --------------------------------------------------------------------------------- */
static int n_steps;
static dync_tensor *average(dync_tensor *x, dync_tensor *y)
{
    dync_tensor *xy = dync_mul(x, y), *h = dync_select(xy, 1, 0);
    for (int t = 1; t < n_steps; t++) h = dync_add(dync_mul(h, 0.9), dync_select(xy, 1, t));
    return h;
}
/* Machine code has room for about a hundred accesses: a kernel of more was interpreted. */
TEST(more_slices_than_one_kernel_reads)
{
    int64_t few = 0;
    for (n_steps = 60; n_steps <= 300; n_steps += 60) DYNC_SCOPE {
        dync_compiled *f = dync_compile(average);
        dync_tensor *x = dync_randn(dync_shape(3, n_steps, 16)), *y = dync_randn_like(x);
        EXPECT(dync_allclose(dync_call(f, x, y), average(x, y), 1e-5, 1e-5));
        int64_t bytes = dync_compiled_info(f).code_bytes;
        if (n_steps == 60) few = bytes;
        EXPECT(bytes >= few * (n_steps / 60) / 2);
        dync_compiled_free(f);
    }
}

TEST_MAIN
