/* aot/code.h: what runtime.c (forward) and backward.c (its autograd node) share. */
#ifndef DYNC__AOT_CODE_H
#define DYNC__AOT_CODE_H
#include "aot.h"

/* The backward of the outputs whose gradients have nothing in common with those of the others: one
 * autograd node. A loss and a value beside it can so be differentiated one after the other, as in
 * eager. Numbers by index: of saved tensors, of tangents, of gradients. */
typedef struct dync__aot_part {
    uint64_t id;     /* never used again */
    dync__graph *bw; /* NULL: nothing to differentiate */
    dync__inner run;
    dync__inner_sized sized; /* of a form: what makes run; state NULL: nothing does */
    int n_saved, n_tangents, n_grads;
    int n_again; /* of saved: those of g.again, which are watched */
    /* saved: the block of all three; tangent: outputs (mutations, then values); grad: actual
     * inputs */
    int *saved, *tangent, *grad;
    size_t bytes;
    bool by_rows; /* all tangents are row major */
    /* other forms of it (variant.c); NULL: none */
    struct dync__aot_variants *variants;
    bool *depends; /* gradient i on tangent k: depends[i * n_tangents + k] */
} dync__aot_part;

typedef struct dync__aot_code {
    dync__raw_state head; /* first: what dync__raw_run reads */
    int32_t refs;         /* the callable, and every autograd node alive */
    dync__aot_graphs g;   /* with a form: its own, but for how views lie, which is in `views` */
    void *views;
    size_t views_bytes;
    dync__inner fw;
    dync__inner_sized fw_sized; /* as that of a part */
    int n_fw_in, n_fw_out, n_parts;
    dync__aot_part *part;
    dync__graph *original; /* the user's: its result's form is read at every call */
    dync__graph *graph;    /* the same with tensors for symbolic numbers */
    /* what this is with numbers for its symbolic sizes, or NULL; a reference */
    struct dync__aot_code *form;
    dync__symtab *syms; /* of a form: with what its trace found */
    /* of a form: the end of its forward graph, compiled; or NULL */
    struct dync__aot_tail *tail;
    int64_t *value; /* with a form: of its symbols */
    bool plain;     /* not functionalised: interpreted as it is */
    /* somewhere inside: outputs have history though it may begin without grad mode */
    bool turns_grad_on;
    bool double_backward;
} dync__aot_code;

/* parts.c: the parts of g's backward graph, at least one; those of a form's code, which are the
 * form's: they share all but what they run. */
DYNC__FN dync_status dync__aot_parts(const dync__aot_graphs *g, int *n, dync__aot_part **out);
DYNC__FN dync_status dync__aot_parts_of(dync__aot_code *);
DYNC__FN void dync__aot_code_unref(dync__aot_code *);
/* absent.c: what a node has to do with tangents that did not arrive, by its index; what stands for
 * it without them (the rewrite's user) */
typedef struct dync__absent {
    char *what;
    char here;
} dync__absent;
DYNC__FN char *dync__absent_marks(const dync__graph *from, const dync__aot_part *p,
                                  const bool *absent);
DYNC__FN dync__node *dync__absent_zeros(dync__rewrite *r, const dync__info *of);
DYNC__FN dync__node *dync__absent_node(dync__rewrite *r, dync__node *old);
/* The part's backward graph where some tangents did not arrive, with numbers for sizes;
 * one reference. Is a NaN in one of the gradients? */
DYNC__FN dync_status dync__aot_without(const dync__aot_part *, const int64_t *value,
                                       const bool *absent, dync__graph **out);
/* Do only absent tangents need what was written of the saved tensors? */
DYNC__FN bool dync__aot_spared(const dync__aot_part *, const bool *absent, const bool *written);
DYNC__FN dync__tensor *dync__aot_rows(dync__tensor *);
DYNC__FN bool dync__aot_any_nan(int n, dync__tensor *const *grad);
DYNC__FN dync_status dync__aot_inner_compile(const dync__inner_compiler *, dync__graph *,
                                             bool is_backward, const dync__options *options,
                                             dync__inner *out);
/* out->state NULL: the compiler has none for this graph */
DYNC__FN dync_status dync__aot_inner_sized(const dync__inner_compiler *, dync__graph *,
                                           const dync__options *options, dync__inner_sized *out);
/* The code of a graph with these values for its symbols. */
DYNC__FN dync_status dync__aot_inner_at(const dync__inner_sized *, const int64_t *value,
                                        dync__inner *out);
/* As if no trace were open: code is made inside of calls. Nests. */
typedef struct dync__aot_aside {
    dync__handler *stack, *bottom;
    dync__symtab *syms;
    bool compiling, twice;
} dync__aot_aside;
DYNC__FN void dync__aot_aside_begin(dync__aot_aside *a, bool double_backward);
DYNC__FN void dync__aot_aside_end(const dync__aot_aside *a);
/* variant.c: rooms for other forms of the parts' backward graphs */
DYNC__FN void dync__aot_variants_for(dync__aot_code *c, const dync__options *options,
                                     const dync__inner_compiler *inner);
DYNC__FN void dync__aot_variants_free(dync__aot_part *p);
DYNC__FN void dync__aot_variants_measure(const dync__aot_part *p, dync__code_size *size);
/* tail.c */
DYNC__FN dync_status dync__aot_tail(dync__graph *, const dync__options *options,
                                    const dync__inner_compiler *,
                                    struct dync__aot_tail **out_or_null);
DYNC__FN dync_status dync__aot_tail_compile(const struct dync__aot_tail *, const int64_t *value,
                                            const dync__options *options,
                                            const dync__inner_compiler *, dync__inner *out);
DYNC__FN void dync__aot_tail_free(struct dync__aot_tail *);
/* A form: graph traced with its sizes as they are, from examples; and the code of one set of sizes.
 * DYNC_ERR_UNSUPPORTED, not recorded: each set of sizes is traced by itself, or this one. */
DYNC__FN dync_status dync__aot_form(dync__graph *, dync__tensor *const *in,
                                    const dync_value *examples, const dync__options *options,
                                    const dync__inner_compiler *, dync__aot_code **out);
DYNC__FN dync_status dync__aot_of_form(dync__aot_code *form, const int64_t *value,
                                       const dync__options *options, const dync__inner_compiler *,
                                       dync_callable *out);
/* value: of the graph's symbols, or NULL */
DYNC__FN dync_status dync__graph_eval_writes(dync__graph *, const struct dync__eval_writes *,
                                             const int64_t *value, int n_in,
                                             dync__tensor *const *in, int n_out,
                                             dync__tensor **out);
DYNC__FN dync_status dync__graph_eval_flat(dync__graph *, const int64_t *value, int n_in,
                                           dync__tensor *const *in, int n_out, dync__tensor **out);

/* code.c */
DYNC__FN double dync__aot_budget_now(void);
DYNC__FN dync__aot_how dync__aot_how_of(const dync__options *o, const dync__inner_compiler *inner);
/* runtime.c */
DYNC__FN dync_status dync__aot_run_plain(void *state, int n_in, dync__tensor *const *in, int n_out,
                                         dync__tensor **out);
DYNC__FN dync_status dync__aot_run(void *state, int n_in, dync__tensor *const *in, int n_out,
                                   dync__tensor **out);
/* make.c */
DYNC__FN void dync__aot_report(const dync__aot_code *c);
DYNC__FN dync_status dync__aot_tell_over(const dync__aot_code *c);
DYNC__FN dync_status dync__aot_code_compile(dync__aot_code *c, const dync__options *options,
                                            const dync__inner_compiler *inner);
DYNC__FN dync__aot_code *dync__aot_code_new(dync__graph *graph);
DYNC__FN dync_status dync__aot_code_trace(dync__aot_code *c, const dync_value *examples,
                                          const dync__options *options,
                                          const dync__inner_compiler *inner, const char **why);
DYNC__FN dync_status dync__aot_code_out(dync__aot_code *c, dync_status status, dync_callable *out);
#endif
