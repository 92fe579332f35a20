/* onnx/link.h: what the files that link a model share. */
#ifndef DYNC__ONNX_LINK_H
#define DYNC__ONNX_LINK_H
#include "maps.h"

/* names of a body's values while it is linked */
typedef struct dync__onnx_names {
    const dync__onnx_body *body;
    struct dync__onnx_names *outer;
    DYNC__VEC(const char *) name; /* by place; in the arena */
    dync__map at;                 /* hash of a name -> its last place + 1; equal hashes chain */
    DYNC__VEC(int) next;
} dync__onnx_names;

typedef struct dync__onnx_linker {
    dync__onnx_loaded *l;
    const dync__onnx_model *model;
    dync__onnx_body **function; /* of the model's, linked or NULL */
    bool *open;                 /* one that is being linked: it calls itself */
    int depth;
} dync__onnx_linker;
/* ---- link_known.c ---------------------------------------------------------------------------- */
DYNC__FN bool dync__onnx_default_domain(const char *domain);
DYNC__FN int dync__onnx_version(const dync__onnx_linker *k, const dync__onnx_function *f,
                                const char *domain);
DYNC__FN int dync__onnx_function_of(const dync__onnx_model *m, const dync__onnx_node *n);
DYNC__FN dync_status dync__onnx_all_known(const dync__onnx_linker *k);
#endif
