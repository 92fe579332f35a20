/* onnx/onnx.h: ONNX models read: from the messages of proto.h to a dync_program. After proto.h.
 *
 *   file -proto_read-> messages -link-> bodies -run-> operator calls -record-> graph -> program
 *
 * link.c resolves every name of a graph to a place and finds the row of every node (rows.c), so
 * that nothing is looked up by text afterwards and every error of the file shows at once. run.c
 * walks the bodies: a node's mapping function calls dync's operators on the values of its inputs.
 * The same walk serves three callers: record.c makes a graph of it over fakes, a compiled function
 * traces it (where data decide), and without either it simply runs. A value whose tensor is real
 * while others are fakes does not depend on the inputs: it is known, its operators run at once, and
 * a shape may be read from it. */
#ifndef DYNC__ONNX_H
#define DYNC__ONNX_H
#include "proto.h"

/* A value: a tensor (borrowed: the scope has it; NULL: an optional input that is not there) and its
 * ONNX type, which differs from the tensor's own where dync holds it in a wider one. Or a sequence,
 * whose length the walk knows: no value of a program. */
typedef struct dync__onnx_value {
    dync_tensor *t;
    int type;
    const struct dync__onnx_sequence *sequence; /* the scope's; never changed. NULL: it is none */
} dync__onnx_value;
/* stacked: elements of one shape, of a number that calls tell, along the first dim, while a graph
 * is made; n is 0 then */
typedef struct dync__onnx_sequence {
    dync_tensor *stacked;
    int n, type;
    dync__onnx_value at[];
} dync__onnx_sequence;
DYNC__INLINE bool dync__onnx_is_there(const dync__onnx_value *v) { return v->t || v->sequence; }

/* ---- types (data.c) -------------------------------------------------------------------------- */
DYNC__FN int dync__onnx_dtype(int64_t type); /* the dtype that holds it; -1: none does */
DYNC__FN int dync__onnx_type_of(int dtype);  /* the ONNX type of a dtype itself */
DYNC__FN const char *dync__onnx_type_name(int64_t type);
/* bits of an unsigned or short type that is held in a wider one; 0: it is the dtype itself */
DYNC__FN int dync__onnx_held_bits(int64_t type, bool *is_signed);
/* Where the data of tensors may lie: in the file, NULL: it is not one; besides it in its folder,
 * NULL: nowhere. */
typedef struct dync__onnx_files {
    dync__blob *model; /* a reference */
    const char *folder;
    DYNC__VEC(struct dync__onnx_outside *) at; /* files read, owned */
} dync__onnx_files;
DYNC__FN void dync__onnx_files_end(dync__onnx_files *);
/* bytes of the smallest tensor that stays in its file; tests change it */
DYNC__DATA_DECL int64_t dync__onnx_in_place_least;
/* Elements of a tensor message as a new tensor, a reference for the caller: large ones that lie in
 * a file as memory has them stay there. DYNC_ERR_FORMAT where
 * data and shape differ, DYNC_ERR_UNSUPPORTED for a type that dync does not hold. */
DYNC__FN dync_status dync__onnx_tensor_make(const dync__onnx_tensor *, dync__onnx_files *,
                                            dync__tensor **out);

/* ---- bodies (link.c) ------------------------------------------------------------------------- */
typedef struct dync__onnx_call dync__onnx_call;
typedef struct dync__onnx_row {
    const char *domain, *name;
    int since; /* the first version of its domain that has it */
    /* attributes with their defaults, "axis=-1 keepdims=1 axes= pads=": another one is refused */
    const char *attributes;
    dync_status (*map)(dync__onnx_call *);
    /* what map works with, where one function serves many rows */
    dync_tensor *(*one)(dync_tensor *);
    dync_tensor *(*two)(dync_value, dync_value);
    int detail;
} dync__onnx_row;
DYNC__FN const dync__onnx_row *dync__onnx_row_find(const char *domain, const char *name);

typedef struct dync__onnx_place {
    int up, at; /* bodies outwards, value there; at -1: no value */
} dync__onnx_place;
typedef struct dync__onnx_step {
    const dync__onnx_node *node;
    const dync__onnx_row *row;              /* or */
    const struct dync__onnx_body *function; /* a function of the model */
    dync__onnx_place *in;
    int *out;                        /* places in this body; -1: not wanted */
    struct dync__onnx_body **inside; /* by attribute: the body of a graph attribute */
    int version;                     /* of the node's domain */
    dync__tensor *made;              /* what a Constant gives at every walk, or NULL; the model's */
    int made_type;
} dync__onnx_step;
/* A graph, or a function of the model, ready to run. */
typedef struct dync__onnx_body {
    const char *name;
    const struct dync__onnx_body *outer; /* of a graph inside a node */
    const dync__onnx_function *function; /* NULL: a graph */
    int n_inputs, n_outputs, n_values, n_steps, n_constants;
    dync__onnx_step *step;
    dync__onnx_place *output;
    const dync__onnx_value_info *const *told; /* by output, what a graph says of it; NULL: none */
    int *constant;                            /* places of the initializers */
    const dync__onnx_tensor *const *initializer;
    dync__tensor **tensor; /* of them; owned by the model */
    int *type;
    int *maker; /* by place: the step that makes it, or -1 */
} dync__onnx_body;

/* ---- a model --------------------------------------------------------------------------------- */
/* An input of the model that a call has to give, or an output. */
typedef struct dync__onnx_port {
    const char *name;
    int type, dtype, ndim;            /* ndim -1: not told */
    bool sequence;                    /* of tensors as the rest says */
    int64_t size[DYNC_MAX_DIMS];      /* -1: not told */
    const char *param[DYNC_MAX_DIMS]; /* the name of a symbolic size, or NULL */
    int64_t symbol[DYNC_MAX_DIMS];    /* while a graph is made: the size, or its token */
    int64_t hint[DYNC_MAX_DIMS];      /* that of the call that it is made for; 0: of none */
    /* as large as another that it must be equal to, as making a graph has shown; 0: none known */
    int64_t like[DYNC_MAX_DIMS];
    bool fixed[DYNC_MAX_DIMS]; /* that size is all that it works for, as making a graph has shown */
    const dync__tensor *known; /* while a graph for one value alone is made; borrowed */
} dync__onnx_port;
/* A call of held tensors alone, and what it gave (held, too). */
typedef struct dync__onnx_folded {
    int op, nargs, nout;
    dync__arg *args;
    dync__tensor *out[DYNC__MAX_OUT];
} dync__onnx_folded;
typedef struct dync__onnx_loaded {
    dync__arena arena;
    dync__onnx_files files;
    dync__onnx_model *model;
    dync__onnx_body *main;
    /* held.c: tensors that the model keeps, by id and by the address of their storage; calls of
     * these alone and small tensors of equal contents, by hash */
    dync__mutex lock;
    DYNC__VEC(dync__tensor *) owned;
    dync__map held, held_storage, folded_at, same_at;
    int n_same;
    DYNC__VEC(dync__onnx_folded) folded;
    int n_inputs, n_outputs;
    int *given; /* which inputs of the graph a call gives: those without an initializer */
    dync__onnx_port *input, *output;
} dync__onnx_loaded;
DYNC__FN dync_status dync__onnx_link(dync__onnx_loaded *);
/* held.c: keeps a reference; is it kept; does it lie on what is kept */
DYNC__FN dync_status dync__onnx_hold(dync__onnx_loaded *, dync__tensor *);
DYNC__FN bool dync__onnx_holds(dync__onnx_loaded *, const dync__tensor *);
DYNC__FN bool dync__onnx_holds_memory(dync__onnx_loaded *, const dync__tensor *);
/* true: the results are there. keep: for the next time, where all tensors are held */
DYNC__FN bool dync__onnx_folded_before(dync__onnx_loaded *, dync__opcall *);
DYNC__FN void dync__onnx_fold_keep(dync__onnx_loaded *, const dync__opcall *);
/* What an earlier walk made of the same small contents, which the model keeps, else t, kept from
 * now on but for too many. Nobody may write it. */
DYNC__FN dync__tensor *dync__onnx_held_same(dync__onnx_loaded *, dync__tensor *t);
DYNC__FN void dync__onnx_held_end(dync__onnx_loaded *);

/* ---- running (run.c) ------------------------------------------------------------------------- */
/* The values of one body while it runs. */
typedef struct dync__onnx_frame {
    const dync__onnx_body *body;
    struct dync__onnx_frame *outer;     /* that of body->outer */
    const struct dync__onnx_call *call; /* of a function: the call, whose attributes it refers to */
    dync__onnx_value *value;
    int depth;
} dync__onnx_frame;
/* in detail of a row: results are taken modulo the range of a type that is held in a wider one */
enum { DYNC__OI_WRAPS = 1 << 8 };
/* One node's call: what mapping functions get. */
struct dync__onnx_call {
    dync__onnx_loaded *model;
    dync__onnx_frame *frame;
    const dync__onnx_step *step;
    const dync__onnx_row *row;
    const dync__onnx_node *node;
    int version, n_in, n_out;
    dync__onnx_value *in, *out;
};
/* Runs a body on values for its inputs; its outputs into out. */
DYNC__FN dync_status dync__onnx_run_body(dync__onnx_loaded *, const dync__onnx_body *,
                                         dync__onnx_frame *outer, const dync__onnx_call *call,
                                         int n_in, const dync__onnx_value *in,
                                         dync__onnx_value *out);
/* through this, since mapping functions stand before run.c */
/* while a body is walked: what is at a place */
DYNC__FN dync__onnx_value dync__onnx_value_at(const dync__onnx_frame *, dync__onnx_place);
/* the step of the same body that made input i of a call; NULL: none did */
DYNC__FN const dync__onnx_step *dync__onnx_maker(const dync__onnx_call *, int i);
DYNC__DATA_DECL dync_status (*dync__onnx_run_inside)(dync__onnx_loaded *, const dync__onnx_body *,
                                                     dync__onnx_frame *outer,
                                                     const dync__onnx_call *call, int n_in,
                                                     const dync__onnx_value *in,
                                                     dync__onnx_value *out);

/* The same while operators with functions inside are traced: what has only known tensors is
 * computed at once there, too. */
DYNC__DATA_DECL dync_status (*dync__onnx_run_folded)(dync__onnx_loaded *, const dync__onnx_body *,
                                                     dync__onnx_frame *outer,
                                                     const dync__onnx_call *call, int n_in,
                                                     const dync__onnx_value *in,
                                                     dync__onnx_value *out);

/* ---- what mapping functions use (call.c) ----------------------------------------------------- */
DYNC__FN dync_status dync__oi_fail(const dync__onnx_call *, dync_status, const char *fmt, ...)
    DYNC__PRINTF(3, 4);
/* input i, NULL: not there */
DYNC__INLINE dync_tensor *dync__oi_in(const dync__onnx_call *c, int i)
{
    return i >= 0 && i < c->n_in ? c->in[i].t : NULL;
}
/* its ONNX type, 0: not there */
DYNC__INLINE int dync__oi_in_type(const dync__onnx_call *c, int i)
{
    return i >= 0 && i < c->n_in ? c->in[i].type : 0;
}
/* sets output i; NULL is the error that is recorded */
DYNC__FN dync_status dync__oi_out(dync__onnx_call *, int i, dync_tensor *);
DYNC__FN dync_status dync__oi_out_typed(dync__onnx_call *, int i, dync_tensor *, int type);
/* attributes: the node's, or the default of the row */
DYNC__FN const dync__onnx_attribute *dync__oi_attribute(const dync__onnx_call *, const char *name);
DYNC__FN bool dync__oi_has(const dync__onnx_call *, const char *name);
DYNC__FN int64_t dync__oi_int(const dync__onnx_call *, const char *name);
DYNC__FN double dync__oi_float(const dync__onnx_call *, const char *name);
DYNC__FN bool dync__oi_is(const dync__onnx_call *, const char *name, const char *text);
/* n 0 where there is none; *out is borrowed */
DYNC__FN int dync__oi_ints(const dync__onnx_call *, const char *name, const int64_t **out);
DYNC__FN int dync__oi_floats(const dync__onnx_call *, const char *name, const float **out);
/* the body of a graph attribute */
DYNC__FN const dync__onnx_body *dync__oi_body(const dync__onnx_call *, const char *name);
/* An axis within rank; false: recorded. */
DYNC__FN bool dync__oi_axis(const dync__onnx_call *, int64_t axis, int rank, int *out);
/* Numbers of a tensor that decide a shape: at most cap, n returned, -1 + error. In a trace a value
 * that depends on data cuts it. */
DYNC__FN int dync__oi_read(const dync__onnx_call *, dync_tensor *, int cap, int64_t *out);
DYNC__FN int dync__oi_read_reals(const dync__onnx_call *, dync_tensor *, int cap, double *out);
DYNC__FN bool dync__oi_dims(const dync__onnx_call *, dync_tensor *, dync_dims *out);
/* Does a graph become of what is done now, and is it not known what the tensor will be? */
DYNC__FN bool dync__oi_is_open(const dync_tensor *);
/* Does a graph come out that may have sizes which data decide, and is t one of its values? */
DYNC__FN bool dync__onnx_records(const dync_tensor *t);
/* whole.c: the numbers of a recorded tensor in int64, sizes among them; NULL: they are not known */
DYNC__FN bool dync__onnx_holds_sizes(const dync__tensor *); /* sized.c: are symbols among it? */
DYNC__FN dync_tensor *dync__onnx_whole(const dync_tensor *);
/* shape of a tensor; rank; one size. Plain numbers: where a size is symbolic, there is no graph of
 * all sizes. */
DYNC__FN dync_dims dync__oi_shape(const dync_tensor *);
DYNC__FN int dync__oi_rank(const dync_tensor *);
DYNC__FN int64_t dync__oi_size(const dync_tensor *, int dim);
/* The same for functions that work with symbolic sizes: whatever they do to one goes through
 * dync__sz_* (tensor/sym.h), or passes it on whole. */
DYNC__FN dync_dims dync__oi_sizes(const dync_tensor *);
DYNC__FN int64_t dync__oi_extent(const dync_tensor *, int dim);
DYNC__FN int dync__oi_read_sizes(const dync__onnx_call *, dync_tensor *, int cap, int64_t *out);
DYNC__FN bool dync__oi_read_dims(const dync__onnx_call *, dync_tensor *, dync_dims *out);
/* sized.c: while there are symbolic sizes: a known tensor of int64 with no element below 0,
 * whatever sizes are in it */
DYNC__FN bool dync__onnx_sizes_positive(const dync_tensor *);
/* that size as a number, as above */
DYNC__FN int64_t dync__oi_number(int64_t size);
DYNC__FN int dync__oi_type(const dync_tensor *); /* dtype */
/* n places of dim, from `from` on: a slice, as the operator Slice is read */
DYNC__FN dync_tensor *dync__oi_narrow(dync_tensor *, int dim, int64_t from, int64_t n);
/* x in a shape: x itself where it has it */
DYNC__FN dync_tensor *dync__oi_shaped(dync_tensor *x, dync_dims shape);
/* Known tensors from numbers. NULL + error */
DYNC__FN dync_tensor *dync__oi_tensor_i(int dtype, int ndim, const int64_t *shape,
                                        const int64_t *value);
DYNC__FN dync_tensor *dync__oi_tensor_f(int dtype, int ndim, const int64_t *shape,
                                        const double *value);
DYNC__FN dync_tensor *dync__oi_list(int n, dync_tensor *const *t, int dim, bool stack); /* cat */
DYNC__FN dync_tensor *dync__oi_full(dync_dims shape, double value, int dtype);
/* ---- beside.c -------------------------------------------------------------------------------- */
DYNC__FN dync_status dync__onnx_outside_bytes(const dync__onnx_tensor *m, dync__onnx_files *f,
                                              dync__pb_bytes *out, dync__blob **blob);
#endif
