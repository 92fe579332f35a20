/* tensor/init.c: the library as a whole: dync_init, dync_shutdown, memory statistics.
 *
 * Shutdown goes from the top down: scopes of the caller, what upper layers registered (caches,
 * modules), the workers, the state of every thread, tensors still held, interned names, and last
 * the blocks kept for reuse. Then nothing is allocated, and the library can be used again as if
 * fresh; only the error stays readable. */
#include "../dync.in.h"
#include "tensor.h"
DYNC__COLD

static bool dync__init_done;

DYNC_API dync_status dync_init(dync_init_options options)
{
    if (dync__init_done)
        return dync__fail(DYNC_ERR_VALUE, "dync_init: called twice without "
                                          "dync_shutdown between");
    if (dync__mem_in_use())
        return dync__fail(DYNC_ERR_VALUE, "dync_init: expected as the first "
                                          "call, but dync has allocated "
                                          "memory already");
    if (options.threads < 0)
        return dync__fail(DYNC_ERR_VALUE, "dync_init: threads: expected 0 or more, got %d",
                          options.threads);
    if (options.memory && !dync__mem_set_buffer(options.memory, options.memory_size))
        return dync__fail(DYNC_ERR_VALUE, "dync_init: memory: expected %zu bytes or more, got %zu",
                          (size_t)DYNC__HEAP_LEAST, options.memory_size);
    if (!options.memory && options.memory_size)
        return dync__fail(DYNC_ERR_VALUE, "dync_init: "
                                          "memory_size "
                                          "without memory");
    dync__init_done = true;
    dync__pool_set_threads(options.threads);
    dync__tls.rng_seed = options.seed;
    dync__tls.rng_offset = 0;
    return DYNC_OK;
}

DYNC_API void dync_shutdown(void)
{
    (void)dync__waits_left();
    if (dync__tls.waits) {
        dync__fail(DYNC_ERR_VALUE,
                   "dync_shutdown: called inside a function that is being traced or called");
        return;
    }
    dync__scope_end_all();
    dync__run_shutdown();
    dync__pool_stop();
    dync__thread_end_all();
    dync__tensors_shutdown();
    dync__intern_clear();
    dync__thread_end_all();
    dync__objects_shutdown();
    dync__mem_set_buffer(NULL, 0);
    dync__pool_set_threads(0);
    dync__tls.rng_seed = dync__tls.rng_offset = 0;
    dync__init_done = false;
}

DYNC_API dync_memory dync_memory_stats(void)
{
    dync__mem_stats s = dync__mem_read_stats();
    dync_memory m = {s.live_bytes, s.peak_bytes, dync__live_tensors(), s.mallocs};
    return m;
}
