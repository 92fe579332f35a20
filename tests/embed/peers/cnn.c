/* 28x28 digits: twice convolution 3x3 of padding 1, relu, maxima of 2x2; then linear. */
#include "peers.h"
#include "layers.h"

static float a[8 * 14 * 14], b[16 * 7 * 7];
const int peer_ram = sizeof a + sizeof b;

/* y [m][size / 2][size / 2]; what is pooled is never stored */
static void layer(const float *x, int channels, int size, const float *w, const float *bias,
                  float *y, int m)
{
    for (int o = 0; o < m; o++, w += channels * 9)
        for (int i = 0; i < size; i += 2)
            for (int j = 0; j < size; j += 2) {
                float best = window3(x, channels, size, size, w, i - 1, j - 1);
                float e = window3(x, channels, size, size, w, i - 1, j);
                if (e > best) best = e;
                e = window3(x, channels, size, size, w, i, j - 1);
                if (e > best) best = e;
                e = window3(x, channels, size, size, w, i, j);
                if (e > best) best = e;
                *y++ = relu_of(best + bias[o]);
            }
}

void peer_run(const float *in, float *out)
{
    const float *const *w = data_weight;
    layer(in, 1, 28, w[0], w[1], a, 8);
    layer(a, 8, 14, w[2], w[3], b, 16);
    linear(b, 784, w[4], w[5], out, 10, 0);
}
