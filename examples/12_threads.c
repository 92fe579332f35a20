/* cc -O2 -I.. 12_threads.c -lm -pthread -o 12_threads
 *
 * Lesson 12: threads. Each has its own scopes, errors and random numbers; a compiled function may
 * be called by all of them at once. */
#define DYNC_IMPLEMENTATION
#include "dync.h"
#include <pthread.h>

enum { THREADS = 4, CALLS = 200 };
static dync_compiled *fast;

static dync_tensor *norm(dync_tensor *x, dync_tensor *weight)
{
    dync_tensor *square = dync_mean(dync_mul(x, x), dync_shape(-1), true);
    return dync_mul(dync_mul(x, dync_rsqrt(dync_add(square, 1e-5))), weight);
}

typedef struct {
    int index;
    double sum;
    dync_status status;
} job;

static void *work(void *arg)
{
    job *j = arg;
    dync_manual_seed((uint64_t)j->index);
    dync_tensor *x = dync_randn(dync_shape(8, 32)), *w = dync_ones(dync_shape(32));
    dync_tensor *want = norm(x, w);
    int equal = 0;
    for (int i = 0; i < CALLS; i++) DYNC_SCOPE {
        equal += dync_allclose(dync_call(fast, x, w), want, 1e-5, 1e-6);
    }
    j->sum = equal;
    j->status = dync_error(); /* this thread's own */
    return NULL;
}

int main(void)
{
    pthread_t thread[THREADS];
    job jobs[THREADS];
    fast = dync_compile(norm, .args = "x, weight");
    if (!fast) return dync_error();
    for (int i = 0; i < THREADS; i++) {
        jobs[i] = (job){.index = i};
        if (pthread_create(&thread[i], NULL, work, &jobs[i]) != 0) return 1;
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(thread[i], NULL);
        printf("thread %d: %g of %d calls equal eager, status %d\n", i, jobs[i].sum, CALLS,
               (int)jobs[i].status);
    }
    dync_compiled_free(fast);
    dync_shutdown();
    return dync_error();
}
