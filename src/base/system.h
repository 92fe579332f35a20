/* base/system.h: what the operating system gives: locks, time, processors, pages for code, files,
 * processes, and the threads of the pool. Implementations: os.c cpu.c file.c blob.c process.c
 * pool*.c */
#ifndef DYNC__SYSTEM_H
#define DYNC__SYSTEM_H
#include "text.h"

/* ---- operating system (os.c). POSIX functions are declared there by hand: no feature macros
 * needed. */
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
DYNC__FN int64_t dync__cpu_l2_bytes(void);        /* a core's second cache; 0: not known */
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
/* Large pages (Linux: transparent huge ones), where the system gives them on request: for what lies
 * in these bytes of the heap, not touched yet. */
enum { DYNC__OS_LARGE = 2 << 20 };
DYNC__FN void dync__os_large_wanted(void *p, size_t bytes);
/* Memory of so many bytes, a power of two, that begins at a multiple of them, one page where the
 * system can; NULL: there is none. */
DYNC__FN void *dync__os_large_page(size_t bytes);
DYNC__FN void dync__os_large_unmap(void *page, size_t bytes);
#if defined(_WIN32)
DYNC__FN void dync__os_stack_touch(void);
#endif
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
/* Without files each of these fails, and compilers see it: what would read a file is not linked,
 * nor what would make one, where its writer asks DYNC__WRITES before. */
#define DYNC__WRITES(path) \
    if (DYNC__LEFT_OUT(DYNC_NO_STDIO)) return dync__file_write(path, NULL, 0)
#if defined(DYNC_NO_STDIO)
#define dync__file_read(path, out, n) ((void)(dync__file_read)(path, out, n), DYNC_ERR_IO)
#define dync__file_write(path, data, n) ((void)(dync__file_write)(path, data, n), DYNC_ERR_IO)
#define dync__file_write_own(path, data, n) \
    ((void)(dync__file_write_own)(path, data, n), DYNC_ERR_IO)
#define dync__blob_open(path, out) ((void)(dync__blob_open)(path, out), DYNC_ERR_IO)
#endif

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
#endif
