/* The arena of exported C beside a lower bound: the bytes alive at the widest point of a network.
 * Random chains of linear layers with relus: of a layer its input and its result are alive at
 * once. */
#define TEST_AFTER_EACH dync_shutdown()
#include "dync.h"
#include "test.h"
#include "exported.h"

enum { MOST = 8 };
static int layers, rows, width[MOST + 1];
static dync_tensor *weight[MOST], *bias[MOST];

static int below(int n) { return (int)(test_random() % (uint64_t)n); }

static dync_tensor *chain(dync_tensor *x)
{
    for (int i = 0; i < layers; i++) {
        x = dync_linear(x, weight[i], bias[i]);
        if (i + 1 < layers) x = dync_relu(x);
    }
    return x;
}

static void choose(void)
{
    layers = 2 + below(MOST - 1);
    rows = 1 + below(4);
    for (int i = 0; i <= layers; i++) width[i] = 16 * (1 + below(12));
    for (int i = 0; i < layers; i++) {
        weight[i] = dync_randn(dync_shape(width[i + 1], width[i]));
        bias[i] = dync_randn(dync_shape(width[i + 1]));
    }
}

/* What a layer reads and writes, but for the argument and the result, which are the caller's. */
static long bound(void)
{
    long most = 0;
    for (int i = 0; i < layers; i++) {
        long floats = (i ? width[i] : 0) + (i + 1 < layers ? width[i + 1] : 0);
        most = floats > most ? floats : most;
    }
    return most * rows * 4;
}

static long arena_of(const char *name)
{
    char line[300], file[32];
    long bytes = -1;
    snprintf(file, sizeof file, "%s.h", name);
    FILE *f = open_file(file, "r");
    while (f && fgets(line, sizeof line, f)) {
        const char *at = strstr(line, "_ARENA_BYTES ");
        if (at && strncmp(line, "#define", 7) == 0) bytes = atol(at + strlen("_ARENA_BYTES "));
    }
    if (f) fclose(f);
    return bytes;
}

TEST(widest_point)
{
    bool ok = true;
    open_folder("arena");
    for (int n = 0; n < 60; n++) DYNC_SCOPE {
        choose();
        dync_program *p = dync_export(dync_args(chain, "x"), dync_ones(dync_shape(rows, width[0])));
        ok = EXPECT(p && save(p, "chain")) && ok;
        dync_program_free(p);
        long got = arena_of("chain"), least = bound();
        bool fits = EXPECT(got >= 0 && got <= least + least / 20);
        if (!fits) {
            printf("    %d rows: %ld bytes, %ld alive:", rows, got, least);
            for (int i = 0; i <= layers; i++) printf(" %d", width[i]);
            printf("\n");
        }
        ok = fits && ok;
    }
    if (ok) close_folder();
}

TEST_MAIN
