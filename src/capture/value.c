/* capture/value.c: arguments of a call as flat tensors, names of arguments, and calling the user's
 * function. Before guard.c. Values are walked in preorder everywhere: the same order in guards,
 * sources and fakes. */
#include "../dync.in.h"
#include "capture.h"
DYNC__COLD

DYNC__DATA dync_value (*dync__program_run_hook)(dync__program *, int nargs,
                                                const dync_value *args) = NULL;

/* Appends v's tensors (borrowed) to c in preorder. Other values hold none. A fake outside of a
 * trace was kept from one that is over: it has no data. */
static dync_status dync__flatten_value(dync__callargs *c, const dync_value *v, int depth)
{
    if (depth > 16) return dync__fail(DYNC_ERR_VALUE, "arguments nest deeper than 16 lists");
    if (v->kind == DYNC_KIND_TENSOR) {
        if (c->n_tensors == DYNC__MAX_LEAVES)
            return dync__fail(DYNC_ERR_VALUE, "more than %d tensors in one call", DYNC__MAX_LEAVES);
        dync__tensor *t = dync__open(v->as.t);
        if (!t) return dync_error() != DYNC_OK ? dync_error() : DYNC_ERR_VALUE;
        /* traced code calls programs */
        if ((t->flags & DYNC__T_FAKE) && !dync__tls.compiling) return dync__fail_kept(t);
        c->tensor[c->n_tensors++] = t;
    } else if (v->kind == DYNC_KIND_LIST && v->as.l) {
        const dync__list *l = dync__value_list(*v);
        if (!l) return DYNC_ERR_VALUE;
        for (int i = 0; i < l->n; i++) DYNC__TRY(dync__flatten_value(c, &l->items[i], depth + 1));
    }
    return DYNC_OK;
}

DYNC__FN dync_status dync__callargs_flatten(dync__callargs *c, int nargs, const dync_value *args)
{
    c->nargs = nargs;
    c->args = args;
    c->n_tensors = 0;
    if (nargs < 0 || (nargs > 0 && !args))
        return dync__fail(DYNC_ERR_VALUE,
                          nargs < 0 ? "expected a number of arguments, got %d"
                                    : "expected %d arguments, got NULL",
                          nargs);
    for (int i = 0; i < nargs; i++) DYNC__TRY(dync__flatten_value(c, &args[i], 0));
    return DYNC_OK;
}

DYNC__FN dync_value dync__value_map(dync_value v, dync__tensor_map fn, void *user)
{
    if (v.kind == DYNC_KIND_TENSOR) {
        dync_tensor *h = fn(user, v.as.t);
        return h ? dync_v_tensor(h) : DYNC_NONE;
    }
    const dync__list *l = dync__value_list(v);
    if (!l) return v;
    dync_value list = dync__list_new(l->n);
    for (int i = 0; list.kind == DYNC_KIND_LIST && i < l->n; i++)
        dync__list_set(list, i, dync__value_map(l->items[i], fn, user));
    return list;
}

DYNC__FN const char *dync__arg_name(dync__arena *arena, const char *names, int i)
{
    static const char own[] = "%.*s";
    const char *p = names ? names : "";
    for (int k = 0; *p; k++) {
        while (*p == ' ' || *p == ',') p++;
        const char *end = p;
        while (*end && *end != ',') end++;
        const char *stop = end;
        while (stop > p && stop[-1] == ' ') stop--;
        if (k == i && stop > p) return dync__arena_printf(arena, own, (int)(stop - p), p);
        p = end;
    }
    return dync__arena_printf(arena, "arg%d", i);
}

/* ---- callees: what dync_compile and dync_frame take ------------------------------------------ */
/* The kinds of a callee: functions of 0 to 6 tensors by their number, then the others. */
enum {
    DYNC__CALLEE_FN0,
    DYNC__CALLEE_FN6 = 6,
    DYNC__CALLEE_VALUES,
    DYNC__CALLEE_MODULE,
    DYNC__CALLEE_COMPILED,
    DYNC__CALLEE_GRAPH,
    DYNC__CALLEE_PROGRAM
};

static dync_callee dync__callee_make(int kind, void (*fn)(void), void *object)
{
    dync_callee c;
    memset(&c, 0, sizeof c);
    c.kind = kind;
    c.fn = fn;
    c.object = object;
    return c;
}

typedef dync_tensor *(*dync__fn0)(void);
typedef dync_tensor *(*dync__fn1)(dync_tensor *);
typedef dync_tensor *(*dync__fn2)(dync_tensor *, dync_tensor *);
typedef dync_tensor *(*dync__fn3)(dync_tensor *, dync_tensor *, dync_tensor *);
typedef dync_tensor *(*dync__fn4)(dync_tensor *, dync_tensor *, dync_tensor *, dync_tensor *);

typedef dync_tensor *(*dync__fn5)(dync_tensor *, dync_tensor *, dync_tensor *, dync_tensor *,
                                  dync_tensor *);

typedef dync_tensor *(*dync__fn6)(dync_tensor *, dync_tensor *, dync_tensor *, dync_tensor *,
                                  dync_tensor *, dync_tensor *);

DYNC_API dync_callee dync_fn0(dync__fn0 f) { return dync__callee_make(0, (void (*)(void))f, NULL); }
DYNC_API dync_callee dync_fn1(dync__fn1 f) { return dync__callee_make(1, (void (*)(void))f, NULL); }
DYNC_API dync_callee dync_fn2(dync__fn2 f) { return dync__callee_make(2, (void (*)(void))f, NULL); }
DYNC_API dync_callee dync_fn3(dync__fn3 f) { return dync__callee_make(3, (void (*)(void))f, NULL); }
DYNC_API dync_callee dync_fn4(dync__fn4 f) { return dync__callee_make(4, (void (*)(void))f, NULL); }
DYNC_API dync_callee dync_fn5(dync__fn5 f) { return dync__callee_make(5, (void (*)(void))f, NULL); }
DYNC_API dync_callee dync_fn6(dync__fn6 f) { return dync__callee_make(6, (void (*)(void))f, NULL); }

DYNC_API dync_callee dync_fnv(dync_function f)
{
    return dync__callee_make(DYNC__CALLEE_VALUES, (void (*)(void))f, NULL);
}

/* By need: who takes a module as a callable. */
static dync_value (*DYNC__BY_NEED dync__callee_module_run)(
    dync__module *, int, const dync_value *) = DYNC__AT_FIRST(dync__module_forward);
DYNC_API dync_callee dync_fnm(dync_module *m)
{
    DYNC__PUT(dync__callee_module_run, dync__module_forward);
    dync_callee c = dync__callee_make(DYNC__CALLEE_MODULE, NULL, m);
    const dync__module *module = dync__module_peek(m);
    if (module) c.args = module->args;
    return c;
}

DYNC_API dync_callee dync_fnc(dync_compiled *f)
{
    return dync__callee_make(DYNC__CALLEE_COMPILED, NULL, f);
}

/* By need, as modules. */
static dync_value (*DYNC__BY_NEED dync__callee_graph_run)(dync__graph *, const dync_value *,
                                                          int) = DYNC__AT_FIRST(dync__graph_run);
DYNC_API dync_callee dync_fng(dync_graph *g)
{
    DYNC__PUT(dync__callee_graph_run, dync__graph_run);
    dync__graph *of = dync__graph_peek(g);
    if (of) DYNC__ATOMIC_STORE(&of->fixed, 1); /* what is compiled of it does not follow it */
    return dync__callee_make(DYNC__CALLEE_GRAPH, NULL, g);
}

DYNC_API dync_callee dync_fnp(dync_program *p)
{
    return dync__callee_make(DYNC__CALLEE_PROGRAM, NULL, p);
}

DYNC_API dync_callee dync_fn_same(dync_callee c) { return c; }

DYNC_API dync_callee dync_fn_none(const void *what)
{
    (void)what;
    dync__fail(DYNC_ERR_VALUE, "expected a function of 0 to 6 tensors that returns one, a "
                               "dync_function, or a module, graph, program or compiled function");
    return dync_fnv(NULL);
}

DYNC_API dync_callee dync_bind_callee(dync_callee c, const char *name, void *user, const char *args)
{
    c.name = name;
    if (user) c.user = user;
    if (args) c.args = args;
    return c;
}

DYNC__FN int dync__callee_arity(const dync_callee *c)
{
    return c->kind <= DYNC__CALLEE_FN6 ? c->kind : -1;
}

DYNC__FN dync__module *dync__callee_module(const dync_callee *c)
{
    return c->kind == DYNC__CALLEE_MODULE ? dync__module_peek(c->object) : NULL;
}

DYNC__FN dync__compiled *dync__callee_compiled(const dync_callee *c)
{
    return c->kind == DYNC__CALLEE_COMPILED ? dync__compiled_peek(c->object) : NULL;
}

/* The kind of handle behind a callee that is an object: c->kind is DYNC__CALLEE_MODULE or a later
 * one. */
static uint32_t dync__callee_object(const dync_callee *c)
{
    static const uint8_t kinds[] = {DYNC__OBJECT_MODULE, DYNC__OBJECT_COMPILED, DYNC__OBJECT_GRAPH,
                                    DYNC__OBJECT_PROGRAM};
    return kinds[c->kind - DYNC__CALLEE_MODULE];
}

DYNC__FN bool dync__callee_valid(const dync_callee *c)
{
    if (c->kind <= DYNC__CALLEE_VALUES) return c->fn != NULL;
    return c->kind <= DYNC__CALLEE_PROGRAM &&
           dync__object_peek(c->object, dync__callee_object(c)) != NULL;
}

DYNC__FN const char *dync__callee_text(const dync_callee *c)
{
    return c->kind <= DYNC__CALLEE_VALUES ? "a function"
                                          : dync__object_text(dync__callee_object(c));
}

DYNC__FN dync_status dync__callee_check(const dync_callee *c, const char *who)
{
    if (dync__callee_valid(c)) return DYNC_OK;
    if (c->kind <= DYNC__CALLEE_VALUES || c->kind > DYNC__CALLEE_PROGRAM || !c->object)
        return dync__fail(DYNC_ERR_VALUE, "%s: the function is NULL", who);
    (void)dync__object_fail(c->object, dync__callee_object(c), who);
    return DYNC_ERR_VALUE;
}

/* t has c->kind handles. The function pointer is cast back to the type it was made from. */
static dync_tensor *dync__callee_call_tensors(const dync_callee *c, dync_tensor *const *t)
{
    switch (c->kind) {
    case 0: return ((dync__fn0)c->fn)();
    case 1: return ((dync__fn1)c->fn)(t[0]);
    case 2: return ((dync__fn2)c->fn)(t[0], t[1]);
    case 3: return ((dync__fn3)c->fn)(t[0], t[1], t[2]);
    case 4: return ((dync__fn4)c->fn)(t[0], t[1], t[2], t[3]);
    case 5: return ((dync__fn5)c->fn)(t[0], t[1], t[2], t[3], t[4]);
    default: return ((dync__fn6)c->fn)(t[0], t[1], t[2], t[3], t[4], t[5]);
    }
}

DYNC__FN dync_value dync__callee_invoke(const dync_callee *c, int nargs, const dync_value *args)
{
    if (c->kind <= DYNC__CALLEE_FN6) {
        if (nargs != c->kind) {
            dync__fail(DYNC_ERR_VALUE, "%s takes %d argument%s, got %d",
                       c->name ? c->name : "the function", c->kind, c->kind == 1 ? "" : "s", nargs);
            return DYNC_NONE;
        }
        dync_tensor *t[6] = {0};
        for (int i = 0; i < nargs; i++)
            if (!(t[i] = dync_as_tensor(args[i]))) return DYNC_NONE;
        dync_tensor *r = dync__callee_call_tensors(c, t);
        return r ? dync_v_tensor(r) : DYNC_NONE;
    }
    if (c->kind == DYNC__CALLEE_VALUES) return ((dync_function)c->fn)(args, nargs, c->user);
    if (dync__callee_check(c, "a call") != DYNC_OK) return DYNC_NONE;
    switch (c->kind) {
    case DYNC__CALLEE_MODULE:
        return dync__callee_module_run
                   ? dync__callee_module_run(dync__module_peek(c->object), nargs, args)
                   : DYNC_NONE;
    case DYNC__CALLEE_COMPILED:
        return dync__callee_invoke(&dync__compiled_peek(c->object)->callee, nargs, args);
    case DYNC__CALLEE_GRAPH:
        return dync__callee_graph_run
                   ? dync__callee_graph_run(dync__graph_peek(c->object), args, nargs)
                   : DYNC_NONE;
    default: break;
    }
    dync_value (*run)(dync__program *, int, const dync_value *) =
        DYNC__ATOMIC_PEEK(&dync__program_run_hook);
    return run ? run(dync__program_peek(c->object), nargs, args) : DYNC_NONE;
}

DYNC__FN bool dync__too_many(const char *what, int nargs)
{
    if (nargs <= DYNC__MAX_LEAVES) return false;
    dync__fail(DYNC_ERR_VALUE, "%s: expected at most %d arguments inside a traced function, got %d",
               what, DYNC__MAX_LEAVES, nargs);
    return true;
}
