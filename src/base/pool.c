/* base/pool.c: the workers of parallel loops.
 *
 * Of T threads, each owns a T-th of a loop's parts, neighbours, so that it meets the same memory in
 * every loop; thread 0 is the caller. It takes them from the front, one at a time, and when it has
 * none left, those of others from the end: a thread whose processor something else holds is helped,
 * and where nothing of that kind happens no word is written by two threads. Workers persist; an
 * idle one watches its state word for some tens of microseconds, then sleeps on its condition. One
 * loop runs at a time: a second caller, and loops inside a part, run alone. After fork the child
 * has no workers and runs alone.
 *
 * state of a worker: IDLE (watching) -> SLEEPING (under its lock) -> JOB (the caller's) -> RUNNING
 * -> IDLE (the worker's own). The caller turns IDLE to JOB by compare-and-swap; where it finds
 * SLEEPING it takes the lock and signals. A worker that has not begun when no parts are left is let
 * go (JOB -> IDLE), so that a loop never waits for a thread to wake up. A worker sets IDLE before
 * it counts itself out of the loop, so every worker of a finished loop can take the next one.
 * Whether a short loop is worth sharing: pool_trial.c. */
#include "../dync.in.h"
#include "base.h"
DYNC__WARM

DYNC__INLINE void dync__pool_alone(void (*fn)(void *user, int part, int n_parts), void *user,
                                   int n_parts)
{
    for (int part = 0; part < n_parts; part++) fn(user, part, n_parts);
}

#if defined(DYNC_NO_THREADS)
DYNC__FN int dync__pool_threads(void) { return 1; }
DYNC__FN int dync__pool_worth(double ns)
{
    (void)ns;
    return 1;
}
DYNC__FN void dync__pool_force(int way) { (void)way; }
DYNC__FN void dync__pool_set_threads(int n) { (void)n; }
DYNC__FN void dync__pool_stop(void) {}
DYNC__FN void dync__pool_run(void (*fn)(void *user, int part, int n_parts), void *user, int n_parts)
{
    dync__pool_alone(fn, user, n_parts);
}
#else
#include <pthread.h>

/* A worker that watches takes a loop in less than a microsecond; one that sleeps costs its caller
 * some microseconds and comes some tens later. */
enum { DYNC__POOL_MOST = 256 };
enum { DYNC__POOL_IDLE, DYNC__POOL_SLEEPING, DYNC__POOL_JOB, DYNC__POOL_RUNNING };

typedef struct dync__pool_job {
    void (*fn)(void *user, int part, int n_parts);
    void *user;
    int n_parts, n_threads;
    int32_t left;           /* workers that have not finished */
    dync__reserve *reserve; /* of the thread that asks */
} dync__pool_job;

typedef struct dync__pool_worker {
    int32_t state;
    int32_t range;       /* parts before it in the loop that runs: dync__pool_range */
    int index;           /* thread number, from 1 */
    int32_t id;          /* the system's, 0: not begun */
    int32_t late;        /* loops in a row that were over before it began */
    dync__pool_job *job; /* NULL with state JOB: end */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    char apart[64]; /* the next worker's state is on another cache line */
} dync__pool_worker;

static struct {
    int32_t busy;          /* a loop runs, or the workers are being made or ended */
    int32_t forked;        /* in a child: no workers, for good */
    int32_t wanted, known; /* threads asked for; 0: not decided */
    int32_t watching;      /* workers that do not sleep */
    bool hooked;
    dync__pool_worker *worker;
    int n_workers, n_allocated;
    /* when a loop of middling length was last met with the workers asleep, in 1024 ns */
    uint32_t asked;
    int32_t range; /* the caller's parts */
    char apart[64];
} dync__pool;

#if !defined(_WIN32)
static void dync__pool_after_fork(void)
{
    DYNC__ATOMIC_STORE(&dync__pool.forked, 1);
    dync__pool.n_workers = dync__pool.watching = 0; /* their threads do not exist here */
    dync__tls.in_pool = false;
}
#endif

DYNC__OFTEN static int dync__pool_all_threads(void)
{
    int n = DYNC__ATOMIC_PEEK(&dync__pool.known);
    if (DYNC__ATOMIC_PEEK(&dync__pool.forked)) return 1;
    if (n) return n;
    double from_env = 0;
    const char *text = dync__env("DYNC_THREADS");
    n = DYNC__ATOMIC_PEEK(&dync__pool.wanted);
    if (n <= 0 && text && dync__text_double(text, NULL, &from_env) && from_env >= 1)
        n = from_env < DYNC__POOL_MOST ? (int)from_env : DYNC__POOL_MOST;
    if (n <= 0) n = dync__cpu_count();
    n = DYNC__MIN(n, DYNC__POOL_MOST);
    DYNC__ATOMIC_STORE(&dync__pool.known, n);
    return n;
}

DYNC__OFTEN DYNC__FN int dync__pool_threads(void)
{
    int n = dync__pool_all_threads(), most = dync__tls.most_threads;
    return most > 0 && most < n ? most : n;
}

/* ---- what sharing is worth ------------------------------------------------------------------- */

/* Shorter loops run alone, longer ones wake workers that sleep. */
static double dync__pool_near = DYNC__POOL_NEAR_NS, dync__pool_far = DYNC__POOL_FAR_NS;

DYNC__RARE DYNC__FN void dync__pool_force(int way)
{
    dync__pool_near = way == DYNC__POOL_ALONE    ? HUGE_VAL
                      : way == DYNC__POOL_SHARED ? 0
                                                 : DYNC__POOL_NEAR_NS;
    dync__pool_far = way == DYNC__POOL_SHARED ? 0 : DYNC__POOL_FAR_NS;
}

/* Loops of middling length wake nobody the first time: programs of many such loops have workers
 * that watch, lone loops pay nothing. */
static bool dync__pool_is_awake(void)
{
    if (DYNC__ATOMIC_PEEK(&dync__pool.watching) > 0) return true;
    uint32_t now = (uint32_t)(dync__now_ns() >> 10), before = DYNC__ATOMIC_PEEK(&dync__pool.asked);
    DYNC__ATOMIC_STORE(&dync__pool.asked, now);
    return now - before < DYNC__POOL_OFTEN_NS >> 10;
}

DYNC__OFTEN DYNC__FN int dync__pool_worth(double ns)
{
    int n = ns < dync__pool_near || dync__tls.in_pool ? 1 : dync__pool_threads();
    dync__tls.pool_ns = 0;
    if (n == 1 || ns >= dync__pool_far) return n;
    dync__pool_trial *t = dync__pool_trial_of((int32_t)ns);
    int32_t way = DYNC__ATOMIC_PEEK(&t->way);
    if (way != DYNC__POOL_TRIED) {
        int32_t left = DYNC__ATOMIC_PEEK(&t->left) - 1;
        DYNC__ATOMIC_STORE(&t->left, left);
        if (left <= 0) DYNC__ATOMIC_STORE(&t->way, way = DYNC__POOL_TRIED);
    }
    if (way == DYNC__POOL_ALONE || !dync__pool_is_awake()) return 1;
    if (way == DYNC__POOL_TRIED) dync__tls.pool_ns = (int32_t)ns;
    return n;
}

/* ---- workers --------------------------------------------------------------------------------- */

/* Parts [begin, end) in one word: both have 15 bits. */
enum { DYNC__POOL_PARTS = 1 << 15 };
static int32_t dync__pool_range(int begin, int end) { return end << 16 | begin; }

static int32_t *dync__pool_range_of(int thread)
{
    return thread ? &dync__pool.worker[thread - 1].range : &dync__pool.range;
}

/* One part of a range: its thread takes the first, others the last. -1: there is none. Ranges of a
 * loop only shrink, and nobody looks at them after its end. */
static int dync__pool_take(int32_t *range, bool own)
{
    int32_t was = DYNC__ATOMIC_LOAD(range);
    for (;;) {
        int begin = was & (DYNC__POOL_PARTS - 1), end = was >> 16;
        if (begin >= end) return -1;
        if (DYNC__ATOMIC_CAS(range, &was, dync__pool_range(begin + own, end - !own)))
            return own ? begin : end - 1;
    }
}

static void dync__pool_parts(const dync__pool_job *job, int thread)
{
    dync__reserve *own = dync__tls.reserve;
    dync__tls.in_pool = true;
    dync__tls.reserve = job->reserve;
    for (int i = 0; i < job->n_threads; i++) {
        int32_t *range = dync__pool_range_of((thread + i) % job->n_threads);
        for (int part; (part = dync__pool_take(range, i == 0)) >= 0;)
            job->fn(job->user, part, job->n_parts);
    }
    dync__tls.in_pool = false;
    dync__tls.reserve = own;
}

static void dync__pool_sleep(dync__pool_worker *w)
{
    int32_t idle = DYNC__POOL_IDLE;
    pthread_mutex_lock(&w->lock);
    (void)DYNC__ATOMIC_DEC(&dync__pool.watching);
    if (DYNC__ATOMIC_CAS(&w->state, &idle, DYNC__POOL_SLEEPING)) {
        while (DYNC__ATOMIC_LOAD(&w->state) == DYNC__POOL_SLEEPING)
            pthread_cond_wait(&w->wake, &w->lock);
    }
    (void)DYNC__ATOMIC_INC(&dync__pool.watching);
    pthread_mutex_unlock(&w->lock);
}

static void dync__pool_wait(dync__pool_worker *w)
{
    uint64_t until = dync__now_ns() + DYNC__POOL_SPIN_NS;
    for (int round = 0; DYNC__ATOMIC_LOAD(&w->state) != DYNC__POOL_JOB; round++) {
        dync__pause(round & 63);
        if ((round & 63) == 63 && dync__now_ns() > until) {
            dync__pool_sleep(w);
            return;
        }
    }
}

static void *dync__pool_main(void *arg)
{
    dync__pool_worker *w = arg;
    DYNC__ATOMIC_STORE(&w->id, dync__thread_id());
    (void)DYNC__ATOMIC_INC(&dync__pool.watching);
    for (;;) {
        int32_t posted = DYNC__POOL_JOB;
        dync__pool_wait(w);
        if (!DYNC__ATOMIC_CAS(&w->state, &posted, DYNC__POOL_RUNNING)) continue;
        dync__pool_job *job = w->job;
        if (!job) break;
        dync__pool_parts(job, w->index);
        DYNC__ATOMIC_STORE(&w->state, DYNC__POOL_IDLE);
        (void)DYNC__ATOMIC_DEC(&job->left); /* the job is the caller's again */
    }
    (void)DYNC__ATOMIC_DEC(&dync__pool.watching);
    return NULL;
}

static void dync__pool_post(dync__pool_worker *w, dync__pool_job *job)
{
    int32_t idle = DYNC__POOL_IDLE;
    w->job = job;
    if (DYNC__ATOMIC_CAS(&w->state, &idle, DYNC__POOL_JOB)) return;
    pthread_mutex_lock(&w->lock);
    DYNC__ATOMIC_STORE(&w->state, DYNC__POOL_JOB);
    pthread_cond_signal(&w->wake);
    pthread_mutex_unlock(&w->lock);
}

/* As many as can be had: fewer threads give the same results. Parts beyond what the processors can
 * run are taken in turn: threads that wait for a processor hold up the loop. Called with busy
 * held. */
DYNC__RARE static void dync__pool_start(void)
{
    int useful = DYNC__MAX(DYNC__POOL_PER_CPU * dync__cpu_count(), DYNC__POOL_LEAST),
        wanted = DYNC__MIN(dync__pool_all_threads(), useful) - 1;
    if (wanted <= dync__pool.n_workers || dync__pool.n_allocated) return;
    dync__error_guard guard;
    /* without memory for workers the caller runs alone */
    dync__error_guard_begin(&guard);
    dync__pool.worker = dync__calloc((size_t)wanted * sizeof *dync__pool.worker);
    dync__error_guard_end(&guard);
    if (!dync__pool.worker) return;
    dync__pool.n_allocated = wanted;
#if !defined(_WIN32)
    if (!dync__pool.hooked)
        dync__pool.hooked = pthread_atfork(NULL, NULL, dync__pool_after_fork) == 0;
#endif
    for (int i = 0; i < wanted; i++) {
        dync__pool_worker *w = &dync__pool.worker[i];
        w->index = i + 1;
        if (pthread_mutex_init(&w->lock, NULL) != 0) return;
        if (pthread_cond_init(&w->wake, NULL) != 0 ||
            pthread_create(&w->thread, NULL, dync__pool_main, w) != 0) {
            pthread_mutex_destroy(&w->lock);
            return;
        }
        dync__pool.n_workers = i + 1;
    }
}

DYNC__RARE static void dync__pool_end_workers(void)
{
    for (int i = 0; i < dync__pool.n_workers; i++) dync__pool_post(&dync__pool.worker[i], NULL);
    for (int i = 0; i < dync__pool.n_workers; i++) {
        dync__pool_worker *w = &dync__pool.worker[i];
        pthread_join(w->thread, NULL);
        pthread_mutex_destroy(&w->lock);
        pthread_cond_destroy(&w->wake);
    }
    dync__free(dync__pool.worker, (size_t)dync__pool.n_allocated * sizeof *dync__pool.worker);
    dync__pool.worker = NULL;
    dync__pool.n_workers = dync__pool.n_allocated = 0;
}

DYNC__FN void dync__pool_stop(void)
{
    dync__pool_end_workers();
    DYNC__ATOMIC_STORE(&dync__pool.busy, 0);
}

/* The loop that runs in another thread ends first; those that begin meanwhile run alone. */
DYNC__FN void dync__pool_set_threads(int n)
{
    int32_t idle = 0;
    /* a loop of one's own, or one that will never end */
    bool alone = dync__tls.in_pool || DYNC__ATOMIC_PEEK(&dync__pool.forked);
    for (int round = 0; !alone && !DYNC__ATOMIC_CAS(&dync__pool.busy, &idle, 1); round++, idle = 0)
        dync__pause(round / 32);
    if (!alone) dync__pool_end_workers();
    if (!alone) dync__pool_try_again();
    DYNC__ATOMIC_STORE(&dync__pool.wanted, n < 0 ? 0 : DYNC__MIN(n, DYNC__POOL_MOST));
    DYNC__ATOMIC_STORE(&dync__pool.known, 0);
    if (!alone) DYNC__ATOMIC_STORE(&dync__pool.busy, 0);
}

/* ---- loops ----------------------------------------------------------------------------------- */

/* A worker that waits for the caller's processor while another is free: the system would find out
 * after some tens of milliseconds. A worker that runs elsewhere is not touched by it. */
DYNC__RARE static void dync__pool_move(dync__pool_worker *w)
{
    int32_t id = DYNC__ATOMIC_LOAD(&w->id);
    if (id) dync__thread_away(id);
}

/* Waits for the workers that have begun. */
static void dync__pool_join(dync__pool_job *job)
{
    for (int round = 0; DYNC__ATOMIC_LOAD(&job->left) > 0; round++) {
        dync__pause(round / 32);
        if (round != DYNC__POOL_JOIN_ROUNDS) continue;
        for (int i = 0; i < job->n_threads - 1; i++)
            if (DYNC__ATOMIC_LOAD(&dync__pool.worker[i].state) == DYNC__POOL_RUNNING)
                dync__pool_move(&dync__pool.worker[i]);
    }
}

static void dync__pool_share(void (*fn)(void *user, int part, int n_parts), void *user, int n_parts)
{
    dync__pool_job job = {
        fn, user, n_parts, DYNC__MIN(n_parts, dync__pool.n_workers + 1), 0, dync__tls.reserve};
    job.left = job.n_threads - 1;
    for (int i = 0; i < job.n_threads; i++)
        DYNC__ATOMIC_STORE(dync__pool_range_of(i),
                           dync__pool_range((int)((int64_t)n_parts * i / job.n_threads),
                                            (int)((int64_t)n_parts * (i + 1) / job.n_threads)));
    for (int i = 0; i < job.n_threads - 1; i++) dync__pool_post(&dync__pool.worker[i], &job);
    dync__pool_parts(&job, 0);
    for (int i = job.n_threads - 2; i >= 0; i--) {
        int32_t posted = DYNC__POOL_JOB;
        dync__pool_worker *w = &dync__pool.worker[i];
        if (!DYNC__ATOMIC_CAS(&w->state, &posted, DYNC__POOL_IDLE)) {
            w->late = 0;
            continue;
        }
        if (++w->late % DYNC__POOL_LATE == 0) dync__pool_move(w);
        (void)DYNC__ATOMIC_DEC(&job.left);
    }
    dync__pool_join(&job);
}

DYNC__FN void dync__pool_run(void (*fn)(void *user, int part, int n_parts), void *user, int n_parts)
{
    int32_t idle = 0, expected = dync__tls.pool_ns;
    dync__tls.pool_ns = 0;
    if (n_parts <= 1 || n_parts >= DYNC__POOL_PARTS || dync__tls.in_pool ||
        dync__pool_threads() == 1 || !DYNC__ATOMIC_CAS(&dync__pool.busy, &idle, 1)) {
        dync__pool_alone(fn, user, n_parts);
        return;
    }
    if (!dync__pool.n_workers) dync__pool_start();
    dync__pool_trial *t = expected ? dync__pool_trial_of(expected) : NULL;
    bool alone = t && dync__pool_tries_alone(t);
    uint64_t begun = t ? dync__now_ns() : 0;
    if (alone)
        dync__pool_alone(fn, user, n_parts);
    else
        dync__pool_share(fn, user, n_parts);
    if (t) dync__pool_tried(t, !alone, expected, dync__now_ns() - begun);
    DYNC__ATOMIC_STORE(&dync__pool.busy, 0);
}
#endif
