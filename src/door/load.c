/* door/load.c: a file of named tensors, whichever it is: dync_tensors_load, dync_tensors_save, and
 * safetensors with its index of shards. After the readers.
 *
 * The first bytes tell the format, not the name of the file:
 *
 *   "PK\3\4"      zip: .npz where the first entry ends in .npy, else a checkpoint of PyTorch
 *   "GGUF"        GGUF
 *   "{"           JSON: model.safetensors.index.json, which names a file for each tensor
 *   others        safetensors, which begins with the length of its header
 *
 * An index: {"weight_map": {"a.weight": "model-00001-of-00002.safetensors", ..}}. Files are only
 * looked for beside the index. */
#include "../dync.in.h"
#include "door.h"
DYNC__COLD

/* ---- safetensors ----------------------------------------------------------------------------- */

/* The tensor in place where the bytes are in this machine's order. NULL: no memory, or too
 * large. */
static dync__tensor *dync__load_st(dync__blob *b, const dync__st_tensor *t)
{
    uint64_t at = (uint64_t)(t->data - b->bytes);
    if (!dync__big_endian()) return dync__door_tensor(b, at, t->dtype, t->ndim, t->shape);
    /* the parser has swapped the bytes already */
    dync__layout lay;
    if (dync__layout_contiguous(&lay, t->ndim, t->shape) != DYNC_OK) return NULL;
    dync__tensor *out = dync__tensor_empty(t->dtype, DYNC_CPU, &lay);
    if (out && t->bytes) memcpy(dync__tensor_data(out), t->data, t->bytes);
    return out;
}

/* Adds the tensors of one file, and its metadata as notes. map, file: of an index with shards: the
 * tensors that map places in this file alone, since a shard may hold others; NULL, NULL: all. */
static dync_status dync__load_safetensors(dync__tensors *c, dync__blob *b, const dync__json *map,
                                          const char *file)
{
    dync__st_file f = {0};
    dync_status status = dync__st_parse(&f, b->bytes, b->n);
    for (int i = 0; i < f.n && status == DYNC_OK; i++) {
        const dync__json *in = map ? dync__json_get(map, f.tensor[i].name) : NULL;
        if (map && (!in || strcmp(in->str, file) != 0)) continue;
        status = dync__tensors_add(c, f.tensor[i].name, dync__load_st(b, &f.tensor[i]), true);
    }
    for (int i = 0; status == DYNC_OK && f.metadata && i < f.metadata->n; i++)
        status = dync__tensors_tell(c, f.metadata->key[i], f.metadata->item[i].str);
    dync__arena_free(&f.arena);
    return status;
}

/* ---- shards ---------------------------------------------------------------------------------- */

/* Opens one file of an index and adds what the index places there. folder ends with a slash, or is
 * empty. */
static dync_status dync__load_shard(dync__tensors *c, const dync__json *map, const char *file,
                                    const char *folder)
{
    dync__str path = {0};
    dync__blob *b = NULL;
    dync__str_addf(&path, "%s%s", folder, file);
    dync_status status = path.failed ? DYNC_ERR_MEMORY : dync__blob_open(dync__str_get(&path), &b);
    if (status == DYNC_OK) status = dync__load_safetensors(c, b, map, file);
    dync__blob_unref(b);
    dync__str_free(&path);
    return status;
}

/* Plain names alone, so that an index from a stranger reads nothing outside of its own folder. */
static bool dync__load_is_beside(const char *file)
{
    return *file && !strpbrk(file, "/\\:") && strcmp(file, ".") != 0 && strcmp(file, "..") != 0;
}

/* Each shard is opened once, when the map names it first. At the end every name of the index must
 * be there. */
static dync_status dync__load_index(dync__tensors *c, const dync__json *index, const char *folder)
{
    const dync__json *map = dync__json_get(index, "weight_map");
    if (!map || map->kind != DYNC__JSON_OBJ)
        return dync__fail(DYNC_ERR_FORMAT, "index of shards: no weight_map inside");
    for (int i = 0; i < map->n; i++)
        if (map->item[i].kind != DYNC__JSON_STR || !dync__load_is_beside(map->item[i].str))
            return dync__fail(DYNC_ERR_FORMAT,
                              "index of shards: \"%.100s\" is not in a file of this folder",
                              map->key[i]);
    dync__map seen = {0};
    dync_status status = DYNC_OK;
    for (int i = 0; i < map->n && status == DYNC_OK; i++) {
        const char *file = map->item[i].str;
        uint64_t hash = dync__hash_bytes(file, strlen(file), 0);
        if (dync__map_get(&seen, hash, NULL)) continue;
        status = dync__map_put(&seen, hash, 1) ? dync__load_shard(c, map, file, folder)
                                               : DYNC_ERR_MEMORY;
    }
    dync__map_free(&seen);
    for (int i = 0; i < map->n && status == DYNC_OK; i++)
        if (dync__tensors_find(c, map->key[i]) < 0)
            status = dync__fail(DYNC_ERR_FORMAT, "index of shards: %.100s has no \"%.200s\"",
                                map->item[i].str, map->key[i]);
    return status;
}

/* folder NULL: the bytes came from memory, there are no shards to find. */
static dync_status dync__load_json(dync__tensors *c, dync__blob *b, const char *folder)
{
    dync__arena arena = {0};
    const dync__json *json = dync__json_parse(&arena, b->bytes, b->n);
    dync_status status = json ? DYNC_OK : dync_error() ? dync_error() : DYNC_ERR_MEMORY;
    if (status == DYNC_OK && !folder)
        status = dync__fail(DYNC_ERR_FORMAT, "index of shards: no folder to look in");
    if (status == DYNC_OK) status = dync__load_index(c, json, folder);
    dync__arena_free(&arena);
    return status;
}

/* ---- any of them ----------------------------------------------------------------------------- */

/* An empty zip is an .npz without arrays, which numpy.savez writes. */
static dync_status dync__load_zip(dync__tensors *c, dync__blob *b)
{
    dync__zip z;
    dync_status status = dync__zip_open(&z, b);
    size_t n = status == DYNC_OK && z.n ? strlen(z.entry[0].name) : 0;
    bool npz = status == DYNC_OK &&
               (z.n == 0 || (n > 4 && strcmp(z.entry[0].name + n - 4, ".npy") == 0));
    if (status == DYNC_OK) status = npz ? dync__npz_read(c, &z) : dync__torch_read(c, &z);
    dync__zip_close(&z);
    return status;
}

/* What cannot be read but is known gets its own message: a lone .npy, and the pickles of old
 * versions of PyTorch. */
DYNC__FN dync_status dync__tensors_read(dync__tensors *c, dync__blob *b, const char *folder)
{
    const char *p = b->bytes;
    if (b->n >= 4 && (memcmp(p, "PK\3\4", 4) == 0 || memcmp(p, "PK\5\6", 4) == 0))
        return dync__load_zip(c, b);
    if (b->n >= 4 && memcmp(p, "GGUF", 4) == 0) return dync__gguf_read(c, b);
    if (b->n >= 6 && memcmp(p, "\x93NUMPY", 6) == 0)
        return dync__fail(DYNC_ERR_FORMAT,
                          "one tensor without a name (.npy): dync_npy_load reads it");
    if (b->n >= 2 && (unsigned char)p[0] == 0x80 && p[1] >= 2 && p[1] <= 5)
        return dync__fail(DYNC_ERR_UNSUPPORTED, "a bare pickle, as PyTorch wrote before 1.6: load "
                                                "and save it again there");
    if (b->n >= 1 && p[0] == '{') return dync__load_json(c, b, folder);
    return dync__load_safetensors(c, b, NULL, NULL);
}

/* The whole collection or NULL: nothing is kept of a file that fails. */
static dync__tensors *dync__tensors_open_file(const char *path)
{
    dync__blob *b = NULL;
    dync__str folder = {0};
    if (dync__blob_open(path, &b) != DYNC_OK) return NULL;
    const char *name = path + strlen(path);
    while (name > path && name[-1] != '/') name--;
    dync__str_addn(&folder, path, (size_t)(name - path));
    dync__tensors *c = folder.failed ? NULL : dync__tensors_make();
    if (c && dync__tensors_read(c, b, dync__str_get(&folder)) != DYNC_OK) {
        dync__tensors_drop(c);
        c = NULL;
    }
    dync__str_free(&folder);
    dync__blob_unref(b);
    return c;
}

/* While a function is traced, loading is opaque: it runs once, the tracer does not look into it. */
DYNC_API dync_tensors *(dync_tensors_load)(const char *path)
{
    dync__opaque opaque;
    if (!path) {
        dync__fail(DYNC_ERR_VALUE, "dync_tensors_load: expected a path, got NULL");
        return NULL;
    }
    if (!dync__opaque_begin("torch.load", 0, NULL, &opaque)) return NULL;
    dync__tensors *c = dync__tensors_open_file(path);
    dync__opaque_end(&opaque);
    dync_tensors *handle = dync__tensors_handle(c);
    if (!handle) dync__tensors_drop(c);
    return handle;
}

/* ---- saving ---------------------------------------------------------------------------------- */

/* Appends the file to *out. Items and notes in the order of the collection. */
static dync_status dync__tensors_safetensors(const dync__tensors *c, dync__str *out)
{
    dync__arena arena = {0};
    size_t n = (size_t)c->item.n, m = (size_t)c->note.n;
    dync__st_item *item = dync__arena_alloc(&arena, n * sizeof *item);
    const char **text = dync__arena_alloc(&arena, 2 * m * sizeof *text);
    dync_status status = item && text ? DYNC_OK : DYNC_ERR_MEMORY;
    for (size_t i = 0; i < n && status == DYNC_OK; i++)
        item[i] = (dync__st_item){c->item.at[i].name, c->item.at[i].tensor};
    for (size_t i = 0; i < m && status == DYNC_OK; i++) {
        text[i] = c->note.at[i].key;
        text[m + i] = c->note.at[i].text;
    }
    if (status == DYNC_OK) status = dync__st_write(out, c->item.n, item, c->note.n, text, text + m);
    dync__arena_free(&arena);
    return status;
}

/* The name's end chooses the format: .npz, or safetensors. */
DYNC_API dync_status(dync_tensors_save)(const dync_tensors *named, const char *path)
{
    const dync__tensors *c = dync__tensors_open(named, "dync_tensors_save");
    dync__str file = {0};
    dync__opaque opaque;
    if (!c) return DYNC_ERR_VALUE;
    if (!path) return dync__fail(DYNC_ERR_VALUE, "dync_tensors_save: the path is NULL");
    DYNC__WRITES(path);
    if (!dync__opaque_begin("torch.save", 0, NULL, &opaque)) return DYNC_ERR_RUNTIME;
    size_t n = strlen(path);
    bool npz = n >= 4 && strcmp(path + n - 4, ".npz") == 0;
    dync_status status = npz ? dync__npz_write(c, &file) : dync__tensors_safetensors(c, &file);
    if (status == DYNC_OK) status = dync__file_write(path, file.at, file.n);
    dync__str_free(&file);
    dync__opaque_end(&opaque);
    return status;
}
