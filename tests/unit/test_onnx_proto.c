/* tests/unit/test_onnx_proto.c: ONNX's messages written and read back; broken ones refused. */
#include "../../src/dync.in.h"
#include "../../src/onnx/proto.h"
#include "../test.h"

/* Every kind of field once. */
static dync__onnx_model *some_model(dync__arena *a)
{
    static const char raw[] = {1, 2, 3, 0, 5, 6, 7, 8};
    dync__onnx_model *m = dync__onnx_new(a, model);
    m->ir_version = 8;
    m->producer_name = "dync";
    dync__onnx_opset *o = dync__onnx_add(a, m, opset_import, opset);
    o->version = 18;
    m->graph = dync__onnx_new(a, graph);
    m->graph->name = "g";
    dync__onnx_node *n = dync__onnx_add(a, m->graph, node, node);
    n->op_type = "Conv";
    const char *in[] = {"x", "", "w"};
    for (int i = 0; i < 3; i++) (void)dync__avec_push(a, &n->input, in[i]);
    dync__onnx_attribute *t = dync__onnx_add(a, n, attribute, attribute);
    t->name = "pads";
    t->type = DYNC__ONNX_A_INTS;
    for (int i = -2; i < 3; i++) (void)dync__avec_push(a, &t->ints, i * INT64_C(3000000000));
    t = dync__onnx_add(a, n, attribute, attribute);
    t->name = "alpha";
    t->f = -0.0f;
    for (int i = 0; i < 3; i++) (void)dync__avec_push(a, &t->floats, 0.5f * (float)i);
    t->s = (dync__pb_bytes){"a\0b", 3};
    (void)dync__avec_push(a, &t->strings, t->s);
    dync__onnx_tensor *w = dync__onnx_add(a, m->graph, initializer, tensor);
    w->data_type = DYNC__ONNX_FLOAT;
    w->raw_data = (dync__pb_bytes){raw, sizeof raw};
    for (int i = 0; i < 2; i++) (void)dync__avec_push(a, &w->double_data, 1.0 / (1 + i));
    dync__onnx_value_info *x = dync__onnx_add(a, m->graph, input, value_info);
    x->type = dync__onnx_new(a, type);
    x->type->tensor_type = dync__onnx_new(a, tensor_type);
    x->type->tensor_type->shape = dync__onnx_new(a, shape);
    dync__onnx_dim *d = dync__onnx_add(a, x->type->tensor_type->shape, dim, dim);
    dync__onnx_mark(d, dim, dim_value); /* size 0 */
    d = dync__onnx_add(a, x->type->tensor_type->shape, dim, dim);
    d->dim_param = "N";
    return m;
}

TEST(what_is_written_is_read)
{
    dync__arena a = {0}, b = {0};
    dync__str one = {0}, two = {0};
    dync__onnx_model *m = some_model(&a);
    REQUIRE(dync__onnx_write(&one, model, m) == DYNC_OK);
    dync__onnx_model *back = dync__onnx_read(&b, model, one.at, one.n);
    REQUIRE(back != NULL);
    EXPECT(dync__onnx_write(&two, model, back) == DYNC_OK);
    EXPECT(one.n == two.n && memcmp(one.at, two.at, one.n) == 0);
    const dync__onnx_node *n = back->graph->node.at[0];
    EXPECT(n->input.n == 3 && strcmp(n->input.at[1], "") == 0 && strcmp(n->input.at[2], "w") == 0);
    EXPECT(n->attribute.at[0]->ints.at[0] == -6000000000);
    EXPECT(signbit(n->attribute.at[1]->f) && n->attribute.at[1]->floats.at[2] == 1.0f);
    EXPECT(n->attribute.at[1]->s.n == 3 && back->graph->initializer.at[0]->raw_data.n == 8);
    EXPECT(back->graph->initializer.at[0]->double_data.at[1] == 0.5);
    const dync__onnx_shape *s = back->graph->input.at[0]->type->tensor_type->shape;
    EXPECT(dync__onnx_has(s->dim.at[0], dim, dim_value) &&
           !dync__onnx_has(s->dim.at[1], dim, dim_value));
    dync__str_free(&one);
    dync__str_free(&two);
    dync__arena_free(&a);
    dync__arena_free(&b);
}

static bool reads(const char *bytes, size_t n)
{
    dync__arena a = {0};
    dync__error_guard g;
    dync__error_guard_begin(&g);
    char *exact = malloc(n ? n : 1); /* so that a sanitizer sees the end */
    memcpy(exact, bytes, n);
    bool ok = dync__onnx_read(&a, model, exact, n) != NULL;
    const dync__error_slot *e = dync__error_guard_end(&g);
    EXPECT(ok || (e->status == DYNC_ERR_FORMAT && strstr(e->message, " at byte ")));
    free(exact);
    dync__arena_free(&a);
    return ok;
}

TEST(broken_ones_are_refused)
{
    dync__arena a = {0};
    dync__str out = {0};
    REQUIRE(dync__onnx_write(&out, model, some_model(&a)) == DYNC_OK);
    int whole = 0;
    for (size_t n = 0; n < out.n; n++) whole += reads(out.at, n);
    /* it reads where a field of the outermost message ends: five do, and nothing is empty */
    EXPECT_EQ_INT(whole, 4);
    EXPECT(!reads("\x3a\x05\x0a\x06xx", 6)); /* longer than what holds it */
    EXPECT(!reads("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 11));
    EXPECT(!reads("\x0b\x0c", 2)); /* a group */
    EXPECT(!reads("\x12\x03"
                  "a\0b",
                  5)); /* a name with a zero byte */
    for (int i = 0; i < test_count(10000); i++) {
        char *copy = malloc(out.n);
        memcpy(copy, out.at, out.n);
        for (int k = 0; k < 1 + (int)(test_random() % 4); k++)
            copy[test_random() % out.n] = (char)test_random();
        (void)reads(copy, out.n - (i % 3 ? 0 : (size_t)(test_random() % out.n)));
        free(copy);
    }
    dync__str_free(&out);
    dync__arena_free(&a);
}

TEST(deep_nesting_ends)
{
    dync__arena a = {0};
    dync__str out = {0};
    dync__onnx_model *m = dync__onnx_new(&a, model);
    dync__onnx_graph **at = &m->graph;
    for (int i = 0; i < 100; i++) {
        *at = dync__onnx_new(&a, graph);
        at = &dync__onnx_add(&a, dync__onnx_add(&a, *at, node, node), attribute, attribute)->g;
    }
    REQUIRE(dync__onnx_write(&out, model, m) == DYNC_OK);
    EXPECT(!reads(out.at, out.n));
    dync__str_free(&out);
    dync__arena_free(&a);
}

TEST_MAIN
