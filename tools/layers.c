/* tools/layers.c: the include order is the architecture.
 *
 *   la yers src/dync.in.h src/dync_cuda.in.h src/..every file.. lists first: their orders, one
 *     after the other
 *
 * The order is that of dync.in.h. A file may include only what stands above it there, .c files are
 * included by nobody else, and each .c file of src/ is named in dync.in.h once. Tables (.def.h)
 * belong to their folder: only its files may include them. Folders must appear in the order below.
 * Prints each breach; silent where there is none. */
#include "tool.h"

static const char *const folders[] = {"api",     "base",    "tensor",  "loop",     "codegen",
                                      "kernel",  "runtime", "op",      "autograd", "nn",
                                      "graph",   "capture", "aot",     "inductor", "backend",
                                      "program", "minify",  "compile", "cuda"};
enum { N_FOLDERS = sizeof folders / sizeof folders[0], MAX_FILES = 1024 };
static char listed[MAX_FILES][TOOL_PATH];
static int n_listed, n_breaches;

static void breach(const char *file, const char *what, const char *other)
{
    printf("%s: %s%s\n", file, what, other);
    n_breaches++;
}

static int position(const char *path)
{
    for (int i = 0; i < n_listed; i++)
        if (strcmp(listed[i], path) == 0) return i;
    return -1;
}

/* "src/op/lower.c" -> rank of "op"; -1 for files outside the known folders. */
static int folder_rank(const char *path)
{
    const char *slash = strrchr(path, '/'), *start = slash;
    if (!slash) return -1;
    while (start > path && start[-1] != '/') start--;
    for (int i = 0; i < N_FOLDERS; i++)
        if (strlen(folders[i]) == (size_t)(slash - start) &&
            strncmp(folders[i], start, (size_t)(slash - start)) == 0)
            return i;
    return -1;
}

static bool has_suffix(const char *path, const char *suffix)
{
    size_t n = strlen(path), k = strlen(suffix);
    return n >= k && strcmp(path + n - k, suffix) == 0;
}

static void read_order(const char *root)
{
    char *text = tool_read(root), target[TOOL_PATH];
    int rank, last_header = 0, last_source = 0;
    if (!text) tool_die("cannot read %s", root);
    for (const char *line = text; *line; line += tool_line(line)) {
        if (!tool_include(line, root, target)) continue;
        if (position(target) >= 0) breach(root, "names a file twice: ", target);
        if (n_listed == MAX_FILES) tool_die("more than %d files", MAX_FILES);
        strcpy(listed[n_listed++], target);
        rank = folder_rank(target);
        if (rank < 0)
            breach(root, "unknown folder: ", target);
        else if (has_suffix(target, ".c")) {
            if (rank < last_source) breach(root, "folder out of order: ", target);
            last_source = rank;
        } else {
            if (rank < last_header) breach(root, "folder out of order: ", target);
            last_header = rank;
        }
    }
    free(text);
}

static bool is_root(const char *path) { return has_suffix(path, ".in.h"); }

static void check_include(const char *file, const char *target)
{
    int from = position(file), to = position(target);
    if (is_root(target)) return; /* the public half; every .c begins with it */
    if (has_suffix(target, ".c"))
        breach(file, "includes a .c file: ", target);
    else if (folder_rank(target) > folder_rank(file))
        breach(file, "includes a layer below it: ", target);
    else if (has_suffix(target, ".def.h") && folder_rank(target) != folder_rank(file))
        breach(file, "includes another folder's table: ", target);
    else if (from >= 0 && to >= 0 && to > from)
        breach(file, "includes a file that stands below it in the order: ", target);
}

static void check_file(const char *file)
{
    char *text = tool_read(file), target[TOOL_PATH];
    if (!text) tool_die("cannot read %s", file);
    if (has_suffix(file, ".c") && position(file) < 0) breach(file, "is not named in the list", "");
    for (const char *line = text; *line; line += tool_line(line))
        if (tool_include(line, file, target)) check_include(file, target);
    free(text);
}

int main(int argc, char **argv)
{
    if (argc < 2) tool_die("usage: layers src/dync.in.h files...");
    for (int i = 1; i < argc; i++)
        if (is_root(argv[i])) read_order(argv[i]);
    for (int i = 1; i < argc; i++)
        if (!is_root(argv[i])) check_file(argv[i]);
    return n_breaches != 0;
}
