/* Many threads through one compiled function: first compiles at once, trees that grow while others
 * run them, shared segments, opaque breaks, different backends, and dync_reset between. Meant for
 * the thread sanitizer as well. */
#define TEST_AFTER_EACH dync_shutdown()
#include "counter.h"
#include <pthread.h>

enum { THREADS = 4, CALLS = 60 };
static dync_compiled *f;
static int32_t wrong;
typedef dync_tensor *(*binary)(dync_tensor *, dync_tensor *);
static binary plain;

static dync_tensor *pointwise(dync_tensor *x, dync_tensor *y)
{
    return dync_tanh(dync_add(dync_mul(x, y), 1));
}
static dync_tensor *branches(dync_tensor *x, dync_tensor *y)
{
    dync_tensor *unused = dync_exp(x), *z = dync_mul(x, y);
    (void)unused;
    for (int i = 0; i < 6; i++) {
        if (dync_bool(dync_gt(dync_select(y, 0, i), 0)))
            z = dync_add(z, i);
        else
            z = dync_mul(z, 0.5);
    }
    return z;
}
static dync_tensor *opaque(dync_tensor *x, dync_tensor *y)
{
    dync_tensor *z = dync_mul(x, y);
    dync_graph_break("here");
    return dync_add(z, dync_sin(y));
}
static dync_tensor *by_item(dync_tensor *x, dync_tensor *y)
{
    return dync_mul(x, dync_item(dync_select(y, 0, 0)));
}
static dync_tensor *writes(dync_tensor *x, dync_tensor *y)
{
    dync_tensor *z = dync_mul(x, 1);
    dync_add_(z, y);
    return z;
}

/* Each way of the tree uses another part of what the first graph made, which is computed as soon as
 * a way is known that uses it: calls of other threads are between the two. */
static dync_tensor *more_is_used(dync_tensor *x, dync_tensor *y)
{
    dync_tensor *u = dync_exp(x), *z = dync_mul(x, y), *w = dync_cos(y);
    for (int i = 0; i < 4; i++) {
        bool positive = dync_bool(dync_gt(dync_select(y, 0, i), 0));
        z = positive ? dync_add(z, i) : dync_mul(z, 0.5);
        if (!positive && i >= 2) z = dync_add(z, i == 2 ? u : w);
    }
    return z;
}
/* And x is written before that is seen. */
static dync_tensor *more_is_used_late(dync_tensor *x, dync_tensor *y)
{
    dync_tensor *copy = dync_mul(x, 1), *u = dync_exp(copy), *z = dync_mul(x, y);
    if (!dync_bool(dync_gt(dync_select(y, 0, 0), 0))) return z;
    if (dync_bool(dync_gt(dync_select(y, 0, 1), 0))) dync_mul_(copy, 2);
    return dync_bool(dync_gt(dync_select(y, 0, 2), 0)) ? dync_add(dync_add(z, u), copy) : z;
}

static dync_tensor *globals[4];
static dync_tensor *globals_in_branches(dync_tensor *x, dync_tensor *y)
{
    dync_tensor *z = dync_mul(x, y);
    for (int i = 0; i < 4; i++)
        if (dync_bool(dync_gt(dync_select(y, 0, i), 0))) z = dync_mul(z, globals[i]);
    return z;
}

static void count_wrong(bool bad)
{
    if (bad) __atomic_add_fetch(&wrong, 1, __ATOMIC_RELAXED);
}

static void *calls(void *arg)
{
    int me = *(int *)arg;
    dync_manual_seed((uint64_t)me);
    for (int i = 0; i < CALLS; i++) DYNC_SCOPE {
        int n = 6 + (i / 8 + me) % 3;
        bool train = i % 5 == 4;
        dync_tensor *x = dync_randn(dync_shape(n), .requires_grad = train),
                    *y = dync_randn(dync_shape(n));
        dync_tensor *got = dync_call(f, x, y), *want = plain(x, y);
        count_wrong(!got || !want || !same(got, want, 1e-4));
        if (train && got) {
            dync_backward(dync_sum(got, DYNC_ALL, false));
            dync_tensor *grad = dync_clone(dync_grad(x));
            dync_set_grad(x, NULL);
            dync_backward(dync_sum(want, DYNC_ALL, false));
            count_wrong(!same(grad, dync_grad(x), 1e-4));
        }
        count_wrong(dync_error() != DYNC_OK);
        dync_clear_error();
    }
    return NULL;
}

static void together(void *(*body)(void *))
{
    pthread_t thread[THREADS];
    int id[THREADS];
    for (int i = 0; i < THREADS; i++) {
        id[i] = i;
        REQUIRE(pthread_create(&thread[i], NULL, body, &id[i]) == 0);
    }
    for (int i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
}

static void share(binary fn, const char *backend)
{
    plain = fn;
    f = dync_compile(fn, .backend = backend, .recompile_limit = 16);
    for (int round = 0; round < 3; round++) {
        together(calls);
        dync_reset();
    }
    EXPECT_EQ_INT(wrong, 0);
    dync_compiled_free(f);
}
TEST(pointwise_eager) { share(pointwise, "eager"); }
TEST(pointwise_aot_eager) { share(pointwise, "aot_eager"); }
TEST(pointwise_inductor) { share(pointwise, "inductor"); }
TEST(branches_eager) { share(branches, "eager"); }
TEST(branches_inductor) { share(branches, "inductor"); }
TEST(more_is_used_inductor) { share(more_is_used, "inductor"); }
TEST(more_is_used_late_inductor) { share(more_is_used_late, "inductor"); }
TEST(opaque_eager) { share(opaque, "eager"); }
TEST(opaque_inductor) { share(opaque, "inductor"); }
TEST(by_item_inductor) { share(by_item, "inductor"); }
TEST(globals_in_branches_inductor)
{
    for (int i = 0; i < 4; i++) globals[i] = dync_full(dync_shape(1), i + 2);
    share(globals_in_branches, "inductor");
}
TEST(writes_inductor) { share(writes, "inductor"); }

/* Each thread compiles, calls and frees its own function; the backends' registry is shared. */
static void *own(void *arg)
{
    static const char *const backends[] = {"eager", "aot_eager", "inductor", "eager_noexcept"};
    int me = *(int *)arg;
    for (int i = 0; i < 8; i++) DYNC_SCOPE {
        dync_compiled *g = dync_compile(branches, .backend = backends[(me + i) % 4]);
        dync_tensor *x = dync_randn(dync_shape(6)), *y = dync_randn(dync_shape(6));
        for (int k = 0; k < 3; k++) count_wrong(!same(dync_call(g, x, y), branches(x, y), 1e-4));
        dync_compiled_free(g);
    }
    return NULL;
}
TEST(each_its_own)
{
    together(own);
    EXPECT_EQ_INT(wrong, 0);
}

/* A module used by several threads; none writes it. */
static dync_module *net;
static void *forward(void *arg)
{
    (void)arg;
    for (int i = 0; i < CALLS; i++) DYNC_SCOPE {
        DYNC_NO_GRAD {
            dync_tensor *x = dync_ones(dync_shape(2 + i % 2, 4));
            dync_tensor *y = dync_forward_call(net, x);
            count_wrong(!y || dync_size(y, 0) != 2 + i % 2);
        }
    }
    return NULL;
}
TEST(a_module)
{
    net = dync_sequential(dync_nn_linear(4, 8, true), dync_nn_relu(), dync_nn_linear(8, 3, true));
    dync_module_compile(net);
    together(forward);
    EXPECT_EQ_INT(wrong, 0);
    dync_module_free(net);
}
TEST_MAIN
