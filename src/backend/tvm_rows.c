/* backend/tvm_rows.c: which operators TVM is told, and how. After tvm_shapes.c, before tvm_code.c.
 *
 * Columns: the operator; which dtypes its arguments may have; the function that says it; the
 * function of TVM's (topi) or, of products, the einsum that it is said by. What stands in no row,
 * or asks for more than its row takes, is run by dync: dync__tvm_can tells so before the graph is
 * cut. */
#include "../dync.in.h"
#include "tvm.h"
DYNC__COLD

/* takes: f floats, the result one too; c floats, gives bool; b bools; m a mask and floats; v
 * anything */
static const dync__tvm_row dync__tvm_rows[] = {
    {DYNC__OP_acos, 'f', dync__tvm_unary, "topi.acos"},
    {DYNC__OP_asin, 'f', dync__tvm_unary, "topi.asin"},
    {DYNC__OP_atan, 'f', dync__tvm_unary, "topi.atan"},
    {DYNC__OP_cos, 'f', dync__tvm_unary, "topi.cos"},
    {DYNC__OP_cosh, 'f', dync__tvm_unary, "topi.cosh"},
    {DYNC__OP_erf, 'f', dync__tvm_unary, "topi.erf"},
    {DYNC__OP_exp, 'f', dync__tvm_unary, "topi.exp"},
    {DYNC__OP_log, 'f', dync__tvm_unary, "topi.log"},
    {DYNC__OP_log10, 'f', dync__tvm_unary, "topi.log10"},
    {DYNC__OP_log2, 'f', dync__tvm_unary, "topi.log2"},
    {DYNC__OP_neg, 'f', dync__tvm_unary, "topi.negative"},
    {DYNC__OP_rsqrt, 'f', dync__tvm_unary, "topi.rsqrt"},
    {DYNC__OP_sigmoid, 'f', dync__tvm_unary, "topi.sigmoid"},
    {DYNC__OP_sin, 'f', dync__tvm_unary, "topi.sin"},
    {DYNC__OP_sinh, 'f', dync__tvm_unary, "topi.sinh"},
    {DYNC__OP_sqrt, 'f', dync__tvm_unary, "topi.sqrt"},
    {DYNC__OP_tan, 'f', dync__tvm_unary, "topi.tan"},
    {DYNC__OP_tanh, 'f', dync__tvm_unary, "topi.tanh"},
    {DYNC__OP_abs, 'f', dync__tvm_leaky, NULL},
    {DYNC__OP_leaky_relu, 'f', dync__tvm_leaky, NULL},
    {DYNC__OP_relu, 'f', dync__tvm_relu, NULL},
    {DYNC__OP_square, 'f', dync__tvm_square, NULL},
    {DYNC__OP_reciprocal, 'f', dync__tvm_reciprocal, NULL},
    {DYNC__OP_silu, 'f', dync__tvm_silu, "topi.sigmoid"},
    {DYNC__OP_gelu, 'f', dync__tvm_gelu, "topi.erf"},
    {DYNC__OP_gelu_tanh, 'f', dync__tvm_gelu, "topi.tanh"},
    {DYNC__OP_add, 'f', dync__tvm_binary, "topi.add"},
    {DYNC__OP_sub, 'f', dync__tvm_binary, "topi.subtract"},
    {DYNC__OP_mul, 'f', dync__tvm_binary, "topi.multiply"},
    {DYNC__OP_div, 'f', dync__tvm_binary, "topi.divide"},
    {DYNC__OP_maximum, 'f', dync__tvm_extreme, "topi.less"},
    {DYNC__OP_minimum, 'f', dync__tvm_extreme, "topi.greater"},
    {DYNC__OP_eq, 'c', dync__tvm_compare, "topi.equal"},
    {DYNC__OP_ne, 'c', dync__tvm_compare, "topi.not_equal"},
    {DYNC__OP_lt, 'c', dync__tvm_compare, "topi.less"},
    {DYNC__OP_le, 'c', dync__tvm_compare, "topi.less_equal"},
    {DYNC__OP_gt, 'c', dync__tvm_compare, "topi.greater"},
    {DYNC__OP_ge, 'c', dync__tvm_compare, "topi.greater_equal"},
    {DYNC__OP_logical_and, 'b', dync__tvm_logical, "topi.logical_and"},
    {DYNC__OP_logical_or, 'b', dync__tvm_logical, "topi.logical_or"},
    {DYNC__OP_logical_not, 'b', dync__tvm_logical, "topi.logical_not"},
    {DYNC__OP_where, 'm', dync__tvm_select, NULL},
    {DYNC__OP_masked_fill, 'm', dync__tvm_select, NULL},
    {DYNC__OP_sigmoid_backward, 'f', dync__tvm_slope, NULL},
    {DYNC__OP_tanh_backward, 'f', dync__tvm_slope, NULL},
    {DYNC__OP_threshold_backward, 'f', dync__tvm_threshold, NULL},
    {DYNC__OP_clone, 'v', dync__tvm_as_it_is, NULL},
    {DYNC__OP__clone_contiguous, 'v', dync__tvm_as_it_is, NULL},
    {DYNC__OP_alias, 'v', dync__tvm_as_it_is, NULL},
    {DYNC__OP_detach, 'v', dync__tvm_as_it_is, NULL},
    {DYNC__OP_to_dtype, 'm', dync__tvm_as_it_is, NULL},
    {DYNC__OP_full, 'f', dync__tvm_fill, NULL},
    {DYNC__OP_ones, 'f', dync__tvm_fill, NULL},
    {DYNC__OP_zeros, 'f', dync__tvm_fill, NULL},
    {DYNC__OP_ones_like, 'f', dync__tvm_fill, NULL},
    {DYNC__OP_zeros_like, 'f', dync__tvm_fill, NULL},
    {DYNC__OP_sum, 'f', dync__tvm_reduce, "topi.sum"},
    {DYNC__OP_mean, 'f', dync__tvm_reduce, "topi.sum"},
    {DYNC__OP_amax, 'f', dync__tvm_largest, "topi.max"},
    {DYNC__OP_amin, 'f', dync__tvm_largest, "topi.min"},
    {DYNC__OP_var, 'f', dync__tvm_var, NULL},
    {DYNC__OP_std, 'f', dync__tvm_var, "topi.sqrt"},
    {DYNC__OP_softmax, 'f', dync__tvm_softmax, "topi.nn.softmax"},
    {DYNC__OP_log_softmax, 'f', dync__tvm_softmax, "topi.nn.log_softmax"},
    {DYNC__OP_native_layer_norm, 'f', dync__tvm_norm, "topi.rsqrt"},
    {DYNC__OP_mm, 'f', dync__tvm_matmul, "ij,jk->ik"},
    {DYNC__OP_addmm, 'f', dync__tvm_matmul, "ij,jk->ik"},
    {DYNC__OP_bmm, 'f', dync__tvm_matmul, "bij,bjk->bik"},
    {DYNC__OP_mv, 'f', dync__tvm_matmul, "ij,j->i"},
    {DYNC__OP_convolution, 'f', dync__tvm_conv, NULL},
    {DYNC__OP_view, 'v', dync__tvm_view, NULL},
    {DYNC__OP_squeeze, 'v', dync__tvm_view, NULL},
    {DYNC__OP_squeeze_all, 'v', dync__tvm_view, NULL},
    {DYNC__OP_unsqueeze, 'v', dync__tvm_view, NULL},
    {DYNC__OP_expand, 'v', dync__tvm_expand, NULL},
    {DYNC__OP_permute, 'v', dync__tvm_permute, "topi.transpose"},
    {DYNC__OP_transpose, 'v', dync__tvm_permute, "topi.transpose"},
    {DYNC__OP_t, 'v', dync__tvm_permute, "topi.transpose"},
    {DYNC__OP_slice, 'v', dync__tvm_slice, "topi.strided_slice"},
    {DYNC__OP_select, 'v', dync__tvm_slice, "topi.strided_slice"},
    {DYNC__OP_cat, 'v', dync__tvm_cat, "topi.concatenate"},
};

/* NULL: there is none. */
static const dync__tvm_row *dync__tvm_row_of(int op)
{
    for (int i = 0; op >= 0 && i < DYNC__COUNT_OF(dync__tvm_rows); i++)
        if (dync__tvm_rows[i].op == op) return &dync__tvm_rows[i];
    return NULL;
}

/* ---- what a row takes ------------------------------------------------------------------------ */

static bool dync__tvm_is_float(int dtype) { return dtype == DYNC_F32 || dtype == DYNC_F64; }

/* A tensor with elements in main memory, of a dtype that TVM is given. */
static const char *dync__tvm_tensor_why(const dync__info *info)
{
    int64_t numel = 1;
    if (!dync__tvm_is_float(info->dtype) && info->dtype != DYNC_BOOL)
        return dync__dtype_info(info->dtype)->name;
    if (!dync__device_is(info->device, DYNC__DEV_HOST)) return "not on the CPU";
    if (dync__layout_has_tokens(&info->lay)) return "symbolic sizes";
    for (int d = 0; d < info->lay.ndim; d++) numel *= info->lay.shape[d];
    return numel ? NULL : "empty";
}

/* NULL: the row takes them; otherwise a word for the log. */
static const char *dync__tvm_dtypes_why(const dync__node *n, const dync__tvm_row *r)
{
    int first = -1;
    for (int i = 0; i < n->nargs; i++) {
        const dync__arg *list = n->args[i].kind == DYNC__A_LIST ? n->args[i].as.list : &n->args[i];
        int count = n->args[i].kind == DYNC__A_LIST ? n->args[i].n : 1;
        for (int k = 0; k < count; k++) {
            if (list[k].kind != DYNC__A_NODE) continue;
            const dync__info *info = dync__tvm_info(&list[k]);
            const char *why = dync__tvm_tensor_why(info);
            if (why) return why;
            bool is_float = dync__tvm_is_float(info->dtype);
            if ((r->takes == 'f' || r->takes == 'c') && !is_float) return "bool";
            if (r->takes == 'b' && is_float) return "a number as a condition";
            if (first >= 0 && info->dtype != first && (r->takes == 'c' || r->takes == 'v'))
                return "several dtypes";
            first = info->dtype;
        }
    }
    for (int i = 0; i < n->nout; i++) {
        const char *why = dync__tvm_tensor_why(&n->info[i]);
        if (why) return why;
    }
    bool is_float = dync__tvm_is_float(n->info[0].dtype);
    return (r->takes == 'f' || r->takes == 'm') && !is_float ? "no float" : NULL;
}

/* What a row cannot take beyond dtypes. */
static const char *dync__tvm_args_why(const dync__node *n)
{
    const dync__arg *a = n->args;
    switch (n->op) {
    case DYNC__OP_convolution:
        for (int d = 0; d < a[5].n; d++)
            if (a[5].as.dims[d] != 1) return "dilated";
        if (a[6].as.b) return "transposed";
        return n->info[0].lay.ndim != 3 && n->info[0].lay.ndim != 4 ? "3-D" : NULL;
    case DYNC__OP_log_softmax: {
        int ndim = n->info[0].lay.ndim;
        int64_t dim = a[1].as.i < 0 ? a[1].as.i + ndim : a[1].as.i;
        return ndim != 2 || dim != 1 ? "not over rows" : NULL;
    }
    case DYNC__OP_softmax: return n->info[0].lay.ndim == 0 ? "a number" : NULL;
    case DYNC__OP_cat: return a[0].n > 16 ? "more than 16 tensors" : NULL;
    case DYNC__OP_where: return dync__tvm_info(&a[0])->dtype == DYNC_BOOL ? NULL : "no condition";
    case DYNC__OP_masked_fill:
        return dync__tvm_info(&a[1])->dtype == DYNC_BOOL ? NULL : "no condition";
    case DYNC__OP_slice: return a[4].as.i < 1 ? "backwards" : NULL;
    case DYNC__OP_var:
    case DYNC__OP_std:
    case DYNC__OP_sum:
    case DYNC__OP_mean:
    case DYNC__OP_amax:
    case DYNC__OP_amin: {
        const dync__layout *lay = &dync__tvm_info(&a[0])->lay;
        int64_t count = 1;
        if (lay->ndim == 0) return "of a number";
        for (int i = 0; i < (a[1].n ? a[1].n : lay->ndim); i++)
            count *= lay->shape[!a[1].n               ? i
                                : a[1].as.dims[i] < 0 ? a[1].as.dims[i] + lay->ndim
                                                      : a[1].as.dims[i]];
        bool var = n->op == DYNC__OP_var || n->op == DYNC__OP_std;
        return var && count <= a[2].as.i ? "of too few" : NULL;
    }
    default: return NULL;
    }
}

/* *why: NULL where it can. */
DYNC__FN bool dync__tvm_can(const dync__node *n, const char **why)
{
    if (n->op == DYNC__NODE_GETITEM) n = n->args[0].as.node;
    const dync__tvm_row *r = n->kind == DYNC__N_CALL_FUNCTION || n->kind == DYNC__N_CALL_METHOD
                                 ? dync__tvm_row_of(n->op)
                                 : NULL;
    *why = !r ? "no row" : dync__tvm_dtypes_why(n, r);
    if (!*why) *why = dync__tvm_args_why(n);
    /* a call of numbers alone has no tensor to begin from, but that it makes one */
    if (!*why && r->say == dync__tvm_binary && n->args[0].kind != DYNC__A_NODE &&
        n->args[1].kind != DYNC__A_NODE)
        *why = "numbers alone";
    return !*why;
}

/* The value, or values, of the node go into p. Items (getitem) are no operators and are skipped. */
DYNC__FN void dync__tvm_say(dync__tvm_part *p, const dync__node *n)
{
    const dync__tvm_row *r = dync__tvm_row_of(n->op);
    if (r) p->value[n->index][0] = r->say(p, n, r);
}
