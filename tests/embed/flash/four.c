/* Four eager operators on tensors of two dims, read back by dync_data. */
#include "dync.h"
static _Alignas(64) unsigned char memory[64 << 10];
float result[4];

int main(void)
{
    const float av[4] = {1, -1, 3, 0}, bv[4] = {-4, 2, -8, 1};
    dync_init_options options = {.memory = memory, .memory_size = sizeof memory};
    if (dync_init(options) != DYNC_OK) return 1;
    dync_tensor *a = dync_from(av, dync_shape(2, 2)), *b = dync_from(bv, dync_shape(2, 2));
    const float *got = dync_data(dync_matmul(dync_relu(dync_mul(dync_add(a, b), b)), b));
    for (int i = 0; got && i < 4; i++) result[i] = got[i];
    return !got || result[0] != -64 || result[1] != 26 || result[2] != -168 || result[3] != 81;
}
