/* base/limits.h: what is chosen when the library is compiled: thresholds, and the abilities that
 * are left out. */
#ifndef DYNC__LIMITS_H
#define DYNC__LIMITS_H
#include "machine.def.h"
#include "priv.h"

/* ---- thresholds: machine.def.h --------------------------------------------------------------- */
#if defined(DYNC_SMALL)
#define DYNC__SMALLER(small, normal) (small)
#else
#define DYNC__SMALLER(small, normal) (normal)
#endif
enum {
#define DYNC__X(name, value, unit, decides, measures) DYNC__##name = value,
    DYNC__MACHINE(DYNC__X)
#undef DYNC__X
};

/* ---- sizes where code runs over elements ----------------------------------------------------- */
/* Strides and counts of elements that exist, which no machine of 32 bits has more of than these
 * hold: a small program computes with half the registers there. Layouts and loops of larger ones
 * are refused (dync__lp_begin). Numbers of I64 are none of these. DYNC__SIZES_32: so in a small
 * program of any machine, for tests. */
#if defined(DYNC_SMALL) && (UINTPTR_MAX == UINT32_MAX || defined(DYNC__SIZES_32))
typedef int32_t dync__size;
#define DYNC__SIZE_MAX INT32_MAX
#else
typedef int64_t dync__size;
#define DYNC__SIZE_MAX INT64_MAX
#endif

/* ---- abilities that may be left out (api/config.h) ------------------------------------------- */
/* DYNC__LEFT_OUT(DYNC_NO_SORT): is the switch defined? A constant: who leads to an ability asks it,
 * and compilers drop what is behind. DYNC__NEEDS(DYNC_NO_SORT, "dync_sort", NULL); returns NULL
 * with DYNC_ERR_UNSUPPORTED where it is; DYNC__OFFERS the same of a function that returns its
 * status. */
#define DYNC__LEFT_OUT(with) DYNC__PROBE(with)
#define DYNC__PROBE(value) DYNC__SECOND(DYNC__PROBE_##value, false, )
#define DYNC__PROBE_ , true
#define DYNC__PROBE_1 , true
#define DYNC__SECOND(...) DYNC__SECOND_(__VA_ARGS__)
#define DYNC__SECOND_(first, second, ...) second
#define DYNC__NEEDS(with, what, result) \
    if (DYNC__LEFT_OUT(with)) return dync__left_out(what, #with), result
#define DYNC__OFFERS(with, what) \
    if (DYNC__LEFT_OUT(with)) return dync__left_out(what, #with)
#define DYNC__GRAD_NONE DYNC__LEFT_OUT(DYNC_NO_AUTOGRAD)
#if DYNC__LINKS_BY_USE && !defined(DYNC_NO_AUTOGRAD)
#define DYNC__RULES_BY_USE 1
#else
#define DYNC__RULES_BY_USE 0
#endif
/* The first value of a pointer to what a stage has for gradients alone. A small program links that
 * where it both compiles and has a tensor that requires a gradient (api/link.h). */
#if defined(DYNC_SMALL) || defined(DYNC_NO_AUTOGRAD)
#define DYNC__FOR_GRADIENTS(table) NULL
#else
#define DYNC__FOR_GRADIENTS(table) (table)
#endif
/* What few programs need of a stage is behind a pointer: a small program puts it there where it
 * builds what needs it (dync__interp_scans), and so links it. DYNC__BY_NEED: of the pointer;
 * DYNC__AT_FIRST: its first value; DYNC__PUT: in the function that puts it there. */
#if defined(DYNC_SMALL)
#define DYNC__BY_NEED
#define DYNC__AT_FIRST(value) NULL
#define DYNC__PUT(pointer, value) ((pointer) = (value))
#else
#define DYNC__BY_NEED const
#define DYNC__AT_FIRST(value) (value)
#define DYNC__PUT(pointer, value) ((void)0)
#endif
/* What compiled code has for an ability that a program may lack: DYNC__MEETING(hooks) declares the
 * weak name that dync_compile defines in the user's file (api/link.h), and DYNC__MEET(hooks), where
 * the ability begins, calls what stands there. */
#if DYNC__LINKS_BY_USE
#define DYNC__MEETING(what) extern void (*const dync__compiles_##what)(void) __attribute__((weak));
#define DYNC__MEET(what) (&dync__compiles_##what ? dync__compiles_##what() : (void)0)
#else
#define DYNC__MEETING(what)
#define DYNC__MEET(what) ((void)0)
#endif
#define DYNC__SYM_NONE DYNC__LEFT_OUT(DYNC_NO_SYMBOLIC)
#define DYNC__F64_NONE DYNC__LEFT_OUT(DYNC_NO_F64)
#endif
