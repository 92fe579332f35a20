/* base/base.h: what every stage stands on: limits.h, state.h, memory.h, text.h, system.h, and here
 * random numbers, the log and the profiler (rng.c log.c profile.c). No tensors; it could live in
 * any C project. */
#ifndef DYNC__BASE_H
#define DYNC__BASE_H
#include "leave.h"
#include "system.h"

/* ---- Philox4x32-10 (rng.c), Salmon et al., SC 2011. Counter-based: value i of a stream needs no
 * state; key = seed. docs/decisions/random-numbers.md.
 * Numbers of 32 bits use whole blocks: of 32 numbers, number 8 w + j (j < 8) has word w of block j
 * of their eight; a normal one needs the words of its pair, w & 2 and w | 1. Block b has counter
 * {b, 1, 0} for uniform numbers and {b, 2, 0} for normal ones. uniform_f32 = (word >> 8) * 2^-24.
 * Numbers of 64 bits have a block each, counter {index, 0, 0}: uniform_f64 = ((out[1]:out[0]) >>
 * 11) * 2^-53, normal = sqrt(-2 log(1 - u)) * cos(2 pi v) in double, u and v the doubles of
 * out[0,1], out[2,3]. Normal ones of either width: loop/expand.c. */
enum { DYNC__DRAW_UNIFORM, DYNC__DRAW_NORMAL, DYNC__DRAW_SECOND, DYNC__DRAW_FIRST };
DYNC__FN void dync__philox_block(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);
/* counter {offset, 0}, key seed */
DYNC__FN void dync__philox(uint64_t seed, uint64_t offset, uint32_t out[4]);
/* dync__draw_block: of which blocks. */
DYNC__INLINE int dync__draw_block(int kind) { return kind == DYNC__DRAW_UNIFORM ? 1 : 2; }
/* 32 bits of number `index`. UNIFORM: its own word; FIRST: that of the even one of its pair;
 * SECOND: that of the odd one, less a quarter turn (2^30) for the odd one itself: the other one's
 * sine. */
DYNC__FN uint32_t dync__rng_word(uint64_t seed, uint64_t index, int kind);
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

#endif
