/* nn/optim_step.c: a step by its kind, learning rate and state, the norm of gradients. Before:
 * optim.c. */
#include "../dync.in.h"
#include "nn.h"
#include "optim.h"
DYNC__COLD

/* ---- stepping -------------------------------------------------------------------------------- */

/* g += decay p; first = momentum first + g; p -= lr first, or with Nesterov lr (g + momentum
 * first). */
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

/* What parameters share that have taken t steps: lr / (1 - b1^t) and sqrt(1 - b2^t). */
static dync_status dync__optim_numbers_at(const dync__optim_group *g, dync_tensor *t,
                                          dync__optim_numbers *k)
{
    k->step_size = dync_div(dync__handle(g->lr), dync_sub(1, dync_pow(g->opt.beta1, t)));
    k->root2 = dync_sqrt(dync_sub(1, dync_pow(g->opt.beta2, t)));
    return k->step_size && k->root2 ? DYNC_OK : DYNC_ERR_MEMORY;
}

/* Captured steps rely on which parameters have been passed by: with another tensor for the rate
 * they are captured again. */
DYNC__RARE static dync_status dync__optim_renew(dync__optim_group *g)
{
    dync__tensor *lr = dync__tensor_empty(g->lr->dtype, g->lr->device, &g->lr->lay);
    if (!lr) return DYNC_ERR_MEMORY;
    memcpy(dync__tensor_data(lr), dync__tensor_data(g->lr), dync__dtype_info(lr->dtype)->bytes);
    dync__unref(g->lr);
    g->lr = lr;
    return DYNC_OK;
}

static bool dync__optim_moves(const dync__optim *o, int slot)
{
    return dync__grad_read(dync__handle(o->slot.at[slot].param), true) != NULL;
}

/* One more step for the parameters [begin, end) of the group that it passes by. */
static dync_status dync__optim_late(const dync__optim_group *g, int begin, int end)
{
    dync_tensor *part = dync_slice(dync__handle(g->late), 0, begin, end, 1);
    if (dync_add_(part, 1)) return DYNC_OK;
    return dync_error() != DYNC_OK ? dync_error() : DYNC_ERR_INTERNAL;
}

/* Adam counts the steps of each parameter: one without a gradient takes none. Parameters that
 * stand side by side are counted together. */
static dync_status dync__optim_pass_by(dync__optim *o, dync__optim_group *g)
{
    bool renew = false;
    int since = g->begin; /* the first of those side by side */
    for (int i = g->begin; i < g->end; i++)
        renew = renew || (!o->slot.at[i].passed && !dync__optim_moves(o, i));
    if (renew) DYNC__TRY(dync__optim_renew(g));
    for (int i = g->begin; i <= g->end; i++) {
        bool stays = i < g->end && !dync__optim_moves(o, i);
        if (stays) o->slot.at[i].passed = true;
        if (stays) continue;
        if (since < i) DYNC__TRY(dync__optim_late(g, since - g->begin, i - g->begin));
        since = i + 1;
    }
    return DYNC_OK;
}

static dync_status dync__adam_begin(dync__optim *o, dync__optim_group *g, dync__optim_numbers *k)
{
    DYNC__TRY(dync__optim_pass_by(o, g));
    k->lr = dync__handle(g->lr); /* which may be another now */
    return dync__optim_numbers_at(g, dync_add_(dync__handle(g->steps), 1), k);
}

static dync_status dync__adam_own(const dync__optim_group *g, int at, dync__optim_numbers *k)
{
    dync_tensor *late = dync_select(dync__handle(g->late), 0, at);
    return dync__optim_numbers_at(g, dync_sub(dync__handle(g->steps), late), k);
}

/* A parameter without a gradient is left alone. A scope for each: temporaries of one parameter are
 * gone before the next. */
static dync_status dync__optim_step_group(dync__optim *o, dync__optim_group *group)
{
    const dync__optim_way *way = o->way;
    dync__optim_numbers k = {.lr = dync__handle(group->lr)}, own;
    if (way->begin) DYNC__TRY(way->begin(o, group, &k));
    for (int i = group->begin; i < group->end; i++) {
        dync_tensor *g = dync__grad_read(dync__handle(o->slot.at[i].param), true), *done = NULL;
        if (!g) continue;
        dync_scope scope = dync_scope_begin();
        own = k;
        if (!o->slot.at[i].passed || way->own(group, i - group->begin, &own) == DYNC_OK)
            done = way->step(o->kind, &group->opt, &o->slot.at[i], g, &own);
        dync_scope_end(&scope);
        if (!done) return dync_error() != DYNC_OK ? dync_error() : DYNC_ERR_INTERNAL;
    }
    return DYNC_OK;
}

/* ---- the kinds ------------------------------------------------------------------------------- */
static const dync__optim_way dync__sgd_way = {.step = dync__sgd_step},
                             dync__adam_way = {dync__adam_step, dync__adam_begin, dync__adam_own};

static const dync__optim_way *dync__optim_way_of(dync_optim_kind kind)
{
    return kind == DYNC_OPTIM_SGD ? &dync__sgd_way : &dync__adam_way;
}

DYNC__RARE DYNC_API dync_optim *dync_optim_new(dync_optim_kind kind, int n,
                                               dync_tensor *const *params,
                                               dync_optim_options options)
{
    return dync__optim_make(kind, dync__optim_way_of(kind), n, params, options);
}

DYNC__RARE DYNC_API dync_optim *dync_optim_of(dync_optim_kind kind, dync_module *m,
                                              dync_optim_options options)
{
    return dync__optim_make_of(kind, dync__optim_way_of(kind), m, options);
}

DYNC__RARE DYNC_API dync_optim *dync__sgd_of(dync_module *m, dync_optim_options options)
{
    return dync__optim_make_of(DYNC_OPTIM_SGD, &dync__sgd_way, m, options);
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
    if (!(lr >= 0))
        return dync__fail(DYNC_ERR_VALUE, "%s: expected a rate >= 0, got %g", who,
                          dync__float_told(lr));
    if (from < 0 || to > o->group.n)
        return dync__fail(DYNC_ERR_VALUE, "%s: group %d of %d", who, from, o->group.n);
    dync_scope scope = dync_scope_begin();
    bool done = true;
    for (int i = from; i < to; i++) done &= dync_fill_(dync__handle(o->group.at[i].lr), lr) != NULL;
    dync_scope_end(&scope);
    return done ? DYNC_OK : dync_error();
}

DYNC__RARE DYNC_API dync_status(dync_optim_set_lr)(dync_optim *handle, dync_real lr)
{
    const dync__optim *o = dync__optim_open(handle, "dync_optim_set_lr");
    return o ? dync__optim_set_lr(o, "dync_optim_set_lr", 0, o->group.n, lr) : DYNC_ERR_VALUE;
}

DYNC__RARE DYNC_API dync_status(dync_optim_set_group_lr)(dync_optim *handle, int group,
                                                         dync_real lr)
{
    const dync__optim *o = dync__optim_open(handle, "dync_optim_set_group_lr");
    return o ? dync__optim_set_lr(o, "dync_optim_set_group_lr", group,
                                  group < o->group.n ? group + 1 : INT32_MAX, lr)
             : DYNC_ERR_VALUE;
}

/* Order: rate and counts of each group, then first and second of each parameter, as files store
 * them. */
DYNC__RARE DYNC__FN dync__tensor *dync__optim_state(const dync__optim *o, int i, char name[40])
{
    static const char *const names[3] = {"lr", "steps", "late"};
    const int per = o->kind == DYNC_OPTIM_SGD ? 2 : 3;
    if (i < per * o->group.n) {
        const dync__optim_group *g = &o->group.at[i / per];
        dync__format(name, 40, "group%d.%s", i / per, names[i % per]);
        return i % per == 2 ? g->late : i % per ? g->steps : g->lr;
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

/* What stands in the state was read from a file. */
DYNC__RARE DYNC__FN dync_status dync__optim_loaded(dync__optim *o)
{
    for (int i = 0; i < o->group.n; i++) {
        dync__optim_group *g = &o->group.at[i];
        const dync_real *late = g->late ? dync__tensor_data(g->late) : NULL;
        bool first = false;
        for (int k = g->begin; late && k < g->end; k++) {
            bool passed = late[k - g->begin] > 0;
            first = first || (passed && !o->slot.at[k].passed);
            o->slot.at[k].passed = o->slot.at[k].passed || passed;
        }
        if (first) DYNC__TRY(dync__optim_renew(g));
    }
    return DYNC_OK;
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

DYNC_API dync_tensor *(dync_clip_grad_norm)(dync_module * handle, dync_real max_norm)
{
    const dync__module *m = dync__module_open(handle, "dync_clip_grad_norm");
    if (!m) return NULL;
    if (!(max_norm >= 0))
        return dync__fail(DYNC_ERR_VALUE, "dync_clip_grad_norm: expected a norm >= 0, got %g",
                          dync__float_told(max_norm)),
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
