/* hello for a Cortex-M4: compiled with DYNC_SMALL; all memory from one buffer. */
/* There is no malloc here. */
#define DYNC_MALLOC(n) ((void)(n), (void *)0)
#define DYNC_REALLOC(p, n) ((void)(p), (void)(n), (void *)0)
#define DYNC_FREE(p) ((void)(p))
#define DYNC_IMPLEMENTATION
#include "dync.h"
#include "board.h"

static _Alignas(64) unsigned char memory[1 << 20];

static dync_tensor *toy(dync_tensor *a, dync_tensor *b)
{
    dync_tensor *x = dync_div(a, dync_add(dync_abs(a), 1));
    if (dync_bool(dync_lt(dync_sum(b, DYNC_ALL, false), 0))) b = dync_mul(b, -1);
    return dync_mul(x, b);
}

static void show(const char *text)
{
    board_print(text ? text : "(nothing)");
    board_print("\n");
}

static void on_error(dync_status status, const char *message, void *user)
{
    (void)status;
    (void)user;
    show(message);
}

int main(void)
{
    const float av[4] = {1, -1, 3, 0}, bv[4] = {-4, 2, -8, 1};
    dync_init_options options = {.memory = memory, .memory_size = sizeof memory};
    dync_tensor *a, *b;
    dync_compiled *fast;
    dync_explain_output e;
    dync_on_error(on_error, NULL);
    if (dync_init(options) != DYNC_OK) return 1;
    a = dync_from(av, dync_shape(4));
    b = dync_from(bv, dync_shape(4));
    fast = dync_compile(toy, .args = "a, b");
    show(dync_str(dync_call(fast, a, b)));
    for (int i = 0; i < 100; i++) DYNC_SCOPE {
        dync_call(fast, a, b);
    }
    e = dync_explain(toy, a, b);
    show(dync_explain_str(&e));
    dync_compiled_free(fast);
    dync_shutdown();
    return dync_error();
}
