/* cuda/ptx_transpose.c: pointwise kernels whose accesses disagree on which loop has neighbours in
 * memory. Before ptx_mem.c.
 *
 * The last loop is the one along which the kernel computes ("along"); another, `across`, has the
 * neighbours of the accesses that are transposed. A block does one square of side x side indices of
 * the two. What is transposed and read comes in by vectors along `across` and goes into shared
 * memory as rows along the last loop; the kernel is then computed as any flat one, with loads and
 * stores of what is transposed in shared memory; what is transposed and written leaves the same way
 * back. Elements stay in their storage dtype, so nothing is rounded twice.
 *
 *   place      chunk c (16 bytes) of row m lies at chunk c ^ (m / w & 7) of the row: w elements are
 *              one access of global memory. 8 lanes side by side along `across` and 4 along the
 *              last loop, which a warp moves at once, then meet in no bank; nor do 8 lanes that
 *              compute
 *   words      narrow elements go to shared memory in words of 4 bytes: a lane takes R = 4 / bytes
 *              rows of the last loop and transposes the words (R x R elements) in registers
 * The plain form is the flat kernel without all this: kernels of another shape, and where the loops
 * are short. Sources: Ruetsch and Micikevicius 2009 (tiles in shared memory); Micikevicius, XOR
 * swizzles as in CUTLASS. */
#include "../dync.in.h"
#include "ptx.h"
DYNC__COLD

enum { DYNC__PTX_TRANSPOSE_BYTES = 32768 }; /* of shared memory, two blocks side by side */

static bool dync__ptx_transpose_is(const dync__kernel *k, const dync__access *a, int across)
{
    int64_t by = a->stride[k->n_dims - 1];
    return a->stride[across] == 1 && (by > 1 || by < -1);
}

static bool dync__ptx_transpose_moves(const dync__ptx *p, int i)
{
    const dync__inst *in = &p->k->inst.at[i];
    return p->needed[i] && (in->prim == DYNC__P_load || in->prim == DYNC__P_store) &&
           !p->host[in->buf];
}

/* What is read and written has one access: a square is read whole before it is written. */
static bool dync__ptx_transpose_is_safe(const dync__ptx *p)
{
    const dync__kernel *k = p->k;
    for (int i = 0; i < k->inst.n; i++)
        for (int j = 0; j < i; j++) {
            const dync__inst *a = &k->inst.at[i], *b = &k->inst.at[j];
            if (!p->needed[i] || !p->needed[j] || a->buf < 0 || a->buf != b->buf ||
                k->buf.at[a->buf].mode != (DYNC__BUF_IN | DYNC__BUF_OUT))
                continue;
            if (a->access != b->access || a->prim == DYNC__P_loadx || a->prim == DYNC__P_storex)
                return false;
        }
    return true;
}

/* Elements of one access of global memory along `across`. */
static int dync__ptx_transpose_width(dync__ptx *p, const dync__inst *in, int across, bool scalar)
{
    const dync__kernel *k = p->k;
    const dync__access *a = &k->access.at[in->access];
    int bytes = dync__dtype_info(k->buf.at[in->buf].dtype)->bytes;
    for (int w = scalar ? 1 : 16 / bytes; w > 1 && w * bytes >= 4; w /= 2) {
        bool fits = k->extent[across] % w == 0;
        for (int d = 0; d < k->n_dims; d++)
            fits &= d == across || k->extent[d] <= 1 || a->stride[d] * bytes % (w * bytes) == 0;
        if (!fits || p->n_checks == DYNC__PTX_CHECKS) continue;
        p->check[p->n_checks++] = (dync__ptx_check){in->buf, w * bytes, a->offset * bytes};
        return w;
    }
    return 1;
}

DYNC__FN int dync__ptx_transpose_bytes(const dync__ptx *p, const dync__ptx_transposed *t)
{
    return dync__dtype_info(p->k->buf.at[t->buf].dtype)->bytes;
}

/* Decides whether the flat kernel runs in squares, and how. */
DYNC__FN void dync__ptx_plan_transpose(dync__ptx *p, int units, bool scalar)
{
    const dync__kernel *k = p->k;
    dync__ptx_shape *s = &p->shape;
    int last = k->n_dims - 1, best = 0, narrow = 8, total = 0;
    int64_t side = 64, blocks = 1;
    p->n_transposed = s->side = 0;
    if (last < 1 || k->extent[last] < DYNC__PTX_TRANSPOSE_LEAST || !dync__ptx_transpose_is_safe(p))
        return;
    for (int d = 0; d < last; d++) {
        int n = 0;
        for (int i = 0; i < k->inst.n; i++)
            n += k->extent[d] >= DYNC__PTX_TRANSPOSE_LEAST && dync__ptx_transpose_moves(p, i) &&
                 dync__ptx_transpose_is(k, &k->access.at[k->inst.at[i].access], d);
        if (n > best) best = n, s->across = d;
    }
    if (best == 0 || best > DYNC__PTX_TRANSPOSED) return;
    int checks = p->n_checks;
    for (int i = 0; i < k->inst.n; i++) {
        const dync__inst *in = &k->inst.at[i];
        if (!dync__ptx_transpose_moves(p, i)) continue;
        const dync__access *a = &k->access.at[in->access];
        bool transposed = dync__ptx_transpose_is(k, a, s->across), out = in->prim == DYNC__P_store;
        int bytes = dync__dtype_info(k->buf.at[in->buf].dtype)->bytes;
        if (transposed || a->stride[last] == 1) narrow = DYNC__MIN(narrow, bytes);
        if (!transposed || dync__ptx_transposed_of(p, in) >= 0) continue;
        dync__ptx_transposed *t = &p->transposed[p->n_transposed++];
        *t = (dync__ptx_transposed){.buf = in->buf,
                                    .access = in->access,
                                    .out = out,
                                    .width = dync__ptx_transpose_width(p, in, s->across, scalar)};
        total += bytes;
    }
    side = narrow == 1 ? 128 : narrow == 8 ? 32 : 64;
    while (side > 16 && side * side * total > DYNC__PTX_TRANSPOSE_BYTES) side /= 2;
    while (side > 32 && (side / 2 >= k->extent[last] || side / 2 >= k->extent[s->across]))
        side /= 2;
    for (; side >= 16; side /= 2) {
        blocks = (s->inner + k->extent[last] * k->extent[s->across] - 1) /
                 (k->extent[last] * k->extent[s->across]);
        blocks *= (k->extent[last] + side - 1) / side * ((k->extent[s->across] + side - 1) / side);
        if (blocks >= 2 * units || side * narrow <= 128) break;
    }
    if (blocks > INT32_MAX) {
        p->n_transposed = 0;
        p->n_checks = checks;
        return;
    }
    s->side = (int)side;
    s->blocks = blocks;
    int lanes = (int)side / s->vec; /* threads along the last loop */
    s->block = (int)DYNC__MIN(DYNC__PTX_BLOCK, side * lanes);
    s->iterations = side * lanes / s->block;
    s->groups = (int)DYNC__MIN(s->groups, s->iterations);
    s->iterations /= s->groups;
    s->guarded = k->extent[last] % side != 0 || k->extent[s->across] % side != 0;
    for (int i = 0; i < p->n_transposed; i++) {
        p->transposed[i].at = p->transposed_bytes;
        p->transposed_bytes += (int)side * (int)side *
                               dync__ptx_transpose_bytes(p, &p->transposed[i]);
    }
}

DYNC__FN int dync__ptx_transposed_of(const dync__ptx *p, const dync__inst *in)
{
    for (int i = 0; i < p->n_transposed; i++)
        if (p->transposed[i].buf == in->buf && p->transposed[i].access == in->access &&
            p->transposed[i].out == (in->prim == DYNC__P_store))
            return i;
    return -1;
}

/* Chunks of a row that change places: a power of two less one. */
static int dync__ptx_transpose_mask(const dync__ptx *p, const dync__ptx_transposed *t)
{
    return DYNC__MIN(8, p->shape.side * dync__ptx_transpose_bytes(p, t) / 16) - 1;
}

DYNC__FN void dync__ptx_transpose_swizzle(dync__ptx *p, const dync__ptx_transposed *t,
                                          const char *to, const char *m)
{
    dync__ptx_line(p, "div.u32 %s, %s, %d", to, m, t->width);
    dync__ptx_line(p, "and.b32 %s, %s, %d", to, to, dync__ptx_transpose_mask(p, t));
}

/* Where elements of `group` from number `element` of it on lie in shared memory, for the thread
 * that computes them. */
DYNC__FN void dync__ptx_transposed_place(dync__ptx *p, int transposed, int group, int element,
                                         char *out, size_t cap)
{
    const dync__ptx_transposed *t = &p->transposed[transposed];
    int bytes = dync__ptx_transpose_bytes(p, t), of = element * bytes;
    char m[24], to[24], x[24];
    dync__format(m, sizeof m, "%%m%d", group);
    dync__format(to, sizeof to, "%s", dync__ptx_temp(p, "u32"));
    dync__format(x, sizeof x, "%s", dync__ptx_temp(p, "u32"));
    dync__ptx_transpose_swizzle(p, t, x, m);
    dync__ptx_line(p, "mad.lo.u32 %s, %%l, %d, %d", to, bytes, of / 16 * 16);
    dync__ptx_line(p, "shl.b32 %s, %s, 4", x, x);
    dync__ptx_line(p, "xor.b32 %s, %s, %s", to, to, x);
    dync__ptx_line(p, "mad.lo.u32 %s, %s, %d, %s", to, m, p->shape.side * bytes, to);
    dync__ptx_line(p, "add.u32 %s, %s, %%smem", to, to);
    dync__format(out, cap, "%s+%d", to, t->at + of % 16);
}
