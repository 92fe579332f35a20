/* Bad input to the public functions: NULL, wrong shape, wrong dtype, dimensions out of range, sizes
 * whose product overflows, unknown names. Each is an error that says what was expected, changes
 * nothing, and leaves the next correct call working. */
#include "dync.h"
#define TEST_AFTER_EACH dync_shutdown()
#include "test.h"

static int handler_calls;
static void count_errors(dync_status status, const char *message, void *user)
{
    (void)status;
    (void)message;
    (void)user;
    handler_calls++;
}

/* The pending error is this one, was reported once and has a text; afterwards dync works as
 * before. */
static void expect_error(dync_status want, const char *part, const char *file, int line,
                         const char *what)
{
    dync_status got = dync_error();
    if (!test__eq_int(got, want, file, line, what))
        printf("    message: %s\n", dync_error_message());
    if (got != DYNC_OK) {
        test__expect(handler_calls == 1, file, line, "the handler is called once");
        test__expect(dync_error_class()[0] != 0, file, line, "the error has a class");
        test__has_str(dync_error_message(), part, file, line, what);
    }
    dync_clear_error();
    DYNC_SCOPE {
        double sum = dync_item(dync_sum(dync_add(dync_ones(dync_shape(3)), 1), DYNC_ALL, false));
        test__near(sum, 6, 0, file, line, "the next correct call works");
    }
    test__eq_int(dync_error(), DYNC_OK, file, line, "the next correct call works");
    dync_clear_error();
}
#define BAD_TEXT(expr, text, status, part)                        \
    do {                                                          \
        dync_clear_error();                                       \
        dync_on_error(count_errors, NULL);                        \
        handler_calls = 0;                                        \
        (void)(expr);                                             \
        expect_error((status), (part), __FILE__, __LINE__, text); \
    } while (0)
#define BAD_SAYING(expr, status, part) BAD_TEXT(expr, #expr, status, part)
#define BAD(expr, status) BAD_TEXT(expr, #expr, status, "")

static dync_tensor *ones(int64_t a, int64_t b) { return dync_ones(dync_shape(a, b)); }

TEST(null_tensors)
{
    BAD(dync_add((dync_tensor *)NULL, 1), DYNC_ERR_VALUE);
    BAD(dync_add(1, (dync_tensor *)NULL), DYNC_ERR_VALUE);
    BAD(dync_relu(NULL), DYNC_ERR_VALUE);
    BAD(dync_add_(NULL, 1), DYNC_ERR_VALUE);
    BAD(dync_matmul(NULL, ones(2, 2)), DYNC_ERR_VALUE);
    BAD(dync_matmul(ones(2, 2), NULL), DYNC_ERR_VALUE);
    BAD(dync_linear(ones(2, 2), NULL, NULL), DYNC_ERR_VALUE);
    BAD(dync_sum(NULL, DYNC_ALL, false), DYNC_ERR_VALUE);
    BAD(dync_softmax(NULL, 0), DYNC_ERR_VALUE);
    BAD(dync_view(NULL, dync_shape(1)), DYNC_ERR_VALUE);
    BAD(dync_slice(NULL, 0, 0, 1, 1), DYNC_ERR_VALUE);
    BAD(dync_item(NULL), DYNC_ERR_VALUE);
    BAD(dync_bool(NULL), DYNC_ERR_VALUE);
    BAD(dync_data(NULL), DYNC_ERR_VALUE);
    BAD(dync_str(NULL), DYNC_ERR_VALUE);
    BAD(dync_ndim(NULL), DYNC_ERR_VALUE);
    BAD(dync_size(NULL, 0), DYNC_ERR_VALUE);
    BAD(dync_stride(NULL, 0), DYNC_ERR_VALUE);
    BAD(dync_numel(NULL), DYNC_ERR_VALUE);
    BAD(dync_type(NULL), DYNC_ERR_VALUE);
    BAD(dync_equal(NULL, ones(1, 1)), DYNC_ERR_VALUE);
    BAD(dync_allclose(ones(1, 1), NULL, 0, 0), DYNC_ERR_VALUE);
    BAD(dync_to_dtype(NULL, DYNC_F64), DYNC_ERR_VALUE);
    BAD(dync_parameter(NULL), DYNC_ERR_VALUE);
    BAD(dync_detach(NULL), DYNC_ERR_VALUE);
    BAD(dync_backward(NULL), DYNC_ERR_VALUE);
    BAD(dync_requires_grad_(NULL, true), DYNC_ERR_VALUE);
}

/* A chain is checked once: what follows the first error adds nothing. */
TEST(null_passes_through)
{
    BAD(dync_relu(dync_add(dync_matmul(ones(2, 3), ones(2, 3)), 1)), DYNC_ERR_SHAPE);
    BAD(dync_item(dync_sum(dync_mul(dync_add(ones(2, 3), ones(3, 2)), 2), DYNC_ALL, false)),
        DYNC_ERR_SHAPE);
}

TEST(shapes)
{
    BAD_SAYING(dync_add(ones(2, 3), ones(3, 2)), DYNC_ERR_SHAPE, "test_bad_input.c");
    BAD_SAYING(dync_matmul(ones(3, 4), ones(5, 6)), DYNC_ERR_SHAPE, "matmul");
    BAD(dync_view(ones(2, 3), dync_shape(4)), DYNC_ERR_SHAPE);
    BAD_SAYING(dync_sum(ones(2, 3), ((dync_dims){.n = -1}), false), DYNC_ERR_SHAPE, "got -1");
    BAD_SAYING(dync_view(ones(2, 3), ((dync_dims){.n = 99})), DYNC_ERR_SHAPE, "got 99");
    BAD(dync_pixel_shuffle(ones(2, 3), INT64_MAX), DYNC_ERR_SHAPE);
    BAD_SAYING(dync_nn_lstm(3, INT64_MAX, 1, false), DYNC_ERR_SHAPE, "too large");
    BAD(dync_view(ones(2, 3), dync_shape(-1, -1)), DYNC_ERR_SHAPE);
    BAD(dync_expand(ones(2, 3), dync_shape(4, 3)), DYNC_ERR_SHAPE);
    BAD(dync_add_(dync_ones(dync_shape(3)), ones(2, 3)), DYNC_ERR_SHAPE);
    BAD(dync_item(ones(2, 2)), DYNC_ERR_VALUE);
    BAD(dync_bool(ones(2, 2)), DYNC_ERR_VALUE);
    BAD(dync_zeros(dync_shape(-1)), DYNC_ERR_SHAPE);
    BAD(dync_zeros(dync_shape(2, -3)), DYNC_ERR_SHAPE);
    BAD(dync_permute(ones(2, 3), dync_shape(0)), DYNC_ERR_SHAPE);
}

TEST(sizes_that_overflow)
{
    int64_t big = INT64_C(1) << 40;
    BAD(dync_zeros(dync_shape(big, big)), DYNC_ERR_SHAPE);
    BAD(dync_empty(dync_shape(INT64_MAX, 2)), DYNC_ERR_SHAPE);
    BAD(dync_randn(dync_shape(INT64_MAX / 4)), DYNC_ERR_SHAPE);
    BAD(dync_full(dync_shape(big, big, big), 1), DYNC_ERR_SHAPE);
    BAD(dync_from("", dync_shape(big, big)), DYNC_ERR_SHAPE);
    BAD(dync_zeros(dync_shape(INT64_C(1) << 50)), DYNC_ERR_MEMORY);
}

/* A count of dimensions that no dync_shape makes. */
TEST(ranks)
{
    dync_dims bad = DYNC_SCALAR;
    bad.n = DYNC_MAX_DIMS + 1;
    BAD(dync_zeros(bad), DYNC_ERR_SHAPE);
    BAD(dync_view(ones(2, 3), bad), DYNC_ERR_SHAPE);
    BAD(dync_sum(ones(2, 3), bad, false), DYNC_ERR_SHAPE);
    bad.n = -1;
    BAD(dync_zeros(bad), DYNC_ERR_SHAPE);
    BAD(dync_reshape(ones(2, 3), bad), DYNC_ERR_SHAPE);
}

TEST(dimensions_out_of_range)
{
    BAD(dync_softmax(ones(2, 3), 2), DYNC_ERR_INDEX);
    BAD(dync_softmax(ones(2, 3), -3), DYNC_ERR_INDEX);
    BAD(dync_sum(ones(2, 3), dync_shape(5), false), DYNC_ERR_INDEX);
    BAD(dync_transpose(ones(2, 3), 0, 7), DYNC_ERR_INDEX);
    BAD(dync_select(ones(2, 3), 0, 2), DYNC_ERR_INDEX);
    BAD(dync_select(ones(2, 3), 0, -3), DYNC_ERR_INDEX);
    BAD(dync_slice(ones(2, 3), 2, 0, 1, 1), DYNC_ERR_INDEX);
    BAD(dync_slice(ones(2, 3), 0, 0, 1, 0), DYNC_ERR_VALUE);
    BAD(dync_size(ones(2, 3), 2), DYNC_ERR_INDEX);
    BAD(dync_stride(ones(2, 3), -3), DYNC_ERR_INDEX);
    BAD(dync_unsqueeze(ones(2, 3), 4), DYNC_ERR_INDEX);
}

TEST(dtypes)
{
    BAD(dync_zeros(dync_shape(2), .dtype = (dync_dtype)99), DYNC_ERR_DTYPE);
    BAD(dync_to_dtype(ones(1, 1), (dync_dtype)-1), DYNC_ERR_DTYPE);
    BAD(dync_zeros(dync_shape(2), .dtype = DYNC_I64, .requires_grad = true), DYNC_ERR_DTYPE);
    BAD(dync_parameter(dync_zeros(dync_shape(2), .dtype = DYNC_I64)), DYNC_ERR_DTYPE);
    BAD(dync_add_(dync_zeros(dync_shape(2), .dtype = DYNC_I64), 1.5), DYNC_ERR_DTYPE);
    BAD(dync_matmul(ones(2, 2), dync_zeros(dync_shape(2, 2), .dtype = DYNC_I64)), DYNC_ERR_DTYPE);
    BAD(dync_zeros(dync_shape(2), .device = (dync_device)77), DYNC_ERR_DEVICE);
}

TEST(values)
{
    BAD(dync_as_tensor(DYNC_V(3)), DYNC_ERR_VALUE);
    BAD(dync_as_tensor(DYNC_NONE), DYNC_ERR_VALUE);
    BAD(dync_as_int(DYNC_V("text")), DYNC_ERR_VALUE);
    BAD(dync_as_float(DYNC_NONE), DYNC_ERR_VALUE);
    BAD(dync_as_str(DYNC_V(1)), DYNC_ERR_VALUE);
    BAD(dync_len(DYNC_V(1)), DYNC_ERR_VALUE);
    BAD(dync_at(DYNC_V(1), 0), DYNC_ERR_VALUE);
    BAD(dync_at(dync_tuple(1, 2), 2), DYNC_ERR_INDEX);
    BAD(dync_at(dync_tuple(1, 2), -1), DYNC_ERR_INDEX);
    BAD(dync_tuple_of(-1, NULL), DYNC_ERR_VALUE);
    BAD(dync_sym_floordiv(DYNC_V(1), DYNC_V(0)), DYNC_ERR_VALUE);
    BAD(dync_sym_add(DYNC_V(1), DYNC_V("x")), DYNC_ERR_VALUE);
    BAD(dync_add(DYNC_V("text"), ones(1, 1)), DYNC_ERR_VALUE);
    BAD(dync_add(DYNC_NONE, ones(1, 1)), DYNC_ERR_VALUE);
    BAD(dync_from(NULL, dync_shape(3)), DYNC_ERR_VALUE);
    BAD(dync_wrap(NULL, dync_shape(3)), DYNC_ERR_VALUE);
    BAD(dync_full(dync_shape(2), "text"), DYNC_ERR_VALUE);
    BAD(dync_arange(0, 3, 0), DYNC_ERR_VALUE);
    BAD(dync_arange(0, 3, -1), DYNC_ERR_VALUE);
}

TEST(handles_after_their_scope)
{
    dync_tensor *late = NULL;
    DYNC_SCOPE {
        late = dync_exp(ones(2, 2));
    }
    BAD_SAYING(dync_relu(late), DYNC_ERR_VALUE, "exp");
    BAD(dync_item(late), DYNC_ERR_VALUE);
    BAD(dync_numel(late), DYNC_ERR_VALUE);
    BAD(dync_retain(late), DYNC_ERR_VALUE);
}

static dync_tensor *same(dync_tensor *grad, void *user)
{
    (void)user;
    return grad;
}

TEST(autograd)
{
    BAD(dync_backward(ones(2, 2)), DYNC_ERR_AUTOGRAD);
    dync_tensor *w = dync_parameter(ones(2, 2));
    BAD(dync_backward(dync_mul(w, 2)), DYNC_ERR_AUTOGRAD);
    BAD(dync_backward_with(dync_mul(w, 2), dync_ones(dync_shape(3))), DYNC_ERR_SHAPE);
    BAD(dync_add_(w, 1), DYNC_ERR_AUTOGRAD);
    BAD(dync_set_grad(w, dync_ones(dync_shape(3))), DYNC_ERR_SHAPE);
    BAD(dync_register_hook(w, NULL, NULL), DYNC_ERR_VALUE);
    BAD(dync_register_hook(ones(1, 1), same, NULL), DYNC_ERR_AUTOGRAD);
    dync_tensor *loss = dync_sum(dync_mul(w, w), DYNC_ALL, false);
    EXPECT_OK(dync_backward(loss));
    BAD(dync_backward(loss), DYNC_ERR_AUTOGRAD);
}

static dync_tensor *id(dync_tensor *x) { return dync_mul(x, 1); }
static dync_tensor *fails(dync_tensor *x) { return dync_matmul(x, x); }

TEST(compiling)
{
    BAD_SAYING(dync_call(dync_compile(id, .backend = "nonsense"), ones(2, 2)), DYNC_ERR_VALUE,
               "nonsense");
    BAD_SAYING(dync_lookup_backend("nonsense"), DYNC_ERR_VALUE, "inductor");
    BAD(dync_lookup_backend(NULL), DYNC_ERR_VALUE);
    BAD(dync_register_backend(NULL), DYNC_ERR_VALUE);
    BAD(dync_register_backend(&(dync_backend){.name = "nothing"}), DYNC_ERR_VALUE);
    BAD(dync_call((dync_compiled *)NULL, 1), DYNC_ERR_VALUE);
    BAD(dync_compile((dync_module *)NULL), DYNC_ERR_VALUE);
    BAD(dync_config_set("nonsense", "1"), DYNC_ERR_VALUE);
    dync_compiled *f = dync_compile(id), *g = dync_compile(fails);
    BAD(dync_call(f, ones(2, 2), 3), DYNC_ERR_VALUE);
    BAD(dync_call(f, 3), DYNC_ERR_VALUE);
    BAD(dync_call(g, ones(2, 3)), DYNC_ERR_SHAPE);
    EXPECT_EQ_INT(dync_numel(dync_call(g, ones(2, 2))), 4);
    dync_compiled_free(f);
    dync_compiled_free(g);
    dync_compiled_free(NULL);
}

TEST(graphs)
{
    dync_graph *g = dync_make_graph(id, ones(2, 2));
    BAD(dync_graph_node(g, 99), DYNC_ERR_INDEX);
    BAD(dync_graph_node(NULL, 0), DYNC_ERR_VALUE);
    BAD(dync_graph_str(NULL), DYNC_ERR_VALUE);
    BAD(dync_graph_readable(NULL), DYNC_ERR_VALUE);
    BAD(dync_graph_run(NULL, NULL, 0), DYNC_ERR_VALUE);
    BAD(dync_graph_run(g, NULL, 0), DYNC_ERR_VALUE);
    BAD(dync_op_call_values("nonsense", 0, NULL), DYNC_ERR_VALUE);
    BAD(dync_op_call_values(NULL, 0, NULL), DYNC_ERR_VALUE);
    dync_graph_free(NULL);
}

TEST(modules)
{
    dync_module *m = dync_nn_linear(3, 2, true);
    BAD_SAYING(dync_module_param(m, "nonsense"), DYNC_ERR_VALUE, "nonsense");
    BAD(dync_module_param(NULL, "weight"), DYNC_ERR_VALUE);
    BAD(dync_module_param(m, NULL), DYNC_ERR_VALUE);
    BAD(dync_module_child(m, "0.weight"), DYNC_ERR_VALUE);
    BAD(dync_forward_call(m, ones(2, 5)), DYNC_ERR_SHAPE);
    BAD(dync_forward_call(NULL, ones(2, 5)), DYNC_ERR_VALUE);
    BAD(dync_nn_linear(0, 2, true), DYNC_ERR_VALUE);
    BAD(dync_nn_linear(-3, 2, true), DYNC_ERR_VALUE);
    BAD(dync_module_load(m, "build/no/such/file"), DYNC_ERR_IO);
    BAD(dync_module_save(m, "build/no/such/file"), DYNC_ERR_IO);
    BAD(dync_module_save(m, NULL), DYNC_ERR_VALUE);
    BAD(dync_module_load(m, "Makefile"), DYNC_ERR_FORMAT);
    BAD(dync_module_open("Makefile"), DYNC_ERR_FORMAT);
    BAD_SAYING(dync_program_load("Makefile"), DYNC_ERR_FORMAT, "test_bad_input.c");
    BAD_SAYING(dync_program_load("build/no/such/file"), DYNC_ERR_IO, "test_bad_input.c");
    BAD_SAYING(dync_program_run(NULL, 0, NULL), DYNC_ERR_VALUE, "test_bad_input.c");
    EXPECT_EQ_INT(dync_module_parameters(m, NULL, 0), 2);
    dync_module_free(m);
    dync_module_free(NULL);
    dync_program_free(NULL);
}

static void short_quiet(dync_status status, const char *message, void *user)
{
    (void)status, (void)message, (void)user;
}
/* What gives nothing names its line, too. */
TEST(released_and_freed_twice)
{
    char line[64];
    dync_tensor *x = ones(2, 2);
    dync_compiled *f = dync_compile(dync_abs);
    dync_compiled_free(f);
    dync_on_error(short_quiet, NULL);
    snprintf(line, sizeof line, "test_bad_input.c:%d", __LINE__ + 1);
    dync_release(x);
    EXPECT_STATUS(dync_error(), DYNC_ERR_VALUE);
    EXPECT_HAS_STR(dync_error_message(), line);
    dync_clear_error();
    snprintf(line, sizeof line, "test_bad_input.c:%d", __LINE__ + 1);
    dync_compiled_free(f);
    EXPECT_STATUS(dync_error(), DYNC_ERR_VALUE);
    EXPECT_HAS_STR(dync_error_message(), line);
    dync_clear_error();
}

/* An array whose size the compiler knows, shorter than what shape and dtype say. Without
 * optimisation it knows none. */
#if defined(__OPTIMIZE__) && defined(__GNUC__)
TEST(arrays_that_are_too_short)
{
    static const float four[4] = {1, 2, 3, 4};
    volatile int n = 5;
    float here[3] = {1, 2, 3};
    dync_on_error(short_quiet, NULL);
    dync_tensor *made[] = {dync_from((float[]){1, 2}, dync_shape(3)),
                           dync_from(four, dync_shape(n)),
                           dync_from(four + 1, dync_shape(2, 2)),
                           dync_from(four, dync_shape(4), .dtype = DYNC_F64),
                           dync_wrap(here, dync_shape(4)),
                           dync_constant(here, dync_shape(2, 2))};
    for (int i = 0; i < 6; i++) EXPECT(made[i] == NULL);
    EXPECT_EQ_INT(dync_error(), DYNC_ERR_VALUE);
    EXPECT_HAS_STR(
        dync_error_message(),
        "from: data: expected 12 bytes, 3 elements of float32, got an array of 8 bytes (");
    dync_clear_error();
    dync_on_error(NULL, NULL);
    EXPECT(dync_from(four, dync_shape(2)) && dync_from(four + 1, dync_shape(3)));
    float *unknown = malloc((size_t)n * sizeof *unknown); /* nobody knows how much */
    for (int i = 0; unknown && i < n; i++) unknown[i] = 1;
    EXPECT(unknown && dync_from(unknown, dync_shape(n)) != NULL);
    free(unknown);
}
#else
TEST(arrays_that_are_too_short) { SKIP("the compiler knows sizes where it optimises"); }
#endif

/* Texts and lists where a number or a tensor belongs. */
TEST(values_of_another_kind)
{
    dync_tensor *x = dync_ones(dync_shape(4));
    dync_on_error(count_errors, NULL);
#define REFUSED(call, part)                                                               \
    (handler_calls = 0, EXPECT((call) == NULL),                                           \
     expect_error(DYNC_ERR_VALUE, "expected a tensor or a number, got a " part, __FILE__, \
                  __LINE__, #call))
    REFUSED(dync_pad(x, dync_shape(0, 1), dync_tuple(x, 3)), "list");
    REFUSED(dync_nan_to_num(x, DYNC_NONE, "text", DYNC_NONE), "string");
    REFUSED(dync_fft_rfft(x, "text", -1), "string");
    REFUSED(dync_mul(x, "text"), "string");
#undef REFUSED
    EXPECT(dync_pad(x, dync_shape(0, 1), DYNC_NONE) != NULL);
    EXPECT_EQ_INT(dync_error(), DYNC_OK);
}

/* What the C type of an array says is compared with .dtype. */
TEST(arrays_of_other_elements)
{
    int64_t longs[2] = {1, 2};
    const int32_t ints[2] = {3, 4};
    const uint16_t bits[2] = {0x3f80, 0x4000};
    double doubles[2] = {5, 6};
    void *memory = ints[0] ? (void *)longs : NULL;
    dync_on_error(count_errors, NULL);
#if defined(__GNUC__)
#define REFUSED(...)                                                                          \
    (handler_calls = 0, EXPECT((__VA_ARGS__) == NULL),                                        \
     expect_error(DYNC_ERR_DTYPE, "data: expected elements of .dtype = ", __FILE__, __LINE__, \
                  #__VA_ARGS__))
    REFUSED(dync_from(longs, dync_shape(2)));
    REFUSED(dync_from((int64_t[]){1, 2}, dync_shape(2)));
    REFUSED(dync_from(((int[]){1, 2}), dync_shape(2)));
    REFUSED(dync_wrap(&doubles[0], dync_shape(2)));
    REFUSED(dync_constant(ints, dync_shape(2), .dtype = DYNC_I64));
    REFUSED(dync_from((double[]){1}, dync_shape(1), .dtype = DYNC_I64));
    REFUSED(dync_from((bool[]){true, false, true, true}, dync_shape(1)));
    REFUSED(dync_from(bits, dync_shape(1)));
#undef REFUSED
#endif
    EXPECT(dync_from((float[]){1, 2}, dync_shape(2)) != NULL);
    EXPECT_NEAR(dync_item(dync_from((int64_t[]){9}, dync_shape(1), .dtype = DYNC_I64)), 9, 0);
    EXPECT_NEAR(dync_item(dync_from(ints + 1, dync_shape(1), .dtype = DYNC_I32)), 4, 0);
    EXPECT_NEAR(dync_item(dync_from(bits + 1, dync_shape(1), .dtype = DYNC_BF16)), 2, 0);
    EXPECT_NEAR(dync_item(dync_wrap(memory, dync_shape(1), .dtype = DYNC_I64)), 1, 0);
    EXPECT(dync_from((const char *)longs, dync_shape(2)) != NULL); /* raw memory */
    EXPECT(dync_from(NULL, dync_shape(0)) != NULL);
    EXPECT_EQ_INT(dync_error(), DYNC_OK);
}

TEST_MAIN
