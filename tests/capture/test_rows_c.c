/* Rows C of the conformance list: compiled modules, callbacks. */
#include "counter.h"

static dync_tensor *toy_forward(dync_module *self, dync_tensor *x)
{
    return dync_forward_call(dync_module_child(self, "relu"),
                             dync_forward_call(dync_module_child(self, "linear"), x));
}
static dync_module *toy(void)
{
    dync_module *m = dync_module_new("ToyModel", toy_forward, NULL);
    dync_module_add(m, "linear", dync_nn_linear(10, 10, true));
    dync_module_add(m, "relu", dync_nn_relu());
    return m;
}
static dync_value toy_values(dync_module *self, const dync_value *args, int n)
{
    (void)n;
    return DYNC_V(toy_forward(self, dync_as_tensor(args[0])));
}
/* The model compiled in place, which has run: its frames, and relu(x @ weight.T + bias). */
static dync_tensor *compiled_and_run(dync_module *m, counter *c, dync_backend *b, dync_tensor *x)
{
    *c = (counter){.inner = "inductor"};
    *b = COUNTER(*c);
    dync_module_compile(m, .backend_object = b);
    dync_tensor *y = dync_forward_call(m, x);
    EXPECT_EQ_INT(c->frame_count, 1);
    EXPECT_EQ_INT(c->op_count, 2);
    dync_tensor *w = dync_module_param(m, "linear.weight"),
                *bias = dync_module_param(m, "linear.bias");
    EXPECT(same(dync_relu(dync_add(dync_matmul(x, dync_t(w)), bias)), y, 1e-5));
    return y;
}

TEST(C_01_compilation)
{
    counter c = {0};
    dync_backend b = COUNTER(c);
    dync_module *m = toy();
    dync_module_compile(m, .backend_object = &b);
    dync_reset();
    EXPECT(dync_forward_call(m, dync_randn(dync_shape(10, 10))) != NULL);
    EXPECT_EQ_INT(c.frame_count, 1);
    dync_module_free(m);
}
TEST(C_02_overwrite_call_impl)
{
    dync_module *m = toy();
    EXPECT(!dync_module_is_compiled(m));
    dync_module_compile(m);
    EXPECT(dync_module_is_compiled(m));
    dync_module_free(m);
}
TEST(C_03_save)
{
    counter c;
    dync_backend b;
    dync_reset();
    dync_module_register_class("ToyModel", toy_values);
    dync_module *m = toy();
    dync_tensor *x = dync_randn(dync_shape(1, 10)), *want = compiled_and_run(m, &c, &b, x);
    EXPECT_OK(dync_module_save(m, "build/test_c03.safetensors"));
    dync_module *l = dync_module_open("build/test_c03.safetensors");
    REQUIRE(l != NULL);
    EXPECT(!dync_module_is_compiled(l));
    EXPECT(same(want, dync_forward_call(l, x), 1e-5));
    EXPECT_EQ_INT(c.frame_count, 1);
    dync_module_free(l);
    dync_module_free(m);
}
TEST(C_04_state_dict_save)
{
    counter c;
    dync_backend b;
    dync_reset();
    dync_module *m = toy(), *l = toy();
    dync_tensor *x = dync_randn(dync_shape(1, 10)), *want = compiled_and_run(m, &c, &b, x);
    EXPECT_OK(dync_module_save(m, "build/test_c04.safetensors"));
    EXPECT_OK(dync_module_load(l, "build/test_c04.safetensors"));
    EXPECT(!dync_module_is_compiled(l));
    static const char *const names[] = {"linear.weight", "linear.bias"};
    for (int i = 0; i < 2; i++)
        EXPECT(dync_equal(dync_module_param(m, names[i]), dync_module_param(l, names[i])));
    dync_tensor *w = dync_module_param(l, "linear.weight"),
                *bias = dync_module_param(l, "linear.bias");
    EXPECT_EQ_INT(dync_ndim(w), 2);
    EXPECT_EQ_INT(dync_size(w, 0), 10);
    EXPECT_EQ_INT(dync_size(w, 1), 10);
    EXPECT_EQ_INT(dync_ndim(bias), 1);
    EXPECT_EQ_INT(dync_size(bias, 0), 10);
    EXPECT(same(want, dync_forward_call(l, x), 1e-5));
    dync_module_free(l);
    dync_module_free(m);
}
/* Exporting looks through the compiled call: the program needs neither it nor the module. */
TEST(C_05_program_save)
{
    counter c;
    dync_backend b;
    dync_reset();
    dync_module *m = toy();
    dync_tensor *x = dync_randn(dync_shape(1, 10)), *want = compiled_and_run(m, &c, &b, x);
    dync_program *p = dync_export(m, x);
    REQUIRE(p != NULL);
    EXPECT_EQ_INT(c.frame_count, 1);
    EXPECT(dync_module_is_compiled(m));
    EXPECT_OK(dync_program_save(p, "build/test_c05.dync"));
    dync_program_free(p);
    dync_module_free(m);
    dync_program *l = dync_program_load("build/test_c05.dync");
    REQUIRE(l != NULL);
    dync_value arg = DYNC_V(x);
    EXPECT(same(want, dync_as_tensor(dync_program_run(l, 1, &arg)), 1e-5));
    EXPECT_OK(dync_error());
    dync_program_free(l);
}

static char said[512];
static int counted;
static void started(void *u)
{
    (void)u;
    strcat(said, "Compilation started.\n");
}
static void ended(void *u)
{
    (void)u;
    strcat(said, "Compilation ended.\n");
}
static void count_it(void *u)
{
    (void)u;
    sprintf(said + strlen(said), "Counter = %d\n", ++counted);
}
static dync_tensor *with_break(dync_tensor *x)
{
    x = dync_add(x, 1);
    dync_graph_break("test");
    return dync_sin(x);
}

TEST(C_06_callback)
{
    dync_reset();
    dync_on_compile_start(started, NULL);
    dync_on_compile_end(ended, NULL);
    dync_module *m = toy();
    dync_compiled *f = dync_compile(m, .backend = "eager", .fullgraph = true);
    dync_tensor *x = dync_randn(dync_shape(10, 10));
    EXPECT_EQ_STR(said, "");
    EXPECT(same(dync_forward_call(m, x), dync_call(f, x), 0));
    EXPECT_EQ_STR(said, "Compilation started.\nCompilation ended.\n");
    dync_call(f, x);
    EXPECT_EQ_STR(said, "Compilation started.\nCompilation ended.\n");
    dync_compiled_free(f);
    dync_module_free(m);
}
TEST(C_07_callback_with_graph_break)
{
    dync_on_compile_start(started, NULL);
    dync_reset();
    dync_on_compile_start(count_it, NULL);
    dync_on_compile_end(count_it, NULL);
    dync_compiled *f = dync_compile(with_break, .backend = "eager");
    dync_tensor *x = dync_randn(dync_shape(10, 10));
    EXPECT(same(with_break(x), dync_call(f, x), 1e-6));
    EXPECT(same(with_break(x), dync_call(f, x), 1e-6));
    EXPECT_EQ_STR(said, "Counter = 1\nCounter = 2\nCounter = 3\nCounter = 4\n");
    dync_compiled_free(f);
}
/* C-08: upstream's functions, here one name each: the prototypes are compared where this is
 * compiled. What stands for a default argument is a constant of the header; a frame that is
 * switched off takes those inside with it. */
typedef void sig_reset(void);
typedef dync_callee sig_callee(dync_callee);
typedef int sig_list_backends(const char *exclude_tags, const char **names, int capacity);
#define SIGNATURE(name, public_fn, type)                        \
    _Static_assert(_Generic(&public_fn, type *: 1, default: 0), \
                   "Signatures do not match for function " name "()")
SIGNATURE("reset", dync_reset, sig_reset);
SIGNATURE("allow_in_graph", dync_allow_in_graph_callee, sig_callee);
SIGNATURE("list_backends", dync_list_backends, sig_list_backends);
SIGNATURE("assume_constant_result", dync_assume_constant_result_callee, sig_callee);
SIGNATURE("disable", dync_disable_callee, sig_callee);
static dync_tensor *inside(dync_tensor *x) { return dync_sin(x); }
static dync_tensor *outside(dync_tensor *x) { return dync_frame(inside, dync_frame(inside, x)); }
static dync_tensor *calls_outside(dync_tensor *x)
{
    return dync_frame(dync_disable(outside), dync_cos(x));
}
TEST(C_08_signatures)
{
    EXPECT_EQ_STR(DYNC_EXCLUDE_DEFAULT, "debug,experimental");
    EXPECT(_Generic(dync_disable(inside), dync_callee: 1, default: 0) &&
           _Generic(dync_allow_in_graph(inside), dync_callee: 1, default: 0));
    EXPECT(_Generic(dync_assume_constant_result(inside), dync_callee: 1, default: 0));
    counter c = {0};
    dync_backend b = COUNTER(c);
    dync_compiled *f = dync_compile(calls_outside, .backend_object = &b);
    dync_tensor *x = dync_randn(dync_shape(3));
    EXPECT(same(outside(dync_cos(x)), dync_call(f, x), 1e-6));
    EXPECT_EQ_INT(c.frame_count, 1);
    EXPECT_EQ_INT(c.op_count, 1);
    dync_compiled_free(f);
}
TEST_MAIN
