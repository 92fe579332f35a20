/* codegen/jit.c: which kernels become machine code. Before: plan_loops.c has cut the loops;
 * gen_loops.c emits; after: jit_run.c.
 *
 * Code is shared: a kernel's structure (instructions, which accesses lie along the lanes, how many
 * loops) is its key, extents, strides and buffers are words of the argument block that every run
 * fills. Kernels that are not covered stay interpreted; DYNC_LOG=code names the reason. perf:
 * DYNC_PERF_MAP=1 writes /tmp/perf-PID.map. */
#include "../dync.in.h"
#include "jit.h"
#include "gemm_code.h"
#if DYNC__JIT

enum { DYNC__JIT_FRAME = 64 * 1024 };

static struct {
    dync__mutex lock;
    dync__jit_form *forms[64];
    dync__jit_stats stats;
} dync__jits;

/* ---- loops ----------------------------------------------------------------------------------- */

/* Loops [from, to) merged where every access allows it; an inner one's own loop number stands for
 * it. */
typedef struct dync__jit_loops {
    int n;
    int64_t extent[DYNC__GEN_DIMS];
    int loop[DYNC__GEN_DIMS];
    bool too_many;
} dync__jit_loops;

static bool dync__jit_merges(const dync__loop_plan *b, int outer, int inner, int64_t extent)
{
    for (int i = 0; i < b->k->inst.n; i++) {
        int access = b->needed[i] ? dync__lp_inst(b, i)->access : -1;
        if (access < 0) continue;
        const int64_t *stride = b->k->access.at[access].stride;
        if (stride[outer] != stride[inner] * extent) return false;
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
            l.extent[l.n - 1] *= extent;
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

/* Ways to compile a kernel: as it is, storing past the caches, by squares. */
enum { DYNC__JB_PLAIN, DYNC__JB_NONTEMPORAL, DYNC__JB_SQUARE };
typedef struct dync__jb { /* one kernel being compiled */
    dync__loop_plan *b;
    dync__gen *g;
    dync__jit_loops rows, inner; /* those with a counter; the lane loop apart */
    int lane_loop;               /* -1: one lane */
    int64_t lanes;
    int way;              /* DYNC__JB_* */
    dync__jit_loops over; /* in blocks: the row loops but the one that rows has then */
    bool blocks;
} dync__jb;

static int64_t dync__jb_stride(const dync__jb *j, int access, int loop)
{
    return loop < 0 ? 0 : j->b->k->access.at[access].stride[loop];
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/* Is instruction i strided along the lanes and dense along a row loop, so that blocks of it can be
 * transposed? */
static int dync__jb_transposes(const dync__jb *j, int i, int loop, int64_t extent)
{
    const dync__loop_plan *b = j->b;
    const dync__inst *in = dync__lp_inst(b, i);
    if (!b->needed[i] || (in->prim != DYNC__P_load && in->prim != DYNC__P_store)) return 0;
    const dync__buf *buf = &b->k->buf.at[in->buf];
    int64_t lane = dync__jb_stride(j, in->access, j->lane_loop),
            least = 16 / (int64_t)dync__dtype_info(buf->dtype)->bytes;
    bool few = extent <= DYNC__GT_FEW && lane == extent && j->lanes >= 2 * least;
    if (lane == 0 || lane == 1 || dync__jb_stride(j, in->access, loop) != 1 ||
        (!few && (extent < least || j->lanes < least)))
        return 0;
    if (buf->mode == (DYNC__BUF_IN | DYNC__BUF_OUT)) return 0;
    return in->prim == DYNC__P_load ? DYNC__JIT_TRANSPOSE_LOAD : DYNC__JIT_TRANSPOSE_STORE;
}

/* May the indices come in another order? What is written is read in its own place alone, and
 * written once. */
static bool dync__jb_any_order(const dync__loop_plan *b)
{
    for (int i = 0; i < b->k->inst.n; i++)
        for (int l = 0; l < b->k->inst.n; l++) {
            const dync__inst *in = dync__lp_inst(b, i), *other = dync__lp_inst(b, l);
            if (i == l || !b->needed[i] || !b->needed[l] || dync__inst_has_value(in) ||
                other->buf != in->buf)
                continue;
            if (other->prim != DYNC__P_load || other->access != in->access) return false;
        }
    return true;
}

/* Kernels that memory crosses: the row loop that most transposed streams are dense along stays the
 * code's only row loop. */
static void dync__jb_find_blocks(dync__jb *j)
{
    int most = 0, at = 0;
    if (j->g->vertical || j->inner.n > 0 || j->lane_loop < 0 ||
        (j->b->sectioned && j->lanes > 8192))
        return;
    for (int r = 0; r < j->rows.n; r++) {
        int n = 0;
        for (int i = 0; i < j->b->k->inst.n; i++)
            n += dync__jb_transposes(j, i, j->rows.loop[r], j->rows.extent[r]) > 0;
        if (n > most) most = n, at = r;
    }
    if (!most || !dync__jb_any_order(j->b)) return;
    j->blocks = true;
    for (int r = 0; r < j->rows.n; r++) {
        if (r == at) continue;
        j->over.extent[j->over.n] = j->rows.extent[r];
        j->over.loop[j->over.n++] = j->rows.loop[r];
    }
    j->rows.loop[0] = j->rows.loop[at];
    j->rows.extent[0] = j->rows.extent[at];
    j->rows.n = 1;
}

/* ---- lists and streams ----------------------------------------------------------------------- */

static bool dync__jb_is_code(const dync__loop_plan *b, int i)
{
    int prim = dync__lp_inst(b, i)->prim;
    return b->needed[i] && prim != DYNC__P_const_ && prim != DYNC__P_bitcast;
}

/* Marks in `wanted` what phase p computes: stores, reductions, row buffers, and what they read. */
static void dync__jb_want(const dync__jb *j, uint8_t *wanted, int p)
{
    const dync__loop_plan *b = j->b;
    int list = 2 + 2 * p;
    int32_t arg[3];
    for (int i = b->k->inst.n - 1; i >= 0; i--) {
        const dync__inst *in = dync__lp_inst(b, i);
        bool own = b->needed[i] && dync__lp_list(b, i) == list;
        wanted[i] |= own && (!dync__inst_has_value(in) || in->prim == DYNC__P_reduce || b->keep[i]);
        if (!wanted[i] || (b->keep[i] && !own)) continue;
        for (int a = dync__gen_args(j->g, i, arg) - 1; a >= 0; a--) {
            int v = dync__gen_root(j->g, arg[a]);
            if (b->level[v] == 2 && dync__lp_inst(b, v)->prim != DYNC__P_reduce) wanted[v] = 1;
        }
    }
}

static bool dync__jb_lists(dync__jb *j)
{
    const dync__loop_plan *b = j->b;
    dync__gen *g = j->g;
    int n = b->k->inst.n;
    uint8_t *wanted = dync__arena_alloc(b->arena, (size_t)n + 1);
    if (!wanted) return false;
    for (int l = 0; l < g->n_lists; l++) {
        bool phase = l >= 2 && l % 2 == 0;
        memset(wanted, 0, (size_t)n);
        if (phase) dync__jb_want(j, wanted, (l - 2) / 2);
        for (int i = 0; i < n; i++)
            if (dync__jb_is_code(b, i) && g->cone_of[i] < DYNC__GEN_CONES &&
                (phase ? wanted[i] : dync__lp_list(b, i) == l) &&
                !dync__avec_push(b->arena, &g->list[l], i))
                return false;
    }
    /* who reads a value of another list finds it in its slot */
    for (int l = 0; l < g->n_lists; l++)
        for (int p = 0; p < g->list[l].n; p++) {
            int32_t arg[3];
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
    s.gpr = -1;
    s.pointer = -1;
    int64_t stride = kind == DYNC__GS_KEEP ? 1 : dync__jb_stride(j, access, j->lane_loop);
    s.lane = stride == 1 || j->lane_loop < 0 ? DYNC__GL_DENSE
             : stride == 0                   ? DYNC__GL_SAME
                                             : DYNC__GL_STRIDED;
    if (kind == DYNC__GS_INDEX && s.lane == DYNC__GL_DENSE) s.lane = DYNC__GL_STRIDED;
    if (kind == DYNC__GS_MEM && j->blocks)
        s.transposed = (uint8_t)dync__jb_transposes(j, inst, j->rows.loop[0], j->rows.extent[0]);
    if (s.transposed)
        s.lane = DYNC__GL_DENSE;
    else if (kind == DYNC__GS_MEM && s.lane == DYNC__GL_STRIDED &&
             j->b->k->buf.at[buf].dtype != DYNC_BOOL) {
        bool picks = j->g->a.t->n_masks > 0; /* from two vectors, and stores some lanes */
        int mode = j->b->k->buf.at[buf].mode;
        if (stride == -1 && mode != (DYNC__BUF_IN | DYNC__BUF_OUT)) s.lane = DYNC__GL_BACK;
        if (stride == 2 && picks && mode == DYNC__BUF_IN) s.lane = DYNC__GL_TWO;
        if (stride >= 2 && stride <= 4 && picks && bytes >= 4 && mode == DYNC__BUF_OUT)
            s.lane = (uint8_t)(DYNC__GL_TWO + stride - 2);
    }
    if (!dync__avec_push(j->b->arena, &g->stream, s)) g->a.failed = true;
    return g->stream.n - 1;
}

static void dync__jb_streams(dync__jb *j)
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
}

/* Are the arrays larger than caches? Then those only written need not be read first, nor drive out
 * others: nontemporal marks them. */
static bool dync__jb_is_large(const dync__jb *j)
{
    const dync__loop_plan *b = j->b;
    int64_t bytes = 0;
    bool writes = false;
    for (int s = 0; s < j->g->stream.n; s++) {
        const dync__gen_stream *st = &j->g->stream.at[s];
        bool whole = st->kind == DYNC__GS_MEM && st->lane == DYNC__GL_DENSE && j->lane_loop >= 0;
        for (int d = 0; d < b->k->n_dims && whole; d++)
            whole = b->k->extent[d] == 1 || b->k->access.at[st->access].stride[d] != 0;
        if (whole) bytes += b->n_rows * b->n_inner * st->bytes;
        bool writes_only = st->kind == DYNC__GS_MEM && st->lane == DYNC__GL_DENSE &&
                           !(b->k->buf.at[st->buf].mode & DYNC__BUF_IN);
        writes |= whole && writes_only;
        if (j->way == DYNC__JB_NONTEMPORAL) j->g->stream.at[s].nontemporal = writes_only;
    }
    return writes && bytes >= DYNC__JIT_PAST;
}

/* ---- what is covered ------------------------------------------------------------------------- */

static const char *dync__jb_refuses(const dync__jb *j)
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
                  b->n_inner >= 256 && j->lanes * 2 <= j->g->a.t->vector_bytes / 4 &&
                  b->k->inst.n < 24;
    for (int i = 0; i < b->k->inst.n; i++)
        narrow &= dync__lp_inst(b, i)->prim != DYNC__P_reduce ||
                  dync__lp_inst(b, i)->imm.i < DYNC__R_ARGMAX;
    return narrow;
}

/* Loops and modes; false with the reason where the interpreter does better. */
static const char *dync__jb_plan(dync__jb *j)
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
    if (b->keep_bytes > DYNC__JIT_LONG && !j->g->vertical) { /* rather twice than through memory */
        b->cheap = DYNC__LP_DEAR;
        dync__lp_mark_kept(b);
    }
    /* a few rows of which threads may want a part each: BOOL results are masks of a vector's lanes,
     * so all of it runs alike */
    j->g->split = b->has_reduce && !b->has_scan && !j->blocks && !j->g->vertical &&
                  j->inner.n == 0 && b->n_rows < 64 && b->n_inner >= 16384 &&
                  b->n_phases <= DYNC__GEN_PHASES;
    return NULL;
}

/* Many rows of columns beyond the second-level cache, summed: down all rows at once nothing is
 * fetched ahead, by sixteen rows it is. */
static bool dync__jb_is_tall(const dync__jb *j)
{
    const dync__loop_plan *b = j->b;
    bool tall = j->g->vertical && b->has_reduce && !b->has_scan && b->n_phases == 1 &&
                j->inner.n == 1 && b->n_inner >= 64 && j->lanes >= 512 &&
                b->n_inner * j->lanes >= 256 * 1024 && j->g->list[1].n == 0 && !b->k->uses_random;
    /* levels begin as zeros */
    for (int i = 0; i < j->g->red.n; i++)
        tall &= j->g->red.at[i].ordered && j->g->red.at[i].kind == DYNC__R_SUM;
    return tall;
}

/* A block kernel without rows of its own, short enough to be written V times over, whose transposed
 * streams are loads of V elements a cache line. */
static bool dync__jb_is_square(const dync__jb *j)
{
    const dync__gen *g = j->g;
    bool square = j->blocks && !j->b->sectioned && g->a.t->n_vectors >= 32 && j->b->n_phases == 1 &&
                  g->red.n == 0 && !j->b->has_scan && !j->b->k->uses_random && g->list[1].n == 0 &&
                  g->list[3].n == 0 && g->list[2].n <= 24 && g->stream.n <= 8;
    for (int s = 0; s < g->stream.n; s++) {
        const dync__gen_stream *st = &g->stream.at[s];
        square &= st->kind == DYNC__GS_MEM && st->transposed != DYNC__JIT_TRANSPOSE_STORE &&
                  (st->transposed ? st->bytes * g->V == 64 : st->lane <= DYNC__GL_DENSE);
    }
    dync__gen_begin_list(j->g, 2);
    return square && dync__gen_pressure(j->g, 2) <= 8;
}

/* ---- structure ------------------------------------------------------------------------------- */

static void dync__jb_key(const dync__jb *j, dync__str *key)
{
    const dync__loop_plan *b = j->b;
    const dync__gen *g = j->g;
    int16_t head[12] = {g->a.t->level,
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
                        g->square};
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
            in->prim == DYNC__P_select)
            memcpy(&row.imm, &in->imm, sizeof row.imm);
        dync__str_addn(key, (const char *)&row, sizeof row);
    }
    for (int s = 0; s < g->stream.n; s++) {
        const dync__gen_stream *st = &g->stream.at[s];
        const dync__buf *buf = st->buf >= 0 ? &b->k->buf.at[st->buf] : NULL;
        uint8_t row[7] = {st->kind,
                          st->lane,
                          st->bytes,
                          buf ? buf->dtype : 0,
                          buf ? buf->mode : 0,
                          st->nontemporal,
                          g->square && st->transposed};
        dync__str_addn(key, (const char *)row, sizeof row);
    }
}

/* ---- forms ----------------------------------------------------------------------------------- */

static void dync__jit_perf_map(const dync__jit_form *f, const char *name)
{
#if !defined(DYNC_NO_STDIO)
    char path[64];
    const char *on = dync__env("DYNC_PERF_MAP");
    if (!on || !*on || strcmp(on, "0") == 0) return;
    dync__format(path, sizeof path, "/tmp/perf-%d.map", dync__os_process());
    dync__str s = {0};
    dync__str_addf(&s, "%llx %llx dync_%s\n", (unsigned long long)(uintptr_t)f->block.exec,
                   (unsigned long long)f->code_bytes, name);
    if (!s.failed) dync__file_append_own(path, dync__str_get(&s), s.n);
    dync__str_free(&s);
#else
    (void)f, (void)name;
#endif
}

static void dync__jit_form_free(dync__jit_form *f)
{
    dync__codemem_free(&f->block);
    if (f->key) dync__free(f->key, f->key_bytes);
    dync__free(f, sizeof *f);
}

static dync__jit_form *dync__jit_lookup(uint64_t hash, const dync__str *key)
{
    dync__lock(&dync__jits.lock);
    dync__jit_form *f = dync__jits.forms[hash % 64];
    while (f && (f->hash != hash || f->key_bytes != key->n || memcmp(f->key, key->at, key->n) != 0))
        f = f->next;
    if (f) {
        f->users++;
        dync__jits.stats.shared++;
    }
    dync__unlock(&dync__jits.lock);
    return f;
}

static void dync__jit_release(dync__jit_form *f)
{
    dync__lock(&dync__jits.lock);
    bool last = --f->users == 0;
    if (last && f->key) {
        dync__jit_form **at = &dync__jits.forms[f->hash % 64];
        while (*at != f) at = &(*at)->next;
        *at = f->next;
    }
    dync__unlock(&dync__jits.lock);
    if (last) dync__jit_form_free(f);
}

/* Emits, and enters the form; NULL: there is no memory, or none that executes. */
static dync__jit_form *dync__jit_make(dync__jb *j, uint64_t hash, const dync__str *key)
{
    dync__gen *g = j->g;
    uint8_t *write;
    if (!dync__avec_reserve(j->b->arena, &g->a.code, 4096) ||
        !dync__avec_reserve(j->b->arena, &g->a.pool, 1024))
        return NULL;
    dync__gen_emit(g);
    size_t bytes = g->a.t->finish(&g->a);
    if (bytes == 0 || g->frame > DYNC__JIT_FRAME) return NULL;
    dync__jit_form *f = dync__calloc(sizeof *f);
    if (!f) return NULL;
    if (!g->a.listing) {
        f->key = dync__alloc(key->n);
        f->key_bytes = key->n;
        if (f->key) memcpy(f->key, key->at, key->n);
    }
    if ((!g->a.listing && !f->key) || !dync__codemem_begin(bytes, &write, &f->block)) goto fail;
    g->a.t->write(&g->a, write);
    if (!dync__codemem_end(&f->block, bytes)) goto fail;
    f->hash = hash;
    f->code_bytes = bytes;
    f->users = 1;
    f->frame = g->frame + 64;
    f->unroll = g->U;
    f->slots = g->slots;
    f->slot_bytes = g->slot_bytes;
    dync__jit_perf_map(f, j->b->k->name);
    dync__lock(&dync__jits.lock);
    dync__jits.stats.kernels++;
    if (f->key) {
        f->next = dync__jits.forms[hash % 64];
        dync__jits.forms[hash % 64] = f;
    }
    dync__unlock(&dync__jits.lock);
    return f;
fail:
    if (f->key) dync__free(f->key, f->key_bytes);
    dync__free(f, sizeof *f);
    return NULL;
}

/* ---- the kernel's own part ------------------------------------------------------------------- */

static int64_t dync__jb_keep_bytes(const dync__jb *j, int inst, int unroll)
{
    int64_t one = (int64_t)dync__type_bytes(dync__lp_inst(j->b, inst)->type);
    int64_t n = j->g->vertical ? j->b->n_inner * unroll * j->g->V
                               : j->b->n_inner + DYNC__GEN_UNROLL * j->g->V;
    return (one * n + 63) & ~(int64_t)63;
}

static void dync__jb_record(const dync__jb *j, const dync__jit *jit, int s, int64_t *keep)
{
    const dync__gen_stream *st = &j->g->stream.at[s];
    int64_t *w = jit->words + jit->n_words - (jit->n_streams - s) * jit->record, bytes = st->bytes;
    dync__jit_stream *out = &jit->stream[s];
    int D = j->rows.n, K = j->inner.n;
    memset(out, 0, sizeof *out);
    out->buf = st->kind == DYNC__GS_KEEP ? -1 : st->kind == DYNC__GS_INDEX ? -2 : st->buf;
    if (st->kind == DYNC__GS_KEEP) {
        out->at = *keep;
        *keep += dync__jb_keep_bytes(j, st->inst, jit->form->unroll);
        if (j->g->split) w[DYNC__GW_LANE] = bytes;
        if (K > 0)
            w[DYNC__GW_STEP + D + K - 1] = bytes *
                                           (jit->vertical ? jit->form->unroll * j->g->V : j->lanes);
        return;
    }
    out->at = j->b->k->access.at[st->access].offset * bytes;
    out->nontemporal = st->nontemporal;
    out->transposed = st->transposed;
    out->bytes = st->bytes;
    out->lane = w[DYNC__GW_LANE] = dync__jb_stride(j, st->access, j->lane_loop) * bytes;
    for (int d = 0; d < j->over.n; d++)
        out->step[1 + d] = dync__jb_stride(j, st->access, j->over.loop[d]) * bytes;
    for (int d = 0; d < D; d++) {
        out->step[d] = dync__jb_stride(j, st->access, j->rows.loop[d]) * bytes;
        w[DYNC__GW_STEP + d] = out->step[d];
        if (d + 1 < D)
            w[DYNC__GW_STEP + d] -= dync__jb_stride(j, st->access, j->rows.loop[d + 1]) *
                                    j->rows.extent[d + 1] * bytes;
    }
    for (int d = 0; d < K; d++) {
        int64_t *to = &w[DYNC__GW_STEP + D + d];
        *to = dync__jb_stride(j, st->access, j->inner.loop[d]) * bytes;
        if (d + 1 < K)
            *to -= dync__jb_stride(j, st->access, j->inner.loop[d + 1]) * j->inner.extent[d + 1] *
                   bytes;
    }
}

/* Blocks of whole rows where sections follow each other, else of 1 KB a lane row, as what runs
 * along the rows is fetched ahead, and a cache line of what runs across, or 16 KB where lanes are
 * few; half a block is still 16 bytes of each transposed stream. A load that is stored as it is
 * needs no tile. */
static void dync__jb_block(const dync__jb *j, dync__jit *jit)
{
    const dync__gen_stream *s = j->g->stream.at;
    int bytes = 1, least = 8, code = 0, loads = 0;
    int64_t all = 0;
    bool crowds = false;
    jit->blocks = true;
    jit->n_over = j->over.n;
    memcpy(jit->over, j->over.extent, sizeof jit->over);
    for (int i = 0; i < jit->n_streams; i++)
        all += s[i].kind == DYNC__GS_MEM ? j->b->n_rows * j->b->n_inner * s[i].bytes : 0;
    jit->fetches = all >= DYNC__JIT_PAST / 2;
    for (int i = 0; i < j->b->k->inst.n; i++) {
        code += dync__jb_is_code(j->b, i);
        loads += dync__lp_inst(j->b, i)->prim == DYNC__P_load;
    }
    if (code == 2 && loads == 1 && jit->n_streams == 2 && s[0].lane == DYNC__GL_DENSE &&
        s[1].lane == DYNC__GL_DENSE && !s[0].transposed != !s[1].transposed &&
        j->b->k->buf.at[s[0].buf].dtype == j->b->k->buf.at[s[1].buf].dtype)
        jit->copies = s[0].transposed ? 1 : 2;
    for (int i = 0; i < jit->n_streams; i++)
        if (s[i].transposed)
            bytes = DYNC__MAX(bytes, (int)s[i].bytes), least = DYNC__MIN(least, (int)s[i].bytes);
    for (int i = 0; i < jit->n_streams; i++)
        crowds |= (s[i].transposed || jit->copies) &&
                  dync__gt_crowds(s[i].transposed ? jit->stream[i].lane : jit->stream[i].step[0],
                                  s[i].bytes);
    bool squares = dync__gt_squares(least) &&
                   (!crowds || DYNC__MIN(jit->rows, jit->lanes) * least >= 1024);
    int run = crowds && !squares ? 256 : 64; /* bytes of a line at a time: gemm_run.c */
    jit->block_lanes =
        DYNC__MAX(run == 256 ? 128 : DYNC__MIN(1024 / bytes, 512), 16 * 1024 / bytes / jit->rows);
    if (j->b->sectioned) jit->block_lanes = jit->lanes;
    jit->block_rows =
        DYNC__MAX(run / least, 16 * 1024 / bytes / DYNC__MIN(jit->block_lanes, jit->lanes));
    jit->tiles = jit->keep_bytes;
    jit->keep_bytes += DYNC__GT_SCRATCH;
    for (int i = 0; i < jit->n_streams; i++) {
        jit->stream[i].tile = jit->keep_bytes - jit->tiles;
        if (s[i].transposed)
            jit->keep_bytes +=
                dync__jit_tile_bytes(jit->block_rows * 3 / 2, jit->block_lanes * 3 / 2, s[i].bytes);
    }
    /* more than a second cache */
    if (jit->copies && squares) jit->side = 64 / bytes, jit->fetches = all > 1024 * 1024;
}

/* loadx(mul(max(0, min(index, last)), stride)), instruction i. Stored and no more, with one index
 * for all lanes, or one each of a few, it is bytes to be copied: longer lines of what needs no
 * conversion are as well loaded by the code. Else lines can be fetched ahead. */
static void dync__jb_find_take(const dync__jb *j, dync__jit *jit, int i)
{
    static const uint8_t prims[] = {DYNC__P_store, DYNC__P_loadx, DYNC__P_mul, DYNC__P_max,
                                    DYNC__P_min,   DYNC__P_cast,  DYNC__P_load};
    const dync__loop_plan *b = j->b;
    const dync__inst *at[DYNC__COUNT_OF(prims)] = {NULL};
    const dync__jit_stream *of[3] = {NULL};
    dync__jit_take t = {.covers = 1};
    int64_t end = 0, dense = 1;
    bool apart = false;
    int code = -1;
    for (int s = 0; s < b->k->inst.n; s++) {
        code += dync__jb_is_code(b, s);
        if (b->needed[s] && dync__lp_inst(b, s)->prim == DYNC__P_store &&
            dync__gen_root(j->g, dync__lp_inst(b, s)->arg[0]) == i)
            of[2] = &jit->stream[t.stream[2] = j->g->stream_of[s]];
    }
    for (int p = 1; p < DYNC__COUNT_OF(prims) && i >= 0; p++) {
        if (dync__lp_inst(b, i)->prim != prims[p]) continue;
        at[p] = dync__lp_inst(b, i);
        if (at[p]->buf >= 0) of[p == 1] = &jit->stream[t.stream[p == 1] = j->g->stream_of[i]];
        i = p == 6 ? -1 : dync__gen_root(j->g, at[p]->arg[prims[p] == DYNC__P_max]);
        code--;
    }
    if (!of[0] || !of[1] || !at[3] || !at[4] || j->blocks) return;
    const dync__inst *low = dync__lp_inst(b, at[3]->arg[0]),
                     *high = dync__lp_inst(b, at[4]->arg[1]),
                     *by = at[2] ? dync__lp_inst(b, at[2]->arg[1]) : NULL;
    const dync__buf *index = &b->k->buf.at[of[0]->buf], *table = &b->k->buf.at[of[1]->buf],
                    *out = of[2] ? &b->k->buf.at[of[2]->buf] : NULL;
    if (low->prim != DYNC__P_const_ || low->imm.i != 0 || high->prim != DYNC__P_const_ ||
        (by && by->prim != DYNC__P_const_) || at[4]->type != DYNC_I64 ||
        (index->dtype != DYNC_I64 && index->dtype != DYNC_I32) || index->mode != DYNC__BUF_IN ||
        table->mode != DYNC__BUF_IN)
        return;
    for (int d = 0; d <= j->rows.n; d++) { /* rows: do they share their indices? then lanes */
        int64_t step = d < j->rows.n ? of[0]->step[d] : of[0]->lane,
                n = d < j->rows.n ? j->rows.extent[d] : j->lanes;
        apart |= step && d < j->rows.n;
        if (step) t.covers *= n, end += (n - 1) * step;
        if (step < 0) end = -1;
    }
    if (end != (t.covers - 1) * of[0]->bytes) t.covers = 0;
    bool copies =
        !code && out && j->inner.n == 0 && !jit->keep_bytes && table->dtype == out->dtype &&
        out->mode == DYNC__BUF_OUT && of[2]->lane == of[2]->bytes &&
        (of[0]->lane ? of[0]->lane == of[0]->bytes && j->lanes <= (apart ? 32 : DYNC__JIT_PICKED)
                     : of[1]->lane == of[1]->bytes &&
                           (of[2]->bytes < 4 || j->lanes * of[2]->bytes <= 1024));
    bool lies = !of[0]->lane && of[1]->lane == of[1]->bytes && !jit->split && !jit->state_bytes;
    for (int d = j->rows.n + j->inner.n - 1; d >= 0; d--) { /* innermost first */
        const dync__jit_loops *l = d < j->rows.n ? &j->rows : &j->inner;
        int loop = l->loop[d < j->rows.n ? d : d - j->rows.n];
        lies &= dync__jb_stride(j, j->g->stream.at[t.stream[0]].access, loop) == dense &&
                !dync__jb_stride(j, j->g->stream.at[t.stream[1]].access, loop);
        dense *= l->extent[d < j->rows.n ? d : d - j->rows.n];
    }
    t.stride = (by ? by->imm.i : 1) * of[1]->bytes;
    t.size = high->imm.i + 1;
    t.far = t.size * t.stride > 1 << 22;
    if (!copies)
        t.covers = dense, t.each = dense / jit->rows,
        t.some = DYNC__MAX(32768 / (t.each * j->lanes * of[1]->bytes), 1);
    if (copies || (lies && t.size * t.stride > jit->take.size * jit->take.stride)) jit->take = t;
}

DYNC__FN bool dync__code_check(dync__code *c, const int32_t *slot, int32_t index, int64_t offset,
                               int64_t n, int64_t size)
{
    dync__jit *jit = c->jit;
    const dync__jit_stream *s = jit ? &jit->stream[jit->take.stream[0]] : NULL;
    if (!jit || c->empty || size <= 0 || jit->take.size != size || slot[s->buf] != index ||
        s->at != offset * s->bytes)
        return false;
    return jit->take.checks = n == jit->take.covers && (!jit->take.each || jit->take.far);
}

static dync__jit *dync__jb_finish(dync__jb *j, dync__jit_form *form)
{
    int D = j->rows.n, K = j->inner.n, n = j->g->stream.n, record = DYNC__GW_STEP + D + K,
        m = j->g->split ? j->g->red.n : 0, words = DYNC__GW_FIXED + 2 * D + K + n * record;
    size_t bytes = sizeof(dync__jit) + (size_t)n * sizeof(dync__jit_stream) +
                   (size_t)words * sizeof(int64_t) + (size_t)m * sizeof(dync__jit_reduce);
    dync__jit *jit = dync__calloc(bytes);
    if (!jit) return NULL;
    jit->form = form;
    jit->bytes = bytes;
    jit->stream = (dync__jit_stream *)(void *)(jit + 1);
    jit->words = (int64_t *)(void *)(jit->stream + n);
    jit->n_words = words;
    jit->reduce = (dync__jit_reduce *)(void *)(jit->words + words);
    jit->split = j->g->split;
    jit->state_lanes = form->unroll * j->g->V;
    jit->state_bytes = j->g->tall ? 3 * 64 * form->unroll * j->g->red.n : 0;
    jit->n_phases = j->b->n_phases;
    jit->n_reduces = m;
    jit->slot_bytes = form->slot_bytes;
    for (int i = 0, at = 0; i < j->b->k->inst.n; i++) { /* as gen_loops.c gives slots out */
        if (j->g->slot[i] < 0) continue;
        for (int r = 0; r < m; r++)
            if (j->g->red.at[r].inst == i)
                jit->reduce[r] = (dync__jit_reduce){j->g->red.at[r].phase, at, j->g->red.at[r].kind,
                                                    j->g->red.at[r].type};
        at += 128;
    }
    jit->n_streams = n;
    jit->n_row_dims = D;
    jit->n_inner_dims = K;
    jit->record = record;
    jit->vertical = j->g->vertical;
    jit->lanes = j->lanes;
    jit->rows = 1;
    for (int d = 0; d < D; d++) {
        jit->rows *= j->rows.extent[d];
        jit->words[DYNC__GW_FIXED + 2 * d] = jit->words[DYNC__GW_FIXED + 2 * d + 1] =
            j->rows.extent[d];
    }
    for (int d = 0; d < K; d++) jit->words[DYNC__GW_FIXED + 2 * D + d] = j->inner.extent[d];
    jit->words[DYNC__GW_ROWS] = jit->rows;
    jit->words[DYNC__GW_LANES] = jit->lanes;
    jit->words[DYNC__GW_FRAME] = form->frame;
    jit->words[DYNC__GW_SEGMENT] = -1;
    for (int s = 0; s < n; s++) dync__jb_record(j, jit, s, &jit->keep_bytes);
    if (j->blocks) dync__jb_block(j, jit);
    for (int i = 0; i < j->b->k->inst.n; i++)
        if (j->b->needed[i] && dync__lp_inst(j->b, i)->prim == DYNC__P_loadx)
            dync__jb_find_take(j, jit, i);
    if (j->g->a.listing && !j->g->a.listing->failed) {
        jit->listing = dync__strdup(dync__str_get(j->g->a.listing));
    }
    return jit;
}

/* ---- compiling ------------------------------------------------------------------------------- */

/* What g->leads says. */
static void dync__jb_find_leads(const dync__jb *j)
{
    const dync__loop_plan *b = j->b;
    int32_t arg[3];
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

/* Lanes and the width of vectors. */
static void dync__jb_width(dync__jb *j)
{
    dync__gen *g = j->g;
    dync__jb_find_leads(j);
    for (int i = 0; i < j->b->k->inst.n; i++)
        g->wide |= j->b->needed[i] && g->cone_of[i] < DYNC__GEN_CONES &&
                   dync__gen_type_wide(dync__lp_inst(j->b, i)->type) &&
                   dync__lp_inst(j->b, i)->prim != DYNC__P_const_ && !g->leads[i];
    g->V = g->a.t->vector_bytes / (g->wide ? 8 : 4);
    g->n_regs = g->a.t->n_vectors;
    g->U = j->lanes <= g->V ? 1 : j->lanes <= 2 * g->V ? 2 : DYNC__GEN_UNROLL;
    g->n_row_dims = j->rows.n;
    g->n_inner_dims = j->inner.n;
}

static dync__jit *dync__jb_compile(dync__jb *j, dync__str *key, dync__str *listing)
{
    dync__gen *g = j->g;
    g->n_lists = 2 * j->b->n_phases + 2;
    if (!dync__gen_alloc_values(g, j->b->arena, j->b->k->inst.n + 1)) return NULL;
    if ((g->why = dync__jb_plan(j))) return NULL;
    dync__gen_find_cones(g);
    dync__jb_streams(j);
    dync__jb_width(j);
    if (j->way == DYNC__JB_NONTEMPORAL) dync__jb_is_large(j);
    if (g->a.failed || (g->why = dync__jb_refuses(j)) || !dync__jb_lists(j)) return NULL;
    g->tall = dync__jb_is_tall(j);
    g->square = j->way == DYNC__JB_SQUARE;
    if (g->square && !dync__jb_is_square(j)) return NULL;
    g->brief = !g->split && !g->tall && !j->blocks &&
               (g->vertical ? j->b->n_inner <= 16 : j->inner.n == 0 && j->lanes <= DYNC__GEN_GRAIN);
    int64_t keep = 0;
    for (int i = 0; i < j->b->k->inst.n; i++)
        if (j->b->needed[i] && j->b->keep[i]) keep += dync__jb_keep_bytes(j, i, DYNC__GEN_UNROLL);
    if (keep > DYNC__JIT_KEEP) {
        g->why = "a long row buffer";
        return NULL;
    }
    g->a.listing = listing;
    dync__jb_key(j, key);
    if (key->failed) return NULL;
    uint64_t hash = dync__hash_bytes(key->at, key->n, 0);
    dync__jit_form *form = listing ? NULL : dync__jit_lookup(hash, key);
    if (!form) form = dync__jit_make(j, hash, key);
    if (!form) {
        g->why = "no code";
        return NULL;
    }
    dync__jit *jit = dync__jb_finish(j, form);
    if (!jit) dync__jit_release(form);
    return jit;
}

static dync__jit *dync__jit_decline(const dync__loop_plan *b, const char *why)
{
    dync__lock(&dync__jits.lock);
    dync__jits.stats.declined++;
    dync__unlock(&dync__jits.lock);
    dync__log(DYNC__LOG_code, "kernel %s stays interpreted: %s", b->k->name,
              why ? why : "no memory");
    return NULL;
}

/* *why: where there is none. large: the kernel's arrays are. */
static dync__jit *dync__jit_try(dync__loop_plan *b, int level, int way, const char **why,
                                bool *large)
{
    dync__str key = {0}, listing = {0};
    dync__gen *g = dync__arena_alloc(b->arena, sizeof *g);
    if (!g) return NULL;
    dync__jb j = {.b = b, .g = g, .lane_loop = -1, .way = way};
    g->b = b;
    dync__a_begin(&g->a, dync__target_at(level), b->arena);
    g->a.owner = g;
    g->a.scratch = dync__gen_scratch;
    dync__jit *jit = dync__jb_compile(&j, &key, dync__a_listed() ? &listing : NULL);
    dync__str_free(&key);
    dync__str_free(&listing);
    *why = g->why;
    *large = jit && dync__jb_is_large(&j);
    return jit;
}

DYNC__FN dync__jit *dync__jit_new(dync__loop_plan *b, int level)
{
    dync__error_guard guard;
    const char *why = NULL;
    bool large = false;
    if (!dync__target_at(level)) return NULL;
    /* an allocation that fails here only leaves the kernel interpreted */
    dync__error_guard_begin(&guard);
    dync__jit *jit = dync__jit_try(b, level, DYNC__JB_PLAIN, &why, &large), *other;
    int way = jit && jit->blocks && !jit->copies && dync__target_at(level)->n_vectors >= 32
                  ? DYNC__JB_SQUARE
                  : DYNC__JB_NONTEMPORAL;
    if (jit && (way == DYNC__JB_SQUARE || (large && !jit->blocks)) &&
        (other = dync__jit_try(b, level, way, &why, &large))) {
        *(way == DYNC__JB_NONTEMPORAL ? &jit->nontemporal : &jit->squares) = other->form;
        for (int s = 0; s < jit->n_streams; s++)
            jit->stream[s].nontemporal = other->stream[s].nontemporal;
        if (way == DYNC__JB_SQUARE) jit->side = other->state_lanes;
        jit->other = other->listing;
        other->form = NULL;
        other->listing = NULL;
        dync__jit_free(other);
    }
    dync__error_guard_end(&guard);
    return jit ? jit : dync__jit_decline(b, why);
}

DYNC__FN void dync__jit_free(dync__jit *jit)
{
    if (!jit) return;
    if (jit->form) dync__jit_release(jit->form);
    if (jit->nontemporal) dync__jit_release(jit->nontemporal);
    if (jit->squares) dync__jit_release(jit->squares);
    dync__strfree(jit->listing);
    dync__strfree(jit->other);
    dync__free(jit, jit->bytes);
}

DYNC__FN dync__jit_stats dync__jit_read_stats(void)
{
    dync__lock(&dync__jits.lock);
    dync__jit_stats s = dync__jits.stats;
    dync__unlock(&dync__jits.lock);
    return s;
}

DYNC__FN void dync__jit_dump(dync__str *out, const dync__jit *jit)
{
    dync__str_addf(
        out,
        "  machine code: %zu bytes, frame %d, %s, %lld rows x %lld lanes, %d vectors at once\n",
        jit->form->code_bytes, (int)jit->form->frame,
        jit->vertical ? "rows side by side" : "rows one at a time", (long long)jit->rows,
        (long long)jit->lanes, (int)jit->form->unroll);
    if (jit->listing) dync__str_add(out, jit->listing);
    if (jit->other)
        dync__str_addf(out, "  %s:\n%s",
                       jit->nontemporal ? "where results are larger than the caches" : "by squares",
                       jit->other);
}

#else
DYNC__FN dync__jit *dync__jit_new(dync__loop_plan *b, int level)
{
    (void)b, (void)level;
    return NULL;
}
DYNC__FN void dync__jit_free(dync__jit *jit) { (void)jit; }
DYNC__FN bool dync__code_check(dync__code *c, const int32_t *slot, int32_t index, int64_t offset,
                               int64_t n, int64_t size)
{
    return (void)c, (void)slot, (void)index, (void)offset, (void)n, (void)size, false;
}
DYNC__FN void dync__jit_dump(dync__str *out, const dync__jit *jit) { (void)out, (void)jit; }
DYNC__FN dync__jit_stats dync__jit_read_stats(void)
{
    dync__jit_stats none = {0, 0, 0};
    return none;
}
#endif
