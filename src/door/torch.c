/* door/torch.c: PyTorch's checkpoints: a zip with a pickle, NAME/data.pkl, and the bytes of each
 * storage, NAME/data/KEY. After pickle.c, before load.c.
 *
 *   {"model": {"w": tensor, "ids": [tensor, tensor]}, "epoch": 3}
 *
 *   tensors  model.w  model.ids.0  model.ids.1       notes  epoch = "3"
 *
 * Tensors of one storage share it here, too, as tied weights do. What is nested is found under
 * joined names; numbers and texts become notes. A pickle may refer to one list from many places, so
 * a small one can unfold to any size: visits and letters are bounds that follow from its length. */
#include "../dync.in.h"
#include "pickle.h"
DYNC__COLD

enum { DYNC__TORCH_DEPTH = 64 };
typedef struct dync__torch {
    const dync__zip *zip;
    int n_prefix; /* letters of "NAME/" */
    const char *prefix;
    dync__tensors *to;
    /* values that may still be met: no more than the pickle has bytes; and letters of names */
    uint64_t visits, letters;
    dync__arena arena;
    DYNC__VEC(struct dync__torch_storage) storage;
} dync__torch;
typedef struct dync__torch_storage {
    const char *key;
    int dtype;
    dync__storage *storage; /* a reference */
} dync__torch_storage;

/* ---- tensors --------------------------------------------------------------------------------- */

/* The storage of a reference, read when it is first asked for; borrowed. */
static dync_status dync__torch_storage_of(dync__torch *t, const dync__pick *v, dync__storage **out)
{
    for (int i = 0; i < t->storage.n; i++)
        if (t->storage.at[i].dtype == v->dtype && strcmp(t->storage.at[i].key, v->s) == 0)
            return *out = t->storage.at[i].storage, DYNC_OK;
    const char *name = dync__arena_printf(&t->arena, "%.*sdata/%s", t->n_prefix, t->prefix, v->s);
    if (!name) return DYNC_ERR_MEMORY;
    const dync__zip_entry *e = dync__zip_find(t->zip, name);
    int64_t item = dync__dtype_info(v->dtype)->bytes, bytes;
    dync__blob *b;
    uint64_t at;
    if (!e) return dync__fail(DYNC_ERR_FORMAT, "checkpoint: there is no \"%.200s\"", name);
    if (!dync__mul_ok(v->i, item, &bytes) || (uint64_t)bytes > e->size)
        return dync__door_bad("checkpoint", e->at, "\"%.100s\" has %llu bytes for %lld elements",
                              name, (unsigned long long)e->size, (long long)v->i);
    DYNC__TRY(dync__zip_read(t->zip, e, &b, &at));
    dync__torch_storage s = {v->s, v->dtype,
                             dync__door_storage(b, at, (uint64_t)bytes, (size_t)item)};
    dync__blob_unref(b);
    if (s.storage && dync__avec_push(&t->arena, &t->storage, s)) return *out = s.storage, DYNC_OK;
    dync__storage_unref(s.storage);
    return DYNC_ERR_MEMORY;
}

/* A tuple of ints >= 0, at most DYNC_MAX_DIMS, into out; *n: how many. false: it is something
 * else. */
static bool dync__torch_ints(const dync__pick *v, int64_t *out, int *n)
{
    *n = v->item.n;
    if (v->kind != DYNC__PICK_TUPLE || v->item.n > DYNC_MAX_DIMS) return false;
    for (int i = 0; i < v->item.n; i++) {
        if (v->item.at[i]->kind != DYNC__PICK_INT || v->item.at[i]->i < 0) return false;
        out[i] = v->item.at[i]->i;
    }
    return true;
}

/* torch._utils._rebuild_tensor_v2(storage, offset, size, stride, requires_grad, hooks) for the
 * pickle's reader; the last two are not looked at. *out: a reference. The tensor must lie within
 * the elements that the pickle says the storage has. */
static dync_status dync__torch_rebuild(void *user, const dync__pick *args, dync__tensor **out)
{
    dync__layout lay = {0};
    dync__storage *s = NULL;
    int n_stride = 0;
    int64_t numel;
    *out = NULL;
    if (args->item.n < 4 || args->item.at[0]->kind != DYNC__PICK_STORAGE ||
        args->item.at[1]->kind != DYNC__PICK_INT || args->item.at[1]->i < 0 ||
        !dync__torch_ints(args->item.at[2], lay.shape, &lay.ndim) ||
        !dync__torch_ints(args->item.at[3], lay.stride, &n_stride) || n_stride != lay.ndim)
        return dync__fail(DYNC_ERR_FORMAT,
                          "checkpoint: a tensor's storage, offset, sizes and "
                          "strides are not those of a tensor of at most %d "
                          "dimensions",
                          DYNC_MAX_DIMS);
    const dync__pick *from = args->item.at[0];
    lay.offset = args->item.at[1]->i;
    if (dync__numel(lay.ndim, lay.shape, &numel) != DYNC_OK) return DYNC_ERR_SHAPE;
    if (!dync__layout_is_countable(&lay) || (numel > 0 && dync__layout_span(&lay) > from->i) ||
        lay.offset > from->i)
        return dync__fail(DYNC_ERR_FORMAT,
                          "checkpoint: a tensor leaves its storage \"%.100s\" of "
                          "%lld elements",
                          from->s, (long long)from->i);
    if (numel == 0) lay.offset = 0;
    DYNC__TRY(dync__torch_storage_of(user, from, &s));
    dync__storage_ref(s);
    *out = dync__tensor_new(s, from->dtype, &lay);
    return *out ? DYNC_OK : DYNC_ERR_MEMORY;
}

/* ---- names ----------------------------------------------------------------------------------- */

/* A number or text as a note; None and whatever else has no text is left out. */
static dync_status dync__torch_note(dync__torch *t, const dync__pick *v, const char *name)
{
    char text[40];
    if (v->kind == DYNC__PICK_STR) return dync__tensors_tell(t->to, name, v->s);
    if (v->kind == DYNC__PICK_FLOAT)
        dync__double_text(v->f, text, sizeof text);
    else if (v->kind == DYNC__PICK_INT)
        dync__format(text, sizeof text, "%lld", (long long)v->i);
    else if (v->kind == DYNC__PICK_BOOL)
        dync__format(text, sizeof text, "%s", v->i ? "true" : "false");
    else
        return DYNC_OK;
    return dync__tensors_tell(t->to, name, text);
}

/* "a.b" of prefix "a" and a key that is a text or a number. */
static const char *dync__torch_join(dync__torch *t, const char *prefix, const dync__pick *key,
                                    int number)
{
    const char *dot = *prefix ? "." : "";
    if (key && key->kind == DYNC__PICK_STR)
        return dync__arena_printf(&t->arena, "%s%s%s", prefix, dot, key->s);
    return dync__arena_printf(&t->arena, "%s%s%lld", prefix, dot,
                              key ? (long long)key->i : (long long)number);
}

/* Adds what v holds under name; "": the whole pickle. Keys of dictionaries are texts or ints, as
 * optimizers use them. */
static dync_status dync__torch_walk(dync__torch *t, const dync__pick *v, const char *name,
                                    int depth)
{
    bool dict = v->kind == DYNC__PICK_DICT;
    uint64_t n = strlen(name);
    if (t->visits-- == 0 || depth > DYNC__TORCH_DEPTH || n > t->letters)
        return dync__fail(DYNC_ERR_FORMAT, "checkpoint: values nest in \"%.100s\" without an end",
                          name);
    t->letters -= n;
    if (v->kind == DYNC__PICK_TENSOR) {
        dync__ref(v->tensor);
        return dync__tensors_add(t->to, *name ? name : "tensor", v->tensor, true);
    }
    if (!dict && v->kind != DYNC__PICK_LIST && v->kind != DYNC__PICK_TUPLE)
        return dync__torch_note(t, v, *name ? name : "value");
    for (int i = 0; i < v->item.n; i += dict ? 2 : 1) {
        const dync__pick *key = dict ? v->item.at[i] : NULL;
        if (key && key->kind != DYNC__PICK_STR && key->kind != DYNC__PICK_INT)
            return dync__fail(DYNC_ERR_UNSUPPORTED,
                              "checkpoint: %s as a key of \"%.100s\": texts and ints are read",
                              dync__pick_text(key), name);
        const char *inner = dync__torch_join(t, name, key, i);
        if (!inner) return DYNC_ERR_MEMORY;
        DYNC__TRY(dync__torch_walk(t, v->item.at[dict ? i + 1 : i], inner, depth + 1));
    }
    return DYNC_OK;
}

/* ---- the file -------------------------------------------------------------------------------- */

/* NAME/data.pkl, NAME being any one folder; *n_prefix: the length of "NAME/". NULL: there is
 * none. */
static const dync__zip_entry *dync__torch_pickle(const dync__zip *z, int *n_prefix)
{
    static const char end[] = "data.pkl";
    for (int i = 0; i < z->n; i++) {
        const char *slash = strchr(z->entry[i].name, '/');
        if (!slash || strcmp(slash + 1, end) != 0) continue;
        *n_prefix = (int)(slash + 1 - z->entry[i].name);
        return &z->entry[i];
    }
    return NULL;
}

/* Refuses storages of the other byte order, which NAME/byteorder tells. */
static dync_status dync__torch_order(const dync__torch *t)
{
    char name[600];
    dync__blob *b;
    uint64_t at;
    dync__format(name, sizeof name, "%.*sbyteorder", DYNC__MIN(t->n_prefix, 500), t->prefix);
    const dync__zip_entry *e = dync__zip_find(t->zip, name);
    if (!e) return DYNC_OK; /* older files: little */
    DYNC__TRY(dync__zip_read(t->zip, e, &b, &at));
    bool little = e->size == 6 && memcmp(b->bytes + at, "little", 6) == 0;
    dync__blob_unref(b);
    return little ? DYNC_OK
                  : dync__fail(DYNC_ERR_UNSUPPORTED, "checkpoint: written by a big-endian machine");
}

/* Adds everything to `to`, or fails; some tensors may be in `to` then. The pickle must be stored,
 * not packed, which makes its length, and so the bounds, one that the file really has. */
DYNC__FN dync_status dync__torch_read(dync__tensors *to, const dync__zip *z)
{
    dync__torch t = {.zip = z, .to = to};
    dync__pickle p = {.rebuild = dync__torch_rebuild, .user = &t};
    const dync__zip_entry *e = dync__torch_pickle(z, &t.n_prefix);
    dync__blob *b = NULL;
    uint64_t at = 0;
    if (!e) return dync__fail(DYNC_ERR_FORMAT, "zip: neither .npy files nor a data.pkl inside");
    t.prefix = e->name;
    if (e->method != 0)
        return dync__fail(DYNC_ERR_UNSUPPORTED,
                          "checkpoint: \"%.100s\" is packed: torch.save "
                          "stores it as it is",
                          e->name);
    t.visits = e->size;
    t.letters = 4096 + 16 * e->size;
    dync_status status = dync__torch_order(&t);
    if (status == DYNC_OK) status = dync__zip_read(z, e, &b, &at);
    if (status == DYNC_OK)
        status = dync__pickle_read(&p, (const unsigned char *)b->bytes + at, e->size);
    if (status == DYNC_OK) status = dync__torch_walk(&t, p.result, "", 0);
    dync__pickle_close(&p);
    dync__blob_unref(b);
    for (int i = 0; i < t.storage.n; i++) dync__storage_unref(t.storage.at[i].storage);
    dync__arena_free(&t.arena);
    return status;
}
