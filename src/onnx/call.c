/* onnx/call.c: what mapping functions (map_*.c) work with: attributes, sizes, known numbers. After
 * data.c.
 *
 * Operators of dync pass NULL on and record the first error, so a mapping function may chain calls
 * and let dync__oi_out look at the end; it tests on the way only what it reads itself. */
#include "../dync.in.h"
#include "onnx.h"
DYNC__COLD

/* Records "ONNX node NAME (TYPE): ..." and gives the status back. A node without a name is told by
 * its first output. */
DYNC__FN dync_status dync__oi_fail(const dync__onnx_call *c, dync_status status, const char *fmt,
                                   ...)
{
    dync__str s = {0};
    va_list args;
    va_start(args, fmt);
    dync__str_addv(&s, fmt, args);
    va_end(args);
    const char *name = *c->node->name      ? c->node->name
                       : c->node->output.n ? c->node->output.at[0]
                                           : "";
    status = dync__fail(status, "ONNX node %s (%s): %s", name, c->node->op_type, dync__str_get(&s));
    dync__str_free(&s);
    return status;
}

DYNC__FN dync_status dync__oi_out_typed(dync__onnx_call *c, int i, dync_tensor *t, int type)
{
    if (!t) return dync_error() != DYNC_OK ? dync_error() : DYNC_ERR_MEMORY;
    if (i < c->n_out) c->out[i] = (dync__onnx_value){t, type, NULL};
    return DYNC_OK;
}
DYNC__FN dync_status dync__oi_out(dync__onnx_call *c, int i, dync_tensor *t)
{
    return dync__oi_out_typed(c, i, t, 0);
}

/* ---- attributes ------------------------------------------------------------------------------ */

static const dync__onnx_attribute *dync__oi_of_node(const dync__onnx_node *n, const char *name)
{
    for (int i = 0; i < n->attribute.n; i++)
        if (strcmp(n->attribute.at[i]->name, name) == 0) return n->attribute.at[i];
    return NULL;
}

/* recursion: inside functions of the model an attribute may refer to one of the function's call */
static const dync__onnx_attribute *dync__oi_find(const dync__onnx_node *node,
                                                 const dync__onnx_frame *frame, const char *name)
{
    const dync__onnx_attribute *a = dync__oi_of_node(node, name);
    if (!a || !*a->ref_attr_name) return a;
    while (frame && !frame->body->function) frame = frame->outer;
    if (!frame || !frame->call) return NULL;
    const dync__onnx_attribute *given =
        dync__oi_find(frame->call->node, frame->call->frame, a->ref_attr_name);
    const dync__onnx_function *f = frame->body->function;
    for (int i = 0; !given && i < f->attribute_proto.n; i++)
        if (strcmp(f->attribute_proto.at[i]->name, a->ref_attr_name) == 0)
            given = f->attribute_proto.at[i];
    return given;
}

DYNC__FN const dync__onnx_attribute *dync__oi_attribute(const dync__onnx_call *c, const char *name)
{
    return dync__oi_find(c->node, c->frame, name);
}
DYNC__FN bool dync__oi_has(const dync__onnx_call *c, const char *name)
{
    return dync__oi_attribute(c, name) != NULL;
}

/* The text behind "name=" in the row, up to a space. */
static const char *dync__oi_default(const dync__onnx_call *c, const char *name, size_t *n)
{
    size_t length = strlen(name);
    const char *p = c->row ? c->row->attributes : "";
    while (*p) {
        const char *end = strchr(p, ' ');
        size_t word = end ? (size_t)(end - p) : strlen(p);
        if (word > length && strncmp(p, name, length) == 0 && p[length] == '=') {
            *n = word - length - 1;
            return p + length + 1;
        }
        p += end ? word + 1 : word;
    }
    *n = 0;
    return "";
}

/* The default of a number, 0 where the row has none ("axis=") or it is a word. */
static double dync__oi_default_number(const dync__onnx_call *c, const char *name)
{
    char text[32];
    size_t n;
    const char *at = dync__oi_default(c, name, &n);
    double x = 0;
    if (n >= sizeof text) return 0;
    memcpy(text, at, n);
    text[n] = 0;
    return n && dync__text_double(text, NULL, &x) ? x : 0;
}

DYNC__FN int64_t dync__oi_int(const dync__onnx_call *c, const char *name)
{
    const dync__onnx_attribute *a = dync__oi_attribute(c, name);
    return a ? a->i : (int64_t)dync__oi_default_number(c, name);
}
DYNC__FN double dync__oi_float(const dync__onnx_call *c, const char *name)
{
    const dync__onnx_attribute *a = dync__oi_attribute(c, name);
    return a ? (double)a->f : dync__oi_default_number(c, name);
}
/* Is the text attribute, or its default, exactly this? Bytes of the file end without a zero. */
DYNC__FN bool dync__oi_is(const dync__onnx_call *c, const char *name, const char *text)
{
    const dync__onnx_attribute *a = dync__oi_attribute(c, name);
    size_t n = a ? a->s.n : 0;
    const char *at = a ? a->s.at : dync__oi_default(c, name, &n);
    return strlen(text) == n && memcmp(at, text, n) == 0;
}
DYNC__FN int dync__oi_ints(const dync__onnx_call *c, const char *name, const int64_t **out)
{
    const dync__onnx_attribute *a = dync__oi_attribute(c, name);
    *out = a ? a->ints.at : NULL;
    return a ? a->ints.n : 0;
}
DYNC__FN int dync__oi_floats(const dync__onnx_call *c, const char *name, const float **out)
{
    const dync__onnx_attribute *a = dync__oi_attribute(c, name);
    *out = a ? a->floats.at : NULL;
    return a ? a->floats.n : 0;
}
/* NULL: the node has no such attribute, or it holds no graph. */
DYNC__FN const dync__onnx_body *dync__oi_body(const dync__onnx_call *c, const char *name)
{
    for (int i = 0; i < c->node->attribute.n; i++)
        if (strcmp(c->node->attribute.at[i]->name, name) == 0) return c->step->inside[i];
    return NULL;
}

DYNC__FN bool dync__oi_axis(const dync__onnx_call *c, int64_t axis, int rank, int *out)
{
    *out = (int)(axis < 0 ? axis + rank : axis);
    if (axis >= -rank && axis < rank) return true;
    dync__oi_fail(c, DYNC_ERR_FORMAT, "axis %lld of a tensor of %d dimensions", (long long)axis,
                  rank);
    return false;
}

/* ---- tensors --------------------------------------------------------------------------------- */

/* A door: functions that know nothing of symbolic sizes get no token. While a graph is made they
 * end it; inside a function that is compiled the size becomes a number, which is guarded. */
DYNC__FN int64_t dync__oi_number(int64_t size)
{
    if (!dync__is_token(size) || !dync__tls.syms || !dync__symtab_find(dync__tls.syms, size))
        return size;
    if (dync__tls.compiling) return dync__sz_number(size);
    dync__fail(DYNC_ERR_DATA_PTR, "ONNX: a symbolic size is needed as a number");
    return dync__sz_hint(size);
}

DYNC__FN bool dync__oi_is_open(const dync_tensor *t)
{
    const dync__tensor *x = dync__peek(t);
    return x && x->flags & DYNC__T_FAKE && !dync__tls.compiling && !dync__onnx_whole(t);
}

/* Tokens while a graph is made alone: whose compiled function calls has numbers. */
DYNC__FN dync_dims dync__oi_sizes(const dync_tensor *t)
{
    dync_dims d = {0, {0}};
    const dync__tensor *x = dync__peek(t);
    d.n = x ? x->lay.ndim : 0;
    for (int i = 0; i < d.n; i++)
        d.d[i] = dync__tls.compiling ? dync__oi_number(x->lay.shape[i]) : x->lay.shape[i];
    return d;
}
DYNC__FN dync_dims dync__oi_shape(const dync_tensor *t)
{
    dync_dims d = dync__oi_sizes(t);
    for (int i = 0; i < d.n; i++) d.d[i] = dync__oi_number(d.d[i]);
    return d;
}
DYNC__FN int dync__oi_rank(const dync_tensor *t) { return dync__oi_sizes(t).n; }
/* 1 where there is no such dim: a scalar counts as one element along every dim. */
DYNC__FN int64_t dync__oi_extent(const dync_tensor *t, int dim)
{
    dync_dims d = dync__oi_sizes(t);
    dim = dim < 0 ? dim + d.n : dim;
    return dim >= 0 && dim < d.n ? d.d[dim] : 1;
}
DYNC__FN int64_t dync__oi_size(const dync_tensor *t, int dim)
{
    return dync__oi_number(dync__oi_extent(t, dim));
}
DYNC__FN int dync__oi_type(const dync_tensor *t)
{
    const dync__tensor *x = dync__peek(t);
    return x ? x->dtype : DYNC_F32;
}

/* In order, and itself where it is: a call that follows an earlier one does not go on behind an
 * operator that hands its argument through. */
static dync_tensor *dync__oi_dense(dync_tensor *t)
{
    const dync__tensor *x = dync__peek(t);
    return x && dync__layout_is_contiguous(&x->lay) ? t : dync_contiguous(t);
}

/* Elements of a tensor in order, as they are. NULL: error. */
static const char *dync__oi_elements(const dync__onnx_call *c, dync_tensor *t, int cap, int *n)
{
    int64_t numel = 1;
    dync_dims d = dync__oi_shape(t);
    for (int i = 0; i < d.n; i++) numel *= d.d[i];
    if (numel > cap) {
        dync__oi_fail(c, DYNC_ERR_FORMAT, "expected at most %d numbers, got %lld", cap,
                      (long long)numel);
        return NULL;
    }
    *n = (int)numel;
    if (numel == 0) return "";
    dync_tensor *dense = dync__oi_dense(t);
    const dync__tensor *x = dense ? dync__open(dense) : NULL;
    if (!x) return NULL;
    if (!(x->flags & DYNC__T_FAKE)) return dync__tensor_data(x);
    if (dync__tls.compiling) return dync_data(dense); /* cuts the trace */
    dync__oi_fail(c, DYNC_ERR_DATA_PTR, "data decide a shape or what is run");
    return NULL;
}

/* A real as an integer, towards 0; what none holds is the nearest one, what is no number 0. */
static int64_t dync__oi_whole(double x)
{
    if (!(fabs(x) < 9.2e18)) return x > 0 ? INT64_MAX : x < 0 ? INT64_MIN : 0;
    return (int64_t)x;
}

DYNC__FN int dync__oi_read_sizes(const dync__onnx_call *c, dync_tensor *t, int cap, int64_t *out)
{
    if (t && dync__onnx_whole(t)) t = dync__onnx_whole(t);
    int n = 0, dtype = dync__oi_type(t);
    const char *at = t ? dync__oi_elements(c, t, cap, &n) : NULL;
    if (!at) return -1;
    for (int i = 0; i < n; i++)
        out[i] =
            dync__dtype_info(dtype)->kind == 'f'
                ? dync__oi_whole(dync__load_f64(at + i * dync__dtype_info(dtype)->bytes, dtype))
                : dync__load_i64(at + i * dync__dtype_info(dtype)->bytes, dtype);
    return n;
}
DYNC__FN int dync__oi_read(const dync__onnx_call *c, dync_tensor *t, int cap, int64_t *out)
{
    int n = dync__oi_read_sizes(c, t, cap, out);
    for (int i = 0; i < n; i++) out[i] = dync__oi_number(out[i]);
    return n;
}
/* Sizes that are read as reals have to be plain numbers; of other dtypes the elements are as they
 * are. */
DYNC__FN int dync__oi_read_reals(const dync__onnx_call *c, dync_tensor *t, int cap, double *out)
{
    if (t && dync__onnx_whole(t)) t = dync__onnx_whole(t);
    int n = 0, dtype = dync__oi_type(t);
    const char *at = t ? dync__oi_elements(c, t, cap, &n) : NULL;
    if (!at) return -1;
    for (int i = 0; i < n; i++)
        out[i] = dtype == DYNC_I64 ? (double)dync__oi_number(dync__load_i64(at + i * 8, dtype))
                                   : dync__load_f64(at + i * dync__dtype_info(dtype)->bytes, dtype);
    return n;
}
DYNC__FN bool dync__oi_read_dims(const dync__onnx_call *c, dync_tensor *t, dync_dims *out)
{
    out->n = t ? dync__oi_read_sizes(c, t, DYNC_MAX_DIMS, out->d) : -1;
    return out->n >= 0;
}
DYNC__FN bool dync__oi_dims(const dync__onnx_call *c, dync_tensor *t, dync_dims *out)
{
    out->n = t ? dync__oi_read(c, t, DYNC_MAX_DIMS, out->d) : -1;
    return out->n >= 0;
}

/* ---- new tensors ----------------------------------------------------------------------------- */

/* A dense tensor on the host whose elements are to be stored; NULL + error. */
static dync__tensor *dync__oi_new(int dtype, int ndim, const int64_t *shape)
{
    dync__layout lay;
    if (dync__layout_contiguous(&lay, ndim, shape) != DYNC_OK) return NULL;
    return dync__tensor_empty(dtype, DYNC_CPU, &lay);
}
DYNC__FN dync_tensor *dync__oi_tensor_i(int dtype, int ndim, const int64_t *shape,
                                        const int64_t *value)
{
    dync__tensor *t = dync__oi_new(dtype, ndim, shape);
    for (int64_t i = 0; t && i < t->numel; i++)
        dync__store_i64((char *)t->storage->data + i * dync__dtype_info(dtype)->bytes, dtype,
                        value[i]);
    return t ? dync__give(t) : NULL;
}
DYNC__FN dync_tensor *dync__oi_tensor_f(int dtype, int ndim, const int64_t *shape,
                                        const double *value)
{
    dync__tensor *t = dync__oi_new(dtype, ndim, shape);
    for (int64_t i = 0; t && i < t->numel; i++)
        dync__store_f64((char *)t->storage->data + i * dync__dtype_info(dtype)->bytes, dtype,
                        value[i]);
    return t ? dync__give(t) : NULL;
}

/* cat along dim, or stack. An element that is NULL has its error recorded: NULL. */
enum { DYNC__OI_JOINED = 24 }; /* tensors that one step of a plan joins */
/* recursion: many are joined in groups */
DYNC__FN dync_tensor *dync__oi_list(int n, dync_tensor *const *t, int dim, bool stack)
{
    if (n == 1) return stack && t[0] ? dync_unsqueeze(t[0], dim) : t[0];
    int groups = (n + DYNC__OI_JOINED - 1) / DYNC__OI_JOINED;
    dync_tensor **part = groups > 1 ? dync__scope_alloc((size_t)groups * sizeof(*part)) : NULL;
    for (int i = 0; part && i < groups; i++) {
        int from = i * DYNC__OI_JOINED, k = DYNC__MIN(n - from, DYNC__OI_JOINED);
        part[i] = dync__oi_list(k, t + from, dim, stack);
    }
    if (groups > 1) return part ? dync__oi_list(groups, part, dim, false) : NULL;
    dync_value list = dync__list_new(n);
    if (list.kind != DYNC_KIND_LIST) return NULL;
    for (int i = 0; i < n; i++) {
        if (!t[i]) return NULL;
        dync__list_set(list, i, dync_v_tensor(t[i]));
    }
    return stack ? dync_stack(list, dim) : dync_cat(list, dim);
}

DYNC__FN dync_tensor *dync__oi_narrow(dync_tensor *x, int dim, int64_t from, int64_t n)
{
    if (!x || (from == 0 && n == dync__oi_extent(x, dim))) return x;
    return (dync_slice)(x, dim, from, dync__sz_add(from, n), 1);
}

DYNC__FN dync_tensor *dync__oi_shaped(dync_tensor *x, dync_dims shape)
{
    dync_dims now = dync__oi_sizes(x);
    bool same = x && now.n == shape.n;
    for (int i = 0; same && i < now.n; i++) same = now.d[i] == shape.d[i];
    return same || !x ? x : dync_reshape(x, shape);
}

DYNC__FN dync_tensor *dync__oi_full(dync_dims shape, double value, int dtype)
{
    dync_make make = {0};
    make.shape = shape;
    make.dtype = (dync_dtype)dtype;
    bool real = dync__dtype_info(dtype)->kind == 'f';
    return DYNC__MAKER(full)(real ? dync_v_float(value) : dync_v_int((int64_t)value), make);
}

/* ---- where inputs come from ------------------------------------------------------------------ */
DYNC__FN dync__onnx_value dync__onnx_value_at(const dync__onnx_frame *f, dync__onnx_place p)
{
    dync__onnx_value none = {NULL, 0, NULL};
    if (p.at < 0) return none;
    for (int i = 0; i < p.up && f; i++) f = f->outer;
    return f ? f->value[p.at] : none;
}

DYNC__FN const dync__onnx_step *dync__onnx_maker(const dync__onnx_call *c, int i)
{
    dync__onnx_place p = i < c->step->node->input.n ? c->step->in[i] : (dync__onnx_place){0, -1};
    const dync__onnx_body *b = c->frame ? c->frame->body : NULL;
    int at = !b || p.up || p.at < 0 ? -1 : b->maker[p.at];
    return at < 0 ? NULL : &b->step[at];
}
