/* kernel/gemm_fix.c: the tiles of a small product, found once and kept. After gemm.c. */
#include "../dync.in.h"
#include "gemm_tiles.h"
DYNC__BESIDE_JIT

static char dync__gemm_origin[1];

static size_t dync__gemm_fixed_bytes(const dync__gemm_fixed *f)
{
    return offsetof(dync__gemm_fixed, tile) + (size_t)f->n * sizeof *f->tile;
}

DYNC__OFTEN DYNC__FN bool dync__gemm_fix_in(dync__gemm_fixed *f, const dync__gemm *given)
{
    dync__gemm g = *given;
    bool add = g.d != NULL, packs = g.b_row == 1 && g.b_col != 1 &&
                                    g.k * g.n * dync__gt_bytes(g.type) <= DYNC__GEMM_STACK &&
                                    dync__gemm_path(&g) >= DYNC__GEMM_BLOCKS;
    int64_t line = g.b_col;
    if (packs) g.b_row = g.n, g.b_col = 1;
    if (g.m <= 0 || g.n <= 0 || g.k <= 0 || (g.n == 1 && g.m > 1) ||
        g.m * g.n * g.k > DYNC__GEMM_FIX || g.c_col != 1)
        return false;
    if (!dync__gt_can(g.type) || dync__gemm_path(&g) != DYNC__GEMM_DIRECT || !dync__gemm_a_lies(&g))
        return false;
    f->epoch = dync__gt_epoch();
    f->n = 0;
    f->type = g.type;
    f->packs = packs ? g.k : 0;
    f->lines = g.n;
    f->line = line;
    g.a = g.b = g.c = dync__gemm_origin;
    g.d = add ? dync__gemm_origin : NULL;
    for (int i = 0; i < DYNC__AFTER_MORE && g.after.more[i]; i++)
        g.after.more[i] = dync__gemm_origin;
    g.done = NULL;
    dync__gemm_direct(&g, 0, g.k, NULL, f);
    return f->n <= DYNC__GEMM_FIXED;
}

DYNC__OFTEN DYNC__FN dync__gemm_fixed *dync__gemm_fix(const dync__gemm *g)
{
    dync__gemm_fixed f, *kept; /* most products are a few tiles: no more are kept */
    if (!dync__gemm_fix_in(&f, g)) return NULL;
    kept = dync__alloc(dync__gemm_fixed_bytes(&f));
    if (kept)
        memcpy(kept, &f, dync__gemm_fixed_bytes(&f));
    else
        dync_clear_error();
    return kept;
}

DYNC__FN bool dync__gemm_fixed_run(const dync__gemm_fixed *f, const char *a, const char *b, char *c,
                                   const char *d, const char *const *more)
{
    _Alignas(64) char stack[DYNC__GEMM_STACK];
    if (f->epoch != dync__gt_epoch()) return false;
    if (f->packs) {
        int64_t bytes = dync__gt_bytes(f->type);
        dync__gemm_pack_rows(f->type, stack, f->lines * bytes, b, f->lines, f->line * bytes,
                             f->packs, bytes);
        b = stack;
    }
    for (int i = 0; i < f->n; i++) {
        dync__gt_args x = f->tile[i].x;
        x.a = a + ((const char *)x.a - dync__gemm_origin);
        x.b = b + ((const char *)x.b - dync__gemm_origin);
        x.c = c + ((char *)x.c - dync__gemm_origin);
        if (x.d) x.d = d + ((const char *)x.d - dync__gemm_origin);
        for (int n = 0; n < DYNC__AFTER_MORE && x.more[n]; n++)
            x.more[n] = more[n] + ((const char *)x.more[n] - dync__gemm_origin);
        f->tile[i].fn(&x);
    }
    return true;
}

DYNC__RARE DYNC__FN void dync__gemm_fixed_free(dync__gemm_fixed *f)
{
    if (f) dync__free(f, dync__gemm_fixed_bytes(f));
}
