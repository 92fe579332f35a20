/* runtime/beside.c: calls that keep to one thread run two at a time. Graphs of recurrent layers
 * that read each other's results, share inputs and stand behind loops, of one size and of all,
 * forward and backward, by two and three threads: bit by bit what they give one after the other.
 * `--seed N` starts elsewhere, SOAK=N goes on longer. */
#include "dync.in.h"
#include "base/system.h"
#define TEST_AFTER_EACH \
    (dync__pool_force(DYNC__POOL_TRIED), dync__pool_set_threads(0), dync_shutdown())
#include "test.h"

enum { LAYERS = 6, VALUES = 24, WIDTH = 8 };
typedef struct towers {
    int n;
    dync_module *layer[LAYERS];
    bool both[LAYERS];
    int from[LAYERS], with[LAYERS]; /* values that it reads the sum of; -1: one alone */
} towers;

static towers drawn(void)
{
    static dync_module *(*const make[])(int64_t, int64_t, int, bool) = {dync_nn_rnn, dync_nn_gru,
                                                                        dync_nn_lstm};
    towers t = {.n = test_random_int(2, LAYERS)};
    for (int i = 0; i < t.n; i++) {
        t.both[i] = test_random() % 2;
        t.layer[i] = make[test_random() % 3](WIDTH, t.both[i] ? WIDTH / 2 : WIDTH,
                                             test_random_int(1, 2), t.both[i]);
        t.from[i] = test_random_int(0, i);
        t.with[i] = test_random() % 3 ? -1 : test_random_int(0, i);
    }
    return t;
}

static dync_value run(const dync_value *v, int n, void *user)
{
    const towers *t = user;
    dync_tensor *value[LAYERS + 1] = {dync_sin(v[0].as.t)}, *sum = NULL;
    (void)n;
    for (int i = 0; i < t->n; i++) {
        dync_tensor *x = value[t->from[i]];
        if (t->with[i] >= 0) x = dync_add(x, value[t->with[i]]);
        value[i + 1] = dync_as_tensor(dync_at(dync_module_call(t->layer[i], x), 0));
        dync_tensor *part = dync_mean(dync_mul(value[i + 1], value[i + 1]), DYNC_ALL, false);
        sum = sum ? dync_add(sum, part) : part;
    }
    return dync_tuple(sum, value[t->n]);
}

/* The results and gradients of a call, one behind the other. */
static dync_tensor *call(dync_compiled *f, const towers *t, dync_tensor *x, bool train)
{
    dync_tensor *in = train ? dync_requires_grad_(dync_clone(x), true) : x, *all[2 + LAYERS];
    dync_value arg = DYNC_V(in), out = dync_call_values(f, 1, &arg);
    if (out.kind != DYNC_KIND_LIST) return NULL;
    int n = 0;
    all[n++] = dync_reshape(dync_as_tensor(dync_at(out, 1)), dync_shape(-1));
    if (train) {
        dync_backward(dync_as_tensor(dync_at(out, 0)));
        all[n++] = dync_reshape(dync_grad(in), dync_shape(-1));
        for (int i = 0; i < t->n; i++) {
            dync_tensor *w = dync_module_param(t->layer[i], "weight_hh_l0");
            all[n++] = dync_clone(dync_reshape(dync_grad(w), dync_shape(-1)));
            dync_set_grad(w, NULL);
        }
    }
    dync_tensor *flat = all[0];
    for (int i = 1; i < n; i++) flat = dync_cat(dync_tuple(flat, all[i]), 0);
    return dync_detach(flat);
}

static bool holds(const towers *t, bool open, bool train, int threads)
{
    dync_compiled *f[2];
    bool good = true;
    dync__pool_set_threads(threads);
    dync__pool_force(DYNC__POOL_SHARED);
    for (int s = 0; s < 2; s++)
        f[s] = dync_compile(run, .args = "x", .user = (void *)(uintptr_t)t,
                            .dynamic = open ? DYNC_DYNAMIC_ON : DYNC_DYNAMIC_OFF);
    for (int i = 0; i < (open ? 4 : 2) && good; i++) DYNC_SCOPE {
        dync_tensor *got[2], *x = dync_randn(dync_shape(open ? test_random_int(2, 40) : 12,
                                                        open ? test_random_int(1, 20) : 16, WIDTH));
        for (int s = 0; s < 2; s++) {
            dync_config_set("disable", s ? "beside" : "");
            got[s] = call(f[s], t, x, train);
        }
        good = got[0] && got[1] && dync_error() == DYNC_OK && dync_equal(got[0], got[1]);
    }
    for (int s = 0; s < 2; s++) dync_compiled_free(f[s]);
    dync_config_set("disable", "");
    return good;
}

TEST(two_at_a_time_give_the_same_bits)
{
    dync_config_set("check_ir", "1");
    for (int k = 0; k < test_count(24); k++) {
        towers t = drawn();
        bool open = test_random() % 2, train = test_random() % 2;
        int threads = test_random_int(2, 3);
        if (!EXPECT(holds(&t, open, train, threads)))
            printf("    towers %d of seed %llu: %d layers%s%s, %d threads: %s\n", k,
                   (unsigned long long)test__state.seed, t.n, open ? ", all sizes" : "",
                   train ? ", trained" : "", threads, dync_error_message());
        dync_clear_error();
        for (int i = 0; i < t.n; i++) dync_module_free(t.layer[i]);
    }
}
TEST_MAIN
