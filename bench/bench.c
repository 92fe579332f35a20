/* bench/bench.c: the figures of bench/README.md as one table: smallest, median and greatest time of
 * one call, the median of the same work written by hand, and the goal. Numbers only: nothing here
 * can fail because a machine is slow. Exit status 1 only where a result is wrong.
 *
 *   make bench            or build/bench/bench [text]   the cases whose name contains it
 *   J=file make bench     the same as JSON;  QUICK=1: without the cases that run a compiler */
#define DYNC_IMPLEMENTATION
#include "dync.h"
#include "hand.h"
#include "timing.h"

typedef struct bench_case {
    const char *name;
    void (*prepare)(int n); /* inside a scope of the case's own */
    void (*run)(void);      /* one call of dync's */
    void (*hand)(void);     /* the same by hand, or NULL */
    double (*sample)(void); /* instead of run: nanoseconds of one call */
    int n;
    /* nanoseconds, or with by_ratio times the hand-written one; 0 none */
    double goal;
    bool by_ratio;
} bench_case;

static dync_compiled *compiled;
static dync_tensor *in[3];
static float *raw[3], *want; /* the inputs' data, and room for the hand-written result */
static size_t count;         /* elements of the result */
static size_t rows, columns;
static int wrong;
static FILE *json;

/* ---- the cases ------------------------------------------------------------------------------- */

static dync_tensor *fn_small(dync_tensor *x) { return dync_relu(dync_add(x, 1)); }
static dync_tensor *fn_short(dync_tensor *a, dync_tensor *b)
{
    return dync_sub(dync_div(a, dync_add(dync_abs(b), 1)), dync_div(b, 2));
}
static dync_tensor *fn_chain(dync_tensor *a, dync_tensor *b)
{
    dync_tensor *t = dync_sub(dync_div(a, dync_add(dync_abs(b), 1)), dync_div(b, 2));
    return dync_add(dync_mul(dync_relu(t), a), b);
}
static dync_tensor *fn_gate(dync_tensor *a, dync_tensor *b)
{
    return dync_mul(dync_gelu_tanh(a), dync_sigmoid(b));
}
static dync_tensor *fn_softmax(dync_tensor *x) { return dync_softmax(x, 1); }
static dync_tensor *fn_layernorm(dync_tensor *x, dync_tensor *w, dync_tensor *b)
{
    return dync_layer_norm(x, dync_shape(dync_size(w, 0)), w, b, 1e-5);
}
static dync_tensor *fn_sum(dync_tensor *x) { return dync_sum(x, DYNC_ALL, false); }
static dync_tensor *fn_transpose_add(dync_tensor *a, dync_tensor *b)
{
    return dync_add(b, dync_transpose(a, 0, 1));
}
static dync_tensor *fn_matmul(dync_tensor *a, dync_tensor *b) { return dync_matmul(a, b); }

static void make_inputs(int n_inputs, dync_dims shape)
{
    for (int i = 0; i < n_inputs; i++) {
        in[i] = dync_randn(shape);
        raw[i] = in[i] ? dync_data(in[i]) : NULL;
    }
    count = 1;
    for (int d = 0; d < shape.n; d++) count *= (size_t)shape.d[d];
    want = malloc(count * sizeof *want);
}

static void prepare_small(int n)
{
    make_inputs(2, dync_shape(n));
    compiled = dync_compile(fn_small, .args = "x");
}
static void prepare_eager(int n) { make_inputs(2, dync_shape(n)); }
static void prepare_short(int n)
{
    make_inputs(2, dync_shape(n));
    compiled = dync_compile(fn_short, .args = "a, b");
}
static void prepare_chain(int n)
{
    make_inputs(2, dync_shape(n));
    compiled = dync_compile(fn_chain, .args = "a, b");
}
static void prepare_gate(int n)
{
    make_inputs(2, dync_shape(n));
    compiled = dync_compile(fn_gate, .args = "a, b");
}
static void prepare_softmax(int n)
{
    rows = 4096;
    columns = (size_t)n;
    make_inputs(1, dync_shape(4096, n));
    compiled = dync_compile(fn_softmax, .args = "x");
}
static void prepare_layernorm(int n)
{
    rows = 4096;
    columns = (size_t)n;
    make_inputs(1, dync_shape(4096, n));
    for (int i = 1; i < 3; i++) {
        in[i] = dync_rand(dync_shape(n));
        raw[i] = in[i] ? dync_data(in[i]) : NULL;
    }
    compiled = dync_compile(fn_layernorm, .args = "x, w, b");
}
static void prepare_sum(int n)
{
    make_inputs(1, dync_shape(n));
    columns = count;
    count = 1;
    compiled = dync_compile(fn_sum, .args = "x");
}
static void prepare_transpose(int n)
{
    columns = (size_t)n;
    make_inputs(2, dync_shape(n, n));
    compiled = dync_compile(fn_transpose_add, .args = "a, b");
}
static void prepare_matmul(int n)
{
    columns = (size_t)n;
    make_inputs(2, dync_shape(n, n));
    compiled = dync_compile(fn_matmul, .args = "a, b");
}

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
static void run_three(void)
{
    DYNC_SCOPE {
        dync_call(compiled, in[0], in[1], in[2]);
    }
}
static void run_into(void) { dync_call_into(compiled, in[1], in[0]); }
static void run_eager_add(void)
{
    DYNC_SCOPE {
        dync_add(in[0], in[1]);
    }
}

static void hand_run_add(void) { hand_add(raw[0], raw[1], want, count); }
static void hand_run_short(void) { hand_short(raw[0], raw[1], want, count); }
static void hand_run_chain(void) { hand_chain(raw[0], raw[1], want, count); }
static void hand_run_gate(void) { hand_gate(raw[0], raw[1], want, count); }
static void hand_run_softmax(void) { hand_softmax(raw[0], want, rows, columns); }
static void hand_run_layernorm(void)
{
    hand_layernorm(raw[0], raw[1], raw[2], want, rows, columns);
}
static void hand_run_sum(void) { hand_sum(raw[0], want, columns); }
static void hand_run_transpose(void) { hand_transpose_add(raw[0], raw[1], want, columns); }
static void hand_run_sgemm(void) { hand_sgemm(raw[0], raw[1], want, columns); }

/* Capture, lowering, fusion and the first call of a network never seen before. */
static double sample_cold(void)
{
    double t = 0;
    DYNC_SCOPE {
        dync_module *net = dync_sequential(dync_nn_linear(10, 10, true), dync_nn_relu(),
                                           dync_nn_linear(10, 10, true), dync_nn_sigmoid());
        dync_tensor *x = dync_randn(dync_shape(2, 10));
        double start = now_ns();
        dync_module_compile(net, .backend = "inductor");
        DYNC_NO_GRAD {
            dync_forward_call(net, x);
        }
        t = now_ns() - start;
        dync_module_free(net);
    }
    return t;
}

/* ---- cases that run a compiler --------------------------------------------------------------- */

static double compile_ns(const char *text, const char *flags)
{
    char command[512];
    const char *cc = getenv("CC");
    FILE *f = fopen("build/bench_unit.c", "wb");
    if (!f) return NAN;
    fputs(text, f);
    fclose(f);
    snprintf(command, sizeof command,
             "%s -std=c11 %s -I. -c build/bench_unit.c -o build/bench_unit.o",
             cc && *cc ? cc : "cc", flags);
    double start = now_ns();
    if (system(command) != 0) return NAN;
    return now_ns() - start;
}

#define HEADERS \
    "#include <stdbool.h>\n#include <stddef.h>\n#include <stdint.h>\n#include <stdio.h>\n"
static double sample_include(void)
{
    double without = compile_ns(HEADERS "int main(void) { return 0; }\n", "-O0");
    return compile_ns(HEADERS "#include \"dync.h\"\nint main(void) { return 0; }\n", "-O0") -
           without;
}
static double sample_implementation(void)
{
    return compile_ns("#define DYNC_IMPLEMENTATION\n#include \"dync.h\"\n", "-O2");
}

/* ---- the table ------------------------------------------------------------------------------- */

static const bench_case cases[] = {
    {"guarded call, 10 elements", prepare_small, run_one, NULL, NULL, 10, 150, false},
    {"guarded call into, 10 elements", prepare_small, run_into, NULL, NULL, 10, 150, false},
    {"eager add, 10 elements", prepare_eager, run_eager_add, hand_run_add, NULL, 10, 400, false},
    {"cold compile Linear-ReLU-Linear-Sigmoid", NULL, NULL, NULL, sample_cold, 0, 3e6, false},
    {"a/(|b|+1) - b/2, 2^10", prepare_short, run_two, hand_run_short, NULL, 1 << 10, 400, false},
    {"a/(|b|+1) - b/2, 2^20", prepare_short, run_two, hand_run_short, NULL, 1 << 20, 1.1, true},
    {"a/(|b|+1) - b/2, 2^24", prepare_short, run_two, hand_run_short, NULL, 1 << 24, 1.1, true},
    {"relu(a/(|b|+1) - b/2)*a + b, 2^20", prepare_chain, run_two, hand_run_chain, NULL, 1 << 20,
     1.1, true},
    {"gelu_tanh(a)*sigmoid(b), 2^20", prepare_gate, run_two, hand_run_gate, NULL, 1 << 20, 1.1,
     true},
    {"sum, 2^20", prepare_sum, run_one, hand_run_sum, NULL, 1 << 20, 0, true},
    {"softmax 4096x1024", prepare_softmax, run_one, hand_run_softmax, NULL, 1024, 1.05, true},
    {"layer_norm 4096x1024", prepare_layernorm, run_three, hand_run_layernorm, NULL, 1024, 1.05,
     true},
    {"transpose + add 1024x1024", prepare_transpose, run_two, hand_run_transpose, NULL, 1024, 0,
     true},
    {"sgemm 8", prepare_matmul, run_two, hand_run_sgemm, NULL, 8, 0, true},
    {"sgemm 64", prepare_matmul, run_two, hand_run_sgemm, NULL, 64, 0, true},
    {"sgemm 256", prepare_matmul, run_two, hand_run_sgemm, NULL, 256, 0, true},
    {"sgemm 1024", prepare_matmul, run_two, hand_run_sgemm, NULL, 1024, 0, true},
    {"include dync.h, without the implementation", NULL, NULL, NULL, sample_include, 7, 40e6,
     false},
    {"compile the implementation -O2", NULL, NULL, NULL, sample_implementation, 1, 8e9, false},
};

/* dync's result against the hand-written one. */
static bool same_result(const bench_case *c)
{
    bool same = true;
    c->hand();
    DYNC_SCOPE {
        dync_tensor *y = c->run == run_eager_add ? dync_add(in[0], in[1])
                         : c->run == run_one     ? dync_call(compiled, in[0])
                         : c->run == run_two     ? dync_call(compiled, in[0], in[1])
                                                 : dync_call(compiled, in[0], in[1], in[2]);
        const float *got = y ? dync_data(y) : NULL;
        same = got && (size_t)dync_numel(y) == count;
        for (size_t i = 0; i < count && same; i++) {
            double scale = c->run == run_one && count == 1
                               ? sqrt((double)columns) * 1e-5
                               : 1e-4 * sqrt((double)(columns ? columns : 1));
            if (fabs((double)got[i] - (double)want[i]) <= scale * (1 + fabs((double)want[i])))
                continue;
            printf("  WRONG: element %zu is %g, by hand %g\n", i, (double)got[i], (double)want[i]);
            same = false;
        }
    }
    return same;
}

static void show_row(const bench_case *c, bench_times t, const bench_times *hand)
{
    char low[32], median[32], high[32], other[32], ratio[32] = "-", goal[48] = "-";
    double relative = hand ? t.median / hand->median : NAN,
           reached = c->by_ratio ? relative : t.median;
    if (hand) snprintf(ratio, sizeof ratio, "%.2f", relative);
    if (c->goal > 0 && c->by_ratio)
        snprintf(goal, sizeof goal, "<= %.2f%s", c->goal, reached <= c->goal ? "" : "  missed");
    if (c->goal > 0 && !c->by_ratio)
        snprintf(goal, sizeof goal, "<= %s%s", show_ns(c->goal, other, sizeof other),
                 reached <= c->goal ? "" : "  missed");
    printf("%-44s %9s %9s %9s %9s %6s  %s\n", c->name, show_ns(t.low, low, sizeof low),
           show_ns(t.median, median, sizeof median), show_ns(t.high, high, sizeof high),
           hand ? show_ns(hand->median, other, sizeof other) : "-", ratio, goal);
    fflush(stdout);
    if (!json || t.median != t.median) return;
    fprintf(json,
            "%s\n  {\"name\": \"%s\", \"min_ns\": %.1f, \"median_ns\": %.1f, \"max_ns\": %.1f",
            ftell(json) > 2 ? "," : "", c->name, t.low, t.median, t.high);
    if (hand) fprintf(json, ", \"hand_median_ns\": %.1f, \"ratio\": %.3f", hand->median, relative);
    fprintf(json, "}");
}

static void measure(const bench_case *c)
{
    double own[SAMPLES], hand[SAMPLES];
    if (c->sample) {
        int n = c->n ? c->n : SAMPLES;
        for (int i = 0; i < n; i++) own[i] = c->sample();
        show_row(c, summary(own, n), NULL);
        return;
    }
    c->run();
    if (dync_error() != DYNC_OK) {
        printf("%-44s failed: %s\n", c->name, dync_error_message());
        dync_clear_error();
        wrong = 1;
        return;
    }
    if (c->hand && !same_result(c)) wrong = 1;
    long n = repeats_for(c->run), n_hand = c->hand ? repeats_for(c->hand) : 0;
    /* in turn, so that both see the machine in the same mood */
    for (int i = 0; i < SAMPLES; i++) {
        own[i] = time_of(c->run, n);
        hand[i] = c->hand ? time_of(c->hand, n_hand) : 0;
    }
    bench_times other = summary(hand, SAMPLES);
    show_row(c, summary(own, SAMPLES), c->hand ? &other : NULL);
}

static void run_case(const bench_case *c)
{
    compiled = NULL;
    want = NULL;
    columns = rows = 0;
    DYNC_SCOPE {
        if (c->prepare) c->prepare(c->n);
        measure(c);
    }
    dync_compiled_free(compiled);
    free(want);
}

/* 10,000 guarded calls: neither live bytes nor the malloc count may move. */
static void steady_state(void)
{
    DYNC_SCOPE {
        prepare_small(10);
        for (int i = 0; i < 100; i++) run_one();
        dync_memory before = dync_memory_stats();
        for (int i = 0; i < 10000; i++) run_one();
        dync_memory after = dync_memory_stats();
        printf("%-44s live bytes %+lld, mallocs %+lld  (goal: neither changes)\n",
               "10,000 guarded calls", (long long)(after.live_bytes - before.live_bytes),
               (long long)(after.mallocs - before.mallocs));
    }
    dync_compiled_free(compiled);
    free(want);
}

static void show_machine(void)
{
    char line[256];
    FILE *f = fopen("/proc/cpuinfo", "rb");
    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, "model name", 10) == 0) {
            printf("%s", strchr(line, ':') ? strchr(line, ':') + 2 : line);
            break;
        }
    if (f) fclose(f);
#if defined(__VERSION__)
    printf("one thread, compiler %s\n\n", __VERSION__);
#endif
    printf("%-44s %9s %9s %9s %9s %6s  %s\n", "", "min", "median", "max", "by hand", "ratio",
           "goal");
}

int main(int argc, char **argv)
{
    const char *filter = argc > 1 ? argv[1] : "", *path = getenv("J");
    dync_init((dync_init_options){.threads = 1, .seed = 1});
    if (path && *path) json = fopen(path, "wb");
    if (json) fputs("[", json);
    show_machine();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bool compiles = cases[i].sample && cases[i].sample != sample_cold;
        if (!strstr(cases[i].name, filter) || (compiles && getenv("QUICK"))) continue;
        run_case(&cases[i]);
    }
    if (strstr("10,000 guarded calls", filter)) steady_state();
    if (json) fputs("\n]\n", json);
    if (json) fclose(json);
    dync_shutdown();
    return wrong;
}
