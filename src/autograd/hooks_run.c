/* autograd/hooks_run.c: runs hooks: engine_run.c calls it around every node. After node.c, before
 * hooks.c, which registers them. */
#include "../dync.in.h"
#include "node.h"
DYNC__COLD

static DYNC__TLS dync__walk_record *dync__walk_recorder;

DYNC__FN dync__walk_record *dync__walk_record_now(void) { return dync__walk_recorder; }
DYNC__FN dync__walk_record *dync__walk_record_set(dync__walk_record *r)
{
    dync__walk_record *before = dync__walk_recorder;
    dync__walk_recorder = r;
    return before;
}

DYNC__FN const dync__hook_list *dync__gnode_hooks(const dync__gnode *node)
{
    static const dync__hook_list none = {NULL, 0, 0};
    if (!dync__gnode_is_accumulate(node)) return &node->hook;
    const dync__tensor *leaf = dync__gnode_leaf(node);
    return leaf->grad ? &leaf->grad->hook : &none;
}

/* What a hook gives is of the form of what it got. */
static dync_status dync__hook_fits(const dync__tensor *grad, const dync__tensor *given)
{
    if (given->lay.ndim != grad->lay.ndim ||
        !dync__sz_same(grad->lay.ndim, grad->lay.shape, given->lay.shape)) {
        dync__str s = {0};
        dync__shape_text(&s, grad->lay.ndim, grad->lay.shape);
        dync__str_add(&s, ", got ");
        dync__shape_text(&s, given->lay.ndim, given->lay.shape);
        dync__fail(DYNC_ERR_SHAPE, "hook has changed the size of the gradient: expected %s",
                   dync__str_get(&s));
        dync__str_free(&s);
        return DYNC_ERR_SHAPE;
    }
    if (given->dtype == grad->dtype) return DYNC_OK;
    return dync__fail(DYNC_ERR_DTYPE,
                      "hook has changed the type of the gradient: expected %s, "
                      "got %s",
                      dync__dtype_info(grad->dtype)->name, dync__dtype_info(given->dtype)->name);
}

/* The hooks of this moment: one that adds or removes others does so for the next time. On the
 * stack or the scope's, as one may be left by longjmp. */
typedef struct dync__hooks_taken {
    dync__hook_entry few[8], *at;
    int n;
} dync__hooks_taken;

static dync_status dync__hooks_now(const dync__hook_list *list, dync__hooks_taken *now)
{
    size_t bytes = (size_t)list->n * sizeof *now->at;
    now->n = list->n;
    now->at = list->n <= DYNC__COUNT_OF(now->few) ? now->few : dync__scope_alloc(bytes);
    if (!now->at) return DYNC_ERR_MEMORY;
    if (list->n) memcpy(now->at, list->at, bytes);
    return DYNC_OK;
}

/* Replaces *grad (owned, may be NULL) by what fn returns. */
static dync_status dync__hook_call(const dync__hook_entry *h, dync__tensor **grad)
{
    uint64_t errors = dync__error_count();
    dync__walk_record *r = dync__walk_recorder;
    if (*grad) dync__ref(*grad);
    if (r) r->hook(r, NULL, false);
    dync_tensor *given = dync__give(*grad), *result = h->fn(given, h->user);
    if (r) r->hook(r, result && result != given ? dync__peek(result) : NULL, true);
    if (dync__error_count() != errors && dync_error() != DYNC_OK) return dync_error();
    if (!result || result == given) return DYNC_OK;
    dync__tensor *t = dync__open(result), *before = *grad;
    if (!t) return dync_error() != DYNC_OK ? dync_error() : DYNC_ERR_VALUE;
    if (before) DYNC__TRY(dync__hook_fits(before, t));
    dync__ref(t);
    *grad = t;
    dync__unref(before);
    return DYNC_OK;
}

/* The gradient of a tensor that is no leaf into its .grad; a tensor that is gone is skipped. */
static void dync__hook_retain(const dync__hook_entry *h, dync__tensor *grad)
{
    dync__tensor *t = dync__peek(h->retain);
    if (!t || !t->grad || !grad) return;
    dync__tensor *before = t->grad->grad;
    dync__ref(grad);
    t->grad->grad = grad;
    dync__unref(before);
}

static dync_status dync__hook_before(dync__gnode *node, int i, const dync__hook_entry *h,
                                     dync__tensor **grad)
{
    dync__walk_record *r = dync__walk_recorder;
    if (h->kind == DYNC__HOOK_PRE || (h->kind == DYNC__HOOK_TENSOR && *grad))
        return dync__hook_call(h, grad);
    if (h->kind != DYNC__HOOK_RETAIN) return DYNC_OK;
    if (r && *grad) return r->retain(r, node, i, *grad);
    dync__hook_retain(h, *grad);
    return DYNC_OK;
}

/* Hooks of the node's outputs, in the order in which they were registered: each sees what the one
 * before gave. grad_out[i] may be NULL: tensor hooks are not called then, pre hooks are. */
static dync_status dync__hooks_run_before(dync__gnode *node, dync__tensor **grad_out)
{
    dync__hooks_taken now;
    dync_status status = dync__hooks_now(dync__gnode_hooks(node), &now);
    for (int i = 0; status == DYNC_OK && i < now.n; i++)
        status = dync__hook_before(node, i, &now.at[i], &grad_out[now.at[i].nr]);
    return status;
}

/* A post hook runs once for a run of the node, as its pre hook does: on the first gradient that
 * leaves it. */
static dync_status dync__hooks_run_after(dync__gnode *node, dync__tensor **grad_in)
{
    int first = 0;
    while (first < node->n_in && !grad_in[first]) first++;
    dync__tensor *none = NULL;
    dync__hooks_taken now;
    dync_status status = dync__hooks_now(&node->hook, &now);
    for (int i = 0; status == DYNC_OK && i < now.n; i++)
        if (now.at[i].kind == DYNC__HOOK_POST)
            status = dync__hook_call(&now.at[i], first < node->n_in ? &grad_in[first] : &none);
    dync__unref(none);
    return status;
}

static dync_status dync__hooks_run_accumulated(const dync__gnode *node)
{
    dync__hooks_taken now;
    dync_status status = dync__hooks_now(dync__gnode_hooks(node), &now);
    for (int i = 0; status == DYNC_OK && i < now.n; i++) {
        if (now.at[i].kind != DYNC__HOOK_AFTER) continue;
        uint64_t errors = dync__error_count();
        now.at[i].after(dync__handle(dync__gnode_leaf(node)), now.at[i].user);
        if (dync__error_count() != errors)
            status = dync_error() != DYNC_OK ? dync_error() : DYNC_ERR_RUNTIME;
    }
    return status;
}

/* By need: of who registers one. */
typedef struct dync__hook_runs {
    dync_status (*before)(dync__gnode *, dync__tensor **grad_out);
    dync_status (*after)(dync__gnode *, dync__tensor **grad_in);
    dync_status (*accumulated)(const dync__gnode *);
} dync__hook_runs;
static const dync__hook_runs dync__hook_runs_all = {dync__hooks_run_before, dync__hooks_run_after,
                                                    dync__hooks_run_accumulated};
static const dync__hook_runs *DYNC__BY_NEED dync__hooks_used = DYNC__AT_FIRST(&dync__hook_runs_all);

DYNC__FN void dync__hooks_use(void) { DYNC__PUT(dync__hooks_used, &dync__hook_runs_all); }
DYNC__FN dync_status dync__hooks_before(dync__gnode *node, dync__tensor **grad_out)
{
    return dync__hooks_used ? dync__hooks_used->before(node, grad_out) : DYNC_OK;
}
DYNC__FN dync_status dync__hooks_after(dync__gnode *node, dync__tensor **grad_in)
{
    return dync__hooks_used ? dync__hooks_used->after(node, grad_in) : DYNC_OK;
}
DYNC__FN dync_status dync__hooks_accumulated(const dync__gnode *node)
{
    return dync__hooks_used ? dync__hooks_used->accumulated(node) : DYNC_OK;
}
