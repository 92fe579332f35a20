/* codegen/x86_tile.c: a step of a tile's sums. Before: x86_conv.c lays the tile out;
 * under it x86_enc.c. */
#include "../dync.in.h"
#include "x86_tile.h"
#if DYNC__JIT_X86

DYNC__FN void dync__xsum_step(dync__asm *x, const dync__xsum *s, int u)
{
    for (int v = 0; s->rows > 1 && v < s->vectors; v++) s->load(s->of, s->b + v, v, u);
    for (int i = 0; i < s->rows; i++) {
        int a = s->a + (i + u) % s->n_a;
        dync__x_v(x, s->spread, s->vl, a, 0, s->element(s->of, i, u), 0, 0);
        for (int v = 0; v < s->vectors; v++) {
            int k = 0;
            dync__place from = s->rows == 1 ? s->fold(s->of, v, u, &k) : dync__a_reg(s->b + v);
            dync__x_v(x, s->mul, s->vl, i * s->vectors + v, a, from, 0, k);
        }
    }
}
#endif
