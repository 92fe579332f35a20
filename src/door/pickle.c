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

DYNC__FN const char *dync__pick_text(const dync__pick *v)
{
    static const char *const text[] = {"None",   "a bool",    "an int",   "a float",
                                       "a text", "a tuple",   "a list",   "a dict",
                                       "a name", "a storage", "a tensor", "a mark"};
    return text[v->kind];
}

/* ---- the stack ------------------------------------------------------------------------------- */

DYNC__FN dync_status dync__pickle_bad(dync__pickle *p, const char *what)
{
    return dync__door_bad("pickle", p->c.at, "%s", what);
}

DYNC__FN dync__pick *dync__pickle_new(dync__pickle *p, dync__pick_kind kind)
{
    dync__pick *v = dync__arena_alloc(&p->arena, sizeof *v);
    if (v) v->kind = kind;
    return v;
}

DYNC__FN dync_status dync__pickle_push(dync__pickle *p, dync__pick *v)
{
    return v && dync__avec_push(&p->arena, &p->stack, v) ? DYNC_OK : DYNC_ERR_MEMORY;
}

/* NULL: there is none, or a mark */
DYNC__FN dync__pick *dync__pickle_pop(dync__pickle *p)
{
    if (p->stack.n == 0 || p->stack.at[p->stack.n - 1]->kind == DYNC__PICK_MARK) return NULL;
    return p->stack.at[--p->stack.n];
}

DYNC__FN dync__pick *dync__pickle_top(dync__pickle *p, int kind)
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

DYNC__FN dync_status dync__pickle_mark_op(dync__pickle *p, int arg)
{
    return (void)arg, dync__pickle_push(p, dync__pickle_new(p, DYNC__PICK_MARK));
}
/* arg: kind */
DYNC__FN dync_status dync__pickle_empty(dync__pickle *p, int arg)
{
    return dync__pickle_push(p, dync__pickle_new(p, (dync__pick_kind)arg));
}
/* arg: kind; items down to the mark, which goes, too */
DYNC__FN dync_status dync__pickle_collect(dync__pickle *p, int arg)
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
DYNC__FN dync_status dync__pickle_tuple(dync__pickle *p, int arg)
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
DYNC__FN dync_status dync__pickle_extend(dync__pickle *p, int arg)
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
DYNC__FN dync_status dync__pickle_append(dync__pickle *p, int arg)
{
    int n = arg == DYNC__PICK_DICT ? 2 : 1, from = p->stack.n - n;
    if (from < 1 || from < dync__pickle_mark(p) || (int)p->stack.at[from - 1]->kind != arg)
        return dync__pickle_bad(p, "nothing on the stack that takes an item");
    return dync__pickle_items(p, p->stack.at[from - 1], from);
}
/* arg: bytes, signed where there are 4 or more */
DYNC__FN dync_status dync__pickle_int(dync__pickle *p, int arg)
{
    dync__pick *v = dync__pickle_new(p, DYNC__PICK_INT);
    uint64_t x = dync__cursor_int(&p->c, arg, "an int");
    if (v) v->i = arg == 4 ? (int32_t)(uint32_t)x : (int64_t)x;
    return dync__pickle_push(p, v);
}
/* As many bytes as the byte before says, two's complement. */
DYNC__FN dync_status dync__pickle_long(dync__pickle *p, int arg)
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
DYNC__FN dync_status dync__pickle_bool(dync__pickle *p, int arg)
{
    dync__pick *v = dync__pickle_new(p, DYNC__PICK_BOOL);
    if (v) v->i = arg;
    return dync__pickle_push(p, v);
}
/* Big-endian, alone among them. */
DYNC__FN dync_status dync__pickle_float(dync__pickle *p, int arg)
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
DYNC__FN dync_status dync__pickle_str(dync__pickle *p, int arg)
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
DYNC__FN dync_status dync__pickle_put(dync__pickle *p, int arg)
{
    dync__pick *v = p->stack.n ? p->stack.at[p->stack.n - 1] : NULL;
    uint64_t at = arg ? dync__cursor_int(&p->c, arg, "a place") : (uint64_t)p->memoized;
    if (!v || v->kind == DYNC__PICK_MARK) return dync__pickle_bad(p, "nothing to remember");
    p->memoized++;
    return dync__map_put(&p->memo, at, (uint64_t)(uintptr_t)v) ? DYNC_OK : DYNC_ERR_MEMORY;
}
DYNC__FN dync_status dync__pickle_get(dync__pickle *p, int arg)
{
    uint64_t at = dync__cursor_int(&p->c, arg, "a place"), v;
    if (!dync__map_get(&p->memo, at, &v))
        return dync__pickle_bad(p, "nothing was remembered there");
    return dync__pickle_push(p, (dync__pick *)(uintptr_t)v);
}
DYNC__FN dync_status dync__pickle_pop_op(dync__pickle *p, int arg)
{
    if (p->stack.n == 0) return dync__pickle_bad(p, "nothing on the stack");
    p->stack.n = arg ? dync__pickle_mark(p) - 1 : p->stack.n - 1;
    return p->stack.n < 0 ? (p->stack.n = 0, dync__pickle_bad(p, "no mark on the stack")) : DYNC_OK;
}
