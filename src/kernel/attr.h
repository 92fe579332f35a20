/* kernel/attr.h: what a kernel call is told beside its operands, by name. Before kernel.h.
 *
 * One list of fields per form. From it come the struct that lowering fills and kernels read
 * (call->attr.conv.groups), and the rows by which a plan prints it. A kernel names its form in
 * DYNC__KERNELS (kernel.h); kernels of one family share one.
 *
 *   NUMBER  int64_t                        FLAG   bool
 *   PAIR    int64_t[2]: down, across       REAL   double
 *   PLACE   which operand it is, -1: none  ROLES  a PLACE for each DYNC__RNN_ role */
#ifndef DYNC__KERNEL_ATTR_H
#define DYNC__KERNEL_ATTR_H
#include "../codegen/codegen.h"

/* What an operand of rnn_layer and its gradient is: the input's share of the gates [L, N, gates H]
 * (its gradient), the recurrent weight [gates H, H] and bias, states at the start [N, H], outputs
 * [L, N, H], the last c, what backward wants: c of every step (GRU: the state's share of n) and the
 * gates; incoming gradients of outputs and c, gradients of the states at the start. */
enum {
    DYNC__RNN_IN,
    DYNC__RNN_W,
    DYNC__RNN_BIAS,
    DYNC__RNN_H0,
    DYNC__RNN_C0,
    DYNC__RNN_OUT,
    DYNC__RNN_CN,
    DYNC__RNN_CELLS,
    DYNC__RNN_GATES,
    DYNC__RNN_GOUT,
    DYNC__RNN_GC,
    DYNC__RNN_GH0,
    DYNC__RNN_GC0,
    DYNC__RNN_ROLES
};

/* clang-format off */
#define DYNC__ATTR_conv(X, F) \
    X(F, PAIR, stride) X(F, PAIR, pad) X(F, PAIR, dilation) X(F, NUMBER, groups) \
    X(F, NUMBER, winograd)     /* places of a side of a tile; 0: not by tiles */
#define DYNC__ATTR_pool(X, F) \
    X(F, PAIR, kernel) X(F, PAIR, stride) X(F, PAIR, pad) X(F, PAIR, dilation) X(F, FLAG, ceil) \
    X(F, FLAG, include_pad)    /* averages: padding counts in the divisor */ \
    X(F, NUMBER, divisor)      /* averages: in place of the window's size; 0: none */
#define DYNC__ATTR_scan(X, F)      X(F, NUMBER, dim)
#define DYNC__ATTR_sort(X, F)      X(F, NUMBER, dim) X(F, FLAG, descending)
#define DYNC__ATTR_scatter(X, F)   X(F, NUMBER, dim) X(F, REAL, alpha) /* times what index_add adds */
#define DYNC__ATTR_fourier(X, F) \
    X(F, NUMBER, n)            /* numbers that are transformed, or come of half a spectrum */ \
    X(F, FLAG, pairs)          /* of x: complex numbers */ \
    X(F, FLAG, back) X(F, FLAG, half) /* half: of real numbers, or (back) to such */ \
    X(F, REAL, scale)
#define DYNC__ATTR_pad(X, F)       X(F, NUMBER, element) /* of the border: its bits */
#define DYNC__ATTR_index(X, F)     X(F, NUMBER, size) /* indices are 0 to size - 1 */
#define DYNC__ATTR_attention(X, F) X(F, FLAG, causal) X(F, FLAG, fast) X(F, PLACE, mask) X(F, REAL, scale)
#define DYNC__ATTR_rnn(X, F) \
    X(F, NUMBER, gates)        /* 1: RNN, 3: GRU, 4: LSTM */ \
    X(F, FLAG, reverse) X(F, FLAG, fast) X(F, ROLES, role)
#define DYNC__ATTRS(X) X(conv) X(pool) X(scan) X(sort) X(scatter) X(fourier) X(pad) X(index) X(attention) X(rnn)
/* clang-format on */

#define DYNC__FIELD_NUMBER(name) int64_t name;
#define DYNC__FIELD_PAIR(name) int64_t name[2];
#define DYNC__FIELD_FLAG(name) bool name;
#define DYNC__FIELD_REAL(name) double name;
#define DYNC__FIELD_PLACE(name) int8_t name;
#define DYNC__FIELD_ROLES(name) int8_t name[DYNC__RNN_ROLES];
#define DYNC__FIELD(form, type, name) DYNC__FIELD_##type(name)
#define DYNC__X(form)                        \
    typedef struct dync__attr_##form {       \
        DYNC__ATTR_##form(DYNC__FIELD, form) \
    } dync__attr_##form;
DYNC__ATTRS(DYNC__X)
#undef DYNC__X

/* opaque: a node of a graph as a step (inductor/opaque.c, control.c), which no table holds. */
typedef union dync__attr {
#define DYNC__X(form) dync__attr_##form form;
    DYNC__ATTRS(DYNC__X)
#undef DYNC__X
    struct {
        const struct dync__node *node;
        int device;
        bool fast_math;
        /* where the node's sizes are symbolic, for prepare alone: their table, the values of its
         * symbols, and what pieces made for all of them, or NULL */
        const struct dync__symtab *syms;
        const int64_t *value;
        const void *inside;
    } opaque;
} dync__attr;

typedef enum {
    DYNC__ATTR_NUMBER,
    DYNC__ATTR_PAIR,
    DYNC__ATTR_FLAG,
    DYNC__ATTR_REAL,
    DYNC__ATTR_PLACE,
    DYNC__ATTR_ROLES
} dync__attr_type;
/* where it stands in dync__attr; the last one has no name */
typedef struct dync__attr_field {
    const char *name;
    uint8_t type;
    uint16_t offset;
} dync__attr_field;
/* " stride [2, 2] groups 1"; nothing where fields is NULL */
DYNC__FN void dync__attr_print(dync__str *, const dync__attr_field *fields, const dync__attr *);
#endif
