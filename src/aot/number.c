/* aot/number.c: a graph that takes, reads and gives symbolic numbers as one of tensors only: each
 * is a 0-dim tensor, int64 or float64; where an operator has it as a scalar operand it is converted
 * to the dtype that the operator computes in, which promotes as the number did. Before
 * functionalize.c sees the graph. */
#include "../dync.in.h"
#include "aot.h"
DYNC__COLD

DYNC__FN bool dync__graph_has_numbers(const dync__graph *g)
{
    for (int i = 0; i < g->n_inputs && i < g->node.n; i++)
        if (!g->node.at[i]->has_info && dync__arg_is_number(&g->node.at[i]->scalar)) return true;
    return false;
}

static bool dync__node_is_number(const dync__node *n)
{
    return !n->has_info && dync__arg_is_number(&n->scalar);
}
static int dync__number_dtype(const dync__arg *a)
{
    return a->kind == DYNC__A_FLOAT ? (int)DYNC__REAL : (int)DYNC_I64;
}

static dync__info dync__number_info(int dtype)
{
    dync__info info = {.dtype = dtype, .device = DYNC_CPU, .alias = -1};
    return info;
}

static dync__node *dync__numbers_cast(dync__rewrite *r, dync__node *x, int dtype)
{
    dync__info info = dync__number_info(dtype);
    dync__arg args[2] = {dync__arg_node(x), dync__arg_dtype(dtype)};
    return x->info[0].dtype == dtype
               ? x
               : dync__graph_call(r->to, DYNC__USED(DYNC__OP_to_dtype), 2, args, 1, &info, NULL);
}

/* The dtype of the call's operands, from the types of its arguments. */
static int dync__numbers_common(const dync__node *old)
{
    dync__tensor form[DYNC__MAX_ARGS];
    dync__arg args[DYNC__MAX_ARGS];
    for (int i = 0; i < old->nargs; i++) {
        args[i] = old->args[i];
        if (args[i].kind != DYNC__A_NODE) continue;
        const dync__node *x = args[i].as.node;
        memset(&form[i], 0, sizeof form[i]);
        form[i].dtype = (uint8_t)x->info[0].dtype;
        form[i].lay.ndim = x->info[0].lay.ndim;
        args[i] = dync__node_is_number(x) ? x->scalar : dync__arg_t(&form[i]);
    }
    int op = dync__op_info(old->op)->cls == DYNC__INPLACE ? dync__op_info(old->op)->inplace_of
                                                          : old->op;
    dync__opcall call = {.row = dync__op_info(op), .op = op, .nargs = old->nargs, .args = args};
    return dync__op_common_dtype(&call);
}

/* Arithmetic on numbers: both sides in the type of the result. */
static dync__node *dync__numbers_sum(dync__rewrite *r, const dync__node *old)
{
    int dtype = dync__number_dtype(&old->scalar);
    dync__info info = dync__number_info(dtype);
    dync__arg args[2];
    for (int i = 0; i < 2; i++) {
        args[i] = old->args[i];
        if (args[i].kind != DYNC__A_NODE) continue;
        args[i].as.node = dync__numbers_cast(r, dync__rewrite_at(r, args[i].as.node), dtype);
        if (!args[i].as.node) return NULL;
    }
    return dync__graph_call(r->to, old->op, 2, args, 1, &info, old->name);
}

static dync__node *dync__numbers_call(dync__rewrite *r, dync__node *old)
{
    bool any = false;
    for (int i = 0; i < old->nargs; i++)
        any = any ||
              (old->args[i].kind == DYNC__A_NODE && dync__node_is_number(old->args[i].as.node));
    if (!any || old->op < 0 || old->nargs > DYNC__MAX_ARGS) return dync__rewrite_copy(r, old);
    int common = dync__numbers_common(old),
        half = common == DYNC_F16 || common == DYNC_BF16 ? common : -1;
    /* no tensor has dimensions: a wider number would widen the result */
    bool scalar = true;
    /* f16 and bf16 are computed in f32, a number is not rounded before */
    if (half >= 0) common = DYNC_F32;
    for (int i = 0; i < old->nargs; i++)
        scalar = scalar &&
                 (old->args[i].kind != DYNC__A_NODE || dync__node_is_number(old->args[i].as.node) ||
                  !old->args[i].as.node->info[0].lay.ndim);
    dync__node *number[DYNC__MAX_ARGS] = {0};
    for (int i = 0; i < old->nargs; i++) {
        if (old->args[i].kind != DYNC__A_NODE || !dync__node_is_number(old->args[i].as.node))
            continue;
        number[i] = dync__numbers_cast(r, dync__rewrite_at(r, old->args[i].as.node), common);
        if (!number[i]) return NULL;
    }
    dync__node *n = dync__rewrite_copy(r, old);
    for (int i = 0; n && i < old->nargs; i++)
        if (number[i]) n->args[i] = dync__arg_node(number[i]);
    if (!n || !scalar || half < 0 || old->info[0].dtype != half ||
        dync__op_info(old->op)->cls == DYNC__INPLACE)
        return n;
    n->info[0].dtype = DYNC_F32;
    return dync__numbers_cast(r, n, half);
}

/* A float that is read: the element itself, apart from its history. */
static dync__node *dync__numbers_item(dync__rewrite *r, const dync__node *old)
{
    dync__node *x = dync__rewrite_at(r, old->args[0].as.node);
    dync__arg args[2] = {dync__arg_node(x), dync__arg_dims(0, NULL)};
    if (!x) return NULL;
    dync__info info = x->info[0];
    info.alias = 0;
    x = dync__graph_call(r->to, DYNC__USED(DYNC__OP_detach), 1, args, 1, &info, NULL);
    if (x && info.lay.ndim) {
        args[0] = dync__arg_node(x);
        info.lay.ndim = 0;
        x = dync__graph_call(r->to, DYNC__USED(DYNC__OP_reshape), 2, args, 1, &info, NULL);
    }
    return x ? dync__numbers_cast(r, x, DYNC__REAL) : NULL;
}

static dync__node *dync__numbers_node(dync__rewrite *r, dync__node *old)
{
    if (old->kind == DYNC__N_OUTPUT) return dync__rewrite_copy(r, old);
    if (!dync__node_is_number(old))
        return old->kind == DYNC__N_PLACEHOLDER ? dync__rewrite_copy(r, old)
                                                : dync__numbers_call(r, old);
    if (dync__op_is_item(old->op)) return dync__numbers_item(r, old);
    if (old->kind != DYNC__N_PLACEHOLDER) return dync__numbers_sum(r, old);
    dync__info info = dync__number_info(dync__number_dtype(&old->scalar));
    dync__node *n = dync__graph_placeholder(r->to, old->name, old->source, &info);
    if (n) n->env = old->env;
    return n;
}

DYNC__FN dync_status dync__graph_numbers(dync__graph *g, dync__graph **out)
{
    return dync__graph_rewrite(g, dync__numbers_node, NULL, out);
}

/* By need: where numbers are symbolic, a program has cells, or brings graphs along. */
static dync_status (*DYNC__BY_NEED dync__numbers_used)(dync__graph *, dync__graph **out) =
    DYNC__AT_FIRST(dync__graph_numbers);
DYNC__FN void dync__aot_use_numbers(void) { DYNC__PUT(dync__numbers_used, dync__graph_numbers); }
DYNC__FN dync_status dync__graph_of_tensors(dync__graph *g, dync__graph **out)
{
    if (!dync__graph_has_numbers(g)) return *out = dync__graph_ref(g), DYNC_OK;
    return dync__numbers_used ? dync__numbers_used(g, out) : dync__unlinked("symbolic numbers");
}
