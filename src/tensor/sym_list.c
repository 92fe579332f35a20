/* tensor/sym_list.c: symbolic sizes as a flat list, for who evaluates the same ones again and
 * again: each expression once, after those it is made of, without looking anything up. After
 * sym_value.c.
 *
 * What is wanted is put into the list once its table is complete, and gets a place: a token that
 * only this list knows. A run gives the values of all places by those of the symbols. */
#include "../dync.in.h"
#include "sym_list.h"
#include "sym_poly.h"
DYNC__COLD

#if !defined(DYNC_NO_SYMBOLIC)
enum { DYNC__SZ_LIST_DEEP = 200 };

DYNC__FN bool dync__sz_list_begin(dync__sz_list *l, const dync__symtab *t, dync__arena *arena)
{
    memset(l, 0, sizeof *l);
    l->table = t;
    l->arena = arena;
    l->place_of = dync__arena_alloc(arena, (size_t)(t->expr.n + 1) * sizeof *l->place_of);
    l->failed = !l->place_of;
    if (l->place_of) memset(l->place_of, 0, (size_t)(t->expr.n + 1) * sizeof *l->place_of);
    return !l->failed;
}

static int64_t dync__sz_list_at(dync__sz_list *l, int64_t size, int depth);

/* The terms of a sum: how many, then of each its coefficient, how many atoms, those. */
static bool dync__sz_list_terms(dync__sz_list *l, const dync__sz_expr *e, dync__sz_step *s,
                                int depth)
{
    int64_t part[DYNC__SZ_TERMS][DYNC__SZ_DEGREE];
    bool ok = e->n_terms <= DYNC__SZ_TERMS;
    for (int i = 0; ok && i < e->n_terms; i++)
        for (int k = 0; k < e->term[i].n; k++)
            part[i][k] = dync__sz_list_at(l, e->term[i].atom[k], depth + 1);
    s->first = l->word.n;
    s->n = e->n_terms;
    for (int i = 0; ok && i < e->n_terms; i++) {
        ok = dync__avec_push(l->arena, &l->word, e->term[i].coef) &&
             dync__avec_push(l->arena, &l->word, e->term[i].n);
        for (int k = 0; ok && k < e->term[i].n; k++)
            ok = dync__avec_push(l->arena, &l->word, part[i][k]);
    }
    return ok;
}

static int64_t dync__sz_list_at(dync__sz_list *l, int64_t size, int depth)
{
    dync__sz_step s = {0};
    bool real = dync__is_sf(size);
    if (!dync__is_token(size) && !real) return size;
    int i = dync__symtab_place(l->table, size);
    bool known = i >= 0;
    if (real && !known) return size; /* a number of the user's */
    if (l->failed || depth > DYNC__SZ_LIST_DEEP || !known) {
        l->failed = true;
        return 0;
    }
    if (l->place_of[i]) return dync__sz_place(l->place_of[i] - 1);
    const dync__sz_expr *e = &l->table->expr.at[i];
    s.kind = e->kind;
    s.symbol = e->symbol;
    if (e->kind == DYNC__SZ_SUM)
        l->failed = !dync__sz_list_terms(l, e, &s, depth) || l->failed;
    else if (e->kind != DYNC__SZ_SYMBOL) {
        s.a = dync__sz_list_at(l, e->a, depth + 1);
        s.b = dync__sz_list_at(l, e->b, depth + 1);
    }
    if (!dync__avec_push(l->arena, &l->step, s)) l->failed = true;
    l->place_of[i] = l->step.n;
    return dync__sz_place(l->step.n - 1);
}

DYNC__FN int64_t dync__sz_list_put(dync__sz_list *l, int64_t size)
{
    return dync__sz_list_at(l, size, 0);
}

DYNC__FN void dync__sz_list_guards(dync__sz_list *l)
{
    for (int i = 0; i < l->table->guard.n && !l->failed; i++) {
        dync__sz_guard g = l->table->guard.at[i];
        g.a = dync__sz_list_put(l, g.a);
        g.b = dync__sz_list_put(l, g.b);
        if (!dync__avec_push(l->arena, &l->guard, g)) l->failed = true;
    }
}

DYNC__OFTEN DYNC__FN void dync__sz_map_layout(const dync__sz_map *m, dync__layout *lay)
{
    dync__sz_map_to(m, &lay->offset);
    for (int d = 0; d < lay->ndim; d++) {
        dync__sz_map_to(m, &lay->shape[d]);
        dync__sz_map_to(m, &lay->stride[d]);
    }
}

/* ---- running --------------------------------------------------------------------------------- */
DYNC__FN bool dync__sz_list_ranges(const dync__sz_list *l, const int64_t *value)
{
    for (int i = 0; i < l->table->symbol.n; i++) {
        const dync__sz_symbol *s = &l->table->symbol.at[i];
        if ((value[i] || s->number || s->data) && (value[i] < s->low || value[i] > s->high))
            return false;
    }
    return true;
}

/* Of a real number; operands are bits, but that of SF_OF. */
static int64_t dync__sz_list_real(int kind, int64_t a, int64_t b)
{
    return dync__sf_bits(kind == DYNC__SF_OF
                             ? dync__sf_of(a)
                             : dync__sf((dync__sf_op)kind, dync__sf_double(a), dync__sf_double(b)));
}

DYNC__OFTEN static int64_t dync__sz_list_sum(const dync__sz_list *l, const dync__sz_step *s,
                                             const int64_t *at)
{
    const int64_t *w = &l->word.at[s->first];
    int64_t sum = 0;
    for (int i = 0; i < s->n; i++) {
        int64_t product = *w++;
        for (int64_t n = *w++; n > 0; n--)
            product = dync__sz_times(product, dync__sz_placed(at, *w++));
        sum = dync__sz_hold(sum + product);
    }
    return sum;
}

DYNC__OFTEN DYNC__FN bool dync__sz_list_run(const dync__sz_list *l, const int64_t *value,
                                            int64_t *at)
{
    for (int i = 0; i < l->step.n; i++) {
        const dync__sz_step *s = &l->step.at[i];
        int64_t a = dync__sz_placed(at, s->a), b = dync__sz_placed(at, s->b);
        if (s->kind == DYNC__SZ_SYMBOL)
            at[i] = value[s->symbol];
        else if (s->kind == DYNC__SZ_SUM)
            at[i] = dync__sz_list_sum(l, s, at);
        else if (s->kind >= DYNC__SF_OF)
            at[i] = dync__sz_list_real(s->kind, a, b);
        else if (b == 0 && (s->kind == DYNC__SZ_DIV || s->kind == DYNC__SZ_MOD))
            return false;
        else
            at[i] = dync__sz_plain((dync__sz_op)s->kind, a, b);
        if (s->kind < DYNC__SF_OF && (at[i] > DYNC__SZ_LIST_MOST || at[i] < -DYNC__SZ_LIST_MOST))
            return false;
    }
    for (int i = 0; i < l->guard.n; i++) {
        const dync__sz_guard *g = &l->guard.at[i];
        int64_t a = dync__sz_placed(at, g->a), b = dync__sz_placed(at, g->b);
        if (g->rel == DYNC__SZ_EQ   ? a != b
            : g->rel == DYNC__SZ_NE ? a == b
            : g->rel == DYNC__SZ_LT ? a >= b
                                    : a > b)
            return false;
    }
    return true;
}

/* ---- a table's guards ------------------------------------------------------------------------ */
enum { DYNC__SZ_SETTLED = DYNC__SMALLER(64, 512) }; /* steps of a list that a call runs */

DYNC__FN bool dync__symtab_settle(dync__symtab *t)
{
    dync__sz_list *l = t->settled ? NULL : dync__arena_alloc(&t->arena, sizeof *l);
    if (!l) return t->settled != NULL;
    if (!dync__sz_list_begin(l, t, &t->arena)) return false;
    dync__sz_list_guards(l);
    if (!l->failed && l->step.n <= DYNC__SZ_SETTLED) DYNC__ATOMIC_STORE(&t->settled, l);
    return true;
}

/* Where the list says no, a walk tells: values may be sizes of another table, or beyond what the
 * list counts to. */
DYNC__OFTEN DYNC__FN bool dync__symtab_holds(const dync__symtab *t, const int64_t *value)
{
    int64_t at[DYNC__SZ_SETTLED];
    const dync__sz_list *l = DYNC__ATOMIC_LOAD(&t->settled);
    if (l && dync__sz_list_run(l, value, at)) return true;
    for (int i = 0; i < t->guard.n; i++)
        if (!dync__guard_holds(t, &t->guard.at[i], value)) return false;
    return true;
}

/* All guards and bounds. A value of 0 of a plain size symbol stands for one that was not bound, and
 * is passed over. */
DYNC__OFTEN DYNC__FN bool dync__symtab_fits(const dync__symtab *t, const int64_t *value)
{
    if (!dync__symtab_holds(t, value)) return false;
    for (int i = 0; i < t->symbol.n; i++)
        if ((value[i] || t->symbol.at[i].number || t->symbol.at[i].data) &&
            !dync__symbol_takes(&t->symbol.at[i], value[i]))
            return false;
    return true;
}

/* ---- images ---------------------------------------------------------------------------------- */
DYNC__FN void dync__sz_image_begin(dync__sz_image *im, dync__arena *lists)
{
    size_t bytes = dync__arena_bytes(&im->block);
    im->lists = lists;
    im->measured = bytes != 0;
    dync__arena_free(&im->block);
    im->block.chunk_size = bytes; /* all in one piece */
}

DYNC__FN void *dync__sz_image_put(dync__sz_image *im, const void *from, size_t bytes)
{
    void *p = from ? dync__arena_copy(&im->block, from, bytes)
                   : dync__arena_alloc(&im->block, bytes);
    if (!p) im->failed = true;
    if (im->measured && !im->start) im->start = p;
    im->bytes = im->block.used;
    return p;
}

static uint32_t dync__sz_image_offset(const dync__sz_image *im, const void *p)
{
    return (uint32_t)((const char *)p - im->start);
}

DYNC__FN void dync__sz_image_size(dync__sz_image *im, const int64_t *place)
{
    if (!im->start) return;
    const dync__sz_spot spot = {dync__sz_image_offset(im, place),
                                (uint32_t)(*place - dync__sz_place(0))};
    if (!dync__avec_push(im->lists, &im->size, spot)) im->failed = true;
}

DYNC__FN void dync__sz_image_link(dync__sz_image *im, const void *pointer)
{
    const char *to;
    memcpy(&to, pointer, sizeof to);
    if (!im->start) return;
    const dync__sz_spot spot = {dync__sz_image_offset(im, pointer), dync__sz_image_offset(im, to)};
    if (!dync__avec_push(im->lists, &im->link, spot)) im->failed = true;
}

DYNC__OFTEN DYNC__FN char *dync__sz_image_at(const dync__sz_image *im, const int64_t *at,
                                             char *room, dync__arena *arena)
{
    if (!room) arena->chunk_size = im->bytes;
    char *copy = room ? memcpy(room, im->start, im->bytes)
                      : dync__arena_copy(arena, im->start, im->bytes);
    if (!copy) return NULL;
    for (int i = 0; i < im->link.n; i++) {
        const char *to = copy + im->link.at[i].to;
        memcpy(copy + im->link.at[i].at, &to, sizeof to);
    }
    for (int i = 0; i < im->size.n; i++)
        memcpy(copy + im->size.at[i].at, &at[im->size.at[i].to], sizeof *at);
    return copy;
}
#endif
