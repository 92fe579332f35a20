/* The rows H of the conformance list: trace_wrapped and hooks in eager, compiled code, make_graph and compiled autograd. */
#include "../capture/counter.h"

static dync_tensor *_multiply(dync_tensor *x, void *user) { (void)user; return dync_mul(x, x); }
static dync_tensor *multiply_hook(dync_tensor *grad, void *user) { return dync_trace_wrapped(grad, _multiply, user); }
static dync_tensor *_multiply_invoke(dync_tensor *grad) { return dync_trace_wrapped(grad, _multiply, NULL); }

static dync_tensor *two(float a, float b, bool grad) { return dync_from(((float[]){a, b}), dync_shape(2), .requires_grad = grad); }
#define EXPECT_TWO(t, a, b)                                                                   \
    do {                                                                                      \
        dync_tensor *t_ = (t);                                                                \
        EXPECT(t_ && dync_numel(t_) == 2);                                                    \
        if (t_) EXPECT_NEAR(((float *)dync_data(t_))[0], a, 1e-6);                            \
        if (t_) EXPECT_NEAR(((float *)dync_data(t_))[1], b, 1e-6);                            \
    } while (0)

/* Whole-line comments deleted, trailing blanks stripped. */
static const char *normalize_gm(const char *text)
{
    static char out[1 << 14];
    size_t n = 0;
    for (const char *line = text; line && *line;) {
        const char *end = strchr(line, '\n'), *last = end ? end : line + strlen(line), *first = line;
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
    EXPECT_OK(dync_backward_with(hook_and_add(z, y), two(2, 2, false)));   /* the hook ran */
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
        for (int call = 0; call < 3; call++) {                             /* the effect is repeated in every call */
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
    "        trace_wrapped: \"f32[2]\" = torch__dynamo__trace_wrapped_higher_order_op_self_invoke(grad_1);  grad_1 = None\n"
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
TEST_MAIN
