/* codegen/conv_code.c: the code of tiles of conv_code.h, found by their description in a table.
 * Before: gen_conv.c, gen_planes.c make it; after: kernel/conv_plan.c asks.
 *
 * A form that no layer holds any more goes when there are more than IDLE. */
#include "../dync.in.h"
#include "gen_conv.h"
DYNC__LEAN
#if DYNC__JIT

typedef struct dync__ct_entry {
    struct dync__ct_entry *next;
    int users;
    dync__ctile key;
    dync__codeblock block;
} dync__ct_entry;
static struct {
    dync__mutex lock;
    dync__ct_entry *entry[128];
    int n;
    uint32_t epoch; /* another one after dync_shutdown */
} dync__cts;

static void dync__cts_shutdown(void)
{
    dync__lock(&dync__cts.lock);
    for (int i = 0; i < DYNC__COUNT_OF(dync__cts.entry); i++)
        while (dync__cts.entry[i]) {
            dync__ct_entry *e = dync__cts.entry[i];
            dync__cts.entry[i] = e->next;
            dync__codemem_free(&e->block);
            dync__free(e, sizeof *e);
        }
    dync__cts.n = 0;
    dync__cts.epoch++;
    dync__unlock(&dync__cts.lock);
}

/* A tile of no accumulators (P 0) stands for a block move: lanes its vectors, K channels, op the
 * direction. */
static dync__ct_entry *dync__ct_make(const dync__ctile *t)
{
    dync__arena arena = {0};
    dync__ct c = {.tile = {.at = dync__ct_source}, .t = t, .v = dync__vt_of(DYNC_F32, t->lanes)};
    dync__ct_entry *e = NULL;
    dync__str listing = {0};
    if (!(c.g = dync__gen_after_new(&arena, &c.tile, dync__target_for(t->level), t->lanes,
                                    &t->after)))
        return dync__arena_free(&arena), NULL;
    c.a = &c.g->a;
    c.a->scratch = dync__ct_scratch;
    if (dync__a_listed()) c.a->listing = &listing;
    if (t->P)
        dync__ct_emit(&c);
    else
        dync__cb_emit(&c, t->op != 0);
    if ((e = dync__calloc(sizeof *e)) && !dync__a_install(c.a, &e->block)) {
        dync__free(e, sizeof *e);
        e = NULL;
    }
    if (e) memcpy(&e->key, t, sizeof *t);
    if (e && c.a->listing)
        dync__log_text(DYNC__LOG_code, t->P ? "conv tile" : "blocks of channels",
                       dync__str_get(&listing));
    dync__str_free(&listing);
    dync__arena_free(&arena);
    return e;
}

/* By what most tiles differ in: all of it takes longer than looking at those that agree so far. */
static uint64_t dync__ct_at(const dync__ctile *t)
{
    const int32_t some[] = {t->level, t->lanes,    t->op,       t->flags,     t->P,
                            t->B,     t->across,   t->after.n,  t->K,         t->in_k,
                            t->w_k,   t->in_at[1], t->in_at[4], t->out_at[1], t->out_at[4]};
    return dync__hash_bytes(some, sizeof some, 0) % (uint64_t)DYNC__COUNT_OF(dync__cts.entry);
}

DYNC__FN dync__ccode dync__ctile_code(dync__cheld *held, const dync__ctile *t)
{
    dync__error_guard guard;
    dync__ccode code = NULL;
    uint64_t at = dync__ct_at(t);
    dync__lock(&dync__cts.lock);
    dync__ct_entry *e = dync__cts.entry[at];
    while (e && memcmp(&e->key, t, sizeof *t) != 0) e = e->next;
    bool make = !e;
    if (make) {
        dync__error_guard_begin(&guard); /* without memory the portable form serves */
        e = dync__ct_make(t);
        dync__error_guard_end(&guard);
    }
    if (make && e) {
        e->next = dync__cts.entry[at];
        dync__cts.entry[at] = e;
        dync__cts.n++;
    }
    void *form = e;
    if (e && !dync__avec_push(held->arena, &held->form, form)) e = NULL;
    if (e) e->users++;
    held->epoch = dync__cts.epoch;
    dync__unlock(&dync__cts.lock);
    if (make && form) dync__at_shutdown(dync__cts_shutdown);
    if (e) memcpy(&code, &e->block.exec, sizeof code);
    return code;
}

DYNC__FN void dync__ctile_drop(dync__cheld *held)
{
    dync__lock(&dync__cts.lock);
    for (int i = 0; i < held->form.n && held->epoch == dync__cts.epoch; i++) {
        dync__ct_entry *e = held->form.at[i], **from = &dync__cts.entry[dync__ct_at(&e->key)];
        if (--e->users > 0 || dync__cts.n <= DYNC__CT_IDLE) continue;
        while (*from != e) from = &(*from)->next;
        *from = e->next;
        dync__codemem_free(&e->block);
        dync__free(e, sizeof *e);
        dync__cts.n--;
    }
    held->form.n = 0;
    dync__unlock(&dync__cts.lock);
}

DYNC__FN dync__ccode dync__cblock_code(dync__cheld *held, int V, int64_t n, bool to_blocks)
{
    const dync__target *target = dync__target_now();
    int lanes = target->vector_bytes / 4;
    dync__ctile t;
    memset(&t, 0, sizeof t);
    while (lanes > 4 && n < lanes) lanes /= 2;
    t.level = (int8_t)target->level;
    t.lanes = (int8_t)lanes;
    t.K = V;
    t.op = to_blocks;
    return dync__ctile_code(held, &t);
}
#endif
