/* tests/unit/test_wanted.c: gradients of some of an operator's inputs and not of others. Forward
 * keeps for backward what the gradients that are wanted read (autograd/grads.h): a rule that reads
 * more fails there alone. Each input by itself and each but one are compared with all together. */
#include "sample_lines.h"
#include "../ops/samples.c"

enum { MOST_GRADS = 6, MOST_VALUES = 4096 };
typedef struct found {
    bool some[MOST_GRADS];
    int64_t n[MOST_GRADS];
    double value[MOST_GRADS][MOST_VALUES];
} found;

static bool floating(const dync__tensor *t) { return t->dtype == DYNC_F32 || t->dtype == DYNC_F64; }

/* The sum of the outputs that have a history, weighed so that each element differs. NULL: none
 * has. */
static dync_tensor *weighed(dync__tensor **out, int nout)
{
    dync_tensor *sum = NULL;
    for (int i = 0; i < nout; i++) {
        dync_tensor *t = out[i] ? dync__give(out[i]) : NULL;
        if (!t || !dync_requires_grad(t)) continue;
        dync_tensor *flat = dync_reshape(t, dync_shape(-1)),
                    *w = dync_arange(0, (double)dync_numel(t), 1);
        w = dync_add(dync_mul(w, 0.125), 1.0 + i);
        dync_tensor *part = dync_sum(dync_mul(flat, w), DYNC_ALL, false);
        sum = sum ? dync_add(sum, part) : part;
    }
    return sum;
}

/* Gradients of the inputs in the set `wanted`. Returns how many inputs may have one; -1 where the
 * sample is none: refused, in place, of another dtype, without history. */
static int gradients(const char *line, unsigned wanted, found *into)
{
    parser p = {.at = line};
    dync__arg args[DYNC__MAX_ARGS];
    dync__tensor *out[DYNC__MAX_OUT] = {NULL}, *leaf[MOST_GRADS];
    char name[64] = "";
    int n = 0, n_leaves = 0, result = -1;
    size_t length = strcspn(line, "|");
    memcpy(name, line, length);
    int op = dync__op_find(name);
    p.at += length + 1;
    memset(into, 0, sizeof *into);
    if (op < 0 || strchr(line, '!') || dync__op_info(op)->cls == DYNC__INPLACE ||
        (dync__op_info(op)->flags & (DYNC__OP_RANDOM | DYNC__OP_NONDIFF)))
        return -1;
    while (*p.at != '|') {
        args[n++] = read_arg(&p);
        take(&p, ";");
    }
    bool fits = true;
    for (int i = 0; i < p.n_made; i++) {
        dync__tensor *t = p.made[i];
        if (!floating(t)) continue;
        fits = fits && n_leaves < MOST_GRADS && dync_numel(dync__handle(t)) <= MOST_VALUES;
        if (!fits) break;
        if (wanted >> n_leaves & 1) dync_requires_grad_(dync__handle(t), true);
        leaf[n_leaves++] = t;
    }
    dync_status status = fits ? (dync__op_run)(op, n, args, out) : DYNC_ERR_VALUE;
    dync_tensor *loss = status == DYNC_OK ? weighed(out, dync__op_info(op)->nout) : NULL;
    if (loss && dync_backward(loss) == DYNC_OK) {
        result = n_leaves;
        for (int i = 0; i < n_leaves; i++) {
            dync_tensor *g = dync_grad(dync__handle(leaf[i]));
            if (!(into->some[i] = g != NULL)) continue;
            into->n[i] = dync_numel(g);
            g = dync_contiguous(dync_to_dtype(g, DYNC_F64));
            if (into->n[i])
                memcpy(into->value[i], dync_data(g), (size_t)into->n[i] * sizeof(double));
        }
    } else if (loss && !strstr(dync_error_message(), "derivative for")) { /* some have none */
        complain(line, (int)wanted, dync_error_message(), dync_error(), 0);
    }
    dync_clear_error();
    for (int i = 0; i < p.n_made; i++) dync__unref(p.made[i]);
    return result;
}

static bool alike(double a, double b)
{
    return (isnan(a) && isnan(b)) || a == b || fabs(a - b) <= 1e-5 * (1 + fabs(b));
}

static int compared;
static void one_set(const char *line, unsigned wanted, const found *all, int n)
{
    static found some;
    if (gradients(line, wanted, &some) < 0) return;
    for (int i = 0; i < n; i++) {
        if (!(wanted >> i & 1)) continue;
        if (some.some[i] != all->some[i] || some.n[i] != all->n[i])
            complain(line, i, "a gradient alone and with others", some.some[i], all->some[i]);
        for (int64_t k = 0; k < some.n[i]; k++)
            if (!alike(some.value[i][k], all->value[i][k])) {
                complain(line, (int)k, "a gradient alone", some.value[i][k], all->value[i][k]);
                break;
            }
        compared++;
    }
}

TEST(gradients_of_some_inputs_are_those_of_all)
{
    static found all;
    for (int s = 0; s < DYNC__COUNT_OF(ops_samples); s++) DYNC_SCOPE {
        const char *line = ops_samples[s];
        int n = gradients(line, ~0u, &all);
        for (int i = 0; i < n && n > 1; i++) {
            one_set(line, 1u << i, &all, n);
            if (n > 2) one_set(line, ~(1u << i), &all, n);
        }
    }
    EXPECT(compared > 1000);
}
TEST_MAIN
