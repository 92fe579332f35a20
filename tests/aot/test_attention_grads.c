/* Gradients of attention whose mask wants one: the row's decomposition is differentiated, where a
 * tensor given twice counts twice. */
#include "dync.h"
#include "test.h"
#include "tol.h"

enum { Q, K, V, M, N };
static dync_tensor *apart(dync_tensor *q, dync_tensor *k, dync_tensor *v, dync_tensor *mask)
{
    return dync_scaled_dot_product_attention(q, k, v, mask, 0, false, DYNC_NONE);
}
static dync_tensor *value_is_key(dync_tensor *q, dync_tensor *k, dync_tensor *v, dync_tensor *mask)
{
    (void)v;
    return apart(q, k, k, mask);
}
static dync_tensor *value_of_key(dync_tensor *q, dync_tensor *k, dync_tensor *v, dync_tensor *mask)
{
    (void)v;
    return apart(q, k, dync_mul(k, 2), mask);
}
static dync_tensor *all_one(dync_tensor *q, dync_tensor *k, dync_tensor *v, dync_tensor *mask)
{
    (void)k, (void)v;
    return apart(q, q, q, mask);
}
static void inputs(dync_tensor **t)
{
    dync_manual_seed(3);
    for (int i = Q; i < N; i++)
        t[i] = dync_requires_grad_(
            dync_randn(i == M ? dync_shape(1, 2, 4, 4) : dync_shape(2, 2, 4, 8)), true);
}

/* From three tensors apart, whose gradients are added by hand. */
TEST(one_tensor_in_two_places)
{
    dync_tensor *(*const fns[])(dync_tensor *, dync_tensor *, dync_tensor *,
                                dync_tensor *) = {value_is_key, value_of_key, all_one};
    static const char *const on[] = {NULL, "aot_eager", "inductor"};
    for (int k = 0; k < 9; k++) {
        int form = k / 3;
        dync_tensor *a[N], *b[N], *want[N] = {NULL};
        inputs(a), inputs(b);
        DYNC_NO_GRAD {
            dync_copy_(b[V], dync_mul(form == 2 ? a[Q] : a[K], form == 1 ? 2 : 1));
            if (form == 2) dync_copy_(b[K], a[Q]);
        }
        dync_tensor *y = apart(b[Q], b[K], b[V], b[M]), *w = dync_cos(dync_detach(y));
        dync_backward(dync_sum(dync_mul(y, w), DYNC_ALL, false));
        want[Q] = dync_grad(b[Q]), want[K] = dync_grad(b[K]), want[M] = dync_grad(b[M]);
        want[form == 2 ? Q : K] =
            dync_add(want[form == 2 ? Q : K], dync_mul(dync_grad(b[V]), form == 1 ? 2 : 1));
        if (form == 2) want[Q] = dync_add(want[Q], want[K]), want[K] = NULL;
        dync_compiled *f = on[k % 3] ? dync_compile(fns[form], .backend = on[k % 3]) : NULL;
        dync_tensor *z = f ? dync_call(f, a[0], a[1], a[2], a[3])
                           : fns[form](a[0], a[1], a[2], a[3]);
        EXPECT(z && dync_allclose(z, y, TOL_F32_SUM, TOL_F32_SUM));
        dync_backward(dync_sum(dync_mul(z, w), DYNC_ALL, false));
        for (int i = Q; i < N; i++) {
            dync_tensor *g = dync_grad(a[i]);
            EXPECT(!g == !want[i]);
            EXPECT(!g || !want[i] || dync_allclose(g, want[i], TOL_F32_SUM, TOL_F32_SUM));
        }
        dync_compiled_free(f);
    }
    EXPECT_STATUS(dync_error(), DYNC_OK);
}

/* The query is written after it was read: that is an error of backward, not of the call. */
static dync_tensor *query_written(dync_tensor *q, dync_tensor *k, dync_tensor *v, dync_tensor *mask)
{
    dync_tensor *y = apart(q, k, v, mask);
    dync_tanh_(q);
    return y;
}
static void quiet(dync_status status, const char *message, void *user)
{
    (void)status, (void)message, (void)user;
}
TEST(a_query_written_after_it)
{
    static const char *const on[] = {NULL, "aot_eager", "inductor"};
    dync_on_error(quiet, NULL);
    for (int k = 0; k < 3; k++) {
        dync_tensor *t[N];
        inputs(t);
        dync_compiled *f = on[k] ? dync_compile(query_written, .backend = on[k]) : NULL;
        dync_tensor *q = dync_clone(t[Q]), *want = apart(t[Q], t[K], t[V], t[M]);
        dync_tensor *y = f ? dync_call(f, q, t[K], t[V], t[M]) : query_written(q, t[K], t[V], t[M]);
        EXPECT(y && dync_allclose(y, want, TOL_F32_SUM, TOL_F32_SUM));
        EXPECT(dync_allclose(q, dync_tanh(t[Q]), TOL_F32_SUM, TOL_F32_SUM));
        EXPECT_STATUS(dync_error(), DYNC_OK);
        dync_backward(dync_sum(y, DYNC_ALL, false));
        EXPECT_STATUS(dync_error(), DYNC_ERR_AUTOGRAD);
        EXPECT(strstr(dync_error_message(), "modified by an inplace operation") != NULL);
        dync_clear_error();
        dync_compiled_free(f);
    }
}
TEST_MAIN
