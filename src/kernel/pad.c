/* kernel/pad.c: a border around an array, each row of the result written once.
 *
 *   pad   x, inside, out   out is dense, its dims in any order; inside is the part of it, in the
 *                          same slot, where x goes; all around it stands the attribute's element
 *
 * Its plain form is loops: a copy into the part, and one over each side of the border
 * (op/lower_pad.c), which are compiled with what is around them. */
#include "../dync.in.h"
#include "operand.h"
DYNC__HOT

enum { DYNC__PAD_BLOCK = 256 };

/* Dims outermost first; the last one is a row. */
typedef struct dync__padding {
    int n;
    int64_t size[DYNC_MAX_DIMS];                         /* of the result */
    int64_t begin[DYNC_MAX_DIMS], inside[DYNC_MAX_DIMS]; /* where x lies in it */
    int64_t step[DYNC_MAX_DIMS];                         /* of x, in bytes */
    int64_t all, each;                                   /* elements; of a part */
    int64_t bytes;                                       /* of one */
    const char *x;
    char *y;
    char block[DYNC__PAD_BLOCK]; /* of the border */
} dync__padding;

/* Few bytes cost less than a call; the last ones may be copied twice. */
DYNC__INLINE void dync__pad_copy(char *to, const char *from, int64_t n)
{
    if (n >= DYNC__PAD_CALL) {
        memcpy(to, from, (size_t)n);
    } else if (n >= 16) {
        for (int64_t i = 0; i < n - 16; i += 16) memcpy(to + i, from + i, 16);
        memcpy(to + n - 16, from + n - 16, 16);
    } else if (n >= 8) {
        memcpy(to, from, 8);
        memcpy(to + n - 8, from + n - 8, 8);
    } else if (n >= 4) {
        memcpy(to, from, 4);
        memcpy(to + n - 4, from + n - 4, 4);
    } else {
        for (int64_t i = 0; i < n; i++) to[i] = from[i];
    }
}

static char *dync__pad_border(const dync__padding *p, char *y, int64_t count)
{
    int64_t n = count * p->bytes;
    for (; n > DYNC__PAD_BLOCK; n -= DYNC__PAD_BLOCK, y += DYNC__PAD_BLOCK)
        memcpy(y, p->block, DYNC__PAD_BLOCK);
    dync__pad_copy(y, p->block, n);
    return y + n;
}

static char *dync__pad_inside(const dync__padding *p, char *y, const char *x, int64_t count)
{
    int64_t step = p->step[p->n - 1];
    if (step == p->bytes) {
        dync__pad_copy(y, x, count * p->bytes);
        return y + count * p->bytes;
    }
    for (int64_t i = 0; i < count; i++, x += step, y += p->bytes) memcpy(y, x, (size_t)p->bytes);
    return y;
}

/* Part of a row; x: its inside begins there, NULL: it is border. */
static char *dync__pad_piece(const dync__padding *p, char *y, const char *x, int64_t column,
                             int64_t end)
{
    int64_t left = p->begin[p->n - 1], right = left + p->inside[p->n - 1];
    int64_t a = DYNC__MIN(DYNC__MAX(left, column), end), b = DYNC__MIN(DYNC__MAX(right, a), end);
    if (!x) return dync__pad_border(p, y, end - column);
    y = dync__pad_border(p, y, a - column);
    if (b > a) y = dync__pad_inside(p, y, x + (a - left) * p->step[p->n - 1], b - a);
    return dync__pad_border(p, y, end - b);
}

/* Whole rows that lie in x one after another: the border after one and before the next is one. */
static char *dync__pad_rows(const dync__padding *p, char *y, const char *x, int64_t rows)
{
    int last = p->n - 1;
    int64_t size = p->size[last], left = p->begin[last], inside = p->inside[last],
            step = last > 0 ? p->step[last - 1] : 0;
    y = dync__pad_border(p, y, left);
    for (int64_t i = 1; i < rows; i++, x += step) {
        y = dync__pad_inside(p, y, x, inside);
        y = dync__pad_border(p, y, size - inside);
    }
    y = dync__pad_inside(p, y, x, inside);
    return dync__pad_border(p, y, size - left - inside);
}

/* Where the row at `at` begins in x; NULL: all of it is border. *alike: so many rows from there on
 * are one or the other. */
static const char *dync__pad_find(const dync__padding *p, const int64_t *at, int64_t *alike)
{
    const char *x = p->x;
    int line = p->n - 2;
    *alike = line < 0 ? 1 : p->size[line] - at[line];
    for (int d = 0; d <= line; d++) {
        int64_t i = at[d] - p->begin[d];
        if (i < 0 || i >= p->inside[d]) {
            if (d == line && i < 0) *alike = -i;
            return NULL;
        }
        if (d == line) *alike = p->inside[d] - i;
        x += i * p->step[d];
    }
    return x;
}

/* Elements [part * each, ..) of the result, which may begin and end within a row. */
static void dync__pad_part(void *user, int part, int n_parts)
{
    const dync__padding *p = user;
    int last = p->n - 1;
    int64_t at[DYNC_MAX_DIMS], from = part * p->each, left = DYNC__MIN(p->each, p->all - from),
                               width = p->size[last], row = from / width, column = from % width,
                               rows;
    char *y = p->y + from * p->bytes;
    (void)n_parts;
    for (int d = last - 1; d >= 0; d--) {
        at[d] = row % p->size[d];
        row /= p->size[d];
    }
    while (left > 0) {
        const char *x = dync__pad_find(p, at, &rows);
        if (column || left < width) {
            int64_t end = DYNC__MIN(width, column + left);
            y = dync__pad_piece(p, y, x, column, end);
            left -= end - column;
            rows = 1;
            column = 0;
        } else {
            rows = DYNC__MIN(rows, left / width);
            y = x ? dync__pad_rows(p, y, x, rows) : dync__pad_border(p, y, rows * width);
            left -= rows * width;
        }
        if (last > 0) at[last - 1] += rows;
        for (int d = last - 1; d > 0 && at[d] == p->size[d]; d--) {
            at[d] = 0;
            at[d - 1]++;
        }
    }
}

/* Dims in the order of the result's memory; those of one place are left out. */
static void dync__pad_dims(dync__padding *p, const dync__kcall *c)
{
    const dync__layout *x = &c->operand[0].lay, *in = &c->operand[1].lay, *y = &c->operand[2].lay;
    int64_t ahead = in->offset - y->offset;
    int order[DYNC_MAX_DIMS];
    for (int d = 0; d < y->ndim; d++) {
        int i = p->n;
        if (y->shape[d] == 1) continue;
        for (; i > 0 && y->stride[order[i - 1]] < y->stride[d]; i--) order[i] = order[i - 1];
        order[i] = d;
        p->n++;
    }
    for (int i = 0; i < p->n; i++) {
        int d = order[i];
        p->size[i] = y->shape[d];
        p->inside[i] = x->shape[d];
        p->begin[i] = ahead / y->stride[d];
        p->step[i] = x->stride[d] * p->bytes;
        ahead %= y->stride[d];
    }
    if (p->n) return;
    p->n = 1;
    p->size[0] = p->inside[0] = 1;
    p->step[0] = p->bytes;
}

/* A dim without border goes into the one around it where x walks both as one. */
static void dync__pad_collapse(dync__padding *p)
{
    for (int i = p->n - 1; i > 0; i--) {
        bool one = p->inside[i] == p->size[i] && p->step[i - 1] == p->step[i] * p->inside[i];
        if (!one) continue;
        p->size[i - 1] *= p->size[i];
        p->begin[i - 1] *= p->size[i];
        p->inside[i - 1] *= p->size[i];
        p->step[i - 1] = p->step[i];
        for (int j = i; j < p->n - 1; j++) {
            p->size[j] = p->size[j + 1];
            p->begin[j] = p->begin[j + 1];
            p->inside[j] = p->inside[j + 1];
            p->step[j] = p->step[j + 1];
        }
        p->n--;
    }
}

DYNC__FN dync_status dync__k_pad_prepare(dync__kcall *c)
{
    const dync__operand *op = c->operand;
    return dync__kcall_expect(c,
                              c->n == 3 && op[0].dtype == op[2].dtype &&
                                  op[0].lay.ndim == op[2].lay.ndim && op[1].slot == op[2].slot &&
                                  dync__layout_is_dense(&op[2].lay),
                              "x, the inside and all of a dense result, of one dtype");
}

DYNC__FN dync_status dync__k_pad(const dync__kcall *c, void *const *data, void *scratch)
{
    const dync__operand *op = c->operand;
    dync__padding p = {.bytes = dync__dtype_info(op[2].dtype)->bytes};
    (void)scratch;
    p.all = dync__operand_numel(&op[2]);
    p.x = dync__operand_at(&op[0], data[0]);
    p.y = dync__operand_at(&op[2], data[2]);
    for (int i = 0; i < DYNC__PAD_BLOCK; i += (int)p.bytes)
        memcpy(p.block + i, &c->attr.pad.element, (size_t)p.bytes);
    dync__pad_dims(&p, c);
    dync__pad_collapse(&p);
    double ns = (double)(p.all * p.bytes) / DYNC__PAD_BYTES_PER_NS;
    int parts = dync__pool_pieces(dync__pool_worth(ns), ns, p.all);
    p.each = (p.all + parts - 1) / parts;
    p.each = (p.each + 63) & -64; /* no cache line is two threads' */
    dync__pool_run(dync__pad_part, &p, (int)((p.all + p.each - 1) / p.each));
    return DYNC_OK;
}
