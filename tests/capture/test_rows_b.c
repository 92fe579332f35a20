/* Rows B of the conformance list: backends. tests/cuda runs them with everything on a GPU
 * (ROW_DEVICE). */
#if !defined(ROW_DEVICE)
#define ROW_DEVICE DYNC_CPU
#endif
#include "counter.h"

static dync_module *seq(void)
{
    dync_module *m = dync_sequential(dync_nn_linear(10, 10, true), dync_nn_relu(),
                                     dync_nn_linear(10, 10, true), dync_nn_sigmoid());
    dync_module_train(m, false);
    EXPECT_OK(dync_module_to_device(m, ROW_DEVICE));
    return m;
}

static void works(const char *backend, const char *options)
{
    dync_manual_seed(7);
    dync_module *m = seq();
    dync_tensor *x = dync_randn(dync_shape(2, 10), .device = ROW_DEVICE),
                *r1 = dync_forward_call(m, x);
    dync_compiled *f = dync_compile(m, .args = "x", .backend = backend, .options = options);
    dync_tensor *r2 = dync_call(f, x), *r3 = dync_call(f, x);
    EXPECT(same(r1, r2, 0.01) && same(r1, r3, 0.01));
    EXPECT_EQ_INT(dync_error(), DYNC_OK);
    dync_compiled_free(f);
    dync_module_free(m);
}
TEST(B_03_eager) { works("eager", NULL); }
TEST(B_04_eager_noexcept) { works("eager_noexcept", NULL); }
TEST(B_05_torchscript) { works("ts", NULL); }
TEST(B_06_aot_eager) { works("aot_eager", NULL); }
TEST(B_07_aot_eager_decomp_partition) { works("aot_eager_decomp_partition", NULL); }
TEST(B_08_aot_ts) { works("aot_ts", NULL); }
TEST(aot_eager_default_partitioner_works) { works("aot_eager_default_partitioner", NULL); }
TEST(inductor_works) { works("inductor", NULL); }

TEST(B_09_cudagraphs) { works("cudagraphs", NULL); }

/* The runtime is not there: the backend is known, and compiling says so. */
static void unavailable(const char *backend, const char *options, const char *runtime)
{
    dync_module *m = seq();
    EXPECT(dync_lookup_backend(backend) != NULL);
    dync_compiled *f = dync_compile(m, .args = "x", .backend = backend, .options = options);
    EXPECT(dync_call(f, dync_randn(dync_shape(2, 10), .device = ROW_DEVICE)) == NULL);
    EXPECT_EQ_INT(dync_error(), DYNC_ERR_BACKEND);
    EXPECT_EQ_STR(dync_error_class(), "BackendCompilerFailed");
    EXPECT_HAS_STR(dync_error_message(), "raised:");
    EXPECT_HAS_STR(dync_error_message(), "is not available");
    EXPECT_HAS_STR(dync_error_message(), runtime);
    dync_clear_error();
    dync_compiled_free(f);
    dync_module_free(m);
}
/* With the library, which DYNC_ONNXRUNTIME names, it works; else it is like the others. */
TEST(B_10_onnxrt)
{
    const char *library = getenv("DYNC_ONNXRUNTIME");
    if (library && *library)
        works("onnxrt", NULL);
    else
        unavailable("onnxrt", NULL, "ONNX Runtime");
}
TEST(B_11_tvm)
{
    static const char *const options[] = {NULL, "scheduler=none", "opt_level=0"};
    const char *library = getenv("DYNC_TVM");
    for (int i = 0; i < 3; i++)
        if (library && *library)
            works("tvm", options[i]);
        else
            unavailable("tvm", options[i], "TVM");
    static const char *const bad[] = {"scheduler=auto_scheduler", "opt_level=high", "trials=5"};
    for (int i = 0; i < 3; i++) {
        dync_module *m = seq();
        EXPECT(dync_compile(m, .args = "x", .backend = "tvm", .options = bad[i]) == NULL);
        EXPECT_EQ_INT(dync_error(), DYNC_ERR_VALUE);
        dync_clear_error();
        dync_module_free(m);
    }
}

static dync_value abcd(const dync_value *args, int nargs, void *user)
{
    (void)nargs, (void)user;
    dync_tensor *a = dync_as_tensor(args[0]), *b = dync_as_tensor(dync_at(args[1], 0)),
                *c = dync_as_tensor(dync_at(args[1], 1));
    return DYNC_V(dync_sub(dync_div(a, args[2]), dync_div(b, c)));
}

typedef struct {
    dync_tensor *r1;
    int placeholders, calls;
} example_inputs;
static dync_status run_on_examples(dync_graph *g, const dync_value *ex, int n, const char *options,
                                   dync_callable *out, void *user)
{
    example_inputs *e = user;
    (void)options;
    e->r1 = dync_retain(dync_as_tensor(dync_at(dync_graph_run(g, ex, n), 0)));
    for (int i = 0; i < dync_graph_len(g); i++) {
        const char *op = dync_node_op(dync_graph_node(g, i));
        e->placeholders += strcmp(op, "placeholder") == 0;
        e->calls += strcmp(op, "call_function") == 0;
    }
    memset(out, 0, sizeof *out);
    out->run = counter_run;
    out->state = g;
    return DYNC_OK;
}

TEST(B_01_example_inputs)
{
    example_inputs e = {0};
    dync_backend b = {.name = "examples", .compile = run_on_examples, .user = &e};
    dync_tensor *a = dync_ones(dync_shape(2), .device = ROW_DEVICE),
                *two = dync_full(dync_shape(2), 2.0, .device = ROW_DEVICE),
                *three = dync_full(dync_shape(2), 3.0, .device = ROW_DEVICE);
    dync_compiled *f =
        dync_compile(abcd, .args = "a, bc, d", .backend_object = &b, .fullgraph = true);
    dync_tensor *r3 = dync_as_tensor(dync_call_value(f, a, dync_tuple(two, three), 4));
    dync_tensor *r2 =
        dync_as_tensor(abcd((dync_value[]){DYNC_V(a), dync_tuple(two, three), DYNC_V(4)}, 3, NULL));
    EXPECT(e.r1 != NULL);
    EXPECT_EQ_INT(e.placeholders, 3);
    EXPECT_EQ_INT(e.calls, 3);
    dync_tensor *all[3] = {e.r1, r2, r3};
    for (int i = 0; i < 3; i++) {
        EXPECT_EQ_INT(dync_ndim(all[i]), 1);
        EXPECT_EQ_INT(dync_size(all[i], 0), 2);
        EXPECT_EQ_INT(dync_stride(all[i], 0), 1);
        EXPECT_EQ_INT(dync_type(all[i]), DYNC_F32);
        EXPECT_NEAR(dync_item(dync_select(all[i], 0, 0)), -0.41666666, 1e-6);
    }
    dync_release(e.r1);
    dync_compiled_free(f);
}

typedef struct {
    dync_graph *g;
    dync_tensor *r1;
} runtime_use;
static dync_value record_run(void *state, const dync_value *args, int n)
{
    runtime_use *r = state;
    dync_value v = dync_graph_run(r->g, args, n);
    if (!r->r1) r->r1 = dync_retain(dync_as_tensor(dync_at(v, 0)));
    return v;
}
static dync_status record_compile(dync_graph *g, const dync_value *ex, int n, const char *options,
                                  dync_callable *out, void *user)
{
    (void)ex, (void)n, (void)options;
    ((runtime_use *)user)->g = g;
    memset(out, 0, sizeof *out);
    out->run = record_run;
    out->state = user;
    return DYNC_OK;
}
TEST(B_02_example_inputs_runtime_use)
{
    runtime_use u = {0};
    dync_backend b = {.name = "runtime", .compile = record_compile, .user = &u};
    dync_tensor *a = dync_ones(dync_shape(2), .device = ROW_DEVICE),
                *two = dync_full(dync_shape(2), 2.0, .device = ROW_DEVICE),
                *three = dync_full(dync_shape(2), 3.0, .device = ROW_DEVICE);
    dync_compiled *f =
        dync_compile(abcd, .args = "a, bc, d", .backend_object = &b, .fullgraph = true);
    dync_tensor *r3 = dync_as_tensor(dync_call_value(f, a, dync_tuple(two, three), 4));
    dync_tensor *r2 =
        dync_as_tensor(abcd((dync_value[]){DYNC_V(a), dync_tuple(two, three), DYNC_V(4)}, 3, NULL));
    EXPECT(u.r1 != NULL);
    EXPECT(same(u.r1, r2, 1e-4) && same(u.r1, r3, 1e-4));
    dync_release(u.r1);
    dync_compiled_free(f);
}

static bool listed(const char *exclude, const char *name)
{
    const char *names[64];
    int n = dync_list_backends(exclude, names, 64);
    bool found = false;
    for (int i = 0; i < n && i < 64; i++) {
        if (i) EXPECT(strcmp(names[i - 1], names[i]) < 0);
        found |= strcmp(names[i], name) == 0;
    }
    return found;
}
TEST(B_12_list_backends)
{
    EXPECT(listed(DYNC_EXCLUDE_DEFAULT, "inductor"));
    EXPECT(listed(NULL, "inductor"));
    EXPECT(!listed(DYNC_EXCLUDE_DEFAULT, "eager"));
    EXPECT(!listed("debug", "eager"));
    EXPECT(listed("", "eager"));
    EXPECT(listed(NULL, "eager"));
    EXPECT(listed("", "ts") && !listed(DYNC_EXCLUDE_DEFAULT, "ts"));
    EXPECT(listed(DYNC_EXCLUDE_DEFAULT, "cudagraphs") && listed(DYNC_EXCLUDE_DEFAULT, "onnxrt") &&
           listed(DYNC_EXCLUDE_DEFAULT, "tvm"));
}

static dync_tensor *relu1(dync_tensor *x) { return dync_relu(x); }

/* A device for which this program has no code: the model cannot go there, nor a compiled function
 * make or move a tensor there. */
static dync_device elsewhere(void) { return ROW_DEVICE == DYNC_CPU ? DYNC_CUDA : DYNC_CUDA_AT(15); }
static dync_tensor *made_elsewhere(dync_tensor *x)
{
    return dync_add(x, dync_randn(dync_shape(1, 10), .device = elsewhere()));
}
static dync_tensor *moved_elsewhere(dync_tensor *x)
{
    return dync_relu(dync_to_device(dync_mul(x, 2), elsewhere()));
}
static void device_refused(void)
{
    EXPECT_EQ_INT(dync_error(), DYNC_ERR_DEVICE);
    EXPECT_EQ_STR(dync_error_class(), "RuntimeError");
    dync_clear_error();
}
TEST(B_14_device_without_code)
{
    static const char *const backends[] = {"eager", "aot_eager", "inductor"};
    dync_tensor *(*const fns[])(dync_tensor *) = {made_elsewhere, moved_elsewhere};
    dync_module *m = seq();
    dync_tensor *x = dync_randn(dync_shape(1, 10), .device = ROW_DEVICE),
                *want = dync_forward_call(m, x);
    EXPECT(dync_randn(dync_shape(1, 10), .device = elsewhere()) == NULL);
    device_refused();
    EXPECT_EQ_INT(dync_module_to_device(m, elsewhere()), DYNC_ERR_DEVICE);
    device_refused();
    for (int b = 0; b < 3; b++) {
        dync_compiled *f = dync_compile(m, .args = "x", .backend = backends[b]);
        EXPECT(dync_call(f, dync_to_device(x, elsewhere())) == NULL);
        device_refused();
        /* the model stayed where it was */
        EXPECT(same(want, dync_call(f, x), 0.01));
        dync_compiled_free(f);
        for (int k = 0; k < 2; k++) {
            f = dync_compile(fns[k], .args = "x", .backend = backends[b]);
            EXPECT(dync_call(f, x) == NULL);
            device_refused();
            dync_compiled_free(f);
        }
    }
    dync_module_free(m);
}

static dync_tensor *fn3(dync_tensor *x)
{
    x = dync_sin(x);
    dync_graph_break("test");
    return dync_sin(x);
}
static dync_tensor *fn2(dync_tensor *x)
{
    x = dync_cos(x);
    x = dync_frame(fn3, x);
    return dync_cos(x);
}
static dync_tensor *fn1(dync_tensor *x)
{
    x = dync_tan(x);
    x = dync_frame(fn2, x);
    return dync_tan(x);
}
static dync_tensor *fn0(dync_tensor *x)
{
    x = dync_sigmoid(x);
    x = dync_frame(fn1, x);
    return dync_sigmoid(x);
}
TEST(B_15_explain)
{
    dync_tensor *x = dync_randn(dync_shape(5), .device = ROW_DEVICE), *want = fn0(x);
    counter c = {0};
    dync_backend b = COUNTER(c);
    dync_compiled *f = dync_compile(fn0, .args = "x", .backend_object = &b);
    EXPECT(same(want, dync_call(f, x), 1e-5));
    EXPECT_EQ_INT(c.frame_count, 8);
    static const char *const order[] = {"sigmoid", "tan", "cos", "sin",
                                        "sin",     "cos", "tan", "sigmoid"};
    for (int i = 0; i < 8 && i < c.frame_count; i++)
        EXPECT_EQ_STR(dync_node_target(dync_graph_node(c.graphs[i], 1)), order[i]);
    EXPECT(same(want, dync_call(f, x), 1e-5));
    EXPECT_EQ_INT(c.frame_count, 8);
    dync_compiled_free(f);
    dync_explain_output e = dync_explain(fn0, x);
    EXPECT_EQ_INT(e.graph_count, 8);
    EXPECT_EQ_INT(e.graph_break_count, 7);
    EXPECT_EQ_INT(e.op_count, 8);
    EXPECT_EQ_INT(e.nbreaks, 4);
    const char *text = dync_explain_str(&e);
    EXPECT(strstr(text, "Graph Count") && strstr(text, "Graph Break Count") &&
           strstr(text, "Op Count") && strstr(text, "Break Reasons"));
}

TEST(B_15_explain_with_backend)
{
    dync_tensor *x = dync_randn(dync_shape(5), .device = ROW_DEVICE);
    dync_explain_output out;
    dync_backend b = dync_explain_backend("inductor", &out);
    dync_compiled *f = dync_compile(fn0, .args = "x", .backend_object = &b);
    EXPECT_EQ_INT(out.graph_count, 0);
    EXPECT(same(fn0(x), dync_call(f, x), 1e-5));
    EXPECT(same(fn0(x), dync_call(f, x), 1e-5));
    EXPECT_EQ_INT(out.graph_count, 8);
    EXPECT_EQ_INT(out.graph_break_count, 7);
    EXPECT_EQ_INT(out.op_count, 8);
    EXPECT_EQ_INT(out.nbreaks, 4);
    const char *text = dync_explain_str(&out);
    EXPECT_HAS_STR(
        text,
        "Graph Count: 8\nGraph Break Count: 7\nOp Count: 8\nBreak Reasons:\n  Break Reason 1:\n  "
        "  Reason: test\n");
    EXPECT_HAS_STR(text, "in fn3>");
    EXPECT(!strstr(text, "Ops per Graph") && !strstr(text, "Out Guards") &&
           !strstr(text, "Compile Times"));
    EXPECT_HAS_STR(out.graphs[1], "dync_tan");
    dync_compiled_free(f);
}
/* The scope in which the backend was made owns what it tells; afterwards it only compiles. */
TEST(explain_backend_outlives_its_scope)
{
    dync_tensor *x = dync_randn(dync_shape(5), .device = ROW_DEVICE),
                *y = dync_randn(dync_shape(6), .device = ROW_DEVICE);
    dync_compiled *f = NULL;
    DYNC_SCOPE {
        dync_explain_output out;
        dync_backend b = dync_explain_backend(NULL, &out);
        f = dync_compile(relu1, .args = "x", .backend_object = &b, .dynamic = DYNC_DYNAMIC_OFF);
        dync_call(f, x);
        EXPECT_EQ_INT(out.graph_count, 1);
    }
    EXPECT(same(dync_relu(y), dync_call(f, y), 0));
    dync_compiled_free(f);
    dync_explain_backend("inductor", NULL);
    EXPECT_EQ_INT(dync_error(), DYNC_ERR_VALUE);
    dync_clear_error();
    dync_explain_output out;
    dync_backend b = dync_explain_backend("nosuch", &out);
    f = dync_compile(relu1, .backend_object = &b);
    EXPECT(dync_call(f, x) == NULL);
    EXPECT_EQ_INT(dync_error(), DYNC_ERR_BACKEND);
    EXPECT_HAS_STR(dync_error_message(), "Invalid backend: 'nosuch'");
    dync_clear_error();
    dync_compiled_free(f);
}

TEST(B_16_register_backend)
{
    counter c = {0};
    dync_backend b = {.name = "my_custom_backend", .compile = counter_compile, .user = &c};
    EXPECT_OK(dync_register_backend(&b));
    dync_tensor *x = dync_randn(dync_shape(3, 3), .device = ROW_DEVICE);
    dync_compiled *f = dync_compile(relu1, .backend = "my_custom_backend");
    EXPECT(same(dync_relu(x), dync_call(f, x), 1e-6));
    EXPECT_EQ_INT(c.frame_count, 1);
    dync_compiled_free(f);
    EXPECT_EQ_INT(dync_register_backend(&b), DYNC_ERR_VALUE);
    EXPECT_EQ_STR(dync_error_class(), "AssertionError");
    EXPECT(strstr(dync_error_message(), "duplicate name: my_custom_backend"));
    dync_clear_error();
}

TEST(B_17_aot_autograd_api)
{
    counter c = {0};
    dync_backend fw = {.name = "my_compiler", .compile = counter_compile, .user = &c};
    dync_backend b = dync_aot_autograd(&fw, NULL);
    dync_tensor *x = dync_randn(dync_shape(3, 3), .device = ROW_DEVICE);
    dync_compiled *f = dync_compile(relu1, .backend_object = &b);
    EXPECT(same(dync_relu(x), dync_call(f, x), 1e-6));
    EXPECT_EQ_INT(c.frame_count, 1);
    /* without a backward compiler the forward's serves */
    dync_tensor *leaf = dync_requires_grad_(dync_clone(x), true);
    EXPECT_OK(dync_backward(dync_sum(dync_call(f, leaf), DYNC_ALL, false)));
    EXPECT_EQ_INT(c.frame_count, 3);
    EXPECT(same(dync_grad(leaf), dync_to_dtype(dync_gt(x, 0), DYNC_F32), 0));
    dync_compiled_free(f);
}

static dync_status lookup_compile(dync_graph *g, const dync_value *ex, int n, const char *options,
                                  dync_callable *out, void *user)
{
    ++*(int *)user;
    (void)options;
    const dync_backend *b = dync_lookup_backend("tensorrt");
    EXPECT(b == NULL);
    EXPECT_EQ_INT(dync_error(), DYNC_ERR_VALUE);
    EXPECT_EQ_STR(dync_error_class(), "InvalidBackend");
    EXPECT(strstr(dync_error_message(),
                  "Invalid backend: 'tensorrt', see `torch._dynamo.list_backends()` for available "
                  "backends."));
    dync_clear_error();
    b = dync_lookup_backend("inductor");
    return b->compile(g, ex, n, NULL, out, b->user);
}
TEST(B_18_lookup_backend)
{
    int ran = 0;
    dync_backend b = {.name = "lookup", .compile = lookup_compile, .user = &ran};
    dync_tensor *x = dync_randn(dync_shape(3, 3), .device = ROW_DEVICE);
    dync_compiled *f = dync_compile(relu1, .backend_object = &b);
    EXPECT(same(dync_relu(x), dync_call(f, x), 1e-6));
    EXPECT_EQ_INT(ran, 1);
    dync_compiled_free(f);
}

static dync_tensor *inplace_normalize(dync_tensor *a, dync_tensor *b)
{
    dync_tensor *x = dync_cos(a);
    dync_add_(x, b);
    return dync_sin(x);
}
TEST(B_13_inplace_normalize)
{
    static const char *const backends[] = {"eager", "aot_eager", "inductor"};
    dync_tensor *a = dync_randn(dync_shape(10), .device = ROW_DEVICE),
                *b = dync_to_dtype(dync_randn(dync_shape(10), .device = ROW_DEVICE), DYNC_F64);
    for (int i = 0; i < 3; i++) {
        dync_compiled *f = dync_compile(inplace_normalize, .args = "a, b", .backend = backends[i]);
        EXPECT(same(inplace_normalize(a, b), dync_call(f, a, b), 1e-5));
        dync_compiled_free(f);
    }
}
TEST_MAIN
