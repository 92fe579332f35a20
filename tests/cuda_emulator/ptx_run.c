/* tests/cuda_emulator/ptx_run.c: runs decoded PTX, a block after the other, thread by thread up to
 * the next place where threads meet.
 *
 * Threads of a warp meet in shuffles, votes, matrix instructions and bar.warp, those of a block in
 * bar.sync; a set that never meets is a launch failure. Every access is checked: inside a live
 * allocation of the launching device (or of the block's shared memory), on its boundary, and
 * against races: two threads that touch the same bytes, one of them writing and not both by
 * atomics, with nothing between them that orders them (a barrier within a block, a meeting within a
 * warp; blocks are never ordered). */
#include "ptx_run.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- decoding -------------------------------------------------------------------------------- */
int ptx_op_of(const char *name)
{
    static const char *const names[] = {
#define X(name) #name,
        PTX_OPS(X)
#undef X
    };
    for (int i = 0; i < N_PTX_OPS; i++)
        if (strcmp(names[i], name) == 0) return i;
    return -1;
}
bool has(const ptx_inst *in, const char *w)
{
    for (int i = 0; i < in->n_words; i++)
        if (strcmp(in->word[i], w) == 0) return true;
    return false;
}
bool ptx_decode(ptx_inst *in)
{
    static const struct {
        const char *w;
        int m;
    } modes[] = {
        {"eq", M_EQ},     {"ne", M_NE},   {"lt", M_LT},        {"le", M_LE},   {"gt", M_GT},
        {"ge", M_GE},     {"equ", M_EQU}, {"neu", M_NEU},      {"ltu", M_LTU}, {"leu", M_LEU},
        {"gtu", M_GTU},   {"geu", M_GEU}, {"num", M_NUM},      {"nan", M_NAN}, {"rn", M_RN},
        {"rz", M_RZ},     {"rm", M_RM},   {"rp", M_RP},        {"rni", M_RNI}, {"rzi", M_RZI},
        {"rmi", M_RMI},   {"rpi", M_RPI}, {"lo", M_LO},        {"hi", M_HI},   {"wide", M_WIDE},
        {"bfly", M_BFLY}, {"up", M_UP},   {"down", M_DOWN},    {"idx", M_IDX}, {"warp", M_WARP},
        {"any", M_ANY},   {"all", M_ALL}, {"ballot", M_BALLOT}};
    for (size_t i = 0; i < sizeof modes / sizeof modes[0] && !in->mode; i++)
        if (has(in, modes[i].w)) in->mode = modes[i].m;
    bool is_float = in->type == T_F32 || in->type == T_F64 || in->type == T_F16X2 ||
                    in->type == T_BF16X2;
    switch (in->op) {
    case OP_setp:
        in->mode2 = has(in, "and") ? 1 : has(in, "or") ? 2 : has(in, "xor") ? 3 : 0;
        return in->mode >= M_EQ && in->mode <= M_NAN && in->n == (in->mode2 ? 4 : 3);
    /* nothing may be contracted */
    case OP_add:
    case OP_sub:
    case OP_div:
    case OP_fma:
    case OP_sqrt: return in->type && (!is_float || in->mode == M_RN) && in->n >= 2;
    case OP_mul:
    case OP_mad:
        return in->type && (is_float ? in->mode == M_RN
                                     : in->mode == M_LO || in->mode == M_HI || in->mode == M_WIDE);
    case OP_cvt:
        return in->type2 != T_NONE &&
               in->n == (in->type2 == T_F16X2 || in->type2 == T_BF16X2 ? 3 : 2);
    case OP_ld:
    case OP_st: return in->space && in->type && in->n == 2;
    case OP_shfl: return has(in, "sync") && in->mode && in->n == 5;
    case OP_mbarrier:
    case OP_barrier:
    case OP_mapa:
    case OP_elect:
    case OP_setmaxnreg:
    case OP_wgmma:
    case OP_prefetch: return async_decode(in);
    case OP_cp:
        if (has(in, "bulk")) return async_decode(in);
        in->mode = has(in, "commit_group")                        ? M_COMMIT
                   : has(in, "wait_group") || has(in, "wait_all") ? M_WAIT
                                                                  : M_ASYNC;
        return has(in, "async");
    case OP_mma: return has(in, "m16n8k16") || has(in, "m16n8k8") || has(in, "m16n8k32");
    case OP_shl:
    case OP_and:
    case OP_or:
    case OP_xor:
    case OP_not:
        return in->type == T_PRED || in->type == T_B16 || in->type == T_B32 || in->type == T_B64;
    case OP_bar: return has(in, "sync") || has(in, "arrive") || in->mode == M_WARP;
    case OP_bfi: return in->n == 5;
    case OP_bfe: return in->n == 4;
    default: return true;
    }
}

/* ---- errors, operands ------------------------------------------------------------------------ */
void fault(machine *m, int error, const ptx_inst *in, const char *fmt, uint64_t a, uint64_t b)
{
    char what[200];
    if (m->error) return;
    m->error = error;
    snprintf(what, sizeof what, fmt, (unsigned long long)a, (unsigned long long)b);
    snprintf(m->detail, m->cap, "%s: block %u thread %d line %d: %s: %s", m->e->name,
             (unsigned)m->block_number, m->me, in ? in->line : 0, in ? in->text : "", what);
}

static uint64_t special(const machine *m, int which)
{
    unsigned tid[3] = {(unsigned)m->me % m->block[0], (unsigned)m->me / m->block[0] % m->block[1],
                       (unsigned)m->me / m->block[0] / m->block[1]};
    switch (which / 3) {
    case 0: return tid[which % 3];
    case 1: return m->block[which % 3];
    case 2: return m->at[which % 3];
    case 3: return m->grid[which % 3];
    default:
        return which == 12   ? (uint64_t)m->me % 32
               : which == 13 ? (uint64_t)m->me / 32
               : which == 14 ? (uint64_t)m->rank
               : which == 15 ? (uint64_t)m->c->n
               : which == 16 ? m->at[0] / (unsigned)m->c->n
                             : m->grid[0] / (unsigned)m->c->n;
    }
}
/* Shared memory of block r of a cluster begins at r << 24, in the block's own eyes too: a
 * descriptor takes the low 18 bits. */
static uint64_t own_window(const machine *m, const ptx_operand *o)
{
    return o->is_shared ? (uint64_t)m->rank << 24 : 0;
}
uint64_t get(machine *m, const ptx_operand *o)
{
    if (o->kind == O_IMM) return o->imm + own_window(m, o);
    if (o->reg >= PTX_SPECIAL) return special(m, o->reg - PTX_SPECIAL);
    uint64_t v = m->t[m->me].reg[o->reg];
    return o->negated ? !v : v;
}
void set(machine *m, const ptx_operand *o, uint64_t v)
{
    if (o->reg >= 0) m->t[m->me].reg[o->reg] = v;
}

/* ---- banks of shared memory: what the lanes of a warp touch in one access, 4 bytes of each of 32
 * banks at a time */
int64_t cuemu_bank_turns[2];
bool cuemu_count_banks;
static struct {
    int n, cap;
    struct {
        int pc, bytes;
        uint32_t at;
    } *event;
} bank_log[1024];
static void bank_event(const machine *m, uint64_t at, int bytes)
{
    if (!cuemu_count_banks || m->me >= 1024) return;
    if (bank_log[m->me].n == bank_log[m->me].cap) {
        bank_log[m->me].cap = bank_log[m->me].cap * 2 + 64;
        bank_log[m->me].event =
            realloc(bank_log[m->me].event, (size_t)bank_log[m->me].cap * sizeof *bank_log[0].event);
    }
    bank_log[m->me].event[bank_log[m->me].n].pc = m->t[m->me].pc;
    bank_log[m->me].event[bank_log[m->me].n].bytes = bytes;
    bank_log[m->me].event[bank_log[m->me].n++].at = (uint32_t)at;
}
/* Turns that lanes [from, to) need for their event number e: the most different words that one bank
 * has. */
static int bank_turns(int from, int to, int e)
{
    uint32_t word[32 * 4], in_bank[32] = {0}, most = 0;
    int n = 0;
    for (int t = from; t < to; t++)
        for (int k = 0; k * 4 < bank_log[t].event[e].bytes; k++) {
            uint32_t w = bank_log[t].event[e].at / 4 + (uint32_t)k;
            bool known = false;
            for (int i = 0; i < n; i++) known |= word[i] == w;
            if (known) continue;
            word[n++] = w;
            if (++in_bank[w % 32] > most) most = in_bank[w % 32];
        }
    return (int)most;
}
/* At the end of a block: accesses that all 32 lanes of a warp make. 8 bytes go by half warps, 16 by
 * quarters. */
static void bank_count(machine *m)
{
    for (int first = 0; cuemu_count_banks && first + 32 <= m->n_threads && first + 32 <= 1024;
         first += 32)
        for (int e = 0; e < bank_log[first].n; e++) {
            int bytes = bank_log[first].event[e].bytes, lanes = bytes == 16  ? 8
                                                                : bytes == 8 ? 16
                                                                             : 32;
            bool all = true;
            for (int t = first; t < first + 32; t++)
                all &= e < bank_log[t].n && bank_log[t].event[e].pc == bank_log[first].event[e].pc;
            for (int t = first; t < first + 32 && all; t += lanes) {
                cuemu_bank_turns[0]++;
                cuemu_bank_turns[1] += bank_turns(t, t + lanes, e);
            }
        }
    for (int i = 0; cuemu_count_banks && i < 1024; i++) {
        free(bank_log[i].event);
        memset(&bank_log[i], 0, sizeof bank_log[i]);
    }
}

/* ---- memory ---------------------------------------------------------------------------------- */
/* Does m->me know of what the shadow notes? */
static bool ordered(const machine *m, const cuemu_shadow *s)
{
    unsigned n = (unsigned)m->c->n;
    if (s->launch != m->launch) return true;
    if (s->block / n != m->block_number / n) return false;
    if (s->block == m->block_number && s->agent < WARPS) {
        if (s->thread == m->me) return true;
        if (s->thread / 32 == m->me / 32)
            return s->sync != m->sync[m->me / 32] || m->t[m->me].known >= s->clock;
    }
    return m->clock[m->me / 32][s->block % n * AGENTS + s->agent] >= s->clock;
}
static bool clashes(const machine *m, const cuemu_shadow *s, int bytes, bool atomic)
{
    return (s->bytes & bytes) && !(atomic && (s->flags & ATOMIC)) && !ordered(m, s);
}
/* owner: whose shared memory it is. */
static void touch(machine *m, const machine *owner, const ptx_inst *in, cuemu_shadow *wrote,
                  cuemu_shadow *read, uint64_t offset, int n, bool writes, int flags)
{
    int warp = m->me / 32;
    uint32_t clock = m->clock[warp][m->rank * AGENTS + warp];
    bool atomic = flags & ATOMIC;
    for (uint64_t w = offset / 4; w * 4 < offset + (uint64_t)n; w++) {
        int bytes = 0;
        for (int k = 0; k < 4; k++)
            if (w * 4 + (uint64_t)k >= offset && w * 4 + (uint64_t)k < offset + (uint64_t)n)
                bytes |= 1 << k;
        if (clashes(m, &wrote[w], bytes, atomic) || (writes && clashes(m, &read[w], bytes, atomic)))
            fault(m, CUEMU_LAUNCH_FAILURE, in, "a race with thread %llu of block %llu",
                  clashes(m, &wrote[w], bytes, atomic) ? wrote[w].thread : read[w].thread,
                  clashes(m, &wrote[w], bytes, atomic) ? wrote[w].block : read[w].block);
        if ((wrote[w].flags & ARRIVING) && (wrote[w].bytes & bytes) &&
            wrote[w].launch == m->launch && wrote[w].block == m->block_number)
            fault(m, CUEMU_LAUNCH_FAILURE, in, "bytes that cp.async of thread %llu has under way",
                  wrote[w].thread, 0);
        if ((flags & ASYNC) && owner && !writes && wrote[w].launch == m->launch &&
            !(wrote[w].flags & TENSOR) && (wrote[w].bytes & bytes)) {
            unsigned rank = wrote[w].block % (unsigned)m->c->n;
            if (m->c->at[rank]->t[wrote[w].thread].fences == wrote[w].fences)
                fault(m, CUEMU_LAUNCH_FAILURE, in,
                      "thread %llu of block %llu wrote this without fence.proxy.async",
                      wrote[w].thread, wrote[w].block);
        }
        cuemu_shadow now = {
            m->launch,       m->block_number, clock,
            (uint16_t)m->me, m->sync[warp],   m->t[m->me].fences,
            (uint8_t)warp,   (uint8_t)bytes,  (uint8_t)(writes ? flags : flags & ATOMIC)};
        cuemu_shadow *s = writes ? &wrote[w] : &read[w];
        if (s->launch == now.launch && s->block == now.block && s->thread == now.thread &&
            s->agent == now.agent && s->clock == now.clock && s->sync == now.sync)
            now.bytes |= s->bytes;
        *s = now;
    }
}
void note_copied(machine *m, uint32_t shared, int n, int agent, uint32_t clock)
{
    for (uint32_t w = shared / 4; w * 4 < shared + (uint32_t)n; w++)
        m->s_wrote[w] = (cuemu_shadow){m->launch, m->block_number, clock, 0xffff, 0,
                                       0,         (uint8_t)agent,  15,    TENSOR};
}
char *reach(machine *m, const ptx_inst *in, int space, uint64_t address, int n, bool writes,
            int flags)
{
    if (address % (unsigned)n) {
        fault(m, CUEMU_MISALIGNED, in, "address %llx is not a multiple of %llu", address,
              (uint64_t)n);
        return NULL;
    }
    if (space == PTX_SHARED) {
        int rank = (int)(address >> 24);
        if (rank >= m->c->n || (rank != m->rank && !in->cluster)) {
            fault(m, CUEMU_ILLEGAL_ADDRESS, in, "shared address %llx of a cluster of %llu", address,
                  (uint64_t)m->c->n);
            return NULL;
        }
        machine *o = m->c->at[rank];
        address &= 0xffffff;
        if (address + (uint64_t)n > o->shared_bytes) {
            fault(m, CUEMU_ILLEGAL_ADDRESS, in, "shared address %llu of %llu bytes", address,
                  o->shared_bytes);
            return NULL;
        }
        if (!(flags & (ASYNC | TENSOR | MBARRIER)))
            async_touch(m, o, in, (uint32_t)address, n, writes);
        if (!(flags & (ASYNC | TENSOR | MBARRIER)) && m->c->n == 1) bank_event(m, address, n);
        touch(m, o, in, o->s_wrote, o->s_read, address, n, writes, flags);
        return o->shared + address;
    }
    cuemu_region *r = cuemu_find(address);
    if (!r || address + (uint64_t)n > r->address + r->n) {
        fault(m, CUEMU_ILLEGAL_ADDRESS, in, "global address %llx, %llu bytes, is in no allocation",
              address, (uint64_t)n);
        return NULL;
    }
    if (!r->wrote) {
        r->wrote = calloc(r->n / 4 + 2, sizeof *r->wrote);
        r->read = calloc(r->n / 4 + 2, sizeof *r->read);
    }
    touch(m, NULL, in, r->wrote, r->read, address - r->address, n, writes, flags);
    return r->host + (address - r->address);
}
uint64_t address_of(machine *m, const ptx_operand *o)
{
    uint64_t base = o->reg < 0              ? 0
                    : o->reg >= PTX_SPECIAL ? special(m, o->reg - PTX_SPECIAL)
                                            : m->t[m->me].reg[o->reg];
    return base + o->imm + own_window(m, o);
}
static void load(machine *m, const ptx_inst *in)
{
    int bytes = type_bytes(in->type), n = in->vec ? in->vec : 1;
    if (in->space == PTX_PARAM) {
        if (in->o[1].param < 0 || in->o[1].param >= m->e->n_params)
            fault(m, CUEMU_ILLEGAL_ADDRESS, in, "no such parameter", 0, 0);
        else {
            uint64_t v = 0;
            memcpy(&v, m->params + m->e->param[in->o[1].param].offset + in->o[1].imm,
                   (size_t)bytes);
            set(m, &in->o[0], v);
        }
        return;
    }
    uint64_t at = address_of(m, &in->o[1]);
    if (in->space == PTX_SHARED) at = (uint32_t)at;
    char *p = reach(m, in, in->space, at, bytes * n, false, 0);
    for (int k = 0; p && k < n; k++) {
        uint64_t v = 0;
        memcpy(&v, p + k * bytes, (size_t)bytes);
        if (is_signed(in->type))
            v = (uint64_t)extend(v, bytes) & (bytes < 8 ? 0xffffffffu : UINT64_MAX);
        m->t[m->me].reg[n > 1 ? in->o[0].list[k] : in->o[0].reg] = v;
    }
}
static void store(machine *m, const ptx_inst *in)
{
    int bytes = type_bytes(in->type), n = in->vec ? in->vec : 1;
    uint64_t at = address_of(m, &in->o[0]);
    if (in->space == PTX_SHARED) at = (uint32_t)at;
    char *p = reach(m, in, in->space, at, bytes * n, true, 0);
    for (int k = 0; p && k < n; k++) {
        uint64_t v = n > 1 ? (in->o[1].list_is_imm[k] ? in->o[1].list_imm[k]
                                                      : m->t[m->me].reg[in->o[1].list[k]])
                           : get(m, &in->o[1]);
        memcpy(p + k * bytes, &v, (size_t)bytes);
    }
}
static void atomic(machine *m, const ptx_inst *in)
{
    int bytes = type_bytes(in->type), at = in->op == OP_red ? 0 : 1;
    char *p = reach(m, in, in->space, address_of(m, &in->o[at]), bytes, true, ATOMIC);
    uint64_t old = 0, v = get(m, &in->o[at + 1]), now = v;
    if (!p) return;
    memcpy(&old, p, (size_t)bytes);
    if (has(in, "add"))
        now = in->type == T_F32   ? of_f32(as_f32(old) + as_f32(v))
              : in->type == T_F64 ? of_f64(as_f64(old) + as_f64(v))
                                  : old + v;
    else if (has(in, "max"))
        now = is_signed(in->type) ? (extend(old, bytes) > extend(v, bytes) ? old : v)
              : old > v           ? old
                                  : v;
    else if (has(in, "min"))
        now = is_signed(in->type) ? (extend(old, bytes) < extend(v, bytes) ? old : v)
              : old < v           ? old
                                  : v;
    memcpy(p, &now, (size_t)bytes);
    if (in->op == OP_atom) set(m, &in->o[0], old);
}

/* ---- meetings of a warp ---------------------------------------------------------------------- */
static uint64_t lane_reg(machine *m, int first, int lane, int reg)
{
    return m->t[first + lane].reg[reg];
}

static void shuffle(machine *m, const ptx_inst *in, int first, int n)
{
    uint64_t value[32];
    for (int lane = 0; lane < n; lane++) {
        m->me = first + lane;
        value[lane] = get(m, &in->o[1]);
    }
    for (int lane = 0; lane < n; lane++) {
        m->me = first + lane;
        int b = (int)get(m, &in->o[2]), c = (int)get(m, &in->o[3]), clamp = c & 31,
            mask = c >> 8 & 31;
        int max = (lane & mask) | (clamp & ~mask), min = lane & mask, from = lane;
        bool ok = false;
        if (in->mode == M_BFLY)
            from = lane ^ b, ok = from <= max;
        else if (in->mode == M_UP)
            from = lane - b, ok = from >= max;
        else if (in->mode == M_DOWN)
            from = lane + b, ok = from <= max;
        else
            from = min | (b & ~mask), ok = from <= max;
        if (!ok) from = lane;
        if (from < 0 || from >= n) {
            fault(m, CUEMU_LAUNCH_FAILURE, in, "a shuffle from lane %llu of %llu", (uint64_t)from,
                  (uint64_t)n);
            return;
        }
        set(m, &in->o[0], value[from]);
        if (in->mode2) set(m, &in->o[PTX_OPERANDS - 1], ok);
    }
}
static void vote(machine *m, const ptx_inst *in, int first, int n)
{
    uint64_t ballot = 0;
    for (int lane = 0; lane < n; lane++) {
        m->me = first + lane;
        if (get(m, &in->o[1])) ballot |= (uint64_t)1 << lane;
    }
    for (int lane = 0; lane < n; lane++) {
        m->me = first + lane;
        set(m, &in->o[0],
            in->mode == M_BALLOT ? ballot
            : in->mode == M_ANY  ? ballot != 0
                                 : ballot == (n == 32 ? 0xffffffffu : ((uint64_t)1 << n) - 1));
    }
}
/* 8 x 8 matrices of 16-bit elements: lane i of group k gives the address of row i of matrix k; lane
 * i gets elements 2 (i % 4) and the next of row i / 4 (trans: of column i / 4). */
static void load_matrix(machine *m, const ptx_inst *in, int first, int n)
{
    int count = has(in, "x4") ? 4 : has(in, "x2") ? 2 : 1;
    bool trans = has(in, "trans");
    uint16_t row[4][8][8];
    if (n < 32) {
        fault(m, CUEMU_LAUNCH_FAILURE, in, "ldmatrix by %llu lanes", (uint64_t)n, 0);
        return;
    }
    for (int k = 0; k < count; k++)
        for (int r = 0; r < 8; r++) {
            m->me = first + k * 8 + r;
            char *p = reach(m, in, PTX_SHARED, (uint32_t)address_of(m, &in->o[1]), 16, false, 0);
            if (!p) return;
            memcpy(row[k][r], p, 16);
        }
    for (int lane = 0; lane < 32; lane++) {
        for (int k = 0; k < count; k++) {
            int r = lane / 4, c = lane % 4 * 2;
            uint32_t low = trans ? row[k][c][r] : row[k][r][c],
                     high = trans ? row[k][c + 1][r] : row[k][r][c + 1];
            m->t[first + lane].reg[in->o[0].kind == O_LIST ? in->o[0].list[k] : in->o[0].reg] =
                low | high << 16;
        }
    }
}
/* Element number `at` of a word: its value as a double, exact for every type. */
static double matrix_element(uint64_t word, int at, ptx_type t)
{
    uint16_t h = (uint16_t)(word >> (16 * at));
    uint8_t b = (uint8_t)(word >> (8 * at));
    switch (t) {
    case T_TF32: return (double)as_f32(word & ~(uint64_t)0x1fff);
    case T_S8: return (int8_t)b;
    case T_U8: return b;
    case T_BF16: return (double)bf16_value(h);
    default: return (double)half_value(h);
    }
}
/* d = a b + c, rows of a and columns of b: the fragments of the PTX manual. A word holds `per`
 * elements along k; a has words of rows g, g + 8, then again half the depth further; b of column g.
 * Accumulators are f32, or s32 that wrap. */
static void multiply(machine *m, const ptx_inst *in, int first, int n)
{
    ptx_type t = has(in, "tf32")   ? T_TF32
                 : has(in, "s8")   ? T_S8
                 : has(in, "u8")   ? T_U8
                 : has(in, "bf16") ? T_BF16
                                   : T_F16;
    int depth = has(in, "m16n8k32")   ? 32
                : has(in, "m16n8k16") ? 16
                                      : 8,
        per = t == T_TF32              ? 1
              : t == T_S8 || t == T_U8 ? 4
                                       : 2;
    bool whole = t == T_S8 || t == T_U8;
    double a[16][32], b[32][8];
    uint64_t c[16][8];
    if (n < 32 || (has(in, "tf32") && depth == 16) || whole != (depth == 32) ||
        in->o[1].n * per * 8 != depth * 4) {
        fault(m, CUEMU_LAUNCH_FAILURE, in, "mma by %llu lanes, or of a form that is not known",
              (uint64_t)n, 0);
        return;
    }
    for (int lane = 0; lane < 32; lane++) {
        int g = lane / 4, q = lane % 4;
        for (int k = 0; k < in->o[1].n; k++)
            for (int h = 0; h < per; h++)
                a[g + (k & 1) * 8][q * per + h + (k >> 1) * 4 * per] =
                    matrix_element(lane_reg(m, first, lane, in->o[1].list[k]), h, t);
        for (int k = 0; k < (in->o[2].kind == O_LIST ? in->o[2].n : 1); k++)
            for (int h = 0; h < per; h++)
                b[q * per + h + k * 4 * per][g] = matrix_element(
                    lane_reg(m, first, lane,
                             in->o[2].kind == O_LIST ? in->o[2].list[k] : in->o[2].reg),
                    h, t);
        for (int k = 0; k < 4; k++)
            c[g + (k >> 1) * 8][q * 2 + (k & 1)] = lane_reg(m, first, lane, in->o[3].list[k]);
    }
    for (int i = 0; i < 16; i++)
        for (int j = 0; j < 8; j++) {
            double sum = whole ? (double)(int32_t)c[i][j] : (double)as_f32(c[i][j]);
            for (int k = 0; k < depth; k++) sum += a[i][k] * b[k][j];
            c[i][j] = whole ? (uint32_t)(int64_t)sum : of_f32((float)sum);
        }
    for (int lane = 0; lane < 32; lane++) {
        int g = lane / 4, q = lane % 4;
        for (int k = 0; k < 4; k++)
            m->t[first + lane].reg[in->o[0].list[k]] = c[g + (k >> 1) * 8][q * 2 + (k & 1)];
    }
}

static bool meets(const ptx_inst *in)
{
    return in->op == OP_shfl || in->op == OP_vote || in->op == OP_ldmatrix || in->op == OP_mma ||
           (in->op == OP_bar && in->mode == M_WARP) || async_meets(in);
}

/* ---- a thread up to the next meeting --------------------------------------------------------- */
/* cp.async: what is copied lies in shared memory from the wait on, for others from the next barrier
 * on; touching it before is a fault. */
static void mark(machine *m, uint64_t at, int n, int flags)
{
    for (uint64_t w = at / 4; w * 4 < at + (uint64_t)n; w++)
        m->s_wrote[w] = (cuemu_shadow){m->launch,
                                       m->block_number,
                                       m->clock[m->me / 32][m->rank * AGENTS + m->me / 32],
                                       (uint16_t)m->me,
                                       m->sync[m->me / 32],
                                       m->t[m->me].fences,
                                       (uint8_t)(m->me / 32),
                                       15,
                                       (uint8_t)flags};
}
static void copy_wait(machine *m, int under_way)
{
    int kept = 0;
    for (int i = 0; i < m->n_pending; i++) {
        small_copy c = m->pending[i];
        if (c.thread != m->me || c.group >= m->t[m->me].groups - under_way) {
            m->pending[kept++] = c;
            continue;
        }
        memset(c.to, 0, (size_t)c.n);
        if (c.from_n) memcpy(c.to, c.from, (size_t)c.from_n);
        mark(m, c.at, c.n, 0);
    }
    m->n_pending = kept;
}
static void copy_async(machine *m, const ptx_inst *in)
{
    thread *t = &m->t[m->me];
    if (in->mode == M_COMMIT) t->groups++;
    if (in->mode == M_WAIT && has(in, "wait_all")) t->groups++;
    if (in->mode == M_WAIT) copy_wait(m, has(in, "wait_all") ? 0 : (int)get(m, &in->o[0]));
    if (in->mode != M_ASYNC) return;
    small_copy c = {.n = (int)in->o[2].imm, .thread = m->me, .group = t->groups};
    c.from_n = in->n > 3 ? (int)get(m, &in->o[3]) : c.n;
    c.at = (uint32_t)address_of(m, &in->o[0]);
    uint64_t from = address_of(m, &in->o[1]);
    if ((c.n != 4 && c.n != 8 && c.n != 16) || (c.n != 16 && has(in, "cg")) || c.from_n > c.n ||
        c.from_n < 0)
        fault(m, CUEMU_LAUNCH_FAILURE, in, "cp.async of %llu from %llu bytes", (uint64_t)c.n,
              (uint64_t)c.from_n);
    if (from % (unsigned)c.n)
        fault(m, CUEMU_MISALIGNED, in, "address %llx is not a multiple of %llu", from,
              (uint64_t)c.n);
    if (m->error || !(c.to = reach(m, in, PTX_SHARED, c.at, c.n, true, 0))) return;
    /* bytes that are not asked for may lie outside of the allocation */
    for (int k = 0, step; k < c.from_n; k += step) {
        step = c.from_n % 4 ? 1 : 4;
        char *p = reach(m, in, PTX_GLOBAL, from + (uint64_t)k, step, false, 0);
        if (!p) return;
        if (k == 0) c.from = p;
    }
    mark(m, c.at, c.n, ARRIVING);
    memset(c.to, 0xcd, (size_t)c.n);
    if (m->n_pending == m->cap_pending) {
        m->cap_pending = m->cap_pending * 2 + 256;
        m->pending = realloc(m->pending, (size_t)m->cap_pending * sizeof *m->pending);
    }
    m->pending[m->n_pending++] = c;
}
static void run_thread(machine *m)
{
    thread *t = &m->t[m->me];
    while (!m->error && t->state == RUNS) {
        if (t->pc >= m->e->n_insts) {
            t->state = ENDED;
            async_thread_ends(m);
            return;
        }
        const ptx_inst *in = &m->e->inst[t->pc];
        if (++m->steps > (int64_t)1 << 36) fault(m, CUEMU_LAUNCH_FAILURE, in, "endless", 0, 0);
        if (in->guard >= 0 && (t->reg[in->guard] != 0) == in->guard_not) {
            t->pc++;
            continue;
        }
        if (meets(in)) {
            t->state = MEETS;
            return;
        }
        int next = t->pc + 1;
        switch (in->op) {
        case OP_mov: move(m, in); break;
        case OP_setp: set_predicate(m, in); break;
        case OP_selp: set(m, &in->o[0], get(m, &in->o[get(m, &in->o[3]) ? 1 : 2])); break;
        case OP_cvt: convert(m, in); break;
        case OP_cvta: set(m, &in->o[0], get(m, &in->o[1])); break;
        case OP_and:
        case OP_or:
        case OP_xor:
        case OP_not:
        case OP_shl:
        case OP_shr:
        case OP_bfe:
        case OP_bfi:
        case OP_prmt: bits(m, in); break;
        case OP_ld: load(m, in); break;
        case OP_st: store(m, in); break;
        case OP_atom:
        case OP_red: atomic(m, in); break;
        case OP_bra: next = (int)in->o[0].imm; break;
        case OP_ret:
            t->state = ENDED;
            async_thread_ends(m);
            return;
        case OP_bar:
            t->barrier = in->n ? (uint8_t)(get(m, &in->o[0]) & 15) : 0;
            t->threads = in->n > 1 ? (int)get(m, &in->o[1]) : m->n_threads;
            if (!has(in, "arrive")) {
                t->state = WAITS;
                return;
            }
            m->arrived[t->barrier]++;
            clock_join(m->named[t->barrier], m->clock[m->me / 32], m->c->n * AGENTS);
            clock_release(m, m->me / 32);
            break;
        case OP_mbarrier:
        case OP_barrier:
        case OP_mapa:
        case OP_prefetch:
        case OP_fence:
            if (async_op(m, in) == AGAIN) {
                t->state = BLOCKED;
                return;
            }
            break;
        case OP_cp:
            if (!has(in, "bulk"))
                copy_async(m, in);
            else if (async_op(m, in) == AGAIN) {
                t->state = BLOCKED;
                return;
            }
            break;
        case OP_membar: break;
        default: arithmetic(m, in);
        }
        t->pc = next;
    }
}

/* Lets a warp go on as far as it can; true if anything happened. */
static bool run_warp(machine *m, int first)
{
    int n = m->n_threads - first < 32 ? m->n_threads - first : 32, meeting = 0, blocked = 0,
        pc = -1;
    bool any = false;
    for (int lane = 0; lane < n && !m->error; lane++) {
        m->me = first + lane;
        thread *t = &m->t[m->me];
        if (t->state != RUNS && t->state != BLOCKED) continue;
        int before = t->pc, was = t->state;
        t->state = RUNS;
        run_thread(m);
        any |= was == RUNS || t->state != BLOCKED || t->pc != before;
        blocked += t->state == BLOCKED;
    }
    for (int lane = 0; lane < n; lane++) {
        const thread *t = &m->t[first + lane];
        if (t->state == MEETS) {
            meeting++;
            if (pc < 0) pc = t->pc;
            if (pc != t->pc) pc = m->e->n_insts;
        }
    }
    if (m->error || meeting == 0) return any;
    const ptx_inst *in = pc < m->e->n_insts ? &m->e->inst[pc] : NULL;
    if (blocked) return any;
    if (meeting < n || !in) {
        m->me = first;
        fault(m, CUEMU_LAUNCH_FAILURE, in, "only %llu of %llu lanes come to it", (uint64_t)meeting,
              (uint64_t)n);
        return false;
    }
    if (in->op == OP_shfl)
        shuffle(m, in, first, n);
    else if (in->op == OP_vote)
        vote(m, in, first, n);
    else if (in->op == OP_ldmatrix)
        load_matrix(m, in, first, n);
    else if (in->op == OP_mma)
        multiply(m, in, first, n);
    else if (in->op != OP_bar && async_meeting(m, in, first, n) == AGAIN)
        return any;
    m->sync[first / 32]++;
    m->steps += n;
    for (int lane = 0; lane < n; lane++) {
        m->t[first + lane].pc++;
        m->t[first + lane].state = RUNS;
    }
    return true;
}

/* Barriers for which all have come open. */
static bool open_barriers(machine *m)
{
    bool any = false;
    for (int b = 0; b < 16; b++) {
        int waits = 0, asked = 0;
        for (int i = 0; i < m->n_threads; i++)
            if (m->t[i].state == WAITS && m->t[i].barrier == b) waits++, asked = m->t[i].threads;
        if (waits == 0 || waits + m->arrived[b] != asked) continue;
        uint32_t *all = m->named[b];
        for (int i = 0; i < m->n_threads; i += 32)
            if (m->t[i].state == WAITS && m->t[i].barrier == b)
                clock_join(all, m->clock[i / 32], m->c->n * AGENTS);
        for (int i = 0; i < m->n_threads; i++) {
            if (m->t[i].state != WAITS || m->t[i].barrier != b) continue;
            if (i % 32 == 0) {
                clock_join(m->clock[i / 32], all, m->c->n * AGENTS);
                clock_release(m, i / 32);
                m->sync[i / 32]++;
            }
            m->t[i].pc++;
            m->t[i].state = RUNS;
        }
        m->arrived[b] = 0;
        any = true;
    }
    return any;
}

/* Every warp as far as it comes; true if anything happened. */
static bool step_block(machine *m)
{
    bool any = false;
    for (int first = 0; first < m->n_threads; first += 32)
        while (!m->error && run_warp(m, first)) any = true;
    if (m->error) return false;
    return open_barriers(m) || any;
}

static bool ended(const machine *m)
{
    for (int i = 0; i < m->n_threads; i++)
        if (m->t[i].state != ENDED) return false;
    return true;
}
static void stuck(machine *m)
{
    uint64_t waits = 0, gone = 0;
    for (int i = 0; i < m->n_threads; i++) {
        waits += m->t[i].state == WAITS;
        gone += m->t[i].state == ENDED;
        if (m->t[i].state != ENDED) m->me = i;
    }
    if (gone == (uint64_t)m->n_threads) return;
    const ptx_inst *in = m->t[m->me].pc < m->e->n_insts ? &m->e->inst[m->t[m->me].pc] : NULL;
    if (waits && waits + gone == (uint64_t)m->n_threads && gone) {
        m->me = 0;
        fault(m, CUEMU_LAUNCH_FAILURE, NULL, "%llu threads wait at a barrier that %llu have left",
              waits, gone);
    } else
        fault(m, CUEMU_LAUNCH_FAILURE, in, "threads wait for each other", 0, 0);
}
static void run_cluster(cluster *c)
{
    for (;;) {
        bool any = false, all = true;
        for (int r = 0; r < c->n; r++) {
            any |= step_block(c->at[r]);
            if (c->at[r]->error) return;
        }
        for (int r = 0; r < c->n; r++) all &= ended(c->at[r]);
        if (!any) any = async_progress(c);
        for (int r = 0; r < c->n; r++)
            if (c->at[r]->error) return;
        if (all && !any) break;
        if (!any) {
            for (int r = 0; r < c->n && !c->at[0]->error; r++) stuck(c->at[r]);
            return;
        }
    }
    for (int r = 0; r < c->n; r++) async_block_ends(c->at[r]);
}

static void new_machine(machine *m, const ptx_entry *e, size_t shared_bytes)
{
    m->shared_bytes = shared_bytes;
    m->shared = malloc(m->shared_bytes + 16);
    m->s_wrote = calloc(m->shared_bytes / 4 + 2, sizeof *m->s_wrote);
    m->s_read = calloc(m->shared_bytes / 4 + 2, sizeof *m->s_read);
    m->sync = calloc((size_t)m->n_threads / 32 + 1, sizeof *m->sync);
    m->clock = calloc((size_t)m->n_threads / 32 + 1, sizeof *m->clock);
    m->named = calloc(16, sizeof *m->named);
    m->t = calloc((size_t)m->n_threads, sizeof *m->t);
    if (e->for_hopper) {
        m->w = calloc((size_t)m->n_threads / 32 + 1, sizeof *m->w);
        m->bar = calloc(MBARRIERS, sizeof *m->bar);
    }
    m->regs = malloc((size_t)m->n_threads * (size_t)(e->n_regs + 1) * sizeof *m->regs);
    memset(m->regs, 0xcd, (size_t)m->n_threads * (size_t)(e->n_regs + 1) * sizeof *m->regs);
    for (int i = 0; i < m->n_threads; i++)
        m->t[i].reg = m->regs + (size_t)i * (size_t)(e->n_regs + 1);
}
static void free_machine(machine *m)
{
    free(m->shared);
    free(m->pending);
    free(m->s_wrote);
    free(m->s_read);
    free(m->sync);
    free(m->clock);
    free(m->named);
    free(m->t);
    free(m->w);
    free(m->bar);
    free(m->regs);
}
static void begin_block(machine *m, uint64_t b)
{
    const unsigned *grid = m->grid;
    m->block_number = (uint32_t)b;
    m->at[0] = (unsigned)(b % grid[0]);
    m->at[1] = (unsigned)(b / grid[0] % grid[1]);
    m->at[2] = (unsigned)(b / grid[0] / grid[1]);
    memset(m->shared, 0xcd, m->shared_bytes);
    memset(m->s_wrote, 0, (m->shared_bytes / 4 + 2) * sizeof *m->s_wrote);
    memset(m->s_read, 0, (m->shared_bytes / 4 + 2) * sizeof *m->s_read);
    for (int i = 0; i < m->n_threads; i++) {
        uint64_t *reg = m->t[i].reg;
        memset(&m->t[i], 0, sizeof m->t[i]);
        m->t[i].reg = reg;
    }
    memset(m->named, 0, 16 * sizeof *m->named);
    memset(m->arrived, 0, sizeof m->arrived);
    memset(m->clock, 0, ((size_t)m->n_threads / 32 + 1) * sizeof *m->clock);
    for (int w = 0; w < (m->n_threads + 31) / 32; w++) m->clock[w][m->rank * AGENTS + w] = 1;
    m->n_bar = m->n_pending = 0;
    m->live = m->n_threads;
    if (!m->w) return;
    int warps = (m->n_threads + 31) / 32,
        regs = m->e->max_regs ? m->e->max_regs : 65536 / (warps * 32) / 8 * 8;
    for (int w = 0; w < warps; w++) {
        m->w[w].n = m->w[w].groups = 0;
        m->w[w].fenced = m->w[w].counted = false;
        m->w[w].steps = 0;
        m->w[w].regs = regs > 255 ? 255 : regs;
    }
    m->free_regs = 65536 - warps * 32 * regs;
}

int ptx_launch(const ptx_entry *e, const unsigned grid[3], const unsigned block[3], int n_cluster,
               const char *params, size_t dynamic_shared, int device, char *detail, size_t cap,
               int64_t *n_instructions)
{
    static uint32_t launches;
    machine m[CLUSTER];
    cluster *c = calloc(1, sizeof *c);
    int error = 0;
    c->n = n_cluster;
    launches++;
    memset(m, 0, sizeof m);
    for (int r = 0; r < c->n; r++) {
        c->at[r] = &m[r];
        m[r].e = e;
        memcpy(m[r].grid, grid, sizeof m[r].grid);
        memcpy(m[r].block, block, sizeof m[r].block);
        m[r].params = params;
        m[r].n_threads = (int)(block[0] * block[1] * block[2]);
        m[r].device = device;
        m[r].detail = detail;
        m[r].cap = cap;
        m[r].launch = launches;
        m[r].rank = r;
        m[r].c = c;
        new_machine(&m[r], e, (dynamic_shared ? e->dynamic_at : e->shared_bytes) + dynamic_shared);
    }
    uint64_t blocks = (uint64_t)grid[0] * grid[1] * grid[2];
    for (uint64_t b = 0; b < blocks && !error; b += (uint64_t)c->n) {
        for (int r = 0; r < c->n; r++) begin_block(&m[r], b + (uint64_t)r);
        c->arrived = c->n_copies = 0;
        c->n_threads = c->n * m[0].n_threads;
        c->phase = 0;
        memset(c->now, 0, sizeof c->now);
        memset(c->done, 0, sizeof c->done);
        run_cluster(c);
        if (c->n == 1) bank_count(&m[0]);
        for (int r = 0; r < c->n && !error; r++) error = m[r].error;
    }
    for (int r = 0; r < c->n; r++) {
        *n_instructions += m[r].steps;
        free_machine(&m[r]);
    }
    free(c);
    return error;
}
