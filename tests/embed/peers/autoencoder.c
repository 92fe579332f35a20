/* 640 -> 128 -> 128 -> 8 -> 128 -> 128 -> 640 with relu between. */
#include "peers.h"
#include "layers.h"

static float a[128], b[128];
const int peer_ram = sizeof a + sizeof b;

void peer_run(const float *in, float *out)
{
    const float *const *w = data_weight;
    linear(in, 640, w[0], w[1], a, 128, 1);
    linear(a, 128, w[2], w[3], b, 128, 1);
    linear(b, 128, w[4], w[5], a, 8, 1);
    linear(a, 8, w[6], w[7], b, 128, 1);
    linear(b, 128, w[8], w[9], a, 128, 1);
    linear(a, 128, w[10], w[11], out, 640, 0);
}
