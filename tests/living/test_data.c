/* What data decide: rounds until convergence, experts that get as many rows as were sent to
 * them. */
#include "living.h"

/* ---- Newton's method, until it has converged ------------------------------------------------- */
static dync_value still_far(const dync_value *v, int n, void *user)
{
    dync_tensor *x = dync_as_tensor(v[0]), *a = user;
    (void)n;
    dync_tensor *miss = dync_sub(dync_div(dync_mul(dync_mul(x, x), x), a), 1);
    return DYNC_V(dync_gt(dync_amax(dync_abs(miss), DYNC_ALL, false), 1e-5));
}
static dync_value one_round(const dync_value *v, int n, void *user)
{
    dync_tensor *x = dync_as_tensor(v[0]), *a = user,
                *next = dync_div(dync_add(dync_mul(x, 2), dync_div(a, dync_mul(x, x))), 3);
    (void)n;
    return dync_tuple(next, dync_add(v[1], 1));
}
static dync_value roots(const dync_value *v, int n, void *user)
{
    dync_tensor *a = dync_as_tensor(v[0]);
    dync_value start = dync_tuple(dync_ones_like(a), dync_zeros(DYNC_SCALAR, .dtype = DYNC_I64));
    (void)n, (void)user;
    return dync_while_loop(dync_bind(still_far, a, "x, i"), dync_bind(one_round, a, "x, i"), start);
}
static void newton(living *p)
{
    dync_compiled *f = dync_compile((dync_function)roots, .fullgraph = true);
    for (int i = 0; i < 12; i++) DYNC_SCOPE {
        dync_value v[1] = {
            DYNC_V(dync_mul(dync_add(dync_rand(dync_shape(i == 0 ? 5 : 3 + i)), 0.1), 1 << i))};
        dync_value r = p->compiled ? dync_call_values(f, 1, v) : roots(v, 1, NULL);
        note_tensor(p, dync_as_tensor(dync_at(r, 0)));
        note(p, dync_item(dync_as_tensor(dync_at(r, 1)))); /* as many rounds */
        if (i == 1) settled(p);
    }
    dync_compiled_free(f);
}
TEST(newton_to_convergence) { lives(newton, 2, 2, 1e-4); }

/* The same as a C loop that reads a value: as many calls of one compiled round. */
static dync_tensor *c_round(dync_tensor *x, dync_tensor *a)
{
    return dync_div(dync_add(dync_mul(x, 2), dync_div(a, dync_mul(x, x))), 3);
}
static void newton_in_c(living *p)
{
    dync_compiled *f = dync_compile(c_round, .fullgraph = true);
    for (int i = 0; i < 6; i++) DYNC_SCOPE {
        dync_tensor *a = dync_mul(dync_add(dync_rand(dync_shape(6)), 0.1), 1 << i),
                    *x = dync_ones_like(a);
        int rounds = 0;
        while (dync_bool(
            dync_gt(dync_amax(dync_abs(dync_sub(dync_div(dync_pow(x, 3), a), 1)), DYNC_ALL, false),
                    1e-4))) {
            x = p->compiled ? dync_call(f, x, a) : c_round(x, a);
            rounds++;
            settled(p);
        }
        note_tensor(p, x);
        note(p, rounds);
    }
    dync_compiled_free(f);
}
TEST(newton_in_a_loop_of_c) { lives(newton_in_c, 1, 1, 1e-4); }

/* ---- a mixture of experts -------------------------------------------------------------------- */
enum { EXPERTS = 3, D = 8 };
static dync_module *gate, *expert[EXPERTS];

/* Each expert runs on the rows that chose it. With .capture_dynamic_shapes their number is a symbol
 * in one graph; without, nonzero breaks the graph, and how many rows come behind the break is a
 * number there: a graph for each, up to the limit. */
static dync_value mixture(const dync_value *v, int n, void *user)
{
    dync_tensor *x = dync_as_tensor(v[0]);
    dync_tensor *choice = dync_argmax(dync_forward_call(gate, x), 1, false), *y = dync_mul(x, 0);
    (void)n, (void)user;
    for (int e = 0; e < EXPERTS; e++) {
        dync_tensor *at = dync_select(dync_nonzero(dync_eq(choice, e)), 1, 0);
        y = dync_index_add(y, 0, at, dync_forward_call(expert[e], dync_index_select(x, 0, at)));
    }
    return dync_v_tensor(y);
}
static void experts(living *p, bool inside)
{
    gate = dync_nn_linear(D, EXPERTS, true);
    for (int e = 0; e < EXPERTS; e++)
        expert[e] = dync_sequential(dync_nn_linear(D, D, true), dync_nn_gelu());
    dync_compiled *f =
        dync_compile((dync_function)mixture, .capture_dynamic_shapes = inside, .fullgraph = inside);
    DYNC_NO_GRAD for (int i = 0; i < 40; i++) DYNC_SCOPE {
        if (i == 2) settled(p);
        dync_value v[1] = {DYNC_V(dync_randn(dync_shape(12 + i % 7, D)))};
        dync_value r = p->compiled ? dync_call_values(f, 1, v) : mixture(v, 1, NULL);
        note_tensor(p, dync_as_tensor(r));
    }
    dync_compiled_free(f);
    dync_module_free(gate);
    for (int e = 0; e < EXPERTS; e++) dync_module_free(expert[e]);
}
static void experts_in_one_graph(living *p) { experts(p, true); }
static void experts_in_pieces(living *p) { experts(p, false); }
TEST(a_mixture_of_experts_in_one_graph) { lives(experts_in_one_graph, 2, 2, 1e-4); }
TEST(a_mixture_of_experts_in_pieces) { lives(experts_in_pieces, -1, 2, 1e-4); }

TEST_MAIN
