/* loop/expand.c: primitives that no generator has, in terms of those that they have. After fuse.c,
 * before all generators.
 *
 * A gather by rows becomes what holds its index inside the table, a product with the distance of
 * rows, and a loadx at that offset which still knows the number of its index. What row code gives
 * is made an offset of there, once a row.
 *
 * A draw of F32 becomes a word (random.i32) made a float, one from the normal distribution (Box and
 * Muller 1958) two words or, of F64, two uniform numbers: the same bits everywhere. It is one
 * primitive until here, as nobody wants to fuse into it. What a store rounds anyway need not be
 * rounded before: operators on f16 and bf16 end so. (GPUs look for the two together.) */
#include "../dync.in.h"
#include "vecmath.h"
DYNC__COLD

static int dync__expand_word(dync__lb *b, int number, int type, int kind)
{
    dync__inst in = dync__inst_make(DYNC__P_random, type, number, -1, -1);
    in.imm.i = kind;
    return dync__lb_share(b, &in, false);
}

/* The upper 24 bits as a number in [0, 1). */
static int dync__expand_uniform(dync__lb *b, int number)
{
    int word = dync__expand_word(b, number, DYNC_I32, DYNC__DRAW_UNIFORM);
    int upper = dync__m_andi(b, dync__m_shrk(b, word, 8), 0xffffff);
    return dync__m_mulk(b, dync__lb_cast(b, upper, DYNC_F32), 0x1p-24);
}

/* log of an F32 in (0, 1] that is no subnormal, to 3e-8 of it beside its rounding. As in
 * vecmath_log.c: x = 2^e (1 + f), log(1 + f) = f + f^2 Q(f). */
static int dync__expand_log(dync__lb *b, int x)
{
    static const double q[] = {-0x1.fffffap-2, 0x1.5556f4p-2, -0x1.00049ap-2, 0x1.98d2bap-3,
                               -0x1.535d2p-3,  0x1.31854cp-3, -0x1.25053p-3,  0x1.65c808p-4};
    const int64_t base = 0x3f3504f3; /* of sqrt(1/2) */
    int i = dync__m_addi(b, dync__m_bits(b, x), -base),
        e = dync__lb_cast(b, dync__m_shrk(b, i, 23), DYNC_F32),
        m = dync__m_addi(b, dync__m_andi(b, i, 0x7fffff), base),
        f = dync__m_addk(b, dync__m_float(b, m), -1.0);
    int near_one = dync__m_fma(b, dync__m_mul(b, f, f), dync__m_poly(b, f, 8, q), f);
    return dync__m_fmak(b, e, 0x1.62e43p-1, near_one);
}

/* sqrt(-2 log(1 - u)) cos(2 pi v) of F64. */
static void dync__expand_wide(dync__lb *b, int first, int second, int *u, int *v)
{
    dync__lb small = *b;
    small.fast_math = true; /* the angle is less than 2 pi */
    *u = dync__vm_log(b, dync__m_sub(b, dync__m_k(b, first, 1.0), first));
    *v = dync__vm_cos_near(&small, dync__m_mulk(b, second, 6.283185307179586476925));
}
/* Linked by who may draw F64. */
static void (*DYNC__BY_NEED dync__expand_wide_used)(dync__lb *b, int first, int second, int *u,
                                                    int *v) = DYNC__AT_FIRST(dync__expand_wide);
DYNC__FN void dync__expand_wide_draws(void)
{
    DYNC__PUT(dync__expand_wide_used, dync__expand_wide);
}

/* Of F32: sqrt(-2 log(u)) sin(2 pi (1/4 - |v|)), u in (0, 1] of 31 bits, v in [-1/2, 1/2) of 24: a
 * sine of at most a quarter turn, minimax. */
static int dync__expand_normal(dync__lb *b, int number, int type)
{
    static const double sine[] = {0x1.921fb6p+2, -0x1.4abbc2p+5, 0x1.4668bp+6, -0x1.324ccap+6,
                                  0x1.3daff6p+5};
    bool wide = type == DYNC_F64;
    int from = wide ? DYNC_F64 : DYNC_I32, u, v,
        first = dync__expand_word(b, number, from, wide ? DYNC__DRAW_UNIFORM : DYNC__DRAW_FIRST),
        second = dync__expand_word(b, number, from, DYNC__DRAW_SECOND);
    if (wide) {
        if (!dync__expand_wide_used) return dync__unlinked("draws of F64"), -1;
        dync__expand_wide_used(b, first, second, &u, &v);
    } else {
        int odd = dync__m_addi(b, dync__m_andi(b, first, 0x7ffffffe), 1);
        u = dync__expand_log(b, dync__m_mulk(b, dync__lb_cast(b, odd, DYNC_F32), 0x1p-31));
        v = dync__m_mulk(b, dync__lb_cast(b, dync__m_shrk(b, second, 8), DYNC_F32), 0x1p-24);
        v = dync__m_sub(b, dync__m_k(b, v, 0.25), dync__m_abs(b, v));
        v = dync__m_mul(b, v, dync__m_poly(b, dync__m_mul(b, v, v), 5, sine));
    }
    return dync__m_mul(b, dync__m_sqrt(b, dync__m_mulk(b, u, -2.0)), v);
}

static int dync__expand_draw_of(dync__lb *b, const dync__inst *in)
{
    return in->imm.i == DYNC__DRAW_NORMAL ? dync__expand_normal(b, in->arg[0], in->type)
                                          : dync__expand_uniform(b, in->arg[0]);
}

/* Linked by who draws. */
static int (*DYNC__BY_NEED dync__expand_draw)(dync__lb *b, const dync__inst *) =
    DYNC__AT_FIRST(dync__expand_draw_of);

/* The value that a store rounds to what it is already. */
static const dync__inst *dync__expand_rounded(const dync__kernel *k, const dync__inst *in)
{
    const dync__inst *value = in->prim == DYNC__P_store ? &k->inst.at[in->arg[0]] : NULL;
    return value && value->prim == DYNC__P_wrap && value->imm.i == k->buf.at[in->buf].dtype ? value
                                                                                            : NULL;
}

static bool dync__expand_draws_it(const dync__inst *in)
{
    return in->prim == DYNC__P_random && (in->type == DYNC_F32 || in->imm.i == DYNC__DRAW_NORMAL);
}

static bool dync__expand_by_rows(const dync__kernel *k, const dync__inst *in)
{
    return in->prim == DYNC__P_loadx && !in->imm.i && k->access.at[in->access].rows > 0;
}

/* The offset of the row whose number is `index`. */
static int dync__expand_offset(dync__lb *b, int index, const dync__access *at)
{
    int zero = dync__lb_i(b, DYNC_I64, 0),
        last = dync__lb_i(b, DYNC_I64, dync__sz_sub(at->rows, 1));
    index = dync__lb_cast(b, index, DYNC_I64);
    index = dync__lb_op(b, DYNC__P_max, zero, dync__lb_op(b, DYNC__P_min, index, last, -1), -1);
    return dync__lb_op(b, DYNC__P_mul, index, dync__lb_i(b, DYNC_I64, at->row_stride), -1);
}

/* Offsets of what later gathers by rows take from instruction i, which is row code. */
static void dync__expand_ahead(dync__lb *b, const dync__kernel *k, int i, int index)
{
    if (k->inst.at[i].section & 1) return;
    for (int g = i + 1; g < k->inst.n; g++)
        if (k->inst.at[g].arg[0] == i && dync__expand_by_rows(k, &k->inst.at[g]))
            dync__expand_offset(b, index, &k->access.at[k->inst.at[g].access]);
}

static dync__kernel *dync__expand_all(dync__arena *arena, const dync__kernel *k, bool stores_round)
{
    dync__kernel *out = dync__kernel_new(arena, k->name, k->n_outer, k->n_dims, k->extent);
    int32_t *number = dync__arena_alloc(arena, (size_t)(k->inst.n + 1) * sizeof *number);
    if (!out || !number) return NULL;
    out->uses_random = k->uses_random;
    out->ordered = k->ordered;
    for (int i = 0; i < k->buf.n; i++)
        if (!dync__avec_push(arena, &out->buf, k->buf.at[i])) return NULL;
    for (int i = 0; i < k->access.n; i++)
        if (!dync__avec_push(arena, &out->access, k->access.at[i])) return NULL;
    if (!dync__kernel_bounds_of(out, k)) return NULL;
    for (int i = 0; i < k->inst.n; i++) {
        dync__inst in = k->inst.at[i];
        dync__lb b = {.k = out, .section = in.section, .origin = in.origin};
        for (int a = 0; a < 3; a++)
            if (in.arg[a] >= 0) in.arg[a] = number[in.arg[a]];
        const dync__inst *rounded = stores_round ? dync__expand_rounded(k, &k->inst.at[i]) : NULL;
        if (rounded) in.arg[0] = number[rounded->arg[0]];
        if (dync__expand_draws_it(&in)) {
            if (!dync__expand_draw) return NULL;
            number[i] = dync__expand_draw(&b, &in);
        } else {
            if (dync__expand_by_rows(k, &in)) {
                int index = in.arg[0];
                in.arg[0] = dync__expand_offset(&b, index, &k->access.at[in.access]);
                in.imm.i = index + 1;
                if (in.arg[0] < 0) return NULL;
            }
            if (!dync__avec_push(arena, &out->inst, in)) return NULL;
            number[i] = out->inst.n - 1;
            dync__expand_ahead(&b, k, i, number[i]);
        }
    }
    return out->failed ? NULL : out;
}

/* Linked by who draws, or gathers by rows. */
static dync__kernel *(*DYNC__BY_NEED dync__expand_used)(
    dync__arena *, const dync__kernel *, bool stores_round) = DYNC__AT_FIRST(dync__expand_all);
DYNC__FN void dync__expand_rows(void) { DYNC__PUT(dync__expand_used, dync__expand_all); }
DYNC__FN void dync__expand_draws(void)
{
    DYNC__PUT(dync__expand_draw, dync__expand_draw_of);
    dync__expand_rows();
}

DYNC__FN const dync__kernel *dync__kernel_expand(dync__arena *arena, const dync__kernel *k,
                                                 bool stores_round)
{
    bool any = false;
    if (DYNC__SMALLER(true, false)) stores_round = false; /* for it alone this need not be linked */
    for (int i = 0; i < k->inst.n; i++) {
        const dync__inst *in = &k->inst.at[i];
        any |= dync__expand_draws_it(in) || dync__expand_by_rows(k, in) ||
               (stores_round && dync__expand_rounded(k, in));
    }
    if (!any) return k;
    if (!dync__expand_used) {
        dync__fail(DYNC_ERR_INTERNAL, "kernel %s: what it needs is not linked", k->name);
        return NULL;
    }
    k = dync__expand_used(arena, k, stores_round);
    if (!k) dync__fail_memory(0);
    return k;
}
