/* tests/fuzz/targets.h: what the fuzzers feed: one function per reader, each over any bytes. None
 * may crash, leak, read or write outside of its memory, or run for long; what it gives is not
 * judged here.
 *
 * Included by fuzz.c (libFuzzer, or a plain driver) and by tests/unit/test_fuzz.c, which runs the
 * corpora. */
#ifndef DYNC_TESTS_FUZZ_TARGETS_H
#define DYNC_TESTS_FUZZ_TARGETS_H
#include "dync.in.h"
#include "program/program.h"
#include "door/door.h"
#include "onnx/record.h"
#include "graph/text.h"
#include "../../tools/ir/ir.h"
#include <stdio.h>
#include <stdlib.h>
extern FILE *popen(const char *, const char *);
extern int pclose(FILE *);

static int fuzz_seen_errors;

static void fuzz_quiet(dync_status status, const char *message, void *user)
{
    (void)status, (void)message, (void)user;
    fuzz_seen_errors++;
}

/* Bytes with a zero behind them; freed by the caller. */
static char *fuzz_text(const uint8_t *data, size_t n)
{
    char *text = malloc(n + 1);
    if (text && n) memcpy(text, data, n);
    if (text) text[n] = 0;
    return text;
}

/* ---- programs -------------------------------------------------------------------------------- */

/* A tensor of that type with small numbers, in strides of its own where `how` says so. */
static dync_tensor *fuzz_tensor(const dync__info *info, unsigned how)
{
    int64_t numel;
    dync__layout lay = info->lay, dense;
    if (info->device != DYNC_CPU || dync__numel(lay.ndim, lay.shape, &numel) != DYNC_OK ||
        numel > 1 << 16)
        return NULL;
    if (dync__layout_contiguous(&dense, lay.ndim, lay.shape) != DYNC_OK) return NULL;
    if (how == 0 || dync__layout_span(&lay) > 1 << 16) lay = dense;
    dync__tensor *t = dync__tensor_empty(info->dtype, DYNC_CPU, &lay);
    if (!t) return NULL;
    int64_t items = (int64_t)(t->storage->size_bytes / dync__dtype_info(t->dtype)->bytes);
    for (int64_t i = 0; i < items; i++)
        dync__store_f64((char *)t->storage->data + i * dync__dtype_info(t->dtype)->bytes, t->dtype,
                        (double)((i * 7 + how) % 5) - (info->dtype == DYNC_U8 ? 0 : 1));
    return dync__give(t);
}

/* FUZZ_CC=cc: the C that a program becomes is C, without a warning. */
static void fuzz_compile(const char *text, size_t n)
{
    char command[256];
    snprintf(command, sizeof command,
             "%s -std=c11 -pedantic -Wall -Wextra -Werror -fsyntax-only -x c - 2>&1",
             getenv("FUZZ_CC"));
    FILE *f = popen(command, "w");
    if (!f) return;
    fwrite(text, 1, n, f);
    if (pclose(f) == 0) return;
    fprintf(stderr, "this C does not compile:\n%s", text);
    abort();
}

/* Whether a loop without a limit ends, data decide: such programs are not run. */
static bool fuzz_ends(const dync__graph *g)
{
    bool ends = true;
    for (int i = 0; i < g->node.n; i++) {
        const dync__node *n = g->node.at[i];
        for (int k = 0; k < n->nargs; k++)
            if (n->args[k].kind == DYNC__A_GRAPH) ends = ends && fuzz_ends(n->args[k].as.graph);
        if (n->op == DYNC__OP_while_loop) ends = ends && n->args[4].as.i > 0;
    }
    return ends;
}

/* An argument as the program wants it; of symbolic sizes those that the file shows, or 3 more. */
static dync_tensor *fuzz_argument(const dync__program *p, int i, unsigned how)
{
    dync__info info = p->graph->node.at[i]->info[0];
    int64_t value[DYNC__PROGRAM_SYMBOLS] = {0};
    const dync__symtab *t = p->graph->syms;
    for (int k = 0; t && k < t->symbol.n; k++)
        value[k] = dync__symtab_find(t, t->symbol.at[k].token)->hint + 3 * (int64_t)how;
    return dync__program_layout(p, i, value, &info.lay) ? fuzz_tensor(&info, how) : NULL;
}

static void fuzz_run_program(dync__program *p)
{
    dync__str c = {0};
    dync_value args[DYNC__MAX_LEAVES];
    for (unsigned how = 0; how < 2 && fuzz_ends(p->graph); how++) {
        dync_scope scope = dync_scope_begin();
        bool ok = true;
        for (int i = 0; i < p->n_leaves; i++) args[i] = DYNC_NONE;
        for (int i = 0; i < p->graph->n_inputs && ok; i++) {
            dync_tensor *t = fuzz_argument(p, i, how);
            args[p->leaf[i]] = dync_v_tensor(t);
            ok = t != NULL;
        }
        for (int i = 0; i < p->n_leaves && ok; i++)
            if (args[i].kind == DYNC_KIND_NONE) args[i] = dync_v_tensor(dync_zeros(dync_shape(1)));
        if (ok) (void)dync__program_run(p, p->n_leaves, args);
        dync_clear_error();
        if (ok && how == 0) (void)dync__graph_run(p->graph, args, p->graph->n_inputs);
        dync_clear_error();
        dync_scope_end(&scope);
    }
    if (dync__program_csource(p, NULL, &c, NULL) == DYNC_OK && getenv("FUZZ_CC"))
        fuzz_compile(dync__str_get(&c), c.n);
    dync__str_free(&c);
}

static dync__program *fuzz_read(const char *bytes, size_t n)
{
    dync__program *p = dync__program_read(bytes, n);
    dync_clear_error();
    if (!p) return NULL;
    /* what was read can be written, and that read */
    dync__str again = {0};
    if (dync__program_write(p, &again) == DYNC_OK) {
        dync__program *q = dync__program_read(again.at, again.n);
        if (!q && dync_error() != DYNC_ERR_MEMORY) {
            fprintf(stderr, "a program that was read is refused when written again: %s\n",
                    dync_error_message());
            abort();
        }
        dync__program_free(q);
    }
    dync_clear_error();
    dync__str_free(&again);
    return p;
}

static void fuzz_sum(char *bytes, size_t n)
{
    uint64_t sum = dync__hash_bytes(bytes, n - 8, 0x64796e63u);
    for (int i = 0; i < 8; i++) bytes[n - 8 + (size_t)i] = (char)(sum >> 8 * i & 255);
}

/* A whole file; its last eight bytes become the checksum. */
static void fuzz_program(const uint8_t *data, size_t n)
{
    char *bytes = fuzz_text(data, n);
    if (bytes && n >= 8) fuzz_sum(bytes, n);
    dync__program *p = bytes ? fuzz_read(bytes, n) : NULL;
    if (p) fuzz_run_program(p);
    dync__program_free(p);
    free(bytes);
}

/* A graph's text with what a file has around it. NULL: no memory. */
static char *fuzz_file(const char *text, size_t *out_n)
{
    dync__str s = {0};
    dync__graph *g = dync__graph_parse(text);
    int inputs = g ? g->n_inputs : 0;
    dync__graph_unref(g);
    dync_clear_error();
    dync__str_addf(&s, "dync program %d\nname f\ninputs %d", strstr(text, "static ") ? 2 : 1,
                   inputs);
    for (int i = 0; i < inputs; i++) dync__str_addf(&s, " %d", i);
    dync__str_addf(&s, "\ngraph %llu\n", (unsigned long long)strlen(text));
    dync__str_add(&s, text);
    dync__str_add(&s, "tensors 0 0\n");
    while (s.n % 64) dync__str_addc(&s, 0);
    for (int i = 0; i < 8; i++) dync__str_addc(&s, 0);
    char *bytes = s.failed ? NULL : fuzz_text((const uint8_t *)s.at, s.n);
    *out_n = s.n;
    if (bytes) fuzz_sum(bytes, s.n);
    dync__str_free(&s);
    return bytes;
}

/* The text of a graph: as a file that is loaded, run and written as C. */
static void fuzz_graph(const uint8_t *data, size_t n)
{
    size_t bytes;
    char *text = fuzz_text(data, n), *file = text ? fuzz_file(text, &bytes) : NULL;
    dync__program *p = file ? fuzz_read(file, bytes) : NULL;
    if (p) fuzz_run_program(p);
    dync__program_free(p);
    free(file);
    free(text);
}

/* ---- operators ------------------------------------------------------------------------------- */

enum { FUZZ_VALUES = 24, FUZZ_ELEMENTS = 1 << 14 };
typedef struct fuzz_bytes {
    const uint8_t *p, *end;
} fuzz_bytes;
static unsigned fuzz_take(fuzz_bytes *b, unsigned below)
{
    return b->p < b->end ? *b->p++ % below : 0;
}

static int64_t fuzz_int(fuzz_bytes *b)
{
    static const int64_t odd[] = {INT64_MAX,
                                  INT64_MIN,
                                  INT32_MAX,
                                  INT32_MIN,
                                  (int64_t)1 << 32,
                                  (int64_t)1 << 40,
                                  -((int64_t)1 << 40),
                                  1000,
                                  -7,
                                  INT64_MAX - 1,
                                  255,
                                  65536};
    unsigned k = fuzz_take(b, 32);
    return k < 20 ? (int64_t)k / 2 - 2 : odd[k - 20];
}

static int64_t fuzz_size(fuzz_bytes *b)
{
    static const int64_t sizes[] = {2, 3, 4, 1, 0, 5, 8, 17};
    return sizes[fuzz_take(b, 8)];
}

/* The tensors made so far, and the graph of how: placeholders for what was made here. */
typedef struct fuzz_ops {
    fuzz_bytes b;
    dync__graph *g;
    dync__tensor *value[FUZZ_VALUES];
    dync__node *node[FUZZ_VALUES];
    int n, item[FUZZ_VALUES];
    bool all_public;
} fuzz_ops;

static void fuzz_value(fuzz_ops *f, dync__tensor *t, dync__node *node, int item)
{
    if (f->n == FUZZ_VALUES || !t || !node) {
        dync__unref(t);
        return;
    }
    f->value[f->n] = t;
    f->item[f->n] = item;
    f->node[f->n++] = node;
}

static void fuzz_input(fuzz_ops *f)
{
    dync__info info = {.alias = -1};
    int64_t shape[DYNC_MAX_DIMS];
    unsigned dtype = fuzz_take(&f->b, 16), how = fuzz_take(&f->b, 4), rank = fuzz_take(&f->b, 8);
    info.dtype = dtype < 10 ? (int)dtype : dtype < 13 ? DYNC_F32 : DYNC_I64;
    if (rank > 5) rank = rank == 6 ? 2 : 8;
    for (unsigned d = 0; d < rank; d++) shape[d] = rank == 8 ? 1 + (d & 1) : fuzz_size(&f->b);
    if (dync__layout_contiguous(&info.lay, (int)rank, shape) != DYNC_OK) return;
    if (how == 1 && rank >= 2) { /* transposed */
        info.lay.stride[rank - 1] = shape[rank - 2];
        info.lay.stride[rank - 2] = 1;
        for (unsigned d = 0; d + 2 < rank; d++) info.lay.stride[d] *= 1;
    }
    if (how == 2 && rank) info.lay.stride[fuzz_take(&f->b, rank)] = 0;
    if (how == 3 && rank) /* every other one */
        for (unsigned d = 0; d < rank; d++) info.lay.stride[d] *= 2;
    dync_tensor *h = fuzz_tensor(&info, how != 0);
    dync__tensor *t = h ? dync__open(h) : NULL;
    if (!t) return;
    dync__ref(t);
    info.lay = t->lay;
    fuzz_value(f, t, dync__graph_placeholder(f->g, "x", NULL, &info), -1);
}

/* One argument: opened for the call, and as it stands in the graph. */
static dync__arg fuzz_arg(fuzz_ops *f, dync__param_type type, dync__arg *items, int64_t *dims,
                          dync__arg *in_graph, dync__arg *graph_items)
{
    unsigned how = fuzz_take(&f->b, 16);
    int v = f->n ? (int)fuzz_take(&f->b, (unsigned)f->n) : 0;
    dync__arg a = dync__arg_none();
    bool tensor = type == DYNC__PARAM_TENSOR ||
                  ((type == DYNC__PARAM_VALUE || type == DYNC__PARAM_TENSOR_OPT ||
                    type == DYNC__PARAM_VALUE_OPT) &&
                   how < 10);
    if (tensor && f->n) {
        *in_graph = dync__arg_node(f->node[v]);
        return dync__arg_t(f->value[v]);
    }
    switch (type) {
    case DYNC__PARAM_VALUE:
    case DYNC__PARAM_VALUE_OPT:
        a = how & 1   ? dync__arg_i(fuzz_int(&f->b))
            : how & 2 ? dync__arg_f((double)fuzz_int(&f->b) / 4)
                      : dync__arg_b(how & 4);
        break;
    case DYNC__PARAM_INT: a = dync__arg_i(fuzz_int(&f->b)); break;
    case DYNC__PARAM_FLOAT: a = dync__arg_f((double)fuzz_int(&f->b) / 8); break;
    case DYNC__PARAM_BOOL: a = dync__arg_b(how & 1); break;
    case DYNC__PARAM_DTYPE: a = dync__arg_dtype((int)fuzz_take(&f->b, 10)); break;
    case DYNC__PARAM_DEVICE: a = dync__arg_device(how < 15 ? DYNC_CPU : DYNC_META); break;
    case DYNC__PARAM_STR: {
        static const char *const texts[] = {"ij,jk->ik", "ii->i", "i,i->", "bij,bjk",  "mean",
                                            "",          "->",    "i...j", "ijk->kji", "zz,z->zzz"};
        a = dync__arg_s(texts[fuzz_take(&f->b, 10)]);
        break;
    }
    case DYNC__PARAM_DIMS:
        a = dync__arg_dims((int)fuzz_take(&f->b, 5), dims);
        for (int i = 0; i < a.n; i++)
            dims[i] = how < 12 ? (int64_t)fuzz_take(&f->b, 6) - (how & 1) : fuzz_int(&f->b);
        break;
    case DYNC__PARAM_TENSORS:
        a.kind = DYNC__A_LIST;
        a.n = f->n ? (int)fuzz_take(&f->b, 4) : 0;
        a.as.list = items;
        *in_graph = a;
        in_graph->as.list = graph_items;
        for (int i = 0; i < a.n; i++) {
            int k = (int)fuzz_take(&f->b, (unsigned)f->n);
            items[i] = dync__arg_t(f->value[k]);
            graph_items[i] = dync__arg_node(f->node[k]);
        }
        return a;
    default: break;
    }
    *in_graph = a;
    return a;
}

/* Is what it gives small enough to make? */
static bool fuzz_is_small(const dync__opcall *call, dync__info *info)
{
    int64_t n;
    if (call->row->flags & DYNC__OP_DATA_SHAPE) return true;
    if (dync__op_infer(call, info) != DYNC_OK) return false;
    for (int i = 0; i < call->row->nout; i++)
        if (dync__numel(info[i].lay.ndim, info[i].lay.shape, &n) != DYNC_OK || n > FUZZ_ELEMENTS)
            return false;
    return true;
}

/* FUZZ_SHOW=1: the calls of an input, to read what a crash was made of. */
static void fuzz_show(const dync__opcall *call)
{
    dync__str s = {0};
    for (int i = 0; i < call->nargs; i++) {
        const dync__arg *a = &call->args[i];
        dync__str_add(&s, i ? ", " : "");
        if (a->kind == DYNC__A_TENSOR) {
            dync__tensor_brief(&s, a->as.t);
            dync__str_add(&s, " strides ");
            dync__shape_text(&s, a->as.t->lay.ndim, a->as.t->lay.stride);
        } else if (a->kind == DYNC__A_DIMS) {
            dync__shape_text(&s, a->n, a->as.dims);
        } else {
            dync__str_addf(&s, "kind %d %g", a->kind,
                           dync__arg_is_number(a) ? dync__arg_number(a) : 0.0);
        }
    }
    fprintf(stderr, "%s(%s)\n", call->row->name, dync__str_get(&s));
    dync__str_free(&s);
}

static void fuzz_call(fuzz_ops *f)
{
    int op = (int)(fuzz_take(&f->b, 256) | fuzz_take(&f->b, 2) << 8) % DYNC__N_OPS, nargs = 0;
    const dync__op_row *row = dync__op_info(op);
    dync__arg args[DYNC__MAX_ARGS], graph_args[DYNC__MAX_ARGS], items[8], graph_items[8];
    int64_t dims[DYNC__MAX_ARGS][DYNC_MAX_DIMS];
    dync__tensor *out[DYNC__MAX_OUT] = {0};
    dync__info info[DYNC__MAX_OUT] = {{0}};
    dync__param param;
    const char *at = NULL;
    if (op == DYNC__OP_custom_gradient || op == DYNC__OP_trace_wrapped) return;
    while (dync__schema_next(row->schema, &at, &param)) {
        args[nargs] = fuzz_arg(f, param.type, items, dims[nargs], &graph_args[nargs], graph_items);
        nargs++;
    }
    dync__opcall call = {.row = row, .op = op, .nargs = nargs, .args = args};
    if (getenv("FUZZ_SHOW")) fuzz_show(&call);
    if (!fuzz_is_small(&call, info) || (dync__op_run)(op, nargs, args, out) != DYNC_OK) {
        dync_clear_error();
        return;
    }
    dync_clear_error();
    f->all_public = f->all_public && !(row->flags & DYNC__OP_DATA_SHAPE) &&
                    (!(row->flags & DYNC__OP_PRIVATE) || (row->flags & DYNC__OP_FILE));
    dync__node *node = f->all_public
                           ? dync__graph_call(f->g, op, nargs, graph_args, row->nout, info, NULL)
                       : f->n ? f->node[0]
                              : NULL;
    for (int i = 0; i < row->nout; i++)
        fuzz_value(f, out[i],
                   row->nout == 1 || !f->all_public ? node : dync__graph_getitem(f->g, node, i),
                   -1);
}

/* Bytes tell tensors and calls of operators on them, private ones too. What a file may hold goes
 * through one. */
static void fuzz_ops_run(const uint8_t *data, size_t n)
{
    dync__op_use_all();
    fuzz_ops f = {.b = {data, data + n}, .g = dync__graph_new(NULL), .all_public = true};
    dync_scope scope = dync_scope_begin();
    unsigned n_inputs = 1 + fuzz_take(&f.b, 4);
    for (unsigned i = 0; i < n_inputs; i++) fuzz_input(&f);
    for (int i = 0; i < 8 && f.b.p < f.b.end; i++) fuzz_call(&f);
    dync__program *p = NULL;
    dync__str file = {0};
    if (f.all_public && f.n) {
        dync__arg list[FUZZ_VALUES], result = {.kind = DYNC__A_LIST, .n = f.n};
        for (int i = 0; i < f.n; i++) list[i] = dync__arg_node(f.node[i]);
        result.as.list = list;
        if (dync__graph_output(f.g, &result))
            p = dync__program_from_leaves(f.g, "ops", f.g->n_inputs, NULL);
        if (p && dync__program_write(p, &file) == DYNC_OK) {
            /* a file for its text: inputs of the target graph */
            const char *dump = getenv("FUZZ_DUMP");
            FILE *to = dump ? fopen(dump, "wb") : NULL;
            dync__str text = {0};
            if (to) dync__graph_print_c(&text, f.g);
            if (to) fwrite(dync__str_get(&text), 1, text.n, to), fclose(to);
            dync__str_free(&text);
            dync__program *q = dync__program_read(file.at, file.n);
            dync_clear_error();
            if (q) fuzz_run_program(q);
            dync__program_free(q);
        }
        dync__program_free(p);
    }
    for (int i = 0; i < f.n; i++) dync__unref(f.value[i]);
    dync__str_free(&file);
    dync__graph_unref(f.g);
    dync_clear_error();
    dync_scope_end(&scope);
    dync_set_grad_enabled(true);
}

/* ---- the other readers ----------------------------------------------------------------------- */

static void fuzz_npy(const uint8_t *data, size_t n)
{
    char *bytes = fuzz_text(data, n);
    dync__unref(bytes ? dync__npy_read(bytes, n) : NULL);
    free(bytes);
}

static void fuzz_safetensors(const uint8_t *data, size_t n)
{
    dync__st_file f = {0};
    char *bytes = fuzz_text(data, n);
    if (bytes && dync__st_parse(&f, bytes, n) == DYNC_OK)
        for (int i = 0; i < f.n; i++)
            (void)dync__hash_bytes(f.tensor[i].data, f.tensor[i].bytes, 0);
    dync__st_close(&f);
    free(bytes);
}

/* Any file of named tensors; what it holds is read to its last byte. */
static void fuzz_doors(const uint8_t *data, size_t n)
{
    char *bytes = dync__alloc(n + 1);
    if (bytes && n) memcpy(bytes, data, n);
    if (bytes) bytes[n] = 0;
    dync__blob *b = bytes ? dync__blob_take(bytes, n, false) : NULL;
    dync__tensors *c = dync__tensors_make();
    if (b && c && dync__tensors_read(c, b, NULL) == DYNC_OK)
        for (int i = 0; i < c->item.n; i++) {
            dync__tensor *dense = dync__contiguous_copy(c->item.at[i].tensor);
            if (dense && dense->numel)
                (void)dync__hash_bytes(dync__tensor_data(dense),
                                       (size_t)dense->numel * dync__dtype_info(dense->dtype)->bytes,
                                       0);
            dync__unref(dense);
        }
    dync__tensors_drop(c);
    dync__blob_unref(b);
}

static void fuzz_module(const uint8_t *data, size_t n)
{
    dync__st_file f = {0};
    char *bytes = fuzz_text(data, n);
    dync_module *m = dync__module_give(
        bytes && dync__st_parse(&f, bytes, n) == DYNC_OK ? dync__module_from(&f) : NULL);
    dync__st_close(&f);
    dync_clear_error();
    if (m) {
        dync_scope scope = dync_scope_begin();
        static const int64_t sizes[3][4] = {{1, 4}, {2, 3, 8, 8}, {2, 4, 4}};
        for (int i = 0; i < 3; i++) {
            (void)dync_forward_call(
                m, dync_ones(((dync_dims){i == 0   ? 2
                                          : i == 1 ? 4
                                                   : 3,
                                          {sizes[i][0], sizes[i][1], sizes[i][2], sizes[i][3]}})));
            dync_clear_error();
        }
        dync_scope_end(&scope);
    }
    dync_module_free(m);
    free(bytes);
}

static void fuzz_json(const uint8_t *data, size_t n)
{
    dync__arena arena = {0};
    char *text = fuzz_text(data, n);
    dync__json *v = text ? dync__json_parse(&arena, text, n) : NULL;
    if (v) (void)dync__json_get(v, "a");
    dync__arena_free(&arena);
    free(text);
}

static void fuzz_kernel(const uint8_t *data, size_t n)
{
    dync__arena arena = {0};
    char *text = fuzz_text(data, n);
    dync__str s = {0};
    dync__kernel *k = text ? dync__kernel_parse(&arena, text) : NULL;
    if (k) dync__kernel_print(&s, k);
    dync__str_free(&s);
    dync__arena_free(&arena);
    free(text);
}

/* An ONNX model: read, and where it is small run on zeros. */
static void fuzz_onnx(const uint8_t *data, size_t n)
{
    char *bytes = dync__alloc(n + 1);
    if (bytes && n) memcpy(bytes, data, n);
    dync__program *p = bytes ? dync__onnx_program(dync__blob_take(bytes, n, false), NULL, "fuzz")
                             : NULL;
    dync_scope scope = dync_scope_begin();
    dync_value in[16];
    int k = 0;
    for (; p && k < p->n_port_in && k < 16; k++) {
        dync_make make = {0};
        int64_t numel = 1;
        make.shape = p->port[k].shape;
        make.dtype = p->port[k].dtype;
        for (int d = 0; d < make.shape.n; d++) {
            if (make.shape.d[d] < 0) make.shape.d[d] = 2;
            if (!dync__mul_ok(numel, make.shape.d[d], &numel)) numel = INT64_MAX;
        }
        if (make.shape.n < 0 || numel > 1 << 16) break;
        in[k] = dync_v_tensor(dync_zeros_opt(make));
    }
    if (p && k == p->n_port_in && (!p->graph || fuzz_ends(p->graph)))
        (void)dync__program_run(p, k, in);
    dync_clear_error();
    dync_scope_end(&scope);
    dync__program_free(p);
}

static const struct {
    const char *name;
    void (*run)(const uint8_t *, size_t);
} fuzz_targets[] = {
    {"program", fuzz_program},
    {"graph", fuzz_graph},
    {"ops", fuzz_ops_run},
    {"npy", fuzz_npy},
    {"safetensors", fuzz_safetensors},
    {"doors", fuzz_doors},
    {"module", fuzz_module},
    {"json", fuzz_json},
    {"kernel", fuzz_kernel},
    {"onnx", fuzz_onnx},
};

static inline void fuzz_begin(void)
{
    dync_on_error(fuzz_quiet, NULL);
    dync_config_set("threads", "1");
    dync_set_limits((dync_limits){.nodes = 200, .elements = 1 << 16, .work = 1 << 24});
}

/* One input. Nothing may be left behind. */
static inline void fuzz_one(int target, const uint8_t *data, size_t n)
{
    fuzz_targets[target].run(data, n);
    dync_clear_error();
}
#endif
