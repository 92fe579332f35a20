/* program/ts.c: the backend "ts": the graph goes through the portable program form in memory, as a
 * file would hold it, is read back and run from there. What works with it survives saving. Named
 * for upstream's TorchScript backend. After program_file.c; its row stands in backend/backend.h. */
#include "../dync.in.h"
#include "../backend/backend.h"
#include "program.h"
DYNC__COLD

/* Programs take tensors: a number of the graph's is one of no dimensions (aot/number.c). state: the
 * program. Room for few arguments is on the stack. */
static dync_value dync__ts_run(void *state, const dync_value *args, int nargs)
{
    dync_value few[DYNC__FEW], result = few[0] = DYNC_NONE;
    dync_value *in = dync__room(few, DYNC__FEW, nargs, sizeof *in);
    bool good = in != NULL;
    for (int i = 0; i < nargs && good; i++) {
        dync__tensor *number = NULL;
        in[i] = args[i];
        if (args[i].kind != DYNC_KIND_INT && args[i].kind != DYNC_KIND_FLOAT) continue;
        if ((good = (number = dync__number_tensor(args[i])) != NULL))
            in[i] = dync_v_tensor(dync__give(number));
    }
    if (good) result = dync__program_run(state, nargs, in);
    dync__room_end(in, few, nargs, sizeof *in);
    return result;
}
static void dync__ts_destroy(void *state) { dync__program_free(state); }

static dync_status dync__ts_compile(dync__graph *, const dync_value *, int n, const char *options,
                                    dync_callable *, void *user);

/* As unlist.c, staged.c and sized.c ask: without options, which were told before. */
static dync_status dync__ts_instance(dync__graph *g, const dync_value *ex, int n,
                                     const dync__options *options, dync_callable *out, void *user)
{
    (void)options;
    return dync__ts_compile(g, ex, n, NULL, out, user);
}

/* Graphs of lists (compiled autograd), in parts (sizes that data decide) and symbolic ones come
 * back here with tensors and plain sizes. */
static dync_status dync__ts_compile(dync__graph *g, const dync_value *ex, int n,
                                    const char *options, dync_callable *out, void *user)
{
    dync__str bytes = {0};
    static const dync__options plain = DYNC__OPTIONS_DEFAULT;
    dync__options_ignored(options, "ts");
    dync__aot_use_stages();
    if (dync__graph_takes_lists(g))
        return dync__unlist_compile(g, ex, n, &plain, dync__ts_instance, user, out);
    if (dync__graph_is_staged(g))
        return dync__staged_compile(g, &plain, dync__ts_instance, user, out);
    if (dync__graph_is_sized(g))
        return dync__sized_compile(g, ex, n, &plain, dync__ts_instance, user, NULL, out);
    dync__graph *tensors = NULL;
    if (dync__graph_has_numbers(g)) DYNC__TRY(dync__graph_numbers(g, &tensors));
    dync__program *written = dync__program_from_leaves(tensors ? tensors : g, "graph", 0, NULL),
                  *read = NULL;
    dync__graph_unref(tensors);
    dync_status status = written ? dync__program_write_own(written, &bytes) : dync_error();
    if (status == DYNC_OK && bytes.failed) status = DYNC_ERR_MEMORY;
    if (status == DYNC_OK && !(read = dync__program_read_own(bytes.at, bytes.n)))
        status = dync_error();
    dync__str_free(&bytes);
    dync__program_free(written);
    if (status != DYNC_OK) return status;
    memset(out, 0, sizeof *out);
    out->run = dync__ts_run;
    out->destroy = dync__ts_destroy;
    out->state = read;
    return DYNC_OK;
}

DYNC__FN dync_status dync__backend_ts(dync_graph *graph, const dync_value *ex, int n,
                                      const char *options, dync_callable *out, void *user)
{
    dync__graph *g = dync__graph_open(graph, "backend ts");
    return g ? dync__ts_compile(g, ex, n, options, out, user) : DYNC_ERR_VALUE;
}
