/* Compiled autograd against the plain backward: gradients, hooks, accumulation, sizes that change,
 * what is counted. */
#include "../capture/counter.h"

static const char *const backends[] = {"eager", "aot_eager", "inductor"};

/* ---- programs -------------------------------------------------------------------------------- */
static dync_tensor *pointwise(dync_tensor *x, dync_tensor *w)
{
    return dync_mul(dync_sin(x), dync_tanh(dync_add(w, dync_mul(x, w))));
}
static dync_tensor *layers(dync_tensor *x, dync_tensor *w)
{
    return dync_relu(dync_mm(dync_sigmoid(dync_mm(x, w)), dync_t(w)));
}
static dync_tensor *reduced(dync_tensor *x, dync_tensor *w)
{
    return dync_mul(dync_mean(dync_mul(x, w), dync_shape(1), true),
                    dync_sum(x, dync_shape(0), false));
}
static dync_tensor *viewed(dync_tensor *x, dync_tensor *w)
{
    return dync_mul(dync_reshape(x, dync_shape(-1)), dync_flatten(dync_transpose(w, 0, 1), 0, -1));
}
static dync_tensor *softened(dync_tensor *x, dync_tensor *w)
{
    return dync_mul(dync_softmax(x, 1), dync_log_softmax(w, 0));
}
static dync_tensor *written(dync_tensor *x, dync_tensor *w)
{
    dync_tensor *y = dync_mul(x, 2.0);
    dync_mul_(dync_select(y, 0, 1), 3.0);
    return dync_mul(y, w);
}
static dync_tensor *joined(dync_tensor *x, dync_tensor *w)
{
    return dync_cat(dync_tuple(dync_exp(x), dync_slice(w, 0, 1, DYNC_END, 1)), 0);
}

static dync_value square_fw(dync_autograd_ctx *ctx, const dync_value *a, int n)
{
    (void)n;
    dync_save_for_backward(ctx, a[0].as.t);
    return dync_v_tensor(dync_mul(a[0].as.t, a[0].as.t));
}
static dync_value square_bw(dync_autograd_ctx *ctx, const dync_value *g, int n)
{
    (void)n;
    return dync_v_tensor(dync_mul(dync_mul(g[0].as.t, 2.0), dync_saved(ctx, 0)));
}
static const dync_autograd_function square_function = {"Square", square_fw, square_bw};
static dync_tensor *custom(dync_tensor *x, dync_tensor *w)
{
    return dync_mul(dync_as_tensor(dync_apply(&square_function, x)), w);
}

typedef dync_tensor *(*program)(dync_tensor *, dync_tensor *);
static const program programs[] = {pointwise, layers,  reduced, viewed,
                                   softened,  written, joined,  custom};
enum { N_PROGRAMS = (int)(sizeof programs / sizeof programs[0]) };

static dync_tensor *leaf_like(dync_tensor *x)
{
    return dync_requires_grad_(dync_clone(dync_detach(x)), true);
}
static bool grads_same(dync_tensor *a, dync_tensor *b)
{
    return a && b && same(dync_grad(a), dync_grad(b), 1e-5);
}

TEST(gradients_equal_those_of_the_walk)
{
    for (int b = 0; b < 3; b++)
        for (int p = 0; p < N_PROGRAMS; p++) /* other sizes through the same entry, or another */
            for (int rows = 2; rows < 5; rows++)
                for (int again = 0; again < 2; again++) {
                    dync_tensor *x = dync_randn(dync_shape(rows, 3), .requires_grad = true),
                                *w = dync_randn(dync_shape(rows, 3), .requires_grad = true);
                    if (programs[p] == layers)
                        w = dync_randn(dync_shape(3, 4), .requires_grad = true);
                    dync_tensor *u = leaf_like(x), *v = leaf_like(w);
                    /* the second adds to what is there */
                    for (int step = 0; step < 2; step++) {
                        dync_tensor *y = programs[p](x, w), *z = programs[p](u, v),
                                    *g = dync_clone(dync_detach(y));
                        EXPECT_OK(dync_backward_with(y, g));
                        DYNC_COMPILED_AUTOGRAD(backends[b]) EXPECT_OK(dync_backward_with(z, g));
                    }
                    if (!EXPECT(grads_same(x, u) && grads_same(w, v)))
                        printf("program %d, %s, %d rows\n", p, backends[b], rows);
                }
}

/* Random programs over three leaves of [rows, 3]: operators of every sort, values used several
 * times. */
enum { RANDOM_VALUES = 12 };
static dync_tensor *random_step(int op, dync_tensor *a, dync_tensor *b)
{
    switch (op) {
    case 0: return dync_add(a, b);
    case 1: return dync_mul(a, b);
    case 2: return dync_sub(dync_tanh(a), b);
    case 3: return dync_sigmoid(a);
    case 4: return dync_mul(dync_softmax(a, 1), b);
    case 5: return dync_add(a, dync_mean(b, dync_shape(0), true));
    case 6:
        return dync_mul(
            dync_transpose(dync_reshape(dync_transpose(a, 0, 1), dync_shape(3, -1)), 0, 1), b);
    case 7: return dync_relu(dync_mm(a, dync_mm(dync_t(b), b)));
    case 8: return dync_cat(dync_tuple(dync_slice(a, 1, 0, 1, 1), dync_slice(b, 1, 1, 3, 1)), 1);
    case 9: return dync_div(a, dync_add(dync_abs(b), 1.0));
    case 10: return dync_add(dync_detach(a), dync_sum(b, dync_shape(1), true));
    default: return dync_where(dync_gt(a, b), a, dync_mul(b, 2.0));
    }
}
static dync_tensor *random_program(const int *code, dync_tensor *const *leaf)
{
    dync_tensor *v[3 + RANDOM_VALUES];
    memcpy(v, leaf, 3 * sizeof *v);
    for (int i = 0; i < RANDOM_VALUES; i++)
        v[3 + i] =
            random_step(code[3 * i], v[code[3 * i + 1] % (3 + i)], v[code[3 * i + 2] % (3 + i)]);
    return dync_add(v[2 + RANDOM_VALUES], dync_mul(v[1 + RANDOM_VALUES], v[RANDOM_VALUES]));
}

TEST(random_programs)
{
    for (int round = 0; round < 60; round++) {
        int code[3 * RANDOM_VALUES];
        for (int i = 0; i < 3 * RANDOM_VALUES; i++)
            code[i] = i % 3 ? (int)(test_random() % 97) : (int)(test_random() % 12);
        for (int rows = 2; rows < 5; rows++) DYNC_SCOPE {
            dync_tensor *plain[3], *taken[3];
            for (int i = 0; i < 3; i++)
                taken[i] =
                    leaf_like(plain[i] = dync_randn(dync_shape(rows, 3), .requires_grad = true));
            dync_tensor *y = random_program(code, plain), *z = random_program(code, taken),
                        *g = dync_randn(dync_shape(rows, 3));
            if (!dync_requires_grad(y)) continue;
            EXPECT_OK(dync_backward_with(y, g));
            DYNC_COMPILED_AUTOGRAD(backends[round % 3]) EXPECT_OK(dync_backward_with(z, g));
            for (int i = 0; i < 3; i++) {
                dync_tensor *a = dync_grad(plain[i]), *b = dync_grad(taken[i]);
                if (!EXPECT((!a && !b) || (a && b && dync_allclose(a, b, 1e-3, 1e-4))))
                    printf("round %d, %d rows, leaf %d\n", round, rows, i);
            }
        }
    }
}

static dync_module *net(void)
{
    return dync_sequential(dync_nn_linear(4, 8, true), dync_nn_relu(), dync_nn_linear(8, 8, true),
                           dync_nn_sigmoid(), dync_nn_linear(8, 2, true));
}

/* A training loop: one capture, whatever the batch. */
TEST(a_training_loop_is_captured_once)
{
    dync_manual_seed(7);
    dync_module *a = net();
    dync_manual_seed(7);
    dync_module *b = net();
    dync_tensor *pa[8], *pb[8];
    int n = dync_module_parameters(a, pa, 8);
    dync_module_parameters(b, pb, 8);
    dync_counters before = dync_get_counters(), after = before;
    for (int step = 0; step < 6; step++) DYNC_SCOPE {
        dync_tensor *x = dync_randn(dync_shape(3 + step, 4));
        for (int i = 0; i < n; i++) dync_set_grad(pa[i], NULL), dync_set_grad(pb[i], NULL);
        EXPECT_OK(dync_backward(dync_sum(dync_forward_call(a, x), DYNC_ALL, false)));
        dync_tensor *loss = dync_sum(dync_forward_call(b, x), DYNC_ALL, false);
        DYNC_COMPILED_AUTOGRAD(NULL) EXPECT_OK(dync_backward(loss));
        for (int i = 0; i < n; i++) {
            EXPECT(same(dync_grad(pa[i]), dync_grad(pb[i]), 1e-5));
            DYNC_NO_GRAD {
                dync_sub_(pa[i], dync_mul(dync_grad(pa[i]), 0.1));
                dync_sub_(pb[i], dync_mul(dync_grad(pb[i]), 0.1));
            }
        }
        after = dync_get_counters();
    }
    EXPECT_EQ_INT(after.autograd_captures - before.autograd_captures, 1);
    EXPECT_EQ_INT(after.autograd_compiles - before.autograd_compiles, 1);
    dync_module_free(a);
    dync_module_free(b);
}

static dync_value two_results(const dync_value *a, int n, void *user)
{
    (void)n, (void)user;
    return dync_tuple(dync_sin(a[0].as.t), dync_cos(a[0].as.t));
}

/* A compiled forward behind what gives no gradient back: its node runs without any, beside
 * stand-ins for what it saved, or with nothing saved. */
static dync_value cut_fw(dync_autograd_ctx *ctx, const dync_value *a, int n)
{
    (void)ctx, (void)n;
    return dync_v_tensor(dync_mul(a[0].as.t, 2.0));
}
static dync_value cut_bw(dync_autograd_ctx *ctx, const dync_value *g, int n)
{
    (void)ctx, (void)g, (void)n;
    return DYNC_NONE;
}
static const dync_autograd_function cut = {"Cut", cut_fw, cut_bw};
static dync_tensor *saves(dync_tensor *x) { return dync_exp(dync_mul(x, x)); }
static dync_tensor *saves_nothing(dync_tensor *x) { return dync_neg(x); }
TEST(no_gradient_arrives_at_a_compiled_forward)
{
    static dync_tensor *(*const of[])(dync_tensor *) = {saves, saves_nothing};
    for (int i = 0; i < 2 * 3 * 3; i++) DYNC_SCOPE {
        dync_compiled *f = dync_compile(of[i % 2], .backend = backends[i / 2 % 3]);
        for (int call = 0; call < 2; call++) {
            dync_tensor *x = dync_randn(dync_shape(4), .requires_grad = true),
                        *y = dync_as_tensor(dync_apply(&cut, dync_call(f, x))),
                        *loss = dync_sum(dync_add(y, dync_mul(x, 3)), DYNC_ALL, false);
            DYNC_COMPILED_AUTOGRAD(backends[i / 6]) EXPECT_OK(dync_backward(loss));
            EXPECT(same(dync_grad(x), dync_full(dync_shape(4), 3), 0));
        }
        dync_compiled_free(f);
    }
}

TEST(an_unused_output_of_a_compiled_forward)
{
    dync_compiled *f = dync_compile(two_results, .backend = "aot_eager");
    dync_counters before = dync_get_counters();
    for (int i = 0; i < 3; i++) DYNC_SCOPE {
        dync_tensor *x = dync_randn(dync_shape(4), .requires_grad = true);
        dync_tensor *y = dync_as_tensor(dync_at(dync_call_value(f, x), 0));
        DYNC_COMPILED_AUTOGRAD("inductor")
        EXPECT_OK(dync_backward_with(y, dync_ones(dync_shape(4))));
        EXPECT(same(dync_grad(x), dync_cos(dync_detach(x)), 1e-5));
    }
    EXPECT_EQ_INT(dync_get_counters().autograd_captures - before.autograd_captures, 1);
    dync_compiled_free(f);
}

/* ---- hooks ----------------------------------------------------------------------------------- */
static dync_tensor *doubled(dync_tensor *g, void *user)
{
    (void)user;
    return dync_mul(g, 2.0);
}
static dync_tensor *plus_one(dync_tensor *g, void *user)
{
    (void)user;
    return dync_add(g, 1.0);
}
static dync_tensor *nothing(dync_tensor *g, void *user)
{
    (void)g, (void)user;
    return NULL;
}
static void count_params(dync_tensor *param, void *user)
{
    if (dync_grad(param)) ++*(int *)user;
}

TEST(every_kind_of_hook)
{
    int counts[2] = {0, 0};
    dync_tensor *grads[2], *kept[2];
    for (int on = 0; on < 2; on++) {
        dync_tensor *x = dync_full(dync_shape(2), 3.0, .requires_grad = true), *m = dync_mul(x, x),
                    *y = dync_sin(m);
        dync_register_hook(x, doubled, NULL);
        dync_register_hook(m, plus_one, NULL);
        dync_register_hook(m, nothing, NULL);
        dync_grad_fn_hook(y, plus_one, doubled, NULL);
        EXPECT_OK(dync_retain_grad(m));
        EXPECT(dync_register_post_accumulate_hook(x, count_params, &counts[on]) >= 0);
        for (int step = 0; step < 2; step++) {
            dync_grad_options keep = {.retain_graph = true};
            dync_value outs = dync_v_tensor(y), seeds = dync_v_tensor(dync_ones(dync_shape(2)));
            if (!on)
                EXPECT_OK(dync_backward_opt(outs, seeds, keep));
            else
                DYNC_COMPILED_AUTOGRAD("inductor") EXPECT_OK(dync_backward_opt(outs, seeds, keep));
        }
        grads[on] = dync_grad(x);
        kept[on] = dync_grad(m);
        EXPECT_EQ_INT(counts[on], 2);
    }
    EXPECT(same(grads[0], grads[1], 1e-5));
    EXPECT(kept[1] && same(kept[0], kept[1], 1e-5));
}

TEST(post_accumulate_hooks_free_gradients)
{
    dync_tensor *x = dync_ones(dync_shape(3), .requires_grad = true);
    int n = 0, id = dync_register_post_accumulate_hook(x, count_params, &n);
    EXPECT_OK(dync_backward(dync_sum(dync_mul(x, 2.0), DYNC_ALL, false)));
    EXPECT_EQ_INT(n, 1);
    dync_remove_hook(x, id);
    EXPECT_OK(dync_backward(dync_sum(dync_mul(x, 2.0), DYNC_ALL, false)));
    EXPECT_EQ_INT(n, 1);
    EXPECT(dync_register_post_accumulate_hook(dync_mul(x, 2.0), count_params, &n) == -1);
    EXPECT(dync_error() == DYNC_ERR_AUTOGRAD);
    dync_clear_error();
    EXPECT(dync_register_post_accumulate_hook(x, NULL, NULL) == -1);
    dync_clear_error();
}

/* ---- the rest -------------------------------------------------------------------------------- */
TEST(gradients_leave_grad_untouched)
{
    dync_tensor *x = dync_randn(dync_shape(4), .requires_grad = true),
                *y = dync_sum(dync_mul(dync_exp(x), x), DYNC_ALL, false);
    dync_value plain = dync_gradients(DYNC_V(y), DYNC_V(x), DYNC_NONE,
                                      (dync_grad_options){.retain_graph = true}),
               got = DYNC_NONE;
    DYNC_COMPILED_AUTOGRAD("inductor")
    got =
        dync_gradients(DYNC_V(y), DYNC_V(x), DYNC_NONE, (dync_grad_options){.retain_graph = true});
    REQUIRE(dync_len(got) == 1);
    EXPECT(same(dync_as_tensor(dync_at(plain, 0)), dync_as_tensor(dync_at(got, 0)), 1e-6));
    EXPECT(!dync_grad(x));
}

/* Two leaves get the same gradient: adding to one must not show in the other. */
TEST(gradients_own_their_memory)
{
    for (int b = 0; b < 3; b++) {
        dync_tensor *x = dync_ones(dync_shape(2), .requires_grad = true),
                    *y = dync_ones(dync_shape(2), .requires_grad = true),
                    *g = dync_ones(dync_shape(2));
        DYNC_COMPILED_AUTOGRAD(backends[b]) EXPECT_OK(dync_backward_with(dync_add(x, y), g));
        DYNC_NO_GRAD dync_add_(dync_grad(x), 5.0);
        EXPECT_NEAR(((float *)dync_data(dync_grad(y)))[0], 1, 0);
        EXPECT_NEAR(((float *)dync_data(g))[0], 1, 0);
    }
}

TEST(histories_are_freed_and_writes_are_noticed)
{
    dync_tensor *x = dync_ones(dync_shape(2), .requires_grad = true), *e = dync_exp(x),
                *y = dync_sum(e, DYNC_ALL, false);
    DYNC_COMPILED_AUTOGRAD("inductor")
    {
        EXPECT_OK(dync_backward(y));
        EXPECT(dync_backward(y) == DYNC_ERR_AUTOGRAD);
        EXPECT_HAS_STR(dync_error_message(), "a second time");
        dync_clear_error();
        e = dync_exp(x);
        y = dync_sum(e, DYNC_ALL, false);
        DYNC_NO_GRAD dync_add_(e, 1.0);
        EXPECT(dync_backward(y) == DYNC_ERR_AUTOGRAD);
        EXPECT_HAS_STR(dync_error_message(), "modified by an inplace operation");
        dync_clear_error();
    }
}
/* ---- gradients of gradients ------------------------------------------------------------------ */
static dync_tensor *sum_of(dync_tensor *x) { return dync_sum(x, DYNC_ALL, false); }
static dync_tensor *gradient_of(dync_tensor *y, dync_tensor *x, bool again)
{
    dync_value g =
        dync_gradients(DYNC_V(y), DYNC_V(x), DYNC_NONE, (dync_grad_options){.create_graph = again});
    return dync_as_tensor(g.kind == DYNC_KIND_LIST ? dync_at(g, 0) : g);
}
/* (|d sum(f) / d x| - 1)^2 beside the loss: a gradient penalty */
static bool penalised(program f, dync_tensor *x, dync_tensor *w)
{
    dync_tensor *y = sum_of(f(dync_sin(x), w)), *g = gradient_of(y, x, true);
    dync_tensor *norm = dync_sqrt(dync_add(sum_of(dync_mul(g, g)), 1e-3));
    dync_tensor *off = dync_sub(norm, 1.0);
    return dync_backward(dync_add(y, dync_mul(off, off))) == DYNC_OK;
}
/* The Hessian of sum(f) in x times w, and then once more what that is by x. */
static bool hessian_product(program f, dync_tensor *x, dync_tensor *w)
{
    dync_tensor *g = gradient_of(sum_of(f(dync_sin(x), w)), x, true);
    dync_tensor *hv = gradient_of(sum_of(dync_mul(g, dync_detach(w))), x, true);
    return dync_backward(sum_of(dync_mul(hv, hv))) == DYNC_OK;
}
/* Gradients with histories in .grad: the second backward adds to what is there. */
static bool kept_in_grad(program f, dync_tensor *x, dync_tensor *w)
{
    dync_grad_options again = {.create_graph = true};
    bool good = dync_backward_opt(dync_v_tensor(sum_of(f(dync_sin(x), w))), DYNC_NONE, again) ==
                DYNC_OK;
    good = good && dync_backward_opt(dync_v_tensor(sum_of(dync_sin(f(dync_sin(x), w)))), DYNC_NONE,
                                     again) == DYNC_OK;
    dync_tensor *p = dync_mul(dync_grad(x), dync_grad(w) ? sum_of(dync_grad(w)) : sum_of(w));
    dync_tensor *gx = gradient_of(sum_of(dync_mul(p, p)), x, false);
    dync_set_grad(x, NULL);
    dync_set_grad(w, NULL);
    dync_set_grad(x, gx);
    return good && gx;
}
typedef bool (*twice_fn)(program, dync_tensor *, dync_tensor *);
static bool same_or_none(dync_tensor *a, dync_tensor *b)
{
    return !a ? !b : b && dync_allclose(a, b, 1e-3, 1e-4);
}
static const struct {
    const char *name;
    program fn;
} smooth[] = {{"pointwise", pointwise}, {"layers", layers},     {"reduced", reduced},
              {"viewed", viewed},       {"softened", softened}, {"joined", joined},
              {"written", written}};
TEST(gradients_with_history)
{
    static const twice_fn ways[] = {penalised, hessian_product, kept_in_grad};
    for (int k = 0; k < (int)(sizeof smooth / sizeof *smooth); k++)
        for (int way = 0; way < 3; way++)
            for (int b = 0; b < 3; b++) {
                dync_reset();
                dync_counters before = dync_get_counters();
                int64_t captures = 0;
                for (int call = 0; call < 4; call++) DYNC_SCOPE {
                    dync_tensor *a = dync_rand(dync_shape(4, 4)), *m = dync_rand(dync_shape(4, 4));
                    dync_tensor *x = dync_requires_grad_(dync_detach(a), true),
                                *w = dync_requires_grad_(dync_detach(m), true),
                                *u = dync_requires_grad_(dync_detach(a), true),
                                *v = dync_requires_grad_(dync_detach(m), true);
                    bool good = false;
                    DYNC_COMPILED_AUTOGRAD(backends[b]) good = ways[way](smooth[k].fn, x, w);
                    good = good && ways[way](smooth[k].fn, u, v);
                    if (!EXPECT(good && same_or_none(dync_grad(x), dync_grad(u)) &&
                                same_or_none(dync_grad(w), dync_grad(v))))
                        printf("    %s, way %d, %s, call %d\n", smooth[k].name, way, backends[b],
                               call);
                    /* compiled: what the first call captured serves the others */
                    dync_counters now = dync_get_counters();
                    if (!call) captures = now.autograd_captures;
                    EXPECT_EQ_INT(now.autograd_captures, captures);
                }
                EXPECT(captures - before.autograd_captures >= 2);
            }
}

/* As PyTorch's AccumulateGrad: in the strides of a leaf without gaps, else row major, whatever
 * comes. Leaves of one form in turn: what is captured is right of each. */
TEST(a_gradient_lies_as_its_leaf)
{
    static const int64_t stride[][2] = {{4, 1}, {1, 3}, {8, 2}, {1, 5}}, /* of [3, 4] */
        want[][2] = {{4, 1}, {1, 3}, {4, 1}, {4, 1}};
    for (int k = 0; k < 16; k++) DYNC_SCOPE {
        const int64_t *s = stride[k % 4];
        dync_tensor *of = dync_as_strided(dync_randn(dync_shape(24)), dync_shape(3, 4),
                                          dync_shape(s[0], s[1]), 0);
        dync_tensor *w = dync_requires_grad_(dync_detach(of), true);
        dync_tensor *seed = dync_randn(dync_shape(4, 3));
        seed = k < 8 ? dync_t(seed) : dync_reshape(seed, dync_shape(3, 4));
        for (int round = 0; round < 2; round++) DYNC_COMPILED_AUTOGRAD(backends[k % 3])
            {
                REQUIRE_OK(dync_backward_with(dync_mul(w, 1.0), seed));
            }
        EXPECT_EQ_INT(dync_stride(dync_grad(w), 0), want[k % 4][0]);
        EXPECT_EQ_INT(dync_stride(dync_grad(w), 1), want[k % 4][1]);
        EXPECT(dync_allclose(dync_grad(w), dync_mul(seed, 2.0), 1e-6, 1e-6));
    }
}

TEST(blocks_nest_and_unknown_backends_are_refused)
{
    int inside = 0;
    DYNC_COMPILED_AUTOGRAD("no such backend") inside++;
    EXPECT_EQ_INT(inside, 0);
    EXPECT(dync_error() == DYNC_ERR_VALUE);
    dync_clear_error();
    dync_counters before = dync_get_counters();
    dync_tensor *x = dync_ones(dync_shape(5), .requires_grad = true);
    DYNC_COMPILED_AUTOGRAD("eager")
    {
        DYNC_COMPILED_AUTOGRAD("inductor") inside++;
        EXPECT_OK(dync_backward(dync_sum(dync_cos(x), DYNC_ALL, false)));
    }
    EXPECT_EQ_INT(dync_get_counters().autograd_captures - before.autograd_captures, 1);
    EXPECT_OK(dync_backward(dync_sum(dync_cos(x), DYNC_ALL, false)));
    EXPECT_EQ_INT(dync_get_counters().autograd_captures - before.autograd_captures, 1);
    /* one too many does nothing */
    dync_compiled_autograd_end();
}
TEST_MAIN
