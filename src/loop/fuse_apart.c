/* loop/fuse_apart.c: kernels that may be one, and whose code would be slower so. After
 * fuse_items.c, before fuse_merge.c. */
#include "../dync.in.h"
#include "fuse.h"
DYNC__LEAN

/* Is value v of k an index that only random numbers are drawn by, or that is wanted in 32 bits
 * alone? Draws keep it to themselves, and no lane has it in 64. */
static bool dync__fuse_draws_by(const dync__kernel *k, int v)
{
    bool only = k->inst.at[v].prim == DYNC__P_index;
    for (int i = v + 1; only && i < k->inst.n; i++)
        for (int a = 0; a < 3; a++)
            only &= k->inst.at[i].arg[a] != v || k->inst.at[i].prim == DYNC__P_random ||
                    (k->inst.at[i].prim == DYNC__P_cast && k->inst.at[i].type == DYNC_I32);
    return only;
}

/* Marks in hot, of DYNC__FUSE_HOT words, what every element asks for: all but the cold paths of
 * selects. */
DYNC__FN void dync__fuse_hot(const dync__kernel *k, uint64_t *hot)
{
    int most = 64 * DYNC__FUSE_HOT;
    memset(hot, 0, DYNC__FUSE_HOT * sizeof *hot);
    for (int i = DYNC__MIN(k->inst.n, most) - 1; i >= 0; i--) {
        const dync__inst *in = &k->inst.at[i];
        if (!dync__inst_has_value(in) || in->prim == DYNC__P_reduce || in->prim == DYNC__P_scan)
            hot[i / 64] |= (uint64_t)1 << i % 64;
        if (!(hot[i / 64] >> i % 64 & 1)) continue;
        for (int a = 0; a < 3; a++)
            if (in->arg[a] >= 0 && !(in->prim == DYNC__P_select && in->imm.i && a == 1))
                hot[in->arg[a] / 64] |= (uint64_t)1 << in->arg[a] % 64;
    }
}

/* What arithmetic costs in k's phases, and what of it is of 32 bits or less; *wide: what is read,
 * folded or computed has 64, as variances, places of extremes, indices and powers have: all vectors
 * then hold half as many elements. (Not so for parts of a function that few elements ask for, as
 * those of a sine.) */
static int dync__fuse_cost(const dync__kernel *k, int *narrow, bool *wide)
{
    uint64_t hot[DYNC__FUSE_HOT];
    int cost = 0;
    *wide = false;
    *narrow = 0;
    dync__fuse_hot(k, hot);
    for (int i = 0; i < DYNC__MIN(k->inst.n, 64 * DYNC__FUSE_HOT); i++) {
        const dync__inst *in = &k->inst.at[i];
        bool place = in->prim == DYNC__P_reduce && in->imm.i >= DYNC__R_ARGMAX;
        if (!(in->section & 1) || in->prim == DYNC__P_const_ || !dync__inst_has_value(in)) continue;
        bool source = in->buf >= 0 || in->prim == DYNC__P_index || in->prim == DYNC__P_reduce;
        bool wide_type = dync__dtype_info(in->type)->bytes > 4, is_hot = hot[i / 64] >> i % 64 & 1;
        if (place || (source && wide_type)) *wide |= !dync__fuse_draws_by(k, i);
        if (source || place) continue;
        *wide |= wide_type && is_hot && in->prim != DYNC__P_scan;
        cost += dync__cost_inst(in);
        *narrow += wide_type ? 0 : dync__cost_inst(in);
    }
    return cost;
}

/* Does it cost so much that other work is not to wait for it? */
static bool dync__fuse_is_dear(const dync__kernel *k)
{
    bool wide;
    int narrow;
    return dync__fuse_cost(k, &narrow, &wide) > DYNC__FUSE_FAIR;
}

/* Would one of two kernels that computes much have vectors of half as many elements? */
static bool dync__fuse_halves(const dync__fuse_job *job)
{
    bool a_wide, b_wide;
    int a, b;
    if (!job->bounded || !job->from[1]) return false;
    dync__fuse_cost(job->from[0], &a, &a_wide);
    dync__fuse_cost(job->from[1], &b, &b_wide);
    return a_wide != b_wide && (a_wide ? b : a) > DYNC__FUSE_FAIR;
}

/* Does k write the buffer with this id? */
static bool dync__fuse_writes(const dync__kernel *k, int32_t id)
{
    bool writes = false;
    for (int b = 0; b < k->buf.n; b++)
        writes |= k->buf.at[b].id == id && (k->buf.at[b].mode & DYNC__BUF_OUT);
    return writes;
}

static bool dync__fuse_does(const dync__kernel *k, int prim)
{
    bool has = false;
    for (int i = 0; i < k->inst.n; i++) has |= k->inst.at[i].prim == prim;
    return has;
}

/* What arithmetic costs in k that waits for what `from` writes; *sums: among it a running sum. */
static int dync__fuse_behind(const dync__kernel *k, const dync__kernel *from, bool *sums)
{
    uint64_t waits[DYNC__FUSE_INSTS / 64 + 1] = {0};
    int cost = 0;
    *sums = false;
    for (int i = 0; i < k->inst.n && i <= DYNC__FUSE_INSTS; i++) {
        const dync__inst *in = &k->inst.at[i];
        bool behind = in->buf >= 0 && dync__fuse_writes(from, k->buf.at[in->buf].id);
        for (int a = 0; a < 3 && !behind; a++)
            behind = in->arg[a] >= 0 && (waits[in->arg[a] / 64] >> in->arg[a] % 64 & 1);
        if (!behind) continue;
        waits[i / 64] |= (uint64_t)1 << i % 64;
        *sums |= in->prim == DYNC__P_scan;
        if (in->buf < 0) cost += dync__cost_inst(in);
    }
    return cost;
}

/* Is one of them dear arithmetic that the other's running sums wait for, or that waits for them?
 * With few registers few vectors are under way at once, and one chain behind the other is slower
 * than by way of memory. What stands in a phase behind a fold is there once for all. */
static bool dync__fuse_waits(const dync__fuse_job *job)
{
    const dync__kernel *a = job->from[0], *b = job->from[1];
    bool sums;
    if (!job->few_registers || !job->bounded || !b) return false;
    bool scans = dync__fuse_does(b, DYNC__P_scan);
    if (!scans && !dync__fuse_does(a, DYNC__P_scan)) return false;
    int behind = dync__fuse_behind(b, a, &sums);
    if (!scans) return behind > DYNC__FUSE_FAIR;
    return sums && !dync__fuse_does(a, DYNC__P_reduce) && dync__fuse_is_dear(a);
}

DYNC__FN bool dync__fuse_slower(const dync__fuse_job *job)
{
    return dync__fuse_halves(job) || dync__fuse_waits(job);
}

/* ---- rows in pieces -------------------------------------------------------------------------- */

/* Phases that reduce or scan. */
static int dync__fuse_folds(const dync__kernel *k)
{
    uint64_t seen[2] = {0};
    int n = 0;
    for (int i = 0; i < k->inst.n; i++) {
        const dync__inst *in = &k->inst.at[i];
        if (in->prim != DYNC__P_reduce && in->prim != DYNC__P_scan) continue;
        uint64_t bit = (uint64_t)1 << (in->section & 63), *word = &seen[in->section >> 6 & 1];
        n += !(*word & bit);
        *word |= bit;
    }
    return n;
}

/* Do phases store along loop d what others load across it? */
static bool dync__fuse_crosses(const dync__kernel *k, int d)
{
    bool across = false, stores = false;
    for (int i = 0; i < k->inst.n; i++) {
        const dync__inst *in = &k->inst.at[i];
        if (in->buf < 0 || !(in->section & 1) || dync__fuse_is_indexed(in->prim)) continue;
        dync__size stride = k->access.at[in->access].stride[d];
        if (dync__fuse_is_store(in->prim))
            stores |= stride == 1;
        else
            across |= stride != 0 && stride != 1;
    }
    return across && stores;
}

/* Does a phase of several load or store along loop d in another cache line each time, though what
 * lies beside it in the line belongs to the same row? */
static bool dync__fuse_strides(const dync__kernel *k, int d)
{
    bool strides = false, again = dync__fuse_folds(k) > 1;
    for (int i = 0; i < k->inst.n; i++) {
        const dync__inst *in = &k->inst.at[i];
        if (in->buf < 0 || !(in->section & 1) || dync__fuse_is_indexed(in->prim)) continue;
        again |= dync__fuse_is_store(in->prim);
        const dync__size *stride = k->access.at[in->access].stride;
        bool beside = false;
        for (int e = k->n_outer; e < k->n_dims; e++) beside |= stride[e] == 1;
        if (!beside) continue;
        int64_t step = dync__loop_at_hand(stride[d]);
        int bytes = dync__dtype_info(k->buf.at[in->buf].dtype)->bytes;
        strides |= (step < 0 ? -step : step) * bytes >= 64;
    }
    return strides && again;
}

/* Will k's rows be written out (unroll.c), so that they lie side by side in the lanes? */
static bool dync__fuse_stands_up(const dync__kernel *k)
{
    int64_t rows = 1, n = 1;
    for (int d = 0; d < k->n_dims; d++)
        *(d < k->n_outer ? &rows : &n) *= DYNC__MAX(dync__loop_at_hand(k->extent[d]), 1);
    return n <= DYNC__UNROLL_ROW && rows >= DYNC__UNROLL_ROWS && dync__fuse_writes_out(k, n);
}

/* Is the inner loop a short piece of what a row, or dear arithmetic, would go through at once? Of
 * symbolic sizes those at hand tell: another plan for others would be worth less. */
static bool dync__fuse_in_pieces(const dync__fuse_job *job, const dync__kernel *k)
{
    int folds = dync__fuse_folds(k);
    int64_t n, lanes = job->few_registers ? 8 : 16;
    if (k->n_dims < 2) return false;
    if (folds && (n = dync__schedule_lanes(k)) > 0) return n < DYNC__FUSE_PIECE;
    if (folds && dync__fuse_stands_up(k))
        return dync__schedule_side(k) < lanes &&
               dync__loop_at_hand(dync__fuse_domain(k)) > DYNC__FUSE_SMALL;
    if (folds ? k->n_dims - k->n_outer < 2 : !dync__fuse_is_dear(k)) return false;
    int last = dync__schedule_last(k, &n);
    int64_t full = (n + lanes - 1) / lanes * lanes;
    bool empty = (full - n) * DYNC__FUSE_EMPTY >= full;
    /* dear arithmetic would have many empty lanes: more than another pass costs */
    if (!folds && n >= lanes && !empty) return false;
    if (!folds) {
        int64_t domain = dync__loop_at_hand(dync__fuse_domain(k));
        return (n < lanes || domain <= DYNC__FUSE_STAYS) && domain > DYNC__FUSE_SMALL;
    }
    return n < (folds > 1 ? DYNC__FUSE_PIECE : DYNC__FUSE_PIECE / 2) ||
           (n <= DYNC__FUSE_PIECE_ACROSS - (folds == 1) && dync__fuse_crosses(k, last)) ||
           dync__fuse_strides(k, last);
}

/* Is `made` in pieces, as what one reads lies otherwise, where neither was? Each phase is slower so
 * than a copy in order and whole rows are. */
static bool dync__fuse_cuts_rows(const dync__fuse_job *job, const dync__kernel *made)
{
    return dync__fuse_in_pieces(job, made) && !dync__fuse_in_pieces(job, job->from[0]) &&
           !dync__fuse_in_pieces(job, job->from[1]);
}

/* ---- short rows ------------------------------------------------------------------------------ */

/* Elements of the rows that k goes through one after the other; 0: they lie side by side. */
static int64_t dync__fuse_row(const dync__kernel *k)
{
    int last = k->n_dims - 1;
    int64_t n = 1;
    bool along = false;
    for (int i = 0; i < k->inst.n && last >= 0; i++) {
        const dync__inst *in = &k->inst.at[i];
        along |= in->buf >= 0 && in->section & 1 && k->access.at[in->access].stride[last] == 1;
    }
    if (!along) return 0;
    for (int d = k->n_outer; d < k->n_dims; d++)
        n *= DYNC__MAX(dync__loop_at_hand(k->extent[d]), 1);
    return n;
}

/* Rows so short that they are written out side by side (unroll.c), in not too many registers? */
static bool dync__fuse_beside(const dync__fuse_job *job, const dync__kernel *made, int64_t n)
{
    return 2 * n <= DYNC__UNROLL_ROW && dync__fuse_writes_out(made, n) &&
           !(job->few_registers && dync__fuse_folds(made) > 1);
}

/* Do rows that lie side by side in the lanes leave so many of these empty that dear arithmetic is
 * better done for all of them at once? */
static bool dync__fuse_is_thin(const dync__fuse_job *job, const dync__kernel *made,
                               const dync__kernel *each)
{
    int64_t lanes = job->few_registers ? 8 : 16, n = dync__schedule_lanes(made),
            full = (n + lanes - 1) / lanes * lanes,
            domain = dync__loop_at_hand(dync__fuse_domain(made));
    return n > 0 && (full - n) * DYNC__FUSE_EMPTY >= full && domain > DYNC__FUSE_SMALL &&
           (n < lanes || domain <= DYNC__FUSE_STAYS) &&
           dync__loop_at_hand(dync__fuse_domain(each)) == domain;
}

/* Is one of them rows that would be written out, and `made` has none? Of longer ones in large
 * arrays another pass costs as much. */
static bool dync__fuse_lies_down(const dync__fuse_job *job, const dync__kernel *made)
{
    bool lies = false;
    for (int i = 0; i < 2; i++) {
        const dync__kernel *k = job->from[i];
        lies |= dync__fuse_folds(k) > 0 && dync__fuse_stands_up(k);
    }
    int64_t domain = dync__loop_at_hand(dync__fuse_domain(made)), n = dync__fuse_row(made);
    return lies && !dync__fuse_stands_up(made) && domain > DYNC__FUSE_SMALL &&
           (domain <= DYNC__FUSE_STAYS || 2 * n <= DYNC__UNROLL_ROW);
}

/* Is one of them dear arithmetic, which in short rows that the other folds would wait for each
 * fold, of few vectors at once, or be done for one row at a time, where it has all it wants alone?
 * What draws does not wait. */
static bool dync__fuse_starves(const dync__fuse_job *job, const dync__kernel *made)
{
    const dync__kernel *a = job->from[0], *b = job->from[1];
    bool a_folds = dync__fuse_folds(a) > 0, b_folds = dync__fuse_folds(b) > 0;
    const dync__kernel *each = a_folds ? b : a;
    if (a_folds == b_folds || each->uses_random || !dync__fuse_is_dear(each)) return false;
    if (dync__fuse_is_thin(job, made, each)) return true;
    int64_t n = dync__fuse_row(made),
            longest = DYNC__FUSE_FOLDED * DYNC__MAX(dync__fuse_folds(made), DYNC__FUSE_FOLDED_ROWS);
    if (n <= 1 || n >= longest + job->few_registers || dync__fuse_beside(job, made, n))
        return false;
    int64_t domain = dync__loop_at_hand(dync__fuse_domain(made)),
            own = dync__loop_at_hand(dync__fuse_domain(each)),
            most = DYNC__FUSE_FOLDED *
                   (own == domain ? dync__fuse_folds(made) : DYNC__FUSE_FOLDED_ROWS);
    if (domain > DYNC__FUSE_STAYS) most /= 2;
    return n < most + job->few_registers && domain > DYNC__FUSE_SMALL &&
           (own == domain || own * n == domain);
}

DYNC__FN bool dync__fuse_bad_rows(const dync__fuse_job *job, const dync__kernel *made)
{
    return job->bounded && job->from[1] &&
           (dync__fuse_cuts_rows(job, made) || dync__fuse_lies_down(job, made) ||
            dync__fuse_starves(job, made));
}
