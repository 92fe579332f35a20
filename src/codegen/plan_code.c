/* codegen/plan_code.c: what of a kernel becomes machine code: which loops are counted, which memory
 * is crossed in blocks, which lists and streams there are, what is left to the interpreter. Before:
 * plan_loops.c has cut the loops; after: gen_*.c generates, jit.c keeps the code. */
#include "../dync.in.h"
#include "../loop/fuse.h"
#include "gemm_code.h"
#include "plan_code.h"
DYNC__LEAN
#if DYNC__JIT

/* ---- loops ----------------------------------------------------------------------------------- */

static bool dync__jit_merges(const dync__loop_plan *b, int outer, int inner, int64_t extent)
{
    for (int i = 0; i < b->k->inst.n; i++) {
        int access = b->needed[i] ? dync__lp_inst(b, i)->access : -1;
        if (access < 0 || (b->repeats && outer >= b->split && dync__lp_period(b, i, b->split)))
            continue;
        const int64_t *stride = b->k->access.at[access].stride;
        if (!dync__sz_eq(stride[outer], dync__sz_mul(stride[inner], extent))) return false;
    }
    return true;
}

static dync__jit_loops dync__jit_find_loops(const dync__loop_plan *b, int from, int to)
{
    dync__jit_loops l;
    memset(&l, 0, sizeof l);
    /* outermost first; the last merged loop keeps the innermost number */
    for (int d = from; d < to; d++) {
        int64_t extent = b->k->extent[d];
        if (extent == 1) continue;
        if (l.n > 0 && dync__jit_merges(b, l.loop[l.n - 1], d, extent)) {
            l.extent[l.n - 1] = dync__sz_mul(l.extent[l.n - 1], extent);
            l.loop[l.n - 1] = d;
        } else if (l.n == DYNC__GEN_DIMS) {
            l.too_many = true;
        } else {
            l.extent[l.n] = extent;
            l.loop[l.n++] = d;
        }
    }
    return l;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/* Is what repeats itself along the lanes the same along this row loop? */
static bool dync__jb_shared(const dync__jb *j, int loop)
{
    bool shared = true;
    for (int i = 0; i < j->b->k->inst.n; i++)
        if (dync__lp_period(j->b, i, j->b->split))
            shared &= dync__sz_eq(dync__jb_stride(j, dync__lp_inst(j->b, i)->access, loop), 0);
    return shared;
}

/* Kernels that memory crosses: the row loop that most transposed streams are dense along stays the
 * code's only row loop. Of kernels whose lanes repeat themselves it is one that these share, or
 * none. */
static void dync__jb_find_blocks(dync__jb *j)
{
    int most = 0, at = -1;
    if (j->g->vertical || j->inner.n > 0 || j->lane_loop < 0 ||
        (j->b->sectioned && dync__sz_lt(DYNC__BLOCK_SECTIONED, j->lanes)))
        return;
    for (int r = 0; r < j->rows.n; r++) {
        int n = 0;
        for (int i = 0; i < j->b->k->inst.n; i++) {
            int way = dync__jb_transposes(j, i, j->rows.loop[r], j->rows.extent[r]);
            n += way == DYNC__JIT_TRANSPOSE_LOAD || way == DYNC__JIT_TRANSPOSE_STORE;
        }
        if (n > most) most = n, at = r;
    }
    if (!(most || j->b->repeats) || !dync__lp_any_order(j->b)) return;
    j->blocks = true;
    for (int r = j->rows.n - 1; r >= 0 && at < 0; r--)
        if (dync__jb_shared(j, j->rows.loop[r])) at = r;
    int loop = at < 0 ? -1 : j->rows.loop[at];
    int64_t extent = at < 0 ? 1 : j->rows.extent[at];
    for (int r = 0; r < j->rows.n; r++) {
        if (r == at) continue;
        j->over.extent[j->over.n] = j->rows.extent[r];
        j->over.loop[j->over.n++] = j->rows.loop[r];
    }
    j->rows.loop[0] = loop;
    j->rows.extent[0] = extent;
    j->rows.n = 1;
}

/* ---- lists and streams ----------------------------------------------------------------------- */

/* ---- what is covered ------------------------------------------------------------------------- */

DYNC__FN const char *dync__jb_refuses(const dync__jb *j)
{
    const dync__loop_plan *b = j->b;
    int words = DYNC__GW_FIXED + 2 * j->rows.n + j->inner.n +
                j->g->stream.n * (DYNC__GW_STEP + j->rows.n + j->inner.n);
    if (words > DYNC__JIT_WORDS) return "too many accesses";
    for (int i = 0; i < b->k->inst.n; i++) {
        const dync__inst *in = dync__lp_inst(b, i);
        if (!b->needed[i]) continue;
        const char *why = dync__gen_refuses(j->g, i);
        if (why) return why;
        if (b->keep[i] && in->type == DYNC_BOOL) return "a row buffer of BOOL";
        if (!dync__inst_has_value(in) && b->level[i] == 2 &&
            j->g->stream.at[j->g->stream_of[i]].lane == DYNC__GL_SAME)
            return "lanes that write one element";
    }
    return NULL;
}

/* Vectors half empty or more, a row after the other: the interpreter folds many rows at once. */
static bool dync__jb_is_narrow(const dync__jb *j)
{
    const dync__loop_plan *b = j->b;
    bool narrow = !b->has_scan && j->g->vertical && j->rows.n == 0 && j->inner.n == 1 &&
                  b->k->inst.n < DYNC__NARROW_INSTS && !dync__sz_lt(b->n_inner, DYNC__NARROW_ROW) &&
                  !dync__sz_lt(j->g->a.t->vector_bytes / 4, dync__sz_mul(j->lanes, 2));
    for (int i = 0; i < b->k->inst.n; i++)
        narrow &= dync__lp_inst(b, i)->prim != DYNC__P_reduce ||
                  dync__lp_inst(b, i)->imm.i < DYNC__R_ARGMAX;
    return narrow;
}

/* Loops and modes; false with the reason where the interpreter does better. */
DYNC__FN const char *dync__jb_plan(dync__jb *j)
{
    dync__loop_plan *b = j->b;
    if (b->serial) return "an order between lanes";
    if (b->n_rows <= 0 || b->n_inner <= 0) return "no elements";
    j->rows = dync__jit_find_loops(b, 0, b->split);
    j->inner = dync__jit_find_loops(b, b->split, b->k->n_dims);
    if (j->rows.too_many || j->inner.too_many) return "too many loops";
    j->g->vertical = b->mode == DYNC__LP_VERTICAL;
    dync__jit_loops *from = j->g->vertical ? &j->rows : &j->inner;
    j->lane_loop = from->n > 0 ? from->loop[from->n - 1] : -1;
    j->lanes = from->n > 0 ? from->extent[--from->n] : 1;
    dync__jb_find_blocks(j);
    if (b->mode == DYNC__LP_SQUARE && !j->blocks) return "a transposition";
    if (dync__jb_is_narrow(j)) return "few columns";
    if (b->has_scan && !j->g->vertical && j->inner.n > 0) return "a scan along several loops";
    b->whole = false; /* registers hold no tile */
    dync__lp_mark_kept(b);
    if (!j->g->vertical &&
        dync__sz_lt(DYNC__JIT_LONG, b->keep_bytes)) { /* rather twice than through memory */
        b->cheap = DYNC__LP_DEAR;
        dync__lp_mark_kept(b);
    }
    /* a few rows of which threads may want a part each: BOOL results are masks of a vector's lanes,
     * so all of it runs alike */
    j->g->split = b->has_reduce && !b->has_scan && !j->blocks && !j->g->vertical &&
                  j->inner.n == 0 && b->n_phases <= DYNC__GEN_PHASES &&
                  dync__sz_lt(b->n_rows, DYNC__SPLIT_ROWS) &&
                  !dync__sz_lt(b->n_inner, DYNC__SPLIT_ROW);
    return NULL;
}

/* Many rows of columns beyond the second-level cache, summed, or their greatest or least, or where
 * those are: down all rows at once the processor prefetches nothing, by sixteen rows it does.
 * Places are two vectors of 64 bits, and pay from more elements on. */
DYNC__FN bool dync__jb_is_tall(const dync__jb *j)
{
    const dync__loop_plan *b = j->b;
    bool tall = j->g->vertical && b->has_reduce && !b->has_scan && b->n_phases == 1 &&
                j->inner.n == 1 && j->g->list[1].n == 0 && !b->k->uses_random &&
                !dync__sz_lt(b->n_inner, DYNC__TALL_ROWS) &&
                !dync__sz_lt(j->lanes, DYNC__TALL_LANES);
    int64_t from = DYNC__TALL_ELEMENTS;
    for (int i = 0; i < j->g->red.n; i++) {
        const dync__gen_red *r = &j->g->red.at[i];
        bool places = r->kind >= DYNC__R_ARGMAX;
        tall &= (r->ordered && r->kind == DYNC__R_SUM) || places ||
                (r->type != DYNC_BOOL && (r->kind == DYNC__R_MAX || r->kind == DYNC__R_MIN));
        if (places) from = DYNC__TALL_PLACES;
    }
    return tall && !dync__sz_lt(dync__sz_mul(b->n_inner, j->lanes), from);
}

/* A block kernel without rows of its own, short enough to be written V times over, whose transposed
 * streams are loads of V elements a cache line. */
DYNC__FN bool dync__jb_is_square(const dync__jb *j)
{
    const dync__gen *g = j->g;
    bool square = j->blocks && !j->b->sectioned && g->a.t->n_vectors >= 32 && j->b->n_phases == 1 &&
                  g->red.n == 0 && !j->b->has_scan && !j->b->k->uses_random && g->list[1].n == 0 &&
                  g->list[3].n == 0 && g->list[2].n <= DYNC__SQUARE_INSTS &&
                  g->stream.n <= DYNC__SQUARE_STREAMS;
    for (int s = 0; s < g->stream.n; s++) {
        const dync__gen_stream *st = &g->stream.at[s];
        square &= st->kind == DYNC__GS_MEM && st->transposed <= DYNC__JIT_TRANSPOSE_LOAD &&
                  (st->transposed ? st->bytes * g->V == 64 : st->lane <= DYNC__GL_DENSE);
    }
    dync__gen_begin_list(j->g, 2);
    return square && dync__gen_pressure(j->g, 2) <= DYNC__SQUARE_LIVE;
}

/* Short rows of which each phase waits for the one before it. Their addresses and slots stay in the
 * first-level cache, as the rows do. */
DYNC__FN int dync__jb_strip(const dync__jb *j)
{
    const dync__loop_plan *b = j->b;
    const dync__gen *g = j->g;
    int slots = 0;
    if (g->vertical || g->split || j->blocks || j->rows.n == 0 || j->inner.n > 0 ||
        b->n_phases < DYNC__STRIP_PHASES || b->has_scan || b->k->uses_random ||
        dync__sz_lt(DYNC__STRIP_BYTES, dync__sz_mul(j->lanes, g->wide ? 8 : 4)))
        return 0;
    for (int i = 0; i < b->k->inst.n; i++) slots += g->slot[i] >= 0;
    return 8 * g->stream.n + 64 * slots <= DYNC__STRIP_SLOTS ? DYNC__STRIP_ROWS : 0;
}

/* ---- structure ------------------------------------------------------------------------------- */

DYNC__FN void dync__jb_key(const dync__jb *j, dync__str *key)
{
    const dync__loop_plan *b = j->b;
    const dync__gen *g = j->g;
    int16_t head[13] = {g->a.t->level,
                        (int16_t)g->V,
                        g->vertical,
                        (int16_t)j->rows.n,
                        (int16_t)j->inner.n,
                        (int16_t)g->U,
                        (int16_t)b->n_phases,
                        (int16_t)g->stream.n,
                        g->split,
                        g->tall,
                        g->brief,
                        g->square,
                        (int16_t)g->strip};
    dync__str_addn(key, (const char *)head, sizeof head);
    for (int i = 0; i < b->k->inst.n; i++) {
        const dync__inst *in = dync__lp_inst(b, i);
        if (!b->needed[i]) continue;
        struct {
            int32_t i, arg[3], stream;
            uint8_t prim, type, level, list, keep, clamp;
            int64_t imm;
        } row;
        memset(&row, 0, sizeof row);
        row.i = i;
        memcpy(row.arg, in->arg, sizeof row.arg);
        row.stream = g->stream_of[i];
        row.prim = in->prim;
        row.type = in->type;
        row.level = b->level[i];
        row.list = (uint8_t)dync__lp_list(b, i);
        row.keep = b->keep[i];
        row.clamp = b->clamp[i];
        if (in->prim == DYNC__P_const_ || in->prim == DYNC__P_reduce || in->prim == DYNC__P_wrap ||
            in->prim == DYNC__P_select || in->prim == DYNC__P_random)
            memcpy(&row.imm, &in->imm, sizeof row.imm);
        dync__str_addn(key, (const char *)&row, sizeof row);
    }
    for (int s = 0; s < g->stream.n; s++) {
        const dync__gen_stream *st = &g->stream.at[s];
        const dync__buf *buf = st->buf >= 0 ? &b->k->buf.at[st->buf] : NULL;
        uint8_t row[8] = {st->kind,
                          st->lane,
                          st->bytes,
                          buf ? buf->dtype : 0,
                          buf ? buf->mode : 0,
                          st->nontemporal,
                          st->by_one,
                          g->square && st->transposed};
        dync__str_addn(key, (const char *)row, sizeof row);
    }
}

/* ---- width ----------------------------------------------------------------------------------- */

/* What g->leads says. */
static void dync__jb_find_leads(const dync__jb *j)
{
    const dync__loop_plan *b = j->b;
    int32_t arg[DYNC__GEN_ARGS];
    for (int i = b->k->inst.n - 1; i >= 0; i--) {
        int prim = dync__lp_inst(b, i)->prim, type = dync__lp_inst(b, i)->type;
        bool leads = (prim == DYNC__P_load || prim == DYNC__P_min || prim == DYNC__P_max ||
                      prim == DYNC__P_mul || prim == DYNC__P_cast) &&
                     (type == DYNC_I64 || type == DYNC_I32) && !b->keep[i] &&
                     j->g->cone_of[i] < 0 && dync__gen_is_even(j->g, i, 0);
        for (int q = i + 1; leads && q < b->k->inst.n; q++)
            for (int n = b->needed[q] ? dync__gen_args(j->g, q, arg) : 0; n > 0; n--)
                leads &= dync__gen_root(j->g, arg[n - 1]) != i ||
                         dync__lp_inst(b, q)->prim == DYNC__P_loadx || j->g->leads[q];
        j->g->leads[i] = leads;
    }
}

/* Without two tables to pick from, every other element is taken from vectors of 32 bytes only. */
static void dync__jb_halves(dync__jb *j)
{
    dync__gen *g = j->g;
    for (int s = 0; s < g->stream.n && g->a.t->n_masks == 0; s++) {
        dync__gen_stream *st = &g->stream.at[s];
        if (st->kind != DYNC__GS_MEM || st->lane != DYNC__GL_TWO) continue;
        int compute = dync__dtype_info(j->b->k->buf.at[st->buf].dtype)->compute;
        if (g->V * dync__dtype_info(compute)->bytes != 32) st->lane = DYNC__GL_STRIDED;
    }
}

/* Lanes and the width of vectors. */
DYNC__FN void dync__jb_width(dync__jb *j)
{
    dync__gen *g = j->g;
    dync__jb_find_leads(j);
    for (int i = 0; i < j->b->k->inst.n; i++) {
        const dync__inst *in = dync__lp_inst(j->b, i);
        bool draws = in->prim == DYNC__P_random, /* 32 bits lane by lane in 64 */
            wide = (draws ? 1 : dync__gen_type_wide(in->type)) && !g->pooled[i] && !g->leads[i];
        g->wide |= j->b->needed[i] && g->cone_of[i] < DYNC__GEN_CONES && wide &&
                   in->prim != DYNC__P_const_;
    }
    g->V = g->a.t->vector_bytes / (g->wide ? 8 : 4);
    g->n_regs = g->a.t->n_vectors;
    g->turns = 1;
    dync__jb_halves(j);
    g->U = j->blocks && !j->b->sectioned                     ? DYNC__GEN_UNROLL /* of all rows */
           : !dync__sz_lt(g->V, j->lanes)                    ? 1
           : !dync__sz_lt(2 * g->V, j->lanes)                ? 2
           : g->vertical && !dync__sz_lt(3 * g->V, j->lanes) ? 3
                                                             : DYNC__GEN_UNROLL;
    g->n_row_dims = j->rows.n;
    g->n_inner_dims = j->inner.n;
}
#endif
