/* Threads that call the same compiled functions of the matrix, each with inputs of its own, beside
 * the plain call. */
#include "dync.h"
#define TEST_AFTER_EACH dync_shutdown()
#include "matrix/matrix.h"
#include "matrix/inputs.h"
#include "matrix/compare.h"
#include <pthread.h>

enum { THREADS = 4, SHARED = 24 };
static const matrix_function *function[SHARED];
static dync_compiled *compiled[SHARED];
static int32_t wrong;
static int calls;

static const matrix_reason alone[] = {
    {"error_cleared_inside", "clears an error that belongs to the caller", false},
    {"returns_early_or_item", "writes a saved result: plain refuses the backward", false},
    {"written_after_item", "writes a saved result: plain refuses the backward", false},
    {"random_after_seed", "seeds the generator that all threads draw from", false},
    {"random_around_break", "draws from the generator that all threads share", false},
};

static void *work(void *p)
{
    uint64_t state = *(const uint64_t *)p;
    matrix_record *want = malloc(sizeof *want), *got = malloc(sizeof *got);
    for (int i = 0; i < calls && want && got; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        int of = (int)((state >> 33) % SHARED);
        state = state * 6364136223846793005u + 1442695040888963407u;
        const matrix_kind *kind = &matrix_kinds[(state >> 33) % MATRIX_KINDS];
        matrix_call(want, function[of], kind, 1, NULL);
        matrix_call(got, function[of], kind, 1, compiled[of]);
        const char *what = matrix_differs(want, got);
        if (!what) continue;
        __atomic_add_fetch(&wrong, 1, __ATOMIC_RELAXED);
        matrix_tell(what, function[of]->name, kind->name, "threads", want, got);
    }
    free(want);
    free(got);
    return NULL;
}
static void choose(void)
{
    const char *const backends[] = {"inductor", "aot_eager", "eager"};
    for (int i = 0; i < SHARED;) {
        const matrix_function *f = matrix_at(test_random_int(0, matrix.n - 1));
        if (matrix_is_refused(f->name, true) ||
            matrix_reason_of(alone, (int)(sizeof alone / sizeof *alone), f->name))
            continue;
        function[i] = f;
        compiled[i++] =
            dync_compile_opt(dync_fnv(f->call), f->name,
                             (dync_compile_options){.backend = backends[test_random_int(0, 2)],
                                                    .double_backward = true,
                                                    .recompile_limit = 64});
    }
}
TEST(shared)
{
    pthread_t thread[THREADS];
    uint64_t seed[THREADS];
    dync_on_error(quiet, NULL);
    calls = test_count(60);
    choose();
    for (int i = 0; i < THREADS; i++) {
        seed[i] = test_random();
        pthread_create(&thread[i], NULL, work, &seed[i]);
    }
    for (int i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
    for (int i = 0; i < SHARED; i++) dync_compiled_free(compiled[i]);
    EXPECT_EQ_INT(wrong, 0);
}
TEST_MAIN
