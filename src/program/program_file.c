/* program/program_file.c: the portable file of a program. After export.c. It holds everything: no C
 * function is needed to run it again.
 *
 *   dync program 1         2: with functions inside operators; 3: with symbolic sizes, too;
 *                          4: some of which data decide
 *   name mlp
 *   inputs 2 0 1           tensors in the arguments of a call; which of them each graph input is
 *   graph 612              bytes of text that follow: the graph in its C form (graph/print_c.c)
 *   ...
 *   sizes 1 3 0 4          version 3 on: which numbers of the graph are symbolic (size_table.c)
 *   ...
 *   tensors 2 1280         attributes, bytes of their data
 *   _0_weight 0 1024       node, offset, bytes; equal offsets: one tensor
 *   _0_bias 1024 256
 *
 * then zero bytes up to a multiple of 64, the data (row major, little endian) and 8 bytes of
 * checksum over all before them.
 *
 * A reader trusts nothing: the checksum, each count, each bound, the graph's structure, which
 * operators it names, the types of all its nodes and how much they ask for are checked; those of
 * other sizes than the file shows when they are first met (sizes.c); of sizes that data decide they
 * are not read but inferred. */
#include "../dync.in.h"
#include "reader.h"
DYNC__COLD

DYNC__FN void dync__program_swap(char *data, size_t n, size_t item)
{
    if (dync__big_endian()) dync__swap_items(data, n, item);
}

static size_t dync__program_bytes(const dync__tensor *t)
{
    return (size_t)t->numel * dync__dtype_info(t->dtype)->bytes;
}
/* Against damage, not against forgery. */
DYNC__FN uint64_t dync__program_sum(const char *bytes, size_t n)
{
    return dync__hash_bytes(bytes, n, 0x64796e63u);
}

/* ---- what a file may hold -------------------------------------------------------------------- */

/* recursion: functions inside an operator. They do nothing but compute, as traced ones. */
static dync_status dync__program_allowed_inside(const dync__node *n)
{
    for (int k = 0; k < n->nargs; k++) {
        dync__graph *g = n->args[k].as.graph;
        if (n->args[k].kind != DYNC__A_GRAPH) continue;
        DYNC__TRY(dync__program_allowed(g));
        for (int i = 0; i < g->node.n; i++) {
            const dync__node *in = g->node.at[i];
            if (in->op < 0 || dync__node_sets_grad_mode(in)) continue;
            if (dync__op_info(in->op)->cls == DYNC__EFFECT ||
                dync__node_has(in, DYNC__OP_RETARGETS))
                return dync__fail(DYNC_ERR_UNSUPPORTED, "node %s: %s has an effect inside %s",
                                  in->name, in->target, n->target);
        }
        if (dync__graph_writes_inputs(g))
            return dync__fail(DYNC_ERR_UNSUPPORTED, "node %s: a function inside writes its input",
                              n->name);
    }
    return DYNC_OK;
}

DYNC__FN bool dync__program_has_inside(const dync__graph *g)
{
    for (int i = 0; i < g->node.n; i++)
        for (int k = 0; k < g->node.at[i]->nargs; k++)
            if (g->node.at[i]->args[k].kind == DYNC__A_GRAPH) return true;
    return false;
}

/* A function that dync_allow_in_graph made a node has no name that a reader would know. */
static dync_status dync__program_named(const dync__graph *g)
{
    for (int i = 0; i < g->node.n; i++)
        if (g->node.at[i]->callee)
            return dync__fail(
                DYNC_ERR_UNSUPPORTED,
                "node %s: a file cannot hold %s, a function of the program that wrote "
                "it (dync_allow_in_graph); dync_op_register makes it an operator",
                g->node.at[i]->name, g->node.at[i]->target);
    return DYNC_OK;
}

/* Public operators, registered ones, and private ones whose row says so; on the CPU. */
DYNC__FN dync_status dync__program_allowed(const dync__graph *g)
{
    DYNC__TRY(dync__program_named(g));
    for (int i = 0; i < g->node.n; i++) {
        const dync__node *n = g->node.at[i];
        if (!dync__node_is_call(n) || n->op == DYNC__NODE_GETITEM) continue;
        DYNC__TRY(dync__program_allowed_inside(n));
        uint32_t flags = n->op >= 0 ? dync__op_info(n->op)->flags : 0;
        if (n->op < 0)
            return dync__fail(DYNC_ERR_UNSUPPORTED,
                              "node %s: no operator named %s is registered here", n->name,
                              n->target);
        if (n->op < DYNC__N_OPS && (flags & DYNC__OP_PRIVATE) && !(flags & DYNC__OP_FILE))
            return dync__fail(DYNC_ERR_UNSUPPORTED,
                              "node %s: a program may not call %s, which is the library's own",
                              n->name, n->target);
    }
    return DYNC_OK;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* Constants small enough are in the text. */
DYNC__FN bool dync__program_is_stored(const dync__node *node)
{
    return node->kind == DYNC__N_GET_ATTR && !dync__graph_prints_inline(node);
}

/* An earlier attribute of the same tensor, or NULL. */
static const dync__node *dync__program_earlier(const dync__graph *g, int i)
{
    for (int j = 0; j < i; j++)
        if (dync__program_is_stored(g->node.at[j]) && g->node.at[j]->value == g->node.at[i]->value)
            return g->node.at[j];
    return NULL;
}

/* One line per stored attribute. Each distinct tensor begins at a multiple of 64 bytes from the
 * start of the data; a tensor under two names has one offset. *data_bytes: the sum, padding
 * included. */
static dync_status dync__program_write_table(const dync__graph *g, dync__str *s, size_t *data_bytes)
{
    size_t at = 0;
    dync__str rows = {0};
    int n = 0;
    dync__map offsets = {0}; /* node index -> offset */
    dync_status status = DYNC_OK;
    for (int i = 0; i < g->node.n && status == DYNC_OK; i++) {
        const dync__node *node = g->node.at[i], *earlier;
        if (!dync__program_is_stored(node)) continue;
        if (!node->value || (node->value->numel && !node->value->storage->data) ||
            !dync__device_is(node->value->device, DYNC__DEV_HOST))
            status = dync__fail(DYNC_ERR_UNSUPPORTED,
                                "saving a program: attribute %s has no data on the CPU",
                                node->target);
        if (status != DYNC_OK) break;
        uint64_t offset = at;
        earlier = dync__program_earlier(g, i);
        if (earlier) dync__map_get(&offsets, (uint64_t)earlier->index, &offset);
        if (!dync__map_put(&offsets, (uint64_t)i, offset)) status = DYNC_ERR_MEMORY;
        size_t bytes = dync__program_bytes(node->value);
        dync__str_addf(&rows, "%s %llu %llu\n", node->name, (unsigned long long)offset,
                       (unsigned long long)bytes);
        if (!earlier)
            at += (bytes + DYNC__PROGRAM_ALIGN - 1) / DYNC__PROGRAM_ALIGN * DYNC__PROGRAM_ALIGN;
        n++;
    }
    dync__str_addf(s, "tensors %d %llu\n%s", n, (unsigned long long)at, dync__str_get(&rows));
    s->failed = s->failed || rows.failed;
    *data_bytes = at;
    dync__str_free(&rows);
    dync__map_free(&offsets);
    return status;
}

/* Zero bytes up to a multiple of 64 from the start of the file. */
static void dync__program_pad(dync__str *s)
{
    while (s->n % DYNC__PROGRAM_ALIGN && !s->failed) dync__str_addc(s, 0);
}

/* In the order of the table, each dense, row major, padded as the table counted. */
static dync_status dync__program_write_data(const dync__graph *g, dync__str *s)
{
    for (int i = 0; i < g->node.n; i++) {
        const dync__node *node = g->node.at[i];
        if (!dync__program_is_stored(node) || dync__program_earlier(g, i)) continue;
        dync__tensor *dense = dync__contiguous_copy(node->value);
        if (!dense) return DYNC_ERR_MEMORY;
        size_t start = s->n, bytes = dync__program_bytes(dense);
        if (bytes) dync__str_addn(s, dync__tensor_data(dense), bytes);
        if (!s->failed)
            dync__program_swap(s->at + start, bytes, dync__dtype_info(dense->dtype)->bytes);
        dync__program_pad(s);
        dync__unref(dense);
    }
    return DYNC_OK;
}

/* The numbers that stand in the text are found again by their places: they must be there. */
static dync_status dync__program_check_text(const dync__program *p, const char *text, dync__str *s)
{
    dync__program_reader r = {.limits = dync__program_limits_get(), .own = true};
    dync__error_guard guard;
    dync__error_guard_begin(&guard);
    dync__graph *g = dync__graph_parse(text);
    r.limits.nodes = INT_MAX;
    r.start = r.p = dync__str_get(s);
    r.end = r.p + s->n;
    dync_status status = g ? dync__sizes_read(&r, g, true) : dync_error();
    dync__graph_unref(g);
    const dync__error_slot *error = dync__error_guard_end(&guard);
    if (status == DYNC_ERR_MEMORY) dync__error_raise(error);
    if (status == DYNC_OK || status == DYNC_ERR_MEMORY) return status;
    return dync__fail(DYNC_ERR_UNSUPPORTED, "saving program %s: its symbolic sizes have no text",
                      p->name);
}

/* The graph as the file has it, and, where there are some, its symbolic sizes behind it. */
static dync_status dync__program_write_graph(const dync__program *p, const dync__graph *g,
                                             dync__str *s)
{
    dync__str text = {0}, sizes = {0};
    dync_status status = DYNC_OK;
    DYNC__OFFERS(DYNC_NO_PRINT_GRAPH, "a program's file");
    dync__graph_print_c(&text, g);
    dync__str_addf(s, "\ngraph %llu\n%s", (unsigned long long)text.n, dync__str_get(&text));
    if (p->graph->syms) {
        status = dync__sizes_write(p->graph, &sizes);
        if (status == DYNC_OK) status = dync__program_check_text(p, dync__str_get(&text), &sizes);
        dync__str_add(s, dync__str_get(&sizes));
    }
    s->failed = s->failed || text.failed || sizes.failed;
    dync__str_free(&text);
    dync__str_free(&sizes);
    return status;
}

/* In front of the checksum. g: with numbers for sizes */
static dync_status dync__program_write_parts(const dync__program *p, const dync__graph *g,
                                             dync__str *s)
{
    size_t data_bytes;
    dync__str_addf(s, DYNC__PROGRAM_MAGIC "%d\nname %s\ninputs %d",
                   dync__sizes_by_data(p->graph) ? 4
                   : p->graph->syms              ? 3
                   : dync__program_has_inside(g) ? 2
                                                 : 1,
                   p->name, p->n_leaves);
    for (int i = 0; i < g->n_inputs; i++) dync__str_addf(s, " %d", p->leaf[i]);
    DYNC__TRY(dync__program_write_graph(p, g, s));
    DYNC__TRY(dync__program_write_table(g, s, &data_bytes));
    dync__program_pad(s);
    return dync__program_write_data(g, s);
}

/* Without the check of operators: for a file that the library itself reads back
 * (dync__program_read_own). */
DYNC__FN dync_status dync__program_write_own(const dync__program *p, dync__str *s)
{
    DYNC__TRY(dync__program_named(p->graph));
    dync__graph *g = dync__graph_ref(p->graph);
    if (p->graph->syms) {
        dync__graph_unref(g);
        DYNC__TRY(dync__sizes_concrete(p->graph, &g));
    }
    dync_status status = dync__program_write_parts(p, g, s);
    dync__graph_unref(g);
    DYNC__TRY(status);
    if (s->failed) return DYNC_ERR_MEMORY;
    uint64_t sum = dync__program_sum(s->at, s->n);
    for (int i = 0; i < DYNC__PROGRAM_CHECKSUM; i++) dync__str_addc(s, (char)(sum >> 8 * i & 255));
    return s->failed ? DYNC_ERR_MEMORY : DYNC_OK;
}

/* Appends to s. */
DYNC__FN dync_status dync__program_write(const dync__program *p, dync__str *s)
{
    DYNC__TRY(dync__program_allowed(p->graph));
    return dync__program_write_own(p, s);
}
