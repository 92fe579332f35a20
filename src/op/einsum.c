/* op/einsum.c: Einstein sums as permutations, batched products and sums. After decompose_*.c.
 *
 * Operands are taken in one after another; of each pair, labels that nothing later needs are
 * summed: alone by sum, shared ones by bmm of [batch, left, summed] and [batch, summed, right].
 * Labels are small numbers: A-Z a-z, then the dims of an ellipsis. Source: the contraction of
 * aten/src/ATen/native/Linear.cpp (sumproduct_pair), left to right.
 *
 *   "bij,bjk->bik"     a [b, i, j]   batch b, left i, summed j
 *                      b [b, j, k]   batch b, summed j, right k     -> bmm [b, i, k]
 *   "ij,j->"           i is in no other operand and not in the output: summed alone, before bmm
 *   "ii->i"            a label twice in one operand: its diagonal, taken first
 *   "...i,...i->..."   the dims of the dots are labels like others, matched from the last one on */
#include "../dync.in.h"
#include "chain.h"
DYNC__COLD

enum {
    DYNC__ES_LETTERS = 52,
    DYNC__ES_LABELS = DYNC__ES_LETTERS + DYNC_MAX_DIMS,
    DYNC__ES_OPERANDS = 32
};
/* An operand or result with a label for each dim. t is borrowed from the call or from the chain. */
typedef struct dync__es_term {
    int n, label[DYNC_MAX_DIMS];
    dync__dt *t;
} dync__es_term;
/* size: of each label that occurs, 1 until an operand has more. */
typedef struct dync__einsum {
    dync__chain c;
    int n, ellipsis; /* operands; dims of the longest ellipsis */
    dync__es_term in[DYNC__ES_OPERANDS], out;
    int64_t size[DYNC__ES_LABELS];
} dync__einsum;

/* 0 .. 51, or -1 for another character. */
static int dync__es_letter(char ch)
{
    if (ch >= 'A' && ch <= 'Z') return ch - 'A';
    if (ch >= 'a' && ch <= 'z') return 26 + ch - 'a';
    return -1;
}

/* The dim of the term that has this label, -1 if none has. */
static int dync__es_find(const dync__es_term *e, int label)
{
    for (int i = 0; i < e->n; i++)
        if (e->label[i] == label) return i;
    return -1;
}

/* ---- the equation ---------------------------------------------------------------------------- */

/* Reads labels up to a comma, an arrow or the end. ellipsis: how many dims "..." stands for here.
 * *at moves behind what was read. An ellipsis of fewer dims than the longest one (most_ellipsis)
 * gets the last of the labels, so that it broadcasts from the right. *dots: there was one. */
static dync_status dync__es_read(const char **at, int ellipsis, int most_ellipsis,
                                 dync__es_term *out, bool *dots)
{
    const char *s = *at;
    *dots = false;
    out->n = 0;
    for (; *s && *s != ',' && !(s[0] == '-' && s[1] == '>'); s++) {
        int label = dync__es_letter(*s), count = 1, first = label;
        if (*s == ' ') continue;
        if (s[0] == '.' && s[1] == '.' && s[2] == '.' && !*dots) {
            *dots = true;
            s += 2;
            count = ellipsis;
            first = DYNC__ES_LETTERS + most_ellipsis - ellipsis;
        } else if (label < 0) {
            return dync__fail(DYNC_ERR_VALUE,
                              "einsum(): invalid subscript given at '%s' in the "
                              "equation string, subscripts must be in "
                              "[a-zA-Z]",
                              s);
        }
        if (out->n + count > DYNC_MAX_DIMS)
            return dync__fail(DYNC_ERR_SHAPE, "einsum(): more than %d subscripts for one operand",
                              DYNC_MAX_DIMS);
        for (int k = 0; k < count; k++) out->label[out->n++] = first + k;
    }
    *at = s;
    return DYNC_OK;
}

/* How many dims the ellipsis of operand i stands for: its rank less the letters. -1 where it has
 * none. */
static dync_status dync__es_measure(const char *s, const dync__dt *t, int i, int *dims)
{
    dync__es_term plain;
    bool dots;
    DYNC__TRY(dync__es_read(&s, 0, 0, &plain, &dots));
    *dims = dots ? t->lay.ndim - plain.n : -1;
    if (dots ? *dims < 0 : plain.n != t->lay.ndim)
        return dync__fail(DYNC_ERR_SHAPE,
                          "einsum(): the number of subscripts in the equation "
                          "(%d) does not match the number of "
                          "dimensions (%d) for operand %d",
                          plain.n, t->lay.ndim, i);
    return DYNC_OK;
}

/* Behind the next comma; where there is none, at the arrow or the end. */
static const char *dync__es_next(const char *s)
{
    while (*s && *s != ',' && *s != '-') s++;
    return *s == ',' ? s + 1 : s;
}

/* Two passes: labels of an ellipsis can be given only when the longest one is known. */
static dync_status dync__es_operands(dync__einsum *e, const char **equation, const dync__arg *list)
{
    int dims[DYNC__ES_OPERANDS];
    const char *s = *equation;
    for (int i = 0; i < e->n; i++, s = dync__es_next(s)) {
        DYNC__TRY(dync__es_measure(s, list[i].as.t, i, &dims[i]));
        e->ellipsis = DYNC__MAX(e->ellipsis, dims[i]);
    }
    s = *equation;
    for (int i = 0; i < e->n; i++) {
        bool dots;
        DYNC__TRY(dync__es_read(&s, DYNC__MAX(dims[i], 0), e->ellipsis, &e->in[i], &dots));
        e->in[i].t = list[i].as.t;
        if (*s == ',' ? i + 1 == e->n : i + 1 < e->n)
            return dync__fail(DYNC_ERR_VALUE,
                              "einsum(): %s operands were provided than "
                              "specified in the equation",
                              *s == ',' ? "fewer" : "more");
        if (*s == ',') s++;
    }
    *equation = s;
    return DYNC_OK;
}

/* What is written after "->", or without it the ellipsis and the labels that occur once, in order.
 * s stands at the arrow or at the end. occurs: how often each label stands in the operands. */
static dync_status dync__es_output(dync__einsum *e, const char *s, const int *occurs)
{
    bool dots;
    if (*s) {
        s += 2;
        DYNC__TRY(dync__es_read(&s, e->ellipsis, e->ellipsis, &e->out, &dots));
        if (*s)
            return dync__fail(DYNC_ERR_VALUE,
                              "einsum(): expected nothing after the output, got '%s'", s);
        for (int i = 0; i < e->out.n; i++) {
            int label = e->out.label[i];
            for (int k = 0; k < i; k++)
                if (e->out.label[k] == label)
                    return dync__fail(DYNC_ERR_VALUE,
                                      "einsum(): output subscript appears more than once");
            if (!occurs[label])
                return dync__fail(DYNC_ERR_VALUE, "einsum(): output subscript does not appear in "
                                                  "the equation for any input operand");
        }
        return DYNC_OK;
    }
    for (int i = 0; i < e->ellipsis; i++) e->out.label[e->out.n++] = DYNC__ES_LETTERS + i;
    for (int label = 0; label < DYNC__ES_LETTERS; label++) {
        if (occurs[label] != 1) continue;
        if (e->out.n == DYNC_MAX_DIMS)
            return dync__fail(DYNC_ERR_SHAPE, "einsum(): the result has more than %d dims",
                              DYNC_MAX_DIMS);
        e->out.label[e->out.n++] = label;
    }
    return DYNC_OK;
}

/* Sizes that differ broadcast where one of them is 1. */
static dync_status dync__es_parse(dync__einsum *e, const char *equation, const dync__arg *operands)
{
    int occurs[DYNC__ES_LABELS] = {0};
    DYNC__TRY(dync__es_operands(e, &equation, operands->as.list));
    for (int i = 0; i < e->n; i++)
        for (int d = 0; d < e->in[i].n; d++) {
            int label = e->in[i].label[d];
            int64_t size = e->in[i].t->lay.shape[d], *known = &e->size[label];
            if (occurs[label]++ && *known != 1 && size != 1 && !dync__sz_eq(*known, size))
                return dync__fail(DYNC_ERR_SHAPE,
                                  "einsum(): operand %d has size %lld at "
                                  "dimension %d, which does not broadcast with "
                                  "previously seen size %lld",
                                  i, (long long)dync__sz_hint(size), d,
                                  (long long)dync__sz_hint(*known));
            if (occurs[label] == 1 || size != 1) *known = size;
        }
    return dync__es_output(e, equation, occurs);
}

/* ---- the contraction ------------------------------------------------------------------------- */

/* A label twice in one operand: its diagonal, which becomes the last dim. Begins again after each,
 * since the dims have moved. */
static void dync__es_diagonals(dync__einsum *e, dync__es_term *x)
{
    for (int a = 0; a < x->n; a++)
        for (int b = a + 1; b < x->n; b++) {
            if (x->label[a] != x->label[b]) continue;
            int label = x->label[a], n = 0;
            dync__arg args[4] = {dync__arg_t(x->t), dync__arg_i(0), dync__arg_i(a), dync__arg_i(b)};
            dync__chain_call(&e->c, DYNC__OP_diagonal, 4, args, &x->t);
            for (int d = 0; d < x->n; d++)
                if (d != a && d != b) x->label[n++] = x->label[d];
            x->label[n++] = label;
            x->n = n;
            a = -1;
            break;
        }
}

/* Every dim at its full size. A dim of size 1 that broadcasts, as an expanded view. */
static void dync__es_expand(dync__einsum *e, dync__es_term *x)
{
    int64_t shape[DYNC_MAX_DIMS];
    for (int d = 0; d < x->n; d++) shape[d] = e->size[x->label[d]];
    x->t = dync__chain_shape(&e->c, DYNC__OP_expand, x->t, x->n, shape);
}

/* Leaves out the labels of size 1 that are not needed later: there is nothing to sum. */
static void dync__es_squeeze(dync__einsum *e, dync__es_term *x, const bool *needed)
{
    for (int d = x->n - 1; d >= 0; d--) {
        if (needed[x->label[d]] || e->size[x->label[d]] != 1) continue;
        x->t = dync__chain_ti(&e->c, DYNC__OP_squeeze, x->t, d);
        memmove(&x->label[d], &x->label[d + 1], (size_t)(x->n - d - 1) * sizeof *x->label);
        x->n--;
    }
}

/* Sums the labels that are not needed later and that `other` lacks. */
static void dync__es_sum(dync__einsum *e, dync__es_term *x, const dync__es_term *other,
                         const bool *needed)
{
    int64_t dims[DYNC_MAX_DIMS];
    int n = 0, kept = 0, label[DYNC_MAX_DIMS];
    for (int d = 0; d < x->n; d++) {
        if (needed[x->label[d]] || (other && dync__es_find(other, x->label[d]) >= 0))
            label[kept++] = x->label[d];
        else
            dims[n++] = d;
    }
    if (n == 0) return;
    x->t = dync__chain_reduce(&e->c, DYNC__OP_sum, x->t, n, dims, false);
    memcpy(x->label, label, sizeof label);
    x->n = kept;
}

/* x with the labels in the order given; those it lacks as dims of size 1. */
static dync__dt *dync__es_arrange(dync__einsum *e, const dync__es_term *x, int n, const int *label)
{
    int64_t order[DYNC_MAX_DIMS] = {0};
    int have = 0;
    dync__dt *t = x->t;
    for (int i = 0; i < n; i++)
        if (dync__es_find(x, label[i]) >= 0) order[have++] = dync__es_find(x, label[i]);
    t = dync__chain_shape(&e->c, DYNC__OP_permute, t, have, order);
    for (int i = 0; i < n; i++)
        if (dync__es_find(x, label[i]) < 0) t = dync__chain_ti(&e->c, DYNC__OP_unsqueeze, t, i);
    return t;
}

/* x as [batch, rows, columns]: label holds the labels of the three parts one after the other, count
 * how many each part has. A part without labels is of size 1. */
static dync__dt *dync__es_matrices(dync__einsum *e, const dync__es_term *x, const int *label,
                                   const int *count)
{
    int64_t shape[3] = {1, 1, 1};
    int n = 0;
    for (int part = 0; part < 3; part++)
        for (int i = 0; i < count[part]; i++)
            shape[part] = dync__sz_mul(shape[part], e->size[label[n++]]);
    return dync__chain_shape(&e->c, DYNC__OP_reshape, dync__es_arrange(e, x, n, label), 3, shape);
}

/* Labels of the output first, in its order: the last product then comes out row major. */
static void dync__es_sort(const dync__einsum *e, int n, int *label)
{
    int sorted[DYNC_MAX_DIMS], k = 0;
    for (int i = 0; i < e->out.n; i++)
        for (int j = 0; j < n; j++)
            if (label[j] == e->out.label[i]) sorted[k++] = label[j];
    for (int j = 0; j < n; j++)
        if (dync__es_find(&e->out, label[j]) < 0) sorted[k++] = label[j];
    memcpy(label, sorted, (size_t)n * sizeof *label);
}

/* Contracts b into a, which then holds the result with labels batch, left, right. Without a summed
 * label it is a product of elements, broadcast, and no bmm. needed: labels of later operands and of
 * the output. */
static dync_status dync__es_pair(dync__einsum *e, dync__es_term *a, dync__es_term *b,
                                 const bool *needed)
{
    int batch[DYNC_MAX_DIMS], left[DYNC_MAX_DIMS], summed[DYNC_MAX_DIMS], right[DYNC_MAX_DIMS],
        nb = 0, nl = 0, ns = 0, nr = 0;
    int la[DYNC_MAX_DIMS + 1], lb[DYNC_MAX_DIMS + 1];
    dync__es_squeeze(e, a, needed);
    dync__es_squeeze(e, b, needed);
    dync__es_sum(e, a, b, needed);
    dync__es_sum(e, b, a, needed);
    for (int i = 0; i < a->n; i++) {
        int label = a->label[i];
        if (dync__es_find(b, label) < 0)
            left[nl++] = label;
        else if (needed[label])
            batch[nb++] = label;
        else
            summed[ns++] = label;
    }
    for (int i = 0; i < b->n; i++)
        if (dync__es_find(a, b->label[i]) < 0) right[nr++] = b->label[i];
    if (nb + nl + nr > DYNC_MAX_DIMS)
        return dync__fail(DYNC_ERR_SHAPE, "einsum(): an intermediate result has more than %d dims",
                          DYNC_MAX_DIMS);
    int all[DYNC_MAX_DIMS], n = 0;
    int64_t shape[DYNC_MAX_DIMS];
    for (int i = 0; i < nb; i++) la[i] = lb[i] = all[n++] = batch[i];
    for (int i = 0; i < nl; i++) la[nb + i] = all[n++] = left[i];
    for (int i = 0; i < ns; i++) la[nb + nl + i] = lb[nb + i] = summed[i];
    for (int i = 0; i < nr; i++) lb[nb + ns + i] = all[n++] = right[i];
    for (int i = 0; i < n; i++) shape[i] = e->size[all[i]];
    if (ns == 0) {
        dync__es_sort(e, n, all);
        dync__dt *x = dync__es_arrange(e, a, n, all);
        a->t = dync__chain_tt(&e->c, DYNC__OP_mul, x, dync__es_arrange(e, b, n, all));
    } else {
        const int ca[3] = {nb, nl, ns}, cb[3] = {nb, ns, nr};
        dync__dt *x = dync__es_matrices(e, a, la, ca);
        a->t = dync__chain_tt(&e->c, DYNC__OP_bmm, x, dync__es_matrices(e, b, lb, cb));
        a->t = dync__chain_shape(&e->c, DYNC__OP_view, a->t, n, shape);
    }
    a->n = n;
    memcpy(a->label, all, sizeof all);
    return DYNC_OK;
}

/* The dims in the output's order, those left over summed behind them: the result is row major. */
static void dync__es_finish(dync__einsum *e, dync__es_term *x)
{
    int64_t dims[DYNC_MAX_DIMS];
    int n = e->out.n, rest = 0, label[DYNC__ES_LABELS];
    memcpy(label, e->out.label, (size_t)n * sizeof *label);
    for (int d = 0; d < x->n; d++)
        if (dync__es_find(&e->out, x->label[d]) < 0) {
            label[n + rest] = x->label[d];
            dims[rest] = n + rest;
            rest++;
        }
    x->t = dync__es_arrange(e, x, n + rest, label);
    if (rest) x->t = dync__chain_reduce(&e->c, DYNC__OP_sum, x->t, rest, dims, false);
}

/* needed[] is what stands behind operand i: the rest of the operands and the output. */
static dync_status dync__es_contract(dync__einsum *e)
{
    dync__es_term *acc = &e->in[0];
    for (int i = 0; i < e->n; i++) {
        dync__es_diagonals(e, &e->in[i]);
        dync__es_expand(e, &e->in[i]);
    }
    for (int i = 1; i < e->n; i++) {
        bool needed[DYNC__ES_LABELS] = {false};
        for (int d = 0; d < e->out.n; d++) needed[e->out.label[d]] = true;
        for (int k = i + 1; k < e->n; k++)
            for (int d = 0; d < e->in[k].n; d++) needed[e->in[k].label[d]] = true;
        DYNC__TRY(dync__es_pair(e, acc, &e->in[i], needed));
    }
    dync__es_finish(e, acc);
    return DYNC_OK;
}

/* Arguments (equation, list of tensors). The working state is large and lives on the heap. */
DYNC__FN dync_status dync__d_einsum(dync__opcall *call)
{
    const char *equation = call->args[0].kind == DYNC__A_STR ? call->args[0].as.s : NULL;
    const dync__arg *operands = &call->args[1];
    if (!equation) return dync__fail(DYNC_ERR_VALUE, "einsum(): expected an equation, got none");
    if (operands->kind != DYNC__A_LIST || operands->n < 1 || operands->n > DYNC__ES_OPERANDS)
        return dync__fail(DYNC_ERR_VALUE,
                          "einsum(): must provide at least one operand, and at most %d",
                          DYNC__ES_OPERANDS);
    for (int i = 0; i < operands->n; i++)
        if (operands->as.list[i].kind != DYNC__A_TENSOR)
            return dync__fail(DYNC_ERR_VALUE, "einsum(): operand %d is no tensor", i);
    dync__einsum *e = dync__calloc(sizeof *e);
    if (!e) return DYNC_ERR_MEMORY;
    e->n = operands->n;
    dync_status status = dync__es_parse(e, equation, operands);
    if (status == DYNC_OK) status = dync__es_contract(e);
    dync__chain_fail(&e->c, status);
    status = dync__chain_end(&e->c, call, e->in[0].t);
    dync__free(e, sizeof *e);
    return status;
}
