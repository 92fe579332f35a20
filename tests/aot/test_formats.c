/* Reshapes of results in every memory format, written in place: whether a reshape is a view
 * follows from the strides of what is reshaped, which are PyTorch's (tests/ops/samples.c), and
 * decides what a write changes. Plainly by the rule; compiled, in every way, as plainly. */
#include "dync.h"
#include "test.h"

enum { MOST = 6 };
/* One program: an input, what is made of it, how that is seen, what is written. */
static struct program {
    int ndim, layout, op, dim, write, to, n;
    int64_t size[5], seen[MOST];
    bool known; /* plain: whether `seen` is a view is noted here */
    bool view;
    int64_t shape[MOST], stride[MOST];
} p;

static dync_dims dims(int n, const int64_t *d)
{
    dync_dims out = {.n = n};
    for (int i = 0; i < n; i++) out.d[i] = d[i];
    return out;
}

static dync_tensor *made(dync_tensor *x)
{
    dync_dims two = dync_shape(2, 2), one = dync_shape(1);
    switch (p.op) {
    case 0: return dync_roll(x, one, dync_shape(p.dim));
    case 1: return dync_cat(dync_tuple(x, x), p.dim);
    case 2: return dync_stack(dync_tuple(x, x), p.dim);
    case 3: return dync_pad(x, dync_shape(1, 0), 0.5);
    case 4: return dync_mul(x, 2.5);
    case 5: return dync_clone(x);
    case 6: return dync_group_norm(x, 1, NULL, NULL, 1e-5);
    case 7: return dync_relu(x);
    case 8: return p.ndim == 4 ? dync_max_pool2d(x, two, one, one, one, true) : dync_abs(x);
    case 9: return p.ndim == 4 ? dync_avg_pool2d(x, two, one, one, true, true) : dync_neg(x);
    case 10: return p.ndim == 4 ? dync_upsample_nearest2d(x, dync_shape(4, 3)) : dync_sin(x);
    default: return dync_add(x, dync_transpose(x, 0, 0));
    }
}

/* PyTorch's rule (aten/src/ATen/TensorUtils.cpp, computeStride), told for plain sizes: dims that
 * lie one in another are one piece of memory, and each piece is cut into some of the new dims. */
static bool is_view(int n, const int64_t *shape, const int64_t *stride, int m, const int64_t *to)
{
    int at = m - 1;
    int64_t base = stride[n - 1], piece = 1, cut = 1;
    for (int d = n - 1; d >= 0; d--) {
        piece *= shape[d];
        if (d > 0 && (shape[d - 1] == 1 || stride[d - 1] == piece * base)) continue;
        while (at >= 0 && (cut < piece || to[at] == 1)) cut *= to[at--];
        if (cut != piece) return false;
        if (d > 0) base = stride[d - 1], piece = cut = 1;
    }
    return at == -1;
}

/* The numbers of elements into factors, by the program's own draws. */
static int split(int64_t n, int64_t *out)
{
    int k = 0;
    while (k < MOST - 1 && test_random_int(0, 9) < 7) {
        int64_t f = test_random_int(1, 6);
        if (n % f) continue;
        out[k++] = f;
        n /= f;
    }
    out[k++] = n;
    return k;
}

static dync_tensor *body(dync_tensor *x)
{
    dync_tensor *y = made(x);
    if (!y) return NULL;
    if (!p.known) {
        p.n = split(dync_numel(y), p.seen);
        int n = dync_ndim(y);
        for (int d = 0; d < n; d++) p.shape[d] = dync_size(y, d), p.stride[d] = dync_stride(y, d);
    }
    dync_tensor *v = dync_reshape(y, dims(p.n, p.seen)), *to = p.to ? v : y;
    if (!p.known) p.view = dync_data(v) == dync_data(y);
    if (p.write == 0) dync_floor_(to);
    if (p.write == 1) dync_add_(dync_select(to, 0, 0), 1);
    if (p.write == 2) dync_mul_(dync_transpose(to, 0, -1), 3);
    if (p.write == 3) dync_fill_(dync_slice(to, 0, 0, 1, 1), 7);
    return dync_cat(dync_tuple(dync_reshape(y, dync_shape(-1)), dync_reshape(v, dync_shape(-1)),
                               dync_mul(dync_reshape(to, dync_shape(-1)), 2)),
                    0);
}

/* Dense in some order of dims, or with gaps: most often channels last. */
static dync_tensor *input(void)
{
    int64_t order[5], put[5], size[5], back[5];
    int n = p.ndim;
    for (int d = 0; d < n; d++) order[d] = d;
    if (p.layout < 3) {
        for (int d = 1; d < n - 1; d++) order[d] = d + 1;
        order[n - 1] = 1;
    } else if (p.layout < 5) {
        for (int d = n - 1; d > 0; d--) {
            int e = test_random_int(0, d);
            int64_t hold = order[d];
            order[d] = order[e], order[e] = hold;
        }
    }
    for (int d = 0; d < n; d++) size[d] = p.size[order[d]], back[order[d]] = d;
    if (p.layout == 2 || p.layout == 4) size[0] *= 2;
    dync_tensor *x = dync_mul(dync_randn(dims(n, size)), 3);
    if (p.layout == 2 || p.layout == 4) x = dync_slice(x, 0, 0, size[0], 2);
    for (int d = 0; d < n; d++) put[d] = back[d];
    return dync_permute(x, dims(n, put));
}

TEST(written_reshapes)
{
    static const char *const on[] = {"eager", "aot_eager", "inductor", "inductor"};
    int views = 0, copies = 0;
    dync_init((dync_init_options){.threads = 2, .seed = 5});
    for (int k = 0; k < test_count(300); k++) DYNC_SCOPE {
        memset(&p, 0, sizeof p);
        p.ndim = test_random_int(4, 5);
        for (int d = 0; d < p.ndim; d++) p.size[d] = test_random_int(1, 4);
        p.layout = test_random_int(0, 5), p.op = test_random_int(0, 11);
        p.dim = test_random_int(0, 3);
        p.write = test_random_int(0, 3), p.to = test_random_int(0, 1);
        dync_tensor *x = input(), *same = dync_clone(x), *want = body(x);
        bool ok = EXPECT(want) && EXPECT(dync_equal(x, same));
        int n = p.op == 2 ? p.ndim + 1 : p.ndim;
        ok = ok && EXPECT(p.view == is_view(n, p.shape, p.stride, p.n, p.seen));
        p.view ? views++ : copies++;
        p.known = true;
        for (int b = 0; b < 4 && ok; b++) {
            dync_compiled *f = dync_compile(body, .backend = on[b], .fullgraph = true,
                                            .dynamic = b == 3 ? DYNC_DYNAMIC_ON : DYNC_DYNAMIC_OFF);
            for (int i = 0; i < 2 && ok; i++) {
                dync_tensor *got = dync_call(f, x);
                ok = EXPECT(got && dync_allclose(got, want, 1e-5, 1e-5));
            }
            dync_compiled_free(f);
        }
        if (!ok)
            printf("  program %d: op %d layout %d write %d to %d\n", k, p.op, p.layout, p.write,
                   p.to);
    }
    EXPECT(views > 0 && copies > 0);
    EXPECT_STATUS(dync_error(), DYNC_OK);
    dync_shutdown();
}

/* The program that was found: a roll of channels last, reshaped, and then rounded. */
static dync_tensor *rolled(dync_tensor *x)
{
    dync_tensor *y = dync_roll(x, dync_shape(-7), dync_shape(1)),
                *z = dync_reshape(y, dync_shape(48, 1));
    dync_floor_(y);
    return z;
}
TEST(a_roll_that_is_copied)
{
    dync_init((dync_init_options){.seed = 6});
    DYNC_SCOPE {
        dync_tensor *x = dync_permute(dync_rand(dync_shape(4, 1, 1, 4, 3)),
                                      dync_shape(0, 4, 1, 2, 3)),
                    *want = dync_reshape(dync_roll(dync_clone(x), dync_shape(-1), dync_shape(1)),
                                         dync_shape(48, 1));
        dync_compiled *f = dync_compile(rolled);
        EXPECT(dync_equal(rolled(x), want));
        EXPECT(dync_equal(dync_call(f, x), want));
        dync_compiled_free(f);
    }
    dync_shutdown();
}

/* Dims of size 1 have strides too, and what is broadcast beside others follows them: also where the
 * value was written in place. */
static dync_tensor *beside_written(dync_tensor *x, dync_tensor *y)
{
    return dync_atan2(y, dync_clamp_(x, -1, 1));
}
TEST(strides_of_size_one_behind_a_write)
{
    static const char *const on[] = {"eager", "aot_eager", "inductor"};
    static const int64_t strides[][4] = {{1, 1, 1, 5}, {15, 1, 1, 5}, {1, 3, 7, 1}, {0, 1, 9, 5}};
    for (int k = 0; k < 3; k++)
        for (int s = 0; s < 4 * 2; s++) {
            const int64_t *of = strides[s / 2];
            dync_compiled *f = dync_compile(beside_written, .backend = on[k], .fullgraph = true,
                                            .dynamic = s % 2 ? DYNC_DYNAMIC_ON : DYNC_DYNAMIC_OFF);
            dync_tensor *x = dync_as_strided(dync_randn(dync_shape(64)), dync_shape(1, 5, 1, 3),
                                             dync_shape(of[0], of[1], of[2], of[3]), 0),
                        *y = dync_randn(dync_shape(1, 5, 1)), *want = beside_written(x, y),
                        *got = dync_call(f, x, y);
            EXPECT_STATUS(dync_error(), DYNC_OK);
            EXPECT(dync_allclose(want, got, 1e-6, 1e-6));
            for (int d = 0; d < 4; d++) EXPECT_EQ_INT(dync_stride(got, d), dync_stride(want, d));
            dync_compiled_free(f);
        }
}

/* Results that one expression gives, seen by views: their strides are plain's, and no two of them
 * are on one memory. */
static dync_dims wide(void) { return dync_shape(3, 4); }
static dync_value equal_expands(const dync_value *a, int n, void *user)
{
    (void)n, (void)user;
    dync_tensor *x = a[0].as.t, *of[3] = {0};
    for (int i = 0; i < 3; i++) of[i] = dync_expand(dync_tanh(x), wide());
    return dync_tuple(of[0], of[1], dync_transpose(of[2], 0, 1), dync_exp(of[0]));
}
static dync_value equal_parts(const dync_value *a, int n, void *user)
{
    (void)n, (void)user;
    dync_tensor *x = dync_expand(a[0].as.t, wide());
    return dync_tuple(dync_slice(dync_sin(x), 1, 0, DYNC_END, 2),
                      dync_slice(dync_sin(x), 1, 0, DYNC_END, 2), dync_sin(x));
}
static dync_value equal_reshapes(const dync_value *a, int n, void *user)
{
    (void)n, (void)user;
    dync_tensor *x = dync_transpose(dync_expand(a[0].as.t, wide()), 0, 1);
    return dync_tuple(dync_expand(dync_reshape(x, dync_shape(12, 1)), dync_shape(2, 12, 5)),
                      dync_reshape(x, dync_shape(2, 6)), dync_reshape(x, dync_shape(12, 1)));
}
static void same_strides(dync_value got, dync_value want)
{
    for (int i = 0; i < dync_len(want); i++) {
        dync_tensor *g = dync_at(got, i).as.t, *w = dync_at(want, i).as.t;
        EXPECT(dync_allclose(g, w, 1e-6, 1e-6));
        for (int d = 0; d < dync_ndim(w); d++) EXPECT_EQ_INT(dync_stride(g, d), dync_stride(w, d));
        for (int k = 0; k < i; k++) EXPECT(dync_data(g) != dync_data(dync_at(got, k).as.t));
    }
}
TEST(equal_values_seen_by_views)
{
    static const dync_function fns[] = {equal_expands, equal_parts, equal_reshapes};
    static const char *const on[] = {"eager", "aot_eager", "inductor"};
    for (int k = 0; k < 3 * 3 * 2; k++) DYNC_SCOPE {
        dync_function fn = fns[k % 3];
        dync_compiled *f = dync_compile(fn, .backend = on[k / 3 % 3], .fullgraph = true);
        for (int i = 0; i < 2; i++) {
            dync_tensor *x = dync_requires_grad_(dync_randn(dync_shape(3, 1)), k >= 9);
            dync_value v = dync_v_tensor(x);
            same_strides(dync_call_values(f, 1, &v), fn(&v, 1, NULL));
        }
        EXPECT_STATUS(dync_error(), DYNC_OK);
        dync_compiled_free(f);
    }
}

TEST_MAIN
