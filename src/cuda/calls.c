/* cuda/calls.c: kernel calls that are no loop nests, as PTX written out: running sums, scattering. After loops.c and tile.c, before launch.c.
 *
 *   cumsum    a block a line, four elements a thread: warps scan by shuffles, their totals meet in shared memory, the rest of the line goes on
 *             from the carry. Few long lines are cut into chunks, a block each, after a launch that adds up every chunk
 *   scatter   a thread owns the elements of a line whose place is p modulo P, and walks the line's whole index: nothing is written by two,
 *             and additions come in the order of the index, as on the CPU. Half floats add up in f32.
 * Texts are made for one set of sizes. Sources: Blelloch 1990 (scans). */
#include "../dync.in.h"
#include "tile.h"

static int64_t dync__cw_numel(const dync__operand *o, int skip)
{
    int64_t n = 1;
    for (int d = 0; d < o->lay.ndim; d++)
        if (d != skip) n *= o->lay.shape[d];
    return n;
}

/* ---- cumsum: x, y; attr: dim ------------------------------------------------------------------------------------------------------------ */

enum { DYNC__SCAN_BLOCK = 256, DYNC__SCAN_OWN = 4, DYNC__SCAN_TILE = DYNC__SCAN_BLOCK * DYNC__SCAN_OWN, DYNC__SCAN_MOST = 1024 };
typedef struct dync__scan {
    dync__tile t;
    const dync__operand *x, *y;
    int dim, compute;
    const char *type, *add;              /* sums: f64, or s64 */
    int64_t lines, length, chunk, chunks;
} dync__scan;

/* other = acc of the thread `distance` below or across; %there tells whether there is one below */
static void dync__scan_shuffle(dync__scan *s, const char *other, const char *acc, const char *way, int distance)
{
    dync__ptx *p = &s->t.p;
    const char *low = dync__ptx_temp(p, "b32"), *high = dync__ptx_temp(p, "b32"), *low2 = dync__ptx_temp(p, "b32"), *high2 = dync__ptx_temp(p, "b32");
    int clamp = way[0] == 'u' ? 0 : 31;
    dync__ptx_line(p, "mov.b64 {%s, %s}, %s", low, high, acc);
    dync__ptx_line(p, "shfl.sync.%s.b32 %s|%%there, %s, %d, %d, 0xffffffff", way, low2, low, distance, clamp);
    dync__ptx_line(p, "shfl.sync.%s.b32 %s|%%there, %s, %d, %d, 0xffffffff", way, high2, high, distance, clamp);
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
    dync__tile_barrier(&s->t);
    dync__ptx_line(p, "mov.b64 %%sum, 0");
    for (int w = 0; w < DYNC__SCAN_BLOCK / 32; w++) {
        dync__ptx_line(p, "ld.shared.b64 %%other, [%%smem+%d]", at + 8 * w);
        dync__ptx_line(p, "%s %%sum, %%sum, %%other", s->add);
    }
}

/* Registers; the line's addresses; where the block's part of the line begins and ends. */
static void dync__scan_open(dync__scan *s)
{
    dync__tile *t = &s->t;
    dync__ptx *p = &t->p;
    static const char *const b64[] = {"%line", "%chunk", "%pos", "%from", "%stop", "%px", "%py", "%here", "%part", "%x", "%y"}, *const preds[] = {"%last", "%more", "%mine", "%there"};
    static const char *const sums[] = {"%sum", "%other", "%before", "%carry"};
    for (int i = 0; i < DYNC__COUNT_OF(b64); i++) dync__ptx_reg(p, "b64", b64[i]);
    for (int i = 0; i < DYNC__COUNT_OF(preds); i++) dync__ptx_reg(p, "pred", preds[i]);
    for (int i = 0; i < DYNC__COUNT_OF(sums); i++) dync__ptx_reg(p, s->type, sums[i]);
    dync__tile_regs(t, s->type, "%acc", DYNC__SCAN_OWN);
    dync__tile_regs(t, dync__ptx_type(s->compute), "%v", DYNC__SCAN_OWN);
    dync__tile_regs(t, "pred", "%in", DYNC__SCAN_OWN);
    dync__ptx_reg(p, "b32", "%slot");
    dync__tile_special(t, "%ctay", "%ctaid.y");
    if (s->chunks > 1) dync__tile_scratch(t);
    (void)dync__tile_shared(t, 2 * 8 * (DYNC__SCAN_BLOCK / 32), 8);
    dync__ptx_line(p, "cvt.u64.u32 %%line, %%cta");
    dync__ptx_line(p, "cvt.u64.u32 %%chunk, %%ctay");
    dync__ptx_line(p, "mov.b64 %%x, %%b0");
    dync__ptx_line(p, "mov.b64 %%y, %%b1");
    dync__tile_address(t, "%x", s->x, s->x->lay.shape, s->dim, "%line");
    dync__tile_address(t, "%y", s->y, s->y->lay.shape, s->dim, "%line");
    dync__ptx_line(p, "mul.lo.s64 %%pos, %%chunk, %lld", (long long)s->chunk);
    dync__ptx_line(p, "add.s64 %%stop, %%pos, %lld", (long long)s->chunk);
    dync__ptx_line(p, "min.s64 %%stop, %%stop, %lld", (long long)s->length);
    dync__ptx_line(p, "mov.b64 %%from, %%pos");                /* of the tile, the same in every thread */
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
        dync__tile_load(&s->t, s->x->dtype, v, "%px", in);
        if (k + 1 < DYNC__SCAN_OWN) dync__ptx_line(p, "add.s64 %%px, %%px, %lld", (long long)step);
    }
    for (int k = 0; k < DYNC__SCAN_OWN; k++) {
        if (s->compute == DYNC_F32) dync__ptx_line(p, "cvt.f64.f32 %%acc%d, %%v%d", k, k);
        else if (s->compute == DYNC_I32) dync__ptx_line(p, "cvt.s64.s32 %%acc%d, %%v%d", k, k);
        else dync__ptx_line(p, "mov.b64 %%acc%d, %%v%d", k, k);
        dync__ptx_line(p, "selp.%s %%acc%d, %%acc%d, %s, %%in%d", s->type, k, k, s->type[0] == 'f' ? "0d0000000000000000" : "0", k);
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
    dync__tile_label(&s->t, "TILE");
    dync__scan_load(s);
    for (int k = 0; k < DYNC__SCAN_OWN; k++) dync__ptx_line(p, "%s %%sum, %%sum, %%acc%d", s->add, k);
    dync__scan_next(s);
    dync__scan_block_sum(s, 0);
    dync__ptx_line(p, "mad.lo.s64 %%part, %%line, %lld, %%chunk", (long long)s->chunks);
    dync__ptx_line(p, "mad.lo.s64 %%part, %%part, 8, %%scratch");
    dync__ptx_line(p, "setp.eq.u32 %%mine, %%thr, 0");
    dync__ptx_line(p, "@%%mine st.global.b64 [%%part], %%sum");
    dync__tile_entry(&s->t, "cumsum_sums", s->lines, s->chunks, 1, DYNC__SCAN_BLOCK);
    dync__tile_next(&s->t);
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
    dync__tile_label(&s->t, "TILE");
    dync__scan_load(s);
    for (int k = 1; k < DYNC__SCAN_OWN; k++) dync__ptx_line(p, "%s %%acc%d, %%acc%d, %%acc%d", s->add, k, k, k - 1);
    dync__ptx_line(p, "mov.b64 %%sum, %%acc%d", DYNC__SCAN_OWN - 1);
    for (int distance = 1; distance < 32; distance *= 2) {
        dync__scan_shuffle(s, "%other", "%sum", "up", distance);
        dync__ptx_line(p, "@%%there %s %%sum, %%sum, %%other", s->add);
    }
    dync__scan_shuffle(s, "%other", "%sum", "up", 1);
    dync__ptx_line(p, "selp.b64 %%before, %%other, 0, %%there");
    dync__ptx_line(p, "@%%last st.shared.b64 [%%slot], %%sum");
    dync__tile_barrier(&s->t);
    dync__ptx_line(p, "%s %%before, %%before, %%carry", s->add);
    for (int w = 0; w < DYNC__SCAN_BLOCK / 32; w++) {         /* totals of the warps before this one; of all: the next carry */
        dync__ptx_line(p, "ld.shared.b64 %%other, [%%smem+%d]", 8 * w);
        dync__ptx_line(p, "setp.gt.u32 %%mine, %%warp, %d", w);
        dync__ptx_line(p, "@%%mine %s %%before, %%before, %%other", s->add);
        dync__ptx_line(p, "%s %%carry, %%carry, %%other", s->add);
    }
    dync__tile_barrier(&s->t);
    dync__ptx_line(p, "mad.lo.s64 %%py, %%pos, %lld, %%y", (long long)step);
    for (int k = 0; k < DYNC__SCAN_OWN; k++) {
        dync__format(v, sizeof v, "%%v%d", k);
        dync__format(in, sizeof in, "@%%in%d ", k);
        dync__ptx_line(p, "%s %%acc%d, %%acc%d, %%before", s->add, k, k);
        if (s->compute == DYNC_F32) dync__ptx_line(p, "cvt.rn.f32.f64 %%v%d, %%acc%d", k, k);
        else if (s->compute == DYNC_I32) dync__ptx_line(p, "cvt.u32.u64 %%v%d, %%acc%d", k, k);
        else dync__ptx_line(p, "mov.b64 %%v%d, %%acc%d", k, k);
        dync__tile_store(&s->t, s->y->dtype, "%py", v, in);
        if (k + 1 < DYNC__SCAN_OWN) dync__ptx_line(p, "add.s64 %%py, %%py, %lld", (long long)step);
    }
    dync__scan_next(s);
    dync__tile_entry(&s->t, "cumsum", s->lines, s->chunks, 1, DYNC__SCAN_BLOCK);
}

static dync_status dync__cw_cumsum(dync__cuda_code *code, const dync__kcall *call)
{
    dync__scan s;
    int64_t units = dync__cuda_unit_of(code->device >> 8)->units;
    int32_t buf[] = {0, 1};
    memset(&s, 0, sizeof s);
    s.x = &call->operand[0];
    s.y = &call->operand[1];
    s.dim = (int)call->attr[0];
    s.compute = dync__dtype_info(s.x->dtype)->compute;
    s.type = s.compute == DYNC_F32 || s.compute == DYNC_F64 ? "f64" : "s64";
    s.add = s.type[0] == 'f' ? "add.rn.f64" : "add.s64";
    s.lines = dync__cw_numel(s.x, s.dim);
    s.chunk = s.length = s.x->lay.shape[s.dim];
    s.chunks = 1;
    if (s.lines * s.length == 0) return DYNC_OK;
    if (s.lines < 2 * units && s.length >= 4 * DYNC__SCAN_TILE) {  /* few long lines: a block would have to do too much alone */
        int64_t n = DYNC__MIN(DYNC__MIN((6 * units + s.lines - 1) / s.lines, s.length / (2 * DYNC__SCAN_TILE)), DYNC__SCAN_MOST);
        s.chunk = ((s.length + n - 1) / n + DYNC__SCAN_TILE - 1) / DYNC__SCAN_TILE * DYNC__SCAN_TILE;
        s.chunks = (s.length + s.chunk - 1) / s.chunk;
    }
    dync__tile_begin(&s.t, 2);
    if (s.chunks > 1) {
        s.t.out.scratch_bytes = s.lines * s.chunks * 8;
        dync__scan_sums(&s);
    }
    dync__scan_lines(&s);
    return dync__tile_end(&s.t, code, buf) ? DYNC_OK : DYNC_ERR_MEMORY;
}

/* ---- scattering -------------------------------------------------------------------------------------------------------------------------- */

enum { DYNC__CW_SET, DYNC__CW_ADD };

/* to[line, index[i]] = or += scale * from[line, i] for all i in order, where both the index (o: operands as given) and from are walked along
 * dim. index_dim: of the index operand, -1 where all lines share it. */
typedef struct dync__cw_scatter {
    const dync__operand *index, *from, *to;
    int32_t buf[3];
    int dim, kind;
    bool shared;                         /* one index for all lines */
    const int64_t *walked;               /* sizes of the lines' dims */
    int64_t count;
    double scale;
} dync__cw_scatter;

static bool dync__cw_scatter_text(dync__cuda_code *code, const char *name, const dync__cw_scatter *s)
{
    dync__tile t;
    dync__ptx *p = &t.p;
    int compute = dync__dtype_info(s->to->dtype)->compute;
    int64_t lines = 1, size = s->to->lay.shape[s->dim], parts = 1, units = dync__cuda_unit_of(code->device >> 8)->units;
    for (int d = 0; d < s->to->lay.ndim; d++)
        if (d != s->dim) lines *= s->walked[d];
    if (lines * s->count == 0) return true;
    while (parts < size && lines * parts < units * 1024 && parts < 4096) parts *= 2;
    int64_t threads = lines * parts;
    const char *type = dync__ptx_type(compute);
    dync__tile_begin(&t, 3);
    static const char *const b64[] = {"%thread", "%line", "%part", "%pi", "%pf", "%pt", "%i", "%place", "%to"};
    for (int i = 0; i < DYNC__COUNT_OF(b64); i++) dync__ptx_reg(p, "b64", b64[i]);
    static const char *const preds[] = {"%out", "%mine", "%ok", "%more"};
    for (int i = 0; i < DYNC__COUNT_OF(preds); i++) dync__ptx_reg(p, "pred", preds[i]);
    dync__ptx_reg(p, type, "%v");
    dync__ptx_reg(p, type, "%old");
    dync__ptx_line(p, "mul.wide.u32 %%thread, %%cta, 256");
    dync__ptx_line(p, "cvt.u64.u32 %%line, %%thr");
    dync__ptx_line(p, "add.s64 %%thread, %%thread, %%line");
    dync__ptx_line(p, "setp.ge.s64 %%out, %%thread, %lld", (long long)threads);
    dync__ptx_line(p, "@%%out ret");
    dync__ptx_line(p, "rem.u64 %%line, %%thread, %lld", (long long)lines);
    dync__ptx_line(p, "div.u64 %%part, %%thread, %lld", (long long)lines);
    dync__ptx_line(p, "mov.b64 %%pi, %%b0");
    dync__ptx_line(p, "mov.b64 %%pf, %%b1");
    dync__ptx_line(p, "mov.b64 %%pt, %%b2");
    if (s->shared) dync__ptx_line(p, "add.s64 %%pi, %%pi, %lld", (long long)(s->index->lay.offset * 8));
    else dync__tile_address(&t, "%pi", s->index, s->walked, s->dim, "%line");
    dync__tile_address(&t, "%pf", s->from, s->walked, s->dim, "%line");
    dync__tile_address(&t, "%pt", s->to, s->walked, s->dim, "%line");
    dync__ptx_line(p, "mov.b64 %%i, 0");
    dync__str_add(&p->body, "NEXT:\n");
    dync__ptx_line(p, "ld.global.b64 %%place, [%%pi]");
    dync__ptx_line(p, "and.b64 %%to, %%place, %lld", (long long)(parts - 1));
    dync__ptx_line(p, "setp.eq.s64 %%mine, %%to, %%part");
    dync__ptx_line(p, "setp.lt.and.u64 %%ok, %%place, %lld, %%mine", (long long)size);   /* unsigned: not below 0 either */
    dync__ptx_line(p, "not.pred %%mine, %%ok");
    dync__ptx_line(p, "@%%mine bra SKIP");
    dync__tile_load(&t, s->from->dtype, "%v", "%pf", "");
    dync__ptx_line(p, "mad.lo.s64 %%to, %%place, %lld, %%pt", (long long)(s->to->lay.stride[s->dim] * dync__dtype_info(s->to->dtype)->bytes));
    if (s->kind == DYNC__CW_ADD) {
        bool f = compute == DYNC_F32 || compute == DYNC_F64;
        if (s->scale < 1 || s->scale > 1) {
            dync__scalar scale;
            scale.i = (int64_t)s->scale;
            if (compute == DYNC_F32) scale.f = (float)s->scale;
            else if (f) scale.d = s->scale;
            dync__ptx_line(p, "mul%s.%s %%v, %%v, %s", f ? ".rn" : ".lo", type, dync__ptx_constant(p, compute, scale));
        }
        dync__tile_load(&t, s->to->dtype, "%old", "%to", "");
        dync__ptx_line(p, "add%s.%s %%v, %%old, %%v", f ? ".rn" : "", type);
    }
    dync__tile_store(&t, s->to->dtype, "%to", "%v", "");
    dync__str_add(&p->body, "SKIP:\n");
    dync__ptx_line(p, "add.s64 %%i, %%i, 1");
    dync__ptx_line(p, "add.s64 %%pi, %%pi, %lld", (long long)(s->index->lay.stride[s->shared ? 0 : s->dim] * 8));
    dync__ptx_line(p, "add.s64 %%pf, %%pf, %lld", (long long)(s->from->lay.stride[s->dim] * dync__dtype_info(s->from->dtype)->bytes));
    dync__ptx_line(p, "setp.lt.s64 %%more, %%i, %lld", (long long)s->count);
    dync__ptx_line(p, "@%%more bra NEXT");
    dync__tile_entry(&t, name, (threads + 255) / 256, 1, 1, 256);
    return dync__tile_end(&t, code, s->buf);
}

/* to = from, element by element; NULL from: zeros. */
static bool dync__cw_copy(dync__cuda_code *code, const dync__operand *from, int32_t from_buf, const dync__operand *to, int32_t to_buf)
{
    dync__kernel *k = dync__kernel_new(&code->arena, from ? "copy" : "zero", 0, to->lay.ndim, to->lay.shape);
    dync__lb b = {.k = k, .section = 1, .origin = "scatter"};
    int type = dync__dtype_info(to->dtype)->compute;
    if (!k) return false;
    int v = from ? dync__lb_load(&b, dync__kernel_buf(k, from_buf, from->dtype, DYNC__BUF_IN, -1, NULL), dync__kernel_access(k, from->lay.offset, from->lay.stride))
                 : type == DYNC_F32 || type == DYNC_F64 ? dync__lb_f(&b, type, 0) : dync__lb_i(&b, type, 0);
    dync__lb_store(&b, dync__kernel_buf(k, to_buf, to->dtype, DYNC__BUF_OUT, -1, NULL), dync__kernel_access(k, to->lay.offset, to->lay.stride),
                   dync__lb_wrap(&b, dync__lb_cast(&b, v, type), to->dtype));
    return dync__cuda_add_loop(code, k);
}

/* base, index, source, out: half floats by way of f32 where they are added up. */
static dync_status dync__cw_scattered(dync__cuda_code *code, const dync__kcall *call, int kind, bool slices)
{
    const dync__operand *base = &call->operand[0], *index = &call->operand[1], *source = &call->operand[2], *out = &call->operand[3];
    bool half = (out->dtype == DYNC_F16 || out->dtype == DYNC_BF16) && kind == DYNC__CW_ADD;
    dync__operand wide = *out;
    int32_t to = 3;
    int dim = (int)call->attr[0];
    if (dync__cw_numel(out, -1) == 0) return DYNC_OK;
    if (half) {
        wide.dtype = DYNC_F32;
        DYNC__TRY(dync__layout_contiguous(&wide.lay, out->lay.ndim, out->lay.shape));
        to = dync__cuda_add_temp(code, dync__cw_numel(out, -1) * 4);
        if (to < 0) return DYNC_ERR_MEMORY;
    }
    bool in_place = base->slot == out->slot && base->lay.offset == out->lay.offset && !half &&
                    memcmp(base->lay.stride, out->lay.stride, (size_t)out->lay.ndim * sizeof(int64_t)) == 0;
    if (!in_place && !dync__cw_copy(code, base, 0, &wide, to)) return DYNC_ERR_MEMORY;
    dync__cw_scatter s = {index, source, &wide, {1, 2, to}, dim, kind, slices, slices ? source->lay.shape : index->lay.shape,
                          slices ? index->lay.shape[0] : index->lay.shape[dim], slices ? call->fattr[0] : 1.0};
    if (!dync__cw_scatter_text(code, call->row->name, &s)) return DYNC_ERR_MEMORY;
    return half && !dync__cw_copy(code, &wide, to, out, 3) ? DYNC_ERR_MEMORY : DYNC_OK;
}

/* gy, index, gx: planes are lines, H * W places each. */
static dync_status dync__cw_max_pool_grad(dync__cuda_code *code, const dync__kcall *call)
{
    const dync__operand *gy = &call->operand[0], *index = &call->operand[1], *gx = &call->operand[2];
    int rank = gx->lay.ndim;
    int64_t area = gx->lay.shape[rank - 2] * gx->lay.shape[rank - 1], windows = gy->lay.shape[rank - 2] * gy->lay.shape[rank - 1];
    dync__operand dense[3] = {*gy, *index, *gx};
    int32_t buf[3];
    if (dync__cw_numel(gx, -1) == 0) return DYNC_OK;
    dense[2].dtype = dync__dtype_info(gx->dtype)->compute;
    for (int i = 0; i < 3; i++) {                             /* row major, so that a plane is one line */
        const dync__operand *o = &call->operand[i];
        DYNC__TRY(dync__layout_contiguous(&dense[i].lay, rank, o->lay.shape));
        if ((buf[i] = dync__cuda_add_temp(code, DYNC__MAX(dync__cw_numel(o, -1), 1) * 8)) < 0) return DYNC_ERR_MEMORY;
        if (!dync__cw_copy(code, i < 2 ? o : NULL, i, &dense[i], buf[i])) return DYNC_ERR_MEMORY;
    }
    dync__operand line[3];
    for (int i = 0; i < 3; i++) {
        int64_t shape[2] = {dync__cw_numel(gx, -1) / area, i < 2 ? windows : area};
        line[i] = dense[i];
        DYNC__TRY(dync__layout_contiguous(&line[i].lay, 2, shape));
    }
    dync__cw_scatter s = {&line[1], &line[0], &line[2], {buf[1], buf[0], buf[2]}, 1, DYNC__CW_ADD, false, line[1].lay.shape, windows, 1.0};
    if (!dync__cw_scatter_text(code, call->row->name, &s)) return DYNC_ERR_MEMORY;
    return dync__cw_copy(code, &dense[2], buf[2], gx, 2) ? DYNC_OK : DYNC_ERR_MEMORY;
}

DYNC__FN dync_status dync__cuda_call_text(dync__cuda_code *code, const dync__kcall *call, bool *done)
{
    *done = true;
    if (call->row == dync__kernel_row(DYNC__K_cumsum)) return dync__cw_cumsum(code, call);
    if (call->row == dync__kernel_row(DYNC__K_scatter)) return dync__cw_scattered(code, call, DYNC__CW_SET, false);
    if (call->row == dync__kernel_row(DYNC__K_scatter_add)) return dync__cw_scattered(code, call, DYNC__CW_ADD, false);
    if (call->row == dync__kernel_row(DYNC__K_index_add)) return dync__cw_scattered(code, call, DYNC__CW_ADD, true);
    if (call->row == dync__kernel_row(DYNC__K_max_pool2d_grad)) return dync__cw_max_pool_grad(code, call);
    *done = false;
    return DYNC_OK;
}
