/* compile/export.c: a C function captured whole as one graph, and as a program: its arguments are
 * inputs, tensors from elsewhere (parameters, globals) attributes, the result has its own form.
 * After compile.c.
 *
 * A program computes: it is captured without grad mode. A step (dync_export_step) may differentiate
 * inside and write tensors from elsewhere, which then are its state. Capturing runs what it
 * captures: what that wrote is put back. */
#include "../dync.in.h"
#include "compile.h"
#include "../backend/backend.h"
#include "../capture/trace.h"
#include "../program/program.h"
DYNC__COLD

/* r: the rewrite from the segment's graph to g; entry: what the capture left; by_env: the node that
 * stands for each value of the environment, NULL until it is made; step: dync_export_step. */
typedef struct dync__exporter {
    dync__rewrite r;
    dync__graph *g;
    dync__cache_entry *entry;
    dync__node **by_env;
    bool step;
} dync__exporter;

/* The tensors among the arguments, in their order; one that the function does not use stays an
 * input all the same. old: NULL where it calls no operator. */
static dync_status dync__export_inputs(dync__exporter *x, const dync__graph *old,
                                       const dync__callargs *call)
{
    for (int i = 0; i < call->n_tensors; i++) {
        const dync__tensor *t = call->tensor[i];
        bool sized = x->entry->leaf && x->entry->shapes;
        dync__info info = {.dtype = t->dtype,
                           .device = t->device,
                           .lay = sized ? x->entry->leaf[i] : t->lay,
                           .alias = -1};
        dync__node *n = NULL;
        for (int k = 0; old && k < old->node.n && !n; k++) {
            dync__node *p = old->node.at[k];
            if (p->kind == DYNC__N_PLACEHOLDER && !x->r.copy[k] && p->env == x->entry->leaf_env[i])
                x->r.copy[k] = n = dync__rewrite_copy(&x->r, p);
        }
        if (!n && !(n = dync__graph_input_of(x->r.to, x->entry->tensor[i].source, &info)))
            return DYNC_ERR_MEMORY;
        if (!x->by_env[x->entry->leaf_env[i]]) x->by_env[x->entry->leaf_env[i]] = n;
    }
    return DYNC_OK;
}

/* The record of an input from elsewhere: by its place in the environment, as two may have one
 * source ("net[i]" is another module at each call). */
static const dync__foreign *dync__export_foreign(const dync__exporter *x, const dync__node *old)
{
    const dync__cache_entry *e = x->entry;
    for (int i = 0; i < e->root->foreign.n; i++)
        if (e->root->foreign.at[i].env == old->env)
            return &e->foreign.at[e->root->foreign.at[i].index];
    for (int i = 0; i < e->foreign.n; i++)
        if (old->source && strcmp(e->foreign.at[i].guard.source, old->source) == 0)
            return &e->foreign.at[i];
    return NULL;
}

/* A tensor from elsewhere (a parameter, a global) becomes an attribute. */
static dync__node *dync__export_attr(dync__exporter *x, const dync__node *old)
{
    const dync__foreign *f = dync__export_foreign(x, old);
    if (f) {
        dync__tensor *t = dync__peek(f->address ? *f->address : f->handle);
        return t ? dync__graph_attr(x->r.to, old->name, old->name, t) : NULL;
    }
    return NULL;
}

/* Placeholders have been made by dync__export_inputs, or become attributes. */
static dync__node *dync__export_node(dync__rewrite *r, dync__node *old)
{
    dync__exporter *x = r->user;
    dync__node *n = r->copy[old->index];
    if (old->kind != DYNC__N_PLACEHOLDER) return dync__rewrite_copy(r, old);
    return x->by_env[old->env] = n ? n : dync__export_attr(x, old);
}

/* The graph's output in the form of the function's result. Lists lie in the graph's arena. */
static dync_status dync__export_result(dync__exporter *x, const dync__outval *o, dync__arg *out)
{
    memset(out, 0, sizeof *out);
    switch ((dync_kind)o->kind) {
    case DYNC_KIND_TENSOR:
        out->kind = DYNC__A_NODE;
        out->as.node = x->by_env[o->n];
        return out->as.node ? DYNC_OK
                            : dync__fail(DYNC_ERR_UNSUPPORTED, "export: a tensor from "
                                                               "outside is returned as "
                                                               "it is");
    case DYNC_KIND_LIST:
        out->kind = DYNC__A_LIST;
        out->n = o->n;
        out->as.list = dync__arena_alloc(&x->r.to->arena, (size_t)(o->n + 1) * sizeof *out);
        if (!out->as.list) return DYNC_ERR_MEMORY;
        for (int i = 0; i < o->n; i++)
            DYNC__TRY(dync__export_result(x, &o->as.items[i], &out->as.list[i]));
        return DYNC_OK;
    case DYNC_KIND_INT: *out = dync__arg_i(o->as.value.as.i); return DYNC_OK;
    case DYNC_KIND_FLOAT: *out = dync__arg_f(o->as.value.as.f); return DYNC_OK;
    case DYNC_KIND_BOOL: *out = dync__arg_b(o->as.value.as.b); return DYNC_OK;
    case DYNC_KIND_NONE: return DYNC_OK;
    default:
        return dync__fail(DYNC_ERR_UNSUPPORTED, "export: the function returns something "
                                                "else than tensors, numbers and lists of "
                                                "them");
    }
}

/* All operators of the one segment, and which value each of its outputs is. */
static dync_status dync__export_calls(dync__exporter *x, const dync__segref *ref)
{
    const dync__graph *old = ref->seg->graph;
    for (int i = 0; i < old->node.n - 1; i++)
        DYNC__TRY(dync__rewrite_put(&x->r, old->node.at[i], dync__export_node));
    const dync__arg *outs = &old->node.at[old->node.n - 1]->args[0];
    for (int i = 0; i < outs->n; i++)
        x->by_env[ref->out_env[i]] = dync__rewrite_at(&x->r, outs->as.list[i].as.node);
    return DYNC_OK;
}

static dync_status dync__export_nodes(dync__exporter *x, const dync__segref *ref,
                                      const dync__callargs *call)
{
    dync__arg result;
    DYNC__TRY(dync__export_inputs(x, ref ? ref->seg->graph : NULL, call));
    if (ref) DYNC__TRY(dync__export_calls(x, ref));
    DYNC__TRY(dync__export_result(x, &x->entry->root->result, &result));
    return dync__graph_output(x->r.to, &result) ? DYNC_OK : DYNC_ERR_MEMORY;
}

/* Under symbolic sizes the graph gets names for them, in the end. x->g: one reference, or NULL. */
static dync_status dync__export_graph(dync__exporter *x, const dync__callargs *call)
{
    const dync__segref *ref = x->entry->root->seg.n ? &x->entry->root->seg.at[0] : NULL;
    dync__graph *old = ref ? ref->seg->graph : NULL;
    dync_status status = dync__rewrite_begin(&x->r, old, "GraphModule");
    x->r.user = x;
    if (status == DYNC_OK) status = dync__export_nodes(x, ref, call);
    DYNC__TRY(dync__rewrite_end(&x->r, status, &x->g));
    if (!x->entry->shapes || dync__program_settle(x->g, x->entry->shapes->syms)) return DYNC_OK;
    dync__graph_unref(x->g);
    x->g = NULL;
    return DYNC_ERR_MEMORY;
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* As the backend eager, but what the graph writes holds afterwards what it did before. */
static dync_value dync__export_run(void *state, const dync_value *args, int n)
{
    dync__graph *g = state;
    dync__tensor *kept[DYNC__MAX_LEAVES] = {NULL};
    dync_value result = DYNC_NONE;
    bool writes = dync__graph_has_writes(g), ok = n <= DYNC__MAX_LEAVES;
    uint64_t drawn = dync__tls.rng_offset;
    if (!ok)
        dync__fail(DYNC_ERR_UNSUPPORTED, "dync_export_step: more than %d tensors",
                   DYNC__MAX_LEAVES);
    for (int i = 0; i < n && ok && writes; i++) {
        dync__tensor *t = args[i].kind == DYNC_KIND_TENSOR ? dync__open(args[i].as.t) : NULL;
        if (t && dync__device_is(t->device, DYNC__DEV_DATA))
            ok = (kept[i] = dync__contiguous_copy(t)) != NULL;
    }
    if (ok) result = dync__graph_run(g, args, n);
    for (int i = 0; i < n && i < DYNC__MAX_LEAVES; i++) {
        if (!kept[i]) continue;
        if (ok) (void)dync__state_write(dync__open(args[i].as.t), dync__tensor_data(kept[i]));
        dync__unref(kept[i]);
    }
    dync__tls.rng_offset = drawn;
    return result;
}

static dync_status dync__export_backend(dync_graph *graph, const dync_value *ex, int n,
                                        const char *options, dync_callable *out, void *user)
{
    DYNC__TRY(dync__backend_eager(graph, ex, n, options, out, user));
    out->run = dync__export_run;
    return DYNC_OK;
}

/* What else it does but compute: gradients of tensors from elsewhere may be left, the next step
 * begins without; here they are taken away again. */
static dync_status dync__export_effects(const dync__exporter *x, const char *name)
{
    const dync__tnode *root = x->entry->root;
    for (int i = 0; i < root->effect.n; i++) {
        const dync__effect *effect = &root->effect.at[i];
        if (effect->kind == DYNC__DO_MODE) continue; /* a program keeps the mode that it ran in */
        if (!x->step || effect->kind != DYNC__DO_SET_GRAD)
            return dync__fail(DYNC_ERR_UNSUPPORTED,
                              "%s sets gradients, registers hooks or switches requires_grad: "
                              "a program only computes%s",
                              name, x->step ? "" : "; a step that trains goes by dync_export_step");
        for (int k = 0; k < root->foreign.n; k++) {
            const dync__foreign *f = &x->entry->foreign.at[root->foreign.at[k].index];
            dync__tensor *of = root->foreign.at[k].env == effect->env ? dync__peek(f->handle)
                                                                      : NULL;
            if (of) DYNC__TRY(dync__tensor_set_grad(of, NULL));
        }
    }
    for (int i = 0; x->step && i < x->entry->foreign.n; i++) {
        const dync__foreign *f = &x->entry->foreign.at[i];
        if (f->owner && !f->absent && !f->is_hooks)
            return dync__fail(DYNC_ERR_VALUE,
                              "dync_export_step: %s holds a gradient that %s adds to: call "
                              "dync_optim_zero_grad before the export, or first in %s",
                              f->guard.source, name, name);
    }
    return DYNC_OK;
}

/* Captures fn whole under `fullgraph`. The graph has one reference; NULL + error. Its inputs are
 * the tensors among the arguments, and so is what call is filled with, in the same order. */
static dync__graph *dync__capture_whole(dync_callee callee, const char *name, int nargs,
                                        const dync_value *args, dync__exporter *x,
                                        dync__callargs *call)
{
    dync_backend backend = {.name = "eager",
                            .compile = x->step ? dync__export_backend : dync__backend_eager};
    /* what data decide stays in the graph: nobody is there to go on behind a break */
    dync_compile_options opt = {.backend_object = &backend,
                                .fullgraph = true,
                                .capture_scalars = !DYNC__SYM_NONE,
                                .capture_dynamic_shapes = !DYNC__SYM_NONE};
    dync__compiled *f =
        dync__compile_by(x->step ? "dync_export_step" : "dync_export", callee, name, opt);
    if (!f) return NULL;
    f->undone = x->step;
    uint64_t errors = dync__error_count();
    dync_scope scope = dync_scope_begin();
    dync_call_values(dync__compiled_handle(f), nargs, args);
    dync__cache_entry *e = f->entries;
    bool ends = e && e->root && e->root->kind == DYNC__TN_RETURN;
    bool hands_on = ends && (e->root->result.kind == DYNC_KIND_TENSOR ||
                             e->root->result.kind == DYNC_KIND_LIST);
    bool whole = ends && (e->root->seg.n == 1 ||
                          (e->root->seg.n == 0 && hands_on)); /* the identity calls no operator */
    bool failed = dync__error_count() != errors && dync_error() != DYNC_OK;
    x->entry = e;
    if (!failed && e && e->root) failed = dync__export_effects(x, f->name) != DYNC_OK;
    if (!failed && !whole)
        failed = dync__fail(DYNC_ERR_UNSUPPORTED,
                            dync__tracing() ? "%s is exported inside a traced function"
                                            : "%s makes no operator call: there is no graph of it",
                            f->name) != DYNC_OK;
    size_t bytes = failed ? 0 : (size_t)(e->n_env + 1) * sizeof *x->by_env;
    if (!failed) {
        x->by_env = dync__calloc(bytes);
        failed = !x->by_env || dync__callargs_flatten(call, nargs, args) != DYNC_OK ||
                 dync__export_graph(x, call) != DYNC_OK;
        dync__free(x->by_env, bytes);
    }
    dync_scope_end(&scope);
    dync__compiled_free(f);
    return failed ? NULL : x->g;
}

/* A tensor given twice is two inputs, as for make_fx: nothing guards that they stay one. The second
 * is another handle on the same memory. One whose elements share memory is taken as a copy: whoever
 * calls the program need not give such a one. seen: tensors met so far, to tell a second time. */
typedef struct dync__distinct {
    dync_tensor *seen[DYNC__MAX_LEAVES];
    int n;
} dync__distinct;
/* The same handle where nothing is to be done; NULL: no memory. */
static dync_tensor *dync__distinct_tensor(void *user, dync_tensor *h)
{
    dync__distinct *d = user;
    const dync__tensor *x = dync__peek(h);
    bool seen = false;
    for (int i = 0; i < d->n; i++) seen = seen || d->seen[i] == h;
    if (!seen && d->n < DYNC__MAX_LEAVES) d->seen[d->n++] = h;
    bool overlaps = x && !(x->flags & DYNC__T_FAKE) && dync__device_is(x->device, DYNC__DEV_HOST) &&
                    dync__layout_overlaps_itself(&x->lay);
    if (!x || (!seen && !overlaps)) return h;
    dync__tensor *other = overlaps ? dync__contiguous_copy(x)
                                   : dync__tensor_alias(x, x->dtype, &x->lay);
    if (other) other->flags |= x->flags & (DYNC__T_REQUIRES_GRAD | DYNC__T_PARAMETER);
    if (other && !dync__marks_copy(other, x)) {
        dync__unref(other);
        return NULL;
    }
    return other ? dync__give(other) : NULL;
}
/* false: too many arguments, or none: they are taken as they are, and refused where they are
 * used. */
static bool dync__distinct_args(int nargs, const dync_value *args, dync_value *out)
{
    dync__distinct d = {.n = 0};
    if (!args || nargs < 1 || nargs > DYNC__MAX_LEAVES) return false;
    for (int i = 0; i < nargs; i++) out[i] = dync__value_map(args[i], dync__distinct_tensor, &d);
    return true;
}

/* Capture runs what it captures; arguments that this wrote get back the memory that they were on
 * (set_) and what it held. */
typedef struct dync__export_copies {
    dync__callargs call;
    dync__tensor *copy[DYNC__MAX_LEAVES], *alias[DYNC__MAX_LEAVES];
} dync__export_copies;
/* Copies of all arguments with data, before the capture runs. */
static dync_status dync__export_keep(dync__export_copies *k, int nargs, const dync_value *args)
{
    DYNC__TRY(dync__callargs_flatten(&k->call, nargs, args));
    for (int i = 0; i < k->call.n_tensors; i++) {
        const dync__tensor *t = k->call.tensor[i];
        if ((t->flags & DYNC__T_FAKE) || !dync__device_is(t->device, DYNC__DEV_DATA)) continue;
        k->copy[i] = dync__contiguous_copy(t);
        k->alias[i] = dync__tensor_alias(t, t->dtype, &t->lay);
        if (!k->copy[i] || !k->alias[i]) return DYNC_ERR_MEMORY;
    }
    return DYNC_OK;
}
/* written: does the graph write its inputs? What overlaps itself cannot be written. Releases the
 * copies in any case. */
static void dync__export_put_back(dync__export_copies *k, bool written)
{
    for (int i = 0; i < k->call.n_tensors; i++) {
        dync__tensor *t = k->call.tensor[i], *alias = k->alias[i];
        if (written && k->copy[i] && alias && t->storage != alias->storage)
            dync_set_(dync__handle(t), dync__handle(alias));
        if (written && k->copy[i] && alias && !dync__layout_overlaps_itself(&alias->lay))
            dync_copy_(dync__handle(t), dync__handle(k->copy[i]));
        dync__unref(k->copy[i]);
        dync__unref(alias);
    }
}

/* A dimension of size 0 or 1 is never symbolic: the promise could not be kept. */
static dync_status dync__export_marks(const dync__export_copies *k)
{
    for (int i = 0; i < k->call.n_tensors; i++)
        for (int d = 0; d < k->call.tensor[i]->lay.ndim; d++)
            if (k->call.tensor[i]->marked_dims & 1u << d && k->call.tensor[i]->lay.shape[d] < 2)
                return dync__fail(
                    DYNC_ERR_VALUE,
                    "dync_export: dimension %d of tensor %d is marked as changing and is %lld: "
                    "sizes 0 and 1 are never symbolic; export with a tensor of at least 2 there",
                    d, i, (long long)k->call.tensor[i]->lay.shape[d]);
    return DYNC_OK;
}

/* Grad mode: a program computes only, so gradients are off in the capture, unless an argument
 * requires them, where the function may switch them itself. In a step they are on. */
static dync_program *dync__export(dync_callee callee, const char *name, int nargs,
                                  const dync_value *args, bool step)
{
    dync__exporter x = {.step = step};
    dync__callargs call;
    bool grad_off = dync__grad_is_off();
    dync_scope scope = dync_scope_begin();
    dync_value apart[DYNC__MAX_LEAVES];
    bool distinct = dync__distinct_args(nargs, args, apart);
    dync__export_copies copies = {.call = {.n_tensors = 0}};
    dync__graph *g = NULL;
    dync_status kept = distinct ? dync__export_keep(&copies, nargs, args) : DYNC_OK;
    /* an argument that requires grad: then modes inside count */
    bool wants_grad = false;
    for (int i = 0; i < copies.call.n_tensors; i++)
        wants_grad = wants_grad || dync__tensor_requires_grad(copies.call.tensor[i]);
    if (step)
        dync__grad_off(false);
    else if (!wants_grad)
        dync__grad_off(true); /* a program runs: it does not train */
    if (kept == DYNC_OK) kept = dync__export_marks(&copies);
    if (kept == DYNC_OK)
        g = dync__capture_whole(callee, name, nargs, distinct ? apart : args, &x, &call);
    dync__grad_off(true);
    dync__export_put_back(&copies, g && dync__graph_has_writes(g));
    dync_scope_end(&scope);
    dync__grad_off(grad_off);
    if (!g) return NULL;
    dync__compiled *inner = dync__callee_compiled(&callee);
    dync__program *p = dync__program_from_leaves(g,
                                                 callee.name ? callee.name
                                                 : inner     ? inner->name
                                                             : name,
                                                 0, NULL);
    dync__graph_unref(g);
    return dync__program_give(p);
}

DYNC_API dync_program *dync_export_values(dync_callee callee, const char *name, int nargs,
                                          const dync_value *args)
{
    return dync__export(callee, name, nargs, args, false);
}

DYNC_API dync_program *dync_export_step_values(dync_callee callee, const char *name, int nargs,
                                               const dync_value *args)
{
    return dync__export(callee, name, nargs, args, true);
}
