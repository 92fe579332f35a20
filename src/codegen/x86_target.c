/* codegen/x86_target.c: x86-64 as a target of target.h: which verbs it has, in what shape. After
 * x86_lanes.c. */
#include "../dync.in.h"
#include "x86_verbs.h"
DYNC__LEAN
#if DYNC__JIT

static void dync__xe_emit(dync__asm *a, const dync__ins *i)
{
    if (i->verb <= DYNC__A_PREFETCH)
        dync__xe_number(a, i);
    else if (i->verb <= DYNC__A_FRAME_OUT)
        dync__xe_control(a, i);
    else if (i->verb <= DYNC__A_NARROW)
        dync__xe_memory(a, i);
    else
        dync__xe_vectors(a, i);
}

/* ---- what there is --------------------------------------------------------------------------- */

static bool dync__xe_has_part(const dync__target *t, int bytes)
{
    return t->level == 2 || bytes >= 4;
}

static int dync__xe_cast_shape(const dync__target *t, int from, int to)
{
    if (t->level < 2 && dync__xe_is_long(from, to)) return DYNC__SHAPE_LONG;
    if (from == DYNC_BOOL || to == DYNC_BOOL) return DYNC__SHAPE_REGS;
    if ((dync__xe_float(from) && !dync__xe_float(to)) || (from == DYNC_I64 && to == DYNC_I32))
        return DYNC__SHAPE_LONG;
    return DYNC__SHAPE_ONE;
}

static int dync__xe_bool_shape(const dync__target *t, int op)
{
    bool logic = (op >= DYNC__P_lt && op <= DYNC__P_ne) ||
                 (op >= DYNC__P_and_ && op <= DYNC__P_not_);
    if (!logic) return DYNC__SHAPE_NONE;
    if (op == DYNC__P_le || (op == DYNC__P_not_ && t->n_masks)) return DYNC__SHAPE_LONG;
    if (op == DYNC__P_not_ || t->n_masks) return DYNC__SHAPE_REGS;
    return op == DYNC__P_lt ? DYNC__SHAPE_ONE : DYNC__SHAPE_SWAPS;
}

static int dync__xe_shape(const dync__target *t, int op, int type, int to)
{
    int simple = dync__xe_simple(t, op, type);
    if (simple >= 0) return simple;
    if (op == DYNC__P_cast) return dync__xe_cast_shape(t, type, to);
    if (type == DYNC_BOOL) return dync__xe_bool_shape(t, op);
    switch (op) {
    case DYNC__P_lt:
    case DYNC__P_le:
    case DYNC__P_eq:
    case DYNC__P_ne:
        if (t->n_masks || dync__xe_float(type)) return DYNC__SHAPE_ONE;
        return op == DYNC__P_lt ? DYNC__SHAPE_BACK : DYNC__SHAPE_REGS;
    case DYNC__P_neg: return dync__xe_float(type) ? DYNC__SHAPE_REGS : DYNC__SHAPE_LONG;
    case DYNC__P_abs: return dync__xe_float(type) ? DYNC__SHAPE_REGS : DYNC__SHAPE_LONG;
    case DYNC__P_min:
    case DYNC__P_max: return type == DYNC_I64 ? DYNC__SHAPE_NONE : DYNC__SHAPE_LONG;
    case DYNC__P_not_: return DYNC__SHAPE_REGS;
    case DYNC__P_wrap: return to == DYNC_U8 ? DYNC__SHAPE_REGS : DYNC__SHAPE_LONG;
    default: return DYNC__SHAPE_NONE;
    }
}

/* to: of loads and wraps the storage dtype. */
static const char *dync__xe_refuses(const dync__target *t, int op, int type, int to)
{
    bool stores = op == DYNC__P_load || op == DYNC__P_loadx || op == DYNC__P_store ||
                  op == DYNC__P_wrap;
    if (stores && to == DYNC_F16 && !(dync__cpu_features() & DYNC__CPU_F16C))
        return "f16 without F16C";
    if (t->level == 1 && op == DYNC__P_reduce && to == DYNC__R_PROD && type == DYNC_I64)
        return "products of i64";
    return NULL;
}

static int dync__xe_dot(const dync__target *t, int dtype)
{
    unsigned has = dync__cpu_features();
    if (dtype == DYNC_U8) return has & DYNC__CPU_VNNI ? DYNC__DOT_ONE : DYNC__DOT_PAIRS;
    return t->level == 2 && has & DYNC__CPU_BF16 ? DYNC__DOT_ONE : DYNC__DOT_NONE;
}

static const dync__target dync__xe_targets[] = {
    {"avx2", 1, 32, 16, 0, dync__xe_has_part, dync__xe_shape, dync__xe_refuses, dync__xe_dot,
     dync__xe_emit, dync__a_finish, dync__a_write, dync__x_fix},
    {"avx512", 2, 64, 32, 7, dync__xe_has_part, dync__xe_shape, dync__xe_refuses, dync__xe_dot,
     dync__xe_emit, dync__a_finish, dync__a_write, dync__x_fix},
};

static const dync__target *dync__target_other;

DYNC__FN void dync__target_pretend(const dync__target *t) { dync__target_other = t; }
DYNC__FN const dync__target *dync__target_at(int level)
{
    return level == 1 || level == 2 ? &dync__xe_targets[level - 1] : NULL;
}
DYNC__FN const dync__target *dync__target_for(int level)
{
    return dync__target_other ? dync__target_other : dync__target_at(level);
}
#endif

DYNC__OFTEN DYNC__FN int dync__target_level(void)
{
    unsigned has = dync__cpu_features();
    if (!(has & DYNC__CPU_AVX2) || !(has & DYNC__CPU_FMA)) return 0;
    return has & DYNC__CPU_AVX512 ? 2 : 1;
}

#if DYNC__JIT
/* Every product asks a few times. */
DYNC__OFTEN DYNC__FN const dync__target *dync__target_now(void)
{
    int level = dync__target_level();
    if (dync__target_other) return dync__target_other;
    return level ? &dync__xe_targets[level - 1] : NULL;
}
#endif
