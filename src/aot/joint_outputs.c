/* aot/joint_outputs.c: outputs of the joint graph that are inputs, views or seen before, and inputs
 * that were written. Before: alias.c. */
#include "../dync.in.h"
#include "aot.h"
#include "../autograd/node.h"
DYNC__LEAN

/* ---- outputs --------------------------------------------------------------------------------- */
/* The value that is fake t; made where there is none. -1: no memory. */
static int dync__joint_value(dync__joint *j, dync__tensor *t)
{
    dync__aot_graphs *g = j->into;
    for (int k = 0; k < g->value.n; k++)
        if (j->value[k] == t) return k;
    dync__aot_value v = {.over = DYNC__AOT_OWN,
                         .requires_grad = j->training && dync__is_float_dtype(t->dtype) &&
                                          dync__tensor_requires_grad(t)};
    j->value[g->value.n] = t;
    return dync__vec_push(&g->value, v) ? g->value.n - 1 : -1;
}

static int dync__joint_find_seen(const dync__joint *j, const dync__tensor *t)
{
    for (int i = 0; i < j->n_actual; i++)
        if (j->seen[i] == t) return i;
    return -1;
}

/* What has no elements is anywhere: where the base begins, whose offset is no guard then. */
static dync__layout dync__layout_from(const dync__tensor *t, const dync__tensor *base)
{
    dync__layout lay = t->lay;
    lay.offset = t->numel ? dync__sz_sub(lay.offset, base->lay.offset) : 0;
    return lay;
}

static uint8_t dync__view_mode(const dync__tensor *t)
{
    return t->grad->view_kind == DYNC__VIEW_NO_GRAD ? DYNC__AOT_NO_GRAD : DYNC__AOT_TRACKED;
}

/* An output on the memory of an input. */
static dync_status dync__joint_on_input(dync__joint *j, dync__tensor *t, int input,
                                        dync__aot_out *o)
{
    int same = dync__joint_find_seen(j, t),
        base = t->grad && t->grad->base ? dync__joint_find_seen(j, t->grad->base) : -1;
    o->kind = same >= 0 ? DYNC__AOT_INPUT : DYNC__AOT_VIEW_OF_INPUT;
    o->index = same >= 0 ? same : base >= 0 ? base : input;
    o->lay = dync__layout_from(t, j->seen[o->index]);
    if (same >= 0) return DYNC_OK;
    o->mode = base >= 0 ? dync__view_mode(t) : DYNC__AOT_DETACHED;
    if (!j->training || !dync__tensor_requires_grad(t)) return DYNC_OK;
    bool clear = dync__layout_is_dense(&j->seen[o->index]->lay) ||
                 dync__layout_is_apart(&j->seen[o->index]->lay);
    if (base >= 0 && clear) return DYNC_OK;
    /* detached, then differentiated on its own: a value on the input's memory, or a view of that.
     * So is a view of an input whose elements share places: strides say which place an element of
     * the view has, and not which element of the input it is. */
    dync__tensor *own = t->grad->base && base < 0 ? t->grad->base : t;
    int k = dync__joint_value(j, own);
    if (k < 0) return DYNC_ERR_MEMORY;
    j->into->value.at[k].over = DYNC__AOT_OVER_INPUT;
    j->into->value.at[k].index = input;
    j->into->value.at[k].lay = dync__layout_from(own, j->seen[input]);
    o->index = k;
    o->kind = own == t ? DYNC__AOT_VALUE : DYNC__AOT_VIEW_OF_VALUE;
    if (own == t) return DYNC_OK;
    o->mode = dync__view_mode(t);
    o->lay = dync__layout_from(t, own);
    return DYNC_OK;
}

static bool dync__joint_alone(const dync__joint *j, const dync__tensor *t)
{
    for (int i = 0; i < j->n_out; i++)
        if (j->out[i] != t && j->out[i]->storage == t->storage) return false;
    return true;
}

/* An output that is a value, or shares the memory of other outputs. */
static dync_status dync__joint_on_value(dync__joint *j, dync__tensor *t, dync__aot_out *o)
{
    dync__tensor *whole = (t->flags & DYNC__T_FAKE) ? dync__functional_whole(t) : t;
    bool plain = whole == t || dync__joint_alone(j, t);
    if (plain) {
        o->kind = DYNC__AOT_VALUE;
        o->index = dync__joint_value(j, t);
        return o->index < 0 ? DYNC_ERR_MEMORY : DYNC_OK;
    }
    int of = dync__joint_value(j, whole);
    if (of < 0) return DYNC_ERR_MEMORY;
    bool tracked = t->grad && t->grad->base, history = tracked && dync__tensor_requires_grad(t);
    dync__tensor *own = tracked && (t->grad->base == whole || history) ? t->grad->base : t;
    o->kind = own == t ? DYNC__AOT_VALUE : DYNC__AOT_VIEW_OF_VALUE;
    o->lay = dync__layout_from(t, own);
    if (own != t) o->mode = dync__view_mode(t);
    o->index = of;
    if (own == whole) return DYNC_OK;
    o->index = dync__joint_value(j, own); /* an alias with a history of its own */
    if (o->index < 0) return DYNC_ERR_MEMORY;
    dync__aot_value *v = &j->into->value.at[o->index];
    v->over = DYNC__AOT_OVER_VALUE;
    v->index = of;
    v->lay = dync__layout_from(own, whole);
    return DYNC_OK;
}

DYNC__FN dync_status dync__joint_outputs(dync__joint *j)
{
    j->value = dync__arena_alloc(&j->arena, (size_t)(2 * j->n_out + 1) * sizeof *j->value);
    if (!j->value) return DYNC_ERR_MEMORY;
    for (int i = 0; i < j->n_out; i++) {
        dync__tensor *t = j->out[i];
        dync__aot_out o = {.same_as = -1};
        for (int k = 0; k < i && o.same_as < 0; k++)
            if (j->out[k] == t) o.same_as = k;
        int input = (t->flags & DYNC__T_FAKE) ? dync__functional_base_input(&j->f, t) : -1;
        DYNC__TRY(input >= 0 ? dync__joint_on_input(j, t, input, &o)
                             : dync__joint_on_value(j, t, &o));
        if (!dync__vec_push(&j->into->out, o)) return DYNC_ERR_MEMORY;
    }
    return DYNC_OK;
}

/* ---- inputs that were written ---------------------------------------------------------------- */
/* Was it written so that the tape saw it? */
static bool dync__joint_new_history(const dync__joint *j, int i)
{
    const dync__tensor *t = j->seen[i];
    if (!j->training || !dync__tensor_requires_grad(t)) return false;
    return !j->leaf[i] || (t->grad && t->grad->node && !dync__aot_is_entry(t->grad->node));
}

static dync_status dync__joint_written(dync__joint *j, int i, bool with_grad)
{
    dync__aot_mutation m = {i, with_grad};
    j->written[j->into->mutated.n] = j->seen[i];
    return dync__vec_push(&j->into->mutated, m) ? DYNC_OK : DYNC_ERR_MEMORY;
}

DYNC__FN dync_status dync__joint_mutations(dync__joint *j)
{
    dync__aot_graphs *g = j->into;
    j->written = dync__arena_alloc(&j->arena, (size_t)(j->n_actual + 1) * sizeof *j->written);
    if (!j->written) return DYNC_ERR_MEMORY;
    for (int i = 0; i < j->n_actual; i++)
        if (g->actual.at[i].passed && dync__functional_mutated(j->seen[i]))
            DYNC__TRY(dync__joint_written(j, i, dync__joint_new_history(j, i)));
    /* parts of rows: their data are back, their history is not */
    for (int i = 0; i < g->n_inputs; i++) {
        const dync__aot_actual *a = &g->actual.at[i];
        if (a->same_as < 0 && a->group >= 0 &&
            (a->apart || g->actual.at[a->group].kind == DYNC__AOT_FLAT) &&
            dync__joint_new_history(j, i))
            DYNC__TRY(dync__joint_written(j, i, true));
    }
    return DYNC_OK;
}
