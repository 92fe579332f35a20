/* op/custom.c: rows that are not in ops.def.h: operators of the user's with a meta function, and
 * trace_wrapped. After dispatch.c.
 *
 * A registered operator is a row like others: tracers record it as one node whose types its meta
 * function gives, and nobody looks inside (DYNC__OP_OPAQUE). Its body, the decompose column, runs
 * on real tensors only. Rows are numbered from DYNC__N_OPS on, stay until dync_shutdown and never
 * move. */
#include "../dync.in.h"
#include "rows.h"
DYNC__COLD

/* Text is owned by the row; impl and meta are the user's, and user is passed to both. */
typedef struct dync__custom_row {
    dync__op_row row; /* first: a call knows its row */
    dync_function impl, meta;
    void *user;
    char *name, *schema, *fx;
} dync__custom_row;
/* trace_wrapped carries its hook through graphs as an index into a list of these. */
typedef struct dync__hook_pair {
    dync_hook fn;
    void *user;
} dync__hook_pair;
/* Process-wide. Rows are added to the table (table.c) under the lock. Hooks are read under it, as
 * their array moves when it grows. */
static struct {
    dync__mutex lock;
    DYNC__VEC(dync__hook_pair) hook;
} dync__customs;

static void dync__custom_free(dync__custom_row *c)
{
    if (!c) return;
    dync__strfree(c->name);
    dync__strfree(c->schema);
    dync__strfree(c->fx);
    dync__free(c, sizeof *c);
}

/* At shutdown, when nothing runs any more. */
static void dync__customs_free(void)
{
    for (const dync__op_row *row; (row = dync__table_drop()) != NULL;)
        dync__custom_free((dync__custom_row *)(uintptr_t)row); /* its first field */
    dync__vec_free(&dync__customs.hook);
}

/* ---- a call of the user's function ----------------------------------------------------------- */

/* Nothing of what the user's function does belongs to a trace or to the tape. */
typedef struct dync__custom_pause {
    dync__handler *top, *bottom;
    bool compiling, grad_off;
} dync__custom_pause;
/* Takes the handlers of this thread away, turns gradients off, and says that nothing is compiling.
 * What comes back goes to dync__custom_pause_end, on every way out. */
static dync__custom_pause dync__custom_pause_begin(void)
{
    dync__custom_pause p = {dync__handler_swap(NULL), dync__bottom_swap(NULL), dync__tls.compiling,
                            dync__grad_is_off()};
    dync__tls.compiling = false;
    dync__grad_off(true);
    return p;
}
static void dync__custom_pause_end(const dync__custom_pause *p)
{
    dync__grad_off(p->grad_off);
    dync__tls.compiling = p->compiling;
    dync__bottom_swap(p->bottom);
    dync__handler_swap(p->top);
}

/* fakes: the meta function never sees data. Tensors it makes belong to the scope. An argument as
 * the user's function sees it. Lists are made of the scope. A fake has as large a storage as the
 * real tensor, as meta functions may ask whether a view fits. NONE also where memory ran out; the
 * caller looks at the error count. */
static dync_value dync__custom_value(const dync__arg *a, bool fakes)
{
    switch ((dync__arg_kind)a->kind) {
    case DYNC__A_TENSOR: {
        const dync__tensor *t = a->as.t;
        if (!fakes) return dync_v_tensor(dync__handle(t));
        dync__tensor *fake = dync__tensor_fake(t->dtype, t->device, &t->lay);
        if (fake) fake->storage->size_bytes = t->storage->size_bytes;
        return fake ? dync_v_tensor(dync__give(fake)) : DYNC_NONE;
    }
    case DYNC__A_INT:
    case DYNC__A_DTYPE:
    case DYNC__A_DEVICE: return dync_v_int(a->as.i);
    case DYNC__A_FLOAT: return dync_v_float(a->as.f);
    case DYNC__A_BOOL: return dync_v_bool(a->as.i != 0);
    case DYNC__A_STR: return dync_v_str(a->as.s);
    case DYNC__A_PTR: return dync_v_ptr(a->as.p);
    case DYNC__A_LIST:
    case DYNC__A_DIMS: {
        dync_value list = dync__list_new(a->n);
        for (int i = 0; list.kind == DYNC_KIND_LIST && i < a->n; i++)
            dync__list_set(list, i,
                           a->kind == DYNC__A_DIMS ? dync_v_int(a->as.dims[i])
                                                   : dync__custom_value(&a->as.list[i], fakes));
        return list;
    }
    case DYNC__A_NONE:
    case DYNC__A_HANDLE:
    case DYNC__A_GRAPH:
    case DYNC__A_NODE: break;
    }
    return DYNC_NONE;
}

/* Output i of what the function returned; NULL + error. A row of one output may return the tensor
 * itself or a list of one. The reference stays the scope's. */
static dync__tensor *dync__custom_output(const dync__opcall *call, dync_value r, int i)
{
    const dync__list *list = dync__value_list(r);
    dync_value v = list && i < list->n ? list->items[i] : list ? DYNC_NONE : r;
    if (v.kind == DYNC_KIND_TENSOR && (list ? list->n : 1) == call->row->nout)
        return dync__open(v.as.t);
    if (dync_error() == DYNC_OK)
        dync__fail(DYNC_ERR_VALUE, "%s%s: expected %d tensor%s back, got %s", call->row->name,
                   call->row->schema, call->row->nout, call->row->nout == 1 ? "" : "s",
                   v.kind == DYNC_KIND_TENSOR ? "another number of them" : "something else");
    return NULL;
}

/* Calls fn over real tensors (out: owned references, set where DYNC_OK) or fakes (info: what
 * outputs will be, with offset 0, since the result of a compiled call is memory of its own). An
 * error that the function recorded fails the call, whatever it returned. Everything the function
 * made, but for the results, ends with a scope of its own. */
static dync_status dync__custom_run(const dync__opcall *call, dync_function fn, bool fakes,
                                    dync__info *info, dync__tensor **out)
{
    const dync__custom_row *c = (const dync__custom_row *)(const void *)call->row;
    dync_value args[DYNC__MAX_ARGS];
    dync__custom_pause pause = dync__custom_pause_begin();
    dync_scope scope = dync_scope_begin();
    uint64_t errors = dync__error_count();
    for (int i = 0; i < call->nargs; i++) args[i] = dync__custom_value(&call->args[i], fakes);
    dync_status status = dync__error_count() != errors ? dync_error() : DYNC_OK;
    dync_value r = status == DYNC_OK ? fn(args, call->nargs, c->user) : DYNC_NONE;
    if (dync__error_count() != errors)
        status = dync_error() != DYNC_OK ? dync_error() : DYNC_ERR_RUNTIME;
    for (int i = 0; i < call->row->nout && status == DYNC_OK; i++) {
        dync__tensor *t = dync__custom_output(call, r, i);
        if (!t)
            status = dync_error() != DYNC_OK ? dync_error() : DYNC_ERR_VALUE;
        else if (info)
            dync__info_of(&info[i], t, -1);
        else
            dync__ref(out[i] = t);
        if (t && info) info[i].lay.offset = 0;
    }
    dync_scope_end(&scope);
    dync__custom_pause_end(&pause);
    return status;
}

/* The infer column: the meta function over fakes. */
static dync_status dync__i_custom(const dync__opcall *call, dync__info *info)
{
    const dync__custom_row *c = (const dync__custom_row *)(const void *)call->row;
    return dync__custom_run(call, c->meta, true, info, NULL);
}

/* The decompose column: the body over real tensors; nothing stays in out on failure. */
static dync_status dync__d_custom(dync__opcall *call)
{
    const dync__custom_row *c = (const dync__custom_row *)(const void *)call->row;
    call->nout = call->row->nout;
    dync_status status = dync__custom_run(call, c->impl, false, NULL, call->out);
    for (int i = 0; i < call->nout && status != DYNC_OK; i++) {
        dync__unref(call->out[i]);
        call->out[i] = NULL;
    }
    return status;
}

/* ---- registering ----------------------------------------------------------------------------- */

/* One "Tensor", "Tensor(a!)" or "Tensor out"; NULL: another type. p: at a type or blanks before it.
 * Returns what follows it and an optional name. */
static const char *dync__custom_result_type(const char *p)
{
    p += strspn(p, " ");
    if (strncmp(p, "Tensor", 6) != 0) return NULL;
    p += 6;
    if (*p == '(') {
        p += strcspn(p, ")");
        if (!*p++) return NULL;
    }
    if (*p && !strchr(" ,)", *p)) return NULL;
    p += strspn(p, " ");
    p += strspn(p, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
    return p + strspn(p, " ");
}

/* Outputs behind the arrow: "Tensor", "(Tensor, Tensor)", "()"; no arrow: one. -1: something
 * else. */
static int dync__custom_nout(const char *schema)
{
    const char *p = dync__find(schema, "->");
    int n = 0;
    if (!p) return 1;
    p += 2 + strspn(p + 2, " ");
    bool several = *p == '(';
    if (several) p += 1 + strspn(p + 1, " ");
    for (; !(several && n == 0 && *p == ')'); p++) {
        if (!(p = dync__custom_result_type(p)) || ++n > DYNC__MAX_OUT) return -1;
        if (!several || *p != ',') break;
    }
    if (several && *p++ != ')') return -1;
    return p[strspn(p, " ")] ? -1 : n;
}

/* name is "library::name", which dync_op_register has checked; torch.fx prints it with a point
 * between the two, as a member of torch.ops. "!" in the schema marks an argument that is written,
 * and an operator without outputs is called for what it does: both are never dropped, moved or
 * shared. On failure the caller frees what was set. */
static dync_status dync__custom_fill(dync__custom_row *c, const char *name, const char *schema)
{
    const char *colons = dync__find(name, "::");
    dync__str fx = {0};
    dync__str_addf(&fx, "torch.ops.%.*s.%s", (int)(colons - name), name, colons + 2);
    c->name = dync__strdup(name);
    c->schema = dync__strdup(schema);
    c->fx = fx.failed ? NULL : dync__strdup(dync__str_get(&fx));
    dync__str_free(&fx);
    if (!c->name || !c->schema || !c->fx) return DYNC_ERR_MEMORY;
    c->row = (dync__op_row){
        .name = c->name,
        .schema = c->schema,
        .cls = DYNC__KERNEL,
        .nout = dync__custom_nout(schema),
        .inplace_of = -1,
        .infer = dync__i_custom,
        .decompose = dync__d_custom,
        .fx = c->fx,
        .flags = DYNC__OP_OPAQUE | DYNC__OP_PRIVATE |
                 (strchr(schema, '!') || dync__custom_nout(schema) == 0 ? DYNC__OP_WRITES : 0u)};
    if (c->row.nout >= 0) return DYNC_OK;
    return dync__fail(DYNC_ERR_VALUE,
                      "dync_op_register: %s%s: expected at most %d outputs, each a Tensor", name,
                      schema, (int)DYNC__MAX_OUT);
}

DYNC__MEETING(opaque)
/* dync_op_register asks for the name before; here again, as another thread may have added it. */
DYNC__FN dync_status dync__custom_add(const char *name, const char *schema, dync_function impl,
                                      dync_function meta, void *user)
{
    dync__custom_row *c = dync__calloc(sizeof *c);
    if (!c) return DYNC_ERR_MEMORY;
    DYNC__MEET(opaque);
    c->impl = impl;
    c->meta = meta;
    c->user = user;
    dync_status status = dync__custom_fill(c, name, schema);
    dync__at_shutdown(dync__customs_free);
    dync__lock(&dync__customs.lock);
    bool taken = dync__custom_find(name) >= 0;
    if (status == DYNC_OK && !taken && dync__table_add(&c->row)) c = NULL;
    dync__unlock(&dync__customs.lock);
    if (status == DYNC_OK && c)
        status = taken ? dync__fail(DYNC_ERR_VALUE, "dync_op_register: duplicate name: %s", name)
                       : dync__fail(DYNC_ERR_VALUE, "dync_op_register: more than %d operators",
                                    (int)DYNC__MAX_CUSTOM);
    dync__custom_free(c);
    return status;
}

/* ---- trace_wrapped: a hook's function as one node; its result has the argument's form -------- */

/* The same pair gets the same number, so that graphs traced again compare equal. Pairs stay until
 * shutdown. */
DYNC__FN int dync__hook_number(dync_hook fn, void *user)
{
    dync__hook_pair pair = {fn, user};
    DYNC__MEET(opaque);
    dync__at_shutdown(dync__customs_free);
    dync__lock(&dync__customs.lock);
    int i = 0, n = dync__customs.hook.n;
    while (i < n && !(dync__customs.hook.at[i].fn == fn && dync__customs.hook.at[i].user == user))
        i++;
    if (i == n && !dync__vec_push(&dync__customs.hook, pair)) i = -1;
    dync__unlock(&dync__customs.lock);
    return i;
}

DYNC__FN bool dync__hook_of(int64_t i, dync_hook *fn, void **user)
{
    dync__hook_pair pair = {NULL, NULL};
    dync__lock(&dync__customs.lock);
    if (i >= 0 && i < dync__customs.hook.n) pair = dync__customs.hook.at[i];
    dync__unlock(&dync__customs.lock);
    *fn = pair.fn;
    *user = pair.user;
    return pair.fn != NULL;
}

/* Arguments (grad, number): calls the hook; NULL from it means that grad is unchanged. The result
 * has a reference of its own; what else the hook made ends with its scope. */
DYNC__FN dync_status dync__d_trace_wrapped(dync__opcall *call)
{
    dync__hook_pair pair = {NULL, NULL};
    if (!dync__hook_of(call->args[1].as.i, &pair.fn, &pair.user))
        return dync__fail(DYNC_ERR_VALUE, "trace_wrapped: the function belongs to "
                                          "another program");
    dync_tensor *grad = dync__handle(call->args[0].as.t);
    bool off = dync__grad_is_off();
    uint64_t errors = dync__error_count();
    dync_scope scope = dync_scope_begin();
    dync__grad_off(true);
    dync_tensor *r = pair.fn(grad, pair.user);
    dync__grad_off(off);
    dync__tensor *t = dync__error_count() != errors ? NULL : dync__open(r ? r : grad);
    if (t) dync__ref(t);
    dync_scope_end(&scope);
    if (!t) return dync_error() != DYNC_OK ? dync_error() : DYNC_ERR_RUNTIME;
    call->out[0] = t;
    call->nout = 1;
    return DYNC_OK;
}
