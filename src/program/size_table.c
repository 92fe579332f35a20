/* program/size_table.c: the symbolic sizes of a program in its file. Before program_file.c.
 *
 * The file's graph is that of the sizes of the export, as any other: numbers, whose types are
 * checked as those of any other. Beside it stands which of its numbers are symbolic:
 *
 *   sizes 1 3 0 4          symbols, rows, guards, places
 *   2 64 8                 a symbol: least, greatest (0: none), in the export
 *   u 2                    one that data decide (version 4): what the graph's numbers show for it
 *   s 0                    rows, each of earlier ones: 0 is symbol 0,
 *   i 2                    1 the number 2, (n 5: -5)
 *   * 0 1                  2 their product
 *   0 0 2                  a guard: relation (== < != <=) of two rows
 *   17 2                   number 17 of the graph is row 2
 *
 * Integers of a graph are counted as dync__graph_each_size meets them, then those of the functions
 * inside its operators, then real numbers among arguments in the same order: all of them, as the
 * file's graph does not show which are symbolic. A place where the graph has another number than
 * its row gives for the export's sizes is refused, so is a row of anything but earlier rows. */
#include "../dync.in.h"
#include "reader.h"
#include "size_table.h"
DYNC__COLD

DYNC__DATA const dync__zt_row dync__zt_rows[DYNC__ZT_ROWS] = {
    {"s", 0, 1},
    {"i", 0, 1},
    {"n", 0, 1},
    {"f", 0, 2},
    {"+", DYNC__SZ_ADD, 2},
    {"*", DYNC__SZ_MUL, 2},
    {"/", DYNC__SZ_DIV, 2},
    {"%", DYNC__SZ_MOD, 2},
    {"min", DYNC__SZ_MIN, 2},
    {"max", DYNC__SZ_MAX, 2},
    {"of", DYNC__SF_OF, 1},
    {"f+", DYNC__SF_ADD, 2},
    {"f-", DYNC__SF_SUB, 2},
    {"f*", DYNC__SF_MUL, 2},
    {"f/", DYNC__SF_DIV, 2},
    {"sqrt", DYNC__SF_SQRT, 1},
};

/* ---- the numbers of a graph, counted --------------------------------------------------------- */

static bool dync__zt_count(void *user, int64_t *size)
{
    dync__zt_walk *w = user;
    if (dync__is_sf(*size)) return true; /* a real number */
    return w->fn(w->user, w->at++, size);
}

/* The layout as it is read again: where the text has no strides, for it is contiguous as it is
 * shown or has no elements, dims of size 1, or all of them, get those of a new tensor. */
static void dync__zt_as_printed(const dync__zt_walk *w, dync__layout *lay)
{
    const dync__symtab *t = dync__tls.syms;
    int64_t span = 1, size[DYNC_MAX_DIMS];
    bool contiguous = true, empty = false, ok = true;
    for (int d = lay->ndim - 1; d >= 0; d--) {
        size[d] = dync__symtab_value(t, lay->shape[d], w->shown, &ok);
        empty = empty || size[d] == 0;
        if (size[d] != 1)
            contiguous = contiguous && dync__symtab_value(t, lay->stride[d], w->shown, &ok) == span;
        span = dync__sz_times(span, size[d]);
    }
    if (!ok || !(contiguous || empty)) return;
    span = 1;
    for (int d = lay->ndim - 1; d >= 0; d--) {
        if (size[d] == 1 || empty) lay->stride[d] = span;
        if (size[d] != 0) span = dync__sz_mul(span, lay->shape[d]);
    }
}

/* In the order of dync__graph_each_size. What a call gives is inferred from what it takes; that
 * what data decide is a size tells the first size alone. */
static bool dync__zt_node(dync__node *n, dync__zt_walk *w)
{
    bool call = dync__node_is_call(n), went = true;
    w->inferred = false;
    for (int k = 0; k < n->nargs && went; k++)
        went = dync__arg_each_size(&n->args[k], dync__zt_count, w);
    for (int k = 0; n->has_info && k < n->nout && went; k++) {
        dync__layout printed, *lay = &n->info[k].lay;
        if (w->shown) {
            printed = *lay;
            dync__zt_as_printed(w, lay = &printed);
        }
        for (int d = 0; d < lay->ndim && went; d++) {
            w->inferred = call && !(d == 0 && dync__op_is_counted(n->op));
            went = dync__zt_count(w, &lay->shape[d]);
            w->inferred = call;
            went = went && dync__zt_count(w, &lay->stride[d]);
        }
        went = went && dync__zt_count(w, &lay->offset);
    }
    return went;
}

/* recursion: lists */
static bool dync__zt_real(dync__arg *a, dync__zt_walk *w)
{
    for (int i = 0; a->kind == DYNC__A_LIST && i < a->n; i++)
        if (!dync__zt_real(&a->as.list[i], w)) return false;
    if (a->kind != DYNC__A_FLOAT) return true;
    int64_t bits = dync__sf_bits(a->as.f), was = bits;
    bool went = w->fn(w->user, w->at++, &bits);
    if (bits != was) a->as.f = dync__sf_double(bits);
    return went;
}

static bool dync__zt_reals(dync__node *n, dync__zt_walk *w)
{
    w->inferred = false;
    for (int k = 0; k < n->nargs; k++)
        if (!dync__zt_real(&n->args[k], w)) return false;
    return true;
}

/* recursion: functions inside operators */
static bool dync__zt_nodes(dync__graph *g, dync__zt_walk *w,
                           bool (*each)(dync__node *, dync__zt_walk *))
{
    for (int i = 0; i < g->node.n; i++)
        if (!each(g->node.at[i], w)) return false;
    for (int i = 0; i < g->node.n; i++)
        for (int k = 0; k < g->node.at[i]->nargs; k++)
            if (g->node.at[i]->args[k].kind == DYNC__A_GRAPH &&
                !dync__zt_nodes(g->node.at[i]->args[k].as.graph, w, each))
                return false;
    return true;
}

DYNC__FN bool dync__zt_each(dync__graph *g, dync__zt_walk *w)
{
    return dync__zt_nodes(g, w, dync__zt_node) && dync__zt_nodes(g, w, dync__zt_reals);
}

/* ---- writing --------------------------------------------------------------------------------- */

/* rows and uses are texts that grow while the graph is walked; equal values share a row. */
typedef struct dync__zt_writer {
    const dync__symtab *syms;
    const dync__zt_walk *walk;
    bool by_data; /* types of calls are inferred as the file is read */
    dync__str rows, uses;
    dync__map row; /* token or number + kind -> its row */
    int n_rows, n_uses;
    bool failed;
} dync__zt_writer;

/* Writes a row of one or two numbers and returns its number. */
static int dync__zt_put(dync__zt_writer *w, int row, uint64_t a, uint64_t b)
{
    dync__str_addf(&w->rows, "%s %llu", dync__zt_rows[row].word, (unsigned long long)a);
    if (dync__zt_rows[row].n > 1) dync__str_addf(&w->rows, " %llu", (unsigned long long)b);
    dync__str_addc(&w->rows, '\n');
    return w->n_rows++;
}

/* Failure is sticky: an operator without a row cannot be written. */
static int dync__zt_op(dync__zt_writer *w, int op, int a, int b)
{
    for (int i = DYNC__ZT_FIRST; i < DYNC__ZT_ROWS; i++)
        if (dync__zt_rows[i].op == op) return dync__zt_put(w, i, (uint64_t)a, (uint64_t)b);
    w->failed = true;
    return 0;
}

static int dync__zt_size(dync__zt_writer *w, int64_t size, bool real);

/* coefficient * atom * atom + ..: rows for each product, then for the sums. Returns the last
 * row. */
static int dync__zt_sum(dync__zt_writer *w, const dync__sz_expr *e)
{
    int sum = -1;
    for (int i = 0; i < e->n_terms; i++) {
        const dync__sz_term *t = &e->term[i];
        int product = t->coef != 1 || t->n == 0 ? dync__zt_size(w, t->coef, false) : -1;
        for (int k = 0; k < t->n; k++) {
            int atom = dync__zt_size(w, t->atom[k], false);
            product = product < 0 ? atom : dync__zt_op(w, DYNC__SZ_MUL, product, atom);
        }
        sum = sum < 0 ? product : dync__zt_op(w, DYNC__SZ_ADD, sum, product);
    }
    return DYNC__MAX(sum, 0);
}

/* recursion: over what a size is made of. real: the bits of a double */
static int dync__zt_size(dync__zt_writer *w, int64_t size, bool real)
{
    bool token = real ? dync__is_sf(size) : dync__is_token(size);
    const dync__sz_expr *e = token ? dync__symtab_find(w->syms, size) : NULL;
    uint64_t key = e ? (uint64_t)size
                     : dync__hash_mix((uint64_t)real + 0x726f77, (uint64_t)size) | 1u,
             known;
    if (dync__map_get(&w->row, key, &known)) return (int)known;
    int row;
    if (!e && real)
        row = dync__zt_put(w, DYNC__ZT_REAL, (uint64_t)size >> 32, (uint64_t)size & UINT32_MAX);
    else if (!e)
        row = size < 0 ? dync__zt_put(w, DYNC__ZT_MINUS, 0 - (uint64_t)size, 0)
                       : dync__zt_put(w, DYNC__ZT_INT, (uint64_t)size, 0);
    else if (e->kind == DYNC__SZ_SYMBOL)
        row = dync__zt_put(w, DYNC__ZT_SYMBOL, (uint64_t)e->symbol, 0);
    else if (e->kind == DYNC__SZ_SUM)
        row = dync__zt_sum(w, e);
    else {
        bool of = e->kind == DYNC__SF_OF, numbers = e->kind > DYNC__SF_OF,
             both = e->kind != DYNC__SF_OF && e->kind != DYNC__SF_SQRT;
        int a = dync__zt_size(w, e->a, numbers && !of),
            b = both ? dync__zt_size(w, e->b, numbers) : 0;
        row = dync__zt_op(w, e->kind, a, b);
    }
    if (!dync__map_put(&w->row, key, (uint64_t)row)) w->failed = true;
    return row;
}

/* Notes that number `at` of the graph is symbolic. */
static bool dync__zt_use(void *user, int64_t at, int64_t *size)
{
    dync__zt_writer *w = user;
    if (!dync__symtab_find(w->syms, *size) || (w->by_data && w->walk->inferred)) return true;
    int row = dync__zt_size(w, *size, dync__is_sf(*size));
    dync__str_addf(&w->uses, "%lld %d\n", (long long)at, row);
    w->n_uses++;
    return true;
}

/* What a symbol is in the graph that the file shows: of what data decide a small number that it may
 * be, as all that one is of another's elements must be possible. */
static int64_t dync__zt_shown(const dync__symtab *t, int i)
{
    const dync__sz_symbol *symbol = &t->symbol.at[i];
    if (!symbol->data) return dync__symtab_find(t, symbol->token)->hint;
    return DYNC__MIN(DYNC__MAX(2, symbol->least), symbol->high);
}

static void dync__zt_put_symbol(const dync__symtab *t, int i, dync__str *s)
{
    const dync__sz_symbol *symbol = &t->symbol.at[i];
    if (symbol->data)
        dync__str_addf(s, "u %lld\n", (long long)dync__zt_shown(t, i));
    else
        dync__str_addf(s, "%lld %lld %lld\n", (long long)symbol->low,
                       symbol->high == INT64_MAX ? 0LL : (long long)symbol->high,
                       (long long)dync__zt_shown(t, i));
}

/* Appends the whole section to s: counts first, so everything is collected before it. Strides as
 * they are printed may be no expressions of the graph's table: others may read that one now. */
DYNC__FN dync_status dync__sizes_write(dync__graph *g, dync__str *s)
{
    int64_t shown[DYNC__PROGRAM_SYMBOLS] = {0};
    dync__zt_walk walk = {dync__zt_use, NULL, 0, false, shown};
    dync__symtab *outer = dync__tls.syms, *table = dync__symtab_copy(g->syms, NULL);
    dync__zt_writer w = {.syms = table, .walk = &walk, .by_data = dync__sizes_by_data(g)};
    if (!table) return DYNC_ERR_MEMORY;
    walk.user = &w;
    for (int i = 0; i < table->symbol.n; i++) shown[i] = dync__zt_shown(table, i);
    dync__tls.syms = table;
    dync__str guards = {0};
    bool ok = dync__zt_each(g, &walk) && !table->failed;
    for (int i = 0; i < g->syms->guard.n; i++) {
        const dync__sz_guard *guard = &g->syms->guard.at[i];
        int a = dync__zt_size(&w, guard->a, false), b = dync__zt_size(&w, guard->b, false);
        dync__str_addf(&guards, "%d %d %d\n", (int)guard->rel, a, b);
    }
    dync__str_addf(s, "sizes %d %d %d %d\n", g->syms->symbol.n, w.n_rows, g->syms->guard.n,
                   w.n_uses);
    for (int i = 0; i < g->syms->symbol.n; i++) dync__zt_put_symbol(g->syms, i, s);
    dync__str_add(s, dync__str_get(&w.rows));
    dync__str_add(s, dync__str_get(&guards));
    dync__str_add(s, dync__str_get(&w.uses));
    s->failed = s->failed || w.rows.failed || w.uses.failed || guards.failed || w.failed;
    dync__str_free(&w.rows);
    dync__str_free(&w.uses);
    dync__str_free(&guards);
    dync__map_free(&w.row);
    dync__tls.syms = outer;
    dync__symtab_free(table);
    return ok && !s->failed ? DYNC_OK : DYNC_ERR_MEMORY;
}

/* The graph with the sizes of its export. */
DYNC__FN dync_status dync__sizes_concrete(dync__graph *g, dync__graph **out)
{
    int64_t value[DYNC__PROGRAM_SYMBOLS] = {0};
    for (int i = 0; i < g->syms->symbol.n; i++) value[i] = dync__zt_shown(g->syms, i);
    return dync__graph_concrete(g, value, out);
}

DYNC__FN bool dync__sizes_by_data(const dync__graph *g)
{
    for (int i = 0; g->syms && i < g->syms->symbol.n; i++)
        if (g->syms->symbol.at[i].data) return true;
    return false;
}
