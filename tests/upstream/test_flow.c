/* Control flow inside one graph, dtypes that operators promote to, random numbers. */
#include "upstream.h"
#include "flow.h"

static const char *const backends[] = {"eager", "aot_eager", "inductor"};
#define S dync_shape
#define FUNCTION(name) static dync_value name(const dync_value *a, int n, void *user)
#define T(i) dync_as_tensor(a[i])
#define UNUSED (void)n, (void)user, (void)a
typedef dync_tensor *(*one_arg)(dync_tensor *);
static dync_tensor *positive(bool yes)
{
    dync_tensor *x = dync_abs(ramp(3, 0));
    return yes ? x : dync_neg(x);
}

/* Results out0, out1, ... of a function of so many arguments, and gradients of their squares. */
static int run(dync_function fn, int nargs, const dync_value *args, const char *inner, bool grads)
{
    counter c = {.inner = inner};
    dync_compiled *f = dync_compile(fn, .backend_object = &COUNTER(c), .fullgraph = true);
    dync_value r = dync_call_values(f, nargs, args);
    dync_tensor *sum = NULL;
    int n = r.kind == DYNC_KIND_LIST ? dync_len(r) : 1;
    for (int i = 0; i < n; i++) {
        char name[16];
        dync_tensor *o = dync_as_tensor(r.kind == DYNC_KIND_LIST ? dync_at(r, i) : r);
        snprintf(name, sizeof name, "out%d", i);
        TELL_TENSOR(name, o);
        if (grads) sum = sum ? dync_add(sum, total(dync_mul(o, o))) : total(dync_mul(o, o));
    }
    if (grads) EXPECT_OK(dync_backward(sum));
    for (int i = 0; grads && i < nargs; i++) {
        char name[16];
        dync_tensor *x = dync_as_tensor(args[i]);
        snprintf(name, sizeof name, "grad%d", i);
        if (dync_requires_grad(x)) TELL_TENSOR(name, dync_grad(x));
        dync_set_grad(x, NULL);
    }
    dync_compiled_free(f);
    return c.frame_count;
}

/* ---- cond ------------------------------------------------------------------------------------ */
static dync_tensor *sine(dync_tensor *t) { return dync_sin(t); }
static dync_tensor *times_5(dync_tensor *t) { return dync_mul(t, 5); }
static dync_tensor *plus_1(dync_tensor *t) { return dync_add(t, 1); }
static dync_tensor *minus_1(dync_tensor *t) { return dync_sub(t, 1); }
static dync_tensor *cond(dync_tensor *pred, one_arg yes, one_arg no, dync_tensor *x)
{
    return dync_as_tensor(dync_cond(pred, yes, no, dync_tuple(x)));
}
static dync_tensor *sine_or_5(dync_tensor *x)
{
    return cond(dync_gt(total(x), 0), sine, times_5, x);
}
SCENARIO(cond_takes_one_way)
{
    for (int b = 0; b < 3; b++) {
        counter c = {.inner = backends[b]};
        dync_compiled *f =
            dync_compile(sine_or_5, .backend_object = &COUNTER(c), .fullgraph = true);
        TELL_TENSOR("yes", dync_call(f, positive(true)));
        TELL_TENSOR("no", dync_call(f, positive(false)));
        TELL("frames", c.frame_count);
        dync_compiled_free(f);
    }
}

static dync_tensor *closed;
static dync_tensor *times_w(dync_tensor *t) { return dync_mul(t, closed); }
static dync_tensor *minus_w(dync_tensor *t) { return dync_sub(t, closed); }
static dync_tensor *with_closure(dync_tensor *x)
{
    return cond(dync_gt(total(x), 0), times_w, minus_w, x);
}
SCENARIO(cond_with_a_closure)
{
    for (int b = 0; b < 6; b++) {
        bool yes = b < 3;
        dync_tensor *w = closed = ramp_at(S(3), 2, true);
        dync_compiled *f =
            dync_compile(with_closure, .backend = backends[b % 3], .fullgraph = true);
        dync_tensor *x = dync_requires_grad_(positive(yes), true), *out = dync_call(f, x);
        EXPECT_OK(dync_backward(total(dync_mul(out, out))));
        TELL_TENSOR(yes ? "out_yes" : "out_no", out);
        TELL_TENSOR(yes ? "x_yes" : "x_no", dync_grad(x));
        TELL_TENSOR(yes ? "w_yes" : "w_no", dync_grad(w));
        dync_compiled_free(f);
    }
}

static dync_tensor *inner_cond(dync_tensor *t)
{
    return cond(dync_gt(dync_select(t, 0, 0), 0), plus_1, minus_1, t);
}
static dync_tensor *outer_cond(dync_tensor *x)
{
    return cond(dync_gt(total(x), 0), inner_cond, times_5, x);
}
static dync_tensor *pair(float p, float q) { return dync_from(((float[]){p, q}), S(2)); }
SCENARIO(cond_in_cond)
{
    for (int b = 0; b < 3; b++) {
        counter c = {.inner = backends[b]};
        dync_compiled *f =
            dync_compile(outer_cond, .backend_object = &COUNTER(c), .fullgraph = true);
        TELL_TENSOR("a", dync_call(f, pair(1, 2)));
        TELL_TENSOR("b", dync_call(f, pair(-1, 2)));
        TELL_TENSOR("c", dync_call(f, pair(-1, -2)));
        TELL("frames", c.frame_count);
        dync_compiled_free(f);
    }
}

FUNCTION(cond_by_number)
{
    UNUSED;
    return dync_cond(dync_as_bool(a[1]), plus_1, times_5, dync_tuple(a[0]));
}
SCENARIO(cond_of_a_number)
{
    counter c = {0};
    dync_compiled *f =
        dync_compile(cond_by_number, .args = "x, flag", .backend_object = &COUNTER(c));
    TELL_TENSOR("yes", dync_call(f, ramp(3, 0), DYNC_TRUE));
    TELL_TENSOR("no", dync_call(f, ramp(3, 0), DYNC_FALSE));
    TELL("frames", c.frame_count);
    dync_compiled_free(f);
}

static dync_tensor *first_two(dync_tensor *t) { return dync_slice(t, 0, 0, 2, 1); }
static dync_tensor *as_it_is(dync_tensor *t) { return t; }
static dync_tensor *written(dync_tensor *t) { return dync_clone(dync_add_(t, 1)); }
static dync_tensor *copied(dync_tensor *t) { return dync_clone(t); }
static dync_tensor *ways_differ(dync_tensor *x)
{
    return cond(dync_gt(total(x), 0), first_two, as_it_is, x);
}
static dync_tensor *one_way_writes(dync_tensor *x)
{
    return cond(dync_gt(total(x), 0), written, copied, x);
}
static void fails(one_arg fn, bool grad)
{
    for (int b = 0; b < 3; b++) {
        dync_compiled *f = dync_compile(fn, .backend = backends[b], .fullgraph = true);
        TELL("fails", dync_call(f, ramp_at(S(3), 0, grad)) == NULL && dync_error() != DYNC_OK);
        dync_clear_error();
        dync_compiled_free(f);
    }
}
SCENARIO(cond_whose_ways_differ) { fails(ways_differ, false); }
SCENARIO(cond_that_writes) { fails(one_way_writes, true); }

/* ---- loops ----------------------------------------------------------------------------------- */
static dync_tensor *below_100(dync_tensor *i, dync_tensor *t)
{
    return (void)i, dync_lt(total(t), 100);
}
FUNCTION(doubles)
{
    UNUSED;
    return dync_tuple(dync_add(a[0], 1), dync_mul(a[1], 2));
}
FUNCTION(until_100)
{
    UNUSED;
    return dync_while_loop(below_100, doubles,
                           dync_tuple(dync_zeros(DYNC_SCALAR, .dtype = DYNC_I64), a[0]));
}
static dync_tensor *never(dync_tensor *t) { return dync_lt(total(t), -100); }
static dync_tensor *twice(dync_tensor *t) { return dync_mul(t, 2); }
FUNCTION(until_never)
{
    UNUSED;
    return dync_while_loop(never, twice, dync_tuple(a[0]));
}
SCENARIO(while_doubles)
{
    for (int b = 0; b < 3; b++) {
        dync_value x = DYNC_V(positive(true));
        TELL("frames", run(until_100, 1, &x, backends[b], false));
    }
}
SCENARIO(while_that_never_runs)
{
    for (int b = 0; b < 3; b++) {
        dync_value x = DYNC_V(ramp(3, 0));
        run(until_never, 1, &x, backends[b], false);
    }
}

static dync_tensor *step_w;
FUNCTION(recurrent_step)
{
    UNUSED;
    dync_tensor *h = dync_tanh(dync_add(dync_mul(a[0], step_w), a[1]));
    return dync_tuple(h, dync_mul(h, 2));
}
FUNCTION(recurrence)
{
    UNUSED;
    step_w = T(2);
    return dync_scan(recurrent_step, a[0], a[1]);
}
SCENARIO(scan_is_a_recurrence)
{
    for (int b = 0; b < 3; b++) {
        dync_value args[3];
        args[0] = DYNC_V(ramp_at(S(2), 0, true));
        args[1] = DYNC_V(ramp_at(S(3, 2), 1, true));
        args[2] = DYNC_V(ramp_at(S(2), 2, true));
        run(recurrence, 3, args, backends[b], true);
    }
}
FUNCTION(half_step)
{
    UNUSED;
    return dync_tuple(dync_add(dync_mul(a[0], 0.5), a[1]), dync_add(a[0], a[1]));
}
FUNCTION(from_the_end)
{
    UNUSED;
    return dync_scan_reverse(half_step, a[0], a[1]);
}
SCENARIO(scan_backwards)
{
    for (int b = 0; b < 3; b++) {
        dync_value args[2];
        args[0] = DYNC_V(ramp(2, 0)), args[1] = DYNC_V(ramp_at(S(3, 2), 1, false));
        run(from_the_end, 2, args, backends[b], false);
    }
}
static dync_tensor *row_sine(dync_tensor *x) { return dync_sin(dync_mul(x, step_w)); }
FUNCTION(over_rows)
{
    UNUSED;
    step_w = T(1);
    return dync_map(row_sine, a[0]);
}
SCENARIO(map_over_rows)
{
    for (int b = 0; b < 3; b++) {
        dync_value args[2];
        args[0] = DYNC_V(ramp_at(S(3, 2), 0, true)), args[1] = DYNC_V(ramp(2, 1));
        run(over_rows, 2, args, backends[b], true);
    }
}
static dync_tensor *product(dync_tensor *p, dync_tensor *q) { return dync_mul(p, q); }
FUNCTION(products)
{
    UNUSED;
    return dync_associative_scan(product, a[0], 0);
}
SCENARIO(running_product)
{
    for (int b = 0; b < 3; b++) {
        dync_value xs = DYNC_V(ramp_at(S(4, 2), 0, false));
        run(products, 1, &xs, backends[b], false);
    }
}

/* ---- dtypes ---------------------------------------------------------------------------------- */
static const char *type_name(dync_dtype d)
{
    static const char *const names[] = {"float32", "float64", "float16", "bfloat16", "int64",
                                        "int32",   "int16",   "int8",    "uint8",    "bool"};
    return names[d];
}
FUNCTION(promotes)
{
    UNUSED;
    dync_tensor *f32 = T(0), *i = dync_to_dtype(f32, DYNC_I64), *b = dync_gt(f32, 0),
                *f64 = dync_to_dtype(f32, DYNC_F64), *h = dync_to_dtype(f32, DYNC_F16),
                *bf = dync_to_dtype(f32, DYNC_BF16), *four = dync_mul(f32, 4);
    dync_value first = dync_tuple(
        dync_add(i, f32), dync_mul(i, 1.5), dync_add(b, b), dync_div(i, 2),
        dync_floor_divide(dync_to_dtype(four, DYNC_I64), 3),
        dync_mul(f32, dync_full(DYNC_SCALAR, 2.0, .dtype = DYNC_F64)), dync_add(f32, f64),
        dync_add(h, bf), total(dync_to_dtype(i, DYNC_I32)), total(b));
    dync_value rest = dync_tuple(dync_mean(h, DYNC_ALL, false), dync_where(b, i, 2.5),
                                 dync_remainder(four, -3), dync_add(dync_to_dtype(i, DYNC_U8), 1),
                                 dync_pow(f32, 3), dync_pow(i, 2), dync_sqrt(dync_abs(i)),
                                 dync_cumsum(b, 0), dync_maximum(i, f32));
    return dync_tuple(first, rest);
}
SCENARIO(promotion)
{
    static const char *const names[] = {"int_float", "int_number",   "bools",     "int_div",
                                        "floor_div", "zero_dim_f64", "f32_f64",   "half_bf16",
                                        "sum_int",   "sum_bool",     "mean_half", "where",
                                        "remainder", "u8",           "neg_pow",   "int_pow",
                                        "sqrt_int",  "cumsum_bool",  "max_mixed"};
    for (int b = -1; b < 3; b++) {
        dync_value x = DYNC_V(ramp(3, 0));
        dync_compiled *f = b < 0 ? NULL
                                 : dync_compile(promotes, .args = "x", .backend = backends[b]);
        dync_value r = f ? dync_call_values(f, 1, &x) : promotes(&x, 1, NULL);
        for (int k = 0; k < 19; k++) {
            char name[40];
            dync_tensor *t = dync_as_tensor(dync_at(dync_at(r, k >= 10), k % 10));
            TELL_TENSOR(names[k], t);
            snprintf(name, sizeof name, "%s_type", names[k]);
            TELL_TEXT(name, type_name(dync_type(t)));
        }
        dync_compiled_free(f);
    }
}
SCENARIO(mean_of_integers)
{
    EXPECT(dync_mean(dync_to_dtype(ramp(3, 0), DYNC_I64), DYNC_ALL, false) == NULL);
    TELL_TEXT("text", dync_error_message());
    dync_clear_error();
}

/* ---- random numbers -------------------------------------------------------------------------- */
static dync_tensor *noisy(dync_tensor *x) { return dync_add(x, dync_rand(S(4))); }
SCENARIO(random_numbers_differ_between_calls)
{
    for (int b = 0; b < 3; b++) {
        counter c = {.inner = backends[b]};
        dync_compiled *f = dync_compile(noisy, .backend_object = &COUNTER(c));
        dync_manual_seed(1);
        dync_tensor *p = dync_call(f, ramp(4, 0)), *q = dync_call(f, ramp(4, 0)), *again;
        dync_manual_seed(1);
        again = dync_call(f, ramp(4, 0));
        TELL("differ", !dync_equal(p, q));
        TELL("again", dync_equal(p, again));
        dync_manual_seed(1);
        TELL("as_eager", dync_equal(p, noisy(ramp(4, 0))));
        TELL("frames", c.frame_count);
        dync_compiled_free(f);
    }
}
static dync_tensor *dropped(dync_tensor *x) { return dync_dropout(x, 0.5, true); }
SCENARIO(dropout_forward_and_backward_agree)
{
    for (int b = 0; b < 3; b++) {
        double values[] = {0, 2};
        dync_compiled *f = dync_compile(dropped, .backend = backends[b]);
        dync_tensor *x = dync_ones(S(16), .requires_grad = true), *out = dync_call(f, x);
        EXPECT_OK(dync_backward(total(out)));
        TELL("agree", dync_equal(dync_detach(out), dync_grad(x)));
        for (int i = 0; i < 2; i++) EXPECT(dync_item(total(dync_eq(out, values[i]))) > 0);
        EXPECT(dync_item(total(dync_eq(out, 0))) + dync_item(total(dync_eq(out, 2))) == 16);
        tell_numbers("values", values, 2, __FILE__, __LINE__);
        dync_compiled_free(f);
    }
}
TEST_MAIN
