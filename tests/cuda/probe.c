/* tests/cuda/probe.c: is there a GPU? Says which, or why not (exit status 1). */
#include "dync.h"
#include "dync_cuda.h"
#include <stdio.h>

int main(void)
{
    int n = dync_cuda_device_count();
    printf(n ? "%d GPU%s\n" : "%.0d%s\n", n, n == 1 ? "" : n ? "s" : dync_cuda_reason());
    return n == 0;
}
