/* tensor/show.c: a tensor as PyTorch prints it: tensor([[1., 2.], [3., 4.]]).
 *
 * First one pass over the elements to be shown finds the format: integers with a point, four
 * decimals, or scientific where the range is wide; and the width of a column. Above 1000 elements
 * only 3 at each end of every dim are shown. Lines end before column 80. Source: pytorch/pytorch
 * torch/_tensor_str.py (its defaults; the behaviour, not the text). */
#include "../dync.in.h"
#include "tensor.h"
DYNC__COLD

enum {
    DYNC__SHOW_ALL = 1000,
    DYNC__SHOW_EDGE = 3,
    DYNC__SHOW_LINE = 80,
    DYNC__SHOW_DECIMALS = 4,
    DYNC__SHOW_ITEM = 400
};

typedef struct dync__show {
    dync__str *out;
    const dync__tensor *t;
    const char *data;
    size_t bytes; /* of an element */
    bool is_float, whole, scientific, summarise;
    /* sizes of the finite elements that are not 0; least 0: there are none */
    double least, most;
    int width;
} dync__show;

/* The element at this address; the text has no padding. */
static int dync__show_item(const dync__show *s, const char *p, char *text)
{
    if (s->t->dtype == DYNC_BOOL)
        return dync__format(text, DYNC__SHOW_ITEM, "%s", *p ? "True" : "False");
    if (!s->is_float)
        return dync__format(text, DYNC__SHOW_ITEM, "%lld",
                            (long long)dync__load_i64(p, s->t->dtype));
    double x = dync__load_f64(p, s->t->dtype);
    if (s->scientific)
        return dync__double_format(x, 'e', DYNC__SHOW_DECIMALS, text, DYNC__SHOW_ITEM);
    int n = dync__double_format(x, 'f', s->whole ? 0 : DYNC__SHOW_DECIMALS, text, DYNC__SHOW_ITEM);
    if (s->whole && text[n - 1] <= '9') text[n++] = '.'; /* not after inf and nan */
    text[n] = 0;
    return n;
}

/* inf, nan or 0, by the bits: these say nothing about the format. */
static bool dync__show_is_plain(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, 8);
    bits &= INT64_MAX;
    return bits == 0 || bits >= UINT64_C(0x7ff0000000000000);
}

static void dync__show_range(dync__show *s, const char *p)
{
    double x = dync__load_f64(p, s->t->dtype), size;
    if (dync__show_is_plain(x)) return;
    size = x < 0 ? -x : x;
    if (s->least == 0 || size < s->least) s->least = size;
    if (size > s->most) s->most = size;
    s->whole = s->whole && (size >= 9007199254740992.0 || (double)(int64_t)size == size);
}

static void dync__show_widen(dync__show *s, const char *p)
{
    char text[DYNC__SHOW_ITEM];
    if (s->is_float && dync__show_is_plain(dync__load_f64(p, s->t->dtype))) return;
    int n = dync__show_item(s, p, text);
    if (n > s->width) s->width = n;
}

/* Calls fn on every element to be shown below dim at p. */
static void dync__show_each(dync__show *s, const char *p, int dim,
                            void (*fn)(dync__show *, const char *))
{
    const dync__layout *lay = &s->t->lay;
    if (dim == lay->ndim) {
        fn(s, p);
        return;
    }
    bool cut = s->summarise && lay->shape[dim] > 2 * DYNC__SHOW_EDGE;
    for (int64_t i = 0; i < lay->shape[dim]; i++) {
        if (cut && i == DYNC__SHOW_EDGE) i = lay->shape[dim] - DYNC__SHOW_EDGE;
        dync__show_each(s, p + i * lay->stride[dim] * (int64_t)s->bytes, dim + 1, fn);
    }
}

static void dync__show_choose(dync__show *s)
{
    s->width = 1;
    if (s->is_float) {
        s->whole = true;
        dync__show_each(s, s->data, 0, dync__show_range);
        s->scientific = s->least > 0 &&
                        (s->most / s->least > 1000.0 || s->most > 1.0e8 || s->least < 1.0e-4);
    }
    dync__show_each(s, s->data, 0, dync__show_widen);
}

static void dync__show_padded(dync__show *s, const char *p)
{
    char text[DYNC__SHOW_ITEM];
    dync__show_item(s, p, text);
    dync__str_addf(s->out, "%*s", s->width, text);
}

/* The last dim: as many items in a line as fit. indent: the column of the bracket. */
static void dync__show_row(dync__show *s, const char *p, int indent)
{
    const dync__layout *lay = &s->t->lay;
    int64_t n = lay->shape[lay->ndim - 1],
            step = n > 1 ? lay->stride[lay->ndim - 1] * (int64_t)s->bytes : 0; /* any stride */
    int per_line = (DYNC__SHOW_LINE - indent) / (s->width + 2), shown = 0;
    bool cut = s->summarise && n > 2 * DYNC__SHOW_EDGE;
    if (per_line < 1) per_line = 1;
    dync__str_addc(s->out, '[');
    for (int64_t i = 0; i < n; i++, shown++) {
        if (shown) dync__str_addf(s->out, shown % per_line ? ", " : ",\n%*s", indent + 1, "");
        if (cut && i == DYNC__SHOW_EDGE) {
            dync__str_add(s->out, " ...");
            i = n - DYNC__SHOW_EDGE - 1;
        } else {
            dync__show_padded(s, p + i * step);
        }
    }
    dync__str_addc(s->out, ']');
}

static void dync__show_dims(dync__show *s, const char *p, int dim, int indent)
{
    const dync__layout *lay = &s->t->lay;
    if (lay->ndim == 0) {
        dync__show_padded(s, p);
        return;
    }
    if (dim == lay->ndim - 1) {
        dync__show_row(s, p, indent);
        return;
    }
    bool cut = s->summarise && lay->shape[dim] > 2 * DYNC__SHOW_EDGE;
    dync__str_addc(s->out, '[');
    for (int64_t i = 0; i < lay->shape[dim]; i++) {
        if (i) {
            dync__str_addc(s->out, ',');
            for (int k = dim; k < lay->ndim - 1; k++) dync__str_addc(s->out, '\n');
            dync__str_addf(s->out, "%*s", indent + 1, "");
        }
        if (cut && i == DYNC__SHOW_EDGE) {
            dync__str_add(s->out, "...");
            i = lay->shape[dim] - DYNC__SHOW_EDGE - 1;
        } else {
            dync__show_dims(s, p + i * lay->stride[dim] * (int64_t)s->bytes, dim + 1, indent + 1);
        }
    }
    dync__str_addc(s->out, ']');
}

/* Suffixes go to a new line where they would pass column 80. */
static void dync__show_suffix(dync__str *out, size_t *line, const char *suffix)
{
    size_t n = strlen(suffix), indent = strlen("tensor(");
    if (*line + n + 2 > DYNC__SHOW_LINE) {
        dync__str_addf(out, ",\n%*s%s", (int)indent, "", suffix);
        *line = indent + n;
    } else {
        dync__str_addf(out, ", %s", suffix);
        *line += n + 2;
    }
}

static void dync__show_suffixes(dync__str *out, const dync__tensor *t, size_t start, bool has_data)
{
    char text[32 + 24 * DYNC_MAX_DIMS];
    const char *body = dync__str_get(out) + start, *last = strrchr(body, '\n');
    size_t line = last ? strlen(last + 1) + 2 : strlen(body) + 2; /* as upstream counts */
    char device[DYNC__DEVICE_TEXT];
    dync__format(text, sizeof text, "device='%s'", dync__device_text(t->device, device));
    if (!dync__device_is(t->device, DYNC__DEV_HOST)) dync__show_suffix(out, &line, text);
    bool no_items = !has_data || t->numel == 0,
         is_default = t->dtype == DYNC_F32 ||
                      (!no_items && (t->dtype == DYNC_I64 || t->dtype == DYNC_BOOL));
    if (no_items && (!has_data || t->lay.ndim != 1)) {
        size_t n = (size_t)dync__format(text, sizeof text, "size=(");
        for (int i = 0; i < t->lay.ndim; i++)
            n += (size_t)dync__format(text + n, sizeof text - n, "%s%lld", i ? ", " : "",
                                      (long long)t->lay.shape[i]);
        dync__format(text + n, sizeof text - n, t->lay.ndim == 1 ? ",)" : ")");
        dync__show_suffix(out, &line, text);
    }
    dync__format(text, sizeof text, "dtype=torch.%s", dync__dtype_info(t->dtype)->name);
    if (!is_default) dync__show_suffix(out, &line, text);
    if (t->flags & DYNC__T_REQUIRES_GRAD) dync__show_suffix(out, &line, "requires_grad=True");
}

/* t with its data on this machine; `as` is the tensor that is shown, perhaps on a device. */
static void dync__show_tensor(dync__str *out, const dync__tensor *t, const dync__tensor *as,
                              bool has_data)
{
    size_t start = out->n;
    dync__show s = {out,
                    t,
                    has_data ? dync__tensor_data(t) : NULL,
                    dync__dtype_info(t->dtype)->bytes,
                    dync__dtype_info(t->dtype)->kind == 'f',
                    false,
                    false,
                    t->numel > DYNC__SHOW_ALL,
                    0,
                    0,
                    0};
    dync__str_add(out, "tensor(");
    if (!has_data) {
        dync__str_add(out, "...");
    } else if (t->numel == 0) {
        dync__str_add(out, "[]");
    } else {
        dync__show_choose(&s);
        dync__show_dims(&s, s.data, 0, (int)strlen("tensor("));
    }
    if (!out->failed) dync__show_suffixes(out, as, start, has_data);
    dync__str_addc(out, ')');
}

DYNC__FN void dync__tensor_show(dync__str *out, const dync__tensor *t)
{
    bool has_data = !(t->flags & DYNC__T_FAKE) && t->device != DYNC_META;
    dync__tensor *host = has_data && t->device != DYNC_CPU ? dync__contiguous_copy(t) : NULL;
    dync__show_tensor(out, host ? host : t, t, has_data && (t->device == DYNC_CPU || host));
    dync__unref(host);
}
