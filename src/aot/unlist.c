/* aot/unlist.c: a graph that takes lists of tensors (that of compiled autograd), for the compilers
 * behind: every item that the graph takes out of a list is an input of its own. Before
 * functionalize.c. */
#include "../dync.in.h"
#include "aot.h"
DYNC__COLD

/* Where each input of the graph comes from: item -1: the whole value. */
typedef struct dync__unlisted {
    dync_callable code;
    dync__graph *graph;
    size_t bytes;
    int n, *input, *item;
} dync__unlisted;

static bool dync__is_list_input(const dync__node *n)
{
    return n->kind == DYNC__N_PLACEHOLDER && !n->has_info && !n->sym &&
           !dync__arg_is_number(&n->scalar);
}

DYNC__FN bool dync__graph_takes_lists(const dync__graph *g)
{
    for (int i = 0; i < g->n_inputs; i++)
        if (dync__is_list_input(g->node.at[i])) return true;
    return false;
}

static bool dync__is_list_item(const dync__node *n)
{
    return n->op == DYNC__NODE_GETITEM && n->args[0].as.node->kind == DYNC__N_PLACEHOLDER &&
           dync__is_list_input(n->args[0].as.node);
}

/* A list goes, its items become inputs. */
static dync__node *dync__unlist_node(dync__rewrite *r, dync__node *old)
{
    dync__unlisted *u = r->user;
    bool item = dync__is_list_item(old);
    if (old->kind == DYNC__N_PLACEHOLDER && dync__is_list_input(old)) return old;
    if (!item && old->kind != DYNC__N_PLACEHOLDER) return dync__rewrite_copy(r, old);
    u->input[u->n] = item ? old->args[0].as.node->index : old->index;
    u->item[u->n++] = item ? (int)old->args[1].as.i : -1;
    return dync__rewrite_input(r, old, old->name);
}

static dync_status dync__unlist_values(const dync__unlisted *u, const dync_value *args, int nargs,
                                       dync_value *out)
{
    for (int i = 0; i < u->n; i++) {
        if (u->input[i] >= nargs)
            return dync__fail(DYNC_ERR_VALUE, "a compiled graph takes more than %d arguments",
                              nargs);
        dync_value v = args[u->input[i]];
        if (u->item[i] >= 0 && dync_len(v) <= u->item[i])
            return dync__fail(DYNC_ERR_VALUE,
                              "a compiled graph takes a list of more than %d tensors", u->item[i]);
        out[i] = u->item[i] >= 0 ? dync_at(v, u->item[i]) : v;
    }
    return DYNC_OK;
}

static dync_value dync__unlist_run(void *state, const dync_value *args, int nargs)
{
    const dync__unlisted *u = state;
    dync_value few[DYNC__FEW], *in = dync__room(few, DYNC__FEW, u->n, sizeof *in), r = DYNC_NONE;
    if (in && dync__unlist_values(u, args, nargs, in) == DYNC_OK)
        r = u->code.run(u->code.state, in, u->n);
    dync__room_end(in, few, u->n, sizeof *in);
    return r;
}

static void dync__unlist_destroy(void *state)
{
    dync__unlisted *u = state;
    if (u->code.destroy) u->code.destroy(u->code.state);
    dync__graph_unref(u->graph);
    dync__free(u, u->bytes);
}

static dync_status dync__unlist_narrow(void *state, const bool *used)
{
    dync__unlisted *u = state;
    return u->code.narrow ? u->code.narrow(u->code.state, used) : DYNC_OK;
}

static dync_status dync__unlist_make(dync__graph *g, const dync_value *ex, int n,
                                     const dync__options *options, dync__graph_compiler compile,
                                     void *user, dync_callable *out)
{
    size_t room = (size_t)(g->node.n + 1), bytes = sizeof(dync__unlisted) + 2 * room * sizeof(int);
    dync__unlisted *u = dync__calloc(bytes);
    if (!u) return DYNC_ERR_MEMORY;
    u->bytes = bytes;
    u->input = (int *)(void *)(u + 1);
    u->item = u->input + room;
    dync_status status = dync__graph_rewrite(g, dync__unlist_node, u, &u->graph);
    dync_value few[DYNC__FEW], *in = dync__room(few, DYNC__FEW, u->n, sizeof *in);
    if (!in) status = DYNC_ERR_MEMORY;
    if (status == DYNC_OK) status = dync__unlist_values(u, ex, n, in);
    if (status == DYNC_OK) status = compile(u->graph, in, u->n, options, &u->code, user);
    dync__room_end(in, few, u->n, sizeof *in);
    if (status != DYNC_OK) {
        dync__unlist_destroy(u);
        return status;
    }
    memset(out, 0, sizeof *out);
    out->run = dync__unlist_run;
    out->destroy = dync__unlist_destroy;
    out->narrow = dync__unlist_narrow;
    out->state = u;
    return DYNC_OK;
}

/* By need: in compiled autograd, and where a program brings graphs along. */
static dync_status (*DYNC__BY_NEED dync__unlist_used)(
    dync__graph *, const dync_value *ex, int n, const dync__options *, dync__graph_compiler,
    void *user, dync_callable *out) = DYNC__AT_FIRST(dync__unlist_make);
DYNC__FN void dync__aot_use_lists(void)
{
    DYNC__PUT(dync__unlist_used, dync__unlist_make);
    dync__raw_calls();
}
DYNC__FN dync_status dync__unlist_compile(dync__graph *g, const dync_value *ex, int n,
                                          const dync__options *options,
                                          dync__graph_compiler compile, void *user,
                                          dync_callable *out)
{
    if (!dync__unlist_used) return dync__unlinked("lists of tensors");
    return dync__unlist_used(g, ex, n, options, compile, user, out);
}
