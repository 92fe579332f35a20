/* cc -O2 -I.. 10_onnx.c -lm -pthread -o 10_onnx
 *
 * Lesson 10: a model that somebody else trained. ./10_onnx model.onnx [input.npy ...] prints what
 * goes in and out and the graph, runs it on the files given or on random numbers, and shows where
 * the time goes. Without a file it says so. */
#define DYNC_IMPLEMENTATION
#include "dync.h"
#include <string.h>

/* Sizes that may change are 1. */
static dync_tensor *random_input(dync_port port)
{
    dync_dims shape = port.shape;
    if (shape.n < 0) shape.n = 0;
    for (int d = 0; d < shape.n; d++)
        if (shape.d[d] < 0) shape.d[d] = 1;
    dync_tensor *x = dync_rand(shape);
    bool real = port.dtype == DYNC_F32 || port.dtype == DYNC_F64 || port.dtype == DYNC_F16 ||
                port.dtype == DYNC_BF16;
    return dync_to_dtype(real ? x : dync_mul(x, 2), port.dtype);
}

/* Operator by operator: compiled they are few kernels. A model without a graph of its own, where
 * data decide sizes, is a function that calls them. */
static void show_time(dync_program *p, int n, const dync_value *in)
{
    dync_graph *g = dync_program_graph(p);
    dync_set_stance("force_eager");
    dync_profile_start();
    for (int i = 0; i < 10; i++) {
        dync_scope scope = dync_scope_begin();
        if (g)
            dync_graph_run(g, in, n);
        else
            dync_program_run(p, n, in);
        dync_scope_end(&scope);
    }
    dync_profile_stop();
    dync_set_stance("default");
    char *table = dync_profile_table(), *line = table;
    for (int shown = 0; line && shown < 11;) { /* a line of head, ten operators */
        char *end = strchr(line, '\n');
        if (strncmp(line, "Torch-Compiled Region", 21) != 0) { /* around all of them */
            printf("%.*s\n", end ? (int)(end - line) : (int)strlen(line), line);
            shown++;
        }
        line = end ? end + 1 : NULL;
    }
}

int main(int argc, char **argv)
{
    dync_value in[32];
    int n = 0;
    if (argc < 2) {
        printf("usage: 10_onnx model.onnx [input.npy ...]\n");
        return 0;
    }
    dync_program *p = dync_program_load_onnx(argv[1]);
    if (!p) return dync_error();
    printf("%s", dync_program_info(p));
    dync_graph *g = dync_program_graph(p);
    if (g) printf("%s", dync_graph_str(g));
    for (dync_port port; n < 32 && (port = dync_program_input(p, n)).name; n++)
        in[n] = dync_v_tensor(2 + n < argc ? dync_npy_load(argv[2 + n]) : random_input(port));
    dync_value out = dync_program_run(p, n, in);
    for (int i = 0; i < dync_len(out); i++) {
        printf("%s =\n", dync_program_output(p, i).name);
        dync_print(dync_as_tensor(dync_at(out, i)));
    }
    if (dync_error() == DYNC_OK) show_time(p, n, in);
    dync_program_free(p);
    dync_shutdown();
    return dync_error();
}
