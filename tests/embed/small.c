/* The program for small targets: no output, all memory from one buffer, a compiled function checked
 * against numbers by hand. Its exit status says which check failed. */
/* Nothing is taken from anywhere else. */
#define DYNC_MALLOC(n) ((void)(n), (void *)0)
#define DYNC_REALLOC(p, n) ((void)(p), (void)(n), (void *)0)
#define DYNC_FREE(p) ((void)(p))
#define DYNC_IMPLEMENTATION
#include "dync.h"
#if defined(DYNC_NO_STDIO) && (defined(stdin) || defined(BUFSIZ))
#error "stdio.h came in although DYNC_NO_STDIO is set"
#endif
#ifndef SMALL_MEMORY
#define SMALL_MEMORY (4 << 20)
#endif
static _Alignas(64) unsigned char memory[SMALL_MEMORY];

static dync_tensor *toy(dync_tensor *a, dync_tensor *b)
{
    dync_tensor *x = dync_div(a, dync_add(dync_abs(a), 1));
    if (dync_bool(dync_lt(dync_sum(b, DYNC_ALL, false), 0))) b = dync_mul(b, -1);
    return dync_mul(x, b);
}

static int near_to(double a, double b) { return a > b - 1e-6 && a < b + 1e-6; }

static dync_tensor *negated(dync_tensor *x) { return dync_neg(x); }
static dync_tensor *doubled(dync_tensor *x) { return dync_mul(x, 2); }
static dync_tensor *chosen(dync_tensor *x)
{
    dync_tensor *low = dync_lt(dync_sum(x, DYNC_ALL, false), 0);
    return dync_as_tensor(dync_cond(low, negated, doubled, dync_tuple(x)));
}

/* Whole graphs, before anything that may break is compiled: of several shapes, with a branch that
 * data decide inside. A break is an error, the next call works. */
static int whole(dync_tensor *a, dync_tensor *b)
{
    dync_compiled *f = dync_compile(chosen, .fullgraph = true),
                  *g = dync_compile(toy, .args = "a, b", .fullgraph = true);
    for (int i = 0; i < 12; i++) DYNC_SCOPE {
        dync_tensor *x = i % 3 == 2 ? dync_narrow(a, 0, 0, 2) : i & 1 ? b : a;
        dync_tensor *y = dync_call(f, x), *want = dync_sum(x, DYNC_ALL, false);
        double scale = dync_item(want) < 0 ? -1 : 2;
        for (int k = 0; k < dync_size(x, 0); k++)
            if (!near_to(dync_item(dync_select(y, 0, k)), scale * dync_item(dync_select(x, 0, k))))
                return 5;
        if (i == 6) {
            if (dync_call(g, a, b) || dync_error() != DYNC_ERR_UNSUPPORTED) return 6;
            dync_clear_error();
        }
    }
    dync_compiled_free(f);
    dync_compiled_free(g);
    return 0;
}

#if defined(DYNC_SMALL) /* others have no limit */
/* Where tensors run out while a function is compiled, the message says so, wherever that is. */
static int crowded(dync_tensor *a, dync_tensor *b)
{
    int most = 0;
    DYNC_SCOPE while (dync_detach(a))
        most++;
    dync_clear_error();
    for (int room = 4; room < 80; room += 2) DYNC_SCOPE {
        dync_compiled *f = dync_compile(toy, .args = "a, b");
        for (int i = 0; i < most - room; i++)
            if (!dync_detach(a)) return 7;
        if (!dync_call(f, a, b) && !strstr(dync_error_message(), "out of tensor slots: ")) return 8;
        dync_clear_error();
        dync_compiled_free(f);
    }
    return 0;
}
#endif

/* Compiled autograd, where no size stays open: each size is a function of its own. */
static int backwards(void)
{
    for (int n = 2; n <= 5; n++) DYNC_SCOPE {
        dync_tensor *x = dync_full(dync_shape(n), 3.0, .requires_grad = true);
        dync_tensor *loss = dync_sum(dync_mul(x, x), DYNC_ALL, false);
        dync_status status = DYNC_OK;
        DYNC_COMPILED_AUTOGRAD("inductor") status = dync_backward(loss);
        if (status != DYNC_OK) return 9;
        for (int k = 0; k < n; k++)
            if (!near_to(dync_item(dync_select(dync_grad(x), 0, k)), 6)) return 9;
    }
    return 0;
}

int main(void)
{
    const float av[4] = {1, -1, 3, 0}, bv[4] = {-4, 2, -8, 1}, want[4] = {2, 1, 6, 0};
    dync_init_options options = {.memory = memory, .memory_size = sizeof memory, .threads = 1};
    dync_tensor *a, *b;
    dync_compiled *fast;
    if (dync_init(options) != DYNC_OK) return 1;
    a = dync_from(av, dync_shape(4));
    b = dync_from(bv, dync_shape(4));
    int failed = whole(a, b);
    if (failed) return failed;
    fast = dync_compile(toy, .args = "a, b");
    for (int i = 0; i < 20; i++) DYNC_SCOPE {
        dync_tensor *y = dync_call(fast, a, b);
        for (int k = 0; k < 4; k++)
            if (!near_to(dync_item(dync_select(y, 0, k)), (double)want[k])) return 2;
    }
    dync_compiled_free(fast);
    if (dync_error() != DYNC_OK) return 3;
    failed = backwards();
    if (failed) return failed;
#if defined(DYNC_SMALL)
    failed = crowded(a, b);
    if (failed) return failed;
#endif
    dync_shutdown();
    return dync_error() != DYNC_OK ? 4 : 0;
}
