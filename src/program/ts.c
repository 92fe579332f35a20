/* program/ts.c: the backend "ts": the graph goes through the portable program form in memory, as a
 * file would hold it, is read back and run from there. What works with it survives saving. Named
 * for upstream's TorchScript backend. After program_file.c; its row stands in backend/backend.h. */
#include "../dync.in.h"
#include "../backend/backend.h"
#include "program.h"

static dync_value dync__ts_run(void *state, const dync_value *args, int nargs)
{
    return dync_program_run(state, nargs, args);
}
static void dync__ts_destroy(void *state) { dync_program_free(state); }

/* For each set of sizes, as sized.c asks: without options, which were told before. */
static dync_status dync__ts_instance(dync_graph *g, const dync_value *ex, int n, const dync__options *options, dync_callable *out, void *user)
{
    (void)options;
    return dync__backend_ts(g, ex, n, NULL, out, user);
}

DYNC__FN dync_status dync__backend_ts(dync_graph *g, const dync_value *ex, int n,
                                      const char *options, dync_callable *out, void *user)
{
    dync__str bytes = {0};
    static const dync__options plain = DYNC__OPTIONS_DEFAULT;
    dync__options_ignored(options, "ts");
    if (g->syms) return dync__sized_compile(g, ex, n, &plain, dync__ts_instance, user, NULL, out);
    dync_program *written = dync__program_from_leaves(g, "graph", 0, NULL), *read = NULL;
    dync_status status = written ? dync__program_write(written, &bytes) : dync_error();
    if (status == DYNC_OK && bytes.failed) status = DYNC_ERR_MEMORY;
    if (status == DYNC_OK && !(read = dync__program_read(bytes.at, bytes.n))) status = dync_error();
    dync__str_free(&bytes);
    dync_program_free(written);
    if (status != DYNC_OK) return status;
    memset(out, 0, sizeof *out);
    out->run = dync__ts_run;
    out->destroy = dync__ts_destroy;
    out->state = read;
    return DYNC_OK;
}
