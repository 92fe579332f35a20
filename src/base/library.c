/* base/library.c: shared libraries that are opened while the program runs: of backends whose work
 * somebody else's library does. Nothing is linked for it: where the C library's own dlopen is not
 * part of the program (static programs, C libraries that keep it apart, systems without it), there
 * are no libraries to open. After os.c. */
#include "../dync.in.h"
#include "library.h"
DYNC__LEAN

#if DYNC__LIBRARIES
#if defined(__APPLE__)
#define DYNC__LIB_WEAK
#else
#define DYNC__LIB_WEAK __attribute__((weak))
#endif
/* <dlfcn.h>'s, as POSIX has them; 2 is RTLD_NOW, here and on macOS, and 0 RTLD_LOCAL (macOS: 4) */
#if defined(__APPLE__)
enum { DYNC__LIB_GLOBAL = 8 };
#else
enum { DYNC__LIB_GLOBAL = 256 };
#endif
extern void *dlopen(const char *, int) DYNC__LIB_WEAK;
extern void *dlsym(void *DYNC__RESTRICT, const char *DYNC__RESTRICT) DYNC__LIB_WEAK;
extern int dlclose(void *) DYNC__LIB_WEAK;

static void *dync__lib_load(const char *path, int how)
{
#if !defined(__APPLE__)
    if (!dlopen || !dlsym || !dlclose) return NULL;
#endif
    return path && *path ? dlopen(path, how) : NULL;
}
DYNC__FN void *dync__lib_open(const char *path) { return dync__lib_load(path, 2); }
DYNC__FN void *dync__lib_open_for_all(const char *path)
{
    return dync__lib_load(path, 2 | DYNC__LIB_GLOBAL);
}

DYNC__FN dync__lib_fn dync__lib_symbol(void *library, const char *name)
{
    /* ISO C has no cast from a pointer to a function */
    void *found = library ? dlsym(library, name) : NULL;
    dync__lib_fn fn = NULL;
    memcpy(&fn, &found, sizeof found);
    return fn;
}

DYNC__FN void dync__lib_close(void *library)
{
    if (library) dlclose(library);
}
#else
DYNC__FN void *dync__lib_open(const char *path)
{
    (void)path;
    return NULL;
}
DYNC__FN void *dync__lib_open_for_all(const char *path) { return dync__lib_open(path); }
DYNC__FN dync__lib_fn dync__lib_symbol(void *library, const char *name)
{
    (void)library, (void)name;
    return NULL;
}
DYNC__FN void dync__lib_close(void *library) { (void)library; }
#endif

#if defined(__linux__) && !defined(DYNC_NO_STDIO)
#include <dirent.h>
#include <unistd.h>
#if !defined(__GLIBC__) || !defined(__USE_XOPEN2K)
extern ssize_t readlink(const char *restrict, char *restrict, size_t);
#endif
#endif
DYNC__FN bool dync__lib_beside(const char *name, dync__str *out)
{
#if defined(__linux__) && !defined(DYNC_NO_STDIO)
    char path[4096];
    long n = (long)readlink("/proc/self/exe", path, sizeof path);
    while (n > 0 && path[n - 1] != '/') n--;
    if (n <= 0 || n > (long)sizeof path) return false;
    dync__str_addn(out, path, (size_t)n);
    dync__str_add(out, name);
    return !out->failed;
#else
    (void)name, (void)out;
    return false;
#endif
}

/* Of several versions, the one that the folder has first. */
DYNC__FN void *dync__lib_open_beside(const char *name)
{
    dync__str path = {0};
    void *library = dync__lib_beside(name, &path) ? dync__lib_open(path.at) : NULL;
    dync__str_free(&path);
#if defined(__linux__) && !defined(DYNC_NO_STDIO)
    size_t n = strlen(name);
    DIR *folder = !library && dync__lib_beside("", &path) ? opendir(path.at) : NULL;
    dync__str_free(&path);
    for (struct dirent *e; !library && folder && (e = readdir(folder)) != NULL;) {
        if (strncmp(e->d_name, name, n) != 0 || e->d_name[n] != '.') continue;
        if (dync__lib_beside(e->d_name, &path)) library = dync__lib_open(path.at);
        dync__str_free(&path);
    }
    if (folder) closedir(folder);
#endif
    return library;
}
