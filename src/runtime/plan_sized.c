/* runtime/plan_sized.c: plans of all sizes. Steps of symbolic sizes go through the same passes
 * as those with numbers, and become machine code, once; what a comparison of sizes decided is a
 * guard of the table. For a set of sizes that all guards hold for, the plan is a copy of an
 * image, which is one piece of memory, with the values of its expressions (tensor/sym_list.c).
 * After plan.c, whose functions make both; before inductor/sized.c.
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
        int64_t word, *at = (int64_t *)(void *)((char *)attr + f->offset);
        if (f->type == DYNC__ATTR_REAL && m->list) {
            memcpy(&word, at, sizeof word);
            *ok = *ok && dync__sz_list_put(m->list, word) == word; /* none of sizes */
        }
        if (f->type == DYNC__ATTR_NUMBER || f->type == DYNC__ATTR_PAIR) dync__sz_map_to(m, at);
        if (f->type == DYNC__ATTR_PAIR) dync__sz_map_to(m, at + 1);
    }
}

static void dync__plan_map_call(const dync__sz_map *m, dync__kcall *c, bool *ok)
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

/* ---- the image ------------------------------------------------------------------------------- */
static dync__kcall *dync__form_call_lay(dync__sz_image *im, const dync__kcall *from,
                                        dync__code *epilogue)
{
    const dync__sz_map map = {NULL, im};
    bool ok = true;
    dync__kcall *c = dync__sz_image_put(im, from, dync__kcall_bytes(from));
    if (!c) return NULL;
    if (c->row->inside) c->state = NULL, c->drop = NULL; /* the form's */
    if (c->follow) c->follow = dync__sz_image_put(im, c->follow, sizeof *c->follow);
    if (c->after) c->after = dync__sz_image_put(im, c->after, sizeof *c->after);
    if (im->failed) return NULL;
    dync__plan_map_call(&map, c, &ok);
    if (c->follow) dync__sz_image_link(im, &c->follow);
    if (c->after) dync__sz_image_link(im, &c->after);
    c->epilogue = epilogue;
    if (epilogue) dync__sz_image_link(im, &c->epilogue);
    for (int k = 0; k < DYNC__KCALL_PIECES; k++) {
        if (!c->piece[k]) continue; /* those that are not there are made by prepare */
        if (!(c->piece[k] = dync__code_lay(c->piece[k], im))) return NULL;
        dync__sz_image_link(im, &c->piece[k]);
    }
    return c;
}

static bool dync__form_step_lay(dync__sz_image *im, const dync__plan_step *from, dync__plan_step *s)
{
    s->late = NULL;
    if (from->code) {
        if (!(s->code = dync__code_lay(from->code, im))) return false;
        dync__sz_image_link(im, &s->code);
    }
    if (from->call) {
        if (!(s->call = dync__form_call_lay(im, from->call, s->code))) return false;
        dync__sz_image_link(im, &s->call);
    }
    if (!from->n_bounds) return true;
    s->bound = dync__sz_image_put(im, from->bound, (size_t)from->n_bounds * sizeof *s->bound);
    if (!s->bound) return false;
    dync__sz_image_link(im, &s->bound);
    for (int b = 0; b < from->n_bounds; b++) {
        if (!(s->bound[b].check = dync__form_call_lay(im, from->bound[b].check, NULL)))
            return false;
        dync__sz_image_link(im, &s->bound[b].check);
    }
    return true;
}

/* Slots as a run looks for them; the memory plan says where in the arena. */
static bool dync__form_sources_lay(dync__plan_form *f)
{
    dync__plan_source *to =
        dync__sz_image_put(&f->image, NULL, (size_t)(f->n_sources + 1) * sizeof *to);
    for (int i = 0; to && i < f->plan->n_steps; i++) {
        dync__plan_step *s = &f->step[i];
        s->source = to;
        dync__sz_image_link(&f->image, &s->source);
        for (int k = 0; k < s->n; k++) {
            const dync__slot *slot = &f->slot[s->slot[k]];
            *to++ = (dync__plan_source){slot->kind, slot->index};
        }
    }
    return to != NULL;
}

DYNC__FN bool dync__plan_form_lay(dync__plan_form *f)
{
    const dync__plan *from = f->plan;
    dync__sz_image *im = &f->image;
    const dync__sz_map map = {NULL, im};
    dync__sz_image_begin(im, &f->arena);
    f->slot = dync__sz_image_put(im, from->slot, (size_t)from->n_slots * sizeof *f->slot);
    f->step = dync__sz_image_put(im, from->step, (size_t)(from->n_steps + 1) * sizeof *f->step);
    if (!f->slot || !f->step) return false;
    for (int i = 0; i < from->n_slots; i++) dync__sz_map_to(&map, &f->slot[i].size);
    for (int i = 0; i < from->n_steps; i++)
        if (!dync__form_step_lay(im, &from->step[i], &f->step[i])) return false;
    return dync__form_sources_lay(f) && !im->failed;
}

/* ---- one set of sizes ------------------------------------------------------------------------ */
/* Where a convolution has no tiles for arrays in blocks or what follows it, as it had for other
 * sizes, there is no such plan. */
DYNC__OFTEN static dync_status dync__form_prepare(dync__kcall *c)
{
    dync__error_guard guard;
    if (!c->blocked && !c->after) return c->row->prepare(c);
    dync__error_guard_begin(&guard);
    dync_status status = c->row->prepare(c);
    dync__error_guard_end(&guard);
    return status == DYNC_OK ? DYNC_OK : DYNC_ERR_UNSUPPORTED;
}

/* What it is a copy of is read where it must be: the cache does not have it. */
DYNC__OFTEN static dync_status dync__form_call_at(const dync__plan_form *f,
                                                  const dync__plan_step *from, dync__kcall *c,
                                                  const int64_t *value, const int64_t *at)
{
    if (c->row->inside) {
        c->attr.opaque.syms = f->syms;
        c->attr.opaque.value = value;
        c->attr.opaque.inside = from->call->state;
    }
    for (int k = 0; k < DYNC__KCALL_PIECES; k++)
        if (c->piece[k]) dync__code_settle(c->piece[k], &from->call->piece[k], at);
    if (c->row->prepare) DYNC__TRY(dync__form_prepare(c));
    return DYNC_OK;
}

static dync_status dync__form_late_at(const dync__plan_form *f, const dync__kernel *late,
                                      dync__plan_step *s, const int64_t *value)
{
    dync__arena arena = {0};
    dync__kernel *k = dync__kernel_at(late, f->syms, value, &arena);
    s->code = k ? dync__code_new(k) : NULL;
    dync__arena_free(&arena);
    if (s->code) return DYNC_OK;
    return !k ? DYNC_ERR_UNSUPPORTED : dync_error() != DYNC_OK ? dync_error() : DYNC_ERR_MEMORY;
}

DYNC__OFTEN static dync_status dync__form_step_at(const dync__plan_form *f,
                                                  const dync__plan_step *from, dync__plan_step *s,
                                                  const int64_t *value, const int64_t *at)
{
    dync_status status = DYNC_OK;
    if (s->code) dync__code_settle(s->code, &from->code, at);
    if (s->call)
        DYNC__TRY(dync__form_call_at(f, from, (dync__kcall *)(uintptr_t)s->call, value, at));
    for (int b = 0; b < s->n_bounds; b++)
        DYNC__TRY(s->bound[b].check->row->prepare(s->bound[b].check));
    if (f->late && from->late) status = dync__form_late_at(f, from->late, s, value);
    s->looks = s->looks && status == DYNC_OK && dync__plan_looks(s);
    return status;
}

/* Where the temporaries came to lie. */
DYNC__OFTEN static dync_status dync__form_memory_at(const dync__plan_form *f, dync__plan *p,
                                                    int64_t scratch)
{
    dync_status status = dync__plan_memory(p, f->life, f->n_lives, scratch);
    for (int i = 0; i < p->n_steps; i++) {
        const dync__plan_step *s = &p->step[i];
        dync__plan_source *source = (dync__plan_source *)(uintptr_t)s->source; /* its own */
        for (int k = 0; k < s->n; k++)
            if (source[k].from == DYNC__SOURCE_ARENA)
                source[k].at = p->slot[s->slot[k]].arena_offset;
    }
    return status;
}

DYNC__OFTEN static dync_status dync__form_make_at(const dync__plan_form *f, const int64_t *value,
                                                  const int64_t *at, dync__plan *p, char **copy)
{
    const dync__plan *from = f->plan;
    int64_t scratch = 0;
    *p = *from;
    p->n_steps = 0;
    memset(&p->arena, 0, sizeof p->arena);
    p->rng_used = (uint64_t)dync__sz_placed(at, (int64_t)from->rng_used);
    if ((p->image = dync__slab_take(f->image.bytes))) p->image_bytes = f->image.bytes;
    if (!(*copy = dync__sz_image_at(&f->image, at, p->image, &p->arena))) return DYNC_ERR_MEMORY;
    p->slot = dync__sz_image_of(&f->image, *copy, f->slot);
    p->step = dync__sz_image_of(&f->image, *copy, f->step);
    p->n_steps = from->n_steps; /* all can be freed */
    for (int i = 0; i < from->n_steps; i++) {
        DYNC__TRY(dync__form_step_at(f, &from->step[i], &p->step[i], value, at));
        if (p->step[i].call) scratch = DYNC__MAX(scratch, dync__plan_scratch_end(p, i));
    }
    dync__plan_way_of(p->driver)->reserve(p);
    DYNC__TRY(dync__form_memory_at(f, p, scratch));
    return dync__plan_check_after(p, DYNC__PASS_memory);
}

DYNC__FN dync_status dync__plan_form_at(const dync__plan_form *f, const int64_t *value,
                                        const int64_t *at, dync__plan **out, char **copy)
{
    dync__plan *p = dync__calloc(sizeof *p);
    dync_status status = p ? dync__form_make_at(f, value, at, p, copy) : DYNC_ERR_MEMORY;
    if (status != DYNC_OK) {
        dync__plan_free(p);
        return status;
    }
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
               s->draws == t->draws && s->beside == t->beside && !s->code == !t->code &&
               !s->call == !t->call &&
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
    dync__arena_free(&f->image.block);
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

/* When temporaries live does not depend on sizes; which are the largest rarely does. off: there is
 * no memory plan. */
static dync_status dync__form_lives(dync__plan_form *f, bool off)
{
    size_t n = (size_t)f->plan->n_slots + 1;
    if (!(f->life = dync__arena_alloc(&f->arena, n * sizeof *f->life))) return DYNC_ERR_MEMORY;
    f->n_lives = dync__plan_temps(f->plan, off, f->life);
    for (int i = 0; i < f->n_lives; i++) {
        const dync__slot *slot = &f->plan->slot[f->life[i].slot];
        f->life[i].bytes = dync__sz_hint_in(f->syms, slot->size) *
                           dync__dtype_info(slot->dtype)->bytes;
    }
    dync__memplan_sort(f->life, f->n_lives);
    return DYNC_OK;
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
    DYNC__TRY(dync__form_lives(f, steps.opt->no_memplan || !dync__pass_on(DYNC__PASS_memory)));
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
    if (status == DYNC_OK) {
        dync__pass_log(DYNC__PASS_sized_plans, dync__plan_options_name(from->opt),
                       "%d steps for all sizes", f->plan->n_steps);
        return f;
    }
    dync__plan_form_free(f);
    return NULL;
}

DYNC__FN bool dync__plan_form_end(dync__plan_form *f)
{
    dync__sz_list_guards(&f->list);
    return !f->list.failed;
}
