/* program/export.c: programs: made from a graph, run, freed. After backend/; the files are
 * program_file.c and csource.c.
 *
 * A program has no guards: a call's tensors must be those of the export in dtype and shape (a
 * marked size is any that its range allows, sizes.c), and that is checked; they may lie otherwise
 * in memory. The first run compiles it with the default
 * backend; where that fails the interpreter runs the graph, said once in the log. Running is safe
 * from any thread. */
#include "../dync.in.h"
#include "program.h"
DYNC__COLD

/* A C identifier out of what the user called his function. */
static char *dync__program_identifier(const char *name)
{
    dync__str s = {0};
    for (const char *p = name ? name : ""; *p; p++) {
        if (dync__is_digit(*p) && s.n == 0) dync__str_addc(&s, '_');
        dync__str_addc(&s, dync__is_word(*p) ? *p : '_');
    }
    if (s.n == 0) dync__str_add(&s, "program");
    char *out = s.failed ? NULL : dync__strdup(s.at);
    dync__str_free(&s);
    return out;
}

/* Weights are constants of a program: the same memory, but no leaves of the user's autograd graph.
 * / An attribute that requires grad gets a handle of its own that does not; the node still says
 * that it required grad, as printers show it. */
static dync_status dync__program_detach(dync__graph *g)
{
    for (int i = 0; i < g->node.n; i++) {
        dync__node *node = g->node.at[i];
        if (node->kind != DYNC__N_GET_ATTR || !node->value ||
            !(node->value->flags & DYNC__T_REQUIRES_GRAD))
            continue;
        dync__tensor *plain =
            dync__tensor_alias(node->value, node->value->dtype, &node->value->lay);
        if (!plain) return DYNC_ERR_MEMORY;
        bool requires_grad = node->requires_grad[0], bound = dync__graph_attr_bind(node, plain);
        node->requires_grad[0] = requires_grad;
        dync__unref(plain);
        if (!bound) return DYNC_ERR_MEMORY;
    }
    return DYNC_OK;
}

/* Each input by the name of its argument, which its source tells. */
static bool dync__program_name_inputs(dync__program *p)
{
    const dync__graph *g = p->graph;
    char name[96];
    p->input = dync__arena_alloc(&p->told, (size_t)(g->n_inputs + 1) * sizeof *p->input);
    for (int i = 0; p->input && i < g->n_inputs; i++) {
        dync__program_input_name(g, i, name, sizeof name);
        p->input[i] =
            dync__arena_strdup(&p->told, g->node.at[i]->source ? name : g->node.at[i]->name);
        if (!p->input[i]) return false;
    }
    return p->input != NULL;
}

/* Everything that a call relies on is checked here: the graph's structure, that each input is a
 * tensor and one of the arguments, and that arguments tell every symbolic size. NULL + error. */
DYNC__FN dync__program *dync__program_from_leaves(dync__graph *g, const char *name, int n_leaves,
                                                  const int *leaf)
{
    if (!g || dync__graph_check(g) != DYNC_OK || dync__program_detach(g) != DYNC_OK) return NULL;
    if (g->n_inputs > DYNC__MAX_LEAVES) {
        dync__fail(DYNC_ERR_UNSUPPORTED, "export: more than %d inputs", DYNC__MAX_LEAVES);
        return NULL;
    }
    dync__program *p = dync__calloc(sizeof *p);
    if (!p) return NULL;
    dync__object_made(&p->root.object);
    p->n_leaves = leaf ? n_leaves : g->n_inputs;
    p->graph = dync__graph_ref(g);
    p->leaf = dync__alloc((size_t)g->n_inputs * sizeof *p->leaf);
    p->name = dync__program_identifier(name);
    bool ok = p->leaf && p->name && dync__program_name_inputs(p);
    for (int i = 0; ok && i < g->n_inputs; i++) {
        p->leaf[i] = leaf ? leaf[i] : i;
        if (!g->node.at[i]->has_info)
            ok = !dync__fail(DYNC_ERR_UNSUPPORTED, "export of %s: input %s is no tensor", p->name,
                             g->node.at[i]->name);
        else if (p->leaf[i] < 0 || p->leaf[i] >= p->n_leaves)
            ok = !dync__fail(DYNC_ERR_VALUE, "export of %s: input %d is none of its arguments",
                             p->name, i);
    }
    ok = ok && dync__program_sizes_check(g, p->name) == DYNC_OK &&
         (!g->syms || dync__symtab_settle(g->syms));
    p->copies = !dync__graph_writes_inputs(g) && !dync__graph_shows_inputs(g);
    if (ok) return p;
    dync__program_free(p);
    return NULL;
}

/* Taken at success only: the caller destroys it where NULL comes back. */
DYNC__FN dync__program *dync__program_from_callable(dync_callable callable, const char *name,
                                                    int n_leaves)
{
    dync__program *p = dync__calloc(sizeof *p);
    if (!p) return NULL;
    dync__object_made(&p->root.object);
    p->n_leaves = n_leaves;
    p->foreign = true;
    p->name = dync__program_identifier(name);
    if (!p->name) {
        dync__program_free(p);
        return NULL;
    }
    p->callable = callable;
    p->compiled = 1;
    return p;
}

DYNC_API void dync_program_free(dync_program *p)
{
    if (p) dync__program_free(dync__program_open(p, "dync_program_free"));
}

/* compiled is 1 for a program of a callable too, which so goes here. */
DYNC__FN void dync__program_free(dync__program *p)
{
    if (!p) return;
    dync__object_end(&p->root.object);
    dync__root_set(&p->root, NULL);
    if (p->compiled == 1 && p->callable.destroy) p->callable.destroy(p->callable.state);
    if (p->other.destroy) p->other.destroy(p->other.state);
    if (p->leaf) dync__free(p->leaf, (size_t)p->graph->n_inputs * sizeof *p->leaf);
    dync__program_unprove(p);
    dync__graph_unref(p->graph);
    dync__arena_free(&p->told);
    dync__strfree((char *)(uintptr_t)p->name);
    dync__free(p, sizeof *p);
}

/* ---- running --------------------------------------------------------------------------------- */

/* Shape and dtype of graph input i; value: this call's symbols. The message shows what was expected
 * with the ranges of symbolic sizes. */
static dync_status dync__program_check_input(const dync__program *p, int i, const dync__tensor *t,
                                             const int64_t *value)
{
    const dync__node *node = p->graph->node.at[i];
    dync__layout lay;
    dync__str got = {0};
    bool shape = t->lay.ndim == node->info[0].lay.ndim && dync__program_layout(p, i, value, &lay);
    for (int d = 0; shape && d < lay.ndim; d++) shape = dync__sz_eq(t->lay.shape[d], lay.shape[d]);
    if (t->dtype == node->info[0].dtype && shape) return DYNC_OK;
    dync__tensor_brief(&got, t);
    dync__str_add(&got, ", expected ");
    dync__program_type_text(p->graph, &node->info[0], &got);
    dync__program_ranges_text(p->graph, &got, ", with ");
    dync_status status = dync__fail(shape ? DYNC_ERR_DTYPE : DYNC_ERR_SHAPE,
                                    "program %s: argument %s is %s", p->name, p->input[i],
                                    dync__str_get(&got));
    dync__str_free(&got);
    return status;
}

/* recursion: functions inside operators, too Does an operator of the graph read memory around a
 * tensor's elements? */
static bool dync__program_reaches(const dync__graph *g)
{
    for (int i = 0; i < g->node.n; i++) {
        const dync__node *n = g->node.at[i];
        if (dync__node_has(n, DYNC__OP_BEYOND)) return true;
        for (int k = 0; k < n->nargs; k++)
            if (n->args[k].kind == DYNC__A_GRAPH && dync__program_reaches(n->args[k].as.graph))
                return true;
    }
    return false;
}

/* as_strided reaches what lies around a tensor in its memory: a program that a stranger wrote is
 * given nothing but its arguments. */
static dync_status dync__program_check_whole(const dync__program *p, int i, const dync__tensor *t)
{
    size_t bytes = (size_t)dync__layout_span(&t->lay) * dync__dtype_info(t->dtype)->bytes;
    if (t->lay.offset == 0 && bytes == t->storage->size_bytes) return DYNC_OK;
    if (!dync__program_reaches(p->graph)) return DYNC_OK;
    return dync__fail(
        DYNC_ERR_VALUE,
        "program %s is from a file and calls as_strided: argument %s is part of a larger tensor; "
        "pass a dync_clone of it",
        p->name, p->input[i]);
}

/* Made outside of the lock, as compiling may call the user's code; of two threads that compile at
 * once the first to finish wins and the other's is destroyed. Errors are not the caller's: the
 * interpreter runs then. */
static void dync__program_compile(dync__program *p, const dync_value *inputs)
{
    dync_callable made = {0};
    dync__error_guard guard;
    dync__error_guard_begin(&guard);
    DYNC__ATOMIC_STORE(&p->graph->first_alone, 1);
    bool ok = dync_compile_graph("inductor", dync__graph_handle(p->graph), inputs,
                                 p->graph->n_inputs, &made) == DYNC_OK;
    const dync__error_slot *inner = dync__error_guard_end(&guard);
    if (!ok) dync__log(DYNC__LOG_perf, "program %s runs interpreted: %s", p->name, inner->message);
    dync__lock(&p->lock);
    bool first = p->compiled == 0;
    if (first) {
        p->callable = made;
        DYNC__ATOMIC_STORE(&p->compiled, ok ? 1 : -1);
    }
    dync__unlock(&p->lock);
    if (!first && ok && made.destroy) made.destroy(made.state);
}

/* Code is made for inputs that lie as the graph says. Strides of dims of size 0 and 1 do not
 * matter. */
static bool dync__program_lies(const dync__layout *lay, int device, const dync__tensor *t)
{
    bool same = t->device == device;
    for (int d = 0; d < lay->ndim && same; d++)
        same = t->lay.shape[d] < 2 || t->lay.stride[d] == lay->stride[d];
    return same || t->device != device; /* another device: the code says so */
}

/* The input as the graph says that it lies: itself, or a copy. NULL: there is none that the code
 * can take. */
static dync_tensor *dync__program_laid(const dync__program *p, int i, const dync__tensor *t,
                                       const int64_t *value)
{
    dync__layout lay;
    if (!dync__program_layout(p, i, value, &lay)) return NULL;
    if (dync__program_lies(&lay, p->graph->node.at[i]->info[0].device, t)) return dync__handle(t);
    if (!p->copies || dync__layout_overlaps_itself(&lay)) return NULL;
    lay.offset = 0;
    dync_tensor *copy = dync__give(dync__tensor_empty(t->dtype, t->device, &lay));
    return copy ? dync_copy_(copy, dync__handle(t)) : NULL;
}

/* The tensors of a call as inputs of the graph, checked. *wants_grad: the interpreter runs, and the
 * tape or the tracer sees each operator. */
static dync_status dync__program_inputs(const dync__program *p, const dync__callargs *flat,
                                        int64_t *value, dync_value *inputs, bool *wants_grad)
{
    dync__tensor *in[DYNC__MAX_LEAVES];
    for (int i = 0; i < p->graph->n_inputs; i++) in[i] = flat->tensor[p->leaf[i]];
    dync__program_values(p, in, value);
    for (int i = 0; i < p->graph->n_inputs; i++) {
        DYNC__TRY(dync__program_check_input(p, i, in[i], value));
        if (p->loaded) DYNC__TRY(dync__program_check_whole(p, i, in[i]));
        inputs[i] = dync_v_tensor(dync__handle(in[i]));
        *wants_grad = *wants_grad || (in[i]->flags & DYNC__T_FAKE) ||
                      (!dync__grad_is_off() && dync__tensor_requires_grad(in[i]));
    }
    return dync__program_fits(p, value);
}

/* In this order: what has no graph goes to its callable, as do sizes that the graph is not for;
 * where gradients are wanted or a trace is open the interpreter runs; then compiled code, on inputs
 * that lie as it expects. */
static dync_value dync__program_call(dync__program *p, int nargs, const dync_value *args)
{
    dync__callargs flat;
    dync_value result = DYNC_NONE;
    if (nargs < 0 || (nargs > 0 && !args)) {
        dync__fail(DYNC_ERR_VALUE, "dync_program_run: expected a program and its arguments, got "
                                   "no arguments");
        return result;
    }
    if (p->n_leaves == DYNC__PROGRAM_LISTS) return p->callable.run(p->callable.state, args, nargs);
    if (dync__callargs_flatten(&flat, nargs, args) != DYNC_OK) return result;
    if (flat.n_tensors != p->n_leaves) {
        dync__fail(DYNC_ERR_VALUE, "program %s: expected %d tensors, got %d", p->name, p->n_leaves,
                   flat.n_tensors);
        return result;
    }
    dync_value inputs[DYNC__MAX_LEAVES];
    int64_t value[DYNC__PROGRAM_SYMBOLS] = {0};
    const dync_callable *by = p->foreign                                              ? &p->callable
                              : p->other.run && !dync__program_is_for(p, flat.tensor) ? &p->other
                                                                                      : NULL;
    for (int i = 0; by && i < flat.n_tensors; i++)
        inputs[i] = dync_v_tensor(dync__handle(flat.tensor[i]));
    if (by) return by->run(by->state, inputs, flat.n_tensors);
    /* then the interpreter runs, and the tape or the tracer sees each operator */
    bool wants_grad = dync__tls.compiling;
    if (dync__program_inputs(p, &flat, value, inputs, &wants_grad) != DYNC_OK ||
        (p->loaded && dync__program_prove(p, value) != DYNC_OK))
        return result;
    if (wants_grad) return dync__graph_run(p->graph, inputs, p->graph->n_inputs);
    for (int i = 0; i < p->graph->n_inputs; i++) {
        dync_tensor *laid = dync__program_laid(p, i, flat.tensor[p->leaf[i]], value);
        if (!laid)
            return dync_error() == DYNC_OK ? dync__graph_run(p->graph, inputs, p->graph->n_inputs)
                                           : result;
        inputs[i] = dync_v_tensor(laid);
    }
    if (DYNC__ATOMIC_LOAD(&p->compiled) == 0) dync__program_compile(p, inputs);
    if (DYNC__ATOMIC_LOAD(&p->compiled) == 1)
        return p->callable.run(p->callable.state, inputs, p->graph->n_inputs);
    return dync__graph_run(p->graph, inputs, p->graph->n_inputs);
}

/* A program is made without grad mode; what it switches inside ends with it. */
DYNC__FN dync_value dync__program_run(dync__program *p, int nargs, const dync_value *args)
{
    bool grad = dync_is_grad_enabled();
    dync_value result = dync__program_call(p, nargs, args);
    if (dync_is_grad_enabled() != grad) dync_set_grad_enabled(grad);
    return result;
}

DYNC_API dync_value(dync_program_run)(dync_program *handle, int nargs, const dync_value *args)
{
    dync__program *p = dync__program_open(handle, "dync_program_run");
    return p ? dync__program_run(p, nargs, args) : DYNC_NONE;
}

/* For shutdown, of a program that nobody freed. */
static void dync__program_end(dync__root *r) { dync__program_free((dync__program *)(void *)r); }

/* Takes p: freed where it gets no handle. From here on it may be called as a function, and is the
 * user's: programs inside of others, and of the backend "ts", end with those. */
DYNC__FN dync_program *dync__program_give(dync__program *p)
{
    DYNC__ATOMIC_STORE(&dync__program_run_hook, dync__program_run);
    dync_program *handle = dync__program_handle(p);
    if (handle)
        dync__root_set(&p->root, dync__program_end);
    else
        dync__program_free(p);
    return handle;
}
