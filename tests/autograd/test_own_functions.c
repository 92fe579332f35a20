/* Functions with a gradient of the user's own (dync_apply): plain code and every backend give the
 * same values, strides and gradients. Several outputs, one of them a view; an input given back; a
 * view given back; gradients of other strides than their tensors; none for a number; memory that
 * forward writes. */
#include "dync.h"
#include "test.h"
#include "tol.h"

typedef dync_tensor *T;
static T tensor_of(dync_value v)
{
    return v.kind == DYNC_KIND_TENSOR && v.as.t ? dync_as_tensor(v) : NULL;
}
static T total(T x) { return dync_sum(x, DYNC_ALL, false); }
static T turned(T x) { return dync_transpose(x, 0, 1); }

/* ---- the functions --------------------------------------------------------------------------- */
static dync_value square_forward(dync_autograd_ctx *c, const dync_value *args, int n)
{
    T x = dync_as_tensor(args[0]);
    (void)n;
    dync_save_for_backward(c, x);
    return DYNC_V(dync_mul(x, x));
}
static dync_value square_backward(dync_autograd_ctx *c, const dync_value *grads, int n)
{
    (void)n;
    return dync_tuple(dync_mul(dync_mul(dync_as_tensor(grads[0]), 2), dync_saved(c, 0)));
}
/* x @ w, its transpose, its sum; gradients come back transposed in memory */
static dync_value product_forward(dync_autograd_ctx *c, const dync_value *args, int n)
{
    T x = dync_as_tensor(args[0]), w = dync_as_tensor(args[1]), y = dync_matmul(x, w);
    (void)n;
    dync_save_for_backward(c, x);
    dync_save_for_backward(c, w);
    return dync_tuple(y, turned(y), dync_sum(y, DYNC_ALL, false));
}
static dync_value product_backward(dync_autograd_ctx *c, const dync_value *grads, int n)
{
    T x = dync_saved(c, 0), w = dync_saved(c, 1), a = tensor_of(grads[0]), b = tensor_of(grads[1]),
      s = tensor_of(grads[2]), g = dync_mul(dync_matmul(x, w), 0);
    (void)n;
    if (a) g = dync_add(g, a);
    if (b) g = dync_add(g, turned(b));
    if (s) g = dync_add(g, s);
    return dync_tuple(turned(dync_matmul(w, turned(g))), turned(dync_matmul(turned(g), x)));
}
static dync_value given_forward(dync_autograd_ctx *c, const dync_value *args, int n)
{
    (void)c, (void)n;
    return args[0];
}
static dync_value given_backward(dync_autograd_ctx *c, const dync_value *grads, int n)
{
    (void)c, (void)n;
    return dync_tuple(dync_mul(dync_as_tensor(grads[0]), 3), DYNC_NONE);
}
static dync_value turned_forward(dync_autograd_ctx *c, const dync_value *args, int n)
{
    (void)c, (void)n;
    return DYNC_V(turned(dync_as_tensor(args[0])));
}
static dync_value turned_backward(dync_autograd_ctx *c, const dync_value *grads, int n)
{
    (void)c, (void)n;
    return dync_tuple(dync_neg(turned(dync_as_tensor(grads[0]))));
}
static dync_value steps_forward(dync_autograd_ctx *c, const dync_value *args, int n)
{
    (void)c, (void)n;
    return DYNC_V(dync_mul(dync_round(dync_as_tensor(args[0])), dync_as_float(args[1])));
}
static dync_value steps_backward(dync_autograd_ctx *c, const dync_value *grads, int n)
{
    (void)c, (void)n;
    return dync_tuple(dync_as_tensor(grads[0]), DYNC_NONE);
}
static dync_value doubled_forward(dync_autograd_ctx *c, const dync_value *args, int n)
{
    (void)c, (void)n;
    dync_mul_(dync_as_tensor(args[0]), 2);
    return args[0];
}
static dync_value doubled_backward(dync_autograd_ctx *c, const dync_value *grads, int n)
{
    (void)c, (void)n;
    return dync_tuple(dync_mul(dync_as_tensor(grads[0]), 2));
}
static const dync_autograd_function square = {"square", square_forward, square_backward},
                                    product = {"product", product_forward, product_backward},
                                    given = {"given", given_forward, given_backward},
                                    turn = {"turn", turned_forward, turned_backward},
                                    steps = {"steps", steps_forward, steps_backward},
                                    doubled = {"doubled", doubled_forward, doubled_backward};

/* ---- programs of x [m, 5] and w [5, 4] ------------------------------------------------------- */
static T squared(T x, T w) { return dync_mul(dync_apply(&square, dync_sin(x)), total(w)); }
static T twice(T x, T w)
{
    return dync_matmul(dync_as_tensor(dync_apply(&square, dync_apply(&square, x))), w);
}
static T all_outputs(T x, T w)
{
    dync_value r = dync_apply(&product, x, w);
    return dync_add(dync_matmul(turned(x), dync_sin(dync_as_tensor(dync_at(r, 0)))),
                    dync_add(total(dync_cos(dync_as_tensor(dync_at(r, 1)))), dync_at(r, 2)));
}
static T view_output(T x, T w) { return dync_as_tensor(dync_at(dync_apply(&product, x, w), 1)); }
static T input_back(T x, T w) { return dync_matmul(dync_as_tensor(dync_apply(&given, x, w)), w); }
static T input_alone(T x, T w) { return dync_as_tensor(dync_apply(&given, x, w)); }
static T view_used(T x, T w)
{
    return dync_matmul(turned(w), dync_as_tensor(dync_apply(&turn, x)));
}
static T view_alone(T x, T w) { return (void)w, dync_as_tensor(dync_apply(&turn, x)); }
static T rounded(T x, T w) { return dync_add(dync_apply(&steps, dync_mul(x, 5), 3), total(w)); }
static T written(T x, T w)
{
    T y = dync_mul(x, 1.5), z = dync_as_tensor(dync_apply(&doubled, y));
    return dync_matmul(dync_mul(z, x), w);
}

static void expect_same(T got, T want, bool strides)
{
    EXPECT((got != NULL) == (want != NULL));
    if (!got || !want) return;
    EXPECT(dync_allclose(got, want, TOL_F64_CHAIN, TOL_F64_CHAIN));
    for (int d = 0; strides && d < dync_ndim(want); d++)
        EXPECT_EQ_INT(dync_stride(got, d), dync_stride(want, d));
}

/* Value and gradients of one call; lists of three. */
static dync_value values_of(T (*fn)(T, T), dync_compiled *f, int m)
{
    dync_manual_seed(m);
    T x = dync_requires_grad_(dync_randn(dync_shape(m, 5), .dtype = DYNC_F64), true),
      w = dync_requires_grad_(dync_randn(dync_shape(5, 4), .dtype = DYNC_F64), true),
      y = f ? dync_call(f, x, w) : fn(x, w);
    EXPECT_OK(dync_backward(total(dync_mul(y, dync_cos(dync_detach(y))))));
    return dync_tuple(y, dync_grad(x), dync_grad(w));
}

TEST(every_backend_as_plain_code)
{
    static T (*const fns[])(T, T) = {squared,     twice,     all_outputs, view_output, input_back,
                                     input_alone, view_used, view_alone,  rounded,     written};
    static const char *const on[] = {"eager", "aot_eager", "inductor"};
    for (int k = 0; k < (int)(sizeof fns / sizeof *fns); k++)
        for (int b = 0; b < 9; b++) {
            dync_compiled *f = dync_compile(fns[k], .backend = on[b % 3], .fullgraph = b > 2,
                                            .dynamic = b > 5 ? DYNC_DYNAMIC_ON : DYNC_DYNAMIC_AUTO);
            for (int call = 0; call < 4; call++) DYNC_SCOPE {
                dync_value want = values_of(fns[k], NULL, 3 + call % 3),
                           got = values_of(fns[k], f, 3 + call % 3);
                for (int i = 0; i < 3; i++)
                    expect_same(tensor_of(dync_at(got, i)), tensor_of(dync_at(want, i)), i == 0);
            }
            dync_compiled_free(f);
        }
}
TEST_MAIN
