/* graph/types_work.c: how much work a call is, for limits. Before types.c. */
#include "../dync.in.h"
#include "graph.h"
DYNC__COLD

/* Scalar operations of a call, roughly: what is read and written, and what is multiplied on the
 * way. */
DYNC__FN double dync__types_work(const dync__opcall *call)
{
    dync__tensor *in[DYNC__MAX_ARGS], *const *out = call->out;
    int n = dync__opcall_tensors(call, in, DYNC__MAX_ARGS);
    double work = 0, result = call->nout && out[0] ? (double)out[0]->numel : 0, last[3] = {0};
    if (call->row->cls == DYNC__VIEW) return 1;
    for (int i = 0; i < n && i < DYNC__MAX_ARGS; i++) {
        work += (double)in[i]->numel;
        if (i < 3) last[i] = in[i]->lay.ndim ? (double)in[i]->lay.shape[in[i]->lay.ndim - 1] : 1;
    }
    for (int i = 0; i < call->nout; i++) work += out[i] ? (double)out[i]->numel : 0;
    switch (call->row->flags & DYNC__OP_WORK) {
    case DYNC__OP_WORK_PRODUCT: return work + result * last[0];
    case DYNC__OP_WORK_ADDMM: return work + result * last[1];
    case DYNC__OP_WORK_CONV:
        return work + result * (double)in[1]->numel / DYNC__MAX((double)in[1]->lay.shape[0], 1);
    case DYNC__OP_WORK_CONV_GRAD:
        return work + 2 * (double)in[0]->numel * (double)in[2]->numel /
                          DYNC__MAX((double)in[2]->lay.shape[0], 1);
    case DYNC__OP_WORK_WINDOW:
        return work + result * (double)call->args[1].as.dims[0] *
                          (double)call->args[1].as.dims[call->args[1].n - 1];
    case DYNC__OP_WORK_ATTENTION:
        return work + (double)in[0]->numel * (double)in[1]->lay.shape[in[1]->lay.ndim - 2] +
               result * (double)in[1]->lay.shape[in[1]->lay.ndim - 2];
    case DYNC__OP_WORK_RECURRENT: return work + (double)in[0]->numel * (double)in[1]->lay.shape[1];
    case DYNC__OP_WORK_SORT: return 32 * work;
    default: return work;
    }
}
