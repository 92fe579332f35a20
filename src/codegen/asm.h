/* codegen/asm.h: the assembler that every target has: code that grows, labels, a pool of constants,
 * the finished code in memory that executes. A target (target.h) makes instructions; after it come
 * the generators, who say DYNC__A(a, verb, operands).
 *
 * Sticky: after a failure (no memory) calls do nothing, and dync__a_install says so. */
#ifndef DYNC__ASM_H
#define DYNC__ASM_H
#include "codemem.h"
#include "target.h"

/* A field of the code to be filled: with the distance of a label, or of a place in the pool. */
typedef struct dync__fix {
    int32_t at, target;
} dync__fix;
struct dync__asm {
    const dync__target *t;
    dync__arena *arena;
    DYNC__VEC(uint8_t) code;
    DYNC__VEC(uint8_t) pool; /* constants, 64 bytes each */
    DYNC__VEC(dync__fix) jump, constant;
    DYNC__VEC(int32_t) label;                       /* where it is bound; -1 not yet */
    dync__str *listing;                             /* NULL: none is wanted */
    int (*scratch)(struct dync__asm *, int class_); /* a register for a verb's own use */
    void *owner;                                    /* who provides scratch */
    bool failed;
};
#if DYNC__JIT
#define DYNC__A(a, name, ...) dync__a_emit((a), &(dync__ins){.verb = DYNC__A_##name, __VA_ARGS__})
DYNC__FN void dync__a_emit(dync__asm *, const dync__ins *); /* what the target makes of it */

DYNC__FN void dync__a_begin(dync__asm *, const dync__target *, dync__arena *);
DYNC__FN int dync__a_label(dync__asm *); /* a new one, to be bound by LABEL */
/* A constant repeated over 64 bytes: `width` bytes of bits; equal ones are shared. The operand. */
DYNC__FN dync__place dync__a_constant(dync__asm *, uint64_t bits, int width);
DYNC__FN dync__place dync__a_constant64(dync__asm *, const void *bytes); /* 64 bytes as they are */
/* The first lanes of a vector of 4- or 8-byte integers in t, fewer than all, as many as general
 * register `left` tells, to where general register `to` leads: half of them, half of the others and
 * so on. t and `to` change. For targets where masked stores are slow. */
DYNC__FN void dync__a_halves(dync__asm *, dync__vt, int t, int to, int left);
/* is a listing wanted: by DYNC_LOG=code or asm, or by who watches? */
DYNC__FN bool dync__a_listed(void);
/* For tests: fn sees each piece of code as it is finished. NULL: nobody does. */
DYNC__FN void dync__a_watch(void (*fn)(const dync__asm *));
/* Binds jumps and constants; the pool comes after the code, 64-byte aligned. Bytes of both; 0:
 * failed. */
DYNC__FN size_t dync__a_finish(dync__asm *);
DYNC__FN void dync__a_write(const dync__asm *, uint8_t *to);
/* The finished code where it can run, and how many bytes; 0: it failed, or there is no memory for
 * it. */
DYNC__FN size_t dync__a_install(dync__asm *, dync__codeblock *);
#endif
#endif
