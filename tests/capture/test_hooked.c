/* Hooks and backward in functions that are captured whole: a hook on a value inside is one graph,
 * hooks of leaves after their gradient, and a backward inside that goes on outside. */
#include "counter.h"

static const char *const backends[] = {"eager", "aot_eager", "inductor"};
enum { N_BACKENDS = 3 };
typedef dync_tensor *(*function)(dync_tensor *x, dync_tensor *w);

static dync_tensor *total(dync_tensor *x) { return dync_sum(x, DYNC_ALL, false); }
static int met;
static dync_tensor *triples(dync_tensor *g, void *user)
{
    (void)user;
    met++;
    return dync_mul(g, 3.0);
}
static dync_tensor *adds_one(dync_tensor *g, void *user)
{
    (void)user;
    met++;
    return dync_add(g, 1.0);
}
static dync_tensor *looks(dync_tensor *g, void *user)
{
    (void)g, (void)user;
    met++;
    return NULL;
}

/* ---- values inside --------------------------------------------------------------------------- */
static dync_tensor *on_value(dync_tensor *x, dync_tensor *w)
{
    dync_tensor *y = dync_matmul(x, w);
    dync_register_hook(y, triples, NULL);
    return total(dync_sin(y));
}
/* It was used before: the hook sees the sum of all gradients. */
static dync_tensor *used_before(dync_tensor *x, dync_tensor *w)
{
    dync_tensor *y = dync_matmul(x, w), *z = dync_exp(dync_mul(y, 0.1));
    dync_register_hook(y, adds_one, NULL);
    return dync_add(total(z), total(dync_mul(y, y)));
}
static dync_tensor *in_order(dync_tensor *x, dync_tensor *w)
{
    dync_tensor *y = dync_matmul(x, w);
    dync_register_hook(y, triples, NULL);
    dync_tensor *z = dync_sin(y);
    dync_register_hook(y, adds_one, NULL);
    return total(dync_mul(z, y));
}
static dync_tensor *removed(dync_tensor *x, dync_tensor *w)
{
    dync_tensor *y = dync_matmul(x, w);
    int a = dync_register_hook(y, triples, NULL), b = dync_register_hook(y, adds_one, NULL);
    dync_remove_hook(y, a);
    (void)b;
    return total(dync_sin(y));
}
static dync_tensor *on_view(dync_tensor *x, dync_tensor *w)
{
    dync_tensor *y = dync_transpose(dync_matmul(x, w), 0, 1);
    dync_register_hook(y, triples, NULL);
    return total(dync_mul(dync_slice(y, 0, 1, 3, 1), 2.0));
}
static dync_tensor *on_result(dync_tensor *x, dync_tensor *w)
{
    dync_tensor *y = dync_sin(dync_matmul(x, w));
    dync_register_hook(y, triples, NULL);
    return y;
}
static dync_tensor *only_looks(dync_tensor *x, dync_tensor *w)
{
    dync_tensor *y = dync_matmul(x, w);
    dync_register_hook(y, looks, NULL);
    dync_register_hook(x, triples, NULL);
    return total(dync_sin(y));
}
static const function values[] = {on_value, used_before, in_order,  removed,
                                  on_view,  on_result,   only_looks};
enum { N_VALUES = (int)(sizeof values / sizeof *values) };

static dync_tensor *leaf(dync_tensor *of) { return dync_requires_grad_(dync_detach(of), true); }
static void backward_of(function fn, dync_compiled *f, dync_tensor *x, dync_tensor *w)
{
    dync_tensor *y = f ? dync_call(f, x, w) : fn(x, w);
    if (EXPECT(y != NULL)) EXPECT_OK(dync_backward(total(dync_mul(y, 0.5))));
}
TEST(on_values_of_one_graph)
{
    for (int i = 0; i < N_VALUES; i++)
        for (int b = 0; b < N_BACKENDS; b++)
            for (int dynamic = 0; dynamic < 2; dynamic++) {
                counter c = {.inner = backends[b]};
                dync_compiled *f = dync_compile(
                    values[i], .args = "x, w", .fullgraph = true, .backend_object = &COUNTER(c),
                    .dynamic = dynamic ? DYNC_DYNAMIC_ON : DYNC_DYNAMIC_AUTO);
                for (int k = 0; k < 4; k++) DYNC_SCOPE {
                    dync_tensor *a = dync_randn(dync_shape(2 + k / 2, 3)),
                                *m = dync_randn(dync_shape(3, 4));
                    dync_tensor *x = leaf(a), *w = leaf(m), *u = leaf(a), *v = leaf(m);
                    met = 0;
                    backward_of(values[i], NULL, u, v);
                    int plain = met;
                    met = 0;
                    backward_of(values[i], f, x, w);
                    EXPECT_EQ_INT(met, plain);
                    if (!EXPECT(same(dync_grad(x), dync_grad(u), 1e-5) &&
                                same(dync_grad(w), dync_grad(v), 1e-5)))
                        printf("    function %d, %s\n", i, backends[b]);
                }
                EXPECT_EQ_INT(c.frame_count, dynamic ? 1 : 2);
                dync_compiled_free(f);
            }
    EXPECT_EQ_INT(dync_get_counters().graph_breaks, 0);
}
TEST(twice_differentiated)
{
    for (int b = 0; b < N_BACKENDS; b++) {
        dync_compiled *f = dync_compile(used_before, .args = "x, w", .backend = backends[b],
                                        .fullgraph = true, .double_backward = true);
        dync_tensor *a = dync_randn(dync_shape(2, 3)), *m = dync_randn(dync_shape(3, 4));
        dync_tensor *grad[2];
        for (int plain = 0; plain < 2; plain++) {
            dync_tensor *x = leaf(a), *w = leaf(m);
            dync_tensor *y = plain ? used_before(x, w) : dync_call(f, x, w);
            dync_value g = dync_gradients(DYNC_V(y), DYNC_V(x), DYNC_NONE,
                                          (dync_grad_options){.create_graph = true});
            EXPECT_OK(dync_backward(total(dync_mul(dync_at(g, 0).as.t, dync_at(g, 0).as.t))));
            grad[plain] = dync_grad(w);
        }
        EXPECT(same(grad[0], grad[1], 1e-4));
        dync_compiled_free(f);
    }
}
static dync_tensor *writes_after(dync_tensor *x, dync_tensor *w)
{
    dync_tensor *y = dync_matmul(x, w);
    dync_register_hook(y, triples, NULL);
    dync_mul_(y, 2.0);
    return total(y);
}
TEST(written_after)
{
    dync_compiled *f = dync_compile(writes_after, .args = "x, w", .fullgraph = true);
    dync_tensor *x = leaf(dync_ones(dync_shape(2, 3))), *w = leaf(dync_ones(dync_shape(3, 4)));
    EXPECT(!dync_call(f, x, w));
    EXPECT_EQ_INT(dync_error(), DYNC_ERR_UNSUPPORTED);
    EXPECT(strncmp(dync_error_message(), "mul_: it writes a value that has a hook, ", 41) == 0);
    dync_clear_error();
    dync_compiled_free(f);
}

/* ---- leaves, after their gradient ------------------------------------------------------------ */
static int stepped;
static void steps(dync_tensor *p, void *user)
{
    (void)user;
    stepped++;
    DYNC_NO_GRAD {
        dync_sub_(p, dync_mul(dync_grad(p), 0.1));
    }
    dync_set_grad(p, NULL);
}
static dync_tensor *registers(dync_tensor *x, dync_tensor *w)
{
    dync_register_post_accumulate_hook(w, steps, NULL);
    return total(dync_sin(dync_matmul(x, w)));
}
TEST(after_the_gradient)
{
    for (int b = 0; b < N_BACKENDS; b++)
        for (int whole = 0; whole < 2; whole++) {
            dync_compiled *f = dync_compile(registers, .args = "x, w", .backend = backends[b],
                                            .fullgraph = whole != 0);
            dync_tensor *a = dync_randn(dync_shape(2, 3)), *m = dync_randn(dync_shape(3, 4));
            for (int k = 0; k < 3; k++) DYNC_SCOPE {
                dync_tensor *w = leaf(dync_clone(m)), *v = leaf(dync_clone(m));
                stepped = 0;
                backward_of(registers, f, a, w);
                EXPECT_EQ_INT(stepped, 1);
                backward_of(registers, NULL, a, v);
                EXPECT(same(w, v, 1e-5));
                EXPECT(!dync_grad(w));
            }
            dync_compiled_free(f);
        }
}
static dync_tensor *registers_and_walks(dync_tensor *x, dync_tensor *w)
{
    int id = dync_register_post_accumulate_hook(w, steps, NULL);
    dync_tensor *loss = total(dync_sin(dync_matmul(x, w)));
    dync_backward(loss);
    dync_remove_hook(w, id);
    return dync_detach(loss);
}
TEST(after_the_gradient_of_a_backward_inside)
{
    for (int b = 0; b < N_BACKENDS; b++) {
        counter c = {.inner = backends[b]};
        dync_compiled *f = dync_compile(registers_and_walks, .args = "x, w", .fullgraph = true,
                                        .backend_object = &COUNTER(c));
        dync_tensor *a = dync_randn(dync_shape(2, 3)), *m = dync_randn(dync_shape(3, 4));
        dync_tensor *w = leaf(dync_clone(m)), *v = leaf(dync_clone(m));
        for (int k = 0; k < 3; k++) DYNC_SCOPE {
            dync_tensor *got = dync_call(f, a, w), *want = registers_and_walks(a, v);
            EXPECT(got && same(got, want, 1e-5));
            EXPECT(same(w, v, 1e-5));
            EXPECT(!dync_grad(w));
        }
        EXPECT_EQ_INT(c.frame_count, 1);
        dync_compiled_free(f);
    }
}

/* ---- a backward inside that goes on outside -------------------------------------------------- */
static dync_tensor *walks(dync_tensor *x, dync_tensor *w)
{
    dync_tensor *loss = total(dync_mul(dync_sin(x), w));
    dync_backward(loss);
    return dync_detach(loss);
}
TEST(goes_on_outside)
{
    for (int b = 0; b < N_BACKENDS; b++) {
        counter c = {.inner = backends[b]};
        dync_compiled *f =
            dync_compile(walks, .args = "x, w", .fullgraph = true, .backend_object = &COUNTER(c));
        dync_tensor *a = dync_randn(dync_shape(3, 4));
        /* twice outside, then as a leaf, then outside again */
        for (int k = 0; k < 5; k++) DYNC_SCOPE {
            dync_tensor *grads[2][2];
            for (int plain = 0; plain < 2; plain++) {
                dync_tensor *p = leaf(a), *w = leaf(dync_cos(a));
                dync_tensor *x = k == 2 ? p : dync_exp(p);
                met = 0;
                if (k == 3) dync_register_hook(x, triples, NULL);
                dync_tensor *y = plain ? walks(x, w) : dync_call(f, x, w);
                EXPECT(y != NULL);
                EXPECT_EQ_INT(met, k == 3);
                if (k != 2) EXPECT(!dync_grad(x));
                grads[plain][0] = dync_grad(p);
                grads[plain][1] = dync_grad(w);
            }
            EXPECT(same(grads[0][0], grads[1][0], 1e-5) && same(grads[0][1], grads[1][1], 1e-5));
        }
        EXPECT(c.frame_count <= 2);
        dync_compiled_free(f);
    }
}
static dync_tensor *walks_twice(dync_tensor *x, dync_tensor *w)
{
    dync_tensor *y = dync_mul(dync_sin(x), w);
    dync_backward_opt(dync_v_tensor(total(y)), DYNC_NONE,
                      (dync_grad_options){.retain_graph = true});
    dync_backward_opt(dync_v_tensor(total(dync_mul(y, y))), DYNC_NONE,
                      (dync_grad_options){.retain_graph = true});
    return y;
}
/* What it kept can be walked again by the caller. */
TEST(keeps_histories)
{
    for (int b = 0; b < N_BACKENDS; b++) {
        dync_compiled *f =
            dync_compile(walks_twice, .args = "x, w", .fullgraph = true, .backend = backends[b]);
        dync_tensor *a = dync_randn(dync_shape(3, 4));
        for (int k = 0; k < 3; k++) DYNC_SCOPE {
            dync_tensor *grads[2][2];
            for (int plain = 0; plain < 2; plain++) {
                dync_tensor *p = leaf(a), *w = leaf(dync_cos(a)), *x = dync_exp(p);
                dync_tensor *y = plain ? walks_twice(x, w) : dync_call(f, x, w);
                if (EXPECT(y != NULL)) EXPECT_OK(dync_backward(total(dync_exp(y))));
                grads[plain][0] = dync_grad(p);
                grads[plain][1] = dync_grad(w);
            }
            EXPECT(same(grads[0][0], grads[1][0], 1e-4) && same(grads[0][1], grads[1][1], 1e-4));
        }
        dync_compiled_free(f);
    }
}
TEST_MAIN
