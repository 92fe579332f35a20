/* tools/dync-opt.c: loop IR under the microscope. Reads programs as text (see opt.h), runs passes,
 * prints text.
 *
 *   dync-opt [-p "fuse schedule"] [FILE]   the file's own passes, or those given
 *   dync-opt --update FILE...              rewrites what each golden file expects
 *   dync-opt --check FILE...               compares; status 1 where one differs
 *   dync-opt --thresholds                  the tables base/machine.def.h and cuda/gpu.def.h */
#include "../src/cuda/gpu.def.h"
#include "opt.h"
#include "tool.h"

static int opt_thresholds(void)
{
    printf("%-22s %10s %-12s %-66s %s\n", "threshold", "value", "unit", "decides", "measured by");
#define DYNC__X(name, value, unit, decides, measures) \
    printf("%-22s %10d %-12s %-66s %s\n", #name, DYNC__##name, #unit, decides, measures);
    DYNC__MACHINE(DYNC__X)
#undef DYNC__X
#define DYNC__X(name, value, unit, decides, measures) \
    printf("%-22s %10d %-12s %-66s %s\n", #name, value, #unit, decides, measures);
    DYNC__GPU_MACHINE(DYNC__X)
#undef DYNC__X
    return 0;
}

static char *opt_standard_input(void)
{
    size_t n = 0, cap = 1 << 20;
    char *text = tool_alloc(cap + 1);
    for (size_t got; (got = fread(text + n, 1, cap - n, stdin)) > 0;) {
        n += got;
        if (n < cap) continue;
        text = realloc(text, (cap *= 2) + 1);
        if (!text) tool_die("out of memory");
    }
    text[n] = 0;
    return text;
}

static int opt_golden(const char *path, bool update)
{
    char *text = tool_read(path);
    dync__str out = {0};
    const char *wanted = text ? opt_expectation(text) : NULL;
    if (!text) tool_die("%s: cannot be read", path);
    if (!wanted) tool_die("%s: has no line \"# expect:\"", path);
    if (opt_run(text, NULL, &out) != DYNC_OK) tool_die("%s: %s", path, dync_error_message());
    bool same = strcmp(wanted, dync__str_get(&out)) == 0;
    if (!same && update) {
        FILE *f = fopen(path, "wb");
        if (!f) tool_die("%s: cannot be written", path);
        fwrite(text, 1, (size_t)(wanted - text), f);
        fputs(dync__str_get(&out), f);
        fclose(f);
        printf("updated %s\n", path);
    } else if (!same) {
        printf("%s differs\n", path);
    }
    dync__str_free(&out);
    free(text);
    return !same && !update;
}

int main(int argc, char **argv)
{
    const char *passes = NULL, *path = NULL;
    dync__str out = {0};
    if (argc > 1 && (strcmp(argv[1], "--update") == 0 || strcmp(argv[1], "--check") == 0)) {
        int bad = 0;
        for (int i = 2; i < argc; i++) bad |= opt_golden(argv[i], argv[1][2] == 'u');
        return bad;
    }
    if (argc > 1 && strcmp(argv[1], "--thresholds") == 0) return opt_thresholds();
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "-p") == 0 && i + 1 < argc)
            passes = argv[++i];
        else if (argv[i][0] != '-' && !path)
            path = argv[i];
        else
            tool_die("usage: dync-opt [-p PASSES] [FILE] | --update FILE... | --check FILE...");
    }
    char *text = path ? tool_read(path) : opt_standard_input();
    if (!text) tool_die("%s: cannot be read", path);
    if (opt_run(text, passes, &out) != DYNC_OK) tool_die("%s", dync_error_message());
    fputs(dync__str_get(&out), stdout);
    dync__str_free(&out);
    free(text);
    return 0;
}
