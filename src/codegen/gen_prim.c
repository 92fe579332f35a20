/* codegen/gen_prim.c: primitives of the loop IR over verbs, for one vector. Between gen_reg.c and
 * gen_loops.c.
 *
 * The target's `shape` says how it does a primitive over a type, and so which operands it wants
 * where. What it does not do (SHAPE_NONE) is made of other verbs here. A case reads its operands (a
 * register, or memory for the last one), lets go of those that end here, takes a register for the
 * result and emits. Where several instructions are needed the result gets its register first, so
 * that it overwrites no operand. */
#include "../dync.in.h"
#include "gen.h"
DYNC__LEAN
#if DYNC__JIT

static int dync__gen_arg_type(const dync__gen *g, int i)
{
    const dync__inst *in = dync__gen_inst(g, i);
    return dync__gen_inst(g, in->arg[in->prim == DYNC__P_select ? 1 : 0])->type;
}

/* loads and reductions too */
DYNC__FN const char *dync__gen_refuses(const dync__gen *g, int i)
{
    const dync__inst *in = dync__gen_inst(g, i);
    const dync__target *t = g->a.t;
    const dync__buf *buf = in->buf >= 0 ? &g->b->k->buf.at[in->buf] : NULL;
    const char *why = buf ? t->refuses(t, DYNC__P_load, in->type, buf->dtype) : NULL;
    if (why) return why;
    switch (in->prim) {
    case DYNC__P_storex: return "scattered writes";
    case DYNC__P_loadx:
        return buf->size >= 0                                         ? "an index to be checked"
               : buf->dtype == DYNC_BOOL || buf->mode & DYNC__BUF_OUT ? "such an indexed load"
                                                                      : NULL;
    case DYNC__P_reduce:
        if (in->imm.i >= DYNC__R_ARGMAX)
            return dync__gen_arg_type(g, i) == DYNC_BOOL ? "argmax of BOOL" : NULL;
        return t->refuses(t, in->prim, in->type, (int)in->imm.i);
    case DYNC__P_scan: return t->refuses(t, in->prim, in->type, in->type);
    case DYNC__P_wrap: return t->refuses(t, in->prim, in->type, (int)in->imm.i);
    case DYNC__P_cast: return t->refuses(t, in->prim, dync__gen_arg_type(g, i), in->type);
    default: return NULL;
    }
}

/* ---- by shapes ------------------------------------------------------------------------------- */

static void dync__gen_two(dync__gen *g, int i, const int32_t arg[2], dync__vt v, int op,
                          bool commutes)
{
    bool swap = commutes && dync__gen_in_memory(g, arg[0]) && !dync__gen_in_memory(g, arg[1]);
    int x = dync__gen_src(g, arg[swap]);
    dync__place y = dync__gen_src_rm(g, arg[!swap]);
    dync__gen_release(g);
    DYNC__A(&g->a, OP2, .v = v, .op = op, .to = dync__gen_def(g, i), .x = x, .y = y);
}

/* A constant is no NaN, but one that is. */
static bool dync__gen_is_number(const dync__gen *g, int v)
{
    const dync__inst *in = dync__gen_inst(g, v);
    return in->prim == DYNC__P_const_ && (float)in->imm.f == (float)in->imm.f;
}

/* Operands in registers; lone: their last one is another's result. */
static void dync__gen_in_registers(dync__gen *g, int i, dync__vt v, int shape)
{
    const dync__inst *in = dync__gen_inst(g, i);
    dync__asm *a = &g->a;
    int n = dync__prim_info(in->prim)->n_args, x = dync__gen_src(g, in->arg[0]),
        y = n > 1 ? dync__gen_src(g, in->arg[1]) : x;
    if (shape == DYNC__SHAPE_REGS) dync__gen_release(g);
    int r = dync__gen_def(g, i);
    if (in->prim == DYNC__P_cast)
        DYNC__A(a, CONVERT, .v = dync__gen_vt(g, in->type), .to = r, .y = dync__a_reg(x),
                .n = v.type);
    else if (n == 1)
        DYNC__A(a, OP1, .v = v, .op = in->prim, .to = r, .y = dync__a_reg(x),
                .n = (int32_t)in->imm.i);
    else
        DYNC__A(a, OP2, .v = v, .op = in->prim, .to = r, .x = x, .y = dync__a_reg(y),
                .n = dync__gen_is_number(g, in->arg[0]));
}

static void dync__gen_one(dync__gen *g, int i, dync__vt v)
{
    const dync__inst *in = dync__gen_inst(g, i);
    dync__place x = dync__gen_src_rm(g, in->arg[0]);
    dync__gen_release(g);
    int r = dync__gen_def(g, i);
    if (in->prim == DYNC__P_cast)
        DYNC__A(&g->a, CONVERT, .v = dync__gen_vt(g, in->type), .to = r, .y = x, .n = v.type);
    else
        DYNC__A(&g->a, OP1, .v = v, .op = in->prim, .to = r, .y = x);
}

static void dync__gen_compare(dync__gen *g, int i, dync__vt v, int shape)
{
    const dync__inst *in = dync__gen_inst(g, i);
    int back = shape == DYNC__SHAPE_BACK, x = dync__gen_src(g, in->arg[back]);
    dync__place y = shape == DYNC__SHAPE_ONE ? dync__gen_src_rm(g, in->arg[1])
                                             : dync__a_reg(dync__gen_src(g, in->arg[!back]));
    dync__gen_release(g);
    int r = dync__gen_def(g, i);
    if (back) {
        int first = y.reg;
        y = dync__a_reg(x);
        x = first;
    }
    DYNC__A(&g->a, COMPARE_BOOL, .v = v, .op = in->prim, .to = r, .x = x, .y = y);
}

/* False: the target has none. */
static bool dync__gen_by_shape(dync__gen *g, int i, int type)
{
    const dync__inst *in = dync__gen_inst(g, i);
    const dync__target *t = g->a.t;
    dync__vt v = dync__gen_vt(g, type);
    int to = in->prim == DYNC__P_cast ? in->type : in->prim == DYNC__P_wrap ? (int)in->imm.i : type;
    int shape = t->shape(t, in->prim, type, to), n = dync__prim_info(in->prim)->n_args;
    bool compares = in->prim >= DYNC__P_lt && in->prim <= DYNC__P_ne && type != DYNC_BOOL;
    if (shape == DYNC__SHAPE_NONE) return false;
    if (compares)
        dync__gen_compare(g, i, v, shape);
    else if (shape == DYNC__SHAPE_REGS || shape == DYNC__SHAPE_LONG)
        dync__gen_in_registers(g, i, v, shape);
    else if (n == 1)
        dync__gen_one(g, i, v);
    else
        dync__gen_two(g, i, in->arg, v, in->prim, shape == DYNC__SHAPE_SWAPS);
    return true;
}

/* ---- made of other verbs --------------------------------------------------------------------- */

static void dync__gen_minmax64(dync__gen *g, int i, bool least)
{
    const dync__inst *in = dync__gen_inst(g, i);
    dync__vt v = dync__gen_vt(g, DYNC_I64);
    int x = dync__gen_src(g, in->arg[0]), y = dync__gen_src(g, in->arg[1]);
    int m = dync__gen_temp_k(g), r = dync__gen_def(g, i);
    DYNC__A(&g->a, COMPARE, .v = v, .op = DYNC__IF_GT, .to = m, .x = least ? y : x,
            .y = dync__a_reg(least ? x : y)); /* take x */
    DYNC__A(&g->a, SELECT, .v = v, .to = r, .x = y, .y = dync__a_reg(x), .z = m);
}

static void dync__gen_mul64(dync__gen *g, int i)
{
    const dync__inst *in = dync__gen_inst(g, i);
    dync__asm *a = &g->a;
    dync__vt v = dync__gen_vt(g, DYNC_I64);
    int x = dync__gen_src(g, in->arg[0]), y = dync__gen_src(g, in->arg[1]);
    int t = dync__gen_temp(g), r = dync__gen_def(g, i);
    DYNC__A(a, SHIFT, .v = v, .op = DYNC__O_LSR, .to = r, .x = x, .n = 32);
    DYNC__A(a, OP2, .v = v, .op = DYNC__O_MUL32, .to = r, .x = r, .y = dync__a_reg(y));
    DYNC__A(a, SHIFT, .v = v, .op = DYNC__O_LSR, .to = t, .x = y, .n = 32);
    DYNC__A(a, OP2, .v = v, .op = DYNC__O_MUL32, .to = t, .x = t, .y = dync__a_reg(x));
    DYNC__A(a, OP2, .v = v, .op = DYNC__P_add, .to = r, .x = r, .y = dync__a_reg(t));
    DYNC__A(a, SHIFT, .v = v, .op = DYNC__P_shl, .to = r, .x = r, .n = 32);
    DYNC__A(a, OP2, .v = v, .op = DYNC__O_MUL32, .to = t, .x = x, .y = dync__a_reg(y));
    DYNC__A(a, OP2, .v = v, .op = DYNC__P_add, .to = r, .x = r, .y = dync__a_reg(t));
}

/* a >> b for signed 64-bit lanes: of the complement, complemented */
static void dync__gen_shr64(dync__gen *g, int i)
{
    const dync__inst *in = dync__gen_inst(g, i);
    dync__vt v = dync__gen_vt(g, DYNC_I64);
    int x = dync__gen_src(g, in->arg[0]), y = dync__gen_src(g, in->arg[1]);
    int sign = dync__gen_temp(g), r = dync__gen_def(g, i);
    DYNC__A(&g->a, SHIFT, .v = v, .op = DYNC__P_shr, .to = sign, .x = x, .n = 63);
    DYNC__A(&g->a, OP2, .v = v, .op = DYNC__P_xor_, .to = r, .x = x, .y = dync__a_reg(sign));
    DYNC__A(&g->a, OP2, .v = v, .op = DYNC__O_LSR, .to = r, .x = r, .y = dync__a_reg(y));
    DYNC__A(&g->a, OP2, .v = v, .op = DYNC__P_xor_, .to = r, .x = r, .y = dync__a_reg(sign));
}

/* a * b + c: the result takes the register of an operand that ends here. */
static void dync__gen_fma(dync__gen *g, int i, dync__vt v)
{
    const dync__inst *in = dync__gen_inst(g, i);
    int a = in->arg[0], b = in->arg[1], c = in->arg[2], t;
    if (!dync__gen_dies(g, a) && dync__gen_dies(g, b)) {
        t = a;
        a = b;
        b = t;
    }
    if (dync__gen_dies(g, a)) { /* a = b * a + c */
        dync__gen_src(g, a);
        int y = dync__gen_src(g, b);
        dync__place z = dync__gen_src_rm(g, c);
        dync__gen_adopt(g, i, a);
        DYNC__A(&g->a, MAD, .v = v, .to = g->val[i * DYNC__GEN_UNROLL + g->u].reg, .x = y, .y = z);
        return;
    }
    if (dync__gen_in_memory(g, a) && !dync__gen_in_memory(g, b)) {
        t = a;
        a = b;
        b = t;
    }
    if (dync__gen_dies(g, c)) { /* c += a * b */
        dync__gen_src(g, c);
        int x = dync__gen_src(g, a);
        dync__place y = dync__gen_src_rm(g, b);
        dync__gen_adopt(g, i, c);
        DYNC__A(&g->a, FMA, .v = v, .to = g->val[i * DYNC__GEN_UNROLL + g->u].reg, .x = x, .y = y);
        return;
    }
    int x = dync__gen_src(g, a), r;
    if (dync__gen_in_memory(g, b)) { /* r = b; r = a * r + c */
        dync__place y = dync__gen_src_rm(g, b);
        r = dync__gen_def(g, i);
        DYNC__A(&g->a, LOAD, .v = v, .to = r, .y = y);
        dync__place z = dync__gen_src_rm(g, c);
        DYNC__A(&g->a, MAD, .v = v, .to = r, .x = x, .y = z);
        return;
    }
    int y = dync__gen_src(g, b);
    dync__place z = dync__gen_src_rm(g, c);
    r = dync__gen_def(g, i);
    DYNC__A(&g->a, LOAD, .v = v, .to = r, .y = z);
    DYNC__A(&g->a, FMA, .v = v, .to = r, .x = x, .y = dync__a_reg(y));
}

static void dync__gen_select_mask(dync__gen *g, int i)
{
    const dync__inst *in = dync__gen_inst(g, i);
    dync__vt v = dync__gen_vt(g, DYNC_BOOL);
    int c = dync__gen_src(g, in->arg[0]), x = dync__gen_src(g, in->arg[1]),
        y = dync__gen_src(g, in->arg[2]);
    int t = dync__gen_temp_k(g), r = dync__gen_def(g, i);
    DYNC__A(&g->a, OP2, .v = v, .op = DYNC__P_and_, .to = t, .x = c, .y = dync__a_reg(x));
    DYNC__A(&g->a, OP2, .v = v, .op = DYNC__P_lt, .to = r, .x = c, .y = dync__a_reg(y));
    DYNC__A(&g->a, OP2, .v = v, .op = DYNC__P_or_, .to = r, .x = r, .y = dync__a_reg(t));
}

static void dync__gen_select(dync__gen *g, int i)
{
    const dync__inst *in = dync__gen_inst(g, i);
    dync__vt v = dync__gen_vt(g, in->type);
    if (dync__gen_in_k(g, in->type)) {
        dync__gen_select_mask(g, i);
        return;
    }
    int m = dync__gen_src(g, in->arg[0]), y = dync__gen_src(g, in->arg[2]);
    if (dync__gen_type_wide(in->type) && !g->a.t->n_masks) {
        int t = dync__gen_temp(g);
        DYNC__A(&g->a, MASK_WIDEN, .v = v, .to = t, .y = dync__a_reg(m));
        m = t;
    }
    dync__place x = dync__gen_src_rm(g, in->arg[1]);
    dync__gen_release(g);
    DYNC__A(&g->a, SELECT, .v = v, .to = dync__gen_def(g, i), .x = y, .y = x, .z = m);
}

/* ---- integer division ------------------------------------------------------------------------ */

/* Lane by lane in 64 bits: x / 0 and x % 0 are 0, x / -1 wraps. */
static void dync__gen_divide(dync__gen *g, int i)
{
    const dync__inst *in = dync__gen_inst(g, i);
    dync__asm *a = &g->a;
    dync__vt v = dync__gen_vt(g, in->type);
    int x = dync__gen_src(g, in->arg[0]), y = dync__gen_src(g, in->arg[1]),
        size = dync__gen_type_wide(in->type) ? 8 : 4;
    int lane = dync__a_label(a);
    dync__place left = dync__a_index(DYNC__G_FRAME, DYNC__G_T2, 1, g->stage);
    DYNC__A(a, STORE, .v = v, .x = x, .y = dync__gen_at(g->stage));
    DYNC__A(a, STORE, .v = v, .x = y, .y = dync__gen_at(g->stage2));
    DYNC__A(a, PUT, .x = DYNC__G_END, .y = dync__gen_at(g->stage2 + 64));
    DYNC__A(a, SET, .to = DYNC__G_T2, .n = 0);
    DYNC__A(a, LABEL, .label = lane);
    DYNC__A(a, GET_AS, .v = v, .to = DYNC__G_T0, .y = left);
    DYNC__A(a, GET_AS, .v = v, .to = DYNC__G_T1,
            .y = dync__a_index(DYNC__G_FRAME, DYNC__G_T2, 1, g->stage2));
    DYNC__A(a, DIVIDE, .op = in->prim);
    DYNC__A(a, PUT_AS, .v = v, .x = DYNC__G_T0, .y = left);
    DYNC__A(a, ADD_N, .y = dync__a_reg(DYNC__G_T2), .n = size);
    DYNC__A(a, JUMP_IF_N, .op = DYNC__IF_LT, .y = dync__a_reg(DYNC__G_T2), .n = g->V * size,
            .label = lane);
    DYNC__A(a, GET, .to = DYNC__G_END, .y = dync__gen_at(g->stage2 + 64));
    dync__gen_release(g);
    DYNC__A(a, LOAD, .v = v, .to = dync__gen_def(g, i), .y = dync__gen_at(g->stage));
}

/* ---- the table ------------------------------------------------------------------------------- */

DYNC__FN void dync__gen_prim(dync__gen *g, int i)
{
    const dync__inst *in = dync__gen_inst(g, i);
    int type = dync__gen_arg_type(g, i);
    dync__vt v = dync__gen_vt(g, type);
    if (g->b->clamp[i]) { /* a < b ? b : a, or b < a ? b : a */
        int32_t arg[3];
        dync__lp_operands(g->b, i, arg);
        dync__gen_two(g, i, (int32_t[]){arg[1], arg[0]}, v,
                      g->b->clamp[i] == 1 ? DYNC__O_CLAMP_MAX : DYNC__O_CLAMP_MIN, false);
        return;
    }
    if (dync__gen_by_shape(g, i, type)) return;
    switch (in->prim) {
    case DYNC__P_fma: dync__gen_fma(g, i, v); break;
    case DYNC__P_min:
    case DYNC__P_max: dync__gen_minmax64(g, i, in->prim == DYNC__P_min); break;
    case DYNC__P_mul: dync__gen_mul64(g, i); break;
    case DYNC__P_div:
    case DYNC__P_rem: dync__gen_divide(g, i); break;
    case DYNC__P_random: dync__gen_uniform(g, i); break;
    case DYNC__P_shr: dync__gen_shr64(g, i); break;
    case DYNC__P_select: dync__gen_select(g, i); break;
    default: g->a.failed = true;
    }
}
#endif
