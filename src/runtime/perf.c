/* runtime/perf.c: DYNC_LOG=perf: what each step of a plan takes, and which part of the machine's
 * peak that is. Before: plan.c and run.c.
 *
 * Work is counted once, when the plan is made: arithmetic of loops (an fma is two) and products;
 * bytes are each buffer's elements once. The peaks are measured by the same generators at the first
 * table: chains of fma in registers, and a sum of two arrays larger than caches. A table comes
 * after the 1st, 10th, 100th... run, with the best time of each step. */
#include "../dync.in.h"
#include "plan.h"
DYNC__COLD

struct dync__perf {
    dync__mutex lock;
    int64_t runs;
    struct {
        double operations, bytes;
        uint64_t best;
        const char *name;
    } step[];
};

static double dync__perf_extent(const dync__kernel *k, const dync__access *a, int from, int to)
{
    double n = 1;
    for (int d = from; d < to; d++) n *= !a || a->stride[d] ? (double)k->extent[d] : 1;
    return n;
}

static void dync__perf_count_kernel(const dync__kernel *k, double *operations, double *bytes)
{
    double all = dync__perf_extent(k, NULL, 0, k->n_dims),
           rows = dync__perf_extent(k, NULL, 0, k->n_outer);
    for (int i = 0; i < k->inst.n; i++) {
        const dync__inst *in = &k->inst.at[i];
        bool moves = in->buf >= 0 || in->prim == DYNC__P_index || in->prim == DYNC__P_const_ ||
                     in->prim == DYNC__P_bitcast,
             seen = false;
        if (!moves)
            *operations += (in->prim == DYNC__P_fma ? 2 : 1) * (in->section & 1 ? all : rows);
        for (int j = 0; j < i && !seen; j++)
            seen = k->inst.at[j].buf == in->buf && k->inst.at[j].access == in->access &&
                   k->inst.at[j].prim == in->prim;
        if (in->buf >= 0 && !seen)
            *bytes += dync__perf_extent(k, &k->access.at[in->access], 0, k->n_dims) *
                      dync__dtype_info(k->buf.at[in->buf].dtype)->bytes;
    }
}

static double dync__perf_numel(const dync__operand *o)
{
    double n = 1;
    for (int d = 0; d < o->lay.ndim; d++) n *= (double)o->lay.shape[d];
    return n;
}

/* Products: twice the elements of the result times the length that is summed. */
static void dync__perf_count_call(const dync__kcall *c, double *operations, double *bytes)
{
    const dync__operand *a = &c->operand[0], *b = &c->operand[1];
    for (int i = 0; i < c->n; i++)
        *bytes += dync__perf_numel(&c->operand[i]) * dync__dtype_info(c->operand[i].dtype)->bytes;
    if (dync__kcall_is(c, DYNC__K_matmul) || dync__kcall_is(c, DYNC__K_addmm))
        *operations = 2 * dync__perf_numel(&c->operand[c->n - 1]) *
                      (double)a->lay.shape[a->lay.ndim - 1];
    if (dync__kcall_is(c, DYNC__K_conv2d))
        *operations = 2 * dync__perf_numel(&c->operand[c->n - 1]) * dync__perf_numel(b) /
                      (double)DYNC__MAX(b->lay.shape[0], 1);
}

DYNC__FN void dync__perf_begin(dync__plan *p, const dync__fuse_step *step)
{
    struct dync__perf *f =
        dync__arena_alloc(&p->arena, sizeof *f + (size_t)p->n_steps * sizeof f->step[0]);
    if (!f) return; /* without memory there is no table */
    for (int i = 0, at = 0; at < p->n_steps; i++) {
        if (step[i].k ? !dync__kernel_writes(step[i].k) : !step[i].call) continue;
        char name[64];
        const char *what = step[i].k ? step[i].k->name
                                     : ((const dync__kcall *)step[i].call)->row->name;
        dync__format(name, sizeof name, "%s%s", what,
                     !step[i].k && p->step[at].code ? " with epilogue" : "");
        f->step[at].name = dync__arena_strdup(&p->arena, name);
        if (step[i].k)
            dync__perf_count_kernel(step[i].k, &f->step[at].operations, &f->step[at].bytes);
        else
            dync__perf_count_call(step[i].call, &f->step[at].operations, &f->step[at].bytes);
        f->step[at++].best = UINT64_MAX;
    }
    p->perf = f;
}

/* ---- the machine ----------------------------------------------------------------------------- */

static uint64_t dync__perf_best_of(const dync__kernel *k, void *const *buffers)
{
    dync__code *code = dync__code_new(k);
    uint64_t best = UINT64_MAX;
    for (int i = 0; code && i < 6; i++) {
        uint64_t start = dync__now_ns();
        if (dync__code_run(code, buffers, 0, 0) == DYNC_OK)
            best = DYNC__MIN(best, dync__now_ns() - start);
    }
    dync__code_free(code);
    return best;
}

/* Operations and bytes a nanosecond. */
static void dync__perf_peaks(double peak[2])
{
    enum { CHAIN = 32, LINE = 2048, ROWS = 1024 };
    const dync__size extent[2] = {ROWS, LINE};
    const int64_t dense[2] = {LINE, 1}, line[2] = {0, 1};
    int64_t n = (int64_t)ROWS * LINE;
    dync__arena arena = {0};
    float *data = dync__alloc_data((size_t)n * 3 * sizeof *data);
    void *buffers[3] = {data, data ? data + n : NULL, data ? data + 2 * n : NULL};
    for (int which = 0; data && which < 2; which++) {
        dync__kernel *k = dync__kernel_new(&arena, "peak", 1, 2, extent);
        dync__lb b = {.k = k, .section = 1};
        int v[2];
        if (which == 0) memset(data, 0, (size_t)n * 3 * sizeof *data);
        for (int i = 0; i < 2; i++)
            v[i] = dync__lb_load(&b, dync__kernel_buf(k, i, DYNC_F32, DYNC__BUF_IN, n, NULL),
                                 dync__kernel_access(k, 0, which ? dense : line));
        int x = v[0], y = v[1];
        for (int i = 0; which == 0 && i < CHAIN; i++) {
            x = dync__lb_op(&b, DYNC__P_fma, x, v[0], v[1]);
            y = dync__lb_op(&b, DYNC__P_fma, y, v[1], v[0]);
        }
        dync__lb_store(&b, dync__kernel_buf(k, 2, DYNC_F32, DYNC__BUF_OUT, n, NULL),
                       dync__kernel_access(k, 0, which ? dense : line),
                       dync__lb_op(&b, DYNC__P_add, x, y, -1));
        double ns = k->failed ? 0 : (double)dync__perf_best_of(k, buffers);
        peak[which] = ns > 0 ? (double)n * (which ? 12 : 4 * CHAIN + 1) / ns : 0;
    }
    if (data) dync__free_data(data, (size_t)n * 3 * sizeof *data);
    dync__arena_free(&arena);
}

/* ---- tables ---------------------------------------------------------------------------------- */

static void dync__perf_table(const dync__plan *p, const struct dync__perf *f)
{
    static dync__mutex lock;
    static double peak[2];
    dync__str s = {0};
    dync__lock(&lock);
    if (peak[0] <= 0) dync__perf_peaks(peak);
    dync__unlock(&lock);
    dync__str_addf(&s, "run %lld, best times%s; peak %.0f GFLOP/s, %.1f GB/s\n", (long long)f->runs,
                   p->driver->run ? " of launches" : "", dync__float_shown(peak[0]), peak[1]);
    for (int i = 0; i < p->n_steps; i++) {
        double ns = (double)DYNC__MAX(f->step[i].best, UINT64_C(1)),
               flops = f->step[i].operations / ns, bytes = f->step[i].bytes / ns;
        dync__str_addf(&s, "  %3d %-32s %10.2f us %8.1f GFLOP/s %5.1f %% %8.1f GB/s %5.1f %%\n", i,
                       f->step[i].name ? f->step[i].name : "", dync__float_shown(ns / 1000), flops,
                       peak[0] > 0 ? 100 * flops / peak[0] : 0.0, bytes,
                       peak[1] > 0 ? 100 * bytes / peak[1] : 0.0);
    }
    dync__log_text(DYNC__LOG_perf, p->name, dync__str_get(&s));
    dync__str_free(&s);
}

DYNC__FN void dync__perf_step(const dync__plan *p, int step, uint64_t ns)
{
    dync__lock(&p->perf->lock);
    p->perf->step[step].best = DYNC__MIN(p->perf->step[step].best, ns);
    dync__unlock(&p->perf->lock);
}

DYNC__FN void dync__perf_run(const dync__plan *p)
{
    struct dync__perf *f = p->perf;
    dync__lock(&f->lock);
    int64_t round = ++f->runs;
    while (round % 10 == 0) round /= 10;
    if (round == 1) dync__perf_table(p, f);
    dync__unlock(&f->lock);
}
