/* tensor/watch.c: tensors that are read later as they are now, though others may write their
 * memory until then. A compiled backward computes again, from inputs and results of its forward,
 * what the operators' own rules would have saved; what those do not save may be written
 * meanwhile. After alive.c.
 *
 * Watches lie in lists by their storage's address, under one lock: there are a few between a
 * forward and its backward. A copy that fails leaves the tensor as it is: its version tells that
 * it was written. */
#include "../dync.in.h"
#include "tensor.h"
DYNC__COLD

DYNC__DATA void (*dync__watch_write)(const dync__storage *) = NULL;

enum { DYNC__WATCH_LISTS = 64 };
static struct {
    dync__mutex lock;
    int64_t n;
    dync__watch *list[DYNC__WATCH_LISTS];
} dync__watches;

static dync__watch **dync__watch_list(const dync__storage *s)
{
    return &dync__watches.list[dync__hash_mix(0x7761, s->id) % DYNC__WATCH_LISTS];
}

static void dync__watch_leave(dync__watch *w)
{
    *w->from = w->next;
    if (w->next) w->next->from = w->from;
    w->from = NULL;
    if (--dync__watches.n == 0) DYNC__ATOMIC_STORE(&dync__watch_write, NULL);
}

/* As t lies, from the beginning of a storage of its own. NULL: no memory. */
static dync__tensor *dync__watch_copy(const dync__tensor *t)
{
    size_t item = dync__dtype_info(t->dtype)->bytes;
    size_t bytes = (size_t)dync__layout_span(&t->lay) * item;
    dync__layout lay = t->lay;
    lay.offset = 0;
    dync__storage *s = dync__storage_new(t->device, bytes);
    if (!s) return NULL;
    if (bytes) memcpy(s->data, dync__tensor_data(t), bytes);
    return dync__tensor_new(s, t->dtype, &lay);
}

static void dync__watch_written(const dync__storage *s)
{
    dync__lock(&dync__watches.lock);
    for (dync__watch *w = *dync__watch_list(s), *next; w; w = next) {
        next = w->next;
        dync__tensor *copy = (*w->tensor)->storage == s ? dync__watch_copy(*w->tensor) : NULL;
        if (!copy) continue;
        dync__unref(*w->tensor);
        *w->tensor = copy;
        *w->version = copy->storage->version;
        dync__watch_leave(w);
    }
    dync__unlock(&dync__watches.lock);
}

DYNC__FN void dync__watch_begin(int n, dync__watch *w)
{
    if (!n) return;
    dync__lock(&dync__watches.lock);
    for (; n--; w++) {
        if (w->from || !*w->tensor) continue;
        dync__watch **list = dync__watch_list((*w->tensor)->storage);
        w->next = *list;
        w->from = list;
        if (w->next) w->next->from = &w->next;
        *list = w;
        if (dync__watches.n++ == 0) DYNC__ATOMIC_STORE(&dync__watch_write, dync__watch_written);
    }
    dync__unlock(&dync__watches.lock);
}

DYNC__FN void dync__watch_end(int n, dync__watch *w)
{
    if (!n) return;
    dync__lock(&dync__watches.lock);
    for (; n--; w++)
        if (w->from) dync__watch_leave(w);
    dync__unlock(&dync__watches.lock);
}
