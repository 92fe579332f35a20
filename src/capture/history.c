/* capture/history.c: what happens to a compiled function, counted, and the warning after a stretch
 * of misses. After stance.c, before segment.c. */
#include "../dync.in.h"
#include "capture.h"
DYNC__WARM

/* At a miss the calls since misses were last rare are looked at: where 16 of them were misses and
 * no more were hits, compiling costs more than it gives, and it is said once. */
enum { DYNC__STRETCH = 16, DYNC__STRETCH_RARE = 4 };

DYNC__FN int64_t dync__history_hits(const dync__history *h)
{
    return DYNC__ATOMIC_PEEK(&h->hits) + DYNC__ATOMIC_PEEK(&h->other_hits);
}

DYNC__RARE DYNC__FN void dync__history_miss(dync__compiled *f, dync__miss_kind kind)
{
    (void)DYNC__ATOMIC_ADD(&f->history.misses, 1);
    (void)DYNC__ATOMIC_ADD(&f->history.by[kind], 1);
}

/* Under no lock: two threads that miss at once may count one miss of a stretch. */
DYNC__RARE DYNC__FN void dync__history_stretch(dync__compiled *f, const char *reason,
                                               const char *remedy)
{
    dync__history *h = &f->history;
    int64_t hits = dync__history_hits(h) - DYNC__ATOMIC_PEEK(&h->stretch_hits),
            misses = DYNC__ATOMIC_PEEK(&h->stretch_misses) + 1;
    bool over = misses >= DYNC__STRETCH || hits > DYNC__STRETCH_RARE * misses;
    DYNC__ATOMIC_STORE(&h->stretch_misses, over ? 0 : misses);
    if (over) DYNC__ATOMIC_STORE(&h->stretch_hits, dync__history_hits(h));
    if (misses < DYNC__STRETCH || hits > misses || DYNC__ATOMIC_LOAD(&h->told)) return;
    DYNC__ATOMIC_STORE(&h->told, true);
    dync_loc at = dync__compiled_place(f);
    dync__warn("function '%s' (%s:%d) was compiled in %lld of its last %lld calls\n"
               "   last reason: %s\n"
               "To compile it less often, %s. dync_compiled_info counts misses by reason.",
               f->name, at.file, at.line, (long long)misses, (long long)(misses + hits), reason,
               remedy);
}
