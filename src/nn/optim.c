/* nn/optim.c: SGD, Adam, AdamW, and the norm of gradients. After init.c.
 *
 * A step is operator calls in place with grad mode off: parameters, moments, the count of steps and
 * the learning rate are tensors, so a step inside a traced function is captured like any other code
 * and later sees the values of then. Nothing stays behind but the state. Formulas: PyTorch's
 * torch.optim; Kingma & Ba 2015, arXiv:1412.6980; Loshchilov & Hutter 2019, arXiv:1711.05101. */
#include "../dync.in.h"
#include "nn.h"
#include "optim.h"
DYNC__COLD

/* ---- making ---------------------------------------------------------------------------------- */

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
    make.dtype = (dync_dtype)DYNC__REAL;
    return dync__optim_own(DYNC__MAKER(full)(dync_v_float(x), make));
}

DYNC__RARE static dync_status dync__optim_least(const char *what, double x)
{
    if (x >= 0) return DYNC_OK;
    return dync__fail(DYNC_ERR_VALUE, "dync_optim: invalid %s: %g", what, dync__float_told(x));
}

/* What PyTorch's constructors refuse, after defaults are filled in. */
DYNC__RARE static dync_status dync__optim_check(dync_optim_kind kind, const dync_optim_options *o)
{
    bool betas = o->beta1 >= 0 && o->beta1 < 1 && o->beta2 >= 0 && o->beta2 < 1;
    if (kind != DYNC_OPTIM_SGD && kind != DYNC_OPTIM_ADAM && kind != DYNC_OPTIM_ADAMW)
        return dync__fail(DYNC_ERR_VALUE, "dync_optim: unknown kind %d", (int)kind);
    DYNC__TRY(dync__optim_least("learning rate", o->lr));
    DYNC__TRY(dync__optim_least("momentum value", o->momentum));
    if (!betas)
        return dync__fail(DYNC_ERR_VALUE,
                          "dync_optim: invalid betas: %g, %g; expected 0 <= beta < 1",
                          dync__float_told(o->beta1), dync__float_told(o->beta2));
    DYNC__TRY(dync__optim_least("epsilon value", o->eps));
    /* below 0: none; NaN is neither */
    DYNC__TRY(dync__optim_least("weight_decay value", o->weight_decay < 0 ? 0 : o->weight_decay));
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
    dync__unref(g->late);
}

/* Options that are zero take the place that `otherwise` gives; NaN is given. */
DYNC__RARE static void dync__optim_inherit(dync_optim_options *o,
                                           const dync_optim_options *otherwise)
{
    static const uint8_t number[] = {
        offsetof(dync_optim_options, lr),           offsetof(dync_optim_options, momentum),
        offsetof(dync_optim_options, weight_decay), offsetof(dync_optim_options, beta1),
        offsetof(dync_optim_options, beta2),        offsetof(dync_optim_options, eps)};
    for (int i = 0; i < DYNC__COUNT_OF(number); i++) {
        dync_real x;
        memcpy(&x, (char *)o + number[i], sizeof x);
        if (x <= 0 && x >= 0)
            memcpy((char *)o + number[i], (const char *)otherwise + number[i], sizeof x);
    }
    o->nesterov |= otherwise->nesterov;
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
    dync_make late = {.shape = {1, {n}}, .dtype = (dync_dtype)DYNC__REAL};
    if (o->kind != DYNC_OPTIM_SGD) g.late = dync__optim_own(DYNC__MAKER(zeros)(late));
    dync_status status = g.lr && g.steps && (g.late || o->kind == DYNC_OPTIM_SGD) ? DYNC_OK
                                                                                  : DYNC_ERR_MEMORY;
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

/* Among all optimizers that there are, by the memory: an export holds aliases. */
typedef struct dync__optim_search {
    const dync__tensor *t;
    dync__optim_place place;
} dync__optim_search;

static void dync__optim_is(dync__optim_search *f, const dync__tensor *t, const char *role,
                           int group, const dync__tensor *param)
{
    if (t && t->storage == f->t->storage) f->place = (dync__optim_place){role, group, param};
}

static void dync__optim_look(const dync__optim *o, dync__optim_search *user)
{
    bool sgd = o->kind == DYNC_OPTIM_SGD;
    for (int i = 0; i < o->group.n; i++) {
        const dync__optim_group *g = &o->group.at[i];
        dync__optim_is(user, g->lr, "lr", i, NULL);
        dync__optim_is(user, g->steps, "steps", i, NULL);
        dync__optim_is(user, g->late, "late", i, NULL);
    }
    for (int i = 0; i < o->slot.n; i++) {
        const dync__optim_slot *s = &o->slot.at[i];
        dync__optim_is(user, s->first, sgd ? "momentum" : "exp_avg", 0, s->param);
        dync__optim_is(user, s->second, "exp_avg_sq", 0, s->param);
    }
}

DYNC__RARE DYNC__FN dync__optim_place dync__optim_find(const dync__tensor *t)
{
    dync__optim_search f = {.t = t};
    for (int c = 0; c < DYNC__OBJECT_CHUNKS; c++) {
        const dync__object_slot *s = DYNC__ATOMIC_LOAD(&dync__object_slot_chunks[c]);
        for (int i = 0; s && i < 1 << DYNC__CHUNK_BITS; i++)
            if (s[i].object && s[i].kind == DYNC__OBJECT_OPTIM) dync__optim_look(s[i].object, &f);
    }
    return f.place;
}

DYNC__RARE DYNC__FN dync_optim *dync__optim_make(dync_optim_kind kind, const dync__optim_way *way,
                                                 int n, dync_tensor *const *params,
                                                 dync_optim_options options)
{
    DYNC__NEEDS(DYNC_NO_AUTOGRAD, "an optimizer", NULL);
    dync__optim *o = dync__calloc(sizeof *o);
    if (!o) return NULL;
    dync__root_set(&o->root, dync__optim_end);
    o->kind = kind;
    o->way = way;
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
DYNC__RARE DYNC__FN int dync__optim_params(const dync__module *m, dync_tensor ***out, size_t *room)
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

DYNC__RARE DYNC__FN dync_optim *dync__optim_make_of(dync_optim_kind kind,
                                                    const dync__optim_way *way, dync_module *module,
                                                    dync_optim_options options)
{
    const dync__module *m = dync__module_open(module, "dync_optim");
    dync_tensor **params;
    size_t room;
    int n = m ? dync__optim_params(m, &params, &room) : -1;
    if (n < 0) return NULL;
    dync_optim *o = dync__optim_make(kind, way, n, params, options);
    dync__free(params, room);
    return o;
}
