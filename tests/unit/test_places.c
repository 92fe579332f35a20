/* tests/unit/test_places.c: argmax and argmin along each dim, at every level, beside plain loops:
 * with equals, NaN and infinities, of several dtypes, alone, behind arithmetic and beside values
 * and sums of the same pass; small ones, and columns so many that some rows are taken at a time. */
#include "../../src/dync.in.h"
#include "../../src/codegen/jit.h"
#define TEST_AFTER_EACH                                                                          \
    (dync_config_set("threads", "1"), dync__cpu_pretend(0), dync_shutdown(), dync_clear_error(), \
     dync_on_error(NULL, NULL))
#include "../test.h"

enum { PLAIN, NEGATED, WITH_VALUE, WITH_SUM, BOTH, KINDS };
static struct {
    int kind, dim;
    bool least;
} now;

static dync_tensor *place(dync_tensor *x)
{
    return now.least ? dync_argmin(x, now.dim, false) : dync_argmax(x, now.dim, false);
}
static dync_value places(const dync_value *v, int n, void *user)
{
    dync_tensor *x = dync_as_tensor(v[0]);
    dync_dims dim = dync_shape(now.dim);
    (void)n, (void)user;
    switch (now.kind) {
    case NEGATED: return dync_tuple(DYNC_V(place(dync_mul(x, -1))));
    case WITH_VALUE:
        return now.least ? dync_min_dim(x, now.dim, false) : dync_max_dim(x, now.dim, false);
    case WITH_SUM: return dync_tuple(DYNC_V(place(x)), DYNC_V(dync_sum(x, dim, false)));
    case BOTH:
        return dync_tuple(DYNC_V(dync_argmax(x, now.dim, false)),
                          DYNC_V(dync_argmin(dync_add(x, 1), now.dim, false)));
    default: return dync_tuple(DYNC_V(place(x)));
    }
}

/* [rows, columns], -40 to 40, so that there are equals; of floats a few NaN and infinities. A copy
 * of the values in `plain`. */
static dync_tensor *drawn(int dtype, int64_t rows, int64_t columns, double *plain)
{
    dync_tensor *x = dync_empty(dync_shape(rows, columns));
    bool real = dync__gen_type_float(dtype), odd = real && test_random() % 2;
    for (int64_t i = 0; i < rows * columns; i++) {
        uint64_t r = test_random() >> 16;
        plain[i] = odd && r % 4096 == 1   ? (double)NAN
                   : odd && r % 4096 == 2 ? (r >> 12 & 1 ? HUGE_VAL : -HUGE_VAL)
                                          : (double)(int64_t)((r >> 13) % 81) - 40;
        ((float *)dync_data(x))[i] = (float)plain[i];
    }
    return dync_to_dtype(x, (dync_dtype)dtype);
}

/* The place along a line of n elements that lie `step` apart: the first NaN, else the first of
 * the greatest; sign -1: of the least. */
static int64_t wanted(const double *x, int64_t n, int64_t step, double sign)
{
    int64_t best = 0;
    for (int64_t i = 0; i < n; i++) {
        double e = x[i * step], b = x[best * step];
        if (e != e) return i;
        if (sign * e > sign * b) best = i;
    }
    return best;
}

static bool agrees(dync_value list, int which, const double *plain, int64_t rows, int64_t columns,
                   double sign)
{
    dync_tensor *got = dync_as_tensor(dync_at(list, which));
    int64_t lines = now.dim ? rows : columns, n = now.dim ? columns : rows,
            step = now.dim ? 1 : columns;
    if (!got || dync_numel(got) != lines || dync_type(got) != DYNC_I64) return false;
    const int64_t *place_at = dync_data(got);
    for (int64_t k = 0; k < lines; k++) {
        const double *line = plain + (now.dim ? k * columns : k);
        if (place_at[k] != wanted(line, n, step, sign)) return false;
    }
    return true;
}

static void check(int level, int dtype, int64_t rows, int64_t columns)
{
    double *plain = malloc((size_t)(rows * columns) * sizeof *plain);
    double sign = now.least != (now.kind == NEGATED) ? -1 : 1;
    DYNC_SCOPE {
        dync_compiled *f = dync_compile(places, .dynamic = DYNC_DYNAMIC_OFF);
        dync_value x = DYNC_V(drawn(dtype, rows, columns, plain)), y = dync_call_values(f, 1, &x);
        bool same = now.kind == BOTH
                        ? agrees(y, 0, plain, rows, columns, 1) &&
                              agrees(y, 1, plain, rows, columns, -1)
                        : agrees(y, now.kind == WITH_VALUE, plain, rows, columns, sign);
        if (!EXPECT(same))
            printf("    level %d, dtype %d, kind %d, dim %d, least %d, %d x %d\n", level, dtype,
                   now.kind, now.dim, now.least, (int)rows, (int)columns);
        dync_compiled_free(f);
    }
    free(plain);
}

static const unsigned levels[] = {
    0, /* the interpreter */
    DYNC__CPU_AVX2 | DYNC__CPU_FMA | DYNC__CPU_F16C,
    DYNC__CPU_AVX2 | DYNC__CPU_FMA | DYNC__CPU_F16C | DYNC__CPU_AVX512,
};
static const int dtypes[] = {DYNC_F32, DYNC_F64, DYNC_I32, DYNC_I64, DYNC_F16, DYNC_BF16, DYNC_I8};

static bool at_level(int l)
{
    if ((dync__cpu_features() & levels[l]) != levels[l]) return false;
    dync_shutdown();
    dync__cpu_pretend(levels[l] | DYNC__CPU_KNOWN);
    return true;
}

static void draw_kind(void)
{
    now.kind = test_random_int(0, KINDS - 1), now.least = test_random() % 2;
}

TEST(places_of_small_ones)
{
    for (int l = 0; l < DYNC__COUNT_OF(levels); l++, dync__cpu_pretend(0)) {
        if (!at_level(l)) continue;
        for (int i = 0; i < test_count(300); i++) {
            draw_kind();
            now.dim = test_random() % 2;
            check(l, dtypes[i % DYNC__COUNT_OF(dtypes)], test_random_int(1, 90),
                  test_random_int(1, 300));
        }
    }
}

TEST(places_of_many_columns)
{
    for (int l = 0; l < DYNC__COUNT_OF(levels); l++, dync__cpu_pretend(0)) {
        if (!at_level(l)) continue;
        for (int i = 0; i < test_count(12); i++) {
            int64_t columns = test_random_int(512, 4200);
            draw_kind();
            now.dim = 0;
            dync_config_set("threads", (const char *[]){"1", "2", "3"}[i % 3]);
            check(l, dtypes[i % DYNC__COUNT_OF(dtypes)],
                  DYNC__TALL_PLACES / columns + test_random_int(1, 40), columns);
        }
    }
}
TEST_MAIN
