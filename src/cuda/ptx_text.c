/* cuda/ptx_text.c: lines of PTX text, its registers, and where values of a kernel are. Before all
 * that writes PTX. Invariant: every register is declared once, at the top of its function. */
#include "../dync.in.h"
#include "ptx.h"
DYNC__COLD

/* ---- text ------------------------------------------------------------------------------------ */

DYNC__FN void dync__ptx_line(dync__ptx *p, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    dync__str_add(&p->body, "    ");
    dync__str_addv(&p->body, fmt, args);
    dync__str_add(&p->body, fmt[strlen(fmt) - 1] == ':' ? "\n" : ";\n");
    va_end(args);
}

DYNC__FN void dync__ptx_reg(dync__ptx *p, const char *type, const char *name)
{
    dync__str_addf(&p->regs, "    .reg .%s %s;\n", type, name);
}

static char *dync__ptx_name(dync__ptx *p)
{
    p->next_name = (p->next_name + 1) % DYNC__COUNT_OF(p->name);
    return p->name[p->next_name];
}

DYNC__FN const char *dync__ptx_temp(dync__ptx *p, const char *type)
{
    char *name = dync__ptx_name(p);
    dync__format(name, sizeof p->name[0], "%%x%d", p->n_temps++);
    dync__ptx_reg(p, type, name);
    return name;
}

DYNC__FN const char *dync__ptx_type(int type)
{
    return type == DYNC_F32   ? "f32"
           : type == DYNC_F64 ? "f64"
           : type == DYNC_I64 ? "s64"
           : type == DYNC_I32 ? "s32"
                              : "pred";
}
DYNC__FN const char *dync__ptx_bits(int type)
{
    return type == DYNC_F64 || type == DYNC_I64 ? "b64" : "b32";
}

DYNC__FN const char *dync__ptx_constant(dync__ptx *p, int type, dync__scalar s)
{
    char *name = dync__ptx_name(p);
    size_t cap = sizeof p->name[0];
    uint64_t bits = 0;
    if (type == DYNC_BOOL) return s.i ? "%true" : "%false";
    if (type == DYNC_F32) {
        uint32_t u;
        memcpy(&u, &s.f, sizeof u);
        dync__format(name, cap, "0f%08x", (unsigned)u);
    } else if (type == DYNC_F64) {
        memcpy(&bits, &s.d, sizeof bits);
        dync__format(name, cap, "0d%08x%08x", (unsigned)(bits >> 32), (unsigned)bits);
    } else if (s.i == INT64_MIN) {
        dync__format(name, cap, "0x8000000000000000");
    } else {
        dync__format(name, cap, "%lld", (long long)s.i);
    }
    return name;
}

/* ---- values ---------------------------------------------------------------------------------- */

static bool dync__ptx_straight(const dync__ptx *p)
{
    return p->shape.iterations == 1 && p->shape.mode != DYNC__PTX_FLAT;
}

/* Are the registers of i those of this block, or good everywhere? */
DYNC__FN bool dync__ptx_at_hand(const dync__ptx *p, int i)
{
    const dync__inst *in = dync__ptx_inst(p, i);
    if (p->where[i] < 0) return false;
    return p->where[i] == p->block || dync__ptx_is_row(p, in) || in->prim == DYNC__P_reduce ||
           dync__ptx_straight(p);
}

DYNC__FN int dync__ptx_lanes(const dync__ptx *p, int i)
{
    const dync__inst *in = dync__ptx_inst(p, i);
    return dync__ptx_is_row(p, in) || in->prim == DYNC__P_reduce || p->uniform[i] == 2
               ? 1
               : p->groups * p->vec;
}

DYNC__FN int dync__ptx_lane(const dync__ptx *p, int i, int lane)
{
    if (dync__ptx_lanes(p, i) == 1) return 0;
    return p->uniform[i] == 1 ? lane / p->vec * p->vec : lane;
}

static const char *dync__ptx_value_name(dync__ptx *p, int i, int lane, char *name)
{
    const dync__inst *in = dync__ptx_inst(p, i);
    char block[16] = "", lanes[16] = "";
    const char *prim = dync__prim_info(in->prim)->name;
    if (p->where[i] > 0 && !dync__ptx_straight(p) && !dync__ptx_is_row(p, in) &&
        in->prim != DYNC__P_reduce)
        dync__format(block, sizeof block, "b%d", (int)p->where[i]);
    if (dync__ptx_lanes(p, i) > 1)
        dync__format(lanes, sizeof lanes, "_%d", dync__ptx_lane(p, i, lane));
    dync__format(name, sizeof p->name[0], "%%%s%d%s%s", prim, i, lanes, block);
    return name;
}

DYNC__FN const char *dync__ptx_use(dync__ptx *p, int i, int lane)
{
    const dync__inst *in = dync__ptx_inst(p, i);
    if (in->prim == DYNC__P_const_) return dync__ptx_constant(p, in->type, dync__const_scalar(in));
    if (!dync__ptx_at_hand(p, i)) dync__ptx_emit(p, i);
    return dync__ptx_value_name(p, i, lane, dync__ptx_name(p));
}

DYNC__FN const char *dync__ptx_in_reg(dync__ptx *p, int i, int lane)
{
    const char *text = dync__ptx_use(p, i, lane);
    int type = dync__ptx_inst(p, i)->type;
    if (text[0] == '%') return text;
    const char *reg = dync__ptx_temp(p, dync__ptx_type(type));
    dync__ptx_line(p, "mov.%s %s, %s", dync__ptx_bits(type), reg, text);
    return reg;
}

DYNC__FN const char *dync__ptx_dest(dync__ptx *p, int i, int lane)
{
    const char *name = dync__ptx_value_name(p, i, lane, dync__ptx_name(p));
    dync__ptx_reg(p, dync__ptx_type(dync__ptx_inst(p, i)->type), name);
    return name;
}

DYNC__FN const char *dync__ptx_guard(dync__ptx *p, int lane, bool writes)
{
    int group = lane / p->vec;
    char *name = dync__ptx_name(p);
    writes |= p->in_place;
    if (!p->shape.guarded ||
        (p->shape.mode == DYNC__PTX_FLAT && !p->shape.side && (group == 0 || p->copy))) {
        if (p->shape.mode == DYNC__PTX_FLAT || !writes ||
            p->shape.rows % p->shape.rows_per_block == 0)
            return "";
        return "@%rowok ";
    }
    dync__format(name, sizeof p->name[0], "@%%%s%db%d ", writes && !p->shape.side ? "put" : "in",
                 group, p->block);
    return name;
}

static bool dync__ptx_stored(const dync__ptx *p, int buf, int section)
{
    const dync__kernel *k = p->k;
    bool stored = false;
    for (int i = 0; i < k->inst.n; i++)
        stored |= k->inst.at[i].section == section && k->inst.at[i].buf == buf &&
                  !dync__inst_has_value(&k->inst.at[i]);
    return stored;
}

/* What earlier phases loaded and this one uses is loaded again: ahead of all, where this one stores
 * there. */
static void dync__ptx_load_first(dync__ptx *p, int section)
{
    const dync__kernel *k = p->k;
    bool *used = dync__arena_alloc(p->arena, (size_t)k->inst.n + 1);
    for (int i = k->inst.n - 1; i >= 0 && used; i--) {
        const dync__inst *in = &k->inst.at[i];
        bool here = in->section == section && p->needed[i];
        for (int a = 0; a < dync__prim_info(in->prim)->n_args; a++)
            used[in->arg[a]] |= here || (used[i] && in->prim != DYNC__P_reduce);
    }
    for (int i = 0; i < k->inst.n && used; i++) {
        const dync__inst *in = &k->inst.at[i];
        if (used[i] && in->section < section && in->section & 1 && in->buf >= 0 &&
            dync__ptx_stored(p, in->buf, section))
            (void)dync__ptx_use(p, i, 0);
    }
}

DYNC__FN void dync__ptx_section(dync__ptx *p, int section)
{
    if (p->in_place && section & 1) dync__ptx_load_first(p, section);
    for (int i = 0; i < p->k->inst.n; i++)
        if (p->needed[i] && dync__ptx_inst(p, i)->section == section) {
            dync__ptx_emit(p, i);
        }
}

/* Where other threads of the row may read what one writes. */
DYNC__FN void dync__ptx_row_barrier(dync__ptx *p)
{
    if (!p->in_place || p->shape.threads <= 1) return;
    if (p->shape.mode == DYNC__PTX_COLUMNS || p->shape.threads > 32)
        dync__ptx_line(p, "bar.sync 0");
    else
        dync__ptx_line(p, "bar.warp.sync 0xffffffff");
}

/* to = the raw element, widened. */
DYNC__FN void dync__ptx_widen(dync__ptx *p, int dtype, const char *to, const char *raw)
{
    switch (dtype) {
    case DYNC_F16: dync__ptx_line(p, "cvt.f32.f16 %s, %s", to, raw); break;
    case DYNC_BF16: {
        const char *word = dync__ptx_temp(p, "b32");
        dync__ptx_line(p, "cvt.u32.u16 %s, %s", word, raw);
        dync__ptx_line(p, "shl.b32 %s, %s, 16", word, word);
        dync__ptx_line(p, "mov.b32 %s, %s", to, word);
        break;
    }
    case DYNC_BOOL: dync__ptx_line(p, "setp.ne.s32 %s, %s, 0", to, raw); break;
    default:
        dync__ptx_line(p, "mov.%s %s, %s", dync__ptx_bits(dync__dtype_info(dtype)->compute), to,
                       raw);
        break;
    }
}
