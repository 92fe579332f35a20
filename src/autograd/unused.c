/* autograd/unused.c: operators with functions inside that ran as what their functions do: inputs
 * that no result comes from get zeros for a gradient, and every floating result has a history, as
 * those of a recorded operator. After own.c.
 *
 *   before   result -> what the function did -> inputs
 *   after    result -> Unused -> what the function did -> inputs
 *                            `--> all inputs
 *
 * Which inputs a result comes from is found once, by a walk over the nodes made meanwhile. */
#include "../dync.in.h"
#include "node.h"
DYNC__COLD

typedef struct dync__unused_input {
    dync__layout lay;
    int dtype, device;
} dync__unused_input;

/* the state of the node */
typedef struct dync__unused {
    size_t bytes; /* of all */
    int n_in, n_out;
    dync__unused_input *in; /* n_in */
    bool *comes;            /* [input][result]: does the result come from the input? */
} dync__unused;

static void dync__unused_destroy(void *state) { dync__free(state, ((dync__unused *)state)->bytes); }

static dync_status dync__unused_zeros(const dync__unused_input *in, dync__tensor **out)
{
    dync__arg args[3] = {dync__arg_dims(in->lay.ndim, in->lay.shape), dync__arg_dtype(in->dtype),
                         dync__arg_device(in->device)};
    return dync__op_run(DYNC__OP_zeros, 3, args, out);
}

/* Edges: the results, then the inputs. */
static dync_status dync__unused_run(void *state, int n_out, dync__tensor *const *grad_out, int n_in,
                                    const bool *needed, dync__tensor **grad_in, bool create_graph)
{
    const dync__unused *u = state;
    (void)create_graph;
    for (int i = 0; i < n_out; i++)
        if (grad_out[i] && needed[i]) dync__ref(grad_in[i] = grad_out[i]);
    for (int k = 0; k < n_in - n_out; k++) {
        bool comes = false;
        for (int i = 0; i < n_out; i++) comes = comes || (grad_out[i] && u->comes[k * n_out + i]);
        if (!comes && needed[n_out + k])
            DYNC__TRY(dync__unused_zeros(&u->in[k], &grad_in[n_out + k]));
    }
    return DYNC_OK;
}

static dync_status dync__unused_visit(void *state, dync__gvisitor *v)
{
    dync__unused *u = state;
    for (int i = 0; i < u->n_in * u->n_out; i++) v->word(v, u->comes[i]);
    for (int k = 0; k < u->n_in; k++) {
        v->word(v, (uint64_t)u->in[k].dtype | (uint64_t)u->in[k].device << 8);
        v->layout(v, u->in[k].lay.ndim, u->in[k].lay.shape, NULL);
    }
    return DYNC_OK;
}
static const dync__gnode_class dync__unused_class = {DYNC__TEXT("Unused"), dync__unused_run, NULL,
                                                     dync__unused_destroy, dync__unused_visit};

static dync__unused *dync__unused_new(int n_in, dync__tensor *const *in, int n_out)
{
    size_t head = sizeof(dync__unused) + (size_t)n_in * sizeof(dync__unused_input);
    size_t bytes = head + (size_t)n_in * (size_t)n_out + 1;
    dync__unused *u = dync__calloc(bytes);
    if (!u) return NULL;
    u->bytes = bytes;
    u->n_in = n_in;
    u->n_out = n_out;
    u->in = (dync__unused_input *)(void *)(u + 1);
    u->comes = (bool *)u + head;
    for (int k = 0; k < n_in; k++) {
        u->in[k].lay = in[k]->lay;
        u->in[k].dtype = in[k]->dtype;
        u->in[k].device = in[k]->device;
    }
    return u;
}

/* ---- which inputs does a result come from? --------------------------------------------------- */
typedef struct dync__unused_walk {
    DYNC__VEC(const dync__gnode *) waiting;
    dync__map seen;
    uint64_t since; /* older nodes are what the inputs come from */
    int n_in;
    const dync__gedge *in;
} dync__unused_walk;

/* false: no memory */
static bool dync__unused_edge(dync__unused_walk *w, const dync__gedge *edge, bool *comes, int step)
{
    uint64_t known, key = (uint64_t)(uintptr_t)edge->node;
    if (!edge->node) return true;
    for (int k = 0; k < w->n_in; k++)
        if (w->in[k].node == edge->node && w->in[k].nr == edge->nr) comes[k * step] = true;
    if (edge->node->seq < w->since || dync__gnode_is_accumulate(edge->node)) return true;
    if (dync__map_get(&w->seen, key, &known)) return true;
    return dync__map_put(&w->seen, key, 1) && dync__vec_push(&w->waiting, edge->node);
}

/* comes[k * step] for each input k, of one result. */
static dync_status dync__unused_result(dync__unused_walk *w, dync__tensor *result, bool *comes,
                                       int step)
{
    dync__gedge first;
    DYNC__TRY(dync__grad_edge(result, &first));
    bool ok = dync__unused_edge(w, &first, comes, step);
    while (ok && w->waiting.n) {
        const dync__gnode *node = w->waiting.at[--w->waiting.n];
        for (int i = 0; i < node->n_in && ok; i++)
            ok = dync__unused_edge(w, &node->edge[i], comes, step);
    }
    dync__gnode_unref(first.node);
    dync__vec_free(&w->waiting);
    dync__map_free(&w->seen);
    return ok ? DYNC_OK : DYNC_ERR_MEMORY;
}

/* *all: every floating result comes from every input that requires a gradient. */
static dync_status dync__unused_find(dync__unused *u, uint64_t since, dync__tensor *const *in,
                                     dync__tensor *const *out, bool *all)
{
    dync__gedge *edge = dync__calloc((size_t)(u->n_in + 1) * sizeof *edge);
    dync__unused_walk w = {.since = since, .n_in = u->n_in, .in = edge};
    dync_status status = edge ? DYNC_OK : DYNC_ERR_MEMORY;
    *all = true;
    for (int k = 0; k < u->n_in && status == DYNC_OK; k++)
        status = dync__grad_edge(in[k], &edge[k]);
    for (int i = 0; i < u->n_out && status == DYNC_OK; i++) {
        if (!dync__is_float_dtype(out[i]->dtype)) continue;
        status = dync__unused_result(&w, out[i], u->comes + i, u->n_out);
        for (int k = 0; k < u->n_in; k++)
            *all = *all && (!edge[k].node || u->comes[k * u->n_out + i]);
    }
    for (int k = 0; edge && k < u->n_in; k++) dync__gnode_unref(edge[k].node);
    dync__free(edge, (size_t)(u->n_in + 1) * sizeof *edge);
    return status;
}

/* ---- the node -------------------------------------------------------------------------------- */
/* Owned results go over to others on their memory, with the node; u is taken over. */
static dync_status dync__unused_attach(dync__unused *u, dync__tensor *const *in, dync__tensor **out)
{
    int n = u->n_in + u->n_out, n_out = u->n_out;
    size_t bytes = (size_t)(n + n_out) * sizeof(dync__tensor *);
    dync__tensor **from = dync__calloc(bytes);
    if (!from) return dync__unused_destroy(u), DYNC_ERR_MEMORY;
    dync__tensor **made = from + n;
    memcpy(from, out, (size_t)n_out * sizeof *from);
    memcpy(from + n_out, in, (size_t)u->n_in * sizeof *from);
    dync_status status = DYNC_OK;
    for (int i = 0; i < n_out && status == DYNC_OK; i++) {
        if (!dync__is_float_dtype(out[i]->dtype)) continue;
        made[i] = dync__tensor_alias(out[i], out[i]->dtype, &out[i]->lay);
        if (!made[i]) status = DYNC_ERR_MEMORY;
    }
    if (status == DYNC_OK)
        status = dync__tape_attach(&dync__unused_class, u, n, from, n_out, made, NULL);
    else
        dync__unused_destroy(u);
    for (int i = 0; i < n_out; i++) {
        if (!made[i]) continue;
        dync__unref(status == DYNC_OK ? out[i] : made[i]);
        if (status == DYNC_OK) out[i] = made[i];
    }
    dync__free(from, bytes);
    return status;
}

DYNC__FN dync_status dync__tape_unused(uint64_t since, int n_in, dync__tensor *const *in, int n_out,
                                       dync__tensor **out)
{
    bool wanted = false, all = true;
    for (int k = 0; k < n_in && !DYNC__GRAD_NONE; k++)
        wanted = wanted || dync__tensor_requires_grad(in[k]);
    if (!wanted || dync__grad_is_off()) return DYNC_OK;
    dync__unused *u = dync__unused_new(n_in, in, n_out);
    if (!u) return DYNC_ERR_MEMORY;
    dync_status status = dync__unused_find(u, since, in, out, &all);
    if (status == DYNC_OK && !all) return dync__unused_attach(u, in, out);
    dync__unused_destroy(u);
    return status;
}
