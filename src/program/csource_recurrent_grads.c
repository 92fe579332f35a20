/* program/csource_recurrent_grads.c: the gradient of a recurrent layer of an exported C file, from
 * the last step to the first. After csource_recurrent.c; csource_steps.c asks.
 *
 *   dh = 0; for each step, the last first { gates: what each step took from the input, and from the
 *     state; dh = that W_hh (GRU: + what passes the gate) }
 *
 * The gates are the loops of kernel/recurrent.c. Gradients of the weights are products over all
 * steps, operators of their own (autograd/grads_nn.c). */
#include "../dync.in.h"
#include "../kernel/operand.h"
#include "csource.h"
#include "csource_recurrent.h"
DYNC__COLD

typedef struct dync__rolled_grad {
    dync__rolled r;
    const dync__csource_fn *start, *first_c, *gh0, *gc0;
    int64_t next_at, start_at;
} dync__rolled_grad;

static bool dync__rgrad_is(const dync__rolled_grad *g, int gates) { return g->r.gates == gates; }

static dync_status dync__rgrad_functions(dync__rolled_grad *g)
{
    dync__rolled *r = &g->r;
    const dync__kcall *call = r->call;
    const dync__operand *w = dync__csource_role(call, DYNC__RNN_W),
                        *h0 = dync__csource_role(call, DYNC__RNN_H0),
                        *c0 = dync__csource_role(call, DYNC__RNN_C0),
                        *gc = dync__csource_role(call, DYNC__RNN_GC),
                        *gh0 = dync__csource_role(call, DYNC__RNN_GH0),
                        *gc0 = dync__csource_role(call, DYNC__RNN_GC0);
    const int64_t dense[2] = {r->hidden, 1};
    dync__operand a = dync__rolled_dense(r->type, r->n, r->width),
                  old = dync__rolled_dense(r->type, r->n, r->hidden);
    DYNC__TRY(dync__rolled_piece(r, call));
    DYNC__TRY(dync__rolled_sums(r, &a, w, dync__rgrad_is(g, 3) ? &old : NULL, r->hidden, &r->hid));
    if (r->gates > 1)
        DYNC__TRY(dync__rolled_copy(r, r->dtype, (dync__rgrad_is(g, 4) ? c0 : h0)->lay.stride,
                                    r->dtype, dense, &g->start));
    if (gc) DYNC__TRY(dync__rolled_copy(r, r->dtype, gc->lay.stride, r->type, dense, &g->first_c));
    if (gc0) DYNC__TRY(dync__rolled_copy(r, r->type, dense, r->dtype, gc0->lay.stride, &g->gc0));
    return dync__rolled_copy(r, r->type, dense, r->dtype, gh0->lay.stride, &g->gh0);
}

static dync_status dync__rgrad_room(dync__rolled_grad *g)
{
    dync__rolled *r = &g->r;
    int64_t share, state;
    DYNC__TRY(dync__csource_most(dync__sz_mul(r->n, r->width), &share));
    DYNC__TRY(dync__csource_most(dync__sz_mul(r->n, r->hidden), &state));
    r->hid_at = dync__rolled_place(r, share);
    r->h_at = dync__rolled_place(r, state);
    r->c_at = dync__rgrad_is(g, 4) ? dync__rolled_place(r, state) : -1;
    g->next_at = dync__rgrad_is(g, 3) ? dync__rolled_place(r, state) : -1;
    g->start_at = r->gates > 1 ? dync__rolled_place(r, state) : -1;
    return DYNC_OK;
}

/* memset of a state, of n * hidden elements */
static void dync__rgrad_clear(dync__rolled *r, const char *name)
{
    dync__str_addf(r->s, "    memset(%s, 0, sizeof *%s * (size_t)(", name, name);
    dync__size_csource(r->s, dync__sz_mul(r->n, r->hidden));
    dync__str_add(r->s, "));\n");
}

static void dync__rgrad_state(dync__rolled *r, const dync__csource_fn *f, const char *from, int to)
{
    dync__str_addf(r->s, "    %s(%s, p%d", f->name, from, r->call->attr.rnn.role[to]);
    dync__rolled_end(r, f);
}

/* p3 + 32 * (t - 1), or where the sequence begins */
static void dync__rgrad_before(dync__rolled_grad *g)
{
    dync__rolled *r = &g->r;
    int role = dync__rgrad_is(g, 4) ? DYNC__RNN_CELLS : DYNC__RNN_OUT;
    const dync__operand *o = dync__csource_role(r->call, role);
    bool first = false, reverse = r->call->attr.rnn.reverse;
    dync__str_add(r->s, reverse ? ", t + 1 == " : ", t == 0");
    if (reverse) dync__size_csource(r->s, o->lay.shape[0]);
    dync__str_addf(r->s, " ? start : p%d", r->call->attr.rnn.role[role]);
    dync__term_csource(r->s, o->lay.stride[0], reverse ? "(t + 1)" : "(t - 1)", &first);
}

static void dync__rgrad_step(dync__rolled_grad *g)
{
    dync__rolled *r = &g->r;
    bool gru = dync__rgrad_is(g, 3);
    dync__str_addf(r->s, "        %s(dh%s", r->gate->name, dync__rgrad_is(g, 4) ? ", dc" : "");
    dync__rolled_at_step(r, DYNC__RNN_GOUT);
    if (r->gates > 1) dync__rolled_at_step(r, DYNC__RNN_GATES);
    if (r->gates > 1) dync__rolled_at_step(r, DYNC__RNN_CELLS);
    if (r->gates > 1) dync__rgrad_before(g);
    dync__rolled_at_step(r, DYNC__RNN_OUT);
    dync__rolled_at_step(r, DYNC__RNN_IN);
    dync__str_add(r->s, ", hid");
    dync__rolled_end(r, r->gate);
    dync__str_addf(r->s, "        %s(hid, p%d, %s", r->hid->name,
                   r->call->attr.rnn.role[DYNC__RNN_W], gru ? "dh, next" : "dh");
    dync__rolled_end(r, r->hid);
    if (gru)
        dync__str_addf(r->s,
                       "        %s *const old = dh;\n        dh = next;\n        next = old;\n",
                       dync__dtype_c_type(r->type));
}

static void dync__rgrad_body(dync__rolled_grad *g)
{
    dync__rolled *r = &g->r;
    const int8_t *role = r->call->attr.rnn.role;
    int64_t steps = dync__csource_role(r->call, DYNC__RNN_OUT)->lay.shape[0];
    const char *type = dync__dtype_c_type(r->dtype);
    if (!dync__rgrad_is(g, 3)) /* of its size alone */
        dync__str_addf(r->s, "    (void)p%d;\n", role[DYNC__RNN_H0]);
    dync__rolled_scratch(r, "hid", r->hid_at);
    dync__rolled_scratch(r, "dh", r->h_at);
    dync__rolled_scratch(r, "dc", r->c_at);
    dync__rolled_scratch(r, "next", g->next_at);
    if (g->start_at >= 0) {
        dync__str_addf(r->s, "    %s *start = (%s *)(void *)(a + %lld);\n    %s(p%d, start", type,
                       type, (long long)g->start_at, g->start->name,
                       role[dync__rgrad_is(g, 4) ? DYNC__RNN_C0 : DYNC__RNN_H0]);
        dync__rolled_end(r, g->start);
    }
    dync__rgrad_clear(r, "dh");
    if (g->first_c) {
        dync__str_addf(r->s, "    %s(p%d, dc", g->first_c->name, role[DYNC__RNN_GC]);
        dync__rolled_end(r, g->first_c);
    } else if (r->c_at >= 0) {
        dync__rgrad_clear(r, "dc");
    }
    dync__str_add(r->s,
                  r->call->attr.rnn.reverse ? "    for (int t = 0; t < " : "    for (int t = ");
    dync__size_csource(r->s, steps);
    dync__str_add(r->s, r->call->attr.rnn.reverse ? "; t++) {\n" : " - 1; t >= 0; t--) {\n");
    dync__rgrad_step(g);
    dync__str_add(r->s, "    }\n");
    dync__rgrad_state(r, g->gh0, "dh", DYNC__RNN_GH0);
    if (g->gc0) dync__rgrad_state(r, g->gc0, "dc", DYNC__RNN_GC0);
}

DYNC__FN dync_status dync__csource_recurrent_grad(dync__csource *c, dync__csource_step *step,
                                                  dync__str *text)
{
    dync__rolled_grad g = {.r = dync__rolled_of(c, step, text)};
    DYNC__TRY(dync__rgrad_functions(&g));
    DYNC__TRY(dync__rgrad_room(&g));
    dync__rolled_head(&g.r, step);
    dync__rgrad_body(&g);
    dync__str_add(text, "}\n");
    step->scratch = g.r.bytes;
    return text->failed ? DYNC_ERR_MEMORY : DYNC_OK;
}
