/* op/args.c: arguments of operator calls: from public values, as numbers. After op.h, before
 * infer.c. */
#include "../dync.in.h"
#include "rows.h"
DYNC__WARM

DYNC__FN void dync__info_of(dync__info *out, const dync__tensor *t, int alias)
{
    *out = (dync__info){.dtype = t->dtype, .device = t->device, .lay = t->lay, .alias = alias};
}

/* Takes no reference: what v holds must outlive the call. A handle is not opened here
 * (dync__op_call does, which can fail). Symbolic numbers: one made from a size is its token as an
 * int, one that is a real number its token as a double, anything else passes as a pointer. Kinds
 * that no operator takes become none. */
DYNC__OFTEN DYNC__FN dync__arg dync__arg_value(dync_value v)
{
    dync__arg a = {0};
    switch (v.kind) {
    case DYNC_KIND_TENSOR: return dync__arg_h(v.as.t);
    case DYNC_KIND_BOOL: return dync__arg_b(v.as.b);
    case DYNC_KIND_INT: return dync__arg_i(v.as.i);
    case DYNC_KIND_FLOAT: return dync__arg_f(v.as.f);
    case DYNC_KIND_STR: return dync__arg_s(v.as.s);
    case DYNC_KIND_LIST:
        a.kind = DYNC__A_LIST;
        a.n = -1;
        a.as.p = v.as.l;
        return a;
    case DYNC_KIND_SYM:
        if (v.source == DYNC__SYM_SIZE) return dync__arg_i(v.as.i);
        if (v.source == DYNC__SYM_REAL) return dync__arg_f(v.as.f);
        a.kind = DYNC__A_PTR;
        a.as.p = v.as.p;
        return a;
    case DYNC_KIND_NONE:
    case DYNC_KIND_MODULE:
    case DYNC_KIND_NODE:
    case DYNC_KIND_GRAPH:
    case DYNC_KIND_PTR: break;
    }
    return a;
}

/* A token for a symbolic float is a NaN with a payload: arithmetic of the C program on it loses the
 * number. Such a NaN is an error here and not a value. */
DYNC__FN dync_status dync__opcall_numbers(const dync__opcall *c)
{
    for (int i = 0; i < c->nargs; i++)
        if (c->args[i].kind == DYNC__A_FLOAT) DYNC__TRY(dync__sf_check(c->args[i].as.f));
    return DYNC_OK;
}

/* A symbolic number is specialised to the value it has now, by a guard. */
DYNC__FN double dync__arg_number(const dync__arg *a)
{
    return a->kind == DYNC__A_FLOAT
               ? dync__sf_number(a->as.f)
               : (double)(dync__is_token(a->as.i) ? dync__sz_number(a->as.i) : a->as.i);
}

/* Lists within lists do not occur. out is borrowed. */
DYNC__FN int dync__opcall_tensors(const dync__opcall *call, dync__tensor **out, int cap)
{
    int n = 0;
    for (int i = 0; i < call->nargs; i++) {
        const dync__arg *a = &call->args[i];
        if (a->kind == DYNC__A_TENSOR) {
            if (n < cap) out[n] = a->as.t;
            n++;
        } else if (a->kind == DYNC__A_LIST) {
            for (int j = 0; j < a->n; j++) {
                if (a->as.list[j].kind != DYNC__A_TENSOR) continue;
                if (n < cap) out[n] = a->as.list[j].as.t;
                n++;
            }
        }
    }
    return n;
}

/* ---- operators of two values, called inside the library -------------------------------------- */

#define DYNC__OF_TWO(types, X, Y, x_value, y_value)                                      \
    DYNC__FN dync_tensor *dync__op_##types(const dync__row *op, X x, Y y)                \
    {                                                                                    \
        return dync__op_1VV(op, dync_v_##x_value(x), dync_v_##y_value(y), dync__tls.at); \
    }
DYNC__OF_TWO(tt, dync_tensor *, dync_tensor *, tensor, tensor)
DYNC__OF_TWO(tf, dync_tensor *, double, tensor, float)
DYNC__OF_TWO(ti, dync_tensor *, int64_t, tensor, int)
DYNC__OF_TWO(tv, dync_tensor *, dync_value, tensor, value)
DYNC__OF_TWO(ft, double, dync_tensor *, float, tensor)
DYNC__OF_TWO(it, int64_t, dync_tensor *, int, tensor)
DYNC__OF_TWO(iv, int64_t, dync_value, int, value)
DYNC__OF_TWO(vi, dync_value, int64_t, value, int)
DYNC__OF_TWO(vt, dync_value, dync_tensor *, value, tensor)
DYNC__OF_TWO(vv, dync_value, dync_value, value, value)
#undef DYNC__OF_TWO
