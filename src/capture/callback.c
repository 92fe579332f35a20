/* capture/callback.c: what the user asked to be told of compiles. Start callbacks run in
 * registration order when a frame begins to compile, end callbacks when it ends, also by an error.
 * Process-wide; dync_reset forgets them. */
#include "../dync.in.h"
#include "capture.h"
DYNC__COLD

typedef struct dync__callback {
    int id;
    bool at_end;
    void (*fn)(void *);
    void *user;
} dync__callback;
enum { DYNC__MAX_CALLBACKS = 32 };
static struct {
    dync__mutex lock;
    dync__callback at[DYNC__MAX_CALLBACKS];
    int n, next_id;
} dync__callbacks;

static int dync__callback_add(bool at_end, void (*fn)(void *), void *user)
{
    int id = -1;
    if (!fn) {
        dync__fail(DYNC_ERR_VALUE, "dync_on_compile: the function is NULL");
        return -1;
    }
    dync__lock(&dync__callbacks.lock);
    if (dync__callbacks.n < DYNC__MAX_CALLBACKS) {
        id = dync__callbacks.next_id++;
        dync__callbacks.at[dync__callbacks.n++] = (dync__callback){id, at_end, fn, user};
    }
    dync__unlock(&dync__callbacks.lock);
    if (id < 0) dync__fail(DYNC_ERR_VALUE, "more than %d compile callbacks", DYNC__MAX_CALLBACKS);
    return id;
}
DYNC_API int dync_on_compile_start(void (*fn)(void *), void *user)
{
    return dync__callback_add(false, fn, user);
}
DYNC_API int dync_on_compile_end(void (*fn)(void *), void *user)
{
    return dync__callback_add(true, fn, user);
}

DYNC_API void dync_remove_callback(int id)
{
    dync__lock(&dync__callbacks.lock);
    int k = 0;
    for (int i = 0; i < dync__callbacks.n; i++)
        if (dync__callbacks.at[i].id != id) dync__callbacks.at[k++] = dync__callbacks.at[i];
    dync__callbacks.n = k;
    dync__unlock(&dync__callbacks.lock);
}

/* A copy is walked, so that no lock is held while user code runs. */
static void dync__callbacks_run(bool at_end)
{
    dync__callback copy[DYNC__MAX_CALLBACKS];
    dync__lock(&dync__callbacks.lock);
    int n = dync__callbacks.n;
    memcpy(copy, dync__callbacks.at, (size_t)n * sizeof *copy);
    dync__unlock(&dync__callbacks.lock);
    for (int i = 0; i < n; i++)
        if (copy[i].at_end == at_end) copy[i].fn(copy[i].user);
}
DYNC__FN void dync__callbacks_start(void) { dync__callbacks_run(false); }
DYNC__FN void dync__callbacks_end(void) { dync__callbacks_run(true); }
DYNC__FN void dync__callbacks_clear(void)
{
    dync__lock(&dync__callbacks.lock);
    dync__callbacks.n = 0;
    dync__unlock(&dync__callbacks.lock);
}
