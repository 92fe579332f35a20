/* The unit with the implementation. Including the header before the define, as a header of the
 * user's would, is allowed. */
#include "dync.h"
#define DYNC_IMPLEMENTATION
#include "dync.h"
