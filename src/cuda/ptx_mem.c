/* cuda/ptx_mem.c: addresses, loads, stores and indices of PTX text. Before ptx.c.
 *
 * An address is the buffer's, the fixed offset, the row's coordinates and the group's coordinates;
 * lanes of a group differ by a constant. Narrow elements are widened in registers; a group of
 * neighbours is moved by one access of up to 16 bytes. */
#include "../dync.in.h"
#include "ptx.h"
DYNC__COLD

DYNC__FN void dync__ptx_add_scaled(dync__ptx *p, const char *reg, const char *coordinate,
                                   int64_t by)
{
    if (!p->shape.wide && by >= -0x7fffffff && by <= 0x7fffffff) {
        dync__ptx_line(p, "mad.wide.s32 %s, %s, %lld, %s", reg, coordinate, (long long)by, reg);
        return;
    }
    const char *wide = coordinate;
    if (!p->shape.wide) {
        wide = dync__ptx_temp(p, "s64");
        dync__ptx_line(p, "cvt.s64.s32 %s, %s", wide, coordinate);
    }
    dync__ptx_line(p, "mad.lo.s64 %s, %s, %lld, %s", reg, wide, (long long)by, reg);
}

/* reg += sum of stride * unit * coordinate. group -1: row code. */
static void dync__ptx_add_access(dync__ptx *p, const char *reg, const dync__access *a, int64_t unit,
                                 int group)
{
    bool is_flat = p->shape.mode == DYNC__PTX_FLAT;
    char name[40];
    for (int d = 0; d < p->k->n_dims; d++) {
        bool outer = !is_flat && d < p->k->n_outer;
        if (a->stride[d] == 0 || p->k->extent[d] <= 1 || (!outer && group < 0)) continue;
        if (outer)
            dync__format(name, sizeof name, "%%o%d", d);
        else
            dync__format(name, sizeof name, "%%i%d_%db%d", d, group,
                         p->shape.iterations == 1 && !is_flat ? 1 : p->block);
        dync__ptx_add_scaled(p, reg, name, a->stride[d] * unit);
    }
}

DYNC__FN const char *dync__ptx_address_of(dync__ptx *p, int buf, int access, int group)
{
    bool straight = p->shape.iterations == 1 && p->shape.mode != DYNC__PTX_FLAT;
    for (int i = 0; i < p->address.n; i++) {
        dync__ptx_address *a = &p->address.at[i];
        if (a->buf == buf && a->access == access && a->group == group &&
            (a->at == p->block || straight))
            return a->reg;
    }
    const dync__access *acc = &p->k->access.at[access];
    int bytes = dync__dtype_info(p->k->buf.at[buf].dtype)->bytes;
    dync__ptx_address made = {.buf = buf, .access = access, .group = group, .at = p->block};
    dync__format(made.reg, sizeof made.reg, "%s", dync__ptx_temp(p, "s64"));
    if (!dync__avec_push(p->arena, &p->address, made)) {
        p->failed = true;
        return "%b0";
    }
    const char *reg = p->address.at[p->address.n - 1].reg;
    dync__ptx_line(p, "add.s64 %s, %%b%d, %lld", reg, buf, (long long)(acc->offset * bytes));
    dync__ptx_add_access(p, reg, acc, bytes, group);
    return reg;
}

DYNC__FN void dync__ptx_index(dync__ptx *p, int i, int lane)
{
    const dync__inst *in = &p->k->inst.at[i];
    const dync__access *a = &p->k->access.at[in->access];
    const char *to = dync__ptx_dest(p, i, lane);
    int last = p->k->n_dims - 1;
    int64_t along = last >= 0 && !dync__ptx_is_row(p, in) && p->uniform[i] != 2
                        ? a->stride[last] * (lane % p->vec)
                        : 0;
    char name[40];
    dync__format(name, sizeof name, "%s", to);
    dync__ptx_line(p, "mov.b64 %s, %s", name,
                   dync__ptx_constant(p, DYNC_I64, (dync__scalar){.i = a->offset + along}));
    dync__ptx_add_access(p, name, a, 1,
                         dync__ptx_is_row(p, in) || p->uniform[i] == 2 ? -1 : lane / p->vec);
}

/* ---- elements -------------------------------------------------------------------------------- */

/* Type of a load or store of one element, and of the register that it goes through. */
DYNC__FN const char *dync__ptx_memory_type(int dtype)
{
    static const char *const names[] = {"f32", "f64", "b16", "b16", "b64",
                                        "b32", "s16", "s8",  "u8",  "u8"};
    return names[dtype];
}
DYNC__FN const char *dync__ptx_raw_type(int dtype)
{
    static const char *const names[] = {"f32", "f64", "b16", "b16", "s64",
                                        "s32", "s32", "s32", "s32", "s32"};
    return names[dtype];
}
DYNC__FN void dync__ptx_unloaded(dync__ptx *p, const char *guard, const char *type,
                                 const char *name)
{
    if (*guard) dync__ptx_line(p, "mov.b%s %s, 0", type + 1, name);
}
DYNC__FN bool dync__ptx_is_plain(int dtype)
{
    return dync__dtype_info(dtype)->compute == dtype && dtype != DYNC_BOOL;
}

DYNC__FN void dync__ptx_narrow(dync__ptx *p, int dtype, const char *raw, const char *from)
{
    switch (dtype) {
    case DYNC_F16: dync__ptx_line(p, "cvt.rn.f16.f32 %s, %s", raw, from); break;
    case DYNC_BF16: dync__ptx_line(p, "cvt.rn.bf16.f32 %s, %s", raw, from); break;
    case DYNC_BOOL: dync__ptx_line(p, "selp.s32 %s, 1, 0, %s", raw, from); break;
    default:
        dync__ptx_line(p, "mov.%s %s, %s", dync__ptx_bits(dync__dtype_info(dtype)->compute), raw,
                       from);
        break;
    }
}

/* The value of an element in main memory came as a parameter. */
static void dync__ptx_load_host(dync__ptx *p, int i)
{
    const dync__inst *in = &p->k->inst.at[i];
    int dtype = p->k->buf.at[in->buf].dtype;
    char to[40];
    dync__format(to, sizeof to, "%s", dync__ptx_dest(p, i, 0));
    if (dync__dtype_info(dtype)->bytes == 8) {
        dync__ptx_line(p, "mov.b64 %s, %%b%d", to, (int)in->buf);
        return;
    }
    const char *word = dync__ptx_temp(p, "s32");
    dync__ptx_line(p, "cvt.u32.u64 %s, %%b%d", word, (int)in->buf);
    if (dtype == DYNC_I16 || dtype == DYNC_I8)
        dync__ptx_line(p, "bfe.s32 %s, %s, 0, %d", to, word, dtype == DYNC_I8 ? 8 : 16);
    else if (dtype == DYNC_U8)
        dync__ptx_line(p, "and.b32 %s, %s, 255", to, word);
    else if (dtype == DYNC_BOOL)
        dync__ptx_line(p, "setp.ne.s32 %s, %s, 0", to, word);
    else if (dtype == DYNC_F16 || dtype == DYNC_BF16) {
        const char *half = dync__ptx_temp(p, "b16");
        dync__ptx_line(p, "cvt.u16.u32 %s, %s", half, word);
        dync__ptx_widen(p, dtype, to, half);
    } else {
        dync__ptx_line(p, "mov.b32 %s, %s", to, word);
    }
}

/* Words of 32 bits that hold narrow elements, taken apart or put together. */
static void dync__ptx_unpack(dync__ptx *p, int i, int lane0, int n, int dtype,
                             const char *const *word)
{
    int bytes = dync__dtype_info(dtype)->bytes, per = 4 / bytes;
    for (int k = 0; k < n; k += per) {
        const char *half[2] = {NULL, NULL};
        if (dtype == DYNC_BF16 || dtype == DYNC_F16)
            dync__ptx_pair_is(p, i, lane0 + k, word[k / per]);
        if (dtype == DYNC_BF16) { /* the upper half of a float */
            for (int e = 0; e < 2; e++) {
                const char *bits = dync__ptx_temp(p, "b32");
                dync__ptx_line(p, e ? "and.b32 %s, %s, 0xffff0000" : "shl.b32 %s, %s, 16", bits,
                               word[k / per]);
                dync__ptx_line(p, "mov.b32 %s, %s", dync__ptx_dest(p, i, lane0 + k + e), bits);
            }
            continue;
        }
        if (dtype == DYNC_F16) {
            half[0] = dync__ptx_temp(p, "b16");
            half[1] = dync__ptx_temp(p, "b16");
            dync__ptx_line(p, "mov.b32 {%s, %s}, %s", half[0], half[1], word[k / per]);
        }
        for (int e = 0; e < per; e++) {
            char to[40];
            dync__format(to, sizeof to, "%s", dync__ptx_dest(p, i, lane0 + k + e));
            if (half[0]) {
                dync__ptx_widen(p, dtype, to, half[e]);
                continue;
            }
            const char *raw = dync__ptx_temp(p, "s32");
            dync__ptx_line(p, "bfe.%s %s, %s, %d, %d",
                           dtype == DYNC_I16 || dtype == DYNC_I8 ? "s32" : "u32", raw,
                           word[k / per], e * 8 * bytes, 8 * bytes);
            dync__ptx_widen(p, dtype, to, raw);
        }
    }
}

DYNC__FN void dync__ptx_list(char *out, size_t cap, int n, char name[][40])
{
    int at = dync__format(out, cap, "{");
    for (int k = 0; k < n; k++)
        at += dync__format(out + at, cap - (size_t)at, "%s%s", k ? ", " : "", name[k]);
    dync__format(out + at, cap - (size_t)at, "}");
}

/* Where element k of a group lies: address and state space; of what is transposed, in shared
 * memory. */
DYNC__FN const char *dync__ptx_spot(dync__ptx *p, const dync__inst *in, int group, int k,
                                    const char *at, char *out, size_t cap)
{
    int transposed = dync__ptx_transposed_of(p, in),
        bytes = dync__dtype_info(p->k->buf.at[in->buf].dtype)->bytes;
    if (transposed >= 0)
        dync__ptx_transposed_place(p, transposed, group, k, out, cap);
    else
        dync__format(out, cap, "%s+%d", at, k * bytes);
    return transposed >= 0 ? "shared" : "global";
}

/* Neighbours are moved by one access? */
DYNC__FN bool dync__ptx_moves_groups(const dync__ptx *p, const dync__inst *in)
{
    if (dync__ptx_transposed_of(p, in) < 0) return dync__ptx_is_vector(p, in->buf, in->access);
    return p->vec > 1 && p->vec * dync__dtype_info(p->k->buf.at[in->buf].dtype)->bytes >= 4;
}

/* A register for bits as they lie in memory. */
static void dync__ptx_raw(dync__ptx *p, int i, int lane, const char *type, char name[40])
{
    if (p->raw)
        dync__format(name, 40, "%%raw%d_%db%d", i, lane, p->block);
    else
        dync__format(name, 40, "%s", dync__ptx_temp(p, type));
    if (p->raw == 1) dync__ptx_reg(p, type, name);
}

static void dync__ptx_load_group(dync__ptx *p, int i, int group)
{
    const dync__inst *in = &p->k->inst.at[i];
    int dtype = p->k->buf.at[in->buf].dtype, bytes = dync__dtype_info(dtype)->bytes,
        lane0 = group * p->vec;
    int per = DYNC__MIN(16 / bytes, p->vec); /* elements of one access */
    char name[8][40], list[360], at[40] = "", guard[40], spot[64];
    bool plain = dync__ptx_is_plain(dtype);
    if (plain && p->raw == 2) return;
    if (dync__ptx_transposed_of(p, in) < 0 && p->raw < 2)
        dync__format(at, sizeof at, "%s", dync__ptx_address_of(p, in->buf, in->access, group));
    dync__format(guard, sizeof guard, "%s", dync__ptx_guard(p, lane0, false));
    for (int k = 0; k < p->vec; k += per) {
        int n = plain ? per : per * bytes / 4;
        const char *word[8];
        for (int e = 0; e < n; e++) {
            if (plain)
                dync__format(name[e], sizeof name[e], "%s", dync__ptx_dest(p, i, lane0 + k + e));
            else
                dync__ptx_raw(p, i, lane0 + k + e, "b32", name[e]);
            word[e] = name[e];
        }
        if (p->raw == 2) {
            dync__ptx_unpack(p, i, lane0 + k, per, dtype, word);
            continue;
        }
        if (n == 1)
            dync__format(list, sizeof list, "%s", name[0]);
        else
            dync__ptx_list(list, sizeof list, n, name);
        const char *space = dync__ptx_spot(p, in, group, k, at, spot, sizeof spot);
        for (int e = 0; e < n; e++)
            dync__ptx_unloaded(p, guard, plain ? dync__ptx_raw_type(dtype) : "b32", name[e]);
        dync__ptx_line(p, "%sld.%s.%s%s %s, [%s]", guard, space,
                       n == 1   ? ""
                       : n == 2 ? "v2."
                                : "v4.",
                       plain ? dync__ptx_memory_type(dtype) : "b32", list, spot);
        if (!plain && !p->raw) dync__ptx_unpack(p, i, lane0 + k, per, dtype, word);
    }
}

static void dync__ptx_load_one(dync__ptx *p, int i, int lane)
{
    const dync__inst *in = &p->k->inst.at[i];
    int dtype = p->k->buf.at[in->buf].dtype, bytes = dync__dtype_info(dtype)->bytes,
        last = p->k->n_dims - 1;
    bool row = dync__ptx_lanes(p, i) == 1 && (dync__ptx_is_row(p, in) || p->uniform[i] == 2);
    char at[40] = "", to[40], guard[40], spot[64];
    int64_t along =
        row || last < 0 ? 0 : p->k->access.at[in->access].stride[last] * (lane % p->vec) * bytes;
    bool transposed = dync__ptx_transposed_of(p, in) >= 0, plain = dync__ptx_is_plain(dtype);
    char raw[40];
    if (p->raw == 2) {
        dync__ptx_raw(p, i, lane, dync__ptx_raw_type(dtype), raw);
        if (!plain) dync__ptx_widen(p, dtype, dync__ptx_dest(p, i, lane), raw);
        return;
    }
    if (!transposed)
        dync__format(at, sizeof at, "%s",
                     dync__ptx_address_of(p, in->buf, in->access, row ? -1 : lane / p->vec));
    if (in->prim == DYNC__P_loadx) {
        const char *index = dync__ptx_in_reg(p, in->arg[0], lane),
                   *moved = dync__ptx_temp(p, "s64");
        dync__ptx_line(p, "mad.lo.s64 %s, %s, %d, %s", moved, index, bytes, at);
        dync__format(at, sizeof at, "%s", moved);
    }
    bool over = p->in_place && p->shape.mode != DYNC__PTX_FLAT &&
                p->shape.rows % p->shape.rows_per_block;
    dync__format(guard, sizeof guard, "%s",
                 row ? (over ? "@%rowok " : "") : dync__ptx_guard(p, lane, false));
    if (plain || !p->raw) dync__format(to, sizeof to, "%s", dync__ptx_dest(p, i, lane));
    if (plain)
        dync__format(raw, sizeof raw, "%s", to);
    else
        dync__ptx_raw(p, i, lane, dync__ptx_raw_type(dtype), raw);
    dync__format(spot, sizeof spot, "%s+%lld", at, (long long)along);
    if (transposed)
        (void)dync__ptx_spot(p, in, lane / p->vec, lane % p->vec, at, spot, sizeof spot);
    dync__ptx_unloaded(p, guard, dync__ptx_raw_type(dtype), raw);
    dync__ptx_line(p, "%sld.%s.%s %s, [%s]", guard, transposed ? "shared" : "global",
                   dync__ptx_memory_type(dtype), raw, spot);
    if (!plain && !p->raw) dync__ptx_widen(p, dtype, to, raw);
}

DYNC__FN void dync__ptx_load(dync__ptx *p, int i)
{
    const dync__inst *in = &p->k->inst.at[i];
    if (p->host[in->buf]) {
        dync__ptx_load_host(p, i);
        return;
    }
    int lanes = dync__ptx_lanes(p, i);
    bool vector = lanes > 1 && in->prim == DYNC__P_load && p->uniform[i] == 0 &&
                  dync__ptx_moves_groups(p, in);
    for (int lane = 0; lane < lanes; lane++) {
        if (dync__ptx_lane(p, i, lane) != lane) continue;
        if (!vector)
            dync__ptx_load_one(p, i, lane);
        else if (lane % p->vec == 0)
            dync__ptx_load_group(p, i, lane / p->vec);
    }
}
