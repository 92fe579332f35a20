/* base/state.h: what a thread knows, its first error included. Implementations: thread.c err.c */
#ifndef DYNC__STATE_H
#define DYNC__STATE_H
#include "limits.h"

/* ---- per-thread state ------------------------------------------------------------------------ */
/* One struct. Upper layers hang their own state on the void pointers; each registers a destructor
 * with dync__thread_state_on_exit. Reached by dync__tls (thread-local: no call, no lock). */
#if defined(DYNC_NO_TEXT)
enum { DYNC__MESSAGE = 64 }; /* the class again */
#else
enum { DYNC__MESSAGE = DYNC__SMALLER(256, 1024) };
#endif
typedef struct dync__error_slot {
    dync_status status;
    char class_name[64];
    char message[DYNC__MESSAGE];
} dync__error_slot;

typedef struct dync__thread {
    bool grad_enabled_off;  /* grad mode, inverted so that zeroed state means on */
    bool compiling;         /* a function is being traced by this thread */
    bool double_backward;   /* what is being compiled keeps double backward working */
    bool compiled_autograd; /* autograd/: backward is captured in this thread */
    /* op/dispatch.c: a tracer stands at the bottom, in the place of eager */
    bool recording;
    bool telling; /* the error handler runs */
    bool quiet;   /* err.c: an error guard is open: no handler, no stderr */
    uint8_t default_dtype;
    dync_loc at; /* the user's source line of the operator in flight */
    /* op/dispatch.c: top of the handler stack; NULL means the bottom one (eager) */
    struct dync__handler *handler;
    void *tensor_state, *op_state, *grad_state, *capture_state;
    struct dync__symtab *syms;                  /* tensor/sym.c: of the trace that is open */
    struct dync__scopes *scopes;                /* tensor/scope.c */
    struct dync__object_slot_cache *slot_cache; /* handle.c */
    struct dync__cache *cache;                  /* base/mem.c: size-class free lists */
    /* of the dync_call that begins: read before any of the user's code runs */
    dync_loc call_at;
    const char *op; /* its name, for messages */
    /* what the user wrote for the module whose call begins while a function is traced; NULL:
     * nothing */
    const char *module_text;
    const char *within;      /* of the operator that is being made of others; NULL: none is */
    const char *backward_of; /* anomaly mode: the node of backward that runs, NULL: none */
    void (*error_handler)(dync_status, const char *, void *);
    void *error_user;
    uint64_t rng_seed, rng_offset;
    uint64_t cache_hits;        /* of this thread; joined to dync__counters when it ends */
    bool registered;            /* exit destructor armed */
    int32_t number;             /* profile.c: of the thread, from 1; 0: not asked for yet */
    int32_t event, event_epoch; /* profile.c: the event it is in + 1, and of which record */
    uint64_t seq;               /* autograd/: the sequence number its next node gets */
    int64_t fail_at;            /* mem.c: this many allocations ahead one fails; 0: none */
    /* mem.c: given back when memory runs out, before the last try; NULL: none */
    struct dync__reserve *reserve;
    int most_threads; /* pool.c: of loops that this thread begins; 0: all there are */
    /* pool.c: runs a part of a parallel loop: loops inside it run inline */
    bool in_pool;
    int32_t pool_ns; /* pool.c: how long the loop of middling length to come is expected to take */
    uint64_t error_count;             /* err.c: errors recorded so far */
    struct dync__thread *next, *prev; /* thread.c: the list of armed threads */
    /* runtime/run.c: the tensors behind the inputs of the plan that runs; NULL: not known */
    struct dync__tensor *const *plan_tensors;
    /* graph/run.c: the node of a graph that is being run; NULL outside */
    const struct dync__node *interpreted;
    struct dync__wait *waits; /* leave.c: frames that wait for a function of the user's */
    dync__error_slot error;   /* last, as tensor.h's layout */
} dync__thread;
DYNC__DATA_DECL DYNC__TLS dync__thread dync__tls;
/* Grad mode: asked and changed here alone. bool off = dync__grad_off(true) ... dync__grad_off(off)
 * does without for a while. */
DYNC__INLINE bool dync__grad_is_off(void) { return dync__tls.grad_enabled_off; }
DYNC__INLINE bool dync__grad_off(bool off)
{
    bool before = dync__tls.grad_enabled_off;
    dync__tls.grad_enabled_off = off;
    return before;
}
#undef DYNC_HERE
#undef DYNC_AT
#undef DYNC_OP
#undef DYNC_VIEW
#undef DYNC_T
#undef DYNC_D
#define DYNC_T(x, what) (x)
#define DYNC_D(x, what) (x)
/* the library's own calls say the user's place; dync.in.h's last lines end it */
#define DYNC_HERE dync__tls.at
/* functions that say dync__tls.at themselves: less code than handing it over */
#define DYNC_AT(f, ...) (f)(__VA_ARGS__)
#define DYNC_OP(f, p, op, ...) (f)(__VA_ARGS__)
#define DYNC_VIEW(call) call
/* fn(thread) runs when a thread that used dync ends and in dync_shutdown for the calling thread,
 * last registered first. Call once per layer from its init hook (process-wide list, fixed capacity
 * 16). */
DYNC__FN void dync__thread_state_on_exit(void (*fn)(dync__thread *));
/* Arms the exit destructor for this thread; cheap when already armed. Every lazily made per-thread
 * state calls it first. */
DYNC__FN void dync__thread_arm(void);
/* run the destructors of a thread now and free its caches */
DYNC__FN void dync__thread_end(dync__thread *);
/* the same for every armed thread; none may be running (dync_shutdown) */
DYNC__FN void dync__thread_end_all(void);
/* fn runs in dync_shutdown, last registered first (process-wide caches, registries). Fixed capacity
 * 32; ignored if present. */
DYNC__FN void dync__at_shutdown(void (*fn)(void));
DYNC__FN void dync__run_shutdown(void);
struct dync__root;
/* handle.h; NULL: freed, which one never set may be too */
DYNC__FN void dync__root_set(struct dync__root *, void (*free)(struct dync__root *));

/* Checked by the compiler as what printf takes, and nothing of it is in the program. */
DYNC__INLINE int dync__unsaid(const char *fmt, ...) DYNC__PRINTF(1, 2);
DYNC__INLINE int dync__unsaid(const char *fmt, ...) { return fmt != NULL; }
#define DYNC__UNSAID(...) ((void)(0 ? dync__unsaid(__VA_ARGS__) : 0))

/* ---- errors (err.c) -------------------------------------------------------------------------- */
/* Records the first error of this thread: "op: text (file:line)". Later ones are dropped. Returns
 * status, so that `return dync__fail(...)` works. Prints once to stderr unless a handler is set.
 * class_name NULL: the status' own name. */
#if defined(DYNC_NO_TEXT)
DYNC__FN dync_status dync__fail_bare(dync_status status, const char *class_name);
#define dync__fail(status, ...) (DYNC__UNSAID(__VA_ARGS__), dync__fail_bare(status, NULL))
#define dync__fail_class(status, class_name, ...) \
    (DYNC__UNSAID(__VA_ARGS__), dync__fail_bare(status, class_name))
#else
DYNC__FN dync_status dync__fail(dync_status status, const char *fmt, ...) DYNC__PRINTF(2, 3);
DYNC__FN dync_status dync__fail_class(dync_status status, const char *class_name, const char *fmt,
                                      ...) DYNC__PRINTF(3, 4);
#endif
/* DYNC_ERR_UNSUPPORTED: what was asked for, and the switch it was built with, which left it out */
DYNC__FN dync_status dync__left_out(const char *what, const char *with);
DYNC__FN dync_status dync__gradients_missing(void);
/* base/limits.h: DYNC__MEET was not reached */
DYNC__FN dync_status dync__unlinked(const char *what);
/* DYNC_ERR_MEMORY, allocates nothing */
DYNC__FN dync_status dync__fail_memory(size_t bytes);
DYNC__FN const char *dync__status_name(dync_status); /* "DYNC_ERR_SHAPE" */
/* Save and restore the slot around code whose errors are judged by the caller (backends, probes):
 * begin empties it and silences handler and stderr, end restores what was pending before and
 * reports what had been recorded inside. */
typedef struct dync__error_guard {
    dync__error_slot outer;
    uint64_t errors_before;
    bool quiet_before;
} dync__error_guard;
DYNC__FN void dync__error_guard_begin(dync__error_guard *);
/* The inner error, kept in the guard; status DYNC_OK if none. */
DYNC__FN dync__error_slot *dync__error_guard_end(dync__error_guard *);
/* record a saved error as this thread's own */
DYNC__FN void dync__error_raise(const dync__error_slot *);
/* A count of errors recorded so far by this thread: compare before and after to learn whether user
 * code failed. */
DYNC__FN uint64_t dync__error_count(void);
#endif
