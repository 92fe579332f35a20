/* A program with DYNC_NO_F64: numbers of the API are floats, F64 is refused by name, and what other
 * builds compute in F64 is as right as F32 can be. Values are those of C's functions. */
#include "dync.h"
#include <math.h>
#include <string.h>
#ifdef BOARD
#include "board.h"
#else
#include <stdio.h>
static void board_print(const char *text) { fputs(text, stdout); }
#endif
#if defined(__cplusplus)
#error "this file is C"
#endif
_Static_assert(sizeof(dync_real) == sizeof(float), "numbers are floats");
_Static_assert(_Generic((dync_as_float)(DYNC_NONE), float: 1, default: 0),
               "and those that are read");
static int failed;
#ifdef DYNC_SMALL
static _Alignas(64) unsigned char memory[2 << 20];
#endif

static void check(bool good, const char *what)
{
    if (!good) board_print(what), board_print(": wrong\n"), board_print(dync_error_message());
    failed += !good;
    dync_clear_error();
}

static bool near_to(dync_tensor *t, int i, double expected, double relative)
{
    const float *p = dync_data(t);
    if (!p) return false;
    double gap = fabs((double)p[i] - expected);
    if (gap <= relative * fabs(expected)) return true;
#ifndef BOARD
    printf("%.9g, expected %.9g\n", (double)p[i], expected);
#endif
    return false;
}

static void functions(void)
{
    static const float x[] = {0.3f, 1.5f, 7.25f, 100.5f, 12345.678f, 1e6f, 3e9f, 1e22f, 2.5e38f},
                       y[] = {3, -2.5f, 0.75f, 0.5f, 0.01f, -0.125f, 1.75f, 1.6f, -0.3f};
    enum { N = sizeof x / sizeof *x };
    dync_tensor *a = dync_from(x, dync_shape(N)), *b = dync_from(y, dync_shape(N));
    dync_tensor *sines = dync_sin(a), *cosines = dync_cos(a), *tangents = dync_tan(a),
                *powers = dync_pow(a, b), *rest = dync_fmod(a, b), *sums = dync_cumsum(b, 0);
    double sum = 0;
    for (int i = 0; i < N; i++) {
        double v = (double)x[i], w = (double)y[i];
        check(near_to(sines, i, sin(v), 2e-7), "sin");
        check(near_to(cosines, i, cos(v), 2e-7), "cos");
        check(near_to(tangents, i, tan(v), 4e-7), "tan");
        check(near_to(powers, i, pow(v, w), 3e-7), "pow");
        check(near_to(rest, i, fmod(v, w), 0), "fmod");
        check(near_to(sums, i, sum += w, 1e-6), "cumsum");
    }
}

static dync_tensor *scaled(dync_tensor *x, dync_value by) { return dync_mul(x, by); }
static dync_value scaled_values(const dync_value *args, int nargs, void *user)
{
    (void)nargs, (void)user;
    return DYNC_V(scaled(dync_as_tensor(args[0]), args[1]));
}

static void numbers(void)
{
    dync_tensor *r = dync_arange(0, 1, 0.125),
                *whole = dync_to_dtype(dync_arange(0, 6, 1), DYNC_I64);
    for (int i = 0; i < 8; i++) check(near_to(r, i, 0.125 * i, 0), "arange");
    check(near_to(dync_var(r, dync_shape(0), 1, false), 0, 0.09375, 1e-6), "var");
    check(near_to(dync_mul(whole, 0.1), 5, 0.5, 1e-7), "an integer times a number");
    check(dync_item(dync_sum(dync_full(dync_shape(3), 2.5f), DYNC_ALL, false)) == 7.5f, "item");
    check(dync_as_float(DYNC_V(0.25)) == 0.25f, "dync_as_float");
    check(dync_allclose(r, dync_add(r, 1e-9), 1e-5f, 1e-7f), "allclose");
    check(dync_as_float(DYNC_V(dync_item(dync_full(DYNC_SCALAR, -3)))) == -3, "a value of an item");
    dync_compiled *f = dync_compile(scaled_values, .symbolic = "by", .args = "x, by");
    for (int i = 1; i < 4; i++) {
        dync_tensor *got = dync_as_tensor(dync_call_value(f, r, 0.5 * i));
        check(near_to(got, 2, 0.125 * i, 1e-7), "a number of a compiled function");
    }
    dync_compiled_free(f);
    dync_tensor *z = dync_randn(dync_shape(4000));
    float mean = dync_item(dync_mean(z, DYNC_ALL, false)),
          square = dync_item(dync_mean(dync_mul(z, z), DYNC_ALL, false));
    check(fabsf(mean) < 0.08f && fabsf(square - 1) < 0.1f, "randn");
}

static void refused(dync_tensor *t, const char *what)
{
    check(!t && dync_error() == DYNC_ERR_UNSUPPORTED &&
              (strstr(dync_error_message(), "DYNC_NO_F64") || !strchr(dync_error_message(), ' ')),
          what);
}

static void refusals(void)
{
    static const double wide[2] = {1, 2};
    refused(dync_zeros(dync_shape(2), .dtype = DYNC_F64), "zeros of F64");
    refused(dync_from(wide, dync_shape(2), .dtype = DYNC_F64), "from F64");
    refused(dync_to_dtype(dync_ones(dync_shape(2)), DYNC_F64), "to F64");
    refused(dync_sum(dync_to_dtype(dync_ones(dync_shape(2)), DYNC_F64), DYNC_ALL, false), "sum");
}

/* Steps of SGD on (w x - y)^2 and of Adam against the formulas in doubles. */
static void training(void)
{
    double w = 0.5, v = 0.5, m1 = 0, m2 = 0;
    dync_tensor *p = dync_parameter(dync_full(dync_shape(1), 0.5)),
                *q = dync_parameter(dync_full(dync_shape(1), 0.5));
    dync_optim *sgd = dync_optim_new(DYNC_OPTIM_SGD, 1, &p, (dync_optim_options){.lr = 0.05f}),
               *adam = dync_optim_new(DYNC_OPTIM_ADAM, 1, &q, (dync_optim_options){.lr = 0.1f});
    for (int i = 1; i <= 20; i++) {
        double x = 0.25 * i, g = 2 * x * (w * x - 1.5 * x), h = 2 * x * (v * x - 1.5 * x);
        dync_tensor *of_p = dync_sub(dync_mul(p, (float)x), 1.5 * x),
                    *of_q = dync_sub(dync_mul(q, (float)x), 1.5 * x);
        dync_tensor *loss =
            dync_sum(dync_add(dync_mul(of_p, of_p), dync_mul(of_q, of_q)), DYNC_ALL, false);
        if (i == 10) dync_optim_set_lr(sgd, 0.01f);
        check(dync_backward(loss) == DYNC_OK && dync_optim_step(sgd) == DYNC_OK &&
                  dync_optim_step(adam) == DYNC_OK,
              "a step");
        dync_optim_zero_grad(sgd), dync_optim_zero_grad(adam);
        w -= (i < 10 ? 0.05 : 0.01) * g;
        m1 = 0.9 * m1 + 0.1 * h, m2 = 0.999 * m2 + 0.001 * h * h;
        v -= 0.1 * (m1 / (1 - pow(0.9, i))) / (sqrt(m2 / (1 - pow(0.999, i))) + 1e-8);
        check(near_to(p, 0, w, 1e-5) && near_to(q, 0, v, 1e-4), "SGD and Adam");
    }
    dync_optim_free(sgd), dync_optim_free(adam);
}

#ifndef DYNC_SMALL
/* Numbers of a checkpoint, and those of an optimizer: a second one goes on where the first was. */
static void kept(const char *file)
{
    dync_real epoch = 2.5f, found = 0;
    float end[2];
    for (int i = 0; i < 2; i++) {
        dync_tensor *p = dync_parameter(dync_full(dync_shape(2), 0.5));
        dync_optim *adam = dync_optim_new(DYNC_OPTIM_ADAM, 1, &p, (dync_optim_options){.lr = 0.1f});
        dync_checkpoint_item items[] = {
            {"p", .tensor = p}, {"adam", .optim = adam}, {"epoch", .f = i ? &found : &epoch}};
        if (i) check(dync_checkpoint_load_items(file, 3, items) == DYNC_OK, "load");
        for (int step = i ? 3 : 0; step < 6; step++) {
            if (step == 3 && !i)
                check(dync_checkpoint_save_items(file, 3, items) == DYNC_OK, "save");
            dync_backward(dync_sum(dync_mul(p, p), DYNC_ALL, false));
            check(dync_optim_step(adam) == DYNC_OK, "a step");
            dync_optim_zero_grad(adam);
        }
        end[i] = dync_item(dync_select(p, 0, 1));
        dync_optim_free(adam);
    }
    check(found == epoch, "a number of a checkpoint");
    check(memcmp(&end[0], &end[1], sizeof end[0]) == 0, "an optimizer read from a file");
}

#endif

/* What a compiled function gives is compared with what it gives when it runs as written. */
static dync_value number_of(const dync_value *args, int nargs, void *user)
{
    (void)nargs, (void)user;
    return DYNC_V(dync_as_float(args[1]) * 2);
}
static void verified(void)
{
    dync_compiled *f = dync_compile(number_of);
    dync_set_verify(true);
    for (int i = 0; i < 3; i++) {
        dync_value got = dync_call_value(f, dync_ones(dync_shape(2)), 0.5 * i);
        check(dync_as_float(got) == (dync_real)i, "a verified number");
    }
    dync_set_verify(false);
    dync_compiled_free(f);
}

static void quiet(dync_status status, const char *message, void *user)
{
    (void)status, (void)message, (void)user;
}

#ifdef DYNC_SMALL
int main(void)
{
    dync_init_options options = {.memory = memory, .memory_size = sizeof memory};
    if (dync_init(options) != DYNC_OK) return 1;
#else
int main(int argc, char **argv)
{
    if (argc > 1) kept(argv[1]);
#endif
    dync_on_error(quiet, NULL);
    functions();
    numbers();
    refusals();
    training();
    verified();
    dync_shutdown();
    return failed != 0;
}
