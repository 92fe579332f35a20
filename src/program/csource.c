/* program/csource.c: a program as one C11 file: static memory, no malloc, no dync.h. For
 * microcontrollers. After program_file.c.
 *
 *   graph -> functional graph (aot/) -> unfused steps (inductor/) -> fused kernels (loop/fuse.c)
 *         -> C (codegen/csrc.c for loops, csource_kernels.c for the rest)
 *
 * Weights become const arrays. Temporaries share one static arena, placed by their lifetimes. The
 * file is self-contained; a self-test main with inputs and what this library computes for them
 * stands behind #ifdef NAME_MAIN. */
#include "../dync.in.h"
#include "../inductor/inductor.h"
#include "../runtime/plan.h"
#include "program.h"
#include "csource.h"
DYNC__COLD

/* ---- the functional graph -------------------------------------------------------------------- */

/* Tensors of a nested result, in order; anything else is refused. */
static dync_status dync__csource_flatten(dync__arena *arena, const dync__arg *a, dync__arg *list,
                                         int cap)
{
    if (a->kind == DYNC__A_LIST) {
        for (int i = 0; i < a->n; i++)
            DYNC__TRY(dync__csource_flatten(arena, &a->as.list[i], list, cap));
        return DYNC_OK;
    }
    if (a->kind != DYNC__A_NODE || !a->as.node->has_info)
        return dync__fail(DYNC_ERR_UNSUPPORTED, "C source: an output that is no tensor");
    if (list->n == cap)
        return dync__fail(DYNC_ERR_UNSUPPORTED, "C source: more than %d outputs", cap);
    list->as.list[list->n++] = *a;
    return DYNC_OK;
}

/* A copy of the graph that returns a flat list. */
static dync_status dync__csource_flat(dync__graph *g, dync__graph **out)
{
    if (g->syms)
        return dync__fail(DYNC_ERR_UNSUPPORTED,
                          "C source of symbolic sizes: export with plain sizes (no "
                          "dync_mark_dynamic) for now");
    DYNC__TRY(dync__graph_concrete(g, NULL, out)); /* its sizes are numbers: the same graph */
    dync__node *last = (*out)->node.at[(*out)->node.n - 1];
    dync__arg list = {.kind = DYNC__A_LIST};
    list.as.list = dync__arena_alloc(&(*out)->arena, DYNC__MAX_LEAVES * sizeof(dync__arg));
    if (!list.as.list) return DYNC_ERR_MEMORY;
    DYNC__TRY(dync__csource_flatten(&(*out)->arena, &last->args[0], &list, DYNC__MAX_LEAVES));
    last->args[0] = list;
    dync__graph_renumber(*out);
    return DYNC_OK;
}

/* ---- steps, fused ---------------------------------------------------------------------------- */

static dync_status dync__csource_fuse(dync__csource *c)
{
    dync__plan_options options = {.name = c->program->name, .rolled = true};
    dync__steps steps;
    DYNC__TRY(dync__steps_begin(&steps, &c->pb, &options));
    DYNC__TRY(dync__steps_run(&steps, DYNC__PASS_schedule));
    c->steps = steps.at;
    for (int i = 0; i < steps.n; i++)
        if (!c->steps[i].k || dync__kernel_writes(c->steps[i].k))
            c->steps[c->n_steps++] = c->steps[i];
    return DYNC_OK;
}

/* ---- memory ---------------------------------------------------------------------------------- */

static void dync__csource_touch(dync__csource *c, int slot, int step)
{
    dync__csource_slot *s = &c->slot[slot];
    if (s->first < 0) s->first = step;
    s->last = step;
}

/* dync__memplan aligns to 64 bytes; here a cell of 8 bytes counts as 64, so temporaries lie 8 bytes
 * apart at least. */
enum { DYNC__CSOURCE_CELL = 8 };

static dync_status dync__csource_place(dync__csource *c)
{
    int n = c->pb.slot.n;
    dync__life *life = dync__arena_alloc(&c->arena, (size_t)n * sizeof *life);
    if (!life) return DYNC_ERR_MEMORY;
    for (int i = 0; i < c->n_steps; i++) {
        const dync__fuse_step *s = &c->steps[i];
        for (int k = 0; s->k && k < s->k->buf.n; k++) dync__csource_touch(c, s->k->buf.at[k].id, i);
        for (int k = 0; k < s->n_reads && !s->k; k++) dync__csource_touch(c, s->reads[k], i);
        for (int k = 0; k < s->n_writes && !s->k; k++) dync__csource_touch(c, s->writes[k], i);
    }
    for (int i = 0; i < n; i++) {
        const dync__csource_slot *s = &c->slot[i];
        life[i] = (dync__life){.slot = i,
                               .first = s->in_arena ? s->first : -1,
                               .last = s->copied_out ? c->n_steps : s->last};
        if (life[i].first >= 0)
            life[i].bytes = c->pb.slot.at[i].size *
                            dync__dtype_info(c->pb.slot.at[i].dtype)->bytes * DYNC__CSOURCE_CELL;
    }
    DYNC__TRY(dync__memplan(&c->arena, life, n, &c->arena_bytes));
    for (int i = 0; i < n; i++) c->slot[i].offset = life[i].offset / DYNC__CSOURCE_CELL;
    c->arena_bytes /= DYNC__CSOURCE_CELL;
    return DYNC_OK;
}

/* Where each value that the user's graph returns is: computed, or an input, or a view of one. */
static dync_status dync__csource_results(dync__csource *c)
{
    c->n_out = c->aot.out.n;
    c->out = dync__arena_alloc(&c->arena, (size_t)c->n_out * sizeof *c->out);
    if (!c->out) return DYNC_ERR_MEMORY;
    for (int i = 0; i < c->n_out; i++) {
        const dync__aot_out *o = &c->aot.out.at[i];
        if (o->kind == DYNC__AOT_VALUE) {
            c->out[i] = c->lowered.out[o->index];
            continue;
        }
        if (o->kind == DYNC__AOT_VIEW_OF_VALUE) {
            c->out[i] = c->lowered.out[o->index];
            int64_t first = c->out[i].lay.offset;
            c->out[i].lay = o->lay;
            c->out[i].lay.offset += first;
            continue;
        }
        const dync__info *in = &c->aot.fw->node.at[o->index]->info[0];
        c->out[i] = (dync__lowered_out){
            .input = o->index, .output = -1, .dtype = (uint8_t)in->dtype, .device = DYNC_CPU};
        c->out[i].lay = o->kind == DYNC__AOT_INPUT ? in->lay : o->lay;
    }
    return DYNC_OK;
}

/* An output of the graph that is a whole row-major storage of its own is written in place; others
 * are copied at the end. */
static void dync__csource_outputs(dync__csource *c)
{
    for (int i = 0; i < c->pb.slot.n; i++) {
        const dync__slot *s = &c->pb.slot.at[i];
        dync__csource_slot *t = &c->slot[i];
        t->first = t->last = t->output = -1;
        t->in_arena = s->kind == DYNC__SLOT_TEMP || s->kind == DYNC__SLOT_OUTPUT;
        if (s->kind != DYNC__SLOT_OUTPUT) continue;
        int users = 0;
        for (int k = 0; k < c->n_out; k++) {
            const dync__lowered_out *o = &c->out[k];
            if (o->input >= 0 || o->output != s->index) continue;
            int64_t numel = 1;
            for (int d = 0; d < o->lay.ndim; d++) numel *= o->lay.shape[d];
            bool whole = users++ == 0 && o->lay.offset == 0 && numel == s->size &&
                         dync__layout_is_contiguous(&o->lay) && o->dtype == s->dtype;
            t->output = whole ? k : -1;
        }
        if (users > 1) t->output = -1;
        t->in_arena = t->output < 0;
        t->copied_out = t->output < 0 && users > 0;
    }
}

/* ---- all of it ------------------------------------------------------------------------------- */

static dync_status dync__csource_prepare(dync__csource *c, const char **why)
{
    DYNC__TRY(dync__csource_flat(c->program->graph, &c->flat));
    dync__aot_how how = {.decompose = DYNC__DECOMPOSE_PLAIN, .budget = 1};
    dync_status status = dync__aot_trace(c->flat, NULL, false, &how, &c->aot, why);
    if (status != DYNC_OK) return status;
    if (c->aot.mutated.n)
        return dync__fail(DYNC_ERR_UNSUPPORTED, "C source: %s writes its inputs", c->program->name);
    DYNC__TRY(dync__inductor_steps(c->aot.fw, &c->arena, &c->pb, &c->lowered));
    DYNC__TRY(dync__csource_results(c));
    if (c->pb.rng_used || c->aot.seeds_before)
        return dync__fail(DYNC_ERR_UNSUPPORTED, "C source: %s draws random numbers",
                          c->program->name);
    DYNC__TRY(dync__csource_fuse(c));
    c->slot = dync__arena_alloc(&c->arena, (size_t)c->pb.slot.n * sizeof *c->slot);
    if (!c->slot) return DYNC_ERR_MEMORY;
    dync__csource_outputs(c);
    return dync__csource_place(c);
}

DYNC__FN dync_status dync__program_csource(const dync__program *p, dync__str *s)
{
    dync__csource c = {.program = p};
    const char *why = NULL;
    size_t n = strlen(p->name);
    c.upper = dync__arena_alloc(&c.names, n + 1);
    dync_status status = c.upper ? DYNC_OK : DYNC_ERR_MEMORY;
    for (size_t i = 0; status == DYNC_OK && i < n; i++)
        c.upper[i] =
            (char)(p->name[i] >= 'a' && p->name[i] <= 'z' ? p->name[i] - 'a' + 'A' : p->name[i]);
    uint64_t errors = dync__error_count();
    if (status == DYNC_OK) status = dync__csource_prepare(&c, &why);
    if (status == DYNC_ERR_UNSUPPORTED && dync__error_count() == errors)
        dync__fail(status, "C source: %s: %s", p->name,
                   why ? why : "a form that is not functional");
    if (status == DYNC_OK) status = dync__csource_print(&c, s);
    dync__graph_unref(c.flat);
    dync__aot_graphs_free(&c.aot);
    dync__lowered_free(&c.lowered);
    dync__arena_free(&c.arena);
    dync__arena_free(&c.names);
    return status == DYNC_OK && s->failed ? DYNC_ERR_MEMORY : status;
}
