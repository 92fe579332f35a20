/* A GRU of 16 inputs and 32 states over 20 steps, then linear on the last state. */
#include "peers.h"
#include "layers.h"
#include <math.h>

static float h[32], x_gates[96], h_gates[96];
const int peer_ram = sizeof h + sizeof x_gates + sizeof h_gates;

static float sigmoid_of(float x) { return 1 / (1 + expf(-x)); }

void peer_run(const float *in, float *out)
{
    const float *const *w = data_weight;
    for (int i = 0; i < 32; i++) h[i] = 0;
    for (int t = 0; t < 20; t++) {
        linear(in + 16 * t, 16, w[0], w[2], x_gates, 96, 0);
        linear(h, 32, w[1], w[3], h_gates, 96, 0);
        for (int i = 0; i < 32; i++) {
            float r = sigmoid_of(x_gates[i] + h_gates[i]);
            float z = sigmoid_of(x_gates[32 + i] + h_gates[32 + i]);
            float n = tanhf(x_gates[64 + i] + r * h_gates[64 + i]);
            h[i] = n + z * (h[i] - n);
        }
    }
    linear(h, 32, w[4], w[5], out, 4, 0);
}
