/* graph/print_fx.h: what the files that print a graph as torch.fx does share. */
#ifndef DYNC__PRINT_FX_H
#define DYNC__PRINT_FX_H
#include "text.h"

typedef struct dync__fx_printer {
    dync__str *s;
    const dync__graph *g;
    bool readable;                /* annotations and blank lines; the other form is gm.code */
    bool flat_attrs;              /* attribute paths as one identifier */
    const dync__node **last_user; /* per node: who uses it last; NULL nobody */
    dync__str symbols;            /* names of those that are inputs, each between blanks */
} dync__fx_printer;

/* Two walks: the first, backwards over the graph, notes the last user of each value; the second
 * prints ";  x = y = None" behind that user. */
typedef struct dync__fx_uses {
    dync__fx_printer *p;
    const dync__node *user;
    bool print, any;
} dync__fx_uses;
/* ---- print_fx_call.c ------------------------------------------------------------------------- */
DYNC__FN void dync__fx_double(dync__str *s, double x);
DYNC__FN void dync__fx_arg(dync__fx_printer *p, const dync__arg *a, bool as_tuple);
DYNC__FN void dync__fx_args(dync__fx_printer *p, const dync__node *node, int first, int n);
DYNC__FN const char *dync__fx_hole(const char *c, int *i);
DYNC__FN void dync__fx_attr_path(dync__fx_printer *p, const char *path);
DYNC__FN void dync__fx_call(dync__fx_printer *p, const dync__node *node);
/* ---- print_fx_use.c -------------------------------------------------------------------------- */
DYNC__FN void dync__fx_declare(dync__fx_printer *p, const dync__node *input);
DYNC__FN void dync__fx_each_use(dync__fx_uses *u);
DYNC__FN void dync__fx_release(dync__fx_printer *p, const dync__node *node);
/* ---- print_fx.c ------------------------------------------------------------------------------ */
DYNC__FN void dync__fx_forward(dync__fx_printer *p);
#endif
