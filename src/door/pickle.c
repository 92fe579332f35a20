/* door/pickle.c: a reader of Python's pickles (protocols 2 to 4) that makes data and calls nothing.
 * Before torch.c.
 *
 * A pickle is a program for a stack machine that can call any function of Python. This machine
 * knows the few names of dync__pick_names, for which it has code of its own; another name is
 * refused as such. Lists may hold themselves: who walks over a result counts. Source: the opcodes'
 * documentation in CPython's Lib/pickletools.py. */
#include "../dync.in.h"
#include "pickle.h"
DYNC__COLD

/* What a pickle may name: the type of a storage, or what is done in the place of a call. */
enum {
    DYNC__PICK_TYPE,
    DYNC__PICK_ORDERED, /* an empty dict */
    DYNC__PICK_REBUILD, /* a tensor of a storage */
    DYNC__PICK_FIRST    /* what its first argument is */
};
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

DYNC__FN const char *dync__pick_text(const dync__pick *v)
{
    static const char *const text[] = {"None",   "a bool",    "an int",   "a float",
                                       "a text", "a tuple",   "a list",   "a dict",
                                       "a name", "a storage", "a tensor", "a mark"};
    return text[v->kind];
}

/* ---- the stack ------------------------------------------------------------------------------- */

static dync_status dync__pickle_bad(dync__pickle *p, const char *what)
{
    return dync__door_bad("pickle", p->c.at, "%s", what);
}

static dync__pick *dync__pickle_new(dync__pickle *p, dync__pick_kind kind)
{
    dync__pick *v = dync__arena_alloc(&p->arena, sizeof *v);
    if (v) v->kind = kind;
    return v;
}

static dync_status dync__pickle_push(dync__pickle *p, dync__pick *v)
{
    return v && dync__avec_push(&p->arena, &p->stack, v) ? DYNC_OK : DYNC_ERR_MEMORY;
}

/* NULL: there is none, or a mark */
static dync__pick *dync__pickle_pop(dync__pickle *p)
{
    if (p->stack.n == 0 || p->stack.at[p->stack.n - 1]->kind == DYNC__PICK_MARK) return NULL;
    return p->stack.at[--p->stack.n];
}

static dync__pick *dync__pickle_top(dync__pickle *p, int kind)
{
    dync__pick *v = p->stack.n ? p->stack.at[p->stack.n - 1] : NULL;
    return v && (int)v->kind == kind ? v : NULL;
}

/* Where the items above the last mark begin; -1: there is none. */
static int dync__pickle_mark(const dync__pickle *p)
{
    for (int i = p->stack.n; i > 0; i--)
        if (p->stack.at[i - 1]->kind == DYNC__PICK_MARK) return i;
    return -1;
}

/* Those from `from` on become items of v. */
static dync_status dync__pickle_items(dync__pickle *p, dync__pick *v, int from)
{
    for (int i = from; i < p->stack.n; i++)
        if (!dync__avec_push(&p->arena, &v->item, p->stack.at[i])) return DYNC_ERR_MEMORY;
    p->stack.n = from;
    return DYNC_OK;
}

/* ---- opcodes: what each does; arg: of its row ------------------------------------------------ */

static dync_status dync__pickle_mark_op(dync__pickle *p, int arg)
{
    return (void)arg, dync__pickle_push(p, dync__pickle_new(p, DYNC__PICK_MARK));
}
/* arg: kind */
static dync_status dync__pickle_empty(dync__pickle *p, int arg)
{
    return dync__pickle_push(p, dync__pickle_new(p, (dync__pick_kind)arg));
}
/* arg: kind; items down to the mark, which goes, too */
static dync_status dync__pickle_collect(dync__pickle *p, int arg)
{
    int from = dync__pickle_mark(p);
    dync__pick *v = dync__pickle_new(p, (dync__pick_kind)arg);
    if (from < 0) return dync__pickle_bad(p, "no mark on the stack");
    if (!v) return DYNC_ERR_MEMORY;
    if (arg == DYNC__PICK_DICT && (p->stack.n - from) % 2)
        return dync__pickle_bad(p, "a key without a value");
    DYNC__TRY(dync__pickle_items(p, v, from));
    p->stack.n--;
    return dync__pickle_push(p, v);
}
/* arg: how many */
static dync_status dync__pickle_tuple(dync__pickle *p, int arg)
{
    dync__pick *v = dync__pickle_new(p, DYNC__PICK_TUPLE);
    int from = p->stack.n - arg;
    if (!v) return DYNC_ERR_MEMORY;
    if (from < dync__pickle_mark(p) || from < 0)
        return dync__pickle_bad(p, "too few values on the stack");
    DYNC__TRY(dync__pickle_items(p, v, from));
    return dync__pickle_push(p, v);
}
/* arg: kind of the container; items above the mark go into it */
static dync_status dync__pickle_extend(dync__pickle *p, int arg)
{
    int from = dync__pickle_mark(p);
    if (from < 2 || (int)p->stack.at[from - 2]->kind != arg)
        return dync__pickle_bad(p, "nothing that takes items before the mark");
    if (arg == DYNC__PICK_DICT && (p->stack.n - from) % 2)
        return dync__pickle_bad(p, "a key without a value");
    DYNC__TRY(dync__pickle_items(p, p->stack.at[from - 2], from));
    p->stack.n--;
    return DYNC_OK;
}
/* arg: kind; its last one, or two, values */
static dync_status dync__pickle_append(dync__pickle *p, int arg)
{
    int n = arg == DYNC__PICK_DICT ? 2 : 1, from = p->stack.n - n;
    if (from < 1 || from < dync__pickle_mark(p) || (int)p->stack.at[from - 1]->kind != arg)
        return dync__pickle_bad(p, "nothing on the stack that takes an item");
    return dync__pickle_items(p, p->stack.at[from - 1], from);
}
/* arg: bytes, signed where there are 4 or more */
static dync_status dync__pickle_int(dync__pickle *p, int arg)
{
    dync__pick *v = dync__pickle_new(p, DYNC__PICK_INT);
    uint64_t x = dync__cursor_int(&p->c, arg, "an int");
    if (v) v->i = arg == 4 ? (int32_t)(uint32_t)x : (int64_t)x;
    return dync__pickle_push(p, v);
}
/* As many bytes as the byte before says, two's complement. */
static dync_status dync__pickle_long(dync__pickle *p, int arg)
{
    uint64_t n = dync__cursor_int(&p->c, 1, "a length"), x = 0;
    const unsigned char *b = dync__cursor_take(&p->c, n, "an int");
    dync__pick *v = dync__pickle_new(p, DYNC__PICK_INT);
    (void)arg;
    if (n > 8) return dync__fail(DYNC_ERR_UNSUPPORTED, "pickle: an int of more than 64 bits");
    if (b && n && b[n - 1] & 128) x = UINT64_MAX;
    for (uint64_t i = 0; b && i < n; i++)
        x = (x & ~((uint64_t)255 << (8 * i))) | (uint64_t)b[i] << (8 * i);
    if (v) memcpy(&v->i, &x, 8);
    return dync__pickle_push(p, v);
}
static dync_status dync__pickle_bool(dync__pickle *p, int arg)
{
    dync__pick *v = dync__pickle_new(p, DYNC__PICK_BOOL);
    if (v) v->i = arg;
    return dync__pickle_push(p, v);
}
/* Big-endian, alone among them. */
static dync_status dync__pickle_float(dync__pickle *p, int arg)
{
    const unsigned char *b = dync__cursor_take(&p->c, 8, "a float");
    dync__pick *v = dync__pickle_new(p, DYNC__PICK_FLOAT);
    uint64_t x = 0;
    (void)arg;
    for (int i = 0; b && i < 8; i++) x = x << 8 | b[i];
    if (v) memcpy(&v->f, &x, 8);
    return dync__pickle_push(p, v);
}
/* arg: bytes of the length */
static dync_status dync__pickle_str(dync__pickle *p, int arg)
{
    uint64_t n = dync__cursor_int(&p->c, arg, "a length");
    const unsigned char *b = dync__cursor_take(&p->c, n, "a text");
    if (!b) return p->c.bad;
    if (n > INT_MAX || memchr(b, 0, (size_t)n))
        return dync__pickle_bad(p, "a text with a zero inside");
    dync__pick *v = dync__pickle_new(p, DYNC__PICK_STR);
    if (v) v->s = dync__arena_printf(&p->arena, "%.*s", (int)n, (const char *)b);
    return dync__pickle_push(p, v && v->s ? v : NULL);
}
/* arg: bytes that say where; 0: the next place */
static dync_status dync__pickle_put(dync__pickle *p, int arg)
{
    dync__pick *v = p->stack.n ? p->stack.at[p->stack.n - 1] : NULL;
    uint64_t at = arg ? dync__cursor_int(&p->c, arg, "a place") : (uint64_t)p->memoized;
    if (!v || v->kind == DYNC__PICK_MARK) return dync__pickle_bad(p, "nothing to remember");
    p->memoized++;
    return dync__map_put(&p->memo, at, (uint64_t)(uintptr_t)v) ? DYNC_OK : DYNC_ERR_MEMORY;
}
static dync_status dync__pickle_get(dync__pickle *p, int arg)
{
    uint64_t at = dync__cursor_int(&p->c, arg, "a place"), v;
    if (!dync__map_get(&p->memo, at, &v))
        return dync__pickle_bad(p, "nothing was remembered there");
    return dync__pickle_push(p, (dync__pick *)(uintptr_t)v);
}
static dync_status dync__pickle_pop_op(dync__pickle *p, int arg)
{
    if (p->stack.n == 0) return dync__pickle_bad(p, "nothing on the stack");
    p->stack.n = arg ? dync__pickle_mark(p) - 1 : p->stack.n - 1;
    return p->stack.n < 0 ? (p->stack.n = 0, dync__pickle_bad(p, "no mark on the stack")) : DYNC_OK;
}

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
