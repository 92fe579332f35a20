/* dync_cond, dync_while_loop, dync_scan, dync_map, dync_associative_scan: plain loops against every
 * backend, gradients against the plain tape, what is refused. */
#define TEST_AFTER_EACH dync_shutdown()
#include "counter.h"
#include "../random/control.h"

static const char *const backends[] = {"eager", "aot_eager", "inductor"};
enum { N_BACKENDS = 3 };
#define T(i) dync_as_tensor(a[i])

/* ---- cond ------------------------------------------------------------------------------------ */
static dync_value twice_sin(const dync_value *a, int n, void *user)
{
    (void)n, (void)user;
    return dync_tuple(dync_mul(dync_sin(T(0)), 2), dync_sum(T(1), DYNC_ALL, false));
}
static dync_value minus_cos(const dync_value *a, int n, void *user)
{
    (void)n, (void)user;
    return dync_tuple(dync_neg(dync_cos(T(1))), dync_mean(T(0), DYNC_ALL, false));
}
static dync_value branch(const dync_value *a, int n, void *user)
{
    (void)n, (void)user;
    dync_tensor *x = dync_add(T(0), 1);
    dync_value r = dync_cond(dync_gt(dync_sum(x, DYNC_ALL, false), 0), twice_sin, minus_cos,
                             dync_tuple(x, T(1)));
    return dync_tuple(dync_mul(dync_as_tensor(dync_at(r, 0)), x), dync_at(r, 1));
}

TEST(cond_takes_each_way_in_one_graph)
{
    for (int b = 0; b < N_BACKENDS; b++) {
        dync_compiled *f = dync_compile(branch, .backend = backends[b], .fullgraph = true);
        for (int call = 0; call < 6; call++) DYNC_SCOPE {
            dync_tensor *x = dync_add(dync_randn(dync_shape(3, 4)), call % 2 ? 3 : -3);
            dync_value args[2] = {DYNC_V(x), DYNC_V(dync_randn(dync_shape(3, 4)))};
            dync_value want = branch(args, 2, NULL), got = dync_call_values(f, 2, args);
            REQUIRE_OK(dync_error());
            for (int i = 0; i < 2; i++)
                EXPECT(dync_allclose(dync_as_tensor(dync_at(want, i)),
                                     dync_as_tensor(dync_at(got, i)), 1e-5, 1e-6));
        }
        dync_compiled_free(f);
    }
}

/* ---- every program: plainly, and on each backend, with gradients of what it is given --------- */
typedef dync_value (*program_inputs)(int call);

static int unpack(dync_value list, dync_value *args)
{
    for (int i = 0; i < dync_len(list); i++) args[i] = dync_at(list, i);
    return dync_len(list);
}

/* The floats of a value, summed with weights that tell places apart. */
static dync_tensor *weighted(dync_value v)
{
    dync_tensor *sum = NULL;
    if (v.kind == DYNC_KIND_TENSOR) {
        if (dync_type(v.as.t) != DYNC_F32) return NULL;
        dync_tensor *flat = dync_reshape(v.as.t, dync_shape(-1));
        dync_tensor *w = dync_add(dync_arange(0, dync_numel(flat), 1), 1);
        return dync_sum(dync_mul(flat, dync_sin(w)), DYNC_ALL, false);
    }
    for (int i = 0; i < dync_len(v); i++) {
        dync_tensor *part = weighted(dync_at(v, i));
        if (part) sum = sum ? dync_add(sum, dync_mul(part, 1.0 + i)) : part;
    }
    return sum;
}

static bool near(dync_value a, dync_value b)
{
    if (a.kind != b.kind) return false;
    if (a.kind == DYNC_KIND_TENSOR) {
        bool same = dync_ndim(a.as.t) == dync_ndim(b.as.t) &&
                    dync_type(a.as.t) == dync_type(b.as.t);
        for (int d = 0; same && d < dync_ndim(a.as.t); d++)
            same = dync_size(a.as.t, d) == dync_size(b.as.t, d);
        return same && dync_allclose(a.as.t, b.as.t, 1e-4, 1e-5);
    }
    if (dync_len(a) != dync_len(b)) return false;
    for (int i = 0; i < dync_len(a); i++)
        if (!near(dync_at(a, i), dync_at(b, i))) return false;
    return true;
}

static dync_value inputs_of(program_inputs make, int call, bool grads)
{
    dync_manual_seed((uint64_t)(call + 1));
    dync_value in = make(call);
    for (int i = 0; i < dync_len(in); i++)
        if (dync_at(in, i).kind == DYNC_KIND_TENSOR && dync_type(dync_at(in, i).as.t) == DYNC_F32)
            dync_requires_grad_(dync_at(in, i).as.t, grads);
    return in;
}

static bool same_grads(dync_value want, dync_value got)
{
    bool same = true;
    for (int i = 0; i < dync_len(want); i++) {
        if (dync_at(want, i).kind != DYNC_KIND_TENSOR) continue;
        dync_tensor *a = dync_grad(dync_at(want, i).as.t), *b = dync_grad(dync_at(got, i).as.t);
        dync_tensor *zero = a || b ? dync_zeros_like(a ? a : b)
                                   : NULL; /* none is as good as zeros */
        if (zero) same = same && dync_allclose(a ? a : zero, b ? b : zero, 1e-3, 1e-4);
    }
    return same;
}

static void check(const char *name, dync_function fn, program_inputs make, bool grads)
{
    for (int b = 0; b < N_BACKENDS; b++) {
        dync_compiled *f =
            dync_compile(fn, .backend = backends[b], .name = name, .fullgraph = true);
        for (int call = 0; call < 4; call++) DYNC_SCOPE {
            dync_value want_args[8], got_args[8];
            dync_value want_in = inputs_of(make, call, grads),
                       got_in = inputs_of(make, call, grads);
            int n = unpack(want_in, want_args);
            unpack(got_in, got_args);
            dync_value want = fn(want_args, n, NULL), got = dync_call_values(f, n, got_args);
            bool ok = EXPECT_OK(dync_error()) && EXPECT(near(want, got));
            if (ok && grads) {
                dync_backward(weighted(want));
                ok = EXPECT_OK(dync_error());
                dync_backward(weighted(got));
                ok = ok && EXPECT_OK(dync_error()) && EXPECT(same_grads(want_in, got_in));
            }
            if (!ok) printf("    %s, backend %s, call %d\n", name, backends[b], call);
            dync_clear_error();
        }
        dync_compiled_free(f);
    }
}
#define PROGRAM(name, inputs, grads)                                     \
    static dync_value name##_fn(const dync_value *a, int n, void *user); \
    TEST(name) { check(#name, name##_fn, inputs, grads); }               \
    static dync_value name##_fn(const dync_value *a, int n, void *user)
#define FN(name) static dync_value name(const dync_value *a, int n, void *user)
#define UNUSED (void)a, (void)n, (void)user

static dync_value two(int call)
{
    return dync_tuple(dync_add(dync_randn(dync_shape(3, 4)), call % 2 ? 1 : -1),
                      dync_randn(dync_shape(3, 4)));
}

PROGRAM(cond_gradients, two, true)
{
    UNUSED;
    dync_tensor *x = dync_mul(T(0), T(1));
    return dync_cond(dync_gt(dync_sum(T(0), DYNC_ALL, false), 0), twice_sin, minus_cos,
                     dync_tuple(x, T(1)));
}

/* ---- closures -------------------------------------------------------------------------------- */
typedef struct closure {
    dync_tensor *w, *b;
} closure;
FN(times_w)
{
    closure *c = user;
    (void)n;
    return DYNC_V(dync_add(dync_mul(T(0), c->w), c->b));
}
FN(minus_b)
{
    closure *c = user;
    (void)n;
    return DYNC_V(dync_sub(dync_exp(dync_mul(T(0), 0.1)), dync_transpose(c->b, 0, 1)));
}
static dync_value square_three(int call)
{
    return dync_tuple(dync_randn(dync_shape(4, 4)), dync_randn(dync_shape(4, 4)),
                      dync_add(dync_randn(dync_shape(4, 4)), call % 2 ? 2 : -2));
}
PROGRAM(closures_are_inputs, square_three, true)
{
    UNUSED;
    closure c = {T(1), dync_tanh(T(2))};
    return dync_cond(dync_gt(dync_mean(T(2), DYNC_ALL, false), 0), dync_bind(times_w, &c, "x"),
                     dync_bind(minus_b, &c, "x"), T(0));
}

/* views of what is given come back as new memory; a result given twice is two */
FN(gives_views)
{
    UNUSED;
    return dync_tuple(T(0), dync_transpose(T(0), 0, 1), T(0));
}
FN(gives_others)
{
    UNUSED;
    dync_tensor *y = dync_neg(T(0));
    return dync_tuple(y, dync_transpose(y, 0, 1), y);
}
PROGRAM(results_are_new, square_three, false)
{
    UNUSED;
    dync_value r = dync_cond(dync_gt(dync_mean(T(2), DYNC_ALL, false), 0), gives_views,
                             gives_others, dync_transpose(T(0), 0, 1));
    dync_tensor *first = dync_as_tensor(dync_at(r, 0));
    EXPECT(dync_stride(dync_as_tensor(dync_at(r, 1)), 1) == 1);
    dync_add_(first, 1);
    return dync_tuple(r, T(0));
}

/* ---- while_loop ------------------------------------------------------------------------------ */
FN(not_there)
{
    UNUSED;
    return DYNC_V(
        dync_gt(dync_amax(dync_abs(dync_sub(dync_mul(T(0), T(0)), T(1))), DYNC_ALL, false), 1e-5));
}
FN(newton)
{
    UNUSED;
    dync_tensor *x = dync_mul(dync_add(T(0), dync_div(T(1), T(0))), 0.5);
    return dync_tuple(x, T(1), dync_add(T(2), 1));
}
static dync_value positive(int call)
{
    return dync_tuple(dync_add(dync_abs(dync_randn(dync_shape(5))), 0.5 + call));
}
PROGRAM(newton_iteration_to_convergence, positive, false)
{
    UNUSED;
    dync_tensor *zero = dync_zeros(DYNC_SCALAR, .dtype = DYNC_I64);
    dync_value r = dync_while_loop(not_there, newton, dync_tuple(dync_ones_like(T(0)), T(0), zero));
    return dync_tuple(r, dync_sqrt(T(0)));
}
TEST(newton_finds_the_root)
{
    dync_compiled *f = dync_compile(newton_iteration_to_convergence_fn, .fullgraph = true);
    dync_tensor *x = dync_from((float[]){2, 9, 100}, dync_shape(3));
    dync_value in = DYNC_V(x), r = dync_call_values(f, 1, &in);
    REQUIRE_OK(dync_error());
    dync_tensor *root = dync_as_tensor(dync_at(dync_at(r, 0), 0));
    EXPECT_NEAR(dync_item(dync_select(root, 0, 0)), 1.41421356, 1e-5);
    EXPECT_NEAR(dync_item(dync_select(root, 0, 1)), 3, 1e-5);
    EXPECT_NEAR(dync_item(dync_select(root, 0, 2)), 10, 1e-5);
    dync_compiled_free(f);
}

FN(small)
{
    UNUSED;
    return DYNC_V(dync_lt(dync_sum(dync_abs(T(0)), DYNC_ALL, false), 40));
}
FN(grow)
{
    closure *c = user;
    (void)n;
    return dync_tuple(dync_add(dync_mul(T(0), 1.5), dync_mul(c->w, 0.1)));
}
PROGRAM(bounded_loop_gradients, two, true)
{
    UNUSED;
    closure c = {T(1), NULL};
    return dync_while_loop_limit(small, dync_bind(grow, &c, "x"), dync_tuple(T(0)), 6);
}
FN(never)
{
    UNUSED;
    return DYNC_V(dync_lt(dync_sum(dync_abs(T(0)), DYNC_ALL, false), -1));
}
PROGRAM(loop_of_no_rounds, two, false)
{
    UNUSED;
    closure c = {T(1), NULL};
    return dync_while_loop(never, dync_bind(grow, &c, "x"), dync_tuple(T(0)));
}

/* ---- scan ------------------------------------------------------------------------------------ */
typedef struct rnn {
    dync_tensor *wx, *wh, *b;
} rnn;
FN(rnn_step)
{
    rnn *c = user;
    (void)n;
    dync_tensor *h =
        dync_tanh(dync_add(dync_add(dync_matmul(T(1), c->wx), dync_matmul(T(0), c->wh)), c->b));
    return dync_tuple(h, dync_mul(h, 2));
}
enum { STEPS = 5 };
static dync_value rnn_inputs(int call)
{
    (void)call;
    return dync_tuple(dync_randn(dync_shape(STEPS, 2, 3)), dync_randn(dync_shape(2, 4)),
                      dync_randn(dync_shape(3, 4)), dync_randn(dync_shape(4, 4)),
                      dync_randn(dync_shape(4)));
}
PROGRAM(rnn_by_scan, rnn_inputs, true)
{
    UNUSED;
    rnn c = {T(2), T(3), T(4)};
    return dync_scan(dync_bind(rnn_step, &c, "h, x"), T(1), T(0));
}
static dync_value rnn_unrolled(const dync_value *a, int n, void *user)
{
    UNUSED;
    rnn c = {T(2), T(3), T(4)};
    dync_value h = a[1], y[STEPS];
    for (int t = 0; t < STEPS; t++) {
        dync_value args[2] = {h, DYNC_V(dync_select(T(0), 0, t))};
        dync_value r = rnn_step(args, 2, &c);
        h = dync_at(r, 0);
        y[t] = dync_at(r, 1);
    }
    return dync_tuple(h, dync_stack(dync_tuple_of(STEPS, y), 0));
}
TEST(rnn_by_scan_is_the_unrolled_one)
{
    dync_compiled *f = dync_compile(rnn_by_scan_fn, .fullgraph = true);
    for (int call = 0; call < 3; call++) {
        dync_value a[8], b[8], want_in = inputs_of(rnn_inputs, call, true),
                               got_in = inputs_of(rnn_inputs, call, true);
        int n = unpack(want_in, a);
        unpack(got_in, b);
        dync_value want = rnn_unrolled(a, n, NULL), got = dync_call_values(f, n, b);
        REQUIRE_OK(dync_error());
        EXPECT(near(want, got));
        dync_backward(weighted(want));
        dync_backward(weighted(got));
        REQUIRE_OK(dync_error());
        EXPECT(same_grads(want_in, got_in));
        for (int i = 0; i < n; i++) EXPECT(dync_grad(dync_as_tensor(b[i])) != NULL);
    }
    dync_compiled_free(f);
}
PROGRAM(scan_from_the_end, rnn_inputs, true)
{
    UNUSED;
    rnn c = {T(2), T(3), T(4)};
    return dync_scan_reverse(dync_bind(rnn_step, &c, "h, x"), T(1), T(0));
}

FN(add_both)
{
    UNUSED;
    return DYNC_V(dync_add(T(0), T(1)));
}
static dync_value lines(int call) { return dync_tuple(dync_randn(dync_shape(3, 4 + call, 2))); }
PROGRAM(cumsum_by_associative_scan, lines, true)
{
    UNUSED;
    dync_value y = dync_associative_scan(add_both, T(0), 1);
    return dync_tuple(y, dync_sub(dync_as_tensor(y), dync_cumsum(T(0), 1)));
}
/* The stacked results have the history that steps would give, plainly as compiled. */
static dync_value half_and_place(const dync_value *v, int n, void *user)
{
    (void)n, (void)user;
    dync_tensor *c = dync_add(dync_mul(v[0], 0.5), v[1]);
    return dync_tuple(c, c);
}
static dync_tensor *scan_stacked(dync_tensor *init, dync_tensor *xs)
{
    return dync_as_tensor(dync_at(dync_scan(half_and_place, init, xs), 1));
}
TEST(scan_of_no_place_keeps_its_history)
{
    dync_compiled *f = dync_compile(scan_stacked);
    for (int i = 0; i < 4; i++) {
        bool of_init = i & 1, of_xs = i & 2;
        dync_tensor *init = dync_ones(dync_shape(4), .requires_grad = of_init),
                    *xs = dync_zeros(dync_shape(0, 4), .requires_grad = of_xs),
                    *plain = scan_stacked(init, xs), *compiled = dync_call(f, init, xs);
        EXPECT(dync_size(plain, 0) == 0 && dync_size(compiled, 0) == 0);
        EXPECT_EQ_INT(dync_requires_grad(plain), of_init || of_xs);
        EXPECT_EQ_INT(dync_requires_grad(compiled), of_init || of_xs);
        if (i) EXPECT_OK(dync_backward(dync_sum(plain, DYNC_ALL, false)));
        if (of_init) EXPECT(dync_item(dync_sum(dync_grad(init), DYNC_ALL, false)) == 0);
    }
    dync_compiled_free(f);
}

TEST(associative_scan_of_sums_is_cumsum)
{
    dync_value x = lines(1);
    dync_value in = dync_at(x, 0), r = cumsum_by_associative_scan_fn(&in, 1, NULL);
    REQUIRE_OK(dync_error());
    EXPECT(dync_allclose(dync_as_tensor(dync_at(r, 0)), dync_cumsum(in.as.t, 1), 1e-5, 1e-6));
}

/* h[t] = a[t] h[t - 1] + b[t]: pairs (a, b) under (a1, b1) (a2, b2) = (a1 a2, a2 b1 + b2) */
FN(recurrence)
{
    UNUSED;
    dync_value p = a[0], q = a[1];
    dync_tensor *a1 = dync_as_tensor(dync_at(p, 0)), *b1 = dync_as_tensor(dync_at(p, 1));
    dync_tensor *a2 = dync_as_tensor(dync_at(q, 0)), *b2 = dync_as_tensor(dync_at(q, 1));
    return dync_tuple(dync_mul(a1, a2), dync_add(dync_mul(a2, b1), b2));
}
static dync_value pair(int call)
{
    (void)call;
    return dync_tuple(dync_rand(dync_shape(6, 3)), dync_randn(dync_shape(6, 3)));
}
PROGRAM(linear_recurrence, pair, true)
{
    UNUSED;
    return dync_associative_scan(recurrence, dync_tuple(T(0), T(1)), 0);
}
TEST(linear_recurrence_is_the_loop)
{
    dync_value in = pair(0), a[2];
    unpack(in, a);
    dync_value r = linear_recurrence_fn(a, 2, NULL);
    dync_tensor *h = dync_zeros(dync_shape(3));
    for (int t = 0; t < 6; t++) {
        h = dync_add(dync_mul(dync_select(T(0), 0, t), h), dync_select(T(1), 0, t));
        EXPECT(dync_allclose(h, dync_select(dync_as_tensor(dync_at(r, 1)), 0, t), 1e-5, 1e-6));
    }
}

FN(row_norm)
{
    closure *c = user;
    (void)n;
    dync_tensor *x = T(0);
    return dync_tuple(
        dync_div(x, dync_add(dync_sqrt(dync_sum(dync_mul(x, x), DYNC_ALL, false)), 1)),
        dync_sum(dync_mul(x, c->w), DYNC_ALL, false));
}
PROGRAM(map_over_rows, two, true)
{
    UNUSED;
    closure c = {dync_select(T(1), 0, 1), NULL};
    return dync_map(dync_bind(row_norm, &c, "x"), T(0));
}

/* ---- one inside the other -------------------------------------------------------------------- */
FN(damp)
{
    UNUSED;
    return DYNC_V(dync_mul(T(0), 0.5));
}
FN(push)
{
    closure *c = user;
    (void)n;
    return DYNC_V(dync_add(T(0), dync_sin(c->w)));
}
FN(cond_step)
{
    closure *c = user, inner = {c->w, NULL};
    (void)n;
    dync_tensor *h = dync_add(T(0), dync_mul(T(1), c->b));
    dync_value r =
        dync_cond(dync_gt(dync_sum(h, DYNC_ALL, false), 1), damp, dync_bind(push, &inner, "h"), h);
    return dync_tuple(r, dync_mean(dync_as_tensor(r), DYNC_ALL, false));
}
static dync_value steps(int call)
{
    (void)call;
    return dync_tuple(dync_randn(dync_shape(6, 4)), dync_randn(dync_shape(4)),
                      dync_randn(dync_shape(4)));
}
PROGRAM(cond_inside_scan, steps, true)
{
    UNUSED;
    closure c = {T(2), dync_tanh(T(1))};
    return dync_scan(dync_bind(cond_step, &c, "h, x"), T(1), T(0));
}

FN(below_limit)
{
    UNUSED;
    return DYNC_V(dync_lt(dync_sum(dync_mul(T(0), T(0)), DYNC_ALL, false), 9));
}
FN(cond_body)
{
    closure *c = user, inner = {c->w, NULL};
    (void)n;
    dync_tensor *h = dync_mul(T(0), 1.7);
    return dync_tuple(
        dync_cond(dync_gt(dync_sum(h, DYNC_ALL, false), 0), damp, dync_bind(push, &inner, "h"), h));
}
FN(while_step)
{
    closure *c = user;
    (void)n;
    dync_value r = dync_while_loop_limit(below_limit, dync_bind(cond_body, c, "h"),
                                         dync_tuple(dync_add(T(0), T(1))), 4);
    return dync_tuple(dync_at(r, 0), dync_mul(dync_as_tensor(dync_at(r, 0)), T(1)));
}
PROGRAM(cond_in_while_in_scan, steps, true)
{
    UNUSED;
    closure c = {T(2), NULL};
    return dync_scan(dync_bind(while_step, &c, "h, x"), T(1), T(0));
}

/* ---- sizes that change ----------------------------------------------------------------------- */
static dync_value lengths(int call)
{
    int n = 3 + 2 * call;
    return dync_tuple(dync_randn(dync_shape(n, 4)), dync_randn(dync_shape(4)),
                      dync_randn(dync_shape(n)));
}
FN(size_step)
{
    UNUSED;
    dync_tensor *h = dync_tanh(dync_add(T(0), T(1)));
    return dync_tuple(h, dync_sum(h, DYNC_ALL, false));
}
PROGRAM(scan_of_changing_length, lengths, true)
{
    UNUSED;
    return dync_scan(size_step, T(1), T(0));
}
FN(column_a)
{
    UNUSED;
    dync_tensor *ones = dync_ones(dync_shape(dync_dim(T(0), 0)));
    return DYNC_V(dync_add(dync_sum(T(0), dync_shape(1), false), ones));
}
FN(column_b)
{
    closure *c = user;
    (void)n;
    return DYNC_V(dync_mul(dync_amax(T(0), dync_shape(1), false), c->w));
}
PROGRAM(cond_of_changing_size, lengths, true)
{
    UNUSED;
    closure c = {T(2), NULL};
    return dync_cond(dync_gt(dync_sum(T(1), DYNC_ALL, false), 0), column_a,
                     dync_bind(column_b, &c, "x"), T(0));
}
PROGRAM(loop_of_changing_size, lengths, true)
{
    UNUSED;
    closure c = {T(1), NULL};
    return dync_while_loop_limit(small, dync_bind(grow, &c, "x"), dync_tuple(T(0)), 3);
}

/* ---- writes into what a function made itself ------------------------------------------------- */
FN(write_rows)
{
    UNUSED;
    dync_tensor *x = dync_clone(T(0));
    dync_add_(dync_select(x, 0, 1), T(1));
    dync_copy_(dync_slice(x, 0, 0, 1, 1), dync_unsqueeze(dync_mul(T(1), 2), 0));
    return dync_tuple(x, dync_select(x, 0, 1));
}
PROGRAM(writes_inside, two, true)
{
    UNUSED;
    return dync_scan(write_rows, T(0), T(1));
}
FN(put_row)
{
    UNUSED;
    dync_tensor *next = dync_clone(T(0));
    dync_copy_(dync_select(next, 0, 1), T(1));
    return dync_tuple(next, dync_select(T(0), 0, 1));
}
PROGRAM(rows_put_into_the_carry, two, true)
{
    UNUSED;
    return dync_scan(put_row, T(0), T(1));
}

/* ---- grad mode, several results, integers ---------------------------------------------------- */
FN(some_without_grad)
{
    UNUSED;
    dync_tensor *y = NULL;
    DYNC_NO_GRAD {
        y = dync_exp(T(0));
    }
    return dync_tuple(dync_mul(T(0), y), dync_argmax(T(0), 1, false), dync_detach(dync_sin(T(1))));
}
FN(some_with_grad)
{
    UNUSED;
    dync_tensor *i = dync_argmax(T(1), 1, false);
    return dync_tuple(dync_mul(T(0), T(1)), dync_add(i, 1), dync_mul(T(1), T(1)));
}
PROGRAM(grad_mode_inside, two, true)
{
    UNUSED;
    return dync_cond(dync_gt(dync_sum(T(0), DYNC_ALL, false), 0), some_without_grad, some_with_grad,
                     dync_tuple(T(0), T(1)));
}

/* ---- a training step, in one function -------------------------------------------------------- */
static dync_value step_with_backward(const dync_value *a, int n, void *user)
{
    UNUSED;
    closure c = {T(2), dync_tanh(T(1))};
    dync_value r = dync_scan(dync_bind(cond_step, &c, "h, x"), T(1), T(0));
    dync_tensor *loss = weighted(r);
    dync_backward(loss);
    return DYNC_V(dync_detach(loss));
}
TEST(backward_in_the_function)
{
    for (int b = 0; b < N_BACKENDS; b++) {
        dync_compiled *f =
            dync_compile(step_with_backward, .backend = backends[b], .fullgraph = true);
        for (int call = 0; call < 3; call++) DYNC_SCOPE {
            dync_value want_args[8], got_args[8], want_in = inputs_of(steps, call, true),
                                                  got_in = inputs_of(steps, call, true);
            int n = unpack(want_in, want_args);
            unpack(got_in, got_args);
            dync_value want = step_with_backward(want_args, n, NULL);
            dync_value got = dync_call_values(f, n, got_args);
            if (!EXPECT_OK(dync_error()) || !EXPECT(near(want, got)) ||
                !EXPECT(same_grads(want_in, got_in)))
                printf("    backend %s, call %d\n", backends[b], call);
            dync_clear_error();
        }
        dync_compiled_free(f);
    }
}
TEST(make_graph_keeps_functions)
{
    dync_value in = inputs_of(steps, 0, false), args[3];
    unpack(in, args);
    dync_graph *g = dync_make_graph_values(DYNC_FN(cond_inside_scan_fn), "f", 3, args);
    REQUIRE_OK(dync_error());
    dync_value want = cond_inside_scan_fn(args, 3, NULL), got = dync_graph_run(g, args, 3);
    REQUIRE_OK(dync_error());
    EXPECT(near(want, got));
    EXPECT(strstr(dync_graph_readable(g), "torch.ops.higher_order.scan(scan_combine_graph_0") !=
           NULL);
}

/* ---- the operators themselves, of graphs ----------------------------------------------------- */
static dync_graph *parts[3]; /* below, twice, step */
FN(is_below)
{
    UNUSED;
    return dync_tuple(dync_lt(dync_sum(T(0), DYNC_ALL, false), dync_sum(T(1), DYNC_ALL, false)));
}
FN(twice_and_one)
{
    UNUSED;
    return dync_tuple(dync_add(dync_mul(T(0), 2), dync_mul(T(1), 0)));
}
FN(weighted_step)
{
    UNUSED;
    dync_tensor *h = dync_tanh(dync_add(dync_mul(T(0), T(2)), T(1)));
    return dync_tuple(h, dync_neg(h));
}
FN(of_graphs)
{
    UNUSED;
    dync_value y = dync_while_loop_op(parts[0], parts[1], dync_tuple(T(0)), dync_tuple(T(1)), 9);
    dync_value r = dync_scan_op(parts[2], dync_tuple(dync_at(y, 0)), dync_tuple(T(2)),
                                dync_tuple(T(1)), true, 0);
    return dync_tuple(dync_at(y, 0), dync_at(r, 0), dync_at(r, 1));
}
/* x doubles while its sum is below that of w: 1, 2, 4, 8, 16 of 30; h = tanh(h w + x[t]) */
TEST(operators_of_graphs)
{
    dync_value x = DYNC_V(dync_ones(dync_shape(3))), w = DYNC_V(dync_full(dync_shape(3), 10.0)),
               xs = DYNC_V(dync_full(dync_shape(2, 3), -160.0));
    dync_value two[2] = {x, w}, three[3] = {x, w, xs}, step[3] = {x, x, w};
    parts[0] = dync_make_graph_values(dync_args(is_below, "x, w"), "below", 2, two);
    parts[1] = dync_make_graph_values(dync_args(twice_and_one, "x, w"), "twice", 2, two);
    parts[2] = dync_make_graph_values(dync_args(weighted_step, "h, x, w"), "step", 3, step);
    REQUIRE_OK(dync_error());
    dync_value want = of_graphs(three, 3, NULL);
    REQUIRE_OK(dync_error());
    EXPECT_NEAR(dync_item(dync_sum(dync_as_tensor(dync_at(want, 0)), DYNC_ALL, false)), 48, 0);
    EXPECT_NEAR(dync_item(dync_amax(dync_as_tensor(dync_at(want, 1)), DYNC_ALL, false)), -1, 0);
    EXPECT_NEAR(dync_item(dync_sum(dync_as_tensor(dync_at(want, 2)), DYNC_ALL, false)), 3, 1e-5);
    dync_graph *g = dync_make_graph_values(dync_args(of_graphs, "x, w, xs"), "f", 3, three);
    EXPECT(near(want, dync_graph_run(g, three, 3)));
    for (int b = 0; b < N_BACKENDS; b++) {
        dync_compiled *f = dync_compile(of_graphs, .backend = backends[b], .fullgraph = true);
        EXPECT(near(want, dync_call_values(f, 3, three)));
        dync_compiled_free(f);
    }
    EXPECT_OK(dync_error());
    EXPECT(dync_while_loop_op(parts[0], parts[1], dync_tuple(x), dync_tuple(w), -1).kind ==
           DYNC_KIND_NONE);
    EXPECT_EQ_INT(dync_error(), DYNC_ERR_VALUE);
    dync_clear_error();
    EXPECT(dync_scan_op(parts[2], dync_tuple(x), dync_tuple(dync_ones(DYNC_SCALAR)), dync_tuple(w),
                        false, 0)
               .kind == DYNC_KIND_NONE);
    EXPECT_EQ_INT(dync_error(), DYNC_ERR_SHAPE);
    dync_clear_error();
}

/* ---- random programs: nested steps over the plain loop --------------------------------------- */
TEST(random_nesting)
{
    for (int i = 0; i < test_count(40); i++) {
        random_seed = test__state.seed * 1000 + (uint64_t)i;
        char name[32];
        snprintf(name, sizeof name, "random_%d", i);
        check(name, random_fn, random_inputs, true);
    }
}

/* ---- behind a break, calls follow what earlier ones did -------------------------------------- */
static int sides;
static dync_value behind_a_break(const dync_value *a, int n, void *user)
{
    UNUSED;
    closure c = {T(1), NULL};
    dync_tensor *x = dync_mul(T(0), 2);
    dync_graph_break("a side effect of C");
    sides++;
    dync_value r =
        dync_cond(dync_gt(dync_sum(x, DYNC_ALL, false), 0), damp, dync_bind(push, &c, "h"), x);
    return dync_tuple(r, dync_map(dync_bind(row_norm, &c, "x"), x));
}
TEST(behind_a_break_and_again)
{
    for (int b = 0; b < N_BACKENDS; b++) {
        dync_compiled *f = dync_compile(behind_a_break, .backend = backends[b]);
        sides = 0;
        for (int call = 0; call < 8; call++) DYNC_SCOPE {
            dync_tensor *w = dync_randn(dync_shape(4));
            dync_value args[2] = {DYNC_V(dync_add(dync_randn(dync_shape(3, 4)), call % 2 ? 3 : -3)),
                                  DYNC_V(w)};
            dync_value got = dync_call_values(f, 2, args);
            EXPECT_EQ_INT(sides, call + 1);
            dync_value want = behind_a_break(args, 2, NULL);
            sides--;
            EXPECT_OK(dync_error());
            EXPECT(near(want, got));
        }
        dync_compiled_free(f);
    }
}

/* ---- text ------------------------------------------------------------------------------------ */
FN(sine)
{
    UNUSED;
    return DYNC_V(dync_sin(T(0)));
}
FN(cosine)
{
    UNUSED;
    return DYNC_V(dync_cos(T(0)));
}
static dync_value two_ways(const dync_value *a, int n, void *user)
{
    UNUSED;
    return dync_cond(T(0), sine, cosine, dync_tuple(T(1)));
}
/* PyTorch 2.5's text, but for the item that it takes from a tuple of one and the names of
 * operands */
TEST(prints_as_torch_fx)
{
    counter c = {0};
    dync_backend backend = COUNTER(c);
    dync_compiled *f =
        dync_compile(two_ways, .backend_object = &backend, .args = "p, x", .fullgraph = true);
    dync_value in[2] = {DYNC_V(dync_gt(dync_zeros(DYNC_SCALAR), 0)),
                        DYNC_V(dync_zeros(dync_shape(3)))};
    dync_call_values(f, 2, in);
    REQUIRE_OK(dync_error());
    EXPECT_EQ_INT(c.frame_count, 1);
    EXPECT_EQ_STR(dync_graph_readable(c.graphs[0]),
                  "class GraphModule(torch.nn.Module):\n"
                  "    def forward(self, L_p_: \"b8[]\", L_x_: \"f32[3]\"):\n"
                  "        l_p_ = L_p_\n"
                  "        l_x_ = L_x_\n"
                  "\n"
                  "        true_graph_0 = self.true_graph_0\n"
                  "        false_graph_0 = self.false_graph_0\n"
                  "        cond: \"f32[3]\" = torch.ops.higher_order.cond(l_p_, true_graph_0, "
                  "false_graph_0, [l_x_])[0];  l_p_ = true_graph_0 = false_graph_0 = l_x_ = None\n"
                  "        return (cond,)\n"
                  "\n"
                  "    class true_graph_0(torch.nn.Module):\n"
                  "        def forward(self, arg: \"f32[3]\"):\n"
                  "            sin: \"f32[3]\" = torch.sin(arg);  arg = None\n"
                  "            return (sin,)\n"
                  "\n"
                  "    class false_graph_0(torch.nn.Module):\n"
                  "        def forward(self, arg: \"f32[3]\"):\n"
                  "            cos: \"f32[3]\" = torch.cos(arg);  arg = None\n"
                  "            return (cos,)\n");
    dync_compiled_free(f);
}

/* ---- what is refused ------------------------------------------------------------------------- */
FN(writes)
{
    UNUSED;
    return DYNC_V(dync_add_(T(0), 1));
}
FN(other_shape)
{
    UNUSED;
    return DYNC_V(dync_sum(T(0), DYNC_ALL, false));
}
FN(other_dtype)
{
    UNUSED;
    return DYNC_V(dync_to_dtype(T(0), DYNC_F64));
}
FN(two_results)
{
    UNUSED;
    return dync_tuple(T(0), T(0));
}
FN(reads)
{
    UNUSED;
    return DYNC_V(dync_mul(T(0), dync_item(dync_sum(T(0), DYNC_ALL, false))));
}
FN(noise)
{
    UNUSED;
    return DYNC_V(dync_add(T(0), dync_rand(dync_shape(3))));
}
static dync_function other_way;
static dync_value with_other(const dync_value *a, int n, void *user)
{
    UNUSED;
    return dync_cond(T(0), sine, other_way, T(1));
}
static dync_value loop_of_other(const dync_value *a, int n, void *user)
{
    UNUSED;
    return dync_while_loop(small, other_way, dync_tuple(T(1)));
}
static dync_value no_truth(const dync_value *a, int n, void *user)
{
    UNUSED;
    return dync_cond(T(1), sine, cosine, T(1));
}
static void refused(dync_function fn, dync_function other, dync_status status, const char *text)
{
    other_way = other;
    dync_compiled *f = dync_compile(fn, .fullgraph = true);
    dync_value in[2] = {DYNC_V(dync_gt(dync_ones(DYNC_SCALAR), 0)),
                        DYNC_V(dync_ones(dync_shape(3)))};
    dync_value r = dync_call_values(f, 2, in);
    EXPECT(r.kind == DYNC_KIND_NONE);
    if (!EXPECT_EQ_INT(dync_error(), status) || !EXPECT(strstr(dync_error_message(), text) != NULL))
        printf("    got: %s\n", dync_error_message());
    dync_clear_error();
    dync_compiled_free(f);
}
TEST(refuses)
{
    refused(with_other, writes, DYNC_ERR_UNSUPPORTED,
            "else_fn: it might be modifying the input (add_)");
    refused(with_other, other_shape, DYNC_ERR_VALUE, "expected f32[3], got f32[]");
    refused(with_other, other_dtype, DYNC_ERR_VALUE, "expected f32[3], got f64[3]");
    refused(with_other, two_results, DYNC_ERR_VALUE, "got 1 tensors and 2");
    refused(with_other, reads, DYNC_ERR_UNSUPPORTED, "cond: else_fn: it reads values");
    refused(with_other, noise, DYNC_ERR_UNSUPPORTED, "random numbers");
    refused(loop_of_other, other_shape, DYNC_ERR_VALUE,
            "carried value 0: expected f32[3], got f32[]");
    refused(loop_of_other, other_dtype, DYNC_ERR_VALUE,
            "carried value 0: expected f32[3], got f64[3]");
    refused(loop_of_other, two_results, DYNC_ERR_VALUE, "1 carried values back, got 2");
    refused(no_truth, sine, DYNC_ERR_VALUE,
            "expected a bool tensor of one element, got f32 of several");
}
TEST(refuses_plainly)
{
    dync_value in[2] = {DYNC_V(dync_gt(dync_zeros(DYNC_SCALAR), 0)),
                        DYNC_V(dync_ones(dync_shape(3)))};
    other_way = writes;
    with_other(in, 2, NULL);
    EXPECT_EQ_INT(dync_error(), DYNC_ERR_UNSUPPORTED);
    dync_clear_error();
    other_way = other_shape;
    loop_of_other(in, 2, NULL);
    EXPECT_EQ_INT(dync_error(), DYNC_ERR_VALUE);
    dync_clear_error();
    no_truth(in, 2, NULL);
    EXPECT_EQ_INT(dync_error(), DYNC_ERR_VALUE);
    dync_clear_error();
}
static dync_value other_lengths(const dync_value *a, int n, void *user)
{
    (void)n, (void)user;
    return dync_scan(other_way, dync_zeros(DYNC_SCALAR),
                     dync_tuple(T(1), dync_ones(dync_shape(2))));
}
/* Before any operator is called, too. */
TEST(refusals_name_the_line)
{
    dync_value (*const fn[])(const dync_value *, int, void *) = {no_truth, other_lengths};
    dync_value in[2] = {DYNC_V(dync_gt(dync_zeros(DYNC_SCALAR), 0)),
                        DYNC_V(dync_ones(dync_shape(3)))};
    for (int k = 0; k < 4; k++) {
        dync_compiled *f = dync_compile(fn[k / 2]);
        other_way = sine;
        if (k % 2)
            dync_call_values(f, 2, in);
        else
            fn[k / 2](in, 2, NULL);
        EXPECT_HAS_STR(dync_error_message(), "(" __FILE__ ":");
        dync_clear_error();
        dync_compiled_free(f);
    }
}
TEST(a_loop_without_a_limit_has_no_compiled_backward)
{
    dync_compiled *f = dync_compile(newton_iteration_to_convergence_fn, .fullgraph = true);
    dync_value in = DYNC_V(dync_requires_grad_(dync_add(dync_ones(dync_shape(3)), 1), true));
    dync_value r = dync_call_values(f, 1, &in);
    REQUIRE_OK(dync_error());
    dync_backward(dync_sum(dync_as_tensor(dync_at(dync_at(r, 0), 0)), DYNC_ALL, false));
    EXPECT_EQ_INT(dync_error(), DYNC_ERR_AUTOGRAD);
    EXPECT(strstr(dync_error_message(), "dync_while_loop_limit") != NULL);
    dync_clear_error();
    dync_compiled_free(f);
}

TEST_MAIN
