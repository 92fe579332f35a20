/* tests/unit/test_onnx_sized.c: models whose sizes calls tell are one graph, made when they are
 * loaded: new lengths capture and compile nothing; branches that take many values from around
 * them. */
#include "../../src/dync.in.h"
#include "../../src/onnx/record.h"
#include "../test.h"

static dync__onnx_node *put(dync__arena *a, dync__onnx_graph *g, const char *op,
                            const char *const *in, const char *out)
{
    dync__onnx_node *n = dync__onnx_add(a, g, node, node);
    n->op_type = op;
    n->name = out;
    for (; *in; in++) (void)dync__avec_push(a, &n->input, *in);
    (void)dync__avec_push(a, &n->output, out);
    return n;
}
#define PUT(a, g, op, out, ...) put(a, g, op, (const char *const[]){__VA_ARGS__, NULL}, out)

/* sizes: numbers, or 0 and the name in params */
static void port(dync__arena *a, dync__onnx_graph *g, bool input, const char *name, int n,
                 const int64_t *size, const char *const *params)
{
    dync__onnx_value_info *v = input ? dync__onnx_add(a, g, input, value_info)
                                     : dync__onnx_add(a, g, output, value_info);
    v->name = name;
    if (!input) return;
    v->type = dync__onnx_new(a, type);
    v->type->tensor_type = dync__onnx_new(a, tensor_type);
    v->type->tensor_type->elem_type = DYNC__ONNX_FLOAT;
    v->type->tensor_type->shape = dync__onnx_new(a, shape);
    for (int i = 0; i < n; i++) {
        dync__onnx_dim *d = dync__onnx_add(a, v->type->tensor_type->shape, dim, dim);
        if (size[i])
            d->dim_value = size[i];
        else
            d->dim_param = params[i];
    }
}

static void weight(dync__arena *a, dync__onnx_graph *g, const char *name, int n,
                   const int64_t *size, const float *value)
{
    dync__onnx_tensor *w = dync__onnx_add(a, g, initializer, tensor);
    int64_t count = 1;
    w->name = name;
    w->data_type = DYNC__ONNX_FLOAT;
    for (int i = 0; i < n; i++) (void)dync__avec_push(a, &w->dims, size[i]), count *= size[i];
    for (int64_t i = 0; i < count; i++)
        (void)dync__avec_push(a, &w->float_data,
                              value ? value[i] : (float)test_random_int(-8, 8) / 16);
}

static void text(dync__arena *a, dync__onnx_node *n, const char *name, const char *value)
{
    dync__onnx_attribute *t = dync__onnx_add(a, n, attribute, attribute);
    t->name = name;
    t->type = DYNC__ONNX_A_STRING;
    t->s.at = value;
    t->s.n = strlen(value);
}

static void number(dync__arena *a, dync__onnx_node *n, const char *name, int64_t value)
{
    dync__onnx_attribute *t = dync__onnx_add(a, n, attribute, attribute);
    t->name = name;
    t->type = DYNC__ONNX_A_INT;
    t->i = value;
    dync__onnx_mark(t, attribute, i);
}

static dync__onnx_model *begin(dync__arena *a, int64_t opset)
{
    dync__onnx_model *m = dync__onnx_new(a, model);
    m->ir_version = 8;
    ((dync__onnx_opset *)dync__onnx_add(a, m, opset_import, opset))->version = opset;
    m->graph = dync__onnx_new(a, graph);
    m->graph->name = "sized";
    return m;
}

static dync__program *load(const dync__onnx_model *m)
{
    dync__str s = {0};
    if (dync__onnx_write(&s, model, m) != DYNC_OK) return NULL;
    char *bytes = dync__alloc(s.n + 1);
    memcpy(bytes, s.at, s.n);
    dync__program *p = dync__onnx_program(dync__blob_take(bytes, s.n, false), NULL, "sized");
    dync__str_free(&s);
    return p;
}

/* Nothing is captured by this, and nothing is compiled but plans of the program's own graph. */
typedef struct work {
    int64_t frames, graphs, breaks, misses;
} work;
static work work_now(void)
{
    dync_counters c = dync_get_counters();
    return (work){c.frames, c.graphs, c.graph_breaks, c.cache_misses};
}
static void expect_no_capture(work before)
{
    work now = work_now();
    EXPECT_EQ_INT(now.frames, before.frames);
    EXPECT_EQ_INT(now.graphs, before.graphs);
    EXPECT_EQ_INT(now.breaks, before.breaks);
    EXPECT_EQ_INT(now.misses, before.misses);
}

/* ---- a sequence of any length ---------------------------------------------------------------- */

static double sigma(double x) { return 1 / (1 + exp(-x)); }

/* One step of an LSTM of 2 hidden values on 3 inputs, gates i o f c. */
static void step(const float *w, const float *r, const float *x, double *h, double *s)
{
    double g[8], was[2] = {h[0], h[1]};
    for (int k = 0; k < 8; k++) {
        g[k] = 0;
        for (int j = 0; j < 3; j++) g[k] += (double)w[3 * k + j] * (double)x[j];
        for (int j = 0; j < 2; j++) g[k] += (double)r[2 * k + j] * was[j];
    }
    for (int k = 0; k < 2; k++) {
        s[k] = sigma(g[4 + k]) * s[k] + sigma(g[k]) * tanh(g[6 + k]);
        h[k] = sigma(g[2 + k]) * tanh(s[k]);
    }
}

static void check_lstm(bool plain_cell, bool reverse)
{
    enum { MOST = 300 };
    dync__arena a = {0};
    dync__onnx_model *m = begin(&a, 17);
    static const char *const params[3] = {"length", "batch", NULL};
    float w[24], r[16], x[MOST * 3];
    for (int i = 0; i < 24; i++) w[i] = (float)test_random_int(-8, 8) / 16;
    for (int i = 0; i < 16; i++) r[i] = (float)test_random_int(-8, 8) / 16;
    for (int i = 0; i < MOST * 3; i++) x[i] = (float)test_random_int(-8, 8) / 8;
    port(&a, m->graph, true, "x", 3, (const int64_t[]){0, 0, 3}, params);
    weight(&a, m->graph, "w", 3, (const int64_t[]){1, 8, 3}, w);
    weight(&a, m->graph, "r", 3, (const int64_t[]){1, 8, 2}, r);
    weight(&a, m->graph, "p", 2, (const int64_t[]){1, 6}, (const float[6]){0});
    dync__onnx_node *n = plain_cell
                             ? PUT(&a, m->graph, "LSTM", "y", "x", "w", "r")
                             : PUT(&a, m->graph, "LSTM", "y", "x", "w", "r", "", "", "", "", "p");
    number(&a, n, "hidden_size", 2);
    if (reverse) text(&a, n, "direction", "reverse");
    port(&a, m->graph, false, "y", 0, NULL, NULL);
    work before = work_now();
    int64_t live = dync__live_tensors();
    dync__program *p = load(m);
    REQUIRE(p != NULL && p->graph != NULL);
    /* as many nodes for any length */
    EXPECT(dync__graph_op_count(p->graph) < 12);
    /* sizes of 1 are numbers: one graph more for each of them, and one for both */
    static const int64_t lengths[] = {2, 3, 7, 64, MOST / 3, 3, 1, 1, 1};
    for (int k = 0; k < 9; k++) DYNC_SCOPE {
        int64_t length = lengths[k], batch = 1 + k % 3;
        dync_value in = dync_v_tensor(dync_from(x, dync_shape(length, batch, 3)));
        dync_value out = dync__program_run(p, 1, &in);
        REQUIRE(out.kind == DYNC_KIND_LIST);
        const float *y = dync_data(dync_contiguous(dync_as_tensor(dync_at(out, 0))));
        for (int64_t b = 0; b < batch; b++) {
            double h[2] = {0, 0}, s[2] = {0, 0};
            for (int64_t i = 0; i < length; i++) {
                int64_t t = reverse ? length - 1 - i : i;
                step(w, r, x + (t * batch + b) * 3, h, s);
                for (int64_t j = 0; j < 2; j++)
                    EXPECT_NEAR((double)y[(t * batch + b) * 2 + j], h[j], 1e-5);
            }
        }
    }
    expect_no_capture(before);
    dync__program_free(p);
    /* graphs that calls made go with the program */
    EXPECT_EQ_INT(dync__live_tensors(), live);
    dync__arena_free(&a);
}

TEST(a_recurrent_layer_over_any_length_is_one_operator)
{
    check_lstm(true, false);
    check_lstm(true, true);
    check_lstm(false, false);
    check_lstm(false, true);
}

/* ---- pictures of any size -------------------------------------------------------------------- */

TEST(a_resize_of_any_size_is_one_graph)
{
    static const char *const params[4] = {NULL, NULL, "h", "w"};
    dync__arena a = {0};
    dync__onnx_model *m = begin(&a, 17);
    float x[400];
    for (int i = 0; i < 400; i++) x[i] = (float)test_random_int(-8, 8);
    port(&a, m->graph, true, "x", 4, (const int64_t[]){1, 1, 0, 0}, params);
    weight(&a, m->graph, "s", 1, (const int64_t[]){4}, (const float[]){1, 1, 2, 1.5f});
    dync__onnx_node *n = PUT(&a, m->graph, "Resize", "y", "x", "", "s");
    text(&a, n, "mode", "nearest");
    text(&a, n, "coordinate_transformation_mode", "asymmetric");
    text(&a, n, "nearest_mode", "floor");
    port(&a, m->graph, false, "y", 0, NULL, NULL);
    work before = work_now();
    dync__program *p = load(m);
    REQUIRE(p != NULL && p->graph != NULL);
    for (int64_t h = 2; h < 20; h += 3) DYNC_SCOPE {
        int64_t w = 21 - h, wide = w * 3 / 2;
        dync_value in = dync_v_tensor(dync_from(x, dync_shape(1, 1, h, w)));
        dync_value out = dync__program_run(p, 1, &in);
        REQUIRE(out.kind == DYNC_KIND_LIST);
        dync_tensor *y = dync_as_tensor(dync_at(out, 0));
        REQUIRE(dync_size(y, 2) == 2 * h && dync_size(y, 3) == wide);
        const float *got = dync_data(dync_contiguous(y));
        for (int64_t i = 0; i < 2 * h; i++)
            for (int64_t j = 0; j < wide; j++)
                EXPECT_EQ_INT((int)got[i * wide + j], (int)x[i / 2 * w + j * 2 / 3]);
    }
    expect_no_capture(before);
    dync__program_free(p);
    dync__arena_free(&a);
}

/* Sizes of which one is another number, as index_fill and others are written. */
static void whole(dync__arena *a, dync__onnx_graph *g, const char *name, int64_t value)
{
    dync__onnx_tensor *t = dync__onnx_add(a, g, initializer, tensor);
    t->name = name;
    t->data_type = DYNC__ONNX_INT64;
    (void)dync__avec_push(a, &t->dims, 1);
    (void)dync__avec_push(a, &t->int64_data, value);
}
TEST(a_size_put_among_others)
{
    static const char *const params[2] = {"h", "w"};
    dync__arena a = {0};
    dync__onnx_model *m = begin(&a, 17);
    port(&a, m->graph, true, "x", 2, (const int64_t[]){0, 0}, params);
    whole(&a, m->graph, "one", 1);
    whole(&a, m->graph, "three", 3);
    weight(&a, m->graph, "v", 1, (const int64_t[]){1}, (const float[]){2});
    PUT(&a, m->graph, "Shape", "s", "x");
    PUT(&a, m->graph, "ScatterElements", "t", "s", "one", "three");
    PUT(&a, m->graph, "Expand", "y", "v", "t");
    port(&a, m->graph, false, "y", 0, NULL, NULL);
    work before = work_now();
    dync__program *p = load(m);
    REQUIRE(p != NULL && p->graph != NULL);
    for (int64_t h = 2; h < 20; h += 3) DYNC_SCOPE {
        dync_value in = dync_v_tensor(dync_ones(dync_shape(h, 21 - h)));
        dync_value out = dync__program_run(p, 1, &in);
        REQUIRE(out.kind == DYNC_KIND_LIST);
        EXPECT(dync_equal(dync_as_tensor(dync_at(out, 0)), dync_full(dync_shape(h, 3), 2.0)));
    }
    expect_no_capture(before);
    dync__program_free(p);
    dync__arena_free(&a);
}

/* ---- branches -------------------------------------------------------------------------------- */

enum { MANY = 60 };

/* x + w0 + w1 + .. and x - w0 - w1 - .., of MANY initializers and MANY values made outside. */
static void branch(dync__arena *a, dync__onnx_node *n, const char *name, const char *op)
{
    dync__onnx_attribute *t = dync__onnx_add(a, n, attribute, attribute);
    t->name = name;
    t->type = DYNC__ONNX_A_GRAPH;
    t->g = dync__onnx_new(a, graph);
    t->g->name = name;
    const char *sum = "x";
    for (int i = 0; i < 2 * MANY; i++) {
        const char *next = dync__arena_printf(a, "%s_%d", name, i),
                   *with = dync__arena_printf(a, i < MANY ? "w%d" : "v%d", i % MANY);
        PUT(a, t->g, op, next, sum, with);
        sum = next;
    }
    port(a, t->g, false, sum, 0, NULL, NULL);
}

static void check_branches(dync__program *p, int up, float all)
{
    static const float one[4] = {1, -2, 3, 4};
    DYNC_SCOPE {
        float x[4];
        for (int i = 0; i < 4; i++) x[i] = (float)up * one[i];
        dync_value in = dync_v_tensor(dync_from(x, dync_shape(2, 2)));
        dync_value out = dync__program_run(p, 1, &in);
        REQUIRE(out.kind == DYNC_KIND_LIST);
        const float *y = dync_data(dync_contiguous(dync_as_tensor(dync_at(out, 0))));
        for (int i = 0; i < 4; i++)
            EXPECT_NEAR((double)y[i], (double)(x[i] + (float)up * (all + all * x[i])), 1e-2);
    }
}

TEST(branches_take_many_values_from_around)
{
    static const char *const params[2] = {"n", NULL};
    dync__arena a = {0};
    dync__onnx_model *m = begin(&a, 17);
    float all = 0, w;
    port(&a, m->graph, true, "x", 2, (const int64_t[]){0, 2}, params);
    weight(&a, m->graph, "zero", 0, NULL, (const float[]){0});
    for (int i = 0; i < MANY; i++) {
        const char *name = dync__arena_printf(&a, "w%d", i);
        w = (float)i / 4;
        all += w;
        weight(&a, m->graph, name, 0, NULL, &w);
        PUT(&a, m->graph, "Mul", dync__arena_printf(&a, "v%d", i), "x", name);
    }
    dync__onnx_node *total = PUT(&a, m->graph, "ReduceSum", "total", "x");
    number(&a, total, "keepdims", 0);
    PUT(&a, m->graph, "Greater", "up", "total", "zero");
    dync__onnx_node *n = PUT(&a, m->graph, "If", "y", "up");
    branch(&a, n, "then_branch", "Add");
    branch(&a, n, "else_branch", "Sub");
    port(&a, m->graph, false, "y", 0, NULL, NULL);
    work before = work_now();
    dync__program *p = load(m);
    REQUIRE(p != NULL && p->graph != NULL);
    for (int k = 0; k < 4; k++) check_branches(p, k % 2 ? 1 : -1, all);
    expect_no_capture(before);
    dync_program *saved = dync__program_give(p), *again;
    const char *path = "build/dync_test_branches.dync";
    EXPECT_OK(dync_program_save(saved, path));
    dync_program_free(saved);
    REQUIRE((again = dync_program_load(path)) != NULL);
    for (int k = 0; k < 2; k++) check_branches(dync__program_open(again, "test"), k ? 1 : -1, all);
    dync_program_free(again);
    remove(path);
    dync__arena_free(&a);
}

/* ---- a mode ---------------------------------------------------------------------------------- */

static void mode_branch(dync__arena *a, dync__onnx_node *n, const char *name, const char *op)
{
    dync__onnx_attribute *t = dync__onnx_add(a, n, attribute, attribute);
    t->name = name;
    t->type = DYNC__ONNX_A_GRAPH;
    t->g = dync__onnx_new(a, graph);
    t->g->name = name;
    PUT(a, t->g, op, name, "x");
    port(a, t->g, false, name, 0, NULL, NULL);
}

/* -x for modes above 2, else the sum of x: no operator gives either of two shapes. */
static void check_mode(dync__program *p, int64_t mode, int64_t rows)
{
    DYNC_SCOPE {
        dync_tensor *x = dync_randn(dync_shape(rows, 2)), *want = dync_neg(x);
        if (mode <= 2) want = dync_sum(x, dync_shape(0, 1), true);
        dync_value in[2] = {dync_v_tensor(x),
                            dync_v_tensor(dync_full(DYNC_SCALAR, mode, .dtype = DYNC_I64))};
        dync_value out = dync__program_run(p, 2, in);
        REQUIRE(out.kind == DYNC_KIND_LIST);
        dync_tensor *got = dync_as_tensor(dync_at(out, 0));
        EXPECT(dync_size(got, 0) == dync_size(want, 0) && dync_allclose(got, want, 1e-5, 1e-5));
    }
}

/* A graph for each value of the mode, for all sizes of x. */
TEST(a_value_that_decides)
{
    static const char *const params[2] = {"n", NULL};
    dync__arena a = {0};
    dync__onnx_model *m = begin(&a, 17);
    port(&a, m->graph, true, "x", 2, (const int64_t[]){0, 2}, params);
    port(&a, m->graph, true, "mode", 0, NULL, NULL);
    m->graph->input.at[1]->type->tensor_type->elem_type = 7; /* int64 */
    weight(&a, m->graph, "two", 0, NULL, (const float[]){2});
    number(&a, PUT(&a, m->graph, "Cast", "real", "mode"), "to", DYNC__ONNX_FLOAT);
    PUT(&a, m->graph, "Greater", "above", "real", "two");
    dync__onnx_node *n = PUT(&a, m->graph, "If", "y", "above");
    mode_branch(&a, n, "then_branch", "Neg");
    mode_branch(&a, n, "else_branch", "ReduceSum");
    port(&a, m->graph, false, "y", 0, NULL, NULL);
    dync__program *p = load(m);
    REQUIRE(p != NULL);
    work before = work_now();
    for (int i = 0; i < 24; i++) check_mode(p, 1 + i % 4, 3 + i);
    expect_no_capture(before);
    /* more modes than there are forms: walked */
    for (int i = 0; i < 12; i++) check_mode(p, i, 3);
    dync__program_free(p);
    dync__arena_free(&a);
}

/* A graph for each value of the pads, for all sizes of x. */
TEST(sizes_that_an_input_decides)
{
    static const char *const params[2] = {"n", NULL};
    static const int64_t pads[2][4] = {{1, 0, 2, 1}, {0, 2, 1, 0}};
    dync__arena a = {0};
    dync__onnx_model *m = begin(&a, 17);
    port(&a, m->graph, true, "x", 2, (const int64_t[]){0, 2}, params);
    port(&a, m->graph, true, "pads", 1, (const int64_t[]){4}, NULL);
    m->graph->input.at[1]->type->tensor_type->elem_type = DYNC__ONNX_INT64;
    PUT(&a, m->graph, "Pad", "y", "x", "pads");
    port(&a, m->graph, false, "y", 0, NULL, NULL);
    dync__program *p = load(m);
    REQUIRE(p != NULL);
    work before = work_now();
    for (int i = 0; i < 16; i++) DYNC_SCOPE {
        const int64_t *by = pads[i % 2];
        dync_tensor *x = dync_randn(dync_shape(2 + i, 2)),
                    *want = dync_pad(x, dync_shape(by[1], by[3], by[0], by[2]), 0);
        dync_value in[2] = {dync_v_tensor(x),
                            dync_v_tensor(dync_from(by, dync_shape(4), .dtype = DYNC_I64))};
        dync_value out = dync__program_run(p, 2, in);
        REQUIRE(out.kind == DYNC_KIND_LIST);
        EXPECT(dync_equal(dync_as_tensor(dync_at(out, 0)), want));
    }
    expect_no_capture(before);
    dync__program_free(p);
    dync__arena_free(&a);
}

/* y = sum of ConstantOfShape(k), or of Range(0, k, 1): k decides how many elements there are. */
static dync__onnx_model *as_many(dync__arena *a, bool range)
{
    dync__onnx_model *m = begin(a, 17);
    port(a, m->graph, true, "k", !range, (const int64_t[]){2}, NULL);
    m->graph->input.at[0]->type->tensor_type->elem_type = DYNC__ONNX_INT64;
    for (int i = 0; i < 2 && range; i++) {
        dync__onnx_tensor *t = dync__onnx_add(a, m->graph, initializer, tensor);
        t->name = i ? "one" : "zero";
        t->data_type = DYNC__ONNX_INT64;
        (void)dync__avec_push(a, &t->int64_data, i);
    }
    if (range)
        PUT(a, m->graph, "Range", "all", "zero", "k", "one");
    else
        PUT(a, m->graph, "ConstantOfShape", "all", "k");
    PUT(a, m->graph, "ReduceSum", "y", "all");
    port(a, m->graph, false, "y", 0, NULL, NULL);
    return m;
}

/* Limits hold for sizes that data decide, and for a graph that is saved and read again; what is
 * refused leaves the program as it was. */
TEST(limits_hold_for_what_data_decide)
{
    const char *path = "build/dync_test_limits.dync";
    dync_limits before = dync__program_limits_get();
    for (int i = 0; i < 4; i++) {
        dync__arena a = {0};
        bool range = i % 2, saved = i / 2;
        dync_set_limits((dync_limits){.elements = 1 << 20});
        dync_program *p = dync__program_give(load(as_many(&a, range)));
        REQUIRE(p && dync_program_graph(p));
        if (saved) {
            REQUIRE(dync_program_save(p, path) == DYNC_OK);
            dync_program_free(p);
            REQUIRE((p = dync_program_load(path)) != NULL);
            remove(path);
        }
        static const int64_t more[] = {1000, 1 << 11, 600, 1 << 18, 1024};
        for (int k = 0; k < DYNC__COUNT_OF(more); k++) DYNC_SCOPE {
            int64_t n = more[k], shape[2] = {n, n};
            bool within = n <= 1024;
            dync_value in =
                dync_v_tensor(range ? dync_full(DYNC_SCALAR, (double)(n * n), .dtype = DYNC_I64)
                                    : dync_from(shape, dync_shape(2), .dtype = DYNC_I64));
            dync_value out = dync_program_run(p, 1, &in);
            EXPECT((dync_error() == DYNC_OK) == within);
            EXPECT(within || dync_error() == DYNC_ERR_FORMAT);
            EXPECT(within || strstr(dync_error_message(), "dync_set_limits"));
            if (within) EXPECT(out.kind == DYNC_KIND_LIST);
            dync_clear_error();
        }
        dync_program_free(p);
        dync__arena_free(&a);
    }
    dync_set_limits(before);
}

TEST_MAIN
