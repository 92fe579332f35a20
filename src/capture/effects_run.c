/* capture/effects_run.c: does what a traced function does besides computing to the real tensors of
 * a call. After trace.c, before effects.c. */
#include "../dync.in.h"
#include "trace.h"
#include "../autograd/node.h"
DYNC__COLD

/* Does the walk go on outside? */
static bool dync__effect_goes_on(const dync__effect *e, dync__tensor *const *env)
{
    return e->kind == DYNC__DO_BACKWARD ||
           (e->kind == DYNC__DO_SET_GRAD && e->on && e->value >= 0 && env[e->env] &&
            !dync__tensor_is_leaf(env[e->env]));
}

/* What backward inside the graph came to: the walk goes on outside, from all of it at once, as it
 * may have one history. */
static dync_status dync__effects_backward(const dync__effect *e, int n, dync__tensor *const *env)
{
    dync_grad_options opt = {0};
    int roots = 0, k = 0;
    for (int i = 0; i < n; i++) roots += dync__effect_goes_on(&e[i], env);
    dync_scope scope = dync_scope_begin();
    dync_value x = dync__list_new(roots), grad = dync__list_new(roots);
    bool off = dync__grad_off(false), ok = dync__value_list(x) && dync__value_list(grad);
    for (int i = 0; i < n && ok; i++) {
        if (!dync__effect_goes_on(&e[i], env)) continue;
        ok = env[e[i].env] && env[e[i].value];
        if (!ok) break;
        dync__list_set(x, k, dync_v_tensor(dync__handle(env[e[i].env])));
        dync__list_set(grad, k++, dync_v_tensor(dync__handle(env[e[i].value])));
        opt.retain_graph |= e[i].id != 0;
    }
    dync_status status =
        ok ? (dync_backward_opt)(x, grad, opt)
           : dync__fail(DYNC_ERR_INTERNAL, "an effect of a compiled function lost its tensor");
    dync__grad_off(off);
    dync_scope_end(&scope);
    return status;
}

static dync_status dync__effect_cell(const dync__effect *e, dync__tensor *const *env)
{
    if (e->env >= 0 && !env[e->env])
        return dync__fail(DYNC_ERR_INTERNAL, "a cell of a compiled function lost its value");
    dync__cell *cell = dync__cell_open(e->user, "dync_cell_set");
    if (cell) cell->value = e->env >= 0 ? dync__number_value(env[e->env]) : e->number;
    return cell ? DYNC_OK : DYNC_ERR_VALUE;
}

static dync_status dync__effect_mode(const dync__effect *e)
{
    dync__module *m = dync__module_open(e->user, "dync_module_train");
    if (m) dync__module_set_mode(m, e->on);
    return m ? DYNC_OK : DYNC_ERR_VALUE;
}

/* Those of functions that register hooks, keep gradients or switch what requires them: who does so
 * puts this in place. */
static dync_status dync__effect_rare(const dync__effect *e, dync__tensor *x)
{
    switch ((dync__effect_kind)e->kind) {
    case DYNC__DO_HOOK:
        return e->fn ? dync__hook_register(x, e->fn, e->user, e->id)
                     : dync__hook_register_after(x, e->after_grad, e->user, e->id);
    case DYNC__DO_RETAIN_GRAD: return dync__retain_grad(x);
    case DYNC__DO_SET_GRAD:
    case DYNC__DO_BACKWARD:
    case DYNC__DO_CELL:
    case DYNC__DO_MODE: break;
    case DYNC__DO_REQUIRES_GRAD:
        return dync_requires_grad_(dync__handle(x), e->on) ? DYNC_OK : dync_error();
    }
    return DYNC_OK;
}
static dync_status (*DYNC__BY_NEED dync__effect_rare_used)(const dync__effect *, dync__tensor *) =
    DYNC__AT_FIRST(dync__effect_rare);
DYNC__FN void dync__effects_use_rare(void) { DYNC__PUT(dync__effect_rare_used, dync__effect_rare); }

/* Those that only traces with gradients have. */
static dync_status dync__effect_of_gradients(const dync__effect *e, dync__tensor *const *env)
{
    dync__tensor *x = env[e->env];
    if (!x)
        return dync__fail(DYNC_ERR_INTERNAL, "an effect of a compiled function lost its "
                                             "tensor");
    if (e->kind == DYNC__DO_SET_GRAD)
        return dync__tensor_set_grad(x, e->value >= 0 ? env[e->value] : NULL);
    return dync__effect_rare_used ? dync__effect_rare_used(e, x) : dync__unlinked("hooks");
}

DYNC__UNUSED static const dync__capture_gradients dync__capture_gradients_all = {
    &dync__trace_grads,  dync__effect_of_gradients, dync__effects_backward,
    dync__inplace_check, dync__inplace_quiet,       dync__view_is_quiet};
DYNC__DATA const dync__capture_gradients *dync__capture_gradients_used =
    DYNC__FOR_GRADIENTS(&dync__capture_gradients_all);
DYNC__FN void dync__capture_use_gradients(void)
{
#if defined(DYNC_SMALL) && !defined(DYNC_NO_AUTOGRAD)
    dync__capture_gradients_used = &dync__capture_gradients_all;
#endif
}

static dync_status dync__effect_run(const dync__effect *e, dync__tensor *const *env)
{
    if (e->kind == DYNC__DO_CELL) return dync__effect_cell(e, env);
    if (e->kind == DYNC__DO_MODE) return dync__effect_mode(e);
    return dync__capture_gradients_used->effect(e, env);
}

/* Does effects to the real tensors of a call: in the traced call at its cut, in later ones when
 * they reach this place of the tree. What is set is set before a history outside adds to it. */
DYNC__FN dync_status dync__effects_run(const dync__effect *e, int n, dync__tensor *const *env)
{
    bool any = false;
    for (int i = 0; i < n; i++) {
        bool goes_on = dync__effect_goes_on(&e[i], env);
        any = any || goes_on;
        if (!goes_on) DYNC__TRY(dync__effect_run(&e[i], env));
    }
    return any ? dync__capture_gradients_used->backward(e, n, env) : DYNC_OK;
}
