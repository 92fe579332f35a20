/* loop/loop.c, loop/simplify.c: sharing, folding and the loops; results never change by a bit. */
#include "../../src/dync.in.h"
#include "../../tools/ir/ir.h"
#include "../test.h"

/* Parses, runs a pass, prints, compares. */
static void expect_pass(void (*pass)(dync__kernel *), const char *before, const char *after)
{
    dync__arena arena = {0};
    dync__str out = {0};
    dync__kernel *k = dync__kernel_parse(&arena, before);
    EXPECT(k != NULL);
    if (k) {
        EXPECT_OK(dync__kernel_check(k));
        pass(k);
        EXPECT(!k->failed);
        EXPECT_OK(dync__kernel_check(k));
        dync__kernel_print(&out, k);
        EXPECT_EQ_STR(dync__str_get(&out), after);
    }
    dync__str_free(&out);
    dync__arena_free(&arena);
}

#define HEAD \
    "kernel f(in x f32[8] @0, out y f32[8] @1) inner i0<8 {\n  phase 0 {\n    v0 = load x[i0]\n"
#define TAIL "  }\n}\n"
static void expect_simplified(const char *body, const char *after)
{
    char before[1024], want[1024];
    snprintf(before, sizeof before, HEAD "%s" TAIL, body);
    snprintf(want, sizeof want, HEAD "%s" TAIL, after);
    expect_pass(dync__kernel_simplify, before, want);
}

TEST(identities_that_are_exact)
{
    const char *same = "    store y[i0], v0\n";
    expect_simplified(
        "    v1 = const.f32 1\n    v2 = mul v1, v0\n    v3 = div v2, v1\n    store y[i0], v3\n",
        same);
    expect_simplified("    v1 = const.f32 0\n    v2 = sub v0, v1\n    store y[i0], v2\n", same);
    expect_simplified("    v1 = const.f32 -0\n    v2 = add v0, v1\n    store y[i0], v2\n", same);
    expect_simplified("    v1 = neg v0\n    v2 = neg v1\n    store y[i0], v2\n", same);
    expect_simplified("    v1 = cast.f64 v0\n    v2 = cast.f32 v1\n    store y[i0], v2\n", same);
    expect_simplified(
        "    v1 = bitcast.i32 v0\n    v2 = const.i32 0\n    v3 = xor v1, v2\n    v4 = "
        "bitcast.f32 v3\n    store y[i0], v4\n",
        same);
    expect_simplified("    v1 = lt v0, v0\n    v2 = select v1, v0, v0\n    store y[i0], v2\n",
                      same);
    expect_simplified("    v1 = min v0, v0\n    store y[i0], v1\n", same);
}

TEST(identities_that_are_not)
{
    const char *plus_zero = "    v1 = const.f32 0\n    v2 = add v0, v1\n    store y[i0], v2\n";
    const char *times_zero = "    v1 = const.f32 0\n    v2 = mul v0, v1\n    store y[i0], v2\n";
    const char *minus_self = "    v1 = sub v0, v0\n    store y[i0], v1\n";
    const char *third = "    v1 = const.f32 3\n    v2 = div v0, v1\n    store y[i0], v2\n";
    expect_simplified(plus_zero, plus_zero);
    expect_simplified(times_zero, times_zero);
    expect_simplified(minus_self, minus_self);
    expect_simplified(third, third);
}

TEST(cheaper_forms)
{
    expect_simplified("    v1 = const.f32 4\n    v2 = div v0, v1\n    store y[i0], v2\n",
                      "    v1 = const.f32 0.25\n    v2 = mul v0, v1\n    store y[i0], v2\n");
    expect_simplified(
        "    v1 = neg v0\n    v2 = const.f32 2\n    v3 = add v2, v1\n    store y[i0], v3\n",
        "    v1 = const.f32 2\n    v2 = sub v1, v0\n    store y[i0], v2\n");
    expect_simplified(
        "    v1 = eq v0, v0\n    v2 = not v1\n    v3 = cast.f32 v2\n    store y[i0], v3\n",
        "    v1 = ne v0, v0\n    v2 = cast.f32 v1\n    store y[i0], v2\n");
    expect_simplified("    v1 = const.f32 -0\n    v2 = fma v0, v0, v1\n    store y[i0], v2\n",
                      "    v1 = mul v0, v0\n    store y[i0], v1\n");
}

/* What a loop counts fits 32 bits, or does not. */
static void expect_places(const char *body, const char *after)
{
    static const char head[] = "kernel f(out y f32[8] @0) inner i0<8 {\n  phase 0 {\n";
    char before[1024], want[1024];
    snprintf(before, sizeof before, "%s%s" TAIL, head, body);
    snprintf(want, sizeof want, "%s%s" TAIL, head, after);
    expect_pass(dync__kernel_simplify, before, want);
}
TEST(places_in_32_bits)
{
    const char *far = "    v0 = index [1000000000*i0]\n    v1 = const.i64 5\n"
                      "    v2 = le v0, v1\n    v3 = cast.f32 v2\n    store y[i0], v3\n";
    expect_places("    v0 = index [i0 + 3]\n    v1 = const.i64 5\n    v2 = le v0, v1\n"
                  "    v3 = cast.f32 v2\n    store y[i0], v3\n",
                  "    v0 = index [i0 + 3]\n    v1 = cast.i32 v0\n    v2 = const.i32 5\n"
                  "    v3 = le v1, v2\n    v4 = cast.f32 v3\n    store y[i0], v4\n");
    expect_places(far, far);
    expect_places("    v0 = index [-2*i0]\n    v1 = cast.f64 v0\n    v2 = const.f64 0\n"
                  "    v3 = add v1, v2\n    v4 = cast.f32 v3\n    store y[i0], v4\n",
                  "    v0 = index [-2*i0]\n    v1 = cast.i32 v0\n    v2 = cast.f32 v1\n"
                  "    store y[i0], v2\n");
}

TEST(constants_fold_and_dead_values_go)
{
    expect_simplified(
        "    v1 = const.f32 2\n    v2 = const.f32 3\n    v3 = add v1, v2\n    v4 = sqrt v0\n    "
        "v5 = mul v0, v3\n"
        "    store y[i0], v5\n",
        "    v1 = const.f32 5\n    v2 = mul v0, v1\n    store y[i0], v2\n");
    expect_simplified(
        "    v1 = mul v0, v0\n    v2 = mul v0, v0\n    v3 = add v1, v2\n    store y[i0], v3\n",
        "    v1 = mul v0, v0\n    v2 = add v1, v1\n    store y[i0], v2\n");
}

TEST(fma_folds_only_where_one_rounding_and_two_agree)
{
    expect_simplified(
        "    v1 = const.f32 2\n    v2 = const.f32 3\n    v3 = fma v1, v2, v2\n    v4 = mul v0, "
        "v3\n    store y[i0], v4\n",
        "    v1 = const.f32 9\n    v2 = mul v0, v1\n    store y[i0], v2\n");
    const char *inexact =
        "    v1 = const.f32 0.1\n    v2 = const.f32 -0.01\n    v3 = fma v1, v1, v2\n    v4 = mul "
        "v0, v3\n    store y[i0], v4\n";
    expect_simplified(inexact, inexact);
}

TEST(values_of_two_phases_become_one_but_loads_are_repeated)
{
    expect_pass(
        dync__kernel_simplify,
        "kernel f(in x f32[8] @0, out y f32[8] @1) inner i0<8 {\n"
        "  phase 0 {\n    v0 = load x[i0]\n    v1 = sqrt v0\n    v2 = reduce.sum v1\n  }\n"
        "  phase 1 {\n    v3 = load x[i0]\n    v4 = sqrt v3\n    v5 = div v4, v2\n    v6 = mul "
        "v5, v3\n    store y[i0], v6\n  }\n}\n",
        "kernel f(in x f32[8] @0, out y f32[8] @1) inner i0<8 {\n"
        "  phase 0 {\n    v0 = load x[i0]\n    v1 = sqrt v0\n    v2 = reduce.sum v1\n  }\n"
        "  phase 1 {\n    v3 = div v1, v2\n    v4 = load x[i0]\n    v5 = mul v3, v4\n    store "
        "y[i0], v5\n  }\n}\n");
}

TEST(a_load_is_not_shared_across_a_store)
{
    const char *text =
        "kernel f(inout x f32[8] @0) inner i0<4 {\n  phase 0 {\n    v0 = load x[i0]\n    v1 = "
        "neg v0\n    store x[i0], v1\n"
        "    v2 = load x[i0]\n    store x[i0 + 4], v2\n  }\n}\n";
    expect_pass(dync__kernel_simplify, text, text);
}

TEST(collapse_merges_what_all_accesses_allow)
{
    expect_pass(
        dync__kernel_collapse,
        "kernel f(in x f32[24] @0, out y f32[24] @1) outer o0<1, o1<2 inner i0<3, i1<1, i2<4 {\n "
        " phase 0 {\n"
        "    v0 = load x[12*o1 + 4*i0 + i2]\n    store y[12*o1 + 4*i0 + i2], v0\n  }\n}\n",
        "kernel f(in x f32[24] @0, out y f32[24] @1) outer o0<2 inner i0<12 {\n  phase 0 {\n"
        "    v0 = load x[12*o0 + i0]\n    store y[12*o0 + i0], v0\n  }\n}\n");
    const char *transposed =
        "kernel f(in x f32[12] @0, out y f32[12] @1) inner i0<3, i1<4 {\n  phase 0 {\n"
        "    v0 = load x[i0 + 3*i1]\n    store y[4*i0 + i1], v0\n  }\n}\n";
    expect_pass(dync__kernel_collapse, transposed, transposed);
    expect_pass(
        dync__kernel_collapse,
        "kernel f(in x f32[1] @0, out y f32[1] @1) outer o0<1 inner i0<1 {\n  phase 0 {\n    v0 "
        "= load x[o0 + i0]\n"
        "    store y[0], v0\n  }\n}\n",
        "kernel f(in x f32[1] @0, out y f32[1] @1) {\n  phase 0 {\n    v0 = load x[0]\n    store "
        "y[0], v0\n  }\n}\n");
}

/* ---- the builder ----------------------------------------------------------------------------- */

TEST(builder_shares_and_folds)
{
    dync__arena arena = {0};
    int64_t extent[] = {4}, stride[] = {1};
    dync__kernel *k = dync__kernel_new(&arena, "f", 0, 1, extent);
    dync__lb b = {k, 1, NULL, false};
    int access = dync__kernel_access(k, 0, stride);
    EXPECT_EQ_INT(dync__kernel_access(k, 0, stride), access);
    int x = dync__lb_load(&b, dync__kernel_buf(k, 0, DYNC_F16, DYNC__BUF_IN, 4, "x"), access);
    EXPECT_EQ_INT(dync__lb_type(&b, x), DYNC_F32);
    int two = dync__lb_f(&b, DYNC_F32, 2.0), sum = dync__lb_op(&b, DYNC__P_add, x, two, -1);
    EXPECT_EQ_INT(dync__lb_op(&b, DYNC__P_add, two, x, -1), sum);
    EXPECT_EQ_INT(dync__lb_op(&b, DYNC__P_mul, dync__lb_f(&b, DYNC_F32, 1.0), sum, -1), sum);
    EXPECT_EQ_INT(dync__lb_op(&b, DYNC__P_sub, two, two, -1), dync__lb_f(&b, DYNC_F32, 0.0));
    EXPECT(dync__lb_f(&b, DYNC_F32, 0.0) != dync__lb_f(&b, DYNC_F32, -0.0));
    EXPECT_EQ_INT(dync__lb_f(&b, DYNC_F32, (double)NAN), dync__lb_f(&b, DYNC_F32, -(double)NAN));
    EXPECT_EQ_INT(dync__lb_wrap(&b, x, DYNC_F16), x);
    EXPECT_EQ_INT(dync__lb_cast(&b, x, DYNC_F32), x);
    int total = dync__lb_reduce(&b, DYNC__R_SUM, sum);
    EXPECT_EQ_INT(dync__lb_reduce(&b, DYNC__R_SUM, sum), total);
    b.section = 2;
    EXPECT(dync__lb_f(&b, DYNC_F32, 2.0) != two); /* a phase's constant is not row code's */
    EXPECT(dync__lb_op(&b, DYNC__P_neg, total, -1, -1) >= 0);
    EXPECT_OK(dync__kernel_check(k));
    EXPECT_EQ_INT(dync__lb_op(&b, DYNC__P_neg, -1, -1, -1), -1);
    EXPECT(k->failed);
    EXPECT_EQ_INT(dync__lb_f(&b, DYNC_F32, 1.0), -1);
    dync_clear_error();
    dync__arena_free(&arena);
}

/* ---- random kernels: simplify, collapse and folding change no bit ---------------------------- */

enum { N = 12, MAX_INSTS = 60 };
static const int types[] = {DYNC_F32, DYNC_F64, DYNC_I32, DYNC_I64, DYNC_BOOL};

static int pick(const dync__kernel *k, int type, int section)
{
    int found = -1, seen = 0;
    for (int i = 0; i < k->inst.n; i++) {
        const dync__inst *in = &k->inst.at[i];
        bool usable = in->section == section
                          ? in->prim != DYNC__P_reduce
                          : !(in->section & 1) || in->prim == DYNC__P_reduce || (section & 1);
        if (dync__inst_has_value(in) && in->type == type && usable &&
            (int)(test_random() % (uint64_t)++seen) == 0)
            found = i;
    }
    return found;
}

static void add_constant(dync__lb *b, int type)
{
    static const double special[] = {0.0, -0.0,     1.0,       -1.0, 2.0,   0.5, 3.0,
                                     0.1, INFINITY, -INFINITY, NAN,  1e-40, 3e38};
    static const int64_t whole[] = {0, 1, -1, 2, 31, 63, 7, INT32_MAX, INT32_MIN};
    dync__inst in = dync__inst_make(DYNC__P_const_, type, -1, -1, -1);
    if (type == DYNC_F32 || type == DYNC_F64)
        in.imm.f = type == DYNC_F32 ? (double)(float)special[test_random_int(0, 12)]
                                    : special[test_random_int(0, 12)];
    else
        in.imm.i = type == DYNC_BOOL ? test_random_int(0, 1) : whole[test_random_int(0, 8)];
    dync__lb_share(b, &in, false);
}

/* A number of the loops, within 32 bits, at their border or beyond. */
static void add_index(dync__lb *b, int n_dims)
{
    int64_t stride[3] = {0}, offset = test_random_int(-9, 9);
    for (int d = 0; d < n_dims; d++) stride[d] = test_random_int(-4, 4);
    if (test_random() % 3 == 0) offset += test_random() % 2 ? INT32_MAX : INT32_MIN;
    if (test_random() % 8 == 0) stride[0] = (int64_t)1 << 40;
    dync__lb_index(b, dync__kernel_access(b->k, offset, stride));
}

/* One random pure instruction, pushed without folding. */
static void add_random(dync__lb *b)
{
    int prim = test_random_int(0, DYNC__N_PRIMS - 1), type = types[test_random_int(0, 4)],
        to = type;
    if (!dync__prim_is_pure(prim) || prim == DYNC__P_wrap) return;
    if (prim == DYNC__P_cast) to = types[test_random_int(0, 4)];
    /* not the other way: it would show which NaN a NaN is */
    if (prim == DYNC__P_bitcast) {
        if (type != DYNC_I32 && type != DYNC_I64) return;
        to = type == DYNC_I32 ? DYNC_F32 : DYNC_F64;
    }
    char letter = type == DYNC_F32   ? 'f'
                  : type == DYNC_F64 ? 'd'
                  : type == DYNC_I32 ? 'i'
                  : type == DYNC_I64 ? 'l'
                                     : 'b';
    if (!strchr(dync__prim_info(prim)->types, letter)) return;
    dync__inst in =
        dync__inst_make(prim, dync__prim_info(prim)->result == 'B' ? DYNC_BOOL : to, -1, -1, -1);
    for (int i = 0; i < dync__prim_info(prim)->n_args; i++) {
        in.arg[i] = pick(b->k, prim == DYNC__P_select && i == 0 ? DYNC_BOOL : type, b->section);
        if (in.arg[i] < 0) return;
    }
    dync__lb_share(b, &in, false);
}

static dync__kernel *random_kernel(dync__arena *arena, int *n_out)
{
    int64_t extent[] = {2, 3, 2}, stride[] = {6, 2, 1}, row[] = {1, 0, 0};
    dync__kernel *k = dync__kernel_new(arena, "f", 1, 3, extent);
    dync__lb b = {k, 0, NULL, false};
    int phases = test_random_int(1, 3), bufs = 5;
    for (int section = 0; section <= 2 * phases; section++) {
        int access = dync__kernel_access(k, 0, section & 1 ? stride : row);
        b.section = section;
        for (int t = 0; t < 5; t++) {
            if (section == 1 || test_random() % 4 == 0)
                dync__lb_load(&b, dync__kernel_buf(k, t, types[t], DYNC__BUF_IN, N, NULL), access);
            add_constant(&b, types[t]);
        }
        for (int i = test_random_int(0, 2); i > 0; i--) add_index(&b, section & 1 ? 3 : 1);
        for (int i = 0; i < MAX_INSTS / 2; i++) add_random(&b);
        for (int i = 0; i < 3; i++) {
            int v = pick(k, types[test_random_int(0, 4)], section);
            if (v < 0 || k->inst.at[v].section != section) continue;
            dync__lb_store(&b,
                           dync__kernel_buf(k, bufs++, k->inst.at[v].type, DYNC__BUF_OUT, N, NULL),
                           access, v);
        }
        int v = section & 1 ? pick(k, types[test_random_int(0, 3)], section) : -1;
        if (v >= 0 && k->inst.at[v].section == section)
            dync__lb_reduce(&b, test_random() % 2 ? DYNC__R_MAX : DYNC__R_ARGMIN, v);
    }
    *n_out = bufs;
    return k;
}

static bool same_value(int dtype, const char *a, const char *b)
{
    int bytes = dync__dtype_info(dtype)->bytes;
    if (dtype == DYNC_F32 || dtype == DYNC_F64) {
        double x = dync__load_f64(a, dtype), y = dync__load_f64(b, dtype);
        if (isnan(x) && isnan(y)) return true;
    }
    return memcmp(a, b, (size_t)bytes) == 0;
}

TEST(simplify_and_collapse_keep_every_bit)
{
    static char data[2][40][N * 8];
    for (int round = 0; round < 400; round++) {
        dync__arena arena = {0};
        int n = 0;
        dync__kernel *k = random_kernel(&arena, &n);
        void *buffers[2][40];
        REQUIRE(k->buf.n <= 40);
        REQUIRE_OK(dync__kernel_check(k));
        memset(data, 0, sizeof data);
        for (int i = 0; i < k->buf.n; i++) {
            buffers[0][i] = data[0][i];
            buffers[1][i] = data[1][i];
            for (int e = 0; e < N && k->buf.at[i].mode == DYNC__BUF_IN; e++) {
                char *p = data[0][i] + e * dync__dtype_info(k->buf.at[i].dtype)->bytes;
                if (k->buf.at[i].dtype == DYNC_F32 || k->buf.at[i].dtype == DYNC_F64)
                    dync__store_f64(p, k->buf.at[i].dtype,
                                    e == 3   ? -0.0
                                    : e == 5 ? (double)NAN
                                             : test_random_real(-3, 3));
                else
                    dync__store_i64(p, k->buf.at[i].dtype,
                                    k->buf.at[i].dtype == DYNC_BOOL ? e & 1
                                                                    : test_random_int(-5, 40));
            }
            memcpy(data[1][i], data[0][i], sizeof data[0][i]);
        }
        EXPECT_OK(dync__kernel_eval(k, buffers[0], 1, 0));
        int before = k->inst.n;
        dync__kernel_simplify(k);
        dync__kernel_collapse(k);
        int casts = 0; /* each in place of 64 bits, with a constant of its own */
        for (int i = 0; i < k->inst.n; i++)
            casts += k->inst.at[i].prim == DYNC__P_cast && k->inst.at[i].type == DYNC_I32;
        EXPECT(!k->failed && k->inst.n <= before + 2 * casts && k->n_dims <= 3);
        EXPECT_OK(dync__kernel_check(k));
        EXPECT_OK(dync__kernel_eval(k, buffers[1], 1, 0));
        for (int i = 0; i < k->buf.n; i++)
            for (int e = 0; e < N; e++) {
                int bytes = dync__dtype_info(k->buf.at[i].dtype)->bytes;
                EXPECT(
                    same_value(k->buf.at[i].dtype, data[0][i] + e * bytes, data[1][i] + e * bytes));
            }
        dync__arena_free(&arena);
    }
}

TEST(simplify_survives_running_out_of_memory)
{
    for (int nth = 1; nth < 60; nth++) {
        dync__arena arena = {0};
        dync__kernel *k = dync__kernel_parse(
            &arena, HEAD "    v1 = const.f32 1\n    v2 = mul v1, v0\n    store y[i0], v2\n" TAIL);
        REQUIRE(k != NULL);
        dync__mem_fail_at(nth);
        dync__kernel_simplify(k);
        dync__mem_fail_at(0);
        EXPECT(k->failed == (dync_error() == DYNC_ERR_MEMORY));
        dync_clear_error();
        dync__arena_free(&arena);
    }
}

TEST_MAIN
