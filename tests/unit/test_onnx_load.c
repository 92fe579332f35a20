/* tests/unit/test_onnx_load.c: ONNX models built with the table of onnx/proto.h, loaded and run;
 * broken ones refused. */
#include "../../src/dync.in.h"
#include "../../src/onnx/record.h"
#include "../test.h"

static dync__onnx_node *put(dync__arena *a, dync__onnx_graph *g, const char *op, const char *x,
                            const char *y, const char *out)
{
    dync__onnx_node *n = dync__onnx_add(a, g, node, node);
    n->op_type = op;
    n->name = out;
    (void)dync__avec_push(a, &n->input, x);
    if (y) (void)dync__avec_push(a, &n->input, y);
    (void)dync__avec_push(a, &n->output, out);
    return n;
}

static dync__onnx_value_info *port(dync__arena *a, dync__onnx_value_info *v, const char *name,
                                   int64_t rows, const char *param)
{
    v->name = name;
    v->type = dync__onnx_new(a, type);
    v->type->tensor_type = dync__onnx_new(a, tensor_type);
    v->type->tensor_type->elem_type = DYNC__ONNX_FLOAT;
    v->type->tensor_type->shape = dync__onnx_new(a, shape);
    for (int i = 0; i < 2; i++) {
        dync__onnx_dim *d = dync__onnx_add(a, v->type->tensor_type->shape, dim, dim);
        if (i == 0 && param)
            d->dim_param = param;
        else
            d->dim_value = i ? 3 : rows;
    }
    return v;
}

/* z = relu(x @ w) + x[0] of x [rows, 3] */
static dync__onnx_model *small(dync__arena *a, int64_t rows, const char *param)
{
    dync__onnx_model *m = dync__onnx_new(a, model);
    m->ir_version = 8;
    ((dync__onnx_opset *)dync__onnx_add(a, m, opset_import, opset))->version = 18;
    dync__onnx_graph *g = m->graph = dync__onnx_new(a, graph);
    g->name = "small";
    port(a, dync__onnx_add(a, g, input, value_info), "x", rows, param);
    dync__onnx_tensor *w = dync__onnx_add(a, g, initializer, tensor);
    w->name = "w";
    w->data_type = DYNC__ONNX_FLOAT;
    for (int i = 0; i < 2; i++) (void)dync__avec_push(a, &w->dims, 3);
    for (int i = 0; i < 9; i++) (void)dync__avec_push(a, &w->float_data, (float)(i - 4));
    put(a, g, "MatMul", "x", "w", "y");
    put(a, g, "Relu", "y", NULL, "r");
    put(a, g, "Add", "r", "x", "z");
    ((dync__onnx_value_info *)dync__onnx_add(a, g, output, value_info))->name = "z";
    return m;
}

/* zs = xs with x behind it, of a sequence xs of [rows, 3] and a tensor x */
static dync__onnx_model *appends(dync__arena *a)
{
    dync__onnx_model *m = small(a, 2, NULL);
    dync__onnx_graph *g = m->graph = dync__onnx_new(a, graph);
    g->name = "appends";
    for (int i = 0; i < 2; i++) { /* an output and an input */
        dync__onnx_value_info *v = i ? dync__onnx_add(a, g, input, value_info)
                                     : dync__onnx_add(a, g, output, value_info);
        dync__onnx_type *inner = port(a, v, i ? "xs" : "zs", 0, "N")->type;
        v->type = dync__onnx_new(a, type);
        v->type->sequence_type = dync__onnx_new(a, nested_type);
        v->type->sequence_type->elem_type = inner;
    }
    port(a, dync__onnx_add(a, g, input, value_info), "x", 2, NULL);
    put(a, g, "SequenceInsert", "xs", "x", "zs");
    return m;
}

static dync__program *load(const dync__onnx_model *m)
{
    dync__str s = {0};
    if (dync__onnx_write(&s, model, m) != DYNC_OK) return NULL;
    char *bytes = dync__alloc(s.n + 1);
    memcpy(bytes, s.at, s.n);
    dync__program *p = dync__onnx_program(dync__blob_take(bytes, s.n, false), NULL, "small");
    dync__str_free(&s);
    return p;
}

static void check_run(dync__program *p, int64_t rows)
{
    float x[15], want;
    for (int i = 0; i < 15; i++) x[i] = 0.25f * (float)((i * 7) % 11 - 5);
    dync_value in = dync_v_tensor(dync_from(x, dync_shape(rows, 3)));
    dync_value out = dync__program_run(p, 1, &in);
    REQUIRE(out.kind == DYNC_KIND_LIST && dync_len(out) == 1);
    dync_tensor *z = dync_as_tensor(dync_at(out, 0));
    REQUIRE(dync_size(z, 0) == rows && dync_size(z, 1) == 3);
    const float *got = dync_data(dync_contiguous(z));
    for (int r = 0; r < rows; r++)
        for (int k = 0; k < 3; k++) {
            want = 0;
            for (int i = 0; i < 3; i++) want += x[3 * r + i] * (float)(3 * i + k - 4);
            want = (want > 0 ? want : 0) + x[3 * r + k];
            EXPECT_NEAR((double)got[3 * r + k], (double)want, 1e-5);
        }
}

TEST(a_model_of_told_sizes_has_a_graph)
{
    dync__arena a = {0};
    dync__program *p = load(small(&a, 4, NULL));
    REQUIRE(p != NULL && p->graph != NULL);
    EXPECT(dync__graph_op_count(p->graph) == 3);
    DYNC_SCOPE {
        check_run(p, 4);
    }
    dync__program_free(p);
    dync__arena_free(&a);
}

TEST(symbolic_sizes_run_with_any)
{
    dync__arena a = {0};
    dync__program *p = load(small(&a, 0, "N"));
    REQUIRE(p != NULL);
    dync_program *shown = dync__program_give(p);
    dync_port in = dync_program_input(shown, 0), out = dync_program_output(shown, 0);
    EXPECT(in.name && strcmp(in.name, "x") == 0 && in.shape.n == 2 && in.shape.d[0] == -1 &&
           in.shape.d[1] == 3 && in.dtype == DYNC_F32 && strcmp(in.type, "float32") == 0);
    EXPECT(out.name && strcmp(out.name, "z") == 0 && out.shape.n == -1);
    EXPECT(!dync_program_input(shown, 1).name && dync_program_graph(shown));
    EXPECT(strstr(dync_program_info(shown), "input x: float32[?, 3]\n"));
    /* 0 and 1 are no symbols: the graph is not for them */
    for (int64_t rows = 0; rows < 6; rows++) DYNC_SCOPE {
        check_run(p, rows);
    }
    DYNC_SCOPE {
        dync_value in = dync_v_tensor(dync_zeros(dync_shape(2, 4)));
        EXPECT(dync__program_run(p, 1, &in).kind == DYNC_KIND_NONE &&
               dync_error() == DYNC_ERR_SHAPE);
        EXPECT(strstr(dync_error_message(), "input 0 (x)") &&
               strstr(dync_error_message(), "[N, 3]"));
        dync_clear_error();
    }
    dync__program_free(p);
    dync__arena_free(&a);
}

/* A sequence goes in and comes out as a list. */
TEST(sequences_are_lists)
{
    dync__arena a = {0};
    dync_program *p = dync__program_give(load(appends(&a)));
    REQUIRE(p != NULL && !dync_program_graph(p));
    EXPECT_HAS_STR(dync_program_info(p), "input xs: a list of float32[?, 3]\n");
    EXPECT_HAS_STR(dync_program_info(p), "output zs: a list of float32[?, 3]\n");
    EXPECT_EQ_STR(dync_program_input(p, 0).type, "sequence");
    dync_tensor *x = dync_full(dync_shape(2, 3), 7.0);
    for (int n = 0; n < 4; n++) DYNC_SCOPE {
        dync_value list = dync__list_new(n), in[2] = {list, dync_v_tensor(x)};
        for (int i = 0; i < n; i++)
            dync__list_set(list, i, dync_v_tensor(dync_full(dync_shape(i + 1, 3), 1.0 * i)));
        dync_value out = dync_program_run(p, 2, in), zs = dync_at(out, 0);
        EXPECT_OK(dync_error());
        if (!EXPECT_EQ_INT(dync_len(zs), n + 1)) continue;
        for (int i = 0; i < n; i++) {
            dync_tensor *z = dync_as_tensor(dync_at(zs, i));
            EXPECT(dync_size(z, 0) == i + 1 &&
                   dync_allclose(z, dync_as_tensor(dync_at(list, i)), 0, 0));
        }
        EXPECT(dync_allclose(dync_as_tensor(dync_at(zs, n)), x, 0, 0));
    }
    dync_value mistakes[3] = {dync_v_tensor(x), dync__list_new(1), dync__list_new(1)};
    dync__list_set(mistakes[1], 0, dync_v_int(3));
    dync__list_set(mistakes[2], 0, dync_v_tensor(dync_zeros(dync_shape(2, 4))));
    static const char *const says[] = {"input 0 (xs) is no list of tensors",
                                       "input 0 (xs): element 0 is no tensor",
                                       "input 0 (xs) is f32[2, 4], expected f32[N, 3]"};
    for (int i = 0; i < 3; i++) {
        dync_value in[2] = {mistakes[i], dync_v_tensor(x)};
        EXPECT(dync_program_run(p, 2, in).kind == DYNC_KIND_NONE);
        EXPECT_HAS_STR(dync_error_message(), says[i]);
        dync_clear_error();
    }
    dync_program_free(p);
    dync__arena_free(&a);
}

/* What ONNX has no node for is read as what it is written as: places of what is not 0, turned; the
 * greatest of several updates; a slope; a range that begins at a size; scales of no dims. A file
 * may name a weight as the recorder names its own. */
TEST(read_written_and_read)
{
    static const char path[] = "/tmp/dync_test_read.onnx";
    dync__arena a = {0};
    dync__onnx_model *m = small(&a, 0, "N");
    dync__onnx_graph *g = m->graph;
    g->initializer.at[0]->name = "_tensor_constant1";
    g->node.at[0]->input.at[1] = "_tensor_constant1";
    put(&a, g, "PRelu", "z", "x", "p");
    put(&a, g, "NonZero", "p", NULL, "places");
    put(&a, g, "Transpose", "places", NULL, "turned");
    put(&a, g, "ArgMax", "x", NULL, "best");
    put(&a, g, "CastLike", "best", "x", "update");
    dync__onnx_node *n = put(&a, g, "ScatterElements", "p", "best", "s");
    (void)dync__avec_push(&a, &n->input, "update");
    dync__onnx_attribute *how = dync__onnx_add(&a, n, attribute, attribute);
    how->name = "reduction";
    how->type = 3; /* a text */
    how->s.at = "max";
    how->s.n = 3;
    dync__onnx_tensor *one = dync__onnx_add(&a, g, initializer, tensor);
    one->name = "one";
    one->data_type = DYNC__ONNX_INT64;
    (void)dync__avec_push(&a, &one->int64_data, 1);
    put(&a, g, "Size", "x", NULL, "size");
    put(&a, g, "Add", "size", "size", "twice");
    n = put(&a, g, "Range", "size", "twice", "range");
    (void)dync__avec_push(&a, &n->input, "one");
    dync__onnx_tensor *scale = dync__onnx_add(&a, g, initializer, tensor);
    scale->name = "scale";
    scale->data_type = DYNC__ONNX_FLOAT;
    (void)dync__avec_push(&a, &scale->float_data, 0.03f);
    dync__onnx_tensor *zero = dync__onnx_add(&a, g, initializer, tensor);
    zero->name = "zero";
    zero->data_type = DYNC__ONNX_UINT8;
    (void)dync__avec_push(&a, &zero->int32_data, 3);
    n = put(&a, g, "QuantizeLinear", "x", "scale", "quantized");
    (void)dync__avec_push(&a, &n->input, "zero");
    n = put(&a, g, "DequantizeLinear", "quantized", "scale", "back");
    (void)dync__avec_push(&a, &n->input, "zero");
    g->output.at[0]->name = "s";
    ((dync__onnx_value_info *)dync__onnx_add(&a, g, output, value_info))->name = "back";
    ((dync__onnx_value_info *)dync__onnx_add(&a, g, output, value_info))->name = "turned";
    ((dync__onnx_value_info *)dync__onnx_add(&a, g, output, value_info))->name = "range";
    dync_program *p = dync__program_give(load(m));
    char *text[3] = {NULL};
    for (int i = 0; i < 3; i++) {
        REQUIRE(p && dync_program_graph(p));
        text[i] = dync_graph_str(dync_program_graph(p));
        EXPECT_OK(dync_program_save_onnx(p, path));
        dync_program_free(p);
        p = dync_program_load_onnx(path);
    }
    dync_program_free(p);
    EXPECT_EQ_STR(strchr(text[1], '('), strchr(text[0], '('));
    EXPECT_EQ_STR(strchr(text[2], '('), strchr(text[0], '('));
    EXPECT(remove(path) == 0);
    dync__arena_free(&a);
}

/* Written and read it is the same graph, and its sizes have the names they had. */
TEST(symbolic_sizes_are_saved)
{
    dync__arena a = {0};
    const char *path = "build/dync_test_sized.onnx";
    dync_program *p = dync__program_give(load(small(&a, 0, "N")));
    REQUIRE(p && dync_program_graph(p));
    DYNC_SCOPE {
        const char *text = dync_graph_str(dync_program_graph(p));
        EXPECT(strstr(text, "f32[s0, 3]"));
        REQUIRE(dync_program_save_onnx(p, path) == DYNC_OK);
        dync_program *q = dync_program_load_onnx(path);
        REQUIRE(q && dync_program_graph(q));
        const char *again = dync_graph_str(dync_program_graph(q));
        EXPECT_EQ_STR(strchr(again, '('), strchr(text, '('));
        dync_program_free(q);
        dync__blob *blob;
        REQUIRE(dync__blob_open(path, &blob) == DYNC_OK);
        dync__onnx_loaded *l = dync__onnx_parse(blob, NULL);
        REQUIRE(l && l->n_inputs == 1 && l->n_outputs == 1);
        EXPECT(l->input[0].param[0] && strcmp(l->input[0].param[0], "N") == 0);
        EXPECT(l->output[0].param[0] && strcmp(l->output[0].param[0], "N") == 0);
        dync__onnx_end(l);
        remove(path);
        path = "build/dync_test_sized.dync";
        REQUIRE(dync_program_save(p, path) == DYNC_OK);
        REQUIRE((q = dync_program_load(path)) != NULL);
        check_run(dync__program_open(q, "test"), 5);
        dync_program_free(q);
        remove(path);
    }
    dync_program_free(p);
    dync__arena_free(&a);
}

/* A large tensor that lies in its file as in memory stays there, wherever it begins; the file may
 * be gone by the time that it is used. */
TEST(weights_stay_in_their_file)
{
    static const char *const producer[] = {"", "a", "ab", "abc"};
    static float weight[9];
    const char *path = "build/dync_test_weights.onnx";
    int64_t least = dync__onnx_in_place_least;
    int in_place = 0;
    for (int i = 0; i < 9; i++) weight[i] = (float)(i - 4);
    for (int k = 0; k < 8; k++) {
        dync__arena a = {0};
        dync__str s = {0};
        dync__onnx_model *m = small(&a, 0, "N");
        dync__onnx_tensor *w = m->graph->initializer.at[0];
        w->float_data.n = 0;
        w->raw_data = (dync__pb_bytes){(const char *)weight, sizeof weight};
        dync__onnx_mark(w, tensor, raw_data);
        m->producer_name = producer[k % 4];
        dync__onnx_in_place_least = k < 4 ? 1 : INT64_MAX;
        REQUIRE(dync__onnx_write(&s, model, m) == DYNC_OK);
        REQUIRE(dync__file_write(path, s.at, s.n) == DYNC_OK);
        dync_program *p = dync_program_load_onnx(path);
        REQUIRE(p != NULL);
        remove(path);
        dync__program *open = dync__program_open(p, "test");
        for (int i = 0; i < open->graph->node.n; i++) {
            const dync__tensor *t = open->graph->node.at[i]->value;
            in_place += t && t->storage->flags & DYNC__STORAGE_FOREIGN;
        }
        DYNC_SCOPE {
            check_run(open, 1);
            check_run(open, 3);
        }
        dync_program_free(p);
        dync__str_free(&s);
        dync__arena_free(&a);
    }
    EXPECT_EQ_INT(in_place, 1); /* of four places one is a float's */
    dync__onnx_in_place_least = least;
}

/* Places that data decide are values of the graph, of how many is told by each run; the saved
 * program is the same. */
TEST(data_decide_a_size)
{
    dync__arena a = {0};
    dync__onnx_model *m = small(&a, 0, "N");
    put(&a, m->graph, "NonZero", "z", NULL, "places");
    m->graph->output.at[0]->name = "places";
    dync_program *p = dync__program_give(load(m));
    REQUIRE(p && dync_program_graph(p));
    const char *path = "build/dync_test_places.dync";
    REQUIRE(dync_program_save(p, path) == DYNC_OK);
    dync_program *again = dync_program_load(path);
    REQUIRE(again != NULL);
    remove(path);
    for (int k = 0; k < 2; k++) DYNC_SCOPE {
        dync_value x = dync_v_tensor(dync_ones(dync_shape(2, 3))),
                   out = dync_program_run(k ? again : p, 1, &x);
        dync_tensor *places = dync_as_tensor(dync_at(out, 0));
        /* z = [1, 1, 4] twice */
        REQUIRE(places && dync_size(places, 0) == 2 && dync_size(places, 1) == 6);
        EXPECT(dync_item(dync_select(dync_select(places, 0, 1), 0, 5)) == 2);
    }
    dync_program_free(again);
    dync_program_free(p);
    dync__arena_free(&a);
}

/* What is computed beforehand is made anew by every trace: it is part of the graph, not an input
 * that has to live on. */
TEST(what_is_folded_is_no_guard)
{
    dync__arena a = {0};
    dync__onnx_model *m = small(&a, 0, "N");
    put(&a, m->graph, "Neg", "w", NULL, "v");
    put(&a, m->graph, "MatMul", "z", "v", "u");
    m->graph->output.at[0]->name = "u";
    m->graph->input.at[0]->type->tensor_type->shape = NULL; /* of any rank: no graph of its own */
    dync__program *p = load(m);
    REQUIRE(p != NULL);
    dync_counters before = dync_get_counters(), after;
    for (int i = 0; i < 3; i++) DYNC_SCOPE {
        dync_value x = dync_v_tensor(dync_ones(dync_shape(1, 3))),
                   out = dync__program_run(p, 1, &x);
        REQUIRE(out.kind == DYNC_KIND_LIST);
        /* x @ w is [-3, 0, 3], z = [1, 1, 4], z @ -w */
        const float *u = dync_data(dync_as_tensor(dync_at(out, 0)));
        EXPECT_NEAR((double)u[0], -3, 1e-5);
        EXPECT_NEAR((double)u[2], -15, 1e-5);
    }
    after = dync_get_counters();
    EXPECT_EQ_INT(after.graphs - before.graphs, 1);
    EXPECT_EQ_INT(after.cache_hits - before.cache_hits, 2);
    dync__program_free(p);
    dync__arena_free(&a);
}

/* A model without a graph of its own, told to run as it is written: its operators are events, and a
 * graph that served it before does not. */
TEST(a_walk_shows_its_operators)
{
    dync__arena a = {0};
    dync__onnx_model *m = small(&a, 0, "N");
    m->graph->input.at[0]->type->tensor_type->shape = NULL; /* of any rank */
    dync__program *p = load(m);
    REQUIRE(p && !p->graph);
    for (int walked = 0; walked < 2; walked++) DYNC_SCOPE {
        check_run(p, 5);
        EXPECT_OK(dync_set_stance(walked ? "force_eager" : "default"));
        dync_profile_start();
        check_run(p, 5);
        dync_profile_stop();
        EXPECT_OK(dync_set_stance("default"));
        const char *table = dync_profile_table();
        REQUIRE(table != NULL);
        EXPECT_EQ_INT(strstr(table, "aten::matmul") != NULL, walked);
        EXPECT_EQ_INT(strstr(table, "aten::relu") != NULL, walked);
        EXPECT_EQ_INT(strstr(table, "Torch-Compiled Region: small") != NULL, 1);
    }
    dync__program_free(p);
    dync__arena_free(&a);
}

/* z = x @ transpose(constant) behind a size that data decide: the constant, and what is computed of
 * it, is that of the walk before, so that nothing is compiled again; results are the caller's. */
TEST(constants_stay_behind_a_break)
{
    dync__arena a = {0};
    dync__onnx_model *m = dync__onnx_new(&a, model);
    m->ir_version = 8;
    ((dync__onnx_opset *)dync__onnx_add(&a, m, opset_import, opset))->version = 18;
    dync__onnx_graph *g = m->graph = dync__onnx_new(&a, graph);
    g->name = "constants";
    port(&a, dync__onnx_add(&a, g, input, value_info), "x", 0, "N");
    g->input.at[0]->type->tensor_type->shape = NULL; /* of any rank: no graph of its own */
    put(&a, g, "NonZero", "x", NULL, "places");
    dync__onnx_node *n = dync__onnx_add(&a, g, node, node);
    n->op_type = "Constant";
    (void)dync__avec_push(&a, &n->output, "c");
    dync__onnx_attribute *value = dync__onnx_add(&a, n, attribute, attribute);
    value->name = "value";
    value->type = 4; /* a tensor */
    dync__onnx_tensor *t = value->t = dync__onnx_new(&a, tensor);
    t->data_type = DYNC__ONNX_FLOAT;
    for (int i = 0; i < 2; i++) (void)dync__avec_push(&a, &t->dims, 3);
    for (int i = 0; i < 9; i++) (void)dync__avec_push(&a, &t->float_data, (float)(i - 4));
    put(&a, g, "Transpose", "c", NULL, "ct");
    put(&a, g, "Exp", "ct", NULL, "e");
    put(&a, g, "MatMul", "x", "e", "z");
    const char *const outputs[] = {"z", "places", "e", "c"};
    for (int i = 0; i < 4; i++)
        ((dync__onnx_value_info *)dync__onnx_add(&a, g, output, value_info))->name = outputs[i];
    dync_program *p = dync__program_give(load(m));
    REQUIRE(p && !dync_program_graph(p));
    int64_t graphs = 0;
    for (int i = 0; i < 6; i++) DYNC_SCOPE {
        dync_tensor *x = dync_randn(dync_shape(2, 3));
        dync_value arg = DYNC_V(x), out = dync_program_run(p, 1, &arg);
        dync_tensor *e = dync_as_tensor(dync_at(out, 2)), *c = dync_as_tensor(dync_at(out, 3));
        REQUIRE(e && c);
        EXPECT(dync_item(dync_select(dync_select(c, 0, 0), 0, 0)) == -4);
        EXPECT(dync_allclose(e, dync_exp(dync_t(c)), 1e-6, 0));
        EXPECT(dync_allclose(dync_as_tensor(dync_at(out, 0)), dync_matmul(x, e), 1e-5, 1e-5));
        dync_mul_(e, 0), dync_mul_(c, 0); /* ours */
        if (i == 3) graphs = dync_get_counters().graphs;
        if (i > 3) EXPECT_EQ_INT(dync_get_counters().graphs, graphs);
    }
    dync_program_free(p);
    dync__arena_free(&a);
}

static void of_any_rank(dync__arena *a, dync__onnx_graph *g, const char *name, int type)
{
    dync__onnx_value_info *v = port(a, dync__onnx_add(a, g, input, value_info), name, 0, "N");
    v->type->tensor_type->shape = NULL;
    v->type->tensor_type->elem_type = type;
}

static uint64_t tensors_made(void) { return dync__open(dync_zeros(DYNC_SCALAR))->id; }

/* z = sum(exp(x[from : to])) * 2: a call whose bounds an earlier one had makes no graph, and it
 * follows that one: nothing is inferred, so that fewer tensors are made (a call that is traced
 * makes 13). Against the same in C. */
TEST(a_walk_follows_an_earlier_one)
{
    dync__arena a = {0};
    dync__onnx_model *m = small(&a, 0, "N");
    dync__onnx_graph *g = m->graph = dync__onnx_new(&a, graph);
    g->name = "rows";
    of_any_rank(&a, g, "x", DYNC__ONNX_FLOAT);
    of_any_rank(&a, g, "from", DYNC__ONNX_INT64);
    of_any_rank(&a, g, "count", DYNC__ONNX_INT64);
    put(&a, g, "Add", "from", "count", "to");
    put(&a, g, "Slice", "x", "from", "y")->input.n = 2;
    (void)dync__avec_push(&a, &g->node.at[1]->input, "to");
    put(&a, g, "Exp", "y", NULL, "e");
    put(&a, g, "ReduceSum", "e", NULL, "s");
    put(&a, g, "Add", "s", "s", "z");
    ((dync__onnx_value_info *)dync__onnx_add(&a, g, output, value_info))->name = "z";
    dync_program *p = dync__program_give(load(m));
    REQUIRE(p && !dync_program_graph(p));
    dync_manual_seed(5);
    int64_t graphs = 0;
    uint64_t made[60];
    for (int i = 0; i < 60; i++) DYNC_SCOPE {
        int64_t from = i / 4 % 2, count = 1 + i * 3 % 4;
        dync_tensor *x = dync_randn(dync_shape(8, 3));
        dync_value in[3] = {dync_v_tensor(x),
                            dync_v_tensor(dync_full(dync_shape(1), from, .dtype = DYNC_I64)),
                            dync_v_tensor(dync_full(dync_shape(1), count, .dtype = DYNC_I64))};
        if (i == 40) graphs = dync_get_counters().graphs;
        made[i] = tensors_made();
        dync_tensor *z = dync_as_tensor(dync_at(dync_program_run(p, 3, in), 0));
        made[i] = tensors_made() - made[i];
        dync_tensor *want =
            dync_mul(dync_sum(dync_exp(dync_narrow(x, 0, from, count)), DYNC_ALL, true), 2);
        EXPECT(z && dync_allclose(z, want, 1e-5, 1e-5));
    }
    EXPECT_EQ_INT(dync_get_counters().graphs, graphs);
    for (int i = 40; i < 60; i++) EXPECT(made[i] <= 8);
    dync_program_free(p);
    dync__arena_free(&a);
}

/* z = x * float(shape of x) behind a size that data decide: sizes are made by every walk, of equal
 * numbers the same tensor, so that nothing is compiled again; results are the caller's. */
TEST(sizes_stay_behind_a_break)
{
    dync__arena a = {0};
    dync__onnx_model *m = small(&a, 0, "N");
    dync__onnx_graph *g = m->graph;
    g->input.at[0]->type->tensor_type->shape = NULL; /* of any rank: no graph of its own */
    put(&a, g, "NonZero", "x", NULL, "places");
    put(&a, g, "Shape", "x", NULL, "s");
    dync__onnx_node *cast = put(&a, g, "Cast", "s", NULL, "f");
    dync__onnx_attribute *to = dync__onnx_add(&a, cast, attribute, attribute);
    to->name = "to";
    to->type = 2; /* an integer */
    to->i = DYNC__ONNX_FLOAT;
    put(&a, g, "Mul", "x", "f", "v");
    const char *const outputs[] = {"v", "places", "s", "f"};
    g->output.n = 0;
    for (int i = 0; i < 4; i++)
        ((dync__onnx_value_info *)dync__onnx_add(&a, g, output, value_info))->name = outputs[i];
    dync_program *p = dync__program_give(load(m));
    REQUIRE(p && !dync_program_graph(p));
    /* no graph, no file */
    const char *path = "build/dync_test_walked";
    EXPECT_EQ_INT(dync_program_save(p, path), DYNC_ERR_UNSUPPORTED);
    EXPECT_EQ_INT(dync_program_save_onnx(p, path), DYNC_ERR_UNSUPPORTED);
    EXPECT_EQ_INT(dync_program_save_c(p, path), DYNC_ERR_UNSUPPORTED);
    EXPECT(strstr(dync_error_message(), "no graph of its own") != NULL);
    dync_clear_error();
    int64_t graphs = 0;
    for (int i = 0; i < 12; i++) DYNC_SCOPE {
        int64_t rows = i % 2 ? 5 : 4;
        dync_tensor *x = dync_randn(dync_shape(rows, 3, 3)), *sizes, *floats;
        dync_value arg = DYNC_V(x), out = dync_program_run(p, 1, &arg);
        sizes = dync_as_tensor(dync_at(out, 2)), floats = dync_as_tensor(dync_at(out, 3));
        REQUIRE(sizes && floats);
        EXPECT(dync_item(dync_select(sizes, 0, 0)) == rows);
        EXPECT(dync_allclose(dync_as_tensor(dync_at(out, 0)),
                             dync_mul(x, dync_from(((float[]){(float)rows, 3, 3}), dync_shape(3))),
                             1e-6, 0));
        dync_mul_(sizes, 0), dync_mul_(floats, 0); /* ours */
        if (i == 7) graphs = dync_get_counters().graphs;
        if (i > 7) EXPECT_EQ_INT(dync_get_counters().graphs, graphs);
    }
    dync_program_free(p);
    dync__arena_free(&a);
}

static void refused(dync__onnx_model *m, dync_status status, const char *text)
{
    dync__error_guard g;
    dync__error_guard_begin(&g);
    dync__program *p = load(m);
    const dync__error_slot *e = dync__error_guard_end(&g);
    EXPECT(p == NULL && e->status == status && strstr(e->message, text));
    if (!p && !strstr(e->message, text)) fprintf(stderr, "%s\n", e->message);
    dync__program_free(p);
}

TEST(every_missing_operator_is_named_at_once)
{
    dync__arena a = {0};
    dync__onnx_model *m = small(&a, 4, NULL);
    put(&a, m->graph, "Frobnicate", "z", NULL, "f1");
    put(&a, m->graph, "Frobnicate", "z", NULL, "f2");
    put(&a, m->graph, "Twiddle", "z", NULL, "t")->domain = "my.domain";
    refused(m, DYNC_ERR_UNSUPPORTED,
            "ai.onnx.Frobnicate version 18 (node f1 and 1 more), "
            "my.domain.Twiddle version 1 (node t)");
    dync__arena_free(&a);
}

TEST(names_that_lie)
{
    dync__arena a = {0};
    dync__onnx_model *m = small(&a, 4, NULL);
    m->graph->node.at[0]->input.at[0] = "z"; /* a cycle */
    refused(m, DYNC_ERR_FORMAT, "needs \"z\"");
    m = small(&a, 4, NULL);
    m->graph->node.at[2]->output.at[0] = "y";
    refused(m, DYNC_ERR_FORMAT, "\"y\" is made twice");
    m = small(&a, 4, NULL);
    m->graph->output.at[0]->name = "nowhere";
    refused(m, DYNC_ERR_FORMAT, "an output needs \"nowhere\"");
    m = small(&a, 4, NULL);
    m->graph = NULL;
    refused(m, DYNC_ERR_FORMAT, "no graph");
    dync__arena_free(&a);
}

TEST(shapes_that_lie)
{
    dync__arena a = {0};
    dync__onnx_model *m = small(&a, 4, NULL);
    m->graph->initializer.at[0]->dims.at[0] = INT64_C(1) << 40;
    refused(m, DYNC_ERR_FORMAT, "\"w\"");
    m = small(&a, 4, NULL);
    m->graph->initializer.at[0]->dims.at[0] = -3;
    refused(m, DYNC_ERR_FORMAT, "no tensor has size -3");
    m = small(&a, INT64_C(1) << 45, NULL);
    refused(m, DYNC_ERR_FORMAT, "elements");
    m = small(&a, 4, NULL);
    m->graph->initializer.at[0]->data_type = 99;
    refused(m, DYNC_ERR_UNSUPPORTED, "type 99");
    dync__arena_free(&a);
}

static void outside(const char *path, const char *text)
{
    dync__arena a = {0};
    dync__onnx_model *m = small(&a, 4, NULL);
    dync__onnx_tensor *w = m->graph->initializer.at[0];
    w->float_data.n = 0;
    w->data_location = 1;
    dync__onnx_entry *e = dync__onnx_add(&a, w, external_data, entry);
    e->key = "location";
    e->value = path;
    dync__str s = {0};
    REQUIRE(dync__onnx_write(&s, model, m) == DYNC_OK);
    char *bytes = dync__alloc(s.n + 1);
    memcpy(bytes, s.at, s.n);
    dync__error_guard g;
    dync__error_guard_begin(&g);
    dync__program *p = dync__onnx_program(dync__blob_take(bytes, s.n, false), "/tmp", "small");
    const dync__error_slot *err = dync__error_guard_end(&g);
    EXPECT(p == NULL && strstr(err->message, text));
    dync__program_free(p);
    dync__str_free(&s);
    dync__arena_free(&a);
}

TEST(data_outside_of_the_folder)
{
    outside("/etc/passwd", "inside of the model's folder");
    outside("../etc/passwd", "inside of the model's folder");
    outside("a/../../b", "inside of the model's folder");
    outside("a//b", "inside of the model's folder");
    outside("there_is_no_such_file", "there_is_no_such_file");
}

/* Whatever a file says: an error or a program, no crash. */
TEST(broken_files)
{
    dync__arena a = {0};
    dync__str s = {0};
    REQUIRE(dync__onnx_write(&s, model, small(&a, 4, NULL)) == DYNC_OK);
    for (int i = 0; i < (int)s.n + test_count(2000); i++) {
        size_t n = i < (int)s.n ? (size_t)i : s.n;
        char *bytes = dync__alloc(n + 1);
        memcpy(bytes, s.at, n);
        for (int k = 0; i >= (int)s.n && k < 1 + i % 4; k++)
            bytes[test_random() % n] = (char)test_random();
        dync__error_guard g;
        dync__error_guard_begin(&g);
        dync__program *p = dync__onnx_program(dync__blob_take(bytes, n, false), NULL, "broken");
        const dync__error_slot *e = dync__error_guard_end(&g);
        EXPECT(p || e->status != DYNC_OK);
        dync__program_free(p);
    }
    dync__str_free(&s);
    dync__arena_free(&a);
}

TEST_MAIN
