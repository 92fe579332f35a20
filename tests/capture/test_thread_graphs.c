/* One graph for all threads: each compiles it at once with each backend, runs it, and a program
 * that none has run before compiles itself in all of them. Results are compared with the plain
 * function; that compiling reads the graph and writes nothing in it is for the thread sanitizer. */
#define _POSIX_C_SOURCE 200809L
#define TEST_AFTER_EACH dync_shutdown()
#include "counter.h"
#include <pthread.h>
#include <unistd.h>

enum { THREADS = 4, ROWS = 8, COLUMNS = 16 };

static dync_tensor *pointwise(dync_tensor *x, dync_tensor *y)
{
    return dync_tanh(dync_add(dync_mul(x, y), 1));
}
static dync_tensor *attention(dync_tensor *x, dync_tensor *y)
{
    dync_tensor *scores = dync_mul(dync_matmul(x, dync_transpose(y, 0, 1)), 0.25);
    return dync_matmul(dync_softmax(scores, -1), y);
}
static dync_tensor *writes_its_own(dync_tensor *x, dync_tensor *y)
{
    dync_tensor *z = dync_mul(x, 1);
    dync_add_(z, y);
    return dync_sum(dync_mul_(z, z), dync_shape(0), false);
}
static dync_tensor *writes_a_view(dync_tensor *x, dync_tensor *y)
{
    dync_tensor *z = dync_clone(x);
    dync_copy_(dync_select(z, 0, 0), dync_select(y, 0, 1));
    return z;
}
static dync_tensor *many_results(dync_tensor *x, dync_tensor *y)
{
    return dync_as_tensor(dync_at(dync_sort(dync_add(x, y), 1, false), 0));
}
static dync_tensor *then_fn(dync_tensor *x) { return dync_mul(x, 2); }
static dync_tensor *else_fn(dync_tensor *x) { return dync_sub(x, 1); }
static dync_tensor *chooses(dync_tensor *x, dync_tensor *y)
{
    dync_tensor *pred = dync_gt(dync_sum(y, DYNC_ALL, false), 0);
    return dync_as_tensor(dync_cond(pred, then_fn, else_fn, x));
}
static dync_tensor *reads_sizes(dync_tensor *x, dync_tensor *y)
{
    return dync_div(dync_matmul(x, dync_transpose(y, 0, 1)), dync_dim(x, 0));
}

/* Weights of its own: packed for the code that all threads run. */
static dync_tensor *filters;
static dync_tensor *convolved(dync_tensor *x, dync_tensor *y)
{
    dync_tensor *image = dync_reshape(dync_add(x, y), dync_shape(1, 2, 8, 8));
    return dync_relu(
        dync_conv2d(image, filters, NULL, dync_shape(1, 1), dync_shape(1, 1), dync_shape(1, 1), 1));
}

typedef dync_tensor *(*binary)(dync_tensor *, dync_tensor *);
static dync_tensor *x, *y, *want;
static dync_graph *graph;
static dync_program *program, *other;
static pthread_barrier_t start;
static int32_t wrong;

static void expect_at(bool good, const char *backend)
{
    if (good && dync_error() == DYNC_OK) return;
    __atomic_add_fetch(&wrong, 1, __ATOMIC_RELAXED);
    printf("  %s: %s\n", backend, dync_error_message());
    dync_clear_error();
}

/* A file of one program, while others write theirs and compile its graph. */
static void save_other(int thread)
{
    char path[64];
    snprintf(path, sizeof path, "build/dync_thread_graphs_%d_%d", (int)getpid(), thread);
    expect_at(dync_program_save(other, path) == DYNC_OK, "save");
    remove(path);
}

static void *compile_all(void *arg)
{
    static const char *const backends[] = {"eager", "aot_eager", "inductor", "aot_ts"};
    int thread = (int)(intptr_t)arg;
    DYNC_SCOPE {
        dync_value in[] = {DYNC_V(x), DYNC_V(y)};
        for (size_t i = 0; i < sizeof backends / sizeof *backends; i++) {
            dync_callable code = {0};
            pthread_barrier_wait(&start);
            bool made = dync_compile_graph(backends[i], graph, in, 2, &code) == DYNC_OK;
            dync_value got = made ? code.run(code.state, in, 2) : DYNC_NONE;
            expect_at(made && same(dync_as_tensor(got), want, 1e-4), backends[i]);
            if (code.destroy) code.destroy(code.state);
        }
        pthread_barrier_wait(&start);
        save_other(thread);
        for (int i = 0; i < 4; i++) {
            dync_value got = dync_program_run(program, 2, in);
            expect_at(same(dync_as_tensor(got), want, 1e-4), "program");
        }
    }
    return NULL;
}

/* A graph of one result stands for it; the exported one has it in no list either. */
static void together(binary fn, bool sized)
{
    pthread_t thread[THREADS];
    x = dync_randn(dync_shape(ROWS, COLUMNS));
    y = dync_randn(dync_shape(ROWS, COLUMNS));
    filters = dync_randn(dync_shape(32, 2, 3, 3));
    want = fn(x, y);
    if (sized) {
        dync_mark_dynamic(x, 0);
        dync_mark_dynamic(y, 0);
    }
    program = dync_export(fn, x, y);
    other = dync_export(fn, x, y);
    REQUIRE(program && other);
    graph = dync_program_graph(other);
    REQUIRE(pthread_barrier_init(&start, NULL, THREADS) == 0);
    for (int i = 0; i < THREADS; i++)
        REQUIRE(pthread_create(&thread[i], NULL, compile_all, (void *)(intptr_t)i) == 0);
    for (int i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
    pthread_barrier_destroy(&start);
    EXPECT_EQ_INT(wrong, 0);
    dync_program_free(program);
    dync_program_free(other);
}

#define EACH(fn)                               \
    TEST(fn##_shared) { together(fn, false); } \
    TEST(fn##_shared_sized) { together(fn, true); }
EACH(pointwise)
EACH(attention)
EACH(writes_its_own)
EACH(writes_a_view)
EACH(many_results)
EACH(chooses)
EACH(reads_sizes)
TEST(convolved_shared) { together(convolved, false); }
TEST_MAIN
