/* nn/optim_step.c: an optimizer's step, its learning rate and state, the norm of gradients. Before:
 * optim.c. */
#include "../dync.in.h"
#include "nn.h"
#include "optim.h"
DYNC__COLD

/* ---- stepping -------------------------------------------------------------------------------- */

/* Numbers of one step, 0-dim: made once for all parameters. */
typedef struct dync__optim_numbers {
    dync_tensor *lr, *step_size, *root2;
} dync__optim_numbers;

/* g += decay p; first = momentum first + g; p -= lr first, or with Nesterov lr (g + momentum
 * first). Returns p, or NULL + error. g is the gradient, borrowed; results are the scope's. */
static dync_tensor *dync__sgd_step(dync_optim_kind kind, const dync_optim_options *opt,
                                   const dync__optim_slot *s, dync_tensor *g,
                                   const dync__optim_numbers *k)
{
    (void)kind;
    dync_tensor *p = dync__handle(s->param), *first = dync__handle(s->first);
    if (opt->weight_decay > 0) g = dync_add(g, dync_mul(p, opt->weight_decay));
    if (first) {
        if (!dync_add_(dync_mul_(first, opt->momentum), g)) return NULL;
        g = opt->nesterov ? dync_add(g, dync_mul(first, opt->momentum)) : first;
    }
    return dync_sub_(p, dync_mul(g, k->lr));
}

/* m = b1 m + (1 - b1) g; v = b2 v + (1 - b2) g^2; p -= lr / (1 - b1^t) m / (sqrt(v) / sqrt(1 -
 * b2^t) + eps) Decay is added to the gradient by Adam and taken off the parameter itself, p *= 1 -
 * lr decay, by AdamW: that is their difference. */
static dync_tensor *dync__adam_step(dync_optim_kind kind, const dync_optim_options *opt,
                                    const dync__optim_slot *s, dync_tensor *g,
                                    const dync__optim_numbers *k)
{
    dync_tensor *p = dync__handle(s->param), *m = dync__handle(s->first),
                *v = dync__handle(s->second);
    double decay = opt->weight_decay;
    if (decay > 0 && kind == DYNC_OPTIM_ADAM) g = dync_add(g, dync_mul(p, decay));
    if (decay > 0 && kind == DYNC_OPTIM_ADAMW && !dync_mul_(p, dync_sub(1, dync_mul(k->lr, decay))))
        return NULL;
    if (!dync_lerp_(m, g, 1 - opt->beta1)) return NULL;
    if (!dync_addcmul_(dync_mul_(v, opt->beta2), g, g, 1 - opt->beta2)) return NULL;
    dync_tensor *over = dync_add(dync_div(dync_sqrt(v), k->root2), opt->eps);
    return dync_sub_(p, dync_mul(dync_div(m, over), k->step_size));
}

/* Counts the step of the group, t, and computes what all of its parameters share: lr / (1 - b1^t)
 * and sqrt(1 - b2^t). */
static dync_status dync__optim_numbers_make(dync_optim_kind kind, const dync__optim_group *g,
                                            dync__optim_numbers *k)
{
    k->lr = dync__handle(g->lr);
    k->step_size = k->root2 = k->lr;
    if (kind == DYNC_OPTIM_SGD) return DYNC_OK;
    dync_tensor *t = dync_add_(dync__handle(g->steps), 1);
    k->step_size = dync_div(k->lr, dync_sub(1, dync_pow(g->opt.beta1, t)));
    k->root2 = dync_sqrt(dync_sub(1, dync_pow(g->opt.beta2, t)));
    return k->step_size && k->root2 ? DYNC_OK : DYNC_ERR_MEMORY;
}

/* A parameter without a gradient is left alone. A scope for each: temporaries of one parameter are
 * gone before the next. */
static dync_status dync__optim_step_group(const dync__optim *o, const dync__optim_group *group)
{
    dync__optim_numbers k;
    DYNC__TRY(dync__optim_numbers_make(o->kind, group, &k));
    for (int i = group->begin; i < group->end; i++) {
        dync_tensor *g = dync__grad_read(dync__handle(o->slot.at[i].param), true);
        if (!g) continue;
        dync_scope scope = dync_scope_begin();
        dync_tensor *done = (o->kind == DYNC_OPTIM_SGD ? dync__sgd_step : dync__adam_step)(
            o->kind, &group->opt, &o->slot.at[i], g, &k);
        dync_scope_end(&scope);
        if (!done) return dync_error() != DYNC_OK ? dync_error() : DYNC_ERR_INTERNAL;
    }
    return DYNC_OK;
}

/* Grad mode is pushed as an operator, so that a traced step records it. */
DYNC_API dync_status(dync_optim_step)(dync_optim *handle)
{
    dync__optim *o = dync__optim_open(handle, "dync_optim_step");
    if (!o) return DYNC_ERR_VALUE;
    bool before = dync_grad_mode_push(false);
    dync_scope scope = dync_scope_begin();
    dync_status status = DYNC_OK;
    for (int i = 0; i < o->group.n && status == DYNC_OK; i++)
        status = dync__optim_step_group(o, &o->group.at[i]);
    dync_scope_end(&scope);
    dync_grad_mode_pop(before);
    return status;
}

DYNC_API void dync_optim_zero_grad(dync_optim *handle)
{
    const dync__optim *o = dync__optim_open(handle, "dync_optim_zero_grad");
    for (int i = 0; o && i < o->slot.n; i++) dync_set_grad(dync__handle(o->slot.at[i].param), NULL);
}

/* Of groups [from, to). */
DYNC__RARE static dync_status dync__optim_set_lr(const dync__optim *o, const char *who, int from,
                                                 int to, double lr)
{
    if (!(lr >= 0)) return dync__fail(DYNC_ERR_VALUE, "%s: expected a rate >= 0, got %g", who, lr);
    if (from < 0 || to > o->group.n)
        return dync__fail(DYNC_ERR_VALUE, "%s: group %d of %d", who, from, o->group.n);
    dync_scope scope = dync_scope_begin();
    bool done = true;
    for (int i = from; i < to; i++) done &= dync_fill_(dync__handle(o->group.at[i].lr), lr) != NULL;
    dync_scope_end(&scope);
    return done ? DYNC_OK : dync_error();
}

DYNC__RARE DYNC_API dync_status dync_optim_set_lr(dync_optim *handle, double lr)
{
    const dync__optim *o = dync__optim_open(handle, "dync_optim_set_lr");
    return o ? dync__optim_set_lr(o, "dync_optim_set_lr", 0, o->group.n, lr) : DYNC_ERR_VALUE;
}

DYNC__RARE DYNC_API dync_status dync_optim_set_group_lr(dync_optim *handle, int group, double lr)
{
    const dync__optim *o = dync__optim_open(handle, "dync_optim_set_group_lr");
    return o ? dync__optim_set_lr(o, "dync_optim_set_group_lr", group,
                                  group < o->group.n ? group + 1 : INT32_MAX, lr)
             : DYNC_ERR_VALUE;
}

/* Order: rate and count of each group, then first and second of each parameter, as files store
 * them. */
DYNC__RARE DYNC__FN dync__tensor *dync__optim_state(const dync__optim *o, int i, char name[40])
{
    const int per = 2;
    if (i < per * o->group.n) {
        dync__format(name, 40, "group%d.%s", i / per, i % per ? "steps" : "lr");
        return i % per ? o->group.at[i / per].steps : o->group.at[i / per].lr;
    }
    i -= per * o->group.n;
    for (int k = 0; k < o->slot.n; k++)
        for (int which = 0; which < 2; which++) {
            dync__tensor *t = which ? o->slot.at[k].second : o->slot.at[k].first;
            if (!t || i--) continue;
            dync__format(name, 40, "%d.%s", k, which ? "second" : "first");
            return t;
        }
    return NULL;
}

/* ---- the norm of gradients ------------------------------------------------------------------- */
/* Sums of half precision would leave its range: they are taken in f32. */
static dync_tensor *dync__grad_squares(dync_tensor *g)
{
    if (dync_type(g) != DYNC_F64) g = dync_to_dtype(g, DYNC_F32);
    return dync_sum(dync_mul(g, g), DYNC_ALL, false);
}

/* Two walks: the norm over all gradients together, then each is scaled by min(max_norm / (norm +
 * 1e-6), 1), which is 1 where the norm is small enough. Without gradients the norm is 0. Returns
 * the norm before clipping. */
static dync_tensor *dync__clip_grads(int n, dync_tensor *const *params, double max_norm)
{
    dync_tensor *sum = NULL;
    for (int i = 0; i < n; i++) {
        dync_tensor *g = dync__grad_read(params[i], true);
        if (g) sum = sum ? dync_add(sum, dync__grad_squares(g)) : dync__grad_squares(g);
    }
    if (!sum) return dync_full(DYNC_SCALAR, 0.0);
    dync_tensor *norm = dync_sqrt(sum),
                *scale = dync_minimum(dync_div(max_norm, dync_add(norm, 1e-6)), 1.0);
    for (int i = 0; i < n; i++) {
        dync_tensor *g = dync__grad_read(params[i], true);
        if (g && !dync_mul_(g, dync_to_dtype(scale, dync_type(g)))) return NULL;
    }
    return norm;
}

DYNC_API dync_tensor *(dync_clip_grad_norm)(dync_module * handle, double max_norm)
{
    const dync__module *m = dync__module_open(handle, "dync_clip_grad_norm");
    if (!m) return NULL;
    if (!(max_norm >= 0))
        return dync__fail(DYNC_ERR_VALUE, "dync_clip_grad_norm: expected a norm >= 0, got %g",
                          max_norm),
               NULL;
    dync_tensor **params;
    size_t room;
    int n = dync__optim_params(m, &params, &room);
    if (n < 0) return NULL;
    bool before = dync_grad_mode_push(false);
    dync_scope scope = dync_scope_begin();
    dync_tensor *norm = dync__clip_grads(n, params, max_norm);
    if (norm) dync_escape(norm);
    dync_scope_end(&scope);
    dync_grad_mode_pop(before);
    dync__free(params, room);
    return norm;
}
