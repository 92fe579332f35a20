/* cuda/ptx_store.c: stores of elements, one or a group at a time. Before: ptx_mem.c. */
#include "../dync.in.h"
#include "ptx.h"
DYNC__COLD

/* ---- stores ---------------------------------------------------------------------------------- */

static void dync__ptx_store_group(dync__ptx *p, int i, int group)
{
    const dync__inst *in = &p->k->inst.at[i];
    int dtype = p->k->buf.at[in->buf].dtype, bytes = dync__dtype_info(dtype)->bytes,
        lane0 = group * p->vec;
    int per = DYNC__MIN(16 / bytes, p->vec);
    bool plain = dync__ptx_is_plain(dtype);
    char name[8][40], list[360], at[40] = "", guard[40], spot[64];
    if (dync__ptx_transposed_of(p, in) < 0)
        dync__format(at, sizeof at, "%s", dync__ptx_address_of(p, in->buf, in->access, group));
    dync__format(guard, sizeof guard, "%s", dync__ptx_guard(p, lane0, true));
    for (int k = 0; k < p->vec; k += per) {
        int n = 0;
        for (int e = 0; e < per && plain; e++)
            dync__format(name[n++], sizeof name[0], "%s",
                         dync__ptx_in_reg(p, in->arg[0], lane0 + k + e));
        for (int e = 0; e < per && !plain; e += 4 / bytes) {
            const char *word = dync__ptx_temp(p, "b32");
            dync__format(name[n], sizeof name[0], "%s", word);
            if (bytes == 2 && dtype != DYNC_I16) {
                char low[40], pair[48];
                dync__format(low, sizeof low, "%s", dync__ptx_in_reg(p, in->arg[0], lane0 + k + e));
                if (dync__ptx_pair_of(p, in->arg[0], lane0 + k + e, dtype, pair))
                    dync__ptx_line(p, "mov.b32 %s, %s", name[n], pair);
                else
                    dync__ptx_line(p, "cvt.rn.%s.f32 %s, %s, %s",
                                   dtype == DYNC_F16 ? "f16x2" : "bf16x2", name[n],
                                   dync__ptx_in_reg(p, in->arg[0], lane0 + k + e + 1), low);
            } else {
                dync__ptx_line(p, "mov.b32 %s, 0", name[n]);
                for (int b = 0; b < 4 / bytes; b++) {
                    const char *raw = dync__ptx_temp(p, "s32");
                    dync__ptx_narrow(p, dtype, raw,
                                     dync__ptx_in_reg(p, in->arg[0], lane0 + k + e + b));
                    dync__ptx_line(p, "bfi.b32 %s, %s, %s, %d, %d", name[n], raw, name[n],
                                   8 * bytes * b, 8 * bytes);
                }
            }
            n++;
        }
        if (n == 1)
            dync__format(list, sizeof list, "%s", name[0]);
        else
            dync__ptx_list(list, sizeof list, n, name);
        const char *space = dync__ptx_spot(p, in, group, k, at, spot, sizeof spot);
        dync__ptx_line(p, "%sst.%s.%s%s [%s], %s", guard, space,
                       n == 1   ? ""
                       : n == 2 ? "v2."
                                : "v4.",
                       plain ? dync__ptx_memory_type(dtype) : "b32", spot, list);
    }
}

static void dync__ptx_store_one(dync__ptx *p, int i, int lane)
{
    const dync__inst *in = &p->k->inst.at[i];
    int dtype = p->k->buf.at[in->buf].dtype, bytes = dync__dtype_info(dtype)->bytes,
        last = p->k->n_dims - 1;
    bool row = dync__ptx_is_row(p, in);
    char at[40] = "", value[40], guard[40], spot[64];
    int64_t along =
        row || last < 0 ? 0 : p->k->access.at[in->access].stride[last] * (lane % p->vec) * bytes;
    bool transposed = dync__ptx_transposed_of(p, in) >= 0;
    if (!transposed)
        dync__format(at, sizeof at, "%s",
                     dync__ptx_address_of(p, in->buf, in->access, row ? -1 : lane / p->vec));
    if (in->prim == DYNC__P_storex) {
        const char *index = dync__ptx_in_reg(p, in->arg[1], lane),
                   *moved = dync__ptx_temp(p, "s64");
        dync__ptx_line(p, "mad.lo.s64 %s, %s, %d, %s", moved, index, bytes, at);
        dync__format(at, sizeof at, "%s", moved);
    }
    dync__format(guard, sizeof guard, "%s", row ? "@%first " : dync__ptx_guard(p, lane, true));
    dync__format(value, sizeof value, "%s", dync__ptx_in_reg(p, in->arg[0], lane));
    const char *raw = dync__ptx_is_plain(dtype) ? value
                                                : dync__ptx_temp(p, dync__ptx_raw_type(dtype));
    if (raw != value) dync__ptx_narrow(p, dtype, raw, value);
    dync__format(spot, sizeof spot, "%s+%lld", at, (long long)along);
    if (transposed)
        (void)dync__ptx_spot(p, in, lane / p->vec, lane % p->vec, at, spot, sizeof spot);
    dync__ptx_line(p, "%sst.%s.%s [%s], %s", guard, transposed ? "shared" : "global",
                   dync__ptx_memory_type(dtype), spot, raw);
}

DYNC__FN void dync__ptx_store(dync__ptx *p, int i)
{
    const dync__inst *in = &p->k->inst.at[i];
    if (dync__ptx_is_row(p, in)) {
        dync__ptx_row_barrier(p);
        dync__ptx_store_one(p, i, 0);
        dync__ptx_row_barrier(p);
        return;
    }
    bool vector = in->prim == DYNC__P_store && dync__ptx_moves_groups(p, in);
    for (int lane = 0; lane < p->groups * p->vec; lane++) {
        if (!vector)
            dync__ptx_store_one(p, i, lane);
        else if (lane % p->vec == 0)
            dync__ptx_store_group(p, i, lane / p->vec);
    }
}
