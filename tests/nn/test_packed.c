/* Weights packed once for all sizes and all functions that want them so (kernel/packed.c): what
 * that takes in memory, and that nobody gets those of before, of another layer or of a tensor that
 * is no more. */
#define TEST_AFTER_EACH dync_shutdown()
#include "dync.h"
#include "test.h"
#include "tol.h"

static dync_tensor *weight;
static dync_tensor *conv(dync_tensor *x)
{
    return dync_conv2d(x, weight, NULL, dync_shape(1), dync_shape(1), dync_shape(1), 1);
}
static dync_tensor *halved(dync_tensor *x) /* other tiles of the same weights */
{
    return dync_conv2d(x, weight, NULL, dync_shape(2), dync_shape(0), dync_shape(1), 1);
}
static dync_tensor *product(dync_tensor *x) { return dync_matmul(x, weight); }
static dync_tensor *turned(dync_tensor *x) { return dync_matmul(x, dync_transpose(weight, 0, 1)); }

static dync_tensor *input(bool image, int64_t n)
{
    return dync_sub(dync_rand(image ? dync_shape(1, 64, n, n) : dync_shape(n, 512)), 0.5);
}
static void renew(bool image)
{
    weight = dync_mul(
        dync_sub(dync_rand(image ? dync_shape(64, 64, 3, 3) : dync_shape(512, 512)), 0.5), 0.1);
}
typedef dync_tensor *(*layer)(dync_tensor *);
static dync_compiled *all_sizes(layer fn)
{
    return dync_compile(fn, .args = "x", .dynamic = DYNC_DYNAMIC_ON, .recompile_limit = 64);
}
/* Twice: products keep what they packed in the second run. */
static bool right(dync_compiled *f, layer fn, bool image, int64_t n)
{
    bool good = true;
    DYNC_SCOPE {
        dync_tensor *x = input(image, n);
        for (int i = 0; i < 3; i++)
            good = good && dync_allclose(dync_call(f, x), fn(x), 1e-3, 1e-4);
    }
    return good && dync_error() == DYNC_OK;
}

static void check_memory(layer fn, bool image, int64_t bytes)
{
    DYNC_SCOPE {
        renew(image);
        dync_compiled *f = all_sizes(fn);
        EXPECT(right(f, fn, image, 40));
        EXPECT(right(f, fn, image, 39));
        int64_t before = dync_memory_stats().live_bytes;
        for (int64_t n = 20; n < 36; n++) EXPECT(right(f, fn, image, n));
        int64_t more = dync_memory_stats().live_bytes - before;
        if (!EXPECT(more < 8 * bytes))
            printf("    %lld bytes more for 16 sizes, weights have %lld\n", (long long)more,
                   (long long)bytes);
        dync_compiled_free(f);
    }
}
TEST(sizes_share_packed_weights)
{
    dync_config_set("threads", "1");
    check_memory(conv, true, 64 * 64 * 9 * 4);
    check_memory(product, false, 512 * 512 * 4);
}

/* Live bytes that one call of a size never seen adds. */
static int64_t bytes_of(dync_compiled *f, int64_t n)
{
    int64_t before = dync_memory_stats().live_bytes;
    DYNC_SCOPE {
        dync_tensor *x = input(false, n);
        EXPECT(dync_allclose(dync_call(f, x), turned(x), 1e-3, 1e-4));
    }
    return dync_memory_stats().live_bytes - before;
}

/* Another size counts as another run of the same weights; those that change between calls are not
 * packed, until they rest for longer than they did. */
TEST(sizes_that_never_come_again_pack)
{
    const int64_t bytes = 128 * 512 * 4;
    dync_config_set("threads", "1");
    DYNC_SCOPE {
        weight = dync_mul(dync_sub(dync_rand(dync_shape(128, 512)), 0.5), 0.1);
        dync_compiled *f = all_sizes(turned);
        for (int64_t n = 60; n < 62; n++) DYNC_SCOPE {
            dync_call(f, input(false, n)); /* their plans for all sizes, arenas */
            dync_mul_(weight, 0.5);
        }
        for (int64_t n = 40; n < 44; n++) {
            EXPECT(bytes_of(f, n) < bytes);
            dync_mul_(weight, -0.5);
        }
        EXPECT(bytes_of(f, 44) < bytes);
        int64_t packed = bytes_of(f, 45);
        EXPECT(packed >= bytes && packed < 2 * bytes);
        for (int64_t n = 46; n < 50; n++) EXPECT(bytes_of(f, n) < bytes);
        /* twice each from here on */
        for (int step = 0; step < 4; step++) {
            dync_mul_(weight, -1.0);
            EXPECT(bytes_of(f, 50 + 2 * step) < bytes);
            (void)bytes_of(f, 51 + 2 * step);
        }
        dync_mul_(weight, -1.0);
        EXPECT(bytes_of(f, 70) < bytes);
        EXPECT(bytes_of(f, 71) < bytes);
        dync_compiled_free(f);
    }
}

/* Several layouts of several weights, written in place, freed and made anew meanwhile. */
TEST(weights_of_the_time_are_used)
{
    static const layer layers[] = {conv, halved, product, turned};
    dync_compiled *f[4], *g[4];
    for (int k = 0; k < 4; k++) f[k] = all_sizes(layers[k]), g[k] = all_sizes(layers[k]);
    for (int round = 0; round < 4; round++)
        for (int image = 0; image < 2; image++) DYNC_SCOPE {
            renew(image);
            for (int write = 0; write < 3; write++) {
                for (int64_t n = 20; n < 23; n++)
                    for (int k = image ? 0 : 2; k < (image ? 2 : 4); k++) {
                        EXPECT(right(f[k], layers[k], image, n));
                        EXPECT(right(g[k], layers[k], image, n + 1));
                    }
                if (write % 2)
                    ((float *)dync_data(weight))[test_random() % 9000] = 7; /* unseen by versions */
                else
                    dync_mul_(weight, -0.5);
            }
        }
    for (int k = 0; k < 4; k++) dync_compiled_free(f[k]), dync_compiled_free(g[k]);
}
TEST_MAIN
