// A C++ program with DYNC_NO_F64: numbers of both types go in, floats come out.
#include "dync.h"
#include <type_traits>
static_assert(std::is_same<dync_real, float>::value, "numbers are floats");
static_assert(std::is_same<decltype(dync_as_float(DYNC_NONE)), float>::value, "and what is read");

static dync_tensor *scale(dync_tensor *x) { return dync_mul(dync_add(x, 0.5), 3.0f); }

int main()
{
    dync_compiled *f = dync_compile(scale);
    dync_real got = dync_item(dync_sum(dync_call(f, dync_ones(dync_shape(5))), DYNC_ALL, false));
    dync_optim_options options = {};
    options.lr = 0.25;
    dync_tensor *p = dync_parameter(dync_full(dync_shape(1), 2.0));
    dync_optim *o = dync_optim_new(DYNC_OPTIM_SGD, 1, &p, options);
    dync_backward(dync_mul(p, p));
    dync_optim_step(o);
    dync_real left = dync_item(p);
    dync_optim_free(o);
    dync_compiled_free(f);
    dync_shutdown();
    return dync_error() != DYNC_OK || got < 22.5f || got > 22.5f || left < 1 || left > 1;
}
