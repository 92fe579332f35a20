/* op/args.c: arguments of operator calls: from public values, as numbers, as text. After op.h, before infer.c. */
#include "../dync.in.h"
#include "rows.h"

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
        a.kind = DYNC__A_PTR;
        a.as.p = v.as.p;
        return a;
    case DYNC_KIND_NONE:
    case DYNC_KIND_MODULE:
    case DYNC_KIND_PTR: break;
    }
    return a;
}

DYNC__FN double dync__arg_number(const dync__arg *a)
{
    return a->kind == DYNC__A_FLOAT ? dync__sf_number(a->as.f) : (double)(dync__is_token(a->as.i) ? dync__sz_number(a->as.i) : a->as.i);
}

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

/* ---- text ------------------------------------------------------------------------------------------------------------ */

static void dync__args_text(dync__str *s, const dync__arg *a)
{
    switch ((dync__arg_kind)a->kind) {
    case DYNC__A_TENSOR: dync__tensor_brief(s, a->as.t); break;
    case DYNC__A_INT: dync__str_addf(s, "%lld", (long long)a->as.i); break;
    case DYNC__A_FLOAT: dync__str_addf(s, "%g", a->as.f); break;
    case DYNC__A_BOOL: dync__str_add(s, a->as.i ? "true" : "false"); break;
    case DYNC__A_DIMS: dync__shape_text(s, a->n, a->as.dims); break;
    case DYNC__A_DTYPE: dync__str_add(s, dync__dtype_info((int)a->as.i)->name); break;
    case DYNC__A_DEVICE: dync__str_addf(s, "device %d", (int)a->as.i); break;
    case DYNC__A_STR: dync__str_addf(s, "\"%s\"", a->as.s ? a->as.s : ""); break;
    case DYNC__A_LIST:
        dync__str_addc(s, '[');
        for (int i = 0; i < a->n; i++) {
            if (i) dync__str_add(s, ", ");
            dync__args_text(s, &a->as.list[i]);
        }
        dync__str_addc(s, ']');
        break;
    case DYNC__A_NONE: dync__str_add(s, "none"); break;
    case DYNC__A_HANDLE:
    case DYNC__A_NODE:
    case DYNC__A_PTR: dync__str_add(s, "value"); break;
    }
}

DYNC__FN void dync__opcall_text(dync__str *s, const dync__opcall *call)
{
    dync__str_addf(s, "%s: ", call->row->name);
    for (int i = 0; i < call->nargs; i++) {
        if (i) dync__str_add(s, ", ");
        dync__args_text(s, &call->args[i]);
    }
}
