/* op/arg.h: a call of an operator: its arguments, and what its outputs will be. Before op.h, which
 * says what operators there are. */
#ifndef DYNC__ARG_H
#define DYNC__ARG_H
#include "../runtime/runtime.h"

/* ---- arguments ------------------------------------------------------------------------------- */
typedef enum {
    DYNC__A_NONE,
    DYNC__A_TENSOR,
    DYNC__A_INT,
    DYNC__A_FLOAT,
    DYNC__A_BOOL,
    DYNC__A_DIMS,
    DYNC__A_DTYPE,
    DYNC__A_DEVICE,
    DYNC__A_STR,
    DYNC__A_LIST /* of args: tensor lists, nested values in graph outputs */,
    DYNC__A_HANDLE /* as it comes from an entry point: opened by dync__op_call */,
    DYNC__A_NODE /* in graphs, instead of a tensor */,
    DYNC__A_PTR,
    DYNC__A_GRAPH /* a function inside an operator: n is how many values it gives */
} dync__arg_kind;
typedef struct dync__arg {
    uint8_t kind;
    int n; /* DIMS, LIST: how many; NODE: 0 */
    union {
        dync__tensor *t;
        dync_tensor *h;
        int64_t i;
        double f;
        bool b;
        const int64_t *dims;
        const char *s;
        struct dync__arg *list;
        struct dync__node *node;
        struct dync__graph *graph;
        void *p;
    } as;
} dync__arg;
DYNC__INLINE dync__arg dync__arg_none(void)
{
    dync__arg a = {0};
    return a;
}
DYNC__INLINE dync__arg dync__arg_t(dync__tensor *t)
{
    dync__arg a = {0};
    a.kind = t ? DYNC__A_TENSOR : DYNC__A_NONE;
    a.as.t = t;
    return a;
}
DYNC__INLINE dync__arg dync__arg_h(dync_tensor *h)
{
    dync__arg a = {0};
    a.kind = DYNC__A_HANDLE;
    a.as.h = h;
    return a;
}
DYNC__INLINE dync__arg dync__arg_i(int64_t i)
{
    dync__arg a = {0};
    a.kind = DYNC__A_INT;
    a.as.i = i;
    return a;
}
DYNC__INLINE dync__arg dync__arg_f(double f)
{
    dync__arg a = {0};
    a.kind = DYNC__A_FLOAT;
    a.as.f = f;
    return a;
}
DYNC__INLINE dync__arg dync__arg_b(bool b)
{
    dync__arg a = {0};
    a.kind = DYNC__A_BOOL;
    a.as.i = b;
    return a;
}
DYNC__INLINE dync__arg dync__arg_dtype(int dt)
{
    dync__arg a = {0};
    a.kind = DYNC__A_DTYPE;
    a.as.i = dt;
    return a;
}
DYNC__INLINE dync__arg dync__arg_device(int dev)
{
    dync__arg a = {0};
    a.kind = DYNC__A_DEVICE;
    a.as.i = dev;
    return a;
}
DYNC__INLINE dync__arg dync__arg_s(const char *s)
{
    dync__arg a = {0};
    a.kind = DYNC__A_STR;
    a.as.s = s;
    return a;
}
DYNC__INLINE dync__arg dync__arg_dims(int n, const int64_t *d)
{
    dync__arg a = {0};
    a.kind = DYNC__A_DIMS;
    a.n = n;
    a.as.dims = d;
    return a;
}
/* tensor, int, float, bool, str, none; a list: LIST with n -1 and as.p the dync_list, which
 * dync__op_call opens; symbolic numbers: PTR */
DYNC__FN dync__arg dync__arg_value(dync_value v);
DYNC__INLINE bool dync__arg_is_number(const dync__arg *a)
{
    return a->kind == DYNC__A_INT || a->kind == DYNC__A_FLOAT || a->kind == DYNC__A_BOOL;
}
DYNC__FN double dync__arg_number(const dync__arg *);

/* ---- one call -------------------------------------------------------------------------------- */
enum { DYNC__MAX_OUT = 8, DYNC__MAX_ARGS = 16 };
/* of selu: expr.c and its gradient (Klambauer, Unterthiner, Mayr & Hochreiter 2017,
 * arXiv:1706.02515) */
#define DYNC__SELU_ALPHA 1.6732632423543772848170429916717
#define DYNC__SELU_SCALE 1.0507009873554804934193349852946
typedef struct dync__info { /* what an output will be */
    int dtype, device;
    dync__layout lay;
    /* argument whose storage it shares (views, in-place), -1 fresh */
    int alias;
    /* of a composite: a tensor of its own, though it may look as the argument does */
    bool view;
} dync__info;
/* what t is; alias as above */
DYNC__FN void dync__info_of(dync__info *out, const dync__tensor *t, int alias);
typedef struct dync__opcall {
    const struct dync__op_row *row;
    int op, nargs;
    dync__arg *args; /* tensors opened; borrowed */
    int nout;
    dync__tensor *out[DYNC__MAX_OUT]; /* set by the handler that answers: owned references */
    dync_loc at;
} dync__opcall;
#endif
