/* Grad modes: how many operators a graph has, what requires grad, what is left behind. */
#include "upstream.h"
#include "modes.h"

typedef dync_tensor *(*two_args)(dync_tensor *, dync_tensor *);
static void named(char *out, const char *what, const char *name)
{
    snprintf(out, 32, "%s_%s", what, name);
}
/* ops: how many there are here where it differs, else 0. A region that a break cuts stays open
 * here; dynamo leaves it at the break and enters it behind, which are operators. */
static void run_cut(const char *name, two_args fn, bool grad_mode, int ops)
{
    char key[32];
    static const char *const backends[] = {NULL, "aot_eager", "inductor"};
    for (int i = 0; i < 3; i++) {
        counter c = {.inner = backends[i]};
        dync_compiled *f = dync_compile(fn, .args = "a, b", .backend_object = &COUNTER(c));
        dync_tensor *a = ramp_at(dync_shape(3), 0, true), *b = ramp_at(dync_shape(3), 1, true);
        dync_set_grad_enabled(grad_mode);
        dync_tensor *out = dync_call(f, a, b);
        out = dync_call(f, a, b);
        dync_set_grad_enabled(true);
        named(key, "frames", name), TELL(key, c.frame_count);
        named(key, "ops", name);
        if (ops)
            DIFFERS(key, c.op_count, ops, "a region that a break cuts stays open");
        else
            TELL(key, c.op_count);
        named(key, "out", name), TELL_TENSOR(key, out);
        named(key, "grad", name), TELL(key, dync_requires_grad(out));
        dync_compiled_free(f);
    }
}
static void run(const char *name, two_args fn, bool grad_mode) { run_cut(name, fn, grad_mode, 0); }
#define REGION(on)                                                    \
    for (bool before_ = dync_grad_mode_push(on), open_ = true; open_; \
         open_ = (dync_grad_mode_pop(before_), false))

static dync_tensor *off_inside(dync_tensor *a, dync_tensor *b)
{
    dync_tensor *x = dync_add(a, 1);
    DYNC_NO_GRAD x = dync_add(x, b);
    return dync_add(x, 2);
}
SCENARIO(region_off_inside)
{
    run("on", off_inside, true);
    run("off", off_inside, false);
}
static dync_tensor *on_inside(dync_tensor *a, dync_tensor *b)
{
    dync_tensor *x = dync_add(a, 1);
    REGION(true) x = dync_add(x, b);
    return dync_add(x, 2);
}
SCENARIO(region_on_inside)
{
    run("on", on_inside, true);
    run("off", on_inside, false);
}
static dync_tensor *on_and_asks(dync_tensor *a, dync_tensor *b)
{
    dync_tensor *x = dync_add(a, 1);
    REGION(true) if (dync_is_grad_enabled()) x = dync_add(x, b);
    return dync_add(x, 2);
}
SCENARIO(region_on_that_asks)
{
    run("on", on_and_asks, true);
    run("off", on_and_asks, false);
}
static dync_tensor *in_each_other(dync_tensor *a, dync_tensor *b)
{
    dync_tensor *x = NULL, *y = NULL, *z = NULL;
    DYNC_NO_GRAD {
        x = dync_mul(a, 2);
        REGION(true) y = dync_mul(b, 3);
        z = dync_add(x, y);
    }
    return dync_add(dync_add(x, y), z);
}
SCENARIO(regions_in_each_other)
{
    run("on", in_each_other, true);
    run("off", in_each_other, false);
}
static dync_tensor *break_inside(dync_tensor *a, dync_tensor *b)
{
    dync_tensor *x = dync_add(a, b);
    DYNC_NO_GRAD {
        x = dync_add(x, 1);
        dync_graph_break("inside");
        x = dync_add(x, 2);
    }
    return dync_add(x, 3);
}
SCENARIO(break_inside_a_region)
{
    run_cut("on", break_inside, true, 6);
    run("off", break_inside, false);
}
static dync_tensor *two_breaks(dync_tensor *a, dync_tensor *b)
{
    dync_tensor *x = dync_add(a, b);
    DYNC_NO_GRAD {
        x = dync_add(x, 1);
        dync_graph_break("one");
        x = dync_add(x, 2);
        dync_graph_break("two");
        x = dync_add(x, 3);
    }
    return dync_add(x, 4);
}
SCENARIO(two_breaks_inside_a_region) { run_cut("on", two_breaks, true, 7); }
static dync_tensor *three_regions(dync_tensor *a, dync_tensor *b)
{
    dync_tensor *x = dync_add(a, b);
    DYNC_NO_GRAD {
        x = dync_add(x, 1);
        DYNC_NO_GRAD {
            x = dync_add(x, 1);
            REGION(true)
            {
                dync_graph_break("inside");
                x = dync_add(x, dync_mul(2, b));
            }
            x = dync_add(x, 3);
        }
    }
    return dync_add(x, dync_mul(4, b));
}
SCENARIO(break_inside_three_regions) { run("on", three_regions, true); }

static dync_tensor *left_off(dync_tensor *a, dync_tensor *b)
{
    dync_tensor *x = dync_mul(a, b);
    dync_set_grad_enabled(false);
    return dync_add(x, dync_mul(x, 2));
}
SCENARIO(mode_left_off)
{
    counter c = {0};
    dync_compiled *f = dync_compile(left_off, .backend_object = &COUNTER(c));
    dync_tensor *a = ramp_at(dync_shape(3), 0, true), *b = ramp(3, 1), *out = NULL;
    for (int i = 0; i < 2; i++) {
        dync_set_grad_enabled(true);
        out = dync_call(f, a, b);
        TELL(i ? "mode1" : "mode0", dync_is_grad_enabled());
    }
    dync_set_grad_enabled(true);
    TELL("grad", dync_requires_grad(out));
    TELL_COUNTS(c);
    dync_compiled_free(f);
}
static dync_tensor *off_and_break(dync_tensor *a, dync_tensor *b)
{
    dync_tensor *x = dync_mul(a, b), *y;
    dync_set_grad_enabled(false);
    y = dync_add(x, 1);
    dync_graph_break("while off");
    y = dync_mul(y, x);
    dync_set_grad_enabled(true);
    return dync_add(y, x);
}
SCENARIO(mode_left_off_then_a_break)
{
    run("on", off_and_break, true);
    TELL("mode", dync_is_grad_enabled());
}

static dync_tensor *through_detach(dync_tensor *a, dync_tensor *b)
{
    return total(dync_mul(a, dync_detach(dync_mul(a, b))));
}
SCENARIO(gradient_stops_at_detach)
{
    static const char *const backends[] = {"eager", "aot_eager", "inductor"};
    for (int i = 0; i < 3; i++) {
        dync_compiled *f = dync_compile(through_detach, .backend = backends[i]);
        dync_tensor *a = ramp_at(dync_shape(3), 0, true), *b = ramp_at(dync_shape(3), 1, true);
        EXPECT_OK(dync_backward(dync_call(f, a, b)));
        TELL_TENSOR("a", dync_grad(a));
        TELL("b_is_none", dync_grad(b) == NULL);
        dync_compiled_free(f);
    }
}

static dync_value several(const dync_value *args, int n, void *user)
{
    dync_tensor *a = dync_as_tensor(args[0]), *p = dync_mul(a, 2), *q = NULL;
    (void)n, (void)user;
    DYNC_NO_GRAD q = dync_mul(a, 3);
    return dync_tuple(p, q, dync_detach(p), dync_add(args[1], 1), dync_gt(a, 0),
                      dync_to_dtype(p, DYNC_F64));
}
SCENARIO(what_requires_grad)
{
    static const char *const backends[] = {"eager", "aot_eager", "inductor"};
    for (int i = 0; i < 3; i++) {
        dync_compiled *f = dync_compile(several, .args = "a, b", .backend = backends[i]);
        for (int off = 0; off < 2; off++) {
            double flags[6];
            dync_set_grad_enabled(!off);
            dync_value r = dync_call_value(f, ramp_at(dync_shape(3), 0, true), ramp(3, 0));
            dync_set_grad_enabled(true);
            for (int k = 0; k < 6; k++)
                flags[k] = dync_requires_grad(dync_as_tensor(dync_at(r, k)));
            tell_numbers(off ? "off" : "flags", flags, 6, __FILE__, __LINE__);
        }
        dync_compiled_free(f);
    }
}

static dync_tensor *updates_weight(dync_tensor *w, dync_tensor *x)
{
    dync_tensor *loss = total(dync_mul(w, x));
    DYNC_NO_GRAD {
        dync_mul_(w, 0.5);
        dync_add_(w, x);
    }
    return loss;
}
SCENARIO(weight_updated_in_a_region)
{
    static const char *const backends[] = {"eager", "aot_eager", "inductor"};
    for (int i = 0; i < 3; i++) {
        counter c = {.inner = backends[i]};
        dync_compiled *f = dync_compile(updates_weight, .backend_object = &COUNTER(c));
        dync_tensor *w = ramp_at(dync_shape(3), 0, true);
        TELL_TENSOR("loss0", dync_call(f, w, ramp(3, 1)));
        TELL_TENSOR("loss1", dync_call(f, w, ramp(3, 2)));
        TELL_TENSOR("w", w);
        TELL("leaf", dync_is_leaf(w));
        TELL("frames", c.frame_count);
        dync_compiled_free(f);
    }
}

static dync_tensor *sine_without(dync_tensor *x)
{
    dync_tensor *y = NULL;
    DYNC_NO_GRAD y = dync_sin(x);
    return y;
}
static dync_tensor *calls_without(dync_tensor *a, dync_tensor *b)
{
    return dync_mul(dync_frame(sine_without, a), b);
}
SCENARIO(frame_without_grad) { run("on", calls_without, true); }

static dync_tensor *branch_inside(dync_tensor *a, dync_tensor *b)
{
    DYNC_NO_GRAD {
        if (dync_bool(dync_gt(total(dync_mul(a, b)), 0))) return dync_add(a, 1);
    }
    return dync_mul(b, 2);
}
SCENARIO(region_with_a_branch) { run_cut("on", branch_inside, true, 6); }

static dync_value makes_leaf(const dync_value *args, int n, void *user)
{
    dync_tensor *w = dync_parameter(dync_ones(dync_shape(3)));
    (void)n, (void)user;
    return dync_tuple(total(dync_mul(w, args[0])), w);
}
SCENARIO(leaf_made_inside)
{
    dync_compiled *f = dync_compile(makes_leaf, .args = "x", .backend = "eager");
    dync_value r = dync_call_value(f, ramp(3, 0));
    dync_tensor *w = dync_as_tensor(dync_at(r, 1));
    EXPECT_OK(dync_backward(dync_as_tensor(dync_at(r, 0))));
    TELL_TENSOR("grad", dync_grad(w));
    TELL("leaf", dync_is_leaf(w));
    dync_compiled_free(f);
}
TEST_MAIN
