/* program/csource_vectors.c: matrix products of an exported C file in vectors of the user's
 * compiler: several columns of the result beside each other, each sum in the order of k. After
 * csource_blocks.c, whose plain form stands beside; before csource_convs.c.
 *
 *   #if DYNC_VECTOR             floats of a vector: by the compiler's macros, or as the user says
 *   for rows, columns by vectors { s00 = {0}, ...; for k { a0 = ...; b0 = vector of b; s00 += ... }
 *     c[...] = s00 }
 *   #else ... #endif
 *
 * The vectors are those of GNU C (GCC, Clang): NAME_v16 has 16 floats, or as many as a vector of
 * the machine if that is less. Columns behind the last whole vector are computed by one that begins
 * earlier, what it shares twice. */
#include "../dync.in.h"
#include "csource.h"
DYNC__COLD

enum { DYNC__VECTORS_REGS = 16, DYNC__VECTORS_ROWS = 6, DYNC__VECTORS_COLUMNS = 8 };

DYNC__FN int dync__csource_lanes(int64_t n) { return n >= 16 ? 16 : n >= 8 ? 8 : n >= 4 ? 4 : 0; }

/* ---- blocks ---------------------------------------------------------------------------------- */

static bool dync__vectors_float(const dync__operand *o) { return !o || o->dtype == DYNC_F32; }

DYNC__FN bool dync__csource_vectors_fit(const dync__csource_product_of *p)
{
    return dync__vectors_float(p->a) && dync__vectors_float(p->b) && dync__vectors_float(p->bias) &&
           dync__vectors_float(p->c) && p->b->lay.stride[p->ndim - 1] == 1 &&
           dync__csource_lanes(p->n) > 0;
}

/* Rounds of a block cost its multiply-adds, at least what one takes to be done, or its loads. */
static int64_t dync__vectors_cost(const dync__csource_product_of *p, int rows, int columns)
{
    int64_t vectors = (p->n + 15) / 16, blocks = vectors / columns, rest = vectors % columns,
            down = (p->m + rows - 1) / rows, cost[2];
    for (int i = 0; i < 2; i++) {
        int64_t wide = i ? 1 : columns, sums = DYNC__MAX(rows * wide, 8);
        cost[i] = p->k * (sums + rows + wide) + 8 * rows * wide + 12;
    }
    return down * (blocks * cost[0] + rest * cost[1]);
}

static void dync__vectors_choose_block(dync__csource_product_of *p)
{
    int64_t least = -1;
    for (int rows = 1; rows <= DYNC__VECTORS_ROWS && rows <= p->m; rows++)
        for (int columns = 1; columns <= DYNC__VECTORS_COLUMNS && columns * 16 <= p->n + 15;
             columns++) {
            int64_t cost = dync__vectors_cost(p, rows, columns);
            if (rows * columns + columns + 1 > DYNC__VECTORS_REGS || (least >= 0 && cost >= least))
                continue;
            least = cost;
            p->rows = rows;
            p->columns = columns;
        }
}

/* " + 2 * NAME_n16" */
static void dync__vectors_column(dync__str *s, int column, int lanes)
{
    if (column) dync__str_addf(s, " + %d * #_n%d", column, lanes);
}

static void dync__vectors_sums(const dync__csource_product_of *p, int lanes, int depth)
{
    int last = p->ndim - 1;
    const int64_t *sa = p->a->lay.stride, *sb = p->b->lay.stride;
    const char *of_a[DYNC_MAX_DIMS], *of_b[DYNC_MAX_DIMS];
    for (int d = 0; d < p->ndim; d++) of_a[d] = of_b[d] = p->var[d];
    of_a[last] = of_b[last - 1] = p->k > 1 ? "k" : NULL;
    for (int j = 0; j < p->columns; j++) {
        dync__str_addf(p->s, "%*sconst #_v%d b%d = *(const #_u%d *)(b + ", 4 * depth, "", lanes, j,
                       lanes);
        dync__csource_product_index(p, p->b, sb[last - 1], sb[last], of_b, 0, 0);
        dync__vectors_column(p->s, j, lanes);
        dync__str_add(p->s, ");\n");
    }
    for (int i = 0; i < p->rows; i++) {
        dync__str_addf(p->s, "%*sconst float a%d = a[", 4 * depth, "", i);
        dync__csource_product_index(p, p->a, sa[last - 1], sa[last], of_a, i, 0);
        dync__str_add(p->s, "];\n");
        for (int j = 0; j < p->columns; j++)
            dync__str_addf(p->s, "%*ss%d%d += a%d * b%d;\n", 4 * depth, "", i, j, i, j);
    }
}

/* d[...]: the bias of row i; of a column's lanes where `var` says so */
static void dync__vectors_bias(const dync__csource_product_of *p, int i, const char *const *var)
{
    const int64_t *stride = p->bias->lay.stride;
    int last = p->ndim - 1;
    dync__csource_product_index(p, p->bias, stride[last - 1], stride[last], var, i, 0);
}

/* The vector of row i and column j into the result: at once, or lane by lane. */
static void dync__vectors_store(const dync__csource_product_of *p, int lanes, int depth, int i,
                                int j)
{
    int last = p->ndim - 1;
    const int64_t *sc = p->c->lay.stride;
    const char *at[DYNC_MAX_DIMS];
    char row[32], column[64];
    dync__str *s = p->s;
    bool whole = !p->after->k && sc[last] == 1;
    for (int d = 0; d < p->ndim; d++) at[d] = p->var[d];
    dync__format(row, sizeof row, i ? "(i + %d)" : "i", i);
    dync__format(column, sizeof column, j ? "(j + %d * #_n%d + l)" : "(j + l)", j, lanes);
    if (p->bias && p->bias->lay.stride[last] == 1) {
        dync__str_addf(s, "%*ss%d%d += *(const #_u%d *)(d + ", 4 * depth, "", i, j, lanes);
        dync__vectors_bias(p, i, at);
        dync__vectors_column(s, j, lanes);
        dync__str_add(s, ");\n");
    } else if (p->bias) {
        whole = whole && p->bias->lay.stride[last] == 0;
    }
    if (p->bias && p->bias->lay.stride[last] == 0) {
        dync__str_addf(s, "%*ss%d%d += d[", 4 * depth, "", i, j);
        dync__vectors_bias(p, i, at);
        dync__str_add(s, "];\n");
    }
    dync__str_addf(s, whole ? "%*s*(#_u%d *)(c + " : "%*s*(#_u%d *)t = ", 4 * depth, "", lanes);
    if (whole) {
        dync__csource_product_index(p, p->c, sc[last - 1], sc[last], at, i, 0);
        dync__vectors_column(s, j, lanes);
        dync__str_addf(s, ") = s%d%d;\n", i, j);
        return;
    }
    dync__str_addf(s, "s%d%d;\n", i, j);
    if (sc[last] == 1) dync__str_add(s, DYNC__CSOURCE_TOGETHER);
    dync__str_addf(s, "%*sfor (int l = 0; l < #_n%d; l++) c[", 4 * depth, "", lanes);
    at[last] = column;
    dync__csource_product_index(p, p->c, sc[last - 1], sc[last], at, i, 0);
    dync__str_add(s, "] = ");
    dync__str value = {0};
    dync__str_add(&value, "t[l]");
    if (p->bias && p->bias->lay.stride[last] != 1 && p->bias->lay.stride[last] != 0) {
        dync__csource_product_of to = *p;
        to.s = &value;
        dync__str_add(&value, " + d[");
        dync__vectors_bias(&to, i, at);
        dync__str_addc(&value, ']');
    }
    at[last - 1] = row;
    dync__csource_after_value(s, p->after, &p->c->lay, at, dync__str_get(&value));
    dync__str_add(s, ";\n");
    s->failed = s->failed || value.failed;
    dync__str_free(&value);
}

/* A block at row i and column j. */
static void dync__vectors_block(const dync__csource_product_of *p, int lanes, int depth)
{
    dync__str *s = p->s;
    int last = p->ndim - 1, n = p->rows * p->columns;
    int64_t bias = p->bias ? p->bias->lay.stride[last] : 1;
    bool whole = !p->after->k && p->c->lay.stride[last] == 1 && (bias == 0 || bias == 1);
    dync__str_addf(s, "%*s#_v%d ", 4 * depth, "", lanes);
    for (int i = 0; i < n; i++)
        dync__str_addf(s, "%ss%d%d = {0}", i ? ", " : "", i / p->columns, i % p->columns);
    dync__str_add(s, ";\n");
    if (!whole) dync__str_addf(s, "%*sfloat t[#_n%d];\n", 4 * depth, "", lanes);
    int inner = dync__csource_for(s, depth, "k", p->k);
    dync__str_addf(s, "%*s{\n", 4 * inner, "");
    dync__vectors_sums(p, lanes, inner + 1);
    dync__str_addf(s, "%*s}\n", 4 * inner, "");
    for (int i = 0; i < p->rows; i++)
        for (int j = 0; j < p->columns; j++) dync__vectors_store(p, lanes, depth, i, j);
}

/* The columns of a block of rows: blocks of several vectors, then single ones. */
static void dync__vectors_columns(dync__csource_product_of *p, int depth)
{
    int lanes = dync__csource_lanes(p->n), columns = p->columns;
    long long n = (long long)p->n;
    dync__str *s = p->s;
    dync__str_addf(s, "%*sint j_ = 0;\n", 4 * depth, "");
    if (columns > 1) {
        dync__str_addf(s, "%*sfor (; j_ + %d * #_n%d <= %lld; j_ += %d * #_n%d) {\n", 4 * depth, "",
                       columns, lanes, n, columns, lanes);
        dync__str_addf(s, "%*sconst int j = j_;\n", 4 * depth + 4, "");
        dync__vectors_block(p, lanes, depth + 1);
        dync__str_addf(s, "%*s}\n", 4 * depth, "");
        if (p->n % (columns * lanes) == 0) return;
    }
    dync__str_addf(s, "%*sfor (; j_ < %lld; j_ += #_n%d) {\n", 4 * depth, "", n, lanes);
    dync__str_addf(s, "%*sconst int j = j_ + #_n%d <= %lld ? j_ : %lld - #_n%d;\n", 4 * depth + 4,
                   "", lanes, n, n, lanes);
    p->columns = 1;
    dync__vectors_block(p, lanes, depth + 1);
    p->columns = columns;
    dync__str_addf(s, "%*s}\n", 4 * depth, "");
}

DYNC__FN void dync__csource_product_vectors(dync__csource_product_of *p)
{
    dync__vectors_choose_block(p);
    int opened = dync__csource_product_open(p), depth = opened;
    depth = dync__csource_blocks_for(p->s, depth, "i", 0, (p->m + p->rows - 1) / p->rows * p->rows,
                                     p->rows, p->m);
    dync__vectors_columns(p, depth);
    dync__csource_blocks_end(p->s, depth, opened);
}

/* ---- all of it ------------------------------------------------------------------------------- */

DYNC__FN void dync__csource_product(dync__str *s, const dync__kcall *call,
                                    const dync__csource_after *after)
{
    bool has_bias = dync__kcall_is(call, DYNC__K_addmm);
    const char *letters = has_bias ? "abdc" : "abc";
    dync__csource_product_of p = {.s = s, .after = after};
    p.a = &call->operand[0];
    p.b = &call->operand[1];
    p.bias = has_bias ? &call->operand[2] : NULL;
    p.c = &call->operand[call->n - 1];
    dync__csource_product_sizes(&p);
    bool vectors = dync__csource_vectors_fit(&p), pairs = dync__csource_pairs_fit(&p);
    if (vectors || pairs) {
        dync__str_add(s, pairs ? "#if DYNC_SMLAD\n" : "#if DYNC_VECTOR\n");
        dync__csource_blocks_head(s, call, after, letters);
        (pairs ? dync__csource_product_pairs : dync__csource_product_vectors)(&p);
        dync__str_add(s, "}\n#else\n");
    }
    dync__csource_blocks_head(s, call, after, letters);
    dync__csource_product_plain(&p);
    dync__str_add(s, vectors || pairs ? "}\n#endif\n" : "}\n");
}
