/* runtime/plan.c: builder and plans: unfused steps in, what runs out. Stages in a straight line:
 * fuse, simplify, schedule, memory plan, code. Before: op/lower.c and inductor/lower.c fill the
 * builder. After: run.c. */
#include "../dync.in.h"
#include "plan.h"
DYNC__COLD

/* ---- builder --------------------------------------------------------------------------------- */
/* A new slot of `size` elements; its number, -1: no memory. Inputs and outputs are counted by kind:
 * the index is the place among the arguments of a run. name is borrowed and only for texts. */
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
/* Appends a step; the kernel is of the builder's arena. A kernel that ran out of memory while it
 * was built says so here. false: no memory. */
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

/* Temporaries that some step names, from the first to the last of these; off: through the whole
 * plan, so that none shares memory with another. life: room for every slot. How many there are. */
DYNC__FN int dync__plan_temps(const dync__plan *p, bool off, dync__life *life)
{
    int n = 0;
    for (int i = 0; i < p->n_slots; i++) life[i] = (dync__life){.slot = i, .first = -1};
    for (int i = 0; i < p->n_steps; i++)
        for (int k = 0; k < p->step[i].n; k++) {
            dync__life *l = &life[p->step[i].slot[k]];
            if (p->slot[l->slot].kind != DYNC__SLOT_TEMP) continue;
            if (l->first < 0) l->first = off ? 0 : dync__plan_time(p, i);
            l->last = off ? p->n_steps : dync__plan_time(p, i);
        }
    for (int i = 0; i < p->n_slots; i++) {
        p->slot[i].arena_offset = -1;
        if (life[i].first >= 0) life[n++] = life[i];
    }
    return n;
}

/* Places for them that do not overlap while they live, and behind these the bytes that kernel calls
 * want. */
DYNC__OFTEN DYNC__FN dync_status dync__plan_memory(dync__plan *p, const dync__life *temps, int n,
                                                   int64_t scratch)
{
    dync__arena arena = {0};
    dync__life *life = dync__arena_copy(&arena, temps, (size_t)n * sizeof *life);
    if (!life) return DYNC_ERR_MEMORY;
    for (int i = 0; i < n; i++) {
        const dync__slot *slot = &p->slot[life[i].slot];
        life[i].bytes = slot->size * dync__dtype_info(slot->dtype)->bytes;
    }
    dync_status status = dync__memplan(&arena, life, n, &p->arena_bytes);
    for (int i = 0; status == DYNC_OK && i < n; i++)
        p->slot[life[i].slot].arena_offset = life[i].offset;
    dync__arena_free(&arena);
    p->scratch_offset = p->arena_bytes;
    p->arena_bytes += scratch;
    return status;
}

static dync_status dync__plan_memory_new(dync__plan *p, int64_t scratch, bool off)
{
    size_t bytes = (size_t)(p->n_slots + 1) * sizeof(dync__life);
    dync__life *life = dync__alloc(bytes);
    if (!life) return DYNC_ERR_MEMORY;
    dync_status status = dync__plan_memory(p, life, dync__plan_temps(p, off, life), scratch);
    dync__free(life, bytes);
    return status;
}

/* Slots as a run looks for them: which argument, or how far into the arena. */
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
                slot->kind, slot->kind >= DYNC__SLOT_TEMP ? slot->arena_offset : slot->index};
        }
        s->source = source;
    }
    return DYNC_OK;
}

/* What a plan keeps of its builder; room for the steps. */
static dync_status dync__plan_open(dync__plan_maker *m)
{
    dync__plan *p = m->p;
    const dync__pb *pb = m->pb;
    p->n_slots = pb->slot.n;
    p->rng_used = pb->rng_used;
    p->threads = m->opt->threads;
    p->slot = dync__arena_copy(&p->arena, pb->slot.at, (size_t)pb->slot.n * sizeof *p->slot);
    p->step = dync__arena_alloc(&p->arena, (size_t)(m->n + 1) * sizeof *p->step);
    p->name = dync__arena_strdup(&p->arena, dync__plan_options_name(m->opt));
    m->with = dync__arena_alloc(pb->arena, (size_t)(m->n + 1) * sizeof *m->with);
    m->uses = dync__step_uses_of(pb, m->step, m->n);
    if (!p->slot || !p->step || !p->name || !m->with || !m->uses.first) return DYNC_ERR_MEMORY;
    for (int i = 0; i < p->n_slots; i++) p->slot[i].name = NULL;
    return DYNC_OK;
}

/* Step i into the plan, unless it went into another one. The way is that of the device's driver. */
static dync_status dync__plan_step_make(dync__plan_maker *m, const dync__plan_way *way, int i)
{
    const dync__fuse_step *step = &m->step[i];
    DYNC__TRY(way->take(m, i));
    /* everything it made went elsewhere by fusion */
    if (step->k ? !dync__kernel_writes(step->k) : !step->call) return DYNC_OK;
    dync__plan_step *s = &m->p->step[m->p->n_steps++];
    s->draws = step->k && step->k->uses_random;
    return step->k ? way->kernel(m, s, i) : way->call(m, s, i);
}

DYNC__FN dync_status dync__plan_steps(dync__plan_maker *m, dync__steps *steps)
{
    dync__plan *p = m->p;
    const dync__plan_options *opt = steps->opt;
    p->device = steps->pb->device;
    p->driver = dync__device_driver(p->device);
    if (!p->driver) return dync__fail(DYNC_ERR_DEVICE, "no code for device %d", p->device);
    const dync__plan_way *way = dync__plan_way_of(p->driver);
    DYNC__TRY(opt->passes(steps, DYNC__PASS_beside));
    m->pb = steps->pb;
    m->opt = opt;
    m->step = steps->at;
    m->n = steps->n;
    m->prologues = !opt->no_fuse && dync__pass_on(DYNC__PASS_prologue);
    m->epilogues = !opt->no_fuse && dync__pass_on(DYNC__PASS_epilogue);
    DYNC__TRY(dync__plan_open(m));
    m->once = opt->keeps ? dync__kept_slots(m->pb, m->step, m->n) : NULL;
    for (int i = 0; i < m->n; i++) DYNC__TRY(dync__plan_step_make(m, way, i));
    for (int i = 0; i < m->n; i++) p->writes |= dync__plan_writes_input(p, &m->step[i]);
    return DYNC_OK;
}

/* p is zeroed; on failure the caller frees it with whatever it has by then. */
static dync_status dync__plan_make(dync__plan *p, dync__steps *steps)
{
    const dync__plan_options *opt = steps->opt;
    dync__plan_maker m = {.p = p};
    DYNC__TRY(dync__plan_steps(&m, steps));
    if (dync__log_on(DYNC__LOG_perf)) dync__perf_begin(p, m.step);
    dync__plan_way_of(p->driver)->reserve(p);
    dync__kept_find(p, m.once);
    DYNC__TRY(
        dync__plan_memory_new(p, m.scratch, opt->no_memplan || !dync__pass_on(DYNC__PASS_memory)));
    DYNC__TRY(dync__kept_memory(p));
    DYNC__TRY(dync__plan_sources(p));
    DYNC__TRY(dync__kept_run(p));
    dync__pass_log(DYNC__PASS_memory, p->name, "%lld bytes, %d steps", (long long)p->arena_bytes,
                   p->n_steps);
    return dync__plan_check_after(p, DYNC__PASS_memory);
}

/* A plan of the builder's steps, which may be changed on the way. NULL + error. */
DYNC__FN dync__plan *dync__plan_new(dync__pb *pb, const dync__plan_options *options)
{
    dync__steps steps;
    return dync__steps_begin(&steps, pb, options) == DYNC_OK ? dync__plan_of(&steps) : NULL;
}

DYNC__FN void dync__plan_log(const dync__plan *p)
{
    dync__str s = {0};
    if (!dync__log_on(DYNC__LOG_memory) && !dync__log_on(DYNC__LOG_code)) return;
    dync__plan_dump(&s, p);
    dync__log_text(dync__log_on(DYNC__LOG_code) ? DYNC__LOG_code : DYNC__LOG_memory, p->name,
                   dync__str_get(&s));
    dync__str_free(&s);
}

DYNC__FN dync__plan *dync__plan_of(dync__steps *steps)
{
    dync__plan *p = dync__calloc(sizeof *p);
    if (!p) return NULL;
    if (dync__plan_make(p, steps) != DYNC_OK) {
        dync__plan_free(p);
        return NULL;
    }
    dync__plan_log(p);
    return p;
}

/* NULL passes. The call itself is of the plan's arena. */
DYNC__FN void dync__plan_call_free(const dync__kcall *c)
{
    for (int k = 0; c && k < DYNC__KCALL_PIECES; k++) dync__code_free(c->piece[k]);
    if (c && c->drop) c->drop(c->state);
}

/* NULL passes. Nothing may run it any more; a plan that was half made is freed alike. */
DYNC__FN void dync__plan_free(dync__plan *p)
{
    if (!p) return;
    for (int i = 0; i < p->n_steps; i++) {
        dync__code_free(p->step[i].code);
        dync__plan_call_free(p->step[i].call);
        for (int b = 0; b < p->step[i].n_bounds; b++)
            dync__plan_call_free(p->step[i].bound[b].check);
        if (p->step[i].device_code) p->driver->code_free(p->step[i].device_code);
    }
    if (p->kept) dync__free_data(p->kept, p->kept_bytes);
    if (p->image) dync__slab_put(p->image, p->image_bytes);
    dync__arena_free(&p->arena);
    dync__free(p, sizeof *p);
}

DYNC__FN int64_t dync__plan_arena_bytes(const dync__plan *p) { return p->arena_bytes; }
DYNC__FN int64_t dync__plan_own_bytes(const dync__plan *p)
{
    return (int64_t)(sizeof *p + p->image_bytes + p->kept_bytes + dync__arena_bytes(&p->arena));
}
DYNC__FN int64_t dync__plan_code_bytes(const dync__plan *p, dync__map *counted)
{
    int64_t bytes = 0;
    for (int i = 0; i < p->n_steps; i++) {
        const dync__plan_step *s = &p->step[i];
        if (s->code) bytes += dync__code_bytes(s->code, counted);
        for (int k = 0; s->call && k < DYNC__KCALL_PIECES; k++)
            if (s->call->piece[k]) bytes += dync__code_bytes(s->call->piece[k], counted);
    }
    return bytes;
}
DYNC__FN int dync__plan_step_count(const dync__plan *p) { return p->n_steps; }
