/* capture/cell.c: cells of a trace: what a call reads of them is a symbolic number (symbol.c), what
 * it writes an effect (effects.c). After symbol.c, before arithmetic.c. */
#include "../dync.in.h"
#include "trace.h"
DYNC__COLD

/* What this call has last read from or written to the cell; NULL: not met yet. */
static dync__cell_now *dync__cell_known(dync__tracer *t, const dync_cell *cell)
{
    for (int i = 0; i < t->symbols.cell.n; i++)
        if (t->symbols.cell.at[i].cell == cell) return &t->symbols.cell.at[i];
    return NULL;
}

/* The cell's value of this call enters the trace; on a replayed way it is what the run so far found
 * there. */
static bool dync__cell_enter(dync__tracer *t, dync__cell *cell, dync__cell_now *now)
{
    dync__cache_entry *e = t->entry;
    int env = t->env.real.n;
    const dync__tensor *found = t->way->found(t, NULL);
    bool number = found && (found->flags & DYNC__T_NUMBER);
    dync_value plain = number ? dync__number_value(found) : cell->value;
    if (plain.kind == DYNC_KIND_BOOL) plain = dync_v_int(plain.as.b);
    dync__number *x = dync__number_input(t, plain, dync__number_tensor(plain), cell->name);
    if (!x) return false;
    x->arg = -1;
    x->cell = dync__cell_handle(cell);
    *now = (dync__cell_now){x->cell, dync__number_sym(x)};
    if (!t->on_tree) return true;
    int k = 0;
    while (k < e->cells.n && e->cells.at[k].cell != x->cell) k++;
    dync__cell_guard g = {.cell = x->cell, .id = cell->id, .kind = (uint8_t)cell->value.kind};
    if (k == e->cells.n && !dync__entry_push(e, &e->cells, g)) return false;
    if (!t->at) return true;
    dync__cell_use use = {env, k};
    return dync__avec_push(&e->arena, &t->at->cell, use);
}

/* false: nobody traces (any more), the cell is read as it is. A cell read twice in a call is one
 * symbol. */
DYNC__FN bool dync__trace_cell_get(struct dync__cell *cell, dync_value *result)
{
    dync__tracer *t = dync__tracer_current();
    if (!t || !dync__tls.compiling || t->stopped) return false;
    dync__cell_now *known = dync__cell_known(t, dync__cell_handle(cell)), now;
    *result = DYNC_NONE;
    if (!known && (!dync__cell_enter(t, cell, &now) || !dync__vec_push(&t->symbols.cell, now))) {
        dync__tracer_fail(t, DYNC_ERR_MEMORY);
        return true;
    }
    *result = known ? known->value : now.value;
    return true;
}

/* The last value of a call is written back after its segments. */
DYNC__FN bool dync__trace_cell_set(struct dync__cell *cell, dync_value v)
{
    dync__tracer *t = dync__tracer_current();
    if (!t || !dync__tls.compiling) return false;
    /* what comes after a failure, or before the trace begins again, is not done */
    if (t->stopped) return true;
    if (dync__value_is_sized(v)) v = dync__value_plain(v);
    dync__number *x = v.kind == DYNC_KIND_SYM ? dync__number_find(t, v.as.p) : NULL;
    if (!x && v.kind != DYNC_KIND_INT && v.kind != DYNC_KIND_FLOAT && v.kind != DYNC_KIND_BOOL)
        return dync__fail(DYNC_ERR_VALUE, "dync_cell_set: expected a number"), true;
    dync_cell *handle = dync__cell_handle(cell);
    dync__cell_now *known = dync__cell_known(t, handle), now = {handle, v};
    if (known)
        known->value = v;
    else if (!dync__vec_push(&t->symbols.cell, now))
        dync__tracer_fail(t, DYNC_ERR_MEMORY);
    dync__effect e = {
        .kind = DYNC__DO_CELL, .env = -1, .user = handle, .number = x ? DYNC_NONE : v};
    if (dync__effect_add(t, false, e, x ? x->fake : NULL) != DYNC_OK)
        dync__tracer_fail(t, DYNC_ERR_MEMORY);
    return true;
}
