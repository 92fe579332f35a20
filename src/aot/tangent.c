/* aot/tangent.c: gradients of results as the backward graph was compiled for them. After code.c,
 * before variant.c and backward.c. */
#include "../dync.in.h"
#include "code.h"
#include "saved.h"
DYNC__WARM

/* Large, and not along its last dimension: an operator copies it by blocks. */
static bool dync__aot_is_crossed(const dync__tensor *grad)
{
    int d = grad->lay.ndim - 1;
    while (d >= 0 && grad->lay.shape[d] == 1) d--;
    return d >= 0 && grad->lay.stride[d] > 1 && grad->numel >= DYNC__CROSSED_COPY;
}

/* How tangent i lies, with numbers for sizes. Placeholders: what is saved, then tangents. */
DYNC__FN dync_status dync__aot_tangent_info(const dync__aot_saved *s, int i, dync__info *out)
{
    const dync__aot_code *form = s->code->form;
    *out = s->part->bw->node.at[s->part->n_saved + i]->info[0];
    if (!form || dync__layout_values(form->syms, s->value, &out->lay)) return DYNC_OK;
    return dync__fail(DYNC_ERR_INTERNAL, "a size of a tangent has no value");
}

/* The gradient in the form that backward was compiled for; zeros where none arrived. */
static dync__tensor *dync__aot_tangent_copy(const dync__info *info, dync__tensor *grad)
{
    dync__arg args[2] = {dync__arg_t(grad), dync__arg_t(grad)};
    dync__tensor *dense = NULL;
    bool rows = dync__layout_is_contiguous(&info->lay);
    if (grad && rows && dync__device_is(grad->device, DYNC__DEV_HOST) &&
        !dync__aot_is_crossed(grad) && grad->dtype == info->dtype)
        return dync__aot_rows(grad);
    if (grad && rows)
        return dync__op_run(DYNC__OP__clone_contiguous, 1, args, &dense) == DYNC_OK ? dense : NULL;
    dync__tensor *made = dync__tensor_empty(info->dtype, info->device, &info->lay);
    if (!made) return NULL;
    args[0] = dync__arg_t(made);
    dync_status status = grad ? dync__op_run(DYNC__OP_copy_, 2, args, &dense)
                              : dync__tensor_zero(made);
    dync__unref(dense);
    if (status == DYNC_OK) return made;
    dync__unref(made);
    return NULL;
}

/* Tangent i as backward was compiled for it: a reference. */
DYNC__FN dync__tensor *dync__aot_tangent(const dync__aot_saved *s, int i, dync__tensor *grad)
{
    const dync__aot_part *p = s->part;
    dync__info info;
    bool as_it_is = grad && p->by_rows && dync__layout_is_contiguous(&grad->lay) &&
                    grad->dtype == p->bw->node.at[p->n_saved + i]->info[0].dtype;
    if (!as_it_is) {
        if (dync__aot_tangent_info(s, i, &info) != DYNC_OK) return NULL;
        as_it_is = grad && dync__layout_lies_like(&grad->lay, &info.lay) &&
                   grad->dtype == info.dtype;
    }
    if (!as_it_is) return dync__aot_tangent_copy(&info, grad);
    dync__ref(grad);
    return grad;
}

/* Has anything saved been written since? Where the gradients that need it arrived, that was an
 * error before. */
DYNC__FN bool dync__aot_saved_written(const dync__aot_saved *s)
{
    for (int i = 0; i < s->n; i++)
        if (s->tensor[i]->storage->version != s->version[i]) return true;
    return false;
}
