/* Random sizes in random order, new ones among those seen before: each result and gradient has the
 * bits that a function compiled for these sizes alone has, from one thread and from several, and
 * what a size leaves behind is bounded. What a new size does is
 * docs/decisions/one-code-for-all-sizes.md. */
#define TEST_AFTER_EACH dync_shutdown()
#include <pthread.h>
#include "dync.h"
#include "test.h"

enum { WIDTH = 16, MOST = 70, CALLS = 80, FIRST = 40, THREADS = 4 };
static dync_tensor *w1, *w2, *b1, *ones, *zeros, *qkv, *filter;
static dync_module *gru;

static dync_tensor *part(dync_tensor *x, int64_t i)
{
    return dync_unsqueeze(dync_slice(x, 1, i * WIDTH, (i + 1) * WIDTH, 1), 0);
}

static dync_tensor *mlp(dync_tensor *x)
{
    return dync_matmul(dync_relu(dync_add(dync_matmul(x, w1), b1)), w2);
}
static dync_tensor *block(dync_tensor *x)
{
    dync_tensor *all = dync_matmul(dync_layer_norm(x, dync_shape(WIDTH), ones, zeros, 1e-5), qkv);
    dync_tensor *y = dync_scaled_dot_product_attention(part(all, 0), part(all, 1), part(all, 2),
                                                       NULL, 0.0, true, DYNC_NONE);
    return dync_add(mlp(x), dync_squeeze(y, 0));
}
static dync_tensor *turned(dync_tensor *x)
{
    dync_tensor *y = dync_contiguous(dync_transpose(dync_tanh(x), 0, 1));
    y = dync_softmax(dync_matmul(y, x), 1);
    return dync_mul(dync_mean(x, dync_shape(0), true), y);
}
static dync_tensor *line(dync_tensor *x)
{
    x = dync_unsqueeze(dync_transpose(x, 0, 1), 0);
    return dync_relu(dync_conv1d(x, filter, NULL, dync_shape(1), dync_shape(1), dync_shape(1), 1));
}
static dync_tensor *steps(dync_tensor *x)
{
    return dync_as_tensor(dync_at(dync_module_call(gru, dync_unsqueeze(x, 1)), 0));
}

typedef dync_tensor *(*function)(dync_tensor *x);
static const function functions[] = {mlp, block, turned, line, steps};
static const char *const names[] = {"mlp", "block", "turned", "line", "steps"};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

static dync_value squares(const dync_value *v, int n, void *user)
{
    (void)n;
    dync_tensor *y = (*(const function *)user)(dync_as_tensor(v[0]));
    return dync_tuple(y, dync_sum(dync_mul(y, y), DYNC_ALL, false));
}

static dync_compiled *compile(int i, bool all)
{
    return dync_compile(
        squares, .args = "x", .fullgraph = true, .user = (void *)(uintptr_t)&functions[i],
        .dynamic = all ? DYNC_DYNAMIC_ON : DYNC_DYNAMIC_OFF, .recompile_limit = 2 * MOST);
}

static void make_weights(void)
{
    dync_config_set("threads", "1");
    dync_manual_seed(7);
    w1 = dync_randn(dync_shape(WIDTH, 24)), w2 = dync_randn(dync_shape(24, WIDTH));
    b1 = dync_randn(dync_shape(24)), qkv = dync_randn(dync_shape(WIDTH, 3 * WIDTH));
    ones = dync_ones(dync_shape(WIDTH)), zeros = dync_zeros(dync_shape(WIDTH));
    filter = dync_randn(dync_shape(8, WIDTH, 3));
    gru = dync_nn_gru(WIDTH, WIDTH, 1, false);
}

/* The input of a size is the same each time. */
static dync_tensor *input(int64_t n)
{
    return dync_sin(
        dync_mul(dync_reshape(dync_arange(0, (double)(n * WIDTH), 1), dync_shape(n, WIDTH)), 0.37));
}

/* y's and the gradient's bits; with a function that lacks a gradient: y's alone. */
typedef struct bits {
    uint64_t y, grad;
} bits;
static uint64_t bits_of(dync_tensor *t)
{
    uint64_t h = 1;
    t = dync_contiguous(t);
    const uint32_t *word = dync_data(t);
    for (int64_t i = 0; i < dync_numel(t); i++) h = (h ^ word[i]) * UINT64_C(0x100000001b3);
    return h;
}
static bits run(dync_compiled *f, int64_t n, bool train)
{
    bits b = {0, 0};
    DYNC_SCOPE {
        dync_tensor *x = dync_requires_grad_(input(n), train);
        dync_value arg = dync_v_tensor(x), out = dync_call_values(f, 1, &arg);
        if (train) dync_backward(dync_as_tensor(dync_at(out, 1)));
        b.y = bits_of(dync_as_tensor(dync_at(out, 0)));
        if (train) b.grad = bits_of(dync_grad(x));
    }
    return b;
}

static uint32_t random_state = 12345;
static int64_t random_size(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return 1 + (*state >> 8) % MOST;
}

/* Of each size by a function of its own, made when it is first wanted. What backward keeps and what
 * it computes again goes by no size of a call where sizes are symbols, but by its own where they
 * are numbers (aot/mincut.c): where that differs, with other roundings, the function of its own is
 * one of all sizes, that began with this one. */
static bits wanted(int i, int64_t n, bool train, bits *known)
{
    if (!known[n].y) {
        bool all = train && functions[i] == turned;
        dync_compiled *own = compile(i, all);
        known[n] = run(own, n, train);
        dync_compiled_free(own);
    }
    return known[n];
}

static void in_turn(int i, bool train)
{
    bits known[MOST + 1] = {{0, 0}};
    dync_compiled *f = compile(i, true);
    run(f, FIRST, train);
    for (int call = 0; call < CALLS; call++) {
        int64_t n = random_size(&random_state);
        bits is = run(f, n, train), was = wanted(i, n, train, known);
        if (!EXPECT(is.y == was.y && is.grad == was.grad))
            printf("    %s of %d rows, call %d\n", names[i], (int)n, call);
    }
    dync_compiled_free(f);
}
TEST(forward)
{
    make_weights();
    DYNC_NO_GRAD for (int i = 0; i < FUNCTIONS; i++)
        in_turn(i, false);
}
TEST(with_gradients)
{
    make_weights();
    for (int i = 0; i < FUNCTIONS; i++) in_turn(i, true);
}

/* ---- threads --------------------------------------------------------------------------------- */
typedef struct caller {
    dync_compiled *f;
    const bits *known;
    uint32_t seed;
    bool train;
    int wrong;
} caller;
static void *call_some(void *user)
{
    caller *c = user;
    for (int call = 0; call < CALLS; call++) {
        int64_t n = random_size(&c->seed);
        bits is = run(c->f, n, c->train);
        c->wrong += is.y != c->known[n].y || is.grad != c->known[n].grad;
    }
    return NULL;
}
static void together(int i, bool train)
{
    bits known[MOST + 1] = {{0, 0}};
    caller callers[THREADS];
    pthread_t thread[THREADS];
    for (int64_t n = 1; n <= MOST; n++) wanted(i, n, train, known);
    dync_compiled *f = compile(i, true);
    for (int k = 0; k < THREADS; k++) {
        callers[k] = (caller){f, known, (uint32_t)k, train, 0};
        REQUIRE(pthread_create(&thread[k], NULL, call_some, &callers[k]) == 0);
    }
    for (int k = 0; k < THREADS; k++) {
        pthread_join(thread[k], NULL);
        EXPECT_EQ_INT(callers[k].wrong, 0);
    }
    dync_compiled_free(f);
}
TEST(threads)
{
    make_weights();
    for (int i = 0; i < 2; i++) together(i, true);
    dync_shutdown();
}

/* ---- memory ---------------------------------------------------------------------------------- */
TEST(what_sizes_leave_is_bounded)
{
    make_weights();
    dync_compiled *f = compile(1, true);
    int64_t bytes = 0;
    for (int i = 0; i < 700; i++) {
        run(f, 2 + i * 389 % 1500, true);
        if (i == 350) bytes = dync_memory_stats().live_bytes;
    }
    printf("    %lld bytes after 350 sizes, %lld after 700\n", (long long)bytes,
           (long long)dync_memory_stats().live_bytes);
    EXPECT(dync_memory_stats().live_bytes <= bytes + bytes / 10);
    dync_compiled_free(f);
}
TEST_MAIN
