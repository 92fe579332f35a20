/* runtime/tables.c: small tables that no argument reaches (kept.c) are computed here, index by
 * index, before fusion looks at the steps that make them: places and weights of a resized row are
 * ten loops over a few numbers each, and merging them into a loop that reads them takes longer
 * than all these numbers. After kept.c, before pass.c.
 *
 * What is cheap to compute where it is read (a constant, a row of whole numbers) is no table. */
#include "../dync.in.h"
#include "plan.h"
DYNC__LEAN

#if !DYNC__KEPT_NONE
/* By slot. */
typedef struct dync__table {
    char *data;          /* its elements, as far as they are known; NULL: they will not be */
    int writers;         /* steps that write it and are not computed */
    int cost;            /* of an element, with all that goes into it; additions */
    bool wanted, called; /* by steps that stay; by kernel calls among them */
} dync__table;
typedef struct dync__tables {
    dync__steps *s;
    const bool *once;
    dync__table *of;
    bool *done; /* by step: computed */
} dync__tables;

/* One pass over one index after another, short enough: no reduction, no scatter, no gather. */
static bool dync__table_is_simple(const dync__kernel *k)
{
    int64_t n = k->inst.n;
    for (int d = 0; d < k->n_dims; d++)
        if (!dync__mul_ok(n, k->extent[d], &n) || n > DYNC__TABLE_MOST) return false;
    for (int i = 0; i < k->inst.n; i++) {
        int prim = k->inst.at[i].prim;
        if (k->inst.at[i].section != k->inst.at[0].section || !(k->inst.at[i].section & 1) ||
            (!dync__prim_is_pure(prim) && prim != DYNC__P_const_ && prim != DYNC__P_index &&
             prim != DYNC__P_load && prim != DYNC__P_store))
            return false;
    }
    return n > 0 && !k->bound.n && !k->ordered;
}

static dync__scalar dync__table_load(const char *p, int dtype)
{
    int type = dync__dtype_info(dtype)->compute;
    dync__scalar x;
    memset(&x, 0, sizeof x);
    if (type == DYNC_F32)
        x.f = (float)dync__load_f64(p, dtype);
    else if (type == DYNC_F64)
        x.d = dync__load_f64(p, dtype);
    else
        x.i = dync__load_i64(p, dtype);
    return x;
}

static void dync__table_store(char *p, int dtype, dync__scalar x)
{
    int type = dync__dtype_info(dtype)->compute;
    if (type == DYNC_F32)
        dync__store_f64(p, dtype, (double)x.f);
    else if (type == DYNC_F64)
        dync__store_f64(p, dtype, x.d);
    else
        dync__store_i64(p, dtype, x.i);
}

/* The instructions of k at one index; base: of its buffers. */
static void dync__table_index(const dync__kernel *k, char *const *base, const int64_t *index,
                              dync__scalar *value)
{
    for (int i = 0; i < k->inst.n; i++) {
        const dync__inst *in = &k->inst.at[i];
        dync__scalar arg[3];
        int64_t at = 0;
        memset(arg, 0, sizeof arg);
        for (int a = 0; a < 3; a++)
            if (in->arg[a] >= 0) arg[a] = value[in->arg[a]];
        if (in->access >= 0) {
            const dync__access *access = &k->access.at[in->access];
            at = access->offset;
            for (int d = 0; d < k->n_dims; d++) at += access->stride[d] * index[d];
        }
        int dtype = in->buf >= 0 ? k->buf.at[in->buf].dtype : 0;
        char *p = in->buf >= 0 ? base[in->buf] + at * dync__dtype_info(dtype)->bytes : NULL;
        int of = in->arg[in->prim == DYNC__P_select];
        switch (in->prim) {
        case DYNC__P_const_: value[i] = dync__const_scalar(in); break;
        case DYNC__P_index: value[i].i = at; break;
        case DYNC__P_load: value[i] = dync__table_load(p, dtype); break;
        case DYNC__P_store: dync__table_store(p, dtype, arg[0]); break;
        default:
            value[i] = dync__prim_eval(in->prim, in->type, k->inst.at[of].type, arg[0], arg[1],
                                       arg[2], in->imm.i);
        }
    }
}

/* Computes the kernel of step i, if all that it reads is known. false: no memory. */
static bool dync__table_make(dync__tables *t, int i)
{
    const dync__kernel *k = t->s->at[i].k;
    dync__arena *arena = t->s->pb->arena;
    int64_t index[DYNC__LOOP_MAX_DIMS] = {0};
    int cost = 0;
    for (int b = 0; b < k->buf.n; b++) {
        const dync__table *x = &t->of[k->buf.at[b].id];
        if (!t->once[k->buf.at[b].id]) return true;
        if (k->buf.at[b].mode == DYNC__BUF_OUT) continue;
        if (k->buf.at[b].mode != DYNC__BUF_IN || !x->data || x->writers) return true;
        cost = DYNC__MIN(cost + x->cost, 1 << 20);
    }
    if (!dync__table_is_simple(k)) return true;
    char **base = dync__arena_alloc(arena, ((size_t)k->buf.n + 1) * sizeof *base);
    dync__scalar *value = dync__arena_alloc(arena, ((size_t)k->inst.n + 1) * sizeof *value);
    if (!base || !value) return false;
    for (int b = 0; b < k->buf.n; b++) {
        dync__table *x = &t->of[k->buf.at[b].id];
        const dync__slot *slot = &t->s->pb->slot.at[k->buf.at[b].id];
        size_t bytes = (size_t)slot->size * (size_t)dync__dtype_info(slot->dtype)->bytes;
        if (!x->data && !(x->data = dync__arena_alloc(arena, bytes + 1))) return false;
        base[b] = x->data;
    }
    for (int d = k->n_dims - 1; d >= 0;) {
        dync__table_index(k, base, index, value);
        for (d = k->n_dims - 1; d >= 0 && ++index[d] == k->extent[d]; d--) index[d] = 0;
    }
    if (!k->n_dims) dync__table_index(k, base, index, value);
    for (int v = 0; v < k->inst.n; v++) cost += dync__cost_inst(&k->inst.at[v]);
    for (int b = 0; b < k->buf.n; b++)
        if (k->buf.at[b].mode & DYNC__BUF_OUT) {
            t->of[k->buf.at[b].id].writers--;
            t->of[k->buf.at[b].id].cost = cost;
        }
    return t->done[i] = true;
}

/* Is it known, and dearer than a load, or to be in memory anyway? */
static bool dync__table_stays(const dync__table *x)
{
    return x->wanted && x->data && !x->writers && (x->called || x->cost > DYNC__FUSE_CHEAP);
}

/* What step i reads is wanted. */
static void dync__table_want(dync__tables *t, int i)
{
    const dync__fuse_step *step = &t->s->at[i];
    const dync__kcall *call = step->k ? NULL : step->call;
    for (int b = 0; step->k && b < step->k->buf.n; b++)
        if (step->k->buf.at[b].mode & DYNC__BUF_IN) t->of[step->k->buf.at[b].id].wanted = true;
    for (int b = 0; call && b < call->n; b++) {
        dync__table *x = &t->of[call->operand[b].slot];
        if (!call->operand[b].written) x->wanted = x->called = true;
    }
}

/* Steps that are computed and make no more than tables go; last ones first, as readers stand
 * behind writers. */
static void dync__tables_settle(dync__tables *t)
{
    dync__steps *s = t->s;
    int kept = s->n;
    for (int i = s->n - 1; i >= 0; i--) {
        const dync__kernel *k = s->at[i].k;
        bool needed = !t->done[i];
        for (int b = 0; t->done[i] && b < k->buf.n; b++) {
            const dync__table *x = &t->of[k->buf.at[b].id];
            needed = needed ||
                     ((k->buf.at[b].mode & DYNC__BUF_OUT) && x->wanted && !dync__table_stays(x));
        }
        if (!needed) continue;
        dync__table_want(t, i);
        s->at[--kept] = s->at[i];
    }
    s->n -= kept;
    memmove(s->at, s->at + kept, (size_t)s->n * sizeof *s->at);
    for (int i = 0; i < s->pb->slot.n; i++) {
        if (!dync__table_stays(&t->of[i])) continue;
        s->pb->slot.at[i].kind = DYNC__SLOT_KEPT;
        s->pb->slot.at[i].table = t->of[i].data;
    }
}

DYNC__FN dync_status dync__steps_tables(dync__steps *s)
{
    dync__tables t = {.s = s};
    if (!s->opt->keeps || !dync__pass_on(DYNC__PASS_tables)) return DYNC_OK;
    if (!(t.once = dync__kept_slots(s->pb, s->at, s->n))) return DYNC_OK;
    t.of = dync__arena_alloc(s->pb->arena, ((size_t)s->pb->slot.n + 1) * sizeof *t.of);
    t.done = dync__arena_alloc(s->pb->arena, (size_t)s->n + 1);
    if (!t.of || !t.done) return DYNC_ERR_MEMORY;
    memset(t.of, 0, (size_t)s->pb->slot.n * sizeof *t.of);
    memset(t.done, 0, (size_t)s->n);
    for (int i = 0; i < s->n; i++)
        for (int b = 0; s->at[i].k && b < s->at[i].k->buf.n; b++)
            if (s->at[i].k->buf.at[b].mode & DYNC__BUF_OUT)
                t.of[s->at[i].k->buf.at[b].id].writers++;
    for (int i = 0; i < s->n; i++)
        if (s->at[i].k && !s->at[i].k->uses_random && !dync__table_make(&t, i))
            return DYNC_ERR_MEMORY;
    int before = s->n;
    dync__tables_settle(&t);
    if (s->n != before)
        dync__pass_log(DYNC__PASS_tables, dync__plan_options_name(s->opt), "%d steps, %d left",
                       before, s->n);
    return DYNC_OK;
}
#endif
