/* compile/compile.c: wires the stages; the only file that knows them all.
 *
 *   dync_compile   callee, options, backend -> dync_compiled    capture/cache.c, backend/registry.c
 *   dync_call      guards -> entry, or trace -> segments        capture/
 *   segment        graph -> backend.compile                     backend/
 *   inductor       graph -> joint -> forward + backward         aot/
 *                  functional graph -> loops, kernel calls      inductor/lower.c, op/lower.c
 *                  -> fused, scheduled, planned -> code         runtime/plan.c, loop/, codegen/ */
#include "../dync.in.h"
#include "../backend/backend.h"
#include "../minify/minify.h"
#include "../program/program.h"
DYNC__COLD

/* ---- modules --------------------------------------------------------------------------------- */
/* The module hook: a compiled module is called like a compiled function. */
static dync_value dync__compile_call_module(dync__module *m, int nargs, const dync_value *args)
{
    return dync_call_values(dync__compiled_handle(m->compiled), nargs, args);
}
/* The module ends: entries that guard it go, and its own compiled form. */
static void dync__compile_drop_module(dync__module *m)
{
    dync__capture_forget_module(m);
    dync__compiled_free(m->compiled);
    m->compiled = NULL;
}

/* ---- options --------------------------------------------------------------------------------- */
/* Is the word of n characters one of those in `names`? -1: no; else which. */
static int dync__compile_name_at(const char *names, const char *word, size_t n)
{
    int i = 0;
    for (const char *p = names + strspn(names, " ,"); *p; p += strspn(p, " ,"), i++) {
        size_t k = strcspn(p, " ,");
        if (k == n && memcmp(p, word, n) == 0) return i;
        p += k;
    }
    return -1;
}

/* .args: as many identifiers as the function has arguments, no two the same. arity -1: any
 * number. */
static dync_status dync__compile_check_args(const char *fn, const char *args, int arity)
{
    int n = 0;
    for (const char *p = args + strspn(args, " ,"); *p; p += strspn(p, " ,"), n++) {
        size_t k = strcspn(p, " ,");
        if (!dync__is_name(p, k))
            return dync__fail(
                DYNC_ERR_VALUE,
                "dync_compile: %s: .args: expected names \"x, y\", got '%.*s' in '%s'", fn, (int)k,
                p, args);
        if (dync__compile_name_at(args, p, k) != n)
            return dync__fail(
                DYNC_ERR_VALUE,
                "dync_compile: %s: .args: expected different names, got '%.*s' twice in '%s'", fn,
                (int)k, p, args);
        p += k;
    }
    if (arity >= 0 && n != arity)
        return dync__fail(DYNC_ERR_VALUE,
                          "dync_compile: %s: .args: expected %d name%s, got %d: '%s'", fn, arity,
                          arity == 1 ? "" : "s", n, args);
    return DYNC_OK;
}

/* .symbolic: names of arguments. */
static dync_status dync__compile_check_symbolic(const char *fn, const char *symbolic,
                                                const char *args, int arity)
{
    for (const char *p = symbolic + strspn(symbolic, " ,"); *p; p += strspn(p, " ,")) {
        size_t k = strcspn(p, " ,");
        bool known = args && dync__compile_name_at(args, p, k) >= 0;
        for (int i = 0; !known && !args && i < (arity < 0 ? DYNC__MAX_LEAVES : arity); i++) {
            char name[24];
            known = dync__format(name, sizeof name, "arg%d", i) == (int)k &&
                    memcmp(name, p, k) == 0;
        }
        if (!known)
            return dync__fail(
                DYNC_ERR_VALUE,
                "dync_compile: %s: .symbolic: expected names of arguments (%s), got '%.*s'", fn,
                args    ? args
                : arity ? "arg0, arg1, ... where .args names none"
                        : "it has none",
                (int)k, p);
        p += k;
    }
    return DYNC_OK;
}

/* The function's name in messages: the option, the callee's, what the macro saw, "fn". */
static dync_status dync__compile_check(const dync_callee *callee, const char *fn_name,
                                       const dync_compile_options *o, const dync_backend *backend)
{
    const char *args = o->args ? o->args : callee->args, *fn = o->name        ? o->name
                                                               : callee->name ? callee->name
                                                               : fn_name      ? fn_name
                                                                              : "fn";
    int arity = dync__callee_arity(callee);
    if (args) DYNC__TRY(dync__compile_check_args(fn, args, arity));
    if (o->symbolic) DYNC__TRY(dync__compile_check_symbolic(fn, o->symbolic, args, arity));
    dync__options parsed;
    return dync__backend_options(backend->compile, o->options, &parsed);
}

/* Everything is checked before anything is made. Hooks are installed here and not at start, so that
 * a program which never compiles links none of it. NULL + error. */
static dync__compiled *dync__compile_make(dync_callee callee, const char *fn_name,
                                          dync_compile_options options)
{
    if (dync__callee_check(&callee, "dync_compile") != DYNC_OK) return NULL;
    dync__compiled *inner = dync__callee_compiled(&callee);
    /* peeled off: the new backend replaces the old */
    if (inner) {
        if (!options.args) options.args = inner->args;
        if (!options.name) options.name = inner->name;
        callee = inner->callee;
    }
    const dync_backend *backend = options.backend_object;
    if (!backend) backend = dync_lookup_backend(options.backend ? options.backend : "inductor");
    if (!backend) return NULL;
    if (!backend->compile) {
        dync__fail(DYNC_ERR_VALUE, "dync_compile: backend '%s' has no compile function",
                   backend->name ? backend->name : "?");
        return NULL;
    }
    if (options.recompile_limit < 0) {
        dync__fail(DYNC_ERR_VALUE,
                   "dync_compile: recompile_limit is %d, expected 0 (the default) or more",
                   options.recompile_limit);
        return NULL;
    }
    if (dync__compile_check(&callee, fn_name, &options, backend) != DYNC_OK) return NULL;
    int after;
    if (!dync__repro_after_parse(options.repro_after, &after) || options.repro_level < 0 ||
        options.repro_level > 4) {
        dync__fail(DYNC_ERR_VALUE,
                   "dync_compile: repro_after is '%s' and repro_level %d, "
                   "expected none, dynamo or aot and 1 to 4",
                   options.repro_after ? options.repro_after : "none", options.repro_level);
        return NULL;
    }
    if (options.repro_after) options.repro_after = dync__repro_after_name(after);
    if (options.recompile_limit == 0) options.recompile_limit = 8;
    dync__capture_install();
#if !defined(DYNC_NO_STDIO)
    dync__hook_install(); /* it has nowhere to write otherwise */
#endif
    DYNC__ATOMIC_STORE(&dync__module_call_compiled, dync__compile_call_module);
    DYNC__ATOMIC_STORE(&dync__module_drop_compiled, dync__compile_drop_module);
    DYNC__ATOMIC_STORE(&dync__program_run_hook, dync__program_run);
    dync__at_shutdown(dync__compiled_free_all);
    return dync__compiled_new(callee, fn_name, &options, backend);
}

/* Errors name the place of the dync_compile call. */
DYNC_API dync_compiled *dync_compile_opt(dync_callee callee, const char *fn_name,
                                         dync_compile_options options)
{
    dync_loc outer = dync__tls.at;
    if (options.at_.file) dync__tls.at = options.at_;
    dync_compiled *handle = dync__compiled_handle(dync__compile_make(callee, fn_name, options));
    dync__tls.at = outer;
    return handle;
}

/* A module compiled again loses its entries. */
DYNC_API void dync_module_compile_opt(dync_module *handle, const char *name,
                                      dync_compile_options options)
{
    dync__module *m = dync__module_open(handle, "dync_module_compile");
    if (!m) return;
    if (!options.args && !m->args) options.args = "x";
    dync__compiled *f = dync__compiled_peek(dync_compile_opt(dync_fnm(handle), name, options));
    if (!f) return;
    dync__compiled_free(m->compiled);
    m->compiled = f;
}

/* ---- a function as one graph: arguments are inputs, everything else attributes, the result has
 * its own form ------------------------ */
/* r: the rewrite from the segment's graph to g; entry: what the capture left; by_env: the node that
 * stands for each value of the environment, NULL until it is made. */
typedef struct dync__exporter {
    dync__rewrite r;
    dync__graph *g;
    dync__cache_entry *entry;
    dync__node **by_env;
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

/* Captures fn whole under `fullgraph`. The graph has one reference; NULL + error. Its inputs are
 * the tensors among the arguments. call is filled too: the arguments as leaves, in the order of the
 * graph's inputs. */
static dync__graph *dync__capture_whole(dync_callee callee, const char *name, int nargs,
                                        const dync_value *args, dync__exporter *x,
                                        dync__callargs *call)
{
    dync_backend backend = {.name = "eager", .compile = dync__backend_eager};
    dync_compile_options opt = {.backend_object = &backend, .fullgraph = true};
    dync_compiled *handle = dync_compile_opt(callee, name, opt);
    dync__compiled *f = dync__compiled_peek(handle);
    if (!f) return NULL;
    uint64_t errors = dync__error_count();
    dync_scope scope = dync_scope_begin();
    dync_call_values(handle, nargs, args);
    dync__cache_entry *e = f->entries;
    bool ends = e && e->root && e->root->kind == DYNC__TN_RETURN;
    bool hands_on = ends && (e->root->result.kind == DYNC_KIND_TENSOR ||
                             e->root->result.kind == DYNC_KIND_LIST);
    bool whole = ends && (e->root->seg.n == 1 ||
                          (e->root->seg.n == 0 && hands_on)); /* the identity calls no operator */
    bool failed = dync__error_count() != errors && dync_error() != DYNC_OK;
    if (!failed && e && e->root && e->root->effect.n)
        failed = dync__fail(DYNC_ERR_UNSUPPORTED,
                            "%s sets gradients, registers hooks or switches requires_grad: "
                            "a program only computes",
                            f->name) != DYNC_OK;
    if (!failed && !whole)
        failed = dync__fail(DYNC_ERR_UNSUPPORTED,
                            "%s makes no operator call: there is no graph of it",
                            f->name) != DYNC_OK;
    size_t bytes = failed ? 0 : (size_t)(e->n_env + 1) * sizeof *x->by_env;
    if (!failed) {
        x->entry = e;
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

/* Capture runs what it captures; arguments that this wrote get back what they held. */
typedef struct dync__export_copies {
    dync__callargs call;
    dync__tensor *copy[DYNC__MAX_LEAVES];
} dync__export_copies;
/* Copies of all arguments with data, before the capture runs. */
static dync_status dync__export_keep(dync__export_copies *k, int nargs, const dync_value *args)
{
    DYNC__TRY(dync__callargs_flatten(&k->call, nargs, args));
    for (int i = 0; i < k->call.n_tensors; i++)
        if (!(k->call.tensor[i]->flags & DYNC__T_FAKE) &&
            dync__device_is(k->call.tensor[i]->device, DYNC__DEV_DATA) &&
            !(k->copy[i] = dync__contiguous_copy(k->call.tensor[i])))
            return DYNC_ERR_MEMORY;
    return DYNC_OK;
}
/* written: does the graph write its inputs? Releases the copies in any case. */
static void dync__export_put_back(dync__export_copies *k, bool written)
{
    for (int i = 0; i < k->call.n_tensors; i++) {
        if (written && k->copy[i])
            dync_copy_(dync__handle(k->call.tensor[i]), dync__handle(k->copy[i]));
        dync__unref(k->copy[i]);
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
 * requires them, where the function may switch them itself. */
DYNC_API dync_program *dync_export_values(dync_callee callee, const char *name, int nargs,
                                          const dync_value *args)
{
    dync__exporter x = {0};
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
    if (!wants_grad) dync__grad_off(true); /* a program runs: it does not train */
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

/* ---- public functions, of every layer, with the place of their call -------------------------- */
/* type, name, parameters with the place, arguments of the plain function: name_at sets the place,
 * calls name, and puts the place of before back. */
/* clang-format off */
#define DYNC__PLACED(X)                                                                                                \
    X(dync_value, dync_at, (dync_value list, int i, dync_loc at), (list, i))                                           \
    X(dync_tensor *, dync_as_tensor, (dync_value v, dync_loc at), (v))                                                 \
    X(dync_tensor *, dync_to_dtype, (dync_tensor *t, dync_dtype dtype, dync_loc at), (t, dtype))                       \
    X(dync_tensor *, dync_to_device, (dync_tensor *t, dync_device device, dync_loc at), (t, device))                   \
    X(dync_value, dync_split, (dync_tensor *t, int64_t size, int dim, dync_loc at), (t, size, dim))                    \
    X(dync_value, dync_split_sizes, (dync_tensor *t, dync_dims sizes, int dim, dync_loc at), (t, sizes, dim))          \
    X(dync_value, dync_chunk, (dync_tensor *t, int chunks, int dim, dync_loc at), (t, chunks, dim))                    \
    X(dync_value, dync_unbind, (dync_tensor *t, int dim, dync_loc at), (t, dim))                                       \
    X(dync_tensor *, dync_module_param, (dync_module *m, const char *name, dync_loc at), (m, name))                    \
    X(dync_status, dync_module_load, (dync_module *m, const char *path, dync_loc at), (m, path))                       \
    X(dync_tensor *, dync_parameter, (dync_tensor *t, dync_loc at), (t))                                               \
    X(dync_tensor *, dync_set_, (dync_tensor *self, dync_tensor *other, dync_loc at), (self, other))                   \
    X(dync_tensor *, dync_arange, (double start, double end, double step, dync_loc at), (start, end, step))            \
    X(int64_t, dync_size, (const dync_tensor *t, int dim, dync_loc at), (t, dim))                                      \
    X(dync_value, dync_size_sym, (const dync_tensor *t, int dim, dync_loc at), (t, dim))                               \
    X(dync_value, dync_item_sym, (dync_tensor *t, dync_loc at), (t))                                                   \
    X(dync_status, dync_check, (dync_value n, int64_t least, int64_t most, dync_loc at), (n, least, most))             \
    X(bool, dync_dim_lt, (const dync_tensor *t, int dim, int64_t n, dync_loc at), (t, dim, n))                         \
    X(bool, dync_dim_eq, (const dync_tensor *t, int dim, int64_t n, dync_loc at), (t, dim, n))                         \
    X(bool, dync_dim_gt, (const dync_tensor *t, int dim, int64_t n, dync_loc at), (t, dim, n))                         \
    X(int64_t, dync_stride, (const dync_tensor *t, int dim, dync_loc at), (t, dim))                                    \
    X(void *, dync_data, (dync_tensor *t, dync_loc at), (t))                                                           \
    X(char *, dync_str, (dync_tensor *t, dync_loc at), (t))                                                            \
    X(bool, dync_equal, (dync_tensor *a, dync_tensor *b, dync_loc at), (a, b))                                         \
    X(bool, dync_allclose, (dync_tensor *a, dync_tensor *b, double rtol, double atol, dync_loc at),                    \
      (a, b, rtol, atol))                                                                                              \
    X(dync_status, dync_backward, (dync_tensor *loss, dync_loc at), (loss))                                            \
    X(dync_status, dync_backward_with, (dync_tensor *out, dync_tensor *grad_out, dync_loc at), (out, grad_out))        \
    X(dync_status, dync_backward_opt,                                                                                  \
      (dync_value outputs, dync_value grad_outputs_or_none, dync_grad_options options, dync_loc at),                   \
      (outputs, grad_outputs_or_none, options))                                                                        \
    X(dync_value, dync_gradients,                                                                                      \
      (dync_value outputs, dync_value inputs, dync_value grad_outputs_or_none, dync_grad_options options, dync_loc at),\
      (outputs, inputs, grad_outputs_or_none, options))                                                                \
    X(dync_value, dync_grad_fn_call, (dync_tensor *out, dync_value grads, dync_loc at), (out, grads))                  \
    X(dync_tensor *, dync_requires_grad_, (dync_tensor *t, bool on, dync_loc at), (t, on))                             \
    X(dync_value, dync_module_call_values, (dync_module *m, int nargs, const dync_value *args, dync_loc at),           \
      (m, nargs, args))                                                                                                \
    X(dync_tensor *, dync_forward_call, (dync_module *m, dync_tensor *x, dync_loc at), (m, x))                         \
    X(dync_tensor *, dync_clip_grad_norm, (dync_module *m, double max_norm, dync_loc at), (m, max_norm))               \
    X(dync_status, dync_optim_step, (dync_optim *o, dync_loc at), (o))                                                 \
    X(dync_status, dync_call_into_values,                                                                              \
      (dync_compiled *f, dync_value out, int nargs, const dync_value *args, dync_loc at), (f, out, nargs, args))
/* clang-format on */
#define DYNC__X(type, name, params, args) \
    DYNC_API type name##_at params        \
    {                                     \
        dync_loc outer = dync__tls.at;    \
        dync__tls.at = at;                \
        type result = (name)args;         \
        dync__tls.at = outer;             \
        return result;                    \
    }
DYNC__PLACED(DYNC__X)
#undef DYNC__X
/* What the user wrote for the module names it in the graph that is being made. */
DYNC_API dync_value dync_module_call_named(const char *text, dync_module *m, int nargs,
                                           const dync_value *args, dync_loc at)
{
    bool traced = dync__tls.compiling;
    if (traced) dync__tls.module_text = text;
    dync_value result = dync_module_call_values_at(m, nargs, args, at);
    if (traced) dync__tls.module_text = NULL;
    return result;
}
DYNC_API dync_tensor *dync_forward_call_named(const char *text, dync_module *m, dync_tensor *x,
                                              dync_loc at)
{
    bool traced = dync__tls.compiling;
    if (traced) dync__tls.module_text = text;
    dync_tensor *result = dync_forward_call_at(m, x, at);
    if (traced) dync__tls.module_text = NULL;
    return result;
}
DYNC_API void dync_print_at(dync_tensor *t, dync_loc at)
{
    dync_loc outer = dync__tls.at;
    dync__tls.at = at;
    (dync_print)(t);
    dync__tls.at = outer;
}
DYNC_API void dync_set_grad_at(dync_tensor *t, dync_tensor *grad_or_null, dync_loc at)
{
    dync_loc outer = dync__tls.at;
    dync__tls.at = at;
    (dync_set_grad)(t, grad_or_null);
    dync__tls.at = outer;
}
