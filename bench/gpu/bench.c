/* bench/gpu/bench.c: dync on a GPU: eager, compiled, compiled and recorded. One line a case: microseconds a call, and what that is of bytes or
 * multiplications a second. bench/gpu/peer.py prints the same cases of PyTorch. `make gpu` runs both. */
#include "dync.h"
#include "dync_cuda.h"
#include <stdio.h>

static dync_tensor *pointwise(dync_tensor *x, dync_tensor *y) { return dync_mul(dync_gelu(x), dync_sigmoid(y)); }
static dync_tensor *total(dync_tensor *x, dync_tensor *y) { (void)y; return dync_sum(x, DYNC_ALL, false); }
static dync_tensor *softmax(dync_tensor *x, dync_tensor *y) { (void)y; return dync_softmax(x, 1); }
static dync_tensor *norm(dync_tensor *x, dync_tensor *y) { (void)y; return dync_layer_norm(x, dync_shape(dync_size(x, 1)), NULL, NULL, 1e-5); }
static dync_tensor *matmul(dync_tensor *x, dync_tensor *y) { return dync_matmul(x, y); }
static dync_tensor *ten(dync_tensor *x, dync_tensor *y)
{
    for (int i = 0; i < 5; i++) x = dync_softmax(dync_matmul(x, y), 1);
    return x;
}

static const struct { const char *name; dync_tensor *(*fn)(dync_tensor *, dync_tensor *); int64_t n; double bytes, flops; } cases[] = {
    {"gelu(x) * sigmoid(y), 4096 x 4096", pointwise, 4096, 3.0 * 4 * 4096 * 4096, 0}, {"sum, 4096 x 4096", total, 4096, 4.0 * 4096 * 4096, 0},
    {"softmax, 4096 x 4096", softmax, 4096, 8.0 * 4096 * 4096, 0},                      {"layer_norm, 4096 x 4096", norm, 4096, 8.0 * 4096 * 4096, 0},
    {"matmul f32, 1024", matmul, 1024, 0, 2.0 * 1024 * 1024 * 1024},                    {"ten kernels, 64 x 64", ten, 64, 0, 0}};

int main(void)
{
    if (dync_cuda_device_count() == 0) {
        printf("no GPU: %s\n", dync_cuda_reason());
        return 0;
    }
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++)
        for (int way = 0; way < 3; way++) {
            dync_compiled *f = way ? dync_compile(cases[c].fn, .args = "x, y", .backend = way == 1 ? "inductor" : "cudagraphs") : NULL;
            dync_tensor *x = dync_randn(dync_shape(cases[c].n, cases[c].n), .device = DYNC_CUDA), *y = dync_randn(dync_shape(cases[c].n, cases[c].n), .device = DYNC_CUDA);
            dync_cuda_event *a = dync_cuda_event_new(0), *b = dync_cuda_event_new(0);
            for (int i = -5; i < 50; i++) {
                if (i == 0) dync_cuda_event_record(a);
                DYNC_SCOPE { (void)(f ? dync_call(f, x, y) : cases[c].fn(x, y)); }
            }
            dync_cuda_event_record(b);
            dync_cuda_event_synchronize(b);
            double us = dync_cuda_event_ms(a, b) * 1e3 / 50;
            printf("%-36s %-10s %10.1f us", cases[c].name, way == 0 ? "eager" : way == 1 ? "inductor" : "cudagraphs", us);
            if (cases[c].bytes > 0) printf("  %8.0f GB/s", cases[c].bytes / us * 1e-3);
            if (cases[c].flops > 0) printf("  %8.2f TFLOP/s", cases[c].flops / us * 1e-6);
            printf("\n");
            dync_cuda_event_free(a);
            dync_cuda_event_free(b);
            dync_compiled_free(f);
        }
    dync_shutdown();
    return dync_error() != DYNC_OK;
}
