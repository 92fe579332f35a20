/* tools/runtests.c: runs test programs, two at a time or as many as --jobs says, and adds up what
 * they say.
 *
 *   runtests [--jobs n] [--out dir] { [--with "command"] [--examples expected-dir] [--plain]
 *   program | what=shell command } ...
 *
 * A program that prints "N passed, N failed, N skipped" counts as that; any other program, and each
 * `what=command`, counts as one test that passes if its exit status is 0. --with puts a command
 * before each program (valgrind, qemu, env NAME=value). Under --examples a program runs in an empty
 * folder and its standard output is compared with expected-dir/name.txt, where * stands for any
 * text within a line. --with, --examples and --plain (neither) hold from where they stand. Output
 * is shown only where something failed, but for the lines that begin with "skip ". The last line is
 * "N passed, N failed". */
#include <pthread.h>
#include <time.h>
#include "tool.h"

enum { MAX_JOBS = 16 };

typedef struct totals {
    long passed, failed, skipped;
} totals;
/* An item of the command line and what held where it stood. */
typedef struct job {
    const char *item, *with, *expected_dir;
    /* its files are apart from a namesake's */
    int number;
} job;
static const char *out_dir = "build/run";
/* what follows, and standard output */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char **next_item;
/* what holds for the items from here on */
static job current = {NULL, "", NULL, 0};
static totals sum;

static double now(void)
{
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* The sum of the summary lines in a program's output; false if there is none. */
static bool read_summary(const char *text, totals *t)
{
    bool found = false;
    *t = (totals){0};
    for (; *text; text += tool_line(text)) {
        totals one = {0};
        if (sscanf(text, "%ld passed, %ld failed, %ld skipped", &one.passed, &one.failed,
                   &one.skipped) < 2)
            continue;
        found = true;
        t->passed += one.passed;
        t->failed += one.failed;
        t->skipped += one.skipped;
    }
    return found;
}

/* One line of expected text against one of output; * matches any run of characters. Both end at
 * their newline. */
static bool line_matches(const char *want, const char *got)
{
    for (; *want && *want != '\n'; want++, got++) {
        if (*want == '*') {
            for (; *got && *got != '\n'; got++)
                if (line_matches(want + 1, got)) return true;
            return line_matches(want + 1, got);
        }
        if (*want != *got) return false;
    }
    return *got == 0 || *got == '\n';
}

/* Prints the first line that differs; true where there is none. */
static bool matches_expected(const char *expected_dir, const char *name, const char *got)
{
    char path[2 * TOOL_PATH];
    char *want;
    int row = 1;
    snprintf(path, sizeof path, "%s/%s.txt", expected_dir, name);
    want = tool_read(path);
    if (!want) {
        printf("  %s is missing; the program printed:\n%s", path, got);
        return false;
    }
    for (const char *w = want;; w += tool_line(w), got += tool_line(got), row++) {
        if (*w ? *got && line_matches(w, got) : !*got) {
            if (*w) continue;
            free(want);
            return true;
        }
        printf("  %s line %d\n    got      %.*s\n    expected %.*s\n", path, row,
               (int)strcspn(got, "\n"), got, (int)strcspn(w, "\n"), w);
        free(want);
        return false;
    }
}

static char *read_or_empty(const char *path)
{
    char *text = tool_read(path);
    return text ? text : (char *)tool_alloc(1);
}

static void show_skips(const char *text)
{
    for (; *text; text += tool_line(text))
        if (strncmp(text, "skip ", 5) == 0) printf("  %.*s", (int)tool_line(text), text);
}

/* The shell command that runs it, its output in two files. */
static char *command_of(const job *j, const char *out, const char *err)
{
    const char *equals = strchr(j->item, '=');
    size_t cap = strlen(j->item) + strlen(j->with) + 6 * TOOL_PATH;
    char *command = tool_alloc(cap);
    if (equals)
        snprintf(command, cap, "( %s ) >%s 2>%s", equals + 1, out, err);
    else if (j->expected_dir)
        snprintf(command, cap,
                 "( item=$(realpath %s); rm -rf %s.d; mkdir -p %s.d && cd %s.d && "
                 "%s \"$item\" ) >%s 2>%s",
                 j->item, out, out, out, j->with, out, err);
    else
        snprintf(command, cap, "%s %s >%s 2>%s", j->with, j->item, out, err);
    return command;
}

/* Adds its totals to the sums and says what came of it. */
static void report(const job *j, const char *name, totals t, bool show, const char *text,
                   const char *errors, double seconds)
{
    const char *equals = strchr(j->item, '=');
    bool ok = t.failed == 0;
    printf("%-4s %-34s %5ld passed %6.1f s%s%s\n", ok ? "ok" : "FAIL", name, t.passed, seconds,
           *j->with ? "   " : "", j->with);
    if (!ok && show) printf("%s%s", text, errors);
    if (!ok)
        printf("  repeat: %s%s%s\n", equals ? "" : j->with, *j->with && !equals ? " " : "",
               equals ? equals + 1 : j->item);
    else
        show_skips(text);
    fflush(stdout);
    sum.passed += t.passed;
    sum.failed += t.failed;
    sum.skipped += t.skipped;
}

static void run(const job *j)
{
    char name[TOOL_PATH], out[TOOL_PATH * 2], err[TOOL_PATH * 2], *command, *text, *errors;
    const char *equals = strchr(j->item, '=');
    double start = now();
    int status;
    bool differs;
    totals t;
    if (strlen(j->item) >= TOOL_PATH && !equals) tool_die("name too long: %s", j->item);
    if (equals)
        snprintf(name, sizeof name, "%.*s", (int)(equals - j->item), j->item);
    else
        snprintf(name, sizeof name, "%s", base_name(j->item));
    snprintf(out, sizeof out, "%s/%03d-%s.out", out_dir, j->number, name);
    snprintf(err, sizeof err, "%s/%03d-%s.err", out_dir, j->number, name);
    command = command_of(j, out, err);
    status = system(command);
    text = read_or_empty(out);
    errors = read_or_empty(err);
    if (!read_summary(text, &t))
        t = status == 0 ? (totals){1, 0, 0} : (totals){0, 1, 0};
    else if (status != 0 && t.failed == 0)
        t.failed = 1;
    pthread_mutex_lock(&lock);
    differs = t.failed == 0 && j->expected_dir && !equals &&
              !matches_expected(j->expected_dir, name, text);
    if (differs) t = (totals){0, 1, 0};
    report(j, name, t, !differs, text, errors, now() - start);
    pthread_mutex_unlock(&lock);
    free(command);
    free(text);
    free(errors);
}

/* The next item with what holds for it; false at the end. */
static bool take_job(job *j)
{
    pthread_mutex_lock(&lock);
    for (; *next_item; next_item++) {
        if (strcmp(*next_item, "--examples") == 0 && next_item[1])
            current.expected_dir = *++next_item;
        else if (strcmp(*next_item, "--with") == 0 && next_item[1])
            current.with = *++next_item;
        else if (strcmp(*next_item, "--plain") == 0)
            current.expected_dir = NULL, current.with = "";
        else
            break;
    }
    current.item = *next_item ? *next_item++ : NULL;
    current.number++;
    *j = current;
    pthread_mutex_unlock(&lock);
    return j->item != NULL;
}

static void *work(void *unused)
{
    job j;
    while (take_job(&j)) run(&j);
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t worker[MAX_JOBS];
    char command[TOOL_PATH * 2];
    int i = 1, jobs = 2, n = 0;
    for (; i + 1 < argc && strncmp(argv[i], "--", 2) == 0; i += 2) {
        if (strcmp(argv[i], "--out") == 0)
            out_dir = argv[i + 1];
        else if (strcmp(argv[i], "--jobs") == 0)
            jobs = atoi(argv[i + 1]);
        else
            break;
    }
    snprintf(command, sizeof command, "rm -rf %s && mkdir -p %s", out_dir, out_dir);
    if (system(command) != 0) tool_die("runtests: cannot make %s", out_dir);
    next_item = argv + i;
    while (n < jobs - 1 && n < MAX_JOBS && pthread_create(&worker[n], NULL, work, NULL) == 0) n++;
    work(NULL);
    while (n > 0) pthread_join(worker[--n], NULL);
    if (sum.skipped) printf("%ld skipped, with the reasons above\n", sum.skipped);
    printf("%ld passed, %ld failed\n", sum.passed, sum.failed);
    return sum.failed != 0 || sum.passed == 0;
}
