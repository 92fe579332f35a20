/* dync_cuda.h as a user meets it, on the stand-in for libcudart: tensors and errors of devices,
 * streams, compiled functions and training on every backend, recorded graphs. Numbers are compared
 * with the CPU's. */
#include "dync.h"
#include "dync_cuda.h"
#define TEST_AFTER_EACH (dync_shutdown(), dync_clear_error(), dync_on_error(NULL, NULL))
#include "test.h"
#include "../cuda_emulator/emulator.h"
extern int setenv(const char *, const char *, int);

static void say_nothing(dync_status status, const char *message, void *user)
{
    (void)status, (void)message, (void)user;
}
static char *expect_error(dync_status want)
{
    static char text[1200];
    EXPECT_EQ_INT(dync_error(), want);
    snprintf(text, sizeof text, "%s", dync_error_message() ? dync_error_message() : "");
    dync_clear_error();
    return text;
}
static dync_tensor *gpu(dync_tensor *x) { return dync_to_device(x, DYNC_CUDA); }
static bool same(dync_tensor *on_gpu, dync_tensor *on_cpu, double tol)
{
    return on_gpu && on_cpu && dync_allclose(on_gpu, on_cpu, tol, tol);
}

/* ---- tensors --------------------------------------------------------------------------------- */
TEST(tensors_live_on_a_device)
{
    EXPECT(dync_cuda_device_count() >= 1 && (!EMULATED || dync_cuda_device_count() == 2));
    EXPECT_EQ_STR(dync_cuda_reason(), "");
    dync_tensor *x = dync_randn(dync_shape(3, 5)), *y = gpu(x);
    EXPECT(dync_cuda_data(y) != NULL);
    EXPECT_HAS_STR(dync_str(gpu(dync_ones(dync_shape(2)))), "device='cuda:0'");
    EXPECT(same(y, x, 0));
    EXPECT(same(dync_to_device(dync_transpose(y, 0, 1), DYNC_CPU), dync_transpose(x, 0, 1), 0));
    EXPECT(same(gpu(dync_slice(dync_transpose(x, 0, 1), 0, 1, 4, 2)),
                dync_slice(dync_transpose(x, 0, 1), 0, 1, 4, 2), 0));
    EXPECT_NEAR(dync_item(dync_sum(y, DYNC_ALL, false)), dync_item(dync_sum(x, DYNC_ALL, false)),
                1e-5);
    EXPECT(dync_bool(dync_gt(dync_sum(dync_abs(y), DYNC_ALL, false), 0)));
    /* a 0-dim CPU tensor goes with any device */
    EXPECT(same(dync_add(y, dync_full(DYNC_SCALAR, 2.5)), dync_add(x, 2.5), 0));
    dync_tensor *z =
        dync_zeros(dync_shape(3, 5), .device = DYNC_CUDA_AT(dync_cuda_device_count() > 1));
    dync_copy_(z, y);
    EXPECT(same(z, x, 0));
    dync_copy_(x, dync_mul(z, 2));
    EXPECT(same(dync_mul(y, 2), x, 0));
    float data[4] = {1, 2, 3, 4};
    EXPECT(same(dync_from(data, dync_shape(4), .device = DYNC_CUDA), dync_from(data, dync_shape(4)),
                0));
    EXPECT_EQ_INT(dync_error(), DYNC_OK);
}

TEST(the_same_seed_gives_the_same_numbers)
{
    for (int device = 0; device < 2; device++) {
        static float draws[2][3][64];
        dync_manual_seed(42);
        dync_device d = device ? DYNC_CUDA : DYNC_CPU;
        dync_tensor *t[3] = {dync_randn(dync_shape(64), .device = d),
                             dync_rand(dync_shape(64), .device = d),
                             dync_dropout(dync_ones(dync_shape(64), .device = d), 0.5, true)};
        for (int k = 0; k < 3; k++)
            memcpy(draws[device][k], dync_data(dync_to_device(t[k], DYNC_CPU)), sizeof draws[0][0]);
        if (device) EXPECT(memcmp(draws[0], draws[1], sizeof draws[0]) == 0);
    }
}

/* ---- errors ---------------------------------------------------------------------------------- */
#define MIX(name, x)                                                                               \
    static dync_tensor *mix_##name(dync_tensor *c, dync_tensor *g, dync_tensor *w, dync_tensor *i) \
    {                                                                                              \
        (void)c, (void)g, (void)w, (void)i;                                                        \
        return x;                                                                                  \
    }
MIX(conv, dync_conv2d(g, w, NULL, dync_shape(1, 1), dync_shape(0, 0), dync_shape(1, 1), 1))
MIX(gather, dync_gather(g, 1, i))
MIX(rows, dync_index_select(g, 0, dync_reshape(i, dync_shape(-1))))
MIX(norm, dync_layer_norm(g, dync_shape(4), dync_ones(dync_shape(4)), NULL, 1e-5))
MIX(attention, dync_scaled_dot_product_attention(g, c, g, NULL, 0, false, DYNC_NONE))
MIX(cat, dync_cat(dync_tuple(g, c), 0))
MIX(where, dync_where(dync_gt(c, 0), g, g))
MIX(pool, dync_scatter_add(g, 1, i, g))
TEST(devices_do_not_mix)
{
    dync_on_error(say_nothing, NULL);
    dync_tensor *x = dync_ones(dync_shape(3)), *y = gpu(dync_ones(dync_shape(3)));
    EXPECT(!dync_add(y, x));
    EXPECT_HAS_STR(
        expect_error(DYNC_ERR_DEVICE),
        "Expected all tensors to be on the same device, but found at least two devices, cuda:0 "
        "and cpu!");
    if (dync_cuda_device_count() > 1) {
        EXPECT(!dync_add(y, dync_to_device(y, DYNC_CUDA_AT(1))));
        EXPECT_HAS_STR(expect_error(DYNC_ERR_DEVICE), "at least two devices, cuda:0 and cuda:1!");
    }
    EXPECT(!dync_zeros(dync_shape(3), .device = DYNC_CUDA_AT(15)));
    EXPECT_HAS_STR(expect_error(DYNC_ERR_DEVICE),
                   "device cuda:15 is not available: invalid device ordinal");
    dync_tensor *p = dync_ones(dync_shape(1, 2, 4, 4)), *g = gpu(p),
                *w = dync_ones(dync_shape(2, 2, 1, 1)),
                *i = dync_full(dync_shape(1, 2, 4, 4), 0, .dtype = DYNC_I64);
    dync_tensor *(*const mixed[])(dync_tensor *, dync_tensor *, dync_tensor *, dync_tensor *) = {
        mix_conv, mix_gather, mix_rows, mix_norm, mix_attention, mix_cat, mix_where, mix_pool};
    for (int k = 0; k < 8; k++) {
        if (!EXPECT(!mixed[k](p, g, w, i))) printf("  case %d\n", k);
        EXPECT_HAS_STR(
            expect_error(DYNC_ERR_DEVICE),
            "Expected all tensors to be on the same device, but found at least two devices, c");
    }
    EXPECT(!dync_data(y));
    EXPECT_HAS_STR(expect_error(DYNC_ERR_DEVICE), "dync_to_device");
    EXPECT(!dync_cuda_data(x));
    expect_error(DYNC_ERR_DEVICE);
    EXPECT(!dync_index_select(gpu(dync_ones(dync_shape(3))), 0,
                              gpu(dync_from(((int64_t[]){7}), dync_shape(1), .dtype = DYNC_I64))));
    EXPECT_HAS_STR(expect_error(DYNC_ERR_INDEX), "index 7 is out of bounds");
    EXPECT_EQ_INT(dync_cuda_synchronize(9), DYNC_ERR_DEVICE);
    expect_error(DYNC_ERR_DEVICE);
}

#if EMULATED
static void no_device(int kind, const char *words)
{
    cuemu_set_devices(kind);
    dync_on_error(say_nothing, NULL);
    EXPECT_EQ_INT(dync_cuda_device_count(), 0);
    EXPECT_HAS_STR(dync_cuda_reason(), words);
    EXPECT(!gpu(dync_ones(dync_shape(3))));
    EXPECT_HAS_STR(expect_error(DYNC_ERR_DEVICE), words);
    /* the CPU goes on */
    EXPECT_NEAR(dync_item(dync_sum(dync_ones(dync_shape(3)), DYNC_ALL, false)), 3, 0);
}
TEST(no_device) { no_device(0, "no CUDA-capable device is detected (cudaErrorNoDevice)"); }
TEST(an_old_driver)
{
    no_device(-2, "CUDA driver version is insufficient for CUDA runtime version "
                  "(cudaErrorInsufficientDriver): the driver is one of CUDA 11.4");
}
TEST(no_driver)
{
    no_device(-1, "CUDA driver version is insufficient for CUDA runtime version "
                  "(cudaErrorInsufficientDriver): no NVIDIA driver is installed");
}
TEST(an_old_gpu)
{
    setenv("CUEMU_CC", "75", 1);
    dync_on_error(say_nothing, NULL);
    EXPECT(!gpu(dync_ones(dync_shape(3))));
    EXPECT_HAS_STR(expect_error(DYNC_ERR_DEVICE),
                   "compute capability 8.0 or later is needed, it has 7.5");
}

#endif

TEST(memory_is_kept_and_runs_out)
{
    dync_on_error(say_nothing, NULL);
    dync_cuda_memory was = dync_cuda_memory_stats(0); /* with --no-fork: of the tests before */
    for (int i = 0; i < 10; i++) DYNC_SCOPE {
        EXPECT(dync_add(dync_ones(dync_shape(1000), .device = DYNC_CUDA), 1) != NULL);
    }
    dync_cuda_memory m = dync_cuda_memory_stats(0);
    EXPECT(m.blocks_made - was.blocks_made <= 3 && m.reused - was.reused >= 15 &&
           m.allocated == was.allocated && m.reserved > 0 && m.allocated_peak >= 8000);
#if EMULATED
    cuemu_fail_malloc(cuemu_live_bytes() + 100000);
#endif
    EXPECT(!dync_ones(dync_shape(1000, 1000, EMULATED ? 1 : 1000000), .device = DYNC_CUDA));
    EXPECT_HAS_STR(expect_error(DYNC_ERR_MEMORY), "out of memory");
    EXPECT(dync_ones(dync_shape(2000), .device = DYNC_CUDA) != NULL);
#if EMULATED
    cuemu_fail_malloc(0);
#endif
    DYNC_SCOPE {
        EXPECT(dync_ones(dync_shape(1000, 1000), .device = DYNC_CUDA) != NULL);
    }
    dync_cuda_empty_cache(0);
    EXPECT(dync_cuda_memory_stats(0).reserved <= 8192);
    EXPECT_EQ_INT(dync_error(), DYNC_OK);
}

#if EMULATED
/* An address that is no longer there, as a kernel of the user's might leave it: the runtime's
 * words, and the CPU goes on. */
TEST(an_illegal_access)
{
    setenv("CUEMU_QUIET", "1", 1);
    dync_on_error(say_nothing, NULL);
    dync_tensor *x = dync_ones(dync_shape(4096), .device = DYNC_CUDA);
    extern int cudaFree(void *);
    EXPECT_EQ_INT(cudaFree(dync_cuda_data(x)), 0);
    dync_tensor *y = dync_add(x, 1);
    EXPECT(isnan(dync_item(dync_sum(y, DYNC_ALL, false))));
    EXPECT_HAS_STR(expect_error(DYNC_ERR_DEVICE),
                   "an illegal memory access was encountered (cudaErrorIllegalAddress)");
    EXPECT_NEAR(dync_item(dync_sum(dync_ones(dync_shape(3)), DYNC_ALL, false)), 3, 0);
    cuemu_reset();
}
#endif

TEST(streams_and_events)
{
    dync_cuda_stream *s = dync_cuda_stream_new(0);
    dync_cuda_event *a = dync_cuda_event_new(0), *b = dync_cuda_event_new(0);
    REQUIRE(s && a && b);
    EXPECT(dync_cuda_stream_use(s, 0) == NULL);
    EXPECT_OK(dync_cuda_event_record(a));
    dync_tensor *x = dync_cuda_pin(dync_randn(dync_shape(100))),
                *y = dync_cuda_to_async(x, DYNC_CUDA),
                *z = dync_cuda_to_async(dync_mul(y, 2), DYNC_CPU);
    EXPECT_OK(dync_cuda_event_record(b));
    EXPECT_OK(dync_cuda_stream_wait(s, b));
    EXPECT_OK(dync_cuda_stream_synchronize(s));
    EXPECT(dync_allclose(z, dync_mul(x, 2), 0, 0));
    EXPECT(dync_cuda_event_ms(a, b) >= 0);
    EXPECT(dync_cuda_stream_use(NULL, 0) == s);
    dync_cuda_event_free(a);
    dync_cuda_event_free(b);
    dync_cuda_stream_free(s);
    EXPECT_OK(dync_cuda_synchronize(0));
}

/* Lines of every length and place, long ones cut into chunks: the CPU's sums. */
TEST(running_sums)
{
    static const int64_t shapes[][4] = {{1, 1, 1, 1},     {3, 31, 1, 1},   {5, 1025, 1, 1},
                                        {2, 20000, 1, 1}, {1, 9000, 2, 1}, {1, 33333, 1, 1},
                                        {70, 5, 3, 1},    {1, 8192, 1, 0}, {3, 4097, 1, 0}};
    static const dync_dtype dtypes[] = {DYNC_F32, DYNC_F64, DYNC_BF16, DYNC_I64, DYNC_I32, DYNC_U8};
    for (int i = 0; i < (int)(sizeof shapes / sizeof shapes[0]); i++)
        for (int t = 0; t < 6; t++) DYNC_SCOPE {
            dync_tensor *x = dync_to_dtype(
                dync_mul(dync_randn(dync_shape(shapes[i][0], shapes[i][1], shapes[i][2])), 3),
                dtypes[t]);
            if (!shapes[i][3]) x = dync_transpose(dync_contiguous(dync_transpose(x, 0, 1)), 0, 1);
            dync_tensor *got = dync_to_device(dync_cumsum(gpu(x), 1), DYNC_CPU),
                        *want = dync_cumsum(x, 1);
            if (!EXPECT(got && dync_type(got) == dync_type(want) &&
                        same(dync_to_dtype(got, DYNC_F64), dync_to_dtype(want, DYNC_F64),
                             dtypes[t] == DYNC_BF16 ? 1e-2 : 1e-6)))
                printf("  shape %d dtype %d\n", i, t);
        }
    EXPECT_EQ_INT(dync_error(), DYNC_OK);
}

/* Few long rows: every phase of softmax and the norms is split over blocks, rows side by side or
 * apart, in place too. */
static dync_tensor *long_softmax(dync_tensor *x) { return dync_softmax(dync_mul(x, 2), 1); }
static dync_tensor *long_norm(dync_tensor *x)
{
    return dync_layer_norm(x, dync_shape(dync_size(x, 1)), NULL, NULL, 1e-5);
}
static dync_tensor *long_columns(dync_tensor *x)
{
    return dync_transpose(dync_log_softmax(dync_contiguous(dync_transpose(x, 0, 1)), 0), 0, 1);
}
static dync_tensor *long_in_place(dync_tensor *x)
{
    x = dync_mul(x, 3);
    return dync_sub(dync_add_(x, 1), dync_mean(x, dync_shape(1), true));
}
static dync_tensor *long_places(dync_tensor *x)
{
    return dync_add(dync_dropout(x, 0.5, true), dync_to_dtype(dync_argmax(x, 1, true), DYNC_F32));
}
TEST(long_rows)
{
    dync_tensor *(*all[])(dync_tensor *) = {long_softmax, long_norm, long_columns, long_in_place,
                                            long_places};
    setenv("CUEMU_UNITS", "132", 1);
    for (int i = 0; i < 5; i++)
        for (int way = 0; way < (i ? 1 : 2); way++) DYNC_SCOPE {
            dync_compiled *f = dync_compile(all[i], .args = "x");
            dync_tensor *x = dync_randn(dync_shape(2, 66001)),
                        *y = way ? dync_to_dtype(x, DYNC_BF16) : x, *want, *got;
            dync_manual_seed(3);
            want = dync_to_dtype(all[i](y), DYNC_F32);
            dync_manual_seed(3);
            got = dync_call(f, gpu(y));
            REQUIRE(got);
            if (!EXPECT(same(dync_to_dtype(dync_to_device(got, DYNC_CPU), DYNC_F32), want,
                             way ? 2e-2 : 1e-5)))
                printf("  function %d\n", i);
            dync_compiled_free(f);
        }
    EXPECT_EQ_INT(dync_error(), DYNC_OK);
}

/* ---- compiled -------------------------------------------------------------------------------- */
static dync_tensor *chain(dync_tensor *x, dync_tensor *y)
{
    dync_tensor *h = dync_gelu(dync_add(dync_mul(x, y), 0.5));
    return dync_softmax(dync_sub(h, dync_mean(h, dync_shape(1), true)), 1);
}
static const char *const backends[] = {"eager", "aot_eager", "inductor", "cudagraphs"};

TEST(compiled_functions_equal_the_cpu)
{
    for (int b = 0; b < 4; b++) {
        dync_compiled *f = dync_compile(chain, .args = "x, y", .backend = backends[b]);
        for (int i = 0; i < 5; i++) DYNC_SCOPE {
            int64_t n = i == 4 ? 7 : 5;
            dync_tensor *x = dync_randn(dync_shape(n, 33)), *y = dync_randn(dync_shape(n, 33));
            EXPECT(same(dync_call(f, gpu(x), gpu(y)), chain(x, y), 1e-5));
        }
        EXPECT_EQ_INT(dync_error(), DYNC_OK);
        dync_compiled_free(f);
    }
}

/* The sort behind topk writes a temporary: what reads it stays behind it. */
static dync_tensor *noisy_topk(dync_tensor *x, dync_tensor *y)
{
    y = dync_dropout(y, 0.4, true);
    return dync_add(dync_as_tensor(dync_at(dync_topk(x, 4, 0, true, true), 0)), y);
}
TEST(steps_stay_behind_the_sort_of_topk)
{
    dync_compiled *f = dync_compile(noisy_topk, .args = "x, y");
    dync_tensor *x = dync_randn(dync_shape(5, 64)), *y = dync_randn(dync_shape(4, 64)), *want;
    dync_manual_seed(3);
    want = noisy_topk(x, y);
    dync_manual_seed(3);
    EXPECT(same(dync_call(f, gpu(x), gpu(y)), want, 1e-6));
    dync_compiled_free(f);
}

static dync_tensor *over_devices(dync_tensor *x, dync_tensor *y)
{
    return dync_add(dync_to_device(dync_mul(x, 2), DYNC_CPU), dync_sin(y));
}
TEST(graphs_over_several_devices)
{
    for (int b = 0; b < 4; b++) {
        dync_compiled *f = dync_compile(over_devices, .args = "x, y", .backend = backends[b]);
        dync_tensor *x = dync_randn(dync_shape(4)), *y = dync_randn(dync_shape(4));
        EXPECT(same(dync_call(f, gpu(x), y), over_devices(x, y), 1e-6));
        EXPECT_EQ_INT(dync_error(), DYNC_OK);
        dync_compiled_free(f);
    }
}

/* The gradient of a number from main memory comes back there, where more of it may wait. */
static dync_value numbers_between(const dync_value *v, int n, void *user)
{
    dync_tensor *x = dync_as_tensor(v[0]),
                *part = dync_to_device(dync_slice(x, 0, 0, 3, 1), DYNC_CPU),
                *sum = dync_sum(part, DYNC_ALL, false);
    (void)n, (void)user;
    return dync_tuple(dync_add(x, sum), part, sum);
}
TEST(gradients_of_numbers_from_main_memory)
{
    for (int b = -1; b < 4; b++) {
        dync_compiled *f =
            b < 0 ? NULL : dync_compile(numbers_between, .args = "x", .backend = backends[b]);
        dync_tensor *x = dync_requires_grad_(gpu(dync_ones(dync_shape(4))), true);
        dync_value v = DYNC_V(x), r = f ? dync_call_values(f, 1, &v) : numbers_between(&v, 1, NULL);
        dync_tensor *loss = dync_add(
            dync_to_device(dync_sum(dync_as_tensor(dync_at(r, 0)), DYNC_ALL, false), DYNC_CPU),
            dync_as_tensor(dync_at(r, 2)));
        EXPECT_OK(dync_backward(
            dync_add(loss, dync_sum(dync_as_tensor(dync_at(r, 1)), DYNC_ALL, false))));
        EXPECT(same(dync_grad(x), dync_from((float[]){7, 7, 7, 1}, dync_shape(4)), 1e-6));
        EXPECT_EQ_INT(dync_error(), DYNC_OK);
        dync_compiled_free(f);
    }
}

/* What else takes a program of the device: tables of times, files of modules, exported programs,
 * explain. */
static dync_tensor *product(dync_tensor *x, dync_tensor *y)
{
    return dync_relu(dync_add(dync_matmul(x, y), 1));
}
TEST(tools_take_the_device)
{
    char path[400];
    dync_tensor *x = dync_randn(dync_shape(4, 4)), *y = dync_randn(dync_shape(4, 4));
    dync_set_log("perf");
    dync_compiled *f = dync_compile(product, .args = "x, y");
    EXPECT(same(dync_call(f, gpu(x), gpu(y)), product(x, y), 1e-5));
    dync_set_log("");
    dync_compiled_free(f);
    dync_explain_output e = dync_explain(product, gpu(x), gpu(y));
    EXPECT(e.graph_count == 1 && e.op_count == 3);
    snprintf(path, sizeof path, "%s.safetensors", test__state.program);
    dync_module *m = dync_nn_linear(4, 3, true), *n = dync_nn_linear(4, 3, true);
    EXPECT_OK(dync_module_to_device(m, DYNC_CUDA));
    EXPECT_OK(dync_module_save(m, path));
    EXPECT_OK(dync_module_load(n, path));
    EXPECT(same(dync_as_tensor(dync_module_call(m, gpu(x))), dync_as_tensor(dync_module_call(n, x)),
                1e-5));
    DYNC_NO_GRAD {
        dync_zero_(dync_module_param(m, "weight"));
    }
    EXPECT_OK(dync_module_load(m, path));
    EXPECT(same(dync_module_param(m, "weight"), dync_module_param(n, "weight"), 0));
    remove(path);
    dync_program *p = dync_export(product, gpu(x), gpu(y));
    REQUIRE(p);
    EXPECT(
        same(dync_as_tensor(dync_program_run(p, 2, (dync_value[]){DYNC_V(gpu(x)), DYNC_V(gpu(y))})),
             product(x, y), 1e-5));
    EXPECT_EQ_INT(dync_error(), DYNC_OK);
    dync_on_error(say_nothing, NULL);
    (void)dync_program_run(p, 2, (dync_value[]){DYNC_V(x), DYNC_V(y)});
    EXPECT_HAS_STR(expect_error(DYNC_ERR_VALUE), "on cuda:0, got float32[4, 4] of strides [4, 1]");
    dync_program_free(p);
    dync_module_free(m);
    dync_module_free(n);
}

/* A small network: losses and gradients over a few steps are the CPU's, on every backend. */
static dync_tensor *net(dync_tensor *x, dync_tensor *w1, dync_tensor *w2, dync_tensor *k)
{
    dync_tensor *h =
        dync_relu(dync_conv2d(x, k, NULL, dync_shape(1, 1), dync_shape(1, 1), dync_shape(1, 1), 1));
    h = dync_layer_norm(
        dync_linear(dync_reshape(dync_max_pool2d(h, dync_shape(2, 2), dync_shape(2, 2),
                                                 dync_shape(0, 0), dync_shape(1, 1), false),
                                 dync_shape(2, -1)),
                    w1, NULL),
        dync_shape(10), NULL, NULL, 1e-5);
    return dync_mean(dync_square(dync_matmul(dync_tanh(h), w2)), DYNC_ALL, false);
}
TEST(training_equals_the_cpu)
{
    static const char *const all[] = {"eager", "aot_eager", "inductor", "cudagraphs"};
    for (int b = 0; b < 4; b++) {
        dync_manual_seed(7);
        dync_tensor *w[3] = {dync_mul(dync_randn(dync_shape(10, 32)), 0.2),
                             dync_randn(dync_shape(10, 3)),
                             dync_mul(dync_randn(dync_shape(2, 1, 3, 3)), 0.5)},
                    *g[3];
        for (int i = 0; i < 3; i++) {
            g[i] = gpu(w[i]);
            dync_requires_grad_(w[i], true);
            dync_requires_grad_(g[i], true);
        }
        dync_compiled *f = dync_compile(net, .args = "x, w1, w2, k", .backend = all[b]);
        for (int step = 0; step < 4; step++) DYNC_SCOPE {
            dync_tensor *x = dync_randn(dync_shape(2, 1, 8, 8));
            dync_tensor *want = net(x, w[0], w[1], w[2]),
                        *got = dync_call(f, gpu(x), g[0], g[1], g[2]);
            REQUIRE(want && got);
            EXPECT_NEAR(dync_item(got), dync_item(want), 1e-5);
            EXPECT_OK(dync_backward(want));
            EXPECT_OK(dync_backward(got));
            for (int i = 0; i < 3; i++) {
                EXPECT(same(dync_grad(g[i]), dync_grad(w[i]), 1e-4));
                dync_set_grad(g[i], NULL);
                dync_set_grad(w[i], NULL);
            }
        }
        EXPECT_EQ_INT(dync_error(), DYNC_OK);
        dync_compiled_free(f);
    }
}

/* ---- recorded graphs ------------------------------------------------------------------------- */
static dync_tensor *noisy(dync_tensor *x)
{
    return dync_add(dync_mul(x, 2), dync_randn(dync_shape(8), .device = DYNC_CUDA));
}
TEST(recorded_graphs_replay)
{
    dync_compiled *f = dync_compile(chain, .args = "x, y", .backend = "cudagraphs"),
                  *o = dync_compile(chain, .args = "x, y", .options = "cudagraphs");
    for (int way = 0; way < 2; way++) {
        dync_tensor *y = gpu(dync_randn(dync_shape(4, 33))), *cy = dync_to_device(y, DYNC_CPU),
                    *kept[4];
        dync_cuda_counters before = dync_cuda_get_counters();
        for (int i = 0; i < 6; i++) {
            dync_tensor *x = dync_randn(dync_shape(4, 33)), *r = dync_call(way ? o : f, gpu(x), y);
            EXPECT(same(r, chain(x, cy), 1e-5));
            if (i < 2) kept[2 * i] = r, kept[2 * i + 1] = chain(x, cy);
        }
        dync_cuda_counters after = dync_cuda_get_counters();
        /* results are not overwritten */
        EXPECT(same(kept[0], kept[1], 1e-5) && same(kept[2], kept[3], 1e-5));
        EXPECT(after.recordings > before.recordings && after.replays - before.replays >= 4);
    }
    dync_compiled_free(f);
    dync_compiled_free(o);
    /* random numbers move on with every replay */
    dync_compiled *g = dync_compile(noisy, .args = "x", .backend = "cudagraphs");
    dync_tensor *x = gpu(dync_ones(dync_shape(8)));
    dync_manual_seed(3);
    dync_tensor *compiled[4];
    for (int i = 0; i < 4; i++) compiled[i] = dync_call(g, x);
    dync_manual_seed(3);
    for (int i = 0; i < 4; i++) EXPECT(same(compiled[i], noisy(x), 1e-6));
    dync_compiled_free(g);
    EXPECT_EQ_INT(dync_error(), DYNC_OK);
}

/* A step that writes its inputs: the recorded graph writes the caller's tensors, wherever they
 * lie. */
static dync_tensor *step(dync_tensor *w, dync_tensor *x)
{
    dync_add_(w, dync_mul(x, 0.5));
    return dync_sum(w, DYNC_ALL, false);
}
TEST(recorded_graphs_write_their_inputs)
{
    dync_compiled *f = dync_compile(step, .args = "w, x", .backend = "cudagraphs");
    dync_tensor *w[2] = {gpu(dync_ones(dync_shape(6))), gpu(dync_zeros(dync_shape(6)))},
                *c[2] = {dync_ones(dync_shape(6)), dync_zeros(dync_shape(6))};
    for (int i = 0; i < 8; i++) {
        dync_tensor *x = dync_randn(dync_shape(6)), *got = dync_call(f, w[i >= 5], gpu(x)),
                    *want = step(c[i >= 5], x);
        EXPECT(same(got, want, 1e-6) && same(w[0], c[0], 1e-6) && same(w[1], c[1], 1e-6));
    }
    EXPECT_EQ_INT(dync_error(), DYNC_OK);
    dync_compiled_free(f);
}
/* Results that are views of an input, of each other, and an input itself; new shapes are recorded
 * for themselves; a CPU graph runs plainly. */
static dync_value aliases(const dync_value *v, int n, void *user)
{
    dync_tensor *x = dync_as_tensor(v[0]), *h = dync_mul(x, 2);
    (void)n, (void)user;
    return dync_tuple(h, dync_transpose(h, 0, 1), dync_reshape(x, dync_shape(-1)), x);
}
TEST(recorded_graphs_alias)
{
    dync_compiled *f =
        dync_compile(aliases, .args = "x", .backend = "cudagraphs", .dynamic = DYNC_DYNAMIC_OFF);
    int64_t records[3];
    dync_tensor *fixed = gpu(dync_randn(dync_shape(3, 4)));
    for (int i = 0; i < 9; i++) {
        int64_t rows = i < 3 || i > 5 ? 3 : 5;
        dync_tensor *x = i % 2 ? fixed : gpu(dync_randn(dync_shape(rows, 4)));
        if (i % 2 && rows != 3) x = gpu(dync_ones(dync_shape(rows, 4)));
        dync_value v = DYNC_V(x), r = dync_call_value(f, v);
        REQUIRE(r.kind == DYNC_KIND_LIST);
        dync_tensor *y[4];
        for (int k = 0; k < 4; k++) y[k] = dync_as_tensor(dync_at(r, k));
        dync_tensor *want = dync_mul(dync_to_device(x, DYNC_CPU), 2);
        EXPECT(same(y[0], want, 0) && same(y[1], dync_transpose(want, 0, 1), 0) &&
               same(y[3], dync_to_device(x, DYNC_CPU), 0));
        EXPECT(dync_cuda_data(y[1]) == dync_cuda_data(y[0]) &&
               dync_cuda_data(y[2]) == dync_cuda_data(x) &&
               dync_cuda_data(y[3]) == dync_cuda_data(x));
        /* the caller's own: seen through its view, not by later calls */
        dync_add_(y[0], 1);
        EXPECT(same(y[1], dync_add(dync_transpose(want, 0, 1), 1), 0));
        if (i % 3 == 2) records[i / 3] = dync_cuda_get_counters().recordings;
    }
    EXPECT(records[0] >= 1 && records[1] > records[0]);
    int64_t before = dync_cuda_get_counters().recordings,
            launches = dync_cuda_get_counters().launches;
    for (int i = 0; i < 3; i++)
        EXPECT(same(
            dync_as_tensor(dync_at(dync_call_value(f, DYNC_V(dync_ones(dync_shape(2, 2)))), 0)),
            dync_full(dync_shape(2, 2), 2.0), 0));
    EXPECT(dync_cuda_get_counters().recordings == before &&
           dync_cuda_get_counters().launches == launches);
    EXPECT_EQ_INT(dync_error(), DYNC_OK);
    dync_compiled_free(f);
}

/* Forward, loss, backward and AdamW in one compiled function: losses and weights are the CPU's
 * eager ones, on every backend. */
typedef struct trained {
    dync_module *m;
    dync_optim *o;
} trained;
static dync_value train_step(const dync_value *v, int n, void *user)
{
    trained *t = user;
    (void)n;
    dync_tensor *d = dync_sub(dync_as_tensor(dync_module_call_values(t->m, 1, v)), v[1]),
                *loss = dync_mean(dync_mul(d, d), DYNC_ALL, false);
    dync_backward(loss);
    dync_optim_step(t->o);
    dync_optim_zero_grad(t->o);
    return DYNC_V(loss);
}
static trained trained_on(dync_device device)
{
    dync_manual_seed(5);
    dync_module *m = dync_sequential(dync_nn_linear(6, 8, true), dync_nn_layer_norm(8),
                                     dync_nn_gelu(), dync_nn_linear(8, 3, true));
    EXPECT_OK(dync_module_to_device(m, device));
    return (trained){m, dync_optim_of(DYNC_OPTIM_ADAMW, m, (dync_optim_options){.lr = 0.01})};
}
TEST(captured_training_steps_equal_the_cpu)
{
    for (int b = 0; b < 4; b++) {
        trained cpu = trained_on(DYNC_CPU), on = trained_on(DYNC_CUDA);
        dync_compiled *f = dync_compile(train_step, .args = "x, want", .backend = backends[b],
                                        .fullgraph = true, .user = &on);
        for (int step = 0; step < 6; step++) DYNC_SCOPE {
            dync_tensor *x = dync_randn(dync_shape(4, 6)), *want = dync_randn(dync_shape(4, 3));
            dync_tensor *got = dync_as_tensor(dync_call_value(f, gpu(x), gpu(want))),
                        *ref = dync_as_tensor(
                            train_step((dync_value[]){DYNC_V(x), DYNC_V(want)}, 2, &cpu));
            REQUIRE(got && ref);
            EXPECT_NEAR(dync_item(got), dync_item(ref), 1e-4);
        }
        static const char *const names[] = {"0.weight", "0.bias", "1.weight", "3.weight", "3.bias"};
        for (int i = 0; i < 5; i++)
            EXPECT(
                same(dync_module_param(on.m, names[i]), dync_module_param(cpu.m, names[i]), 1e-4));
        EXPECT_EQ_INT(dync_error(), DYNC_OK);
        dync_compiled_free(f);
        trained both[2] = {cpu, on};
        for (int k = 0; k < 2; k++) dync_optim_free(both[k].o), dync_module_free(both[k].m);
    }
}
TEST_MAIN
