/* graph/pass_node.c: new nodes for passes: calls whose types are inferred. After check.c, before
 * the passes that make some. */
#include "../dync.in.h"
#include "slices.h"
DYNC__COLD
#if !defined(DYNC_SMALL)

DYNC__FN bool dync__pass_in_rows(const dync__layout *lay)
{
    dync__layout rows;
    return dync__layout_contiguous(&rows, lay->ndim, lay->shape) == DYNC_OK &&
           dync__layout_equal(lay, &rows);
}

static dync__tensor *dync__pass_stand_in(dync__arena *arena, const dync__node *n,
                                         dync__storage *memory)
{
    const dync__info *info = &n->info[0];
    dync__tensor *t = dync__arena_alloc(arena, sizeof *t);
    if (!t) return NULL;
    t->dtype = (uint8_t)info->dtype;
    t->device = (uint16_t)info->device;
    t->flags = DYNC__T_FAKE;
    t->lay = info->lay;
    t->storage = memory;
    return dync__numel(t->lay.ndim, t->lay.shape, &t->numel) == DYNC_OK ? t : NULL;
}

/* recursion: lists. False: no memory. */
static bool dync__pass_fakes(dync__arena *arena, int n, const dync__arg *in, dync__arg *out,
                             dync__storage *memory)
{
    for (int i = 0; i < n; i++) {
        out[i] = in[i];
        if (in[i].kind == DYNC__A_NODE) {
            dync__tensor *t = dync__pass_stand_in(arena, in[i].as.node, memory);
            if (!t) return false;
            out[i] = dync__arg_t(t);
        } else if (in[i].kind == DYNC__A_LIST) {
            out[i].as.list = dync__arena_alloc(arena, (size_t)(in[i].n + 1) * sizeof *out);
            if (!out[i].as.list ||
                !dync__pass_fakes(arena, in[i].n, in[i].as.list, out[i].as.list, memory))
                return false;
        }
    }
    return true;
}

DYNC__FN dync__node *dync__pass_node(dync__graph *g, dync__arena *arena, int op, int nargs,
                                     const dync__arg *args, const dync__node *like)
{
    dync__storage memory = {.size_bytes = SIZE_MAX / 2};
    dync__arg fakes[DYNC__MAX_ARGS];
    dync__opcall c = {.row = dync__op_info(op), .op = op, .nargs = nargs, .args = fakes};
    dync__info info;
    if (!dync__pass_fakes(arena, nargs, args, fakes, &memory) ||
        dync__op_infer(&c, &info) != DYNC_OK)
        return NULL;
    info.alias = c.row->cls == DYNC__VIEW ? 0 : -1;
    info.view = false;
    dync__node *n = dync__graph_call(g, op, nargs, args, 1, &info, NULL);
    if (!n) return NULL;
    n->at = like->at;
    n->user_op = like->user_op;
    n->seq_nr = like->seq_nr;
    return n;
}

DYNC__FN dync__node *dync__pass_call(dync__graph *g, dync__arena *arena, int op, int n_in,
                                     dync__node *const *in, int nargs, dync__arg *args,
                                     const dync__node *like)
{
    dync__arg *to = args;
    if (op == DYNC__OP_cat) {
        to = dync__arena_alloc(arena, (size_t)(n_in + 1) * sizeof *to);
        if (!to) return NULL;
        args[0] = (dync__arg){.kind = DYNC__A_LIST, .n = n_in};
        args[0].as.list = to;
    }
    for (int i = 0; i < n_in; i++) {
        if (!in[i]) return NULL;
        to[i] = dync__arg_node(in[i]);
    }
    return dync__pass_node(g, arena, op, nargs, args, like);
}
#endif
