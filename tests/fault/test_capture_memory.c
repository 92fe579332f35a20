/* Allocation failure at every allocation of calls of compiled functions: branches, breaks, frames,
 * training, writes, export. The call that meets it returns nothing and says DYNC_ERR_MEMORY, or
 * succeeds; the next call of the same function is right; nothing leaks. */
#include "dync.in.h"
#include "base/base.h"
#include "test.h"

typedef dync_tensor *(*unary)(dync_tensor *);

static dync_tensor *branches(dync_tensor *x)
{
    dync_tensor *y = dync_mul(x, 2), *unused = dync_exp(x);
    (void)unused;
    if (dync_bool(dync_gt(dync_sum(y, DYNC_ALL, false), 0))) y = dync_add(y, 1);
    if (dync_bool(dync_lt(dync_select(y, 0, 0), 0))) return dync_neg(y);
    return dync_softmax(y, 0);
}
static dync_tensor *breaks(dync_tensor *x)
{
    dync_tensor *y = dync_exp(dync_neg(x));
    dync_graph_break("here");
    y = dync_mul(y, dync_item(dync_sum(y, DYNC_ALL, false)));
    return dync_add(y, dync_constant(((float[]){1, 2, 3}), dync_shape(3)));
}
static dync_tensor *inner_broken(dync_tensor *x)
{
    dync_tensor *y = dync_sin(x);
    dync_graph_break("inside");
    return dync_cos(y);
}
static dync_tensor *frames(dync_tensor *x)
{
    return dync_add(dync_frame(inner_broken, dync_tanh(x)),
                    dync_frame(dync_disable(dync_fn1(branches)), x));
}
static dync_tensor *writes(dync_tensor *x)
{
    dync_tensor *y = dync_mul(x, 1);
    dync_add_(dync_slice(y, 0, 0, 2, 1), 1);
    dync_mul_(y, 3);
    return dync_transpose(dync_unsqueeze(y, 0), 0, 1);
}
static dync_tensor *global;
static dync_tensor *with_global(dync_tensor *x)
{
    return dync_add(dync_mul(x, global), dync_rand(dync_shape(3)));
}
static dync_tensor *matrices(dync_tensor *x)
{
    dync_tensor *m = dync_matmul(dync_unsqueeze(x, 1), dync_unsqueeze(x, 0));
    return dync_sum(dync_relu(m), dync_shape(1), false);
}

static dync_cell *count;
static dync_tensor *sized(dync_tensor *x)
{
    dync_value n = dync_cell_get(count);
    dync_tensor *y = dync_cat(dync_tuple(x, dync_zeros(dync_shape(dync_dim(x, 0)))), 0);
    dync_cell_set(count, dync_sym_add(n, DYNC_V(1)));
    y = dync_slice(dync_view(y, dync_shape(2, -1)), 1, 1, DYNC_END, 1);
    if (dync_dim_lt(x, 0, 7)) y = dync_add(y, dync_mul(dync_mul(y, 0), n));
    return dync_sum(dync_exp(y), dync_shape(0), false);
}

static dync_tensor *grown(dync_tensor *h, dync_tensor *x) { return dync_tanh(dync_add(h, x)); }
static dync_tensor *halved(dync_tensor *h, dync_tensor *x) { return dync_mul(dync_sub(h, x), 0.5); }
static dync_value step_inside(const dync_value *a, int n, void *user)
{
    (void)n, (void)user;
    dync_tensor *h = dync_as_tensor(a[0]);
    dync_value next =
        dync_cond(dync_gt(dync_sum(h, DYNC_ALL, false), 0), grown, halved, dync_tuple(h, a[1]));
    return dync_tuple(next, dync_exp(h));
}
static dync_tensor *control(dync_tensor *x)
{
    dync_tensor *xs = dync_stack(dync_tuple(x, dync_neg(x)), 0);
    dync_value r = dync_scan(step_inside, x, xs);
    return dync_add(dync_as_tensor(dync_at(r, 0)),
                    dync_sum(dync_as_tensor(dync_at(r, 1)), dync_shape(0), false));
}

static unary tested;
static dync_dynamic dynamic;
static const char *backend;
static bool training, captures;

/* One call and, for training, its backward; the result, and the gradient in *grad. */
static dync_tensor *once(dync_compiled *f, float sign, dync_tensor **grad)
{
    dync_tensor *x =
        dync_from(((float[]){sign, 0.5f, sign * 2}), dync_shape(3), .requires_grad = training);
    dync_manual_seed(3);
    dync_tensor *y = f ? dync_call(f, x) : tested(x);
    if (training && y) dync_backward(dync_sum(y, DYNC_ALL, false));
    *grad = training && y ? dync_grad(x) : NULL;
    return y;
}

static void quiet(dync_status status, const char *message, void *user)
{
    (void)status;
    (void)message;
    (void)user;
}

static bool right_again(dync_compiled *f, float sign)
{
    dync_tensor *got_grad, *want_grad, *got = once(f, sign, &got_grad),
                                       *want = once(NULL, sign, &want_grad);
    bool ok = got && want && dync_error() == DYNC_OK && dync_allclose(got, want, 1e-4, 1e-5);
    if (ok && training)
        ok = got_grad && want_grad && dync_allclose(got_grad, want_grad, 1e-4, 1e-5);
    return ok;
}

static void each_failure(unary fn, const char *name, bool train)
{
    tested = fn;
    backend = name;
    training = train;
    bool left = true;
    for (int64_t n = 1; left && !test__state.failures; n += test_every()) {
        dync_tensor *grad;
        dync_on_error(quiet, NULL);
        global = dync_full(dync_shape(3), 2);
        count = dync_cell_new("count", DYNC_V(0));
        dync_compiled *f = dync_compile(fn, .backend = name, .dynamic = dynamic,
                                        .capture_scalars = captures,
                                        .capture_dynamic_shapes = captures);
        dync__mem_fail_at(n);
        DYNC_SCOPE {
            once(f, 1, &grad);
        } /* first, and again: cached */
        DYNC_SCOPE {
            once(f, 1, &grad);
        }
        DYNC_SCOPE {
            once(f, -1, &grad);
        } /* another way through it */
        left = dync__tls.fail_at == 0;
        dync__mem_fail_at(0);
        dync_status status = dync_error();
        bool ok = EXPECT(status == DYNC_OK || status == DYNC_ERR_MEMORY);
        if (!ok)
            printf("    allocation %lld: status %d, %s\n", (long long)n, (int)status,
                   dync_error_message());
        dync_clear_error();
        for (int i = 0; i < 4 && ok; i++) {
            DYNC_SCOPE {
                ok = right_again(f, i & 1 ? -1 : 1);
            }
            if (!EXPECT(ok))
                printf("    allocation %lld: call %d afterwards is wrong: %s\n", (long long)n, i,
                       dync_error_message());
        }
        dync_compiled_free(f);
        dync_cell_free(count);
        dync_shutdown();
        dync_clear_error();
        if (!EXPECT(!dync__mem_in_use()))
            printf("    allocation %lld left %lld bytes\n", (long long)n,
                   (long long)dync__mem_read_stats().live_bytes);
        if (!left) EXPECT_EQ_INT(status, DYNC_OK);
    }
}
#define SURVIVES(fn)                                                       \
    TEST(fn##_eager) { each_failure(fn, "eager", false); }                 \
    TEST(fn##_inductor) { each_failure(fn, "inductor", false); }           \
    TEST(fn##_aot_eager_training) { each_failure(fn, "aot_eager", true); } \
    TEST(fn##_inductor_training) { each_failure(fn, "inductor", true); }
SURVIVES(branches)
SURVIVES(breaks)
SURVIVES(frames)
SURVIVES(writes)
SURVIVES(with_global)
SURVIVES(matrices)
SURVIVES(control)

static dync_tensor *decided(dync_tensor *x)
{
    dync_tensor *kept = dync_masked_select(x, dync_gt(x, 0));
    dync_value n = dync_item_sym(dync_argmax(dync_detach(x), 0, false));
    dync_check(n, 0, 2);
    dync_tensor *z = dync_slice(x, 0, 0, dync_as_dim(n), 1);
    return dync_add(dync_sum(kept, DYNC_ALL, false), dync_sum(z, DYNC_ALL, false));
}
static void each_failure_captured(const char *name, bool train)
{
    captures = true;
    each_failure(decided, name, train);
    captures = false;
}
TEST(what_data_decide_eager) { each_failure_captured("eager", false); }
TEST(what_data_decide_inductor) { each_failure_captured("inductor", false); }
TEST(what_data_decide_aot_eager_training) { each_failure_captured("aot_eager", true); }
TEST(what_data_decide_inductor_training) { each_failure_captured("inductor", true); }

/* Everything else that captures. */
static void others(void)
{
    dync_tensor *x = dync_ones(dync_shape(3));
    dync_value arg = DYNC_V(x);
    dync_explain_output e = dync_explain(frames, x);
    dync_explain_str(&e);
    dync_graph *g = dync_make_graph(matrices, x);
    if (g) {
        dync_graph_readable(g);
        dync_graph_run(g, &arg, 1);
    }
    dync_callable code;
    if (g && dync_compile_graph("inductor", g, &arg, 1, &code) == DYNC_OK) {
        code.run(code.state, &arg, 1);
        if (code.destroy) code.destroy(code.state);
    }
    dync_program *p = dync_export(matrices, x);
    dync_program_run(p, 1, &arg);
    dync_program_free(p);
}
TEST(symbolic)
{
    dynamic = DYNC_DYNAMIC_ON;
    each_failure(sized, "inductor", false);
    each_failure(sized, "eager", true);
    each_failure(branches, "eager", false);
    dynamic = DYNC_DYNAMIC_AUTO;
}
TEST(others)
{
    bool left = true;
    for (int64_t n = 1; left && !test__state.failures; n++) {
        dync_on_error(quiet, NULL);
        dync__mem_fail_at(n);
        others();
        left = dync__tls.fail_at == 0;
        dync__mem_fail_at(0);
        dync_status status = dync_error();
        if (!EXPECT(status == DYNC_OK || status == DYNC_ERR_MEMORY))
            printf("    allocation %lld: status %d, %s\n", (long long)n, (int)status,
                   dync_error_message());
        dync_shutdown();
        dync_clear_error();
        if (!EXPECT(!dync__mem_in_use()))
            printf("    allocation %lld left %lld bytes\n", (long long)n,
                   (long long)dync__mem_read_stats().live_bytes);
    }
}

/* A whole training step, hooks and gradients included: every failure is a clean error and leaves
 * nothing behind. */
static dync_tensor *weight;
static dync_tensor *triple(dync_tensor *g, void *user)
{
    (void)user;
    return dync_mul(g, 3);
}
static dync_tensor *whole_step(dync_tensor *x)
{
    dync_tensor *h = dync_mul(x, weight),
                *loss = dync_mean(dync_mul(dync_sigmoid(h), h), DYNC_ALL, false);
    int id = dync_register_hook(weight, triple, NULL);
    dync_backward(loss);
    dync_remove_hook(weight, id);
    DYNC_NO_GRAD {
        dync_sub_(weight, dync_mul(dync_grad(weight), 0.1));
    }
    return loss;
}
static dync_tensor *plain_sin(dync_tensor *x) { return dync_sin(x); }
static dync_tensor *effects(dync_tensor *x)
{
    dync_tensor *y = dync_mul(x, weight);
    dync_register_hook(y, triple, NULL);
    dync_set_grad(weight, dync_ones(dync_shape(3)));
    dync_tensor *z = dync_frame(dync_allow_in_graph(dync_fn1(plain_sin)), y);
    return dync_add(z,
                    dync_frame_values(dync_assume_constant_result(dync_fn1(plain_sin)), "plain_sin",
                                      1, &(dync_value){DYNC_KIND_TENSOR, 0, {.t = x}}));
}
static void step_failures(unary fn, const char *name, bool fullgraph)
{
    bool left = true;
    for (int64_t n = 1; left && !test__state.failures; n++) {
        dync_on_error(quiet, NULL);
        weight = dync_retain(dync_full(dync_shape(3), 0.5));
        dync_requires_grad_(weight, true);
        dync_compiled *f = dync_compile(fn, .backend = name, .fullgraph = fullgraph);
        dync__mem_fail_at(n);
        for (int i = 0; i < 3; i++) DYNC_SCOPE {
            dync_call(f, dync_full(dync_shape(3), i));
        }
        left = dync__tls.fail_at == 0;
        dync__mem_fail_at(0);
        dync_status status = dync_error();
        if (!EXPECT(status == DYNC_OK || status == DYNC_ERR_MEMORY))
            printf("    allocation %lld: status %d, %s\n", (long long)n, (int)status,
                   dync_error_message());
        dync_clear_error();
        DYNC_SCOPE {
            EXPECT(dync_call(f, dync_full(dync_shape(3), 1)) != NULL);
        }
        dync_compiled_free(f);
        dync_release(weight);
        dync_shutdown();
        dync_clear_error();
        if (!EXPECT(!dync__mem_in_use()))
            printf("    allocation %lld left %lld bytes\n", (long long)n,
                   (long long)dync__mem_read_stats().live_bytes);
        if (!left) EXPECT_EQ_INT(status, DYNC_OK);
    }
}
TEST(whole_step_eager) { step_failures(whole_step, "eager", true); }
TEST(whole_step_inductor) { step_failures(whole_step, "inductor", true); }
TEST(effects_inductor) { step_failures(effects, "inductor", false); }
TEST_MAIN
