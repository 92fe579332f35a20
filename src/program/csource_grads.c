/* program/csource_grads.c: kernel calls of gradients as plain C loops. After csource_kernels.c,
 * before csource_calls.c, whose table names them.
 *
 * Gradients of windows begin with zeros and add what each place of the result gives back. */
#include "../dync.in.h"
#include "csource.h"
DYNC__COLD

static const char dync__grads_i[][3] = {"i0", "i1", "i2", "i3", "i4", "i5", "i6", "i7"};

/* Loops over every dimension of a layout; var[d] NULL for a size of 1. The depth inside. */
static int dync__grads_over(dync__str *s, int depth, const dync__layout *lay, const char **var)
{
    for (int d = 0; d < lay->ndim; d++) {
        var[d] = lay->shape[d] != 1 ? dync__grads_i[d] : NULL;
        depth = dync__csource_for(s, depth, dync__grads_i[d], lay->shape[d]);
    }
    return depth;
}

static void dync__grads_place(dync__str *s, char letter, const dync__layout *lay,
                              const char *const *var)
{
    dync__str_addf(s, "%c[", letter);
    dync__csource_index(s, lay->ndim, lay->stride, var, 0);
    dync__str_addc(s, ']');
}

/* y = 0 */
static void dync__grads_begin(dync__str *s, char y, const dync__layout *lay)
{
    const char *var[DYNC_MAX_DIMS];
    int depth = dync__grads_over(s, 1, lay, var);
    dync__str_addf(s, "%*s", 4 * depth, "");
    dync__grads_place(s, y, lay, var);
    dync__str_add(s, " = 0;\n");
}

/* ---- convolution ----------------------------------------------------------------------------- */

/* Every product of a forward pass over x [n, channel, p, q], w [o, c, u, v], y [n, o, i, j], once:
 * `add` of them. */
static void dync__grads_products(dync__str *s, const dync__operand *x, const dync__operand *w,
                                 const dync__operand *y, const dync__attr_conv *a,
                                 const char letters[3])
{
    static const char names[3][4][2] = {
        {"n", "c", "p", "q"}, {"o", "c", "u", "v"}, {"n", "o", "i", "j"}};
    const char *var[3][4];
    static const char loops[][2] = {"n", "o", "i", "j", "c", "u", "v"};
    int64_t groups = DYNC__MAX(a->groups, 1), per_in = w->lay.shape[1],
            per_out = w->lay.shape[0] / groups;
    for (int d = 0; d < 7; d++)
        dync__str_addf(s, "%*sfor (int %s = 0; %s < %lld; %s++)%s\n", 4 * (d + 1), "", loops[d],
                       loops[d], (long long)(d < 4 ? y->lay.shape[d] : w->lay.shape[d - 3]),
                       loops[d], d == 6 ? " {" : "");
    dync__str_addf(s,
                   "%*sint p = i * %lld - %lld + u * %lld, q = j * %lld - %lld + v * %lld;\n"
                   "%*sif (p < 0 || p >= %lld || q < 0 || q >= %lld) continue;\n%*s%c[",
                   32, "", (long long)a->stride[0], (long long)a->pad[0], (long long)a->dilation[0],
                   (long long)a->stride[1], (long long)a->pad[1], (long long)a->dilation[1], 32, "",
                   (long long)x->lay.shape[2], (long long)x->lay.shape[3], 32, "", letters[0]);
    const dync__operand *of[3] = {x, w, y};
    for (int k = 0; k < 12; k++) var[k / 4][k % 4] = names[k / 4][k % 4];
    int order[3] = {letters[0] == 'x' ? 0 : 1, letters[0] == 'x' ? 1 : 0, 2};
    for (int k = 0; k < 3; k++) {
        if (k) dync__str_addf(s, "%s%c[", k == 1 ? " += " : " * ", letters[k]);
        dync__csource_index(s, 4, of[order[k]]->lay.stride, var[order[k]], 0);
        if (order[k] == 0 && groups > 1)
            dync__str_addf(s, " + o / %lld * %lld", (long long)per_out,
                           (long long)(per_in * x->lay.stride[1]));
        dync__str_addc(s, ']');
    }
    dync__str_add(s, ";\n                            }\n}\n");
}

/* gy, w, gx */
static dync_status dync__grads_conv_input(dync__str *s, const dync__kcall *call, const char *name)
{
    const dync__operand *o = call->operand;
    DYNC__TRY(dync__csource_head(s, call, name, "ywx"));
    dync__grads_begin(s, 'x', &o[2].lay);
    dync__grads_products(s, &o[2], &o[1], &o[0], &call->attr.conv, "xwy");
    return DYNC_OK;
}

/* x, gy, gw */
static dync_status dync__grads_conv_weight(dync__str *s, const dync__kcall *call, const char *name)
{
    const dync__operand *o = call->operand;
    DYNC__TRY(dync__csource_head(s, call, name, "xyw"));
    dync__grads_begin(s, 'w', &o[2].lay);
    dync__grads_products(s, &o[0], &o[2], &o[1], &call->attr.conv, "wxy");
    return DYNC_OK;
}

/* ---- pooling: the last two dimensions are a picture ------------------------------------------ */

static dync_status dync__grads_max(dync__str *s, const dync__kcall *call, const char *name)
{
    const dync__layout *y = &call->operand[0].lay, *k = &call->operand[1].lay,
                       *x = &call->operand[2].lay;
    const char *var[DYNC_MAX_DIMS];
    int rank = y->ndim;
    long long width = (long long)x->shape[rank - 1];
    DYNC__TRY(dync__csource_head(s, call, name, "ykx"));
    dync__grads_begin(s, 'x', x);
    int depth = dync__grads_over(s, 1, y, var);
    dync__str_addf(s, "%*s{\n%*sint k0 = (int)", 4 * depth, "", 4 * depth + 4, "");
    dync__grads_place(s, 'k', k, var);
    dync__str_addf(s, ";\n%*sx[", 4 * depth + 4, "");
    dync__csource_index(s, rank - 2, x->stride, var, 0);
    dync__str_addf(s, " + k0 / %lld * %lld + k0 %% %lld * %lld] += ", width,
                   (long long)x->stride[rank - 2], width, (long long)x->stride[rank - 1]);
    dync__grads_place(s, 'y', y, var);
    dync__str_addf(s, ";\n%*s}\n}\n", 4 * depth, "");
    return DYNC_OK;
}

/* The rows p0 .. p1 and columns q0 .. q1 of a window inside the picture, and what the gradient of
 * its mean is divided by. */
static void dync__grads_window(dync__str *s, const dync__attr_pool *a, const int64_t *picture,
                               const char *row, const char *column, int margin)
{
    for (int d = 0; d < 2; d++) {
        char of = "pq"[d];
        dync__str_addf(s, "%*sint %c0 = %s * %lld - %lld, %c1 = %c0 + %lld;\n", margin, "", of,
                       d ? column : row, (long long)a->stride[d], (long long)a->pad[d], of, of,
                       (long long)a->kernel[d]);
        if (a->ceil)
            dync__str_addf(s, "%*sif (%c1 > %lld) %c1 = %lld;\n", margin, "", of,
                           (long long)(picture[d] + a->pad[d]), of,
                           (long long)(picture[d] + a->pad[d]));
    }
    dync__str_addf(s, "%*sint count = ", margin, "");
    if (a->divisor)
        dync__str_addf(s, "%lld;\n", (long long)a->divisor);
    else
        dync__str_add(s, "(p1 - p0) * (q1 - q0);\n");
    for (int d = 0; d < 2; d++)
        dync__str_addf(s, "%*sif (%c0 < 0) %c0 = 0;\n%*sif (%c1 > %lld) %c1 = %lld;\n", margin, "",
                       "pq"[d], "pq"[d], margin, "", "pq"[d], (long long)picture[d], "pq"[d],
                       (long long)picture[d]);
    if (!a->divisor && !a->include_pad)
        dync__str_addf(s, "%*scount = (p1 - p0) * (q1 - q0);\n", margin, "");
}

static dync_status dync__grads_avg(dync__str *s, const dync__kcall *call, const char *name)
{
    const dync__layout *y = &call->operand[0].lay, *x = &call->operand[1].lay;
    const dync__attr_pool *a = &call->attr.pool;
    const char *var[DYNC_MAX_DIMS];
    int rank = y->ndim;
    DYNC__TRY(dync__csource_head(s, call, name, "yx"));
    dync__grads_begin(s, 'x', x);
    int depth = dync__grads_over(s, 1, y, var);
    const char *row = var[rank - 2] ? var[rank - 2] : "0",
               *column = var[rank - 1] ? var[rank - 1] : "0";
    dync__str_addf(s, "%*s{\n", 4 * depth, "");
    dync__grads_window(s, a, &x->shape[rank - 2], row, column, 4 * depth + 4);
    dync__str_addf(s, "%*sfor (int p = p0; p < p1; p++)\n%*sfor (int q = q0; q < q1; q++)\n%*sx[",
                   4 * depth + 4, "", 4 * depth + 8, "", 4 * depth + 12, "");
    dync__csource_index(s, rank - 2, x->stride, var, 0);
    dync__str_addf(s, " + p * %lld + q * %lld] += ", (long long)x->stride[rank - 2],
                   (long long)x->stride[rank - 1]);
    dync__grads_place(s, 'y', y, var);
    dync__str_addf(s, " / (%s)count;\n%*s}\n}\n", dync__dtype_c_type(call->operand[0].dtype),
                   4 * depth, "");
    return DYNC_OK;
}

/* ---- the way in ------------------------------------------------------------------------------ */

DYNC__FN dync_status dync__csource_gradient(dync__str *s, const dync__kcall *call, const char *name)
{
    static const struct {
        int kernel;
        dync_status (*print)(dync__str *, const dync__kcall *, const char *);
    } rows[] = {
        {DYNC__K_conv2d_grad_input, dync__grads_conv_input},
        {DYNC__K_conv2d_grad_weight, dync__grads_conv_weight},
        {DYNC__K_max_pool2d_grad, dync__grads_max},
        {DYNC__K_avg_pool2d_grad, dync__grads_avg},
    };
    for (int i = 0; i < DYNC__COUNT_OF(rows); i++) {
        if (!dync__kcall_is(call, rows[i].kernel)) continue;
        for (int k = 0; k < call->n; k++)
            for (int d = 0; d < call->operand[k].lay.ndim; d++)
                if (dync__is_token(call->operand[k].lay.shape[d]) ||
                    dync__is_token(call->operand[k].lay.stride[d]))
                    return dync__csource_refuse(call, "has no gradient of symbolic sizes in C yet; "
                                                      "export it for sizes that are numbers");
        return rows[i].print(s, call, name);
    }
    return dync__csource_refuse(
        call, "has no gradient in C yet; train it with the library, and export what it learned");
}
