/* Both forms of one network on the board: same result, instructions by the system timer. QEMU's
 * -icount shift=0 runs an instruction a nanosecond; the timer ticks at 25 MHz, every 40 of them.
 * NET_H: the exported header; RUN(in, out), ARENA: its function and memory. */
#include "../cortex_m4/board.h"
#include "peers.h"
#include <math.h>
#include <stdint.h>
#include NET_H

enum { PER_TICK = 40, MOST_OUT = 1024 };
static volatile uint32_t *const systick = (volatile uint32_t *)0xe000e010;
static float got[2][MOST_OUT];

static long long count(void (*run)(const float *, float *), float *out)
{
    systick[1] = 0xffffff;
    systick[2] = 0;
    systick[0] = 5; /* the processor's clock, no interrupt */
    uint32_t from = systick[2];
    run(data_in, out);
    return (long long)((from - systick[2]) & 0xffffff) * PER_TICK;
}

static void exported(const float *in, float *out) { RUN((const void *)in, (void *)out); }

static void print(long long n)
{
    char text[24];
    int at = sizeof text;
    text[--at] = 0;
    text[--at] = ' ';
    do text[--at] = (char)('0' + n % 10);
    while (n /= 10);
    board_print(text + at);
}

int main(void)
{
    long long by_hand = count(peer_run, got[0]), by_dync = count(exported, got[1]);
    int bad = 0;
    for (int i = 0; i < data_n_out; i++)
        for (int k = 0; k < 2; k++) {
            float off = fabsf(got[k][i] - data_out[i]);
            bad += !(off <= 1e-4f + 1e-3f * fabsf(data_out[i]));
        }
    const long long figures[] = {by_hand, by_dync, peer_ram, ARENA, bad};
    for (int i = 0; i < 5; i++) print(figures[i]);
    return bad != 0;
}
