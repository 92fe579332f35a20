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
#include "sort.h"
DYNC__COLD

static long long dync__sk_step(const dync__sk *s, const dync__operand *o)
{
    return (long long)(o->lay.stride[s->dim] * dync__dtype_info(o->dtype)->bytes);
}

/* A new register: address of the line's beginning; %line: b64. */
DYNC__FN void dync__sk_line(dync__sk *s, const char *name, const dync__operand *o, int buffer)
{
    char base[16];
    dync__format(base, sizeof base, "%%b%d", buffer);
    dync__cuda_tile_wide(&s->t, name, base);
    dync__cuda_tile_address(&s->t, name, o, o->lay.shape, s->dim, "%line");
}

/* An item moves: registers name0 (and name1, the place) from or to [at + offset]. */
DYNC__FN void dync__sk_move(dync__sk *s, const char *guard, bool store, const char *space,
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
DYNC__FN void dync__sk_item(dync__sk *s, const char *name)
{
    dync__cuda_tile_regs(&s->t, "b64", name, s->words);
}

/* p = a before b */
DYNC__FN void dync__sk_before(dync__sk *s, const char *p, const char *a, const char *b)
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
DYNC__FN void dync__sk_result(dync__sk *s, const char *item, const char *to, const char *p)
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
DYNC__FN void dync__sk_scratch_at(dync__sk *s, const char *half, const char *place)
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
DYNC__FN void dync__sk_tiles(dync__sk *s)
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
