/* nn/entries.c: parameters and buffers of modules, and their dtypes and devices. Before: module.c.
 * */
#include "../dync.in.h"
#include "nn.h"
DYNC__COLD

/* ---- parameters and buffers ------------------------------------------------------------------ */

/* A parameter or buffer of the module itself, by its interned or any other spelling. The pointer is
 * good until the next change. */
static dync__module_entry *dync__module_entry_of(const dync__module *m, const char *name)
{
    for (int i = 0; i < m->entry.n; i++)
        if (dync__same_text(m->entry.at[i].name, name)) return &m->entry.at[i];
    return NULL;
}

DYNC__FN dync__tensor *dync__module_tensor(const dync__module *m, const char *name)
{
    const dync__module_entry *e = dync__module_entry_of(m, name);
    dync__module_touch(m);
    return e ? e->tensor : NULL;
}

/* Replacing keeps the place in the order. The old tensor is let go last, so that m is whole
 * meanwhile. */
DYNC__FN bool dync__module_put(dync__module *m, const char *name, dync__tensor *taken,
                               bool is_buffer)
{
    dync__module_entry entry = {dync__intern(name), taken, is_buffer},
                       *old = dync__module_entry_of(m, name);
    if (old) {
        dync__tensor *before = old->tensor;
        old->tensor = taken;
        old->is_buffer = is_buffer;
        dync__unref(before);
    } else if (!entry.name || !dync__vec_push(&m->entry, entry)) {
        dync__unref(taken);
        return false;
    }
    dync__module_bump(m);
    return true;
}

/* A parameter asked for as a buffer is an error, and the other way round. Borrowed. */
static dync_tensor *dync__module_get(dync__module *m, const char *path, bool is_buffer)
{
    const char *last, *what = is_buffer ? "dync_module_buffer" : "dync_module_param";
    dync__module *holder = dync__module_walk(m, path, &last, what);
    if (!holder) return NULL;
    const dync__module_entry *e = dync__module_entry_of(holder, last);
    dync__module_touch(holder);
    if (!e || e->is_buffer != is_buffer) {
        dync__fail(DYNC_ERR_VALUE, "%s: %s has no %s \"%s\"", what, m->class_name,
                   is_buffer ? "buffer" : "parameter", path);
        return NULL;
    }
    return dync__handle(e->tensor);
}

DYNC_API dync_tensor *(dync_module_param)(dync_module * m, const char *name)
{
    return dync__module_get(dync__module_open(m, "dync_module_param"), name, false);
}
DYNC_API dync_tensor *dync_module_buffer(dync_module *m, const char *name)
{
    return dync__module_get(dync__module_open(m, "dync_module_buffer"), name, true);
}

/* A parameter is a floating leaf. */
static dync_status dync__module_check_parameter(const dync__tensor *t)
{
    if (dync__dtype_info(t->dtype)->kind != 'f')
        return dync__fail(DYNC_ERR_DTYPE, "only Tensors "
                                          "of floating "
                                          "point dtype "
                                          "can require "
                                          "gradients");
    if (!dync__tensor_is_leaf(t))
        return dync__fail(DYNC_ERR_AUTOGRAD, "dync_module_set_param: a "
                                             "parameter must be a "
                                             "leaf: detach it first");
    return DYNC_OK;
}

/* The path leads to an existing module; its last part may be new. */
static void dync__module_set(dync__module *m, const char *path, dync_tensor *handle, bool is_buffer)
{
    const char *last, *what = is_buffer ? "dync_module_set_buffer" : "dync_module_set_param";
    dync__module *holder = dync__module_walk(m, path, &last, what);
    dync__tensor *t = holder ? dync__open(handle) : NULL;
    if (!t) return;
    if (!*last) {
        dync__fail(DYNC_ERR_VALUE, "%s: the name is empty", what);
        return;
    }
    if (!dync__module_part(last)) {
        dync__fail(DYNC_ERR_VALUE, "%s: a name is of letters, digits and _, got \"%s\"", what,
                   last);
        return;
    }
    if (!is_buffer && dync__module_check_parameter(t) != DYNC_OK) return;
    dync__ref(t);
    if (!dync__module_put(holder, last, t, is_buffer) || is_buffer) return;
    dync__tensor_set_requires_grad(t, true);
    t->flags |= DYNC__T_PARAMETER;
}

DYNC_API void dync_module_set_param(dync_module *m, const char *name, dync_tensor *t)
{
    dync__module_set(dync__module_open(m, "dync_module_set_param"), name, t, false);
}
DYNC_API void dync_module_set_buffer(dync_module *m, const char *name, dync_tensor *t)
{
    dync__module_set(dync__module_open(m, "dync_module_set_buffer"), name, t, true);
}

/* Counts on past the capacity, so that a call without room tells how much is needed. A parameter
 * that two modules share is listed twice. */
static void dync__module_list(const dync__module *m, dync_tensor **out, int capacity, int *n)
{
    dync__module_touch(m);
    for (int i = 0; i < m->entry.n; i++) {
        if (m->entry.at[i].is_buffer) continue;
        if (*n < capacity) out[*n] = dync__handle(m->entry.at[i].tensor);
        ++*n;
    }
    for (int i = 0; i < m->child.n; i++) dync__module_list(m->child.at[i], out, capacity, n);
}

DYNC_API int dync_module_parameters(dync_module *handle, dync_tensor **out, int capacity)
{
    const dync__module *m = dync__module_open(handle, "dync_module_parameters");
    return m ? dync__module_parameters(m, out, capacity) : 0;
}

DYNC__FN int dync__module_parameters(const dync__module *m, dync_tensor **out, int capacity)
{
    int n = 0;
    if (capacity < 0 || (capacity > 0 && !out)) {
        dync__fail(DYNC_ERR_VALUE, "dync_module_parameters: expected a module and room for the "
                                   "tensors");
        return 0;
    }
    dync__module_list(m, out, capacity, &n);
    return n;
}

/* In place, so that handles and optimizers keep their tensors; the gradient goes along. Integers
 * (counters) keep their dtype. The tensor gets the storage of the converted copy; its identity, and
 * every handle and reference to it, stays. */
static dync_status dync__module_convert(dync__tensor *t, int device, int dtype)
{
    if (dync__dtype_info(t->dtype)->kind != 'f') dtype = t->dtype;
    if (t->device == device && t->dtype == dtype) return DYNC_OK;
    dync_scope scope = dync_scope_begin();
    bool off = dync__grad_off(true);
    dync_tensor *g = dync_grad(dync__handle(t)),
                *h = dync_to_device(dync_to_dtype(dync__handle(t), (dync_dtype)dtype),
                                    (dync_device)device);
    if (h && g) g = dync_to_device(dync_to_dtype(g, (dync_dtype)dtype), (dync_device)device);
    dync__tensor *made = h ? dync__open(h) : NULL;
    dync__grad_off(off);
    if (made) {
        dync__storage *before = t->storage;
        dync__tensor_set_grad(t, NULL);
        dync__storage_ref(t->storage = made->storage);
        t->lay = made->lay;
        t->dtype = made->dtype;
        t->device = made->device;
        dync__storage_unref(before);
        if (g) dync__tensor_set_grad(t, dync__open(g));
    }
    dync_scope_end(&scope);
    return made ? DYNC_OK : dync_error();
}

/* device or dtype -1: as it is. Stops at the first failure, with what was converted before. */
static dync_status dync__module_move(dync__module *m, int device, int dtype)
{
    for (int i = 0; i < m->entry.n; i++) {
        dync__tensor *t = m->entry.at[i].tensor;
        DYNC__TRY(
            dync__module_convert(t, device < 0 ? t->device : device, dtype < 0 ? t->dtype : dtype));
    }
    for (int i = 0; i < m->child.n; i++)
        DYNC__TRY(dync__module_move(m->child.at[i], device, dtype));
    dync__module_bump(m);
    return DYNC_OK;
}

DYNC_API dync_status dync_module_to_device(dync_module *handle, dync_device device)
{
    dync__module *m = dync__module_open(handle, "dync_module_to_device");
    return m ? dync__module_move(m, (int)device, -1) : DYNC_ERR_VALUE;
}
DYNC_API dync_status dync_module_to_dtype(dync_module *handle, dync_dtype dtype)
{
    dync__module *m = dync__module_open(handle, "dync_module_to_dtype");
    if (!m) return DYNC_ERR_VALUE;
    if (!dync__dtype_valid((int)dtype) || dync__dtype_info((int)dtype)->kind != 'f')
        return dync__fail(DYNC_ERR_DTYPE, "dync_module_to_dtype: expected a floating point dtype");
    return dync__module_move(m, -1, (int)dtype);
}

/* Appends to out, which on false is as long as before. */
DYNC__FN bool dync__module_path_of(const dync__module *root, const dync__tensor *t, dync__str *out)
{
    size_t n = out->n;
    for (int i = 0; i < root->entry.n; i++)
        if (root->entry.at[i].tensor == t) {
            dync__str_add(out, root->entry.at[i].name);
            return true;
        }
    for (int i = 0; i < root->child.n; i++) {
        dync__str_addf(out, "%s.", root->child.at[i]->name);
        if (dync__module_path_of(root->child.at[i], t, out)) return true;
        if (out->at) {
            out->n = n;
            out->at[n] = 0;
        }
    }
    return false;
}
