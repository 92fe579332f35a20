/* tensor/: handles, reference counts and scopes in many threads. Meant for ThreadSanitizer. */
#include <pthread.h>
#include "../../src/dync.in.h"
#include "../../src/tensor/tensor.h"
#define TEST_AFTER_EACH (dync_shutdown(), dync_clear_error(), dync_on_error(NULL, NULL))
#include "../test.h"

enum { THREADS = 4 };

static dync__tensor *make(int64_t n)
{
    dync__layout lay;
    return dync__layout_contiguous(&lay, 1, &n) == DYNC_OK
               ? dync__tensor_empty(DYNC_F32, DYNC_CPU, &lay)
               : NULL;
}

static void run(void *(*fn)(void *), void *arg)
{
    pthread_t thread[THREADS];
    for (int i = 0; i < THREADS; i++) REQUIRE(pthread_create(&thread[i], NULL, fn, arg) == 0);
    for (int i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
}

static int32_t wrong;

static void *own_tensors(void *arg)
{
    (void)arg;
    for (int round = 0; round < 300; round++) {
        DYNC_SCOPE {
            dync_tensor *kept = NULL;
            for (int i = 0; i < 50; i++) {
                dync_tensor *t = dync__give(make(i));
                float *p = dync__tensor_data(dync__open(t));
                for (int k = 0; k < i; k++) p[k] = (float)k;
                if (i == 20) kept = dync_retain(t);
            }
            dync_release(kept);
        }
    }
    return NULL;
}

TEST(each_thread_its_own)
{
    run(own_tensors, NULL);
    EXPECT_EQ_INT(dync__live_tensors(), 0);
    EXPECT(!dync__mem_in_use() ||
           (dync__tensors_shutdown(), dync__thread_end_all(), !dync__mem_in_use()));
}

static void *share(void *arg)
{
    dync_tensor *t = arg;
    for (int round = 0; round < 2000; round++) {
        dync__tensor *open = dync__open(t);
        if (!open || dync_numel(t) != 8) (void)DYNC__ATOMIC_INC(&wrong);
        dync_retain(t);
        dync__layout lay = open->lay;
        dync__tensor *view = dync__tensor_alias(open, DYNC_F32, &lay);
        dync__ref(view);
        dync__unref(view);
        dync__unref(view);
        dync_release(t);
    }
    return NULL;
}

TEST(one_tensor_for_all)
{
    dync_tensor *t = dync__give(make(8));
    run(share, t);
    dync__tensor *open = dync__open(t);
    EXPECT(wrong == 0 && open->refs == 1 && open->retains == 0 && open->storage->refs == 1);
}

/* One thread makes, another frees: slots travel through the shared list and do not pile up. */
enum { RING = 64 };
static dync__tensor *ring[RING];

static void *produce(void *arg)
{
    (void)arg;
    for (int i = 0; i < 20000; i++) {
        dync__tensor *t = make(4);
        ((float *)dync__tensor_data(t))[3] = (float)i;
        for (int round = 0; DYNC__ATOMIC_LOAD(&ring[i % RING]) != NULL; round++) dync__pause(round);
        DYNC__ATOMIC_STORE(&ring[i % RING], t);
    }
    return NULL;
}

TEST(made_here_freed_there)
{
    pthread_t thread;
    dync__tensor *t;
    uint32_t highest = 0;
    REQUIRE(pthread_create(&thread, NULL, produce, NULL) == 0);
    for (int i = 0; i < 20000; i++) {
        for (int round = 0; (t = DYNC__ATOMIC_LOAD(&ring[i % RING])) == NULL; round++)
            dync__pause(round);
        DYNC__ATOMIC_STORE(&ring[i % RING], NULL);
        if (((float *)dync__tensor_data(t))[3] != (float)i) wrong++;
        if (t->slot > highest) highest = t->slot;
        dync__unref(t);
    }
    pthread_join(thread, NULL);
    EXPECT_EQ_INT(wrong, 0);
    EXPECT(highest < 2000);
    EXPECT_EQ_INT(dync__live_tensors(), 0);
}

static void *leave_things_open(void *arg)
{
    (void)arg;
    dync_scope s = dync_scope_begin();
    dync__give(make(10));
    dync__scope_alloc(1000);
    dync_tuple(dync__give(make(3)), 2);
    (void)s;
    return NULL;
}

TEST(a_thread_that_ends_releases_its_scopes)
{
    run(leave_things_open, NULL);
    EXPECT_EQ_INT(dync__live_tensors(), 0);
    dync_shutdown();
    EXPECT(!dync__mem_in_use());
}

static void *intern_names(void *arg)
{
    char name[32];
    (void)arg;
    for (int i = 0; i < 500; i++) {
        dync__format(name, sizeof name, "n%d", i);
        if (strcmp(dync__intern(name), name) != 0) (void)DYNC__ATOMIC_INC(&wrong);
    }
    return NULL;
}

TEST(interning)
{
    run(intern_names, NULL);
    EXPECT_EQ_INT(wrong, 0);
    EXPECT_EQ_PTR(dync__intern("n7"), dync__intern("n7"));
}

TEST_MAIN
