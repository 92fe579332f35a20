/* onnx/forms.c: graphs of a model for calls that its first one is not for: sizes of 1, which are no
 * symbols, and sizes that decide otherwise than those that were tried when the model was loaded.
 * After load.c, before walk.c.
 *
 * The first is for the sizes of the call at hand alone, which are often the only ones. Each further
 * one is made for those of a call, with symbols for all that are open but 1, and serves every call
 * that its guards hold for. After two that could not be made none is tried
 * again. Where there is none as the elements of a small input decide which nodes run (a sampling
 * rate, a mode) or sizes (where to resize to), each is for those elements, which are constants in
 * it. */
#include "../dync.in.h"
#include "record.h"
DYNC__COLD

/* the most elements of a key, and of one whose length the model tells (pads of eight dims) */
enum { DYNC__ONNX_FAILURES = 2, DYNC__ONNX_SMALL = 4, DYNC__ONNX_TOLD_MOST = 16 };

/* The program tells the names of the model. */
DYNC__FN dync_status dync__onnx_tell(const dync__onnx_loaded *l, dync__program *p)
{
    int n = l->n_inputs + l->n_outputs;
    dync_port *port = dync__calloc((size_t)(n + 1) * sizeof *port);
    if (!port) return DYNC_ERR_MEMORY;
    for (int i = 0; i < n; i++) {
        const dync__onnx_port *from = i < l->n_inputs ? &l->input[i] : &l->output[i - l->n_inputs];
        port[i].name = from->name;
        port[i].type = from->sequence ? DYNC__PORT_SEQUENCE : dync__onnx_type_name(from->type);
        port[i].dtype = (dync_dtype)(from->dtype < 0 ? DYNC_F32 : from->dtype);
        port[i].shape.n = from->ndim;
        for (int d = 0; d < from->ndim; d++) port[i].shape.d[d] = from->size[d];
    }
    dync_status status = dync__program_tell(p, l->n_inputs, port, l->n_outputs, port + l->n_inputs);
    dync__free(port, (size_t)(n + 1) * sizeof *port);
    return status;
}

/* The call's tensors; false: what no graph is for (sequences, empty tensors, a trace around). */
static bool dync__onnx_form_tensors(const dync__onnx_loaded *l, const dync_value *args,
                                    dync__tensor **t)
{
    bool fits = !dync__tls.compiling && l->n_inputs <= DYNC__MAX_LEAVES;
    for (int i = 0; i < l->n_outputs && fits; i++) fits = !l->output[i].sequence;
    for (int i = 0; i < l->n_inputs && fits; i++) {
        fits = args[i].kind == DYNC_KIND_TENSOR && l->input[i].ndim >= 0 && !l->input[i].sequence;
        t[i] = fits ? dync__open(args[i].as.t) : NULL;
        fits = t[i] && !(t[i]->flags & DYNC__T_FAKE) && t[i]->numel > 0;
    }
    return fits;
}

/* ---- values that decide ---------------------------------------------------------------------- */

/* Inputs of nodes whose elements decide what runs or sizes: first .. end - 1. */
typedef struct dync__onnx_decision {
    const char *type;
    int8_t first, end;
    bool flow; /* which nodes run, how often: by integers alone */
} dync__onnx_decision;
static const dync__onnx_decision dync__onnx_decisions[] = {
    {"If", 0, 1, true},
    {"Loop", 0, 2, true},
    {"AffineGrid", 1, 2, 0},
    {"CenterCropPad", 1, 2, 0},
    {"ConstantOfShape", 0, 1, 0},
    {"CumSum", 1, 2, 0},
    {"Expand", 1, 2, 0},
    {"OneHot", 1, 2, 0},
    {"Pad", 1, 4, 0},
    {"Range", 0, 3, 0},
    {"Reshape", 1, 2, 0},
    {"Resize", 1, 4, 0},
    {"Slice", 1, 5, 0},
    {"Split", 1, 2, 0},
    {"SplitToSequence", 1, 2, 0},
    {"Squeeze", 1, 2, 0},
    {"Tile", 1, 2, 0},
    {"TopK", 1, 2, 0},
    {"Trilu", 1, 2, 0},
    {"Unsqueeze", 1, 2, 0},
    {"Upsample", 1, 2, 0},
};

/* A reduction's axes are input 1, too. NULL: nothing is decided. */
static const dync__onnx_decision *dync__onnx_decision_of(const char *type)
{
    static const dync__onnx_decision axes = {"Reduce", 1, 2, false};
    if (strncmp(type, axes.type, strlen(axes.type)) == 0) return &axes;
    for (int i = 0; i < DYNC__COUNT_OF(dync__onnx_decisions); i++)
        if (strcmp(type, dync__onnx_decisions[i].type) == 0) return &dync__onnx_decisions[i];
    return NULL;
}

/* Of which inputs is what a node makes computed? Sizes are told without their elements. */
static uint64_t dync__onnx_step_mask(const dync__onnx_step *s, const uint64_t *mask, int first,
                                     int end)
{
    uint64_t in = 0;
    for (int i = first; i < end && i < s->node->input.n; i++)
        if (s->in[i].up == 0 && s->in[i].at >= 0) in |= mask[s->in[i].at];
    return in;
}

/* How many elements of it may be a key; 0: none. */
static int64_t dync__onnx_key_most(const dync__onnx_port *p)
{
    bool real = p->dtype >= 0 && dync__dtype_info(p->dtype)->kind == 'f';
    bool told = p->ndim == 0 || (p->ndim == 1 && p->size[0] >= 0);
    if (p->sequence || p->ndim < 0 || p->ndim > 1) return 0;
    return told ? DYNC__ONNX_TOLD_MOST : real ? 0 : DYNC__ONNX_SMALL;
}

/* The inputs, vectors at most, whose elements decide. */
static void dync__onnx_deciders(const dync__onnx_loaded *l, dync__onnx_forms *f)
{
    const dync__onnx_body *b = l->main;
    size_t bytes = ((size_t)b->n_values + 1) * sizeof(uint64_t);
    uint64_t *mask = dync__calloc(bytes), decide = 0, reals = 0;
    for (int i = 0; mask && i < l->n_inputs && i < 64; i++) {
        uint64_t bit = dync__onnx_key_most(&l->input[i]) ? (uint64_t)1 << i : 0;
        mask[l->given[i]] = bit;
        if (bit && dync__dtype_info(l->input[i].dtype)->kind == 'f') reals |= bit;
    }
    for (int i = 0; mask && i < b->n_steps; i++) {
        const dync__onnx_step *s = &b->step[i];
        const char *type = s->node->op_type;
        const dync__onnx_decision *d = dync__onnx_decision_of(type);
        bool sizes = strcmp(type, "Shape") == 0 || strcmp(type, "Size") == 0;
        uint64_t by = d ? dync__onnx_step_mask(s, mask, d->first, d->end) : 0;
        decide |= d && d->flow ? by & ~reals : by;
        uint64_t made = sizes ? 0 : dync__onnx_step_mask(s, mask, 0, s->node->input.n);
        for (int k = 0; k < s->node->output.n; k++)
            if (s->out[k] >= 0) mask[s->out[k]] = made;
    }
    f->n_keys = 0;
    for (int i = 0; i < l->n_inputs && i < 64; i++)
        if (decide >> i & 1 && f->n_keys < DYNC__ONNX_KEYS) f->key[f->n_keys++] = i;
    dync__free(mask, bytes);
}

static bool dync__onnx_is_small(const dync__tensor *t, int64_t most)
{
    return t->numel <= most && t->lay.ndim <= 1 && dync__device_is(t->device, DYNC__DEV_HOST);
}

/* key: contiguous, of the input's dtype */
static bool dync__onnx_same_value(const dync__tensor *key, const dync__tensor *t)
{
    if (!dync__onnx_is_small(t, key->numel) || t->lay.ndim != key->lay.ndim ||
        t->numel != key->numel)
        return false;
    size_t bytes = dync__dtype_info(t->dtype)->bytes;
    const char *a = key->storage->data, *b = t->storage->data;
    a += (size_t)key->lay.offset * bytes;
    b += t->lay.offset * (int64_t)bytes;
    for (int64_t i = 0; i < t->numel; i++) {
        int64_t at = t->lay.ndim ? i * t->lay.stride[0] : 0;
        if (memcmp(a + i * (int64_t)bytes, b + at * (int64_t)bytes, bytes) != 0) return false;
    }
    return true;
}

static bool dync__onnx_form_is_for(const dync__onnx_forms *f, int form, dync__tensor *const *t)
{
    for (int k = 0; k < DYNC__ONNX_KEYS; k++)
        if (f->value[form][k] && !dync__onnx_same_value(f->value[form][k], t[f->key[k]]))
            return false;
    return dync__program_is_for(f->at[form], t);
}

/* A graph for the values that decide in this call, which the next form keeps. */
static dync__graph *dync__onnx_keyed_graph(dync__onnx_forms *f, dync__onnx_loaded *l,
                                           const char *name, dync__tensor *const *t)
{
    dync__tensor **value = f->value[f->n];
    dync__graph *g = NULL;
    bool known = true;
    dync__onnx_deciders(l, f);
    for (int k = 0; k < f->n_keys && known; k++) {
        const dync__tensor *from = t[f->key[k]];
        int64_t most = dync__onnx_key_most(&l->input[f->key[k]]);
        value[k] = dync__onnx_is_small(from, most) ? dync__contiguous_copy(from) : NULL;
        l->input[f->key[k]].known = value[k];
        known = value[k] != NULL;
    }
    if (known && f->n_keys) g = dync__onnx_graph_for(l, name, false);
    for (int k = 0; k < f->n_keys; k++) {
        l->input[f->key[k]].known = NULL;
        if (g) continue;
        dync__unref(value[k]);
        value[k] = NULL;
    }
    return g;
}

/* One more; the lock is held. */
static void dync__onnx_form_make(dync__onnx_forms *f, dync__onnx_loaded *l, const char *name,
                                 dync__tensor *const *t)
{
    for (int i = 0; i < l->n_inputs; i++)
        memcpy(l->input[i].hint, t[i]->lay.shape, sizeof l->input[i].hint);
    bool alone = !f->n && !f->keyed && !f->failed && dync__pass_on(DYNC__PASS_first_alone);
    dync__graph *g = f->keyed ? NULL : dync__onnx_graph_for(l, name, alone);
    if (!g) {
        g = dync__onnx_keyed_graph(f, l, name, t);
        f->keyed = f->keyed || g;
    }
    dync__program *p = g ? dync__program_from_leaves(g, name, 0, NULL) : NULL;
    dync__graph_unref(g); /* the program's */
    if (p && dync__onnx_tell(l, p) != DYNC_OK) {
        dync__program_free(p);
        p = NULL;
    }
    if (p) p->loaded = true;
    if (!p) {
        for (int k = 0; k < DYNC__ONNX_KEYS; k++) {
            dync__unref(f->value[f->n][k]);
            f->value[f->n][k] = NULL;
        }
        DYNC__ATOMIC_STORE(&f->failed, f->failed + 1);
        return;
    }
    f->at[f->n] = p;
    DYNC__ATOMIC_STORE(&f->n, f->n + 1);
}

DYNC__FN bool dync__onnx_forms_run(dync__onnx_forms *f, dync__onnx_loaded *l, const char *name,
                                   const dync_value *args, dync_value *out)
{
    dync__tensor *t[DYNC__MAX_LEAVES];
    if (!dync__onnx_form_tensors(l, args, t)) return false;
    for (int pass = 0; pass < 2; pass++) {
        int n = DYNC__ATOMIC_LOAD(&f->n);
        for (int i = 0; i < n; i++)
            if (dync__onnx_form_is_for(f, i, t)) {
                *out = dync__program_run(f->at[i], l->n_inputs, args);
                return true;
            }
        if (pass || n == DYNC__ONNX_FORMS || DYNC__ATOMIC_LOAD(&f->failed) >= DYNC__ONNX_FAILURES)
            return false;
        dync__lock(&f->lock);
        if (f->n == n) dync__onnx_form_make(f, l, name, t);
        dync__unlock(&f->lock);
    }
    return false;
}

DYNC__FN void dync__onnx_forms_end(dync__onnx_forms *f)
{
    for (int i = 0; i < f->n; i++) {
        dync__program_free(f->at[i]);
        for (int k = 0; k < DYNC__ONNX_KEYS; k++) dync__unref(f->value[i][k]);
    }
}
