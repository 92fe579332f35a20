/* codegen/asm.c: the assembler of asm.h. Before: codemem.c, which holds finished code; after: the
 * targets and the generators. */
#include "../dync.in.h"
#include "asm.h"
DYNC__LEAN
#if DYNC__JIT

DYNC__FN void dync__a_begin(dync__asm *a, const dync__target *t, dync__arena *arena)
{
    a->t = t;
    a->arena = arena;
}

DYNC__FN void dync__a_emit(dync__asm *a, const dync__ins *ins) { a->t->emit(a, ins); }

DYNC__FN int dync__a_label(dync__asm *a)
{
    if (!dync__avec_push(a->arena, &a->label, -1)) {
        a->failed = true;
        return 0;
    }
    return a->label.n - 1;
}

DYNC__FN void dync__a_halves(dync__asm *a, dync__vt v, int t, int to, int left)
{
    int bytes = dync__dtype_info(v.type)->bytes;
    for (int half = v.lanes / 2; half > 0; half /= 2) {
        int next = dync__a_label(a);
        DYNC__A(a, TEST_JUMP, .op = DYNC__IF_EQ, .x = left, .n = half, .label = next);
        DYNC__A(a, STORE, .v = dync__vt_of(v.type, half), .x = t, .y = dync__a_mem(to, 0));
        if (half > 1) DYNC__A(a, ADD_N, .y = dync__a_reg(to), .n = half * bytes);
        if (half * bytes >= 16)
            DYNC__A(a, HALF, .v = dync__vt_of(v.type, 2 * half), .to = t, .x = t);
        else if (half > 1)
            DYNC__A(a, DOWN, .v = dync__vt_of(v.type, 16 / bytes), .to = t, .x = t, .n = half);
        DYNC__A(a, LABEL, .label = next);
    }
}

DYNC__FN dync__place dync__a_constant64(dync__asm *a, const void *bytes)
{
    int at = 0;
    for (; at < a->pool.n; at += 64)
        if (memcmp(a->pool.at + at, bytes, 64) == 0) return dync__a_mem(DYNC__PLACE_POOL, at);
    if (!dync__avec_reserve(a->arena, &a->pool, at + 64))
        a->failed = true;
    else {
        memcpy(a->pool.at + at, bytes, 64);
        a->pool.n += 64;
    }
    return dync__a_mem(DYNC__PLACE_POOL, at);
}

DYNC__FN dync__place dync__a_constant(dync__asm *a, uint64_t bits, int width)
{
    uint64_t bytes[8];
    if (width == 1) bits = (bits & 255) * UINT64_C(0x0101010101010101);
    if (width == 4) bits = (bits & 0xffffffffu) * UINT64_C(0x100000001);
    for (int i = 0; i < 8; i++) bytes[i] = bits;
    return dync__a_constant64(a, bytes);
}

/* ---- finished code --------------------------------------------------------------------------- */

static void (*dync__a_watcher)(const dync__asm *);

DYNC__FN void dync__a_watch(void (*fn)(const dync__asm *)) { dync__a_watcher = fn; }
DYNC__FN bool dync__a_listed(void)
{
    return dync__a_watcher || dync__log_on(DYNC__LOG_code) || dync__log_on(DYNC__LOG_asm);
}

static int dync__a_pool_at(const dync__asm *a) { return (a->code.n + 63) & ~63; }

DYNC__FN size_t dync__a_finish(dync__asm *a)
{
    for (int i = 0; !a->failed && i < a->jump.n + a->constant.n; i++) {
        bool jump = i < a->jump.n;
        dync__fix f = jump ? a->jump.at[i] : a->constant.at[i - a->jump.n];
        int32_t to = jump ? a->label.at[f.target] : dync__a_pool_at(a) + f.target;
        a->t->fix(a->code.at + f.at, jump, to - f.at);
    }
    if (dync__a_watcher && !a->failed) dync__a_watcher(a);
    return a->failed ? 0 : (size_t)(dync__a_pool_at(a) + a->pool.n);
}

DYNC__FN void dync__a_write(const dync__asm *a, uint8_t *to)
{
    memcpy(to, a->code.at, (size_t)a->code.n);
    if (a->pool.n) memcpy(to + dync__a_pool_at(a), a->pool.at, (size_t)a->pool.n);
}

DYNC__FN size_t dync__a_install(dync__asm *a, dync__codeblock *block)
{
    uint8_t *write;
    size_t bytes = a->t->finish(a);
    if (bytes == 0 || !dync__codemem_begin(bytes, &write, block)) return 0;
    a->t->write(a, write);
    return dync__codemem_end(block, bytes) ? bytes : 0;
}
#endif
