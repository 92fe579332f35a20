/* autograd/hooks.c: user functions that see gradients on their way: registering them. After
 * hooks_run.c, which runs them, before engine.c.
 *
 * A leaf keeps its hooks itself; those of other tensors stand at the node that made them, with the
 * number of the output, so they stay with the value when the tensor is written in place later. */
#include "../dync.in.h"
#include "node.h"
DYNC__COLD

static int32_t dync__hook_last_id;

/* false: no memory, nothing is added. */
static bool dync__hook_add(dync__hook_list *list, dync__hook_kind kind, int id, int nr,
                           dync_hook fn, void *user, const dync_tensor *retain)
{
    dync__hook_entry h = {0};
    dync__hooks_use();
    h.kind = (uint8_t)kind;
    h.id = id;
    h.nr = nr;
    h.fn = fn;
    h.user = user;
    h.retain = retain;
    return dync__vec_push(list, h);
}

static bool dync__hook_in(const dync__hook_list *list, int id)
{
    for (int i = 0; i < list->n; i++)
        if (list->at[i].id == id) return true;
    return false;
}

/* Every entry of the id: a pre and a post hook share one. */
static bool dync__hook_drop(dync__hook_list *list, int id)
{
    int kept = 0;
    for (int i = 0; i < list->n; i++)
        if (list->at[i].id != id) list->at[kept++] = list->at[i];
    bool found = kept != list->n;
    list->n = kept;
    return found;
}

/* Where t's history stands now, a view's brought up to date. *node is an owned reference; NULL for
 * a leaf, which keeps its hooks itself. */
static dync_status dync__hook_node(dync__tensor *t, dync__gnode **node, int *nr)
{
    dync__gedge edge;
    DYNC__TRY(dync__grad_edge(t, &edge));
    *node = edge.node && !dync__gnode_is_accumulate(edge.node) ? edge.node : NULL;
    *nr = edge.nr;
    if (!*node) dync__gnode_unref(edge.node);
    return DYNC_OK;
}

DYNC__MEETING(hooks)
DYNC__MEETING(late)
static const dync__grad_intercept *dync__hooks_intercept(void)
{
    DYNC__MEET(hooks);
    return dync__grad_traced();
}

DYNC__FN int dync__hook_reserve(void) { return (int)DYNC__ATOMIC_INC(&dync__hook_last_id); }

/* id 0: a new one; else one that capture reserved while it traced the call. */
DYNC__FN dync_status dync__hook_register(dync__tensor *t, dync_hook fn, void *user, int id)
{
    dync__gnode *node = NULL;
    int nr = 0;
    if (!dync__tensor_requires_grad(t))
        return dync__fail(DYNC_ERR_AUTOGRAD, "cannot register a hook on a tensor that doesn't "
                                             "require gradient");
    DYNC__TRY(dync__hook_node(t, &node, &nr));
    bool added = dync__grad_meta_of(t) &&
                 dync__hook_add(node ? &node->hook : &t->grad->hook, DYNC__HOOK_TENSOR,
                                id ? id : dync__hook_reserve(), nr, fn, user, NULL);
    dync__gnode_unref(node);
    return added ? DYNC_OK : DYNC_ERR_MEMORY;
}

/* Does a tensor that is no leaf keep its gradient (dync_retain_grad)? */
DYNC__FN bool dync__hook_retains(const dync__tensor *t)
{
    const dync__gnode *node = t->grad ? t->grad->node : NULL;
    for (int i = 0; node && i < node->hook.n; i++)
        if (node->hook.at[i].kind == DYNC__HOOK_RETAIN && dync__peek(node->hook.at[i].retain) == t)
            return true;
    return false;
}

/* Of one that is no leaf: 1 where it keeps its gradient, 2 where it has hooks. */
static uint64_t dync__hooks_value_mark(const dync__tensor *t)
{
    const dync__gnode *node = t->grad->node;
    uint64_t mark = dync__hook_retains(t);
    for (int i = 0; i < node->hook.n; i++)
        if (node->hook.at[i].kind != DYNC__HOOK_RETAIN && node->hook.at[i].nr == t->grad->nr)
            mark |= 2;
    return mark;
}

/* Which hooks they are, to be compared with later: their number and the last id. */
DYNC__FN uint64_t dync__hooks_mark(const dync__tensor *leaf)
{
    if (leaf->grad && leaf->grad->node) return dync__hooks_value_mark(leaf);
    const dync__hook_list *list = leaf->grad ? &leaf->grad->hook : NULL;
    return list && list->n ? (uint64_t)list->n << 32 | (uint32_t)list->at[list->n - 1].id : 0;
}

DYNC__FN dync_status dync__hooks_copy(dync__tensor *to, const dync__tensor *from)
{
    if (!dync__hooks_mark(from)) return DYNC_OK;
    if (!dync__grad_meta_of(to)) return DYNC_ERR_MEMORY;
    for (int i = 0; i < from->grad->hook.n; i++)
        if (!dync__vec_push(&to->grad->hook, from->grad->hook.at[i])) return DYNC_ERR_MEMORY;
    return DYNC_OK;
}

/* Takes back what was registered behind the first n: how verification restores a leaf. */
DYNC__FN void dync__hooks_truncate(dync__tensor *leaf, int n)
{
    if (leaf->grad && leaf->grad->hook.n > n) leaf->grad->hook.n = n;
}

DYNC_API int dync_register_hook(dync_tensor *handle, dync_hook fn, void *user)
{
    const dync__grad_intercept *traced = dync__hooks_intercept();
    int id = -1;
    dync__tensor *t = dync__open(handle);
    if (!t) return -1;
    DYNC__NEEDS(DYNC_NO_AUTOGRAD, "dync_register_hook", -1);
    if (!fn) return dync__fail(DYNC_ERR_VALUE, "dync_register_hook: the hook is NULL"), -1;
    if (traced && traced->hook && traced->hook(handle, fn, user, &id)) return id;
    id = dync__hook_reserve();
    return dync__hook_register(t, fn, user, id) == DYNC_OK ? id : -1;
}

DYNC__FN dync_status dync__hook_register_after(dync__tensor *t, dync_param_hook fn, void *user,
                                               int id)
{
    if (!dync__tensor_requires_grad(t))
        return dync__fail(DYNC_ERR_AUTOGRAD,
                          "cannot register a hook on a tensor that doesn't require gradient");
    if (!dync__tensor_is_leaf(t))
        return dync__fail(DYNC_ERR_AUTOGRAD,
                          "post accumulate grad hooks cannot be registered on non-leaf tensors");
    dync__hooks_use();
    dync__hook_entry h = {
        .kind = DYNC__HOOK_AFTER, .id = id ? id : dync__hook_reserve(), .after = fn, .user = user};
    return dync__grad_meta_of(t) && dync__vec_push(&t->grad->hook, h) ? DYNC_OK : DYNC_ERR_MEMORY;
}

DYNC_API int dync_register_post_accumulate_hook(dync_tensor *handle, dync_param_hook fn, void *user)
{
    const dync__grad_intercept *traced = dync__hooks_intercept();
    dync__tensor *t = dync__open(handle);
    int id = -1;
    if (!t) return -1;
    DYNC__NEEDS(DYNC_NO_AUTOGRAD, "dync_register_post_accumulate_hook", -1);
    if (!fn)
        return dync__fail(DYNC_ERR_VALUE, "dync_register_post_accumulate_hook: the hook is NULL"),
               -1;
    if (traced && traced->after_hook && traced->after_hook(handle, fn, user, &id)) return id;
    id = dync__hook_reserve();
    return dync__hook_register_after(t, fn, user, id) == DYNC_OK ? id : -1;
}

/* Both hooks under one id, or neither. -1 + error. */
static int dync__grad_fn_hook(dync_tensor *out, dync_hook pre, dync_hook post, void *user)
{
    dync__gnode *node = NULL;
    int nr = 0;
    dync__tensor *t = dync__open(out);
    if (!t || dync__hook_node(t, &node, &nr) != DYNC_OK) return -1;
    if (!node)
        return dync__fail(
                   DYNC_ERR_AUTOGRAD,
                   "dync_grad_fn_hook: the tensor has no node: no operation with gradient made it"),
               -1;
    int id = (int)DYNC__ATOMIC_INC(&dync__hook_last_id);
    bool added = (!pre || dync__hook_add(&node->hook, DYNC__HOOK_PRE, id, nr, pre, user, NULL)) &&
                 (!post || dync__hook_add(&node->hook, DYNC__HOOK_POST, id, nr, post, user, NULL));
    if (!added) dync__hook_drop(&node->hook, id);
    dync__gnode_unref(node);
    return added ? id : -1;
}

DYNC_API int dync_grad_fn_hook(dync_tensor *out, dync_hook pre, dync_hook post, void *user)
{
    dync_value real = dync_v_tensor(out);
    dync__opaque opaque;
    DYNC__NEEDS(DYNC_NO_AUTOGRAD, "dync_grad_fn_hook", -1);
    if (!pre && !post)
        return dync__fail(DYNC_ERR_VALUE, "dync_grad_fn_hook: both hooks are NULL"), -1;
    DYNC__MEET(late);
    const dync__grad_intercept *traced = dync__grad_traced();
    if (traced && traced->expose && !traced->expose(out)) return -1;
    if (!dync__opaque_begin("Tensor.grad_fn", 1, &real, &opaque)) return -1;
    int id = dync__grad_fn_hook(real.as.t, pre, post, user);
    dync__opaque_end(&opaque);
    return id;
}

/* Of a real tensor, whatever is traced. */
DYNC__FN dync_status dync__retain_grad(dync__tensor *t)
{
    dync__gnode *node = NULL;
    int nr = 0;
    if (!dync__tensor_requires_grad(t))
        return dync__fail(DYNC_ERR_AUTOGRAD, "can't retain_grad "
                                             "on Tensor that has "
                                             "requires_grad=False");
    DYNC__TRY(dync__hook_node(t, &node, &nr));
    if (!node) return DYNC_OK; /* a leaf keeps its gradient anyway */
    int id = (int)DYNC__ATOMIC_INC(&dync__hook_last_id);
    bool added =
        dync__hook_add(&node->hook, DYNC__HOOK_RETAIN, id, nr, NULL, NULL, dync__handle(t));
    dync__gnode_unref(node);
    return added ? DYNC_OK : DYNC_ERR_MEMORY;
}

DYNC_API dync_status dync_retain_grad(dync_tensor *handle)
{
    dync__tensor *t = dync__open(handle);
    dync_status status = DYNC_OK;
    DYNC__MEET(late);
    const dync__grad_intercept *traced = dync__grad_traced();
    if (!t) return dync_error() != DYNC_OK ? dync_error() : DYNC_ERR_VALUE;
    DYNC__OFFERS(DYNC_NO_AUTOGRAD, "dync_retain_grad");
    if (traced && traced->retain_grad && traced->retain_grad(handle, &status)) return status;
    return dync__retain_grad(t);
}

/* After a write in place the hook is with an earlier node of the same value, which the first edge
 * leads to. */
DYNC__FN bool dync__hook_is_on(const dync__tensor *t, int id)
{
    if (!t->grad || id < 0) return false;
    bool found = dync__hook_in(&t->grad->hook, id);
    for (const dync__gnode *node = t->grad->node; node && !found;
         node = node->n_in ? node->edge[0].node : NULL)
        found = dync__hook_in(&node->hook, id);
    return found;
}

DYNC_API void dync_remove_hook(dync_tensor *handle, int id)
{
    const dync__grad_intercept *traced = dync__grad_traced();
    dync__tensor *t = dync__open(handle);
    if (t && traced && traced->remove_hook && traced->remove_hook(handle, id)) return;
    if (!t || !t->grad || id < 0 || dync__hook_drop(&t->grad->hook, id)) return;
    for (dync__gnode *node = t->grad->node; node && !dync__hook_drop(&node->hook, id);)
        node = node->n_in ? node->edge[0].node : NULL;
}
