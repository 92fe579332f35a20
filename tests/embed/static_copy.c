/* A private copy of dync whose two entries are COPY_fails and COPY_works. */
#define DYNC_STATIC
#define DYNC_IMPLEMENTATION
#include "dync.h"
#define ENTRY(name) DYNC_CAT(DYNC_CAT(COPY, _), name)
int ENTRY(fails)(void);
int ENTRY(works)(void);

static void quiet(dync_status status, const char *message, void *user)
{
    (void)status;
    (void)message;
    (void)user;
}

/* Leaves an error pending in this copy. */
int ENTRY(fails)(void)
{
    dync_on_error(quiet, NULL);
    dync_add(dync_ones(dync_shape(2)), dync_ones(dync_shape(3)));
    return dync_error() != DYNC_ERR_SHAPE;
}

int ENTRY(works)(void)
{
    double sum = dync_item(dync_sum(dync_ones(dync_shape(4)), DYNC_ALL, false));
    int bad = dync_error() != DYNC_OK || sum < 4 || sum > 4;
    dync_shutdown();
    return bad;
}
