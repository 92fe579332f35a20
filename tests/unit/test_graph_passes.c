/* Passes over graphs, splitting, and the interpreter that tells whether the meaning stayed. */
#include "dync.in.h"
#include "graph/graph.h"
#include "test.h"
#include "tol.h"

static dync__graph *parse(const char *text)
{
    dync__graph *g = dync__graph_parse(text);
    EXPECT(g != NULL);
    return g;
}

TEST(dce)
{
    dync__graph *g = parse("dync_value f(dync_tensor *x)  /* f32[3] */\n{\n"
                           "    dync_tensor *a = dync_sin(x);  /* f32[3] */\n"
                           "    dync_tensor *b = dync_cos(a);  /* f32[3] */\n"
                           "    dync_tensor *c = dync_exp(x);  /* f32[3] */\n"
                           "    dync_relu_(c);  /* d: f32[3] */\n"
                           "    dync_rand_like(x);  /* r: f32[3] */\n"
                           "    dync_exp(b);  /* e: f32[3] */\n"
                           "    return dync_tuple(c);\n}\n");
    REQUIRE_OK(dync__graph_dce(g));
    REQUIRE_OK(dync__graph_check(g));
    EXPECT_EQ_STR(dync_graph_str(dync__graph_handle(g)),
                  "dync_value f(dync_tensor *x)  /* f32[3] */\n{\n"
                  "    dync_tensor *c = dync_exp(x);  /* f32[3] */\n"
                  "    dync_relu_(c);  /* d: f32[3] */\n"
                  "    dync_rand_like(x);  /* r: f32[3] */\n"
                  "    return dync_tuple(c);\n}\n");
    dync__graph_unref(g);
}

static const char cse_text[] = "dync_value f(dync_tensor *x)  /* f32[3] */\n{\n"
                               "    dync_tensor *a = dync_sin(x);  /* f32[3] */\n"
                               "    dync_tensor *b = dync_sin(x);  /* f32[3] */\n"
                               "    dync_tensor *c = dync_add(a, 1);  /* f32[3] */\n"
                               "    dync_tensor *d = dync_add(b, 1);  /* f32[3] */\n"
                               "    dync_tensor *e = dync_add(b, 1.0);  /* f32[3] */\n"
                               "    dync_tensor *r = dync_rand_like(x);  /* f32[3] */\n"
                               "    dync_tensor *s = dync_rand_like(x);  /* f32[3] */\n"
                               "    dync_tensor *m = dync_mul(d, e);  /* f32[3] */\n"
                               "    return dync_tuple(m, c, r, s, d);\n}\n";

TEST(cse)
{
    dync__graph *g = parse(cse_text);
    REQUIRE_OK(dync__graph_cse(g));
    REQUIRE_OK(dync__graph_dce(g));
    REQUIRE_OK(dync__graph_check(g));
    EXPECT_EQ_STR(
        dync_graph_str(dync__graph_handle(g)),
        "dync_value f(dync_tensor *x)  /* f32[3] */\n{\n"
        "    dync_tensor *a = dync_sin(x);  /* f32[3] */\n"
        "    dync_tensor *c = dync_add(a, 1);  /* f32[3] */\n"
        "    dync_tensor *d = dync_add(a, 1);  /* f32[3] */\n" /* both are returned: two tensors */
        "    dync_tensor *e = dync_add(a, 1.0);  /* f32[3] */\n" /* 1 and 1.0 are not one */
        "    dync_tensor *r = dync_rand_like(x);  /* f32[3] */\n"
        "    dync_tensor *s = dync_rand_like(x);  /* f32[3] */\n"
        "    dync_tensor *m = dync_mul(d, e);  /* f32[3] */\n"
        "    return dync_tuple(m, c, r, s, d);\n}\n");
    dync__graph_unref(g);
}

/* Three rolls, of which one is written otherwise and one multiplied before, are slices of one
 * array; a fourth, which a view reads, stays. */
TEST(rolls)
{
    dync__graph *g =
        parse("dync_value f(dync_tensor *x)  /* f32[6] */\n{\n"
              "    dync_tensor *a = dync_slice(x, 0, 5, 6, 1);  /* f32[1] +5 @0 */\n"
              "    dync_tensor *b = dync_slice(x, 0, 0, 5, 1);  /* f32[5] @0 */\n"
              "    dync_tensor *c = dync_cat(dync_tuple(a, b), 0);  /* f32[6] */\n"
              "    dync_tensor *d = dync_slice(x, 0, -4, 9, 1);  /* f32[4] +2 @0 */\n"
              "    dync_tensor *e = dync_slice(x, 0, 0, 2, 1);  /* f32[2] @0 */\n"
              "    dync_tensor *h = dync_cat(dync_tuple(d, e), 0);  /* f32[6] */\n"
              "    dync_tensor *i = dync_mul(x, 3);  /* f32[6] */\n"
              "    dync_tensor *j = dync_slice(i, 0, 1, 6, 1);  /* f32[5] +1 @0 */\n"
              "    dync_tensor *k = dync_slice(i, 0, 0, 1, 1);  /* f32[1] @0 */\n"
              "    dync_tensor *l = dync_cat(dync_tuple(j, k), 0);  /* f32[6] */\n"
              "    dync_tensor *m = dync_slice(x, 0, 4, 6, 1);  /* f32[2] +4 @0 */\n"
              "    dync_tensor *n = dync_slice(x, 0, 0, 4, 1);  /* f32[4] @0 */\n"
              "    dync_tensor *o = dync_cat(dync_tuple(m, n), 0);  /* f32[6] */\n"
              "    dync_tensor *p = dync_view(o, dync_shape(2, 3));  /* f32[2, 3] @0 */\n"
              "    dync_tensor *q = dync_add(c, h);  /* f32[6] */\n"
              "    dync_tensor *r = dync_sub(q, l);  /* f32[6] */\n"
              "    return dync_tuple(p, r);\n}\n");
    REQUIRE_OK(dync__graph_rolls(g));
    REQUIRE_OK(dync__graph_check(g));
    EXPECT_EQ_STR(
        dync_graph_str(dync__graph_handle(g)),
        "dync_value f(dync_tensor *x)  /* f32[6] */\n"
        "{\n"
        "    dync_tensor *slice_1 = dync_slice(x, 0, 5, 6, 1);  /* f32[1] +5 @0 */\n"
        "    dync_tensor *slice_2 = dync_slice(x, 0, 0, 2, 1);  /* f32[2] @0 */\n"
        "    dync_tensor *cat = dync_cat(dync_tuple(slice_1, x, slice_2), 0);  /* f32[9] */\n"
        "    dync_tensor *slice_3 = dync_slice(cat, 0, 0, 6, 1);  /* f32[6] @0 */\n"
        "    dync_tensor *slice_4 = dync_slice(cat, 0, 3, 9, 1);  /* f32[6] +3 @0 */\n"
        "    dync_tensor *slice_5 = dync_slice(cat, 0, 2, 8, 1);  /* f32[6] +2 @0 */\n"
        "    dync_tensor *mul = dync_mul(slice_5, 3);  /* f32[6] */\n"
        "    dync_tensor *m = dync_slice(x, 0, 4, 6, 1);  /* f32[2] +4 @0 */\n"
        "    dync_tensor *n = dync_slice(x, 0, 0, 4, 1);  /* f32[4] @0 */\n"
        "    dync_tensor *o = dync_cat(dync_tuple(m, n), 0);  /* f32[6] */\n"
        "    dync_tensor *p = dync_view(o, dync_shape(2, 3));  /* f32[2, 3] @0 */\n"
        "    dync_tensor *q = dync_add(slice_3, slice_4);  /* f32[6] */\n"
        "    dync_tensor *r = dync_sub(q, mul);  /* f32[6] */\n"
        "    return dync_tuple(p, r);\n"
        "}\n");
    dync__graph_unref(g);
}

/* a and b are x placed in zeros in two ways, by `op`; then comes `rest`. */
static dync__graph *placed(const char *x, const char *op, int n, const char *a, const char *b,
                           const char *rest)
{
    char text[2000];
    int at = snprintf(text, sizeof text, "dync_value f(dync_tensor *x)  /* f32[%s] */\n{\n", x);
    for (int i = 0; i < 2; i++)
        at += snprintf(text + at, sizeof text - (size_t)at,
                       "    dync_tensor *%c = dync_as_tensor(dync_op_call_values(\"%s\", %d, "
                       "(dync_value[]){DYNC_V(x), dync_tuple(3, 4), %s}));  /* f32[3, 4] */\n",
                       'a' + i, op, n, i ? b : a);
    snprintf(text + at, sizeof text - (size_t)at, "%s}\n", rest);
    dync__graph *g = parse(text);
    EXPECT_OK(dync__graph_slices(g));
    EXPECT_OK(dync__graph_check(g));
    return g;
}

/* Rows cost one array, and where slices overlap they are added; whoever else reads a partial sum
 * still has it. */
TEST(slices)
{
    dync__graph *g = placed("4", "select_backward", 4, "DYNC_V(0), DYNC_V(0)",
                            "DYNC_V(0), DYNC_V(-1)",
                            "    dync_tensor *s = dync_add(a, b);  /* f32[3, 4] */\n"
                            "    return dync_tuple(s);\n");
    REQUIRE_OK(dync__graph_cse(g));
    REQUIRE_OK(dync__graph_dce(g));
    EXPECT_EQ_STR(dync_graph_str(dync__graph_handle(g)),
                  "dync_value f(dync_tensor *x)  /* f32[4] */\n{\n"
                  "    dync_tensor *unsqueeze = dync_unsqueeze(x, 0);  /* f32[1, 4] @0 */\n"
                  "    dync_tensor *zeros = dync_zeros(dync_shape(1, 4), "
                  ".dtype = DYNC_F32, .device = DYNC_CPU);  /* f32[1, 4] */\n"
                  "    dync_tensor *cat = dync_cat(dync_tuple(unsqueeze, zeros, unsqueeze), 0);"
                  "  /* f32[3, 4] */\n"
                  "    return dync_tuple(cat);\n}\n");
    dync__graph_unref(g);
    g = placed("3, 3", "slice_backward", 6, "DYNC_V(1), DYNC_V(0), DYNC_V(3), DYNC_V(1)",
               "DYNC_V(1), DYNC_V(1), DYNC_V(4), DYNC_V(1)",
               "    dync_tensor *s = dync_add(a, b);  /* f32[3, 4] */\n"
               "    dync_tensor *t = dync_add(s, a);  /* f32[3, 4] */\n"
               "    return dync_tuple(s, t);\n");
    int adds = 0, cats = 0, backs = 0;
    for (int i = 0; i < g->node.n; i++) {
        adds += g->node.at[i]->op == DYNC__OP_add;
        cats += g->node.at[i]->op == DYNC__OP_cat;
        backs += g->node.at[i]->op == DYNC__OP_slice_backward;
    }
    EXPECT_EQ_INT(adds, 2); /* s: two columns of a + b; t: s and a, but for the last column */
    EXPECT_EQ_INT(cats, 2);
    EXPECT_EQ_INT(backs, 0);
    dync__graph_unref(g);
}

/* Two equal fresh tensors are not one where one of them is written. */
TEST(cse_respects_writes)
{
    static const char text[] = "dync_value f(dync_tensor *x)  /* f32[3] */\n{\n"
                               "    dync_tensor *a = dync_sin(x);  /* f32[3] */\n"
                               "    dync_tensor *b = dync_sin(x);  /* f32[3] */\n"
                               "    dync_mul_(b, 2);  /* w: f32[3] */\n"
                               "    dync_tensor *c = dync_sub(b, a);  /* f32[3] */\n"
                               "    return dync_tuple(c);\n}\n";
    dync__graph *g = parse(text);
    REQUIRE_OK(dync__graph_cse(g));
    EXPECT_EQ_STR(dync_graph_str(dync__graph_handle(g)), text);
    dync__graph_unref(g);
}

TEST(interpreter)
{
    dync__graph *g = parse("dync_value f(dync_tensor *x)  /* f32[4] */\n{\n"
                           "    dync_tensor *a = dync_mul(x, x);  /* f32[4] */\n"
                           "    dync_value m = dync_max_dim(a, 0, false);  /* (f32[], i64[]) */\n"
                           "    dync_tensor *v = dync_as_tensor(dync_at(m, 0));  /* f32[] */\n"
                           "    dync_tensor *i = dync_as_tensor(dync_at(m, 1));  /* i64[] */\n"
                           "    dync_tensor *c = dync_cat(dync_tuple(a, x), 0);  /* f32[8] */\n"
                           "    dync_tensor *s = dync_sum(c, DYNC_SCALAR, false);  /* f32[] */\n"
                           "    return dync_tuple(dync_tuple(v, 3), i, s, DYNC_NONE, x);\n}\n");
    float data[4] = {1, -3, 2, 0.5f};
    int64_t before = dync_memory_stats().live_tensors;
    DYNC_SCOPE {
        dync_tensor *x = dync_from(data, dync_shape(4));
        dync_value v = DYNC_V(x), r = dync__graph_run(g, &v, 1);
        EXPECT_EQ_INT(dync_len(r), 5);
        EXPECT_NEAR(dync_item(dync_as_tensor(dync_at(dync_at(r, 0), 0))), 9, TOL_EXACT);
        EXPECT_EQ_INT(dync_as_int(dync_at(dync_at(r, 0), 1)), 3);
        EXPECT_NEAR(dync_item(dync_as_tensor(dync_at(r, 1))), 1, TOL_EXACT);
        EXPECT_NEAR(dync_item(dync_as_tensor(dync_at(r, 2))), 1 + 9 + 4 + 0.25 + 0.5, TOL_ABS_F32);
        EXPECT_EQ_INT(dync_at(r, 3).kind, DYNC_KIND_NONE);
        EXPECT_EQ_PTR(dync_as_tensor(dync_at(r, 4)), x);
    }
    EXPECT_EQ_INT(dync_memory_stats().live_tensors, before);
    dync_value none = DYNC_NONE;
    dync_on_error(NULL, NULL);
    EXPECT_EQ_INT(dync__graph_run(g, &none, 0).kind, DYNC_KIND_NONE);
    EXPECT_STATUS(dync_error(), DYNC_ERR_VALUE);
    dync_clear_error();
    dync__graph_unref(g);
}

/* The tape sees what the interpreter does. */
TEST(interpreter_differentiates)
{
    dync__graph *g = parse("dync_tensor *f(dync_tensor *x)  /* f32[3] */\n{\n"
                           "    dync_tensor *a = dync_pow(x, 3);  /* f32[3] */\n"
                           "    dync_tensor *s = dync_sum(a, DYNC_SCALAR, false);  /* f32[] */\n"
                           "    return s;\n}\n");
    dync_tensor *x = dync_from(((float[]){1, 2, 3}), dync_shape(3), .requires_grad = true);
    dync_value v = DYNC_V(x);
    REQUIRE_OK(dync_backward(dync_as_tensor(dync__graph_run(g, &v, 1))));
    EXPECT_NEAR_F32((float *)dync_data(dync_grad(x)), ((float[]){3, 12, 27}), 3, TOL_F32_CHAIN,
                    TOL_ABS_F32);
    dync__graph_unref(g);
}

TEST(types_are_checked)
{
    static const char text[] =
        "dync_tensor *f(dync_tensor *x)  /* f32[2, 3] */\n{\n"
        "    dync_tensor *a = dync_matmul(x, x);  /* f32[2, 3] */\n    return a;\n}\n";
    dync__graph *g = parse(text);
    dync_on_error(NULL, NULL);
    EXPECT(dync__graph_check_types(g, NULL) != DYNC_OK); /* inner sizes differ */
    dync_clear_error();
    dync__graph_unref(g);
    g = parse("dync_tensor *f(dync_tensor *x)  /* f32[2, 3] */\n{\n    dync_tensor *a = "
              "dync_relu(x);  /* f32[2, 4] */\n    return a;\n}\n");
    EXPECT_STATUS(dync__graph_check_types(g, NULL), DYNC_ERR_FORMAT);
    dync_clear_error();
    dync__graph_unref(g);
    g = parse("dync_value f(dync_tensor *x)  /* f32[2, 3] */\n{\n    dync_value s = dync_sort(x, "
              "1, true);  /* (f32[2, 3], i64[2, 3]) */\n"
              "    dync_tensor *i = dync_as_tensor(dync_at(s, 1));  /* i64[2, 3] */\n"
              "    dync_tensor *c = dync_cat(dync_tuple(i, i), 0);  /* i64[4, 3] */\n    return "
              "dync_tuple(c);\n}\n");
    EXPECT_OK(dync__graph_check_types(g, NULL));
    dync__graph_unref(g);
}

static bool is_mul(const dync_node *node, void *user)
{
    (*(int *)user)++;
    return strcmp(dync_node_target(node), "mul") == 0;
}

TEST(split)
{
    dync__graph *g = parse("dync_value f(dync_tensor *x)  /* f32[3] */\n{\n"
                           "    dync_tensor *a = dync_sin(x);  /* f32[3] */\n"
                           "    dync_tensor *b = dync_cos(a);  /* f32[3] */\n"
                           "    dync_tensor *c = dync_mul(a, b);  /* f32[3] */\n"
                           "    dync_tensor *d = dync_exp(c);  /* f32[3] */\n"
                           "    dync_tensor *e = dync_add(d, x);  /* f32[3] */\n"
                           "    return dync_tuple(e, a);\n}\n");
    dync_graph *parts[4];
    int n = 4, asked = 0;
    REQUIRE_OK(dync_graph_split(dync__graph_handle(g), is_mul, &asked, parts, &n));
    EXPECT_EQ_INT(n, 3);
    EXPECT_EQ_INT(asked, 5);
    EXPECT_EQ_STR(dync_graph_str(parts[0]), "dync_value submod_0(dync_tensor *x)  /* f32[3] */\n{\n"
                                            "    dync_tensor *a = dync_sin(x);  /* f32[3] */\n"
                                            "    dync_tensor *b = dync_cos(a);  /* f32[3] */\n"
                                            "    return dync_tuple(a, b);\n}\n");
    EXPECT_EQ_STR(
        dync_graph_str(parts[1]),
        "dync_value submod_1(dync_tensor *a  /* f32[3] */\n    , dync_tensor *b)  /* f32[3] */\n{\n"
        "    dync_tensor *c = dync_mul(a, b);  /* f32[3] */\n"
        "    return dync_tuple(c);\n}\n");
    EXPECT_EQ_STR(dync_graph_str(parts[2]),
                  "dync_value submod_2(dync_tensor *c  /* f32[3] */\n    , dync_tensor *x  /* "
                  "f32[3] */\n    , dync_tensor *a)  /* f32[3] */\n{\n"
                  "    dync_tensor *d = dync_exp(c);  /* f32[3] */\n"
                  "    dync_tensor *e = dync_add(d, x);  /* f32[3] */\n"
                  "    return dync_tuple(e, a);\n}\n");
    dync_node *in[2];
    EXPECT_EQ_INT(dync_node_inputs(dync_graph_node(parts[1], 2), in, 2), 2);
    EXPECT_EQ_STR(dync_node_name(in[1]), "b");
    for (int i = 0; i < n; i++) {
        EXPECT_OK(dync__graph_check(dync__graph_peek(parts[i])));
        dync_graph_free(parts[i]);
    }
    n = 2;
    dync_on_error(NULL, NULL);
    EXPECT_STATUS(dync_graph_split(dync__graph_handle(g), is_mul, &asked, parts, &n),
                  DYNC_ERR_VALUE);
    dync_clear_error();
    dync__graph_unref(g);
}

/* Building, printing, parsing and passing survive every failing allocation. */
TEST(no_memory)
{
    dync_on_error(NULL, NULL);
    DYNC_SCOPE {
        dync_tuple(1);
    } /* handles have their room */
    for (int64_t nth = 1; nth < 10000; nth++) {
        int64_t before = dync_memory_stats().live_bytes;
        dync_clear_error();
        dync__mem_fail_at(nth);
        dync__graph *g = dync__graph_parse(cse_text);
        dync_graph *parts[4] = {0};
        int n = 4, asked = 0;
        dync_status status = g ? dync__graph_cse(g) : DYNC_ERR_MEMORY;
        if (status == DYNC_OK) status = dync__graph_dce(g);
        if (status == DYNC_OK)
            status = dync_graph_split(dync__graph_handle(g), is_mul, &asked, parts, &n);
        if (status == DYNC_OK) {
            dync__str s = {0};
            dync__graph_print_c(&s, g);
            dync__graph_print_fx(&s, g);
            if (s.failed) status = DYNC_ERR_MEMORY;
            dync__str_free(&s);
        }
        dync__mem_fail_at(0);
        dync__graph_unref(g);
        for (int i = 0; i < 4; i++) dync_graph_free(parts[i]);
        EXPECT_EQ_INT(dync_memory_stats().live_bytes, before);
        if (status == DYNC_OK) {
            EXPECT(nth > 20);
            dync_clear_error();
            return;
        }
        EXPECT_STATUS(status, DYNC_ERR_MEMORY);
    }
    EXPECT(!"it succeeds at last");
}

TEST_MAIN
