/* Few rows against weights (kernel/gemm_transposed.c) in whole functions: several products in one
 * expression, some of one weight, one fed by another, under users of their own; weights that change
 * and weights that stay; against sums of elements, which no product takes part in. */
#define TEST_AFTER_EACH dync_shutdown()
#include "dync.h"
#include "test.h"
#include "tol.h"

static bool by_sums;
static dync_tensor *linear(dync_tensor *x, dync_tensor *w)
{
    if (!by_sums) return dync_linear(x, w, NULL);
    return dync_sum(dync_mul(dync_unsqueeze(x, 1), w), dync_shape(-1), false);
}

static dync_tensor *siblings(dync_tensor *x, dync_tensor *v, dync_tensor *w, dync_tensor *u)
{
    dync_tensor *a = dync_relu(linear(x, v)), *b = dync_gelu(dync_add(linear(x, v), linear(x, w)));
    dync_tensor *c = linear(dync_add(a, b), u);
    return dync_add(dync_mul(c, dync_sigmoid(c)), dync_softmax(linear(b, u), -1));
}

static int draw(const int *of, int n) { return of[test_random() % (unsigned)n]; }

static void check(int rounds, const char *backend)
{
    static const int ks[] = {1, 31, 64, 257, 300, 520}, ns[] = {32, 33, 100, 113};
    for (int i = 0; i < rounds; i++) DYNC_SCOPE {
        int m = 1 + (int)(test_random() % 34), k = draw(ks, 6), n = draw(ns, 4), o = draw(ns, 4);
        dync_dtype type = test_random() % 3 ? DYNC_F32 : DYNC_F64;
        dync_tensor *w[3], *x;
        const int64_t shape[4][2] = {{n, k}, {n, k}, {o, n}, {m, k}};
        dync_compiled *f =
            dync_compile(siblings, .args = "x, v, w, u", .backend = backend,
                         .dynamic = test_random() % 2 ? DYNC_DYNAMIC_ON : DYNC_DYNAMIC_OFF);
        for (int run = 0; run < 4; run++) {
            for (int j = 0; j < 3 && (run == 0 || run == 3); j++)
                w[j] =
                    dync_mul(dync_randn(dync_shape(shape[j][0], shape[j][1]), .dtype = type), 0.1);
            x = dync_randn(dync_shape(shape[3][0], shape[3][1]), .dtype = type);
            by_sums = true;
            dync_tensor *want = siblings(x, w[0], w[1], w[2]);
            by_sums = false;
            dync_tensor *got = dync_call(f, x, w[0], w[1], w[2]);
            double tol = type == DYNC_F32 ? TOL_F32_MODEL : TOL_F64_CHAIN;
            if (!EXPECT(want && got && dync_allclose(got, want, tol, tol)))
                printf("    %d rows, k %d, n %d, %d, %s, run %d\n", m, k, n, o,
                       type == DYNC_F32 ? "f32" : "f64", run);
        }
        dync_compiled_free(f);
    }
    EXPECT_EQ_INT(dync_error(), DYNC_OK);
}
TEST(compiled) { check(test_count(12), "inductor"); }
TEST(through_aot) { check(test_count(6), "aot_eager"); }
TEST_MAIN
