/* Values with hooks in one graph, returned beside what lies on their memory: detached values and
 * views of them, views of inputs. Against the plain function: gradients, how often hooks ran. */
#define TEST_AFTER_EACH dync_shutdown()
#include "counter.h"

static int runs;
static dync_tensor *thrice(dync_tensor *grad, void *user)
{
    (void)user;
    return dync_mul(grad, 3.0);
}
static dync_tensor *counted(dync_tensor *grad, void *user)
{
    (void)grad, (void)user;
    runs++;
    return NULL;
}

static int kind;
enum { KINDS = 12 };
static dync_value hooks(const dync_value *a, int n, void *user)
{
    (void)n, (void)user;
    dync_tensor *x = a[0].as.t, *r = kind < 8 ? dync_mul(x, 2.0) : dync_transpose(x, 0, 1);
    if (kind == 5) dync_register_hook(r, counted, NULL);
    dync_register_hook(r, thrice, NULL);
    dync_tensor *bare = dync_detach(r), *flat = dync_reshape(r, dync_shape(-1));
    switch (kind) {
    case 0: return dync_tuple(r, bare);
    case 1: return dync_tuple(bare, r);
    case 2: return dync_tuple(r, flat);
    case 3: return dync_tuple(flat, bare);
    case 4: return dync_tuple(flat, dync_select(r, 0, 1), r);
    case 5: return dync_tuple(dync_exp(r), r, bare);
    case 6: return dync_tuple(dync_select(flat, 0, 1), dync_exp(bare));
    case 7: return dync_tuple(dync_transpose(r, 0, 1), dync_transpose(bare, 0, 1));
    case 8: return dync_tuple(r, x);
    case 9: return dync_tuple(bare, r);
    case 10: return dync_tuple(dync_select(r, 0, 1), r);
    default: return dync_tuple(dync_transpose(r, 0, 1), x);
    }
}

static dync_tensor *gradient(dync_compiled *f, int call)
{
    dync_manual_seed((uint64_t)call);
    dync_tensor *x = dync_requires_grad_(dync_randn(dync_shape(2 + call, 3)), true), *sum = NULL;
    dync_value in = DYNC_V(x), y = f ? dync_call_values(f, 1, &in) : hooks(&in, 1, NULL);
    for (int i = 0; i < dync_len(y); i++) {
        dync_tensor *t = dync_as_tensor(dync_at(y, i));
        if (!dync_requires_grad(t)) continue;
        t = dync_sum(dync_mul(t, 1.0 + i), DYNC_ALL, false);
        sum = sum ? dync_add(sum, t) : t;
    }
    EXPECT_OK(dync_backward(sum));
    return dync_grad(x);
}

TEST(hooks_are_on_the_way_of_every_result)
{
    static const char *const backends[] = {"eager", "aot_eager", "inductor"};
    for (kind = 0; kind < KINDS; kind++)
        for (int b = 0; b < 3; b++) {
            dync_compiled *f =
                dync_compile(hooks, .args = "x", .fullgraph = true, .backend = backends[b]);
            for (int call = 0; call < 4; call++) DYNC_SCOPE {
                runs = 0;
                dync_tensor *want = gradient(NULL, call);
                int plain = runs;
                runs = 0;
                dync_tensor *got = gradient(f, call);
                REQUIRE(want && got);
                EXPECT(dync_allclose(want, got, 1e-5, 1e-6));
                EXPECT(kind != 5 || call == 0 || runs == plain);
                if (!dync_allclose(want, got, 1e-5, 1e-6))
                    printf("program %d, %s, call %d\n", kind, backends[b], call);
            }
            dync_compiled_free(f);
        }
}

TEST_MAIN
