/* Inputs that a compiled function writes: the new values go straight over the old ones where
 * nothing reads those any more. Results, inputs and allocations as in eager. */
#include "dync.h"
#include "test.h"
#include "tol.h"

typedef dync_tensor *(*fn2)(dync_tensor *, dync_tensor *);

static dync_tensor *update(dync_tensor *x, dync_tensor *y)
{
    return dync_sum(dync_add_(x, dync_mul(y, 2)), DYNC_ALL, false);
}
static dync_tensor *old_and_new(dync_tensor *x, dync_tensor *y)
{
    dync_tensor *before = dync_exp(x);
    dync_add_(x, y);
    return dync_add(before, dync_mul(x, y));
}
static dync_tensor *turned(dync_tensor *x, dync_tensor *y)
{
    return dync_add(dync_copy_(x, dync_clone(dync_transpose(x, 0, 1))), y);
}
static dync_tensor *flipped(dync_tensor *x, dync_tensor *y)
{
    return dync_mul(dync_add_(x, dync_flip(x, dync_shape(0))), y);
}
static dync_tensor *softened(dync_tensor *x, dync_tensor *y)
{
    return dync_add(dync_copy_(x, dync_softmax(x, -1)),
                    dync_copy_(y, dync_sub(y, dync_mean(y, dync_shape(1), true))));
}
static dync_tensor *swapped(dync_tensor *x, dync_tensor *y)
{
    dync_tensor *keep = dync_clone(x);
    dync_copy_(x, y);
    dync_copy_(y, keep);
    return dync_sub(x, y);
}
static dync_tensor *product(dync_tensor *x, dync_tensor *y)
{
    dync_copy_(x, dync_matmul(x, y));
    return dync_matmul(y, x);
}
static dync_tensor *of_both(dync_tensor *x, dync_tensor *y)
{
    dync_add_(x, dync_sum(y, dync_shape(0), true));
    dync_mul_(y, dync_sum(x, dync_shape(1), true));
    return dync_transpose(x, 0, 1);
}
static dync_tensor *part(dync_tensor *x, dync_tensor *y)
{
    dync_mul_(dync_slice(x, 1, 2, 5, 1), 3);
    dync_fill_(dync_select(y, 0, 1), 7);
    return dync_add(x, y);
}
static dync_tensor *twice(dync_tensor *x, dync_tensor *y)
{
    dync_tensor *view = dync_reshape(x, dync_shape(-1)), *first = dync_cumsum(view, 0);
    dync_add_(x, y);
    dync_tensor *second = dync_cumsum(dync_reshape(x, dync_shape(-1)), 0);
    dync_mul_(x, dync_reshape(first, dync_shape(6, 6)));
    return dync_add(first, second);
}
static dync_tensor *returned(dync_tensor *x, dync_tensor *y) { return dync_relu_(dync_sub_(x, y)); }

/* layout: 0 dense, 1 transposed, 2 every other column of a wider one */
static dync_tensor *make(int layout)
{
    dync_tensor *t = dync_randn(layout == 2 ? dync_shape(6, 12) : dync_shape(6, 6));
    return layout == 1 ? dync_transpose(t, 0, 1) : layout == 2 ? dync_slice(t, 1, 0, 12, 2) : t;
}

TEST(as_in_eager)
{
    static const fn2 fns[] = {update,  old_and_new, turned, flipped, softened, swapped,
                              product, of_both,     part,   twice,   returned};
    static const char *const backends[] = {"inductor", "aot_eager"};
    dync_init((dync_init_options){.threads = 2, .seed = 3});
    for (size_t i = 0; i < sizeof fns / sizeof fns[0]; i++)
        for (int layout = 0; layout < 6; layout++) DYNC_SCOPE {
            dync_compiled *f = dync_compile(fns[i], .args = "x, y", .backend = backends[layout / 3],
                                            .fullgraph = true);
            dync_tensor *x[2] = {make(layout % 3), NULL}, *y[2] = {make(0), NULL};
            for (int k = 0; k < 3; k++) {
                x[1] = layout % 3 == 1
                           ? dync_transpose(dync_clone(dync_transpose(x[0], 0, 1)), 0, 1)
                           : make(layout % 3);
                dync_copy_(x[1], x[0]);
                y[1] = dync_clone(y[0]);
                dync_tensor *want = fns[i](x[0], y[0]), *got = dync_call(f, x[1], y[1]);
                bool ok = EXPECT(dync_allclose(want, got, TOL_F32_CHAIN, TOL_F32_CHAIN)) &
                          EXPECT(dync_allclose(x[0], x[1], TOL_F32_CHAIN, TOL_F32_CHAIN)) &
                          EXPECT(dync_allclose(y[0], y[1], TOL_F32_CHAIN, TOL_F32_CHAIN));
                if (!ok) printf("  function %d, layout %d, call %d\n", (int)i, layout, k);
                dync_div_(x[0], dync_add(dync_abs(x[0]), 1));
                dync_div_(y[0], dync_add(dync_abs(y[0]), 1));
            }
            EXPECT_STATUS(dync_error(), DYNC_OK);
            dync_compiled_free(f);
        }
    dync_shutdown();
}

/* One tensor as both arguments, and two views of one memory. */
TEST(inputs_that_share_memory)
{
    dync_init((dync_init_options){.threads = 1, .seed = 4});
    DYNC_SCOPE {
        dync_compiled *f = dync_compile(old_and_new, .args = "x, y");
        dync_tensor *a = dync_randn(dync_shape(6, 6)), *b = dync_clone(a);
        EXPECT(dync_allclose(old_and_new(a, a), dync_call(f, b, b), TOL_F32_CHAIN, TOL_F32_CHAIN));
        EXPECT(dync_allclose(a, b, TOL_F32_CHAIN, TOL_F32_CHAIN));
        dync_tensor *c = dync_randn(dync_shape(12, 6)), *d = dync_clone(c);
        dync_tensor *want = old_and_new(dync_slice(c, 0, 0, 6, 1), dync_slice(c, 0, 6, 12, 1));
        EXPECT(dync_allclose(want,
                             dync_call(f, dync_slice(d, 0, 0, 6, 1), dync_slice(d, 0, 6, 12, 1)),
                             TOL_F32_CHAIN, TOL_F32_CHAIN));
        EXPECT(dync_allclose(c, d, TOL_F32_CHAIN, TOL_F32_CHAIN));
        EXPECT_STATUS(dync_error(), DYNC_OK);
        dync_compiled_free(f);
    }
    dync_shutdown();
}

/* Windows are views of an input wherever it begins, in the first call or a later one, plain or
 * written. */
static dync_tensor *windows(dync_tensor *x) { return dync_mul(dync_unfold(x, 1, 3, 2), 2); }
static dync_tensor *windows_of_written(dync_tensor *x)
{
    dync_mul_(x, 2);
    dync_tensor *turned = dync_transpose(dync_mul(x, 3), 0, 1);
    dync_add_(dync_select(turned, 0, 1), 1);
    return dync_add(dync_sum(dync_unfold(turned, 0, 3, 2), DYNC_ALL, false),
                    dync_unfold(x, 1, 3, 2));
}
TEST(windows_of_inputs_that_begin_elsewhere)
{
    static const char *const on[] = {"eager", "aot_eager", "inductor"};
    dync_tensor *(*const fns[])(dync_tensor *) = {windows, windows_of_written};
    for (int i = 0; i < 12; i++) {
        dync_compiled *f = dync_compile(fns[i % 2], .backend = on[i / 2 % 3],
                                        .dynamic = i < 6 ? DYNC_DYNAMIC_OFF : DYNC_DYNAMIC_ON);
        for (int k = 0; k < 4; k++) DYNC_SCOPE {
            dync_tensor *all = dync_randn(dync_shape(6, 9)), *same = dync_clone(all);
            dync_tensor *want = fns[i % 2](dync_slice(same, 0, k, k + 3, 1)),
                        *got = dync_call(f, dync_slice(all, 0, k, k + 3, 1));
            EXPECT(got && dync_allclose(got, want, TOL_F32_SUM, TOL_F32_SUM));
            EXPECT(dync_equal(all, same));
        }
        dync_compiled_free(f);
    }
    EXPECT_STATUS(dync_error(), DYNC_OK);
}

/* Writing to what has no elements, of an input that begins elsewhere, writes nothing. */
static dync_tensor *write_to_nothing(dync_tensor *x, dync_tensor *y)
{
    dync_zero_(dync_pixel_shuffle(x, 2));
    return dync_mul(y, 2);
}
/* An empty part of what overlaps itself, which as a whole could not be written. */
static dync_tensor *write_to_no_part(dync_tensor *x, dync_tensor *y)
{
    dync_mul_(dync_unsqueeze(dync_slice(x, 1, 0, 0, 1), 0), 3);
    return dync_mul(dync_add(x, y), 2);
}
TEST(writes_to_nothing)
{
    static const char *const on[] = {"eager", "aot_eager", "inductor"};
    for (int i = 0; i < 6; i++) {
        dync_compiled *f = dync_compile(write_to_no_part, .backend = on[i % 3]);
        dync_tensor *leaf = dync_requires_grad_(dync_rand(dync_shape(1, 4)), i > 2),
                    *x = dync_expand(dync_mul(leaf, 2), dync_shape(3, 4)),
                    *y = dync_ones(dync_shape(4));
        for (int call = 0; call < 2; call++) {
            dync_tensor *got = dync_call(f, x, y);
            EXPECT(got && dync_allclose(got, write_to_no_part(x, y), TOL_F32_SUM, TOL_F32_SUM));
        }
        if (i > 2) {
            dync_backward(dync_sum(dync_call(f, x, y), DYNC_ALL, false));
            dync_tensor *g = dync_grad(leaf);
            EXPECT(g && dync_allclose(g, dync_full(dync_shape(1, 4), 12), TOL_EXACT, TOL_EXACT));
        }
        dync_compiled_free(f);
    }
    for (int i = 0; i < 3; i++) {
        dync_compiled *f = dync_compile(write_to_nothing, .backend = on[i]);
        dync_tensor *x = dync_slice(dync_ones(dync_shape(2, 4, 2, 0)), 0, 1, 2, 1),
                    *y = dync_call(f, x, dync_ones(dync_shape(2)));
        EXPECT(y && dync_item(dync_sum(y, DYNC_ALL, false)) > 3);
        dync_compiled_free(f);
    }
    EXPECT_STATUS(dync_error(), DYNC_OK);
}

/* A value that nobody uses, made before a break of a weight that is written after it, shares b's
 * gradient with one that is used: plain backward does not ask for the weight, so no form may. */
static dync_tensor *dead_product(dync_tensor *x, dync_tensor *w, dync_tensor *b)
{
    dync_mul(dync_mul(x, w), b);
    dync_tensor *y = dync_exp(b);
    dync_graph_break("here");
    dync_add_(w, 0.5);
    return y;
}
static dync_tensor *dead_layer(dync_tensor *x, dync_tensor *w, dync_tensor *b)
{
    dync_linear(x, w, b);
    dync_tensor *y = dync_mul(b, dync_sigmoid(b));
    dync_graph_break("here");
    dync_mul_(w, 2);
    return dync_add(y, w);
}
static dync_tensor *live_layer(dync_tensor *x, dync_tensor *w, dync_tensor *b)
{
    dync_tensor *y = dync_linear(x, w, b);
    dync_graph_break("here");
    dync_mul_(w, 2);
    return dync_add(y, w);
}
static void quiet(dync_status status, const char *message, void *user)
{
    (void)status, (void)message, (void)user;
}
TEST(what_only_dead_values_saved_may_be_written)
{
    dync_tensor *(*const fns[])(dync_tensor *, dync_tensor *,
                                dync_tensor *) = {dead_product, dead_layer, live_layer};
    static const char *const on[] = {NULL, "aot_eager", "inductor"};
    dync_on_error(quiet, NULL);
    for (int k = 0; k < 9; k++) {
        dync_compiled *f = on[k % 3] ? dync_compile(fns[k / 3], .backend = on[k % 3]) : NULL;
        for (int call = 0; call < 4; call++) {
            dync_tensor *at[3], *in[3], *want[3];
            dync_manual_seed(7);
            for (int i = 0; i < 3; i++) {
                at[i] = dync_requires_grad_(dync_randn(dync_shape(4, 4)), true);
                if (i == 2) at[i] = dync_requires_grad_(dync_randn(dync_shape(4)), true);
                in[i] = dync_clone(at[i]);
            }
            dync_tensor *y = f ? dync_call(f, in[0], in[1], in[2])
                               : fns[k / 3](in[0], in[1], in[2]);
            dync_backward(dync_sum(y, DYNC_ALL, false));
            if (k / 3 == 2) {
                EXPECT_STATUS(dync_error(), DYNC_ERR_AUTOGRAD);
                dync_clear_error();
                continue;
            }
            EXPECT_STATUS(dync_error(), DYNC_OK);
            DYNC_NO_GRAD {
                dync_tensor *e = k / 3 ? dync_sigmoid(at[2]) : dync_exp(at[2]);
                want[0] = NULL; /* dead values give no gradient, nor do writes of constants */
                want[1] = k / 3 ? dync_full(dync_shape(4, 4), 2) : NULL;
                want[2] =
                    k / 3 ? dync_mul(dync_mul(e, dync_add(dync_mul(dync_sub(1, e), at[2]), 1)), 4)
                          : e;
            }
            for (int i = 0; i < 3; i++) {
                dync_tensor *g = dync_grad(at[i]);
                EXPECT(!g == !want[i]);
                EXPECT(!g || !want[i] || dync_allclose(g, want[i], TOL_F32_SUM, TOL_F32_SUM));
            }
        }
        dync_compiled_free(f);
    }
}

/* Programs of which some values are dead: several that share operands with each other and with
 * what is used, over one another. What plain backward allows compiled code allows, to the same
 * gradients. Only inputs go into sin and products: of others compiled code may keep what they come
 * from, and compute them again. */
static unsigned drawn;
static int draw(int n) { return drawn = drawn * 1664525u + 1013904223u, (int)(drawn >> 16) % n; }
static int form[8][3], result[2], written;
static dync_tensor *with_dead(dync_tensor *a, dync_tensor *b, dync_tensor *c)
{
    dync_tensor *v[11] = {a, b, c};
    for (int i = 0; i < 8; i++) {
        dync_tensor *x = v[form[i][1]], *y = v[form[i][2]];
        v[i + 3] = form[i][0] == 0   ? dync_mul(x, y)
                   : form[i][0] == 1 ? dync_matmul(x, y)
                   : form[i][0] == 2 ? dync_sin(x)
                                     : dync_add(x, y);
    }
    dync_tensor *y = dync_add(v[result[0]], v[result[1]]);
    dync_graph_break("here");
    dync_mul_(v[written], 2);
    return y;
}
TEST(random_programs_with_dead_values)
{
    int allowed = 0;
    dync_on_error(quiet, NULL);
    for (int program = 0; program < 60; program++) {
        drawn = 77u + (unsigned)program;
        for (int i = 0; i < 8; i++)
            for (int k = 0; k < 3; k++) form[i][k] = draw(!k ? 4 : form[i][0] < 3 ? 3 : i + 3);
        result[0] = 3 + draw(8), result[1] = 3 + draw(8), written = draw(3);
        dync_compiled *f[3] = {NULL, dync_compile(with_dead, .backend = "aot_eager"),
                               dync_compile(with_dead, .backend = "inductor")};
        dync_tensor *want[3];
        dync_status plain = DYNC_OK;
        for (int k = 0; k < 7; k++) {
            dync_tensor *at[3];
            dync_manual_seed(5);
            for (int i = 0; i < 3; i++)
                at[i] = dync_requires_grad_(dync_mul(dync_randn(dync_shape(4, 4)), 0.5), true);
            dync_tensor *a = dync_clone(at[0]), *b = dync_clone(at[1]), *c = dync_clone(at[2]);
            dync_compiled *how = f[(k + 1) / 2 > 2 ? 2 : (k + 1) / 2];
            dync_tensor *y = how ? dync_call(how, a, b, c) : with_dead(a, b, c);
            dync_backward(dync_sum(y, DYNC_ALL, false));
            if (k == 0) plain = dync_error();
            if (plain == DYNC_OK) EXPECT_STATUS(dync_error(), DYNC_OK);
            dync_clear_error();
            for (int i = 0; i < 3 && plain == DYNC_OK; i++) {
                dync_tensor *g = dync_grad(at[i]);
                if (k == 0) want[i] = g;
                EXPECT(!g == !want[i]);
                EXPECT(!g || !want[i] ||
                       dync_allclose(g, want[i], 10 * TOL_F32_SUM, 10 * TOL_F32_SUM));
            }
        }
        allowed += plain == DYNC_OK;
        dync_compiled_free(f[1]), dync_compiled_free(f[2]);
    }
    EXPECT(allowed > 10 && allowed < 60);
}

/* An empty part of an input with gaps takes a value that is differentiated: nothing changes but
 * what the input is. */
static dync_tensor *into_nothing(dync_tensor *x, dync_tensor *y)
{
    dync_add_(dync_slice(x, 0, 3, 3, 1), y);
    return dync_mul(x, 2);
}
TEST(empty_parts_are_differentiated_too)
{
    dync_compiled *how[] = {NULL, dync_compile(into_nothing, .fullgraph = true),
                            dync_compile(into_nothing, .backend = "aot_eager")};
    for (int k = 0; k < 3; k++)
        for (int grad = 0; grad < 2; grad++)
            for (int wide = 4; wide <= 8; wide += 4) {
                dync_tensor *x = dync_slice(dync_ones(dync_shape(3, wide)), 1, 0, 4, 1),
                            *y = dync_zeros(dync_shape(0, 4), .requires_grad = grad),
                            *z = how[k] ? dync_call(how[k], x, y) : into_nothing(x, y);
                EXPECT(dync_requires_grad(x) == grad && dync_requires_grad(z) == grad);
                EXPECT(dync_equal(z, dync_full(dync_shape(3, 4), 2.0)));
                if (grad) EXPECT_OK(dync_backward(dync_sum(z, DYNC_ALL, false)));
                EXPECT(!grad || dync_numel(dync_grad(y)) == 0);
            }
    dync_compiled_free(how[1]), dync_compiled_free(how[2]);
}
TEST_MAIN
