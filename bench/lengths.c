/* bench/lengths.c: is any length slower compiled than plain? Each program is called at all its
 * lengths in turn, compiled with .dynamic = DYNC_DYNAMIC_ON and plain, round by round; of each
 * length the fastest call of all rounds counts, and lengths that seem slower are measured on until
 * they are not or the time is over. `step` is a training step in one graph: forward, backward, SGD.
 * Microseconds, one thread; numbers only:
 *
 *   worst    the greatest compiled / plain of all lengths, and that length
 *   mean     their geometric mean
 *   slow     lengths of which it is above 1.02
 *   own      geometric mean of compiled / a function compiled for each length (goal 1.15)
 *   new      first call of a size less the first one of a second time through all of them, of
 *            another function of the program: median (goal 10)
 *   again    first call of a batch size of a function compiled with .dynamic = DYNC_DYNAMIC_OFF
 *            less a second one, when the program was compiled before: median (goal 100)
 *   code     bytes of machine code after 100 and after 1,000 sizes
 *
 *   make bench-lengths   or build/bench/lengths [text [seconds of a program]] */
#define _POSIX_C_SOURCE 200809L
#define DYNC_IMPLEMENTATION
#include "dync.h"
#include "timing.h"
#include "block.h"

enum { MOST = 150, SGD = 1, FEW = 8 };
typedef struct program {
    const char *name;
    dync_tensor *(*fn)(dync_tensor *x, dync_value rest);
    dync_value (*input)(int64_t n);
    int first, lengths, apart; /* first, first + apart, ... */
    bool train;
} program;

static dync_tensor *w1, *b1, *w2, *b2, *ones, *zeros, *qkv, *proj, *up, *down, *filter1, *filter2;
static dync_module *gru, *rnn, *lstm;
static dync_optim *optim;
static double seconds = 4;

/* ---- the programs ---------------------------------------------------------------------------- */
static dync_tensor *mlp(dync_tensor *x, dync_value rest)
{
    (void)rest;
    return dync_add(dync_matmul(dync_relu(dync_add(dync_matmul(x, w1), b1)), w2), b2);
}

static dync_tensor *block(dync_tensor *x, dync_value rest)
{
    const block_weights w = {ones, zeros, qkv, proj, up, down};
    (void)rest;
    return block_of(x, &w);
}

static dync_tensor *gated(dync_tensor *x, dync_value rest)
{
    (void)rest;
    return dync_as_tensor(dync_at(dync_module_call(gru, x), 0));
}

static dync_tensor *elman(dync_tensor *x, dync_value rest)
{
    (void)rest;
    return dync_as_tensor(dync_at(dync_module_call(rnn, x), 0));
}

static dync_tensor *long_short(dync_tensor *x, dync_value rest)
{
    (void)rest;
    return dync_as_tensor(dync_at(dync_module_call(lstm, x), 0));
}

static dync_tensor *line(dync_tensor *x, dync_value rest)
{
    (void)rest;
    x = dync_relu(dync_conv1d(x, filter1, NULL, dync_shape(1), dync_shape(1), dync_shape(1), 1));
    return dync_relu(dync_conv1d(x, filter2, NULL, dync_shape(1), dync_shape(1), dync_shape(1), 1));
}

static dync_tensor *norms(dync_tensor *x, dync_value rest)
{
    (void)rest;
    for (int i = 0; i < 3; i++) {
        x = dync_layer_norm(x, dync_shape(WIDTH), ones, zeros, 1e-5);
        x = dync_mul(dync_softmax(x, 1), 8.0);
    }
    return x;
}

/* A row more in the cache of keys and in that of values; what comes back is the new row. */
static dync_tensor *decode(dync_tensor *x, dync_value rest)
{
    dync_tensor *all = dync_matmul(x, qkv), *part[3];
    dync_tensor *keys = dync_as_tensor(dync_at(rest, 0));
    dync_tensor *values = dync_as_tensor(dync_at(rest, 1));
    for (int i = 0; i < 3; i++) part[i] = dync_slice(all, 1, i * WIDTH, (i + 1) * WIDTH, 1);
    keys = dync_unsqueeze(dync_cat(dync_tuple(keys, part[1]), 0), 0);
    values = dync_unsqueeze(dync_cat(dync_tuple(values, part[2]), 0), 0);
    dync_tensor *y = dync_scaled_dot_product_attention(dync_unsqueeze(part[0], 0), keys, values,
                                                       NULL, 0.0, false, DYNC_NONE);
    return dync_add(x, dync_matmul(dync_squeeze(y, 0), proj));
}

/* ---- their inputs ---------------------------------------------------------------------------- */
static dync_tensor *between(dync_dims shape) { return dync_sub(dync_rand(shape), 0.5); }
static dync_value rows(int64_t n) { return dync_v_tensor(between(dync_shape(n, WIDTH))); }
static dync_value ragged(int64_t n) { return dync_v_tensor(between(dync_shape(n, 4, 32))); }
static dync_value batches(int64_t n) { return dync_v_tensor(between(dync_shape(8, n, 32))); }
static dync_value signal(int64_t n) { return dync_v_tensor(between(dync_shape(2, 8, n))); }
static dync_value caches(int64_t n)
{
    return dync_tuple(between(dync_shape(1, WIDTH)), between(dync_shape(n, WIDTH)),
                      between(dync_shape(n, WIDTH)));
}

static const program programs[] = {
    {"MLP [n, 64]", mlp, rows, 1, 150, 1, false},
    {"MLP, step", mlp, rows, 1, 150, 1, true},
    {"transformer block [n, 64]", block, rows, 1, 100, 2, false},
    {"transformer block, step", block, rows, 1, 100, 2, true},
    {"GRU [n, 4, 32]", gated, ragged, 1, 50, 2, false},
    {"GRU, step", gated, ragged, 1, 50, 2, true},
    {"RNN [n, 4, 32]", elman, ragged, 1, 50, 2, false},
    {"RNN, step", elman, ragged, 1, 50, 2, true},
    {"LSTM [8, n, 32]", long_short, batches, 1, 50, 5, false},
    {"LSTM, step", long_short, batches, 1, 50, 5, true},
    {"conv1d [2, 8, n]", line, signal, 3, 150, 1, false},
    {"conv1d, step", line, signal, 3, 150, 1, true},
    {"layer_norm and softmax [n, 64]", norms, rows, 1, 150, 1, false},
    {"layer_norm and softmax, step", norms, rows, 1, 150, 1, true},
    {"decode, caches [n, 64]", decode, caches, 1, 150, 1, false},
};

/* ---- calls ----------------------------------------------------------------------------------- */
static dync_value forward(const dync_value *v, int n, void *user)
{
    dync_tensor *x = dync_as_tensor(v[0]);
    dync_value rest = n > 1 ? dync_tuple(v[1], v[2]) : v[0];
    return dync_v_tensor(((const program *)user)->fn(x, rest));
}

static dync_value step(const dync_value *v, int n, void *user)
{
    (void)n;
    dync_tensor *y = ((const program *)user)->fn(dync_as_tensor(v[0]), v[0]);
    dync_tensor *loss = dync_mean(dync_mul(y, y), DYNC_ALL, false);
    dync_optim_zero_grad(optim);
    dync_backward(loss);
    dync_optim_step(optim);
    return dync_v_tensor(loss);
}

typedef struct arguments {
    dync_value v[3];
    int n;
} arguments;
static arguments input(const program *p, int64_t n)
{
    arguments a = {{p->input(n)}, 1};
    if (p->fn == decode) {
        dync_value all = a.v[0];
        for (a.n = 0; a.n < 3; a.n++) a.v[a.n] = dync_at(all, a.n);
    }
    return a;
}

/* From a clock that begins with the machine: a double holds its nanoseconds. */
static double lengths_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double call(dync_compiled *f, const program *p, const arguments *a)
{
    double start = lengths_ns();
    DYNC_SCOPE {
        if (f)
            dync_call_values(f, a->n, a->v);
        else
            (p->train ? step : forward)(a->v, a->n, (void *)(uintptr_t)p);
    }
    return (lengths_ns() - start) / 1000;
}

static dync_compiled *compile(const program *p, bool all)
{
    return dync_compile(p->train ? step : forward, .args = "x, keys, values", .fullgraph = true,
                        .dynamic = all ? DYNC_DYNAMIC_ON : DYNC_DYNAMIC_OFF,
                        .user = (void *)(uintptr_t)p, .recompile_limit = 64);
}

/* The lengths in an order that is none. */
static int64_t length(const program *p, int i)
{
    return p->first + (int64_t)i * 37 % p->lengths * p->apart;
}

/* ---- no length slower than plain ------------------------------------------------------------- */
enum { ALL, PLAIN, OWN, WAYS };
typedef struct lengths {
    arguments x[MOST];
    dync_compiled *all, *own[MOST];
    double best[WAYS][MOST];
} lengths;

static void measure_round(const program *p, lengths *l, const bool *wanted)
{
    for (int way = 0; way < WAYS; way++)
        for (int i = 0; i < p->lengths; i++) {
            dync_compiled *f = way == ALL ? l->all : way == OWN ? l->own[i] : NULL;
            if (wanted && !wanted[i]) continue;
            l->best[way][i] = fmin(l->best[way][i], call(f, p, &l->x[i]));
        }
}

/* Those that look slower than plain so far, and a few others: lengths still come in turn. */
static bool measure_slow(const program *p, lengths *l)
{
    bool wanted[MOST], any = false;
    for (int i = 0; i < p->lengths; i++) {
        bool slow = l->best[ALL][i] > l->best[PLAIN][i];
        wanted[i] = slow || i % 16 == 0;
        any |= slow;
    }
    if (any) measure_round(p, l, wanted);
    return any;
}

static void measure_lengths(const program *p, lengths *l)
{
    for (int i = 0; i < p->lengths; i++) {
        l->x[i] = input(p, length(p, i));
        l->own[i] = compile(p, false);
        for (int way = 0; way < WAYS; way++) l->best[way][i] = 1e30;
    }
    l->all = compile(p, true);
    measure_round(p, l, NULL);
    double start = now_ns();
    for (int round = 0; round < 10 || now_ns() - start < seconds * 1e9; round++)
        measure_round(p, l, NULL);
    for (start = now_ns(); now_ns() - start < seconds * 1e9 && measure_slow(p, l);) {}
    dync_compiled_free(l->all);
    for (int i = 0; i < p->lengths; i++) dync_compiled_free(l->own[i]);
}

static void report_lengths(const program *p, const lengths *l)
{
    double worst = 0, mean = 0, own = 0;
    int64_t at = 0, slow = 0;
    for (int i = 0; i < p->lengths; i++) {
        double ratio = l->best[ALL][i] / l->best[PLAIN][i];
        if (getenv("LENGTHS"))
            printf("%5d: %.2f, plain %.2f, own %.2f\n", (int)length(p, i), l->best[ALL][i],
                   l->best[PLAIN][i], l->best[OWN][i]);
        mean += log(ratio) / p->lengths;
        own += log(l->best[ALL][i] / l->best[OWN][i]) / p->lengths;
        slow += ratio > 1.02;
        if (ratio > worst) worst = ratio, at = length(p, i);
    }
    printf("%-31s%7.2f%5d%7.2f%5d%7.2f", p->name, worst, (int)at, exp(mean), (int)slow, exp(own));
    fflush(stdout);
}

/* Batches of 1 to 8, where what a call costs beside its kernels decides. */
static void report_few(const program *p, const lengths *l)
{
    double worst = 0;
    for (int i = 0; i < p->lengths; i++)
        if (length(p, i) <= FEW) worst = fmax(worst, l->best[ALL][i] / l->best[PLAIN][i]);
    printf("%7.2f", worst);
}

/* ---- what a new size costs ------------------------------------------------------------------- */
static double measure_new(const program *p)
{
    double first[MOST];
    dync_compiled *f = compile(p, true);
    for (int i = 0; i < 2; i++) DYNC_SCOPE {
        arguments a = input(p, p->first + (p->lengths + i) * p->apart);
        call(f, p, &a); /* the arena is as large as it needs to be */
    }
    for (int i = 0; i < p->lengths; i++) DYNC_SCOPE {
        arguments a = input(p, length(p, i));
        first[i] = call(f, p, &a);
        call(f, p, &a);
    }
    for (int i = 0; i < p->lengths; i++) DYNC_SCOPE {
        arguments a = input(p, length(p, i));
        first[i] -= call(f, p, &a);
        call(f, p, &a);
    }
    dync_compiled_free(f);
    return summary(first, p->lengths).median;
}

static double measure_again(const program *p)
{
    enum { SOME = 15 };
    double more[SOME];
    dync_compiled *f = compile(p, false);
    for (int i = -1; i < SOME; i++) DYNC_SCOPE {
        arguments a = input(p, p->first + 20 + 5 * i);
        double us = call(f, p, &a);
        if (i >= 0) more[i] = us - call(f, p, &a);
    }
    dync_compiled_free(f);
    return summary(more, SOME).median;
}

static void report_code(const program *p)
{
    dync_compiled *f = compile(p, true);
    for (int i = 0; i < 1000; i++) {
        DYNC_SCOPE {
            arguments a = input(p, p->first + i);
            call(f, p, &a);
        }
        if (i == 99 || i == 999) printf("%9lld", (long long)dync_compiled_info(f).code_bytes);
    }
    dync_compiled_free(f);
    printf("\n");
}

static void report(const program *p)
{
    static lengths l;
    DYNC_SCOPE measure_lengths(p, &l);
    report_lengths(p, &l);
    report_few(p, &l);
    measure_new(p);
    printf("%8.1f%8.0f", measure_new(p), measure_again(p));
    fflush(stdout);
    report_code(p);
}

static dync_tensor *weight(dync_dims shape)
{
    return dync_requires_grad_(dync_mul(between(shape), 0.1), true);
}

static void make_weights(void)
{
    w1 = weight(dync_shape(WIDTH, 128)), w2 = weight(dync_shape(128, 32));
    b1 = weight(dync_shape(1, 128)), b2 = weight(dync_shape(1, 32));
    ones = dync_requires_grad_(dync_ones(dync_shape(WIDTH)), true);
    zeros = dync_requires_grad_(dync_zeros(dync_shape(WIDTH)), true);
    qkv = weight(dync_shape(WIDTH, 3 * WIDTH)), proj = weight(dync_shape(WIDTH, WIDTH));
    up = weight(dync_shape(WIDTH, 4 * WIDTH)), down = weight(dync_shape(4 * WIDTH, WIDTH));
    filter1 = weight(dync_shape(16, 8, 3)), filter2 = weight(dync_shape(16, 16, 3));
    gru = dync_nn_gru(32, 32, 1, false), rnn = dync_nn_rnn(32, 32, 1, false);
    lstm = dync_nn_lstm(32, 32, 1, false);
}

/* An optimizer of what the program reads: parameters without a gradient are left alone. */
static void make_optim(const program *p)
{
    dync_tensor *const all[] = {w1, b1, w2, b2, ones, zeros, qkv, proj, up, down, filter1, filter2};
    dync_optim_free(optim);
    optim = p->fn == gated        ? dync_sgd(gru, .lr = 1e-6)
            : p->fn == elman      ? dync_sgd(rnn, .lr = 1e-6)
            : p->fn == long_short ? dync_sgd(lstm, .lr = 1e-6)
                                  : dync_optim_new(DYNC_OPTIM_SGD, sizeof all / sizeof *all, all,
                                                   DYNC_LITERAL(dync_optim_options){.lr = 1e-6});
}

int main(int argc, char **argv)
{
    dync_config_set("threads", "1");
    make_weights();
    if (argc > 2) seconds = atof(argv[2]);
    printf("%-31s%7s%5s%7s%5s%7s%7s%8s%8s%9s%9s\n", "us", "worst", "at", "mean", "slow", "own",
           "to 8", "new", "again", "code 100", "1000");
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        const program *p = &programs[i];
        if (argc > 1 && !strstr(p->name, argv[1])) continue;
        make_optim(p);
        if (p->train)
            report(p);
        else DYNC_NO_GRAD
            report(p);
    }
    if (dync_error() != DYNC_OK) printf("%s\n", dync_error_message());
    return dync_error() != DYNC_OK;
}
