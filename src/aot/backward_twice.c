/* aot/backward_twice.c: a backward graph that is differentiated again. Before: backward.c. */
#include "../dync.in.h"
#include "code.h"
#include "../autograd/node.h"
#include "saved.h"
DYNC__WARM

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
static const dync__gnode_class dync__aot_twice_class = {
    DYNC__TEXT("CompiledFunctionBackwardBackward"), dync__aot_twice, NULL, NULL, NULL};

/* A second derivative through these gradients says that it cannot be had. They become children of a
 * node over this one's edges. */
DYNC__RARE DYNC__FN dync_status dync__aot_refuse_twice(int n_in, dync__tensor *const *grad_in)
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
DYNC__RARE static dync_status dync__aot_again(dync__aot_saved *s, int n_out,
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

/* By need: of who compiles with .double_backward. */
static dync_status (*DYNC__BY_NEED dync__aot_again_used)(
    dync__aot_saved *, int n_out, dync__tensor *const *grad_out, int n_in, const bool *needed,
    dync__tensor **grad_in) = DYNC__AT_FIRST(dync__aot_again);
DYNC__FN void dync__aot_use_twice(void) { DYNC__PUT(dync__aot_again_used, dync__aot_again); }
DYNC__RARE DYNC__FN dync_status dync__aot_backward_again(dync__aot_saved *s, int n_out,
                                                         dync__tensor *const *grad_out, int n_in,
                                                         const bool *needed, dync__tensor **grad_in)
{
    return dync__aot_again_used ? dync__aot_again_used(s, n_out, grad_out, n_in, needed, grad_in)
                                : dync__unlinked("double backward");
}
