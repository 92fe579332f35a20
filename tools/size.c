/* tools/size.c: lines per module, share of lines with a comment, lengths of functions.
 *
 *   size dync.h src/..every file..
 *
 * A function is what stands between a { and a } in the first column. Fails where a file has more
 * than 2,000 lines or a function more than 100. The header as a whole has no budget of lines: its
 * budgets are seconds of compiling and bytes of text. */
#include "tool.h"

enum {
    MAX_FUNCTIONS = 20000,
    MAX_MODULES = 64,
    FILE_LIMIT = 2000,
    FUNCTION_LIMIT = 100,
    N_LONGEST = 12
};
typedef struct function {
    int lines;
    char name[96];
    const char *file;
} function;
typedef struct module {
    char name[64];
    int files, lines, comments;
} module;
static function functions[MAX_FUNCTIONS];
static module modules[MAX_MODULES];
static int n_functions, n_modules, n_breaches;

static module *find_module(const char *path)
{
    const char *slash = strrchr(path, '/'), *start = slash ? slash : path;
    char name[64];
    while (start > path && start[-1] != '/') start--;
    snprintf(name, sizeof name, "%.*s", (int)((slash ? slash : path) - start), start);
    for (int i = 0; i < n_modules; i++)
        if (strcmp(modules[i].name, name) == 0) return &modules[i];
    if (n_modules == MAX_MODULES) tool_die("more than %d folders", MAX_MODULES);
    strcpy(modules[n_modules].name, name);
    return &modules[n_modules++];
}

/* "static int f(int a)" -> "f" */
static void copy_name(const char *line, char out[96])
{
    const char *open = memchr(line, '(', tool_line(line)), *start;
    if (!open) open = line + tool_line(line) - 1;
    if (open > line && open[-1] == ')') open--;
    for (start = open; start > line && strchr(" *(", start[-1]) == NULL; start--) {}
    snprintf(out, 96, "%.*s", (int)(open - start), start);
}

static void add_function(const char *head, const char *file, int lines)
{
    if (n_functions == MAX_FUNCTIONS) tool_die("more than %d functions", MAX_FUNCTIONS);
    functions[n_functions].lines = lines;
    functions[n_functions].file = file;
    copy_name(head, functions[n_functions++].name);
}

/* Counts the file's lines and comment lines, and collects its functions. */
static int measure(const char *file)
{
    char *text = tool_read(file);
    const char *head = NULL;
    module *m = find_module(file);
    int lines = 0, start = 0;
    bool in_comment = false;
    if (!text) tool_die("cannot read %s", file);
    for (const char *line = text; *line; line += tool_line(line)) {
        size_t n = tool_line(line);
        bool comment = in_comment;
        lines++;
        for (size_t i = 0; i + 1 < n; i++) {
            if (line[i] == '/' && line[i + 1] == '*')
                in_comment = comment = true;
            else if (line[i] == '*' && line[i + 1] == '/')
                in_comment = false;
        }
        m->comments += comment;
        if (line[0] == '{' && head)
            start = lines;
        else if (line[0] == '}' && start) {
            add_function(head, file, lines - start + 1);
            start = 0;
        } else if (!start && line[0] != ' ' && line[0] != '#' && line[0] != '/' &&
                   memchr(line, '(', n)) {
            head = line;
            if (n > 3 && line[n - 2] == '}' && memchr(line, '{', n)) add_function(line, file, 1);
        }
    }
    m->files++;
    m->lines += lines;
    free(text);
    return lines;
}

static int count_lines(const char *file)
{
    char *text = tool_read(file);
    int n = 0;
    for (const char *p = text ? text : ""; *p; p += tool_line(p)) n++;
    free(text);
    return n;
}

static int longer_first(const void *a, const void *b)
{
    const function *x = a, *y = b;
    return x->lines != y->lines ? y->lines - x->lines : strcmp(x->name, y->name);
}

static void limit(const char *what, int lines, int most)
{
    if (lines <= most) return;
    printf("%s has %d lines; the limit is %d\n", what, lines, most);
    n_breaches++;
}

static int percentile(int p)
{
    return n_functions ? functions[n_functions - 1 - n_functions * p / 100].lines : 0;
}

int main(int argc, char **argv)
{
    module sum = {0};
    if (argc < 3) tool_die("usage: size dync.h files...");
    for (int i = 2; i < argc; i++) limit(argv[i], measure(argv[i]), FILE_LIMIT);
    printf("%-12s %6s %8s %10s\n", "module", "files", "lines", "comments");
    for (int i = 0; i < n_modules; i++) {
        const module *m = &modules[i];
        printf("%-12s %6d %8d %9d%%\n", m->name, m->files, m->lines,
               m->lines ? m->comments * 100 / m->lines : 0);
        sum.files += m->files;
        sum.lines += m->lines;
        sum.comments += m->comments;
    }
    printf("%-12s %6d %8d %9d%%\n", "total", sum.files, sum.lines,
           sum.lines ? sum.comments * 100 / sum.lines : 0);
    printf("%-12s %6s %8d\n", argv[1], "", count_lines(argv[1]));
    qsort(functions, (size_t)n_functions, sizeof functions[0], longer_first);
    printf("\n%d functions: median %d lines, 90%% within %d, 99%% within %d (aim: 12 / 40 / 100)\n",
           n_functions, percentile(50), percentile(90), percentile(99));
    for (int i = 0; i < n_functions; i++)
        limit(functions[i].name, functions[i].lines, FUNCTION_LIMIT);
    for (int i = 0; i < n_functions && i < N_LONGEST; i++)
        printf("  %4d  %-40s %s\n", functions[i].lines, functions[i].name, functions[i].file);
    return n_breaches != 0;
}
