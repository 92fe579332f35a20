/* aot/runtime.c: what a call through compiled forward and backward graphs does around them: inputs
 * on one memory get a base, inputs that were written get their new values, outputs that are views
 * are made as views, and for training one autograd node stands for the whole (backward.c). After
 * backward.c, before make.c. */
#include "../dync.in.h"
#include "code.h"
#include "../autograd/node.h"
DYNC__WARM

/* ---- inputs ---------------------------------------------------------------------------------- */
/* What stands for a group of inputs in this call; a row is made for it. NULL: these inputs share
 * memory in another way, or no memory. */
DYNC__RARE static dync__tensor *dync__aot_base(const dync__aot_actual *a, dync__tensor *const *in)
{
    dync__tensor *x = in[a->from];
    if (a->kind == DYNC__AOT_FLAT) return dync__tensor_alias(x, x->dtype, &a->lay);
    dync__tensor *base = x->grad ? x->grad->base : NULL;
    return base && dync__layout_equal(&base->lay, &a->lay) ? base : NULL;
}

/* A hook on the way from a view to its base, which a joint graph of the base would pass by. */
static bool dync__aot_hooked(const dync__tensor *x, const dync__tensor *base)
{
    const dync__gnode *n = x->grad->node, *end = base->grad ? base->grad->node : NULL;
    for (; n && n != end; n = n->n_in ? n->edge[0].node : NULL)
        if (n->hook.n) return true;
    return false;
}

/* Do this call's inputs share memory exactly as the examples did? The compiled code holds only
 * then. Checked: same tensors, same storage as the base, same layout, view or no view of the
 * base, and no hook in between. */
DYNC__RARE static bool dync__aot_shares(const dync__aot_graphs *g, dync__tensor *const *in,
                                        dync__tensor *const *actual)
{
    for (int i = 0; i < g->n_inputs; i++) {
        const dync__aot_actual *a = &g->actual.at[i];
        for (int k = 0; k < i && a->beside && a->same_as < 0; k++)
            if (g->actual.at[k].beside && g->actual.at[k].same_as < 0 &&
                in[k]->storage == in[i]->storage && !dync__aot_apart(in[i], in[k]))
                return false;
        if (a->same_as >= 0) {
            if (in[i] != in[a->same_as]) return false;
        } else if (a->group >= 0) {
            const dync__tensor *base = actual[a->group];
            if (!base || base->storage != in[i]->storage ||
                !dync__layout_equal(&in[i]->lay, &a->lay))
                return false;
            bool on_base = g->actual.at[a->group].kind != DYNC__AOT_FLAT && base != in[i];
            if (on_base && dync__aot_views(in[i], base) == a->apart) return false;
            if (on_base && !a->apart && dync__aot_hooked(in[i], base)) return false;
        }
    }
    return true;
}

/* actual: the user's inputs, then what stands for groups; passed: those of them that the forward
 * graph takes. Both lie in one room; only rows (AOT_FLAT) are owned. */
typedef struct dync__aot_inputs {
    dync__tensor *few[2 * DYNC__FEW], **actual, **passed;
    int room;
} dync__aot_inputs;

static void dync__aot_inputs_end(const dync__aot_graphs *g, dync__aot_inputs *x)
{
    for (int i = g->n_inputs; i < g->actual.n; i++)
        if (g->actual.at[i].kind == DYNC__AOT_FLAT) dync__unref(x->actual[i]);
    dync__room_end(x->actual, x->few, x->room, sizeof *x->actual);
}

/* *plain: the inputs share memory in another way than the examples did. */
static dync_status dync__aot_inputs_begin(const dync__aot_graphs *g, dync__tensor *const *in,
                                          dync__aot_inputs *x, bool *plain)
{
    int k = 0;
    x->room = 2 * g->actual.n;
    x->actual = dync__room(x->few, DYNC__COUNT_OF(x->few), x->room, sizeof *x->actual);
    if (!x->actual) return DYNC_ERR_MEMORY;
    x->passed = x->actual + g->actual.n;
    memcpy(x->actual, in, (size_t)g->n_inputs * sizeof *x->actual);
    for (int i = g->n_inputs; i < g->actual.n; i++) {
        const dync__aot_actual *a = &g->actual.at[i];
        x->actual[i] = a->kind == DYNC__AOT_ATTR ? a->tensor : dync__aot_base(a, in);
    }
    *plain = !dync__aot_shares(g, in, x->actual);
    for (int i = 0; i < g->actual.n; i++)
        if (g->actual.at[i].passed) x->passed[k++] = x->actual[i];
    return DYNC_OK;
}

/* ---- results --------------------------------------------------------------------------------- */
/* New values of mutated inputs are copied into them through the tape, so that versions, hooks
 * and history are as after the operator in place. NULL in fw_out: the kernel wrote into the
 * input itself. */
static dync_status dync__aot_write_back(const dync__aot_graphs *g, dync__tensor *const *actual,
                                        dync__tensor *const *fw_out)
{
    bool grad_off = dync__grad_is_off();
    dync_status status = DYNC_OK;
    for (int i = 0; i < g->mutated.n && status == DYNC_OK; i++) {
        if (!fw_out[i]) { /* written where it belongs */
            actual[g->mutated.at[i].input]->storage->version++;
            continue;
        }
        dync__arg args[2] = {dync__arg_t(actual[g->mutated.at[i].input]), dync__arg_t(fw_out[i])};
        dync__tensor *same = NULL;
        dync__grad_off(!g->mutated.at[i].with_grad);
        status = dync__op_run(DYNC__OP_copy_, 2, args, &same);
        dync__unref(same);
    }
    dync__grad_off(grad_off);
    return status;
}

/* By need: where a program calls operators that write. */
static dync_status (*DYNC__BY_NEED dync__aot_write_used)(
    const dync__aot_graphs *, dync__tensor *const *actual,
    dync__tensor *const *fw_out) = DYNC__AT_FIRST(dync__aot_write_back);
DYNC__FN void dync__aot_use_writes(void)
{
    DYNC__PUT(dync__aot_write_used, dync__aot_write_back);
    dync__functional_use_writes();
    dync__joint_use_none();
}
/* By need: where it makes views as well. */
DYNC__FN void dync__aot_use_views(void)
{
    dync__functional_use_parts();
    dync__joint_use_sharing();
}
static dync_status dync__aot_written(const dync__aot_graphs *g, dync__tensor *const *actual,
                                     dync__tensor *const *fw_out)
{
    if (!dync__aot_write_used) return dync__unlinked("writes");
    return dync__aot_write_used(g, actual, fw_out);
}

/* Values that lie on the memory of something else take its place in fw_out; others are no views,
 * however they were made. */
static dync_status dync__aot_place_values(const dync__aot_graphs *g, dync__tensor *const *actual,
                                          dync__tensor **fw_out)
{
    for (int k = 0; k < g->value.n; k++) {
        const dync__aot_value *v = &g->value.at[k];
        dync__tensor **value = &fw_out[g->mutated.n + k];
        if (v->over == DYNC__AOT_OWN && *value) dync__grad_meta_no_view(*value);
        if (v->over == DYNC__AOT_OWN || !*value) continue;
        const dync__tensor *on = v->over == DYNC__AOT_OVER_INPUT ? actual[v->index]
                                                                 : fw_out[g->mutated.n + v->index];
        if (!on) continue;
        dync__layout lay = v->lay;
        lay.offset += on->lay.offset;
        dync__tensor *t = dync__tensor_alias(on, (*value)->dtype, &lay);
        if (!t) return DYNC_ERR_MEMORY;
        dync__unref(*value);
        *value = t;
    }
    return DYNC_OK;
}

/* An output that is a view of `base`, made anew as the function made it: with history, without
 * grad mode, or detached. *out is owned by the caller. */
static dync_status dync__aot_view(dync__tensor *base, const dync__aot_out *o, dync__tensor **out)
{
    dync__layout lay = o->lay;
    lay.offset += base->lay.offset;
    if (o->mode == DYNC__AOT_DETACHED)
        return (*out = dync__tensor_alias(base, base->dtype, &lay)) ? DYNC_OK : DYNC_ERR_MEMORY;
    bool grad_off = dync__grad_off(o->mode == DYNC__AOT_NO_GRAD);
    dync__arg args[4] = {dync__arg_t(base), dync__arg_dims(lay.ndim, lay.shape),
                         dync__arg_dims(lay.ndim, lay.stride), dync__arg_i(lay.offset)};
    dync_status status = dync__op_run(DYNC__OP_as_strided, 4, args, out);
    dync__grad_off(grad_off);
    return status;
}

/* The user's outputs in order, each an owned reference; NULL where narrowing dropped it. */
static dync_status dync__aot_finish(const dync__aot_graphs *g, dync__tensor *const *actual,
                                    dync__tensor *const *fw_out, dync__tensor **out)
{
    for (int i = 0; i < g->out.n; i++) {
        const dync__aot_out *o = &g->out.at[i];
        bool of_input = o->kind == DYNC__AOT_INPUT || o->kind == DYNC__AOT_VIEW_OF_INPUT;
        dync__tensor *t = o->same_as >= 0 ? out[o->same_as]
                          : of_input      ? actual[o->index]
                                          : fw_out[g->mutated.n + o->index];
        if (!t) continue; /* narrowed away */
        if (o->same_as >= 0 || o->kind == DYNC__AOT_INPUT || o->kind == DYNC__AOT_VALUE)
            dync__ref(out[i] = t);
        else
            DYNC__TRY(dync__aot_view(t, o, &out[i]));
    }
    return DYNC_OK;
}

/* A new value that is an input as it was (copy_) must not give that one a history. */
static dync_status dync__aot_own(dync__tensor **t)
{
    if ((*t)->refs == 1) return DYNC_OK;
    dync__tensor *own = dync__tensor_alias(*t, (*t)->dtype, &(*t)->lay);
    if (!own) return DYNC_ERR_MEMORY;
    dync__unref(*t);
    *t = own;
    return DYNC_OK;
}

/* ---- a call ---------------------------------------------------------------------------------- */
/* One call through compiled forward. Order matters: history is attached first, since the copies
 * into written inputs are differentiated where they have one; views of outputs come last, on the
 * new values. */
static dync_status dync__aot_call(dync__aot_code *c, dync__tensor *const *actual,
                                  dync__tensor *const *passed, dync__tensor **out)
{
    const dync__aot_graphs *g = &c->g;
    dync__tensor *few[DYNC__FEW],
        **fw_out = dync__room(few, DYNC__FEW, c->n_fw_out, sizeof *fw_out);
    if (!fw_out) return DYNC_ERR_MEMORY;
    memset(fw_out, 0, (size_t)c->n_fw_out * sizeof *fw_out);
    if (g->seeds_before) dync__tls.rng_seed = (uint64_t)g->seed_before, dync__tls.rng_offset = 0;
    dync__aot_random random = {dync__tls.rng_seed, dync__tls.rng_offset};
    for (int i = 0; i < g->mutated.n; i++)
        dync__storage_writes(actual[g->mutated.at[i].input]->storage);
    dync_status status = c->fw.run(c->fw.state, c->n_fw_in, passed, c->n_fw_out, fw_out);
    if (g->seeds_after) dync__tls.rng_seed = (uint64_t)g->seed_after, dync__tls.rng_offset = 0;
    /* it may have stopped (an index) behind a write */
    for (int i = 0; status != DYNC_OK && i < g->mutated.n; i++)
        actual[g->mutated.at[i].input]->storage->version++;
    if (status == DYNC_OK) status = dync__aot_place_values(g, actual, fw_out);
    for (int i = 0; status == DYNC_OK && i < g->mutated.n; i++)
        if (g->mutated.at[i].with_grad) status = dync__aot_own(&fw_out[i]);
    bool grad_off = dync__grad_is_off();
    if (c->turns_grad_on) dync__grad_off(false);
    if (status == DYNC_OK && !DYNC__GRAD_NONE && g->training)
        status = dync__aot_gradients_used->attach(c, g->actual.n, actual, fw_out,
                                                  fw_out + g->mutated.n + g->value.n, random);
    dync__grad_off(grad_off);
    if (status == DYNC_OK && g->mutated.n) status = dync__aot_written(g, actual, fw_out);
    if (status == DYNC_OK) status = dync__aot_finish(g, actual, fw_out, out);
    for (int i = 0; i < c->n_fw_out; i++) dync__unref(fw_out[i]);
    dync__room_end(fw_out, few, c->n_fw_out, sizeof *fw_out);
    return status;
}

/* The user's graph interpreted as it is: for calls whose inputs share memory in another way than
 * the examples. */
DYNC__FN dync_status dync__aot_run_plain(void *state, int n_in, dync__tensor *const *in, int n_out,
                                         dync__tensor **out)
{
    return dync__graph_eval_flat(((dync__aot_code *)state)->graph, NULL, n_in, in, n_out, out);
}

DYNC__FN dync_status dync__aot_run(void *state, int n_in, dync__tensor *const *in, int n_out,
                                   dync__tensor **out)
{
    dync__aot_code *c = state;
    const dync__aot_graphs *g = &c->g;
    static const char own[] = "a compiled graph takes %d tensors, got %d";
    if (n_in != g->n_inputs || n_out != g->out.n)
        return dync__fail(DYNC_ERR_VALUE, own, g->n_inputs, n_in);
    if (g->plain_inputs) return dync__aot_call(c, in, in, out);
    dync__aot_inputs x;
    bool plain;
    DYNC__TRY(dync__aot_inputs_begin(g, in, &x, &plain));
    dync_status status = plain ? dync__aot_run_plain(state, n_in, in, n_out, out)
                               : dync__aot_call(c, x.actual, x.passed, out);
    dync__aot_inputs_end(g, &x);
    return status;
}
