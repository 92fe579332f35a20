/* Gradients of gradients through functions inside operators, in one graph: what a scan keeps for
 * its backward has a gradient itself. Against the plain tape. */
#define TEST_AFTER_EACH dync_shutdown()
#include "counter.h"

static dync_tensor *total(dync_tensor *x) { return dync_sum(x, DYNC_ALL, false); }
#define FN(name) static dync_value name(const dync_value *a, int n, void *user)
#define UNUSED (void)n, (void)user
FN(carried)
{
    dync_tensor *c = dync_tanh(dync_add(a[0], a[1]));
    return UNUSED, dync_tuple(c, dync_mul(c, a[1]));
}
FN(products)
{
    dync_tensor *c = dync_mul(dync_add(a[0], a[1]), a[1]);
    return UNUSED, dync_tuple(c, c);
}
FN(kept) { return UNUSED, dync_tuple(a[0], dync_sin(dync_mul(a[0], a[1]))); }
FN(inner)
{
    dync_tensor *x = dync_unsqueeze(a[1].as.t, 1);
    dync_value r = dync_scan(carried, dync_mean(a[0].as.t, DYNC_ALL, false), dync_squeeze(x, 1));
    return UNUSED, dync_tuple(dync_add(a[0], dync_at(r, 0)), dync_at(r, 1));
}
FN(curve) { return UNUSED, DYNC_V(dync_sin(a[0].as.t)); }
FN(square) { return UNUSED, DYNC_V(dync_mul(a[0], a[0])); }
FN(combined) { return UNUSED, DYNC_V(dync_add(dync_mul(a[0], 0.5), dync_sin(a[1].as.t))); }
FN(small) { return UNUSED, DYNC_V(dync_lt(total(dync_abs(a[0].as.t)), 40.0)); }
FN(grown) { return UNUSED, dync_tuple(dync_mul(dync_add(a[0], dync_sin(a[0].as.t)), 1.25)); }

static int kind;
enum { KINDS = 9 };
static dync_tensor *inside(dync_tensor *h)
{
    dync_tensor *start = dync_sum(h, dync_shape(0), false);
    switch (kind) {
    case 0: return dync_as_tensor(dync_at(dync_scan(carried, start, h), 1));
    case 1: return dync_as_tensor(dync_at(dync_scan(products, start, h), 0));
    case 2: return dync_as_tensor(dync_at(dync_scan_reverse(kept, start, h), 1));
    case 3: return dync_as_tensor(dync_at(dync_scan(carried, start, dync_detach(h)), 1));
    case 4: return dync_as_tensor(dync_at(dync_scan(inner, start, h), 1));
    case 5: return dync_as_tensor(dync_cond(dync_gt(total(h), 0.0), curve, square, dync_tuple(h)));
    case 6: return dync_as_tensor(dync_map(curve, h));
    case 7: return dync_as_tensor(dync_associative_scan(combined, h, 0));
    default:
        return dync_as_tensor(dync_at(dync_while_loop_limit(small, grown, dync_tuple(h), 4), 0));
    }
}
/* A penalty on the gradient, and backward of both. */
static dync_tensor *penalised(dync_tensor *w, dync_tensor *x)
{
    dync_tensor *y = inside(dync_mul(x, w)), *loss = total(dync_mul(y, y));
    dync_value g = dync_gradients(DYNC_V(loss), DYNC_V(w), DYNC_NONE,
                                  ((dync_grad_options){.create_graph = true}));
    dync_tensor *first = dync_as_tensor(dync_at(g, 0));
    dync_backward(dync_add(loss, total(dync_mul(first, first))));
    return dync_detach(first);
}

TEST(a_penalty_on_gradients)
{
    static const char *const backends[] = {"eager", "aot_eager", "inductor"};
    for (kind = 0; kind < KINDS; kind++)
        for (int b = 0; b < 3; b++) {
            dync_compiled *f = dync_compile(penalised, .fullgraph = true, .backend = backends[b]);
            for (int call = 0; call < 3; call++) DYNC_SCOPE {
                dync_tensor *x = dync_randn(dync_shape(2 + call, 3)), *first[2], *second[2];
                for (int k = 0; k < 2; k++) {
                    dync_tensor *w = dync_full(dync_shape(3), 0.7, .requires_grad = true);
                    first[k] = k ? dync_call(f, w, x) : penalised(w, x);
                    second[k] = dync_grad(w);
                }
                REQUIRE_OK(dync_error());
                REQUIRE(first[1] && second[0] && second[1]);
                EXPECT(dync_allclose(first[0], first[1], 1e-3, 1e-4));
                bool good = dync_allclose(second[0], second[1], 1e-3, 1e-3);
                EXPECT(good);
                if (!good) printf("program %d, %s\n", kind, backends[b]);
            }
            dync_compiled_free(f);
        }
}

TEST_MAIN
