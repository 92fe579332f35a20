/* program/csource_steps.c: a unit of an exported C file: its steps fused, each as a C function,
 * their memory placed in one arena, and the statements that call them. After csource_kernels.c,
 * before csource_control.c, whose units these are too.
 *
 * Functions do not know where their arrays lie: each is given its arrays from the first element on,
 * then the bytes it works in, then the sizes it asks for. So steps that differ in that alone, as
 * those of an unrolled recurrent layer, are one function. */
#include "../dync.in.h"
#include "csource.h"
DYNC__COLD

/* ---- functions ------------------------------------------------------------------------------- */

/* Where the call's results go, and what is read beside. */
static void dync__csource_after_arrays(dync__csource_step *s)
{
    const dync__csource_after *after = &s->after;
    if (after->k) {
        s->slot[s->n - 1] = after->k->buf.at[after->out].id;
        s->base[s->n - 1] = after->first;
    }
    if (after->pool) {
        s->slot[s->n - 1] = after->pool->operand[1].slot;
        s->base[s->n - 1] = after->pool->operand[1].lay.offset;
    }
    for (int b = 0; after->k && b < after->k->buf.n; b++) {
        if (!dync__csource_after_reads(after, b)) continue;
        s->slot[s->n] = after->k->buf.at[b].id;
        s->base[s->n++] = after->room.base[b];
    }
}

/* The kernel or the call as a function, and how a unit calls it. */
static dync_status dync__csource_step_text(dync__csource *c, dync__csource_unit *u,
                                           dync__csource_step *s, dync__str *text)
{
    const dync__kcall *call = s->at.call;
    if (s->at.k) {
        dync__csrc_room room;
        memset(&room, 0, sizeof room);
        dync__csource_known(c, u, s->at.k, &room);
        DYNC__TRY(dync__kernel_csource(text, s->at.k, "@", &room));
        for (int i = 0; i < s->at.k->buf.n; i++) {
            if (room.known[i]) continue;
            s->slot[s->n] = s->at.k->buf.at[i].id;
            s->base[s->n++] = room.base[i];
        }
        s->scratch = room.bytes;
        s->draws = s->at.k->uses_random;
        return DYNC_OK;
    }
    s->n = call->n - s->no_index;
    for (int i = 0; i < s->n; i++) {
        s->slot[i] = call->operand[i].slot;
        s->base[i] = call->operand[i].lay.offset;
    }
    if (dync__opaque_is(call) && dync__op_is_counted(call->attr.opaque.node->op))
        return dync__csource_counted(c, s, text);
    if (dync__control_is(call)) return dync__csource_control(c, u, s, text);
    if (dync__kcall_is(call, DYNC__K_rnn_layer)) return dync__csource_recurrent(c, s, text);
    if (dync__kcall_is(call, DYNC__K_rnn_layer_grad))
        return dync__csource_recurrent_grad(c, s, text);
    if (!dync__csource_blocks_are(call)) return dync__kcall_csource(text, call, s->no_index, "@");
    if (s->after.k) dync__csource_known(c, u, s->after.k, &s->after.room);
    DYNC__TRY(dync__csource_blocks(text, call, &s->after));
    dync__csource_after_arrays(s);
    return DYNC_OK;
}

static dync_status dync__csource_step_make(dync__csource *c, dync__csource_unit *u,
                                           dync__csource_step *s)
{
    dync__str text = {0};
    dync_status status = dync__csource_step_text(c, u, s, &text);
    if (status == DYNC_OK && (text.failed || !(s->fn = dync__csource_function(c, &text))))
        status = DYNC_ERR_MEMORY;
    dync__str_free(&text);
    return status;
}

static dync_status dync__csource_fuse(dync__csource *c, dync__csource_unit *u)
{
    dync__plan_options options = {
        .name = c->program->name, .passes = dync__steps_run, .rolled = true};
    dync__steps steps;
    DYNC__TRY(dync__steps_begin(&steps, &u->pb, &options));
    if (c->syms) c->syms->quiet = dync__csource_data(c) != 0, c->syms->unknown = 1;
    dync_status status =
        dync__steps_run(&steps, u->pb.sized ? (int)DYNC__FORM_LAST : (int)DYNC__PASS_schedule);
    if (c->syms) c->syms->quiet = false;
    DYNC__TRY(status);
    if (c->syms && c->syms->unknown > 1)
        return dync__fail(DYNC_ERR_UNSUPPORTED,
                          "C source of %s: how its loops are written follows from sizes that data "
                          "decide",
                          c->program->name);
    u->step = dync__arena_alloc(&u->arena, (size_t)(steps.n + 1) * sizeof *u->step);
    if (!u->step) return DYNC_ERR_MEMORY;
    for (int i = 0; i < steps.n; i++) {
        if (steps.at[i].k && !dync__kernel_writes(steps.at[i].k)) continue;
        dync__csource_step *s = &u->step[u->n_steps++];
        memset(s, 0, sizeof *s);
        s->at = steps.at[i];
        s->tells = -1;
    }
    dync__csource_follow(u);
    dync__csource_recurrent_take(u);
    DYNC__TRY(dync__csource_pack(c, u));
    for (int i = 0; i < u->n_steps; i++) {
        dync__csource_step *s = &u->step[i];
        const dync__kcall *call = s->at.call;
        if ((s->at.k ? s->at.k->buf.n : call->n + (s->after.k ? s->after.k->buf.n : 0)) >
            DYNC__CSOURCE_ARGS)
            return dync__fail(DYNC_ERR_UNSUPPORTED, "C source: a step of more than %d arrays",
                              (int)DYNC__CSOURCE_ARGS);
        DYNC__TRY(dync__csource_step_make(c, u, s));
    }
    dync__csource_recurrent_arrays(u);
    return DYNC_OK;
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* dync__memplan aligns to 64 bytes; here a cell of 8 bytes counts as 64, so temporaries lie 8 bytes
 * apart at least. */
enum { DYNC__CSOURCE_CELL = 8 };

static void dync__csource_touch(dync__csource_unit *u)
{
    for (int i = 0; i < u->n_steps; i++)
        for (int k = 0; k < u->step[i].n; k++) {
            dync__csource_slot *s = &u->slot[u->step[i].slot[k]];
            if (s->first < 0) s->first = i;
            s->last = i;
        }
}

/* Slots of the arena, then what each step works in. */
static dync_status dync__csource_place(dync__csource_unit *u)
{
    int n = u->pb.slot.n, all = n + u->n_steps;
    dync__life *life = dync__arena_alloc(&u->arena, (size_t)(all + 1) * sizeof *life);
    if (!life) return DYNC_ERR_MEMORY;
    dync__csource_touch(u);
    for (int i = 0; i < all; i++) {
        const dync__csource_slot *s = i < n ? &u->slot[i] : NULL;
        int64_t size = s ? 0 : u->step[i - n].scratch;
        life[i] = (dync__life){.slot = i, .first = -1, .last = -1};
        if (s ? !s->in_arena || s->first < 0 : !size) continue;
        if (s) {
            DYNC__TRY(dync__csource_most(u->pb.slot.at[i].size, &size));
            size *= dync__dtype_info(u->pb.slot.at[i].dtype)->bytes;
        }
        life[i].first = s ? s->first : i - n;
        life[i].last = !s ? i - n : s->copied_out ? u->n_steps : s->last;
        life[i].bytes = size * DYNC__CSOURCE_CELL;
    }
    DYNC__TRY(dync__memplan_tight(&u->arena, life, all, &u->arena_bytes));
    for (int i = 0; i < all; i++)
        *(i < n ? &u->slot[i].offset : &u->step[i - n].offset) = life[i].offset /
                                                                 DYNC__CSOURCE_CELL;
    u->arena_bytes = (u->arena_bytes / DYNC__CSOURCE_CELL + 7) & ~(int64_t)7;
    return DYNC_OK;
}

/* An output of the graph that is a whole row-major storage of its own is written in place; others
 * are copied at the end. */
static void dync__csource_outputs(dync__csource_unit *u)
{
    for (int i = 0; i < u->pb.slot.n; i++) {
        const dync__slot *s = &u->pb.slot.at[i];
        dync__csource_slot *t = &u->slot[i];
        t->first = t->last = t->output = -1;
        t->in_arena = s->kind == DYNC__SLOT_TEMP || s->kind == DYNC__SLOT_OUTPUT;
        if (s->kind != DYNC__SLOT_OUTPUT) continue;
        int users = 0;
        for (int k = 0; k < u->n_out; k++) {
            const dync__lowered_out *o = &u->out[k];
            if (o->input >= 0 || o->output != s->index) continue;
            bool whole = users++ == 0 && o->lay.offset == 0 &&
                         dync__csource_numel(&o->lay) == s->size &&
                         dync__layout_is_contiguous(&o->lay) && o->dtype == s->dtype;
            t->output = whole ? k : -1;
        }
        for (int k = 0; k < u->n_back; k++)
            if (u->back[k].from.input < 0 && u->back[k].from.output == s->index) users += 2;
        if (users > 1) t->output = -1;
        t->copied_out = users > 0 && t->output < 0;
        t->in_arena = t->output < 0;
    }
}

DYNC__FN dync_status dync__csource_unit_plan(dync__csource *c, dync__csource_unit *u)
{
    DYNC__TRY(dync__csource_fuse(c, u));
    u->slot = dync__arena_alloc(&u->arena, (size_t)(u->pb.slot.n + 1) * sizeof *u->slot);
    if (!u->slot) return DYNC_ERR_MEMORY;
    memset(u->slot, 0, (size_t)u->pb.slot.n * sizeof *u->slot);
    dync__csource_outputs(u);
    DYNC__TRY(dync__csource_place(u));
    dync__str body = {0};
    dync__csource_body(c, u, &body);
    u->uses = dync__csource_uses(c, dync__str_get(&body));
    dync_status status = body.failed ? DYNC_ERR_MEMORY : DYNC_OK;
    dync__str_free(&body);
    return status;
}

DYNC__FN void dync__csource_unit_free(dync__csource_unit *u)
{
    dync__lowered_free(&u->lowered);
    dync__arena_free(&u->arena);
}

/* ---- statements ------------------------------------------------------------------------------ */

/* Element `base` of a slot as a pointer. */
static void dync__csource_place_of(dync__csource *c, const dync__csource_unit *u, dync__str *s,
                                   int slot, int64_t base)
{
    const dync__slot *p = &u->pb.slot.at[slot];
    const dync__csource_slot *t = &u->slot[slot];
    int bytes = dync__dtype_info(p->dtype)->bytes;
    if (t->in_arena) {
        int64_t at = t->offset + (dync__is_token(base) ? 0 : base * bytes);
        dync__str_addf(s, "(%s *)(void *)", dync__dtype_c_type(p->dtype));
        dync__str_addf(s, at ? "(a + %lld)" : "a", (long long)at);
        if (!dync__is_token(base)) return;
    } else if (t->output >= 0) {
        dync__str_addf(s, "out%d", t->output);
    } else if (p->index < u->n_in) {
        dync__str_addf(s, "in%d", (int)p->index);
    } else if (dync__csource_state(c, (int)p->index) >= 0) {
        dync__str_addf(s, "(%s *)s->%s", dync__dtype_c_type(p->dtype),
                       c->state_name.at[dync__csource_state(c, (int)p->index)]);
    } else {
        dync__str_addf(s, "%s_w%d", c->program->name, dync__csource_weight(c, (int)p->index));
    }
    if (base) dync__offset_csource(s, base, false);
}

static void dync__csource_calls(dync__csource *c, const dync__csource_unit *u, dync__str *s)
{
    for (int i = 0; i < u->n_steps; i++) {
        const dync__csource_step *step = &u->step[i];
        const char *before = "";
        dync__str_addf(s, "    %s(", step->fn->name);
        for (int k = 0; k < step->n; k++) {
            dync__str_add(s, before);
            dync__csource_place_of(c, u, s, step->slot[k], step->base[k]);
            before = ", ";
        }
        if (step->scratch) {
            dync__str_addf(s, step->offset ? "%sa + %lld" : "%sa", before, (long long)step->offset);
            before = ", ";
        }
        if (step->draws) {
            dync__str_addf(s, "%ss->random", before);
            before = ", ";
        }
        if (step->tells >= 0) {
            dync__str_addf(s, "%s&%s", before, c->syms->symbol.at[step->tells].source);
            before = ", ";
        }
        dync__csource_symbols(c, step->fn->uses, before, "", s);
        dync__str_add(s, ");\n");
        if (step->tells >= 0) dync__csource_tell(c, step->tells, s);
    }
    if (!u->pb.rng_used) return;
    dync__str_add(s, "    s->random[1] += (uint64_t)(");
    dync__size_csource(s, (int64_t)u->pb.rng_used);
    dync__str_add(s, ");\n");
}

/* The slot that a result lies in, or -1. */
static int dync__csource_result_slot(const dync__csource_unit *u, const dync__lowered_out *o)
{
    int slot = -1;
    for (int k = 0; k < u->pb.slot.n; k++) {
        const dync__slot *p = &u->pb.slot.at[k];
        if (o->input >= 0 ? p->kind == DYNC__SLOT_INPUT && p->index == o->input
                          : p->kind == DYNC__SLOT_OUTPUT && p->index == o->output)
            slot = k;
    }
    return slot;
}

/* A value of `slot`, element by element, to where text and strides say. */
static void dync__csource_copy(dync__csource *c, const dync__csource_unit *u, dync__str *s,
                               int slot, const dync__layout *from, const char *to,
                               const int64_t *stride)
{
    static const char *const names[] = {"i0", "i1", "i2", "i3", "i4", "i5", "i6", "i7"};
    const char *var[DYNC_MAX_DIMS];
    for (int d = 0; d < from->ndim; d++) {
        var[d] = from->shape[d] > 1 ? names[d] : NULL;
        if (!var[d]) continue;
        dync__str_addf(s, "    for (int %s = 0; %s < ", var[d], var[d]);
        dync__size_csource(s, from->shape[d]);
        dync__str_addf(s, "; %s++)\n    ", var[d]);
    }
    dync__str_addf(s, "    %s[", to);
    dync__csource_index(s, from->ndim, stride, var, 0);
    dync__str_add(s, "] = (");
    dync__csource_place_of(c, u, s, slot, 0);
    dync__str_add(s, ")[");
    dync__csource_index(s, from->ndim, from->stride, var, from->offset);
    dync__str_add(s, "];\n");
}

/* New values of inputs, then outputs that are no storage of their own. */
static void dync__csource_copies(dync__csource *c, const dync__csource_unit *u, dync__str *s)
{
    for (int i = 0; i < u->n_back; i++) {
        const dync__csource_back *b = &u->back[i];
        const dync__lowered_out to = {.input = b->input};
        const dync__layout *lay = &u->graph->node.at[b->input]->info[0].lay;
        int slot = dync__csource_result_slot(u, &b->from), at = dync__csource_result_slot(u, &to);
        dync__str place = {0};
        if (slot < 0 || at < 0 || dync__csource_numel(lay) == 0) continue;
        dync__str_addc(&place, '(');
        dync__csource_place_of(c, u, &place, at, lay->offset);
        dync__str_addc(&place, ')');
        dync__csource_copy(c, u, s, slot, &b->from.lay, dync__str_get(&place), lay->stride);
        s->failed = s->failed || place.failed;
        dync__str_free(&place);
    }
    for (int i = 0; i < u->n_out; i++) {
        const dync__lowered_out *o = &u->out[i];
        int64_t stride[DYNC_MAX_DIMS], all = 1;
        char to[16];
        int slot = dync__csource_result_slot(u, o);
        if (slot < 0 || u->slot[slot].output == i || dync__csource_numel(&o->lay) == 0) continue;
        for (int d = o->lay.ndim - 1; d >= 0; d--) {
            stride[d] = all;
            all = dync__sz_mul(all, o->lay.shape[d]);
        }
        dync__format(to, sizeof to, "out%d", i);
        dync__csource_copy(c, u, s, slot, &o->lay, to, stride);
    }
}

/* What is not named otherwise, as an empty input is, is named once. */
DYNC__FN void dync__csource_body(dync__csource *c, const dync__csource_unit *u, dync__str *s)
{
    dync__str calls = {0};
    dync__csource_calls(c, u, &calls);
    dync__csource_copies(c, u, &calls);
    for (int i = 0; i < u->n_in + u->n_out; i++) {
        char name[16];
        bool in = i < u->n_in;
        dync__format(name, sizeof name, "%s%d", in ? "in" : "out", in ? i : i - u->n_in);
        if (!dync__csource_has_word(dync__str_get(&calls), name))
            dync__str_addf(s, "    (void)%s;\n", name);
    }
    dync__str_add(s, dync__str_get(&calls));
    s->failed = s->failed || calls.failed;
    dync__str_free(&calls);
}
