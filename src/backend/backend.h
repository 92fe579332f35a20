/* backend/backend.h: the registry and the library's own backends. After inductor/, before program/. */
#ifndef DYNC__BACKEND_H
#define DYNC__BACKEND_H
#include "../inductor/inductor.h"
/* One row per built-in backend: name, tags, compile function. */
#define DYNC__BACKENDS(X)                                                                              \
    X(aot_eager,      "debug", dync__backend_aot_eager)                                                \
    X(aot_eager_decomp_partition,    "debug", dync__backend_aot_eager_decomp)                            \
    X(aot_eager_default_partitioner, "debug", dync__backend_aot_eager_default)                           \
    X(aot_ts,         "debug", dync__backend_aot_ts)                                                   \
    X(cudagraphs,     NULL,    dync__backend_cudagraphs)                                               \
    X(eager,          "debug", dync__backend_eager)                                                    \
    X(eager_noexcept, "debug", dync__backend_eager_noexcept)                                           \
    X(inductor,       NULL,    dync__backend_inductor)                                                 \
    X(onnxrt,         NULL,    dync__backend_onnxrt)                                                   \
    X(ts,             "debug", dync__backend_ts)  /* program/ts.c */                                   \
    X(tvm,            NULL,    dync__backend_tvm)                                                      \
    X(non_leaf_compile_error_TESTING_ONLY, "debug", dync__backend_non_leaf_compile_error)              \
    X(relu_accuracy_error_TESTING_ONLY, "debug", dync__backend_relu_accuracy_error)                    \
    X(relu_compile_error_TESTING_ONLY, "debug", dync__backend_relu_compile_error)                      \
    X(relu_runtime_error_TESTING_ONLY, "debug", dync__backend_relu_runtime_error)
/* minify/repro.c: they write files. */
#if !defined(DYNC_NO_STDIO)
#define DYNC__MINIFIER_BACKENDS(X)                                                 \
    X(dynamo_accuracy_minifier_backend, "debug", dync__backend_minifier_accuracy) \
    X(dynamo_minifier_backend,          "debug", dync__backend_minifier)
#else
#define DYNC__MINIFIER_BACKENDS(X)
#endif
#define DYNC__X(name, tags, fn) DYNC__FN dync_status fn(dync_graph *, const dync_value *, int, const char *, dync_callable *, void *);
DYNC__BACKENDS(DYNC__X)
DYNC__MINIFIER_BACKENDS(DYNC__X)
#undef DYNC__X
DYNC__FN bool dync__backend_is_builtin(const char *name);
/* Options "key=value, key": every key must be in the list "opt_level,threads"; DYNC_ERR_VALUE naming those that exist. */
DYNC__FN dync_status dync__options_check(const char *options, const char *backend, const char *keys);
/* The same, and their values, for a backend of the library: as its compile function would say. Others are not asked. */
DYNC__FN dync_status dync__backend_check_options(const dync_backend *, const char *options);
DYNC__FN void dync__options_ignored(const char *options, const char *backend);   /* warns where there are any */
#endif
