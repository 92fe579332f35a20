/* tests/unit/text_checker.h: executes the lines of a text target (text_target.h) on real memory,
 * verb by verb as codegen/target.h says, lane by lane as loop/eval.c computes. What the seam leaves
 * open holds nonsense here: lanes above those of a verb, registers that it destroys, a new frame.
 * Complains about vectors wider than the target's, masks that are none, writes beside the frame. */
#ifndef DYNC_TESTS_TEXT_CHECKER_H
#define DYNC_TESTS_TEXT_CHECKER_H
#include "text_target.h"

enum { TEXT_WIDEST = 64, TEXT_GUARD = 64, TEXT_NONSENSE = 0xa7 };
typedef struct text_machine {
    const text_program *p;
    const dync__ins *i; /* the line at hand */
    int64_t g[16];
    uint8_t v[32][TEXT_WIDEST];
    uint16_t k[8];
    uint8_t *frame, *stack;
    int64_t frame_bytes;
    int next; /* line; -1: returned */
} text_machine;

static int64_t text_executed[DYNC__N_VERBS], text_complaints;

static void text_complain(const text_machine *m, const char *what)
{
    const char *line = m->p->text;
    if (text_complaints++ > 5) return;
    for (const dync__ins *i = m->p->ins; i < m->i; i++) line = strchr(line, '\n') + 1;
    printf("  %s, line %d: %s: %.*s\n", m->p->t->name, (int)(m->i - m->p->ins), what,
           (int)strcspn(line, "\n"), line);
}

/* ---- operands -------------------------------------------------------------------------------- */

static int text_size(int type) /* of a lane in a register */
{
    return type == DYNC_BOOL ? 4 : dync__dtype_info(type)->bytes;
}

static uint8_t *text_address(text_machine *m, dync__place y)
{
    if (y.base == DYNC__PLACE_POOL) return m->p->pool + y.disp;
    int64_t at = m->g[y.base] + (y.index >= 0 ? m->g[y.index] * y.scale : 0) + y.disp;
    return (uint8_t *)(intptr_t)at;
}
static uint8_t *text_general(text_machine *m, dync__place y)
{
    return y.is_mem ? text_address(m, y) : (uint8_t *)&m->g[y.reg];
}
static const uint8_t *text_vector(text_machine *m, dync__place y)
{
    return y.is_mem ? text_address(m, y) : m->v[y.reg];
}

static int64_t text_word(const uint8_t *p)
{
    int64_t x;
    memcpy(&x, p, sizeof x);
    return x;
}
static void text_put(uint8_t *p, int64_t x) { memcpy(p, &x, sizeof x); }

/* A vector register gets these bytes, and nonsense above them. */
static void text_set(text_machine *m, int to, const void *from, int bytes)
{
    if (bytes > m->p->t->vector_bytes) text_complain(m, "wider than the target's vectors");
    if (to < 0 || to >= m->p->t->n_vectors) text_complain(m, "no such register");
    if (bytes > TEXT_WIDEST) return;
    memmove(m->v[to], from, (size_t)bytes);
    memset(m->v[to] + bytes, TEXT_NONSENSE, (size_t)(TEXT_WIDEST - bytes));
}

static dync__scalar text_lane(const uint8_t *from, int type, int lane)
{
    dync__scalar x;
    int32_t i;
    memset(&x, 0, sizeof x);
    from += lane * text_size(type);
    memcpy(&i, from, sizeof i);
    if (text_size(type) == 8)
        memcpy(&x, from, 8);
    else if (type == DYNC_F32)
        memcpy(&x.f, from, 4);
    else
        x.i = type == DYNC_BOOL ? i != 0 : i;
    return x;
}

static void text_lane_to(uint8_t *to, int type, int lane, dync__scalar x)
{
    int32_t i = type == DYNC_BOOL ? -(x.i != 0) : (int32_t)x.i;
    to += lane * text_size(type);
    if (text_size(type) == 8)
        memcpy(to, &x, 8);
    else
        memcpy(to, type == DYNC_F32 ? (const void *)&x.f : &i, 4);
}

/* Does mask z hold in a lane, among lanes of so many bytes? */
static bool text_holds(text_machine *m, int z, int lane, int bytes)
{
    if (m->p->t->n_masks) return m->k[z] >> lane & 1;
    int64_t x = text_word(m->v[z] + lane * bytes);
    if (bytes < 8) x = (int32_t)x;
    if (x != 0 && x != -1) text_complain(m, "a mask of neither ones nor zeros");
    return x < 0;
}

/* Mask `to` = the lanes whose bits are set. */
static void text_set_mask(text_machine *m, int to, uint32_t bits, int lanes, int bytes)
{
    uint8_t all[TEXT_WIDEST];
    if (m->p->t->n_masks) {
        if (to < 1 || to > m->p->t->n_masks) text_complain(m, "no such mask");
        m->k[to] = (uint16_t)bits;
        return;
    }
    for (int l = 0; l < lanes && (l + 1) * bytes <= TEXT_WIDEST; l++)
        memset(all + l * bytes, bits >> l & 1 ? 0xff : 0, (size_t)bytes);
    text_set(m, to, all, lanes * bytes);
}

/* ---- numbers, control ------------------------------------------------------------------------ */

static void text_divide(text_machine *m, bool rem)
{
    int64_t x = m->g[DYNC__G_T0], y = m->g[DYNC__G_T1];
    m->g[DYNC__G_T0] = y == 0    ? 0
                       : y == -1 ? (rem ? 0 : (int64_t)(0 - (uint64_t)x))
                       : rem     ? x % y
                                 : x / y;
    m->g[DYNC__G_END] = TEXT_NONSENSE;
}

static void text_number(text_machine *m, const dync__ins *i)
{
    bool to_y = i->verb >= DYNC__A_ADD_N && i->verb <= DYNC__A_SHR_N;
    uint64_t y = 0, n = (uint64_t)(int64_t)i->n;
    int type = i->v.type;
    if (to_y || i->verb == DYNC__A_GET || (i->verb >= DYNC__A_ADD && i->verb <= DYNC__A_ADD_TO))
        y = (uint64_t)text_word(text_general(m, i->y));
    uint64_t to = (uint64_t)m->g[i->to & 15];
    switch (i->verb) {
    case DYNC__A_SET: to = n; break;
    case DYNC__A_GET: to = y; break;
    case DYNC__A_GET_AS:
        to = 0;
        memcpy(&to, text_general(m, i->y), dync__dtype_info(type)->bytes);
        if (type == DYNC_I8) to = (uint64_t)(int8_t)to;
        if (type == DYNC_I16) to = (uint64_t)(int16_t)to;
        if (type == DYNC_I32) to = (uint64_t)(int32_t)to;
        break;
    case DYNC__A_PUT: text_put(text_general(m, i->y), m->g[i->x]); return;
    case DYNC__A_PUT_AS:
        memcpy(text_general(m, i->y), &m->g[i->x], dync__dtype_info(type)->bytes);
        return;
    case DYNC__A_ADDRESS: to = (uint64_t)(intptr_t)text_address(m, i->y); break;
    case DYNC__A_ADD: to += y; break;
    case DYNC__A_SUB: to -= y; break;
    case DYNC__A_MUL: to *= y; break;
    case DYNC__A_ADD_TO:
        text_put(text_general(m, i->y), (int64_t)(y + (uint64_t)m->g[i->x]));
        return;
    case DYNC__A_ADD_N: y += n; break;
    case DYNC__A_SUB_N: y -= n; break;
    case DYNC__A_AND_N: y &= n; break;
    case DYNC__A_SHL_N: y <<= n; break;
    case DYNC__A_SHR_N: y >>= n; break;
    case DYNC__A_ONES: to = to != 0 ? 0xffffffffu : 0; break;
    case DYNC__A_DIVIDE: text_divide(m, i->op == DYNC__P_rem); return;
    default: return; /* PREFETCH */
    }
    if (to_y)
        text_put(text_general(m, i->y), (int64_t)y);
    else
        m->g[i->to] = (int64_t)to;
}

static bool text_is(int op, int64_t x, int64_t y)
{
    return op == DYNC__IF_LT   ? x < y
           : op == DYNC__IF_LE ? x <= y
           : op == DYNC__IF_EQ ? x == y
           : op == DYNC__IF_NE ? x != y
           : op == DYNC__IF_GE ? x >= y
                               : x > y;
}

static void text_jump(text_machine *m, const dync__ins *i)
{
    bool go = true;
    uint8_t *y = text_general(m, i->y);
    switch (i->verb) {
    case DYNC__A_JUMP: break;
    case DYNC__A_JUMP_IF: go = text_is(i->op, m->g[i->x], text_word(y)); break;
    case DYNC__A_JUMP_IF_N: go = text_is(i->op, text_word(y), i->n); break;
    case DYNC__A_SUB_JUMP:
    case DYNC__A_ADD_JUMP:
        text_put(y, text_word(y) + (i->verb == DYNC__A_ADD_JUMP ? i->n : -i->n));
        go = text_is(i->op, text_word(y), 0);
        break;
    case DYNC__A_LESS_JUMP: go = text_is(i->op, m->g[i->to] -= text_word(y), 0); break;
    case DYNC__A_TEST_JUMP: go = text_is(i->op, m->g[i->x] & i->n, 0); break;
    default: /* MASK_JUMP */
        for (int l = 0; l < i->v.lanes; l++) go &= !text_holds(m, i->x, l, 4);
        m->g[DYNC__G_T0] = TEXT_NONSENSE;
    }
    if (go) m->next = i->label;
}

static void text_frame(text_machine *m, const dync__ins *i)
{
    if (i->verb == DYNC__A_FRAME_IN) {
        m->frame_bytes = text_word(text_general(m, i->y));
        int64_t old = m->g[DYNC__G_FRAME];
        size_t bytes = (size_t)m->frame_bytes + 2 * TEXT_GUARD + 64;
        m->stack = malloc(bytes);
        memset(m->stack, TEXT_NONSENSE, bytes);
        m->frame = m->stack + TEXT_GUARD;
        m->frame += 64 - (uintptr_t)m->frame % 64;
        m->g[DYNC__G_FRAME] = (int64_t)(intptr_t)m->frame;
        text_put(m->frame + i->n, old);
        m->g[DYNC__G_T0] = TEXT_NONSENSE;
        return;
    }
    m->g[DYNC__G_FRAME] = text_word(m->frame + i->n);
    for (int b = 0; b < TEXT_GUARD; b++)
        if (m->frame[-1 - b] != TEXT_NONSENSE || m->frame[m->frame_bytes + b] != TEXT_NONSENSE) {
            text_complain(m, "a write beside the frame");
            break;
        }
    free(m->stack);
}

static void text_control(text_machine *m, const dync__ins *i)
{
    if (i->verb == DYNC__A_LEAVE)
        m->next = -1;
    else if (i->verb == DYNC__A_FRAME_IN || i->verb == DYNC__A_FRAME_OUT)
        text_frame(m, i);
    else if (i->verb != DYNC__A_LABEL && i->verb != DYNC__A_ENTER)
        text_jump(m, i);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static bool text_in_mask(const text_machine *m, const dync__ins *i)
{
    return i->v.type == DYNC_BOOL && m->p->t->n_masks;
}

/* What stands where TAIL put it: two bytes of a mask, or lanes, those of 8 bytes DYNC__A_TAIL_BYTES
 * further on. */
static void text_tail(text_machine *m, const dync__ins *i)
{
    int64_t left = text_word(text_address(m, i->y));
    if (left != m->g[DYNC__G_END]) text_complain(m, "END and memory differ");
    for (int u = 0; u < i->n; u++) {
        uint8_t *at = m->frame + i->m + 64 * u;
        uint16_t bits = 0;
        for (int l = 0; l < i->v.lanes; l++) {
            bool is = u * i->v.lanes + l < left;
            bits |= (uint16_t)(is << l);
            if (m->p->t->n_masks) continue;
            memset(at + 4 * l, is ? 0xff : 0, 4);
            if (i->v.type == DYNC_I64) memset(at + DYNC__A_TAIL_BYTES + 8 * l, is ? 0xff : 0, 8);
        }
        if (m->p->t->n_masks) memcpy(at, &bits, sizeof bits);
    }
    m->g[DYNC__G_T0] = m->g[DYNC__G_T1] = TEXT_NONSENSE;
}

static const uint8_t *text_tail_at(const uint8_t *at, const text_machine *m, int type)
{
    return at + (!m->p->t->n_masks && text_size(type) == 8 ? DYNC__A_TAIL_BYTES : 0);
}

static void text_tail_get(text_machine *m, const dync__ins *i)
{
    const uint8_t *at = text_tail_at(text_address(m, i->y), m, i->v.type);
    if (m->p->t->n_masks)
        memcpy(&m->k[i->to], at, 2);
    else
        text_set(m, i->to, at, i->v.lanes * text_size(i->v.type));
}

static void text_part(text_machine *m, const dync__ins *i)
{
    bool load = i->verb == DYNC__A_LOAD_PART;
    int bytes = dync__dtype_info(i->v.type)->bytes;
    uint8_t *memory = text_address(m, i->y), to[TEXT_WIDEST] = {0};
    for (int l = 0; l < i->v.lanes; l++)
        if (text_holds(m, i->z, l, bytes == 8 ? 8 : 4))
            memcpy(load ? to + l * bytes : memory + l * bytes,
                   load ? memory + l * bytes : m->v[i->x] + l * bytes, (size_t)bytes);
    if (load) text_set(m, i->to, to, i->v.lanes * bytes);
}

/* Is lane l one of those that an operand z of 0 (all), or a mask register, leaves? */
static bool text_under(text_machine *m, int z, int l)
{
    if (z && !m->p->t->n_masks) text_complain(m, "a mask register of a target without");
    return z == 0 || !m->p->t->n_masks || m->k[z] >> l & 1;
}

/* Elements of dtype n to lanes, or back. */
static void text_widen(text_machine *m, const dync__ins *i)
{
    const uint8_t *from = text_vector(m, i->y);
    int type = i->v.type, bytes = dync__dtype_info(i->n)->bytes;
    uint8_t to[TEXT_WIDEST];
    uint32_t bits = 0;
    for (int l = 0; l < i->v.lanes; l++) {
        const uint8_t *e = from + l * bytes;
        dync__scalar x;
        memset(&x, 0, sizeof x);
        if (!text_under(m, i->z, l))
            memset(to + l * text_size(type), 0, (size_t)text_size(type));
        else if (i->n == DYNC_BOOL)
            bits |= (uint32_t)(*e != 0) << l;
        else if (i->n == type)
            memcpy(to + l * bytes, e, (size_t)bytes);
        else if (type == DYNC_F32)
            text_lane_to(to, type, l, dync__eval_f32((float)dync__load_f64(e, i->n)));
        else
            x.i = dync__load_i64(e, i->n) & (i->op ? 0xffff : -1), text_lane_to(to, type, l, x);
    }
    if (i->n == DYNC_BOOL)
        text_set_mask(m, i->to, bits, i->v.lanes, 4);
    else
        text_set(m, i->to, to, i->v.lanes * text_size(type));
}

static void text_narrow(text_machine *m, const dync__ins *i)
{
    int type = i->v.type, bytes = dync__dtype_info(i->n)->bytes;
    uint8_t to[TEXT_WIDEST];
    if (i->to == i->x && i->n != DYNC_BOOL) text_complain(m, "to is x");
    for (int l = 0; l < i->v.lanes; l++) {
        uint8_t *e = to + l * bytes;
        if (i->n == DYNC_BOOL)
            *e = text_holds(m, i->x, l, 4);
        else if (type == DYNC_F32)
            dync__store_f64(e, i->n, (double)text_lane(m->v[i->x], type, l).f);
        else
            dync__store_i64(e, i->n, text_lane(m->v[i->x], type, l).i);
    }
    text_set(m, i->to, to, i->v.lanes * bytes);
}

static void text_memory(text_machine *m, const dync__ins *i)
{
    int bytes = text_size(i->v.type), stored = i->v.lanes * bytes;
    uint8_t to[TEXT_WIDEST] = {0};
    switch (i->verb) {
    case DYNC__A_LOAD:
        if (text_in_mask(m, i))
            memcpy(&m->k[i->to], i->y.is_mem ? text_address(m, i->y) : (uint8_t *)&m->k[i->y.reg],
                   2);
        else
            text_set(m, i->to, text_vector(m, i->y), stored);
        break;
    case DYNC__A_STORE:
        if (text_in_mask(m, i))
            memcpy(text_address(m, i->y), &m->k[i->x], 2);
        else if (stored > m->p->t->vector_bytes)
            text_complain(m, "wider than the target's vectors");
        else
            memcpy(text_address(m, i->y), m->v[i->x], (size_t)stored);
        break;
    case DYNC__A_SPREAD:
        for (int l = 0; l < i->v.lanes; l++)
            memcpy(to + l * bytes, text_vector(m, i->y), (size_t)bytes);
        text_set(m, i->to, to, stored);
        break;
    case DYNC__A_FIRST:
        memcpy(to, text_general(m, i->y), (size_t)bytes);
        text_set(m, i->to, to, 16);
        break;
    case DYNC__A_FIRST_TO:
        if (!i->y.is_mem) m->g[i->y.reg] = 0;
        memcpy(text_general(m, i->y), m->v[i->x], (size_t)bytes);
        break;
    case DYNC__A_INSERT:
        bytes = dync__dtype_info(i->v.type)->bytes;
        memcpy(to, m->v[i->to], 16);
        memcpy(to + i->n * bytes, text_address(m, i->y), (size_t)bytes);
        text_set(m, i->to, to, 16);
        break;
    case DYNC__A_ZERO: text_set(m, i->to, to, stored); break;
    case DYNC__A_TAIL: text_tail(m, i); break;
    case DYNC__A_TAIL_GET: text_tail_get(m, i); break;
    case DYNC__A_WIDEN: text_widen(m, i); break;
    case DYNC__A_NARROW: text_narrow(m, i); break;
    default: text_part(m, i);
    }
}

/* ---- arithmetic ------------------------------------------------------------------------------ */

static dync__scalar text_op2(int op, int type, dync__scalar a, dync__scalar b)
{
    int less = op == DYNC__O_CLAMP_MAX || op == DYNC__O_CLAMP_MIN;
    dync__scalar r = {0};
    if (less) { /* b < a ? a : b, a < b ? a : b */
        bool most = op == DYNC__O_CLAMP_MAX;
        dync__scalar low = most ? b : a, high = most ? a : b;
        return dync__prim_eval(DYNC__P_lt, DYNC_BOOL, type, low, high, a, 0).i ? a : b;
    }
    if (op == DYNC__O_MUL32) {
        r.i = (int64_t)((uint64_t)(uint32_t)a.i * (uint32_t)b.i);
        return r;
    }
    if (op == DYNC__O_LSR) {
        int bits = 8 * text_size(type);
        uint64_t x = bits == 32 ? (uint32_t)a.i : (uint64_t)a.i;
        return dync__eval_int(type, b.i < 0 || b.i >= bits ? 0 : x >> b.i);
    }
    bool compares = op >= DYNC__P_lt && op <= DYNC__P_ne;
    return dync__prim_eval(op, compares ? DYNC_BOOL : type, type, a, b, a, 0);
}

/* BOOL in mask registers: as lanes, and back. */
static const uint8_t *text_lanes_of(text_machine *m, const dync__ins *i, int reg, uint8_t *room)
{
    if (!text_in_mask(m, i)) return m->v[reg];
    for (int l = 0; l < i->v.lanes; l++) memset(room + 4 * l, m->k[reg] >> l & 1 ? 0xff : 0, 4);
    return room;
}

static void text_result(text_machine *m, const dync__ins *i, const uint8_t *to)
{
    uint32_t bits = 0;
    for (int l = 0; l < i->v.lanes && text_in_mask(m, i); l++)
        bits |= (uint32_t)(to[4 * l] != 0) << l;
    if (text_in_mask(m, i))
        text_set_mask(m, i->to, bits, i->v.lanes, 4);
    else
        text_set(m, i->to, to, i->v.lanes * text_size(i->v.type));
}

/* The last operand y, as lanes. */
static const uint8_t *text_last(text_machine *m, const dync__ins *i, uint8_t *room)
{
    return i->y.is_mem ? text_address(m, i->y) : text_lanes_of(m, i, i->y.reg, room);
}

static void text_shift16(text_machine *m, const dync__ins *i)
{
    uint8_t to[TEXT_WIDEST];
    if (i->verb != DYNC__A_SHIFT) text_complain(m, "lanes of I16 are but shifted");
    for (int l = 0; l < i->v.lanes && 2 * l < TEXT_WIDEST; l++) {
        uint16_t x;
        memcpy(&x, m->v[i->x] + 2 * l, 2);
        int by = i->n, is = (int16_t)x;
        x = (uint16_t)(i->op == DYNC__P_shl   ? x << by
                       : i->op == DYNC__P_shr ? (is < 0 ? ~(~is >> by) : is >> by)
                                              : x >> by);
        memcpy(to + 2 * l, &x, 2);
    }
    text_set(m, i->to, to, 2 * i->v.lanes);
}

/* DOT and PAIRS: sums of products within a lane of 4 bytes. */
static void text_dots(text_machine *m, const dync__ins *i)
{
    bool pairs = i->verb == DYNC__A_PAIRS, floats = !pairs && i->n == DYNC_BF16;
    uint8_t to[TEXT_WIDEST];
    int how = m->p->t->dot(m->p->t, pairs ? DYNC_U8 : i->n);
    if (how != (pairs ? DYNC__DOT_PAIRS : DYNC__DOT_ONE)) text_complain(m, "no such product");
    if (i->v.type != (floats ? DYNC_F32 : DYNC_I32)) text_complain(m, "sums of this type");
    for (int l = 0; l < i->v.lanes && 4 * l < TEXT_WIDEST; l++) {
        dync__scalar c = text_lane(m->v[i->to], i->v.type, l);
        const uint8_t *x = m->v[i->x] + 4 * l, *y = text_vector(m, i->y) + 4 * l;
        int64_t sum = pairs ? 0 : c.i;
        double real = floats ? (double)c.f : 0;
        for (int e = 0; text_under(m, i->z, l) && e < (pairs || floats ? 2 : 4); e++)
            if (floats)
                real += dync__load_f64(x + 2 * e, DYNC_BF16) * dync__load_f64(y + 2 * e, DYNC_BF16);
            else if (pairs)
                sum += dync__load_i64(x + 2 * e, DYNC_I16) * dync__load_i64(y + 2 * e, DYNC_I16);
            else
                sum += dync__load_i64(x + e, DYNC_U8) * dync__load_i64(y + e, DYNC_I8);
        if (floats)
            c.f = (float)real;
        else
            c.i = sum;
        text_lane_to(to, i->v.type, l, c);
    }
    text_set(m, i->to, to, 4 * i->v.lanes);
}

static void text_arithmetic(text_machine *m, const dync__ins *i)
{
    uint8_t to[TEXT_WIDEST], rooms[3][TEXT_WIDEST];
    int type = i->v.type;
    bool one = i->verb == DYNC__A_OP1 || i->verb == DYNC__A_CONVERT,
         part = i->verb == DYNC__A_OP2_PART, shifts = i->verb == DYNC__A_SHIFT;
    const uint8_t *x = one ? NULL : text_lanes_of(m, i, i->x, rooms[0]),
                  *y = part || shifts ? NULL : text_last(m, i, rooms[1]),
                  *z = text_lanes_of(m, i, i->to, rooms[2]);
    if (i->v.lanes * text_size(type) > TEXT_WIDEST) {
        text_complain(m, "wider than the target's vectors");
        return;
    }
    if (type == DYNC_I16) {
        text_shift16(m, i);
        return;
    }
    for (int l = 0; l < i->v.lanes; l++) {
        bool under = i->verb != DYNC__A_FMA || text_under(m, i->z, l);
        dync__scalar a = x ? text_lane(x, type, l) : (dync__scalar){0},
                     b = y && under ? text_lane(y, type, l) : (dync__scalar){0},
                     c = text_lane(z, type, l), r = c;
        if (shifts) b.i = i->n;
        if (i->verb == DYNC__A_OP1)
            r = dync__prim_eval(i->op, type, type, b, b, b, i->n);
        else if (part && text_holds(m, i->z, l, text_size(type)))
            r = text_op2(i->op, type, c, a);
        else if (i->verb == DYNC__A_OP2 || shifts)
            r = text_op2(i->op, type, a, b);
        else if (i->verb == DYNC__A_FMA && under)
            r = dync__prim_eval(DYNC__P_fma, type, type, a, b, c, 0);
        else if (i->verb == DYNC__A_MAD)
            r = dync__prim_eval(DYNC__P_fma, type, type, a, c, b, 0);
        text_lane_to(to, type, l, r);
    }
    text_result(m, i, to);
}

static void text_convert(text_machine *m, const dync__ins *i)
{
    uint8_t to[TEXT_WIDEST], room[TEXT_WIDEST];
    dync__ins from = *i;
    from.v.type = (uint8_t)i->n;
    const uint8_t *y = text_last(m, &from, room);
    for (int l = 0; l < i->v.lanes; l++) {
        dync__scalar x = text_lane(y, i->n, l);
        if (i->n != i->v.type) x = dync__prim_eval(DYNC__P_cast, i->v.type, i->n, x, x, x, 0);
        text_lane_to(to, i->v.type, l, x);
    }
    text_result(m, i, to);
}

/* ---- masks ----------------------------------------------------------------------------------- */

static bool text_compared(const dync__ins *i, dync__scalar a, dync__scalar b)
{
    static const uint8_t prims[] = {DYNC__P_lt, DYNC__P_le, DYNC__P_eq,
                                    DYNC__P_ne, DYNC__P_le, DYNC__P_lt};
    int type = i->v.type;
    if (i->verb == DYNC__A_COMPARE_BOOL) return text_op2(i->op, type, a, b).i != 0;
    if (i->op >= DYNC__IF_ORD) {
        bool ord = text_op2(DYNC__P_eq, type, a, a).i && text_op2(DYNC__P_eq, type, b, b).i;
        return ord == (i->op == DYNC__IF_ORD);
    }
    bool back = i->op >= DYNC__IF_GE;
    return text_op2(prims[i->op], type, back ? b : a, back ? a : b).i != 0;
}

static void text_compare(text_machine *m, const dync__ins *i)
{
    uint32_t bits = 0;
    int bytes = text_size(i->v.type);
    const uint8_t *y = text_vector(m, i->y), *tail = text_tail_at(m->frame + i->n, m, i->v.type);
    for (int l = 0; l < i->v.lanes; l++) {
        bool is = text_compared(i, text_lane(m->v[i->x], i->v.type, l), text_lane(y, i->v.type, l));
        if (i->verb == DYNC__A_COMPARE_AND) is &= text_holds(m, i->z, l, bytes);
        if (i->verb == DYNC__A_COMPARE_PART)
            is &= m->p->t->n_masks ? tail[l / 8] >> l % 8 & 1 : tail[l * bytes] != 0;
        bits |= (uint32_t)is << l;
    }
    if (i->verb == DYNC__A_COMPARE_AND && !m->p->t->n_masks && i->n != i->to)
        memset(m->v[i->n], TEXT_NONSENSE, TEXT_WIDEST);
    text_set_mask(m, i->to, bits, i->v.lanes, i->verb == DYNC__A_COMPARE_BOOL ? 4 : bytes);
}

static void text_choose(text_machine *m, const dync__ins *i)
{
    int bytes = text_size(i->v.type);
    uint8_t to[TEXT_WIDEST] = {0};
    const uint8_t *y = i->verb == DYNC__A_CLEAR ? to : text_vector(m, i->y),
                  *x = m->v[i->verb == DYNC__A_SELECT ? i->x : i->to];
    uint8_t zeros[TEXT_WIDEST] = {0};
    if (i->verb == DYNC__A_CLEAR) y = zeros;
    for (int l = 0; l < i->v.lanes; l++)
        memcpy(to + l * bytes, (text_holds(m, i->z, l, bytes) ? y : x) + l * bytes, (size_t)bytes);
    text_set(m, i->to, to, i->v.lanes * bytes);
}

static void text_mask(text_machine *m, const dync__ins *i)
{
    uint32_t bits = 0, all = (uint32_t)((UINT64_C(1) << i->v.lanes) - 1);
    switch (i->verb) {
    case DYNC__A_MASK_SET: bits = i->n ? all : 0; break;
    case DYNC__A_MASK_FROM:
        bits = m->p->t->n_masks ? (uint32_t)m->g[i->x] & all : m->g[i->x] >> 31 & 1 ? all : 0;
        break;
    case DYNC__A_MASK_OF:
        for (int l = 0; l < i->v.lanes; l++) bits |= (uint32_t)(m->v[i->x][4 * l + 3] >> 7) << l;
        break;
    default: /* MASK_WIDEN */
        for (int l = 0; l < i->v.lanes; l++)
            bits |= (uint32_t)(text_lane(text_vector(m, i->y), DYNC_BOOL, l).i != 0) << l;
    }
    text_set_mask(m, i->to, bits, i->v.lanes, i->verb == DYNC__A_MASK_WIDEN ? 8 : 4);
}

/* ---- between lanes --------------------------------------------------------------------------- */

static void text_pick(text_machine *m, const dync__ins *i)
{
    int words = i->v.lanes * text_size(i->v.type) / 4;
    uint8_t to[TEXT_WIDEST];
    const uint8_t *y = text_vector(m, i->y);
    for (int w = 0; w < words; w++) {
        int at = (int)text_lane(m->v[i->z], DYNC_I32, w).i & (2 * words - 1);
        const uint8_t *from = i->to == i->z || at >= words ? y : m->v[i->to];
        memcpy(to + 4 * w, from + 4 * (at & (words - 1)), 4);
    }
    text_set(m, i->to, to, 4 * words);
}

/* ZIP, BYTES, PIECES: what goes on in every 16 bytes. */
static void text_shuffle(text_machine *m, const dync__ins *i)
{
    int bytes = dync__dtype_info(i->v.type)->bytes, all = i->v.lanes * bytes, per = 16 / bytes;
    const uint8_t *x = m->v[i->x], *y = text_vector(m, i->y);
    uint8_t to[TEXT_WIDEST];
    if (i->verb == DYNC__A_PIECES && all != 64) text_complain(m, "not four pieces");
    for (int b = 0; b < all; b++) {
        int l = b % 16 / bytes, piece = b & ~15, number = i->n >> b / 16 * 2 & 3;
        if (i->verb == DYNC__A_ZIP)
            to[b] = (l % 2 ? y : x)[piece + (i->n * per / 2 + l / 2) * bytes + b % bytes];
        else if (i->verb == DYNC__A_BYTES)
            to[b] = y[b] >= 128 ? 0 : x[piece + y[b] % 16];
        else
            to[b] = (b < 32 ? x : y)[16 * number + b % 16];
    }
    text_set(m, i->to, to, all);
}

static void text_between(text_machine *m, const dync__ins *i)
{
    int bytes = text_size(i->v.type), n = i->v.lanes, some = i->m == 32 ? 32 : 16;
    uint8_t to[TEXT_WIDEST];
    const uint8_t *x = m->v[i->x];
    memset(to, TEXT_NONSENSE, sizeof to);
    switch (i->verb) {
    case DYNC__A_DOWN:
        memcpy(to, x + i->n * bytes, (size_t)(16 - i->n * bytes));
        text_set(m, i->to, to, 16);
        break;
    case DYNC__A_HALF: text_set(m, i->to, x + n * bytes / 2, n * bytes / 2); break;
    case DYNC__A_JOIN:
        memcpy(to, x, (size_t)(n * bytes));
        memcpy(to + i->n * some, text_vector(m, i->y), (size_t)some);
        text_set(m, i->to, to, n * bytes);
        break;
    case DYNC__A_UP:
        for (int l = 0; l < n; l++) {
            const uint8_t *low = i->z >= 0 ? m->v[i->z] + (n + l - i->n) * bytes : NULL;
            if (l >= i->n)
                memcpy(to + l * bytes, x + (l - i->n) * bytes, (size_t)bytes);
            else if (low)
                memcpy(to + l * bytes, low, (size_t)bytes);
            else
                memset(to + l * bytes, 0, (size_t)bytes);
        }
        text_set(m, i->to, to, n * bytes);
        break;
    case DYNC__A_REVERSE:
        for (int l = 0; l < n; l++)
            memcpy(to + l * bytes, m->v[i->to] + (n - 1 - l) * bytes, (size_t)bytes);
        text_set(m, i->to, to, n * bytes);
        break;
    case DYNC__A_PICK: text_pick(m, i); break;
    case DYNC__A_PIECE_TO: memcpy(text_address(m, i->y), x + 16 * i->n, 16); break;
    default: text_shuffle(m, i);
    }
}

/* ---- a run ----------------------------------------------------------------------------------- */

static void text_step(text_machine *m, const dync__ins *i)
{
    if (i->verb <= DYNC__A_PREFETCH)
        text_number(m, i);
    else if (i->verb <= DYNC__A_FRAME_OUT)
        text_control(m, i);
    else if (i->verb <= DYNC__A_NARROW)
        text_memory(m, i);
    else if (i->verb == DYNC__A_CONVERT)
        text_convert(m, i);
    else if (i->verb == DYNC__A_DOT || i->verb == DYNC__A_PAIRS)
        text_dots(m, i);
    else if (i->verb <= DYNC__A_MAD)
        text_arithmetic(m, i);
    else if (i->verb <= DYNC__A_COMPARE_AND)
        text_compare(m, i);
    else if (i->verb <= DYNC__A_CLEAR)
        text_choose(m, i);
    else if (i->verb <= DYNC__A_MASK_FROM)
        text_mask(m, i);
    else
        text_between(m, i);
}

static void text_run(int64_t *args, const text_program *p)
{
    text_machine m;
    memset(&m, TEXT_NONSENSE, sizeof m);
    m.p = p;
    m.g[DYNC__G_ARGS] = (int64_t)(intptr_t)args;
    for (int at = 0; at >= 0 && at < p->n; at = m.next) {
        m.i = &p->ins[at];
        m.next = at + 1;
        text_executed[m.i->verb]++;
        text_step(&m, m.i);
    }
    if (m.next != -1) text_complain(&m, "the lines end without a return");
}
#endif
