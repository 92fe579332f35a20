/* tensor/sym_data.c: symbols that data decide: u0, u1, ... After sym_value.c, before sym_decide.c.
 *
 * Nothing tells them while a function is traced, so no relation of theirs is taken from a call:
 * ranges decide it, or it is an error (sym_decide.c). In a run the operator that gives a size or a
 * number tells them; from there on they are as those of the arguments. */
#include "../dync.in.h"
#include "sym.h"
DYNC__COLD

#if !defined(DYNC_NO_SYMBOLIC)
enum { DYNC__SZ_DATA_HINT = 32 };

DYNC__FN bool dync__symtab_within(dync__symtab *t, int symbol, int64_t least, int64_t most)
{
    dync__sz_symbol *s = &t->symbol.at[symbol];
    s->least = DYNC__MAX(s->least, least);
    s->high = DYNC__MIN(s->high, most);
    bool possible = s->least <= s->high;
    s->low = s->least >= 0 ? DYNC__MAX(s->least, 2) : s->least;
    /* no range makes a size a number: it is a symbol in every shape, or in none */
    if (s->least == 0) s->high = DYNC__MAX(s->high, 1);
    dync__symtab_learnt(t);
    return possible;
}

DYNC__FN int64_t dync__symtab_data(dync__symtab *t, int n, int64_t least, int64_t most)
{
    int k = 0;
    while (k < t->symbol.n && (!t->symbol.at[k].data || dync__sz_data_number(t, k) != n)) k++;
    if (k == t->symbol.n &&
        dync__symtab_symbol(t, DYNC__MIN(DYNC__MAX(most, 2), DYNC__SZ_DATA_HINT), "data", true) < 0)
        return -1;
    dync__sz_symbol *s = &t->symbol.at[k];
    s->data = s->unbacked = true;
    s->number = false;
    s->is = 0;
    s->least = INT64_MIN;
    s->high = INT64_MAX;
    (void)dync__symtab_within(t, k, least, most);
    return s->token;
}

DYNC__FN bool dync__sz_is_unbacked(const dync__symtab *t, int64_t size)
{
    bool any = false, few[64] = {false};
    if (!dync__is_token(size) && !dync__is_sf(size)) return false;
    for (int i = 0; i < t->symbol.n; i++) any = any || t->symbol.at[i].unbacked;
    if (!any || t->symbol.n > DYNC__COUNT_OF(few) || !dync__symtab_uses(t, size, few)) return false;
    for (int i = 0; i < t->symbol.n; i++)
        if (few[i] && t->symbol.at[i].unbacked) return true;
    return false;
}
#endif
