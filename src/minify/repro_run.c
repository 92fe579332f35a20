/* minify/repro_run.c: the command "run" of a repro: eager and the backend on the same inputs, as
 * torch/_dynamo/repro/after_dynamo.py, run_repro, has it. Before repro.c. */
#include "../dync.in.h"
#include "repro.h"
DYNC__COLD

/* As a compiled function would tell it. */
static dync_status dync__repro_compile(dync__repro_case *c, dync__graph *g, dync_callable *code)
{
    dync__error_guard guard;
    dync__str text = {0};
    dync__error_guard_begin(&guard);
    dync_status status = dync__judge_compile(c->backend, c->o->repro.options, g, c->reader.value.n,
                                             c->reader.value.at, code);
    const dync__error_slot *inner = dync__error_guard_end(&guard);
    if (status == DYNC_OK) return DYNC_OK;
    dync__str_addf(&text, "backend='%s' raised:\n", c->o->repro.backend);
    dync__error_text(&text, inner);
    status = dync__fail(DYNC_ERR_BACKEND, "%s", dync__str_get(&text));
    dync__str_free(&text);
    return status;
}

static bool dync__repro_forward_only(const dync__repro_case *c)
{
    return c->o->repro.only_fwd || dync__repro_now()->forward_only;
}

/* Compares eager with the compiled code. A graph that does not compile, or raises, is passed with a
 * warning: another failure than the one that the program is about. compiled: of
 * dync__repro_compile. */
static dync_status dync__repro_run_accuracy(dync__repro_case *c, const dync_callable *code,
                                            dync_status compiled)
{
    bool same = true, ran = compiled == DYNC_OK;
    dync__str why = {0};
    dync_status status = DYNC_OK;
    if (ran)
        status = dync__accuracy_check(c->graph, code, c->reader.value.n, c->reader.value.at,
                                      dync__repro_forward_only(c), &same, &ran, &why);
    if (status == DYNC_OK && !ran)
        dync__warn("While minifying the program in accuracy minification mode, ran into a "
                   "runtime exception which is likely an unrelated "
                   "issue. Skipping this graph. %s",
                   compiled == DYNC_OK ? dync__str_get(&why) : dync_error_message());
    if (status == DYNC_OK && ran && !same) {
        dync__warn("Accuracy failed: %s", dync__str_get(&why));
        status = dync__fail_class(DYNC_ERR_ACCURACY, "AccuracyError", "Dynamo failed");
    }
    dync__str_free(&why);
    return status;
}

/* Runs the graph in eager mode first, since nothing can be said of a backend on a graph that fails
 * without it. With accuracy it is compared with itself. Without, it runs on the inputs themselves,
 * which are then read again. */
static dync_status dync__repro_eager(dync__repro_case *c)
{
    bool same = true, ran = true;
    dync__str why = {0};
    dync__run_items items = {0};
    dync__run_how how = {.forward_only = dync__repro_forward_only(c), .as_given = true};
    dync_status status;
    if (!c->o->repro.accuracy) {
        status = dync__run_once(c->graph, NULL, c->reader.value.n, c->reader.value.at, how, &items);
        dync__vec_free(&items);
        return status == DYNC_OK ? dync__repro_load(c) : status;
    }
    status = dync__accuracy_check(c->graph, NULL, c->reader.value.n, c->reader.value.at,
                                  dync__repro_forward_only(c), &same, &ran, &why);
    if (status == DYNC_OK && (!same || !ran))
        status = dync__fail_class(DYNC_ERR_RUNTIME, "AssertionError", "Eager itself failed");
    dync__str_free(&why);
    return status;
}

/* The command "run". DYNC_OK: eager and the backend agree or, without accuracy, both run. */
DYNC__FN dync_status dync__repro_run(dync__repro_case *c)
{
    dync_callable code = {0};
    dync__run_items items = {0};
    dync__run_how how = {.forward_only = dync__repro_forward_only(c), .as_given = true};
    dync_status status = dync__repro_eager(c);
    if (status != DYNC_OK) return status;
    dync__graph *g = dync__graph_clone(c->graph);
    if (!g) return DYNC_ERR_MEMORY;
    dync_status compiled;
    if (c->o->repro.accuracy) { /* an error is not what is judged here */
        dync__error_guard guard;
        dync__error_guard_begin(&guard);
        compiled = dync__repro_compile(c, g, &code);
        (void)dync__error_guard_end(&guard);
        status = dync__repro_run_accuracy(c, &code, compiled);
    } else {
        status = compiled = dync__repro_compile(c, g, &code);
        if (status == DYNC_OK)
            status =
                dync__run_once(c->graph, &code, c->reader.value.n, c->reader.value.at, how, &items);
    }
    dync__vec_free(&items);
    if (compiled == DYNC_OK && code.destroy) code.destroy(code.state);
    dync__graph_unref(g);
    return status;
}
