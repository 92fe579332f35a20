/* inductor/control_run.c: the steps cond, scan and while_loop, run: which of their plans, how
 * often, over which memory. Carried values go back and forth between two places, the step's results
 * and scratch; slices of what is scanned and of what is stacked are read and written where they
 * lie: nothing is copied but a first and, of an odd number of rounds, a last carry. Before
 * control.c, which lowers the functions and prepares the steps. */
#include "../dync.in.h"
#include "control.h"
DYNC__COLD

static void *dync__ctl_data(const dync__kcall *k, void *const *data, int i)
{
    const dync__operand *o = &k->operand[i];
    char *at = data[i];
    return at ? at + o->lay.offset * (int64_t)dync__dtype_info(o->dtype)->bytes : NULL;
}

/* The tensor that operand i is, where it is an input of the plan around; or NULL. */
static struct dync__tensor *dync__ctl_tensor(const dync__kcall *k, int i)
{
    int input = k->operand[i].input;
    return input && dync__tls.plan_tensors ? dync__tls.plan_tensors[input - 1] : NULL;
}

static dync_status dync__ctl_round(const dync__ctl *w, int plan, const dync__ctl_tables *t,
                                   void *const *out, void *scratch)
{
    const dync__lowered *l = w->plan[plan];
    void *given[DYNC__CTL_RESULTS];
    for (int i = 0; i < l->n_storages; i++)
        given[i] = l->owner[i] < 0 ? (char *)scratch + w->spare[plan][i] : out[l->owner[i]];
    return dync__plan_run(l->plan, t->tensor, t->in, given);
}

DYNC__FN dync_status dync__ctl_cond(const dync__kcall *k, void *const *data, void *scratch)
{
    const dync__ctl *w = k->state;
    dync__ctl_tables t = dync__ctl_tables_at(w, scratch);
    void *out[DYNC__CTL_RESULTS];
    for (int i = 0; i < w->n_in; i++) {
        t.in[i] = dync__ctl_data(k, data, 1 + i);
        t.tensor[i] = dync__ctl_tensor(k, 1 + i);
    }
    for (int i = 0; i < w->n_out; i++) out[i] = dync__ctl_data(k, data, 1 + w->n_in + i);
    bool truth = *(const uint8_t *)dync__ctl_data(k, data, 0) != 0;
    return dync__ctl_round(w, !truth, &t, out, scratch);
}

/* Carried values: now and next, one of them the step's results, the other scratch. */
typedef struct dync__ctl_run {
    dync__ctl_tables t;
    void *out[DYNC__CTL_RESULTS];
    void *side[2][DYNC__CTL_RESULTS]; /* 0: results, 1: scratch */
    int now;
    void *scratch;
} dync__ctl_run;

static void dync__ctl_begin(dync__ctl_run *r, const dync__kcall *k, void *const *data,
                            void *scratch)
{
    const dync__ctl *w = k->state;
    int first_out = w->n_in + w->n_xs + w->n_more;
    r->t = dync__ctl_tables_at(w, scratch);
    for (int i = 0; i < first_out; i++) {
        r->t.in[i] = dync__ctl_data(k, data, i);
        r->t.tensor[i] = i < w->n_in + w->n_xs ? NULL : dync__ctl_tensor(k, i);
    }
    for (int i = 0; i < w->n_out; i++) r->out[i] = dync__ctl_data(k, data, first_out + i);
    for (int i = 0; i < w->n_in; i++) {
        r->side[0][i] = r->out[i];
        r->side[1][i] = (char *)scratch + w->place[i];
    }
    r->scratch = scratch;
    r->now = -1; /* still in the operands */
}

/* What the last round gave is what the next one takes. */
static dync_status dync__ctl_step(dync__ctl_run *r, const dync__ctl *w)
{
    int next = r->now == 0;
    for (int i = 0; i < w->n_in; i++) r->out[i] = r->side[next][i];
    DYNC__TRY(dync__ctl_round(w, 0, &r->t, r->out, r->scratch));
    for (int i = 0; i < w->n_in; i++) r->t.in[i] = r->side[next][i];
    r->now = next;
    return DYNC_OK;
}

static void dync__ctl_end(const dync__ctl_run *r, const dync__ctl *w)
{
    for (int i = 0; i < w->n_in; i++)
        if (r->t.in[i] != r->side[0][i] && w->bytes[i])
            memcpy(r->side[0][i], r->t.in[i], w->bytes[i]);
}

DYNC__FN dync_status dync__ctl_while(const dync__kcall *k, void *const *data, void *scratch)
{
    const dync__ctl *w = k->state;
    dync__ctl_run r;
    uint8_t on = 0;
    void *test[1] = {&on};
    dync__ctl_begin(&r, k, data, scratch);
    for (int64_t round = 0; w->most <= 0 || round < w->most; round++) {
        DYNC__TRY(dync__ctl_round(w, 1, &r.t, test, scratch));
        if (!on) break;
        DYNC__TRY(dync__ctl_step(&r, w));
    }
    dync__ctl_end(&r, w);
    return DYNC_OK;
}

DYNC__FN dync_status dync__ctl_scan(const dync__kcall *k, void *const *data, void *scratch)
{
    const dync__ctl *w = k->state;
    dync__ctl_run r;
    char *y[DYNC__CTL_RESULTS];
    dync__ctl_begin(&r, k, data, scratch);
    for (int i = 0; i < w->n_xs; i++) r.t.xs[i] = r.t.in[w->n_in + i];
    for (int i = w->n_in; i < w->n_out; i++) y[i] = r.out[i];
    for (int64_t t = 0; t < w->length; t++) {
        size_t at = (size_t)(w->reverse ? w->length - 1 - t : t);
        for (int i = 0; i < w->n_xs; i++)
            r.t.in[w->n_in + i] = (char *)r.t.xs[i] + (w->x_bytes[i] ? at * w->x_bytes[i] : 0);
        for (int i = w->n_in; i < w->n_out; i++)
            r.out[i] = w->bytes[i] ? y[i] + at * w->bytes[i] : y[i];
        DYNC__TRY(dync__ctl_step(&r, w));
    }
    dync__ctl_end(&r, w);
    return DYNC_OK;
}
