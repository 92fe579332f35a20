/* cuda/ptx.h: PTX text from kernels of loop IR. After rt.h, before calls.c and launch.c. ptx.c
 * holds the text builder and the whole kernel, ptx_prim.c the primitives, ptx_mem.c addresses,
 * loads and stores, ptx_plan.c how a kernel is laid over threads, ptx_reduce.c reductions,
 * ptx_f16.c pairs of half floats, ptx_transpose.c transposed accesses through shared memory.
 *
 * Words: T threads work on a row; each holds lanes, in groups of `vec` neighbours that one memory
 * access moves. A pointwise kernel is one row and all threads of the grid. A kernel with few rows
 * and long ones is split over blocks: each phase is a launch that joins what the phases before left
 * in scratch memory and leaves its own partial results there; row code stores in a last one.
 * Registers are named after values: %mul7_2 is value 7 in lane 2. */
#ifndef DYNC__CUDA_PTX_H
#define DYNC__CUDA_PTX_H
#include "gpu.def.h"
#include "rt.h"

enum { /* thresholds */
#define DYNC__X(name, value, unit, decides, measures) DYNC__##name = value,
       DYNC__GPU_MACHINE(DYNC__X)
#undef DYNC__X
};

enum { DYNC__PTX_FLAT, DYNC__PTX_ROWS, DYNC__PTX_COLUMNS };
enum {
    DYNC__PTX_LAUNCHES = 6,
    DYNC__PTX_MAPS = 4,
    DYNC__PTX_CHECKS = 16,
    DYNC__PTX_BLOCK = 256,
    DYNC__PTX_LANES = 64,
    DYNC__PTX_TRANSPOSED = 6
};

/* How a kernel is laid over threads. */
typedef struct dync__ptx_shape {
    int mode, vec, groups; /* groups: of lanes per thread and iteration */
    int64_t threads;       /* T; 0: the whole grid */
    int64_t rows, inner;
    /* of the loop over the row; 1: straight code, values stay in registers */
    int64_t iterations;
    int64_t splits, chunk; /* of the row over blocks; inner indices of each */
    int rows_per_block, block;
    bool wide;    /* indices need 64 bits */
    bool guarded; /* an iteration may reach past the row's end */
    /* ptx_transpose.c: of the squares that blocks do, 0 none; their other loop */
    int side, across;
    int64_t blocks;
} dync__ptx_shape;

typedef struct dync__ptx_launch {
    char entry[96];
    int64_t grid[3];
    int block, shared_bytes;
    /* launched so often, the number of the launch being one more parameter; 0: once */
    int64_t steps;
} dync__ptx_launch;
/* Where the vector form asks for 16-byte boundaries: buffer and byte offset into it. */
typedef struct dync__ptx_check {
    int buf, align;
    int64_t offset;
} dync__ptx_check;
/* A tensor map (TMA) of a buffer: a parameter after the words, ".param .align 64 .b8 m0[128]".
 * Sizes and boxes in elements, the innermost first, strides in bytes from the second on. type,
 * swizzle: numbers of CUtensorMapDataType and CUtensorMapSwizzle. */
typedef struct dync__ptx_map {
    int buf, type, rank, swizzle;
    int64_t offset; /* bytes into the buffer */
    uint64_t size[5], stride[4];
    uint32_t box[5];
} dync__ptx_map;
typedef struct dync__ptx_text {
    dync__str text;
    int n_launches, n_checks, n_maps;
    dync__ptx_map map[DYNC__PTX_MAPS];
    dync__ptx_launch launch[DYNC__PTX_LAUNCHES];
    dync__ptx_check check[DYNC__PTX_CHECKS];
    int64_t scratch_bytes;
    bool random, is_vector;
} dync__ptx_text;

typedef struct dync__ptx_address {
    int buf, access, group, at;
    char reg[24];
} dync__ptx_address;
/* An access through shared memory: its place there, elements of one access of global memory. */
typedef struct dync__ptx_transposed {
    int buf, access, width, at;
    bool out;
} dync__ptx_transposed;
typedef struct dync__ptx {
    dync__str body, regs; /* statements; declarations */
    const dync__kernel *k;
    const bool *host;
    dync__ptx_shape shape;
    /* of what is being emitted: the tail of a flat kernel has one lane */
    int vec, groups;
    /* phase being emitted; stage: 1 a phase of a split kernel, 2 its row code, 0 not split */
    int n_phases, phase, stage;
    /* suffix that tells the tail's registers from the others; 0 none */
    char copy;
    const char *index; /* "u32" or "u64": type of linear indices */
    /* by instruction; uniform 1: within a group, 2: within the row */
    uint8_t *needed, *uniform;
    /* block in which the instruction's registers were last written; -1 nowhere */
    int32_t *where;
    /* the same of its registers of two f16 values (ptx_f16.c); NULL: there are none */
    int32_t *paired;
    int block; /* number of the block being emitted */
    int n_temps, n_labels, shared_bytes;
    int philox_of, philox_lane, philox_block; /* the draw whose words are in %ph */
    DYNC__VEC(dync__ptx_address) address;
    dync__arena *arena;
    dync__ptx_check check[DYNC__PTX_CHECKS];
    int n_checks;
    dync__ptx_transposed transposed[DYNC__PTX_TRANSPOSED];
    int n_transposed, transposed_bytes;
    bool failed, unsupported, uses_random;
    /* of a piece in two steps: 1 loads leave what they read in registers named after them, 2 that
     * is made values */
    int raw;
    /* number of the store that is not done, + 1: its value is asked for; 0 none */
    int taken;
    int most; /* neighbours of a group, at most; 0: as may be */
    /* a buffer is read and written: threads past the last row may not even read */
    bool in_place;
    char name[16][40]; /* operands under way */
    int next_name;
} dync__ptx;

/* ---- text (ptx.c) ---------------------------------------------------------------------------- */
/* one statement */
DYNC__FN void dync__ptx_line(dync__ptx *, const char *fmt, ...) DYNC__PRINTF(2, 3);
/* declares a register */
DYNC__FN void dync__ptx_reg(dync__ptx *, const char *type, const char *name);
/* a fresh one */
DYNC__FN const char *dync__ptx_temp(dync__ptx *, const char *type);
/* "f32" ... "pred" */
DYNC__FN const char *dync__ptx_type(int compute_type);
/* "b32" "b64" */
DYNC__FN const char *dync__ptx_bits(int compute_type);
/* register or immediate of a value; emits it again where it is not at hand */
DYNC__FN const char *dync__ptx_use(dync__ptx *, int inst, int lane);
DYNC__FN const char *dync__ptx_in_reg(dync__ptx *, int inst, int lane); /* never an immediate */
DYNC__FN const char *dync__ptx_constant(dync__ptx *, int type, dync__scalar);
/* declares and names the register of a value */
DYNC__FN const char *dync__ptx_dest(dync__ptx *, int inst, int lane);
/* recursion: all lanes of one instruction in the block being emitted, operands first */
DYNC__FN void dync__ptx_emit(dync__ptx *, int inst);
DYNC__FN const char *dync__ptx_guard(dync__ptx *, int lane, bool writes); /* "@%in0 " or "" */
/* Row code: once per row. A flat kernel has none, whatever the section. */
DYNC__INLINE bool dync__ptx_is_row(const dync__ptx *p, const dync__inst *in)
{
    return !(in->section & 1) && p->shape.mode != DYNC__PTX_FLAT;
}
/* nothing where nothing is written in place */
DYNC__FN void dync__ptx_row_barrier(dync__ptx *);
/* lanes it is computed in: 1 where it is uniform in the row */
DYNC__INLINE const dync__inst *dync__ptx_inst(const dync__ptx *p, int i)
{
    return &p->k->inst.at[i];
}
DYNC__FN bool dync__ptx_at_hand(const dync__ptx *p,
                                int i); /* made already, or made where it is used */
DYNC__FN int dync__ptx_lanes(const dync__ptx *, int inst);
/* the lane that holds its value for this one */
DYNC__FN int dync__ptx_lane(const dync__ptx *, int inst, int lane);
/* Writes the module; form 0 with vector accesses, 1 without. Fails with DYNC_ERR_MEMORY or
 * DYNC_ERR_UNSUPPORTED. */
DYNC__FN dync_status dync__ptx_kernel(const dync__kernel *, const bool *host, int units,
                                      bool scalar, dync__ptx_text *out);
/* everything of one section */
DYNC__FN void dync__ptx_section(dync__ptx *, int section);
/* A pointwise kernel as pieces of another text (tile.h, dync__cuda_tile_begin_kernel and
 * _piece). */
DYNC__FN bool dync__ptx_piece_begin(dync__ptx *, dync__arena *, const dync__kernel *,
                                    const bool *host, int64_t columns, bool scalar);
DYNC__FN void dync__ptx_piece(dync__ptx *, const char *linear, int given, char value[][24]);
/* The same in two steps, for a kernel whose only store is `taken`: loads from `linear` on; later
 * the values, `vec` of them. load gives what value asks for. */
DYNC__FN int dync__ptx_piece_load(dync__ptx *, const char *linear);
DYNC__FN void dync__ptx_piece_value(dync__ptx *, int loaded, char value[][40]);
DYNC__FN void dync__ptx_header(dync__str *, const char *target);
/* ---- ptx_plan.c ------------------------------------------------------------------------------ */
/* units: multiprocessors; 0: of another text */
DYNC__FN void dync__ptx_plan(dync__ptx *, int units, bool scalar);
DYNC__FN bool dync__ptx_is_vector(const dync__ptx *, int buf, int access);
DYNC__FN bool dync__ptx_has_reduce(const dync__kernel *);
/* ---- ptx_prim.c ------------------------------------------------------------------------------ */
DYNC__FN void dync__ptx_prim(dync__ptx *, int inst, int lane);
/* ---- ptx_mem.c ------------------------------------------------------------------------------- */
DYNC__FN void dync__ptx_load(dync__ptx *, int inst);
DYNC__FN void dync__ptx_store(dync__ptx *, int inst);
/* What a guarded load finds in its register where the guard is false: 0. It must find something
 * (ptxas 13.0 takes another load of the same address for one into a register that holds nothing,
 * whatever the guards say). Nothing where guard is "". type: the register's, "f32" "b64". */
DYNC__FN void dync__ptx_unloaded(dync__ptx *, const char *guard, const char *type,
                                 const char *name);
/* of a load or store of one element: "f32" "b16" "u8" */
DYNC__FN const char *dync__ptx_memory_type(int dtype);
/* of the register that it goes through */
DYNC__FN const char *dync__ptx_raw_type(int dtype);
/* the element is the value */
DYNC__FN bool dync__ptx_is_plain(int dtype);
/* where it is not */
DYNC__FN void dync__ptx_widen(dync__ptx *, int dtype, const char *to, const char *raw);
DYNC__FN void dync__ptx_narrow(dync__ptx *, int dtype, const char *raw, const char *from);
DYNC__FN void dync__ptx_index(dync__ptx *, int inst, int lane);
/* reg += coordinate * by, in 64 bits */
DYNC__FN void dync__ptx_add_scaled(dync__ptx *, const char *reg, const char *coordinate,
                                   int64_t by);
/* ---- ptx_f16.c ------------------------------------------------------------------------------ */
DYNC__FN void dync__ptx_mark_pairs(dync__ptx *);
DYNC__FN void dync__ptx_pair_is(dync__ptx *, int inst, int lane, const char *word);
/* name: 48 characters */
DYNC__FN bool dync__ptx_pair_of(dync__ptx *, int inst, int lane, int dtype, char *name);
DYNC__FN bool dync__ptx_emit_pairs(dync__ptx *, int inst);
/* ---- ptx_transpose.c ------------------------------------------------------------------------- */
DYNC__FN int dync__ptx_transpose_bytes(const dync__ptx *p, const dync__ptx_transposed *t);
/* to = the exclusive or of row `m` (b32 registers all). */
DYNC__FN void dync__ptx_transpose_swizzle(dync__ptx *p, const dync__ptx_transposed *t,
                                          const char *to, const char *m);
DYNC__FN void dync__ptx_plan_transpose(dync__ptx *, int units, bool scalar);
/* number in p->transposed, or -1 */
DYNC__FN int dync__ptx_transposed_of(const dync__ptx *, const dync__inst *);
/* address in shared memory */
DYNC__FN void dync__ptx_transposed_place(dync__ptx *, int transposed, int group, int element,
                                         char *out, size_t cap);
/* the statements of a kernel that runs in squares */
DYNC__FN void dync__ptx_transpose(dync__ptx *);
/* ---- ptx_reduce.c ---------------------------------------------------------------------------- */
/* accumulators of the phase, before its loop */
DYNC__FN void dync__ptx_reduce_begin(dync__ptx *);
/* takes the lanes of its operand in */
DYNC__FN void dync__ptx_reduce_step(dync__ptx *, int inst);
/* results in every thread of the row */
DYNC__FN void dync__ptx_reduce_end(dync__ptx *, int phase);
/* of the phase, where the row is split */
DYNC__FN void dync__ptx_partials_store(dync__ptx *);
/* results of the phases before, as far as they are needed */
DYNC__FN void dync__ptx_partials_load(dync__ptx *);
DYNC__FN int64_t dync__ptx_partial_bytes(const dync__ptx *);
/* ---- ptx.c ----------------------------------------------------------------------------------- */
/* Coordinates of loops [from, to) from a linear index in `linear`: names are prefix, loop,
 * suffix. */
DYNC__FN void dync__ptx_coordinates(dync__ptx *p, int from, int to, const char *linear,
                                    const char *prefix, const char *suffix);
DYNC__FN int dync__ptx_first_inner(const dync__ptx *p);
/* Parameters into registers. */
DYNC__FN void dync__ptx_open(dync__ptx *p);
/* Seed and offset, from the parameters or, where a graph is recorded, from memory. */
DYNC__FN void dync__ptx_open_random(dync__ptx *p);
DYNC__FN void dync__ptx_close(dync__ptx *p, dync__ptx_text *out, int64_t gx, int64_t gy, int block);
DYNC__FN void dync__ptx_flat(dync__ptx *p, dync__ptx_text *out, int units);
/* Which row, which thread of it. */
DYNC__FN void dync__ptx_row_begin(dync__ptx *p);
DYNC__FN void dync__ptx_phase(dync__ptx *p, int phase);
/* p->needed of `all`: what a phase of a split kernel stores and reduces, or (phase n_phases) what
 * row code stores, and what that takes; reductions of phases before come from the scratch memory.
 * False: nothing. */
DYNC__FN bool dync__ptx_launch_needs(dync__ptx *p, const uint8_t *all, int phase);

/* ptx_mem.c */
DYNC__FN const char *dync__ptx_address_of(dync__ptx *p, int buf, int access, int group);
DYNC__FN void dync__ptx_list(char *out, size_t cap, int n, char name[][40]);
DYNC__FN const char *dync__ptx_spot(dync__ptx *p, const dync__inst *in, int group, int k,
                                    const char *at, char *out, size_t cap);
DYNC__FN bool dync__ptx_moves_groups(const dync__ptx *p, const dync__inst *in);
#endif
