/* What a traced function does besides computing happens in every call, in its order: gradients set
 * and read, hooks, requires_grad switched, backward inside fullgraph. Each program runs eagerly and
 * compiled on every backend, several times, on equal tensors. */
#include "counter.h"

static const char *const backends[] = {"eager", "aot_eager", "inductor"};
static void quiet(dync_status status, const char *message, void *user)
{
    (void)status, (void)message, (void)user;
}

typedef dync_tensor *(*fn2)(dync_tensor *, dync_tensor *);
typedef struct {
    bool fullgraph, leaf, backward, keep;
    int frames;
} how;

static dync_tensor *twin(dync_tensor *x, bool leaf)
{
    dync_tensor *t = dync_requires_grad_(dync_clone(dync_detach(x)), true);
    return leaf ? t : dync_mul(t, 1);
}
static void same_grad(dync_tensor *a, dync_tensor *b, const char *backend, int call)
{
    dync_tensor *g = dync_grad(a), *h = dync_grad(b);
    if (!EXPECT((g != NULL) == (h != NULL)) ||
        (g && !EXPECT(same(dync_detach(g), dync_detach(h), 1e-5))))
        printf("    gradient, %s, call %d\n", backend, call);
}
/* backward: of the result, outside. keep: the same two tensors in every call. */
static void equal(fn2 fn, how h)
{
    for (int b = 0; b < 3; b++) {
        counter c = {.inner = backends[b]};
        dync_backend counting = COUNTER(c);
        dync_compiled *f =
            dync_compile(fn, .args = "x, y", .fullgraph = h.fullgraph, .backend_object = &counting);
        dync_tensor *x[2] = {0}, *y[2] = {0};
        for (int call = 0; call < 4; call++) {
            if (!call || !h.keep) {
                x[0] = twin(dync_randn(dync_shape(3, 4)), h.leaf), x[1] = twin(x[0], h.leaf);
                y[0] = twin(dync_randn(dync_shape(4)), h.leaf), y[1] = twin(y[0], h.leaf);
            }
            dync_tensor *r[2];
            for (int k = 0; k < 2; k++) {
                dync_manual_seed((uint64_t)call);
                r[k] = k ? dync_call(f, x[1], y[1]) : fn(x[0], y[0]);
                REQUIRE(r[k] != NULL);
                if (h.backward)
                    EXPECT_OK(dync_backward(dync_sum(dync_mul(r[k], r[k]), DYNC_ALL, false)));
            }
            if (!EXPECT(same(dync_detach(r[0]), dync_detach(r[1]), 1e-5)))
                printf("    result, %s, call %d\n", backends[b], call);
            EXPECT(same(dync_detach(x[0]), dync_detach(x[1]), 1e-5) &&
                   same(dync_detach(y[0]), dync_detach(y[1]), 1e-5));
            EXPECT_EQ_INT(dync_requires_grad(x[0]), dync_requires_grad(x[1]));
            same_grad(x[0], x[1], backends[b], call);
            same_grad(y[0], y[1], backends[b], call);
            same_grad(r[0], r[1], backends[b], call);
        }
        EXPECT_EQ_INT(dync_error(), DYNC_OK);
        if (h.frames && !EXPECT_EQ_INT(c.frame_count, h.frames)) printf("    %s\n", backends[b]);
        dync_compiled_free(f);
    }
}

/* ---- gradients set and read ------------------------------------------------------------------ */
static dync_tensor *sets_grad(dync_tensor *x, dync_tensor *y)
{
    dync_set_grad(x, dync_detach(dync_mul(x, 3)));
    dync_set_grad(y, NULL);
    return dync_add(x, y);
}
TEST(gradients_set)
{
    equal(sets_grad, (how){.leaf = true, .frames = 1});
    equal(sets_grad, (how){.leaf = true, .fullgraph = true, .keep = true, .frames = 1});
    equal(sets_grad, (how){.leaf = true, .backward = true, .frames = 1});
}
static dync_tensor *reads_grad(dync_tensor *x, dync_tensor *y)
{
    dync_tensor *g = dync_grad(x), *z = dync_mul(dync_detach(x), dync_detach(y));
    if (g) z = dync_add(z, g);
    dync_set_grad(x, g ? dync_mul(g, 0.5) : dync_ones(dync_shape(3, 4)));
    return z;
}
TEST(gradients_read)
{
    equal(reads_grad, (how){.leaf = true, .fullgraph = true, .keep = true, .frames = 2});
    equal(reads_grad, (how){.leaf = true, .keep = true});
}
static dync_tensor *writes_grad(dync_tensor *x, dync_tensor *y)
{
    dync_tensor *g = dync_grad(x);
    if (g)
        dync_mul_(g, 2);
    else
        dync_set_grad(x, dync_ones(dync_shape(3, 4)));
    return dync_add(x, y);
}
TEST(gradients_written)
{
    equal(writes_grad, (how){.leaf = true, .fullgraph = true, .keep = true, .frames = 2});
}
static dync_tensor *sets_before_branch(dync_tensor *x, dync_tensor *y)
{
    dync_set_grad(x, dync_detach(dync_mul(x, 2)));
    if (dync_bool(dync_gt(dync_sum(y, DYNC_ALL, false), 0))) {
        dync_set_grad(y, dync_detach(y));
        return dync_add(x, y);
    }
    dync_set_grad(x, NULL);
    return dync_sub(x, y);
}
TEST(gradients_set_around_a_branch) { equal(sets_before_branch, (how){.leaf = true}); }

/* ---- backward inside ------------------------------------------------------------------------- */
static dync_tensor *loss_of(dync_tensor *x, dync_tensor *y)
{
    return dync_mean(dync_silu(dync_mul(x, y)), DYNC_ALL, false);
}
static dync_tensor *backward_inside(dync_tensor *x, dync_tensor *y)
{
    dync_tensor *loss = loss_of(x, y);
    dync_backward(loss);
    return loss;
}
static dync_tensor *backward_twice(dync_tensor *x, dync_tensor *y)
{
    dync_backward(loss_of(x, y));
    dync_tensor *loss = dync_sum(dync_mul(y, y), DYNC_ALL, false);
    dync_backward(loss);
    return loss;
}
static dync_tensor *backward_no_grad_update(dync_tensor *x, dync_tensor *y)
{
    for (int i = 0; i < 3; i++) {
        dync_backward(loss_of(x, y));
        DYNC_NO_GRAD {
            dync_sub_(y, dync_mul(dync_grad(y), 0.1));
        }
        dync_set_grad(y, NULL);
    }
    return dync_detach(loss_of(x, y));
}
static dync_tensor *backward_keeps_history(dync_tensor *x, dync_tensor *y)
{
    dync_tensor *z = dync_tanh(dync_mul(x, 2));
    dync_backward(loss_of(dync_detach(x), y));
    return dync_mul(z, z);
}
TEST(backward_in_a_graph)
{
    const fn2 fns[] = {backward_inside, backward_twice, backward_no_grad_update};
    for (int i = 0; i < 3; i++) {
        equal(fns[i], (how){.leaf = true, .fullgraph = true, .frames = 1});
        equal(fns[i], (how){.leaf = true, .fullgraph = true, .keep = true});
        equal(fns[i], (how){.leaf = true});
    }
    equal(backward_keeps_history,
          (how){.leaf = true, .fullgraph = true, .backward = true, .frames = 1});
}
static dync_tensor *gradients_inside(dync_tensor *x, dync_tensor *y)
{
    dync_value g =
        dync_gradients(DYNC_V(loss_of(x, y)), dync_tuple(x, y), DYNC_NONE, (dync_grad_options){0});
    return dync_add(dync_as_tensor(dync_at(g, 0)), dync_as_tensor(dync_at(g, 1)));
}
static dync_tensor *penalty(dync_tensor *x, dync_tensor *y)
{
    dync_value g = dync_gradients(DYNC_V(loss_of(x, y)), DYNC_V(x), DYNC_NONE,
                                  (dync_grad_options){.create_graph = true});
    dync_tensor *gx = dync_as_tensor(dync_at(g, 0)),
                *loss = dync_sum(dync_mul(gx, gx), DYNC_ALL, false);
    dync_backward(loss);
    return dync_detach(gx);
}
TEST(gradients_in_a_graph)
{
    equal(gradients_inside, (how){.fullgraph = true, .frames = 1});
    equal(gradients_inside, (how){.leaf = true, .fullgraph = true, .keep = true, .frames = 1});
    equal(penalty, (how){.leaf = true, .fullgraph = true, .frames = 1});
}
static dync_tensor *used_after_free(dync_tensor *x, dync_tensor *y)
{
    dync_tensor *loss = loss_of(x, y);
    dync_backward(loss);
    dync_backward(loss);
    return loss;
}
static dync_tensor *written_before(dync_tensor *x, dync_tensor *y)
{
    dync_tensor *z = dync_mul(x, 1), *loss = loss_of(z, y);
    dync_mul_(z, 2);
    dync_backward(loss);
    return loss;
}
TEST(backward_in_a_graph_refused)
{
    dync_tensor *x = dync_randn(dync_shape(3, 4), .requires_grad = true),
                *y = dync_randn(dync_shape(4), .requires_grad = true);
    dync_on_error(quiet, NULL);
    EXPECT(dync_call(dync_compile(used_after_free, .fullgraph = true), x, y) == NULL);
    EXPECT_EQ_INT(dync_error(), DYNC_ERR_AUTOGRAD);
    EXPECT(strstr(dync_error_message(), "a second time") != NULL);
    dync_clear_error();
    EXPECT(dync_call(dync_compile(written_before, .fullgraph = true), x, y) == NULL);
    EXPECT_EQ_INT(dync_error(), DYNC_ERR_AUTOGRAD);
    EXPECT(strstr(dync_error_message(), "modified by an inplace operation") != NULL);
    EXPECT(dync_grad(x) == NULL && dync_grad(y) == NULL);
}

/* ---- hooks ----------------------------------------------------------------------------------- */
static int hooked[2];
static dync_tensor *doubles(dync_tensor *g, void *user)
{
    ++*(int *)user;
    return dync_mul(g, 2);
}
static dync_tensor *triples(dync_tensor *g, void *user)
{
    (void)user;
    return dync_mul(g, 3);
}
static dync_tensor *hooks_input(dync_tensor *x, dync_tensor *y)
{
    dync_register_hook(x, triples, NULL);
    return dync_mul(dync_sin(x), y);
}
static dync_tensor *hooks_value(dync_tensor *x, dync_tensor *y)
{
    dync_tensor *z = dync_sin(x), *w = dync_mul(z, y);
    dync_register_hook(z, triples, NULL);
    return dync_add(w, dync_mul(z, z));
}
static dync_tensor *hooks_and_removes(dync_tensor *x, dync_tensor *y)
{
    int id = dync_register_hook(x, triples, NULL);
    dync_tensor *z = dync_mul(dync_sin(x), y);
    dync_remove_hook(x, id);
    return z;
}
static int removed_id;
static dync_tensor *removes(dync_tensor *x, dync_tensor *y)
{
    dync_tensor *z = dync_mul(dync_sin(x), y);
    dync_remove_hook(x, removed_id);
    dync_remove_hook(z, removed_id);
    dync_remove_hook(x, -1);
    return z;
}
TEST(removing_a_hook_that_is_not_there_does_nothing)
{
    for (int fullgraph = 0; fullgraph < 2; fullgraph++) {
        counter c = {0};
        dync_compiled *f =
            dync_compile(removes, .backend_object = &COUNTER(c), .fullgraph = fullgraph);
        dync_tensor *x = dync_rand(dync_shape(3), .requires_grad = true),
                    *y = dync_rand(dync_shape(3));
        dync_tensor *with = dync_rand(dync_shape(3), .requires_grad = true),
                    *mine = dync_rand(dync_shape(3), .requires_grad = true);
        removed_id = dync_register_hook(with, triples, NULL);
        dync_register_hook(mine, doubles, &hooked[0]);
        for (int i = 0; i < 3; i++)
            EXPECT(same(dync_call(f, x, y), dync_mul(dync_sin(x), y), 1e-6));
        EXPECT_EQ_INT(c.frame_count, 1);
        /* has another: it stays */
        EXPECT(same(dync_call(f, mine, y), dync_mul(dync_sin(mine), y), 1e-6));
        EXPECT_OK(dync_backward(dync_sum(dync_call(f, mine, y), DYNC_ALL, false)));
        EXPECT(same(dync_grad(mine), dync_mul(dync_mul(dync_cos(mine), y), 2), 1e-6));
        /* has it: it goes, or fullgraph refuses */
        dync_tensor *r = dync_call(f, with, y);
        EXPECT_EQ_INT(r != NULL, !fullgraph);
        if (fullgraph) EXPECT_HAS_STR(dync_error_message(), "Tensor.remove_hook");
        dync_clear_error();
        if (r) EXPECT_OK(dync_backward(dync_sum(r, DYNC_ALL, false)));
        if (r) EXPECT(same(dync_grad(with), dync_mul(dync_cos(with), y), 1e-6));
        dync_compiled_free(f);
    }
}
static dync_tensor *retains(dync_tensor *x, dync_tensor *y)
{
    dync_tensor *z = dync_sin(x), *w = dync_mul(z, y);
    dync_retain_grad(w);
    return w;
}
TEST(hooks)
{
    const fn2 fns[] = {hooks_input, hooks_value, hooks_and_removes, retains};
    for (int i = 0; i < 4; i++) {
        equal(fns[i], (how){.backward = true});
        equal(fns[i], (how){.leaf = true, .backward = true});
    }
    equal(hooks_input, (how){.leaf = true, .fullgraph = true, .backward = true, .frames = 1});
    equal(hooks_input, (how){.leaf = true, .keep = true, .backward = true, .frames = 1});
}
static bool hooks_now = true;
static dync_tensor *hooks_behind(dync_tensor *x, dync_tensor *y)
{
    dync_tensor *z = dync_sin(x), *w = dync_mul(z, y);
    dync_graph_break("here");
    if (hooks_now) dync_register_hook(z, triples, NULL);
    return dync_add(w, z);
}
/* The graph before the break has used the value: the hook sees that gradient too. */
TEST(hooks_behind_a_break)
{
    equal(hooks_behind, (how){.backward = true});
    equal(hooks_behind, (how){.leaf = true, .backward = true});
    counter c = {.inner = "inductor"};
    dync_compiled *f = dync_compile(hooks_behind, .backend_object = &COUNTER(c));
    for (int i = 0; i < 4; i++) {
        dync_tensor *x = dync_randn(dync_shape(3, 4), .requires_grad = true),
                    *y = dync_randn(dync_shape(4));
        EXPECT_OK(dync_backward(dync_sum(dync_call(f, x, y), DYNC_ALL, false)));
        EXPECT(same(dync_grad(x), dync_mul(dync_mul(dync_cos(x), dync_add(y, 1)), 3), 1e-5));
    }
    /* both graphs, and the first in parts: once */
    EXPECT_EQ_INT(c.frame_count, 3);
    dync_compiled_free(f);
}
/* A variable brings the first hook after that graph ran compiled: said, and right from then on. */
TEST(hooks_that_come_too_late)
{
    dync_tensor *x = dync_randn(dync_shape(3, 4), .requires_grad = true),
                *y = dync_randn(dync_shape(4));
    dync_compiled *f = dync_compile(hooks_behind);
    dync_on_error(quiet, NULL);
    hooks_now = false;
    for (int i = 0; i < 3; i++) EXPECT(dync_call(f, x, y) != NULL);
    hooks_now = true;
    EXPECT(dync_call(f, x, y) == NULL);
    EXPECT_EQ_INT(dync_error(), DYNC_ERR_UNSUPPORTED);
    EXPECT_HAS_STR(dync_error_message(), "ask for it where the value is made");
    dync_clear_error();
    EXPECT_OK(dync_backward(dync_sum(dync_call(f, x, y), DYNC_ALL, false)));
    EXPECT(same(dync_grad(x), dync_mul(dync_mul(dync_cos(x), dync_add(y, 1)), 3), 1e-5));
    dync_compiled_free(f);
}
static dync_tensor *hooks_inside(dync_tensor *x, dync_tensor *y)
{
    dync_tensor *z = dync_mul(x, y);
    dync_register_hook(z, triples, NULL);
    dync_tensor *loss = dync_sum(dync_mul(z, dync_sigmoid(z)), DYNC_ALL, false);
    dync_backward(loss);
    return loss;
}
TEST(hooks_of_a_backward_in_a_graph)
{
    equal(hooks_inside, (how){.leaf = true, .fullgraph = true, .frames = 1});
    dync_compiled *f = dync_compile(backward_inside, .fullgraph = true);
    dync_tensor *x = dync_randn(dync_shape(3, 4), .requires_grad = true),
                *y = dync_randn(dync_shape(4), .requires_grad = true);
    dync_call(f, x, y);
    dync_tensor *plain = dync_clone(dync_grad(x));
    /* comes after the first compile: guarded */
    int id = dync_register_hook(x, doubles, &hooked[0]);
    for (int i = 0; i < 3; i++) {
        dync_set_grad(x, NULL);
        dync_call(f, x, y);
        EXPECT(same(dync_mul(plain, 2), dync_grad(x), 1e-5));
    }
    dync_remove_hook(x, id);
    dync_set_grad(x, NULL);
    dync_call(f, x, y);
    EXPECT(same(plain, dync_grad(x), 1e-5));
    dync_compiled_free(f);
}

/* ---- functions with a gradient of their own -------------------------------------------------- */
static dync_value scaled_forward(dync_autograd_ctx *ctx, const dync_value *args, int n)
{
    (void)n;
    dync_save_for_backward(ctx, dync_as_tensor(args[0]));
    return DYNC_V(dync_mul(args[0], args[1]));
}
static dync_value scaled_backward(dync_autograd_ctx *ctx, const dync_value *grads, int n)
{
    (void)n;
    return dync_tuple(dync_mul(grads[0], 10),
                      dync_sum(dync_mul(grads[0], dync_saved(ctx, 0)), dync_shape(0), false));
}
static const dync_autograd_function scaled = {"Scaled", scaled_forward, scaled_backward};
static dync_tensor *custom_step(dync_tensor *x, dync_tensor *y)
{
    dync_tensor *loss =
        dync_sum(dync_sin(dync_as_tensor(dync_apply(&scaled, x, y))), DYNC_ALL, false);
    dync_backward(loss);
    return loss;
}
static dync_tensor *custom_outside(dync_tensor *x, dync_tensor *y)
{
    return dync_cos(dync_as_tensor(dync_apply(&scaled, x, y)));
}
TEST(custom_functions)
{
    equal(custom_step, (how){.leaf = true, .fullgraph = true, .frames = 1});
    equal(custom_step, (how){.leaf = true});
    equal(custom_outside, (how){.leaf = true, .backward = true});
    equal(custom_outside, (how){.leaf = true, .fullgraph = true, .backward = true, .frames = 1});
    dync_tensor *x = dync_randn(dync_shape(3, 4), .requires_grad = true),
                *y = dync_randn(dync_shape(4), .requires_grad = true);
    dync_compiled *f = dync_compile(custom_outside, .fullgraph = true);
    for (int i = 0; i < 2; i++)
        EXPECT(same(dync_call(f, dync_detach(x), dync_detach(y)), dync_detach(custom_outside(x, y)),
                    1e-5));
    EXPECT_EQ_INT(dync_error(), DYNC_OK);
}

/* ---- requires_grad, leaves ------------------------------------------------------------------- */
static dync_tensor *switches_first(dync_tensor *x, dync_tensor *y)
{
    dync_requires_grad_(x, false);
    dync_tensor *z = dync_mul(x, y);
    dync_requires_grad_(x, true);
    return dync_add(z, x);
}
static dync_tensor *makes_a_leaf(dync_tensor *x, dync_tensor *y)
{
    dync_tensor *z = dync_requires_grad_(dync_detach(dync_mul(x, y)), true);
    dync_tensor *loss = dync_sum(dync_mul(z, z), DYNC_ALL, false);
    dync_backward(loss);
    return dync_grad(z);
}
static dync_tensor *asks(dync_tensor *x, dync_tensor *y)
{
    dync_tensor *z = dync_mul(x, y);
    double k = dync_is_leaf(x) + 2 * dync_is_leaf(z) + 4 * dync_has_grad_fn(z) +
               8 * dync_requires_grad(z) + 16 * dync_is_leaf(dync_detach(z));
    return dync_mul(z, k);
}
TEST(requires_grad)
{
    equal(switches_first, (how){.leaf = true, .backward = true});
    equal(makes_a_leaf, (how){.leaf = true, .fullgraph = true, .frames = 1});
    equal(makes_a_leaf, (how){.leaf = true});
    equal(asks, (how){.leaf = true, .backward = true, .frames = 1});
    equal(asks, (how){.backward = true, .frames = 1});
}

/* ---- random state ---------------------------------------------------------------------------- */
static dync_tensor *seeds(dync_tensor *x, dync_tensor *y)
{
    dync_tensor *a = dync_rand(dync_shape(4));
    dync_manual_seed(7);
    dync_tensor *b = dync_rand(dync_shape(4));
    return dync_add(dync_mul(x, a), dync_mul(y, b));
}
TEST(random_state)
{
    equal(seeds, (how){.leaf = true, .frames = 1});
    equal(seeds, (how){.leaf = true, .fullgraph = true, .backward = true, .frames = 1});
}
/* ---- nodes and files in traced code: breaks, on real data ------------------------------------ */
static dync_tensor *tripled(dync_tensor *g, void *user)
{
    return (void)user, g ? dync_mul(g, 3) : NULL;
}
static dync_tensor *node_hook(dync_tensor *x, dync_tensor *y)
{
    /* used before the hook stands there: it sees that gradient too */
    dync_tensor *z = dync_mul(x, y), *w = dync_sin(z);
    dync_grad_fn_hook(z, tripled, NULL, NULL);
    return dync_add(w, z);
}
static dync_tensor *node_call(dync_tensor *x, dync_tensor *y)
{
    dync_tensor *z = dync_mul(x, y);
    return dync_as_tensor(dync_at(dync_grad_fn_call(z, dync_tuple(dync_ones_like(z))), 0));
}
static dync_tensor *by_file(dync_tensor *x, dync_tensor *y)
{
    dync_npy_save(dync_mul(x, 2), "build/test_effects.npy");
    return dync_add(dync_npy_load("build/test_effects.npy"), y);
}
TEST(nodes_and_files_are_breaks)
{
    dync_tensor *(*const fn[])(dync_tensor *, dync_tensor *) = {node_hook, node_call, by_file};
    static const char *const backends[] = {"eager", "aot_eager", "inductor"};
    for (int k = 0; k < 9; k++) {
        dync_compiled *f = dync_compile(fn[k / 3], .backend = backends[k % 3]),
                      *whole = dync_compile(fn[k / 3], .fullgraph = true);
        for (int call = 0; call < 3; call++) DYNC_SCOPE {
            dync_tensor *x = dync_randn(dync_shape(3), .requires_grad = true),
                        *y = dync_randn(dync_shape(3), .requires_grad = true);
            dync_tensor *r = dync_call(f, x, y), *want = fn[k / 3](x, y);
            EXPECT(r && dync_allclose(r, want, 1e-5, 1e-6));
            if (!r || k / 3 > 0) continue;
            dync_tensor *got = dync_as_tensor(
                dync_at(dync_gradients(DYNC_V(r), DYNC_V(x), DYNC_V(dync_ones_like(r)),
                                       (dync_grad_options){0}),
                        0));
            dync_tensor *plain = dync_as_tensor(
                dync_at(dync_gradients(DYNC_V(want), DYNC_V(x), DYNC_V(dync_ones_like(r)),
                                       (dync_grad_options){0}),
                        0));
            EXPECT(got && plain && dync_allclose(got, plain, 1e-5, 1e-6));
        }
        dync_on_error(quiet, NULL);
        EXPECT(!dync_call(whole, dync_ones(dync_shape(3), .requires_grad = true),
                          dync_ones(dync_shape(3), .requires_grad = true)));
        EXPECT_STATUS(dync_error(), DYNC_ERR_UNSUPPORTED);
        EXPECT_HAS_STR(dync_error_message(), k / 3 == 2 ? "numpy.save" : "Tensor.grad_fn");
        dync_clear_error();
        dync_on_error(NULL, NULL);
        dync_compiled_free(f);
        dync_compiled_free(whole);
    }
    remove("build/test_effects.npy");
}

static dync_tensor *relu_of(dync_tensor *x) { return dync_relu(x); }
static dync_tensor *allowed_of(dync_tensor *x)
{
    return dync_sin(dync_frame(dync_allow_in_graph(relu_of), dync_add(x, 1)));
}
TEST(allowed_functions_take_symbolic_sizes)
{
    static const char *const backends[] = {"eager", "aot_eager", "inductor"};
    for (int k = 0; k < 3; k++) {
        dync_compiled *f = dync_compile(allowed_of, .backend = backends[k]);
        for (int n = 3; n < 7; n++) {
            dync_tensor *x = dync_randn(dync_shape(n, n));
            dync_tensor *r = dync_call(f, x);
            EXPECT(r && dync_allclose(r, allowed_of(x), 1e-5, 1e-6));
        }
        dync_compiled_free(f);
    }
}

/* A gradient asked of a value that the graph before the break has made and used. */
static dync_tensor *of_a_value_inside(dync_tensor *x)
{
    dync_tensor *inside = dync_unsqueeze(dync_mul(x, 2), -1);
    dync_tensor *end = dync_sum(dync_mul(inside, inside), DYNC_ALL, false);
    dync_value g = dync_gradients(dync_v_tensor(end), dync_v_tensor(inside), DYNC_NONE,
                                  (dync_grad_options){0});
    return dync_len(g) ? dync_at(g, 0).as.t : NULL;
}
TEST(gradient_of_a_value_inside)
{
    for (int b = 0; b < 2; b++) {
        dync_compiled *f = dync_compile(of_a_value_inside, .backend = b ? "inductor" : "aot_eager");
        dync_tensor *x = dync_from(((float[]){1, -2, 3}), dync_shape(3), .requires_grad = true);
        for (int call = 0; call < 3; call++) {
            dync_tensor *g = dync_call(f, x);
            EXPECT(g && dync_equal(dync_flatten(g, 0, -1), dync_mul(dync_detach(x), 4)));
            EXPECT_OK(dync_error());
        }
        dync_compiled_free(f);
    }
}

/* Places that only the smallest values' gradient needs, written over behind the break: those values
 * are used by nobody, so that nothing asks for the places. They lie outside of the dim now. */
static dync_value writes_places(const dync_value *a, int n, void *user)
{
    (void)n, (void)user;
    dync_tensor *x = dync_as_tensor(a[0]), *square = dync_mul(x, x);
    dync_value least = dync_min_dim(square, 1, false);
    dync_graph_break("places are written");
    dync_add_(dync_at(least, 1).as.t, 7);
    return dync_v_tensor(dync_sum(square, DYNC_ALL, false));
}
TEST(written_places_that_nobody_needs)
{
    for (int b = 0; b < 2; b++) {
        dync_compiled *f =
            dync_compile(dync_fnv(writes_places), .backend = b ? "inductor" : "aot_eager");
        for (int call = 0; call < 3; call++) {
            dync_tensor *x =
                dync_from(((float[]){1, -2, 3, 4}), dync_shape(2, 2), .requires_grad = true);
            dync_value v = dync_v_tensor(x);
            EXPECT_OK(dync_backward(dync_as_tensor(dync_call_values(f, 1, &v))));
            EXPECT(dync_grad(x) && dync_equal(dync_grad(x), dync_mul(dync_detach(x), 2)));
        }
        dync_compiled_free(f);
    }
}

TEST_MAIN
