/* minify/judge.c: does a backend fail on a graph, and does it fail as it did before? After
 * accuracy.c and graph.c, before shrink.c.
 *
 * Where fork exists the whole trial runs in a child with a time limit: a crash or a hang of
 * compiled code is a verdict like any other. A graph is only said to fail if eager runs it. Two
 * failures are alike if they are of one kind and class and the ratio of matching blocks of their
 * texts is above 0.5; two empty texts are alike. Source: torch/_dynamo/repro/after_dynamo.py,
 * backend_fails; difflib's SequenceMatcher (Ratcliff and Obershelp, 1988). */
#include "../dync.in.h"
#include "minify.h"
DYNC__COLD

/* ---- likeness of texts ----------------------------------------------------------------------- */

/* A block of n characters that stands at a of the one text and at b of the other. */
typedef struct dync__match {
    int a, b, n;
} dync__match;

/* The longest block common to a[a0, a1) and b[b0, b1), the earliest of the longest. before: lengths
 * ending in the row above. */
static dync__match dync__match_longest(const char *a, int a0, int a1, const char *b, int b0, int b1,
                                       int *before)
{
    dync__match best = {a0, b0, 0};
    for (int j = b0; j <= b1; j++) before[j] = 0;
    for (int i = a0; i < a1; i++) {
        int diagonal = 0;
        for (int j = b0; j < b1; j++) {
            int above = before[j + 1];
            before[j + 1] = a[i] == b[j] ? diagonal + 1 : 0;
            diagonal = above;
            if (before[j + 1] > best.n)
                best = (dync__match){i - before[j + 1] + 1, j - before[j + 1] + 1, before[j + 1]};
        }
    }
    return best;
}

/* Characters in matching blocks, counted as difflib does: the longest block, then to the left and
 * to the right of it, each on its own. Example: "abxcd" and "abcd" match in "ab" and "cd", 4
 * characters, ratio 2 * 4 / (5 + 4) = 0.89. Recursion is as deep as there are blocks; row: scratch
 * of the length of b + 2. */
static int dync__match_count(const char *a, int a0, int a1, const char *b, int b0, int b1, int *row)
{
    if (a0 >= a1 || b0 >= b1) return 0;
    dync__match m = dync__match_longest(a, a0, a1, b, b0, b1, row);
    if (!m.n) return 0;
    return m.n + dync__match_count(a, a0, m.a, b, b0, m.b, row) +
           dync__match_count(a, m.a + m.n, a1, b, m.b + m.n, b1, row);
}

DYNC__FN double dync__text_ratio(const char *a, const char *b)
{
    size_t n = strlen(a), m = strlen(b), bytes = (m + 2) * sizeof(int);
    if (n + m == 0 || strcmp(a, b) == 0) return 1;
    int *row = dync__alloc(bytes);
    if (!row) return 0;
    int matches = dync__match_count(a, 0, (int)n, b, 0, (int)m, row);
    dync__free(row, bytes);
    return 2.0 * matches / (double)(n + m);
}

/* first: the failure that is looked for. Crashes are alike by their signal, hangs and inaccuracies
 * always; errors by class and by text, since numbers and names in it change while the graph
 * shrinks. */
DYNC__FN bool dync__judge_similar(const dync__verdict *first, const dync__verdict *now)
{
    if (first->kind != now->kind) return false;
    if (now->kind == DYNC__CRASHES) return first->signal == now->signal;
    if (now->kind != DYNC__RAISES) return true;
    return strcmp(first->error.class_name, now->error.class_name) == 0 &&
           dync__text_ratio(first->error.message, now->error.message) > 0.5;
}

/* ---- one trial ------------------------------------------------------------------------------- */

/* Outside of whatever is being traced. */
DYNC__FN dync_status dync__judge_compile(const dync_backend *b, const char *options, dync__graph *g,
                                         int n, const dync_value *inputs, dync_callable *out)
{
    dync__handler *stack = dync__handler_swap(NULL);
    bool compiling = dync__tls.compiling;
    dync__tls.compiling = false;
    memset(out, 0, sizeof *out);
    dync_status status = dync__graph_ask(b, g, inputs, n, options ? options : "", out);
    dync__tls.compiling = compiling;
    dync__handler_swap(stack);
    if (status == DYNC_OK && !out->run) {
        dync_clear_error();
        return dync__fail_class(DYNC_ERR_BACKEND, "TypeError",
                                "compile returned DYNC_OK without a callable");
    }
    if (status == DYNC_OK) dync_clear_error();
    return status;
}

/* What a trial gets, in the child by way of fork's copy of memory. */
typedef struct dync__trial {
    const dync__judge *judge;
    dync__graph *graph;
    int n;
    const dync_value *inputs;
} dync__trial;

/* DYNC__INACCURATE or not; code that raises counts as accurate, too. */
static int dync__trial_accuracy(const dync__trial *t, const dync_callable *code,
                                dync_status compiled, dync__str *why)
{
    bool same = true, ran = true;
    /* another problem than the one judged */
    if (compiled != DYNC_OK) return DYNC__PASSES;
    if (dync__accuracy_check(t->graph, code, t->n, t->inputs, t->judge->forward_only, &same, &ran,
                             why) != DYNC_OK)
        return DYNC__EAGER_FAILS;
    return same ? DYNC__PASSES : DYNC__INACCURATE;
}

/* DYNC__RAISES where compiling or running fails; the error is the thread's. */
static int dync__trial_raise(const dync__trial *t, const dync_callable *code, dync_status compiled)
{
    dync__run_items items = {0};
    dync__run_how how = {.forward_only = t->judge->forward_only};
    dync_status status = compiled;
    if (status == DYNC_OK) status = dync__run_once(t->graph, code, t->n, t->inputs, how, &items);
    dync__vec_free(&items);
    return status == DYNC_OK ? DYNC__PASSES : DYNC__RAISES;
}

/* Does the graph run interpreted, forward and backward? */
static bool dync__trial_eager(const dync__trial *t)
{
    dync__run_items items = {0};
    dync__run_how how = {.forward_only = t->judge->forward_only};
    bool ok = dync__run_once(t->graph, NULL, t->n, t->inputs, how, &items) == DYNC_OK;
    dync__vec_free(&items);
    return ok;
}

/* The body of a trial; *reply is a dync__verdict, plain bytes that go through a pipe where it runs
 * in a child. The error recorded before is the thread's again after it. */
static void dync__trial_run(void *user, void *reply)
{
    const dync__trial *t = user;
    dync__verdict *v = reply;
    dync_callable code = {0};
    dync__str why = {0};
    dync__error_guard guard;
    memset(v, 0, sizeof *v);
    dync__error_guard_begin(&guard);
    dync_scope scope = dync_scope_begin();
    /* a backend may change what it is given */
    dync__graph *copy = dync__graph_clone(t->graph);
    if (!copy) {
        v->kind = DYNC__EAGER_FAILS;
    } else if (!t->judge->accuracy && !t->judge->skip_eager && !dync__trial_eager(t)) {
        v->kind = DYNC__EAGER_FAILS;
    } else {
        dync_status compiled =
            dync__judge_compile(t->judge->backend, t->judge->options, copy, t->n, t->inputs, &code);
        v->kind = t->judge->accuracy ? dync__trial_accuracy(t, &code, compiled, &why)
                                     : dync__trial_raise(t, &code, compiled);
        if (compiled == DYNC_OK && code.destroy) code.destroy(code.state);
    }
    dync__graph_unref(copy);
    dync_scope_end(&scope);
    v->error = *dync__error_guard_end(&guard);
    if (v->kind == DYNC__RAISES && v->error.status == DYNC_OK) {
        v->error.status = DYNC_ERR_RUNTIME;
        dync__format(v->error.class_name, sizeof v->error.class_name, "RuntimeError");
    }
    if (v->kind == DYNC__INACCURATE)
        dync__format(v->error.message, sizeof v->error.message, "%s", dync__str_get(&why));
    dync__str_free(&why);
}

/* Devices do not survive a fork. */
static bool dync__trial_may_fork(const dync__trial *t)
{
    for (int i = 0; i < t->n; i++) {
        const dync__tensor *x =
            t->inputs[i].kind == DYNC_KIND_TENSOR ? dync__peek(t->inputs[i].as.t) : NULL;
        if (x && dync__device_is(x->device, DYNC__DEV_NUMBERED)) return false;
    }
    return t->judge->isolate && dync__child_possible();
}

/* Never fails: what cannot be judged is DYNC__EAGER_FAILS. The graph and the inputs are left as
 * they are. Without fork, a crash of the compiled code is a crash here. */
DYNC__FN void dync__judge_graph(const dync__judge *j, dync__graph *g, int n,
                                const dync_value *inputs, dync__verdict *out)
{
    dync__trial t = {j, g, n, inputs};
    int number = 0;
    dync__child_end end = DYNC__CHILD_NONE;
    memset(out, 0, sizeof *out);
    if (dync__trial_may_fork(&t))
        end = dync__child_run(dync__trial_run, &t, out, sizeof *out, j->timeout_ms, &number);
    if (end == DYNC__CHILD_DONE) return;
    if (end == DYNC__CHILD_NONE) {
        dync__trial_run(&t, out);
        return;
    }
    memset(out, 0, sizeof *out);
    out->kind = end == DYNC__CHILD_HUNG ? DYNC__HANGS : DYNC__CRASHES;
    out->signal = number;
    out->error.status = DYNC_ERR_RUNTIME;
    dync__format(out->error.class_name, sizeof out->error.class_name, "RuntimeError");
    if (end == DYNC__CHILD_HUNG)
        dync__format(out->error.message, sizeof out->error.message,
                     "compiled code did not end within %g s",
                     dync__float_shown(j->timeout_ms / 1000.0));
    else if (number)
        dync__format(out->error.message, sizeof out->error.message,
                     "compiled code was killed by signal %d", number);
    else
        dync__format(out->error.message, sizeof out->error.message,
                     "compiled code ended the "
                     "process");
}
