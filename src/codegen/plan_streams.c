/* codegen/plan_streams.c: which instructions each list of a kernel's code has, and the streams that
 * they read and write along the lanes. After plan_loops.c, before plan_code.c. */
#include "../dync.in.h"
#include "gemm_code.h"
#include "plan_code.h"
DYNC__LEAN
#if DYNC__JIT

/* Is instruction i strided along the lanes and dense along a row loop, so that blocks of it can be
 * transposed? Or a load that all rows share, or that repeats itself along the lanes, so that these
 * can be collected once for a block? */
DYNC__FN int dync__jb_transposes(const dync__jb *j, int i, int loop, int64_t extent)
{
    const dync__loop_plan *b = j->b;
    const dync__inst *in = dync__lp_inst(b, i);
    if (!b->needed[i] || (in->prim != DYNC__P_load && in->prim != DYNC__P_store)) return 0;
    const dync__buf *buf = &b->k->buf.at[in->buf];
    if (b->repeats && dync__lp_period(b, i, b->split)) return DYNC__JIT_COLLECT;
    int64_t lane = dync__jb_stride(j, in->access, j->lane_loop),
            least = 16 / (int64_t)dync__dtype_info(buf->dtype)->bytes;
    if (dync__sz_eq(lane, 0) || dync__sz_eq(lane, 1) || buf->mode == (DYNC__BUF_IN | DYNC__BUF_OUT))
        return 0;
    if (loop >= 0 && dync__sz_eq(dync__jb_stride(j, in->access, loop), 0) &&
        in->prim == DYNC__P_load)
        return dync__sz_eq(lane, -1) ? 0 : DYNC__JIT_COLLECT;
    if (!dync__sz_eq(dync__jb_stride(j, in->access, loop), 1)) return 0;
    bool few = !dync__sz_lt(DYNC__GT_FEW, extent) && dync__sz_eq(lane, extent) &&
               !dync__sz_lt(j->lanes, 2 * least);
    if (!few && (dync__sz_lt(extent, least) || dync__sz_lt(j->lanes, least))) return 0;
    return in->prim == DYNC__P_load ? DYNC__JIT_TRANSPOSE_LOAD : DYNC__JIT_TRANSPOSE_STORE;
}

DYNC__FN bool dync__jb_is_code(const dync__loop_plan *b, int i)
{
    int prim = dync__lp_inst(b, i)->prim;
    return b->needed[i] && prim != DYNC__P_const_ && prim != DYNC__P_bitcast;
}

/* Of each instruction the list that it belongs to, -1 where it is not needed; of each list the
 * first and last of those. */
typedef struct dync__jb_parts {
    int16_t *list;
    int32_t *first, *last;
    uint8_t *wanted; /* all 0 between two lists */
} dync__jb_parts;

static bool dync__jb_parts_of(const dync__jb *j, dync__jb_parts *t)
{
    const dync__loop_plan *b = j->b;
    int n = b->k->inst.n, n_lists = j->g->n_lists;
    t->list = dync__arena_alloc(b->arena, (size_t)(n + 1) * sizeof *t->list);
    t->first = dync__arena_alloc(b->arena, (size_t)(2 * n_lists + 1) * sizeof *t->first);
    t->wanted = dync__arena_alloc(b->arena, (size_t)n + 1);
    if (!t->list || !t->first || !t->wanted) return false;
    t->last = t->first + n_lists;
    for (int l = 0; l < n_lists; l++) t->first[l] = n, t->last[l] = -1;
    for (int i = 0; i < n; i++) {
        int l = t->list[i] = (int16_t)(b->needed[i] ? dync__lp_list(b, i) : -1);
        if (l < 0 || l >= n_lists) continue;
        if (t->last[l] < 0) t->first[l] = i;
        t->last[l] = i;
    }
    return true;
}

/* Marks in `wanted` what the phase of list l computes: stores, reductions, row buffers, and what
 * they read. Gives the first of them. */
static int dync__jb_want(const dync__jb *j, const dync__jb_parts *t, int l)
{
    const dync__loop_plan *b = j->b;
    int32_t arg[DYNC__GEN_ARGS];
    int i = t->last[l], open = 0;
    for (; i >= 0 && (i >= t->first[l] || open > 0); i--) {
        const dync__inst *in = dync__lp_inst(b, i);
        bool own = t->list[i] == l;
        open -= t->wanted[i];
        t->wanted[i] |= own &&
                        (!dync__inst_has_value(in) || in->prim == DYNC__P_reduce || b->keep[i]);
        if (!t->wanted[i] || (b->keep[i] && !own)) continue;
        for (int a = dync__gen_args(j->g, i, arg) - 1; a >= 0; a--) {
            int v = dync__gen_root(j->g, arg[a]);
            if (b->level[v] != 2 || dync__lp_inst(b, v)->prim == DYNC__P_reduce) continue;
            open += !t->wanted[v];
            t->wanted[v] = 1;
        }
    }
    return i + 1;
}

static bool dync__jb_note(dync__jb *j, int l, int i)
{
    bool drawn_alone = j->g->pooled[i] && dync__lp_inst(j->b, i)->prim == DYNC__P_index;
    return !dync__jb_is_code(j->b, i) || j->g->cone_of[i] >= DYNC__GEN_CONES || drawn_alone ||
           dync__avec_push(j->b->arena, &j->g->list[l], i);
}

DYNC__FN bool dync__jb_lists(dync__jb *j)
{
    const dync__loop_plan *b = j->b;
    dync__gen *g = j->g;
    dync__jb_parts t;
    if (!dync__jb_parts_of(j, &t)) return false;
    for (int l = 0; l < g->n_lists; l++) {
        bool phase = l >= 2 && l % 2 == 0;
        for (int i = phase ? dync__jb_want(j, &t, l) : t.first[l]; i <= t.last[l]; i++) {
            if ((phase ? t.wanted[i] : t.list[i] == l) && !dync__jb_note(j, l, i)) return false;
            t.wanted[i] = 0;
        }
    }
    /* who reads a value of another list finds it in its slot */
    for (int l = 0; l < g->n_lists; l++)
        for (int p = 0; p < g->list[l].n; p++) {
            int32_t arg[DYNC__GEN_ARGS];
            int i = g->list[l].at[p];
            if (b->keep[i] && dync__lp_list(b, i) != l) continue;
            for (int a = dync__gen_args(g, i, arg) - 1; a >= 0; a--) {
                int v = dync__gen_root(g, arg[a]);
                bool row_value = b->level[v] < 2 || dync__lp_inst(b, v)->prim == DYNC__P_reduce;
                if (row_value && dync__lp_inst(b, v)->prim != DYNC__P_const_ &&
                    (dync__lp_list(b, v) != l || dync__lp_inst(b, v)->prim == DYNC__P_reduce))
                    g->slot[v] = 0;
            }
        }
    return true;
}

static int dync__jb_stream(dync__jb *j, int kind, int access, int buf, int inst, int bytes)
{
    dync__gen *g = j->g;
    dync__gen_stream s;
    for (int i = 0; i < g->stream.n; i++)
        if (kind != DYNC__GS_KEEP && kind != DYNC__GS_GATHER && g->stream.at[i].kind == kind &&
            g->stream.at[i].access == access && g->stream.at[i].buf == buf)
            return i;
    memset(&s, 0, sizeof s);
    s.kind = (uint8_t)kind;
    s.access = access;
    s.buf = buf;
    s.inst = inst;
    s.bytes = (uint8_t)bytes;
    s.gpr = s.led = -1;
    s.pointer = -1;
    int64_t stride = kind == DYNC__GS_KEEP ? 1 : dync__jb_stride(j, access, j->lane_loop);
    s.lane = j->lane_loop < 0 || dync__sz_eq(stride, 1) ? DYNC__GL_DENSE
             : dync__sz_eq(stride, 0)                   ? DYNC__GL_SAME
                                                        : DYNC__GL_STRIDED;
    s.by_one = kind == DYNC__GS_INDEX && j->lane_loop >= 0 && s.lane == DYNC__GL_DENSE;
    if (kind == DYNC__GS_INDEX && s.lane == DYNC__GL_DENSE) s.lane = DYNC__GL_STRIDED;
    if (kind == DYNC__GS_MEM && j->blocks)
        s.transposed = (uint8_t)dync__jb_transposes(j, inst, j->rows.loop[0], j->rows.extent[0]);
    if (s.transposed)
        s.lane = DYNC__GL_DENSE;
    else if (kind == DYNC__GS_MEM && s.lane == DYNC__GL_STRIDED &&
             j->b->k->buf.at[buf].dtype != DYNC_BOOL) {
        bool picks = j->g->a.t->n_masks > 0; /* from two vectors, and stores some lanes */
        int mode = j->b->k->buf.at[buf].mode;
        if (mode != (DYNC__BUF_IN | DYNC__BUF_OUT) && dync__sz_eq(stride, -1))
            s.lane = DYNC__GL_BACK;
        if (mode == DYNC__BUF_IN && dync__sz_eq(stride, 2)) s.lane = DYNC__GL_TWO;
        for (int by = 2; by <= 4 && picks && bytes >= 4 && mode == DYNC__BUF_OUT; by++)
            if (dync__sz_eq(stride, by)) s.lane = (uint8_t)(DYNC__GL_TWO + by - 2);
    }
    if (!dync__avec_push(j->b->arena, &g->stream, s)) g->a.failed = true;
    return g->stream.n - 1;
}

/* Draws of 32 bits whose index goes up by 1 along the lanes take them from its pool; an index that
 * is wanted in 32 bits is made so. */
static void dync__jb_pools(dync__jb *j)
{
    const dync__loop_plan *b = j->b;
    dync__gen *g = j->g;
    int32_t arg[DYNC__GEN_ARGS];
    for (int i = 0; i < b->k->inst.n; i++) {
        const dync__inst *in = dync__lp_inst(b, i);
        bool draws = in->prim == DYNC__P_random;
        if (!b->needed[i] || (!draws && in->prim != DYNC__P_cast) || in->type != DYNC_I32) continue;
        int at = in->arg[0];
        bool lanes = b->level[i] == 2 || (g->vertical && b->level[i] == 1);
        if (dync__lp_inst(b, at)->prim != DYNC__P_index || b->keep[at]) continue;
        g->pooled[i] = draws ? lanes && g->stream.at[g->stream_of[at]].by_one : g->cone_of[i] < 0;
        if (g->pooled[i]) g->stream_of[i] = g->stream_of[at];
    }
    for (int i = 0; i < b->k->inst.n; i++) {
        bool only = b->needed[i] && dync__lp_inst(b, i)->prim == DYNC__P_index && !b->keep[i];
        for (int q = i + 1; only && q < b->k->inst.n; q++)
            for (int n = b->needed[q] ? dync__gen_args(g, q, arg) : 0; n > 0; n--)
                only &= dync__gen_root(g, arg[n - 1]) != i;
        if (only) g->pooled[i] = 1;
    }
}

DYNC__FN void dync__jb_streams(dync__jb *j)
{
    const dync__loop_plan *b = j->b;
    for (int i = 0; i < b->k->inst.n; i++) {
        const dync__inst *in = dync__lp_inst(b, i);
        j->g->stream_of[i] = j->g->keep_stream[i] = -1;
        if (!b->needed[i]) continue;
        if (in->prim == DYNC__P_index)
            j->g->stream_of[i] = dync__jb_stream(j, DYNC__GS_INDEX, in->access, -1, i, 1);
        else if (in->buf >= 0)
            j->g->stream_of[i] = dync__jb_stream(
                j, in->prim == DYNC__P_loadx ? DYNC__GS_GATHER : DYNC__GS_MEM, in->access, in->buf,
                i, dync__dtype_info(b->k->buf.at[in->buf].dtype)->bytes);
        if (b->keep[i])
            j->g->keep_stream[i] =
                dync__jb_stream(j, DYNC__GS_KEEP, -1, -1, i, (int)dync__type_bytes(in->type));
        if (in->prim == DYNC__P_reduce) {
            dync__gen_red r;
            memset(&r, 0, sizeof r);
            r.inst = i;
            r.phase = dync__lp_phase(b, i);
            r.kind = (uint8_t)in->imm.i;
            r.type = in->imm.i >= DYNC__R_ARGMAX ? DYNC_I64 : dync__lp_inst(b, in->arg[0])->type;
            r.ordered = dync__gen_type_float(r.type) &&
                        (r.kind == DYNC__R_SUM || r.kind == DYNC__R_PROD);
            if (!dync__avec_push(b->arena, &j->g->red, r)) j->g->a.failed = true;
        }
    }
    dync__jb_pools(j);
}

/* Are the arrays larger than caches? Then those only written need not be read first, nor drive out
 * others: nontemporal marks them. */
DYNC__FN bool dync__jb_is_large(const dync__jb *j)
{
    const dync__loop_plan *b = j->b;
    int64_t bytes = 0;
    bool writes = false;
    for (int s = 0; s < j->g->stream.n; s++) {
        const dync__gen_stream *st = &j->g->stream.at[s];
        bool whole = st->kind == DYNC__GS_MEM && st->lane == DYNC__GL_DENSE && j->lane_loop >= 0;
        for (int d = 0; d < b->k->n_dims && whole; d++)
            whole = b->k->extent[d] == 1 || !dync__sz_eq(b->k->access.at[st->access].stride[d], 0);
        if (whole)
            bytes =
                dync__sz_add(bytes, dync__sz_mul(dync__sz_mul(b->n_rows, b->n_inner), st->bytes));
        bool writes_only = st->kind == DYNC__GS_MEM && st->lane == DYNC__GL_DENSE &&
                           !(b->k->buf.at[st->buf].mode & DYNC__BUF_IN);
        writes |= whole && writes_only;
        if (j->way == DYNC__JB_NONTEMPORAL) j->g->stream.at[s].nontemporal = writes_only;
    }
    return writes && !dync__sz_lt(bytes, DYNC__JIT_NONTEMPORAL);
}
#endif
