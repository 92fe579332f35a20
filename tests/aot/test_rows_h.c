/* The rows H of the conformance list: trace_wrapped and hooks in eager, compiled code, make_graph
 * and compiled autograd. */
#include "../capture/counter.h"

static dync_tensor *_multiply(dync_tensor *x, void *user)
{
    (void)user;
    return dync_mul(x, x);
}
static dync_tensor *multiply_hook(dync_tensor *grad, void *user)
{
    return dync_trace_wrapped(grad, _multiply, user);
}
static dync_tensor *_multiply_invoke(dync_tensor *grad)
{
    return dync_trace_wrapped(grad, _multiply, NULL);
}

static dync_tensor *two(float a, float b, bool grad)
{
    return dync_from(((float[]){a, b}), dync_shape(2), .requires_grad = grad);
}
#define EXPECT_TWO(t, a, b)                                        \
    do {                                                           \
        dync_tensor *t_ = (t);                                     \
        EXPECT(t_ && dync_numel(t_) == 2);                         \
        if (t_) EXPECT_NEAR(((float *)dync_data(t_))[0], a, 1e-6); \
        if (t_) EXPECT_NEAR(((float *)dync_data(t_))[1], b, 1e-6); \
    } while (0)

/* Whole-line comments deleted, trailing blanks stripped. */
static const char *normalize_gm(const char *text)
{
    static char out[1 << 14];
    size_t n = 0;
    for (const char *line = text; line && *line;) {
        const char *end = strchr(line, '\n'), *last = end ? end : line + strlen(line),
                   *first = line;
        while (first < last && *first == ' ') first++;
        const char *stop = last;
        while (stop > line && stop[-1] == ' ') stop--;
        if (*first != '#') {
            memcpy(out + n, line, (size_t)(stop - line));
            n += (size_t)(stop - line);
            out[n++] = '\n';
        }
        line = end ? end + 1 : NULL;
    }
    out[n] = 0;
    return out;
}

static const char *const backends[] = {"eager", "aot_eager", "inductor"};

static dync_tensor *hook_and_mul(dync_tensor *x, dync_tensor *y)
{
    dync_register_hook(x, multiply_hook, NULL);
    return dync_mul(x, y);
}
static dync_tensor *hook_and_add(dync_tensor *x, dync_tensor *y)
{
    dync_register_hook(x, multiply_hook, NULL);
    return dync_add(x, y);
}

TEST(h01_invoke_in_eager)
{
    dync_tensor *x = two(0.5f, 0.5f, true), *y = two(0.5f, 0.5f, true), *z = two(0.5f, 0.5f, true);
    EXPECT_OK(dync_backward_with(hook_and_mul(x, y), two(2, 2, false)));
    EXPECT_TWO(dync_grad(x), 1, 1);
    EXPECT_OK(dync_backward_with(hook_and_add(z, y), two(2, 2, false))); /* the hook ran */
    EXPECT_TWO(dync_grad(z), 4, 4);
}

TEST(h02_invoke_in_pt2)
{
    for (int b = 0; b < 3; b++) {
        dync_reset();
        dync_compiled *f = dync_compile(hook_and_mul, .args = "x, y", .backend = backends[b]);
        dync_compiled *sum = dync_compile(hook_and_add, .args = "x, y", .backend = backends[b]);
        dync_tensor *x = two(0.5f, 0.5f, true), *y = two(0.5f, 0.5f, true);
        EXPECT_OK(dync_backward_with(dync_call(f, x, y), two(2, 2, false)));
        EXPECT_TWO(dync_grad(x), 1, 1);
        /* the effect is repeated in every call */
        for (int call = 0; call < 3; call++) {
            dync_tensor *u = two(0.5f, 0.5f, true);
            EXPECT_OK(dync_backward_with(dync_call(sum, u, y), two(2, 2, false)));
            EXPECT_TWO(dync_grad(u), 4, 4);
        }
        dync_compiled_free(f);
        dync_compiled_free(sum);
    }
}

static const char *const wrapped_text =
    "class _multiply_invoke(torch.nn.Module):\n"
    "    def forward(self, grad_1: \"f32[2]\"):\n"
    "        trace_wrapped: \"f32[2]\" = "
    "torch__dynamo__trace_wrapped_higher_order_op_self_invoke(grad_1);  grad_1 = None\n"
    "        return trace_wrapped\n";

TEST(h03_invoke_make_fx_forward_contrived)
{
    dync_tensor *x = two(0.5f, 0.5f, true);
    dync_graph *g = dync_make_graph(dync_args(_multiply_invoke, "grad"), x);
    REQUIRE(g);
    EXPECT_TWO(dync_as_tensor(dync_graph_run(g, (dync_value[]){DYNC_V(x)}, 1)), 0.25, 0.25);
    EXPECT_EQ_STR(normalize_gm(dync_graph_readable(g)), wrapped_text);
}

TEST(h04_invoke_make_bw)
{
    dync_tensor *x = two(0.5f, 0.5f, true), *z = dync_mul(x, x);
    EXPECT_OK(dync_backward_with(dync_add(z, z), two(1, 1, false)));
    EXPECT_TWO(dync_grad(x), 2, 2);
    dync_graph *g = dync_make_graph(dync_args(_multiply_invoke, "grad"), dync_grad(x));
    REQUIRE(g);
    EXPECT_TWO(dync_as_tensor(dync_graph_run(g, (dync_value[]){DYNC_V(dync_grad(x))}, 1)), 4, 4);
    EXPECT_EQ_STR(normalize_gm(dync_graph_readable(g)), wrapped_text);
}

/* In the joint trace of AOT it is one node as well, run by every backend. */
static dync_value wrap_fw(dync_autograd_ctx *ctx, const dync_value *a, int n)
{
    (void)ctx, (void)n;
    return DYNC_V(dync_mul(a[0].as.t, 3.0));
}
static dync_value wrap_bw(dync_autograd_ctx *ctx, const dync_value *g, int n)
{
    (void)ctx, (void)n;
    return DYNC_V(dync_mul(dync_trace_wrapped(g[0].as.t, _multiply, NULL), 3.0));
}
static const dync_autograd_function wrap_function = {"Wrap", wrap_fw, wrap_bw};
static dync_tensor *wrapped(dync_tensor *x)
{
    return dync_add(dync_as_tensor(dync_apply(&wrap_function, dync_sin(x))), 1.0);
}

TEST(trace_wrapped_in_compiled_code)
{
    for (int b = 0; b < 3; b++) {
        dync_compiled *f = dync_compile(wrapped, .backend = backends[b]);
        for (int i = 0; i < 3; i++) {
            dync_tensor *x = two(0.5f, -1, true), *y = two(0.5f, -1, true);
            EXPECT_OK(dync_backward_with(wrapped(x), two(2, 3, false)));
            EXPECT_OK(dync_backward_with(dync_call(f, y), two(2, 3, false)));
            EXPECT(dync_allclose(dync_grad(x), dync_grad(y), 1e-5, 1e-6));
        }
        dync_compiled_free(f);
    }
}

static dync_tensor *taken_back(dync_tensor *x)
{
    dync_register_hook(x, multiply_hook, NULL);
    dync_value g = dync_gradients(DYNC_V(dync_sum(dync_mul(x, 3.0), DYNC_ALL, false)), DYNC_V(x),
                                  DYNC_NONE, (dync_grad_options){0});
    return dync_as_tensor(dync_at(g, 0));
}
TEST(hooks_in_make_graph)
{
    static const dync_trace_mode modes[] = {DYNC_TRACE_REAL, DYNC_TRACE_FAKE, DYNC_TRACE_SYMBOLIC};
    for (int m = 0; m < 3; m++) {
        dync_make_graph_mode(modes[m]);
        dync_graph *g = dync_make_graph(dync_args(taken_back, "x"), two(1, 2, true));
        REQUIRE(g);
        EXPECT_HAS_STR(dync_graph_readable(g),
                       "torch__dynamo__trace_wrapped_higher_order_op_self_invoke(");
        EXPECT_TWO(dync_as_tensor(dync_graph_run(g, (dync_value[]){DYNC_V(two(1, 2, false))}, 1)),
                   9, 9);
    }
}

/* ---- compiled autograd ----------------------------------------------------------------------- */
/* the graph that the inner compiler saw: the first and only one */
static dync_graph *captured;
static int n_captured;
static dync_status recorder_compile(dync_graph *g, const dync_value *ex, int n, const char *options,
                                    dync_callable *out, void *user)
{
    (void)options, (void)user;
    n_captured++;
    dync_graph_free(captured);
    captured = dync_graph_retain(g);
    return dync_compile_graph("inductor", g, ex, n, out);
}
static void register_recorder(void)
{
    static const dync_backend recorder = {.name = "recorder", .compile = recorder_compile};
    EXPECT_OK(dync_register_backend(&recorder));
    n_captured = 0;
}

static const char *const h05_text =
    "class GraphModule(torch.nn.Module):\n"
    "    def forward(self, L_inputs_ : list):\n"
    "        l_inputs_ = L_inputs_\n"
    "\n"
    "        getitem: \"f32[s0]\" = l_inputs_[0];  l_inputs_ = None\n"
    "\n"
    "        new_grad: \"f32[s0]\" = torch.clone(getitem)\n"
    "\n"
    "        result: \"f32[s0]\" = getitem * getitem;  getitem = None\n"
    "\n"
    "        new_grad_1: \"f32[s0]\" = torch.clone(result);  result = None\n"
    "        return (new_grad, new_grad_1)\n";

TEST(h05_invoke_in_pt2_compiled_autograd)
{
    register_recorder();
    for (int b = 0; b < 3; b++) {
        dync_reset();
        n_captured = 0;
        dync_compiled *f = dync_compile(hook_and_add, .args = "x, y", .backend = backends[b]);
        dync_tensor *x = two(0.5f, 0.5f, true), *y = two(0.5f, 0.5f, true),
                    *out = dync_call(f, x, y);
        dync_counters before = dync_get_counters();
        DYNC_COMPILED_AUTOGRAD("recorder") EXPECT_OK(dync_backward_with(out, two(2, 2, false)));
        dync_counters after = dync_get_counters();
        EXPECT_TWO(dync_grad(x), 4, 4);
        EXPECT_TWO(dync_grad(y), 2, 2);
        EXPECT_EQ_INT(n_captured, 1);
        EXPECT_EQ_INT(after.autograd_captures - before.autograd_captures, 1);
        EXPECT_EQ_INT(after.autograd_compiles - before.autograd_compiles, 1);
        REQUIRE(captured);
        EXPECT_EQ_STR(normalize_gm(dync_graph_readable(captured)), h05_text);
        dync_compiled_free(f);
    }
    dync_graph_free(captured);
    captured = NULL;
}

static dync_tensor *count_and_multiply(dync_tensor *x, void *user)
{
    dync_cell_set(user, dync_sym_add(dync_cell_get(user), DYNC_V(1)));
    return dync_mul(x, x);
}
static dync_tensor *count_invoke(dync_tensor *grad, void *user)
{
    return dync_trace_wrapped(grad, count_and_multiply, user);
}
static dync_tensor *just_add(dync_tensor *x, dync_tensor *y) { return dync_add(x, y); }

static const char *const h06_text =
    "class GraphModule(torch.nn.Module):\n"
    "    def forward(self, L_inputs_ : list, L_hooks_0_keywords_fn_keywords_obj_counter: "
    "\"Sym(s1)\"):\n"
    "        l_inputs_ = L_inputs_\n"
    "        l_hooks_0_keywords_fn_keywords_obj_counter = "
    "L_hooks_0_keywords_fn_keywords_obj_counter\n"
    "\n"
    "        getitem: \"f32[s0]\" = l_inputs_[0];  l_inputs_ = None\n"
    "\n"
    "        new_grad: \"f32[s0]\" = torch.clone(getitem)\n"
    "\n"
    "        add: \"Sym(s1 + 1)\" = l_hooks_0_keywords_fn_keywords_obj_counter + 1;  "
    "l_hooks_0_keywords_fn_keywords_obj_counter = None\n"
    "\n"
    "        result: \"f32[s0]\" = getitem * getitem;  getitem = None\n"
    "\n"
    "        new_grad_1: \"f32[s0]\" = torch.clone(result);  result = None\n"
    "        return (new_grad, new_grad_1, add)\n";

TEST(h06_invoke_in_pt2_compiled_autograd_side_effect)
{
    register_recorder();
    for (int b = 0; b < 3; b++) {
        dync_reset();
        n_captured = 0;
        dync_cell *counter = dync_cell_new("L_hooks_0_keywords_fn_keywords_obj_counter", DYNC_V(0));
        dync_compiled *f =
            dync_compile(just_add, .args = "x, y", .backend = backends[b], .fullgraph = true);
        dync_tensor *x = two(0.5f, 0.5f, true), *y = two(0.5f, 0.5f, true);
        EXPECT(dync_register_hook(x, count_invoke, counter) >= 0);
        dync_tensor *out = dync_call(f, x, y);
        DYNC_COMPILED_AUTOGRAD("recorder") EXPECT_OK(dync_backward_with(out, two(2, 2, false)));
        EXPECT_EQ_INT(dync_as_int(dync_cell_get(counter)), 1);
        EXPECT_TWO(dync_grad(x), 4, 4);
        EXPECT_EQ_INT(n_captured, 1);
        REQUIRE(captured);
        EXPECT_EQ_STR(normalize_gm(dync_graph_readable(captured)), h06_text);
        /* outside of compiled autograd */
        for (int later = 2; later < 4; later++) {
            EXPECT_OK(dync_backward_with(dync_call(f, x, y), two(2, 2, false)));
            EXPECT_EQ_INT(dync_as_int(dync_cell_get(counter)), later);
        }
        dync_set_grad(x, NULL);
        dync_set_grad(y, NULL);
        /* and inside again: the same capture */
        for (int later = 4; later < 6; later++) {
            dync_set_grad(x, NULL);
            dync_set_grad(y, NULL);
            out = dync_call(f, x, y);
            DYNC_COMPILED_AUTOGRAD("recorder") EXPECT_OK(dync_backward_with(out, two(2, 2, false)));
            EXPECT_EQ_INT(dync_as_int(dync_cell_get(counter)), later);
            EXPECT_TWO(dync_grad(x), 4, 4);
        }
        EXPECT_EQ_INT(n_captured, 1);
        dync_compiled_free(f);
        dync_cell_free(counter);
    }
    dync_graph_free(captured);
    captured = NULL;
}

static dync_tensor *graph_breaking(dync_tensor *x, void *user)
{
    dync_host_print("Boo!");
    return _multiply(x, user);
}
static dync_tensor *graph_break_invoke(dync_tensor *grad, void *user)
{
    return dync_trace_wrapped(grad, graph_breaking, user);
}
static dync_tensor *break_and_add(dync_tensor *x, dync_tensor *y)
{
    dync_register_hook(x, graph_break_invoke, NULL);
    return dync_add(x, y);
}

TEST(h07_invoke_in_pt2_compiled_autograd_graph_breaks)
{
    for (int b = 0; b < 3; b++) {
        dync_reset();
        dync_compiled *f =
            dync_compile(break_and_add, .args = "x, y", .backend = backends[b], .fullgraph = true);
        dync_tensor *x = two(0.5f, 0.5f, true), *y = two(0.5f, 0.5f, true),
                    *out = dync_call(f, x, y);
        REQUIRE(out && dync_error() == DYNC_OK);
        DYNC_COMPILED_AUTOGRAD("inductor")
        EXPECT(dync_backward_with(out, two(2, 2, false)) == DYNC_ERR_UNSUPPORTED);
        EXPECT_EQ_STR(dync_error_class(), "Unsupported");
        EXPECT_HAS_STR(dync_error_message(), "print");
        dync_clear_error();
        EXPECT(!dync_grad(x) && !dync_grad(y));
        /* off again: the hook prints and works */
        EXPECT_OK(dync_backward_with(out, two(2, 2, false)));
        EXPECT_TWO(dync_grad(x), 4, 4);
        dync_compiled_free(f);
    }
}
TEST_MAIN
