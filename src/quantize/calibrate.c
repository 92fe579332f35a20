/* quantize/calibrate.c: batches through the float graph, whose ranges are observed. After walk.c,
 * before program.c. */
#include "../dync.in.h"
#include "../capture/capture.h"
#include "quantize.h"
DYNC__COLD

DYNC__FN dync_status dync__quant_batch(dync_value batches, int i, dync_value *item,
                                       dync__callargs *call)
{
    *item = dync_at(batches, i);
    const dync__list *list = dync__value_list(*item);
    if (list) return dync__callargs_flatten(call, list->n, list->items);
    return dync__callargs_flatten(call, 1, item);
}

/* The program is run first, as its messages about arguments are the ones a user knows. */
static dync_status dync__quant_calibrate_one(dync__quant_job *j, dync_value batches, int i)
{
    dync__callargs call;
    dync__arg out;
    dync__tensor *in[DYNC__MAX_LEAVES];
    dync_value item;
    j->z.batch = i;
    DYNC__TRY(dync__quant_batch(batches, i, &item, &call));
    /* checks what came */
    uint64_t errors = dync__error_count();
    (void)dync__program_run(j->p, call.nargs, call.args);
    if (dync__error_count() != errors && dync_error() != DYNC_OK) { /* not one that was mended */
        char why[256];
        dync_status status = dync_error();
        dync__format(why, sizeof why, "%s", dync_error_message());
        dync_clear_error();
        return dync__fail(status, "dync_quantize_program: batch %d: %s", i, why);
    }
    for (int k = 0; k < j->p->graph->n_inputs; k++) in[k] = call.tensor[j->p->leaf[k]];
    return dync__quant_walk(&j->z, in, false, &out);
}

DYNC__FN dync_status dync__quant_calibrate(dync__quant_job *j, dync_value batches)
{
    bool bins = j->z.options.percentile > 0 && j->z.options.percentile < 100;
    for (int round = 0; round < 1 + bins; round++) {
        j->z.counting = round == 1;
        for (int i = 0; i < dync_len(batches); i++) {
            dync_scope scope = dync_scope_begin();
            dync_status status = dync__quant_calibrate_one(j, batches, i);
            dync_scope_end(&scope);
            if (status != DYNC_OK) return status;
        }
    }
    for (int i = 0; bins && i < j->z.g->node.n; i++) {
        dync__quant_trim(&j->z, &j->z.range[i]);
        dync__quant_trim(&j->z, &j->z.state[i]);
    }
    return DYNC_OK;
}
