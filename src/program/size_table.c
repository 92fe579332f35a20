/* program/size_table.c: the symbolic sizes of a program in its file. Before program_file.c.
 *
 * The file's graph is that of the sizes of the export, as any other: numbers, whose types are
 * checked as those of any other. Beside it stands which of its numbers are symbolic:
 *
 *   sizes 1 3 0 4          symbols, rows, guards, places
 *   2 64 8                 a symbol: least, greatest (0: none), in the export
 *   s 0                    rows, each of earlier ones: 0 is symbol 0,
 *   i 2                    1 the number 2, (n 5: -5)
 *   * 0 1                  2 their product
 *   0 0 2                  a guard: relation (== < != <=) of two rows
 *   17 2                   number 17 of the graph is row 2
 *
 * Numbers of a graph are counted as dync__graph_each_size meets them, then those of the functions
 * inside its operators. A place where the graph has another number than its row gives for the
 * export's sizes is refused, so is a row of anything but earlier rows. */
#include "../dync.in.h"
#include "reader.h"
DYNC__COLD

/* Those before FIRST have no rows as operands: a symbol's number, a number, another below 0, the
 * halves of a double's bits. */
enum { DYNC__ZT_SYMBOL, DYNC__ZT_INT, DYNC__ZT_MINUS, DYNC__ZT_REAL, DYNC__ZT_FIRST };
/* word stands in the file; op and n say what the row computes of how many operands. */
typedef struct dync__zt_row {
    const char *word;
    int op, n; /* dync__sz_op or dync__sf_op; operands */
} dync__zt_row;
static const dync__zt_row dync__zt_rows[] = {
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

/* Calls fn for every number of the graph, with its place; fn may change it. False from fn ends the
 * walk. */
typedef struct dync__zt_walk {
    bool (*fn)(void *user, int64_t at, int64_t *size);
    void *user;
    int64_t at;
} dync__zt_walk;
static bool dync__zt_count(void *user, int64_t *size)
{
    dync__zt_walk *w = user;
    return w->fn(w->user, w->at++, size);
}

/* recursion: functions inside operators */
static bool dync__zt_each(dync__graph *g, dync__zt_walk *w)
{
    if (!dync__graph_each_size(g, dync__zt_count, w)) return false;
    for (int i = 0; i < g->node.n; i++)
        for (int k = 0; k < g->node.at[i]->nargs; k++)
            if (g->node.at[i]->args[k].kind == DYNC__A_GRAPH &&
                !dync__zt_each(g->node.at[i]->args[k].as.graph, w))
                return false;
    return true;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* rows and uses are texts that grow while the graph is walked; equal values share a row. */
typedef struct dync__zt_writer {
    const dync__symtab *syms;
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
    for (int i = DYNC__ZT_FIRST; i < DYNC__COUNT_OF(dync__zt_rows); i++)
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
    if (!dync__symtab_find(w->syms, *size)) return true;
    int row = dync__zt_size(w, *size, dync__is_sf(*size));
    dync__str_addf(&w->uses, "%lld %d\n", (long long)at, row);
    w->n_uses++;
    return true;
}

/* Appends the whole section to s: counts first, so everything is collected before it. */
DYNC__FN dync_status dync__sizes_write(dync__graph *g, dync__str *s)
{
    dync__zt_writer w = {.syms = g->syms};
    dync__zt_walk walk = {dync__zt_use, &w, 0};
    dync__str guards = {0};
    bool ok = dync__zt_each(g, &walk);
    for (int i = 0; i < g->syms->guard.n; i++) {
        const dync__sz_guard *guard = &g->syms->guard.at[i];
        int a = dync__zt_size(&w, guard->a, false), b = dync__zt_size(&w, guard->b, false);
        dync__str_addf(&guards, "%d %d %d\n", (int)guard->rel, a, b);
    }
    dync__str_addf(s, "sizes %d %d %d %d\n", g->syms->symbol.n, w.n_rows, g->syms->guard.n,
                   w.n_uses);
    for (int i = 0; i < g->syms->symbol.n; i++) {
        const dync__sz_symbol *symbol = &g->syms->symbol.at[i];
        int64_t hint = dync__symtab_find(g->syms, symbol->token)->hint;
        dync__str_addf(s, "%lld %lld %lld\n", (long long)symbol->low,
                       symbol->high == INT64_MAX ? 0LL : (long long)symbol->high, (long long)hint);
    }
    dync__str_add(s, dync__str_get(&w.rows));
    dync__str_add(s, dync__str_get(&guards));
    dync__str_add(s, dync__str_get(&w.uses));
    s->failed = s->failed || w.rows.failed || w.uses.failed || guards.failed || w.failed;
    dync__str_free(&w.rows);
    dync__str_free(&w.uses);
    dync__str_free(&guards);
    dync__map_free(&w.row);
    return ok && !s->failed ? DYNC_OK : DYNC_ERR_MEMORY;
}

/* The graph with the sizes of its export. */
DYNC__FN dync_status dync__sizes_concrete(dync__graph *g, dync__graph **out)
{
    int64_t value[DYNC__PROGRAM_SYMBOLS];
    for (int i = 0; i < g->syms->symbol.n; i++)
        value[i] = dync__symtab_find(g->syms, g->syms->symbol.at[i].token)->hint;
    return dync__graph_concrete(g, value, out);
}

/* ---- reading --------------------------------------------------------------------------------- */

/* row[i] and real[i]: what row i of the file is, once it has been read. */
typedef struct dync__zt_reader {
    dync__program_reader *r;
    dync__symtab *syms;
    int64_t *row; /* a size, or the bits of a number where real */
    bool *real;
    size_t n_rows, n_uses;
    int64_t next; /* the place that the next line is about; -1: there is none */
    size_t next_row;
} dync__zt_reader;

/* Which row type stands here; -1: none, refused. */
static int dync__zt_word(dync__program_reader *r)
{
    for (int i = 0; i < DYNC__COUNT_OF(dync__zt_rows); i++) {
        size_t n = strlen(dync__zt_rows[i].word);
        if ((size_t)(r->end - r->p) > n && memcmp(r->p, dync__zt_rows[i].word, n) == 0 &&
            r->p[n] == ' ') {
            r->p += n + 1;
            return i;
        }
    }
    dync__program_refuse(r, "a row of sizes");
    return -1;
}

/* A row before `before`, of a size or of a number. */
static int64_t dync__zt_operand(dync__zt_reader *s, size_t before, char behind, bool real)
{
    if (before == 0) return dync__program_refuse(s->r, "an earlier row"), 0;
    size_t i = dync__program_number(s->r, before - 1, behind);
    if (s->r->status == DYNC_OK && s->real[i] != real)
        dync__program_refuse(s->r, real ? "a row that is a number" : "a row that is a size");
    return s->r->status == DYNC_OK ? s->row[i] : 0;
}

/* A symbol, a number or a double: what has no operands. */
static void dync__zt_read_leaf(dync__zt_reader *s, size_t i, int word)
{
    bool real = word == DYNC__ZT_REAL;
    uint64_t most = real ? UINT32_MAX : (uint64_t)DYNC__SZ_MOST;
    if (word == DYNC__ZT_SYMBOL) most = (uint64_t)s->syms->symbol.n - 1;
    if (word == DYNC__ZT_SYMBOL && s->syms->symbol.n == 0) {
        dync__program_refuse(s->r, "a symbol");
        return;
    }
    uint64_t x = dync__program_wide(s->r, most, real ? ' ' : '\n');
    if (real) x = x << 32 | dync__program_wide(s->r, most, '\n');
    if (s->r->status != DYNC_OK) return;
    if (real && dync__is_sf((int64_t)x)) dync__program_refuse(s->r, "a number");
    s->real[i] = real;
    s->row[i] = word == DYNC__ZT_SYMBOL  ? s->syms->symbol.at[x].token
                : word == DYNC__ZT_MINUS ? -(int64_t)x
                                         : (int64_t)x;
}

/* Row i, made with the symbol table of the reader in force, so that it comes out in its simplest
 * form. Numbers beyond what a size may be are refused. */
static void dync__zt_read_row(dync__zt_reader *s, size_t i)
{
    int word = dync__zt_word(s->r);
    if (word < 0) return;
    const dync__zt_row *row = &dync__zt_rows[word];
    if (word < DYNC__ZT_FIRST) {
        dync__zt_read_leaf(s, i, word);
        return;
    }
    bool numbers = row->op > DYNC__SF_OF;
    int64_t a = dync__zt_operand(s, i, row->n > 1 ? ' ' : '\n', numbers),
            b = row->n > 1 ? dync__zt_operand(s, i, '\n', numbers) : 0;
    if (s->r->status != DYNC_OK) return;
    s->real[i] = row->op >= DYNC__SF_OF;
    if (row->op == DYNC__SF_OF)
        s->row[i] = dync__sf_bits(dync__sf_of(a));
    else if (numbers)
        s->row[i] =
            dync__sf_bits(dync__sf((dync__sf_op)row->op, dync__sf_double(a), dync__sf_double(b)));
    else
        s->row[i] = dync__sz_make((dync__sz_op)row->op, a, b);
    if (!s->real[i] && (s->row[i] > DYNC__SZ_MOST || s->row[i] < -DYNC__SZ_MOST) &&
        !dync__is_token(s->row[i]))
        dync__program_refuse(s->r, "smaller sizes");
}

/* Each becomes a marked symbol with its range, as dync_mark_dynamic made it. */
static void dync__zt_read_symbols(dync__zt_reader *s, size_t n)
{
    for (size_t i = 0; i < n && s->r->status == DYNC_OK; i++) {
        uint64_t low = dync__program_wide(s->r, (uint64_t)DYNC__SZ_MOST, ' '),
                 high = dync__program_wide(s->r, (uint64_t)DYNC__SZ_MOST, ' '),
                 hint = dync__program_wide(s->r, (uint64_t)DYNC__SZ_MOST, '\n');
        if (s->r->status == DYNC_OK &&
            (low < 2 || hint < low || (high && hint > high) || dync__is_token((int64_t)hint)))
            dync__program_refuse(s->r, "a size within its range before this");
        if (s->r->status != DYNC_OK) return;
        if (dync__symtab_symbol(s->syms, (int64_t)hint, "a size", false) < 0) {
            s->r->status = DYNC_ERR_MEMORY;
            return;
        }
        dync__sz_symbol *symbol = &s->syms->symbol.at[i];
        symbol->marked = true;
        symbol->ranged = high != 0;
        symbol->low = (int64_t)low;
        if (high) symbol->high = (int64_t)high;
        dync__symtab_learnt(s->syms);
    }
}

static void dync__zt_read_guards(dync__zt_reader *s, size_t n)
{
    s->syms->guard.n = 0; /* what building rows took for granted is checked by every call's types */
    for (size_t i = 0; i < n && s->r->status == DYNC_OK; i++) {
        dync__sz_guard guard = {0};
        guard.rel = (dync__sz_rel)dync__program_number(s->r, DYNC__SZ_LE, ' ');
        guard.a = dync__zt_operand(s, s->n_rows, ' ', false);
        guard.b = dync__zt_operand(s, s->n_rows, '\n', false);
        if (s->r->status != DYNC_OK) return;
        if (!dync__avec_push(&s->syms->arena, &s->syms->guard, guard))
            s->r->status = DYNC_ERR_MEMORY;
    }
}

/* Places come in rising order, so that one walk over the graph meets them all. */
static void dync__zt_next(dync__zt_reader *s)
{
    int64_t before = s->next;
    s->next = -1;
    if (s->n_uses == 0 || s->r->status != DYNC_OK) return;
    s->n_uses--;
    int64_t at = (int64_t)dync__program_wide(s->r, (uint64_t)DYNC__SZ_MOST, ' ');
    s->next_row = s->n_rows ? dync__program_number(s->r, s->n_rows - 1, '\n') : 0;
    if (s->r->status != DYNC_OK) return;
    if (at <= before || !s->n_rows) dync__program_refuse(s->r, "a later number of the graph");
    s->next = at;
}

/* Row after row is put in its place; a number that is none of the rows' stays. */
static bool dync__zt_place(void *user, int64_t at, int64_t *size)
{
    dync__zt_reader *s = user;
    if (at != s->next) return true;
    int64_t row = s->row[s->next_row];
    bool real = s->real[s->next_row];
    int64_t is = real ? dync__sf_hint(s->syms, row) : dync__sz_hint_in(s->syms, row);
    if (is != *size) {
        dync__program_refuse(s->r, "the graph's own number before this");
        return false;
    }
    *size = row;
    dync__zt_next(s);
    return s->r->status == DYNC_OK;
}

/* Attributes hold data and so have plain sizes. */
static dync_status dync__zt_read(dync__zt_reader *s, dync__graph *g, size_t n_symbols,
                                 size_t n_guards)
{
    dync__zt_walk walk = {dync__zt_place, s, 0};
    dync__zt_read_symbols(s, n_symbols);
    for (size_t i = 0; i < s->n_rows && s->r->status == DYNC_OK; i++) {
        dync__zt_read_row(s, i);
        if (s->syms->failed) s->r->status = DYNC_ERR_MEMORY;
        if (s->r->status == DYNC_OK && !s->real[i] && s->row[i] == -1 && dync_error() != DYNC_OK)
            s->r->status = dync_error();
    }
    if (s->r->status == DYNC_OK) dync__zt_read_guards(s, n_guards);
    s->next = -1;
    dync__zt_next(s);
    DYNC__TRY(s->r->status);
    (void)dync__zt_each(g, &walk);
    if (s->r->status == DYNC_OK && s->next >= 0)
        dync__program_refuse(s->r, "numbers that the graph has");
    for (int i = 0; i < g->node.n && s->r->status == DYNC_OK; i++)
        if (g->node.at[i]->kind == DYNC__N_GET_ATTR &&
            dync__layout_has_tokens(&g->node.at[i]->info[0].lay))
            dync__program_refuse(s->r, "attributes whose sizes are numbers");
    if (s->r->status == DYNC_OK && !dync__graph_settle_sizes(g, s->syms))
        s->r->status = DYNC_ERR_MEMORY;
    return s->r->status;
}

/* The thread's symbol table is put back; the graph gets one of its own. */
DYNC__FN dync_status dync__sizes_read(dync__program_reader *r, dync__graph *g)
{
    dync__zt_reader s = {.r = r};
    if (!dync__program_word(r, "sizes ")) return r->status;
    size_t n_symbols = dync__program_number(r, DYNC__PROGRAM_SYMBOLS, ' ');
    s.n_rows = dync__program_number(r, (size_t)(r->end - r->p), ' ');
    size_t n_guards = dync__program_number(r, (size_t)(r->end - r->p), ' ');
    s.n_uses = dync__program_number(r, (size_t)(r->end - r->p), '\n');
    DYNC__TRY(r->status);
    if (s.n_rows > (size_t)r->limits.nodes) return dync__program_refuse(r, "fewer rows of sizes");
    dync__symtab *before = dync__tls.syms;
    s.syms = dync__symtab_new();
    s.row = dync__calloc((s.n_rows + 1) * sizeof *s.row);
    s.real = dync__calloc(s.n_rows + 1);
    dync__tls.syms = s.syms;
    if (s.syms && s.row && s.real)
        (void)dync__zt_read(&s, g, n_symbols, n_guards);
    else
        r->status = DYNC_ERR_MEMORY;
    dync__tls.syms = before;
    dync__symtab_free(s.syms);
    dync__free(s.row, (s.n_rows + 1) * sizeof *s.row);
    dync__free(s.real, s.n_rows + 1);
    return r->status;
}

/* Past it: one line for each that its first line counts. */
DYNC__FN dync_status dync__sizes_skip(dync__program_reader *r)
{
    if (!dync__program_word(r, "sizes ")) return r->status;
    size_t most = (size_t)(r->end - r->p), n = 0;
    for (int i = 0; i < 4; i++) n += dync__program_number(r, most, i < 3 ? ' ' : '\n');
    for (; n && r->status == DYNC_OK; r->p++) {
        if (r->p == r->end)
            dync__program_refuse(r, "a line of sizes");
        else
            n -= *r->p == '\n';
        if (r->status != DYNC_OK) break;
    }
    return r->status;
}
