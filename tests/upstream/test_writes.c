/* Writes in place: into arguments, views, results; what shares memory with what. */
#include "upstream.h"
#include "writes.h"

static const char *const backends[] = {"eager", "aot_eager", "inductor"};
#define FUNCTION(name) static dync_value name(const dync_value *a, int n, void *user)
#define T(i) dync_as_tensor(a[i])
#define UNUSED (void)n, (void)user, (void)a

/* do they share memory? A write into one shows in the other, where they are views at the start. */
static bool shares(dync_tensor *a, dync_tensor *b)
{
    const char *p = dync_data(a), *q = dync_data(b);
    size_t bytes = 4 * (size_t)dync_numel(b);
    return p >= q && p < q + bytes;
}

/* What fn gives and leaves in its arguments, ramps of those shapes; plain and by each backend. */
static void written(dync_function fn, int nargs, const dync_dims *shape, int calls)
{
    for (int b = -1; b < 3; b++) {
        counter c = {.inner = b < 0 ? NULL : backends[b]};
        dync_compiled *f = dync_compile(fn, .backend_object = &COUNTER(c));
        dync_value args[2], out = DYNC_NONE;
        for (int i = 0; i < nargs; i++) args[i] = DYNC_V(ramp_at(shape[i], i, false));
        for (int i = 0; i < calls; i++)
            out = b < 0 ? fn(args, nargs, NULL) : dync_call_values(f, nargs, args);
        TELL_TENSOR("out", dync_as_tensor(out));
        TELL_TENSOR("arg0", dync_as_tensor(args[0]));
        if (nargs > 1) TELL_TENSOR("arg1", dync_as_tensor(args[1]));
        TELL("shares", shares(dync_as_tensor(out), dync_as_tensor(args[0])));
        if (b >= 0) TELL("frames", c.frame_count);
        dync_compiled_free(f);
    }
}
#define WRITTEN(fn, calls, ...)                                                \
    written(fn, (int)(sizeof((dync_dims[]){__VA_ARGS__}) / sizeof(dync_dims)), \
            (dync_dims[]){__VA_ARGS__}, calls)
#define S dync_shape
static dync_tensor *from(dync_tensor *x, int64_t i) { return dync_slice(x, 0, i, DYNC_END, 1); }

FUNCTION(plus_one)
{
    UNUSED;
    return DYNC_V(dync_add_(T(0), 1));
}
SCENARIO(argument_is_written_and_returned) { WRITTEN(plus_one, 3, S(3)); }

FUNCTION(view_of_written)
{
    UNUSED;
    dync_mul_(T(0), 2);
    return DYNC_V(dync_select(dync_view(T(0), S(2, 3)), 0, 1));
}
SCENARIO(view_of_the_written_argument) { WRITTEN(view_of_written, 1, S(6)); }

FUNCTION(read_twice)
{
    UNUSED;
    dync_tensor *y = dync_mul(T(0), 2);
    dync_add_(T(0), 1);
    return DYNC_V(dync_add(y, T(0)));
}
SCENARIO(read_before_and_after_the_write) { WRITTEN(read_twice, 1, S(3)); }

FUNCTION(through_view)
{
    UNUSED;
    dync_fill_(dync_select(T(0), 0, 1), 9);
    return DYNC_V(dync_sum(T(0), S(0), false));
}
SCENARIO(write_through_a_view) { WRITTEN(through_view, 1, S(2, 3)); }

FUNCTION(through_transpose)
{
    UNUSED;
    dync_add_(dync_t(T(0)), a[1]);
    return DYNC_V(dync_mul(T(0), 2));
}
SCENARIO(write_through_a_transpose) { WRITTEN(through_transpose, 1, S(2, 3), S(3, 2)); }

FUNCTION(every_second)
{
    UNUSED;
    dync_mul_(dync_slice(T(0), 0, 0, DYNC_END, 2), 3);
    return DYNC_V(dync_add(T(0), 1));
}
SCENARIO(write_every_second) { WRITTEN(every_second, 1, S(5)); }

FUNCTION(views_of_views)
{
    UNUSED;
    dync_tensor *v = dync_slice(dync_view(T(0), S(2, 6)), 1, 1, 5, 1),
                *w = dync_slice(v, 1, 0, DYNC_END, 2);
    dync_add_(w, 10);
    dync_mul_(v, 2);
    return DYNC_V(dync_add(T(0), total(w)));
}
SCENARIO(views_of_views_written) { WRITTEN(views_of_views, 1, S(12)); }

FUNCTION(view_between)
{
    UNUSED;
    dync_add_(T(0), 1);
    dync_tensor *v = from(T(0), 1);
    dync_mul_(T(0), 2);
    return DYNC_V(dync_add(v, 0.5));
}
SCENARIO(view_taken_between_two_writes) { WRITTEN(view_between, 1, S(4)); }

FUNCTION(intermediate_written)
{
    UNUSED;
    dync_tensor *y = dync_mul(T(0), 2);
    dync_copy_(dync_select(y, 0, 0), dync_select(y, 0, 1));
    dync_neg_(dync_select(y, 0, 1));
    return DYNC_V(y);
}
SCENARIO(intermediate_written_through_a_view) { WRITTEN(intermediate_written, 1, S(2, 3)); }

FUNCTION(around_a_break)
{
    UNUSED;
    dync_tensor *v = from(T(0), 1);
    dync_add_(T(0), 1);
    dync_graph_break("between writes");
    dync_mul_(T(0), 2);
    return DYNC_V(dync_mul(v, 1.5));
}
SCENARIO(write_before_a_break_seen_behind) { WRITTEN(around_a_break, 1, S(4)); }

FUNCTION(swap)
{
    UNUSED;
    dync_tensor *t = dync_clone(T(0));
    dync_copy_(T(0), T(1));
    dync_copy_(T(1), t);
    return DYNC_V(dync_sub(T(0), T(1)));
}
SCENARIO(swap_of_two_arguments) { WRITTEN(swap, 1, S(3), S(3)); }

static dync_tensor *adds_and_doubles(dync_tensor *a, dync_tensor *b)
{
    dync_add_(a, 1);
    dync_mul_(b, 2);
    return dync_add(a, b);
}
SCENARIO(the_same_argument_twice)
{
    for (int b = 0; b < 3; b++) {
        dync_compiled *f = dync_compile(adds_and_doubles, .backend = backends[b]);
        dync_tensor *x = ramp(3, 0);
        TELL_TENSOR("out", dync_call(f, x, x));
        TELL_TENSOR("x", x);
        dync_compiled_free(f);
    }
}

FUNCTION(one_tensor_often)
{
    UNUSED;
    dync_tensor *y = dync_mul(T(0), 2);
    return dync_tuple(y, y, from(y, 1), T(0));
}
SCENARIO(results_that_are_one_tensor)
{
    for (int b = 0; b < 3; b++) {
        dync_compiled *f = dync_compile(one_tensor_often, .args = "x", .backend = backends[b]);
        dync_tensor *x = ramp(3, 0), *y, *v;
        for (int again = 0; again < 2; again++) {
            dync_value r = dync_call_value(f, x);
            y = dync_as_tensor(dync_at(r, 0)), v = dync_as_tensor(dync_at(r, 2));
            TELL(b ? "one_aot_eager" : "one_eager", y == dync_as_tensor(dync_at(r, 1)));
            TELL(b ? "view_shares_aot_eager" : "view_shares_eager", shares(v, y));
            TELL(b ? "given_aot_eager" : "given_eager", dync_as_tensor(dync_at(r, 3)) == x);
            dync_add_(y, 1);
            TELL_TENSOR(b ? "view_aot_eager" : "view_eager", v);
        }
        dync_compiled_free(f);
    }
}

FUNCTION(reshapes)
{
    UNUSED;
    return dync_tuple(dync_reshape(T(0), S(6)), dync_reshape(T(1), S(6)));
}
SCENARIO(reshape_shares_or_copies)
{
    for (int b = 0; b < 3; b++) {
        dync_compiled *f = dync_compile(reshapes, .args = "x, y", .backend = backends[b]);
        dync_tensor *x = ramp_at(S(2, 3), 0, false), *y = dync_t(ramp_at(S(3, 2), 0, false));
        dync_value r = dync_call_value(f, x, y);
        TELL("of_dense", shares(dync_as_tensor(dync_at(r, 0)), x));
        TELL("of_transposed", shares(dync_as_tensor(dync_at(r, 1)), y));
        TELL_TENSOR("q", dync_as_tensor(dync_at(r, 1)));
        dync_compiled_free(f);
    }
}

static dync_tensor *converts(dync_tensor *x, dync_tensor *i)
{
    dync_copy_(i, dync_mul(x, 3));
    return dync_add(i, 1);
}
SCENARIO(copy_converts)
{
    for (int b = 0; b < 3; b++) {
        dync_compiled *f = dync_compile(converts, .backend = backends[b]);
        dync_tensor *i = dync_zeros(S(4), .dtype = DYNC_I64);
        TELL_TENSOR("out", dync_call(f, ramp(4, 0), i));
        TELL_TENSOR("i", i);
        dync_compiled_free(f);
    }
}

FUNCTION(many_writers)
{
    UNUSED;
    dync_tensor *i = dync_constant(((int64_t[]){1, 0}), S(2), .dtype = DYNC_I64),
                *j = dync_constant(((int64_t[]){0, 0}), S(2), .dtype = DYNC_I64),
                *v = dync_constant(((float[]){7, 8}), S(2));
    dync_masked_fill_(T(0), dync_gt(T(1), 0), -3);
    dync_scatter_(T(0), 0, i, v);
    dync_index_add_(from(T(0), 2), 0, j, dync_slice(T(1), 0, 0, 2, 1));
    return DYNC_V(dync_mul(T(0), 2));
}
SCENARIO(masked_scattered_added) { WRITTEN(many_writers, 1, S(5), S(5)); }

static dync_tensor *counts(dync_module *self, dync_tensor *x)
{
    dync_tensor *n = dync_module_buffer(self, "n");
    dync_add_(n, 1);
    return dync_mul(x, n);
}
SCENARIO(counter_in_a_buffer)
{
    for (int b = 0; b < 3; b++) {
        counter c = {.inner = backends[b]};
        dync_module *m = dync_module_new("Count", counts, NULL);
        dync_module_set_buffer(m, "n", dync_zeros(S(1)));
        dync_compiled *f = dync_compile(m, .backend_object = &COUNTER(c));
        TELL_TENSOR("out0", dync_call(f, ramp(3, 0)));
        TELL_TENSOR("out1", dync_call(f, ramp(3, 0)));
        TELL_TENSOR("out2", dync_call(f, ramp(3, 0)));
        TELL_TENSOR("n", dync_module_buffer(m, "n"));
        TELL("frames", c.frame_count);
        dync_compiled_free(f);
        dync_module_free(m);
    }
}

/* ---- gradients ------------------------------------------------------------------------------- */
static void gradient_of(dync_function fn, int nargs, const dync_dims *shape)
{
    for (int b = -1; b < 3; b++) {
        dync_compiled *f = b < 0 ? NULL : dync_compile(fn, .backend = backends[b]);
        dync_value args[2], out;
        for (int i = 0; i < nargs; i++) args[i] = DYNC_V(ramp_at(shape[i], i, true));
        out = f ? dync_call_values(f, nargs, args) : fn(args, nargs, NULL);
        EXPECT_OK(dync_backward(total(dync_as_tensor(out))));
        TELL_TENSOR("grad0", dync_grad(dync_as_tensor(args[0])));
        if (nargs > 1) TELL_TENSOR("grad1", dync_grad(dync_as_tensor(args[1])));
        dync_compiled_free(f);
    }
}

FUNCTION(view_scaled)
{
    UNUSED;
    dync_tensor *y = dync_mul(T(0), T(0));
    dync_mul_(dync_select(y, 0, 0), 3);
    return DYNC_V(dync_mul(y, T(0)));
}
SCENARIO(gradient_through_a_written_view) { gradient_of(view_scaled, 1, &S(2, 3)); }

FUNCTION(copied_in)
{
    UNUSED;
    dync_tensor *y = dync_mul(T(0), 2);
    dync_copy_(from(y, 1), T(1));
    return DYNC_V(dync_mul(y, y));
}
SCENARIO(gradient_of_what_was_copied_in) { gradient_of(copied_in, 2, (dync_dims[]){S(4), S(3)}); }

static dync_tensor *doubled_squared(dync_tensor *x)
{
    dync_mul_(x, 2);
    return dync_mul(x, x);
}
SCENARIO(gradient_through_a_written_argument)
{
    for (int b = 0; b < 3; b++) {
        dync_compiled *f = dync_compile(doubled_squared, .backend = backends[b]);
        dync_tensor *leaf = ramp_at(S(3), 0, true), *x = dync_mul(leaf, 1), *out = dync_call(f, x);
        EXPECT_OK(dync_backward(total(dync_add(out, x))));
        TELL_TENSOR(b ? "grad_aot_eager" : "grad_eager", dync_grad(leaf));
        TELL_TENSOR(b ? "x_aot_eager" : "x_eager", x);
        dync_compiled_free(f);
    }
}

FUNCTION(detached_written)
{
    UNUSED;
    dync_tensor *y = dync_mul(T(0), 2);
    dync_add_(dync_detach(y), 1);
    return DYNC_V(y);
}
SCENARIO(detached_view_is_written)
{
    gradient_of(detached_written, 1, &S(3));
    for (int b = 0; b < 3; b++) {
        dync_compiled *f = dync_compile(detached_written, .args = "x", .backend = backends[b]);
        TELL_TENSOR("out", dync_call(f, ramp(3, 0)));
        dync_compiled_free(f);
    }
}
FUNCTION(relu_written)
{
    UNUSED;
    return DYNC_V(dync_mul(dync_relu_(dync_mul(T(0), 2)), T(0)));
}
SCENARIO(relu_in_place) { gradient_of(relu_written, 1, &S(4)); }

/* ---- what is refused ------------------------------------------------------------------------- */
typedef dync_tensor *(*one_arg)(dync_tensor *);
static void refused(one_arg fn)
{
    for (int b = -1; b < 3; b++) {
        dync_compiled *f = b < 0 ? NULL : dync_compile(fn, .backend = backends[b]);
        dync_tensor *x = ramp_at(S(3), 0, true);
        dync_tensor *got = f ? dync_call(f, x) : fn(x);
        TELL("fails", dync_error() == DYNC_ERR_AUTOGRAD && (!f || !got));
        TELL_TEXT("text", dync_error_message());
        EXPECT_HAS_STR(dync_error_message(), "test_writes.c:");
        dync_clear_error();
        dync_compiled_free(f);
    }
}
static dync_tensor *writes_leaf(dync_tensor *x) { return dync_add_(x, 1); }
static dync_tensor *writes_view(dync_tensor *x)
{
    dync_add_(dync_select(x, 0, 0), 1);
    return dync_mul(x, 2);
}
SCENARIO(leaf_is_written) { refused(writes_leaf); }
SCENARIO(view_of_a_leaf_is_written) { refused(writes_view); }

static dync_tensor *writes_saved(dync_tensor *x)
{
    dync_tensor *y = dync_exp(x);
    dync_add_(y, 1);
    return y;
}
SCENARIO(saved_value_is_written)
{
    dync_compiled *f = dync_compile(writes_saved, .backend = "eager");
    dync_tensor *out = dync_call(f, ramp_at(S(3), 0, true));
    EXPECT(out && dync_backward(total(out)) == DYNC_ERR_AUTOGRAD);
    TELL_TEXT("text", dync_error_message());
    dync_clear_error();
    dync_compiled_free(f);
}
static void says(dync_tensor *got)
{
    EXPECT(got == NULL);
    TELL_TEXT("text", dync_error_message());
    dync_clear_error();
}
SCENARIO(float_into_integers) { says(dync_add_(dync_to_dtype(ramp(3, 0), DYNC_I64), 1.5)); }
SCENARIO(write_that_would_grow) { says(dync_add_(ramp(3, 0), ramp_at(S(2, 3), 0, false))); }
TEST_MAIN
