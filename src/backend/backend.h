/* backend/backend.h: the registry and the library's own backends. After inductor/, before
 * program/. */
#ifndef DYNC__BACKEND_H
#define DYNC__BACKEND_H
#include "../inductor/inductor.h"
/* One row per built-in backend: name, tags, whose options it takes, compile function. ANY: it warns
 * that it ignores them. */
#define DYNC__OF_ANY (~0u)
#define DYNC__OF_INDUCTORS (DYNC__OF_INDUCTOR | DYNC__OF_AOT)
/* clang-format off */
#define DYNC__BACKENDS(X)                                                                                        \
    X(aot_eager,                     "debug", DYNC__OF_AOT,       dync__backend_aot_eager)                        \
    X(aot_eager_decomp_partition,    "debug", DYNC__OF_AOT,       dync__backend_aot_eager_decomp)                 \
    X(aot_eager_default_partitioner, "debug", DYNC__OF_AOT,       dync__backend_aot_eager_default)                \
    X(aot_ts,                        "debug", DYNC__OF_AOT,       dync__backend_aot_ts)                           \
    X(cudagraphs,                    NULL,    DYNC__OF_INDUCTORS, dync__backend_cudagraphs)                       \
    X(eager,                         "debug", DYNC__OF_ANY,       dync__backend_eager)                            \
    X(eager_noexcept,                "debug", DYNC__OF_ANY,       dync__backend_eager_noexcept)                   \
    X(inductor,                      NULL,    DYNC__OF_INDUCTORS, dync__backend_inductor)                         \
    X(onnxrt,                        NULL,    DYNC__OF_ORT,       dync__backend_onnxrt) /* onnx/onnxrt.c */            \
    X(ts,                            "debug", DYNC__OF_ANY,       dync__backend_ts)  /* program/ts.c */           \
    X(tvm,                           NULL,    DYNC__OF_TVM,       dync__backend_tvm)                              \
    X(non_leaf_compile_error_TESTING_ONLY, "debug, testing", DYNC__OF_ANY, dync__backend_non_leaf_compile_error)  \
    X(relu_accuracy_error_TESTING_ONLY,    "debug, testing", DYNC__OF_ANY, dync__backend_relu_accuracy_error)     \
    X(relu_compile_error_TESTING_ONLY,     "debug, testing", DYNC__OF_ANY, dync__backend_relu_compile_error)      \
    X(relu_runtime_error_TESTING_ONLY,     "debug, testing", DYNC__OF_ANY, dync__backend_relu_runtime_error)
/* clang-format on */
/* minify/repro.c: they write files. */
#if !defined(DYNC_NO_STDIO)
#define DYNC__MINIFIER_BACKENDS(X)                                           \
    X(dynamo_accuracy_minifier_backend, "debug, testing", DYNC__OF_MINIFIER, \
      dync__backend_minifier_accuracy)                                       \
    X(dynamo_minifier_backend, "debug, testing", DYNC__OF_MINIFIER, dync__backend_minifier)
#else
#define DYNC__MINIFIER_BACKENDS(X)
#endif
typedef dync_status (*dync__backend_fn)(dync_graph *, const dync_value *, int, const char *,
                                        dync_callable *, void *);
#define DYNC__X(name, tags, of, fn)                                                               \
    DYNC__FN dync_status fn(dync_graph *, const dync_value *, int, const char *, dync_callable *, \
                            void *);
DYNC__BACKENDS(DYNC__X)
DYNC__MINIFIER_BACKENDS(DYNC__X)
#undef DYNC__X
DYNC__FN bool dync__backend_is_builtin(const char *name);
/* the one that is taken where none is named: inductor, without the table of all */
DYNC__FN const dync_backend *dync__backend_default(void);
/* Options "key=value, key" by the table in aot/options.h; DYNC_ERR_VALUE naming those that exist or
 * what a value may be. of: whose. others: names that are in no row are somebody else's. out->text
 * is the caller's text. */
DYNC__FN dync_status dync__options_parse(const char *options, const char *backend, unsigned of,
                                         bool others, dync__options *out);
/* Those of one of the library's backends, by its compile function. Of no other are they asked; its
 * options are the default then. */
/* From now on options are read; without, in a small program, each has its default. */
DYNC__FN void dync__backend_options_use(void);
DYNC__FN dync_status dync__backend_options(dync__backend_fn, const char *options,
                                           dync__options *out);
/* explain.c: a line about a graph that is being compiled, for dync_explain_backend; does nothing
 * where nobody explains */
DYNC__FN void dync__backend_note(const char *fmt, ...) DYNC__PRINTF(1, 2);
/* warns where there are any */
DYNC__FN void dync__options_ignored(const char *options, const char *backend);
#endif
