/* runtime/plan.c: builder and plans: unfused steps in, what runs out. Stages in a straight line:
 * fuse, simplify, schedule, memory plan, code. Before: op/lower.c and inductor/lower.c fill the
 * builder. After: run.c. */
#include "../dync.in.h"
#include "plan.h"
#include "../kernel/conv_jit.h"
#include "../kernel/operand.h"

/* ---- builder --------------------------------------------------------------------------------- */
DYNC__FN int dync__pb_slot(dync__pb *pb, int kind, int dtype, int64_t size, const char *name)
{
    dync__slot s = {
        .kind = (uint8_t)kind, .dtype = (uint8_t)dtype, .index = -1, .size = size, .name = name};
    if (kind == DYNC__SLOT_INPUT) s.index = pb->n_inputs;
    if (kind == DYNC__SLOT_OUTPUT) s.index = pb->n_outputs;
    if (!dync__avec_push(pb->arena, &pb->slot, s)) return -1;
    pb->n_inputs += kind == DYNC__SLOT_INPUT;
    pb->n_outputs += kind == DYNC__SLOT_OUTPUT;
    return pb->slot.n - 1;
}
DYNC__FN bool dync__pb_add_kernel(dync__pb *pb, dync__kernel *k)
{
    dync__step s = {.kernel = k};
    if (k->failed) return dync__fail_memory(0), false;
    return dync__avec_push(pb->arena, &pb->step, s);
}
DYNC__FN bool dync__pb_add_call(dync__pb *pb, dync__kcall *c)
{
    dync__step s = {.call = c};
    return dync__avec_push(pb->arena, &pb->step, s);
}

DYNC__FN bool dync__kernel_writes(const dync__kernel *k)
{
    for (int i = 0; i < k->buf.n; i++)
        if (k->buf.at[i].mode & DYNC__BUF_OUT) return true;
    return false;
}

/* Slots of the step: the operands of `call` (NULL: there is none), then the buffers of the kernels
 * `with`, some NULL. */
static dync_status dync__plan_step_slots(dync__plan *p, dync__plan_step *s, const dync__kcall *call,
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

static bool *dync__plan_hosts(dync__plan *p, const dync__plan_step *s, int from)
{
    bool *host = dync__arena_alloc(&p->arena, (size_t)(s->n + 1));
    for (int i = from; host && i < s->n; i++) host[i - from] = p->slot[s->slot[i]].host;
    return host;
}

static dync_status dync__plan_kernel(dync__plan *p, dync__plan_step *s, const dync__kernel *k,
                                     const char *autotune)
{
    s->draws = k->uses_random;
    DYNC__TRY(dync__plan_step_slots(p, s, NULL, &k, 1));
    if (p->device != DYNC_CPU) {
        bool *host = dync__plan_hosts(p, s, 0);
        s->device_code = host ? dync__device_hook->kernel_new(p->device, k, host) : NULL;
    } else {
        s->code = autotune ? dync__tuned_code(k, autotune) : dync__code_new(k);
    }
    return s->code || s->device_code ? DYNC_OK
           : dync_error() != DYNC_OK ? dync_error()
                                     : DYNC_ERR_MEMORY;
}

/* The kernel that can be the epilogue of the call step[at] is no step of its own. */
static dync_status dync__plan_epilogue(dync__plan_step *s, const dync__pb *pb,
                                       dync__fuse_step *step, int n, int at, const dync__kernel **k)
{
    dync__kcall *c = step[at].call;
    int64_t rows = dync__kcall_rows(c);
    int with = rows > 0 ? dync__epilogue_find(pb, step, n, at) : -1;
    if (with < 0) return DYNC_OK;
    int slot = dync__epilogue_in_place(pb, step, n, at, with);
    *k = step[with].k;
    dync__buf *stored = NULL;
    for (int i = 0; slot >= 0 && i < (*k)->buf.n; i++)
        if ((*k)->buf.at[i].id == slot) stored = &(*k)->buf.at[i];
    /* what is in the cache is not stored past it */
    if (stored) stored->mode |= DYNC__BUF_IN;
    if (!(s->code = dync__code_new(*k)))
        return dync_error() != DYNC_OK ? dync_error() : DYNC_ERR_MEMORY;
    if (!dync__code_has_parts(s->code, rows)) {
        dync__code_free(s->code);
        s->code = NULL;
        *k = NULL;
        if (stored) stored->mode = DYNC__BUF_OUT;
        return DYNC_OK;
    }
    for (int i = 0; slot >= 0 && i < (*k)->buf.n; i++)
        if ((*k)->buf.at[i].id == c->operand[c->n - 1].slot) (*k)->buf.at[i].id = slot;
    if (slot >= 0) c->operand[c->n - 1].slot = slot;
    c->epilogue = s->code;
    c->epilogue_rows = rows;
    memset(&step[with], 0, sizeof step[with]);
    return DYNC_OK;
}

/* On another device the call does what follows it where the device can. keep: the call's own result
 * has other readers. */
static void dync__plan_device_epilogue(const dync__plan *p, const dync__pb *pb,
                                       dync__fuse_step *step, int n, int at, const dync__kernel **k,
                                       bool *keep)
{
    int with = dync__epilogue_find(pb, step, n, at);
    if (with < 0 || dync__device_hook->call_takes(p->device, step[at].call, step[with].k) != 0)
        return;
    *k = step[with].k;
    *keep = dync__epilogue_wanted(pb, step, n, at, with);
    memset(&step[with], 0, sizeof step[with]);
}

static dync_status dync__plan_call(dync__plan *p, dync__plan_step *s, const dync__kcall *from,
                                   const dync__kernel *const with[3], bool keep, int64_t *scratch)
{
    dync__kcall *c = dync__arena_copy(&p->arena, from, sizeof *c);
    if (!c || (c->after && !(c->after = dync__arena_copy(&p->arena, c->after, sizeof *c->after))))
        return DYNC_ERR_MEMORY;
    for (int i = 0; i < c->n; i++) {
        const dync__slot *from_slot = &p->slot[c->operand[i].slot];
        c->input[i] = (int16_t)(from_slot->kind == DYNC__SLOT_INPUT && from_slot->index < INT16_MAX
                                    ? from_slot->index + 1
                                    : 0);
    }
    if (p->device != DYNC_CPU && !c->row->any_device) {
        /* what is made on its way has no memory */
        for (int i = 0; i < 2; i++)
            c->operand[i].slot = c->operand[with[1 + i] ? c->n - 1 : i].slot;
        DYNC__TRY(dync__plan_step_slots(p, s, c, with, 3));
        const bool *host = dync__plan_hosts(p, s, c->n);
        s->device_code = host ? dync__device_hook->call_new(p->device, c, with, host, keep) : NULL;
        return s->device_code ? DYNC_OK : dync_error() != DYNC_OK ? dync_error() : DYNC_ERR_MEMORY;
    }
    /* what prepare makes is freed with the plan, also when it fails */
    s->call = c;
    if (c->row->prepare) DYNC__TRY(c->row->prepare(c));
    if ((int64_t)c->scratch_bytes > *scratch) *scratch = (int64_t)c->scratch_bytes;
    return dync__plan_step_slots(p, s, c, with, 1);
}

static dync_status dync__plan_memory(dync__plan *p, int64_t scratch, bool off)
{
    dync__arena arena = {0};
    dync__life *life = dync__arena_alloc(&arena, (size_t)(p->n_slots + 1) * sizeof *life);
    dync_status status = life ? DYNC_OK : DYNC_ERR_MEMORY;
    for (int i = 0; life && i < p->n_slots; i++)
        life[i] =
            (dync__life){.slot = i,
                         .first = -1,
                         .last = -1,
                         .bytes = p->slot[i].size * dync__dtype_info(p->slot[i].dtype)->bytes};
    for (int i = 0; life && i < p->n_steps; i++)
        for (int k = 0; k < p->step[i].n; k++) {
            dync__life *l = &life[p->step[i].slot[k]];
            if (p->slot[l->slot].kind != DYNC__SLOT_TEMP) continue;
            if (l->first < 0) l->first = off ? 0 : i;
            l->last = off ? p->n_steps : i;
        }
    if (status == DYNC_OK) status = dync__memplan(&arena, life, p->n_slots, &p->arena_bytes);
    for (int i = 0; status == DYNC_OK && i < p->n_slots; i++)
        p->slot[i].arena_offset = life[i].first >= 0 ? life[i].offset : -1;
    dync__arena_free(&arena);
    p->scratch_offset = p->arena_bytes;
    p->arena_bytes += scratch;
    return status;
}

/* What a step may ask for: what its call says, dense copies of operands, row buffers and panels. */
static size_t dync__plan_step_bytes(const dync__plan_step *s)
{
    const dync__kcall *c = s->call;
    size_t bytes = (c ? c->run_bytes : 0) +
                   (size_t)DYNC__ROOM_PER_STEP * (size_t)dync__pool_threads();
    for (int i = 0; c && i < c->n; i++) {
        const dync__operand *o = &c->operand[i];
        if (!dync__layout_is_contiguous(&o->lay) || dync__operand_working(o->dtype) != o->dtype)
            bytes += (size_t)dync__operand_numel(o) * 8;
    }
    return bytes;
}

static void dync__plan_reserve(dync__plan *p, const dync__fuse_step *step, int n)
{
    bool writes = false;
    size_t most = 0;
    for (int i = 0; i < n; i++) {
        for (int b = 0; step[i].k && b < step[i].k->buf.n; b++)
            writes |= (step[i].k->buf.at[b].mode & DYNC__BUF_OUT) &&
                      p->slot[step[i].k->buf.at[b].id].kind == DYNC__SLOT_INPUT;
        const dync__kcall *c = step[i].k ? NULL : step[i].call;
        for (int o = 0; c && o < c->n; o++)
            writes |= c->operand[o].written && p->slot[c->operand[o].slot].kind == DYNC__SLOT_INPUT;
    }
    for (int i = 0; i < p->n_steps; i++) most = DYNC__MAX(most, dync__plan_step_bytes(&p->step[i]));
    p->reserve = writes && p->n_steps > 1 && p->device == DYNC_CPU ? most : 0;
}

/* Slots as a run looks for them. */
static dync_status dync__plan_sources(dync__plan *p)
{
    for (int i = 0; i < p->n_steps; i++) {
        dync__plan_step *s = &p->step[i];
        dync__plan_source *source =
            dync__arena_alloc(&p->arena, (size_t)(s->n + 1) * sizeof *source);
        if (!source) return DYNC_ERR_MEMORY;
        for (int k = 0; k < s->n; k++) {
            const dync__slot *slot = &p->slot[s->slot[k]];
            source[k] = (dync__plan_source){
                slot->kind, slot->kind == DYNC__SLOT_TEMP ? slot->arena_offset : slot->index};
        }
        s->source = source;
    }
    return DYNC_OK;
}

/* A check of indices that the loops after it make as they read them; not where they write what the
 * caller has, which stays as it was if one is outside. */
static void dync__plan_checks(const dync__plan *p, dync__plan_step *s, const dync__kernel *k)
{
    const dync__kcall *c = s->call;
    const dync__operand *index = c ? &c->operand[0] : NULL;
    bool own = c && !s->code && c->row == dync__kernel_row(DYNC__K_check_index) &&
               dync__layout_is_contiguous(&index->lay);
    for (int b = 0; own && b < k->buf.n; b++)
        own = !(k->buf.at[b].mode & DYNC__BUF_OUT) ||
              p->slot[k->buf.at[b].id].kind != DYNC__SLOT_INPUT;
    s->by_next = own && dync__code_check(s[1].code, s[1].slot, index->slot, index->lay.offset,
                                         dync__operand_numel(index), c->attr.index.size);
}

static dync_status dync__plan_make(dync__plan *p, dync__pb *pb, const dync__plan_options *opt)
{
    int64_t scratch = 0;
    dync__steps steps;
    DYNC__TRY(dync__steps_begin(&steps, pb, opt));
    DYNC__TRY(dync__steps_run(&steps, DYNC__PASS_in_place));
    dync__fuse_step *step = steps.at;
    int n = steps.n;
    p->n_slots = pb->slot.n;
    p->rng_used = pb->rng_used;
    p->threads = opt->threads;
    p->device = pb->device;
    p->slot = dync__arena_copy(&p->arena, pb->slot.at, (size_t)pb->slot.n * sizeof *p->slot);
    p->step = dync__arena_alloc(&p->arena, (size_t)(n + 1) * sizeof *p->step);
    p->name = dync__arena_strdup(&p->arena, opt->name ? opt->name : "plan");
    /* epilogue and prologues of each call */
    const dync__kernel *(*with)[3] = dync__arena_alloc(pb->arena, (size_t)(n + 1) * sizeof *with);
    if (!p->slot || !p->step || !p->name || !with) return DYNC_ERR_MEMORY;
    for (int i = 0; i < p->n_slots; i++) p->slot[i].name = NULL;
    /* loops that run before and after a call, as a part of it */
    bool joins[2] = {!opt->no_fuse && dync__pass_on(DYNC__PASS_prologue),
                     !opt->no_fuse && dync__pass_on(DYNC__PASS_epilogue)};
    for (int i = 0; i < n; i++) {
        bool keep = true;
        if (step[i].k && joins[0] && p->device != DYNC_CPU)
            DYNC__TRY(dync__prologue_take(pb, step, n, i, with));
        /* everything it made went elsewhere by fusion */
        if (step[i].k ? !dync__kernel_writes(step[i].k) : !step[i].call) continue;
        dync__plan_step *s = &p->step[p->n_steps++];
        if (step[i].call && joins[1] && p->device == DYNC_CPU)
            DYNC__TRY(dync__plan_epilogue(s, pb, step, n, i, &with[i][0]));
        if (step[i].call && joins[1] && p->device != DYNC_CPU)
            dync__plan_device_epilogue(p, pb, step, n, i, &with[i][0], &keep);
        DYNC__TRY(step[i].k ? dync__plan_kernel(p, s, step[i].k, opt->autotune)
                            : dync__plan_call(p, s, step[i].call, with[i], keep, &scratch));
        if (step[i].k && s > p->step && s->code && dync__pass_on(DYNC__PASS_index_check))
            dync__plan_checks(p, s - 1, step[i].k);
    }
    if (dync__log_on(DYNC__LOG_perf)) dync__perf_begin(p, step);
    dync__plan_reserve(p, step, n);
    DYNC__TRY(dync__plan_memory(p, scratch, opt->no_memplan || !dync__pass_on(DYNC__PASS_memory)));
    DYNC__TRY(dync__plan_sources(p));
    dync__pass_log(DYNC__PASS_memory, p->name, "%lld bytes, %d steps", (long long)p->arena_bytes,
                   p->n_steps);
    return dync__plan_check_after(p, DYNC__PASS_memory);
}

DYNC__FN dync__plan *dync__plan_new(dync__pb *pb, const dync__plan_options *options)
{
    dync__plan *p = dync__calloc(sizeof *p);
    if (!p) return NULL;
    if (dync__plan_make(p, pb, options) != DYNC_OK) {
        dync__plan_free(p);
        return NULL;
    }
    if (dync__log_on(DYNC__LOG_memory) || dync__log_on(DYNC__LOG_code)) {
        dync__str s = {0};
        dync__plan_dump(&s, p);
        dync__log_text(dync__log_on(DYNC__LOG_code) ? DYNC__LOG_code : DYNC__LOG_memory, p->name,
                       dync__str_get(&s));
        dync__str_free(&s);
    }
    return p;
}

DYNC__FN void dync__plan_free(dync__plan *p)
{
    if (!p) return;
    for (int i = 0; i < p->n_steps; i++) {
        const dync__kcall *c = p->step[i].call;
        dync__code_free(p->step[i].code);
        for (int k = 0; c && k < DYNC__KCALL_PIECES; k++) dync__code_free(c->piece[k]);
        if (c && c->drop) c->drop(c->state);
        if (p->step[i].device_code) dync__device_hook->code_free(p->step[i].device_code);
    }
    dync__arena_free(&p->arena);
    dync__free(p, sizeof *p);
}

DYNC__FN int64_t dync__plan_arena_bytes(const dync__plan *p) { return p->arena_bytes; }
DYNC__FN int dync__plan_step_count(const dync__plan *p) { return p->n_steps; }

DYNC__FN void dync__plan_dump(dync__str *s, const dync__plan *p)
{
    static const char *const kinds[] = {"in", "out", "temp", "const"};
    dync__str_addf(s, "plan %s: %d steps, %lld bytes of arena\n", p->name, p->n_steps,
                   (long long)p->arena_bytes);
    for (int i = 0; i < p->n_slots; i++) {
        const dync__slot *x = &p->slot[i];
        if (x->kind == DYNC__SLOT_TEMP && x->arena_offset < 0) continue;
        dync__str_addf(s, "  slot %d %s %s", i, kinds[x->kind], dync__dtype_info(x->dtype)->fx);
        if (x->size >= 0) dync__str_addf(s, " x %lld", (long long)x->size);
        if (x->kind == DYNC__SLOT_TEMP) dync__str_addf(s, " at %lld", (long long)x->arena_offset);
        dync__str_add(s, "\n");
    }
    for (int i = 0; i < p->n_steps; i++) {
        const dync__kcall *c = p->step[i].call;
        const char *with = c && p->step[i].code ? " with epilogue" : "";
        dync__str_addf(s, "  step %d %s%s slots", i, c ? c->row->name : "kernel", with);
        for (int k = 0; k < p->step[i].n; k++) dync__str_addf(s, " %d", (int)p->step[i].slot[k]);
        if (c) dync__attr_print(s, c->row->attr, &c->attr);
        dync__str_add(s, "\n");
        if (p->step[i].code) dync__code_dump(s, p->step[i].code);
        if (p->step[i].device_code) dync__device_hook->code_dump(s, p->step[i].device_code);
    }
}
