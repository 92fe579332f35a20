/* `make same-code`: with DYNC_LOG=code this prints the machine code of a few kernels. The Makefile
 * compares what an unoptimised and an optimised build of dync print: JITed code runs at full speed
 * in both. */
#define DYNC_IMPLEMENTATION
#include "dync.h"

static dync_tensor *chain(dync_tensor *a, dync_tensor *b)
{
    return dync_mul(dync_gelu_tanh(a), dync_sigmoid(b));
}
static dync_tensor *rows(dync_tensor *a, dync_tensor *b)
{
    return dync_add(dync_softmax(a, 1), dync_layer_norm(b, dync_shape(40), NULL, NULL, 1e-5));
}
static dync_tensor *columns(dync_tensor *a, dync_tensor *b)
{
    return dync_add(dync_sum(a, dync_shape(0), false), dync_argmax(b, 0, false));
}

int main(void)
{
    dync_init((dync_init_options){.threads = 1});
    DYNC_SCOPE {
        dync_tensor *a = dync_ones(dync_shape(30, 40)), *b = dync_ones(dync_shape(30, 40));
        dync_compiled *f[] = {dync_compile(chain), dync_compile(rows), dync_compile(columns)};
        for (int i = 0; i < 3; i++) {
            dync_call(f[i], a, b);
            dync_compiled_free(f[i]);
        }
    }
    int failed = dync_error() != DYNC_OK;
    dync_shutdown();
    return failed;
}
