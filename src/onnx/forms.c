/* onnx/forms.c: graphs of a model for calls that its first one is not for: sizes of 1, which are no
 * symbols, and sizes that decide otherwise than those that were tried when the model was loaded.
 * After load.c, before walk.c.
 *
 * Each is made for the sizes of a call at hand, with symbols for all that are open but 1, and
 * serves every call that its guards hold for. After two that
 * could not be made none is tried again. */
#include "../dync.in.h"
#include "record.h"
DYNC__COLD

enum { DYNC__ONNX_FAILURES = 2 };

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

/* One more; the lock is held. */
static void dync__onnx_form_make(dync__onnx_forms *f, dync__onnx_loaded *l, const char *name,
                                 dync__tensor *const *t)
{
    for (int i = 0; i < l->n_inputs; i++)
        memcpy(l->input[i].hint, t[i]->lay.shape, sizeof l->input[i].hint);
    dync__graph *g = dync__onnx_graph_for(l, name);
    dync__program *p = g ? dync__program_from_leaves(g, name, 0, NULL) : NULL;
    dync__graph_unref(g); /* the program's */
    if (p && dync__onnx_tell(l, p) != DYNC_OK) {
        dync__program_free(p);
        p = NULL;
    }
    if (p) p->loaded = true;
    if (!p) {
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
            if (dync__program_is_for(f->at[i], t)) {
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
    for (int i = 0; i < f->n; i++) dync__program_free(f->at[i]);
}
