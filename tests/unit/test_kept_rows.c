/* tests/unit/test_kept_rows.c: loops over rows whose addresses stand in registers, at every level,
 * beside plain loops: sums of one to twelve terms (dense, along rows or columns alone, transposed,
 * rows of tables by one index or two, of 32 or 64 bits), over one to three loops of rows, of short
 * and long rows, of several dtypes; once, and twice with a user between that has another form: the
 * row less its greatest, rows of the sum by an index. Values are small integers: results are
 * exact. */
#include "../../src/dync.in.h"
#include "../../src/codegen/jit.h"
#define TEST_AFTER_EACH                                                                          \
    (dync_config_set("threads", "1"), dync__cpu_pretend(0), dync_shutdown(), dync_clear_error(), \
     dync_on_error(NULL, NULL))
#include "../test.h"

enum { DENSE, ALONG, ACROSS, TRANSPOSED, TABLE, TABLE_AGAIN, OTHER_TABLE, KINDS };
enum { TERMS = 12, TABLE_ROWS = 23, INDICES = 3 };
enum { ALONE, LESS_GREATEST, ROWS_OF_IT, USERS };
static struct {
    int n, kind[TERMS], dtype, index_dtype, user;
    int64_t outer, rows, lanes;
} now;

/* inputs: two indices of tables' rows, one of rows of the sum, then a tensor for each term */
static dync_tensor *sum_of(const dync_value *v, double first)
{
    dync_tensor *sum = NULL;
    for (int t = 0; t < now.n; t++) {
        dync_tensor *x = dync_as_tensor(v[INDICES + t]);
        if (now.kind[t] == TRANSPOSED) x = dync_transpose(x, -1, -2);
        if (now.kind[t] >= TABLE)
            x = dync_index_select(x, 0, dync_as_tensor(v[now.kind[t] == OTHER_TABLE]));
        sum = sum ? dync_add(sum, x) : dync_mul(x, first);
    }
    return sum;
}
static dync_value sums(const dync_value *v, int n, void *user)
{
    dync_tensor *sum = sum_of(v, 2);
    (void)n, (void)user;
    if (now.user == ALONE) return DYNC_V(sum);
    dync_tensor *of = now.user == LESS_GREATEST
                          ? dync_sub(sum, dync_amax(sum, dync_shape(-1), true))
                          : dync_index_select(sum, -2, dync_as_tensor(v[2]));
    return DYNC_V(dync_add(of, sum_of(v, 3)));
}

static dync_dims shape_of(int kind)
{
    if (kind == ALONG) return dync_shape(now.lanes);
    if (kind == ACROSS) return dync_shape(now.outer, now.rows, 1);
    if (kind == TRANSPOSED) return dync_shape(now.outer, now.lanes, now.rows);
    if (kind >= TABLE) return dync_shape(TABLE_ROWS, now.lanes);
    return dync_shape(now.outer, now.rows, now.lanes);
}

/* Integers from low to high of a dtype. */
static dync_tensor *drawn(dync_dims shape, int dtype, int low, int high)
{
    dync_tensor *x = dync_empty(shape);
    for (int64_t i = 0; i < dync_numel(x); i++)
        ((float *)dync_data(x))[i] = (float)test_random_int(low, high);
    return dync_to_dtype(x, (dync_dtype)dtype);
}

static double element(dync_tensor *x, int64_t i)
{
    switch (dync_type(x)) {
    case DYNC_F64: return ((const double *)dync_data(x))[i];
    case DYNC_I32: return ((const int32_t *)dync_data(x))[i];
    case DYNC_I64: return (double)((const int64_t *)dync_data(x))[i];
    default: return (double)((const float *)dync_data(x))[i];
    }
}

static double summed(dync_tensor *const *in, double first, int64_t o, int64_t r, int64_t l)
{
    double sum = 0;
    for (int t = 0; t < now.n; t++) {
        int kind = now.kind[t];
        int64_t row = o * now.rows + r, at = 0;
        if (kind == ALONG) at = l;
        if (kind == ACROSS) at = row;
        if (kind == DENSE) at = row * now.lanes + l;
        if (kind == TRANSPOSED) at = (o * now.lanes + l) * now.rows + r;
        if (kind >= TABLE) at = (int64_t)element(in[kind == OTHER_TABLE], r) * now.lanes + l;
        sum += (t ? 1 : first) * element(in[INDICES + t], at);
    }
    return sum;
}
/* most: of the row, by the first sum */
static double wanted(dync_tensor *const *in, double most, int64_t o, int64_t r, int64_t l)
{
    double sum = summed(in, 2, o, r, l);
    if (now.user == ALONE) return sum;
    if (now.user == ROWS_OF_IT) sum = summed(in, 2, o, (int64_t)element(in[2], r), l);
    return sum - (now.user == LESS_GREATEST ? most : 0) + summed(in, 3, o, r, l);
}

static void check(int level)
{
    DYNC_SCOPE {
        dync_value v[INDICES + TERMS];
        dync_tensor *plain[INDICES + TERMS];
        int wide = now.dtype == DYNC_I32 || now.dtype == DYNC_F64 ? now.dtype : DYNC_F32;
        for (int i = 0; i < INDICES + now.n; i++) {
            plain[i] = i < INDICES ? drawn(dync_shape(now.rows), DYNC_I64, 0,
                                           i < 2 ? TABLE_ROWS - 1 : (int)now.rows - 1)
                                   : drawn(shape_of(now.kind[i - INDICES]), wide, -5, 5);
            int dtype = i < INDICES ? now.index_dtype : now.dtype;
            v[i] = DYNC_V(dync_to_dtype(plain[i], (dync_dtype)dtype));
        }
        dync_compiled *f = dync_compile(sums, .dynamic = DYNC_DYNAMIC_OFF, .fullgraph = true);
        dync_tensor *y = dync_as_tensor(dync_call_values(f, INDICES + now.n, v));
        int64_t wrong = 0, from = dync_ndim(y) - 1;
        if (!EXPECT(y != NULL)) return;
        dync_tensor *got = dync_contiguous(dync_to_dtype(y, (dync_dtype)wide));
        int64_t lines = dync_numel(got) / now.lanes;
        EXPECT_EQ_INT(dync_size(got, (int)from), now.lanes);
        for (int64_t k = 0; k < lines; k++) {
            int64_t o = lines > now.rows ? k / now.rows : 0, r = lines > 1 ? k % now.rows : 0;
            double most = summed(plain, 2, o, r, 0);
            for (int64_t l = 1; l < now.lanes; l++) most = fmax(most, summed(plain, 2, o, r, l));
            for (int64_t l = 0; l < now.lanes; l++)
                wrong += element(got, k * now.lanes + l) != wanted(plain, most, o, r, l);
        }
        if (!EXPECT_EQ_INT(wrong, 0)) {
            printf("    level %d, user %d, dtype %d, %d x %d x %d:", level, now.user, now.dtype,
                   (int)now.outer, (int)now.rows, (int)now.lanes);
            for (int t = 0; t < now.n; t++) printf(" %d", now.kind[t]);
            printf("\n");
        }
        dync_compiled_free(f);
    }
}

static const unsigned levels[] = {
    0, /* the interpreter */
    DYNC__CPU_AVX2 | DYNC__CPU_FMA | DYNC__CPU_F16C,
    DYNC__CPU_AVX2 | DYNC__CPU_FMA | DYNC__CPU_F16C | DYNC__CPU_AVX512,
};
static const int dtypes[] = {DYNC_F32, DYNC_F32, DYNC_F64, DYNC_I32, DYNC_F16, DYNC_BF16};

static void draw(int i, int terms)
{
    static const int outer[] = {1, 1, 2, 3};
    now.n = test_random_int(1, terms);
    for (int t = 0; t < now.n; t++) now.kind[t] = test_random_int(0, KINDS - 1);
    now.kind[test_random_int(0, now.n - 1)] = test_random() % 2 ? DENSE : TABLE;
    now.user = test_random_int(0, USERS - 1);
    if (now.user == ROWS_OF_IT) now.kind[0] = DENSE; /* so that the sum has all rows */
    now.dtype = dtypes[i % DYNC__COUNT_OF(dtypes)];
    now.index_dtype = test_random() % 3 ? DYNC_I64 : DYNC_I32;
    now.outer = outer[test_random() % 4];
    now.rows = test_random_int(1, 40);
    now.lanes = test_random() % 3 ? test_random_int(1, 70) : test_random_int(70, 400);
}

static void at_every_level(int count, int terms)
{
    for (int l = 0; l < DYNC__COUNT_OF(levels); l++, dync__cpu_pretend(0)) {
        if ((dync__cpu_features() & levels[l]) != levels[l]) continue;
        dync_shutdown();
        dync__cpu_pretend(levels[l] | DYNC__CPU_KNOWN);
        for (int i = 0; i < test_count(count); i++) {
            draw(i, terms);
            dync_config_set("threads", (const char *[]){"1", "2", "3"}[i % 3]);
            check(l);
        }
    }
}

TEST(sums_of_a_few_terms) { at_every_level(300, 4); }
TEST(sums_of_more_terms_than_registers) { at_every_level(150, TERMS); }
TEST_MAIN
