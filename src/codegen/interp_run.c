/* codegen/interp_run.c: runs what interp.c compiled. Before: code.c calls; after: interp_move.c
 * loads and stores, interp_tile.c computes, interp_reduce.c reduces.
 *
 * For every block of rows: row code, then each phase tile by tile, row code again, and so on. A
 * worker owns scratch, a table of pointers (one per value) and five counters that say where the
 * tile starts; all else is read-only. Work is cut into equal ranges of rows, or of inner indices
 * where rows are few and nothing is reduced (few long rows in parts: jit_run.c), by index: the same
 * thread count gives the same bits. Nothing is allocated for kernels that need no scratch, and else
 * from the calling thread's cache. */
#include "../dync.in.h"
#include "interp_run.h"
#include "target.h"
DYNC__SPARE

/* ---- steps ----------------------------------------------------------------------------------- */

static void dync__irun_random(const dync__irun *r, const dync__interp_step *s, dync__size n)
{
    const uint64_t seed[2] = {r->seed, r->offset};
    dync__tile_run(&s->tile, r->ptr[s->dst], r->ptr[s->a], seed, NULL, n, 0);
}

static void dync__irun_other_step(dync__irun *r, const dync__interp_step *s, dync__size n)
{
    switch (s->kind) {
    case DYNC__STEP_GATHER: dync__irun_load(r, s, n); break;
    case DYNC__STEP_VIEW: {
        int64_t index;
        if (dync__irun_line_index(r, s, n, &index))
            r->ptr[s->dst] = dync__irun_address(r, s) + (dync__size)index * s->bytes;
        break;
    }
    case DYNC__STEP_SCATTER: dync__irun_store(r, s, n); break;
    case DYNC__STEP_EXPAND: dync__irun_expand(r, s); break;
    case DYNC__STEP_INDEX:
    case DYNC__STEP_LOADX:
    case DYNC__STEP_STOREX: dync__irun_indexed(r, s, n); break;
    case DYNC__STEP_REDUCE: dync__ired_take(r, &r->c->reduces[s->reduce], r->ptr[s->a]); break;
    case DYNC__STEP_SCAN: dync__ired_scan(r, s); break;
    default: /* KEEP: rows side by side when vertical, one row else */
        r->ptr[s->dst] =
            r->keep + (s->imm + r->from[DYNC__FROM_INNER] * (dync__size)dync__type_bytes(s->type)) *
                          r->c->tile_rows;
    }
}

static bool dync__irun_any(const uint8_t *lane, dync__size n)
{
    uint8_t any = 0;
    for (dync__size i = 0; i < n; i++) any |= lane[i];
    return any != 0;
}

/* The element that a step has brought, DYNC__TILE_LANES times. */
static void dync__irun_repeat(const dync__irun *r, const dync__interp_step *s)
{
    char *at = r->ptr[s->dst];
    dync__tile_spread(at, (int)dync__type_bytes(s->type), (uint64_t *)(void *)at);
}

/* n lanes of a list, or one: what is computed of scalars is computed of all their copies. */
static void dync__irun_steps(dync__irun *r, int list, dync__size n)
{
    const dync__interp_step *s = r->c->steps + r->c->section[list],
                            *end = r->c->steps + r->c->section[list + 1];
    const bool one = list == 0 || (list % 2 && r->c->tile_rows == 1);
    const dync__size lanes = one ? DYNC__TILE_LANES : n;
    char **ptr = r->ptr;
    for (; s < end && r->status == DYNC_OK; s++) {
        if (s->kind == DYNC__STEP_OP)
            dync__tile_run(&s->tile, ptr[s->dst], ptr[s->a], s->b >= 0 ? ptr[s->b] : NULL,
                           s->c >= 0 ? ptr[s->c] : NULL, lanes, s->scalars);
        else if ((s->kind == DYNC__STEP_VIEW || s->kind == DYNC__STEP_DIRECT) && s->a < 0)
            ptr[s->dst] = dync__irun_address(r, s);
        else if (s->kind == DYNC__STEP_SKIP)
            s += dync__irun_any((const uint8_t *)ptr[s->a], n) ? 0 : s->imm;
        else if (s->kind == DYNC__STEP_FILL)
            dync__irun_copy(ptr[s->dst], 1, ptr[s->a], 0, lanes, (int)dync__type_bytes(s->type));
        else if (s->kind == DYNC__STEP_RANDOM)
            dync__irun_random(r, s, lanes);
        else {
            dync__irun_other_step(r, s, n);
            if (one && s->dst >= 0) dync__irun_repeat(r, s);
        }
    }
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static void dync__irun_phase(dync__irun *r, int phase, dync__size begin, dync__size end)
{
    const dync__interp *c = r->c;
    for (int i = 0; i < c->n_reduces; i++)
        if (c->reduces[i].phase == phase) dync__ired_begin(r, &c->reduces[i]);
    for (dync__size j = begin; j < end; j += c->tile_inner) {
        r->inner = DYNC__MIN(c->tile_inner, end - j);
        r->n = r->rows * r->inner;
        r->from[DYNC__FROM_INNER] = j;
        r->from[DYNC__FROM_INNER_ROW] = j * c->n_rows;
        dync__irun_steps(r, 2 + 2 * phase, r->n);
    }
    for (int i = 0; i < c->n_reduces; i++)
        if (c->reduces[i].phase == phase) dync__ired_end(r, &c->reduces[i]);
}

static void dync__irun_range(dync__irun *r, dync__size row_begin, dync__size row_end,
                             dync__size inner_begin, dync__size inner_end)
{
    const dync__interp *c = r->c;
    dync__irun_steps(r, 0, 1);
    for (dync__size row = row_begin; row < row_end && r->status == DYNC_OK; row += r->rows) {
        r->rows =
            DYNC__MIN(DYNC__MIN(c->tile_rows, row_end - row), c->row_group - row % c->row_group);
        r->from[DYNC__FROM_ROW] = row;
        r->from[DYNC__FROM_ROW_INNER] = row * c->n_inner;
        for (int p = 0; p < c->n_phases; p++) {
            dync__irun_steps(r, 1 + 2 * p, r->rows);
            dync__irun_phase(r, p, inner_begin, inner_end);
        }
        dync__irun_steps(r, 1 + 2 * c->n_phases, r->rows);
    }
}

static void dync__irun_pointers(dync__irun *r)
{
    const dync__interp *c = r->c;
    for (int i = 0; i < c->n_values; i++) {
        const dync__interp_value *v = &c->values[i];
        r->ptr[i] = v->home == DYNC__HOME_CONST ? (char *)(void *)&c->consts[v->at]
                                                : r->scratch + v->at;
    }
}

static size_t dync__irun_bytes(const dync__interp *c)
{
    return ((size_t)c->n_values * sizeof(char *) + 63) / 64 * 64 + c->scratch_bytes + c->keep_bytes;
}

/* A worker's memory: pointer table, scratch, row buffers. */
static void dync__irun_setup(dync__irun *r, char *memory)
{
    r->ptr = (char **)(void *)memory;
    r->scratch = memory + ((size_t)r->c->n_values * sizeof(char *) + 63) / 64 * 64;
    r->keep = r->scratch + r->c->scratch_bytes;
    dync__irun_pointers(r);
}

/* ---- threads --------------------------------------------------------------------------------- */

static dync__size dync__irun_tiles(dync__size n, dync__size tile) { return (n + tile - 1) / tile; }

typedef struct dync__irun_job {
    const dync__irun *base;
    bool by_inner;
    dync_status status;
} dync__irun_job;

static void dync__irun_part(void *user, int part, int n_parts)
{
    dync__irun_job *job = user;
    dync__irun r = *job->base;
    const dync__interp *c = r.c;
    size_t bytes = dync__irun_bytes(c);
    char *memory = dync__alloc_data(bytes);
    if (!memory) {
        DYNC__ATOMIC_STORE(&job->status, DYNC_ERR_MEMORY);
        return;
    }
    dync__irun_setup(&r, memory);
    dync__size tile = job->by_inner ? c->tile_inner : c->tile_rows,
               all = job->by_inner ? c->n_inner : c->n_rows;
    dync__size tiles = dync__irun_tiles(all, tile);
    dync__size begin = DYNC__MIN(tiles * part / n_parts * tile, all),
               end = DYNC__MIN(tiles * (part + 1) / n_parts * tile, all);
    if (job->by_inner)
        dync__irun_range(&r, 0, c->n_rows, begin, end);
    else
        dync__irun_range(&r, begin, end, 0, c->n_inner);
    if (r.status != DYNC_OK) DYNC__ATOMIC_STORE(&job->status, r.status);
    dync__free_data(memory, bytes);
}

/* Rows where there are enough of them, else inner indices; false: not worth it. */
DYNC__RARE static bool dync__irun_in_parallel(dync__irun *r, const dync__code *code)
{
    const dync__interp *c = r->c;
    int threads = dync__pool_worth(code->ns);
    if (threads < 2) return false;
    dync__size row_tiles = dync__irun_tiles(c->n_rows, c->tile_rows),
               inner_tiles = dync__irun_tiles(c->n_inner, c->tile_inner);
    bool apart = !code->has_reduce && !code->stores_rows;
    dync__irun_job job = {r, row_tiles < 2 * threads && apart, DYNC_OK};
    dync__size parts = DYNC__MIN(job.by_inner ? inner_tiles : row_tiles, threads);
    if (parts < 2) return false;
    dync__pool_run(dync__irun_part, &job, (int)parts);
    r->status = job.status;
    return true;
}

DYNC__FN dync_status dync__interp_run(const dync__code *code, void *const *buffers,
                                      const uint64_t rng[2])
{
    _Alignas(64) char stack[DYNC__IRUN_STACK];
    const dync__interp *c = code->interp;
    dync__irun r;
    r.c = c;
    r.name = code->name;
    r.buffers = buffers;
    r.seed = rng[0];
    r.offset = rng[1];
    r.from[DYNC__FROM_ZERO] = 0;
    r.status = DYNC_OK;
    if (!c->serial && dync__irun_in_parallel(&r, code)) return r.status;
    size_t bytes = dync__irun_bytes(c);
    char *memory = bytes <= sizeof stack ? stack : dync__alloc_data(bytes);
    if (!memory) return DYNC_ERR_MEMORY;
    dync__irun_setup(&r, memory);
    dync__irun_range(&r, 0, c->n_rows, 0, c->n_inner);
    if (memory != stack) dync__free_data(memory, bytes);
    return r.status;
}
