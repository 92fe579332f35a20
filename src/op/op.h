/* op/op.h: operators: the table's types, inference, lowering, dispatch. After runtime/, before
 * autograd/.
 *
 * Every operator call, whoever makes it, passes dync__dispatch: a stack of handlers per thread.
 *   capture's tracer (records a node)  > the tape (autograd/) > the bottom: eager (runs a cached
 *                                      one-operator plan),
 *   or another tracer in its place (AOT, make_graph).
 * A handler calls what is below by self->below. Composite operators without a lowering are expanded
 * by their decompose function, which calls operators again from the top of the stack. */
#ifndef DYNC__OP_H
#define DYNC__OP_H
#include "arg.h"

/* ---- the table ------------------------------------------------------------------------------- */
typedef enum {
    DYNC__POINTWISE, /* one loop over the broadcast shape: expr */
    DYNC__REDUCE,    /* expr maps, then a reduction over dims, then post */
    /* shares its first argument's storage: infer gives the layout, nothing runs */
    DYNC__VIEW,
    DYNC__FACTORY,   /* no tensor arguments */
    DYNC__KERNEL,    /* own lowering to kernel calls or special loops */
    DYNC__COMPOSITE, /* decompose only */
    /* writes its first argument and returns it; inplace_of names the functional row */
    DYNC__INPLACE,
    DYNC__EFFECT /* recorded and replayed for its effect (set_grad_enabled, manual_seed) */
} dync__op_class;
enum { DYNC__OP_none = -1 }; /* in the column inplace_of */
/* ops.def.h: X(name, class, schema, nout, infer, expr, lower, grad, decompose, fx, flags,
 * inplace_of, doc). Each layer expands the columns it owns (op/table.c makes dync__op_row,
 * autograd/grads.c the gradient table), so no layer names one above it. `none` in a function column
 * is NULL. Functions: infer dync__i_*, expr dync__e_*, lower dync__l_*, grad dync__g_*, decompose
 * dync__d_*. */
typedef struct dync__op_row {
    const char *name; /* PyTorch's */
    /* "(Value self, Value other)"; types: Tensor Tensor? Value Value? int int64 float bool Dims
     * Dtype Tensor[] str; "-> Tensor" is implied, "-> (Tensor, Tensor)" where several */
    const char *schema;
    dync__op_class cls;
    int nout;
    int inplace_of; /* row, or -1 */
    /* shapes, dtypes, strides; every error message about arguments comes from here */
    dync_status (*infer)(const dync__opcall *, dync__info *out);
    /* POINTWISE: in[i] is argument i: a loaded tensor or a number, cast to the computing dtype
     * (masks to BOOL), -1 for others; gives the value (before rounding to the output dtype) */
    int (*expr)(dync__lb *, const dync__opcall *, const int *in);
    /* NULL: the class's own */
    dync_status (*lower)(dync__pb *, const dync__opcall *, const dync__operand *in,
                         const dync__operand *out);
    /* sets out[] by calling operators */
    dync_status (*decompose)(dync__opcall *);
    /* "torch.relu", ".view" (method), "+" (infix) : how torch.fx text prints it */
    const char *fx;
    uint32_t flags;
} dync__op_row;
/* Operators with functions inside have as many outputs as those give: -1 in the column nout. */
DYNC__INLINE bool dync__row_is_control(const dync__op_row *row) { return row->nout < 0; }
DYNC__INLINE int dync__opcall_nout(const dync__opcall *c)
{
    int n = c->row->nout;
    for (int i = 0; c->row->nout < 0 && i < c->nargs; i++)
        if (c->args[i].kind == DYNC__A_GRAPH) n = c->args[i].n;
    return n;
}
/* Facts about an operator, for all who would otherwise compare its number. Of an INPLACE row the
 * functional row's hold where they are about values. */
enum {
    /* results */
    DYNC__OP_NONDIFF = 1 << 0,    /* integer or boolean results, detach */
    DYNC__OP_RANDOM = 1 << 1,     /* draws random numbers */
    DYNC__OP_FLOAT = 1 << 2,      /* int inputs become the default float dtype */
    DYNC__OP_BOOL_OUT = 1 << 3,   /* comparisons */
    DYNC__OP_KEEP_INT = 1 << 4,   /* sum: small ints become I64 */
    DYNC__OP_DATA_SHAPE = 1 << 5, /* output shape depends on data: opaque break in capture */
    DYNC__OP_MAY_ALIAS = 1 << 6, /* may give its argument back, though the class makes new memory */
    /* who may call it, who runs it */
    DYNC__OP_PRIVATE = 1 << 7, /* no public function */
    DYNC__OP_FILE = 1 << 8,   /* a private row that program files may name, as they may public ones:
                                * its inference believes no caller */
    DYNC__OP_OPAQUE = 1 << 9, /* tracers never expand it; decompose runs it on real tensors */
    /* may write arguments though not INPLACE: batch_norm's running statistics; never dropped, moved
     * or shared */
    DYNC__OP_WRITES = 1 << 10,
    DYNC__OP_RETARGETS = 1 << 11, /* argument 0 lies on other memory afterwards */
    DYNC__OP_CUTS_GRAD = 1 << 12, /* holds gradients back */
    /* arguments */
    DYNC__OP_DIVIDES = 1 << 13,       /* by argument 1: integers not by zero */
    DYNC__OP_GATHERS = 1 << 14,       /* reads by an index; checked by the plan on the CPU */
    DYNC__OP_SCATTERS = 1 << 15,      /* writes by an index, checked before */
    DYNC__OP_FITS = 1 << 16,          /* numbers are asked for (dync__infer_numbers) */
    DYNC__OP_BOUNDS = 1 << 17,        /* numbers are bounds, which may lie outside of the dtype */
    DYNC__OP_FIXED_NUMBERS = 1 << 18, /* the loop follows from a number: none of run time */
    DYNC__OP_ARITH = 1 << 19,         /* a number is worth the 0-dim tensor of it */
    DYNC__OP_MASK_0 = 1 << 20,        /* argument 0 is a condition: stays BOOL */
    DYNC__OP_MASK_1 = 1 << 21,        /* argument 1 */
    DYNC__OP_SIZES = 1 << 22,         /* all arguments but self follow from the result's sizes */
    DYNC__OP_STRIDED = 1 << 23, /* strides and offset by number: places in the memory itself */
    DYNC__OP_BEYOND = 1 << 24,  /* and beyond the elements of self, counted from the storage */
    /* worth */
    DYNC__OP_CHEAP = 1 << 25, /* worth recomputing */
    DYNC__OP_FUSES = 1 << 26, /* loops that may be computed again, whatever the class */
    /* how much work it is beyond its tensors' elements (graph/check.c): one of these */
    DYNC__OP_WORK = 15 << 27,
    DYNC__OP_WORK_PRODUCT = 1 << 27,   /* the last dim of argument 0, for each result */
    DYNC__OP_WORK_ADDMM = 2 << 27,     /* the same behind a bias */
    DYNC__OP_WORK_CONV = 3 << 27,      /* a window of all channels, for each result */
    DYNC__OP_WORK_CONV_GRAD = 4 << 27, /* twice that */
    DYNC__OP_WORK_WINDOW = 5 << 27,    /* argument 1's window */
    DYNC__OP_WORK_ATTENTION = 6 << 27,
    DYNC__OP_WORK_RECURRENT = 7 << 27,
    DYNC__OP_WORK_SORT = 8 << 27
};
/* May a number argument be one of run time? */
DYNC__INLINE bool dync__row_takes_numbers(const dync__op_row *row)
{
    return (row->cls == DYNC__POINTWISE && !(row->flags & DYNC__OP_FIXED_NUMBERS)) ||
           (row->cls == DYNC__FACTORY && row->flags & DYNC__OP_FITS);
}
/* DYNC__OPS(X): the rows; their numbers, DYNC__OP_add, are in api/ops.h */
#include "ops.def.h"
/* Operators are numbers inside; what a number stands for is known once a row was used: by a call of
 * the operator's macro or function, by DYNC__USED here, or all of them by name. So a program links
 * the rows that it calls, with what their columns call, and no others; those who call by a number
 * that they were given write (dync__op_run)(op, ...), others are made to name it. */
DYNC__FN int dync__op_use(const dync__row *); /* its number */
#define DYNC__USED(op) dync__op_use(&op##_row)
DYNC__FN const dync__row *dync__op_row_of(int op); /* of a row in use; NULL: of a custom operator */
DYNC__FN void dync__op_use_all(void);              /* links every operator */
DYNC__FN const dync__op_row *dync__op_info(int op);
/* An element as a number, which is a symbol in a graph: its "size" is the number, moved. */
DYNC__INLINE bool dync__op_is_nms(int op) { return op == DYNC__OP_nms || op == DYNC__OP__nms_each; }
DYNC__INLINE bool dync__op_is_item(int op) { return op == DYNC__OP__local_scalar_dense; }
/* That such a number lies between two bounds. */
DYNC__INLINE bool dync__op_is_range(int op) { return op == DYNC__OP__check_range; }
/* An effect on what is recorded for gradients: turns that on or off. */
DYNC__INLINE bool dync__row_sets_grad_mode(const dync__op_row *row)
{
    return row->cls == DYNC__EFFECT && (row->flags & DYNC__OP_CUTS_GRAD) != 0;
}
DYNC__INLINE bool dync__op_sets_grad_mode(int op)
{
    return op >= 0 && dync__row_sets_grad_mode(dync__op_info(op));
}
/* arith.c: how a call with symbolic numbers is written; NULL: there is none. */
typedef struct dync__arith {
    const char *name, *sign; /* dync_sym_<name>; as sympy writes it */
    bool sum;                /* in parentheses where it is an operand of what is tight */
    bool tight, tight_right; /* so are its operands that are sums; the right one */
    bool swaps;              /* a plain number stands first: 2*s0 */
    bool closed;             /* stands in parentheses everywhere */
} dync__arith;
DYNC__FN const dync__arith *dync__op_arith(int op);
DYNC__FN int dync__op_find(const char *name); /* -1 if there is none */
/* Operators of the user's with a meta function (custom.c): numbers from DYNC__N_OPS on, known to
 * dync__op_info and dync__op_find. */
DYNC__FN dync_status dync__custom_add(const char *name, const char *schema, dync_function impl,
                                      dync_function meta, void *user);
/* rows that programs register, numbered from DYNC__N_OPS on (table.c); NULL: none */
DYNC__FN const dync__op_row *dync__custom_info(int op);
/* -1: none of that name is registered */
DYNC__FN int dync__custom_find(const char *name);
enum { DYNC__MAX_CUSTOM = DYNC__SMALLER(16, 1024) };
/* custom.c holds its lock; false: there are as many as there may be. Then the last one leaves, NULL
 * where there is none. */
DYNC__FN bool dync__table_add(const dync__op_row *);
DYNC__FN const dync__op_row *dync__table_drop(void);
/* what such a number stands for */
DYNC__FN bool dync__hook_of(int64_t number, dync_hook *fn, void **user);
/* the second argument of trace_wrapped; -1: no memory */
DYNC__FN int dync__hook_number(dync_hook fn, void *user);

/* ---- boxes (nms.c), which the reader of ONNX has, too ---------------------------------------- */
/* Non-maximum suppression: at most `most` boxes that score above `least`, none of which overlaps a
 * kept one by more than `overlap`; narrow: as float32 rounds. */
typedef struct dync__nms {
    int64_t most;
    double overlap, least;
    bool narrow;
    DYNC__VEC(int64_t) kept; /* the caller's */
} dync__nms;
/* adds to s->kept which of n boxes x1 y1 x2 y2 stay, from the best on */
DYNC__FN dync_status dync__nms_run(dync__nms *s, const double *box, const double *score, int64_t n);

/* ---- dispatch (dispatch.c) ------------------------------------------------------------------- */
typedef struct dync__handler {
    dync_status (*call)(struct dync__handler *self, dync__opcall *);
    struct dync__handler *below;
    void *state;
    /* May be NULL. Asked first, with handles as they came: the result of a call that it knows;
     * NULL: the call takes the long way. */
    dync_tensor *(*known)(struct dync__handler *self, int op, int nargs, const dync__arg *args,
                          const dync_loc *at);
    /* Of one at the bottom: what reads are while it records; NULL: plain ones. */
    const struct dync__read_intercept *reads;
} dync__handler;
/* on top of this thread's stack */
DYNC__FN void dync__handler_push(dync__handler *);
DYNC__FN void dync__handler_pop(dync__handler *); /* it must be the top */
/* Takes the whole stack away (returns the old top) and puts it back: for code that must run really,
 * e.g. inside a trace. */
DYNC__FN dync__handler *dync__handler_swap(dync__handler *top);
/* The bottom: eager, or a tracer put in its place (AOT, make_graph), which the tape then sits on.
 * Returns the one before; NULL is eager. */
DYNC__FN dync__handler *dync__bottom_swap(dync__handler *bottom);
DYNC__FN dync_status dync__dispatch(dync__opcall *); /* from the top */
/* the bottom in force: no tape, no capture. The tape runs its operator through this */
DYNC__FN dync_status dync__dispatch_bottom(dync__opcall *);
DYNC__DATA_DECL int32_t dync__anomaly_now;
DYNC__INLINE bool dync__anomaly_on(void)
{
    return DYNC__UNLIKELY(DYNC__ATOMIC_PEEK(&dync__anomaly_now) != 0);
}
/* anomaly.c: the call by dispatch; an error where it makes the first NaN or infinity. NULL until
 * anomaly mode was on, so that a program that never asks for it links none of it. */
DYNC__DATA_DECL dync_status (*dync__anomaly_watch)(dync__opcall *,
                                                   dync_status (*dispatch)(dync__opcall *));
/* the handler under self, or the bottom */
DYNC__FN dync_status dync__dispatch_below(dync__handler *self, dync__opcall *);
/* The tape installs itself here: called instead of the bottom when no handler is (left) on the
 * stack. Defined, with its value, in autograd/tape.c. */
DYNC__DATA_DECL dync_status (*dync__tape_hook)(dync__opcall *);
/* Public entry: opens handles, checks argument kinds, dispatches, gives the result to the scope. */
DYNC__FN dync_tensor *dync__op_call(int op, int nargs, dync__arg *args, dync_loc at);
#define dync__op_call(op, ...) (dync__op_call)(DYNC__USED(op), __VA_ARGS__)
/* several outputs: a list */
DYNC__FN dync_value dync__op_call_list(int op, int nargs, dync__arg *args, dync_loc at);
#define dync__op_call_list(op, ...) (dync__op_call_list)(DYNC__USED(op), __VA_ARGS__)
/* Internal: arguments opened; owned results in out. at: that of the thread. */
DYNC__FN dync_status dync__op_run(int op, int nargs, dync__arg *args, dync__tensor **out);
#define dync__op_run(op, ...) (dync__op_run)(DYNC__USED(op), __VA_ARGS__)

/* The library's own calls by the macros of api/ops.h, some 1,500: dims by address, and operators of
 * two values by what their operands are: t a tensor, f a float, i an integer, v a dync_value. What
 * is none of these is an error of the compiler. dync.in.h's last lines end it. */
#undef DYNC_OP_DIMS
#undef DYNC_D_OF
#define DYNC_OP_DIMS(f, p, op, ...) p##_of(&op##_row, __VA_ARGS__, NULL)
#define DYNC_D_OF(x, what) \
    (const dync_dims[]) { x }
DYNC__FN dync_tensor *dync__op_tt(const dync__row *, dync_tensor *, dync_tensor *);
DYNC__FN dync_tensor *dync__op_tf(const dync__row *, dync_tensor *, double);
DYNC__FN dync_tensor *dync__op_ti(const dync__row *, dync_tensor *, int64_t);
DYNC__FN dync_tensor *dync__op_tv(const dync__row *, dync_tensor *, dync_value);
DYNC__FN dync_tensor *dync__op_ft(const dync__row *, double, dync_tensor *);
DYNC__FN dync_tensor *dync__op_it(const dync__row *, int64_t, dync_tensor *);
DYNC__FN dync_tensor *dync__op_iv(const dync__row *, int64_t, dync_value);
DYNC__FN dync_tensor *dync__op_vt(const dync__row *, dync_value, dync_tensor *);
DYNC__FN dync_tensor *dync__op_vi(const dync__row *, dync_value, int64_t);
DYNC__FN dync_tensor *dync__op_vv(const dync__row *, dync_value, dync_value);
#if defined(__GNUC__)
#undef DYNC_OP_TWO
#define DYNC_OP_TWO(f, p, op, x, y) \
    DYNC__OP_TWO(DYNC_CAT(dync_x_, __COUNTER__), DYNC_CAT(dync_y_, __COUNTER__), op, x, y)
/* x before y, as DYNC_SEQ2 has it */
#define DYNC__OP_TWO(x_, y_, op, x, y)                                                          \
    (__extension__({                                                                            \
        __auto_type x_ = (x);                                                                   \
        __auto_type y_ = (y);                                                                   \
        _Generic(x_,                                                                            \
            dync_tensor *: DYNC__OP_BY(y_, dync__op_tt, dync__op_tf, dync__op_ti, dync__op_tv), \
            dync_value: DYNC__OP_BY(y_, dync__op_vt, 0, dync__op_vi, dync__op_vv),              \
            double: dync__op_ft,                                                                \
            float: dync__op_ft,                                                                 \
            int: DYNC__OP_BY(y_, dync__op_it, 0, 0, dync__op_iv),                               \
            int64_t: dync__op_it)(&op##_row, x_, y_);                                           \
    }))
#define DYNC__OP_BY(y, t, f, i, v) \
    _Generic(y, dync_tensor *: t, double: f, float: f, int: i, long: i, long long: i, dync_value: v)
#endif

/* ---- inference and lowering ------------------------------------------------------------------ */
DYNC__FN dync_status dync__op_infer(const dync__opcall *, dync__info *out); /* the row's */
/* The layout of a new tensor like `of`, as clone gives it: the same strides where `of` is dense,
 * else its dims in their order, without gaps. */
DYNC__FN dync_status dync__layout_like(const dync__layout *of, dync__layout *out);
/* PyTorch's memory format of a tensor: its rank, 4 or 5, where it is channels last, else 0 */
DYNC__FN int dync__layout_form(const dync__layout *);
/* sets out[] to fake tensors by infer: what tracers do. Aliases share the argument's storage */
DYNC__FN dync_status dync__op_fake(dync__opcall *);
/* data_shape.c: operators whose results have a size, or are a number, that data decide; between
 * which, and the type with that size */
DYNC__FN bool dync__op_is_counted(int op);
DYNC__FN dync_status dync__data_range(const dync__opcall *, int64_t *least, int64_t *most);
DYNC__FN dync_status dync__data_type(const dync__opcall *, int64_t size, dync__info *out);
/* Appends the operator's steps to the builder. in: one operand per tensor argument in order (lists
 * flattened), out: per output. Views append nothing. Composites are not lowered
 * (DYNC_ERR_INTERNAL): expand them first. */
/* Its decomposition; what fails inside may name it (dync__tls.within). */
DYNC__FN dync_status dync__op_decompose(dync__opcall *);
DYNC__FN dync_status dync__op_lower(dync__pb *, const dync__opcall *, const dync__operand *in,
                                    int n_in, const dync__operand *out);
DYNC__FN bool dync__op_can_lower(int op);
/* lower.c: what an element of a POINTWISE result costs, in additions; 0: unknown */
DYNC__FN int dync__op_cost(const dync__opcall *, dync__arena *);
/* In-place operators: the error where an operand shares a part of what is written (eager.c). */
DYNC__FN dync_status dync__op_overlap(const dync__opcall *);
/* The dtype a POINTWISE operator computes with: its operands are cast to it. Its compute type is
 * dync__dtype_info(d)->compute. */
DYNC__FN int dync__op_common_dtype(const dync__opcall *);
/* Operators with functions inside: graph/ knows what those are (graph/control.c). */
DYNC__DATA_DECL dync_status (*dync__control_infer)(const dync__opcall *, dync__info *);
DYNC__DATA_DECL dync_status (*dync__control_run)(dync__opcall *);
/* None of its floats is a lost token (tensor/sym.h). */
DYNC__FN dync_status dync__opcall_numbers(const dync__opcall *);
/* Tensor arguments in order, lists flattened; returns how many (may exceed cap: then nothing beyond
 * cap is written). */
DYNC__FN int dync__opcall_tensors(const dync__opcall *, dync__tensor **out, int cap);

/* ---- reads ----------------------------------------------------------------------------------- */
/* what dync__opaque_begin began */
typedef struct dync__opaque {
    void (*end)(void *tracer);
    void *tracer;
} dync__opaque;
/* How whole tensors are compared: over their data, by operators, whose one truth a trace can branch
 * on, or not at all (refused, recorded). */
typedef enum dync__comparing {
    DYNC__BY_DATA,
    DYNC__BY_OPERATORS,
    DYNC__NOT_COMPARED
} dync__comparing;
/* What the C program learns from a tensor's data, asked first when a function is being traced or
 * the tensor is fake. capture/ installs it. A function that returns true has handled the call and
 * left the answer; one that is NULL or returns false leaves it to the plain read. */
typedef struct dync__read_intercept {
    bool (*item)(const dync_tensor *, double *result);
    bool (*truth)(const dync_tensor *, bool *result); /* dync_bool */
    bool (*data)(const dync_tensor *, void **result);
    /* dync_str, dync_print: puts the tensor to be shown in the place of the given one, until *out
     * is ended; false: refused */
    bool (*shows)(bool print, dync_tensor **, dync__opaque *out);
    /* dync_equal, dync_allclose: how they are to compare */
    dync__comparing (*compares)(const char *op, const dync_tensor *, const dync_tensor *);
    /* dync_from; borrow: dync_wrap; from: makes the tensor, as the caller would */
    bool (*from)(const dync_make_from *, bool borrow, dync_tensor *(*from)(dync_make_from),
                 dync_tensor **result);
    /* dync_constant */
    bool (*constant)(const dync_make_from *, dync_tensor *(*from)(dync_make_from),
                     dync_tensor **result);
    bool (*opaque)(const char *reason, int n, dync_value *values, dync__opaque *out);
} dync__read_intercept;
/* eager_run.c: a value of a trace that is over */
DYNC__FN dync_status dync__fail_kept(const dync__tensor *);
/* Of the handler at the bottom, or NULL. */
DYNC__FN const dync__read_intercept *dync__bottom_reads(void);
DYNC__FN dync_status dync__fail_no_data(void); /* a tensor that stands for others is read */
/* Around what works on real data in no graph: files, single nodes of autograd. In a traced function
 * the graph is cut, `values` become the real ones, and tracing rests until the end. false: refused
 * (recorded). */
DYNC__FN bool dync__opaque_begin(const char *reason, int n, dync_value *values, dync__opaque *out);
DYNC__INLINE void dync__opaque_end(const dync__opaque *o)
{
    if (o->end) o->end(o->tracer);
}
/* NULL until capture/ installs it; it returns NULL when nothing is traced */
DYNC__DATA_DECL const dync__read_intercept *(*dync__read_intercept_get)(void);
#endif
