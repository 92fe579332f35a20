/* capture/guard.c: the conditions under which a compiled entry may serve a call: made from the call
 * that was traced, checked in one pass over the next, and told as text when they fail. The order
 * inside a tensor check and every text are PyTorch 2.4's (torch/csrc/dynamo/guards.cpp). */
#include "../dync.in.h"
#include "capture.h"
DYNC__WARM

/* ---- making ---------------------------------------------------------------------------------- */
/* What must be the same of t: sizes, strides and offset in an array of the arena. source, for
 * texts, is borrowed. What it shares with other tensors the caller fills in. */
DYNC__RARE DYNC__FN dync_status dync__tensor_guard_make(dync__arena *arena, dync__tensor_guard *g,
                                                        const dync__tensor *t, const char *source)
{
    int n = t->lay.ndim;
    int64_t *dims = dync__arena_alloc(arena, (size_t)(2 * n + 1) * sizeof *dims);
    if (!dims) return DYNC_ERR_MEMORY;
    memcpy(dims, t->lay.shape, (size_t)n * sizeof *dims);
    memcpy(dims + n, t->lay.stride, (size_t)n * sizeof *dims);
    dims[2 * n] = t->lay.offset;
    g->dtype = t->dtype;
    g->ndim = (uint8_t)n;
    g->requires_grad = (t->flags & DYNC__T_REQUIRES_GRAD) != 0;
    g->device = t->device;
    g->dims = dims;
    g->same_as = g->shares_storage = -1;
    g->source = source;
    return DYNC_OK;
}

/* item and tensor: how many of the entry's are made so far. */
typedef struct dync__guard_maker {
    dync__cache_entry *e;
    const dync__callargs *call;
    int item, tensor, cap;
} dync__guard_maker;

DYNC__RARE static int dync__count_values(const dync_value *v, int n)
{
    int count = n;
    for (int i = 0; i < n; i++) {
        const dync__list *l = dync__value_list(v[i]);
        if (l) count += dync__count_values(l->items, l->n);
    }
    return count;
}

DYNC__RARE static dync_status dync__guard_tensor_leaf(dync__guard_maker *m, dync__guard_item *item,
                                                      const char *source)
{
    int k = m->tensor++;
    const dync__tensor *t = m->call->tensor[k];
    dync__tensor_guard *g = &m->e->tensor[k];
    item->n = k;
    DYNC__TRY(dync__tensor_guard_make(&m->e->arena, g, t, source));
    for (int j = 0; j < k; j++) {
        if (g->same_as < 0 && m->call->tensor[j] == t) g->same_as = j;
        if (g->shares_storage < 0 && m->call->tensor[j]->storage == t->storage)
            g->shares_storage = j;
    }
    return DYNC_OK;
}

DYNC__RARE static dync_status dync__guard_value(dync__guard_maker *m, const dync_value *v,
                                                const char *source)
{
    const dync__list *l;
    dync__module *module;
    if (!source) return DYNC_ERR_MEMORY;
    dync__guard_item *item = &m->e->item[m->item++];
    item->kind = (uint8_t)v->kind;
    item->source = source;
    switch (v->kind) {
    case DYNC_KIND_TENSOR: return dync__guard_tensor_leaf(m, item, source);
    case DYNC_KIND_LIST:
        l = dync__value_list(*v);
        item->n = l ? l->n : 0;
        for (int i = 0; i < item->n; i++)
            DYNC__TRY(dync__guard_value(m, &l->items[i],
                                        dync__arena_printf(&m->e->arena, "%s[%d]", source, i)));
        return DYNC_OK;
    case DYNC_KIND_STR:
        item->as.s = dync__arena_strdup(&m->e->arena, v->as.s ? v->as.s : "");
        return item->as.s ? DYNC_OK : DYNC_ERR_MEMORY;
    case DYNC_KIND_MODULE:
        module = v->as.m ? dync__module_open(v->as.m, NULL) : NULL;
        if (v->as.m && !module) return DYNC_ERR_VALUE;
        if (module) dync__module_watch(module);
        item->as.p = v->as.m;
        item->version = module ? module->version : 0;
        return DYNC_OK;
    case DYNC_KIND_BOOL: item->as.i = v->as.b; return DYNC_OK;
    case DYNC_KIND_INT: item->as.i = v->as.i; return DYNC_OK;
    case DYNC_KIND_FLOAT: item->as.f = v->as.f; return DYNC_OK;
    case DYNC_KIND_NODE:
    case DYNC_KIND_GRAPH:
    case DYNC_KIND_PTR: item->as.p = v->as.p; return DYNC_OK;
    case DYNC_KIND_NONE:
    case DYNC_KIND_SYM: break;
    }
    return DYNC_OK;
}

DYNC__RARE DYNC__FN dync_status dync__guards_make(dync__cache_entry *e, const dync__compiled *f,
                                                  const dync__callargs *call)
{
    dync__guard_maker m = {.e = e, .call = call};
    e->n_items = dync__count_values(call->args, call->nargs);
    e->n_args = call->nargs;
    e->n_tensors = call->n_tensors;
    e->item = dync__arena_alloc(&e->arena, (size_t)(e->n_items + 1) * sizeof *e->item);
    e->tensor = dync__arena_alloc(&e->arena, (size_t)(e->n_tensors + 1) * sizeof *e->tensor);
    e->number_arg = dync__arena_alloc(&e->arena, (size_t)(call->nargs + 1) * sizeof *e->number_arg);
    e->number_item =
        dync__arena_alloc(&e->arena, (size_t)(call->nargs + 1) * sizeof *e->number_item);
    if (!e->item || !e->tensor || !e->number_arg || !e->number_item) return DYNC_ERR_MEMORY;
    e->flat = true;
    for (int i = 0; i < call->nargs; i++) {
        const char *name = dync__arg_name(&e->arena, f->args, i);
        if (!name) return DYNC_ERR_MEMORY;
        if (call->args[i].kind != DYNC_KIND_TENSOR) e->flat = false;
        int item = m.item;
        DYNC__TRY(
            dync__guard_value(&m, &call->args[i], dync__arena_printf(&e->arena, "L['%s']", name)));
        if ((call->args[i].kind == DYNC_KIND_INT || call->args[i].kind == DYNC_KIND_FLOAT) &&
            dync__number_named(f, i)) {
            e->item[item].free_value = true;
            e->number_arg[e->n_numbers] = i;
            e->number_item[e->n_numbers++] = item;
        }
    }
    e->grad_mode = !dync__grad_is_off();
    e->default_dtype = dync__tls.default_dtype;
    e->threads = dync__pool_threads();
    return DYNC_OK;
}

/* The function asked whether it is a leaf. */
DYNC__RARE DYNC__FN void dync__guard_leaf(dync__cache_entry *e, int env, int foreign, bool leaf)
{
    for (int k = 0; k < e->n_tensors; k++)
        if (e->leaf_env[k] == env) DYNC__ATOMIC_STORE(&e->tensor[k].leaf, (uint8_t)(1 + leaf));
    if (foreign >= 0 && foreign < e->foreign.n)
        DYNC__ATOMIC_STORE(&e->foreign.at[foreign].guard.leaf, (uint8_t)(1 + leaf));
}

/* ---- checking -------------------------------------------------------------------------------- */
DYNC__FN bool dync__tensor_guard_holds(const dync__tensor_guard *g, const dync__tensor *t)
{
    if (t->dtype != g->dtype || t->lay.ndim != g->ndim || t->device != g->device ||
        ((t->flags & DYNC__T_REQUIRES_GRAD) != 0) != g->requires_grad)
        return false;
    int leaf = DYNC__ATOMIC_PEEK(&g->leaf);
    if (DYNC__UNLIKELY(leaf) && leaf != 1 + dync__tensor_is_leaf(t)) return false;
    for (int i = 0; i < g->ndim; i++)
        if ((t->lay.shape[i] != g->dims[i] && !dync__is_token(g->dims[i])) ||
            (t->lay.stride[i] != g->dims[g->ndim + i] && !dync__is_token(g->dims[g->ndim + i])))
            return false;
    return true;
}

/* Kinds always; numbers by value (floats by their bits: NaN is NaN, and 0 is not -0), unless they
 * are passed on at run time; modules by identity and version. */
static bool dync__item_holds(const dync__guard_item *g, const dync_value *v)
{
    const dync__list *l;
    const dync__module *m;
    if (g->kind != (uint8_t)v->kind) return false;
    if (DYNC__ATOMIC_PEEK(&g->free_value)) return true;
    switch (v->kind) {
    case DYNC_KIND_LIST: return ((l = dync__list_peek(v->as.l)) != NULL ? l->n : 0) == g->n;
    case DYNC_KIND_STR: return dync__same_text(v->as.s ? v->as.s : "", g->as.s);
    case DYNC_KIND_MODULE:
        return g->as.p == v->as.m &&
               ((m = dync__module_peek(v->as.m)) == NULL || m->version == g->version);
    case DYNC_KIND_BOOL: return g->as.i == v->as.b;
    case DYNC_KIND_INT: return g->as.i == v->as.i;
    case DYNC_KIND_FLOAT: return memcmp(&g->as.f, &v->as.f, sizeof g->as.f) == 0;
    case DYNC_KIND_NODE:
    case DYNC_KIND_GRAPH:
    case DYNC_KIND_PTR: return g->as.p == v->as.p;
    case DYNC_KIND_NONE:
    case DYNC_KIND_TENSOR:
    case DYNC_KIND_SYM: break;
    }
    return true;
}

/* Walks the values against the items; gives the first that differs (its item) or NULL. */
DYNC__FN const dync__guard_item *dync__items_differ(const dync__guard_item **item,
                                                    const dync_value *v, int n,
                                                    const dync_value **bad)
{
    for (int i = 0; i < n; i++) {
        const dync__guard_item *g = (*item)++;
        if (!dync__item_holds(g, &v[i])) {
            *bad = &v[i];
            return g;
        }
        const dync__list *l = v[i].kind == DYNC_KIND_LIST ? dync__list_peek(v[i].as.l) : NULL;
        if (l) {
            const dync__guard_item *inner = dync__items_differ(item, l->items, l->n, bad);
            if (inner) return inner;
        }
    }
    return NULL;
}

/* Every pair of arguments is one tensor now where it was one then, and, where the entry writes, on
 * one storage where it was. Pairs within a group meet at its first tensor. */
static bool dync__aliases_hold(const dync__cache_entry *e, const dync__callargs *c)
{
    for (int i = 1; i < e->n_tensors; i++) {
        int same = e->tensor[i].same_as;
        for (int j = 0; j < i; j++) {
            bool is = c->tensor[i] == c->tensor[j];
            bool was = same >= 0 && (j == same || e->tensor[j].same_as == same);
            if (is != was) return false;
        }
        if (DYNC__ATOMIC_PEEK(&e->mutates)) {
            int shared = e->tensor[i].shares_storage;
            for (int j = 0; j < i; j++) {
                bool was = shared >= 0 && (j == shared || e->tensor[j].shares_storage == shared);
                if ((c->tensor[i]->storage == c->tensor[j]->storage) != was) return false;
            }
        }
    }
    return true;
}

DYNC__FN const dync__tensor *dync__foreign_now(const dync__cache_entry *e, const dync__callargs *c,
                                               const dync__foreign *f)
{
    if (f->owner) { /* an owner is no gradient itself */
        const dync__tensor *owner =
            f->owner > 0 ? c->tensor[f->owner - 1]
                         : dync__foreign_now(e, c, dync__entry_item(&e->foreign, -f->owner - 1));
        return !owner || f->is_hooks ? owner : dync__tensor_grad(owner);
    }
    const dync__tensor *t = dync__peek(f->address ? *f->address : f->handle);
    return t && (f->address || t->id == f->id) ? t : NULL;
}

DYNC__FN void dync__foreign_aliases(const dync__cache_entry *e, const dync__callargs *c,
                                    dync__foreign *f, const dync__tensor *t)
{
    f->guard.same_as = f->guard.shares_storage = f->shares_foreign = -1;
    for (int i = c->n_tensors - 1; i >= 0; i--) {
        if (c->tensor[i] == t) f->guard.same_as = i;
        if (c->tensor[i]->storage == t->storage) f->guard.shares_storage = i;
    }
    for (int i = dync__entry_count(&e->foreign) - 1; i >= 0; i--) {
        const dync__foreign *g = dync__entry_item(&e->foreign, i);
        const dync__tensor *other = g == f || g->is_hooks ? NULL : dync__foreign_now(e, c, g);
        if (other && other->storage == t->storage) f->shares_foreign = i;
    }
}

/* Which argument, and which tensor from elsewhere, comes first on each storage: a hash table of the
 * storages met so far. */
enum { DYNC__ALIAS_SLOTS = 1024 };

typedef struct dync__alias_slot {
    const dync__storage *storage;
    int32_t argument, foreign;
} dync__alias_slot;

typedef struct dync__alias_table {
    uint32_t mask;
    dync__alias_slot slot[DYNC__ALIAS_SLOTS];
} dync__alias_table;

static dync__alias_slot *dync__alias_find(dync__alias_table *a, const dync__storage *storage)
{
    uint32_t i = (uint32_t)((uintptr_t)storage >> 5) * 2654435761u >> 16;
    for (;; i++) {
        dync__alias_slot *s = &a->slot[i & a->mask];
        if (s->storage == storage) return s;
        if (s->storage) continue;
        s->storage = storage;
        s->argument = s->foreign = -1;
        return s;
    }
}

/* Room for n storages; false: they are too many, each is looked for among all others. */
static bool dync__alias_open(dync__alias_table *a, const dync__callargs *c, int n)
{
    a->mask = 15;
    while ((int)a->mask < 2 * (n + c->n_tensors)) a->mask = 2 * a->mask + 1;
    if (a->mask >= DYNC__ALIAS_SLOTS) return false;
    memset(a->slot, 0, (a->mask + 1) * sizeof *a->slot);
    for (int i = 0; i < c->n_tensors; i++) {
        dync__alias_slot *s = dync__alias_find(a, c->tensor[i]->storage);
        if (s->argument < 0) s->argument = i;
    }
    return true;
}

/* The same without a table. */
DYNC__RARE static void dync__alias_search(const dync__cache_entry *e, const dync__callargs *c,
                                          int k, const dync__tensor *t, dync__alias_slot *s)
{
    s->argument = s->foreign = -1;
    for (int i = c->n_tensors - 1; i >= 0; i--)
        if (c->tensor[i]->storage == t->storage) s->argument = i;
    for (int i = k - 1; i >= 0; i--) {
        const dync__foreign *f = dync__entry_item(&e->foreign, i);
        const dync__tensor *other = f->is_hooks ? NULL : dync__foreign_now(e, c, f);
        if (other && other->storage == t->storage) s->foreign = i;
    }
}

/* Is a tensor from elsewhere (t now) the argument that it was, and where something is written, on
 * the storages that it was on? */
DYNC__FN bool dync__foreign_aliases_hold(const dync__cache_entry *e, const dync__callargs *c, int k,
                                         const dync__tensor *t, dync__alias_table *table)
{
    const dync__foreign *f = dync__entry_item(&e->foreign, k);
    if (f->guard.same_as >= 0 && c->tensor[f->guard.same_as] != t) return false;
    if (!DYNC__ATOMIC_PEEK(&e->mutates)) return true;
    dync__alias_slot searched, *s = table ? dync__alias_find(table, t->storage) : &searched;
    if (!table) dync__alias_search(e, c, k, t, s);
    bool same = s->argument == f->guard.shares_storage && s->foreign == f->shares_foreign;
    if (s->foreign < 0) s->foreign = k;
    return same;
}

/* Everything that is not an argument: what was met while tracing. */
static bool dync__foreign_hold(const dync__cache_entry *e, const dync__callargs *c)
{
    dync__alias_table table;
    int n = dync__entry_count(&e->foreign);
    bool tabled = n > 4 && DYNC__ATOMIC_PEEK(&e->mutates) && dync__alias_open(&table, c, n);
    for (int i = 0; i < n; i++) {
        const dync__foreign *f = dync__entry_item(&e->foreign, i);
        const dync__tensor *t = dync__foreign_now(e, c, f);
        if (f->is_hooks ? !t || dync__hooks_mark(t) != f->hooks : f->absent && t) return false;
        if (f->is_hooks || f->absent) continue;
        if (!t || !dync__tensor_guard_holds(&f->guard, t) ||
            !dync__foreign_aliases_hold(e, c, i, t, tabled ? &table : NULL))
            return false;
    }
    return true;
}

static bool dync__surroundings_hold(const dync__cache_entry *e, const dync__callargs *c)
{
    for (int i = 0; i < dync__entry_count(&e->ints); i++)
        if (*dync__entry_item(&e->ints, i)->address != dync__entry_item(&e->ints, i)->value)
            return false;
    if (!dync__cells_hold(e)) return false;
    for (int i = 0; i < dync__entry_count(&e->modules); i++)
        if (dync__entry_item(&e->modules, i)->module->version !=
            dync__entry_item(&e->modules, i)->version)
            return false;
    return DYNC__ATOMIC_LOAD(&e->open) || dync__foreign_hold(e, c);
}

DYNC__FN bool dync__guards_hold(const dync__cache_entry *e, const dync__callargs *c)
{
    if (c->n_tensors != e->n_tensors || c->nargs != e->n_args ||
        e->grad_mode == dync__grad_is_off() || e->default_dtype != dync__tls.default_dtype)
        return false;
    if (!e->flat) {
        const dync__guard_item *item = e->item;
        const dync_value *bad;
        if (dync__items_differ(&item, c->args, c->nargs, &bad)) return false;
    }
    for (int i = 0; i < e->n_tensors; i++)
        if (!dync__tensor_guard_holds(&e->tensor[i], c->tensor[i])) return false;
    if (dync__entry_is_dynamic(e) && !dync__shapes_hold(e, c)) return false;
    if (e->n_tensors > 1 && !dync__aliases_hold(e, c)) return false;
    for (int i = 0; DYNC__ATOMIC_PEEK(&e->offsets) && i < e->n_tensors; i++)
        if (c->tensor[i]->lay.offset != e->tensor[i].dims[2 * e->tensor[i].ndim]) return false;
    if ((dync__entry_count(&e->ints) || dync__entry_count(&e->cells) ||
         dync__entry_count(&e->modules) || dync__entry_count(&e->foreign)) &&
        !dync__surroundings_hold(e, c))
        return false;
    return e->threads == dync__pool_threads();
}
