/* Allocation failure at each allocation of functions of the matrix, drawn: the call and its
 * backward fail with DYNC_ERR_MEMORY or succeed, the next call of the same compiled function is as
 * plain, nothing leaks. */
#include "dync.in.h"
#include "base/base.h"
#include "matrix/matrix.h"
#include "matrix/inputs.h"
#include "matrix/compare.h"

static matrix_record want, got, ignored;

/* True once no allocation was left to fail. */
static bool fails_at(int64_t n, const matrix_function *f, const matrix_kind *kind,
                     const char *backend)
{
    dync_on_error(quiet, NULL);
    matrix_call(&want, f, kind, 1, NULL);
    dync_compiled *c =
        dync_compile_opt(dync_fnv(f->call), f->name, (dync_compile_options){.backend = backend});
    dync__mem_fail_at(n);
    matrix_call(&ignored, f, kind, 1, c);
    bool over = dync__tls.fail_at != 0;
    dync__mem_fail_at(0);
    /* one that clears the error of memory returns the NULL that came with it */
    bool clears = strcmp(f->name, "error_cleared_inside") == 0;
    if (!want.failed && !clears && !strstr(ignored.error, "MemoryError") && ignored.failed) {
        EXPECT(!"the failure is no error of memory");
        matrix_tell("error", f->name, kind->name, backend, &want, &ignored);
    }
    matrix_call(&got, f, kind, 1, c);
    const char *what = matrix_differs(&want, &got);
    if (what && !EXPECT(!"the call after it is wrong")) {
        printf("    allocation %lld\n", (long long)n);
        matrix_tell(what, f->name, kind->name, backend, &want, &got);
    }
    dync_compiled_free(c);
    dync_shutdown();
    dync_clear_error();
    if (!EXPECT(!dync__mem_in_use()))
        printf("    %s (%s), %s: allocation %lld left %lld bytes\n", f->name, kind->name, backend,
               (long long)n, (long long)dync__mem_read_stats().live_bytes);
    return over;
}
TEST(drawn)
{
    const char *const backends[] = {"inductor", "aot_eager", "eager"};
    for (int i = 0; i < test_count(10); i++) {
        const matrix_function *f = matrix_at(test_random_int(0, matrix.n - 1));
        const matrix_kind *kind = &matrix_kinds[test_random_int(0, MATRIX_KINDS - 1)];
        const char *backend = backends[test_random_int(0, 2)];
        if (matrix_is_refused(f->name, true)) continue;
        int64_t n = 1;
        while (!fails_at(n, f, kind, backend) && !test__state.failures)
            n += 1 + (n > 40 ? n / 12 : 0);
        printf("  %s (%s), %s: up to allocation %lld\n", f->name, kind->name, backend,
               (long long)n);
    }
}
TEST_MAIN
