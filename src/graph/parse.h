/* graph/parse.h: the reader of the C form, shared by parse_arg.c (tokens, arguments, types) and
 * parse.c (parameters, statements). */
#ifndef DYNC__PARSE_H
#define DYNC__PARSE_H
#include "graph.h"

enum { DYNC__PARSE_DEPTH = 32, DYNC__PARSE_SYMBOLS = 64, DYNC__PARSE_NESTED = 16 };

/* A function inside an operator, which stands in front of the one that uses it. */
typedef struct dync__parsed_function {
    dync__graph *graph; /* a reference */
    int depth;          /* of functions inside it */
    bool used;          /* each is, once: so that a text is as long as what it means */
} dync__parsed_function;

typedef struct dync__parser {
    const char *text, *p;
    dync__graph *g;
    dync__map nodes;    /* hash of the name -> node */
    int64_t most;       /* nodes that may come yet */
    int depth;          /* of the functions that g uses */
    dync_status status; /* sticky */
    DYNC__VEC(dync__parsed_function) inside;
    DYNC__VEC(dync__symbol) symbol; /* of all functions */
} dync__parser;

typedef struct dync__parsed_type {
    dync__info info[DYNC__MAX_OUT];
    bool requires_grad[DYNC__MAX_OUT], has_info, number;
    int n;
    char *sym;
} dync__parsed_type;

/* parse_arg.c */
DYNC__FN bool dync__parse_fail(dync__parser *q, const char *expected);
DYNC__FN bool dync__parse_no_memory(dync__parser *q);
DYNC__FN void dync__parse_space(dync__parser *q);
DYNC__FN bool dync__parse_take(dync__parser *q, const char *word);
DYNC__FN bool dync__parse_need(dync__parser *q, const char *word);
DYNC__FN char *dync__parse_name(dync__parser *q);
DYNC__FN bool dync__parse_int(dync__parser *q, int64_t *out);
DYNC__FN bool dync__parse_add_node(dync__parser *q, dync__node *node, const char *name);
DYNC__FN bool dync__parse_items(dync__parser *q, const char *close, int depth, dync__arg *out);
DYNC__FN bool dync__parse_device(dync__parser *q, bool code, int *device);
DYNC__FN bool dync__parse_arg(dync__parser *q, int depth, dync__arg *out);
DYNC__FN bool dync__parse_pattern(dync__parser *q, const char *pattern, const dync__op_row *row,
                                  dync__arg *args, int *nargs);
DYNC__FN bool dync__parse_layout(dync__parser *q, dync__layout *lay, int ndim,
                                 const int64_t *shape);
DYNC__FN void dync__parse_set_type(dync__node *node, const dync__parsed_type *t);
DYNC__FN bool dync__parse_string(dync__parser *q, dync__arg *out);
DYNC__FN bool dync__parse_type(dync__parser *q, dync__parsed_type *t);

/* parse.c */
DYNC__FN bool dync__parse_param_node(dync__parser *q, const char *name, bool is_tensor);
DYNC__FN bool dync__parse_params(dync__parser *q);
DYNC__FN bool dync__parse_body(dync__parser *q);
#endif
