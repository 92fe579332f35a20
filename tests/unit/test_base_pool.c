/* base/pool.c and base/thread.c: parallel loops, ends of threads. Run under ThreadSanitizer as
 * well. */
#include <pthread.h>
#include "../../src/dync.in.h"
#include "../../src/base/base.h"
#define TEST_AFTER_EACH (dync_shutdown(), dync_clear_error(), dync_on_error(NULL, NULL))
#include "../test.h"

typedef struct loop {
    int count[64];
    int n_parts;
    dync__thread *ran_on[64];
} loop;

static void count_part(void *user, int part, int n_parts)
{
    loop *l = user;
    l->n_parts = n_parts;
    l->count[part]++;
    l->ran_on[part] = &dync__tls;
}

/* n_parts is written by every part: only for loops of one thread. */
static void count_only(void *user, int part, int n_parts)
{
    loop *l = user;
    (void)n_parts;
    l->count[part]++;
    l->ran_on[part] = &dync__tls;
}

TEST(every_part_runs_once)
{
    dync__pool_set_threads(4);
    EXPECT_EQ_INT(dync__pool_threads(), 4);
    for (int round = 0; round < 2000; round++) {
        loop l = {0};
        int n = round % 65;
        dync__pool_run(count_only, &l, n);
        for (int i = 0; i < 64; i++) REQUIRE(l.count[i] == (i < n));
        if (n == 1) REQUIRE(l.ran_on[0] == &dync__tls);
    }
    dync__pool_stop();
}

/* The part that the caller begins with ends after all others: they are taken from it. */
typedef struct held {
    int32_t done;
    bool late;
} held;
static void held_part(void *user, int part, int n_parts)
{
    held *h = user;
    uint64_t until = dync__now_ns() + UINT64_C(60000000000);
    for (int round = 0; part == 0 && DYNC__ATOMIC_LOAD(&h->done) + 1 < n_parts; round++) {
        dync__pause(round);
        if (dync__now_ns() < until) continue;
        h->late = true;
        return;
    }
    (void)DYNC__ATOMIC_INC(&h->done);
}

TEST(a_thread_that_is_held_up_is_helped)
{
    dync__pool_set_threads(3);
    for (int round = 0; round < 50; round++) {
        held h = {0, false};
        dync__pool_run(held_part, &h, 12);
        REQUIRE(!h.late && h.done == 12);
    }
    dync__pool_stop();
}

TEST(loops_are_cut_into_pieces)
{
    EXPECT_EQ_INT(dync__pool_pieces(2, 1000, 100), 2);
    EXPECT_EQ_INT(dync__pool_pieces(2, 4.0 * DYNC__POOL_PIECE_NS, 100), 4);
    EXPECT_EQ_INT(dync__pool_pieces(3, 1e12, 100), 3 * DYNC__POOL_PIECES);
    EXPECT_EQ_INT(dync__pool_pieces(3, 1e12, 5), 3); /* no round in which only some have work */
    EXPECT_EQ_INT(dync__pool_pieces(3, 1e12, 0), 1);
}

TEST(one_thread_runs_inline)
{
    loop l = {0};
    dync__pool_set_threads(1);
    dync__pool_run(count_part, &l, 5);
    EXPECT_EQ_INT(l.n_parts, 5);
    for (int i = 0; i < 5; i++) EXPECT(l.count[i] == 1 && l.ran_on[i] == &dync__tls);
    dync__pool_run(count_part, &l, 0);
}

static void nested(void *user, int part, int n_parts)
{
    loop *l = user;
    (void)n_parts;
    dync__pool_run(count_only, &l[part], 3);
    for (int i = 1; i < 3; i++) l[part].count[63] += l[part].ran_on[i] != l[part].ran_on[0];
}

TEST(nested_loops_run_inline)
{
    static loop l[4];
    dync__pool_set_threads(3);
    dync__pool_run(nested, l, 4);
    for (int p = 0; p < 4; p++) {
        for (int i = 0; i < 3; i++) EXPECT_EQ_INT(l[p].count[i], 1);
        EXPECT_EQ_INT(l[p].count[63], 0);
    }
    dync__pool_stop();
}

static void *run_loops(void *arg)
{
    for (int round = 0; round < 300; round++) {
        loop l = {0};
        dync__pool_run(count_only, &l, 8);
        for (int i = 0; i < 8; i++) *(int *)arg += l.count[i] != 1;
        void *p = dync__alloc_data(1000 + (size_t)round);
        dync__free_data(p, 1000 + (size_t)round);
    }
    return NULL;
}

TEST(many_callers_at_once)
{
    pthread_t thread[4];
    int wrong[4] = {0};
    dync__pool_set_threads(3);
    for (int i = 0; i < 4; i++)
        REQUIRE(pthread_create(&thread[i], NULL, run_loops, &wrong[i]) == 0);
    for (int i = 0; i < 4; i++) pthread_join(thread[i], NULL);
    for (int i = 0; i < 4; i++) EXPECT_EQ_INT(wrong[i], 0);
    dync__pool_stop();
}

static void slow_part(void *user, int part, int n_parts)
{
    uint64_t until = dync__now_ns() + 2000000;
    (void)part;
    (void)n_parts;
    while (dync__now_ns() < until) {}
    (void)DYNC__ATOMIC_ADD((int *)user, 1);
}

static void slow_elsewhere(void *user, int part, int n_parts)
{
    int n = 0;
    slow_part(&n, part, n_parts);
    if (part > 0 && &dync__tls != ((loop *)user)->ran_on[0])
        (void)DYNC__ATOMIC_ADD(&((loop *)user)->n_parts, 1);
}
TEST(workers_take_part)
{
    loop l = {.ran_on = {&dync__tls}};
    dync__pool_set_threads(3);
    for (int round = 0; round < 50 && DYNC__ATOMIC_LOAD(&l.n_parts) == 0; round++)
        dync__pool_run(slow_elsewhere, &l, 3);
    EXPECT(DYNC__ATOMIC_LOAD(&l.n_parts) > 0);
    dync__pool_stop();
}

TEST(sleeping_workers_wake)
{
    int n = 0;
    dync__pool_set_threads(3);
    for (int round = 0; round < 5; round++) {
        uint64_t until = dync__now_ns() + 3000000; /* longer than workers watch */
        while (dync__now_ns() < until) {}
        dync__pool_run(slow_part, &n, 3);
        EXPECT_EQ_INT(DYNC__ATOMIC_LOAD(&n), 3 * (round + 1));
    }
    dync__pool_stop();
}

#if !defined(TEST_TSAN)
TEST(a_forked_child_runs_alone)
{
    loop l = {0};
    dync__pool_set_threads(3);
    dync__pool_run(count_only, &l, 6);
    pid_t child = fork();
    if (child == 0) {
        loop in_child = {0};
        int bad = dync__pool_threads() != 1;
        dync__pool_run(count_only, &in_child, 6);
        for (int i = 0; i < 6; i++)
            bad += in_child.count[i] != 1 || in_child.ran_on[i] != &dync__tls;
        dync_shutdown();
        _exit(bad);
    }
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ_INT(status, 0);
    dync__pool_run(count_only, &l, 6);
    for (int i = 0; i < 6; i++) EXPECT_EQ_INT(l.count[i], 2);
    dync__pool_stop();
}
#endif

TEST(workers_can_be_changed)
{
    for (int n = 1; n < 6; n++) {
        loop l = {0};
        dync__pool_set_threads(n);
        dync__pool_run(count_only, &l, 6);
        for (int i = 0; i < 6; i++) EXPECT_EQ_INT(l.count[i], 1);
    }
    dync__pool_stop();
    dync__pool_stop();
    dync__thread_end_all();
    EXPECT(!dync__mem_in_use());
}

/* ---- ends of threads ------------------------------------------------------------------------- */

static int order[4], n_order;
static void first_fn(dync__thread *t)
{
    if (t->op_state) {
        order[n_order++] = 1;
        t->op_state = NULL;
    }
}
static void second_fn(dync__thread *t)
{
    if (t->grad_state) {
        order[n_order++] = 2;
        t->grad_state = NULL;
    }
}

static void *short_life(void *arg)
{
    dync__thread_arm();
    dync__tls.op_state = dync__tls.grad_state = arg;
    void *p = dync__alloc(100);
    dync__free(p, 100);
    return NULL;
}

TEST(destructors_run_when_a_thread_ends)
{
    pthread_t thread;
    dync__thread_state_on_exit(first_fn);
    dync__thread_state_on_exit(second_fn);
    dync__thread_state_on_exit(first_fn);
    REQUIRE(pthread_create(&thread, NULL, short_life, order) == 0);
    pthread_join(thread, NULL);
    EXPECT(n_order == 2 && order[0] == 2 && order[1] == 1);
    EXPECT(!dync__mem_in_use()); /* its cache went with it */
}

/* Loops of one length, alone and shared, that take so many ns on average, one in eight of them far
 * more. */
static int faster(int alone, int shared)
{
    dync__pool_trial t = {0};
    for (int i = 0; i < 1000 && t.way == DYNC__POOL_TRIED; i++) {
        bool both = i % 3 != 0;
        uint64_t ns = (uint64_t)(both ? shared : alone) * (i % 5 == 0 ? 2 : 1);
        dync__pool_tried(&t, both, i % 2 ? 10000 : 20000,
                         i % 8 == 7 ? 900000000 : ns * (i % 2 ? 1 : 2));
    }
    return t.way;
}

TEST(short_loops_are_shared_where_that_is_faster)
{
    EXPECT_EQ_INT(faster(10000, 5000), DYNC__POOL_SHARED);
    EXPECT_EQ_INT(faster(10000, 9700), DYNC__POOL_ALONE);
    EXPECT_EQ_INT(faster(10000, 10000), DYNC__POOL_ALONE);
    EXPECT_EQ_INT(faster(5000, 10000), DYNC__POOL_ALONE);
}

#if defined(__linux__)
#include <sys/syscall.h>
extern long syscall(long, ...);

typedef struct roamer {
    int32_t id, cpu, ends; /* cpu: 1 and the processor it ran on last */
} roamer;

static void *roam(void *arg)
{
    roamer *r = arg;
    DYNC__ATOMIC_STORE(&r->id, dync__thread_id());
    while (!DYNC__ATOMIC_LOAD(&r->ends)) {
        unsigned cpu = 0;
        if (syscall(SYS_getcpu, &cpu, NULL, NULL) == 0) DYNC__ATOMIC_STORE(&r->cpu, 1 + (int)cpu);
    }
    return NULL;
}

static long set_of(int thread, unsigned long set[128])
{
    memset(set, 0, 128 * sizeof *set);
    return syscall(SYS_sched_getaffinity, (long)thread, 128 * (long)sizeof *set, set);
}

/* A thread that shares the processor of its caller goes to another one, and may use all of them
 * afterwards as before. */
TEST(a_thread_is_moved_off_the_callers_processor)
{
    enum { BITS = 8 * sizeof(unsigned long) };
    unsigned long all[128], one[128] = {0}, after[128];
    roamer r = {0};
    pthread_t thread;
    long bytes = set_of(0, all);
    int n = dync__cpu_count(), here = 0;
    while (here < 128 * BITS - 1 && !(all[here / BITS] >> here % BITS & 1)) here++;
    one[here / BITS] = 1ul << here % BITS;
    if (bytes < 1 || n < 2 || syscall(SYS_sched_setaffinity, 0L, bytes, one) != 0)
        SKIP("one processor, or affinity is not to be set");
    EXPECT_EQ_INT(dync__cpu_count(), 1);
    REQUIRE(pthread_create(&thread, NULL, roam, &r) == 0);
    while (!DYNC__ATOMIC_LOAD(&r.id)) dync__pause(100);
    REQUIRE(syscall(SYS_sched_setaffinity, (long)r.id, bytes, all) == 0);
    bool moved = false;
    for (int i = 0; i < 1000 && !moved; i++) {
        dync__thread_away(r.id);
        moved = DYNC__ATOMIC_LOAD(&r.cpu) > 0 && DYNC__ATOMIC_LOAD(&r.cpu) != here + 1;
        struct timespec rest = {0, 1000000};
        if (!moved) nanosleep(&rest, NULL);
    }
    EXPECT(moved);
    (void)set_of(r.id, after);
    EXPECT(memcmp(all, after, sizeof all) == 0);
    (void)syscall(SYS_sched_setaffinity, 0L, bytes, all);
    EXPECT_EQ_INT(dync__cpu_count(), n);
    DYNC__ATOMIC_STORE(&r.ends, 1);
    pthread_join(thread, NULL);
}
#endif

/* As many loops of middling length as there are decisions to fall: all parts run, whatever is
 * decided. */
TEST(loops_on_trial_run_whole)
{
    dync__pool_set_threads(3);
    for (int i = 0; i < 5000; i++) {
        loop l = {0};
        int n = dync__pool_worth(i % 2 ? 10000 : 50000);
        EXPECT(n == 1 || n == 3);
        dync__pool_run(count_only, &l, n);
        for (int part = 0; part < n; part++) REQUIRE(l.count[part] == 1);
    }
    EXPECT_EQ_INT(dync__pool_worth(100), 1);
    EXPECT_EQ_INT(dync__pool_worth(1e9), 3);
    dync__pool_stop();
}

static int ran[2];
static void at_end_a(void) { ran[0] = ran[1] ? 1 : -1; }
static void at_end_b(void) { ran[1] = 1; }

TEST(shutdown_functions_run_in_reverse)
{
    dync__at_shutdown(at_end_a);
    dync__at_shutdown(at_end_b);
    dync__at_shutdown(at_end_a);
    dync_shutdown();
    EXPECT(ran[0] == 1 && ran[1] == 1);
}

TEST_MAIN
