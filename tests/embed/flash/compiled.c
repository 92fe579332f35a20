/* A small network compiled and called, as one graph. */
#include "dync.h"
static _Alignas(64) unsigned char memory[512 << 10];
static dync_tensor *w, *b;
static dync_tensor *layer(dync_tensor *x) { return dync_relu(dync_linear(x, w, b)); }

int main(void)
{
    const float wv[6] = {1, -1, 0.5f, 2, 0, 1}, bv[2] = {0.5f, -4}, xv[3] = {2, 1, 4};
    dync_init_options options = {.memory = memory, .memory_size = sizeof memory};
    if (dync_init(options) != DYNC_OK) return 1;
    w = dync_from(wv, dync_shape(2, 3)), b = dync_from(bv, dync_shape(2));
    dync_tensor *x = dync_from(xv, dync_shape(1, 3));
    dync_compiled *f = dync_compile(layer, .fullgraph = true);
    for (int i = 0; i < 3; i++) {
        const float *y = dync_data(dync_call(f, x));
        if (!y || y[0] != 3.5f || y[1] != 4) return 2;
    }
    return dync_error();
}
