/* aot/joint_walk.c: the tape walked backward in the joint trace. Where the way from an output to a
 * leaf meets an error (a saved value was written since), it is an error of backward's, raised when
 * that gradient is wanted (dync__aot_broken): the others are as they would be without it. Before
 * joint.c. */
#include "../dync.in.h"
#include "aot.h"
#include "joint.h"
DYNC__COLD

/* Gradients of n outputs. An error of the tape's or of a rule's (a gradient cannot be written into
 * an expanded view) is one of backward's, not of the call: DYNC_ERR_AUTOGRAD, and kept. */
static dync_status dync__joint_walk(dync__joint *j, int n, dync__tensor *const *out,
                                    dync__tensor *const *tangent, int n_wrt,
                                    dync__tensor *const *wrt, dync__tensor **grad)
{
    dync__error_guard guard;
    bool grad_off = dync__grad_is_off();
    dync__error_guard_begin(&guard);
    dync__grad_off(true);
    dync_status status = dync__tape_gradients(n, out, j->how->no_tangents ? NULL : tangent, n_wrt,
                                              wrt, grad, true, false, true);
    dync__grad_off(grad_off);
    const dync__error_slot *inner = dync__error_guard_end(&guard);
    if (status == inner->status && (status == DYNC_ERR_AUTOGRAD || status == DYNC_ERR_VALUE)) {
        dync__strfree(j->into->backward_error);
        j->into->backward_error = dync__strdup(inner->message);
        j->into->backward_status = status;
        return j->into->backward_error ? DYNC_ERR_AUTOGRAD : DYNC_ERR_MEMORY;
    }
    if (status != DYNC_OK && inner->status != DYNC_OK) dync__error_raise(inner);
    return status;
}

/* The same of output i, whether it is an error: what it gives is given back. */
static dync_status dync__joint_try(dync__joint *j, dync__joint_grads *b, int i, int wrt, int n)
{
    dync_status status =
        dync__joint_walk(j, 1, b->out + i, b->tangent + i, n, b->wrt + wrt, b->grad + wrt);
    for (int k = wrt; k < wrt + n; k++) {
        if (status == DYNC_OK) dync__unref(b->grad[k]);
        b->grad[k] = NULL;
    }
    return status;
}

/* bad: by output, then leaf. */
static dync_status dync__joint_broken(dync__joint *j, dync__joint_grads *b, bool *bad)
{
    for (int i = 0; i < b->n_out; i++) {
        dync_status whole = dync__joint_try(j, b, i, 0, b->n_wrt);
        for (int k = 0; k < b->n_wrt && whole == DYNC_ERR_AUTOGRAD; k++) {
            dync_status one = dync__joint_try(j, b, i, k, 1);
            dync__aot_pair pair = {j->into->tangent_of.at[i], b->wrt_input[k]};
            bad[i * b->n_wrt + k] = one == DYNC_ERR_AUTOGRAD;
            if (one != DYNC_OK && one != DYNC_ERR_AUTOGRAD) return one;
            if (one != DYNC_OK && !dync__vec_push(&j->into->broken, pair)) return DYNC_ERR_MEMORY;
        }
        if (whole != DYNC_OK && whole != DYNC_ERR_AUTOGRAD) return whole;
    }
    return DYNC_OK;
}

static bool dync__joint_alike(const dync__joint_grads *b, const bool *bad, int k, int other)
{
    for (int i = 0; i < b->n_out; i++)
        if (bad[i * b->n_wrt + k] != bad[i * b->n_wrt + other]) return false;
    return true;
}

/* Leaf `first` and those behind it that the same outputs lead to without an error, in one walk. */
static dync_status dync__joint_walk_group(dync__joint *j, dync__joint_grads *b, const bool *bad,
                                          int first, bool *done)
{
    size_t room = (size_t)(2 * b->n_out + 2 * b->n_wrt + 1);
    dync__tensor **out = dync__arena_alloc(&j->arena, room * sizeof *out);
    if (!out) return DYNC_ERR_MEMORY;
    dync__tensor **tangent = out + b->n_out, **wrt = tangent + b->n_out, **grad = wrt + b->n_wrt;
    int n = 0, n_wrt = 0;
    for (int i = 0; i < b->n_out; i++) {
        if (bad[i * b->n_wrt + first]) continue;
        out[n] = b->out[i];
        tangent[n++] = b->tangent[i];
    }
    for (int k = first; k < b->n_wrt; k++)
        if (!done[k] && (done[k] = dync__joint_alike(b, bad, first, k))) wrt[n_wrt++] = b->wrt[k];
    DYNC__TRY(n ? dync__joint_walk(j, n, out, tangent, n_wrt, wrt, grad) : DYNC_OK);
    for (int k = first, at = 0; k < b->n_wrt && at < n_wrt; k++)
        if (b->wrt[k] == wrt[at]) b->grad[k] = grad[at++];
    return DYNC_OK;
}

DYNC__FN dync_status dync__joint_walk_all(dync__joint *j, dync__joint_grads *b)
{
    dync_status status =
        dync__joint_walk(j, b->n_out, b->out, b->tangent, b->n_wrt, b->wrt, b->grad);
    if (status != DYNC_ERR_AUTOGRAD) return status;
    size_t leaves = (size_t)b->n_wrt;
    bool *bad = dync__arena_alloc(&j->arena, (size_t)b->n_out * leaves + leaves + 1);
    if (!bad) return DYNC_ERR_MEMORY;
    bool *done = bad + (size_t)b->n_out * leaves;
    memset(b->grad, 0, leaves * sizeof *b->grad);
    status = dync__joint_broken(j, b, bad);
    for (int k = 0; k < b->n_wrt && status == DYNC_OK; k++)
        if (!done[k]) status = dync__joint_walk_group(j, b, bad, k, done);
    return status;
}
