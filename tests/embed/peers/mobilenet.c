/* MobileNet of width 0.25 for 96x96: a convolution of 3x3, then 13 times a depthwise one of 3x3 and
 * one of 1x1, all with bias and relu; means of each channel; linear. */
#include "peers.h"
#include "layers.h"

static float a[16 * 48 * 48], b[8 * 48 * 48];
const int peer_ram = sizeof a + sizeof b;

/* Each output channel from `channels` input channels; depthwise: from its own. */
static void conv3(const float *x, int channels, int size, int stride, const float *w,
                  const float *bias, float *y, int m, int depthwise)
{
    int out = (size - 1) / stride + 1;
    for (int o = 0; o < m; o++, w += channels * 9) {
        for (int i = 0; i < out; i++)
            for (int j = 0; j < out; j++)
                *y++ = relu_of(window3(x, channels, size, size, w, i * stride - 1, j * stride - 1) +
                               bias[o]);
        if (depthwise) x += size * size;
    }
}

void peer_run(const float *in, float *out)
{
    static const struct {
        int from, to, stride;
    } blocks[13] = {{8, 16, 1},    {16, 32, 2},   {32, 32, 1},   {32, 64, 2},   {64, 64, 1},
                    {64, 128, 2},  {128, 128, 1}, {128, 128, 1}, {128, 128, 1}, {128, 128, 1},
                    {128, 128, 1}, {128, 256, 2}, {256, 256, 1}};
    const float *const *w = data_weight;
    int size = 48;
    conv3(in, 3, 96, 2, w[0], w[1], a, 8, 0);
    for (int k = 0; k < 13; k++) {
        w += k ? 4 : 2;
        conv3(a, 1, size, blocks[k].stride, w[0], w[1], b, blocks[k].from, 1);
        size = (size - 1) / blocks[k].stride + 1;
        pointwise(b, blocks[k].from, size * size, w[2], w[3], a, blocks[k].to);
    }
    w += 4;
    for (int c = 0; c < 256; c++) {
        float s = 0;
        for (int i = 0; i < 9; i++) s += a[9 * c + i];
        b[c] = s / 9;
    }
    linear(b, 256, w[0], w[1], out, 10, 0);
}
