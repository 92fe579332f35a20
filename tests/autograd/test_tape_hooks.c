/* The tape: hooks on tensors and nodes, custom functions, what long histories and failures leave
 * behind. Expected values are by hand; messages are PyTorch's. */
#include "tape.h"

/* ---- hooks ----------------------------------------------------------------------------------- */

static int calls;
static dync_tensor *square(dync_tensor *g, void *user)
{
    calls++;
    (void)user;
    return dync_mul(g, g);
}
static dync_tensor *look(dync_tensor *g, void *user)
{
    calls++;
    if (user) *(double *)user = g ? dync_item(total(g)) : -1;
    return NULL;
}
static dync_tensor *wrong(dync_tensor *g, void *user)
{
    (void)g, (void)user;
    return dync_ones(dync_shape(7));
}

TEST(tensor_hooks)
{
    QUIET;
    dync_tensor *x = LEAF(0.5f, 0.5f), *y = LEAF(0.5f, 0.5f);
    int id = dync_register_hook(x, square, NULL);
    EXPECT(id > 0);
    EXPECT_OK(dync_backward_with(dync_add(x, y), dync_full(dync_shape(2), 2.0)));
    EXPECT_VALUES(dync_grad(x), 4, 4);
    EXPECT_VALUES(dync_grad(y), 2, 2);
    dync_remove_hook(x, id);
    dync_remove_hook(x, id);
    dync_set_grad(x, NULL);
    dync_tensor *m = dync_mul(x, 3);
    double seen = 0;
    calls = 0;
    int first = dync_register_hook(m, square, NULL), second = dync_register_hook(m, look, &seen);
    EXPECT_OK(dync_backward_with(m, dync_full(dync_shape(2), 3.0)));
    EXPECT_EQ_INT(calls, 2);
    EXPECT_NEAR(seen, 18, TOL_EXACT); /* in the order of registration */
    EXPECT_VALUES(dync_grad(x), 27, 27);
    EXPECT(second > first);
    m = dync_mul(x, 3);
    id = dync_register_hook(m, square, NULL);
    dync_add_(m, 1); /* the hook stays with the value before */
    dync_remove_hook(m, id);
    calls = 0;
    EXPECT_OK(dync_backward(total(m)));
    EXPECT_EQ_INT(calls, 0);
    EXPECT_EQ_INT(dync_register_hook(dync_ones(dync_shape(1)), square, NULL), -1);
    expect_error(DYNC_ERR_AUTOGRAD,
                 "cannot register a hook on a tensor that doesn't require gradient");
    EXPECT_EQ_INT(dync_register_hook(x, NULL, NULL), -1);
    expect_error(DYNC_ERR_VALUE, "the hook is NULL");
    EXPECT_EQ_INT(dync_register_hook(NULL, square, NULL), -1);
    expect_error(DYNC_ERR_VALUE, "");
    dync_register_hook(x, wrong, NULL);
    EXPECT_STATUS(dync_backward(total(dync_mul(x, 2))), DYNC_ERR_SHAPE);
    expect_error(DYNC_ERR_SHAPE, "hook has changed the size");
    dync_shutdown();
}

static dync_tensor *turned(dync_tensor *g, void *user)
{
    (void)user;
    return dync_contiguous(dync_t(g));
}
static dync_tensor *widened(dync_tensor *g, void *user)
{
    (void)user;
    return dync_to_dtype(g, DYNC_F64);
}

TEST(hooks_keep_shape_and_type)
{
    QUIET;
    const dync_hook hooks[] = {turned, widened};
    for (int of_leaf = 0; of_leaf < 2; of_leaf++) {
        for (int i = 0; i < 2; i++) {
            dync_tensor *x = dync_ones(dync_shape(2, 3), .requires_grad = true),
                        *y = dync_mul(x, 2);
            dync_register_hook(of_leaf ? x : y, hooks[i], NULL);
            EXPECT(dync_backward(total(y)) != DYNC_OK);
            expect_error(i ? DYNC_ERR_DTYPE : DYNC_ERR_SHAPE,
                         i ? "hook has changed the type of the gradient: expected float32, got "
                             "float64"
                           : "hook has changed the size of the gradient: expected [2, 3], got "
                             "[3, 2]");
        }
    }
    dync_shutdown();
}

/* What a hook adds or removes is for the next time: those of the moment run, each once. */
static struct {
    dync_tensor *on;
    int id, other;
} changing;
static dync_tensor *adds(dync_tensor *g, void *user)
{
    (void)g;
    calls++;
    dync_register_hook(changing.on, adds, user);
    return NULL;
}
static dync_tensor *removes(dync_tensor *g, void *user)
{
    (void)user;
    calls++;
    dync_remove_hook(changing.on, changing.id);
    dync_remove_hook(changing.on, changing.other);
    return dync_mul(g, 2);
}
static void adds_after(dync_tensor *param, void *user)
{
    calls++;
    dync_register_post_accumulate_hook(param, adds_after, user);
}

TEST(hooks_that_change_hooks)
{
    for (int of_leaf = 0; of_leaf < 2; of_leaf++) {
        dync_tensor *x = LEAF(1, 2), *y = dync_mul(x, 3);
        changing.on = of_leaf ? x : y;
        calls = 0;
        dync_register_hook(changing.on, adds, NULL);
        EXPECT_OK(dync_backward_opt(dync_v_tensor(total(y)), DYNC_NONE,
                                    (dync_grad_options){.retain_graph = true}));
        EXPECT_EQ_INT(calls, 1);
        EXPECT_OK(dync_backward(total(y)));
        EXPECT_EQ_INT(calls, 3);
        x = LEAF(1, 2), y = dync_mul(x, 3);
        changing.on = of_leaf ? x : y;
        changing.id = dync_register_hook(changing.on, removes, NULL);
        changing.other = dync_register_hook(changing.on, square, NULL);
        calls = 0;
        EXPECT_OK(dync_backward_opt(dync_v_tensor(total(y)), DYNC_NONE,
                                    (dync_grad_options){.retain_graph = true}));
        EXPECT_EQ_INT(calls, 2);
        EXPECT_OK(dync_backward(total(y)));
        EXPECT_EQ_INT(calls, 2);
    }
    dync_tensor *x = LEAF(1, 2);
    calls = 0;
    dync_register_post_accumulate_hook(x, adds_after, NULL);
    EXPECT_OK(dync_backward(total(dync_mul(x, 3))));
    EXPECT_EQ_INT(calls, 1);
    dync_shutdown();
}

TEST(node_hooks_pair) /* */
{
    QUIET;
    dync_tensor *x = LEAF(1, 2), *y = dync_mul(x, 3);
    double in = 0, out = 0;
    calls = 0;
    EXPECT(dync_grad_fn_hook(y, look, NULL, &in) > 0);
    int id = dync_grad_fn_hook(y, NULL, look, &out);
    EXPECT_OK(dync_backward_opt(dync_v_tensor(total(y)), DYNC_NONE,
                                (dync_grad_options){.retain_graph = true}));
    EXPECT_EQ_INT(calls, 2);
    EXPECT_NEAR(in, 2, TOL_EXACT);
    EXPECT_NEAR(out, 6, TOL_EXACT);
    dync_remove_hook(y, id);
    EXPECT_OK(dync_backward(total(y)));
    EXPECT_EQ_INT(calls, 3);
    EXPECT_EQ_INT(dync_grad_fn_hook(x, look, NULL, NULL), -1);
    expect_error(DYNC_ERR_AUTOGRAD, "has no node");
    EXPECT_EQ_INT(dync_grad_fn_hook(y, NULL, NULL, NULL), -1);
    expect_error(DYNC_ERR_VALUE, "both hooks are NULL");
    dync_shutdown();
}

TEST(retain_grad)
{
    QUIET;
    dync_tensor *x = LEAF(1, 2), *y = dync_mul(x, 3);
    EXPECT(dync_grad(y) == NULL);
    EXPECT_OK(dync_retain_grad(y));
    EXPECT_OK(dync_backward(total(dync_mul(y, y))));
    EXPECT_VALUES(dync_grad(y), 6, 12);
    EXPECT_STATUS(dync_retain_grad(dync_ones(dync_shape(1))), DYNC_ERR_AUTOGRAD);
    expect_error(DYNC_ERR_AUTOGRAD, "can't retain_grad");
    dync_shutdown();
}

TEST(a_node_on_its_own) /* */
{
    QUIET;
    dync_tensor *x = dync_mul(LEAF(1, 1, 1), 3), *y = dync_mul(x, x);
    dync_value g =
        dync_grad_fn_call(y, dync_tuple(dync_from(((float[]){-1, 2, 0}), dync_shape(3))));
    EXPECT_EQ_INT(dync_len(g), 2);
    EXPECT_VALUES(dync_add(dync_as_tensor(dync_at(g, 0)), dync_as_tensor(dync_at(g, 1))), -6, 12,
                  0);
    EXPECT_EQ_INT(dync_grad_fn_call(dync_ones(dync_shape(1)), DYNC_NONE).kind, DYNC_KIND_NONE);
    EXPECT_STATUS(dync_error(), DYNC_OK);
    dync_grad_fn_call(y, dync_tuple(dync_ones(dync_shape(2))));
    expect_error(DYNC_ERR_SHAPE, "has not the shape");
    dync_shutdown();
}

/* ---- custom functions ------------------------------------------------------------------------ */

static dync_value cube_forward(dync_autograd_ctx *ctx, const dync_value *args, int nargs)
{
    dync_tensor *x = dync_as_tensor(args[0]);
    (void)nargs;
    dync_save_for_backward(ctx, x);
    return dync_v_tensor(dync_mul(dync_mul(x, x), dync_mul(x, args[1])));
}
static dync_value cube_backward(dync_autograd_ctx *ctx, const dync_value *grads, int ngrads)
{
    dync_tensor *x = dync_saved(ctx, 0);
    (void)ngrads;
    return dync_tuple(dync_mul(dync_mul(x, x), dync_mul(grads[0], 3)), DYNC_NONE);
}
static const dync_autograd_function cube = {"Cube", cube_forward, cube_backward};

TEST(custom_function)
{
    QUIET;
    dync_tensor *x = LEAF(1, 2), *y = dync_as_tensor(dync_apply(&cube, x, 1));
    EXPECT(dync_has_grad_fn(y));
    EXPECT_OK(dync_backward(total(y)));
    EXPECT_VALUES(dync_grad(x), 3, 12);
    EXPECT_STATUS(dync_backward(total(y)), DYNC_ERR_AUTOGRAD);
    expect_error(DYNC_ERR_AUTOGRAD, "a second time");
    dync_tensor *a = LEAF(2); /* backward is differentiable itself */
    dync_tensor *g =
        dync_as_tensor(dync_at(dync_gradients(dync_apply(&cube, a, 1), dync_v_tensor(a), DYNC_NONE,
                                              (dync_grad_options){.create_graph = true}),
                               0));
    EXPECT_OK(dync_backward(g));
    EXPECT_VALUES(dync_grad(a), 12);
    DYNC_NO_GRAD {
        EXPECT(!dync_requires_grad(dync_as_tensor(dync_apply(&cube, x, 1))));
    }
    EXPECT(!dync_requires_grad(dync_as_tensor(dync_apply(&cube, dync_ones(dync_shape(2)), 1))));
    EXPECT_EQ_INT(dync_apply(NULL, x).kind, DYNC_KIND_NONE);
    expect_error(DYNC_ERR_VALUE, "dync_apply");
    dync_shutdown();
}

static dync_value second_forward(dync_autograd_ctx *ctx, const dync_value *args, int nargs)
{
    (void)nargs;
    dync_save_for_backward(ctx, dync_as_tensor(args[0]));
    return args[1];
}
static dync_value second_backward(dync_autograd_ctx *ctx, const dync_value *grads, int ngrads)
{
    (void)ngrads;
    return dync_tuple(dync_saved(ctx, 0), grads[0]);
}
TEST(gradient_aliases_input) /* */
{
    static const dync_autograd_function test = {"Test", second_forward, second_backward};
    dync_tensor *x = LEAF(1), *y = LEAF(1), *out = dync_as_tensor(dync_apply(&test, x, y));
    EXPECT(out != y && !dync_is_leaf(out) && dync_is_leaf(y));
    EXPECT_OK(dync_backward(total(out)));
    EXPECT_VALUES(dync_grad(x), 1);
    EXPECT_VALUES(dync_grad(y), 1);
    EXPECT_VALUES(x, 1);
    dync_shutdown();
}

static dync_value pair_forward(dync_autograd_ctx *ctx, const dync_value *args, int nargs)
{
    (void)ctx, (void)nargs;
    return dync_tuple(dync_mul(dync_as_tensor(args[0]), 2), dync_mul(dync_as_tensor(args[0]), 3));
}
static dync_value pair_backward(dync_autograd_ctx *ctx, const dync_value *grads, int ngrads)
{
    (void)ctx;
    EXPECT_EQ_INT(ngrads, 2); /* what did not arrive is zeros */
    return dync_v_tensor(dync_add(dync_mul(grads[0], 2), dync_mul(grads[1], 3)));
}
static dync_value bad_backward(dync_autograd_ctx *ctx, const dync_value *grads, int ngrads)
{
    (void)ctx, (void)ngrads;
    return dync_tuple(grads[0], grads[0], grads[0]);
}
static dync_value bad_shape(dync_autograd_ctx *ctx, const dync_value *grads, int ngrads)
{
    (void)ctx, (void)ngrads, (void)grads;
    return dync_v_tensor(dync_ones(dync_shape(5)));
}
TEST(custom_function_of_two_outputs)
{
    QUIET;
    static const dync_autograd_function pair = {"Pair", pair_forward, pair_backward},
                                        bad = {"Bad", pair_forward, bad_backward},
                                        shape = {"Shape", pair_forward, bad_shape};
    dync_tensor *x = LEAF(1, 2);
    dync_value v = dync_apply(&pair, x);
    EXPECT_OK(dync_backward(total(dync_as_tensor(dync_at(v, 1)))));
    EXPECT_VALUES(dync_grad(x), 3, 3);
    EXPECT_STATUS(dync_backward(total(dync_as_tensor(dync_at(dync_apply(&bad, x), 0)))),
                  DYNC_ERR_AUTOGRAD);
    expect_error(
        DYNC_ERR_AUTOGRAD,
        "function BadBackward returned an incorrect number of gradients (expected 1, got 3)");
    EXPECT_STATUS(dync_backward(total(dync_as_tensor(dync_at(dync_apply(&shape, x), 0)))),
                  DYNC_ERR_AUTOGRAD);
    expect_error(
        DYNC_ERR_AUTOGRAD,
        "Function ShapeBackward returned an invalid gradient at index 0 - got [5] but expected "
        "shape compatible with [2]");
    dync_shutdown();
}

TEST(trace_wrapped_and_cells)
{
    QUIET;
    dync_tensor *x = LEAF(2, 3);
    EXPECT_VALUES(dync_trace_wrapped(x, square, NULL), 4, 9);
    EXPECT(dync_trace_wrapped(NULL, square, NULL) == NULL);
    expect_error(DYNC_ERR_VALUE, "");
    EXPECT(dync_trace_wrapped(x, NULL, NULL) == NULL);
    expect_error(DYNC_ERR_VALUE, "NULL");
    dync_cell *c = dync_cell_new("counter", dync_v_int(0));
    dync_cell_set(c, dync_sym_add(dync_cell_get(c), dync_v_int(2)));
    EXPECT_EQ_INT(dync_as_int(dync_cell_get(c)), 2);
    dync_cell_set(c, dync_v_tensor(x));
    expect_error(DYNC_ERR_VALUE, "expected a number");
    dync_cell_free(c);
    dync_cell_free(NULL);
    EXPECT(dync_cell_new("t", DYNC_NONE) == NULL);
    expect_error(DYNC_ERR_VALUE, "expected a number");
    EXPECT_EQ_INT(dync_cell_get(NULL).kind, DYNC_KIND_NONE);
    expect_error(DYNC_ERR_VALUE, "NULL");
    dync_shutdown();
}

/* ---- size and memory ------------------------------------------------------------------------- */

TEST(deep_histories)
{
    enum { DEPTH = 100000 };
    dync_tensor *x = LEAF(1);
    DYNC_SCOPE {
        dync_tensor *y = dync_retain(dync_mul(x, 1));
        for (int i = 1; i < DEPTH; i++) DYNC_SCOPE {
            dync_tensor *z = dync_retain(dync_mul(y, 1));
            dync_release(y);
            y = z;
        }
        EXPECT_OK(dync_backward(y));
        EXPECT_VALUES(dync_grad(x), 1);
        dync_release(y);
        y = dync_retain(dync_mul(x, x));
        for (int i = 1; i < DEPTH; i++) DYNC_SCOPE {
            dync_tensor *z = dync_retain(dync_mul(y, x));
            dync_release(y);
            y = z;
        }
        dync_release(y); /* never walked: freed as it is */
    }
    dync_shutdown();
}

TEST(nothing_stays_behind)
{
    dync_tensor *x = LEAF(1, 2, 3, 4);
    int64_t before = 0;
    for (int i = 0; i < 6; i++) {
        DYNC_SCOPE {
            dync_tensor *h = dync_zeros(dync_shape(4)), *y = dync_mul(x, 1);
            dync_tensor *gate = dync_sigmoid(dync_mul(h, x));
            /* what was saved is now a descendant of its user */
            dync_mul_(h, gate);
            dync_copy_(dync_select(y, 0, 1), dync_select(x, 0, 0));
            dync_mul_(dync_slice(y, 0, 1, 3, 1), dync_slice(y, 0, 2, 4, 1));
            dync_backward(total(dync_mul(y, x)));
            dync_backward_opt(dync_v_tensor(total(dync_pow(x, 3))), DYNC_NONE,
                              (dync_grad_options){.retain_graph = true});
            dync_set_grad(x, NULL);
        }
        dync_clear_error();
        if (i == 2) before = dync_memory_stats().live_tensors;
    }
    EXPECT_EQ_INT(dync_memory_stats().live_tensors, before);
    dync_shutdown();
}

TEST(tensors_without_data) /* the engine looks at shapes only */
{
    dync_tensor *x = dync_ones(dync_shape(4, 3), .device = DYNC_META, .requires_grad = true);
    dync_tensor *w = dync_ones(dync_shape(5, 3), .device = DYNC_META, .requires_grad = true),
                *y = dync_mul(dync_linear(x, w, NULL), 2);
    dync_mul_(dync_select(y, 0, 1), dync_select(dync_linear(x, w, NULL), 0, 0));
    EXPECT_OK(dync_backward(dync_mean(dync_mul(y, y), DYNC_ALL, false)));
    EXPECT_EQ_INT(dync_size(dync_grad(w), 0), 5);
    EXPECT_OK(dync_backward(dync_sum(dync_mul(w, 2), DYNC_ALL, false)));
    EXPECT_EQ_INT(dync_size(dync_grad(x), 0), 4);
    dync_shutdown();
}

TEST(null_is_an_error_everywhere)
{
    QUIET;
    EXPECT(!dync_is_leaf(NULL));
    expect_error(DYNC_ERR_VALUE, "");
    EXPECT(!dync_has_grad_fn(NULL));
    expect_error(DYNC_ERR_VALUE, "");
    EXPECT(!dync_requires_grad(NULL));
    expect_error(DYNC_ERR_VALUE, "");
    dync_remove_hook(NULL, 1);
    expect_error(DYNC_ERR_VALUE, "");
    EXPECT_EQ_INT(dync_grad_fn_hook(NULL, look, NULL, NULL), -1);
    expect_error(DYNC_ERR_VALUE, "");
    EXPECT_EQ_INT(dync_grad_fn_call(NULL, DYNC_NONE).kind, DYNC_KIND_NONE);
    expect_error(DYNC_ERR_VALUE, "");
    EXPECT_STATUS(dync_retain_grad(NULL), DYNC_ERR_VALUE);
    expect_error(DYNC_ERR_VALUE, "");
    EXPECT_EQ_INT(dync_gradients(DYNC_NONE, DYNC_NONE, DYNC_NONE, (dync_grad_options){0}).kind,
                  DYNC_KIND_NONE);
    expect_error(DYNC_ERR_VALUE, "expected a tensor or a list of tensors");
    dync_save_for_backward(NULL, dync_ones(dync_shape(1)));
    expect_error(DYNC_ERR_VALUE, "the context is NULL");
    EXPECT(dync_saved(NULL, 0) == NULL);
    expect_error(DYNC_ERR_VALUE, "the context is NULL");
    dync_cell_set(NULL, dync_v_int(1));
    expect_error(DYNC_ERR_VALUE, "the cell is NULL");
    dync_shutdown();
}

TEST(compiled_autograd_is_not_here_yet)
{
    QUIET;
    bool ran = false;
    DYNC_COMPILED_AUTOGRAD("inductor") ran = true;
    if (!ran) expect_error(DYNC_ERR_UNSUPPORTED, "compiled autograd");
    dync_shutdown();
}

/* What is written into integers leaves no history there, compiled or not. */
TEST_MAIN
