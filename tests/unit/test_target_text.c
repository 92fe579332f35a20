/* codegen/gen_*.c over targets that are no machine: their code is text (text_target.h), a checker
 * executes it (text_checker.h), the oracle of loop IR says what is right. So the generator asks of
 * a target what target.h says and nothing more, for vectors of 16 and of 64 bytes, with masks in
 * registers and without. */
#include "../../src/dync.in.h"
#include "../../src/codegen/interp_tile.h"
#include "../../src/codegen/jit.h"
#include "../../tools/ir/ir.h"
#include "codegen_random.h"
#include "guarded.h"
#define TEST_AFTER_EACH (dync_shutdown(), dync_clear_error(), dync_on_error(NULL, NULL))
#if DYNC__JIT
#include "text_checker.h"

/* ---- what was covered ------------------------------------------------------------------------ */
enum {
    DENSE,
    STRIDED,
    BACKWARDS,
    GATHERED,
    ROWS_REDUCED,
    COLUMNS_REDUCED,
    CONVERTED,
    STORED_BOOL,
    OF_F32,
    OF_F64,
    OF_I32,
    OF_I64,
    OF_BOOL,
    FEATURES
};
static const char *const feature_names[] = {
    "dense",     "strided",     "backwards", "gathered", "rows reduced", "columns reduced",
    "converted", "BOOL stored", "f32",       "f64",      "i32",          "i64",
    "bool"};
static int covered[FEATURES], n_run, n_declined;
static struct {
    const char *why;
    int n;
} reasons[32]; /* of kernels without code */

static void count_declined(const char *why)
{
    int r = 0;
    while (r < 31 && reasons[r].why && strcmp(reasons[r].why, why) != 0) r++;
    reasons[r].why = why;
    reasons[r].n++;
    n_declined++;
}
static int declined_for(const char *why)
{
    for (int r = 0; r < 32; r++)
        if (reasons[r].why && strcmp(reasons[r].why, why) == 0) return reasons[r].n;
    return 0;
}

static void count_covered(const dync__kernel *k, const dync__jit *jit)
{
    int seen[FEATURES] = {0};
    for (int i = 0; i < k->inst.n; i++) {
        const dync__inst *in = &k->inst.at[i];
        bool memory = in->prim == DYNC__P_load || in->prim == DYNC__P_store;
        int64_t step = memory && k->n_dims ? k->access.at[in->access].stride[k->n_dims - 1] : 0;
        seen[DENSE] |= step == 1;
        seen[STRIDED] |= step > 1;
        seen[BACKWARDS] |= step < 0;
        seen[GATHERED] |= in->prim == DYNC__P_loadx;
        seen[jit->vertical ? COLUMNS_REDUCED : ROWS_REDUCED] |= in->prim == DYNC__P_reduce;
        seen[CONVERTED] |= in->prim == DYNC__P_cast;
        seen[STORED_BOOL] |= in->prim == DYNC__P_store && k->buf.at[in->buf].dtype == DYNC_BOOL;
        if (memory || in->prim == DYNC__P_const_) continue;
        seen[OF_F32] |= in->type == DYNC_F32;
        seen[OF_F64] |= in->type == DYNC_F64;
        seen[OF_I32] |= in->type == DYNC_I32;
        seen[OF_I64] |= in->type == DYNC_I64;
        seen[OF_BOOL] |= in->type == DYNC_BOOL;
    }
    for (int f = 0; f < FEATURES; f++) covered[f] += seen[f];
}

/* ---- one kernel ------------------------------------------------------------------------------ */
static bool compare(const dync__kernel *k, void *const *got, void *const *wanted,
                    const int64_t *elements)
{
    for (int i = 0; i < k->buf.n; i++)
        for (int64_t e = 0; e < elements[i]; e++)
            if (!same(got[i], wanted[i], k->buf.at[i].dtype, e)) {
                int bytes = dync__dtype_info(k->buf.at[i].dtype)->bytes;
                printf("  buffer %d element %lld: got %.9g, oracle %.9g\n", i, (long long)e,
                       dync__load_f64((char *)got[i] + e * bytes, k->buf.at[i].dtype),
                       dync__load_f64((char *)wanted[i] + e * bytes, k->buf.at[i].dtype));
                return false;
            }
    return true;
}

/* Runs k by the text target and by the oracle; true as well where there is no code. */
static bool agree(const dync__kernel *k, const int64_t *elements, int wild, int isa)
{
    guarded own[2][MAX_BUFS];
    void *data[2][MAX_BUFS];
    int64_t complaints = text_complaints;
    dync__code *code = dync__code_new_for(k, DYNC__MIN(isa, dync__target_level()), true);
    bool ok = EXPECT(code != NULL);
    if (ok && code->jit) {
        for (int i = 0; i < k->buf.n; i++) {
            size_t bytes = (size_t)elements[i] * dync__dtype_info(k->buf.at[i].dtype)->bytes;
            for (int w = 0; w < 2; w++) data[w][i] = (own[w][i] = guarded_new(bytes)).data;
            fill(data[0][i], k->buf.at[i].dtype, elements[i], wild);
            memcpy(data[1][i], data[0][i], bytes);
        }
        ok = EXPECT_OK(dync__code_run(code, data[0], 7, 100)) &&
             EXPECT_OK(dync__kernel_eval(k, data[1], 7, 100)) &&
             compare(k, data[0], data[1], elements) && text_complaints == complaints;
        count_covered(k, code->jit);
        n_run++;
        for (int i = 0; i < k->buf.n; i++)
            for (int w = 0; w < 2; w++) guarded_free(own[w][i]);
    } else if (ok && !code->empty) {
        const char *why = dync__jit_read_stats().why;
        count_declined(why ? why : "no memory");
    }
    if (!ok) {
        dync__str text = {0};
        dync__kernel_print(&text, k);
        printf("%s", dync__str_get(&text));
        if (text_programs && test__state.verbose) printf("%s", text_programs->text);
        dync__str_free(&text);
    }
    dync__code_free(code);
    return ok;
}

static void begin(const dync__target *t)
{
    dync_shutdown(); /* code made for another target is not used again */
    dync__target_pretend(t);
    dync__pool_set_threads(1);
    n_run = n_declined = 0;
    text_complaints = 0;
    memset(covered, 0, sizeof covered);
    memset(reasons, 0, sizeof reasons);
    memset(text_executed, 0, sizeof text_executed);
}

static void end(void)
{
    random_short = random_draws = false;
    EXPECT_EQ_INT(text_complaints, 0);
    dync__target_pretend(NULL);
    dync_shutdown();
    text_free();
}

static void report(const dync__target *t)
{
    int verbs = 0;
    if (!test__state.verbose) return;
    printf("  %s: %d kernels executed, %d declined; ", t->name, n_run, n_declined);
    for (int f = 0; f < FEATURES; f++) printf("%s %d, ", feature_names[f], covered[f]);
    for (int v = 0; v < DYNC__N_VERBS; v++) verbs += text_executed[v] > 0;
    printf("%d of %d verbs; not", verbs, DYNC__N_VERBS);
    for (int v = 0; v < DYNC__N_VERBS; v++)
        if (!text_executed[v]) printf(" %s", text_names[v]);
    printf("\n");
    for (int r = 0; r < 32 && reasons[r].why; r++)
        printf("    %d without code: %s\n", reasons[r].n, reasons[r].why);
}

/* ---- random kernels -------------------------------------------------------------------------- */
static void random_kernels(const dync__target *t, int isa)
{
    int n = test_count(300);
    begin(t);
    for (int i = 0; i < n; i++) {
        random_kernel g;
        random_short = i % 4 == 3; /* rows side by side */
        random_draws = i % 3 == 1;
        random_build(&g, i % 2);
        bool ok = !g.stored || g.k->failed ||
                  agree(g.k, g.elements, test_random() % 2 ? (i % 2 ? 1 : 2) : 0, isa);
        dync__arena_free(&g.arena);
        if (!EXPECT(ok)) {
            printf("  kernel number %d\n", i);
            break;
        }
    }
    report(t);
    EXPECT(n_run > n / 2);
    for (int f = 0; f < FEATURES && n >= 300; f++)
        if (f != COLUMNS_REDUCED && !EXPECT(covered[f] >= 5))
            printf("  too few: %s\n", feature_names[f]);
    EXPECT(text_executed[DYNC__A_TAIL] > 0);
    EXPECT(declined_for("no code") == 0 && declined_for("no memory") == 0);
    if (n >= 300 && t->vector_bytes < 32) EXPECT(declined_for(text_no_scan) > 0);
    end();
}

/* ---- every reduction of every type, along rows and across them, with tails ------------------- */
static bool reduced(int dtype, int kind, int64_t rows, int64_t length, bool across, int isa)
{
    dync__arena arena = {0};
    int64_t extent[2] = {rows, length}, step[2] = {across ? 1 : length, across ? rows : 1},
            row[2] = {1, 0}, elements[2] = {rows * length, rows};
    dync__kernel *k = dync__kernel_new(&arena, "reduced", 1, 2, extent);
    dync__lb b = {.k = k, .section = 1};
    int x = dync__lb_load(&b, dync__kernel_buf(k, 0, dtype, DYNC__BUF_IN, elements[0], "x"),
                          dync__kernel_access(k, 0, step));
    x = dync__lb_reduce(&b, kind, x);
    b.section = 2;
    int result = kind >= DYNC__R_ARGMAX ? DYNC_I64 : dtype;
    dync__lb_store(&b, dync__kernel_buf(k, 1, result, DYNC__BUF_OUT, rows, "y"),
                   dync__kernel_access(k, 0, row), x);
    bool ok = !k->failed && EXPECT_OK(dync__kernel_check(k)) &&
              agree(k, elements, kind >= DYNC__R_MAX, isa);
    dync__arena_free(&arena);
    return ok;
}

static void reductions(const dync__target *t, int isa)
{
    static const int dtypes[] = {DYNC_F32, DYNC_F64, DYNC_I32, DYNC_I64, DYNC_BOOL};
    static const int64_t sizes[][2] = {{5, 3},    {37, 40},  {3, 333}, {70, 13},
                                       {21, 300}, {3, 1100}, {1, 2690}};
    begin(t);
    for (int d = 0; d < 5; d++)
        for (int kind = DYNC__R_SUM; kind <= DYNC__R_ARGMIN; kind++)
            for (int s = 0; s < 14; s++) {
                bool logic = kind == DYNC__R_ANY || kind == DYNC__R_ALL;
                if (logic != (dtypes[d] == DYNC_BOOL) || (kind == DYNC__R_PROD && s > 1)) continue;
                const int64_t *size = sizes[s / 2];
                if (!EXPECT(reduced(dtypes[d], kind, size[0], size[1], s % 2, isa))) goto done;
            }
done:
    report(t);
    EXPECT(n_declined <= n_run / 10);
    EXPECT(covered[ROWS_REDUCED] >= 100 && covered[COLUMNS_REDUCED] >= 50);
    end();
}

/* ---- what is taken seldom, numbers at random, more values than registers --------------------- */
static int spilled(dync__lb *b, int x, int type)
{
    int value[50], most = -1;
    for (int v = 0; v < 50; v++) {
        int by = dync__lb_f(b, type, v % 7 - 2.5);
        value[v] = dync__lb_op(b, v % 3 ? DYNC__P_mul : DYNC__P_add, v ? value[v - 1] : x, by, -1);
        value[v] = dync__lb_op(b, DYNC__P_max, value[v], x, -1);
    }
    for (int v = 0; v < 50; v++)
        most = most < 0 ? value[v] : dync__lb_op(b, DYNC__P_sub, value[v], most, -1);
    return most;
}

static bool expression(int which, int type, int64_t n, int isa)
{
    dync__arena arena = {0};
    int64_t step = 1, elements[2] = {n, n};
    dync__kernel *k = dync__kernel_new(&arena, "expression", 0, 1, &n);
    dync__lb b = {.k = k, .section = 1};
    int at = dync__kernel_access(k, 0, &step);
    int x = dync__lb_load(&b, dync__kernel_buf(k, 0, type, DYNC__BUF_IN, n, "x"), at);
    int y = which == 0   ? dync__vm_sin(&b, x)
            : which == 1 ? dync__vm_tan(&b, x)
            : which == 2 ? dync__vm_exp(&b, x)
            : which == 3 ? dync__lb_random(&b, dync__lb_index(&b, at), type, false)
            : which == 4 ? dync__lb_random(&b, dync__lb_index(&b, at), type, true)
                         : spilled(&b, x, type);
    dync__lb_store(&b, dync__kernel_buf(k, 1, type, DYNC__BUF_OUT, n, "y"), at, y);
    bool ok = !k->failed && EXPECT_OK(dync__kernel_check(k)) && agree(k, elements, 2, isa);
    dync__arena_free(&arena);
    return ok;
}

static void expressions(const dync__target *t, int isa)
{
    static const int64_t sizes[] = {1, 7, 64, 203};
    begin(t);
    for (int which = 0; which < 6; which++)
        for (int s = 0; s < 8; s++)
            if (!EXPECT(expression(which, s % 2 ? DYNC_F64 : DYNC_F32, sizes[s / 2], isa))) {
                printf("  expression %d\n", which);
                goto done;
            }
done:
    report(t);
    EXPECT_EQ_INT(n_declined, 0);
    EXPECT(text_executed[DYNC__A_MASK_JUMP] > 0);
    end();
}

TEST(expressions_16_bytes) { expressions(&text128, 1); }
TEST(expressions_64_bytes) { expressions(&text512, 2); }
TEST(reductions_16_bytes) { reductions(&text128, 1); }
TEST(reductions_64_bytes) { reductions(&text512, 2); }
TEST(vectors_of_16_bytes) { random_kernels(&text128, 1); }
TEST(vectors_of_64_bytes) { random_kernels(&text512, 2); }
#else
TEST(no_jit_here) { EXPECT(true); }
#endif
TEST_MAIN
