/* base/base.h: what every stage stands on. No tensors here; could live in any C project.
 * Implementations: os.c thread.c mem.c arena.c (with vec) map.c str.c num.c rng.c err.c log.c
 * pool.c json.c profile.c; pass.c has a header of its own */
#ifndef DYNC__BASE_H
#define DYNC__BASE_H
#include "machine.def.h"
#include "priv.h"

/* ---- thresholds: machine.def.h --------------------------------------------------------------- */
#if defined(DYNC_SMALL)
#define DYNC__SMALLER(small, normal) (small)
#else
#define DYNC__SMALLER(small, normal) (normal)
#endif
enum {
#define DYNC__X(name, value, unit, decides, measures) DYNC__##name = value,
    DYNC__MACHINE(DYNC__X)
#undef DYNC__X
};

/* ---- abilities that may be left out (api/config.h) ------------------------------------------- */
/* DYNC__LEFT_OUT(DYNC_NO_SORT): is the switch defined? A constant: who leads to an ability asks it,
 * and compilers drop what is behind. DYNC__NEEDS(DYNC_NO_SORT, "dync_sort", NULL); returns NULL
 * with DYNC_ERR_UNSUPPORTED where it is; DYNC__OFFERS the same of a function that returns its
 * status. */
#define DYNC__LEFT_OUT(with) DYNC__PROBE(with)
#define DYNC__PROBE(value) DYNC__SECOND(DYNC__PROBE_##value, false, )
#define DYNC__PROBE_ , true
#define DYNC__PROBE_1 , true
#define DYNC__SECOND(...) DYNC__SECOND_(__VA_ARGS__)
#define DYNC__SECOND_(first, second, ...) second
#define DYNC__NEEDS(with, what, result) \
    if (DYNC__LEFT_OUT(with)) return dync__left_out(what, #with), result
#define DYNC__OFFERS(with, what) \
    if (DYNC__LEFT_OUT(with)) return dync__left_out(what, #with)
#define DYNC__GRAD_NONE DYNC__LEFT_OUT(DYNC_NO_AUTOGRAD)
#define DYNC__SYM_NONE DYNC__LEFT_OUT(DYNC_NO_SYMBOLIC)

/* ---- per-thread state ------------------------------------------------------------------------ */
/* One struct. Upper layers hang their own state on the void pointers; each registers a destructor
 * with dync__thread_state_on_exit. Reached by dync__tls (thread-local: no call, no lock). */
#if defined(DYNC_NO_TEXT)
enum { DYNC__MESSAGE = 64 }; /* the class again */
#else
enum { DYNC__MESSAGE = 1024 };
#endif
typedef struct dync__error_slot {
    dync_status status;
    char class_name[64];
    char message[DYNC__MESSAGE];
} dync__error_slot;

typedef struct dync__thread {
    dync__error_slot error;
    void (*error_handler)(dync_status, const char *, void *);
    void *error_user;
    dync_loc at; /* the user's source line of the operator in flight */
    /* of the dync_call that begins: read before any of the user's code runs */
    dync_loc call_at;
    const char *op; /* its name, for messages */
    /* what the user wrote for the module whose call begins while a function is traced; NULL:
     * nothing */
    const char *module_text;
    const char *within;      /* of the operator that is being made of others; NULL: none is */
    bool grad_enabled_off;   /* grad mode, inverted so that zeroed state means on */
    const char *backward_of; /* anomaly mode: the node of backward that runs, NULL: none */
    bool double_backward;    /* what is being compiled keeps double backward working */
    bool compiling;          /* a function is being traced by this thread */
    bool compiled_autograd;  /* autograd/: backward is captured in this thread */
    /* op/dispatch.c: a tracer stands at the bottom, in the place of eager */
    bool recording;
    uint8_t default_dtype;
    uint64_t rng_seed, rng_offset;
    uint64_t cache_hits;        /* of this thread; joined to dync__counters when it ends */
    bool registered;            /* exit destructor armed */
    int32_t number;             /* profile.c: of the thread, from 1; 0: not asked for yet */
    int32_t event, event_epoch; /* profile.c: the event it is in + 1, and of which record */
    uint64_t seq;               /* autograd/: the sequence number its next node gets */
    int64_t fail_at;            /* mem.c: this many allocations ahead one fails; 0: none */
    /* mem.c: given back when memory runs out, before the last try; NULL: none */
    struct dync__reserve *reserve;
    bool quiet;       /* err.c: an error guard is open: no handler, no stderr */
    int most_threads; /* pool.c: of loops that this thread begins; 0: all there are */
    /* pool.c: runs a part of a parallel loop: loops inside it run inline */
    bool in_pool;
    int32_t pool_ns; /* pool.c: how long the loop of middling length to come is expected to take */
    uint64_t error_count;                       /* err.c: errors recorded so far */
    struct dync__thread *next, *prev;           /* thread.c: the list of armed threads */
    struct dync__cache *cache;                  /* base/mem.c: size-class free lists */
    struct dync__scopes *scopes;                /* tensor/scope.c */
    struct dync__object_slot_cache *slot_cache; /* handle.c */
    /* runtime/run.c: the tensors behind the inputs of the plan that runs; NULL: not known */
    struct dync__tensor *const *plan_tensors;
    /* graph/run.c: the node of a graph that is being run; NULL outside */
    const struct dync__node *interpreted;
    /* op/dispatch.c: top of the handler stack; NULL means the bottom one (eager) */
    struct dync__handler *handler;
    void *tensor_state, *op_state, *grad_state, *capture_state;
    struct dync__symtab *syms; /* tensor/sym.c: symbolic sizes of the trace that is open */
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
#undef DYNC_T
#undef DYNC_D
#define DYNC_T(x, what) (x)
#define DYNC_D(x, what) (x)
/* the library's own calls say the user's place; dync.in.h's last lines end it */
#define DYNC_HERE dync__tls.at
/* functions that say dync__tls.at themselves: less code than handing it over */
#define DYNC_AT(f, ...) (f)(__VA_ARGS__)
#define DYNC_OP(f, p, op, ...) (f)(__VA_ARGS__)
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
/* handle.h; NULL: freed */
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
/* the inner error; status DYNC_OK if none */
DYNC__FN dync__error_slot dync__error_guard_end(dync__error_guard *);
/* record a saved error as this thread's own */
DYNC__FN void dync__error_raise(const dync__error_slot *);
/* A count of errors recorded so far by this thread: compare before and after to learn whether user
 * code failed. */
DYNC__FN uint64_t dync__error_count(void);

/* ---- memory ---------------------------------------------------------------------------------- */
/* The one door (mem.c). Sizes are always known at free. Aligned for every C type (16 bytes on
 * 64-bit machines); data 64-byte aligned. */
/* NULL and DYNC_ERR_MEMORY; n == 0 gives a unique pointer */
DYNC__FN void *dync__alloc(size_t n);
DYNC__FN void *dync__calloc(size_t n);
DYNC__FN void *dync__realloc(void *p, size_t old_n, size_t n); /* p stays valid on failure */
DYNC__FN void dync__free(void *p, size_t n);                   /* NULL allowed */
/* 64-byte aligned tensor data, from the per-thread size-class cache */
DYNC__FN void *dync__alloc_data(size_t n);
DYNC__FN void dync__free_data(void *p, size_t n);
DYNC__FN char *dync__strdup(const char *s); /* freed by dync__strfree */
DYNC__FN void dync__strfree(char *s);
typedef struct dync__mem_stats {
    int64_t live_bytes, peak_bytes, mallocs;
} dync__mem_stats;
/* mallocs: calls that reached DYNC_MALLOC or the static buffer */
DYNC__FN dync__mem_stats dync__mem_read_stats(void);
/* NULL: back to DYNC_MALLOC. false: too small, or memory is in use */
DYNC__FN bool dync__mem_set_buffer(void *memory, size_t n);
/* something came from DYNC_MALLOC or the buffer and has not gone back */
DYNC__FN bool dync__mem_in_use(void);
/* give this thread's cached blocks back */
DYNC__FN void dync__mem_trim(void);
/* recursion: the same for a thread that ends, and its cache itself; mem.c arms threads */
DYNC__FN void dync__mem_thread_end(dync__thread *);
/* Memory put aside for work that must not stop half way: a block from dync__alloc_data. Whoever
 * finds it gone does not free it. */
typedef struct dync__reserve {
    void *block;
    size_t bytes;
} dync__reserve;
/* Fault injection for tests: the nth next dync__alloc/realloc/alloc_data of this thread fails,
 * once; 0 switches it off. */
DYNC__FN void dync__mem_fail_at(int64_t nth);

/* ---- bump arena (arena.c): all IR of one compilation lives in one and dies at once ----------- */
/* zero = empty, ready */
typedef struct dync__arena {
    struct dync__arena_chunk *head;
    size_t used, chunk_size;
} dync__arena;
/* zeroed, 16-byte aligned; NULL + DYNC_ERR_MEMORY */
DYNC__FN void *dync__arena_alloc(dync__arena *, size_t n);
DYNC__FN char *dync__arena_strdup(dync__arena *, const char *);
DYNC__FN char *dync__arena_printf(dync__arena *, const char *fmt, ...) DYNC__PRINTF(2, 3);
DYNC__FN void *dync__arena_copy(dync__arena *, const void *src, size_t n);
DYNC__FN void dync__arena_free(dync__arena *);          /* back to zero */
DYNC__FN size_t dync__arena_bytes(const dync__arena *); /* that its chunks hold, at most */

/* ---- typed growable arrays: struct { T *at; int n, cap; }
 * dync__vec_push(&v, x) is false (and DYNC_ERR_MEMORY) when there is no room; free with
 * dync__vec_free(&v). x is evaluated once. dync__avec_push(arena, &v, x): the same in an arena,
 * never freed alone. */
#define DYNC__VEC(T) \
    struct {         \
        T *at;       \
        int n, cap;  \
    }
/* failure: at and *cap as they were */
DYNC__FN void *dync__vec_grow(dync__arena *arena_or_null, void *at, int *cap, int need,
                              size_t item);
#define dync__avec_reserve(arena, v, need)                                                   \
    ((void)((need) <= (v)->cap ||                                                            \
            ((v)->at = dync__vec_grow((arena), (v)->at, &(v)->cap, (need), sizeof *(v)->at), \
             false)),                                                                        \
     (need) <= (v)->cap)
#define dync__avec_push(arena, v, x) \
    (dync__avec_reserve((arena), (v), (v)->n + 1) && ((v)->at[(v)->n++] = (x), true))
#define dync__vec_reserve(v, need) dync__avec_reserve((dync__arena *)NULL, (v), (need))
#define dync__vec_push(v, x) dync__avec_push((dync__arena *)NULL, (v), (x))
#define dync__vec_free(v) \
    (dync__free((v)->at, (size_t)(v)->cap * sizeof *(v)->at), (v)->at = NULL, (v)->n = (v)->cap = 0)

/* ---- hash map uint64 -> uint64, open addressing (map.c). Zero = empty. Key 0 is allowed. ----- */
typedef struct dync__map {
    uint64_t *keys, *values;
    uint8_t *used;
    int n, cap;
} dync__map;
DYNC__FN bool dync__map_put(dync__map *, uint64_t key, uint64_t value);      /* false: no memory */
DYNC__FN bool dync__map_get(const dync__map *, uint64_t key, uint64_t *out); /* out may be NULL */
DYNC__FN bool dync__map_remove(dync__map *, uint64_t key);
DYNC__FN bool dync__map_copy(dync__map *to, const dync__map *from); /* to: empty */
DYNC__FN void dync__map_free(dync__map *);
DYNC__FN uint64_t dync__hash_bytes(const void *p, size_t n, uint64_t seed);
DYNC__FN uint64_t dync__hash_mix(uint64_t h, uint64_t x); /* fold one word in */

/* ---- strings (str.c): a sticky builder. Own formatter, so no stdio and no locale. ------------ */
/* zero = empty; at is NUL-terminated or NULL */
typedef struct dync__str {
    char *at;
    size_t n, cap;
    bool failed;
} dync__str;
DYNC__FN void dync__str_add(dync__str *, const char *text);
DYNC__FN void dync__str_addn(dync__str *, const char *text, size_t n);
DYNC__FN void dync__str_addc(dync__str *, char c);
/* %s %.*s %c %d %i %u %x %p %ld %lld %lu %llu %lx %llx %zu %g(shortest round trip double) %.Ng %f
 * %.Nf %e %%, width, - and 0 */
DYNC__FN void dync__str_addf(dync__str *, const char *fmt, ...) DYNC__PRINTF(2, 3);
DYNC__FN void dync__str_addv(dync__str *, const char *fmt, va_list);
/* as a C string literal, with its quotes */
DYNC__FN void dync__str_quote_c(dync__str *, const char *text);
/* letters, digits and _, no digit first */
DYNC__FN bool dync__is_name(const char *text, size_t n);
/* "" when empty or failed */
DYNC__FN const char *dync__str_get(const dync__str *);
DYNC__FN void dync__str_free(dync__str *);
/* recursion: snprintf's contract; errors are formatted, and builders of text report errors */
DYNC__FN int dync__format(char *out, size_t cap, const char *fmt, ...) DYNC__PRINTF(3, 4);
/* recursion: likewise */
DYNC__FN int dync__formatv(char *out, size_t cap, const char *fmt, va_list);
/* one copy per text, process-wide; NULL on no memory */
DYNC__FN const char *dync__intern(const char *s);
/* dync_shutdown: every interned text is gone */
DYNC__FN void dync__intern_clear(void);

/* ---- numbers (num.c) ------------------------------------------------------------------------- */
DYNC__FN float dync__f16_to_f32(uint16_t);
DYNC__FN uint16_t dync__f32_to_f16(float); /* round to nearest even */
DYNC__INLINE float dync__bf16_to_f32(uint16_t h)
{
    uint32_t u = (uint32_t)h << 16;
    float f;
    memcpy(&f, &u, 4);
    return f;
}
DYNC__FN uint16_t dync__f32_to_bf16(float);
/* false on overflow; a, b any sign */
DYNC__FN bool dync__mul_ok(int64_t a, int64_t b, int64_t *out);
DYNC__FN bool dync__add_ok(int64_t a, int64_t b, int64_t *out);
/* shortest text that reads back as x; "1", "0.5", "1e-07", "inf", "nan" */
DYNC__FN int dync__double_text(double x, char *out, size_t cap);
/* the same for a float */
DYNC__FN int dync__float_text(float x, char *out, size_t cap);
/* As printf's %f, %e or %g with this precision (-1: 6); snprintf's contract for out and cap. Exact,
 * ties to even. */
DYNC__FN int dync__double_format(double x, char conversion, int precision, char *out, size_t cap);
/* Correctly rounded, locale-free; false if s begins with no number, or if end is NULL and something
 * follows it. */
DYNC__FN bool dync__text_double(const char *s, const char **end, double *out);

/* ---- values by name (option.c) --------------------------------------------------------------- */
typedef enum {
    DYNC__OPTION_BOOL,
    DYNC__OPTION_INT,
    DYNC__OPTION_FLOAT,
    DYNC__OPTION_WORD,
    DYNC__OPTION_TEXT,
    DYNC__OPTION_PATH
} dync__option_kind;
/* a switch, or the path of a file as well */
typedef struct dync__option_path {
    int on;
    char path[512];
} dync__option_path;
typedef struct dync__option {
    const char *key;
    dync__option_kind kind;
    /* of the field: int (BOOL, INT; WORD: which), double, char[size], dync__option_path */
    size_t at, size;
    double least, most;
    /* INT: from the least on; what the name without a value means (0: it needs one) */
    int step, alone;
    const char *words, *help; /* WORD: "needed, all" */
    unsigned of;              /* whose option it is, for tables of several owners */
} dync__option;
/* value of n characters; NULL: the name stood alone. False: it is none of this kind and range, and
 * nothing was stored. */
DYNC__FN bool dync__option_store(const dync__option *, const char *value, size_t n, void *into);
/* "true or false", "a number from 0 to 3" */
DYNC__FN void dync__option_expects(const dync__option *, dync__str *);
/* "WHAT: expected ..., got 'VALUE'" */
DYNC__FN dync_status dync__option_fail(const dync__option *, const char *what,
                                       const char *value_or_null, size_t n);
/* The items of "key=value, key": returns where the next one begins, NULL where there is none.
 * Blanks around key and value do not count. */
typedef struct dync__option_item {
    const char *key, *value;
    int key_n;
    size_t value_n;
} dync__option_item;
DYNC__FN const char *dync__option_next(const char *text, dync__option_item *out);

/* ---- Philox4x32-10 (rng.c), Salmon et al., SC 2011. Counter-based: value i of a stream needs no
 * state. Key = seed, counter =
 * index: one block per number, so the kinds below never share bits. uniform_f32 = (out[0] >> 8) *
 * 2^-24, uniform_f64 = ((out[1]:out[0]) >> 11) * 2^-53, normal = sqrt(-2 log(1 - u)) * cos(2 pi v)
 * in double, u and v the doubles of out[0,1], out[2,3] (loop/expand.c). */
DYNC__FN void dync__philox_block(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);
/* counter {offset, 0}, key seed */
DYNC__FN void dync__philox(uint64_t seed, uint64_t offset, uint32_t out[4]);
DYNC__FN float dync__rng_uniform_f32(uint64_t seed, uint64_t index); /* [0, 1), 24 bits */
/* [0, 1), 53 bits; which 0: out[0,1], 1: out[2,3] */
DYNC__FN double dync__rng_uniform_f64(uint64_t seed, uint64_t index, int which);
/* by libm: kernels may differ in the last place */
DYNC__FN double dync__rng_normal(uint64_t seed, uint64_t index);
/* Takes n numbers of this thread's stream: returns the index of the first and moves on. */
DYNC__FN uint64_t dync__rng_take(uint64_t n);

/* ---- log and counters (log.c) ---------------------------------------------------------------- */
/* clang-format off */
#define DYNC__LOG_STAGES(X) \
    X(graph) X(guards) X(recompiles) X(aot) X(ir) X(code) X(perf) X(trace) X(joint) X(forward) \
    X(backward) X(loops) X(fused) X(tiled) X(memory) X(asm) X(passes)
/* clang-format on */
enum {
#define DYNC__X(name) DYNC__LOG_##name,
    DYNC__LOG_STAGES(DYNC__X)
#undef DYNC__X
        DYNC__N_LOG_STAGES
};
#if defined(DYNC_NO_STDIO)
/* Nothing can be printed: constants, so that what would have made the text is not linked. */
#define dync__log_on(stage) ((void)(stage), false)
#define dync__log(stage, ...) ((void)(stage), DYNC__UNSAID(__VA_ARGS__))
#define dync__log_text(stage, title, text) dync__log(stage, "%s%s", title, text)
#define dync__warn(...) DYNC__UNSAID(__VA_ARGS__)
#else
DYNC__FN bool dync__log_on(int stage);
/* one line "[stage] ..." to stderr */
DYNC__FN void dync__log(int stage, const char *fmt, ...) DYNC__PRINTF(2, 3);
DYNC__FN void dync__log_text(int stage, const char *title, const char *text); /* a block */
/* always to stderr */
DYNC__FN void dync__warn(const char *fmt, ...) DYNC__PRINTF(1, 2);
#endif
/* "graph,guards" as DYNC_LOG; replaces the choice; NULL or "": none; unknown names are warned
 * about. Nothing under NO_STDIO */
DYNC__FN void dync__log_set(const char *what);
/* stdout (nothing under NO_STDIO unless a hook is set) */
DYNC__FN void dync__out(const char *text);
/* One row per counter; read by dync_get_counters. */
typedef struct dync__counter_block {
    int64_t frames, ops, graphs, graph_breaks, recompiles, cache_hits, cache_misses,
        autograd_captures, autograd_compiles, lint_warnings;
} dync__counter_block;
DYNC__DATA_DECL dync__counter_block dync__counters; /* process-wide, relaxed atomic adds */
#define DYNC__COUNTER_ADD(name, k) ((void)DYNC__ATOMIC_ADD(&dync__counters.name, (k)))

/* ---- profiler (profile.c). Whoever reports asks dync__profile_on first. Names are copied; shapes:
 * "[[2, 3], []]" or NULL. */
DYNC__DATA_DECL int32_t dync__profiling;
/* an event that has begun */
typedef struct dync__profiled {
    int32_t outer, outer_epoch, event, epoch;
} dync__profiled;
DYNC__INLINE bool dync__profile_on(void)
{
    return DYNC__UNLIKELY(DYNC__ATOMIC_PEEK(&dync__profiling));
}
DYNC__FN dync__profiled dync__profile_begin(const char *prefix, const char *name,
                                            const char *shapes_or_null);
/* by the thread that began it; -1: none */
DYNC__FN void dync__profile_end(const dync__profiled *, int64_t seq, int64_t fwd_thread);
DYNC__FN dync_status dync__profile_table(dync__str *);
/* from 1, in the order in which threads are first asked */
DYNC__FN int32_t dync__thread_number(void);

/* ---- operating system (os.c). POSIX functions are declared there by hand: no feature macros
 * needed. */
/* zero = unlocked; spins, then yields: for short sections */
typedef struct dync__mutex {
    void *os;
    int32_t state;
} dync__mutex;
DYNC__FN void dync__lock(dync__mutex *);
/* one step of a waiting loop: a CPU pause at first, gives up the CPU later */
DYNC__FN void dync__pause(int round);
DYNC__FN void dync__unlock(dync__mutex *);
DYNC__FN uint64_t dync__now_ns(void);
DYNC__FN int dync__cpu_count(void); /* those that this thread may use */
/* the system's number of this thread; 0: it has none */
DYNC__FN int dync__thread_id(void);
/* Moves the thread of that number off the caller's processor, where it may use another. */
DYNC__FN void dync__thread_away(int thread);
/* AVX512: F, BW, DQ and VL */
enum {
    DYNC__CPU_AVX2 = 1,
    DYNC__CPU_FMA = 2,
    DYNC__CPU_AVX512 = 4,
    DYNC__CPU_F16C = 8,
    DYNC__CPU_VNNI = 16,
    DYNC__CPU_BF16 = 32
};
#define DYNC__CPU_KNOWN 0x80000000u
/* 0 off x86-64; cut down by DYNC_CPU=avx2|avx512|none */
DYNC__FN unsigned dync__cpu_features(void);
/* for tests, which then only make code: features | DYNC__CPU_KNOWN; 0: the truth again */
DYNC__FN void dync__cpu_pretend(unsigned features);
DYNC__FN const char *dync__env(const char *name); /* NULL under DYNC_NO_ENV */
/* A switch of the process: 2 on, 1 off, 0 (at first): as the variable of that name says: anything
 * but "" and "0" is on. */
DYNC__FN bool dync__switch_ask(int32_t *on, const char *name);
DYNC__INLINE bool dync__switch_on(int32_t *on, const char *name)
{
    int32_t now = DYNC__ATOMIC_PEEK(on);
    return now ? now == 2 : dync__switch_ask(on, name);
}
DYNC__FN int dync__os_process(void); /* tells a forked child from its parent */
/* Memory for machine code, whole pages: one file mapped twice; or private pages that are written,
 * then sealed for good. False or NULL where the system refuses. */
DYNC__FN bool dync__os_code_twice(size_t bytes, void **write, void **exec);
DYNC__FN void *dync__os_code_pages(size_t bytes);
DYNC__FN bool dync__os_code_seal(void *pages, size_t bytes);
DYNC__FN void dync__os_code_unmap(void *pages, size_t bytes);
/* Whole files (file.c; DYNC_ERR_IO with the reason). Read result is freed by dync__free(p, n + 1);
 * it is NUL-terminated. A write that fails leaves the old file. own: a folder that dync chose,
 * where a link is replaced, not followed; a line is appended to no link. */
DYNC__FN dync_status dync__file_read(const char *path, char **out, size_t *n);
DYNC__FN dync_status dync__file_write(const char *path, const void *data, size_t n);
DYNC__FN dync_status dync__file_write_own(const char *path, const void *data, size_t n);
DYNC__FN void dync__file_append_own(const char *path, const void *data, size_t n);
/* The bytes of a file, counted, that tensors may stand in (blob.c). Not mapped: bytes of
 * dync__alloc(n + 1). */
typedef struct dync__blob {
    int32_t refs;
    bool mapped;
    char *bytes;
    size_t n;
} dync__blob;
DYNC__FN dync_status dync__blob_open(const char *path, dync__blob **out);
DYNC__FN dync__blob *dync__blob_take(char *bytes, size_t n, bool mapped); /* freed on failure */
DYNC__FN void dync__blob_ref(dync__blob *);
DYNC__FN void dync__blob_unref(dync__blob *); /* NULL allowed */

/* ---- processes and folders (process.c) ------------------------------------------------------- */
typedef enum {
    DYNC__CHILD_DONE,
    DYNC__CHILD_CRASHED,
    DYNC__CHILD_HUNG,
    DYNC__CHILD_NONE /* no fork: nothing ran */
} dync__child_end;
DYNC__FN bool dync__child_possible(void);
/* fn(user, reply) in a copy of this process; the n bytes of reply come back. Killed after
 * timeout_ms. CRASHED: *signal_number, or 0 if it ended. */
DYNC__FN dync__child_end dync__child_run(void (*fn)(void *user, void *reply), void *user,
                                         void *reply, size_t n, int timeout_ms, int *signal_number);
/* and those above it; the last is no link; DYNC_ERR_IO */
DYNC__FN dync_status dync__folders_make(const char *path);
DYNC__FN void dync__folder_current(dync__str *out); /* "." where it is not known */
DYNC__FN int dync__process_id(void);
/* local time to the microsecond: 2024_05_17_13_45_10_123456 */
DYNC__FN void dync__date_text(dync__str *out);

/* ---- thread pool (pool.c) -------------------------------------------------------------------- */
DYNC__FN int dync__pool_threads(void); /* 1 where there are no threads */
/* Threads for a loop that takes about ns on one: 1 where waking the others is not worth it. It
 * depends on whether they are awake: only for loops whose results do not depend on how they are
 * split. */
DYNC__FN int dync__pool_worth(double ns);
/* Parts, at most `most`, to cut a loop into that so many threads share and that takes about ns on
 * one: some for each thread where they are long enough, as threads that are done take those of
 * others. */
DYNC__FN int dync__pool_pieces(int threads, double ns, int64_t most);
/* 0: as many as CPUs, or DYNC_THREADS; not while it runs */
DYNC__FN void dync__pool_set_threads(int n);
/* joins the workers; the next run starts them again */
DYNC__FN void dync__pool_stop(void);
/* fn(user, part, n_parts) for every part, by this thread and the pool; returns when all are done.
 * Nested calls run inline. */
DYNC__FN void dync__pool_run(void (*fn)(void *user, int part, int n_parts), void *user,
                             int n_parts);
/* What is known of loops of one octave of length: being tried, or which way was faster. way, left:
 * any thread reads and writes them, in no order; the rest belongs to who runs a loop. */
enum { DYNC__POOL_TRIED, DYNC__POOL_ALONE, DYNC__POOL_SHARED };
/* For tests, while nothing runs: loops of any length and at any time run this way; TRIED: as they
 * are worth. */
DYNC__FN void dync__pool_force(int way);
#if !defined(DYNC_NO_THREADS)
typedef struct dync__pool_trial {
    int32_t way, left;                /* left: loops until it is tried again */
    int32_t settled, next;            /* the last finding, and for how many loops it holds */
    int32_t n[2];                     /* alone, shared: how many were tried */
    float took[2][DYNC__POOL_TRIALS]; /* the time of these over what they were expected to take */
    uint32_t chance;                  /* a random number, of Marsaglia's xorshift */
} dync__pool_trial;
DYNC__FN dync__pool_trial *dync__pool_trial_of(int32_t ns);
/* With the pool held: is the loop on trial to run alone? Chance, so that loops which follow each
 * other in a pattern are tried both ways. */
DYNC__FN bool dync__pool_tries_alone(dync__pool_trial *);
DYNC__FN void dync__pool_try_again(void); /* nothing is known any more */
/* A loop on trial took so many ns. After POOL_TRIALS of both ways `way` says which has the smaller
 * median: what other programs held up, and cold caches, move it little. */
DYNC__FN void dync__pool_tried(dync__pool_trial *, bool shared, int32_t expected, uint64_t took);
#endif

/* ---- JSON (json.c): strict reader over a text, sticky writer over dync__str ------------------ */
typedef enum {
    DYNC__JSON_NULL,
    DYNC__JSON_BOOL,
    DYNC__JSON_NUM,
    DYNC__JSON_STR,
    DYNC__JSON_ARR,
    DYNC__JSON_OBJ
} dync__json_kind;
typedef struct dync__json {
    dync__json_kind kind;
    bool b;
    double num;
    int64_t i; /* exact where the text was an integer that fits */
    bool is_int;
    const char *str;         /* NUL-terminated, unescaped */
    int n;                   /* items or members */
    struct dync__json *item; /* n values */
    const char **key;        /* n keys of an object */
} dync__json;
/* NULL + DYNC_ERR_FORMAT; depth <= 64 */
DYNC__FN dync__json *dync__json_parse(dync__arena *, const char *text, size_t n);
/* NULL if absent or no object */
DYNC__FN const dync__json *dync__json_get(const dync__json *obj, const char *key);
/* with the quotes */
DYNC__FN void dync__json_quote(dync__str *, const char *text);
#endif
