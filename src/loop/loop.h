/* loop/loop.h: the loop IR. After tensor/, before codegen/. Text, check, simplify, fuse, schedule
 * work on it; codegen/ runs it.
 *
 * A kernel is a nest: outer loops (rows), and inside each row a sequence of phases over the same
 * inner loops.
 *
 *   kernel softmax(in x f32, out y f32) outer o0<64 inner i0<1000 {
 *     phase 0 { v0 = load x[1000*o0 + i0]            v1 = reduce.max v0 }
 *     phase 1 { v2 = sub v0, v1    v3 = exp...       v4 = reduce.sum v3 }
 *     phase 2 { v5 = div v3, v4    store y[1000*o0 + i0], v5 }
 *   }
 *
 * Each value (instruction) sits in one section: 2p+1 = inside phase p, once per inner index; 2p =
 * row code before phase p, once per row. A reduce stands in a phase and its result is a row value
 * from the next section on. Sections never decrease along the instruction list. A phase value used
 * in a later phase is kept (row buffer) or recomputed: the generator's choice. A scan is such a
 * value too: made again in another phase it begins anew, and so is the same. Pointwise kernels have
 * one phase and no outer loops, or any split: the meaning is the same. Values are scalars of a
 * compute type: F32 F64 I64 I32 BOOL. Narrower dtypes exist in buffers only: load widens, store
 * rounds. Integer dtypes narrower than the compute type wrap through the primitive `wrap` where an
 * operator's result must. An empty inner nest reduces to the identity: 0, 1, -inf or the least
 * integer, +inf or the greatest, false, true, position 0.
 *
 * Meaning where C leaves a choice (eval.c is the reference): integer arithmetic wraps; min(a, b) is
 * a < b || a is NaN ? a : b and max likewise with >, so of two zeros the second is taken; shl and
 * shr by a count outside [0, bits) give 0 and the sign; BOOL and or xor not are logical; NaN is one
 * value: its sign and payload are unspecified but through neg, abs, select, bitcast, load and
 * store. select(lt(x, k), k, x) and select(lt(k, x), k, x) are how vecmath clamps: one max or min
 * instruction on x86-64.
 */
#ifndef DYNC__LOOP_H
#define DYNC__LOOP_H
#include "../tensor/sym.h"
enum { DYNC__LOOP_MAX_DIMS = 16 };

/* Scalar primitives, one row each. args: operands. types: allowed compute types (f F32, d F64, i
 * I32, l I64, b BOOL). result: S same as operand, B BOOL, T imm_type. c: C expression over a b c
 * for generators that print C (type-specific ones are NULL and handled by name). */
/*    name     args types    result */
/* clang-format off */
#define DYNC__PRIMS(X)                                                                                                \
    X(const_,  0, "fdilb", 'T') /* imm.f or imm.i */                                                                  \
    X(index,   0, "l",     'T') /* linear form over the loops: access imm (offset + sum stride*loop), as I64 */       \
    X(load,    0, "fdilb", 'T') /* buffer element at access; compute type of the buffer's dtype */                    \
    X(loadx,   1, "fdilb", 'T') /* gather: element at access + a (I64, in elements); by rows: see dync__access */     \
    X(store,   1, "fdilb", 'S') /* value a to buffer at access; no result */                                          \
    X(storex,  2, "fdilb", 'S') /* scatter: a to access + b (I64) */                                                  \
    X(reduce,  1, "fdilb", 'S') /* imm.i = dync__reduce_kind over the inner loops */                                  \
    X(scan,    1, "fdl",   'S') /* sum of a over the inner indices up to this one, a value at each of them; F32 */    \
                                /* adds up in F64 */                                                                  \
    X(random,  1, "l",     'T') /* Philox draw number a (I64) of the kernel's seed; imm.i DYNC__DRAW_* (base.h), */   \
                                /* result type T: F32 or F64; words (I32) and SECOND are of expand.c */               \
    X(add,     2, "fdil",  'S') X(sub, 2, "fdil", 'S') X(mul, 2, "fdil", 'S')                                         \
    X(div,     2, "fdil",  'S') /* float IEEE; int truncates, x/0 = 0, MIN/-1 wraps */                                \
    X(rem,     2, "il",    'S') /* C's % with x%0 = 0 */                                                              \
    X(fma,     3, "fd",    'S') /* a*b + c, one rounding where there is FMA; imm.i 1: in C source everywhere */       \
    X(neg,     1, "fdil",  'S') X(abs, 1, "fdil", 'S') X(sqrt, 1, "fd", 'S')                                          \
    X(floor,   1, "fd",    'S') X(ceil, 1, "fd", 'S') X(trunc, 1, "fd", 'S') X(rint, 1, "fd", 'S') /* half to even */ \
    X(min,     2, "fdil",  'S') X(max, 2, "fdil", 'S') /* propagate NaN, as torch.minimum / maximum */                \
    X(lt,      2, "fdilb", 'B') X(le, 2, "fdilb", 'B') X(eq, 2, "fdilb", 'B') X(ne, 2, "fdilb", 'B')                  \
    X(and_,    2, "ilb",   'S') X(or_, 2, "ilb", 'S') X(xor_, 2, "ilb", 'S') X(not_, 1, "ilb", 'S')                   \
    X(shl,     2, "il",    'S') X(shr, 2, "il", 'S') /* arithmetic */                                                 \
    X(select,  3, "fdilb", 'S') /* a BOOL ? b : c; imm.i 1: b is a cold path (machine code skips it) */               \
    X(cast,    1, "fdilb", 'T') /* value conversion between compute types; float to int truncates, saturates, NaN */  \
                                /* 0; to BOOL x != 0 */                                                               \
    X(bitcast, 1, "fdil",  'T') /* F32 <-> I32, F64 <-> I64 */                                                        \
    X(wrap,    1, "fi",    'S') /* imm.i = storage dtype: the value after a round trip through it (I16 I8 U8; F16 */  \
                                /* BF16) */
/* clang-format on */
enum {
#define DYNC__X(name, args, types, result) DYNC__P_##name,
    DYNC__PRIMS(DYNC__X)
#undef DYNC__X
        DYNC__N_PRIMS
};
typedef struct dync__prim_row {
    const char *name;
    int n_args;
    const char *types;
    char result;
} dync__prim_row;
DYNC__FN const dync__prim_row *dync__prim_info(int prim); /* names print without the trailing _ */
/* argmax and argmin reduce a and give the I64 position in the linearised inner loops of the first
 * extreme; NaN counts as extreme. Of zeros of both signs max and min are either, as in PyTorch:
 * it depends on the order in which lanes are combined. */
typedef enum {
    DYNC__R_SUM,
    DYNC__R_PROD,
    DYNC__R_MAX,
    DYNC__R_MIN,
    DYNC__R_ANY,
    DYNC__R_ALL,
    DYNC__R_ARGMAX,
    DYNC__R_ARGMIN
} dync__reduce_kind;

/* elements; one stride per loop, 0 = constant along it. rows > 0: of a loadx, whose operand (I64 or
 * I32) is the number of a row then: held within [0, rows), rows are row_stride elements apart. So
 * is lowered what picks rows or elements by an index: who makes it run knows index and table
 * without looking at how the address is computed. */
typedef struct dync__access {
    dync__size offset, stride[DYNC__LOOP_MAX_DIMS], rows, row_stride;
} dync__access;

/* Indices that a kernel reads by: before it runs, an element of buf at the layout outside [0, size)
 * is an error (DYNC_ERR_INDEX), whatever the kernel makes of it. GPUs and programs in C tell
 * nobody; there an index is held within its range and that is all. */
typedef struct dync__bound {
    int32_t buf, order; /* order: of the program's steps; what was wrong first is told */
    dync__layout lay;
    int64_t size;
    const char *origin, *user_op; /* for the message: the operator; the caller's, or NULL */
    dync_loc at;                  /* the caller's line; file NULL: unknown */
} dync__bound;

typedef struct dync__inst {
    /* type: compute dtype of the result (of the stored value for store) */
    uint8_t prim, type;
    int16_t section;
    int32_t arg[3];      /* instruction numbers, -1 none */
    int32_t buf, access; /* load loadx store storex; index uses access; -1 none */
    union {
        int64_t i;
        double f;
    } imm;
    const char *origin; /* operator that it came from, for dumps; may be NULL */
} dync__inst;

enum { DYNC__BUF_IN = 1, DYNC__BUF_OUT = 2 }; /* both: read and written (in place) */
/* id: plan slot; size in elements, for the check; -1 unknown */
typedef struct dync__buf {
    int32_t id;
    uint8_t dtype, mode;
    const char *name;
    int64_t size;
} dync__buf;

typedef struct dync__kernel {
    const char *name;
    /* loops [0, n_outer) rows, [n_outer, n_dims) inner */
    int n_outer, n_dims;
    bool uses_random;
    bool in_parts; /* its code runs some rows at a time: what follows a product */
    bool narrow;   /* no F64 for functions of F32, as with DYNC_NO_F64: for tests */
    /* stores may meet at one element, which keeps the last index's: as_strided_scatter into what
     * overlaps itself */
    bool ordered;
    bool failed; /* sticky: memory ran out while building */
    DYNC__VEC(dync__inst) inst;
    DYNC__VEC(dync__access) access;
    DYNC__VEC(dync__buf) buf;
    DYNC__VEC(dync__bound) bound; /* checked in this order */
    dync__arena *arena;           /* where the vectors grow */
    /* by instruction: simplification has left it as it is, and would again while its operands are
     * equal and stand in the same order; empty: not known. For fusion, which looks at the same
     * instructions many times. */
    DYNC__VEC(bool) settled;
    dync__size extent[DYNC__LOOP_MAX_DIMS];
    /* builder: chains of equal hash, numbers + 1; next.n instructions are in */
    struct {
        int32_t head[64];
        DYNC__VEC(int32_t) next;
    } share;
} dync__kernel;

/* ---- builder (loop.c): appends to k in the current section; ids are never negative unless
 * k->failed */
typedef struct dync__lb {
    dync__kernel *k;
    int section;
    const char *origin;
    bool fast_math;
} dync__lb;
DYNC__FN dync__kernel *dync__kernel_new(dync__arena *, const char *name, int n_outer, int n_dims,
                                        const dync__size *extent);
/* the same id again: modes are or-ed, same index */
DYNC__FN int dync__kernel_buf(dync__kernel *, int32_t id, int dtype, int mode, int64_t size,
                              const char *name);
/* does it write any buffer? */
DYNC__FN bool dync__kernel_writes(const dync__kernel *);
/* equal accesses are shared; rows: of a gather by rows */
DYNC__FN int dync__kernel_access(dync__kernel *, int64_t offset, const int64_t *stride);
DYNC__FN int dync__kernel_rows(dync__kernel *, int64_t offset, const int64_t *stride, int64_t rows,
                               int64_t row_stride);
DYNC__FN int dync__kernel_access_of(dync__kernel *, const dync__access *);
/* the same elements and range, whatever the buffers */
DYNC__FN bool dync__bound_equal(const dync__bound *, const dync__bound *);
/* by their order; of equal ones there is the first; false: no memory, k->failed. buf is read by
 * the kernel then. */
DYNC__FN bool dync__kernel_bound(dync__kernel *, const dync__bound *);
/* adds those of another kernel over the same buffer ids */
DYNC__FN bool dync__kernel_bounds_of(dync__kernel *, const dync__kernel *from);
/* type by the row's rule; folds constants; common values are shared */
DYNC__FN int dync__lb_op(dync__lb *, int prim, int a, int b, int c);
/* constant of F32 or F64 */
DYNC__FN int dync__lb_f(dync__lb *, int type, double x);
/* constant of I32 I64 BOOL */
DYNC__FN int dync__lb_i(dync__lb *, int type, int64_t x);
DYNC__FN int dync__lb_load(dync__lb *, int buf, int access);
DYNC__FN int dync__lb_loadx(dync__lb *, int buf, int access, int index);
DYNC__FN int dync__lb_store(dync__lb *, int buf, int access, int value);
DYNC__FN int dync__lb_storex(dync__lb *, int buf, int access, int value, int index);
/* the access' number as I64 */
DYNC__FN int dync__lb_index(dync__lb *, int access);
DYNC__FN int dync__lb_cast(dync__lb *, int a, int type); /* no-op where equal */
DYNC__FN int dync__lb_bitcast(dync__lb *, int a, int type);
/* no-op for dtypes that are their own compute type */
DYNC__FN int dync__lb_wrap(dync__lb *, int a, int storage_dtype);
DYNC__FN int dync__lb_reduce(dync__lb *, int kind, int a);
DYNC__FN int dync__lb_scan(dync__lb *, int a);
DYNC__FN int dync__lb_random(dync__lb *, int index, int type, bool normal);
DYNC__FN int dync__lb_type(const dync__lb *, int value);
/* recursion: the doors under all of the above: `add` (simplify.c) folds, simplifies and shares, and
 * builds what is simpler; `share` only looks for an equal value that may be used in this section,
 * and appends. across: values of earlier phases count as well. An instruction's section is the
 * builder's. */
DYNC__FN int dync__lb_add(dync__lb *, const dync__inst *);
DYNC__FN int dync__lb_share(dync__lb *, const dync__inst *, bool across);
/* no buffer, no immediate */
DYNC__FN dync__inst dync__inst_make(int prim, int type, int a, int b, int c);
/* false for store and storex */
DYNC__FN bool dync__inst_has_value(const dync__inst *);
/* Is it a constant that the symbolic sizes of the graph being lowered decide? Nothing is folded
 * with it. */
DYNC__FN bool dync__inst_is_sized(const dync__inst *);
/* Are there symbolic sizes among its extents, strides and offsets? */
DYNC__FN bool dync__kernel_has_sizes(const dync__kernel *);
/* By value: is it a constant, or made of such alone? Simplification leaves those only where sizes
 * decide one. One walk for all, as values share their operands. NULL: out of memory. */
DYNC__FN const bool *dync__kernel_numbers(const dync__kernel *, dync__arena *);
/* What combines two partial results; of no argmax or argmin. */
DYNC__FN int dync__reduce_prim(int kind);
/* I64 for argmax and argmin, else the operand's */
DYNC__FN int dync__reduce_type(int kind, int operand_type);

/* ---- eval.c: the meaning of every primitive, one value at a time ----------------------------- */
/* f for F32, d for F64, i else: I32 sign-extended, BOOL 0 or 1 */
typedef union dync__scalar {
    int64_t i;
    double d;
    float f;
} dync__scalar;
/* of libm, or what a small program has instead */
DYNC__FN float dync__sqrtf(float);
DYNC__FN double dync__sqrt(double);
/* A pure primitive (arithmetic, compare, select, cast, bitcast, wrap): type is the result's,
 * arg_type that of a (of b for select). */
DYNC__FN dync__scalar dync__prim_eval(int prim, int type, int arg_type, dync__scalar a,
                                      dync__scalar b, dync__scalar c, int64_t imm);
DYNC__FN bool dync__prim_is_pure(int prim);
/* whether `fma` rounds once on this machine */
DYNC__FN bool dync__has_fma(void);
DYNC__FN dync__scalar dync__const_scalar(const dync__inst *);
/* What it and tools/ir/eval.c are made of. */
DYNC__INLINE uint64_t dync__eval_bits64(double x)
{
    uint64_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

DYNC__INLINE bool dync__eval_nan64(double x)
{
    return (dync__eval_bits64(x) & 0x7fffffffffffffffu) > 0x7ff0000000000000u;
}

/* An integer result in the range of its type: I32 wraps, BOOL is 0 or 1. */
DYNC__INLINE dync__scalar dync__eval_int(int type, uint64_t x)
{
    dync__scalar r;
    memset(&r, 0, sizeof r);
    r.i = type == DYNC_I32    ? (int64_t)(int32_t)(uint32_t)x
          : type == DYNC_BOOL ? (int64_t)(x != 0)
                              : (int64_t)x;
    return r;
}

DYNC__INLINE dync__scalar dync__eval_f32(float x)
{
    dync__scalar r;
    memset(&r, 0, sizeof r);
    r.f = x;
    return r;
}

DYNC__INLINE dync__scalar dync__eval_f64(double x)
{
    dync__scalar r;
    r.d = x;
    return r;
}

/* ---- vecmath_*.c: functions over primitives, F32 and F64, at most 1 ULP (fast_math: 3.5); the
 * same bits on every generator with FMA */
/* clang-format off */
#define DYNC__VECMATH(X) \
    X(exp) X(exp2) X(expm1) X(log) X(log2) X(log10) X(log1p) X(sin) X(cos) X(tan) X(tanh) \
    X(sinh) X(cosh) X(asin) X(acos) X(atan) X(sigmoid) X(erf) X(erfc) X(rsqrt)
/* clang-format on */
#define DYNC__X(name) DYNC__FN int dync__vm_##name(dync__lb *, int a);
DYNC__VECMATH(DYNC__X)
#undef DYNC__X
DYNC__FN int dync__vm_cos_near(dync__lb *, int a); /* F64, |a| < 2^20 */
DYNC__FN int dync__vm_pow(dync__lb *, int a, int b);
DYNC__FN int dync__vm_atan2(dync__lb *, int a, int b);
DYNC__FN int dync__vm_fmod(dync__lb *, int a, int b); /* C's fmod, floats */

/* ---- text and check -------------------------------------------------------------------------- */
DYNC__FN void dync__kernel_print(dync__str *, const dync__kernel *);
/* by kind, by mode: names in the text */
DYNC__DATA_DECL const char dync__reduce_names[8][7], dync__mode_names[4][6], dync__draw_names[4][8];
/* DYNC_ERR_INTERNAL naming the instruction: types, order, sections, bounds */
DYNC__FN dync_status dync__kernel_check(const dync__kernel *);

/* ---- passes ---------------------------------------------------------------------------------- */
/* dead values, constant folding, CSE; keeps meaning to the bit */
DYNC__FN void dync__kernel_simplify(dync__kernel *);
/* the same for one without dead values whose `settled` is told; tells it */
DYNC__FN void dync__kernel_simplify_again(dync__kernel *);
/* Buffers of which no instruction is left, nor a bound, go; the others are read and written as
 * what is left says. */
DYNC__FN void dync__kernel_drop_bufs(dync__kernel *);
/* merges adjacent loops where every access allows, drops extents of 1 */
DYNC__FN void dync__kernel_collapse(dync__kernel *);
/* expand.c: without primitives that generators do not have; stores_round: nor roundings that a
 * store does anyway. A loadx by rows then has the element offset as its operand; imm.i is the
 * number of its index + 1. k itself where nothing changes. NULL: no memory. */
DYNC__FN const dync__kernel *dync__kernel_expand(dync__arena *, const dync__kernel *k,
                                                 bool stores_round);
/* said by who draws from the normal distribution, before the kernel is compiled */
DYNC__FN void dync__expand_draws(void);
DYNC__FN void dync__expand_wide_draws(void); /* from the normal distribution, of F64 */
/* and by who gathers by rows */
DYNC__FN void dync__expand_rows(void);
/* fuse.c: the steps of one program in order; a step is a kernel, or an opaque call (k NULL) that
 * reads and writes buffers by id. Gives fewer steps in a legal order: producer/consumer and sibling
 * fusion into one nest (phases, row buffers), inlining of cheap producers through index maps. A
 * buffer for which keep(id) is false loses its store once every reader got its value directly.
 * Results are those of the unfused kernels to the bit. The plain form beside it: options.off. */
typedef struct dync__fuse_step {
    dync__kernel *k;
    int n_reads, n_writes;
    const int32_t *reads, *writes;
    void *call;
} dync__fuse_step;
typedef struct dync__fuse_options {
    bool off;
    bool few_registers; /* what waits for a running sum, or it waits for, stays apart where dear */
    int max_insts;
    bool (*keep)(void *user, int32_t buf_id);
    /* steps stay on their side of such a one; NULL: there is none */
    bool (*fence)(const dync__fuse_step *);
    /* by buffer: what is the same in every run, whose kernels stay apart from others where they
     * are dear; NULL: none */
    const bool *once;
    void *user;
} dync__fuse_options;
DYNC__FN dync_status dync__fuse(dync__arena *, dync__fuse_step *steps, int *n_steps,
                                const dync__fuse_options *);
/* The same of a small program, which merges less (fuse_brief.c). */
enum { DYNC__FUSE_BRIEF = DYNC__SMALLER(1, 0) };
DYNC__FN dync_status dync__fuse_brief(dync__arena *, dync__fuse_step *steps, int *n_steps,
                                      const dync__fuse_options *);
/* unroll.c: a kernel of short rows becomes pointwise over its rows, written out; others stay. Float
 * sums of a row are of pairs of pairs. */
DYNC__FN void dync__kernel_unroll(dync__kernel *);
DYNC__FN void dync__unroll_rows(void); /* linked by who compiles and builds reductions */
/* cost.c: rough weights by which fuse.c and schedule.c choose */
/* one addition is 1 */
DYNC__FN int dync__cost_inst(const dync__inst *);
/* bytes of cache line used up per step */
DYNC__FN int64_t dync__cost_stride(int64_t stride, int element_bytes);
/* The size at hand, by which kernels may be kept apart that other numbers would join: the table in
 * force is told. */
DYNC__INLINE int64_t dync__loop_at_hand(int64_t size)
{
    if (dync__is_token(size) && dync__tls.syms) DYNC__ATOMIC_STORE(&dync__tls.syms->cautious, true);
    return dync__sz_hint(size);
}
/* schedule.c: order and collapse of loops of one kernel for the generators (smallest stride
 * innermost), see file. */
DYNC__FN void dync__kernel_schedule(dync__kernel *);
/* The inner loop that it puts innermost, and over how many elements it then goes at once. */
DYNC__FN int dync__schedule_last(const dync__kernel *, int64_t *length);
/* Rows that lie side by side: how many at once. 0: no rows do. */
DYNC__FN int64_t dync__schedule_lanes(const dync__kernel *);

/* simplify.c; commutes: are operands a and b sorted? */
DYNC__FN const dync__inst *dync__fold_def(const dync__lb *b, int v);
DYNC__FN int dync__fold_add(dync__lb *b, const dync__inst *original, bool across);
DYNC__FN bool dync__fold_commutes(int prim);
/* may what comes of it change with the loops around, as ranges of indices do? */
DYNC__FN bool dync__fold_by_loops(const dync__lb *, const dync__inst *);
/* loop_build.c: dync__lb_share for what has all its operands, its origin and its section */
DYNC__FN int dync__lb_again(dync__kernel *, const dync__inst *, bool across);
/* collapse.c: may `now`, made of operands equal to those of `old`, be simplified otherwise? */
DYNC__FN bool dync__inst_reordered(const dync__inst *old, const dync__inst *now);

#endif
