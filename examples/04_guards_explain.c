/* cc -O2 -I.. 04_guards_explain.c -lm -pthread -o 04_guards_explain
 *
 * Lesson 4: what a compiled function relies on, why it was compiled again, and where its graph
 * broke. */
#define DYNC_IMPLEMENTATION
#include "dync.h"

static dync_tensor *scale(dync_tensor *x, dync_tensor *y) { return dync_mul(dync_add(x, y), 2); }

/* An if on data cannot be in a graph: the graph so far is run, and what follows depends on the
 * outcome. */
static dync_tensor *toy(dync_tensor *a, dync_tensor *b)
{
    dync_tensor *x = dync_div(a, dync_add(dync_abs(a), 1));
    if (dync_bool(dync_lt(dync_sum(b, DYNC_ALL, false), 0))) b = dync_mul(b, -1);
    return dync_mul(x, b);
}

static void why(const char *reason, void *user)
{
    (void)user;
    printf("refused: %s\n", reason);
}

int main(void)
{
    dync_compiled *f = dync_compile(scale, .args = "x, y", .guard_fail = why);
    if (!f) return dync_error();
    dync_tensor *x = dync_ones(dync_shape(4)), *y = dync_ones(dync_shape(4)),
                *z = dync_ones(dync_shape(4), .requires_grad = true);
    dync_call(f, x, y);
    dync_call(f, x, y); /* hits: nothing is said */
    dync_call(f, x, z);
    dync_call(f, x, dync_ones(dync_shape(4), .dtype = DYNC_F64));
    dync_call(f, x, x);
    dync_compiled_free(f);

    /* Compiled and run once, to be told what happens. */
    dync_explain_output e =
        dync_explain(toy, dync_ones(dync_shape(3)), dync_full(dync_shape(3), -1));
    printf("graphs %d, breaks %d, operators %d\n", e.graph_count, e.graph_break_count, e.op_count);
    for (int i = 0; i < e.nbreaks; i++) printf("break %d: %s\n", i + 1, e.breaks[i].reason);
    for (int i = 0; i < e.graph_count; i++) printf("graph %d:\n%s\n", i + 1, e.ops[i]);

    dync_shutdown();
    return dync_error();
}
