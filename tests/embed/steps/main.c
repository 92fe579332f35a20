/* Both networks of nets.c learn where a bar lies in a picture of 8x8: on a board (BOARD) as on the
 * host, which must print the same losses, by their bits. The exit status: did each learn? */
#include "cnn.h"
#include "mlp.h"
#include <string.h>
#ifdef BOARD
#include "board.h"
#else
#include <stdio.h>
static void board_print(const char *text) { fputs(text, stdout); }
#endif

/* The stack below this function, marked before the steps and measured behind them. */
enum { STACK = 4096 };
#ifdef BOARD
static volatile uint32_t *stack_top;
static void stack_mark(void)
{
    stack_top = (volatile uint32_t *)__builtin_frame_address(0) - 32;
    for (int i = 0; i < STACK; i++) stack_top[-i] = 0xa5a5a5a5u;
}
static int stack_used(void)
{
    int n = STACK;
    while (n > 0 && stack_top[1 - n] == 0xa5a5a5a5u) n--;
    return 4 * (n + 32);
}
#else
static void stack_mark(void) {}
static int stack_used(void) { return 0; }
#endif

static float x[8][64];
static int64_t label[8];
static uint32_t seed;

static uint32_t next(void) { return (seed = seed * 1664525u + 1013904223u) >> 16; }

/* Four kinds: a bar across or down, in the first or the second half; noise on all of it. */
static void batch(void)
{
    for (int n = 0; n < 8; n++) {
        label[n] = n % 4;
        int at = (int)(next() % 4) + (n % 2 ? 4 : 0);
        for (int i = 0; i < 64; i++)
            x[n][i] = (float)(next() % 64) / 128 +
                      ((n % 4 < 2 ? i / 8 : i % 8) == at ? 1.0f : 0.0f);
    }
}

/* "mlp 12: 3f6dde8d": no printf, which asks for an operating system */
static void show(const char *net, int step, float loss)
{
    char line[] = "xxx    : xxxxxxxx\n";
    uint32_t bits;
    memcpy(&bits, &loss, sizeof bits);
    memcpy(line, net, 3);
    for (int i = 6; i > 3 && step; i--, step /= 10) line[i] = (char)('0' + step % 10);
    for (int i = 16; i > 8; i--, bits >>= 4) line[i] = "0123456789abcdef"[bits & 15];
    board_print(line);
}

int main(void)
{
    float loss[1], first, last;
    int bad = 0;
    stack_mark();
    for (int net = 0; net < 2; net++) {
        seed = 7;
        first = last = 0;
        for (int i = 0; i < 120; i++) {
            batch();
            if (net)
                cnn_step((const float (*)[1][8][8])(const void *)x, label, loss);
            else
                mlp_step((const float (*)[64])x, label, loss);
            if (i < 8) first += loss[0];
            if (i >= 112) last += loss[0];
            if (i % 10 == 9) show(net ? "cnn" : "mlp", i + 1, loss[0]);
        }
        bad |= !(last < 0.3f * first);
    }
    char line[] = "stack:      bytes\n";
    for (int i = 10, n = stack_used(); n; i--, n /= 10) line[i] = (char)('0' + n % 10);
    if (stack_used()) board_print(line);
    return bad;
}
