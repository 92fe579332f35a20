/* Inputs of dync_cond, dync_scan and their kin that no result comes from: zeros for a gradient, as
 * PyTorch's operators give, plainly and compiled, whatever the functions do. */
#define TEST_AFTER_EACH dync_shutdown()
#include "counter.h"

static const char *const backends[] = {"eager", "aot_eager", "inductor"};

#define FN(name) static dync_value name(const dync_value *a, int n, void *user)
#define UNUSED (void)n, (void)user
FN(first) { return UNUSED, DYNC_V(dync_mul(a[0], 2.0)); }
FN(both) { return UNUSED, DYNC_V(dync_mul(a[0], a[1])); }
FN(itself) { return UNUSED, a[0]; }
FN(several)
{
    UNUSED;
    return dync_tuple(dync_mul(a[0], 3.0), dync_ones(dync_shape(3)), dync_gt(a[0], 0.0));
}
FN(others)
{
    UNUSED;
    return dync_tuple(dync_mul(a[1], a[1]), dync_mul(a[1], 2.0), dync_gt(a[1], 0.0));
}
FN(no_carry) { return UNUSED, dync_tuple(dync_mul(a[1], 2.0), dync_mul(a[1], 3.0)); }
FN(carry_alone) { return UNUSED, dync_tuple(dync_sin(a[0].as.t), dync_exp(a[0].as.t)); }
FN(constant) { return UNUSED, dync_tuple(dync_sin(a[0].as.t), dync_ones(dync_shape(3))); }
FN(small) { return UNUSED, DYNC_V(dync_lt(dync_sum(a[0].as.t, DYNC_ALL, false), 10.0)); }
FN(none) { return UNUSED, DYNC_V(dync_lt(dync_sum(a[0].as.t, DYNC_ALL, false), -10.0)); }
FN(doubled) { return UNUSED, dync_tuple(dync_mul(a[0], 2.0), dync_mul(a[0], 3.0)); }

static int kind;
enum { KINDS = 12 };
FN(program) /* (pred, x, w) */
{
    UNUSED;
    dync_tensor *x = a[1].as.t, *w = a[2].as.t;
    dync_tensor *xs = dync_expand(dync_unsqueeze(x, 0), dync_shape(4, 3));
    switch (kind) {
    case 0: return dync_cond(a[0], first, both, dync_tuple(x, w));
    case 1: return dync_cond(a[0], several, others, dync_tuple(x, w));
    case 2: return dync_cond(a[0], itself, both, dync_tuple(x, w));
    case 3: return dync_scan(no_carry, w, xs);
    case 4: return dync_scan(carry_alone, w, xs);
    case 5: return dync_scan(constant, w, xs);
    case 6: return dync_while_loop_limit(small, doubled, dync_tuple(x, w), 6);
    case 7: return dync_while_loop_limit(none, doubled, dync_tuple(x, w), 6);
    case 8: return dync_cond(a[0], first, both, dync_tuple(dync_detach(x), w));
    case 9: return dync_cond(a[0], first, both, dync_tuple(dync_exp(x), dync_sin(w)));
    case 10:
        return dync_cond(a[0], first, both,
                         dync_tuple(dync_slice(x, 0, 0, 2, 1), dync_slice(x, 0, 1, 3, 1)));
    default: return dync_cond(a[0], first, both, dync_tuple(x, x));
    }
}

typedef struct answer {
    bool
        requires[
            3];
    dync_tensor *all[2], *last[2]; /* gradients of x and w: of the sum, of the last result */
} answer;

static void gradients(dync_tensor *y, dync_value of, dync_tensor **out)
{
    dync_value g =
        dync_gradients(DYNC_V(dync_sum(y, DYNC_ALL, false)), of, DYNC_NONE,
                       ((dync_grad_options){.retain_graph = true, .allow_unused = true}));
    for (int i = 0; i < 2; i++)
        out[i] = dync_at(g, i).kind == DYNC_KIND_TENSOR ? dync_at(g, i).as.t : NULL;
}

static answer run(dync_compiled *f, bool pred)
{
    answer r = {0};
    dync_tensor *x = dync_full(dync_shape(3), 0.5, .requires_grad = true),
                *w = dync_full(dync_shape(3), 0.25, .requires_grad = true), *sum = NULL,
                *last = NULL;
    dync_value args[3] = {DYNC_V(dync_full(DYNC_SCALAR, pred, .dtype = DYNC_BOOL)), DYNC_V(x),
                          DYNC_V(w)};
    dync_value y = f ? dync_call_values(f, 3, args) : program(args, 3, NULL);
    int n = y.kind == DYNC_KIND_LIST ? dync_len(y) : 1;
    for (int i = 0; i < n; i++) {
        dync_tensor *t = dync_as_tensor(y.kind == DYNC_KIND_LIST ? dync_at(y, i) : y);
        r.
            requires[
                    i] = dync_requires_grad(t);
        if (!r.requires[i]) continue;
        last = dync_sum(t, DYNC_ALL, false);
        sum = sum ? dync_add(sum, last) : last;
    }
    if (!sum) return r;
    gradients(sum, dync_tuple(x, w), r.all);
    gradients(last, dync_tuple(x, w), r.last);
    EXPECT_OK(dync_error());
    return r;
}

static bool alike(dync_tensor *a, dync_tensor *b)
{
    return a && b ? dync_allclose(a, b, 1e-5, 1e-6) : a == b;
}

TEST(inputs_that_no_result_comes_from_get_zeros)
{
    for (kind = 0; kind < KINDS; kind++)
        for (int pred = 0; pred < 2; pred++) DYNC_SCOPE {
            answer want = run(NULL, pred);
            for (int b = 0; b < 3; b++) {
                dync_compiled *f = dync_compile(program, .args = "p, x, w", .fullgraph = true,
                                                .backend = backends[b]);
                answer got = run(f, pred);
                bool good = true;
                for (int i = 0; i < 3; i++)
                good = good && want.
                                   requires[
                                               i] == got.
                                                         requires[
                                                     i];
                for (int i = 0; i < 2; i++)
                    good = good && alike(want.all[i], got.all[i]) &&
                           alike(want.last[i], got.last[i]);
                EXPECT(good);
                if (!good) printf("program %d, %d, %s\n", kind, pred, backends[b]);
                dync_compiled_free(f);
            }
        }
}

/* PyTorch 2.15: torch.cond(tensor(True), lambda a, b: a * 2, lambda a, b: a * b, (x, w)) */
TEST(an_operand_of_the_other_branch)
{
    dync_tensor *x = dync_ones(dync_shape(3), .requires_grad = true),
                *w = dync_ones(dync_shape(3), .requires_grad = true);
    dync_tensor *pred = dync_full(DYNC_SCALAR, 1, .dtype = DYNC_BOOL);
    dync_value y = dync_cond(pred, first, both, dync_tuple(x, w));
    REQUIRE_OK(dync_backward(dync_sum(dync_as_tensor(y), DYNC_ALL, false)));
    REQUIRE(dync_grad(w));
    EXPECT(dync_equal(dync_grad(x), dync_full(dync_shape(3), 2.0)));
    EXPECT(dync_equal(dync_grad(w), dync_zeros(dync_shape(3))));
    /* a C number: the function is called as it is */
    dync_set_grad(w, NULL);
    y = dync_cond(true, first, both, dync_tuple(x, w));
    REQUIRE_OK(dync_backward(dync_sum(dync_as_tensor(y), DYNC_ALL, false)));
    EXPECT(!dync_grad(w));
    /* differentiated again, and captured */
    y = dync_cond(pred, several, others, dync_tuple(x, w));
    dync_tensor *cube = dync_pow(dync_as_tensor(dync_at(y, 0)), 3.0);
    dync_value g = dync_gradients(DYNC_V(dync_sum(cube, DYNC_ALL, false)), DYNC_V(x), DYNC_NONE,
                                  ((dync_grad_options){.create_graph = true}));
    DYNC_COMPILED_AUTOGRAD("aot_eager")
    {
        REQUIRE_OK(dync_backward(dync_sum(dync_as_tensor(dync_at(g, 0)), DYNC_ALL, false)));
    }
    EXPECT(dync_allclose(dync_grad(x), dync_full(dync_shape(3), 2.0 + 2.0 + 162.0), 1e-5, 0));
    EXPECT(dync_equal(dync_grad(w), dync_zeros(dync_shape(3))));
}

TEST_MAIN
