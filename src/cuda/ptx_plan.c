/* cuda/ptx_plan.c: how a kernel is laid over threads. Before ptx.c.
 *
 * Flat where nothing is reduced (in squares where accesses are transposed: ptx_transpose.c). Else
 * rows or columns, by which neighbours in memory are nearer: those along the row or those of the
 * next row. Few long rows are split over blocks, each phase a launch. A row that fits the registers
 * of its threads is read once; a longer one is read once a phase. */
#include "../dync.in.h"
#include "../loop/fuse.h"
#include "ptx.h"
DYNC__COLD

DYNC__FN bool dync__ptx_has_reduce(const dync__kernel *k)
{
    for (int i = 0; i < k->inst.n; i++)
        if (k->inst.at[i].prim == DYNC__P_reduce) return true;
    return false;
}

/* Every phase can be run index by index: nothing is reduced, kept per row, or read after it was
 * written elsewhere. */
static bool dync__ptx_is_flat(const dync__ptx *p)
{
    const dync__kernel *k = p->k;
    if (dync__ptx_has_reduce(k)) return false;
    for (int i = 0; i < k->inst.n; i++) {
        const dync__inst *in = &k->inst.at[i];
        if (!(in->section & 1) && !dync__inst_has_value(in)) return false;
    }
    if (p->n_phases == 1) return true;
    for (int i = 0; i < k->buf.n; i++)
        if (k->buf.at[i].mode == (DYNC__BUF_IN | DYNC__BUF_OUT)) return false;
    return true;
}

static int64_t dync__ptx_product(const dync__kernel *k, int from, int to)
{
    int64_t n = 1;
    for (int d = from; d < to; d++) n *= k->extent[d];
    return n;
}

/* Elements side by side along the last loop, on boundaries wherever the other loops stand. */
DYNC__FN bool dync__ptx_is_vector(const dync__ptx *p, int buf, int access)
{
    const dync__kernel *k = p->k;
    const dync__access *a = &k->access.at[access];
    int bytes = dync__dtype_info(k->buf.at[buf].dtype)->bytes,
        align = DYNC__MIN(p->vec * bytes, 16), last = k->n_dims - 1;
    if (p->vec < 2 || p->vec * bytes < 4 || last < 0 || p->host[buf] || a->stride[last] != 1)
        return false;
    for (int d = 0; d < last; d++)
        if (k->extent[d] > 1 && a->stride[d] * bytes % align != 0) return false;
    for (int i = 0; i < p->n_checks; i++)
        if (p->check[i].buf == buf && p->check[i].offset == a->offset * bytes) return true;
    return false;
}

/* The number of neighbours: 16 bytes of the narrowest element, at most 8 and such that it divides
 * the last loop, or leaves a flat tail. */
static void dync__ptx_plan_vector(dync__ptx *p, bool is_flat)
{
    const dync__kernel *k = p->k;
    int narrow = 8, last = k->n_dims - 1, gathered = 0;
    bool any = false;
    if (last < (is_flat ? 0 : k->n_outer)) return;
    for (int i = 0; i < k->inst.n; i++)
        gathered += p->needed[i] && k->inst.at[i].prim == DYNC__P_loadx;
    if (gathered > DYNC__PTX_GATHERED) return;
    for (int i = 0; i < k->inst.n; i++) {
        const dync__inst *in = &k->inst.at[i];
        if (!p->needed[i] || (in->prim != DYNC__P_load && in->prim != DYNC__P_store) ||
            p->host[in->buf] || !(in->section & 1))
            continue;
        if (k->access.at[in->access].stride[last] != 1) continue;
        narrow = DYNC__MIN(narrow, dync__dtype_info(k->buf.at[in->buf].dtype)->bytes);
        any = true;
    }
    int vec = narrow == 8 ? 2 : narrow == 4 ? 4 : 8, first = is_flat ? 0 : k->n_outer;
    bool one_loop = dync__ptx_product(k, first, last) == 1;
    if (!any) return;
    if (p->most) vec = DYNC__MIN(vec, p->most);
    while (vec > 1 && k->extent[last] % vec && !(is_flat && one_loop && k->extent[last] >= 64))
        vec /= 2;
    p->shape.vec = p->vec = vec;
    /* what has to lie on boundaries at run time */
    for (int i = 0; i < k->inst.n && vec > 1; i++) {
        const dync__inst *in = &k->inst.at[i];
        if (!p->needed[i] || (in->prim != DYNC__P_load && in->prim != DYNC__P_store) ||
            p->host[in->buf])
            continue;
        int bytes = dync__dtype_info(k->buf.at[in->buf].dtype)->bytes;
        int64_t offset = k->access.at[in->access].offset * bytes;
        if (k->access.at[in->access].stride[last] != 1 || vec * bytes < 4 ||
            p->n_checks == DYNC__PTX_CHECKS)
            continue;
        if (dync__ptx_is_vector(p, in->buf, in->access)) continue;
        p->check[p->n_checks++] = (dync__ptx_check){in->buf, DYNC__MIN(vec * bytes, 16), offset};
        if (!dync__ptx_is_vector(p, in->buf, in->access)) p->n_checks--;
    }
}

/* Groups of an iteration, such that a thread has four accesses under way before it waits for the
 * first; fewer where a lane is much work, as registers limit the number of threads then. */
static int dync__ptx_transpose_groups(const dync__ptx *p)
{
    /* words: registers that a lane's loads and accumulators hold */
    int loads = 0, work = 0, words = 0;
    for (int i = 0; i < p->k->inst.n; i++) {
        const dync__inst *in = &p->k->inst.at[i];
        if (!p->needed[i] || !(in->section & 1)) continue;
        work++;
        bool loaded = (in->prim == DYNC__P_load || in->prim == DYNC__P_loadx) && !p->host[in->buf],
             reduced = in->prim == DYNC__P_reduce;
        loads += loaded;
        if (loaded || reduced)
            words += dync__ptx_bits(p->k->inst.at[reduced ? in->arg[0] : i].type)[1] == '6' ? 2 : 1;
        if (reduced && (in->imm.i == DYNC__R_ARGMAX || in->imm.i == DYNC__R_ARGMIN)) words += 2;
    }
    int most = DYNC__PTX_TRANSPOSE_LANES / p->shape.vec,
        groups = (DYNC__PTX_IN_FLIGHT + DYNC__MAX(loads, 1) - 1) / DYNC__MAX(loads, 1);
    if (work > 60) groups = DYNC__MIN(groups, DYNC__MAX(8 / p->shape.vec, 1));
    if (work > 240) groups = 1;
    most = DYNC__MIN(most, 48 / (DYNC__MAX(words, 1) * p->shape.vec));
    return DYNC__MAX(DYNC__MIN(groups, most), 1);
}

/* Are the elements of neighbouring rows nearer to each other than those of a row? */
static bool dync__ptx_is_columns(const dync__ptx *p)
{
    const dync__kernel *k = p->k;
    int along = 0, across = 0, last_row = k->n_outer - 1, last = k->n_dims - 1;
    if (last_row < 0 || k->extent[last_row] < 8) return false;
    for (int i = 0; i < k->inst.n; i++) {
        const dync__inst *in = &k->inst.at[i];
        if (!p->needed[i] || in->access < 0 || in->buf < 0 || !(in->section & 1)) continue;
        along += k->access.at[in->access].stride[last] == 1;
        across += k->access.at[in->access].stride[last_row] == 1;
    }
    return across > along;
}

static int64_t dync__ptx_pow2(int64_t n)
{
    int64_t p = 1;
    while (p < n) p *= 2;
    return p;
}

/* Sections of the last use of every value, directly or through others; reductions keep what is
 * behind them. */
static const int32_t *dync__ptx_last_uses(const dync__ptx *p)
{
    const dync__kernel *k = p->k;
    int32_t *last = dync__arena_alloc(p->arena, (size_t)(k->inst.n + 1) * sizeof *last);
    for (int i = k->inst.n - 1; i >= 0 && last; i--) {
        const dync__inst *in = &k->inst.at[i];
        for (int a = 0; p->needed[i] && a < dync__prim_info(in->prim)->n_args; a++) {
            int32_t *use = &last[in->arg[a]];
            *use = DYNC__MAX(*use, in->section);
            if (in->prim != DYNC__P_reduce) *use = DYNC__MAX(*use, last[i]);
        }
    }
    return last;
}
static bool dync__ptx_is_load(const dync__inst *in)
{
    return in->prim == DYNC__P_load || in->prim == DYNC__P_loadx;
}

/* Does a phase before `last` write what in loads, or `last` what another thread loads again? */
static bool dync__ptx_overwrites(const dync__kernel *k, const dync__inst *in, int last,
                                 const dync__inst *to)
{
    const dync__access *access = k->access.at;
    if (dync__inst_has_value(to) || to->buf != in->buf || in->section >= last || to->section > last)
        return false;
    return to->section < last || in->prim != DYNC__P_load || to->prim != DYNC__P_store ||
           !dync__access_equal(&access[in->access], &access[to->access], k->n_dims, k->extent);
}

/* A phase would load again what has been written since: such values have to stay in registers. */
static bool dync__ptx_must_keep(const dync__ptx *p)
{
    const dync__kernel *k = p->k;
    bool keep = false;
    const int32_t *last = p->in_place ? dync__ptx_last_uses(p) : NULL;
    for (int i = 0; i < k->inst.n && last; i++) {
        const dync__inst *in = &k->inst.at[i];
        for (int j = i + 1; j < k->inst.n && dync__ptx_is_load(in); j++)
            keep |= (in->section & 1) && dync__ptx_overwrites(k, in, last[i], &k->inst.at[j]);
    }
    return keep;
}

/* May the row be cut into chunks, each phase a launch? Row code stores when the phases are done,
 * and every launch computes it: what is written in place must have been used before, or by the same
 * element. */
static bool dync__ptx_may_split(const dync__ptx *p)
{
    const dync__kernel *k = p->k;
    const int32_t *last = p->in_place ? dync__ptx_last_uses(p) : NULL;
    if (p->n_phases >= DYNC__PTX_LAUNCHES || (p->in_place && !last)) return false;
    for (int i = 0; i < k->inst.n && last; i++) {
        const dync__inst *in = &k->inst.at[i];
        for (int j = 0; j < k->inst.n && dync__ptx_is_load(in) && p->needed[i]; j++) {
            const dync__inst *to = &k->inst.at[j];
            if (dync__inst_has_value(to) || to->buf != in->buf) continue;
            bool before = to->section < in->section && (to->section & 1),
                 after = to->section > last[i] || (to->section == last[i] && !(to->section & 1));
            bool itself = to->section == last[i] && in->section == to->section &&
                          in->access == to->access && in->prim == DYNC__P_load &&
                          to->prim == DYNC__P_store;
            if (!before && !after && !itself) return false;
        }
    }
    return true;
}

static void dync__ptx_plan_rows(dync__ptx *p, int units)
{
    /* row code alone; reductions of nothing */
    if (p->shape.inner == 0) {
        p->shape = (dync__ptx_shape){.mode = DYNC__PTX_ROWS,
                                     .vec = 1,
                                     .groups = 1,
                                     .threads = 1,
                                     .rows = p->shape.rows,
                                     .iterations = 2,
                                     .splits = 1,
                                     .rows_per_block = 128,
                                     .block = 128,
                                     .wide = p->shape.wide};
        p->vec = 1;
        return;
    }
    dync__ptx_shape *s = &p->shape;
    bool keep = p->n_phases > 1;
    int64_t places = (int64_t)units * 2048, groups;
    s->mode = DYNC__PTX_ROWS;
    s->splits = 1;
    if (dync__ptx_is_columns(p)) {
        s->mode = DYNC__PTX_COLUMNS;
        s->vec = p->vec = 1;
        p->n_checks = 0;
        s->threads = 1;
        while (s->threads < 16 && s->threads * 4 <= s->inner && s->rows * s->threads < places)
            s->threads *= 2;
        s->rows_per_block = 32;
        s->block = (int)(32 * s->threads);
    } else {
        int64_t per = s->inner / s->vec;
        int limit = keep ? 32 : DYNC__PTX_ROW_LANES;
        s->threads = per >= 32 ? 32 : dync__ptx_pow2(per);
        while (s->threads < 1024 && s->threads >= 32 && s->inner > s->threads * limit)
            s->threads *= 2;
        if (s->threads > 32 && s->threads < 128) s->threads = 128;
        s->block = s->threads > 128 ? (int)s->threads : 128;
        s->rows_per_block = (int)(s->block / s->threads);
    }
    groups = (s->inner + s->threads * s->vec - 1) / (s->threads * s->vec);
    int most = (keep ? 32 : DYNC__PTX_ROW_LANES) / s->vec;
    if (dync__ptx_must_keep(p)) most = DYNC__PTX_LANES / s->vec;
    if (groups <= DYNC__MAX(most, 1)) {
        s->iterations = 1;
        s->groups = (int)groups;
    } else {
        s->groups = dync__ptx_transpose_groups(p);
        s->iterations = (groups + s->groups - 1) / s->groups;
        p->unsupported = dync__ptx_must_keep(p);
        int64_t iteration = s->threads * s->vec * s->groups,
                alive = (s->mode == DYNC__PTX_ROWS ? s->rows * s->threads
                                                   : (s->rows + 31) / 32 * 32 * s->threads);
        if (alive * 2 <= places && (!keep || s->inner >= DYNC__PTX_SPLIT_FROM) &&
            dync__ptx_may_split(p)) {
            int64_t splits =
                DYNC__MIN(DYNC__MIN(s->iterations, (places + alive - 1) / alive), 1024);
            s->chunk = (s->iterations + splits - 1) / splits * iteration;
            s->splits = (s->inner + s->chunk - 1) / s->chunk;
            s->iterations = 2; /* a loop, whose end is in a register */
        }
    }
    s->guarded = s->inner % (s->threads * s->vec * s->groups) != 0;
}

DYNC__FN void dync__ptx_plan(dync__ptx *p, int units, bool scalar)
{
    dync__ptx_shape *s = &p->shape;
    const dync__kernel *k = p->k;
    bool is_flat = dync__ptx_is_flat(p);
    int first = is_flat ? 0 : k->n_outer;
    s->vec = p->vec = 1;
    s->rows = dync__ptx_product(k, 0, first);
    s->inner = dync__ptx_product(k, first, k->n_dims);
    s->wide = (double)s->rows * (double)s->inner >= 1073741824.0;
    s->rows_per_block = 1;
    if (!scalar) dync__ptx_plan_vector(p, is_flat);
    if (!is_flat) {
        dync__ptx_plan_rows(p, units);
        return;
    }
    s->mode = DYNC__PTX_FLAT;
    s->block = DYNC__PTX_BLOCK;
    s->splits = 1;
    s->iterations = 2;
    s->groups = dync__ptx_transpose_groups(p);
    while (s->groups > 1 && s->inner < (int64_t)units * s->block * s->vec * s->groups)
        s->groups /= 2;
    s->guarded = s->groups > 1;
    if (units) dync__ptx_plan_transpose(p, units, scalar);
}
