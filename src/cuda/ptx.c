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
 * before the statements. Sources: NVIDIA, PTX ISA 8.0. */
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

DYNC__FN void dync__ptx_coordinates(dync__ptx *p, int from, int to, const char *linear,
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

DYNC__FN int dync__ptx_first_inner(const dync__ptx *p)
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

DYNC__FN void dync__ptx_open(dync__ptx *p)
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

DYNC__FN void dync__ptx_open_random(dync__ptx *p)
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
    dync__ptx_line(p, "@%s ld.global.b64 %%seed, [%%rng]", has); /* else the parameter's */
    dync__ptx_line(p, "@%s ld.global.b64 %s, [%%rng+8]", has, more);
    dync__ptx_line(p, "add.s64 %%draw, %%draw, %s", more);
}

DYNC__FN void dync__ptx_close(dync__ptx *p, dync__ptx_text *out, int64_t gx, int64_t gy, int block)
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

DYNC__FN void dync__ptx_flat(dync__ptx *p, dync__ptx_text *out, int units)
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

DYNC__FN void dync__ptx_row_begin(dync__ptx *p)
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

DYNC__FN void dync__ptx_phase(dync__ptx *p, int phase)
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

DYNC__FN bool dync__ptx_launch_needs(dync__ptx *p, const uint8_t *all, int phase)
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
