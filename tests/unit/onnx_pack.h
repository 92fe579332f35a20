/* tests/unit/onnx_pack.h: models with their inputs and the results that dync gives, one after
 * another in a file, which tests/interop/onnx_write.py runs. All numbers are little endian:
 *
 *   case: text, model, inputs, outputs; text and model: u32 length, bytes
 *   tensors: u32 count, then of each i32 ONNX dtype, i32 rank, i64 sizes, u64 length, bytes */
#ifndef DYNC_TESTS_ONNX_PACK_H
#define DYNC_TESTS_ONNX_PACK_H
#include "dync.in.h"
#include "onnx/out.h"
#include "test.h"

static dync__str onnx_pack;

static inline void pack_bytes(const void *at, size_t n)
{
    dync__str_addn(&onnx_pack, n ? at : "", n);
}
static inline void pack_u32(size_t n)
{
    uint32_t u = (uint32_t)n;
    pack_bytes(&u, 4);
}
static inline void pack_block(const void *at, size_t n)
{
    pack_u32(n);
    pack_bytes(at, n);
}

/* Row major, whatever its strides are. */
static inline void pack_tensor(const dync__tensor *t)
{
    uint64_t n = (uint64_t)t->numel * dync__dtype_info(t->dtype)->bytes;
    int32_t head[2] = {dync__dtype_info(t->dtype)->onnx, t->lay.ndim};
    dync__tensor *dense = dync__contiguous_copy(t);
    pack_bytes(head, sizeof head);
    pack_bytes(t->lay.shape, (size_t)t->lay.ndim * sizeof *t->lay.shape);
    pack_bytes(&n, sizeof n);
    pack_bytes(dync__tensor_data(dense), (size_t)n);
    dync__unref(dense);
}

static inline void pack_tensors(int n, dync__tensor *const *t)
{
    pack_u32((size_t)n);
    for (int i = 0; i < n; i++) pack_tensor(t[i]);
}

/* Prepares the graph, writes it, reads it back. The status is that of the writer. */
static inline dync_status pack_case(const char *text, dync__graph *g, int n_in,
                                    dync__tensor *const *in, int n_out, dync__tensor *const *out)
{
    dync__arena arena = {0};
    dync__str model = {0};
    dync__graph *flat = NULL;
    dync__onnx_model *m = NULL;
    dync_status status = dync__ox_prepare(g, &flat);
    if (status == DYNC_OK) status = dync__ox_model(&arena, flat, "sample", true, NULL, &m);
    if (status == DYNC_OK) status = dync__onnx_write(&model, model, m);
    if (status == DYNC_OK) {
        EXPECT(dync__onnx_read(&arena, model, model.at, model.n) != NULL);
        EXPECT_EQ_INT(m->graph->input.n, n_in);
        EXPECT_EQ_INT(m->graph->output.n, n_out);
        pack_block(text, strlen(text));
        pack_block(model.at, model.n);
        pack_tensors(n_in, in);
        pack_tensors(n_out, out);
    }
    dync__str_free(&model);
    dync__graph_unref(flat);
    dync__arena_free(&arena);
    return status;
}

/* Into a file whose name begins with what ONNX_PACK says, for onnx_write.py: each test, which is a
 * process, its own. */
static inline void pack_save(const char *name)
{
    char path[512];
    const char *begin = getenv("ONNX_PACK");
    dync__format(path, sizeof path, "%s%s.pack", begin ? begin : "", name);
    if (begin && onnx_pack.n) EXPECT(dync__file_write(path, onnx_pack.at, onnx_pack.n) == DYNC_OK);
    dync__str_free(&onnx_pack);
}
#endif
