/* Every function of the matrix with every kind of inputs, compiled, beside its plain call: results,
 * structure, strides, flags, identity, shared memory, inputs written, gradients (compare.h). The
 * quick part draws kinds and backends for each function; TEST_LONG runs all of them. */
#include "dync.h"
#define TEST_AFTER_EACH dync_shutdown()
#include "matrix/matrix.h"
#include "matrix/inputs.h"
#include "matrix/compare.h"

static matrix_record want, got;
static int64_t compared, failed_alike;

/* Some errors differ on purpose: compiled says what it cannot do, or does what plain refuses. */
static bool differs_on_purpose(void)
{
    if (want.failed == BACKWARD_FAILED && strstr(want.error, "modified by an inplace")) return true;
    return strstr(got.error, "double backward") || strstr(got.error, "a file cannot hold");
}
static bool agree(const matrix_function *f, const matrix_kind *kind, int seed, dync_compiled *c,
                  const char *way)
{
    matrix_call(&want, f, kind, seed, NULL);
    if (matrix_is_refused(f->name, strstr(want.text, " grad") != NULL)) return true;
    matrix_call(&got, f, kind, seed, c);
    compared++;
    failed_alike += want.failed && got.failed;
    const char *what = matrix_differs(&want, &got);
    if (!what || (want.failed != got.failed && differs_on_purpose())) return true;
    if (!test__fail(__FILE__, __LINE__, f->name)) return false;
    matrix_tell(what, f->name, kind->name, way, &want, &got);
    return false;
}

/* The same inputs twice, then others. */
static void cell(const matrix_function *f, const matrix_kind *kind, const char *backend,
                 dync_dynamic dynamic)
{
    dync_compiled *c = dync_compile_opt(
        dync_fnv(f->call), f->name, (dync_compile_options){.backend = backend, .dynamic = dynamic});
    for (int call = 0; call < 3; call++)
        if (!agree(f, kind, call == 2 ? 3 : 1, c, backend)) break;
    dync_compiled_free(c);
}
static void finished(void)
{
    printf("  %d functions, %d kinds: %lld calls compared, %lld fail plainly and compiled\n",
           matrix.n, (int)MATRIX_KINDS, (long long)compared, (long long)failed_alike);
    for (int i = 0; i < MATRIX_REFUSED; i++)
        printf("  left out: %s%s: %s\n", matrix_refused[i].function,
               matrix_refused[i].with_grad ? ", with gradients" : "", matrix_refused[i].reason);
}

static const char *const backends[] = {"inductor", "aot_eager", "eager", "aot_ts", "ts"};
enum { BACKENDS = sizeof backends / sizeof *backends };

TEST(drawn)
{
    dync_on_error(quiet, NULL);
    for (int i = 0; i < matrix.n; i++) {
        const matrix_function *f = matrix_at(i);
        for (int k = 0; k < test_count(3) && !matrix_is_refused(f->name, false); k++)
            cell(f, &matrix_kinds[test_random_int(0, MATRIX_KINDS - 1)],
                 backends[test_random_int(0, BACKENDS - 1)], (dync_dynamic)test_random_int(0, 2));
        if (i % 16 == 15) dync_reset();
    }
    finished();
}

static void whole(const char *backend, dync_dynamic dynamic)
{
    dync_on_error(quiet, NULL);
    for (int i = 0; i < matrix.n; i += test_every()) {
        const matrix_function *f = matrix_at(i);
        for (int k = 0; k < MATRIX_KINDS && !matrix_is_refused(f->name, false); k++)
            cell(f, &matrix_kinds[k], backend, dynamic);
        dync_reset();
    }
    finished();
}
TEST_LONG(inductor) { whole("inductor", DYNC_DYNAMIC_AUTO); }
TEST_LONG(inductor_symbolic) { whole("inductor", DYNC_DYNAMIC_ON); }
TEST_LONG(aot_eager) { whole("aot_eager", DYNC_DYNAMIC_AUTO); }
TEST_LONG(aot_eager_symbolic) { whole("aot_eager", DYNC_DYNAMIC_ON); }
TEST_LONG(eager) { whole("eager", DYNC_DYNAMIC_AUTO); }
TEST_LONG(eager_symbolic) { whole("eager", DYNC_DYNAMIC_ON); }
TEST_LONG(aot_ts) { whole("aot_ts", DYNC_DYNAMIC_AUTO); }

/* One compiled function called with several kinds in turn, under few and many entries. */
static void in_turn(const matrix_function *f)
{
    const char *backend = backends[test_random_int(0, BACKENDS - 1)];
    dync_compiled *c =
        dync_compile_opt(dync_fnv(f->call), f->name,
                         (dync_compile_options){.backend = backend,
                                                .dynamic = (dync_dynamic)test_random_int(0, 2),
                                                .recompile_limit = test_random_int(0, 2) ? 64 : 2,
                                                .double_backward = test_random_int(0, 1)});
    int kinds[6], n = test_random_int(1, 6);
    for (int i = 0; i < n; i++) kinds[i] = test_random_int(0, MATRIX_KINDS - 1);
    for (int call = 0; call < 12; call++) {
        if (test_random_int(0, 23) == 0) dync_reset();
        const matrix_kind *kind = &matrix_kinds[kinds[test_random_int(0, n - 1)]];
        if (!agree(f, kind, test_random_int(1, 3), c, backend)) break;
    }
    dync_compiled_free(c);
}
TEST(turns)
{
    dync_on_error(quiet, NULL);
    for (int i = 0; i < test_count(100); i++) {
        const matrix_function *f = matrix_at(test_random_int(0, matrix.n - 1));
        if (!matrix_is_refused(f->name, false)) in_turn(f);
        if (i % 8 == 7) dync_reset();
    }
    finished();
}
TEST_MAIN
