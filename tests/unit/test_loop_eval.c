/* loop/eval.c: the meaning of the primitives where C leaves a choice, reductions, sections, random
 * numbers. */
#include "../../src/dync.in.h"
#include "../../src/loop/whole.h"
#include "../../tools/ir/ir.h"
#include "../test.h"
#include "../tol.h"

static dync__scalar f32(float x)
{
    dync__scalar s = {0};
    s.f = x;
    return s;
}
static dync__scalar f64(double x)
{
    dync__scalar s = {0};
    s.d = x;
    return s;
}
static dync__scalar i64(int64_t x)
{
    dync__scalar s = {0};
    s.i = x;
    return s;
}

static int64_t int2(int prim, int type, int64_t a, int64_t b)
{
    return dync__prim_eval(prim, type, type, i64(a), i64(b), i64(0), 0).i;
}
static float float2(int prim, float a, float b)
{
    return dync__prim_eval(prim, DYNC_F32, DYNC_F32, f32(a), f32(b), f32(0), 0).f;
}
static int64_t cast(int type, double x)
{
    return dync__prim_eval(DYNC__P_cast, type, DYNC_F64, f64(x), i64(0), i64(0), 0).i;
}

TEST(integers_wrap_and_divide_by_zero)
{
    EXPECT_EQ_INT(int2(DYNC__P_add, DYNC_I32, INT32_MAX, 1), INT32_MIN);
    EXPECT_EQ_INT(int2(DYNC__P_mul, DYNC_I64, INT64_MAX, 2), -2);
    EXPECT_EQ_INT(int2(DYNC__P_div, DYNC_I64, 7, 0), 0);
    EXPECT_EQ_INT(int2(DYNC__P_div, DYNC_I32, -7, 2), -3);
    EXPECT_EQ_INT(int2(DYNC__P_div, DYNC_I64, INT64_MIN, -1), INT64_MIN);
    EXPECT_EQ_INT(int2(DYNC__P_div, DYNC_I32, INT32_MIN, -1), INT32_MIN);
    EXPECT_EQ_INT(int2(DYNC__P_rem, DYNC_I64, -7, 3), -1);
    EXPECT_EQ_INT(int2(DYNC__P_rem, DYNC_I64, 7, 0), 0);
    EXPECT_EQ_INT(int2(DYNC__P_rem, DYNC_I64, INT64_MIN, -1), 0);
    EXPECT_EQ_INT(int2(DYNC__P_abs, DYNC_I32, INT32_MIN, 0), INT32_MIN);
    EXPECT_EQ_INT(int2(DYNC__P_neg, DYNC_I64, INT64_MIN, 0), INT64_MIN);
}

TEST(shifts_out_of_range)
{
    EXPECT_EQ_INT(int2(DYNC__P_shl, DYNC_I32, 1, 31), INT32_MIN);
    EXPECT_EQ_INT(int2(DYNC__P_shl, DYNC_I32, 1, 32), 0);
    EXPECT_EQ_INT(int2(DYNC__P_shl, DYNC_I64, 1, -1), 0);
    EXPECT_EQ_INT(int2(DYNC__P_shr, DYNC_I32, -8, 1), -4);
    EXPECT_EQ_INT(int2(DYNC__P_shr, DYNC_I64, INT64_MIN, 63), -1);
    EXPECT_EQ_INT(int2(DYNC__P_shr, DYNC_I64, INT64_MIN, 0), INT64_MIN);
    EXPECT_EQ_INT(int2(DYNC__P_shr, DYNC_I32, -8, 40), -1);
    EXPECT_EQ_INT(int2(DYNC__P_shr, DYNC_I32, 8, -1), 0);
}

TEST(min_and_max_propagate_nan_and_take_the_second_zero)
{
    EXPECT(isnan(float2(DYNC__P_min, NAN, 1)) && isnan(float2(DYNC__P_min, 1, NAN)));
    EXPECT(isnan(float2(DYNC__P_max, NAN, 1)) && isnan(float2(DYNC__P_max, 1, NAN)));
    EXPECT(signbit(float2(DYNC__P_min, 0.0f, -0.0f)) && !signbit(float2(DYNC__P_min, -0.0f, 0.0f)));
    EXPECT(signbit(float2(DYNC__P_max, 0.0f, -0.0f)) && !signbit(float2(DYNC__P_max, -0.0f, 0.0f)));
}

TEST(casts_saturate)
{
    EXPECT_EQ_INT(cast(DYNC_I32, 1e10), INT32_MAX);
    EXPECT_EQ_INT(cast(DYNC_I32, -1e10), INT32_MIN);
    EXPECT_EQ_INT(cast(DYNC_I32, -2147483648.0), INT32_MIN);
    EXPECT_EQ_INT(cast(DYNC_I64, 9223372036854775808.0), INT64_MAX);
    EXPECT_EQ_INT(cast(DYNC_I64, (double)NAN), 0);
    EXPECT_EQ_INT(cast(DYNC_I32, -1.9), -1);
    EXPECT_EQ_INT(cast(DYNC_BOOL, (double)NAN), 1);
    EXPECT_EQ_INT(cast(DYNC_BOOL, -0.0), 0);
    EXPECT_EQ_INT(
        dync__prim_eval(DYNC__P_wrap, DYNC_I32, DYNC_I32, i64(200), i64(0), i64(0), DYNC_I8).i,
        -56);
    EXPECT_EQ_INT(
        dync__prim_eval(DYNC__P_wrap, DYNC_I32, DYNC_I32, i64(-1), i64(0), i64(0), DYNC_U8).i, 255);
    EXPECT_NEAR(
        dync__prim_eval(DYNC__P_wrap, DYNC_F32, DYNC_F32, f32(1.001f), f32(0), f32(0), DYNC_BF16).f,
        1.0, TOL_EXACT);
    EXPECT_EQ_INT(
        dync__prim_eval(DYNC__P_bitcast, DYNC_I32, DYNC_F32, f32(-0.0f), i64(0), i64(0), 0).i,
        INT32_MIN);
}

TEST(rounding_is_half_to_even)
{
    EXPECT_NEAR(float2(DYNC__P_rint, 2.5f, 0), 2.0, TOL_EXACT);
    EXPECT_NEAR(float2(DYNC__P_rint, -3.5f, 0), -4.0, TOL_EXACT);
    EXPECT(signbit(float2(DYNC__P_trunc, -0.5f, 0)));
}

/* ---- kernels --------------------------------------------------------------------------------- */

static dync__kernel *parse(dync__arena *arena, const char *text)
{
    dync__kernel *k = dync__kernel_parse(arena, text);
    EXPECT(k != NULL);
    if (k) EXPECT_OK(dync__kernel_check(k));
    return k;
}

TEST(rows_phases_and_kept_values)
{
    dync__arena arena = {0};
    dync__kernel *k =
        parse(&arena,
              "kernel f(in x f32[6] @0, out y f32[6] @1, out s f64[2] @2) outer o0<2 inner i0<3 {\n"
              "  phase 0 {\n    v0 = load x[3*o0 + i0]\n    v1 = reduce.max v0\n  }\n"
              "  phase 1 {\n    v2 = sub v0, v1\n    v3 = reduce.sum v2\n  }\n"
              "  row 2 {\n    v4 = cast.f64 v3\n    store s[o0], v4\n  }\n"
              "  phase 2 {\n    v5 = div v2, v3\n    store y[3*o0 + i0], v5\n  }\n}\n");
    float x[6] = {1, 2, 3, 6, 4, 5}, y[6] = {0};
    double s[2] = {0};
    void *buffers[] = {x, y, s};
    REQUIRE(k != NULL);
    EXPECT_OK(dync__kernel_eval(k, buffers, 0, 0));
    EXPECT_NEAR(s[0], -3.0, TOL_EXACT);
    EXPECT_NEAR(s[1], -3.0, TOL_EXACT);
    EXPECT_NEAR(y[0], 2.0 / 3, TOL_F32_1ULP);
    EXPECT_NEAR(y[2], 0.0, TOL_EXACT);
    EXPECT_NEAR(y[4], 2.0 / 3, TOL_F32_1ULP);
    dync__arena_free(&arena);
}

TEST(reductions_of_one_row)
{
    static const char *const kinds[] = {"sum", "prod", "max", "min", "argmax", "argmin"};
    static const double want[2][6] = {{2.0, -12.0, 3.0, -2.0, 3, 1},
                                      {0.0, 1.0, -INFINITY, INFINITY, 0, 0}};
    for (int empty = 0; empty < 2; empty++) {
        for (int i = 0; i < 6; i++) {
            dync__arena arena = {0};
            dync__str text = {0};
            dync__str_addf(
                &text,
                "kernel f(in x f32[4] @0, out y f32[1] @1) inner i0<%d {\n  phase 0 {\n    v0 = "
                "load x[i0]\n"
                "    v1 = reduce.%s v0\n  }\n  row 1 {\n    v2 = cast.f32 v1\n    store y[0], "
                "v2\n  }\n}\n",
                empty ? 0 : 4, kinds[i]);
            dync__kernel *k = parse(&arena, dync__str_get(&text));
            float x[4] = {2, -2, 1, 3}, y[1] = {-7};
            void *buffers[] = {x, y};
            x[2] = i == 0 ? -1 : 1;
            if (k) EXPECT_OK(dync__kernel_eval(k, buffers, 0, 0));
            EXPECT((double)y[0] == want[empty][i]);
            dync__str_free(&text);
            dync__arena_free(&arena);
        }
    }
}

TEST(argmax_takes_the_first_and_nan_wins)
{
    dync__arena arena = {0};
    dync__kernel *k = parse(
        &arena,
        "kernel f(in x f32[6] @0, out y i64[1] @1) inner i0<2, i1<3 {\n  phase 0 {\n"
        "    v0 = load x[3*i0 + i1]\n    v1 = reduce.argmax v0\n  }\n  row 1 {\n    store y[0], "
        "v1\n  }\n}\n");
    float x[6] = {1, 5, 2, 5, 5, 0};
    int64_t y[1] = {-1};
    void *buffers[] = {x, y};
    REQUIRE(k != NULL);
    EXPECT_OK(dync__kernel_eval(k, buffers, 0, 0));
    EXPECT_EQ_INT(y[0], 1);
    x[4] = x[5] = NAN;
    EXPECT_OK(dync__kernel_eval(k, buffers, 0, 0));
    EXPECT_EQ_INT(y[0], 4);
    dync__arena_free(&arena);
}

TEST(a_long_sum_is_accurate)
{
    enum { N = 100000 };
    static float x[N];
    dync__arena arena = {0};
    dync__kernel *k = parse(
        &arena,
        "kernel f(in x f32[100000] @0, out y f32[1] @1) inner i0<100000 {\n  phase 0 {\n    v0 = "
        "load x[i0]\n"
        "    v1 = reduce.sum v0\n  }\n  row 1 {\n    store y[0], v1\n  }\n}\n");
    float y[1];
    void *buffers[] = {x, y};
    for (int i = 0; i < N; i++) x[i] = 0.1f;
    REQUIRE(k != NULL);
    EXPECT_OK(dync__kernel_eval(k, buffers, 0, 0));
    EXPECT_NEAR(y[0], (double)0.1f * N, (double)0.1f * N * TOL_F32_1ULP);
    x[7] = INFINITY;
    EXPECT_OK(dync__kernel_eval(k, buffers, 0, 0));
    EXPECT(isinf(y[0]));
    dync__arena_free(&arena);
}

/* Rows by number: held within the table where no bound says that they must be rows of it. */
TEST(rows_by_an_index)
{
    static const char *const text[] = {"", "  indices j[0, 3:1] < 3\n"};
    static const char body[] =
        "  phase 0 {\n    v0 = load j[i0]\n    v1 = loadx x[o0 - 2*row<3 + 4], v0\n"
        "    store y[3*o0 + i0], v1\n  }\n}\n";
    for (int with = 0; with < 2; with++) {
        dync__arena arena = {0};
        char all[500];
        snprintf(all, sizeof all,
                 "kernel f(in x f32[6] @0, in j i32[3] @1, out y f32[6] @2) outer o0<2 inner i0<3 "
                 "{\n%s%s",
                 text[with], body);
        dync__kernel *k = parse(&arena, all);
        float x[6] = {0, 1, 2, 3, 4, 5}, y[6] = {0}, want[6] = {4, 2, 0, 5, 3, 1};
        int32_t j[3] = {0, 1, 2};
        void *buffers[] = {x, j, y};
        REQUIRE(k != NULL);
        EXPECT_OK(dync__kernel_eval(k, buffers, 0, 0));
        for (int i = 0; i < 6; i++) EXPECT_NEAR(y[i], want[i], TOL_EXACT);
        j[0] = -9, j[2] = 5;
        EXPECT_STATUS(dync__kernel_eval(k, buffers, 0, 0), with ? DYNC_ERR_INDEX : DYNC_OK);
        dync_clear_error();
        for (int i = 0; i < 6; i++) EXPECT_NEAR(y[i], want[i], TOL_EXACT);
        dync__arena_free(&arena);
    }
}

TEST(gather_scatter_and_random)
{
    dync__arena arena = {0};
    dync__kernel *k = parse(
        &arena,
        "kernel f(in x f32[8] @0, in j i64[4] @1, out y f32[8] @2, out r f32[4] @3) inner i0<4 {\n"
        "  phase 0 {\n    v0 = load j[i0]\n    v1 = loadx x[2*i0], v0\n    storex y[0], v1, v0\n"
        "    v2 = index [i0 + 10]\n    v3 = random.f32.uniform v2\n    store r[i0], v3\n  }\n}\n");
    float x[8] = {0, 1, 2, 3, 4, 5, 6, 7}, y[8] = {0}, r[4];
    int64_t j[4] = {1, 0, 3, -6};
    void *buffers[] = {x, j, y, r};
    REQUIRE(k != NULL);
    EXPECT(k->uses_random);
    EXPECT_STATUS(dync__kernel_eval(k, buffers, 5, 100), DYNC_ERR_INDEX);
    dync_clear_error();
    j[3] = 1;
    EXPECT_OK(dync__kernel_eval(k, buffers, 5, 100));
    EXPECT_NEAR(y[0], 2.0, TOL_EXACT);
    EXPECT_NEAR(y[3], 7.0, TOL_EXACT);
    EXPECT_NEAR(y[1], 7.0, TOL_EXACT);
    for (int i = 0; i < 4; i++)
        EXPECT_NEAR(r[i], dync__rng_uniform_f32(5, (uint64_t)(110 + i)), TOL_EXACT);
    dync__arena_free(&arena);
}

/* What small programs for chips have instead of floor, ceil, trunc and rint. */
static double libm_of(int prim, double x)
{
    return prim == DYNC__P_floor   ? floor(x)
           : prim == DYNC__P_ceil  ? ceil(x)
           : prim == DYNC__P_trunc ? trunc(x)
                                   : rint(x);
}
static void whole(double x)
{
    for (int prim = DYNC__P_floor; prim <= DYNC__P_rint; prim++) {
        float f = (float)x, want = (float)libm_of(prim, f), got = dync__whole_bits32(prim, f);
        double wide = dync__whole_bits(prim, x), of_libm = libm_of(prim, x);
        bool same = memcmp(&wide, &of_libm, sizeof wide) == 0 || (wide != wide && x != x);
        if (!EXPECT(same)) printf("prim %d of %a: %a\n", prim, x, wide);
        same = memcmp(&got, &want, sizeof got) == 0 || (got != got && x != x);
        if (!EXPECT(same)) printf("prim %d of %af: %a\n", prim, (double)f, (double)got);
    }
}
TEST(whole_numbers_bit_by_bit)
{
    const double some[] = {0.0,
                           -0.0,
                           0.5,
                           1.5,
                           2.5,
                           0x1p23,
                           0x1p23 + 0.5,
                           0x1p52,
                           0x1p52 + 1,
                           INFINITY,
                           0x1p-1074,
                           0.49999999999999994,
                           0.99999999999999989,
                           0x1p22 + 0.5,
                           NAN};
    EXPECT_EQ_INT(DYNC__P_rint - DYNC__P_floor, 3);
    for (int i = 0; i < (int)(sizeof some / sizeof *some); i++) whole(some[i]), whole(-some[i]);
    for (int i = 0; i < 100000; i++) {
        double x = test_random_real(-1, 1) * ldexp(1, (int)test_random_int(-3, 55));
        whole(x);
        whole(floor(x) + 0.5);
        whole(floor(x));
    }
}

TEST_MAIN
