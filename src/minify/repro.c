/* minify/repro.c: what a repro's main calls: its inputs are made again, its function becomes a
 * graph, which is run or shrunk. Also the backends that shrink whatever they are given, and the
 * predicates of dync_minify. After hook.c, before compile/. Source:
 * torch/_dynamo/repro/after_dynamo.py, run_repro; torch/_dynamo/debug_utils.py, InputReader. */
#include "../dync.in.h"
#include "minify.h"

/* ---- inputs ---------------------------------------------------------------------------------- */

typedef struct dync__reader_storage {
    dync__storage *storage;
    bool data;
} dync__reader_storage;
struct dync__repro_reader {
    dync__object object; /* its handle */
    const char *save_dir;
    DYNC__VEC(dync__reader_storage) storage;
    DYNC__VEC(dync_value) value; /* tensors belong to the scope */
    bool failed;
};

/* The bytes of the file, where it is whole. */
static bool dync__reader_file(const char *folder, const char *hash, void *out, size_t n)
{
    dync__str path = {0};
    char *bytes = NULL;
    size_t size = 0;
    dync__error_guard guard;
    dync__error_guard_begin(&guard);
    dync__str_addf(&path, "%s/storages/%s.npy", folder, hash);
    bool ok = dync__file_read(dync__str_get(&path), &bytes, &size) == DYNC_OK;
    dync__tensor *t = ok ? dync__npy_read(bytes, size) : NULL;
    (void)dync__error_guard_end(&guard);
    bool whole = t && t->storage->data && (size_t)t->numel * dync__dtype_info(t->dtype)->bytes == n;
    if (whole) memcpy(out, dync__tensor_data(t), n);
    dync__unref(t);
    if (ok) dync__free(bytes, size + 1);
    dync__str_free(&path);
    return whole;
}

static void dync__reader_random(char *out, size_t n, int dtype)
{
    size_t item = dync__dtype_info(dtype)->bytes;
    bool floats = dync__dtype_info(dtype)->kind == 'f';
    uint64_t first = dync__rng_take(n / item);
    for (size_t i = 0; i < n / item; i++)
        dync__store_f64(out + i * item, dtype,
                        floats ? dync__rng_normal(dync__tls.rng_seed, first + i) : 0);
}

static void dync__reader_fill(dync__repro_reader *r, const dync_repro_buffer *b, char *out)
{
    if (b->data) {
        memcpy(out, b->data, b->nbytes);
        return;
    }
    if (b->hash && r->save_dir && dync__reader_file(r->save_dir, b->hash, out, b->nbytes)) return;
    if (b->hash && r->save_dir && dync__reader_file("checkpoints", b->hash, out, b->nbytes)) return;
    if (r->save_dir)
        dync__warn("Could not load %s, generating random data instead",
                   b->hash ? b->hash : "a storage without a file");
    else
        dync__warn("No save_dir specified, generating random data");
    dync__reader_random(out, b->nbytes, (int)b->dtype_hint);
}

DYNC_API int dync_repro_storage_opt(dync_repro_reader *reader, dync_repro_buffer b)
{
    dync__repro_reader *r = dync__repro_reader_open(reader, "dync_repro_storage");
    if (!r) return -1;
    if (!dync__dtype_valid((int)b.dtype_hint))
        return dync__fail(DYNC_ERR_VALUE, "dync_repro_storage: the dtype is unknown"), -1;
    dync__storage *s = dync__storage_new(
        dync__device_is((int)b.device, DYNC__DEV_DATA) ? (int)b.device : DYNC_CPU, b.nbytes);
    char *host = s && !dync__device_is(s->device, DYNC__DEV_HOST) ? dync__alloc(b.nbytes) : NULL;
    dync__reader_storage entry = {s, b.nbytes > 0};
    if (!s || !dync__vec_push(&r->storage, entry)) {
        if (s) dync__storage_unref(s);
        r->failed = true;
        return -1;
    }
    if (b.nbytes && dync__device_is(s->device, DYNC__DEV_HOST))
        dync__reader_fill(r, &b, s->data);
    else if (b.nbytes && host) {
        dync__reader_fill(r, &b, host);
        r->failed |= dync__device_copy((int)b.device, s->data, DYNC_CPU, host, b.nbytes) != DYNC_OK;
    }
    dync__free(host, b.nbytes);
    return r->storage.n - 1;
}

/* A history of one step, so that a tensor is no leaf: its gradient goes on to the leaf behind
 * it. */
static dync_status dync__reader_history(void *state, int n_out, dync__tensor *const *grad_out,
                                        int n_in, const bool *needed, dync__tensor **grad_in,
                                        bool create_graph)
{
    (void)state, (void)n_out, (void)create_graph;
    if (n_in > 0 && needed[0] && grad_out[0]) dync__ref(grad_in[0] = grad_out[0]);
    return DYNC_OK;
}
static void dync__reader_history_destroy(void *state) { (void)state; }

static dync__tensor *dync__reader_non_leaf(dync__tensor *leaf)
{
    static const dync__gnode_class history = {"ReproHistory", dync__reader_history, NULL,
                                              dync__reader_history_destroy, NULL};
    bool grad_off = dync__tls.grad_enabled_off;
    dync__tensor *t = dync__tensor_alias(leaf, leaf->dtype, &leaf->lay);
    dync__tls.grad_enabled_off = false;
    if (t && dync__tape_attach(&history, NULL, 1, &leaf, 1, &t, NULL) != DYNC_OK) {
        dync__unref(t);
        t = NULL;
    }
    dync__tls.grad_enabled_off = grad_off;
    dync__unref(leaf);
    return t;
}

static dync_status dync__reader_layout(const dync_repro_input *in, const dync__storage *s,
                                       dync__layout *lay)
{
    if (in->shape.n < 0 || in->shape.n > DYNC_MAX_DIMS ||
        (in->stride.n && in->stride.n != in->shape.n) || !dync__dtype_valid((int)in->dtype))
        return dync__fail(DYNC_ERR_VALUE, "dync_repro_tensor: shape, stride and dtype do not fit");
    DYNC__TRY(dync__layout_contiguous(lay, in->shape.n, in->shape.d));
    lay->offset = in->storage_offset;
    for (int d = 0; d < in->stride.n; d++) lay->stride[d] = in->stride.d[d];
    for (int d = 0; d < lay->ndim; d++)
        if (lay->stride[d] < 0)
            return dync__fail(DYNC_ERR_VALUE, "dync_repro_tensor: a stride "
                                              "is negative");
    int64_t items = (int64_t)(s->size_bytes / dync__dtype_info((int)in->dtype)->bytes),
            last = lay->offset;
    bool empty = false, fits = last >= 0;
    for (int d = 0; d < lay->ndim && fits; d++) {
        int64_t step = 0;
        empty = empty || lay->shape[d] == 0;
        fits = dync__mul_ok(lay->shape[d] - 1, lay->stride[d], &step) &&
               dync__add_ok(last, step, &last);
    }
    if (empty || (fits && last < items)) return DYNC_OK;
    return dync__fail(DYNC_ERR_VALUE,
                      "dync_repro_tensor: a tensor reaches behind its storage of %lld elements",
                      (long long)items);
}

DYNC_API void dync_repro_tensor_opt(dync_repro_reader *reader, int storage, dync_repro_input in)
{
    dync__layout lay;
    dync__repro_reader *r = dync__repro_reader_open(reader, "dync_repro_tensor");
    if (!r) return;
    if (storage < 0 || storage >= r->storage.n) {
        dync__fail(DYNC_ERR_VALUE, "dync_repro_tensor: there is no storage %d", storage);
        r->failed = true;
        return;
    }
    dync__storage *s = r->storage.at[storage].storage;
    dync__tensor *t = NULL;
    if (dync__reader_layout(&in, s, &lay) == DYNC_OK) {
        dync__storage_ref(s);
        t = dync__tensor_new(s, (int)in.dtype, &lay);
    }
    if (t && in.requires_grad) {
        dync__tensor_set_requires_grad(t, true);
        if (!in.is_leaf) t = dync__reader_non_leaf(t);
    }
    dync_value v = dync_v_tensor(t ? dync__give(t) : NULL);
    if (!t || !dync__vec_push(&r->value, v)) r->failed = true;
}

DYNC_API void dync_repro_number(dync_repro_reader *reader, dync_value number)
{
    dync__repro_reader *r = dync__repro_reader_open(reader, "dync_repro_number");
    if (r && !dync__vec_push(&r->value, number)) r->failed = true;
}

/* ---- the command line ------------------------------------------------------------------------ */

typedef struct dync__repro_options {
    dync_repro repro;
    bool isolate, help;
} dync__repro_options;

static void dync__repro_usage(const char *program)
{
    dync__minify_say("usage: %s [run | minify] [--accuracy | --no-accuracy] [--save-dir DIR | "
                     "--no-save-dir] [--isolate | --no-isolate]\n"
                     "       [--autocast] [--backend NAME] [--only-fwd]\n"
                     "  run      runs the graph in eager mode and through the backend; exit "
                     "status 1 where they differ or the backend fails\n"
                     "  minify   shrinks the graph; every step goes to checkpoints/, the "
                     "smallest to repro.c",
                     program ? program : "repro");
}

/* --name VALUE and --name=VALUE */
static bool dync__repro_flag_value(const char *name, int argc, char **argv, int *i,
                                   const char **out)
{
    size_t n = strlen(name);
    if (strncmp(argv[*i], name, n) != 0) return false;
    if (argv[*i][n] == '=') {
        *out = argv[*i] + n + 1;
        return true;
    }
    if (argv[*i][n] || *i + 1 >= argc) return false;
    *out = argv[++*i];
    return true;
}

static bool dync__repro_arguments(dync__repro_options *o, int argc, char **argv)
{
    const struct {
        const char *name;
        bool *field, value;
    } flags[] = {
        {"--accuracy", &o->repro.accuracy, true},
        {"--no-accuracy", &o->repro.accuracy, false},
        {"--isolate", &o->isolate, true},
        {"--no-isolate", &o->isolate, false},
        {"--autocast", &o->repro.autocast, true},
        {"--only-fwd", &o->repro.only_fwd, true},
        {"--help", &o->help, true},
        {"-h", &o->help, true},
    };
    bool commanded = false;
    for (int i = 1; i < argc; i++) {
        bool known = false;
        for (int k = 0; k < DYNC__COUNT_OF(flags); k++)
            if (strcmp(argv[i], flags[k].name) == 0) known = true, *flags[k].field = flags[k].value;
        if (known || dync__repro_flag_value("--backend", argc, argv, &i, &o->repro.backend) ||
            dync__repro_flag_value("--save-dir", argc, argv, &i, &o->repro.save_dir))
            continue;
        if (strcmp(argv[i], "--no-save-dir") == 0) {
            o->repro.save_dir = NULL;
        } else if (!commanded && (strcmp(argv[i], "run") == 0 || strcmp(argv[i], "minify") == 0)) {
            o->repro.command = argv[i];
            commanded = true;
        } else {
            dync__repro_usage(argc > 0 ? argv[0] : NULL);
            dync__minify_say("%s: error: unrecognized arguments: %s",
                             argc > 0 && argv[0] ? argv[0] : "repro", argv[i]);
            return false;
        }
    }
    return true;
}

/* ---- the graph ------------------------------------------------------------------------------- */

typedef struct dync__repro_case {
    const dync__repro_options *o;
    const dync_backend *backend;
    dync__repro_reader reader;
    dync__graph *graph;
} dync__repro_case;

static dync_status dync__repro_load(dync__repro_case *c)
{
    for (int i = 0; i < c->reader.storage.n; i++)
        dync__storage_unref(c->reader.storage.at[i].storage);
    dync__vec_free(&c->reader.storage);
    dync__vec_free(&c->reader.value);
    dync__object_end(&c->reader.object);
    memset(&c->reader, 0, sizeof c->reader);
    c->reader.save_dir = c->o->repro.save_dir;
    uint64_t seed = dync__tls.rng_seed, offset = dync__tls.rng_offset;
    c->o->repro.load_args(dync__repro_reader_handle(&c->reader));
    /* random data in place of a file change nothing else */
    dync__tls.rng_seed = seed;
    dync__tls.rng_offset = offset;
    if (!c->reader.failed) return DYNC_OK;
    return dync_error() != DYNC_OK ? dync_error() : dync__fail(DYNC_ERR_MEMORY, "load_args failed");
}

/* The function runs over tensors that it meets, not that it is given: so there may be any number of
 * them. */
static dync_value dync__repro_call(const dync_value *args, int nargs, void *user)
{
    const dync__repro_case *c = user;
    (void)args, (void)nargs;
    return c->o->repro.mod(c->reader.value.at, c->reader.value.n, NULL);
}

/* The ith name of "x, y", or input_i. */
static void dync__repro_name(const char *names, int i, char *out, size_t cap)
{
    while (names && i-- > 0) names = (names = strchr(names, ',')) ? names + 1 : NULL;
    if (names) names += strspn(names, " ");
    if (names && *names)
        dync__format(out, cap, "%.*s", (int)strcspn(names, ", "), names);
    else
        dync__format(out, cap, "input");
}

static dync__node *dync__repro_placeholder(dync__graph *g, const dync__repro_case *c, int i)
{
    char name[128];
    const dync_value *v = &c->reader.value.at[i];
    const dync__tensor *t = v->kind == DYNC_KIND_TENSOR ? dync__peek(v->as.t) : NULL;
    dync__info info = {.alias = -1};
    if (t) {
        info.dtype = t->dtype;
        info.device = t->device;
        info.lay = t->lay;
    }
    dync__repro_name(c->o->repro.names, i, name, sizeof name);
    dync__node *n = dync__graph_placeholder(g, name, NULL, t ? &info : NULL);
    if (n && t) n->requires_grad[0] = dync__tensor_requires_grad(t);
    if (n && !t)
        n->scalar = v->kind == DYNC_KIND_FLOAT  ? dync__arg_f(v->as.f)
                    : v->kind == DYNC_KIND_BOOL ? dync__arg_b(v->as.b)
                                                : dync__arg_i(v->as.i);
    return n;
}

/* Tensors met while tracing are attributes: those that load_args made become the inputs. */
static dync__node *dync__repro_node(dync__rewrite *r, dync__node *old)
{
    const dync__repro_case *c = r->user;
    dync__node *input = NULL;
    for (int k = 0; k < c->reader.value.n && old->kind == DYNC__N_GET_ATTR; k++)
        if (c->reader.value.at[k].kind == DYNC_KIND_TENSOR &&
            dync__peek(c->reader.value.at[k].as.t) == old->value)
            input = r->to->node.at[k];
    return input ? input : dync__rewrite_copy(r, old);
}

static dync_status dync__repro_rebuild(dync__repro_case *c, dync__graph *traced)
{
    dync__rewrite r;
    dync_status status = dync__rewrite_begin(&r, traced, "GraphModule");
    r.user = c;
    for (int i = 0; i < c->reader.value.n && status == DYNC_OK; i++)
        if (!dync__repro_placeholder(r.to, c, i)) status = DYNC_ERR_MEMORY;
    for (int i = 0; i < traced->node.n && status == DYNC_OK; i++)
        status = dync__rewrite_put(&r, traced->node.at[i], dync__repro_node);
    return dync__rewrite_end(&r, status, &c->graph);
}

static dync_status dync__repro_trace(dync__repro_case *c)
{
    dync_callee callee = dync_bind_callee(dync_fnv(dync__repro_call), "Repro", c, NULL);
    dync_scope scope = dync_scope_begin();
    dync__graph *traced = dync__graph_peek(dync_make_graph_values(callee, "Repro", 0, NULL));
    if (traced) (void)dync__repro_rebuild(c, traced);
    dync_scope_end(&scope);
    if (c->graph) return DYNC_OK;
    return dync_error() != DYNC_OK
               ? dync_error()
               : dync__fail(DYNC_ERR_INTERNAL, "the graph of "
                                               "the repro could not be made again");
}

/* ---- run ------------------------------------------------------------------------------------- */

static dync_status dync__repro_raise(dync_status status, const char *class_name, const char *text)
{
    return dync__fail_class(status, class_name, "%s", text);
}

/* As a compiled function would tell it. */
static dync_status dync__repro_compile(dync__repro_case *c, dync__graph *g, dync_callable *code)
{
    dync__error_guard guard;
    dync__str text = {0};
    dync__error_guard_begin(&guard);
    dync_status status = dync__judge_compile(c->backend, c->o->repro.options, g, c->reader.value.n,
                                             c->reader.value.at, code);
    dync__error_slot inner = dync__error_guard_end(&guard);
    if (status == DYNC_OK) return DYNC_OK;
    dync__str_addf(&text, "backend='%s' raised:\n", c->o->repro.backend);
    dync__error_text(&text, &inner);
    status = dync__fail(DYNC_ERR_BACKEND, "%s", dync__str_get(&text));
    dync__str_free(&text);
    return status;
}

static bool dync__repro_forward_only(const dync__repro_case *c)
{
    return c->o->repro.only_fwd || dync__repro_now()->forward_only;
}

static dync_status dync__repro_run_accuracy(dync__repro_case *c, const dync_callable *code,
                                            dync_status compiled)
{
    bool same = true, ran = compiled == DYNC_OK;
    dync__str why = {0};
    dync_status status = DYNC_OK;
    if (ran)
        status = dync__accuracy_check(c->graph, code, c->reader.value.n, c->reader.value.at,
                                      dync__repro_forward_only(c), &same, &ran, &why);
    if (status == DYNC_OK && !ran)
        dync__warn("While minifying the program in accuracy minification mode, ran into a "
                   "runtime exception which is likely an unrelated "
                   "issue. Skipping this graph. %s",
                   compiled == DYNC_OK ? dync__str_get(&why) : dync_error_message());
    if (status == DYNC_OK && ran && !same) {
        dync__warn("Accuracy failed: %s", dync__str_get(&why));
        status = dync__repro_raise(DYNC_ERR_ACCURACY, "AccuracyError", "Dynamo failed");
    }
    dync__str_free(&why);
    return status;
}

static dync_status dync__repro_eager(dync__repro_case *c)
{
    bool same = true, ran = true;
    dync__str why = {0};
    dync__run_items items = {0};
    dync__run_how how = {.forward_only = dync__repro_forward_only(c), .as_given = true};
    dync_status status;
    if (!c->o->repro.accuracy) {
        status = dync__run_once(c->graph, NULL, c->reader.value.n, c->reader.value.at, how, &items);
        dync__vec_free(&items);
        return status == DYNC_OK ? dync__repro_load(c) : status;
    }
    status = dync__accuracy_check(c->graph, NULL, c->reader.value.n, c->reader.value.at,
                                  dync__repro_forward_only(c), &same, &ran, &why);
    if (status == DYNC_OK && (!same || !ran))
        status = dync__repro_raise(DYNC_ERR_RUNTIME, "AssertionError", "Eager itself failed");
    dync__str_free(&why);
    return status;
}

static dync_status dync__repro_run(dync__repro_case *c)
{
    dync_callable code = {0};
    dync__run_items items = {0};
    dync__run_how how = {.forward_only = dync__repro_forward_only(c), .as_given = true};
    dync_status status = dync__repro_eager(c);
    if (status != DYNC_OK) return status;
    dync__graph *g = dync__graph_clone(c->graph);
    if (!g) return DYNC_ERR_MEMORY;
    dync_status compiled;
    if (c->o->repro.accuracy) { /* an error is not what is judged here */
        dync__error_guard guard;
        dync__error_guard_begin(&guard);
        compiled = dync__repro_compile(c, g, &code);
        (void)dync__error_guard_end(&guard);
        status = dync__repro_run_accuracy(c, &code, compiled);
    } else {
        status = compiled = dync__repro_compile(c, g, &code);
        if (status == DYNC_OK)
            status =
                dync__run_once(c->graph, &code, c->reader.value.n, c->reader.value.at, how, &items);
    }
    dync__vec_free(&items);
    if (compiled == DYNC_OK && code.destroy) code.destroy(code.state);
    dync__graph_unref(g);
    return status;
}

/* ---- minify ---------------------------------------------------------------------------------- */

typedef struct dync__minifying {
    dync__judge judge;
    dync__verdict first;
    dync__repro_file file;
    bool could_not;
} dync__minifying;

static bool dync__minifying_fails(void *user, dync__graph *g, int n, const dync_value *inputs)
{
    const dync__minifying *m = user;
    dync__verdict now;
    dync__judge_graph(&m->judge, g, n, inputs, &now);
    return dync__judge_similar(&m->first, &now);
}

static void dync__minifying_dump(void *user, dync__graph *g, int n, const dync_value *inputs)
{
    dync__minifying *m = user;
    dync__error_guard guard;
    dync__error_guard_begin(&guard);
    dync_status status = dync__repro_checkpoint(&m->file, g, n, inputs);
    dync__error_slot error = dync__error_guard_end(&guard);
    m->could_not = status != DYNC_OK;
    if (m->could_not) dync__warn("Could not write the checkpoint: %s", error.message);
}

static dync_status dync__minifying_run(dync__minifying *m, dync__graph *g, int n,
                                       const dync_value *inputs)
{
    dync__judge whole = m->judge;
    whole.skip_eager = true;
    dync__judge_graph(&whole, g, n, inputs, &m->first);
    if (m->first.kind == DYNC__RAISES || m->first.kind == DYNC__CRASHES ||
        m->first.kind == DYNC__HANGS)
        dync__warn("Compiled Fx GraphModule failed. Creating script to minify the error.");
    else if (m->first.kind == DYNC__INACCURATE)
        dync__warn("Accuracy failed for the TorchDynamo "
                   "produced graph");
    else
        return dync__repro_raise(DYNC_ERR_VALUE, "RuntimeError",
                                 "Input graph did not fail the tester");
    dync__shrink how = {
        .fails = dync__minifying_fails, .improved = dync__minifying_dump, .user = m};
    dync__graph *smallest = dync__graph_clone(g);
    dync_value left;
    int queries = 0;
    if (!smallest) return DYNC_ERR_MEMORY;
    dync_status status = dync__shrink_graph(&how, &smallest, n, inputs, &left, &queries);
    dync__graph_unref(smallest);
    if (status == DYNC_OK && m->could_not)
        return dync__fail(DYNC_ERR_IO, "the minimal repro "
                                       "could not be written");
    if (status == DYNC_OK) dync__minify_say("Wrote minimal repro out to repro.c");
    return status;
}

static void dync__minifying_begin(dync__minifying *m, const dync_backend *b, const char *options,
                                  bool accuracy, bool isolate, bool only_fwd)
{
    const dync__repro_settings *now = dync__repro_now();
    memset(m, 0, sizeof *m);
    m->judge = (dync__judge){.backend = b,
                             .options = options,
                             .accuracy = accuracy,
                             .isolate = isolate && now->isolate,
                             .forward_only = only_fwd || now->forward_only};
    m->judge.timeout_ms = (int)DYNC__MIN(now->timeout_s * 1000, 1e9);
    m->file = (dync__repro_file){.backend = b->name ? b->name : "inductor",
                                 .options = options,
                                 .accuracy = accuracy,
                                 .forward_only = only_fwd,
                                 .grad_off = dync__tls.grad_enabled_off};
}

/* ---- main ------------------------------------------------------------------------------------ */

static dync_status dync__repro_do(dync__repro_case *c)
{
    const dync_repro *r = &c->o->repro;
    if (!r->mod || !r->load_args)
        return dync__fail(DYNC_ERR_VALUE, "dync_run_repro: mod or "
                                          "load_args is NULL");
    if (!(c->backend = dync_lookup_backend(r->backend ? r->backend : "inductor")))
        return DYNC_ERR_VALUE;
    if (r->autocast)
        dync__warn("--autocast changes nothing: dync computes in the dtypes that "
                   "the graph names");
    DYNC__TRY(dync__repro_load(c));
    DYNC__TRY(dync__repro_trace(c));
    if (strcmp(r->command, "run") == 0) return dync__repro_run(c);
    dync__minifying m;
    dync__minifying_begin(&m, c->backend, r->options, r->accuracy, c->o->isolate, r->only_fwd);
    return dync__minifying_run(&m, c->graph, c->reader.value.n, c->reader.value.at);
}

DYNC_API int dync_run_repro(int argc, char **argv, dync_repro repro)
{
    dync__repro_options o = {.repro = repro, .isolate = true};
    dync__repro_case c = {.o = &o};
    if (!o.repro.command) o.repro.command = "run";
    if (!o.repro.backend) o.repro.backend = "inductor";
    if (!argv) argc = 0;
    if (!dync__repro_arguments(&o, argc, argv)) return 2;
    if (o.help) {
        dync__repro_usage(argc > 0 ? argv[0] : NULL);
        return 0;
    }
    bool busy = dync__hook_busy(true), grad_off = dync__tls.grad_enabled_off;
    dync__tls.grad_enabled_off = repro.no_grad;
    dync__error_guard guard;
    dync__error_guard_begin(&guard);
    dync_scope scope = dync_scope_begin();
    dync_status status = dync__repro_do(&c);
    dync__error_slot error = dync__error_guard_end(&guard);
    dync__graph_unref(c.graph);
    for (int i = 0; i < c.reader.storage.n; i++)
        dync__storage_unref(c.reader.storage.at[i].storage);
    dync__vec_free(&c.reader.storage);
    dync__vec_free(&c.reader.value);
    dync__object_end(&c.reader.object);
    dync_scope_end(&scope);
    dync__tls.grad_enabled_off = grad_off;
    dync__hook_busy(busy);
    if (status == DYNC_OK) return 0;
    dync__str text = {0};
    dync__error_text(&text, &error);
    dync__minify_say("%s", dync__str_get(&text));
    dync__str_free(&text);
    return 1;
}

/* ---- backends that shrink what they are given; their option names the backend that fails ----- */
#if !defined(DYNC_NO_STDIO) /* as their rows in backend/backend.h */
static dync_status dync__minifier_compile(dync_graph *graph, const dync_value *ex, int n,
                                          const char *options, dync_callable *out, bool accuracy)
{
    dync__graph *g = dync__graph_open(graph, "minifier");
    if (!g) return DYNC_ERR_VALUE;
    dync__options o;
    DYNC__TRY(dync__backend_options(
        accuracy ? dync__backend_minifier_accuracy : dync__backend_minifier, options, &o));
    const dync_backend *b = dync_lookup_backend(*o.compiler_name ? o.compiler_name : "inductor");
    if (!b) return DYNC_ERR_VALUE;
    dync__minifying m;
    bool busy = dync__hook_busy(true);
    dync__minifying_begin(&m, b, NULL, accuracy, true, false);
    dync_status status = dync__minifying_run(&m, g, n, ex);
    dync__hook_busy(busy);
    return status == DYNC_OK ? dync__backend_eager(graph, ex, n, NULL, out, NULL) : status;
}

DYNC__FN dync_status dync__backend_minifier(dync_graph *graph, const dync_value *ex, int n,
                                            const char *options, dync_callable *out, void *user)
{
    (void)user;
    return dync__minifier_compile(graph, ex, n, options, out, false);
}

DYNC__FN dync_status dync__backend_minifier_accuracy(dync_graph *graph, const dync_value *ex, int n,
                                                     const char *options, dync_callable *out,
                                                     void *user)
{
    (void)user;
    return dync__minifier_compile(graph, ex, n, options, out, true);
}
#endif

/* ---- predicates ------------------------------------------------------------------------------ */

static bool dync__predicate(dync_graph *graph, const dync_value *inputs, int n, void *backend,
                            bool accuracy)
{
    dync__graph *g = dync__graph_open(graph, "dync_fails");
    const dync_backend *b = g && inputs ? dync_lookup_backend(backend ? backend : "inductor")
                                        : NULL;
    dync__minifying m;
    dync__verdict v;
    if (g && !inputs)
        dync__fail(DYNC_ERR_VALUE, "dync_fails: expected the inputs of the graph, "
                                   "got NULL");
    if (!b) return false;
    bool busy = dync__hook_busy(true);
    dync__minifying_begin(&m, b, NULL, accuracy, true, false);
    dync__judge_graph(&m.judge, g, n, inputs, &v);
    dync__hook_busy(busy);
    return v.kind == DYNC__RAISES || v.kind == DYNC__CRASHES || v.kind == DYNC__HANGS ||
           v.kind == DYNC__INACCURATE;
}

DYNC_API bool dync_fails(dync_graph *g, const dync_value *inputs, int n, void *backend)
{
    return dync__predicate(g, inputs, n, backend, false);
}
DYNC_API bool dync_fails_accuracy(dync_graph *g, const dync_value *inputs, int n, void *backend)
{
    return dync__predicate(g, inputs, n, backend, true);
}
