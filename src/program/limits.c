/* program/limits.c: what a program file may ask for. Before sizes.c. */
#include "../dync.in.h"
#include "program.h"
DYNC__COLD

/* Process-wide; nodes, elements and work are explained at dync_limits. */
static struct {
    dync__mutex lock;
    dync_limits at;
} dync__program_limits;

/* The limits set by dync_set_limits; 0 stands for the default. */
DYNC__FN dync_limits dync__program_limits_get(void)
{
    dync__lock(&dync__program_limits.lock);
    dync_limits l = dync__program_limits.at;
    dync__unlock(&dync__program_limits.lock);
    if (!l.nodes) l.nodes = 100000;
    if (!l.elements) l.elements = (int64_t)1 << 36;
    if (!l.work) l.work = 1000000000000000;
    return l;
}

DYNC_API dync_status dync_set_limits(dync_limits limits)
{
    if (limits.nodes < 0 || limits.elements < 0 || limits.work < 0)
        return dync__fail(DYNC_ERR_VALUE,
                          "dync_set_limits: expected limits of at least 0, got "
                          "nodes %lld, elements %lld, work %lld",
                          (long long)limits.nodes, (long long)limits.elements,
                          (long long)limits.work);
    dync__lock(&dync__program_limits.lock);
    dync__program_limits.at = limits;
    dync__unlock(&dync__program_limits.lock);
    return DYNC_OK;
}
