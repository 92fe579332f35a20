/* door/pickle_call.c: names and calls in a pickle, and reading it. Before: pickle.c. */
#include "../dync.in.h"
#include "pickle.h"
DYNC__COLD

/* clang-format off */
#define DYNC__PICK_NAMES(X)                                              \
    X("torch FloatStorage",                 TYPE,    DYNC_F32)           \
    X("torch DoubleStorage",                TYPE,    DYNC_F64)           \
    X("torch HalfStorage",                  TYPE,    DYNC_F16)           \
    X("torch BFloat16Storage",              TYPE,    DYNC_BF16)          \
    X("torch LongStorage",                  TYPE,    DYNC_I64)           \
    X("torch IntStorage",                   TYPE,    DYNC_I32)           \
    X("torch ShortStorage",                 TYPE,    DYNC_I16)           \
    X("torch CharStorage",                  TYPE,    DYNC_I8)            \
    X("torch ByteStorage",                  TYPE,    DYNC_U8)            \
    X("torch BoolStorage",                  TYPE,    DYNC_BOOL)          \
    X("collections OrderedDict",            ORDERED, 0)                  \
    X("torch._utils _rebuild_tensor_v2",    REBUILD, 0)                  \
    X("torch._utils _rebuild_parameter",    FIRST,   0)                  \
    X("torch Size",                         FIRST,   0)
/* clang-format on */
static const struct {
    const char *name;
    int what, dtype;
} dync__pick_names[] = {
#define DYNC__X(name, what, dtype) {name, DYNC__PICK_##what, dtype},
    DYNC__PICK_NAMES(DYNC__X)
#undef DYNC__X
};

/* ---- names and calls ------------------------------------------------------------------------- */

static dync_status dync__pickle_name(dync__pickle *p, const char *name)
{
    for (int i = 0; i < DYNC__COUNT_OF(dync__pick_names); i++) {
        if (strcmp(dync__pick_names[i].name, name) != 0) continue;
        dync__pick *v = dync__pickle_new(p, DYNC__PICK_GLOBAL);
        if (v) v->i = i, v->dtype = dync__pick_names[i].dtype;
        return dync__pickle_push(p, v);
    }
    const char *blank = strchr(name, ' ');
    return dync__fail(DYNC_ERR_UNSUPPORTED,
                      "pickle, byte %llu: the file asks for %.*s.%.200s, which is not read: it may "
                      "hold tensors, dicts, lists, tuples, numbers and texts. Save the state_dict",
                      (unsigned long long)p->c.at, blank ? (int)DYNC__MIN(blank - name, 200) : 0,
                      name, blank ? blank + 1 : name);
}

/* Two lines: module and name. */
static dync_status dync__pickle_global(dync__pickle *p, int arg)
{
    char name[512];
    size_t n = 0;
    (void)arg;
    for (int lines = 0; lines < 2;) {
        const unsigned char *c = dync__cursor_take(&p->c, 1, "a name");
        if (!c) return p->c.bad;
        if (n + 1 >= sizeof name || *c == 0) return dync__pickle_bad(p, "a name that is too long");
        if (*c != '\n')
            name[n++] = (char)*c;
        else if (++lines == 1)
            name[n++] = ' ';
    }
    name[n] = 0;
    return dync__pickle_name(p, name);
}
static dync_status dync__pickle_stack_global(dync__pickle *p, int arg)
{
    dync__pick *name = dync__pickle_pop(p), *module = dync__pickle_pop(p);
    char text[512];
    (void)arg;
    if (!name || !module || name->kind != DYNC__PICK_STR || module->kind != DYNC__PICK_STR)
        return dync__pickle_bad(p, "a name that is no text");
    dync__format(text, sizeof text, "%s %s", module->s, name->s);
    return dync__pickle_name(p, text);
}

static dync_status dync__pickle_tensor(dync__pickle *p, const dync__pick *args)
{
    dync__pick *v = dync__pickle_new(p, DYNC__PICK_TENSOR);
    if (!v) return DYNC_ERR_MEMORY;
    DYNC__TRY(p->rebuild(p->user, args, &v->tensor));
    if (!dync__avec_push(&p->arena, &p->tensor, v)) {
        dync__unref(v->tensor);
        return DYNC_ERR_MEMORY;
    }
    return dync__pickle_push(p, v);
}

static dync_status dync__pickle_reduce(dync__pickle *p, int arg)
{
    dync__pick *args = dync__pickle_pop(p), *fn = dync__pickle_pop(p);
    (void)arg;
    if (!args || !fn || args->kind != DYNC__PICK_TUPLE || fn->kind != DYNC__PICK_GLOBAL)
        return dync__pickle_bad(p, "a call of something that is no function");
    switch (dync__pick_names[fn->i].what) {
    case DYNC__PICK_ORDERED: /* its items follow */
        if (args->item.n == 0) return dync__pickle_empty(p, DYNC__PICK_DICT);
        break;
    case DYNC__PICK_REBUILD: return dync__pickle_tensor(p, args);
    case DYNC__PICK_FIRST:
        if (args->item.n > 0) return dync__pickle_push(p, args->item.at[0]);
        break;
    default: break;
    }
    return dync__pickle_bad(p, "a call with arguments that do not fit");
}

/* State for an object: that of an OrderedDict are attributes (_metadata), which nobody asks for. */
static dync_status dync__pickle_build(dync__pickle *p, int arg)
{
    dync__pick *state = dync__pickle_pop(p);
    (void)arg;
    if (!state || !dync__pickle_top(p, DYNC__PICK_DICT))
        return dync__pickle_bad(p, "state for something that is no dict");
    return DYNC_OK;
}

/* ("storage", its type, key, device, elements) */
static dync_status dync__pickle_storage(dync__pickle *p, int arg)
{
    static const int kinds[5] = {DYNC__PICK_STR, DYNC__PICK_GLOBAL, DYNC__PICK_STR, DYNC__PICK_STR,
                                 DYNC__PICK_INT};
    dync__pick *id = dync__pickle_pop(p), *v = dync__pickle_new(p, DYNC__PICK_STORAGE);
    (void)arg;
    if (!v) return DYNC_ERR_MEMORY;
    bool ok = id && id->kind == DYNC__PICK_TUPLE && id->item.n == 5;
    for (int i = 0; ok && i < 5; i++) ok = (int)id->item.at[i]->kind == kinds[i];
    if (!ok || strcmp(id->item.at[0]->s, "storage") != 0 ||
        dync__pick_names[id->item.at[1]->i].what != DYNC__PICK_TYPE || id->item.at[4]->i < 0)
        return dync__pickle_bad(p, "a reference that is to no storage");
    v->dtype = id->item.at[1]->dtype;
    v->s = id->item.at[2]->s;
    v->i = id->item.at[4]->i;
    return dync__pickle_push(p, v);
}

/* arg: bytes that are passed over */
static dync_status dync__pickle_skip(dync__pickle *p, int arg)
{
    (void)dync__cursor_take(&p->c, (uint64_t)arg, "a header");
    return DYNC_OK;
}

static const struct {
    unsigned char code;
    dync_status (*run)(dync__pickle *, int arg);
    int arg;
} dync__pickle_ops[] = {
    {0x80, dync__pickle_skip, 1},                /* PROTO */
    {0x95, dync__pickle_skip, 8},                /* FRAME */
    {'(', dync__pickle_mark_op, 0},              /* MARK */
    {'N', dync__pickle_empty, DYNC__PICK_NONE},  /* NONE */
    {0x88, dync__pickle_bool, 1},                /* NEWTRUE */
    {0x89, dync__pickle_bool, 0},                /* NEWFALSE */
    {'J', dync__pickle_int, 4},                  /* BININT */
    {'K', dync__pickle_int, 1},                  /* BININT1 */
    {'M', dync__pickle_int, 2},                  /* BININT2 */
    {0x8a, dync__pickle_long, 0},                /* LONG1 */
    {'G', dync__pickle_float, 0},                /* BINFLOAT */
    {'X', dync__pickle_str, 4},                  /* BINUNICODE */
    {0x8c, dync__pickle_str, 1},                 /* SHORT_BINUNICODE */
    {'U', dync__pickle_str, 1},                  /* SHORT_BINSTRING */
    {')', dync__pickle_empty, DYNC__PICK_TUPLE}, /* EMPTY_TUPLE */
    {']', dync__pickle_empty, DYNC__PICK_LIST},  /* EMPTY_LIST */
    {'}', dync__pickle_empty, DYNC__PICK_DICT},  /* EMPTY_DICT */
    {'t', dync__pickle_collect, DYNC__PICK_TUPLE},
    {'l', dync__pickle_collect, DYNC__PICK_LIST},
    {'d', dync__pickle_collect, DYNC__PICK_DICT},
    {0x85, dync__pickle_tuple, 1}, /* TUPLE1 */
    {0x86, dync__pickle_tuple, 2},
    {0x87, dync__pickle_tuple, 3},
    {'e', dync__pickle_extend, DYNC__PICK_LIST}, /* APPENDS */
    {'u', dync__pickle_extend, DYNC__PICK_DICT}, /* SETITEMS */
    {'a', dync__pickle_append, DYNC__PICK_LIST}, /* APPEND */
    {'s', dync__pickle_append, DYNC__PICK_DICT}, /* SETITEM */
    {'q', dync__pickle_put, 1},                  /* BINPUT */
    {'r', dync__pickle_put, 4},                  /* LONG_BINPUT */
    {0x94, dync__pickle_put, 0},                 /* MEMOIZE */
    {'h', dync__pickle_get, 1},                  /* BINGET */
    {'j', dync__pickle_get, 4},                  /* LONG_BINGET */
    {'0', dync__pickle_pop_op, 0},               /* POP */
    {'1', dync__pickle_pop_op, 1},               /* POP_MARK */
    {'c', dync__pickle_global, 0},
    {0x93, dync__pickle_stack_global, 0},
    {'R', dync__pickle_reduce, 0},
    {'b', dync__pickle_build, 0},
    {'Q', dync__pickle_storage, 0}, /* BINPERSID */
};

static dync_status dync__pickle_op(dync__pickle *p, unsigned code)
{
    for (int i = 0; i < DYNC__COUNT_OF(dync__pickle_ops); i++)
        if (dync__pickle_ops[i].code == code)
            return dync__pickle_ops[i].run(p, dync__pickle_ops[i].arg);
    return dync__fail(DYNC_ERR_UNSUPPORTED,
                      "pickle, byte %llu: opcode 0x%x is not read: expected what torch.save writes "
                      "of tensors, dicts, lists, tuples, numbers and texts",
                      (unsigned long long)p->c.at - 1, code);
}

DYNC__FN dync_status dync__pickle_read(dync__pickle *p, const unsigned char *bytes, uint64_t n)
{
    p->c = (dync__cursor){.format = "pickle", .bytes = bytes, .n = n};
    for (;;) {
        unsigned code = (unsigned)dync__cursor_int(&p->c, 1, "an opcode");
        if (p->c.bad != DYNC_OK) return p->c.bad;
        if (code == '.') break;
        DYNC__TRY(dync__pickle_op(p, code));
        if (p->c.bad != DYNC_OK) return p->c.bad;
    }
    p->result = dync__pickle_pop(p);
    return p->result ? DYNC_OK : dync__pickle_bad(p, "the end, and nothing on the stack");
}

DYNC__FN void dync__pickle_close(dync__pickle *p)
{
    for (int i = 0; i < p->tensor.n; i++) dync__unref(p->tensor.at[i]->tensor);
    dync__map_free(&p->memo);
    dync__arena_free(&p->arena);
    memset(p, 0, sizeof *p);
}
