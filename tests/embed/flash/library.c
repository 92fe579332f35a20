/* The library that the programs beside it link: no malloc, sections for the linker to choose. */
#define DYNC_MALLOC(n) ((void)(n), (void *)0)
#define DYNC_REALLOC(p, n) ((void)(p), (void)(n), (void *)0)
#define DYNC_FREE(p) ((void)(p))
#define DYNC_IMPLEMENTATION
#include "dync.h"
