/* Custom functions, gradients taken inside and outside, numbers and dtypes in them. */
#include "upstream.h"
#include "autograd.h"

static const char *const backends[] = {"eager", "aot_eager", "inductor"};
#define FUNCTION(name) static dync_value name(const dync_value *a, int n, void *user)
#define T(i) dync_as_tensor(a[i])
#define UNUSED (void)n, (void)user, (void)a
#define S dync_shape

/* fn's (first) result and its gradients; plain and by each backend. */
static void gradients(dync_function fn, int nargs, const dync_dims *shape)
{
    for (int b = -1; b < 3; b++) {
        counter c = {.inner = b < 0 ? NULL : backends[b]};
        dync_compiled *f = dync_compile(fn, .backend_object = &COUNTER(c), .fullgraph = true);
        dync_value args[2], out;
        for (int i = 0; i < nargs; i++) args[i] = DYNC_V(ramp_at(shape[i], i, true));
        out = b < 0 ? fn(args, nargs, NULL) : dync_call_values(f, nargs, args);
        dync_tensor *first = dync_as_tensor(out);
        dync_dims of = {.n = dync_ndim(first)};
        for (int i = 0; i < of.n; i++) of.d[i] = dync_size(first, i);
        EXPECT_OK(dync_backward(total(dync_mul(first, ramp_at(of, 5, false)))));
        TELL_TENSOR("out", first);
        for (int i = 0; i < nargs; i++) {
            dync_tensor *g = dync_grad(dync_as_tensor(args[i]));
            TELL_TENSOR(i ? "grad1" : "grad0", g ? g : dync_zeros(S(0)));
        }
        if (b >= 0) TELL("frames", c.frame_count);
        dync_compiled_free(f);
    }
}
#define GRADIENTS(fn, ...)                                                       \
    gradients(fn, (int)(sizeof((dync_dims[]){__VA_ARGS__}) / sizeof(dync_dims)), \
              (dync_dims[]){__VA_ARGS__})

/* ---- custom functions ------------------------------------------------------------------------ */
#define FORWARD(name) static dync_value name(dync_autograd_ctx *c, const dync_value *a, int n)
FORWARD(cube_fw)
{
    (void)n;
    dync_save_for_backward(c, T(0));
    return DYNC_V(dync_mul(dync_mul(T(0), T(0)), T(0)));
}
FORWARD(cube_bw)
{
    (void)n;
    dync_tensor *x = dync_saved(c, 0);
    return DYNC_V(dync_mul(dync_mul(dync_mul(T(0), x), x), 7));
}
FORWARD(two_fw)
{
    (void)n;
    dync_save_for_backward(c, T(0));
    dync_save_for_backward(c, T(1));
    return dync_tuple(dync_mul(T(0), T(1)), dync_add(T(0), T(1)));
}
FORWARD(two_bw)
{
    (void)n;
    dync_tensor *x = dync_saved(c, 0), *y = dync_saved(c, 1);
    return dync_tuple(dync_add(dync_mul(T(0), y), T(1)), dync_sub(dync_mul(T(0), x), T(1)));
}
FORWARD(first_fw)
{
    (void)n, (void)c;
    return DYNC_V(dync_add(dync_mul(T(0), 2), T(1)));
}
FORWARD(first_bw)
{
    (void)n, (void)c;
    return dync_tuple(dync_mul(T(0), 2), DYNC_NONE);
}
FORWARD(reverse_fw) { return (void)n, (void)c, DYNC_V(dync_clone(T(0))); }
FORWARD(reverse_bw) { return (void)n, (void)c, DYNC_V(dync_neg(T(0))); }
static const dync_autograd_function cube = {"Cube", cube_fw, cube_bw},
                                    two_out = {"TwoOut", two_fw, two_bw},
                                    only_first = {"OnlyFirst", first_fw, first_bw},
                                    reversal = {"Identity", reverse_fw, reverse_bw};
static dync_tensor *cubed(dync_tensor *x) { return dync_as_tensor(dync_apply(&cube, x)); }

FUNCTION(cube_of_sine)
{
    UNUSED;
    return DYNC_V(dync_add(cubed(dync_sin(T(0))), T(0)));
}
FUNCTION(cube_of_cube)
{
    UNUSED;
    return DYNC_V(cubed(cubed(T(0))));
}
FUNCTION(both_results)
{
    UNUSED;
    dync_value r = dync_apply(&two_out, T(0), T(1));
    return DYNC_V(dync_add(dync_mul(dync_at(r, 0), 2), dync_at(r, 1)));
}
FUNCTION(second_result)
{
    UNUSED;
    return dync_at(dync_apply(&two_out, T(0), T(1)), 1);
}
FUNCTION(first_gradient)
{
    UNUSED;
    return dync_apply(&only_first, T(0), T(1));
}
FUNCTION(reversed)
{
    UNUSED;
    return DYNC_V(dync_mul(dync_apply(&reversal, dync_mul(T(0), 2)), T(0)));
}
SCENARIO(custom_function) { GRADIENTS(cube_of_sine, S(4)); }
SCENARIO(custom_function_twice) { GRADIENTS(cube_of_cube, S(4)); }
SCENARIO(custom_function_of_two) { GRADIENTS(both_results, S(3), S(3)); }
SCENARIO(custom_function_one_result_unused) { GRADIENTS(second_result, S(3), S(3)); }
SCENARIO(custom_function_without_second_gradient) { GRADIENTS(first_gradient, S(3), S(3)); }
SCENARIO(gradient_reversal) { GRADIENTS(reversed, S(3)); }

static dync_tensor *cube_or_five(dync_tensor *x)
{
    if (dync_bool(dync_gt(total(x), 0))) return cubed(x);
    return dync_mul(x, 5);
}
SCENARIO(custom_function_in_a_branch)
{
    for (int b = 0; b < 3; b++) {
        counter c = {.inner = backends[b]};
        dync_compiled *f = dync_compile(cube_or_five, .backend_object = &COUNTER(c));
        for (int k = 0; k < 2; k++) {
            dync_tensor *x = dync_abs(ramp(3, 0));
            x = dync_requires_grad_(k ? dync_neg(x) : x, true);
            EXPECT_OK(dync_backward(total(dync_call(f, x))));
            TELL_TENSOR(k ? "negative" : "positive", dync_grad(x));
        }
        TELL("frames", c.frame_count);
        dync_compiled_free(f);
    }
}

/* ---- gradients of operators ------------------------------------------------------------------ */
FUNCTION(broadcast)
{
    UNUSED;
    return DYNC_V(dync_add(dync_mul(T(0), T(1)), T(1)));
}
FUNCTION(slice_and_cat)
{
    UNUSED;
    return DYNC_V(dync_cat(dync_tuple(dync_slice(T(0), 0, 1, DYNC_END, 1),
                                      dync_mul(dync_slice(T(1), 0, 0, 2, 1), 3), T(0)),
                           0));
}
FUNCTION(where_and_clamp)
{
    UNUSED;
    return DYNC_V(dync_where(dync_gt(T(0), T(1)), dync_mul(T(0), 2), dync_clamp(T(1), -0.5, 0.75)));
}
FUNCTION(max_with_ties)
{
    UNUSED;
    dync_tensor *s = dync_stack(dync_tuple(T(0), T(0), dync_mul(T(0), 0.5)), 0);
    return DYNC_V(dync_amax(s, S(0), false));
}
FUNCTION(gather_repeats)
{
    UNUSED;
    dync_tensor *i = dync_constant(((int64_t[]){0, 2, 2, 2}), S(4), .dtype = DYNC_I64);
    return DYNC_V(dync_mul(dync_gather(T(0), 0, i), 2));
}
FUNCTION(corners)
{
    UNUSED;
    dync_tensor *zero = dync_sub(T(0), T(0));
    return DYNC_V(dync_add(dync_add(dync_abs(dync_sub(T(0), dync_detach(T(0)))), dync_relu(zero)),
                           dync_clamp(zero, 0, DYNC_NONE)));
}
FUNCTION(through_f64)
{
    UNUSED;
    dync_tensor *y = dync_mul(dync_to_dtype(T(0), DYNC_F64), 2);
    return DYNC_V(dync_mul(dync_to_dtype(y, DYNC_F32), T(0)));
}
SCENARIO(broadcast_gradients_are_summed) { GRADIENTS(broadcast, S(2, 3), S(3)); }
SCENARIO(gradient_of_a_slice_and_a_cat) { GRADIENTS(slice_and_cat, S(3), S(4)); }
SCENARIO(gradient_of_where_and_clamp) { GRADIENTS(where_and_clamp, S(5), S(5)); }
SCENARIO(gradient_of_max_with_ties) { GRADIENTS(max_with_ties, S(4)); }
SCENARIO(gradient_of_a_gather_with_repeats) { GRADIENTS(gather_repeats, S(3)); }
SCENARIO(gradient_at_the_corner) { GRADIENTS(corners, S(3)); }
SCENARIO(gradient_passes_a_cast) { GRADIENTS(through_f64, S(3)); }

static dync_tensor *product(dync_tensor *a, dync_tensor *b) { return dync_mul(a, b); }
static dync_tensor *product_plus(dync_tensor *a, dync_tensor *b)
{
    return dync_add(dync_mul(a, b), b);
}
static dync_tensor *loss(dync_tensor *w, dync_tensor *x) { return total(dync_mul(w, x)); }
SCENARIO(gradient_dtypes)
{
    for (int b = 0; b < 3; b++) {
        dync_compiled *f = dync_compile(product, .backend = backends[b]);
        dync_tensor *x = ramp_at(S(3), 0, true),
                    *y = dync_requires_grad_(dync_to_dtype(ramp(3, 1), DYNC_F64), true),
                    *out = dync_call(f, x, y);
        EXPECT_OK(dync_backward(total(out)));
        double kinds[] = {dync_type(out) == DYNC_F64, dync_type(dync_grad(x)) == DYNC_F64,
                          dync_type(dync_grad(y)) == DYNC_F64};
        tell_numbers("kinds", kinds, 3, __FILE__, __LINE__);
        TELL_TENSOR("x", dync_grad(x));
        dync_compiled_free(f);
    }
}
SCENARIO(only_what_requires_grad)
{
    for (int i = 0; i < 3; i++) {
        dync_compiled *f = dync_compile(product_plus, .backend = backends[i]);
        dync_tensor *a = ramp_at(S(3), 0, true), *b = ramp(3, 1);
        EXPECT_OK(dync_backward(total(dync_call(f, a, b))));
        TELL_TENSOR("a", dync_grad(a));
        TELL("b_is_none", dync_grad(b) == NULL);
        dync_compiled_free(f);
    }
}
SCENARIO(accumulates_over_calls)
{
    for (int b = 0; b < 3; b++) {
        counter c = {.inner = backends[b]};
        dync_compiled *f = dync_compile(loss, .backend_object = &COUNTER(c));
        dync_tensor *w = ramp_at(S(3), 0, true);
        for (int i = 0; i < 3; i++) EXPECT_OK(dync_backward(dync_call(f, w, ramp(3, i))));
        TELL_TENSOR("w", dync_grad(w));
        TELL("frames", c.frame_count);
        dync_compiled_free(f);
    }
}

/* ---- backward itself ------------------------------------------------------------------------- */
static void says(dync_status status)
{
    EXPECT_EQ_INT(status, DYNC_ERR_AUTOGRAD);
    TELL_TEXT("text", dync_error_message());
    dync_clear_error();
}
static dync_tensor *sine_of_square(dync_tensor *x) { return dync_sin(dync_mul(x, x)); }
SCENARIO(backward_twice)
{
    for (int b = 0; b < 3; b++) {
        dync_compiled *f = dync_compile(sine_of_square, .backend = backends[b]);
        dync_tensor *x = ramp_at(S(3), 0, true), *sum = total(dync_call(f, x));
        EXPECT_OK(
            dync_backward_opt(DYNC_V(sum), DYNC_NONE, (dync_grad_options){.retain_graph = true}));
        EXPECT_OK(dync_backward(sum));
        TELL_TENSOR("grad", dync_grad(x));
        says(dync_backward(sum));
        dync_compiled_free(f);
    }
}
SCENARIO(gradient_without_history) { says(dync_backward(total(ramp(3, 0)))); }
SCENARIO(backward_of_many_elements) { says(dync_backward(dync_mul(ramp_at(S(3), 0, true), 2))); }
SCENARIO(input_that_does_not_matter)
{
    dync_tensor *x = ramp_at(S(3), 0, true), *y = ramp_at(S(3), 1, true),
                *out = total(dync_mul(x, 2));
    dync_gradients(DYNC_V(out), dync_tuple(x, y), DYNC_NONE,
                   (dync_grad_options){.retain_graph = true});
    says(dync_error());
    dync_value g = dync_gradients(DYNC_V(out), dync_tuple(x, y), DYNC_NONE,
                                  (dync_grad_options){.allow_unused = true});
    TELL_TENSOR("x", dync_as_tensor(dync_at(g, 0)));
    TELL("y_is_none", dync_at(g, 1).kind == DYNC_KIND_NONE);
}
static dync_tensor *gradient_of(dync_tensor *sum, dync_tensor *x, bool create_graph)
{
    return dync_as_tensor(dync_at(dync_gradients(DYNC_V(sum), DYNC_V(x), DYNC_NONE,
                                                 (dync_grad_options){.create_graph = create_graph}),
                                  0));
}
static dync_tensor *third_power(dync_tensor *x) { return dync_mul(dync_mul(x, x), x); }
SCENARIO(second_gradient)
{
    static const char *const twice[] = {"eager", "aot_eager", "inductor"};
    for (int b = 0; b < 3; b++) {
        dync_compiled *f = dync_compile(third_power, .backend = twice[b], .double_backward = true);
        dync_tensor *x = ramp_at(S(3), 0, true), *g = gradient_of(total(dync_call(f, x)), x, true);
        TELL_TENSOR("first", g);
        TELL_TENSOR("second", gradient_of(total(dync_mul(g, g)), x, false));
        dync_compiled_free(f);
    }
}
static dync_tensor *taken_inside(dync_tensor *x)
{
    return dync_mul(gradient_of(total(third_power(x)), x, false), 2);
}
SCENARIO(gradient_taken_inside)
{
    for (int b = 0; b < 6; b++) {
        dync_compiled *f =
            dync_compile(taken_inside, .backend = backends[b % 3], .fullgraph = b > 2);
        dync_tensor *x = ramp_at(S(3), 0, true);
        TELL_TENSOR("out", dync_call(f, x));
        TELL("grad_is_none", dync_grad(x) == NULL);
        dync_compiled_free(f);
    }
}
static dync_tensor *backward_within(dync_tensor *w, dync_tensor *x)
{
    dync_backward(loss(w, x));
    return dync_mul(dync_grad(w), 2);
}
SCENARIO(backward_inside)
{
    for (int b = 0; b < 6; b++) {
        dync_compiled *f =
            dync_compile(backward_within, .backend = backends[b % 3], .fullgraph = b > 2);
        dync_tensor *w = ramp_at(S(3), 0, true);
        TELL_TENSOR("out", dync_call(f, w, ramp(3, 1)));
        TELL_TENSOR("again", dync_call(f, w, ramp(3, 1)));
        TELL_TENSOR("grad", dync_grad(w));
        dync_compiled_free(f);
    }
}
FUNCTION(max_and_place)
{
    UNUSED;
    dync_value r = dync_max_dim(T(0), 1, false);
    return dync_tuple(dync_mul(dync_at(r, 0), 2), dync_at(r, 1));
}
SCENARIO(results_of_which_one_is_integer)
{
    for (int b = 0; b < 3; b++) {
        dync_compiled *f = dync_compile(max_and_place, .args = "x", .backend = backends[b]);
        dync_tensor *x = ramp_at(S(2, 3), 0, true);
        dync_value r = dync_call_value(f, x);
        dync_tensor *v = dync_as_tensor(dync_at(r, 0)), *i = dync_as_tensor(dync_at(r, 1));
        EXPECT_OK(dync_backward(total(v)));
        double flags[] = {dync_requires_grad(v), dync_requires_grad(i)};
        TELL_TENSOR("i", i);
        tell_numbers("flags", flags, 2, __FILE__, __LINE__);
        TELL_TENSOR("grad", dync_grad(x));
        dync_compiled_free(f);
    }
}
TEST_MAIN
