/* cc -O2 -I.. demo.c -lm -pthread -o demo          (run from the root of the repository, or give
 * the path of digits.bin)
 *
 * The demo: a small network learns to read handwritten digits through dync_compile; then it shows
 * what the compiler did. 64 pixels -> 256 -> relu -> 10 classes, AdamW, 1,437 images to learn from,
 * 360 held out. */
#define DYNC_IMPLEMENTATION
#include "dync.h"
#include <string.h>
#include <time.h>

enum {
    IMAGES = 1797,
    PIXELS = 64,
    HELD_OUT = 360,
    TRAIN = IMAGES - HELD_OUT,
    BATCH = 48,
    EPOCHS = 30,
    STEPS = TRAIN / BATCH
};

static unsigned char raw[IMAGES][PIXELS + 1];
static float pixels[IMAGES][PIXELS];
static int64_t digit[IMAGES];
static int order[IMAGES]; /* the first 360 are held out, the rest is shuffled every epoch */
static dync_module *net;

/* ---- data ------------------------------------------------------------------------------------ */

static uint64_t random_state; /* SplitMix64: the same shuffle everywhere */
static uint64_t random_next(void)
{
    uint64_t z = (random_state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static void shuffle(int *items, int n)
{
    for (int i = n - 1; i > 0; i--) {
        int j = (int)(random_next() % (uint64_t)(i + 1)), t = items[i];
        items[i] = items[j];
        items[j] = t;
    }
}

static int load_digits(const char *path)
{
    FILE *f = fopen(path, "rb");
    size_t n = f ? fread(raw, sizeof raw[0], IMAGES, f) : 0;
    if (f) fclose(f);
    for (int i = 0; i < IMAGES; i++) {
        for (int p = 0; p < PIXELS; p++) pixels[i][p] = (float)raw[i][p] / 16;
        digit[i] = raw[i][PIXELS];
        order[i] = i;
    }
    random_state = 0;
    shuffle(order, IMAGES);
    return n == IMAGES;
}

/* Images order[from] ... as tensors. */
static dync_tensor *images(int from, int n)
{
    dync_tensor *x = dync_empty(dync_shape(n, PIXELS));
    float *to = dync_data(x);
    for (int i = 0; to && i < n; i++)
        memcpy(to + i * PIXELS, pixels[order[from + i]], sizeof pixels[0]);
    return x;
}

static dync_tensor *labels(int from, int n)
{
    dync_tensor *y = dync_empty(dync_shape(n), .dtype = DYNC_I64);
    int64_t *to = dync_data(y);
    for (int i = 0; to && i < n; i++) to[i] = digit[order[from + i]];
    return y;
}

/* ---- the network: ordinary C ----------------------------------------------------------------- */

static dync_tensor *loss_of(dync_tensor *x, dync_tensor *y)
{
    return dync_cross_entropy(dync_forward_call(net, x), y);
}
static dync_tensor *guess(dync_tensor *x)
{
    return dync_argmax(dync_forward_call(net, x), 1, false);
}

static double step(dync_compiled *f, dync_optim *optim, dync_tensor *x, dync_tensor *y)
{
    dync_tensor *loss = f ? dync_call(f, x, y) : loss_of(x, y);
    dync_optim_zero_grad(optim);
    dync_backward(loss);
    dync_optim_step(optim);
    return dync_item(loss);
}

static double accuracy(dync_compiled *f)
{
    double right = 0;
    DYNC_SCOPE {
        DYNC_NO_GRAD {
            dync_tensor *hit = dync_eq(dync_call(f, images(0, HELD_OUT)), labels(0, HELD_OUT));
            right = dync_item(dync_sum(hit, DYNC_ALL, false));
        }
    }
    return 100 * right / HELD_OUT;
}

static double now_ms(void)
{
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* The least of some stretches: other programs only make one longer. */
static double step_us(dync_compiled *f, dync_optim *optim, dync_tensor *x, dync_tensor *y)
{
    enum { STRETCHES = 10, ROUNDS = 40 };
    double least = 1e30;
    for (int k = 0; k < STRETCHES; k++) {
        double start = now_ms();
        for (int i = 0; i < ROUNDS; i++) DYNC_SCOPE {
            step(f, optim, x, y);
        }
        double us = (now_ms() - start) * 1e3 / ROUNDS;
        least = us < least ? us : least;
    }
    return least;
}

static void draw(int image, int64_t said)
{
    for (int p = 0; p < PIXELS; p++)
        printf("%c%c%s", " .:-=+*#%@@@@@@@@"[raw[image][p]], " .:-=+*#%@@@@@@@@"[raw[image][p]],
               p % 8 == 7 ? "\n" : "");
    printf("the network says %d, it is %d\n\n", (int)said, (int)digit[image]);
}

int main(int argc, char **argv)
{
    if (!load_digits(argc > 1 ? argv[1] : "examples/data/digits.bin") &&
        !load_digits("data/digits.bin")) {
        fprintf(stderr, "demo: cannot read digits.bin; give its path\n");
        return 1;
    }
    double began = now_ms();
    dync_manual_seed(0);
    net = dync_sequential(dync_nn_linear(PIXELS, 256, true), dync_nn_relu(),
                          dync_nn_linear(256, 10, true));
    dync_optim *optim = dync_adamw(net, .lr = 3e-3);
    dync_compiled *train = dync_compile(loss_of, .args = "x, y"),
                  *predict = dync_compile(guess, .args = "x");
    if (!train || !predict || !optim) return dync_error();

    for (int epoch = 0; epoch < EPOCHS; epoch++) {
        double loss = 0;
        shuffle(order + HELD_OUT, TRAIN);
        dync_optim_set_lr(optim, 3e-3 * (1 - (double)epoch / EPOCHS));
        for (int i = 0; i < STEPS; i++) DYNC_SCOPE {
            loss += step(train, optim, images(HELD_OUT + i * BATCH, BATCH),
                         labels(HELD_OUT + i * BATCH, BATCH));
        }
        if (dync_error() != DYNC_OK) return dync_error();
        printf("\repoch %2d  loss %.4f  accuracy on the 360 held out %.1f %%", epoch + 1,
               loss / STEPS, accuracy(predict));
        if (epoch % 5 == 4) printf("\n");
        fflush(stdout);
    }
    double reached = accuracy(predict);
    printf("trained in %.1f s\n\n", (now_ms() - began) * 1e-3);

    DYNC_SCOPE {
        dync_tensor *said = dync_call(predict, images(0, 3));
        for (int i = 0; said && i < 3; i++) draw(order[i], ((int64_t *)dync_data(said))[i]);
    }
    DYNC_SCOPE {
        dync_tensor *x = images(HELD_OUT, BATCH), *y = labels(HELD_OUT, BATCH);
        dync_explain_output e = dync_explain(dync_args(loss_of, "x, y"), x, y);
        printf("What was captured of loss_of(x, y):\n%s\n", dync_explain_str(&e));
        if (e.graph_count > 0) printf("Its graph, as C:\n%s\n", e.graphs[0]);
        double eager = step_us(NULL, optim, x, y), compiled = step_us(train, optim, x, y);
        printf("one training step of %d images: %.0f us eager, %.0f us compiled (%.1fx)\n", BATCH,
               eager, compiled, eager / compiled);
    }
    if (dync_module_save(net, "digits.safetensors") == DYNC_OK)
        printf("weights: digits.safetensors\n");

    dync_compiled_free(train);
    dync_compiled_free(predict);
    dync_optim_free(optim);
    dync_module_free(net);
    dync_shutdown();
    if (dync_error() != DYNC_OK) return dync_error();
    return reached < 97; /* a broken compiler shows here */
}
