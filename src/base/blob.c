/* base/blob.c: the bytes of a file, counted: mapped where the system can, else read. After file.c.
 *
 * A mapping is private: whoever writes into it changes his memory, not the file. As with every
 * mapping, a file that somebody else makes shorter meanwhile ends the program that reads on; files
 * that dync writes are replaced, never shortened. */
#include "../dync.in.h"
#include "base.h"
DYNC__LEAN

#if !defined(DYNC_NO_STDIO) && (defined(__unix__) || defined(__APPLE__))
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static void *dync__blob_map(const char *path, size_t *n)
{
    struct stat s;
    int file = open(path, O_RDONLY);
    void *p = NULL;
    if (file < 0) return NULL;
    if (fstat(file, &s) == 0 && S_ISREG(s.st_mode) && s.st_size > 0) {
        *n = (size_t)s.st_size;
        p = mmap(NULL, *n, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
        if (p == MAP_FAILED) p = NULL;
    }
    close(file);
    return p;
}
static void dync__blob_unmap(void *p, size_t n) { munmap(p, n); }
#else
static void *dync__blob_map(const char *path, size_t *n) { return (void)path, (void)n, NULL; }
static void dync__blob_unmap(void *p, size_t n) { (void)p, (void)n; }
#endif

DYNC__FN dync__blob *dync__blob_take(char *bytes, size_t n, bool mapped)
{
    dync__blob *b = dync__alloc(sizeof *b);
    if (b)
        *b = (dync__blob){1, mapped, bytes, n};
    else if (mapped)
        dync__blob_unmap(bytes, n);
    else
        dync__free(bytes, n + 1);
    return b;
}

DYNC__FN dync_status(dync__blob_open)(const char *path, dync__blob **out)
{
    size_t n = 0;
    char *bytes = path ? dync__blob_map(path, &n) : NULL;
    bool mapped = bytes != NULL;
    *out = NULL;
    if (!mapped) DYNC__TRY(dync__file_read(path, &bytes, &n));
    *out = dync__blob_take(bytes, n, mapped);
    return *out ? DYNC_OK : DYNC_ERR_MEMORY;
}

DYNC__FN void dync__blob_ref(dync__blob *b) { (void)DYNC__ATOMIC_INC(&b->refs); }

DYNC__FN void dync__blob_unref(dync__blob *b)
{
    if (!b || DYNC__ATOMIC_DEC(&b->refs) != 0) return;
    if (b->mapped)
        dync__blob_unmap(b->bytes, b->n);
    else
        dync__free(b->bytes, b->n + 1);
    dync__free(b, sizeof *b);
}
