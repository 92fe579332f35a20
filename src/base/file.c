/* base/file.c: whole files: read, and written so that the old one is there until the new one is.
 * After process.c; nothing else opens a file to write it, but for lines that are appended.
 *
 * A file is written beside its place under a name of its own, synced and renamed over the old one,
 * whose permissions it takes: a full disk, a crash or a limit on sizes leaves the old file. Devices
 * and pipes are written as they are. A link at the path is followed where the user named it, and
 * replaced in folders of dync's own, where a stranger may have put it. What -std=c11 hides is
 * declared by hand, as in os.c. */
#include "../dync.in.h"
#include "base.h"
DYNC__LEAN

#if defined(DYNC_NO_STDIO)
DYNC__FN dync_status(dync__file_read)(const char *path, char **out, size_t *n)
{
    *out = NULL;
    *n = 0;
    return dync__fail(DYNC_ERR_IO, "cannot read %s: built with DYNC_NO_STDIO",
                      path ? path : "(null)");
}
static dync_status dync__file_none(const char *path)
{
    return dync__fail(DYNC_ERR_IO, "cannot write %s: built with DYNC_NO_STDIO",
                      path ? path : "(null)");
}
DYNC__FN dync_status(dync__file_write)(const char *path, const void *data, size_t n)
{
    return (void)data, (void)n, dync__file_none(path);
}
DYNC__FN dync_status(dync__file_write_own)(const char *path, const void *data, size_t n)
{
    return (void)data, (void)n, dync__file_none(path);
}
DYNC__FN void dync__file_append_own(const char *path, const void *data, size_t n)
{
    (void)path, (void)data, (void)n;
}
#else
#include <errno.h>

static dync_status dync__file_error(const char *doing, const char *path, int error)
{
    return dync__fail(DYNC_ERR_IO, "cannot %s %s: %s", doing, path,
                      error ? strerror(error) : "input/output error");
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Reads to the end in growing steps: pipes and /proc files have no size. */
static dync_status dync__file_read_all(FILE *f, const char *path, char **out, size_t *n)
{
    size_t cap = 4096, used = 0;
    char *text = dync__alloc(cap);
    if (!text) return DYNC_ERR_MEMORY;
    for (;;) {
        used += fread(text + used, 1, cap - 1 - used, f);
        if (used < cap - 1) break;
        char *bigger = cap <= SIZE_MAX / 2 ? dync__realloc(text, cap, cap * 2) : NULL;
        if (!bigger) {
            dync__free(text, cap);
            return dync__fail_memory(cap);
        }
        text = bigger;
        cap *= 2;
    }
    if (ferror(f)) {
        int error = errno;
        dync__free(text, cap);
        return dync__file_error("read", path, error);
    }
    char *exact = dync__realloc(text, cap, used + 1);
    if (!exact) {
        dync__free(text, cap);
        return DYNC_ERR_MEMORY;
    }
    exact[used] = 0;
    *out = exact;
    *n = used;
    return DYNC_OK;
}

DYNC__FN dync_status dync__file_read(const char *path, char **out, size_t *n)
{
    *out = NULL;
    *n = 0;
    if (!path) return dync__fail(DYNC_ERR_VALUE, "a file is read: expected a path, got NULL");
    errno = 0;
    FILE *f = fopen(path, "rb");
    if (!f) return dync__file_error("read", path, errno);
    dync_status status = dync__file_read_all(f, path, out, n);
    fclose(f);
    return status;
}

/* ---- what is at a path ----------------------------------------------------------------------- */

typedef struct dync__file_place {
    enum { DYNC__FILE_NEW, DYNC__FILE_REGULAR, DYNC__FILE_LINK, DYNC__FILE_OTHER } kind;
    int mode;
} dync__file_place;

#if defined(__unix__) || defined(__APPLE__)
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#if !defined(__GLIBC__) || !defined(__USE_XOPEN2K)
extern int fileno(FILE *);
extern int fsync(int);
extern int lstat(const char *restrict, struct stat *restrict);
extern ssize_t readlink(const char *restrict, char *restrict, size_t);
#endif
#if defined(O_NOFOLLOW)
#define DYNC__FILE_NOFOLLOW O_NOFOLLOW
#elif defined(__O_NOFOLLOW)
#define DYNC__FILE_NOFOLLOW __O_NOFOLLOW
#else
#define DYNC__FILE_NOFOLLOW 0
#endif

static dync__file_place dync__file_look(const char *path)
{
    struct stat s;
    if (lstat(path, &s) != 0) return (dync__file_place){DYNC__FILE_NEW, -1};
    if ((s.st_mode & 0170000) == 0120000) return (dync__file_place){DYNC__FILE_LINK, -1};
    return (dync__file_place){S_ISREG(s.st_mode) ? DYNC__FILE_REGULAR : DYNC__FILE_OTHER,
                              (int)(s.st_mode & 07777)};
}

/* The path becomes what its link says. */
static bool dync__file_follow(dync__str *path)
{
    char to[1024];
    ssize_t n = readlink(dync__str_get(path), to, sizeof to);
    if (n <= 0 || n == (ssize_t)sizeof to) return false;
    size_t folder = path->n;
    while (folder > 0 && path->at[folder - 1] != '/') folder--;
    path->n = to[0] == '/' ? 0 : folder;
    dync__str_addn(path, to, (size_t)n);
    return !path->failed;
}

/* EINVAL: it cannot be synced */
static bool dync__file_sync(FILE *f) { return fsync(fileno(f)) == 0 || errno == EINVAL; }
static void dync__file_mode(const char *path, int mode)
{
    if (mode >= 0) (void)chmod(path, (mode_t)mode);
}
static bool dync__file_rename(const char *from, const char *to) { return rename(from, to) == 0; }

DYNC__FN void dync__file_append_own(const char *path, const void *data, size_t n)
{
    if (dync__file_look(path).kind == DYNC__FILE_LINK) return;
    int file = open(path, O_WRONLY | O_APPEND | O_CREAT | DYNC__FILE_NOFOLLOW, 0644);
    if (file < 0) return;
    ssize_t written = write(file, data, n);
    (void)written;
    close(file);
}
#else
#if defined(_WIN32)
#define DYNC__FILE_FRESH "wb" /* its older C library knows no x */
extern __declspec(dllimport) int __stdcall MoveFileExA(const char *, const char *, unsigned long);
static bool dync__file_rename(const char *from, const char *to)
{
    return MoveFileExA(from, to, 1 | 8 /* replace, write through */) != 0;
}
#else
static bool dync__file_rename(const char *from, const char *to) { return rename(from, to) == 0; }
#endif
static dync__file_place dync__file_look(const char *path)
{
    return (void)path, (dync__file_place){DYNC__FILE_NEW, -1};
}
static bool dync__file_follow(dync__str *path) { return (void)path, false; }
static bool dync__file_sync(FILE *f) { return (void)f, true; }
static void dync__file_mode(const char *path, int mode) { (void)path, (void)mode; }
DYNC__FN void dync__file_append_own(const char *path, const void *data, size_t n)
{
    FILE *f = fopen(path, "ab");
    if (!f) return;
    fwrite(data, 1, n, f);
    fclose(f);
}
#endif

#if !defined(DYNC__FILE_FRESH)
#define DYNC__FILE_FRESH "wbx"
#endif

/* ---- writing --------------------------------------------------------------------------------- */

/* 0, or why not. */
static int dync__file_put(const char *path, const char *mode, const void *data, size_t n, bool sync)
{
    errno = 0;
    FILE *f = fopen(path, mode);
    if (!f) return errno ? errno : EIO;
    bool written = (n == 0 || fwrite(data, 1, n, f) == n) && fflush(f) == 0 &&
                   (!sync || dync__file_sync(f));
    int error = written ? 0 : errno ? errno : EIO;
    if (fclose(f) != 0 && !error) error = errno ? errno : EIO;
    return error;
}

static int dync__file_replace(const char *path, const char *beside, int mode, const void *data,
                              size_t n)
{
    int error = dync__file_put(beside, DYNC__FILE_FRESH, data, n, true);
    if (error == EEXIST) return error; /* somebody else's */
    if (!error) dync__file_mode(beside, mode);
    if (!error && !dync__file_rename(beside, path)) error = errno ? errno : EIO;
    if (error) (void)remove(beside);
    return error;
}

static dync_status dync__file_save(const char *path, const void *data, size_t n, bool follow)
{
    static int32_t number;
    dync__str to = {0}, beside = {0};
    if (!path) return dync__fail(DYNC_ERR_VALUE, "a file is written: expected a path, got NULL");
    dync__str_add(&to, path);
    dync__file_place place = dync__file_look(path);
    bool known = true;
    for (int i = 0; place.kind == DYNC__FILE_LINK && follow && known; i++) {
        known = i < 40 && dync__file_follow(&to);
        place = dync__file_look(dync__str_get(&to));
    }
    dync__str_addf(&beside, "%s.%d.%d.new", dync__str_get(&to), dync__process_id(),
                   (int)DYNC__ATOMIC_INC(&number));
    dync_status status = to.failed || beside.failed ? DYNC_ERR_MEMORY : DYNC_OK;
    int error = known || status != DYNC_OK ? 0 : ELOOP;
    if (status == DYNC_OK && known)
        error = place.kind == DYNC__FILE_OTHER
                    ? dync__file_put(dync__str_get(&to), "wb", data, n, false)
                    : dync__file_replace(dync__str_get(&to), dync__str_get(&beside), place.mode,
                                         data, n);
    dync__str_free(&to);
    dync__str_free(&beside);
    return error ? dync__file_error("write", path, error) : status;
}

DYNC__FN dync_status dync__file_write(const char *path, const void *data, size_t n)
{
    return dync__file_save(path, data, n, true);
}
DYNC__FN dync_status dync__file_write_own(const char *path, const void *data, size_t n)
{
    return dync__file_save(path, data, n, false);
}
#endif
