/* nn/optim.c: SGD, Adam, AdamW, and the norm of gradients. After layers.c.
 *
 * A step is operator calls in place with grad mode off: parameters, moments, the count of steps and
 * the learning rate are tensors, so a step inside a traced function is captured like any other code
 * and later sees the values of then. Nothing stays behind but the state. Formulas: PyTorch's
 * torch.optim; Kingma & Ba 2015, arXiv:1412.6980; Loshchilov & Hutter 2019, arXiv:1711.05101. */
#include "../dync.in.h"
#include "nn.h"
DYNC__COLD

/* owned; moments NULL where not used */
typedef struct dync__optim_slot {
    dync__tensor *param, *first, *second;
} dync__optim_slot;
/* Parameters with options of their own: slots [begin, end). */
typedef struct dync__optim_group {
    dync_optim_options opt;
    int begin, end;
    dync__tensor *lr, *steps; /* 0-dim, F64 */
} dync__optim_group;
struct dync__optim {
    dync__root root;
    dync_optim_kind kind;
    DYNC__VEC(dync__optim_slot) slot;
    DYNC__VEC(dync__optim_group) group;
};

/* ---- making ---------------------------------------------------------------------------------- */

/* Zero means "not given" in the options. */
DYNC__RARE static double dync__optim_default(double x, double otherwise)
{
    return x > 0 || x < 0 ? x : otherwise;
}

/* The tensor of a handle with a reference for the optimizer; NULL passes. */
DYNC__RARE static dync__tensor *dync__optim_own(dync_tensor *handle)
{
    dync__tensor *t = handle ? dync__open(handle) : NULL;
    if (t) dync__ref(t);
    return t;
}

/* A number that later steps change is a tensor: a captured step reads what it holds at the time. */
DYNC__RARE static dync__tensor *dync__optim_number(double x)
{
    dync_make make = {0};
    make.dtype = DYNC_F64;
    return dync__optim_own(dync_full_opt(dync_v_float(x), make));
}

/* What PyTorch's constructors refuse, after defaults are filled in. */
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

/* first: momentum of SGD, mean of Adam; second: Adam's mean of squares. On failure *s holds what
 * was made so far, for dync__optim_slot_end. A parameter is in one slot at most. */
DYNC__RARE static dync_status dync__optim_slot_make(const dync__optim *o,
                                                    const dync_optim_options *opt,
                                                    dync__optim_slot *s, dync_tensor *param)
{
    dync__tensor *t = dync__open(param);
    if (!t) return DYNC_ERR_VALUE;
    for (int i = 0; i < o->slot.n; i++)
        if (o->slot.at[i].param == t)
            return dync__fail(DYNC_ERR_VALUE, "some parameters appear in more than one parameter "
                                              "group, or twice in one");
    if (!dync__tensor_is_leaf(t))
        return dync__fail(DYNC_ERR_VALUE, "can't optimize a non-leaf "
                                          "Tensor");
    dync__ref(t);
    s->param = t;
    bool first = o->kind != DYNC_OPTIM_SGD || opt->momentum > 0, second = o->kind != DYNC_OPTIM_SGD;
    if (first && !(s->first = dync__optim_own(dync_zeros_like(param)))) return DYNC_ERR_MEMORY;
    if (second && !(s->second = dync__optim_own(dync_zeros_like(param)))) return DYNC_ERR_MEMORY;
    return DYNC_OK;
}

/* NULL passes for moments that are not used. */
static void dync__optim_slot_end(dync__optim_slot *s)
{
    dync__unref(s->param);
    dync__unref(s->first);
    dync__unref(s->second);
}

/* Of the last group: its slots stand last. */
static void dync__optim_group_end(dync__optim *o, dync__optim_group *g)
{
    while (o->slot.n > g->begin) dync__optim_slot_end(&o->slot.at[--o->slot.n]);
    dync__unref(g->lr);
    dync__unref(g->steps);
}

/* Options that are zero take the place that `otherwise` gives. */
DYNC__RARE static void dync__optim_inherit(dync_optim_options *o,
                                           const dync_optim_options *otherwise)
{
    o->lr = dync__optim_default(o->lr, otherwise->lr);
    o->momentum = dync__optim_default(o->momentum, otherwise->momentum);
    o->nesterov |= otherwise->nesterov;
    o->weight_decay = dync__optim_default(o->weight_decay, otherwise->weight_decay);
    o->beta1 = dync__optim_default(o->beta1, otherwise->beta1);
    o->beta2 = dync__optim_default(o->beta2, otherwise->beta2);
    o->eps = dync__optim_default(o->eps, otherwise->eps);
}

/* The whole group or nothing. The first group starts from the usual options, others from those of
 * the first. */
DYNC__RARE static dync_status dync__optim_group_add(dync__optim *o, int n,
                                                    dync_tensor *const *params,
                                                    dync_optim_options options)
{
    static const dync_optim_options usual = {.lr = 1e-3, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8};
    dync_optim_options otherwise = o->group.n ? o->group.at[0].opt : usual;
    if (!o->group.n && o->kind == DYNC_OPTIM_ADAMW) otherwise.weight_decay = 1e-2;
    dync__optim_inherit(&options, &otherwise);
    if (n < 1 || !params)
        return dync__fail(DYNC_ERR_VALUE, "optimizer got an empty parameter list");
    DYNC__TRY(dync__optim_check(o->kind, &options));
    dync__optim_group g = {.opt = options, .begin = o->slot.n};
    dync_scope scope = dync_scope_begin();
    g.lr = dync__optim_number(options.lr);
    g.steps = dync__optim_number(0);
    dync_status status = g.lr && g.steps ? DYNC_OK : DYNC_ERR_MEMORY;
    for (int i = 0; status == DYNC_OK && i < n; i++) {
        dync__optim_slot s = {0};
        status = dync__optim_slot_make(o, &options, &s, params[i]);
        if (status == DYNC_OK && !dync__vec_push(&o->slot, s)) status = DYNC_ERR_MEMORY;
        if (status != DYNC_OK) dync__optim_slot_end(&s);
    }
    g.end = o->slot.n;
    if (status == DYNC_OK && !dync__vec_push(&o->group, g)) status = DYNC_ERR_MEMORY;
    if (status != DYNC_OK) dync__optim_group_end(o, &g);
    dync_scope_end(&scope);
    return status;
}

static void dync__optim_free(dync__optim *o)
{
    if (!o) return;
    dync__object_end(&o->root.object);
    dync__root_set(&o->root, NULL);
    while (o->group.n) {
        dync__optim_group_end(o, &o->group.at[o->group.n - 1]);
        o->group.n--;
    }
    dync__vec_free(&o->slot);
    dync__vec_free(&o->group);
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
    dync__optim *o = dync__calloc(sizeof *o);
    if (!o) return NULL;
    dync__root_set(&o->root, dync__optim_end);
    o->kind = kind;
    dync__object_made(&o->root.object);
    dync_optim *handle =
        dync__optim_group_add(o, n, params, options) == DYNC_OK ? dync__optim_handle(o) : NULL;
    if (handle) return handle;
    dync__optim_free(o);
    return NULL;
}

DYNC__RARE DYNC_API dync_status dync_optim_add_group(dync_optim *handle, int n,
                                                     dync_tensor *const *params,
                                                     dync_optim_options options)
{
    dync__optim *o = dync__optim_open(handle, "dync_optim_add_group");
    return o ? dync__optim_group_add(o, n, params, options) : DYNC_ERR_VALUE;
}

/* The parameters of m, each once, also where two modules share one; room: bytes of *out, to be
 * freed. -1: no memory. */
DYNC__RARE static int dync__optim_params(const dync__module *m, dync_tensor ***out, size_t *room)
{
    int all = dync__module_parameters(m, NULL, 0), n = 0;
    *room = (size_t)all * sizeof **out + 1;
    if (!(*out = dync__alloc(*room))) return -1;
    dync__module_parameters(m, *out, all);
    for (int i = 0; i < all; i++) {
        bool again = false;
        for (int k = 0; k < n && !again; k++) again = (*out)[k] == (*out)[i];
        if (!again) (*out)[n++] = (*out)[i];
    }
    return n;
}

DYNC__RARE DYNC_API dync_optim *dync_optim_of(dync_optim_kind kind, dync_module *module,
                                              dync_optim_options options)
{
    const dync__module *m = dync__module_open(module, "dync_optim");
    dync_tensor **params;
    size_t room;
    int n = m ? dync__optim_params(m, &params, &room) : -1;
    if (n < 0) return NULL;
    dync_optim *o = dync_optim_new(kind, n, params, options);
    dync__free(params, room);
    return o;
}

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
