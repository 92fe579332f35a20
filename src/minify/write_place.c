/* minify/write_place.c: where repros go: checkpoints of a run that shrinks, the launcher in the
 * folder of this process, a path of the user's. After write.c, before hook.c. */
#include "../dync.in.h"
#include "minify.h"
DYNC__COLD

/* folder, path and copy are the caller's to free; here: the working directory. file is a copy,
 * whose save_dir points into folder. */
static dync_status dync__repro_checkpoint_in(const char *here, dync__repro_file file,
                                             dync__graph *g, int n, const dync_value *inputs,
                                             dync__str *folder, dync__str *path, dync__str *copy)
{
    char *text = NULL;
    size_t bytes = 0;
    dync__str_addf(folder, "%s/checkpoints", here);
    dync__str_addf(path, "%s/minified_%d_nodes.c", dync__str_get(folder), g->node.n);
    dync__str_addf(copy, "%s/repro.c", here);
    if (folder->failed || path->failed || copy->failed) return DYNC_ERR_MEMORY;
    dync__warn("Writing checkpoint with %d nodes to %s", g->node.n, dync__str_get(path));
    DYNC__TRY(dync__folders_make(dync__str_get(folder)));
    file.save_dir = dync__str_get(folder);
    DYNC__TRY(dync__repro_write(&file, g, n, inputs, dync__str_get(path)));
    dync__warn("Copying %s to %s for convenience", dync__str_get(path), dync__str_get(copy));
    DYNC__TRY(dync__file_read(dync__str_get(path), &text, &bytes));
    dync_status status = dync__file_write_own(dync__str_get(copy), text, bytes);
    dync__free(text, bytes + 1);
    return status;
}

DYNC__FN dync_status dync__repro_checkpoint(const dync__repro_file *file, dync__graph *g, int n,
                                            const dync_value *inputs)
{
    dync__str here = {0}, folder = {0}, path = {0}, copy = {0};
    dync__folder_current(&here);
    dync_status status =
        dync__repro_checkpoint_in(dync__str_get(&here), *file, g, n, inputs, &folder, &path, &copy);
    dync__str_free(&here);
    dync__str_free(&folder);
    dync__str_free(&path);
    dync__str_free(&copy);
    return status;
}

/* One folder a process: run_<date>-pid_<pid>. */
static void dync__repro_run_folder(dync__str *out)
{
    static struct {
        dync__mutex lock;
        char name[64];
    } run;
    const dync__repro_settings *now = dync__repro_now();
    dync__str date = {0};
    dync__lock(&run.lock);
    if (!run.name[0]) {
        dync__date_text(&date);
        dync__format(run.name, sizeof run.name, "run_%s-pid_%d", dync__str_get(&date),
                     dync__process_id());
    }
    if (now->debug_dir[0]) {
        bool absolute = now->debug_dir[0] == '/' || (now->debug_dir[0] && now->debug_dir[1] == ':');
        if (!absolute) {
            dync__folder_current(out);
            dync__str_addc(out, '/');
        }
        dync__str_add(out, now->debug_dir);
    } else {
        dync__folder_current(out);
        dync__str_add(out, "/torch_compile_debug");
    }
    dync__str_addf(out, "/%s", run.name);
    dync__unlock(&run.lock);
    dync__str_free(&date);
}

/* path gets <debug_dir>/run_../minifier/minifier_launcher.c, also where writing fails; it is the
 * caller's to free. */
DYNC__FN dync_status dync__repro_launcher(const dync__repro_file *given, dync__graph *g, int n,
                                          const dync_value *inputs, dync__str *path)
{
    dync__str folder = {0};
    dync__repro_file file = *given;
    dync__repro_run_folder(&folder);
    dync__str_add(&folder, "/minifier");
    dync__str_addf(path, "%s/minifier_launcher.c", dync__str_get(&folder));
    dync__str_add(&folder, "/checkpoints");
    dync__warn("Writing minified repro to:\n%s", dync__str_get(path));
    dync_status status = folder.failed || path->failed ? DYNC_ERR_MEMORY
                                                       : dync__folders_make(dync__str_get(&folder));
    file.save_dir = dync__str_get(&folder);
    file.command = "minify";
    if (status == DYNC_OK) status = dync__repro_write(&file, g, n, inputs, dync__str_get(path));
    dync__str_free(&folder);
    return status;
}

DYNC_API dync_status dync_repro_save(dync_graph *graph, dync_value inputs, const char *backend,
                                     bool accuracy, const char *path)
{
    DYNC__OFFERS(DYNC_NO_MINIFY, "dync_repro_save");
    dync_value one[1] = {inputs};
    const dync__list *list = dync__value_list(inputs);
    dync__graph *g = dync__graph_open(graph, "dync_repro_save");
    if (!g || (!list && inputs.kind == DYNC_KIND_LIST && inputs.as.l)) return DYNC_ERR_VALUE;
    if (!path) return dync__fail(DYNC_ERR_VALUE, "dync_repro_save: the path is NULL");
    dync__str folder = {0};
    const char *slash = strrchr(path, '/');
    if (slash)
        dync__str_addn(&folder, path, (size_t)(slash - path));
    else
        dync__folder_current(&folder);
    dync__repro_file file = {.backend = backend ? backend : "inductor",
                             .accuracy = accuracy,
                             .save_dir = dync__str_get(&folder),
                             .grad_off = dync__grad_is_off()};
    int n = list ? list->n : inputs.kind == DYNC_KIND_NONE ? 0 : 1;
    dync_status status = dync__repro_write(&file, g, n, list ? list->items : one, path);
    dync__str_free(&folder);
    return status;
}
