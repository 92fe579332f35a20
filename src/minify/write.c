/* minify/write.c: a graph and its inputs as one C program that needs only dync.h; and where such
 * programs go. After shrink.c, before hook.c.
 *
 * The parts stand in upstream's order (torch/_dynamo/repro/after_dynamo.py,
 * generate_dynamo_fx_repro_string): include, configuration, the module as torch.fx prints it (a
 * comment) and as C, load_args, main. Attributes of the graph that are not printed as constants
 * become further inputs. Memory is written once however many inputs share it: up to 64 elements in
 * the program, more in a file named by its contents in <save_dir>/storages. */
#include "../dync.in.h"
#include "minify.h"
DYNC__COLD

enum { DYNC__REPRO_INLINE = 64 };
/* One program being written. storage: those that have a buffer already, in the order of their
 * numbers in the text. status: the first failure; later writes go on and are dropped. */
typedef struct dync__writer {
    dync__str text;
    const dync__repro_file *file;
    dync__graph *graph;
    const dync_value *input;
    DYNC__VEC(const dync__storage *) storage;
    dync_status status;
} dync__writer;

/* ---- data ------------------------------------------------------------------------------------ */

/* Names the files of storages: equal bytes are one file, however many programs use them. */
DYNC__FN uint64_t dync__repro_hash(const void *data, size_t n)
{
    return dync__hash_mix(dync__hash_bytes(data, n, 1), (uint64_t)n);
}

/* The storage's bytes in main memory: its own, or a copy in *owned, which the caller frees.
 * NULL: no data, or no memory. */
static const void *dync__write_host_data(const dync__storage *s, void **owned)
{
    *owned = NULL;
    if (dync__device_is(s->device, DYNC__DEV_HOST)) return s->data;
    if (!s->data || !(*owned = dync__alloc(s->size_bytes))) return NULL;
    return dync__device_copy(DYNC_CPU, *owned, s->device, s->data, s->size_bytes) == DYNC_OK
               ? *owned
               : NULL;
}

/* Floats that are not finite, f16 and bf16 are written as their bits. */
static bool dync__write_as_bits(const char *data, size_t count, int dtype)
{
    const dync__dtype_row *row = dync__dtype_info(dtype);
    if (row->kind == 'f' && row->bytes == 2) return true;
    for (size_t i = 0; i < count && row->kind == 'f'; i++) {
        double x = dync__load_f64(data + i * row->bytes, dtype);
        if (!(x - x == 0)) return true;
    }
    return false;
}

/* A C literal that gives back the same bits. INT64_MIN and -0 need a form of their own: C has no
 * negative literals. */
static void dync__write_element(dync__str *s, const char *at, int dtype, bool bits)
{
    char text[40];
    int bytes = dync__dtype_info(dtype)->bytes;
    if (bits) {
        uint64_t u = 0;
        if (bytes == 2)
            u = *(const uint16_t *)(const void *)at;
        else if (bytes == 4)
            u = *(const uint32_t *)(const void *)at;
        else
            memcpy(&u, at, sizeof u);
        dync__str_addf(s, "0x%llx", (unsigned long long)u);
        return;
    }
    if (dtype == DYNC_F32)
        dync__float_text((float)dync__load_f64(at, dtype), text, sizeof text);
    else if (dtype == DYNC_F64)
        dync__double_text(dync__load_f64(at, dtype), text, sizeof text);
    else
        dync__format(text, sizeof text, "%lld", (long long)dync__load_i64(at, dtype));
    if (strcmp(text, "-9223372036854775808") == 0)
        dync__format(text, sizeof text, "(-9223372036854775807 - 1)");
    dync__str_add(s, text);
    if (dtype == DYNC_F32 && strpbrk(text, ".e")) dync__str_addc(s, 'f');
    if (dtype == DYNC_F32 && strcmp(text, "-0") == 0) dync__str_add(s, ".0f");
    if (dtype == DYNC_F64 && strcmp(text, "-0") == 0) dync__str_add(s, ".0");
}

/* The elements as an array data<k>; the element type is one that C has, with bits where it has
 * none (f16, bf16). */
static void dync__write_inline(dync__writer *w, int k, const char *data, size_t bytes, int dtype)
{
    size_t item = dync__dtype_info(dtype)->bytes, count = bytes / item;
    bool bits = dync__write_as_bits(data, count, dtype);
    const char *type = bits && item > 2 ? item == 4 ? "uint32_t" : "uint64_t"
                                        : dync__dtype_c_type(dtype);
    dync__str_addf(&w->text, "static const %s data%d[] = {", type, k);
    for (size_t i = 0; i < count; i++) {
        dync__str_add(&w->text, i == 0 ? "" : i % 8 == 0 ? ",\n    " : ", ");
        dync__write_element(&w->text, data + i * item, dtype, bits);
    }
    dync__str_add(&w->text, "};\n");
}

/* A row of its elements as .npy; bfloat16, which NumPy lacks, as its bits. */
static dync_status dync__write_storage_file(const char *folder, uint64_t hash, const void *data,
                                            size_t bytes, int dtype)
{
    dync__layout lay;
    dync__str path = {0}, file = {0};
    if (dtype == DYNC_BF16) dtype = DYNC_I16;
    int64_t count = (int64_t)(bytes / dync__dtype_info(dtype)->bytes);
    dync_status status = dync__layout_contiguous(&lay, 1, &count);
    dync__storage *s =
        status == DYNC_OK ? dync__storage_borrow(DYNC_CPU, (void *)(uintptr_t)data, bytes) : NULL;
    dync__tensor *t = s ? dync__tensor_new(s, dtype, &lay) : NULL;
    dync__str_addf(&path, "%s/storages", folder);
    if (status == DYNC_OK && t) status = dync__folders_make(dync__str_get(&path));
    dync__str_addf(&path, "/%016llx.npy", (unsigned long long)hash);
    if (status == DYNC_OK) status = t && !path.failed ? dync__npy_write(t, &file) : DYNC_ERR_MEMORY;
    if (status == DYNC_OK) status = dync__file_write_own(dync__str_get(&path), file.at, file.n);
    dync__unref(t);
    dync__str_free(&file);
    dync__str_free(&path);
    return status;
}

/* ---- load_args ------------------------------------------------------------------------------- */

/* The number of a storage in the text, as in buf<number>; -1: it has not been written. */
static int dync__write_storage_index(const dync__writer *w, const dync__storage *s)
{
    for (int i = 0; i < w->storage.n; i++)
        if (w->storage.at[i] == s) return i;
    return -1;
}

static void dync__write_device(dync__str *s, int device)
{
    char text[DYNC__DEVICE_TEXT];
    if (dync__device_is(device, DYNC__DEV_NUMBERED))
        dync__str_addf(s, ", .device = %s", dync__device_code(device, text));
}

/* The statement that makes the storage; data that stand in the program go before the function, into
 * w->text. */
static void dync__write_storage(dync__writer *w, dync__str *body, const dync__tensor *t)
{
    const dync__storage *s = t->storage;
    int k = w->storage.n;
    void *owned = NULL;
    const void *data = dync__write_host_data(s, &owned);
    if (!dync__vec_push(&w->storage, s)) {
        w->status = DYNC_ERR_MEMORY;
        return;
    }
    dync__str_addf(body, "    int buf%d = dync_repro_storage(reader, %zu", k, s->size_bytes);
    if (data && s->size_bytes &&
        s->size_bytes / dync__dtype_info(t->dtype)->bytes <= DYNC__REPRO_INLINE) {
        dync__write_inline(w, k, data, s->size_bytes, t->dtype);
        dync__str_addf(body, ", .data = data%d", k);
    } else if (data && s->size_bytes) {
        uint64_t hash = dync__repro_hash(data, s->size_bytes);
        dync_status status = DYNC_OK;
        if (w->file->save_dir)
            status =
                dync__write_storage_file(w->file->save_dir, hash, data, s->size_bytes, t->dtype);
        if (w->status == DYNC_OK) w->status = status;
        dync__str_addf(body, ", .hash = \"%016llx\"", (unsigned long long)hash);
    }
    dync__write_device(body, s->device);
    if (t->dtype != DYNC_F32)
        dync__str_addf(body, ", .dtype_hint = %s", dync__dtype_c_name(t->dtype));
    dync__str_add(body, ");\n");
    dync__free(owned, s->size_bytes);
}

static void dync__write_dims(dync__str *s, int n, const int64_t *d)
{
    if (n == 0) dync__str_add(s, "DYNC_SCALAR");
    for (int i = 0; i < n; i++)
        dync__str_addf(s, i ? ", %lld" : "dync_shape(%lld", (long long)d[i]);
    if (n) dync__str_addc(s, ')');
}

/* Only what is not the default is written. */
static void dync__write_tensor(dync__writer *w, dync__str *body, const dync__tensor *t,
                               const char *name)
{
    if (dync__write_storage_index(w, t->storage) < 0) dync__write_storage(w, body, t);
    dync__str_addf(body, "    dync_repro_tensor(reader, buf%d, ",
                   dync__write_storage_index(w, t->storage));
    dync__write_dims(body, t->lay.ndim, t->lay.shape);
    if (!dync__layout_is_contiguous(&t->lay)) {
        dync__str_add(body, ", .stride = ");
        dync__write_dims(body, t->lay.ndim, t->lay.stride);
    }
    if (t->dtype != DYNC_F32) dync__str_addf(body, ", .dtype = %s", dync__dtype_c_name(t->dtype));
    if (t->lay.offset) dync__str_addf(body, ", .storage_offset = %lld", (long long)t->lay.offset);
    if (dync__tensor_requires_grad(t)) dync__str_add(body, ", .requires_grad = true");
    if (dync__tensor_is_leaf(t)) dync__str_add(body, ", .is_leaf = true");
    dync__str_addf(body, ");  /* %s */\n", name);
}

/* An input that is a number. <math.h>'s names stand for floats that have no literal. */
static void dync__write_number(dync__str *body, const dync_value *v, const char *name)
{
    char text[40];
    dync__str_add(body, "    dync_repro_number(reader, ");
    if (v->kind == DYNC_KIND_FLOAT) {
        dync__double_text(v->as.f, text, sizeof text);
        dync__str_addf(body, "dync_v_float(%s)",
                       v->as.f - v->as.f == 0 ? text
                       : v->as.f > 0          ? "HUGE_VAL"
                       : v->as.f < 0          ? "-HUGE_VAL"
                                              : "NAN");
    } else if (v->kind == DYNC_KIND_INT) {
        dync__str_addf(body, "dync_v_int(%lld)", (long long)v->as.i);
    } else if (v->kind == DYNC_KIND_BOOL) {
        dync__str_addf(body, "dync_v_bool(%s)", v->as.b ? "true" : "false");
    } else {
        dync__str_add(body, "DYNC_NONE");
    }
    dync__str_addf(body, ");  /* %s */\n", name);
}

/* A tensor of the graph's own that the C text does not print as a constant. */
static bool dync__write_is_attr(const dync__node *n)
{
    return n->kind == DYNC__N_GET_ATTR && n->value && !dync__graph_prints_inline(n);
}

/* The inputs and attributes in the order of the nodes, which is also that of `names` in main:
 * reader values are matched to the graph by their places alone. */
static void dync__write_load_args(dync__writer *w)
{
    dync__str body = {0};
    int k = 0;
    for (int i = 0; i < w->graph->node.n; i++) {
        const dync__node *n = w->graph->node.at[i];
        bool attr = dync__write_is_attr(n);
        if (n->kind != DYNC__N_PLACEHOLDER && !attr) continue;
        const dync_value *v = attr ? NULL : &w->input[k++];
        const dync__tensor *t = attr                          ? n->value
                                : v->kind == DYNC_KIND_TENSOR ? dync__peek(v->as.t)
                                                              : NULL;
        if (t)
            dync__write_tensor(w, &body, t, n->name);
        else
            dync__write_number(&body, v, n->name);
    }
    dync__str_add(&w->text, "static void load_args(dync_repro_reader *reader)\n{\n");
    dync__str_add(&w->text, body.n ? dync__str_get(&body) : "    (void)reader;\n");
    dync__str_add(&w->text, "}\n\n");
    if (body.failed) w->text.failed = true;
    dync__str_free(&body);
}

/* ---- the other parts ------------------------------------------------------------------------- */

/* configure() sets what the failure may depend on: threads, seed and the settings that are not the
 * default. Custom operators and backends cannot be written; a comment stands where the reader must
 * register them. */
static void dync__write_head(dync__writer *w)
{
    bool custom = false;
    for (int i = 0; i < w->graph->node.n; i++)
        custom = custom ||
                 (dync__node_is_call(w->graph->node.at[i]) && w->graph->node.at[i]->op == -1);
    dync__str_add(&w->text,
                  "/* A repro written by dync's minifier. It needs dync.h and nothing else:  cc "
                  "-O2 FILE.c -lm -pthread\n"
                  " *   ./a.out run      runs the graph with the backend: exit status 1 where it "
                  "fails\n"
                  " *   ./a.out minify   shrinks it: the result is repro.c in the working "
                  "directory\n"
                  " * --accuracy, --no-accuracy, --backend NAME, --only-fwd, --save-dir DIR, "
                  "--no-isolate: see dync_run_repro. */\n"
                  "#define DYNC_IMPLEMENTATION\n#include \"dync.h\"\n\n"
                  "static void configure(void)\n{\n");
    dync__str_addf(&w->text,
                   "    dync_config_set(\"threads\", \"%d\");\n    dync_manual_seed(%llu);\n",
                   dync__pool_threads(), (unsigned long long)dync__tls.rng_seed);
    dync__repro_print(&w->text, false);
    if (custom)
        dync__str_add(&w->text, "    /* register the graph's own operators here: "
                                "dync_op_register(...) */\n");
    const char *backend = w->file->backend;
    if (!dync__backend_is_builtin(backend))
        dync__str_addf(&w->text,
                       "    /* register the backend here: dync_register_backend(%s%s) */\n",
                       backend && dync__is_name(backend, strlen(backend)) ? "&" : "...",
                       backend && dync__is_name(backend, strlen(backend)) ? backend : "");
    dync__str_add(&w->text, "}\n\n");
}

/* The text of torch.fx; what would end the comment is parted. */
static void dync__write_fx(dync__writer *w)
{
    dync__str fx = {0};
    dync__graph_print_repro(&fx, w->graph);
    dync__str_add(&w->text, "/*\n");
    for (const char *p = dync__str_get(&fx); *p; p++) {
        dync__str_addc(&w->text, *p);
        if (p[0] == '*' && p[1] == '/') dync__str_addc(&w->text, ' ');
    }
    dync__str_add(&w->text, "*/\n");
    w->text.failed = w->text.failed || fx.failed;
    dync__str_free(&fx);
}

/* The graph as torch.fx prints it, for the reader, then as the C function Repro, whose arguments
 * are the values of load_args. */
static void dync__write_module(dync__writer *w)
{
    dync__write_fx(w);
    dync__graph_print_c_inside(&w->text, w->graph, "Repro");
    dync__str_add(&w->text, "static dync_value Repro(const dync_value *dync_args, int "
                            "dync_nargs, void *dync_user)\n{\n"
                            "    (void)dync_args, (void)dync_nargs, (void)dync_user;\n");
    dync__graph_print_c_body(&w->text, w->graph, "Repro", "dync_args");
    dync__str_add(&w->text, "}\n\n");
}

/* `.field = "text"`; nothing where there is no text. */
static void dync__write_text_field(dync__writer *w, const char *field, const char *text)
{
    if (!text || !*text) return;
    dync__str_addf(&w->text, ",\n        .%s = ", field);
    dync__str_quote_c(&w->text, text);
}

static void dync__write_main(dync__writer *w)
{
    dync__str names = {0};
    for (int i = 0; i < w->graph->node.n; i++) {
        const dync__node *n = w->graph->node.at[i];
        if (n->kind == DYNC__N_PLACEHOLDER || dync__write_is_attr(n))
            dync__str_addf(&names, names.n ? ", %s" : "%s", n->name);
    }
    dync__str_add(&w->text, "int main(int argc, char **argv)\n{\n    configure();\n    return "
                            "dync_run_repro(argc, argv, (dync_repro){\n"
                            "        .mod = Repro, .load_args = load_args, .load_args_version = 0");
    dync__str_addf(&w->text, ", .accuracy = %s", w->file->accuracy ? "true" : "false");
    if (w->file->forward_only) dync__str_add(&w->text, ", .only_fwd = true");
    if (w->file->grad_off) dync__str_add(&w->text, ", .no_grad = true");
    dync__write_text_field(w, "names", dync__str_get(&names));
    dync__write_text_field(w, "command", w->file->command);
    dync__write_text_field(w, "save_dir", w->file->save_dir);
    dync__write_text_field(w, "backend", w->file->backend);
    dync__write_text_field(w, "options", w->file->options);
    dync__str_add(&w->text, "});\n}\n");
    dync__str_free(&names);
}

/* <math.h> for numbers that are not finite, which are rare. */
static void dync__write_math(dync__str *s)
{
    static const char include[] = "#define DYNC_IMPLEMENTATION\n";
    dync__str whole = {0};
    const char *text = dync__str_get(s), *at = strstr(text, include);
    if (!at || (!strstr(text, "NAN") && !strstr(text, "INFINITY") && !strstr(text, "HUGE_VAL")))
        return;
    dync__str_addn(&whole, text, (size_t)(at - text));
    dync__str_addf(&whole, "#include <math.h>\n%s", at);
    whole.failed = whole.failed || s->failed;
    dync__str_free(s);
    *s = whole;
}

static dync_status dync__write_program(dync__writer *w)
{
    dync__graph_renumber(w->graph);
    dync__write_head(w);
    dync__write_module(w);
    dync__write_load_args(w);
    dync__write_main(w);
    dync__write_math(&w->text);
    return w->text.failed ? DYNC_ERR_MEMORY : w->status;
}

/* ---- files ----------------------------------------------------------------------------------- */

/* inputs: n values, one for each input of g. A failure leaves no file, but perhaps files of
 * storages. */
DYNC__FN dync_status dync__repro_write(const dync__repro_file *file, dync__graph *g, int n,
                                       const dync_value *inputs, const char *path)
{
    dync__writer w = {.file = file, .graph = g, .input = inputs};
    if (n != g->n_inputs)
        return dync__fail(DYNC_ERR_VALUE, "repro: the graph has %d inputs, got %d values",
                          g->n_inputs, n);
    dync_scope scope = dync_scope_begin();
    dync_status status = dync__write_program(&w);
    if (status == DYNC_OK) status = dync__file_write_own(path, dync__str_get(&w.text), w.text.n);
    dync_scope_end(&scope);
    dync__vec_free(&w.storage);
    dync__str_free(&w.text);
    return status;
}

/* folder, path and copy are the caller's to free; here: the working directory. file is a copy,
 * whose save_dir points into folder. */
static dync_status dync__repro_checkpoint_in(const char *here, dync__repro_file file,
                                             dync__graph *g, int n, const dync_value *inputs,
                                             dync__str *folder, dync__str *path, dync__str *copy)
{
    char *text = NULL;
    size_t bytes = 0;
    dync__str_addf(folder, "%s/checkpoints", here);
    dync__str_addf(path, "%s/minified_%d_nodes.c", dync__str_get(folder), g->node.n);
    dync__str_addf(copy, "%s/repro.c", here);
    if (folder->failed || path->failed || copy->failed) return DYNC_ERR_MEMORY;
    dync__warn("Writing checkpoint with %d nodes to %s", g->node.n, dync__str_get(path));
    DYNC__TRY(dync__folders_make(dync__str_get(folder)));
    file.save_dir = dync__str_get(folder);
    DYNC__TRY(dync__repro_write(&file, g, n, inputs, dync__str_get(path)));
    dync__warn("Copying %s to %s for convenience", dync__str_get(path), dync__str_get(copy));
    DYNC__TRY(dync__file_read(dync__str_get(path), &text, &bytes));
    dync_status status = dync__file_write_own(dync__str_get(copy), text, bytes);
    dync__free(text, bytes + 1);
    return status;
}

DYNC__FN dync_status dync__repro_checkpoint(const dync__repro_file *file, dync__graph *g, int n,
                                            const dync_value *inputs)
{
    dync__str here = {0}, folder = {0}, path = {0}, copy = {0};
    dync__folder_current(&here);
    dync_status status =
        dync__repro_checkpoint_in(dync__str_get(&here), *file, g, n, inputs, &folder, &path, &copy);
    dync__str_free(&here);
    dync__str_free(&folder);
    dync__str_free(&path);
    dync__str_free(&copy);
    return status;
}

/* One folder a process: run_<date>-pid_<pid>. */
static void dync__repro_run_folder(dync__str *out)
{
    static struct {
        dync__mutex lock;
        char name[64];
    } run;
    const dync__repro_settings *now = dync__repro_now();
    dync__str date = {0};
    dync__lock(&run.lock);
    if (!run.name[0]) {
        dync__date_text(&date);
        dync__format(run.name, sizeof run.name, "run_%s-pid_%d", dync__str_get(&date),
                     dync__process_id());
    }
    if (now->debug_dir[0]) {
        bool absolute = now->debug_dir[0] == '/' || (now->debug_dir[0] && now->debug_dir[1] == ':');
        if (!absolute) {
            dync__folder_current(out);
            dync__str_addc(out, '/');
        }
        dync__str_add(out, now->debug_dir);
    } else {
        dync__folder_current(out);
        dync__str_add(out, "/torch_compile_debug");
    }
    dync__str_addf(out, "/%s", run.name);
    dync__unlock(&run.lock);
    dync__str_free(&date);
}

/* path gets <debug_dir>/run_../minifier/minifier_launcher.c, also where writing fails; it is the
 * caller's to free. */
DYNC__FN dync_status dync__repro_launcher(const dync__repro_file *given, dync__graph *g, int n,
                                          const dync_value *inputs, dync__str *path)
{
    dync__str folder = {0};
    dync__repro_file file = *given;
    dync__repro_run_folder(&folder);
    dync__str_add(&folder, "/minifier");
    dync__str_addf(path, "%s/minifier_launcher.c", dync__str_get(&folder));
    dync__str_add(&folder, "/checkpoints");
    dync__warn("Writing minified repro to:\n%s", dync__str_get(path));
    dync_status status = folder.failed || path->failed ? DYNC_ERR_MEMORY
                                                       : dync__folders_make(dync__str_get(&folder));
    file.save_dir = dync__str_get(&folder);
    file.command = "minify";
    if (status == DYNC_OK) status = dync__repro_write(&file, g, n, inputs, dync__str_get(path));
    dync__str_free(&folder);
    return status;
}

DYNC_API dync_status dync_repro_save(dync_graph *graph, dync_value inputs, const char *backend,
                                     bool accuracy, const char *path)
{
    dync_value one[1] = {inputs};
    const dync__list *list = dync__value_list(inputs);
    dync__graph *g = dync__graph_open(graph, "dync_repro_save");
    if (!g || (!list && inputs.kind == DYNC_KIND_LIST && inputs.as.l)) return DYNC_ERR_VALUE;
    if (!path) return dync__fail(DYNC_ERR_VALUE, "dync_repro_save: the path is NULL");
    dync__str folder = {0};
    const char *slash = strrchr(path, '/');
    if (slash)
        dync__str_addn(&folder, path, (size_t)(slash - path));
    else
        dync__folder_current(&folder);
    dync__repro_file file = {.backend = backend ? backend : "inductor",
                             .accuracy = accuracy,
                             .save_dir = dync__str_get(&folder),
                             .grad_off = dync__grad_is_off()};
    int n = list ? list->n : inputs.kind == DYNC_KIND_NONE ? 0 : 1;
    dync_status status = dync__repro_write(&file, g, n, list ? list->items : one, path);
    dync__str_free(&folder);
    return status;
}
