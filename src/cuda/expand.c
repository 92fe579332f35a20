/* cuda/expand.c: primitives that are no instructions on a GPU, in terms of those that are. Before ptx.c.
 *
 * A draw from the normal distribution (base/rng.c: Box and Muller 1958 in double) becomes two draws of doubles and the library's own log and
 * cos: imm 2 is 1 - (words 0, 1 as in [0, 1)), imm 3 words 2, 3. Its log and cos are those of vecmath, within 1 ULP of the CPU's. */
#include "../dync.in.h"
#include "ptx.h"

static int dync__ptx_normal(dync__lb *b, int number, int type)
{
    dync__inst u = dync__inst_make(DYNC__P_random, DYNC_F64, number, -1, -1), v = u;
    u.imm.i = 2;
    v.imm.i = 3;
    int log = dync__vm_log(b, dync__lb_share(b, &u, false));
    int radius = dync__lb_op(b, DYNC__P_sqrt, dync__lb_op(b, DYNC__P_mul, log, dync__lb_f(b, DYNC_F64, -2.0), -1), -1, -1);
    int angle = dync__lb_op(b, DYNC__P_mul, dync__lb_share(b, &v, false), dync__lb_f(b, DYNC_F64, 6.283185307179586476925), -1);
    return dync__lb_cast(b, dync__lb_op(b, DYNC__P_mul, radius, dync__vm_cos(b, angle), -1), type);
}

DYNC__FN const dync__kernel *dync__ptx_expand(dync__arena *arena, const dync__kernel *k)
{
    bool any = false;
    for (int i = 0; i < k->inst.n; i++) any |= k->inst.at[i].prim == DYNC__P_random && k->inst.at[i].imm.i == 1;
    if (!any) return k;
    dync__kernel *out = dync__kernel_new(arena, k->name, k->n_outer, k->n_dims, k->extent);
    int32_t *number = dync__arena_alloc(arena, (size_t)(k->inst.n + 1) * sizeof *number);
    if (!out || !number) return NULL;
    out->uses_random = true;
    for (int i = 0; i < k->buf.n; i++)
        if (!dync__avec_push(arena, &out->buf, k->buf.at[i])) return NULL;
    for (int i = 0; i < k->access.n; i++)
        if (!dync__avec_push(arena, &out->access, k->access.at[i])) return NULL;
    for (int i = 0; i < k->inst.n; i++) {
        dync__inst in = k->inst.at[i];
        dync__lb b = {.k = out, .section = in.section, .origin = in.origin};
        for (int a = 0; a < 3; a++)
            if (in.arg[a] >= 0) in.arg[a] = number[in.arg[a]];
        if (in.prim == DYNC__P_random && in.imm.i == 1) {
            number[i] = dync__ptx_normal(&b, in.arg[0], in.type);
        } else {
            if (!dync__avec_push(arena, &out->inst, in)) return NULL;
            number[i] = out->inst.n - 1;
        }
    }
    return out->failed ? NULL : out;
}
