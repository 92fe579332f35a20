/* cc -O2 -I.. 11_save_load.c -lm -pthread -o 11_save_load
 *
 * Lesson 11: three ways to keep work. The state of a module (safetensors, which PyTorch reads too);
 * a module whole; and a program: the graph of a function with its weights, which runs without the C
 * function that made it. */
#define DYNC_IMPLEMENTATION
#include "dync.h"

static dync_module *make_net(void)
{
    return dync_sequential(dync_nn_linear(4, 8, true), dync_nn_relu(), dync_nn_linear(8, 2, true));
}

static dync_module *net;
static dync_tensor *predict(dync_tensor *x) { return dync_softmax(dync_forward_call(net, x), -1); }

int main(void)
{
    dync_manual_seed(11);
    net = make_net();
    dync_tensor *x = dync_randn(dync_shape(3, 4)), *want = predict(x);
    if (!want) return dync_error();

    /* 1. The state: names, shapes, numbers. */
    dync_module *second = make_net();
    if (dync_module_save(net, "11_net.safetensors") != DYNC_OK) return dync_error();
    printf("before loading: equal %d\n",
           dync_equal(dync_forward_call(net, x), dync_forward_call(second, x)));
    if (dync_module_load(second, "11_net.safetensors") != DYNC_OK) return dync_error();
    printf("after loading:  equal %d\n",
           dync_equal(dync_forward_call(net, x), dync_forward_call(second, x)));

    /* 2. The module whole: the file knows its structure. */
    dync_module *third = dync_module_open("11_net.safetensors");
    printf("opened whole:   equal %d\n",
           dync_equal(dync_forward_call(net, x), dync_forward_call(third, x)));

    /* 3. A program: the function itself. */
    dync_program *p = dync_export(predict, x);
    if (!p || dync_program_save(p, "11_net.dync") != DYNC_OK) return dync_error();
    dync_program_free(p);
    p = dync_program_load("11_net.dync");
    dync_value v = DYNC_V(x);
    dync_tensor *got = dync_as_tensor(dync_program_run(p, 1, &v));
    printf("program:        close %d\n", dync_allclose(want, got, 1e-6, 1e-7));

    dync_program_free(p);
    dync_module_free(net);
    dync_module_free(second);
    dync_module_free(third);
    remove("11_net.safetensors");
    remove("11_net.dync");
    dync_shutdown();
    return dync_error();
}
