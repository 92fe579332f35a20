/* Allocation failure at every allocation of the samples: the first, the second, … until none is
 * left. Each run must end in success or in DYNC_ERR_MEMORY, give everything back, and leave a
 * library in which the next run works. */
#include "dync.in.h"
#include "base/base.h"
#include "test.h"

static dync_tensor *toy(dync_tensor *a, dync_tensor *b)
{
    dync_tensor *x = dync_div(a, dync_add(dync_abs(a), 1));
    if (dync_bool(dync_lt(dync_sum(b, DYNC_ALL, false), 0))) b = dync_mul(b, -1);
    return dync_mul(x, b);
}

/* samples/hello.c */
static void run_hello(void)
{
    dync_tensor *a = dync_randn(dync_shape(10)), *b = dync_randn(dync_shape(10));
    dync_compiled *fast = dync_compile(toy, .args = "a, b");
    dync_explain_output e;
    dync_str(dync_call(fast, a, b));
    for (int i = 0; i < 2; i++) DYNC_SCOPE {
        dync_call(fast, a, b);
    }
    e = dync_explain(toy, a, b);
    dync_explain_str(&e);
    dync_compiled_free(fast);
}

/* samples/train.c, two steps */
static void run_train(void)
{
    dync_module *net = dync_sequential(dync_nn_linear(4, 4, true), dync_nn_relu(),
                                       dync_nn_linear(4, 4, true), dync_nn_sigmoid());
    dync_tensor *w, *x, *y;
    dync_module_compile(net, .backend = "inductor");
    w = dync_module_param(net, "0.weight");
    x = dync_randn(dync_shape(3, 4));
    y = dync_rand(dync_shape(3, 4));
    for (int step = 0; step < 2; step++) DYNC_SCOPE {
        dync_tensor *loss =
            dync_mean(dync_pow(dync_sub(dync_forward_call(net, x), y), 2), DYNC_ALL, false);
        dync_backward(loss);
        DYNC_NO_GRAD {
            dync_add_(w, dync_mul(dync_grad(w), -0.1));
        }
        dync_set_grad(w, NULL);
        dync_item(loss);
    }
    dync_module_save(net, "build/fault.safetensors");
    dync_module_free(net);
}

/* samples/backend.c */
static dync_value toy_example(const dync_value *args, int nargs, void *user)
{
    dync_tensor *a = dync_as_tensor(args[0]), *b = dync_as_tensor(dync_at(args[1], 0)),
                *c = dync_as_tensor(dync_at(args[1], 1));
    (void)nargs;
    (void)user;
    return DYNC_V(dync_sub(dync_div(a, args[2]), dync_div(b, c)));
}
static dync_value run_graph(void *state, const dync_value *args, int nargs)
{
    return dync_graph_run(state, args, nargs);
}
static dync_status print_and_run(dync_graph *graph, const dync_value *example_inputs, int n,
                                 const char *options, dync_callable *out, void *user)
{
    (void)example_inputs;
    (void)n;
    (void)options;
    (void)user;
    dync_graph_str(graph);
    *out = (dync_callable){.run = run_graph, .state = graph};
    return DYNC_OK;
}
static void run_backend(void)
{
    dync_tensor *a, *b, *c;
    dync_compiled *f;
    dync_register_backend(&(dync_backend){.name = "print", .compile = print_and_run});
    a = dync_randn(dync_shape(4));
    b = dync_randn(dync_shape(4));
    c = dync_ones(dync_shape(4), .dtype = DYNC_F64);
    f = dync_compile(toy_example, .args = "a, bc, d", .backend = "print", .fullgraph = true);
    dync_call_value(f, a, dync_tuple(b, c), 3);
    dync_compiled_free(f);
}
static dync_tensor *mlp(dync_tensor *x, dync_tensor *w) { return dync_relu(dync_matmul(x, w)); }
static void run_export(void)
{
    dync_tensor *x = dync_randn(dync_shape(1, 16)), *w = dync_randn(dync_shape(16, 4));
    dync_program *p = dync_export(mlp, x, w);
    dync_program_save_c(p, "build/fault.c");
    dync_program_save(p, "build/fault.dync");
    dync_program_free(p);
}

/* Convolution, batch norm, an optimizer's step by hand, state to a file and back. */
static void run_cnn(void)
{
    dync_module *net = dync_sequential(dync_nn_conv2d(1, 2, 3, 1, 1, true), dync_nn_batch_norm2d(2),
                                       dync_nn_relu());
    dync_tensor *x = dync_randn(dync_shape(2, 1, 5, 5)), *params[8];
    for (int step = 0; step < 2; step++) DYNC_SCOPE {
        int n = dync_module_parameters(net, params, 8);
        dync_backward(dync_mean(dync_forward_call(net, x), DYNC_ALL, false));
        DYNC_NO_GRAD {
            for (int i = 0; i < n && i < 8; i++) {
                dync_sub_(params[i], dync_mul(dync_grad(params[i]), 0.1));
                dync_set_grad(params[i], NULL);
            }
        }
    }
    dync_module_save(net, "build/fault_cnn.safetensors");
    dync_module_load(net, "build/fault_cnn.safetensors");
    dync_module_free(net);
    net = dync_module_open("build/fault_cnn.safetensors");
    dync_str(dync_forward_call(net, x));
    dync_module_free(net);
}

/* Graphs and programs: text, interpretation, files, a run of what was read. */
static void run_graph_text(void)
{
    dync_tensor *x = dync_randn(dync_shape(3, 4)), *w = dync_randn(dync_shape(4, 2));
    dync_value args[2];
    dync_graph *g = dync_make_graph(mlp, x, w);
    dync_program *p;
    args[0] = DYNC_V(x);
    args[1] = DYNC_V(w);
    dync_graph_str(g);
    dync_graph_readable(g);
    dync_graph_run(g, args, 2);
    p = dync_export(mlp, x, w);
    dync_program_save(p, "build/fault.dync");
    dync_program_free(p);
    p = dync_program_load("build/fault.dync");
    dync_program_run(p, 2, args);
    dync_program_free(p);
}

/* The tape: hooks, double backward, an operator of one's own. */
static dync_tensor *double_it(dync_tensor *grad, void *user)
{
    (void)user;
    return dync_mul(grad, 2);
}
static dync_value square_forward(dync_autograd_ctx *ctx, const dync_value *args, int nargs)
{
    dync_tensor *x = dync_as_tensor(args[0]);
    (void)nargs;
    dync_save_for_backward(ctx, x);
    return DYNC_V(dync_mul(x, x));
}
static dync_value square_backward(dync_autograd_ctx *ctx, const dync_value *grads, int ngrads)
{
    (void)ngrads;
    return dync_tuple(dync_mul(dync_mul(grads[0], dync_saved(ctx, 0)), 2));
}
static void run_tape(void)
{
    static const dync_autograd_function square = {"Square", square_forward, square_backward};
    dync_tensor *w = dync_parameter(dync_randn(dync_shape(3))), *loss, *g;
    dync_register_hook(w, double_it, NULL);
    loss = dync_sum(dync_as_tensor(dync_apply(&square, dync_exp(w))), DYNC_ALL, false);
    g = dync_as_tensor(dync_at(dync_gradients(DYNC_V(loss), DYNC_V(w), DYNC_NONE,
                                              (dync_grad_options){.create_graph = true}),
                               0));
    dync_backward(dync_sum(g, DYNC_ALL, false));
    dync_str(dync_grad(w));
}

/* Second shapes, symbolic numbers, cells, a second set of guards. */
static dync_value scaled(const dync_value *args, int nargs, void *user)
{
    dync_cell *count = (dync_cell *)user;
    (void)nargs;
    dync_cell_set(count, dync_sym_add(dync_cell_get(count), DYNC_V(1)));
    return dync_tuple(dync_mul(args[0], args[1]), dync_softmax(dync_as_tensor(args[0]), -1));
}
static void run_guards(void)
{
    dync_cell *count = dync_cell_new("count", DYNC_V(0));
    dync_compiled *f = dync_compile(scaled, .args = "x, k", .symbolic = "k", .user = count);
    for (int n = 2; n < 5; n++) dync_call_value(f, dync_randn(dync_shape(2, n)), n);
    dync_compiled_free(f);
    dync_cell_free(count);
}

static void quiet(dync_status status, const char *message, void *user)
{
    (void)status;
    (void)message;
    (void)user;
}

/* What every run must have left behind; n names it in the report. */
static bool check_end(dync_status status, int64_t n)
{
    bool ok = EXPECT(status == DYNC_OK || status == DYNC_ERR_MEMORY);
    if (!ok)
        printf("    allocation %lld: status %d, %s\n", (long long)n, (int)status,
               dync_error_message());
    dync_clear_error();
    if (!EXPECT(!dync__mem_in_use())) {
        printf("    allocation %lld left %lld bytes\n", (long long)n,
               (long long)dync__mem_read_stats().live_bytes);
        ok = false;
    }
    return ok;
}

static void fail_each(void (*run)(void))
{
    bool left = true;
    for (int64_t n = 1; left; n += test_every()) {
        dync_on_error(quiet, NULL);
        dync__mem_fail_at(n);
        run();
        left = dync__tls.fail_at == 0; /* it came to the nth allocation */
        dync__mem_fail_at(0);
        dync_status status = dync_error();
        dync_shutdown();
        if (!check_end(status, n)) return;
        if (!left) EXPECT_EQ_INT(status, DYNC_OK);
    }
}

static dync_tensor *filters;
static dync_tensor *small_net(dync_tensor *x)
{
    dync_tensor *y =
        dync_conv2d(x, filters, NULL, dync_shape(1, 1), dync_shape(1, 1), dync_shape(1, 1), 1);
    y = dync_add(dync_relu(y), dync_sigmoid(y));
    return dync_softmax(dync_mean(y, dync_shape(2, 3), false), 1);
}
static void run_quantize(void)
{
    filters = dync_ones(dync_shape(2, 1, 3, 3));
    dync_tensor *x = dync_randn(dync_shape(1, 1, 4, 4));
    dync_program *p = dync_export(small_net, x);
    dync_program_free(dync_quantize_program(p, dync_tuple(x), NULL));
    dync_program_free(p);
}
TEST(quantize_survives_each_failure) { fail_each(run_quantize); }
TEST(hello_survives_each_failure) { fail_each(run_hello); }
TEST(train_survives_each_failure) { fail_each(run_train); }
TEST(backend_survives_each_failure) { fail_each(run_backend); }
TEST(export_survives_each_failure) { fail_each(run_export); }
TEST(cnn_survives_each_failure) { fail_each(run_cnn); }
TEST(graph_text_survives_each_failure) { fail_each(run_graph_text); }
TEST(tape_survives_each_failure) { fail_each(run_tape); }
TEST(guards_survive_each_failure) { fail_each(run_guards); }

/* A buffer too small stays too small: every later allocation fails as well. */
static void shrink(void (*run)(void))
{
    static _Alignas(64) unsigned char memory[8 << 20];
    for (size_t size = 1024; size <= sizeof memory; size += size / 4) {
        dync_init_options options = {.memory = memory, .memory_size = size, .threads = 1};
        dync_status status = dync_init(options);
        dync_on_error(quiet, NULL);
        if (status == DYNC_OK) {
            run();
            status = dync_error();
            dync_shutdown();
            if (!check_end(status, (int64_t)size)) return;
        }
        dync_clear_error();
    }
}
/* What the message says is enough: from buffer to buffer of the size that it asks for, each goes
 * further, until one is large enough. */
static void follow_message(void (*run)(void))
{
    static _Alignas(64) unsigned char memory[8 << 20];
    size_t size = 2048, next = 0;
    for (int tries = 0; tries < 4000; tries++, size = next) {
        REQUIRE_OK(
            dync_init((dync_init_options){.memory = memory, .memory_size = size, .threads = 1}));
        dync_on_error(quiet, NULL);
        run();
        const char *needs = strstr(dync_error_message(), " and needs ");
        next = needs ? strtoul(needs + 11, NULL, 10) : 0;
        if (dync_error() == DYNC_OK)
            next = size;
        else if (!EXPECT_STATUS(dync_error(), DYNC_ERR_MEMORY) || !EXPECT(next > size))
            printf("    buffer of %zu: %s\n", size, dync_error_message());
        dync_shutdown();
        dync_clear_error();
        if (next <= size || !EXPECT(next <= sizeof memory)) break;
    }
    EXPECT(next == size && size > 16384);
}
TEST(hello_follows_the_message) { follow_message(run_hello); }
TEST(train_follows_the_message) { follow_message(run_train); }
TEST(hello_survives_small_buffers) { shrink(run_hello); }
TEST(train_survives_small_buffers) { shrink(run_train); }
TEST_MAIN
