/* tensor/sym_none.h: what stands in the place of sym*.c under DYNC_NO_SYMBOLIC: no size is a
 * token, so that every answer is a number's. After sym_list.h, before shape.c. Whoever asks for
 * a symbolic size gets DYNC_ERR_UNSUPPORTED. */
#ifndef DYNC__SYM_NONE_H
#define DYNC__SYM_NONE_H
#include "sym_list.h"

#if defined(DYNC_NO_SYMBOLIC)
/* ---- tables: an empty one for all ------------------------------------------------------------ */
DYNC__INLINE dync__symtab *dync__symtab_new(void)
{
    static dync__symtab none = {.refs = 1, .violated = -1, .epoch = 1};
    return &none;
}
DYNC__INLINE dync__symtab *dync__symtab_retain(dync__symtab *t) { return t; }
DYNC__INLINE void dync__symtab_free(dync__symtab *t) { (void)t; }
DYNC__INLINE void dync__symtab_hints(dync__symtab *t, const int64_t *value)
{
    (void)t, (void)value;
}
DYNC__INLINE dync__symtab *dync__symtab_copy(const dync__symtab *from, const int64_t *value)
{
    (void)from, (void)value;
    return NULL;
}
DYNC__INLINE int64_t dync__symtab_symbol(dync__symtab *t, int64_t hint, const char *source,
                                         bool number)
{
    (void)t, (void)hint, (void)number;
    return dync__left_out(source, "DYNC_NO_SYMBOLIC"), -1;
}
DYNC__INLINE int64_t dync__symtab_data(dync__symtab *t, int n, int64_t least, int64_t most)
{
    (void)t, (void)n;
    return dync__symtab_symbol(t, least, "a size that data decide", most != 0);
}
DYNC__INLINE bool dync__symtab_within(dync__symtab *t, int symbol, int64_t least, int64_t most)
{
    (void)t, (void)symbol, (void)least, (void)most;
    return true;
}
DYNC__INLINE bool dync__sz_is_unbacked(const dync__symtab *t, int64_t size)
{
    (void)t, (void)size;
    return false;
}
DYNC__INLINE int dync__sz_data_number(const dync__symtab *t, int symbol)
{
    (void)t;
    return symbol;
}
DYNC__INLINE const dync__sz_expr *dync__symtab_find(const dync__symtab *t, int64_t token)
{
    (void)t, (void)token;
    return NULL;
}
DYNC__INLINE int64_t dync__symtab_value(const dync__symtab *t, int64_t size, const int64_t *value,
                                        bool *ok)
{
    (void)t, (void)value, (void)ok;
    return size;
}
DYNC__INLINE int64_t dync__symtab_value_kept(const dync__symtab *t, int64_t size,
                                             const int64_t *value, int64_t *at, bool *ok)
{
    (void)at;
    return dync__symtab_value(t, size, value, ok);
}
DYNC__INLINE void dync__symtab_text(const dync__symtab *t, int64_t size, bool sources, dync__str *s)
{
    (void)t, (void)sources;
    dync__str_addf(s, "%lld", (long long)size);
}
DYNC__INLINE void dync__symtab_c(const dync__symtab *t, int64_t size, const dync__sz_names *names,
                                 dync__str *s)
{
    (void)names;
    dync__symtab_text(t, size, false, s);
}
DYNC__INLINE int64_t dync__symtab_simple(dync__symtab *t, int64_t size)
{
    (void)t;
    return size;
}
DYNC__INLINE bool dync__symtab_uses(const dync__symtab *t, int64_t size, bool *symbols)
{
    (void)t, (void)size, (void)symbols;
    return true;
}
DYNC__INLINE bool dync__symtab_solve(const dync__symtab *t, int64_t size, int64_t actual,
                                     int64_t *value, bool *known)
{
    (void)t, (void)size, (void)actual, (void)value, (void)known;
    return false;
}
DYNC__INLINE bool dync__layout_values(const dync__symtab *t, const int64_t *value,
                                      dync__layout *lay)
{
    (void)t, (void)value, (void)lay;
    return true;
}
DYNC__INLINE bool dync__guard_holds(const dync__symtab *t, const dync__sz_guard *g,
                                    const int64_t *value)
{
    (void)t, (void)g, (void)value;
    return true;
}
DYNC__INLINE bool dync__symtab_holds(const dync__symtab *t, const int64_t *value)
{
    (void)t, (void)value;
    return true;
}
DYNC__INLINE bool dync__symtab_fits(const dync__symtab *t, const int64_t *value)
{
    (void)t, (void)value;
    return true;
}
DYNC__INLINE bool dync__symtab_settle(dync__symtab *t)
{
    (void)t;
    return true;
}

/* ---- sizes and numbers ----------------------------------------------------------------------- */
DYNC__INLINE double dync__sf(dync__sf_op op, double a, double b)
{
    switch (op) {
    case DYNC__SF_ADD: return a + b;
    case DYNC__SF_SUB: return a - b;
    case DYNC__SF_MUL: return a * b;
    case DYNC__SF_DIV: return a / b;
    case DYNC__SF_SQRT: return sqrt(a);
    case DYNC__SF_OF: break;
    }
    return a;
}
DYNC__INLINE double dync__sf_of(int64_t size) { return (double)size; }
DYNC__INLINE double dync__sf_number(double x) { return x; }
DYNC__INLINE dync_status dync__sf_check(double operand)
{
    (void)operand;
    return DYNC_OK;
}
DYNC__INLINE bool dync__sf_size(double x, int64_t *size)
{
    (void)x, (void)size;
    return false;
}
/* of tokens, which there are not */
DYNC__INLINE int64_t dync__sz_make(dync__sz_op op, int64_t a, int64_t b)
{
    (void)op, (void)b;
    return a;
}
DYNC__INLINE bool dync__sz_product(int64_t a, int64_t b, int64_t *out)
{
    return dync__mul_ok(a, b, out);
}
DYNC__INLINE bool dync__sz_decide(dync__sz_rel rel, int64_t a, int64_t b)
{
    return rel == DYNC__SZ_EQ ? a == b : a < b;
}
DYNC__INLINE int64_t dync__sz_extreme(dync__sz_op op, int64_t a, int64_t b)
{
    return (b < a) == (op == DYNC__SZ_MIN) ? b : a;
}
DYNC__INLINE int64_t dync__sz_number(int64_t size) { return size; }
DYNC__INLINE bool dync__sz_ask(dync__sz_rel rel, int64_t a, int64_t b)
{
    return dync__sz_decide(rel, a, b);
}
DYNC__INLINE int64_t dync__sz_at_least_2(int64_t size) { return size; }
DYNC__INLINE int64_t dync__sz_hint(int64_t size) { return size; }
DYNC__INLINE int64_t dync__sz_usual(int64_t size) { return size; }
DYNC__INLINE void dync__sz_bounds(int64_t size, double *low, double *high)
{
    *low = *high = (double)size;
}
DYNC__INLINE int64_t dync__sz_factor(int64_t size) { return size < 0 ? -size : size; }
DYNC__INLINE bool dync__layout_has_tokens(const dync__layout *lay)
{
    (void)lay;
    return false;
}
DYNC__INLINE void dync__layout_number(dync__layout *lay) { (void)lay; }
DYNC__INLINE int64_t dync__floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}
DYNC__INLINE dync_value dync__value_of_size(int64_t size) { return dync_v_int(size); }
DYNC__INLINE dync_value dync__value_of_sf(double x) { return dync_v_float(x); }
DYNC__INLINE int64_t dync__sz_hint_in(const dync__symtab *t, int64_t size)
{
    (void)t;
    return size;
}
DYNC__INLINE int64_t dync__sf_hint(const dync__symtab *t, int64_t bits)
{
    (void)t;
    return bits;
}

/* ---- lists: nothing is put into them --------------------------------------------------------- */
DYNC__INLINE bool dync__sz_list_begin(dync__sz_list *l, const dync__symtab *t, dync__arena *arena)
{
    *l = (dync__sz_list){.table = t, .arena = arena};
    return true;
}
DYNC__INLINE int64_t dync__sz_list_put(dync__sz_list *l, int64_t size)
{
    (void)l;
    return size;
}
DYNC__INLINE void dync__sz_list_guards(dync__sz_list *l) { (void)l; }
DYNC__INLINE bool dync__sz_list_ranges(const dync__sz_list *l, const int64_t *value)
{
    (void)l, (void)value;
    return true;
}
DYNC__INLINE bool dync__sz_list_run(const dync__sz_list *l, const int64_t *value, int64_t *at)
{
    (void)l, (void)value, (void)at;
    return true;
}
DYNC__INLINE void dync__sz_image_begin(dync__sz_image *im, dync__arena *lists)
{
    im->lists = lists;
}
DYNC__INLINE void *dync__sz_image_put(dync__sz_image *im, const void *from, size_t bytes)
{
    return (void)im, (void)from, (void)bytes, NULL;
}
DYNC__INLINE void dync__sz_image_size(dync__sz_image *im, const int64_t *place)
{
    (void)im, (void)place;
}
DYNC__INLINE void dync__sz_image_link(dync__sz_image *im, const void *pointer)
{
    (void)im, (void)pointer;
}
DYNC__INLINE char *dync__sz_image_at(const dync__sz_image *im, const int64_t *at, char *room,
                                     dync__arena *to)
{
    return (void)im, (void)at, (void)room, (void)to, NULL;
}
DYNC__INLINE void dync__sz_map_layout(const dync__sz_map *m, dync__layout *lay)
{
    (void)m, (void)lay;
}
#endif
#endif
