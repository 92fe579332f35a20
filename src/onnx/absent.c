/* onnx/absent.c: what stands in the place of this folder under DYNC_NO_ONNX (and DYNC_SMALL). */
#include "../dync.in.h"
#include "../backend/backend.h"
#include "../program/program.h"
DYNC__COLD

/* the library in pieces has the folder all the same */
#if defined(DYNC_NO_ONNX) && !defined(DYNC__SPLIT)
DYNC_API dync_status(dync_program_save_onnx)(const dync_program *p, const char *path)
{
    if (!dync__program_open(p, "dync_program_save_onnx")) return DYNC_ERR_VALUE;
    return dync__fail(DYNC_ERR_UNSUPPORTED, "%s: built with DYNC_NO_ONNX, which writes no ONNX",
                      path ? path : "NULL");
}

/* onnxrt.c has the other one */
#define DYNC__X(name)                                                                              \
    DYNC__FN dync_status dync__backend_##name(dync_graph *g, const dync_value *ex, int n,          \
                                              const char *options, dync_callable *out, void *user) \
    {                                                                                              \
        dync__options o;                                                                           \
        (void)g, (void)ex, (void)n, (void)out, (void)user;                                         \
        DYNC__TRY(dync__backend_options(dync_lookup_backend(#name)->compile, options, &o));        \
        return dync__fail(DYNC_ERR_BACKEND,                                                        \
                          "backend '" #name "' is not available: ONNX Runtime is not part of "     \
                          "this program; 'inductor' needs nothing. dync was built with "           \
                          "DYNC_NO_ONNX");                                                         \
    }
DYNC__X(onnxrt)
#undef DYNC__X

DYNC_API dync_program *(dync_program_load_onnx)(const char *path)
{
    dync__fail(DYNC_ERR_UNSUPPORTED, "%s: built with DYNC_NO_ONNX, which reads no ONNX",
               path ? path : "NULL");
    return NULL;
}
#endif
