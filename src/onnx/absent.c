/* onnx/absent.c: what stands in the place of this folder under DYNC_NO_ONNX (and DYNC_SMALL). */
#include "../dync.in.h"
#include "../program/program.h"
DYNC__COLD

#if defined(DYNC_NO_ONNX)
DYNC_API dync_program *dync_program_load_onnx(const char *path)
{
    dync__fail(DYNC_ERR_UNSUPPORTED, "%s: built with DYNC_NO_ONNX, which reads no ONNX",
               path ? path : "NULL");
    return NULL;
}
#endif
