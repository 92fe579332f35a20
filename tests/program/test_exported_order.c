/* Exported C of what orders elements or places them by an index: sort, argsort, topk, scatter,
 * scatter_add, index_add, cumsum, beside what this library computes (their self-tests). Random
 * shapes, dims and dtypes; many equal elements, NaN. What has no C form is named with its
 * line. */
#define TEST_AFTER_EACH dync_shutdown()
#include "dync.h"
#include "test.h"
#include "exported.h"

static int op, dim, k, flag;
static int64_t shape[3];
static dync_dtype dtype;

static int below(int n) { return (int)(test_random() % (uint64_t)n); }

/* ---- random operators ------------------------------------------------------------------------ */

enum { SORT, ARGSORT, TOPK, SCATTER, SCATTER_ADD, INDEX_ADD, CUMSUM, OPS };

static dync_value op_fn(const dync_value *a, int n, void *user)
{
    dync_tensor *x = dync_as_tensor(a[0]), *index = dync_as_tensor(a[1]),
                *source = dync_as_tensor(a[2]);
    (void)n, (void)user;
    switch (op) {
    case SORT: return dync_sort(x, dim, flag);
    case ARGSORT: return DYNC_V(dync_argsort(x, dim, flag));
    case TOPK: return dync_topk(x, k, dim, flag, true);
    case SCATTER: return DYNC_V(dync_scatter(x, dim, index, source));
    case SCATTER_ADD: return DYNC_V(dync_scatter_add(x, dim, index, source));
    case INDEX_ADD: return DYNC_V(dync_index_add(x, dim, index, source));
    default: return DYNC_V(dync_cumsum(x, dim));
    }
}

static dync_tensor *places(dync_dims dims, int64_t n)
{
    return dync_to_dtype(dync_floor(dync_mul(dync_rand(dims), (double)n)), DYNC_I64);
}

/* few different ones; floats: a NaN now and then where elements are ordered */
static dync_tensor *numbers(dync_dims dims)
{
    dync_tensor *x = dync_sub(places(dims, 7), 3);
    if (dtype != DYNC_F32 && dtype != DYNC_F64) return dync_to_dtype(x, dtype);
    x = dync_div(dync_to_dtype(x, dtype), 4);
    return op <= TOPK && below(2) ? dync_sqrt(dync_add(x, 0.5)) : x;
}

static void choose(dync_value *a)
{
    static const dync_dtype dtypes[] = {DYNC_F32, DYNC_F64, DYNC_I64, DYNC_I32, DYNC_I8};
    dtype = dtypes[below(5)];
    for (int d = 0; d < 3; d++) shape[d] = 1 + below(6);
    dim = below(3);
    if (below(3) == 0) shape[dim] = 30 + below(40);
    k = 1 + below((int)shape[dim]);
    flag = below(2);
    dync_dims all = dync_shape(shape[0], shape[1], shape[2]), part = all;
    part.d[dim] = 1 + below(8);
    a[0] = DYNC_V(numbers(all));
    a[1] = DYNC_V(places(op == INDEX_ADD ? dync_shape(part.d[dim]) : part, shape[dim]));
    a[2] = DYNC_V(numbers(part));
}

/* ---- their C --------------------------------------------------------------------------------- */

/* C files of `count` operators, one after the other, run with their self-tests. */
static void check(int count, const char *flags)
{
    char name[32], command[512];
    open_folder("order");
    FILE *f = open_file("main.c", "w");
    if (!EXPECT(f != NULL)) return;
    for (int i = 0; i < count; i++) fprintf(f, "int op%d_self_test(void);\n", i);
    fprintf(f, "int main(void)\n{\n    int bad = 0;\n");
    for (int i = 0; i < count; i++) fprintf(f, "    bad |= op%d_self_test() ? %d : 0;\n", i, i + 1);
    fprintf(f, "    return bad;\n}\n");
    fclose(f);
    bool ok = true;
    for (int i = 0; i < count; i++) DYNC_SCOPE {
        dync_value a[3];
        op = i % OPS;
        choose(a);
        snprintf(name, sizeof name, "op%d", i);
        dync_program *p = dync_export_values(DYNC_FN(op_fn), name, 3, a);
        ok = save(p, name) && ok;
        dync_program_free(p);
    }
    snprintf(command, sizeof command,
             "for i in $(seq 0 %d); do $cc %s -DOP${i}_SELF_TEST -c op$i.c || exit 1; done && $cc "
             "%s main.c op*.o -lm -o run && ./run",
             count - 1, flags, flags);
    if (EXPECT(in_folder(command)) && ok) close_folder();
}

static const char checked[] = "-std=c99 -O1 -fsanitize=address,undefined -fno-sanitize-recover=all";

TEST(each_operator) { check(OPS, checked); }
TEST_LONG(many_operators)
{
    check(test_share(20) * OPS, checked);
    check(test_share(5) * OPS, "-std=c11 -O3");
}

/* ---- what is written in place ---------------------------------------------------------------- */
/* Rows of a cache that the caller has: the C writes the rows and nothing else. */
enum { LAYERS = 3, ROWS = 64, WIDE = 8 };
static dync_value writes_rows(const dync_value *a, int n, void *user)
{
    dync_tensor *cache = a[0].as.t, *at = a[1].as.t, *row = a[2].as.t;
    (void)n, (void)user;
    for (int l = 0; l < LAYERS; l++)
        dync_scatter_(dync_select(cache, 0, l), 0, at, dync_mul(row, l + 1));
    dync_scatter_add_(dync_transpose(dync_select(cache, 0, 1), 0, 1), 1, dync_transpose(at, 0, 1),
                      dync_transpose(row, 0, 1));
    return DYNC_V(dync_sum(row, DYNC_ALL, false));
}
TEST(rows_are_written_in_place)
{
    dync_value a[3] = {DYNC_V(dync_randn(dync_shape(LAYERS, ROWS, WIDE))),
                       DYNC_V(places(dync_shape(1, WIDE), ROWS)),
                       DYNC_V(dync_randn(dync_shape(1, WIDE)))};
    open_folder("in_place");
    dync_program *p = dync_export_values(DYNC_FN(writes_rows), "rows", 3, a);
    if (EXPECT(save(p, "rows")) && EXPECT(compile_and_run("-DROWS_MAIN -std=c99 -O1", "out")) &&
        EXPECT(in_folder("grep -q '(void)b;' rows.c && ! grep -q '] = b\\[' rows.c")))
        close_folder();
    dync_program_free(p);
}

/* ---- what has no C form ---------------------------------------------------------------------- */

static int line_of_sort;
static dync_value halves(const dync_value *a, int n, void *user)
{
    (void)n, (void)user;
    line_of_sort = __LINE__ + 1;
    return dync_sort(dync_to_dtype(a[0].as.t, DYNC_F16), 0, false);
}

TEST(operator_and_line_are_named)
{
    char path[256], want[128];
    const char *dir = getenv("TMPDIR");
    snprintf(path, sizeof path, "%s/dync_order_%d.c", dir ? dir : "/tmp",
             (int)(test_random() % 100000000));
    dync_value x = DYNC_V(dync_rand(dync_shape(4)));
    dync_program *p = dync_export_values(DYNC_FN(halves), "halves", 1, &x);
    REQUIRE(p != NULL);
    EXPECT_EQ_INT(dync_program_save_c(p, path), DYNC_ERR_UNSUPPORTED);
    snprintf(want, sizeof want, "C source: sort at %s:%d has no form for half precision", __FILE__,
             line_of_sort);
    EXPECT(strstr(dync_error_message(), want) != NULL);
    dync_clear_error();
    dync_program_free(p);
}
TEST_MAIN
