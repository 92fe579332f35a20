/* kernel/gemm_fix.c: the tiles of a small product, found once and kept. After gemm.c. */
#include "../dync.in.h"
#include "gemm_tiles.h"
DYNC__BESIDE_JIT

static char dync__gemm_origin[1];

static size_t dync__gemm_fixed_bytes(const dync__gemm_fixed *f)
{
    return offsetof(dync__gemm_fixed, tile) + (size_t)f->n * sizeof *f->tile;
}

/* Tiles of a product whose b's columns are dense are those of its transpose in dense rows. */
static bool dync__gemm_fix_packs(const dync__gemm *g)
{
    return g->b_row == 1 && g->b_col != 1 &&
           g->k * g->n * dync__gt_bytes(g->type) <= DYNC__GEMM_STACK &&
           dync__gemm_path(g) >= DYNC__GEMM_BLOCKS;
}

/* A column: inner products of a's rows where the sum is long, else tiles of one lane. The sums are
 * those of dync__gemm_run, which takes it as a row. False: neither. */
static bool dync__gemm_fix_column(dync__gemm_fixed *f, dync__gemm *g)
{
    dync__gemm row = *g;
    if (g->type > DYNC__GT_F64) return false;
    dync__gemm_transpose(&row);
    if (dync__gemm_path(&row) == DYNC__GEMM_DOTS) {
        if (g->after.flags[0]) return false;
        *g = row;
        return f->swaps = true;
    }
    g->b_col = g->c_col = 1;
    return g->k < DYNC__GEMM_DOTS_ONE;
}

DYNC__OFTEN DYNC__FN bool dync__gemm_fix_in(dync__gemm_fixed *f, const dync__gemm *given, bool many)
{
    dync__gemm g = *given;
    bool add = g.d != NULL;
    f->epoch = dync__gt_epoch();
    f->n = 0;
    f->type = g.type;
    f->packs = 0;
    f->swaps = false;
    f->many = many && !add;
    if (g.m <= 0 || g.n <= 0 || g.k <= 0 || g.m * g.n * g.k > DYNC__GEMM_FIX ||
        !dync__gt_can(g.type) || (g.n == 1 && g.m > 1 && (add || !dync__gemm_fix_column(f, &g))))
        return false;
    if (dync__gemm_fix_packs(&g)) {
        f->packs = g.k;
        f->lines = g.n;
        f->line = g.b_col;
        f->many = false;
        g.b_row = g.n;
        g.b_col = 1;
    }
    g.a = g.b = g.c = dync__gemm_origin;
    g.d = add ? dync__gemm_origin : NULL;
    for (int i = 0; i < DYNC__AFTER_MORE && g.after.more[i]; i++)
        g.after.more[i] = dync__gemm_origin;
    g.done = NULL;
    if (dync__gemm_path(&g) == DYNC__GEMM_DOTS && !add && !g.after.flags[0]) {
        f->many = false;
        dync__gemm_dots(&g, f);
    } else if (dync__gemm_path(&g) == DYNC__GEMM_DIRECT && g.c_col == 1 && dync__gemm_a_lies(&g)) {
        dync__gemm_direct(&g, 0, g.k, NULL, f);
    } else {
        return false;
    }
    return f->n <= DYNC__GEMM_FIXED;
}

DYNC__OFTEN DYNC__FN dync__gemm_fixed *dync__gemm_fix(const dync__gemm *g, bool many)
{
    dync__gemm_fixed f, *kept; /* most products are a few tiles: no more are kept */
    if (!dync__gemm_fix_in(&f, g, many)) return NULL;
    kept = dync__alloc(dync__gemm_fixed_bytes(&f));
    if (kept)
        memcpy(kept, &f, dync__gemm_fixed_bytes(&f));
    else
        dync_clear_error();
    return kept;
}

/* Where the operands of a product are. */
typedef struct dync__gemm_fixed_at {
    const char *a, *b, *d;
    char *c;
    const char *const *more; /* as many as the tiles have */
} dync__gemm_fixed_at;

/* Its tiles; many: of n products behind each other (n > 1: of MANY), NULL: of one. */
static void dync__gemm_fixed_tiles(const dync__gemm_fixed *f, const dync__gemm_fixed_at *at,
                                   const dync__gemm_many *many, int64_t n)
{
    for (int k = 0; k < f->n; k++) {
        dync__gt_args x = f->tile[k].x;
        x.a = at->a + ((const char *)x.a - dync__gemm_origin);
        x.b = at->b + ((const char *)x.b - dync__gemm_origin);
        x.c = at->c + ((char *)x.c - dync__gemm_origin);
        if (x.d) x.d = at->d + ((const char *)x.d - dync__gemm_origin);
        for (int i = 0; i < DYNC__AFTER_MORE && x.more[i]; i++) {
            x.more[i] = at->more[i] + ((const char *)x.more[i] - dync__gemm_origin);
            x.more_next[i] = many ? many->more[i] : 0;
        }
        if (f->many) {
            x.blocks = n;
            x.a_next = many ? many->a : 0;
            x.b_next = many ? many->b : 0;
            x.c_next = many ? many->c : 0;
        }
        f->tile[k].fn(&x);
    }
}

/* The product with its a and b in their places, b packed at `stack` where that is to be. */
static void dync__gemm_fixed_do(const dync__gemm_fixed *f, dync__gemm_fixed_at at, char *stack,
                                const dync__gemm_many *many, int64_t n)
{
    if (f->swaps) {
        const char *a = at.a;
        at.a = at.b;
        at.b = a;
    }
    if (f->packs) {
        int64_t bytes = dync__gt_bytes(f->type);
        dync__gemm_pack_rows(f->type, stack, f->lines * bytes, at.b, f->lines, f->line * bytes,
                             f->packs, bytes);
        at.b = stack;
    }
    dync__gemm_fixed_tiles(f, &at, many, n);
}

/* So many at once that what one tile reads is there yet for the next one. */
static int64_t dync__gemm_fixed_at_once(const dync__gemm_fixed *f, const dync__gemm_many *many)
{
    int64_t bytes = llabs(many->a) + llabs(many->b) + llabs(many->c);
    if (!f->many) return 1;
    return f->n == 1 || bytes == 0 ? many->n : DYNC__MAX(DYNC__GEMM_HOT / bytes, 1);
}

DYNC__FN bool dync__gemm_fixed_run(const dync__gemm_fixed *f, const char *a, const char *b, char *c,
                                   const char *d, const char *const *more,
                                   const dync__gemm_many *many)
{
    _Alignas(64) char stack[DYNC__GEMM_STACK];
    if (f->epoch != dync__gt_epoch()) return false;
    if (!many) {
        dync__gemm_fixed_do(f, (dync__gemm_fixed_at){a, b, d, c, more}, stack, NULL, 1);
        return true;
    }
    for (int64_t i = 0, n, some = dync__gemm_fixed_at_once(f, many); i < many->n; i += n) {
        const char *here[DYNC__AFTER_MORE];
        n = DYNC__MIN(some, many->n - i);
        for (int j = 0; j < DYNC__AFTER_MORE; j++)
            here[j] = more && more[j] ? more[j] + i * many->more[j] : NULL;
        dync__gemm_fixed_do(
            f, (dync__gemm_fixed_at){a + i * many->a, b + i * many->b, d, c + i * many->c, here},
            stack, many, n);
    }
    return true;
}

DYNC__RARE DYNC__FN void dync__gemm_fixed_free(dync__gemm_fixed *f)
{
    if (f) dync__free(f, dync__gemm_fixed_bytes(f));
}
