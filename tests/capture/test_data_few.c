/* Rows that data select, where there are none, one or more of them: what is cut off them, in every
 * way to compile, against plain, with the checks of IRs on. */
#include "counter.h"

static const char *const backends[] = {"eager", "aot_eager", "inductor", "ts", "aot_ts"};
enum { N_BACKENDS = 5 };
typedef dync_tensor *(*function)(dync_tensor *);

static dync_tensor *positive(dync_tensor *x) { return dync_gt(x, 0.0); }
static dync_tensor *total(dync_tensor *x) { return dync_sum(x, DYNC_ALL, false); }
static bool close_to(dync_tensor *a, dync_tensor *b) { return a && b && same(a, b, 1e-5); }
static dync_tensor *chosen(dync_tensor *x)
{
    dync_tensor *nz = dync_nonzero(positive(dync_sum(x, dync_shape(1), false)));
    return dync_index_select(x, 0, dync_reshape(nz, dync_shape(-1)));
}

/* As many rows as are positive, of an input that has none, one or more: no bound makes the size a
 * number. */
static dync_tensor *few_rows(dync_tensor *x)
{
    dync_tensor *nz = dync_nonzero(positive(dync_sum(x, dync_shape(1), false)));
    dync_tensor *rows = dync_index_select(x, 0, dync_reshape(nz, dync_shape(-1)));
    dync_tensor *y = dync_pad(dync_tanh(rows), dync_shape(0, 0, 1, 0), DYNC_V(0.5));
    y = dync_add(dync_mul(y, dync_sum(x, dync_shape(0), true)), dync_cumsum(y, 0));
    return dync_reshape(dync_cat(dync_tuple(y, dync_softmax(rows, 0)), 0), dync_shape(-1));
}
static dync_tensor *few_values(dync_tensor *x)
{
    dync_tensor *v = dync_unsqueeze(dync_masked_select(x, positive(x)), 1);
    return dync_matmul(dync_mul(v, dync_ones(dync_shape(3))), dync_ones(dync_shape(3, 2)));
}
TEST(none_one_and_more)
{
    static const function fns[] = {few_rows, few_values};
    static const int rows[] = {0, 1, 2, 1, 0, 3, 1, 5, 0, 1};
    for (int i = 0; i < 2 * 2 * N_BACKENDS; i++) {
        function fn = fns[i % 2];
        dync_compiled *f = dync_compile(fn, .fullgraph = true, .capture_dynamic_shapes = true,
                                        .dynamic = i / 2 % 2 ? DYNC_DYNAMIC_ON : DYNC_DYNAMIC_AUTO,
                                        .backend = backends[i / 4]);
        for (int k = 0; k < 20; k++) DYNC_SCOPE {
            dync_tensor *x = dync_add(dync_randn(dync_shape(rows[k % 10], 4)), k < 10 ? 1.0 : -0.5);
            dync_requires_grad_(x, k % 3 > 0);
            dync_tensor *copy = dync_requires_grad_(dync_detach(dync_clone(x)), k % 3 > 0);
            dync_tensor *got = dync_call(f, x), *want = fn(copy);
            if (!EXPECT(close_to(got, want)) || k % 3 == 0) continue;
            dync_backward(total(dync_sin(got)));
            dync_backward(total(dync_sin(want)));
            EXPECT(close_to(dync_grad(x), dync_grad(copy)));
        }
        dync_compiled_free(f);
    }
    EXPECT_OK(dync_error());
}

/* ---- slices ---------------------------------------------------------------------------------- */
static dync_tensor *from_1(dync_tensor *x) { return dync_slice(x, 0, 1, DYNC_END, 1); }
static dync_tensor *but_last(dync_tensor *x) { return dync_slice(x, 0, 0, -1, 1); }
static dync_tensor *s_from_1(dync_tensor *x) { return dync_tanh(from_1(chosen(x))); }
static dync_tensor *s_places(dync_tensor *x)
{
    return from_1(dync_nonzero(positive(dync_sum(x, dync_shape(1), false))));
}
static dync_tensor *s_few(dync_tensor *x)
{
    dync_tensor *v = dync_masked_select(x, positive(x));
    return dync_cat(dync_tuple(dync_slice(v, 0, 1, 3, 1), dync_slice(v, 0, -3, -1, 1)), 0);
}
static dync_tensor *s_steps(dync_tensor *x)
{
    return dync_cumsum(dync_slice(chosen(x), 0, 1, DYNC_END, 2), 0);
}
/* as many of each, whatever the data are */
static dync_tensor *s_differences(dync_tensor *x)
{
    dync_tensor *rows = chosen(x);
    return dync_sub(from_1(rows), but_last(rows));
}
static dync_tensor *s_written(dync_tensor *x)
{
    dync_tensor *rows = dync_mul(chosen(x), 2.0);
    dync_mul_(from_1(rows), 3.0);
    return dync_sin(rows);
}
static dync_tensor *s_twice(dync_tensor *x) { return dync_sin(from_1(chosen(from_1(chosen(x))))); }
static dync_tensor *s_reduced(dync_tensor *x)
{
    return dync_sum(dync_softmax(from_1(chosen(x)), 1), dync_shape(0), false);
}

/* n rows: all negative, the middle one positive, all positive. */
static dync_tensor *rows_with(int n, int kind, bool grad)
{
    dync_tensor *x = dync_rand(dync_shape(n, 4));
    if (kind < 2) x = dync_sub(x, 2.0);
    if (kind == 1 && n) dync_fill_(dync_select(x, 0, n / 2), 0.7);
    return dync_requires_grad_(x, grad);
}
static void slices(dync_compiled *f, function fn, int n, int kind, bool grad)
{
    dync_tensor *x = rows_with(n, kind, grad), *copy = dync_detach(dync_clone(x));
    dync_requires_grad_(copy, grad);
    dync_tensor *got = dync_call(f, x), *want = fn(copy);
    if (!EXPECT(close_to(got, want))) printf("    %d rows, kind %d\n", n, kind);
    if (!grad || !dync_requires_grad(want)) return;
    dync_backward(total(dync_sin(got)));
    dync_backward(total(dync_sin(want)));
    EXPECT(close_to(dync_grad(x), dync_grad(copy)));
}
TEST(slices_of_few_rows)
{
    static const function fns[] = {s_from_1,      s_places,  s_few,   s_steps,
                                   s_differences, s_written, s_twice, s_reduced};
    EXPECT_OK(dync_config_set("check_ir", "1"));
    for (int i = 0; i < (int)(sizeof fns / sizeof *fns); i++)
        for (int way = 0; way < 4 * N_BACKENDS; way++) {
            dync_compiled *f = dync_compile(
                fns[i], .fullgraph = true, .capture_dynamic_shapes = true, .recompile_limit = 99,
                .dynamic = way % 2 ? DYNC_DYNAMIC_ON : DYNC_DYNAMIC_AUTO,
                .backend = backends[way / 4]);
            for (int k = 0; k < 18; k++) DYNC_SCOPE {
                int at = i % 2 ? 17 - k : k; /* the first call has none, or many */
                slices(f, fns[i], at < 15 ? at / 3 : 20, at % 3, way / 2 % 2);
            }
            dync_compiled_free(f);
        }
    EXPECT_OK(dync_error());
}
TEST_MAIN
