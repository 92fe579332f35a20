/* cuda/sort_merge.c: sorted blocks merged, values gathered, and the calls. Before: sort.c. */
#include "../dync.in.h"
#include "tile.h"
#include "sort.h"
DYNC__COLD

static void dync__sk_place(dync__sk *s, int each)
{
    dync__ptx *x = &s->t.p;
    long long per_line = (long long)((s->length + each - 1) / each);
    static const char *const names[] = {"%line", "%d", "%at"};
    for (int i = 0; i < 3; i++) dync__cuda_tile_wide(&s->t, names[i], NULL);
    dync__ptx_reg(x, "pred", "%in");
    dync__ptx_line(x, "cvt.u64.u32 %%d, %%thr");
    dync__ptx_line(x, "mad.wide.u32 %%d, %%cta, 256, %%d");
    dync__ptx_line(x, "div.u64 %%line, %%d, %lld", per_line);
    dync__ptx_line(x, "rem.u64 %%d, %%d, %lld", per_line);
    dync__ptx_line(x, "mul.lo.s64 %%d, %%d, %d", each);
    dync__ptx_line(x, "setp.ge.u64 %%in, %%line, %lld", (long long)s->lines);
    dync__ptx_line(x, "@%%in ret");
    dync__cuda_tile_scratch(&s->t);
}
static int64_t dync__sk_blocks(const dync__sk *s, int each)
{
    return (s->lines * ((s->length + each - 1) / each) + 255) / 256;
}

/* Merges pairs of runs; the number of the launch gives their length and which half of the scratch
 * they are in. */
static void dync__sk_merge(dync__sk *s, int passes)
{
    dync__ptx *x = &s->t.p;
    static const char *const names[] = {"%pass",     "%half", "%run",  "%left", "%middle",
                                        "%right",    "%low",  "%high", "%i",    "%j",
                                        "%diagonal", "%from", "%to",   "%base"};
    static const char *const preds[] = {"%more", "%mine", "%is"};
    for (int i = 0; i < DYNC__COUNT_OF(names); i++) dync__cuda_tile_wide(&s->t, names[i], NULL);
    for (int i = 0; i < DYNC__COUNT_OF(preds); i++) dync__ptx_reg(x, "pred", preds[i]);
    dync__ptx_reg(x, "b32", "%shift");
    dync__sk_item(s, "%a");
    dync__sk_item(s, "%c");
    dync__sk_place(s, DYNC__SK_PIECE);
    dync__ptx_line(x, "ld.param.b64 %%pass, [p%d]", s->t.n_buffers + 1);
    dync__ptx_line(x, "cvt.u32.u64 %%shift, %%pass");
    dync__ptx_line(x, "mov.b64 %%run, %lld", (long long)s->tile);
    dync__ptx_line(x, "shl.b64 %%run, %%run, %%shift");
    dync__ptx_line(x, "and.b64 %%half, %%pass, 1");
    dync__ptx_line(x, "mov.b64 %%base, 0");
    dync__sk_scratch_at(s, "%half", "%base");
    dync__ptx_line(x, "mov.b64 %%from, %%at");
    dync__ptx_line(x, "xor.b64 %%half, %%half, 1");
    dync__sk_scratch_at(s, "%half", "%d");
    dync__ptx_line(x, "mov.b64 %%to, %%at");
    dync__ptx_line(x, "neg.s64 %%left, %%run");
    dync__ptx_line(x, "shl.b64 %%left, %%left, 1");
    dync__ptx_line(x, "and.b64 %%left, %%left, %%d"); /* runs are powers of two */
    dync__ptx_line(x, "add.s64 %%middle, %%left, %%run");
    dync__ptx_line(x, "add.s64 %%right, %%middle, %%run");
    dync__ptx_line(x, "min.s64 %%middle, %%middle, %lld", (long long)s->length);
    dync__ptx_line(x, "min.s64 %%right, %%right, %lld", (long long)s->length);
    dync__ptx_line(x, "sub.s64 %%diagonal, %%d, %%left");
    dync__ptx_line(x, "sub.s64 %%low, %%right, %%middle");
    dync__ptx_line(x, "sub.s64 %%low, %%diagonal, %%low");
    dync__ptx_line(x, "max.s64 %%low, %%low, 0");
    dync__ptx_line(x, "sub.s64 %%high, %%middle, %%left");
    dync__ptx_line(x, "min.s64 %%high, %%high, %%diagonal");
    dync__cuda_tile_note(&s->t, "items of the first run before the diagonal");
    dync__cuda_tile_label(&s->t, "BISECT");
    dync__ptx_line(x, "setp.ge.s64 %%more, %%low, %%high");
    dync__ptx_line(x, "@%%more bra FOUND");
    dync__ptx_line(x, "add.s64 %%i, %%low, %%high");
    dync__ptx_line(x, "shr.s64 %%i, %%i, 1");
    dync__ptx_line(x, "sub.s64 %%j, %%diagonal, %%i");
    dync__ptx_line(x, "add.s64 %%j, %%j, %%middle");
    dync__ptx_line(x, "sub.s64 %%j, %%j, 1");
    dync__ptx_line(x, "add.s64 %%base, %%left, %%i");
    dync__ptx_line(x, "mad.lo.s64 %%at, %%base, %d, %%from", 8 * s->words);
    dync__sk_move(s, "", false, "global", "%a", "%at");
    dync__ptx_line(x, "mad.lo.s64 %%at, %%j, %d, %%from", 8 * s->words);
    dync__sk_move(s, "", false, "global", "%c", "%at");
    dync__sk_before(s, "%is", "%a", "%c");
    dync__ptx_line(x, "@%%is add.s64 %%low, %%i, 1");
    dync__ptx_line(x, "not.pred %%is, %%is");
    dync__ptx_line(x, "@%%is mov.b64 %%high, %%i");
    dync__ptx_line(x, "bra BISECT");
    dync__cuda_tile_label(&s->t, "FOUND");
    dync__ptx_line(x, "add.s64 %%i, %%left, %%low");
    dync__ptx_line(x, "sub.s64 %%j, %%diagonal, %%low");
    dync__ptx_line(x, "add.s64 %%j, %%j, %%middle");
    for (int n = 0; n < DYNC__SK_PIECE; n++) {
        dync__ptx_line(x, "add.s64 %%base, %%d, %d", n);
        dync__ptx_line(x, "setp.ge.s64 %%more, %%base, %lld", (long long)s->length);
        dync__ptx_line(x, "@%%more bra DONE");
        dync__ptx_line(x, "setp.lt.s64 %%mine, %%i, %%middle");
        dync__ptx_line(x, "setp.lt.s64 %%is, %%j, %%right");
        dync__ptx_line(x, "mad.lo.s64 %%at, %%i, %d, %%from", 8 * s->words);
        dync__sk_move(s, "@%mine ", false, "global", "%a", "%at");
        dync__ptx_line(x, "mad.lo.s64 %%at, %%j, %d, %%from", 8 * s->words);
        dync__sk_move(s, "@%is ", false, "global", "%c", "%at");
        dync__sk_before(s, "%more", "%a", "%c");
        dync__ptx_line(x, "not.pred %%is, %%is");
        dync__ptx_line(x, "or.pred %%more, %%more, %%is");
        dync__ptx_line(x, "and.pred %%mine, %%mine, %%more");
        dync__ptx_line(x, "add.s64 %%at, %%to, %d", n * 8 * s->words);
        dync__sk_move(s, "@%mine ", true, "global", "%a", "%at");
        dync__ptx_line(x, "@%%mine add.s64 %%i, %%i, 1");
        dync__ptx_line(x, "not.pred %%mine, %%mine");
        dync__sk_move(s, "@%mine ", true, "global", "%c", "%at");
        dync__ptx_line(x, "@%%mine add.s64 %%j, %%j, 1");
    }
    dync__cuda_tile_label(&s->t, "DONE");
    s->t.steps = passes;
    dync__cuda_tile_entry(&s->t, "sort", dync__sk_blocks(s, DYNC__SK_PIECE), 1, 1, 256);
    s->t.steps = 0;
}

static void dync__sk_gather(dync__sk *s, int passes)
{
    char half[8];
    dync__sk_item(s, "%a");
    dync__sk_place(s, 1);
    dync__format(half, sizeof half, "%d", passes & 1);
    dync__cuda_tile_wide(&s->t, "%half", half);
    dync__sk_scratch_at(s, "%half", "%d");
    dync__sk_move(s, "", false, "global", "%a", "%at");
    dync__sk_line(s, "%x", s->x, 0);
    dync__sk_line(s, "%values", s->values, 1);
    dync__sk_line(s, "%index", s->index, 2);
    dync__sk_result(s, "%a", "%d", "%true");
    dync__cuda_tile_entry(&s->t, "sort", dync__sk_blocks(s, 1), 1, 1, 256);
}

DYNC__FN dync_status dync__cuda_add_sort(dync__cuda_code *code, const dync__operand *x,
                                         const dync__operand *values, const dync__operand *places,
                                         int dim, bool descending, const int32_t *buf)
{
    int compute = dync__dtype_info(x->dtype)->compute;
    dync__sk s = {.x = x,
                  .values = values,
                  .index = places,
                  .dim = dim,
                  .descending = descending,
                  .compute = compute,
                  .words = compute == DYNC_F64 || compute == DYNC_I64 ? 2 : 1,
                  .length = x->lay.shape[dim],
                  .lines = 1};
    for (int d = 0; d < x->lay.ndim; d++)
        if (d != dim) s.lines *= x->lay.shape[d];
    if (s.lines * s.length == 0) return DYNC_OK;
    int64_t most = DYNC__SK_TILE_BYTES / (8 * s.words);
    for (s.tile = 1; s.tile < s.length && s.tile < most;) s.tile *= 2;
    s.tiles = (s.length + s.tile - 1) / s.tile;
    if (s.length > INT32_MAX || s.lines * s.tiles > INT32_MAX || dync__sk_blocks(&s, 1) > INT32_MAX)
        return dync__fail(DYNC_ERR_UNSUPPORTED,
                          "sort on a GPU: %lld lines of %lld elements are too many",
                          (long long)s.lines, (long long)s.length);
    int passes = 0;
    while ((int64_t)1 << passes < s.tiles) passes++;
    dync__cuda_tile_begin(&s.t, 3);
    dync__sk_tiles(&s);
    if (passes) {
        s.t.out.scratch_bytes = 2 * s.lines * s.length * 8 * s.words;
        dync__cuda_tile_next(&s.t);
        dync__sk_merge(&s, passes);
        dync__cuda_tile_next(&s.t);
        dync__sk_gather(&s, passes);
    }
    return dync__cuda_tile_end(&s.t, code, buf) ? DYNC_OK : DYNC_ERR_MEMORY;
}

DYNC__FN dync_status dync__cuda_call_sort(dync__cuda_code *code, const dync__kcall *call,
                                          bool *done)
{
    static const int32_t buf[] = {0, 1, 2};
    *done = dync__kcall_is(call, DYNC__K_sort);
    if (!*done) return DYNC_OK;
    return dync__cuda_add_sort(code, &call->operand[0], &call->operand[1], &call->operand[2],
                               (int)call->attr.sort.dim, call->attr.sort.descending, buf);
}
