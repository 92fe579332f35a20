/* 32 -> 64 -> 32 -> 10 with relu between. */
#include "peers.h"
#include "layers.h"

static float a[64], b[32];
const int peer_ram = sizeof a + sizeof b;

void peer_run(const float *in, float *out)
{
    const float *const *w = data_weight;
    linear(in, 32, w[0], w[1], a, 64, 1);
    linear(a, 64, w[2], w[3], b, 32, 1);
    linear(b, 32, w[4], w[5], out, 10, 0);
}
