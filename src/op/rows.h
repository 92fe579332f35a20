/* op/rows.h: the functions that the columns of ops.def.h name, declared. After op.h; private to
 * op/.
 *
 * infer dync__i_* (infer_*.c), expr dync__e_* (expr*.c), lower dync__l_* (lower*.c), decompose
 * dync__d_* (decompose_*.c, einsum.c, effects in eager.c). They are declared ahead of their files,
 * as the recursion is real: a decomposition calls operators, which are found in the table. */
#ifndef DYNC__ROWS_H
#define DYNC__ROWS_H
#include "op.h"

/* recursion: runs a decomposition over fakes */
DYNC__FN dync_status dync__i_composite(const dync__opcall *, dync__info *);

/* table.c: the columns of each row, which autograd/rows.c joins to its gradient */
#define DYNC__X(name, ...) DYNC__DATA_DECL const dync__op_row dync__columns_##name;
DYNC__OPS(DYNC__X)
#undef DYNC__X

/* ---- the functions that the columns name ----------------------------------------------------- */
/* Declared row by row, most of them many times. `none` is a column without a function: while a
 * column is declared, it stands for one of its functions. */
#undef dync__none
#define dync__none dync__i_binary
#define DYNC__X(name, cls, schema, nout, infer, ...) \
    DYNC__FN dync_status dync__##infer(const dync__opcall *, dync__info *);
DYNC__OPS(DYNC__X)
#undef DYNC__X
#undef dync__none
#define dync__none dync__e_add
#define DYNC__X(name, cls, schema, nout, infer, expr, ...) \
    DYNC__FN int dync__##expr(dync__lb *, const dync__opcall *, const int *);
DYNC__OPS(DYNC__X)
#undef DYNC__X
#undef dync__none
#define dync__none dync__l_sum
#define DYNC__X(name, cls, schema, nout, infer, expr, lower, ...)                               \
    DYNC__FN dync_status dync__##lower(dync__pb *, const dync__opcall *, const dync__operand *, \
                                       const dync__operand *);
DYNC__OPS(DYNC__X)
#undef DYNC__X
#undef dync__none
#define dync__none dync__d_linear
#define DYNC__X(name, cls, schema, nout, infer, expr, lower, grad, decompose, ...) \
    DYNC__FN dync_status dync__##decompose(dync__opcall *);
DYNC__OPS(DYNC__X)
#undef DYNC__X
#undef dync__none
#define dync__none NULL

/* ---- shared by infer*.c ---------------------------------------------------------------------- */
/* argument i, a tensor, or DYNC_ERR_VALUE */
DYNC__FN dync_status dync__infer_tensor(const dync__opcall *, int i, dync__tensor **out);
/* argument i is a tensor or a number */
DYNC__FN dync_status dync__infer_value(const dync__opcall *, int i);
/* of all tensors together; 0-dim CPU tensors mix */
DYNC__FN dync_status dync__infer_device(const dync__opcall *, int *device);
/* one that this build can allocate on */
/* row major */
DYNC__FN dync_status dync__infer_fresh(dync__info *, int dtype, int device, int ndim,
                                       const int64_t *shape);
/* dense, dims in the order of the operands'; how: see there */
typedef enum dync__strides_of { DYNC__SAME, DYNC__LIKE, DYNC__SORTED } dync__strides_of;
DYNC__FN dync_status dync__infer_like(dync__info *, int ndim, const int64_t *shape, int n,
                                      dync__tensor *const *, dync__strides_of how);
/* row major, or channels last where form is the rank */
DYNC__FN dync_status dync__infer_formed(dync__info *, int dtype, int device, int ndim,
                                        const int64_t *shape, int form);
DYNC__FN int dync__norm_form(const dync__tensor *);        /* of what batch_norm gives */
DYNC__FN int dync__infer_list_form(const dync__arg *list); /* that all of them have */
DYNC__FN dync_status dync__infer_floating(const dync__tensor *);
/* int64 or int32 */
DYNC__FN dync_status dync__infer_index(const dync__tensor *);
/* DIMS or one INT; none: all */
DYNC__FN dync_status dync__infer_dims(const dync__arg *dims, int ndim, bool *reduced);
/* Sizes, strides and offset as a layout that stays inside a storage of so many items. */
DYNC__FN dync_status dync__infer_strided(const dync__arg *size, const dync__arg *stride,
                                         int64_t offset, int64_t items, dync__layout *out);
/* The layout of a view (VIEW rows and their *_backward): from the layout it is taken of. */
DYNC__FN dync_status dync__view_select(const dync__layout *, int64_t dim, int64_t index,
                                       dync__layout *out);
/* Zeros in out, or where it pays around what is at `inside`, a part of it without steps. */
DYNC__FN dync_status dync__lower_around(dync__pb *, const dync__opcall *,
                                        const dync__operand *inside, const dync__operand *out);
DYNC__FN dync_status dync__view_slice(const dync__layout *, int64_t dim, int64_t start, int64_t end,
                                      int64_t step, dync__layout *out);
DYNC__FN dync_status dync__view_diagonal(const dync__layout *, int64_t offset, int64_t dim1,
                                         int64_t dim2, dync__layout *out);
/* the largest number of a floating dtype */
DYNC__FN double dync__infer_largest(int dtype);
/* the numbers of the functional row op fit their dtype, as PyTorch checks them */
DYNC__FN dync_status dync__infer_numbers(const dync__opcall *, int op);
/* an int64 argument, saturated to int */
DYNC__FN int dync__infer_int_dim(const dync__arg *);
/* argument i is a number */
DYNC__FN dync_status dync__infer_number(const dync__opcall *call, int i);
/* a number that the dtype holds */
DYNC__FN dync_status dync__infer_number_fits(const dync__arg *a, int dtype);
/* the dim that argument i names, wrapped */
DYNC__FN dync_status dync__infer_axis(const dync__opcall *call, int i, const dync__tensor *t,
                                      int *dim);
DYNC__FN bool dync__infer_same_shape(const dync__layout *a, const dync__layout *b);
/* DYNC_ERR_SHAPE: "text, got [2, 3] and [4]" */
DYNC__FN dync_status dync__infer_pair_error(const char *text, const dync__layout *a,
                                            const dync__layout *b);
/* of that rank, or DYNC_ERR_SHAPE that names it */
DYNC__FN dync_status dync__infer_rank(const dync__tensor *t, int rank, const char *what);
/* tensor i of a gradient: what the forward call gave, as `like` says */
DYNC__FN dync_status dync__infer_as_given(const dync__opcall *call, int i, const dync__info *like);
/* arguments 0 and 1, tensors of one dtype */
DYNC__FN dync_status dync__infer_two(const dync__opcall *call, dync__tensor **a, dync__tensor **b,
                                     int *device);

/* ---- shared by lower*.c ---------------------------------------------------------------------- */
/* Plan operand of tensor argument i (lists flattened before it); NULL if that argument is none. */
DYNC__FN const dync__operand *dync__lower_operand(const dync__opcall *, const dync__operand *in,
                                                  int i);
/* number argument i as a value */
DYNC__FN int dync__lower_number(dync__pb *, dync__lb *, const dync__opcall *, int i, int type);
/* src expanded to dst's shape, cast */
DYNC__FN dync_status dync__lower_copy(dync__pb *, const dync__operand *src,
                                      const dync__operand *dst);
DYNC__FN dync_status dync__lower_fill(dync__pb *, const dync__opcall *, int number_arg_or_minus_1,
                                      double value, const dync__operand *dst);
/* x, or where it is not row major a copy of it that is */
DYNC__FN dync_status dync__lower_row_major(dync__pb *, const dync__operand *x, dync__operand *out);
/* a row-major temporary */
DYNC__FN dync_status dync__lower_temp(dync__pb *, int dtype, int ndim, const int64_t *shape,
                                      dync__operand *out);
DYNC__FN dync_status dync__lower_pointwise(dync__pb *, const dync__opcall *,
                                           const dync__operand *in, const dync__operand *out);
/* A loop nest with builder: kernel of the given loops, in phase 0. dync__lower_end appends it. */
DYNC__FN bool dync__lower_begin(dync__pb *, dync__lb *, int n_outer, int n_dims,
                                const int64_t *extent);
DYNC__FN dync_status dync__lower_end(dync__pb *, dync__lb *);
/* strides per loop; offset of the operand's layout */
DYNC__FN int dync__lower_load(dync__lb *, const dync__operand *, const int64_t *stride);
/* cast and rounded to the operand's dtype */
DYNC__FN void dync__lower_store(dync__lb *, const dync__operand *, const int64_t *stride,
                                int value);
/* cumsum's loops */
DYNC__FN dync_status dync__lower_scan(dync__pb *, const dync__opcall *, const dync__operand *in,
                                      const dync__operand *out);
/* elements */
DYNC__FN int64_t dync__lower_count(const dync__layout *);
DYNC__FN dync_status dync__lower_kcall(dync__pb *, const dync__kcall_row *, int n,
                                       const dync__operand *operands, const dync__attr *);
/* with leading dims of size 1 */
DYNC__FN dync__operand dync__lower_lifted(const dync__operand *x, int rank);
DYNC__FN dync__operand dync__lower_written(const dync__operand *x, int rank);
/* x itself, or a row-major temporary with its elements in another dtype */
DYNC__FN dync_status dync__lower_as(dync__pb *pb, const dync__operand *x, int dtype,
                                    dync__operand *out);
/* a dim as inference found it, counted from the front */
DYNC__FN int dync__lower_axis(const dync__arg *a, int ndim);
DYNC__FN bool dync__lower_empty(const dync__operand *x);

/* ---- dispatch.c and eager*.c ----------------------------------------------------------------- */
enum {
#if defined(DYNC_SMALL)
    DYNC__EAGER_SETS = 16,
#else
    DYNC__EAGER_SETS = 512,
#endif
    DYNC__EAGER_WAYS = 2,
#if defined(DYNC_SMALL)
    DYNC__EAGER_INPUTS = 12, /* tensors of one call; longer lists are joined in groups */
#else
    DYNC__EAGER_INPUTS = 64,
#endif
};
/* of a thread, at dync__tls.op_state; NULL until needed */
typedef struct dync__op_state {
    dync__handler *bottom; /* a tracer in the place of eager, or NULL */
    struct dync__eager_entry *entry[DYNC__EAGER_SETS][DYNC__EAGER_WAYS];
} dync__op_state;
/* makes it; NULL: no memory */
DYNC__FN dync__op_state *dync__op_state_get(void);
/* recursion: eager runs composites through dispatch.c; frees the entries */
DYNC__FN void dync__eager_forget(dync__op_state *);
/* recursion: the bottom handler, which dispatch.c calls */
DYNC__FN dync_status dync__eager(dync__opcall *);
/* index values in range, divisors not 0: real data only */
DYNC__FN dync_status dync__eager_check_data(const dync__opcall *);
/* is there any to look at, each time? */
DYNC__FN bool dync__eager_checks_data(const dync__opcall *);
/* recursion: links both, for the inference of rows whose flags ask for them */
DYNC__FN void dync__eager_checks(void);
/* recursion: the same for rows that ask for numbers alone */
DYNC__FN void dync__eager_numbers(void);
/* recursion: links what runs operators in place, for their inference */
DYNC__FN void dync__eager_writes(void);
/* recursion: the same of the check of divisors in plans */
DYNC__FN void dync__lower_divisors(void);
/* a fake or META tensor among the arguments, or META asked for */
DYNC__FN bool dync__eager_has_no_data(const dync__opcall *call);
/* the results as forms alone */
DYNC__FN dync_status dync__eager_form(dync__opcall *call);
/* by a cached plan */
DYNC__FN dync_status dync__eager_plan(dync__opcall *call);
/* the row that computes the value of an in-place one; else its own */
DYNC__FN const dync__op_row *dync__eager_functional(const dync__opcall *call, int *op);

/* What dync__tls named before the call, to be put back: public functions may call each other. */
typedef struct dync__public_frame {
    const char *op;
    dync_loc at;
} dync__public_frame;

/* public.c */
DYNC__FN dync__public_frame dync__public_begin(const char *op, dync_loc at);
DYNC__FN void dync__public_end(const dync__public_frame *f);
DYNC__RARE DYNC__FN const dync__read_intercept *dync__public_reads(void);

/* infer_view.c */
DYNC__FN dync_status dync__infer_view(const dync__opcall *call, dync__tensor **t, dync__info *out);
DYNC__FN dync_status dync__infer_dim(const dync__arg *a, int ndim, int *out);
DYNC__FN void dync__infer_drop_dim(dync__layout *l, int dim);

/* expr.c: short names of primitives over loop-IR values; _const is of v's type */
DYNC__FN int dync__ex1(dync__lb *b, int prim, int x);
DYNC__FN int dync__ex2(dync__lb *b, int prim, int x, int y);
DYNC__FN int dync__ex_add(dync__lb *b, int x, int y);
DYNC__FN int dync__ex_sub(dync__lb *b, int x, int y);
DYNC__FN int dync__ex_mul(dync__lb *b, int x, int y);
DYNC__FN int dync__ex_div(dync__lb *b, int x, int y);
DYNC__FN int dync__ex_lt(dync__lb *b, int x, int y);
DYNC__FN int dync__ex_select(dync__lb *b, int c, int x, int y);
DYNC__FN bool dync__ex_is_float(const dync__lb *b, int v);
DYNC__FN bool dync__ex_is_bool(const dync__lb *b, int v);
DYNC__FN int dync__ex_const(dync__lb *b, int v, double x);
DYNC__FN int dync__ex_zero(dync__lb *b, int v);

enum { DYNC__EAGER_WORDS = 160 };

/* n words; n counts on past the array, so that a key too long is told (fits false: not cached). */
typedef struct dync__eager_key {
    int n;
    uint64_t hash, word[DYNC__EAGER_WORDS];
    bool fits;
} dync__eager_key;

/* Of one key; owned by the set that holds it, or by the call where it could not be kept. out: what
 * inference said, so that a hit does not infer again. */
typedef struct dync__eager_entry {
    uint64_t hash;
    dync__plan *plan; /* NULL: nothing to run */
    dync__info out[DYNC__MAX_OUT];
    uint64_t *word;
    int n_words;
    bool checks_data; /* indices or divisors are looked at before running */
    bool tried;       /* eager_whole.c: a plan was asked for; NULL then: there is none */
} dync__eager_entry;

/* eager_plan.c */
DYNC__FN bool dync__eager_numbers_float(const dync__opcall *call);
DYNC__FN void dync__key_make(dync__eager_key *k, const dync__opcall *call);
DYNC__RARE DYNC__FN void dync__eager_entry_free(dync__eager_entry *e);
DYNC__FN dync__eager_entry *dync__eager_find(const dync__eager_key *k);
DYNC__RARE DYNC__FN bool dync__eager_keep(const dync__eager_key *k, dync__eager_entry *e);
/* eager_run.c: the plan on the call's tensors; results are made */
DYNC__FN dync_status dync__eager_execute(dync__opcall *call, const dync__eager_entry *e);
/* recursion: a composite by a plan of its own; *done false: the caller runs its decomposition */
/* it really runs, in main memory, with nobody above or watching */
DYNC__FN bool dync__whole_may(const dync__opcall *call);
DYNC__FN dync_status dync__eager_whole(dync__opcall *call, bool *done);
#endif
