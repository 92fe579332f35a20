/* program/csource.h: what the parts of the C exporter share: csource.c plans, csource_steps.c,
 * csource_recurrent.c, csource_control.c and csource_calls.c write functions, csource_face.c what
 * the user calls, csource_print.c the file. */
#ifndef DYNC__CSOURCE_H
#define DYNC__CSOURCE_H
#include "../inductor/inductor.h"
#include "../runtime/plan.h"
#include "program.h"

typedef struct dync__csource_slot {
    bool in_arena, copied_out; /* copied_out: an output of the graph is read from it at the end */
    int output;                /* the output that it is, or -1 */
    int first, last;           /* steps that touch it, -1 none */
    int64_t offset;            /* in the arena */
} dync__csource_slot;

/* A C function of the file: equal ones are one. `@` stands for the name in its text. */
typedef struct dync__csource_fn {
    const char *text, *name;
    uint64_t uses; /* symbols that it takes behind all else, by bits */
} dync__csource_fn;

/* What is done to each result of a call before it is stored. */
typedef struct dync__csource_after {
    const dync__kernel *k; /* NULL: nothing */
    int in, out, load;     /* its buffer that is the result, the one it stores to; an access */
    int64_t first;         /* the first element that it stores */
    dync__csrc_room room;
    const dync__kcall *pool; /* of convolutions: the maxima that are stored; NULL: all */
    /* of convolutions: weights, or the bias (or there is none), are constants, none infinite or
     * NaN */
    bool finite, finite_bias;
} dync__csource_after;

/* A weight in another order (csource_packs.c): `dense` holds the elements of `of` at `lay`. */
typedef struct dync__csource_packed {
    const dync__tensor *of; /* borrowed of the program */
    dync__layout lay;       /* from the tensor's first element on */
    dync__tensor *dense;
} dync__csource_packed;

/* A product that is written: c[.., m, n] = sum over k of a[.., m, k] b[.., k, n] (+ bias). */
typedef struct dync__csource_product_of {
    dync__str *s;
    const dync__csource_after *after;
    const dync__operand *a, *b, *bias, *c; /* bias: or NULL */
    int ndim, rows, columns;               /* of a block; in vectors: columns of vectors */
    int64_t m, n, k;
    const char *var[DYNC_MAX_DIMS]; /* of the result's places */
} dync__csource_product_of;

/* How a convolution is written in vectors: not at all; output channels in vectors, of weights
 * [c][u][v][o]; as a product, places in vectors; places of padded planes, a channel at a time. */
typedef enum {
    DYNC__CCONV_PLAIN,
    DYNC__CCONV_CHANNELS,
    DYNC__CCONV_PRODUCT,
    DYNC__CCONV_PLANES
} dync__cconv_form;

enum { DYNC__CSOURCE_ARGS = 64 };
typedef struct dync__csource_step {
    dync__fuse_step at;
    dync__csource_after after;
    bool no_index; /* max_pool2d: nobody reads where maxima were */
    /* rnn_layer: the product that is its input, done step by step; NULL: all of it is there.
     * last: nobody reads more of its output than the last step */
    const dync__kcall *input;
    bool last;
    const dync__csource_fn *fn;
    int n, slot[DYNC__CSOURCE_ARGS];
    int64_t base[DYNC__CSOURCE_ARGS]; /* of the slot's elements, the one that is passed */
    int64_t scratch, offset;          /* bytes of the arena that it works in; 0: none */
    bool draws;                       /* random numbers: it is given their state */
    int tells;                        /* the symbol that its data decide, or -1 */
} dync__csource_step;

/* A new value of an input that is computed elsewhere and copied in the end. */
typedef struct dync__csource_back {
    int input;
    dync__lowered_out from;
} dync__csource_back;

/* The program's function, or one inside an operator. */
typedef struct dync__csource_unit {
    const dync__graph *graph;
    dync__arena arena;
    dync__pb pb;
    dync__lowered lowered;
    int n_in, n_out; /* inputs but weights; what it gives */
    dync__lowered_out *out;
    int n_back;
    dync__csource_back *back;
    dync__csource_step *step;
    int n_steps;
    dync__csource_slot *slot; /* per slot of pb */
    int64_t arena_bytes;
    uint64_t uses;
    const dync__csource_fn *fn; /* of a function inside */
    const dync__tensor **given; /* of a function inside: the constant that input i is, or NULL */
} dync__csource_unit;

/* Steps for the sizes that the guards of a table hold for (tensor/sym.h): a trace and a lowering by
 * sizes that no way before it is for. */
typedef struct dync__csource_way {
    dync__symtab *syms;
    const dync__csource_fn *fn;
    const char *condition; /* in C; NULL: always */
} dync__csource_way;
enum { DYNC__CSOURCE_WAYS = 8 };

typedef struct dync__csource {
    const dync__program *program;
    char *upper; /* the program's name in capitals */
    const char **in_name, **out_name;
    dync__graph *flat; /* copy of the graph that returns a flat list */
    dync__aot_graphs aot;
    dync__symtab *syms; /* a copy, whose symbols are named as in C; NULL: sizes are numbers */
    int64_t *hint;      /* the symbols in the export */
    dync__arena names;
    DYNC__VEC(dync__csource_fn *) fn;
    dync__csource_unit main;
    /* of all ways; aot, syms, main are those of the first, or of the one being made */
    DYNC__VEC(dync__csource_way) way;
    DYNC__VEC(dync__csource_packed) packed;
    DYNC__VEC(const dync__tensor *) weight; /* borrowed of the program, or of packed */
    /* those that it writes, and what they are called: members of NAME_state */
    DYNC__VEC(const dync__tensor *) state;
    DYNC__VEC(const char *) state_name;
    bool draws; /* random numbers: their seed and count are state, too */
    int64_t arena_bytes;
} dync__csource;

/* csource_calls.c: a kernel call as a static function NAME over its operands, each given from its
 * first element on. no_index: max_pool2d without its last one. DYNC_ERR_UNSUPPORTED: it has no C
 * form. */
DYNC__FN dync_status dync__kcall_csource(dync__str *, const dync__kcall *, bool no_index,
                                         const char *name);
/* csource_kernels.c: static void NAME(const float *a, ..., float *y) with the operands' letters;
 * x[index] of an operand, from its first element on; the calls */
/* DYNC_ERR_UNSUPPORTED: "C source: OPERATOR at FILE:LINE WHY" */
DYNC__FN dync_status dync__csource_refuse(const dync__kcall *, const char *why);
DYNC__FN dync_status dync__csource_head(dync__str *, const dync__kcall *, const char *name,
                                        const char *letters);
DYNC__FN void dync__csource_at(dync__str *, char letter, const dync__operand *, int n,
                               const int64_t *stride, const char *const *var);
DYNC__FN dync_status dync__csource_matmul(dync__str *, const dync__kcall *, const char *name);
DYNC__FN dync_status dync__csource_conv2d(dync__str *, const dync__kcall *, const char *name);
DYNC__FN dync_status dync__csource_maxima(dync__str *, const dync__kcall *, bool no_index,
                                          const char *name);
DYNC__FN dync_status dync__csource_max_pool2d(dync__str *, const dync__kcall *, const char *name);
DYNC__FN dync_status dync__csource_avg_pool2d(dync__str *, const dync__kcall *, const char *name);
DYNC__FN int dync__csource_for(dync__str *, int depth, const char *var, int64_t n);
/* csource_grads.c: the kernel calls of gradients and those that an index leads, likewise */
DYNC__FN dync_status dync__csource_gradient(dync__str *, const dync__kcall *, const char *name);
/* csource_blocks.c, csource_convs.c: products and convolutions of sizes that are numbers, in
 * blocks: static void @(operands, what `after` reads beside as e0, e1, ...) */
DYNC__FN dync_status dync__csource_blocks(dync__str *, const dync__kcall *, dync__csource_after *);
DYNC__FN void dync__csource_blocks_head(dync__str *, const dync__kcall *,
                                        const dync__csource_after *, const char *letters);
/* a loop over [from, end) of n by steps, opened, whose last round stays below n; the depth
 * inside */
DYNC__FN int dync__csource_blocks_for(dync__str *, int depth, const char *name, int64_t from,
                                      int64_t end, int64_t step, int64_t n);
DYNC__FN void dync__csource_blocks_end(dync__str *, int depth, int to);
DYNC__FN void dync__csource_product(dync__str *, const dync__kcall *, const dync__csource_after *);
/* sizes from the operands; loops over batches, opened; the plain form; in vectors of the user's
 * compiler (csource_vectors.c); the index of an operand's element */
DYNC__FN void dync__csource_product_sizes(dync__csource_product_of *);
DYNC__FN int dync__csource_product_open(dync__csource_product_of *);
DYNC__FN void dync__csource_product_plain(dync__csource_product_of *);
DYNC__FN void dync__csource_product_vectors(dync__csource_product_of *);
DYNC__FN bool dync__csource_vectors_fit(const dync__csource_product_of *);
DYNC__FN void dync__csource_product_index(const dync__csource_product_of *, const dync__operand *,
                                          int64_t down, int64_t across, const char *const *var,
                                          int row, int column);
/* c[..] of sum s<i><j> of the block, as it is stored */
DYNC__FN void dync__csource_product_store(const dync__csource_product_of *, int depth, int i,
                                          int j);
/* csource_pairs.c: products of bytes whose operands lie along k, two at a time */
DYNC__FN bool dync__csource_pairs_fit(const dync__csource_product_of *);
DYNC__FN void dync__csource_product_pairs(dync__csource_product_of *);
/* floats of the vectors in which n of them are computed, at most: 16, 8, 4; 0: none */
DYNC__FN int dync__csource_lanes(int64_t n);
/* Before a short loop over neighbours in memory, in text for GNU C: GCC unrolls it otherwise before
 * it could make vectors of it. */
#define DYNC__CSOURCE_TOGETHER "#pragma GCC unroll 1\n"
DYNC__FN void dync__csource_conv(dync__str *, const dync__kcall *, const dync__csource_after *);
DYNC__FN dync__cconv_form dync__csource_conv_form(const dync__kcall *, const dync__csource_after *);
/* csource_functions.c: the function of this text, which may be an earlier one; NULL: no memory */
DYNC__FN const dync__csource_fn *dync__csource_function(dync__csource *, const dync__str *text);
DYNC__FN bool dync__csource_has_word(const char *text, const char *word);
/* the symbols that a text names, by bits */
DYNC__FN uint64_t dync__csource_uses(const dync__csource *, const char *text);
DYNC__FN void dync__csource_functions(dync__csource *, dync__str *); /* all of them */
/* ", int n" for the symbols of the mask, with `type` before each */
DYNC__FN void dync__csource_symbols(const dync__csource *, uint64_t uses, const char *before,
                                    const char *type, dync__str *);
/* the greatest that a size may be; DYNC_ERR_UNSUPPORTED: beyond an int */
DYNC__FN dync_status dync__csource_most(int64_t size, int64_t *most);
/* csource_packs.c: the calls of a unit read weights in the order of their loops; what was made
 * for it, released */
DYNC__FN dync_status dync__csource_pack(dync__csource *, dync__csource_unit *);
DYNC__FN void dync__csource_packs_free(dync__csource *);
/* the tensor that a slot is, where it is a constant that nothing writes; or NULL. Constants of one
 * element that a kernel reads are known to its text */
DYNC__FN const dync__tensor *dync__csource_constant(const dync__csource *,
                                                    const dync__csource_unit *, int32_t slot);
DYNC__FN void dync__csource_known(const dync__csource *, const dync__csource_unit *,
                                  const dync__kernel *, dync__csrc_room *);
/* csource_recurrent.c: a recurrent layer as a loop over its steps */
DYNC__FN dync_status dync__csource_recurrent(dync__csource *, dync__csource_step *,
                                             dync__str *text);
/* csource_recurrent_grads.c: its gradient, likewise */
DYNC__FN dync_status dync__csource_recurrent_grad(dync__csource *, dync__csource_step *,
                                                  dync__str *text);
/* csource_rolled.c: `input` and `last` of the steps of a unit; arrays of which less is kept, once
 * functions are made */
DYNC__FN void dync__csource_recurrent_take(dync__csource_unit *);
DYNC__FN void dync__csource_recurrent_arrays(dync__csource_unit *);
/* an operand of rnn_layer by its role (kernel/attr.h); NULL: not given */
DYNC__INLINE const dync__operand *dync__csource_role(const dync__kcall *call, int role)
{
    int place = call->attr.rnn.role[role];
    return place >= 0 ? &call->operand[place] : NULL;
}
/* csource_follow.c: calls take over what follows them; steps that are done so go */
DYNC__FN void dync__csource_follow(dync__csource_unit *);
DYNC__FN int dync__csource_mode(const dync__csource_step *, int32_t slot); /* DYNC__BUF_ bits */
/* the one step beside i that touches the slot, a temporary, and stands behind it; -1: there are
 * several, or none. May step i run where step j does? */
DYNC__FN int dync__csource_only(const dync__csource_unit *, int i, int32_t slot);
DYNC__FN bool dync__csource_moves(const dync__csource_unit *, int i, int j);
DYNC__FN bool dync__csource_has_numbers(const dync__kcall *);
DYNC__FN bool dync__csource_blocks_are(const dync__kcall *); /* written so? */
/* is each of the layout's dimensions within one loop of it? */
DYNC__FN bool dync__csource_after_fits(const dync__csource_after *, const dync__layout *);
DYNC__FN bool dync__csource_after_reads(const dync__csource_after *, int buf); /* beside `in` */
/* the value, of the result's element at var[], as it is stored */
DYNC__FN void dync__csource_after_value(dync__str *, const dync__csource_after *,
                                        const dync__layout *, const char *const *var,
                                        const char *value);
/* "4*i0 + i2 + 3" for these strides; loops of one iteration add nothing. */
DYNC__FN void dync__csource_index(dync__str *, int n, const int64_t *stride, const char *const *var,
                                  int64_t offset);
/* csource_data.c */
DYNC__FN void dync__csource_array(dync__str *, const char *name, const char *data, int dtype,
                                  int64_t n, bool constant);
DYNC__FN void dync__csource_number(dync__str *, const char *at, int dtype);
DYNC__FN int64_t dync__csource_span(const dync__layout *);
DYNC__FN const char *dync__csource_word(dync__csource *, const char *want); /* no word of C's */
DYNC__FN int64_t dync__csource_numel(const dync__layout *);
/* the number of input i of the main unit among the weights; -1: no memory */
DYNC__FN int dync__csource_weight(dync__csource *, int i);
/* bytes of all; s not NULL: as arrays */
DYNC__FN int64_t dync__csource_weights(const dync__csource *, dync__str *s);
/* csource_counted.c: symbols that data decide. The node that tells one; masks of all, of those
 * that the caller is told; the step as a function; what follows its call; a list of names */
DYNC__FN const dync__node *dync__csource_teller(const dync__csource *, int symbol);
DYNC__FN uint64_t dync__csource_data(const dync__csource *);
DYNC__FN uint64_t dync__csource_told(const dync__csource *);
DYNC__FN dync_status dync__csource_counted(dync__csource *, dync__csource_step *, dync__str *);
DYNC__FN void dync__csource_tell(dync__csource *, int symbol, dync__str *);
DYNC__FN void dync__csource_check_name(const dync__node *, dync__str *);
DYNC__FN void dync__csource_told_list(const dync__csource *, const char *before, const char *type,
                                      const char *behind, dync__str *);
/* csource_steps.c */
/* Steps fused, their functions, where everything lies. */
DYNC__FN dync_status dync__csource_unit_plan(dync__csource *, dync__csource_unit *);
/* the statements that a unit is: calls of its steps, copies of results that lie elsewhere */
DYNC__FN void dync__csource_body(dync__csource *, const dync__csource_unit *, dync__str *);
DYNC__FN void dync__csource_unit_free(dync__csource_unit *);
/* recursion: a step with functions inside, as a C function with an if or a loop
 * (csource_control.c) */
DYNC__FN dync_status dync__csource_control(dync__csource *, dync__csource_unit *,
                                           dync__csource_step *, dync__str *text);
/* csource_state.c: what a program writes: inputs, and tensors of its own, which are its state */
/* from the trace: which those are, under which names; dync__csource_back of the main unit */
DYNC__FN dync_status dync__csource_state_find(dync__csource *);
DYNC__FN dync_status dync__csource_state_backs(dync__csource *);
/* no weight may lie on the memory of state: known once functions are made */
DYNC__FN dync_status dync__csource_state_check(const dync__csource *);
DYNC__FN bool dync__csource_has_state(const dync__csource *);
DYNC__FN bool dync__csource_writes(const dync__csource *, int input);
/* the number of input i of the main unit among the state; -1: it is none of it */
DYNC__FN int dync__csource_state(const dync__csource *, int i);
DYNC__FN void dync__csource_state_type(const dync__csource *, dync__str *);
DYNC__FN void dync__csource_state_array(const dync__csource *, dync__str *);
/* functions that draw, where some are called */
DYNC__FN void dync__csource_random(const dync__csource *, dync__str *);
/* the state's data before the example is computed, and put back; n: of them */
DYNC__FN dync_status dync__csource_state_keep(const dync__csource *, dync__tensor **kept);
DYNC__FN void dync__csource_state_restore(const dync__csource *, dync__tensor **kept);
/* csource_face.c: the header; run and run_in. Of argument or result i (inputs first): its type, is
 * it an array of arrays, "[10][3]" without the first size, "const " for what is only read */
DYNC__FN dync_status dync__csource_names(dync__csource *);
DYNC__FN const dync__info *dync__csource_input(const dync__csource *, int i);
DYNC__FN dync__info dync__csource_of(const dync__csource *, int i);
DYNC__FN bool dync__csource_is_array(const dync__layout *);
DYNC__FN void dync__csource_inner_sizes(const dync__layout *, dync__str *);
DYNC__FN const char *dync__csource_const(const dync__csource *, int i);
/* the steps as a C function, and when they are those to take */
DYNC__FN dync_status dync__csource_way_text(dync__csource *, dync__csource_way *);
DYNC__FN void dync__csource_header(const dync__csource *, dync__str *);
DYNC__FN void dync__csource_run(const dync__csource *, dync__str *);
/* csource_test.c: the self-test */
DYNC__FN dync_status dync__csource_test(const dync__csource *, dync__str *);
/* csource_print.c: the file. header NULL: what would stand in it stands in the file */
DYNC__FN dync_status dync__csource_print(dync__csource *, const char *header, dync__str *);
#endif
