/* On the board: 100 images through both programs. Exit status 0: each gives the class that it gave
 * on the host. Instructions by the system timer: QEMU's -icount shift=0 runs one a nanosecond, the
 * timer ticks every 40 of them. */
#include "board.h"
#include <stdint.h>
#include "digits.h"
#include "digits_images.h"
#include "digits_int8.h"

enum { PIXELS = 64, TESTED = 100, CLASSES = 10, PER_TICK = 40 };
static volatile uint32_t *const systick = (volatile uint32_t *)0xe000e010;
static float image[1][PIXELS], out[1][CLASSES];

static int class_of(void)
{
    int best = 0;
    for (int i = 1; i < CLASSES; i++)
        if (out[0][i] > out[0][best]) best = i;
    return best;
}

static void print(const char *before, long long n)
{
    char text[24];
    int at = sizeof text;
    text[--at] = 0;
    do text[--at] = (char)('0' + n % 10);
    while (n /= 10);
    board_print(before);
    board_print(text + at);
}

/* Runs all images through one program; the images of another class than on the host. */
static int run_all(int whole, int arena)
{
    int same = 0, right = 0;
    long long ticks = 0;
    for (int i = 0; i < TESTED; i++) {
        for (int p = 0; p < PIXELS; p++) image[0][p] = (float)tested[i][p] / 16;
        systick[1] = 0xffffff;
        systick[2] = 0;
        systick[0] = 5;
        uint32_t from = systick[2];
        if (whole)
            digits_int8_run((const void *)image, (void *)out);
        else
            digits_run((const void *)image, (void *)out);
        ticks += (long long)((from - systick[2]) & 0xffffff);
        same += class_of() == tested[i][PIXELS + 1 + whole];
        right += class_of() == tested[i][PIXELS];
    }
    board_print(whole ? "digits int8:" : "digits f32:");
    print(" as on the host ", same);
    print(", right ", right);
    print(" of ", TESTED);
    print(", instructions an image ", ticks * PER_TICK / TESTED);
    print(", arena bytes ", arena);
    board_print("\n");
    return TESTED - same;
}

int main(void)
{
    int bad = run_all(0, DIGITS_ARENA_BYTES) + run_all(1, DIGITS_INT8_ARENA_BYTES);
    return bad != 0;
}
