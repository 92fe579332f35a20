/* Measures the error of loop/vecmath_*.c: each function as a kernel, run by the library, against
 * long double libm.
 *
 *   make split && cc -std=c11 -O2 -DDYNC__SPLIT -o vecmath_ulp tests/soak/vecmath_ulp.c
 *   build/split/libdync.a -lm -pthread
 *   ./vecmath_ulp [function or all] [f32 or f64] [stride, or random arguments for f64] [fast]
 *
 * f32: every stride-th of all 2^32 floats (1: all of them); f64: random bits and random reals. One
 * line each: the greatest error in ulps of the exact result, its argument, and how many results are
 * wrong in kind (NaN, infinity, sign of zero). */
#include "../../src/dync.in.h"
#include "../../src/codegen/codegen.h"
#include <stdio.h>

enum { BLOCK = 1 << 14 };

static long double ref_sigmoid(long double x)
{
    return x >= 0 ? 1 / (1 + expl(-x)) : expl(x) / (1 + expl(x));
}
static long double ref_rsqrt(long double x) { return 1 / sqrtl(x); }
#define ref_exp expl
#define ref_exp2 exp2l
#define ref_expm1 expm1l
#define ref_log logl
#define ref_log2 log2l
#define ref_log10 log10l
#define ref_log1p log1pl
#define ref_sin sinl
#define ref_cos cosl
#define ref_tan tanl
#define ref_tanh tanhl
#define ref_sinh sinhl
#define ref_cosh coshl
#define ref_asin asinl
#define ref_acos acosl
#define ref_atan atanl
#define ref_erf erfl
#define ref_erfc erfcl

typedef struct function {
    const char *name;
    int (*build)(dync__lb *, int);
    long double (*ref)(long double);
} function;
static const function functions[] = {
#define DYNC__X(name) {#name, dync__vm_##name, ref_##name},
    DYNC__VECMATH(DYNC__X)
#undef DYNC__X
};

typedef struct result {
    double worst, at;
    uint64_t n, over, wrong;
    double wrong_at;
} result;

static dync__code *compile(const function *f, int dtype, bool fast)
{
    dync__arena arena = {0};
    int64_t extent[] = {BLOCK}, stride[] = {1};
    dync__kernel *k = dync__kernel_new(&arena, f->name, 0, 1, extent);
    dync__lb b = {k, 1, NULL, fast};
    int access = dync__kernel_access(k, 0, stride);
    int x = dync__lb_load(&b, dync__kernel_buf(k, 0, dtype, DYNC__BUF_IN, BLOCK, "x"), access);
    dync__lb_store(&b, dync__kernel_buf(k, 1, dtype, DYNC__BUF_OUT, BLOCK, "y"), access,
                   f->build(&b, x));
    dync__kernel_simplify(k);
    dync__code *code = dync__kernel_check(k) == DYNC_OK ? dync__code_new(k) : NULL;
    dync__arena_free(&arena);
    return code;
}

/* y against the exact value d; digits and least exponent of the format */
static void judge(result *r, double x, double y, long double d, int dtype)
{
    int digits = dtype == DYNC_F32 ? 24 : 53, least = dtype == DYNC_F32 ? -125 : -1021, exponent;
    double want = dtype == DYNC_F32 ? (double)(float)d : (double)d;
    bool wrong = isnan(want) != isnan(y);
    r->n++;
    if (!wrong && !isnan(y)) {
        double largest = dtype == DYNC_F32 ? (double)FLT_MAX : DBL_MAX;
        if (isinf(want) || isinf(y))
            wrong = y != want && !(!isinf(d) && fabs(y) >= largest);
        else if (want == 0 && y == 0)
            wrong = signbit(want) != signbit(y);
        else {
            (void)frexpl(d, &exponent);
            double error = (double)(fabsl((long double)y - d) /
                                    ldexpl(1.0L, DYNC__MAX(exponent, least) - digits));
            r->over += error > 1;
            if (error > r->worst) {
                r->worst = error;
                r->at = x;
            }
        }
    }
    if (wrong) {
        r->wrong++;
        r->wrong_at = x;
    }
}

static void sweep32(const function *f, dync__code *code, uint64_t stride, result *r)
{
    static float x[BLOCK], y[BLOCK];
    void *buffers[] = {x, y};
    for (uint64_t i = 0; i < (uint64_t)1 << 32;) {
        int n = 0;
        for (; n < BLOCK && i < (uint64_t)1 << 32; i += stride, n++) {
            uint32_t bits = (uint32_t)i;
            memcpy(&x[n], &bits, 4);
        }
        if (dync__code_run(code, buffers, 0, 0) != DYNC_OK) return;
        for (int j = 0; j < n; j++)
            judge(r, (double)x[j], (double)y[j], f->ref((long double)x[j]), DYNC_F32);
    }
}

static void sweep64(const function *f, dync__code *code, uint64_t count, result *r)
{
    static double x[BLOCK], y[BLOCK];
    void *buffers[] = {x, y};
    uint64_t s = 88172645463325252u;
    for (uint64_t i = 0; i < count; i += BLOCK) {
        for (int j = 0; j < BLOCK; j++) {
            s ^= s << 13, s ^= s >> 7, s ^= s << 17;
            double unit = (double)(s >> 11) * 0x1p-53 - 0.5;
            x[j] = ldexp(unit, j % 13);
            if (j % 2) memcpy(&x[j], &s, 8);
        }
        if (dync__code_run(code, buffers, 0, 0) != DYNC_OK) return;
        for (int j = 0; j < BLOCK; j++) judge(r, x[j], y[j], f->ref((long double)x[j]), DYNC_F64);
    }
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "all";
    bool wide = argc > 2 && strcmp(argv[2], "f64") == 0, fast = argc > 4;
    uint64_t n = argc > 3 ? strtoull(argv[3], NULL, 0) : 0;
    for (int i = 0; i < DYNC__COUNT_OF(functions); i++) {
        const function *f = &functions[i];
        if (strcmp(name, "all") != 0 && strcmp(name, f->name) != 0) continue;
        dync__code *code = compile(f, wide ? DYNC_F64 : DYNC_F32, fast);
        result r = {0};
        if (!code) return 1;
        if (wide)
            sweep64(f, code, n ? n : 10000000, &r);
        else
            sweep32(f, code, n ? n : 997, &r);
        printf("%-8s %s  max %.4f ulp at %a  over 1: %llu  wrong: %llu (%a)  of %llu\n", f->name,
               wide ? "f64" : "f32", r.worst, r.at, (unsigned long long)r.over,
               (unsigned long long)r.wrong, r.wrong_at, (unsigned long long)r.n);
        dync__code_free(code);
    }
    dync_shutdown();
    return 0;
}
