/* inductor/control.c: operators with functions inside as steps of a plan: each function is lowered
 * into a plan of its own, and the step chooses among them (cond) or repeats them (scan, while_loop)
 * over the memory of the plan around it. After sized_plans.c.
 *
 * Operands are dense (aot/control.c), so are the functions' inputs and results. The steps run in
 * control_run.c. */
#include "../dync.in.h"
#include "control.h"
DYNC__COLD

DYNC__RARE static void dync__ctl_drop(void *state)
{
    dync__ctl *w = state;
    for (int i = 0; i < w->n_plans; i++) {
        dync__lowered_free(&w->own[i]);
        dync__graph_unref(w->graph[i]);
    }
    if (w->x_bytes) dync__free(w->x_bytes, (size_t)w->n_xs * sizeof *w->x_bytes);
    dync__free(w, sizeof *w);
}

/* ---- of all sizes ---------------------------------------------------------------------------- */
DYNC__RARE static void dync__ctl_inside_drop(void *state)
{
    dync__ctl_inside *in = state;
    for (int i = 0; i < 2; i++) {
        dync__inductor_sized_free(in->sized[i]);
        dync__lowered_free(&in->one[i]);
    }
    dync__free(in, sizeof *in);
}

static bool dync__ctl_is_number(void *user, int64_t *size)
{
    (void)user;
    return !dync__is_token(*size) && !dync__is_sf(*size);
}

static bool dync__ctl_has_sizes(dync__graph *g)
{
    if (DYNC__SYM_NONE) return false;
    bool has = !dync__graph_each_size(g, dync__ctl_is_number, NULL);
    for (int i = 0; i < g->sub.n && !has; i++) has = dync__ctl_has_sizes(g->sub.at[i]);
    return has;
}

static dync__options dync__ctl_options(const dync__kcall *k)
{
    dync__options options = DYNC__OPTIONS_DEFAULT;
    options.fast_math = k->attr.opaque.fast_math;
    return options;
}

static dync_status dync__ctl_inside_make(dync__ctl_inside *in, const dync__kcall *k, int i,
                                         dync__graph *g)
{
    dync__options options = dync__ctl_options(k);
    if (!dync__ctl_has_sizes(g)) return dync__inductor_lower(g, NULL, &options, &in->one[i]);
    return dync__inductor_sized_inside(g, dync__tls.syms, &options, &in->sized[i]);
}

/* The functions of a control: those that its plans are of. */
static int dync__ctl_functions(const dync__control *c, dync__graph *fn[2])
{
    fn[0] = c->fn[0];
    fn[1] = c->pred ? c->fn[1] : c->test;
    return fn[1] ? 2 : 1;
}

DYNC__RARE static dync_status dync__ctl_pieces(dync__kcall *k)
{
    const dync__node *n = k->attr.opaque.node;
    dync__control c;
    dync__graph *fn[2];
    dync__ctl_inside *in = dync__calloc(sizeof *in);
    if (!in) return DYNC_ERR_MEMORY;
    k->state = in;
    k->drop = dync__ctl_inside_drop;
    DYNC__TRY(dync__control_open(&c, n->op, n->nargs, n->args));
    for (int i = 0, n_fn = dync__ctl_functions(&c, fn); i < n_fn; i++)
        DYNC__TRY(dync__ctl_inside_make(in, k, i, fn[i]));
    return DYNC_OK;
}

/* Function i as a plan: by what there is for all sizes, else for the step's alone. */
static dync_status dync__ctl_lower(dync__ctl *w, const dync__kcall *k, int i, dync__graph *g)
{
    dync__options options = dync__ctl_options(k);
    const dync__ctl_inside *in = k->attr.opaque.inside;
    const int64_t *value = k->attr.opaque.value;
    w->plan[i] = &w->own[i];
    if (!value) return dync__inductor_lower(g, NULL, &options, &w->own[i]);
    if (in && in->one[i].plan) {
        w->plan[i] = &in->one[i];
        return DYNC_OK;
    }
    dync_status status = !DYNC__SYM_NONE && in && in->sized[i]
                             ? dync__inductor_sized_lower(in->sized[i], value, &w->own[i])
                             : DYNC_ERR_UNSUPPORTED;
    if (status != DYNC_ERR_UNSUPPORTED) return status;
    DYNC__TRY(dync__graph_concrete_in(g, k->attr.opaque.syms, value, &w->graph[i]));
    return dync__inductor_lower(w->graph[i], NULL, &options, &w->own[i]);
}

/* ---- preparing ------------------------------------------------------------------------------- */

/* A function of the node as a plan whose every result is written from the start of a place of its
 * own. */
static dync_status dync__ctl_plan(dync__ctl *w, dync__kcall *k, dync__graph *g)
{
    size_t *spare = w->spare[w->n_plans++];
    DYNC__TRY(dync__ctl_lower(w, k, w->n_plans - 1, g));
    const dync__lowered *l = w->plan[w->n_plans - 1];
    if (l->n_storages > DYNC__CTL_RESULTS)
        return dync__fail(DYNC_ERR_UNSUPPORTED, "%s: more than %d results inside", k->origin,
                          (int)DYNC__CTL_RESULTS);
    for (int i = 0; i < l->n_storages; i++) {
        spare[i] = k->scratch_bytes;
        if (l->owner[i] < 0) k->scratch_bytes += (l->storage_bytes[i] + 63) & ~(size_t)63;
    }
    for (int i = 0; i < l->n_out; i++) {
        const dync__lowered_out *o = &l->out[i];
        bool own = o->input < 0 && o->output >= 0 && l->owner[o->output] == i && !o->lay.offset &&
                   dync__layout_is_contiguous(&o->lay);
        if (!own)
            return dync__fail(DYNC_ERR_INTERNAL, "%s: result %d of its function has no place",
                              k->origin, i);
    }
    return DYNC_OK;
}

/* A size of the node's, for the step. */
static int64_t dync__ctl_size(const dync__kcall *k, int64_t size)
{
    bool ok = true;
    return k->attr.opaque.value
               ? dync__symtab_value(k->attr.opaque.syms, size, k->attr.opaque.value, &ok)
               : size;
}

static size_t dync__ctl_bytes(const dync__kcall *k, const dync__info *info)
{
    int64_t n = 1;
    for (int d = 0; d < info->lay.ndim; d++) n *= dync__ctl_size(k, info->lay.shape[d]);
    return (size_t)n * (size_t)dync__dtype_info(info->dtype)->bytes;
}

static dync_status dync__ctl_open(dync__kcall *k, dync__ctl *w, const dync__control *c)
{
    size_t tables = (size_t)(2 * (c->n_in + c->n_xs + c->n_more) + c->n_xs) * sizeof(void *);
    w->n_in = c->n_in;
    w->n_xs = c->n_xs;
    w->n_more = c->n_more;
    w->n_out = c->n_out;
    w->reverse = c->reverse;
    w->most = dync__ctl_size(k, c->most);
    w->length = c->n_xs ? dync__ctl_size(k, c->xs[0].as.node->info[0].lay.shape[0]) : 0;
    const dync__arg *results = dync__control_results(c->fn[0]);
    for (int i = 0; i < c->n_out; i++) {
        w->bytes[i] = dync__ctl_bytes(k, &results->as.list[i].as.node->info[0]);
        w->place[i] = k->scratch_bytes;
        if (i < c->n_in && !c->pred) k->scratch_bytes += (w->bytes[i] + 63) & ~(size_t)63;
    }
    if (c->n_xs && !(w->x_bytes = dync__alloc((size_t)c->n_xs * sizeof *w->x_bytes)))
        return DYNC_ERR_MEMORY;
    for (int i = 0; i < c->n_xs; i++)
        w->x_bytes[i] = dync__ctl_bytes(k, &c->fn[0]->node.at[c->n_in + i]->info[0]);
    w->table = k->scratch_bytes;
    k->scratch_bytes += (tables + 63) & ~(size_t)63;
    dync__graph *fn[2];
    for (int i = 0, n_fn = dync__ctl_functions(c, fn); i < n_fn; i++)
        DYNC__TRY(dync__ctl_plan(w, k, fn[i]));
    return DYNC_OK;
}

DYNC__RARE static dync_status dync__ctl_prepare(dync__kcall *k)
{
    const dync__node *n = k->attr.opaque.node;
    dync__control c;
    dync__ctl *w = dync__calloc(sizeof *w);
    if (!w) return DYNC_ERR_MEMORY;
    k->state = w;
    k->drop = dync__ctl_drop;
    DYNC__TRY(dync__control_open(&c, n->op, n->nargs, n->args));
    dync_status status = dync__ctl_open(k, w, &c);
    k->attr.opaque.syms = NULL; /* the caller's */
    k->attr.opaque.value = NULL;
    return status;
}

/* ---- the step -------------------------------------------------------------------------------- */
static const dync__kcall_row dync__ctl_rows[3] = {{.name = "cond",
                                                   .prepare = dync__ctl_prepare,
                                                   .run = dync__ctl_cond,
                                                   .pieces = dync__ctl_pieces,
                                                   .inside = true},
                                                  {.name = "scan",
                                                   .prepare = dync__ctl_prepare,
                                                   .run = dync__ctl_scan,
                                                   .pieces = dync__ctl_pieces,
                                                   .inside = true},
                                                  {.name = "while_loop",
                                                   .prepare = dync__ctl_prepare,
                                                   .run = dync__ctl_while,
                                                   .pieces = dync__ctl_pieces,
                                                   .inside = true}};
static const dync__kcall_row *dync__ctl_row(int op)
{
    return &dync__ctl_rows[op == DYNC__OP_cond ? 0 : op == DYNC__OP_scan ? 1 : 2];
}

DYNC__FN bool dync__control_is(const dync__kcall *k)
{
    return k->row == &dync__ctl_rows[0] || k->row == &dync__ctl_rows[1] ||
           k->row == &dync__ctl_rows[2];
}

/* Operands lie dense, or are copied. */
static dync_status dync__ctl_operand(dync__pb *pb, const dync__operand *in, dync__operand *out)
{
    *out = *in;
    if (dync__layout_is_contiguous(&in->lay)) return DYNC_OK;
    if (pb->sized)
        return dync__fail(DYNC_ERR_UNSUPPORTED,
                          "control flow over symbolic sizes whose operand is not row major");
    dync__operand dense = *in;
    DYNC__TRY(dync__layout_contiguous(&dense.lay, in->lay.ndim, in->lay.shape));
    dense.slot =
        dync__pb_slot(pb, DYNC__SLOT_TEMP, in->dtype, dync__layout_span(&dense.lay), "dense");
    if (dense.slot < 0) return DYNC_ERR_MEMORY;
    dync__tensor *fake = dync__tensor_fake(in->dtype, DYNC_CPU, &in->lay);
    if (!fake) return DYNC_ERR_MEMORY;
    dync__arg arg = dync__arg_t(fake);
    dync__opcall copy = {.row = dync__op_info(DYNC__USED(DYNC__OP_clone)),
                         .op = DYNC__OP_clone,
                         .nargs = 1,
                         .args = &arg,
                         .nout = 1};
    dync_status status = dync__op_lower(pb, &copy, in, 1, &dense);
    dync__unref(fake);
    *out = dense;
    return status;
}

DYNC__FN dync_status dync__l_control(dync__pb *pb, const dync__opcall *call,
                                     const dync__operand *in, const dync__operand *out)
{
    const dync__node *n = pb->node;
    int n_in = 0;
    for (int i = 0; i < call->nargs; i++) n_in += dync__arg_count_tensors(&n->args[i]);
    if (n_in + n->nout > DYNC__KCALL_MOST)
        return dync__fail(DYNC_ERR_UNSUPPORTED,
                          "%s: expected at most %d tensors in a compiled graph, got %d", n->target,
                          (int)DYNC__KCALL_MOST, n_in + n->nout);
    dync__kcall *k = dync__arena_alloc(pb->arena, dync__kcall_room(n_in + n->nout));
    if (!k) return DYNC_ERR_MEMORY;
    k->row = dync__ctl_row(n->op);
    k->n = n_in + n->nout;
    k->origin = k->user_op = n->target;
    k->at = n->at;
    k->attr.opaque.node = n;
    k->attr.opaque.device = pb->device;
    k->attr.opaque.fast_math = pb->fast_math;
    dync__operand *operand = k->operand; /* as many as there was room asked for */
    for (int i = 0; i < k->n; i++) {
        if (i < n_in)
            DYNC__TRY(dync__ctl_operand(pb, &in[i], &operand[i]));
        else
            operand[i] = out[i - n_in];
        operand[i].written = i >= n_in;
    }
    return dync__pb_add_call(pb, k) ? DYNC_OK : DYNC_ERR_MEMORY;
}
