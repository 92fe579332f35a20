/* backend/tvm.h: Apache TVM through its C functions, and graphs cut in what another library can say
 * and what dync runs. After backend.h.
 *
 * TVM's C side is a handful of functions (those of apache-tvm-ffi, ABI of version 0.1)
 * that call global functions by name with tagged values: graphs, passes and code are made by
 * those. Nothing of it is linked or included. */
#ifndef DYNC__TVM_H
#define DYNC__TVM_H
#include "../base/library.h"
#include "../tensor/dlpack.h"
#include "backend.h"

/* ---- partition.c: a graph in parts ----------------------------------------------------------- */
/* Who compiles what he can: parts of a graph. why: set where he cannot, one word or two. */
typedef struct dync__partition_maker {
    const char *name;
    bool (*can)(void *user, const dync__node *, const char **why);
    /* plain sizes, the result a list; gives what dync__inner says */
    dync_status (*compile)(void *user, dync__graph *part, const dync__options *, dync__inner *out);
    void *user;
} dync__partition_maker;
/* The whole of g: parts that the maker can say by him, the others by inductor, in order. The log
 * (aot) and dync_explain_backend tell what went to dync, and why. */
DYNC__FN dync_status dync__partition_compile(const dync__partition_maker *, dync__graph *g,
                                             bool is_backward, const dync__options *,
                                             dync__inner *out);

/* ---- tvm_lib.c: values, calls, errors -------------------------------------------------------- */
/* TVM's tagged value, 16 bytes as its ABI has them; pad: the length of a short text, which stands
 * in the union itself. */
typedef struct dync__tvm_any {
    int32_t type; /* below 64 a plain value, else an object that is counted */
    uint32_t pad;
    union {
        int64_t i;
        double f;
        void *p;
        const char *s;
        dync__dl_dtype dtype;
    } as;
} dync__tvm_any;
enum {
    DYNC__TVM_NONE = 0,
    DYNC__TVM_INT = 1,
    DYNC__TVM_BOOL = 2,
    DYNC__TVM_FLOAT = 3,
    DYNC__TVM_DTYPE = 5,
    DYNC__TVM_VIEW = 7, /* a DLTensor * */
    DYNC__TVM_TEXT = 8,
    DYNC__TVM_SHORT_TEXT = 11,
    DYNC__TVM_OBJECT = 64,
    DYNC__TVM_LONG_TEXT = 65
};
/* The C functions that are used, found by name. Each returns 0 where it worked. */
typedef struct dync__tvm {
    int (*get_global)(const void *name, void **out);
    int (*call)(void *fn, dync__tvm_any *args, int32_t n, dync__tvm_any *out);
    int (*unref)(void *object);
    void (*take_error)(void **out);
} dync__tvm;
/* NULL: it is not there; where: what was looked for */
DYNC__FN const dync__tvm *dync__tvm_get(void);
DYNC__FN const char *dync__tvm_missing(void);

/* What is being built: objects live until the end; the first failure stays, later calls do
 * nothing. */
typedef struct dync__tvm_work {
    const dync__tvm *lib;
    DYNC__VEC(void *) owned;
    bool failed;
    char message[600];
} dync__tvm_work;
DYNC__FN dync__tvm_any dync__tvm_call(dync__tvm_work *, const char *name, int n,
                                      const dync__tvm_any *args);
#define DYNC__TVM(w, name, ...)                                                                    \
    dync__tvm_call(w, name, (int)(sizeof((dync__tvm_any[]){__VA_ARGS__}) / sizeof(dync__tvm_any)), \
                   (dync__tvm_any[]){__VA_ARGS__})
DYNC__FN void dync__tvm_end(dync__tvm_work *);
/* the pending error of TVM's into the work, or its first line into out */
DYNC__FN void dync__tvm_error(const dync__tvm *, char *out, size_t cap);
DYNC__FN dync__tvm_any dync__tvm_none(void);
DYNC__FN dync__tvm_any dync__tvm_int(int64_t);
DYNC__FN dync__tvm_any dync__tvm_bool(bool);
DYNC__FN dync__tvm_any dync__tvm_text(const char *);
DYNC__FN dync__tvm_any dync__tvm_dtype(int dtype);
/* an array of plain integers; of IntImm nodes, as shapes are; of values */
DYNC__FN dync__tvm_any dync__tvm_ints(dync__tvm_work *, int n, const int64_t *);
DYNC__FN dync__tvm_any dync__tvm_shape(dync__tvm_work *, int n, const int64_t *);
DYNC__FN dync__tvm_any dync__tvm_list(dync__tvm_work *, int n, const dync__tvm_any *);
/* a constant of dtype */
DYNC__FN dync__tvm_any dync__tvm_number(dync__tvm_work *, int dtype, double);

/* ---- tvm_rows.c: operators as TVM's tensor expressions --------------------------------------- */
/* The values of a part, by the index of their nodes, and which output of them. */
typedef struct dync__tvm_part {
    dync__tvm_work *w;
    dync__tvm_any (*value)[DYNC__MAX_OUT];
} dync__tvm_part;
/* tvm_pointwise.c: what rows are made of. */
DYNC__FN const dync__info *dync__tvm_info(const dync__arg *a);
DYNC__FN dync__tvm_any dync__tvm_cast(dync__tvm_work *w, dync__tvm_any x, int from, int to);
/* The value of an argument that is a node; as one of dtype, also of a number (dync__tvm_arg); the
 * dtype of the node's result (dync__tvm_out). */
DYNC__FN dync__tvm_any dync__tvm_value(dync__tvm_part *p, const dync__arg *a);
DYNC__FN dync__tvm_any dync__tvm_arg(dync__tvm_part *p, const dync__node *n, int i, int dtype);
DYNC__FN int dync__tvm_out(const dync__node *n);
/* Broadcast to the shape of `to`. Then short names of topi's functions of two and three values. */
DYNC__FN dync__tvm_any dync__tvm_spread(dync__tvm_part *p, dync__tvm_any x, const dync__info *to);
DYNC__FN dync__tvm_any dync__tvm_2(dync__tvm_part *p, const char *name, dync__tvm_any a,
                                   dync__tvm_any b);
DYNC__FN dync__tvm_any dync__tvm_mul(dync__tvm_part *p, dync__tvm_any a, dync__tvm_any b);
DYNC__FN dync__tvm_any dync__tvm_add(dync__tvm_part *p, dync__tvm_any a, dync__tvm_any b);
DYNC__FN dync__tvm_any dync__tvm_where(dync__tvm_part *p, dync__tvm_any c, dync__tvm_any a,
                                       dync__tvm_any b);
DYNC__FN dync__tvm_any dync__tvm_full(dync__tvm_part *p, const dync__info *like, double x);
DYNC__FN dync__tvm_any dync__tvm_is_number(dync__tvm_part *p, dync__tvm_any x, int dtype);
DYNC__FN dync__tvm_any dync__tvm_const(dync__tvm_part *p, const dync__node *n, double x);
typedef struct dync__tvm_row dync__tvm_row;
typedef dync__tvm_any (*dync__tvm_fn)(dync__tvm_part *, const dync__node *, const dync__tvm_row *);
struct dync__tvm_row {
    int op;
    char takes; /* f: floats of the result's dtype, c: floats, gives bool; b: bool; v: any; m: mask
                   and floats */
    dync__tvm_fn say;
    const char *topi;
};
#define DYNC__TVM_SAYS(X)   \
    X(dync__tvm_as_it_is)   \
    X(dync__tvm_binary)     \
    X(dync__tvm_cat)        \
    X(dync__tvm_compare)    \
    X(dync__tvm_conv)       \
    X(dync__tvm_expand)     \
    X(dync__tvm_extreme)    \
    X(dync__tvm_fill)       \
    X(dync__tvm_gelu)       \
    X(dync__tvm_largest)    \
    X(dync__tvm_leaky)      \
    X(dync__tvm_logical)    \
    X(dync__tvm_matmul)     \
    X(dync__tvm_norm)       \
    X(dync__tvm_permute)    \
    X(dync__tvm_reciprocal) \
    X(dync__tvm_reduce)     \
    X(dync__tvm_relu)       \
    X(dync__tvm_select)     \
    X(dync__tvm_silu)       \
    X(dync__tvm_slice)      \
    X(dync__tvm_slope)      \
    X(dync__tvm_softmax)    \
    X(dync__tvm_square)     \
    X(dync__tvm_threshold)  \
    X(dync__tvm_unary)      \
    X(dync__tvm_var)        \
    X(dync__tvm_view)
#define DYNC__X(fn) \
    DYNC__FN dync__tvm_any fn(dync__tvm_part *, const dync__node *, const dync__tvm_row *);
DYNC__TVM_SAYS(DYNC__X)
#undef DYNC__X
/* Can its row say the node? *why where not. */
DYNC__FN bool dync__tvm_can(const dync__node *, const char **why);
DYNC__FN void dync__tvm_say(dync__tvm_part *, const dync__node *);

/* ---- tvm_code.c: a part as a function -------------------------------------------------------- */
DYNC__FN dync_status dync__tvm_compile(void *user, dync__graph *, const dync__options *,
                                       dync__inner *out);
#endif
