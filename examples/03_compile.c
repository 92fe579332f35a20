/* cc -O2 -I.. 03_compile.c -lm -pthread -o 03_compile
 *
 * Lesson 3: compiling a C function. It runs once on tensors without data, which records a graph;
 * the graph becomes fused kernels. Later calls do not run the C function at all: guards are
 * checked, the kernels run. */
#define DYNC_IMPLEMENTATION
#include "dync.h"

static int traced;

static dync_tensor *gelu_gate(dync_tensor *x, dync_tensor *gate)
{
    traced++; /* a side effect of the C code: seen while tracing only */
    dync_tensor *inner = dync_mul(0.7978845608, dync_add(x, dync_mul(0.044715, dync_pow(x, 3))));
    dync_tensor *gelu = dync_mul(dync_mul(0.5, x), dync_add(1, dync_tanh(inner)));
    return dync_mul(gelu, dync_sigmoid(gate));
}

int main(void)
{
    dync_manual_seed(1);
    dync_tensor *x = dync_randn(dync_shape(64, 64)), *gate = dync_randn(dync_shape(64, 64));
    dync_compiled *fast = dync_compile(gelu_gate, .args = "x, gate");
    if (!fast) return dync_error();

    dync_tensor *want = gelu_gate(x, gate);
    traced = 0;
    dync_tensor *got = dync_call(fast, x, gate); /* traced and compiled here */
    printf("compiled equals eager: %d\n", dync_allclose(want, got, 1e-5, 1e-6));

    for (int i = 0; i < 1000; i++) DYNC_SCOPE {
        dync_call(fast, x, gate);
    }
    printf("1001 calls ran the C function %d time\n", traced);

    /* Another shape is another entry: one more trace. */
    dync_tensor *small = dync_randn(dync_shape(8));
    dync_call(fast, small, small);
    printf("after a second shape: %d times\n", traced);

    /* Gradients flow through compiled code: forward and backward are compiled together. */
    dync_tensor *p = dync_randn(dync_shape(64, 64), .requires_grad = true);
    if (dync_backward(dync_sum(gelu_gate(p, gate), DYNC_ALL, false)) != DYNC_OK)
        return dync_error();
    dync_tensor *eager_grad = dync_clone(dync_grad(p));
    dync_set_grad(p, NULL);
    if (dync_backward(dync_sum(dync_call(fast, p, gate), DYNC_ALL, false)) != DYNC_OK)
        return dync_error();
    printf("gradients agree: %d\n", dync_allclose(eager_grad, dync_grad(p), 1e-4, 1e-5));

    dync_compiled_free(fast);
    dync_shutdown();
    return dync_error();
}
