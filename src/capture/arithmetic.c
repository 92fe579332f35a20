/* capture/arithmetic.c: dync_sym_*: arithmetic and comparisons of numbers that stay symbolic. After
 * symbol.c, before lift.c.
 *
 * There are two kinds: sizes, whose arithmetic the table of the trace does (tensor/sym.h), and
 * numbers of run time (symbol.c), which are nodes of the graph. Where the two meet, or an operation
 * has no node, a number becomes the plain one that it is in this call, and is guarded by value. */
#include "../dync.in.h"
#include "trace.h"
#include "../loop/whole.h"
DYNC__COLD

/* node: an operator for numbers of run time, or -1; real: of sizes with floats, or -1. */
typedef struct dync__sym_row {
    const char *name;
    int node, size, real;
} dync__sym_row;
enum {
    DYNC__SYM_ADD,
    DYNC__SYM_SUB,
    DYNC__SYM_MUL,
    DYNC__SYM_DIV,
    DYNC__SYM_MOD,
    DYNC__SYM_MIN,
    DYNC__SYM_MAX
};
static const dync__sym_row dync__sym_rows[] = {
    {"dync_sym_add", DYNC__OP_add, DYNC__SZ_ADD, DYNC__SF_ADD},
    {"dync_sym_sub", DYNC__OP_sub, DYNC__SZ_SUB, DYNC__SF_SUB},
    {"dync_sym_mul", DYNC__OP_mul, DYNC__SZ_MUL, DYNC__SF_MUL},
    {"dync_sym_floordiv", DYNC__OP_floor_divide, DYNC__SZ_DIV, -1},
    {"dync_sym_mod", -1, DYNC__SZ_MOD, -1},
    {"dync_sym_min", -1, DYNC__SZ_MIN, -1},
    {"dync_sym_max", -1, DYNC__SZ_MAX, -1},
};

/* ---- plain numbers --------------------------------------------------------------------------- */
static bool dync__is_plain_number(const dync_value *v)
{
    return v->kind == DYNC_KIND_INT || v->kind == DYNC_KIND_FLOAT || v->kind == DYNC_KIND_BOOL;
}

/* Division rounds towards minus infinity, as Python's //; INT64_MIN // -1 wraps. */
static dync_value dync__sym_ints(int op, int64_t a, int64_t b)
{
    uint64_t x = (uint64_t)a, y = (uint64_t)b; /* wraps, as int64 tensors do */
    if (op == DYNC__SYM_ADD) return dync_v_int((int64_t)(x + y));
    if (op == DYNC__SYM_SUB) return dync_v_int((int64_t)(x - y));
    if (op == DYNC__SYM_MUL) return dync_v_int((int64_t)(x * y));
    if (op == DYNC__SYM_MIN) return dync_v_int(DYNC__MIN(a, b));
    if (op == DYNC__SYM_MAX) return dync_v_int(DYNC__MAX(a, b));
    if (b == 0) {
        dync__fail(DYNC_ERR_VALUE, "%s: division of %lld by zero", dync__sym_rows[op].name,
                   (long long)a);
        return DYNC_NONE;
    }
    if (b == -1) return dync_v_int(op == DYNC__SYM_MOD ? 0 : (int64_t)(0 - x));
    int64_t q = a / b - (a % b != 0 && (a < 0) != (b < 0));
    return dync_v_int(op == DYNC__SYM_MOD ? (int64_t)(x - (uint64_t)q * y) : q);
}

static dync_value dync__sym_plain(int op, dync_value a, dync_value b)
{
    if (!dync__is_plain_number(&a) || !dync__is_plain_number(&b)) {
        if (dync_error() == DYNC_OK) dync__fail(DYNC_ERR_VALUE, "dync_sym: expected two numbers");
        return DYNC_NONE;
    }
    if (a.kind != DYNC_KIND_FLOAT && b.kind != DYNC_KIND_FLOAT)
        return dync__sym_ints(op, dync_as_int(a), dync_as_int(b));
    double x = dync_as_float(a), y = dync_as_float(b), q = dync__floor(x / y);
    switch (op) {
    case DYNC__SYM_ADD: return dync_v_float(x + y);
    case DYNC__SYM_SUB: return dync_v_float(x - y);
    case DYNC__SYM_MUL: return dync_v_float(x * y);
    case DYNC__SYM_MIN: return x != x || y != y ? dync_v_float(x + y) : dync_v_float(x < y ? x : y);
    case DYNC__SYM_MAX: return x != x || y != y ? dync_v_float(x + y) : dync_v_float(x < y ? y : x);
    case DYNC__SYM_MOD: return dync_v_float(x - q * y);
    default: return dync_v_float(q);
    }
}

/* In the numbering of nodes, for dync__number_apply. */
static dync_value dync__sym_node_plain(int node, dync_value a, dync_value b)
{
    int op = DYNC__SYM_ADD;
    while (op < DYNC__SYM_DIV && dync__sym_rows[op].node != node) op++;
    return dync__sym_plain(op, a, b);
}

/* ---- sizes ----------------------------------------------------------------------------------- */
static bool dync__sym_is_real(dync_value v)
{
    return v.kind == DYNC_KIND_FLOAT || (v.kind == DYNC_KIND_SYM && v.source == DYNC__SYM_REAL);
}
static int64_t dync__sym_size(dync_value v)
{
    return v.kind == DYNC_KIND_SYM ? v.as.i : dync_as_int(v);
}
static double dync__sym_real(dync_value v)
{
    if (v.kind != DYNC_KIND_SYM) return dync_as_float(v);
    return v.source == DYNC__SYM_REAL ? v.as.f : dync__sf_of(v.as.i);
}

/* Sizes and plain numbers. False: there is no such expression. */
static bool dync__sym_sizes(int op, dync_value a, dync_value b, dync_value *result)
{
    const dync__sym_row *row = &dync__sym_rows[op];
    if (dync__sym_is_real(a) || dync__sym_is_real(b)) {
        if (row->real < 0) return false;
        *result = dync__value_of_sf(
            dync__sf((dync__sf_op)row->real, dync__sym_real(a), dync__sym_real(b)));
        return true;
    }
    int64_t x = dync__sym_size(a), y = dync__sym_size(b);
    /* what is divided by is positive in every call that the guard lets in */
    bool divides = op == DYNC__SYM_DIV || op == DYNC__SYM_MOD;
    if (divides && !dync__sz_lt(0, y)) return false;
    int64_t r = dync__sz_make((dync__sz_op)row->size, x, y);
    if (r == -1 && dync_error() != DYNC_OK) return *result = DYNC_NONE, true;
    *result = dync__value_of_size(r);
    return true;
}

/* ---- what the user calls --------------------------------------------------------------------- */
static dync_value dync__sym_apply(int op, dync_value a, dync_value b)
{
    dync_value r;
    bool sized = dync__value_is_sized(a) || dync__value_is_sized(b);
    bool node = (a.kind == DYNC_KIND_SYM && !a.source) || (b.kind == DYNC_KIND_SYM && !b.source);
    bool numbers = (a.kind == DYNC_KIND_SYM || dync__is_plain_number(&a)) &&
                   (b.kind == DYNC_KIND_SYM || dync__is_plain_number(&b));
    if (sized && !node && numbers && dync__sym_sizes(op, a, b, &r)) return r;
    if (dync__value_is_sized(a)) a = dync__value_plain(a);
    if (dync__value_is_sized(b)) b = dync__value_plain(b);
    if (node && dync__sym_rows[op].node >= 0 &&
        dync__number_apply(dync__sym_rows[op].node, a, b, dync__sym_node_plain, &r))
        return r;
    return dync__sym_plain(op, dync__value_plain(a), dync__value_plain(b));
}

DYNC_API dync_value dync_sym_add(dync_value a, dync_value b)
{
    (void)DYNC__USED(DYNC__OP_add);
    return dync__sym_apply(DYNC__SYM_ADD, a, b);
}
DYNC_API dync_value dync_sym_sub(dync_value a, dync_value b)
{
    (void)DYNC__USED(DYNC__OP_sub);
    return dync__sym_apply(DYNC__SYM_SUB, a, b);
}
DYNC_API dync_value dync_sym_mul(dync_value a, dync_value b)
{
    (void)DYNC__USED(DYNC__OP_mul);
    return dync__sym_apply(DYNC__SYM_MUL, a, b);
}
DYNC_API dync_value dync_sym_floordiv(dync_value a, dync_value b)
{
    (void)DYNC__USED(DYNC__OP_floor_divide);
    return dync__sym_apply(DYNC__SYM_DIV, a, b);
}
DYNC_API dync_value dync_sym_mod(dync_value a, dync_value b)
{
    return dync__sym_apply(DYNC__SYM_MOD, a, b);
}
DYNC_API dync_value dync_sym_min(dync_value a, dync_value b)
{
    return dync__sym_apply(DYNC__SYM_MIN, a, b);
}
DYNC_API dync_value dync_sym_max(dync_value a, dync_value b)
{
    return dync__sym_apply(DYNC__SYM_MAX, a, b);
}

DYNC_API dync_value dync_sym_float(dync_value v)
{
    if (!dync__value_is_sized(v)) return dync_v_float(dync_as_float(v));
    return v.source == DYNC__SYM_REAL ? v : dync__value_of_sf(dync__sf_of(v.as.i));
}

/* Both as sizes: true; else as plain numbers, left in place. */
static bool dync__sym_compares(dync_value *a, dync_value *b)
{
    bool sized = dync__value_is_sized(*a) || dync__value_is_sized(*b);
    bool whole = (dync__value_is_sized(*a) || a->kind == DYNC_KIND_INT) &&
                 (dync__value_is_sized(*b) || b->kind == DYNC_KIND_INT) && !dync__sym_is_real(*a) &&
                 !dync__sym_is_real(*b);
    if (sized && whole) return true;
    *a = dync__value_plain(*a);
    *b = dync__value_plain(*b);
    return false;
}

/* The difference of two plain numbers, by sign; NaN: neither. */
static bool dync__sym_is(dync_value a, dync_value b, bool less)
{
    if (a.kind != DYNC_KIND_FLOAT && b.kind != DYNC_KIND_FLOAT) {
        int64_t x = dync_as_int(a), y = dync_as_int(b);
        return less ? x < y : x == y;
    }
    double x = dync_as_float(a), y = dync_as_float(b);
    return less ? x < y : !(x < y) && !(x > y) && x == x && y == y;
}

DYNC_API bool dync_sym_lt(dync_value a, dync_value b)
{
    return dync__sym_compares(&a, &b)
               ? dync__sz_ask(DYNC__SZ_LT, dync__sym_size(a), dync__sym_size(b))
               : dync__sym_is(a, b, true);
}
DYNC_API bool dync_sym_eq(dync_value a, dync_value b)
{
    return dync__sym_compares(&a, &b)
               ? dync__sz_ask(DYNC__SZ_EQ, dync__sym_size(a), dync__sym_size(b))
               : dync__sym_is(a, b, false);
}
DYNC_API bool dync_sym_le(dync_value a, dync_value b)
{
    return dync__sym_compares(&a, &b)
               ? !dync__sz_ask(DYNC__SZ_LT, dync__sym_size(b), dync__sym_size(a))
               : dync__sym_is(a, b, true) || dync__sym_is(a, b, false);
}
