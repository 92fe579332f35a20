/* compile/custom_op.c: operators by name: those of the table, and the user's own. A registered
 * operator without a meta function is a composite: traced code runs through its body. One with a
 * meta function is a row (op/custom.c): one node in graphs. After capture/ and graph/, whose
 * schemas it reads. */
#include "../dync.in.h"
#include "../graph/graph.h"
#include "../graph/text.h"
DYNC__COLD

typedef struct dync__custom_op { /* a composite */
    char *name, *schema;
    dync_function impl;
    void *user;
    int arity; /* parameters of the schema */
    struct dync__custom_op *next;
} dync__custom_op;
/* Rows are added at the front and live until shutdown: a found one may be used without the lock. */
static struct {
    dync__mutex lock;
    dync__custom_op *first;
} dync__custom_ops;

static void dync__custom_op_free(dync__custom_op *o)
{
    if (!o) return;
    dync__strfree(o->name);
    dync__strfree(o->schema);
    dync__free(o, sizeof *o);
}
static void dync__custom_ops_free(void)
{
    while (dync__custom_ops.first) {
        dync__custom_op *o = dync__custom_ops.first;
        dync__custom_ops.first = o->next;
        dync__custom_op_free(o);
    }
}

/* Under the lock. */
static dync__custom_op *dync__custom_op_named(const char *name)
{
    dync__custom_op *o = dync__custom_ops.first;
    while (o && strcmp(o->name, name) != 0) o = o->next;
    return o;
}

/* NULL: there is none. "library::name". */
static dync__custom_op *dync__custom_op_find(const char *name)
{
    dync__lock(&dync__custom_ops.lock);
    dync__custom_op *o = dync__custom_op_named(name);
    dync__unlock(&dync__custom_ops.lock);
    return o;
}

/* The name is asked for again, as another thread may have added it; texts are copied. */
static dync_status dync__composite_add(const char *name, const char *schema, int arity,
                                       dync_function impl, void *user)
{
    dync__custom_op *o = dync__calloc(sizeof *o);
    if (!o) return DYNC_ERR_MEMORY;
    o->name = dync__strdup(name);
    o->schema = dync__strdup(schema);
    if (!o->name || !o->schema) {
        dync__custom_op_free(o);
        return DYNC_ERR_MEMORY;
    }
    o->arity = arity;
    o->impl = impl;
    o->user = user;
    dync__at_shutdown(dync__custom_ops_free);
    dync__lock(&dync__custom_ops.lock);
    bool taken = dync__custom_op_named(name) != NULL;
    if (!taken) {
        o->next = dync__custom_ops.first;
        dync__custom_ops.first = o;
    }
    dync__unlock(&dync__custom_ops.lock);
    if (!taken) return DYNC_OK;
    dync__custom_op_free(o);
    return dync__fail(DYNC_ERR_VALUE, "dync_op_register: duplicate name: %s", name);
}

/* The schema's parameters are parsed here once, so that calls can rely on it. */
DYNC_API dync_status dync_op_register(const char *name, const char *schema, dync_function impl,
                                      dync_function meta_or_null, void *user)
{
    dync__param param;
    int arity = 0;
    if (!name || !schema || !impl)
        return dync__fail(DYNC_ERR_VALUE, "dync_op_register: expected "
                                          "a name, a schema and an "
                                          "implementation");
    const char *colons = dync__find(name, "::");
    bool named = colons && dync__is_name(name, (size_t)(colons - name)) &&
                 dync__is_name(colons + 2, strlen(colons + 2));
    if (!named || schema[0] != '(')
        return dync__fail(
            DYNC_ERR_VALUE,
            "dync_op_register: expected \"library::name\" and \"(Tensor x, ...) -> Tensor\", got "
            "%s %s",
            name, schema);
    if (dync__op_find(name) >= 0 || dync__custom_op_find(name))
        return dync__fail(DYNC_ERR_VALUE, "dync_op_register: duplicate name: %s", name);
    for (; dync__schema_param(schema, arity, &param); arity++) {
        if (!dync__is_name(param.name, (size_t)param.name_n))
            return dync__fail(DYNC_ERR_VALUE, "dync_op_register: %s%s: parameter %d has no name",
                              name, schema, arity);
        if (param.type == DYNC__PARAM_PTR)
            return dync__fail(DYNC_ERR_VALUE,
                              "dync_op_register: %s%s: parameter %d has a type "
                              "that is not known; those are Tensor, Tensor?, "
                              "Tensor[], Scalar, int, int[], float, bool, str, Dtype, Device",
                              name, schema, arity);
    }
    if (arity > DYNC__MAX_ARGS)
        return dync__fail(DYNC_ERR_VALUE,
                          "dync_op_register: %s: expected at most %d parameters, got %d", name,
                          (int)DYNC__MAX_ARGS, arity);
    return meta_or_null ? dync__custom_add(name, schema, impl, meta_or_null, user)
                        : dync__composite_add(name, schema, arity, impl, user);
}

/* ---- calling --------------------------------------------------------------------------------- */
/* The body runs as any code does: its operators are recorded by whoever records. */
static dync_value dync__custom_op_call(const dync__custom_op *o, int nargs, const dync_value *args)
{
    if (nargs == o->arity) return o->impl(args, nargs, o->user);
    dync__fail(DYNC_ERR_VALUE, "%s%s: expected %d arguments, got %d", o->name, o->schema, o->arity,
               nargs);
    return DYNC_NONE;
}

/* What a parameter takes, for messages; NULL: this kind of value. */
static const char *dync__op_arg_wrong(dync__param_type type, dync_kind kind)
{
    bool number = kind == DYNC_KIND_INT || kind == DYNC_KIND_FLOAT || kind == DYNC_KIND_BOOL ||
                  kind == DYNC_KIND_SYM,
         none = kind == DYNC_KIND_NONE;
    switch (type) {
    case DYNC__PARAM_VALUE:
        return number || kind == DYNC_KIND_TENSOR ? NULL
                                                  : "a tensor or a "
                                                    "number";
    case DYNC__PARAM_VALUE_OPT:
        return number || none || kind == DYNC_KIND_TENSOR ? NULL : "a tensor, a number or none";
    case DYNC__PARAM_TENSOR: return kind == DYNC_KIND_TENSOR ? NULL : "a tensor";
    case DYNC__PARAM_TENSOR_OPT:
        return none || kind == DYNC_KIND_TENSOR ? NULL
                                                : "a tensor or "
                                                  "none";
    case DYNC__PARAM_TENSORS: return kind == DYNC_KIND_LIST ? NULL : "a list of tensors";
    case DYNC__PARAM_DIMS: return number || kind == DYNC_KIND_LIST ? NULL : "a list of ints";
    case DYNC__PARAM_STR: return none || kind == DYNC_KIND_STR ? NULL : "a string";
    case DYNC__PARAM_INT: return number ? NULL : "an int";
    case DYNC__PARAM_FLOAT: return number ? NULL : "a float";
    case DYNC__PARAM_BOOL: return number ? NULL : "a bool";
    case DYNC__PARAM_DTYPE: return number ? NULL : "a dtype";
    case DYNC__PARAM_DEVICE: return number ? NULL : "a device";
    case DYNC__PARAM_GRAPH: return "a function: call dync_cond and its kin";
    case DYNC__PARAM_PTR:
    case DYNC__PARAM_END: break;
    }
    return NULL;
}

/* A list of numbers as dims, of tensors as it is. */
static bool dync__op_arg_list(dync__arena *arena, dync_value v, const dync__param *p,
                              dync__arg *out)
{
    const dync__list *l = dync__value_list(v);
    if (!l) return false;
    for (int i = 0; p->type == DYNC__PARAM_TENSORS && i < l->n; i++)
        if (l->items[i].kind != DYNC_KIND_TENSOR)
            return dync__fail(DYNC_ERR_VALUE, "item %d of %.*s: expected a tensor, got %s", i,
                              p->name_n, p->name, dync__kind_name(l->items[i].kind)),
                   false;
    int64_t *dims = dync__arena_alloc(arena, (size_t)(l->n + 1) * sizeof *dims);
    if (p->type != DYNC__PARAM_DIMS) {
        memset(out, 0, sizeof *out);
        out->kind = DYNC__A_LIST;
        out->n = -1; /* opened by dync__op_call */
        out->as.p = v.as.l;
        return true;
    }
    for (int i = 0; dims && i < l->n; i++) dims[i] = dync_as_int(l->items[i]);
    if (dims) *out = dync__arg_dims(l->n, dims);
    return dims != NULL;
}

/* A dtype's or a device's number; -1, which is none, for what is no int. */
static int dync__op_code(dync_value v)
{
    int64_t code = dync_as_int(v);
    return code < 0 || code > INT_MAX ? -1 : (int)code;
}

/* One value as the argument that parameter p takes; dims lie in the arena. False + error. */
static bool dync__op_arg(dync__arena *arena, dync_value v, const dync__param *p, dync__arg *out)
{
    const char *expected = dync__op_arg_wrong(p->type, v.kind);
    if (expected)
        return dync__fail(DYNC_ERR_VALUE, "%.*s: expected %s, got %s", p->name_n, p->name, expected,
                          dync__kind_name(v.kind)),
               false;
    if (v.kind == DYNC_KIND_LIST) return dync__op_arg_list(arena, v, p, out);
    switch (p->type) {
    case DYNC__PARAM_INT: *out = dync__arg_i(dync_as_int(v)); break;
    case DYNC__PARAM_DEVICE: *out = dync__arg_device(dync__op_code(v)); break;
    case DYNC__PARAM_FLOAT: *out = dync__arg_f(dync_as_float(v)); break;
    case DYNC__PARAM_BOOL: *out = dync__arg_b(dync_as_bool(v)); break;
    case DYNC__PARAM_DTYPE: *out = dync__arg_dtype(dync__op_code(v)); break;
    case DYNC__PARAM_DIMS: {
        int64_t one = dync_as_int(v), *dims = dync__arena_copy(arena, &one, sizeof one);
        if (!dims) return false;
        *out = dync__arg_dims(1, dims);
        break;
    }
    default: *out = dync__arg_value(v);
    }
    return true;
}

/* Conversions of numbers record errors of their own, which are looked at after each. A row of
 * several results gives a list, one without results none. */
static dync_value dync__table_op_call(int op, int nargs, const dync_value *args)
{
    const dync__op_row *row = dync__op_info(op);
    dync__arena arena = {0};
    dync__arg list[DYNC__MAX_ARGS];
    dync__param param;
    dync_value result = DYNC_NONE;
    int arity = 0;
    while (dync__schema_param(row->schema, arity, &param)) arity++;
    if (nargs != arity || nargs > DYNC__MAX_ARGS) {
        dync__fail(DYNC_ERR_VALUE, "%s%s: expected %d arguments, got %d", row->name, row->schema,
                   arity, nargs);
        return result;
    }
    uint64_t errors = dync__error_count();
    bool ok = true;
    for (int i = 0; i < nargs && ok; i++) {
        dync__schema_param(row->schema, i, &param);
        ok = dync__op_arg(&arena, args[i], &param, &list[i]) && dync__error_count() == errors;
    }
    if (ok && row->nout != 1)
        result = (dync__op_call_list)(op, nargs, list, DYNC_NOWHERE);
    else if (ok) {
        dync_tensor *t = (dync__op_call)(op, nargs, list, DYNC_NOWHERE);
        if (t) result = dync_v_tensor(t);
    }
    dync__arena_free(&arena);
    return row->nout ? result : DYNC_NONE;
}

/* Names of the table come first; the user's cannot be the same. */
DYNC_API dync_value dync_op_call_values(const char *name, int nargs, const dync_value *args)
{
    if (!name || nargs < 0 || (nargs && !args)) {
        dync__fail(DYNC_ERR_VALUE, "dync_op_call_values: expected the name of an operator and "
                                   "its arguments");
        return DYNC_NONE;
    }
    int op = dync__op_find(name);
    if (op >= 0) return dync__table_op_call(op, nargs, args);
    dync__custom_op *o = dync__custom_op_find(name);
    if (o) return dync__custom_op_call(o, nargs, args);
    dync__fail(DYNC_ERR_VALUE, "dync_op_call_values: there is no operator %s", name);
    return DYNC_NONE;
}
