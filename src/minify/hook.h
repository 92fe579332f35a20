/* minify/hook.h: what the files around a watched backend share. */
#ifndef DYNC__HOOK_H
#define DYNC__HOOK_H
#include "minify.h"

/* What this thread compiles now; busy: for the minifier itself. */
typedef struct dync__hook_state {
    bool busy;
    int aot_level; /* 0: graphs after AOT are left alone */
    const char *backend, *options;
} dync__hook_state;
DYNC__DATA_DECL DYNC__TLS dync__hook_state dync__hook;
/* ---- hook_left.c ----------------------------------------------------------------------------- */
DYNC__FN bool dync__hook_launcher(const dync__repro_file *file, dync__graph *g, int n,
                                  const dync_value *inputs, dync__str *path);
DYNC__FN void dync__hook_failed(dync__error_slot *error, int level, const dync__repro_file *file,
                                dync__graph *g, int n, const dync_value *inputs, dync__str *path,
                                bool written);
DYNC__FN void dync__hook_judge(dync__judge *j, const dync_backend *b, const char *options,
                               int level);
DYNC__FN dync_status dync__hook_verdict(const dync__verdict *v, int level, dync__repro_file *file,
                                        dync__graph *g, int n, const dync_value *inputs,
                                        const char *bad_accuracy, dync__str *path, bool written);
/* ---- hook_aot.c ------------------------------------------------------------------------------ */
DYNC__FN bool dync__hook_may_fork(int level);
DYNC__FN bool dync__hook_watches(void);
DYNC__FN dync_status dync__hook_after_aot(const dync__inner_compiler *inner, dync__graph *g,
                                          bool is_backward, const dync__options *options,
                                          dync__inner *out);
#endif
