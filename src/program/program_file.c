/* program/program_file.c: the portable file of a program. After export.c. It holds everything: no C
 * function is needed to run it again.
 *
 *   dync program 1         2: with functions inside operators
 *   name mlp
 *   inputs 2 0 1           tensors in the arguments of a call; which of them each graph input is
 *   graph 612              bytes of text that follow: the graph in its C form (graph/print_c.c)
 *   ...
 *   tensors 2 1280         attributes, bytes of their data
 *   _0_weight 0 1024       node, offset, bytes; equal offsets: one tensor
 *   _0_bias 1024 256
 *
 * then zero bytes up to a multiple of 64, the data (row major, little endian) and 8 bytes of
 * checksum over all before them.
 *
 * A reader trusts nothing: the checksum, each count, each bound, the graph's structure, which
 * operators it names, the types of all its nodes and how much they ask for are checked. */
#include "../dync.in.h"
#include "program.h"
DYNC__COLD

enum { DYNC__PROGRAM_ALIGN = 64, DYNC__PROGRAM_CHECKSUM = 8 };
static const char dync__program_magic[] = "dync program ";

/* Files are little endian. */
static void dync__program_swap(char *data, size_t n, size_t item)
{
    if (dync__big_endian()) dync__swap_items(data, n, item);
}

static size_t dync__program_bytes(const dync__tensor *t)
{
    return (size_t)t->numel * dync__dtype_info(t->dtype)->bytes;
}
static uint64_t dync__program_sum(const char *bytes, size_t n)
{
    return dync__hash_bytes(bytes, n, 0x64796e63u);
}

/* ---- what a file may hold -------------------------------------------------------------------- */

static struct {
    dync__mutex lock;
    dync_limits at;
} dync__program_limits;

/* The limits set by dync_set_limits; 0 stands for the default. */
static dync_limits dync__program_limits_get(void)
{
    dync__lock(&dync__program_limits.lock);
    dync_limits l = dync__program_limits.at;
    dync__unlock(&dync__program_limits.lock);
    if (!l.nodes) l.nodes = 100000;
    if (!l.elements) l.elements = (int64_t)1 << 36;
    if (!l.work) l.work = 1000000000000000;
    return l;
}

DYNC_API dync_status dync_set_limits(dync_limits limits)
{
    if (limits.nodes < 0 || limits.elements < 0 || limits.work < 0)
        return dync__fail(DYNC_ERR_VALUE,
                          "dync_set_limits: expected limits of at least 0, got "
                          "nodes %lld, elements %lld, work %lld",
                          (long long)limits.nodes, (long long)limits.elements,
                          (long long)limits.work);
    dync__lock(&dync__program_limits.lock);
    dync__program_limits.at = limits;
    dync__unlock(&dync__program_limits.lock);
    return DYNC_OK;
}

static dync_status dync__program_allowed(const dync__graph *g);

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

static bool dync__program_has_inside(const dync__graph *g)
{
    for (int i = 0; i < g->node.n; i++)
        for (int k = 0; k < g->node.at[i]->nargs; k++)
            if (g->node.at[i]->args[k].kind == DYNC__A_GRAPH) return true;
    return false;
}

/* Public operators, registered ones, and private ones whose row says so; on the CPU. */
static dync_status dync__program_allowed(const dync__graph *g)
{
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
    if (g->symbol.n == 0) return DYNC_OK;
    return dync__fail(DYNC_ERR_UNSUPPORTED, "graph %s: the sizes of a program are numbers, got %s",
                      g->name, g->symbol.at[0].text);
}

/* ---- writing --------------------------------------------------------------------------------- */

/* Constants small enough are in the text. */
static bool dync__program_is_stored(const dync__node *node)
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
        if (!node->value || !node->value->storage->data ||
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

DYNC__FN dync_status dync__program_write(const dync__program *p, dync__str *s)
{
    DYNC__TRY(dync__program_allowed(p->graph));
    return dync__program_write_own(p, s);
}

/* Without the check of operators: for a file that the library itself reads back
 * (dync__program_read_own). */
DYNC__FN dync_status dync__program_write_own(const dync__program *p, dync__str *s)
{
    dync__str text = {0};
    size_t data_bytes;
    dync__graph_print_c(&text, p->graph);
    dync__str_addf(s, "%s%d\nname %s\ninputs %d", dync__program_magic,
                   dync__program_has_inside(p->graph) ? 2 : 1, p->name, p->n_leaves);
    for (int i = 0; i < p->graph->n_inputs; i++) dync__str_addf(s, " %d", p->leaf[i]);
    dync__str_addf(s, "\ngraph %llu\n%s", (unsigned long long)text.n, dync__str_get(&text));
    s->failed = s->failed || text.failed;
    dync__str_free(&text);
    DYNC__TRY(dync__program_write_table(p->graph, s, &data_bytes));
    dync__program_pad(s);
    DYNC__TRY(dync__program_write_data(p->graph, s));
    if (s->failed) return DYNC_ERR_MEMORY;
    uint64_t sum = dync__program_sum(s->at, s->n);
    for (int i = 0; i < DYNC__PROGRAM_CHECKSUM; i++) dync__str_addc(s, (char)(sum >> 8 * i & 255));
    return s->failed ? DYNC_ERR_MEMORY : DYNC_OK;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Reads from p towards end; the first failure stays in status, and later reads give 0 or false.
 * own: written by this library for itself, so limits and the list of allowed operators do not
 * apply. */
typedef struct dync__program_reader {
    const char *start, *p, *end;
    dync_status status;
    dync_limits limits;
    bool own;
} dync__program_reader;

static dync_status dync__program_refuse(dync__program_reader *r, const char *expected)
{
    if (r->status == DYNC_OK)
        r->status = dync__fail(DYNC_ERR_FORMAT, "expected %s at byte %llu", expected,
                               (unsigned long long)(r->p - r->start));
    return r->status;
}

/* Consumes exactly these bytes or fails. */
static bool dync__program_word(dync__program_reader *r, const char *word)
{
    size_t n = strlen(word);
    if (r->status == DYNC_OK && (size_t)(r->end - r->p) >= n && memcmp(r->p, word, n) == 0) {
        r->p += n;
        return true;
    }
    dync__program_refuse(r, word);
    return false;
}

/* A decimal number up to most, and the character behind it. */
static size_t dync__program_number(dync__program_reader *r, size_t most, char behind)
{
    size_t v = 0;
    const char *start = r->p;
    for (; r->p < r->end && *r->p >= '0' && *r->p <= '9' && r->p - start < 19; r->p++)
        v = v * 10 + (size_t)(*r->p - '0');
    if (r->p == start || v > most || r->p == r->end || *r->p != behind) {
        dync__program_refuse(r, "a number");
        return 0;
    }
    r->p++;
    return v;
}

/* A name up to `behind`, into out. */
static void dync__program_name(dync__program_reader *r, char behind, char *out, size_t cap)
{
    size_t n = 0;
    for (; r->p < r->end && n + 1 < cap; r->p++) {
        bool ok = (*r->p >= 'a' && *r->p <= 'z') || (*r->p >= 'A' && *r->p <= 'Z') ||
                  *r->p == '_' || (n > 0 && *r->p >= '0' && *r->p <= '9');
        if (!ok) break;
        out[n++] = *r->p;
    }
    out[n] = 0;
    if (n == 0 || r->p == r->end || *r->p != behind)
        dync__program_refuse(r, "a name");
    else
        r->p++;
}

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

/* The graph and what stands in front of it. */
static dync__program *dync__program_read_body(dync__program_reader *r)
{
    char name[128];
    int leaf[DYNC__MAX_LEAVES], n = 0;
    if (!dync__program_word(r, dync__program_magic)) return NULL;
    size_t version = dync__program_number(r, 2, '\n');
    if (version < 1) dync__program_refuse(r, "version 1 or 2");
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
    else if (dync__program_has_inside(g) != (version == 2))
        dync__program_refuse(r, "functions inside operators in version 2 alone");
    else if ((r->own || (r->status = dync__program_allowed(g)) == DYNC_OK) &&
             dync__program_read_tensors(r, g) == DYNC_OK &&
             (r->status = dync__graph_check_types(g, r->own ? NULL : &r->limits)) == DYNC_OK)
        p = dync__program_from_leaves(g, name, n_leaves, leaf);
    if (p) p->loaded = !r->own;
    dync__graph_unref(g);
    return p;
}

/* The magic and the checksum come first: a damaged file is refused before anything in it is
 * believed. */
static dync__program *dync__program_read_as(const char *bytes, size_t n, bool own)
{
    dync__program_reader r = {bytes, bytes, bytes, DYNC_OK, dync__program_limits_get(), own};
    if (own) r.limits.nodes = INT_MAX;
    uint64_t sum = 0;
    if (n < sizeof dync__program_magic - 1 ||
        memcmp(bytes, dync__program_magic, sizeof dync__program_magic - 1) != 0) {
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
    dync__error_slot inner = dync__error_guard_end(&guard);
    if (!p)
        dync__fail(inner.status == DYNC_ERR_MEMORY ? DYNC_ERR_MEMORY : DYNC_ERR_FORMAT,
                   "program file: %s", inner.message);
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
