/* door/named.c: collections of named tensors, and what their readers share. Before the readers.
 *
 * A collection keeps its tensors in the order in which they came; two maps find a tensor or a note
 * by its name. A name's hash may be taken by another name, then the next free number is its key:
 *
 *   item   0 "fc.weight"   1 "fc.bias"                          at   hash("fc.weight")      -> 0
 *   note   0 "format" = "pt"                                         hash("fc.bias")        -> 1 */
#include "../dync.in.h"
#include "door.h"
DYNC__COLD

/* ---- for readers ----------------------------------------------------------------------------- */

/* at: the byte of the file that is wrong, as far as the reader knows. Returns DYNC_ERR_FORMAT. */
DYNC__FN dync_status dync__door_bad(const char *format, uint64_t at, const char *fmt, ...)
{
    char text[400];
    va_list args;
    va_start(args, fmt);
    dync__formatv(text, sizeof text, fmt, args);
    va_end(args);
    return dync__fail(DYNC_ERR_FORMAT, "%s, byte %llu: %s", format, (unsigned long long)at, text);
}

/* The next n bytes, within the file's; at moves behind them. NULL: there are fewer, and c->bad says
 * so from then on, so a reader may take several fields and check once. */
DYNC__FN const unsigned char *dync__cursor_take(dync__cursor *c, uint64_t n, const char *field)
{
    if (c->bad != DYNC_OK) return NULL;
    if (n > c->n - c->at) {
        c->bad = dync__door_bad(c->format, c->at, "expected %llu bytes of %s, the file has %llu",
                                (unsigned long long)n, field, (unsigned long long)(c->n - c->at));
        return NULL;
    }
    c->at += n;
    return c->bytes + (c->at - n);
}

/* 1 to 8 bytes, little-endian; 0 on failure. */
DYNC__FN uint64_t dync__cursor_int(dync__cursor *c, int bytes, const char *field)
{
    uint64_t x = 0;
    const unsigned char *p = dync__cursor_take(c, (uint64_t)bytes, field);
    for (int i = 0; p && i < bytes; i++) x |= (uint64_t)p[i] << (8 * i);
    return x;
}

static void dync__door_release(void *owner) { dync__blob_unref(owner); }

/* The bytes of a mapped file are used in place where they are aligned for their items: loading then
 * costs no copy, and a page is read when it is first touched. The storage holds a reference on the
 * blob. */
DYNC__FN dync__storage *dync__door_storage(dync__blob *b, uint64_t at, uint64_t n, size_t item)
{
    char *data = b->bytes + at;
    bool swap = item > 1 && dync__big_endian();
    if (n && !swap && (uintptr_t)data % item == 0) {
        dync__storage *s =
            dync__storage_foreign(DYNC_CPU, data, (size_t)n, 0, dync__door_release, b);
        if (s) dync__blob_ref(b);
        return s;
    }
    dync__storage *s = dync__storage_new(DYNC_CPU, (size_t)n);
    if (s && n) memcpy(s->data, data, (size_t)n);
    if (s && n && swap) dync__swap_items(s->data, (size_t)n, item);
    return s;
}

/* The bytes become one tensor, row major, at offset 0 of its storage. */
DYNC__FN dync__tensor *dync__door_tensor(dync__blob *b, uint64_t at, int dtype, int ndim,
                                         const int64_t *shape)
{
    dync__layout lay;
    if (dync__layout_contiguous(&lay, ndim, shape) != DYNC_OK) return NULL;
    uint64_t item = dync__dtype_info(dtype)->bytes, n = (uint64_t)dync__layout_span(&lay) * item;
    dync__storage *s = dync__door_storage(b, at, n, (size_t)item);
    /* a bool is 0 or 1; whose bytes say otherwise is copied */
    for (uint64_t i = 0; s && dtype == DYNC_BOOL && i < n; i++)
        if (((unsigned char *)s->data)[i] > 1) {
            dync__storage *mended = dync__storage_new(DYNC_CPU, (size_t)n);
            for (uint64_t k = 0; mended && k < n; k++)
                ((char *)mended->data)[k] = ((char *)s->data)[k] != 0;
            dync__storage_unref(s);
            s = mended;
        }
    return s ? dync__tensor_new(s, dtype, &lay) : NULL;
}

/* ---- collections ----------------------------------------------------------------------------- */

/* Gives back its tensors, each of which may be held elsewhere too. */
DYNC__FN void dync__tensors_drop(dync__tensors *c)
{
    if (!c) return;
    dync__object_end(&c->root.object);
    dync__root_set(&c->root, NULL);
    for (int i = 0; i < c->item.n; i++) dync__unref(c->item.at[i].tensor);
    dync__vec_free(&c->item);
    dync__map_free(&c->at);
    dync__map_free(&c->noted);
    dync__arena_free(&c->arena);
    dync__free(c, sizeof *c);
}
/* For dync_shutdown: collections that nobody has freed. */
static void dync__tensors_end(dync__root *r) { dync__tensors_drop((dync__tensors *)r); }

DYNC__FN dync__tensors *dync__tensors_make(void)
{
    dync__tensors *c = dync__calloc(sizeof *c);
    if (!c) return NULL;
    dync__object_made(&c->root.object);
    dync__root_set(&c->root, dync__tensors_end);
    return c;
}

/* The place of name in an array whose items of `item` bytes begin with their name; -1: it is not
 * there, and *key is the key under which the map can take it. */
static int dync__tensors_look(const dync__map *map, const void *items, size_t item,
                              const char *name, uint64_t *key)
{
    uint64_t i;
    *key = dync__hash_bytes(name, strlen(name), 0);
    for (; dync__map_get(map, *key, &i); (*key)++) {
        const char *other;
        memcpy(&other, (const char *)items + i * item, sizeof other);
        if (strcmp(other, name) == 0) return (int)i;
    }
    return -1;
}

DYNC__FN int dync__tensors_find(const dync__tensors *c, const char *name)
{
    uint64_t key;
    return dync__tensors_look(&c->at, c->item.at, sizeof *c->item.at, name, &key);
}

/* t is taken over whatever is returned. Not once: a tensor of that name is replaced in its
 * place. */
DYNC__FN dync_status dync__tensors_add(dync__tensors *c, const char *name, dync__tensor *t,
                                       bool once)
{
    uint64_t key;
    if (!t) return dync_error() != DYNC_OK ? dync_error() : DYNC_ERR_MEMORY;
    int i = dync__tensors_look(&c->at, c->item.at, sizeof *c->item.at, name, &key);
    if (i >= 0 && once) {
        dync__unref(t);
        return dync__fail(DYNC_ERR_FORMAT, "the name \"%.200s\" comes twice", name);
    }
    if (i >= 0) {
        dync__unref(c->item.at[i].tensor);
        c->item.at[i].tensor = t;
        return DYNC_OK;
    }
    dync__named item = {dync__arena_strdup(&c->arena, name), t};
    if (item.name && dync__vec_reserve(&c->item, c->item.n + 1) &&
        dync__map_put(&c->at, key, (uint64_t)c->item.n)) {
        c->item.at[c->item.n++] = item;
        return DYNC_OK;
    }
    dync__unref(t);
    return DYNC_ERR_MEMORY;
}

/* A note; a later one of the same key replaces the earlier. Both texts are copied into the arena,
 * where a text that was replaced stays until the end. */
DYNC__FN dync_status dync__tensors_tell(dync__tensors *c, const char *key, const char *text)
{
    uint64_t at;
    int i = dync__tensors_look(&c->noted, c->note.at, sizeof *c->note.at, key, &at);
    dync__note note = {i < 0 ? dync__arena_strdup(&c->arena, key) : c->note.at[i].key,
                       dync__arena_strdup(&c->arena, text)};
    if (!note.key || !note.text) return DYNC_ERR_MEMORY;
    if (i >= 0) {
        c->note.at[i] = note;
        return DYNC_OK;
    }
    if (!dync__avec_reserve(&c->arena, &c->note, c->note.n + 1) ||
        !dync__map_put(&c->noted, at, (uint64_t)c->note.n))
        return DYNC_ERR_MEMORY;
    c->note.at[c->note.n++] = note;
    return DYNC_OK;
}

/* ---- the public half ------------------------------------------------------------------------- */

DYNC_API dync_tensors *dync_tensors_new(void)
{
    dync__tensors *c = dync__tensors_make();
    dync_tensors *handle = dync__tensors_handle(c);
    if (!handle) dync__tensors_drop(c);
    return handle;
}

DYNC_API void dync_tensors_free(dync_tensors *named)
{
    if (named) dync__tensors_drop(dync__tensors_open(named, "dync_tensors_free"));
}

DYNC_API dync_status dync_tensors_put(dync_tensors *named, const char *name, dync_tensor *h)
{
    dync__tensors *c = dync__tensors_open(named, "dync_tensors_put");
    dync__tensor *t = c ? dync__open(h) : NULL;
    if (!t) return DYNC_ERR_VALUE;
    if (!name || !*name)
        return dync__fail(DYNC_ERR_VALUE, "dync_tensors_put: expected a name, got %s",
                          name ? "an empty one" : "NULL");
    if (t->flags & DYNC__T_FAKE)
        return dync__fail(DYNC_ERR_DATA_PTR,
                          "dync_tensors_put: \"%.200s\" stands for others while a function is "
                          "traced: it has no data",
                          name);
    dync__ref(t);
    return dync__tensors_add(c, name, t, false);
}

DYNC_API dync_status dync_tensors_set_note(dync_tensors *named, const char *key, const char *text)
{
    dync__tensors *c = dync__tensors_open(named, "dync_tensors_set_note");
    if (!c) return DYNC_ERR_VALUE;
    if (!key || !text)
        return dync__fail(DYNC_ERR_VALUE, "dync_tensors_set_note: the %s is NULL",
                          key ? "text" : "key");
    return dync__tensors_tell(c, key, text);
}

DYNC_API int dync_tensors_count(const dync_tensors *named)
{
    const dync__tensors *c = dync__tensors_open(named, "dync_tensors_count");
    return c ? c->item.n : 0;
}

/* Item i, borrowed. NULL with DYNC_ERR_INDEX recorded, in the name of the public function `who`. */
static const dync__named *dync__tensors_item(const dync_tensors *named, int i, const char *who)
{
    const dync__tensors *c = dync__tensors_open(named, who);
    if (!c) return NULL;
    if (i >= 0 && i < c->item.n) return &c->item.at[i];
    dync__fail(DYNC_ERR_INDEX, "%s: there are %d, got number %d", who, c->item.n, i);
    return NULL;
}
/* A handle of t in the caller's scope; the collection keeps its own reference. */
static dync_tensor *dync__tensors_lend(dync__tensor *t)
{
    dync__ref(t);
    return dync__give(t);
}
DYNC_API const char *dync_tensors_name(const dync_tensors *named, int i)
{
    const dync__named *item = dync__tensors_item(named, i, "dync_tensors_name");
    return item ? item->name : NULL;
}
DYNC_API dync_tensor *dync_tensors_at(const dync_tensors *named, int i)
{
    const dync__named *item = dync__tensors_item(named, i, "dync_tensors_at");
    return item ? dync__tensors_lend(item->tensor) : NULL;
}

/* Up to three names that are name with a prefix more or less ("model.fc.weight" for "fc.weight"),
 * as a hint in the message of an error. */
static void dync__tensors_near(const dync__tensors *c, const char *name, dync__str *out)
{
    size_t n = strlen(name);
    for (int i = 0, shown = 0; i < c->item.n && shown < 3; i++) {
        const char *other = c->item.at[i].name;
        size_t m = strlen(other), end = 0;
        while (end < n && end < m && name[n - 1 - end] == other[m - 1 - end]) end++;
        if (!n || (end < n && end < m)) continue;
        dync__str_addf(out, "%s\"%.100s\"", shown++ ? ", " : "; it has ", other);
    }
}

DYNC_API dync_tensor *dync_tensors_get(const dync_tensors *named, const char *name)
{
    const dync__tensors *c = dync__tensors_open(named, "dync_tensors_get");
    if (!c) return NULL;
    int i = name ? dync__tensors_find(c, name) : -1;
    if (i >= 0) return dync__tensors_lend(c->item.at[i].tensor);
    dync__str near = {0};
    if (name) dync__tensors_near(c, name, &near);
    dync__fail(DYNC_ERR_VALUE, "dync_tensors_get: there is no \"%.200s\" among %d tensors%s",
               name ? name : "NULL", c->item.n, dync__str_get(&near));
    dync__str_free(&near);
    return NULL;
}

DYNC_API const char *dync_tensors_note(const dync_tensors *named, const char *key)
{
    const dync__tensors *c = dync__tensors_open(named, "dync_tensors_note");
    uint64_t at;
    if (!c || !key) return NULL;
    int i = dync__tensors_look(&c->noted, c->note.at, sizeof *c->note.at, key, &at);
    return i < 0 ? NULL : c->note.at[i].text;
}
DYNC_API const char *dync_tensors_note_key(const dync_tensors *named, int i)
{
    const dync__tensors *c = dync__tensors_open(named, "dync_tensors_note_key");
    return c && i >= 0 && i < c->note.n ? c->note.at[i].key : NULL;
}
