/* onnx/out_rows.c: the table of out_rows.def.h. After out_layers.c. */
#include "../dync.in.h"
#if !defined(DYNC_NO_ONNX)
#include "out_rows.h"
DYNC__COLD

/* ---- which calls are kept whole -------------------------------------------------------------- */

static const dync__tensor *dync__ox_self(const dync__opcall *c)
{
    return c->args[0].kind == DYNC__A_TENSOR ? c->args[0].as.t : NULL;
}
static int dync__ox_rank(const dync__opcall *c)
{
    return dync__ox_self(c) ? dync__ox_self(c)->lay.ndim : -1;
}
static bool dync__ox_float(const dync__opcall *c)
{
    return dync__ox_self(c) && dync__dtype_info(dync__ox_self(c)->dtype)->kind == 'f';
}
static bool dync__ox_rank_3(const dync__opcall *c) { return dync__ox_rank(c) == 3; }
/* ONNX wants less output padding than stride. */
static bool dync__ox_padded_less(const dync__opcall *c)
{
    const dync__arg *stride = &c->args[3], *extra = &c->args[5];
    for (int d = 0; d < extra->n; d++)
        if (extra->as.dims[d] >= (stride->n ? stride->as.dims[d % stride->n] : 1) &&
            extra->as.dims[d])
            return false;
    return dync__ox_rank(c) == 4;
}
static bool dync__ox_rank_4_float(const dync__opcall *c)
{
    return dync__ox_rank(c) == 4 && dync__ox_float(c);
}
static bool dync__ox_rank_3_up(const dync__opcall *c)
{
    return dync__ox_rank(c) >= 3 && !dync__is_token(dync__ox_self(c)->lay.shape[1]);
}
static bool dync__ox_rank_1_up(const dync__opcall *c) { return dync__ox_rank(c) >= 1; }
static bool dync__ox_is_f32(const dync__opcall *c)
{
    return dync__ox_rank(c) == 4 && dync__ox_self(c)->dtype == DYNC_F32;
}
/* ONNX Runtime has these of float32 alone */
static bool dync__ox_is_space(const dync__opcall *c, int rank)
{
    return dync__ox_rank(c) == rank && dync__ox_float(c) && dync__ox_self(c)->dtype != DYNC_F64;
}
static bool dync__ox_is_line(const dync__opcall *c) { return dync__ox_is_space(c, 3); }
static bool dync__ox_is_image(const dync__opcall *c) { return dync__ox_is_space(c, 4); }
static bool dync__ox_is_volume(const dync__opcall *c) { return dync__ox_is_space(c, 5); }
static bool dync__ox_is_columns(const dync__opcall *c)
{
    return dync__ox_rank(c) == 3 && dync__ox_float(c) && dync__ox_self(c)->dtype != DYNC_F64 &&
           c->args[1].n == 2;
}
/* Cubic with padding mode border means another thing there; nearest rounds before it is folded. */
static bool dync__ox_is_grid(const dync__opcall *c)
{
    const char *mode = c->args[2].as.s, *pad = c->args[3].as.s;
    return dync__ox_is_image(c) && mode && pad &&
           !(strcmp(mode, "bicubic") == 0 && strcmp(pad, "border") == 0) &&
           !(strcmp(mode, "nearest") == 0 && strcmp(pad, "reflection") == 0);
}
/* ONNX's checker wants ellipses of one rank. */
static bool dync__ox_is_sum(const dync__opcall *c)
{
    return c->args[0].kind == DYNC__A_STR && !strchr(c->args[0].as.s, '.');
}
/* One number of samples for both dims. */
static bool dync__ox_is_roi(const dync__opcall *c)
{
    const dync__arg *n = &c->args[5];
    return dync__ox_rank_4_float(c) && n->n > 0 && n->as.dims[0] == n->as.dims[n->n - 1];
}
/* A length that is a plain number, or none; with a batch. */
static bool dync__ox_is_length(const dync__opcall *c)
{
    return dync__ox_float(c) &&
           (c->args[1].kind == DYNC__A_NONE ||
            (c->args[1].kind == DYNC__A_INT && !dync__is_token(c->args[1].as.i)));
}
static bool dync__ox_rank_2_numbers(const dync__opcall *c)
{
    return dync__ox_rank(c) >= 2 && dync__ox_is_length(c);
}
static bool dync__ox_rank_3_numbers(const dync__opcall *c)
{
    return dync__ox_rank(c) >= 3 && dync__ox_is_length(c);
}
/* The way back is scaled in float32 by ONNX Runtime. */
static bool dync__ox_rank_3_f32(const dync__opcall *c)
{
    return dync__ox_rank_3_numbers(c) && dync__ox_self(c)->dtype != DYNC_F64;
}
static bool dync__ox_is_whole_window(const dync__opcall *c)
{
    const dync__arg *w = &c->args[3];
    return dync__ox_rank(c) == 2 && dync__ox_float(c) &&
           (w->kind != DYNC__A_TENSOR || w->as.t->lay.shape[0] == c->args[1].as.i);
}
/* batch_norm by its running statistics */
static bool dync__ox_is_inference(const dync__opcall *c)
{
    return dync__ox_rank(c) >= 2 && !c->args[5].as.i && c->args[3].kind == DYNC__A_TENSOR &&
           c->args[4].kind == DYNC__A_TENSOR;
}
/* a mean over the whole plane */
static bool dync__ox_is_global(const dync__opcall *c)
{
    const dync__arg *size = &c->args[1];
    return dync__ox_rank(c) == 4 && dync__ox_float(c) && size->kind == DYNC__A_DIMS &&
           size->n == 2 && size->as.dims[0] == 1 && size->as.dims[1] == 1;
}
static bool dync__ox_has_classes(const dync__opcall *c) { return c->args[1].as.i > 0; }
/* ONNX Runtime has no recurrent layers of float64 */
static bool dync__ox_rnn_forward(const dync__opcall *c)
{
    return !c->args[7].as.i && dync__ox_self(c) && dync__ox_self(c)->dtype != DYNC_F64;
}

/* ---- the table ------------------------------------------------------------------------------- */

static const dync__ox_row dync__ox_rows[] = {
#define DYNC__X(name, f, i, b) {#name, DYNC__OP_##name, dync__ox_pointwise, f, i, b, NULL},
    DYNC__OX_POINTWISE(DYNC__X)
#undef DYNC__X
#define DYNC__X(name, f, i, b) {#name, -1, NULL, f, i, b, NULL},
        DYNC__OX_PARTS(DYNC__X)
#undef DYNC__X
#define DYNC__X(name, fn, text, when) {#name, DYNC__OP_##name, fn, text, NULL, NULL, when},
            DYNC__OX_FUNCTIONS(DYNC__X)
#undef DYNC__X
};

DYNC__FN const dync__ox_row *dync__ox_row_of(int op)
{
    for (int i = 0; i < DYNC__COUNT_OF(dync__ox_rows); i++)
        if (op >= 0 && dync__ox_rows[i].op == op) return &dync__ox_rows[i];
    return NULL;
}

DYNC__FN const dync__ox_row *dync__ox_row_named(const char *name, size_t n)
{
    for (int i = 0; i < DYNC__COUNT_OF(dync__ox_rows); i++)
        if (strlen(dync__ox_rows[i].name) == n && memcmp(dync__ox_rows[i].name, name, n) == 0)
            return &dync__ox_rows[i];
    return NULL;
}

DYNC__FN bool dync__ox_keeps(const dync__opcall *c)
{
    const dync__ox_row *row = dync__ox_row_of(c->op);
    return row && (!row->when || row->when(c));
}
#endif
