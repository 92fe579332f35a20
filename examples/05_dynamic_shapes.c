/* cc -O2 -I.. 05_dynamic_shapes.c -lm -pthread -o 05_dynamic_shapes
 *
 * Lesson 5: sizes and numbers that change from call to call, without a compile for each. */
#define DYNC_IMPLEMENTATION
#include "dync.h"

/* dync_dim stays symbolic in a shape; dync_size would tie the graph to one size. */
static dync_tensor *padded(dync_tensor *x)
{
    dync_tensor *zeros = dync_zeros(dync_shape(dync_dim(x, 0), 2));
    return dync_relu(dync_cat(dync_tuple(x, zeros), 1));
}

/* scale is passed on whole, so that one graph serves every value. */
static dync_value scaled(const dync_value *args, int n, void *user)
{
    (void)n, (void)user;
    return DYNC_V(dync_mul(args[0], dync_sym_add(args[1], DYNC_V(1))));
}

static void why(const char *reason, void *user)
{
    (void)user;
    printf("refused: %s\n", reason);
}

static dync_status show(dync_graph *g, const dync_value *ex, int n, const char *options,
                        dync_callable *out, void *user)
{
    (void)options, (void)user;
    printf("%s", dync_graph_readable(g));
    return dync_compile_graph("inductor", g, ex, n, out);
}
static const dync_backend shows = {.name = "shows", .compile = show};

int main(void)
{
    /* Static at first; the size that changed is s0 from then on. */
    dync_compiled *f =
        dync_compile(padded, .args = "x", .backend_object = &shows, .guard_fail = why);
    if (!f) return dync_error();
    for (int n = 4; n < 40; n++) DYNC_SCOPE {
        dync_tensor *y = dync_call(f, dync_ones(dync_shape(n, 3)));
        if (!y || dync_size(y, 0) != n) return 1;
    }
    printf("%d sizes\n\n", 40 - 4);

    /* Marked: symbolic from the first call on. 0 and 1 are sizes of their own. */
    dync_compiled *g =
        dync_compile(padded, .args = "x", .backend_object = &shows, .guard_fail = why);
    dync_tensor *x = dync_ones(dync_shape(7, 3));
    dync_mark_dynamic(x, 0);
    if (!dync_call(g, x) || !dync_call(g, dync_ones(dync_shape(1, 3)))) return 1;

    /* Numbers are guarded by value, but for those named in .symbolic. */
    dync_compiled *h =
        dync_compile(scaled, .args = "x, scale", .symbolic = "scale", .backend_object = &shows);
    for (int i = 0; i < 3; i++) dync_print(dync_call(h, dync_ones(dync_shape(2)), 0.5 * i));

    dync_compiled_free(f);
    dync_compiled_free(g);
    dync_compiled_free(h);
    dync_shutdown();
    return dync_error();
}
