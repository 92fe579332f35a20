/* What must work on a chip: hello, a branch on data, training to a loss, a program exported and
 * run, and every size of the buffer that is too small. A line says what each took of the buffer and
 * of the stack. Without BOARD it is a program of the host. The exit status: the program that
 * failed. */
#include "dync.h"
#include <stdint.h>
#ifdef BOARD
#include "board.h"
#else
#include <stdio.h>
static void board_print(const char *text) { fputs(text, stdout); }
#endif

static _Alignas(64) unsigned char memory[1 << 20];

/* ---- the stack below main: marked before each program, measured behind it -------------------- */
enum { STACK = 10240 }; /* words */
static volatile uint32_t *stack_top;
static __attribute__((noinline)) void stack_mark(void)
{
    stack_top = (volatile uint32_t *)__builtin_frame_address(0) - 32;
    for (int i = 0; i < STACK; i++) stack_top[-i] = 0xa5a5a5a5u;
}
static __attribute__((noinline)) int stack_used(void)
{
    int n = STACK;
    while (n > 0 && stack_top[1 - n] == 0xa5a5a5a5u) n--;
    return 4 * (n + 32);
}

static void say(const char *name, const char *what, int64_t n)
{
    char digits[24], *at = digits + sizeof digits - 1;
    *at = 0;
    do *--at = (char)('0' + n % 10);
    while (n /= 10);
    board_print(name), board_print(what), board_print(at), board_print("\n");
}

/* ---- the programs: 0, or the number of the check that failed --------------------------------- */
static int hello(void)
{
    const float av[4] = {1, -1, 3, 0}, bv[4] = {-4, 2, -8, 1};
    dync_tensor *a = dync_from(av, dync_shape(2, 2)), *b = dync_from(bv, dync_shape(2, 2));
    const float *y = dync_data(dync_matmul(dync_relu(dync_mul(dync_add(a, b), b)), b));
    return y && y[0] == -64 && y[1] == 26 && y[2] == -168 && y[3] == 81 ? 0 : 1;
}

static dync_tensor *toy(dync_tensor *a, dync_tensor *b)
{
    dync_tensor *x = dync_div(a, dync_add(dync_abs(a), 1));
    if (dync_bool(dync_lt(dync_sum(b, DYNC_ALL, false), 0))) b = dync_mul(b, -1);
    return dync_mul(x, b);
}

/* Both ways, each once recorded and then known. */
static int branch(void)
{
    const float av[4] = {1, -1, 3, 0}, bv[4] = {-4, 2, -8, 1}, cv[4] = {4, 2, 8, 1};
    const float want[2][4] = {{2, 1, 6, 0}, {2, -1, 6, 0}};
    dync_tensor *a = dync_from(av, dync_shape(4)),
                *b[2] = {dync_from(bv, dync_shape(4)), dync_from(cv, dync_shape(4))};
    dync_compiled *f = dync_compile(toy);
    int failed = 0;
    for (int i = 0; i < 8 && !failed; i++) {
        const float *y = dync_data(dync_call(f, a, b[i & 1]));
        for (int k = 0; k < 4 && !failed; k++)
            if (!y || y[k] - want[i & 1][k] > 1e-6f || want[i & 1][k] - y[k] > 1e-6f) failed = 1;
    }
    dync_compiled_free(f);
    return failed;
}

static dync_module *net;
static dync_tensor *loss_of(dync_tensor *x, dync_tensor *y)
{
    return dync_mse_loss(dync_forward_call(net, x), y);
}

/* A network of 8-16-1 learns the sum of its inputs. */
static int train(void)
{
    float first = 0, last = 0;
    dync_manual_seed(1);
    net = dync_sequential(dync_nn_linear(8, 16, true), dync_nn_relu(), dync_nn_linear(16, 1, true));
    dync_optim *optim = dync_sgd(net, .lr = 0.05);
    dync_compiled *f = dync_compile(loss_of);
    dync_tensor *x = dync_randn(dync_shape(32, 8)), *y = dync_sum(x, dync_shape(1), true);
    int failed = 0;
    for (int step = 0; step < 60 && !failed; step++) DYNC_SCOPE {
        dync_optim_zero_grad(optim);
        dync_tensor *loss = dync_call(f, x, y);
        failed = dync_backward(loss) != DYNC_OK || dync_optim_step(optim) != DYNC_OK;
        last = failed ? 0 : (float)dync_item(loss);
        if (step == 0) first = last;
    }
    dync_compiled_free(f);
    dync_optim_free(optim);
    dync_module_free(net);
    return failed ? 1 : last < first * 0.2f ? 0 : 2;
}

static dync_tensor *layer(dync_tensor *x, dync_tensor *w) { return dync_relu(dync_matmul(x, w)); }

static int export(void)
{
    const float xv[4] = {1, 2, -3, 4}, wv[4] = {1, -1, 2, 3}, want[4] = {5, 5, 5, 15};
    dync_tensor *x = dync_from(xv, dync_shape(2, 2)), *w = dync_from(wv, dync_shape(2, 2));
    dync_program *p = dync_export(layer, x, w);
    dync_value args[2] = {dync_v_tensor(x), dync_v_tensor(w)}, y = dync_program_run(p, 2, args);
    const float *v = y.kind == DYNC_KIND_TENSOR ? dync_data(y.as.t) : NULL;
    int failed = !v;
    for (int i = 0; i < 4 && v; i++) failed |= v[i] != want[i];
    dync_program_free(p);
    return failed;
}

/* ---- one program in a buffer of n bytes ------------------------------------------------------ */
typedef int (*program)(void);
static dync_status status;
static void quietly(dync_status s, const char *message, void *user)
{
    (void)s, (void)message, (void)user;
}

/* 0: it worked; 1: out of memory, and nothing else; 2: wrong. */
static int within(program run, size_t n, int64_t *peak)
{
    dync_init_options options = {.memory = memory, .memory_size = n};
    int failed = 1;
    dync_clear_error();
    status = dync_init(options);
    if (status == DYNC_OK) {
        DYNC_SCOPE {
            failed = run();
        }
        status = dync_error();
        *peak = dync_memory_stats().peak_bytes;
        dync_shutdown();
    }
    if (!failed && status == DYNC_OK) return 0;
    return failed && (status == DYNC_ERR_MEMORY || (status == DYNC_ERR_VALUE && n < 1024)) ? 1 : 2;
}

/* In the whole buffer, then in ever larger ones, from one that is too small for anything. */
static int all_of(const char *name, program run, size_t step)
{
    int64_t peak = 0, least = 0;
    dync_on_error(quietly, NULL);
    stack_mark();
    int what = within(run, sizeof memory, &peak);
    if (what) return say(name, ": status ", status), what;
    say(name, ": bytes of the buffer at most ", peak);
    say(name, ": bytes of the stack ", stack_used());
    for (size_t n = 256; n <= sizeof memory; n += step) {
        int64_t ignored;
        what = within(run, n, &ignored);
        if (what == 2)
            return say(name, ": wrong with a buffer of ", (int64_t)n),
                   say(name, ": status ", status), 3;
        if (what == 0 && !least) least = (int64_t)n;
        if (least && (int64_t)n > least + 8 * (int64_t)step) break;
    }
    say(name, ": works from a buffer of ", least);
    return least ? 0 : 4;
}

int main(void)
{
    if (all_of("hello", hello, 512)) return 1;
    /* in the order of what they need: the peak is that of all so far */
    if (all_of("export", export, 4096)) return 2;
    if (all_of("branch", branch, 4096)) return 3;
    if (all_of("training", train, 16384)) return 4;
    return 0;
}
