/* codegen/x86_mem.c: loads, stores, numbers of indices, row buffers. Between x86_reg.c and
 * x86_gen.c.
 *
 * Storage dtypes widen to compute types in registers and are rounded on the way back. Lanes that
 * lie side by side are one access, masked where fewer than a vector are left; what is the same in
 * all lanes is spread; other strides, and what AVX2 cannot mask, go element by element through a
 * vector in the frame. rax, rsi, rbp (and rdx in masked code) are free here; rcx counts lanes. */
#include "../dync.in.h"
#include "x86_gen.h"
#if DYNC__JIT_X86

DYNC__FN int dync__xg_tail_k(dync__xg *g)
{
    if (g->tile) return g->tile->mask;
    int k = dync__xg_temp_k(g);
    dync__x_k(&g->a, DYNC__X_KMOVW, k, 0, dync__xg_at(g->tail_mask + 64 * g->u), 0);
    return k;
}

DYNC__FN int dync__xg_tail_v(dync__xg *g, bool wide)
{
    if (g->tile) return g->tile->mask;
    int r = dync__xg_temp(g);
    dync__x_v(&g->a, DYNC__X_MOVUPS, dync__xg_vl_bytes(g->V * (wide ? 8 : 4)), r, 0,
              dync__xg_at((wide ? g->tail_mask64 : g->tail_mask) + 64 * g->u), 0, 0);
    return r;
}

static int dync__xg_base(dync__xg *g, int stream)
{
    const dync__xstream *s = &g->stream.at[stream];
    int base = g->in_phase && s->gpr >= 0 ? s->gpr : DYNC__RAX;
    bool framed = g->in_phase && s->pointer >= 0;
    if (base == DYNC__RAX)
        dync__x_i(&g->a, DYNC__X_MOV, DYNC__RAX,
                  framed ? dync__xg_at(s->pointer)
                         : dync__xg_arg(dync__xg_record(g, stream, DYNC__XA_AT)),
                  0);
    if (!g->line.is_mem) return base;
    dync__x_i(&g->a, DYNC__X_MOV, DYNC__RSI, g->line, 0);
    dync__x_i(&g->a, DYNC__X_LEA, DYNC__RAX, dync__x_index(base, DYNC__RSI, s->bytes, 0), 0);
    return DYNC__RAX;
}

DYNC__FN dync__xrm dync__xg_element(dync__xg *g, int stream)
{
    if (g->tile) return g->tile->at(g->tile, stream);
    const dync__xstream *s = &g->stream.at[stream];
    if (g->square && s->turned) return dync__xg_at(s->pointer + 64 * g->row);
    int base = dync__xg_base(g, stream), ahead = g->u * g->V * s->bytes;
    if (g->single || s->lane == DYNC__XL_SAME) return dync__x_mem(base, 0);
    if (s->kind == DYNC__XS_KEEP && g->vertical) return dync__x_mem(base, ahead);
    return dync__x_index(base, DYNC__RCX, s->bytes, ahead);
}

/* ---- element by element ---------------------------------------------------------------------- */

static bool dync__xg_is_staged(const dync__xg *g, const dync__xstream *s)
{
    return !g->single &&
           (s->lane == DYNC__XL_STRIDED || (s->lane > DYNC__XL_STRIDED && g->masked) ||
            (s->lane == DYNC__XL_DENSE && g->masked && g->isa == 1 && s->bytes < 4));
}

static void dync__xg_copy_one(dync__xg *g, int bytes, dync__xrm to, dync__xrm from)
{
    static const int load[] = {0, DYNC__X_MOVZX8, DYNC__X_MOVZX16, 0, DYNC__X_MOV32, 0, 0,
                               0, DYNC__X_MOV};
    static const int store[] = {0, DYNC__X_MOV8_M, DYNC__X_MOV16_M, 0, DYNC__X_MOV32_M, 0, 0,
                                0, DYNC__X_MOV_M};
    dync__x_i(&g->a, load[bytes], DYNC__RSI, from, 0);
    dync__x_i(&g->a, store[bytes], DYNC__RSI, to, 0);
}

/* A loop over those of vector u's lanes that the tail has: rbp counts to rdx. Returns the label
 * behind it. */
static int dync__xg_some_begin(dync__xg *g)
{
    dync__xasm *a = &g->a;
    int done = dync__x_label(a), few = dync__x_label(a);
    dync__x_i(a, DYNC__X_MOV, DYNC__RDX, dync__xg_at(g->tail_count), 0);
    dync__x_i(a, DYNC__X_SUBI, 0, dync__x_reg(DYNC__RDX), g->u * g->V);
    dync__x_jump(a, DYNC__CC_LE, done);
    dync__x_i(a, DYNC__X_CMPI, 0, dync__x_reg(DYNC__RDX), g->V);
    dync__x_jump(a, DYNC__CC_LE, few);
    dync__x_i(a, DYNC__X_MOVI, 0, dync__x_reg(DYNC__RDX), g->V);
    dync__x_bind(a, few);
    dync__x_i(a, DYNC__X_MOVI, 0, dync__x_reg(DYNC__RBP), 0);
    return done;
}

static void dync__xg_some_end(dync__xg *g, int more, int done)
{
    dync__x_i(&g->a, DYNC__X_ADDI, 0, dync__x_reg(DYNC__RBP), 1);
    dync__x_i(&g->a, DYNC__X_CMP, DYNC__RBP, dync__x_reg(DYNC__RDX), 0);
    dync__x_jump(&g->a, DYNC__CC_L, more);
    dync__x_bind(&g->a, done);
}

/* The address of lane `lane` of vector u, by the stride, to rax. */
static void dync__xg_strided(dync__xg *g, int stream, int lane)
{
    int base = dync__xg_base(g, stream);
    dync__x_i(&g->a, DYNC__X_LEA, DYNC__RSI, dync__x_mem(DYNC__RCX, g->u * g->V + lane), 0);
    dync__x_i(&g->a, DYNC__X_IMUL, DYNC__RSI,
              dync__xg_arg(dync__xg_record(g, stream, DYNC__XA_LANE)), 0);
    dync__x_i(&g->a, DYNC__X_LEA, DYNC__RAX, dync__x_index(base, DYNC__RSI, 1, 0), 0);
}

/* V elements into r one by one, by way of no memory, as a load of what several stores wrote would
 * wait for them. rax: the first one's address, or with `indexed` what the stage's numbers count
 * from; moves: it goes on by the stride. */
static void dync__xg_collect(dync__xg *g, int stream, int r, bool indexed, bool moves)
{
    static const int insert[] = {0, DYNC__X_PINSRB, DYNC__X_PINSRW, 0, DYNC__X_PINSRD, 0, 0,
                                 0, DYNC__X_PINSRQ};
    dync__xasm *a = &g->a;
    int bytes = g->stream.at[stream].bytes, each = DYNC__MIN(16 / bytes, g->V),
        t = g->V > each ? dync__xg_temp(g) : r;
    dync__xrm stride = dync__xg_arg(dync__xg_record(g, stream, DYNC__XA_LANE));
    if (!indexed) {
        dync__x_i(a, DYNC__X_MOV, DYNC__RSI, stride, 0);
        dync__x_i(a, DYNC__X_LEA, DYNC__RBP, dync__x_index(DYNC__RSI, DYNC__RSI, 2, 0), 0);
    }
    for (int l = 0; l < g->V; l++) {
        int to = l < each ? r : t;
        dync__xrm from = l % 4 == 0   ? dync__x_mem(DYNC__RAX, 0)
                         : l % 4 == 3 ? dync__x_index(DYNC__RAX, DYNC__RBP, 1, 0)
                                      : dync__x_index(DYNC__RAX, DYNC__RSI, l % 4, 0);
        if (indexed) {
            dync__x_i(a, DYNC__X_MOV, DYNC__RSI, dync__xg_at(g->stage + 8 * l), 0);
            from = dync__x_index(DYNC__RAX, DYNC__RSI, bytes, 0);
        } else if (l > 0 && l % 4 == 0) {
            dync__x_i(a, DYNC__X_LEA, DYNC__RAX, dync__x_index(DYNC__RAX, DYNC__RSI, 4, 0), 0);
        }
        if (l % each == 0 && bytes < 4)
            dync__x_v(a, DYNC__X_XORPS, 0, to, to, dync__x_reg(to), 0, 0);
        if (l % each == 0 && bytes >= 4)
            dync__x_v(a, bytes == 4 ? DYNC__X_MOVD : DYNC__X_MOVQ, 0, to, 0, from, 0, 0);
        else
            dync__x_v(a, insert[bytes], 0, to, to, from, l % each, 0);
        if (l >= each && l % each == each - 1)
            dync__x_v(a, DYNC__X_INSERT128, dync__xg_vl_bytes(g->V * bytes), r, r, dync__x_reg(t),
                      l / each, 0);
        if (indexed && moves && l + 1 < g->V) dync__x_i(a, DYNC__X_ADD, DYNC__RAX, stride, 0);
    }
}

/* Between memory and the stage: V elements, or those of the tail. */
static void dync__xg_stage(dync__xg *g, int stream, bool load)
{
    const dync__xstream *s = &g->stream.at[stream];
    dync__xasm *a = &g->a;
    bool strided = s->lane >= DYNC__XL_STRIDED;
    dync__xrm stride = dync__xg_arg(dync__xg_record(g, stream, DYNC__XA_LANE)),
              memory = dync__x_mem(DYNC__RAX, 0);
    int bytes = s->bytes;
    if (strided) {
        dync__xg_strided(g, stream, 0);
    } else {
        dync__x_i(a, DYNC__X_LEA, DYNC__RAX, dync__xg_element(g, stream), 0);
    }
    if (!g->masked) {
        for (int l = 0; l < g->V; l++) {
            dync__xrm stage = dync__xg_at(g->stage + l * bytes);
            dync__xg_copy_one(g, bytes, load ? stage : memory, load ? memory : stage);
            if (l + 1 < g->V) dync__x_i(a, DYNC__X_ADD, DYNC__RAX, stride, 0);
        }
        return;
    }
    int more = dync__x_label(a), done = dync__xg_some_begin(g);
    dync__xrm stage = dync__x_index(DYNC__RSP, DYNC__RBP, bytes, g->stage);
    dync__x_bind(a, more);
    /* rsp cannot be an index, rbp is */
    dync__xg_copy_one(g, bytes, load ? stage : memory, load ? memory : stage);
    if (strided)
        dync__x_i(a, DYNC__X_ADD, DYNC__RAX, stride, 0);
    else
        dync__x_i(a, DYNC__X_ADDI, 0, dync__x_reg(DYNC__RAX), bytes);
    dync__xg_some_end(g, more, done);
}

/* ---- loads ----------------------------------------------------------------------------------- */

static const int dync__xg_load_insn[] = {
    0, DYNC__X_MOVDQU8, DYNC__X_MOVDQU16, 0, DYNC__X_MOVUPS, 0, 0, 0, DYNC__X_MOVUPD};
static const int dync__xg_store_insn[] = {
    0, DYNC__X_MOVDQU8_M, DYNC__X_MOVDQU16_M, 0, DYNC__X_MOVUPS_M, 0, 0, 0, DYNC__X_MOVUPD_M};

/* V elements as they are stored: memory, or register r where they had to be loaded with a mask. */
static dync__xrm dync__xg_raw(dync__xg *g, int stream, int r)
{
    const dync__xstream *s = &g->stream.at[stream];
    int vl = dync__xg_vl_bytes(g->V * s->bytes);
    if (s->lane >= DYNC__XL_STRIDED && !g->masked) {
        dync__xg_strided(g, stream, s->lane == DYNC__XL_BACK ? g->V - 1 : 0);
        if (s->lane != DYNC__XL_STRIDED) return dync__x_mem(DYNC__RAX, 0);
        dync__xg_collect(g, stream, r, false, true);
        return dync__x_reg(r);
    }
    if (dync__xg_is_staged(g, s)) {
        dync__xg_stage(g, stream, true);
        return dync__xg_at(g->stage);
    }
    if (!g->masked || s->kind == DYNC__XS_KEEP) return dync__xg_element(g, stream);
    if (g->isa == 2) {
        int k = dync__xg_tail_k(g);
        dync__x_v(&g->a, dync__xg_load_insn[s->bytes], vl, r, 0, dync__xg_element(g, stream), 0,
                  k | DYNC__X_ZERO);
    } else {
        int m = dync__xg_tail_v(g, s->bytes == 8);
        dync__x_v(&g->a, s->bytes == 8 ? DYNC__X_MASKMOVPD : DYNC__X_MASKMOVPS, vl, r, m,
                  dync__xg_element(g, stream), 0, 0);
    }
    return dync__x_reg(r);
}

static void dync__xg_widen(dync__xg *g, int dtype, int r, dync__xrm from)
{
    int vl = dync__xg_vl_bytes(g->V * 4);
    switch (dtype) {
    case DYNC_F16: dync__x_v(&g->a, DYNC__X_CVTPH2PS, vl, r, 0, from, 0, 0); break;
    case DYNC_BF16:
        dync__x_v(&g->a, DYNC__X_PMOVZXWD, vl, r, 0, from, 0, 0);
        dync__x_v(&g->a, DYNC__X_PSLLD, vl, 0, r, dync__x_reg(r), 16, 0);
        break;
    case DYNC_I16: dync__x_v(&g->a, DYNC__X_PMOVSXWD, vl, r, 0, from, 0, 0); break;
    case DYNC_I8: dync__x_v(&g->a, DYNC__X_PMOVSXBD, vl, r, 0, from, 0, 0); break;
    case DYNC_U8: dync__x_v(&g->a, DYNC__X_PMOVZXBD, vl, r, 0, from, 0, 0); break;
    default:
        if (from.is_mem) dync__x_v(&g->a, DYNC__X_MOVUPS, dync__xg_vl(g, dtype), r, 0, from, 0, 0);
    }
}

/* One element in every lane. */
static void dync__xg_spread(dync__xg *g, int dtype, int r, dync__xrm from)
{
    int vl = dync__xg_vl(g, dync__dtype_info(dtype)->compute), insn = 0;
    switch (dtype) {
    case DYNC_F32:
    case DYNC_I32: dync__x_v(&g->a, DYNC__X_BROADCASTD, vl, r, 0, from, 0, 0); return;
    case DYNC_F64:
    case DYNC_I64: dync__x_v(&g->a, DYNC__X_BROADCASTQ, vl, r, 0, from, 0, 0); return;
    case DYNC_F16:
    case DYNC_BF16: insn = DYNC__X_MOVZX16; break;
    case DYNC_I16: insn = DYNC__X_MOVSX16; break;
    case DYNC_I8: insn = DYNC__X_MOVSX8; break;
    default: insn = DYNC__X_MOVZX8; break;
    }
    dync__x_i(&g->a, insn, DYNC__RSI, from, 0);
    if (dtype == DYNC_BF16) dync__x_i(&g->a, DYNC__X_SHLI, 0, dync__x_reg(DYNC__RSI), 16);
    dync__x_v(&g->a, DYNC__X_MOVD, 0, r, 0, dync__x_reg(DYNC__RSI), 0, 0);
    if (dtype == DYNC_F16) dync__x_v(&g->a, DYNC__X_CVTPH2PS, 0, r, 0, dync__x_reg(r), 0, 0);
    dync__x_v(&g->a, DYNC__X_BROADCASTD, vl, r, 0, dync__x_reg(r), 0, 0);
}

static bool dync__xg_is_same(const dync__xg *g, const dync__xstream *s)
{
    return g->single || s->lane == DYNC__XL_SAME;
}

/* Lanes of `bytes` bytes picked: lane l is `first` + l * step of r, or where that is beyond them,
 * one before of the vector in memory that starts with r's last element. */
static void dync__xg_pick(dync__xg *g, int dtype, int r, int first, int step)
{
    int type = dync__dtype_info(dtype)->compute, vl = dync__xg_vl(g, type),
        words = dync__xg_type_wide(type) ? 2 : 1;
    int32_t index[16] = {0};
    for (int l = 0; l < g->V * words; l++) {
        int from = first + l / words * step;
        index[l] = (from < g->V ? from : from + 1) * words + l % words;
    }
    if (vl == 0) {
        dync__x_v(&g->a, DYNC__X_PSHUFD, 0, r, 0, dync__x_reg(r), 0x1b, 0);
        return;
    }
    int at = dync__xg_temp(g);
    dync__x_v(&g->a, DYNC__X_MOVUPS, vl, at, 0, dync__x_constant64(&g->a, index), 0, 0);
    if (step < 0) {
        dync__x_v(&g->a, DYNC__X_PERMPS, vl, r, at, dync__x_reg(r), 0, 0);
        return;
    }
    int more = dync__xg_temp(g);
    dync__xg_widen(g, dtype, more,
                   dync__x_mem(DYNC__RAX, (g->V - 1) * dync__dtype_info(dtype)->bytes));
    dync__x_v(&g->a, DYNC__X_PERMT2PS, vl, r, at, dync__x_reg(more), 0, 0);
}

DYNC__FN void dync__xg_load_now(dync__xg *g, int i, int r)
{
    const dync__inst *in = dync__xg_inst(g, i);
    int s = g->stream_of[i], dtype = g->b->k->buf.at[in->buf].dtype, lane = g->stream.at[s].lane;
    if (dync__xg_is_same(g, &g->stream.at[s]))
        dync__xg_spread(g, dtype, r, dync__xg_element(g, s));
    else
        dync__xg_widen(g, dtype, r, dync__xg_raw(g, s, r));
    if (!g->single && !g->masked && lane > DYNC__XL_STRIDED)
        dync__xg_pick(g, dtype, r, lane == DYNC__XL_BACK ? g->V - 1 : 0,
                      lane == DYNC__XL_BACK ? -1 : 2);
}

static void dync__xg_load_bool(dync__xg *g, int i)
{
    int s = g->stream_of[i], vl = dync__xg_vl_bytes(g->V * 4), zero;
    dync__xasm *a = &g->a;
    if (dync__xg_is_same(g, &g->stream.at[s])) {
        dync__x_i(a, DYNC__X_MOVZX8, DYNC__RSI, dync__xg_element(g, s), 0);
        dync__x_i(a, DYNC__X_NEG32, 0, dync__x_reg(DYNC__RSI), 0);
        dync__x_i(a, DYNC__X_SBB32, DYNC__RSI, dync__x_reg(DYNC__RSI), 0);
        if (g->isa == 2) {
            dync__x_k(a, DYNC__X_KMOVW_KG, dync__xg_def_k(g, i), 0, dync__x_reg(DYNC__RSI), 0);
            return;
        }
        int r = dync__xg_def(g, i);
        dync__x_v(a, DYNC__X_MOVD, 0, r, 0, dync__x_reg(DYNC__RSI), 0, 0);
        dync__x_v(a, DYNC__X_BROADCASTD, vl, r, 0, dync__x_reg(r), 0, 0);
        return;
    }
    if (g->isa == 2) {
        int t = dync__xg_temp(g), k = dync__xg_def_k(g, i);
        dync__xrm raw = dync__xg_raw(g, s, t);
        if (raw.is_mem)
            dync__x_v(a, g->V == 16 ? DYNC__X_MOVUPS : DYNC__X_MOVQ, 0, t, 0, raw, 0, 0);
        dync__x_v(a, DYNC__X_PTESTMB, 0, k, t, dync__x_reg(t), 0, 0);
        return;
    }
    int r = dync__xg_def(g, i);
    dync__x_v(a, DYNC__X_PMOVZXBD, vl, r, 0, dync__xg_raw(g, s, r), 0, 0);
    zero = dync__xg_temp(g);
    dync__x_v(a, DYNC__X_XORPS, vl, zero, zero, dync__x_reg(zero), 0, 0);
    dync__x_v(a, DYNC__X_PCMPGTD, vl, r, r, dync__x_reg(zero), 0, 0);
}

/* May the load wait for its use, as a memory operand? */
static bool dync__xg_waits(const dync__xg *g, int i)
{
    const dync__inst *in = dync__xg_inst(g, i);
    const dync__buf *buf = &g->b->k->buf.at[in->buf];
    return !g->masked && !g->single && !(buf->mode & DYNC__BUF_OUT) && buf->dtype == in->type &&
           in->type != DYNC_BOOL && g->stream.at[g->stream_of[i]].lane == DYNC__XL_DENSE &&
           g->slot[i] < 0 && !g->b->keep[i];
}

DYNC__FN void dync__xg_load(dync__xg *g, int i)
{
    if (g->turned_once && g->stream.at[g->stream_of[i]].turned)
        dync__xg_set(g, i, g->turned[g->row]);
    else if (g->b->k->buf.at[dync__xg_inst(g, i)->buf].dtype == DYNC_BOOL)
        dync__xg_load_bool(g, i);
    else if (dync__xg_waits(g, i))
        g->val[i * DYNC__XG_UNROLL + g->u].lazy = true;
    else
        dync__xg_load_now(g, i, dync__xg_def(g, i));
}

DYNC__FN bool dync__xg_is_even(const dync__xg *g, int v, int depth)
{
    const dync__inst *in = dync__xg_inst(g, v);
    int32_t arg[3];
    bool even = depth < 8 && in->prim != DYNC__P_random && in->prim != DYNC__P_scan &&
                (g->stream_of[v] < 0 || g->stream.at[g->stream_of[v]].lane == DYNC__XL_SAME);
    if (in->prim == DYNC__P_reduce) return !g->vertical;
    for (int n = dync__xg_args(g, v, arg); even && n > 0; n--)
        even = dync__xg_is_even(g, arg[n - 1], depth + 1);
    return even;
}

/* Between constants, as gathers' indices are: also that of a lane past the last one. */
static bool dync__xg_is_clamped(const dync__xg *g, const dync__inst *in)
{
    if (in->prim == DYNC__P_mul && dync__xg_inst(g, in->arg[1])->prim == DYNC__P_const_)
        in = dync__xg_inst(g, in->arg[0]);
    const dync__inst *high = in->prim == DYNC__P_max &&
                                     dync__xg_inst(g, in->arg[0])->prim == DYNC__P_const_
                                 ? dync__xg_inst(g, in->arg[1])
                                 : in;
    return high->prim == DYNC__P_min && high != in &&
           dync__xg_inst(g, high->arg[1])->prim == DYNC__P_const_;
}

/* Elements at the access plus an index: one index for all lanes moves the stream; else lane by
 * lane, through the frame. */
DYNC__FN void dync__xg_gather(dync__xg *g, int i)
{
    const dync__inst *in = dync__xg_inst(g, i);
    dync__xasm *a = &g->a;
    int stream = g->stream_of[i], index = dync__xg_root(g, in->arg[0]);
    const dync__xstream *s = &g->stream.at[stream];
    if (!g->single && dync__xg_is_even(g, index, 0)) {
        g->line = dync__xg_at(g->lead);
        if (!dync__xg_is_here(g, index))
            g->line = dync__xg_home(g, index);
        else if (!g->leads[index] || g->u == 0)
            dync__x_v(a, DYNC__X_MOVQ_M, 0, dync__xg_src(g, index), 0, g->line, 0, 0);
        dync__xg_load_now(g, i, dync__xg_def(g, i));
        g->line.is_mem = false;
        return;
    }
    dync__x_v(a, DYNC__X_MOVUPS_M, dync__xg_vl(g, DYNC_I64), dync__xg_src(g, index), 0,
              dync__xg_at(g->stage), 0, 0);
    int base = dync__xg_base(g, stream);
    bool moves = !dync__xg_is_same(g, s);
    dync__xrm stride = dync__xg_arg(dync__xg_record(g, stream, DYNC__XA_LANE)),
              memory = dync__x_index(DYNC__RAX, DYNC__RSI, s->bytes, 0);
    if (moves) {
        dync__x_i(a, DYNC__X_LEA, DYNC__RSI, dync__x_mem(DYNC__RCX, g->u * g->V), 0);
        dync__x_i(a, DYNC__X_IMUL, DYNC__RSI, stride, 0);
        dync__x_i(a, DYNC__X_LEA, DYNC__RAX, dync__x_index(base, DYNC__RSI, 1, 0), 0);
    } else if (base != DYNC__RAX) {
        dync__x_i(a, DYNC__X_MOV, DYNC__RAX, dync__x_reg(base), 0);
    }
    int dtype = g->b->k->buf.at[in->buf].dtype, to = dync__xg_def(g, i);
    if (g->single) {
        dync__x_i(a, DYNC__X_MOV, DYNC__RSI, dync__xg_at(g->stage), 0);
        dync__xg_copy_one(g, s->bytes, dync__xg_at(g->stage2), memory);
        dync__xg_spread(g, dtype, to, dync__xg_at(g->stage2));
    } else if (!g->masked || (!moves && dync__xg_is_clamped(g, dync__xg_inst(g, index)))) {
        dync__xg_collect(g, stream, to, true, moves);
        dync__xg_widen(g, dtype, to, dync__x_reg(to));
    } else {
        int more = dync__x_label(a), done = dync__xg_some_begin(g);
        dync__x_bind(a, more);
        dync__x_i(a, DYNC__X_MOV, DYNC__RSI, dync__x_index(DYNC__RSP, DYNC__RBP, 8, g->stage), 0);
        dync__xg_copy_one(g, s->bytes, dync__x_index(DYNC__RSP, DYNC__RBP, s->bytes, g->stage2),
                          memory);
        if (moves) dync__x_i(a, DYNC__X_ADD, DYNC__RAX, stride, 0);
        dync__xg_some_end(g, more, done);
        dync__xg_widen(g, dtype, to, dync__xg_at(g->stage2));
    }
}

/* ---- stores ---------------------------------------------------------------------------------- */

/* Lanes of 32 bits to `bytes` each, side by side. */
DYNC__FN void dync__xg_pack(dync__xg *g, int bytes, int to, int from)
{
    dync__xasm *a = &g->a;
    int vl = dync__xg_vl_bytes(g->V * 4);
    if (g->isa == 2) {
        dync__x_v(a, bytes == 1 ? DYNC__X_PMOVDB : DYNC__X_PMOVDW, vl, from, 0, dync__x_reg(to), 0,
                  0);
        return;
    }
    uint8_t pick[64];
    for (int i = 0; i < 64; i++)
        pick[i] = (uint8_t)(i % 16 < 4 * bytes ? i % 16 / bytes * 4 + i % bytes : 0x80);
    dync__x_v(a, DYNC__X_PSHUFB, vl, to, from, dync__x_constant64(a, pick), 0, 0);
    if (g->V < 8) return;
    int high = dync__xg_temp(g);
    dync__x_v(a, DYNC__X_EXTRACT128, 1, to, 0, dync__x_reg(high), 1, 0);
    dync__x_v(a, bytes == 1 ? DYNC__X_PUNPCKLDQ : DYNC__X_PUNPCKLQDQ, 0, to, to, dync__x_reg(high),
              0, 0);
}

/* The value in its storage form, the last lane first if `back`; returns the register. */
static int dync__xg_narrow(dync__xg *g, int dtype, int value, bool back)
{
    dync__xasm *a = &g->a;
    int vl = dync__xg_vl_bytes(g->V * 4), from, t;
    if (dtype == DYNC_BOOL && g->isa == 2) {
        int k = dync__xg_src_k(g, value);
        t = dync__xg_temp(g);
        dync__x_v(a, DYNC__X_PMOVM2B, 0, t, 0, dync__x_reg(k), 0, 0);
        dync__x_v(a, DYNC__X_ANDPS, 0, t, t, dync__x_constant(a, 1, 1), 0, 0);
        return t;
    }
    from = dync__xg_src(g, value);
    if (back) {
        dync__x_v(a, DYNC__X_MOVAPS, dync__xg_vl(g, dync__dtype_info(dtype)->compute),
                  t = dync__xg_temp(g), 0, dync__x_reg(from), 0, 0);
        dync__xg_pick(g, dtype, from = t, g->V - 1, -1);
    }
    if (dync__dtype_info(dtype)->compute == dtype && dtype != DYNC_BOOL) return from;
    t = dync__xg_temp(g);
    switch (dtype) {
    case DYNC_F16: dync__x_v(a, DYNC__X_CVTPS2PH, vl, from, 0, dync__x_reg(t), 0, 0); break;
    case DYNC_BF16: dync__xg_bf16(g, t, from, true); break;
    case DYNC_I16: dync__xg_pack(g, 2, t, from); break;
    case DYNC_BOOL:
        dync__x_v(a, DYNC__X_ANDPS, vl, t, from, dync__x_constant(a, 1, 4), 0, 0);
        dync__xg_pack(g, 1, t, t);
        break;
    default: dync__xg_pack(g, 1, t, from); break;
    }
    return t;
}

static void dync__xg_store_some(dync__xg *g, int total, int r, dync__xrm to, bool past)
{
    if (total == 4)
        dync__x_v(&g->a, DYNC__X_MOVD_M, 0, r, 0, to, 0, 0);
    else if (total == 8)
        dync__x_v(&g->a, DYNC__X_MOVQ_M, 0, r, 0, to, 0, 0);
    else if (past)
        dync__x_v(&g->a, DYNC__X_MOVNTPS_M, dync__xg_vl_bytes(total), r, 0, to, 0, 0);
    else
        dync__x_v(&g->a, DYNC__X_MOVUPS_M, dync__xg_vl_bytes(total), r, 0, to, 0, 0);
}

/* V elements some steps apart: as many vectors, each picked from r and stored without what lies
 * between. */
static void dync__xg_store_apart(dync__xg *g, int stream, int r)
{
    dync__xasm *a = &g->a;
    int bytes = g->stream.at[stream].bytes, apart = g->stream.at[stream].lane - DYNC__XL_TWO + 2,
        vl = dync__xg_vl_bytes(g->V * bytes), words = bytes / 4;
    int t = dync__xg_temp(g), k = dync__xg_temp_k(g);
    dync__xg_strided(g, stream, 0);
    for (int j = 0; j < apart; j++) {
        int32_t index[16] = {0}, mask = 0;
        for (int l = 0; l < g->V; l++) {
            for (int w = 0; w < words; w++)
                index[l * words + w] = (j * g->V + l) / apart * words + w;
            if ((j * g->V + l) % apart == 0) mask |= 1 << l;
        }
        dync__x_v(a, DYNC__X_MOVUPS, vl, t, 0, dync__x_constant64(a, index), 0, 0);
        dync__x_v(a, DYNC__X_PERMPS, vl, t, t, dync__x_reg(r), 0, 0);
        dync__x_i(a, DYNC__X_MOVI, 0, dync__x_reg(DYNC__RSI), mask);
        dync__x_k(a, DYNC__X_KMOVW_KG, k, 0, dync__x_reg(DYNC__RSI), 0);
        dync__x_v(a, dync__xg_store_insn[bytes], vl, t, 0, dync__x_mem(DYNC__RAX, j * g->V * bytes),
                  0, k);
    }
}

/* Asks for the first line of the next page of 4 KB of each load and store past the caches, so that
 * its address is known when the processor's own fetching, which ends with a page, comes there. */
DYNC__FN void dync__xg_fetch_page(dync__xg *g, int list)
{
    dync__xasm *a = &g->a;
    for (int p = 0; p < g->list[list].n; p++) {
        int i = g->list[list].at[p], stream = g->stream_of[i];
        const dync__xstream *s = stream < 0 ? NULL : &g->stream.at[stream];
        if (!s || s->kind != DYNC__XS_MEM || s->lane != DYNC__XL_DENSE ||
            (dync__xg_inst(g, i)->prim != DYNC__P_load && !s->past))
            continue;
        dync__x_i(a, DYNC__X_LEA, DYNC__RSI,
                  dync__x_index(dync__xg_base(g, stream), DYNC__RCX, s->bytes, 0), 0);
        dync__x_i(a, DYNC__X_ANDI, 0, dync__x_reg(DYNC__RSI), -4096);
        dync__x_i(a, DYNC__X_PREFETCHT0, 0, dync__x_mem(DYNC__RSI, 4096), 0);
    }
}

DYNC__FN void dync__xg_store(dync__xg *g, int i)
{
    const dync__inst *in = dync__xg_inst(g, i);
    dync__xasm *a = &g->a;
    int stream = g->stream_of[i], bytes = g->stream.at[stream].bytes;
    const dync__xstream *s = &g->stream.at[stream];
    bool back = s->lane == DYNC__XL_BACK && !g->masked && !g->single;
    int r = dync__xg_narrow(g, g->b->k->buf.at[in->buf].dtype, in->arg[0], back);
    if (dync__xg_is_same(g, s)) {
        if (bytes >= 4) {
            dync__xg_store_some(g, bytes, r, dync__xg_element(g, stream), false);
            return;
        }
        dync__x_v(a, DYNC__X_MOVD_M, 0, r, 0, dync__x_reg(DYNC__RSI), 0, 0);
        dync__x_i(a, bytes == 2 ? DYNC__X_MOV16_M : DYNC__X_MOV8_M, DYNC__RSI,
                  dync__xg_element(g, stream), 0);
    } else if (dync__xg_is_staged(g, s)) {
        dync__xg_store_some(g, g->V * bytes, r, dync__xg_at(g->stage), false);
        dync__xg_stage(g, stream, false);
    } else if (back) {
        dync__xg_strided(g, stream, g->V - 1);
        dync__xg_store_some(g, g->V * bytes, r, dync__x_mem(DYNC__RAX, 0), false);
    } else if (s->lane >= DYNC__XL_TWO) {
        dync__xg_store_apart(g, stream, r);
    } else if (!g->masked) {
        dync__xg_store_some(g, g->V * bytes, r, dync__xg_element(g, stream), s->past);
    } else if (g->isa == 2) {
        int k = dync__xg_tail_k(g);
        dync__x_v(a, dync__xg_store_insn[bytes], dync__xg_vl_bytes(g->V * bytes), r, 0,
                  dync__xg_element(g, stream), 0, k);
    } else {
        int m = dync__xg_tail_v(g, bytes == 8);
        dync__x_v(a, bytes == 8 ? DYNC__X_MASKMOVPD_M : DYNC__X_MASKMOVPS_M,
                  dync__xg_vl_bytes(g->V * bytes), r, m, dync__xg_element(g, stream), 0, 0);
    }
}

/* ---- the rest -------------------------------------------------------------------------------- */

DYNC__FN void dync__xg_index(dync__xg *g, int i)
{
    dync__xasm *a = &g->a;
    int stream = g->stream_of[i], vl = dync__xg_vl(g, DYNC_I64);
    const dync__xstream *s = &g->stream.at[stream];
    int base = dync__xg_base(g, stream), r;
    dync__xrm stride = dync__xg_arg(dync__xg_record(g, stream, DYNC__XA_LANE));
    if (dync__xg_is_same(g, s)) {
        dync__x_i(a, DYNC__X_MOV_M, base, dync__xg_at(g->stage), 0);
        r = dync__xg_def(g, i);
        dync__x_v(a, DYNC__X_BROADCASTQ, vl, r, 0, dync__xg_at(g->stage), 0, 0);
        return;
    }
    dync__x_i(a, DYNC__X_LEA, DYNC__RSI, dync__x_mem(DYNC__RCX, g->u * g->V), 0);
    dync__x_i(a, DYNC__X_IMUL, DYNC__RSI, stride, 0);
    dync__x_i(a, DYNC__X_ADD, DYNC__RSI, dync__x_reg(base), 0);
    for (int l = 0; l < g->V; l++) {
        dync__x_i(a, DYNC__X_MOV_M, DYNC__RSI, dync__xg_at(g->stage + 8 * l), 0);
        if (l + 1 < g->V) dync__x_i(a, DYNC__X_ADD, DYNC__RSI, stride, 0);
    }
    r = dync__xg_def(g, i);
    dync__x_v(a, DYNC__X_MOVUPS, vl, r, 0, dync__xg_at(g->stage), 0, 0);
}

/* Whole vectors: a row buffer has room behind it. */
DYNC__FN void dync__xg_keep(dync__xg *g, int i, bool load)
{
    int vl = dync__xg_vl(g, dync__xg_inst(g, i)->type), stream = g->keep_stream[i];
    int r = load ? dync__xg_def(g, i) : g->val[i * DYNC__XG_UNROLL + g->u].reg;
    dync__x_v(&g->a, load ? DYNC__X_MOVUPS : DYNC__X_MOVUPS_M, vl, r, 0,
              dync__xg_element(g, stream), 0, 0);
}

/* Each vector of rows side by side has a slot of its own; what leads is made once and fills them
 * all. */
DYNC__FN void dync__xg_slot_store(dync__xg *g, int i)
{
    int type = dync__xg_inst(g, i)->type, r = g->val[i * DYNC__XG_UNROLL + g->u].reg;
    bool each = g->vertical && g->b->level[i] == 1;
    for (int u = each ? g->u : 0, end = each && g->leads[i] ? g->U : u + 1; u < end; u++) {
        dync__xrm to = dync__xg_at(g->slot[i] + 64 * u);
        if (dync__xg_in_k(g, type))
            dync__x_k(&g->a, DYNC__X_KMOVW_M, r, 0, to, 0);
        else
            dync__x_v(&g->a, DYNC__X_MOVUPS_M, dync__xg_vl(g, type), r, 0, to, 0, 0);
    }
}
#endif
