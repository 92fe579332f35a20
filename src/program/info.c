/* program/info.c: what goes into a program and what comes out. After export.c. */
#include "../dync.in.h"
#include "program.h"
DYNC__COLD

/* Copies; those that were there stay where the memory of a copy is missing. */
DYNC__FN dync_status dync__program_tell(dync__program *p, int n_in, const dync_port *in, int n_out,
                                        const dync_port *out)
{
    size_t bytes = (size_t)(n_in + n_out + 1) * sizeof *p->port;
    dync_port *port = dync__arena_alloc(&p->told, bytes);
    if (!port) return DYNC_ERR_MEMORY;
    for (int i = 0; i < n_in + n_out; i++) {
        port[i] = i < n_in ? in[i] : out[i - n_in];
        port[i].name = dync__arena_strdup(&p->told, port[i].name);
        if (!port[i].name) return DYNC_ERR_MEMORY;
    }
    p->port = port;
    p->n_port_in = n_in;
    p->n_port_out = n_out;
    return DYNC_OK;
}

/* A symbolic size is shown as -1. */
static dync_port dync__port_of(const char *name, const dync__node *n)
{
    const dync__info *info = &n->info[0];
    dync_port p = {name, dync__dtype_info(info->dtype)->name, (dync_dtype)info->dtype, {0, {0}}};
    p.shape.n = info->lay.ndim;
    for (int d = 0; d < p.shape.n; d++)
        p.shape.d[d] = dync__graph_symbol_text(n->graph, info->lay.shape[d]) ? -1
                                                                             : info->lay.shape[d];
    return p;
}

/* recursion: results inside lists, in order; *i counts down to the one that is wanted */
static const dync__node *dync__port_result(const dync__arg *a, int *i)
{
    if (a->kind == DYNC__A_NODE) return (*i)-- == 0 ? a->as.node : NULL;
    const dync__node *found = NULL;
    for (int k = 0; a->kind == DYNC__A_LIST && k < a->n && !found; k++)
        found = dync__port_result(&a->as.list[k], i);
    return found;
}

/* The i-th input or output: as a file named them, or as the graph has them; name NULL behind the
 * last. */
static dync_port dync__program_port(const dync__program *p, bool output, int i)
{
    dync_port none = {NULL, NULL, DYNC_F32, {0, {0}}};
    if (!p || i < 0) return none;
    if (p->port) {
        if (i >= (output ? p->n_port_out : p->n_port_in)) return none;
        return p->port[output ? p->n_port_in + i : i];
    }
    if (!p->graph) return none;
    for (int k = 0; k < p->graph->n_inputs && !output; k++)
        if (p->leaf[k] == i) return dync__port_of(p->input[k], p->graph->node.at[k]);
    const dync__node *n = NULL, *end = p->graph->node.at[p->graph->node.n - 1];
    if (output && end->nargs) n = dync__port_result(&end->args[0], &i);
    /* an item of several results: its own types stand at the call */
    return n && n->has_info ? dync__port_of(n->name, n) : none;
}

DYNC_API dync_port dync_program_input(const dync_program *program, int i)
{
    return dync__program_port(dync__program_open(program, "dync_program_input"), false, i);
}
DYNC_API dync_port dync_program_output(const dync_program *program, int i)
{
    return dync__program_port(dync__program_open(program, "dync_program_output"), true, i);
}

/* "input x: f32[?, 6]"; "holds" where the file's type is another than the tensor's. */
static void dync__port_text(dync__str *s, const char *what, const dync_port *p)
{
    dync__str_addf(s, "%s %s: ", what, p->name);
    bool list = strcmp(p->type, DYNC__PORT_SEQUENCE) == 0;
    dync__str_addf(s, list ? "a list of %s" : "%s", dync__dtype_info((int)p->dtype)->name);
    if (p->shape.n < 0)
        dync__str_add(s, ", any shape");
    else
        dync__str_addc(s, '[');
    for (int d = 0; d < p->shape.n; d++) {
        if (d) dync__str_add(s, ", ");
        if (p->shape.d[d] < 0)
            dync__str_addc(s, '?');
        else
            dync__str_addf(s, "%lld", (long long)p->shape.d[d]);
    }
    if (p->shape.n >= 0) dync__str_addc(s, ']');
    if (!list && strcmp(p->type, dync__dtype_info((int)p->dtype)->name) != 0)
        dync__str_addf(s, ", holds %s", p->type);
    dync__str_addc(s, '\n');
}

DYNC_API char *dync_program_info(const dync_program *program)
{
    const dync__program *p = dync__program_open(program, "dync_program_info");
    dync__str s = {0};
    dync_port one;
    if (!p) return NULL;
    dync__str_addf(&s, "program %s\n", p->name);
    for (int i = 0; (one = dync__program_port(p, false, i)).name; i++)
        dync__port_text(&s, "input", &one);
    for (int i = 0; (one = dync__program_port(p, true, i)).name; i++)
        dync__port_text(&s, "output", &one);
    if (p->graph)
        dync__str_addf(&s, "%d operators\n", dync__graph_op_count(p->graph));
    else
        dync__str_add(&s, "graphs are made for the sizes and values of calls\n");
    char *text = s.failed ? NULL : dync__scope_alloc(s.n + 1);
    if (text) memcpy(text, s.at, s.n + 1);
    dync__str_free(&s);
    return text;
}

/* What is saved: a program of one graph. */
DYNC__FN dync_status dync__program_to_save(const dync_program *handle, const char *path,
                                           const char *who, const dync__program **out)
{
    const dync__program *p = dync__program_open(handle, who);
    if (!p) return DYNC_ERR_VALUE;
    if (!path) return dync__fail(DYNC_ERR_VALUE, "%s: the path is NULL", who);
    if (!p->graph)
        return dync__fail(DYNC_ERR_UNSUPPORTED,
                          "%s: program %s has no graph of its own: sizes or values of a call "
                          "decide what it computes",
                          who, p->name);
    *out = p;
    return DYNC_OK;
}

DYNC_API dync_graph *dync_program_graph(const dync_program *program)
{
    const dync__program *p = dync__program_open(program, "dync_program_graph");
    return p && p->graph ? dync__graph_handle(p->graph) : NULL;
}
