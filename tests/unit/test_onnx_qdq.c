/* tests/unit/test_onnx_qdq.c: products of dequantized bytes as products of bytes (pass qdq), beside
 * the plain chain and sums of integers by hand; random kinds of scales, zero points and transposes.
 */
#include "../../src/dync.in.h"
#include "../../src/onnx/record.h"
#include "../test.h"

enum { ROWS = 5, MOST = 300 };
static uint32_t seed = 7;
static int any(int n)
{
    seed = seed * 1664525u + 1013904223u;
    return (int)((seed >> 8) % (uint32_t)n);
}

typedef struct kind {
    int k, n, zx, zw[MOST];
    bool gemm, turned, by_column, signed_x, signed_w, no_zero;
    float sx, sw[MOST], bias[MOST];
    int w[MOST * MOST]; /* [k, n], or [n, k] where turned */
} kind;

static dync__onnx_tensor *tensor(dync__arena *a, dync__onnx_graph *g, const char *name, int type,
                                 int rank, int64_t d0, int64_t d1)
{
    dync__onnx_tensor *t = dync__onnx_add(a, g, initializer, tensor);
    t->name = name;
    t->data_type = type;
    if (rank > 0) (void)dync__avec_push(a, &t->dims, d0);
    if (rank > 1) (void)dync__avec_push(a, &t->dims, d1);
    return t;
}

static dync__onnx_node *put(dync__arena *a, dync__onnx_graph *g, const char *op, const char *in[],
                            int n_in, const char *out)
{
    dync__onnx_node *n = dync__onnx_add(a, g, node, node);
    n->op_type = op;
    n->name = out;
    for (int i = 0; i < n_in; i++) (void)dync__avec_push(a, &n->input, in[i]);
    (void)dync__avec_push(a, &n->output, out);
    return n;
}

static void attribute(dync__arena *a, dync__onnx_node *n, const char *name, int64_t value)
{
    dync__onnx_attribute *t = dync__onnx_add(a, n, attribute, attribute);
    t->name = name;
    t->type = 2;
    t->i = value;
}

/* y = DequantizeLinear(x) times DequantizeLinear(w) [+ bias] */
static dync__onnx_model *model_of(dync__arena *a, const kind *q)
{
    dync__onnx_model *m = dync__onnx_new(a, model);
    m->ir_version = 8;
    ((dync__onnx_opset *)dync__onnx_add(a, m, opset_import, opset))->version = 18;
    dync__onnx_graph *g = m->graph = dync__onnx_new(a, graph);
    g->name = "qdq";
    dync__onnx_value_info *v = dync__onnx_add(a, g, input, value_info);
    int x_type = q->signed_x ? DYNC__ONNX_INT8 : DYNC__ONNX_UINT8,
        w_type = q->signed_w ? DYNC__ONNX_INT8 : DYNC__ONNX_UINT8, many = q->by_column ? q->n : 1;
    v->name = "x";
    v->type = dync__onnx_new(a, type);
    v->type->tensor_type = dync__onnx_new(a, tensor_type);
    v->type->tensor_type->elem_type = x_type;
    v->type->tensor_type->shape = dync__onnx_new(a, shape);
    ((dync__onnx_dim *)dync__onnx_add(a, v->type->tensor_type->shape, dim, dim))->dim_param = "N";
    ((dync__onnx_dim *)dync__onnx_add(a, v->type->tensor_type->shape, dim, dim))->dim_value = q->k;
    dync__onnx_tensor *t = tensor(a, g, "sx", DYNC__ONNX_FLOAT, 0, 0, 0);
    (void)dync__avec_push(a, &t->float_data, q->sx);
    t = tensor(a, g, "zx", x_type, 0, 0, 0);
    (void)dync__avec_push(a, &t->int32_data, q->zx);
    t = tensor(a, g, "w", w_type, 2, q->turned ? q->n : q->k, q->turned ? q->k : q->n);
    for (int i = 0; i < q->k * q->n; i++) (void)dync__avec_push(a, &t->int32_data, q->w[i]);
    t = tensor(a, g, "sw", DYNC__ONNX_FLOAT, q->by_column, many, 0);
    for (int i = 0; i < many; i++) (void)dync__avec_push(a, &t->float_data, q->sw[i]);
    t = tensor(a, g, "zw", w_type, q->by_column, many, 0);
    for (int i = 0; i < many; i++) (void)dync__avec_push(a, &t->int32_data, q->zw[i]);
    t = tensor(a, g, "bias", DYNC__ONNX_FLOAT, 1, q->n, 0);
    for (int i = 0; i < q->n; i++) (void)dync__avec_push(a, &t->float_data, q->bias[i]);
    put(a, g, "DequantizeLinear", (const char *[]){"x", "sx", "zx"}, 3, "xr");
    attribute(
        a,
        put(a, g, "DequantizeLinear", (const char *[]){"w", "sw", "zw"}, q->no_zero ? 2 : 3, "wr"),
        "axis", q->turned ? 0 : 1);
    dync__onnx_node *product = put(a, g, q->gemm ? "Gemm" : "MatMul",
                                   (const char *[]){"xr", "wr", "bias"}, q->gemm ? 3 : 2, "y");
    if (q->turned) attribute(a, product, "transB", 1);
    ((dync__onnx_value_info *)dync__onnx_add(a, g, output, value_info))->name = "y";
    return m;
}

static dync__program *load(const dync__onnx_model *m)
{
    dync__str s = {0};
    if (dync__onnx_write(&s, model, m) != DYNC_OK) return NULL;
    char *bytes = dync__alloc(s.n + 1);
    memcpy(bytes, s.at, s.n);
    dync__program *p = dync__onnx_program(dync__blob_take(bytes, s.n, false), NULL, "qdq");
    dync__str_free(&s);
    return p;
}

static void draw(kind *q, int k, int n)
{
    q->k = k;
    q->n = n;
    q->gemm = any(2);
    q->turned = q->gemm && any(2);
    q->by_column = any(2);
    q->signed_x = any(2);
    q->signed_w = any(2);
    q->no_zero = any(3) == 0;
    q->zx = any(256) - (q->signed_x ? 128 : 0);
    q->sx = 0.001f * (float)(1 + any(50));
    for (int i = 0; i < n; i++) {
        q->zw[i] = q->no_zero ? 0 : any(2) ? any(256) - (q->signed_w ? 128 : 0) : 0;
        q->sw[i] = 0.0003f * (float)(1 + any(90));
        q->bias[i] = 0.1f * (float)(any(41) - 20);
    }
    for (int i = 0; i < k * n; i++) q->w[i] = any(256) - (q->signed_w ? 128 : 0);
}

/* x [ROWS, k]; with the rule the sums are exact. */
static void run(const kind *q, const int *x, bool rule)
{
    dync__arena a = {0};
    EXPECT(dync_config_set("disable", rule ? "" : "qdq") == DYNC_OK);
    dync__program *p = load(model_of(&a, q));
    REQUIRE(p != NULL);
    const dync_graph *g = dync_program_graph(dync__program_give(p));
    REQUIRE(g != NULL);
    DYNC_SCOPE {
        EXPECT((strstr(dync_graph_str(g), "int_mm") != NULL) ==
               (rule && q->k * q->n >= DYNC__QDQ_WEIGHTS));
        int8_t bytes[ROWS * MOST];
        for (int i = 0; i < ROWS * q->k; i++) bytes[i] = (int8_t)x[i];
        dync_value in = dync_v_tensor(
            q->signed_x ? dync_from(bytes, dync_shape(ROWS, q->k), .dtype = DYNC_I8)
                        : dync_from((uint8_t *)bytes, dync_shape(ROWS, q->k), .dtype = DYNC_U8));
        dync_tensor *y = dync_as_tensor(dync_at(dync__program_run(p, 1, &in), 0));
        REQUIRE(y && dync_size(y, 0) == ROWS && dync_size(y, 1) == q->n);
        const float *got = dync_data(dync_contiguous(y));
        for (int r = 0; r < ROWS; r++)
            for (int c = 0; c < q->n; c++) {
                int one = q->by_column ? c : 0;
                double sum = 0, all = 0, scale = (double)q->sx * (double)q->sw[one];
                for (int i = 0; i < q->k; i++) {
                    double term = (double)(x[r * q->k + i] - q->zx) *
                                  (q->w[q->turned ? c * q->k + i : i * q->n + c] - q->zw[one]);
                    sum += term;
                    all += fabs(term);
                }
                double bias = q->gemm ? (double)q->bias[c] : 0, want = sum * scale + bias;
                /* the rule rounds the sum, both scales and their products, and the bias */
                bool exact = rule && q->k * q->n >= DYNC__QDQ_WEIGHTS;
                double part = exact ? 4 * fabs(sum) * scale : (8 + q->k) * all * scale;
                EXPECT_NEAR((double)got[r * q->n + c], want,
                            ldexp(part + fabs(bias) + fabs(want), -23));
            }
    }
    dync__program_free(p);
    dync__arena_free(&a);
    (void)dync_config_set("disable", "");
}

TEST(products_of_dequantized_bytes)
{
    static kind q;
    static int x[ROWS * MOST];
    for (int round = 0; round < test_count(24); round++) {
        bool small = round % 4 == 3;
        draw(&q, small ? 1 + any(40) : 256 + any(40), small ? 2 + any(40) : 256 + any(40));
        for (int i = 0; i < ROWS * q.k; i++) x[i] = any(256) - (q.signed_x ? 128 : 0);
        run(&q, x, true);
        run(&q, x, false);
    }
}

static void named(dync__arena *a, dync__onnx_graph *g, bool input, const char *name, int type)
{
    dync__onnx_value_info *v = input ? dync__onnx_add(a, g, input, value_info)
                                     : dync__onnx_add(a, g, output, value_info);
    v->name = name;
    v->type = dync__onnx_new(a, type);
    v->type->tensor_type = dync__onnx_new(a, tensor_type);
    v->type->tensor_type->elem_type = type;
    v->type->tensor_type->shape = dync__onnx_new(a, shape);
    ((dync__onnx_dim *)dync__onnx_add(a, v->type->tensor_type->shape, dim, dim))->dim_value = 4;
}

/* What is no number, as -inf by a scale of inf in a masked attention, is the least of the type. */
TEST(not_a_number_is_the_least)
{
    static const struct {
        int type, zero, want[4];
    } rows[] = {{DYNC__ONNX_INT8, 7, {-128, -128, 127, 10}},
                {DYNC__ONNX_INT8, -128, {-128, -128, 127, -125}},
                {DYNC__ONNX_UINT8, 7, {0, 0, 255, 10}},
                {DYNC__ONNX_INT16, 7, {-32768, -32768, 32767, 10}}};
    for (int i = 0; i < DYNC__COUNT_OF(rows); i++) DYNC_SCOPE {
        dync__arena a = {0};
        dync__onnx_model *m = dync__onnx_new(&a, model);
        m->ir_version = 10;
        ((dync__onnx_opset *)dync__onnx_add(&a, m, opset_import, opset))->version = 21;
        dync__onnx_graph *g = m->graph = dync__onnx_new(&a, graph);
        g->name = "nan";
        named(&a, g, true, "x", DYNC__ONNX_FLOAT);
        dync__onnx_tensor *t = tensor(&a, g, "s", DYNC__ONNX_FLOAT, 0, 0, 0);
        (void)dync__avec_push(&a, &t->float_data, 0.5f);
        t = tensor(&a, g, "z", rows[i].type, 0, 0, 0);
        (void)dync__avec_push(&a, &t->int32_data, rows[i].zero);
        put(&a, g, "QuantizeLinear", (const char *[]){"x", "s", "z"}, 3, "y");
        named(&a, g, false, "y", rows[i].type);
        dync__program *p = load(m);
        REQUIRE(p != NULL);
        const float x[4] = {NAN, -INFINITY, INFINITY, 1.5f};
        dync_value in = dync_v_tensor(dync_from(x, dync_shape(4)));
        dync_tensor *y = dync_as_tensor(dync_at(dync__program_run(p, 1, &in), 0));
        REQUIRE(y != NULL);
        for (int k = 0; k < 4; k++) EXPECT(dync_item(dync_select(y, 0, k)) == rows[i].want[k]);
        dync__program_free(p);
        dync__arena_free(&a);
    }
}

TEST_MAIN
