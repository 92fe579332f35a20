/* capture/data.c: what data decide and stays in the graph: sizes of results (dync_nonzero and its
 * kin, under .capture_dynamic_shapes) and elements as numbers (dync_item_sym, under
 * .capture_scalars). After break.c, before handler.c.
 *
 * A size is a symbol of the trace's table that nothing tells (tensor/sym_data.c). An integer is
 * one, too: the node that reads it gives a tensor without elements worth reading whose size is the
 * integer, moved by DYNC__ITEM_BASE, so that whatever knows sizes of tensors knows it. A float is a
 * number of the graph (symbol.c). Who runs a graph meets the values at the nodes that give them. */
#include "../dync.in.h"
#include "trace.h"
DYNC__COLD

/* ---- results whose size data decide ---------------------------------------------------------- */
static bool dync__data_room(const dync__tracer *t)
{
    return !DYNC__SYM_NONE && t->symbols.sizes && !t->inferring &&
           t->symbols.sizes->symbol.n < DYNC__MAX_SYMBOLS - 1;
}

/* Does the operator stay in the graph? */
DYNC__FN bool dync__data_stays(const dync__tracer *t, const dync__opcall *c)
{
    if (!dync__data_room(t)) return false;
    if (dync__op_is_item(c->op) || dync__op_is_range(c->op)) return true;
    return t->fn->opt.capture_dynamic_shapes && dync__op_is_counted(c->op) &&
           !dync__op_is_nms(c->op); /* a break */
}

/* The next symbol that data decide, 0 to most (where that is a number). -1: no memory. */
static int64_t dync__data_symbol(dync__tracer *t, int64_t least, int64_t most)
{
    int64_t size = dync__symtab_data(t->symbols.sizes, t->symbols.n_data++, least,
                                     dync__is_token(most) ? DYNC__SZ_MOST : most);
    if (size < 0) dync__fail_memory(0);
    return size;
}

/* The result without data. */
static dync_status dync__data_fake(dync__tracer *t, dync__opcall *c)
{
    int64_t least, most, size;
    dync__info info;
    DYNC__TRY(dync__data_range(c, &least, &most));
    if ((size = dync__data_symbol(t, least, most)) < 0) return DYNC_ERR_MEMORY;
    DYNC__TRY(dync__data_type(c, size, &info));
    c->out[0] = dync__tensor_fake(info.dtype, info.device, &info.lay);
    c->nout = c->out[0] != NULL;
    return c->nout ? DYNC_OK : DYNC_ERR_MEMORY;
}

/* The tensor that tells a symbol is kept: it leaves the graph at every break. */
DYNC__FN dync_status dync__data_record(dync__tracer *t, dync__opcall *c)
{
    bool gives = !dync__op_is_range(c->op);
    c->nout = 0;
    /* what follows is not the same for the next call */
    dync__script_stop(t);
    DYNC__TRY(gives ? dync__data_fake(t, c) : DYNC_OK);
    dync_status status = dync__tracer_record(t, c);
    if (status != DYNC_OK || !gives) return status;
    if (!dync__vec_push(&t->symbols.data, c->out[0])) return DYNC_ERR_MEMORY;
    dync__ref(c->out[0]);
    dync__node *n = c->out[0]->node;
    if (!dync__op_is_item(c->op)) return DYNC_OK;
    n->sym = dync__arena_printf(&t->rec.graph->arena, "u%d", t->symbols.n_data - 1);
    return n->sym && dync__graph_rename(t->rec.graph, n, "item") ? DYNC_OK : DYNC_ERR_MEMORY;
}

DYNC__FN dync_status dync__data_sizes(dync__opcall *c)
{
    uint64_t errors = dync__error_count();
    for (int i = 0; i < c->nout; i++)
        for (int d = 0; c->out[i] && d < c->out[i]->lay.ndim; d++)
            if (dync__is_token(c->out[i]->lay.shape[d]) &&
                dync__sz_is_unbacked(dync__tls.syms, c->out[i]->lay.shape[d]))
                (void)dync__sz_size(c->out[i]->lay.shape[d]);
    return dync__error_count() == errors ? DYNC_OK : dync_error();
}

DYNC__OFTEN DYNC__FN void dync__data_close(dync__tracer *t)
{
    for (int i = 0; i < t->symbols.data.n; i++) dync__unref(t->symbols.data.at[i]);
    dync__vec_free(&t->symbols.data);
}

/* ---- elements as numbers --------------------------------------------------------------------- */
static dync_value dync__item_plain(dync_tensor *x)
{
    const dync__tensor *t = dync__peek(x);
    bool floats = !t || dync__dtype_info(t->dtype)->kind == 'f';
    double v = (dync_item)(x);
    return floats ? dync_v_float(v) : dync_v_int(dync__load_i64(&v, DYNC_F64));
}

DYNC_API dync_value(dync_item_sym)(dync_tensor *x)
{
    dync__tracer *t = dync__tracing_or_replay();
    dync_value none = {DYNC_KIND_NONE, 0, {0}};
    dync__tensor *of = dync__open(x);
    if (!of) return none;
    if (!t || !t->fn->opt.capture_scalars || !dync__data_room(t)) return dync__item_plain(x);
    if (!(t = dync__tracing()) || t->stopped) return none;
    uint64_t errors = dync__error_count();
    if (!(of = dync__tracer_adopt(t, of))) {
        dync__tracer_fail(t, dync__error_count() != errors ? dync_error() : dync__fail_memory(0));
        return none;
    }
    if (dync__tls.at.file) t->last_at = dync__tls.at;
    if (of->numel != 1) {
        dync__fail(DYNC_ERR_VALUE,
                   "a Tensor with %lld elements cannot be converted to Scalar: select one",
                   (long long)dync__sz_hint(of->numel));
        return none;
    }
    if (dync__dtype_info(of->dtype)->kind == 'f') return dync__number_item(t, of);
    dync__arg arg = dync__arg_h(x);
    dync__tensor *y =
        dync__peek(dync__op_call(DYNC__OP__local_scalar_dense, 1, &arg, dync__tls.at));
    return y ? dync__value_of_size(dync__sz_sub(y->lay.shape[0], DYNC__ITEM_BASE)) : none;
}

/* The symbol that a size is; -1: it is none. */
static int dync__data_bare(const dync__symtab *s, int64_t size)
{
    const dync__sz_expr *e = dync__is_token(size) ? dync__symtab_find(s, size) : NULL;
    return e && e->kind == DYNC__SZ_SYMBOL && s->symbol.at[e->symbol].data ? e->symbol : -1;
}

static dync_status dync__check_failed(dync_value n, int64_t least, int64_t most)
{
    return dync__fail(DYNC_ERR_VALUE, "dync_check: expected a number from %lld to %lld, got %.17g",
                      (long long)least, (long long)most,
                      dync__float_shown(n.kind == DYNC_KIND_INT ? (double)n.as.i : n.as.f));
}

/* Nothing tells it yet: the graph checks, and what follows may rely on it. */
static dync_status dync__check_data(dync__symtab *s, int64_t size, int64_t least, int64_t most)
{
    dync__arg args[3] = {dync__arg_i(size), dync__arg_i(least), dync__arg_i(most)};
    int symbol = dync__data_bare(s, size);
    uint64_t errors = dync__error_count();
    dync__op_call(DYNC__OP__check_range, 3, args, dync__tls.at);
    if (dync__error_count() != errors) return dync_error();
    if (symbol >= 0 && !dync__symtab_within(s, symbol, least, most))
        return dync__fail(DYNC_ERR_VALUE,
                          "dync_check: no number is from %lld to %lld that earlier checks let pass",
                          (long long)least, (long long)most);
    return DYNC_OK;
}

DYNC_API dync_status(dync_check)(dync_value n, int64_t least, int64_t most)
{
    dync__symtab *s = dync__tls.syms;
    bool sized = dync__value_is_sized(n) && n.source == DYNC__SYM_SIZE && s;
    if (least > most)
        return dync__fail(DYNC_ERR_VALUE, "dync_check: expected least <= most, got %lld and %lld",
                          (long long)least, (long long)most);
    if (sized && dync__sz_is_unbacked(s, n.as.i)) return dync__check_data(s, n.as.i, least, most);
    if (sized) {
        if (!dync__sz_lt(n.as.i, least) && !dync__sz_lt(most, n.as.i)) return DYNC_OK;
        return dync__check_failed(dync_v_int(dync__sz_hint(n.as.i)), least, most);
    }
    n = dync__value_plain(n);
    if (n.kind == DYNC_KIND_BOOL) n = dync_v_int(n.as.b);
    if (n.kind == DYNC_KIND_INT && n.as.i >= least && n.as.i <= most) return DYNC_OK;
    if (n.kind == DYNC_KIND_FLOAT && n.as.f >= (double)least && n.as.f <= (double)most)
        return DYNC_OK;
    if (n.kind == DYNC_KIND_INT || n.kind == DYNC_KIND_FLOAT)
        return dync__check_failed(n, least, most);
    return dync__fail(DYNC_ERR_VALUE, "dync_check: expected a number, got %s",
                      dync__kind_name(n.kind));
}
