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

enum { DYNC__CODE_NUMBERS = 8 };
/* What tells how long a run takes. In code of symbolic sizes it stays with the code, and sizes are
 * places whose values are `at`. */
typedef struct dync__code_work {
    dync__code_length length;
    size_t bytes; /* with the buffers of a copy */
    dync__buf *buf;
    /* constants that sizes decide: bits of a real number, or a size, and the type; the code reads
     * number i from buffer n_bufs + i */
    int n_numbers;
    int64_t number[DYNC__CODE_NUMBERS];
    uint8_t type[DYNC__CODE_NUMBERS];
} dync__code_work;

/* Whatever the types of its buffers are. */
DYNC__OFTEN static bool dync__code_is_near(const dync__code_length *l, int64_t indices)
{
    return (double)indices * l->n_bufs < DYNC__FAR_BYTES / 16;
}

/* Nanoseconds that one thread waits for what lies beyond the second-level cache; each buffer passes
 * once. */
DYNC__OFTEN static double dync__code_memory_ns(const dync__code_work *w, const int64_t *at)
{
    double bytes = 0;
    int64_t n = dync__sz_placed(at, w->length.indices);
    if (dync__code_is_near(&w->length, n)) return 0;
    for (int i = 0; i < w->length.n_bufs; i++) {
        const dync__buf *buf = &w->buf[i];
        int64_t size = dync__sz_placed(at, buf->size);
        bytes +=
            (double)((size >= 0 ? DYNC__MIN(size, n) : n) * dync__dtype_info(buf->dtype)->bytes);
    }
    return bytes < DYNC__FAR_BYTES ? 0 : bytes / DYNC__FAR_PER_NS;
}

/* What the interpreter takes: a step for each instruction of the phases, so many lanes at once. */
DYNC__OFTEN static double dync__code_steps_ns(const dync__code_length *l, int64_t indices)
{
    static const int lanes[] = {6, 12, 24};
    return (double)indices * l->steps / lanes[l->isa];
}

DYNC__OFTEN static double dync__code_ns(const dync__code_work *w, const int64_t *at)
{
    int64_t indices = dync__sz_placed(at, w->length.indices);
    return DYNC__MAX(dync__code_steps_ns(&w->length, indices) / 2.5, dync__code_memory_ns(w, at));
}

static int dync__code_steps(const dync__loop_plan *p)
{
    int steps = 1;
    for (int i = 0; i < p->k->inst.n; i++) {
        int prim = dync__lp_inst(p, i)->prim, list = dync__lp_list(p, i);
        if (!p->needed[i] || list < 2 || list % 2 || prim == DYNC__P_const_ ||
            prim == DYNC__P_bitcast)
            continue;
        steps += prim == DYNC__P_loadx || prim == DYNC__P_storex ? 2 : 1;
    }
    return steps;
}

static bool dync__code_stores_rows(const dync__loop_plan *p)
{
    for (int i = 0; i < p->k->inst.n; i++)
        if (p->needed[i] && dync__lp_inst(p, i)->prim == DYNC__P_store && dync__lp_list(p, i) % 2)
            return true;
    return false;
}

static dync__code *dync__code_begin(dync__loop_plan *p, int isa, dync__code_work *w)
{
    size_t name = strlen(p->k->name) + 1;
    dync__code *c = dync__calloc(sizeof *c + name);
    if (!c) return NULL;
    memcpy(c->name, p->k->name, name);
    dync__lp_cut(p);
    c->empty = p->n_rows == 0;
    c->has_reduce = p->has_reduce;
    c->stores_rows = dync__code_stores_rows(p);
    *w = (dync__code_work){.length = {.indices = dync__sz_mul(p->n_rows, p->n_inner),
                                      .steps = dync__code_steps(p),
                                      .isa = isa,
                                      .n_bufs = p->k->buf.n},
                           .buf = p->k->buf.at};
    return c;
}

static dync__code *dync__code_make(dync__loop_plan *p, int isa, bool jit)
{
    dync__code_work w;
    dync__code *c = dync__code_begin(p, isa, &w);
    if (!c) return NULL;
    if (!DYNC__LEFT_OUT(DYNC_NO_THREADS)) c->ns = dync__code_steps_ns(&w.length, w.length.indices);
    if (jit) c->jit = dync__jit_new(p, isa);
    if (c->jit)
        c->ns = dync__code_ns(&w, NULL);
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
    p.tiles = p.transposes && jit && !k->in_parts;
    const dync__kernel *expanded = k->failed ? k : dync__kernel_expand(&arena, k, true);
    dync__code *code = NULL;
    if (expanded && dync__lp_begin(&p, expanded, &arena)) code = dync__code_make(&p, isa, jit);
    dync__arena_free(&arena);
    return code;
}

DYNC__FN bool dync__code_few_registers(void)
{
    const dync__target *t = dync__target_now();
    return t && t->n_vectors < 32;
}

DYNC__FN dync__code *dync__code_new(const dync__kernel *k)
{
    return dync__code_new_for(k, dync__target_level(), true);
}

/* ---- of all sizes ---------------------------------------------------------------------------- */
static bool dync__code_can_be_sized(const dync__kernel *k)
{
    int numbers = 0;
    for (int i = 0; i < k->inst.n; i++) {
        const dync__inst *in = &k->inst.at[i];
        if (in->prim == DYNC__P_storex) return false;
        if (dync__inst_is_sized(in) && (in->type == DYNC_BOOL || ++numbers > DYNC__CODE_NUMBERS))
            return false;
    }
    return !k->failed;
}

/* The kernel with loads in place of constants that sizes decide; NULL: no memory. */
static const dync__kernel *dync__code_numbers(dync__arena *arena, const dync__kernel *from,
                                              dync__code_work *w)
{
    bool any = false;
    for (int i = 0; i < from->inst.n; i++) any |= dync__inst_is_sized(&from->inst.at[i]);
    if (!any) return from;
    dync__kernel *k = dync__arena_copy(arena, from, sizeof *k);
    if (!k) return NULL;
    k->arena = arena;
    memset(&k->share, 0, sizeof k->share);
    k->inst.at = dync__arena_copy(arena, from->inst.at, (size_t)from->inst.n * sizeof *k->inst.at);
    k->access.at = NULL;
    k->buf.at = NULL;
    k->access.n = k->access.cap = k->buf.n = k->buf.cap = 0;
    bool ok = k->inst.at != NULL;
    for (int i = 0; ok && i < from->access.n; i++)
        ok = dync__avec_push(arena, &k->access, from->access.at[i]);
    for (int i = 0; ok && i < from->buf.n; i++)
        ok = dync__avec_push(arena, &k->buf, from->buf.at[i]);
    const dync__access here = {0};
    if (!ok || !dync__avec_push(arena, &k->access, here)) return NULL;
    for (int i = 0; i < k->inst.n; i++) {
        dync__inst *in = &k->inst.at[i];
        if (!dync__inst_is_sized(in)) continue;
        const dync__buf buf = {
            .id = INT32_MAX - i, .dtype = in->type, .mode = DYNC__BUF_IN, .size = 1};
        w->number[w->n_numbers] = in->imm.i;
        w->type[w->n_numbers++] = in->type;
        in->prim = DYNC__P_load;
        in->imm.i = 0;
        in->buf = k->buf.n;
        in->access = k->access.n - 1;
        if (!dync__avec_push(arena, &k->buf, buf)) return NULL;
    }
    return k;
}

static dync__code_work *dync__code_work_keep(const dync__code_work *from)
{
    size_t bytes = sizeof *from + (size_t)from->length.n_bufs * sizeof *from->buf;
    dync__code_work *w = dync__alloc(bytes);
    if (!w) return NULL;
    *w = *from;
    w->bytes = bytes;
    w->buf = (dync__buf *)(void *)(w + 1);
    memcpy(w->buf, from->buf, (size_t)from->length.n_bufs * sizeof *w->buf);
    return w;
}

static dync__code *dync__code_make_sized(dync__loop_plan *p, const dync__code_work *numbers)
{
    dync__code_work w;
    dync__code *c = dync__code_begin(p, dync__target_level(), &w);
    if (!c) return NULL;
    w.n_numbers = numbers->n_numbers;
    w.length.n_bufs -= w.n_numbers;
    memcpy(w.number, numbers->number, sizeof w.number);
    memcpy(w.type, numbers->type, sizeof w.type);
    c->work = dync__code_work_keep(&w);
    c->jit = c->work ? dync__jit_new(p, w.length.isa) : NULL;
    if (c->jit && !c->empty && dync__jit_is_shared(c->jit)) return c;
    dync__code_free(c);
    return NULL;
}

DYNC__FN dync__code *dync__code_sized(const dync__kernel *k)
{
    dync__arena arena = {0};
    dync__loop_plan p = {0};
    p.transposes = true;
    p.tiles = !k->in_parts;
    dync__code_work w = {0};
    const dync__kernel *expanded = k->failed ? NULL : dync__kernel_expand(&arena, k, true);
    if (expanded) /* rows by an index have bounds, which sizes may decide */
        expanded = dync__code_can_be_sized(expanded) ? dync__code_numbers(&arena, expanded, &w)
                                                     : NULL;
    dync__code *code = NULL;
    if (expanded && dync__lp_begin(&p, expanded, &arena)) code = dync__code_make_sized(&p, &w);
    dync__arena_free(&arena);
    return code;
}

DYNC__FN void dync__code_map(dync__code *c, const dync__sz_map *m)
{
    dync__code_work *w = c->work;
    if (!w) return; /* it has numbers */
    dync__sz_map_to(m, &w->length.indices);
    for (int i = 0; i < w->length.n_bufs; i++) dync__sz_map_to(m, &w->buf[i].size);
    for (int i = 0; m->list && i < w->n_numbers; i++)
        w->number[i] = dync__sz_list_put(m->list, w->number[i]);
    dync__jit_map(c->jit, m);
}

/* Number i as its type has it. */
DYNC__OFTEN static int64_t dync__code_number(const dync__code_work *w, int i, const int64_t *at)
{
    int64_t word = dync__sz_placed(at, w->number[i]);
    float narrow = (float)dync__sf_double(word);
    int32_t less = (int32_t)word; /* as a constant's */
    if (w->type[i] == DYNC_F32) memcpy(&word, &narrow, sizeof narrow);
    if (w->type[i] == DYNC_I32) memcpy(&word, &less, sizeof less);
    return word;
}

DYNC__FN dync__code *dync__code_lay(const dync__code *from, dync__sz_image *im)
{
    dync__code *c = from->jit ? dync__sz_image_put(im, from, sizeof *from + strlen(from->name) + 1)
                              : NULL;
    if (!c) return NULL;
    c->lent = true;
    c->work = NULL;
    c->settles = DYNC__CODE_SETTLES_NOTHING;
    if (from->work) {
        const dync__sz_map map = {NULL, im};
        c->settles = from->work->n_numbers || dync__jit_settles(from->jit)
                         ? DYNC__CODE_SETTLES_MORE
                         : DYNC__CODE_SETTLES_TIME;
        c->length = from->work->length;
        dync__sz_map_to(&map, &c->length.indices);
    }
    c->jit = dync__jit_lay(from->jit, from->work ? from->work->n_numbers : 0, im);
    dync__sz_image_link(im, &c->jit);
    return c->jit ? c : NULL;
}

DYNC__OFTEN DYNC__FN void dync__code_settle(dync__code *c, dync__code *const *from,
                                            const int64_t *at)
{
    int64_t number[DYNC__CODE_NUMBERS], indices = c->length.indices;
    if (c->settles == DYNC__CODE_SETTLES_NOTHING) return; /* it has numbers */
    if (c->settles == DYNC__CODE_SETTLES_TIME && dync__code_is_near(&c->length, indices)) {
        c->ns = dync__code_steps_ns(&c->length, indices) / 2.5;
        return;
    }
    const dync__code_work *w = (*from)->work;
    c->ns = dync__code_ns(w, at);
    for (int i = 0; i < w->n_numbers; i++) number[i] = dync__code_number(w, i, at);
    dync__jit_settle(c->jit, w->length.n_bufs, w->n_numbers, number);
}

DYNC__FN bool dync__code_same(const dync__code *x, const dync__code *y)
{
    return x->ns == y->ns && x->empty == y->empty && x->has_reduce == y->has_reduce &&
           x->stores_rows == y->stores_rows && !x->jit == !y->jit &&
           (!x->jit || dync__jit_same(x->jit, y->jit));
}

/* Pieces of blocks: the last block may have one row or column, by numbers a loop that is none. */
DYNC__FN bool dync__code_piece_same(const dync__code *x, const dync__code *y)
{
    return dync__code_same(x, y) || (x->jit && y->jit && dync__jit_is_single(y->jit));
}

DYNC__FN void dync__code_free(dync__code *c)
{
    if (!c || c->lent) return;
    dync__jit_free(c->jit);
    if (c->work) dync__free(c->work, c->work->bytes);
    dync__interp_free(c->interp);
    dync__free(c, sizeof *c + strlen(c->name) + 1);
}

DYNC__FN int64_t dync__code_bytes(const dync__code *c, dync__map *counted)
{
    return c->jit ? dync__jit_code_bytes(c->jit, counted) : 0;
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
