/* inductor/lower.c: a functional graph becomes the steps of a plan: every operator is lowered by
 * its row, views are other layouts of the same slot. Fusion, memory plan and code are the plan's
 * (runtime/plan.c). Before: aot/. After: inductor.c. */
#include "../dync.in.h"
#include "lower.h"
DYNC__LEAN

/* The one device that the graph computes on. -1: values stand on two devices, which one plan
 * cannot serve; 0-dim inputs in main memory do not count. */
DYNC__FN int dync__graph_device(const dync__graph *g)
{
    int device = -1; /* other than main memory */
    bool here = false;
    for (int i = 0; i < g->node.n; i++) {
        const dync__node *n = g->node.at[i];
        if (!n->has_info || !n->nout || n->kind == DYNC__N_OUTPUT) continue;
        bool host = dync__device_is(n->info[0].device, DYNC__DEV_HOST);
        if (host)
            here |= n->kind != DYNC__N_PLACEHOLDER || n->info[0].lay.ndim > 0;
        else if (device >= 0 && n->info[0].device != device)
            return -1;
        else
            device = n->info[0].device;
    }
    return here && device >= 0 ? -1 : DYNC__MAX(device, DYNC_CPU);
}

/* ---- by need --------------------------------------------------------------------------------- */
/* Who calls cat, or an operator that writes, puts these in place (api/link.h). */
typedef struct dync__lower_joins {
    dync_status (*find)(dync__lowerer *);
    dync_status (*lower)(dync__lowerer *, const dync__opcall *, const dync__node *);
    bool (*nests)(const dync__lowerer *, const dync__node *);
    dync_status (*cat)(dync__lowerer *, const dync__node *, const dync__operand *out);
} dync__lower_joins;
static const dync__lower_joins dync__lower_joins_all = {dync__parts_find, dync__parts_lower,
                                                        dync__parts_nests, dync__parts_cat};
static const dync__lower_joins *DYNC__BY_NEED dync__lower_joins_used =
    DYNC__AT_FIRST(&dync__lower_joins_all);
DYNC__FN void dync__inductor_use_joins(void)
{
    DYNC__PUT(dync__lower_joins_used, &dync__lower_joins_all);
}

typedef struct dync__lower_writes {
    dync_status (*places)(dync__lowerer *);
    dync_status (*lower)(dync__lowerer *, const dync__opcall *, const dync__node *,
                         const dync__operand *in, int n_in);
    dync_status (*over)(dync__lowerer *, int node);
} dync__lower_writes;
static const dync__lower_writes dync__lower_writes_all = {dync__lower_places, dync__reinplace_lower,
                                                          dync__lower_write_over};
static const dync__lower_writes *DYNC__BY_NEED dync__lower_writes_used =
    DYNC__AT_FIRST(&dync__lower_writes_all);
DYNC__FN void dync__inductor_use_writes(void)
{
    DYNC__PUT(dync__lower_writes_used, &dync__lower_writes_all);
    dync__lower_over_use();
}
DYNC__FN void dync__inductor_use_all(void)
{
    dync__inductor_use_joins();
    dync__inductor_use_writes();
    dync__inductor_use_opaque();
    dync__aot_use_writes();
    dync__aot_use_views();
    dync__aot_use_numbers();
}

/* ---- arguments ------------------------------------------------------------------------------- */
/* Nodes become fakes for the lowering rules, and their operands are appended to `operand` in
 * preorder. The caller has made room for all of them. */
static dync_status dync__lower_args(dync__lowerer *w, int n, const dync__arg *in, dync__arg *out,
                                    dync__operand *operand, int *n_operands)
{
    for (int i = 0; i < n; i++) {
        out[i] = in[i];
        if (in[i].kind == DYNC__A_NODE) {
            int k = in[i].as.node->index;
            out[i] = dync__arg_t(w->fake[k]);
            if (!w->fake[k]) return dync__fail(DYNC_ERR_INTERNAL, "lower: an operand is missing");
            operand[(*n_operands)++] = w->value[k][0];
        } else if (in[i].kind == DYNC__A_LIST) {
            out[i].as.list = dync__arena_alloc(&w->arena, (size_t)(in[i].n + 1) * sizeof *out);
            if (!out[i].as.list) return DYNC_ERR_MEMORY;
            DYNC__TRY(
                dync__lower_args(w, in[i].n, in[i].as.list, out[i].as.list, operand, n_operands));
        }
    }
    return DYNC_OK;
}

static dync_status dync__lower_fake(dync__lowerer *w, int i, const dync__info *info)
{
    w->fake[i] = dync__tensor_fake(info->dtype, info->device, &info->lay);
    return w->fake[i] ? DYNC_OK : DYNC_ERR_MEMORY;
}

/* Is this value row major in memory, though the program has it in channels last? So convolutions
 * and pools compute it, and loops over what they computed follow; who reads it asks its operand
 * how it lies. What leaves the plan, or is viewed, is as the program has it. */
static bool dync__lower_is_free(const dync__lowerer *w, const dync__node *n, bool leaves)
{
    const dync__op_row *row = n->op >= 0 ? dync__op_info(n->op) : NULL;
    bool follows = false;
    if (!row || leaves || n->nout != 1 || w->viewed[n->index] || w->joined[n->index] >= 0 ||
        w->parts[n->index] || dync__layout_form(&n->info[0].lay) != 4)
        return false;
    uint32_t work = row->flags & DYNC__OP_WORK;
    if (row->cls == DYNC__KERNEL) return work == DYNC__OP_WORK_CONV || work == DYNC__OP_WORK_WINDOW;
    if (row->cls != DYNC__POINTWISE) return false;
    for (int i = 0; i < n->nargs; i++) {
        const dync__arg *a = &n->args[i];
        if (a->kind != DYNC__A_NODE) continue;
        const dync__layout *lies = &w->value[a->as.node->index][0].lay;
        follows |= lies->ndim == 4 && lies->stride[1] != a->as.node->info[0].lay.stride[1];
    }
    return follows;
}

/* Does output k leave the plan? Outputs of several do through their getitem nodes: what none of
 * these takes is a temporary that nobody reads. */
static bool dync__lower_leaves(const dync__lowerer *w, const dync__node *n, int k)
{
    bool leaves = n->kind != DYNC__N_PLACEHOLDER && w->leaves[n->index];
    for (int i = n->index + 1; n->nout > 1 && i < w->g->node.n && !leaves; i++) {
        const dync__node *item = w->g->node.at[i];
        leaves = w->leaves[i] && item->op == DYNC__NODE_GETITEM && item->args[0].as.node == n &&
                 item->args[1].as.i == k;
    }
    return leaves;
}

/* One slot per output of the node. Inputs are addressed from their first element, so their own
 * offset (bias) is taken off their layout and those of their views. */
static dync_status dync__lower_slots(dync__lowerer *w, const dync__node *n)
{
    int i = n->index;
    w->value[i] = dync__arena_alloc(&w->arena, (size_t)(n->nout + 1) * sizeof **w->value);
    if (!w->value[i]) return DYNC_ERR_MEMORY;
    dync__info free;
    bool is_free = n->kind != DYNC__N_PLACEHOLDER &&
                   dync__lower_is_free(w, n, dync__lower_leaves(w, n, 0));
    if (is_free) {
        free = n->info[0];
        DYNC__TRY(dync__layout_contiguous(&free.lay, 4, n->info[0].lay.shape));
    }
    for (int k = 0; k < n->nout; k++) {
        const dync__info *info = is_free ? &free : &n->info[k];
        int kind = n->kind == DYNC__N_PLACEHOLDER ? DYNC__SLOT_INPUT
                   : dync__lower_leaves(w, n, k)  ? DYNC__SLOT_OUTPUT
                                                  : DYNC__SLOT_TEMP;
        int slot = dync__pb_slot(&w->pb, kind, info->dtype,
                                 kind == DYNC__SLOT_INPUT ? -1 : dync__lower_span(&info->lay),
                                 n->name);
        if (slot < 0) return DYNC_ERR_MEMORY;
        w->value[i][k] =
            (dync__operand){.slot = slot, .dtype = (uint8_t)info->dtype, .lay = info->lay};
        if (kind == DYNC__SLOT_INPUT) w->bias[i] = info->lay.offset;
        w->value[i][k].lay.offset = dync__sz_sub(info->lay.offset, w->bias[i]);
        if (!dync__device_driver(info->device))
            return dync__fail(DYNC_ERR_DEVICE,
                              "inductor: no code generation for the device of %s (%s)", n->name,
                              dync__device_row(info->device)->name);
        w->pb.slot.at[slot].host = dync__pb_reads_host(&w->pb, info->device);
    }
    return n->nout ? dync__lower_fake(w, i, is_free ? &free : &n->info[0]) : DYNC_OK;
}

/* A view: the operand of its argument in another form. */
static dync_status dync__lower_view(dync__lowerer *w, const dync__node *n)
{
    int i = n->index, from = n->args[0].as.node->index;
    w->value[i] = dync__arena_alloc(&w->arena, sizeof **w->value);
    if (!w->value[i]) return DYNC_ERR_MEMORY;
    w->value[i][0] = w->value[from][0];
    w->value[i][0].lay = n->info[0].lay;
    w->bias[i] = w->bias[from];
    w->value[i][0].lay.offset = dync__sz_sub(n->info[0].lay.offset, w->bias[i]);
    return dync__lower_fake(w, i, &n->info[0]);
}

/* Shares the operand of the list's item: no copy, no slot. */
static dync_status dync__lower_getitem(dync__lowerer *w, const dync__node *n)
{
    int i = n->index, from = n->args[0].as.node->index;
    int64_t k = n->args[1].as.i;
    w->value[i] = &w->value[from][k];
    return dync__lower_fake(w, i, &n->args[0].as.node->info[k]);
}

static dync_status dync__lower_call(dync__lowerer *w, const dync__node *n)
{
    const dync__lower_joins *joins = dync__lower_joins_used;
    dync__arg args[DYNC__MAX_ARGS];
    int n_in = 0, room = 1;
    for (int i = 0; i < n->nargs; i++) room += dync__arg_count_tensors(&n->args[i]);
    dync__operand *in = dync__arena_alloc(&w->arena, (size_t)room * sizeof *in);
    if (!in) return DYNC_ERR_MEMORY;
    DYNC__TRY(dync__lower_args(w, n->nargs, n->args, args, in, &n_in));
    bool placed = w->place[n->index] >= 0;
    if (!placed) DYNC__TRY(dync__lower_slots(w, n));
    dync__opcall c;
    memset(&c, 0, sizeof c);
    c.row = dync__op_info(n->op);
    c.op = n->op;
    c.nargs = n->nargs;
    c.args = args;
    c.nout = n->nout;
    c.at = n->at;
    w->pb.origin = c.row->name;
    w->pb.user_op = n->user_op ? n->user_op : c.row->name;
    w->pb.at = n->at;
    w->pb.node = n;
    bool opaque = c.row->flags & DYNC__OP_OPAQUE, control = dync__row_is_control(c.row);
    if (w->pb.sized && dync__op_is_counted(c.op)) /* of C source, which writes it */
        return dync__opaque_lower(&w->pb, n, n_in, in, w->value[n->index]);
    if (w->pb.sized && ((opaque && !control) || c.row->cls == DYNC__INPLACE))
        return dync__fail(DYNC_ERR_UNSUPPORTED, "%s is lowered with numbers", c.row->name);
    if (placed) return dync__lower_writes_used->lower(w, &c, n, in, n_in);
    if (control) return c.row->lower(&w->pb, &c, in, w->value[n->index]);
    if (opaque) return dync__opaque_lower(&w->pb, n, n_in, in, w->value[n->index]);
    if (w->joined[n->index] >= 0) return DYNC_OK; /* its reader reads the parts */
    if (w->parts[n->index]) return joins->lower(w, &c, n);
    if (joins && joins->nests(w, n)) return joins->cat(w, n, w->value[n->index]);
    return dync__op_lower(&w->pb, &c, in, n_in, w->value[n->index]);
}

/* In execution order; slots of a node exist before its readers are lowered. */
static dync_status dync__lower_nodes(dync__lowerer *w)
{
    for (int i = 0; i < w->g->node.n; i++) {
        dync__node *n = w->g->node.at[i];
        if (n->kind == DYNC__N_PLACEHOLDER)
            DYNC__TRY(dync__lower_slots(w, n));
        else if (n->kind == DYNC__N_OUTPUT)
            break;
        else if (n->op == DYNC__NODE_GETITEM)
            DYNC__TRY(dync__lower_getitem(w, n));
        else if (n->op < 0)
            return dync__fail(DYNC_ERR_INTERNAL, "lower: %s is no operator of the table", n->name);
        else if (dync__node_viewed(n))
            DYNC__TRY(dync__lower_view(w, n));
        else
            DYNC__TRY(dync__lower_call(w, n));
        if (dync__lower_writes_used) DYNC__TRY(dync__lower_writes_used->over(w, i));
    }
    return DYNC_OK;
}

/* ---- outputs --------------------------------------------------------------------------------- */
DYNC__FN void dync__lowered_storages(dync__lowered *l, const dync__pb *pb)
{
    for (int i = 0; i < pb->slot.n; i++) {
        const dync__slot *s = &pb->slot.at[i];
        if (s->kind == DYNC__SLOT_OUTPUT)
            l->storage_bytes[s->index] = (size_t)s->size * dync__dtype_info(s->dtype)->bytes;
    }
}

/* How each output is found after a run. output: which of the plan's output storages it lies on,
 * -1 none, -2 not wanted or written over an input. owner: the one output that has a storage to
 * itself, -1 where several share it. */
static dync_status dync__lower_outputs(dync__lowerer *w, const bool *used, dync__lowered *l)
{
    const dync__arg *out = &w->g->node.at[w->g->node.n - 1]->args[0];
    l->n_out = out->n;
    l->n_in = w->g->n_inputs;
    l->n_storages = w->pb.n_outputs;
    l->device = w->pb.device;
    l->out = dync__arena_alloc(&l->arena, (size_t)(l->n_out + 1) * sizeof *l->out);
    l->storage_bytes =
        dync__arena_alloc(&l->arena, (size_t)(l->n_storages + 1) * sizeof *l->storage_bytes);
    l->owner = dync__arena_alloc(&l->arena, (size_t)(l->n_storages + 1) * sizeof *l->owner);
    if (!l->out || !l->storage_bytes || !l->owner) return DYNC_ERR_MEMORY;
    memset(l->owner, -1, (size_t)l->n_storages * sizeof *l->owner);
    dync__lowered_storages(l, &w->pb);
    for (int i = 0; i < l->n_out; i++) {
        const dync__node *n = out->as.list[i].as.node;
        const dync__operand *v = &w->value[n->index][0];
        const dync__slot *s = &w->pb.slot.at[v->slot];
        l->out[i] = (dync__lowered_out){.input = -1,
                                        .output = -2,
                                        .dtype = v->dtype,
                                        .device = (uint16_t)n->info[0].device,
                                        .lay = v->lay};
        if ((used && !used[i]) || w->over_after[i] >= 0) continue;
        if (s->kind == DYNC__SLOT_INPUT) l->out[i].input = s->index;
        l->out[i].output = s->kind == DYNC__SLOT_OUTPUT ? s->index : -1;
    }
    for (int i = 0; i < l->n_out; i++) {
        int at = l->out[i].output;
        for (int j = 0; j < l->n_out && at >= 0; j++)
            if (j != i && l->out[j].output == at) at = -1;
        if (at >= 0) l->owner[at] = i;
    }
    return DYNC_OK;
}

DYNC__FN dync_status dync__lower_steps(dync__lowerer *w, dync__graph *g, const bool *used,
                                       const dync__options *options, bool sized, dync__lowered *out)
{
    memset(w, 0, sizeof *w);
    memset(out, 0, sizeof *out);
    w->g = g;
    w->pb.arena = &w->arena;
    w->pb.device = dync__graph_device(g);
    w->pb.fast_math = options && options->fast_math != 0;
    w->pb.winograd = options ? options->winograd : 0;
    w->pb.dense = options != NULL;
    w->pb.sized = sized;
    dync__graph_renumber(g);
    size_t n = (size_t)g->node.n + 1;
    w->value = dync__arena_alloc(&w->arena, n * sizeof *w->value);
    w->fake = dync__arena_alloc(&w->arena, n * sizeof *w->fake);
    w->base = dync__arena_alloc(&w->arena, n * sizeof *w->base);
    w->bias = dync__arena_alloc(&w->arena, n * sizeof *w->bias);
    w->parts = dync__arena_alloc(&w->arena, n * sizeof *w->parts);
    w->joined = dync__arena_alloc(&w->arena, n * sizeof *w->joined);
    w->leaves = dync__arena_alloc(&w->arena, n * sizeof *w->leaves);
    w->viewed = dync__arena_alloc(&w->arena, n * sizeof *w->viewed);
    w->place = dync__arena_alloc(&w->arena, n * sizeof *w->place);
    w->written = dync__arena_alloc(&w->arena, n * sizeof *w->written);
    bool made = w->value && w->fake && w->base && w->bias && w->parts && w->joined && w->leaves &&
                w->viewed && w->place && w->written;
    dync_status status = made ? DYNC_OK : DYNC_ERR_MEMORY;
    if (made) {
        memset(w->joined, 0xff, n * sizeof *w->joined);
        memset(w->place, 0xff, n * sizeof *w->place);
    }
    if (made && dync__lower_joins_used) status = dync__lower_joins_used->find(w);
    if (status == DYNC_OK && dync__lower_writes_used) status = dync__lower_writes_used->places(w);
    if (status == DYNC_OK) {
        status = dync__lower_bases(w, used);
        if (status == DYNC_OK) status = dync__lower_nodes(w);
    }
    if (status == DYNC_OK) status = dync__lower_outputs(w, used, out);
    for (int i = 0; w->fake && i < g->node.n; i++) dync__unref(w->fake[i]);
    return status;
}

DYNC__FN dync__plan_options dync__lower_options(const dync__lowerer *w,
                                                const dync__options *options)
{
    return (dync__plan_options){.name = w->g->name,
                                .passes = dync__steps_run,
                                .fast_math = w->pb.fast_math,
                                .no_fuse = options->no_fuse || options->opt_level == 0,
                                .autotune = options->autotune.on ? options->autotune.path : NULL,
                                .threads = options->threads};
}

DYNC__FN dync_status dync__inductor_lower(dync__graph *g, const bool *used,
                                          const dync__options *options, dync__lowered *out)
{
    dync__lowerer w;
    dync_status status = dync__lower_steps(&w, g, used, options, false, out);
    if (status == DYNC_OK) {
        dync__plan_options opt = dync__lower_options(&w, options);
        opt.keeps = !opt.no_fuse;
        dync__plan_epilogues();
        out->plan = dync__plan_new(&w.pb, &opt);
        if (!out->plan) status = dync_error() != DYNC_OK ? dync_error() : DYNC_ERR_MEMORY;
    }
    dync__arena_free(&w.arena);
    if (status != DYNC_OK) dync__lowered_free(out);
    return status;
}

/* The steps without a plan, for who prints or exports them. The lowerer's arena moves to the
 * caller, who frees it, after a failure too; pointers to the arena inside kernels are set anew,
 * since it has moved. */
DYNC__FN dync_status dync__inductor_steps(dync__graph *g, bool sized, dync__arena *arena,
                                          dync__pb *pb, dync__lowered *out)
{
    dync__lowerer w;
    dync_status status = dync__lower_steps(&w, g, NULL, NULL, sized, out);
    *arena = w.arena;
    *pb = w.pb;
    pb->arena = arena;
    for (int i = 0; i < pb->step.n; i++)
        if (pb->step.at[i].kernel) pb->step.at[i].kernel->arena = arena;
    if (status != DYNC_OK) dync__lowered_free(out);
    return status;
}

DYNC__FN void dync__lowered_free(dync__lowered *l)
{
    if (l->plan) dync__plan_free(l->plan);
    dync__arena_free(&l->arena);
    memset(l, 0, sizeof *l);
}
