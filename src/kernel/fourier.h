/* kernel/fourier.h: what a Fourier transform is made of: fourier_tables.c makes it once,
 * fourier_core.c runs it, fourier.c is the kernel. After operand.h. */
#ifndef DYNC__KERNEL_FOURIER_H
#define DYNC__KERNEL_FOURIER_H
#include "../codegen/fourier_code.h"
#include "operand.h"

/* A transform of n numbers that stand in blocks of V lanes: by passes of these radices, with the
 * factors between them. */
enum { DYNC__FFT_PASSES = 40 };
typedef struct dync__fft_core {
    int64_t n;
    bool back;
    int passes;
    int8_t radix[DYNC__FFT_PASSES];
    char *row[DYNC__FFT_PASSES];
} dync__fft_core;
typedef struct dync__fft_plan {
    dync__arena arena;
    dync__attr_fourier attr;
    bool wide, halved; /* real numbers, as half as many complex ones */
    int V, bytes;      /* of a real number */
    /* complex numbers that are transformed, and real numbers of a row of x and of y */
    int64_t m, in, out;
    /* V rows at a time; of the padded length where m has a large prime factor */
    dync__fft_core whole;
    dync__fft_core back;  /* then: of the same length */
    char *chirp, *filter; /* and factors of the numbers, and of their spectrum */
    /* one row at a time, as a matrix [column.n, line.n]; 0: it is no such one */
    dync__fft_core column, line;
    char *turn;    /* factors of the columns' results, for every V columns */
    char *real[2]; /* halved: t of the form REAL, from 1 on; its s */
    char *scale;
} dync__fft_plan;
/* The code of a plan's forms, found once a run: by pass; REAL of blocks and of a row. */
typedef struct dync__fft_code {
    dync__gt_fn whole[DYNC__FFT_PASSES], back[DYNC__FFT_PASSES], column[DYNC__FFT_PASSES],
        line[DYNC__FFT_PASSES], factors, unzip, zip, real[2];
} dync__fft_code;
DYNC__FN void dync__fft_code_find(const dync__fft_plan *, dync__fft_code *);
DYNC__FN dync__fft_plan *dync__fft_plan_new(const dync__attr_fourier *, bool wide);
DYNC__FN void dync__fft_plan_free(void *);
/* real numbers of the blocks that V rows need at once, or one as a matrix */
DYNC__FN int64_t dync__fft_room(const dync__fft_plan *);
/* From blocks at a; results are there or at b, which is as large. each: factors for them all */
DYNC__FN char *dync__fft_core_run(const dync__fft_plan *, const dync__fft_core *,
                                  const dync__gt_fn *code, char *a, char *b, const char *each);
/* The rows from x on, at most V, become those from y on; steps in bytes; room: of thrice
 * dync__fft_room real numbers. */
DYNC__FN void dync__fft_lanes(const dync__fft_plan *, const dync__fft_code *, const char *x,
                              int64_t x_step, char *y, int64_t y_step, int64_t rows, char *room);
/* One row, where column.n is not 0. */
DYNC__FN void dync__fft_one(const dync__fft_plan *, const dync__fft_code *, const char *x, char *y,
                            char *room);
#endif
