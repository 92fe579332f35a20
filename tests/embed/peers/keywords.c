/* Keywords in 49 frames of 40 coefficients: a convolution of 5 frames, two of 3 with relu, the
 * second by steps of two; means over time; linear. */
#include "peers.h"
#include "layers.h"

static float a[32 * 49], b[32 * 25];
const int peer_ram = sizeof a + sizeof b;

/* x [channels][length] -> y [m][out], kernel `size`, padding size / 2. Four places at a time. */
static void conv1(const float *x, int channels, int length, const float *w, const float *bias,
                  float *y, int m, int size, int stride)
{
    int out = (length - 1) / stride + 1, pad = size / 2;
    for (int o = 0; o < m; o++, w += channels * size)
        for (int j = 0; j < out;) {
            const float *e = x + j * stride - pad, *f = w;
            if (j * stride >= pad && (j + 3) * stride - pad + size <= length) {
                float s0 = bias[o], s1 = s0, s2 = s0, s3 = s0;
                for (int c = 0; c < channels; c++, e += length)
                    for (int v = 0; v < size; v++) {
                        float g = *f++;
                        s0 += g * e[v];
                        s1 += g * e[v + stride];
                        s2 += g * e[v + 2 * stride];
                        s3 += g * e[v + 3 * stride];
                    }
                *y++ = relu_of(s0);
                *y++ = relu_of(s1);
                *y++ = relu_of(s2);
                *y++ = relu_of(s3);
                j += 4;
                continue;
            }
            int v0 = j * stride < pad ? pad - j * stride : 0;
            int v1 = j * stride - pad + size > length ? length - j * stride + pad : size;
            float s = bias[o];
            for (int c = 0; c < channels; c++, e += length, f += size)
                for (int v = v0; v < v1; v++) s += f[v] * e[v];
            *y++ = relu_of(s);
            j++;
        }
}

void peer_run(const float *in, float *out)
{
    const float *const *w = data_weight;
    conv1(in, 40, 49, w[0], w[1], a, 32, 5, 1);
    conv1(a, 32, 49, w[2], w[3], b, 32, 3, 2);
    conv1(b, 32, 25, w[4], w[5], a, 32, 3, 1);
    for (int c = 0; c < 32; c++) {
        float s = 0;
        for (int i = 0; i < 25; i++) s += a[25 * c + i];
        b[c] = s / 25;
    }
    linear(b, 32, w[6], w[7], out, 12, 0);
}
