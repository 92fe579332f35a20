/* codegen/jit.c: kernels as machine code, made once for all of one structure. Before: plan_code.c
 * decides, gen_kernel.c generates; after: jit_part.c, jit_run.c.
 *
 * Code is shared: a kernel's structure (instructions, which accesses lie along the lanes, how many
 * loops) is its key, extents, strides and buffers are words of the argument block that every run
 * fills. Kernels that are not covered stay interpreted; DYNC_LOG=code names the reason. perf:
 * DYNC_PERF_MAP=1 writes /tmp/perf-PID.map. */
#include "../dync.in.h"
#include "jit.h"
#include "plan_code.h"
DYNC__LEAN
#if DYNC__JIT

enum { DYNC__JIT_FRAME = 64 * 1024 };

static struct {
    dync__mutex lock;
    dync__jit_form *forms[64];
    dync__jit_stats stats;
} dync__jits;

/* ---- forms ----------------------------------------------------------------------------------- */

static void dync__jit_perf_map(const dync__jit_form *f, const char *name)
{
#if !defined(DYNC_NO_STDIO)
    char path[64];
    const char *on = dync__env("DYNC_PERF_MAP");
    if (!on || !*on || strcmp(on, "0") == 0) return;
    dync__format(path, sizeof path, "/tmp/perf-%d.map", dync__os_process());
    dync__str s = {0};
    dync__str_addf(&s, "%llx %llx dync_%s\n", (unsigned long long)(uintptr_t)f->block.exec,
                   (unsigned long long)f->code_bytes, name);
    if (!s.failed) dync__file_append_own(path, dync__str_get(&s), s.n);
    dync__str_free(&s);
#else
    (void)f, (void)name;
#endif
}

static void dync__jit_form_free(dync__jit_form *f)
{
    dync__codemem_free(&f->block);
    if (f->key) dync__free(f->key, f->key_bytes);
    dync__free(f, sizeof *f);
}

/* Under the lock. */
static dync__jit_form *dync__jit_known(uint64_t hash, const dync__str *key)
{
    dync__jit_form *f = dync__jits.forms[hash % 64];
    while (f && (f->hash != hash || f->key_bytes != key->n || memcmp(f->key, key->at, key->n) != 0))
        f = f->next;
    if (f) {
        f->users++;
        dync__jits.stats.shared++;
    }
    return f;
}

static dync__jit_form *dync__jit_lookup(uint64_t hash, const dync__str *key)
{
    dync__lock(&dync__jits.lock);
    dync__jit_form *f = dync__jit_known(hash, key);
    dync__unlock(&dync__jits.lock);
    return f;
}

/* Enters the form; where another thread has entered its own in the meantime, that one is used: a
 * structure has one form. */
static dync__jit_form *dync__jit_enter(dync__jit_form *f, const dync__str *key)
{
    dync__lock(&dync__jits.lock);
    dync__jit_form *known = f->key ? dync__jit_known(f->hash, key) : NULL;
    if (!known) dync__jits.stats.kernels++;
    if (!known && f->key) {
        f->next = dync__jits.forms[f->hash % 64];
        dync__jits.forms[f->hash % 64] = f;
    }
    dync__unlock(&dync__jits.lock);
    if (known) dync__jit_form_free(f);
    return known ? known : f;
}

static void dync__jit_release(dync__jit_form *f)
{
    dync__lock(&dync__jits.lock);
    bool last = --f->users == 0;
    if (last && f->key) {
        dync__jit_form **at = &dync__jits.forms[f->hash % 64];
        while (*at != f) at = &(*at)->next;
        *at = f->next;
    }
    dync__unlock(&dync__jits.lock);
    if (last) dync__jit_form_free(f);
}

/* Emits, and enters the form; NULL: there is no memory, or none that executes. */
static dync__jit_form *dync__jit_make(dync__jb *j, uint64_t hash, const dync__str *key)
{
    dync__gen *g = j->g;
    if (!dync__avec_reserve(j->b->arena, &g->a.code, 4096) ||
        !dync__avec_reserve(j->b->arena, &g->a.pool, 1024))
        return NULL;
    dync__gen_emit(g);
    if (g->frame > DYNC__JIT_FRAME) return NULL;
    dync__jit_form *f = dync__calloc(sizeof *f);
    if (!f) return NULL;
    if (!g->a.listing) {
        f->key = dync__alloc(key->n);
        f->key_bytes = key->n;
        if (f->key) memcpy(f->key, key->at, key->n);
    }
    if (!g->a.listing && !f->key) goto fail;
    f->code_bytes = dync__a_install(&g->a, &f->block);
    if (f->code_bytes == 0) goto fail;
    f->hash = hash;
    f->users = 1;
    f->frame = g->frame + 64;
    f->unroll = g->U;
    f->strip = g->strip;
    f->slots = g->slots;
    f->slot_bytes = g->slot_bytes;
    dync__jit_perf_map(f, j->b->k->name);
    return dync__jit_enter(f, key);
fail:
    if (f->key) dync__free(f->key, f->key_bytes);
    dync__free(f, sizeof *f);
    return NULL;
}

/* ---- compiling ------------------------------------------------------------------------------- */

static dync__jit *dync__jb_compile(dync__jb *j, dync__str *key, dync__str *listing)
{
    dync__gen *g = j->g;
    g->n_lists = 2 * j->b->n_phases + 2;
    if (!dync__gen_alloc_values(g, j->b->arena, j->b->k->inst.n + 1)) return NULL;
    if ((g->why = dync__jb_plan(j))) return NULL;
    dync__gen_find_cones(g);
    dync__jb_streams(j);
    dync__jb_width(j);
    if (j->way == DYNC__JB_NONTEMPORAL) dync__jb_is_large(j);
    if (g->a.failed || (g->why = dync__jb_refuses(j)) || !dync__jb_lists(j)) return NULL;
    g->tall = dync__jb_is_tall(j);
    g->square = j->way == DYNC__JB_SQUARE;
    if (g->square && !dync__jb_is_square(j)) return NULL;
    g->brief = !g->split && !g->tall && !j->blocks &&
               (g->vertical ? !dync__sz_lt(16, j->b->n_inner)
                            : j->inner.n == 0 && !dync__sz_lt(DYNC__GEN_GRAIN, j->lanes));
    g->strip = dync__jb_strip(j);
    int64_t keep = 0;
    for (int i = 0; i < j->b->k->inst.n; i++)
        if (j->b->needed[i] && j->b->keep[i])
            keep = dync__sz_add(keep, dync__jb_keep_bytes(j, i, DYNC__GEN_UNROLL));
    if (dync__sz_lt(DYNC__JIT_KEEP, keep)) {
        g->why = "a long row buffer";
        return NULL;
    }
    g->a.listing = listing;
    dync__jb_key(j, key);
    if (key->failed) return NULL;
    uint64_t hash = dync__hash_bytes(key->at, key->n, 0);
    dync__jit_form *form = listing ? NULL : dync__jit_lookup(hash, key);
    if (!form) form = dync__jit_make(j, hash, key);
    if (!form) {
        g->why = "no code";
        return NULL;
    }
    dync__jit *jit = dync__jb_finish(j, form);
    if (!jit) dync__jit_release(form);
    return jit;
}

static dync__jit *dync__jit_decline(const dync__loop_plan *b, const char *why)
{
    dync__lock(&dync__jits.lock);
    dync__jits.stats.declined++;
    dync__jits.stats.why = why;
    dync__unlock(&dync__jits.lock);
    dync__log(DYNC__LOG_code, "kernel %s stays interpreted: %s", b->k->name,
              why ? why : "no memory");
    return NULL;
}

/* *why: where there is none. large: the kernel's arrays are. */
static dync__jit *dync__jit_try(dync__loop_plan *b, int level, int way, const char **why,
                                bool *large)
{
    dync__str key = {0}, listing = {0};
    dync__gen *g = dync__arena_alloc(b->arena, sizeof *g);
    if (!g) return NULL;
    dync__jb j = {.b = b, .g = g, .lane_loop = -1, .way = way};
    g->b = b;
    dync__a_begin(&g->a, dync__target_for(level), b->arena);
    g->a.owner = g;
    g->a.scratch = dync__gen_scratch;
    dync__jit *jit = dync__jb_compile(&j, &key, dync__a_listed() ? &listing : NULL);
    dync__str_free(&key);
    dync__str_free(&listing);
    *why = g->why;
    *large = jit && dync__jb_is_large(&j);
    return jit;
}

DYNC__FN dync__jit *dync__jit_new(dync__loop_plan *b, int level)
{
    dync__error_guard guard;
    const char *why = NULL;
    bool large = false;
    if (!dync__target_for(level)) return NULL;
    /* an allocation that fails here only leaves the kernel interpreted */
    dync__error_guard_begin(&guard);
    dync__jit *jit = dync__jit_try(b, level, DYNC__JB_PLAIN, &why, &large), *other;
    bool crosses = jit && jit->blocks && !jit->collects;
    int way = crosses && !jit->copies && dync__target_for(level)->n_vectors >= 32
                  ? DYNC__JB_SQUARE
                  : DYNC__JB_NONTEMPORAL;
    if (jit && (way == DYNC__JB_SQUARE || (large && !crosses)) &&
        (other = dync__jit_try(b, level, way, &why, &large))) {
        *(way == DYNC__JB_NONTEMPORAL ? &jit->nontemporal : &jit->squares) = other->form;
        for (int s = 0; s < jit->n_streams; s++)
            dync__jit_stream_at(jit, s)->nontemporal = dync__jit_stream_at(other, s)->nontemporal;
        if (way == DYNC__JB_SQUARE) jit->side = other->state_lanes;
        jit->other = other->listing;
        other->form = NULL;
        other->listing = NULL;
        dync__jit_free(other);
    }
    dync__error_guard_end(&guard);
    return jit ? jit : dync__jit_decline(b, why);
}

DYNC__FN void dync__jit_free(dync__jit *jit)
{
    if (!jit) return;
    if (jit->form) dync__jit_release(jit->form);
    if (jit->nontemporal) dync__jit_release(jit->nontemporal);
    if (jit->squares) dync__jit_release(jit->squares);
    dync__strfree(jit->listing);
    dync__strfree(jit->other);
    if (jit->gather) dync__free(jit->gather, (size_t)jit->n_gathers * sizeof *jit->gather);
    dync__free(jit, jit->bytes);
}

DYNC__FN bool dync__jit_is_single(const dync__jit *jit)
{
    return jit->rows == 1 || jit->lanes == 1;
}

DYNC__FN int64_t dync__jit_code_bytes(const dync__jit *jit, dync__map *counted)
{
    const dync__jit_form *of[] = {jit->form, jit->nontemporal, jit->squares};
    int64_t bytes = 0;
    for (int i = 0; i < 3; i++) {
        uint64_t key = (uint64_t)(uintptr_t)of[i];
        if (!of[i] || dync__map_get(counted, key, NULL)) continue;
        bytes += (int64_t)of[i]->code_bytes;
        (void)dync__map_put(counted, key, 1);
    }
    return bytes;
}

DYNC__FN dync__jit_stats dync__jit_read_stats(void)
{
    dync__lock(&dync__jits.lock);
    dync__jit_stats s = dync__jits.stats;
    dync__unlock(&dync__jits.lock);
    return s;
}

DYNC__FN void dync__jit_dump(dync__str *out, const dync__jit *jit)
{
    dync__str_addf(
        out,
        "  machine code: %zu bytes, frame %d, %s, %lld rows x %lld lanes, %d vectors at once\n",
        jit->form->code_bytes, (int)jit->form->frame,
        jit->vertical      ? "rows side by side"
        : jit->form->strip ? "some rows at a time"
                           : "rows one at a time",
        (long long)jit->rows, (long long)jit->lanes, (int)jit->form->unroll);
    if (jit->listing) dync__str_add(out, jit->listing);
    if (jit->other)
        dync__str_addf(out, "  %s:\n%s",
                       jit->nontemporal ? "where results are larger than the caches" : "by squares",
                       jit->other);
}

#else
DYNC__FN dync__jit *dync__jit_new(dync__loop_plan *b, int level)
{
    (void)b, (void)level;
    return NULL;
}
DYNC__FN void dync__jit_free(dync__jit *jit) { (void)jit; }
DYNC__FN bool dync__jit_is_single(const dync__jit *jit) { return (void)jit, false; }
DYNC__FN int64_t dync__jit_code_bytes(const dync__jit *jit, dync__map *counted)
{
    return (void)jit, (void)counted, 0;
}
DYNC__FN void dync__jit_dump(dync__str *out, const dync__jit *jit) { (void)out, (void)jit; }
DYNC__FN dync__jit_stats dync__jit_read_stats(void)
{
    dync__jit_stats none = {0, 0, 0, NULL};
    return none;
}
#endif
