/* door/module.c: dync_module_load_named: a collection's tensors into a module. After named.c.
 *
 *   module's paths   fc.weight  fc.bias        prefix "model."
 *   file's names     model.fc.weight  model.fc.bias  model.old  other.x
 *
 * fc.weight takes model.fc.weight; model.old is unexpected; other.x is outside of the prefix and
 * not looked at. First every pair is checked and converted, then all are written: an error leaves
 * the module as it was. */
#include "../dync.in.h"
#include "door.h"
DYNC__COLD

typedef struct dync__fill {
    dync__state state; /* the module's tensors with their paths */
    const dync__tensors *from;
    const char *prefix;
    bool *used;         /* per tensor of from: the module has it */
    dync__tensor **new; /* per tensor of the module: its values, row major, of its dtype; or NULL */
    int loaded, n_missing, n_unexpected;
    dync__str missing, unexpected; /* names, a line each */
} dync__fill;

/* The elements of from as a dense tensor of the dtype, a reference for the caller; whole numbers to
 * whole numbers without going through double, which would lose bits of int64. NULL: no memory. */
static dync__tensor *dync__fill_convert(const dync__tensor *from, int dtype)
{
    dync__tensor *dense = dync__contiguous_copy(from);
    if (!dense || dense->dtype == dtype) return dense;
    dync__tensor *out = dync__tensor_empty(dtype, DYNC_CPU, &dense->lay);
    const char *p = out && out->numel ? dync__tensor_data(dense) : NULL;
    char *q = p ? dync__tensor_data(out) : NULL;
    size_t a = dync__dtype_info(dense->dtype)->bytes, b = dync__dtype_info(dtype)->bytes;
    bool whole = dync__dtype_info(dense->dtype)->kind != 'f' &&
                 dync__dtype_info(dtype)->kind != 'f';
    for (int64_t i = 0; q && i < out->numel; i++, p += a, q += b)
        if (whole)
            dync__store_i64(q, dtype, dync__load_i64(p, dense->dtype));
        else
            dync__store_f64(q, dtype, dync__load_f64(p, dense->dtype));
    dync__unref(dense);
    return out;
}

/* Same shape, values to read, memory to write. Dtypes may differ. */
static dync_status dync__fill_fits(const char *name, const dync__tensor *to,
                                   const dync__tensor *from)
{
    bool same = to->lay.ndim == from->lay.ndim &&
                memcmp(to->lay.shape, from->lay.shape, (size_t)to->lay.ndim * sizeof(int64_t)) == 0;
    bool has_data = from->numel == 0 || from->storage->data;
    bool writable = to->numel == 0 ||
                    (to->storage->data && (dync__device_is(to->device, DYNC__DEV_HOST) ||
                                           dync__layout_is_contiguous(&to->lay)));
    if (same && has_data && writable) return DYNC_OK;
    if (same)
        return dync__fail(DYNC_ERR_DEVICE,
                          "dync_module_load_named: \"%.200s\" has no data, or strides on a device",
                          name);
    dync__str got = {0}, want = {0};
    dync__shape_text(&got, from->lay.ndim, from->lay.shape);
    dync__shape_text(&want, to->lay.ndim, to->lay.shape);
    dync_status status = dync__fail(
        DYNC_ERR_SHAPE, "dync_module_load_named: \"%.200s\" is %s in the file, expected %s", name,
        dync__str_get(&got), dync__str_get(&want));
    dync__str_free(&got);
    dync__str_free(&want);
    return status;
}

/* Each tensor of the module finds its values; nothing is written yet. */
static dync_status dync__fill_prepare(dync__fill *f)
{
    for (int i = 0; i < f->state.item.n; i++) {
        const char *name =
            dync__arena_printf(&f->state.arena, "%s%s", f->prefix, f->state.item.at[i].name);
        if (!name) return DYNC_ERR_MEMORY;
        int at = dync__tensors_find(f->from, name);
        if (at < 0) {
            f->n_missing++;
            dync__str_addf(&f->missing, "%s\n", name);
            continue;
        }
        const dync__tensor *to = f->state.tensor.at[i], *from = f->from->item.at[at].tensor;
        f->used[at] = true;
        f->loaded++;
        DYNC__TRY(dync__fill_fits(name, to, from));
        f->new[i] = dync__fill_convert(from, to->dtype);
        if (!f->new[i]) return dync_error() != DYNC_OK ? dync_error() : DYNC_ERR_MEMORY;
    }
    size_t n = strlen(f->prefix);
    for (int i = 0; i < f->from->item.n; i++)
        if (!f->used[i] && strncmp(f->from->item.at[i].name, f->prefix, n) == 0) {
            f->n_unexpected++;
            dync__str_addf(&f->unexpected, "%s\n", f->from->item.at[i].name);
        }
    return f->missing.failed || f->unexpected.failed ? DYNC_ERR_MEMORY : DYNC_OK;
}

/* Names as they stand in a sentence, the first ones of many. */
static void dync__fill_list(dync__str *out, const char *what, int n, const char *lines)
{
    if (n == 0) return;
    dync__str_addf(out, "; %s %d:", what, n);
    for (int i = 0; i < n && i < 5; i++) {
        int length = (int)strcspn(lines, "\n");
        dync__str_addf(out, "%s \"%.*s\"", i ? "," : "", DYNC__MIN(length, 100), lines);
        lines += length + 1;
    }
    if (n > 5) dync__str_add(out, ", ...");
}

/* Without a report, each name must be on both sides. */
static dync_status dync__fill_strict(const dync__fill *f)
{
    dync__str text = {0};
    if (f->n_missing + f->n_unexpected == 0) return DYNC_OK;
    dync__fill_list(&text, "missing in the file", f->n_missing, dync__str_get(&f->missing));
    dync__fill_list(&text, "unexpected in the file", f->n_unexpected,
                    dync__str_get(&f->unexpected));
    dync_status status = dync__fail(DYNC_ERR_VALUE,
                                    "dync_module_load_named: %d names are on both sides%s",
                                    f->loaded, dync__str_get(&text));
    dync__str_free(&text);
    return status;
}

/* A copy for the report, which lives as long as the caller's scope. "" of no names. */
static const char *dync__fill_text(const dync__str *s)
{
    char *text = dync__scope_alloc(s->n + 1);
    if (text && s->n) memcpy(text, s->at, s->n);
    return text;
}

static dync_status dync__fill_report(const dync__fill *f, dync_named_report *out)
{
    *out = (dync_named_report){f->loaded, f->n_missing, f->n_unexpected,
                               dync__fill_text(&f->missing), dync__fill_text(&f->unexpected)};
    return out->missing && out->unexpected ? DYNC_OK : DYNC_ERR_MEMORY;
}

/* Everything between opening and freeing. Only the last loop writes. */
static dync_status dync__fill_run(dync__fill *f, const dync__module *m, dync_named_report *report)
{
    DYNC__TRY(dync__state_module(&f->state, m, "", 0));
    f->used = dync__arena_alloc(&f->state.arena, (size_t)f->from->item.n + 1);
    f->new = dync__arena_alloc(&f->state.arena, ((size_t)f->state.item.n + 1) * sizeof *f->new);
    if (!f->used || !f->new) return DYNC_ERR_MEMORY;
    DYNC__TRY(dync__fill_prepare(f));
    DYNC__TRY(report ? dync__fill_report(f, report) : dync__fill_strict(f));
    for (int i = 0; i < f->state.item.n; i++)
        if (f->new[i] && f->new[i]->numel)
            DYNC__TRY(dync__state_write(f->state.tensor.at[i], dync__tensor_data(f->new[i])));
    return DYNC_OK;
}

/* report NULL: names on one side alone are an error. Else they are listed, one a line, and the
 * others are loaded. */
DYNC_API dync_status dync_module_load_named(dync_module *module, const dync_tensors *named,
                                            const char *prefix, dync_named_report *report)
{
    dync__fill f = {.state = {.who = "dync_module_load_named", .what = "module"},
                    .prefix = prefix ? prefix : ""};
    const dync__module *m = dync__module_open(module, f.state.who);
    dync__opaque opaque;
    f.from = m ? dync__tensors_open(named, f.state.who) : NULL;
    if (!f.from) return DYNC_ERR_VALUE;
    if (!dync__opaque_begin("torch.load", 0, NULL, &opaque)) return DYNC_ERR_RUNTIME;
    dync_status status = dync__fill_run(&f, m, report);
    dync__opaque_end(&opaque);
    for (int i = 0; f.new && i < f.state.item.n; i++) dync__unref(f.new[i]);
    dync__str_free(&f.missing);
    dync__str_free(&f.unexpected);
    dync__arena_free(&f.state.arena);
    return status;
}
