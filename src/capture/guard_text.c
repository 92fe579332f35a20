/* capture/guard_text.c: guards as text: why an entry refuses a call, and the list of them. After
 * guard.c.
 *
 * Each reason function asks what its check in guard.c asks, in the same order, and writes the first
 * that fails into `out`: true, or false where all hold. They run only after a miss. Texts are
 * PyTorch's where it has the guard, since tools read them. */
#include "../dync.in.h"
#include "capture.h"
DYNC__WARM

static const char dync__guard_is[] = "%s is %s";

DYNC__RARE static bool dync__tensor_reason(const dync__tensor_guard *g, const dync__tensor *t,
                                           dync__str *out)
{
    if (t->device != g->device && (t->device & 0xff) == (g->device & 0xff)) {
        dync__str_addf(
            out,
            "tensor '%s' Tensor device index mismatch. Expected device index to be %d, actual %d",
            g->source, g->device >> 8, t->device >> 8);
    } else if (t->device != g->device) {
        dync__str_addf(out, "tensor '%s' dispatch key set mismatch. expected %s, actual %s",
                       g->source, dync__device_row(g->device)->key,
                       dync__device_row(t->device)->key);
    } else if (t->dtype != g->dtype) {
        dync__str_addf(out, "tensor '%s' dtype mismatch. expected %s, actual %s", g->source,
                       dync__dtype_info(g->dtype)->guard, dync__dtype_info(t->dtype)->guard);
    } else if (((t->flags & DYNC__T_REQUIRES_GRAD) != 0) != g->requires_grad) {
        dync__str_addf(out, "tensor '%s' requires_grad mismatch. expected requires_grad=%d",
                       g->source, g->requires_grad);
    } else if (g->leaf && g->leaf != 1 + dync__tensor_is_leaf(t)) {
        dync__str_addf(out, "tensor '%s' is_leaf mismatch. expected is_leaf=%d", g->source,
                       g->leaf - 1);
    } else if (t->lay.ndim != g->ndim) {
        dync__str_addf(out, "tensor '%s' rank mismatch. expected %d, actual %d", g->source, g->ndim,
                       t->lay.ndim);
    } else {
        for (int i = 0; i < g->ndim; i++)
            if (t->lay.shape[i] != g->dims[i] && !dync__is_token(g->dims[i])) {
                dync__str_addf(out,
                               "tensor '%s' size mismatch at index %d. expected %lld, actual %lld",
                               g->source, i, (long long)g->dims[i], (long long)t->lay.shape[i]);
                return true;
            }
        for (int i = 0; i < g->ndim; i++)
            if (t->lay.stride[i] != g->dims[g->ndim + i] && !dync__is_token(g->dims[g->ndim + i])) {
                dync__str_addf(
                    out, "tensor '%s' stride mismatch at index %d. expected %lld, actual %lld",
                    g->source, i, (long long)g->dims[g->ndim + i], (long long)t->lay.stride[i]);
                return true;
            }
        return false;
    }
    return true;
}

DYNC__RARE static void dync__guard_constant_text(const dync__guard_item *g, dync__str *out)
{
    static const char own[] = ".0";
    char number[40];
    switch ((dync_kind)g->kind) {
    case DYNC_KIND_FLOAT:
        dync__double_text(g->as.f, number, sizeof number);
        dync__str_addf(out, "%s == %s%s", g->source, number, strpbrk(number, ".enN") ? "" : own);
        break;
    case DYNC_KIND_INT: dync__str_addf(out, "%s == %lld", g->source, (long long)g->as.i); break;
    case DYNC_KIND_BOOL:
        dync__str_addf(out, "%s == %s", g->source, g->as.i ? "True" : "False");
        break;
    case DYNC_KIND_STR: dync__str_addf(out, "%s == '%s'", g->source, g->as.s); break;
    case DYNC_KIND_LIST: dync__str_addf(out, "len(%s) == %d", g->source, (int)g->n); break;
    case DYNC_KIND_NONE: dync__str_addf(out, "%s is None", g->source); break;
    case DYNC_KIND_MODULE:
        dync__str_addf(out, "%s is the same module, unchanged", g->source);
        break;
    case DYNC_KIND_NODE:
    case DYNC_KIND_GRAPH:
    case DYNC_KIND_PTR: dync__str_addf(out, "%s is the same pointer", g->source); break;
    case DYNC_KIND_TENSOR:
    case DYNC_KIND_SYM: dync__str_addf(out, "%s", g->source); break;
    }
}

DYNC__RARE static void dync__kind_reason(const dync__guard_item *g, const dync_value *v,
                                         dync__str *out)
{
    static const char names[][9] = {"NoneType", "bool", "int",    "float",   "str",
                                    "Tensor",   "list", "Module", "pointer", "SymInt"};
    if (g->kind == DYNC_KIND_TENSOR)
        dync__str_addf(out, "expected type of '%s' to be a tensor type, ' but found <class '%s'>",
                       g->source, names[v->kind]);
    else
        dync__guard_constant_text(g, out);
}

/* First arguments that were one tensor and are two, then two that are one now, then, where the
 * entry writes, storages that are shared now but were not, or the other way around. */
DYNC__RARE static bool dync__alias_reason(const dync__cache_entry *e, const dync__callargs *c,
                                          dync__str *out)
{
    for (int i = 1; i < e->n_tensors; i++) {
        int same = e->tensor[i].same_as;
        if (same >= 0 && c->tensor[i] != c->tensor[same]) {
            dync__str_addf(out, dync__guard_is, e->tensor[same].source, e->tensor[i].source);
            return true;
        }
    }
    for (int i = 1; i < e->n_tensors; i++)
        for (int j = 0; j < i; j++) {
            if (c->tensor[i] != c->tensor[j] || e->tensor[i].same_as == j) continue;
            if (e->tensor[i].same_as >= 0 && e->tensor[i].same_as == e->tensor[j].same_as) continue;
            dync__str_addf(out, "Duplicate tensors found: [\"%s\", \"%s\"]", e->tensor[j].source,
                           e->tensor[i].source);
            return true;
        }
    for (int i = 1; e->mutates && i < e->n_tensors; i++)
        for (int j = 0; j < i; j++)
            if ((c->tensor[i]->storage == c->tensor[j]->storage) !=
                (e->tensor[i].shares_storage == j)) {
                dync__str_addf(out, "%s and %s %s memory", e->tensor[j].source, e->tensor[i].source,
                               e->tensor[i].shares_storage == j ? "share" : "do not share");
                return true;
            }
    return false;
}

/* Tensor k of those met while tracing: hooks inlined, a gradient that was not there, one that is
 * gone, its form, what it shares memory with. */
DYNC__RARE static bool dync__foreign_reason(const dync__cache_entry *e, const dync__callargs *c,
                                            int k, dync__str *out)
{
    const dync__foreign *f = dync__entry_item(&e->foreign, k);
    const dync__tensor *t = dync__foreign_now(e, c, f);
    if (f->is_hooks) {
        if (!t || dync__hooks_mark(t) != f->hooks)
            dync__str_addf(out, "the hooks of %s are the same", f->guard.source);
        return !t || dync__hooks_mark(t) != f->hooks;
    }
    if (f->absent || (!t && f->owner)) {
        if (!t != f->absent)
            dync__str_addf(out, f->absent ? "%s is None" : "%s is not None", f->guard.source);
        return !t != f->absent;
    }
    if (!t) {
        dync__str_addf(out, "%s is alive", f->guard.source);
        return true;
    }
    if (dync__tensor_reason(&f->guard, t, out)) return true;
    if (dync__foreign_aliases_hold(e, c, k, t, NULL)) return false;
    int same = f->guard.same_as;
    if (same >= 0 && c->tensor[same] != t)
        dync__str_addf(out, dync__guard_is, e->tensor[same].source, f->guard.source);
    else
        dync__str_addf(out, "%s shares memory as it did", f->guard.source);
    return true;
}

DYNC__RARE static bool dync__surroundings_reason(const dync__cache_entry *e,
                                                 const dync__callargs *c, dync__str *out)
{
    if (!dync__cells_hold(e)) {
        dync__str_add(out, "a cell holds the number that it held");
        return true;
    }
    for (int i = 0; i < dync__entry_count(&e->ints); i++)
        if (*dync__entry_item(&e->ints, i)->address != dync__entry_item(&e->ints, i)->value) {
            dync__str_addf(out, "G['%s'] == %lld", dync__entry_item(&e->ints, i)->name,
                           (long long)dync__entry_item(&e->ints, i)->value);
            return true;
        }
    for (int i = 0; i < dync__entry_count(&e->modules); i++)
        if (dync__entry_item(&e->modules, i)->module->version !=
            dync__entry_item(&e->modules, i)->version) {
            dync__str_addf(out, "module '%s' is unchanged",
                           dync__entry_item(&e->modules, i)->module->class_name);
            return true;
        }
    for (int i = 0; i < dync__entry_count(&e->foreign); i++)
        if (dync__foreign_reason(e, c, i, out)) return true;
    return false;
}

/* What keeps such a guard from failing again. */
static dync__guard_failure dync__tensor_failure(const dync__compiled *f,
                                                const dync__tensor_guard *g, const dync__tensor *t)
{
    if (t->device != g->device || t->dtype != g->dtype || t->lay.ndim != g->ndim)
        return (dync__guard_failure){DYNC__MISS_types, "compile a function of its own for each "
                                                       "device, dtype and rank"};
    if (((t->flags & DYNC__T_REQUIRES_GRAD) != 0) != g->requires_grad ||
        (g->leaf && g->leaf != 1 + dync__tensor_is_leaf(t)))
        return (dync__guard_failure){DYNC__MISS_requires_grad,
                                     "call it with leaves or detached tensors, not with both"};
    bool size = false;
    for (int i = 0; i < g->ndim; i++)
        size |= t->lay.shape[i] != g->dims[i] && !dync__is_token(g->dims[i]);
    return (dync__guard_failure){
        size ? DYNC__MISS_sizes : DYNC__MISS_layouts,
        f->opt.dynamic == DYNC_DYNAMIC_OFF
            ? "leave .dynamic at its default, so that a size that changes becomes symbolic"
            : "keep sizes that change symbolic (dync_dim in shapes, dync_dim_lt and its kin in "
              "tests, dync_size_sym for dync_size)"};
}

/* What is no tensor, or no tensor that the caller passes. */
static bool dync__arguments_failure(const dync__cache_entry *e, const dync__callargs *c,
                                    dync__str *out, dync__guard_failure *why)
{
    const dync__guard_item *item = e->item;
    const dync_value *bad = NULL;
    if (c->nargs != e->n_args) {
        dync__str_addf(out, "%d arguments, not %d", e->n_args, c->nargs);
        *why = (dync__guard_failure){DYNC__MISS_arguments, "call it with one number of arguments"};
        return true;
    }
    const dync__guard_item *differs = dync__items_differ(&item, c->args, c->nargs, &bad);
    if (!differs) return false;
    bool number = differs->kind == DYNC_KIND_INT || differs->kind == DYNC_KIND_FLOAT;
    dync__kind_reason(differs, bad, out);
    *why = (dync__guard_failure){
        number ? DYNC__MISS_numbers : DYNC__MISS_arguments,
        number ? "name the number in .symbolic, or pass a tensor of 0 dimensions"
               : "pass what changes as a tensor or a .symbolic number"};
    return true;
}

static bool dync__settings_failure(const dync__cache_entry *e, dync__str *out,
                                   dync__guard_failure *why)
{
    bool grad = e->grad_mode == dync__grad_is_off(),
         dtype = e->default_dtype != dync__tls.default_dtype;
    bool threads = e->threads != dync__pool_threads();
    if (!grad && !dtype && !threads) return false;
    dync__str_addf(out, "GLOBAL_STATE changed: %s%s%s", grad ? "grad_mode " : "",
                   threads ? "num_threads " : "", dtype ? "default_dtype " : "");
    *why = (dync__guard_failure){DYNC__MISS_settings, "call it with these settings as they were"};
    return true;
}

DYNC__RARE DYNC__FN dync__guard_failure dync__guards_reason(const dync__compiled *f,
                                                            const dync__cache_entry *e,
                                                            const dync__callargs *c, dync__str *out)
{
    dync__guard_failure why;
    if (dync__arguments_failure(e, c, out, &why) || dync__settings_failure(e, out, &why))
        return why;
    for (int i = 0; i < e->n_tensors; i++)
        if (dync__tensor_reason(&e->tensor[i], c->tensor[i], out))
            return dync__tensor_failure(f, &e->tensor[i], c->tensor[i]);
    for (int i = 0; e->offsets && i < e->n_tensors; i++)
        if (c->tensor[i]->lay.offset != e->tensor[i].dims[2 * e->tensor[i].ndim]) {
            dync__str_addf(out, "%s.storage_offset() == %lld", e->tensor[i].source,
                           (long long)e->tensor[i].dims[2 * e->tensor[i].ndim]);
            return (dync__guard_failure){DYNC__MISS_layouts, "pass contiguous tensors"};
        }
    if (dync__entry_is_dynamic(e) && dync__shapes_text(e, c, out)) {
        const char *remedy = dync__shapes_remedy(e, c);
        return (dync__guard_failure){DYNC__MISS_sizes,
                                     remedy ? remedy : "ask less about sizes inside the function"};
    }
    if (dync__alias_reason(e, c, out))
        return (dync__guard_failure){DYNC__MISS_aliases,
                                     "call it with the same arguments sharing memory"};
    dync__miss_kind kind = dync__cells_hold(e) ? DYNC__MISS_outside : DYNC__MISS_numbers;
    for (int i = 0; i < dync__entry_count(&e->modules); i++)
        if (dync__entry_item(&e->modules, i)->module->version !=
            dync__entry_item(&e->modules, i)->version)
            kind = DYNC__MISS_modules;
    if (dync__surroundings_reason(e, c, out))
        return (dync__guard_failure){kind, "keep what it uses from outside as it is, or pass it as "
                                           "an argument"};
    dync__str_add(out, "the entry was given up");
    return (dync__guard_failure){DYNC__MISS_gone, "keep what it uses from outside alive"};
}

DYNC__RARE static void dync__guard_dims_text(int n, const int64_t *dims, dync__str *out)
{
    for (int i = 0; i < n; i++) {
        dync__str_add(out, i ? ", " : "[");
        dync__symtab_text(dync__tls.syms, dims[i], false, out);
    }
    dync__str_add(out, n ? "]" : "[]");
}

DYNC__RARE static void dync__tensor_guard_text(const dync__tensor_guard *g, dync__str *out)
{
    dync__str_addf(out, "TENSOR_MATCH %s: %s", g->source, dync__dtype_info(g->dtype)->fx);
    dync__guard_dims_text(g->ndim, g->dims, out);
    dync__str_add(out, " stride ");
    dync__guard_dims_text(g->ndim, g->dims + g->ndim, out);
    dync__str_addf(out, " requires_grad=%d", g->requires_grad);
    if (g->leaf) dync__str_addf(out, " is_leaf=%d", g->leaf - 1);
    dync__str_add(out, "\n");
}

DYNC__RARE DYNC__FN void dync__guards_print(const dync__cache_entry *e, dync__str *out)
{
    dync__symtab *outer = dync__tls.syms;
    /* sizes print as s0 */
    dync__tls.syms = dync__entry_is_dynamic(e) ? DYNC__ATOMIC_LOAD(&e->shapes)->syms : NULL;
    for (int i = 0; i < e->n_items; i++) {
        const dync__guard_item *g = &e->item[i];
        if (g->kind == DYNC_KIND_TENSOR) {
            const dync__tensor_guard *t = &e->tensor[g->n];
            dync__tensor_guard_text(t, out);
            if (t->same_as >= 0)
                dync__str_addf(out, "ALIAS %s is %s\n", e->tensor[t->same_as].source, t->source);
        } else {
            if (g->free_value)
                dync__str_addf(out, "%s is %s", g->source,
                               g->kind == DYNC_KIND_FLOAT ? "a float" : "an int");
            else
                dync__guard_constant_text(g, out);
            dync__str_add(out, "\n");
        }
    }
    dync__tls.syms = outer;
    if (dync__entry_is_dynamic(e)) (void)dync__shapes_text(e, NULL, out);
    if (e->n_tensors > 1) dync__str_add(out, "NO_TENSOR_ALIASING among the rest\n");
    for (int i = 0; i < dync__entry_count(&e->foreign); i++) {
        const dync__foreign *f = dync__entry_item(&e->foreign, i);
        if (f->is_hooks)
            dync__str_addf(out, "HOOKS of %s: %d\n", f->guard.source, (int)(f->hooks >> 32));
        else if (f->absent)
            dync__str_addf(out, "%s is None\n", f->guard.source);
        else
            dync__tensor_guard_text(&f->guard, out);
    }
    for (int i = 0; i < dync__entry_count(&e->ints); i++)
        dync__str_addf(out, "G['%s'] == %lld\n", dync__entry_item(&e->ints, i)->name,
                       (long long)dync__entry_item(&e->ints, i)->value);
    for (int i = 0; i < dync__entry_count(&e->modules); i++)
        dync__str_addf(out, "MODULE_VERSION %s == %llu\n",
                       dync__entry_item(&e->modules, i)->module->class_name,
                       (unsigned long long)dync__entry_item(&e->modules, i)->version);
    dync__str_addf(out, "GLOBAL_STATE grad_mode=%d default_dtype=%s num_threads=%d\n", e->grad_mode,
                   dync__dtype_info(e->default_dtype)->name, e->threads);
}
