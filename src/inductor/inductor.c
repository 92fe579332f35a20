/* inductor/inductor.c: a lowered graph as something that runs on tensors: inner compiler of the
 * inductor backend. After lower.c. */
#include "../dync.in.h"
#include "inductor.h"
DYNC__WARM

/* One lowering of the graph. Narrowing makes another; those before may still run in other threads
 * and stay until the end. */
typedef struct dync__inductor_form {
    dync__lowered lowered;
    struct dync__inductor_form *before;
} dync__inductor_form;
typedef struct dync__inductor_code {
    dync__inductor_form *now;
    /* for narrowing: the graph, or what it is of, which outlives it, with the symbols' values */
    dync__graph *graph;
    dync__inductor_sized *sized;
    int64_t *value;
    int n_value;
    int32_t uses; /* made for what was wanted then (dync__inductor_sized_uses) or later */
    dync__options options[]; /* one with a graph; else none: they are large */
} dync__inductor_code;

static size_t dync__inductor_bytes(bool of_graph)
{
    return sizeof(dync__inductor_code) + (of_graph ? sizeof(dync__options) : 0);
}

static bool dync__inductor_is_sized(const dync__inductor_code *c)
{
    return !DYNC__SYM_NONE && c->sized;
}

DYNC__RARE static void dync__inductor_destroy(void *state)
{
    dync__inductor_code *c = state;
    while (c->now) {
        dync__inductor_form *form = c->now;
        c->now = form->before;
        dync__lowered_free(&form->lowered);
        dync__free(form, sizeof *form);
    }
    size_t bytes = dync__inductor_bytes(c->graph);
    dync__graph_unref(c->graph);
    if (c->value) dync__free(c->value, (size_t)c->n_value * sizeof *c->value + 1);
    dync__free(c, bytes);
}

/* A storage with one output goes over to it. */
DYNC__OFTEN static dync__tensor *dync__inductor_output(const dync__lowered *l, int i,
                                                       dync__tensor *const *in,
                                                       dync__storage **storage)
{
    const dync__lowered_out *o = &l->out[i];
    if (o->input < 0) {
        dync__storage *s = storage[o->output];
        if (l->owner[o->output] == i)
            storage[o->output] = NULL;
        else
            dync__storage_ref(s);
        return dync__tensor_new(s, o->dtype, &o->lay);
    }
    dync__tensor *x = in[o->input];
    dync__layout lay = o->lay;
    lay.offset += x->lay.offset;
    return dync__tensor_alias(x, o->dtype, &lay);
}

/* May the plan write this output into t? It fills its slot from the beginning and without gaps. */
static bool dync__inductor_fits(const dync__lowered *l, const dync__lowered_out *o,
                                const dync__tensor *t)
{
    if (o->lay.offset || t->dtype != o->dtype || t->device != o->device ||
        t->lay.ndim != o->lay.ndim || !t->storage->data)
        return false;
    for (int d = 0; d < o->lay.ndim; d++)
        if (t->lay.shape[d] != o->lay.shape[d] ||
            (t->lay.shape[d] > 1 && t->lay.stride[d] != o->lay.stride[d]))
            return false;
    return l->storage_bytes[o->output] == (size_t)t->numel * dync__dtype_info(t->dtype)->bytes;
}

/* Memory for the plan's outputs: fresh storages, or (storage NULL) where the caller wants them.
 * Returns how many are made. */
DYNC__OFTEN static int dync__inductor_memory(const dync__lowered *l, dync__storage **storage,
                                             void **data, dync__tensor *const *into)
{
    for (int i = 0; i < l->n_storages; i++) {
        dync__tensor *t = into && l->owner[i] >= 0 ? into[l->owner[i]] : NULL;
        if (t && dync__inductor_fits(l, &l->out[l->owner[i]], t)) {
            storage[i] = NULL;
            data[i] = dync__tensor_data(t);
            dync__storage_writes(t->storage);
            t->storage->version++;
            continue;
        }
        if (!(storage[i] = dync__storage_new(l->device, l->storage_bytes[i]))) return i;
        data[i] = storage[i]->data;
    }
    return l->n_storages;
}

DYNC__OFTEN static dync_status dync__inductor_outputs(const dync__lowered *l,
                                                      dync__tensor *const *in,
                                                      dync__storage **storage, dync__tensor **out,
                                                      dync__tensor *const *into)
{
    for (int i = 0; i < l->n_out; i++) {
        const dync__lowered_out *o = &l->out[i];
        if (o->output == -2) out[i] = NULL; /* not wanted */
        /* written where the caller wants it */
        else if (o->input < 0 && !storage[o->output])
            dync__ref(out[i] = into[i]);
        else if (!(out[i] = dync__inductor_output(l, i, in, storage)))
            return DYNC_ERR_MEMORY;
    }
    return DYNC_OK;
}

DYNC__OFTEN static dync_status dync__inductor_run_into(void *state, int n_in,
                                                       dync__tensor *const *in, int n_out,
                                                       dync__tensor **out,
                                                       dync__tensor *const *into)
{
    const dync__inductor_form *form = DYNC__ATOMIC_LOAD(&((dync__inductor_code *)state)->now);
    const dync__lowered *l = &form->lowered;
    void *few_in[DYNC__FEW], *few_data[DYNC__FEW];
    dync__storage *few[DYNC__FEW];
    if (n_in != l->n_in || n_out != l->n_out)
        return dync__fail(DYNC_ERR_INTERNAL,
                          "inductor: %d inputs and %d outputs, expected %d and %d", n_in, n_out,
                          l->n_in, l->n_out);
    void **data_in = dync__room(few_in, DYNC__FEW, n_in, sizeof *data_in);
    void **data_out = dync__room(few_data, DYNC__FEW, l->n_storages, sizeof *data_out);
    dync__storage **storage = dync__room(few, DYNC__FEW, l->n_storages, sizeof *storage);
    dync_status status = DYNC_ERR_MEMORY;
    if (data_in && data_out && storage) {
        for (int i = 0; i < n_in; i++) data_in[i] = dync__tensor_data(in[i]);
        int made = dync__inductor_memory(l, storage, data_out, into);
        if (made == l->n_storages) status = dync__plan_run(l->plan, in, data_in, data_out);
        if (status == DYNC_OK) status = dync__inductor_outputs(l, in, storage, out, into);
        for (int i = 0; i < made; i++)
            if (storage[i]) dync__storage_unref(storage[i]);
    }
    dync__room_end(data_in, few_in, n_in, sizeof *data_in);
    dync__room_end(data_out, few_data, l->n_storages, sizeof *data_out);
    dync__room_end(storage, few, l->n_storages, sizeof *storage);
    return status;
}

DYNC__OFTEN static dync_status dync__inductor_run(void *state, int n_in, dync__tensor *const *in,
                                                  int n_out, dync__tensor **out)
{
    return dync__inductor_run_into(state, n_in, in, n_out, out, NULL);
}

DYNC__OFTEN static dync_status dync__inductor_form_add(dync__inductor_code *c, dync__graph *g,
                                                       const bool *used)
{
    dync__inductor_form *form = dync__calloc(sizeof *form);
    if (!form) return DYNC_ERR_MEMORY;
    if (dync__inductor_is_sized(c)) c->uses = dync__inductor_sized_uses(c->sized);
    dync_status status = dync__inductor_is_sized(c)
                             ? dync__inductor_sized_lower(c->sized, c->value, &form->lowered)
                             : dync__inductor_lower(g, used, c->options, &form->lowered);
    if (status != DYNC_OK) {
        dync__free(form, sizeof *form);
        return status;
    }
    form->before = c->now;
    DYNC__ATOMIC_STORE(&c->now, form);
    return DYNC_OK;
}

DYNC__RARE static dync_status dync__inductor_narrow(void *state, const bool *used)
{
    dync__inductor_code *c = state;
    if (!dync__inductor_is_sized(c)) return dync__inductor_form_add(c, c->graph, used);
    if (dync__inductor_sized_wants(c->sized, used, c->uses)) return DYNC_OK;
    DYNC__TRY(dync__inductor_sized_narrow(c->sized, used));
    /* as it is, it computes more than is read */
    dync_status status = dync__inductor_form_add(c, NULL, used);
    return status == DYNC_ERR_UNSUPPORTED ? DYNC_OK : status;
}

DYNC__RARE static void dync__inductor_measure(const void *state, dync__code_size *size)
{
    const dync__inductor_code *c = state;
    for (const dync__inductor_form *f = DYNC__ATOMIC_LOAD(&c->now); f; f = f->before) {
        size->code += dync__plan_code_bytes(f->lowered.plan, &size->counted);
        size->plans += dync__plan_own_bytes(f->lowered.plan);
        size->arena = DYNC__MAX(size->arena, dync__plan_arena_bytes(f->lowered.plan));
    }
}

/* By need: as aot/make.c. */
static dync_status (*DYNC__BY_NEED dync__inductor_narrows)(void *, const bool *) =
    DYNC__AT_FIRST(dync__inductor_narrow);
static void (*DYNC__BY_NEED dync__inductor_measures)(const void *, dync__code_size *) =
    DYNC__AT_FIRST(dync__inductor_measure);
DYNC__FN void dync__inductor_use_narrow(void)
{
    DYNC__PUT(dync__inductor_narrows, dync__inductor_narrow);
}
DYNC__FN void dync__inductor_use_measure(void)
{
    DYNC__PUT(dync__inductor_measures, dync__inductor_measure);
}

/* ---- of all sizes ---------------------------------------------------------------------------- */
typedef struct dync__inductor_any {
    dync__inductor_sized *sized;
    int n_value;
} dync__inductor_any;

DYNC__RARE static void dync__inductor_any_destroy(void *state)
{
    dync__inductor_any *any = state;
    dync__inductor_sized_free(any->sized);
    dync__free(any, sizeof *any);
}

static dync_status dync__inductor_at(void *state, const int64_t *value, dync__inner *out)
{
    dync__inductor_any *any = state;
    dync__inductor_code *c = dync__calloc(dync__inductor_bytes(false));
    size_t bytes = (size_t)any->n_value * sizeof *value;
    dync_status status = c && (c->value = dync__alloc(bytes + 1)) ? DYNC_OK : DYNC_ERR_MEMORY;
    if (status == DYNC_OK) {
        memcpy(c->value, value, bytes);
        c->n_value = any->n_value;
        c->sized = any->sized;
        status = dync__inductor_form_add(c, NULL, NULL);
    }
    if (status != DYNC_OK) {
        if (c) dync__inductor_destroy(c);
        return status;
    }
    *out = (dync__inner){.run = dync__inductor_run,
                         .run_into = dync__inductor_run_into,
                         .destroy = dync__inductor_destroy,
                         .narrow = dync__inductor_narrows,
                         .measure = dync__inductor_measures,
                         .state = c};
    return DYNC_OK;
}

DYNC__RARE DYNC__FN dync_status dync__inductor_all_sizes(void *user, dync__graph *g,
                                                         const dync__options *options,
                                                         dync__inner_sized *out)
{
    int where = dync__graph_device(g);
    if (user || !dync__graph_is_sized(g) || where < 0 || !dync__device_is(where, DYNC__DEV_HOST) ||
        !dync__device_is(where, DYNC__DEV_DATA) || !dync__pass_on(DYNC__PASS_all_sizes))
        return DYNC_ERR_UNSUPPORTED;
    dync__inductor_any *any = dync__calloc(sizeof *any);
    dync_status status = any ? dync__inductor_sized_new(g, options, &any->sized) : DYNC_ERR_MEMORY;
    if (status != DYNC_OK) {
        dync__free(any, sizeof *any);
        return status;
    }
    any->n_value = g->syms->symbol.n;
    dync__pass_log(DYNC__PASS_all_sizes, g->name, "%d symbols", any->n_value);
    *out = (dync__inner_sized){dync__inductor_at, dync__inductor_any_destroy, any};
    return DYNC_OK;
}

DYNC__RARE DYNC__FN dync_status dync__inductor_compile(void *user, dync__graph *g, bool is_backward,
                                                       const dync__options *options,
                                                       dync__inner *out)
{
    int where = dync__graph_device(g);
    if (where >= 0 && !dync__device_is(where, DYNC__DEV_HOST) && g->sub.n) {
        dync__log(DYNC__LOG_aot, "inductor: functions inside operators run one by one on a device");
        return dync__inner_interpret(user, g, is_backward, options, out);
    }
    /* A plan has one device: operators find theirs one by one. Without data nothing is computed. */
    if (where < 0 || !dync__device_is(where, DYNC__DEV_DATA)) {
        dync__log(DYNC__LOG_aot, "inductor: a graph %s runs operator by operator",
                  where < 0 ? "on several devices" : "of meta tensors");
        return dync__inner_interpret(user, g, is_backward, options, out);
    }
    dync__inductor_code *c = dync__calloc(dync__inductor_bytes(true));
    if (!c) return DYNC_ERR_MEMORY;
    c->graph = dync__graph_ref(g);
    *c->options = *options;
    c->options->text = ""; /* the caller's */
    dync_status status = dync__graph_pass(DYNC__PASS_dce, g);
    if (status == DYNC_OK) status = dync__graph_pass(DYNC__PASS_cse, g);
    if (status == DYNC_OK) status = dync__inductor_form_add(c, g, NULL);
    if (status != DYNC_OK) {
        dync__inductor_destroy(c);
        return status;
    }
    memset(out, 0, sizeof *out);
    out->run = dync__inductor_run;
    out->run_into = dync__inductor_run_into;
    out->destroy = dync__inductor_destroy;
    out->narrow = dync__inductor_narrows;
    out->measure = dync__inductor_measures;
    out->state = c;
    int device = c->now->lowered.device;
    const dync__driver *driver = dync__device_driver(device);
    if (!driver->record || (!user && !options->cudagraphs)) return DYNC_OK;
    status = driver->record(device, g, out);
    if (status != DYNC_OK) out->destroy(out->state);
    return status;
}
