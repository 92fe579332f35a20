/* Graphs read and changed by users: every argument, changes that are refused leave the graph as it
 * was, patterns, symbolic sizes, random changes against the graph before. */
#include "dync.h"
#define TEST_AFTER_EACH dync_shutdown()
#include "test.h"

static dync_tensor *r(int a, int b) { return dync_randn(dync_shape(a, b)); }
static dync_node *named(dync_graph *g, const char *name)
{
    for (int i = 0; i < dync_graph_len(g); i++)
        if (strcmp(dync_node_name(dync_graph_node(g, i)), name) == 0) return dync_graph_node(g, i);
    return NULL;
}
static bool says(const char *text)
{
    bool found = dync_error() != DYNC_OK && strstr(dync_error_message(), text) != NULL;
    if (!found) printf("    expected \"%s\" in \"%s\"\n", text, dync_error_message());
    dync_clear_error();
    return found;
}
static void quiet(dync_status status, const char *message, void *user)
{
    (void)status, (void)message, (void)user;
}

/* ---- reading --------------------------------------------------------------------------------- */
static dync_tensor *several(dync_tensor *x, dync_tensor *y)
{
    dync_tensor *s = dync_sum(dync_mul(x, 2.5), dync_shape(1), true);
    dync_tensor *c = dync_cat(dync_tuple(x, y), 0);
    return dync_add(dync_to_dtype(dync_slice(c, 0, 0, 2, 1), DYNC_F64), s);
}

TEST(every_argument_is_there)
{
    dync_graph *g = dync_make_graph(dync_args(several, "x, y"), r(2, 3), r(4, 3));
    REQUIRE(g != NULL);
    dync_node *mul = named(g, "mul"), *sum = named(g, "sum_1"), *cat = named(g, "cat");
    REQUIRE(mul && sum && cat);
    EXPECT_EQ_STR(dync_node_schema(mul), "(Value self, Value other)");
    EXPECT_EQ_INT(dync_node_nargs(mul), 2);
    EXPECT(dync_as_node(dync_node_arg(mul, 0)) == dync_graph_node(g, 0));
    EXPECT(dync_node_arg(mul, 1).kind == DYNC_KIND_FLOAT && dync_node_arg(mul, 1).as.f == 2.5);
    EXPECT_EQ_STR(dync_node_param(mul, 1), "other");
    dync_value dims = dync_node_arg(sum, 1);
    EXPECT_EQ_INT(dync_len(dims), 1);
    EXPECT_EQ_INT(dync_as_int(dync_at(dims, 0)), 1);
    EXPECT(dync_node_arg(sum, 2).kind == DYNC_KIND_BOOL && dync_as_bool(dync_node_arg(sum, 2)));
    dync_value list = dync_node_arg(cat, 0);
    EXPECT_EQ_INT(dync_len(list), 2);
    EXPECT(dync_as_node(dync_at(list, 1)) == dync_graph_node(g, 1));
    bool met = false; /* the dtype of the conversion, as its number */
    for (int i = 0; i < dync_graph_len(g); i++) {
        dync_node *n = dync_graph_node(g, i);
        for (int k = 0; k < dync_node_nargs(n); k++)
            met = met || (strcmp(dync_node_param(n, k), "dtype") == 0 &&
                          dync_node_arg(n, k).kind == DYNC_KIND_INT &&
                          dync_as_int(dync_node_arg(n, k)) == DYNC_F64);
    }
    EXPECT(met);
    dync_node *out = dync_graph_node(g, dync_graph_len(g) - 1);
    EXPECT_EQ_STR(dync_node_schema(out), "");
    EXPECT(dync_node_arg(out, 0).kind == DYNC_KIND_NODE);
    dync_result_info info;
    EXPECT(dync_node_result(sum, 0, &info));
    EXPECT(info.dtype == DYNC_F32 && info.device == DYNC_CPU && info.shape.n == 2);
    EXPECT(info.shape.d[0] == 2 && info.shape.d[1] == 1 && info.strides.d[0] == 1);
    EXPECT_EQ_STR(dync_graph_size_text(g, info.shape.d[0]), "2");
    EXPECT_EQ_INT(dync_graph_size_hint(g, 2), 2);
    EXPECT_EQ_INT(dync_node_nresults(out), 0);
    dync_node *users[4];
    EXPECT_EQ_INT(dync_node_users(dync_graph_node(g, 0), users, 4), 2);
    EXPECT(users[0] == mul && users[1] == cat);
    dync_on_error(quiet, NULL);
    EXPECT(dync_node_arg(mul, 2).kind == DYNC_KIND_NONE && says("expected 0 <= argument < 2"));
    EXPECT(!dync_node_result(out, 0, &info) && says("expected 0 <= result < 0"));
    EXPECT(!dync_as_node(dync_v_int(3)) && says("expected a node, got an int"));
    EXPECT(!dync_node_value(mul) && says("is no get_attr"));
}

static dync_value twice_if(const dync_value *v, int n, void *user)
{
    (void)n, (void)user;
    return dync_tuple(dync_mul(dync_as_tensor(v[0]), 2));
}
static dync_value same_if(const dync_value *v, int n, void *user)
{
    (void)n, (void)user;
    return dync_tuple(dync_neg(dync_as_tensor(v[0])));
}
static dync_value chosen(const dync_value *v, int n, void *user)
{
    (void)n, (void)user;
    dync_tensor *x = dync_as_tensor(v[0]);
    return dync_cond(dync_gt(dync_sum(x, DYNC_ALL, false), 0), twice_if, same_if, dync_tuple(x));
}

TEST(functions_inside_operators_are_graphs)
{
    dync_graph *g = dync_make_graph(dync_args(chosen, "x"), r(2, 3));
    REQUIRE(g != NULL);
    dync_node *cond = named(g, "cond");
    REQUIRE(cond != NULL);
    dync_graph *inside = dync_as_graph(dync_node_arg(cond, 1));
    REQUIRE(inside != NULL);
    EXPECT_EQ_STR(dync_node_target(dync_graph_node(inside, 1)), "mul");
    dync_on_error(quiet, NULL);
    EXPECT(dync_node_set_arg(cond, 1, dync_node_arg(cond, 3)) != DYNC_OK &&
           says("expected a graph"));
    /* the two swapped */
    dync_value a = dync_node_arg(cond, 1), b = dync_node_arg(cond, 2);
    EXPECT_OK(dync_node_set_arg(cond, 1, b));
    EXPECT_OK(dync_node_set_arg(cond, 2, a));
    dync_tensor *x = dync_ones(dync_shape(2, 3));
    dync_value v = dync_v_tensor(x);
    dync_value y = dync_graph_run(g, &v, 1);
    dync_tensor *got = dync_as_tensor(y.kind == DYNC_KIND_LIST ? dync_at(y, 0) : y);
    EXPECT(dync_equal(got, dync_neg(x)));
}

/* ---- changes --------------------------------------------------------------------------------- */
static dync_tensor *chain(dync_tensor *x, dync_tensor *y, dync_tensor *z)
{
    dync_tensor *p = dync_mul(x, y), *q = dync_add(p, z);
    return dync_matmul(dync_relu(q), dync_transpose(z, 0, 1));
}
static dync_tensor *run3(dync_graph *g, dync_tensor *x, dync_tensor *y, dync_tensor *z)
{
    dync_value v[3] = {dync_v_tensor(x), dync_v_tensor(y), dync_v_tensor(z)};
    return dync_as_tensor(dync_graph_run(g, v, 3));
}

TEST(insert_replace_erase)
{
    dync_tensor *x = r(2, 3), *y = r(2, 3), *z = r(2, 3);
    dync_graph *g = dync_make_graph(dync_args(chain, "x, y, z"), x, y, z);
    dync_node *add = named(g, "add"), *relu = named(g, "relu");
    dync_node *half = dync_graph_insert(g, relu, "mul", add, 0.5);
    REQUIRE(half != NULL);
    EXPECT_EQ_STR(dync_node_name(half), "mul_1");
    EXPECT_OK(dync_node_set_arg(relu, 0, DYNC_V(half)));
    dync_tensor *want =
        dync_matmul(dync_relu(dync_mul(dync_add(dync_mul(x, y), z), 0.5)), dync_transpose(z, 0, 1));
    EXPECT(dync_equal(run3(g, x, y, z), want));
    dync_node *sig = dync_graph_insert(g, named(g, "mm"), "sigmoid", half);
    EXPECT_OK(dync_node_replace(relu, sig));
    EXPECT_OK(dync_node_erase(relu));
    dync_on_error(quiet, NULL);
    EXPECT(strcmp(dync_node_name(relu), "") == 0 && says("was freed already"));
    dync_on_error(NULL, NULL);
    want = dync_matmul(dync_sigmoid(dync_mul(dync_add(dync_mul(x, y), z), 0.5)),
                       dync_transpose(z, 0, 1));
    EXPECT(dync_equal(run3(g, x, y, z), want));
    dync_node *w = dync_graph_insert_tensor(g, "scale", dync_full(dync_shape(2, 2), 3.0));
    REQUIRE(w != NULL);
    EXPECT(dync_item(dync_select(dync_select(dync_node_value(w), 0, 0), 0, 0)) == 3.0);
    dync_node *out = dync_graph_node(g, dync_graph_len(g) - 1);
    dync_node *scaled = dync_graph_insert(g, NULL, "mul", named(g, "mm"), w);
    EXPECT_OK(dync_node_set_arg(out, 0, DYNC_V(scaled)));
    EXPECT(dync_equal(run3(g, x, y, z), dync_mul(want, 3)));
    EXPECT(dync_graph_insert(g, NULL, "exp", scaled) != NULL);
    EXPECT_EQ_INT(dync_graph_eliminate_dead(g), 1);
    EXPECT(dync_equal(run3(g, x, y, z), dync_mul(want, 3)));
    EXPECT_OK(dync_error());
}

TEST(types_behind_a_change_follow)
{
    dync_graph *g = dync_make_graph(dync_args(chain, "x, y, z"), r(2, 3), r(2, 3), r(2, 3));
    dync_node *relu = named(g, "relu"), *matmul = named(g, "mm"), *add = named(g, "add");
    /* two rows of the sum, of which one is left */
    dync_node *row = dync_graph_insert(g, relu, "slice", add, 0, 0, 1, 1);
    REQUIRE(row != NULL);
    EXPECT_OK(dync_node_set_arg(relu, 0, DYNC_V(row)));
    dync_result_info info;
    EXPECT(dync_node_result(matmul, 0, &info) && info.shape.d[0] == 1 && info.shape.d[1] == 2);
    dync_tensor *x = r(2, 3), *y = r(2, 3), *z = r(2, 3), *got = run3(g, x, y, z);
    EXPECT_EQ_INT(dync_size(got, 0), 1);
    EXPECT_OK(dync_error());
}

#define REFUSED(call, text)                       \
    do {                                          \
        bool refused_ = (call);                   \
        EXPECT(refused_);                         \
        EXPECT(says(text));                       \
        EXPECT_EQ_STR(dync_graph_str(g), before); \
    } while (0)

TEST(a_bad_change_leaves_the_graph_as_it_was)
{
    dync_tensor *x = r(2, 3), *y = r(2, 3), *z = r(2, 3);
    dync_graph *g = dync_make_graph(dync_args(chain, "x, y, z"), x, y, z), *other;
    other = dync_make_graph(dync_args(chain, "x, y, z"), x, y, z);
    dync_node *mul = named(g, "mul"), *add = named(g, "add"), *relu = named(g, "relu"),
              *matmul = named(g, "mm"), *in = dync_graph_node(g, 0),
              *out = dync_graph_node(g, dync_graph_len(g) - 1);
    const char *before = dync_graph_str(g);
    dync_on_error(quiet, NULL);
    REFUSED(!dync_graph_insert(g, NULL, "nothing", mul), "no operator nothing");
    REFUSED(!dync_graph_insert(g, NULL, "mul", mul), "expected 2 arguments, got 1");
    REFUSED(!dync_graph_insert(g, NULL, "mm", mul, mul), "dync_graph_insert: mm: f32[2, 3] x");
    REFUSED(!dync_graph_insert(g, NULL, "relu", x), "dync_graph_insert_tensor");
    REFUSED(!dync_graph_insert(g, NULL, "mul", named(other, "mul"), 2), "another graph");
    REFUSED(!dync_graph_insert(g, mul, "relu", add), "does not stand before it");
    REFUSED(!dync_graph_insert(g, in, "relu", mul), "nothing stands before");
    REFUSED(!dync_graph_insert(g, NULL, "sum", mul, "rows", true),
            "dim: expected a list, got a string");
    REFUSED(dync_node_set_arg(relu, 0, DYNC_V(matmul)) != DYNC_OK, "does not stand before it");
    REFUSED(!dync_graph_insert(g, NULL, "getitem", mul, 4), "getitem");
    REFUSED(!dync_graph_insert(g, NULL, "getitem", mul, 9), "getitem");
    REFUSED(dync_node_set_arg(matmul, 7, DYNC_V(mul)) != DYNC_OK, "expected 0 <= argument < 2");
    REFUSED(dync_node_set_arg(matmul, 1, DYNC_V(mul)) != DYNC_OK, "dync_node_set_arg: mm: f32");
    REFUSED(dync_node_replace(mul, matmul) != DYNC_OK, "dync_node_replace");
    REFUSED(dync_node_replace(relu, dync_graph_node(g, 9)) != DYNC_OK, "expected 0 <= index");
    REFUSED(dync_node_erase(mul) != DYNC_OK, "mul is used by add");
    REFUSED(dync_node_erase(in) != DYNC_OK, "inputs and the output stay");
    REFUSED(dync_node_erase(out) != DYNC_OK, "inputs and the output stay");
    dync_node *t = named(g, "transpose");
    REFUSED(dync_node_replace(relu, t) != DYNC_OK, "mm: f32[3, 2] x f32[3, 2]");
    EXPECT(dync_equal(run3(g, x, y, z), chain(x, y, z)));
    EXPECT_EQ_STR(dync_node_name(dync_graph_insert(g, NULL, "neg", mul)), "neg");
}

static dync_status takes(dync_graph *g, const dync_value *ex, int n, const char *options,
                         dync_callable *out, void *user)
{
    dync_graph **kept = user;
    (void)options;
    *kept = dync_graph_retain(g);
    return dync_compile_graph("eager", g, ex, n, out);
}

TEST(what_is_compiled_changes_no_more)
{
    dync_tensor *x = r(2, 3), *y = r(2, 3), *z = r(2, 3);
    dync_graph *g = NULL;
    dync_backend b = {.name = "takes", .compile = takes, .user = &g};
    dync_compiled *f = dync_compile(chain, .backend_object = &b);
    dync_tensor *want = dync_call(f, x, y, z);
    REQUIRE(want && g);
    dync_on_error(quiet, NULL);
    EXPECT(!dync_graph_insert(g, NULL, "relu", named(g, "mul")) && says("dync_graph_copy"));
    EXPECT(dync_graph_eliminate_dead(g) == -1 && says("dync_graph_copy"));
    dync_graph *mine = dync_graph_copy(g);
    EXPECT_EQ_STR(dync_graph_str(mine), dync_graph_str(g));
    EXPECT(dync_graph_insert(mine, NULL, "relu", named(mine, "mul")) != NULL);
    EXPECT(dync_equal(dync_call(f, x, y, z), want));
    dync_compiled_free(f);
    dync_graph_free(g);
}

/* ---- patterns -------------------------------------------------------------------------------- */
static dync_tensor *mul_add(dync_tensor *a, dync_tensor *b, dync_tensor *c)
{
    return dync_add(dync_mul(a, b), c);
}
static dync_tensor *mul_sub(dync_tensor *a, dync_tensor *b, dync_tensor *c)
{
    return dync_sub(dync_mul(a, b), dync_neg(c));
}
static dync_tensor *deep(dync_tensor *x, dync_tensor *y, dync_tensor *z)
{
    dync_tensor *a = mul_add(x, y, z), *b = mul_add(a, a, x), *p = dync_mul(b, y);
    return dync_mul(mul_add(b, z, dync_add(p, a)), p); /* p has two users: add(p, a) is none */
}
static int count(dync_graph *g, const char *target)
{
    int n = 0;
    for (int i = 0; i < dync_graph_len(g); i++)
        n += strcmp(dync_node_target(dync_graph_node(g, i)), target) == 0;
    return n;
}
static bool first_only(const dync_match *m, void *user)
{
    int *calls = user;
    EXPECT_EQ_INT(m->ninputs, 3);
    EXPECT_EQ_INT(m->nnodes, 2);
    EXPECT_EQ_STR(dync_node_target(m->nodes[0]), "mul");
    return (*calls)++ == 0;
}

TEST(a_pattern_is_replaced_everywhere)
{
    dync_tensor *x = r(2, 3), *y = r(2, 3), *z = r(2, 3);
    dync_graph *g = dync_make_graph(dync_args(deep, "x, y, z"), x, y, z);
    dync_graph *pattern = dync_make_graph(dync_args(mul_add, "a, b, c"), x, y, z);
    dync_graph *by = dync_make_graph(dync_args(mul_sub, "a, b, c"), x, y, z);
    dync_match found[8];
    EXPECT_EQ_INT(dync_graph_match(g, pattern, found, 8), 3);
    EXPECT(found[1].inputs[0] == found[1].inputs[1] && found[1].inputs[0] == found[0].nodes[1]);
    dync_graph *one = dync_graph_copy(g);
    int calls = 0;
    EXPECT_EQ_INT(dync_graph_replace_pattern(one, pattern, by, first_only, &calls), 1);
    EXPECT_EQ_INT(calls, 3);
    EXPECT_EQ_INT(count(one, "sub"), 1);
    EXPECT_EQ_INT(dync_graph_replace_pattern(g, pattern, by, NULL, NULL), 3);
    EXPECT_EQ_INT(count(g, "sub"), 3);
    EXPECT_EQ_INT(count(g, "add"), 1);
    EXPECT(dync_equal(run3(g, x, y, z), deep(x, y, z)));
    EXPECT(dync_equal(run3(one, x, y, z), deep(x, y, z)));
    EXPECT_EQ_INT(dync_graph_replace_pattern(g, pattern, by, NULL, NULL), 0);
    EXPECT_OK(dync_error());
}

static dync_value both(const dync_value *v, int n, void *user)
{
    (void)n, (void)user;
    dync_tensor *e = dync_exp(dync_as_tensor(v[0])), *s = dync_sum(e, dync_shape(1), true);
    return dync_tuple(dync_div(e, s), e);
}
static dync_value both_by(const dync_value *v, int n, void *user)
{
    (void)n, (void)user;
    dync_tensor *e = dync_exp(dync_as_tensor(v[0]));
    return dync_tuple(dync_softmax(dync_as_tensor(v[0]), 1), e);
}
static dync_tensor *uses_both(dync_tensor *x)
{
    dync_tensor *e = dync_exp(dync_neg(x)), *p = dync_div(e, dync_sum(e, dync_shape(1), true));
    return dync_add(p, dync_log(e));
}

TEST(results_in_the_middle_of_a_pattern)
{
    dync_tensor *x = r(4, 5);
    dync_graph *g = dync_make_graph(dync_args(uses_both, "x"), x);
    dync_graph *pattern = dync_make_graph(dync_args(both, "x"), x),
               *by = dync_make_graph(dync_args(both_by, "x"), x);
    REQUIRE(g && pattern && by);
    EXPECT_EQ_INT(dync_graph_replace_pattern(g, pattern, by, NULL, NULL), 1);
    EXPECT_EQ_INT(count(g, "softmax"), 1);
    EXPECT_EQ_INT(count(g, "div"), 0);
    dync_value v = dync_v_tensor(x);
    EXPECT(dync_allclose(dync_as_tensor(dync_graph_run(g, &v, 1)), uses_both(x), 1e-6, 1e-6));
    EXPECT_OK(dync_error());
}

static dync_tensor *written(dync_tensor *x, dync_tensor *y, dync_tensor *z)
{
    dync_tensor *p = dync_mul(x, y);
    dync_add_(z, 1);
    return dync_add(p, z);
}
static dync_tensor *smaller(dync_tensor *a, dync_tensor *b, dync_tensor *c)
{
    return dync_sum(mul_add(a, b, c), dync_shape(1), true);
}
static dync_tensor *in_place(dync_tensor *a, dync_tensor *b, dync_tensor *c)
{
    return dync_add_(dync_mul(a, b), c);
}

TEST(patterns_that_are_refused_or_do_not_fit)
{
    dync_tensor *x = r(2, 3), *y = r(2, 3), *z = r(2, 3);
    dync_graph *pattern = dync_make_graph(dync_args(mul_add, "a, b, c"), x, y, z);
    dync_graph *g = dync_make_graph(dync_args(written, "x, y, z"), x, y, z);
    EXPECT_EQ_INT(dync_graph_match(g, pattern, NULL, 0), 0); /* a write between */
    g = dync_make_graph(dync_args(deep, "x, y, z"), x, y, z);
    const char *before = dync_graph_str(g);
    dync_graph *small = dync_make_graph(dync_args(smaller, "a, b, c"), x, y, z);
    dync_graph *writes = dync_make_graph(dync_args(in_place, "a, b, c"), x, y, z);
    dync_graph *two = dync_make_graph(dync_args(several, "a, b"), x, r(4, 3));
    dync_on_error(quiet, NULL);
    REFUSED(dync_graph_replace_pattern(g, pattern, small, NULL, NULL) == -1, "in place of add");
    REFUSED(dync_graph_replace_pattern(g, writes, pattern, NULL, NULL) == -1, "writes memory");
    REFUSED(dync_graph_replace_pattern(g, pattern, two, NULL, NULL) == -1, "the same inputs");
    REFUSED(dync_graph_replace_pattern(g, g, pattern, NULL, NULL) == -1, "graphs of their own");
}

/* ---- a pass behind AOT: forward and backward, an input that is written, sizes that change ---- */
static int replaced;
static dync_graph *sought, *instead;
static dync_status passes(dync_graph *g, const dync_value *ex, int n, const char *options,
                          dync_callable *out, void *user)
{
    dync_graph *mine = dync_graph_copy(g);
    (void)options, (void)user;
    int found = dync_graph_replace_pattern(mine, sought, instead, NULL, NULL);
    if (found < 0) return dync_error();
    replaced += found;
    return dync_compile_graph("inductor", mine, ex, n, out);
}
static dync_tensor *steps_on(dync_tensor *x, dync_tensor *y, dync_tensor *state)
{
    dync_add_(state, 1);
    return dync_tanh(dync_add(dync_mul(x, y), dync_mul(state, 0.5)));
}

TEST(a_pass_behind_aot)
{
    dync_tensor *x = r(2, 3);
    sought = dync_make_graph(dync_args(mul_add, "a, b, c"), x, x, x);
    instead = dync_make_graph(dync_args(mul_sub, "a, b, c"), x, x, x);
    dync_backend pass = {.name = "passes", .compile = passes}, aot = dync_aot_autograd(&pass, NULL);
    dync_compiled *f = dync_compile(steps_on, .backend_object = &aot, .fullgraph = true);
    for (int n = 2; n < 8; n++) DYNC_SCOPE {
        dync_tensor *in[2][2], *state[2], *got[2];
        state[0] = dync_randn(dync_shape(n, 3));
        state[1] = dync_clone(state[0]);
        in[0][0] = dync_randn(dync_shape(n, 3), .requires_grad = true);
        in[0][1] = dync_randn(dync_shape(n, 3), .requires_grad = true);
        for (int i = 0; i < 2; i++)
            in[1][i] = dync_requires_grad_(dync_clone(dync_detach(in[0][i])), true);
        got[0] = dync_call(f, in[0][0], in[0][1], state[0]);
        got[1] = steps_on(in[1][0], in[1][1], state[1]);
        EXPECT(dync_allclose(got[0], got[1], 1e-6, 1e-6));
        EXPECT(dync_equal(state[0], state[1]));
        for (int i = 0; i < 2; i++) EXPECT_OK(dync_backward(dync_sum(got[i], DYNC_ALL, false)));
        for (int i = 0; i < 2; i++)
            EXPECT(dync_allclose(dync_grad(in[0][i]), dync_grad(in[1][i]), 1e-6, 1e-6));
    }
    EXPECT(replaced >= 2); /* of one size, and of all */
    EXPECT_OK(dync_error());
    dync_compiled_free(f);
}

/* ---- symbolic sizes -------------------------------------------------------------------------- */
TEST(sizes_stay_symbols)
{
    dync_tensor *x = r(4, 3);
    dync_make_graph_mode(DYNC_TRACE_SYMBOLIC);
    dync_graph *g = dync_make_graph(dync_args(chain, "x, y, z"), x, r(4, 3), r(4, 3));
    dync_make_graph_mode(DYNC_TRACE_REAL);
    REQUIRE(g != NULL);
    dync_result_info info;
    dync_node *add = named(g, "add"), *relu = named(g, "relu");
    EXPECT(dync_node_result(add, 0, &info));
    EXPECT_EQ_STR(dync_graph_size_text(g, info.shape.d[0]), "s0");
    EXPECT_EQ_INT(dync_graph_size_hint(g, info.shape.d[0]), 4);
    dync_node *both_ = dync_graph_insert(g, relu, "cat", dync_tuple(add, add), 0);
    REQUIRE(both_ != NULL);
    EXPECT_OK(dync_node_set_arg(relu, 0, DYNC_V(both_)));
    EXPECT(dync_node_result(named(g, "mm"), 0, &info));
    EXPECT_EQ_STR(dync_graph_size_text(g, info.shape.d[0]), "2*s0");
    for (int n = 2; n < 9; n += 3) {
        dync_tensor *a = r(n, 3), *b = r(n, 3), *c = r(n, 3), *q = dync_add(dync_mul(a, b), c);
        dync_tensor *want =
            dync_matmul(dync_relu(dync_cat(dync_tuple(q, q), 0)), dync_transpose(c, 0, 1));
        EXPECT(dync_equal(run3(g, a, b, c), want));
        EXPECT_OK(dync_error());
    }
    EXPECT_OK(dync_error());
    const char *before = dync_graph_str(g);
    dync_on_error(quiet, NULL);
    /* holds for one size only */
    dync_node *four = dync_graph_insert_tensor(g, NULL, r(4, 3));
    before = dync_graph_str(g);
    REFUSED(!dync_graph_insert(g, NULL, "add", add, four), "some of the sizes only");
}

/* ---- random ---------------------------------------------------------------------------------- */
enum { OPS = 12 };
static unsigned picks[OPS * 3];
static dync_tensor *random_chain(dync_tensor *x, dync_tensor *y, dync_tensor *z)
{
    dync_tensor *v[OPS + 3] = {x, y, z};
    for (int i = 0; i < OPS; i++) {
        dync_tensor *a = v[picks[3 * i] % (unsigned)(i + 3)],
                    *b = v[picks[3 * i + 1] % (unsigned)(i + 3)];
        switch (picks[3 * i + 2] % 4) {
        case 0: v[i + 3] = dync_add(a, b); break;
        case 1: v[i + 3] = dync_mul(a, b); break;
        case 2: v[i + 3] = dync_sigmoid(a); break;
        default: v[i + 3] = dync_sub(a, b);
        }
    }
    return dync_add(v[OPS + 2], v[OPS + 1]);
}

/* Changes that mean nothing to the result, and others that are refused, in any order. */
static void random_change(dync_graph *g, dync_graph *pattern, dync_graph *by)
{
    int n = dync_graph_len(g);
    dync_node *a = dync_graph_node(g, (int)(test_random() % (unsigned)n)),
              *b = dync_graph_node(g, (int)(test_random() % (unsigned)n));
    const char *before = dync_graph_str(g);
    bool done = true;
    dync_clear_error();
    switch (test_random() % 6) {
    case 0: done = dync_graph_insert(g, b, "relu", a) != NULL; break;
    case 1: {
        dync_node *copy = dync_graph_insert(g, NULL, "clone", a);
        done = copy != NULL;
        break;
    }
    case 2: done = dync_node_erase(a) == DYNC_OK; break;
    case 3: done = dync_graph_replace_pattern(g, pattern, by, NULL, NULL) >= 0; break;
    case 4: done = dync_graph_eliminate_dead(g) >= 0; break;
    default: /* a copy behind a, which all others read */
        if (strcmp(dync_node_op(a), "call_function") == 0) {
            dync_node *at = NULL;
            for (int i = 0; i + 1 < n; i++)
                if (dync_graph_node(g, i) == a) at = dync_graph_node(g, i + 1);
            dync_node *copy = dync_graph_insert(g, at, "clone", a);
            EXPECT_OK(dync_node_replace(a, copy));
        }
    }
    if (!done) EXPECT_EQ_STR(dync_graph_str(g), before);
}

TEST(random_changes)
{
    dync_on_error(quiet, NULL);
    for (int round = 0; round < test_count(60); round++) DYNC_SCOPE {
        for (int i = 0; i < OPS * 3; i++) picks[i] = (unsigned)test_random();
        dync_tensor *x = r(3, 4), *y = r(3, 4), *z = r(3, 4), *want = random_chain(x, y, z);
        dync_graph *g = dync_make_graph(dync_args(random_chain, "x, y, z"), x, y, z);
        dync_graph *pattern = dync_make_graph(dync_args(mul_add, "a, b, c"), x, y, z);
        dync_graph *by = dync_make_graph(dync_args(mul_sub, "a, b, c"), x, y, z);
        for (int i = 0; i < 10; i++) random_change(g, pattern, by);
        dync_clear_error();
        EXPECT(dync_equal(run3(g, x, y, z), want));
        EXPECT_OK(dync_error());
    }
}

TEST_MAIN
