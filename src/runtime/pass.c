/* runtime/pass.c: the passes over the steps of a plan, by their rows in base/pass.h, in that order:
 * each is left out where DYNC_DISABLE or the plan's options say so, logged, and what it leaves
 * behind is checked (check.c). Before: op/lower.c and inductor/lower.c fill the builder. After:
 * plan.c makes code. */
#include "../dync.in.h"
#include "plan.h"
DYNC__COLD

/* A pass over all steps, or over each kernel by itself. */
typedef struct dync__steps_pass {
    dync_status (*steps)(dync__steps *);
    void (*kernel)(dync__kernel *);
} dync__steps_pass;
static const dync__steps_pass dync__steps_passes[DYNC__N_PASSES] = {
#define DYNC__PASS_GRAPH(name, fn)
#define DYNC__PASS_STEPS(name, fn) [DYNC__PASS_##name] = {.steps = fn},
#define DYNC__PASS_KERNEL(name, fn) [DYNC__PASS_##name] = {.kernel = fn},
#define DYNC__PASS_STAGE(name, fn)
#define DYNC__X(name, ir, fn, may, what) DYNC__PASS_##ir(name, fn)
    DYNC__PASSES(DYNC__X)
#undef DYNC__X
#undef DYNC__PASS_GRAPH
#undef DYNC__PASS_STEPS
#undef DYNC__PASS_KERNEL
#undef DYNC__PASS_STAGE
};

static void dync__steps_log(const dync__steps *s, int stage)
{
    if (!dync__log_on(stage)) return;
    dync__str text = {0};
    dync__steps_print(&text, s);
    dync__log_text(stage, dync__plan_options_name(s->opt), dync__str_get(&text));
    dync__str_free(&text);
}

/* ---- the steps before ------------------------------------------------------------------------ */

static dync_status dync__steps_call(dync__arena *arena, dync__kcall *c, dync__fuse_step *out)
{
    int32_t *ids = dync__arena_alloc(arena, ((size_t)c->n * 2 + 1) * sizeof *ids),
            *writes = ids ? ids + c->n : NULL;
    if (!ids) return DYNC_ERR_MEMORY;
    for (int i = 0; i < c->n; i++) {
        if (c->operand[i].written)
            writes[out->n_writes++] = c->operand[i].slot;
        else
            ids[out->n_reads++] = c->operand[i].slot;
    }
    out->reads = ids;
    out->writes = writes;
    out->call = c;
    return DYNC_OK;
}

DYNC__FN dync_status dync__steps_begin(dync__steps *s, dync__pb *pb, const dync__plan_options *opt)
{
    memset(s, 0, sizeof *s);
    s->pb = pb;
    s->opt = opt;
    s->n = pb->step.n;
    s->at = dync__arena_alloc(pb->arena, (size_t)(s->n + 1) * sizeof *s->at);
    if (!s->at) return DYNC_ERR_MEMORY;
    for (int i = 0; i < s->n; i++) {
        const dync__step *from = &pb->step.at[i];
        s->at[i] = (dync__fuse_step){.k = from->kernel};
        if (!from->kernel) DYNC__TRY(dync__steps_call(pb->arena, from->call, &s->at[i]));
    }
    dync__steps_log(s, DYNC__LOG_loops);
    dync__pass_log(DYNC__PASS_lower, dync__plan_options_name(opt), "%d steps", s->n);
    return dync__steps_check_begin(s);
}

/* ---- the passes ------------------------------------------------------------------------------ */

static bool dync__steps_fence(const dync__fuse_step *step)
{
    const dync__kcall *call = step->call;
    return call && call->row->tells;
}
static bool dync__steps_keeps(void *user, int32_t slot)
{
    const dync__pb *pb = user;
    return slot < 0 || slot >= pb->slot.n || pb->slot.at[slot].kind != DYNC__SLOT_TEMP;
}

DYNC__FN dync_status dync__steps_fuse(dync__steps *s)
{
    bool here = dync__device_is(s->pb->device, DYNC__DEV_HOST);
    dync__fuse_options fuse = {
        .keep = dync__steps_keeps, .fence = dync__steps_fence, .user = s->pb};
    DYNC__TRY(dync__steps_tables(s));
    /* code that others compile, or many threads of a device run, has no use for shorter loops */
    fuse.few_registers = here && dync__code_few_registers();
    if (s->opt->keeps) fuse.once = dync__kept_slots(s->pb, s->at, s->n);
    if (!here || s->opt->rolled) fuse.max_insts = DYNC__FUSE_INSTS;
    return DYNC__FUSE_BRIEF ? dync__fuse_brief(s->pb->arena, s->at, &s->n, &fuse)
                            : dync__fuse(s->pb->arena, s->at, &s->n, &fuse);
}

static dync_status dync__steps_each(dync__steps *s, void (*pass)(dync__kernel *))
{
    for (int i = 0; i < s->n; i++) {
        if (!s->at[i].k) continue;
        pass(s->at[i].k);
        if (s->at[i].k->failed) return dync__fail_memory(0);
    }
    return DYNC_OK;
}

/* What the plan's options and its device leave out. */
static bool dync__steps_wants(const dync__steps *s, int pass)
{
    bool here = dync__device_is(s->pb->device, DYNC__DEV_HOST);
    switch (pass) {
    case DYNC__PASS_fuse: return !s->opt->no_fuse;
    case DYNC__PASS_unroll: return here && !s->opt->rolled;
    case DYNC__PASS_convs:
    case DYNC__PASS_in_place: return here && !s->opt->no_fuse;
    default: return true;
    }
}

static dync_status dync__steps_pass_run(dync__steps *s, int pass)
{
    const dync__steps_pass *row = &dync__steps_passes[pass];
    int before = s->n;
    if (!dync__steps_wants(s, pass) || !dync__pass_on(pass)) return DYNC_OK;
    DYNC__TRY(row->steps ? row->steps(s) : dync__steps_each(s, row->kernel));
    dync__pass_log(pass, dync__plan_options_name(s->opt), "%d steps, %d left", before, s->n);
    return dync__steps_check_after(s, pass);
}

DYNC__FN dync_status dync__steps_brief(dync__steps *s, int last)
{
    (void)last;
    if (!dync__pass_on(DYNC__PASS_schedule)) return DYNC_OK;
    DYNC__TRY(dync__steps_each(s, dync__kernel_schedule));
    return dync__steps_check_after(s, DYNC__PASS_schedule);
}

DYNC__FN dync_status dync__steps_run(dync__steps *s, int last)
{
    for (; s->next <= last; s->next++) {
        if (dync__steps_passes[s->next].steps || dync__steps_passes[s->next].kernel)
            DYNC__TRY(dync__steps_pass_run(s, s->next));
        if (s->next == DYNC__PASS_schedule)
            dync__steps_log(s, dync__log_on(DYNC__LOG_fused) ? DYNC__LOG_fused : DYNC__LOG_ir);
    }
    return DYNC_OK;
}
