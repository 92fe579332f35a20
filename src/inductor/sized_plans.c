/* inductor/sized_plans.c: plans of all sizes of a graph (runtime/plan_sized.c), each for the ranges
 * that its guards leave of a class, and the plan of one set of sizes. After sized.c, before
 * inductor.c. */
#include "../dync.in.h"
#include "sized.h"
DYNC__WARM

/* ---- plans of all sizes ---------------------------------------------------------------------- */
static void dync__inductor_plan_free(dync__inductor_plan *p)
{
    if (!p) return;
    dync__plan_form_free(p->form);
    dync__free(p, sizeof *p + (size_t)p->n_symbols * sizeof *p->symbol);
}

/* As dync__sz_list_ranges has it, without going to the table. */
static void dync__inductor_plan_ranges(dync__inductor_plan *p)
{
    for (int i = 0; i < p->n_symbols; i++) {
        const dync__sz_symbol *s = &p->form->list.table->symbol.at[i];
        p->symbol[i] = (dync__inductor_range){s->low, s->high, !s->number && !s->data};
    }
}
static bool dync__inductor_plan_takes(const dync__inductor_plan *p, const int64_t *value)
{
    bool takes = true;
    for (int i = 0; i < p->n_symbols && takes; i++) {
        const dync__inductor_range *r = &p->symbol[i];
        takes = (value[i] >= r->low && value[i] <= r->high) || (r->unbound && !value[i]);
    }
    return takes;
}

/* The image of the plan and of its outputs. */
static bool dync__inductor_plan_lay(dync__inductor_plan *p)
{
    const dync__lowered from = p->out;
    dync__sz_image *im = &p->form->image;
    const dync__sz_map map = {NULL, im};
    size_t n_out = (size_t)from.n_out, n_storages = (size_t)from.n_storages;
    for (int round = 0; round < 2; round++) {
        if (!dync__plan_form_lay(p->form)) return false;
        p->out.out = dync__sz_image_put(im, from.out, n_out * sizeof *from.out);
        p->out.owner = dync__sz_image_put(im, from.owner, n_storages * sizeof *from.owner);
        p->out.storage_bytes = dync__sz_image_put(im, NULL, n_storages * sizeof(size_t));
        if (im->failed) return false;
        for (int i = 0; i < from.n_out; i++) dync__sz_map_layout(&map, &p->out.out[i].lay);
    }
    return !im->failed;
}

static dync_status dync__inductor_plan_fill(dync__inductor_plan *p)
{
    const dync__lowered *from = &p->of->out;
    dync__plan_form *f = p->form;
    const dync__sz_map map = {&f->list, NULL};
    p->out = *from;
    memset(&p->out.arena, 0, sizeof p->out.arena);
    p->out.out =
        dync__arena_copy(&f->arena, from->out, (size_t)(from->n_out + 1) * sizeof *from->out);
    if (!p->out.out) return DYNC_ERR_MEMORY;
    for (int i = 0; i < from->n_out; i++) dync__sz_map_layout(&map, &p->out.out[i].lay);
    return dync__plan_form_end(f) && dync__inductor_plan_lay(p) ? DYNC_OK : DYNC_ERR_UNSUPPORTED;
}

/* By the sizes of one call, under the lock. NULL: it cannot be, which is remembered, or there is no
 * memory. */
static dync__inductor_plan *dync__inductor_plan_new(dync__inductor_sized *s,
                                                    dync__inductor_class *c, const int64_t *value)
{
    int n = c->syms->symbol.n;
    dync__inductor_plan *p = dync__calloc(sizeof *p + (size_t)n * sizeof *p->symbol);
    dync__symtab *syms = p ? dync__symtab_copy(c->syms, value) : NULL;
    if (p) p->n_symbols = n;
    if (!syms) {
        dync__inductor_plan_free(p);
        return NULL;
    }
    p->of = c;
    p->form = dync__plan_form_new(&c->steps, syms);
    if (p->form && dync__inductor_plan_fill(p) == DYNC_OK) {
        dync__inductor_plan_ranges(p);
        dync__log(DYNC__LOG_code,
                  "%s: a plan for all sizes that %d guards hold for, %d expressions",
                  s->graph->name, p->form->list.guard.n, p->form->list.step.n);
        p->next = s->plan;
        s->plan = p;
        s->n_plans++;
        return p;
    }
    c->no_plans = true;
    dync__inductor_plan_free(p);
    return NULL;
}

enum { DYNC__INDUCTOR_PLACES = 512 };
/* The plan that the sizes belong to, with the values of its places in *at, of `few` or allocated;
 * NULL: none. */
static const dync__inductor_plan *dync__inductor_plan_of(dync__inductor_sized *s,
                                                         const int64_t *value, int64_t *few,
                                                         int64_t **at)
{
    dync__lock(&s->lock);
    dync__inductor_plan *p = s->plan, *before = NULL;
    for (; p; before = p, p = p->next) {
        if (!dync__inductor_plan_takes(p, value)) continue;
        const dync__sz_list *l = &p->form->list;
        *at = dync__room(few, DYNC__INDUCTOR_PLACES, l->step.n, sizeof **at);
        if (*at && dync__sz_list_run(l, value, *at)) break;
        if (*at) dync__room_end(*at, few, l->step.n, sizeof **at);
    }
    if (p && before) { /* the next sizes are often like these */
        before->next = p->next;
        p->next = s->plan;
        s->plan = p;
    }
    dync__unlock(&s->lock);
    return p;
}

static void dync__inductor_plan_show(const dync__plan *is, const dync__plan *was)
{
    for (int i = 0; i < 2; i++) {
        dync__str text = {0};
        dync__plan_dump(&text, i ? is : was);
        dync__log_text(DYNC__LOG_loops, i ? "of all sizes" : "with numbers", dync__str_get(&text));
        dync__str_free(&text);
    }
}

/* Where checks are on: is the plan what the sizes give by themselves? Not where memory was short on
 * the way: that costs speed. */
static dync_status dync__inductor_plan_check(dync__inductor_sized *s, const dync__inductor_plan *p,
                                             const int64_t *value, const dync__plan *plan,
                                             bool short_of_memory)
{
    dync__lowered own;
    bool merged;
    if (!dync__check_on()) return DYNC_OK;
    DYNC__TRY(dync__class_lower(s, p->of, value, &own, &merged));
    bool same = merged || p->of->constants || DYNC__ATOMIC_LOAD(&p->of->syms->cautious) ||
                DYNC__ATOMIC_LOAD(&p->form->syms->cautious) || p->form->differs ||
                short_of_memory || dync__plan_same(plan, own.plan);
    if (!same) dync__inductor_plan_show(plan, own.plan);
    dync__lowered_free(&own);
    DYNC__ASSERT(same); /* plans of all sizes are those of their sizes */
    return same ? DYNC_OK
                : dync__fail(DYNC_ERR_INTERNAL, "%s: its plan is not what its sizes give",
                             s->graph->name);
}

DYNC__OFTEN static void dync__inductor_plan_outputs(const dync__inductor_plan *p, char *copy,
                                                    dync__lowered *out)
{
    const dync__sz_image *im = &p->form->image;
    out->out = dync__sz_image_of(im, copy, p->out.out);
    out->owner = dync__sz_image_of(im, copy, p->out.owner);
    out->storage_bytes = dync__sz_image_of(im, copy, p->out.storage_bytes);
    for (int i = 0; i < out->plan->n_slots; i++) {
        const dync__slot *slot = &out->plan->slot[i];
        if (slot->kind == DYNC__SLOT_OUTPUT)
            out->storage_bytes[slot->index] = (size_t)slot->size *
                                              dync__dtype_info(slot->dtype)->bytes;
    }
}

/* DYNC_ERR_UNSUPPORTED: there is no such plan. */
static dync_status dync__inductor_plan_lower(dync__inductor_sized *s, const int64_t *value,
                                             dync__lowered *out)
{
    int64_t few[DYNC__INDUCTOR_PLACES], *at = NULL;
    char *copy;
    bool short_of_memory = dync__tls.fail_at != 0; /* as tests want it */
    const dync__inductor_plan *p = dync__inductor_plan_of(s, value, few, &at);
    if (!p) return DYNC_ERR_UNSUPPORTED;
    *out = p->out;
    dync_status status = dync__plan_form_at(p->form, value, at, &out->plan, &copy);
    if (status == DYNC_OK) dync__inductor_plan_outputs(p, copy, out);
    if (status == DYNC_OK)
        status = dync__inductor_plan_check(s, p, value, out->plan, short_of_memory);
    dync__room_end(at, few, p->form->list.step.n, sizeof *at);
    if (status != DYNC_OK) dync__lowered_free(out);
    return status;
}

/* Steps of all sizes are for 2 and more; 0 and 1, which data may decide, are lowered as numbers. */
static bool dync__inductor_sized_takes(const dync__inductor_sized *s, const int64_t *value)
{
    const dync__symtab *t = s->graph->syms;
    for (int i = 0; t && i < t->symbol.n; i++)
        if (t->symbol.at[i].data && value[i] < 2) return false;
    return true;
}

DYNC__FN dync_status dync__inductor_sized_lower(dync__inductor_sized *s, const int64_t *value,
                                                dync__lowered *out)
{
    if (!dync__inductor_sized_takes(s, value)) return DYNC_ERR_UNSUPPORTED;
    dync_status status = dync__inductor_plan_lower(s, value, out);
    if (status != DYNC_ERR_UNSUPPORTED) return status;
    dync__inductor_class *c = dync__class_of(s, value);
    if (!c) return DYNC_ERR_UNSUPPORTED;
    dync__lock(&s->lock);
    bool made = !c->no_plans && s->n_plans < DYNC__SIZED_PLANS &&
                dync__inductor_plan_new(s, c, value);
    dync__unlock(&s->lock);
    if (made && (status = dync__inductor_plan_lower(s, value, out)) != DYNC_ERR_UNSUPPORTED)
        return status;
    bool merged;
    return dync__class_lower(s, c, value, out, &merged);
}

/* ---- making ---------------------------------------------------------------------------------- */
DYNC__FN void dync__inductor_sized_free(dync__inductor_sized *s)
{
    if (!s) return;
    for (int i = 0; i < 2; i++)
        for (dync__inductor_class *c = i ? s->left : s->first, *next; c; c = next) {
            next = c->next;
            dync__class_free(c);
        }
    for (int i = 0; i < 2; i++)
        for (dync__inductor_plan *p = i ? s->plan : s->plans_left, *next; p; p = next) {
            next = p->next;
            dync__inductor_plan_free(p);
        }
    if (s->used) dync__free(s->used, (size_t)s->n_out + 1);
    dync__graph_unref(s->graph);
    dync__free(s, sizeof *s);
}

static dync_status dync__inductor_sized_copy(dync__inductor_sized *s, dync__graph *g)
{
    DYNC__TRY(dync__graph_rewrite(g, dync__rewrite_copy, NULL, &s->graph));
    for (int i = 0; i < g->over.n; i++)
        if (!dync__avec_push(&s->graph->arena, &s->graph->over, g->over.at[i]))
            return DYNC_ERR_MEMORY;
    s->n_out = s->graph->node.at[s->graph->node.n - 1]->args[0].n;
    return DYNC_OK;
}

static dync_status dync__inductor_sized_give(dync__inductor_sized *s, dync_status status,
                                             dync__inductor_sized **out)
{
    *out = s;
    if (status == DYNC_OK) return DYNC_OK;
    dync__inductor_sized_free(s);
    *out = NULL;
    return status;
}

DYNC__FN dync_status dync__inductor_sized_new(dync__graph *g, const dync__options *options,
                                              dync__inductor_sized **out)
{
    dync__inductor_sized *s = dync__calloc(sizeof *s);
    if (!s) return DYNC_ERR_MEMORY;
    s->options = *options;
    s->options.text = ""; /* the caller's */
    dync_status status = dync__inductor_sized_copy(s, g);
    if (status == DYNC_OK) status = dync__graph_pass(DYNC__PASS_dce, s->graph);
    if (status == DYNC_OK) status = dync__graph_pass(DYNC__PASS_cse, s->graph);
    return dync__inductor_sized_give(s, status, out);
}

DYNC__FN dync_status dync__inductor_sized_inside(dync__graph *g, const dync__symtab *syms,
                                                 const dync__options *options,
                                                 dync__inductor_sized **out)
{
    dync__inductor_sized *s = dync__calloc(sizeof *s);
    if (!s) return DYNC_ERR_MEMORY;
    s->options = *options;
    dync_status status = dync__inductor_sized_copy(s, g);
    if (status == DYNC_OK) {
        dync__symtab_free(s->graph->syms);
        if (!(s->graph->syms = dync__symtab_copy(syms, NULL))) status = DYNC_ERR_MEMORY;
    }
    return dync__inductor_sized_give(s, status, out);
}

DYNC__FN dync_status dync__inductor_sized_narrow(dync__inductor_sized *s, const bool *used)
{
    dync_status status = DYNC_OK;
    dync__lock(&s->lock);
    if (!s->used || memcmp(s->used, used, (size_t)s->n_out) != 0) {
        if (!s->used) s->used = dync__calloc((size_t)s->n_out + 1);
        if (s->used)
            memcpy(s->used, used, (size_t)s->n_out);
        else
            status = DYNC_ERR_MEMORY;
        s->uses++;
        dync__inductor_class **end = &s->left;
        while (*end) end = &(*end)->next;
        *end = s->first;
        s->first = NULL;
        s->n = 0;
        dync__inductor_plan **last = &s->plans_left;
        while (*last) last = &(*last)->next;
        *last = s->plan;
        s->plan = NULL;
        s->n_plans = 0;
    }
    dync__unlock(&s->lock);
    return status;
}

DYNC__FN bool dync__inductor_sized_wants(dync__inductor_sized *s, const bool *used, int32_t uses)
{
    dync__lock(&s->lock);
    bool same = s->uses == uses && s->used && memcmp(s->used, used, (size_t)s->n_out) == 0;
    dync__unlock(&s->lock);
    return same;
}

DYNC__FN int32_t dync__inductor_sized_uses(dync__inductor_sized *s)
{
    dync__lock(&s->lock);
    int32_t uses = s->uses;
    dync__unlock(&s->lock);
    return uses;
}
