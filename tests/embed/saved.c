/* Gradients of random networks, as bits: what a small program saves for backward, or with CUT the
 * minimum cut, which a share of memory that is asked for brings along, makes no difference. */
#include "dync.h"
#include <stdio.h>
#include <string.h>
static unsigned long long seed;
static int pick(int n)
{
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return (int)((seed >> 33) % (unsigned)n);
}

enum { STEPS = 12, PROGRAMS = 60 };
static int step[STEPS], with[STEPS];
static dync_tensor *w, *b;

/* of x [4, 4], once more of that form */
static dync_tensor *next(int kind, dync_tensor *x, dync_tensor *y)
{
    switch (kind) {
    case 0: return dync_relu(x);
    case 1: return dync_tanh(dync_mul(x, 0.5));
    case 2: return dync_add(x, y);
    case 3: return dync_mul(x, dync_sigmoid(y));
    case 4: return dync_matmul(x, w);
    case 5: return dync_linear(dync_t(x), w, b);
    case 6: return dync_softmax(x, -1);
    case 7: return dync_where(dync_gt(x, y), x, dync_mul(y, 0.25));
    case 8: return dync_add(dync_narrow(x, 0, 0, 1), dync_mean(y, dync_shape(1), true));
    case 9: return dync_sub(x, dync_amax(x, dync_shape(1), true));
    case 10: return dync_gelu(dync_neg(x));
    case 11: return dync_div(x, dync_add(dync_abs(y), 1));
    case 12: return dync_dropout(x, 0.25, true);
    case 13: return dync_mul_(dync_add_(dync_mul(x, 2), y), 0.5);
    case 14: return dync_reshape(dync_t(dync_reshape(x, dync_shape(2, 8))), dync_shape(4, 4));
    default: return dync_exp(dync_minimum(x, dync_mul(y, y)));
    }
}
static dync_tensor *f(dync_tensor *x)
{
    dync_tensor *value[STEPS + 1] = {x};
    for (int i = 0; i < STEPS; i++) value[i + 1] = next(step[i], value[i], value[with[i]]);
    return dync_sum(dync_mul(value[STEPS], value[STEPS / 2]), DYNC_ALL, false);
}

static void tell(const char *name, dync_tensor *t)
{
    unsigned bits[16] = {0}, hash = 2166136261u;
    dync_tensor *rows = dync_contiguous(t);
    const void *data = t ? dync_data(rows) : NULL;
    if (data) memcpy(bits, data, (size_t)dync_numel(rows) * sizeof *bits);
    for (int i = 0; i < 16; i++) hash = (hash ^ bits[i]) * 16777619u;
    printf(" %s %08x", name, hash);
}

int main(void)
{
    dync_init_options options = {.threads = 1};
    if (dync_init(options) != DYNC_OK) return 1;
#if defined(CUT)
    if (dync_config_set("activation_memory_budget", "1") != DYNC_OK) return 2;
#endif
    for (int program = 0; program < PROGRAMS; program++) DYNC_SCOPE {
        seed = (unsigned long long)program * 977 + 3;
        for (int i = 0; i < STEPS; i++) step[i] = pick(16), with[i] = pick(i + 1);
        dync_manual_seed(program);
        w = dync_randn(dync_shape(4, 4), .requires_grad = true);
        b = dync_randn(dync_shape(4), .requires_grad = true);
        dync_compiled *c = dync_compile(f, .fullgraph = true);
        printf("%d:", program);
        for (int call = 0; call < 2; call++) {
            dync_tensor *x = dync_randn(dync_shape(4, 4), .requires_grad = true);
            dync_tensor *y = dync_call(c, x);
            if (!y || dync_backward(y) != DYNC_OK) return printf(" %s\n", dync_error_message()), 3;
            tell("y", dync_detach(y));
            tell("x", dync_grad(x));
            if (dync_grad(w)) tell("w", dync_grad(w));
            if (dync_grad(b)) tell("b", dync_grad(b));
        }
        printf("\n");
        dync_compiled_free(c);
    }
    dync_shutdown();
    return 0;
}
