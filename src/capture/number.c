/* capture/number.c: numbers as tensors, the places where operators take them at run time, cells,
 * and which symbol of a trace a value is. After value.c; symbol.c makes symbols. */
#include "../dync.in.h"
#include "trace.h"
#include "../graph/text.h"
DYNC__COLD

DYNC__FN dync__tensor *dync__number_tensor(dync_value v)
{
    dync__layout lay = {.ndim = 0};
    bool is_float = v.kind == DYNC_KIND_FLOAT;
    dync__tensor *t =
        dync__tensor_empty(is_float ? (int)DYNC__REAL : (int)DYNC_I64, DYNC_CPU, &lay);
    if (!t) return NULL;
    if (is_float)
        memcpy(t->storage->data, &v.as.f, sizeof v.as.f);
    else
        memcpy(t->storage->data, &v.as.i, sizeof v.as.i);
    t->flags |= DYNC__T_NUMBER;
    return t;
}

DYNC__FN dync_value dync__number_value(const dync__tensor *t)
{
    const void *p = dync__tensor_data(t);
    return t->dtype == DYNC__REAL ? dync_v_float((dync_real)dync__load_f64(p, DYNC__REAL))
                                  : dync_v_int(dync__load_i64(p, DYNC_I64));
}

/* Is argument i of the function named in .symbolic? */
DYNC__FN bool dync__number_named(const dync__compiled *f, int i)
{
    char name[24];
    const char *p = f->args, *own = name;
    size_t n = 0;
    if (!f->symbolic) return false;
    for (int k = 0; p && k <= i; k++) {
        p += strspn(p, " ,");
        n = strcspn(p, " ,");
        own = p;
        if (!n)
            p = NULL;
        else if (k < i)
            p += n;
    }
    if (!p) {
        n = (size_t)dync__format(name, sizeof name, "arg%d", i);
        own = name;
    }
    for (const char *s = f->symbolic; *s;) {
        s += strspn(s, " ,");
        size_t k = strcspn(s, " ,");
        if (k == n && k && memcmp(s, own, n) == 0) return true;
        s += k;
    }
    return false;
}

/* May a number there be one of run time? */
DYNC__FN bool dync__number_place(int op, int arg)
{
    const dync__op_row *row = dync__op_info(op);
    dync__param param;
    if (row->cls == DYNC__INPLACE && row->inplace_of >= 0) row = dync__op_info(row->inplace_of);
    bool value = dync__schema_param(dync__op_info(op)->schema, arg, &param) &&
                 (param.type == DYNC__PARAM_VALUE || param.type == DYNC__PARAM_VALUE_OPT);
    return value && row->cls == DYNC__POINTWISE && !(row->flags & DYNC__OP_FIXED_NUMBERS);
}

/* ---- cells that an entry reads --------------------------------------------------------------- */
static bool dync__cells_hold_all(const dync__cache_entry *e)
{
    for (int i = 0; i < dync__entry_count(&e->cells); i++) {
        const dync__cell_guard *g = dync__entry_item(&e->cells, i);
        const dync__cell *cell = dync__cell_peek(g->cell);
        if (!cell) return false;
        const dync_value *v = &cell->value;
        if ((uint8_t)v->kind != g->kind) return false;
        if (DYNC__ATOMIC_PEEK(&g->fixed) &&
            (g->kind == DYNC_KIND_FLOAT ? memcmp(&v->as.f, &g->value.as.f, sizeof v->as.f) != 0
                                        : dync_as_int(*v) != dync_as_int(g->value)))
            return false;
    }
    return true;
}

/* Cells that enter at a node of the tree. */
static dync_status dync__cells_enter_all(const dync__cache_entry *e, const dync__tnode *n,
                                         dync__tensor **env)
{
    for (int i = 0; i < n->cell.n; i++) {
        const dync__cell *cell =
            dync__cell_open(dync__entry_item(&e->cells, n->cell.at[i].index)->cell, "dync_call");
        if (!cell) return DYNC_ERR_VALUE;
        dync_value v = cell->value;
        if (v.kind == DYNC_KIND_BOOL) v = dync_v_int(v.as.b);
        dync__tensor *x = dync__number_tensor(v);
        if (!x) return DYNC_ERR_MEMORY;
        dync__unref(env[n->cell.at[i].env]);
        env[n->cell.at[i].env] = x;
    }
    return DYNC_OK;
}

/* Who makes a cell puts these in place (hook_trace.c): no entry has any before. */
static bool (*DYNC__BY_NEED dync__cells_hold_used)(const dync__cache_entry *) =
    DYNC__AT_FIRST(dync__cells_hold_all);
static dync_status (*DYNC__BY_NEED dync__cells_enter_used)(
    const dync__cache_entry *, const dync__tnode *,
    dync__tensor **env) = DYNC__AT_FIRST(dync__cells_enter_all);
DYNC__FN void dync__cells_use(void)
{
    DYNC__PUT(dync__cells_hold_used, dync__cells_hold_all);
    DYNC__PUT(dync__cells_enter_used, dync__cells_enter_all);
}
DYNC__FN bool dync__cells_hold(const dync__cache_entry *e)
{
    return !dync__cells_hold_used || dync__cells_hold_used(e);
}
DYNC__FN dync_status dync__cells_enter(const dync__cache_entry *e, const dync__tnode *n,
                                       dync__tensor **env)
{
    return dync__cells_enter_used ? dync__cells_enter_used(e, n, env) : DYNC_OK;
}

/* ---- of a trace ------------------------------------------------------------------------------ */
/* The trace that a symbol belongs to has it; anything else is no symbol. */
DYNC__FN int dync__number_index(const dync__tracer *t, const void *p)
{
    for (int i = 0; p && t && i < t->symbols.number.n; i++)
        if (t->symbols.number.at[i] == p) return i;
    return -1;
}

DYNC__FN dync__number *dync__number_find(const dync__tracer *t, const void *p)
{
    int i = dync__number_index(t, p);
    return i < 0 ? NULL : t->symbols.number.at[i];
}

DYNC__FN dync_value dync__number_plain(const dync__number *x) { return x->plain; }

DYNC__FN dync__tensor *dync__number_fake_of(const dync__tracer *t, const void *symbol)
{
    dync__number *x = dync__number_find(t, symbol);
    return x ? x->fake : NULL;
}

DYNC__FN const char *dync__number_text(const dync__tracer *t, const dync__tensor *fake,
                                       dync_value *plain, const char **source, bool *cell)
{
    for (int i = 0; i < t->symbols.number.n; i++)
        if (t->symbols.number.at[i]->fake == fake) {
            *plain = t->symbols.number.at[i]->plain;
            *source = t->symbols.number.at[i]->source;
            *cell = t->symbols.number.at[i]->cell != NULL;
            return t->symbols.number.at[i]->text;
        }
    return NULL;
}
