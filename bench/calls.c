/* bench/calls.c: what a call costs beside its kernels: guards, branches, misses, breaks, capture.
 * All tensors have ten elements, so that the kernels are next to nothing. Medians of 15 samples in
 * nanoseconds; numbers only, as in bench.c.
 *
 *   make bench   or build/bench/calls [text] J=file: the same as JSON (bench/peers/ prints it
 *                beside torch.compile's figures) */
#define DYNC_IMPLEMENTATION
#include "dync.h"
#include "timing.h"

enum { ELEMENTS = 10, MOST = 16 };
typedef struct call_case {
    const char *name;
    double (*sample)(void);
    double goal;
} call_case;

static dync_compiled *compiled;
static dync_tensor *in[MOST], *out;
static dync_value args[MOST];
static int n_args, operators;
static bool broken;

/* ---- the functions --------------------------------------------------------------------------- */
static dync_tensor *fn_small(dync_tensor *x) { return dync_relu(dync_add(x, 1)); }
static dync_value fn_sum_of_all(const dync_value *v, int n, void *user)
{
    dync_tensor *sum = dync_as_tensor(v[0]);
    (void)user;
    for (int i = 1; i < n; i++) sum = dync_add(sum, dync_as_tensor(v[i]));
    return dync_v_tensor(sum);
}
static dync_tensor *fn_branch(dync_tensor *x)
{
    dync_tensor *y = dync_add(x, 1);
    return dync_bool(dync_gt(dync_sum(y, DYNC_ALL, false), 0)) ? dync_mul(y, 2) : dync_mul(y, 3);
}
/* Three kernels under no_fuse, and one. */
static dync_tensor *fn_three(dync_tensor *x)
{
    dync_tensor *y = dync_add(x, 1);
    return dync_mul(y, dync_sum(y, DYNC_ALL, false));
}
static dync_tensor *fn_one(dync_tensor *x) { return dync_add(x, 1); }
static dync_tensor *fn_chain(dync_tensor *x)
{
    dync_tensor *y = x;
    for (int i = 0; i < operators; i++) y = i % 2 ? dync_mul(y, 0.5) : dync_add(y, x);
    if (broken) dync_graph_break("bench");
    return dync_add(y, 1);
}

/* A backend that compiles nothing: its callable answers with its first argument. */
static dync_value first_argument(void *state, const dync_value *v, int n)
{
    return (void)state, (void)n, dync_tuple(v[0].as.t);
}
static dync_status compile_nothing(dync_graph *g, const dync_value *examples, int n,
                                   const char *options, dync_callable *made, void *user)
{
    (void)g, (void)examples, (void)n, (void)options, (void)user;
    made->run = first_argument;
    return DYNC_OK;
}

/* ---- the samples ----------------------------------------------------------------------------- */
static void call(void)
{
    DYNC_SCOPE {
        dync_call_values(compiled, n_args, args);
    }
}
static void call_into(void) { dync_call_into_values(compiled, dync_v_tensor(out), n_args, args); }
static void call_plainly(void)
{
    DYNC_SCOPE {
        fn_small(in[0]);
    }
}

static double sample_of(void (*fn)(void))
{
    static void (*last)(void);
    static dync_compiled *last_compiled;
    static long n;
    if (fn != last || compiled != last_compiled) {
        for (int i = 0; i < 20; i++) fn();
        n = repeats_for(fn);
        last = fn;
        last_compiled = compiled;
    }
    return time_of(fn, n);
}

static double sample_tensors(int n)
{
    if (!compiled) compiled = n == 1 ? dync_compile(fn_small) : dync_compile(fn_sum_of_all);
    n_args = n;
    return sample_of(call);
}
static double sample_1(void) { return sample_tensors(1); }
static double sample_4(void) { return sample_tensors(4); }
static double sample_16(void) { return sample_tensors(16); }
static double sample_into(void)
{
    if (!compiled) compiled = dync_compile(fn_small);
    n_args = 1;
    return sample_of(call_into);
}
static double sample_branch(void)
{
    if (!compiled) compiled = dync_compile(fn_branch);
    n_args = 1;
    return sample_of(call);
}

/* Less three kernels: half as much again as what a graph of three takes more than a graph of
 * one. */
static double sample_branch_over(void)
{
    static dync_compiled *three, *one, *branch;
    if (!three)
        three = dync_compile(fn_three, .options = "no_fuse"),
        one = dync_compile(fn_one, .options = "no_fuse"), branch = dync_compile(fn_branch);
    n_args = 1;
    double t[3];
    for (int i = 0; i < 3; i++)
        compiled = i == 0 ? three : i == 1 ? one : branch, t[i] = sample_of(call);
    compiled = NULL;
    return t[2] - 1.5 * (t[0] - t[1]);
}

/* Eight entries by shape. With one shape more the limit is reached: the call asks all eight and
 * runs as written. */
static void eight_entries(void)
{
    if (compiled) return;
    compiled = dync_compile(fn_small, .recompile_limit = 8, .dynamic = DYNC_DYNAMIC_OFF);
    for (int i = 0; i < 9; i++) DYNC_SCOPE {
        dync_call(compiled, dync_ones(dync_shape(ELEMENTS + i + 1)));
    }
    call();
}
static double sample_miss(void)
{
    n_args = 1;
    eight_entries();
    double all = sample_of(call);
    return all - sample_of(call_plainly);
}
static int turn;
static dync_tensor *shapes[8];
static void call_in_turn(void)
{
    args[0] = dync_v_tensor(shapes[turn++ & 7]);
    call();
}
static double sample_eighth(void)
{
    n_args = 1;
    if (!compiled) {
        compiled = dync_compile(fn_small, .recompile_limit = 8, .dynamic = DYNC_DYNAMIC_OFF);
        for (int i = 0; i < 8; i++) shapes[i] = dync_ones(dync_shape(ELEMENTS + i));
    }
    double t = sample_of(call_in_turn);
    args[0] = dync_v_tensor(in[0]);
    return t;
}

/* What 64 operators more cost in a call that is replayed at a break, less what their kernels cost
 * where there is no break. */
static double chain_ns(bool with_break, int n)
{
    double best = 1e18;
    broken = with_break;
    operators = n;
    compiled = dync_compile(fn_chain);
    n_args = 1;
    for (int i = 0; i < 10; i++) call();
    for (int i = 0; i < 5; i++) {
        double t = time_of(call, 400);
        if (t < best) best = t;
    }
    dync_compiled_free(compiled);
    compiled = NULL;
    return best;
}
static double sample_replay(void)
{
    return (chain_ns(true, 96) - chain_ns(true, 32) - (chain_ns(false, 96) - chain_ns(false, 32))) /
           64;
}

static double capture_ns(int n)
{
    static const dync_backend nothing = {.name = "nothing", .compile = compile_nothing};
    double best = 1e18;
    broken = false;
    operators = n;
    n_args = 1;
    for (int i = 0; i < 10; i++) {
        compiled = dync_compile(fn_chain, .backend_object = &nothing);
        double start = now_ns();
        call();
        if (now_ns() - start < best) best = now_ns() - start;
        dync_compiled_free(compiled);
    }
    compiled = NULL;
    return best;
}
static double sample_capture(void) { return (capture_ns(300) - capture_ns(100)) / 200; }

static double sample_cold(void)
{
    compiled = dync_compile(fn_small);
    n_args = 1;
    double start = now_ns();
    call();
    double t = now_ns() - start;
    dync_compiled_free(compiled);
    compiled = NULL;
    return t;
}

static const call_case cases[] = {
    {"guarded call, 1 tensor", sample_1, 100},
    {"guarded call, 4 tensors", sample_4, 120},
    {"guarded call, 16 tensors", sample_16, 220},
    {"call into, 1 tensor", sample_into, 100},
    {"a branch, outcome known, with its kernels", sample_branch, 0},
    {"a branch, outcome known, over its kernels", sample_branch_over, 250},
    {"miss among 8 entries, over the plain call", sample_miss, 500},
    {"hit among 8 entries, each in turn", sample_eighth, 0},
    {"replay at a break, an operator", sample_replay, 40},
    {"capture, an operator", sample_capture, 1000},
    {"cold compile of relu(x + 1)", sample_cold, 0},
};

int main(int argc, char **argv)
{
    const char *filter = argc > 1 ? argv[1] : "", *path = getenv("J");
    FILE *json = path && *path ? fopen(path, "wb") : NULL;
    bool first = true;
    dync_init((dync_init_options){.threads = 1, .seed = 1});
    if (json) fputs("[", json);
    printf("%-44s %9s %9s %9s  %s\n", "what a call costs, 10 elements", "min", "median", "max",
           "goal");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char low[32], median[32], high[32], goal[32] = "-";
        double t[SAMPLES];
        if (!strstr(cases[i].name, filter)) continue;
        compiled = NULL;
        DYNC_SCOPE {
            for (int k = 0; k < MOST; k++)
                args[k] = dync_v_tensor(in[k] = dync_rand(dync_shape(ELEMENTS)));
            out = dync_zeros(dync_shape(ELEMENTS));
            for (int k = 0; k < SAMPLES; k++) t[k] = cases[i].sample();
            dync_compiled_free(compiled);
        }
        bench_times s = summary(t, SAMPLES);
        if (cases[i].goal > 0)
            snprintf(goal, sizeof goal, "<= %.0f ns%s", cases[i].goal,
                     s.median <= cases[i].goal ? "" : "  missed");
        printf("%-44s %9s %9s %9s  %s\n", cases[i].name, show_ns(s.low, low, sizeof low),
               show_ns(s.median, median, sizeof median), show_ns(s.high, high, sizeof high), goal);
        fflush(stdout);
        if (json)
            fprintf(json, "%s\n  {\"name\": \"%s\", \"median_ns\": %.1f, \"goal_ns\": %.0f}",
                    first ? "" : ",", cases[i].name, s.median, cases[i].goal);
        first = false;
    }
    if (json) fputs("\n]\n", json);
    if (json) fclose(json);
    dync_status status = dync_error();
    dync_shutdown();
    return status != DYNC_OK;
}
