/* program/checkpoint.c: a run in one safetensors file: modules, optimizers, tensors and numbers
 * under the names that the user gives them, the state of the random numbers as "dync.random". After
 * module_file.c. */
#include "../dync.in.h"
#include "program.h"
DYNC__COLD

static const char dync__checkpoint_key[] = "dync.checkpoint";

/* Numbers and the random state stand in tensors of their own, which a load reads out at the end.
 * state: the tensors under their names in the file, for both directions. */
typedef struct dync__checkpoint {
    dync__state state;
    int n;
    const dync_checkpoint_item *item;
    dync__tensor *random;
} dync__checkpoint;

/* Names are parts of paths ("model" of "model.0.weight"), hence no dots; "dync" is the library's
 * own. */
static dync_status dync__checkpoint_check(const dync__checkpoint *c, const char *path)
{
    const char *who = c->state.who;
    if (!path || c->n < 0 || (c->n && !c->item))
        return dync__fail(DYNC_ERR_VALUE, "%s: expected a path and items", who);
    for (int i = 0; i < c->n; i++) {
        const dync_checkpoint_item *x = &c->item[i];
        int kinds = (x->module != NULL) + (x->optim != NULL) + (x->tensor != NULL) +
                    (x->i != NULL) + (x->f != NULL);
        if (!x->name || !*x->name || strchr(x->name, '.') || strcmp(x->name, "dync") == 0)
            return dync__fail(DYNC_ERR_VALUE,
                              "%s: item %d: a name is not empty, not \"dync\" and has no dots", who,
                              i);
        if (kinds != 1)
            return dync__fail(DYNC_ERR_VALUE,
                              "%s: \"%s\" is one of module, optim, tensor, i and f, got %d", who,
                              x->name, kinds);
        for (int k = 0; k < i; k++)
            if (strcmp(c->item[k].name, x->name) == 0)
                return dync__fail(DYNC_ERR_VALUE, "%s: two items are called \"%s\"", who, x->name);
    }
    return DYNC_OK;
}

/* "name.group0.lr", "name.3.first": see dync__optim_state. */
static dync_status dync__checkpoint_optim(dync__state *s, const char *name, dync_optim *handle)
{
    const dync__optim *o = dync__optim_open(handle, s->who);
    char part[40];
    dync__tensor *t;
    if (!o) return DYNC_ERR_VALUE;
    for (int i = 0; (t = dync__optim_state(o, i, part)) != NULL; i++)
        DYNC__TRY(dync__state_put(s, dync__arena_printf(&s->arena, "%s.%s", name, part), t));
    return DYNC_OK;
}

/* Of the innermost scope. A copy of n numbers, of no dims where n is 1. */
static dync__tensor *dync__checkpoint_numbers(const void *data, int dtype, int n)
{
    dync_make_from make = {.data = data, .dtype = (dync_dtype)dtype};
    if (n > 1) make.shape.n = 1, make.shape.d[0] = n;
    dync_tensor *t = DYNC__MAKER(from)(make);
    return t ? dync__open(t) : NULL;
}

/* Puts what the item holds into s, under names that begin with the item's. */
static dync_status dync__checkpoint_item(dync__state *s, const dync_checkpoint_item *x)
{
    if (x->module) {
        const dync__module *m = dync__module_open(x->module, s->who);
        const char *prefix = dync__arena_printf(&s->arena, "%s.", x->name);
        if (!m || !prefix) return m ? DYNC_ERR_MEMORY : DYNC_ERR_VALUE;
        return dync__state_module(s, m, prefix, 0);
    }
    if (x->optim) return dync__checkpoint_optim(s, x->name, x->optim);
    dync__tensor *t = x->tensor ? dync__open(x->tensor)
                      : x->i    ? dync__checkpoint_numbers(x->i, DYNC_I64, 1)
                                : dync__checkpoint_numbers(x->f, DYNC__REAL, 1);
    if (!t) return x->tensor ? DYNC_ERR_VALUE : DYNC_ERR_MEMORY;
    return dync__state_put(s, dync__arena_strdup(&s->arena, x->name), t);
}

/* The same for saving and loading: a load writes into these tensors. */
static dync_status dync__checkpoint_collect(dync__checkpoint *c)
{
    int64_t random[2] = {(int64_t)dync__tls.rng_seed, (int64_t)dync__tls.rng_offset};
    for (int i = 0; i < c->n; i++) DYNC__TRY(dync__checkpoint_item(&c->state, &c->item[i]));
    c->random = dync__checkpoint_numbers(random, DYNC_I64, 2);
    return c->random ? dync__state_put(&c->state, "dync.random", c->random) : DYNC_ERR_MEMORY;
}

/* "format": "pt" is what PyTorch's loaders look for. */
static dync_status dync__checkpoint_write(const dync__checkpoint *c, const char *path)
{
    static const char *const keys[2] = {dync__checkpoint_key, "format"}, *const values[2] = {"1",
                                                                                             "pt"};
    dync__str file = {0};
    DYNC__WRITES(path);
    dync_status status = dync__st_write(&file, c->state.item.n, c->state.item.at, 2, keys, values);
    if (status == DYNC_OK) status = dync__file_write(path, file.at, file.n);
    dync__str_free(&file);
    return status;
}

/* What was read goes to the numbers of the user and to the thread. */
static void dync__checkpoint_take(const dync__checkpoint *c)
{
    for (int i = 0; i < c->n; i++) {
        const dync_checkpoint_item *x = &c->item[i];
        for (int k = 0; k < c->state.item.n && (x->i || x->f); k++)
            if (strcmp(c->state.item.at[k].name, x->name) == 0)
                memcpy(x->i ? (void *)x->i : (void *)x->f, dync__tensor_data(c->state.tensor.at[k]),
                       x->i ? sizeof *x->i : sizeof *x->f);
    }
    const int64_t *random = dync__tensor_data(c->random);
    dync__tls.rng_seed = (uint64_t)random[0];
    dync__tls.rng_offset = (uint64_t)random[1];
}

/* All names, dtypes and shapes are compared before anything is written. */
static dync_status dync__checkpoint_read(const dync__checkpoint *c, const char *path)
{
    dync__st_file f = {0};
    dync_status status = dync__st_read(&f, path);
    if (status == DYNC_OK && !(f.metadata && dync__json_get(f.metadata, dync__checkpoint_key)))
        status = dync__fail(DYNC_ERR_FORMAT, "%s: %s is no checkpoint", c->state.who, path);
    if (status == DYNC_OK) status = dync__state_load(&c->state, &f);
    if (status == DYNC_OK) dync__checkpoint_take(c);
    for (int i = 0; i < c->n && status == DYNC_OK; i++)
        if (c->item[i].optim)
            status = dync__optim_loaded(dync__optim_open(c->item[i].optim, c->state.who));
    dync__st_close(&f);
    return status;
}

/* A file is work outside of any graph: a traced function breaks here. */
static dync_status dync__checkpoint_run(bool load, const char *path, int n,
                                        const dync_checkpoint_item *items)
{
    dync__checkpoint c = {.state.who = load ? "dync_checkpoint_load" : "dync_checkpoint_save",
                          .state.what = "list of items",
                          .n = n,
                          .item = items};
    dync__opaque opaque;
    if (!dync__opaque_begin(load ? "torch.load" : "torch.save", 0, NULL, &opaque))
        return DYNC_ERR_RUNTIME;
    dync_scope scope = dync_scope_begin();
    dync_status status = dync__checkpoint_check(&c, path);
    if (status == DYNC_OK) status = dync__checkpoint_collect(&c);
    if (status == DYNC_OK)
        status = load ? dync__checkpoint_read(&c, path) : dync__checkpoint_write(&c, path);
    dync_scope_end(&scope);
    dync__arena_free(&c.state.arena);
    dync__opaque_end(&opaque);
    return status;
}

DYNC_API dync_status dync_checkpoint_save_items(const char *path, int n,
                                                const dync_checkpoint_item *items)
{
    return dync__checkpoint_run(false, path, n, items);
}

DYNC_API dync_status dync_checkpoint_load_items(const char *path, int n,
                                                const dync_checkpoint_item *items)
{
    return dync__checkpoint_run(true, path, n, items);
}
