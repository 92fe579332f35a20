/* tests/random/plain.h: plain execution itself, judged against the same program in F64: within the
 * spread that noise has around operators, or, of a gradient, within operators. */
#ifndef DYNC_TESTS_RANDOM_PLAIN_H
#define DYNC_TESTS_RANDOM_PLAIN_H
#include "judge.h"
#include "within.h"

/* The same program with F64 in the place of every float dtype; false: it would be another. Random
 * numbers differ; casts round, which nobody wants undone; rms_norm's default eps is the dtype's;
 * tanhshrink takes tanh away from x within (and rounds both, as PyTorch's does), and gelu_tanh adds
 * 1 to what is nearly -1: -0 at -6, as PyTorch's; cubic interpolation reads by places that are
 * rounded, as PyTorch's are (6e-6 off at 34 places); a product of halves may be less than any. */
static bool program_exact(const program *p, program *q)
{
    int dtype = -1;
    *q = *p;
    q->exact = true;
    for (int i = 0; i < q->n_in; i++) {
        if (!is_float(q->in[i].dtype)) continue;
        if (dtype >= 0 && dtype != q->in[i].dtype) return false;
        dtype = q->in[i].dtype;
    }
    for (int i = 0; i < q->n_steps; i++) {
        const row *r = &rows[q->at[i].row];
        if (strstr(r->flags, "RANDOM") ||
            among(" to_dtype copy copy_ rms_norm tanhshrink gelu_tanh upsample_bicubic2d ",
                  r->name) ||
            (dtype == DYNC_F16 && strcmp(r->name, "prod") == 0))
            return false;
        for (int k = 0; k < q->at[i].nargs; k++) {
            arg *a = &q->at[i].a[k];
            if (a->kind == A_DTYPE && is_float((int)a->d[0])) a->d[0] = DYNC_F64;
        }
    }
    return true;
}

/* Is there a row whose gradient comes from its rounded result (1 - y * y)? Where that is nearly 1
 * little is left, in PyTorch too. Of atan2(x, x) it is 1 / 2x taken away from itself. */
static bool from_result(const program *p)
{
    for (int i = 0; i < p->n_steps; i++)
        if ((strcmp(rows[p->at[i].row].name, "atan2") == 0 &&
             p->at[i].a[0].d[0] == p->at[i].a[1].d[0]) ||
            among(" tanh tanh_ sigmoid sigmoid_ softmax log_softmax cosine_similarity normalize "
                  "cross_entropy ",
                  rows[p->at[i].row].name))
            return true;
    return false;
}

/* Gradients of composites of halves round in every step. */
static bool wide_enough(int dtype) { return dtype == DYNC_F32 || dtype == DYNC_F64; }

/* In the spread that noise has, made wider by as much three times, and by some roundings of the
 * largest element, as an operator may round within. */
enum { ROUNDINGS_WITHIN = 16 };
static bool wide_in_spread(const trial *t, int k, int64_t e, double wide)
{
    const spread *s = &t->of[k];
    int dtype = dync_type(t->plain.at[k]);
    double ulp = dtype_ulp(dtype),
           most = s->most + (dtype == DYNC_F32 ? 0x1p-126 : dtype_least(dtype)) /
                                ulp, /* what underflows on the way, too */
        more = 3 * (s->high[e] - s->low[e]) + ROUNDINGS_WITHIN * ulp * most;
    return s->unsure[e] || (wide >= s->low[e] - more && wide <= s->high[e] + more);
}

/* What is no number with noise within says nothing of the number that it is without: it excuses
 * none. */
static void within_take(spread *s, dync_tensor *plain, dync_tensor *sample)
{
    if (!same_form(plain, sample)) return;
    const double *v = elements(sample);
    for (int64_t e = 0; e < dync_numel(plain); e++) {
        if (!isfinite(v[e])) continue;
        if (v[e] < s->low[e]) s->low[e] = v[e];
        if (v[e] > s->high[e]) s->high[e] = v[e];
    }
}

/* Takes runs with noise within operators into the gradients' spread. */
static void trial_sample_within(trial *t)
{
    int first = t->p->n_out + t->p->n_in;
    for (int i = 0; i < MODE_SAMPLES; i++) DYNC_SCOPE {
        outcome o = program_call_within(t->p, &t->s, t->data, t->p->seed * 977 + (uint64_t)i);
        for (int k = first; k < t->plain.n && o.status == DYNC_OK; k++)
            if (t->plain.at[k] && o.at[k]) within_take(&t->of[k], t->plain.at[k], o.at[k]);
    }
}

/* Plain execution against F64. A gradient outside of the spread that noise around operators has is
 * looked at again with noise within them. NULL: right, or a program that cannot be compared. */
static const char *plain_differs(const program *p, const sizes *s, char *text, size_t size,
                                 int *compared)
{
    static program q;
    const char *differs = NULL;
    if (!program_exact(p, &q)) return NULL;
    DYNC_SCOPE {
        trial t = {.p = p, .s = *s};
        int within = 0;
        t.plain = program_call(p, NULL, s, 0);
        outcome wide = program_call(&q, NULL, s, 0);
        bool both = t.plain.status == DYNC_OK && wide.status == DYNC_OK;
        if (both) trial_sample(&t), (*compared)++;
        for (int k = 0; both && k < t.plain.n && !differs; k++) {
            dync_tensor *is = t.plain.at[k], *want = wide.at[k];
            if (!is || !want || !is_float(dync_type(is)) || t.of[k].gone ||
                dync_numel(is) != dync_numel(want))
                continue;
            if (k >= p->n_out + p->n_in && (from_result(p) || !wide_enough(dync_type(is))))
                continue;
            const double *a = elements(is),
                         *b = elements(dync_to_dtype(dync_detach(want), DYNC_F64));
            for (int64_t e = 0; e < dync_numel(is) && !differs; e++) {
                if (!isfinite(b[e]) || !isfinite(a[e]) || wide_in_spread(&t, k, e, b[e])) continue;
                if (k >= p->n_out + p->n_in && !within++) trial_sample_within(&t);
                if (wide_in_spread(&t, k, e, b[e])) continue;
                snprintf(text, size, "%s %d: element %lld of %lld is %.9g, by F64 %.9g",
                         k < p->n_out             ? "plain result"
                         : k < p->n_out + p->n_in ? "plain input"
                                                  : "plain gradient",
                         k < p->n_out ? p->out[k] : p->in[(k - p->n_out) % p->n_in].id,
                         (long long)e, (long long)dync_numel(is), a[e], b[e]);
                differs = text;
            }
        }
        trial_free(&t);
    }
    return differs;
}
#endif
