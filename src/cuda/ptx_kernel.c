/* cuda/ptx_kernel.c: a loop kernel as PTX: one element a thread, or rows over a block, and pieces
 * that other texts call. After ptx.c, before parts.c. */
#include "../dync.in.h"
#include "ptx.h"
DYNC__COLD

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
