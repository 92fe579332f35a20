/* AOT autograd and compiled autograd over changing sizes: the user's compilers are called once for
 * the graph of symbolic sizes, a backward is captured once, outputs that are views and written
 * inputs have the sizes of their call. */
#include "../capture/counter.h"

typedef dync_tensor *(*model)(dync_tensor *, dync_tensor *);
static dync_tensor *softmaxed(dync_tensor *x, dync_tensor *w)
{
    return dync_mean(dync_softmax(dync_matmul(x, w), 1), DYNC_ALL, false);
}
static dync_tensor *mean_only(dync_tensor *x, dync_tensor *w)
{
    return dync_add(dync_mean(x, DYNC_ALL, false), dync_mean(w, DYNC_ALL, false));
}
static dync_tensor *normed(dync_tensor *x, dync_tensor *w)
{
    return dync_var(dync_layer_norm(dync_matmul(x, dync_t(w)), dync_shape(4), NULL, NULL, 1e-5),
                    DYNC_ALL, 1, false);
}
static dync_tensor *convolved(dync_tensor *x, dync_tensor *w)
{
    dync_tensor *image = dync_reshape(x, dync_shape(-1, 1, 2, 2));
    return dync_mean(dync_square(dync_conv2d(image, dync_reshape(w, dync_shape(4, 1, 2, 2)), NULL,
                                             dync_shape(1), dync_shape(1), dync_shape(1), 1)),
                     DYNC_ALL, false);
}
static dync_tensor *joined(dync_tensor *x, dync_tensor *w)
{
    return dync_sum(
        dync_square(dync_cat(dync_tuple(dync_slice(dync_matmul(x, w), 0, 1, DYNC_END, 1), x), 0)),
        DYNC_ALL, false);
}
static dync_tensor *attention(dync_tensor *x, dync_tensor *w)
{
    dync_tensor *q = dync_unsqueeze(dync_matmul(x, w), 0);
    return dync_mean(dync_scaled_dot_product_attention(q, q, q, NULL, 0, true, DYNC_NONE), DYNC_ALL,
                     false);
}
static const model models[] = {softmaxed, mean_only, normed, convolved, joined, attention};
enum { MODELS = sizeof models / sizeof models[0] };

static dync_tensor *leaf(int64_t n, int64_t m)
{
    return dync_requires_grad_(dync_randn(dync_shape(n, m)), true);
}
static dync_tensor *copied(dync_tensor *x)
{
    return dync_requires_grad_(dync_clone(dync_detach(x)), true);
}

/* ---- the user's compilers -------------------------------------------------------------------- */
TEST(user_compilers_are_called_once)
{
    static const char *const inner[] = {NULL, "inductor"};
    for (int k = 0; k < MODELS; k++)
        for (int i = 0; i < 2; i++) {
            counter fw = {.inner = inner[i]}, bw = {.inner = inner[i]};
            dync_backend f = COUNTER(fw), b = COUNTER(bw), both = dync_aot_autograd(&f, &b);
            dync_compiled *c = dync_compile_opt(dync_fn2(models[k]), "f",
                                                (dync_compile_options){.backend_object = &both});
            for (int64_t n = 5; n < 17; n++) DYNC_SCOPE {
                dync_tensor *x = leaf(n, 4), *w = leaf(4, 4), *x1 = copied(x), *w1 = copied(w);
                dync_tensor *l = dync_call(c, x, w), *e = models[k](x1, w1);
                dync_backward(l);
                dync_backward(e);
                EXPECT(same(dync_detach(l), dync_detach(e), 1e-4) &&
                       same(dync_grad(x), dync_grad(x1), 1e-4) &&
                       same(dync_grad(w), dync_grad(w1), 1e-4));
            }
            /* plain sizes, then symbolic ones */
            bool once = EXPECT_EQ_INT(fw.frame_count, 2);
            /* the mean's backward sees no tensor of that size */
            if (!EXPECT(bw.frame_count == 2 || k == 1)) once = false;
            if (!once)
                printf("    model %d, %s: %d and %d compiles\n", k,
                       inner[i] ? inner[i] : "interpreted", fw.frame_count, bw.frame_count);
            EXPECT_STATUS(dync_error(), DYNC_OK);
            dync_compiled_free(c);
        }
}

/* ---- compiled autograd ----------------------------------------------------------------------- */
TEST(a_backward_is_captured_once)
{
    static const char *const forwards[] = {NULL, "eager", "aot_eager", "inductor"},
                             *const backends[] = {"eager", "aot_eager", "inductor"};
    for (int b = 0; b < 3; b++)
        for (int f = 0; f < 4; f++)
            for (int k = 0; k < MODELS; k++) {
                dync_compiled *c =
                    forwards[f]
                        ? dync_compile_opt(dync_fn2(models[k]), "f",
                                           (dync_compile_options){.backend = forwards[f],
                                                                  .dynamic = DYNC_DYNAMIC_ON})
                        : NULL;
                int64_t before = dync_get_counters().autograd_captures;
                for (int64_t n = 6; n < 14; n++) DYNC_SCOPE {
                    dync_tensor *x = leaf(n, 4), *w = leaf(4, 4), *x1 = copied(x), *w1 = copied(w);
                    dync_backward(models[k](x1, w1));
                    dync_tensor *l = c ? dync_call(c, x, w) : models[k](x, w);
                    dync_compiled_autograd_begin(backends[b]);
                    dync_backward(l);
                    dync_compiled_autograd_end();
                    EXPECT(same(dync_grad(x), dync_grad(x1), 1e-4) &&
                           same(dync_grad(w), dync_grad(w1), 1e-4));
                }
                int64_t captures = dync_get_counters().autograd_captures - before;
                if (!EXPECT(captures <= 1))
                    printf("    model %d, forward %s, %s: %d captures\n", k,
                           forwards[f] ? forwards[f] : "plain", backends[b], (int)captures);
                EXPECT_STATUS(dync_error(), DYNC_OK);
                dync_compiled_free(c);
            }
    dync_shutdown();
}

/* ---- what is around the graphs --------------------------------------------------------------- */
static dync_value views(const dync_value *args, int n, void *user)
{
    dync_tensor *x = dync_as_tensor(args[0]), *y = dync_mul(x, 2);
    (void)n, (void)user;
    return dync_tuple(dync_transpose(y, 0, 1), dync_slice(y, 0, 1, DYNC_END, 2),
                      dync_view(x, dync_shape(-1)), y);
}
static dync_value writes(const dync_value *args, int n, void *user)
{
    dync_tensor *x = dync_as_tensor(args[0]);
    (void)n, (void)user;
    dync_add_(dync_slice(x, 0, 1, DYNC_END, 1), dync_mean(x, DYNC_ALL, false));
    return dync_tuple(dync_mul(x, x), dync_sum(x, dync_shape(0), false));
}
static void around(dync_function fn, bool grad)
{
    static const char *const backends[] = {"aot_eager", "inductor"};
    for (int b = 0; b < 2; b++) {
        dync_compiled *c = dync_compile(fn, .backend = backends[b]);
        for (int64_t n = 3; n < 12; n++) DYNC_SCOPE {
            dync_tensor *x = dync_randn(dync_shape(n, 3)), *y = dync_clone(x);
            if (grad) x = dync_requires_grad_(x, true), y = dync_requires_grad_(y, true);
            dync_value vx = DYNC_V(x), vy = DYNC_V(y), a = dync_call_values(c, 1, &vx),
                       e = fn(&vy, 1, NULL);
            dync_tensor *got = NULL, *want = NULL;
            REQUIRE(dync_len(a) == dync_len(e));
            for (int i = 0; i < dync_len(e); i++) {
                dync_tensor *p = dync_as_tensor(dync_at(a, i)), *q = dync_as_tensor(dync_at(e, i));
                REQUIRE(p && q && dync_ndim(p) == dync_ndim(q));
                for (int d = 0; d < dync_ndim(p); d++)
                    EXPECT(dync_size(p, d) == dync_size(q, d) &&
                           dync_stride(p, d) == dync_stride(q, d));
                EXPECT(same(dync_detach(p), dync_detach(q), 1e-5));
                if (grad && dync_requires_grad(q)) {
                    p = dync_sum(dync_square(p), DYNC_ALL, false),
                    q = dync_sum(dync_square(q), DYNC_ALL, false);
                    got = got ? dync_add(got, p) : p, want = want ? dync_add(want, q) : q;
                }
            }
            EXPECT(same(dync_detach(x), dync_detach(y), 1e-5));
            if (grad) dync_backward(got), dync_backward(want);
            if (grad) EXPECT(same(dync_grad(x), dync_grad(y), 1e-4));
        }
        EXPECT_STATUS(dync_error(), DYNC_OK);
        dync_compiled_free(c);
    }
}
TEST(views_leave) { around(views, false), around(views, true); }
TEST(inputs_are_written) { around(writes, false); }

/* Plans of all sizes are compared with those of their sizes (check_ir) where strides run backwards
 * over a size that a guard has made a number, and where machine code is listed, each kernel's
 * anew. */
static dync_tensor *turned_attention(dync_tensor *q, dync_tensor *k)
{
    dync_tensor *y = dync_scaled_dot_product_attention(q, k, k, NULL, 0, false, DYNC_NONE);
    return dync_flip(y, dync_shape(1, -1, 2, 0));
}
static dync_tensor *waves(dync_tensor *x, dync_tensor *y)
{
    return dync_mul(dync_sin(dync_mul(x, y)), dync_exp(y));
}
static void checked(model fn, const char *log)
{
    dync_compiled *c = dync_compile(fn, .dynamic = DYNC_DYNAMIC_ON);
    EXPECT_OK(dync_config_set("check_ir", "true"));
    if (*log) REQUIRE(freopen("test_dynamic_aot.log", "wb", stderr) != NULL);
    dync_set_log(log);
    for (int64_t n = 8; n > 5; n--) {
        dync_tensor *q = dync_randn(dync_shape(2, 1, 2, n)),
                    *k = dync_randn(dync_shape(2, 1, 64 + n, n)),
                    *got = *log ? dync_call(c, q, q) : dync_call(c, q, k);
        EXPECT(same(got, *log ? fn(q, q) : fn(q, k), 1e-5));
    }
    dync_set_log("");
    if (*log) remove("test_dynamic_aot.log");
    EXPECT_OK(dync_error());
    dync_compiled_free(c);
}
TEST(plans_of_backward_strides_are_checked) { checked(turned_attention, ""); }
TEST(plans_are_checked_while_code_is_listed) { checked(waves, "asm"); }

/* Of n rows of n - 1: the last index and the stride of a row are one size. */
static dync_tensor *added_at(dync_tensor *x, dync_tensor *i, dync_tensor *rows)
{
    return dync_t(dync_index_add(dync_pad(x, dync_shape(0, -1), 0.0), 0, i, rows));
}
TEST(plans_of_rows_as_long_as_the_last_index_are_checked)
{
    dync_compiled *c = dync_compile(added_at, .dynamic = DYNC_DYNAMIC_ON);
    EXPECT_OK(dync_config_set("check_ir", "true"));
    for (int64_t n = 9; n > 4; n--) {
        dync_tensor *x = dync_requires_grad_(dync_randn(dync_shape(n, n)), true),
                    *rows = dync_requires_grad_(dync_randn(dync_shape(64, n - 1)), true),
                    *i = dync_floor(dync_mul(dync_rand(dync_shape(64)), (double)n));
        i = dync_to_dtype(i, DYNC_I64);
        dync_tensor *y = dync_call(c, x, i, rows);
        EXPECT(same(y, added_at(x, i, rows), 1e-5));
        dync_backward(dync_sum(dync_square(y), DYNC_ALL, false));
        EXPECT(same(dync_grad(rows), dync_index_select(dync_t(dync_mul(y, 2.0)), 0, i), 1e-5));
    }
    EXPECT_OK(dync_error());
    dync_compiled_free(c);
}

TEST_MAIN
