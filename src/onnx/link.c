/* onnx/link.c: the graphs of a model as bodies: names become places, nodes get their rows. After
 * link_known.c.
 *
 * All that can be wrong with names is found here: a value that nothing makes, or that is made
 * later (ONNX wants nodes in order, so a cycle shows as that), one made twice, an operator that is
 * not there. Missing operators are collected first: one message names them all. */
#include "../dync.in.h"
#include "link.h"
DYNC__COLD

enum { DYNC__ONNX_DEPTH = 24 };

static uint64_t dync__onnx_hash(const char *name)
{
    return dync__hash_bytes(name, strlen(name), 1);
}

/* -1: no such value in this body (its outer ones are not looked at). */
static int dync__onnx_place_in(const dync__onnx_names *n, const char *name)
{
    uint64_t at;
    if (!dync__map_get(&n->at, dync__onnx_hash(name), &at)) return -1;
    for (int i = (int)at - 1; i >= 0; i = n->next.at[i])
        if (strcmp(n->name.at[i], name) == 0) return i;
    return -1;
}

/* A new value. inside: a graph in a node may not take a name of its surroundings for another. */
static dync_status dync__onnx_define(dync__onnx_linker *k, dync__onnx_names *n, const char *name,
                                     int *out)
{
    if (dync__onnx_place_in(n, name) >= 0)
        return dync__fail(DYNC_ERR_FORMAT, "ONNX graph %s: the value \"%s\" is made twice",
                          n->body->name, name);
    uint64_t hash = dync__onnx_hash(name), before = 0;
    (void)dync__map_get(&n->at, hash, &before);
    *out = n->name.n;
    return dync__avec_push(&k->l->arena, &n->name, name) &&
                   dync__avec_push(&k->l->arena, &n->next, (int)before - 1) &&
                   dync__map_put(&n->at, hash, (uint64_t)*out + 1)
               ? DYNC_OK
               : DYNC_ERR_MEMORY;
}

/* The place of a name in this body or one around it, `up` bodies outwards; "" is no value, place
 * -1. who: for the message. */
static dync_status dync__onnx_resolve(const dync__onnx_names *n, const char *name, const char *who,
                                      dync__onnx_place *out)
{
    *out = (dync__onnx_place){0, -1};
    if (!*name) return DYNC_OK;
    for (const dync__onnx_names *at = n; at; at = at->outer, out->up++)
        if ((out->at = dync__onnx_place_in(at, name)) >= 0) return DYNC_OK;
    return dync__fail(DYNC_ERR_FORMAT,
                      "ONNX graph %s: %s needs \"%s\", which is no input and which no node before "
                      "it makes (is there a cycle?)",
                      n->body->name, who, name);
}

/* ---- operators ------------------------------------------------------------------------------- */

/* ---- nodes ----------------------------------------------------------------------------------- */

static dync_status dync__onnx_link_graph(dync__onnx_linker *, const dync__onnx_graph *,
                                         const dync__onnx_function *, dync__onnx_names *outer,
                                         dync__onnx_body **out);
static dync_status dync__onnx_link_function(dync__onnx_linker *, int i, dync__onnx_body **out);

/* Is the attribute one that the row knows? */
static bool dync__onnx_attribute_known(const dync__onnx_row *row, const char *name)
{
    size_t n = strlen(name);
    for (const char *p = row->attributes; *p;) {
        if (strncmp(p, name, n) == 0 && p[n] == '=') return true;
        const char *end = strchr(p, ' ');
        if (!end) return false;
        p = end + 1;
    }
    return false;
}

/* Attributes that the row does not list would be ignored, and the result be wrong: they are
 * refused. Graphs of attributes are linked as bodies inside this one. */
static dync_status dync__onnx_link_attributes(dync__onnx_linker *k, const dync__onnx_function *f,
                                              dync__onnx_names *names, dync__onnx_step *s)
{
    const dync__onnx_node *n = s->node;
    s->inside = dync__arena_alloc(&k->l->arena, ((size_t)n->attribute.n + 1) * sizeof *s->inside);
    if (!s->inside) return DYNC_ERR_MEMORY;
    for (int i = 0; i < n->attribute.n; i++) {
        const dync__onnx_attribute *a = n->attribute.at[i];
        if (s->row && !dync__onnx_attribute_known(s->row, a->name))
            return dync__fail(DYNC_ERR_UNSUPPORTED,
                              "ONNX node %s: attribute \"%s\" of %s is not supported",
                              *n->name ? n->name : "?", a->name, n->op_type);
        if (a->sparse_tensor || a->sparse_tensors.n || a->graphs.n)
            return dync__fail(DYNC_ERR_UNSUPPORTED,
                              "ONNX node %s: attribute \"%s\" of %s holds sparse tensors or "
                              "several graphs",
                              *n->name ? n->name : "?", a->name, n->op_type);
        if (a->g && s->row) DYNC__TRY(dync__onnx_link_graph(k, a->g, f, names, &s->inside[i]));
    }
    return DYNC_OK;
}

/* Outputs are defined after inputs are resolved: a node cannot read what it makes. */
static dync_status dync__onnx_link_node(dync__onnx_linker *k, const dync__onnx_function *f,
                                        dync__onnx_names *names, const dync__onnx_node *n,
                                        dync__onnx_step *s)
{
    dync__onnx_body *function = NULL;
    const char *domain = dync__onnx_default_domain(n->domain) ? "" : n->domain;
    int own = dync__onnx_function_of(k->model, n);
    s->node = n;
    s->version = dync__onnx_version(k, f, n->domain);
    if (own >= 0) DYNC__TRY(dync__onnx_link_function(k, own, &function));
    s->function = function;
    if (!function) s->row = dync__onnx_row_find(domain, n->op_type);
    s->in = dync__arena_alloc(&k->l->arena, ((size_t)n->input.n + 1) * sizeof *s->in);
    s->out = dync__arena_alloc(&k->l->arena, ((size_t)n->output.n + 1) * sizeof *s->out);
    if (!s->in || !s->out) return DYNC_ERR_MEMORY;
    for (int i = 0; i < n->input.n; i++)
        DYNC__TRY(
            dync__onnx_resolve(names, n->input.at[i], *n->name ? n->name : n->op_type, &s->in[i]));
    DYNC__TRY(dync__onnx_link_attributes(k, f, names, s));
    for (int i = 0; i < n->output.n; i++) {
        s->out[i] = -1;
        if (*n->output.at[i]) DYNC__TRY(dync__onnx_define(k, names, n->output.at[i], &s->out[i]));
    }
    return DYNC_OK;
}

/* A Constant is made once: code that was compiled for one tensor is good for it alone. Where that
 * fails the walk says so, if it comes there. */
static dync_status dync__onnx_link_made(dync__onnx_linker *k, dync__onnx_step *s)
{
    const dync__onnx_attribute *a = s->node->attribute.n ? s->node->attribute.at[0] : NULL;
    dync__onnx_value out = {NULL, 0, NULL};
    dync__onnx_call c = {.model = k->l,
                         .step = s,
                         .row = s->row,
                         .node = s->node,
                         .version = s->version,
                         .n_out = 1,
                         .out = &out};
    if (!s->row || s->row->map != dync__oi_constant || !a || *a->ref_attr_name ||
        s->node->output.n != 1)
        return DYNC_OK;
    dync_scope scope = dync_scope_begin();
    dync__error_guard guard;
    dync__error_guard_begin(&guard);
    dync_status status = s->row->map(&c);
    dync__error_guard_end(&guard);
    dync__tensor *t = status == DYNC_OK && out.t ? dync__open(out.t) : NULL;
    status = t ? dync__onnx_hold(k->l, t) : DYNC_OK;
    if (t && status == DYNC_OK) {
        s->made = t;
        s->made_type = out.type ? out.type : dync__onnx_type_of(t->dtype);
    }
    dync_scope_end(&scope);
    return status;
}

static dync_status dync__onnx_link_nodes(dync__onnx_linker *k, const dync__onnx_function *f,
                                         dync__onnx_names *names, dync__onnx_body *b,
                                         dync__onnx_node *const *node, int n)
{
    b->n_steps = n;
    b->step = dync__arena_alloc(&k->l->arena, ((size_t)n + 1) * sizeof *b->step);
    if (!b->step) return DYNC_ERR_MEMORY;
    for (int i = 0; i < n; i++) {
        DYNC__TRY(dync__onnx_link_node(k, f, names, node[i], &b->step[i]));
        DYNC__TRY(dync__onnx_link_made(k, &b->step[i]));
    }
    return DYNC_OK;
}

/* Initializers: the value of an input of that name (until IR version 3 all were inputs, too), or of
 * a place of their own. The model holds their tensors. */
static dync_status dync__onnx_link_constants(dync__onnx_linker *k, dync__onnx_names *names,
                                             const dync__onnx_graph *g, dync__onnx_body *b)
{
    int n = g->initializer.n;
    dync__arena *a = &k->l->arena;
    if (g->sparse_initializer.n)
        return dync__fail(DYNC_ERR_UNSUPPORTED, "ONNX graph %s: sparse initializers", b->name);
    b->initializer = (const dync__onnx_tensor *const *)g->initializer.at;
    b->constant = dync__arena_alloc(a, ((size_t)n + 1) * sizeof *b->constant);
    b->tensor = dync__arena_alloc(a, ((size_t)n + 1) * sizeof(dync__tensor *));
    b->type = dync__arena_alloc(a, ((size_t)n + 1) * sizeof *b->type);
    if (!b->constant || !b->tensor || !b->type) return DYNC_ERR_MEMORY;
    for (int i = 0; i < n; i++) {
        const dync__onnx_tensor *t = g->initializer.at[i];
        b->n_constants = i + 1;
        b->constant[i] = dync__onnx_place_in(names, t->name);
        if (b->constant[i] >= b->n_inputs)
            return dync__fail(DYNC_ERR_FORMAT,
                              "ONNX graph %s: the initializer \"%s\" is there "
                              "twice",
                              b->name, t->name);
        if (b->constant[i] < 0) DYNC__TRY(dync__onnx_define(k, names, t->name, &b->constant[i]));
        DYNC__TRY(dync__onnx_tensor_make(t, &k->l->files, &b->tensor[i]));
        dync_status status = dync__onnx_hold(k->l, b->tensor[i]);
        dync__unref(b->tensor[i]);
        if (status != DYNC_OK) return status;
        b->type[i] = (int)t->data_type;
    }
    return DYNC_OK;
}

static dync_status dync__onnx_link_outputs(dync__onnx_linker *k, const dync__onnx_names *names,
                                           dync__onnx_body *b, int n,
                                           const char *(*name)(const void *, int), const void *of)
{
    b->n_outputs = n;
    b->output = dync__arena_alloc(&k->l->arena, ((size_t)n + 1) * sizeof *b->output);
    if (!b->output) return DYNC_ERR_MEMORY;
    for (int i = 0; i < n; i++) {
        DYNC__TRY(dync__onnx_resolve(names, name(of, i), "an output", &b->output[i]));
        if (b->output[i].at < 0)
            return dync__fail(DYNC_ERR_FORMAT, "ONNX graph %s: output %d has no name", b->name, i);
    }
    b->n_values = names->name.n;
    b->maker = dync__arena_alloc(&k->l->arena, ((size_t)b->n_values + 1) * sizeof *b->maker);
    if (!b->maker) return DYNC_ERR_MEMORY;
    for (int i = 0; i < b->n_values; i++) b->maker[i] = -1;
    for (int i = 0; i < b->n_steps; i++)
        for (int o = 0; o < b->step[i].node->output.n; o++)
            if (b->step[i].out[o] >= 0) b->maker[b->step[i].out[o]] = i;
    return DYNC_OK;
}

static const char *dync__onnx_graph_output(const void *g, int i)
{
    return ((const dync__onnx_graph *)g)->output.at[i]->name;
}
static const char *dync__onnx_function_output(const void *f, int i)
{
    return ((const dync__onnx_function *)f)->output.at[i];
}

/* recursion: graphs inside nodes */
static dync_status dync__onnx_link_graph(dync__onnx_linker *k, const dync__onnx_graph *g,
                                         const dync__onnx_function *f, dync__onnx_names *outer,
                                         dync__onnx_body **out)
{
    if (k->depth == DYNC__ONNX_DEPTH)
        return dync__fail(DYNC_ERR_UNSUPPORTED,
                          "ONNX graph %s: graphs and functions more than %d "
                          "deep",
                          g->name, DYNC__ONNX_DEPTH);
    dync__onnx_body *b = *out = dync__arena_alloc(&k->l->arena, sizeof *b);
    dync__onnx_names names = {.body = b, .outer = outer};
    if (!b) return DYNC_ERR_MEMORY;
    b->name = g->name;
    b->outer = outer ? outer->body : NULL;
    b->n_inputs = g->input.n;
    b->told = (const dync__onnx_value_info *const *)g->output.at;
    k->depth++;
    dync_status status = DYNC_OK;
    int place;
    for (int i = 0; i < g->input.n && status == DYNC_OK; i++)
        status = dync__onnx_define(k, &names, g->input.at[i]->name, &place);
    if (status == DYNC_OK) status = dync__onnx_link_constants(k, &names, g, b);
    if (status == DYNC_OK) status = dync__onnx_link_nodes(k, f, &names, b, g->node.at, g->node.n);
    if (status == DYNC_OK)
        status = dync__onnx_link_outputs(k, &names, b, g->output.n, dync__onnx_graph_output, g);
    dync__map_free(&names.at);
    k->depth--;
    return status;
}

/* recursion: a function's nodes may be functions, but not itself */
static dync_status dync__onnx_link_function(dync__onnx_linker *k, int i, dync__onnx_body **out)
{
    const dync__onnx_function *f = k->model->functions.at[i];
    *out = k->function[i];
    if (*out && !k->open[i]) return DYNC_OK;
    if (k->open[i] || k->depth == DYNC__ONNX_DEPTH)
        return dync__fail(DYNC_ERR_FORMAT,
                          "ONNX function %s calls itself, or lies more than %d "
                          "deep",
                          f->name, DYNC__ONNX_DEPTH);
    dync__onnx_body *b = *out = k->function[i] = dync__arena_alloc(&k->l->arena, sizeof *b);
    dync__onnx_names names = {.body = b};
    if (!b) return DYNC_ERR_MEMORY;
    b->name = f->name;
    b->function = f;
    b->n_inputs = f->input.n;
    k->open[i] = true;
    k->depth++;
    dync_status status = DYNC_OK;
    int place;
    for (int a = 0; a < f->input.n && status == DYNC_OK; a++)
        status = dync__onnx_define(k, &names, f->input.at[a], &place);
    if (status == DYNC_OK) status = dync__onnx_link_nodes(k, f, &names, b, f->node.at, f->node.n);
    if (status == DYNC_OK)
        status = dync__onnx_link_outputs(k, &names, b, f->output.n, dync__onnx_function_output, f);
    dync__map_free(&names.at);
    k->open[i] = false;
    k->depth--;
    return status;
}

DYNC__FN dync_status dync__onnx_link(dync__onnx_loaded *l)
{
    const dync__onnx_model *m = l->model;
    dync__onnx_linker k = {.l = l, .model = m};
    if (!m->graph) return dync__fail(DYNC_ERR_FORMAT, "ONNX file: there is no graph in it");
    k.function = dync__arena_alloc(&l->arena, ((size_t)m->functions.n + 1) * sizeof *k.function);
    k.open = dync__arena_alloc(&l->arena, (size_t)m->functions.n + 1);
    if (!k.function || !k.open) return DYNC_ERR_MEMORY;
    DYNC__TRY(dync__onnx_all_known(&k));
    return dync__onnx_link_graph(&k, m->graph, NULL, NULL, &l->main);
}
