/* inductor/opaque.c: a call that nobody may look into (an operator of the user's, trace_wrapped) as
 * a kernel call of the plan: its body runs on tensors over the plan's memory, what it returns is
 * copied out. Before lower.c. */
#include "../dync.in.h"
#include "inductor.h"
DYNC__COLD

/* The node's arguments with real tensors in place of nodes, in order. */
static dync_status dync__opaque_args(dync__arena *arena, int n, const dync__arg *in, dync__arg *out,
                                     dync__tensor **t)
{
    for (int i = 0; i < n; i++) {
        out[i] = in[i];
        if (in[i].kind == DYNC__A_NODE) out[i] = dync__arg_t(*t++);
        if (in[i].kind != DYNC__A_LIST) continue;
        out[i].as.list = dync__arena_alloc(arena, (size_t)(in[i].n + 1) * sizeof *out);
        if (!out[i].as.list) return DYNC_ERR_MEMORY;
        DYNC__TRY(dync__opaque_args(arena, in[i].n, in[i].as.list, out[i].as.list, t));
        t += dync__arg_count_tensors(&in[i]);
    }
    return DYNC_OK;
}

static dync_status dync__opaque_copy_out(const dync__node *n, int i, dync__tensor *to,
                                         dync__tensor *from)
{
    bool same = to->dtype == from->dtype && to->lay.ndim == from->lay.ndim &&
                memcmp(to->lay.shape, from->lay.shape, (size_t)to->lay.ndim * sizeof(int64_t)) == 0;
    if (!same) {
        dync__str got = {0}, want = {0};
        dync__tensor_brief(&got, from);
        dync__tensor_brief(&want, to);
        dync_status status = dync__fail(DYNC_ERR_VALUE,
                                        "%s: output %d is %s, but its meta function says %s",
                                        n->target, i, dync__str_get(&got), dync__str_get(&want));
        dync__str_free(&got);
        dync__str_free(&want);
        return status;
    }
    dync__arg args[2] = {dync__arg_t(to), dync__arg_t(from)};
    dync__tensor *copied = NULL;
    dync_status status = dync__op_run(DYNC__OP_copy_, 2, args, &copied);
    dync__unref(copied);
    return status;
}

static dync_status dync__opaque_call(const dync__node *n, int n_in, dync__tensor **t)
{
    dync__arg args[DYNC__MAX_ARGS];
    dync__arena arena = {0};
    dync__opcall c = {
        .row = dync__op_info(n->op), .op = n->op, .nargs = n->nargs, .args = args, .at = n->at};
    bool off = dync__grad_off(true);
    dync_status status = dync__opaque_args(&arena, n->nargs, n->args, args, t);
    if (status == DYNC_OK) status = c.row->decompose(&c);
    for (int i = 0; i < c.nout && c.out[i]; i++) {
        if (status == DYNC_OK) status = dync__opaque_copy_out(n, i, t[n_in + i], c.out[i]);
        dync__unref(c.out[i]);
    }
    dync__grad_off(off);
    dync__arena_free(&arena);
    return status;
}

static dync_status dync__opaque_run(const dync__kcall *k, void *const *data, void *scratch)
{
    const dync__node *n = k->attr.opaque.node;
    dync__tensor *t[DYNC__KCALL_OPERANDS];
    int made = 0;
    (void)scratch;
    for (; made < k->n; made++) {
        const dync__operand *o = &k->operand[made];
        size_t bytes = (size_t)dync__layout_span(&o->lay) * dync__dtype_info(o->dtype)->bytes;
        dync__storage *storage = dync__storage_borrow(k->attr.opaque.device, data[made], bytes);
        if (!storage || !(t[made] = dync__tensor_new(storage, o->dtype, &o->lay))) break;
    }
    dync_status status = made == k->n ? dync__opaque_call(n, k->n - n->nout, t) : DYNC_ERR_MEMORY;
    while (made > 0) dync__unref(t[--made]);
    return status;
}

static const dync__kcall_row dync__opaque_rows[2] = {
    {.name = DYNC__TEXT("opaque"), .run = dync__opaque_run, .any_device = true},
    {.name = DYNC__TEXT("opaque"), .run = dync__opaque_run, .any_device = true, .tells = true}};
DYNC__FN bool dync__opaque_is(const dync__kcall *k)
{
    return k->row == &dync__opaque_rows[0] || k->row == &dync__opaque_rows[1];
}

/* The node outlives the plan: whoever runs the plan holds the graph. */
static dync_status dync__opaque_add(dync__pb *pb, const dync__node *n, int n_in,
                                    const dync__operand *in, const dync__operand *out)
{
    if (n_in + n->nout > DYNC__KCALL_OPERANDS)
        return dync__fail(DYNC_ERR_UNSUPPORTED,
                          "%s: expected at most %d tensors in a compiled graph, got %d", n->target,
                          (int)DYNC__KCALL_OPERANDS, n_in + n->nout);
    dync__kcall *k = dync__arena_alloc(pb->arena, sizeof(dync__kcall_full));
    if (!k) return DYNC_ERR_MEMORY;
    k->row = &dync__opaque_rows[dync__op_is_counted(n->op)];
    k->n = n_in + n->nout;
    k->origin = k->user_op = n->target;
    k->at = n->at;
    k->attr.opaque.node = n;
    k->attr.opaque.device = pb->device;
    for (int i = 0; i < k->n; i++) {
        k->operand[i] = i < n_in ? in[i] : out[i - n_in];
        k->operand[i].written = i >= n_in;
    }
    return dync__pb_add_call(pb, k) ? DYNC_OK : DYNC_ERR_MEMORY;
}

/* By need: where a program has operators or hooks of its own, or brings graphs along. */
static dync_status (*DYNC__BY_NEED dync__opaque_used)(
    dync__pb *, const dync__node *, int n_in, const dync__operand *in,
    const dync__operand *out) = DYNC__AT_FIRST(dync__opaque_add);
DYNC__FN void dync__inductor_use_opaque(void) { DYNC__PUT(dync__opaque_used, dync__opaque_add); }
DYNC__FN dync_status dync__opaque_lower(dync__pb *pb, const dync__node *n, int n_in,
                                        const dync__operand *in, const dync__operand *out)
{
    if (!dync__opaque_used) return dync__unlinked("operators that nobody looks into");
    return dync__opaque_used(pb, n, n_in, in, out);
}
