/* codegen/x86_gen.h: one kernel on its way to x86-64 code, shared by x86_gen.c (loops), x86_reg.c
 * (registers), x86_prim.c (primitives), x86_mem.c (loads and stores), x86_reduce.c. jit.c decides
 * what is emitted.
 *
 * Lanes. A kernel that has 64-bit values takes V = 8 (AVX-512) or 4 (AVX2) lanes a vector, others
 * 16 or 8: every value is one register, of V lanes of its own width. BOOL is a mask register under
 * AVX-512, else lanes of 32 bits, all ones or zero. The lane loop is the last of the inner loops
 * (rows one at a time), or the last row loop (vertical: rows side by side). U vectors are computed
 * at once, instruction by instruction. Lists. Code comes in lists as the interpreter's sections: 0
 * once, 1 + 2p row code before phase p, 2 + 2p phase p. In a list values live in registers; what
 * another list needs goes through its slot in the frame, as a whole vector. Row code of a kernel
 * whose rows come one at a time is the same code with equal lanes (single). The argument block
 * (rdi) holds what differs between kernels of one structure: addresses, extents, strides. */
#ifndef DYNC__X86_GEN_H
#define DYNC__X86_GEN_H
#include "after.h"
#include "plan_loops.h"
#include "x86_enc.h"
#if DYNC__JIT_X86

enum { DYNC__XG_CONES = 12, DYNC__XG_PHASES = 16 /* of split kernels */ };
enum { DYNC__XG_DIMS = 8, DYNC__XG_UNROLL = 4, DYNC__XG_GRAIN = 128, DYNC__XG_LANES = 32 };
/* streams: a buffer, a row buffer, numbers, one that an index leads into */
enum { DYNC__XS_MEM, DYNC__XS_KEEP, DYNC__XS_INDEX, DYNC__XS_GATHER };
/* along the lanes; BACK: by steps of -1, TWO: loads and stores by steps of 2, and stores by 3 and
 * 4 */
enum { DYNC__XL_SAME, DYNC__XL_DENSE, DYNC__XL_STRIDED, DYNC__XL_BACK, DYNC__XL_TWO };
typedef struct dync__xstream {
    int32_t access, buf, inst; /* inst: the value that a row buffer keeps */
    /* past: whole vectors are stored past the caches; turned: dense by way of a tile (jit.h) */
    uint8_t kind, lane, bytes, past, turned;
    int8_t gpr; /* where the phase being emitted has its address; -1 */
    /* else where in the frame; -1: in the argument block; of a turned stream of a square kernel,
     * where its square is */
    int32_t pointer;
} dync__xstream;
/* Words of the argument block; after them come, per row loop, its count and extent, per inner loop
 * its extent, per stream its record. */
/* SEGMENT: -1, or (split) the one to run: 2p row code before phase p, 2p + 1 phase p; slots come
 * from and go to memory at IN and OUT. tall: 0 takes sixteen rows more into what stands at IN, OUT
 * of them were before, 1 is what comes after the last. */
enum {
    DYNC__XA_ROWS,
    DYNC__XA_LANES,
    DYNC__XA_FRAME,
    DYNC__XA_SEED,
    DYNC__XA_OFFSET,
    DYNC__XA_SEGMENT,
    DYNC__XA_IN,
    DYNC__XA_OUT,
    DYNC__XA_FIXED
};
/* A stream's record: address, stride along the lanes, then a step per row loop and inner loop; all
 * in bytes. */
enum { DYNC__XA_AT, DYNC__XA_LANE, DYNC__XA_STEP };

/* lazy: a load still to be made */
typedef struct dync__xval {
    int8_t reg;
    bool lazy;
    int32_t spill;
} dync__xval;
typedef struct dync__xred {
    int32_t inst, phase;
    uint8_t kind, type, n_acc;
    /* ordered: float sums and products, whose order of additions is fixed */
    bool ordered, in_regs;
    int8_t reg[DYNC__XG_UNROLL];
    int32_t acc, level; /* in the frame */
    /* argmax, argmin: of the accumulated extremes, in the frame */
    int32_t where;
    dync__xrm identity;
} dync__xred;
/* the sum so far: in registers reg, reg - 1...; -1: at 64 bytes each in the frame */
typedef struct dync__xscan {
    int8_t reg;
    int32_t at;
} dync__xscan;
typedef DYNC__VEC(int32_t) dync__xlist;
/* x86_seldom.c; out: the selects */
typedef struct dync__xcone {
    dync__xlist list;
    int32_t input, n_outs, out[4];
    bool wide;
} dync__xcone;

/* The tile around a list of after.h: where operand `source` lies for the accumulator at hand; the
 * register of the lanes that the last vector has, 0: all. */
typedef struct dync__xtile {
    dync__xrm (*at)(const struct dync__xtile *, int source);
    int8_t mask;
} dync__xtile;

typedef struct dync__xg {
    const dync__loop_plan *b;
    const dync__xtile *tile; /* x86_after.c; else NULL */
    dync__xasm a;
    int isa, V, n_regs;
    /* split: long rows, whose segments can run alone; tall: columns summed, 16 rows at a time;
     * brief: one grain, or 16 rows, is all */
    bool wide, vertical, split, tall, brief;
    bool ends; /* tall: what is emitted comes after all rows */
    /* x86_gen.c, dync__xg_squares; once: what is turned stays in registers */
    bool square, turned_once;
    int8_t turned[16]; /* where its rows are */
    int row;           /* of the square */
    /* tall: frame: where the columns at hand keep levels between calls */
    int32_t state;
    int n_row_dims, n_inner_dims; /* D, K */
    int n_lists;
    dync__xlist *list;
    DYNC__VEC(dync__xstream) stream;
    DYNC__VEC(dync__xred) red;
    int32_t *stream_of;   /* by instruction: load, store, index */
    int32_t *keep_stream; /* by instruction: of its row buffer; -1 */
    int32_t *slot;        /* by instruction: in the frame; -1 none */
    /* by instruction: select of this cone; DYNC__XG_CONES: inside one; -1 */
    int32_t *cone_of;
    dync__xscan *scan; /* by instruction: of the phase being emitted */
    int n_cones;
    dync__xcone cone[DYNC__XG_CONES];
    /* cone_input: of the cone at hand, -1; the rest in the frame */
    int32_t cone_input, saved_regs, cone_areas;
    /* by instruction: of a constant, or where a draw lies in the frame; -1 not there yet */
    int32_t *pool_at;
    /* the list being emitted */
    int U;
    bool single, masked, in_phase;
    int cur, pos, u;
    dync__xval *val;                       /* instruction * UNROLL + u */
    int32_t *in_list;                      /* by instruction: the list it was last made in */
    int32_t *n_uses, *next_use, *last_use; /* next_use: index into uses */
    int32_t *first_use;
    DYNC__VEC(int32_t) uses;
    int8_t *hoist; /* by instruction: a register for the whole loop; -1 */
    uint32_t free_regs, locked, pinned, temps, free_k, locked_k, temps_k;
    int32_t owner[32], owner_k[8]; /* instruction * UNROLL + u; -1 */
    /* frame: masks of the U vectors (64 bytes apart), for 64-bit lanes; lanes left */
    int32_t tail_mask, tail_mask64, tail_count;
    /* label of the next row; late: behind what is hoisted, as rows do nothing else to registers */
    int32_t top;
    bool late;
    /* by instruction: one number for all lanes, by which alone lines are found: made for one
     * vector, of lanes as many as there is room for */
    uint8_t *leads;
    int32_t lead;  /* frame: of the load at hand */
    int32_t place; /* frame: inner indices before the lane loop at hand */
    /* the one index that leads the stream at hand, in memory; else none */
    dync__xrm line;
    int32_t slots, slot_bytes; /* frame: where slots begin, and their room */
    /* stage: elements on their way one by one; keys: of random numbers, -1 none */
    int32_t frame, stage, stage2, saved_sp, keys;
    DYNC__VEC(int32_t) free_spill;
    const char *why; /* not compiled: the reason */
} dync__xg;

DYNC__INLINE const dync__inst *dync__xg_inst(const dync__xg *g, int i)
{
    return &g->b->k->inst.at[i];
}
DYNC__INLINE bool dync__xg_type_wide(int type) { return type == DYNC_F64 || type == DYNC_I64; }
DYNC__INLINE bool dync__xg_type_float(int type) { return type == DYNC_F64 || type == DYNC_F32; }
/* The vector length that holds V lanes of a type, or of so many bytes. */
DYNC__INLINE int dync__xg_vl_bytes(int bytes) { return bytes > 32 ? 2 : bytes > 16 ? 1 : 0; }
DYNC__INLINE int dync__xg_vl(const dync__xg *g, int type)
{
    return DYNC__MIN(dync__xg_vl_bytes(g->V * (dync__xg_type_wide(type) ? 8 : 4)), g->isa);
}
DYNC__INLINE bool dync__xg_in_k(const dync__xg *g, int type)
{
    return type == DYNC_BOOL && g->isa == 2;
}
/* Through bitcasts: the same register. */
DYNC__INLINE int dync__xg_root(const dync__xg *g, int i)
{
    while (dync__xg_inst(g, i)->prim == DYNC__P_bitcast) i = dync__xg_inst(g, i)->arg[0];
    return i;
}
/* Operands as lists see them: a select with a cone has the cone's input for its first choice. */
DYNC__INLINE int dync__xg_args(const dync__xg *g, int i, int32_t out[3])
{
    int n = dync__lp_operands(g->b, i, out);
    if (g->cone_of[i] >= 0 && g->cone_of[i] < DYNC__XG_CONES) out[1] = g->cone[g->cone_of[i]].input;
    return n;
}
DYNC__INLINE int32_t dync__xg_record(const dync__xg *g, int stream, int word)
{
    return 8 * (DYNC__XA_FIXED + 2 * g->n_row_dims + g->n_inner_dims +
                stream * (DYNC__XA_STEP + g->n_row_dims + g->n_inner_dims) + word);
}
DYNC__INLINE dync__xrm dync__xg_arg(int32_t offset) { return dync__x_mem(DYNC__RDI, offset); }
DYNC__INLINE dync__xrm dync__xg_at(int32_t offset) { return dync__x_mem(DYNC__RSP, offset); }

/* ---- x86_reg.c ------------------------------------------------------------------------------- */
/* new room in the frame, 64-byte aligned */
DYNC__FN int dync__xg_frame(dync__xg *, int bytes);
/* what it knows of n instructions, and its lists (n_lists) */
DYNC__FN bool dync__xg_alloc_values(dync__xg *, dync__arena *, int n);
DYNC__FN void dync__xg_begin_list(dync__xg *, int list); /* uses of its values */
/* registers that one vector of it wants at once */
DYNC__FN int dync__xg_pressure(dync__xg *, int list);
/* no value is in a register; pinned ones stay */
DYNC__FN void dync__xg_reset(dync__xg *);
/* a register for the whole loop */
DYNC__FN int dync__xg_pin(dync__xg *);
DYNC__FN int dync__xg_temp(dync__xg *);
DYNC__FN int dync__xg_temp_k(dync__xg *);
/* its register: loads it where it is not in one */
DYNC__FN int dync__xg_src(dync__xg *, int value);
/* the same, or memory where that saves a load */
DYNC__FN dync__xrm dync__xg_src_rm(dync__xg *, int value);
DYNC__FN int dync__xg_src_k(dync__xg *, int value);
/* its memory, where no register of this list holds it */
DYNC__FN dync__xrm dync__xg_home(dync__xg *, int value);
/* made in the list at hand */
DYNC__FN bool dync__xg_is_here(const dync__xg *, int value);
/* would src_rm give memory? */
DYNC__FN bool dync__xg_in_memory(const dync__xg *, int value);
/* last used by this instruction, and in a register of its own */
DYNC__FN bool dync__xg_dies(const dync__xg *, int value);
/* registers of operands that die here may hold the result */
DYNC__FN void dync__xg_release(dync__xg *);
/* a register for its result */
DYNC__FN int dync__xg_def(dync__xg *, int inst);
DYNC__FN int dync__xg_def_k(dync__xg *, int inst);
/* the result replaces a dying operand in its register */
DYNC__FN void dync__xg_adopt(dync__xg *, int inst, int value);
/* the result stands in a register that was pinned */
DYNC__FN void dync__xg_set(dync__xg *, int inst, int reg);
DYNC__FN void dync__xg_drop_temps(dync__xg *);
/* the instruction is emitted: temporaries, dead values */
DYNC__FN void dync__xg_end(dync__xg *);
DYNC__FN dync__xrm dync__xg_const(dync__xg *, int type, double f, int64_t i);
/* ---- x86_prim.c ------------------------------------------------------------------------------ */
/* why it cannot be emitted; NULL */
DYNC__FN const char *dync__xg_refuses(const dync__xg *, int inst);
/* instruction inst for vector u */
DYNC__FN void dync__xg_prim(dync__xg *, int inst);
/* once: what the rounds add */
DYNC__FN void dync__xg_random_keys(dync__xg *);
/* rounded: 16 bits a lane, or in the low halves of lanes; to != from */
DYNC__FN void dync__xg_bf16(dync__xg *, int to, int from, bool packed);
DYNC__FN void dync__xg_fetch_page(dync__xg *, int list);
DYNC__FN void dync__xg_pack(dync__xg *, int bytes, int to, int from);
/* ---- x86_mem.c ------------------------------------------------------------------------------- */
DYNC__FN void dync__xg_load(dync__xg *, int inst);
DYNC__FN void dync__xg_gather(dync__xg *, int inst);
/* one value in all lanes? depth: 0 */
DYNC__FN bool dync__xg_is_even(const dync__xg *, int value, int depth);
/* a lazy one: into this register */
DYNC__FN void dync__xg_load_now(dync__xg *, int inst, int reg);
/* address of vector u of a dense stream; may use rax */
DYNC__FN dync__xrm dync__xg_element(dync__xg *, int stream);
DYNC__FN void dync__xg_store(dync__xg *, int inst);
DYNC__FN void dync__xg_index(dync__xg *, int inst);
/* to or from its row buffer */
DYNC__FN void dync__xg_keep(dync__xg *, int inst, bool load);
DYNC__FN void dync__xg_slot_store(dync__xg *, int inst);
/* the mask of vector u, in a temporary */
DYNC__FN int dync__xg_tail_k(dync__xg *);
DYNC__FN int dync__xg_tail_v(dync__xg *, bool wide);
/* ---- x86_reduce.c ---------------------------------------------------------------------------- */
/* argmax or argmin: g->place counts */
DYNC__FN bool dync__xg_has_places(const dync__xg *, int phase);
/* takes vector u into the accumulator */
DYNC__FN void dync__xg_reduce(dync__xg *, int inst);
/* registers or memory for the accumulators */
DYNC__FN void dync__xg_reduce_pin(dync__xg *, int phase);
DYNC__FN void dync__xg_reduce_init(dync__xg *, int phase, bool ordered, bool levels);
/* rows one at a time: folds a grain, adds it to its binary counter */
DYNC__FN void dync__xg_grain_end(dync__xg *, int phase, int32_t count);
/* rows side by side: every 16 additions go up a level */
DYNC__FN void dync__xg_vertical_carry(dync__xg *, int phase, int32_t count);
DYNC__FN void dync__xg_reduce_end(dync__xg *, int phase, int32_t count);
/* the scans of this list: zero, in a register where there are enough */
DYNC__FN void dync__xg_scan_begin(dync__xg *);
DYNC__FN void dync__xg_scan(dync__xg *, int inst);
/* ---- x86_seldom.c ---------------------------------------------------------------------------- */
DYNC__FN void dync__xg_find_cones(dync__xg *);
/* all vectors of its cone's selects */
DYNC__FN void dync__xg_seldom(dync__xg *, int select);
/* ---- x86_after.c ----------------------------------------------------------------------------- */
/* The generator of a tile with `lanes` lanes a vector whose accumulators go through the list; its
 * `a` takes the tile's code too. NULL: no memory. */
DYNC__FN dync__xg *dync__xg_after_new(dync__arena *, const dync__xtile *, int isa, int lanes,
                                      const dync__after *);
/* Elements that a row of the tile has alone, into registers beside those taken: which. */
DYNC__FN uint32_t dync__xg_after_row(dync__xg *, uint32_t taken);
/* The list on what stands in register reg: the register of the result. taken: registers that hold
 * something else. */
DYNC__FN int dync__xg_after(dync__xg *, int reg, uint32_t taken);
/* ---- x86_gen.c ------------------------------------------------------------------------------- */
DYNC__FN void dync__xg_emit(dync__xg *);
#endif
#endif
