/* bench/sizes.c: what a size costs that was never met, and many lengths in turn. Every function is
 * compiled with .dynamic = DYNC_DYNAMIC_ON. Microseconds of processor time, one
 * thread; numbers only:
 *
 *   new      first call of each of 149 sizes less the fastest of three more: median, 90%
 *   seen     the fastest of these three: median
 *   general  100 lengths in turn, five rounds, time of a call of the last
 *   own      the same lengths, a function compiled for each
 *   plain    the same without compiling
 *
 *   make bench   or build/bench/sizes [text [new]] */
#define _POSIX_C_SOURCE 200809L
#define DYNC_IMPLEMENTATION
#include "dync.h"
#include "timing.h"

enum { FEW = 2, MOST = 150, LENGTHS = 100, WIDTH = 64, HEADS = 4 };
typedef struct program {
    const char *name;
    dync_value (*fn)(const dync_value *, int, void *);
    int64_t width;
    bool train;
} program;

static bool only_new;
static dync_tensor *w1, *b1, *w2, *b2, *ones, *zeros, *qkv, *proj, *up, *down;

/* ---- the functions --------------------------------------------------------------------------- */
/* The result, or a loss of it. */
static dync_value ends(dync_tensor *y, const void *train)
{
    return dync_v_tensor(train ? dync_sum(y, DYNC_ALL, false) : y);
}

static dync_value mlp(const dync_value *v, int n, void *user)
{
    dync_tensor *x = dync_as_tensor(v[0]);
    (void)n;
    x = dync_relu(dync_add(dync_matmul(x, w1), b1));
    return ends(dync_add(dync_matmul(x, w2), b2), user);
}

static dync_value pointwise(const dync_value *v, int n, void *user)
{
    dync_tensor *x = dync_as_tensor(v[0]), *y = x;
    (void)n;
    for (int i = 0; i < 12; i++) {
        y = dync_add(dync_tanh(y), dync_mul(x, 0.5 + i));
        y = dync_mul(dync_sigmoid(y), x);
    }
    return ends(y, user);
}

static dync_tensor *heads_of(dync_tensor *x, dync_tensor *all, int part)
{
    dync_tensor *y = dync_slice(all, 1, part * WIDTH, (part + 1) * WIDTH, 1);
    return dync_transpose(dync_reshape(y, dync_shape(dync_dim(x, 0), HEADS, WIDTH / HEADS)), 0, 1);
}

static dync_value block(const dync_value *v, int n, void *user)
{
    dync_tensor *x = dync_as_tensor(v[0]);
    (void)n;
    dync_tensor *all = dync_matmul(dync_layer_norm(x, dync_shape(WIDTH), ones, zeros, 1e-5), qkv);
    dync_tensor *y = dync_scaled_dot_product_attention(
        heads_of(x, all, 0), heads_of(x, all, 1), heads_of(x, all, 2), NULL, 0.0, true, DYNC_NONE);
    y = dync_reshape(dync_transpose(y, 0, 1), dync_shape(dync_dim(x, 0), WIDTH));
    x = dync_add(x, dync_matmul(y, proj));
    y = dync_gelu(dync_matmul(dync_layer_norm(x, dync_shape(WIDTH), ones, zeros, 1e-5), up));
    return ends(dync_add(x, dync_matmul(y, down)), user);
}

static const program programs[] = {
    {"MLP [n, 64]", mlp, WIDTH, false},
    {"MLP, forward and backward", mlp, WIDTH, true},
    {"60 pointwise [n, 32]", pointwise, 32, false},
    {"60 pointwise, forward and backward", pointwise, 32, true},
    {"transformer block [n, 64]", block, WIDTH, false},
    {"transformer block, forward and backward", block, WIDTH, true},
};

/* ---- calls ----------------------------------------------------------------------------------- */
static dync_tensor *input(const program *p, int64_t n)
{
    dync_tensor *x = dync_sub(dync_rand(dync_shape(n, p->width)), 0.5);
    return p->train ? dync_requires_grad_(x, true) : x;
}

/* Processor time of this thread: machines are shared. */
static double own_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double call(dync_compiled *f, const program *p, dync_tensor *x)
{
    double start = own_ns();
    dync_value arg = dync_v_tensor(x);
    DYNC_SCOPE {
        dync_value y = f ? dync_call_values(f, 1, &arg)
                         : p->fn(&arg, 1, p->train ? &only_new : NULL);
        if (p->train) dync_backward(dync_as_tensor(y));
    }
    return (own_ns() - start) / 1000;
}

static dync_compiled *compile(const program *p, bool all)
{
    return dync_compile(p->fn, .args = "x", .dynamic = all ? DYNC_DYNAMIC_ON : DYNC_DYNAMIC_OFF,
                        .user = p->train ? &only_new : NULL, .recompile_limit = 64);
}

/* Sizes in an order that is none. */
static int64_t shuffled(int i, int n) { return FEW + (int64_t)i * 37 % n; }

static void measure_new(const program *p, double *more, double *tail, double *seen)
{
    enum { SIZES = MOST - FEW + 1 };
    double first[SIZES], fast[SIZES];
    dync_compiled *f = compile(p, true);
    DYNC_SCOPE {
        call(f, p, input(p, 200)); /* the arena is as large as it needs to be */
        call(f, p, input(p, 190));
    }
    for (int i = 0; i < SIZES; i++) DYNC_SCOPE {
        dync_tensor *x = input(p, shuffled(i, SIZES));
        first[i] = call(f, p, x);
        fast[i] = 1e30;
        for (int k = 0; k < 3; k++) {
            double us = call(f, p, x);
            fast[i] = us < fast[i] ? us : fast[i];
        }
        first[i] -= fast[i];
    }
    *more = summary(first, SIZES).median;
    *tail = first[SIZES * 9 / 10];
    *seen = summary(fast, SIZES).median;
    dync_compiled_free(f);
}

/* The lengths in turn; the fastest round. */
static double measure_turns(const program *p, dync_compiled **of, bool general)
{
    double best = 1e30;
    DYNC_SCOPE {
        dync_tensor *x[LENGTHS];
        for (int i = 0; i < LENGTHS; i++) x[i] = input(p, 2 * shuffled(i, LENGTHS));
        for (int round = 0; round < 5; round++) {
            double us = 0;
            for (int i = 0; i < LENGTHS; i++) us += call(of ? of[general ? 0 : i] : NULL, p, x[i]);
            best = us / LENGTHS < best ? us / LENGTHS : best;
        }
    }
    return best;
}

static void report(const program *p)
{
    double more, tail, seen, general, own = 0, plain;
    dync_compiled *of[LENGTHS];
    measure_new(p, &more, &tail, &seen);
    if (only_new) {
        printf("%-42s%9.1f%9.1f%9.1f\n", p->name, more, tail, seen);
        return;
    }
    of[0] = compile(p, true);
    general = measure_turns(p, of, true);
    dync_compiled_free(of[0]);
    for (int i = 0; i < LENGTHS; i++) of[i] = compile(p, false);
    own = measure_turns(p, of, false);
    for (int i = 0; i < LENGTHS; i++) dync_compiled_free(of[i]);
    plain = measure_turns(p, NULL, false);
    printf("%-42s%9.1f%9.1f%9.1f%10.1f%9.1f%9.1f%7.2f\n", p->name, more, tail, seen, general, own,
           plain, general / own);
}

static dync_tensor *weight(int64_t rows, int64_t columns)
{
    return dync_mul(dync_sub(dync_rand(dync_shape(rows, columns)), 0.5), 0.1);
}

int main(int argc, char **argv)
{
    dync_config_set("threads", "1");
    w1 = weight(WIDTH, 128), w2 = weight(128, 32), b1 = weight(1, 128), b2 = weight(1, 32);
    ones = dync_ones(dync_shape(WIDTH)), zeros = dync_zeros(dync_shape(WIDTH));
    qkv = weight(WIDTH, 3 * WIDTH), proj = weight(WIDTH, WIDTH);
    up = weight(WIDTH, 4 * WIDTH), down = weight(4 * WIDTH, WIDTH);
    only_new = argc > 2;
    printf("%-42s%9s%9s%9s%10s%9s%9s%7s\n", "us", "new", "90%", "seen", "in turn", "own", "plain",
           "ratio");
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
        if (argc < 2 || strstr(programs[i].name, argv[1])) report(&programs[i]);
    if (dync_error() != DYNC_OK) printf("%s\n", dync_error_message());
    return dync_error() != DYNC_OK;
}
