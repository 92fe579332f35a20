/* Allocation failure at every allocation of changes to graphs: the change is DYNC_ERR_MEMORY and
 * the graph is as it was, text for text, or it is made; nothing leaks. */
#include "dync.in.h"
#include "base/base.h"
#include "test.h"

static dync_tensor *chain(dync_tensor *x, dync_tensor *y)
{
    dync_tensor *p = dync_add(dync_mul(x, y), x);
    return dync_add(dync_mul(p, x), dync_relu(p));
}
static dync_tensor *pattern(dync_tensor *a, dync_tensor *b, dync_tensor *c)
{
    return dync_add(dync_mul(a, b), c);
}
static dync_tensor *by(dync_tensor *a, dync_tensor *b, dync_tensor *c)
{
    return dync_sub(dync_mul(b, a), dync_neg(c));
}
static void quiet(dync_status status, const char *message, void *user)
{
    (void)status, (void)message, (void)user;
}
static dync_node *at(dync_graph *g, const char *target)
{
    for (int i = 0; i < dync_graph_len(g); i++)
        if (strcmp(dync_node_target(dync_graph_node(g, i)), target) == 0)
            return dync_graph_node(g, i);
    return NULL;
}

static dync_graph *from, *find, *put;
static dync_node *relu, *mul;
static dync_tensor *x;
static bool insert(dync_graph *g) { return dync_graph_insert(g, relu, "exp", mul) != NULL; }
static bool tensor(dync_graph *g) { return dync_graph_insert_tensor(g, "w", x) != NULL; }
static bool set(dync_graph *g)
{
    (void)g;
    return dync_node_set_arg(relu, 0, DYNC_V(mul)) == DYNC_OK;
}
static bool dead(dync_graph *g) { return dync_graph_eliminate_dead(g) >= 0; }
static bool swap(dync_graph *g)
{
    return dync_graph_replace_pattern(g, find, put, NULL, NULL) == 2;
}
static bool copy(dync_graph *g) { return dync_graph_copy(g) != NULL; }

static void each_failure(bool (*change)(dync_graph *), bool symbolic)
{
    for (int64_t n = 1, left = 1; left && !test__state.failures; n++) {
        dync_on_error(quiet, NULL);
        x = dync_ones(dync_shape(3));
        dync_tensor *y = dync_full(dync_shape(3), 2.0);
        dync_make_graph_mode(symbolic ? DYNC_TRACE_SYMBOLIC : DYNC_TRACE_REAL);
        from = dync_make_graph(dync_args(chain, "x, y"), x, y);
        dync_make_graph_mode(DYNC_TRACE_REAL);
        find = dync_make_graph(dync_args(pattern, "a, b, c"), x, y, x);
        put = dync_make_graph(dync_args(by, "a, b, c"), x, y, x);
        relu = at(from, "relu"), mul = at(from, "mul");
        REQUIRE(relu && mul && find && put && dync_error() == DYNC_OK);
        const char *before = dync_graph_str(from);
        dync__mem_fail_at(n);
        bool made = change(from);
        left = dync__tls.fail_at == 0;
        dync__mem_fail_at(0);
        EXPECT_EQ_INT(dync_error(), made ? DYNC_OK : DYNC_ERR_MEMORY);
        if (!made) EXPECT_EQ_STR(dync_graph_str(from), before);
        dync_clear_error();
        if (!made) EXPECT(change(from)); /* and then it is made */
        dync_value v[2] = {DYNC_V(x), DYNC_V(y)};
        EXPECT(dync_as_tensor(dync_graph_run(from, v, 2)) != NULL);
        if (!left) EXPECT(made);
        dync_shutdown();
        EXPECT(!dync__mem_in_use());
    }
}
#define SURVIVES(fn)                              \
    TEST(fn##_plain) { each_failure(fn, false); } \
    TEST(fn##_symbolic) { each_failure(fn, true); }
SURVIVES(insert)
SURVIVES(tensor)
SURVIVES(set)
SURVIVES(dead)
SURVIVES(swap)
SURVIVES(copy)

TEST_MAIN
