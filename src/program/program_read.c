/* program/program_read.c: a program out of its file. After program_file.c, which tells the form. */
#include "../dync.in.h"
#include "reader.h"
DYNC__COLD

/* The graph's text must be as long as the file says and hold no zero byte. The parser stops at
 * limits.nodes. The caller owns the graph. */
static dync__graph *dync__program_read_graph(dync__program_reader *r)
{
    if (!dync__program_word(r, "graph ")) return NULL;
    size_t n = dync__program_number(r, (size_t)(r->end - r->p), '\n');
    if (r->status == DYNC_OK && n > (size_t)(r->end - r->p))
        dync__program_refuse(r, "the whole graph");
    if (r->status != DYNC_OK) return NULL;
    char *text = dync__alloc(n + 1);
    if (!text) {
        r->status = DYNC_ERR_MEMORY;
        return NULL;
    }
    memcpy(text, r->p, n);
    text[n] = 0;
    dync__graph *g = strlen(text) == n ? dync__graph_parse_most(text, r->limits.nodes) : NULL;
    dync__free(text, n + 1);
    r->p += n;
    if (!g)
        r->status = dync_error() == DYNC_ERR_MEMORY ? DYNC_ERR_MEMORY
                                                    : dync__program_refuse(r, "a graph");
    return g;
}

/* The next stored attribute of the graph from *i on. */
static dync__node *dync__program_next(dync__graph *g, int *i)
{
    for (; *i < g->node.n; (*i)++)
        if (dync__program_is_stored(g->node.at[*i])) return g->node.at[(*i)++];
    return NULL;
}

/* A tensor of the node's layout with the row-major elements at `from`. The layout must not need
 * more room than its elements. */
static dync__tensor *dync__program_tensor(dync__program_reader *r, const dync__node *node,
                                          const char *from, size_t bytes)
{
    dync__layout lay = node->info[0].lay;
    size_t item = dync__dtype_info(node->info[0].dtype)->bytes;
    int64_t span = 1, step, numel = 1;
    bool fits = node->has_info && dync__device_is(node->info[0].device, DYNC__DEV_HOST);
    for (int d = 0; fits && d < lay.ndim; d++) {
        fits = dync__mul_ok(numel, lay.shape[d], &numel) && lay.stride[d] >= 0 &&
               (lay.shape[d] < 2 || (dync__mul_ok(lay.shape[d] - 1, lay.stride[d], &step) &&
                                     dync__add_ok(span, step, &span)));
    }
    if (!fits || (uint64_t)numel > SIZE_MAX / item || (size_t)numel * item != bytes ||
        (numel > 0 && span > numel)) {
        dync__program_refuse(r, "an attribute as large as its type");
        return NULL;
    }
    lay.offset = 0;
    dync__tensor *t = dync__tensor_empty(node->info[0].dtype, DYNC_CPU, &lay);
    char *data = t ? dync__tensor_data(t) : NULL;
    int64_t index[DYNC_MAX_DIMS] = {0};
    for (int64_t i = 0; data && i < numel; i++) {
        int64_t at = 0;
        for (int d = 0; d < lay.ndim; d++) at += index[d] * lay.stride[d];
        memcpy(data + (size_t)at * item, from + (size_t)i * item, item);
        dync__program_swap(data + (size_t)at * item, item, item);
        for (int d = lay.ndim - 1; d >= 0 && ++index[d] == lay.shape[d]; d--) index[d] = 0;
    }
    if (!t) r->status = DYNC_ERR_MEMORY;
    return t;
}

/* A line of the table: which attribute, where its data stand. */
typedef struct dync__program_row {
    dync__node *node;
    size_t offset, bytes;
} dync__program_row;

/* Gives attribute i its tensor. Rows of equal offset, type and layout share one tensor, as they
 * did when the file was written. requires_grad comes from the graph's text, not from the new
 * tensor. */
static void dync__program_bind(dync__program_reader *r, const dync__program_row *rows, int i,
                               const char *data)
{
    dync__node *node = rows[i].node;
    const dync__info *info = &node->info[0];
    dync__tensor *t = NULL;
    for (int j = 0; j < i && !t; j++) { /* the same tensor under two names */
        const dync__info *other = &rows[j].node->info[0];
        bool same = rows[j].bytes > 0 && rows[j].offset == rows[i].offset &&
                    other->dtype == info->dtype && other->lay.ndim == info->lay.ndim;
        for (int d = 0; same && d < info->lay.ndim; d++)
            same = other->lay.shape[d] == info->lay.shape[d] &&
                   other->lay.stride[d] == info->lay.stride[d];
        if (same) t = rows[j].node->value;
    }
    if (t)
        dync__ref(t);
    else
        t = dync__program_tensor(r, node, data + rows[i].offset, rows[i].bytes);
    if (!t) return;
    bool requires_grad = node->requires_grad[0];
    if (!dync__graph_attr_bind(node, t)) r->status = DYNC_ERR_MEMORY;
    node->requires_grad[0] = requires_grad;
    dync__unref(t);
}

/* The table must list the graph's stored attributes in order, each inside the data; the data
 * must fill the rest of the file exactly. Nothing is allocated from a count that was not checked
 * against the graph. */
static dync_status dync__program_read_tensors(dync__program_reader *r, dync__graph *g)
{
    char name[128];
    if (!dync__program_word(r, "tensors ")) return r->status;
    size_t n = dync__program_number(r, (size_t)g->node.n, ' '),
           total = dync__program_number(r, (size_t)(r->end - r->start), '\n');
    DYNC__TRY(r->status);
    dync__program_row *rows = dync__calloc(n * sizeof *rows);
    if (!rows) return DYNC_ERR_MEMORY;
    int at = 0;
    for (size_t i = 0; i < n && r->status == DYNC_OK; i++) {
        rows[i].node = dync__program_next(g, &at);
        dync__program_name(r, ' ', name, sizeof name);
        if (!rows[i].node || strcmp(rows[i].node->name, name) != 0)
            dync__program_refuse(r, "the graph's next attribute");
        rows[i].offset = dync__program_number(r, total, ' ');
        rows[i].bytes = dync__program_number(r, total, '\n');
        if (rows[i].bytes > total - rows[i].offset)
            dync__program_refuse(r, "an attribute inside the data");
    }
    if (r->status == DYNC_OK && dync__program_next(g, &at))
        dync__program_refuse(r, "one more attribute");
    while (r->status == DYNC_OK && (r->p - r->start) % DYNC__PROGRAM_ALIGN && r->p < r->end &&
           *r->p == 0)
        r->p++;
    if (r->status == DYNC_OK &&
        ((r->p - r->start) % DYNC__PROGRAM_ALIGN || (size_t)(r->end - r->p) != total))
        dync__program_refuse(r, "the data, whole");
    for (size_t i = 0; i < n && r->status == DYNC_OK; i++)
        dync__program_bind(r, rows, (int)i, r->p);
    dync__free(rows, n * sizeof *rows);
    return r->status;
}

/* recursion: functions inside operators */
static bool dync__program_is_plain(const dync__graph *g)
{
    bool plain = g->symbol.n == 0;
    for (int i = 0; i < g->sub.n && plain; i++) plain = dync__program_is_plain(g->sub.at[i]);
    return plain;
}

/* What stands behind the graph, and whether it may be. The types are those of the sizes that it
 * shows; what of them is symbolic is put in its place last. */
static dync_status dync__program_read_checked(dync__program_reader *r, dync__graph *g,
                                              size_t version)
{
    const char *sizes = r->p;
    if (!r->own) DYNC__TRY(r->status = dync__program_allowed(g));
    const dync_limits *limits = r->own ? NULL : &r->limits;
    if (version >= 3) DYNC__TRY(dync__sizes_skip(r));
    DYNC__TRY(dync__program_read_tensors(r, g));
    DYNC__TRY(r->status = version == 4 ? dync__graph_check_shown(g, limits)
                                       : dync__graph_check_types(g, limits));
    if (version < 3) return DYNC_OK;
    r->p = sizes;
    return dync__sizes_read(r, g, version == 4);
}

/* The graph and what stands in front of it. */
static dync__program *dync__program_read_body(dync__program_reader *r)
{
    char name[128];
    int leaf[DYNC__MAX_LEAVES], n = 0;
    if (!dync__program_word(r, DYNC__PROGRAM_MAGIC)) return NULL;
    size_t version = dync__program_number(r, 4, '\n');
    if (version < 1) dync__program_refuse(r, "version 1, 2, 3 or 4");
    if (!dync__program_word(r, "name ")) return NULL;
    dync__program_name(r, '\n', name, sizeof name);
    if (!dync__program_word(r, "inputs ")) return NULL;
    const char *line = r->p;
    while (line < r->end && *line != '\n' && *line != ' ') line++;
    int n_leaves = (int)dync__program_number(r, DYNC__MAX_LEAVES, line < r->end ? *line : '\n');
    while (r->status == DYNC_OK && r->p[-1] == ' ') {
        line = r->p;
        while (line < r->end && *line != '\n' && *line != ' ') line++;
        size_t v = dync__program_number(r, DYNC__MAX_LEAVES, line < r->end ? *line : '\n');
        if (n == DYNC__MAX_LEAVES)
            dync__program_refuse(r, "fewer inputs");
        else
            leaf[n++] = (int)v;
    }
    dync__graph *g = r->status == DYNC_OK ? dync__program_read_graph(r) : NULL;
    if (!g) return NULL;
    dync__program *p = NULL;
    if (g->n_inputs != n)
        dync__program_refuse(r, "as many inputs as the graph has");
    else if (version < 3 && dync__program_has_inside(g) != (version == 2))
        dync__program_refuse(r, "functions inside operators from version 2 on");
    else if (!dync__program_is_plain(g))
        dync__program_refuse(r, "sizes that are numbers in the graph's text");
    else if (dync__program_read_checked(r, g, version) == DYNC_OK)
        p = dync__program_from_leaves(g, name, n_leaves, leaf);
    if (p) p->loaded = !r->own;
    dync__graph_unref(g);
    return p;
}

/* The magic and the checksum come first: a damaged file is refused before anything in it is
 * believed. */
static dync__program *dync__program_read_as(const char *bytes, size_t n, bool own)
{
    DYNC__NEEDS(DYNC_NO_PARSER, "a program from a file", NULL);
    dync__program_reader r = {bytes, bytes, bytes, DYNC_OK, dync__program_limits_get(), own};
    if (own) r.limits.nodes = INT_MAX;
    uint64_t sum = 0;
    if (n < sizeof DYNC__PROGRAM_MAGIC - 1 ||
        memcmp(bytes, DYNC__PROGRAM_MAGIC, sizeof DYNC__PROGRAM_MAGIC - 1) != 0) {
        dync__fail(DYNC_ERR_FORMAT, "program file: expected \"dync program\" at its start");
        return NULL;
    }
    for (int i = 0; n >= DYNC__PROGRAM_CHECKSUM && i < DYNC__PROGRAM_CHECKSUM; i++)
        sum |= (uint64_t)(unsigned char)bytes[n - DYNC__PROGRAM_CHECKSUM + (size_t)i] << 8 * i;
    if (n < DYNC__PROGRAM_CHECKSUM || sum != dync__program_sum(bytes, n - DYNC__PROGRAM_CHECKSUM)) {
        dync__fail(DYNC_ERR_FORMAT,
                   "program file: truncated or damaged (its checksum does not hold)");
        return NULL;
    }
    r.end = bytes + n - DYNC__PROGRAM_CHECKSUM;
    /* Whatever is wrong inside (a shape, an operator's arguments) is said by whoever finds it, but
     * is a bad file to the caller. */
    dync__error_guard guard;
    dync__error_guard_begin(&guard);
    dync__program *p = dync__program_read_body(&r);
    const dync__error_slot *inner = dync__error_guard_end(&guard);
    if (!p)
        dync__fail(inner->status == DYNC_ERR_MEMORY ? DYNC_ERR_MEMORY : DYNC_ERR_FORMAT,
                   "program file: %s", inner->message);
    return p;
}

DYNC__FN dync__program *dync__program_read(const char *bytes, size_t n)
{
    return dync__program_read_as(bytes, n, false);
}
DYNC__FN dync__program *dync__program_read_own(const char *bytes, size_t n)
{
    return dync__program_read_as(bytes, n, true);
}
