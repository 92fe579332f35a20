/* dync_make_graph in its modes, and operators of the user's as nodes: row A-30 among them. */
#include "../capture/counter.h"

/* ---- A-30 ------------------------------------------------------------------------------------ */
static dync_value foo_impl(const dync_value *args, int nargs, void *user)
{
    (void)nargs, (void)user;
    dync_tensor *x = dync_as_tensor(args[0]);
    if (!dync_data(x)) return DYNC_NONE;
    return dync_v_tensor(dync_clone(x));
}
static dync_tensor *foo(dync_tensor *x)
{
    return dync_as_tensor(dync_op_call_values("mylib::foo", 1, (dync_value[]){DYNC_V(x)}));
}
static dync_tensor *foo_of_input(dync_tensor *x) { return foo(x); }
static dync_tensor *foo_of_clone(dync_tensor *x) { return foo(dync_clone(x)); }

TEST(a30_data_ptr_access_fails_in_forward)
{
    EXPECT_OK(dync_op_register("mylib::foo", "(Tensor x) -> Tensor", foo_impl, NULL, NULL));
    dync_tensor *(*fns[])(dync_tensor *) = {foo_of_input, foo_of_clone},
                                      *x = dync_randn(dync_shape(3));
    EXPECT(foo_of_input(x) && foo_of_clone(x));
    for (int i = 0; i < 2; i++)
        for (int how = 0; how < 3; how++) {
            if (how < 2) {
                dync_make_graph_mode(how ? DYNC_TRACE_SYMBOLIC : DYNC_TRACE_FAKE);
                EXPECT(!dync_make_graph(fns[i], x));
            } else {
                dync_compiled *f = dync_compile(fns[i], .backend = "eager", .fullgraph = true);
                EXPECT(!dync_call(f, x));
                dync_compiled_free(f);
            }
            EXPECT(dync_error() == DYNC_ERR_DATA_PTR);
            EXPECT_EQ_STR(dync_error_class(), "RuntimeError");
            EXPECT_HAS_STR(dync_error_message(), "Cannot access data pointer");
            dync_clear_error();
        }
    /* really run, too: the address would be baked in */
    for (int i = 0; i < 2; i++) {
        EXPECT(!dync_make_graph(fns[i], x));
        EXPECT(dync_error() == DYNC_ERR_DATA_PTR);
        dync_clear_error();
    }
}

/* ---- an operator with a meta function -------------------------------------------------------- */
typedef struct {
    int runs, metas;
} counts;
static dync_value scale_impl(const dync_value *args, int nargs, void *user)
{
    (void)nargs;
    dync_tensor *x = dync_as_tensor(args[0]), *y = dync_clone(x);
    float s = (float)dync_as_float(args[1]), *p = dync_data(y);
    for (int64_t i = 0; p && i < dync_numel(y); i++) p[i] *= s;
    ((counts *)user)->runs++;
    return dync_v_tensor(y);
}
static dync_value scale_meta(const dync_value *args, int nargs, void *user)
{
    (void)nargs;
    ((counts *)user)->metas++;
    return dync_v_tensor(dync_clone(dync_as_tensor(args[0])));
}
static counts seen;
static dync_tensor *scale(dync_tensor *x, double s)
{
    return dync_as_tensor(
        dync_op_call_values("mylib::scale", 2, (dync_value[]){DYNC_V(x), dync_v_float(s)}));
}
static dync_tensor *scaled(dync_tensor *x) { return dync_add(scale(dync_mul(x, 2.0), 3.0), 1.0); }
static void register_scale(void)
{
    memset(&seen, 0, sizeof seen);
    EXPECT_OK(dync_op_register("mylib::scale", "(Tensor x, float s) -> Tensor", scale_impl,
                               scale_meta, &seen));
}

/* Two lists in one call: each keeps its own items. */
static dync_value joined_meta(const dync_value *args, int nargs, void *user)
{
    (void)nargs, (void)user;
    return dync_v_tensor(dync_clone(dync_as_tensor(dync_at(args[0], 0))));
}
static dync_value joined_impl(const dync_value *args, int nargs, void *user)
{
    (void)nargs, (void)user;
    return dync_v_tensor(dync_add(dync_mul(dync_as_tensor(dync_at(args[0], 0)), 10.0),
                                  dync_as_tensor(dync_at(args[1], dync_len(args[1]) - 1))));
}
static dync_tensor *joined(dync_tensor *a, dync_tensor *b)
{
    return dync_as_tensor(
        dync_op_call_values("mylib::joined", 2, (dync_value[]){dync_tuple(a), dync_tuple(b, b)}));
}
TEST(two_lists_in_one_call)
{
    EXPECT_OK(dync_op_register("mylib::joined", "(Tensor[] a, Tensor[] b) -> Tensor", joined_impl,
                               joined_meta, NULL));
    dync_tensor *a = dync_full(dync_shape(2), 2), *b = dync_full(dync_shape(2), 5),
                *want = dync_full(dync_shape(2), 25);
    EXPECT(dync_equal(joined(a, b), want));
    EXPECT(dync_equal(dync_call(dync_compile(joined, .fullgraph = true), a, b), want));
}

TEST(an_operator_by_name_takes_the_kinds_of_its_parameters)
{
    dync_tensor *x = dync_ones(dync_shape(2, 2)),
                *large = dync_full(dync_shape(1), INT64_MAX, .dtype = DYNC_I64);
    const struct {
        const char *name, *said;
        dync_value a, b, c;
        int n;
    } bad[] = {
        {"unsqueeze", "dim: expected an int, got a list", DYNC_V(x), dync_tuple(1, 2), DYNC_NONE,
         2},
        {"matmul", "expected a tensor, got a list", DYNC_V(x), dync_tuple(x), DYNC_NONE, 2},
        {"sum", "expected a list of ints, got a string", DYNC_V(x), DYNC_V("text"), DYNC_TRUE, 3},
        {"cat", "item 1 of tensors: expected a tensor, got an int", dync_tuple(x, 3), DYNC_V(0),
         DYNC_NONE, 2},
        {"cat", "tensors: expected a list of tensors, got a tensor", DYNC_V(x), DYNC_V(0),
         DYNC_NONE, 2},
        {"_one_hot_all", "class 9223372036854775807 is too large", DYNC_V(large), DYNC_NONE,
         DYNC_NONE, 1},
        {"sigmoid_backward", "expected a floating point tensor", DYNC_V(large), DYNC_V(large),
         DYNC_NONE, 2}};
    dync_on_error(NULL, NULL);
    for (int i = 0; i < (int)(sizeof bad / sizeof bad[0]); i++) {
        dync_value args[3] = {bad[i].a, bad[i].b, bad[i].c};
        EXPECT_EQ_INT(dync_op_call_values(bad[i].name, bad[i].n, args).kind, DYNC_KIND_NONE);
        EXPECT_HAS_STR(dync_error_message(), bad[i].said);
        dync_clear_error();
    }
}

TEST(an_operator_with_meta_is_one_node_everywhere)
{
    register_scale();
    dync_tensor *x = dync_from(((float[]){1, 2, 3}), dync_shape(3)),
                *want = dync_from(((float[]){7, 13, 19}), dync_shape(3));
    EXPECT(dync_equal(scaled(x), want));
    EXPECT_EQ_INT(seen.runs, 1);
    EXPECT_EQ_INT(seen.metas, 0);
    static const char *const names[] = {"eager", "aot_eager", "inductor"};
    for (int b = 0; b < 3; b++) {
        counter c = {.inner = names[b]};
        dync_backend backend = COUNTER(c);
        dync_compiled *f = dync_compile(scaled, .backend_object = &backend, .fullgraph = true);
        EXPECT(dync_equal(dync_call(f, x), want));
        int runs = seen.runs, metas = seen.metas;
        EXPECT(dync_equal(dync_call(f, x), want));
        EXPECT_EQ_INT(seen.runs, runs + 1);
        EXPECT_EQ_INT(seen.metas, metas);
        EXPECT_EQ_INT(c.frame_count, 1);
        EXPECT_EQ_INT(c.op_count, 3);
        dync_compiled_free(f);
    }
    static const dync_trace_mode modes[] = {DYNC_TRACE_REAL, DYNC_TRACE_FAKE};
    for (int i = 0; i < 2; i++) {
        int runs = seen.runs;
        dync_make_graph_mode(modes[i]);
        dync_graph *g = dync_make_graph(dync_args(scaled, "x"), x);
        REQUIRE(g);
        EXPECT_EQ_INT(seen.runs - runs, modes[i] == DYNC_TRACE_REAL);
        EXPECT_EQ_STR(dync_graph_readable(g),
                      "class scaled(torch.nn.Module):\n"
                      "    def forward(self, x_1: \"f32[3]\"):\n"
                      "        mul: \"f32[3]\" = x_1 * 2.0;  x_1 = None\n"
                      "        scale: \"f32[3]\" = torch.ops.mylib.scale(mul, 3.0);  mul = None\n"
                      "        add: \"f32[3]\" = scale + 1.0;  scale = None\n"
                      "        return add\n");
        EXPECT(dync_equal(dync_as_tensor(dync_graph_run(g, (dync_value[]){DYNC_V(x)}, 1)), want));
    }
}

TEST(an_operator_without_formula_says_so_in_backward)
{
    register_scale();
    dync_tensor *x = dync_ones(dync_shape(3), .requires_grad = true),
                *y = dync_sum(scaled(x), DYNC_ALL, false);
    REQUIRE(y);
    EXPECT(dync_backward(y) == DYNC_ERR_AUTOGRAD);
    EXPECT_HAS_STR(
        dync_error_message(),
        "Trying to backward through mylib::scale but no autograd formula was registered");
    dync_clear_error();
}

static dync_value scale_fw(dync_autograd_ctx *ctx, const dync_value *a, int n)
{
    (void)ctx, (void)n;
    return dync_v_tensor(scale(a[0].as.t, 3));
}
static dync_value scale_bw(dync_autograd_ctx *ctx, const dync_value *g, int n)
{
    (void)ctx, (void)n;
    return dync_v_tensor(scale(g[0].as.t, 3));
}
static const dync_autograd_function scale_function = {"Scale", scale_fw, scale_bw};

TEST(a_custom_function_gives_it_a_gradient)
{
    register_scale();
    dync_tensor *x = dync_ones(dync_shape(3), .requires_grad = true);
    dync_tensor *y = dync_as_tensor(dync_apply(&scale_function, x));
    EXPECT_OK(dync_backward(dync_sum(y, DYNC_ALL, false)));
    EXPECT_NEAR(((float *)dync_data(dync_grad(x)))[2], 3, 0);
}

static dync_value split_impl(const dync_value *args, int nargs, void *user)
{
    (void)nargs, (void)user;
    dync_tensor *x = dync_as_tensor(args[0]);
    return dync_tuple(dync_floor(x), dync_sub(x, dync_floor(x)));
}
static dync_value split_meta(const dync_value *args, int nargs, void *user)
{
    (void)nargs, (void)user;
    return dync_tuple(dync_clone(dync_as_tensor(args[0])), dync_clone(dync_as_tensor(args[0])));
}
static dync_value parts(const dync_value *args, int nargs, void *user)
{
    (void)nargs, (void)user;
    dync_value r = dync_op_call_values("mylib::split", 1, args);
    return dync_tuple(dync_add(dync_at(r, 0), 10.0), dync_at(r, 1));
}

TEST(several_outputs_and_bad_registrations)
{
    EXPECT_OK(dync_op_register("mylib::split", "(Tensor x) -> (Tensor, Tensor)", split_impl,
                               split_meta, NULL));
    dync_tensor *x = dync_from(((float[]){1.5f, 2.25f}), dync_shape(2));
    static const char *const names[] = {"eager", "aot_eager", "inductor"};
    for (int b = 0; b < 3; b++) {
        dync_compiled *f = dync_compile(parts, .backend = names[b], .fullgraph = true);
        dync_value r = dync_call_value(f, x);
        REQUIRE(dync_len(r) == 2);
        EXPECT_NEAR(((float *)dync_data(dync_at(r, 0).as.t))[1], 12, 0);
        EXPECT_NEAR(((float *)dync_data(dync_at(r, 1).as.t))[0], 0.5, 0);
        dync_compiled_free(f);
    }
    static const char *const bad[][2] = {{"mylib::split", "(Tensor x) -> Tensor"},
                                         {"split", "(Tensor x) -> Tensor"},
                                         {"mylib::", "(Tensor x)"},
                                         {"mylib::a", "(Thing x) -> Tensor"},
                                         {"mylib::b", "Tensor x"}};
    for (int i = 0; i < 5; i++) {
        EXPECT(dync_op_register(bad[i][0], bad[i][1], split_impl, split_meta, NULL) ==
               DYNC_ERR_VALUE);
        dync_clear_error();
    }
    EXPECT(dync_op_call_values("mylib::split", 0, NULL).kind == DYNC_KIND_NONE);
    EXPECT(dync_error() == DYNC_ERR_VALUE);
    dync_clear_error();
    EXPECT(dync_op_call_values("mylib::split", 1, (dync_value[]){dync_v_int(3)}).kind ==
           DYNC_KIND_NONE);
    EXPECT(dync_error() == DYNC_ERR_VALUE);
    dync_clear_error();
}

static dync_value lie_meta(const dync_value *args, int nargs, void *user)
{
    (void)nargs, (void)user;
    return dync_v_tensor(dync_reshape(dync_as_tensor(args[0]), dync_shape(1, -1)));
}
static dync_tensor *lies(dync_tensor *x)
{
    return dync_as_tensor(
        dync_op_call_values("mylib::lie", 2, (dync_value[]){DYNC_V(x), dync_v_float(1)}));
}

TEST(a_meta_function_that_lies_is_found_out)
{
    EXPECT_OK(dync_op_register("mylib::lie", "(Tensor x, float s) -> Tensor", scale_impl, lie_meta,
                               &seen));
    dync_compiled *f = dync_compile(lies);
    EXPECT(!dync_call(f, dync_ones(dync_shape(3))));
    EXPECT_HAS_STR(dync_error_message(),
                   "mylib::lie: output 0 is f32[3], but its meta function says f32[1, 3]");
    dync_clear_error();
    dync_compiled_free(f);
}

static dync_value bump_impl(const dync_value *args, int nargs, void *user)
{
    (void)nargs, (void)user;
    dync_add_(dync_as_tensor(args[0]), 1.0);
    return DYNC_NONE;
}
static dync_value no_meta(const dync_value *args, int nargs, void *user)
{
    (void)args, (void)nargs, (void)user;
    return DYNC_NONE;
}
static dync_tensor *bumped(dync_tensor *x)
{
    dync_op_call_values("mylib::bump", 1, (dync_value[]){DYNC_V(x)});
    return dync_mul(x, 2.0);
}

TEST(an_operator_that_writes_its_argument)
{
    EXPECT_OK(dync_op_register("mylib::bump", "(Tensor(a!) x) -> ()", bump_impl, no_meta, NULL));
    static const char *const names[] = {"eager", "aot_eager", "inductor"};
    for (int b = 0; b < 3; b++) {
        dync_tensor *x = dync_ones(dync_shape(2));
        dync_compiled *f = dync_compile(bumped, .backend = names[b], .fullgraph = true);
        for (int i = 0; i < 2; i++) {
            dync_tensor *y = dync_call(f, x);
            REQUIRE(y);
            EXPECT_NEAR(((float *)dync_data(x))[0], 2 + i, 0);
            EXPECT_NEAR(((float *)dync_data(y))[1], 2 * (2 + i), 0);
        }
        dync_compiled_free(f);
    }
}

/* ---- what make_graph records ----------------------------------------------------------------- */
static dync_tensor *weights;
static dync_tensor *affine(dync_tensor *x) { return dync_add(dync_mul(x, weights), 1.0); }
static dync_tensor *gradient(dync_tensor *x)
{
    dync_value g = dync_gradients(dync_v_tensor(dync_sum(dync_sin(x), DYNC_ALL, false)),
                                  dync_v_tensor(x), DYNC_NONE, (dync_grad_options){0});
    return dync_as_tensor(dync_at(g, 0));
}
static dync_tensor *write_first(dync_tensor *x)
{
    dync_tensor *y = dync_clone(x);
    dync_add_(dync_select(y, 0, 0), 5.0);
    return dync_mul(y, 2.0);
}
static dync_tensor *branch(dync_tensor *x)
{
    return dync_bool(dync_gt(dync_sum(x, DYNC_ALL, false), 0.0)) ? dync_sin(x) : dync_cos(x);
}

static dync_tensor *run1(dync_graph *g, dync_tensor *x)
{
    return dync_as_tensor(dync_graph_run(g, (dync_value[]){DYNC_V(x)}, 1));
}

TEST(graphs_equal_the_functions_in_every_mode)
{
    static const dync_trace_mode modes[] = {DYNC_TRACE_REAL, DYNC_TRACE_FAKE, DYNC_TRACE_SYMBOLIC};
    dync_tensor *(*fns[])(dync_tensor *) = {affine, gradient, write_first};
    weights = dync_from(((float[]){2, 3, 4}), dync_shape(3), .requires_grad = true);
    for (int m = 0; m < 3; m++)
        for (int i = 0; i < 3; i++) {
            dync_tensor *x = dync_randn(dync_shape(3), .requires_grad = i == 1),
                        *other = dync_randn(dync_shape(3), .requires_grad = i == 1);
            dync_make_graph_mode(modes[m]);
            dync_graph *g = dync_make_graph(dync_args(fns[i], "x"), x);
            REQUIRE(g);
            EXPECT(same(run1(g, other), fns[i](other), 1e-6));
        }
}

static dync_tensor *shapes(dync_tensor *x, dync_tensor *y)
{
    return dync_sum(dync_mm(x, dync_t(dync_add(y, 1.0))), dync_shape(0), false);
}

TEST(symbolic_graphs_serve_other_sizes)
{
    dync_make_graph_mode(DYNC_TRACE_SYMBOLIC);
    dync_graph *g = dync_make_graph(dync_args(shapes, "x, y"), dync_ones(dync_shape(2, 3)),
                                    dync_ones(dync_shape(4, 3)));
    REQUIRE(g);
    EXPECT_HAS_STR(dync_graph_readable(g),
                   "def forward(self, x_1: \"f32[s0, s1]\", y_1: \"f32[s2, s1]\"):\n");
    EXPECT_HAS_STR(dync_graph_readable(g), "mm: \"f32[s0, s2]\" = torch.mm(x_1, t)");
    for (int n = 2; n < 7; n++) {
        dync_tensor *x = dync_randn(dync_shape(n, n + 1)),
                    *y = dync_randn(dync_shape(n + 2, n + 1));
        dync_value args[2] = {DYNC_V(x), DYNC_V(y)};
        EXPECT(same(dync_as_tensor(dync_graph_run(g, args, 2)), shapes(x, y), 1e-5));
    }
}

static dync_tensor *flat(dync_tensor *x) { return dync_mul(dync_reshape(x, dync_shape(-1)), 2.0); }
TEST(symbolic_sizes_are_computed_with)
{
    dync_make_graph_mode(DYNC_TRACE_SYMBOLIC);
    dync_graph *g = dync_make_graph(dync_args(flat, "x"), dync_ones(dync_shape(2, 3)));
    REQUIRE(g);
    EXPECT_HAS_STR(dync_graph_readable(g), "\"f32[s0*s1]\"");
    dync_tensor *x = dync_randn(dync_shape(5, 4));
    EXPECT(same(run1(g, x), flat(x), 1e-6));
}

TEST(gradients_inside_are_recorded)
{
    dync_make_graph_mode(DYNC_TRACE_FAKE);
    dync_graph *g =
        dync_make_graph(dync_args(gradient, "x"), dync_ones(dync_shape(3), .requires_grad = true));
    REQUIRE(g);
    EXPECT_HAS_STR(dync_graph_readable(g), "torch.cos(x_1)");
}

TEST(a_tensor_from_elsewhere_is_an_attribute)
{
    weights = dync_from(((float[]){2, 3, 4}), dync_shape(3), .requires_grad = true);
    dync_graph *g = dync_make_graph(dync_args(affine, "x"), dync_ones(dync_shape(3)));
    REQUIRE(g);
    EXPECT_HAS_STR(dync_graph_readable(g),
                   "_param_constant0: \"f32[3]\" = self._param_constant0\n");
}

static dync_tensor *by_item(dync_tensor *x)
{
    return dync_mul(x, dync_item(dync_sum(x, DYNC_ALL, false)));
}
static dync_tensor *by_equal(dync_tensor *x)
{
    return dync_equal(x, dync_add(x, 1.0)) ? x : dync_sin(x);
}
static dync_tensor *by_allclose(dync_tensor *x)
{
    return dync_allclose(dync_mul(x, 2.0), x, 1e-5, 1e-8) ? x : dync_sin(x);
}
static dync_tensor *by_made(dync_tensor *x)
{
    return dync_mul(x, dync_item(dync_ones(dync_shape(1))));
}
static dync_tensor *by_elsewhere(dync_tensor *x)
{
    return dync_mul(dync_mul(x, weights), dync_item(weights));
}

TEST(values_that_the_graph_computes_are_not_read)
{
    dync_tensor *x = dync_ones(dync_shape(3)),
                *(*fns[])(dync_tensor *) = {branch, by_item, by_equal, by_allclose, by_made};
    static const char *const ops[] = {"_local_scalar_dense", "_local_scalar_dense", "equal",
                                      "allclose", "_local_scalar_dense"};
    for (int i = 0; i < 5; i++) {
        char text[128];
        snprintf(text, sizeof text,
                 "It appears that you're trying to get value out of a tracing tensor with "
                 "aten.%s.default - erroring out!",
                 ops[i]);
        EXPECT(!dync_make_graph(fns[i], x));
        EXPECT(dync_error() == DYNC_ERR_UNSUPPORTED);
        EXPECT_EQ_STR(dync_error_class(), "RuntimeError");
        EXPECT_HAS_STR(dync_error_message(), text);
        dync_clear_error();
    }
    /* a tensor from elsewhere is a constant */
    weights = dync_from(((float[]){2}), dync_shape(1));
    dync_graph *g = dync_make_graph(by_elsewhere, x);
    REQUIRE(g);
    EXPECT(same(run1(g, x), dync_mul(x, 4.0), 0));
}

TEST(the_mode_is_for_one_graph)
{
    dync_tensor *x = dync_ones(dync_shape(3));
    dync_make_graph_mode(DYNC_TRACE_FAKE);
    EXPECT(!dync_make_graph(branch, x));
    EXPECT(dync_error() == DYNC_ERR_DATA_PTR);
    dync_clear_error();
    EXPECT(!dync_make_graph(branch, x));
    EXPECT(dync_error() == DYNC_ERR_UNSUPPORTED);
    dync_clear_error();
    dync_make_graph_mode((dync_trace_mode)7);
    EXPECT(dync_error() == DYNC_ERR_VALUE);
    dync_clear_error();
}

/* ---- functions of hooks ---------------------------------------------------------------------- */
static dync_tensor *times_two(dync_tensor *g, void *user)
{
    (void)user;
    return dync_mul(g, 2.0);
}
static dync_tensor *plus_one(dync_tensor *g, void *user)
{
    (void)user;
    return dync_add(g, 1.0);
}
static dync_tensor *two_wrapped(dync_tensor *x)
{
    return dync_trace_wrapped(
        dync_trace_wrapped(dync_trace_wrapped(x, times_two, NULL), plus_one, NULL), times_two,
        NULL);
}
TEST(wrapped_functions_have_names_of_their_own)
{
    dync_make_graph_mode(DYNC_TRACE_FAKE);
    dync_graph *g = dync_make_graph(dync_args(two_wrapped, "x"), dync_ones(dync_shape(2)));
    REQUIRE(g);
#define INVOKE "torch__dynamo__trace_wrapped_higher_order_op_self_invoke"
    EXPECT_EQ_STR(dync_graph_readable(g),
                  "class two_wrapped(torch.nn.Module):\n"
                  "    def forward(self, x_1: \"f32[2]\"):\n"
                  "        trace_wrapped: \"f32[2]\" = " INVOKE "(x_1);  x_1 = None\n"
                  "        trace_wrapped_1: \"f32[2]\" = " INVOKE
                  "_1(trace_wrapped);  trace_wrapped = None\n"
                  "        trace_wrapped_2: \"f32[2]\" = " INVOKE
                  "_2(trace_wrapped_1);  trace_wrapped_1 = None\n"
                  "        return trace_wrapped_2\n");
    EXPECT(same(run1(g, dync_ones(dync_shape(2))), dync_full(dync_shape(2), 6.0), 0));
}

static dync_value lists(const dync_value *args, int nargs, void *user)
{
    (void)nargs, (void)user;
    dync_tensor *a = dync_as_tensor(dync_at(args[0], 0)), *b = dync_as_tensor(dync_at(args[0], 1));
    return dync_tuple(dync_add(a, b), dync_tuple(dync_sub(a, b), a));
}

TEST(lists_in_and_out)
{
    dync_tensor *a = dync_ones(dync_shape(2)), *b = dync_ones(dync_shape(2));
    dync_graph *g = dync_make_graph(dync_args(lists, "ab"), dync_tuple(a, b));
    REQUIRE(g);
    dync_value r = dync_graph_run(g, (dync_value[]){DYNC_V(a), DYNC_V(b)}, 2);
    REQUIRE(dync_len(r) == 2 && dync_len(dync_at(r, 1)) == 2);
    EXPECT(dync_equal(dync_at(r, 0).as.t, dync_full(dync_shape(2), 2.0)));
    EXPECT(dync_equal(dync_at(dync_at(r, 1), 1).as.t, a));
}
TEST_MAIN
