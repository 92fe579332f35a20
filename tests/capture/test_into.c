/* dync_call_into: results are written straight into the caller's tensors where that is the same as
 * a copy, and copied else. Each case compares with dync_call of the same function on the same
 * values. */
#define TEST_AFTER_EACH dync_shutdown()
#include "counter.h"

static void quiet(dync_status status, const char *message, void *user)
{
    (void)status, (void)message, (void)user;
}
static dync_tensor *pointwise(dync_tensor *x, dync_tensor *y)
{
    return dync_relu(dync_add(dync_mul(x, y), 1));
}
static dync_tensor *summed(dync_tensor *x, dync_tensor *y)
{
    return dync_add(x, dync_sum(y, DYNC_ALL, false));
}
static dync_tensor *reversed(dync_tensor *x, dync_tensor *y)
{
    return dync_add(dync_flip(x, dync_shape(0)), y);
}
static dync_tensor *branching(dync_tensor *x, dync_tensor *y)
{
    dync_tensor *z = dync_mul(x, y);
    if (dync_bool(dync_gt(dync_sum(z, DYNC_ALL, false), 0))) return dync_add(z, 1);
    return dync_sub(z, 1);
}
static dync_tensor *passed(dync_tensor *x, dync_tensor *y) { return (void)y, x; }
static dync_tensor *broken(dync_tensor *x, dync_tensor *y)
{
    dync_tensor *z = dync_mul(x, y);
    dync_graph_break("here");
    return dync_add(z, x);
}
static dync_tensor *(*const fns[])(dync_tensor *, dync_tensor *) = {pointwise, summed, reversed,
                                                                    branching, passed, broken};
enum { N_FNS = sizeof fns / sizeof fns[0], N = 12 };

static bool equals(dync_tensor *a, const float *want)
{
    bool equal = true;
    dync_tensor *dense = dync_contiguous(a);
    const float *got = dync_data(dense);
    for (int i = 0; i < N && equal; i++) equal = got && got[i] == want[i];
    return equal;
}

static void fill(float *p, int n, float from)
{
    for (int i = 0; i < n; i++) p[i] = from + (float)((i * 7) % 5) - 2;
}

/* Which memory the output lies on: its own, an input's, half of it, not dense, another dtype's. */
TEST(whatever_the_output_lies_on)
{
    static float memory[3 * N], want[N], x0[N], y0[N];
    const char *const names[] = {"its own",           "x itself",
                                 "memory lent twice", "memory of x, shifted",
                                 "a transposed view", "y itself"};
    for (int k = 0; k < N_FNS; k++)
        for (int kind = 0; kind < 6; kind++) /* the first call traces, others run what was made */
            for (int round = 0; round < 3; round++) DYNC_SCOPE {
                dync_compiled *f = dync_compile(fns[k]);
                for (int call = 0; call <= round; call++) {
                    fill(memory, N, (float)call);
                    fill(memory + N, 2 * N, (float)call - 1);
                    dync_tensor *x = dync_wrap(memory, dync_shape(N)),
                                *y = dync_wrap(memory + 2 * N, dync_shape(N));
                    memcpy(x0, memory, sizeof x0);
                    memcpy(y0, memory + 2 * N, sizeof y0);
                    dync_tensor *out = kind == 0   ? dync_zeros(dync_shape(N))
                                       : kind == 1 ? x
                                       : kind == 2 ? dync_wrap(memory, dync_shape(N))
                                       : kind == 3 ? dync_wrap(memory + N / 2, dync_shape(N))
                                       : kind == 4 ? dync_select(dync_zeros(dync_shape(N, 2)), 1, 1)
                                                   : y;
                    dync_tensor *expected =
                        fns[k](dync_wrap(x0, dync_shape(N)), dync_wrap(y0, dync_shape(N)));
                    memcpy(want, dync_data(dync_contiguous(expected)), sizeof want);
                    if (!EXPECT_OK(dync_call_into(f, out, x, y)) || !EXPECT(equals(out, want)))
                        printf("    function %d, output on %s, call %d\n", k, names[kind], call);
                }
                dync_compiled_free(f);
            }
}

static dync_value several(const dync_value *v, int n, void *user)
{
    (void)n, (void)user;
    dync_tensor *x = dync_as_tensor(v[0]), *y = dync_as_tensor(v[1]), *z = dync_add(x, y);
    return dync_tuple(z, x, dync_tuple(dync_mul(z, 2), z));
}

TEST(several_results)
{
    dync_tensor *x = dync_arange(0, 4, 1), *y = dync_ones(dync_shape(4));
    x = dync_to_dtype(x, DYNC_F32);
    dync_compiled *f = dync_compile(several);
    for (int call = 0; call < 3; call++) {
        dync_tensor *o[4];
        for (int i = 0; i < 4; i++) o[i] = dync_zeros(dync_shape(4));
        EXPECT_OK(dync_call_into_values(f, dync_tuple(o[0], o[1], dync_tuple(o[2], o[3])), 2,
                                        (dync_value[]){DYNC_V(x), DYNC_V(y)}));
        for (int i = 0; i < 4; i++) {
            EXPECT_NEAR(((float *)dync_data(o[0]))[i], i + 1, 0);
            EXPECT_NEAR(((float *)dync_data(o[1]))[i], i, 0);
            EXPECT_NEAR(((float *)dync_data(o[2]))[i], 2 * (i + 1), 0);
            EXPECT_NEAR(((float *)dync_data(o[3]))[i], i + 1, 0);
        }
        /* z goes over x, which is itself a result: what x was is meant */
        dync_tensor *copy = dync_clone(x);
        EXPECT_OK(dync_call_into_values(f, dync_tuple(copy, o[1], dync_tuple(o[2], o[3])), 2,
                                        (dync_value[]){DYNC_V(copy), DYNC_V(y)}));
        for (int i = 0; i < 4; i++) {
            EXPECT_NEAR(((float *)dync_data(copy))[i], i + 1, 0);
            EXPECT_NEAR(((float *)dync_data(o[1]))[i], i, 0);
        }
        /* one tensor for two results: the later one stays */
        EXPECT_OK(dync_call_into_values(f, dync_tuple(o[0], o[1], dync_tuple(o[2], o[2])), 2,
                                        (dync_value[]){DYNC_V(x), DYNC_V(y)}));
        for (int i = 0; i < 4; i++) EXPECT_NEAR(((float *)dync_data(o[2]))[i], i + 1, 0);
    }
    dync_compiled_free(f);
}

TEST(written_in_place_and_steady)
{
    dync_tensor *x = dync_rand(dync_shape(64)), *y = dync_rand(dync_shape(64)),
                *out = dync_zeros(dync_shape(64));
    const void *data = dync_data(out);
    dync_tensor *(*const direct[])(dync_tensor *, dync_tensor *) = {pointwise, summed, branching};
    for (int k = 0; k < 3; k++) {
        dync_compiled *f = dync_compile(direct[k]);
        for (int i = 0; i < 20; i++) EXPECT_OK(dync_call_into(f, out, x, y));
        dync_memory before = dync_memory_stats();
        for (int i = 0; i < 1000; i++) EXPECT_OK(dync_call_into(f, out, x, y));
        dync_memory after = dync_memory_stats();
        EXPECT_EQ_INT(after.mallocs, before.mallocs);
        EXPECT_EQ_INT(after.live_bytes, before.live_bytes);
        EXPECT_EQ_INT(after.live_tensors, before.live_tensors);
        EXPECT(dync_data(out) == data);
        dync_compiled_free(f);
    }
}

/* A write in place is seen by autograd. */
TEST(what_was_saved_is_written)
{
    dync_tensor *w = dync_rand(dync_shape(4)), *out = dync_ones(dync_shape(4)),
                *x = dync_ones(dync_shape(4));
    dync_on_error(quiet, NULL);
    dync_requires_grad_(w, true);
    dync_compiled *f = dync_compile(pointwise);
    dync_call_into(f, out, x, x);
    dync_tensor *loss = dync_sum(dync_mul(w, out), DYNC_ALL, false);
    dync_call_into(f, out, x, x);
    EXPECT_STATUS(dync_backward(loss), DYNC_ERR_AUTOGRAD);
    dync_clear_error();
    dync_compiled_free(f);
}

TEST(results_with_gradients_are_copied)
{
    dync_tensor *x = dync_rand(dync_shape(4)), *y = dync_rand(dync_shape(4)),
                *out = dync_zeros(dync_shape(4));
    dync_requires_grad_(x, true);
    dync_compiled *f = dync_compile(pointwise);
    for (int i = 0; i < 3; i++) {
        dync_tensor *o = dync_zeros(dync_shape(4));
        EXPECT_OK(dync_call_into(f, o, x, y));
        EXPECT(dync_requires_grad(o));
    }
    DYNC_NO_GRAD {
        EXPECT_OK(dync_call_into(f, out, x, y));
        EXPECT_OK(dync_call_into(f, out, x, y));
    }
    EXPECT(!dync_requires_grad(out));
    dync_compiled_free(f);
}

TEST(wrong_outputs)
{
    dync_on_error(quiet, NULL);
    dync_tensor *x = dync_rand(dync_shape(4)), *y = dync_rand(dync_shape(4)), *gone = NULL;
    dync_compiled *f = dync_compile(pointwise), *g = dync_compile(several);
    dync_tensor *out = dync_zeros(dync_shape(4));
    for (int i = 0; i < 3; i++) {
        EXPECT_STATUS(dync_call_into(f, dync_zeros(dync_shape(5)), x, y), DYNC_ERR_SHAPE);
        dync_clear_error();
        /* no broadcasting */
        EXPECT_STATUS(dync_call_into(f, dync_zeros(dync_shape(2, 4)), x, y), DYNC_ERR_SHAPE);
        EXPECT_HAS_STR(dync_error_message(),
                       "dync_call_into: output 0: expected f32[4], got f32[2, 4] (");
        EXPECT_HAS_STR(dync_error_message(), "test_into.c:");
        dync_clear_error();
        EXPECT_STATUS(
            dync_call_into_values(f, dync_tuple(out), 2, (dync_value[]){DYNC_V(x), DYNC_V(y)}),
            DYNC_ERR_VALUE);
        dync_clear_error();
        EXPECT_STATUS(dync_call_into(g, out, x, y), DYNC_ERR_VALUE);
        dync_clear_error();
        EXPECT_STATUS(dync_call_into(f, gone, x, y), DYNC_ERR_VALUE);
        dync_clear_error();
        dync_tensor *wide = dync_zeros(dync_shape(4), .dtype = DYNC_F64);
        EXPECT_OK(dync_call_into(f, wide, x, y)); /* a copy converts */
        EXPECT_OK(dync_call_into(f, out, x, y));
        EXPECT_NEAR(((double *)dync_data(wide))[2], ((float *)dync_data(out))[2], 0);
    }
    dync_compiled_free(f);
    dync_compiled_free(g);
}

/* Other arguments than the ones before: the short way must refuse what the guards refuse. */
TEST(the_short_way_sees_what_guards_see)
{
    dync_tensor *a[20];
    dync_compiled *f = dync_compile(pointwise);
    for (int i = 0; i < 20; i++) a[i] = dync_full(dync_shape(4), i);
    for (int i = 0; i < 200; i++) DYNC_SCOPE {
        int p = i * 7 % 20, q = i * 13 % 20; /* sometimes the same tensor twice */
        dync_tensor *x = a[p], *y = i % 5 == 4
                                        ? dync_expand(dync_full(dync_shape(1), q), dync_shape(4))
                                        : a[q];
        if (i % 9 == 8) x = dync_to_dtype(x, DYNC_F64);
        dync_tensor *r = dync_call(f, x, y);
        EXPECT(dync_type(r) == (i % 9 == 8 ? DYNC_F64 : DYNC_F32));
        EXPECT_NEAR(dync_item(dync_select(r, 0, 1)), p * q + 1, 0);
    }
    dync_compiled_free(f);
}
TEST_MAIN
