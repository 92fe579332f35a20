/* tests/random/program.h: random programs: what one is. Inputs, steps that call rows of the
 * operator table (and a few public functions that are no rows), and outputs. Values have numbers
 * (ids) that stay when steps are dropped; an id is defined by an input or by a step. generate.h
 * makes programs, interpret.h runs them, judge.h compares, shrink.h makes failing ones smaller,
 * print.h writes them as C. */
#ifndef DYNC_TESTS_RANDOM_PROGRAM_H
#define DYNC_TESTS_RANDOM_PROGRAM_H
#include "../../dync.h"
#include "test.h"

/* ---- the operator table ---------------------------------------------------------------------- */
#include "../../src/op/ops.def.h"
typedef struct row {
    const char *name, *cls, *schema, *flags;
    int nout;
} row;
static const row rows[] = {
#define ROW(name, cls, schema, nout, infer, expr, lower, grad, decompose, fx, flags, inplace_of, \
            doc)                                                                                 \
    {#name, #cls, schema, #flags, nout},
    DYNC__OPS(ROW)
#undef ROW
    /* public functions that are no rows: they give lists, or have another name there */
    {"split", "LIST", "(Tensor self, int64 size, int dim)", "", -1},
    {"split_sizes", "LIST", "(Tensor self, Dims sizes, int dim)", "", -1},
    {"chunk", "LIST", "(Tensor self, int chunks, int dim)", "", -1},
    {"unbind", "LIST", "(Tensor self, int dim)", "", -1},
};
enum {
    N_FUNCTIONS = 4,
    N_ROWS = (int)(sizeof rows / sizeof *rows) - N_FUNCTIONS,
    N_CALLS = N_ROWS + N_FUNCTIONS
};

static int row_named(const char *name)
{
    for (int i = 0; i < N_CALLS; i++)
        if (strcmp(rows[i].name, name) == 0) return i;
    return -1;
}
static bool row_is(int r, const char *cls) { return strcmp(rows[r].cls, cls) == 0; }
/* Is name among the words of list (" a b c ")? */
static bool among(const char *list, const char *name)
{
    size_t n = strlen(name);
    for (const char *at = list; (at = strstr(at, name)) != NULL; at += n)
        if (at > list && at[-1] == ' ' && (at[n] == ' ' || at[n] == 0)) return true;
    return false;
}
/* Parameter i of a schema: its type and name. False at the end. */
static bool row_param(const char *schema, int i, char type[24], char name[32])
{
    const char *at = schema + 1;
    for (; i > 0; i--) {
        if (!(at = strchr(at, ','))) return false;
        at++;
    }
    return sscanf(at, " %23s %31[A-Za-z_0-9]", type, name) == 2;
}

/* ---- programs -------------------------------------------------------------------------------- */
enum {
    MAX_STEPS = 48,
    MAX_VALUES = 160,
    MAX_INPUTS = 24,
    MAX_ARGS = 9,
    MAX_OUT = 8,
    MAX_RESULTS = 8,
    N_SIZES = 2
};
typedef enum { A_NONE, A_VALUE, A_INT, A_FLOAT, A_BOOL, A_DIMS, A_LIST, A_DTYPE, A_STR } arg_kind;
typedef struct arg {
    arg_kind kind;
    int n;
    int64_t d[DYNC_MAX_DIMS]; /* VALUE, LIST: ids; INT, BOOL, DTYPE: d[0]; DIMS: sizes, or dims of
                                 the values in from */
    int from[DYNC_MAX_DIMS]; /* DIMS: id of the value whose size of dim d[i] this is; -1: the number
                                d[i] */
    double f;
    const char *s;
} arg;
typedef struct step {
    int row, nargs, nout, out[MAX_OUT];
    arg a[MAX_ARGS];
} step;

typedef enum { DATA_NORMAL, DATA_POSITIVE, DATA_TIES, DATA_INDEX, DATA_DISTINCT } data_kind;
typedef enum {
    LAYOUT_ROWS,
    LAYOUT_TRANSPOSED,
    LAYOUT_GAPS,
    LAYOUT_EXPANDED,
    LAYOUT_OFFSET,
    N_LAYOUTS
} layout_kind;
typedef struct input {
    int id, dtype, ndim;
    int size[DYNC_MAX_DIMS]; /* -1 - k: sizes[k] of the call */
    data_kind data;
    int below, dim; /* DATA_INDEX, DATA_DISTINCT: values below; DISTINCT: no two equal along dim */
    layout_kind layout;
    bool grad;
} input;
typedef struct program {
    uint64_t seed;
    int n_in, n_steps, n_out, n_ids, out[MAX_RESULTS];
    input in[MAX_INPUTS];
    step at[MAX_STEPS];
    bool train, exact; /* exact: floats are F64, of the values that the dtype meant holds */
} program;
/* One call of a program: the symbolic sizes, and which data. */
typedef struct sizes {
    int n[N_SIZES];
} sizes;

static const char *const dtype_name[] = {"DYNC_F32", "DYNC_F64", "DYNC_F16", "DYNC_BF16",
                                         "DYNC_I64", "DYNC_I32", "DYNC_I16", "DYNC_I8",
                                         "DYNC_U8",  "DYNC_BOOL"};
static bool is_float(int dtype) { return dtype <= DYNC_BF16; }

/* ---- random numbers: SplitMix64 from a state of one's own ------------------------------------ */
typedef struct rng {
    uint64_t s;
} rng;
static uint64_t rng_next(rng *r)
{
    uint64_t z = (r->s += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}
static int rng_below(rng *r, int n) { return n > 0 ? (int)(rng_next(r) % (uint64_t)n) : 0; }
static bool rng_chance(rng *r, int percent) { return rng_below(r, 100) < percent; }
static double rng_real(rng *r, double low, double high)
{
    return low + (high - low) * ((double)(rng_next(r) >> 11) / 9007199254740992.0);
}

static int64_t input_size(const input *in, int i, const sizes *s)
{
    return in->size[i] < 0 ? s->n[-1 - in->size[i]] : in->size[i];
}
#endif
