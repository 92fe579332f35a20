/* onnx/ort.h: ONNX Runtime's C interface, as far as it is called: dync's own declarations. After
 * out.h.
 *
 * The interface is one table of functions, which only grows: a member's place never changes. It is
 * asked for by version, so that older and newer libraries answer alike. Every call that may fail
 * gives a status, NULL for success. Source: the C interface of github.com/microsoft/onnxruntime
 * (order of members, numbers of enumerations). */
#ifndef DYNC__ORT_H
#define DYNC__ORT_H
#include "../backend/backend.h"
#include "out.h"

enum {
    DYNC__ORT_VERSION = 8,         /* of the interface: ONNX Runtime 1.8 and later have it */
    DYNC__ORT_NOT_IMPLEMENTED = 9, /* a status: there is no kernel for a node */
    DYNC__ORT_LOG_FATAL = 4,       /* nothing is printed */
    DYNC__ORT_OPTIMIZE_ALL = 99,
    DYNC__ORT_DEVICE_ALLOCATOR = 0, /* kind of memory: the user's own, on the CPU */
    DYNC__ORT_MEMORY_DEFAULT = 0
};
typedef struct dync__ort_status dync__ort_status;
typedef struct dync__ort_env dync__ort_env;
typedef struct dync__ort_session dync__ort_session;
typedef struct dync__ort_settings dync__ort_settings;
typedef struct dync__ort_value dync__ort_value;
typedef struct dync__ort_memory dync__ort_memory;

/* name, place in the table, result, arguments */
/* clang-format off */
#define DYNC__ORT_CALLS(X)                                                                                           \
    X(error_code,          1,  int,                (const dync__ort_status *))                                       \
    X(error_message,       2,  const char *,       (const dync__ort_status *))                                       \
    X(create_env,          3,  dync__ort_status *, (int log_level, const char *name, dync__ort_env **))              \
    X(create_session,      8,  dync__ort_status *, (const dync__ort_env *, const void *model, size_t bytes,          \
                                                    const dync__ort_settings *, dync__ort_session **))               \
    X(run,                 9,  dync__ort_status *, (dync__ort_session *, const void *run_options,                    \
                                                    const char *const *input, const dync__ort_value *const *,        \
                                                    size_t n_in, const char *const *output, size_t n_out,            \
                                                    dync__ort_value **))                                             \
    X(create_settings,     10, dync__ort_status *, (dync__ort_settings **))                                          \
    X(set_optimization,    23, dync__ort_status *, (dync__ort_settings *, int level))                                \
    X(set_threads,         24, dync__ort_status *, (dync__ort_settings *, int threads))                              \
    X(create_value,        49, dync__ort_status *, (const dync__ort_memory *, void *data, size_t bytes,              \
                                                    const int64_t *shape, size_t rank, int dtype,                    \
                                                    dync__ort_value **))                                             \
    X(create_memory,       69, dync__ort_status *, (int allocator, int kind, dync__ort_memory **))                   \
    X(release_status,      93, void,               (dync__ort_status *))                                             \
    X(release_session,     95, void,               (dync__ort_session *))                                            \
    X(release_value,       96, void,               (dync__ort_value *))                                              \
    X(release_settings,    100, void,              (dync__ort_settings *))                                           \
    X(providers,           125, dync__ort_status *, (char ***names, int *n))                                         \
    X(release_providers,   126, dync__ort_status *, (char **names, int n))
/* clang-format on */

/* The library once it is open. */
typedef struct dync__ort {
    void *library;
    dync__ort_env *env;
    dync__ort_memory *memory;
#define DYNC__X(name, place, result, args) result(*name) args;
    DYNC__ORT_CALLS(DYNC__X)
#undef DYNC__X
} dync__ort;

/* ort.c. Opens it, once: DYNC_ERR_BACKEND where it is not to be had. Any thread. */
DYNC__FN dync_status dync__ort_open(const dync__ort **out);
/* Ends a status: DYNC_OK, or DYNC_ERR_BACKEND with the runtime's words. */
DYNC__FN dync_status dync__ort_check(const dync__ort *, dync__ort_status *, const char *doing);
/* A session of a model. DYNC_ERR_UNSUPPORTED, not recorded: no kernel for the node whose name is
 * copied to node. */
DYNC__FN dync_status dync__ort_session_of(const dync__ort *, const dync__onnx_model *,
                                          const dync__options *, char node[128],
                                          dync__ort_session **out);
/* Runs it: inputs in any layout, outputs new tensors in the layouts of `info`. Dense ones are bound
 * as they lie. */
DYNC__FN dync_status dync__ort_run(const dync__ort *, dync__ort_session *, int n_in,
                                   const char *const *in_name, dync__tensor *const *in, int n_out,
                                   const char *const *out_name, const dync__info *info,
                                   dync__tensor **out);
#endif
