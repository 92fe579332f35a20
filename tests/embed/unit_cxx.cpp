// A C++ program whose only C file is unit_a.c.
#include "dync.h"

static dync_tensor *scale(dync_tensor *x) { return dync_mul(x, 3); }

int main()
{
    dync_compiled *f = dync_compile(scale);
    double got = dync_item(dync_sum(dync_call(f, dync_ones(dync_shape(5))), DYNC_ALL, false));
    dync_compiled_free(f);
    dync_shutdown();
    return dync_error() != DYNC_OK || got < 15 || got > 15;
}
