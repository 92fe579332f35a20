/* onnx/run.c: bodies walked node by node: the operators of dync that they ask for are called. After
 * link.c.
 *
 * Values live as long as the scope around the walk. */
#include "../dync.in.h"
#include "onnx.h"
DYNC__COLD

/* What is held in a wider dtype goes around as its own type does: unsigned 16 and 32 bits, 4 bits.
 */
static dync_tensor *dync__onnx_wrap(dync_tensor *t, int type)
{
    bool is_signed;
    int bits = dync__onnx_held_bits(type, &is_signed);
    if (!bits) return t;
    int64_t mask = ((int64_t)1 << bits) - 1, half = (int64_t)1 << (bits - 1);
    if (!is_signed) return dync_bitwise_and(t, mask);
    return dync_sub(dync_bitwise_and(dync_add(t, half), mask), half);
}

/* Types of the outputs that the mapping did not tell: that of the first input where both are held
 * alike, else that of the dtype. */
static dync_status dync__onnx_settle(dync__onnx_call *c)
{
    bool is_signed;
    for (int i = 0; i < c->n_out; i++) {
        dync__onnx_value *v = &c->out[i];
        if (!v->t || v->type) continue;
        int dtype = dync__oi_type(v->t), first = c->n_in ? c->in[0].type : 0;
        bool alike = c->n_in && c->in[0].t && dync__oi_type(c->in[0].t) == dtype &&
                     (dync__onnx_held_bits(first, &is_signed) || first == DYNC__ONNX_UINT64);
        v->type = alike ? first : dync__onnx_type_of(dtype);
        if (!alike || !(c->row && c->row->detail & DYNC__OI_WRAPS)) continue;
        v->t = dync__onnx_wrap(v->t, first);
        if (!v->t) return dync_error();
    }
    return DYNC_OK;
}

/* One node: its inputs from their places, the mapping or the function, types of its outputs, which
 * go to their places. An error that an operator recorded counts even where the mapping overlooked
 * it. */
static dync_status dync__onnx_run_step(dync__onnx_loaded *l, dync__onnx_frame *f,
                                       const dync__onnx_step *s, dync__onnx_call *c)
{
    if (s->made) {
        if (s->out[0] >= 0)
            f->value[s->out[0]] = (dync__onnx_value){dync__handle(s->made), s->made_type, NULL};
        return DYNC_OK;
    }
    for (int i = 0; i < c->n_in; i++) c->in[i] = dync__onnx_value_at(f, s->in[i]);
    for (int i = 0; i < c->n_out; i++) c->out[i] = (dync__onnx_value){NULL, 0, NULL};
    dync_status status = s->function
                             ? dync__onnx_run_inside(l, s->function, f, c, c->n_in, c->in, c->out)
                             : s->row->map(c);
    if (status == DYNC_OK) status = dync__onnx_settle(c);
    if (status == DYNC_OK && dync_error() != DYNC_OK) status = dync_error();
    for (int i = 0; i < c->n_out && status == DYNC_OK; i++) {
        if (s->out[i] < 0) continue;
        f->value[s->out[i]] = c->out[i];
        /* a type alone: an optional value that is not there */
        if (dync__onnx_is_there(&c->out[i]) || c->out[i].type) continue;
        /* an output that is wanted but not made */
        status = dync__oi_fail(c, DYNC_ERR_UNSUPPORTED, "output %d is not made", i);
    }
    return status;
}

/* Calls for every node in order; in and out of the widest node are made once. */
static dync_status dync__onnx_run_steps(dync__onnx_loaded *l, dync__onnx_frame *f)
{
    const dync__onnx_body *b = f->body;
    int most_in = 0, most_out = 0;
    for (int i = 0; i < b->n_steps; i++) {
        most_in = DYNC__MAX(most_in, b->step[i].node->input.n);
        most_out = DYNC__MAX(most_out, b->step[i].node->output.n);
    }
    size_t n = (size_t)(most_in + most_out + 1);
    dync__onnx_value *room = dync__calloc(n * sizeof *room);
    dync_status status = room ? DYNC_OK : DYNC_ERR_MEMORY;
    for (int i = 0; i < b->n_steps && status == DYNC_OK; i++) {
        const dync__onnx_step *s = &b->step[i];
        dync__onnx_call c = {l,
                             f,
                             s,
                             s->row,
                             s->node,
                             s->version,
                             s->node->input.n,
                             s->node->output.n,
                             room,
                             room + most_in};
        status = dync__onnx_run_step(l, f, s, &c);
        if (status == DYNC_ERR_DATA_PTR)
            dync__log(DYNC__LOG_perf, "ONNX: no graph because of node %s (%s)",
                      s->node->output.n ? s->node->output.at[0] : s->node->name, s->node->op_type);
        if (status != DYNC_OK && dync_error() == DYNC_OK)
            status = dync__oi_fail(&c, status, "failed");
    }
    dync__free(room, n * sizeof *room);
    return status;
}

/* recursion: graphs inside nodes, functions */

DYNC__FN dync_status dync__onnx_run_body(dync__onnx_loaded *l, const dync__onnx_body *b,
                                         dync__onnx_frame *outer, const dync__onnx_call *call,
                                         int n_in, const dync__onnx_value *in,
                                         dync__onnx_value *out)
{
    dync__onnx_frame f = {b, outer, b->function ? call : NULL, NULL, outer ? outer->depth + 1 : 0};
    size_t bytes = ((size_t)b->n_values + 1) * sizeof *f.value;
    f.value = dync__calloc(bytes);
    if (!f.value) return DYNC_ERR_MEMORY;
    for (int i = 0; i < b->n_constants; i++)
        f.value[b->constant[i]] = (dync__onnx_value){dync__handle(b->tensor[i]), b->type[i], NULL};
    for (int i = 0; i < n_in && i < b->n_inputs; i++)
        if (dync__onnx_is_there(&in[i])) f.value[i] = in[i];
    dync_status status = dync__onnx_run_steps(l, &f);
    for (int i = 0; i < b->n_outputs && status == DYNC_OK; i++)
        if (!call || i < call->n_out || !b->function)
            out[i] = dync__onnx_value_at(&f, b->output[i]);
    dync__free(f.value, bytes);
    return status;
}
