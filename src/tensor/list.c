/* tensor/list.c: lists of values, counted: they keep references on their tensors and lists. Before
 * scope.c, whose scopes own them. */
#include "../dync.in.h"
#include "tensor.h"
DYNC__WARM

static size_t dync__list_bytes(int n)
{
    return sizeof(dync__list) + (size_t)n * sizeof(dync_value);
}

/* Its one reference is the caller's. NULL + error: no memory, or n < 0. */
DYNC__FN dync__list *dync__list_make(int n)
{
    if (n < 0) return dync__fail(DYNC_ERR_VALUE, "a list of %d values", n), NULL;
    if ((size_t)n > (SIZE_MAX - sizeof(dync__list)) / sizeof(dync_value))
        return dync__fail_memory(SIZE_MAX), NULL;
    /* zeroed values are NONE */
    dync__list *l = dync__calloc(dync__list_bytes(n));
    if (!l) return NULL;
    l->n = n;
    l->refs = 1;
    l->items = (dync_value *)(void *)(l + 1);
    dync__object_made(&l->object);
    return l;
}

static void dync__list_drop_item(dync_value v)
{
    if (v.kind == DYNC_KIND_TENSOR) dync__unref(dync__peek(v.as.t));
    if (v.kind == DYNC_KIND_LIST) dync__list_unref(dync__list_peek(v.as.l));
}

/* The list takes references of its own on tensors and lists; a stale handle becomes NULL. */
DYNC__FN void dync__list_set(dync_value list, int i, dync_value item)
{
    dync__list *l = dync__value_list(list), *inner = dync__value_list(item);
    if (!l || i < 0 || i >= l->n) return;
    if (item.kind == DYNC_KIND_TENSOR && item.as.t) {
        dync__tensor *t = dync__open(item.as.t);
        if (t)
            dync__ref(t);
        else
            item.as.t = NULL;
    }
    if (inner)
        dync__list_ref(inner);
    else if (item.kind == DYNC_KIND_LIST)
        item.as.l = NULL;
    dync_value old = l->items[i];
    l->items[i] = item;
    dync__list_drop_item(old);
}

DYNC__FN void dync__list_ref(dync__list *l) { (void)DYNC__ATOMIC_INC(&l->refs); }

DYNC__FN void dync__list_unref(dync__list *l)
{
    if (!l || (DYNC__ATOMIC_LOAD(&l->refs) != 1 && DYNC__ATOMIC_DEC(&l->refs) != 0)) return;
    dync__object_end(&l->object);
    for (int i = l->n - 1; i >= 0; i--) dync__list_drop_item(l->items[i]);
    dync__free(l, dync__list_bytes(l->n));
}
