/* program/csource_blocks.c: matrix products of an exported C file, a few rows and columns at a
 * time, whose sums stay in registers. After csource_follow.c, before csource_convs.c.
 *
 *   for rows, columns { float s00 = 0, ...; for k { a0 = ...; b0 = ...; s00 += a0 * b0; ... }
 *     c[...] = @_end(s00 + d[...], ...); ... }
 *
 * Each sum adds in the order of k, as the plain form (csource_kernels.c) does. The last block of a
 * side that blocks do not divide begins earlier: what it shares with the one before is computed
 * twice. */
#include "../dync.in.h"
#include "csource.h"
DYNC__COLD

/* sums, rows or columns, of a block: of the 32 registers of a Cortex-M4F. Columns that lie beside
 * each other are read by one pointer: more of them. */
enum { DYNC__BLOCK_SUMS = 16, DYNC__BLOCK_SIDE = 5, DYNC__BLOCK_BESIDE = 8 };

/* static void @(const float *a, ..., float *c, const float *e1) */
DYNC__FN void dync__csource_blocks_head(dync__str *s, const dync__kcall *call,
                                        const dync__csource_after *after, const char *letters)
{
    int out = after->k ? after->k->buf.at[after->out].dtype : call->operand[call->n - 1].dtype;
    dync__str_add(s, "static void @(");
    for (int i = 0; i < call->n; i++) {
        bool last = i + 1 == call->n;
        dync__str_addf(s, "%s%s%s *%c", i ? ", " : "", last ? "" : "const ",
                       dync__dtype_c_type(last ? out : call->operand[i].dtype), letters[i]);
    }
    for (int b = 0; after->k && b < after->k->buf.n; b++)
        if (dync__csource_after_reads(after, b))
            dync__str_addf(s, ", const %s *e%d", dync__dtype_c_type(after->k->buf.at[b].dtype), b);
    dync__str_add(s, ")\n{\n");
}

/* for (int v = 0; v < n; v += step) { const int name = ...: where each block begins */
DYNC__FN int dync__csource_blocks_for(dync__str *s, int depth, const char *name, int64_t from,
                                      int64_t end, int64_t step, int64_t n)
{
    if (end - from <= step) {
        dync__str_addf(s, "%*s{\n%*sconst int %s = %lld;\n", 4 * depth, "", 4 * depth + 4, "", name,
                       (long long)DYNC__MIN(from, DYNC__MAX(n - step, 0)));
        return depth + 1;
    }
    if (end <= n) {
        dync__str_addf(s, "%*sfor (int %s = %lld; %s < %lld; %s += %lld) {\n", 4 * depth, "", name,
                       (long long)from, name, (long long)end, name, (long long)step);
        return depth + 1;
    }
    dync__str_addf(s, "%*sfor (int %s_ = %lld; %s_ < %lld; %s_ += %lld) {\n", 4 * depth, "", name,
                   (long long)from, name, (long long)n, name, (long long)step);
    dync__str_addf(s, "%*sconst int %s = %s_ < %lld ? %s_ : %lld;\n", 4 * depth + 4, "", name, name,
                   (long long)(n - step), name, (long long)(n - step));
    return depth + 1;
}

DYNC__FN void dync__csource_blocks_end(dync__str *s, int depth, int to)
{
    while (depth-- > to) dync__str_addf(s, "%*s}\n", 4 * depth, "");
}

/* ---- products -------------------------------------------------------------------------------- */

/* Loads, multiply-adds, what a round and a block cost beside. */
static int64_t dync__blocks_cost(const dync__csource_product_of *p, int rows, int columns)
{
    int64_t blocks = ((p->m + rows - 1) / rows) * ((p->n + columns - 1) / columns);
    return blocks * (p->k * (rows * columns + rows + columns + 3) + 4 * rows * columns + 12);
}

static void dync__blocks_choose(dync__csource_product_of *p)
{
    int64_t least = -1;
    int side = p->b->lay.stride[p->ndim - 1] == 1 ? DYNC__BLOCK_BESIDE : DYNC__BLOCK_SIDE;
    for (int rows = 1; rows <= DYNC__BLOCK_SIDE && rows <= p->m; rows++)
        for (int columns = 1; columns <= side && columns <= p->n; columns++) {
            int64_t cost = dync__blocks_cost(p, rows, columns);
            if (rows * columns > DYNC__BLOCK_SUMS || (least >= 0 && cost >= least)) continue;
            least = cost;
            p->rows = rows;
            p->columns = columns;
        }
}

/* a[.., i + row, k], b[.., k, j + column] or an element of the result: the index of an operand
 * whose dimensions of size 1 are broadcast. */
DYNC__FN void dync__csource_product_index(const dync__csource_product_of *p, const dync__operand *o,
                                          int64_t down, int64_t across, const char *const *var,
                                          int row, int column)
{
    int batch = p->ndim - 2;
    int64_t stride[DYNC_MAX_DIMS];
    for (int d = 0; d < batch; d++) stride[d] = o->lay.shape[d] > 1 ? o->lay.stride[d] : 0;
    stride[batch] = down;
    stride[batch + 1] = across;
    dync__csource_index(p->s, p->ndim, stride, var, row * down + column * across);
}

static void dync__blocks_sums(const dync__csource_product_of *p, int depth)
{
    int last = p->ndim - 1;
    const char *type = dync__dtype_c_type(p->c->dtype);
    const int64_t *sa = p->a->lay.stride, *sb = p->b->lay.stride;
    const char *of_a[DYNC_MAX_DIMS], *of_b[DYNC_MAX_DIMS];
    for (int d = 0; d < p->ndim; d++) of_a[d] = of_b[d] = p->var[d];
    of_a[last] = of_b[last - 1] = p->k > 1 ? "k" : NULL;
    for (int i = 0; i < p->rows; i++) {
        dync__str_addf(p->s, "%*sconst %s a%d = a[", 4 * depth, "", type, i);
        dync__csource_product_index(p, p->a, sa[last - 1], sa[last], of_a, i, 0);
        dync__str_add(p->s, "];\n");
    }
    for (int j = 0; j < p->columns; j++) {
        dync__str_addf(p->s, "%*sconst %s b%d = b[", 4 * depth, "", type, j);
        dync__csource_product_index(p, p->b, sb[last - 1], sb[last], of_b, 0, j);
        dync__str_add(p->s, "];\n");
        for (int i = 0; i < p->rows; i++)
            dync__str_addf(p->s, "%*ss%d%d += a%d * b%d;\n", 4 * depth, "", i, j, i, j);
    }
}

DYNC__FN void dync__csource_product_store(const dync__csource_product_of *p, int depth, int i,
                                          int j)
{
    dync__str value = {0}, *s = p->s;
    char row[32], column[32];
    const char *at[DYNC_MAX_DIMS];
    int last = p->ndim - 1;
    for (int d = 0; d < p->ndim; d++) at[d] = p->var[d];
    dync__format(row, sizeof row, i ? "(i + %d)" : "i", i);
    dync__format(column, sizeof column, j ? "(j + %d)" : "j", j);
    at[last - 1] = row;
    at[last] = column;
    dync__str_addf(s, "%*sc[", 4 * depth, "");
    dync__csource_product_index(p, p->c, p->c->lay.stride[last - 1], p->c->lay.stride[last], p->var,
                                i, j);
    dync__str_add(s, "] = ");
    dync__str_addf(&value, "s%d%d", i, j);
    if (p->bias) {
        dync__csource_product_of to = *p;
        to.s = &value;
        dync__str_add(&value, " + d[");
        dync__csource_product_index(&to, p->bias, p->bias->lay.stride[last - 1],
                                    p->bias->lay.stride[last], p->var, i, j);
        dync__str_addc(&value, ']');
    }
    dync__csource_after_value(s, p->after, &p->c->lay, at, dync__str_get(&value));
    dync__str_add(s, ";\n");
    s->failed = s->failed || value.failed;
    dync__str_free(&value);
}

DYNC__FN int dync__csource_product_open(dync__csource_product_of *p)
{
    static const char *const names[] = {"i0", "i1", "i2", "i3", "i4", "i5", "i6", "i7"};
    int depth = 1;
    for (int d = 0; d < p->ndim - 2; d++) {
        p->var[d] = p->c->lay.shape[d] > 1 ? names[d] : NULL;
        depth = dync__csource_for(p->s, depth, names[d], p->c->lay.shape[d]);
    }
    p->var[p->ndim - 2] = "i";
    p->var[p->ndim - 1] = "j";
    return depth;
}

DYNC__FN void dync__csource_product_sizes(dync__csource_product_of *p)
{
    p->ndim = p->c->lay.ndim;
    p->m = p->c->lay.shape[p->ndim - 2];
    p->n = p->c->lay.shape[p->ndim - 1];
    p->k = p->a->lay.shape[p->ndim - 1];
}

DYNC__FN void dync__csource_product_plain(dync__csource_product_of *p)
{
    dync__str *s = p->s;
    dync__blocks_choose(p);
    int opened = dync__csource_product_open(p), depth = opened;
    depth = dync__csource_blocks_for(s, depth, "i", 0, (p->m + p->rows - 1) / p->rows * p->rows,
                                     p->rows, p->m);
    depth = dync__csource_blocks_for(
        s, depth, "j", 0, (p->n + p->columns - 1) / p->columns * p->columns, p->columns, p->n);
    dync__str_addf(s, "%*s%s ", 4 * depth, "", dync__dtype_c_type(p->c->dtype));
    for (int i = 0; i < p->rows * p->columns; i++)
        dync__str_addf(s, "%ss%d%d = 0", i ? ", " : "", i / p->columns, i % p->columns);
    dync__str_add(s, ";\n");
    int inner = dync__csource_for(s, depth, "k", p->k);
    dync__str_addf(s, "%*s{\n", 4 * inner, "");
    dync__blocks_sums(p, inner + 1);
    dync__str_addf(s, "%*s}\n", 4 * inner, "");
    for (int i = 0; i < p->rows; i++)
        for (int j = 0; j < p->columns; j++) dync__csource_product_store(p, depth, i, j);
    dync__csource_blocks_end(s, depth, opened);
}
