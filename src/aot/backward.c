/* aot/backward.c: the autograd node that stands for a compiled forward: it holds what forward saved
 * and runs the backward graph. After partition.c, before runtime.c.
 *
 * A second derivative needs the forward program again: with .double_backward the node keeps its
 * inputs, and a backward that is to be differentiated runs the forward graph once more through the
 * tape. Without it, the results of such a backward refuse. */
#include "../dync.in.h"
#include "code.h"
#include "../autograd/node.h"
#include "saved.h"
DYNC__WARM

/* ---- the code: its callable and every node of it hold it ------------------------------------- */
/* The form (code of symbolic sizes that this one is an instance of) is a reference too. */
DYNC__FN void dync__aot_code_unref(dync__aot_code *c)
{
    if (!c || DYNC__ATOMIC_DEC(&c->refs) > 0) return;
    if (c->fw.destroy) c->fw.destroy(c->fw.state);
    if (c->fw_sized.state) c->fw_sized.destroy(c->fw_sized.state);
    for (int i = 0; i < c->n_parts; i++) {
        if (c->part[i].run.destroy) c->part[i].run.destroy(c->part[i].run.state);
        if (c->part[i].sized.state) c->part[i].sized.destroy(c->part[i].sized.state);
        dync__aot_variants_free(&c->part[i]);
        if (c->form) continue; /* the rest is the form's */
        dync__graph_unref(c->part[i].bw);
        dync__free(c->part[i].depends, (size_t)c->part[i].n_grads * (size_t)c->part[i].n_tangents);
        dync__free(c->part[i].saved, c->part[i].bytes);
    }
    dync__free(c->part, (size_t)c->n_parts * sizeof *c->part);
    if (c->views) dync__free(c->views, c->views_bytes);
    if (!c->form) dync__aot_graphs_free(&c->g);
    dync__graph_unref(c->graph);
    dync__graph_unref(c->original);
    if (c->value) dync__free(c->value, (size_t)c->form->syms->symbol.n * sizeof *c->value + 1);
    dync__aot_code_unref(c->form);
    dync__symtab_free(c->syms);
    if (!DYNC__SYM_NONE) dync__aot_tail_free(c->tail);
    dync__free(c, sizeof *c);
}

/* After a backward without retain_graph: the tensors go, the block stays, and a second backward
 * is an error. */
DYNC__FN void dync__aot_saved_release(void *state)
{
    dync__aot_saved *s = state;
    s->lost = true;
    dync__watch_end(s->n_watched, s->watch);
    for (int i = 0; i < s->n; i++) {
        dync__unref(s->tensor[i]);
        s->tensor[i] = NULL;
    }
    for (int i = 0; i < s->n_again; i++) dync__saved_free(&s->again[i]);
}

DYNC__FN void dync__aot_saved_destroy(void *state)
{
    dync__aot_saved *s = state;
    dync__aot_saved_release(s);
    dync__aot_code_unref(s->code);
    dync__free(s, s->bytes);
}

/* ---- gradients through the backward graph ---------------------------------------------------- */
/* As eager's: what backward reads must not have been written since forward, nor been freed. The
 * error names the tensor and both versions. */
DYNC__FN dync_status dync__aot_saved_check(const dync__aot_saved *s)
{
    if (s->lost) return dync__gnode_freed_error();
    for (int i = 0; i < s->n; i++) {
        const dync__tensor *t = s->tensor[i];
        if (t->storage->version == s->version[i]) continue;
        dync__str brief = {0};
        dync__tensor_brief(&brief, t);
        dync_status status = dync__fail(
            DYNC_ERR_AUTOGRAD,
            "one of the variables needed for gradient computation has been "
            "modified by an inplace operation: [%s], which is "
            "saved by CompiledFunctionBackward, is at version %u; expected version %u instead.",
            dync__str_get(&brief), (unsigned)t->storage->version, (unsigned)s->version[i]);
        dync__str_free(&brief);
        return status;
    }
    return DYNC_OK;
}

/* Were saved tensors written that only gradients which did not arrive need? */
DYNC__RARE static bool dync__aot_saved_spared(const dync__aot_saved *s, int n_out,
                                              dync__tensor *const *grad_out)
{
    const dync__aot_part *p = s->part;
    bool few[DYNC__FEW], *written, any = false;
    if (s->lost || !p->bw) return false;
    written = dync__room(few, DYNC__FEW, s->n + p->n_tangents + 1, sizeof *written);
    if (!written) return false;
    bool *absent = written + s->n;
    for (int i = 0; i < p->n_tangents; i++)
        any |= absent[i] = p->tangent[i] >= n_out || !grad_out[p->tangent[i]];
    for (int i = 0; i < s->n; i++) written[i] = s->tensor[i]->storage->version != s->version[i];
    any = any && dync__aot_spared(p, absent, written);
    dync__room_end(written, few, s->n + p->n_tangents + 1, sizeof *written);
    return any;
}

/* As eager's, for these gradients. Nothing to look at but versions, in the usual case. */
DYNC__FN dync_status dync__aot_saved_check_for(const dync__aot_saved *s, int n_out,
                                               dync__tensor *const *grad_out)
{
    for (int i = 0; i < s->n && !s->lost; i++)
        if (s->tensor[i]->storage->version != s->version[i])
            return dync__aot_saved_spared(s, n_out, grad_out) ? DYNC_OK : dync__aot_saved_check(s);
    return s->lost ? dync__aot_saved_check(s) : DYNC_OK;
}

/* Did a gradient arrive that gradient i of the part depends on? Without one it is none: zeros would
 * reach an optimizer. */
static bool dync__aot_reached(const dync__aot_part *p, int i, int n_out,
                              dync__tensor *const *grad_out)
{
    bool any = !p->depends, none = true; /* no tangents, no gradients: nothing to tell */
    for (int k = 0; !any && k < p->n_tangents; k++) {
        if (!p->depends[i * p->n_tangents + k]) continue;
        none = false;
        any = p->tangent[k] < n_out && grad_out[p->tangent[k]];
    }
    return any || none;
}

/* Hands gradients over to where they are wanted; the rest is given up. */
DYNC__FN void dync__aot_give_grads(const dync__aot_part *p, dync__tensor **grad, int n_out,
                                   dync__tensor *const *grad_out, int n_in, const bool *needed,
                                   dync__tensor **grad_in)
{
    for (int i = 0; i < p->n_grads; i++) {
        int input = p->grad[i];
        if (input < n_in && needed[input] && !grad_in[input] &&
            dync__aot_reached(p, i, n_out, grad_out))
            grad_in[input] = grad[i];
        else
            dync__unref(grad[i]);
        grad[i] = NULL;
    }
}

/* NaN where not all tangents arrived may come of the zeros in their place: once more, without them.
 */
DYNC__RARE static dync_status dync__aot_backward_without(const dync__aot_saved *s,
                                                         const bool *absent,
                                                         dync__tensor *const *in,
                                                         dync__tensor **grad)
{
    const dync__aot_part *p = s->part;
    dync__graph *without;
    for (int i = 0; i < p->n_grads; i++) {
        dync__unref(grad[i]);
        grad[i] = NULL;
    }
    DYNC__TRY(dync__aot_without(p, s->code->form ? s->value : NULL, absent, &without));
    dync_status status =
        dync__graph_eval_flat(without, NULL, s->n + p->n_tangents, in, p->n_grads, grad);
    dync__graph_unref(without);
    return status;
}

/* The compiled backward; without the tangents that did not arrive where they would meet values
 * that were written since (an index may lie anywhere now), or have met infinite ones. */
static dync_status dync__aot_backward_code(const dync__aot_saved *s, bool missing,
                                           const bool *absent, dync__tensor *const *in,
                                           dync__tensor **grad)
{
    const dync__aot_part *p = s->part;
    missing = missing && p->bw;
    if (missing && dync__aot_saved_written(s))
        return dync__aot_backward_without(s, absent, in, grad);
    DYNC__TRY(p->run.run(p->run.state, s->n + p->n_tangents, in, p->n_grads, grad));
    return missing && dync__aot_any_nan(p->n_grads, grad)
               ? dync__aot_backward_without(s, absent, in, grad)
               : DYNC_OK;
}

/* By the graph that takes every gradient, dense: zeros for those that did not arrive. */
static dync_status dync__aot_backward_dense(const dync__aot_saved *s, int n_out,
                                            dync__tensor *const *grad_out, dync__tensor **grad)
{
    const dync__aot_part *p = s->part;
    int room = s->n + 2 * p->n_tangents, missing = 0;
    dync__tensor *few[DYNC__FEW], **in = dync__room(few, DYNC__FEW, room, sizeof *in);
    if (!in) return DYNC_ERR_MEMORY;
    dync_status status = DYNC_OK;
    dync__tensor **tangent = in + s->n;
    bool *absent = (bool *)(tangent + p->n_tangents);
    memset(tangent, 0, (size_t)(2 * p->n_tangents) * sizeof *tangent);
    memcpy(in, s->tensor, (size_t)s->n * sizeof *in);
    for (int i = 0; i < p->n_tangents && status == DYNC_OK; i++) {
        int output = p->tangent[i];
        missing += absent[i] = output >= n_out || !grad_out[output];
        if (!(tangent[i] = dync__aot_tangent(s, i, absent[i] ? NULL : grad_out[output])))
            status = DYNC_ERR_MEMORY;
    }
    if (status == DYNC_OK) status = dync__aot_backward_code(s, missing > 0, absent, in, grad);
    for (int i = 0; i < p->n_tangents; i++) dync__unref(tangent[i]);
    dync__room_end(in, few, room, sizeof *in);
    return status;
}

/* Saved tensors and tangents in, gradients out, with grad mode off: the compiled backward has no
 * history of its own. grad_in gets owned references only where the tape needs them. */
DYNC__FN dync_status dync__aot_backward_run(dync__aot_saved *s, int n_out,
                                            dync__tensor *const *grad_out, int n_in,
                                            const bool *needed, dync__tensor **grad_in)
{
    const dync__aot_part *p = s->part;
    dync__tensor *few[DYNC__FEW], **grad = dync__room(few, DYNC__FEW, p->n_grads, sizeof *grad);
    dync_status status;
    if (!grad) return DYNC_ERR_MEMORY;
    memset(grad, 0, (size_t)p->n_grads * sizeof *grad);
    dync__watch_end(s->n_watched, s->watch); /* who writes now gives no copies */
    bool grad_off = dync__grad_off(true);
    if (!dync__aot_variant_run(s, n_out, grad_out, grad, &status))
        status = dync__aot_backward_dense(s, n_out, grad_out, grad);
    dync__grad_off(grad_off);
    if (status == DYNC_OK) dync__aot_give_grads(p, grad, n_out, grad_out, n_in, needed, grad_in);
    dync__watch_begin(s->n_watched, s->watch); /* the graph may be retained */
    dync__room_end(grad, few, p->n_grads, sizeof *grad);
    return status;
}

/* ---- under a tracer -------------------------------------------------------------------------- */
/* Zeros for tangent i as an operator, which the tracer sees: of the sizes that it has put for the
 * form's symbols. */
static dync_status dync__aot_zeros(const dync__aot_saved *s, int i, dync__tensor **out)
{
    dync__info info;
    DYNC__TRY(dync__aot_tangent_info(s, i, &info));
    dync__arg args[3] = {dync__arg_dims(info.lay.ndim, info.lay.shape), dync__arg_dtype(info.dtype),
                         dync__arg_device(info.device)};
    return dync__op_run(DYNC__OP_zeros, 3, args, out);
}

/* Is a gradient wanted that is an error? */
DYNC__FN dync_status dync__aot_broken(const dync__aot_graphs *g, int n_out,
                                      dync__tensor *const *grad_out, int n_in, const bool *needed)
{
    for (int i = 0; i < g->broken.n; i++)
        if (g->broken.at[i].out < n_out && grad_out[g->broken.at[i].out] &&
            g->broken.at[i].input < n_in && needed[g->broken.at[i].input])
            return dync__fail(g->backward_status, "%s", g->backward_error);
    return DYNC_OK;
}

/* The backward graph interpreted under a tracer, with what the tracer has in place of the saved
 * tensors, so that compiled autograd sees its operators. A form's graph runs with the sizes that
 * forward had. */
DYNC__RARE DYNC__FN dync_status dync__aot_backward_inline(void *state, dync__tensor *const *saved,
                                                          int n_out, dync__tensor *const *grad_out,
                                                          int n_in, const bool *needed,
                                                          dync__tensor **grad_in)
{
    const dync__aot_saved *s = state;
    const dync__aot_part *p = s->part;
    dync__arena arena = {0};
    DYNC__TRY(dync__aot_broken(&s->code->g, n_out, grad_out, n_in, needed));
    if (!p->bw) return DYNC_OK;
    dync__arg *args = dync__arena_alloc(&arena, (size_t)(s->n + p->n_tangents + 1) * sizeof *args),
              result = {0};
    dync_status status = args ? DYNC_OK : DYNC_ERR_MEMORY;
    for (int i = 0; i < s->n && args; i++) args[i] = dync__arg_t(saved[i]);
    for (int i = 0; i < p->n_tangents && status == DYNC_OK; i++) {
        int output = p->tangent[i];
        dync__tensor *t = output < n_out ? grad_out[output] : NULL;
        if (t)
            dync__ref(t);
        else
            status = dync__aot_zeros(s, i, &t);
        if (t) args[s->n + i] = dync__arg_t(dync__open(dync__give(t)));
    }
    if (status == DYNC_OK)
        status = dync__graph_eval_sized(p->bw, s->code->form ? s->value : NULL, args,
                                        s->n + p->n_tangents, &arena, &result);
    for (int i = 0; i < p->n_grads && status == DYNC_OK; i++) {
        int input = p->grad[i];
        if (input < n_in && needed[input] && dync__aot_reached(p, i, n_out, grad_out))
            dync__ref(grad_in[input] = result.as.list[i].as.t);
    }
    if (status == DYNC_OK) dync__arg_release(&result);
    dync__arena_free(&arena);
    return status;
}

DYNC__FN bool dync__any_fake(int n, dync__tensor *const *t)
{
    for (int i = 0; i < n; i++)
        if (t[i] && (t[i]->flags & DYNC__T_FAKE)) return true;
    return false;
}
