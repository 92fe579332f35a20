/* program/size_table.h: the rows of a table of sizes in a program file. Private to size_*.c. */
#ifndef DYNC__PROGRAM_SIZE_TABLE_H
#define DYNC__PROGRAM_SIZE_TABLE_H
#include "program.h"

/* Those before FIRST have no rows as operands: a symbol's number, a number, another below 0, the
 * halves of a double's bits. */
enum { DYNC__ZT_SYMBOL, DYNC__ZT_INT, DYNC__ZT_MINUS, DYNC__ZT_REAL, DYNC__ZT_FIRST };

/* word stands in the file; op and n say what the row computes of how many operands. */
typedef struct dync__zt_row {
    const char *word;
    int op, n; /* dync__sz_op or dync__sf_op; operands */
} dync__zt_row;

enum { DYNC__ZT_ROWS = 16 };
DYNC__DATA_DECL const dync__zt_row dync__zt_rows[DYNC__ZT_ROWS];

/* Calls fn for every number of the graph, with its place; fn may change it. False from fn ends the
 * walk. */
typedef struct dync__zt_walk {
    bool (*fn)(void *user, int64_t at, int64_t *size);
    void *user;
    int64_t at;
    bool inferred; /* the number is part of a type that a call gives */
    /* for writing: what symbol i is in the graph that the file shows, of the table in force */
    const int64_t *shown;
} dync__zt_walk;

/* size_table.c */
DYNC__FN bool dync__zt_each(dync__graph *g, dync__zt_walk *w);
#endif
