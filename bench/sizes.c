/* bench/sizes.c: what a size costs that was never met, and many lengths in turn. Every function is
 * compiled with .dynamic = DYNC_DYNAMIC_ON. Microseconds of processor time, one
 * thread; numbers only:
 *
 *   new      first call of each of 149 sizes less the fastest of three more: median, 90%
 *   never    first call of each size less the first one of a second time through all of them, each
 *            the least of five functions of the program: memory of all sizes is there, other sizes
 *            lie between, and what other programs do to one call is left out
 *   seen     the fastest of these three: median
 *   general  100 lengths in turn, five rounds, time of a call of the last
 *   own      the same lengths, a function compiled for each
 *   plain    the same without compiling
 *   alone    a call of one length that comes again and again, over one of a function compiled for
 *            it: the fastest of 20 calls each, median of 20 lengths
 *
 *   make bench   or build/bench/sizes [text [new]] */
#define _POSIX_C_SOURCE 200809L
#define DYNC_IMPLEMENTATION
#include "dync.h"
#include "timing.h"
#include "block.h"

enum { FEW = 2, MOST = 150, LENGTHS = 100 };
typedef struct program {
    const char *name;
    dync_value (*fn)(const dync_value *, int, void *);
    dync_tensor *(*input)(int64_t n);
    bool train;
} program;

static bool only_new;
static dync_tensor *w1, *b1, *w2, *b2, *ones, *zeros, *qkv, *proj, *up, *down, *table, *filter1,
    *filter2, *head;
static dync_module *lstm;

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

static dync_value block(const dync_value *v, int n, void *user)
{
    const block_weights w = {ones, zeros, qkv, proj, up, down};
    (void)n;
    return ends(block_of(dync_as_tensor(v[0]), &w), user);
}

/* Rows of a table by tokens, and of another by their places. */
static dync_value embed(const dync_value *v, int n, void *user)
{
    dync_tensor *x = dync_as_tensor(v[0]);
    (void)n;
    dync_tensor *y = dync_mul(dync_embedding(table, x), 8.0);
    return ends(dync_add(y, dync_embedding(table, dync_remainder(dync_add(x, 7), 100))), user);
}

static dync_value transposed(const dync_value *v, int n, void *user)
{
    dync_tensor *x = dync_as_tensor(v[0]);
    (void)n;
    dync_tensor *y = dync_contiguous(dync_transpose(dync_relu(x), 0, 1));
    y = dync_softmax(dync_mul(y, 0.125), 1);
    return ends(dync_add(dync_contiguous(dync_transpose(y, 0, 1)), x), user);
}

static dync_value cnn(const dync_value *v, int n, void *user)
{
    dync_tensor *x = dync_as_tensor(v[0]);
    (void)n;
    x = dync_relu(dync_conv2d(x, filter1, NULL, dync_shape(1), dync_shape(1), dync_shape(1), 1));
    x = dync_max_pool2d(x, dync_shape(2), dync_shape(2), dync_shape(0), dync_shape(1), false);
    x = dync_relu(dync_conv2d(x, filter2, NULL, dync_shape(1), dync_shape(1), dync_shape(1), 1));
    return ends(dync_matmul(dync_mean(x, dync_shape(2, 3), false), head), user);
}

static dync_value pool(const dync_value *v, int n, void *user)
{
    dync_tensor *x = dync_as_tensor(v[0]);
    (void)n;
    x = dync_max_pool2d(dync_mul(x, 2.0), dync_shape(3), dync_shape(2), dync_shape(1),
                        dync_shape(1), false);
    return ends(dync_tanh(x), user);
}

static dync_value doubled(const dync_value *v, int n, void *user)
{
    (void)n, (void)user;
    return dync_v_tensor(dync_tanh(dync_mul(dync_as_tensor(v[0]), 2.0)));
}

static dync_value halved(const dync_value *v, int n, void *user)
{
    (void)n, (void)user;
    return dync_v_tensor(dync_mul(dync_as_tensor(v[0]), 0.5));
}

static dync_value either(const dync_value *v, int n, void *user)
{
    dync_tensor *x = dync_as_tensor(v[0]);
    (void)n;
    dync_value y = dync_cond(dync_gt(dync_sum(x, DYNC_ALL, false), 0.0), doubled, halved, x);
    return ends(dync_add(dync_as_tensor(y), x), user);
}

/* Rows folded into one, and what is stacked halved a few times. */
static dync_value folded(const dync_value *v, int n, void *user)
{
    dync_tensor *row = dync_tanh(dync_add(dync_as_tensor(v[0]), dync_as_tensor(v[1])));
    (void)n, (void)user;
    return dync_tuple(row, row);
}

static dync_value is_few(const dync_value *v, int n, void *user)
{
    (void)n, (void)user;
    return dync_v_tensor(dync_lt(dync_as_tensor(v[0]), 4.0));
}

static dync_value again(const dync_value *v, int n, void *user)
{
    (void)n, (void)user;
    return dync_tuple(dync_add(dync_as_tensor(v[0]), 1.0), dync_mul(dync_as_tensor(v[1]), 0.5));
}

static dync_value loops(const dync_value *v, int n, void *user)
{
    dync_tensor *x = dync_as_tensor(v[0]);
    (void)n;
    dync_value y = dync_scan(folded, dync_mean(x, dync_shape(0), false), x);
    dync_tensor *none = dync_mul(dync_mean(x, DYNC_ALL, false), 0.0);
    y = dync_while_loop_limit(is_few, again, dync_tuple(none, dync_at(y, 1)), 5);
    return ends(dync_as_tensor(dync_at(y, 1)), user);
}

static dync_value recurrent(const dync_value *v, int n, void *user)
{
    dync_value y = dync_module_call(lstm, dync_as_tensor(v[0]));
    (void)n;
    return ends(dync_as_tensor(dync_at(y, 0)), user);
}

/* ---- their inputs ---------------------------------------------------------------------------- */
static dync_tensor *between(dync_dims shape) { return dync_sub(dync_rand(shape), 0.5); }
static dync_tensor *rows_of_64(int64_t n) { return between(dync_shape(n, WIDTH)); }
static dync_tensor *rows_of_32(int64_t n) { return between(dync_shape(n, 32)); }
static dync_tensor *tokens(int64_t n)
{
    return dync_to_dtype(dync_remainder(dync_mul(dync_arange(0, (double)n, 1), 37), 100), DYNC_I64);
}
static dync_tensor *images(int64_t n) { return between(dync_shape(n, 3, 16, 16)); }
static dync_tensor *image(int64_t n) { return between(dync_shape(1, 3, n + 2, n + 2)); }
static dync_tensor *planes(int64_t n) { return between(dync_shape(4, 4, n + 2, n + 2)); }
static dync_tensor *sequence(int64_t n) { return between(dync_shape(n, 2, 32)); }
static dync_tensor *batch(int64_t n) { return between(dync_shape(8, n, 32)); }

static const program programs[] = {
    {"MLP [n, 64]", mlp, rows_of_64, false},
    {"MLP, forward and backward", mlp, rows_of_64, true},
    {"60 pointwise [n, 32]", pointwise, rows_of_32, false},
    {"60 pointwise, forward and backward", pointwise, rows_of_32, true},
    {"transformer block [n, 64]", block, rows_of_64, false},
    {"transformer block, forward and backward", block, rows_of_64, true},
    {"embedding [n]", embed, tokens, false},
    {"transposes [n, 64]", transposed, rows_of_64, false},
    {"transposes, forward and backward", transposed, rows_of_64, true},
    {"CNN [n, 3, 16, 16]", cnn, images, false},
    {"CNN [n, 3, 16, 16], forward and backward", cnn, images, true},
    {"CNN [1, 3, n, n]", cnn, image, false},
    {"max pool [4, 4, n, n]", pool, planes, false},
    {"max pool, forward and backward", pool, planes, true},
    {"cond [n, 64]", either, rows_of_64, false},
    {"cond, forward and backward", either, rows_of_64, true},
    {"scan and while [n, 64]", loops, rows_of_64, false},
    {"scan and while, forward and backward", loops, rows_of_64, true},
    {"LSTM [n, 2, 32]", recurrent, sequence, false},
    {"LSTM [8, n, 32]", recurrent, batch, false},
    {"LSTM [8, n, 32], forward and backward", recurrent, batch, true},
};

/* ---- calls ----------------------------------------------------------------------------------- */
static dync_tensor *input(const program *p, int64_t n)
{
    dync_tensor *x = p->input(n);
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

enum { SIZES = MOST - FEW + 1 };
/* A function of all sizes; the arena is as large as it needs to be. */
static dync_compiled *compile_all(const program *p)
{
    dync_compiled *f = compile(p, true);
    DYNC_SCOPE {
        call(f, p, input(p, 200));
        call(f, p, input(p, 190));
    }
    return f;
}

typedef struct news {
    double more, tail, seen;
} news;
static news measure_new(const program *p)
{
    double first[SIZES], fast[SIZES];
    dync_compiled *f = compile_all(p);
    for (int i = 0; i < SIZES; i++) DYNC_SCOPE {
        dync_tensor *x = input(p, shuffled(i, SIZES));
        first[i] = call(f, p, x);
        fast[i] = 1e30;
        for (int k = 0; k < 3; k++) {
            double us = call(f, p, x);
            fast[i] = us < fast[i] ? us : fast[i];
        }
    }
    dync_compiled_free(f);
    for (int i = 0; i < SIZES; i++) first[i] -= fast[i];
    news n = {summary(first, SIZES).median, 0, summary(fast, SIZES).median};
    n.tail = first[SIZES * 9 / 10];
    return n;
}

/* Calls of all sizes; least[i] becomes what one took if that is less. */
static void call_all(dync_compiled *f, const program *p, double *least)
{
    for (int i = 0; i < SIZES; i++) DYNC_SCOPE {
        least[i] = fmin(least[i], call(f, p, input(p, shuffled(i, SIZES))));
    }
}

static double measure_never(const program *p)
{
    double first[SIZES], again[SIZES];
    for (int i = 0; i < SIZES; i++) first[i] = again[i] = 1e30;
    for (int k = 0; k < 5; k++) {
        dync_compiled *f = compile_all(p);
        call_all(f, p, first);
        call_all(f, p, again);
        dync_compiled_free(f);
    }
    for (int i = 0; i < SIZES; i++) first[i] -= again[i];
    return summary(first, SIZES).median;
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

/* The fastest call of several. */
static double measure_again(const program *p, dync_compiled *f, dync_tensor *x)
{
    double best = 1e30;
    for (int k = 0; k < 20; k++) {
        double us = call(f, p, x);
        best = us < best ? us : best;
    }
    return best;
}

/* What general code loses against that of each length alone. */
static double measure_alone(const program *p, dync_compiled *all, dync_compiled **of)
{
    enum { SOME = 20 };
    double ratio[SOME];
    for (int i = 0; i < SOME; i++) DYNC_SCOPE {
        int at = i * LENGTHS / SOME;
        dync_tensor *x = input(p, 2 * shuffled(at, LENGTHS));
        double general = measure_again(p, all, x), own = measure_again(p, of[at], x);
        general = fmin(general, measure_again(p, all, x));
        own = fmin(own, measure_again(p, of[at], x));
        ratio[i] = general / own;
    }
    return summary(ratio, SOME).median;
}

static void report(const program *p)
{
    double general, own = 0, plain, alone;
    dync_compiled *of[LENGTHS], *all;
    news n = measure_new(p);
    printf("%-42s%9.1f%9.1f%9.1f%9.1f", p->name, n.more, n.tail, measure_never(p), n.seen);
    if (only_new) {
        printf("\n");
        return;
    }
    all = compile(p, true);
    general = measure_turns(p, &all, true);
    for (int i = 0; i < LENGTHS; i++) of[i] = compile(p, false);
    own = measure_turns(p, of, false);
    alone = measure_alone(p, all, of);
    dync_compiled_free(all);
    for (int i = 0; i < LENGTHS; i++) dync_compiled_free(of[i]);
    plain = measure_turns(p, NULL, false);
    printf("%10.1f%9.1f%9.1f%7.2f%7.2f\n", general, own, plain, general / own, alone);
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
    table = weight(100, WIDTH), head = weight(16, 10), lstm = dync_nn_lstm(32, 32, 1, false);
    filter1 = dync_mul(between(dync_shape(16, 3, 3, 3)), 0.1);
    filter2 = dync_mul(between(dync_shape(16, 16, 3, 3)), 0.1);
    only_new = argc > 2;
    printf("%-42s%9s%9s%9s%9s%10s%9s%9s%7s%7s\n", "us", "new", "90%", "never", "seen", "in turn",
           "own", "plain", "ratio", "alone");
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
        if (argc < 2 || strstr(programs[i].name, argv[1])) report(&programs[i]);
    if (dync_error() != DYNC_OK) printf("%s\n", dync_error_message());
    return dync_error() != DYNC_OK;
}
