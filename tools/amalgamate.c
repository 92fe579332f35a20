/* tools/amalgamate.c: joins src/ into one header.
 *
 *   amalgamate src/dync.in.h > dync.h
 *   amalgamate src/dync_cuda.in.h src/dync.in.h > dync_cuda.h    (what the second list pastes is
 *                                                                there before, and left out)
 *
 * Levels of optimisation (base/priv.h) are words that stand alone on a line under a file's
 * includes. One that is in force already, whichever branches of #if were taken, is left out:
 * compilers take time over each.
 *
 * Every #include "file" is replaced by that file, once, at its first occurrence; later ones become
 * nothing, and so do those that name the root itself (each .c file begins with it). Everything else
 * is copied as it is, comments included: who opens the header in a debugger reads what you read.
 * Banners name the source file; no #line names another file, and there are no dates, so the same
 * input gives the same bytes. `#line HERE` becomes the number that the next line has.
 *
 * A file that is first pasted under an #if and wanted again outside of it would be missing there:
 * that is an error. An include guard (#ifndef X, #define X as the first directives of a file) is
 * not a condition in this sense. */
#include "tool.h"

enum { MAX_FILES = 1024, MAX_CONDITIONS = 64, GUARD = 0 };
typedef struct pasted_file {
    char path[TOOL_PATH];
    int n_conditions, conditions[MAX_CONDITIONS];
} pasted_file;
static pasted_file files[MAX_FILES];
static int n_files;
/* files of the list that comes before */
static int n_before;
/* only remembering what is pasted */
static bool silent;
static int n_lines; /* written */
/* the word that last set a level of optimisation */
static char level[TOOL_LEVEL];
/* ids of the #if blocks now open; guards have id 0 */
static int conditions[MAX_CONDITIONS], n_conditions, n_opened;
/* the level before each open #if, and whether a branch of it ended under another */
static char levels[MAX_CONDITIONS][TOOL_LEVEL];
static bool levels_differ[MAX_CONDITIONS];

/* The file's place among those pasted, or -1. */
static int find_file(const char *path)
{
    for (int i = 0; i < n_files; i++)
        if (strcmp(files[i].path, path) == 0) return i;
    return -1;
}

static void remember(const char *path)
{
    pasted_file *f;
    if (n_files == MAX_FILES) tool_die("more than %d files", MAX_FILES);
    f = &files[n_files++];
    strcpy(f->path, path);
    for (int i = 0; i < n_conditions; i++)
        if (conditions[i] != GUARD) f->conditions[f->n_conditions++] = conditions[i];
}

/* Every condition under which f was pasted must hold here too. */
static void check_visible(const pasted_file *f, const char *from)
{
    for (int i = 0; i < f->n_conditions; i++) {
        bool open = false;
        for (int j = 0; j < n_conditions; j++) open = open || conditions[j] == f->conditions[i];
        if (!open)
            tool_die("%s includes %s, which was pasted before under an #if that is not open here",
                     from, f->path);
    }
}

/* The innermost #if opens, goes on with another branch, or ends: each branch begins under the level
 * before the #if, and after it none is known where a branch, or its absence, left another. */
static void open_levels(void)
{
    strcpy(levels[n_conditions - 1], level);
    levels_differ[n_conditions - 1] = false;
}
static void next_branch_levels(void)
{
    const char *before = levels[n_conditions - 1];
    if (strcmp(level, before) != 0) levels_differ[n_conditions - 1] = true;
    strcpy(level, before);
}
static void close_levels(void)
{
    int i = n_conditions - 1;
    if (conditions[i] == GUARD) return;
    next_branch_levels();
    if (levels_differ[i]) level[0] = 0;
}

/* Keeps the stack of open #if blocks. is_guard: this line opens the file's include guard. */
static void track(const char *line, bool is_guard, const char *path)
{
    char word[16];
    const char *rest;
    tool_directive(line, word, &rest);
    if (strncmp(word, "if", 2) == 0) {
        if (n_conditions == MAX_CONDITIONS) tool_die("%s: #if nested too deep", path);
        conditions[n_conditions++] = is_guard ? GUARD : ++n_opened;
        open_levels();
    } else if (strcmp(word, "else") == 0 || strcmp(word, "elif") == 0) {
        if (n_conditions == 0) tool_die("%s: #%s without #if", path, word);
        conditions[n_conditions - 1] = ++n_opened;
        next_branch_levels();
    } else if (strcmp(word, "endif") == 0) {
        if (n_conditions == 0) tool_die("%s: #endif without #if", path);
        close_levels();
        n_conditions--;
    }
}

/* Where the #ifndef of the file's include guard stands; NULL if the file has none. */
static const char *find_guard(const char *text)
{
    char word[16], name[TOOL_PATH];
    const char *rest, *guard = NULL;
    for (; *text; text += tool_line(text)) {
        tool_directive(text, word, &rest);
        if (!word[0]) continue;
        if (!guard) {
            if (strcmp(word, "ifndef") != 0 || sscanf(rest, "%500s", name) != 1) return NULL;
            guard = text;
        } else {
            char defined[TOOL_PATH];
            if (strcmp(word, "define") != 0 || sscanf(rest, "%500s", defined) != 1) return NULL;
            return strcmp(name, defined) == 0 ? guard : NULL;
        }
    }
    return NULL;
}

/* Is the level of optimisation the one in force? */
static bool is_level_again(const char *word)
{
    bool again = strcmp(word, level) == 0;
    strcpy(level, word);
    return again;
}

static void paste(const char *path, bool is_root);

static void paste_include(const char *target, const char *from)
{
    int i = find_file(target);
    if (i >= 0 && (i == 0 || i < n_before)) return; /* the root itself; there before */
    if (i > 0)
        check_visible(&files[i], from);
    else
        paste(target, false);
}

/* Whole lines. */
static void say(const char *text, size_t n)
{
    if (silent) return;
    fwrite(text, 1, n, stdout);
    for (size_t i = 0; i < n; i++) n_lines += text[i] == '\n';
}

/* The number of the next line. */
static void say_line(void)
{
    char text[32];
    say(text, (size_t)snprintf(text, sizeof text, "#line %d\n", n_lines + 2));
}

static void banner(const char *path)
{
    const char *name = strncmp(path, "src/", 4) == 0 ? path + 4 : path;
    int width = 4 + (int)strlen(name);
    say("\n", 1);
    printf("/* ==== %s ", name);
    for (; width < 97; width++) putchar('=');
    say(" */\n", 4);
}

static void paste(const char *path, bool is_root)
{
    static const char over[] = "DYNC__LEVEL_OVER\n";
    char *text = tool_read(path), target[TOOL_PATH], word[TOOL_LEVEL];
    const char *guard;
    int depth = n_conditions;
    if (!text) tool_die("cannot read %s", path);
    remember(path);
    guard = find_guard(text);
    if (!is_root && !silent) banner(path);
    for (char *line = text, *next; *line; line = next) {
        next = line + tool_line(line);
        if (tool_include(line, path, target)) {
            paste_include(target, path);
            continue;
        }
        track(line, line == guard, path);
        bool levels = tool_level(line, word);
        if (levels && is_level_again(word)) continue;
        if (levels) say(over, sizeof over - 1);
        if (strncmp(line, "#line HERE", 10) == 0)
            say_line();
        else
            say(line, tool_line(line));
    }
    if (n_conditions != depth) tool_die("%s: #if and #endif do not match", path);
    free(text);
}

int main(int argc, char **argv)
{
    const char *name;
    if (argc != 2 && argc != 3) tool_die("usage: amalgamate src/dync.in.h > dync.h");
    if (argc == 3) {
        silent = true;
        paste(argv[2], true);
        silent = false;
        level[0] = 0;
        n_before = n_files;
    }
    name = strrchr(argv[1], '/') ? strrchr(argv[1], '/') + 1 : argv[1];
    printf("/* Generated from src/%s by tools/amalgamate.c; edit src/ and run `make headers`. */",
           name);
    say("\n", 1);
    paste(argv[1], true);
    return fflush(stdout) != 0 || ferror(stdout);
}
