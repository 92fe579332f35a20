/* loop/fuse.h: what the files of fusion share: fuse_map.c (index maps), fuse_traits.c (what a
 * kernel is), fuse_items.c (the bodies of two as one list), fuse_merge.c and fuse_inline.c (two
 * kernels become one), fuse_order.c (what must stay in order), fuse_space.c (where they live),
 * fuse_pairs.c (which pairs), fuse.c (in what order).
 *
 * Words: the host is the kernel whose loops stay (split where needed), the guest the one whose body
 * moves into them; a map gives each guest loop as an affine form of the host's loops. `first` is
 * the kernel that runs earlier. */
#ifndef DYNC__FUSE_H
#define DYNC__FUSE_H
#include "loop.h"
enum { DYNC__FUSE_BUFS = 16, DYNC__FUSE_MAPS = 4, DYNC__FUSE_SECTIONS = 102 };

/* The host's loops, split: loop h counts in steps of mul[h] of the kernel's loop from[h]. */
typedef struct dync__nest {
    int n_outer, n;
    dync__size extent[DYNC__LOOP_MAX_DIMS], mul[DYNC__LOOP_MAX_DIMS];
    int8_t from[DYNC__LOOP_MAX_DIMS];
} dync__nest;
/* guest loop g = offset[g] + sum over host loops h of coef[g][h] * h */
typedef struct dync__index_map {
    int n;
    bool solved[DYNC__LOOP_MAX_DIMS];
    dync__size extent[DYNC__LOOP_MAX_DIMS], offset[DYNC__LOOP_MAX_DIMS],
        coef[DYNC__LOOP_MAX_DIMS][DYNC__LOOP_MAX_DIMS];
} dync__index_map;
/* Machine code gets so many words for the accesses of a kernel: two for each and one for each loop
 * around its lanes (codegen/jit.h). Kernels that have room do not merge to one that has none. */
enum { DYNC__FUSE_ADDRESSED = 296 };
/* A nest and the maps into it; a split of a loop keeps all of them right. */
typedef struct dync__fuse_frame {
    dync__nest nest;
    int n_maps;
    dync__index_map map[DYNC__FUSE_MAPS];
} dync__fuse_frame;

/* ---- fuse_map.c ------------------------------------------------------------------------------ */
DYNC__FN void dync__frame_start(dync__fuse_frame *, const dync__kernel *host);
DYNC__FN int dync__frame_add_map(dync__fuse_frame *, const dync__kernel *guest); /* -1: no room */
/* An access of the host over its split loops; one of the guest over the host's loops. */
DYNC__FN dync__access dync__nest_access(const dync__nest *, const dync__access *);
DYNC__FN dync__access dync__map_access(const dync__index_map *, int n_host, const dync__access *);
/* Finds the guest loops that `guest` varies along, such that its address is `host`'s (over the
 * split loops) for every host index. */
DYNC__FN bool dync__map_solve(dync__fuse_frame *, int map, dync__access host,
                              const dync__access *guest);
/* The guest loops not solved yet: from the host loops not used yet, in order. */
DYNC__FN bool dync__map_complete(dync__fuse_frame *, int map);
/* Do guest loops [g0, g1) run once through all their values while the host's [h0, h1) do, whatever
 * the others are? In the same order, forwards in any order of loops, or even backwards? */
typedef enum { DYNC__ORDER_SAME, DYNC__ORDER_FORWARD, DYNC__ORDER_ANY } dync__fuse_order_kind;
DYNC__FN bool dync__map_covers(const dync__fuse_frame *, int map, int g0, int g1, int h0, int h1,
                               dync__fuse_order_kind order);
DYNC__FN bool dync__access_equal(const dync__access *, const dync__access *, int n,
                                 const dync__size *extent);
DYNC__FN bool dync__access_injective(const dync__access *, int n, const dync__size *extent);
/* From the first to the last element of a loop. */
DYNC__FN dync__size dync__access_reach(dync__size stride, dync__size extent);

/* ---- overlap.c ------------------------------------------------------------------------------- */
/* False only where no element is reached by both. */
DYNC__FN bool dync__access_overlap(const dync__access *, int n, const dync__size *extent,
                                   const dync__access *, int n2, const dync__size *extent2);

/* ---- fuse_traits.c --------------------------------------------------------------------------- */
/* What a kernel is to fusion. Pointwise: no rows, no reductions. Tangled: its result depends on the
 * order of its indices. */
typedef struct dync__fuse_traits {
    bool pointwise, tangled, scatters, empty;
} dync__fuse_traits;
DYNC__FN bool dync__fuse_is_pointwise(const dync__kernel *);
DYNC__FN dync__fuse_traits dync__fuse_traits_of(const dync__kernel *);
/* all indices of loops [from, to); of the whole kernel */
DYNC__FN dync__size dync__fuse_size(const dync__size *extent, int from, int to);
DYNC__FN dync__size dync__fuse_domain(const dync__kernel *);
/* Are rows of so many elements written out (unroll.c)? */
DYNC__FN bool dync__fuse_writes_out(const dync__kernel *, int64_t length);
/* schedule.c: how many rows one behind the other lie side by side, by the sizes at hand */
DYNC__FN int64_t dync__schedule_side(const dync__kernel *);
DYNC__FN bool dync__fuse_is_store(int prim);
DYNC__FN bool dync__fuse_is_indexed(int prim);
DYNC__FN bool dync__fuse_same_dtypes(const dync__kernel *a, const dync__kernel *b);
DYNC__FN bool dync__fuse_makes_indices(const dync__kernel *first, const dync__kernel *second);
DYNC__FN bool dync__fuse_order_matters(const dync__kernel *);

/* ---- fuse_items.c ---------------------------------------------------------------------------- */
typedef struct dync__fuse_item {
    dync__inst in;              /* operands are items */
    const dync__access *access; /* over the merged nest; NULL: none */
    const dync__buf *buf;
    int32_t same_as; /* another item has this value; -1 none */
    int32_t next;    /* the next one of its section; while a kernel is made */
    bool row, first, dead;
    bool settled; /* dync__kernel.settled, and its operands are as they were */
} dync__fuse_item;
/* By bit of a buffer's id modulo 64, to look no further: the items that load, those that store, and
 * the stores to what another one before it stores to. */
typedef struct dync__fuse_traffic {
    uint64_t loaded, stored, again;
} dync__fuse_traffic;
typedef struct dync__fuse_job {
    dync__arena *arena;
    int max_insts, max_straight; /* of any kernel, of one without reductions */
    bool bounded;                /* for machine code of this machine: DYNC__FUSE_ADDRESSED */
    bool few_registers;          /* of dync__fuse_options */
    bool brief; /* loops stay as they are, and simplification is left to its pass */
    bool (*needed)(void *user, int32_t buf_id); /* by anyone but the kernels at hand */
    void *user;
    bool no_memory;
    DYNC__VEC(dync__fuse_item) item;
    DYNC__VEC(int32_t) number;
    dync__fuse_traffic traffic;  /* of the live items, once they have sections */
    const dync__kernel *from[2]; /* the kernels at hand, [1] NULL: one alone */
    dync__fuse_frame frame;      /* here, as it is large for a small stack */
} dync__fuse_job;
DYNC__INLINE bool dync__fuse_is_brief(const dync__fuse_job *job)
{
    return DYNC__FUSE_BRIEF || job->brief;
}
/* Where a kernel's instructions go in the merged nest: OWN: row code stays row code and phases stay
 * phases; ROW: all of it is done once a row; PHASE: all of it in the inner loops. */
typedef enum { DYNC__FUSE_OWN, DYNC__FUSE_ROW, DYNC__FUSE_PHASE } dync__fuse_place;
/* Appends k's instructions; map < 0: k is the host. only: those with job->number >= 0, which become
 * the items' numbers. */
DYNC__FN bool dync__fuse_add(dync__fuse_job *, const dync__fuse_frame *, const dync__kernel *,
                             int map, dync__fuse_place, bool first, bool only);
/* Item `load` becomes item `value`, rounded as the buffer between them would have. */
DYNC__FN void dync__fuse_forward(dync__fuse_job *, int load, int value);
/* The second kernel's loads take the values that the first stored. False: the kernels cannot share
 * this nest; the items are then of no use. */
DYNC__FN bool dync__fuse_resolve(dync__fuse_job *, const dync__nest *);
/* Marks what no store needs; gives the number of live items. */
DYNC__FN int dync__fuse_sweep(dync__fuse_job *);
/* Gives every live item its section, and tells job->traffic. False: row code would need a phase
 * value, too many sections, or no memory (job->no_memory). */
DYNC__FN bool dync__fuse_place_all(dync__fuse_job *, const dync__nest *);
/* Would a generator that computes what item `store` stores again, in a later phase, read what was
 * overwritten meanwhile? */
DYNC__FN bool dync__fuse_recompute_safe(dync__fuse_job *, int store);

/* ---- fuse_apart.c ---------------------------------------------------------------------------- */
enum { DYNC__FUSE_HOT = 2 * DYNC__FUSE_INSTS / 64 + 1 }; /* words of a bit an instruction */
DYNC__FN void dync__fuse_hot(const dync__kernel *, uint64_t *hot);
/* Would the code of the two at hand be slower as one? */
DYNC__FN bool dync__fuse_slower(const dync__fuse_job *);
/* Has `made` of them rows in short pieces, where neither had, or dear arithmetic in short rows? */
DYNC__FN bool dync__fuse_bad_rows(const dync__fuse_job *, const dync__kernel *made);

/* ---- fuse_merge.c, fuse_inline.c ------------------------------------------------------------- */
/* The live items as a kernel, in job->arena; NULL: refused, or job->no_memory. */
DYNC__FN dync__kernel *dync__fuse_finish(dync__fuse_job *, const dync__nest *, const char *name);
/* "a_b", or the longer of the two where that is too long */
DYNC__FN const char *dync__fuse_name(dync__arena *, const char *a, const char *b);
/* Each gives a new kernel or NULL: refused, or job->no_memory. alone: a copy without the stores
 * that nobody needs. pair: both in one. inline: second with its loads of buf_id replaced by first's
 * expression for it. */
DYNC__FN dync__kernel *dync__fuse_alone(dync__fuse_job *, const dync__kernel *);
DYNC__FN dync__kernel *dync__fuse_pair(dync__fuse_job *, const dync__kernel *first,
                                       const dync__kernel *second);
DYNC__FN dync__kernel *dync__fuse_inline(dync__fuse_job *, const dync__kernel *first,
                                         const dync__kernel *second, int32_t buf_id);
/* How often second would compute that expression, and what once costs; -1: it cannot be inlined. */
DYNC__FN int64_t dync__fuse_inline_work(const dync__kernel *second, int32_t buf_id);
DYNC__FN int dync__fuse_inline_cost(dync__fuse_job *, const dync__kernel *first, int32_t buf_id,
                                    int *n_loads);
/* ---- fuse_order.c ---------------------------------------------------------------------------- */
enum { DYNC__FUSE_WORDS = DYNC__FUSE_WINDOW / 64 };
typedef struct dync__fuse_set {
    uint64_t word[DYNC__FUSE_WORDS];
} dync__fuse_set;

typedef struct dync__fuse_node {
    dync__fuse_step step;
    bool dead, reduces;     /* reduces: or scans */
    bool open;              /* may be taken in by its readers; dync__fuse_inline_all */
    uint64_t reads, writes; /* buffer ids modulo 64, to reject fast */
    dync__fuse_set reach;   /* nodes that must run after this one */
    /* partners for which merging (0) and inlining (1) was refused; cleared when one changes */
    dync__fuse_set failed[2];
    /* By the ids of others: with whom it was asked whether the order must be kept, and must it;
     * while it had kernel asked_as. */
    int id;
    const dync__kernel *asked_as;
    dync__fuse_set asked, ordered;
} dync__fuse_node;

/* By bit of the masks: the nodes that may read, and that may write, a buffer of it. */
typedef struct dync__fuse_users {
    dync__fuse_set reads[64], writes[64];
} dync__fuse_users;

/* The kernels of a window are made in half[now]; next: so many bytes of it are too many. */
enum { DYNC__SPACE_LEAST = 1 << 18 };
typedef struct dync__fuse_space {
    dync__arena half[2];
    int now;
    size_t next;
} dync__fuse_space;

typedef struct dync__fuse_graph {
    dync__fuse_job job;
    dync__fuse_space space;
    const dync__fuse_options *options;
    dync__map last_read; /* of a buffer: the last step of all that reads it */
    /* end: of the window; skip: the nodes at hand, for dync__fuse_needed */
    int end, n, skip_a, skip_b;
    dync__fuse_users users;
    dync__fuse_node *node;
} dync__fuse_graph;

/* fuse_traits.c: does kernel k make what is the same in every run, and is it dear? */
DYNC__FN bool dync__fuse_once(const dync__fuse_graph *, const dync__kernel *k, bool dear);

DYNC__INLINE bool dync__fuse_has(const dync__fuse_set *s, int i)
{
    return s->word[i / 64] >> (i % 64) & 1;
}
DYNC__INLINE void dync__fuse_put(dync__fuse_set *s, int i, bool on)
{
    uint64_t bit = (uint64_t)1 << (i % 64);
    s->word[i / 64] = on ? s->word[i / 64] | bit : s->word[i / 64] & ~bit;
}
/* mode: DYNC__BUF_IN reads, DYNC__BUF_OUT writes */
DYNC__FN bool dync__fuse_touches(const dync__fuse_step *, int32_t id, int mode);
/* Does the step touch what k writes, or write what k reads? */
DYNC__FN bool dync__fuse_meets(const dync__kernel *k, const dync__fuse_step *);
/* The nodes that may touch the buffer in that way, to be looked at; the members of a set in turn,
 * the first with from 0, after the last one DYNC__FUSE_WINDOW. */
DYNC__FN dync__fuse_set dync__fuse_users_of(const dync__fuse_graph *, int32_t id, int mode);
DYNC__FN int dync__fuse_next(const dync__fuse_set *, int from);
/* After every change of node i's kernel: the masks must have a bit for each buffer it touches. */
DYNC__FN void dync__fuse_masks(dync__fuse_graph *, int i);
/* Fills last_read for the whole program; false: no memory. */
DYNC__FN bool dync__fuse_note_reads(dync__fuse_graph *, const dync__fuse_step *steps, int n);
/* Does a step after the window read the buffer? */
DYNC__FN bool dync__fuse_read_later(const dync__fuse_graph *, int32_t id);
/* dync__fuse_job.needed: is the buffer kept, or read by a step other than those at hand? */
DYNC__FN bool dync__fuse_needed(void *user, int32_t id);
/* Numbers the nodes in a legal order, drops dead ones, and finds the edges of those that changed.
 * in_order: they stand in one, as before any merging. */
DYNC__FN bool dync__fuse_relink(dync__fuse_graph *, bool in_order);
/* Does a path from i to j pass another node? */
DYNC__FN bool dync__fuse_detour(const dync__fuse_graph *, int i, int j);
/* Node i has another kernel: what was refused with it may now be possible. */
DYNC__FN void dync__fuse_changed(dync__fuse_graph *, int i);
/* Node j becomes part of node i, whose kernel is now k. Numbers are then no order any more. */
DYNC__FN void dync__fuse_contract(dync__fuse_graph *, int i, int j, dync__kernel *k);

/* ---- fuse_space.c ---------------------------------------------------------------------------- */
DYNC__FN void dync__space_begin(dync__fuse_graph *);
/* Between merges: may move the kernels of all nodes; false: no memory. */
DYNC__FN bool dync__space_tidy(dync__fuse_graph *);
/* The window's kernels, in an arena that stays; false: no memory. Then, or on failure: free. */
DYNC__FN bool dync__space_end(dync__fuse_graph *, dync__arena *);
DYNC__FN void dync__space_free(dync__fuse_graph *);
/* ---- fuse_pairs.c ---------------------------------------------------------------------------- */
DYNC__FN bool dync__fuse_is_kernel(const dync__fuse_graph *, int i);
/* Questions about sizes that data decide, which nobody can answer (sym.h): who asked some takes
 * them back, and does nothing. */
DYNC__FN uint32_t dync__fuse_unknown(uint32_t before);
/* How long the kernel of nodes i and j may be if it has no reductions: as any other where what
 * stands between them would not stay in a cache, or rows are reduced that could join. */
DYNC__FN int dync__fuse_straight(const dync__fuse_graph *, int i, int j);
/* What runs once stays apart from what runs every time, where it is dear. */
DYNC__FN bool dync__fuse_apart(const dync__fuse_graph *, const dync__kernel *a,
                               const dync__kernel *b);
/* siblings: pairs that share a load; else pairs where one feeds the other. Nearest pairs first.
 * True: something was merged; the caller looks at job.no_memory. */
DYNC__FN bool dync__fuse_merge_all(dync__fuse_graph *, bool siblings);
#endif
