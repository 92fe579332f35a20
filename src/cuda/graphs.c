/* cuda/graphs.c: inner compilers whose plan runs as a recorded graph: the cudagraphs backend and
 * inductor's option of that name. After launch.c.
 *
 * The first call runs plainly (texts are loaded, memory is warm). The second records: inputs that
 * came from the same address twice are taken to stay there (parameters); the others are copied to
 * fixed places first. From then on a call compares addresses, copies what moves, draws random
 * numbers' first index, launches the graph and hands out copies of its results. An input at a new
 * address of the first kind makes it fixed-place and records again; sizes cannot change, as AOT has
 * an inner callable for each. Inputs in main memory: no graph, said once. Source:
 * torch/_inductor/cudagraph_trees.py and torch/_dynamo/backends/cudagraphs.py of PyTorch. */
#include "../dync.in.h"
#include "cuda.h"
DYNC__HOT

typedef struct dync__cuda_graph {
    dync__inner inner;
    dync__mutex lock;
    int device, n_in, n_out, calls;
    void **address; /* of each input at the last call, or at the recording */
    bool *moves;    /* copied to a fixed place */
    dync__tensor **fixed, **result;
    cudaGraphExec_t exec;
    dync__cuda_recording kept; /* memory and random state of the recording */
    uint64_t rng_count;
    /* written by the graph: never copied, recorded again at another address */
    bool *stays;
    int n_stays;
    /* never recorded: something is in main memory, or recording failed */
    bool plain;
} dync__cuda_graph;

static void dync__cuda_graph_drop(dync__cuda_graph *g)
{
    if (g->exec) {
        (void)dync__cuda_enter(g->device);
        (void)cudaStreamSynchronize(g->kept.stream);
        (void)cudaGraphExecDestroy(g->exec);
    }
    g->exec = NULL;
    for (int i = 0; i < g->n_in && g->fixed; i++) {
        dync__unref(g->fixed[i]);
        g->fixed[i] = NULL;
    }
    for (int i = 0; i < g->n_out && g->result; i++) {
        dync__unref(g->result[i]);
        g->result[i] = NULL;
    }
    for (int i = 0; i < g->kept.kept.n; i++)
        dync__cuda_free(g->kept.kept.at[i].device, g->kept.kept.at[i].p, g->kept.kept.at[i].n);
    dync__vec_free(&g->kept.kept);
    if (g->kept.rng) dync__cuda_free(g->device, g->kept.rng, 16);
    g->kept.rng = NULL;
}

static void dync__cuda_graph_destroy(void *state)
{
    dync__cuda_graph *g = state;
    dync__cuda_graph_drop(g);
    if (g->kept.stream) (void)cudaStreamDestroy(g->kept.stream);
    if (g->inner.destroy) g->inner.destroy(g->inner.state);
    dync__free(g->address, (size_t)(g->n_in + 1) * sizeof *g->address);
    dync__free(g->moves, (size_t)g->n_in + 1);
    dync__free(g->stays, (size_t)g->n_stays + 1);
    dync__free(g->fixed, (size_t)(g->n_in + 1) * sizeof *g->fixed);
    dync__free(g->result, (size_t)(g->n_out + 1) * sizeof *g->result);
    dync__free(g, sizeof *g);
}

static dync_status dync__cuda_graph_narrow(void *state, const bool *used)
{
    dync__cuda_graph *g = state;
    dync__lock(&g->lock);
    dync__cuda_graph_drop(g);
    g->calls = 0;
    dync__unlock(&g->lock);
    return g->inner.narrow ? g->inner.narrow(g->inner.state, used) : DYNC_OK;
}

static dync_status dync__cuda_graph_room(dync__cuda_graph *g, int n_in, int n_out)
{
    if (g->address) return DYNC_OK;
    g->n_in = n_in;
    g->n_out = n_out;
    g->address = dync__calloc((size_t)(n_in + 1) * sizeof *g->address);
    g->moves = dync__calloc((size_t)n_in + 1);
    g->fixed = dync__calloc((size_t)(n_in + 1) * sizeof *g->fixed);
    g->result = dync__calloc((size_t)(n_out + 1) * sizeof *g->result);
    if (!g->address || !g->moves || !g->fixed || !g->result) return DYNC_ERR_MEMORY;
    return dync__cuda_check(cudaStreamCreateWithFlags(&g->kept.stream, DYNC__CU_NON_BLOCKING),
                            "cudaStreamCreateWithFlags");
}

static size_t dync__cuda_span_bytes(const dync__tensor *t)
{
    dync__layout lay = t->lay;
    lay.offset = 0;
    return (size_t)dync__layout_span(&lay) * dync__dtype_info(t->dtype)->bytes;
}

/* Inputs as the graph sees them: themselves, or their fixed places. Fresh references. */
static dync_status dync__cuda_graph_inputs(dync__cuda_graph *g, dync__tensor *const *in,
                                           dync__tensor **seen)
{
    for (int i = 0; i < g->n_in; i++) {
        if (!g->moves[i]) {
            dync__ref(seen[i] = in[i]);
            g->address[i] = dync__tensor_data(in[i]);
            continue;
        }
        dync__layout lay = in[i]->lay;
        lay.offset = 0;
        if (!(seen[i] = dync__tensor_empty(in[i]->dtype, in[i]->device, &lay)))
            return DYNC_ERR_MEMORY;
        dync__ref(g->fixed[i] = seen[i]);
    }
    return DYNC_OK;
}

static dync_status dync__cuda_graph_capture(dync__cuda_graph *g, dync__tensor *const *seen,
                                            cudaGraph_t *graph)
{
    dync__cuda_recording *r = &g->kept;
    cudaStream_t stream = r->stream;
    uint64_t first = dync__tls.rng_offset;
    r->device = g->device;
    r->failed = r->left = false;
    r->rng_first = first;
    if (!(r->rng = dync__cuda_alloc(g->device, 16))) return DYNC_ERR_MEMORY;
    DYNC__TRY(dync__cuda_check(cudaStreamBeginCapture(stream, DYNC__CU_CAPTURE_RELAXED),
                               "cudaStreamBeginCapture"));
    dync__cuda_tls.recording = r;
    dync_status status = g->inner.run(g->inner.state, g->n_in, seen, g->n_out, g->result);
    dync__cuda_tls.recording = NULL;
    g->rng_count = dync__tls.rng_offset - first;
    dync__tls.rng_offset = first; /* the replay draws them */
    cudaError_t e = cudaStreamEndCapture(stream, graph);
    if (status == DYNC_OK) status = dync__cuda_check(e, "cudaStreamEndCapture");
    return status == DYNC_OK && r->failed ? DYNC_ERR_MEMORY : status;
}

static dync_status dync__cuda_graph_make(dync__cuda_graph *g, dync__tensor *const *in)
{
    cudaGraph_t graph = NULL;
    size_t bytes = (size_t)(g->n_in + 1) * sizeof(dync__tensor *);
    dync__tensor **seen = dync__calloc(bytes);
    dync_status status = seen ? dync__cuda_graph_inputs(g, in, seen) : DYNC_ERR_MEMORY;
    if (status == DYNC_OK) status = dync__cuda_graph_capture(g, seen, &graph);
    if (status == DYNC_OK && g->kept.left) {
        g->plain = true;
        dync__log(DYNC__LOG_perf, "cudagraphs: a step runs on the CPU: run plainly");
    } else if (status == DYNC_OK)
        status = dync__cuda_check(cudaGraphInstantiateWithFlags(&g->exec, graph, 0),
                                  "cudaGraphInstantiate");
    if (graph) (void)cudaGraphDestroy(graph);
    for (int i = 0; seen && i < g->n_in; i++) dync__unref(seen[i]);
    dync__free(seen, bytes);
    if (status != DYNC_OK || g->plain)
        dync__cuda_graph_drop(g);
    else
        (void)DYNC__ATOMIC_ADD(&dync__cuda_counters.recordings, 1);
    return status;
}

/* A result: an alias of the caller's input where it is one of the seen input's, else a copy of what
 * the graph has written. */
static dync__tensor *dync__cuda_graph_result(dync__cuda_graph *g, int i, dync__tensor *const *in)
{
    const dync__tensor *t = g->result[i];
    for (int k = 0; k < g->n_in; k++) {
        const dync__tensor *seen = g->fixed[k] ? g->fixed[k] : NULL;
        if (seen && seen->storage == t->storage) {
            dync__layout lay = t->lay;
            lay.offset += in[k]->lay.offset;
            return dync__tensor_alias(in[k], t->dtype, &lay);
        }
        if (!seen && in[k]->storage->data == t->storage->data && t->storage->data)
            return dync__tensor_alias(in[k], t->dtype, &t->lay);
    }
    dync__storage *s = NULL;
    s = dync__storage_new(g->device, t->storage->size_bytes);
    if (s && dync__cuda_copy_later(g->device, s->data, g->device, t->storage->data,
                                   t->storage->size_bytes) != DYNC_OK) {
        dync__storage_unref(s);
        s = NULL;
    }
    return s ? dync__tensor_new(s, t->dtype, &t->lay) : NULL;
}

/* Results that share a storage share the copy too. */
static dync_status dync__cuda_graph_results(dync__cuda_graph *g, dync__tensor *const *in,
                                            dync__tensor **out)
{
    for (int i = 0; i < g->n_out; i++) {
        out[i] = NULL;
        if (!g->result[i]) continue;
        for (int j = 0; j < i && !out[i]; j++)
            if (g->result[j] && g->result[j]->storage == g->result[i]->storage && out[j])
                out[i] = dync__tensor_alias(out[j], g->result[i]->dtype, &g->result[i]->lay);
        if (!out[i] && !(out[i] = dync__cuda_graph_result(g, i, in))) return DYNC_ERR_MEMORY;
    }
    return DYNC_OK;
}

static dync_status dync__cuda_graph_replay(dync__cuda_graph *g, dync__tensor *const *in,
                                           dync__tensor **out)
{
    for (int i = 0; i < g->n_in; i++)
        if (g->moves[i] && in[i]->numel)
            DYNC__TRY(dync__cuda_copy_later(g->device, g->fixed[i]->storage->data, g->device,
                                            dync__tensor_data(in[i]),
                                            dync__cuda_span_bytes(in[i])));
    if (g->rng_count) {
        uint64_t state[2] = {dync__tls.rng_seed, dync__rng_take(g->rng_count)};
        DYNC__TRY(dync__cuda_copy_later(g->device, g->kept.rng, DYNC_CPU, state, sizeof state));
    }
    DYNC__TRY(dync__cuda_check(cudaGraphLaunch(g->exec, dync__cuda_stream(g->device)),
                               "cudaGraphLaunch"));
    (void)DYNC__ATOMIC_ADD(&dync__cuda_counters.replays, 1);
    return dync__cuda_graph_results(g, in, out);
}

/* Whether a graph can serve these inputs; notes what moves. *again: the recording has to go. */
static bool dync__cuda_graph_look(dync__cuda_graph *g, dync__tensor *const *in, bool *again)
{
    for (int i = 0; i < g->n_in; i++) {
        void *p = dync__tensor_data(in[i]);
        if (in[i]->device != g->device) return false;
        if (g->calls > 0 && !g->moves[i] && p != g->address[i]) {
            *again = true;
            g->moves[i] = i >= g->n_stays || !g->stays[i];
        }
        g->address[i] = p;
    }
    return true;
}

static dync_status dync__cuda_graph_run(void *state, int n_in, dync__tensor *const *in, int n_out,
                                        dync__tensor **out)
{
    dync__cuda_graph *g = state;
    bool again = false;
    dync__lock(&g->lock);
    dync_status status = dync__cuda_enter(g->device);
    if (status == DYNC_OK) status = dync__cuda_graph_room(g, n_in, n_out);
    if (status == DYNC_OK && !g->plain && !dync__cuda_graph_look(g, in, &again)) {
        g->plain = true;
        dync__log(DYNC__LOG_perf, "cudagraphs: an input is in main memory: run plainly");
    }
    if (again) dync__cuda_graph_drop(g);
    if (status != DYNC_OK || g->plain || g->calls == 0 || dync__cuda_tls.recording) {
        g->calls = 1;
        dync__unlock(&g->lock);
        return status != DYNC_OK ? status : g->inner.run(g->inner.state, n_in, in, n_out, out);
    }
    if (!g->exec) status = dync__cuda_graph_make(g, in);
    if (g->plain) {
        dync__unlock(&g->lock);
        return status != DYNC_OK ? status : g->inner.run(g->inner.state, n_in, in, n_out, out);
    }
    if (status == DYNC_OK) status = dync__cuda_graph_replay(g, in, out);
    dync__unlock(&g->lock);
    return status;
}

DYNC__FN dync_status dync__cuda_record(int device, const dync__graph *graph, dync__inner *inner)
{
    dync__cuda_graph *g = dync__calloc(sizeof *g);
    if (!g) return DYNC_ERR_MEMORY;
    g->n_stays = graph->n_inputs;
    if (!(g->stays = dync__calloc((size_t)g->n_stays + 1))) {
        dync__free(g, sizeof *g);
        return DYNC_ERR_MEMORY;
    }
    for (int i = 0; i < graph->over.n; i++)
        if (graph->over.at[i] >= 0 && graph->over.at[i] < g->n_stays)
            g->stays[graph->over.at[i]] = true;
    g->inner = *inner;
    g->device = device;
    memset(inner, 0, sizeof *inner);
    inner->run = dync__cuda_graph_run;
    inner->destroy = dync__cuda_graph_destroy;
    inner->narrow = dync__cuda_graph_narrow;
    inner->state = g;
    return DYNC_OK;
}
