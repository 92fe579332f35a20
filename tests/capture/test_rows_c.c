/* Rows C of the conformance list: compiled modules, callbacks. */
#include "counter.h"

static dync_tensor *toy_forward(dync_module *self, dync_tensor *x)
{
    return dync_relu(dync_forward_call(dync_module_child(self, "linear"), x));
}
static dync_module *toy(void)
{
    dync_module *m = dync_module_new("ToyModel", toy_forward, NULL);
    dync_module_add(m, "linear", dync_nn_linear(10, 10, true));
    return m;
}
static dync_value toy_values(dync_module *self, const dync_value *args, int n)
{
    (void)n;
    return DYNC_V(toy_forward(self, dync_as_tensor(args[0])));
}

TEST(C_01_compilation)
{
    counter c = {0};
    dync_backend b = COUNTER(c);
    dync_module *m = toy();
    dync_module_compile(m, .backend_object = &b);
    dync_forward_call(m, dync_randn(dync_shape(10, 10)));
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
    dync_module_register_class("ToyModel", toy_values);
    dync_module *m = toy();
    dync_module_compile(m);
    dync_tensor *x = dync_randn(dync_shape(1, 10)), *want = dync_forward_call(m, x);
    EXPECT_OK(dync_module_save(m, "build/test_c03.safetensors"));
    dync_module *l = dync_module_open("build/test_c03.safetensors");
    EXPECT(l != NULL);
    EXPECT(!dync_module_is_compiled(l));
    EXPECT(same(want, dync_forward_call(l, x), 1e-6));
    dync_module_free(l);
    dync_module_free(m);
}
TEST(C_04_state_dict_save)
{
    dync_module *m = toy(), *l = toy();
    dync_tensor *x = dync_randn(dync_shape(1, 10));
    dync_module_compile(m);
    EXPECT_OK(dync_module_save(m, "build/test_c04.safetensors"));
    EXPECT_OK(dync_module_load(l, "build/test_c04.safetensors"));
    dync_tensor *w = dync_module_param(l, "linear.weight"), *b = dync_module_param(l, "linear.bias");
    EXPECT_EQ_INT(dync_size(w, 0), 10);
    EXPECT_EQ_INT(dync_size(w, 1), 10);
    EXPECT_EQ_INT(dync_size(b, 0), 10);
    EXPECT(same(dync_forward_call(m, x), dync_forward_call(l, x), 1e-6));
    dync_module_free(l);
    dync_module_free(m);
}
TEST(C_05_program_save)
{
    dync_module *m = toy();
    dync_tensor *x = dync_randn(dync_shape(1, 10));
    dync_program *p = dync_export(m, x);
    EXPECT(p != NULL);
    EXPECT_OK(dync_program_save(p, "build/test_c05.dync"));
    dync_tensor *want = dync_forward_call(m, x);
    dync_program_free(p);
    dync_module_free(m);
    dync_program *l = dync_program_load("build/test_c05.dync");
    EXPECT(l != NULL);
    EXPECT(same(want, dync_as_tensor(dync_program_run(l, 1, (dync_value[]){DYNC_V(x)})), 1e-6));
    dync_program_free(l);
}

static char said[512];
static int counted;
static void started(void *u) { (void)u; strcat(said, "Compilation started.\n"); }
static void ended(void *u) { (void)u; strcat(said, "Compilation ended.\n"); }
static void count_it(void *u) { (void)u; sprintf(said + strlen(said), "Counter = %d\n", ++counted); }
static dync_tensor *one_op(dync_tensor *x) { return dync_sin(x); }
static dync_tensor *with_break(dync_tensor *x) { x = dync_add(x, 1); dync_graph_break("test"); return dync_sin(x); }

TEST(C_06_callback)
{
    dync_reset();
    dync_on_compile_start(started, NULL);
    dync_on_compile_end(ended, NULL);
    dync_compiled *f = dync_compile(one_op, .backend = "eager", .fullgraph = true);
    dync_tensor *x = dync_randn(dync_shape(10, 10));
    dync_call(f, x);
    dync_call(f, x);
    EXPECT_EQ_STR(said, "Compilation started.\nCompilation ended.\n");
    dync_compiled_free(f);
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
/* C-08: the prototypes, pinned at compile time. */
TEST(C_08_signatures)
{
    EXPECT(_Generic(&dync_reset, void (*)(void): 1, default: 0));
    EXPECT(_Generic(&dync_allow_in_graph_callee, dync_callee (*)(dync_callee): 1, default: 0));
    EXPECT(_Generic(&dync_list_backends, int (*)(const char *, const char **, int): 1, default: 0));
    EXPECT(_Generic(&dync_assume_constant_result_callee, dync_callee (*)(dync_callee): 1, default: 0));
    EXPECT(_Generic(&dync_disable_callee, dync_callee (*)(dync_callee): 1, default: 0));
}
TEST_MAIN
