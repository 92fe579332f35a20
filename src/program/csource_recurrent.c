/* program/csource_recurrent.c: a recurrent layer of an exported C file as a loop over its steps.
 * After csource_rolled.c and csource_blocks.c, whose products a step calls; csource_steps.c asks.
 *
 *   for each step { input's share = x[t] W_ih + b_ih; state's share = h W_hh + b_hh; gates }
 *
 * The gates are the loops of kernel/recurrent.c. Sums add in the order of the plain form
 * (op/decompose_layers.c: an operator for each part of each step, DYNC_DISABLE=rolled). f16 and
 * bf16 work in f32. */
#include "../dync.in.h"
#include "../kernel/operand.h"
#include "csource.h"
#include "csource_recurrent.h"
DYNC__COLD

DYNC__FN dync_status dync__rolled_function(dync__rolled *r, dync_status status, dync__str *text,
                                           const dync__csource_fn **out)
{
    if (status == DYNC_OK && (text->failed || !(*out = dync__csource_function(r->c, text))))
        status = DYNC_ERR_MEMORY;
    dync__str_free(text);
    return status;
}

DYNC__FN dync__operand dync__rolled_dense(int dtype, int64_t rows, int64_t columns)
{
    dync__operand o = {.dtype = (uint8_t)dtype};
    o.lay.ndim = 2;
    o.lay.shape[0] = rows;
    o.lay.shape[1] = o.lay.stride[0] = columns;
    o.lay.stride[1] = 1;
    return o;
}

DYNC__FN dync_status dync__rolled_sums(dync__rolled *r, const dync__operand *a,
                                       const dync__operand *b, const dync__operand *bias,
                                       int64_t columns, const dync__csource_fn **out)
{
    static const dync__kcall_row rows[2] = {{.name = "matmul", .kind = DYNC__K_matmul},
                                            {.name = "addmm", .kind = DYNC__K_addmm}};
    dync__str text = {0};
    dync__csource_after after = {0};
    dync__kcall_full room;
    dync__kcall *call = &room.call;
    memset(&room, 0, sizeof room);
    call->row = &rows[bias != NULL];
    call->user_op = r->call->user_op;
    call->at = r->call->at;
    call->operand[call->n++] = *a;
    call->operand[call->n++] = *b;
    if (bias) call->operand[call->n++] = *bias;
    call->operand[call->n] = dync__rolled_dense(r->type, r->n, columns);
    call->operand[call->n++].written = true;
    dync_status status = dync__csource_blocks_are(call)
                             ? dync__csource_blocks(&text, call, &after)
                             : dync__kcall_csource(&text, call, false, "@");
    return dync__rolled_function(r, status, &text, out);
}

/* A state [n, hidden] from one array into another. */
DYNC__FN dync_status dync__rolled_copy(dync__rolled *r, int from_dtype, const int64_t *from,
                                       int to_dtype, const int64_t *to,
                                       const dync__csource_fn **out)
{
    dync__piece p;
    dync__str text = {0};
    dync__csrc_room room;
    memset(&room, 0, sizeof room);
    if (!dync__piece_begin(&p, "state", 0, r->n, r->hidden)) return DYNC_ERR_MEMORY;
    int a = dync__piece_buf(&p, from_dtype, DYNC__BUF_IN),
        b = dync__piece_buf(&p, to_dtype, DYNC__BUF_OUT);
    dync__piece_store(&p, b, 0, to[0], to[1], dync__piece_load(&p, a, 0, from[0], from[1]));
    dync_status status = p.b.k->failed ? DYNC_ERR_MEMORY
                                       : dync__kernel_csource(&text, p.b.k, "@", &room);
    dync__arena_free(&p.arena);
    return dync__rolled_function(r, status, &text, out);
}

DYNC__FN dync_status dync__rolled_piece(dync__rolled *r, const dync__kcall *call)
{
    dync__piece p;
    dync__str text = {0};
    dync__csrc_room room;
    memset(&room, 0, sizeof room);
    if (!dync__rnn_gates(call, r->n, r->hidden, &p)) return DYNC_ERR_MEMORY;
    dync__kernel_simplify(p.b.k);
    dync_status status = p.b.k->failed ? DYNC_ERR_MEMORY
                                       : dync__kernel_csource(&text, p.b.k, "@", &room);
    dync__arena_free(&p.arena);
    return dync__rolled_function(r, status, &text, &r->gate);
}

static dync_status dync__rolled_gates(dync__rolled *r)
{
    dync__kcall_full room;
    dync__kcall *call = &room.call;
    dync__kcall_copy(call, r->call);
    call->attr.rnn.role[DYNC__RNN_BIAS] = -1; /* in the product */
    if (r->step->last) call->attr.rnn.role[DYNC__RNN_OUT] = -1;
    dync__operand *in = &call->operand[call->attr.rnn.role[DYNC__RNN_IN]];
    if (r->input) in->lay.stride[1] = r->width, in->lay.stride[2] = 1;
    return dync__rolled_piece(r, call);
}

static dync_status dync__rolled_functions(dync__rolled *r)
{
    const dync__operand *w = dync__csource_role(r->call, DYNC__RNN_W),
                        *bias = dync__csource_role(r->call, DYNC__RNN_BIAS),
                        *h0 = dync__csource_role(r->call, DYNC__RNN_H0),
                        *c0 = dync__csource_role(r->call, DYNC__RNN_C0),
                        *cn = dync__csource_role(r->call, DYNC__RNN_CN);
    dync__operand a, b = *w, row = {0};
    const int64_t dense[2] = {r->hidden, 1};
    if (r->input) {
        a = r->input->operand[0];
        a.lay.shape[0] = r->n;
        if (r->input->n == 4) row = r->input->operand[2];
        row.lay.shape[0] = r->n;
        DYNC__TRY(dync__rolled_sums(r, &a, &r->input->operand[1], r->input->n == 4 ? &row : NULL,
                                    r->width, &r->in));
    }
    a = dync__rolled_dense(r->type, r->n, r->hidden);
    b.lay.shape[0] = r->hidden;
    b.lay.shape[1] = r->width;
    b.lay.stride[0] = w->lay.stride[1];
    b.lay.stride[1] = w->lay.stride[0];
    if (bias) {
        row = dync__rolled_dense(bias->dtype, r->n, r->width);
        row.lay.stride[0] = 0;
        row.lay.stride[1] = bias->lay.stride[0];
    }
    DYNC__TRY(dync__rolled_sums(r, &a, &b, bias ? &row : NULL, r->width, &r->hid));
    DYNC__TRY(dync__rolled_copy(r, r->dtype, h0->lay.stride, r->type, dense, &r->first_h));
    if (c0) DYNC__TRY(dync__rolled_copy(r, r->dtype, c0->lay.stride, r->type, dense, &r->first_c));
    if (c0 && cn)
        DYNC__TRY(dync__rolled_copy(r, r->type, dense, r->dtype, cn->lay.stride, &r->last_c));
    return dync__rolled_gates(r);
}

/* ---- the loop -------------------------------------------------------------------------------- */

DYNC__FN int64_t dync__rolled_place(dync__rolled *r, int64_t most)
{
    int64_t at = r->bytes;
    r->bytes += (most * dync__dtype_info(r->type)->bytes + 7) & ~(int64_t)7;
    return at;
}

/* Scratch, as far as there is no other place. */
static dync_status dync__rolled_room(dync__rolled *r)
{
    int64_t share, state;
    const dync__operand *cn = dync__csource_role(r->call, DYNC__RNN_CN);
    DYNC__TRY(dync__csource_most(dync__sz_mul(r->n, r->width), &share));
    DYNC__TRY(dync__csource_most(dync__sz_mul(r->n, r->hidden), &state));
    bool c_is_cn = cn && r->dtype == r->type && dync__layout_is_contiguous(&cn->lay);
    r->in_at = r->input ? dync__rolled_place(r, share) : -1;
    r->hid_at = dync__rolled_place(r, share);
    r->h_at = r->step->last ? -1 : dync__rolled_place(r, state);
    r->c_at = r->gates < 4 || c_is_cn ? -1 : dync__rolled_place(r, state);
    return DYNC_OK;
}

DYNC__FN void dync__rolled_scratch(dync__rolled *r, const char *name, int64_t at)
{
    const char *type = dync__dtype_c_type(r->type);
    if (at >= 0)
        dync__str_addf(r->s, "    %s *%s = (%s *)(void *)(a + %lld);\n", type, name, type,
                       (long long)at);
}

DYNC__FN void dync__rolled_end(dync__rolled *r, const dync__csource_fn *f)
{
    dync__csource_symbols(r->c, f->uses, ", ", "", r->s);
    dync__str_add(r->s, ");\n");
}

DYNC__FN void dync__rolled_at_step(dync__rolled *r, int role)
{
    bool first = false;
    const dync__operand *o = dync__csource_role(r->call, role);
    if (!o) return;
    dync__str_addf(r->s, ", p%d", r->call->attr.rnn.role[role]);
    dync__term_csource(r->s, o->lay.stride[0], "t", &first);
}

static void dync__rolled_step(dync__rolled *r)
{
    const int8_t *role = r->call->attr.rnn.role;
    bool first = false;
    if (r->input) {
        dync__str_addf(r->s, "        %s(q0", r->in->name);
        dync__term_csource(r->s, r->n * r->input->operand[0].lay.stride[0], "t", &first);
        dync__str_add(r->s, r->input->n == 4 ? ", q1, q2" : ", q1");
        if (r->input->n == 4)
            dync__term_csource(r->s, r->n * r->input->operand[2].lay.stride[0], "t", &first);
        dync__str_add(r->s, ", in");
        dync__rolled_end(r, r->in);
    }
    dync__str_addf(r->s, "        %s(h, p%d", r->hid->name, role[DYNC__RNN_W]);
    if (role[DYNC__RNN_BIAS] >= 0) dync__str_addf(r->s, ", p%d", role[DYNC__RNN_BIAS]);
    dync__str_add(r->s, ", hid");
    dync__rolled_end(r, r->hid);
    dync__str_addf(r->s, "        %s(", r->gate->name);
    if (r->input) {
        dync__str_add(r->s, "in");
    } else {
        const dync__operand *in = dync__csource_role(r->call, DYNC__RNN_IN);
        dync__str_addf(r->s, "p%d", role[DYNC__RNN_IN]);
        dync__term_csource(r->s, in->lay.stride[0], "t", &first);
    }
    dync__str_add(r->s, r->gates == 4 ? ", hid, h, c" : ", hid, h");
    if (!r->step->last) dync__rolled_at_step(r, DYNC__RNN_OUT);
    dync__rolled_at_step(r, DYNC__RNN_CELLS);
    dync__rolled_at_step(r, DYNC__RNN_GATES);
    dync__rolled_end(r, r->gate);
}

static void dync__rolled_body(dync__rolled *r)
{
    const int8_t *role = r->call->attr.rnn.role;
    int64_t steps = dync__csource_role(r->call, DYNC__RNN_OUT)->lay.shape[0];
    const char *type = dync__dtype_c_type(r->type);
    dync__rolled_scratch(r, "in", r->in_at);
    dync__rolled_scratch(r, "hid", r->hid_at);
    dync__rolled_scratch(r, "h", r->h_at);
    dync__rolled_scratch(r, "c", r->c_at);
    if (r->h_at < 0) dync__str_addf(r->s, "    %s *h = p%d;\n", type, role[DYNC__RNN_OUT]);
    if (r->gates == 4 && r->c_at < 0)
        dync__str_addf(r->s, "    %s *c = p%d;\n", type, role[DYNC__RNN_CN]);
    if (r->gates == 4) { /* h may take the place of both states at the start */
        dync__str_addf(r->s, "    %s(p%d, c", r->first_c->name, role[DYNC__RNN_C0]);
        dync__rolled_end(r, r->first_c);
    }
    if (r->h_at < 0) dync__str_addf(r->s, "    if (h != p%d)\n    ", role[DYNC__RNN_H0]);
    dync__str_addf(r->s, "    %s(p%d, h", r->first_h->name, role[DYNC__RNN_H0]);
    dync__rolled_end(r, r->first_h);
    dync__str_add(r->s,
                  r->call->attr.rnn.reverse ? "    for (int t = " : "    for (int t = 0; t < ");
    dync__size_csource(r->s, steps);
    dync__str_add(r->s, r->call->attr.rnn.reverse ? " - 1; t >= 0; t--) {\n" : "; t++) {\n");
    dync__rolled_step(r);
    dync__str_add(r->s, "    }\n");
    if (r->c_at >= 0 && r->last_c) {
        dync__str_addf(r->s, "    %s(c, p%d", r->last_c->name, role[DYNC__RNN_CN]);
        dync__rolled_end(r, r->last_c);
    }
}

/* The arrays of the function: those of the product, then the layer's; its parameters. */
DYNC__FN void dync__rolled_head(dync__rolled *r, dync__csource_step *step)
{
    const char *before = "";
    step->n = 0;
    dync__str_add(r->s, "static void @(");
    for (int from = 0; from < 2; from++) {
        const dync__kcall *call = from ? r->call : r->input;
        for (int i = 0; call && i < call->n - !from; i++) {
            const dync__operand *o = &call->operand[i];
            if (from && r->input && i == call->attr.rnn.role[DYNC__RNN_IN]) continue;
            dync__str_addf(r->s, "%s%s%s *%c%d", before, o->written ? "" : "const ",
                           dync__dtype_c_type(o->dtype), from ? 'p' : 'q', i);
            step->slot[step->n] = o->slot;
            step->base[step->n++] = o->lay.offset;
            before = ", ";
        }
    }
    dync__str_add(r->s, ", unsigned char *a)\n{\n");
}

DYNC__FN dync__rolled dync__rolled_of(dync__csource *c, const dync__csource_step *step,
                                      dync__str *s)
{
    const dync__kcall *call = step->at.call;
    const dync__layout *y = &dync__csource_role(call, DYNC__RNN_OUT)->lay;
    dync__rolled r = {.c = c, .step = step, .call = call, .input = step->input, .s = s};
    r.gates = (int)call->attr.rnn.gates;
    r.dtype = call->operand[0].dtype;
    r.type = dync__operand_working(r.dtype);
    r.n = y->shape[1];
    r.hidden = y->shape[2];
    r.width = dync__sz_mul(r.gates, r.hidden);
    return r;
}

DYNC__FN dync_status dync__csource_recurrent(dync__csource *c, dync__csource_step *step,
                                             dync__str *text)
{
    dync__rolled r = dync__rolled_of(c, step, text);
    DYNC__TRY(dync__rolled_functions(&r));
    DYNC__TRY(dync__rolled_room(&r));
    dync__rolled_head(&r, step);
    dync__rolled_body(&r);
    dync__str_add(text, "}\n");
    step->scratch = r.bytes;
    return text->failed ? DYNC_ERR_MEMORY : DYNC_OK;
}
