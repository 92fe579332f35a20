/* tests/cuda_emulator/ptx_run.h: a block under way, shared by ptx_run.c (threads, warps, barriers,
 * memory), ptx_arith.c (what one thread computes) and ptx_async.c (what sm_90a does on the side:
 * mbarriers, tensor copies, wgmma, clusters).
 *
 * Order between threads is kept in vector clocks of agents: the warps of all blocks of a cluster,
 * and for each mbarrier the copies that report to it. A warp's clock goes up where it lets others
 * know (barrier, arrival); what it learns joins its vector. */
#ifndef CUDA_EMULATOR_PTX_RUN_H
#define CUDA_EMULATOR_PTX_RUN_H
#include "ptx_ops.h"

/* agents of a block: warps, then mbarriers */
enum {
    AGENTS = 64,
    WARPS = 32,
    CLUSTER = 8,
    VECTOR = AGENTS * CLUSTER,
    MBARRIERS = 32,
    PENDING = 256
};
/* WAITS: at a barrier; BLOCKED: for something that others do, asked again each round */
enum { RUNS, MEETS, WAITS, BLOCKED, ENDED };
typedef struct {
    int pc;
    uint8_t state, barrier, cluster_phase; /* number of the barrier it waits at */
    uint16_t fences;                       /* fence.proxy.async so far */
    /* of its own warp's clock, by waits of this thread */
    uint32_t known;
    /* threads asked for at the barrier; groups committed: of cp.async, of bulk stores */
    int threads, groups, bulk;
    uint64_t *reg;
} thread;
typedef struct {
    uint32_t at; /* offset in shared memory */
    bool live, fenced, phase;
    int count, pending, tx;
    uint32_t copies; /* clock of its agent */
    /* what the arrivals of this phase, of the last one know */
    uint32_t now[VECTOR], done[VECTOR];
} mbarrier;
typedef struct machine machine;
/* cp.async: done at its wait */
typedef struct {
    char *to;
    const char *from;
    uint64_t at;
    int n, from_n, thread, group;
} small_copy;
/* shared memory that it reads */
typedef struct {
    const ptx_inst *in;
    uint64_t a, b;
    bool add;
    int group;
    uint32_t low[2], high[2];
} pending_mma;
/* steps: of its group that it has come to; counted: this one */
typedef struct {
    pending_mma q[PENDING];
    int n, groups, regs;
    bool fenced, counted;
    int64_t steps;
} warp_state;
typedef struct {
    const ptx_inst *in;
    char map[128];
    int32_t at[5];
    uint32_t shared, bar, bytes;
    /* blocks of the cluster: whose memory, who asked; of a store: its group or -1 */
    int rank, by, thread, group;
    bool load;
} pending_copy;
typedef struct {
    machine *at[CLUSTER];
    int n, arrived, n_threads, n_copies;
    uint8_t phase;
    uint32_t seed, now[VECTOR], done[VECTOR];
    pending_copy copy[PENDING];
} cluster;
struct machine {
    const ptx_entry *e;
    unsigned grid[3], block[3], at[3];
    const char *params;
    int n_threads, device, error, me, rank;
    thread *t;
    char *shared;
    cuemu_shadow *s_wrote, *s_read;
    size_t shared_bytes;
    uint32_t launch, block_number;
    uint16_t *sync;                              /* meetings so far, of each warp */
    uint32_t (*clock)[VECTOR], (*named)[VECTOR]; /* of each warp; of each barrier */
    uint64_t *regs;
    warp_state *w;
    /* by bar.arrive; registers of the block that no warp holds; threads that have not ended */
    int arrived[16], free_regs, live;
    mbarrier *bar;
    small_copy *pending;
    int n_bar, n_pending, cap_pending;
    cluster *c;
    char *detail;
    size_t cap;
    int64_t steps;
};

/* ---- ptx_run.c ------------------------------------------------------------------------------- */
bool has(const ptx_inst *, const char *word);
void fault(machine *, int error, const ptx_inst *, const char *fmt, uint64_t a, uint64_t b);
uint64_t get(machine *, const ptx_operand *);
void set(machine *, const ptx_operand *, uint64_t);
uint64_t address_of(machine *, const ptx_operand *);
enum { ATOMIC = 1, ASYNC = 2, TENSOR = 4, MBARRIER = 8, ARRIVING = 16 };
/* by an atomic; read by the async proxy; written
                                                  * by it; of an mbarrier; by cp.async, not waited
                                                  * for yet */
/* n bytes for the thread m->me, checked and noted; shared addresses may be those of another block
 * of the cluster. */
char *reach(machine *, const ptx_inst *, int space, uint64_t address, int n, bool writes,
            int flags);
/* What happens in the name of a copy: shared memory, noted as written by the agent. */
void note_copied(machine *, uint32_t shared, int n, int agent, uint32_t clock);
/* ---- ptx_arith.c ----------------------------------------------------------------------------- */
float as_f32(uint64_t), half_value(uint16_t), bf16_value(uint16_t);
double as_f64(uint64_t);
uint64_t of_f32(float), of_f64(double);
int type_bytes(ptx_type);
bool is_signed(ptx_type);
int64_t extend(uint64_t, int bytes);
void set_predicate(machine *, const ptx_inst *), convert(machine *, const ptx_inst *);
void arithmetic(machine *, const ptx_inst *), bits(machine *, const ptx_inst *);
void move(machine *, const ptx_inst *);
/* ---- ptx_async.c ----------------------------------------------------------------------------- */
enum { DONE, AGAIN };
int async_op(machine *, const ptx_inst *); /* one thread's; AGAIN: it blocks */
int async_meeting(machine *, const ptx_inst *, int first, int n);
bool async_meets(const ptx_inst *);
bool async_decode(ptx_inst *);
/* one of the copies under way is done; false: there is none */
bool async_progress(cluster *);
/* an access beside copies under way */
void async_touch(machine *, machine *owner, const ptx_inst *, uint32_t shared, int n, bool writes);
void async_thread_ends(machine *);
void async_block_ends(machine *);
void clock_join(uint32_t *to, const uint32_t *from, int n);
void clock_release(machine *, int warp);
#endif
