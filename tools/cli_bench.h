/* tools/cli_bench.h: `dync bench`: the time of the first call and of those after it. */
#ifndef DYNC_TOOLS_CLI_BENCH_H
#define DYNC_TOOLS_CLI_BENCH_H
#include <inttypes.h>
#include <time.h>
#include "cli_inputs.h"

static double cli_now(void)
{
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}
/* Seconds a call, of so many. */
static double cli_call(dync_program *p, int n, const dync_value *args, int calls)
{
    double before = cli_now();
    for (int i = 0; i < calls; i++) DYNC_SCOPE {
        dync_program_run(p, n, args);
    }
    return (cli_now() - before) / calls;
}
static int cli_less(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}
static const char *cli_time(char out[32], double seconds)
{
    const char *unit = seconds < 1e-3 ? "us" : seconds < 1 ? "ms" : "s";
    snprintf(out, 32, "%.3g %s", seconds * (seconds < 1e-3 ? 1e6 : seconds < 1 ? 1e3 : 1), unit);
    return out;
}

static int cli_bench(const cli *c, dync_program *p)
{
    static double took[CLI_SAMPLES];
    dync_value args[CLI_INPUTS];
    char a[32], b[32], d[32];
    int n = cli_inputs(c, p, args), k = 0, calls = 1;
    if (n < 0) return CLI_FAILED;
    double first = cli_call(p, n, args, 1);
    while (calls < 1000 && cli_call(p, n, args, calls) * calls < 50e-6)
        calls *= 2; /* the clock's step */
    double until = cli_now() + c->seconds, said = cli_now();
    while (k < CLI_SAMPLES && dync_error() == DYNC_OK && (k < 3 || cli_now() < until)) {
        took[k++] = cli_call(p, n, args, calls);
        if (cli_now() - said < 2) continue;
        said = cli_now();
        fprintf(stderr, "dync: %d calls, %.0f s to go\n", k * calls,
                until > said ? until - said : 0);
    }
    if (dync_error() != DYNC_OK) return cli_failed(c->file, "did not run");
    qsort(took, (size_t)k, sizeof *took, cli_less);
    printf("first call  %s\n", cli_time(a, first));
    printf("a call      least %s, median %s, 90%% within %s (%d times %d)\n", cli_time(a, took[0]),
           cli_time(b, took[k / 2]), cli_time(d, took[k * 9 / 10]), k, calls);
    printf("memory      %" PRId64 " bytes at most\n", dync_memory_stats().peak_bytes);
    return CLI_DONE;
}
#endif
