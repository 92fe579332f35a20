/* tests/unit/test_onnx_write.c: every sample of every operator as an ONNX model: which there are,
 * and that they can be read. With ONNX_PACK=folder/ they are kept with their inputs and results;
 * tests/interop/onnx_write.py checks them and runs them in ONNX Runtime. */
#include "sample_lines.h"
#include "../ops/samples.c"
#include "onnx_pack.h"
#include "onnx/record.h"
#include "program/program.h"

/* What is not written: the beginning of a sample, and of what the error says. */
static const struct {
    const char *sample, *error;
} refusals[] = {
    {"batch_norm|", "graph Sample writes 2 of its inputs"}, /* running statistics, in training */
    {"nonzero|", "graph Sample is not functional: nonzero"},
    {"masked_select|", "graph Sample is not functional: masked_select"},
    {"unique|", "graph Sample is not functional: unique"},
    {"nms|", "graph Sample is not functional: nms"},
    {"_nms_each|", "graph Sample is not functional: _nms_each"},
    {"_rnn_layer_backward|", "ONNX: operator _rnn_layer_backward cannot be written: ONNX has no"},
};

static bool is_refused(const char *line, const char *error)
{
    for (int i = 0; i < DYNC__COUNT_OF(refusals); i++)
        if (strncmp(line, refusals[i].sample, strlen(refusals[i].sample)) == 0 &&
            strncmp(error, refusals[i].error, strlen(refusals[i].error)) == 0)
            return true;
    return false;
}

typedef struct made {
    dync__graph *graph;
    dync__tensor *in[16];
    int n_in;
} made;

/* Tensors become inputs; what is written in place is a copy of one. */
static dync__arg input_of(made *m, const dync__arg *a, bool copied)
{
    if (a->kind == DYNC__A_LIST) {
        dync__arg list = *a;
        list.as.list = dync__arena_alloc(&m->graph->arena, (size_t)(a->n + 1) * sizeof list);
        for (int i = 0; i < a->n; i++) list.as.list[i] = input_of(m, &a->as.list[i], false);
        return list;
    }
    if (a->kind != DYNC__A_TENSOR) return *a;
    dync__tensor *t = a->as.t;
    dync__info info = {.dtype = t->dtype, .device = t->device, .lay = t->lay, .alias = -1};
    info.lay.offset = 0;
    dync__node *n = dync__graph_placeholder(m->graph, "x", NULL, &info);
    m->in[m->n_in++] = t;
    if (!copied) return dync__arg_node(n);
    dync__arg x = dync__arg_node(n);
    return dync__arg_node(dync__graph_call(m->graph, DYNC__OP_clone, 1, &x, 1, &info, NULL));
}

/* Placeholders stand first: arguments are made before the call. */
static void graph_of(made *m, int op, int nargs, const dync__arg *args, int nout,
                     dync__tensor *const *out)
{
    dync__arg call[DYNC__MAX_ARGS], list[DYNC__MAX_OUT];
    dync__info info[DYNC__MAX_OUT];
    const dync__op_row *row = dync__op_info(op);
    memset(m, 0, sizeof *m);
    m->graph = dync__graph_new("Sample");
    for (int i = nargs - 1; i >= 0; i--) {
        if (i == 0 && row->cls == DYNC__INPLACE) continue;
        call[i] = input_of(m, &args[i], false);
    }
    if (row->cls == DYNC__INPLACE) call[0] = input_of(m, &args[0], true);
    for (int i = 0; i < nout; i++)
        info[i] = (dync__info){
            .dtype = out[i]->dtype, .device = out[i]->device, .lay = out[i]->lay, .alias = -1};
    dync__node *n = dync__graph_call(m->graph, op, nargs, call, nout, info, NULL);
    for (int i = 0; i < nout; i++)
        list[i] = dync__arg_node(nout > 1 ? dync__graph_getitem(m->graph, n, i) : n);
    dync__arg result = {.kind = DYNC__A_LIST, .n = nout, .as.list = list};
    dync__graph_output(m->graph, &result);
    dync__graph_renumber(m->graph);
}

/* The graph as a model, read again; NULL: not written, or read as a graph that data decide. */
static dync__program *read_again(dync__graph *g)
{
    dync__arena arena = {0};
    dync__str bytes = {0};
    dync__graph *flat = NULL;
    dync__onnx_model *m = NULL;
    dync__program *p = NULL;
    dync_status status = dync__ox_prepare(g, &flat);
    if (status == DYNC_OK) status = dync__ox_model(&arena, flat, "sample", true, NULL, &m);
    if (status == DYNC_OK) status = dync__onnx_write(&bytes, model, m);
    char *own = status == DYNC_OK ? dync__alloc(bytes.n + 1) : NULL;
    if (own) {
        memcpy(own, bytes.at, bytes.n);
        own[bytes.n] = 0;
        p = dync__onnx_program(dync__blob_take(own, bytes.n, false), NULL, "sample");
    }
    dync__str_free(&bytes);
    dync__graph_unref(flat);
    dync__arena_free(&arena);
    return p;
}

/* Written and read, a graph is what it was: at once or, where a formula of the writer is read as
 * operators that have formulas of their own, after a few times. */
static int same;
static void check_again(const char *line, dync__graph *g)
{
    enum { TIMES = 4, SAMPLES = 6 };
    static int of_operator;
    static char operator_name[64];
    size_t length = strcspn(line, "|");
    if (strncmp(line, operator_name, length + 1) != 0) of_operator = 0;
    snprintf(operator_name, sizeof operator_name, "%.*s|", (int)length, line);
    if (of_operator++ >= SAMPLES) return; /* samples stand by operator */
    dync__str text[TIMES] = {{0}};
    dync__program *p = read_again(g);
    bool again = false;
    for (int n = 0; n < TIMES && p && p->graph && !again; n++) {
        dync__graph_print_c(&text[n], p->graph);
        again = n && strcmp(dync__str_get(&text[n - 1]), dync__str_get(&text[n])) == 0;
        dync__program *next = read_again(p->graph);
        dync__program_free(p);
        p = next;
    }
    same += again;
    /* real numbers that are transformed get a dim of 1 in ONNX, which is taken off again */
    if (!again && strncmp(line, "fft_rfft|", 9) != 0 && strncmp(line, "stft|", 5) != 0)
        test__fail(__FILE__, __LINE__, line), test__fail(__FILE__, __LINE__, dync_error_message());
    for (int i = 0; i < TIMES; i++) dync__str_free(&text[i]);
    dync__program_free(p);
    dync_clear_error();
}

static int written, refused;

static void write_sample(const char *line)
{
    parser p = {.at = line};
    dync__arg args[DYNC__MAX_ARGS];
    dync__tensor *out[DYNC__MAX_OUT] = {NULL};
    char name[64] = "";
    int n = 0;
    size_t length = strcspn(line, "|");
    memcpy(name, line, length);
    p.at += length + 1;
    int op = dync__op_find(name);
    while (*p.at != '|') {
        args[n++] = read_arg(&p);
        take(&p, ";");
    }
    dync__error_guard guard;
    dync__error_guard_begin(&guard);
    made m;
    int nout = dync__op_info(op)->nout;
    dync_status status = p.at[1] == '!' ? DYNC_ERR_VALUE : DYNC_OK;
    bool valid = status == DYNC_OK && nout > 0; /* effects give nothing to write */
    dync__tensor *before[DYNC__MAX_ARGS] = {NULL};
    if (valid && dync__op_info(op)->cls == DYNC__INPLACE) /* the input as it was */
        before[0] = dync__contiguous_copy(args[0].as.t);
    if (valid) status = (dync__op_run)(op, n, args, out);
    if (status == DYNC_OK && nout > 0) {
        if (before[0]) args[0] = dync__arg_t(before[0]);
        graph_of(&m, op, n, args, nout, out);
        status = pack_case(line, m.graph, m.n_in, m.in, nout, out);
        if (status == DYNC_OK) check_again(line, m.graph);
        dync__graph_unref(m.graph);
    }
    const dync__error_slot *error = dync__error_guard_end(&guard);
    written += valid && status == DYNC_OK;
    refused += valid && status != DYNC_OK;
    if (valid && status != DYNC_OK && !is_refused(line, error->message)) {
        EXPECT_EQ_INT(status, DYNC_ERR_UNSUPPORTED);
        test__fail(__FILE__, __LINE__, line);
        test__fail(__FILE__, __LINE__, error->message);
    }
    for (int i = 0; i < DYNC__MAX_OUT; i++) dync__unref(out[i]);
    dync__unref(before[0]);
    for (int i = 0; i < p.n_made; i++) dync__unref(p.made[i]);
}

TEST(samples_are_written)
{
    for (int i = 0; i < DYNC__COUNT_OF(ops_samples); i++) write_sample(ops_samples[i]);
    EXPECT(written > 3600);
    EXPECT(refused < 90);
    pack_save("samples");
    EXPECT(same > 1000);
}

/* ---- symbolic sizes -------------------------------------------------------------------------- */

static dync_tensor *sym_rows(dync_tensor *x, dync_tensor *y)
{
    dync_tensor *z = dync_softmax(dync_matmul(x, dync_t(y)), -1);
    return dync_sum(dync_mul(z, 2), dync_shape(0), false);
}
static dync_tensor *sym_join(dync_tensor *x, dync_tensor *y)
{
    dync_tensor *z = dync_cat(dync_tuple(x, dync_slice(y, 0, 1, DYNC_END, 1)), 0);
    return dync_sub(z, dync_mean(z, dync_shape(0), true));
}
static dync_tensor *sym_flat(dync_tensor *x, dync_tensor *y)
{
    dync_tensor *v = dync_var(y, dync_shape(0), 1, false);
    return dync_add(dync_expand_as(v, x), dync_reshape(dync_flatten(x, 0, 1), dync_shape(-1, 6)));
}
static dync_tensor *sym_norm(dync_tensor *x, dync_tensor *y)
{
    dync_tensor *q = dync_unsqueeze(x, 0), *k = dync_unsqueeze(y, 0);
    return dync_scaled_dot_product_attention(q, k, k, NULL, 0, false, DYNC_NONE);
}
static dync_tensor *(*const symbolic[])(dync_tensor *, dync_tensor *) = {sym_rows, sym_join,
                                                                         sym_flat, sym_norm};

/* One model for all sizes: written from sizes 5 and 7, run with others. */
TEST(symbolic_sizes)
{
    dync_manual_seed(2);
    for (int i = 0; i < DYNC__COUNT_OF(symbolic); i++) {
        dync_tensor *x = dync_randn(dync_shape(5, 6)), *y = dync_randn(dync_shape(7, 6));
        dync_make_graph_mode(DYNC_TRACE_SYMBOLIC);
        dync_graph *g = dync_make_graph(symbolic[i], x, y);
        if (!EXPECT(g != NULL)) continue;
        for (int64_t rows = 5; rows < 8; rows += 2) {
            x = dync_randn(dync_shape(rows, 6)), y = dync_randn(dync_shape(rows + 3, 6));
            dync_tensor *z = symbolic[i](x, y);
            dync__tensor *in[2] = {dync__peek(x), dync__peek(y)}, *out[1] = {dync__peek(z)};
            char name[64];
            snprintf(name, sizeof name, "symbolic_%d|%d rows", i, (int)rows);
            if (!EXPECT_EQ_INT(pack_case(name, dync__graph_open(g, "test"), 2, in, 1, out),
                               DYNC_OK))
                printf("symbolic %d: %s\n", i, dync_error_message());
            dync_clear_error();
        }
    }
    pack_save("symbolic");
}

static dync_tensor *dims(dync_tensor *x, dync_tensor *y) { return dync_cat(dync_tuple(x, y), 0); }
TEST(dims_have_names)
{
    dync__arena arena = {0};
    dync__graph *flat = NULL;
    dync__onnx_model *m = NULL;
    dync_make_graph_mode(DYNC_TRACE_SYMBOLIC);
    dync_graph *g = dync_make_graph(dims, dync_ones(dync_shape(5, 6)), dync_ones(dync_shape(7, 6)));
    REQUIRE(dync__ox_prepare(dync__graph_open(g, "test"), &flat) == DYNC_OK);
    REQUIRE(dync__ox_model(&arena, flat, "dims", false, NULL, &m) == DYNC_OK);
    const dync__onnx_shape *in = m->graph->input.at[0]->type->tensor_type->shape,
                           *out = m->graph->output.at[0]->type->tensor_type->shape;
    EXPECT(in->dim.at[0]->dim_param[0] == 's');
    EXPECT_HAS_STR(out->dim.at[0]->dim_param, "+");
    EXPECT_EQ_INT(m->opset_import.at[0]->version, 18);
    dync__graph_unref(flat);
    dync__arena_free(&arena);
}

/* ---- written and read again ------------------------------------------------------------------ */

static dync_tensor *again_points(dync_tensor *x)
{
    dync_tensor *y = dync_gelu(dync_leaky_relu(dync_elu(x, 0.5), 0.1));
    y = dync_silu(dync_gelu_tanh(dync_celu(y, 1.5)));
    y = dync_mish(dync_softplus(dync_hardswish(dync_selu(y))));
    y = dync_rsqrt(dync_add(dync_square(dync_expm1(dync_log2(dync_exp(y)))), 1e-3));
    return dync_sub(1, dync_clamp(dync_reciprocal(dync_add(dync_abs(y), 2)), -0.5, 0.5));
}
static dync_tensor *again_norms(dync_tensor *x)
{
    dync_tensor *y = dync_layer_norm(x, dync_shape(6), NULL, NULL, 1e-5);
    return dync_softmax(dync_add(dync_mean(y, dync_shape(1), true), dync_cumsum(y, 1)), -1);
}
static dync_tensor *again_pools(dync_tensor *x)
{
    dync_tensor *y = dync_reshape(x, dync_shape(1, 1, -1, 6));
    y = dync_max_pool2d(y, dync_shape(3, 3), dync_shape(2, 2), dync_shape(1, 1), dync_shape(1, 1),
                        true);
    return dync_avg_pool2d(y, dync_shape(2, 2), dync_shape(1, 1), dync_shape(1, 1), false, true);
}
static dync_tensor *again_sizes(dync_tensor *x)
{
    dync_tensor *rows = dync_cumsum(dync_ones_like(dync_select(x, 1, 0)), 0);
    dync_tensor *y = dync_add(x, dync_unsqueeze(rows, 1));
    y = dync_div(y, dync_sum(y, DYNC_ALL, false));
    return dync_where(dync_gt(y, 0), dync_full_like(y, 0.25), dync_reshape(y, dync_shape(-1, 6)));
}
static dync_module *again_net;
static dync_tensor *again_layers(dync_tensor *x)
{
    dync_value out = dync_module_call(again_net, dync_unsqueeze(x, 1));
    return dync_as_tensor(dync_at(out, 0));
}
/* of three dims, so that no Gemm says it; sums by letters, bools between casts */
static dync_tensor *again_weight, *again_bias;
static dync_tensor *again_products(dync_tensor *x)
{
    dync_tensor *y = dync_linear(dync_unsqueeze(x, 1), again_weight, again_bias);
    dync_tensor *e = dync_einsum("abc,dbc->ad", dync_tuple(y, y));
    return dync_where(dync_triu(dync_ge(e, 0.0), 1), e, -1.0);
}
/* ONNX Runtime chooses between no bools, so that they are written as and, not, or */
static dync_tensor *again_bools(dync_tensor *x)
{
    dync_tensor *y = dync_where(dync_gt(x, 0.0), dync_lt(x, 1.0), dync_lt(dync_abs(x), 0.5));
    return dync_to_dtype(y, DYNC_F32);
}
/* what is near a sign, and none: the other way round, of two values */
static dync_tensor *again_signs(dync_tensor *x)
{
    dync_tensor *more = dync_to_dtype(dync_gt(x, 0.0), DYNC_F32),
                *less = dync_to_dtype(dync_lt(x, 0.0), DYNC_F32),
                *other = dync_to_dtype(dync_lt(dync_sub(x, 1), 0.0), DYNC_F32);
    dync_tensor *y = dync_add(dync_mul(dync_sign(x), 5), dync_mul(dync_sub(less, more), 3));
    return dync_add(y, dync_sub(more, other));
}
static const struct {
    dync_tensor *(*fn)(dync_tensor *);
    const char *kept; /* operators that the first reading gives back, a text each */
} again_case[] = {
    {again_points, "leaky_relu(|elu(|gelu(|celu(|gelu_tanh(|silu(|selu(|hardswish(|softplus(|mish(|"
                   "log2(|expm1(|rsqrt(|reciprocal(|clamp("},
    {again_norms, "layer_norm(x, dync_shape(6), NULL, NULL|mean(|cumsum(|softmax("},
    {again_pools, "max_pool2d(reshape, dync_shape(3, 3), dync_shape(2, 2), dync_shape(1, 1), "
                  "dync_shape(1, 1)|avg_pool2d(|dync_shape(1, 1), false, true)"},
    {again_sizes, "where("},
    {again_layers, "_rnn_layer"},
    {again_bools, "where("},
    {again_signs, "sign(x)|sub(to_dtype_1, to_dtype)|sub(to_dtype, to_dtype_2)"},
    {again_products, "linear(|einsum(\"abc,dbc->ad\"|triu(ge, 1)"},
};

/* The graph behind its name, of a program that is saved and loaded; NULL: an error. */
static char *text_again(dync_program **p)
{
    static const char path[] = "/tmp/dync_test_again.onnx";
    if (dync_program_save_onnx(*p, path) != DYNC_OK) return NULL;
    dync_program_free(*p);
    *p = dync_program_load_onnx(path);
    char *text = *p ? dync_graph_str(dync_program_graph(*p)) : NULL;
    return text ? strchr(text, '(') : NULL;
}

/* What is written is read as the same graph, however often. */
TEST(the_same_text_again)
{
    dync_manual_seed(5);
    again_net = dync_nn_lstm(6, 4, 1, false);
    again_weight = dync_randn(dync_shape(6, 6)), again_bias = dync_randn(dync_shape(6));
    for (int i = 0; i < 2 * DYNC__COUNT_OF(again_case); i++) {
        dync_tensor *x = dync_randn(dync_shape(7, 6));
        int k = i / 2;
        if (i % 2) dync_mark_dynamic(x, 0);
        dync_program *p = dync_export_values(dync_args(again_case[k].fn, "x"), "again", 1,
                                             (dync_value[]){dync_v_tensor(x)});
        if (!EXPECT(p != NULL)) continue;
        char *first = text_again(&p), *then = first ? text_again(&p) : NULL;
        if (!EXPECT(then != NULL)) printf("case %d: %s\n", i, dync_error_message());
        if (!then) continue;
        EXPECT_EQ_STR(then, first);
        for (const char *s = again_case[k].kept; *s; s += strspn(s, "|")) {
            char one[256];
            size_t n = strcspn(s, "|");
            snprintf(one, sizeof one, "%.*s", (int)n, s);
            EXPECT_HAS_STR(first, one);
            s += n;
        }
        dync_tensor *want = again_case[k].fn(x);
        dync_value got = dync_program_run(p, 1, (dync_value[]){dync_v_tensor(x)});
        dync_tensor *y = dync_as_tensor(dync_len(got) ? dync_at(got, 0) : got);
        EXPECT(y && dync_allclose(y, want, 1e-4, 1e-5));
        dync_program_free(p);
    }
    dync_module_free(again_net);
    EXPECT(remove("/tmp/dync_test_again.onnx") == 0);
}

/* ---- programs -------------------------------------------------------------------------------- */

static dync_tensor *weights;
static dync_tensor *layer(dync_tensor *x, dync_tensor *scale)
{
    return dync_mul(dync_relu(dync_matmul(x, weights)), scale);
}

/* Beside the model, and with the user's names in it. */
TEST(weights_lie_beside)
{
    char path[] = "/tmp/dync_test_beside.onnx", data[] = "/tmp/dync_test_beside.onnx.data", *bytes;
    size_t n;
    dync__arena arena = {0};
    weights = dync_randn(dync_shape(20, 30));
    dync_program *p = dync_export_values(dync_args(layer, "x, scale"), "layer", 2,
                                         (dync_value[]){dync_v_tensor(dync_ones(dync_shape(2, 20))),
                                                        dync_v_tensor(dync_ones(dync_shape(30)))});
    REQUIRE(p != NULL);
    dync__ox_inside_most = 1000;
    EXPECT_OK(dync_program_save_onnx(p, path));
    dync__ox_inside_most = (int64_t)1 << 30;
    REQUIRE(dync__file_read(data, &bytes, &n) == DYNC_OK);
    EXPECT_EQ_INT(n, 20 * 30 * 4);
    EXPECT(memcmp(bytes, dync__tensor_data(dync__peek(weights)), n) == 0);
    dync__free(bytes, n + 1);
    REQUIRE(dync__file_read(path, &bytes, &n) == DYNC_OK);
    dync__onnx_model *m = dync__onnx_read(&arena, model, bytes, n);
    REQUIRE(m != NULL);
    EXPECT_EQ_STR(m->graph->input.at[0]->name, "x");
    EXPECT_EQ_STR(m->graph->input.at[1]->name, "scale");
    EXPECT_EQ_STR(m->graph->name, "layer");
    const dync__onnx_tensor *t = NULL;
    for (int i = 0; i < m->graph->initializer.n; i++)
        if (m->graph->initializer.at[i]->data_location) t = m->graph->initializer.at[i];
    REQUIRE(t != NULL);
    EXPECT_EQ_STR(t->external_data.at[0]->value, "dync_test_beside.onnx.data");
    EXPECT_EQ_STR(t->external_data.at[1]->value, "0");
    EXPECT_EQ_STR(t->external_data.at[2]->value, "2400");
    dync__free(bytes, n + 1);
    dync__arena_free(&arena);
    dync_program_free(p);
    EXPECT(remove(path) == 0 && remove(data) == 0);
}

static dync_tensor *unsaid(dync_tensor *x)
{
    dync_add_(x, 1);
    return x;
}
TEST(what_cannot_be_said)
{
    dync_on_error(NULL, NULL);
    dync_program *p = dync_export(unsaid, dync_ones(dync_shape(2)));
    REQUIRE(p != NULL);
    EXPECT_EQ_INT(dync_program_save_onnx(p, "/tmp/dync_test_unsaid.onnx"), DYNC_ERR_UNSUPPORTED);
    EXPECT_HAS_STR(dync_error_message(), "writes 1 of its inputs");
    dync_clear_error();
    EXPECT(remove("/tmp/dync_test_unsaid.onnx") != 0);
    dync_program_free(p);
}

/* Each allocation fails once: the writer says so, and nothing is left behind. */
TEST(memory_may_run_out)
{
    weights = dync_randn(dync_shape(4, 4));
    dync_program *p = dync_export(layer, dync_ones(dync_shape(2, 4)), dync_ones(dync_shape(4)));
    REQUIRE(p != NULL);
    dync_on_error(NULL, NULL);
    int64_t live = dync__live_tensors();
    for (int nth = 1, good = 0; good < 3; nth++) {
        dync__mem_fail_at(nth);
        dync_status status = dync_program_save_onnx(p, "/tmp/dync_test_memory.onnx");
        dync__mem_fail_at(0);
        dync_clear_error();
        if (!EXPECT(status == DYNC_OK || status == DYNC_ERR_MEMORY)) break;
        good = status == DYNC_OK ? good + 1 : 0;
        EXPECT_EQ_INT(dync__live_tensors(), live);
    }
    remove("/tmp/dync_test_memory.onnx");
    dync_program_free(p);
}

TEST_MAIN
