/* Compiled convolutions: packed weights that are kept follow every way of changing a weight; chains
 * with batch norm, activations, pooling and shortcuts agree with the same functions run by eager
 * operators. */
#include "dync.h"
#include "test.h"
#define TEST_AFTER_EACH (dync_shutdown(), dync_clear_error(), dync_on_error(NULL, NULL))

static dync_tensor *conv_of(dync_tensor *x, dync_tensor *w)
{
    return dync_conv2d(x, w, NULL, dync_shape(1, 1), dync_shape(1, 1), dync_shape(1, 1), 1);
}

/* rel: of the dtype */
static void same_as_eager(dync_compiled *c, dync_tensor *x, dync_tensor *w, double rel)
{
    DYNC_SCOPE {
        dync_tensor *want = conv_of(x, w), *got = dync_call(c, x, w);
        EXPECT(want && got && dync_allclose(got, want, rel, 8 * rel));
    }
}

/* value into element i of what p holds */
static void poke(void *p, dync_dtype dtype, int64_t i, double value)
{
    DYNC_SCOPE {
        dync_tensor *one = dync_full(dync_shape(1), value, .dtype = dtype);
        size_t bytes = dtype == DYNC_F32 ? 4 : 2;
        memcpy((char *)p + (size_t)i * bytes, dync_data(one), bytes);
    }
}

static void follow_every_change(dync_dtype dtype, double rel)
{
    static float lent[32 * 32 * 9];
    DYNC_SCOPE {
        dync_set_grad_enabled(false);
        dync_tensor *x = dync_to_dtype(dync_randn(dync_shape(1, 32, 9, 11)), dtype),
                    *w = dync_to_dtype(dync_randn(dync_shape(32, 32, 3, 3)), dtype),
                    *v = dync_to_dtype(dync_randn(dync_shape(32, 32, 3, 3)), dtype);
        dync_compiled *c = dync_compile(conv_of);
        for (int i = 0; i < 3; i++) same_as_eager(c, x, w, rel);
        same_as_eager(c, x, v, rel); /* another tensor */
        for (int i = 0; i < 3; i++) same_as_eager(c, x, w, rel);
        dync_mul_(w, 2); /* in place */
        same_as_eager(c, x, w, rel);
        dync_copy_(dync_select(w, 0, 3), dync_select(v, 0, 5)); /* through a view */
        same_as_eager(c, x, w, rel);
        void *p = dync_data(w); /* by address, kept over calls */
        same_as_eager(c, x, w, rel);
        poke(p, dtype, 77, 9);
        same_as_eager(c, x, w, rel);
        poke(p, dtype, 9215, -8);
        same_as_eager(c, x, w, rel);
        for (int i = 0; i < 32 * 32 * 9; i++) poke(lent, dtype, i, i % 7);
        dync_tensor *l =
            dync_wrap((void *)lent, dync_shape(32, 32, 3, 3), .dtype = dtype); /* the caller's */
        for (int i = 0; i < 8; i++) {
            same_as_eager(c, x, l, rel);
            poke(lent, dtype, i * 1000, 40 + i);
            same_as_eager(c, x, l, rel);
        }
        dync_compiled_free(c);
        dync_set_grad_enabled(true);
    }
}
TEST(kept_weights_follow_every_change)
{
    follow_every_change(DYNC_F32, 1e-4);
    follow_every_change(DYNC_BF16, 1e-2);
    follow_every_change(DYNC_F16, 2e-3);
}

/* ---- chains: what follows convolutions, blocks of channels ----------------------------------- */

typedef struct net {
    int64_t c, o, k, stride, groups;
    int act, shape;
} net;
static net now;

static dync_tensor *acted(dync_tensor *y, int act)
{
    switch (act) {
    case 1: return dync_relu(y);
    case 2: return dync_clamp(y, 0, 6);
    case 3: return dync_silu(y);
    case 4: return dync_mul(y, dync_div(dync_clamp(dync_add(y, 3), 0, 6), 6));
    case 5: return dync_leaky_relu(y, 0.1);
    default: return y;
    }
}

/* convolution, bias or batch norm, activation */
static dync_tensor *unit(dync_tensor *x, dync_tensor *w, dync_tensor *scale, dync_tensor *shift,
                         int64_t k, int64_t stride, int64_t groups, int act)
{
    dync_tensor *y = dync_conv2d(x, w, NULL, dync_shape(stride, stride), dync_shape(k / 2, k / 2),
                                 dync_shape(1, 1), groups);
    y = dync_batch_norm(y, scale, shift, shift, dync_abs(scale), false, 0.1, 1e-5);
    return acted(y, act);
}

static dync_tensor *chain(dync_tensor *x, dync_tensor *w1, dync_tensor *w2, dync_tensor *w3,
                          dync_tensor *scale, dync_tensor *shift)
{
    dync_tensor *a = unit(x, w1, scale, shift, now.k, 1, 1, now.act),
                *b = unit(a, w2, scale, shift, 3, now.stride, now.groups, now.act), *c;
    switch (now.shape) {
    case 0: return b;
    case 1: return unit(b, w3, scale, shift, 1, 1, 1, 0);
    case 2: /* a shortcut */
        c = unit(b, w3, scale, shift, 1, 1, 1, 0);
        return unit(dync_relu(dync_add(c, b)), w3, scale, shift, 1, 1, 1, now.act);
    /* pooling, and a mean of all pixels */
    case 3:
        c = unit(dync_max_pool2d(b, dync_shape(3, 3), dync_shape(2, 2), dync_shape(1, 1),
                                 dync_shape(1, 1), false),
                 w3, scale, shift, 1, 1, 1, now.act);
        return dync_mean(
            dync_avg_pool2d(c, dync_shape(2, 2), dync_shape(1, 1), dync_shape(0, 0), false, true),
            dync_shape(2, 3), false);
    /* an array that leaves is used twice */
    case 4:
        c = unit(b, w3, scale, shift, 1, 1, 1, 1);
        return dync_cat(dync_tuple(dync_mul(c, b), dync_add(c, 1)), 1);
    case 5: /* a view of it */
        c = dync_add(unit(b, w3, scale, shift, 1, 1, 1, 1), b);
        return dync_mul(dync_narrow(c, 1, 1, now.o - 1), 2);
    /* the shortcut is what came in, in place */
    default:
        c = unit(b, w3, scale, shift, 1, 1, 1, 2);
        dync_add_(c, b);
        return dync_sub(dync_softmax(c, 1),
                        dync_max_pool2d(c, dync_shape(1, 1), dync_shape(1, 1), dync_shape(0, 0),
                                        dync_shape(1, 1), false));
    }
}

static void random_chain(bool nan, const char *options)
{
    static const int64_t channels[] = {16, 32, 48, 8, 24, 40, 20, 64};
    now.o = channels[test_random_int(0, 7)];
    now.c = test_random() % 3 ? now.o : test_random_int(1, 20);
    now.k = test_random() % 2 ? 3 : 1;
    now.stride = test_random() % 3 ? 1 : 2;
    now.groups = test_random() % 3 ? 1 : test_random() % 2 ? now.o : now.o / 4;
    now.act = test_random_int(0, 5);
    now.shape = test_random_int(0, 6);
    DYNC_SCOPE {
        dync_tensor *x = dync_randn(dync_shape(test_random_int(1, 2), now.c, test_random_int(6, 22),
                                               test_random_int(6, 22)));
        dync_tensor *w1 = dync_randn(dync_shape(now.o, now.c, now.k, now.k)),
                    *w2 = dync_randn(dync_shape(now.o, now.o / now.groups, 3, 3));
        dync_tensor *w3 = dync_randn(dync_shape(now.o, now.o, 1, 1)),
                    *scale = dync_rand(dync_shape(now.o)), *shift = dync_randn(dync_shape(now.o));
        dync_set_grad_enabled(false);
        if (nan) ((float *)dync_data(x))[test_random_int(0, (int)dync_numel(x) - 1)] = NAN;
        dync_compiled *c = dync_compile(chain, .options = options);
        for (int i = 0; i < 2; i++) {
            dync_tensor *want = chain(x, w1, w2, w3, scale, shift),
                        *got = dync_call(c, x, w1, w2, w3, scale, shift);
            bool close = want && got && dync_numel(want) == dync_numel(got);
            const float *a = close ? dync_data(dync_contiguous(want)) : NULL,
                        *b = close ? dync_data(dync_contiguous(got)) : NULL;
            double most = 0, scale_of = 1;
            for (int64_t e = 0; close && e < dync_numel(want); e++) {
                close = (a[e] != a[e]) == (b[e] != b[e]);
                if (a[e] == a[e] && fabs(a[e]) < INFINITY)
                    most = fmax(most, fabs((double)a[e] - (double)b[e])),
                    scale_of = fmax(scale_of, fabs((double)a[e]));
            }
            if (!EXPECT(close && most <= (options ? 1e-3 : 1e-4) * scale_of))
                printf("  c %d o %d k %d stride %d groups %d act %d shape %d nan %d: off by %g of "
                       "%g\n",
                       (int)now.c, (int)now.o, (int)now.k, (int)now.stride, (int)now.groups,
                       now.act, now.shape, nan, most, scale_of);
        }
        dync_compiled_free(c);
        dync_set_grad_enabled(true);
    }
}

TEST(chains_agree_with_eager_operators)
{
    for (int i = 0; i < 150; i++) random_chain(i % 6 == 5, NULL);
}

TEST(chains_agree_with_eager_operators_by_winograd)
{
    for (int i = 0; i < 60; i++) random_chain(false, i % 2 ? "winograd" : "winograd=2");
}

/* ---- chains of any operators: on accumulators, on lines of the result as they are done, or loops
 * of their own */

typedef struct form {
    int64_t n, c, o, k, stride, groups, h, w;
    bool transposed, bias, norm, residual, kept;
    int act[3];
} form;
static form f;

static dync_tensor *step(dync_tensor *y, int act, dync_tensor *scale)
{
    switch (act) {
    case 0: return dync_silu(y);
    case 1: return dync_gelu(y);
    case 2: return dync_mul(y, dync_sigmoid(y));
    case 3: return dync_mul(y, dync_tanh(dync_softplus(y)));
    case 4: return dync_hardswish(y);
    case 5: return dync_clamp(dync_elu(y, 1), -0.5, 3);
    case 6: return dync_mul(y, dync_reshape(scale, dync_shape(-1, 1, 1)));
    case 7: return dync_where(dync_gt(y, 0), y, dync_exp(dync_mul(y, y)));
    case 8: return dync_add(dync_tanh(y), dync_erf(y));
    default: return dync_relu(y);
    }
}

static dync_value followed(const dync_value *a, int n, void *user)
{
    dync_tensor *x = a[0].as.t, *w = a[1].as.t, *b = f.bias ? a[2].as.t : NULL, *scale = a[3].as.t,
                *shift = a[4].as.t, *r = a[5].as.t, *first;
    dync_dims pad = dync_shape(f.k / 2, f.k / 2), stride = dync_shape(f.stride, f.stride),
              one = dync_shape(1, 1);
    (void)n, (void)user;
    dync_tensor *y = f.transposed
                         ? dync_conv_transpose2d(x, w, b, stride, pad, dync_shape(f.stride - 1, 0),
                                                 (int)f.groups, one)
                         : dync_conv2d(x, w, b, stride, pad, one, (int)f.groups);
    first = y;
    if (f.norm) y = dync_batch_norm(y, scale, shift, shift, dync_abs(scale), false, 0.1, 1e-5);
    if (f.residual) y = dync_add(y, dync_tanh(r)); /* made after the convolution */
    for (int i = 0; i < 3; i++) y = step(y, f.act[i], scale);
    return f.kept ? dync_tuple(y, dync_mul(first, 2), dync_sum(y, dync_shape(1), false))
                  : dync_tuple(y);
}

static bool agrees(dync_tensor *want, dync_tensor *got, double tolerance)
{
    double most = 0, scale = 1;
    if (!want || !got || dync_numel(want) != dync_numel(got) || dync_type(want) != dync_type(got))
        return false;
    const double *a = dync_data(dync_to_dtype(dync_contiguous(want), DYNC_F64)),
                 *b = dync_data(dync_to_dtype(dync_contiguous(got), DYNC_F64));
    for (int64_t e = 0; e < dync_numel(want); e++) {
        if ((a[e] != a[e]) != (b[e] != b[e]) || (fabs(a[e]) == INFINITY && a[e] != b[e]))
            return false;
        if (a[e] == a[e] && fabs(a[e]) < INFINITY)
            most = fmax(most, fabs(a[e] - b[e])), scale = fmax(scale, fabs(a[e]));
    }
    return most <= tolerance * scale;
}

static void random_form(bool nan)
{
    static const char *const options[] = {NULL, "threads=3", NULL, "winograd,threads=2"};
    static const int64_t channels[] = {16, 32, 48, 12, 20, 64};
    const char *option = options[test_random_int(0, 3)];
    dync_dtype type = test_random() % 6 ? DYNC_F32 : test_random() % 2 ? DYNC_F64 : DYNC_BF16;
    f = (form){.n = test_random_int(1, 2),
               .o = channels[test_random_int(0, 5)],
               .k = test_random() % 2 ? 3 : 1,
               .stride = test_random() % 3 ? 1 : 2,
               .h = test_random_int(3, test_random() % 4 ? 20 : 60),
               .w = test_random_int(3, test_random() % 4 ? 20 : 60),
               .transposed = test_random() % 4 == 0,
               .bias = test_random() % 2,
               .norm = test_random() % 2,
               .residual = test_random() % 3 == 0,
               .kept = test_random() % 4 == 0};
    if (test_random() % 8 == 0) f.k = f.stride = f.h = f.w = 1;
    f.c = test_random() % 3 ? f.o : 8;
    f.groups = f.c != f.o || test_random() % 2 ? 1 : test_random() % 2 ? f.o : 4;
    for (int i = 0; i < 3; i++) f.act[i] = i == 0 || test_random() % 2 ? test_random_int(0, 8) : 9;
    DYNC_SCOPE {
        dync_tensor *x = dync_randn(dync_shape(f.n, f.c, f.h, f.w), .dtype = type),
                    *b = dync_randn(dync_shape(f.o), .dtype = type);
        dync_tensor *w = dync_mul(
            f.transposed ? dync_randn(dync_shape(f.c, f.o / f.groups, f.k, f.k), .dtype = type)
                         : dync_randn(dync_shape(f.o, f.c / f.groups, f.k, f.k), .dtype = type),
            0.2);
        dync_tensor *scale = dync_rand(dync_shape(f.o), .dtype = type),
                    *shift = dync_randn(dync_shape(f.o), .dtype = type);
        int64_t h = f.transposed ? (f.h - 1) * f.stride + f.k - 2 * (f.k / 2) + f.stride - 1
                                 : (f.h - 1) / f.stride + 1;
        int64_t wide = f.transposed ? (f.w - 1) * f.stride + f.k - 2 * (f.k / 2)
                                    : (f.w - 1) / f.stride + 1;
        dync_tensor *r = dync_randn(dync_shape(f.n, f.o, h, wide), .dtype = type);
        if (nan && type == DYNC_F32 && (!option || option[0] == 't'))
            ((float *)dync_data(x))[test_random_int(0, (int)dync_numel(x) - 1)] = NAN;
        dync_set_grad_enabled(false);
        dync_value in[] = {DYNC_V(x),     DYNC_V(w),     DYNC_V(b),
                           DYNC_V(scale), DYNC_V(shift), DYNC_V(r)},
                   want = followed(in, 6, NULL);
        dync_compiled *c = dync_compile(followed, .fullgraph = true, .options = option);
        for (int i = 0; i < 2; i++) {
            dync_value got = dync_call_values(c, 6, in);
            for (int o = 0; o < (f.kept ? 3 : 1); o++)
                if (!EXPECT(agrees(dync_as_tensor(dync_at(want, o)),
                                   dync_as_tensor(dync_at(got, o)),
                                   type == DYNC_F64    ? 1e-12
                                   : type == DYNC_BF16 ? 0.03
                                   : option            ? 1e-3
                                                       : 1e-4)))
                    printf("  output %d, dtype %d, %s: n %d, %d to %d channels, k %d, stride %d, "
                           "groups %d, %d x %d, transposed %d bias %d norm %d residual %d kept %d, "
                           "%d %d %d\n",
                           o, (int)type, option ? option : "", (int)f.n, (int)f.c, (int)f.o,
                           (int)f.k, (int)f.stride, (int)f.groups, (int)f.h, (int)f.w, f.transposed,
                           f.bias, f.norm, f.residual, f.kept, f.act[0], f.act[1], f.act[2]);
        }
        dync_compiled_free(c);
        dync_set_grad_enabled(true);
    }
}

TEST(what_follows_a_convolution_agrees_with_eager_operators)
{
    for (int i = 0; i < 150; i++) random_form(i % 8 == 7);
}

TEST_MAIN
