/* minify/minifying.c: shrinks a graph that fails and leaves the smallest one as a program: what the
 * command "minify" of a repro and the backends that shrink do. After shrink.c and write_place.c,
 * before repro.c and backends.c. */
#include "../dync.in.h"
#include "minify.h"
DYNC__COLD

/* dync__shrink's predicate: the graph fails in the way that the whole did. */
static bool dync__minifying_fails(void *user, dync__graph *g, int n, const dync_value *inputs)
{
    const dync__minifying *m = user;
    dync__verdict now;
    dync__judge_graph(&m->judge, g, n, inputs, &now);
    return dync__judge_similar(&m->first, &now);
}

/* dync__shrink's "improved": each smaller graph goes to disk at once, so that a run which is
 * interrupted leaves its best. Not being able to write is told at the end. */
static void dync__minifying_dump(void *user, dync__graph *g, int n, const dync_value *inputs)
{
    dync__minifying *m = user;
    dync__error_guard guard;
    dync__error_guard_begin(&guard);
    dync_status status = dync__repro_checkpoint(&m->file, g, n, inputs);
    const dync__error_slot *error = dync__error_guard_end(&guard);
    m->could_not = status != DYNC_OK;
    if (m->could_not) dync__warn("Could not write the checkpoint: %s", error->message);
}

/* Sets m->first, the verdict on the whole graph, then shrinks. g is not changed. Fails where the
 * graph does not fail, or the result could not be written. */
DYNC__FN dync_status dync__minifying_run(dync__minifying *m, dync__graph *g, int n,
                                         const dync_value *inputs)
{
    dync__judge whole = m->judge;
    whole.skip_eager = true;
    dync__judge_graph(&whole, g, n, inputs, &m->first);
    if (m->first.kind == DYNC__RAISES || m->first.kind == DYNC__CRASHES ||
        m->first.kind == DYNC__HANGS)
        dync__warn("Compiled Fx GraphModule failed. Creating script to minify the error.");
    else if (m->first.kind == DYNC__INACCURATE)
        dync__warn("Accuracy failed for the TorchDynamo "
                   "produced graph");
    else
        return dync__fail_class(DYNC_ERR_VALUE, "RuntimeError",
                                "Input graph did not fail the tester");
    dync__shrink how = {
        .fails = dync__minifying_fails, .improved = dync__minifying_dump, .user = m};
    dync__graph *smallest = dync__graph_clone(g);
    dync_value left;
    int queries = 0;
    if (!smallest) return DYNC_ERR_MEMORY;
    dync_status status = dync__shrink_graph(&how, &smallest, n, inputs, &left, &queries);
    dync__graph_unref(smallest);
    if (status == DYNC_OK && m->could_not)
        return dync__fail(DYNC_ERR_IO, "the minimal repro "
                                       "could not be written");
    if (status == DYNC_OK) dync__minify_say("Wrote minimal repro out to repro.c");
    return status;
}

/* Fills m from the arguments and the settings of the process. b and options must outlive m. */
DYNC__FN void dync__minifying_begin(dync__minifying *m, const dync_backend *b, const char *options,
                                    bool accuracy, bool isolate, bool only_fwd)
{
    const dync__repro_settings *now = dync__repro_now();
    memset(m, 0, sizeof *m);
    m->judge = (dync__judge){.backend = b,
                             .options = options,
                             .accuracy = accuracy,
                             .isolate = isolate && now->isolate,
                             .forward_only = only_fwd || now->forward_only};
    m->judge.timeout_ms = (int)DYNC__MIN(now->timeout_s * 1000, 1e9);
    m->file = (dync__repro_file){.backend = b->name ? b->name : "inductor",
                                 .options = options,
                                 .accuracy = accuracy,
                                 .forward_only = only_fwd,
                                 .grad_off = dync__grad_is_off()};
}
