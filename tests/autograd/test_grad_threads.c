/* Threads that share parameters: each builds and walks its own history, the gradients come
 * together. */
#include "dync.h"
#include "test.h"
#include <pthread.h>

enum { THREADS = 4, ROUNDS = 200 };
static dync_tensor *shared, *held;

static void *work(void *arg)
{
    dync_status *status = arg;
    for (int i = 0; i < ROUNDS && *status == DYNC_OK; i++) DYNC_SCOPE {
        *status = dync_backward(dync_sum(dync_mul(shared, held), DYNC_ALL, false));
    }
    return NULL;
}

TEST(threads_share_a_leaf)
{
    pthread_t thread[THREADS];
    dync_status status[THREADS] = {DYNC_OK};
    shared = dync_ones(dync_shape(8), .requires_grad = true);
    held = dync_full(dync_shape(8), 0.5);
    for (int i = 0; i < THREADS; i++) pthread_create(&thread[i], NULL, work, &status[i]);
    for (int i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
    for (int i = 0; i < THREADS; i++) EXPECT_STATUS(status[i], DYNC_OK);
    const float *g = dync_data(dync_grad(shared));
    for (int i = 0; i < 8; i++) EXPECT_NEAR(g[i], THREADS * ROUNDS * 0.5, 0.0);
    dync_shutdown();
}

TEST_MAIN
