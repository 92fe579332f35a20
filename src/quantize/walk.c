/* quantize/walk.c: the graph node by node, for ranges or under export. After pointwise.c. */
#include "../dync.in.h"
#include "quantize.h"
DYNC__COLD

/* The first that takes a node decides: the general ones (tables) stand last. */
static const dync__quant_rule dync__quant_rules[] = {
    dync__quant_before_recurrent,
    dync__quant_linear,
    dync__quant_conv,
    dync__quant_conv_transposed,
    dync__quant_mean,
    dync__quant_avg_pool,
    dync__quant_adaptive_pool,
    dync__quant_embedding,
    dync__quant_moves,
    dync__quant_pad,
    dync__quant_places,
    dync__quant_add,
    dync__quant_mul,
    dync__quant_cat,
    dync__quant_softmax,
    dync__quant_recurrent,
    dync__quant_table,
};

/* What only moves floats, or makes some of nothing, is no layer. */
static bool dync__quant_computes(const dync__node *n)
{
    bool reads = false;
    for (int i = 0; i < n->nargs; i++)
        reads = reads || n->args[i].kind == DYNC__A_NODE || n->args[i].kind == DYNC__A_LIST;
    return reads && !dync__quant_only_moves(n) && n->op != DYNC__OP_cat && n->op != DYNC__OP_stack;
}

/* Lists a node that stays float, for the report; the list is cut where it is full. */
static void dync__quant_note(dync__quantizer *z, const dync__node *n)
{
    char *text = z->report.kept_float;
    size_t used = strlen(text), cap = sizeof z->report.kept_float;
    z->report.float_layers++;
    dync__format(text + used, cap - used, "%s%s", used ? ", " : "", n->name);
}

/* The node as it is: a constant, an item of a list, or an operator over float values. */
static dync_status dync__quant_float(dync__quantizer *z, const dync__node *n, bool build)
{
    dync__arg args[DYNC__MAX_ARGS], *out = &z->value[n->index].arg;
    if (n->kind == DYNC__N_GET_ATTR) {
        *out = dync__arg_t(n->value);
        return n->value ? DYNC_OK : DYNC_ERR_VALUE;
    }
    if (n->op == DYNC__NODE_GETITEM) {
        dync__arg list = dync__quant_plain(z, n->args[0].as.node);
        if (list.kind != DYNC__A_LIST || n->args[1].as.i >= list.n) return DYNC_ERR_INTERNAL;
        *out = list.as.list[n->args[1].as.i];
        return DYNC_OK;
    }
    if (n->op < 0 || n->nargs > DYNC__MAX_ARGS)
        return dync__fail(DYNC_ERR_UNSUPPORTED,
                          "dync_quantize_program: %s (%s:%d) is no operator of the table", n->name,
                          n->at.file ? n->at.file : "?", n->at.line);
    bool rnn = n->op == DYNC__OP__rnn_layer && !build;
    if (build && dync__quant_computes(n)) dync__quant_note(z, n);
    DYNC__TRY(dync__quant_args(z, n, args));
    if (rnn) args[7] = dync__arg_b(true); /* so that cells are there to be seen */
    DYNC__TRY(dync__quant_call(z, n, args, out));
    return rnn ? dync__quant_observe_states(z, n, args, out) : DYNC_OK;
}

/* What is made of constants alone is one, from the first walk on. Lists and random or writing
 * operators are not constants. */
static dync_status dync__quant_know(dync__quantizer *z, const dync__node *n)
{
    dync__tensor *t = z->value[n->index].arg.as.t;
    bool all = n->kind == DYNC__N_GET_ATTR || (n->nargs > 0 && dync__node_is_pure(n));
    for (int i = 0; i < n->nargs; i++) {
        bool node = n->args[i].kind == DYNC__A_NODE;
        all = all && n->args[i].kind != DYNC__A_LIST &&
              (node ? z->known[n->args[i].as.node->index] != NULL : i > 0);
    }
    if (!all || z->value[n->index].arg.kind != DYNC__A_TENSOR) return DYNC_OK;
    if (!dync__avec_push(&z->arena, &z->constant, t)) return DYNC_ERR_MEMORY;
    dync__ref(t);
    z->known[n->index] = t;
    return DYNC_OK;
}

/* build: under export, where rules apply; otherwise every node is computed in floats and its range
 * is observed. */
static dync_status dync__quant_node(dync__quantizer *z, const dync__node *n, bool build)
{
    dync__qvalue *v = &z->value[n->index];
    if (build && z->absorbed[n->index]) {
        *v = z->value[n->args[0].as.node->index];
        return DYNC_OK;
    }
    const dync__qvalue *from = n->op == DYNC__NODE_GETITEM ? &z->value[n->args[0].as.node->index]
                                                           : NULL;
    if (from && from->item) {
        *v = from->item[n->args[1].as.i];
        return DYNC_OK;
    }
    if (z->known[n->index]) {
        v->arg = dync__arg_t((dync__tensor *)(uintptr_t)z->known[n->index]);
        return DYNC_OK;
    }
    for (int i = 0; build && n->op >= 0 && i < DYNC__COUNT_OF(dync__quant_rules); i++) {
        z->status = DYNC_OK;
        if (dync__quant_rules[i](z, n)) return z->status;
    }
    DYNC__TRY(dync__quant_float(z, n, build));
    if (build) return DYNC_OK;
    DYNC__TRY(dync__quant_know(z, n));
    return v->arg.kind == DYNC__A_TENSOR ? dync__quant_observe(z, n, v->arg.as.t) : DYNC_OK;
}

/* in: the graph's inputs. *out: what it returns, as its output node says. */
DYNC__FN dync_status dync__quant_walk(dync__quantizer *z, dync__tensor *const *in, bool build,
                                      dync__arg *out)
{
    const dync__graph *g = z->g;
    memset(z->value, 0, (size_t)g->node.n * sizeof *z->value);
    for (int i = 0; i < g->node.n; i++) {
        const dync__node *n = g->node.at[i];
        if (n->kind == DYNC__N_PLACEHOLDER) {
            z->value[i].arg = dync__arg_t(in[i]);
            if (!build) DYNC__TRY(dync__quant_observe(z, n, in[i]));
        } else if (n->kind == DYNC__N_OUTPUT) {
            return dync__quant_args(z, n, out);
        } else {
            DYNC__TRY(dync__quant_node(z, n, build));
        }
    }
    return DYNC_ERR_INTERNAL;
}
