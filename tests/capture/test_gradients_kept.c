/* dync_gradients under fullgraph, of values from outside: those that keep their gradient
 * (dync_retain_grad) have it afterwards, as plain; hooks are not passed over. */
#include "counter.h"

static dync_tensor *first(dync_value list) { return dync_as_tensor(dync_at(list, 0)); }
static dync_tensor *gradient(dync_tensor *x, dync_tensor *w)
{
    dync_tensor *loss = dync_sum(dync_mul(dync_mul(x, w), w), DYNC_ALL, false);
    return first(dync_gradients(DYNC_V(loss), DYNC_V(w), DYNC_NONE,
                                (dync_grad_options){.retain_graph = true}));
}
static dync_tensor *gradient_read(dync_tensor *x, dync_tensor *w)
{
    dync_tensor *g = gradient(x, w), *kept = dync_grad(w);
    return kept ? dync_add(g, kept) : g;
}
typedef dync_tensor *function(dync_tensor *, dync_tensor *);
static dync_tensor *tripled(dync_tensor *g, void *user)
{
    (void)user;
    return dync_mul(g, 3);
}
static double at(dync_tensor *t, int i)
{
    return t ? dync_item(dync_select(dync_detach(t), 0, i)) : NAN;
}

typedef enum { LEAF, VALUE, KEEPS, HOOKED } kind;
static dync_tensor *made(kind k)
{
    dync_tensor *leaf = dync_full(dync_shape(3), 2, .requires_grad = true);
    dync_tensor *w = k == LEAF ? leaf : dync_mul(leaf, 1);
    if (k == KEEPS) dync_retain_grad(w);
    if (k == HOOKED) dync_register_hook(w, tripled, NULL);
    return w;
}
static void check(function *fn, dync_compiled *c, kind k)
{
    dync_tensor *x = dync_full(dync_shape(3), 5), *w = made(k), *plain = made(k);
    dync_tensor *want = fn(x, plain), *got = dync_call(c, x, w);
    if (k == HOOKED) {
        EXPECT_STATUS(dync_error(), DYNC_ERR_UNSUPPORTED);
        dync_clear_error();
        return;
    }
    EXPECT_STATUS(dync_error(), DYNC_OK);
    EXPECT_NEAR(at(got, 1), at(want, 1), 0);
    EXPECT_NEAR(at(dync_grad(w), 1), at(dync_grad(plain), 1), 0);
    EXPECT(k != KEEPS || dync_grad(w));
}
static void each(function *fn)
{
    static const char *const backends[] = {"eager", "aot_eager", "inductor"};
    static const kind order[] = {VALUE, KEEPS, LEAF, VALUE, HOOKED, KEEPS, HOOKED, VALUE};
    for (int b = 0; b < 3; b++) {
        dync_compiled *c = dync_compile(fn, .backend = backends[b], .fullgraph = true);
        for (int i = 0; i < (int)(sizeof order / sizeof *order); i++) DYNC_SCOPE {
            check(fn, c, order[i]);
        }
        dync_compiled_free(c);
    }
}
TEST(of_values_that_keep_them) { each(gradient); }
TEST(read_inside) { each(gradient_read); }
TEST_MAIN
