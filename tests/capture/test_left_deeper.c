/* Traced functions that are left by longjmp: calls that follow from deeper on the stack, jumps out
 * of dync_make_graph, jumps that end inside the traced function. Beside test_left.c. */
#include "counter.h"
#include <setjmp.h>

static jmp_buf away;
static int leaving; /* which leave() jumps; 0: none */
static int met;
static void leave(void)
{
    if (++met == leaving) longjmp(away, 1);
}
/* A call that leaves at its n-th place; false: there is none. */
static bool left_at(int n, dync_compiled *f, dync_tensor *x)
{
    met = 0;
    leaving = n;
    bool jumped = setjmp(away) != 0;
    if (!jumped) (void)dync_call(f, x);
    leaving = 0;
    return jumped;
}

/* ---- from deeper on the stack ---------------------------------------------------------------- */
/* Other functions stand where the trace stood; what they reserve is not even written. */
#if defined(__GNUC__)
#define DEEPER __attribute__((noinline)) static
#else
#define DEEPER static
#endif
static char *volatile reserved;
DEEPER dync_tensor *deeper(dync_tensor *x, int deep)
{
    char room[4096];
    reserved = room;
    dync_tensor *y = deep ? deeper(x, deep - 1) : dync_add(dync_mul(x, 2), 1);
    reserved = NULL;
    return y;
}
DEEPER double deeper_item(dync_tensor *x)
{
    char room[8000];
    reserved = room;
    double v = dync_item(dync_select(x, 0, 0));
    reserved = NULL;
    return v;
}
DEEPER bool deeper_compiling(void)
{
    char room[16000];
    reserved = room;
    bool compiling = dync_is_compiling();
    reserved = NULL;
    return compiling;
}
static dync_tensor *deep_inside(dync_tensor *x)
{
    dync_tensor *y = deeper(dync_mul(x, 3), 2);
    leave();
    y = deeper(y, 0);
    return dync_add(y, deeper(x, 1));
}
static void called_from_deeper(const char *backend, int deep)
{
    dync_tensor *x = dync_randn(dync_shape(4)), *want = dync_add(dync_mul(x, 2), 1),
                *whole_want = deep_inside(x);
    dync_compiled *f = dync_compile(deep_inside, .backend = backend);
    for (int way = 0; way < 4; way++) {
        EXPECT(left_at(1, f, x));
        int64_t tensors = dync_memory_stats().live_tensors;
        if (way == 0) EXPECT(same(deeper(x, deep), want, 0));
        if (way == 1) EXPECT(deeper_item(x) == dync_item(dync_select(x, 0, 0)));
        if (way == 2) EXPECT(!deeper_compiling());
        if (way == 3) EXPECT(same(dync_call(f, x), whole_want, 1e-5));
        if (way == 2) EXPECT(dync_memory_stats().live_tensors < tensors);
        EXPECT(!dync_is_compiling());
        EXPECT_EQ_INT(dync_error(), DYNC_OK);
    }
    dync_compiled_free(f);
}
TEST(calls_from_deeper_on_the_stack)
{
    for (int deep = 0; deep < 6; deep++) DYNC_SCOPE {
        called_from_deeper("inductor", deep);
        called_from_deeper("eager", deep);
    }
}
/* The same functions, at the same depths, inside the next trace: they are its own. */
TEST(deep_calls_inside_stay_inside)
{
    for (int n = 0; n < 4; n++) DYNC_SCOPE {
        dync_tensor *x = dync_randn(dync_shape(4)), *want = deep_inside(x);
        dync_compiled *f = dync_compile(deep_inside, .fullgraph = true);
        EXPECT(same(dync_call(f, x), want, 1e-5));
        EXPECT_EQ_INT(dync_compiled_info(f).entries, 1);
        if (n & 1) EXPECT(left_at(1, dync_compile(deep_inside), x));
        if (n & 2) (void)deeper(x, n);
        EXPECT(same(dync_call(f, x), want, 1e-5));
        dync_compiled_free(f);
    }
    EXPECT_EQ_INT(dync_error(), DYNC_OK);
}

/* A part of the function runs on a stack of its own, below that of the thread: it is no other
 * call's. */
#if defined(__linux__) && !defined(TEST_TSAN)
#include <ucontext.h>
static ucontext_t outside, inside;
static dync_tensor *passed;
static void on_its_own_stack(void) { passed = deeper(passed, 1); }
static dync_tensor *changes_stacks(dync_tensor *x)
{
    static char stack[256 << 10];
    passed = dync_mul(x, 2);
    if (getcontext(&inside) != 0) return NULL;
    inside.uc_stack.ss_sp = stack;
    inside.uc_stack.ss_size = sizeof stack;
    inside.uc_link = &outside;
    makecontext(&inside, on_its_own_stack, 0);
    if (swapcontext(&outside, &inside) != 0) return NULL;
    return dync_add(passed, x);
}
TEST(a_function_that_changes_stacks)
{
    dync_tensor *x = dync_randn(dync_shape(4)), *want = changes_stacks(x);
    dync_compiled *f = dync_compile(changes_stacks, .fullgraph = true);
    for (int i = 0; i < 3; i++) EXPECT(same(dync_call(f, x), want, 1e-5));
    EXPECT_EQ_INT(dync_compiled_info(f).graphs, 1);
    EXPECT_EQ_INT(dync_error(), DYNC_OK);
    dync_compiled_free(f);
}
#endif

/* ---- out of dync_make_graph ------------------------------------------------------------------ */
static dync_tensor *made(dync_tensor *x)
{
    leave();
    dync_tensor *y = dync_sin(x);
    DYNC_NO_GRAD {
        leave();
        y = dync_mul(y, 2);
    }
    leave();
    return dync_add(y, x);
}
static dync_tensor *recorded; /* from outside of the trace */
static dync_tensor *made_inside(dync_tensor *x)
{
    dync_graph *g = dync_make_graph(made, recorded);
    return g ? dync_mul(x, (double)dync_graph_len(g)) : NULL;
}
TEST(longjmp_out_of_make_graph)
{
    static const dync_trace_mode mode[] = {DYNC_TRACE_REAL, DYNC_TRACE_FAKE, DYNC_TRACE_SYMBOLIC};
    int64_t tensors = dync_memory_stats().live_tensors;
    for (int k = 0; k < 3; k++)
        for (int n = 1; n <= 3; n++)
            for (int deep = -1; deep < 4; deep++) DYNC_SCOPE {
                dync_tensor *x = dync_requires_grad_(dync_ones(dync_shape(2, 3)), true);
                met = 0;
                leaving = n;
                dync_make_graph_mode(mode[k]);
                bool left = setjmp(away) != 0;
                if (!left) (void)dync_make_graph(made, x);
                leaving = 0;
                EXPECT(left);
                dync_tensor *y = deep < 0 ? dync_add(dync_mul(x, 2), 1) : deeper(x, deep);
                EXPECT(same(y, dync_full(dync_shape(2, 3), 3.0), 0));
                EXPECT(dync_requires_grad(y)); /* grad mode is on */
                dync_graph *g = dync_make_graph(made, x);
                if (EXPECT(g != NULL)) EXPECT_EQ_INT(dync_graph_len(g), 7); /* with grad modes */
                EXPECT_EQ_INT(dync_error(), DYNC_OK);
            }
    EXPECT_EQ_INT(dync_memory_stats().live_tensors, tensors);
}
TEST(longjmp_out_of_make_graph_in_a_trace)
{
    DYNC_SCOPE {
        dync_tensor *x = dync_ones(dync_shape(2));
        recorded = dync_ones(dync_shape(2, 2));
        dync_compiled *f = dync_compile(made_inside, .backend = "eager");
        for (int n = 1; n <= 3; n++) EXPECT(left_at(n, f, x));
        EXPECT(same(deeper(x, 1), dync_full(dync_shape(2), 3.0), 0));
        EXPECT(same(dync_call(f, x), made_inside(x), 0));
        dync_compiled_free(f);
    }
    EXPECT_EQ_INT(dync_error(), DYNC_OK);
}

/* ---- the end of the library ------------------------------------------------------------------ */
static dync_tensor *ends_it(dync_tensor *x)
{
    dync_tensor *y = dync_mul(x, 2);
    dync_shutdown();
    return dync_add(y, 1);
}
static dync_compiled *itself;
static dync_tensor *frees_itself(dync_tensor *x)
{
    dync_tensor *y = dync_mul(x, 2);
    if (met)
        dync_reset();
    else
        dync_compiled_free(itself);
    return dync_add(y, 1);
}
TEST(freed_and_forgotten_inside_its_call)
{
    static const char *const says[] = {
        "dync_compiled_free: called inside a call of function 'frees_itself'",
        "dync_reset: called inside a call of function 'frees_itself'"};
    dync_tensor *x = dync_ones(dync_shape(2));
    for (met = 0; met < 2; met++) {
        itself = dync_compile(frees_itself);
        EXPECT(dync_call(itself, x) == NULL);
        EXPECT_STATUS(dync_error(), DYNC_ERR_VALUE);
        EXPECT_HAS_STR(dync_error_message(), says[met]);
        dync_clear_error();
        dync_compiled_free(itself);
        EXPECT_EQ_INT(dync_error(), DYNC_OK);
    }
    dync_reset();
    EXPECT_EQ_INT(dync_error(), DYNC_OK);
}
TEST(shutdown_inside_a_trace_and_after_a_jump)
{
    dync_tensor *x = dync_ones(dync_shape(2));
    dync_compiled *f = dync_compile(ends_it), *g = dync_compile(deep_inside);
    EXPECT(dync_call(f, x) == NULL);
    EXPECT_STATUS(dync_error(), DYNC_ERR_VALUE);
    EXPECT_HAS_STR(dync_error_message(), "dync_shutdown: called inside a function");
    dync_clear_error();
    EXPECT(same(dync_call(g, x), deep_inside(x), 1e-5));
    dync_compiled_free(f), dync_compiled_free(g);
    g = dync_compile(deep_inside);
    EXPECT(left_at(1, g, x));
    dync_shutdown();
    EXPECT_EQ_INT(dync_error(), DYNC_OK);
    EXPECT_NEAR(dync_item(dync_sum(deeper(dync_ones(dync_shape(2)), 2), DYNC_ALL, false)), 6, 0);
    met = 0, leaving = 2;
    if (setjmp(away) == 0) (void)dync_make_graph(made, dync_ones(dync_shape(2)));
    leaving = 0;
    dync_shutdown();
    EXPECT_NEAR(dync_item(dync_sum(deeper(dync_ones(dync_shape(2)), 2), DYNC_ALL, false)), 6, 0);
    EXPECT_EQ_INT(dync_error(), DYNC_OK);
}

/* ---- caught inside the traced function ------------------------------------------------------- */
static jmp_buf near;
static bool returning; /* at once, without another call */
static void leave_near(void)
{
    if (++met == leaving) longjmp(near, 1);
}
static dync_tensor *near_frame(dync_tensor *x)
{
    dync_tensor *y = dync_sin(x);
    leave_near();
    return dync_add(y, 1);
}
static dync_tensor *near_frames(dync_tensor *x)
{
    leave_near();
    DYNC_SCOPE {
        return dync_escape(dync_frame(near_frame, dync_mul(x, 2)));
    }
    return NULL;
}
static dync_tensor *near_break(dync_tensor *x)
{
    dync_tensor *y = dync_cos(x);
    dync_graph_break("in a frame");
    leave_near();
    return dync_mul(y, 2);
}
static dync_value near_step(const dync_value *a, int n, void *user)
{
    (void)n, (void)user;
    dync_tensor *h = dync_add(a[0], dync_sin(dync_as_tensor(a[1])));
    leave_near();
    return dync_tuple(h, dync_mul(h, 2));
}
static dync_tensor *near_cond(dync_tensor *x)
{
    leave_near();
    return dync_exp(x);
}
static dync_tensor *near_places(dync_tensor *x, dync_tensor *y)
{
    y = dync_add(y, dync_frame(near_frames, x));
    y = dync_add(y, dync_frame(dync_disable(near_frame), y));
    y = dync_add(y, dync_frame(near_break, y));
    y = dync_as_tensor(
        dync_cond(dync_gt(dync_sum(y, DYNC_ALL, false), 0), near_cond, near_cond, y));
    return dync_as_tensor(
        dync_at(dync_scan(dync_bind(near_step, NULL, "h, x"), dync_select(y, 0, 0), y), 1));
}
static dync_tensor *catches(dync_tensor *x)
{
    dync_tensor *first = dync_mul(x, 3), *volatile y = first;
    if (setjmp(near) == 0)
        y = near_places(x, first);
    else if (!returning)
        y = dync_add(dync_frame(near_frame, first), deeper(x, 2));
    return y;
}
static void caught_inside(const char *backend, bool fullgraph, int n)
{
    dync_tensor *x = dync_sin(dync_ones(dync_shape(3, 4)));
    for (int k = 0; k < 2; k++) {
        returning = k == 1;
        leaving = 0; /* whatever place is left, what lies between is lost */
        dync_tensor *want = dync_mul(x, 3);
        if (!returning) want = dync_add(near_frame(want), deeper(x, 2));
        dync_compiled *f = dync_compile(catches, .backend = backend, .fullgraph = fullgraph);
        for (int i = 0; i < 3; i++) {
            met = 0, leaving = n;
            EXPECT(same(dync_call(f, x), want, 1e-5));
            EXPECT(!dync_is_compiling());
            EXPECT(same(deeper(x, 1), dync_add(dync_mul(x, 2), 1), 0));
            EXPECT_EQ_INT(dync_error(), DYNC_OK);
        }
        dync_compiled_free(f);
    }
    leaving = 0;
}
TEST(a_jump_inside_the_traced_function)
{
    for (int n = 1; n <= 7; n++) DYNC_SCOPE {
        caught_inside("inductor", false, n);
        caught_inside("eager", false, n);
    }
    int64_t tensors = dync_memory_stats().live_tensors;
    DYNC_SCOPE {
        caught_inside("inductor", true, 2);
    }
    EXPECT_EQ_INT(dync_memory_stats().live_tensors, tensors);
}

TEST_MAIN
