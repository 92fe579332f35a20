/* program/module_file.c: modules in safetensors files: dync_module_save, load, open. After
 * safetensors.c.
 *
 * The tensors stand under their dotted paths, as PyTorch's state_dict names them; the structure
 * (classes, names, numbers, children) is JSON in the metadata under "dync.module". Another
 * program's file without it can be loaded but not opened. */
#include "../dync.in.h"
#include "program.h"
DYNC__COLD

static const char dync__module_key[] = "dync.module";
enum { DYNC__MODULE_MAX_DEPTH = 30 }; /* two levels of JSON each, whose reader stops at 64 */

/* ---- the state: every parameter and buffer with its path ------------------------------------- */

/* Two lists, as one holds const tensors to be saved and the other those to be written. */
DYNC__FN dync_status dync__state_put(dync__state *s, const char *name, dync__tensor *t)
{
    dync__st_item item = {name, t};
    return name && dync__avec_push(&s->arena, &s->item, item) &&
                   dync__avec_push(&s->arena, &s->tensor, t)
               ? DYNC_OK
               : DYNC_ERR_MEMORY;
}

/* Parents before children. */
DYNC__FN dync_status dync__state_module(dync__state *s, const dync__module *m, const char *prefix,
                                        int depth)
{
    if (depth > DYNC__MODULE_MAX_DEPTH)
        return dync__fail(DYNC_ERR_VALUE, "%s: modules nest more than %d deep", s->who,
                          DYNC__MODULE_MAX_DEPTH);
    for (int i = 0; i < m->entry.n; i++)
        DYNC__TRY(
            dync__state_put(s, dync__arena_printf(&s->arena, "%s%s", prefix, m->entry.at[i].name),
                            m->entry.at[i].tensor));
    for (int i = 0; i < m->child.n; i++) {
        const char *path = dync__arena_printf(&s->arena, "%s%s.", prefix, m->child.at[i]->name);
        if (!path) return DYNC_ERR_MEMORY;
        DYNC__TRY(dync__state_module(s, m->child.at[i], path, depth + 1));
    }
    return DYNC_OK;
}

/* ---- saving ---------------------------------------------------------------------------------- */

/* "a","b": names of parameters, or of buffers. */
static void dync__module_json_entries(dync__str *s, const dync__module *m, bool buffers)
{
    bool first = true;
    for (int i = 0; i < m->entry.n; i++) {
        if (m->entry.at[i].is_buffer != buffers) continue;
        if (!first) dync__str_addc(s, ',');
        first = false;
        dync__json_quote(s, m->entry.at[i].name);
    }
}

/* recursion: children. An example:
 *
 *   {"class":"Linear","name":"0","training":true,"ints":[4,2,0,0,0,0,0,0],"floats":[0,0,0,0],
 *    "params":["weight","bias"],"buffers":[],"children":[]} */
static void dync__module_json(dync__str *s, const dync__module *m)
{
    dync__str_add(s, "{\"class\":");
    dync__json_quote(s, m->class_name);
    dync__str_add(s, ",\"name\":");
    dync__json_quote(s, m->name);
    if (m->args) {
        dync__str_add(s, ",\"args\":");
        dync__json_quote(s, m->args);
    }
    dync__str_addf(s, ",\"training\":%s,\"ints\":[", m->training ? "true" : "false");
    for (int i = 0; i < DYNC__COUNT_OF(m->ints); i++)
        dync__str_addf(s, i ? ",%lld" : "%lld", (long long)m->ints[i]);
    dync__str_add(s, "],\"floats\":[");
    for (int i = 0; i < DYNC__COUNT_OF(m->floats); i++) {
        char text[40];
        dync__double_text(m->floats[i], text, sizeof text);
        dync__str_addf(s, i ? ",%s" : "%s", text);
    }
    dync__str_add(s, "],\"params\":[");
    dync__module_json_entries(s, m, false);
    dync__str_add(s, "],\"buffers\":[");
    dync__module_json_entries(s, m, true);
    dync__str_add(s, "],\"children\":[");
    for (int i = 0; i < m->child.n; i++) {
        if (i) dync__str_addc(s, ',');
        dync__module_json(s, m->child.at[i]);
    }
    dync__str_add(s, "]}");
}

/* Built whole in memory, then written by one call. */
static dync_status dync__module_save(dync__module *m, const char *path)
{
    static const char *const keys[2] = {dync__module_key, "format"};
    dync__state state = {.who = "dync_module_save"};
    dync__str json = {0}, file = {0};
    if (!m || !path)
        return dync__fail(DYNC_ERR_VALUE, "dync_module_save: the %s is NULL",
                          m ? "path" : "module");
    DYNC__WRITES(path);
    dync_status status = dync__state_module(&state, m, "", 0);
    if (status == DYNC_OK) dync__module_json(&json, m);
    if (json.failed) status = DYNC_ERR_MEMORY;
    const char *values[2] = {dync__str_get(&json), "pt"};
    if (status == DYNC_OK)
        status = dync__st_write(&file, state.item.n, state.item.at, 2, keys, values);
    if (status == DYNC_OK) status = dync__file_write(path, file.at, file.n);
    dync__str_free(&file);
    dync__str_free(&json);
    dync__arena_free(&state.arena);
    return status;
}

/* ---- loading --------------------------------------------------------------------------------- */

/* May the file's tensor be written into ours? Checked for all of them before the first
 * is written, so that a failed load changes nothing. */
static dync_status dync__state_fits(const char *who, const dync__st_item *item,
                                    const dync__st_tensor *from)
{
    const dync__tensor *t = item->tensor;
    if (!from) return dync__fail(DYNC_ERR_VALUE, "%s: the file has no \"%s\"", who, item->name);
    if (from->dtype != t->dtype)
        return dync__fail(DYNC_ERR_DTYPE, "%s: \"%s\" is %s in the file, expected %s", who,
                          item->name, dync__dtype_info(from->dtype)->name,
                          dync__dtype_info(t->dtype)->name);
    if (from->ndim == t->lay.ndim &&
        memcmp(from->shape, t->lay.shape, (size_t)from->ndim * sizeof(int64_t)) == 0) {
        if (t->numel == 0 || (t->storage->data && (dync__device_is(t->device, DYNC__DEV_HOST) ||
                                                   dync__layout_is_contiguous(&t->lay))))
            return DYNC_OK;
        return dync__fail(DYNC_ERR_DEVICE, "%s: \"%s\" has no data, or strides on a device", who,
                          item->name);
    }
    dync__str got = {0}, want = {0};
    dync__shape_text(&got, from->ndim, from->shape);
    dync__shape_text(&want, t->lay.ndim, t->lay.shape);
    dync_status status = dync__fail(DYNC_ERR_SHAPE, "%s: \"%s\" is %s in the file, expected %s",
                                    who, item->name, dync__str_get(&got), dync__str_get(&want));
    dync__str_free(&got);
    dync__str_free(&want);
    return status;
}

/* data: as many elements as t has. Other strides than row major only on the CPU. */
DYNC__FN dync_status dync__state_write(dync__tensor *t, const char *data)
{
    int64_t index[DYNC_MAX_DIMS] = {0};
    size_t item = dync__dtype_info(t->dtype)->bytes;
    char *to = dync__tensor_data(t);
    dync__storage_writes(t->storage);
    t->storage->version++;
    if (dync__layout_is_contiguous(&t->lay))
        return dync__device_copy(t->device, to, DYNC_CPU, data, (size_t)t->numel * item);
    for (int64_t i = 0; i < t->numel; i++, data += item) {
        int64_t at = 0;
        for (int d = 0; d < t->lay.ndim; d++) at += index[d] * t->lay.stride[d];
        memcpy(to + at * (int64_t)item, data, item);
        for (int d = t->lay.ndim - 1; d >= 0 && ++index[d] == t->lay.shape[d]; d--) index[d] = 0;
    }
    return DYNC_OK;
}

/* Compiled code sees the load: storage versions go up. */
DYNC__FN dync_status dync__state_load(const dync__state *s, const dync__st_file *f)
{
    for (int i = 0; i < s->item.n; i++)
        DYNC__TRY(dync__state_fits(s->who, &s->item.at[i], dync__st_find(f, s->item.at[i].name)));
    for (int i = 0; i < f->n && f->n != s->item.n; i++) {
        bool known = false;
        for (int k = 0; k < s->item.n && !known; k++)
            known = strcmp(s->item.at[k].name, f->tensor[i].name) == 0;
        if (!known)
            return dync__fail(DYNC_ERR_VALUE, "%s: the %s has no \"%s\"", s->who, s->what,
                              f->tensor[i].name);
    }
    for (int i = 0; i < s->item.n; i++)
        DYNC__TRY(dync__state_write(s->tensor.at[i], dync__st_find(f, s->item.at[i].name)->data));
    return DYNC_OK;
}

static dync_status dync__module_load(dync__module *m, const char *path)
{
    dync__st_file f = {0};
    dync__state state = {.who = "dync_module_load", .what = "module"};
    if (!m || !path)
        return dync__fail(DYNC_ERR_VALUE, "dync_module_load: the %s is NULL",
                          m ? "path" : "module");
    dync_status status = dync__st_read(&f, path);
    if (status == DYNC_OK) status = dync__state_module(&state, m, "", 0);
    if (status == DYNC_OK) status = dync__state_load(&state, &f);
    dync__arena_free(&state.arena);
    dync__st_close(&f);
    return status;
}

/* A traced function breaks around work on files. */
static dync_status dync__module_file_opaque(const char *reason,
                                            dync_status (*fn)(dync__module *, const char *),
                                            dync__module *m, const char *path)
{
    dync__opaque opaque;
    if (!dync__opaque_begin(reason, 0, NULL, &opaque)) return DYNC_ERR_RUNTIME;
    dync_status status = fn(m, path);
    dync__opaque_end(&opaque);
    return status;
}
DYNC_API dync_status(dync_module_save)(dync_module *handle, const char *path)
{
    dync__module *m = dync__module_open(handle, "dync_module_save");
    return m ? dync__module_file_opaque("torch.save", dync__module_save, m, path) : DYNC_ERR_VALUE;
}
DYNC_API dync_status(dync_module_load)(dync_module *handle, const char *path)
{
    dync__module *m = dync__module_open(handle, "dync_module_load");
    return m ? dync__module_file_opaque("torch.load", dync__module_load, m, path) : DYNC_ERR_VALUE;
}

/* ---- opening: the structure again ------------------------------------------------------------ */

/* DYNC_ERR_FORMAT: the metadata are not what dync_module_save writes. */
static dync_status dync__module_bad(const char *what)
{
    return dync__fail(DYNC_ERR_FORMAT, "dync_module_open: the structure has %s", what);
}

/* NULL: no such key, or no text. */
static const char *dync__module_text(const dync__json *obj, const char *key)
{
    const dync__json *v = dync__json_get(obj, key);
    return v && v->kind == DYNC__JSON_STR ? v->str : NULL;
}

/* NULL: no such key, or no array. */
static const dync__json *dync__module_array(const dync__json *obj, const char *key)
{
    const dync__json *v = dync__json_get(obj, key);
    return v && v->kind == DYNC__JSON_ARR ? v : NULL;
}

/* Fewer numbers than the module has room for are fine: later ones were added later. Integers are
 * those of layers (sizes, strides) and stay within 32 bits. */
static dync_status dync__module_read_numbers(dync__module *m, const dync__json *json)
{
    const dync__json *ints = dync__module_array(json, "ints"),
                     *floats = dync__module_array(json, "floats"),
                     *training = dync__json_get(json, "training");
    if (!ints || !floats || ints->n > DYNC__COUNT_OF(m->ints) ||
        floats->n > DYNC__COUNT_OF(m->floats))
        return dync__module_bad("no numbers");
    for (int i = 0; i < ints->n; i++) {
        if (!ints->item[i].is_int || ints->item[i].i > INT32_MAX || ints->item[i].i < INT32_MIN)
            return dync__module_bad("a number that is no integer");
        m->ints[i] = ints->item[i].i;
    }
    for (int i = 0; i < floats->n; i++) {
        if (floats->item[i].kind != DYNC__JSON_NUM)
            return dync__module_bad("a number that is "
                                    "none");
        m->floats[i] = floats->item[i].num;
    }
    m->training = !training || training->kind != DYNC__JSON_BOOL || training->b;
    return DYNC_OK;
}

/* A copy on the CPU. Bytes of bools are made 0 or 1: a file may hold anything. NULL: no memory. */
static dync__tensor *dync__module_read_tensor(const dync__st_tensor *from, bool is_buffer)
{
    dync__layout lay;
    if (dync__layout_contiguous(&lay, from->ndim, from->shape) != DYNC_OK) return NULL;
    dync__tensor *t = dync__tensor_empty(from->dtype, DYNC_CPU, &lay);
    if (!t) return NULL;
    char *data = dync__tensor_data(t);
    if (from->bytes) memcpy(data, from->data, from->bytes);
    for (size_t i = 0; t->dtype == DYNC_BOOL && i < from->bytes; i++) data[i] = data[i] != 0;
    if (!is_buffer) {
        dync__tensor_set_requires_grad(t, true);
        t->flags |= DYNC__T_PARAMETER;
    }
    return t;
}

/* *used counts tensors of the file that found a place. */
static dync_status dync__module_read_entries(dync__module *m, const dync__json *names,
                                             const dync__st_file *f, const char *prefix,
                                             bool is_buffer, int *used)
{
    for (int i = 0; names && i < names->n; i++) {
        if (names->item[i].kind != DYNC__JSON_STR || !dync__module_part(names->item[i].str))
            return dync__module_bad("a name that is none");
        dync__str path = {0};
        dync__str_addf(&path, "%s%s", prefix, names->item[i].str);
        const dync__st_tensor *from = path.failed ? NULL : dync__st_find(f, dync__str_get(&path));
        dync__str_free(&path);
        if (!from) return dync__module_bad("a tensor that the file lacks");
        if (!is_buffer && dync__dtype_info(from->dtype)->kind != 'f')
            return dync__module_bad("a parameter that is not floating");
        if (dync__module_tensor(m, names->item[i].str)) return dync__module_bad("a name twice");
        dync__tensor *t = dync__module_read_tensor(from, is_buffer);
        if (!t || !dync__module_put(m, names->item[i].str, t, is_buffer)) return DYNC_ERR_MEMORY;
        ++*used;
    }
    return DYNC_OK;
}

static dync__module *dync__module_build(const dync__json *json, const dync__st_file *f,
                                        const char *prefix, int *used);

/* On failure children read so far belong to m, which the caller frees. */
static dync_status dync__module_read_children(dync__module *m, const dync__json *children,
                                              const dync__st_file *f, const char *prefix, int *used)
{
    for (int i = 0; children && i < children->n; i++) {
        const char *name = dync__module_text(&children->item[i], "name");
        if (!name || !dync__module_part(name)) return dync__module_bad("a child without a name");
        dync__str path = {0};
        dync__str_addf(&path, "%s%s.", prefix, name);
        dync__module *child =
            path.failed ? NULL
                        : dync__module_build(&children->item[i], f, dync__str_get(&path), used);
        bool failed = path.failed;
        dync__str_free(&path);
        if (!child) return failed ? DYNC_ERR_MEMORY : dync_error();
        int before = m->child.n;
        dync__module_add(m, name, child);
        if (m->child.n != before + 1) return dync__module_bad("a child twice");
    }
    return DYNC_OK;
}

/* The class is found before anything is read into it: a module without a forward is refused. */
static dync_status dync__module_read(dync__module *m, const dync__json *json,
                                     const dync__st_file *f, const char *prefix, int *used)
{
    const char *args = dync__module_text(json, "args");
    if (dync__module_args_check(args) != DYNC_OK)
        return dync__module_bad("arguments without "
                                "names");
    if (args && !(m->args = dync__intern(args))) return DYNC_ERR_MEMORY;
    DYNC__TRY(dync__module_read_numbers(m, json));
    DYNC__TRY(dync__module_find_class(m));
    DYNC__TRY(
        dync__module_read_entries(m, dync__module_array(json, "params"), f, prefix, false, used));
    DYNC__TRY(
        dync__module_read_entries(m, dync__module_array(json, "buffers"), f, prefix, true, used));
    return dync__module_read_children(m, dync__module_array(json, "children"), f, prefix, used);
}

/* Recursion is as deep as the JSON, whose reader stops at 64. */
static dync__module *dync__module_build(const dync__json *json, const dync__st_file *f,
                                        const char *prefix, int *used)
{
    const char *class_name = dync__module_text(json, "class");
    if (!class_name || (*class_name && !dync__is_name(class_name, strlen(class_name))))
        return dync__module_bad("no class"), NULL;
    dync__module *m = dync__module_alloc(class_name);
    if (m && dync__module_read(m, json, f, prefix, used) == DYNC_OK) return m;
    dync__module_free(m);
    return NULL;
}

/* A file with tensors that the structure does not name is refused. */
DYNC__FN dync__module *dync__module_from(dync__st_file *f)
{
    const char *text = f->metadata ? dync__module_text(f->metadata, dync__module_key) : NULL;
    int used = 0;
    if (!text)
        return dync__fail(
                   DYNC_ERR_FORMAT,
                   "dync_module_open: the file has tensors but no structure: make the module and "
                   "use dync_module_load"),
               NULL;
    const dync__json *json = dync__json_parse(&f->arena, text, strlen(text));
    dync__module *m = json ? dync__module_build(json, f, "", &used) : NULL;
    if (!m || used == f->n) return m;
    dync__module_free(m);
    return dync__module_bad("not all of the file's tensors"), NULL;
}

DYNC_API dync_module *(dync_module_open)(const char *path)
{
    dync__st_file f = {0};
    dync__module *m = NULL;
    if (!path) return dync__fail(DYNC_ERR_VALUE, "dync_module_open: the path is NULL"), NULL;
    if (dync__st_read(&f, path) == DYNC_OK) m = dync__module_from(&f);
    dync__st_close(&f);
    return dync__module_give(m);
}
