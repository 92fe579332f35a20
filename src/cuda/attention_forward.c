/* cuda/attention_forward.c: the forward text of attention on a GPU and its call, keys cut over
 * blocks where queries are few. After attention.c and attention_wgmma.c, before
 * attention_backward.c. */
#include "../dync.in.h"
#include "attention.h"
DYNC__COLD

/* ---- keys cut over blocks
 * In the temporary: {greatest score times log2 e, sum of exponentials below it} of every split and
 * query, then the values weighted by these. */

static int64_t dync__fa_pairs_bytes(const dync__fa *c)
{
    return (c->splits * c->units * c->L * 8 + 15) / 16 * 16;
}
static int dync__fa_partial_buf(const dync__fa *c) { return c->t.n_buffers - 1; }

static void dync__fa_partials(dync__fa *c, const dync__fa_frag *o)
{
    dync__ptx *p = &c->t.p;
    char factor[24], temp[16];
    dync__operand part = {.dtype = DYNC_F32, .lay.ndim = c->n_batch + 2};
    int64_t next = 1;
    for (int d = c->n_batch + 1; d >= 0; d--) {
        part.lay.shape[d] = c->op[3].lay.shape[d];
        part.lay.stride[d] = next;
        next *= part.lay.shape[d];
    }
    dync__fa_number(factor, dync__fa_raw(c) ? c->scale * DYNC__FA_LOG2E : 1.0);
    dync__format(temp, sizeof temp, "%%b%d", dync__fa_partial_buf(c));
    dync__fa_across(c, "add.rn", "%sum", o->rows);
    dync__cuda_tile_set(&c->t, "u32", "%pair_at", "mad.lo", "%%split, %lld, %%unit",
                        (long long)c->units);
    dync__ptx_line(p, "mad.lo.u32 %%pair_at, %%pair_at, %lld, %%row", (long long)c->L);
    dync__ptx_line(p, "mad.wide.u32 %%here, %%pair_at, 8, %s", temp);
    for (int i = 0; i < o->rows; i++) {
        const char *is = dync__ptx_temp(p, "pred");
        dync__ptx_line(p, "mul.rn.f32 %%m%d, %%m%d, %s", i, i, factor);
        dync__ptx_line(p, "setp.lt.s32 %s, %%row, %lld", is,
                       (long long)(c->L - dync__fa_row(c, i)));
        dync__ptx_line(p, "setp.eq.and.s32 %s, %%cb, 0, %s", is, is);
        dync__ptx_line(p, "@%s st.global.v2.f32 [%%here+%d], {%%m%d, %%sum%d}", is,
                       dync__fa_row(c, i) * 8, i, i);
    }
    dync__ptx_line(p, "cvt.u64.u32 %%wide, %%split");
    dync__ptx_line(p, "mad.lo.s64 %s, %%wide, %lld, %s", temp,
                   (long long)(c->units * c->L * c->V * 4), temp);
    dync__ptx_line(p, "add.s64 %s, %s, %lld", temp, temp, (long long)dync__fa_pairs_bytes(c));
    dync__fa_write(c, o, &part, dync__fa_partial_buf(c), NULL, false, c->L);
}

/* The second launch: a block a query, a thread a column or two; splits in their order. */
static void dync__fa_join(dync__fa *c)
{
    enum { THREADS = 128 };
    dync__cuda_tile *t = &c->t;
    dync__ptx *p = &t->p;
    const dync__operand *y = &c->op[3], *lse = &c->op[4];
    int columns = (int)((c->V + THREADS - 1) / THREADS);
    int64_t all = c->units * c->L;
    char ln2[24], temp[16];
    dync__fa_number(ln2, 1 / DYNC__FA_LOG2E);
    dync__format(temp, sizeof temp, "%%b%d", dync__fa_partial_buf(c));
    dync__cuda_tile_next(t);
    dync__cuda_tile_set(t, "u32", "%unit", "div", "%%cta, %lld", (long long)c->L);
    dync__cuda_tile_set(t, "u32", "%row", "rem", "%%cta, %lld", (long long)c->L);
    dync__fa_units(c);
    static const char *const floats[] = {"%most", "%base", "%m", "%n", "%sum", "%x"};
    for (int i = 0; i < 6; i++) dync__ptx_reg(p, "f32", floats[i]);
    dync__cuda_tile_regs(t, "f32", "%o", 2);
    dync__cuda_tile_regs(t, "pred", "%is", 2);
    dync__cuda_tile_wide(t, "%pair", temp);
    dync__ptx_line(p, "mad.wide.u32 %%pair, %%cta, 8, %%pair");
    dync__cuda_tile_wide(t, "%pair0", "%pair");
    dync__cuda_tile_set(t, "u32", "%left", "mov", "%lld", (long long)c->splits);
    dync__ptx_reg(p, "pred", "%more");
    dync__ptx_line(p, "mov.f32 %%most, 0fff800000");
    dync__cuda_tile_label(t, "MOST");
    dync__ptx_line(p, "ld.global.f32 %%m, [%%pair]");
    dync__ptx_line(p, "max.f32 %%most, %%most, %%m");
    dync__ptx_line(p, "add.s64 %%pair, %%pair, %lld", (long long)(all * 8));
    dync__ptx_line(p, "sub.u32 %%left, %%left, 1");
    dync__ptx_line(p, "setp.gt.u32 %%more, %%left, 0");
    dync__ptx_line(p, "@%%more bra MOST");
    dync__ptx_line(p, "setp.eq.f32 %%more, %%most, 0fff800000"); /* nothing is seen */
    dync__ptx_line(p, "selp.f32 %%base, 0f00000000, %%most, %%more");
    dync__ptx_line(p, "mov.b32 %%sum, 0");
    dync__ptx_line(p, "mov.u32 %%left, %lld", (long long)c->splits);
    dync__cuda_tile_wide(t, "%wide", NULL);
    dync__ptx_line(p, "cvt.u64.u32 %%wide, %%cta");
    dync__cuda_tile_set(t, "s64", "%from", "mad.lo", "%%wide, %lld, %s", (long long)(c->V * 4),
                        temp);
    dync__ptx_line(p, "mad.wide.u32 %%from, %%thr, 4, %%from");
    dync__ptx_line(p, "add.s64 %%from, %%from, %lld", (long long)dync__fa_pairs_bytes(c));
    for (int i = 0; i < columns; i++) {
        dync__ptx_line(p, "mov.b32 %%o%d, 0", i);
        dync__ptx_line(p, "setp.lt.u32 %%is%d, %%thr, %lld", i, (long long)(c->V - i * THREADS));
    }
    dync__cuda_tile_label(t, "SPLIT");
    dync__ptx_line(p, "ld.global.v2.f32 {%%m, %%n}, [%%pair0]");
    dync__ptx_line(p, "sub.rn.f32 %%m, %%m, %%base");
    dync__ptx_line(p, "ex2.approx.ftz.f32 %%m, %%m");
    dync__ptx_line(p, "fma.rn.f32 %%sum, %%m, %%n, %%sum");
    for (int i = 0; i < columns; i++) {
        dync__ptx_line(p, "mov.b32 %%x, 0");
        dync__ptx_line(p, "@%%is%d ld.global.f32 %%x, [%%from+%d]", i, i * THREADS * 4);
        dync__ptx_line(p, "fma.rn.f32 %%o%d, %%m, %%x, %%o%d", i, i);
    }
    dync__ptx_line(p, "add.s64 %%pair0, %%pair0, %lld", (long long)(all * 8));
    dync__ptx_line(p, "add.s64 %%from, %%from, %lld", (long long)(all * c->V * 4));
    dync__ptx_line(p, "sub.u32 %%left, %%left, 1");
    dync__ptx_line(p, "setp.gt.u32 %%more, %%left, 0");
    dync__ptx_line(p, "@%%more bra SPLIT");
    dync__ptx_line(p, "lg2.approx.f32 %%x, %%sum");
    dync__ptx_line(p, "add.rn.f32 %%x, %%x, %%most");
    dync__ptx_line(p, "mul.rn.f32 %%x, %%x, %s", ln2);
    dync__ptx_line(p, "setp.eq.u32 %%more, %%thr, 0");
    dync__ptx_line(p, "cvt.u64.u32 %%wide, %%row");
    dync__fa_base(c, "%log", lse, 4);
    dync__ptx_line(p, "mad.lo.s64 %%log, %%wide, %lld, %%log",
                   (long long)(lse->lay.stride[c->n_batch] * 4));
    dync__ptx_line(p, "@%%more st.global.f32 [%%log], %%x");
    dync__ptx_line(p, "setp.eq.f32 %%more, %%sum, 0f00000000");
    dync__ptx_line(p, "div.rn.f32 %%sum, 0f3f800000, %%sum");
    dync__ptx_line(p, "selp.f32 %%sum, 0f00000000, %%sum, %%more");
    int64_t bytes = dync__dtype_info(y->dtype)->bytes,
            column = y->lay.stride[c->n_batch + 1] * bytes;
    dync__fa_base(c, "%to", y, 3);
    dync__ptx_line(p, "mad.lo.s64 %%to, %%wide, %lld, %%to",
                   (long long)(y->lay.stride[c->n_batch] * bytes));
    dync__ptx_line(p, "cvt.u64.u32 %%wide, %%thr");
    dync__ptx_line(p, "mad.lo.s64 %%to, %%wide, %lld, %%to", (long long)column);
    for (int i = 0; i < columns; i++) {
        char value[8], guard[16];
        dync__format(value, sizeof value, "%%o%d", i);
        dync__format(guard, sizeof guard, "@%%is%d ", i);
        dync__ptx_line(p, "mul.rn.f32 %s, %s, %%sum", value, value);
        if (i) dync__ptx_line(p, "add.s64 %%to, %%to, %lld", (long long)(THREADS * column));
        dync__cuda_tile_store(t, y->dtype, "%to", value, guard);
    }
    dync__cuda_tile_entry(t, "attention_join", all, 1, 1, THREADS);
}

/* Where queries do not fill the device and there are keys for it: two blocks a multiprocessor, four
 * tiles of keys to each. */
static void dync__fa_choose_splits(dync__fa *c, int units)
{
    int64_t blocks = c->units * ((c->L + c->rows - 1) / c->rows),
            splits =
                DYNC__MIN(DYNC__MIN((2 * units + blocks - 1) / blocks, c->S / (4 * c->cols)), 64);
    c->splits = 1;
    if (c->causal || 2 * blocks > units || splits < 2) return;
    c->chunk = ((c->S + splits - 1) / splits + 63) / 64 * 64;
    c->splits = (c->S + c->chunk - 1) / c->chunk;
}

static void dync__fa_forward_text(dync__fa *c)
{
    dync__ptx *p = &c->t.p;
    int wide_e = dync__fa_padded(c->E), wide_v = dync__fa_padded(c->V);
    dync__fa_tile q = {.name = "q",
                       .o = c->q,
                       .buf = 0,
                       .rows = c->rows,
                       .width = wide_e,
                       .limit = c->L,
                       .columns = c->E};
    dync__fa_tile k = {.name = "k",
                       .o = c->k,
                       .buf = 1,
                       .rows = c->cols,
                       .width = wide_e,
                       .limit = c->S,
                       .columns = c->E};
    dync__fa_tile v = {.name = "v",
                       .o = c->v,
                       .buf = 2,
                       .rows = c->cols,
                       .width = wide_v,
                       .limit = c->S,
                       .columns = c->V};
    dync__fa_place(c, c->L, c->causal);
    dync__fa_mask_regs(c);
    dync__fa_frag s = dync__fa_frag_new(c, "%s", c->cols, false),
                  o = dync__fa_frag_new(c, "%o", wide_v, true);
    dync__ptx_line(p, c->splits > 1 ? "mul.lo.s32 %%j, %%split, %lld" : "mov.b32 %%j, 0",
                   (long long)c->chunk);
    dync__fa_tile_begin(c, &q, "%i0");
    dync__fa_tile_begin(c, &k, "%j");
    dync__fa_tile_begin(c, &v, "%j");
    dync__fa_reader(c, &q, 'a');
    dync__fa_reader(c, &k, 'b');
    dync__fa_reader(c, &v, 'n');
    dync__fa_issue(c, &q);
    dync__fa_issue(c, &k);
    dync__cuda_tile_commit(&c->t);
    dync__fa_begin_rows(c, &s, &o);
    dync__fa_last_key(c);
    dync__cuda_tile_label(&c->t, "KEYS");
    dync__cuda_tile_wait(&c->t, 0);
    /* keys are there; all have done with the last values */
    dync__cuda_tile_barrier(&c->t);
    dync__fa_issue(c, &v);
    dync__cuda_tile_commit(&c->t);
    dync__fa_nt(c, &s, &q, &k);
    dync__cuda_tile_wait(&c->t, 0);
    /* values are there; all have done with the keys */
    dync__cuda_tile_barrier(&c->t);
    dync__ptx_line(p, "add.s32 %%jn, %%j, %d", c->cols);
    dync__ptx_line(p, "setp.lt.s32 %%more, %%jn, %%jend");
    dync__ptx_line(p, "not.pred %%none, %%more");
    dync__ptx_line(p, "@%%none bra LAST");
    dync__fa_issue(c, &k);
    dync__cuda_tile_label(&c->t, "LAST");
    dync__cuda_tile_commit(&c->t);
    dync__fa_mask(c, &s, false, "SEEN");
    dync__fa_exponentials(c, &s);
    dync__fa_rescale(c, &o);
    dync__fa_weights(c, &s);
    dync__fa_nn(c, &o, &v);
    dync__ptx_line(p, "mov.b32 %%j, %%jn");
    dync__ptx_line(p, "@%%more bra KEYS");
    if (c->splits > 1)
        dync__fa_partials(c, &o);
    else
        dync__fa_outputs(c, &o);
    dync__cuda_tile_entry(&c->t, c->splits > 1 ? "attention_split" : "attention",
                          c->units * ((c->L + c->rows - 1) / c->rows) * c->splits, 1, 1,
                          c->threads);
    if (c->splits > 1) dync__fa_join(c);
}

/* Tiles by width of the head; two tiles of rows to a warp where there are enough of them for every
 * multiprocessor. */
static void dync__fa_forward_shape(dync__fa *c, int units)
{
    int width = dync__fa_padded(DYNC__MAX(c->E, c->V));
    c->threads = 128;
    c->mt = c->L > 64 && width <= 128 && c->units * ((c->L + 127) / 128) >= units ? 2 : 1;
    c->rows = 64 * c->mt;
    c->cols = width > 128 || (width > 64 && c->mt == 2) ? 32 : 64;
    if (c->mma && c->bytes == 4)
        c->mt = 1, c->rows = 64, c->cols = width > 128 ? 16 : width > 64 ? 32 : 64;
    if (c->mma) return;
    c->rows = c->cols = c->L > 32 && width <= 128 ? 64 : 32;
}

DYNC__FN dync_status dync__fa_forward(dync__cuda_code *code, const dync__kcall *call)
{
    dync__fa c;
    int32_t buf[] = {0, 1, 2, 3, 4, 5, 6};
    int units = dync__cuda_unit_of(code->device >> 8)->units;
    dync__fa_open(&c, call, false, false);
    if (!dync__fa_can(&c, 3)) return dync__fa_plain(code, call);
    dync__fa_forward_shape(&c, units);
    dync__fa_choose_splits(&c, units);
    int64_t splits = c.splits, chunk = c.chunk;
    if (splits > 1 && (buf[call->n] = dync__cuda_add_temp(
                           code, dync__fa_pairs_bytes(&c) + splits * c.units * c.L * c.V * 4)) < 0)
        return dync__fail_memory(0);
    static const int forms[] = {DYNC__CUDA_ANY, DYNC__CUDA_VARIANT, DYNC__CUDA_TF32};
    for (int form = 0; form < (c.dtype == DYNC_F32 ? 3 : 2); form++) {
        bool vec = form > 0, tf32 = form == 2;
        dync__fa_open(&c, call, false, vec);
        if (tf32) c.mma = true, c.kind = DYNC__TILE_TF32;
        dync__cuda_tile_begin(&c.t, call->n + (splits > 1));
        const dync__operand *rows[] = {c.q, c.k, c.v, &c.op[3]};
        if (vec && !dync__fa_rows_fit(&c, rows, 4)) {
            dync__str_free(&c.t.p.regs);
            dync__str_free(&c.t.p.body);
            break;
        }
        c.splits = splits;
        c.chunk = chunk;
        if (!vec || tf32 || splits > 1 || !dync__fa_wgmma(&c, code->device)) {
            dync__fa_forward_shape(&c, units);
            dync__fa_forward_text(&c);
        }
        if (!dync__fa_finish(&c, code, forms[form], buf)) return DYNC_ERR_MEMORY;
    }
    return DYNC_OK;
}
