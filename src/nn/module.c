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
DYNC__DATA void (*dync__module_mode_switched)(dync__module *, bool training) = NULL;
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
    dync__module_states_use();
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
DYNC__FN dync__module *dync__module_walk(dync__module *m, const char *path, const char **last,
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
