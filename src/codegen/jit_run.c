/* codegen/jit_run.c: runs a kernel: its machine code, else the tile interpreter (interp_run.c).
 * Before: jit.c, interp.c, jit_piece.c.
 *
 * Large work is cut by index into rows, or lanes where these are independent: jit_piece.c runs
 * each. */
#include "../dync.in.h"
#include "jit.h"
DYNC__WARM
#if DYNC__JIT

/* State of a tall kernel: for each group of lanes three levels of each reduction. Those of sums
 * begin as zeros; of the greatest and least the first level is what they begin with (of places
 * it holds the keys, the second where they stand, at first 0). */
static void dync__jit_begin_state(const dync__jit *jit, char *state, int64_t bytes)
{
    int64_t each = jit->state_bytes / jit->n_reduces;
    memset(state, 0, (size_t)bytes);
    for (int i = 0; i < jit->n_reduces; i++) {
        const dync__jit_reduce *r = &jit->reduce[i];
        bool real = dync__gen_type_float(r->type),
             max = r->kind == DYNC__R_MAX || r->kind >= DYNC__R_ARGMAX;
        int64_t size = (int64_t)dync__type_bytes(r->type),
                most = r->type == DYNC_I32 ? INT32_MAX : INT64_MAX;
        if (!max && r->kind != DYNC__R_MIN) continue;
        for (int64_t group = i * each; group < bytes; group += jit->state_bytes)
            for (int64_t at = 0; at < each / 3; at += size)
                if (real)
                    dync__store_f64(state + group + at, r->type, max ? -HUGE_VAL : HUGE_VAL);
                else
                    dync__store_i64(state + group + at, r->type, max ? -most - 1 : most);
    }
}

/* Sixteen inner indices of up to 2048 lanes, then the next ones: what is kept of the lanes stays in
 * a cache. */
static dync_status dync__jit_tall(const dync__jit *jit, void *const *buffers, const uint64_t rng[2],
                                  int64_t row, int64_t row_end, int64_t lane, int64_t lane_end)
{
    enum { LANES = DYNC__JIT_TALL_LANES, ROWS = DYNC__JIT_TALL_ROWS };
    int64_t inner = jit->words[DYNC__GW_FIXED + 2 * jit->n_row_dims];
    size_t bytes = (size_t)((LANES / jit->state_lanes + 1) * jit->state_bytes);
    char *state = dync__alloc_data(bytes);
    dync_status status = DYNC_OK;
    if (!state) return DYNC_ERR_MEMORY;
    for (; row < row_end && status == DYNC_OK; row++)
        for (int64_t l = lane, end; l < lane_end && status == DYNC_OK; l = end) {
            dync__jit_segment s = {.in = state};
            dync__jit_begin_state(jit, state, (int64_t)bytes);
            end = DYNC__MIN(l + LANES, lane_end);
            for (; s.from < inner && status == DYNC_OK; s.from += ROWS) {
                s.n = DYNC__MIN(ROWS, inner - s.from);
                status = dync__jit_piece(jit, buffers, rng, row, row + 1, l, end, &s);
            }
            s = (dync__jit_segment){.number = 1, .in = state};
            if (status == DYNC_OK)
                status = dync__jit_piece(jit, buffers, rng, row, row + 1, l, end, &s);
        }
    dync__free_data(state, bytes);
    return status;
}

/* Kernels whose rows read rows of a large table: `some` rows' indices are checked and their cache
 * lines prefetched before the code runs the rows before them. DYNC_ERR_INDEX comes before any row
 * of that group is stored. */
DYNC__BUSY static dync_status dync__jit_led(const dync__jit *jit, void *const *buffers,
                                            const uint64_t rng[2], int64_t row, int64_t row_end,
                                            int64_t lane, int64_t lane_end)
{
    const dync__jit_take *t = &jit->take;
    const dync__jit_stream *x = dync__jit_stream_at(jit, t->stream[0]),
                           *table = dync__jit_stream_at(jit, t->stream[1]);
    const char *index = (const char *)buffers[x->buf] + x->at;
    uintptr_t lines = (uintptr_t)buffers[table->buf] + (uintptr_t)(table->at + lane * table->lane),
              bytes = (uintptr_t)((lane_end - lane) * table->lane);
    bool outside = false;
    dync_status status = DYNC_OK;
    for (int64_t from, next = row; row < row_end && status == DYNC_OK;) {
        from = row, row = next, next = DYNC__MIN(next + t->some, row_end);
        for (int64_t i = row * t->each; i < next * t->each; i++) {
            int64_t at = x->bytes == 8 ? ((const int64_t *)(const void *)index)[i]
                                       : ((const int32_t *)(const void *)index)[i];
            uintptr_t line = lines + (uintptr_t)at * (uintptr_t)t->stride;
            outside |= (uint64_t)at >= (uint64_t)t->size;
            for (uintptr_t p = line & ~(uintptr_t)63; p < line + bytes; p += 64)
                __builtin_prefetch((const void *)p);
        }
        if (outside && t->checks) return DYNC_ERR_INDEX;
        if (from < row)
            status = dync__jit_piece(jit, buffers, rng, from, row, lane, lane_end, NULL);
    }
    return status;
}

DYNC__OFTEN static dync_status dync__jit_part(const dync__jit *jit, void *const *buffers,
                                              const uint64_t rng[2], int64_t row, int64_t row_end,
                                              int64_t lane, int64_t lane_end)
{
    if (jit->state_bytes) return dync__jit_tall(jit, buffers, rng, row, row_end, lane, lane_end);
    if (jit->take.each && jit->take.far)
        return dync__jit_led(jit, buffers, rng, row, row_end, lane, lane_end);
    return dync__jit_piece(jit, buffers, rng, row, row_end, lane, lane_end, NULL);
}

/* ---- few long rows: phases run in parts, a thread each --------------------------------------- */

typedef struct dync__jit_split {
    const dync__jit *jit;
    void *const *buffers;
    const uint64_t *rng;
    char *memory, *keep;         /* slots of the row, then of every part */
    int64_t row, segment, lanes; /* lanes: of a part, a power of two */
    int n;                       /* parts */
} dync__jit_split;

static void dync__jit_split_part(void *user, int part, int n_parts)
{
    dync__jit_split *s = user;
    const dync__jit *jit = s->jit;
    dync__jit_segment segment = {
        s->segment, s->memory, s->memory + (size_t)(part + 1) * (size_t)jit->slot_bytes,
        s->keep,    0,         0};
    dync__jit_piece(jit, s->buffers, s->rng, s->row, s->row + 1, part * s->lanes,
                    part + 1 == n_parts ? jit->lanes : (part + 1) * s->lanes, &segment);
}

/* Slot `into` takes in slot `from`, of a later part whose lanes begin at `first`; then lane 0 goes
 * to all. */
static void dync__jit_combine(const dync__jit_reduce *r, char *into, const char *from,
                              int64_t first)
{
    bool logical = r->kind == DYNC__R_ANY || r->kind == DYNC__R_ALL,
         arg = r->kind >= DYNC__R_ARGMAX;
    /* a mask, or lanes of ones */
    for (int i = 0; logical && i < 64; i++)
        into[i] = (char)(r->kind == DYNC__R_ANY ? into[i] | from[i] : into[i] & from[i]);
    if (logical) return;
    if (arg) {
        int64_t best, key, at;
        memcpy(&best, into + 64, 8);
        memcpy(&key, from + 64, 8);
        memcpy(&at, from, 8);
        if (key <= best) return;
        at += first;
        for (int i = 0; i < 8; i++) memcpy(into + 8 * i, &at, 8);
        memcpy(into + 64, &key, 8);
        return;
    }
    dync__scalar x = {0}, y = {0};
    int prim = r->kind == DYNC__R_SUM    ? DYNC__P_add
               : r->kind == DYNC__R_PROD ? DYNC__P_mul
               : r->kind == DYNC__R_MAX  ? DYNC__P_max
                                         : DYNC__P_min;
    size_t bytes = dync__type_bytes(r->type);
    memcpy(&x, into, bytes);
    memcpy(&y, from, bytes);
    if (r->type == DYNC_I32) x.i = (int32_t)x.i, y.i = (int32_t)y.i;
    x = dync__prim_eval(prim, r->type, r->type, x, y, y, 0);
    for (size_t i = 0; i < 64 / bytes; i++) memcpy(into + i * bytes, &x, bytes);
}

/* The parts' slots of a reduction into the row's. Float sums and products as the code combines
 * grains: parts are powers of two of these, so the bits are those of a run in one piece, whatever
 * the threads. Levels of the counter stand in slots of parts that are taken in. */
static void dync__jit_gather(const dync__jit_split *s, const dync__jit_reduce *r, int n_parts)
{
    char *row = s->memory + r->slot, *part = row + s->jit->slot_bytes;
    int64_t each = s->jit->slot_bytes, rest = s->jit->lanes - (n_parts - 1) * s->lanes,
            whole = n_parts - (rest <= s->lanes - DYNC__GEN_GRAIN);
    bool ordered = dync__gen_type_float(r->type) &&
                   (r->kind == DYNC__R_SUM || r->kind == DYNC__R_PROD),
         begun = whole < n_parts;
    memcpy(row, part + (ordered ? (n_parts - 1) * each : 0), 128);
    for (int64_t p = 0; ordered && p < whole; p++) {
        int64_t level = 0;
        char x[128];
        memcpy(x, part + p * each, 128);
        for (int64_t n = p; n & 1; n >>= 1) dync__jit_combine(r, x, part + level++ * each, 0);
        memcpy(part + level * each, x, 128);
    }
    for (int64_t p = ordered ? 0 : 1; ordered ? whole >> p : p < n_parts; p++) {
        if (ordered && !(whole >> p & 1)) continue;
        if (ordered && !begun)
            memcpy(row, part + p * each, 128);
        else
            dync__jit_combine(r, row, part + p * each, p * s->lanes);
        begun = true;
    }
}

/* Rows one after the other: even segments (row code) by this thread, odd ones (phases) in parts of
 * at least 16384 lanes, at most 64 of them. How the lanes are cut does not depend on the
 * threads. */
static dync_status dync__jit_split_run(const dync__jit *jit, void *const *buffers,
                                       const uint64_t rng[2])
{
    int64_t lanes = 16384;
    while (jit->lanes > lanes * 64) lanes *= 2;
    int n = (int)((jit->lanes + lanes - 1) / lanes);
    size_t bytes = (size_t)jit->slot_bytes * (size_t)(n + 1), keep = (size_t)jit->keep_bytes;
    char *memory = dync__alloc_data(bytes + keep);
    if (!memory) return DYNC_ERR_MEMORY;
    dync__jit_split s = {jit, buffers, rng, memory, memory + bytes, 0, 0, lanes, n};
    for (s.row = 0; s.row < jit->rows; s.row++)
        for (s.segment = 0; s.segment <= 2 * jit->n_phases; s.segment++) {
            if (s.segment % 2 == 0) {
                dync__jit_segment row = {s.segment, memory, memory, s.keep, 0, 0};
                dync__jit_piece(jit, buffers, rng, s.row, s.row + 1, 0, jit->lanes, &row);
                continue;
            }
            dync__pool_run(dync__jit_split_part, &s, n);
            for (int i = 0; i < jit->n_reduces; i++)
                if (jit->reduce[i].phase == s.segment / 2) dync__jit_gather(&s, &jit->reduce[i], n);
        }
    dync__free_data(memory, bytes + keep);
    return DYNC_OK;
}

typedef struct dync__jit_job {
    const dync__jit *jit;
    void *const *buffers;
    const uint64_t *rng;
    bool by_lanes;
    dync_status status;
} dync__jit_job;

static void dync__jit_job_part(void *user, int part, int n_parts)
{
    dync__jit_job *job = user;
    const dync__jit *jit = job->jit;
    int64_t n = jit->blocks     ? dync__jit_n_blocks(jit, jit->rows)
                : job->by_lanes ? (jit->lanes + 63) / 64
                                : jit->rows,
            begin = n * part / n_parts, end = n * (part + 1) / n_parts;
    dync_status status =
        jit->blocks     ? dync__jit_blocks(jit, job->buffers, job->rng, 0, jit->rows, begin, end)
        : job->by_lanes ? dync__jit_part(jit, job->buffers, job->rng, 0, jit->rows, begin * 64,
                                         DYNC__MIN(end * 64, jit->lanes))
                        : dync__jit_part(jit, job->buffers, job->rng, begin, end, 0, jit->lanes);
    if (status != DYNC_OK) DYNC__ATOMIC_STORE(&job->status, status);
}

DYNC__OFTEN DYNC__FN dync_status dync__jit_run(const dync__code *c, void *const *buffers,
                                               const uint64_t rng[2])
{
    const dync__jit *jit = c->jit;
    int threads = dync__pool_worth(c->ns);
    if (threads > 1) {
        /* lanes are independent rows when vertical, else only where nothing is reduced or written
         * once a row */
        bool lanes_apart = jit->vertical ||
                           (!c->has_reduce && !c->stores_rows && jit->n_inner_dims == 0);
        dync__jit_job job = {jit, buffers, rng,
                             !jit->blocks && jit->rows < 2 * threads && lanes_apart, DYNC_OK};
        int64_t units = jit->blocks    ? dync__jit_n_blocks(jit, jit->rows)
                        : job.by_lanes ? (jit->lanes + 63) / 64
                                       : jit->rows;
        if (jit->split && units < threads) return dync__jit_split_run(jit, buffers, rng);
        if (units >= 2) {
            int64_t most = job.by_lanes ? DYNC__MAX(threads, jit->lanes / DYNC__JIT_STRIP) : units;
            dync__pool_run(dync__jit_job_part, &job,
                           dync__pool_pieces(threads, c->ns, DYNC__MIN(most, units)));
            return job.status;
        }
    }
    return jit->blocks ? dync__jit_blocks(jit, buffers, rng, 0, jit->rows, 0,
                                          dync__jit_n_blocks(jit, jit->rows))
                       : dync__jit_part(jit, buffers, rng, 0, jit->rows, 0, jit->lanes);
}
/* Lanes that nothing ties to each other. */
static bool dync__jit_lanes_apart(const dync__code *c)
{
    return !c->has_reduce && !c->stores_rows && c->jit->n_inner_dims == 0;
}

DYNC__FN bool dync__code_has_parts(const dync__code *c, int64_t of)
{
    const dync__jit *jit = c->jit;
    if (!jit || jit->vertical || c->empty || of <= 0) return false;
    if (jit->blocks) return jit->n_over == 0 && dync__sz_eq(dync__sz_mod(jit->rows, of), 0);
    if (dync__sz_eq(dync__sz_mod(jit->rows, of), 0)) return true;
    return jit->rows > 0 && dync__jit_lanes_apart(c) &&
           dync__sz_eq(dync__sz_mod(of, jit->rows), 0) &&
           dync__sz_eq(dync__sz_mod(jit->lanes, dync__sz_div(of, jit->rows)), 0);
}

DYNC__FN dync_status dync__code_run_part(const dync__code *c, void *const *buffers, int64_t begin,
                                         int64_t end, int64_t of)
{
    const dync__jit *jit = c->jit;
    const uint64_t none[2] = {0, 0};
    int64_t rows = jit->rows / of, n = (end - begin) * rows, in_row = DYNC__MAX(of / jit->rows, 1),
            lanes = jit->lanes / in_row, last;
    dync_status status = DYNC_OK;
    if (jit->blocks)
        return dync__jit_blocks(jit, buffers, none, begin * rows, n, 0, dync__jit_n_blocks(jit, n));
    if (rows) return dync__jit_part(jit, buffers, none, begin * rows, end * rows, 0, jit->lanes);
    /* whole rows, or a part of one */
    for (; begin < end && status == DYNC_OK; begin = last) {
        bool whole = begin % in_row == 0 && end - begin >= in_row;
        int64_t row = begin / in_row;
        last = whole ? end / in_row * in_row : DYNC__MIN(end, (row + 1) * in_row);
        status = dync__jit_part(jit, buffers, none, row, whole ? last / in_row : row + 1,
                                whole ? 0 : (begin - row * in_row) * lanes,
                                whole ? jit->lanes : (last - row * in_row) * lanes);
    }
    return status;
}
#else
DYNC__FN dync_status dync__jit_run(const dync__code *c, void *const *buffers, const uint64_t rng[2])
{
    (void)c, (void)buffers, (void)rng;
    return DYNC_OK;
}
DYNC__FN bool dync__code_has_parts(const dync__code *c, int64_t of)
{
    (void)c, (void)of;
    return false;
}
DYNC__FN dync_status dync__code_run_part(const dync__code *c, void *const *buffers, int64_t begin,
                                         int64_t end, int64_t of)
{
    (void)c, (void)buffers, (void)begin, (void)end, (void)of;
    return DYNC_OK;
}
#endif
