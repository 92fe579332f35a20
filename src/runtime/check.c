/* runtime/check.c: the verifiers of what becomes a plan. Steps, after lowering and after every pass
 * over them: kernels are valid loop IR, buffers and operands lie inside their slots and have their
 * dtypes, what a slot holds is written before it is read wherever it was so at first, and what must
 * be read before it is written over still is. Plans, when memory is laid out: temporaries that are
 * alive at one time never overlap, everything lies inside the arena, and what a run looks for is
 * what the slots say. Before: pass.c and plan.c, which ask at every border; memplan.c.
 *
 * Lifetimes are found anew here, from the steps alone: nothing of memplan.c is used. */
#include "../dync.in.h"
#include "plan.h"
#include "../loop/fuse.h"
DYNC__COLD

/* NULL where only dync_config_set can ask for them and nobody did: a program that does not call
 * that links no verifier. */
typedef struct dync__plan_checks {
    dync__ir_kind steps, plan;
    struct dync__slot_order *(*order)(const dync__steps *, dync__arena *);
} dync__plan_checks;
static const dync__plan_checks *dync__plan_checks_used;

static dync_status dync__step_fault(int step, int slot, const char *what)
{
    return dync__fail(DYNC_ERR_INTERNAL, "step %d, slot %d: %s", step, slot, what);
}

/* ---- the order of the steps ------------------------------------------------------------------ */

/* The first and last step that reads a slot and that writes it; -1: none. */
struct dync__slot_order {
    int first_read, last_read, first_write, last_write;
};

static void dync__order_note(dync__slot_order *o, int step, int mode)
{
    if (mode & DYNC__BUF_IN) {
        if (o->first_read < 0) o->first_read = step;
        o->last_read = step;
    }
    if (mode & DYNC__BUF_OUT) {
        if (o->first_write < 0) o->first_write = step;
        o->last_write = step;
    }
}

static void dync__order_step(dync__slot_order *order, const dync__fuse_step *s, int step)
{
    const dync__kcall *c = s->k ? NULL : s->call;
    for (int i = 0; s->k && i < s->k->buf.n; i++)
        dync__order_note(&order[s->k->buf.at[i].id], step, s->k->buf.at[i].mode);
    for (int i = 0; c && i < c->n; i++)
        dync__order_note(&order[c->operand[i].slot], step,
                         c->operand[i].written ? DYNC__BUF_OUT : DYNC__BUF_IN);
}

/* Of every slot; NULL: no memory. */
static dync__slot_order *dync__steps_order(const dync__steps *s, dync__arena *arena)
{
    size_t bytes = (size_t)(s->pb->slot.n + 1) * sizeof(dync__slot_order);
    dync__slot_order *order = dync__arena_alloc(arena, bytes);
    if (!order) return NULL;
    memset(order, 0xff, bytes);
    for (int i = 0; i < s->n; i++) dync__order_step(order, &s->at[i], i);
    return order;
}

/* Does step r read an element of the slot that step w writes? */
static bool dync__steps_meet(const dync__fuse_step *w, const dync__fuse_step *r, int slot)
{
    const dync__kernel *a = w->k, *b = r->k;
    if (!a || !b) return true;
    for (int i = 0; i < a->inst.n; i++)
        for (int j = 0; j < b->inst.n; j++) {
            const dync__inst *x = &a->inst.at[i], *y = &b->inst.at[j];
            if (x->buf < 0 || y->buf < 0 || a->buf.at[x->buf].id != slot ||
                b->buf.at[y->buf].id != slot || dync__inst_has_value(x) || !dync__inst_has_value(y))
                continue;
            if (x->prim != DYNC__P_store || y->prim != DYNC__P_load ||
                dync__access_overlap(&a->access.at[x->access], a->n_dims, a->extent,
                                     &b->access.at[y->access], b->n_dims, b->extent))
                return true;
        }
    return false;
}

/* The same of an input, of which parts are written: who reads other parts may run on either side.
 */
static dync_status dync__order_kept_in_parts(const dync__steps *s, int slot, bool written_first)
{
    int first = written_first ? DYNC__BUF_IN : DYNC__BUF_OUT; /* what step i does, which is few */
    for (int i = 0; i < s->n; i++)
        for (int j = i + 1; j < s->n && (dync__step_mode(&s->at[i], slot) & first); j++) {
            const dync__fuse_step *w = &s->at[written_first ? j : i],
                                  *r = &s->at[written_first ? i : j];
            if (!(dync__step_mode(w, slot) & DYNC__BUF_OUT) ||
                !(dync__step_mode(r, slot) & DYNC__BUF_IN) || !dync__steps_meet(w, r, slot))
                continue;
            return dync__step_fault(written_first ? i : j, slot,
                                    written_first ? "it is read before it is written"
                                                  : "it is read after it is written over");
        }
    return DYNC_OK;
}

/* Is what was written before anyone read it still so; is what everyone read before it was written
 * over still so? Where several steps write parts of a slot, who reads one part may run before the
 * others are written. A temporary that is in no step any more is gone. */
static dync_status dync__order_kept(const dync__steps *s, int i, const dync__slot_order *was,
                                    const dync__slot_order *is)
{
    const dync__slot *slot = &s->pb->slot.at[i];
    if (slot->kind == DYNC__SLOT_KEPT) return DYNC_OK; /* a table by now: nobody writes it */
    bool written_first = was->first_read < 0 || was->last_write < was->first_read,
         read_first = was->first_write < 0 || was->last_read < was->first_write;
    if (slot->kind != DYNC__SLOT_TEMP && was->first_write >= 0 && is->first_write < 0)
        return dync__step_fault(was->first_write, i, "nobody writes it any more");
    if (is->first_read < 0) return DYNC_OK;
    if (was->first_write >= 0 && is->first_write < 0)
        return dync__step_fault(is->first_read, i, "it is read, but nobody writes it any more");
    if (was->first_write < 0 || is->first_write < 0) return DYNC_OK;
    if (slot->kind == DYNC__SLOT_INPUT)
        return written_first || read_first ? dync__order_kept_in_parts(s, i, written_first)
                                           : DYNC_OK;
    if (written_first && is->first_read < is->first_write)
        return dync__step_fault(is->first_read, i, "it is read before it is written");
    if (written_first && was->first_write == was->last_write && is->first_read < is->last_write)
        return dync__step_fault(is->first_read, i, "it is read before all of it is written");
    if (was->first_read >= 0 && read_first && was->first_write == was->last_write &&
        is->last_read > is->first_write)
        return dync__step_fault(is->last_read, i, "it is read after it is written over");
    return DYNC_OK;
}

static dync_status dync__steps_check_order(const dync__steps *s)
{
    dync__arena arena = {0};
    const dync__slot_order *order = dync__steps_order(s, &arena);
    dync_status status = order ? DYNC_OK : DYNC_ERR_MEMORY;
    for (int i = 0; i < s->pb->slot.n && status == DYNC_OK; i++)
        if (s->pb->slot.at[i].size != 0) status = dync__order_kept(s, i, &s->order[i], &order[i]);
    dync__arena_free(&arena);
    return status;
}

/* ---- one step -------------------------------------------------------------------------------- */

/* The kernel, whose buffers have the sizes of their slots, so that accesses are seen to stay
 * inside.
 */
static dync_status dync__step_check_loops(const dync__pb *pb, const dync__kernel *k)
{
    dync__arena arena = {0};
    dync__kernel sized = *k;
    size_t bytes = (size_t)k->buf.n * sizeof *sized.buf.at;
    sized.buf.at = dync__arena_copy(&arena, k->buf.at, bytes);
    dync_status status = sized.buf.at || !bytes ? DYNC_OK : DYNC_ERR_MEMORY;
    for (int i = 0; i < k->buf.n && status == DYNC_OK; i++)
        sized.buf.at[i].size = pb->slot.at[k->buf.at[i].id].size;
    if (status == DYNC_OK) status = dync__kernel_check(&sized);
    dync__arena_free(&arena);
    return status;
}

static dync_status dync__step_check_kernel(const dync__pb *pb, int step, const dync__kernel *k)
{
    for (int i = 0; i < k->buf.n; i++) {
        const dync__buf *b = &k->buf.at[i];
        if (b->id < 0 || b->id >= pb->slot.n)
            return dync__step_fault(step, b->id, "a buffer of a slot that there is not");
        const dync__slot *slot = &pb->slot.at[b->id];
        if (slot->dtype != b->dtype)
            return dync__step_fault(step, b->id, "a buffer of another dtype than its slot");
        if (slot->size >= 0 && b->size > slot->size)
            return dync__step_fault(step, b->id, "a buffer larger than its slot");
    }
    return dync__step_check_loops(pb, k);
}

static dync_status dync__step_check_call(const dync__pb *pb, int step, const dync__kcall *c)
{
    if (c->n < 0 || c->n > DYNC__KCALL_MOST)
        return dync__step_fault(step, -1, "a call of more operands than there may be");
    for (int i = 0; i < c->n; i++) {
        const dync__operand *o = &c->operand[i];
        if (o->slot < 0 || o->slot >= pb->slot.n)
            return dync__step_fault(step, o->slot, "an operand in a slot that there is not");
        const dync__slot *slot = &pb->slot.at[o->slot];
        if (slot->dtype != o->dtype)
            return dync__step_fault(step, o->slot, "an operand of another dtype than its slot");
        if (o->lay.ndim < 0 || o->lay.ndim > DYNC_MAX_DIMS)
            return dync__step_fault(step, o->slot, "an operand of more dims than there may be");
        if (slot->size >= 0 && (o->lay.offset < 0 || dync__layout_span(&o->lay) > slot->size))
            return dync__step_fault(step, o->slot, "an operand reaches beyond its slot");
    }
    return DYNC_OK;
}

DYNC__FN dync_status dync__steps_check(const dync__steps *s)
{
    for (int i = 0; i < s->n; i++) {
        if (s->at[i].k) DYNC__TRY(dync__step_check_kernel(s->pb, i, s->at[i].k));
        if (!s->at[i].k && s->at[i].call) DYNC__TRY(dync__step_check_call(s->pb, i, s->at[i].call));
    }
    return s->order ? dync__steps_check_order(s) : DYNC_OK;
}

static dync_status dync__steps_check_any(void *steps) { return dync__steps_check(steps); }
static void dync__steps_print_any(dync__str *text, const void *steps)
{
    dync__steps_print(text, steps);
}

DYNC__FN dync_status dync__steps_check_after(dync__steps *s, int pass)
{
    const dync__plan_checks *c = DYNC__ATOMIC_LOAD(&dync__plan_checks_used);
    if (pass == DYNC__PASS_in_place) s->order = NULL; /* slots stand for others now */
    return c ? dync__check_after(pass, &c->steps, s) : DYNC_OK;
}

/* Slots are in range: what the notes are taken of. */
DYNC__FN dync_status dync__steps_check_begin(dync__steps *s)
{
    const dync__plan_checks *c = DYNC__ATOMIC_LOAD(&dync__plan_checks_used);
    if (!c || !dync__check_on()) return DYNC_OK;
    DYNC__TRY(dync__steps_check_after(s, DYNC__PASS_lower));
    s->order = c->order(s, s->pb->arena);
    return s->order ? dync__steps_check_after(s, DYNC__PASS_lower) : DYNC_ERR_MEMORY;
}

/* ---- plans ----------------------------------------------------------------------------------- */

static int64_t dync__plan_slot_bytes(const dync__slot *s)
{
    return s->size * dync__dtype_info(s->dtype)->bytes;
}

/* The first and last step of each temporary; -1: none. Every slot that a step names exists, and is
 * found where the slot says. */
static dync_status dync__plan_lives(const dync__plan *p, dync__life *life)
{
    for (int i = 0; i < p->n_slots; i++)
        life[i] = (dync__life){.slot = i,
                               .first = -1,
                               .last = -1,
                               .bytes = dync__plan_slot_bytes(&p->slot[i]),
                               .offset = p->slot[i].arena_offset};
    for (int i = 0; i < p->n_steps; i++)
        for (int k = 0; k < p->step[i].n; k++) {
            int id = p->step[i].slot[k];
            if (id < 0 || id >= p->n_slots) return dync__step_fault(i, id, "there is no such slot");
            const dync__slot *slot = &p->slot[id];
            const dync__plan_source *source = &p->step[i].source[k];
            if (source->from != slot->kind ||
                source->at != (slot->kind >= DYNC__SLOT_TEMP ? slot->arena_offset : slot->index))
                return dync__step_fault(i, id, "a run looks for it elsewhere than it is");
            if (slot->kind != DYNC__SLOT_TEMP) continue;
            if (life[id].first < 0) life[id].first = dync__plan_time(p, i);
            life[id].last = dync__plan_time(p, i);
        }
    return DYNC_OK;
}

static dync_status dync__plan_check_place(const dync__plan *p, const dync__life *life)
{
    const dync__slot *slot = &p->slot[life->slot];
    if (slot->size < 0) return dync__step_fault(life->first, life->slot, "its size is not known");
    if (life->offset < 0 || life->offset % 64 != 0)
        return dync__step_fault(life->first, life->slot,
                                "it has no place in the arena, or none "
                                "that is aligned");
    if (life->bytes > p->scratch_offset - life->offset)
        return dync__step_fault(life->first, life->slot, "it reaches beyond its part of the arena");
    return DYNC_OK;
}

/* Pairs that are alive at one time, by falling offset: n is small, and this runs in tests. */
static dync_status dync__plan_check_overlap(const dync__plan *p, const dync__life *life)
{
    for (int i = 0; i < p->n_slots; i++) {
        const dync__life *a = &life[i];
        if (a->first < 0) continue;
        DYNC__TRY(dync__plan_check_place(p, a));
        for (int j = 0; j < i; j++) {
            const dync__life *b = &life[j];
            if (b->first < 0 || a->last < b->first || b->last < a->first) continue;
            if (a->offset < b->offset + b->bytes && b->offset < a->offset + a->bytes)
                return dync__fail(DYNC_ERR_INTERNAL,
                                  "slots %d (steps %d to %d) and %d (steps %d to %d) are alive at "
                                  "one time and share memory",
                                  j, b->first, b->last, i, a->first, a->last);
        }
    }
    return DYNC_OK;
}

/* Each output of the call is one slot's. */
static dync_status dync__plan_check_slots(const dync__plan *p)
{
    for (int i = 0; i < p->n_slots; i++) {
        const dync__slot *s = &p->slot[i];
        if (!dync__dtype_valid(s->dtype)) return dync__step_fault(-1, i, "it has no dtype");
        if (s->kind < DYNC__SLOT_TEMP && s->index < 0)
            return dync__step_fault(-1, i, "it is neither an input nor an output of the call");
        for (int j = 0; s->kind == DYNC__SLOT_OUTPUT && j < i; j++)
            if (p->slot[j].kind == DYNC__SLOT_OUTPUT && p->slot[j].index == s->index)
                return dync__step_fault(-1, i, "two slots are the same output of the call");
    }
    return DYNC_OK;
}

/* Two calls on one thread, of which neither touches what the other writes. */
static dync_status dync__plan_check_beside(const dync__plan *p, int i)
{
    const dync__plan_step *s = &p->step[i], *t = s + 1;
    if (i + 1 >= p->n_steps || !s->call || !t->call || !s->call->row->alone ||
        !t->call->row->alone || t->beside)
        return dync__step_fault(i, -1, "what may run beside it is no call of its kind");
    for (int k = 0; k < s->call->n; k++)
        for (int l = 0; l < t->call->n; l++)
            if (s->slot[k] == t->slot[l] &&
                (s->call->operand[k].written || t->call->operand[l].written))
                return dync__step_fault(i, s->slot[k], "what may run beside it touches that, too");
    return DYNC_OK;
}

DYNC__FN dync_status dync__plan_check(const dync__plan *p)
{
    dync__arena arena = {0};
    dync__life *life = dync__arena_alloc(&arena, (size_t)(p->n_slots + 1) * sizeof *life);
    dync_status status = life ? dync__plan_check_slots(p) : DYNC_ERR_MEMORY;
    if (status == DYNC_OK) status = dync__plan_lives(p, life);
    if (status == DYNC_OK) status = dync__plan_check_overlap(p, life);
    for (int i = 0; i < p->n_steps && status == DYNC_OK; i++) {
        if (p->step[i].beside) status = dync__plan_check_beside(p, i);
        if (p->step[i].call && dync__plan_scratch_end(p, i) > p->arena_bytes - p->scratch_offset)
            status = dync__step_fault(i, -1, "its call asks for more scratch memory than there is");
    }
    dync__arena_free(&arena);
    return status;
}

static dync_status dync__plan_check_any(void *plan) { return dync__plan_check(plan); }
static void dync__plan_print_any(dync__str *text, const void *plan) { dync__plan_dump(text, plan); }

DYNC__FN dync_status dync__plan_check_after(dync__plan *p, int pass)
{
    const dync__plan_checks *c = DYNC__ATOMIC_LOAD(&dync__plan_checks_used);
    return c ? dync__check_after(pass, &c->plan, p) : DYNC_OK;
}

static const dync__plan_checks dync__plan_checks_all = {
    {"steps", dync__steps_check_any, dync__steps_print_any},
    {"plan", dync__plan_check_any, dync__plan_print_any},
    dync__steps_order};
#if !defined(DYNC_NO_ENV) || defined(DYNC_ASSERT)
static const dync__plan_checks *dync__plan_checks_used = &dync__plan_checks_all;
#endif
DYNC__FN void dync__plan_checks_use(void)
{
    DYNC__ATOMIC_STORE(&dync__plan_checks_used, &dync__plan_checks_all);
}
