/* cc -O2 -I.. 16_pytorch_weights.c -lm -pthread -o 16_pytorch_weights
 *
 * Lesson 16: weights that PyTorch trained. data/xor.pt is what torch.save wrote: a dict with a
 * state_dict inside. It is read as data, nothing in it runs. The same call reads safetensors (in
 * shards, too), .npz and GGUF: 16_pytorch_weights FILE shows what is in one. */
#define DYNC_IMPLEMENTATION
#include "dync.h"
#include <string.h>

/* Beside this program: data/xor.pt. */
static const char *beside(const char *program)
{
    static char path[1024];
    const char *slash = strrchr(program, '/');
    snprintf(path, sizeof path, "%.*sdata/xor.pt", slash ? (int)(slash + 1 - program) : 0, program);
    return path;
}

static void show(const dync_tensors *file)
{
    for (int i = 0; i < dync_tensors_count(file); i++) {
        dync_tensor *t = dync_tensors_at(file, i);
        printf("%-16s [", dync_tensors_name(file, i));
        for (int d = 0; d < dync_ndim(t); d++) printf(d ? ", %d" : "%d", (int)dync_size(t, d));
        printf("]\n");
    }
    for (int i = 0; dync_tensors_note_key(file, i); i++)
        printf("%-16s %.60s\n", dync_tensors_note_key(file, i),
               dync_tensors_note(file, dync_tensors_note_key(file, i)));
}

int main(int argc, char **argv)
{
    dync_tensors *file = dync_tensors_load(argc > 1 ? argv[1] : beside(argv[0]));
    if (!file) return dync_error();
    show(file);
    if (argc > 1) return dync_tensors_free(file), dync_shutdown(), 0;

    /* The same architecture; its names are PyTorch's: "0.weight", "0.bias", "2.weight", ... In the
     * file each stands behind "model.". A name missing on either side would be an error. */
    dync_module *net =
        dync_sequential(dync_nn_linear(2, 4, true), dync_nn_tanh(), dync_nn_linear(4, 1, true));
    if (dync_module_load_named(net, file, "model.", NULL) != DYNC_OK) return dync_error();

    dync_tensor *x = dync_from((float[]){0, 0, 0, 1, 1, 0, 1, 1}, dync_shape(4, 2));
    dync_module_compile(net);
    dync_print(dync_abs(dync_round(dync_forward_call(net, x))));

    /* A network that shares only a part: the report says what was left as it was. */
    dync_module *wider = dync_sequential(dync_nn_linear(2, 4, true), dync_nn_relu(),
                                         dync_nn_linear(4, 3, true), dync_nn_linear(3, 1, true));
    dync_tensors *part = dync_tensors_new();
    dync_tensors_put(part, "0.weight", dync_tensors_get(file, "model.0.weight"));
    dync_tensors_put(part, "head.bias", dync_tensors_get(file, "model.2.bias"));
    dync_named_report report;
    if (dync_module_load_named(wider, part, NULL, &report) != DYNC_OK) return dync_error();
    printf("loaded %d, missing %d, unexpected %s", report.loaded, report.n_missing,
           report.unexpected);

    dync_tensors_free(part);
    dync_tensors_free(file);
    dync_module_free(net);
    dync_module_free(wider);
    dync_shutdown();
    return dync_error();
}
