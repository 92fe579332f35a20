/* compile/ca.h: compiled autograd: one backward while it is looked up, captured or run, and the
 * entries that earlier ones left. Shared by ca_visit.c, ca_body.c, ca_list.c and
 * compiled_autograd.c, which says how it goes. */
#ifndef DYNC__CA_H
#define DYNC__CA_H
#include "../capture/trace.h"
#include "../backend/backend.h"
#include "../autograd/node.h"
#include "../base/leave.h"

enum { DYNC__CA_ENTRIES = 256, DYNC__CA_RECOMPILES = 64, DYNC__CA_DEPTH = 8 };
/* What a captured backward does with a gradient, in the order of its outputs; ADDED has none. */
typedef enum {
    DYNC__CA_SET /* the new gradient of a leaf */,
    DYNC__CA_ADDED /* in place */,
    DYNC__CA_SUM /* with what it had: a new tensor with a history */,
    DYNC__CA_RETAIN,
    DYNC__CA_CAPTURE
} dync__ca_kind;
/* index: of the hook, or the capture node: its place in the walk, the same in every backward that
 * finds the entry. */
typedef struct dync__ca_result {
    dync__ca_kind kind;
    int node, index;
} dync__ca_result;
/* input -1: always this size; one past the last: the carrier Where a size comes from in another
 * call: dim `dim` of input `input`; or the size itself. */
typedef struct dync__ca_source {
    int input, dim;
    int64_t size;
} dync__ca_source;
/* One form of backward met before. word and source are owned; f is the compiled function of its
 * list of inputs. `tracing` is a spin lock for writing `result` and `known`. */
typedef struct dync__ca_entry {
    struct dync__ca_entry *next;
    uint64_t hash, *word;
    int n_words, n_sizes;
    dync__ca_source *source;
    int n_carried, carried[DYNC_MAX_DIMS]; /* sizes that the carrier has, by place */
    dync_backend backend;
    dync__compiled *f;
    bool known; /* traced once: results are those of every run */
    int32_t tracing;
    DYNC__VEC(dync__ca_result) result;
} dync__ca_entry;

/* A place inside a node where a saved tensor stands, and the version that it must have: both are
 * replaced while the body runs, and put back. */
typedef struct dync__ca_slot {
    dync__tensor **at, *was;
    uint32_t *version, version_was;
    int input;
} dync__ca_slot;
/* first: of its sizes; stride NULL: not dense; order: from the smallest stride on */
typedef struct dync__ca_shape {
    int ndim, first;
    int64_t *shape, *stride;
    uint8_t order[DYNC_MAX_DIMS];
} dync__ca_shape;
/* One backward, on the heap: a hook may be left for good while capture records it. */
typedef struct dync__ca {
    dync__gvisitor visitor; /* first */
    dync__wait wait;
    dync__walk own_walk; /* as it was given */
    struct dync__ca *outer;
    dync__walk_record *record_before;
    bool grad_off, substituted;
    dync__walk_record record;
    const dync__walk *walk;
    dync__gnode_list nodes;
    DYNC__VEC(uint64_t) word;
    DYNC__VEC(int64_t) size;
    DYNC__VEC(dync__ca_shape) shape;
    DYNC__VEC(dync__ca_slot) slot;
    DYNC__VEC(dync__tensor *) input; /* borrowed; each once */
    dync__map input_of;              /* id -> input */
    /* inputs: of each root; of each node that has a gradient already, or -1 */
    DYNC__VEC(int) seed, grad;
    bool failed;
    dync__ca_entry *entry;
    dync__tensor *carrier;         /* the last input, or NULL; owned */
    DYNC__VEC(dync__tensor *) own; /* inputs made with the history of what nodes saved */
    /* while the body runs */
    dync__tensor **stand; /* what stands for each input */
    DYNC__VEC(dync__ca_result) result;
    DYNC__VEC(dync__tensor *) out; /* of results that leave (owned) */
    DYNC__VEC(int) hook_part;      /* calls recorded inside hooks: from, to, from, to, ... */
    int hook_depth;
} dync__ca;

/* Nested dync_compiled_autograd_begin; now: the backward whose function runs in this thread, or
 * NULL. */
typedef struct dync__ca_thread {
    int depth;
    dync_backend backend[DYNC__CA_DEPTH];
    dync__ca *now;
} dync__ca_thread;
DYNC__DATA_DECL DYNC__TLS dync__ca_thread dync__ca_tls;

/* ca_visit.c: the dims in which the gradient of a leaf of that layout lies, from the widest stride
 * on, as one word of four bits each; 0: row major, as that of a leaf with gaps or overlaps */
DYNC__FN uint64_t dync__ca_order(const dync__layout *leaf);
/* what the walk depends on, into c: words, sizes, inputs */
DYNC__FN dync_status dync__ca_collect(dync__ca *);
DYNC__FN void dync__ca_free(dync__ca *);
/* ca_body.c: the function that capture records: dync__ca_tls.now walked over its argument */
DYNC__FN dync_value dync__ca_body(const dync_value *args, int nargs, void *user);
DYNC__FN void dync__ca_put_back(dync__ca *); /* where its walk was left */
/* ca_list.c: the backend of an entry (user): hands the graph on with one list of inputs */
DYNC__FN dync_status dync__ca_compile(dync_graph *, const dync_value *, int, const char *options,
                                      dync_callable *out, void *user);
#endif
