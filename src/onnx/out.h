/* onnx/out.h: graphs written as ONNX models. After proto.h.
 *
 * A functional graph (out_graph.c makes it: composites that ONNX has no node for are expanded,
 * writes are gone) is gone through node by node. Each operator has a row in out_rows.def.h: a
 * formula over ONNX's operators (out_formula.c), or a function (out_reduce.c, out_shape.c, ...)
 * that emits nodes and says which value is the result. Every value has the dtype and the sizes of
 * the graph's; strides mean nothing in ONNX. Halves are computed in float32 and small integers in
 * int32, as dync computes them.
 *
 * The writer is sticky: after a failure or a refusal the functions do nothing and give "". */
#ifndef DYNC__ONNX_OUT_H
#define DYNC__ONNX_OUT_H
#include "proto.h"

/* the values of one graph: of the whole, or of a function inside an operator */
typedef struct dync__ox_scope {
    const dync__graph *graph;
    const char ***value; /* by node: names of its outputs */
    struct dync__ox_scope *outer;
} dync__ox_scope;
typedef struct dync__ox_size {
    int64_t token; /* a size, or the bits of a number */
    const char *name;
} dync__ox_size;
typedef struct dync__ox {
    dync__arena *arena;
    dync__onnx_model *model;
    dync__onnx_graph *graph; /* the one that nodes go to now */
    dync__ox_scope *scope;
    const dync__node *node; /* the one being written */
    dync__onnx_node *last;  /* what attributes go to */
    int first;              /* nodes of graph that were there before this node's */
    int n_names;            /* of values that have none in the graph */
    int opset;              /* the least that has all that is used */
    bool random;            /* ONNX's own random numbers may stand for dync's */
    dync__map constants;    /* hash of a small initializer -> its tensor */
    DYNC__VEC(dync__ox_size) sizes;
    bool *refused; /* by node of the outermost graph; NULL: a refusal is an error */
    dync_status status;
    const char *why; /* of a refusal; NULL: none */
} dync__ox;
typedef const char *dync__ox_name;

/* ---- out_build.c: nodes and constants -------------------------------------------------------- */
DYNC__FN bool dync__ox_ok(const dync__ox *);
DYNC__FN dync__ox_name dync__ox_refuse(dync__ox *, const char *why); /* static text */
DYNC__FN dync__ox_name dync__ox_fresh(dync__ox *);
/* One node of one result; inputs end at the n-th, "" leaves one out. */
DYNC__FN dync__ox_name dync__ox_emit(dync__ox *, const char *type, int n, const dync__ox_name *in);
DYNC__FN dync__ox_name dync__ox_op1(dync__ox *, const char *type, dync__ox_name);
DYNC__FN dync__ox_name dync__ox_op2(dync__ox *, const char *type, dync__ox_name, dync__ox_name);
DYNC__FN dync__ox_name dync__ox_op3(dync__ox *, const char *type, dync__ox_name, dync__ox_name,
                                    dync__ox_name);
DYNC__FN dync__ox_name dync__ox_more(dync__ox *); /* one more result of the last node */
/* says beside the last node that no index is below 0 (DYNC__ONNX_FROM_FRONT) */
DYNC__FN void dync__ox_from_front(dync__ox *);
DYNC__FN void dync__ox_set_i(dync__ox *, const char *attribute, int64_t);
DYNC__FN void dync__ox_set_f(dync__ox *, const char *attribute, double);
DYNC__FN void dync__ox_set_s(dync__ox *, const char *attribute, const char *);
DYNC__FN void dync__ox_set_ints(dync__ox *, const char *attribute, int n, const int64_t *);
DYNC__FN void dync__ox_set_tensor(dync__ox *, const char *attribute, dync__onnx_tensor *);
DYNC__FN void dync__ox_set_graph(dync__ox *, const char *attribute, dync__onnx_graph *);
/* An initializer. bytes are borrowed: they outlive the model. */
DYNC__FN dync__ox_name dync__ox_data(dync__ox *, const char *name_or_null, int dtype, int ndim,
                                     const int64_t *shape, const void *bytes, size_t n);
DYNC__FN dync__ox_name dync__ox_ints(dync__ox *, int n, const int64_t *);
DYNC__FN dync__ox_name dync__ox_int(dync__ox *, int64_t); /* rank 0 */
/* rank 0, of a dtype; value: integers are exact to 2^53 */
DYNC__FN dync__ox_name dync__ox_scalar(dync__ox *, int dtype, double value);
DYNC__FN dync__ox_name dync__ox_cast(dync__ox *, dync__ox_name, int from, int to);
DYNC__FN dync__onnx_tensor *dync__ox_tensor(dync__ox *, int dtype, int ndim, const int64_t *shape,
                                            const void *bytes, size_t n);

/* ---- out_size.c: sizes ----------------------------------------------------------------------- */
/* int64 of shape [1] */
DYNC__FN dync__ox_name dync__ox_size_of(dync__ox *, int64_t size);
/* int64 of shape [n]: a constant where all are plain */
DYNC__FN dync__ox_name dync__ox_shape(dync__ox *, int n, const int64_t *sizes);
/* a number argument in a dtype, rank 0; symbolic ones are computed */
DYNC__FN dync__ox_name dync__ox_number(dync__ox *, const dync__arg *, int dtype);
/* the number of elements; false, refused: it is symbolic */
DYNC__FN bool dync__ox_plain(dync__ox *, const dync__layout *, int64_t *numel);

/* ---- operands of the node being written ------------------------------------------------------ */
DYNC__FN const dync__arg *dync__ox_arg(const dync__ox *, int i);
DYNC__FN bool dync__ox_has(const dync__ox *, int i); /* a tensor, not none */
DYNC__FN const dync__info *dync__ox_info(const dync__ox *, const dync__arg *);
DYNC__FN dync__ox_name dync__ox_value(dync__ox *, const dync__arg *);
/* argument i, and its type */
DYNC__FN dync__ox_name dync__ox_in(dync__ox *, int i);
DYNC__FN const dync__info *dync__ox_of(const dync__ox *, int i);
/* the type that a dtype is computed in: F32 F64 I64 I32; bools as I32 */
DYNC__FN int dync__ox_wide(int dtype);
DYNC__FN dync__ox_name dync__ox_wide_in(dync__ox *, int i);
/* a value of that type, as the node's result k */
DYNC__FN dync__ox_name dync__ox_as_out(dync__ox *, dync__ox_name, int from, int k);
DYNC__FN bool dync__ox_used(const dync__ox *, int k);          /* does anything read result k? */
DYNC__FN void dync__ox_give(dync__ox *, int k, dync__ox_name); /* result k of several */
DYNC__FN int dync__ox_axis(const dync__ox *, int i, int ndim); /* argument i, wrapped */
DYNC__FN dync__ox_name dync__ox_reshape(dync__ox *, dync__ox_name, int n, const int64_t *shape);
DYNC__FN dync__ox_name dync__ox_expand(dync__ox *, dync__ox_name, int n, const int64_t *shape);
/* the dtype that values of another are expanded in: ONNX Runtime expands no bfloat16 */
DYNC__INLINE int dync__ox_expands(int dtype) { return dtype == DYNC_BF16 ? DYNC_F32 : dtype; }
/* 0, 1, ... n - 1 as int64 */
DYNC__FN dync__ox_name dync__ox_range(dync__ox *, int64_t n);

/* ---- rows ------------------------------------------------------------------------------------ */
typedef struct dync__ox_row {
    const char *name;
    int op;
    dync__ox_name (*write)(dync__ox *);
    /* formulas of floats, integers and bools (NULL: as floats); for functions what they like */
    const char *f, *i, *b;
    bool (*when)(const dync__opcall *); /* NULL: always */
} dync__ox_row;
/* recursion: the table names the functions, and those ask for their rows */
DYNC__FN const dync__ox_row *dync__ox_row_of(int op);
/* recursion: formulas use those of other rows */
DYNC__FN const dync__ox_row *dync__ox_row_named(const char *name, size_t n);
/* out_formula.c: the formula of a pointwise row */
DYNC__FN dync__ox_name dync__ox_formula(dync__ox *, const char *text, int dtype,
                                        const dync__ox_name *operand);
DYNC__FN dync__ox_name dync__ox_pointwise(dync__ox *);
/* out_control.c, recursion: nodes of a graph, with its inputs bound, into the graph being filled */
DYNC__FN void dync__ox_nodes(dync__ox *, const dync__graph *, const dync__ox_name *inputs,
                             dync__ox_scope *);
DYNC__FN bool dync__ox_scope_open(dync__ox *, dync__ox_scope *, const dync__graph *);
/* what a value is, in the form of graph inputs and outputs; false: no memory */
DYNC__FN bool dync__ox_declare(dync__ox *, const dync__graph *of, dync__onnx_value_info *,
                               const char *name, const dync__info *);

/* ---- out_graph.c ----------------------------------------------------------------------------- */
/* A functional graph of operators that have rows, and others that are refused later. */
DYNC__FN dync_status dync__ox_prepare(dync__graph *, dync__graph **out);
/* What AOT keeps whole for it. */
DYNC__FN bool dync__ox_keeps(const dync__opcall *);
/* The model of a functional graph, in the arena; its initializers point into tensors of the graph.
 * refused (may be NULL: then it is an error): by node, set where one cannot be written. */
DYNC__FN dync_status dync__ox_model(dync__arena *, const dync__graph *, const char *name,
                                    bool random, bool *refused, dync__onnx_model **out);
/* weights of more bytes together go into a file beside the model; tests lower it */
DYNC__DATA_DECL int64_t dync__ox_inside_most;
#endif
