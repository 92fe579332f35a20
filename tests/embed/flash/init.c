/* Memory from one buffer, and nothing else. */
#include "dync.h"
static _Alignas(64) unsigned char memory[64 << 10];

int main(void)
{
    dync_init_options options = {.memory = memory, .memory_size = sizeof memory};
    return dync_init(options) != DYNC_OK;
}
