/* onnx/out_build.c: nodes, attributes, constants of a model being written. After proto_write.c.
 *
 * Names are the identity of values in ONNX. Those that are made up here contain a dot
 * ("relu.3", "constant.4"), which no node of a graph has in its name. All is in the arena;
 * attributes go to the node emitted last. */
#include "../dync.in.h"
#if !defined(DYNC_NO_ONNX)
#include "out.h"
DYNC__COLD

DYNC__FN bool dync__ox_ok(const dync__ox *w) { return w->status == DYNC_OK; }

static void dync__ox_no_memory(dync__ox *w)
{
    if (w->status == DYNC_OK) w->status = DYNC_ERR_MEMORY;
}

DYNC__FN dync__ox_name dync__ox_refuse(dync__ox *w, const char *why)
{
    if (w->status != DYNC_OK) return "";
    w->status = DYNC_ERR_UNSUPPORTED;
    w->why = why;
    return "";
}

/* A name that no value of the graph has: those are identifiers. */
DYNC__FN dync__ox_name dync__ox_fresh(dync__ox *w)
{
    const char *of = w->node ? w->node->name : "value";
    char *name = dync__arena_printf(w->arena, "%s.%d", of, ++w->n_names);
    if (!name) dync__ox_no_memory(w);
    return name ? name : "";
}

/* ---- nodes ----------------------------------------------------------------------------------- */

/* The user's line as the node's doc_string, "file.c:12". */
static const char *dync__ox_line(dync__ox *w)
{
    const dync__node *n = w->node;
    if (!n || !n->at.file) return "";
    char *at = dync__arena_printf(w->arena, "%s:%d", n->at.file, n->at.line);
    return at ? at : "";
}

DYNC__FN dync__ox_name dync__ox_more(dync__ox *w)
{
    dync__ox_name out = dync__ox_fresh(w);
    if (!dync__ox_ok(w)) return "";
    if (!dync__avec_push(w->arena, &w->last->output, out)) dync__ox_no_memory(w);
    return out;
}

DYNC__FN dync__ox_name dync__ox_emit(dync__ox *w, const char *type, int n, const dync__ox_name *in)
{
    if (!dync__ox_ok(w)) return "";
    w->last = dync__onnx_add(w->arena, w->graph, node, node);
    if (!w->last) return dync__ox_no_memory(w), "";
    w->last->op_type = dync__arena_strdup(w->arena, type);
    w->last->doc_string = dync__ox_line(w);
    for (int i = 0; i < n; i++)
        if (!dync__avec_push(w->arena, &w->last->input, in[i])) dync__ox_no_memory(w);
    dync__ox_name out = dync__ox_more(w);
    w->last->name = out;
    if (!w->last->op_type) dync__ox_no_memory(w);
    return out;
}

DYNC__FN dync__ox_name dync__ox_op1(dync__ox *w, const char *type, dync__ox_name a)
{
    return dync__ox_emit(w, type, 1, &a);
}
DYNC__FN dync__ox_name dync__ox_op2(dync__ox *w, const char *type, dync__ox_name a, dync__ox_name b)
{
    dync__ox_name in[2] = {a, b};
    return dync__ox_emit(w, type, 2, in);
}
DYNC__FN dync__ox_name dync__ox_op3(dync__ox *w, const char *type, dync__ox_name a, dync__ox_name b,
                                    dync__ox_name c)
{
    dync__ox_name in[3] = {a, b, c};
    return dync__ox_emit(w, type, 3, in);
}

DYNC__FN void dync__ox_from_front(dync__ox *w)
{
    if (!dync__ox_ok(w)) return;
    dync__onnx_entry *e = dync__onnx_add(w->arena, w->last, metadata_props, entry);
    if (!e) {
        dync__ox_no_memory(w);
        return;
    }
    e->key = DYNC__ONNX_FROM_FRONT;
    e->value = "1";
}

/* ---- attributes ------------------------------------------------------------------------------ */

static dync__onnx_attribute *dync__ox_attribute(dync__ox *w, const char *name, int type)
{
    if (!dync__ox_ok(w)) return NULL;
    dync__onnx_attribute *a = dync__onnx_add(w->arena, w->last, attribute, attribute);
    if (!a) return dync__ox_no_memory(w), NULL;
    a->name = name;
    a->type = type;
    return a;
}

DYNC__FN void dync__ox_set_i(dync__ox *w, const char *name, int64_t value)
{
    dync__onnx_attribute *a = dync__ox_attribute(w, name, DYNC__ONNX_A_INT);
    if (!a) return;
    a->i = value;
    dync__onnx_mark(a, attribute, i);
}

DYNC__FN void dync__ox_set_f(dync__ox *w, const char *name, double value)
{
    dync__onnx_attribute *a = dync__ox_attribute(w, name, DYNC__ONNX_A_FLOAT);
    if (!a) return;
    a->f = (float)value;
    dync__onnx_mark(a, attribute, f);
}

DYNC__FN void dync__ox_set_s(dync__ox *w, const char *name, const char *value)
{
    dync__onnx_attribute *a = dync__ox_attribute(w, name, DYNC__ONNX_A_STRING);
    if (a) a->s = (dync__pb_bytes){value, strlen(value)};
}

DYNC__FN void dync__ox_set_ints(dync__ox *w, const char *name, int n, const int64_t *value)
{
    dync__onnx_attribute *a = dync__ox_attribute(w, name, DYNC__ONNX_A_INTS);
    for (int i = 0; a && i < n; i++)
        if (!dync__avec_push(w->arena, &a->ints, value[i])) dync__ox_no_memory(w);
}

DYNC__FN void dync__ox_set_tensor(dync__ox *w, const char *name, dync__onnx_tensor *t)
{
    dync__onnx_attribute *a = dync__ox_attribute(w, name, DYNC__ONNX_A_TENSOR);
    if (a) a->t = t;
}

DYNC__FN void dync__ox_set_graph(dync__ox *w, const char *name, dync__onnx_graph *g)
{
    dync__onnx_attribute *a = dync__ox_attribute(w, name, DYNC__ONNX_A_GRAPH);
    if (a) a->g = g;
}

/* ---- constants ------------------------------------------------------------------------------- */

DYNC__FN dync__onnx_tensor *dync__ox_tensor(dync__ox *w, int dtype, int ndim, const int64_t *shape,
                                            const void *bytes, size_t n)
{
    dync__onnx_tensor *t = dync__ox_ok(w) ? dync__onnx_new(w->arena, tensor) : NULL;
    if (!t) return dync__ox_no_memory(w), NULL;
    t->data_type = dync__dtype_info(dtype)->onnx;
    for (int d = 0; d < ndim; d++)
        if (!dync__avec_push(w->arena, &t->dims, shape[d])) dync__ox_no_memory(w);
    t->raw_data = (dync__pb_bytes){bytes, n};
    dync__onnx_mark(t, tensor, raw_data);
    return t;
}

static bool dync__ox_same_tensor(const dync__onnx_tensor *t, int dtype, int ndim,
                                 const int64_t *shape, const void *bytes, size_t n)
{
    if (t->data_type != dync__dtype_info(dtype)->onnx || t->dims.n != ndim || t->raw_data.n != n)
        return false;
    for (int d = 0; d < ndim; d++)
        if (t->dims.at[d] != shape[d]) return false;
    return n == 0 || memcmp(t->raw_data.at, bytes, n) == 0;
}

/* They are all of the outermost graph: functions inside operators see them. A small one is there
 * once. */
DYNC__FN dync__ox_name dync__ox_data(dync__ox *w, const char *name, int dtype, int ndim,
                                     const int64_t *shape, const void *bytes, size_t n)
{
    uint64_t hash = 0, found;
    if (!dync__ox_ok(w)) return "";
    if (n == 0) bytes = ""; /* an empty tensor may have no memory */
    if (!name && n <= 256) {
        hash = dync__hash_bytes(bytes, n, (uint64_t)dtype * 64 + (uint64_t)ndim + 1) | 1;
        const dync__onnx_tensor *same = dync__map_get(&w->constants, hash, &found)
                                            ? (const dync__onnx_tensor *)(uintptr_t)found
                                            : NULL;
        if (same && dync__ox_same_tensor(same, dtype, ndim, shape, bytes, n)) return same->name;
        bytes = n ? dync__arena_copy(w->arena, bytes, n) : "";
    }
    dync__onnx_tensor *t = bytes ? dync__ox_tensor(w, dtype, ndim, shape, bytes, n) : NULL;
    if (!t) return dync__ox_no_memory(w), "";
    if (!name) name = dync__arena_printf(w->arena, "constant.%d", ++w->n_names);
    t->name = name ? name : "";
    if (!name || !dync__avec_push(w->arena, &w->model->graph->initializer, t) ||
        (hash && !dync__map_put(&w->constants, hash, (uint64_t)(uintptr_t)t)))
        dync__ox_no_memory(w);
    return t->name;
}

DYNC__FN dync__ox_name dync__ox_ints(dync__ox *w, int n, const int64_t *value)
{
    int64_t count = n;
    if (n * (int)sizeof *value > 256) value = dync__arena_copy(w->arena, value, (size_t)n * 8);
    if (!value && n) return dync__ox_no_memory(w), "";
    return dync__ox_data(w, NULL, DYNC_I64, 1, &count, value, (size_t)n * sizeof *value);
}

DYNC__FN dync__ox_name dync__ox_int(dync__ox *w, int64_t value)
{
    return dync__ox_data(w, NULL, DYNC_I64, 0, NULL, &value, sizeof value);
}

DYNC__FN dync__ox_name dync__ox_scalar(dync__ox *w, int dtype, double value)
{
    float f = (float)value;
    uint16_t half = dtype == DYNC_F16 ? dync__f32_to_f16(f) : dync__f32_to_bf16(f);
    bool whole = value > -9.3e18 && value < 9.3e18;
    int64_t i = whole ? (int64_t)value : value > 0 ? INT64_MAX : INT64_MIN;
    int32_t i32 = (int32_t)i;
    uint8_t b = (uint8_t)(value > 0 || value < 0);
    switch (dtype) {
    case DYNC_F32: return dync__ox_data(w, NULL, dtype, 0, NULL, &f, 4);
    case DYNC_F64: return dync__ox_data(w, NULL, dtype, 0, NULL, &value, 8);
    case DYNC_I64: return dync__ox_int(w, i);
    case DYNC_I32: return dync__ox_data(w, NULL, dtype, 0, NULL, &i32, 4);
    case DYNC_BOOL: return dync__ox_data(w, NULL, dtype, 0, NULL, &b, 1);
    case DYNC_F16:
    case DYNC_BF16: return dync__ox_data(w, NULL, dtype, 0, NULL, &half, 2);
    default: return dync__ox_cast(w, dync__ox_int(w, i), DYNC_I64, dtype);
    }
}

DYNC__FN dync__ox_name dync__ox_cast(dync__ox *w, dync__ox_name x, int from, int to)
{
    if (from == to) return x;
    x = dync__ox_op1(w, "Cast", x);
    dync__ox_set_i(w, "to", dync__dtype_info(to)->onnx);
    return x;
}
#endif
