/* loop/vecmath_*.c: a sample of every function against libm in more bits, and the special values of
 * C99 Annex F. The whole sweep is tests/soak/vecmath_ulp.c. */
#include "../../src/dync.in.h"
#include "../../tools/ir/ir.h"
#include "../test.h"

enum { N = 4096 };

static long double ref_sigmoid(long double x)
{
    return x >= 0 ? 1 / (1 + expl(-x)) : expl(x) / (1 + expl(x));
}
static long double ref_rsqrt(long double x) { return 1 / sqrtl(x); }

/* Greatest errors in ulps with FMA and without, where measured errors pass 1 (vecmath.h); arguments
 * up to 2^limit there. */
typedef struct function {
    const char *name;
    int (*build)(dync__lb *, int);
    long double (*ref)(long double);
    double fused, separate;
    int limit;
} function;
#define ROW(name, ref, fused, separate, limit) {#name, dync__vm_##name, ref, fused, separate, limit}
static const function functions[] = {ROW(exp, expl, 1.0, 1.2, 1100),
                                     ROW(exp2, exp2l, 1.0, 1.2, 1100),
                                     ROW(expm1, expm1l, 1.1, 1.2, 1100),
                                     ROW(log, logl, 1.0, 1.0, 1100),
                                     ROW(log2, log2l, 1.1, 1.8, 1100),
                                     ROW(log10, log10l, 1.0, 1.8, 1100),
                                     ROW(log1p, log1pl, 1.0, 1.0, 1100),
                                     ROW(sin, sinl, 1.0, 1.5, 8),
                                     ROW(cos, cosl, 1.0, 1.5, 8),
                                     ROW(tan, tanl, 1.3, 2.0, 8),
                                     ROW(tanh, tanhl, 1.0, 1.5, 1100),
                                     ROW(sinh, sinhl, 1.0, 1.0, 1100),
                                     ROW(cosh, coshl, 1.0, 1.0, 1100),
                                     ROW(asin, asinl, 1.0, 1.0, 1100),
                                     ROW(acos, acosl, 1.0, 1.0, 1100),
                                     ROW(atan, atanl, 1.0, 1.0, 1100),
                                     ROW(sigmoid, ref_sigmoid, 1.0, 1.5, 1100),
                                     ROW(erf, erfl, 1.0, 1.1, 1100),
                                     ROW(erfc, erfcl, 1.0, 2.0, 1100),
                                     ROW(rsqrt, ref_rsqrt, 1.5, 1.5, 1100)};

/* F32 as builds with DYNC_NO_F64 have it */
static bool without_f64;

/* y[i] = f(x[i]) or f(x[i], w[i]) by the oracle; x is loaded, so nothing folds. */
static void apply1(const function *f, int dtype, bool fast, int n, const void *x, void *y)
{
    dync__arena arena = {0};
    int64_t extent[] = {n}, stride[] = {1};
    dync__kernel *k = dync__kernel_new(&arena, f->name, 0, 1, extent);
    dync__lb b = {k, 1, NULL, fast};
    k->narrow = without_f64;
    int access = dync__kernel_access(k, 0, stride);
    int value = f->build(
        &b, dync__lb_load(&b, dync__kernel_buf(k, 0, dtype, DYNC__BUF_IN, n, "x"), access));
    dync__lb_store(&b, dync__kernel_buf(k, 1, dtype, DYNC__BUF_OUT, n, "y"), access, value);
    void *buffers[] = {(void *)(uintptr_t)x, y};
    REQUIRE_OK(dync__kernel_check(k));
    EXPECT_OK(dync__kernel_eval(k, buffers, 0, 0));
    dync__arena_free(&arena);
}

static void apply2(int (*build)(dync__lb *, int, int), int dtype, int n, const void *x,
                   const void *w, void *y)
{
    dync__arena arena = {0};
    int64_t extent[] = {n}, stride[] = {1};
    dync__kernel *k = dync__kernel_new(&arena, "two", 0, 1, extent);
    dync__lb b = {k, 1, NULL, false};
    k->narrow = without_f64;
    int access = dync__kernel_access(k, 0, stride);
    int first = dync__lb_load(&b, dync__kernel_buf(k, 0, dtype, DYNC__BUF_IN, n, "x"), access);
    int second = dync__lb_load(&b, dync__kernel_buf(k, 1, dtype, DYNC__BUF_IN, n, "w"), access);
    dync__lb_store(&b, dync__kernel_buf(k, 2, dtype, DYNC__BUF_OUT, n, "y"), access,
                   build(&b, first, second));
    void *buffers[] = {(void *)(uintptr_t)x, (void *)(uintptr_t)w, y};
    REQUIRE_OK(dync__kernel_check(k));
    EXPECT_OK(dync__kernel_eval(k, buffers, 0, 0));
    dync__arena_free(&arena);
}

/* Error in ulps of a format of `digits` and least exponent `least`; -1 where kinds or signs of zero
 * differ. */
static double ulps(double y, long double exact, int dtype)
{
    int digits = dtype == DYNC_F32 ? 24 : 53, least = dtype == DYNC_F32 ? -125 : -1021, e;
    double want = dtype == DYNC_F32 ? (double)(float)exact : (double)exact,
           largest = dtype == DYNC_F32 ? (double)FLT_MAX : DBL_MAX;
    if (isnan(want) || isnan(y)) return isnan(want) && isnan(y) ? 0 : -1;
    if (isinf(want) || isinf(y))
        return y == want || (fabs(y) >= largest && !isinf(exact) && fabs(want) >= largest) ? 0 : -1;
    if (want == 0 && y == 0) return signbit(want) == signbit(y) ? 0 : -1;
    (void)frexpl(exact, &e);
    return (double)(fabsl((long double)y - exact) / ldexpl(1.0L, (e < least ? least : e) - digits));
}

static double random_argument(int i, int limit)
{
    switch (i % 4) {
    case 0: return test_random_real(-1, 1);
    case 1: return test_random_real(-12, 12);
    case 2: return test_random_real(-120, 120);
    default:
        return (i & 8 ? -1 : 1) *
               ldexp(test_random_real(1, 2), test_random_int(-140, limit < 120 ? limit : 120));
    }
}

static void sample(const function *f, int dtype, bool fast, double limit_ulps)
{
    static float x[N], y[N];
    static double xd[N], yd[N];
    bool narrow = dtype == DYNC_F32;
    int range = fast ? 8 : dync__has_fma() ? 1100 : f->limit;
    double worst = 0, at = 0;
    for (int i = 0; i < N; i++) {
        xd[i] = random_argument(i, range);
        x[i] = (float)xd[i];
    }
    apply1(f, dtype, fast, N, narrow ? (void *)x : (void *)xd, narrow ? (void *)y : (void *)yd);
    for (int i = 0; i < N; i++) {
        long double exact = f->ref(narrow ? (long double)x[i] : (long double)xd[i]);
        /* fast_math may lose subnormal results */
        if (fast && fabsl(exact) < 0x1p-126L) continue;
        double error = ulps(narrow ? (double)y[i] : yd[i], exact, dtype);
        EXPECT(error >= 0);
        if (error > worst) {
            worst = error;
            at = narrow ? (double)x[i] : xd[i];
        }
    }
    if (worst > limit_ulps)
        printf("%s %s: %g ulp at %a\n", f->name, narrow ? "f32" : "f64", worst, at);
    EXPECT(worst <= limit_ulps);
}

TEST(every_function_is_accurate)
{
    for (int i = 0; i < DYNC__COUNT_OF(functions); i++) {
        double limit = dync__has_fma() ? functions[i].fused : functions[i].separate;
        sample(&functions[i], DYNC_F32, false, limit);
        sample(&functions[i], DYNC_F64, false, limit + 0.05); /* long double's own error */
    }
}

TEST(fast_math_stays_within_its_bound)
{
    for (int i = 0; i < DYNC__COUNT_OF(functions); i++) {
        bool periodic = strcmp(functions[i].name, "sin") == 0 ||
                        strcmp(functions[i].name, "cos") == 0 ||
                        strcmp(functions[i].name, "tan") == 0;
        if (!periodic) sample(&functions[i], DYNC_F32, true, 3.5);
    }
}

TEST(special_values)
{
    static const double x[] = {0.0,      -0.0,      INFINITY,  -INFINITY,  NAN,    1.0,     -1.0,
                               0x1p-149, -0x1p-149, 0x1p-1074, -0x1p-1074, 2.0,    -2.0,    0.5,
                               -0.5,     1e30,      -1e30,     88.7,       89.5,   -103.9,  -104.5,
                               709.7,    711.0,     -745.0,    -746.0,     127.9,  128.0,   -149.0,
                               -151.0,   1024.0,    -1074.0,   1e22,       3.4e38, -3.4e38, 1.7e308,
                               -1.7e308, 10.0,      27.0,      -27.0};
    enum { COUNT = sizeof x / sizeof *x };
    float xf[COUNT], y[COUNT];
    double yd[COUNT];
    for (int i = 0; i < COUNT; i++) xf[i] = (float)x[i];
    for (int j = 0; j < DYNC__COUNT_OF(functions); j++) {
        const function *f = &functions[j];
        apply1(f, DYNC_F32, false, COUNT, xf, y);
        apply1(f, DYNC_F64, false, COUNT, x, yd);
        for (int i = 0; i < COUNT; i++) {
            /* no exact products, no huge arguments */
            if (!dync__has_fma() && fabs(x[i]) > 1e6 && f->limit == 8) continue;
            double narrow = ulps((double)y[i], f->ref((long double)xf[i]), DYNC_F32),
                   wide = ulps(yd[i], f->ref((long double)x[i]), DYNC_F64);
            if (narrow < 0 || narrow > 2 || wide < 0 || wide > 2)
                printf("%s(%g): %g and %g ulp\n", f->name, x[i], narrow, wide);
            EXPECT(narrow >= 0 && narrow <= 2 && wide >= 0 && wide <= 2);
        }
    }
}

static long double remainder_of(long double x, long double y) { return fmodl(x, y); }

static void two_arguments(void)
{
    static const double special[] = {
        0.0,        -0.0,     1.0,       -1.0, 2.0,      -2.0,      3.0,      -3.0,  0.5,
        -0.5,       INFINITY, -INFINITY, NAN,  0x1p-149, -0x1p-149, 1e38,     -1e38, 16777216.0,
        16777215.0, 1e10,     0.75,      1.5,  -1.5,     1.0000001, 0.9999999};
    static const struct {
        int (*build)(dync__lb *, int, int);
        long double (*ref)(long double, long double);
        double limit, limit_without_f64;
        const char *name;
    } two[] = {{dync__vm_pow, powl, 1.2, 2.5, "pow"},
               {dync__vm_atan2, atan2l, 1.5, 1.5, "atan2"},
               {dync__vm_fmod, remainder_of, 0, 0, "fmod"}};
    enum { S = sizeof special / sizeof *special };
    static float x[N], w[N], y[N];
    static double xd[N], wd[N], yd[N];
    for (int t = 0; t < 3; t++) {
        for (int i = 0; i < N; i++) {
            bool table = i < S * S;
            xd[i] = (double)(float)(table   ? special[i / S]
                                    : i % 2 ? random_argument(i / 2, 60)
                                            : test_random_real(0, 4));
            wd[i] = (double)(float)(table   ? special[i % S]
                                    : i % 3 ? test_random_real(-20, 20)
                                            : random_argument(i / 3, 60));
            x[i] = (float)xd[i];
            w[i] = (float)wd[i];
        }
        apply2(two[t].build, DYNC_F32, N, x, w, y);
        apply2(two[t].build, DYNC_F64, N, xd, wd, yd);
        for (int i = 0; i < N; i++) {
            long double exact = two[t].ref((long double)xd[i], (long double)wd[i]);
            double narrow = ulps((double)y[i], exact, DYNC_F32),
                   wide = ulps(yd[i], exact, DYNC_F64);
            double limit = without_f64 ? two[t].limit_without_f64 : two[t].limit;
            bool good = narrow >= 0 && narrow <= limit && wide >= 0 && wide <= two[t].limit;
            if (!good)
                printf("%s(%a, %a): %g and %g ulp\n", two[t].name, xd[i], wd[i], narrow, wide);
            EXPECT(good);
        }
    }
}

TEST(functions_of_two_arguments) { two_arguments(); }

/* With and without F64: pow, fmod and arguments of sin, cos and tan have other ways then. */
TEST(functions_of_f32_without_f64)
{
    without_f64 = true;
    two_arguments();
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        sample(&functions[i], DYNC_F32, false,
               dync__has_fma() ? functions[i].fused : functions[i].separate);
    without_f64 = false;
}

/* Quotients of any size, subnormal divisors and results too. */
TEST(fmod_of_all_doubles)
{
    static double x[N], y[N], got[N];
    static const double edges[] = {DBL_MAX,
                                   DBL_MIN,
                                   0x1p-1074,
                                   0x1p-1073,
                                   1,
                                   3,
                                   0x1p250,
                                   0x1p-500,
                                   0x1.fffffffffffffp-501,
                                   0x1.fffffffffffffp1023,
                                   0x1.fffffffffffffp0,
                                   0x1.5555555555555p700,
                                   1e300,
                                   1e-300,
                                   INFINITY,
                                   0,
                                   NAN};
    enum { E = sizeof edges / sizeof *edges };
    for (int i = 0; i < N; i++) {
        x[i] = i < E * E ? edges[i / E]
                         : ldexp(test_random_real(-2, 2), test_random_int(-1074, 1023));
        y[i] = i < E * E
                   ? edges[i % E]
                   : ldexp(test_random_real(-2, 2), test_random_int(-1074, i % 2 ? 1023 : -200));
        if (!isfinite(x[i]) && i >= E * E) x[i] = DBL_MAX;
    }
    apply2(dync__vm_fmod, DYNC_F64, N, x, y, got);
    for (int i = 0; i < N; i++) {
        double want = fmod(x[i], y[i]);
        if (!EXPECT(got[i] == want || (got[i] != got[i] && want != want)))
            printf("fmod(%a, %a): %a, expected %a\n", x[i], y[i], got[i], want);
    }
}

/* A constant argument folds, partly or wholly; the value is the same to the bit. */
TEST(folding_gives_the_bits_of_running)
{
    for (int j = 0; j < DYNC__COUNT_OF(functions); j++) {
        for (int dtype = DYNC_F32; dtype <= DYNC_F64; dtype++) {
            double x = test_random_real(0.1, 0.9), want = 0, got = 0;
            float xf = (float)x, wantf = 0, gotf = 0;
            dync__arena arena = {0};
            int64_t extent[] = {1};
            dync__kernel *k = dync__kernel_new(&arena, "folded", 0, 1, extent);
            dync__lb b = {k, 1, NULL, false};
            int value = functions[j].build(&b, dync__lb_f(&b, dtype, x));
            dync__lb_store(&b, dync__kernel_buf(k, 0, dtype, DYNC__BUF_OUT, 1, "y"),
                           dync__kernel_access(k, 0, NULL), value);
            dync__kernel_simplify(k);
            EXPECT_OK(dync__kernel_check(k));
            void *buffers[] = {dtype == DYNC_F32 ? (void *)&gotf : (void *)&got};
            EXPECT_OK(dync__kernel_eval(k, buffers, 0, 0));
            apply1(&functions[j], dtype, false, 1, dtype == DYNC_F32 ? (void *)&xf : (void *)&x,
                   dtype == DYNC_F32 ? (void *)&wantf : (void *)&want);
            EXPECT(dtype == DYNC_F32 ? memcmp(&gotf, &wantf, sizeof gotf) == 0
                                     : memcmp(&got, &want, sizeof got) == 0);
            dync__arena_free(&arena);
        }
    }
}

TEST_MAIN
