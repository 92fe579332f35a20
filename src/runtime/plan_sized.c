/* runtime/plan_sized.c: plans of all sizes. Steps of symbolic sizes go through the same passes as
 * those with numbers, and become machine code, once; what a comparison of sizes decided is a guard
 * of the table. For a set of sizes that all guards hold for, the plan is copied with the values of
 * its expressions, which are evaluated together (tensor/sym_list.c). After plan.c, whose functions
 * make both; before inductor/sized.c.
 *
 * What stays to be done with numbers: the memory plan, what calls prepare, and kernels that are
 * interpreted or scatter (`late`). */
#include "../dync.in.h"
#include "plan.h"
#include "../kernel/conv_jit.h"
#include "../kernel/operand.h"
DYNC__COLD

/* ---- what sizes there are -------------------------------------------------------------------- */
/* Attributes that are sizes; a symbolic real number is refused (*ok). */
static void dync__plan_map_attr(const dync__sz_map *m, const dync__kcall *c, dync__attr *attr,
                                bool *ok)
{
    for (const dync__attr_field *f = c->row->attr; f && f->name; f++) {
        int64_t word;
        char *at = (char *)attr + f->offset;
        for (int i = 0; i < (f->type == DYNC__ATTR_PAIR ? 2 : 1); i++, at += sizeof word) {
            if (f->type > DYNC__ATTR_PAIR && f->type != DYNC__ATTR_REAL) break;
            memcpy(&word, at, sizeof word);
            if (f->type == DYNC__ATTR_REAL && m->list)
                *ok = *ok && dync__sz_list_put(m->list, word) == word; /* none of sizes */
            else if (f->type != DYNC__ATTR_REAL)
                dync__sz_map_to(m, &word);
            memcpy(at, &word, sizeof word);
        }
    }
}

DYNC__OFTEN static void dync__plan_map_call(const dync__sz_map *m, dync__kcall *c, bool *ok)
{
    for (int i = 0; i < c->n; i++) dync__sz_map_layout(m, &c->operand[i].lay);
    dync__sz_map_to(m, &c->epilogue_rows);
    dync__plan_map_attr(m, c, &c->attr, ok);
    for (int k = 0; m->list && k < DYNC__KCALL_PIECES; k++)
        if (c->piece[k]) dync__code_map(c->piece[k], m);
    dync__kfollow *f = (dync__kfollow *)(uintptr_t)c->follow; /* the plan's own */
    for (int i = 0; f && i < f->n; i++) {
        dync__sz_map_to(m, &f->offset[i]);
        dync__sz_map_to(m, &f->row[i]);
    }
    dync__cj_after *after = (dync__cj_after *)(uintptr_t)c->after; /* the plan's own */
    for (int i = 0; after && i < after->list.n_sources; i++) dync__sz_map_to(m, &after->step[i]);
}

/* ---- one set of sizes ------------------------------------------------------------------------ */
static dync__kcall *dync__form_call_copy(dync__arena *arena, const dync__kcall *from)
{
    dync__kcall *c = dync__arena_copy(arena, from, dync__kcall_bytes(from));
    if (c && c->follow && !(c->follow = dync__arena_copy(arena, c->follow, sizeof *c->follow)))
        return NULL;
    if (c && c->after && !(c->after = dync__arena_copy(arena, c->after, sizeof *c->after)))
        return NULL;
    return c;
}

/* Where a convolution has no tiles for arrays in blocks or what follows it, as it had for other
 * sizes, there is no such plan. */
static dync_status dync__form_prepare(dync__kcall *c)
{
    dync__error_guard guard;
    if (!c->blocked && !c->after) return c->row->prepare(c);
    dync__error_guard_begin(&guard);
    dync_status status = c->row->prepare(c);
    dync__error_guard_end(&guard);
    return status == DYNC_OK ? DYNC_OK : DYNC_ERR_UNSUPPORTED;
}

static void dync__form_inside_at(const dync__plan_form *f, const int64_t *value, dync__kcall *c)
{
    if (!c->row->inside) return;
    c->attr.opaque.syms = f->syms;
    c->attr.opaque.value = value;
    c->attr.opaque.inside = c->state;
    c->state = NULL; /* the form's */
    c->drop = NULL;
}

DYNC__OFTEN static dync_status dync__form_call_at(const dync__plan_form *f, dync__plan *p,
                                                  dync__plan_step *s, const int64_t *value,
                                                  const dync__sz_map *m, int64_t *scratch)
{
    bool ok = true;
    dync__kcall *c = dync__form_call_copy(&p->arena, s->call);
    s->call = NULL; /* the form's */
    if (!c) return DYNC_ERR_MEMORY;
    dync__form_inside_at(f, value, c);
    s->call = c;
    c->epilogue = s->code;
    dync__plan_map_call(m, c, &ok);
    /* those that are not there are made by prepare */
    for (int k = 0; k < DYNC__KCALL_PIECES; k++)
        if (c->piece[k]) c->piece[k] = dync__code_at(c->piece[k], m->at, &p->arena);
    if (c->row->prepare) DYNC__TRY(dync__form_prepare(c));
    *scratch = DYNC__MAX(*scratch, (int64_t)c->scratch_bytes);
    return DYNC_OK;
}

static dync_status dync__form_bounds_at(dync__plan *p, dync__plan_step *s, const dync__sz_map *m)
{
    const dync__plan_bound *from = s->bound;
    int n = s->n_bounds;
    bool ok = true;
    s->n_bounds = 0;
    if (!n) return DYNC_OK;
    if (!(s->bound = dync__arena_alloc(&p->arena, (size_t)n * sizeof *s->bound)))
        return DYNC_ERR_MEMORY;
    for (int b = 0; b < n; b++) {
        dync__kcall *c = dync__form_call_copy(&p->arena, from[b].check);
        if (!c) return DYNC_ERR_MEMORY;
        dync__plan_map_call(m, c, &ok);
        s->bound[s->n_bounds++] = (dync__plan_bound){c, from[b].at};
        DYNC__TRY(c->row->prepare(c));
    }
    return DYNC_OK;
}

static dync_status dync__form_late_at(const dync__plan_form *f, dync__plan_step *s,
                                      const int64_t *value)
{
    dync__arena arena = {0};
    dync__kernel *k = dync__kernel_at(s->late, f->syms, value, &arena);
    s->code = k ? dync__code_new(k) : NULL;
    dync__arena_free(&arena);
    if (s->code) return DYNC_OK;
    return !k ? DYNC_ERR_UNSUPPORTED : dync_error() != DYNC_OK ? dync_error() : DYNC_ERR_MEMORY;
}

DYNC__OFTEN static dync_status dync__form_step_at(const dync__plan_form *f, dync__plan *p,
                                                  const dync__plan_step *from, const int64_t *value,
                                                  const int64_t *at, int64_t *scratch)
{
    const dync__sz_map map = {NULL, at};
    dync__plan_step *s = &p->step[p->n_steps++];
    *s = *from;
    s->code = NULL;
    s->late = NULL;
    if (from->code && !(s->code = dync__code_at(from->code, at, &p->arena))) {
        s->call = NULL;
        s->n_bounds = 0;
        return DYNC_ERR_MEMORY;
    }
    int n_bounds = s->n_bounds;
    s->n_bounds = 0;
    if (s->call) DYNC__TRY(dync__form_call_at(f, p, s, value, &map, scratch));
    s->n_bounds = n_bounds;
    DYNC__TRY(dync__form_bounds_at(p, s, &map));
    s->late = from->late;
    dync_status status = s->late ? dync__form_late_at(f, s, value) : DYNC_OK;
    s->late = NULL;
    s->looks = s->looks && status == DYNC_OK && dync__plan_looks(s);
    return status;
}

/* Slots as a run looks for them, all in one piece of memory. */
DYNC__OFTEN static dync_status dync__form_sources(const dync__plan_form *f, dync__plan *p)
{
    dync__plan_source *to = dync__arena_alloc(&p->arena, (size_t)(f->n_sources + 1) * sizeof *to);
    if (!to) return DYNC_ERR_MEMORY;
    for (int i = 0; i < p->n_steps; i++) {
        dync__plan_step *s = &p->step[i];
        s->source = to;
        for (int k = 0; k < s->n; k++) {
            const dync__slot *slot = &p->slot[s->slot[k]];
            *to++ = (dync__plan_source){
                slot->kind, slot->kind == DYNC__SLOT_TEMP ? slot->arena_offset : slot->index};
        }
    }
    return DYNC_OK;
}

DYNC__OFTEN static dync_status dync__form_make_at(const dync__plan_form *f, const int64_t *value,
                                                  const int64_t *at, dync__plan *p)
{
    const dync__sz_map map = {NULL, at};
    const dync__plan *from = f->plan;
    int64_t scratch = 0;
    *p = *from;
    memset(&p->arena, 0, sizeof p->arena);
    p->arena.chunk_size = (size_t)DYNC__ATOMIC_PEEK(&f->bytes); /* all in one piece */
    p->n_steps = 0;
    dync__sz_map_to(&map, (int64_t *)(void *)&p->rng_used);
    p->slot = dync__arena_copy(&p->arena, from->slot, (size_t)from->n_slots * sizeof *p->slot);
    p->step = dync__arena_alloc(&p->arena, (size_t)(from->n_steps + 1) * sizeof *p->step);
    if (!p->slot || !p->step) return DYNC_ERR_MEMORY;
    for (int i = 0; i < p->n_slots; i++) dync__sz_map_to(&map, &p->slot[i].size);
    for (int i = 0; i < from->n_steps; i++)
        DYNC__TRY(dync__form_step_at(f, p, &from->step[i], value, at, &scratch));
    dync__plan_way_of(p->driver)->reserve(p);
    DYNC__TRY(dync__plan_memory(p, scratch, f->no_memplan));
    DYNC__TRY(dync__form_sources(f, p));
    return dync__plan_check_after(p, DYNC__PASS_memory);
}

DYNC__FN dync_status dync__plan_form_at(dync__plan_form *f, const int64_t *value, const int64_t *at,
                                        dync__plan **out)
{
    dync__plan *p = dync__calloc(sizeof *p);
    dync_status status = p ? dync__form_make_at(f, value, at, p) : DYNC_ERR_MEMORY;
    if (status != DYNC_OK) {
        dync__plan_free(p);
        return status;
    }
    if (!DYNC__ATOMIC_PEEK(&f->bytes))
        DYNC__ATOMIC_STORE(&f->bytes, (int64_t)dync__arena_bytes(&p->arena));
    dync__plan_log(p);
    *out = p;
    return DYNC_OK;
}

/* ---- the check ------------------------------------------------------------------------------- */
static bool dync__plan_same_layout(const dync__layout *x, const dync__layout *y)
{
    bool same = x->ndim == y->ndim && x->offset == y->offset;
    for (int d = 0; same && d < x->ndim; d++)
        same = x->shape[d] == y->shape[d] && x->stride[d] == y->stride[d];
    return same;
}

static bool dync__plan_same_call(const dync__kcall *x, const dync__kcall *y)
{
    bool same = x->row == y->row && x->n == y->n && x->scratch_bytes == y->scratch_bytes &&
                x->run_bytes == y->run_bytes && !x->epilogue == !y->epilogue &&
                x->epilogue_rows == y->epilogue_rows && x->blocked == y->blocked &&
                !x->after == !y->after &&
                (!x->after || memcmp(x->after, y->after, sizeof *x->after) == 0) &&
                !x->follow == !y->follow &&
                (!x->follow || memcmp(x->follow, y->follow, sizeof *x->follow) == 0);
    for (int i = 0; same && i < x->n; i++)
        same = x->operand[i].slot == y->operand[i].slot &&
               dync__plan_same_layout(&x->operand[i].lay, &y->operand[i].lay);
    for (int k = 0; same && k < DYNC__KCALL_PIECES; k++)
        same = !x->piece[k] == !y->piece[k] &&
               (!x->piece[k] || dync__code_piece_same(x->piece[k], y->piece[k]));
    return same;
}

DYNC__FN bool dync__plan_same(const dync__plan *x, const dync__plan *y)
{
    bool same = x->n_steps == y->n_steps && x->n_slots == y->n_slots &&
                x->arena_bytes == y->arena_bytes && x->reserve == y->reserve &&
                x->rng_used == y->rng_used;
    for (int i = 0; same && i < x->n_slots; i++)
        same = x->slot[i].size == y->slot[i].size && x->slot[i].kind == y->slot[i].kind &&
               x->slot[i].arena_offset == y->slot[i].arena_offset;
    for (int i = 0; same && i < x->n_steps; i++) {
        const dync__plan_step *s = &x->step[i], *t = &y->step[i];
        /* two checks of an index may become one where sizes make them equal */
        same = s->n == t->n && s->n_bounds >= t->n_bounds && s->looks == t->looks &&
               s->draws == t->draws && !s->code == !t->code && !s->call == !t->call &&
               memcmp(s->slot, t->slot, (size_t)s->n * sizeof *s->slot) == 0 &&
               (!s->code || dync__code_same(s->code, t->code)) &&
               (!s->call || dync__plan_same_call(s->call, t->call));
    }
    return same;
}

/* ---- making ---------------------------------------------------------------------------------- */
DYNC__FN void dync__plan_form_free(dync__plan_form *f)
{
    if (!f) return;
    dync__plan_free(f->plan);
    dync__arena_free(&f->arena);
    dync__symtab_free(f->syms);
    dync__free(f, sizeof *f);
}

static bool dync__form_can(const dync__steps *s)
{
    return dync__pass_on(DYNC__PASS_sized_plans) && !dync__log_on(DYNC__LOG_perf) &&
           !s->opt->autotune;
}

/* Sizes of the plan get their places. */
static bool dync__form_places(dync__plan_form *f)
{
    const dync__sz_map map = {&f->list, NULL};
    dync__plan *p = f->plan;
    bool ok = dync__sz_list_begin(&f->list, f->syms, &f->arena);
    if (!ok) return false;
    dync__sz_map_to(&map, (int64_t *)(void *)&p->rng_used);
    for (int i = 0; i < p->n_slots; i++) dync__sz_map_to(&map, &p->slot[i].size);
    for (int i = 0; i < p->n_steps; i++) {
        dync__plan_step *s = &p->step[i];
        if (s->code) dync__code_map(s->code, &map);
        if (s->call) dync__plan_map_call(&map, (dync__kcall *)(uintptr_t)s->call, &ok);
        for (int b = 0; b < s->n_bounds; b++) dync__plan_map_call(&map, s->bound[b].check, &ok);
        f->n_sources += s->n;
        f->late |= s->late != NULL;
    }
    return ok && !f->list.failed;
}

static dync_status dync__form_make(dync__plan_form *f, const dync__steps *from, dync__symtab *syms)
{
    dync__pb *pb = dync__arena_alloc(&f->arena, sizeof *pb);
    dync__steps steps;
    dync__plan_maker m = {.sized = dync__code_sized};
    if (!pb || !(m.p = f->plan = dync__calloc(sizeof *f->plan))) return DYNC_ERR_MEMORY;
    memset(pb, 0, sizeof *pb);
    pb->arena = &f->arena;
    DYNC__TRY(dync__steps_at(from, syms, NULL, pb, &steps));
    DYNC__TRY(dync__plan_steps(&m, &steps));
    f->no_memplan = steps.opt->no_memplan || !dync__pass_on(DYNC__PASS_memory);
    f->differs = m.differs || steps.differs;
    return dync__form_places(f) && !syms->failed ? DYNC_OK : DYNC_ERR_UNSUPPORTED;
}

DYNC__FN dync__plan_form *dync__plan_form_new(const dync__steps *from, dync__symtab *syms)
{
    dync__plan_form *f = dync__form_can(from) ? dync__calloc(sizeof *f) : NULL;
    dync__symtab *before = dync__tls.syms;
    dync__error_guard guard;
    uint64_t errors = dync__error_count();
    bool short_of_memory = dync__tls.fail_at != 0; /* as tests want it: it only costs speed */
    if (!f) {
        dync__symtab_free(syms);
        return NULL;
    }
    dync__error_guard_begin(&guard);
    dync__tls.syms = f->syms = syms;
    dync_status status = dync__form_make(f, from, syms);
    f->differs |= short_of_memory;
    dync__tls.syms = before;
    (void)dync__error_guard_end(&guard);
    dync__tls.error_count = errors;
    if (status == DYNC_OK) return f;
    dync__plan_form_free(f);
    return NULL;
}

DYNC__FN bool dync__plan_form_end(dync__plan_form *f)
{
    dync__sz_list_guards(&f->list);
    return !f->list.failed;
}
