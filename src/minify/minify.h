/* minify/minify.h: a graph that fails, shrunk to the few operators that fail, as one C file. After
 * program/, before compile/.
 *
 *   hook.c      around a backend (repro_after): runs what it compiled at once; hook_aot.c the same
 *               of graphs after AOT; hook_left.c writes a launcher where that fails
 *   judge.c     does a graph fail, and the same way as before? in a child process where fork exists
 *   run.c       a graph or its compiled form, once, forward and backward; accuracy.c compares two
 *               such runs
 *   shrink.c    delta debugging by rounds;  shrink_ways.c what a round tries; shrink_values.c
 *               values of nodes that become inputs; graph.c the edits
 *   write.c     a graph with its inputs as a C program; write_args.c its inputs; write_fx.c the
 *               module as torch prints it; write_place.c where it goes
 *   repro.c     what that program calls; repro_inputs.c its inputs, repro_graph.c its graph,
 *               repro_run.c and minifying.c its commands
 *   backends.c  backends that shrink what they are given
 *   settings.c  repro_after, repro_level, ...: dync_config_set and the environment
 *
 * Sources: torch/_dynamo/repro/after_dynamo.py, after_aot.py, torch/_dynamo/debug_utils.py,
 * torch/_dynamo/utils.py (same), torch/_functorch/fx_minifier.py, all of 2.4; Zeller and
 * Hildebrandt, Simplifying and Isolating Failure-Inducing Input, 2002. */
#ifndef DYNC__MINIFY_H
#define DYNC__MINIFY_H
#include "../program/program.h"
#include "../backend/backend.h"

/* ---- settings -------------------------------------------------------------------------------- */
typedef enum { DYNC__AFTER_NONE, DYNC__AFTER_DYNAMO, DYNC__AFTER_AOT } dync__repro_after;
typedef struct dync__repro_settings {
    /* level: 1 dumps the graph, 2 a launcher, on failure; 3 a launcher always; 4 on wrong
     * results */
    int after, level;
    int forward_only, ignore_non_fp, use_fp64, cosine, isolate;
    double tolerance, timeout_s;
    char debug_dir[512]; /* "": torch_compile_debug under the working directory */
} dync__repro_settings;
/* those of the process, read from the environment at first */
DYNC__FN const dync__repro_settings *dync__repro_now(void);
DYNC__FN dync_status dync__repro_set(const char *key, const char *value, bool *known);
/* the name of the ith setting, or NULL */
DYNC__FN const char *dync__repro_key(int i);
/* dync_config_set calls for those that are not the default */
DYNC__FN void dync__repro_print(dync__str *, bool with_after);
DYNC__FN bool dync__repro_after_parse(const char *text, int *after);
DYNC__FN const char *dync__repro_after_name(int after);

/* ---- running --------------------------------------------------------------------------------- */
/* What a run left: results flattened, then the gradient of each input, then the inputs themselves.
 * Owned by the scope.
 *
 *   f(x, n) -> (a, [b, c])    items  a  b  c  dx  x  n       dx: NONE where x has no gradient */
typedef struct dync__run_item {
    dync_value value;
    bool gradient;
} dync__run_item;
typedef DYNC__VEC(dync__run_item) dync__run_items;
typedef struct dync__run_how {
    bool forward_only, as_given /* the inputs themselves, no copies */;
} dync__run_how;
/* code NULL: the graph is interpreted. The random numbers are the same for every run. Errors are
 * recorded. */
DYNC__FN dync_status dync__run_once(dync__graph *, const dync_callable *code, int n,
                                    const dync_value *inputs, dync__run_how, dync__run_items *out);
/* Copies with memory of their own, the same strides, offsets and sharing; leaves that require grad
 * where the originals do. */
DYNC__FN dync_status dync__run_copy_inputs(int n, const dync_value *in, dync_value *out,
                                           bool as_f64);

/* ---- accuracy -------------------------------------------------------------------------------- */
/* Reference and result of one graph; f64 may be NULL. false: *why tells. */
DYNC__FN bool dync__accuracy_same(const dync__run_items *ref, const dync__run_items *res,
                                  const dync__run_items *f64, dync__str *why);
/* The graph interpreted, and interpreted in float64, against code (NULL: the graph interpreted
 * again). *ran: code ran; where it did not, the graph counts as accurate. status: not DYNC_OK where
 * the reference itself cannot be run. */
DYNC__FN dync_status dync__accuracy_check(dync__graph *, const dync_callable *code, int n,
                                          const dync_value *inputs, bool forward_only, bool *same,
                                          bool *ran, dync__str *why);

/* ---- judging --------------------------------------------------------------------------------- */
typedef enum {
    DYNC__PASSES,
    DYNC__EAGER_FAILS /* nothing can be said */,
    DYNC__RAISES,
    DYNC__CRASHES,
    DYNC__HANGS,
    DYNC__INACCURATE
} dync__verdict_kind;
typedef struct dync__verdict {
    int kind, signal;
    dync__error_slot error; /* RAISES, and a text for the others */
} dync__verdict;
typedef struct dync__judge {
    const dync_backend *backend;
    const char *options;
    bool accuracy, isolate, skip_eager, forward_only;
    int timeout_ms;
} dync__judge;
DYNC__FN void dync__judge_graph(const dync__judge *, dync__graph *, int n, const dync_value *inputs,
                                dync__verdict *out);
DYNC__FN bool dync__judge_similar(const dync__verdict *first, const dync__verdict *now);
/* difflib's SequenceMatcher.ratio without its junk heuristic */
DYNC__FN double dync__text_ratio(const char *a, const char *b);
DYNC__FN dync_status dync__judge_compile(const dync_backend *, const char *options, dync__graph *,
                                         int n, const dync_value *inputs, dync_callable *out);
/* class, a colon, the text: how Python ends a traceback */
DYNC__FN void dync__error_text(dync__str *, const dync__error_slot *);

/* ---- shrinking ------------------------------------------------------------------------------- */
typedef struct dync__edit { /* a new graph out of an old one */
    /* per node: gone; one that is used becomes an input. NULL: none */
    const bool *drop;
    /* the result is this value alone, what is behind it goes. NULL: the graph's own */
    const dync__node *cut_at;
    int skip_output, n_skip;       /* outputs taken out of the result */
    bool dead_code, unused_inputs; /* these go as well */
} dync__edit;
/* one reference; NULL: no memory, or it cannot be */
DYNC__FN dync__graph *dync__graph_edit(dync__graph *, const dync__edit *);
DYNC__FN dync__graph *dync__graph_clone(dync__graph *);
/* floating dtypes and attributes as float64 */
DYNC__FN dync__graph *dync__graph_to_f64(dync__graph *);
/* values in the result; -1: it is no list */
DYNC__FN int dync__graph_outputs(const dync__graph *);
typedef struct dync__shrink {
    bool (*fails)(void *user, dync__graph *, int n, const dync_value *inputs);
    /* NULL: nobody wants to know */
    void (*improved)(void *user, dync__graph *, int n, const dync_value *inputs);
    void *user;
    bool quiet;
} dync__shrink;
/* *graph is taken over and replaced by the smallest that fails; inputs: a list that belongs to the
 * scope. */
DYNC__FN dync_status dync__shrink_graph(const dync__shrink *, dync__graph **graph, int n,
                                        const dync_value *inputs, dync_value *out_inputs,
                                        int *queries);
/* a line on stderr, as it is */
DYNC__FN void dync__minify_say(const char *fmt, ...) DYNC__PRINTF(1, 2);

/* ---- writing and running repros -------------------------------------------------------------- */
typedef struct dync__repro_file {
    const char *backend, *options, *command, *save_dir;
    bool accuracy, forward_only, grad_off;
} dync__repro_file;
DYNC__FN dync_status dync__repro_write(const dync__repro_file *, dync__graph *, int n,
                                       const dync_value *inputs, const char *path);
/* <working directory>/checkpoints/minified_N_nodes.c, copied to repro.c. */
DYNC__FN dync_status dync__repro_checkpoint(const dync__repro_file *, dync__graph *, int n,
                                            const dync_value *inputs);
DYNC__FN dync_status dync__repro_launcher(const dync__repro_file *, dync__graph *, int n,
                                          const dync_value *inputs, dync__str *path);
/* into capture/ and aot/ */
DYNC__FN void dync__hook_install(void);
/* this thread compiles for the minifier; returns what was */
DYNC__FN bool dync__hook_busy(bool busy);
DYNC__FN uint64_t dync__repro_hash(const void *data, size_t n);
/* ---- what the written program calls --------------------------------------------------------- */
/* repro_inputs.c: the inputs that its load_args makes */
typedef struct dync__reader_storage {
    dync__storage *storage;
    bool data;
} dync__reader_storage;
struct dync__repro_reader {
    dync__object object; /* its handle */
    const char *save_dir;
    DYNC__VEC(dync__reader_storage) storage;
    DYNC__VEC(dync_value) value; /* tensors belong to the scope */
    bool failed;
};
/* repro.c: what is shrunk, and how */
typedef struct dync__minifying {
    dync__judge judge;
    dync__verdict first;
    dync__repro_file file;
    bool could_not;
} dync__minifying;
DYNC__FN dync_status dync__minifying_run(dync__minifying *m, dync__graph *g, int n,
                                         const dync_value *inputs);
DYNC__FN void dync__minifying_begin(dync__minifying *m, const dync_backend *b, const char *options,
                                    bool accuracy, bool isolate, bool only_fwd);
#endif
