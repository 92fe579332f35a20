/* base/leave.c: has the function that a frame of the library waits for been left? After process.c.
 *
 * Stacks grow downwards. A call from above the waiting frame proves that the frame is gone, and so
 * does another return address where that of the frame stood. Without either another function may
 * have reserved the place and not written to it yet: the stack is walked up to there, and the frame
 * is there if and only if what stands there returns to where it did. A walk takes 20 us: depths of
 * the stack that were found inside are remembered, so that most calls read one word. Where the walk
 * does not get that far (another stack, code without tables), or there is none, the frame is taken
 * to be there. */
#include "../dync.in.h"
#include "leave.h"
DYNC__WARM

#if !defined(DYNC_SMALL) && defined(__GNUC__) && (defined(__unix__) || defined(__APPLE__)) && \
    (defined(__x86_64__) || defined(__i386__) || defined(__aarch64__))
#define DYNC__LEAVE_WALKS
#include <unwind.h>
#if defined(__linux__) && !defined(__GLIBC__)
/* of what a program is linked with: a static one by musl-gcc has none */
#pragma weak _Unwind_Backtrace
#pragma weak _Unwind_GetCFA
#pragma weak _Unwind_GetIP
#define DYNC__HAS_WALK() (_Unwind_Backtrace != NULL)
#else
#define DYNC__HAS_WALK() true
#endif
#endif

DYNC__FN void dync__wait_begin(dync__wait *w, const void *frame, const void *back,
                               dync__wait_unwind *unwind)
{
    dync__thread *tls = &dync__tls;
    *w = (dync__wait){.below = tls->waits,
                      .frame = frame,
                      .back = back,
                      .unwind = unwind,
                      .op = tls->op,
                      .within = tls->within,
                      .at = tls->at};
    tls->waits = w;
}

DYNC__FN bool dync__wait_among(const dync__wait *w, const dync__wait *rest)
{
    while (rest && rest != w) rest = rest->below;
    return rest != NULL;
}

/* Those above `last` in the list; the outermost of them that has something to say says it. */
static void dync__waits_unwind(const dync__wait *last)
{
    const dync__wait *speaks = NULL;
    for (const dync__wait *w = dync__tls.waits; w != last; w = w->below)
        if (!w->silent) speaks = w;
    while (dync__tls.waits != last) {
        dync__wait *w = dync__tls.waits;
        dync__tls.waits = w->below;
        dync__tls.op = w->op;
        dync__tls.within = w->within;
        dync__tls.at = w->at;
        w->unwind(w, last, w != speaks);
    }
}

DYNC__FN void dync__wait_over(const dync__wait *w)
{
    if (DYNC__UNLIKELY(dync__tls.waits != w)) dync__waits_unwind(w);
}

DYNC__FN void dync__wait_end(dync__wait *w)
{
    dync__wait_over(w);
    dync__tls.waits = w->below;
}

#if defined(DYNC__LEAVE_WALKS)
typedef struct dync__stack_walk {
    const dync__wait *w;
    bool gone;
} dync__stack_walk;

/* The first caller that stands above the frame is whom the frame returns to. */
static _Unwind_Reason_Code dync__stack_step(struct _Unwind_Context *at, void *walk)
{
    dync__stack_walk *s = walk;
    if ((uintptr_t)_Unwind_GetCFA(at) <= (uintptr_t)s->w->frame) return _URC_NO_REASON;
    s->gone = (uintptr_t)_Unwind_GetIP(at) != (uintptr_t)s->w->back;
    return _URC_NORMAL_STOP;
}

/* On all of these processors the return address stands behind the word that a frame's address
 * points to. If the frame is gone the word may be another variable's, and poisoned. */
__attribute__((noinline, no_sanitize("address", "undefined"))) static bool dync__wait_stands(
    const dync__wait *w)
{
#if defined(__ARM_FEATURE_PAC_DEFAULT) /* it stands there signed */
    return w != NULL;
#else
    const void *const volatile *frame = w->frame;
    return frame[1] == w->back;
#endif
}

/* Depths of the stack inside of waiting frames, by a hash of both, the last one first; 0: free. In
 * sets, since a walk costs as much as a call: two depths of one function must not take turns. */
enum { DYNC__DEPTHS_SET = 4 };
static DYNC__TLS uint64_t dync__depths_inside[64][DYNC__DEPTHS_SET];

/* Those that were asked about last, by where the call stands: most calls are one of them. */
typedef struct dync__depth_inside {
    const void *frame, *back, *here;
} dync__depth_inside;
enum { DYNC__DEPTHS_LAST = 16 };
static DYNC__TLS dync__depth_inside dync__depths_last[DYNC__DEPTHS_LAST];

/* Found by a walk, or known from an earlier one. */
static bool dync__wait_left(const dync__wait *w, const void *here)
{
    const uintptr_t word[3] = {(uintptr_t)w->frame, (uintptr_t)w->back, (uintptr_t)here};
    uint64_t key = 0;
    for (int i = 0; i < 3; i++) key = (key ^ word[i]) * UINT64_C(0x9E3779B97F4A7C15) + (key >> 29);
    uint64_t *known = dync__depths_inside[key >> 58];
    for (int i = 0; i < DYNC__DEPTHS_SET; i++)
        if (known[i] == key) return false;
    dync__stack_walk walk = {w, false};
    (void)_Unwind_Backtrace(dync__stack_step, &walk);
    if (walk.gone) return true;
    memmove(known + 1, known, (DYNC__DEPTHS_SET - 1) * sizeof *known);
    known[0] = key;
    return false;
}

static bool dync__wait_gone(const dync__wait *w, const void *here)
{
    dync__depth_inside *last = &dync__depths_last[(uintptr_t)here / 16 % DYNC__DEPTHS_LAST];
    if (!dync__wait_stands(w)) return true;
    if (last->here == here && last->frame == w->frame && last->back == w->back) return false;
    if (!DYNC__HAS_WALK()) return false;
    if (dync__wait_left(w, here)) return true;
    *last = (dync__depth_inside){w->frame, w->back, here};
    return false;
}
#else
static bool dync__wait_gone(const dync__wait *w, const void *here)
{
    (void)w, (void)here;
    return false;
}
#endif

DYNC__NOINLINE DYNC__FN bool dync__waits_end_left(void)
{
    const dync__wait *w = dync__tls.waits;
    const void *here = DYNC__FRAME();
    while (w && ((uintptr_t)here > (uintptr_t)w->frame || (w->back && dync__wait_gone(w, here))))
        w = w->below;
    if (DYNC__LIKELY(w == dync__tls.waits)) return false;
    dync__waits_unwind(w);
    return true;
}
