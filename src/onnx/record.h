/* onnx/record.h: see record.c. After onnx.h. */
#ifndef DYNC__ONNX_RECORD_H
#define DYNC__ONNX_RECORD_H
#include "onnx.h"
#include "../capture/trace.h"

/* load.c */
DYNC__FN dync__onnx_loaded *dync__onnx_parse(char *bytes_taken, size_t n,
                                             const char *folder_or_null);
DYNC__FN void dync__onnx_end(dync__onnx_loaded *);
DYNC__FN dync_status dync__onnx_run(dync__onnx_loaded *, dync_tensor *const *in,
                                    dync__onnx_value *out);
DYNC__FN dync__graph *dync__onnx_graph_of(dync__onnx_loaded *, const char *name);
DYNC__FN dync__program *dync__onnx_program(char *bytes_taken, size_t n, const char *folder_or_null,
                                           const char *name);

typedef struct dync__onnx_recorder {
    dync__handler handler;
    dync__onnx_loaded *model;
    dync__graph *graph; /* NULL: what is not known goes below */
    dync__map node;     /* id of a tensor -> its node */
    int64_t most_elements, most_nodes;
} dync__onnx_recorder;
DYNC__FN void dync__onnx_record_begin(dync__onnx_recorder *, dync__onnx_loaded *,
                                      dync__graph *graph_or_null);
DYNC__FN void dync__onnx_record_end(dync__onnx_recorder *);
DYNC__FN dync_tensor *dync__onnx_record_input(dync__onnx_recorder *, const dync__onnx_port *);
DYNC__FN dync_status dync__onnx_record_output(dync__onnx_recorder *, int n,
                                              const dync__onnx_value *);
#endif
