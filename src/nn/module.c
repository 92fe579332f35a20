/* nn/module.c: modules: a tree of named parameters, buffers and children with a forward. After
 * autograd/, before layers.c.
 *
 * A module owns references to its tensors and owns its children. Every change (a tensor set, a
 * child added, training switched) gives it and its ancestors the number of another state (state.c),
 * which compiled code guards. Changes are not for two threads at once; forwards are.
 *
 *   Sequential                     paths, from the root:   "0.weight"
 *     "0" Linear   weight, bias                            "1.running_mean"   (a buffer)
 *     "1" BatchNorm2d  weight, bias, running_mean, ... */
#include "../dync.in.h"
#include "nn.h"
DYNC__COLD

DYNC__DATA void (*dync__module_touched)(dync__module *) = NULL;
DYNC__DATA dync_value (*dync__module_call_compiled)(dync__module *, int nargs,
                                                    const dync_value *args) = NULL;
DYNC__DATA void (*dync__module_drop_compiled)(dync__module *) = NULL;
static uint64_t dync__module_last_id;

/* ---- making and releasing -------------------------------------------------------------------- */

/* What shutdown calls for a module that nobody freed. */
static void dync__module_end(dync__root *r) { dync__module_free((dync__module *)(void *)r); }

/* Takes m: where it cannot be given, it is freed. */
DYNC__FN dync_module *dync__module_give(dync__module *m)
{
    dync_module *handle = dync__module_handle(m);
    if (!handle) dync__module_free(m);
    return handle;
}

/* A part of a path: "weight"; "0", the first of a sequential. */
DYNC__FN bool dync__module_part(const char *name)
{
    const char *rest = name;
    while (*rest >= '0' && *rest <= '9') rest++;
    return *name && (!*rest || dync__is_name(rest, strlen(rest)));
}

/* "x, y": names, where they are given. */
DYNC__FN dync_status dync__module_args_check(const char *args)
{
    for (const char *p = args ? args + strspn(args, " ,") : ""; *p; p += strspn(p, " ,")) {
        size_t n = strcspn(p, " ,");
        if (!dync__is_name(p, n))
            return dync__fail(DYNC_ERR_VALUE,
                              "a module's arguments are names \"x, y\", got '%.*s' in '%s'", (int)n,
                              p, args);
        p += n;
    }
    return DYNC_OK;
}

/* In training mode. The id is never used again by another module: guards name modules by it. */
DYNC__FN dync__module *dync__module_alloc(const char *class_name)
{
    const char *given = class_name && *class_name ? class_name : "Module";
    if (!dync__is_name(given, strlen(given)))
        return dync__fail(DYNC_ERR_VALUE,
                          "a module's class is a name of letters, digits and _, got \"%s\"", given),
               NULL;
    const char *name = dync__intern(given);
    dync__module *m = name ? dync__calloc(sizeof *m) : NULL;
    if (!m) return NULL;
    m->class_name = name;
    m->name = "";
    m->training = true;
    m->id = DYNC__ATOMIC_INC(&dync__module_last_id);
    dync__object_made(&m->root.object);
    dync__root_set(&m->root, dync__module_end);
    return m;
}

/* user is kept as it is, and is the caller's to free after the module. */
DYNC_API dync_module *dync_module_new(const char *class_name, dync_forward forward, void *user)
{
    dync__module *m = forward
                          ? dync__module_alloc(class_name)
                          : (dync__fail(DYNC_ERR_VALUE, "dync_module_new: forward is NULL"), NULL);
    if (m) m->forward = forward, m->user = user;
    return dync__module_give(m);
}

DYNC_API dync_module *dync_module_new_values(const char *class_name, dync_forward_values forward,
                                             const char *args, void *user)
{
    if (!forward)
        return dync__fail(DYNC_ERR_VALUE, "dync_module_new_values: forward is NULL"), NULL;
    if (dync__module_args_check(args) != DYNC_OK) return NULL;
    const char *names = args ? dync__intern(args) : NULL;
    dync__module *m = !args || names ? dync__module_alloc(class_name) : NULL;
    if (m) m->forward_values = forward, m->args = names, m->user = user;
    return dync__module_give(m);
}

/* Leaves its parent's list, which counts as a change of the parent. */
static void dync__module_detach(dync__module *m)
{
    dync__module *parent = m->parent;
    if (!parent) return;
    int kept = 0;
    for (int i = 0; i < parent->child.n; i++)
        if (parent->child.at[i] != m) parent->child.at[kept++] = parent->child.at[i];
    parent->child.n = kept;
    m->parent = NULL;
    dync__module_bump(parent);
}

DYNC_API void dync_module_free(dync_module *m)
{
    if (m) dync__module_free(dync__module_open(m, "dync_module_free"));
}

/* First nobody finds it any more (handle, parent, compiled code that guards it), then what it owns
 * goes: children from the last on, tensors by reference. */
DYNC__FN void dync__module_free(dync__module *m)
{
    if (!m) return;
    dync__object_end(&m->root.object);
    dync__root_set(&m->root, NULL);
    dync__module_detach(m);
    void (*drop)(dync__module *) = DYNC__ATOMIC_PEEK(&dync__module_drop_compiled);
    if (drop) drop(m);
    while (m->child.n) dync__module_free(m->child.at[m->child.n - 1]);
    if (m->destroy) m->destroy(m);
    for (int i = 0; i < m->entry.n; i++) dync__unref(m->entry.at[i].tensor);
    dync__module_forget(m);
    dync__vec_free(&m->entry);
    dync__vec_free(&m->child);
    dync__free(m, sizeof *m);
}

/* const, since reading changes nothing of the module; capture's hook notes a guard on it. */
DYNC__FN void dync__module_touch(const dync__module *m)
{
    void (*touched)(dync__module *) = DYNC__ATOMIC_PEEK(&dync__module_touched);
    if (dync__tls.compiling && touched) touched((dync__module *)(uintptr_t)m);
}

/* ---- the tree -------------------------------------------------------------------------------- */

/* n: how much of name counts, as it may be a part of a longer path. */
static dync__module *dync__module_child_named(const dync__module *m, const char *name, size_t n)
{
    for (int i = 0; i < m->child.n; i++)
        if (strncmp(m->child.at[i]->name, name, n) == 0 && m->child.at[i]->name[n] == 0)
            return m->child.at[i];
    return NULL;
}

/* Follows a path to the module that holds its last part; *last is that part. NULL and an error if a
 * module on the way is missing. NULL passes. */
static dync__module *dync__module_walk(dync__module *m, const char *path, const char **last,
                                       const char *what)
{
    if (!m) return NULL;
    if (!path) return dync__fail(DYNC_ERR_VALUE, "%s: the name is NULL", what), NULL;
    const char *part = path;
    for (const char *dot; (dot = strchr(part, '.')) != NULL; part = dot + 1) {
        m = dync__module_child_named(m, part, (size_t)(dot - part));
        if (!m)
            return dync__fail(DYNC_ERR_VALUE, "%s: no module \"%.*s\"", what, (int)(dot - path),
                              path),
                   NULL;
    }
    *last = part;
    return m;
}

DYNC_API dync_module *dync_module_child(dync_module *handle, const char *name)
{
    const char *last;
    dync__module *m = dync__module_open(handle, "dync_module_child");
    dync__module *holder = dync__module_walk(m, name, &last, "dync_module_child");
    if (!holder) return NULL;
    dync__module *child = dync__module_child_named(holder, last, strlen(last));
    if (!child)
        dync__fail(DYNC_ERR_VALUE, "dync_module_child: no module \"%s\" in %s", name,
                   m->class_name);
    return dync__module_handle(child);
}

/* Is child m itself or one of its ancestors? Then adding it below m would make a ring. */
static bool dync__module_holds(const dync__module *child, const dync__module *m)
{
    while (m && m != child) m = m->parent;
    return m != NULL;
}

/* DYNC_ERR_VALUE and a message; NULL arguments have been reported before. */
static dync_status dync__module_add_check(const dync__module *m, const char *name,
                                          const dync__module *child)
{
    if (!m || !child) return DYNC_ERR_VALUE;
    if (!name || !*name || strchr(name, '.'))
        return dync__fail(DYNC_ERR_VALUE,
                          "dync_module_add: a name is not empty and has no dots: \"%s\"",
                          name ? name : "NULL");
    if (!dync__module_part(name))
        return dync__fail(DYNC_ERR_VALUE,
                          "dync_module_add: a name is of letters, digits and _: \"%s\"", name);
    if (child->parent)
        return dync__fail(DYNC_ERR_VALUE, "dync_module_add: %s belongs to another module",
                          child->class_name);
    return dync__module_holds(child, m)
               ? dync__fail(DYNC_ERR_VALUE, "dync_module_add: %s would contain itself",
                            child->class_name)
               : DYNC_OK;
}

DYNC_API void dync_module_add(dync_module *handle, const char *name, dync_module *child)
{
    dync__module *m = dync__module_open(handle, "dync_module_add");
    if (!child && dync_error() == DYNC_OK)
        dync__fail(DYNC_ERR_VALUE, "dync_module_add: the "
                                   "child is NULL");
    dync__module_add(m, name, child ? dync__module_open(child, "dync_module_add") : NULL);
}

/* A name that is there already: the child of before is freed, and the new one stands in its
 * place. */
DYNC__FN void dync__module_add(dync__module *m, const char *name, dync__module *child)
{
    const char *text = dync__module_add_check(m, name, child) == DYNC_OK ? dync__intern(name)
                                                                         : NULL;
    if (!text || !dync__vec_reserve(&m->child, m->child.n + 1)) {
        /* taken, also on failure */
        if (child && !child->parent && !dync__module_holds(child, m)) dync__module_free(child);
        return;
    }
    dync__module *old = dync__module_child_named(m, text, strlen(text));
    int at = 0;
    while (at < m->child.n && m->child.at[at] != old) at++;
    if (old) dync__module_free(old);
    memmove(&m->child.at[at + 1], &m->child.at[at], (size_t)(m->child.n++ - at) * sizeof child);
    m->child.at[at] = child; /* in the place of the one before it, or last */
    child->name = text;
    child->parent = m;
    dync__module_bump(m);
}

/* ---- parameters and buffers ------------------------------------------------------------------ */

/* A parameter or buffer of the module itself, by its interned or any other spelling. The pointer is
 * good until the next change. */
static dync__module_entry *dync__module_entry_of(const dync__module *m, const char *name)
{
    for (int i = 0; i < m->entry.n; i++)
        if (strcmp(m->entry.at[i].name, name) == 0) return &m->entry.at[i];
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

/* ---- state, calls ---------------------------------------------------------------------------- */

DYNC_API void *dync_module_user(const dync_module *handle)
{
    const dync__module *m = dync__module_open(handle, "dync_module_user");
    return m ? m->user : NULL;
}

DYNC_API bool dync_module_is_compiled(const dync_module *handle)
{
    const dync__module *m = handle ? dync__module_open(handle, "dync_module_is_compiled") : NULL;
    return m && m->compiled;
}

DYNC_API bool dync_module_is_training(const dync_module *handle)
{
    const dync__module *m = dync__module_open(handle, "dync_module_is_training");
    if (!m) return false;
    dync__module_touch(m);
    return m->training;
}

/* Children first: the state of a module names theirs. */
static bool dync__module_set_training(dync__module *m, bool training)
{
    bool changed = m->training != training;
    m->training = training;
    for (int i = 0; i < m->child.n; i++)
        changed |= dync__module_set_training(m->child.at[i], training);
    if (changed) dync__module_renumber(m);
    return changed;
}

DYNC_API void dync_module_train(dync_module *handle, bool training)
{
    dync__module *m = dync__module_open(handle, "dync_module_train");
    if (m && dync__module_set_training(m, training)) dync__module_bump(m->parent);
}

/* Of the four kinds of forward: values for the library's and the user's own, one tensor for the
 * others, which is checked here. */
static dync_value dync__module_run(dync__module *m, int nargs, const dync_value *args)
{
    if (m->layer_values) return m->layer_values(m, args, nargs);
    dync_module *self = m->layer ? NULL : dync__module_handle(m);
    if (!self && !m->layer) return DYNC_NONE;
    if (m->forward_values) return m->forward_values(self, args, nargs);
    if (nargs != 1 || args[0].kind != DYNC_KIND_TENSOR) {
        if (nargs != 1)
            dync__fail(DYNC_ERR_VALUE, "%s: expected one tensor, got %d arguments", m->class_name,
                       nargs);
        else
            dync__fail(DYNC_ERR_VALUE, "%s: expected one tensor, got %s", m->class_name,
                       dync__kind_name(args[0].kind));
        return DYNC_NONE;
    }
    dync_tensor *y = m->layer ? m->layer(m, args[0].as.t) : m->forward(self, args[0].as.t);
    return y ? dync_v_tensor(y) : DYNC_NONE;
}

static DYNC__TLS const dync__module *dync__module_innermost;
DYNC__FN const dync__module *dync__module_running(void) { return dync__module_innermost; }

/* In a scope of its own, which its result escapes. dync__module_innermost names the module for
 * messages and for the profiler while it runs. */
DYNC__FN dync_value dync__module_forward(dync__module *m, int nargs, const dync_value *args)
{
    dync__module_touch(m);
    if (!m->forward && !m->forward_values && !m->layer && !m->layer_values) {
        dync__fail(DYNC_ERR_VALUE, "%s: the module has no forward", m->class_name);
        return DYNC_NONE;
    }
    dync_scope scope = dync_scope_begin();
    const dync__module *outer = dync__module_innermost;
    dync__module_innermost = m;
    dync_value result = dync__module_run(m, nargs, args);
    dync__module_innermost = outer;
    dync__scope_end_keep(&scope, &result);
    return result;
}

DYNC_API dync_value(dync_module_call_values)(dync_module *handle, int nargs, const dync_value *args)
{
    dync__module *m = dync__module_open(handle, "dync_module_call");
    return m ? dync__module_call(m, nargs, args) : DYNC_NONE;
}

/* A compiled module runs compiled, except inside a trace, where its forward is inlined. */
DYNC__FN dync_value dync__module_call(dync__module *m, int nargs, const dync_value *args)
{
    if (nargs < 0 || (nargs > 0 && !args)) {
        dync__fail(DYNC_ERR_VALUE, "dync_module_call: expected a module and its arguments");
        return DYNC_NONE;
    }
    dync_value (*call)(dync__module *, int, const dync_value *) =
        DYNC__ATOMIC_PEEK(&dync__module_call_compiled);
    if (m->compiled && call && !dync__tls.compiling) return call(m, nargs, args);
    return dync__module_forward(m, nargs, args);
}

DYNC_API dync_tensor *(dync_forward_call)(dync_module * handle, dync_tensor *x)
{
    dync__module *m = dync__module_open(handle, "dync_forward_call");
    return m ? dync__module_call_one(m, x) : NULL;
}

/* For modules from one tensor to one tensor. */
DYNC__FN dync_tensor *dync__module_call_one(dync__module *m, dync_tensor *x)
{
    if (!dync__open(x)) return NULL;
    dync_value arg = dync_v_tensor(x), result = dync__module_call(m, 1, &arg);
    return result.kind == DYNC_KIND_NONE ? NULL : dync_as_tensor(result);
}
