/* onnx/out_save.c: dync_program_save_onnx: the model in one file, or, where its weights are large,
 * with them in a file beside it. After out_graph.c. */
#include "../dync.in.h"
#if !defined(DYNC_NO_ONNX)
#include "out.h"
DYNC__COLD

DYNC__DATA int64_t dync__ox_inside_most = (int64_t)1 << 30;

enum { DYNC__OX_PAGE = 4096, DYNC__OX_SMALL = 1024 };

static bool dync__ox_entry(dync__arena *arena, dync__onnx_tensor *t, const char *key,
                           const char *value)
{
    dync__onnx_entry *e = dync__onnx_add(arena, t, external_data, entry);
    if (!e || !value) return false;
    e->key = key;
    e->value = value;
    return true;
}

/* Where the tensor's bytes will be: aligned, so that a reader may map them. */
static bool dync__ox_outside(dync__arena *arena, dync__onnx_tensor *t, const char *file,
                             dync__str *data)
{
    static const char zero[DYNC__OX_PAGE] = {0};
    dync__str_addn(data, zero, (DYNC__OX_PAGE - data->n % DYNC__OX_PAGE) % DYNC__OX_PAGE);
    bool ok = dync__ox_entry(arena, t, "location", file) &&
              dync__ox_entry(arena, t, "offset", dync__arena_printf(arena, "%zu", data->n)) &&
              dync__ox_entry(arena, t, "length", dync__arena_printf(arena, "%zu", t->raw_data.n));
    dync__str_addn(data, t->raw_data.at, t->raw_data.n);
    t->raw_data = (dync__pb_bytes){NULL, 0};
    t->has = 0;
    t->data_location = 1;
    return ok && !data->failed;
}

/* Large weights leave the model; data stays empty where all is small enough. */
static dync_status dync__ox_weights(dync__arena *arena, dync__onnx_model *m, const char *path,
                                    dync__str *data)
{
    uint64_t total = 0;
    const char *slash = strrchr(path, '/');
    const char *file = dync__arena_printf(arena, "%s.data", slash ? slash + 1 : path);
    for (int i = 0; i < m->graph->initializer.n; i++)
        total += m->graph->initializer.at[i]->raw_data.n;
    if (total <= (uint64_t)dync__ox_inside_most) return DYNC_OK;
    for (int i = 0; i < m->graph->initializer.n; i++) {
        dync__onnx_tensor *t = m->graph->initializer.at[i];
        if (t->raw_data.n >= DYNC__OX_SMALL && !dync__ox_outside(arena, t, file, data))
            return DYNC_ERR_MEMORY;
    }
    return DYNC_OK;
}

/* Inputs in the order of the arguments. */
static dync_status dync__ox_order(dync__arena *arena, const dync__program *p, dync__onnx_graph *g)
{
    int n = g->input.n, k = 0;
    if (n != p->graph->n_inputs) return DYNC_OK;
    dync__onnx_value_info **sorted = dync__arena_alloc(arena, (size_t)(n + 1) * sizeof *sorted);
    if (!sorted) return DYNC_ERR_MEMORY;
    for (int leaf = 0; leaf < p->n_leaves; leaf++)
        for (int i = 0; i < n; i++)
            if (p->leaf[i] == leaf && k < n) sorted[k++] = g->input.at[i];
    if (k == n) memcpy(g->input.at, sorted, (size_t)n * sizeof *sorted);
    return DYNC_OK;
}

static dync_status dync__ox_save(dync__arena *arena, const dync__program *p, const char *path)
{
    dync__graph *g = NULL;
    dync__onnx_model *model = NULL;
    dync__str bytes = {0}, data = {0};
    dync_status status = dync__ox_prepare(p->graph, &g);
    if (status == DYNC_OK) status = dync__ox_model(arena, g, p->name, true, NULL, &model);
    if (status == DYNC_OK) status = dync__ox_order(arena, p, model->graph);
    if (status == DYNC_OK) status = dync__ox_weights(arena, model, path, &data);
    if (status == DYNC_OK) status = dync__onnx_write(&bytes, model, model);
    if (status == DYNC_OK && data.n)
        status = dync__file_write(dync__arena_printf(arena, "%s.data", path), data.at, data.n);
    if (status == DYNC_OK) status = dync__file_write(path, bytes.at, bytes.n);
    dync__str_free(&bytes);
    dync__str_free(&data);
    dync__graph_unref(g);
    return status;
}

DYNC_API dync_status(dync_program_save_onnx)(const dync_program *handle, const char *path)
{
    const dync__program *p = NULL;
    dync__arena arena = {0};
    DYNC__TRY(dync__program_to_save(handle, path, "dync_program_save_onnx", &p));
    dync_status status = dync__ox_save(&arena, p, path);
    dync__arena_free(&arena);
    return status;
}
#endif
