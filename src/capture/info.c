/* capture/info.c: what happened to a compiled function, told. After compiled.c, before miss.c. */
#include "../dync.in.h"
#include "capture.h"
DYNC__WARM

static double dync__ms(uint64_t ns) { return (double)ns * 1e-6; }

/* Entries and segments are only ever added while calls are in flight; dead entries are counted in
 * n_entries no more. */
static void dync__info_fill(dync__compiled *f, dync_compiled_information *o)
{
    const dync__history *h = &f->history;
    dync__code_size size = {0};
    dync__lock(&f->lock);
    o->entries = f->n_entries;
    for (const dync__segment *s = f->segments; s; s = s->next) {
        o->graphs++;
        dync__callable_measure(&s->code, &size);
    }
    dync__unlock(&f->lock);
    dync__map_free(&size.counted);
    o->hits = dync__history_hits(h);
    o->misses = DYNC__ATOMIC_PEEK(&h->misses);
    o->eager = DYNC__ATOMIC_PEEK(&h->eager);
#define DYNC__X(name) o->by.name = DYNC__ATOMIC_PEEK(&h->by[DYNC__MISS_##name]);
    DYNC__MISSES(DYNC__X)
#undef DYNC__X
    o->code_bytes = size.code;
    o->arena_bytes = size.arena;
    uint64_t trace = DYNC__ATOMIC_PEEK(&h->trace_ns), compile = DYNC__ATOMIC_PEEK(&h->compile_ns),
             run = DYNC__ATOMIC_PEEK(&h->run_ns);
    o->compile_ms = dync__ms(compile);
    o->capture_ms = trace > compile + run ? dync__ms(trace - compile - run) : 0;
}

DYNC_API dync_compiled_information(dync_compiled_info)(const dync_compiled *handle)
{
    dync_compiled_information o;
    memset(&o, 0, sizeof o);
    dync__compiled *f = dync__compiled_open(handle, "dync_compiled_info");
    if (f) dync__info_fill(f, &o);
    return o;
}
