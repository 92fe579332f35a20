/* minify/repro_graph.c: the graph of a repro: load_args makes the inputs again, and the function
 * over them is traced. After repro_inputs.c, before repro_run.c. */
#include "../dync.in.h"
#include "repro.h"
DYNC__COLD

/* Runs load_args, again where it has run: a run on the inputs themselves may have written into
 * them. What was read before is given back first. */
DYNC__FN dync_status dync__repro_load(dync__repro_case *c)
{
    for (int i = 0; i < c->reader.storage.n; i++)
        dync__storage_unref(c->reader.storage.at[i].storage);
    dync__vec_free(&c->reader.storage);
    dync__vec_free(&c->reader.value);
    dync__object_end(&c->reader.object);
    memset(&c->reader, 0, sizeof c->reader);
    c->reader.save_dir = c->o->repro.save_dir;
    uint64_t seed = dync__tls.rng_seed, offset = dync__tls.rng_offset;
    c->o->repro.load_args(dync__repro_reader_handle(&c->reader));
    /* random data in place of a file change nothing else */
    dync__tls.rng_seed = seed;
    dync__tls.rng_offset = offset;
    if (!c->reader.failed) return DYNC_OK;
    return dync_error() != DYNC_OK ? dync_error() : dync__fail(DYNC_ERR_MEMORY, "load_args failed");
}

/* The function runs over tensors that it meets, not that it is given: so there may be any number of
 * them. */
static dync_value dync__repro_call(const dync_value *args, int nargs, void *user)
{
    const dync__repro_case *c = user;
    (void)args, (void)nargs;
    return c->o->repro.mod(c->reader.value.at, c->reader.value.n, NULL);
}

/* The name of the ith input: the ith of the list in names ("x, y"), or "input", which the graph
 * makes unique. */
static void dync__repro_name(const char *names, int i, char *out, size_t cap)
{
    while (names && i-- > 0) names = (names = strchr(names, ',')) ? names + 1 : NULL;
    if (names) names += strspn(names, " ");
    if (names && *names)
        dync__format(out, cap, "%.*s", (int)strcspn(names, ", "), names);
    else
        dync__format(out, cap, "input");
}

/* Input i, with the form of its tensor, or as a number that the graph keeps in place. NULL: no
 * memory. */
static dync__node *dync__repro_placeholder(dync__graph *g, const dync__repro_case *c, int i)
{
    char name[128];
    const dync_value *v = &c->reader.value.at[i];
    const dync__tensor *t = v->kind == DYNC_KIND_TENSOR ? dync__peek(v->as.t) : NULL;
    dync__info info = {.alias = -1};
    if (t) {
        info.dtype = t->dtype;
        info.device = t->device;
        info.lay = t->lay;
    }
    dync__repro_name(c->o->repro.names, i, name, sizeof name);
    dync__node *n = dync__graph_placeholder(g, name, NULL, t ? &info : NULL);
    if (n && t) n->requires_grad[0] = dync__tensor_requires_grad(t);
    if (n && !t)
        n->scalar = v->kind == DYNC_KIND_FLOAT  ? dync__arg_f(v->as.f)
                    : v->kind == DYNC_KIND_BOOL ? dync__arg_b(v->as.b)
                                                : dync__arg_i(v->as.i);
    return n;
}

/* Tensors met while tracing are attributes: those that load_args made become the inputs. */
static dync__node *dync__repro_node(dync__rewrite *r, dync__node *old)
{
    const dync__repro_case *c = r->user;
    dync__node *input = NULL;
    for (int k = 0; k < c->reader.value.n && old->kind == DYNC__N_GET_ATTR; k++)
        if (c->reader.value.at[k].kind == DYNC_KIND_TENSOR &&
            dync__peek(c->reader.value.at[k].as.t) == old->value)
            input = r->to->node.at[k];
    return input ? input : dync__rewrite_copy(r, old);
}

/* The traced graph has no inputs, since the function reads c->reader; inputs are put in front, and
 * whatever reads one of their tensors reads the input. c->graph: one reference, NULL on failure. */
static dync_status dync__repro_rebuild(dync__repro_case *c, dync__graph *traced)
{
    dync__rewrite r;
    dync_status status = dync__rewrite_begin(&r, traced, "GraphModule");
    r.user = c;
    for (int i = 0; i < c->reader.value.n && status == DYNC_OK; i++)
        if (!dync__repro_placeholder(r.to, c, i)) status = DYNC_ERR_MEMORY;
    for (int i = 0; i < traced->node.n && status == DYNC_OK; i++)
        status = dync__rewrite_put(&r, traced->node.at[i], dync__repro_node);
    return dync__rewrite_end(&r, status, &c->graph);
}

/* Makes c->graph out of the C function that the program carries. */
DYNC__FN dync_status dync__repro_trace(dync__repro_case *c)
{
    dync_callee callee = dync_bind_callee(dync_fnv(dync__repro_call), "Repro", c, NULL);
    dync_scope scope = dync_scope_begin();
    dync__graph *traced = dync__graph_peek(dync_make_graph_values(callee, "Repro", 0, NULL));
    if (traced) (void)dync__repro_rebuild(c, traced);
    dync_scope_end(&scope);
    if (c->graph) return DYNC_OK;
    return dync_error() != DYNC_OK
               ? dync_error()
               : dync__fail(DYNC_ERR_INTERNAL, "the graph of "
                                               "the repro could not be made again");
}
