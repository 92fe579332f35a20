/* program/csource_calls.c: kernel calls as plain C: those that order elements or place them by an
 * index, and the table of all. After csource_kernels.c; csource_steps.c asks. */
#include "../dync.in.h"
#include "csource.h"
DYNC__COLD

/* ---- places given by an index ---------------------------------------------------------------- */

static const char *const dync__csource_loops[] = {"i0", "i1", "i2", "i3", "i4", "i5", "i6", "i7"};

/* *y = x or *y += alpha * x of this dtype, by names of the two */
static dync_status dync__csource_put(dync__str *s, const dync__kcall *call, const char *y,
                                     const char *x)
{
    int dtype = call->operand[3].dtype, kind = dync__dtype_info(dtype)->kind;
    const char *type = dync__dtype_c_type(dtype);
    double alpha = dync__kcall_is(call, DYNC__K_index_add) ? call->attr.scatter.alpha : 1;
    char scale[48];
    if (dync__kcall_is(call, DYNC__K_scatter))
        return dync__str_addf(s, "%s = %s;\n", y, x), DYNC_OK;
    if (dtype == DYNC_F16 || dtype == DYNC_BF16)
        return dync__csource_refuse(call, "has no form for half precision; it has one for F32");
    if (kind == 'f') {
        dync__double_text(alpha, scale, sizeof scale);
        if (alpha == 1)
            dync__str_addf(s, "%s += %s;\n", y, x);
        else
            dync__str_addf(s, "%s += (%s)%s * %s;\n", y, type, scale, x);
    } else if (dtype == DYNC_BOOL) {
        dync__str_addf(s, alpha != 0 ? "%s |= %s != 0;\n" : "(void)%s, (void)%s;\n", y, x);
    } else {
        dync__str_addf(s, "%s = (%s)((uint64_t)%s + (uint64_t)%lld * (uint64_t)%s);\n", y, type, y,
                       (long long)alpha, x);
    }
    return DYNC_OK;
}

/* y = b, unless b is written in place. */
static void dync__csource_base(dync__str *s, const dync__kcall *call)
{
    const dync__operand *b = &call->operand[0], *o = &call->operand[3];
    const dync__layout *y = &o->lay;
    const char *var[DYNC_MAX_DIMS];
    int depth = 1;
    bool in_place = b->slot == o->slot && b->dtype == o->dtype && b->lay.offset == y->offset;
    for (int d = 0; d < y->ndim; d++)
        in_place = in_place && (y->shape[d] == 1 || b->lay.stride[d] == y->stride[d]);
    if (in_place) {
        dync__str_add(s, "    (void)b;\n");
        return;
    }
    for (int d = 0; d < y->ndim; d++) {
        var[d] = dync__sz_eq(y->shape[d], 1) ? NULL : dync__csource_loops[d];
        depth = dync__csource_for(s, depth, dync__csource_loops[d], y->shape[d]);
    }
    dync__str_addf(s, "%*s", 4 * depth, "");
    dync__csource_at(s, 'y', o, y->ndim, y->stride, var);
    dync__str_add(s, " = ");
    dync__csource_at(s, 'b', b, y->ndim, b->lay.stride, var);
    dync__str_add(s, ";\n");
}

/* b base, i index, x source, y out. y = b, then for each place of the index (index_add: of the
 * source) in order: y[.., index, ..] = or += x. Nobody is told of an index outside: nothing is
 * written. */
static dync_status dync__csource_scatter(dync__str *s, const dync__kcall *call, const char *name)
{
    const dync__operand *o = call->operand;
    bool slices = dync__kcall_is(call, DYNC__K_index_add);
    const dync__layout *walk = slices ? &o[2].lay : &o[1].lay, *y = &o[3].lay;
    int dim = (int)call->attr.scatter.dim, depth = 1;
    const char *var[DYNC_MAX_DIMS], *type = dync__dtype_c_type(o[3].dtype);
    dync__str_addf(s, "static void %s(const %s *b, const int64_t *i, const %s *x, %s *y)\n{\n",
                   name, dync__dtype_c_type(o[0].dtype), dync__dtype_c_type(o[2].dtype), type);
    dync__csource_base(s, call);
    for (int d = 0; d < walk->ndim; d++) {
        var[d] = dync__sz_eq(walk->shape[d], 1) ? NULL : dync__csource_loops[d];
        depth = dync__csource_for(s, depth, dync__csource_loops[d], walk->shape[d]);
    }
    dync__str_addf(s, "%*s{\n%*sconst int64_t at = ", 4 * depth, "", 4 * depth + 4, "");
    dync__csource_at(s, 'i', &o[1], slices ? 1 : walk->ndim, o[1].lay.stride,
                     slices ? var + dim : var);
    dync__str_addf(s, ";\n%*sconst %s e = ", 4 * depth + 4, "", dync__dtype_c_type(o[2].dtype));
    dync__csource_at(s, 'x', &o[2], walk->ndim, o[2].lay.stride, var);
    dync__str_addf(s, ";\n%*s%s *to = y + ", 4 * depth + 4, "", type);
    if (y->ndim) var[dim] = "at";
    dync__csource_index(s, y->ndim, y->stride, var, 0);
    dync__str_addf(s, ";\n%*sif (at >= 0 && at < ", 4 * depth + 4, "");
    dync__size_csource(s, y->ndim ? y->shape[dim] : 1);
    dync__str_add(s, ") ");
    DYNC__TRY(dync__csource_put(s, call, "*to", "e"));
    dync__str_addf(s, "%*s}\n}\n", 4 * depth, "");
    return DYNC_OK;
}

/* ---- sorting --------------------------------------------------------------------------------- */

/* @_before: does element a come before b? NaN is the greatest, equal elements keep their order.
 * @_sift: e goes down from `at` in the heap of n, the last one on top. @_line: a heap of the best
 * so far in the indices' own memory; then they are taken from it, the last first. `<` is where
 * ascending and descending differ, T the type. */
static const char dync__csource_sort_text[] =
    "static void @_sift(const T *x, int64_t sx, int64_t *k, int64_t sk, int64_t at, int64_t n,\n"
    "                   int64_t e)\n{\n"
    "    for (int64_t down; (down = 2 * at + 1) < n; at = down) {\n"
    "        if (down + 1 < n && @_before(x, sx, k[down * sk], k[(down + 1) * sk])) down++;\n"
    "        if (!@_before(x, sx, e, k[down * sk])) break;\n"
    "        k[at * sk] = k[down * sk];\n    }\n    k[at * sk] = e;\n}\n"
    "static void @_line(const T *x, int64_t sx, int64_t n, T *v, int64_t sv, int64_t *k,\n"
    "                   int64_t sk, int64_t most)\n{\n    int64_t have = 0;\n"
    "    for (int64_t e = 0; e < n; e++) {\n        int64_t at = have;\n"
    "        if (have == most) {\n"
    "            if (most && @_before(x, sx, e, k[0])) @_sift(x, sx, k, sk, 0, most, e);\n"
    "            continue;\n        }\n"
    "        for (have++; at && @_before(x, sx, k[(at - 1) / 2 * sk], e); at = (at - 1) / 2)\n"
    "            k[at * sk] = k[(at - 1) / 2 * sk];\n        k[at * sk] = e;\n    }\n"
    "    while (have-- > 1) {\n        int64_t e = k[have * sk];\n"
    "        k[have * sk] = k[0];\n        @_sift(x, sx, k, sk, 0, have, e);\n    }\n"
    "    for (int64_t i = 0; i < most; i++) v[i * sv] = x[k[i * sk] * sx];\n}\n";

static void dync__csource_sort_lines(dync__str *s, const dync__kcall *call, const char *name)
{
    int dtype = call->operand[0].dtype;
    const char *type = dync__dtype_c_type(dtype);
    bool down = call->attr.sort.descending, floats = dync__dtype_info(dtype)->kind == 'f';
    dync__str_addf(s,
                   "static int %s_before(const %s *x, int64_t sx, int64_t a, int64_t b)\n{\n"
                   "    const %s u = x[a * sx], v = x[b * sx];\n",
                   name, type, type);
    if (floats)
        dync__str_addf(s, "    if (u != u || v != v) return (u != u) == (v != v) ? a < b : %s;\n",
                       down ? "u != u" : "v != v");
    dync__str_addf(s, "    return u == v ? a < b : u %c v;\n}\n", down ? '>' : '<');
    for (const char *p = dync__csource_sort_text; *p; p++)
        if (*p == '@' || *p == 'T')
            dync__str_add(s, *p == '@' ? name : type);
        else
            dync__str_addc(s, *p);
}

/* x, v values, k indices: the first of each line along the dim in order, as many as v has. */
static dync_status dync__csource_sort(dync__str *s, const dync__kcall *call, const char *name)
{
    const dync__operand *o = call->operand;
    int dim = (int)call->attr.sort.dim, depth = 1;
    const char *var[DYNC_MAX_DIMS];
    dync__str text = {0};
    dync_status status = dync__csource_head(&text, call, name, "xvk");
    if (status == DYNC_OK) dync__csource_sort_lines(s, call, name);
    dync__str_add(s, dync__str_get(&text));
    for (int d = 0; d < o[0].lay.ndim; d++) {
        bool one = d == dim || dync__sz_eq(o[0].lay.shape[d], 1);
        var[d] = one ? NULL : dync__csource_loops[d];
        if (!one) depth = dync__csource_for(s, depth, var[d], o[0].lay.shape[d]);
    }
    dync__str_addf(s, "%*s%s_line(", 4 * depth, "", name);
    for (int i = 0; i < 3; i++) {
        bool first = false;
        dync__str_addf(s, "%s%c", i ? ", " : "", "xvk"[i]);
        for (int d = 0; d < o[i].lay.ndim; d++)
            dync__term_csource(s, o[i].lay.stride[d], var[d], &first);
        dync__str_add(s, ", ");
        dync__size_csource(s, o[i].lay.stride[dim]);
        if (i != 1) {
            dync__str_add(s, ", ");
            dync__size_csource(s, o[i].lay.shape[dim]);
        }
    }
    dync__str_add(s, ");\n}\n");
    s->failed = s->failed || text.failed;
    dync__str_free(&text);
    return status;
}

/* Appends one C function `name` for the kernel call; DYNC_ERR_UNSUPPORTED names a kernel that
 * has no C form. */
DYNC__FN dync_status dync__kcall_csource(dync__str *s, const dync__kcall *call, bool no_index,
                                         const char *name)
{
    static const struct {
        int kernel;
        dync_status (*print)(dync__str *, const dync__kcall *, const char *);
    } rows[] = {
        {DYNC__K_matmul, dync__csource_matmul},
        {DYNC__K_addmm, dync__csource_matmul},
        {DYNC__K_conv2d, dync__csource_conv2d},
        {DYNC__K_int_conv2d, dync__csource_conv2d},
        {DYNC__K_max_pool2d, dync__csource_max_pool2d},
        {DYNC__K_avg_pool2d, dync__csource_avg_pool2d},
        {DYNC__K_conv2d_grad_input, dync__csource_gradient},
        {DYNC__K_conv2d_grad_weight, dync__csource_gradient},
        {DYNC__K_max_pool2d_grad, dync__csource_gradient},
        {DYNC__K_avg_pool2d_grad, dync__csource_gradient},
        {DYNC__K_sort, dync__csource_sort},
        {DYNC__K_scatter, dync__csource_scatter},
        {DYNC__K_scatter_add, dync__csource_scatter},
        {DYNC__K_index_add, dync__csource_scatter},
    };
    if (no_index) return dync__csource_maxima(s, call, true, name);
    for (int i = 0; i < DYNC__COUNT_OF(rows); i++)
        if (dync__kcall_is(call, rows[i].kernel)) return rows[i].print(s, call, name);
    if (dync__kcall_is(call, DYNC__K_check_divisor) || dync__kcall_is(call, DYNC__K_check_index))
        return dync__str_addf(s, "static void %s(const %s *i)\n{\n    (void)i;\n}\n", name,
                              dync__dtype_c_type(call->operand[0].dtype)),
               DYNC_OK; /* nobody to tell */
    if (dync__opaque_is(call))
        return dync__csource_refuse(call, "is an operator of your own; without a meta function in "
                                          "dync_op_register its body is looked into and written");
    return dync__csource_refuse(call, "has no form in C yet; call it outside of what is exported");
}
