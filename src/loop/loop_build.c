/* loop/loop_build.c: the builder of kernels: one function per shape of instruction, equal values
 * shared. After loop.c. */
#include "../dync.in.h"
#include "loop.h"
DYNC__LEAN

/* ---- sharing equal values -------------------------------------------------------------------- */

/* The chain in which a value equal to `in` stands: everything that makes two equal is in it. */
DYNC__BUSY static inline int dync__lb_chain(const dync__kernel *k, const dync__inst *in)
{
    uint64_t odd = UINT64_C(0x9e3779b97f4a7c15), h = in->prim | (uint64_t)in->type << 8;
    for (int i = 0; i < 3; i++) h = (h ^ (uint64_t)(uint32_t)in->arg[i]) * odd;
    h = (h ^ ((uint64_t)(uint32_t)in->buf << 32 | (uint32_t)in->access)) * odd;
    h = (h ^ (uint64_t)in->imm.i ^ h >> 32) * odd;
    return (int)(h >> 56) % DYNC__COUNT_OF(k->share.head);
}

DYNC__BUSY static inline bool dync__lb_equal(const dync__inst *a, const dync__inst *b)
{
    return a->prim == b->prim && a->arg[0] == b->arg[0] && a->arg[1] == b->arg[1] &&
           a->arg[2] == b->arg[2] && a->type == b->type && a->buf == b->buf &&
           a->access == b->access && a->imm.i == b->imm.i;
}

/* Brings the chains up to date; others may have appended to or replaced k->inst meanwhile. */
DYNC__BUSY static bool dync__lb_chains(dync__kernel *k)
{
    if (k->share.next.n > k->inst.n) {
        memset(k->share.head, 0, sizeof k->share.head);
        k->share.next.n = 0;
    }
    while (k->share.next.n < k->inst.n) {
        int i = k->share.next.n;
        int32_t *head = &k->share.head[dync__lb_chain(k, &k->inst.at[i])];
        if (!dync__avec_push(k->arena, &k->share.next, *head)) return false;
        *head = i + 1;
    }
    return true;
}

/* May the value of `in`, made in section `from`, be used in section `to`? */
static bool dync__lb_visible(const dync__inst *in, int to, bool across)
{
    int from = in->section;
    if (from == to) return in->prim != DYNC__P_reduce || (from & 1) == 0;
    if (from > to) return false;
    return (from & 1) == 0 || in->prim == DYNC__P_reduce || (across && (to & 1));
}

DYNC__BUSY static bool dync__lb_stored_since(const dync__kernel *k, int buf, int i)
{
    for (int j = i + 1; j < k->inst.n; j++)
        if (!dync__inst_has_value(&k->inst.at[j]) && k->inst.at[j].buf == buf) return true;
    return false;
}

DYNC__BUSY static int dync__lb_find(const dync__kernel *k, int chain, const dync__inst *in,
                                    int section, bool across)
{
    for (int i = k->share.head[chain] - 1; i >= 0; i = k->share.next.at[i] - 1) {
        const dync__inst *old = &k->inst.at[i];
        if (!dync__lb_equal(old, in)) continue;
        /* a reduce of the same operand in the same phase is the same reduce */
        bool same_reduce = in->prim == DYNC__P_reduce && old->section == section;
        if (!same_reduce && !dync__lb_visible(old, section, across)) continue;
        if (in->buf >= 0 && dync__lb_stored_since(k, in->buf, i)) continue;
        return i;
    }
    return -1;
}

/* As share, for what has all its operands, its origin and its section. */
DYNC__BUSY DYNC__FN int dync__lb_again(dync__kernel *k, const dync__inst *in, bool across)
{
    if (k->failed || (k->share.next.n != k->inst.n && !dync__lb_chains(k)))
        return k->failed = true, -1;
    int chain = dync__lb_chain(k, in);
    bool value = in->prim != DYNC__P_store && in->prim != DYNC__P_storex;
    int found = value ? dync__lb_find(k, chain, in, in->section, across) : -1;
    if (found >= 0) return found;
    if (!dync__avec_push(k->arena, &k->inst, *in) ||
        !dync__avec_push(k->arena, &k->share.next, k->share.head[chain]))
        return k->failed = true, -1;
    k->share.head[chain] = k->inst.n;
    k->uses_random |= in->prim == DYNC__P_random;
    return k->inst.n - 1;
}

DYNC__BUSY DYNC__FN int dync__lb_share(dync__lb *b, const dync__inst *in, bool across)
{
    int n_args = dync__prim_info(in->prim)->n_args;
    for (int i = 0; i < n_args; i++)
        if (in->arg[i] < 0) b->k->failed = true;
    dync__inst copy = *in;
    copy.section = (int16_t)b->section;
    if (!copy.origin) copy.origin = b->origin;
    return dync__lb_again(b->k, &copy, across);
}

/* ---- one function per shape of instruction --------------------------------------------------- */

DYNC__FN int dync__lb_type(const dync__lb *b, int value)
{
    return value >= 0 && value < b->k->inst.n ? b->k->inst.at[value].type : DYNC_F32;
}

static int dync__lb_bad(dync__lb *b, const char *what, int prim)
{
    if (!b->k->failed)
        dync__fail(DYNC_ERR_INTERNAL, "kernel %s: %s: %s", b->k->name, dync__prim_info(prim)->name,
                   what);
    b->k->failed = true;
    return -1;
}

DYNC__FN int dync__lb_op(dync__lb *b, int prim, int a, int second, int third)
{
    const dync__prim_row *row = dync__prim_info(prim);
    if (!dync__prim_is_pure(prim) || row->result == 'T')
        return dync__lb_bad(b, "has a builder call of its own", prim);
    int type = row->result == 'B' ? DYNC_BOOL
                                  : dync__lb_type(b, prim == DYNC__P_select ? second : a);
    dync__inst in =
        dync__inst_make(prim, type, a, row->n_args > 1 ? second : -1, row->n_args > 2 ? third : -1);
    return dync__lb_add(b, &in);
}

DYNC__FN int dync__lb_f(dync__lb *b, int type, double x)
{
    dync__inst in = dync__inst_make(DYNC__P_const_, type, -1, -1, -1);
    in.imm.f = x;
    if (type == DYNC_F32 && !dync__inst_is_sized(&in)) in.imm.f = (double)(float)x;
    /* NaN is one value: by bits, as the user's flags may have abolished it */
    if (((uint64_t)in.imm.i & 0x7fffffffffffffffu) > 0x7ff0000000000000u)
        in.imm.i = 0x7ff8000000000000;
    return dync__lb_share(b, &in, false);
}

DYNC__FN int dync__lb_i(dync__lb *b, int type, int64_t x)
{
    dync__inst in = dync__inst_make(DYNC__P_const_, type, -1, -1, -1);
    in.imm.i = type == DYNC_BOOL  ? x != 0
               : type == DYNC_I32 ? (int64_t)(int32_t)(uint32_t)(uint64_t)x
                                  : x;
    return dync__lb_share(b, &in, false);
}

static int dync__lb_memory(dync__lb *b, int prim, int buf, int access, int value, int index)
{
    if (b->k->failed || buf < 0 || access < 0 || buf >= b->k->buf.n || access >= b->k->access.n)
        return dync__lb_bad(b, "no such buffer or access", prim);
    dync__inst in =
        dync__inst_make(prim, dync__dtype_info(b->k->buf.at[buf].dtype)->compute, value, index, -1);
    in.buf = buf;
    in.access = access;
    return dync__lb_add(b, &in);
}

DYNC__FN int dync__lb_load(dync__lb *b, int buf, int access)
{
    return dync__lb_memory(b, DYNC__P_load, buf, access, -1, -1);
}

DYNC__FN int dync__lb_loadx(dync__lb *b, int buf, int access, int index)
{
    return dync__lb_memory(b, DYNC__P_loadx, buf, access, index, -1);
}

DYNC__FN int dync__lb_store(dync__lb *b, int buf, int access, int value)
{
    return dync__lb_memory(b, DYNC__P_store, buf, access, value, -1);
}

DYNC__FN int dync__lb_storex(dync__lb *b, int buf, int access, int value, int index)
{
    return dync__lb_memory(b, DYNC__P_storex, buf, access, value, index);
}

DYNC__FN int dync__lb_index(dync__lb *b, int access)
{
    if (b->k->failed || access < 0 || access >= b->k->access.n)
        return dync__lb_bad(b, "no such access", DYNC__P_index);
    dync__inst in = dync__inst_make(DYNC__P_index, DYNC_I64, -1, -1, -1);
    in.access = access;
    return dync__lb_add(b, &in);
}

DYNC__FN int dync__lb_cast(dync__lb *b, int a, int type)
{
    if (a < 0 || dync__lb_type(b, a) == type) return a;
    dync__inst in = dync__inst_make(DYNC__P_cast, type, a, -1, -1);
    return dync__lb_add(b, &in);
}

DYNC__FN int dync__lb_bitcast(dync__lb *b, int a, int type)
{
    if (a < 0 || dync__lb_type(b, a) == type) return a;
    dync__inst in = dync__inst_make(DYNC__P_bitcast, type, a, -1, -1);
    return dync__lb_add(b, &in);
}

DYNC__FN int dync__lb_wrap(dync__lb *b, int a, int storage_dtype)
{
    if (a < 0 || dync__dtype_info(storage_dtype)->compute == storage_dtype) return a;
    dync__inst in = dync__inst_make(DYNC__P_wrap, dync__lb_type(b, a), a, -1, -1);
    in.imm.i = storage_dtype;
    return dync__lb_add(b, &in);
}

DYNC__FN int dync__lb_reduce(dync__lb *b, int kind, int a)
{
    dync__inst in =
        dync__inst_make(DYNC__P_reduce, dync__reduce_type(kind, dync__lb_type(b, a)), a, -1, -1);
    in.imm.i = kind;
    return dync__lb_share(b, &in, false);
}

DYNC__FN int dync__lb_scan(dync__lb *b, int a)
{
    dync__inst in = dync__inst_make(DYNC__P_scan, dync__lb_type(b, a), a, -1, -1);
    return dync__lb_share(b, &in, false);
}

DYNC__FN int dync__lb_random(dync__lb *b, int index, int type, bool normal)
{
    dync__inst in = dync__inst_make(DYNC__P_random, type, index, -1, -1);
    in.imm.i = normal;
    return dync__lb_share(b, &in, false);
}
