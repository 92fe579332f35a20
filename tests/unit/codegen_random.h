/* tests/unit/codegen_random.h: random kernels of loop IR and data for them, for the tests of the
 * generators. */
#ifndef DYNC_TESTS_CODEGEN_RANDOM_H
#define DYNC_TESTS_CODEGEN_RANDOM_H
#include "../../src/loop/loop.h"
#include "../test.h"

enum { MAX_BUFS = 10, MAX_VALUES = 64 };
typedef struct random_kernel {
    dync__arena arena;
    dync__kernel *k;
    dync__lb b;
    int64_t elements[MAX_BUFS];
    int value[MAX_VALUES], n_values; /* visible in the current section */
    bool exact[MAX_VALUES];          /* small integers: sums of them are exact in any order */
    bool stored;
} random_kernel;

TEST__UNUSED static int64_t random_long;  /* not 0: rows are this long at least, and few */
TEST__UNUSED static bool random_short;    /* many rows of at most 16 elements */
TEST__UNUSED static int64_t random_lanes; /* not 0: so many in one of the last loops */
TEST__UNUSED static bool random_draws;    /* random numbers too, which not every test can follow */
TEST__UNUSED static int type_of(random_kernel *g, int v) { return dync__lb_type(&g->b, v); }

TEST__UNUSED static void keep_value(random_kernel *g, int v, bool exact)
{
    if (g->n_values == MAX_VALUES || v < 0) return;
    g->value[g->n_values] = v;
    g->exact[g->n_values++] = exact;
}

/* An access over the first n loops: a random order of loops, gaps, some strides zero or negative
 * where `any`. */
TEST__UNUSED static int random_access(random_kernel *g, int n, bool any, int64_t *elements)
{
    int64_t stride[DYNC__LOOP_MAX_DIMS] = {0}, next = 1, offset = 0;
    int order[DYNC__LOOP_MAX_DIMS];
    for (int d = 0; d < n; d++) order[d] = n - 1 - d;
    if (test_random() % 3 == 0)
        for (int d = n - 1; d > 0; d--) {
            int j = test_random_int(0, d), t = order[d];
            order[d] = order[j];
            order[j] = t;
        }
    if (test_random() % 5 == 0) next = test_random_int(1, 3);
    for (int i = 0; i < n; i++) {
        int d = order[i];
        if (any && test_random() % 6 == 0) continue;
        stride[d] = next;
        next *= (g->k->extent[d] > 0 ? g->k->extent[d] : 1) + (test_random() % 6 == 0 ? 1 : 0);
        if (test_random() % 10 == 0) {
            offset += stride[d] * (g->k->extent[d] > 0 ? g->k->extent[d] - 1 : 0);
            stride[d] = -stride[d];
        }
    }
    if (test_random() % 4 == 0) {
        int more = test_random_int(0, 5);
        offset += more;
        next += more;
    }
    *elements = next;
    return dync__kernel_access(g->k, offset, stride);
}

TEST__UNUSED static int random_dtype(void)
{
    static const int often[] = {DYNC_F32,  DYNC_F32, DYNC_F32,  DYNC_F64, DYNC_I32, DYNC_I64,
                                DYNC_BOOL, DYNC_F16, DYNC_BF16, DYNC_I8,  DYNC_U8,  DYNC_I16};
    return often[test_random() % (sizeof often / sizeof often[0])];
}

/* Line `at` of a table along one loop, `at` from the others: what index_select and embedding
 * are. */
TEST__UNUSED static void add_line(random_kernel *g, int n_dims)
{
    int along = test_random_int(0, n_dims - 1), lines = test_random_int(1, 9), id = g->k->buf.n;
    int64_t step[DYNC__LOOP_MAX_DIMS] = {0}, other[DYNC__LOOP_MAX_DIMS] = {0},
            length = g->k->extent[along];
    if (length < 1) return;
    int64_t element = test_random() % 3 ? 1 : lines, line = element == 1 ? length : 1;
    step[along] = element;
    for (int d = 0; d < n_dims; d++) other[d] = d == along ? 0 : test_random_int(0, 3);
    int buf = dync__kernel_buf(g->k, id, random_dtype(), DYNC__BUF_IN,
                               test_random() % 4 ? -1 : length * lines, NULL);
    g->elements[buf] = length * lines;
    int at = dync__lb_index(&g->b, dync__kernel_access(g->k, test_random_int(0, 5), other));
    if (test_random() % 2) { /* by rows: whatever the index is, it is held inside */
        at = dync__lb_op(&g->b, DYNC__P_sub, at, dync__lb_i(&g->b, DYNC_I64, 3), -1);
        if (test_random() % 3 == 0) at = dync__lb_cast(&g->b, at, DYNC_I32);
        keep_value(g, dync__lb_loadx(&g->b, buf, dync__kernel_rows(g->k, 0, step, lines, line), at),
                   true);
        return;
    }
    at = dync__lb_op(&g->b, DYNC__P_rem, at, dync__lb_i(&g->b, DYNC_I64, lines), -1);
    at = dync__lb_op(&g->b, DYNC__P_mul, at, dync__lb_i(&g->b, DYNC_I64, line), -1);
    keep_value(g, dync__lb_loadx(&g->b, buf, dync__kernel_access(g->k, 0, step), at), true);
}

TEST__UNUSED static void add_load(random_kernel *g, int n_dims)
{
    int64_t elements;
    if (g->k->buf.n >= MAX_BUFS - 3) return;
    if (n_dims > 0 && test_random() % 12 == 0) {
        add_line(g, n_dims);
        return;
    }
    int access = random_access(g, n_dims, true, &elements);
    int id = g->k->buf.n,
        buf = dync__kernel_buf(g->k, id, random_dtype(), DYNC__BUF_IN, elements, NULL);
    g->elements[buf] = elements;
    if (test_random() % 8 == 0 && elements > 0) {
        static const int64_t zeros[DYNC__LOOP_MAX_DIMS];
        int base = test_random() % 2 ? dync__kernel_access(g->k, 0, zeros) : -1;
        int64_t stride[DYNC__LOOP_MAX_DIMS] = {0};
        if (base < 0 && n_dims > 0) stride[test_random_int(0, n_dims - 1)] = 0;
        int at = dync__lb_op(&g->b, DYNC__P_rem, dync__lb_index(&g->b, access),
                             dync__lb_i(&g->b, DYNC_I64, elements), -1);
        at = dync__lb_op(&g->b, DYNC__P_abs, at, -1, -1);
        if (test_random() % 4) g->k->buf.at[buf].size = -1;
        keep_value(g, dync__lb_loadx(&g->b, buf, dync__kernel_access(g->k, 0, stride), at), true);
        return;
    }
    keep_value(g, dync__lb_load(&g->b, buf, access), true);
}

TEST__UNUSED static int pick(random_kernel *g, int type)
{
    int start = test_random_int(0, g->n_values - 1);
    for (int i = 0; i < g->n_values; i++) {
        int v = g->value[(start + i) % g->n_values];
        if (type < 0 || type_of(g, v) == type) return v;
    }
    return -1;
}

TEST__UNUSED static int constant(random_kernel *g, int type)
{
    if (type == DYNC_F32 || type == DYNC_F64)
        return dync__lb_f(&g->b, type, (double)test_random_int(-8, 8) / 4);
    return dync__lb_i(&g->b, type, test_random_int(-5, 40));
}

/* One to three numbers at random of one index, which others may read too. */
TEST__UNUSED static void add_draws(random_kernel *g, int n_dims)
{
    int64_t elements;
    int index = dync__lb_index(&g->b, random_access(g, n_dims, true, &elements));
    if (test_random() % 4 == 0) keep_value(g, index, false);
    for (int n = test_random_int(1, 3); n > 0; n--)
        keep_value(g,
                   dync__lb_random(&g->b, index, test_random() % 4 ? DYNC_F32 : DYNC_F64,
                                   test_random() % 2),
                   false);
}

/* Where an element is, compared with a number, with where it is otherwise, or in 32 bits: as
 * triangles and masks ask; others may read the place too. */
TEST__UNUSED static void add_places(random_kernel *g, int n_dims)
{
    int64_t elements;
    int at = dync__lb_index(&g->b, random_access(g, n_dims, true, &elements)),
        prim = test_random_int(DYNC__P_lt, DYNC__P_ne), than;
    if (test_random() % 2)
        than = dync__lb_index(&g->b, random_access(g, n_dims, true, &elements));
    else
        than = dync__lb_i(&g->b, DYNC_I64,
                          test_random() % 8 ? test_random_int(-5, (int)(elements % 500))
                                            : INT32_MAX + (int64_t)test_random_int(-1, 2));
    bool swap = test_random() % 2;
    keep_value(g, dync__lb_op(&g->b, prim, swap ? than : at, swap ? at : than, -1), false);
    if (test_random() % 4 == 0) keep_value(g, at, false);
    if (test_random() % 4 == 0) keep_value(g, dync__lb_cast(&g->b, at, DYNC_I32), false);
}

TEST__UNUSED static void add_op(random_kernel *g)
{
    int prim = test_random_int(DYNC__P_add, DYNC__P_wrap), v = pick(g, -1), type = type_of(g, v);
    const dync__prim_row *row = dync__prim_info(prim);
    static const int types[] = {DYNC_F32, DYNC_F64, DYNC_I32, DYNC_I64, DYNC_BOOL};
    int b = test_random() % 3 ? pick(g, type) : constant(g, type),
        c = test_random() % 3 ? pick(g, type) : constant(g, type);
    if (test_random() % 10 == 0) v = constant(g, type);
    char letter = type == DYNC_F32   ? 'f'
                  : type == DYNC_F64 ? 'd'
                  : type == DYNC_I32 ? 'i'
                  : type == DYNC_I64 ? 'l'
                                     : 'b';
    switch (prim) {
    case DYNC__P_select: {
        int cond = pick(g, DYNC_BOOL);
        if (test_random() % 4 == 0 || cond < 0) cond = dync__lb_op(&g->b, DYNC__P_lt, v, b, -1);
        if (test_random() % 3 == 0) c = v;
        keep_value(g, dync__lb_op(&g->b, DYNC__P_select, cond, b, c), false);
        return;
    }
    case DYNC__P_cast:
        keep_value(g, dync__lb_cast(&g->b, v, types[test_random() % 5]), false);
        return;
    case DYNC__P_bitcast:
        /* the bits of a computed NaN are open */
        if ((type != DYNC_BOOL && g->k->inst.at[v].prim == DYNC__P_load &&
             !(g->k->buf.at[g->k->inst.at[v].buf].mode & DYNC__BUF_OUT)) ||
            type == DYNC_I32 || type == DYNC_I64)
            keep_value(g,
                       dync__lb_bitcast(&g->b, v,
                                        type == DYNC_F32   ? DYNC_I32
                                        : type == DYNC_I32 ? DYNC_F32
                                        : type == DYNC_F64 ? DYNC_I64
                                                           : DYNC_F64),
                       false);
        return;
    case DYNC__P_wrap: {
        static const int narrow_int[] = {DYNC_I16, DYNC_I8, DYNC_U8},
                         narrow_float[] = {DYNC_F16, DYNC_BF16};
        if (type == DYNC_I32)
            keep_value(g, dync__lb_wrap(&g->b, v, narrow_int[test_random() % 3]), false);
        if (type == DYNC_F32)
            keep_value(g, dync__lb_wrap(&g->b, v, narrow_float[test_random() % 2]), false);
        return;
    }
    default:
        if (strchr(row->types, letter))
            keep_value(
                g, dync__lb_op(&g->b, prim, v, row->n_args > 1 ? b : -1, row->n_args > 2 ? c : -1),
                false);
    }
}

TEST__UNUSED static void add_store(random_kernel *g, int n_dims)
{
    int64_t elements;
    if (g->k->buf.n >= MAX_BUFS) return;
    int v = pick(g, -1), type = type_of(g, v), dtype = type;
    if (type == DYNC_F32 && test_random() % 4 == 0)
        dtype = test_random() % 2 ? DYNC_F16 : DYNC_BF16;
    if (type == DYNC_I32 && test_random() % 2 == 0) dtype = DYNC_I16 + test_random_int(0, 2);
    int access = random_access(g, n_dims, false, &elements);
    int id = g->k->buf.n, buf = dync__kernel_buf(g->k, id, dtype, DYNC__BUF_OUT, elements, NULL);
    g->elements[buf] = elements;
    dync__lb_store(&g->b, buf, access, v);
    g->stored = true;
}

/* Writes over what an earlier instruction of the same kind of section has loaded, element by
 * element. */
TEST__UNUSED static void add_store_in_place(random_kernel *g, int n_dims)
{
    for (int i = 0; i < g->k->inst.n; i++) {
        const dync__inst *in = &g->k->inst.at[i];
        bool each = in->prim == DYNC__P_load && (in->section & 1) == (g->b.section & 1) &&
                    test_random() % 2;
        for (int d = 0; each && d < n_dims; d++)
            each = g->k->extent[d] == 1 || g->k->access.at[in->access].stride[d] != 0;
        if (!each || dync__dtype_info(g->k->buf.at[in->buf].dtype)->compute != in->type ||
            (g->k->buf.at[in->buf].mode & DYNC__BUF_OUT))
            continue;
        int buf = in->buf, access = in->access, v = pick(g, in->type);
        if (v < 0) continue;
        g->k->buf.at[buf].mode |= DYNC__BUF_OUT;
        dync__lb_store(&g->b, buf, access, v);
        g->stored = true;
        if (test_random() % 2) keep_value(g, dync__lb_load(&g->b, buf, access), false);
        return;
    }
}

TEST__UNUSED static void add_reduce(random_kernel *g)
{
    for (int tries = 0; tries < 10; tries++) {
        int i = test_random_int(0, g->n_values - 1), v = g->value[i], type = type_of(g, v),
            kind = test_random_int(DYNC__R_SUM, DYNC__R_ARGMIN);
        bool logical = kind == DYNC__R_ANY || kind == DYNC__R_ALL,
             is_float = type == DYNC_F32 || type == DYNC_F64;
        if (logical != (type == DYNC_BOOL)) continue;
        if (is_float && (kind == DYNC__R_PROD || (kind == DYNC__R_SUM && !g->exact[i]))) continue;
        /* of zeros of both signs an extreme is either, which a quotient would show */
        if (is_float && (kind == DYNC__R_MAX || kind == DYNC__R_MIN))
            v = dync__lb_op(&g->b, DYNC__P_add, v, dync__lb_f(&g->b, type, 0.0), -1);
        dync__lb_reduce(&g->b, kind, v);
        return;
    }
}

TEST__UNUSED static void add_scan(random_kernel *g)
{
    int i = test_random_int(0, g->n_values - 1), v = g->value[i], type = type_of(g, v);
    if (type == DYNC_F32 && test_random() % 2) v = dync__lb_cast(&g->b, v, type = DYNC_F64);
    if (type == DYNC_I32) v = dync__lb_cast(&g->b, v, type = DYNC_I64);
    if (type == DYNC_BOOL || (type != DYNC_I64 && !g->exact[i])) return;
    keep_value(g, dync__lb_scan(&g->b, v), false);
}

/* What row code and later phases may see: row values and reductions; with `phase`, values of phases
 * too. */
TEST__UNUSED static void visible(random_kernel *g, bool phase)
{
    const dync__kernel *k = g->k;
    g->n_values = 0;
    for (int i = 0; i < k->inst.n; i++) {
        const dync__inst *in = &k->inst.at[i];
        if (in->prim == DYNC__P_store || in->prim == DYNC__P_storex || in->prim == DYNC__P_const_)
            continue;
        if (in->prim == DYNC__P_reduce ? in->section < g->b.section : !(in->section & 1) || phase)
            keep_value(g, i, in->prim == DYNC__P_load || in->prim == DYNC__P_loadx);
    }
}

TEST__UNUSED static void random_build(random_kernel *g, bool reductions)
{
    int64_t extent[DYNC__LOOP_MAX_DIMS], total = 1;
    int n_outer = test_random_int(random_short, 2),
        n_dims = n_outer + test_random_int(reductions ? 1 : 0, 2);
    for (int d = 0; d < n_dims; d++) {
        int size = test_random_int(0, 9);
        extent[d] = size < 6   ? test_random_int(1, 9)
                    : size < 9 ? test_random_int(10, 70)
                               : test_random_int(100, 700);
        while (extent[d] * total > 20000) extent[d] = extent[d] / 2;
        total *= extent[d];
        if (test_random() % 60 == 0) extent[d] = 0;
    }
    for (int d = 0; random_short && d < n_dims; d++)
        extent[d] = d < n_outer ? test_random_int(16, 40) * (n_outer == 1 ? 16 : 1)
                                : test_random_int(1, n_dims - n_outer == 1 ? 16 : 4);
    for (int d = 0; random_long && d < n_dims; d++)
        extent[d] = d == n_dims - 1 ? random_long + test_random_int(0, 999) : test_random_int(1, 2);
    if (random_long && n_dims - n_outer == 2) extent[n_dims - 2] = 1;
    if (random_long && n_outer)
        extent[n_outer - 1] = test_random() % 3 ? test_random_int(1, 3) : test_random_int(8, 9);
    for (int d = 0, at = n_dims > n_outer && test_random() % 3 ? n_dims : n_outer;
         random_lanes && d < n_dims; d++)
        extent[d] = d == at - 1 ? random_lanes : test_random_int(1, 4);
    memset(g, 0, sizeof *g);
    g->k = dync__kernel_new(&g->arena, "random", n_outer, n_dims, extent);
    g->b.k = g->k;
    int phases = reductions ? test_random_int(1, 5) : 1;
    for (int s = 0; s <= 2 * phases; s++) {
        bool phase = s & 1;
        g->b.section = s;
        visible(g, phase);
        if (!phase && (s == 0 ? test_random() % 2 : 0)) continue;
        for (int i = test_random_int(phase || s == 0 ? 1 : 0, 2); i > 0; i--)
            add_load(g, phase ? n_dims : n_outer);
        if (random_draws && test_random() % 2) add_draws(g, phase ? n_dims : n_outer);
        if (test_random() % 4 == 0) add_places(g, phase ? n_dims : n_outer);
        if (g->n_values == 0) continue;
#ifndef RANDOM_NO_SCANS
        if (phase && reductions && test_random() % 3 == 0) add_scan(g);
#endif
        for (int i = test_random_int(0, 6); i > 0; i--) add_op(g);
        if (phase && reductions)
            for (int i = test_random_int(0, 2); i > 0; i--) add_reduce(g);
        if (test_random() % 4 == 0) {
            add_store_in_place(g, phase ? n_dims : n_outer);
            for (int i = test_random_int(0, 3); i > 0; i--) add_op(g);
        }
        if (test_random() % 2 || s == 2 * phases - 1) add_store(g, phase ? n_dims : n_outer);
    }
}

/* Small numbers in the dtype; floats now and then NaN, infinite or -0 where `wild`; 2: large and
 * tiny ones too, whose sums round. */
TEST__UNUSED static void fill(void *p, int dtype, int64_t n, int wild)
{
    for (int64_t i = 0; i < n; i++) {
        int x = test_random_int(-9, 9);
        char *at = (char *)p + i * dync__dtype_info(dtype)->bytes;
        double special[] = {NAN, INFINITY, -INFINITY, -0.0, 1e-7, 70000.0, -3e9, 5e18};
        if (dync__dtype_info(dtype)->kind == 'f')
            dync__store_f64(
                at, dtype,
                wild && test_random() % 20 == 0 ? special[test_random() % (wild == 1 ? 4 : 8)] : x);
        else
            dync__store_i64(at, dtype, dtype == DYNC_BOOL ? x > 0 : x);
    }
}

TEST__UNUSED static bool same(const void *a, const void *b, int dtype, int64_t i)
{
    int bytes = dync__dtype_info(dtype)->bytes;
    const char *x = (const char *)a + i * bytes, *y = (const char *)b + i * bytes;
    if (memcmp(x, y, (size_t)bytes) == 0) return true;
    if (dync__dtype_info(dtype)->kind != 'f') return false;
    double u = dync__load_f64(x, dtype), v = dync__load_f64(y, dtype);
    return (u != u && v != v) || (u == v);
}

#endif
