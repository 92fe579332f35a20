/* nn/optim.c: SGD, Adam, AdamW. After layers.c, the last of this folder.
 *
 * A step is operator calls in place with grad mode off: parameters, moments, the count of steps and
 * the learning rate are tensors, so a step inside a traced function is captured like any other code
 * and later sees the values of then. Nothing stays behind but the state. Formulas: PyTorch's
 * torch.optim; Kingma & Ba 2015, arXiv:1412.6980; Loshchilov & Hutter 2019, arXiv:1711.05101. */
#include "../dync.in.h"
#include "nn.h"

/* owned; moments NULL where not used */
typedef struct dync__optim_slot {
    dync__tensor *param, *first, *second;
} dync__optim_slot;
struct dync__optim {
    dync__root root;
    dync_optim_kind kind;
    dync_optim_options opt;
    int n;
    dync__optim_slot *slot;
    dync__tensor *lr, *steps; /* 0-dim, F64 */
};

/* ---- making ---------------------------------------------------------------------------------- */

DYNC__RARE static double dync__optim_default(double x, double otherwise)
{
    return x > 0 || x < 0 ? x : otherwise;
}

DYNC__RARE static dync__tensor *dync__optim_own(dync_tensor *handle)
{
    dync__tensor *t = handle ? dync__open(handle) : NULL;
    if (t) dync__ref(t);
    return t;
}

DYNC__RARE static dync__tensor *dync__optim_number(double x)
{
    dync_make make = {0};
    make.dtype = DYNC_F64;
    return dync__optim_own(dync_full_opt(dync_v_float(x), make));
}

DYNC__RARE static dync_status dync__optim_check(dync_optim_kind kind, const dync_optim_options *o)
{
    bool betas = o->beta1 >= 0 && o->beta1 < 1 && o->beta2 >= 0 && o->beta2 < 1;
    if (kind != DYNC_OPTIM_SGD && kind != DYNC_OPTIM_ADAM && kind != DYNC_OPTIM_ADAMW)
        return dync__fail(DYNC_ERR_VALUE, "dync_optim: unknown kind %d", (int)kind);
    if (!(o->lr >= 0))
        return dync__fail(DYNC_ERR_VALUE, "dync_optim: invalid learning rate: %g", o->lr);
    if (!(o->momentum >= 0))
        return dync__fail(DYNC_ERR_VALUE, "dync_optim: invalid momentum value: %g", o->momentum);
    if (!betas)
        return dync__fail(DYNC_ERR_VALUE,
                          "dync_optim: invalid betas: %g, %g; expected 0 <= beta < 1", o->beta1,
                          o->beta2);
    if (!(o->eps >= 0))
        return dync__fail(DYNC_ERR_VALUE, "dync_optim: invalid epsilon value: %g", o->eps);
    if (o->nesterov && !(o->momentum > 0))
        return dync__fail(DYNC_ERR_VALUE, "dync_optim: "
                                          "nesterov momentum "
                                          "requires a momentum");
    return DYNC_OK;
}

DYNC__RARE static dync_status dync__optim_slot_make(const dync__optim *o, dync__optim_slot *s,
                                                    dync_tensor *param)
{
    dync__tensor *t = dync__open(param);
    if (!t) return DYNC_ERR_VALUE;
    if (!dync__tensor_is_leaf(t))
        return dync__fail(DYNC_ERR_VALUE, "can't optimize a non-leaf "
                                          "Tensor");
    dync__ref(t);
    s->param = t;
    bool first = o->kind != DYNC_OPTIM_SGD || o->opt.momentum > 0,
         second = o->kind != DYNC_OPTIM_SGD;
    if (first && !(s->first = dync__optim_own(dync_zeros_like(param)))) return DYNC_ERR_MEMORY;
    if (second && !(s->second = dync__optim_own(dync_zeros_like(param)))) return DYNC_ERR_MEMORY;
    return DYNC_OK;
}

DYNC__RARE static dync_status dync__optim_fill(dync__optim *o, dync_tensor *const *params)
{
    dync_scope scope = dync_scope_begin();
    dync_status status = DYNC_OK;
    o->lr = dync__optim_number(o->opt.lr);
    o->steps = dync__optim_number(0);
    if (!o->lr || !o->steps) status = DYNC_ERR_MEMORY;
    for (int i = 0; status == DYNC_OK && i < o->n; i++)
        status = dync__optim_slot_make(o, &o->slot[i], params[i]);
    dync_scope_end(&scope);
    return status;
}

static void dync__optim_free(dync__optim *o)
{
    if (!o) return;
    dync__object_end(&o->root.object);
    dync__root_set(&o->root, NULL);
    for (int i = 0; o->slot && i < o->n; i++) {
        dync__unref(o->slot[i].param);
        dync__unref(o->slot[i].first);
        dync__unref(o->slot[i].second);
    }
    dync__unref(o->lr);
    dync__unref(o->steps);
    dync__free(o->slot, o->slot ? (size_t)o->n * sizeof *o->slot : 0);
    dync__free(o, sizeof *o);
}

DYNC__RARE DYNC_API void dync_optim_free(dync_optim *o)
{
    if (o) dync__optim_free(dync__optim_open(o, "dync_optim_free"));
}

static void dync__optim_end(dync__root *r) { dync__optim_free((dync__optim *)(void *)r); }

DYNC__RARE DYNC_API dync_optim *dync_optim_new(dync_optim_kind kind, int n,
                                               dync_tensor *const *params,
                                               dync_optim_options options)
{
    options.lr = dync__optim_default(options.lr, 1e-3);
    options.beta1 = dync__optim_default(options.beta1, 0.9);
    options.beta2 = dync__optim_default(options.beta2, 0.999);
    options.eps = dync__optim_default(options.eps, 1e-8);
    if (kind == DYNC_OPTIM_ADAMW)
        options.weight_decay = dync__optim_default(options.weight_decay, 1e-2);
    if (n < 1 || !params)
        return dync__fail(DYNC_ERR_VALUE, "optimizer got an empty parameter list"), NULL;
    if (dync__optim_check(kind, &options) != DYNC_OK) return NULL;
    dync__optim *o = dync__calloc(sizeof *o);
    if (!o) return NULL;
    dync__root_set(&o->root, dync__optim_end);
    o->kind = kind;
    o->opt = options;
    o->n = n;
    o->slot = dync__calloc((size_t)n * sizeof *o->slot);
    dync__object_made(&o->root.object);
    dync_optim *handle = o->slot && dync__optim_fill(o, params) == DYNC_OK ? dync__optim_handle(o)
                                                                           : NULL;
    if (handle) return handle;
    dync__optim_free(o);
    return NULL;
}

DYNC__RARE DYNC_API dync_optim *dync_optim_of(dync_optim_kind kind, dync_module *module,
                                              dync_optim_options options)
{
    const dync__module *m = dync__module_open(module, "dync_optim");
    if (!m) return NULL;
    int n = dync__module_parameters(m, NULL, 0);
    dync_tensor **params = dync__alloc((size_t)n * sizeof *params + 1);
    if (!params) return NULL;
    dync__module_parameters(m, params, n);
    dync_optim *o = dync_optim_new(kind, n, params, options);
    dync__free(params, (size_t)n * sizeof *params + 1);
    return o;
}

/* ---- stepping -------------------------------------------------------------------------------- */

/* Numbers of one step, 0-dim: made once for all parameters. */
typedef struct dync__optim_numbers {
    dync_tensor *lr, *step_size, *root2;
} dync__optim_numbers;

static dync_tensor *dync__sgd_step(const dync__optim *o, const dync__optim_slot *s, dync_tensor *g,
                                   const dync__optim_numbers *k)
{
    dync_tensor *p = dync__handle(s->param), *first = dync__handle(s->first);
    if (o->opt.weight_decay > 0) g = dync_add(g, dync_mul(p, o->opt.weight_decay));
    if (first) {
        if (!dync_add_(dync_mul_(first, o->opt.momentum), g)) return NULL;
        g = o->opt.nesterov ? dync_add(g, dync_mul(first, o->opt.momentum)) : first;
    }
    return dync_sub_(p, dync_mul(g, k->lr));
}

/* m = b1 m + (1 - b1) g; v = b2 v + (1 - b2) g^2; p -= lr / (1 - b1^t) m / (sqrt(v) / sqrt(1 -
 * b2^t) + eps) */
static dync_tensor *dync__adam_step(const dync__optim *o, const dync__optim_slot *s, dync_tensor *g,
                                    const dync__optim_numbers *k)
{
    dync_tensor *p = dync__handle(s->param), *m = dync__handle(s->first),
                *v = dync__handle(s->second);
    double decay = o->opt.weight_decay;
    if (decay > 0 && o->kind == DYNC_OPTIM_ADAM) g = dync_add(g, dync_mul(p, decay));
    if (decay > 0 && o->kind == DYNC_OPTIM_ADAMW &&
        !dync_mul_(p, dync_sub(1, dync_mul(k->lr, decay))))
        return NULL;
    if (!dync_lerp_(m, g, 1 - o->opt.beta1)) return NULL;
    if (!dync_addcmul_(dync_mul_(v, o->opt.beta2), g, g, 1 - o->opt.beta2)) return NULL;
    dync_tensor *over = dync_add(dync_div(dync_sqrt(v), k->root2), o->opt.eps);
    return dync_sub_(p, dync_mul(dync_div(m, over), k->step_size));
}

static dync_status dync__optim_numbers_make(const dync__optim *o, dync__optim_numbers *k)
{
    k->lr = dync__handle(o->lr);
    k->step_size = k->root2 = k->lr;
    if (o->kind == DYNC_OPTIM_SGD) return DYNC_OK;
    dync_tensor *t = dync_add_(dync__handle(o->steps), 1);
    k->step_size = dync_div(k->lr, dync_sub(1, dync_pow(o->opt.beta1, t)));
    k->root2 = dync_sqrt(dync_sub(1, dync_pow(o->opt.beta2, t)));
    return k->step_size && k->root2 ? DYNC_OK : DYNC_ERR_MEMORY;
}

static dync_status dync__optim_step_all(dync__optim *o)
{
    dync__optim_numbers k;
    DYNC__TRY(dync__optim_numbers_make(o, &k));
    for (int i = 0; i < o->n; i++) {
        dync_tensor *g = dync__grad_read(dync__handle(o->slot[i].param), true);
        if (!g) continue;
        dync_scope scope = dync_scope_begin();
        dync_tensor *done =
            (o->kind == DYNC_OPTIM_SGD ? dync__sgd_step : dync__adam_step)(o, &o->slot[i], g, &k);
        dync_scope_end(&scope);
        if (!done) return dync_error() != DYNC_OK ? dync_error() : DYNC_ERR_INTERNAL;
    }
    return DYNC_OK;
}

DYNC_API dync_status(dync_optim_step)(dync_optim *handle)
{
    dync__optim *o = dync__optim_open(handle, "dync_optim_step");
    if (!o) return DYNC_ERR_VALUE;
    bool before = dync_grad_mode_push(false);
    dync_scope scope = dync_scope_begin();
    dync_status status = dync__optim_step_all(o);
    dync_scope_end(&scope);
    dync_grad_mode_pop(before);
    return status;
}

DYNC_API void dync_optim_zero_grad(dync_optim *handle)
{
    const dync__optim *o = dync__optim_open(handle, "dync_optim_zero_grad");
    for (int i = 0; o && i < o->n; i++) dync_set_grad(dync__handle(o->slot[i].param), NULL);
}

DYNC__RARE DYNC_API dync_status dync_optim_set_lr(dync_optim *handle, double lr)
{
    const dync__optim *o = dync__optim_open(handle, "dync_optim_set_lr");
    if (!o) return DYNC_ERR_VALUE;
    if (!(lr >= 0))
        return dync__fail(DYNC_ERR_VALUE, "dync_optim_set_lr: expected a rate >= 0, got %g", lr);
    dync_scope scope = dync_scope_begin();
    dync_tensor *done = dync_fill_(dync__handle(o->lr), lr);
    dync_scope_end(&scope);
    return done ? DYNC_OK : dync_error();
}
