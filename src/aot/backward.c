/* aot/backward.c: the autograd node that stands for a compiled forward: it holds what forward saved
 * and runs the backward graph. After partition.c, before runtime.c.
 *
 * A second derivative needs the forward program again: with .double_backward the node keeps its
 * inputs, and a backward that is to be differentiated runs the forward graph once more through the
 * tape. Without it, the results of such a backward refuse. */
#include "../dync.in.h"
#include "code.h"
#include "../autograd/node.h"
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
        if (c->part[i].like)
            dync__free(c->part[i].like, (size_t)(c->part[i].n_tangents + 1) * sizeof(dync__info));
        if (c->form) continue; /* the rest is the form's */
        dync__graph_unref(c->part[i].bw);
        dync__free(c->part[i].depends, (size_t)c->part[i].n_grads * (size_t)c->part[i].n_tangents);
        dync__free(c->part[i].saved, c->part[i].bytes);
    }
    dync__free(c->part, (size_t)c->n_parts * sizeof *c->part);
    dync__aot_graphs_free(&c->g);
    dync__graph_unref(c->graph);
    dync__graph_unref(c->original);
    if (c->value) dync__free(c->value, (size_t)c->form->syms->symbol.n * sizeof *c->value + 1);
    dync__aot_code_unref(c->form);
    dync__symtab_free(c->syms);
    dync__aot_tail_free(c->tail);
    dync__free(c, sizeof *c);
}

/* The state of one autograd node, one block of memory: the struct, then values, again, tensors
 * and versions. It holds the code and the saved tensors. */
typedef struct dync__aot_saved {
    dync__aot_code *code;
    const dync__aot_part *part;
    bool lost; /* released */
    int n, n_again;
    size_t bytes; /* of this block */
    dync__aot_random random;
    dync__saved *again;    /* inputs of the forward graph, for double backward */
    dync__tensor **tensor; /* n */
    uint32_t *version;     /* of their storages */
    int64_t *value;        /* of the form's symbols; a tracer puts its own there */
} dync__aot_saved;

/* After a backward without retain_graph: the tensors go, the block stays, and a second backward
 * is an error. */
static void dync__aot_saved_release(void *state)
{
    dync__aot_saved *s = state;
    s->lost = true;
    for (int i = 0; i < s->n; i++) {
        dync__unref(s->tensor[i]);
        s->tensor[i] = NULL;
    }
    for (int i = 0; i < s->n_again; i++) dync__saved_free(&s->again[i]);
}

static void dync__aot_saved_destroy(void *state)
{
    dync__aot_saved *s = state;
    dync__aot_saved_release(s);
    dync__aot_code_unref(s->code);
    dync__free(s, s->bytes);
}

/* ---- gradients through the backward graph ---------------------------------------------------- */
/* A tangent in the form that backward was compiled for: dense, row major; zeros where none
 * arrived. */
static dync__tensor *dync__aot_tangent(const dync__info *info, dync__tensor *grad)
{
    if (grad && dync__layout_is_contiguous(&grad->lay) && grad->dtype == info->dtype) {
        dync__ref(grad);
        return grad;
    }
    dync__arg arg = dync__arg_t(grad);
    dync__tensor *dense = NULL;
    if (grad && !dync__device_is(grad->device, DYNC__DEV_HOST))
        return dync__op_run(DYNC__OP__clone_contiguous, 1, &arg, &dense) == DYNC_OK ? dense : NULL;
    if (grad) return dync__contiguous_copy(grad);
    dync__tensor *zero = dync__tensor_empty(info->dtype, info->device, &info->lay);
    if (!zero || dync__tensor_zero(zero) == DYNC_OK) return zero;
    dync__unref(zero);
    return NULL;
}

/* As eager's: what backward reads must not have been written since forward, nor been freed. The
 * error names the tensor and both versions. */
static dync_status dync__aot_saved_check(const dync__aot_saved *s)
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
static void dync__aot_give_grads(const dync__aot_part *p, dync__tensor **grad, int n_out,
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

/* Saved tensors and tangents in, gradients out, with grad mode off: the compiled backward has no
 * history of its own. grad_in gets owned references only where the tape needs them. */
static dync_status dync__aot_backward_run(dync__aot_saved *s, int n_out,
                                          dync__tensor *const *grad_out, int n_in,
                                          const bool *needed, dync__tensor **grad_in)
{
    const dync__aot_part *p = s->part;
    int n_grads = p->n_grads, room = s->n + 2 * p->n_tangents + n_grads, missing = 0;
    dync__tensor *few[DYNC__FEW], **in = dync__room(few, DYNC__FEW, room, sizeof *in);
    if (!in) return DYNC_ERR_MEMORY;
    dync_status status = DYNC_OK;
    dync__tensor **tangent = in + s->n, **grad = tangent + p->n_tangents;
    bool *absent = (bool *)(grad + n_grads);
    memset(tangent, 0, (size_t)(2 * p->n_tangents + n_grads) * sizeof *tangent);
    memcpy(in, s->tensor, (size_t)s->n * sizeof *in);
    for (int i = 0; i < p->n_tangents && status == DYNC_OK; i++) {
        int output = p->tangent[i];
        missing += absent[i] = output >= n_out || !grad_out[output];
        if (!(tangent[i] = dync__aot_tangent(&p->like[i], absent[i] ? NULL : grad_out[output])))
            status = DYNC_ERR_MEMORY;
    }
    bool grad_off = dync__grad_off(true);
    if (status == DYNC_OK)
        status = p->run.run(p->run.state, s->n + p->n_tangents, in, n_grads, grad);
    if (status == DYNC_OK && missing && p->bw && dync__aot_any_nan(n_grads, grad))
        status = dync__aot_backward_without(s, absent, in, grad);
    dync__grad_off(grad_off);
    if (status == DYNC_OK) dync__aot_give_grads(p, grad, n_out, grad_out, n_in, needed, grad_in);
    for (int i = 0; i < p->n_tangents; i++) dync__unref(tangent[i]);
    dync__room_end(in, few, room, sizeof *in);
    return status;
}

/* ---- under a tracer -------------------------------------------------------------------------- */
/* Zeros for tangent i as an operator, which the tracer sees: of the sizes that it has put for the
 * form's symbols. */
static dync_status dync__aot_zeros(const dync__aot_saved *s, int i, dync__tensor **out)
{
    const dync__info *info = &s->part->bw->node.at[s->part->n_saved + i]->info[0];
    dync__layout lay = info->lay;
    if (s->code->form && !dync__layout_values(s->code->form->syms, s->value, &lay))
        return dync__fail(DYNC_ERR_INTERNAL, "a size of a "
                                             "tangent has no value");
    dync__arg args[3] = {dync__arg_dims(lay.ndim, lay.shape), dync__arg_dtype(info->dtype),
                         dync__arg_device(info->device)};
    return dync__op_run(DYNC__OP_zeros, 3, args, out);
}

/* A gradient of an output that has no backward. */
static dync_status dync__aot_broken(const dync__aot_graphs *g, int n_out,
                                    dync__tensor *const *grad_out)
{
    for (int i = 0; i < g->broken.n; i++)
        if (g->broken.at[i] < n_out && grad_out[g->broken.at[i]])
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
    DYNC__TRY(dync__aot_broken(&s->code->g, n_out, grad_out));
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

static bool dync__any_fake(int n, dync__tensor *const *t)
{
    for (int i = 0; i < n; i++)
        if (t[i] && (t[i]->flags & DYNC__T_FAKE)) return true;
    return false;
}

/* ---- twice ----------------------------------------------------------------------------------- */
DYNC__RARE static dync_status dync__aot_twice(void *state, int n_out, dync__tensor *const *grad_out,
                                              int n_in, const bool *needed, dync__tensor **grad_in,
                                              bool create_graph)
{
    (void)state, (void)n_out, (void)grad_out, (void)n_in, (void)needed, (void)grad_in,
        (void)create_graph;
    return dync__fail(DYNC_ERR_AUTOGRAD, "torch.compile with aot_autograd does not currently "
                                         "support double backward: compile with .double_backward "
                                         "= true");
}
static const dync__gnode_class dync__aot_twice_class = {"CompiledFunctionBackwardBackward",
                                                        dync__aot_twice, NULL, NULL, NULL};

/* A second derivative through these gradients says that it cannot be had. They become children of a
 * node over this one's edges. */
DYNC__RARE static dync_status dync__aot_refuse_twice(int n_in, dync__tensor *const *grad_in)
{
    const dync__gnode *self = dync__gnode_running();
    dync__gnode *node = self ? dync__gnode_new(&dync__aot_twice_class, self->n_in, n_in, 0) : NULL;
    if (!node) return DYNC_ERR_MEMORY;
    for (int i = 0; i < self->n_in; i++) {
        node->edge[i] = self->edge[i];
        if (node->edge[i].node) dync__gnode_ref(node->edge[i].node);
    }
    dync_status status = DYNC_OK;
    for (int i = 0; i < n_in && status == DYNC_OK; i++) {
        if (!grad_in[i] || !dync__is_float_dtype(grad_in[i]->dtype)) continue;
        dync__gnode_set_out(node, i, grad_in[i]);
        if (dync__grad_meta_of(grad_in[i]))
            dync__grad_meta_set_node(grad_in[i], node, i);
        else
            status = DYNC_ERR_MEMORY;
    }
    dync__gnode_unref(node);
    return status;
}

/* An input that the forward graph has as a row of all its memory (it is strided and something is
 * written): a child of it with the input's history, which becomes a part of the row. The history of
 * several on one row cannot be told apart. */
DYNC__RARE static dync_status dync__aot_again_member(const dync__aot_saved *s, int input,
                                                     dync__tensor **entry, dync__tensor **actual)
{
    const dync__aot_graphs *g = &s->code->g;
    const dync__aot_actual *a = &g->actual.at[input];
    const dync__gnode *self = dync__gnode_running();
    int place = 0, members = 0;
    for (int i = 0; i < g->n_inputs; i++)
        members += a->group >= 0 && g->actual.at[i].group == a->group;
    if (members != 1)
        return dync__fail(
            DYNC_ERR_AUTOGRAD,
            "double backward through a compiled function: input %d shares its memory with an "
            "input that is written",
            input);
    for (int i = 0; i < a->group; i++) place += g->actual.at[i].passed;
    dync__tensor *row = entry[place], *scattered = NULL;
    dync__layout part = a->lay;
    int64_t from = a->lay.offset - g->actual.at[a->group].lay.offset;
    part.offset = row->lay.offset + from;
    dync__tensor *member = dync__tensor_alias(row, row->dtype, &part);
    if (!member) return DYNC_ERR_MEMORY;
    dync__give(member);
    if (self && input < self->n_in && self->edge[input].node) {
        if (!dync__grad_meta_of(member)) return DYNC_ERR_MEMORY;
        dync__grad_meta_set_node(member, self->edge[input].node, self->edge[input].nr);
    }
    if (!(actual[input] = dync__aot_entry(member))) return DYNC_ERR_MEMORY;
    dync__give(actual[input]);
    dync__arg args[5] = {dync__arg_t(row), dync__arg_t(actual[input]),
                         dync__arg_dims(part.ndim, part.shape),
                         dync__arg_dims(part.ndim, part.stride), dync__arg_i(from)};
    DYNC__TRY(dync__op_run(DYNC__OP_as_strided_scatter, 5, args, &scattered));
    dync__give(entry[place] = scattered);
    return DYNC_OK;
}

/* The forward graph again, through the tape, on inputs that know their history: each behind an
 * entry of its own, so that the gradient of one does not run on into another that it was made
 * from. */
static dync_status dync__aot_again_inputs(const dync__aot_saved *s, dync__tensor **entry,
                                          dync__tensor **actual)
{
    const dync__aot_graphs *g = &s->code->g;
    const dync__gnode *self = dync__gnode_running();
    int k = 0;
    for (int i = 0; i < g->actual.n; i++) {
        if (!g->actual.at[i].passed) continue;
        dync__tensor *t = NULL;
        dync__gedge edge = self && i < self->n_in ? self->edge[i] : (dync__gedge){NULL, 0};
        DYNC__TRY(dync__unsave(&s->again[k], edge.node, edge.nr, true, &t));
        dync__give(t); /* the scope keeps it */
        actual[i] = entry[k] = dync__aot_entry(t);
        if (!entry[k]) return DYNC_ERR_MEMORY;
        dync__give(entry[k++]);
    }
    for (int i = 0; i < s->part->n_grads; i++)
        if (!actual[s->part->grad[i]])
            DYNC__TRY(dync__aot_again_member(s, s->part->grad[i], entry, actual));
    return DYNC_OK;
}

/* Seeds are the gradients that arrived; the walk keeps history (create_graph), since it is what
 * is differentiated next. */
static dync_status dync__aot_again_walk(const dync__aot_saved *s, dync__tensor *const *fw_out,
                                        dync__tensor *const *actual, int n_out,
                                        dync__tensor *const *grad_out, dync__tensor **out,
                                        dync__tensor **wrt, dync__tensor **grad)
{
    const dync__aot_part *p = s->part;
    dync__tensor **seed = out + p->n_tangents;
    int n = 0;
    for (int i = 0; i < p->n_tangents; i++) {
        int output = p->tangent[i];
        if (output >= n_out || !grad_out[output] || !dync__tensor_requires_grad(fw_out[output]))
            continue;
        out[n] = fw_out[output];
        seed[n++] = grad_out[output];
    }
    for (int i = 0; i < p->n_grads; i++) wrt[i] = actual[p->grad[i]];
    return n ? dync__tape_gradients(n, out, seed, p->n_grads, wrt, grad, true, true, true)
             : DYNC_OK;
}

/* For double backward: forward runs once more, uncompiled, through the tape, with the random
 * state that it had; its gradients then have a history of their own. The thread's random state
 * is put back afterwards. */
DYNC__RARE static dync_status dync__aot_backward_again(dync__aot_saved *s, int n_out,
                                                       dync__tensor *const *grad_out, int n_in,
                                                       const bool *needed, dync__tensor **grad_in)
{
    dync__aot_code *c = s->code;
    const dync__aot_graphs *g = &c->g;
    const dync__aot_part *p = s->part;
    size_t room =
        (size_t)(c->n_fw_in + g->actual.n + c->n_fw_out + 2 * p->n_tangents + 2 * p->n_grads + 1);
    dync__tensor **entry = dync__calloc(room * sizeof *entry);
    if (!entry) return DYNC_ERR_MEMORY;
    dync__tensor **actual = entry + c->n_fw_in, **fw_out = actual + g->actual.n,
                 **out = fw_out + c->n_fw_out;
    dync__tensor **wrt = out + 2 * p->n_tangents, **grad = wrt + p->n_grads;
    uint64_t seed = dync__tls.rng_seed, offset = dync__tls.rng_offset;
    dync_scope scope = dync_scope_begin();
    dync_status status = dync__aot_again_inputs(s, entry, actual);
    dync__tls.rng_seed = s->random.seed;
    dync__tls.rng_offset = s->random.offset;
    if (status == DYNC_OK)
        status = dync__graph_eval_flat(g->fw, c->form ? s->value : NULL, c->n_fw_in, entry,
                                       c->n_fw_out, fw_out);
    dync__tls.rng_seed = seed;
    dync__tls.rng_offset = offset;
    if (status == DYNC_OK)
        status = dync__aot_again_walk(s, fw_out, actual, n_out, grad_out, out, wrt, grad);
    if (status == DYNC_OK) dync__aot_give_grads(p, grad, n_out, grad_out, n_in, needed, grad_in);
    for (int i = 0; i < c->n_fw_out; i++) dync__unref(fw_out[i]);
    dync_scope_end(&scope);
    dync__free(entry, room * sizeof *entry);
    return status;
}

/* ---- the node -------------------------------------------------------------------------------- */
/* The node's rule, four ways: refuse what has no backward, interpret under a tracer, run forward
 * again for double backward, else run the compiled graph. */
static dync_status dync__aot_backward(void *state, int n_out, dync__tensor *const *grad_out,
                                      int n_in, const bool *needed, dync__tensor **grad_in,
                                      bool create_graph)
{
    dync__aot_saved *s = state;
    DYNC__TRY(dync__aot_saved_check(s));
    DYNC__TRY(dync__aot_broken(&s->code->g, n_out, grad_out));
    if (!s->part->bw) return DYNC_OK;
    if (dync__any_fake(n_out, grad_out))
        return dync__aot_backward_inline(state, s->tensor, n_out, grad_out, n_in, needed, grad_in);
    if (create_graph && s->code->double_backward)
        return dync__aot_backward_again(s, n_out, grad_out, n_in, needed, grad_in);
    DYNC__TRY(dync__aot_backward_run(s, n_out, grad_out, n_in, needed, grad_in));
    return create_graph ? dync__aot_refuse_twice(n_in, grad_in) : DYNC_OK;
}
DYNC__RARE static dync_status dync__aot_visit(void *state, dync__gvisitor *v)
{
    dync__aot_saved *s = state;
    DYNC__TRY(dync__aot_saved_check(s));
    const dync__aot_code *form = s->code->form;
    v->word(v, s->part->id);
    for (int i = 0; form && i < form->syms->symbol.n; i++) v->layout(v, 1, &s->value[i], NULL);
    for (int i = 0; i < s->n; i++) v->saved(v, &s->tensor[i], &s->version[i]);
    return DYNC_OK;
}
static const dync__gnode_class dync__aot_node = {"CompiledFunctionBackward", dync__aot_backward,
                                                 dync__aot_saved_release, dync__aot_saved_destroy,
                                                 dync__aot_visit};

/* Inputs for double backward; one that forward is about to overwrite as a copy. */
DYNC__RARE static dync_status dync__aot_save_inputs(dync__aot_saved *s, dync__tensor *const *actual)
{
    const dync__aot_graphs *g = &s->code->g;
    for (int i = 0; i < g->actual.n; i++) {
        if (!g->actual.at[i].passed) continue;
        bool written = false;
        for (int k = 0; k < g->mutated.n; k++) written = written || g->mutated.at[k].input == i;
        dync__arg arg = dync__arg_t(actual[i]);
        dync__tensor *t = actual[i], *copy = NULL;
        if (written) {
            bool off = dync__grad_off(true);
            dync_status status = dync__op_run(DYNC__OP_clone, 1, &arg, &copy);
            dync__grad_off(off);
            DYNC__TRY(status);
            t = copy;
        }
        dync_status status = dync__save(&s->again[s->n_again], t, false);
        dync__unref(copy);
        DYNC__TRY(status);
        s->n_again++;
    }
    return DYNC_OK;
}

/* Takes the saved tensors of this part out of `saved` (borrowed) and a reference on the code;
 * NULL: no memory, nothing is held. */
static dync__aot_saved *dync__aot_saved_new(dync__aot_code *c, const dync__aot_part *p,
                                            dync__tensor *const *saved)
{
    size_t n = (size_t)p->n_saved, again = c->double_backward ? (size_t)c->n_fw_in : 0,
           tensors = sizeof(dync__aot_saved) + again * sizeof(dync__saved);
    size_t values = c->form ? (size_t)c->form->syms->symbol.n * sizeof(int64_t) : 0;
    size_t bytes = (tensors += values) + n * (sizeof(dync__tensor *) + sizeof(uint32_t));
    dync__aot_saved *s = dync__calloc(bytes);
    if (!s) return NULL;
    char *block = (char *)s;
    s->bytes = bytes;
    s->value = (int64_t *)(void *)(block + sizeof *s);
    s->again = (dync__saved *)(void *)(block + sizeof *s + values);
    s->tensor = (dync__tensor **)(void *)(block + tensors);
    s->version = (uint32_t *)(void *)(block + tensors + n * sizeof(dync__tensor *));
    if (values) memcpy(s->value, c->value, values);
    s->code = c;
    s->part = p;
    DYNC__ATOMIC_INC(&c->refs);
    for (; s->n < p->n_saved; s->n++) {
        /* one that is an output too would hold the node that holds it: another on its memory */
        dync__tensor *t = saved[p->saved[s->n]];
        if (t->refs > 1)
            t = dync__tensor_alias(t, t->dtype, &t->lay);
        else
            dync__ref(t);
        if (!t) {
            dync__aot_saved_destroy(s);
            return NULL;
        }
        s->tensor[s->n] = t;
        s->version[s->n] = t->storage->version;
    }
    return s;
}

/* Edges go to the inputs that this part has gradients for: what stands behind the others has
 * nothing to wait for. */
static dync_status dync__aot_attach_part(dync__aot_code *c, const dync__aot_part *p, int n_actual,
                                         dync__tensor *const *actual, dync__tensor *const *outputs,
                                         dync__tensor *const *saved, dync__aot_random random)
{
    int n = c->g.mutated.n + c->g.value.n, room = n_actual + n;
    dync__tensor *few[DYNC__FEW], **edge = dync__room(few, DYNC__FEW, room, sizeof *edge);
    if (!edge) return DYNC_ERR_MEMORY;
    bool *
        requires
    = (bool *)(edge + n_actual);
    memset(edge, 0, (size_t)room * sizeof *edge);
    for (int i = 0; i < p->n_grads; i++) edge[p->grad[i]] = actual[p->grad[i]];
    for (int i = 0; i < p->n_tangents; i++) requires[p->tangent[i]] = true;
    dync__aot_saved *s = dync__aot_saved_new(c, p, saved);
    dync_status status = s ? DYNC_OK : DYNC_ERR_MEMORY;
    if (s) s->random = random;
    if (s && c->double_backward) status = dync__aot_save_inputs(s, actual);
    if (status == DYNC_OK)
        status = dync__tape_attach(&dync__aot_node, s, n_actual, p->n_grads ? edge : actual, n,
                                   outputs, requires);
    else if (s)
        dync__aot_saved_destroy(s);
    dync__room_end(edge, few, room, sizeof *edge);
    return status;
}

/* One node per part of backward (parts.c): results whose gradients have no tangent in common can
 * be differentiated one without the other. */
DYNC__FN dync_status dync__aot_attach(dync__aot_code *c, int n_actual, dync__tensor *const *actual,
                                      dync__tensor *const *outputs, dync__tensor *const *saved,
                                      dync__aot_random random)
{
    for (int i = 0; i < c->n_parts; i++)
        DYNC__TRY(dync__aot_attach_part(c, &c->part[i], n_actual, actual, outputs, saved, random));
    return DYNC_OK;
}
