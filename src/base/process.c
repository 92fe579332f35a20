/* base/process.c: what the minifier asks of the operating system beyond os.c: child processes with
 * a time limit, folders, the working directory, the date. After os.c.
 *
 * A child runs one function on a copy of this process and sends a reply through a pipe. It ends
 * itself by SIGKILL, so that neither exit handlers nor buffered output of the parent run twice.
 * Where there is no fork the caller runs the function itself. <signal.h> hides kill under -std=c11;
 * it is declared by hand. */
#include "../dync.in.h"
#include "base.h"
DYNC__LEAN

#if !defined(DYNC_NO_STDIO) && (defined(__unix__) || defined(__APPLE__))
#define DYNC__PROCESSES
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
extern int kill(pid_t, int);
#if !defined(__GLIBC__) || !defined(__USE_XOPEN2K)
extern int lstat(const char *restrict, struct stat *restrict);
#endif
#if !defined(SIGKILL)
#define DYNC__SIGKILL 9
#else
#define DYNC__SIGKILL SIGKILL
#endif
#elif !defined(DYNC_NO_STDIO) && defined(_WIN32)
#include <direct.h>
#include <process.h>
#include <time.h>
#endif

/* ---- children -------------------------------------------------------------------------------- */

#if defined(DYNC__PROCESSES)
DYNC__FN bool dync__child_possible(void) { return true; }

static void dync__child_send(int fd, const char *reply, size_t n)
{
    while (n > 0) {
        ssize_t k = write(fd, reply, n);
        if (k <= 0) break;
        reply += k;
        n -= (size_t)k;
    }
}

/* The whole reply, or false at the end of the pipe (a crash) or of the time. */
static bool dync__child_receive(int fd, char *reply, size_t n, int timeout_ms, bool *late)
{
    uint64_t start = dync__now_ns();
    while (n > 0) {
        int64_t spent = (int64_t)((dync__now_ns() - start) / 1000000u);
        struct pollfd p = {.fd = fd, .events = POLLIN};
        int ready = timeout_ms > spent ? poll(&p, 1, (int)(timeout_ms - spent)) : 0;
        if (ready < 0 && errno == EINTR) continue;
        *late = ready == 0;
        ssize_t k = ready > 0 ? read(fd, reply, n) : 0;
        if (k <= 0) return false;
        reply += k;
        n -= (size_t)k;
    }
    return true;
}

DYNC__FN dync__child_end dync__child_run(void (*fn)(void *user, void *reply), void *user,
                                         void *reply, size_t n, int timeout_ms, int *signal_number)
{
    int fds[2], state = 0;
    bool late = false;
    if (pipe(fds) != 0) return DYNC__CHILD_NONE;
    fflush(stderr);
    pid_t child = fork();
    if (child < 0) {
        close(fds[0]);
        close(fds[1]);
        return DYNC__CHILD_NONE;
    }
    if (child == 0) {
        close(fds[0]);
        fn(user, reply);
        dync__child_send(fds[1], reply, n);
        kill(getpid(), DYNC__SIGKILL);
    }
    close(fds[1]);
    bool whole = dync__child_receive(fds[0], reply, n, timeout_ms, &late);
    close(fds[0]);
    if (!whole && late) kill(child, DYNC__SIGKILL);
    while (waitpid(child, &state, 0) < 0 && errno == EINTR) continue;
    if (whole) return DYNC__CHILD_DONE;
    *signal_number = WIFSIGNALED(state) ? WTERMSIG(state) : 0;
    return late ? DYNC__CHILD_HUNG : DYNC__CHILD_CRASHED;
}
#else
DYNC__FN bool dync__child_possible(void) { return false; }
DYNC__FN dync__child_end dync__child_run(void (*fn)(void *user, void *reply), void *user,
                                         void *reply, size_t n, int timeout_ms, int *signal_number)
{
    (void)fn, (void)user, (void)reply, (void)n, (void)timeout_ms, (void)signal_number;
    return DYNC__CHILD_NONE;
}
#endif

/* ---- folders and the date -------------------------------------------------------------------- */

#if defined(DYNC__PROCESSES)
static bool dync__folder_is(const char *path, bool last)
{
    struct stat s;
    return (last ? lstat(path, &s) : stat(path, &s)) == 0 && S_ISDIR(s.st_mode);
}
static bool dync__folder_make(const char *path, bool last)
{
    return mkdir(path, 0777) == 0 || (errno == EEXIST && dync__folder_is(path, last));
}
static bool dync__folder_here(char *out, size_t cap) { return getcwd(out, cap) != NULL; }
DYNC__FN int dync__process_id(void) { return (int)getpid(); }
#elif !defined(DYNC_NO_STDIO) && defined(_WIN32)
#include <errno.h>
static bool dync__folder_make(const char *path, bool last)
{
    return (void)last, _mkdir(path) == 0 || errno == EEXIST;
}
static bool dync__folder_here(char *out, size_t cap) { return _getcwd(out, (int)cap) != NULL; }
DYNC__FN int dync__process_id(void) { return (int)_getpid(); }
#else
static bool dync__folder_make(const char *path, bool last) { return (void)path, (void)last, false; }
static bool dync__folder_here(char *out, size_t cap)
{
    (void)out, (void)cap;
    return false;
}
DYNC__FN int dync__process_id(void) { return 0; }
#endif

DYNC__FN dync_status dync__folders_make(const char *path)
{
    dync__str part = {0};
    dync_status status = DYNC_OK;
    for (const char *p = path; status == DYNC_OK; p++) {
        bool border = *p == 0 || *p == '/';
        if (border && part.n && !dync__folder_make(dync__str_get(&part), *p == 0) && *p == 0)
            status = dync__fail(DYNC_ERR_IO, "cannot make the folder %s", path);
        if (*p == 0) break;
        dync__str_addc(&part, *p);
    }
    if (part.failed) status = DYNC_ERR_MEMORY;
    dync__str_free(&part);
    return status;
}

DYNC__FN void dync__folder_current(dync__str *out)
{
    char here[1024];
    dync__str_add(out, dync__folder_here(here, sizeof here) ? here : ".");
}

/* 2024_05_17_13_45_10_123456 */
DYNC__FN void dync__date_text(dync__str *out)
{
#if defined(DYNC__PROCESSES) || (!defined(DYNC_NO_STDIO) && defined(_WIN32))
#if defined(_WIN32)
    const time_t seconds = time(NULL);
    const long micros = (long)(dync__now_ns() / 1000 % 1000000);
    const struct tm *t = localtime(&seconds);
#else
    struct timespec now = {0};
    const struct tm *t = timespec_get(&now, TIME_UTC) ? localtime(&now.tv_sec) : NULL;
    const long micros = (long)(now.tv_nsec / 1000);
#endif
    if (t)
        dync__str_addf(out, "%d_%02d_%02d_%02d_%02d_%02d_%06ld", t->tm_year + 1900, t->tm_mon + 1,
                       t->tm_mday, t->tm_hour, t->tm_min, t->tm_sec, micros);
#else
    dync__str_add(out, "0");
#endif
}
