/* One ability of compiled functions (ABILITY), in a program that has no other: what it needs is
 * linked with it. The exit status says which call failed. */
#include "dync.h"
#include <stdio.h>
#include <string.h>
enum { CALLS = 4 };
static _Alignas(64) unsigned char memory[4 << 20];

static int is_sum(dync_tensor *x, double want)
{
    double off = x ? dync_item(dync_sum(dync_detach(x), DYNC_ALL, false)) - want : 1;
    return off < 1e-3 && off > -1e-3;
}

#if ABILITY == 1 /* a hook within the function */
static dync_tensor *doubled(dync_tensor *g, void *user)
{
    (void)user;
    return dync_mul(g, 2);
}
static dync_tensor *f(dync_tensor *x)
{
    dync_tensor *y = dync_mul(x, 3);
    dync_register_hook(y, doubled, NULL);
    return dync_sum(dync_mul(y, y), DYNC_ALL, false);
}
static int call(dync_compiled *c, int i)
{
    (void)i;
    dync_tensor *x = dync_requires_grad_(dync_full(dync_shape(2), 2), true), *y = dync_call(c, x);
    return is_sum(y, 72) && dync_backward(y) == DYNC_OK && is_sum(dync_grad(x), 144);
}
#elif ABILITY == 2 /* gradients within the function */
static dync_tensor *f(dync_tensor *x)
{
    dync_tensor *y = dync_sum(dync_mul(dync_mul(x, x), x), DYNC_ALL, false);
    dync_grad_options options = {0};
    return dync_as_tensor(
        dync_at(dync_gradients(dync_v_tensor(y), dync_tuple(x), DYNC_NONE, options), 0));
}
static int call(dync_compiled *c, int i)
{
    dync_tensor *x = dync_requires_grad_(dync_full(dync_shape(2), i), true);
    return is_sum(dync_call(c, x), 6.0 * i * i);
}
#elif ABILITY == 3 /* a number that every call counts up */
static dync_cell *cell;
static dync_tensor *f(dync_tensor *x)
{
    dync_value n = dync_cell_get(cell);
    dync_cell_set(cell, dync_sym_add(n, DYNC_V(1)));
    return dync_add(x, n);
}
static int call(dync_compiled *c, int i)
{
    if (!cell) cell = dync_cell_new("n", DYNC_V(0));
    int good = is_sum(dync_call(c, dync_full(dync_shape(2), 5)), 10 + 2 * i);
    if (i + 1 == CALLS) dync_cell_free(cell);
    return good;
}
#elif ABILITY == 4 /* functions inside an operator */
static dync_value twice(const dync_value *v, int n, void *user)
{
    (void)n;
    (void)user;
    return dync_v_tensor(dync_mul(dync_as_tensor(v[0]), 2));
}
static dync_value less(const dync_value *v, int n, void *user)
{
    (void)n;
    (void)user;
    return dync_v_tensor(dync_neg(dync_as_tensor(v[0])));
}
static dync_tensor *f(dync_tensor *x)
{
    dync_tensor *above = dync_gt(dync_sum(x, DYNC_ALL, false), 0);
    return dync_as_tensor(dync_cond(above, twice, less, dync_v_tensor(x)));
}
static int call(dync_compiled *c, int i)
{
    return is_sum(dync_call(c, dync_full(dync_shape(2), i % 2 ? -1 : 1)), i % 2 ? 2 : 4);
}
#elif ABILITY == 5 /* writes to an argument, as a whole and to a part */
static dync_tensor *f(dync_tensor *x)
{
    dync_add_(x, 1);
    dync_mul_(dync_narrow(x, 0, 0, 1), 2);
    return dync_sum(x, DYNC_ALL, false);
}
static int call(dync_compiled *c, int i)
{
    dync_tensor *x = dync_full(dync_shape(2), i);
    return is_sum(dync_call(c, x), 3 * i + 3) && is_sum(x, 3 * i + 3);
}
#elif ABILITY == 6 /* a scatter, which writes over nothing that the program names */
static dync_tensor *f(dync_tensor *x)
{
    dync_tensor *at = dync_zeros(dync_shape(2), .dtype = DYNC_I64);
    return dync_index_add(dync_mul(x, 2), 0, at, dync_add(x, 1));
}
static int call(dync_compiled *c, int i)
{
    return is_sum(dync_call(c, dync_full(dync_shape(2), i)), 6 * i + 2);
}
#elif ABILITY == 7 /* a concatenation that only a pointwise operator reads */
static dync_tensor *f(dync_tensor *x)
{
    return dync_mul(dync_cat(dync_tuple(x, dync_add(x, 1)), 0), 2);
}
static int call(dync_compiled *c, int i)
{
    return is_sum(dync_call(c, dync_full(dync_shape(2), i)), 8 * i + 4);
}
#elif ABILITY == 8 /* an operator of the user's */
static dync_value twice(const dync_value *v, int n, void *user)
{
    (void)n;
    (void)user;
    return dync_v_tensor(dync_mul(dync_as_tensor(v[0]), 2));
}
static dync_value like(const dync_value *v, int n, void *user)
{
    (void)n;
    (void)user;
    return dync_v_tensor(dync_empty_like(dync_as_tensor(v[0])));
}
static dync_tensor *f(dync_tensor *x)
{
    dync_value v = dync_v_tensor(x);
    return dync_add(dync_as_tensor(dync_op_call_values("own::twice", 1, &v)), 1);
}
static int call(dync_compiled *c, int i)
{
    if (i == 0) dync_op_register("own::twice", "(Tensor x) -> Tensor", twice, like, NULL);
    return is_sum(dync_call(c, dync_full(dync_shape(2), i)), 4 * i + 2);
}
#elif ABILITY == 9 /* a number that stays open */
#define OPTIONS .symbolic = "n", .args = "x, n"
static dync_value f(const dync_value *v, int n, void *user)
{
    (void)n;
    (void)user;
    return dync_v_tensor(dync_mul(dync_as_tensor(v[0]), v[1]));
}
static int call(dync_compiled *c, int i)
{
    return is_sum(dync_call(c, dync_full(dync_shape(2), 3), DYNC_V(i)), 6 * i);
}
#elif ABILITY == 10 /* a constant of the graph, whole */
#define OPTIONS .fullgraph = true
static dync_tensor *f(dync_tensor *x)
{
    const float two[2] = {2, 4};
    return dync_mul(x, dync_constant(two, dync_shape(2)));
}
static int call(dync_compiled *c, int i)
{
    return is_sum(dync_call(c, dync_full(dync_shape(2), i)), 6 * i);
}
#elif ABILITY == 11 /* a branch on data */
static dync_tensor *f(dync_tensor *x)
{
    if (dync_bool(dync_gt(dync_sum(x, DYNC_ALL, false), 2))) return dync_mul(x, 2);
    return dync_neg(x);
}
static int call(dync_compiled *c, int i)
{
    return is_sum(dync_call(c, dync_full(dync_shape(2), i)), i > 1 ? 4 * i : -2 * i);
}
#elif ABILITY == 12 /* why calls missed */
#define OPTIONS .fullgraph = true
static dync_tensor *f(dync_tensor *x) { return dync_mul(x, 2); }
static int call(dync_compiled *c, int i)
{
    int good = is_sum(dync_call(c, dync_full(dync_shape(i + 2), 3)), 6 * (i + 2));
    dync_compiled_information told = dync_compiled_info(c);
    return good && told.by.first == 1 && told.by.sizes == i && told.misses == i + 1;
}
#elif ABILITY == 13 /* a float in the text of an error */
#define OPTIONS .fullgraph = true
static dync_tensor *f(dync_tensor *x) { return dync_mul(x, 2); }
static int call(dync_compiled *c, int i)
{
    dync_tensor *x = dync_full(dync_shape(2), i);
    int good = is_sum(dync_call(c, x), 4 * i) && !dync_dropout(x, 1.5, true) &&
               strstr(dync_error_message(), "1.5") != NULL;
    dync_clear_error();
    return good;
}
#elif ABILITY == 14 /* a module as a callable */
#define OPTIONS .fullgraph = true
static dync_module *net;
static dync_tensor *f(dync_tensor *x) { return dync_forward_call(net, x); }
static int call(dync_compiled *c, int i)
{
    if (!net) net = dync_nn_relu();
    dync_compiled *m = dync_compile(net, .fullgraph = true);
    dync_tensor *x = dync_full(dync_shape(2), i - 1);
    double want = i > 1 ? 2 * (i - 1) : 0;
    int good = is_sum(dync_call(c, x), want) && is_sum(dync_call(m, x), want);
    dync_compiled_free(m);
    return good;
}
#elif ABILITY == 15 /* a backend of the user's, which asks the usual one */
#define OPTIONS .fullgraph = true, .backend_object = &own
static int asked;
static dync_status compile_own(dync_graph *g, const dync_value *inputs, int n, const char *options,
                               dync_callable *out, void *user)
{
    (void)options;
    (void)user;
    asked++;
    return dync_compile_graph(NULL, g, inputs, n, out);
}
static dync_status compile_by_hand(dync_graph *g, const dync_value *inputs, int n,
                                   const char *options, dync_callable *out, void *user);
static const dync_backend own = {"own", NULL, compile_own, NULL};
static const dync_backend by_hand = {"by hand", NULL, compile_by_hand, NULL};
static dync_tensor *f(dync_tensor *x) { return dync_mul(x, 2); }
static dync_value times_two(void *state, const dync_value *args, int n)
{
    (void)state;
    (void)n;
    return dync_tuple(dync_add(dync_as_tensor(args[0]), dync_as_tensor(args[0])));
}
static dync_status compile_by_hand(dync_graph *g, const dync_value *inputs, int n,
                                   const char *options, dync_callable *out, void *user)
{
    (void)g, (void)inputs, (void)n, (void)options, (void)user;
    memset(out, 0, sizeof *out);
    out->run = times_two;
    return DYNC_OK;
}
static int call(dync_compiled *c, int i)
{
    dync_tensor *x = dync_full(dync_shape(2), i);
    dync_compiled *hand = dync_compile(f, .fullgraph = true, .backend_object = &by_hand);
    int good = is_sum(dync_call(c, x), 4 * i) && is_sum(dync_call(hand, x), 4 * i) && asked == 1;
    dync_compiled_free(hand);
    return good;
}
#elif ABILITY == 16 /* a second derivative */
#define OPTIONS .fullgraph = true, .double_backward = true
static dync_tensor *f(dync_tensor *x) { return dync_mul(dync_mul(x, x), x); }
static int call(dync_compiled *c, int i)
{
    dync_tensor *x = dync_requires_grad_(dync_full(dync_shape(2), i), true);
    dync_tensor *y = dync_sum(dync_call(c, x), DYNC_ALL, false);
    dync_grad_options twice = {.create_graph = true}, once = {0};
    dync_value g = dync_gradients(dync_v_tensor(y), dync_tuple(x), DYNC_NONE, twice);
    dync_tensor *first = dync_as_tensor(dync_at(g, 0));
    g = dync_gradients(dync_v_tensor(dync_sum(first, DYNC_ALL, false)), dync_tuple(x), DYNC_NONE,
                       once);
    return is_sum(first, 6.0 * i * i) && is_sum(dync_as_tensor(dync_at(g, 0)), 12.0 * i);
}
#elif ABILITY == 17 /* results where the caller wants them, by a call with a branch */
static dync_tensor *f(dync_tensor *x)
{
    dync_tensor *y = dync_mul(x, 3);
    return dync_bool(dync_gt(dync_sum(y, DYNC_ALL, false), 6)) ? dync_add(y, 1) : dync_neg(y);
}
static int call(dync_compiled *c, int i)
{
    dync_tensor *out = dync_zeros(dync_shape(2));
    dync_tensor *x = dync_full(dync_shape(2), i);
    return dync_call_into(c, out, x) == DYNC_OK && is_sum(out, i > 1 ? 6 * i + 2 : -6 * i);
}
#elif ABILITY == 18 /* what is not compiled again runs operator by operator */
#define OPTIONS .fullgraph = true
static dync_tensor *f(dync_tensor *x) { return dync_mul(dync_add(x, 1), 2); }
static int call(dync_compiled *c, int i)
{
    dync_set_stance(i < 2 ? "default" : "eager_on_recompile");
    return is_sum(dync_call(c, dync_full(dync_shape(i < 2 ? 2 : i + 1), i)),
                  2 * (i + 1) * (i < 2 ? 2 : i + 1));
}
#elif ABILITY == 19 /* short rows, and extremes of them */
#define OPTIONS .fullgraph = true
static dync_tensor *f(dync_tensor *x)
{
    dync_tensor *rows = dync_reshape(x, dync_shape(4, 3));
    return dync_add(dync_sum(rows, dync_shape(1), false), dync_amax(rows, dync_shape(1), false));
}
static int call(dync_compiled *c, int i)
{
    return is_sum(dync_call(c, dync_add(dync_arange(0, 12, 1), i)), 66 + 12 * i + 26 + 4 * i);
}
#elif ABILITY == 20 /* a hook outside of the function */
#define OPTIONS .fullgraph = true
static dync_tensor *tripled(dync_tensor *g, void *user)
{
    (void)user;
    return dync_mul(g, 3);
}
static dync_tensor *f(dync_tensor *x) { return dync_mul(x, x); }
static int call(dync_compiled *c, int i)
{
    dync_tensor *x = dync_requires_grad_(dync_full(dync_shape(2), i), true), *y = dync_call(c, x);
    if (dync_register_hook(y, tripled, NULL) < 0) return 0;
    return dync_backward(dync_sum(y, DYNC_ALL, false)) == DYNC_OK && is_sum(dync_grad(x), 12 * i);
}
#elif ABILITY == 21 /* products of other ranks by linear */
#define OPTIONS .fullgraph = true, .args = "x, w, b"
static dync_value f(const dync_value *v, int n, void *user)
{
    (void)n;
    (void)user;
    dync_tensor *b = v[2].kind == DYNC_KIND_TENSOR ? dync_as_tensor(v[2]) : NULL;
    return dync_v_tensor(dync_linear(dync_as_tensor(v[0]), dync_as_tensor(v[1]), b));
}
static int call(dync_compiled *c, int i)
{
    dync_tensor *x3 = dync_full(dync_shape(2, 2, 3), i), *x1 = dync_full(dync_shape(3), i),
                *w = dync_ones(dync_shape(4, 3)), *w1 = dync_full(dync_shape(3), 2),
                *b = dync_ones(dync_shape(1));
    return is_sum(dync_call(c, x3, w, b), 4 * 4 * (3 * i + 1)) &&
           is_sum(dync_call(c, x3, w, DYNC_NONE), 4 * 4 * 3 * i) &&
           is_sum(dync_call(c, x1, w, b), 4 * (3 * i + 1)) &&
           is_sum(dync_call(c, x3, w1, DYNC_NONE), 4 * 6 * i) &&
           is_sum(dync_call(c, x1, w1, DYNC_NONE), 6 * i);
}
#elif ABILITY == 22 /* arguments on one memory, one of them written */
#define OPTIONS .fullgraph = true, .args = "x, y"
static dync_value f(const dync_value *v, int n, void *user)
{
    (void)n;
    (void)user;
    dync_add_(dync_as_tensor(v[0]), 1);
    return dync_v_tensor(dync_mul(dync_as_tensor(v[1]), 2));
}
static int call(dync_compiled *c, int i)
{
    dync_tensor *base = dync_full(dync_shape(3), i);
    dync_tensor *x = dync_narrow(base, 0, 0, 2), *y = dync_narrow(base, 0, 1, 2);
    return is_sum(dync_call(c, x, y), 2 * (2 * i + 1)) && is_sum(base, 3 * i + 2);
}
#elif ABILITY == 23 /* the mode of a module */
#define OPTIONS .fullgraph = true
static dync_module *net;
static dync_tensor *f(dync_tensor *x) { return dync_forward_call(net, x); }
static int call(dync_compiled *c, int i)
{
    if (!net) net = dync_sequential(dync_nn_dropout(1), dync_nn_relu());
    dync_module_train(net, i % 2 == 0);
    int good = is_sum(dync_call(c, dync_full(dync_shape(2), 3)), i % 2 ? 6 : 0);
    dync_compiled_information told = dync_compiled_info(c);
    return good && told.misses == (i ? 2 : 1);
}
#elif ABILITY == 24 /* a graph as a callable */
#define OPTIONS .fullgraph = true
static dync_graph *graph;
static dync_tensor *f(dync_tensor *x) { return dync_add(dync_mul(x, 2), 1); }
static int call(dync_compiled *c, int i)
{
    dync_tensor *x = dync_full(dync_shape(2), i);
    if (!graph) dync_graph_retain(graph = dync_make_graph(f, x)); /* past this scope */
    dync_compiled *of_graph = dync_compile(graph, .args = "x", .fullgraph = true);
    int good = is_sum(dync_call(c, x), 4 * i + 2) && is_sum(dync_call(of_graph, x), 4 * i + 2);
    dync_compiled_free(of_graph);
    if (i + 1 == CALLS) dync_graph_free(graph);
    return good;
}
#elif ABILITY == 25 /* a scatter of a tensor, before any operator has a number to check */
static dync_tensor *f(dync_tensor *x) { return dync_mul(x, x); }
static int call(dync_compiled *c, int i)
{
    const float from[2] = {1, (float)i};
    const int64_t at[2] = {2, 0};
    dync_tensor *index = dync_from(at, dync_shape(2), .dtype = DYNC_I64);
    dync_tensor *y =
        dync_scatter(dync_zeros(dync_shape(3)), 0, index, dync_from(from, dync_shape(2)));
    return is_sum(y, 1 + i) && is_sum(dync_call(c, y), 1 + i * i);
}
#elif ABILITY == 26 /* a value whose gradient is kept */
static dync_tensor *f(dync_tensor *x)
{
    dync_tensor *y = dync_mul(x, 3);
    dync_retain_grad(y);
    return y;
}
static int call(dync_compiled *c, int i)
{
    dync_tensor *x = dync_full(dync_shape(2), i, .requires_grad = true), *y = dync_call(c, x);
    return dync_backward(dync_sum(dync_mul(y, y), DYNC_ALL, false)) == DYNC_OK &&
           is_sum(dync_grad(y), 12 * i) && is_sum(dync_grad(x), 36 * i);
}
#elif ABILITY == 27 /* an argument that requires a gradient from there on */
static dync_tensor *f(dync_tensor *x)
{
    dync_requires_grad_(x, true);
    return dync_mul(x, x);
}
static int call(dync_compiled *c, int i)
{
    dync_tensor *x = dync_full(dync_shape(2), i), *y = dync_call(c, x);
    return dync_requires_grad(x) && dync_backward(dync_sum(y, DYNC_ALL, false)) == DYNC_OK &&
           is_sum(dync_grad(x), 4 * i);
}
#elif ABILITY == 28 /* what is a leaf */
#define OPTIONS .fullgraph = true
static dync_tensor *f(dync_tensor *x) { return dync_is_leaf(x) ? dync_mul(x, 3) : dync_neg(x); }
static int call(dync_compiled *c, int i)
{
    dync_tensor *x = dync_full(dync_shape(2), i, .requires_grad = true);
    return is_sum(dync_call(c, i % 2 ? dync_mul(x, 2) : x), i % 2 ? -4 * i : 6 * i);
}
#elif ABILITY == 29 /* normal draws of F64, by a maker and by a tensor's dtype */
#define OPTIONS .fullgraph = true
static dync_tensor *f(dync_tensor *x)
{
    dync_tensor *wide = dync_randn(dync_shape(64), .dtype = DYNC_F64);
    return dync_add(dync_abs(wide), dync_mul(x, 0));
}
static int call(dync_compiled *c, int i)
{
    (void)i;
    dync_tensor *zero = dync_zeros(dync_shape(64), .dtype = DYNC_F64);
    dync_tensor *off = dync_sub(dync_mean(dync_call(c, zero), DYNC_ALL, false), 0.85);
    return is_sum(dync_gt(dync_abs(off), 0.45), 0);
}
#elif ABILITY == 30 /* in place, of a tensor of F64 */
#define OPTIONS .fullgraph = true
static dync_tensor *f(dync_tensor *x) { return dync_abs(x); }
static int call(dync_compiled *c, int i)
{
    dync_tensor *x = dync_zeros(dync_shape(64), .dtype = DYNC_F64);
    dync_normal_(x, 0, i + 1);
    dync_tensor *mean = dync_div(dync_mean(dync_call(c, x), DYNC_ALL, false), i + 1);
    return is_sum(dync_gt(dync_abs(dync_sub(mean, 0.85)), 0.45), 0);
}
#elif ABILITY == 31 /* writes to whole tensors alone: no views are linked for (run.sh) */
static dync_tensor *f(dync_tensor *x)
{
    dync_tensor *y = dync_mul(x, 3);
    dync_add_(x, 1);
    dync_mul_(y, 2);
    return dync_add(x, y);
}
static int call(dync_compiled *c, int i)
{
    dync_tensor *x = dync_full(dync_shape(2), i);
    return is_sum(dync_call(c, x), 14 * i + 2) && is_sum(x, 2 * i + 2);
}
#elif ABILITY == 32 /* views by the functions behind the macros: the graph runs plainly */
static dync_tensor *f(dync_tensor *x)
{
    dync_tensor *y = dync_mul(x, 3);
    dync_mul_((dync_narrow)(y, 0, 0, 1), 2);
    dync_add_((dync_narrow)(x, 0, 1, 1), 1);
    return dync_add(x, y);
}
static int call(dync_compiled *c, int i)
{
    dync_tensor *x = dync_full(dync_shape(2), i);
    return is_sum(dync_call(c, x), 11 * i + 1) && is_sum(x, 2 * i + 1);
}
#elif ABILITY == 33 /* one memory in two arguments, one of them written */
#define OPTIONS .args = "x, part"
static dync_value f(const dync_value *v, int n, void *user)
{
    (void)n;
    (void)user;
    dync_add_(dync_as_tensor(v[1]), 1);
    return dync_v_tensor(dync_mul(dync_as_tensor(v[0]), 2));
}
static int call(dync_compiled *c, int i)
{
    dync_tensor *x = dync_full(dync_shape(2), i);
    return is_sum(dync_call(c, x, (dync_narrow)(x, 0, 1, 1)), 4 * i + 2) && is_sum(x, 2 * i + 1);
}
#endif
#if !defined(OPTIONS)
#define OPTIONS .fullgraph = false
#endif

int main(void)
{
    dync_init_options options = {.memory = memory, .memory_size = sizeof memory, .threads = 1};
    int failed = 0;
    if (dync_init(options) != DYNC_OK) return 1;
    dync_compiled *c = dync_compile(f, OPTIONS);
    for (int i = 0; i < CALLS && !failed; i++) DYNC_SCOPE {
        if (!call(c, i) || dync_error() != DYNC_OK) failed = 2 + i;
    }
    if (failed) printf("ability %d: %s\n", ABILITY, dync_error_message());
    dync_compiled_free(c);
    dync_shutdown();
    return failed;
}
