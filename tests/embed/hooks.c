/* The user's allocator serves everything, and after dync_shutdown it has everything back. */
#include <stdlib.h>
static long live, calls;
static void *count_malloc(size_t n)
{
    void *p = malloc(n);
    if (p) {
        live++;
        calls++;
    }
    return p;
}
static void *count_realloc(void *old, size_t n)
{
    void *p = realloc(old, n);
    if (p && !old) live++;
    calls++;
    return p;
}
static void count_free(void *p)
{
    if (p) live--;
    free(p);
}
#define DYNC_MALLOC(n) count_malloc(n)
#define DYNC_REALLOC(p, n) count_realloc(p, n)
#define DYNC_FREE(p) count_free(p)
#define DYNC_IMPLEMENTATION
#include "dync.h"

static dync_tensor *f(dync_tensor *x, dync_tensor *w) { return dync_relu(dync_matmul(x, w)); }

int main(void)
{
    dync_tensor *x = dync_ones(dync_shape(8, 8)), *w = dync_ones(dync_shape(8, 8));
    dync_compiled *fast = dync_compile(f);
    long before;
    for (int i = 0; i < 10; i++) DYNC_SCOPE {
        dync_call(fast, x, w);
    }
    before = calls;
    for (int i = 0; i < 1000; i++) DYNC_SCOPE {
        dync_call(fast, x, w);
    }
    if (calls != before) return 1; /* in the steady state a call makes no malloc */
    dync_compiled_free(fast);
    dync_shutdown();
    if (calls == 0) return 2;
    if (live != 0) return 3;
    return dync_error() != DYNC_OK;
}
