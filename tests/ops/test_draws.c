/* tests/ops/test_draws.c: random numbers: their distribution (Kolmogorov and Smirnov's distance,
 * moments, pairs of numbers some places apart), and that a seed and a place say each number,
 * however calls are cut, compiled or stored. */
#include "dync.h"
#include "test.h"
#include "tol.h"

enum { N = 1 << 17 };
static double x[N];

static double at(dync_tensor *t, int64_t i)
{
    const void *p = dync_data(t);
    return dync_type(t) == DYNC_F32 ? (double)((const float *)p)[i] : ((const double *)p)[i];
}

static int ascending(const void *a, const void *b)
{
    double d = *(const double *)a - *(const double *)b;
    return d < 0 ? -1 : d > 0;
}

static double normal_cdf(double z) { return 0.5 * erfc(-z / sqrt(2)); }

/* ---- distribution ---------------------------------------------------------------------------- */

/* u: numbers that should be uniform. Of each and of the one `lag` later, 8 x 8 boxes: chi squared
 * of 63 degrees, 63 +- 11.2. */
static double boxes(const double *u, int lag)
{
    double count[64] = {0}, chi = 0, want = (double)(N - lag) / 64;
    for (int i = 0; i + lag < N; i++) {
        int a = (int)(u[i] * 8), b = (int)(u[i + lag] * 8);
        count[8 * (a > 7 ? 7 : a) + (b > 7 ? 7 : b)]++;
    }
    for (int k = 0; k < 64; k++) chi += (count[k] - want) * (count[k] - want) / want;
    return chi;
}

static void check_uniform(void)
{
    static const int lags[] = {1, 2, 7, 8, 9, 16, 24, 32, 64, 96};
    static double sorted[N];
    double most = 0;
    for (int l = 0; l < (int)(sizeof lags / sizeof lags[0]); l++)
        EXPECT(boxes(x, lags[l]) < 63 + 5 * 11.2);
    memcpy(sorted, x, sizeof sorted);
    qsort(sorted, N, sizeof sorted[0], ascending);
    for (int i = 0; i < N; i++) {
        double above = (double)(i + 1) / N - sorted[i], below = sorted[i] - (double)i / N;
        most = fmax(most, fmax(above, below));
    }
    EXPECT(most * sqrt(N) < 1.95); /* one in a thousand is greater */
}

static void check_moments(const double *want, const double *error)
{
    double sum[4] = {0};
    for (int i = 0; i < N; i++) {
        double p = 1;
        for (int k = 0; k < 4; k++) sum[k] += p *= x[i];
    }
    for (int k = 0; k < 4; k++) EXPECT_NEAR(sum[k] / N, want[k], 5 * error[k] / sqrt(N));
}

static void check_distribution(dync_dtype dtype, bool normal, uint64_t seed)
{
    /* moments, and the standard deviation of one power */
    static const double uniform[] = {0.5, 1.0 / 3, 0.25, 0.2},
                        uniform_error[] = {0.29, 0.3, 0.29, 0.27}, gauss[] = {0, 1, 0, 3},
                        gauss_error[] = {1, 1.42, 3.88, 9.8};
    DYNC_SCOPE {
        dync_manual_seed(seed);
        dync_rand(dync_shape(13)); /* not from the beginning of a block */
        dync_tensor *t = normal ? dync_randn(dync_shape(N), .dtype = dtype)
                                : dync_rand(dync_shape(N), .dtype = dtype);
        for (int i = 0; i < N; i++) x[i] = at(t, i);
        if (normal)
            check_moments(gauss, gauss_error);
        else
            check_moments(uniform, uniform_error);
        for (int i = 0; i < N; i++) {
            x[i] = normal ? normal_cdf(x[i]) : x[i];
            REQUIRE(x[i] >= 0 && x[i] < 1);
        }
        check_uniform();
    }
}

TEST(uniform_numbers_are_uniform)
{
    check_distribution(DYNC_F32, false, 1);
    check_distribution(DYNC_F32, false, (uint64_t)1 << 40);
    check_distribution(DYNC_F64, false, 2);
}

TEST(normal_numbers_are_normal)
{
    check_distribution(DYNC_F32, true, 3);
    check_distribution(DYNC_F32, true, 0xffffffffu);
    check_distribution(DYNC_F64, true, 4);
}

/* The tail as far as 2^20 numbers have one: as many beyond 4 and beyond 4.5 as there should be,
 * give or take five deviations, on both sides. */
TEST(normal_tails)
{
    DYNC_SCOPE {
        enum { MANY = 1 << 20 };
        int beyond[2][2] = {{0}};
        dync_manual_seed(11);
        dync_tensor *t = dync_randn(dync_shape(MANY));
        for (int i = 0; i < MANY; i++)
            for (int far = 0; far < 2; far++)
                beyond[far][at(t, i) > 0] += fabs(at(t, i)) > 4 + 0.5 * far;
        for (int far = 0; far < 2; far++)
            for (int side = 0; side < 2; side++) {
                double want = MANY * normal_cdf(-4 - 0.5 * far);
                EXPECT(fabs(beyond[far][side] - want) < 5 * sqrt(want));
            }
    }
}

/* Draws of two kinds in two calls, at the same places of their blocks, have nothing in common. */
TEST(calls_share_nothing)
{
    for (int gap = 0; gap < 64; gap += 8) DYNC_SCOPE {
        static double u[N];
        double chi = 0, want = (double)N / 64, count[64] = {0};
        dync_manual_seed(5);
        dync_tensor *normal = dync_randn(dync_shape(N - gap)),
                    *rest = dync_randn(dync_shape(gap + 1)), *uniform = dync_rand(dync_shape(N));
        for (int i = 0; i < N; i++) {
            u[i] = normal_cdf(i < N - gap ? at(normal, i) : at(rest, i - (N - gap)));
            int a = (int)(u[i] * 8), b = (int)(at(uniform, i) * 8);
            count[8 * (a > 7 ? 7 : a) + b]++;
        }
        for (int k = 0; k < 64; k++) chi += (count[k] - want) * (count[k] - want) / want;
        EXPECT(chi < 63 + 5 * 11.2);
    }
}

/* ---- which number is where ------------------------------------------------------------------- */

static bool same(dync_tensor *a, dync_tensor *b)
{
    size_t bytes = (size_t)dync_numel(a) * (dync_type(a) == DYNC_F64   ? 8
                                            : dync_type(a) == DYNC_F32 ? 4
                                                                       : 2);
    return dync_type(a) == dync_type(b) && dync_numel(a) == dync_numel(b) &&
           memcmp(dync_data(a), dync_data(b), bytes) == 0;
}

/* Calls one after another draw what one call would: no number twice, none left out. */
TEST(calls_follow_each_other)
{
    static const dync_dtype dtypes[] = {DYNC_F32, DYNC_F64, DYNC_F16, DYNC_BF16};
    static const int64_t cuts[] = {1, 31, 32, 33, 7, 8, 100, 1000, 257, 5};
    for (int d = 0; d < 4; d++)
        for (int normal = 0; normal < 2; normal++) DYNC_SCOPE {
            dync_value part[10];
            int64_t n = 0;
            dync_manual_seed(6);
            for (int c = 0; c < 10; n += cuts[c++])
                part[c] = dync_v_tensor(normal
                                            ? dync_randn(dync_shape(cuts[c]), .dtype = dtypes[d])
                                            : dync_rand(dync_shape(cuts[c]), .dtype = dtypes[d]));
            dync_manual_seed(6);
            dync_tensor *whole = normal ? dync_randn(dync_shape(n), .dtype = dtypes[d])
                                        : dync_rand(dync_shape(n), .dtype = dtypes[d]);
            EXPECT(same(dync_cat(dync_tuple_of(10, part), 0), whole));
            dync_manual_seed(7);
            EXPECT(!same(normal ? dync_randn(dync_shape(n), .dtype = dtypes[d])
                                : dync_rand(dync_shape(n), .dtype = dtypes[d]),
                         whole));
        }
}

/* Normal numbers of f16 and bf16 round those of f32; uniform ones are cut, so that none is 1. */
TEST(narrow_ones_are_of_f32)
{
    for (int normal = 0; normal < 2; normal++)
        for (int narrow = 0; narrow < 2; narrow++) DYNC_SCOPE {
            dync_dtype dtype = narrow ? DYNC_BF16 : DYNC_F16;
            dync_manual_seed(8);
            dync_rand(dync_shape(3));
            dync_tensor *f = normal ? dync_randn(dync_shape(9999)) : dync_rand(dync_shape(9999));
            double cells = narrow ? 256 : 2048;
            if (!normal) f = dync_div(dync_floor(dync_mul(f, cells)), cells);
            dync_manual_seed(8);
            dync_rand(dync_shape(3));
            dync_tensor *x = normal ? dync_randn(dync_shape(9999), .dtype = dtype)
                                    : dync_rand(dync_shape(9999), .dtype = dtype);
            EXPECT(same(x, dync_to_dtype(f, dtype)));
            EXPECT(normal || dync_item(dync_max(x)) < 1);
        }
}

/* ---- eager, compiled ------------------------------------------------------------------------- */

static dync_tensor *fn_draws(dync_tensor *a)
{
    dync_tensor *u = dync_rand_like(a), *z = dync_randn_like(a), *b = dync_bernoulli(u);
    return dync_add(dync_mul(u, z), dync_add(b, dync_randn_like(a)));
}
static dync_tensor *fn_in_place(dync_tensor *a)
{
    dync_tensor *b = dync_clone(a);
    dync_normal_(b, 2, 3);
    dync_tensor *c = dync_uniform_(dync_clone(a), -1, 4);
    return dync_add(b, c);
}
static dync_tensor *fn_integers(dync_tensor *a)
{
    dync_tensor *n = dync_floor(dync_mul(dync_rand_like(a), 1000));
    return dync_add(dync_to_dtype(dync_to_dtype(n, DYNC_I32), dync_type(a)), a);
}
/* numbers of columns, and of a sum over them */
static dync_tensor *fn_rows(dync_tensor *a)
{
    dync_tensor *z = dync_randn_like(a);
    return dync_mul(z, dync_amax(z, dync_shape(-1), true));
}
static dync_tensor *fn_turned(dync_tensor *a)
{
    return dync_add(dync_transpose(dync_rand_like(a), 0, 1),
                    dync_rand_like(dync_transpose(a, 0, 1)));
}
static dync_tensor *fn_dropped(dync_tensor *a)
{
    return dync_dropout(dync_add(dync_mul(a, 0), 1), 0.3, true);
}

TEST(compiled_draws_what_eager_draws)
{
    static const dync_dtype dtypes[] = {DYNC_F32, DYNC_F64, DYNC_F16, DYNC_BF16};
    static const int64_t shapes[][2] = {{1, 1},   {3, 7},     {5, 33}, {64, 32},
                                        {700, 3}, {3, 70000}, {17, 19}};
    static dync_tensor *(*const functions[])(dync_tensor *) = {fn_draws, fn_in_place, fn_integers,
                                                               fn_rows,  fn_turned,   fn_dropped};
    for (int f = 0; f < 6; f++)
        for (int d = 0; d < 4; d++) {
            dync_compiled *c = f == 0   ? dync_compile(fn_draws, .args = "a")
                               : f == 1 ? dync_compile(fn_in_place, .args = "a")
                               : f == 2 ? dync_compile(fn_integers, .args = "a")
                               : f == 3 ? dync_compile(fn_rows, .args = "a")
                               : f == 4 ? dync_compile(fn_turned, .args = "a")
                                        : dync_compile(fn_dropped, .args = "a");
            dync_config_set("threads", d % 2 ? "3" : "1");
            for (int s = 0; s < 7; s++) DYNC_SCOPE {
                dync_tensor *a =
                    dync_ones(dync_shape(shapes[s][0], shapes[s][1]), .dtype = dtypes[d]);
                for (int offset = 0; offset < 2; offset++) {
                    dync_manual_seed(9);
                    if (offset) dync_rand(dync_shape(11));
                    dync_tensor *eager = functions[f](a), *next = dync_rand(dync_shape(5));
                    dync_manual_seed(9);
                    if (offset) dync_rand(dync_shape(11));
                    dync_tensor *compiled = dync_call(c, a);
                    REQUIRE(compiled);
                    if (!EXPECT(same(dync_contiguous(eager), dync_contiguous(compiled))))
                        printf("  function %d dtype %d shape %d offset %d\n", f, d, s, offset);
                    EXPECT(same(next, dync_rand(dync_shape(5))));
                }
            }
            dync_compiled_free(c);
        }
    dync_config_set("threads", "1");
}

/* Backward drops what forward has dropped. */
static dync_tensor *fn_step(dync_tensor *a)
{
    return dync_sum(dync_dropout(a, 0.4, true), DYNC_ALL, false);
}

TEST(backward_sees_the_same_numbers)
{
    for (int compiled = 0; compiled < 2; compiled++) DYNC_SCOPE {
        dync_compiled *c = dync_compile(fn_step, .args = "a");
        dync_tensor *a = dync_ones(dync_shape(37, 41), .requires_grad = true);
        dync_manual_seed(10);
        dync_tensor *keep = dync_dropout(dync_detach(a), 0.4, true);
        dync_manual_seed(10);
        dync_backward(compiled ? dync_call(c, a) : fn_step(a));
        EXPECT(same(dync_grad(a), keep));
        dync_compiled_free(c);
    }
}
TEST_MAIN
