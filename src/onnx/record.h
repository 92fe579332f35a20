/* onnx/record.h: see record.c. After onnx.h. */
#ifndef DYNC__ONNX_RECORD_H
#define DYNC__ONNX_RECORD_H
#include "onnx.h"
#include "../capture/trace.h"
#include "../program/program.h"

/* load.c */
DYNC__FN dync__onnx_loaded *dync__onnx_parse(dync__blob *taken, const char *folder_or_null);
DYNC__FN void dync__onnx_end(dync__onnx_loaded *);
DYNC__FN dync_status dync__onnx_run(dync__onnx_loaded *, const dync_value *in,
                                    dync__onnx_value *out);
DYNC__FN dync_status dync__onnx_graph_of(dync__onnx_loaded *, const char *name, dync__graph **out);
/* of the sizes of a call (hint), alone or with others; NULL: there is none, or no memory */
DYNC__FN dync__graph *dync__onnx_graph_for(dync__onnx_loaded *, const char *name, bool alone);
/* forms.c: programs of further graphs, made as calls need them */
enum { DYNC__ONNX_FORMS = 9, DYNC__ONNX_KEYS = 4 };
typedef struct dync__onnx_forms {
    dync__mutex lock;
    int32_t n, failed;
    dync__program *at[DYNC__ONNX_FORMS];
    /* inputs that decide which nodes run, where there is no graph of all their values, and those
     * that a form is for (owned; NULL: any) */
    bool keyed;
    int n_keys, key[DYNC__ONNX_KEYS];
    dync__tensor *value[DYNC__ONNX_FORMS][DYNC__ONNX_KEYS];
} dync__onnx_forms;
DYNC__FN dync_status dync__onnx_tell(const dync__onnx_loaded *, dync__program *);
/* false: none is for this call */
DYNC__FN bool dync__onnx_forms_run(dync__onnx_forms *, dync__onnx_loaded *, const char *name,
                                   const dync_value *args, dync_value *out);
DYNC__FN void dync__onnx_forms_end(dync__onnx_forms *);
/* walk.c */
DYNC__FN dync__program *dync__onnx_program(dync__blob *taken, const char *folder_or_null,
                                           const char *name);

/* sized.c */
typedef enum { DYNC__ONNX_RUN, DYNC__ONNX_COMPUTED, DYNC__ONNX_RECORD } dync__onnx_known;
DYNC__FN bool dync__onnx_call_is_sized(const dync__opcall *);
DYNC__FN dync__onnx_known dync__onnx_known_call(dync__opcall *, dync__tensor *const *in, int n,
                                                dync_status *);
DYNC__FN dync_tensor *dync__onnx_made_of_sizes(const dync__tensor *);
/* Which sizes that calls tell are tried as one: none, the first open one of each input, all; each
 * with large sizes, then with small ones. LONG: few rows of tens of thousands, as sound is. */
typedef enum {
    DYNC__ONNX_EQUAL_NONE,
    DYNC__ONNX_EQUAL_NONE_SMALL,
    DYNC__ONNX_EQUAL_NONE_LONG,
    DYNC__ONNX_EQUAL_FIRST,
    DYNC__ONNX_EQUAL_FIRST_SMALL,
    DYNC__ONNX_EQUAL_ALL,
    DYNC__ONNX_EQUAL_ALL_SMALL
} dync__onnx_equal;
DYNC__FN bool dync__onnx_symbols(dync__onnx_loaded *, dync__symtab *, dync__onnx_equal);
/* equal.c: false: nothing is to be learnt from a graph that did not come out */
DYNC__FN bool dync__onnx_learn_equal(dync__onnx_loaded *, const dync__symtab *);

/* n / d of integers, which are sizes or computed from sizes, in the place of a real. */
typedef struct dync__onnx_part {
    dync__tensor *n, *d;
} dync__onnx_part;
typedef struct dync__onnx_recorder {
    dync__handler handler;
    dync__onnx_loaded *model;
    dync__graph *graph; /* NULL: what is not known goes below */
    dync__map node;     /* id of a tensor -> its node */
    /* id of a recorded tensor -> its numbers, of int64, that hold sizes (whole.c) */
    dync__map whole, part_of;                     /* part_of: -> its place in part */
    DYNC__VEC(dync__onnx_part) part;              /* borrowed of kept */
    DYNC__VEC(dync__tensor *) kept;               /* these, owned */
    int64_t most_elements, most_nodes, fold_left; /* elements that may still be computed */
    int n_data;                                   /* sizes that data decide, so far */
} dync__onnx_recorder;
/* whole.c: what answers for recorders, so that they are known among handlers */
DYNC__DATA_DECL dync_status (*dync__onnx_answer)(dync__handler *, dync__opcall *);
/* Does a tensor of dtype hold these numbers as they are? A guard sees to it. */
DYNC__FN bool dync__onnx_whole_exact(int dtype, const dync__tensor *);
/* whole_note.c */
DYNC__FN dync_status dync__onnx_fold(dync__opcall *);
DYNC__FN void dync__onnx_whole_note(dync__onnx_recorder *, dync__opcall *);
DYNC__FN void dync__onnx_record_begin(dync__onnx_recorder *, dync__onnx_loaded *,
                                      dync__graph *graph_or_null);
DYNC__FN void dync__onnx_record_end(dync__onnx_recorder *);
DYNC__FN dync_status dync__onnx_fold_body(dync__onnx_loaded *, const dync__onnx_body *,
                                          dync__onnx_frame *outer, const dync__onnx_call *call,
                                          int n_in, const dync__onnx_value *in,
                                          dync__onnx_value *out);
/* record_data.c: the result of an operator whose size data decide; *before: the node that gave it
 * already, or NULL: it is to be recorded */
DYNC__FN dync_status dync__onnx_data_fake(dync__onnx_recorder *, dync__opcall *,
                                          const dync__arg *node, const dync__node **before);
/* neat.c: what says nothing goes; names in order */
DYNC__FN dync_status dync__onnx_neat(dync__graph *);
DYNC__FN dync_tensor *dync__onnx_record_input(dync__onnx_recorder *, const dync__onnx_port *);
DYNC__FN dync_status dync__onnx_record_output(dync__onnx_recorder *, int n,
                                              const dync__onnx_value *);
#endif
