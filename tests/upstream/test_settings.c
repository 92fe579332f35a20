/* Modules that change, limits, stances, marked dimensions. */
#include "upstream.h"
#include "settings.h"

static dync_value drop_linear(dync_module *self, const dync_value *args, int n)
{
    (void)n;
    dync_tensor *y = dync_forward_call(dync_module_child(self, "linear"), dync_as_tensor(args[0]));
    return DYNC_V(dync_forward_call(dync_module_child(self, "drop"), y));
}
SCENARIO(dropout_trains_and_does_not)
{
    counter c = {0};
    dync_module *m = dync_module_new_values("Net", drop_linear, "x", NULL);
    dync_module_add(m, "drop", dync_nn_dropout(0.5));
    dync_module_add(m, "linear", dync_nn_linear(10, 1, true));
    dync_compiled *f = dync_compile(m, .backend_object = &COUNTER(c), .fullgraph = true);
    for (int i = 0; i < 40; i++) DYNC_SCOPE {
        dync_module_train(m, i % 2);
        EXPECT(dync_call(f, ramp(10, 0)) != NULL);
    }
    TELL("frames", c.frame_count);
    dync_compiled_free(f);
    dync_module_free(m);
}

SCENARIO(weight_is_replaced_or_written)
{
    counter c = {0};
    double frames[3];
    dync_module *m = dync_nn_linear(3, 2, true);
    dync_compiled *f = dync_compile(m, .backend_object = &COUNTER(c));
    for (int step = 0; step < 3; step++) {
        dync_tensor *w = ramp_at(dync_shape(2, 3), step == 2, false);
        DYNC_NO_GRAD {
            if (step == 1) dync_copy_(dync_module_param(m, "weight"), w);
            if (step == 2) dync_module_set_param(m, "weight", dync_parameter(w));
        }
        EXPECT(same(dync_call(f, ramp(3, 0)), dync_forward_call(m, ramp(3, 0)), 1e-6));
        if (step)
            EXPECT(same(dync_detach(dync_call(f, ramp(3, 0))),
                        dync_add(dync_mv(w, ramp(3, 0)), dync_detach(dync_module_param(m, "bias"))),
                        1e-6));
        frames[step] = c.frame_count;
    }
    tell_numbers("frames", frames, 2, __FILE__, __LINE__);
    dync_compiled_free(f);
    dync_module_free(m);
}

static dync_value plus_number(const dync_value *a, int n, void *user)
{
    (void)n, (void)user;
    return DYNC_V(dync_add(a[0], dync_as_int(a[1])));
}
SCENARIO(limit_of_recompiles)
{
    counter c = {0};
    dync_compiled *f = dync_compile(plus_number, .args = "x, n", .backend_object = &COUNTER(c),
                                    .recompile_limit = 2, .dynamic = DYNC_DYNAMIC_OFF);
    for (int n = 0; n < 6; n++) {
        char name[8];
        snprintf(name, sizeof name, "out%d", n);
        TELL_TENSOR(name, dync_call(f, ramp(3, 0), n));
    }
    TELL("frames", c.frame_count);
    dync_compiled_free(f);
}

static dync_value knows_compiling(const dync_value *a, int n, void *user)
{
    (void)n, (void)user;
    dync_tensor *x = dync_add(a[0], dync_as_int(a[1]));
    if (dync_is_compiling()) x = dync_add(x, 1);
    x = dync_add(x, dync_as_int(a[1]));
    return DYNC_V(dync_is_compiling() ? dync_add(x, 2) : x);
}
SCENARIO(entries_serve_behind_the_limit)
{
    static const int numbers[] = {0, 1, 2, 3, 0, 1};
    counter c = {0};
    double out[6];
    dync_compiled *f = dync_compile(knows_compiling, .args = "x, n", .backend_object = &COUNTER(c),
                                    .recompile_limit = 2, .dynamic = DYNC_DYNAMIC_OFF);
    for (int i = 0; i < 6; i++)
        out[i] = dync_item(dync_call(f, dync_ones(dync_shape(1)), numbers[i]));
    tell_numbers("out", out, 6, __FILE__, __LINE__);
    TELL("frames", c.frame_count);
    dync_compiled_free(f);
}

static dync_tensor *sine(dync_tensor *x) { return dync_sin(x); }
SCENARIO(reset_forgets)
{
    counter c = {0};
    dync_compiled *f = dync_compile(sine, .backend_object = &COUNTER(c));
    dync_call(f, ramp(3, 0));
    dync_call(f, ramp(3, 0));
    dync_reset();
    dync_call(f, ramp(3, 0));
    TELL("frames", c.frame_count);
    dync_compiled_free(f);
}

static dync_tensor *doubled_when_compiled(dync_tensor *x)
{
    return dync_mul(dync_sin(x), dync_is_compiling() ? 2 : 1);
}
SCENARIO(stances)
{
    counter c = {0};
    dync_compiled *f = dync_compile(doubled_when_compiled, .backend_object = &COUNTER(c),
                                    .dynamic = DYNC_DYNAMIC_OFF);
    EXPECT_OK(dync_set_stance("force_eager"));
    TELL_TENSOR("eager", dync_call(f, dync_ones(dync_shape(1))));
    EXPECT_OK(dync_set_stance("default"));
    TELL_TENSOR("compiled", dync_call(f, dync_ones(dync_shape(1))));
    EXPECT_OK(dync_set_stance("eager_on_recompile"));
    TELL_TENSOR("known", dync_call(f, dync_ones(dync_shape(1))));
    TELL_TENSOR("unknown", dync_call(f, dync_ones(dync_shape(2))));
    EXPECT_OK(dync_set_stance("fail_on_recompile"));
    TELL_TENSOR("still", dync_call(f, dync_ones(dync_shape(1))));
    TELL("fails", dync_call(f, dync_ones(dync_shape(3))) == NULL);
    dync_clear_error();
    EXPECT_OK(dync_set_stance("default"));
    TELL("frames", c.frame_count);
    dync_compiled_free(f);
}

SCENARIO(error_on_recompile)
{
    counter c = {0};
    dync_compiled *f = dync_compile(sine, .backend_object = &COUNTER(c),
                                    .dynamic = DYNC_DYNAMIC_OFF, .error_on_recompile = true);
    EXPECT(dync_call(f, ramp(3, 0)) != NULL);
    EXPECT(dync_call(f, ramp(4, 0)) == NULL);
    TELL_TEXT("class", dync_error_class());
    dync_clear_error();
    TELL("frames", c.frame_count);
    dync_compiled_free(f);
}

static dync_tensor *twice(dync_tensor *x) { return dync_mul(x, 2); }
static dync_tensor *plus_three_ones(dync_tensor *x)
{
    return dync_add(x, dync_ones(dync_shape(3)));
}
SCENARIO(marked_dimension)
{
    static const int sizes[] = {3, 5, 9};
    counter c = {0};
    dync_compiled *f = dync_compile(twice, .backend_object = &COUNTER(c));
    for (int i = 0; i < 3; i++) {
        dync_tensor *x = ramp(sizes[i], 0);
        char name[8];
        dync_mark_dynamic(x, 0);
        snprintf(name, sizeof name, "out%d", sizes[i]);
        TELL_TENSOR(name, dync_call(f, x));
    }
    TELL("frames", c.frame_count);
    dync_compiled_free(f);
}
SCENARIO(marked_dimension_that_must_be_3)
{
    dync_compiled *f = dync_compile(plus_three_ones, .args = "x");
    dync_tensor *x = ramp(3, 0);
    dync_mark_dynamic(x, 0);
    EXPECT(dync_call(f, x) == NULL);
    TELL_TEXT("class", dync_error_class());
    dync_clear_error();
    dync_compiled_free(f);
}
TEST_MAIN
