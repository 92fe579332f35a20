/* tests/cuda_emulator/emulator.h: what tests may ask of the stand-in for libcudart, and what its
 * files share. ptx_parse.c reads PTX, ptx_run.c runs it, cudart.c has the runtime's functions. See
 * cudart.c for what is checked. */
#ifndef CUDA_EMULATOR_H
#define CUDA_EMULATOR_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* On a GPU (make gpu-tests) the same tests run without an emulator: what asks it for something
 * stands in #if EMULATED. */
#if defined(TEST_REAL_GPU)
#define EMULATED 0
static inline const char *cuemu_detail(void) { return ""; }
static inline int64_t cuemu_live_bytes(void) { return 0; }
enum { cuemu_products = 0 }; /* nobody counts them there */
#else
#define EMULATED 1

/* ---- for tests ------------------------------------------------------------------------------- */
/* as at the start of the process: no devices asked for, errors forgotten; memory stays */
void cuemu_reset(void);
/* before the library asks; -1: the driver is missing, -2: it is too old */
void cuemu_set_devices(int n);
void cuemu_fail_malloc(int64_t bytes); /* a device has this much memory; 0: plenty */
int64_t cuemu_launches(void), cuemu_live_bytes(void), cuemu_instructions(void);
extern int64_t cuemu_products;  /* of warps, by wgmma */
const char *cuemu_detail(void); /* of the last error of a kernel: what, where */

/* cuTensorMapEncodeTiled: every argument is checked */
int cuemu_tensor_map_encode(void *map, int type, uint32_t rank, void *base, const uint64_t *size,
                            const uint64_t *stride, const uint32_t *box, const uint32_t *step,
                            int interleave, int swizzle, int promotion, int fill);

/* ---- errors of the runtime by number --------------------------------------------------------- */
enum {
    CUEMU_OK = 0,
    CUEMU_INVALID_VALUE = 1,
    CUEMU_MEMORY = 2,
    CUEMU_INVALID_CONFIG = 9,
    CUEMU_INSUFFICIENT_DRIVER = 35,
    CUEMU_NO_DEVICE = 100,
    CUEMU_INVALID_DEVICE = 101,
    CUEMU_NO_BINARY = 209,
    CUEMU_INVALID_PTX = 218,
    CUEMU_INVALID_HANDLE = 400,
    CUEMU_NOT_FOUND = 500,
    CUEMU_ILLEGAL_ADDRESS = 700,
    CUEMU_MISALIGNED = 716,
    CUEMU_LAUNCH_FAILURE = 719,
    CUEMU_CAPTURE_UNSUPPORTED = 900
};

/* ---- PTX, decoded ---------------------------------------------------------------------------- */
typedef enum {
    T_NONE,
    T_PRED,
    T_B8,
    T_U8,
    T_S8,
    T_B16,
    T_U16,
    T_S16,
    T_F16,
    T_BF16,
    T_B32,
    T_U32,
    T_S32,
    T_F32,
    T_F16X2,
    T_BF16X2,
    T_TF32,
    T_B64,
    T_U64,
    T_S64,
    T_F64,
    T_B128
} ptx_type;
typedef enum { O_NONE, O_REG, O_IMM, O_ADDRESS, O_LABEL, O_LIST } ptx_operand_kind;
typedef struct {
    ptx_operand_kind kind;
    /* ADDRESS: reg (-1 none), imm; param >= 0; list: coordinates after a comma */
    int reg, n, param;
    uint64_t imm;
    int *list;
    uint64_t *list_imm;
    bool *list_is_imm, negated, is_shared; /* the address of a variable in shared memory */
} ptx_operand;
enum { PTX_OPERANDS = 10, PTX_WORDS = 16, PTX_LIST = 128, PTX_PARAMS = 90 };
typedef struct {
    const char *text;    /* for messages */
    int line, op, guard; /* guard: predicate register, -1 none */
    bool guard_not;
    int n_words; /* the opcode's parts after the first: "rn" "f32" */
    const char *word[PTX_WORDS];
    ptx_type type, type2;        /* last and second last type named */
    int vec, space, mode, mode2; /* op-specific */
    bool cluster;                /* shared::cluster */
    int n;
    ptx_operand o[PTX_OPERANDS];
} ptx_inst;
typedef struct {
    char name[128];
    int n_params, n_regs, n_insts, max_threads;
    int cluster, max_regs; /* blocks of a cluster, along x; .maxnreg or 0 */
    bool for_hopper;       /* .target sm_90a */
    struct {
        char name[16];
        int offset, bytes;
    } param[PTX_PARAMS];
    int param_bytes;
    /* of shared memory: what is declared in the entry; where .extern memory begins */
    size_t shared_bytes, dynamic_at;
    ptx_inst *inst;
} ptx_entry;
typedef struct {
    char *text;
    ptx_entry *entry;
    int n_entries;
    char error[256];
    char **pieces;
    int n_pieces;
    char external[64];
    int external_align;
} ptx_module;
ptx_module *ptx_parse(const char *text); /* error[0] set where it is refused */
void ptx_free(ptx_module *);
/* Runs a grid in clusters of so many blocks along x: 0 or the runtime's error; what went wrong in
 * detail. */
int ptx_launch(const ptx_entry *, const unsigned grid[3], const unsigned block[3], int cluster,
               const char *params, size_t dynamic_shared, int device, char *detail, size_t cap,
               int64_t *n_instructions);

/* Device memory: addresses are in a range that no CPU access survives; the bytes lie elsewhere. */
/* of 4 bytes */
typedef struct cuemu_shadow {
    uint32_t launch, block, clock;
    uint16_t thread, sync, fences;
    uint8_t agent, bytes, flags;
} cuemu_shadow;
typedef struct cuemu_region {
    uint64_t address;
    size_t n;
    char *host;
    cuemu_shadow *wrote, *read;
    int device;
    bool alive;
} cuemu_region;
/* Where counted: accesses of shared memory by whole warps, as the turns of the 32 banks that they
 * need at least ([0]) and take ([1]). */
extern bool cuemu_count_banks;
extern int64_t cuemu_bank_turns[2];
cuemu_region *cuemu_find(uint64_t address); /* the live region that it is in, or NULL */
#endif
#endif
