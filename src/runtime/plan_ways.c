/* runtime/plan_ways.c: how the steps of a plan become what runs: a plan has one of two ways, chosen
 * once by the device that it runs on. Where that is main memory kernels are machine code and calls
 * the library's own; elsewhere a device's driver makes both. After epilogue.c and convs.c, which
 * find what goes into a call, before plan.c. */
#include "../dync.in.h"
#include "plan.h"
#include "../kernel/conv_jit.h"
#include "../kernel/operand.h"
DYNC__COLD

static dync_status dync__way_made(const void *code)
{
    return code ? DYNC_OK : dync_error() != DYNC_OK ? dync_error() : DYNC_ERR_MEMORY;
}

/* Slots of the step: the operands of `call` (NULL: there is none), then the buffers of the kernels
 * `with`, some NULL. */
static dync_status dync__way_slots(dync__plan *p, dync__plan_step *s, const dync__kcall *call,
                                   const dync__kernel *const *with, int n_with)
{
    int n = call ? call->n : 0;
    for (int w = 0; w < n_with; w++) n += with[w] ? with[w]->buf.n : 0;
    int32_t *slot = dync__arena_alloc(&p->arena, (size_t)(n + 1) * sizeof *slot);
    if (!slot) return DYNC_ERR_MEMORY;
    s->slot = slot;
    s->n = n;
    for (int i = 0; call && i < call->n; i++) *slot++ = call->operand[i].slot;
    for (int w = 0; w < n_with; w++)
        for (int i = 0; with[w] && i < with[w]->buf.n; i++) *slot++ = with[w]->buf.at[i].id;
    return DYNC_OK;
}

/* The plan's own copy of a call. */
static dync__kcall *dync__way_call(dync__plan *p, const dync__kcall *from)
{
    dync__kcall *c = dync__arena_copy(&p->arena, from, dync__kcall_bytes(from));
    if (!c || (c->after && !(c->after = dync__arena_copy(&p->arena, c->after, sizeof *c->after))))
        return NULL;
    if (c->follow && !(c->follow = dync__arena_copy(&p->arena, c->follow, sizeof *c->follow)))
        return NULL;
    for (int i = 0; i < c->n; i++) {
        const dync__slot *slot = &p->slot[c->operand[i].slot];
        bool input = slot->kind == DYNC__SLOT_INPUT && slot->index < INT16_MAX;
        c->operand[i].input = (int16_t)(input ? slot->index + 1 : 0);
    }
    return c;
}

/* A call of a function in C. */
static dync_status dync__way_call_here(dync__plan_maker *m, dync__plan_step *s,
                                       const dync__kcall *from, const dync__kernel *const *with)
{
    dync__kcall *c = dync__way_call(m->p, from);
    if (!c) return DYNC_ERR_MEMORY;
    s->call = c; /* what prepare makes is freed with the plan, also when it fails */
    if (m->sized && c->row->pieces) DYNC__TRY(c->row->pieces(c));
    if (c->row->prepare && !m->sized) DYNC__TRY(c->row->prepare(c));
    s->beside = c->beside;
    m->scratch = DYNC__MAX(m->scratch, dync__plan_scratch_end(m->p, (int)(s - m->p->step)));
    return dync__way_slots(m->p, s, c, with, 1);
}

/* ---- in main memory -------------------------------------------------------------------------- */
/* Does an earlier step already check these, and nobody writes them since? */
static bool dync__main_checked(const dync__plan_maker *m, int i, const dync__kernel *k,
                               const dync__bound *bound)
{
    int32_t slot = k->buf.at[bound->buf].id;
    for (int j = i - 1; j >= 0; j--) {
        const dync__kernel *before[] = {m->step[j].k, m->with[j][0]};
        for (int w = 0; w < 2; w++)
            for (int b = 0; before[w] && b < before[w]->bound.n; b++)
                if (before[w]->buf.at[before[w]->bound.at[b].buf].id == slot &&
                    dync__bound_equal(&before[w]->bound.at[b], bound))
                    return true;
        for (int w = 0; w < 2; w++)
            for (int b = 0; before[w] && b < before[w]->buf.n; b++)
                if (before[w]->buf.at[b].id == slot && (before[w]->buf.at[b].mode & DYNC__BUF_OUT))
                    return false;
        if (dync__step_mode(&m->step[j], slot) & DYNC__BUF_OUT) return false;
    }
    return false;
}

/* The bounds of kernel k of step i, whose buffers stand from `at` on among those of the step. */
static dync_status dync__main_bounds_of(dync__plan_maker *m, dync__plan_step *s, int i,
                                        const dync__kernel *k, int at)
{
    if (!(s->bound = dync__arena_alloc(&m->p->arena, (size_t)k->bound.n * sizeof *s->bound)))
        return DYNC_ERR_MEMORY;
    for (int b = 0; b < k->bound.n; b++) {
        const dync__bound *bound = &k->bound.at[b];
        if (dync__main_checked(m, i, k, bound)) continue;
        const dync__buf *buf = &k->buf.at[bound->buf];
        dync__kcall *c = dync__arena_alloc(&m->p->arena, sizeof(dync__kcall_full));
        if (!c) return DYNC_ERR_MEMORY;
        *c = (dync__kcall){.row = &dync__kcall_check_index,
                           .n = 1,
                           .origin = bound->origin,
                           .user_op = bound->user_op,
                           .at = bound->at,
                           .attr = {.index = {bound->size}}};
        c->operand[0] = (dync__operand){.slot = buf->id, .dtype = buf->dtype, .lay = bound->lay};
        s->bound[s->n_bounds++] = (dync__plan_bound){c, at + bound->buf};
        if (!m->sized) DYNC__TRY(c->row->prepare(c));
    }
    return DYNC_OK;
}

/* Linked by who gathers. */
static dync_status (*DYNC__BY_NEED dync__main_bounded)(dync__plan_maker *, dync__plan_step *, int i,
                                                       const dync__kernel *, int at) =
    DYNC__AT_FIRST(dync__main_bounds_of);
DYNC__FN void dync__plan_bounds(void) { DYNC__PUT(dync__main_bounded, dync__main_bounds_of); }

static dync_status dync__main_bounds(dync__plan_maker *m, dync__plan_step *s, int i,
                                     const dync__kernel *k, int at)
{
    if (k->bound.n == 0) return DYNC_OK;
    return dync__main_bounded ? dync__main_bounded(m, s, i, k, at) : DYNC_ERR_INTERNAL;
}

/* May the code look at indices as it reads by them? Not where it writes what the caller has, which
 * stays as it was if one is outside. */
static bool dync__main_may_look(const dync__plan *p, const dync__plan_step *s,
                                const dync__kernel *k)
{
    bool looks = s->n_bounds && dync__pass_on(DYNC__PASS_index_check);
    for (int b = 0; looks && b < k->buf.n; b++)
        looks = !(k->buf.at[b].mode & DYNC__BUF_OUT) ||
                p->slot[k->buf.at[b].id].kind != DYNC__SLOT_INPUT;
    return looks;
}

DYNC__FN bool dync__plan_looks(const dync__plan_step *s)
{
    const dync__plan_bound *last = &s->bound[s->n_bounds - 1];
    const dync__operand *index = &last->check->operand[0];
    return s->looks && dync__layout_is_contiguous(&index->lay) &&
           dync__code_looks(s->code, last->at, index->lay.offset, dync__operand_numel(index),
                            last->check->attr.index.size);
}

static dync_status dync__main_kernel(dync__plan_maker *m, dync__plan_step *s, int i)
{
    const dync__kernel *k = m->step[i].k;
    DYNC__TRY(dync__way_slots(m->p, s, NULL, &k, 1));
    DYNC__TRY(dync__main_bounds(m, s, i, k, 0));
    s->looks = dync__main_may_look(m->p, s, k);
    if (m->sized) {
        s->code = m->sized(k);
        s->late = s->code ? NULL : k;
        return DYNC_OK;
    }
    s->code = m->opt->autotune ? dync__tuned_code(k, m->opt->autotune) : dync__code_new(k);
    s->looks = s->code && s->looks && dync__plan_looks(s);
    if (s->looks) dync__pass_log(DYNC__PASS_index_check, m->p->name, "step %d", i);
    return dync__way_made(s->code);
}

/* The kernel that can be the epilogue of the call at step i is no step of its own. */
static dync_status dync__main_epilogue(dync__plan_maker *m, dync__plan_step *s, int i)
{
    dync__kcall *c = m->step[i].call;
    int64_t rows = dync__kcall_rows(c);
    int with = rows > 0 ? dync__epilogue_find(m->pb, m->step, m->n, i) : -1;
    if (with < 0) return DYNC_OK;
    int slot = dync__epilogue_in_place(m->pb, &m->uses, m->step, m->n, i, with);
    dync__kernel *k = m->step[with].k;
    /* by machine code alone */
    if (slot >= 0 && DYNC__SMALLER(false, true) && dync__pass_on(DYNC__PASS_follow))
        c->follow = dync__follow_of(m->pb, c, k);
    dync__buf *stored = NULL;
    for (int b = 0; slot >= 0 && b < k->buf.n; b++)
        if (k->buf.at[b].id == slot) stored = &k->buf.at[b];
    if (stored) stored->mode |= DYNC__BUF_IN; /* what is in the cache is not stored around it */
    k->in_parts = true;
    s->code = m->sized ? m->sized(k) : dync__code_new(k);
    k->in_parts = false;
    if (!s->code && !m->sized) return dync__way_made(NULL);
    m->differs |= !s->code;
    if (!s->code || !dync__code_has_parts(s->code, rows)) {
        dync__code_free(s->code);
        s->code = NULL;
        c->follow = NULL;
        if (stored) stored->mode = DYNC__BUF_OUT;
        return DYNC_OK;
    }
    for (int b = 0; slot >= 0 && b < k->buf.n; b++)
        if (k->buf.at[b].id == c->operand[c->n - 1].slot) k->buf.at[b].id = slot;
    if (slot >= 0) {
        c->operand[c->n - 1].slot = slot;
        dync__step_uses_add(&m->uses, slot, i);
    }
    dync__pass_log(DYNC__PASS_epilogue, m->p->name, "step %d after %s", with, c->row->name);
    if (c->follow) dync__pass_log(DYNC__PASS_follow, m->p->name, "in tiles of %s", c->row->name);
    c->epilogue = s->code;
    c->epilogue_rows = rows;
    m->with[i][0] = k;
    memset(&m->step[with], 0, sizeof m->step[with]);
    return DYNC_OK;
}

/* Linked by who compiles graphs. */
static dync_status (*DYNC__BY_NEED dync__main_epilogued)(
    dync__plan_maker *, dync__plan_step *, int i) = DYNC__AT_FIRST(dync__main_epilogue);
DYNC__FN void dync__plan_epilogues(void) { DYNC__PUT(dync__main_epilogued, dync__main_epilogue); }

static dync_status dync__main_call(dync__plan_maker *m, dync__plan_step *s, int i)
{
    if (m->epilogues && dync__main_epilogued) DYNC__TRY(dync__main_epilogued(m, s, i));
    DYNC__TRY(dync__way_call_here(m, s, m->step[i].call, m->with[i]));
    return m->with[i][0] ? dync__main_bounds(m, s, i, m->with[i][0], s->call->n) : DYNC_OK;
}

/* dync__layout_is_contiguous of numbers, whose products are known to fit: of each new size. */
DYNC__OFTEN static bool dync__main_lies(const dync__layout *lay)
{
    uint64_t span = 1;
    bool lies = true, empty = false;
    for (int d = lay->ndim - 1; d >= 0; d--) {
        empty |= lay->shape[d] == 0;
        lies &= lay->shape[d] == 1 || (uint64_t)lay->stride[d] == span;
        span *= (uint64_t)lay->shape[d];
    }
    return lies || empty;
}

/* What a step may ask for: what its call says, dense copies of operands, row buffers and panels. */
DYNC__OFTEN static size_t dync__main_step_bytes(const dync__plan_step *s)
{
    enum { ROOM = 1 << 20 };
    const dync__kcall *c = s->call;
    size_t bytes = (c ? c->run_bytes : 0) + (size_t)ROOM * (size_t)dync__pool_threads();
    for (int i = 0; c && i < c->n; i++) {
        const dync__operand *o = &c->operand[i];
        if (!dync__main_lies(&o->lay) || dync__operand_working(o->dtype) != o->dtype)
            bytes += (size_t)dync__operand_numel(o) * 8;
    }
    for (int b = 0; b < s->n_bounds; b++) /* looked at as I64 */
        bytes += (size_t)dync__operand_numel(&s->bound[b].check->operand[0]) * 8;
    return bytes;
}

DYNC__FN bool dync__plan_writes_input(const dync__plan *p, const dync__fuse_step *s)
{
    const dync__kernel *k = s->k;
    const dync__kcall *c = k ? NULL : s->call;
    bool writes = false;
    for (int b = 0; k && b < k->buf.n; b++)
        writes |= (k->buf.at[b].mode & DYNC__BUF_OUT) &&
                  p->slot[k->buf.at[b].id].kind == DYNC__SLOT_INPUT;
    for (int o = 0; c && o < c->n; o++)
        writes |= c->operand[o].written && p->slot[c->operand[o].slot].kind == DYNC__SLOT_INPUT;
    return writes;
}

DYNC__OFTEN static void dync__main_reserve(dync__plan *p)
{
    size_t most = 0;
    p->reserve = 0;
    if (!p->writes || p->n_steps < 2) return;
    for (int i = 0; i < p->n_steps; i++) most = DYNC__MAX(most, dync__main_step_bytes(&p->step[i]));
    p->reserve = most;
}

/* ---- on a device ----------------------------------------------------------------------------- */
/* Which buffers of the step, from the given one on, are numbers in main memory. */
static const bool *dync__driver_hosts(dync__plan *p, const dync__plan_step *s, int from)
{
    bool *host = dync__arena_alloc(&p->arena, (size_t)(s->n + 1));
    for (int i = from; host && i < s->n; i++) host[i - from] = p->slot[s->slot[i]].host;
    return host;
}

static dync_status dync__driver_take(dync__plan_maker *m, int i)
{
    if (!m->step[i].k || !m->prologues) return DYNC_OK;
    DYNC__TRY(dync__prologue_take(m->pb, m->p->driver, m->step, m->n, i, m->with));
    if (m->step[i].k) return DYNC_OK;
    m->uses.first = NULL; /* another step touches what it did */
    dync__pass_log(DYNC__PASS_prologue, m->p->name, "step %d", i);
    return DYNC_OK;
}

static dync_status dync__driver_kernel(dync__plan_maker *m, dync__plan_step *s, int i)
{
    dync__plan *p = m->p;
    const dync__kernel *k = m->step[i].k;
    DYNC__TRY(dync__way_slots(p, s, NULL, &k, 1));
    const bool *host = dync__driver_hosts(p, s, 0);
    s->device_code = host ? p->driver->kernel_new(p->device, k, host) : NULL;
    return dync__way_made(s->device_code);
}

/* The call does what follows it where the device can; false: its own result has no other reader. */
static bool dync__driver_epilogue(dync__plan_maker *m, int i)
{
    dync__fuse_step *step = m->step;
    int with = m->epilogues ? dync__epilogue_find(m->pb, step, m->n, i) : -1;
    if (with < 0 || m->p->driver->call_takes(m->p->device, step[i].call, step[with].k) != 0)
        return true;
    bool keep = dync__epilogue_wanted(m->pb, &m->uses, step, m->n, i, with);
    dync__pass_log(DYNC__PASS_epilogue, m->p->name, "step %d", with);
    m->with[i][0] = step[with].k;
    memset(&step[with], 0, sizeof step[with]);
    return keep;
}

static dync_status dync__driver_call(dync__plan_maker *m, dync__plan_step *s, int i)
{
    dync__plan *p = m->p;
    const dync__kernel *const *with = m->with[i];
    bool keep = dync__driver_epilogue(m, i);
    const dync__kcall *from = m->step[i].call;
    if (from->row->any_device) return dync__way_call_here(m, s, from, with);
    dync__kcall *c = dync__way_call(p, from);
    if (!c) return DYNC_ERR_MEMORY;
    for (int o = 0; o < 2; o++) /* what is made on its way has no memory */
        c->operand[o].slot = c->operand[with[1 + o] ? c->n - 1 : o].slot;
    DYNC__TRY(dync__way_slots(p, s, c, with, 3));
    const bool *host = dync__driver_hosts(p, s, c->n);
    s->device_code = host ? p->driver->call_new(p->device, c, with, host, keep) : NULL;
    return dync__way_made(s->device_code);
}

/* ---- the choice ------------------------------------------------------------------------------ */
static dync_status dync__way_keep(dync__plan_maker *m, int i) { return (void)m, (void)i, DYNC_OK; }
static void dync__way_no_reserve(dync__plan *p) { p->reserve = 0; }

DYNC__UNUSED DYNC__DATA const dync__plan_way dync__plan_away = {
    dync__driver_take, dync__driver_kernel, dync__driver_call, dync__way_no_reserve};
DYNC__FN const dync__plan_way *dync__plan_way_of(const dync__driver *driver)
{
    static const dync__plan_way here = {dync__way_keep, dync__main_kernel, dync__main_call,
                                        dync__main_reserve};
    return driver->plans ? driver->plans : &here;
}
