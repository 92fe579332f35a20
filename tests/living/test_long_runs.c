/* Long runs of small programs, each of which does several living things at once: control flow
 * inside control flow at many lengths, numbers and sizes that data decide, hooks that train, a jump
 * out in the middle, modes of the thread that take turns. */
#include "users.h"
#include <setjmp.h>

static T total(T x) { return dync_sum(x, DYNC_ALL, false); }
static T w[3];
static dync_compiled *f;

/* A call of what is compiled, or the function itself. */
#define CALL(fn, ...) (user->compiled ? dync_call(f, __VA_ARGS__) : fn(__VA_ARGS__))

/* ---- control flow in control flow ------------------------------------------------------------ */
static dync_value grows(const dync_value *v, int n, void *u)
{
    T h = dync_as_tensor(v[0]), x = dync_as_tensor(v[1]);
    (void)n, (void)u;
    return dync_v_tensor(dync_tanh(dync_add(dync_matmul(h, w[0]), x)));
}
static dync_value decays(const dync_value *v, int n, void *u)
{
    T h = dync_as_tensor(v[0]), x = dync_as_tensor(v[1]);
    (void)n, (void)u;
    return dync_v_tensor(dync_sub(dync_mul(h, 0.5), dync_mul(x, 0.25)));
}
static dync_value turn(const dync_value *v, int n, void *u)
{
    T h = dync_as_tensor(v[0]), x = dync_as_tensor(v[1]);
    (void)n, (void)u;
    T big = dync_gt(total(dync_mul(h, h)), 1.5);
    T next = dync_as_tensor(dync_cond(big, decays, grows, dync_tuple(h, x)));
    return dync_tuple(next, total(next));
}
static dync_value far(const dync_value *v, int n, void *u)
{
    T x = dync_as_tensor(v[0]);
    (void)n, (void)u;
    return dync_v_tensor(dync_gt(dync_abs(dync_sub(dync_mul(x, x), 2)), 1e-5));
}
static dync_value nearer(const dync_value *v, int n, void *u)
{
    T x = dync_as_tensor(v[0]), r = dync_as_tensor(v[1]);
    (void)n, (void)u;
    return dync_tuple(dync_mul(dync_add(x, dync_div(2, x)), 0.5), dync_add(r, 1));
}
static dync_value root(const dync_value *v, int n, void *u)
{
    T x = dync_as_tensor(v[0]);
    (void)n, (void)u;
    T start = dync_add(dync_abs(total(x)), 0.5);
    dync_value r = dync_while_loop(far, nearer, dync_tuple(start, dync_zeros(dync_shape())));
    return dync_v_tensor(dync_add(dync_as_tensor(dync_at(r, 0)), dync_as_tensor(dync_at(r, 1))));
}
static dync_value affine(const dync_value *v, int n, void *u)
{
    dync_value a = v[0], b = v[1];
    (void)n, (void)u;
    T a0 = dync_as_tensor(dync_at(a, 0)), a1 = dync_as_tensor(dync_at(a, 1));
    T b0 = dync_as_tensor(dync_at(b, 0)), b1 = dync_as_tensor(dync_at(b, 1));
    return dync_tuple(dync_mul(a0, b0), dync_add(dync_mul(a1, b0), b1));
}
static T nested(T xs)
{
    dync_value v = dync_scan(turn, dync_zeros(dync_shape(1, 4)), dync_unsqueeze(xs, 1));
    T sums = dync_as_tensor(dync_at(v, 1)), roots = dync_as_tensor(dync_map(root, dync_detach(xs)));
    dync_value line =
        dync_associative_scan(affine, dync_tuple(dync_sigmoid(xs), dync_mul(xs, 0.1)), 0);
    T last = dync_as_tensor(dync_at(line, 1));
    return dync_add(dync_add(total(dync_mul(sums, roots)), total(dync_mul(last, last))),
                    total(dync_as_tensor(dync_at(v, 0))));
}
static void nested_make(void)
{
    w[0] = P(S(4, 4), .3, .8);
    f = dync_compile(nested, .fullgraph = true, .dynamic = DYNC_DYNAMIC_ON);
}
static void nested_epoch(void)
{
    for (int n = 2; n < 40; n += 3) DYNC_SCOPE {
        T x = dync_requires_grad_(det(S(n, 4), n, 1), true), y = CALL(nested, x);
        dync_backward(y);
        say(y), say(dync_grad(x)), say_gradients(1, w);
        clear_gradients(1, w);
    }
}
static void control_in_control(living *p)
{
    lives_for_two_epochs(p, nested_make, nested_epoch);
    dync_compiled_free(f);
}
TEST(control_in_control) { lives(control_in_control, -1, -1, 1e-4); }

/* ---- what data decide ------------------------------------------------------------------------ */
static T decided(T x)
{
    T good = dync_gt(dync_sum(x, dync_shape(1), false), 0.0);
    dync_value n = dync_item_sym(total(dync_to_dtype(good, DYNC_I64)));
    dync_check(n, 0, 64);
    T rows = dync_index_select(x, 0, dync_select(dync_nonzero(good), 1, 0));
    T y = dync_matmul(dync_tanh(rows), w[0]);
    return dync_add(total(dync_mul(y, y)), total(dync_full(dync_shape(dync_as_dim(n), 2), 0.25)));
}
static void decided_make(void)
{
    w[0] = P(S(6, 5), .3, .8);
    f = dync_compile(decided, .fullgraph = true, .dynamic = DYNC_DYNAMIC_ON,
                     .capture_scalars = true, .capture_dynamic_shapes = true);
}
static void decided_epoch(void)
{
    for (int i = 0; i < 60; i++) DYNC_SCOPE {
        T x = dync_requires_grad_(det(S(2 + i, 6), 1.7 * i, 1), true), y = CALL(decided, x);
        dync_backward(y);
        say(y), say(dync_grad(x)), say_gradients(1, w);
        clear_gradients(1, w);
    }
}
static void data_decide(living *p)
{
    lives_for_two_epochs(p, decided_make, decided_epoch);
    dync_compiled_free(f);
}
TEST(data_decide) { lives(data_decide, -1, -1, 1e-4); }

/* ---- hooks that train, and a jump out -------------------------------------------------------- */
static jmp_buf away;
static int rounds;
static T clipped(T g, void *u) { return (void)u, dync_clamp(g, -0.05, 0.05); }
static void steps_down(T p, void *u)
{
    (void)u;
    DYNC_NO_GRAD dync_sub_(p, dync_mul(dync_grad(p), 0.1));
    dync_set_grad(p, NULL);
}
static T hooked(T x, T t)
{
    T h = dync_tanh(dync_matmul(x, w[0]));
    dync_register_hook(h, clipped, NULL);
    if (rounds == 31) longjmp(away, 1);
    T d = dync_sub(dync_matmul(h, w[1]), t);
    T loss = dync_mean(dync_mul(d, d), DYNC_ALL, false);
    dync_backward(loss);
    return dync_detach(loss);
}
static void hooked_make(void)
{
    w[0] = P(S(5, 7), .3, .5), w[1] = P(S(7, 2), 1.1, .5);
    for (int i = 0; i < 2; i++) dync_register_post_accumulate_hook(w[i], steps_down, NULL);
    f = dync_compile(hooked, .fullgraph = true);
    rounds = 0;
}
/* The jump is out of the C function: plainly in every round that asks, compiled in those that
 * trace. It comes where both run it: with inputs of a dtype of their own. */
static void hooked_epoch(void)
{
    for (int i = 0; i < 40; i++) DYNC_SCOPE {
        T x = det(S(4, 5), i, 1), t = det(S(4, 2), 2 * i, 1);
        rounds = i == 20 ? 31 : 0;
        volatile bool left = true;
        if (setjmp(away) == 0) {
            if (i == 20) {
                dync_compiled *g = dync_compile(hooked, .fullgraph = true);
                if (user->compiled)
                    dync_call(g, x, t);
                else
                    hooked(x, t);
            } else {
                say(CALL(hooked, x, t));
                left = false;
            }
        }
        note(user, left);
        say(w[0]), say(w[1]);
    }
}
static void hooks_that_train(living *p)
{
    user = p;
    if (!p->compiled) dync_set_stance("force_eager");
    DYNC_SCOPE {
        hooked_make();
        for (int i = 0; i < 5; i++) {
            hooked_epoch();
            if (i == 0) settled(p);
        }
        settled(p);
    }
    dync_set_stance("default");
    dync_compiled_free(f);
}
TEST(hooks_that_train) { lives(hooks_that_train, -1, -1, 1e-4); }

/* ---- modes that take turns ------------------------------------------------------------------- */
static dync_module *net;
static T moded(T x)
{
    T y = dync_forward_call(net, x);
    return dync_add(total(dync_mul(y, y)), total(dync_ones(dync_shape(2, 3))));
}
static void moded_epoch(void)
{
    T p[8];
    int n = dync_module_parameters(net, p, 8);
    for (int i = 0; i < 48; i++) DYNC_SCOPE {
        dync_module_train(net, i & 1);
        for (int k = 0; k < n; k++) dync_requires_grad_(p[k], i & 2 || k % 2);
        T x = det(S(3 + i % 3, 4), i, 1), y;
        if (i & 4) {
            DYNC_NO_GRAD y = CALL(moded, x);
            say(y);
            continue;
        }
        y = CALL(moded, x);
        say(y);
        dync_backward(y);
        for (int k = 0; k < n; k++) {
            note(user, dync_grad(p[k]) != NULL);
            if (dync_grad(p[k])) say(dync_grad(p[k]));
            dync_set_grad(p[k], NULL);
        }
    }
}
static void moded_make(void)
{
    net = dync_sequential(dync_nn_linear(4, 8, true), dync_nn_layer_norm(8), dync_nn_relu(),
                          dync_nn_linear(8, 2, true));
    set_weights(net, .4);
    f = dync_compile(moded, .recompile_limit = 64);
}
static void modes_in_turn(living *p)
{
    lives_for_two_epochs(p, moded_make, moded_epoch);
    dync_compiled_free(f);
    dync_module_free(net);
}
TEST(modes_in_turn) { lives(modes_in_turn, -1, -1, 1e-4); }

TEST_MAIN
