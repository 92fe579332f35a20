/* What the switches of api/config.h leave out is refused with DYNC_ERR_UNSUPPORTED, and the rest
 * works: built with all of them. The exit status is the number of the check that failed. */
#include "dync.h"
#include <string.h>

static dync_tensor *twice(dync_tensor *x) { return dync_relu(dync_mul(x, 2)); }

/* The last call was refused, and says nothing but its class. */
static int refused(void)
{
    int is = dync_error() == DYNC_ERR_UNSUPPORTED && !strcmp(dync_error_class(), "Unsupported") &&
             !strcmp(dync_error_message(), dync_error_class());
    dync_clear_error();
    return is;
}
static void quietly(dync_status status, const char *message, void *user)
{
    (void)status, (void)message, (void)user;
}

/* Of each size a compiled function of its own. */
static int sizes(void)
{
    const float v[6] = {1, -2, 3, -4, 5, -6};
    dync_compiled *f = dync_compile(twice);
    for (int n = 2; n <= 6; n++) {
        const float *y = dync_data(dync_call(f, dync_from(v, dync_shape(n))));
        for (int i = 0; i < n; i++)
            if (!y || y[i] != (v[i] > 0 ? 2 * v[i] : 0)) return 0;
    }
    dync_compiled_free(f);
    return dync_error() == DYNC_OK;
}

/* A graph can be made and run; its text, its file and the minifier are left out as the switches
 * say. 0, or the number of the check that failed. */
static int graphs(const char *file)
{
    const float v[4] = {4, -1, 3, 2};
    dync_tensor *x = dync_from(v, dync_shape(4));
    dync_graph *g = dync_make_graph(twice, x);
    dync_value in = dync_v_tensor(x), out = dync_graph_run(g, &in, 1);
    const float *y = out.kind == DYNC_KIND_TENSOR ? dync_data(out.as.t) : NULL;
    if (!y || y[0] != 8 || y[1] != 0 || dync_error()) return 20;
    if (dync_fails(g, &in, 1, (void *)"inductor") || !refused()) return 21;
    if (dync_minify(g, in, dync_fails, (void *)"inductor").graph || !refused()) return 22;
    if (dync_repro_save(g, in, "inductor", false, file) == DYNC_OK || !refused()) return 23;
    if (dync_compile(twice, .repro_after = "aot") || !refused()) return 24;
    dync_program *p = dync_export(twice, x);
    if (!p) return 25;
#if defined(DYNC_NO_PRINT_GRAPH)
    if (*dync_graph_str(g) || !refused() || *dync_graph_readable(g) || !refused()) return 26;
    if (dync_graph_dot(g) || !refused()) return 27;
    if (dync_program_save(p, file) == DYNC_OK || !refused()) return 28;
#else
    if (!*dync_graph_str(g) || !dync_graph_dot(g)) return 26;
    if (dync_program_save(p, file) != DYNC_OK) return 27;
    if (dync_program_load(file) || !refused()) return 28;
#endif
    dync_program_free(p);
    return 0;
}

int main(int argc, char **argv)
{
    const float v[4] = {4, 1, 3, 2};
    dync_init_options options = {.threads = 1};
    dync_on_error(quietly, NULL);
    if (dync_init(options) != DYNC_OK) return 1;
    dync_tensor *x = dync_from(v, dync_shape(4)), *p = dync_from(v, dync_shape(1, 1, 2, 2));
    if (!sizes()) return 2;
    dync_mark_dynamic(x, 0);
    if (!refused()) return 3;
    if (dync_compile(twice, .dynamic = DYNC_DYNAMIC_ON) || !refused()) return 4;
    if (dync_requires_grad_(x, true) || !refused() || dync_requires_grad(x)) return 5;
    if (dync_backward(dync_sum(x, DYNC_ALL, false)) == DYNC_OK || !refused()) return 6;
    if (dync_sort(x, 0, false).kind == DYNC_KIND_LIST || !refused()) return 7;
    if (dync_conv2d(p, p, NULL, dync_shape(1, 1), dync_shape(0, 0), dync_shape(1, 1), 1) ||
        !refused())
        return 8;
    dync_matmul(x, p), dync_clear_error();
    if (dync_add(x, dync_from(v, dync_shape(3))) || dync_error() != DYNC_ERR_SHAPE) return 9;
    if (strcmp(dync_error_message(), "RuntimeError")) return 10;
    dync_clear_error();
    int failed = graphs(argc > 1 ? argv[1] : "switches.dync");
    if (failed) return failed;
    dync_shutdown();
    return dync_error() == DYNC_OK ? 0 : 11;
}
