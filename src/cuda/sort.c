/* cuda/sort.c: stable sorting along a dim on a GPU. After recurrent.c, before calls.c; keys and
 * order are kernel/sort.c's.
 *
 * An item is a key whose unsigned order is the dtype's, with the element's place below it: one
 * 64-bit word for keys of 32 bits, else two. No two items are equal, so any way to sort them is
 * stable. Lines up to a tile are sorted in shared memory, several to a block where they are short
 * (bitonic sort: Batcher 1968). Longer ones are sorted tile by tile and merged, runs of twice the
 * length each launch: a thread finds by bisection where its piece of the result begins in both runs
 * (merge path: Green, McColl, Bader 2012). Values are copied at the end. */
#include "../dync.in.h"
#include "tile.h"
DYNC__COLD

enum { DYNC__SK_TILE_BYTES = 32 * 1024, DYNC__SK_THREADS = 512, DYNC__SK_PIECE = 8 };
typedef struct dync__sk {
    dync__cuda_tile t;
    const dync__operand *x, *values, *index;
    int dim, words, compute;
    bool descending;
    /* tile: items sorted at a time, a power of two; tiles of a line */
    int64_t lines, length, tile, tiles;
} dync__sk;

static long long dync__sk_step(const dync__sk *s, const dync__operand *o)
{
    return (long long)(o->lay.stride[s->dim] * dync__dtype_info(o->dtype)->bytes);
}

/* A new register: address of the line's beginning; %line: b64. */
static void dync__sk_line(dync__sk *s, const char *name, const dync__operand *o, int buffer)
{
    char base[16];
    dync__format(base, sizeof base, "%%b%d", buffer);
    dync__cuda_tile_wide(&s->t, name, base);
    dync__cuda_tile_address(&s->t, name, o, o->lay.shape, s->dim, "%line");
}

/* An item moves: registers name0 (and name1, the place) from or to [at + offset]. */
static void dync__sk_move(dync__sk *s, const char *guard, bool store, const char *space,
                          const char *name, const char *at)
{
    char list[64], one[32];
    if (s->words == 1)
        dync__format(list, sizeof list, "%s0", name);
    else
        dync__format(list, sizeof list, "{%s0, %s1}", name, name);
    if (store) {
        dync__ptx_line(&s->t.p, "%sst.%s%s.b64 [%s], %s", guard, space, s->words == 1 ? "" : ".v2",
                       at, list);
    } else {
        for (int w = 0; w < s->words; w++) {
            dync__format(one, sizeof one, "%s%d", name, w);
            dync__ptx_unloaded(&s->t.p, guard, "b64", one);
        }
        dync__ptx_line(&s->t.p, "%sld.%s%s.b64 %s, [%s]", guard, space, s->words == 1 ? "" : ".v2",
                       list, at);
    }
}
static void dync__sk_item(dync__sk *s, const char *name)
{
    dync__cuda_tile_regs(&s->t, "b64", name, s->words);
}

/* p = a before b */
static void dync__sk_before(dync__sk *s, const char *p, const char *a, const char *b)
{
    if (s->words == 2) {
        dync__ptx_line(&s->t.p, "setp.lt.u64 %s, %s1, %s1", p, a, b);
        dync__ptx_line(&s->t.p, "setp.eq.and.u64 %s, %s0, %s0, %s", p, a, b, p);
        dync__ptx_line(&s->t.p, "setp.lt.or.u64 %s, %s0, %s0, %s", p, a, b, p);
    } else {
        dync__ptx_line(&s->t.p, "setp.lt.u64 %s, %s0, %s0", p, a, b);
    }
}

/* %a0 (and %a1) = the item of the element at `at`, whose place is %place (u32), where `p` holds;
 * else one behind all others. */
static void dync__sk_make(dync__sk *s, const char *at, const char *p)
{
    dync__ptx *x = &s->t.p;
    bool wide = s->words == 2, real = s->compute == DYNC_F32 || s->compute == DYNC_F64;
    const char *ty = wide ? "64" : "32", *sign = wide ? "0x8000000000000000" : "0x80000000",
               *rest = wide ? "0x7fffffffffffffff" : "0x7fffffff";
    char guard[24];
    dync__format(guard, sizeof guard, "@%s ", p);
    if (s->x->dtype == DYNC_BOOL) {
        dync__ptx_unloaded(x, guard, "b32", "%key");
        dync__ptx_line(x, "%sld.global.u8 %%key, [%s]", guard, at);
    } else {
        dync__cuda_tile_load(&s->t, s->x->dtype, "%value", at, guard);
        dync__ptx_line(x, "mov.b%s %%key, %%value", ty);
    }
    /* below 0 the other way round; -0 is 0; NaN is the greatest */
    if (real) {
        dync__ptx_line(x, "setp.lt.s%s %%negative, %%key, 0", ty);
        dync__ptx_line(x, "and.b%s %%size, %%key, %s", ty, rest);
        dync__ptx_line(x, "setp.gt.u%s %%nan, %%size, %s", ty,
                       wide ? "0x7ff0000000000000" : "0x7f800000");
        dync__ptx_line(x, "add.s%s %%key, %%size, %s", ty, sign);
        dync__ptx_line(x, "neg.s%s %%size, %%size", ty);
        dync__ptx_line(x, "add.s%s %%size, %%size, %s", ty, sign);
        dync__ptx_line(x, "selp.b%s %%key, %%size, %%key, %%negative", ty);
        dync__ptx_line(x, "selp.b%s %%key, -1, %%key, %%nan", ty);
    } else {
        dync__ptx_line(x, "xor.b%s %%key, %%key, %s", ty, sign);
    }
    if (s->descending) dync__ptx_line(x, "not.b%s %%key, %%key", ty);
    if (wide) {
        dync__ptx_line(x, "selp.b64 %%a0, %%key, -1, %s", p);
        dync__ptx_line(x, "cvt.u64.u32 %%a1, %%place");
        return;
    }
    dync__ptx_line(x, "selp.b32 %%key, %%key, -1, %s", p);
    dync__ptx_line(x, "mov.b64 %%a0, {%%place, %%key}");
}

/* Where an item says, to place `to` (b64) of the line: value and place, where p holds. */
static void dync__sk_result(dync__sk *s, const char *item, const char *to, const char *p)
{
    dync__ptx *x = &s->t.p;
    int bytes = dync__dtype_info(s->x->dtype)->bytes;
    const char *from = dync__ptx_temp(x, "b64"), *at = dync__ptx_temp(x, "b64"),
               *value = dync__ptx_temp(x, bytes == 8   ? "b64"
                                          : bytes == 2 ? "b16"
                                                       : "b32");
    if (s->words == 2)
        dync__ptx_line(x, "mov.b64 %s, %s1", from, item);
    else
        dync__ptx_line(x, "and.b64 %s, %s0, 0xffffffff", from, item);
    dync__ptx_line(x, "mad.lo.s64 %s, %s, %lld, %%index", at, to, dync__sk_step(s, s->index));
    dync__ptx_line(x, "@%s st.global.b64 [%s], %s", p, at, from);
    dync__ptx_line(x, "mad.lo.s64 %s, %s, %lld, %%x", from, from, dync__sk_step(s, s->x));
    dync__ptx_line(x, "mad.lo.s64 %s, %s, %lld, %%values", at, to, dync__sk_step(s, s->values));
    const char *type = bytes == 8 ? "b64" : bytes == 4 ? "b32" : bytes == 2 ? "b16" : "u8";
    dync__ptx_unloaded(x, p, bytes == 8 ? "b64" : bytes == 2 ? "b16" : "b32", value);
    dync__ptx_line(x, "@%s ld.global.%s %s, [%s]", p, type, value, from);
    dync__ptx_line(x, "@%s st.global.%s [%s], %s", p, type, at, value);
}

/* %at (b64) = address of item `place` (b64) of the line in half `half` (b64 0 or 1) of the
 * scratch. */
static void dync__sk_scratch_at(dync__sk *s, const char *half, const char *place)
{
    dync__ptx *x = &s->t.p;
    dync__ptx_line(x, "mad.lo.s64 %%at, %%line, %lld, %s", (long long)s->length, place);
    if (half)
        dync__ptx_line(x, "mad.lo.s64 %%at, %s, %lld, %%at", half,
                       (long long)(s->lines * s->length));
    dync__ptx_line(x, "mad.lo.s64 %%at, %%at, %d, %%scratch", 8 * s->words);
}

static void dync__sk_tile_regs(dync__sk *s)
{
    dync__ptx *x = &s->t.p;
    static const char *const names[][2] = {
        {"u32", "%sub"},   {"u32", "%me"},   {"u32", "%place"},     {"s32", "%slot"},
        {"s32", "%other"}, {"s32", "%i"},    {"s32", "%j"},         {"s32", "%k"},
        {"s32", "%mask"},  {"b64", "%at"},   {"b64", "%wide"},      {"pred", "%in"},
        {"pred", "%more"}, {"pred", "%nan"}, {"pred", "%negative"}, {"pred", "%up"},
        {"pred", "%swap"}, {"b64", "%line"}, {"pred", "%there"},    {"u32", "%first"}};
    for (int i = 0; i < DYNC__COUNT_OF(names); i++) dync__ptx_reg(x, names[i][0], names[i][1]);
    dync__ptx_reg(x, s->words == 2 ? "b64" : "b32", "%key");
    dync__ptx_reg(x, s->words == 2 ? "b64" : "b32", "%size");
    if (s->x->dtype != DYNC_BOOL) dync__ptx_reg(x, dync__ptx_type(s->compute), "%value");
    dync__sk_item(s, "%a");
    dync__sk_item(s, "%c");
}

/* The tile's items from x into shared memory. */
static void dync__sk_tile_load(dync__sk *s, int item, int threads)
{
    dync__ptx *x = &s->t.p;
    dync__cuda_tile_note(&s->t, "items");
    dync__ptx_line(x, "mov.b32 %%i, %%me");
    dync__cuda_tile_label(&s->t, "LOAD");
    dync__ptx_line(x, "add.s32 %%place, %%i, %%first");
    dync__ptx_line(x, "setp.lt.u32 %%in, %%place, %lld", (long long)s->length);
    dync__ptx_line(x, "cvt.u64.u32 %%at, %%place");
    dync__ptx_line(x, "mad.lo.s64 %%at, %%at, %lld, %%x", dync__sk_step(s, s->x));
    dync__sk_make(s, "%at", "%in");
    dync__ptx_line(x, "mad.lo.s32 %%slot, %%i, %d, %%mine", item);
    dync__sk_move(s, "", true, "shared", "%a", "%slot");
    dync__ptx_line(x, "add.s32 %%i, %%i, %d", threads);
    dync__ptx_line(x, "setp.lt.s32 %%more, %%i, %lld", (long long)s->tile);
    dync__ptx_line(x, "@%%more bra LOAD");
}

/* The bitonic network over the tile. */
static void dync__sk_tile_sort(dync__sk *s, int item, int threads)
{
    dync__ptx *x = &s->t.p;
    dync__cuda_tile_note(&s->t, "runs of k, up and down in turn, from pairs j apart");
    dync__ptx_line(x, "mov.b32 %%k, 2");
    dync__cuda_tile_label(&s->t, "RUNS");
    dync__ptx_line(x, "shr.u32 %%j, %%k, 1");
    dync__cuda_tile_label(&s->t, "PAIRS");
    dync__cuda_tile_barrier(&s->t);
    dync__ptx_line(x, "sub.s32 %%mask, %%j, 1");
    dync__ptx_line(x, "mov.b32 %%i, %%me");
    dync__cuda_tile_label(&s->t, "EXCHANGE");
    dync__ptx_line(x, "and.b32 %%other, %%i, %%mask");
    dync__ptx_line(x, "mul.lo.s32 %%slot, %%i, 2");
    dync__ptx_line(x, "sub.s32 %%slot, %%slot, %%other");
    dync__ptx_line(x, "and.b32 %%other, %%slot, %%k");
    dync__ptx_line(x, "setp.eq.s32 %%up, %%other, 0");
    dync__ptx_line(x, "add.s32 %%other, %%slot, %%j");
    dync__ptx_line(x, "mad.lo.s32 %%slot, %%slot, %d, %%mine", item);
    dync__ptx_line(x, "mad.lo.s32 %%other, %%other, %d, %%mine", item);
    dync__sk_move(s, "", false, "shared", "%a", "%slot");
    dync__sk_move(s, "", false, "shared", "%c", "%other");
    dync__sk_before(s, "%swap", "%c", "%a");
    dync__ptx_line(x, "xor.pred %%swap, %%swap, %%up"); /* in their order: nothing to do */
    dync__ptx_line(x, "not.pred %%swap, %%swap");
    dync__sk_move(s, "@%swap ", true, "shared", "%c", "%slot");
    dync__sk_move(s, "@%swap ", true, "shared", "%a", "%other");
    dync__ptx_line(x, "add.s32 %%i, %%i, %d", threads);
    dync__ptx_line(x, "setp.lt.s32 %%more, %%i, %lld", (long long)(s->tile / 2));
    dync__ptx_line(x, "@%%more bra EXCHANGE");
    dync__ptx_line(x, "shr.u32 %%j, %%j, 1");
    dync__ptx_line(x, "setp.gt.s32 %%more, %%j, 0");
    dync__ptx_line(x, "@%%more bra PAIRS");
    dync__ptx_line(x, "shl.b32 %%k, %%k, 1");
    dync__ptx_line(x, "setp.le.s32 %%more, %%k, %lld", (long long)s->tile);
    dync__ptx_line(x, "@%%more bra RUNS");
    dync__cuda_tile_barrier(&s->t);
}

/* Sorted items to the scratch memory that runs are merged in, or, of one tile, to the results. */
static void dync__sk_tile_store(dync__sk *s, int item, int threads)
{
    dync__ptx *x = &s->t.p;
    if (s->tiles > 1) dync__cuda_tile_scratch(&s->t);
    dync__ptx_line(x, "mov.b32 %%i, %%me");
    dync__cuda_tile_label(&s->t, "STORE");
    dync__ptx_line(x, "mad.lo.s32 %%slot, %%i, %d, %%mine", item);
    dync__sk_move(s, "", false, "shared", "%a", "%slot");
    dync__ptx_line(x, "add.s32 %%place, %%i, %%first");
    dync__ptx_line(x, "setp.lt.and.u32 %%in, %%place, %lld, %%there", (long long)s->length);
    dync__ptx_line(x, "cvt.u64.u32 %%wide, %%place");
    if (s->tiles > 1) {
        dync__sk_scratch_at(s, NULL, "%wide");
        dync__sk_move(s, "@%in ", true, "global", "%a", "%at");
    } else {
        dync__sk_result(s, "%a", "%wide", "%in");
    }
    dync__ptx_line(x, "add.s32 %%i, %%i, %d", threads);
    dync__ptx_line(x, "setp.lt.s32 %%more, %%i, %lld", (long long)s->tile);
    dync__ptx_line(x, "@%%more bra STORE");
}

/* Sorts tiles in shared memory: a block has `several` lines, or a tile of one. Results: the sorted
 * lines, or items in the scratch. */
static void dync__sk_tiles(dync__sk *s)
{
    dync__ptx *x = &s->t.p;
    int item = 8 * s->words, threads = (int)DYNC__MIN(DYNC__MAX(s->tile / 2, 1), DYNC__SK_THREADS),
        several = s->tiles > 1 ? 1 : DYNC__MAX(128 / threads, 1);
    dync__sk_tile_regs(s);
    int at = dync__cuda_tile_shared(&s->t, (int)s->tile * item * several, 16);
    dync__ptx_line(x, "div.u32 %%sub, %%thr, %d", threads);
    dync__ptx_line(x, "rem.u32 %%me, %%thr, %d", threads);
    dync__ptx_line(x, "mov.b32 %%first, 0");
    if (s->tiles > 1) {
        dync__ptx_line(x, "rem.u32 %%first, %%cta, %lld", (long long)s->tiles);
        dync__ptx_line(x, "mul.lo.s32 %%first, %%first, %lld", (long long)s->tile);
        dync__ptx_line(x, "div.u32 %%i, %%cta, %lld", (long long)s->tiles);
        dync__ptx_line(x, "cvt.u64.u32 %%line, %%i");
    } else {
        dync__ptx_line(x, "cvt.u64.u32 %%line, %%sub");
        dync__ptx_line(x, "mad.wide.u32 %%line, %%cta, %d, %%line", several);
    }
    dync__ptx_line(x, "setp.lt.u64 %%there, %%line, %lld", (long long)s->lines);
    dync__ptx_line(x, "min.u64 %%line, %%line, %lld", (long long)(s->lines - 1));
    dync__sk_line(s, "%x", s->x, 0);
    if (s->tiles == 1) {
        dync__sk_line(s, "%values", s->values, 1);
        dync__sk_line(s, "%index", s->index, 2);
    }
    dync__cuda_tile_set(&s->t, "s32", "%mine", "mad.lo", "%%sub, %lld, %%smem",
                        (long long)(s->tile * item));
    dync__ptx_line(x, "add.s32 %%mine, %%mine, %d", at);
    dync__sk_tile_load(s, item, threads);
    if (s->tile > 1) dync__sk_tile_sort(s, item, threads);
    dync__sk_tile_store(s, item, threads);
    dync__cuda_tile_entry(&s->t, "sort",
                          s->tiles > 1 ? s->lines * s->tiles : (s->lines + several - 1) / several,
                          1, 1, threads * several);
}

/* A thread's place: %line and %d, the first of its `each` items. */
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
