/* onnx/walk.c: the program of a model: its graph, or the walk through its nodes compiled for the
 * arguments of each call, or both. After load.c. */
#include "../dync.in.h"
#include "record.h"
DYNC__COLD

/* Ranks, sizes that the model tells and the dtype; an error names the input and both forms. */
static dync_status dync__onnx_check_input(const dync__onnx_loaded *l, int i, const dync_tensor *t)
{
    const dync__onnx_port *p = &l->input[i];
    dync_dims d = dync__oi_shape(t);
    bool fits = p->ndim < 0 || p->ndim == d.n;
    for (int k = 0; fits && k < p->ndim; k++) fits = p->size[k] < 0 || p->size[k] == d.d[k];
    if (fits && dync__oi_type(t) == p->dtype) return DYNC_OK;
    dync__str got = {0};
    dync__tensor_brief(&got, dync__open(t));
    dync__str_addf(&got, ", expected %s[", dync__dtype_info(p->dtype)->fx);
    for (int k = 0; k < p->ndim; k++)
        if (p->size[k] >= 0)
            dync__str_addf(&got, k ? ", %lld" : "%lld", (long long)p->size[k]);
        else
            dync__str_addf(&got, k ? ", %s" : "%s", p->param[k] ? p->param[k] : "?");
    dync_status status = dync__fail(fits ? DYNC_ERR_DTYPE : DYNC_ERR_SHAPE,
                                    "ONNX program: input %d (%s) is %s]", i, p->name,
                                    dync__str_get(&got));
    dync__str_free(&got);
    return status;
}

/* A sequence is a list of tensors, each as the port says. */
static dync_status dync__onnx_check_argument(const dync__onnx_loaded *l, int i, const dync_value *v)
{
    bool list = l->input[i].sequence;
    if (v->kind != (list ? DYNC_KIND_LIST : DYNC_KIND_TENSOR))
        return dync__fail(DYNC_ERR_VALUE, "ONNX program: input %d (%s) is no %s", i,
                          l->input[i].name, list ? "list of tensors" : "tensor");
    for (int k = 0, n = list ? dync_len(*v) : 1; k < n; k++) {
        dync_value one = list ? dync_at(*v, k) : *v;
        if (one.kind != DYNC_KIND_TENSOR)
            return dync__fail(DYNC_ERR_VALUE,
                              "ONNX program: input %d (%s): element %d is no tensor", i,
                              l->input[i].name, k);
        if (!dync__open(one.as.t)) return dync_error() ? dync_error() : DYNC_ERR_VALUE;
        DYNC__TRY(dync__onnx_check_input(l, i, one.as.t));
    }
    return DYNC_OK;
}

/* A result of the walk: a sequence is a list. */
static dync_value dync__onnx_result(const dync__onnx_value *v)
{
    if (!v->sequence) return dync_v_tensor(v->t);
    dync_value list = dync__list_new(v->sequence->n);
    for (int i = 0; i < v->sequence->n && list.kind == DYNC_KIND_LIST; i++)
        dync__list_set(list, i, dync_v_tensor(v->sequence->at[i].t));
    return list;
}

/* The function that is compiled where there is no graph of all: user is the model. */
static dync_value dync__onnx_function_run(const dync_value *args, int nargs, void *user)
{
    dync__onnx_loaded *l = user;
    dync__onnx_recorder r;
    dync_value result = DYNC_NONE;
    dync__onnx_value *out = dync__scope_alloc(((size_t)l->n_outputs + 1) * sizeof *out);
    if (!out || nargs != l->n_inputs) return result;
    bool tracing = dync__tls.compiling;
    if (tracing) dync__onnx_record_begin(&r, l, NULL);
    dync_status status = dync__onnx_run(l, args, out);
    if (tracing) dync__onnx_record_end(&r);
    if (status != DYNC_OK) return result;
    result = dync__list_new(l->n_outputs);
    for (int i = 0; i < l->n_outputs && result.kind == DYNC_KIND_LIST; i++)
        dync__list_set(result, i, dync__onnx_result(&out[i]));
    return result;
}

typedef struct dync__onnx_state {
    dync__onnx_loaded *model;
    dync_compiled *compiled;
    const char *name;
    dync__onnx_forms forms;
} dync__onnx_state;

static void dync__onnx_state_end(void *state)
{
    dync__onnx_state *s = state;
    if (s->compiled) (dync_compiled_free)(s->compiled);
    dync__onnx_forms_end(&s->forms);
    dync__onnx_end(s->model);
    dync__free(s, sizeof *s);
}

static dync_value dync__onnx_state_run(void *state, const dync_value *args, int nargs)
{
    dync__onnx_state *s = state;
    if (nargs != s->model->n_inputs) {
        dync__fail(DYNC_ERR_VALUE, "ONNX program: expected %d arguments, got %d",
                   s->model->n_inputs, nargs);
        return DYNC_NONE;
    }
    for (int i = 0; i < nargs; i++)
        if (dync__onnx_check_argument(s->model, i, &args[i]) != DYNC_OK) return DYNC_NONE;
    dync_value out;
    if (dync__runs_as_written()) return dync_call_values(s->compiled, nargs, args);
    return dync__onnx_forms_run(&s->forms, s->model, s->name, args, &out)
               ? out
               : dync_call_values(s->compiled, nargs, args);
}

/* What runs the nodes of a model for the sizes and values of each call: l is taken. */
static bool dync__onnx_walker(dync__onnx_loaded *l, const char *name, dync_callable *out)
{
    dync__onnx_state *s = dync__calloc(sizeof *s);
    if (!s) {
        dync__onnx_end(l);
        return false;
    }
    s->model = l;
    s->name = dync__arena_strdup(&l->arena, name);
    dync_compile_options options = {0};
    options.name = name;
    options.user = l;
    options.dynamic = DYNC_DYNAMIC_OFF;
    options.recompile_limit = 64;
    s->compiled = dync_compile_opt(dync_fnv(dync__onnx_function_run), name, options);
    *out = (dync_callable){dync__onnx_state_run, dync__onnx_state_end, NULL, s};
    bool made = s->compiled && s->name;
    if (!made) dync__onnx_state_end(s);
    return made;
}

/* g NULL: a program without a graph of its own; l is taken. */
static dync__program *dync__onnx_dynamic(dync__onnx_loaded *l, dync__graph *g, const char *name)
{
    dync_callable run;
    int n_leaves = l->n_inputs;
    for (int i = 0; i < l->n_inputs; i++)
        if (l->input[i].sequence) n_leaves = DYNC__PROGRAM_LISTS;
    if (!dync__onnx_walker(l, name, &run)) return NULL;
    dync__program *p = g ? dync__program_from_leaves(g, name, 0, NULL)
                         : dync__program_from_callable(run, name, n_leaves);
    if (!p) {
        dync__onnx_state_end(run.state);
        return NULL;
    }
    if (g) p->other = run;
    if (dync__onnx_tell(l, p) == DYNC_OK) return p;
    dync__program_free(p);
    return NULL;
}

/* Three ways: a graph of plain sizes (the model is not needed any more), a graph of symbolic sizes
 * with the model behind it for other calls, or the model alone. blob is taken; NULL + error. */
DYNC__FN dync__program *dync__onnx_program(dync__blob *blob, const char *folder, const char *name)
{
    dync__onnx_loaded *l = dync__onnx_parse(blob, folder);
    if (!l) return NULL;
    dync__graph *g = NULL;
    dync__program *p = NULL;
    if (dync__onnx_graph_of(l, name, &g) != DYNC_OK) {
        dync__onnx_end(l);
    } else if (!g || g->syms) {
        p = dync__onnx_dynamic(l, g, name);
    } else {
        p = dync__program_from_leaves(g, name, 0, NULL);
        if (p && dync__onnx_tell(l, p) != DYNC_OK) {
            dync__program_free(p);
            p = NULL;
        }
        dync__onnx_end(l);
    }
    if (p && g) p->loaded = true;
    dync__graph_unref(g);
    return p;
}

DYNC_API dync_program *(dync_program_load_onnx)(const char *path)
{
    dync__blob *blob;
    dync__str folder = {0};
    if (!path) {
        dync__fail(DYNC_ERR_VALUE, "dync_program_load_onnx: expected a path, got NULL");
        return NULL;
    }
    const char *name = strrchr(path, '/'), *dot;
    if (name)
        dync__str_addn(&folder, path, name == path ? 1 : (size_t)(name - path));
    else
        dync__str_add(&folder, ".");
    name = name ? name + 1 : path;
    dot = strrchr(name, '.');
    dync__program *p = NULL;
    char stem[64];
    dync__format(stem, sizeof stem, "%.*s", dot && dot - name < 60 ? (int)(dot - name) : 60, name);
    if (!folder.failed && dync__blob_open(path, &blob) == DYNC_OK)
        p = dync__onnx_program(blob, dync__str_get(&folder), stem);
    dync__str_free(&folder);
    return p ? dync__program_give(p) : NULL;
}
