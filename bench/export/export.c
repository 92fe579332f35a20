/* The networks of tests/embed/peers as C files (dync_program_save_c) beside the compiled
 * functions, in one process, a sample of each in turn: bench/export/export.sh, `make bench-export`.
 * One thread.
 *
 *   export folder [net ...]      writes the C files, as tests/embed/peers/nets.c does
 *   export --time [net ...]      linked with them (-DBENCH_FORMS): a row for each, least times
 *
 * The C files are compiled twice, NET_run_native and NET_run_plain. Results are compared first. */
#define main nets_main
#include "../../tests/embed/peers/nets.c"
#undef main

#ifdef BENCH_FORMS
#include "../timing.h"
#define NETS(X) X(mlp) X(cnn) X(mobilenet) X(gru) X(keywords) X(autoencoder)
#define X(net) void net##_run_native(const void *, void *), net##_run_plain(const void *, void *);
NETS(X)
#undef X
static const struct {
    void (*run[2])(const void *, void *);
} forms[] = {
#define X(net) {{net##_run_native, net##_run_plain}},
    NETS(X)
#undef X
};

enum { MOST_OUT = 4096, FORMS = 3 };
static struct {
    void (*run)(const void *, void *);
    const void *in;
    dync_compiled *compiled;
    dync_value x;
} now;
static float got[MOST_OUT];

static void exported(void) { now.run(now.in, got); }
static void compiled(void)
{
    DYNC_SCOPE {
        (void)dync_call_values(now.compiled, 1, &now.x);
    }
}

/* Does what the C file gives lie near what the compiled function does? */
static bool same(dync_tensor *want)
{
    const float *w = dync_data(want);
    bool near = true;
    exported();
    for (int64_t i = 0; i < dync_numel(want); i++)
        near = near && fabsf(got[i] - w[i]) <= 1e-4f + 1e-3f * fabsf(w[i]);
    return near;
}

static bool row(int i)
{
    bench_times t[FORMS];
    double sample[FORMS][SAMPLES];
    long repeats[FORMS];
    char text[FORMS][32];
    bool right = true;
    dync_manual_seed(20);
    n_weights = 0;
    dync_tensor *x = dync_randn(nets[i].make());
    now.x = DYNC_V(x);
    now.compiled = dync_compile(nets[i].run);
    now.in = dync_data(x);
    dync_tensor *want = dync_as_tensor(dync_call_values(now.compiled, 1, &now.x));
    if (!want || dync_numel(want) > MOST_OUT) return false;
    want = dync_contiguous(dync_detach(want));
    for (int k = 0; k < FORMS; k++) {
        now.run = k ? forms[i].run[k - 1] : NULL;
        if (k) right = right && same(want);
        repeats[k] = repeats_for(k ? exported : compiled);
    }
    for (int at = 0; at < SAMPLES; at++)
        for (int k = 0; k < FORMS; k++) {
            now.run = k ? forms[i].run[k - 1] : NULL;
            sample[k][at] = time_of(k ? exported : compiled, repeats[k]);
        }
    for (int k = 0; k < FORMS; k++) {
        t[k] = summary(sample[k], SAMPLES);
        (void)show_ns(t[k].low, text[k], sizeof text[k]);
    }
    printf("%-12s %10s %10s %6.2f %10s %6.2f%s\n", nets[i].name, text[0], text[1],
           t[1].low / t[0].low, text[2], t[2].low / t[0].low, right ? "" : "  WRONG");
    dync_compiled_free(now.compiled);
    return right;
}

int main(int argc, char **argv)
{
    bool right = true;
    if (argc < 2 || strcmp(argv[1], "--time") != 0) return nets_main(argc, argv);
    dync_init((dync_init_options){.threads = 1});
    dync_set_grad_enabled(false);
    printf("%-12s %10s %10s %6s %10s %6s\n", "", "compiled", "native", "ratio", "plain", "ratio");
    for (size_t i = 0; i < sizeof nets / sizeof nets[0]; i++)
        if (wanted(argc, argv, nets[i].name)) DYNC_SCOPE {
            right = row((int)i) && right;
        }
    return !right;
}
#else
int main(int argc, char **argv) { return nets_main(argc, argv); }
#endif
