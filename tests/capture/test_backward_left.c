/* Backward that is left in a function that it calls: hooks of leaves and of values, hooks after
 * accumulation, pre and post hooks of a node; walked, compiled, inside a traced function. */
#include "counter.h"
#include <setjmp.h>

static jmp_buf away;
static int leaving, met;
static void leave(void)
{
    if (++met == leaving) longjmp(away, 1);
}
static dync_tensor *doubles(dync_tensor *g, void *user)
{
    (void)user;
    leave();
    dync_tensor *r = dync_mul(g, 2);
    leave();
    return r;
}
static void after(dync_tensor *p, void *user)
{
    (void)p, (void)user;
    leave();
}
static dync_tensor *hooked(dync_tensor *x)
{
    dync_tensor *y = dync_mul(x, 3), *z = dync_sin(y);
    dync_register_hook(y, doubles, NULL);
    return dync_sum(dync_mul(z, y), DYNC_ALL, false);
}
static dync_tensor *plain(dync_tensor *x)
{
    return dync_sum(dync_sin(dync_mul(x, 3)), DYNC_ALL, false);
}
static dync_tensor *step(dync_tensor *x)
{
    dync_tensor *l = hooked(x);
    dync_backward(l);
    return dync_detach(l);
}
static dync_tensor *leaf(void)
{
    float data[] = {.1f, .5f, 2};
    return dync_requires_grad_(dync_from(data, dync_shape(3)), true);
}
/* Everything works as if nothing had been. */
static void works(void)
{
    leaving = 0;
    EXPECT(!dync_is_compiling());
    EXPECT(dync_is_grad_enabled());
    dync_tensor *x = leaf(), *y = leaf();
    dync_compiled *f = dync_compile(hooked);
    dync_backward(hooked(x));
    dync_backward(dync_call(f, y));
    EXPECT(same(dync_grad(x), dync_grad(y), 1e-5));
    dync_compiled_free(f);
    EXPECT_EQ_INT(dync_error(), DYNC_OK);
}

static void walk(dync_tensor *l, dync_tensor *x, int how)
{
    if (how == 2)
        (void)dync_gradients(DYNC_V(l), DYNC_V(x), DYNC_NONE, (dync_grad_options){0});
    else
        dync_backward(l);
}
/* how: 0 walked, 1 a compiled forward, 2 gradients of two, 3 nested in a custom walk */
static bool left_at(int n, int how, dync_compiled *f)
{
    dync_tensor *volatile x = leaf();
    dync_tensor *l = how == 1 ? dync_call(f, x) : hooked(x);
    if (how != 2) dync_register_hook(x, doubles, NULL);
    if (how != 2) dync_register_post_accumulate_hook(x, after, NULL);
    dync_grad_fn_hook(l, how == 3 ? doubles : NULL, how == 3 ? NULL : doubles, NULL);
    met = 0;
    leaving = n;
    bool left = setjmp(away) != 0;
    if (!left) walk(l, x, how);
    leaving = 0;
    return left;
}
TEST(a_hook_is_left)
{
    dync_compiled *f = dync_compile(plain);
    for (int how = 0; how < 4; how++) {
        int n = 1;
        for (bool left = true; left; n++) DYNC_SCOPE {
            left = left_at(n, how, f);
            works();
        }
        EXPECT(n > 3);
    }
    dync_compiled_free(f);
}
/* Of a leaf, of a value and of a node; nothing of them stays when the scope has ended. */
static void many_left(int kind)
{
    dync_tensor *x = leaf(), *y = dync_mul(x, 3), *l = dync_sum(y, DYNC_ALL, false);
    for (int i = 0; i < 12; i++) {
        if (kind == 0) dync_register_hook(x, doubles, NULL);
        if (kind == 1) dync_register_hook(y, doubles, NULL);
        if (kind == 2) dync_grad_fn_hook(y, NULL, doubles, NULL);
        if (kind == 3) dync_register_post_accumulate_hook(x, after, NULL);
    }
    met = 0;
    leaving = kind == 3 ? 10 : 19;
    if (!setjmp(away)) {
        dync_backward(l);
        EXPECT(!"left");
    }
    leaving = 0;
}
TEST(many_hooks_are_left)
{
    int64_t before = 0;
    for (int round = 0; round < 24; round++) {
        DYNC_SCOPE many_left(round % 4);
        DYNC_SCOPE works();
        if (round == 8) before = dync_memory_stats().live_bytes;
        if (round % 4 == 0 && round > 8) EXPECT_EQ_INT(dync_memory_stats().live_bytes, before);
    }
}
static bool traced_left_at(int n, dync_compiled *f)
{
    met = 0;
    leaving = n;
    bool left = setjmp(away) != 0;
    if (!left) (void)dync_call(f, leaf());
    leaving = 0;
    return left;
}
TEST(a_hook_is_left_while_it_is_traced)
{
    for (int full = 0; full < 2; full++) {
        dync_compiled *f = dync_compile(step, .fullgraph = full);
        for (int n = 1; n <= 2; n++) DYNC_SCOPE {
            bool left = traced_left_at(n, f);
            EXPECT(left || n > 1);
            works();
            dync_tensor *a = leaf(), *b = leaf();
            EXPECT(same(dync_call(f, a), step(b), 1e-5));
            EXPECT(same(dync_grad(a), dync_grad(b), 1e-5));
        }
        dync_compiled_free(f);
    }
}
/* Compiled autograd calls hooks while it captures; a second backward runs what was captured. */
static bool captured_left_at(int n)
{
    dync_tensor *volatile x = leaf();
    dync_tensor *l = hooked(x);
    dync_register_hook(x, doubles, NULL);
    met = 0;
    leaving = n;
    EXPECT(dync_compiled_autograd_begin("inductor"));
    bool left = setjmp(away) != 0;
    if (!left) dync_backward(l);
    dync_compiled_autograd_end();
    leaving = 0;
    return left;
}
TEST(a_hook_is_left_while_compiled_autograd_captures_it)
{
    int n = 1;
    for (bool left = true; left; n++) DYNC_SCOPE {
        left = captured_left_at(n);
        works();
        dync_tensor *x = leaf(), *y = leaf();
        dync_tensor *l = hooked(x);
        EXPECT(dync_compiled_autograd_begin("inductor"));
        dync_backward(l);
        dync_compiled_autograd_end();
        dync_backward(hooked(y));
        EXPECT(same(dync_grad(x), dync_grad(y), 1e-5));
    }
    EXPECT(n > 4);
}
TEST(what_is_left_leaks_nothing)
{
    dync_shutdown();
    EXPECT_OK(dync_init((dync_init_options){.threads = 1}));
    int64_t tensors = dync_memory_stats().live_tensors;
    for (int n = 1; n <= 4; n++) DYNC_SCOPE {
        (void)left_at(n, 0, NULL);
        EXPECT(dync_is_grad_enabled());
        (void)captured_left_at(n);
        EXPECT(dync_is_grad_enabled());
    }
    EXPECT_EQ_INT(dync_memory_stats().live_tensors, tensors);
}
TEST_MAIN
