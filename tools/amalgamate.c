/* tools/amalgamate.c: joins src/ into one header.
 *
 *   amalgamate src/dync.in.h > dync.h
 *   amalgamate src/dync_cuda.in.h src/dync.in.h > dync_cuda.h      what the second list pastes is left out: it is there before
 *
 * Every #include "file" is replaced by that file, once, at its first occurrence; later ones become nothing, and so do those that name
 * the root itself (each .c file begins with it). Of .c files, the opening comment, blank lines and the rules between sections are left out and the brace that opens a
 * function goes up to its line, as does what stands between parentheses or continues a macro where it fits 132 columns: this keeps the header within what debuggers take. Everything else is
 * copied as it is. Banners name the source file; there are no #line directives and no dates, so the same input gives the same bytes.
 *
 * A file that is first pasted under an #if and wanted again outside of it would be missing there: that is an error. An include guard
 * (#ifndef X, #define X as the first directives of a file) is not a condition in this sense. */
#include "tool.h"

enum { MAX_FILES = 1024, MAX_CONDITIONS = 64, GUARD = 0, WIDTH = 132, ALONE = -1000 };
typedef struct pasted_file { char path[TOOL_PATH]; int n_conditions, conditions[MAX_CONDITIONS]; } pasted_file;
static pasted_file files[MAX_FILES];
static int n_files;
static int n_before;                                                /* files of the list that comes before */
static bool silent;                                                 /* only remembering what is pasted */
static int conditions[MAX_CONDITIONS], n_conditions, n_opened;      /* ids of the #if blocks now open; guards have id 0 */

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
        if (!open) tool_die("%s includes %s, which was pasted before under an #if that is not open here", from, f->path);
    }
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
    } else if (strcmp(word, "else") == 0 || strcmp(word, "elif") == 0) {
        if (n_conditions == 0) tool_die("%s: #%s without #if", path, word);
        conditions[n_conditions - 1] = ++n_opened;
    } else if (strcmp(word, "endif") == 0) {
        if (n_conditions == 0) tool_die("%s: #endif without #if", path);
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

static void paste(const char *path, bool is_root);

static void paste_include(const char *target, const char *from)
{
    int i = find_file(target);
    if (i >= 0 && (i == 0 || i < n_before)) return;      /* the root itself; there before */
    if (i > 0) check_visible(&files[i], from);
    else paste(target, false);
}

static void banner(const char *path)
{
    const char *name = strncmp(path, "src/", 4) == 0 ? path + 4 : path;
    int width = 4 + (int)strlen(name);
    printf("\n/* ==== %s ", name);
    for (; width < 110; width++) putchar('=');
    printf(" */\n");
}

static bool is_blank(const char *line) { return *line == '\n' || *line == '\r'; }

/* A comment of one line that begins a section. */
static bool is_rule(const char *line)
{
    const char *end = line + strcspn(line, "\r\n");
    return strncmp(line, "/* ---", 6) == 0 && end - line > 8 && strncmp(end - 2, "*/", 2) == 0;
}

static bool is_source(const char *path)
{
    size_t n = strlen(path);
    return n > 2 && strcmp(path + n - 2, ".c") == 0;
}

/* What follows the comment that a file begins with. */
static char *after_comment(char *text)
{
    char *end = strncmp(text, "/*", 2) == 0 ? strstr(text, "*/") : NULL;
    return end ? end + tool_line(end) : text;
}

/* Whether a function's opening brace stands alone in the next line. */
static bool is_before_brace(const char *line)
{
    const char *end = line + strcspn(line, "\r\n");
    if (*line == '#' || end == line || end[-1] != ')') return false;
    end += strspn(end, "\r");
    return end[0] == '\n' && end[1] == '{' && (end[2] == '\n' || end[2] == '\r');
}

/* How many parentheses are open after the line, of which `open` were before it; ALONE where nothing may be joined: directives, macros, and comments
 * but at the end of a statement. */
static int open_after(const char *line, int open)
{
    const char *end = line + strcspn(line, "\r\n");
    if (*line == '#' || (end > line && end[-1] == '\\') || line[strspn(line, " ")] == '*') return ALONE;
    for (const char *p = line; p < end; p++) {
        if (p[0] == '/' && p[1] == '*') return open || strncmp(end - 2, "*/", 2) != 0 ? ALONE : 0;
        if (*p == '"' || *p == '\'') {
            for (char quote = *p++; p < end && *p != quote; p++) p += *p == '\\';
        } else {
            open += (*p == '(') - (*p == ')');
        }
    }
    return open;
}

/* The length of a line without its backslash, and whether it has one. */
static bool is_continued(const char *line, size_t *length)
{
    size_t n = strcspn(line, "\r\n");
    *length = n;
    if (n == 0 || line[n - 1] != '\\') return false;
    for (n--; n > 0 && line[n - 1] == ' ';) n--;
    *length = n;
    return true;
}

/* Writes lines of a macro as one while they fit, but for its statements. What follows them. */
static char *write_macro(char *line)
{
    size_t length, n;
    bool more = is_continued(line, &length);
    char last = length ? line[length - 1] : ';';
    printf("%.*s", (int)length, line);
    while (more) {
        char *next = line + tool_line(line), *rest = next + strspn(next, " ");
        bool after = is_continued(rest, &n);
        if (n == 0 || length + 1 + n + 2 > WIDTH || strchr(";{}", last) || strchr("/{}", *rest)) break;
        printf(" %.*s", (int)n, rest);
        length += 1 + n;
        last = rest[n - 1];
        line = next;
        more = after;
    }
    printf(more ? " \\\n" : "\n");
    return line + tool_line(line);
}

/* Writes the line, what continues it between parentheses and fits beside it, and the brace of a function. What follows them. */
static char *write_joined(char *line)
{
    size_t length;
    int open = open_after(line, 0);
    if (is_continued(line, &length)) return write_macro(line);
    printf("%.*s", (int)length, line);
    while (open > 0 && line[tool_line(line)]) {
        char *next = line + tool_line(line), *rest = next + strspn(next, " ");
        size_t n = strcspn(rest, "\r\n");
        open = open_after(next, open);
        if (open == ALONE || *rest == '#' || n == 0 || length + 1 + n > WIDTH) break;
        printf("%s%.*s", line[strcspn(line, "\r\n") - 1] == '(' ? "" : " ", (int)n, rest);
        length += 1 + n;
        line = next;
    }
    if (is_before_brace(line)) {
        printf(" {");
        line += tool_line(line);
    }
    putchar('\n');
    return line + tool_line(line);
}

static void paste(const char *path, bool is_root)
{
    char *text = tool_read(path), target[TOOL_PATH];
    const char *guard;
    int depth = n_conditions;
    if (!text) tool_die("cannot read %s", path);
    remember(path);
    guard = find_guard(text);
    if (!is_root && !silent) banner(path);
    for (char *line = is_source(path) ? after_comment(text) : text, *next; *line; line = next) {
        next = line + tool_line(line);
        if (tool_include(line, path, target)) {
            paste_include(target, path);
            continue;
        }
        if (is_source(path) && (is_blank(line) || is_rule(line))) continue;
        track(line, line == guard, path);
        if (silent) continue;
        if (is_source(path)) next = write_joined(line);
        else fwrite(line, 1, tool_line(line), stdout);
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
        n_before = n_files;
    }
    name = strrchr(argv[1], '/') ? strrchr(argv[1], '/') + 1 : argv[1];
    printf("/* Generated from src/%s by tools/amalgamate.c; edit src/ and run `make headers`. */\n", name);
    paste(argv[1], true);
    return fflush(stdout) != 0 || ferror(stdout);
}
