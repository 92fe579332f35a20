/* cc -O2 -I.. 15_export_c.c -lm -pthread -o 15_export_c
 *
 * Lesson 15: a program as C source, for a chip without dync.h, malloc or files. One dimension stays
 * symbolic: it is an argument of the C function, up to a maximum. Compile what comes out by
 *
 *     cc -DNET_MAIN net.c -lm && ./a.out
 *
 * for its self-test, or put both files into a project of yours and call net_run. */
#define DYNC_IMPLEMENTATION
#include "dync.h"
#include <stdio.h>
#include <string.h>

static dync_module *layers;
static dync_tensor *net(dync_tensor *x) { return dync_softmax(dync_forward_call(layers, x), -1); }

/* The lines of a file that hold this word. */
static void show(const char *path, const char *word)
{
    char line[256];
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f))
        if (strstr(line, word)) printf("%s", line);
    if (f) fclose(f);
}

int main(void)
{
    dync_manual_seed(15);
    layers =
        dync_sequential(dync_nn_linear(4, 8, true), dync_nn_relu(), dync_nn_linear(8, 2, true));

    /* Rows: 2 to 32. The arena of net.c is as large as 32 rows need. */
    dync_tensor *x = dync_randn(dync_shape(3, 4));
    dync_mark_dynamic_range(x, 0, 2, 32);
    dync_program *p = dync_export(dync_args(net, "x"), x);
    if (!p || dync_program_save_c(p, "net.c") != DYNC_OK) return dync_error();
    show("net.h", "#define NET_");
    show("net.h", "int net_");

    /* Here the same program runs with any of those sizes, too. */
    dync_value rows = DYNC_V(dync_randn(dync_shape(20, 4)));
    dync_tensor *got = dync_as_tensor(dync_program_run(p, 1, &rows));
    printf("20 rows: equal %d\n", dync_allclose(net(dync_as_tensor(rows)), got, 1e-6, 1e-7));

    dync_program_free(p);
    dync_module_free(layers);
    remove("net.c");
    remove("net.h");
    dync_shutdown();
    return dync_error();
}
