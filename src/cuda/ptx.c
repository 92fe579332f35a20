/* cuda/ptx.c: a kernel of loop IR as PTX text. Before calls.c; launch.c runs the result.
 *
 *   parameters   one 64-bit word a buffer (its address, or for one element of main memory its
 *                value), then scratch, then the state, seed and offset of random numbers where they
 *                are drawn
 *   flat         every thread takes groups of `vec` neighbours, a grid apart (grid-stride loop);
 *                what is left over goes to a scalar tail
 *   rows         T threads a row, neighbours in memory side by side; columns: 32 rows side by side,
 *                T warps along the row
 * Sums are taken lane by lane, then over the lanes, the warp and the block in a fixed order: the
 * same bits every time. Invariant: every register is declared once, at the top of its function,
 * before the statements. Sources: NVIDIA, PTX ISA 8.0; techniques.md 2f of the design (bandwidth
 * kernels). */
#include "../dync.in.h"
#include "ptx.h"
DYNC__COLD

/* Operands of a phase come first: those of another phase are made again in this block. */
DYNC__FN void dync__ptx_emit(dync__ptx *p, int i)
{
    const dync__inst *in = dync__ptx_inst(p, i);
    int n_args = dync__prim_info(in->prim)->n_args;
    if (in->prim == DYNC__P_const_ || dync__ptx_at_hand(p, i)) return;
    if (in->prim == DYNC__P_reduce && p->where[i] >= 0) return;
    if (dync__ptx_emit_pairs(p, i)) return;
    for (int a = 0; a < n_args; a++) (void)dync__ptx_use(p, in->arg[a], 0);
    if (p->taken == i + 1) return;
    dync__str_addf(&p->body, "    // %s%s%s\n", dync__prim_info(in->prim)->name,
                   in->origin ? " of " : "", in->origin ? in->origin : "");
    if (in->prim != DYNC__P_reduce) p->where[i] = p->block;
    switch (in->prim) {
    case DYNC__P_load:
    case DYNC__P_loadx: dync__ptx_load(p, i); break;
    case DYNC__P_store:
    case DYNC__P_storex: dync__ptx_store(p, i); break;
    case DYNC__P_reduce: dync__ptx_reduce_step(p, i); break;
    default:
        for (int lane = 0; lane < dync__ptx_lanes(p, i); lane++)
            if (dync__ptx_lane(p, i, lane) == lane) dync__ptx_prim(p, i, lane);
    }
}

/* ---- positions ------------------------------------------------------------------------------- */

/* Coordinates of loops [from, to) from a linear index in `linear`: names are prefix, loop,
 * suffix. */
static void dync__ptx_coordinates(dync__ptx *p, int from, int to, const char *linear,
                                  const char *prefix, const char *suffix)
{
    char rest[40], name[40];
    dync__format(rest, sizeof rest, "%s", linear);
    for (int d = to - 1; d >= from; d--) {
        dync__format(name, sizeof name, "%%%s%d%s", prefix, d, suffix);
        dync__ptx_reg(p, p->index, name);
        int64_t extent = p->k->extent[d];
        bool more = false;
        for (int e = from; e < d; e++) more |= p->k->extent[e] > 1;
        if (extent <= 1)
            dync__ptx_line(p, "mov.%s %s, 0", p->index, name);
        else if (!more)
            dync__ptx_line(p, "mov.%s %s, %s", p->index, name, rest);
        else {
            const char *next = dync__ptx_temp(p, p->index);
            dync__ptx_line(p, "div.%s %s, %s, %lld", p->index, next, rest, (long long)extent);
            dync__ptx_line(p, "mul.lo.%s %s, %s, %lld", p->index, name, next, (long long)extent);
            dync__ptx_line(p, "sub.%s %s, %s, %s", p->index, name, rest, name);
            dync__format(rest, sizeof rest, "%s", next);
        }
    }
}

static int dync__ptx_first_inner(const dync__ptx *p)
{
    return p->shape.mode == DYNC__PTX_FLAT ? 0 : p->k->n_outer;
}

/* Position of every group of this block: base + (group * T + t) * vec, with its guard and its
 * coordinates. */
static void dync__ptx_positions(dync__ptx *p, const char *base)
{
    const dync__ptx_shape *s = &p->shape;
    char name[40], in[40], put[40], suffix[24];
    for (int g = 0; g < p->groups; g++) {
        dync__format(name, sizeof name, "%%pos%db%d", g, p->block);
        dync__ptx_reg(p, p->index, name);
        if (s->mode == DYNC__PTX_FLAT && p->copy)
            dync__ptx_line(p, "add.%s %s, %%t, %lld", p->index, name,
                           (long long)(s->inner / s->vec * s->vec));
        else if (s->mode == DYNC__PTX_FLAT) {
            if (g)
                dync__ptx_line(p, "mad.lo.%s %s, %%T, %d, %s", p->index, name, g, base);
            else
                dync__ptx_line(p, "mov.%s %s, %s", p->index, name, base);
        } else {
            dync__ptx_line(p, "add.%s %s, %%t, %lld", p->index, name, (long long)(g * s->threads));
        }
        dync__format(in, sizeof in, "%%in%db%d", g, p->block);
        if (s->mode == DYNC__PTX_FLAT && g && s->guarded) {
            dync__ptx_reg(p, "pred", in);
            dync__ptx_line(p, "setp.lt.%s %s, %s, %lld", p->index, in, name,
                           (long long)(s->inner / s->vec));
        }
        if (p->vec > 1) dync__ptx_line(p, "mul.lo.%s %s, %s, %d", p->index, name, name, p->vec);
        if (s->mode != DYNC__PTX_FLAT && base)
            dync__ptx_line(p, "add.%s %s, %s, %s", p->index, name, name, base);
        if (s->mode != DYNC__PTX_FLAT && s->guarded) {
            dync__ptx_reg(p, "pred", in);
            if (s->splits > 1)
                dync__ptx_line(p, "setp.lt.%s %s, %s, %%stop", p->index, in, name);
            else
                dync__ptx_line(p, "setp.lt.%s %s, %s, %lld", p->index, in, name,
                               (long long)s->inner);
        }
        if (s->guarded && !(s->mode == DYNC__PTX_FLAT && (g == 0 || p->copy))) {
            dync__format(put, sizeof put, "%%put%db%d", g, p->block);
            dync__ptx_reg(p, "pred", put);
            dync__ptx_line(p, "and.pred %s, %s, %s", put, in,
                           s->mode == DYNC__PTX_FLAT ? "%true" : "%rowok");
        }
        dync__format(suffix, sizeof suffix, "_%db%d", g, p->block);
        dync__ptx_coordinates(p, dync__ptx_first_inner(p), p->k->n_dims, name, "i", suffix);
    }
}

/* ---- functions ------------------------------------------------------------------------------- */

/* Parameters into registers. */
static void dync__ptx_open(dync__ptx *p)
{
    char name[40];
    p->regs.n = p->body.n = 0;
    p->address.n = 0;
    p->block = p->phase = 0;
    p->copy = 0;
    p->shared_bytes = 0;
    p->philox_of = -1;
    for (int i = 0; i < p->k->inst.n; i++) {
        p->where[i] = -1;
        if (p->paired) p->paired[i] = -1;
    }
    dync__ptx_reg(p, "pred", "%true");
    dync__ptx_reg(p, "pred", "%false");
    dync__ptx_line(p, "setp.eq.u32 %%true, 0, 0");
    dync__ptx_line(p, "not.pred %%false, %%true");
    for (int i = 0; i < p->k->buf.n; i++) {
        const dync__buf *b = &p->k->buf.at[i];
        dync__format(name, sizeof name, "%%b%d", i);
        dync__ptx_reg(p, "b64", name);
        dync__str_addf(&p->body, "    // %s: %s%s%s\n", name, dync__dtype_info(b->dtype)->name,
                       b->name ? " " : "", b->name ? b->name : "");
        dync__ptx_line(p, "ld.param.b64 %s, [p%d]", name, i);
        if (!p->host[i]) dync__ptx_line(p, "cvta.to.global.u64 %s, %s", name, name);
    }
}

/* Seed and offset, from the parameters or, where a graph is recorded, from memory. */
static void dync__ptx_open_random(dync__ptx *p)
{
    int n = p->k->buf.n + 1;
    static const char *const names[] = {"%rng", "%seed", "%draw"};
    for (int i = 0; i < 3; i++) {
        dync__ptx_reg(p, "b64", names[i]);
        dync__ptx_line(p, "ld.param.b64 %s, [p%d]", names[i], n + i);
    }
    const char *has = dync__ptx_temp(p, "pred"), *more = dync__ptx_temp(p, "b64");
    dync__ptx_line(p, "setp.ne.s64 %s, %%rng, 0", has);
    dync__ptx_line(p, "cvta.to.global.u64 %%rng, %%rng");
    dync__ptx_line(p, "mov.b64 %s, 0", more);
    dync__ptx_line(p, "@%s ld.global.b64 %%seed, [%%rng]", has);
    dync__ptx_line(p, "@%s ld.global.b64 %s, [%%rng+8]", has, more);
    dync__ptx_line(p, "add.s64 %%draw, %%draw, %s", more);
}

static void dync__ptx_close(dync__ptx *p, dync__ptx_text *out, int64_t gx, int64_t gy, int block)
{
    dync__ptx_launch *l = &out->launch[out->n_launches++];
    int n = p->k->buf.n + 1 + (p->uses_random ? 3 : 0);
    memset(l, 0, sizeof *l);
    dync__str clean = {0};
    for (const char *c = p->k->name; *c && clean.n < 60; c++)
        dync__str_addc(&clean, (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') ||
                                       (*c >= '0' && *c <= '9')
                                   ? *c
                                   : '_');
    dync__format(l->entry, sizeof l->entry, "dync_%s_%d", dync__str_get(&clean), out->n_launches);
    dync__str_free(&clean);
    l->grid[0] = gx;
    l->grid[1] = gy;
    l->grid[2] = 1;
    l->block = block;
    dync__str_addf(&out->text, "\n.visible .entry %s(", l->entry);
    for (int i = 0; i < n; i++) dync__str_addf(&out->text, "%s.param .b64 p%d", i ? ", " : "", i);
    dync__str_addf(&out->text, ")\n.maxntid %d, 1, 1\n{\n", block);
    if (p->shared_bytes)
        dync__str_addf(&out->text, "    .shared .align 16 .b8 smem[%d];\n", p->shared_bytes);
    dync__str_add(&out->text, dync__str_get(&p->regs));
    dync__str_add(&out->text, dync__str_get(&p->body));
    dync__str_add(&out->text, "    ret;\n}\n");
    p->failed |= p->regs.failed || p->body.failed;
}

static void dync__ptx_special(dync__ptx *p, const char *name, const char *special)
{
    dync__ptx_reg(p, "u32", name);
    dync__ptx_line(p, "mov.u32 %s, %s", name, special);
}

/* %d = %a * %b + %c of 32-bit numbers, in the type of indices. */
static void dync__ptx_place(dync__ptx *p, const char *name, const char *a, const char *b,
                            const char *c)
{
    dync__ptx_reg(p, p->index, name);
    if (!p->shape.wide) {
        dync__ptx_line(p, "mad.lo.u32 %s, %s, %s, %s", name, a, b, c);
        return;
    }
    const char *wide = dync__ptx_temp(p, "u64");
    dync__ptx_line(p, "cvt.u64.u32 %s, %s", wide, c);
    dync__ptx_line(p, "mad.wide.u32 %s, %s, %s, %s", name, a, b, wide);
}

DYNC__FN void dync__ptx_section(dync__ptx *p, int section)
{
    for (int i = 0; i < p->k->inst.n; i++)
        if (p->needed[i] && dync__ptx_inst(p, i)->section == section) {
            dync__ptx_emit(p, i);
        }
}

static void dync__ptx_flat(dync__ptx *p, dync__ptx_text *out, int units)
{
    const dync__ptx_shape *s = &p->shape;
    int64_t n_groups = s->inner / s->vec, rest = s->inner % s->vec;
    int64_t blocks = (n_groups + (int64_t)s->block * s->groups - 1) /
                     ((int64_t)s->block * s->groups);
    blocks = DYNC__MAX(DYNC__MIN(blocks, (int64_t)units * 8), 1);
    dync__ptx_open(p);
    if (p->uses_random) dync__ptx_open_random(p);
    dync__ptx_special(p, "%thr", "%tid.x");
    dync__ptx_special(p, "%cta", "%ctaid.x");
    if (s->side) {
        dync__ptx_transpose(p);
        dync__ptx_close(p, out, s->blocks, 1, s->block);
        return;
    }
    dync__ptx_special(p, "%nthr", "%ntid.x");
    dync__ptx_special(p, "%ncta", "%nctaid.x");
    dync__ptx_reg(p, "u32", "%none");
    dync__ptx_line(p, "mov.u32 %%none, 0");
    dync__ptx_place(p, "%t", "%cta", "%nthr", "%thr");
    dync__ptx_place(p, "%T", "%ncta", "%nthr", "%none");
    dync__ptx_reg(p, p->index, "%at");
    dync__ptx_reg(p, "pred", "%done");
    p->block = 1;
    dync__ptx_line(p, "mov.%s %%at, %%t", p->index);
    dync__str_add(&p->body, "NEXT:\n");
    dync__ptx_line(p, "setp.ge.%s %%done, %%at, %lld", p->index, (long long)n_groups);
    dync__ptx_line(p, "@%%done bra DONE");
    p->vec = s->vec;
    p->groups = s->groups;
    dync__ptx_positions(p, "%at");
    for (int section = 0; section <= 2 * p->n_phases; section++) dync__ptx_section(p, section);
    dync__ptx_line(p, "mad.lo.%s %%at, %%T, %d, %%at", p->index, s->groups);
    dync__ptx_line(p, "bra NEXT");
    dync__str_add(&p->body, "DONE:\n");
    if (rest) {
        dync__ptx_line(p, "setp.ge.%s %%done, %%t, %lld", p->index, (long long)rest);
        dync__ptx_line(p, "@%%done ret");
        p->vec = p->groups = 1;
        p->copy = 't';
        p->block = 2;
        dync__ptx_positions(p, "%at");
        for (int section = 0; section <= 2 * p->n_phases; section++) dync__ptx_section(p, section);
    }
    dync__ptx_close(p, out, blocks, 1, s->block);
}

/* Which row, which thread of it. */
static void dync__ptx_row_begin(dync__ptx *p)
{
    const dync__ptx_shape *s = &p->shape;
    char count[24];
    dync__ptx_special(p, "%thr", "%tid.x");
    dync__ptx_special(p, "%cta", "%ctaid.x");
    dync__ptx_reg(p, "u32", "%sub");
    dync__ptx_reg(p, "u32", "%lane");
    bool columns = s->mode == DYNC__PTX_COLUMNS;
    int width = columns ? 32 : (int)s->threads; /* a power of two */
    dync__ptx_line(p, "and.b32 %%lane, %%thr, %d", width - 1);
    dync__ptx_line(p, "div.u32 %%sub, %%thr, %d", width);
    dync__format(count, sizeof count, "%d", s->rows_per_block);
    dync__ptx_place(p, "%row", "%cta", count, columns ? "%lane" : "%sub");
    dync__ptx_reg(p, p->index, "%t");
    dync__ptx_line(p, s->wide ? "cvt.u64.u32 %%t, %s" : "mov.u32 %%t, %s",
                   columns ? "%sub" : "%lane");
    dync__ptx_reg(p, "pred", "%rowok");
    dync__ptx_line(p, "setp.lt.%s %%rowok, %%row, %lld", p->index, (long long)s->rows);
    if (s->rows % s->rows_per_block)
        dync__ptx_line(p, "min.%s %%row, %%row, %lld", p->index, (long long)s->rows - 1);
    dync__ptx_reg(p, "pred", "%first");
    dync__ptx_line(p, "setp.eq.%s %%first, %%t, 0", p->index);
    dync__ptx_line(p, "and.pred %%first, %%first, %%rowok");
    dync__ptx_coordinates(p, 0, p->k->n_outer, "%row", "o", "");
    if (s->splits > 1 || p->stage) {
        dync__ptx_reg(p, "b64", "%scratch");
        dync__ptx_line(p, "ld.param.b64 %%scratch, [p%d]", p->k->buf.n);
        dync__ptx_line(p, "cvta.to.global.u64 %%scratch, %%scratch");
    }
    if (s->splits > 1 && p->stage == 1) {
        dync__ptx_special(p, "%part", "%ctaid.y");
        dync__ptx_reg(p, p->index, "%start");
        dync__ptx_line(p, s->wide ? "cvt.u64.u32 %%start, %%part" : "mov.u32 %%start, %%part");
        dync__ptx_line(p, "mul.lo.%s %%start, %%start, %lld", p->index, (long long)s->chunk);
        dync__ptx_reg(p, p->index, "%stop");
        dync__ptx_line(p, "add.%s %%stop, %%start, %lld", p->index, (long long)s->chunk);
        dync__ptx_line(p, "min.%s %%stop, %%stop, %lld", p->index, (long long)s->inner);
    }
}

/* Where other threads of the row may read what one writes. */
DYNC__FN void dync__ptx_row_barrier(dync__ptx *p)
{
    if (!p->in_place || p->shape.threads <= 1) return;
    if (p->shape.mode == DYNC__PTX_COLUMNS || p->shape.threads > 32)
        dync__ptx_line(p, "bar.sync 0");
    else
        dync__ptx_line(p, "bar.warp.sync 0xffffffff");
}

static void dync__ptx_phase(dync__ptx *p, int phase)
{
    const dync__ptx_shape *s = &p->shape;
    bool any = false;
    for (int i = 0; i < p->k->inst.n; i++)
        any |= p->needed[i] && dync__ptx_inst(p, i)->section == 2 * phase + 1;
    if (!any) return;
    const char *start = s->splits > 1 ? "%start" : NULL;
    char base[24], label[24], done[24];
    p->phase = phase;
    p->vec = s->vec;
    p->groups = s->groups;
    dync__ptx_reduce_begin(p);
    if (s->inner == 0) {
        for (int i = 0; i < p->k->inst.n; i++)
            if (dync__ptx_inst(p, i)->prim == DYNC__P_reduce &&
                dync__ptx_inst(p, i)->section == 2 * phase + 1)
                p->where[i] = 0;
    } else if (s->iterations == 1) {
        if (p->block == 0) {
            p->block = 1;
            dync__ptx_positions(p, start);
        }
        dync__ptx_section(p, 2 * phase + 1);
    } else {
        p->block++;
        dync__format(base, sizeof base, "%%base%d", p->block);
        dync__format(label, sizeof label, "TURN%d", p->block);
        dync__format(done, sizeof done, "%%more%d", p->block);
        dync__ptx_reg(p, p->index, base);
        dync__ptx_reg(p, "pred", done);
        dync__ptx_line(p, "mov.%s %s, %s", p->index, base, start ? start : "0");
        dync__str_addf(&p->body, "%s:\n", label);
        dync__ptx_positions(p, base);
        dync__ptx_section(p, 2 * phase + 1);
        dync__ptx_line(p, "add.%s %s, %s, %lld", p->index, base, base,
                       (long long)(s->groups * s->threads * s->vec));
        if (s->splits > 1)
            dync__ptx_line(p, "setp.lt.%s %s, %s, %%stop", p->index, done, base);
        else
            dync__ptx_line(p, "setp.lt.%s %s, %s, %lld", p->index, done, base, (long long)s->inner);
        dync__ptx_line(p, "@%s bra %s", done, label);
        p->block++;
    }
    dync__ptx_reduce_end(p, phase);
    if (phase + 1 < p->n_phases) dync__ptx_row_barrier(p);
}

/* p->needed of `all`: what a phase of a split kernel stores and reduces, or (phase n_phases) what
 * row code stores, and what that takes; reductions of phases before come from the scratch memory.
 * False: nothing. */
static bool dync__ptx_launch_needs(dync__ptx *p, const uint8_t *all, int phase)
{
    bool any = false;
    memset(p->needed, 0, (size_t)p->k->inst.n);
    for (int i = p->k->inst.n - 1; i >= 0; i--) {
        const dync__inst *in = dync__ptx_inst(p, i);
        bool stores = !dync__inst_has_value(in), reduces = in->prim == DYNC__P_reduce,
             here = in->section == 2 * phase + 1;
        if (all[i] &&
            (phase == p->n_phases ? stores && !(in->section & 1) : here && (stores || reduces)))
            p->needed[i] = any = true;
        for (int a = 0; a < dync__prim_info(in->prim)->n_args && (here || !reduces); a++)
            p->needed[in->arg[a]] |= p->needed[i];
    }
    return any;
}

/* Each phase is a launch, and so is row code where it stores: a row to a warp, or where there are
 * many to a thread. */
static void dync__ptx_split(dync__ptx *p, dync__ptx_text *out)
{
    dync__ptx_shape *s = &p->shape;
    const uint8_t *all = dync__arena_copy(p->arena, p->needed, (size_t)p->k->inst.n + 1);
    p->failed |= !all;
    out->scratch_bytes = dync__ptx_partial_bytes(p);
    for (int phase = 0; all && phase <= p->n_phases; phase++) {
        if (!dync__ptx_launch_needs(p, all, phase)) continue;
        p->stage = phase < p->n_phases ? 1 : 2;
        if (p->stage == 2) {
            s->mode = DYNC__PTX_ROWS;
            s->threads = s->rows >= 4096 ? 1 : 32;
            s->block = 128;
            s->rows_per_block = (int)(128 / s->threads);
            s->iterations = 2;
        }
        dync__ptx_open(p);
        p->phase = phase;
        if (p->uses_random) dync__ptx_open_random(p);
        dync__ptx_row_begin(p);
        if (phase) dync__ptx_partials_load(p);
        for (int before = 0; before <= phase; before++) dync__ptx_section(p, 2 * before);
        if (p->stage == 1) {
            dync__ptx_phase(p, phase);
            dync__ptx_partials_store(p);
        }
        dync__ptx_close(p, out, (s->rows + s->rows_per_block - 1) / s->rows_per_block,
                        p->stage == 1 ? s->splits : 1, s->block);
    }
}

static void dync__ptx_rows(dync__ptx *p, dync__ptx_text *out)
{
    const dync__ptx_shape *s = &p->shape;
    if (s->splits > 1) {
        dync__ptx_split(p, out);
        return;
    }
    dync__ptx_open(p);
    if (p->uses_random) dync__ptx_open_random(p);
    dync__ptx_row_begin(p);
    for (int ph = 0; ph < p->n_phases; ph++) {
        dync__ptx_section(p, 2 * ph);
        dync__ptx_phase(p, ph);
    }
    dync__ptx_section(p, 2 * p->n_phases);
    dync__ptx_close(p, out, (s->rows + s->rows_per_block - 1) / s->rows_per_block, 1, s->block);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void dync__ptx_mark(dync__ptx *p)
{
    const dync__kernel *k = p->k;
    for (int i = k->inst.n - 1; i >= 0; i--) {
        const dync__inst *in = dync__ptx_inst(p, i);
        if (!dync__inst_has_value(in)) p->needed[i] = 1;
        if (in->prim == DYNC__P_random && p->needed[i]) p->uses_random = true;
        for (int a = 0; a < dync__prim_info(in->prim)->n_args; a++)
            p->needed[in->arg[a]] |= p->needed[i];
        p->n_phases = DYNC__MAX(p->n_phases, (in->section + 1) / 2);
    }
    p->n_phases = DYNC__MAX(p->n_phases, 1);
    for (int i = 0; i < k->buf.n; i++)
        p->in_place |= k->buf.at[i].mode == (DYNC__BUF_IN | DYNC__BUF_OUT);
}

/* Does not vary along the row; or along its last loop. */
static void dync__ptx_mark_uniform(dync__ptx *p)
{
    const dync__kernel *k = p->k;
    int first = dync__ptx_first_inner(p);
    for (int i = 0; i < k->inst.n; i++) {
        const dync__inst *in = dync__ptx_inst(p, i);
        int level = 2;
        if (dync__ptx_is_row(p, in)) {
            p->uniform[i] = 2;
            continue;
        }
        for (int a = 0; a < dync__prim_info(in->prim)->n_args; a++)
            level = DYNC__MIN(level, p->uniform[in->arg[a]]);
        for (int d = first; in->access >= 0 && d < k->n_dims; d++)
            if (k->access.at[in->access].stride[d] != 0 && k->extent[d] > 1)
                level = DYNC__MIN(level, d == k->n_dims - 1 ? 0 : 1);
        if (in->prim == DYNC__P_reduce) level = 2;
        p->uniform[i] = (uint8_t)(dync__inst_has_value(in) ? level : 0);
    }
}

/* ---- pieces ---------------------------------------------------------------------------------- */

DYNC__FN bool dync__ptx_piece_begin(dync__ptx *p, dync__arena *arena, const dync__kernel *k,
                                    const bool *host, int64_t columns, bool scalar)
{
    size_t n = (size_t)k->inst.n + 1;
    p->arena = arena;
    p->k = k;
    p->host = host;
    p->needed = dync__arena_alloc(arena, 2 * n);
    p->where = dync__arena_alloc(arena, n * sizeof *p->where);
    if (!p->needed || !p->where) return false;
    p->uniform = p->needed + n;
    for (int i = 0; i < k->inst.n; i++) p->where[i] = -1;
    dync__ptx_mark(p);
    dync__ptx_plan(p, 0, scalar);
    if (columns % p->shape.vec) {
        p->n_checks = 0;
        dync__ptx_plan(p, 0, true);
    }
    p->shape.guarded = false;
    p->shape.groups = p->groups = 1;
    p->vec = p->shape.vec;
    dync__ptx_mark_uniform(p);
    p->index = p->shape.wide ? "u64" : "u32";
    return p->shape.mode == DYNC__PTX_FLAT && !p->uses_random;
}

DYNC__FN void dync__ptx_piece(dync__ptx *p, const char *linear, int given, char value[][24])
{
    char suffix[24];
    dync__format(suffix, sizeof suffix, "_0b%d", ++p->block);
    dync__ptx_coordinates(p, 0, p->k->n_dims, linear, "i", suffix);
    for (int i = 0; i < p->k->inst.n; i++) {
        const dync__inst *in = dync__ptx_inst(p, i);
        if (in->prim != DYNC__P_load || in->buf != given || !p->needed[i]) continue;
        p->where[i] = p->block;
        for (int lane = 0; lane < dync__ptx_lanes(p, i); lane++)
            if (dync__ptx_lane(p, i, lane) == lane)
                dync__ptx_line(p, "mov.%s %s, %s", dync__ptx_bits(in->type),
                               dync__ptx_dest(p, i, lane), value[lane]);
    }
    for (int section = 0; section <= 2 * p->n_phases; section++) dync__ptx_section(p, section);
}

/* What a piece loads from memory; the rest is in main memory. */
static bool dync__ptx_piece_loads(dync__ptx *p, int i)
{
    const dync__inst *in = dync__ptx_inst(p, i);
    return in->prim == DYNC__P_load && p->needed[i] && !p->host[in->buf];
}

DYNC__FN int dync__ptx_piece_load(dync__ptx *p, const char *linear)
{
    char suffix[24];
    dync__format(suffix, sizeof suffix, "_0b%d", ++p->block);
    dync__ptx_coordinates(p, 0, p->k->n_dims, linear, "i", suffix);
    p->raw = 1;
    for (int i = 0; i < p->k->inst.n; i++) {
        if (!dync__ptx_piece_loads(p, i)) continue;
        p->where[i] = p->block;
        dync__ptx_load(p, i);
    }
    p->raw = 0;
    return p->block;
}

DYNC__FN void dync__ptx_piece_value(dync__ptx *p, int loaded, char value[][40])
{
    int last = p->block;
    p->block = loaded;
    p->raw = 2;
    for (int i = 0; i < p->k->inst.n; i++) {
        if (!dync__ptx_piece_loads(p, i)) continue;
        p->where[i] = loaded;
        dync__ptx_load(p, i);
    }
    p->raw = 0;
    dync__ptx_emit(p, p->taken - 1);
    for (int lane = 0; lane < p->vec; lane++)
        dync__format(value[lane], sizeof value[lane], "%s",
                     dync__ptx_in_reg(p, dync__ptx_inst(p, p->taken - 1)->arg[0], lane));
    p->block = last;
}

DYNC__FN void dync__ptx_header(dync__str *s, const char *target)
{
    dync__str_addf(s, ".version %s\n.target %s\n.address_size 64\n",
                   strcmp(target, "sm_90a") == 0 ? "8.0" : "7.1", target);
}

DYNC__FN dync_status dync__ptx_kernel(const dync__kernel *kernel, const bool *host, int units,
                                      bool scalar, dync__ptx_text *out)
{
    dync__arena arena = {0};
    dync__ptx p;
    memset(&p, 0, sizeof p);
    memset(out, 0, sizeof *out);
    p.arena = &arena;
    p.k = dync__kernel_expand(&arena, kernel, false);
    p.host = host;
    size_t n = p.k ? (size_t)p.k->inst.n + 1 : 0;
    p.needed = p.k ? dync__arena_alloc(&arena, 2 * n) : NULL;
    p.where = p.k ? dync__arena_alloc(&arena, n * sizeof *p.where) : NULL;
    dync_status status = p.needed && p.where ? DYNC_OK : DYNC_ERR_MEMORY;
    if (status == DYNC_OK) {
        p.uniform = p.needed + n;
        dync__ptx_mark(&p);
        dync__ptx_plan(&p, units, scalar);
        dync__ptx_mark_uniform(&p);
        dync__ptx_mark_pairs(&p);
        p.index = p.shape.wide ? "u64" : "u32";
        dync__str_addf(&out->text, "// %s: %lld rows of %lld\n", p.k->name, (long long)p.shape.rows,
                       (long long)p.shape.inner);
        dync__ptx_header(&out->text, "sm_80");
        out->is_vector = p.shape.vec > 1;
        if (p.shape.mode == DYNC__PTX_FLAT)
            dync__ptx_flat(&p, out, units);
        else
            dync__ptx_rows(&p, out);
        out->random = p.uses_random;
        out->n_checks = p.n_checks;
        memcpy(out->check, p.check, sizeof p.check);
        if (p.unsupported)
            status = dync__fail(
                DYNC_ERR_UNSUPPORTED,
                "kernel %s: a row that is written while it is read is too long for a GPU block",
                p.k->name);
        else if (p.failed || out->text.failed)
            status = dync__fail_memory(0);
    }
    dync__str_free(&p.body);
    dync__str_free(&p.regs);
    dync__arena_free(&arena);
    if (status != DYNC_OK) dync__str_free(&out->text);
    return status;
}
