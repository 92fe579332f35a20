/* compile/compiled_autograd.c: a whole backward captured at run time and compiled. After compile.c:
 * it stands on capture.
 *
 * While it is on in a thread, a backward is not walked but looked up. What the walk depends on is
 * told by the nodes (autograd/visit.c): words that must be the same, sizes, and saved tensors.
 * Saved tensors, seeds and gradients that leaves have already become one list of inputs. A backward
 * of a form not met before gets an ordinary compiled function of that list: its body walks the
 * nodes with the list's tensors put in the place of the saved ones, so that capture records the
 * operators of rules, AOT backward graphs and hook bodies. Gradients leave the graph as outputs and
 * are given to the leaves after every run.
 *
 * Sizes: a size in a node that an input has as well is bound to it: it is whatever that input's is,
 * and symbolic where capture makes that symbolic. Sizes that no input has are bound to one more
 * input, a tensor without elements of its own that only has them. Another call finds the entry if
 * every bound size agrees with its input and every other one is the same. */
#include "../dync.in.h"
#include "../capture/trace.h"
#include "../backend/backend.h"
#include "../autograd/node.h"

enum { DYNC__CA_ENTRIES = 256, DYNC__CA_RECOMPILES = 64, DYNC__CA_DEPTH = 8 };
typedef enum {
    DYNC__CA_SET /* the new gradient of a leaf */,
    DYNC__CA_ADDED /* in place */,
    DYNC__CA_RETAIN,
    DYNC__CA_CAPTURE
} dync__ca_kind;
/* index: of the hook, or the capture */
typedef struct dync__ca_result {
    dync__ca_kind kind;
    int node, index;
} dync__ca_result;
/* input -1: always this size; one past the last: the carrier */
typedef struct dync__ca_source {
    int input, dim;
    int64_t size;
} dync__ca_source;
typedef struct dync__ca_entry {
    struct dync__ca_entry *next;
    uint64_t hash, *word;
    int n_words, n_sizes;
    dync__ca_source *source;
    int n_carried, carried[DYNC_MAX_DIMS]; /* sizes that the carrier has, by place */
    dync_backend backend;
    dync__compiled *f;
    bool known; /* traced once: results are those of every run */
    int32_t tracing;
    DYNC__VEC(dync__ca_result) result;
} dync__ca_entry;
static struct {
    dync__mutex lock;
    dync__ca_entry *first;
    int n;
    bool warned;
} dync__ca_cache;

typedef struct dync__ca_slot {
    dync__tensor **at, *was;
    uint32_t *version, version_was;
    int input;
} dync__ca_slot;
/* first: of its sizes; stride NULL: not dense; order: from the smallest stride on */
typedef struct dync__ca_shape {
    int ndim, first;
    int64_t *shape, *stride;
    uint8_t order[DYNC_MAX_DIMS];
} dync__ca_shape;
typedef struct dync__ca { /* one backward */
    dync__gvisitor visitor;
    dync__walk_record record;
    const dync__walk *walk;
    dync__gnode_list nodes;
    DYNC__VEC(uint64_t) word;
    DYNC__VEC(int64_t) size;
    DYNC__VEC(dync__ca_shape) shape;
    DYNC__VEC(dync__ca_slot) slot;
    DYNC__VEC(dync__tensor *) input; /* borrowed; each once */
    dync__map input_of;              /* id -> input */
    /* inputs: of each root; of each node that has a gradient already, or -1 */
    DYNC__VEC(int) seed, grad;
    bool failed;
    dync__ca_entry *entry;
    dync__tensor *carrier; /* the last input, or NULL; owned */
    /* while the body runs */
    dync__tensor **stand; /* what stands for each input */
    DYNC__VEC(dync__ca_result) result;
    DYNC__VEC(dync__tensor *) out; /* of results that leave (owned) */
    DYNC__VEC(int) hook_part;      /* calls recorded inside hooks: from, to, from, to, ... */
    int hook_depth;
} dync__ca;

typedef struct dync__ca_thread {
    int depth;
    dync_backend backend[DYNC__CA_DEPTH];
    dync__ca *now;
} dync__ca_thread;
static DYNC__TLS dync__ca_thread dync__ca_tls;

/* ---- what a backward depends on -------------------------------------------------------------- */

static void dync__ca_word(dync__gvisitor *v, uint64_t word)
{
    dync__ca *c = (dync__ca *)(void *)v;
    if (!dync__vec_push(&c->word, word)) c->failed = true;
}

static void dync__ca_layout(dync__gvisitor *v, int ndim, int64_t *shape, int64_t *stride)
{
    dync__ca *c = (dync__ca *)(void *)v;
    dync__ca_shape s = {ndim, c->size.n, shape, stride, {0}};
    int64_t span = 1;
    uint64_t order = 0;
    for (int d = 0; d < ndim; d++) {
        int k = d;
        int at = ndim - 1 - d;
        for (; stride && k > 0 && stride[s.order[k - 1]] > stride[at]; k--)
            s.order[k] = s.order[k - 1];
        s.order[k] = (uint8_t)at;
    }
    for (int k = 0; k < ndim && s.stride; k++) {
        int d = s.order[k];
        order = order << 4 | (uint64_t)d;
        if (shape[d] != 1 && stride[d] != span) s.stride = NULL;
        span *= shape[d];
    }
    dync__ca_word(v, (uint64_t)ndim << 2 | (uint64_t)(stride != NULL) << 1 |
                         (uint64_t)(s.stride != NULL));
    if (s.stride) dync__ca_word(v, order);
    for (int d = 0; stride && !s.stride && d < ndim; d++) dync__ca_word(v, (uint64_t)stride[d]);
    for (int d = 0; d < ndim; d++)
        if (!dync__vec_push(&c->size, shape[d])) c->failed = true;
    if (!dync__vec_push(&c->shape, s)) c->failed = true;
}

/* Its place in the list. A tensor that is there twice, or saved by two nodes, stands there once. */
static int dync__ca_input(dync__ca *c, dync__tensor *t)
{
    uint64_t at;
    if (dync__map_get(&c->input_of, t->id, &at)) {
        const dync__tensor *known = c->input.at[at];
        if (known->storage == t->storage && known->dtype == t->dtype &&
            dync__layout_equal(&known->lay, &t->lay))
            return (int)at;
    }
    if (!dync__vec_push(&c->input, t) ||
        !dync__map_put(&c->input_of, t->id, (uint64_t)c->input.n - 1))
        c->failed = true;
    return c->input.n - 1;
}

static void dync__ca_saved(dync__gvisitor *v, dync__tensor **at, uint32_t *version)
{
    dync__ca *c = (dync__ca *)(void *)v;
    if (*at) {
        dync__ca_slot s = {at, *at, version, *version, dync__ca_input(c, *at)};
        if (!dync__vec_push(&c->slot, s)) c->failed = true;
        dync__ca_word(v, (uint64_t)s.input << 1 | 1);
    } else {
        dync__ca_word(v, 0);
    }
}

static void dync__ca_edge(dync__ca *c, const dync__gedge *edge)
{
    uint64_t at = UINT64_MAX;
    if (edge->node) dync__map_get(&c->nodes.index, (uint64_t)(uintptr_t)edge->node, &at);
    dync__ca_word(&c->visitor, at << 8 | (uint64_t)(unsigned)edge->nr);
}

/* The gradient that a leaf has already is added to, where this backward reaches it. */
static void dync__ca_leaf(dync__ca *c, dync__gnode *node)
{
    dync__tensor *leaf = dync__gnode_is_accumulate(node) ? dync__gnode_leaf(node) : NULL,
                 *grad = leaf ? dync__tensor_grad(leaf) : NULL;
    int input = grad && !c->walk->n_captures ? dync__ca_input(c, grad) : -1;
    if (!dync__vec_push(&c->grad, input)) c->failed = true;
    dync__ca_word(&c->visitor, (uint64_t)(unsigned)input);
}

static dync_status dync__ca_collect(dync__ca *c)
{
    const dync__walk *w = c->walk;
    DYNC__TRY(dync__walk_nodes(w, &c->nodes));
    dync__ca_word(&c->visitor,
                  (uint64_t)(unsigned)w->n_roots << 32 | (uint64_t)(unsigned)w->n_captures);
    for (int i = 0; i < w->n_roots; i++) {
        int input = dync__ca_input(c, w->seed[i]);
        if (!dync__vec_push(&c->seed, input)) c->failed = true;
        dync__ca_edge(c, &w->root[i]);
        dync__ca_word(&c->visitor, (uint64_t)(unsigned)input);
    }
    for (int i = 0; i < w->n_captures; i++) dync__ca_edge(c, &w->capture[i]);
    for (int i = 0; i < c->nodes.at.n && !c->failed && !c->visitor.opaque; i++) {
        dync__gnode *node = c->nodes.at.at[i];
        for (int k = 0; k < node->n_in; k++) dync__ca_edge(c, &node->edge[k]);
        DYNC__TRY(dync__gnode_visit(node, &c->visitor));
        dync__ca_leaf(c, node);
    }
    return c->failed ? DYNC_ERR_MEMORY : DYNC_OK;
}

/* ---- the cache ------------------------------------------------------------------------------- */

static bool dync__ca_matches(const dync__ca *c, const dync__ca_entry *e, uint64_t hash,
                             const dync_backend *b)
{
    if (e->hash != hash || e->n_words != c->word.n || e->n_sizes != c->size.n ||
        e->backend.compile != b->compile || e->backend.user != b->user)
        return false;
    if (memcmp(e->word, c->word.at, (size_t)c->word.n * sizeof *e->word) != 0) return false;
    for (int i = 0; i < c->size.n; i++) {
        const dync__ca_source *s = &e->source[i];
        int64_t size = s->input < 0             ? s->size
                       : s->input == c->input.n ? c->size.at[e->carried[s->dim]]
                                                : c->input.at[s->input]->lay.shape[s->dim];
        if (c->size.at[i] != size) return false;
    }
    return true;
}

static dync__ca_source dync__ca_bind(const dync__ca *c, dync__ca_entry *e, int at)
{
    int64_t size = c->size.at[at];
    int k = 0;
    for (int i = 0; i < c->input.n && size > 1; i++)
        for (int d = 0; d < c->input.at[i]->lay.ndim; d++)
            if (c->input.at[i]->lay.shape[d] == size) return (dync__ca_source){i, d, size};
    while (k < e->n_carried && c->size.at[e->carried[k]] != size) k++;
    if (size < 2 || k == DYNC_MAX_DIMS) return (dync__ca_source){-1, 0, size};
    if (k == e->n_carried) e->carried[e->n_carried++] = at;
    return (dync__ca_source){c->input.n, k, size};
}

static dync_status dync__ca_carry(dync__ca *c)
{
    const dync__ca_entry *e = c->entry;
    dync__layout one = {.ndim = 0}, lay = {.ndim = e->n_carried};
    if (!e->n_carried) return DYNC_OK;
    for (int d = 0; d < lay.ndim; d++) lay.shape[d] = c->size.at[e->carried[d]];
    dync__tensor *t = dync__tensor_empty(DYNC_F32, DYNC_CPU, &one);
    c->carrier = t ? dync__tensor_alias(t, DYNC_F32, &lay) : NULL;
    dync__unref(t);
    return c->carrier && dync__vec_push(&c->input, c->carrier) ? DYNC_OK : DYNC_ERR_MEMORY;
}

static void dync__ca_entry_free(dync__ca_entry *e)
{
    if (!e) return;
    dync__compiled_free(e->f);
    dync__free(e->word, (size_t)e->n_words * sizeof *e->word);
    dync__free(e->source, (size_t)e->n_sizes * sizeof *e->source + 1);
    dync__vec_free(&e->result);
    dync__free(e, sizeof *e);
}

static void dync__ca_cache_free(void)
{
    while (dync__ca_cache.first) {
        dync__ca_entry *e = dync__ca_cache.first;
        dync__ca_cache.first = e->next;
        dync__ca_entry_free(e);
    }
    dync__ca_cache.n = 0;
    dync__ca_cache.warned = false;
}

DYNC__DATA void (*dync__reset_backwards)(void) = dync__ca_cache_free;

static dync_value dync__ca_body(const dync_value *args, int nargs, void *user);
static dync_status dync__ca_compile(dync_graph *, const dync_value *, int, const char *options,
                                    dync_callable *out, void *user);

static dync__ca_entry *dync__ca_entry_new(const dync__ca *c, uint64_t hash, const dync_backend *b)
{
    dync__ca_entry *e = dync__calloc(sizeof *e);
    if (!e) return NULL;
    e->hash = hash;
    e->backend = *b;
    e->n_words = c->word.n;
    e->n_sizes = c->size.n;
    e->word = dync__alloc((size_t)e->n_words * sizeof *e->word);
    e->source = dync__alloc((size_t)e->n_sizes * sizeof *e->source + 1);
    dync_backend wrap = {.name = b->name, .compile = dync__ca_compile, .user = e};
    dync_compile_options opt = {.name = "compiled_autograd",
                                .args = "inputs",
                                .fullgraph = true,
                                .recompile_limit = DYNC__CA_RECOMPILES,
                                .backend_object = &wrap,
                                .dynamic = DYNC_DYNAMIC_ON};
    dync_callee callee = dync_fnv(dync__ca_body);
    callee.user = e;
    if (e->word && e->source)
        e->f = dync__compiled_peek(dync_compile_opt(callee, "compiled_autograd", opt));
    if (!e->f) {
        dync__ca_entry_free(e);
        return NULL;
    }
    memcpy(e->word, c->word.at, (size_t)e->n_words * sizeof *e->word);
    for (int i = 0; i < e->n_sizes; i++) e->source[i] = dync__ca_bind(c, e, i);
    return e;
}

/* NULL without an error: there are too many. */
static dync__ca_entry *dync__ca_find(dync__ca *c, const dync_backend *b)
{
    uint64_t hash = dync__hash_bytes(c->word.at, (size_t)c->word.n * sizeof *c->word.at,
                                     (uint64_t)(uintptr_t)b->compile);
    dync__lock(&dync__ca_cache.lock);
    dync__ca_entry *e = dync__ca_cache.first;
    while (e && !dync__ca_matches(c, e, hash, b)) e = e->next;
    bool full = e ? DYNC__ATOMIC_PEEK(&e->f->n_entries) >= DYNC__CA_RECOMPILES
                  : dync__ca_cache.n >= DYNC__CA_ENTRIES;
    bool warn = full && !dync__ca_cache.warned;
    if (warn) dync__ca_cache.warned = true;
    dync__unlock(&dync__ca_cache.lock);
    if (warn)
        dync__warn("compiled autograd met more than %d different backward graphs: further "
                   "ones run operator by operator. Hooks that get a new "
                   "user pointer in every step make a new graph in every step.",
                   (int)DYNC__CA_ENTRIES);
    if (e || full) return full ? NULL : e;
    e = dync__ca_entry_new(c, hash, b);
    if (!e) return NULL;
    /* after what frees compiled functions: so it runs before that */
    dync__at_shutdown(dync__ca_cache_free);
    dync__lock(&dync__ca_cache.lock);
    e->next = dync__ca_cache.first;
    dync__ca_cache.first = e;
    dync__ca_cache.n++;
    dync__unlock(&dync__ca_cache.lock);
    return e;
}

/* ---- the body: a walk over stand-ins --------------------------------------------------------- */

/* Calls recorded so far; -1: nothing records. */
static int dync__ca_position(void)
{
    const dync__tracer *t = dync__tls.compiling ? dync__tracer_current() : NULL;
    return !t ? -1 : t->rec.graph ? t->rec.graph->node.n - t->rec.graph->n_inputs : 0;
}

static void dync__ca_name(dync__tensor *t, const char *name, int from)
{
    const dync__tracer *tracer = dync__tls.compiling ? dync__tracer_current() : NULL;
    if (!tracer || !t->node || t->node->graph != tracer->rec.graph || t->name ||
        t->node->kind == DYNC__N_PLACEHOLDER)
        return;
    if (t->node->index - tracer->rec.graph->n_inputs >= from)
        dync__graph_rename(t->node->graph, t->node, name);
}

static dync__ca *dync__ca_of(dync__walk_record *r)
{
    return (dync__ca *)(void *)((char *)(void *)r - offsetof(dync__ca, record));
}

static int dync__ca_node(const dync__ca *c, const dync__gnode *node)
{
    uint64_t at = 0;
    dync__map_get(&c->nodes.index, (uint64_t)(uintptr_t)node, &at);
    return (int)at;
}

static dync_status dync__ca_push(dync__ca *c, dync__ca_kind kind, int node, int index,
                                 dync__tensor *out)
{
    dync__ca_result r = {kind, node, index};
    if (dync__vec_push(&c->result, r) && (!out || dync__vec_push(&c->out, out))) return DYNC_OK;
    dync__unref(out);
    return DYNC_ERR_MEMORY;
}

/* As the accumulation of eager backward: a copy in the leaf's form, or an addition to what it
 * has. */
static dync_status dync__ca_accumulate(dync__walk_record *r, dync__gnode *node, dync__tensor *g)
{
    dync__ca *c = dync__ca_of(r);
    int at = dync__ca_node(c, node), input = c->grad.at[at], from = dync__ca_position();
    dync__tensor *leaf = dync__gnode_leaf(node), *copy = NULL, *sum = NULL;
    dync__arg args[2] = {dync__arg_t(g), dync__arg_none()};
    bool dense = dync__layout_is_contiguous(&leaf->lay) && !dync__layout_is_contiguous(&g->lay);
    dync_status status =
        dync__op_run(dense ? DYNC__OP__clone_contiguous : DYNC__OP_clone, 1, args, &copy);
    dync__unref(g);
    if (status != DYNC_OK) return status;
    dync__ca_name(copy, "new_grad", from);
    if (input < 0) return dync__ca_push(c, DYNC__CA_SET, at, 0, copy);
    args[0] = dync__arg_t(c->stand[input]);
    args[1] = dync__arg_t(copy);
    status = dync__op_run(DYNC__OP_add_, 2, args, &sum);
    dync__unref(sum);
    dync__unref(copy);
    return status == DYNC_OK ? dync__ca_push(c, DYNC__CA_ADDED, at, 0, NULL) : status;
}

static dync_status dync__ca_retain(dync__walk_record *r, dync__gnode *node, int hook,
                                   dync__tensor *grad)
{
    dync__ca *c = dync__ca_of(r);
    dync__ref(grad);
    return dync__ca_push(c, DYNC__CA_RETAIN, dync__ca_node(c, node), hook, grad);
}

static void dync__ca_hook(dync__walk_record *r, dync__tensor *result, bool done)
{
    dync__ca *c = dync__ca_of(r);
    int at = dync__ca_position();
    if (at < 0) return;
    if (done && result && c->hook_part.n % 2)
        dync__ca_name(result, "result", c->hook_part.at[c->hook_part.n - 1]);
    if (done ? --c->hook_depth == 0 : c->hook_depth++ == 0)
        if (!dync__vec_push(&c->hook_part, at)) c->failed = true;
}

/* Every call outside of hooks stands on a line of its own, as in the program that upstream captures
 * first. */
static dync_status dync__ca_lines(dync__ca *c)
{
    const dync__tracer *t = dync__tls.compiling ? dync__tracer_current() : NULL;
    dync__graph *g = t ? t->rec.graph : NULL;
    for (int i = g ? g->n_inputs : 0, part = 0; g && i < g->node.n; i++) {
        int at = i - g->n_inputs;
        while (part + 1 < c->hook_part.n && at >= c->hook_part.at[part + 1]) part += 2;
        if (part + 1 < c->hook_part.n && at >= c->hook_part.at[part]) continue;
        g->node.at[i]->stack =
            dync__arena_printf(&g->arena, "<compiled_autograd>:%d in forward\n", i + 1);
        if (!g->node.at[i]->stack) return DYNC_ERR_MEMORY;
    }
    return DYNC_OK;
}

/* Puts the stand-ins in the place of saved tensors, and their sizes in the place of sizes; or
 * everything back. */
static void dync__ca_substitute(dync__ca *c, bool back)
{
    for (int i = 0; i < c->slot.n; i++) {
        dync__ca_slot *s = &c->slot.at[i];
        *s->at = back ? s->was : c->stand[s->input];
        *s->version = back ? s->version_was : c->stand[s->input]->storage->version;
    }
    for (int i = 0; i < c->shape.n; i++) {
        const dync__ca_shape *s = &c->shape.at[i];
        int64_t stride = 1;
        for (int d = 0; d < s->ndim; d++) {
            const dync__ca_source *from = &c->entry->source[s->first + d];
            s->shape[d] = back || from->input < 0 ? c->size.at[s->first + d]
                                                  : c->stand[from->input]->lay.shape[from->dim];
        }
        for (int k = 0; s->stride && k < s->ndim; k++) {
            int d = s->order[k];
            /* its stride means nothing: it stays */
            bool one = c->size.at[s->first + d] == 1;
            if (!one) s->stride[d] = stride;
            stride = dync__sz_mul(stride, s->shape[d]);
        }
    }
}

static dync_status dync__ca_walk(dync__ca *c)
{
    dync__walk w = *c->walk;
    size_t n = (size_t)(w.n_roots + w.n_captures);
    dync__tensor **seed = dync__scope_alloc((n + 1) * sizeof *seed);
    if (!seed) return DYNC_ERR_MEMORY;
    for (int i = 0; i < w.n_roots; i++) seed[i] = c->stand[c->seed.at[i]];
    w.seed = seed;
    w.captured = seed + w.n_roots;
    w.retain_graph = true;
    dync__ca_substitute(c, false);
    dync__walk_record *before = dync__walk_record_set(&c->record);
    dync_status status = dync__walk_run(&w);
    dync__walk_record_set(before);
    dync__ca_substitute(c, true);
    for (int i = 0; i < w.n_captures && status == DYNC_OK; i++)
        if (w.captured[i]) status = dync__ca_push(c, DYNC__CA_CAPTURE, 0, i, w.captured[i]);
    return status == DYNC_OK && c->failed ? DYNC_ERR_MEMORY : status;
}

static void dync__ca_body_end(dync__ca *c)
{
    for (int i = 0; i < c->out.n; i++) dync__unref(c->out.at[i]);
    c->out.n = c->result.n = c->hook_part.n = c->hook_depth = 0;
}

/* What every run gives is written down at the first trace: the form of the graph decides it. */
static dync_status dync__ca_learn(dync__ca *c)
{
    dync__ca_entry *e = c->entry;
    int32_t idle = 0;
    dync_status status = DYNC_OK;
    while (!DYNC__ATOMIC_CAS(&e->tracing, &idle, 1)) idle = 0;
    if (!e->known) {
        e->result.n = 0;
        for (int i = 0; i < c->result.n && status == DYNC_OK; i++)
            if (!dync__vec_push(&e->result, c->result.at[i])) status = DYNC_ERR_MEMORY;
        if (status == DYNC_OK) DYNC__ATOMIC_STORE(&e->known, true);
    }
    DYNC__ATOMIC_STORE(&e->tracing, 0);
    return status;
}

static dync_value dync__ca_body(const dync_value *args, int nargs, void *user)
{
    dync__ca *c = dync__ca_tls.now;
    dync_value result = DYNC_NONE;
    (void)user;
    if (!c || nargs != 1 || dync_len(args[0]) != c->input.n) {
        dync__fail(DYNC_ERR_INTERNAL, "compiled autograd: its function was called from elsewhere");
        return result;
    }
    dync_status status = DYNC_OK;
    c->stand = dync__scope_alloc((size_t)(c->input.n + 1) * sizeof *c->stand);
    if (!c->stand) return result;
    for (int i = 0; i < c->input.n && status == DYNC_OK; i++)
        if (!(c->stand[i] = dync__open(dync_at(args[0], i).as.t))) status = DYNC_ERR_VALUE;
    if (dync__tls.compiling) DYNC__COUNTER_ADD(autograd_captures, 1);
    if (status == DYNC_OK) status = dync__ca_walk(c);
    if (status == DYNC_OK) status = dync__ca_lines(c);
    if (status == DYNC_OK) status = dync__ca_learn(c);
    if (status == DYNC_OK) result = dync__list_new(c->out.n);
    for (int i = 0; result.kind == DYNC_KIND_LIST && i < c->out.n; i++) {
        dync__ref(c->out.at[i]);
        dync__list_set(result, i, dync_v_tensor(dync__give(c->out.at[i])));
    }
    if (status != DYNC_OK && dync_error() == DYNC_OK)
        dync__fail(status, "compiled autograd: the "
                           "backward pass cannot "
                           "be captured");
    dync__ca_body_end(c);
    return result;
}

/* ---- after a run ----------------------------------------------------------------------------- */

/* A gradient for keeps: nothing else may lie on its memory, or adding to it would show there. */
static dync_status dync__ca_own(const dync__ca *c, dync__tensor *const *given, int n,
                                dync__tensor *t, dync__tensor **out)
{
    bool shared = (t->storage->flags & DYNC__STORAGE_BORROWED) != 0;
    for (int i = 0; i < c->input.n && !shared; i++) shared = c->input.at[i]->storage == t->storage;
    for (int i = 0; i < n && !shared; i++) shared = given[i]->storage == t->storage;
    dync__arg arg = dync__arg_t(t);
    if (shared) return dync__op_run(DYNC__OP_clone, 1, &arg, out);
    dync__ref(*out = t);
    return DYNC_OK;
}

static dync_status dync__ca_give(dync__ca *c, const dync__ca_result *r, dync__tensor *t)
{
    dync__gnode *node = c->nodes.at.at[r->node];
    dync__tensor *leaf = r->kind == DYNC__CA_SET ? dync__gnode_leaf(node) : NULL;
    if (r->kind == DYNC__CA_CAPTURE) {
        dync__ref(c->walk->captured[r->index] = t);
        return DYNC_OK;
    }
    /* a hook or another thread gave it one meanwhile */
    if (leaf && dync__tensor_grad(leaf)) {
        dync__ref(t);
        return dync__accumulate_into(leaf, t);
    }
    if (!leaf && r->index < dync__gnode_hooks(node)->n)
        leaf = dync__peek(dync__gnode_hooks(node)->at[r->index].retain);
    return leaf ? dync__tensor_set_grad(leaf, t) : DYNC_OK;
}

static dync_status dync__ca_finish(dync__ca *c, dync_value list)
{
    const dync__ca_entry *e = c->entry;
    int n = 0, n_out = 0;
    for (int i = 0; i < e->result.n; i++) n_out += e->result.at[i].kind != DYNC__CA_ADDED;
    if (list.kind != DYNC_KIND_LIST || dync_len(list) != n_out)
        return dync__fail(DYNC_ERR_INTERNAL, "compiled autograd: another number of "
                                             "gradients");
    dync__tensor **given = dync__scope_alloc((size_t)(n_out + 1) * sizeof *given);
    dync_status status = given ? DYNC_OK : DYNC_ERR_MEMORY;
    for (int i = 0; i < e->result.n && status == DYNC_OK; i++) {
        const dync__ca_result *r = &e->result.at[i];
        if (r->kind != DYNC__CA_ADDED) {
            dync__tensor *t = dync__open(dync_at(list, n).as.t), *own = NULL;
            status = t ? dync__ca_own(c, given, n, t, &own) : DYNC_ERR_INTERNAL;
            if (status == DYNC_OK) status = dync__ca_give(c, r, own);
            dync__unref(own);
            /* whoever it was given to, or the list, keeps it alive */
            given[n++] = own ? own : t;
        }
        if (status == DYNC_OK && (r->kind == DYNC__CA_SET || r->kind == DYNC__CA_ADDED))
            status = dync__hooks_accumulated(c->nodes.at.at[r->node]);
    }
    for (int i = 0; i < c->nodes.at.n && status == DYNC_OK && !c->walk->retain_graph; i++)
        dync__gnode_release(c->nodes.at.at[i]);
    return status;
}

static dync_status dync__ca_run(dync__ca *c)
{
    uint64_t errors = dync__error_count();
    dync_scope scope = dync_scope_begin();
    dync_value list = dync__list_new(c->input.n);
    bool off = dync__tls.grad_enabled_off;
    for (int i = 0; list.kind == DYNC_KIND_LIST && i < c->input.n; i++)
        dync__list_set(list, i, dync_v_tensor(dync__handle(c->input.at[i])));
    dync_status status = list.kind == DYNC_KIND_LIST ? DYNC_OK : DYNC_ERR_MEMORY;
    dync__ca *outer = dync__ca_tls.now;
    dync__ca_tls.now = c;
    /* a backward inside a hook is walked */
    dync__tls.compiled_autograd = false;
    dync__tls.grad_enabled_off = true;
    dync_value r = status == DYNC_OK
                       ? dync_call_values(dync__compiled_handle(c->entry->f), 1, &list)
                       : DYNC_NONE;
    if (dync__error_count() != errors && dync_error() != DYNC_OK) status = dync_error();
    if (status == DYNC_OK) status = dync__ca_finish(c, r);
    dync__tls.grad_enabled_off = off;
    dync__tls.compiled_autograd = true;
    dync__ca_tls.now = outer;
    dync_scope_end(&scope);
    return status;
}

static void dync__ca_free(dync__ca *c)
{
    dync__gnode_list_free(&c->nodes);
    dync__vec_free(&c->word);
    dync__vec_free(&c->size);
    dync__vec_free(&c->shape);
    dync__vec_free(&c->slot);
    dync__vec_free(&c->input);
    dync__map_free(&c->input_of);
    dync__vec_free(&c->seed);
    dync__vec_free(&c->grad);
    dync__vec_free(&c->result);
    dync__vec_free(&c->out);
    dync__vec_free(&c->hook_part);
    dync__unref(c->carrier);
}

/* False: walked as if it were off: something in it cannot be captured, or there is nothing to
 * walk. */
static bool dync__ca_intercept(const dync__walk *w, dync_status *status)
{
    if (dync__tls.compiling || dync__tls.recording || dync__tls.handler || !dync__ca_tls.depth)
        return false;
    if (w->create_graph) {
        *status =
            dync__fail(DYNC_ERR_UNSUPPORTED, "compiled_autograd does not support create_graph");
        return true;
    }
    dync__ca c = {
        .visitor = {.word = dync__ca_word, .layout = dync__ca_layout, .saved = dync__ca_saved},
        .record = {.accumulate = dync__ca_accumulate,
                   .retain = dync__ca_retain,
                   .hook = dync__ca_hook},
        .walk = w};
    bool handled = false;
    for (int i = 0; i < w->n_captures; i++) w->captured[i] = NULL;
    *status = dync__ca_collect(&c);
    if (*status != DYNC_OK) {
        handled = true;
    } else if (c.visitor.opaque || c.input.n > DYNC__MAX_LEAVES) {
        dync__log(DYNC__LOG_aot, "compiled autograd: this backward is walked: %s",
                  c.visitor.opaque ? "a node in it cannot be captured" : "too many saved tensors");
    } else if ((c.entry = dync__ca_find(&c, &dync__ca_tls.backend[dync__ca_tls.depth - 1])) !=
               NULL) {
        handled = true;
        *status = dync__ca_carry(&c);
        if (*status == DYNC_OK) *status = dync__ca_run(&c);
    } else if (dync_error() != DYNC_OK) {
        handled = true;
        *status = dync_error();
    }
    for (int i = 0; i < w->n_captures && handled && *status != DYNC_OK; i++) {
        dync__unref(w->captured[i]);
        w->captured[i] = NULL;
    }
    dync__ca_free(&c);
    return handled;
}

/* ---- on and off ------------------------------------------------------------------------------ */

DYNC_API bool dync_compiled_autograd_begin(const char *backend)
{
    const dync_backend *b = dync_lookup_backend(backend ? backend : "inductor");
    if (!b) return false;
    if (dync__ca_tls.depth == DYNC__CA_DEPTH)
        return dync__fail(DYNC_ERR_VALUE, "dync_compiled_autograd_begin: nested deeper than %d",
                          (int)DYNC__CA_DEPTH),
               false;
    DYNC__ATOMIC_STORE(&dync__walk_intercept, dync__ca_intercept);
    dync__ca_tls.backend[dync__ca_tls.depth++] = *b;
    dync__tls.compiled_autograd = true;
    return true;
}

DYNC_API void dync_compiled_autograd_end(void)
{
    if (dync__ca_tls.depth) dync__ca_tls.depth--;
    dync__tls.compiled_autograd = dync__ca_tls.depth > 0;
}

/* ---- the graph as the backend sees it: one list of inputs ------------------------------------ */

/* place: in the list of each input, -1: by itself. Gradients leave before numbers: out says where
 * each output of the traced graph stands. */
typedef struct dync__ca_code {
    dync_callable code;
    dync__graph *graph;
    int n, n_list, n_out;
    int *place, *out;
} dync__ca_code;

/* The i of "L['inputs'][i]"; -1: another input. */
static int dync__ca_place(const dync__node *n)
{
    static const char head[] = "L['inputs'][";
    double i;
    const char *end;
    if (!n->source || strncmp(n->source, head, sizeof head - 1) != 0) return -1;
    return dync__text_double(n->source + sizeof head - 1, &end, &i) ? (int)i : -1;
}

static dync__node *dync__ca_getitem(dync__graph *g, dync__node *list, const dync__node *old, int i)
{
    char name[32];
    dync__format(name, sizeof name, i ? "getitem_%d" : "getitem", i);
    dync__node *n = dync__graph_getitem(g, list, i);
    if (!n || !dync__graph_rename(g, n, name)) return NULL;
    n->info[0] = old->info[0];
    n->info[0].alias = -1;
    n->has_info = true;
    n->requires_grad[0] = old->requires_grad[0];
    n->stack = dync__arena_printf(&g->arena, "<compiled_autograd>:0.%d in forward\n", i);
    return n->stack ? n : NULL;
}

/* The result: what is no symbolic number first. */
static dync_status dync__ca_outputs(dync__rewrite *r, const dync__arg *old, dync__ca_code *code)
{
    dync__graph *g = r->to;
    dync__arg list, sorted;
    int n = 0;
    if (!dync__rewrite_arg(r, old, &list)) return DYNC_ERR_MEMORY;
    sorted = list;
    sorted.as.list = dync__arena_alloc(&g->arena, (size_t)(list.n + 1) * sizeof list);
    code->out = dync__calloc((size_t)(list.n + 1) * sizeof *code->out);
    if (!sorted.as.list || !code->out) return DYNC_ERR_MEMORY;
    code->n_out = list.n;
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < list.n; i++)
            if ((list.as.list[i].as.node->sym != NULL) == (pass == 1)) {
                code->out[i] = n;
                sorted.as.list[n++] = list.as.list[i];
            }
    return dync__graph_output(g, &sorted) ? DYNC_OK : DYNC_ERR_MEMORY;
}

/* Other inputs, items of the list, calls: 0, 1, 2. */
static int dync__ca_pass(const dync__node *n)
{
    return n->kind != DYNC__N_PLACEHOLDER ? 2 : dync__ca_place(n) >= 0;
}

/* The list stands first in the new graph. */
static dync__node *dync__ca_listed_node(dync__rewrite *r, dync__node *old)
{
    int place = old->kind == DYNC__N_PLACEHOLDER ? dync__ca_place(old) : -1;
    return place >= 0 ? dync__ca_getitem(r->to, r->to->node.at[0], old, place)
                      : dync__rewrite_copy(r, old);
}

static dync_status dync__ca_nodes(dync__rewrite *r, dync__ca_code *code)
{
    dync__graph *old = r->from;
    dync__node *list = dync__graph_placeholder(r->to, "l_inputs_", "L['inputs']", NULL);
    if (!list || !dync__graph_takes_symbols(r->to, old) ||
        !(list->target = dync__arena_strdup(&r->to->arena, "L_inputs_")))
        return DYNC_ERR_MEMORY;
    for (int i = 0, k = 0; i < old->node.n; i++) {
        if (old->node.at[i]->kind != DYNC__N_PLACEHOLDER) continue;
        int place = code->place[k++] = dync__ca_place(old->node.at[i]);
        code->n_list = DYNC__MAX(code->n_list, place + 1);
    }
    for (int pass = 0; pass < 3; pass++)
        for (int i = 0; i < old->node.n - 1; i++)
            if (dync__ca_pass(old->node.at[i]) == pass)
                DYNC__TRY(dync__rewrite_put(r, old->node.at[i], dync__ca_listed_node));
    return dync__ca_outputs(r, &old->node.at[old->node.n - 1]->args[0], code);
}

static dync_status dync__ca_listed(dync__graph *old, dync__ca_code *code)
{
    dync__rewrite r;
    dync_status status = dync__rewrite_begin(&r, old, "GraphModule");
    if (status == DYNC_OK) status = dync__ca_nodes(&r, code);
    return dync__rewrite_end(&r, status, &code->graph);
}

/* The list, then the inputs that are not in it. */
static int dync__ca_values(const dync__ca_code *c, const dync_value *args, dync_value *out)
{
    int n = 1;
    out[0] = dync__list_new(c->n_list);
    for (int i = 0; i < c->n; i++) {
        if (c->place[i] < 0)
            out[n++] = args[i];
        else if (out[0].kind == DYNC_KIND_LIST)
            dync__list_set(out[0], c->place[i], args[i]);
    }
    return n;
}

static dync_value dync__ca_code_run(void *state, const dync_value *args, int nargs)
{
    const dync__ca_code *c = state;
    dync_value *in = nargs == c->n ? dync__scope_alloc((size_t)(nargs + 1) * sizeof *in) : NULL;
    if (!in) return DYNC_NONE;
    int n = dync__ca_values(c, args, in);
    dync_value r = c->code.run(c->code.state, in, n);
    const dync__list *l = dync__value_list(r);
    if (!l || l->n != c->n_out) return r;
    dync_value back = dync__list_new(c->n_out);
    for (int i = 0; back.kind == DYNC_KIND_LIST && i < c->n_out; i++)
        dync__list_set(back, i, l->items[c->out[i]]);
    return back;
}

static void dync__ca_code_destroy(void *state)
{
    dync__ca_code *c = state;
    if (c->code.destroy) c->code.destroy(c->code.state);
    dync__graph_unref(c->graph);
    dync__free(c->place, (size_t)(c->n + 1) * sizeof *c->place);
    dync__free(c->out, (size_t)(c->n_out + 1) * sizeof *c->out);
    dync__free(c, sizeof *c);
}

static dync_status dync__ca_compile(dync_graph *graph, const dync_value *ex, int n,
                                    const char *options, dync_callable *out, void *user)
{
    dync__graph *g = dync__graph_open(graph, "compiled autograd");
    if (!g) return DYNC_ERR_VALUE;
    const dync__ca_entry *e = user;
    dync__ca_code *c = dync__calloc(sizeof *c);
    if (!c) return DYNC_ERR_MEMORY;
    c->n = n;
    c->place = dync__calloc((size_t)(n + 1) * sizeof *c->place);
    dync_scope scope = dync_scope_begin();
    dync_value *in = dync__scope_alloc((size_t)(n + 1) * sizeof *in);
    dync_status status = c->place && in ? dync__ca_listed(g, c) : DYNC_ERR_MEMORY;
    DYNC__COUNTER_ADD(autograd_compiles, 1);
    if (status == DYNC_OK)
        status = dync__graph_ask(&e->backend, c->graph, in, dync__ca_values(c, ex, in), options,
                                 &c->code);
    dync_scope_end(&scope);
    if (status == DYNC_OK && !c->code.run)
        status = dync__fail(DYNC_ERR_BACKEND, "backend '%s' gave no callable",
                            e->backend.name ? e->backend.name : "?");
    if (status != DYNC_OK) {
        dync__ca_code_destroy(c);
        return status;
    }
    memset(out, 0, sizeof *out);
    out->run = dync__ca_code_run;
    out->destroy = dync__ca_code_destroy;
    out->state = c;
    return DYNC_OK;
}
