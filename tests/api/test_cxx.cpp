// The public half from C++: every macro form, compiled as C++17 and as C++20, linked to
// the C implementation.
#include "dync.h"
#define TEST_AFTER_EACH dync_shutdown()
#include "test.h"

static dync_tensor *twice_plus(dync_tensor *a, dync_tensor *b)
{
    return dync_add(dync_mul(a, 2), b);
}
static dync_value general(const dync_value *args, int nargs, void *user)
{
    (void)user;
    return nargs == 2 ? DYNC_V(dync_add(args[0], args[1])) : DYNC_NONE;
}
static double at(dync_tensor *t, int64_t i) { return dync_item(dync_select(t, 0, i)); }

TEST(values_of_every_type)
{
    int64_t n = 5;
    size_t u = 6;
    EXPECT_EQ_INT(dync_as_int(DYNC_V(3)), 3);
    EXPECT_EQ_INT(dync_as_int(DYNC_V(n)), 5);
    EXPECT_EQ_INT(dync_as_int(DYNC_V(u)), 6);
    EXPECT_EQ_INT(dync_as_int(DYNC_V((short)7)), 7);
    EXPECT_NEAR(dync_as_float(DYNC_V(2.5f)), 2.5, 0);
    EXPECT_NEAR(dync_as_float(DYNC_V(2.5)), 2.5, 0);
    EXPECT(DYNC_V(true).kind == DYNC_KIND_BOOL);
    EXPECT_EQ_STR(dync_as_str(DYNC_V("text")), "text");
    EXPECT(DYNC_NONE.kind == DYNC_KIND_NONE);
    EXPECT(DYNC_V(DYNC_TRUE).kind == DYNC_KIND_BOOL);
    EXPECT_OK(dync_error());
}

TEST(lists)
{
    dync_tensor *t = dync_ones(dync_shape(2));
    dync_value list = dync_tuple(t, 4, dync_tuple(1.5, "x"));
    EXPECT_EQ_INT(dync_len(list), 3);
    EXPECT_EQ_PTR(dync_as_tensor(dync_at(list, 0)), t);
    EXPECT_EQ_INT(dync_as_int(dync_at(list, 1)), 4);
    EXPECT_EQ_STR(dync_as_str(dync_at(dync_at(list, 2), 1)), "x");
    EXPECT_OK(dync_error());
}

TEST(makers_and_operators)
{
    const float data[3] = {1, 2, 3};
    dync_tensor *x = dync_from(data, dync_shape(3));
    dync_tensor *y = dync_sub(10.0, dync_mul(x, x));
    EXPECT_NEAR(at(y, 0), 9, 0);
    EXPECT_NEAR(at(y, 2), 1, 0);
    EXPECT_NEAR(dync_item(dync_sum(dync_full(dync_shape(2, 3), 0.5), DYNC_ALL, false)), 3, 0);
    EXPECT_EQ_INT(dync_ndim(dync_zeros(DYNC_SCALAR)), 0);
    EXPECT_NEAR(at((dync_relu)(dync_neg(x)), 1), 0, 0);
    EXPECT_OK(dync_error());
}

TEST(options_as_a_struct)
{
    dync_make options = dync_make();
    options.shape = dync_shape(2, 2);
    options.dtype = DYNC_F64;
    dync_tensor *x = dync_ones_opt(options);
    EXPECT_EQ_INT(dync_type(x), DYNC_F64);
    EXPECT_EQ_INT(dync_numel(x), 4);
    EXPECT_OK(dync_error());
}

#if DYNC__DESIGNATORS
TEST(options_by_name)
{
    const double data[2] = {1, 2};
    dync_tensor *x = dync_from(data, dync_shape(2), .dtype = DYNC_F64, .requires_grad = true);
    EXPECT_EQ_INT(dync_type(x), DYNC_F64);
    EXPECT(dync_requires_grad(x));
    EXPECT_EQ_INT(dync_type(dync_zeros(dync_shape(1), .dtype = DYNC_I64)), DYNC_I64);
    EXPECT_EQ_INT(dync_type(dync_full(dync_shape(1), 3, .dtype = DYNC_I32)), DYNC_I32);
    dync_compiled *f = dync_compile(twice_plus, .args = "a, b", .backend = "eager");
    EXPECT_NEAR(at(dync_call(f, dync_ones(dync_shape(2)), dync_ones(dync_shape(2))), 0), 3, 0);
    dync_compiled_free(f);
    EXPECT_OK(dync_error());
}
#endif

TEST(compiled_functions)
{
    dync_tensor *a = dync_ones(dync_shape(4)), *b = dync_full(dync_shape(4), 0.5);
    dync_compiled *f = dync_compile(twice_plus), *g = dync_compile(general);
    for (int i = 0; i < 3; i++) DYNC_SCOPE {
        EXPECT_NEAR(at(dync_call(f, a, b), 3), 2.5, 0);
    }
    EXPECT_NEAR(at(dync_call(g, a, 2), 0), 3, 0);
    dync_explain_output e = dync_explain(twice_plus, a, b);
    EXPECT_EQ_INT(e.graph_count, 1);
    EXPECT_EQ_INT(e.graph_break_count, 0);
    dync_compiled_free(f);
    dync_compiled_free(g);
    EXPECT_OK(dync_error());
}

TEST(gradients)
{
    dync_tensor *w = dync_parameter(dync_full(dync_shape(3), 2.0));
    dync_backward(dync_sum(dync_mul(w, w), DYNC_ALL, false));
    EXPECT_NEAR(at(dync_grad(w), 1), 4, 0);
    DYNC_NO_GRAD {
        dync_add_(w, dync_mul(dync_grad(w), -0.25));
    }
    EXPECT_NEAR(at(w, 0), 1, 0);
    EXPECT(dync_is_grad_enabled());
    EXPECT_OK(dync_error());
}

TEST(modules)
{
    dync_module *net = dync_sequential(dync_nn_linear(4, 3, true), dync_nn_relu());
    dync_tensor *y = dync_forward_call(net, dync_ones(dync_shape(2, 4)));
    EXPECT_EQ_INT(dync_size(y, 1), 3);
    dync_module_free(net);
    EXPECT_OK(dync_error());
}

static void quiet(dync_status, const char *, void *user) { ++*static_cast<int *>(user); }
TEST(errors_and_scopes_left_early)
{
    int calls = 0;
    dync_on_error(quiet, &calls);
    for (int i = 0; i < 3; i++) DYNC_SCOPE {
        dync_add(dync_ones(dync_shape(2)), dync_ones(dync_shape(3)));
        break;
    }
    EXPECT_STATUS(dync_error(), DYNC_ERR_SHAPE);
    EXPECT_HAS_STR(dync_error_message(), "test_cxx.cpp");
    EXPECT_EQ_INT(calls, 1);
    dync_clear_error();
    EXPECT_OK(dync_error());
    dync_on_error(nullptr, nullptr);
}

static dync_tensor *doubled_once(dync_tensor *x) { return dync_mul(x, 2); }
static dync_tensor *throws_always(dync_tensor *x)
{
    if (dync_mul(x, 3)) throw 8;
    return x;
}
static dync_tensor *throws(dync_tensor *x)
{
    dync_tensor *y = dync_mul(x, 3);
    if (dync_is_compiling()) throw 7;
    return y;
}
/* where the trace stood on the stack */
static char *volatile reserved;
#if defined(__GNUC__)
__attribute__((noinline))
#endif
static dync_tensor *
doubled_deeper(dync_tensor *x)
{
    char room[8192];
    reserved = room;
    dync_tensor *y = dync_mul(x, 2);
    reserved = nullptr;
    return y;
}
static dync_tensor *catches(dync_tensor *x)
{
    dync_tensor *y = dync_mul(x, 3);
    try {
        return dync_frame(throws, y);
    } catch (int) {
        return dync_add(y, 1);
    }
}
TEST(an_exception_caught_inside)
{
    dync_tensor *x = dync_ones(dync_shape(2));
    dync_compiled *f = dync_compile(catches);
    for (int i = 0; i < 3; i++) EXPECT_NEAR(at(dync_call(f, x), 0), 4, 0);
    EXPECT(!dync_is_compiling());
    EXPECT_OK(dync_error());
    int caught = 0;
    try {
        (void)dync_make_graph(throws_always, x);
    } catch (int thrown) {
        caught = thrown;
    }
    EXPECT_EQ_INT(caught, 8);
    EXPECT_NEAR(at(doubled_deeper(x), 0), 2, 0);
    EXPECT(dync_make_graph(doubled_once, x) != nullptr);
    EXPECT_OK(dync_error());
    dync_compiled_free(f);
}
TEST(an_exception_leaves_no_trace)
{
    dync_tensor *x = dync_ones(dync_shape(2));
    dync_compiled *f = dync_compile(throws), *g = dync_compile(doubled_once);
    for (int i = 0; i < 2; i++) {
        int caught = 0;
        try {
            (void)dync_call(f, x);
        } catch (int thrown) {
            caught = thrown;
        }
        EXPECT_EQ_INT(caught, 7);
        if (i == 1) EXPECT_NEAR(at(doubled_deeper(x), 0), 2, 0);
        EXPECT_NEAR(at(dync_call(g, x), 0), 2, 0);
        EXPECT(!dync_is_compiling());
    }
    EXPECT_OK(dync_error());
    dync_compiled_free(f);
    dync_compiled_free(g);
}
TEST(arrays_of_other_elements)
{
    const int64_t longs[2] = {1, 2};
    float floats[2] = {3, 4};
    const void *memory = floats;
    dync_on_error([](dync_status, const char *, void *) {}, nullptr);
    EXPECT(dync_from(longs, dync_shape(2)) == nullptr);
    EXPECT_STATUS(dync_error(), DYNC_ERR_DTYPE);
    dync_clear_error();
    EXPECT_NEAR(at(dync_from(floats, dync_shape(2)), 1), 4, 0);
    EXPECT_NEAR(at(dync_from(floats + 1, dync_shape(1)), 0), 4, 0);
    EXPECT_NEAR(at(dync_from(memory, dync_shape(2)), 0), 3, 0);
    EXPECT(dync_from(nullptr, dync_shape(0)) != nullptr);
    EXPECT_OK(dync_error());
}
TEST_MAIN
