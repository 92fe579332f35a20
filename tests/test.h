/* tests/test.h: the test harness, one header, C11 and C++17.
 *
 *   #include "test.h"
 *   TEST(adds) { EXPECT(1 + 1 == 2); EXPECT_EQ_INT(f(3), 9); EXPECT_NEAR(g(0.5), 0.25, 1e-6); }
 *   TEST_MAIN
 *
 * EXPECT* record a failure and go on; REQUIRE returns from the test. Each test runs in a process of
 * its own where fork exists, so a crash or an endless loop is one failure and not the end. What a
 * passing test prints is thrown away. TEST_LONG defines a test that only `make test-all` runs
 * (TEST_LONG=1 in the environment), or -t with its whole name. test_count(n) is n times SOAK (1
 * where the environment has no SOAK): for tests that make random cases. SOAK may be a fraction, as
 * in `make test` and under sanitizers; of a list that has an end test_every() says that each nth
 * is enough then, and test_share(n) is at most n.
 * Options: -t text (names that contain it), --seed N, --list, --no-fork, -v (show output).
 * The last line is always "N passed, N failed, N skipped"; the exit status is 0 where nothing
 * failed.
 *
 * Include it after dync.h: then failed statuses show dync's message. TEST_AFTER_EACH, if defined
 * before, is run after each test. */
#ifndef DYNC_TESTS_TEST_H
#define DYNC_TESTS_TEST_H
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(__unix__) || defined(__APPLE__)
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>
#define TEST__FORK 1
#else
#define TEST__FORK 0
#endif

/* Instrumented code: slower, with larger frames and less memory for huge requests. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TEST_ASAN 1
#elif __has_feature(thread_sanitizer)
#define TEST_TSAN 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define TEST_ASAN 1
#elif defined(__SANITIZE_THREAD__)
#define TEST_TSAN 1
#endif

#if defined(__GNUC__)
#define TEST__UNUSED __attribute__((unused))
#define TEST__PRINTF(fmt, first) __attribute__((format(printf, fmt, first)))
#else
#define TEST__UNUSED
#define TEST__PRINTF(fmt, first)
#endif

typedef struct test__case {
    const char *name, *file;
    int line, is_long; /* long: only with TEST_LONG=1, or by its whole name */
    void (*fn)(void);
    struct test__case *next;
} test__case;

enum { TEST__PASS = 0, TEST__FAIL = 1, TEST__SKIP = 77, TEST__MAX_REPORTS = 20 };

static struct {
    test__case *cases; /* sorted by line */
    const char *program, *filter;
    uint64_t seed, random;
    int failures; /* of the running test */
    const char *skip_reason;
    int no_fork, verbose, timeout_s;
} test__state;

/* ---- defining tests -------------------------------------------------------------------------- */

TEST__UNUSED static void test__add(test__case *c)
{
    test__case **at = &test__state.cases;
    while (*at && (*at)->line < c->line) at = &(*at)->next;
    c->next = *at;
    *at = c;
}

/* A test registers itself before main: a constructor in C, a static object in C++. */
#if defined(__cplusplus)
#define TEST__REGISTER(name) static const int test__reg_##name = (test__add(&test__case_##name), 0);
#define TEST__USE(name) (void)test__reg_##name;
#else
#define TEST__REGISTER(name)                                        \
    __attribute__((constructor)) static void test__reg_##name(void) \
    {                                                               \
        test__add(&test__case_##name);                              \
    }
#define TEST__USE(name)
#endif
#define TEST__DEFINE(name, is_long)                                             \
    static void test__body_##name(void);                                        \
    static void test__run_##name(void);                                         \
    static test__case test__case_##name = {#name,   __FILE__,         __LINE__, \
                                           is_long, test__run_##name, NULL};    \
    TEST__REGISTER(name)                                                        \
    static void test__run_##name(void) { TEST__USE(name) test__body_##name(); } \
    static void test__body_##name(void)
#define TEST(name) TEST__DEFINE(name, 0)
#define TEST_LONG(name) TEST__DEFINE(name, 1)

#define SKIP(reason)                        \
    do {                                    \
        test__state.skip_reason = (reason); \
        return;                             \
    } while (0)

/* ---- expectations ---------------------------------------------------------------------------- */

/* True while this failure is among those worth printing. */
TEST__UNUSED static int test__fail(const char *file, int line, const char *what)
{
    if (++test__state.failures == TEST__MAX_REPORTS + 1 && !test__state.verbose)
        printf("  ... more failures are not shown: -v\n");
    if (test__state.failures > TEST__MAX_REPORTS && !test__state.verbose) return 0;
    printf("  %s:%d: %s\n", file, line, what);
    return 1;
}

TEST__UNUSED static int test__expect(int ok, const char *file, int line, const char *what)
{
    if (!ok) test__fail(file, line, what);
    return ok;
}

TEST__UNUSED static int test__eq_int(long long a, long long b, const char *file, int line,
                                     const char *what)
{
    if (a == b) return 1;
    if (test__fail(file, line, what)) printf("    got %lld, expected %lld\n", a, b);
    return 0;
}

TEST__UNUSED static int test__eq_ptr(const void *a, const void *b, const char *file, int line,
                                     const char *what)
{
    if (a == b) return 1;
    if (test__fail(file, line, what))
        printf("    got %s, expected %s\n", a ? "a pointer" : "NULL", b ? "another" : "NULL");
    return 0;
}

/* Long texts show the first line that differs. */
TEST__UNUSED static int test__eq_str(const char *a, const char *b, const char *file, int line,
                                     const char *what)
{
    size_t i = 0, start = 0;
    int row = 1, n_a, n_b;
    if (a && b && strcmp(a, b) == 0) return 1;
    if (!a && !b) return 1;
    if (!test__fail(file, line, what)) return 0;
    if (!a || !b) {
        printf("    got %s, expected %s\n", a ? a : "NULL", b ? b : "NULL");
        return 0;
    }
    for (; a[i] && a[i] == b[i]; i++)
        if (a[i] == '\n') {
            row++;
            start = i + 1;
        }
    n_a = (int)strcspn(a + start, "\n");
    n_b = (int)strcspn(b + start, "\n");
    printf("    first difference in line %d, column %d\n    got      \"%.*s\"\n    expected "
           "\"%.*s\"\n",
           row, (int)(i - start) + 1, n_a, a + start, n_b, b + start);
    if (strchr(a, '\n')) printf("    the whole text:\n%s\n", a);
    return 0;
}

TEST__UNUSED static int test__has_str(const char *text, const char *part, const char *file,
                                      int line, const char *what)
{
    if (text && part && strstr(text, part)) return 1;
    if (test__fail(file, line, what))
        printf("    \"%s\"\n    is not in \"%s\"\n", part ? part : "NULL", text ? text : "NULL");
    return 0;
}

/* Steps between two floats of the given width; -1 where one is NaN. */
TEST__UNUSED static double test__ulps64(double a, double b)
{
    int64_t i, j;
    if (a != a || b != b) return -1;
    memcpy(&i, &a, sizeof i);
    memcpy(&j, &b, sizeof j);
    if (i < 0) i = INT64_MIN - i;
    if (j < 0) j = INT64_MIN - j;
    return fabs((double)i - (double)j);
}

TEST__UNUSED static double test__ulps32(double a, double b)
{
    float x = (float)a, y = (float)b;
    int32_t i, j;
    if (a != a || b != b) return -1;
    memcpy(&i, &x, sizeof i);
    memcpy(&j, &y, sizeof j);
    if (i < 0) i = INT32_MIN - i;
    if (j < 0) j = INT32_MIN - j;
    return fabs((double)i - (double)j);
}

/* NaN matches NaN and nothing else; equal infinities match. */
TEST__UNUSED static int test__is_near(double a, double b, double tol)
{
    if (a != a || b != b) return a != a && b != b;
    return (a >= b && a <= b) || fabs(a - b) <= tol;
}

TEST__UNUSED static void test__show_pair(double a, double b)
{
    printf("    got %.17g, expected %.17g, off by %.3g (%.0f ulps of f32, %.0f of f64)\n", a, b,
           fabs(a - b), test__ulps32(a, b), test__ulps64(a, b));
}

TEST__UNUSED static int test__near(double a, double b, double tol, const char *file, int line,
                                   const char *what)
{
    if (test__is_near(a, b, tol)) return 1;
    if (test__fail(file, line, what)) test__show_pair(a, b);
    return 0;
}

/* Element i may differ by atol + rtol * |expected|. Reports the first that differs and how many
 * do. */
TEST__UNUSED static int test__array(const float *f, const double *d, const float *want_f,
                                    const double *want_d, long long n, double rtol, double atol,
                                    const char *file, int line, const char *what)
{
    long long i, first = -1, count = 0;
    if ((!f && !d) || (!want_f && !want_d)) return test__expect(n == 0, file, line, what);
    for (i = 0; i < n; i++) {
        double a = f ? (double)f[i] : d[i], b = want_f ? (double)want_f[i] : want_d[i];
        if (test__is_near(a, b, atol + rtol * fabs(b))) continue;
        if (first < 0) first = i;
        count++;
    }
    if (first < 0) return 1;
    if (test__fail(file, line, what)) {
        printf("    %lld of %lld differ, the first at %lld\n", count, n, first);
        test__show_pair(f ? (double)f[first] : d[first],
                        want_f ? (double)want_f[first] : want_d[first]);
    }
    return 0;
}

#if defined(DYNC_VERSION)
#define TEST__MESSAGE dync_error_message()
#else
#define TEST__MESSAGE ""
#endif
TEST__UNUSED static int test__ok(int status, const char *message, const char *file, int line,
                                 const char *what)
{
    if (status == 0) return 1;
    if (test__fail(file, line, what)) printf("    status %d: %s\n", status, message);
    return 0;
}

#define EXPECT(cond) test__expect((cond) ? 1 : 0, __FILE__, __LINE__, #cond)
#define EXPECT_EQ_INT(a, b) \
    test__eq_int((long long)(a), (long long)(b), __FILE__, __LINE__, #a " == " #b)
#define EXPECT_EQ_PTR(a, b) test__eq_ptr((a), (b), __FILE__, __LINE__, #a " == " #b)
#define EXPECT_EQ_STR(a, b) test__eq_str((a), (b), __FILE__, __LINE__, #a " is " #b)
#define EXPECT_HAS_STR(text, part) \
    test__has_str((text), (part), __FILE__, __LINE__, #text " contains " #part)
#define EXPECT_NEAR(a, b, tol) \
    test__near((double)(a), (double)(b), (tol), __FILE__, __LINE__, #a " is near " #b)
#define EXPECT_NEAR_F32(a, b, n, rtol, atol) \
    test__array((a), NULL, (b), NULL, (n), (rtol), (atol), __FILE__, __LINE__, #a " is near " #b)
#define EXPECT_NEAR_F64(a, b, n, rtol, atol) \
    test__array(NULL, (a), NULL, (b), (n), (rtol), (atol), __FILE__, __LINE__, #a " is near " #b)
#define EXPECT_F32_NEAR_F64(a, b, n, rtol, atol) \
    test__array((a), NULL, NULL, (b), (n), (rtol), (atol), __FILE__, __LINE__, #a " is near " #b)
#define EXPECT_OK(status) \
    test__ok((int)(status), TEST__MESSAGE, __FILE__, __LINE__, #status " succeeds")
#define EXPECT_STATUS(got, want) \
    test__eq_int((long long)(got), (long long)(want), __FILE__, __LINE__, #got " is " #want)
#define REQUIRE(cond)                                                         \
    do {                                                                      \
        if (!test__expect((cond) ? 1 : 0, __FILE__, __LINE__, #cond)) return; \
    } while (0)
#define REQUIRE_OK(status)                                                                    \
    do {                                                                                      \
        if (!test__ok((int)(status), TEST__MESSAGE, __FILE__, __LINE__, #status " succeeds")) \
            return;                                                                           \
    } while (0)

/* ---- random numbers of a test: the same for the same --seed and name ------------------------- */
TEST__UNUSED static uint64_t test_random(void)
{
    uint64_t z = (test__state.random += 0x9e3779b97f4a7c15u); /* SplitMix64 */
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}
TEST__UNUSED static int test_random_int(int low, int high) /* low <= result <= high */
{
    return low + (int)(test_random() % (uint64_t)((int64_t)high - low + 1));
}
TEST__UNUSED static double test_random_real(double low, double high)
{
    return low + (high - low) * ((double)(test_random() >> 11) / 9007199254740992.0);
}

TEST__UNUSED static double test__soak(void)
{
    const char *soak = getenv("SOAK");
    double times = soak ? atof(soak) : 1;
    return times > 0 ? times : 1;
}
TEST__UNUSED static int test_count(int quick)
{
    int n = (int)(quick * test__soak());
    return n > 0 ? n : 1;
}
/* of n cases at length, all, or fewer where SOAK is less than 1 */
TEST__UNUSED static int test_share(int n)
{
    int count = test_count(n);
    return count < n ? count : n;
}
TEST__UNUSED static int test_every(void)
{
    double times = test__soak();
    return times < 1 ? (int)(1 / times + 0.5) : 1;
}
/* did random cases meet something that often? Asked of as many as the test makes, or more. */
TEST__UNUSED static int test_met(int64_t times, int64_t least)
{
    return times >= least || test_every() > 1;
}

/* ---- running --------------------------------------------------------------------------------- */

static void test__run_here(const test__case *c)
{
    const char *p;
    test__state.failures = 0;
    test__state.skip_reason = NULL;
    test__state.random = test__state.seed;
    for (p = c->name; *p; p++)
        test__state.random = (test__state.random ^ (unsigned char)*p) * 0x100000001b3u;
    c->fn();
#if defined(TEST_AFTER_EACH)
    TEST_AFTER_EACH;
#endif
}

static int test__outcome(void)
{
    return test__state.failures ? TEST__FAIL : test__state.skip_reason ? TEST__SKIP : TEST__PASS;
}

static void test__report(const test__case *c, int outcome, const char *output, size_t n)
{
    if (outcome == TEST__FAIL) printf("FAIL %s (%s:%d)\n", c->name, c->file, c->line);
    if (outcome == TEST__SKIP) printf("skip %s: ", c->name);
    if (n && (outcome != TEST__PASS || test__state.verbose)) fwrite(output, 1, n, stdout);
    if (outcome == TEST__FAIL)
        printf("  repeat: %s -t %s --seed %llu --no-fork\n", test__state.program, c->name,
               (unsigned long long)test__state.seed);
    fflush(stdout);
}

#if TEST__FORK
/* The child writes everything into a pipe; a skipped one writes its reason. */
static int test__run_forked(const test__case *c)
{
    int fds[2], status = 0, outcome;
    pid_t child;
    char *text = NULL, chunk[4096];
    size_t n = 0;
    ssize_t got;
    fflush(NULL);
    if (pipe(fds) != 0 || (child = fork()) < 0) {
        perror("fork");
        return TEST__FAIL;
    }
    if (child == 0) {
        dup2(fds[1], 1);
        dup2(fds[1], 2);
        close(fds[0]);
        close(fds[1]);
        setvbuf(stdout, NULL, _IOLBF, 1024);
        alarm((unsigned)test__state.timeout_s);
        test__run_here(c);
        if (test__outcome() == TEST__SKIP) printf("%s\n", test__state.skip_reason);
        exit(test__outcome());
    }
    close(fds[1]);
    while ((got = read(fds[0], chunk, sizeof chunk)) > 0) {
        char *grown = (char *)realloc(text, n + (size_t)got + 128);
        if (!grown) break;
        text = grown;
        memcpy(text + n, chunk, (size_t)got);
        n += (size_t)got;
    }
    close(fds[0]);
    if (!text) text = (char *)malloc(128);
    waitpid(child, &status, 0);
    outcome = WIFEXITED(status) ? WEXITSTATUS(status) : TEST__FAIL;
    /* a sanitizer's exit status */
    if (outcome != TEST__PASS && outcome != TEST__SKIP && outcome != TEST__FAIL) {
        if (text) n += (size_t)snprintf(text + n, 128, "  exit status %d\n", outcome);
        outcome = TEST__FAIL;
    }
    if (WIFSIGNALED(status) && text)
        n += (size_t)snprintf(text + n, 128, "  killed by signal %d%s\n", WTERMSIG(status),
                              WTERMSIG(status) == 14 ? ": it ran too long" : "");
    test__report(c, outcome, text, n);
    free(text);
    return outcome;
}
#endif

static int test__run(const test__case *c)
{
#if TEST__FORK
    if (!test__state.no_fork) return test__run_forked(c);
#endif
    test__run_here(c);
    {
        int outcome = test__outcome();
        const char *reason = outcome == TEST__SKIP ? test__state.skip_reason : "";
        test__report(c, outcome, reason, strlen(reason));
        if (outcome == TEST__SKIP) printf("\n");
        return outcome;
    }
}

/* A filter that is the whole name of a test picks that one alone. */
static int test__wanted(const test__case *c)
{
    const test__case *other;
    const char *want_long = getenv("TEST_LONG");
    int skip = c->is_long && !(want_long && atoi(want_long));
    if (!test__state.filter) return !skip;
    for (other = test__state.cases; other; other = other->next)
        if (strcmp(other->name, test__state.filter) == 0)
            return strcmp(c->name, test__state.filter) == 0;
    return !skip && strstr(c->name, test__state.filter) != NULL;
}

static int test__main(int argc, char **argv)
{
    const test__case *c;
    const char *timeout = getenv("TEST_TIMEOUT");
    int i, list = 0, passed = 0, failed = 0, skipped = 0;
    test__state.program = argv[0];
    test__state.seed = 1;
    test__state.timeout_s = timeout ? atoi(timeout) : 300;
    for (i = 1; i < argc; i++) {
        if (strcmp(argv[i], "-t") == 0 && i + 1 < argc)
            test__state.filter = argv[++i];
        else if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc)
            test__state.seed = strtoull(argv[++i], NULL, 0);
        else if (strcmp(argv[i], "--list") == 0)
            list = 1;
        else if (strcmp(argv[i], "--no-fork") == 0)
            test__state.no_fork = 1;
        else if (strcmp(argv[i], "-v") == 0)
            test__state.verbose = 1;
        else {
            printf("usage: %s [-t text] [--seed N] [--list] [--no-fork] [-v]\n", argv[0]);
            return 2;
        }
    }
    for (c = test__state.cases; c; c = c->next) {
        int outcome;
        if (!test__wanted(c)) continue;
        if (list) {
            printf("%s\n", c->name);
            continue;
        }
        outcome = test__run(c);
        if (outcome == TEST__PASS)
            passed++;
        else if (outcome == TEST__SKIP)
            skipped++;
        else
            failed++;
    }
    if (!list) printf("%d passed, %d failed, %d skipped\n", passed, failed, skipped);
    return failed || (test__state.filter && !list && !passed && !skipped);
}

#define TEST_MAIN \
    int main(int argc, char **argv) { return test__main(argc, argv); }
#endif
