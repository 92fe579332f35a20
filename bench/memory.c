/* bench/memory.c: loops that wait for memory, beside the same loops with prefetches and
 * non-temporal stores written by hand (hand_stream.c): GB/s that pass, of each the best of 15
 * samples in turn, one thread, and dync's share of the other. Arrays of 4 and 16 MB may lie in a
 * cache, those of 64 MB do not.
 *
 *   make bench   or build/bench/memory [text] */
#define DYNC_IMPLEMENTATION
#include "dync.h"
#include "hand.h"
#include "timing.h"

enum { ROW = 1024 };
static dync_compiled *compiled;
static dync_tensor *in[2];
static float *raw[2], *out;
static size_t count;

static dync_tensor *fn_scale(dync_tensor *x) { return dync_mul(x, 2); }
static dync_tensor *fn_add(dync_tensor *a, dync_tensor *b) { return dync_add(a, b); }
static dync_tensor *fn_sum(dync_tensor *x) { return dync_sum(x, DYNC_ALL, false); }
static dync_tensor *fn_columns(dync_tensor *x) { return dync_sum(x, dync_shape(0), false); }

static void run_one(void)
{
    DYNC_SCOPE {
        dync_call(compiled, in[0]);
    }
}
static void run_two(void)
{
    DYNC_SCOPE {
        dync_call(compiled, in[0], in[1]);
    }
}
static void hand_scale(void) { hand_stream_scale(raw[0], out, count); }
static void hand_two(void) { hand_stream_add(raw[0], raw[1], out, count); }
static void hand_all(void) { hand_stream_sum(raw[0], out, count); }
static void hand_columns(void) { hand_stream_columns(raw[0], out, count / ROW, ROW); }

/* arrays: how many of the size pass */
static const struct {
    const char *name;
    int arrays;
    void (*run)(void), (*hand)(void);
} cases[] = {{"2 * x", 2, run_one, hand_scale},
             {"a + b", 3, run_two, hand_two},
             {"sum", 1, run_one, hand_all},
             {"sum along 0", 1, run_one, hand_columns}};

static void measure(int i, size_t n)
{
    double own[SAMPLES], hand[SAMPLES];
    char text[2][32];
    count = n;
    DYNC_SCOPE {
        for (int k = 0; k < 2; k++) {
            in[k] = dync_randn(dync_shape((int64_t)n / ROW, ROW));
            raw[k] = dync_data(in[k]);
        }
        compiled = i == 0   ? dync_compile(fn_scale, .args = "x")
                   : i == 1 ? dync_compile(fn_add, .args = "a, b")
                   : i == 2 ? dync_compile(fn_sum, .args = "x")
                            : dync_compile(fn_columns, .args = "x");
        cases[i].run();
        long n_own = repeats_for(cases[i].run), n_hand = repeats_for(cases[i].hand);
        for (int s = 0; s < SAMPLES; s++) {
            own[s] = time_of(cases[i].run, n_own);
            hand[s] = time_of(cases[i].hand, n_hand);
        }
    }
    double a = summary(own, SAMPLES).low, b = summary(hand, SAMPLES).low,
           bytes = (double)cases[i].arrays * (double)n * 4;
    printf("%-12s %3zu MB  %9s %6.1f GB/s  by hand %9s %6.1f GB/s  %.2f  (goal 0.9)\n",
           cases[i].name, n >> 18, show_ns(a, text[0], sizeof text[0]), bytes / a,
           show_ns(b, text[1], sizeof text[1]), bytes / b, b / a);
    dync_compiled_free(compiled);
}

int main(int argc, char **argv)
{
    static const size_t sizes[] = {1 << 20, 1 << 22, 1 << 24};
    dync_init((dync_init_options){.threads = 1, .seed = 1});
    out = malloc((size_t)4 << 24);
    for (int i = 0; i < 4 && out; i++)
        for (int s = 0; s < 3; s++)
            if (argc < 2 || strstr(cases[i].name, argv[1])) measure(i, sizes[s]);
    free(out);
    if (dync_error() != DYNC_OK) printf("failed: %s\n", dync_error_message());
    dync_shutdown();
    return 0;
}
