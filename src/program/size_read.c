/* program/size_read.c: reads the tables of sizes that size_table.c writes. After size_table.c. */
#include "../dync.in.h"
#include "reader.h"
#include "size_table.h"
DYNC__COLD

/* ---- reading --------------------------------------------------------------------------------- */

/* row[i] and real[i]: what row i of the file is, once it has been read. */
typedef struct dync__zt_reader {
    dync__program_reader *r;
    dync__symtab *syms;
    int64_t *row; /* a size, or the bits of a number where real */
    bool *real;
    size_t n_rows, n_uses;
    bool data; /* some symbols may be what data decide */
    int n_data;
    int64_t next; /* the place that the next line is about; -1: there is none */
    size_t next_row;
} dync__zt_reader;

/* Which row type stands here; -1: none, refused. */
static int dync__zt_word(dync__program_reader *r)
{
    for (int i = 0; i < DYNC__ZT_ROWS; i++) {
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

/* One that data decide: between what is found from the graph (dync__graph_infer_sizes). */
static void dync__zt_read_data(dync__zt_reader *s)
{
    bool minus = s->r->p < s->r->end && *s->r->p == '-';
    s->r->p += minus;
    int64_t shown = (int64_t)dync__program_wide(s->r, (uint64_t)DYNC__ITEM_MOST, '\n');
    if (s->r->status != DYNC_OK) return;
    int64_t token = dync__symtab_data(s->syms, s->n_data++, -DYNC__ITEM_MOST, DYNC__SZ_MOST);
    dync__sz_expr *e = token < 0 ? NULL
                                 : (dync__sz_expr *)(uintptr_t)dync__symtab_find(s->syms, token);
    if (e)
        e->hint = minus ? -shown : shown;
    else
        s->r->status = DYNC_ERR_MEMORY;
}

/* Each becomes a marked symbol with its range, as dync_mark_dynamic made it. */
static void dync__zt_read_symbols(dync__zt_reader *s, size_t n)
{
    for (size_t i = 0; i < n && s->r->status == DYNC_OK; i++) {
        if (s->data && s->r->p < s->r->end && *s->r->p == 'u') {
            if (dync__program_word(s->r, "u ")) dync__zt_read_data(s);
            continue;
        }
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
    dync__symtab_learnt(s->syms);
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
    dync__zt_walk walk = {dync__zt_place, s, 0, false, NULL};
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
    if (s->r->status != DYNC_OK || !dync__sizes_by_data(g)) return s->r->status;
    /* what no call shows before it runs is inferred here, for all sizes */
    s->r->status = dync__graph_infer_sizes(g);
    if (s->r->status == DYNC_OK && !dync__graph_settle_sizes(g, s->syms))
        s->r->status = DYNC_ERR_MEMORY;
    return s->r->status;
}

/* The thread's symbol table is put back; the graph gets one of its own. */
DYNC__FN dync_status dync__sizes_read(dync__program_reader *r, dync__graph *g, bool data)
{
    dync__zt_reader s = {.r = r, .data = data};
    if (!dync__program_word(r, "sizes ")) return r->status;
    size_t n_symbols = dync__program_number(r, DYNC__PROGRAM_SYMBOLS, ' ');
    s.n_rows = dync__program_number(r, (size_t)(r->end - r->p), ' ');
    size_t n_guards = dync__program_number(r, (size_t)(r->end - r->p), ' ');
    s.n_uses = dync__program_number(r, (size_t)(r->end - r->p), '\n');
    DYNC__TRY(r->status);
    if (s.n_rows > (size_t)r->limits.nodes) return dync__program_refuse(r, "fewer rows of sizes");
    dync__symtab *before = dync__tls.syms;
    s.syms = dync__symtab_new();
    if (s.syms && !r->own) s.syms->most_elements = r->limits.elements;
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
