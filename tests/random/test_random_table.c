/* Random programs over the whole operator table, forward and backward: plain, aot_eager, inductor
 * on every level of code generation, without fusion, with changing sizes; plain itself against F64.
 * `--seed N` begins at program (N - 1) * 1000000; SOAK=200 makes 200 times as many; -v shows how
 * often each row occurred; one program: -t one_program --seed N (MODE="inductor dynamic" for one of
 * the modes), which is what a failure prints. */
#define _POSIX_C_SOURCE 200809L
#include "shrink.h"
#include "print.h"
#include <signal.h>

static void quiet(dync_status status, const char *message, void *user)
{
    (void)status, (void)message, (void)user;
}

/* ---- crashes say whose they are -------------------------------------------------------------- */
static char running[256];
static void crashed(int number)
{
    ssize_t written = write(1, running, strlen(running));
    (void)written;
    signal(number, SIG_DFL);
    raise(number);
}
static void start(uint64_t seed, const char *mode)
{
    snprintf(running, sizeof running, "  in %s: %s -t one_program --no-fork --seed %llu\n", mode,
             test__state.program, (unsigned long long)seed);
}

/* ---- programs -------------------------------------------------------------------------------- */
static int count_of[N_CALLS], n_programs, n_trained, n_changed, n_compared, n_wrong;

static uint64_t shrunk_form(const program *p)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (int i = 0; i < p->n_steps; i++) h = (h ^ (uint64_t)p->at[i].row) * 0x100000001b3u;
    return h;
}

static void report(const program *p, int m, const sizes *made, const char *differs)
{
    static uint64_t seen[256];
    static int n_seen;
    static program q;
    char first[600];
    sizes s = *made;
    snprintf(first, sizeof first, "%s", differs);
    q = *p;
    shrink(&q, &modes[m], &s);
    uint64_t form = shrunk_form(&q);
    for (int i = 0; i < n_seen; i++)
        if (seen[i] == form) return;
    if (n_seen < 256) seen[n_seen++] = form;
    printf("program %llu: %s\n", (unsigned long long)p->seed, first);
    int compared = 0;
    mode_differs(&q, &modes[m], &s, first, sizeof first, &compared);
    printf("shrunk: %s\n", first);
    print_program(&q, &s);
    printf("repeat: %s -t one_program --no-fork --seed %llu\n", test__state.program,
           (unsigned long long)p->seed);
    EXPECT(!"a compiled program does what it does eagerly");
    fflush(stdout);
}

static bool check(uint64_t seed, const char *only)
{
    static program p;
    bool right = true;
    DYNC_SCOPE {
        start(seed, "the generator");
        sizes made = program_make(&p, seed);
        n_programs++;
        n_trained += p.train;
        for (int i = 0; i < p.n_steps; i++) count_of[p.at[i].row]++;
        for (int m = 0; m < N_MODES && p.n_out; m++) {
            char text[600];
            if (only ? !strstr(modes[m].name, only) : !modes[m].backend && seed % 4) continue;
            if (modes[m].changing && (!symbolic(&p) || (!only && m != 3 + (int)(seed % 4))))
                continue;
            start(seed, modes[m].name);
            n_changed += modes[m].changing;
            const char *differs =
                mode_differs(&p, &modes[m], &made, text, sizeof text, &n_compared);
            if (!differs) continue;
            right = false;
            n_wrong++;
            report(&p, m, &made, differs);
        }
    }
    return right;
}

static void show_counts(void)
{
    printf("%d programs, %d with gradients, %d of them with changing sizes, %d calls compared\n",
           n_programs, n_trained, n_changed, n_compared);
    for (int i = 0; i < N_CALLS; i++)
        printf("%s%s %d", i % 8 ? ", " : "\n  ", rows[i].name, count_of[i]);
    printf("\n");
}

static void many(int n, const char *level, const char *only)
{
    static const int fatal[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGALRM};
    if (level) setenv("DYNC_CPU", level, 1);
    for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++) signal(fatal[i], crashed);
    dync_on_error(quiet, NULL);
    for (int i = 0; i < n && n_wrong < 200; i++)
        check((test__state.seed - 1) * 1000000 + (uint64_t)i, only);
    show_counts();
}

TEST(programs)
{
    many(test_count(500), NULL, NULL);
    for (int i = 0; i < N_CALLS; i++)
        if (!EXPECT(test_met(count_of[i], 1) || why_left_out(rows[i].name)))
            printf("    %s did not occur\n", rows[i].name);
}
TEST(programs_plain) { many(test_count(100), NULL, "plain"); }
TEST(programs_avx2) { many(test_count(100), "avx2", "inductor"); }
TEST(programs_none) { many(test_count(100), "none", "inductor"); }
/* 16 bits round a small error away, until further steps make it larger. */
static int steps_that_show(const program *p)
{
    int least = 4;
    for (int i = 0; i < p->n_in; i++)
        if (p->in[i].dtype == DYNC_F16 || p->in[i].dtype == DYNC_BF16) least = 8;
    return least;
}
/* A backend that is wrong where there is a relu is found out, and the program that shows it is
 * small. */
TEST(wrong_backends_are_found)
{
    static const mode wrong = {"wrong", "relu_accuracy_error_TESTING_ONLY", NULL, false,
                               DYNC_DYNAMIC_OFF};
    static program p;
    int found = 0, relu = row_named("relu");
    dync_on_error(quiet, NULL);
    for (int i = 0; i < 8; i++) DYNC_SCOPE {
        char text[600];
        int compared = 0;
        sizes made = program_make(&p, (uint64_t)(i * N_CALLS + relu));
        if (!p.n_out || !mode_differs(&p, &wrong, &made, text, sizeof text, &compared)) continue;
        shrink(&p, &wrong, &made);
        if (!EXPECT(p.n_steps <= steps_that_show(&p) && p.n_out == 1)) print_program(&p, &made);
        found++;
    }
    EXPECT(found >= 5);
}

TEST_LONG(programs_at_length)
{
    test__state.seed += 1000;
    many(test_count(5000), NULL, NULL);
}
TEST_LONG(one_program)
{
    static program p;
    dync_on_error(quiet, NULL);
    DYNC_SCOPE {
        sizes made = program_make(&p, test__state.seed);
        print_program(&p, &made);
        fflush(stdout);
    }
    const char *only = getenv("MODE");
    for (int i = 0; i < N_MODES; i++)
        if (!only || strcmp(only, modes[i].name) == 0) check(test__state.seed, modes[i].name);
}
TEST_MAIN
