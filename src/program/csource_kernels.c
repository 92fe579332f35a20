/* program/csource_kernels.c: kernel calls as plain C loops: matrix products, convolution, pooling.
 * Before csource_calls.c, whose table names them. Small before fast. */
#include "../dync.in.h"
#include "../kernel/operand.h"
#include "csource.h"
DYNC__COLD

/* A sum of stride * variable plus offset, as short as a person would write it. var[d] NULL: a
 * dimension of size 1, which adds nothing. */
DYNC__FN void dync__csource_index(dync__str *s, int n, const int64_t *stride,
                                  const char *const *var, int64_t offset)
{
    bool first = true;
    for (int d = 0; d < n; d++) dync__term_csource(s, stride[d], var[d], &first);
    dync__offset_csource(s, offset, first);
}

DYNC__FN dync_status dync__csource_refuse(const dync__kcall *call, const char *why)
{
    const char *of = call->user_op ? call->user_op : call->row->name;
    if (!call->at.file) return dync__fail(DYNC_ERR_UNSUPPORTED, "C source: %s %s", of, why);
    return dync__fail(DYNC_ERR_UNSUPPORTED, "C source: %s at %s:%d %s", of, call->at.file,
                      call->at.line, why);
}

/* static void NAME(const float *a, ..., float *y) with the operands' letters. */
static void dync__csource_half_head(dync__str *s, const dync__kcall *call, const char *name,
                                    const char *letters)
{
    dync__str_addf(s, "static void %s(", name);
    for (int i = 0; i < call->n; i++)
        dync__str_addf(s, "%s%s%s *%c", i ? ", " : "", call->operand[i].written ? "" : "const ",
                       dync__dtype_c_type(call->operand[i].dtype), letters[i]);
    dync__str_add(s, ")\n{\n");
}

DYNC__FN dync_status dync__csource_head(dync__str *s, const dync__kcall *call, const char *name,
                                        const char *letters)
{
    for (int i = 0; i < call->n; i++)
        if (call->operand[i].dtype == DYNC_F16 || call->operand[i].dtype == DYNC_BF16)
            return dync__csource_refuse(call, "has no form for half precision; it has one for F32");
    dync__csource_half_head(s, call, name, letters);
    return DYNC_OK;
}

/* ---- half precision: stored so, computed in F32 ---------------------------------------------- */

static bool dync__csource_is_half(const dync__operand *o)
{
    return o->dtype == DYNC_F16 || o->dtype == DYNC_BF16;
}

/* x[index] as the type that is worked in. */
static void dync__csource_read(dync__str *s, char letter, const dync__operand *o, int n,
                               const int64_t *stride, const char *const *var)
{
    if (dync__csource_is_half(o)) dync__str_addf(s, "#_from_%s(", dync__dtype_info(o->dtype)->fx);
    dync__csource_at(s, letter, o, n, stride, var);
    if (dync__csource_is_half(o)) dync__str_addc(s, ')');
}

/* y[index] = what stands between the two */
static void dync__csource_write(dync__str *s, char letter, const dync__operand *o, int n,
                                const char *const *var)
{
    dync__csource_at(s, letter, o, n, o->lay.stride, var);
    dync__str_add(s, " = ");
    if (dync__csource_is_half(o)) dync__str_addf(s, "#_to_%s(", dync__dtype_info(o->dtype)->fx);
}
static void dync__csource_written(dync__str *s, const dync__operand *o)
{
    dync__str_add(s, dync__csource_is_half(o) ? ");\n" : ";\n");
}

static const char *dync__csource_working(const dync__operand *o)
{
    return dync__dtype_c_type(dync__operand_working(o->dtype));
}

/* for (int v = 0; v < n; v++), indented; nothing for one iteration, whose variable is then NULL in
 * indices. */
DYNC__FN int dync__csource_for(dync__str *s, int depth, const char *var, int64_t n)
{
    if (n == 1) return depth;
    dync__str_addf(s, "%*sfor (int %s = 0; %s < ", 4 * depth, "", var, var);
    dync__size_csource(s, n);
    dync__str_addf(s, "; %s++)\n", var);
    return depth + 1;
}

/* x[index]; the operand is given from its first element on. */
DYNC__FN void dync__csource_at(dync__str *s, char letter, const dync__operand *o, int n,
                               const int64_t *stride, const char *const *var)
{
    dync__str_addf(s, "%c[", letter);
    (void)o;
    dync__csource_index(s, n, stride, var, 0);
    dync__str_addc(s, ']');
}

/* ---- products: c[.., m, n] = sum over k of a[.., m, k] b[.., k, n] (+ bias[m, n]) ------------ */

/* Loops over the result, then over k. Batch dimensions of size 1 in a or b are broadcast: their
 * stride counts as 0. */
DYNC__FN dync_status dync__csource_matmul(dync__str *s, const dync__kcall *call, const char *name)
{
    static const char *const names[] = {"i0", "i1", "i2", "i3", "i4", "i5", "i6", "i7"};
    bool has_bias = dync__kcall_is(call, DYNC__K_addmm);
    const dync__operand *a = &call->operand[0], *b = &call->operand[1],
                        *bias = has_bias ? &call->operand[2] : NULL,
                        *c = &call->operand[call->n - 1];
    int ndim = c->lay.ndim, batch = ndim - 2, depth = 1;
    int64_t k = a->lay.shape[ndim - 1];
    const char *var[DYNC_MAX_DIMS + 1];
    int64_t stride[DYNC_MAX_DIMS + 1];
    dync__csource_half_head(s, call, name, has_bias ? "abdc" : "abc");
    for (int d = 0; d < ndim; d++) {
        var[d] = c->lay.shape[d] > 1 ? names[d] : NULL;
        depth = dync__csource_for(s, depth, names[d], c->lay.shape[d]);
    }
    var[ndim] = k > 1 ? "k" : NULL;
    const char *type = dync__csource_working(c);
    dync__str_addf(s, "%*s{\n%*s%s sum = 0;\n", 4 * depth, "", 4 * depth + 4, "", type);
    int inner = dync__csource_for(s, depth + 1, "k", k);
    dync__str_addf(s, "%*ssum += ", 4 * inner, "");
    for (int d = 0; d < batch; d++) stride[d] = a->lay.shape[d] > 1 ? a->lay.stride[d] : 0;
    stride[batch] = a->lay.stride[batch];
    stride[batch + 1] = 0;
    stride[ndim] = a->lay.stride[batch + 1];
    dync__csource_read(s, 'a', a, ndim + 1, stride, var);
    dync__str_add(s, " * ");
    for (int d = 0; d < batch; d++) stride[d] = b->lay.shape[d] > 1 ? b->lay.stride[d] : 0;
    stride[batch] = 0;
    stride[batch + 1] = b->lay.stride[batch + 1];
    stride[ndim] = b->lay.stride[batch];
    dync__csource_read(s, 'b', b, ndim + 1, stride, var);
    dync__str_addf(s, ";\n%*s", 4 * depth + 4, "");
    dync__csource_write(s, 'c', c, ndim, var);
    dync__str_add(s, "sum");
    if (bias) {
        dync__str_add(s, " + ");
        dync__csource_read(s, 'd', bias, ndim, bias->lay.stride, var);
    }
    dync__csource_written(s, c);
    dync__str_addf(s, "%*s}\n}\n", 4 * depth, "");
    return DYNC_OK;
}

/* ---- windows: convolution and pooling over [n, channel, y, x] -------------------------------- */

/* Loops over the output and over the window, with the input position p, q inside the picture. */
static int dync__csource_window(dync__str *s, const dync__operand *out, const dync__operand *x,
                                const char *init, int64_t kh, int64_t kw, const int64_t *step,
                                const int64_t *pad, const int64_t *dilation, const char *extra,
                                int64_t n_extra)
{
    static const char *const names[] = {"n", "o", "i", "j"};
    int depth = 1;
    for (int d = 0; d < 4; d++) depth = dync__csource_for(s, depth, names[d], out->lay.shape[d]);
    dync__str_addf(s, "%*s{\n", 4 * depth, "");
    for (int d = 0; d < 4; d++)
        if (out->lay.shape[d] == 1)
            dync__str_addf(s, "%*sconst int %s = 0;\n", 4 * depth + 4, "", names[d]);
    dync__str_addf(s, "%*s%s\n", 4 * depth + 4, "", init);
    depth++;
    if (extra)
        dync__str_addf(s, "%*sfor (int %s = 0; %s < %lld; %s++)\n", 4 * depth, "", extra, extra,
                       (long long)n_extra, extra),
            depth++;
    dync__str_addf(s, "%*sfor (int u = 0; u < %lld; u++)\n", 4 * depth, "", (long long)kh);
    dync__str_addf(s, "%*sfor (int v = 0; v < %lld; v++) {\n", 4 * depth + 4, "", (long long)kw);
    depth += 2;
    dync__str_addf(s, "%*sint p = i * %lld - %lld + u * %lld, q = j * %lld - %lld + v * %lld;\n",
                   4 * depth, "", (long long)step[0], (long long)pad[0], (long long)dilation[0],
                   (long long)step[1], (long long)pad[1], (long long)dilation[1]);
    dync__str_addf(s, "%*sif (p < 0 || p >= ", 4 * depth, "");
    dync__size_csource(s, x->lay.shape[2]);
    dync__str_add(s, " || q < 0 || q >= ");
    dync__size_csource(s, x->lay.shape[3]);
    dync__str_add(s, ") continue;\n");
    return depth;
}

/* x [n, channel, p, q], w [o, channel / groups, u, v], y [n, o, i, j]. With groups, output
 * channel o reads the inputs of group o / per_out. */
DYNC__FN dync_status dync__csource_conv2d(dync__str *s, const dync__kcall *call, const char *name)
{
    static const char *const in_var[] = {"n", "c", "p", "q"}, *const w_var[] = {"o", "c", "u", "v"},
                             *const out_var[] = {"n", "o", "i", "j"};
    const dync__operand *x = &call->operand[0], *w = &call->operand[1],
                        *y = &call->operand[call->n - 1];
    const dync__attr_conv *a = &call->attr.conv;
    int64_t groups = a->groups, per_in = w->lay.shape[1],
            per_out = w->lay.shape[0] / DYNC__MAX(groups, 1);
    char init[64];
    dync__csource_half_head(s, call, name, call->n == 4 ? "xwby" : "xwy");
    dync__format(init, sizeof init, "%s sum = 0;", dync__csource_working(y));
    int depth = dync__csource_window(s, y, x, init, w->lay.shape[2], w->lay.shape[3], a->stride,
                                     a->pad, a->dilation, "c", per_in);
    dync__str_addf(s, "%*ssum += ", 4 * depth, "");
    if (dync__csource_is_half(x)) dync__str_addf(s, "#_from_%s(", dync__dtype_info(x->dtype)->fx);
    dync__str_add(s, "x[");
    dync__csource_index(s, 4, x->lay.stride, in_var, 0);
    if (groups > 1) {
        dync__str_addf(s, " + o / %lld * (", (long long)per_out);
        dync__size_csource(s, dync__sz_mul(per_in, x->lay.stride[1]));
        dync__str_addc(s, ')');
    }
    dync__str_add(s, dync__csource_is_half(x) ? "]) * " : "] * ");
    dync__csource_read(s, 'w', w, 4, w->lay.stride, w_var);
    dync__str_addf(s, ";\n%*s}\n%*s", 4 * depth - 4, "", 4 * (depth - 3), "");
    dync__csource_write(s, 'y', y, 4, out_var);
    dync__str_add(s, "sum");
    if (call->n == 4) {
        dync__str_add(s, " + ");
        dync__csource_read(s, 'b', &call->operand[2], 1, call->operand[2].lay.stride, &out_var[1]);
    }
    dync__csource_written(s, y);
    dync__str_addf(s, "%*s}\n}\n", 4 * (depth - 4), "");
    return DYNC_OK;
}

/* NaN wins, as in PyTorch. index: the place p * width + q of the maximum in its channel, unless
 * nobody reads it. */
DYNC__FN dync_status dync__csource_maxima(dync__str *s, const dync__kcall *call, bool no_index,
                                          const char *name)
{
    static const char *const in_var[] = {"n", "o", "p", "q"}, *const out_var[] = {"n", "o", "i",
                                                                                  "j"};
    const dync__operand *x = &call->operand[0], *y = &call->operand[1], *index = &call->operand[2];
    const dync__attr_pool *a = &call->attr.pool;
    char init[96];
    dync__kcall_full head;
    dync__kcall_copy(&head.call, call);
    head.call.n -= no_index;
    dync__csource_half_head(s, &head.call, name, "xyk");
    dync__format(init, sizeof init, "%s best = 0; int at = -1;", dync__csource_working(y));
    int depth = dync__csource_window(s, y, x, init, a->kernel[0], a->kernel[1], a->stride, a->pad,
                                     a->dilation, NULL, 0);
    dync__str_addf(s, "%*s%s e = ", 4 * depth, "", dync__csource_working(x));
    dync__csource_read(s, 'x', x, 4, x->lay.stride, in_var);
    dync__str_addf(s, ";\n%*sif (at < 0 || e > best%s) best = e, at = ", 4 * depth, "",
                   dync__dtype_info(x->dtype)->kind == 'f' ? " || e != e" : "");
    if (no_index) {
        dync__str_add(s, "0");
    } else {
        dync__str_add(s, "p * (");
        dync__size_csource(s, x->lay.shape[3]);
        dync__str_add(s, ") + q");
    }
    dync__str_addf(s, ";\n%*s}\n%*s", 4 * depth - 4, "", 4 * depth - 8, "");
    dync__csource_write(s, 'y', y, 4, out_var);
    dync__str_add(s, "best");
    dync__csource_written(s, y);
    if (!no_index) {
        dync__str_addf(s, "%*s", 4 * depth - 8, "");
        dync__csource_at(s, 'k', index, 4, index->lay.stride, out_var);
        dync__str_add(s, " = at;\n");
    }
    dync__str_addf(s, "%*s}\n}\n", 4 * depth - 12, "");
    return DYNC_OK;
}

DYNC__FN dync_status dync__csource_max_pool2d(dync__str *s, const dync__kcall *call,
                                              const char *name)
{
    return dync__csource_maxima(s, call, false, name);
}

/* What a sum is divided by where that is not the elements inside the picture: a number, or the
 * window as far as the padded picture goes, where ceil_mode lets one reach beyond. */
static void dync__csource_avg_count(dync__str *s, const dync__attr_pool *a, const dync__operand *x,
                                    int margin)
{
    static const char at[] = "ij", end[] = "rt";
    if (a->divisor || !a->ceil) {
        dync__str_addf(s, "%*scount = %lld;\n", margin, "",
                       (long long)(a->divisor ? a->divisor : a->kernel[0] * a->kernel[1]));
        return;
    }
    for (int d = 0; d < 2; d++) {
        dync__str_addf(s, "%*sint %c = ", margin, "", end[d]);
        dync__size_csource(s, x->lay.shape[2 + d]);
        dync__str_addf(s, " + %lld - (%c * %lld - %lld);\n%*sif (%c > %lld) %c = %lld;\n",
                       (long long)a->pad[d], at[d], (long long)a->stride[d], (long long)a->pad[d],
                       margin, "", end[d], (long long)a->kernel[d], end[d],
                       (long long)a->kernel[d]);
    }
    dync__str_addf(s, "%*scount = r * t;\n", margin, "");
}

/* Divides by the elements inside the picture, or by the whole window with count_include_pad. */
DYNC__FN dync_status dync__csource_avg_pool2d(dync__str *s, const dync__kcall *call,
                                              const char *name)
{
    static const char *const in_var[] = {"n", "o", "p", "q"}, *const out_var[] = {"n", "o", "i",
                                                                                  "j"};
    const dync__operand *x = &call->operand[0], *y = &call->operand[1];
    const dync__attr_pool *a = &call->attr.pool;
    char init[64];
    dync__csource_half_head(s, call, name, "xy");
    dync__format(init, sizeof init, "%s sum = 0; int count = 0;", dync__csource_working(y));
    int depth = dync__csource_window(s, y, x, init, a->kernel[0], a->kernel[1], a->stride, a->pad,
                                     a->dilation, NULL, 0);
    dync__str_addf(s, "%*ssum += ", 4 * depth, "");
    dync__csource_read(s, 'x', x, 4, x->lay.stride, in_var);
    dync__str_addf(s, ", count++;\n%*s}\n", 4 * depth - 4, "");
    if (a->include_pad || a->divisor) dync__csource_avg_count(s, a, x, 4 * depth - 8);
    dync__str_addf(s, "%*s", 4 * depth - 8, "");
    dync__csource_write(s, 'y', y, 4, out_var);
    dync__str_addf(s, "sum / (%s)count", dync__csource_working(y));
    dync__csource_written(s, y);
    dync__str_addf(s, "%*s}\n}\n", 4 * depth - 12, "");
    return DYNC_OK;
}
