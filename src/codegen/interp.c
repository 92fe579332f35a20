/* codegen/interp.c: compiles a kernel of loop IR for the tile interpreter. Before: loop/; with
 * interp_plan.c and interp_emit.c; after: interp_run.c runs the result.
 *
 * Tiles of a few hundred lanes stay in L1; each instruction is one pass of a tile kernel over
 * them. plan_loops.c cuts the loops into tiles, interp_emit.c writes the steps; here values get
 * scratch by liveness, so that few tiles are in use at once, and the result is packed into one
 * block. If the tiles in use do not fit L1 the whole is done again with narrower ones.
 * Invariants: a step's operands are made before it in its section or an earlier one; prologue
 * steps depend on no loop; results do not depend on the width of tiles, as sums are taken in
 * grains of DYNC__TILE_GRAIN elements combined pairwise (vertical sums differ from horizontal
 * ones).
 * Sources: Boncz, Zukowski, Nes 2005 (vectorised execution); Higham 1993 (pairwise summation). */
#include "../dync.in.h"
#include "interp_build.h"
#include "interp_run.h"
DYNC__LEAN

/* ---- scratch --------------------------------------------------------------------------------- */

static size_t dync__ib_take(dync__ib *b, size_t bytes)
{
    size_t at = b->scratch;
    b->scratch += (bytes + 63) & ~(size_t)63;
    return at;
}

static size_t dync__ib_value_bytes(const dync__ib *b, const dync__interp_value *v)
{
    dync__size n = v->level == 0 ? 1 : v->level == 1 ? b->p.rows : b->p.rows * b->p.inner;
    if (v->level < 2 && n == 1) n = DYNC__TILE_LANES; /* a scalar, so many times */
    return v->bytes * (size_t)n;
}

static void dync__ib_use(dync__ib *b, int v, int at, int section_end, bool is_phase)
{
    if (v < 0) return;
    dync__interp_value *x = &b->value.at[v];
    if (x->first < 0) x->first = at;
    x->last = DYNC__MAX(x->last, is_phase && x->level < 2 ? section_end : at);
}

/* Live ranges in step order. What a row makes and a phase uses lives to the end of that phase:
 * the phase loops. */
static void dync__ib_liveness(dync__ib *b)
{
    int at = 0;
    for (int l = 0; l < 2 * b->p.n_phases + 2; l++) {
        bool is_phase = l >= 2 && l % 2 == 0;
        int end = at + b->list[l].n;
        for (int i = 0; is_phase && i < b->reduce.n; i++) /* written while the phase runs */
            if (b->reduce.at[i].phase == (l - 2) / 2)
                dync__ib_use(b, b->reduce.at[i].dst, at, end, true);
        for (int i = 0; i < b->list[l].n; i++, at++) {
            const dync__interp_step *s = &b->list[l].at[i];
            dync__ib_use(b, s->dst, at, end, is_phase);
            dync__ib_use(b, s->a, at, end, is_phase);
            dync__ib_use(b, s->b, at, end, is_phase);
            dync__ib_use(b, s->c, at, end, is_phase);
        }
    }
}

/* First fit over buffers of one size, in order of birth: a value takes one whose last tenant is
 * dead, possibly its own operand's (tile kernels run in place). What the prologue makes stays. */
static void dync__ib_assign(dync__ib *b)
{
    typedef struct dync__ib_home {
        uint8_t bytes, level;
        int32_t free_at;
        size_t at;
    } dync__ib_home;
    DYNC__VEC(dync__ib_home) homes = {NULL, 0, 0};
    DYNC__VEC(int32_t) order = {NULL, 0, 0};
    for (int i = 0; i < b->value.n; i++) {
        if (b->value.at[i].home != DYNC__HOME_SCRATCH || b->value.at[i].first < 0) continue;
        if (!dync__avec_push(b->p.arena, &order, i)) goto no_memory;
        for (int j = order.n - 1;
             j > 0 && b->value.at[order.at[j - 1]].first > b->value.at[i].first; j--) {
            order.at[j] = order.at[j - 1];
            order.at[j - 1] = i;
        }
    }
    for (int i = 0; i < order.n; i++) {
        dync__interp_value *v = &b->value.at[order.at[i]];
        int found = -1;
        for (int h = 0; v->level > 0 && h < homes.n && found < 0; h++)
            if (homes.at[h].bytes == v->bytes && homes.at[h].level == v->level &&
                homes.at[h].free_at <= v->first)
                found = h;
        if (found < 0) {
            dync__ib_home home = {v->bytes, v->level, 0,
                                  dync__ib_take(b, dync__ib_value_bytes(b, v))};
            if (!dync__avec_push(b->p.arena, &homes, home)) goto no_memory;
            found = homes.n - 1;
            if (v->level == 2) b->lane_bytes += v->bytes;
        }
        homes.at[found].free_at = v->last;
        v->at = homes.at[found].at;
    }
    return;
no_memory:
    b->failed = true;
}

static void dync__ib_reduce_scratch(dync__ib *b)
{
    for (int i = 0; i < b->reduce.n; i++) {
        dync__interp_reduce *r = &b->reduce.at[i];
        r->acc = dync__ib_take(b, dync__ired_state_bytes(r, b->p.mode, b->p.rows));
        r->partial =
            dync__ib_take(b, dync__ired_partial_bytes(r, b->p.mode, b->p.rows, b->p.inner));
    }
}

/* ---- the whole ------------------------------------------------------------------------------- */

static bool dync__ib_alloc(dync__ib *b)
{
    size_t n = (size_t)b->p.k->inst.n + 1;
    b->direct = dync__arena_alloc(b->p.arena, 6 * n * sizeof(int32_t));
    b->list = dync__arena_alloc(b->p.arena, (size_t)(2 * b->p.n_phases + 2) * sizeof *b->list);
    if (!b->direct || !b->list) return false;
    b->val = b->direct + n;
    b->val_phase = b->val + n;
    b->wide = b->val_phase + n;
    b->wide_phase = b->wide + n;
    b->cold = b->wide_phase + n;
    return true;
}

/* One block holds the struct and all arrays: `at` runs over it twice, first to measure. */
static void *dync__ib_place(char *block, size_t *at, const void *from, size_t bytes)
{
    size_t here = *at;
    *at = (here + bytes + 15) & ~(size_t)15;
    if (!block) return NULL;
    if (bytes > 0) memcpy(block + here, from, bytes);
    return block + here;
}

static size_t dync__ib_layout(const dync__ib *b, char *block, const dync__interp_steps *all,
                              const int32_t *section)
{
    dync__interp none, *c = block ? (dync__interp *)(void *)block : &none;
    size_t at = (sizeof(dync__interp) + 15) & ~(size_t)15;
#define DYNC__IB_PLACE(vec) dync__ib_place(block, &at, (vec).at, (size_t)(vec).n * sizeof *(vec).at)
    c->steps = DYNC__IB_PLACE(*all);
    c->values = DYNC__IB_PLACE(b->value);
    c->streams = DYNC__IB_PLACE(b->stream);
    c->dims = DYNC__IB_PLACE(b->dim);
    c->reduces = DYNC__IB_PLACE(b->reduce);
    c->section =
        dync__ib_place(block, &at, section, (size_t)(2 * b->p.n_phases + 3) * sizeof *section);
    at += block ? -(uintptr_t)(block + at) & 63 : 63; /* vector loads do not cross cache lines */
    c->consts = DYNC__IB_PLACE(b->constant);
#undef DYNC__IB_PLACE
    return at;
}

static dync__interp *dync__ib_finish(dync__ib *b)
{
    dync__interp_steps all = {NULL, 0, 0};
    int lists = 2 * b->p.n_phases + 2;
    int64_t keep = b->p.keep_bytes * b->p.rows;
    if (keep > DYNC__SIZE_MAX) return dync__fail_memory((size_t)-1), NULL;
    int32_t *section = dync__arena_alloc(b->p.arena, (size_t)(lists + 1) * sizeof *section);
    if (!section) return NULL;
    for (int l = 0; l < lists; l++) {
        section[l] = all.n;
        for (int i = 0; i < b->list[l].n; i++)
            if (!dync__avec_push(b->p.arena, &all, b->list[l].at[i])) return NULL;
    }
    section[lists] = all.n;
    size_t bytes = dync__ib_layout(b, NULL, &all, section);
    char *block = dync__calloc(bytes);
    if (!block) return NULL;
    dync__ib_layout(b, block, &all, section);
    dync__interp *c = (dync__interp *)(void *)block;
    c->isa = b->isa;
    c->mode = b->p.mode;
    c->n_phases = b->p.n_phases;
    c->n_rows = b->p.n_rows;
    c->n_inner = b->p.n_inner;
    c->tile_rows = b->p.rows;
    c->tile_inner = DYNC__MAX(b->p.inner, 1);
    c->row_group = DYNC__LP_IS_SQUARE(b->p.mode) ? b->p.k->extent[b->p.split - 1] : b->p.n_rows;
    c->serial = b->p.serial;
    c->n_values = b->value.n;
    c->n_reduces = b->reduce.n;
    c->raw_at = dync__ib_take(b, 2 * (size_t)(b->p.rows * c->tile_inner));
    c->scratch_bytes = b->scratch;
    c->keep_bytes = (size_t)keep;
    c->block_bytes = bytes;
    return c;
}

/* With narrower tiles where those in use do not fit the first cache. */
static bool dync__ib_compile(dync__ib *b)
{
    if (!dync__ib_alloc(b)) return false;
    for (;; b->p.lanes /= 2) {
        dync__lp_cut(&b->p);
        dync__ib_find_cold(b);
        if (!b->failed) dync__ib_emit_all(b);
        if (b->failed) return false;
        dync__ib_liveness(b);
        dync__ib_assign(b);
        dync__ib_reduce_scratch(b);
        if (b->failed) return false;
        if (b->p.lanes <= DYNC__TILE_GRAIN ||
            b->lane_bytes * b->p.rows * b->p.inner <= DYNC__INTERP_L1_BYTES)
            return true;
    }
}

DYNC__FN dync__interp *dync__interp_new(dync__loop_plan *p, int isa)
{
    dync__ib b;
    memset(&b, 0, sizeof b);
    b.p = *p;
    b.p.tiles = false;
    b.isa = isa;
    return dync__ib_compile(&b) ? dync__ib_finish(&b) : NULL;
}

DYNC__FN void dync__interp_free(dync__interp *c)
{
    if (c) dync__free(c, c->block_bytes);
}

/* ---- listing --------------------------------------------------------------------------------- */

static void dync__interp_dump_step(dync__str *out, const dync__interp *c,
                                   const dync__interp_step *s)
{
    static const char kinds[][8] = {"op",     "view",   "gather", "direct", "scatter",
                                    "fill",   "expand", "index",  "loadx",  "storex",
                                    "random", "reduce", "scan",   "keep",   "skip"};
    dync__str_addf(out, "    %-8s %s.%d", kinds[s->kind], dync__dtype_info(s->type)->guard,
                   (int)s->level);
    if (s->dst >= 0) dync__str_addf(out, " v%d", (int)s->dst);
    if (s->a >= 0) dync__str_addf(out, " <- v%d", (int)s->a);
    if (s->b >= 0) dync__str_addf(out, " v%d", (int)s->b);
    if (s->c >= 0) dync__str_addf(out, " v%d", (int)s->c);
    if (s->buf >= 0) dync__str_addf(out, " buf%d", (int)s->buf);
    if (s->stream >= 0) {
        const dync__interp_stream *st = &c->streams[s->stream];
        dync__str_addf(out, " [%lld", (long long)st->offset);
        for (int d = 0; d < st->fixed.n; d++)
            dync__str_addf(out, " + %lld*f%d", (long long)c->dims[st->fixed.at + d].stride, d);
        for (int d = 0; d < st->lanes.n; d++)
            dync__str_addf(out, " + %lld*i%d", (long long)c->dims[st->lanes.at + d].stride, d);
        dync__str_add(out, "]");
    }
    if (s->reduce >= 0) dync__str_addf(out, " into v%d", (int)c->reduces[s->reduce].dst);
    dync__str_add(out, "\n");
}

DYNC__FN void dync__interp_dump(dync__str *out, const dync__interp *c)
{
    static const char modes[][9] = {"chunk", "block", "vertical", "square"};
    static const char isas[][9] = {"baseline", "avx2", "avx512"};
    dync__str_addf(out, " %s, %lld rows x %lld, tile %lld x %lld, %s, scratch %zu + %zu bytes\n",
                   modes[c->mode], (long long)c->n_rows, (long long)c->n_inner,
                   (long long)c->tile_rows, (long long)c->tile_inner, isas[c->isa],
                   c->scratch_bytes, c->keep_bytes);
    for (int l = 0; l < 2 * c->n_phases + 2; l++) {
        if (c->section[l] == c->section[l + 1]) continue;
        if (l == 0)
            dync__str_add(out, "  once\n");
        else
            dync__str_addf(out, l % 2 ? "  row %d\n" : "  phase %d\n", (l - 1) / 2);
        for (int i = c->section[l]; i < c->section[l + 1]; i++)
            dync__interp_dump_step(out, c, &c->steps[i]);
    }
}
