/* tests/unit/guarded.h: memory that ends where a page may not be touched. After src/dync.in.h,
 * ../test.h. */
#ifndef DYNC_TESTS_GUARDED_H
#define DYNC_TESTS_GUARDED_H
/* Memory whose end is the end of what may be touched, where the system has pages. */
#if defined(__unix__) && !defined(DYNC_NO_JIT) /* which has no pages of code to lend */
#include <sys/mman.h>
enum { PAGE = 4096 };
typedef struct guarded {
    char *map, *data;
    size_t bytes;
} guarded;
static inline guarded guarded_new(size_t bytes)
{
    guarded g = {NULL, NULL, (bytes + PAGE - 1) / PAGE * PAGE + PAGE};
    g.map = dync__os_code_pages(g.bytes);
    if (!g.map || mprotect(g.map + g.bytes - PAGE, PAGE, PROT_NONE) != 0) abort();
    g.data = g.map + g.bytes - PAGE - bytes;
    return g;
}
static inline void guarded_free(guarded g) { munmap(g.map, g.bytes); }
#else
typedef struct guarded {
    char *data;
} guarded;
static inline guarded guarded_new(size_t bytes) { return (guarded){malloc(bytes + 1)}; }
static inline void guarded_free(guarded g) { free(g.data); }
#endif
#endif
