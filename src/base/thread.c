/* base/thread.c: the state of a thread and its end; the process-wide list of what dync_shutdown
 * runs.
 *
 * Every thread that keeps something is armed: it stands in a list, and a pthread key runs its
 * destructors when it ends. So dync_shutdown can clean up after idle threads as well. Invariant: a
 * thread is in the list exactly while `registered`. */
#include "../dync.in.h"
#include "handle.h"
DYNC__WARM
#if !defined(DYNC_NO_THREADS)
#include <pthread.h>
#endif

DYNC__DATA DYNC__TLS dync__thread dync__tls = {0};

enum { DYNC__THREAD_FNS = 16, DYNC__SHUTDOWN_FNS = 32 };
static struct {
    dync__mutex lock;
    void (*on_exit[DYNC__THREAD_FNS])(dync__thread *);
    int n_on_exit;
    void (*at_shutdown[DYNC__SHUTDOWN_FNS])(void);
    int n_at_shutdown;
    dync__thread *first;
    dync__root *root;
#if !defined(DYNC_NO_THREADS)
    bool has_key;
    pthread_key_t key;
#endif
} dync__threads;

DYNC__RARE DYNC__FN void dync__thread_state_on_exit(void (*fn)(dync__thread *))
{
    dync__lock(&dync__threads.lock);
    bool known = false;
    for (int i = 0; i < dync__threads.n_on_exit; i++)
        known = known || dync__threads.on_exit[i] == fn;
    if (!known && dync__threads.n_on_exit < DYNC__THREAD_FNS)
        dync__threads.on_exit[dync__threads.n_on_exit++] = fn;
    dync__unlock(&dync__threads.lock);
}

DYNC__RARE DYNC__FN void dync__at_shutdown(void (*fn)(void))
{
    dync__lock(&dync__threads.lock);
    bool known = false;
    for (int i = 0; i < dync__threads.n_at_shutdown; i++)
        known = known || dync__threads.at_shutdown[i] == fn;
    if (!known && dync__threads.n_at_shutdown < DYNC__SHUTDOWN_FNS)
        dync__threads.at_shutdown[dync__threads.n_at_shutdown++] = fn;
    dync__unlock(&dync__threads.lock);
}

DYNC__RARE DYNC__FN void dync__root_set(dync__root *r, void (*fn)(dync__root *))
{
    dync__lock(&dync__threads.lock);
    if (fn) {
        r->at = &dync__threads.root;
        r->next = dync__threads.root;
        r->free = fn;
        dync__threads.root = r;
        if (r->next) r->next->at = &r->next;
    } else if (r->at) {
        *r->at = r->next;
        if (r->next) r->next->at = r->at;
        r->at = NULL;
    }
    dync__unlock(&dync__threads.lock);
}

/* No lock is held while the functions run: they may register and unregister. */
DYNC__RARE DYNC__FN void dync__run_shutdown(void)
{
    while (dync__threads.root) dync__threads.root->free(dync__threads.root);
    for (int i = dync__threads.n_at_shutdown - 1; i >= 0; i--) dync__threads.at_shutdown[i]();
}

static void dync__thread_unlink(dync__thread *t)
{
    dync__lock(&dync__threads.lock);
    if (t->registered) {
        if (t->prev)
            t->prev->next = t->next;
        else
            dync__threads.first = t->next;
        if (t->next) t->next->prev = t->prev;
        t->next = t->prev = NULL;
        t->registered = false;
    }
    dync__unlock(&dync__threads.lock);
}

/* Destructors do nothing where there is no state. One may use, and so make again, the state of one
 * that ran before: the second round ends that too. The caches go after the last of them; unlinking
 * comes last, for a destructor may arm the thread again. */
DYNC__RARE DYNC__FN void dync__thread_end(dync__thread *t)
{
    for (int round = 0; round < 2; round++) {
        /* as they are now: another thread may add one, whose state this one then does not have */
        void (*fn[DYNC__THREAD_FNS])(dync__thread *);
        dync__lock(&dync__threads.lock);
        int n = dync__threads.n_on_exit;
        memcpy(fn, dync__threads.on_exit, sizeof fn);
        dync__unlock(&dync__threads.lock);
        while (n > 0) fn[--n](t);
    }
    DYNC__COUNTER_ADD(cache_hits, (int64_t)t->cache_hits);
    t->cache_hits = 0;
    dync__mem_thread_end(t);
    dync__thread_unlink(t);
}

DYNC__FN void dync__thread_end_all(void)
{
    dync__thread_end(&dync__tls);
    while (dync__threads.first) dync__thread_end(dync__threads.first);
}

#if !defined(DYNC_NO_THREADS)
static void dync__thread_key_end(void *t) { dync__thread_end(t); }

static bool dync__thread_set_key(dync__thread *t)
{
    dync__lock(&dync__threads.lock);
    if (!dync__threads.has_key)
        dync__threads.has_key = pthread_key_create(&dync__threads.key, dync__thread_key_end) == 0;
    bool has_key = dync__threads.has_key;
    dync__unlock(&dync__threads.lock);
    return has_key && pthread_setspecific(dync__threads.key, t) == 0;
}
#endif

DYNC__RARE DYNC__FN void dync__thread_arm(void)
{
    dync__thread *t = &dync__tls;
    if (DYNC__LIKELY(t->registered)) return;
#if !defined(DYNC_NO_THREADS)
    /* nobody would take it from the list: what it keeps is lost when it ends */
    if (!dync__thread_set_key(t)) return;
#endif
    dync__lock(&dync__threads.lock);
    t->prev = NULL;
    t->next = dync__threads.first;
    if (t->next) t->next->prev = t;
    dync__threads.first = t;
    t->registered = true;
    dync__unlock(&dync__threads.lock);
}
