/* tests/random/judge.h: does a compiled program do what plain execution does? Whole numbers, bools,
 * forms and dtypes exactly. Floats: equal, or within a few roundings of each other, or else within
 * the spread that plain execution itself has when every operator that rounds is moved by an ulp at
 * random (interpret.h): a sum of another order, a comparison that tips over, cancellation are all
 * in that spread, a wrong result is not. */
#ifndef DYNC_TESTS_RANDOM_JUDGE_H
#define DYNC_TESTS_RANDOM_JUDGE_H
#include "generate.h"
#include "tol.h"

enum { MODE_SAMPLES = 24 };
typedef struct mode {
    const char *name, *backend, *options;
    bool changing;
    dync_dynamic dynamic;
} mode;
static const mode modes[] = {
    {"aot_eager", "aot_eager", NULL, false, DYNC_DYNAMIC_OFF},
    {"inductor", "inductor", NULL, false, DYNC_DYNAMIC_OFF},
    {"inductor no_fuse", "inductor", "no_fuse", false, DYNC_DYNAMIC_OFF},
    {"inductor dynamic", "inductor", NULL, true, DYNC_DYNAMIC_ON},
    {"inductor automatic", "inductor", NULL, true, DYNC_DYNAMIC_AUTO},
    {"aot_eager dynamic", "aot_eager", NULL, true, DYNC_DYNAMIC_ON},
    {"eager dynamic", "eager", NULL, true, DYNC_DYNAMIC_ON},
    {"plain", NULL, NULL, false, DYNC_DYNAMIC_OFF},
};
enum { N_MODES = (int)(sizeof modes / sizeof *modes), MAX_CALLS = 4 };

/* ---- reading --------------------------------------------------------------------------------- */
/* The elements row by row: floats as f64, others as i64. */
static const void *elements(dync_tensor *t)
{
    return dync_data(dync_contiguous(
        dync_to_dtype(dync_detach(t), is_float(dync_type(t)) ? DYNC_F64 : DYNC_I64)));
}
static bool same_form(dync_tensor *a, dync_tensor *b)
{
    bool same = dync_type(a) == dync_type(b) && dync_ndim(a) == dync_ndim(b);
    for (int i = 0; same && i < dync_ndim(a); i++) same = dync_size(a, i) == dync_size(b, i);
    return same;
}

/* ---- comparing ------------------------------------------------------------------------------- */
static bool near(double a, double b, double tol)
{
    return a != a || b != b ? a != a && b != b : a == b || fabs(a - b) <= tol;
}

/* What plain execution with noise gives for one tensor: from where to where each element goes;
 * unsure: NaN, infinite or no number in some runs and not in others, or, of whole numbers, not
 * always the same. */
typedef struct spread {
    double *low, *high, most;
    bool *unsure, gone;
} spread;
typedef struct trial {
    const program *p;
    sizes s;
    int data;
    outcome plain;
    bool sampled;
    spread of[MAX_OUTCOME];
} trial;

static bool same_number(double a, double b) { return a == b || (a != a && b != b); }
static double element(dync_tensor *t, const void *data, int64_t e)
{
    return is_float(dync_type(t)) ? ((const double *)data)[e] : (double)((const int64_t *)data)[e];
}

static void spread_take(spread *s, dync_tensor *plain, dync_tensor *sample)
{
    if (!sample || !same_form(plain, sample)) {
        s->gone = true;
        return;
    }
    const void *a = elements(plain), *b = elements(sample);
    bool floating = is_float(dync_type(plain));
    for (int64_t e = 0; e < dync_numel(plain); e++) {
        double want = element(plain, a, e), v = element(sample, b, e);
        if (!same_number(v, want) && (!floating || !isfinite(v) || !isfinite(want)))
            s->unsure[e] = true;
        if (v < s->low[e]) s->low[e] = v;
        if (v > s->high[e]) s->high[e] = v;
    }
}

/* Made when it is first asked for. */
static void trial_sample(trial *t)
{
    if (t->sampled) return;
    t->sampled = true;
    for (int k = 0; k < t->plain.n; k++) {
        dync_tensor *x = t->plain.at[k];
        size_t n = x ? (size_t)dync_numel(x) : 0;
        spread *s = &t->of[k];
        s->low = malloc((n + 1) * sizeof *s->low), s->high = malloc((n + 1) * sizeof *s->high),
        s->unsure = calloc(n + 1, 1);
        if (!s->low || !s->high || !s->unsure) abort();
        const void *data = n ? elements(x) : NULL;
        for (size_t e = 0; e < n; e++) {
            s->low[e] = s->high[e] = element(x, data, (int64_t)e);
            if (isfinite(s->low[e]) && fabs(s->low[e]) > s->most) s->most = fabs(s->low[e]);
        }
    }
    for (int i = 0; i < MODE_SAMPLES; i++) DYNC_SCOPE {
        noisy = true;
        noise.s = t->p->seed * 977 + (uint64_t)i;
        outcome o = program_call(t->p, NULL, &t->s, t->data);
        noisy = false;
        for (int k = 0; k < t->plain.n && o.status == DYNC_OK; k++)
            if (t->plain.at[k]) spread_take(&t->of[k], t->plain.at[k], o.at[k]);
    }
}
static void trial_free(trial *t)
{
    for (int k = 0; k < MAX_OUTCOME; k++)
        free(t->of[k].low), free(t->of[k].high), free(t->of[k].unsure);
}

/* Roundings of a tensor's largest element that one operator may make within, which noise around it
 * does not show: gradients of softmax and attention take large numbers from each other. Operators
 * of halves compute in F32 and round their result, compiled as plain. */
static double roundings_within(int dtype)
{
    return dtype == DYNC_F32 || dtype == DYNC_F64 ? 16 : 2;
}

/* Within the spread, made wider by as much three times, by four ulps and by roundings within. */
static bool in_spread(trial *t, int k, int64_t e, double got, double want)
{
    trial_sample(t);
    const spread *s = &t->of[k];
    if (s->gone || s->unsure[e]) return true;
    if (!is_float(dync_type(t->plain.at[k]))) return false;
    int dtype = dync_type(t->plain.at[k]);
    double more = 3 * (s->high[e] - s->low[e]) +
                  dtype_ulp(dtype) * (4 * fabs(want) + roundings_within(dtype) * s->most) +
                  2 * dtype_least(dtype);
    return got >= s->low[e] - more && got <= s->high[e] + more;
}

/* Is an input left with NaN or infinities? One node stands for a whole segment: what nobody
 * differentiates gets zeros, and zero times infinity is NaN, in PyTorch's compiled code too. */
static bool writes_no_number(const trial *t)
{
    for (int k = t->p->n_out; k < t->p->n_out + t->p->n_in; k++) {
        dync_tensor *x = t->plain.at[k];
        if (!is_float(dync_type(x))) continue;
        const double *d = elements(x);
        for (int64_t e = 0; e < dync_numel(x); e++)
            if (!isfinite(d[e])) return true;
    }
    return false;
}

static const char *tensor_differs(trial *t, int k, dync_tensor *got, char *text, size_t size)
{
    dync_tensor *want = t->plain.at[k];
    if (!same_form(want, got)) return "another form or dtype";
    const void *a = elements(want), *b = elements(got);
    bool floating = is_float(dync_type(want));
    double ulp = floating ? dtype_ulp(dync_type(want)) : 0;
    for (int64_t e = 0; e < dync_numel(want); e++) {
        double x = element(want, a, e), y = element(got, b, e);
        if (floating ? near(x, y, 2 * ulp * fabs(x))
                     : ((const int64_t *)a)[e] == ((const int64_t *)b)[e])
            continue;
        if (in_spread(t, k, e, y, x)) continue;
        if (isnan(y) && k >= t->p->n_out + t->p->n_in && writes_no_number(t)) continue;
        snprintf(text, size, "element %lld of %lld is %.17g, plain %.17g", (long long)e,
                 (long long)dync_numel(want), y, x);
        return text;
    }
    return NULL;
}

static bool all_zero(dync_tensor *t)
{
    const double *d = elements(t);
    for (int64_t i = 0; i < dync_numel(t); i++)
        if (d[i] != 0) return false;
    return true;
}

/* Where plain strides leave gaps a copy may stand for a view: of a value that was computed twice
 * and is computed once, for one. */
static bool same_strides(dync_tensor *a, dync_tensor *b)
{
    int64_t reach = 1;
    for (int i = 0; i < dync_ndim(a); i++) reach += dync_stride(a, i) * (dync_size(a, i) - 1);
    if (reach != dync_numel(a)) return true;
    for (int i = 0; i < dync_ndim(a) && dync_numel(a); i++)
        if (dync_size(a, i) != 1 && dync_stride(a, i) != dync_stride(b, i)) return false;
    return true;
}

/* NULL: the same. Else what differs, in words. */
static const char *outcome_differs(trial *t, const outcome *got, char *text, size_t size)
{
    const program *p = t->p;
    char what[256];
    if (got->status != DYNC_OK) return snprintf(text, size, "error: %s", got->message), text;
    for (int k = 0; k < t->plain.n; k++) {
        dync_tensor *want = t->plain.at[k], *is = got->at[k];
        const char *differs = NULL;
        if (!want && !is) continue;
        if (!want || !is) { /* one node stands for several: zeros for nothing are as good */
            if (k < p->n_out + p->n_in || !all_zero(want ? want : is))
                differs = want ? "nothing" : "something";
        } else
            differs = tensor_differs(t, k, is, what, sizeof what);
        if (!differs && k < p->n_out && t->plain.requires[k] != got->requires[k])
            differs = "requires_grad";
        if (!differs && k < p->n_out && !same_strides(want, is)) differs = "strides";
        if (!differs) continue;
        int i = k < p->n_out ? k : (k - p->n_out) % p->n_in;
        snprintf(text, size, "%s v%d: %s",
                 k < p->n_out             ? "result"
                 : k < p->n_out + p->n_in ? "input"
                                          : "gradient of",
                 k < p->n_out ? p->out[i] : p->in[i].id, differs);
        return text;
    }
    return NULL;
}

/* ---- one program in one mode ----------------------------------------------------------------- */
typedef struct calls {
    int n;
    struct {
        sizes s;
        int data;
    } at[MAX_CALLS];
} calls;

/* Sizes and data of the calls: the first as the program was made. */
static calls calls_make(const program *p, const mode *m, const sizes *made)
{
    static const int many[] = {1, 2, 3, 4, 5, 7, 9, 16, 21, 34};
    calls c = {.n = m->changing ? MAX_CALLS : 2};
    rng r = {p->seed ^ 0x5bd1e995};
    for (int i = 0; i < c.n; i++) {
        c.at[i].s = *made;
        c.at[i].data = i;
        for (int k = 0; k < N_SIZES && m->changing && i; k++)
            if (rng_chance(&r, 75))
                c.at[i].s.n[k] = rng_chance(&r, 4) ? 0 : many[rng_below(&r, 10)];
    }
    return c;
}

enum { MOST_ELEMENTS = 20000 };
static int64_t inputs_elements(const program *p, const sizes *s)
{
    int64_t all = 0;
    for (int i = 0; i < p->n_in; i++) {
        int64_t n = 1;
        for (int k = 0; k < p->in[i].ndim; k++) n *= input_size(&p->in[i], k, s);
        all += n;
    }
    return all;
}
static bool symbolic(const program *p)
{
    for (int i = 0; i < p->n_in; i++)
        for (int k = 0; k < p->in[i].ndim; k++)
            if (p->in[i].size[k] < 0) return true;
    return false;
}

static const char *plain_differs(const program *p, const sizes *s, char *text, size_t size,
                                 int *compared);

/* NULL: right. Calls that plain execution refuses are left out. compared: how many were not. */
static const char *mode_differs(const program *p, const mode *m, const sizes *made, char *text,
                                size_t size, int *compared)
{
    const char *differs = NULL;
    if (!m->backend) return plain_differs(p, made, text, size, compared);
    calls c = calls_make(p, m, made);
    dync_compiled *f = dync_compile(program_run, .user = (void *)(uintptr_t)p,
                                    .backend = m->backend, .options = m->options,
                                    .dynamic = m->dynamic, .recompile_limit = 64);
    for (int i = 0; i < c.n && !differs; i++) DYNC_SCOPE {
        trial t = {.p = p, .s = c.at[i].s, .data = c.at[i].data};
        t.plain.status = DYNC_ERR_VALUE;
        if (inputs_elements(p, &t.s) < MOST_ELEMENTS) t.plain = program_call(p, NULL, &t.s, t.data);
        if (t.plain.status == DYNC_OK) {
            outcome got = program_call(p, f, &t.s, t.data);
            char what[400];
            const char *wrong = outcome_differs(&t, &got, what, sizeof what);
            if (wrong)
                snprintf(text, size, "%s, call %d (sizes %d, %d): %s", m->name, i, t.s.n[0],
                         t.s.n[1], wrong);
            if (wrong) differs = text;
            (*compared)++;
            trial_free(&t);
        }
    }
    dync_compiled_free(f);
    dync_clear_error();
    return differs;
}
#endif
