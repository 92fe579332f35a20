/* inductor/inductor.c: a lowered graph as something that runs on tensors: inner compiler of the inductor backend. After lower.c. */
#include "../dync.in.h"
#include "inductor.h"

/* One lowering of the graph. Narrowing makes another; those before may still run in other threads and stay until the end. */
typedef struct dync__inductor_form { dync__lowered lowered; struct dync__inductor_form *before; } dync__inductor_form;
typedef struct dync__inductor_code {
    dync__inductor_form *now;
    dync_graph *graph;                   /* for narrowing */
    char *options;
} dync__inductor_code;

static void dync__inductor_destroy(void *state)
{
    dync__inductor_code *c = state;
    while (c->now) {
        dync__inductor_form *form = c->now;
        c->now = form->before;
        dync__lowered_free(&form->lowered);
        dync__free(form, sizeof *form);
    }
    dync_graph_free(c->graph);
    dync__strfree(c->options);
    dync__free(c, sizeof *c);
}

static dync__tensor *dync__inductor_output(const dync__lowered_out *o, dync__tensor *const *in, dync__storage *const *storage)
{
    if (o->input < 0) {
        dync__storage_ref(storage[o->output]);
        return dync__tensor_new(storage[o->output], o->dtype, &o->lay);
    }
    dync__tensor *x = in[o->input];
    dync__layout lay = o->lay;
    lay.offset += x->lay.offset;
    return dync__tensor_alias(x, o->dtype, &lay);
}

static dync_status dync__inductor_run(void *state, int n_in, dync__tensor *const *in, int n_out, dync__tensor **out)
{
    const dync__inductor_form *form = DYNC__ATOMIC_LOAD(&((dync__inductor_code *)state)->now);
    const dync__lowered *l = &form->lowered;
    void *few_in[DYNC__FEW], *few_data[24], **data_out = few_data;
    dync__storage *few[24], **storage = few;
    if (n_in != l->n_in || n_out != l->n_out)
        return dync__fail(DYNC_ERR_INTERNAL, "inductor: %d inputs and %d outputs, expected %d and %d", n_in, n_out, l->n_in, l->n_out);
    size_t n = (size_t)l->n_storages;
    if (l->n_storages > DYNC__COUNT_OF(few)) {
        data_out = dync__alloc(n * sizeof *data_out);
        storage = dync__alloc(n * sizeof *storage);
    }
    void **data_in = dync__room(few_in, DYNC__FEW, n_in, sizeof *data_in);
    dync_status status = data_in && data_out && storage ? DYNC_OK : DYNC_ERR_MEMORY;
    int made = 0;
    for (int i = 0; i < n_in && data_in; i++) data_in[i] = dync__tensor_data(in[i]);
    for (; made < l->n_storages && status == DYNC_OK; made++) {
        if (!(storage[made] = dync__storage_new(DYNC_CPU, l->storage_bytes[made]))) {
            status = DYNC_ERR_MEMORY;
            break;
        }
        data_out[made] = storage[made]->data;
    }
    if (status == DYNC_OK) status = dync__plan_run(l->plan, data_in, data_out);
    for (int i = 0; i < n_out && status == DYNC_OK; i++) {
        if (l->out[i].output == -2) out[i] = NULL;
        else if (!(out[i] = dync__inductor_output(&l->out[i], in, storage))) status = DYNC_ERR_MEMORY;
    }
    for (int i = 0; i < made; i++) dync__storage_unref(storage[i]);
    dync__room_end(data_in, few_in, n_in, sizeof *data_in);
    if (l->n_storages > DYNC__COUNT_OF(few)) {
        dync__free(data_out, n * sizeof *data_out);
        dync__free(storage, n * sizeof *storage);
    }
    return status;
}

static dync_status dync__inductor_form_add(dync__inductor_code *c, dync_graph *g, const bool *used)
{
    dync__inductor_form *form = dync__calloc(sizeof *form);
    if (!form) return DYNC_ERR_MEMORY;
    dync_status status = dync__inductor_lower(g, used, c->options, &form->lowered);
    if (status != DYNC_OK) {
        dync__free(form, sizeof *form);
        return status;
    }
    form->before = c->now;
    DYNC__ATOMIC_STORE(&c->now, form);
    return DYNC_OK;
}

static dync_status dync__inductor_narrow(void *state, const bool *used)
{
    dync__inductor_code *c = state;
    return dync__inductor_form_add(c, c->graph, used);
}

DYNC__FN dync_status dync__inductor_compile(void *user, dync_graph *g, bool is_backward, const char *options, dync__inner *out)
{
    (void)user, (void)is_backward;
    dync__inductor_code *c = dync__calloc(sizeof *c);
    if (!c) return DYNC_ERR_MEMORY;
    c->graph = dync_graph_retain(g);
    if (options && !(c->options = dync__strdup(options))) {
        dync__inductor_destroy(c);
        return DYNC_ERR_MEMORY;
    }
    dync_status status = dync__graph_dce(g);
    if (status == DYNC_OK) status = dync__graph_cse(g);
    if (status == DYNC_OK) status = dync__inductor_form_add(c, g, NULL);
    if (status != DYNC_OK) {
        dync__inductor_destroy(c);
        return status;
    }
    memset(out, 0, sizeof *out);
    out->run = dync__inductor_run;
    out->destroy = dync__inductor_destroy;
    out->narrow = dync__inductor_narrow;
    out->state = c;
    return DYNC_OK;
}
