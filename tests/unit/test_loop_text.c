/* loop/text.c, loop/check.c: print and parse are inverse; nothing malformed gets through. */
#include "../../src/dync.in.h"
#include "../../tools/ir/ir.h"
#include "../test.h"

static const char softmax_text[] =
    "kernel softmax(in x f32[64000] @0, out y f32[64000] @1) outer o0<64 inner i0<1000 {\n"
    "  phase 0 {\n"
    "    v0 = load x[1000*o0 + i0]\n"
    "    v1 = reduce.max v0  ; amax\n"
    "  }\n"
    "  phase 1 {\n"
    "    v2 = sub v0, v1\n"
    "    v3 = reduce.sum v2\n"
    "  }\n"
    "  row 2 {\n"
    "    v4 = const.f32 1\n"
    "    v5 = div v4, v3\n"
    "  }\n"
    "  phase 2 {\n"
    "    v6 = mul v2, v5\n"
    "    store y[1000*o0 + i0], v6\n"
    "  }\n"
    "}\n";

static const char mixed_text[] =
    "kernel mixed.1(inout a f32[?] @-1, in b1 bf16[12] @4, out y i8[24] @7, none z b8[0] @9) "
    "outer o0<2, o1<3 inner i0<4 {\n"
    "  row 0 {\n"
    "    v0 = const.f64 -0\n"
    "    v1 = const.f64 1e-300\n"
    "    v2 = const.f32 nan\n"
    "    v3 = const.f32 -inf\n"
    "    v4 = const.i64 -9223372036854775808\n"
    "    v5 = const.b8 1\n"
    "    v6 = index [-12*o0 + 4*o1 - 9223372036854775808]\n"
    "    v7 = index [0]\n"
    "  }\n"
    "  phase 0 {\n"
    "    v8 = load b1[4*o1 + i0]\n"
    "    v9 = random.f32.normal v6\n"
    "    v10 = fma v8, v9, v2\n"
    "    v11 = cast.i32 v10\n"
    "    v12 = wrap.i8 v11\n"
    "    v13 = bitcast.f32 v12\n"
    "    v14 = lt v13, v3\n"
    "    v15 = select.cold v14, v8, v13\n"
    "    v16 = loadx a[-o0 + 7], v7\n"
    "    v17 = reduce.argmax v15\n"
    "    store y[12*o0 + 4*o1 + i0], v12\n"
    "    storex a[0], v16, v6\n"
    "  }\n"
    "}\n";

/* What picks rows by an index that must be one of them. */
static const char *rows_text =
    "kernel picked(in j i64[8] @0, in n i32[6] @1, in w f32[700] @2, out y f32[96] @3) outer o0<6 "
    "inner i0<16 {\n"
    "  indices j[1, 2:3, 3:1] < 40  ; embedding\n"
    "  indices n[5, 6:-1] < 7\n"
    "  row 0 {\n"
    "    v0 = load j[o0 + 1]  ; embedding\n"
    "    v1 = load n[o0]\n"
    "  }\n"
    "  phase 0 {\n"
    "    v2 = loadx w[i0 + 16*row<40], v0  ; embedding\n"
    "    v3 = loadx w[-i0 - row<7 + 22], v1\n"
    "    v4 = loadx w[row<40], v0\n"
    "    v5 = loadx w[0*row<7 + 3], v1\n"
    "    v6 = fma v2, v3, v4\n"
    "    v7 = add v6, v5\n"
    "    store y[16*o0 + i0], v7\n"
    "  }\n"
    "}\n";

static void expect_round_trip(const char *text)
{
    dync__arena arena = {0};
    dync__str out = {0};
    dync__kernel *k = dync__kernel_parse(&arena, text);
    EXPECT(k != NULL);
    if (k) dync__kernel_print(&out, k);
    EXPECT_EQ_STR(dync__str_get(&out), text);
    dync__str_free(&out);
    dync__arena_free(&arena);
}

TEST(print_of_parse_is_the_text)
{
    expect_round_trip(softmax_text);
    expect_round_trip(mixed_text);
    expect_round_trip(rows_text);
    expect_round_trip("kernel empty() {\n}\n");
    expect_round_trip(
        "kernel rows(in b0 f64[5] @0, in b1 f64[5] @1) outer o0<5 {\n  row 0 {\n    v0 = load "
        "b0[o0]\n  }\n}\n");
}

TEST(names_that_clash_or_are_no_names_become_numbers)
{
    dync__arena arena = {0};
    int64_t extent[] = {4}, stride[] = {1};
    dync__str out = {0};
    dync__kernel *k = dync__kernel_new(&arena, "a b", 0, 1, extent);
    int x = dync__kernel_buf(k, 0, DYNC_F32, DYNC__BUF_IN, 4, "L['x']"),
        y = dync__kernel_buf(k, 1, DYNC_F32, DYNC__BUF_OUT, 4, "t");
    dync__kernel_buf(k, 2, DYNC_F32, DYNC__BUF_IN, 4, "t");
    EXPECT_EQ_INT(dync__kernel_buf(k, 0, DYNC_F32, DYNC__BUF_OUT, 4, "again"), x);
    dync__lb b = {k, 1, NULL, false};
    dync__lb_store(&b, y, dync__kernel_access(k, 0, stride),
                   dync__lb_load(&b, x, dync__kernel_access(k, 0, stride)));
    dync__kernel_print(&out, k);
    EXPECT_EQ_STR(
        dync__str_get(&out),
        "kernel kernel(inout b0 f32[4] @0, out t f32[4] @1, in b2 f32[4] @2) inner i0<4 {\n"
        "  phase 0 {\n    v0 = load b0[i0]\n    store t[i0], v0\n  }\n}\n");
    expect_round_trip(dync__str_get(&out));
    dync__str_free(&out);
    dync__arena_free(&arena);
}

static void expect_parse_error(const char *text, const char *part)
{
    dync__arena arena = {0};
    dync_clear_error();
    EXPECT(dync__kernel_parse(&arena, text) == NULL);
    EXPECT_STATUS(dync_error(), DYNC_ERR_FORMAT);
    EXPECT_HAS_STR(dync_error_message(), part);
    dync_clear_error();
    dync__arena_free(&arena);
}

TEST(malformed_text_is_refused_with_its_line)
{
    expect_parse_error("", "line 1");
    expect_parse_error("kernel f(in x f32[4] @0) inner i0<4 {\n  phase 0 {\n    v0 = load y[i0]\n",
                       "line 3: expected a buffer");
    expect_parse_error("kernel f(in x f32[4] @0) inner i0<4 {\n  phase 0 {\n    v0 = load x[i1]\n",
                       "a loop of this kernel");
    expect_parse_error("kernel f() inner i1<4 {\n}\n", "loops numbered in order");
    expect_parse_error("kernel f(in x f99[4] @0) {\n}\n", "a dtype");
    expect_parse_error("kernel f(in x f32[4] @0, in y f32[4] @0) {\n}\n", "each slot once");
    expect_parse_error("kernel f() {\n  phase 0 {\n    v0 = neg v0\n  }\n}\n",
                       "a value defined before");
    expect_parse_error("kernel f() {\n  phase 0 {\n    v0 = frob\n  }\n}\n", "a primitive");
    expect_parse_error("kernel f() {\n  phase 0 {\n  }\n  row 0 {\n  }\n}\n", "sections in order");
    expect_parse_error("kernel f() {\n  row 0 {\n    v0 = const.i32 2147483648\n  }\n}\n",
                       "fits its type");
    expect_parse_error("kernel f() {\n  row 0 {\n    v0 = const.i64 99999999999999999999\n  }\n}\n",
                       "64 bits");
    expect_parse_error("kernel f() {\n  row 0 {\n    const.i64 1\n  }\n}\n", "v<number> =");
    expect_parse_error("kernel f() {\n}\nx", "nothing after");
    expect_parse_error("kernel f() {", "row, phase or }");
}

/* Every prefix, and every text with one character replaced, either parses or is refused; none
 * crashes. */
TEST(damaged_text_never_crashes)
{
    const char *texts[] = {softmax_text, mixed_text};
    char copy[2048];
    for (int t = 0; t < 2; t++) {
        size_t n = strlen(texts[t]);
        for (size_t i = 0; i < 3 * n; i++) {
            dync__arena arena = {0};
            memcpy(copy, texts[t], n + 1);
            if (i < n)
                copy[i] = 0;
            else
                copy[(size_t)test_random() % n] = (char)(32 + test_random() % 95);
            dync__kernel *k = dync__kernel_parse(&arena, copy);
            if (k) dync__kernel_check(k);
            dync_clear_error();
            dync__arena_free(&arena);
        }
    }
}

TEST(running_out_of_memory_is_survived)
{
    for (int nth = 1;; nth++) {
        dync__arena arena = {0};
        dync__mem_fail_at(nth);
        dync__kernel *k = dync__kernel_parse(&arena, mixed_text);
        dync__mem_fail_at(0);
        dync_status status = dync_error();
        dync_clear_error();
        dync__arena_free(&arena);
        if (k) break;
        EXPECT_STATUS(status, DYNC_ERR_MEMORY);
        REQUIRE(nth < 100);
    }
}

/* ---- check ----------------------------------------------------------------------------------- */

static void expect_fault(const char *head, const char *body, const char *part)
{
    dync__arena arena = {0};
    dync__str text = {0};
    dync__str_addf(&text, "kernel f(%s {\n%s}\n", head, body);
    dync__kernel *k = dync__kernel_parse(&arena, dync__str_get(&text));
    EXPECT(k != NULL);
    if (k && part) {
        EXPECT_STATUS(dync__kernel_check(k), DYNC_ERR_INTERNAL);
        EXPECT_HAS_STR(dync_error_message(), part);
        dync_clear_error();
    } else if (k) {
        EXPECT_OK(dync__kernel_check(k));
    }
    dync__str_free(&text);
    dync__arena_free(&arena);
}

TEST(check_accepts_good_kernels)
{
    expect_fault("in x f32[8] @0, out y f32[8] @1) inner i0<8",
                 "  phase 0 {\n v0 = load x[-i0 + 7]\n store y[i0], v0\n }\n", NULL);
    expect_fault("in x f32[0] @0) inner i0<0", "  phase 0 {\n v0 = load x[i0 + 5]\n }\n", NULL);
    expect_fault("in x f32[?] @0) inner i0<9", "  phase 0 {\n v0 = load x[i0 + 500]\n }\n", NULL);
    /* no index stores at all: the strides of what is empty are 0 */
    expect_fault("out y f32[?] @0) inner i0<2, i1<0",
                 "  phase 0 {\n v0 = const.f32 1\n store y[i1], v0\n }\n", NULL);
}

TEST(check_finds_faults)
{
    const char *xy = "in x f32[8] @0, out y f32[8] @1) outer o0<2 inner i0<4";
    expect_fault(xy, " phase 0 {\n v0 = load x[4*o0 + i0 + 1]\n }\n", "leaves its buffer");
    expect_fault(xy, " phase 0 {\n v0 = load x[4*o0 - i0]\n }\n", "leaves its buffer");
    expect_fault(xy,
                 " phase 0 {\n v0 = load x[9223372036854775807*o0 + 4611686018427387904*i0]\n }\n",
                 "overflows");
    expect_fault(xy, " phase 0 {\n v0 = load y[i0]\n }\n", "no input");
    expect_fault(xy, " phase 0 {\n v0 = load x[i0]\n store x[4*o0 + i0], v0\n }\n", "no output");
    expect_fault(xy, " phase 0 {\n v0 = load x[i0]\n store y[i0], v0\n }\n", "one element");
    expect_fault(xy, " row 0 {\n v0 = load x[i0]\n }\n", "varies along an inner loop");
    expect_fault(xy, " phase 0 {\n v0 = load x[i0]\n }\n row 1 {\n v1 = neg v0\n }\n",
                 "row code uses a value of a phase");
    expect_fault(xy, " phase 0 {\n v0 = load x[i0]\n v1 = reduce.sum v0\n v2 = add v0, v1\n }\n",
                 "own phase");
    expect_fault(xy, " row 0 {\n v0 = const.f32 1\n v1 = reduce.sum v0\n }\n", "stands in a phase");
    expect_fault(xy, " phase 0 {\n v0 = load x[i0]\n v1 = reduce.any v0\n }\n",
                 "any and all take BOOL");
    expect_fault(xy, " row 0 {\n v0 = const.f32 1\n v1 = const.f64 1\n v2 = add v0, v1\n }\n",
                 "different types");
    expect_fault(xy, " row 0 {\n v0 = const.i32 1\n v1 = sqrt v0\n }\n", "not allowed");
    expect_fault(xy, " row 0 {\n v0 = const.f32 1\n v1 = bitcast.i64 v0\n }\n",
                 "bitcast goes between");
    expect_fault(xy, " row 0 {\n v0 = const.f32 1\n v1 = wrap.i8 v0\n }\n", "wrong storage dtype");
    expect_fault(xy, " row 0 {\n v0 = const.f32 1\n v1 = random.f32.uniform v0\n }\n",
                 "expected an I64 number");
    expect_fault(xy, " row 0 {\n v0 = const.f32 1\n v1 = select v0, v0, v0\n }\n", "expected BOOL");
    expect_fault(xy, " row 0 {\n v0 = const.i32 1\n v1 = loadx x[0], v0\n }\n", "index is I64");
    expect_fault(xy, " phase 0 {\n v0 = const.f64 1\n store y[4*o0 + i0], v0\n }\n",
                 "not of the buffer's compute type");
    expect_fault(xy, " row 0 {\n v0 = const.f32 1\n v1 = loadx x[row<2], v0\n }\n", "index is I64");
    expect_fault(xy, " phase 0 {\n v0 = load x[i0 + 4*row<2]\n }\n", "rows of no gather");
    expect_fault(xy, " row 0 {\n v0 = const.i64 1\n v1 = loadx x[4*row<2000], v0\n }\n",
                 "leaves its buffer");
    expect_fault(xy, " indices x[0, 2:1] < 3\n", "indices are integers");
}

TEST_MAIN
