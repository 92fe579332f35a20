/* codegen/code.c: a kernel becomes something that runs. Before: loop/; after: runtime/run.c and the
 * kernels that run pieces.
 *
 * The kernel is expanded to what generators know, its loops are planned (plan_loops.c), and the
 * target makes machine code of it (jit.c); the tile interpreter's steps (interp.c) are made only
 * where it does not. */
#include "../dync.in.h"
#include "code.h"
#include "interp.h"
#include "jit.h"
DYNC__COLD

/* ---- making ---------------------------------------------------------------------------------- */

/* Nanoseconds that one thread waits for what lies beyond the second-level cache, at 50 GB/s; each
 * buffer passes once. */
static double dync__code_memory_ns(const dync__loop_plan *p)
{
    double bytes = 0;
    for (int i = 0; i < p->k->buf.n; i++) {
        const dync__buf *buf = &p->k->buf.at[i];
        int64_t n = p->n_rows * p->n_inner;
        bytes += (double)((buf->size >= 0 ? DYNC__MIN(buf->size, n) : n) *
                          dync__dtype_info(buf->dtype)->bytes);
    }
    return bytes < 1 << 20 ? 0 : bytes / 50;
}

/* What the interpreter takes: a step for each instruction of the phases, so many lanes at once. */
static double dync__code_steps_ns(const dync__loop_plan *p, int isa)
{
    static const int lanes[] = {6, 12, 24};
    int steps = 1;
    for (int i = 0; i < p->k->inst.n; i++) {
        int prim = dync__lp_inst(p, i)->prim, list = dync__lp_list(p, i);
        if (!p->needed[i] || list < 2 || list % 2 || prim == DYNC__P_const_ ||
            prim == DYNC__P_bitcast)
            continue;
        steps += prim == DYNC__P_loadx || prim == DYNC__P_storex ? 2 : 1;
    }
    return (double)(p->n_rows * p->n_inner) * steps / lanes[isa];
}

static bool dync__code_stores_rows(const dync__loop_plan *p)
{
    for (int i = 0; i < p->k->inst.n; i++)
        if (p->needed[i] && dync__lp_inst(p, i)->prim == DYNC__P_store && dync__lp_list(p, i) % 2)
            return true;
    return false;
}

static dync__code *dync__code_make(dync__loop_plan *p, int isa, bool jit)
{
    size_t name = strlen(p->k->name) + 1;
    dync__code *c = dync__calloc(sizeof *c + name);
    if (!c) return NULL;
    memcpy(c->name, p->k->name, name);
    dync__lp_cut(p);
    c->empty = p->n_rows == 0;
    c->has_reduce = p->has_reduce;
    c->stores_rows = dync__code_stores_rows(p);
    c->ns = dync__code_steps_ns(p, isa);
    if (jit) c->jit = dync__jit_new(p, isa);
    if (c->jit)
        c->ns = DYNC__MAX(c->ns / 2.5, dync__code_memory_ns(p));
    else
        c->interp = dync__interp_new(p, isa);
    if (c->jit || c->interp) return c;
    dync__code_free(c);
    return NULL;
}

DYNC__FN dync__code *dync__code_new_for(const dync__kernel *k, int isa, bool jit)
{
    dync__arena arena = {0};
    dync__loop_plan p = {0};
    p.transposes = DYNC__JIT && isa != 0;
    const dync__kernel *expanded = k->failed ? k : dync__kernel_expand(&arena, k, true);
    dync__code *code = NULL;
    if (expanded && dync__lp_begin(&p, expanded, &arena)) code = dync__code_make(&p, isa, jit);
    dync__arena_free(&arena);
    return code;
}

DYNC__FN dync__code *dync__code_new(const dync__kernel *k)
{
    return dync__code_new_for(k, dync__target_level(), true);
}

DYNC__FN void dync__code_free(dync__code *c)
{
    if (!c) return;
    dync__jit_free(c->jit);
    dync__interp_free(c->interp);
    dync__free(c, sizeof *c + strlen(c->name) + 1);
}

DYNC__FN int64_t dync__code_bytes(const dync__code *c)
{
    return c->jit ? dync__jit_code_bytes(c->jit) : 0;
}

DYNC__FN void dync__code_dump(dync__str *out, const dync__code *c)
{
    dync__str_addf(out, "code %s:", c->name);
    if (c->jit) {
        dync__str_add(out, "\n");
        dync__jit_dump(out, c->jit);
    } else {
        dync__interp_dump(out, c->interp);
    }
}

/* ---- running --------------------------------------------------------------------------------- */

DYNC__OFTEN DYNC__FN dync_status dync__code_run(const dync__code *c, void *const *buffers,
                                                uint64_t rng_seed, uint64_t rng_offset)
{
    const uint64_t rng[2] = {rng_seed, rng_offset};
    if (c->empty) return DYNC_OK;
    return c->jit ? dync__jit_run(c, buffers, rng) : dync__interp_run(c, buffers, rng);
}
