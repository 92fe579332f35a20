/* codegen/gen.h: one kernel on its way to machine code, shared by gen_reg.c (registers), gen_mem.c
 * and gen_store.c (memory), gen_prim.c (primitives), gen_reduce.c and gen_fold.c, gen_cold.c,
 * gen_lanes.c, gen_loops.c (phases), gen_kernel.c (the whole).
 * plan_code.c decides what is generated; the target (target.h) makes instructions of the verbs.
 *
 * Lanes. A kernel that has 64-bit values takes as many lanes a vector as the target has room for
 * 64-bit elements, others twice as many: every value is one register, of V lanes of its own width.
 * The lane loop is the last of the inner loops (rows one at a time), or the last row loop
 * (vertical: rows side by side). U vectors are computed at once, instruction by instruction.
 * Lists. Code comes in lists as the plan's sections: 0 once, 1 + 2p row code before phase p, 2 + 2p
 * phase p. In a list values live in registers; what another list needs goes through its slot in the
 * frame, as a whole vector. Row code of a kernel whose rows come one at a time is the same code
 * with equal lanes (single).
 * The argument block (ARGS) holds what differs between kernels of one structure: addresses,
 * extents, strides. */
#ifndef DYNC__GEN_H
#define DYNC__GEN_H
#include "after.h"
#include "plan_loops.h"
#include "asm.h"
#if DYNC__JIT

enum { DYNC__GEN_CONES = 12, DYNC__GEN_PHASES = 16 /* of split kernels */ };
/* of a cold path, and so of the first select of one beside its condition and second choice */
enum { DYNC__GEN_CONE_INPUTS = 4, DYNC__GEN_ARGS = 2 + DYNC__GEN_CONE_INPUTS };
enum {
    DYNC__GEN_DIMS = 8,
    DYNC__GEN_UNROLL = 4,
    DYNC__GEN_GRAIN = 128,
    DYNC__GEN_LANES = 32,
    DYNC__GEN_WRITTEN_OUT = 6 /* instructions of a list */
};
/* streams: a buffer, a row buffer, numbers, one that an index leads into */
enum { DYNC__GS_MEM, DYNC__GS_KEEP, DYNC__GS_INDEX, DYNC__GS_GATHER };
/* along the lanes; BACK: by steps of -1, TWO: loads and stores by steps of 2, and stores by 3 and
 * 4 */
enum { DYNC__GL_SAME, DYNC__GL_DENSE, DYNC__GL_STRIDED, DYNC__GL_BACK, DYNC__GL_TWO };
typedef struct dync__gen_stream {
    int32_t access, buf, inst; /* inst: the value that a row buffer keeps */
    /* nontemporal: whole vectors by non-temporal stores; transposed: dense by way of a tile
     * (jit.h) */
    uint8_t kind, lane, bytes, nontemporal, transposed;
    bool by_one; /* indices that go up by 1 along the lanes */
    /* gpr: where the phase being emitted has its address; led: the same, moved by the row's index
     * (gen_streams.c); -1 */
    int8_t gpr, led;
    /* else where in the frame; -1: in the argument block; transposed, where its square is */
    int32_t pointer;
} dync__gen_stream;
/* Words of the argument block; after them come, per row loop, its count and extent, per inner loop
 * its extent, per stream its record. */
/* SEGMENT: -1, or (split) the one to run: 2p row code before phase p, 2p + 1 phase p; slots come
 * from and go to memory at IN and OUT. tall: 0 takes sixteen rows more into what stands at IN, OUT
 * of them were before, 1 is what comes after the last. */
enum {
    DYNC__GW_ROWS,
    DYNC__GW_LANES,
    DYNC__GW_FRAME,
    DYNC__GW_SEED,
    DYNC__GW_OFFSET,
    DYNC__GW_SEGMENT,
    DYNC__GW_IN,
    DYNC__GW_OUT,
    DYNC__GW_FIXED
};
/* A stream's record: address, stride along the lanes, then a step per row loop and inner loop; all
 * in bytes. */
enum { DYNC__GW_AT, DYNC__GW_LANE, DYNC__GW_STEP };

/* lazy: a load still to be made */
typedef struct dync__gen_val {
    int8_t reg;
    bool lazy;
    int32_t spill;
} dync__gen_val;
typedef struct dync__gen_red {
    int32_t inst, phase;
    uint8_t kind, type, n_acc;
    /* ordered: float sums and products, whose order of additions is fixed */
    bool ordered, in_regs;
    int8_t reg[2 * DYNC__GEN_UNROLL]; /* vectors of four lanes have eight for a grain */
    int32_t acc, level;               /* in the frame */
    /* argmax, argmin: of the accumulated extremes, in the frame */
    int32_t where;
    dync__place identity;
} dync__gen_red;
/* the sum so far: in registers reg, reg - 1...; -1: at 64 bytes each in the frame */
typedef struct dync__gen_sum {
    int8_t reg;
    int32_t at;
} dync__gen_sum;
typedef DYNC__VEC(int32_t) dync__gen_list;
/* gen_cold.c; out: the selects */
typedef struct dync__gen_cone {
    dync__gen_list list;
    int32_t n_inputs, input[DYNC__GEN_CONE_INPUTS], n_outs, out[4];
    bool wide;
} dync__gen_cone;

/* The tile around a list of after.h: where operand `source` lies for the accumulator at hand; the
 * register of the lanes that the last vector has (a mask's, 0: all), or, where the target has no
 * access under masks, the general register with their number. count: that, beside a vector mask. */
typedef struct dync__gen_tile {
    dync__place (*at)(const struct dync__gen_tile *, int source);
    int8_t mask, left, count;
} dync__gen_tile;
/* Sums of rows x vectors in registers from 0 on: one step adds element i of a, in all lanes, times
 * vector v of b. Where those lie only the tile knows (`of`), u is the number of the step. load:
 * vector v to a register. fold: as an operand, where a single row uses it but once; *z: under which
 * mask. dot: 0, FMA; else DOT of this dtype. b, a: registers of b's vectors; of a's elements, n_a
 * of them in turn. */
typedef struct dync__gen_sums {
    dync__vt v;
    int rows, vectors, dot, b, a, n_a;
    void *of;
    dync__place (*element)(void *of, int i, int u);
    void (*load)(void *of, int reg, int v, int u);
    dync__place (*fold)(void *of, int v, int u, int *z);
} dync__gen_sums;

typedef struct dync__gen {
    const dync__loop_plan *b;
    const dync__gen_tile *tile; /* gen_after.c; else NULL */
    dync__asm a;
    int V, n_regs;
    /* split: long rows, whose segments can run alone; tall: columns summed, 16 rows at a time;
     * brief: one grain, or 16 rows, is all */
    bool wide, vertical, split, tall, brief;
    /* not 0: so many rows at a time, each phase for all of them (gen_strip.c); frame: where the
     * first one's addresses and slots stand, and of how many bytes */
    int strip;
    int32_t strip_at, strip_bytes, strip_limit;
    bool ends; /* tall: what is emitted comes after all rows */
    /* gen_loops.c, dync__gen_squares; once: what is transposed stays in registers */
    bool square, transposed_once;
    int8_t transposed[16]; /* where its rows are */
    int row;               /* of the square */
    /* tall: frame: where the columns at hand keep levels between calls */
    int32_t state;
    int n_row_dims, n_inner_dims; /* D, K */
    int n_lists;
    dync__gen_list *list;
    DYNC__VEC(dync__gen_stream) stream;
    DYNC__VEC(dync__gen_red) red;
    int32_t *stream_of;   /* by instruction: load, store, index */
    int32_t *keep_stream; /* by instruction: of its row buffer; -1 */
    int32_t *slot;        /* by instruction: in the frame; -1 none */
    /* by instruction: select of this cone; DYNC__GEN_CONES: inside one; -1 */
    int32_t *cone_of;
    dync__gen_sum *scan; /* by instruction: of the phase being emitted */
    int n_cones;
    dync__gen_cone cone[DYNC__GEN_CONES];
    /* cone_now: the one at hand, or -1; the rest in the frame */
    int32_t cone_now, saved_regs, cone_areas;
    /* by instruction: of a constant; in the frame, where a draw lies, or what was drawn for an
     * index (gen_random.c); -1 not there yet */
    int32_t *pool_at;
    /* the list being emitted */
    int U;
    /* a row's loop takes U vectors so often, one lot after another: this one is the turn-th */
    int turns, turn;
    bool single, masked, in_phase;
    /* not 0: fewer than U vectors, of what they left of a row; so many of the last ones at once */
    int parts;
    int cur, pos, u;
    dync__gen_val *val;                    /* instruction * UNROLL + u */
    int32_t *in_list;                      /* by instruction: the list it was last made in */
    int32_t *n_uses, *next_use, *last_use; /* next_use: index into uses */
    int32_t *first_use;
    DYNC__VEC(int32_t) uses;
    int8_t *hoist; /* by instruction: a register for the whole loop; -1 */
    uint32_t free_regs, locked, pinned, temps, free_k, locked_k, temps_k;
    int32_t owner[32], owner_k[8]; /* instruction * UNROLL + u; -1 */
    /* frame: masks of the U vectors (64 bytes apart), for 64-bit lanes; lanes left */
    int32_t tail_mask, tail_mask64, tail_count;
    /* label of the next row; late: behind what is hoisted, as rows do nothing else to registers;
     * kept: addresses stay in registers from row to row */
    int32_t top;
    bool late, kept;
    /* by instruction: a draw that takes its numbers from a pool; a cast of an index to 32 bits,
     * made so at once; an index that only such ones read, which has no lanes */
    uint8_t *pooled;
    /* by instruction: one number for all lanes, by which alone lines are found: made for one
     * vector, of lanes as many as there is room for */
    uint8_t *leads;
    int32_t lead;  /* frame: of the load at hand */
    int32_t place; /* frame: inner indices before the lane loop at hand */
    /* the one index that leads the stream at hand, in memory; else none */
    dync__place line;
    int32_t slots, slot_bytes; /* frame: where slots begin, and their room */
    /* stage: elements on their way one by one; keys: of random numbers, -1 none */
    int32_t frame, stage, stage2, saved_sp, keys;
    DYNC__VEC(int32_t) free_spill;
    const char *why; /* not compiled: the reason */
} dync__gen;

DYNC__INLINE const dync__inst *dync__gen_inst(const dync__gen *g, int i)
{
    return &g->b->k->inst.at[i];
}
DYNC__INLINE bool dync__gen_type_wide(int type) { return type == DYNC_F64 || type == DYNC_I64; }
DYNC__INLINE bool dync__gen_type_float(int type) { return type == DYNC_F64 || type == DYNC_F32; }
/* A value of a type: in each of the V lanes one. */
DYNC__INLINE dync__vt dync__gen_vt(const dync__gen *g, int type) { return dync__vt_of(type, g->V); }
/* Has it a mask register? */
DYNC__INLINE bool dync__gen_in_k(const dync__gen *g, int type)
{
    return type == DYNC_BOOL && g->a.t->n_masks > 0;
}
/* Through bitcasts: the same register. */
DYNC__INLINE int dync__gen_root(const dync__gen *g, int i)
{
    while (dync__gen_inst(g, i)->prim == DYNC__P_bitcast) i = dync__gen_inst(g, i)->arg[0];
    return i;
}
/* Operands as lists see them: a select with a cone has the cone's input for its first choice, a
 * draw from a pool none. */
DYNC__INLINE int dync__gen_args(const dync__gen *g, int i, int32_t out[DYNC__GEN_ARGS])
{
    if (g->pooled[i]) return 0;
    int n = dync__lp_operands(g->b, i, out), at = g->cone_of[i];
    const dync__gen_cone *c = at >= 0 && at < DYNC__GEN_CONES ? &g->cone[at] : NULL;
    if (c) out[1] = c->input[0];
    for (int k = 1; c && k < c->n_inputs; k++) out[n++] = c->input[k];
    return n;
}
/* The index whose pool draw i takes from; -1: it takes its numbers lane by lane. */
DYNC__INLINE int dync__gen_pool_of(const dync__gen *g, int i)
{
    return g->pooled[i] && dync__gen_inst(g, i)->prim == DYNC__P_random
               ? dync__gen_inst(g, i)->arg[0]
               : -1;
}
DYNC__INLINE int32_t dync__gen_record(const dync__gen *g, int stream, int word)
{
    return 8 * (DYNC__GW_FIXED + 2 * g->n_row_dims + g->n_inner_dims +
                stream * (DYNC__GW_STEP + g->n_row_dims + g->n_inner_dims) + word);
}
DYNC__INLINE dync__place dync__gen_arg(int32_t offset) { return dync__a_mem(DYNC__G_ARGS, offset); }
DYNC__INLINE dync__place dync__gen_at(int32_t offset) { return dync__a_mem(DYNC__G_FRAME, offset); }

/* ---- gen_reg.c ------------------------------------------------------------------------------- */
DYNC__FN int dync__gen_operands(const dync__gen *g, int list, int i, int32_t out[DYNC__GEN_ARGS]);
DYNC__FN void dync__gen_free_spill(dync__gen *g, int slot);
DYNC__FN dync__vt dync__gen_vt_of(const dync__gen *g, int v);
DYNC__FN int dync__gen_alloc(dync__gen *g);
DYNC__FN int dync__gen_alloc_k(dync__gen *g);
/* new room in the frame, 64-byte aligned */
DYNC__FN int dync__gen_frame(dync__gen *, int bytes);
/* what it knows of n instructions, and its lists (n_lists) */
DYNC__FN bool dync__gen_alloc_values(dync__gen *, dync__arena *, int n);
DYNC__FN void dync__gen_begin_list(dync__gen *, int list); /* uses of its values */
/* registers that one vector of it wants at once */
DYNC__FN int dync__gen_pressure(dync__gen *, int list);
DYNC__FN uint32_t dync__gen_all(const dync__gen *); /* vector registers */
/* no value is in a register; pinned ones stay */
DYNC__FN void dync__gen_reset(dync__gen *);
/* a register for the whole loop */
DYNC__FN int dync__gen_pin(dync__gen *);
DYNC__FN int dync__gen_temp(dync__gen *);
/* for a mask: where masks have no registers, a vector */
DYNC__FN int dync__gen_temp_k(dync__gen *);
DYNC__FN int dync__gen_scratch(dync__asm *, int class_); /* for verbs */
/* its register: loads it where it is not in one */
DYNC__FN int dync__gen_src(dync__gen *, int value);
/* the same, or memory where that saves a load */
DYNC__FN dync__place dync__gen_src_rm(dync__gen *, int value);
enum { DYNC__GEN_ROW = DYNC__G_A8 }; /* of a strip: the row's addresses, 8 bytes each, and slots */
/* what its list leaves for others: its slot, of vector u */
DYNC__FN dync__place dync__gen_slot(const dync__gen *, int value, int u);
/* where a stream has its row; in list 0, which comes before rows, where it begins */
DYNC__FN dync__place dync__gen_address(const dync__gen *, int stream);
/* its memory, where no register of this list holds it */
DYNC__FN dync__place dync__gen_home(dync__gen *, int value);
/* made in the list at hand */
DYNC__FN bool dync__gen_is_here(const dync__gen *, int value);
/* would src_rm give memory? */
DYNC__FN bool dync__gen_in_memory(const dync__gen *, int value);
/* last used by this instruction, and in a register of its own */
DYNC__FN bool dync__gen_dies(const dync__gen *, int value);
/* registers of operands that die here may hold the result */
DYNC__FN void dync__gen_release(dync__gen *);
/* a register for its result */
DYNC__FN int dync__gen_def(dync__gen *, int inst);
/* the result replaces a dying operand in its register */
DYNC__FN void dync__gen_adopt(dync__gen *, int inst, int value);
/* the result stands in a register that was pinned */
DYNC__FN void dync__gen_set(dync__gen *, int inst, int reg);
DYNC__FN void dync__gen_drop_temps(dync__gen *);
/* the instruction is emitted: temporaries, dead values */
DYNC__FN void dync__gen_end(dync__gen *);
DYNC__FN dync__place dync__gen_const(dync__gen *, int type, double f, int64_t i);
/* ---- gen_prim.c ------------------------------------------------------------------------------ */
/* why it cannot be emitted; NULL */
DYNC__FN const char *dync__gen_refuses(const dync__gen *, int inst);
/* instruction inst for vector u */
DYNC__FN void dync__gen_prim(dync__gen *, int inst);
/* once: what the rounds add */
DYNC__FN void dync__gen_random_keys(dync__gen *);
/* Is prefetching of pages worth it? Where a phase reduces its rows, or stores are non-temporal,
 * but not rows of a few lanes, nor for long chains of operators, which hide what they wait for. */
DYNC__FN bool dync__gen_far(const dync__gen *g, int phase, int most);
DYNC__FN void dync__gen_prefetch_page(dync__gen *, int list);
/* ---- gen_mem.c ------------------------------------------------------------------------------- */
DYNC__FN void dync__gen_copy_one(dync__gen *g, int bytes, dync__place to, dync__place from);
DYNC__FN int dync__gen_some_begin(dync__gen *g);
DYNC__FN void dync__gen_some_end(dync__gen *g, int more, int done);
/* Backwards, of vector u: how many lanes the tail has, to the stage; the last one, which is the
 * lowest; register r's lanes of that type, the last one first. */
DYNC__FN void dync__gen_back_left(dync__gen *);
DYNC__FN dync__place dync__gen_back_at(dync__gen *, int stream);
DYNC__FN void dync__gen_back_pick(dync__gen *, int type, int r);
DYNC__FN void dync__gen_collect(dync__gen *g, int stream, int r, bool indexed, bool moves);
/* the tail of vector u, in a temporary; wide: for 8-byte lanes */
DYNC__FN int dync__gen_tail(dync__gen *, bool wide);
/* The first elements of a vector of at most 16 bytes, as many as general register `left` says, one
 * by one from y to reg, or (store) from reg, which then holds nothing any more. */
DYNC__FN void dync__gen_elements(dync__asm *, dync__vt, int reg, dync__place y, int left,
                                 bool store);
DYNC__FN void dync__gen_load(dync__gen *, int inst);
DYNC__FN void dync__gen_gather(dync__gen *, int inst);
/* one value in all lanes? depth: 0 */
DYNC__FN bool dync__gen_is_even(const dync__gen *, int value, int depth);
/* recursion: registers are taken to load, loads are put off until a register is asked for. A lazy
 * one: into this register */
DYNC__FN void dync__gen_load_now(dync__gen *, int inst, int reg);
/* recursion: as above. Address of vector u of a dense stream; may use T0 */
DYNC__FN dync__place dync__gen_element(dync__gen *, int stream);
/* vectors of elements of so many bytes, none of whose bits mean anything */
DYNC__FN dync__vt dync__gen_raw_vt(const dync__gen *, int bytes);
/* the register that holds the stream's address, T1 loaded with it if need be */
DYNC__FN int dync__gen_base(dync__gen *, int stream);
/* element by element, through a vector in the frame? */
DYNC__FN bool dync__gen_is_staged(const dync__gen *, const dync__gen_stream *);
/* between memory and that vector: V elements, or those of the tail */
DYNC__FN void dync__gen_stage(dync__gen *, int stream, bool load);
/* the address of lane `lane` of vector u, by the stride, to T0 */
DYNC__FN void dync__gen_strided(dync__gen *, int stream, int lane);
/* one element for all lanes? */
DYNC__FN bool dync__gen_is_same(const dync__gen *, const dync__gen_stream *);
/* ---- gen_store.c ----------------------------------------------------------------------------- */
DYNC__FN void dync__gen_store(dync__gen *, int inst);
DYNC__FN void dync__gen_index(dync__gen *, int inst);
/* to or from its row buffer */
DYNC__FN void dync__gen_keep(dync__gen *, int inst, bool load);
DYNC__FN void dync__gen_slot_store(dync__gen *, int inst);
/* ---- gen_cold.c ---------------------------------------------------------------------------- */
DYNC__FN void dync__gen_find_cones(dync__gen *);
/* all vectors of its cone's selects */
DYNC__FN void dync__gen_cold(dync__gen *, int select);
/* ---- gen_after.c ----------------------------------------------------------------------------- */
/* The generator of a tile with `lanes` lanes a vector whose accumulators go through the list; its
 * `a` takes the tile's code too. NULL: no memory. */
DYNC__FN dync__gen *dync__gen_after_new(dync__arena *, const dync__gen_tile *, const dync__target *,
                                        int lanes, const dync__after *);
/* Elements that a row of the tile has alone, into registers beside those taken: which. */
DYNC__FN uint32_t dync__gen_after_row(dync__gen *, uint32_t taken);
/* The list on what stands in register reg: the register of the result. taken: registers that hold
 * something else. */
DYNC__FN int dync__gen_after(dync__gen *, int reg, uint32_t taken);
/* ---- gen_gemm.c ------------------------------------------------------------------------------ */
DYNC__FN void dync__gen_products(dync__asm *, const dync__gen_sums *, int u);
/* ---- gen_lanes.c ----------------------------------------------------------------------------- */
/* the list begun, for each of U vectors */
DYNC__FN void dync__gen_emit_list(dync__gen *);
/* END lanes are left: what masks need */
DYNC__FN void dync__gen_tail_masks(dync__gen *);
/* Lanes from LANE to the limit in END (or memory): U vectors at a time, `turns` times in turn, then
 * what is left. `end`: where the limit stands; most: vectors at once. */
DYNC__FN void dync__gen_lanes(dync__gen *, dync__place end, int most);
/* `span` lanes from LANE on, to `lanes` at most; few instructions are written out for a whole span.
 * `limit`: room in the frame. */
DYNC__FN void dync__gen_lanes_of(dync__gen *, int span, int most, dync__place lanes,
                                 dync__place limit);
/* ---- gen_loops.c ----------------------------------------------------------------------------- */
/* what code of a kernel changes of the caller's registers */
enum {
    DYNC__GEN_SAVED = 1 << DYNC__G_A0 | 1 << DYNC__G_T2 | 1 << DYNC__G_A5 | 1 << DYNC__G_A6 |
                      1 << DYNC__G_A7 | 1 << DYNC__G_A8
};
/* row code */
DYNC__FN void dync__gen_row_list(dync__gen *, int list);
DYNC__FN int dync__gen_unroll(dync__gen *, int list, int most); /* as registers allow */
/* the most used constants and row values into the registers that are left */
DYNC__FN void dync__gen_hoist(dync__gen *);
DYNC__FN void dync__gen_unhoist(dync__gen *);
/* a phase of a row; of rows side by side */
DYNC__FN void dync__gen_row_phase(dync__gen *, int phase, int most);
DYNC__FN void dync__gen_column_phase(dync__gen *, int phase);
DYNC__FN void dync__gen_next_row(dync__gen *, int top); /* jumps there, or there is none */
/* ---- gen_strip.c ----------------------------------------------------------------------------- */
DYNC__FN void dync__gen_strip_room(dync__gen *);
DYNC__FN void dync__gen_strips(dync__gen *, int most); /* all rows */
/* ---- gen_kernel.c ---------------------------------------------------------------------------- */
DYNC__FN void dync__gen_emit(dync__gen *);
/* ---- gen_random.c ---------------------------------------------------------------------------- */
enum { DYNC__DRAW_REGS = 12 }; /* of a draw that takes a block for each number */
DYNC__FN void dync__gen_uniform(dync__gen *g, int i);
#endif
#endif
