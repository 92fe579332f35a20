/* tests/random/shrink.h: makes a failing program smaller: fewer outputs and steps, plainer inputs,
 * while it still goes wrong in its mode. */
#ifndef DYNC_TESTS_RANDOM_SHRINK_H
#define DYNC_TESTS_RANDOM_SHRINK_H
#include "plain.h"

/* ---- shrinking ------------------------------------------------------------------------------- */
static bool uses(const step *s, int id)
{
    for (int k = 0; k < s->nargs; k++)
        for (int j = 0; j < s->a[k].n; j++)
            if (((s->a[k].kind == A_VALUE || s->a[k].kind == A_LIST) && s->a[k].d[j] == id) ||
                (s->a[k].kind == A_DIMS && s->a[k].from[j] == id))
                return true;
    return false;
}
static bool used(const program *p, int id)
{
    bool is = false;
    for (int i = 0; i < p->n_steps; i++) is = is || uses(&p->at[i], id);
    for (int i = 0; i < p->n_out; i++) is = is || p->out[i] == id;
    return is;
}
static void drop_step(program *p, int i)
{
    memmove(&p->at[i], &p->at[i + 1], (size_t)(p->n_steps - i - 1) * sizeof *p->at);
    p->n_steps--;
}
static void drop_output(program *p, int i)
{
    memmove(&p->out[i], &p->out[i + 1], (size_t)(p->n_out - i - 1) * sizeof *p->out);
    p->n_out--;
}
/* Steps and inputs that nothing reads. Writes in place stay. */
static void drop_unused(program *p)
{
    for (int i = p->n_steps - 1; i >= 0; i--) {
        bool needed = row_is(p->at[i].row, "INPLACE");
        for (int k = 0; k < p->at[i].nout; k++) needed = needed || used(p, p->at[i].out[k]);
        if (!needed) drop_step(p, i);
    }
    for (int i = p->n_in - 1; i >= 0; i--)
        if (!used(p, p->in[i].id))
            memmove(&p->in[i], &p->in[i + 1], (size_t)(p->n_in-- - i - 1) * sizeof *p->in);
}

/* What the values of a program look like: made by running it. */
static bool forms(const program *p, const sizes *s, dync_tensor **v)
{
    for (int i = 0; i < p->n_in; i++) v[p->in[i].id] = input_make(p, i, s, 0);
    for (int i = 0; i < p->n_steps; i++)
        if (!step_run(&p->at[i], v) || dync_error()) return dync_clear_error(), false;
    return true;
}

/* Step i becomes inputs of the same form. */
static bool replace_step(program *p, int i, const sizes *s)
{
    bool good = true;
    step gone = p->at[i];
    DYNC_SCOPE {
        dync_tensor *v[MAX_VALUES] = {NULL};
        good = p->n_in + gone.nout <= MAX_INPUTS && forms(p, s, v);
        drop_step(p, i);
        for (int k = 0; good && k < gone.nout; k++) {
            dync_tensor *t = v[gone.out[k]];
            input in = {.id = gone.out[k],
                        .dtype = dync_type(t),
                        .ndim = dync_ndim(t),
                        .grad = dync_requires_grad(t)};
            for (int j = 0; j < in.ndim; j++) {
                int64_t size = dync_size(t, j);
                in.size[j] = size > 4 && size == s->n[0]   ? -1
                             : size > 4 && size == s->n[1] ? -2
                                                           : (int)size;
            }
            if (used(p, in.id)) p->in[p->n_in++] = in;
        }
    }
    return good;
}

static bool still_differs(const program *p, const mode *m, const sizes *s)
{
    char text[600];
    int compared = 0;
    return p->n_out > 0 && mode_differs(p, m, s, text, sizeof text, &compared) != NULL;
}

static bool keep_if(program *p, program *q, const mode *m, const sizes *s)
{
    drop_unused(q);
    if (!still_differs(q, m, s)) return false;
    *p = *q;
    return true;
}

/* Step i gives what `empty` made its elements. */
static bool fills_empty(const program *p, int i)
{
    for (int k = 0; k < i; k++)
        if (strncmp(rows[p->at[k].row].name, "empty", 5) == 0 && uses(&p->at[i], p->at[k].out[0]))
            return true;
    return false;
}

/* Fewer outputs, steps, plainer inputs, while it still goes wrong in this mode. */
static void shrink(program *p, const mode *m, sizes *s)
{
    static program q;
    for (bool less = true; less;) {
        less = false;
        for (int i = p->n_out - 1; i >= 0; i--)
            q = *p, drop_output(&q, i), less = (q.n_out && keep_if(p, &q, m, s)) || less;
        for (int i = p->n_steps - 1; i >= 0; i--) {
            if (i >= p->n_steps) continue;
            q = *p;
            if (row_is(p->at[i].row, "INPLACE")) {
                if (fills_empty(p, i)) continue;
                drop_step(&q, i);
            } else if (!replace_step(&q, i, s))
                continue;
            if (q.n_steps < p->n_steps && keep_if(p, &q, m, s)) less = true;
        }
        for (int i = 0; i < p->n_in; i++) {
            q = *p;
            if (p->in[i].grad) q.in[i].grad = false, less = keep_if(p, &q, m, s) || less;
            q = *p;
            if (i < p->n_in && p->in[i].layout)
                q.in[i].layout = LAYOUT_ROWS, less = keep_if(p, &q, m, s) || less;
        }
        q = *p;
        if (p->train) q.train = false, less = keep_if(p, &q, m, s) || less;
        for (int k = 0; k < N_SIZES; k++)
            for (int small = 2; small < s->n[k]; small++) {
                sizes t = *s;
                t.n[k] = small;
                if (!m->changing && still_differs(p, m, &t)) {
                    *s = t;
                    less = true;
                }
            }
    }
}
#endif
