/* graph/change.c: one change to a graph: what it was before, types inferred again, all or nothing.
 * After inspect.c; edit.c and pattern.c make the changes.
 *
 * Nodes stay where they are in memory, so that handles stay good; what a node was before is kept
 * as a copy of its struct. Arguments are never written in place, but given anew, and the arena
 * frees nothing: a copy of the struct is all there is to take back.
 *
 * Types are inferred again from the first changed node on, as far as they come out otherwise.
 * Sizes may be symbols: inference goes through a copy of the graph's table, and where it had to
 * learn something about a symbol the change holds for some sizes only, and is refused. */
#include "../dync.in.h"
#include "change.h"
DYNC__COLD

/* Keeps what the node was, once per change. */
DYNC__FN dync_status dync__change_touch(dync__change *e, dync__node *n)
{
    if (n->mark) return DYNC_OK;
    if (!dync__vec_push(&e->was, ((dync__change_was){n, *n}))) return DYNC_ERR_MEMORY;
    n->mark = &e->args;
    return DYNC_OK;
}

/* Of the change's own lists; names and symbols are given back by its end. */
DYNC__FN void dync__change_free(dync__change *e)
{
    dync__vec_free(&e->order);
    dync__vec_free(&e->was);
    dync__vec_free(&e->promise);
}

/* From here to dync__change_end the graph works on copies of its names and symbols, and is marked
 * as fixed, so that a callback of the user's that changes it too is refused. */
DYNC__FN dync_status dync__change_begin(dync__change *e, dync__graph *g, const char *who)
{
    memset(e, 0, sizeof *e);
    if (!g) return DYNC_ERR_VALUE;
    if (DYNC__ATOMIC_PEEK(&g->fixed))
        return dync__fail(DYNC_ERR_VALUE,
                          "%s: graph %s is what a backend or a compiled function works from: "
                          "change a dync_graph_copy of it",
                          who, g->name);
    *e = (dync__change){.graph = g, .who = who, .n_inputs = g->n_inputs, .n_attr = g->attr.n};
    e->n_sub = g->sub.n;
    e->n_symbol = g->symbol.n;
    for (int i = 0; i < g->node.n; i++) {
        g->node.at[i]->mark = NULL;
        if (dync__vec_push(&e->order, g->node.at[i])) continue;
        dync__change_free(e);
        return DYNC_ERR_MEMORY;
    }
    dync__symtab *syms = g->syms ? dync__symtab_copy(g->syms, NULL) : NULL;
    if ((g->syms && !syms) || !dync__map_copy(&e->names, &g->names)) {
        dync__symtab_free(syms);
        dync__change_free(e);
        return DYNC_ERR_MEMORY;
    }
    e->syms = g->syms;
    g->syms = syms;
    dync__graph_renumber(g);
    DYNC__ATOMIC_STORE(&g->fixed, 1); /* one change at a time: callbacks make none */
    return DYNC_OK;
}

/* ---- small changes --------------------------------------------------------------------------- */
/* The graph has been given the node at its end; renumbers. */
DYNC__FN void dync__change_place(dync__change *e, int at)
{
    dync__graph *g = e->graph;
    dync__node *node = g->node.at[g->node.n - 1];
    for (int i = g->node.n - 1; i > at; i--) g->node.at[i] = g->node.at[i - 1];
    g->node.at[at] = node;
    dync__graph_renumber(g);
    node->mark = &e->types;
}

/* A function inside an operator gets a reference of the graph. */
DYNC__FN dync_status dync__change_arg(dync__change *e, dync__node *n, int i, const dync__arg *arg)
{
    dync__graph *g = e->graph;
    DYNC__TRY(dync__change_touch(e, n));
    dync__arg *args = dync__arena_copy(&g->arena, n->args, (size_t)n->nargs * sizeof *args);
    if (!args || !dync__arg_copy(&g->arena, arg, &args[i])) return DYNC_ERR_MEMORY;
    if (arg->kind == DYNC__A_GRAPH && !dync__graph_keep(g, arg->as.graph)) return DYNC_ERR_MEMORY;
    n->args = args;
    return DYNC_OK;
}

/* A walk over arguments: does one of them read `old` (met), or put `with` there. */
typedef struct dync__swap {
    dync__node *old, *with;
    bool met;
} dync__swap;
static void dync__swap_look(void *user, dync__arg *a)
{
    dync__swap *s = user;
    s->met = s->met || a->as.node == s->old;
}
static void dync__swap_use(void *user, dync__arg *a)
{
    dync__swap *s = user;
    if (a->as.node == s->old) a->as.node = s->with;
}

/* What is promised (the type of old) is looked at when the change ends, as types may still
 * change. */
DYNC__FN dync_status dync__change_replace(dync__change *e, dync__node *old, dync__node *with)
{
    dync__graph *g = e->graph;
    for (int i = 0; i < g->node.n; i++) {
        dync__node *n = g->node.at[i];
        dync__swap s = {old, with, false};
        if (n == with) continue;
        dync__node_each_input(n, dync__swap_look, &s);
        if (!s.met) continue;
        DYNC__TRY(dync__change_touch(e, n));
        dync__arg *args = dync__arena_alloc(&g->arena, (size_t)n->nargs * sizeof *args);
        if (!args) return DYNC_ERR_MEMORY;
        for (int k = 0; k < n->nargs; k++)
            if (!dync__arg_copy(&g->arena, &n->args[k], &args[k])) return DYNC_ERR_MEMORY;
        n->args = args;
        dync__node_each_input(n, dync__swap_use, &s);
    }
    dync__change_promise promise = {old->name, old->info[0], with};
    if (old->has_info != with->has_info || (old->nout != with->nout))
        return dync__fail(DYNC_ERR_VALUE, "%s: %s and %s give different kinds of values", e->who,
                          old->name, with->name);
    return !old->has_info || old->nout != 1 || dync__vec_push(&e->promise, promise)
               ? DYNC_OK
               : DYNC_ERR_MEMORY;
}

/* The struct stays in the arena; its handle becomes stale when the change ends well. */
DYNC__FN dync_status dync__change_erase(dync__change *e, dync__node *n)
{
    dync__graph *g = e->graph;
    if (n->kind == DYNC__N_OUTPUT || n->kind == DYNC__N_PLACEHOLDER)
        return dync__fail(DYNC_ERR_VALUE, "%s: %s: inputs and the output stay", e->who, n->name);
    for (int i = n->index + 1; n->n_users > 0 && i < g->node.n; i++) {
        dync__swap s = {n, NULL, false};
        dync__node_each_input(g->node.at[i], dync__swap_look, &s);
        if (s.met)
            return dync__fail(DYNC_ERR_VALUE, "%s: %s is used by %s", e->who, n->name,
                              g->node.at[i]->name);
    }
    for (int i = n->index; i + 1 < g->node.n; i++) g->node.at[i] = g->node.at[i + 1];
    g->node.n--;
    dync__graph_renumber(g);
    return DYNC_OK;
}

/* ---- types ----------------------------------------------------------------------------------- */
/* What stands for a value in inference: of its type, without data. As much memory as any view may
 * want: what is known of the graph's own was checked when it was made. A number (a node without
 * info) becomes a 0-dim tensor that says it stands for one. */
static dync__tensor *dync__change_stand_in(dync__arena *arena, dync__change *e, const dync__node *n)
{
    dync__layout scalar = {0};
    bool real = n->scalar.kind == DYNC__A_FLOAT;
    dync__tensor *t = n->has_info
                          ? dync__tensor_fake(n->info[0].dtype, n->info[0].device, &n->info[0].lay)
                          : dync__tensor_fake(real ? DYNC__REAL : DYNC_I64, DYNC_CPU, &scalar);
    (void)arena, (void)e;
    if (!t) return NULL;
    t->storage->size_bytes = SIZE_MAX / 2;
    if (!n->has_info) t->flags |= DYNC__T_NUMBER;
    return t;
}

/* recursion: lists of arguments */
static dync_status dync__change_stand_ins(dync__arena *arena, dync__change *e, int n,
                                          const dync__arg *in, dync__arg *out)
{
    for (int i = 0; i < n; i++) {
        out[i] = in[i];
        if (in[i].kind == DYNC__A_NODE) {
            out[i] = dync__arg_t(dync__change_stand_in(arena, e, in[i].as.node));
            if (out[i].kind != DYNC__A_TENSOR) return DYNC_ERR_MEMORY;
        } else if (in[i].kind == DYNC__A_LIST) {
            size_t bytes = (size_t)(in[i].n + 1) * sizeof *out;
            if (!(out[i].as.list = dync__arena_alloc(arena, bytes))) return DYNC_ERR_MEMORY;
            memset(out[i].as.list, 0, bytes);
            DYNC__TRY(dync__change_stand_ins(arena, e, in[i].n, in[i].as.list, out[i].as.list));
        }
    }
    return DYNC_OK;
}

/* info: room for n->nout. The row's inference over stand-ins, outside of any trace; e->op names the
 * operator for the message where it fails. */
static dync_status dync__change_infer(dync__change *e, const dync__node *n, dync__info *info)
{
    dync__arena arena = {0};
    dync__arg args[DYNC__MAX_ARGS];
    dync__opcall call = {.row = dync__op_info(n->op), .op = n->op, .nargs = n->nargs};
    memset(args, 0, sizeof args);
    call.args = args;
    call.at = n->at;
    dync_status status = dync__change_stand_ins(&arena, e, n->nargs, n->args, args);
    dync__handler *stack = dync__handler_swap(NULL);
    dync_scope scope = dync_scope_begin();
    if (status == DYNC_OK) status = dync__op_infer(&call, info);
    if (status != DYNC_OK) e->op = call.row->name;
    dync_scope_end(&scope);
    (void)dync__handler_swap(stack);
    for (int i = 0; i < n->nargs; i++) dync__arg_release(&args[i]);
    dync__arena_free(&arena);
    for (int i = 0; i < n->nout && status == DYNC_OK; i++) {
        info[i].alias = call.row->cls == DYNC__VIEW ? 0 : -1;
        info[i].view = false;
    }
    return status;
}

/* A symbolic size in its simplest form, and a name for it. False: no memory. */
static bool dync__change_simple(dync__graph *g, int64_t *size)
{
    if (!dync__is_token(*size)) return true;
    *size = dync__symtab_simple(g->syms, *size);
    return dync__graph_name_size(g, *size);
}

/* As the graph writes its sizes. */
static bool dync__change_settle(dync__graph *g, dync__info *info)
{
    for (int d = 0; g->syms && d < info->lay.ndim; d++)
        if (!dync__change_simple(g, &info->lay.shape[d]) ||
            !dync__change_simple(g, &info->lay.stride[d]))
            return false;
    return !g->syms || dync__change_simple(g, &info->lay.offset);
}

/* Aliasing is not compared: it follows from the operator. */
static bool dync__change_equal(const dync__info *a, const dync__info *b)
{
    size_t bytes = (size_t)a->lay.ndim * sizeof *a->lay.shape;
    return a->dtype == b->dtype && a->device == b->device && a->lay.ndim == b->lay.ndim &&
           memcmp(a->lay.shape, b->lay.shape, bytes) == 0 &&
           memcmp(a->lay.stride, b->lay.stride, bytes) == 0 && a->lay.offset == b->lay.offset;
}

/* What the arguments of a node are like: one that stands behind it, one whose type changed, one
 * that requires grad. */
typedef struct dync__change_seen {
    dync__change *edit;
    const dync__node *node, *later; /* one of its arguments that stands behind it */
    bool changed, grad;
} dync__change_seen;
static void dync__change_look(void *user, dync__arg *a)
{
    dync__change_seen *s = user;
    const dync__node *n = a->as.node;
    bool before = n->index < s->node->index && s->edit->graph->node.at[n->index] == n;
    if (!before) s->later = n;
    s->changed = s->changed || n->mark == &s->edit->types;
    if (dync__node_has(s->node, DYNC__OP_SIZES) && n != s->node->args[0].as.node) return;
    for (int i = 0; n->has_info && i < n->nout; i++) s->grad = s->grad || n->requires_grad[i];
}

/* What a node gives, from what its arguments are now. */
static dync_status dync__change_gives(dync__change *e, dync__node *n, dync__info *info)
{
    if (n->op >= 0) return dync__change_infer(e, n, info);
    if (n->op != DYNC__NODE_GETITEM)
        return dync__fail(DYNC_ERR_UNSUPPORTED,
                          "%s: %s is a function of the user's that was traced for arguments of "
                          "other types",
                          e->who, n->name);
    const dync__node *list = n->args[0].as.node;
    int64_t i = n->args[1].as.i;
    if (!list->has_info || i < 0 || i >= list->nout)
        return dync__fail(DYNC_ERR_VALUE, "%s: %s: %s has no item %lld", e->who, n->name,
                          list->name, (long long)i);
    info[0] = list->info[i];
    info[0].alias = -1;
    return DYNC_OK;
}

/* Leaves a node alone whose arguments did not change and that is not new. A type that comes out as
 * it was ends the walk in that direction: readers see no change. */
DYNC__FN dync_status dync__change_retype(dync__change *e, dync__node *n)
{
    dync__info info[DYNC__MAX_OUT];
    dync__change_seen seen = {.edit = e, .node = n};
    dync__node_each_input(n, dync__change_look, &seen);
    if (seen.later)
        return dync__fail(DYNC_ERR_VALUE, "%s: %s reads %s, which does not stand before it", e->who,
                          n->name, seen.later->name);
    if (!dync__node_is_call(n) || (!n->has_info && n->mark != &e->types)) return DYNC_OK;
    if (!n->mark && !seen.changed) return DYNC_OK;
    memset(info, 0, sizeof info);
    DYNC__TRY(dync__change_gives(e, n, info));
    bool same = n->has_info && n->mark != &e->types;
    for (int i = 0; i < n->nout; i++) {
        if (!dync__change_settle(e->graph, &info[i])) return DYNC_ERR_MEMORY;
        same = same && dync__change_equal(&info[i], &n->info[i]);
    }
    if (same) return DYNC_OK;
    DYNC__TRY(dync__change_touch(e, n));
    n->mark = &e->types;
    n->has_info = n->nout > 0;
    for (int i = 0; i < n->nout; i++) {
        n->info[i] = info[i];
        n->requires_grad[i] = seen.grad && !dync__node_has(n, DYNC__OP_NONDIFF) &&
                              !dync__node_has(n, DYNC__OP_CUTS_GRAD) &&
                              dync__dtype_info(info[i].dtype)->kind == 'f';
    }
    return DYNC_OK;
}
