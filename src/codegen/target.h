/* codegen/target.h: the seam between the generators (loops, products, convolutions) and an
 * instruction set. A generator says what to do by some fifty verbs of a virtual assembler; a target
 * writes them as instructions. Outside the target's own files (x86_*) no file names a register, a
 * flag or a feature.
 *
 * Registers are of three classes.
 *   general   by role: DYNC__G_ARGS ... DYNC__G_A8, the same sixteen on every target
 *   vector    0 .. n_vectors - 1
 *   mask      1 .. n_masks; a target without (n_masks 0) keeps masks in vectors
 * A vector type (dync__vt) is an element type and a number of lanes: "eight lanes of I64". One verb
 * never takes more than the target's vector_bytes; fewer lanes are done in as narrow a register as
 * holds them (x86: 16, 32, 64 bytes), and what stands above them is nobody's business. All values
 * of a loop nest have as many lanes, so that a lane of a value meets the same lane of another at
 * any width.
 *
 * Masks. A mask says yes or no for each lane. Without mask registers it is a vector of ones and
 * zeros as wide as the lanes that were compared: comparing 8-byte lanes gives 8-byte ones. A BOOL
 * value is a mask of 4-byte lanes; MASK_NARROW and MASK_WIDEN go between the two, and are nothing
 * where masks have registers.
 *
 * Places. The last operand of a verb (y) may be a register, memory at base + index * scale + disp,
 * or a constant in the pool. A target that folds reads memory in the instruction; any other first
 * loads it into a scratch register: the generator may always pass memory.
 *
 * Scratch. A verb that wants registers of its own asks a->scratch(a, class), which whoever
 * allocates registers provides; they are its own until that owner ends the instruction in hand.
 * SELECT, the clamps and what a target says to be SHAPE_ONE, SWAPS or REGS get none that is safe:
 * their operands may have ended and be the scratch.
 *
 * Tails. The last vector of a loop may have fewer elements than lanes. TAIL prepares what the
 * target wants to know about them in memory, TAIL_GET brings it into a register, LOAD_PART and
 * STORE_PART touch those elements only. `part` says which element sizes a target can do this for;
 * others go element by element.
 *
 * Sticky: after a failure (no memory) verbs do nothing, and dync__target.finish gives 0. */
#ifndef DYNC__TARGET_H
#define DYNC__TARGET_H
#include "../loop/loop.h"

#if defined(__x86_64__) && defined(__GNUC__) && !defined(DYNC_NO_JIT) && !defined(DYNC_SMALL) && \
    (defined(__unix__) || defined(__APPLE__) || defined(_WIN32))
#define DYNC__JIT 1                 /* there is a target for this machine */
#define DYNC__BESIDE_JIT DYNC__WARM /* what machine code leaves over is compiled quickly */
#define DYNC__SPARE DYNC__COLD      /* what only calls loops that others optimise */
#else
#define DYNC__JIT 0
#define DYNC__BESIDE_JIT DYNC__HOT
#define DYNC__SPARE DYNC__HOT
#endif

/* How machine code is called, with one address; it calls nothing. Windows hands out a stack page by
 * page in order: the frame's are touched before. */
#if defined(_WIN32) && DYNC__JIT
#define DYNC__CODE __attribute__((sysv_abi))
#define DYNC__CODE_FRAME(bytes) ((bytes) > 4000 ? dync__os_stack_touch() : (void)0)
#else
#define DYNC__CODE
#define DYNC__CODE_FRAME(bytes) ((void)0)
#endif
typedef void(DYNC__CODE *dync__kernel_code)(int64_t *words);

/* ---- operands -------------------------------------------------------------------------------- */

/* General registers. ARGS: the argument block, set on entry. FRAME: 64-byte aligned, after
 * FRAME_IN. LANE and END: loop counters. T0 .. T2: scratch of generators; a few verbs destroy them
 * and say so. A0 .. A8: addresses, counts. A0, T2 and A5 .. A8 belong to the caller: ENTER saves
 * those that are used. (The order is x86-64's, which so needs no table.) */
enum {
    DYNC__G_T0,
    DYNC__G_LANE,
    DYNC__G_END,
    DYNC__G_A0,
    DYNC__G_FRAME,
    DYNC__G_T2,
    DYNC__G_T1,
    DYNC__G_ARGS,
    DYNC__G_A1,
    DYNC__G_A2,
    DYNC__G_A3,
    DYNC__G_A4,
    DYNC__G_A5,
    DYNC__G_A6,
    DYNC__G_A7,
    DYNC__G_A8
};
enum { DYNC__CLASS_GENERAL, DYNC__CLASS_VECTOR, DYNC__CLASS_MASK };
enum { DYNC__A_TAIL_BYTES = 256 }; /* of the tails of 4-byte lanes; those of 8-byte lanes follow */
enum { DYNC__PLACE_POOL = -2 };    /* base of a constant: disp is its place in the pool */

/* A register (its class follows from the verb), or memory at base + index * scale + disp, in bytes;
 * scale 1, 2, 4 or 8. */
typedef struct dync__place {
    bool is_mem;
    union {
        int8_t reg, base;
    };
    int8_t index, scale; /* index -1: none */
    int32_t disp;
} dync__place;
DYNC__INLINE dync__place dync__a_reg(int reg)
{
    dync__place p = {false, {(int8_t)reg}, -1, 1, 0};
    return p;
}
DYNC__INLINE dync__place dync__a_mem(int base, int32_t disp)
{
    dync__place p = {true, {(int8_t)base}, -1, 1, disp};
    return p;
}
DYNC__INLINE dync__place dync__a_index(int base, int index, int scale, int32_t disp)
{
    dync__place p = {true, {(int8_t)base}, (int8_t)index, (int8_t)scale, disp};
    return p;
}

/* A vector: so many elements of a dtype. BOOL: a mask of 4-byte lanes. Storage dtypes where a verb
 * says so. */
typedef struct dync__vt {
    uint8_t type, lanes;
} dync__vt;
DYNC__INLINE dync__vt dync__vt_of(int type, int lanes)
{
    dync__vt v = {(uint8_t)type, (uint8_t)lanes};
    return v;
}

/* ---- verbs ----------------------------------------------------------------------------------- */

/* One row each: name, operands as they are printed. to, x, z: registers (g general, m mask, else
 * vectors of type v); y: a place; n, m: numbers; L: a label. op: a primitive of loop.h, one of
 * those below the table, or a comparison. */
/* clang-format off */
#define DYNC__VERBS(X)                                                                                     \
    /* numbers and addresses: 64 bits */                                                                   \
    X(SET, "gto n")               /* to = n */                                                             \
    X(GET, "gto y")               /* to = y */                                                             \
    X(GET_AS, "gto y")            /* of dtype v.type: I8 I16 I32 by their sign, others by zeros */         \
    X(PUT, "gx y")                /* memory y = x */                                                       \
    X(PUT_AS, "gx y")             /* its low bytes, as many as dtype v.type has */                         \
    X(ADDRESS, "gto y")           /* to = where y is */                                                    \
    X(ADD, "gto y")               /* to += y */                                                            \
    X(SUB, "gto y")                                                                                        \
    X(MUL, "gto y")                                                                                        \
    X(ADD_TO, "gx y")             /* memory y += x */                                                      \
    X(ADD_N, "y n")               /* y += n, register or memory; so the next ones */                       \
    X(SUB_N, "y n")                                                                                        \
    X(AND_N, "y n")                                                                                        \
    X(SHL_N, "y n")                                                                                        \
    X(SHR_N, "y n")               /* zeros come in */                                                      \
    X(ONES, "gto")                /* to = -1 (32 bits) where it is not 0 */                                \
    X(DIVIDE, "op")               /* T0 = T0 / T1, or (op rem) T0 % T1, signed; destroys END */            \
    X(DRAIN, "")                  /* non-temporal stores before it are seen before what follows */         \
    X(PREFETCH, "y n")            /* the cache line of y, to cache n: 1 or 2 */                            \
    /* control; op: DYNC__IF_* */                                                                          \
    X(LABEL, "L")                 /* stands here */                                                        \
    X(JUMP, "L")                                                                                           \
    X(JUMP_IF, "op gx y L")       /* x op y, signed */                                                     \
    X(JUMP_IF_N, "op y n L")      /* y op n */                                                             \
    X(SUB_JUMP, "op y n L")       /* y -= n; if what is left op 0 */                                       \
    X(ADD_JUMP, "op y n L")       /* y += n; the same */                                                   \
    X(LESS_JUMP, "op gto y L")    /* to -= y; the same */                                                  \
    X(TEST_JUMP, "op gx n L")     /* (x & n) op 0: EQ, NE */                                               \
    X(MASK_JUMP, "mx L")          /* where no lane of x is set; destroys T0 */                             \
    X(ENTER, "n")                 /* saves those of the registers in set n that are the caller's */        \
    X(LEAVE, "n")                 /* restores them and returns */                                          \
    X(FRAME_IN, "y n")            /* FRAME: room of y bytes; what it was stands at n; destroys T0 */       \
    X(FRAME_OUT, "n")                                                                                      \
    /* between memory and vectors */                                                                       \
    X(LOAD, "to y")               /* lanes side by side; y a register: a move. BOOL: as STORE left it */   \
    X(STORE, "x y op")            /* any dtype; op 1: non-temporal, whole aligned cache lines */           \
    X(SPREAD, "to y")             /* the element at y, or the first of a register, in all lanes */         \
    X(FIRST, "to y")              /* the first lane = memory or a general register, zero up to 16 bytes */ \
    X(FIRST_TO, "x y")            /* the first lane to memory, or to a general register */                 \
    X(INSERT, "to y n")           /* lane n of the first 16 bytes = element of dtype v.type at y */        \
    X(ZERO, "to")                                                                                          \
    X(TAIL, "y n m")              /* END and y count lanes: of n vectors, to FRAME + m; destroys T0, T1 */ \
    X(TAIL_GET, "to y")           /* what TAIL or arguments left, to a register of the tail's class */     \
    X(LOAD_PART, "to y z")        /* any dtype: lanes of the tail or mask z, zero elsewhere */             \
    X(STORE_PART, "x y z")        /* the same */                                                           \
    X(WIDEN, "to y n x op z")     /* elements of dtype n at y; x: for BOOL, where masks have registers; \
                                     op 1: I16 by zeros; z: a mask register, other lanes are 0 and not \
                                     read; 0: none */                                                      \
    X(NARROW, "to x n")           /* to dtype n, rounded; to is not x; BOOL: bytes 0 and 1 */              \
    /* arithmetic, lane by lane */                                                                         \
    X(OP1, "to y op n")           /* neg abs sqrt floor ceil trunc rint not_, wrap to dtype n */           \
    X(OP2, "to x y op n")         /* n 1: x is no NaN (min, max). to = x is always possible */             \
    X(OP2_PART, "to x y op z")    /* to = to op x in the lanes of tail z; y: what op leaves as it is */    \
    X(SHIFT, "to x op n")         /* by n: shl, shr (signs come in), lsr (zeros); lanes of I16 too */      \
    X(FMA, "to x y z")            /* to += x * y, rounded once; z: a mask register, other lanes stay and   \
                                     y is not read there; 0: none */                                       \
    X(MAD, "to x y")              /* to = x * to + y */                                                    \
    X(DOT, "to x y n z")          /* to += sums of products, in lanes of pairs (n BF16, to F32) or fours   \
                                     (n U8: unsigned of x, signed of y, to I32); z: as FMA's */            \
    X(PAIRS, "to x y")            /* I32 lanes = sums of the products of pairs of I16, wrapping */         \
    X(CONVERT, "to y n")          /* from compute type n, as the primitive cast says */                    \
    /* masks */                                                                                            \
    X(COMPARE, "mto x y op")      /* as wide as lanes; floats: false where one is NaN, NE true */          \
    X(COMPARE_BOOL, "mto x y op") /* the same as a BOOL value; op: a primitive */                          \
    X(COMPARE_PART, "mto x y op n")/* no more than the tail at FRAME + n */                                \
    X(COMPARE_AND, "mto x y op mz n")/* and z; n: to use, if n_masks is 0 */                               \
    X(SELECT, "to x y mz")        /* lanes of y where mask z is set, of x elsewhere */                     \
    X(MERGE, "to y mz")           /* to = y where z is set */                                              \
    X(CLEAR, "to mz")             /* to = 0 where z is set: where masks have registers */                  \
    X(MASK_SET, "mto n")          /* all lanes: n */                                                       \
    X(MASK_WIDEN, "mto y")        /* BOOL to as wide as v's 8-byte lanes */                                \
    X(MASK_OF, "mto x")           /* a mask register of the signs of 4-byte lanes */                       \
    X(MASK_FROM, "mto gx")        /* all lanes, by the bits (registers) or the sign of x */                \
    /* between lanes */                                                                                    \
    X(DOWN, "to x n")             /* of 16 bytes: lane l = lane l + n of x */                              \
    X(HALF, "to x")               /* the upper half of x's lanes */                                        \
    X(JOIN, "to x y n m")         /* x with its n-th 16 (m 32: 32) bytes from y */                         \
    X(PIECE_TO, "x y n")          /* memory y = the n-th 16 bytes of x */                                  \
    X(UP, "to x z n")             /* lane l = lane l - n of x, below it the last of z, zero (z -1) */      \
    X(REVERSE, "to")              /* the last lane first */                                                \
    X(PICK, "to z y")             /* 4-byte word l = word z[l] of to and then y (to = z: of y) */          \
    X(ZIP, "to x y n")            /* in every 16 bytes the lanes of the lower (n 1: upper) 8 bytes of x */ \
                                  /* and of y in turn */                                                   \
    X(BYTES, "to x y")            /* in every 16 bytes byte b = byte y[b] of x; 0 where y[b] is >= 128 */  \
    X(PIECES, "to x y n")         /* vectors of 64 bytes: 16 bytes each from piece n & 3 and n >> 2 & 3 */ \
                                  /* of x, n >> 4 & 3 and n >> 6 of y */
/* clang-format on */

enum {
#define DYNC__X(name, operands) DYNC__A_##name,
    DYNC__VERBS(DYNC__X)
#undef DYNC__X
        DYNC__N_VERBS
};
/* What op may be beside primitives: the product of the low halves of 8-byte lanes; logical
 * shift; y < x ? x : y and x < y ? x : y (y where one is NaN). */
enum { DYNC__O_MUL32 = DYNC__N_PRIMS, DYNC__O_LSR, DYNC__O_CLAMP_MAX, DYNC__O_CLAMP_MIN };
enum {
    DYNC__IF_LT,
    DYNC__IF_LE,
    DYNC__IF_EQ,
    DYNC__IF_NE,
    DYNC__IF_GE,
    DYNC__IF_GT,
    DYNC__IF_ORD,
    DYNC__IF_UNORD
};

/* One verb with its operands: what a target's `emit` gets, and what a listing prints. */
typedef struct dync__ins {
    dync__vt v;
    int verb, op, to, x, z;
    int32_t n, m, label;
    dync__place y;
} dync__ins;

typedef struct dync__target dync__target;
typedef struct dync__asm dync__asm; /* asm.h */

/* ---- a target -------------------------------------------------------------------------------- */

/* How OP1, OP2, CONVERT (from `type`) and COMPARE_BOOL are done. NONE: not at all, the generator
 * makes it of others. ONE: in a way that reads y from anywhere; operands are read before `to` is
 * written. SWAPS: the same, and operands may change sides. REGS: y is a register too; BACK: the
 * second one is wanted first. LONG: registers, none of them `to`. */
enum {
    DYNC__SHAPE_NONE,
    DYNC__SHAPE_ONE,
    DYNC__SHAPE_SWAPS,
    DYNC__SHAPE_REGS,
    DYNC__SHAPE_BACK,
    DYNC__SHAPE_LONG
};
/* How sums of products of narrow elements are done (`dot` of BF16 or U8): not at all, by DOT, or
 * (U8) by PAIRS. */
enum { DYNC__DOT_NONE, DYNC__DOT_ONE, DYNC__DOT_PAIRS };
struct dync__target {
    const char *name;
    int16_t level; /* of its instruction set, the greater the better */
    int16_t vector_bytes;
    uint8_t n_vectors, n_masks;
    bool (*part)(const dync__target *,
                 int bytes); /* LOAD_PART and STORE_PART of elements of so many bytes? */
    int (*shape)(const dync__target *, int op, int type,
                 int to); /* to: the type of the result, or wrap's dtype */
    const char *(*refuses)(const dync__target *, int op, int type,
                           int to); /* no code for it: why; NULL */
    int (*dot)(const dync__target *, int dtype);
    void (*emit)(dync__asm *, const dync__ins *);
    /* dync__a_finish and dync__a_write, but where code is no bytes */
    size_t (*finish)(dync__asm *);
    void (*write)(const dync__asm *, uint8_t *to);
    /* Writes into a field of dync__asm.jump or .constant how far from it the label or the constant
     * is. */
    void (*fix)(uint8_t *field, bool jump, int32_t distance);
};
/* The best level that this machine has, as far as DYNC_CPU allows; 0: none. */
DYNC__FN int dync__target_level(void);
#if DYNC__JIT
/* The target at a level; NULL: there is none. */
DYNC__FN const dync__target *dync__target_at(int level);
/* The same, or the one that a white-box test pretends (NULL: none); now: at the best level. Code
 * for another one may not be found any more: dync_shutdown() stands between. */
DYNC__FN const dync__target *dync__target_for(int level);
DYNC__FN const dync__target *dync__target_now(void);
DYNC__FN void dync__target_pretend(const dync__target *);
#else
DYNC__INLINE const dync__target *dync__target_at(int level) { return (void)level, NULL; }
DYNC__INLINE const dync__target *dync__target_now(void) { return NULL; }
#endif
#endif
