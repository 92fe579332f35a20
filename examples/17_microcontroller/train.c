/* On the host: the network of the demo learns to read digits; it becomes C source twice, in floats
 * and in 8-bit integers, with 100 held-out images and what the host makes of them.
 *
 * train FOLDER [digits.bin] */
#define DYNC_IMPLEMENTATION
#include "dync.h"
#include <stdio.h>
#include <string.h>

enum { IMAGES = 1797, PIXELS = 64, TESTED = 100, HELD_OUT = 360, BATCH = 48, EPOCHS = 12 };

static unsigned char raw[IMAGES][PIXELS + 1];
static dync_module *net;

static dync_tensor *images(int from, int n)
{
    static float x[IMAGES][PIXELS];
    for (int i = 0; i < n; i++)
        for (int p = 0; p < PIXELS; p++) x[i][p] = (float)raw[from + i][p] / 16;
    return dync_from(*x, dync_shape(n, PIXELS));
}
static dync_tensor *labels(int from, int n)
{
    static int64_t y[IMAGES];
    for (int i = 0; i < n; i++) y[i] = raw[from + i][PIXELS];
    return dync_from(y, dync_shape(n), .dtype = DYNC_I64);
}
static dync_tensor *loss_of(dync_tensor *x, dync_tensor *y)
{
    return dync_cross_entropy(dync_forward_call(net, x), y);
}
static dync_tensor *digits(dync_tensor *x) { return dync_forward_call(net, x); }

static bool load(const char *path)
{
    FILE *f = fopen(path, "rb");
    size_t n = f ? fread(raw, sizeof raw[0], IMAGES, f) : 0;
    if (f) fclose(f);
    uint32_t random = 1; /* the file goes by writers */
    for (int i = IMAGES - 1; i > 0; i--) {
        unsigned char held[PIXELS + 1];
        int k = (int)((random = random * 1664525 + 1013904223) >> 8) % (i + 1);
        memcpy(held, raw[i], sizeof held);
        memcpy(raw[i], raw[k], sizeof held);
        memcpy(raw[k], held, sizeof held);
    }
    return n == IMAGES;
}

static void learn(void)
{
    dync_optim *optim = dync_adamw(net, .lr = 3e-3);
    dync_compiled *step = dync_compile(loss_of, .args = "x, y");
    for (int epoch = 0; epoch < EPOCHS; epoch++)
        for (int i = HELD_OUT; i + BATCH <= IMAGES; i += BATCH) DYNC_SCOPE {
            dync_tensor *loss = dync_call(step, images(i, BATCH), labels(i, BATCH));
            dync_optim_zero_grad(optim);
            dync_backward(loss);
            dync_optim_step(optim);
        }
    dync_compiled_free(step);
    dync_optim_free(optim);
}

static int class_of(dync_program *p, int image)
{
    dync_value x = DYNC_V(images(image, 1));
    return (int)dync_item(dync_argmax(dync_as_tensor(dync_program_run(p, 1, &x)), 1, false));
}

/* 0 to 16 for each pixel, the label, the classes of both programs. */
static void write_images(FILE *f, dync_program *real, dync_program *whole)
{
    fprintf(f, "static const unsigned char tested[%d][%d] = {\n", TESTED, PIXELS + 3);
    for (int i = 0; i < TESTED; i++) DYNC_SCOPE {
        fprintf(f, "    {");
        for (int p = 0; p <= PIXELS; p++) fprintf(f, "%d, ", raw[i][p]);
        fprintf(f, "%d, %d},\n", class_of(real, i), class_of(whole, i));
    }
    fprintf(f, "};\n");
}

int main(int argc, char **argv)
{
    char path[512];
    dync_value calls[HELD_OUT];
    dync_quantize_report r;
    if (argc < 2 || !load(argc > 2 ? argv[2] : "examples/data/digits.bin")) return 1;
    dync_manual_seed(0);
    net = dync_sequential(dync_nn_linear(PIXELS, 256, true), dync_nn_relu(),
                          dync_nn_linear(256, 10, true));
    learn();
    for (int i = 0; i < HELD_OUT; i++) calls[i] = DYNC_V(images(IMAGES - 1 - i, 1));
    dync_program *real = dync_export(dync_args(digits, "x"), images(0, 1)),
                 *whole = dync_quantize_program(real, dync_tuple_of(HELD_OUT, calls),
                                                &(dync_quantize_options){.report = &r});
    if (!whole) return 1;
    snprintf(path, sizeof path, "%s/digits.c", argv[1]);
    dync_program_save_c(real, path);
    snprintf(path, sizeof path, "%s/digits_int8.c", argv[1]);
    dync_program_save_c(whole, path);
    snprintf(path, sizeof path, "%s/digits_images.h", argv[1]);
    FILE *f = fopen(path, "w");
    if (!f) return 1;
    write_images(f, real, whole);
    fclose(f);
    printf("int8: %d layers, %.1f dB, constants %lld bytes of %lld\n", r.layers, r.snr_db,
           (long long)r.weight_bytes, (long long)r.weight_bytes_before);
    dync_program_free(real), dync_program_free(whole);
    dync_module_free(net);
    dync_shutdown();
    return dync_error() != DYNC_OK;
}
