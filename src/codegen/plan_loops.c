/* codegen/plan_loops.c: how a kernel is cut into tiles. Before: loop/; after: jit.c and interp.c
 * make code accordingly.
 *
 * Four ways (dync__lp_mode): pointwise kernels and long rows go in chunks of the inner loops;
 * short rows several at a time (block); reductions along strided loops with contiguous rows
 * beside each other (vertical); transpositions in squares of cache lines (square). Each value
 * gets a level: once per kernel, per row, per index. Values of an earlier phase stay in their
 * tile where a tile holds whole rows; else they are recomputed when cheap, or go through a row
 * buffer.
 * Invariant: what a kernel both reads and writes keeps its place in the order of instructions. */
#include "../dync.in.h"
#include "../loop/fuse.h"
#include "plan_loops.h"
DYNC__LEAN

/* What is written is read in its own place alone, and written once. */
DYNC__FN bool dync__lp_any_order(const dync__loop_plan *b)
{
    for (int i = 0; i < b->k->inst.n; i++)
        for (int l = 0; l < b->k->inst.n; l++) {
            const dync__inst *in = dync__lp_inst(b, i), *other = dync__lp_inst(b, l);
            if (i == l || !b->needed[i] || !b->needed[l] || dync__inst_has_value(in) ||
                other->buf != in->buf)
                continue;
            const dync__kernel *k = b->k;
            bool apart = !dync__fuse_is_indexed(in->prim) && !dync__fuse_is_indexed(other->prim) &&
                         !dync__access_overlap(&k->access.at[in->access], k->n_dims, k->extent,
                                               &k->access.at[other->access], k->n_dims, k->extent);
            if (!apart && (other->prim != DYNC__P_load || other->access != in->access))
                return false;
        }
    return true;
}

DYNC__FN int64_t dync__lp_period(const dync__loop_plan *b, int i, int from)
{
    dync__lp_dim dims[DYNC__LOOP_MAX_DIMS];
    const dync__inst *in = dync__lp_inst(b, i);
    if (!b->needed[i] || in->prim != DYNC__P_load || b->k->buf.at[in->buf].mode != DYNC__BUF_IN)
        return 0;
    int n = dync__lp_merge(b, in->access, from, b->k->n_dims, dims);
    return n == 2 && dync__sz_eq(dims[0].stride, 0) ? dims[1].extent : 0;
}

/* Is every access linear with loops from s on inside, but for loads that repeat themselves (*some)
 * after a few elements? */
static bool dync__lp_goes_inside(const dync__loop_plan *b, int s, bool *some)
{
    dync__lp_dim dims[DYNC__LOOP_MAX_DIMS];
    for (int i = 0; i < b->k->inst.n; i++) {
        int access = dync__lp_inst(b, i)->access;
        if (!b->needed[i] || access < 0 || dync__lp_merge(b, access, s, b->k->n_dims, dims) <= 1)
            continue;
        bool may = !DYNC__LEFT_OUT(DYNC_NO_JIT) && b->tiles;
        int64_t period = may ? dync__lp_period(b, i, s) : 0;
        if (!period || !dync__sz_lt(period, DYNC__REPEAT_ROW)) return false;
        *some = true;
    }
    return true;
}

/* Do loads with loops from b->split on inside repeat themselves so often that a tile of them is
 * worth it, in any order? */
static bool dync__lp_worth_tiles(const dync__loop_plan *b)
{
    int64_t n = dync__lp_product(b, b->split, b->k->n_dims), period,
            all = dync__lp_product(b, 0, b->k->n_dims);
    for (int i = 0; i < b->k->inst.n; i++) {
        if (!b->needed[i]) continue;
        if (dync__fuse_is_indexed(dync__lp_inst(b, i)->prim)) return false;
        if (!(period = dync__lp_period(b, i, b->split))) continue;
        if (dync__sz_lt(n, dync__sz_mul(period, DYNC__REPEAT_TIMES)) ||
            (!dync__sz_lt(period, DYNC__REPEAT_FEW) && dync__sz_lt(DYNC__FUSE_STAYS, all)))
            return false;
    }
    return !b->k->uses_random && !b->k->ordered && !dync__sz_lt(all, DYNC__REPEAT_LEAST) &&
           dync__lp_any_order(b);
}

/* Pointwise: as many loops as stay linear for every access go inside; short ones are taken
 * several rows at a time. */
static void dync__lp_split_pointwise(dync__loop_plan *b)
{
    int linear = -1;
    b->split = b->k->n_dims;
    for (int s = b->k->n_dims - 1; s >= 0; s--) {
        bool some = false;
        if (!dync__lp_goes_inside(b, s, &some)) break;
        if (some && linear < 0) linear = b->split;
        b->split = s;
    }
    b->repeats = linear >= 0 && dync__lp_worth_tiles(b);
    if (linear >= 0 && !b->repeats) b->split = linear;
}

/* Side by side, forwards or backwards? */
static bool dync__lp_is_dense(int64_t stride)
{
    return dync__sz_eq(stride, 1) || dync__sz_eq(stride, -1);
}

/* Would the rows of most loads lie side by side in memory, while each row is strided? What is the
 * same for neighbouring rows does not care. */
static bool dync__lp_wants_vertical(const dync__loop_plan *b)
{
    dync__lp_dim dims[DYNC__LOOP_MAX_DIMS];
    int votes = 0;
    for (int i = 0; i < b->k->inst.n; i++) {
        const dync__inst *in = dync__lp_inst(b, i);
        if (!b->needed[i] || in->buf < 0 || b->level[i] != 2) continue;
        int n = dync__lp_merge(b, in->access, b->split, b->k->n_dims, dims);
        bool dense_inner = n > 0 && dync__lp_is_dense(dims[n - 1].stride);
        n = dync__lp_merge(b, in->access, 0, b->split, dims);
        bool shared = b->split > 0 &&
                      dync__sz_eq(b->k->access.at[in->access].stride[b->split - 1], 0);
        votes += dense_inner ? -!shared : n > 0 && dync__lp_is_dense(dims[n - 1].stride) ? 1 : 0;
    }
    return votes > 0 && !dync__sz_lt(b->n_rows, DYNC__VERTICAL_ROWS);
}

/* Are strided rows stored densely again? Machine code transposes the loads of some rows at
 * once (jit.c) and then works on one row after the other. */
static bool dync__lp_wants_transposed(const dync__loop_plan *b)
{
    dync__lp_dim dims[DYNC__LOOP_MAX_DIMS];
    bool stores = false, transposed = false;
    if (DYNC__LEFT_OUT(DYNC_NO_JIT) || !b->transposes || b->split == 0 ||
        dync__sz_lt(b->k->extent[b->split - 1], DYNC__TRANSPOSED_ROWS) ||
        dync__sz_lt(b->n_inner, DYNC__TRANSPOSED_LEAST) ||
        dync__sz_lt(DYNC__TRANSPOSED_MOST, b->n_inner))
        return false;
    for (int i = 0; i < b->k->inst.n; i++) {
        const dync__inst *in = dync__lp_inst(b, i);
        if (!b->needed[i] || in->access < 0 || b->level[i] != 2) continue;
        int n = dync__lp_merge(b, in->access, b->split, b->k->n_dims, dims);
        int64_t inner = n ? dims[0].stride : 0,
                row = b->k->access.at[in->access].stride[b->split - 1];
        if (n > 1) return false;
        if (in->buf < 0 || dync__sz_eq(inner, 0) || dync__sz_eq(inner, 1)) {
            stores |= !dync__inst_has_value(in) && dync__sz_eq(inner, 1);
            continue;
        }
        bool shared = dync__sz_eq(row, 0); /* by all rows: collected once */
        if (!(shared || dync__sz_eq(row, 1)) || in->prim != DYNC__P_load ||
            b->k->buf.at[in->buf].mode & DYNC__BUF_OUT)
            return false;
        transposed |= !shared;
    }
    return stores && transposed;
}

/* Does some buffer run along the last row loop while others run along the inner ones? Then both
 * sides waste cache lines. */
static bool dync__lp_wants_square(const dync__loop_plan *b)
{
    dync__lp_dim dims[DYNC__LOOP_MAX_DIMS];
    bool across = false, along = false;
    if (DYNC__SMALLER(true, false) || b->sectioned || b->split == 0 ||
        dync__sz_lt(b->k->extent[b->split - 1], DYNC__SQUARE_LEAST) ||
        dync__sz_lt(b->n_inner, DYNC__SQUARE_LEAST))
        return false;
    for (int i = 0; i < b->k->inst.n; i++) {
        const dync__inst *in = dync__lp_inst(b, i);
        if (!b->needed[i] || in->access < 0 || b->level[i] != 2) continue;
        int n = dync__lp_merge(b, in->access, b->split, b->k->n_dims, dims);
        if (n > 1) return false;
        int64_t inner = n ? dims[0].stride : 0;
        if (in->buf < 0) continue;
        across |=
            n == 1 && dync__sz_eq(b->k->access.at[in->access].stride[b->split - 1], 1) &&
            (dync__sz_lt(DYNC__SQUARE_LEAST, inner) || dync__sz_lt(inner, -DYNC__SQUARE_LEAST));
        along |= n == 1 && (dync__sz_eq(inner, 1) || dync__sz_eq(inner, -1));
    }
    return across && along;
}

static void dync__lp_set_tile(dync__loop_plan *b)
{
    int64_t lanes = b->lanes;
    b->mode = DYNC__LP_CHUNK;
    b->rows = 1;
    b->inner = dync__sz_min(b->n_inner, lanes);
    if (b->has_reduce && b->n_inner > 1 && dync__lp_wants_vertical(b) &&
        !dync__lp_wants_transposed(b)) {
        b->mode = DYNC__LP_VERTICAL;
        lanes *= DYNC__VERTICAL_LANES; /* rows of a few pages: less paging about */
        b->rows = dync__sz_min(b->n_rows, lanes);
        b->inner = dync__sz_lt(b->rows, b->n_rows)
                       ? 1
                       : dync__sz_max(1, dync__sz_min(dync__sz_div(lanes, b->rows), b->n_inner));
    } else if (b->n_inner > 0 && !dync__sz_lt(lanes / 2, b->n_inner) && b->n_rows > 1 &&
               (b->has_reduce || dync__sz_lt(b->n_inner, DYNC__BLOCK_ROW))) {
        b->mode = DYNC__LP_BLOCK;
        /* of the interpreter's tiles, which symbolic sizes do not get */
        b->rows = dync__any_token(b->n_rows, b->n_inner) ? 1
                                                         : DYNC__MIN(b->n_rows, lanes / b->n_inner);
        b->inner = b->n_inner;
    }
    if (b->mode == DYNC__LP_CHUNK && dync__lp_wants_square(b)) {
        b->mode = DYNC__LP_SQUARE;
        b->rows = DYNC__SQUARE_ROWS;
        b->inner = dync__sz_min(b->n_inner, DYNC__MAX(lanes / 32, 8)); /* a cache line of floats */
    }
    b->whole = !dync__sz_lt(b->inner, b->n_inner);
}

/* Is buffer buf written by an instruction between from and to? */
DYNC__FN bool dync__lp_stored_between(const dync__loop_plan *b, int buf, int from, int to)
{
    for (int j = from + 1; j < to; j++)
        if (b->needed[j] && !dync__inst_has_value(dync__lp_inst(b, j)) &&
            dync__lp_inst(b, j)->buf == buf)
            return true;
    return false;
}

/* Cost in instructions of computing i again for `user` in a later phase; large where that is not
 * possible. */
static int dync__lp_repeat_cost(const dync__loop_plan *b, int i, int user)
{
    const dync__inst *in = dync__lp_inst(b, i);
    int32_t arg[3];
    int cost = in->prim == DYNC__P_scan ? 1 + DYNC__LP_CHEAP : 1, too_much = 2 * DYNC__LP_DEAR;
    if (b->level[i] < 2) return 0;
    if (b->keep[i]) return 1;
    if (in->prim == DYNC__P_random || in->prim == DYNC__P_loadx) return too_much;
    if (in->buf >= 0 && dync__lp_stored_between(b, in->buf, i, user)) return too_much;
    for (int a = dync__lp_operands(b, i, arg) - 1; a >= 0 && cost <= b->cheap; a--)
        cost += dync__lp_repeat_cost(b, arg[a], user);
    return cost;
}

/* A row buffer for v, of an earlier phase than user. A truth is compared again, of what is kept:
 * code keeps no bits. */
static void dync__lp_keep(dync__loop_plan *b, int v, int user)
{
    const dync__inst *in = dync__lp_inst(b, v);
    int32_t arg[3];
    while (in->prim == DYNC__P_bitcast) in = dync__lp_inst(b, v = in->arg[0]); /* the same bits */
    if (b->level[v] < 2 || b->keep[v] || dync__lp_repeat_cost(b, v, user) <= b->cheap) return;
    if (in->type == DYNC_BOOL && in->buf < 0 && in->prim != DYNC__P_random) {
        for (int a = dync__lp_operands(b, v, arg) - 1; a >= 0; a--) dync__lp_keep(b, arg[a], user);
        return;
    }
    b->keep[v] = 1;
    b->keep_off[v] = b->keep_bytes;
    b->keep_bytes =
        dync__sz_add(b->keep_bytes, dync__sz_mul(dync__dtype_info(in->type)->bytes, b->n_inner));
}

/* Decides which values of earlier phases need a row buffer. */
DYNC__FN void dync__lp_mark_kept(dync__loop_plan *b)
{
    b->keep_bytes = 0;
    memset(b->keep, 0, (size_t)b->k->inst.n);
    if (b->whole || !b->sectioned) return;
    for (int i = 0; i < b->k->inst.n; i++) {
        int32_t arg[3];
        if (!b->needed[i] || (b->level[i] < 2 && dync__lp_inst(b, i)->prim != DYNC__P_reduce))
            continue;
        for (int a = dync__lp_operands(b, i, arg) - 1; a >= 0; a--) {
            int v = arg[a];
            while (dync__lp_inst(b, v)->prim == DYNC__P_bitcast) v = dync__lp_inst(b, v)->arg[0];
            if (dync__lp_phase(b, v) != dync__lp_phase(b, i)) dync__lp_keep(b, v, i);
        }
    }
}

/* Is i a load of the buffer, or its bits under another type? */
DYNC__FN bool dync__lp_reads(const dync__loop_plan *b, int i, int buf)
{
    while (dync__lp_inst(b, i)->prim == DYNC__P_bitcast) i = dync__lp_inst(b, i)->arg[0];
    return dync__lp_inst(b, i)->buf == buf;
}

/* dync__layout_is_apart, whose answer for symbolic sizes is a guard. */
static bool dync__lp_is_apart(const dync__layout *lay)
{
    int64_t reach = 0, last = 0;
    if (!dync__layout_has_tokens(lay)) return dync__layout_is_apart(lay);
    for (int n = lay->ndim; n > 0; n--) {
        int next = -1;
        for (int d = 0; d < lay->ndim; d++)
            if (dync__sz_lt(last, lay->stride[d]) &&
                (next < 0 || dync__sz_lt(lay->stride[d], lay->stride[next])))
                next = d;
        if (next < 0 || !dync__sz_lt(reach, lay->stride[next])) return false;
        last = lay->stride[next];
        reach = dync__sz_add(reach, dync__sz_mul(dync__sz_sub(lay->shape[next], 1), last));
    }
    return true;
}

/* Do lanes write in no order? Not where they write by an index, or where several have one place. */
static bool dync__lp_is_serial(const dync__loop_plan *b, int i)
{
    const dync__inst *in = dync__lp_inst(b, i);
    if (!b->needed[i] || dync__inst_has_value(in)) return false;
    if (in->prim == DYNC__P_storex) return true;
    const dync__access *access = &b->k->access.at[in->access];
    dync__layout lay = {0};
    for (int d = 0; b->level[i] == 2 && d < b->k->n_dims; d++) {
        if (b->k->extent[d] < 2 || dync__sz_eq(access->stride[d], 0)) continue;
        if (lay.ndim == DYNC_MAX_DIMS) return false;
        lay.shape[lay.ndim] = b->k->extent[d];
        lay.stride[lay.ndim++] = dync__sz_abs(access->stride[d]);
    }
    return b->level[i] == 2 && !dync__lp_is_apart(&lay);
}

/* Do all its accesses lie where sizes reach, counted in bytes? A loop of one has any stride. */
static bool dync__lp_near(const dync__kernel *k, int64_t most)
{
    for (int i = 0; i < k->access.n; i++) {
        int64_t low = k->access.at[i].offset, high = low;
        for (int d = 0; d < k->n_dims; d++) {
            int64_t stride = k->access.at[i].stride[d], *end = stride < 0 ? &low : &high, step;
            if (k->extent[d] > 1 &&
                (!dync__mul_ok(k->extent[d] - 1, stride, &step) || !dync__add_ok(*end, step, end)))
                return false;
        }
        if (low < -most || high > most) return false;
    }
    return true;
}

static bool dync__lp_fits(const dync__kernel *k)
{
    const int64_t most = DYNC__SIZE_MAX / 16;
    int64_t total = 1;
    bool fits = true;
    if (k->failed) return dync__fail_memory(0), false;
    for (int d = 0; d < k->n_dims; d++)
        fits = fits && dync__sz_mul_ok(total, DYNC__MAX(k->extent[d], 1), &total);
    if (DYNC__SIZE_MAX < INT64_MAX) fits = fits && total <= most && dync__lp_near(k, most);
    if (!fits) dync__fail(DYNC_ERR_SHAPE, "kernel %s: too many indices", k->name);
    return fits;
}

DYNC__FN bool dync__lp_begin(dync__loop_plan *b, const dync__kernel *k, dync__arena *arena)
{
    size_t n = (size_t)k->inst.n + 1;
    if (!dync__lp_fits(k)) return false;
    b->k = k;
    b->arena = arena;
    b->lanes = DYNC__LP_LANES;
    b->needed = dync__arena_alloc(arena, 4 * n);
    b->keep_off = dync__arena_alloc(arena, n * sizeof(int64_t));
    if (!b->needed || !b->keep_off) return false;
    b->level = b->needed + n;
    b->keep = b->level + n;
    b->clamp = b->keep + n;
    dync__lp_mark_needed(b);
    b->n_phases = 1;
    for (int i = 0; b->sectioned && i < k->inst.n; i++)
        b->n_phases = DYNC__MAX(b->n_phases, (dync__lp_inst(b, i)->section + 1) / 2);
    return true;
}

/* Cuts the loops and decides what is kept: vertical tiles get narrower, then horizontal, rather
 * than a huge row buffer. */
DYNC__FN void dync__lp_cut(dync__loop_plan *b)
{
    b->split = b->k->n_outer;
    b->cheap = DYNC__LP_CHEAP;
    if (!b->sectioned && dync__lp_product(b, 0, b->k->n_dims) > 0) dync__lp_split_pointwise(b);
    b->n_rows = dync__lp_product(b, 0, b->split);
    b->n_inner = dync__lp_product(b, b->split, b->k->n_dims);
    for (int i = 0; i < b->k->inst.n; i++)
        if (b->needed[i]) b->level[i] = (uint8_t)dync__lp_level_of(b, i);
    for (int i = 0; i < b->k->inst.n; i++) b->serial |= dync__lp_is_serial(b, i);
    dync__lp_set_tile(b);
    dync__lp_mark_kept(b);
    while (b->mode == DYNC__LP_VERTICAL &&
           dync__sz_lt(DYNC__LP_KEEP_BYTES, dync__sz_mul(b->keep_bytes, b->rows))) {
        b->inner = 1;
        b->rows = dync__sz_div(b->rows, 2);
        if (dync__sz_lt(b->rows, DYNC__VERTICAL_KEPT) &&
            b->cheap < DYNC__LP_DEAR) { /* rather twice than along columns */
            b->cheap = DYNC__LP_DEAR;
            dync__lp_set_tile(b);
        } else if (dync__sz_lt(b->rows, DYNC__VERTICAL_KEPT)) {
            b->mode = DYNC__LP_CHUNK;
            b->rows = 1;
            b->inner = dync__sz_min(b->n_inner, b->lanes);
        }
        b->whole = !dync__sz_lt(b->inner, b->n_inner);
        dync__lp_mark_kept(b);
    }
}
