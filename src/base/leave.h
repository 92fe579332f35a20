/* base/leave.h: frames of the library that wait for a function of the user's, which may never
 * return to them (longjmp, a C++ exception). Each stands in a list of its thread, the innermost
 * first; what lies in the list is on the heap, and what would have to be put back lies in it.
 * Implementation: leave.c. */
#ifndef DYNC__LEAVE_H
#define DYNC__LEAVE_H
#include "state.h"

struct dync__wait;
/* rest: those that still wait */
typedef void dync__wait_unwind(struct dync__wait *, const struct dync__wait *rest, bool quiet);
typedef struct dync__wait {
    struct dync__wait *below;
    /* the frame that waits, and where it returns to. Without the second a call is known to come
     * from outside by its address alone. */
    const void *frame, *back;
    /* puts all back and frees; it is out of the list already. quiet: one around it says so */
    dync__wait_unwind *unwind;
    bool silent;             /* nothing is lost with it: nothing is said */
    const char *op, *within; /* of the thread, as they were */
    dync_loc at;
} dync__wait;

#if defined(__GNUC__)
#define DYNC__FRAME() __builtin_frame_address(0)
#define DYNC__BACK() __builtin_return_address(0)
#else
#define DYNC__FRAME() ((const void *)&(char){0})
#define DYNC__BACK() NULL
#endif
/* In the function that waits, which returns behind the end. */
#define DYNC__WAIT_BEGIN(w, unwind) dync__wait_begin(w, DYNC__FRAME(), DYNC__BACK(), unwind)
DYNC__FN void dync__wait_begin(dync__wait *, const void *frame, const void *back,
                               dync__wait_unwind *unwind);
DYNC__FN bool dync__wait_among(const dync__wait *, const dync__wait *rest);
/* The function has returned: those that it left inside are unwound. */
DYNC__FN void dync__wait_over(const dync__wait *);
DYNC__FN void dync__wait_end(dync__wait *); /* the same, and it is out of the list */
/* Unwinds those that were left before this call of the user's. True: there were some. */
DYNC__FN bool dync__waits_end_left(void);
DYNC__INLINE bool dync__waits_left(void)
{
    return DYNC__UNLIKELY(dync__tls.waits != NULL) && dync__waits_end_left();
}
#endif
