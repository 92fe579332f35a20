/* cuda/scatter.c: writes and additions to places given by an index. After sort.c, before calls.c.
 *
 *   writes     the last one in the order of the index wins: one launch leaves at every place the
 *              greatest number of those that write there (an atomic maximum), the next writes what
 *              has this number
 *   integers   atomic additions: their sum is the same in any order
 *   floats     the index is sorted, so that additions to one place are a run. A thread adds up a
 *              chunk of the sorted items: runs that begin in it go to their place, what goes on
 *              from the chunk before is left in the scratch, and a second launch adds that. The
 *              order of additions follows from the index and the sizes alone
 *   few        a thread owns the elements of a line whose place is p modulo P, and walks the line's
 *              whole index: one launch
 * Half floats add up in f32, narrow integers in i32. Numbers that are no place are skipped. Texts
 * are made for one set of sizes. */
#include "../dync.in.h"
#include "tile.h"
#include "scatter.h"
DYNC__COLD

DYNC__FN int64_t dync__cuda_numel(const dync__operand *o, int skip)
{
    int64_t n = 1;
    for (int d = 0; d < o->lay.ndim; d++)
        if (d != skip) n *= o->lay.shape[d];
    return n;
}

DYNC__FN long long dync__sca_step(const dync__sca *s, const dync__operand *o)
{
    return (long long)(o->lay.stride[s->shared && o == s->index ? 0 : s->dim] *
                       dync__dtype_info(o->dtype)->bytes);
}
DYNC__FN bool dync__sca_is_float(const dync__sca *s)
{
    return s->compute == DYNC_F32 || s->compute == DYNC_F64;
}

DYNC__FN void dync__sca_thread(dync__sca *s, int64_t n)
{
    dync__ptx *p = &s->t.p;
    static const char *const b64[] = {"%n", "%line", "%pi", "%pf", "%pt", "%i", "%place", "%at"},
                             *const preds[] = {"%out", "%ok", "%more"};
    for (int i = 0; i < DYNC__COUNT_OF(b64); i++) dync__ptx_reg(p, "b64", b64[i]);
    for (int i = 0; i < DYNC__COUNT_OF(preds); i++) dync__ptx_reg(p, "pred", preds[i]);
    dync__ptx_line(p, "cvt.u64.u32 %%i, %%thr");
    dync__ptx_line(p, "mad.wide.u32 %%n, %%cta, %d, %%i", DYNC__SCA_BLOCK);
    dync__ptx_line(p, "setp.ge.s64 %%out, %%n, %lld", (long long)n);
    dync__ptx_line(p, "@%%out ret");
}
DYNC__FN void dync__sca_entry(dync__sca *s, const char *name, int64_t threads)
{
    dync__cuda_tile_entry(&s->t, name, (threads + DYNC__SCA_BLOCK - 1) / DYNC__SCA_BLOCK, 1, 1,
                          DYNC__SCA_BLOCK);
}

DYNC__FN void dync__sca_lines(dync__sca *s, int from)
{
    dync__ptx *p = &s->t.p;
    dync__ptx_line(p, "mov.b64 %%pf, %%b%d", from);
    dync__ptx_line(p, "mov.b64 %%pt, %%b%d", from + 1);
    dync__cuda_tile_address(&s->t, "%pf", s->from, s->walked, s->dim, "%line");
    dync__cuda_tile_address(&s->t, "%pt", s->to, s->walked, s->dim, "%line");
}
static void dync__sca_index(dync__sca *s)
{
    dync__ptx *p = &s->t.p;
    dync__ptx_line(p, "mov.b64 %%pi, %%b0");
    if (s->shared)
        dync__ptx_line(p, "add.s64 %%pi, %%pi, %lld", (long long)(s->index->lay.offset * 8));
    else
        dync__cuda_tile_address(&s->t, "%pi", s->index, s->walked, s->dim, "%line");
}

DYNC__FN void dync__sca_scale(dync__sca *s, const char *v)
{
    dync__scalar scale;
    scale.i = (int64_t)s->scale;
    if (!(s->scale < 1 || s->scale > 1)) return;
    if (s->compute == DYNC_F32)
        scale.f = (float)s->scale;
    else if (s->compute == DYNC_F64)
        scale.d = s->scale;
    dync__ptx_line(&s->t.p, "mul%s.%s %s, %s, %s", dync__sca_is_float(s) ? ".rn" : ".lo", s->type,
                   v, v, dync__ptx_constant(&s->t.p, s->compute, scale));
}

/* ---- few ------------------------------------------------------------------------------------- */

DYNC__FN bool dync__sca_few(dync__cuda_code *code, dync__sca *s, const char *name, int64_t units)
{
    dync__ptx *p = &s->t.p;
    int64_t parts = 1;
    while (parts < s->size && s->lines * parts < units * 1024 && parts < 4096) parts *= 2;
    dync__cuda_tile_begin(&s->t, 3);
    dync__sca_thread(s, s->lines * parts);
    dync__cuda_tile_wide(&s->t, "%part", NULL);
    dync__ptx_reg(p, "pred", "%mine");
    dync__ptx_reg(p, s->type, "%v");
    dync__ptx_reg(p, s->type, "%old");
    dync__ptx_line(p, "rem.u64 %%line, %%n, %lld", (long long)s->lines);
    dync__ptx_line(p, "div.u64 %%part, %%n, %lld", (long long)s->lines);
    dync__sca_index(s);
    dync__sca_lines(s, 1);
    dync__ptx_line(p, "mov.b64 %%i, 0");
    dync__cuda_tile_label(&s->t, "NEXT");
    dync__ptx_line(p, "ld.global.b64 %%place, [%%pi]");
    dync__ptx_line(p, "and.b64 %%at, %%place, %lld", (long long)(parts - 1));
    dync__ptx_line(p, "setp.eq.s64 %%mine, %%at, %%part");
    /* unsigned: not below 0 either */
    dync__ptx_line(p, "setp.lt.and.u64 %%ok, %%place, %lld, %%mine", (long long)s->size);
    dync__ptx_line(p, "not.pred %%mine, %%ok");
    dync__ptx_line(p, "@%%mine bra SKIP");
    dync__cuda_tile_load(&s->t, s->from->dtype, "%v", "%pf", "");
    dync__ptx_line(p, "mad.lo.s64 %%at, %%place, %lld, %%pt", dync__sca_step(s, s->to));
    if (s->add) {
        dync__sca_scale(s, "%v");
        dync__cuda_tile_load(&s->t, s->to->dtype, "%old", "%at", "");
        dync__ptx_line(p, "add%s.%s %%v, %%old, %%v", dync__sca_is_float(s) ? ".rn" : "", s->type);
    }
    dync__cuda_tile_store(&s->t, s->to->dtype, "%at", "%v", "");
    dync__cuda_tile_label(&s->t, "SKIP");
    dync__ptx_line(p, "add.s64 %%i, %%i, 1");
    dync__ptx_line(p, "add.s64 %%pi, %%pi, %lld", dync__sca_step(s, s->index));
    dync__ptx_line(p, "add.s64 %%pf, %%pf, %lld", dync__sca_step(s, s->from));
    dync__ptx_line(p, "setp.lt.s64 %%more, %%i, %lld", (long long)s->count);
    dync__ptx_line(p, "@%%more bra NEXT");
    dync__sca_entry(s, name, s->lines * parts);
    return dync__cuda_tile_end(&s->t, code, s->buf);
}

/* ---- atomics: a thread an item --------------------------------------------------------------- */

/* %pf: the thread's element; %pt: its place; %at: the word of the place in the scratch, where asked
 * for. Threads without a place leave. */
static void dync__sca_item(dync__sca *s, bool words)
{
    dync__ptx *p = &s->t.p;
    /* neighbours in memory for neighbouring threads */
    bool along = s->from->lay.stride[s->dim] == 1;
    dync__sca_thread(s, s->lines * s->count);
    dync__ptx_line(p, "%s.u64 %%i, %%n, %lld", along ? "rem" : "div",
                   (long long)(along ? s->count : s->lines));
    dync__ptx_line(p, "%s.u64 %%line, %%n, %lld", along ? "div" : "rem",
                   (long long)(along ? s->count : s->lines));
    dync__sca_index(s);
    dync__ptx_line(p, "mad.lo.s64 %%pi, %%i, %lld, %%pi", dync__sca_step(s, s->index));
    dync__ptx_line(p, "ld.global.b64 %%place, [%%pi]");
    dync__ptx_line(p, "setp.ge.u64 %%out, %%place, %lld", (long long)s->size);
    dync__ptx_line(p, "@%%out ret");
    dync__sca_lines(s, 1);
    dync__ptx_line(p, "mad.lo.s64 %%pf, %%i, %lld, %%pf", dync__sca_step(s, s->from));
    dync__ptx_line(p, "mad.lo.s64 %%pt, %%place, %lld, %%pt", dync__sca_step(s, s->to));
    dync__ptx_reg(p, s->type, "%v");
    if (!words) return;
    dync__cuda_tile_scratch(&s->t);
    dync__ptx_line(p, "mad.lo.s64 %%at, %%line, %lld, %%place", (long long)s->size);
    dync__ptx_line(p, "mad.lo.s64 %%at, %%at, 4, %%scratch");
    dync__ptx_reg(p, "u32", "%number");
    dync__ptx_line(p, "cvt.u32.u64 %%number, %%i");
    dync__ptx_line(p, "add.u32 %%number, %%number, 1");
}

DYNC__FN bool dync__sca_last_write(dync__cuda_code *code, dync__sca *s, const char *name)
{
    dync__ptx *p = &s->t.p;
    dync__cuda_tile_begin(&s->t, 3);
    s->t.out.scratch_bytes = s->lines * s->size * 4;
    dync__sca_thread(s, s->lines * s->size);
    dync__cuda_tile_scratch(&s->t);
    dync__ptx_line(p, "mad.lo.s64 %%at, %%n, 4, %%scratch");
    dync__ptx_line(p, "st.global.u32 [%%at], 0");
    dync__sca_entry(s, name, s->lines * s->size);
    dync__cuda_tile_next(&s->t);
    dync__sca_item(s, true);
    dync__ptx_line(p, "red.global.max.u32 [%%at], %%number");
    dync__sca_entry(s, name, s->lines * s->count);
    dync__cuda_tile_next(&s->t);
    dync__sca_item(s, true);
    dync__ptx_reg(p, "u32", "%last");
    dync__ptx_line(p, "ld.global.u32 %%last, [%%at]");
    dync__ptx_line(p, "setp.ne.u32 %%out, %%last, %%number");
    dync__ptx_line(p, "@%%out ret");
    dync__cuda_tile_load(&s->t, s->from->dtype, "%v", "%pf", "");
    dync__cuda_tile_store(&s->t, s->to->dtype, "%pt", "%v", "");
    dync__sca_entry(s, name, s->lines * s->count);
    return dync__cuda_tile_end(&s->t, code, s->buf);
}

DYNC__FN bool dync__sca_integers(dync__cuda_code *code, dync__sca *s, const char *name)
{
    dync__cuda_tile_begin(&s->t, 3);
    dync__sca_item(s, false);
    dync__cuda_tile_load(&s->t, s->from->dtype, "%v", "%pf", "");
    dync__sca_scale(s, "%v");
    dync__ptx_line(&s->t.p, "red.global.add.%s [%%pt], %%v",
                   s->to->dtype == DYNC_I64 ? "u64" : "u32");
    dync__sca_entry(s, name, s->lines * s->count);
    return dync__cuda_tile_end(&s->t, code, s->buf);
}
