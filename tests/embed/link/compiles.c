/* Compiles and calls, and knows nothing of gradients. Compiled as C++, too. */
#include "parts.h"

#if defined(UNNAMED)
dync_compiled *compiled(function *f)
{
    dync_compile_options options = {0};
    return dync__compile_usual(DYNC_FN(f), "f", options);
}
dync_compiled *compiled_whole(function *f)
{
    dync_compile_options options = {0};
    return dync__compile_whole(DYNC_FN(f), "f", options);
}
#elif defined(__cplusplus)
dync_compiled *compiled(function *f) { return dync_compile(f); }
dync_compiled *compiled_whole(function *f)
{
    dync_compile_options options = dync_compile_options();
    options.fullgraph = true;
    return dync_compile(f, options);
}
#else
dync_compiled *compiled(function *f) { return dync_compile(f); }
dync_compiled *compiled_whole(function *f) { return dync_compile(f, .fullgraph = true); }
#endif

static dync_tensor *squares(dync_tensor *x) { return dync_sum(dync_mul(x, x), DYNC_ALL, false); }

int compiles(void)
{
    dync_tensor *x = dync_full(dync_shape(3), 2);
    dync_compiled *f = compiled(squares), *g = compiled_whole(squares);
    int bad = !is_near(dync_call(f, x), 12) || !is_near(dync_call(g, x), 12);
    dync_compiled_free(f);
    dync_compiled_free(g);
    return bad || dync_error() != DYNC_OK;
}
