/* graph/text.h: what the two printers and the parser of graphs share (text.c). */
#ifndef DYNC__GRAPH_TEXT_H
#define DYNC__GRAPH_TEXT_H
#include "graph.h"

/* Parameter types of operator schemas. */
typedef enum dync__param_type {
    DYNC__PARAM_END,
    DYNC__PARAM_VALUE,
    DYNC__PARAM_VALUE_OPT,
    DYNC__PARAM_TENSOR,
    DYNC__PARAM_TENSOR_OPT,
    DYNC__PARAM_TENSORS,
    DYNC__PARAM_INT,
    DYNC__PARAM_FLOAT,
    DYNC__PARAM_BOOL,
    DYNC__PARAM_DIMS,
    DYNC__PARAM_DTYPE,
    DYNC__PARAM_DEVICE,
    DYNC__PARAM_STR,
    DYNC__PARAM_GRAPH,
    DYNC__PARAM_PTR
} dync__param_type;
/* One parameter; name points into the schema and is name_n characters long. */
typedef struct dync__param {
    dync__param_type type;
    const char *name;
    int name_n;
} dync__param;
/* Walks a schema: *at NULL starts; false behind the last parameter. */
DYNC__FN bool dync__schema_next(const char *schema, const char **at, dync__param *out);
/* Parameter i; false: there are fewer. Linear in i. */
DYNC__FN bool dync__schema_param(const char *schema, int i, dync__param *out);

/* The C expression of an operator with holes {0} {1} ... for its arguments: "dync_add({0}, {1})";
 * of operators without a function of their own "dync_zeros({0}, .dtype = {1}, .device = {2})", or a
 * call by name with {i:v} holes, where every argument is a dync_value. */
DYNC__FN void dync__graph_c_pattern(dync__str *, int op);

DYNC__FN void dync__text_size(dync__str *, const dync__graph *, int64_t size); /* 3, or s0 */
DYNC__FN void dync__text_shape(dync__str *, const dync__graph *, int ndim,
                               const int64_t *sizes); /* [2, s0] */
/* f32[2, 3], then where it is not the usual: {1, 2} strides, +5 offset, cuda:0, @0 shares argument
 * 0's memory, grad. */
DYNC__FN void dync__text_info(dync__str *, const dync__graph *, const dync__info *,
                              bool requires_grad);
/* The name of the function that is argument i: "true_graph_0"; 0: the graph's first such call. */
DYNC__FN void dync__text_function(dync__str *, const dync__node *, int i);
#endif
