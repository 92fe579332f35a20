/* cuda/calls.c: running sums as PTX written out. After scatter.c, before launch.c.
 *
 * A block a line, four elements a thread: warps scan by shuffles, their totals meet in shared
 * memory, the rest of the line goes on from the carry. Few long lines are cut into chunks, a block
 * each, after a launch that adds up every chunk. Texts are made for one set of sizes. Sources:
 * Blelloch 1990 (scans). */
#include "../dync.in.h"
#include "tile.h"
DYNC__COLD

/* ---- cumsum: x, y ----------------------------------------------------------------- */

enum {
    DYNC__SCAN_BLOCK = 256,
    DYNC__SCAN_OWN = 4,
    DYNC__SCAN_TILE = DYNC__SCAN_BLOCK * DYNC__SCAN_OWN,
    DYNC__SCAN_MOST = 1024
};
typedef struct dync__scan {
    dync__cuda_tile t;
    const dync__operand *x, *y;
    int dim, compute;
    const char *type, *add; /* sums: f64, or s64 */
    int64_t lines, length, chunk, chunks;
} dync__scan;

/* other = acc of the thread `distance` below or across; %there tells whether there is one below */
static void dync__scan_shuffle(dync__scan *s, const char *other, const char *acc, const char *way,
                               int distance)
{
    dync__ptx *p = &s->t.p;
    const char *low = dync__ptx_temp(p, "b32"), *high = dync__ptx_temp(p, "b32"),
               *low2 = dync__ptx_temp(p, "b32"), *high2 = dync__ptx_temp(p, "b32");
    int clamp = way[0] == 'u' ? 0 : 31;
    dync__ptx_line(p, "mov.b64 {%s, %s}, %s", low, high, acc);
    dync__ptx_line(p, "shfl.sync.%s.b32 %s|%%there, %s, %d, %d, 0xffffffff", way, low2, low,
                   distance, clamp);
    dync__ptx_line(p, "shfl.sync.%s.b32 %s|%%there, %s, %d, %d, 0xffffffff", way, high2, high,
                   distance, clamp);
    dync__ptx_line(p, "mov.b64 %s, {%s, %s}", other, low2, high2);
}

/* Every thread's %sum added up, in every thread; `at`: where in shared memory. */
static void dync__scan_block_sum(dync__scan *s, int at)
{
    dync__ptx *p = &s->t.p;
    for (int distance = 16; distance > 0; distance /= 2) {
        dync__scan_shuffle(s, "%other", "%sum", "bfly", distance);
        dync__ptx_line(p, "%s %%sum, %%sum, %%other", s->add);
    }
    dync__ptx_line(p, "@%%last st.shared.b64 [%%slot+%d], %%sum", at);
    dync__cuda_tile_barrier(&s->t);
    dync__ptx_line(p, "mov.b64 %%sum, 0");
    for (int w = 0; w < DYNC__SCAN_BLOCK / 32; w++) {
        dync__ptx_line(p, "ld.shared.b64 %%other, [%%smem+%d]", at + 8 * w);
        dync__ptx_line(p, "%s %%sum, %%sum, %%other", s->add);
    }
}

/* Registers; the line's addresses; where the block's part of the line begins and ends. */
static void dync__scan_open(dync__scan *s)
{
    dync__cuda_tile *t = &s->t;
    dync__ptx *p = &t->p;
    static const char *const b64[] = {"%line", "%chunk", "%pos",  "%from", "%stop", "%px",
                                      "%py",   "%here",  "%part", "%x",    "%y"},
                             *const preds[] = {"%last", "%more", "%mine", "%there"};
    static const char *const sums[] = {"%sum", "%other", "%before", "%carry"};
    for (int i = 0; i < DYNC__COUNT_OF(b64); i++) dync__ptx_reg(p, "b64", b64[i]);
    for (int i = 0; i < DYNC__COUNT_OF(preds); i++) dync__ptx_reg(p, "pred", preds[i]);
    for (int i = 0; i < DYNC__COUNT_OF(sums); i++) dync__ptx_reg(p, s->type, sums[i]);
    dync__cuda_tile_regs(t, s->type, "%acc", DYNC__SCAN_OWN);
    dync__cuda_tile_regs(t, dync__ptx_type(s->compute), "%v", DYNC__SCAN_OWN);
    dync__cuda_tile_regs(t, "pred", "%in", DYNC__SCAN_OWN);
    dync__ptx_reg(p, "b32", "%slot");
    dync__cuda_tile_special(t, "%ctay", "%ctaid.y");
    if (s->chunks > 1) dync__cuda_tile_scratch(t);
    (void)dync__cuda_tile_shared(t, 2 * 8 * (DYNC__SCAN_BLOCK / 32), 8);
    dync__ptx_line(p, "cvt.u64.u32 %%line, %%cta");
    dync__ptx_line(p, "cvt.u64.u32 %%chunk, %%ctay");
    dync__ptx_line(p, "mov.b64 %%x, %%b0");
    dync__ptx_line(p, "mov.b64 %%y, %%b1");
    dync__cuda_tile_address(t, "%x", s->x, s->x->lay.shape, s->dim, "%line");
    dync__cuda_tile_address(t, "%y", s->y, s->y->lay.shape, s->dim, "%line");
    dync__ptx_line(p, "mul.lo.s64 %%pos, %%chunk, %lld", (long long)s->chunk);
    dync__ptx_line(p, "add.s64 %%stop, %%pos, %lld", (long long)s->chunk);
    dync__ptx_line(p, "min.s64 %%stop, %%stop, %lld", (long long)s->length);
    /* of the tile, the same in every thread */
    dync__ptx_line(p, "mov.b64 %%from, %%pos");
    dync__ptx_line(p, "cvt.u64.u32 %%here, %%thr");
    dync__ptx_line(p, "mad.lo.s64 %%pos, %%here, %d, %%pos", DYNC__SCAN_OWN);
    dync__ptx_line(p, "mad.lo.u32 %%slot, %%warp, 8, %%smem");
    dync__ptx_line(p, "setp.eq.u32 %%last, %%lane, 31");
    dync__ptx_line(p, "mov.b64 %%carry, 0");
    dync__ptx_line(p, "mov.b64 %%sum, 0");
}

/* %acc0 ..: the thread's elements of the tile, zeros past the end. */
static void dync__scan_load(dync__scan *s)
{
    dync__ptx *p = &s->t.p;
    char v[24], in[24];
    int64_t step = s->x->lay.stride[s->dim] * dync__dtype_info(s->x->dtype)->bytes;
    dync__ptx_line(p, "mad.lo.s64 %%px, %%pos, %lld, %%x", (long long)step);
    for (int k = 0; k < DYNC__SCAN_OWN; k++) {
        dync__format(v, sizeof v, "%%v%d", k);
        dync__format(in, sizeof in, "@%%in%d ", k);
        dync__ptx_line(p, "add.s64 %%here, %%pos, %d", k);
        dync__ptx_line(p, "setp.lt.s64 %%in%d, %%here, %%stop", k);
        dync__cuda_tile_load(&s->t, s->x->dtype, v, "%px", in);
        if (k + 1 < DYNC__SCAN_OWN) dync__ptx_line(p, "add.s64 %%px, %%px, %lld", (long long)step);
    }
    for (int k = 0; k < DYNC__SCAN_OWN; k++) {
        if (s->compute == DYNC_F32)
            dync__ptx_line(p, "cvt.f64.f32 %%acc%d, %%v%d", k, k);
        else if (s->compute == DYNC_I32)
            dync__ptx_line(p, "cvt.s64.s32 %%acc%d, %%v%d", k, k);
        else
            dync__ptx_line(p, "mov.b64 %%acc%d, %%v%d", k, k);
        dync__ptx_line(p, "selp.%s %%acc%d, %%acc%d, %s, %%in%d", s->type, k, k,
                       s->type[0] == 'f' ? "0d0000000000000000" : "0", k);
    }
}

static void dync__scan_next(dync__scan *s)
{
    dync__ptx *p = &s->t.p;
    dync__ptx_line(p, "add.s64 %%pos, %%pos, %d", DYNC__SCAN_TILE);
    dync__ptx_line(p, "add.s64 %%from, %%from, %d", DYNC__SCAN_TILE);
    dync__ptx_line(p, "setp.lt.s64 %%more, %%from, %%stop");
    dync__ptx_line(p, "@%%more bra TILE");
}

/* The sum of each chunk, into the scratch memory. */
static void dync__scan_sums(dync__scan *s)
{
    dync__ptx *p = &s->t.p;
    dync__scan_open(s);
    dync__cuda_tile_label(&s->t, "TILE");
    dync__scan_load(s);
    for (int k = 0; k < DYNC__SCAN_OWN; k++)
        dync__ptx_line(p, "%s %%sum, %%sum, %%acc%d", s->add, k);
    dync__scan_next(s);
    dync__scan_block_sum(s, 0);
    dync__ptx_line(p, "mad.lo.s64 %%part, %%line, %lld, %%chunk", (long long)s->chunks);
    dync__ptx_line(p, "mad.lo.s64 %%part, %%part, 8, %%scratch");
    dync__ptx_line(p, "setp.eq.u32 %%mine, %%thr, 0");
    dync__ptx_line(p, "@%%mine st.global.b64 [%%part], %%sum");
    dync__cuda_tile_entry(&s->t, "cumsum_sums", s->lines, s->chunks, 1, DYNC__SCAN_BLOCK);
    dync__cuda_tile_next(&s->t);
}

/* %carry: the sums of the chunks before this one, always added up in the same order. */
static void dync__scan_carry(dync__scan *s)
{
    dync__ptx *p = &s->t.p;
    dync__ptx_line(p, "mad.lo.s64 %%part, %%line, %lld, 0", (long long)s->chunks);
    dync__ptx_line(p, "mad.lo.s64 %%part, %%part, 8, %%scratch");
    dync__ptx_line(p, "cvt.u64.u32 %%here, %%thr");
    dync__ptx_line(p, "mad.lo.s64 %%part, %%here, 8, %%part");
    for (int64_t k = 0; k < s->chunks; k += DYNC__SCAN_BLOCK) {
        dync__ptx_line(p, "setp.lt.s64 %%mine, %%here, %%chunk");
        dync__ptx_line(p, "mov.b64 %%other, 0");
        dync__ptx_line(p, "@%%mine ld.global.b64 %%other, [%%part+%lld]", (long long)(8 * k));
        dync__ptx_line(p, "%s %%sum, %%sum, %%other", s->add);
        dync__ptx_line(p, "add.s64 %%here, %%here, %d", DYNC__SCAN_BLOCK);
    }
    dync__scan_block_sum(s, 8 * (DYNC__SCAN_BLOCK / 32));
    dync__ptx_line(p, "mov.b64 %%carry, %%sum");
}

static void dync__scan_lines(dync__scan *s)
{
    dync__ptx *p = &s->t.p;
    char v[24], in[24];
    int64_t step = s->y->lay.stride[s->dim] * dync__dtype_info(s->y->dtype)->bytes;
    dync__scan_open(s);
    if (s->chunks > 1) dync__scan_carry(s);
    dync__cuda_tile_label(&s->t, "TILE");
    dync__scan_load(s);
    for (int k = 1; k < DYNC__SCAN_OWN; k++)
        dync__ptx_line(p, "%s %%acc%d, %%acc%d, %%acc%d", s->add, k, k, k - 1);
    dync__ptx_line(p, "mov.b64 %%sum, %%acc%d", DYNC__SCAN_OWN - 1);
    for (int distance = 1; distance < 32; distance *= 2) {
        dync__scan_shuffle(s, "%other", "%sum", "up", distance);
        dync__ptx_line(p, "@%%there %s %%sum, %%sum, %%other", s->add);
    }
    dync__scan_shuffle(s, "%other", "%sum", "up", 1);
    dync__ptx_line(p, "selp.b64 %%before, %%other, 0, %%there");
    dync__ptx_line(p, "@%%last st.shared.b64 [%%slot], %%sum");
    dync__cuda_tile_barrier(&s->t);
    dync__ptx_line(p, "%s %%before, %%before, %%carry", s->add);
    /* totals of the warps before this one; of all: the next carry */
    for (int w = 0; w < DYNC__SCAN_BLOCK / 32; w++) {
        dync__ptx_line(p, "ld.shared.b64 %%other, [%%smem+%d]", 8 * w);
        dync__ptx_line(p, "setp.gt.u32 %%mine, %%warp, %d", w);
        dync__ptx_line(p, "@%%mine %s %%before, %%before, %%other", s->add);
        dync__ptx_line(p, "%s %%carry, %%carry, %%other", s->add);
    }
    dync__cuda_tile_barrier(&s->t);
    dync__ptx_line(p, "mad.lo.s64 %%py, %%pos, %lld, %%y", (long long)step);
    for (int k = 0; k < DYNC__SCAN_OWN; k++) {
        dync__format(v, sizeof v, "%%v%d", k);
        dync__format(in, sizeof in, "@%%in%d ", k);
        dync__ptx_line(p, "%s %%acc%d, %%acc%d, %%before", s->add, k, k);
        if (s->compute == DYNC_F32)
            dync__ptx_line(p, "cvt.rn.f32.f64 %%v%d, %%acc%d", k, k);
        else if (s->compute == DYNC_I32)
            dync__ptx_line(p, "cvt.u32.u64 %%v%d, %%acc%d", k, k);
        else
            dync__ptx_line(p, "mov.b64 %%v%d, %%acc%d", k, k);
        dync__cuda_tile_store(&s->t, s->y->dtype, "%py", v, in);
        if (k + 1 < DYNC__SCAN_OWN) dync__ptx_line(p, "add.s64 %%py, %%py, %lld", (long long)step);
    }
    dync__scan_next(s);
    dync__cuda_tile_entry(&s->t, "cumsum", s->lines, s->chunks, 1, DYNC__SCAN_BLOCK);
}

static dync_status dync__cw_cumsum(dync__cuda_code *code, const dync__kcall *call)
{
    dync__scan s;
    int64_t units = dync__cuda_unit_of(code->device >> 8)->units;
    int32_t buf[] = {0, 1};
    memset(&s, 0, sizeof s);
    s.x = &call->operand[0];
    s.y = &call->operand[1];
    s.dim = (int)call->attr.scan.dim;
    s.compute = dync__dtype_info(s.x->dtype)->compute;
    s.type = s.compute == DYNC_F32 || s.compute == DYNC_F64 ? "f64" : "s64";
    s.add = s.type[0] == 'f' ? "add.rn.f64" : "add.s64";
    s.lines = dync__cuda_numel(s.x, s.dim);
    s.chunk = s.length = s.x->lay.shape[s.dim];
    s.chunks = 1;
    if (s.lines * s.length == 0) return DYNC_OK;
    /* few long lines: a block would have to do too much alone */
    if (s.lines < 2 * units && s.length >= 4 * DYNC__SCAN_TILE) {
        int64_t n = DYNC__MIN(
            DYNC__MIN((6 * units + s.lines - 1) / s.lines, s.length / (2 * DYNC__SCAN_TILE)),
            DYNC__SCAN_MOST);
        s.chunk = ((s.length + n - 1) / n + DYNC__SCAN_TILE - 1) / DYNC__SCAN_TILE *
                  DYNC__SCAN_TILE;
        s.chunks = (s.length + s.chunk - 1) / s.chunk;
    }
    dync__cuda_tile_begin(&s.t, 2);
    if (s.chunks > 1) {
        s.t.out.scratch_bytes = s.lines * s.chunks * 8;
        dync__scan_sums(&s);
    }
    dync__scan_lines(&s);
    return dync__cuda_tile_end(&s.t, code, buf) ? DYNC_OK : DYNC_ERR_MEMORY;
}

DYNC__FN dync_status dync__cuda_call_text(dync__cuda_code *code, const dync__kcall *call,
                                          bool *done)
{
    *done = dync__kcall_is(call, DYNC__K_cumsum);
    return *done ? dync__cw_cumsum(code, call) : dync__cuda_call_scatter(code, call, done);
}
