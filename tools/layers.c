/* tools/layers.c: the include order is the architecture.
 *
 *   layers src/dync.in.h src/dync_cuda.in.h src/..every file..     lists first: their orders, one
 * after the other
 *
 * The order is that of dync.in.h. A file may include only what stands above it there, .c files are
 * included by nobody else, and each .c file of src/ is named in dync.in.h once. Tables (.def.h)
 * belong to their folder: only its files may include them. Folders must appear in the order below.
 * Each .c file names how it is optimised (base/priv.h).
 *
 * Inside a folder that is marked so below, a name is used after the file that defines it, as well:
 * who reads from top to bottom meets nothing that he has not met. What cannot be so says it: the
 * declaration in the header follows a comment that begins with "recursion:". The other folders are
 * counted, so that who has ordered one marks it.
 *
 * A file that a comment names exists, and the first comment of a .c file begins with its own name.
 * Prints each breach; but for the count silent where there is none. */
#include "tool.h"

/* in order: are names defined before their use inside it? */
static const struct {
    const char *name;
    bool inside;
} folders[] = {{"api", true},      {"base", true},     {"tensor", true},  {"loop", true},
               {"codegen", true},  {"kernel", true},   {"runtime", true}, {"op", true},
               {"autograd", true}, {"nn", true},       {"graph", true},   {"capture", true},
               {"aot", true},      {"inductor", true}, {"backend", true}, {"program", true},
               {"onnx", true},     {"door", true},     {"minify", true},  {"compile", true},
               {"quantize", true}, {"cuda", true}};
enum {
    N_FOLDERS = sizeof folders / sizeof folders[0],
    MAX_FILES = 1024,
    MAX_NAMES = 16384,
    MAX_NAME = 96
};
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
        if (strlen(folders[i].name) == (size_t)(slash - start) &&
            strncmp(folders[i].name, start, (size_t)(slash - start)) == 0)
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
    char *text = tool_read(file), target[TOOL_PATH], word[TOOL_LEVEL];
    if (!text) tool_die("cannot read %s", file);
    bool source = has_suffix(file, ".c"), level = false;
    if (source && position(file) < 0) breach(file, "is not named in the list", "");
    for (const char *line = text; *line; line += tool_line(line)) {
        if (tool_include(line, file, target)) check_include(file, target);
        level = level || tool_level(line, word);
    }
    if (source && !level)
        breach(file, "names no level under its includes: ", "DYNC__COLD or another of base/priv.h");
    free(text);
}

/* ---- inside folders: names before the file that defines them --- */

/* A name that files share: where it is defined (a place in the list), or marked as recursion. */
typedef struct shared {
    char name[MAX_NAME];
    int at, folder, seen; /* seen: the file that was found to use it last */
    bool recursion;
} shared;
static shared names[MAX_NAMES];
static int n_names, ahead[N_FOLDERS];

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* Behind the comment, the text in quotes or the character that begins at s; s where none does. */
static const char *skip_quiet(const char *s)
{
    if (s[0] == '/' && s[1] == '*') {
        const char *end = strstr(s + 2, "*/");
        return end ? end + 2 : s + strlen(s);
    }
    if (*s != '"' && *s != '\'') return s;
    const char *end = s + 1;
    while (*end && *end != *s) end += *end == '\\' && end[1] ? 2 : 1;
    return *end ? end + 1 : end;
}

/* The next word at or behind s, outside comments and quotes; NULL at the end. */
static const char *next_word(const char *s, size_t *n)
{
    while (*s) {
        const char *behind = skip_quiet(s);
        if (behind != s) {
            s = behind;
            continue;
        }
        if (is_letter(*s)) {
            for (*n = 1; is_letter(s[*n]);) ++*n;
            return s;
        }
        s++;
    }
    return NULL;
}

static bool word_is(const char *s, size_t n, const char *word)
{
    return strlen(word) == n && memcmp(s, word, n) == 0;
}

/* Behind the bracket that closes the one at s. */
static const char *skip_brackets(const char *s)
{
    int depth = 0;
    while (*s) {
        const char *behind = skip_quiet(s);
        if (behind != s) {
            s = behind;
            continue;
        }
        if (*s == '(' || *s == '[') depth++;
        if (*s == ')' || *s == ']') depth--;
        s++;
        if (depth == 0) break;
    }
    return s;
}

static const char *skip_space(const char *s)
{
    while (*s == ' ' || *s == '\n' || *s == '\t') s++;
    return s;
}

/* Does a comment that begins with "recursion:" stand right before s? */
static bool is_recursion(const char *text, const char *s)
{
    while (s > text && (s[-1] == ' ' || s[-1] == '\n')) s--;
    if (s - text < 4 || s[-1] != '/' || s[-2] != '*') return false;
    for (s -= 3; s > text && !(s[0] == '/' && s[1] == '*');) s--;
    return strncmp(s, "/* recursion:", 13) == 0;
}

/* The name that a declaration of a shared function or table declares, from behind DYNC__FN or
 * DYNC__DATA; *end: behind it and its brackets. */
static bool read_name(const char *s, char name[MAX_NAME], const char **end)
{
    size_t n;
    for (const char *word; (word = next_word(s, &n)) != NULL; s = word + n) {
        const char *behind = skip_space(word + n);
        bool own = n > 6 && memcmp(word, "dync__", 6) == 0 && n < MAX_NAME;
        if (!own || !strchr("([=;{)", *behind)) continue;
        if (*behind == ')') return false; /* a hook: a variable */
        memcpy(name, word, n);
        name[n] = 0;
        while (*behind == '(' || *behind == '[') behind = skip_space(skip_brackets(behind));
        *end = behind;
        return true;
    }
    return false;
}

static shared *find_name(const char *name, size_t n, int folder)
{
    for (int i = 0; i < n_names; i++)
        if (names[i].folder == folder && word_is(name, n, names[i].name)) return &names[i];
    return NULL;
}

static void note_name(const char *name, int folder, int at, bool recursion)
{
    shared *known = find_name(name, strlen(name), folder);
    if (!known) {
        if (n_names == MAX_NAMES) tool_die("more than %d shared names", MAX_NAMES);
        known = &names[n_names++];
        snprintf(known->name, sizeof known->name, "%s", name);
        known->folder = folder;
        known->at = known->seen = -1;
    }
    known->recursion = known->recursion || recursion;
    if (at >= 0) known->at = at;
}

/* Definitions of functions and tables in a .c file, marks of a header. Variables do not count: they
 * are state, and hooks are there to be called from before. */
static void note_names(const char *file)
{
    char *text = tool_read(file), name[MAX_NAME];
    bool header = has_suffix(file, ".h");
    size_t n;
    if (!text) tool_die("cannot read %s", file);
    for (const char *word = next_word(text, &n), *s; word; word = next_word(s, &n)) {
        bool data = word_is(word, n, header ? "DYNC__DATA_DECL" : "DYNC__DATA");
        bool fn = word_is(word, n, "DYNC__FN");
        const char *begin = word;
        s = word + n;
        if (data) data = strncmp(skip_space(s), "const ", 6) == 0;
        if ((!fn && !data) || !read_name(s, name, &s)) continue;
        if (header)
            note_name(name, folder_rank(file), -1, is_recursion(text, begin));
        else if (data || *s == '{')
            note_name(name, folder_rank(file), position(file), false);
    }
    free(text);
}

static void check_names(const char *file)
{
    char *text = tool_read(file);
    int folder = folder_rank(file), at = position(file);
    size_t n;
    for (const char *word = next_word(text, &n); word; word = next_word(word + n, &n)) {
        shared *x = n > 6 && memcmp(word, "dync__", 6) == 0 ? find_name(word, n, folder) : NULL;
        if (!x || x->at <= at || x->seen == at || x->recursion) continue;
        if (folders[folder].inside) breach(file, "uses before the file that defines it: ", x->name);
        x->seen = at;
        ahead[folder]++;
    }
    free(text);
}

static void check_inside(int n, char **files)
{
    for (int i = 0; i < n; i++)
        if (!is_root(files[i]) && folder_rank(files[i]) >= 0) note_names(files[i]);
    for (int i = 0; i < n; i++)
        if (has_suffix(files[i], ".c") && position(files[i]) >= 0) check_names(files[i]);
    bool any = false;
    for (int i = 0; i < N_FOLDERS; i++) {
        if (folders[i].inside) continue;
        printf("%s %s %d",
               any ? "," : "not in order inside (uses before the definition):", folders[i].name,
               ahead[i]);
        any = true;
    }
    if (any) printf("\n");
}

/* ---- comments: the files they name ----------------------------------------------------------- */

/* Files that comments name and that do not lie in src/: programs of users, headers of C, sources
 * of other projects that algorithms come from. */
static const char *const others[] = {
    "program.c",     "stdint.h", "math.h", "s_atan.c",    "e_log.c", "e_pow.c", "e_rem_pio2.c",
    "floatobject.c", "this.c",   "dync.h", "dync_cuda.h", "name.h",  "name.c",  "cuda_runtime.h"};

static bool is_path(char c) { return is_letter(c) || c == '/' || c == '-' || c == '.'; }

/* Is the path of some file `name`, or does it end in a slash and `name`? */
static bool is_there(const char *name, int n, char **files)
{
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(name, others[i]) == 0) return true;
    if (strncmp(name, "aten/", 5) == 0 || strncmp(name, "c10/", 4) == 0) return true; /* PyTorch */
    FILE *f = fopen(name, "rb"); /* tests/..., tools/...: from the top of the repository */
    if (f) fclose(f);
    size_t k = strlen(name);
    for (int i = 0; i < n && !f; i++) {
        size_t len = strlen(files[i]);
        if (len >= k && strcmp(files[i] + len - k, name) == 0 &&
            (len == k || files[i][len - k - 1] == '/'))
            return true;
    }
    return f != NULL;
}

static void check_comment(const char *file, const char *s, const char *end, int n, char **files)
{
    char name[TOOL_PATH];
    while (s < end) {
        const char *begin = s;
        while (s < end && is_path(*s)) s++;
        size_t len = (size_t)(s - begin);
        while (len && begin[len - 1] == '.') len--;
        bool plain = begin[-1] != '*' && begin[-1] != '<' && begin[-1] != '"' && *s != '(';
        if (len > 2 && len < sizeof name && plain) {
            memcpy(name, begin, len);
            name[len] = 0;
            bool c = has_suffix(name, ".c") || has_suffix(name, ".h");
            if (c && is_letter(name[0]) && len > 3 && !is_there(name, n, files))
                breach(file, "a comment names a file that is not there: ", name);
        }
        if (s == begin) s++;
    }
}

static void check_comments(const char *file, int n, char **files)
{
    char *text = tool_read(file), own[TOOL_PATH];
    if (!text) tool_die("cannot read %s", file);
    snprintf(own, sizeof own, "/* %s: ", strncmp(file, "src/", 4) == 0 ? file + 4 : file);
    if (has_suffix(file, ".c") && strncmp(text, own, strlen(own)) != 0)
        breach(file, "does not begin with its name: ", own);
    for (const char *s = text; *s;) {
        const char *behind = skip_quiet(s);
        if (behind != s && *s == '/') check_comment(file, s + 2, behind, n, files);
        s = behind != s ? behind : s + 1;
    }
    free(text);
}

int main(int argc, char **argv)
{
    if (argc < 2) tool_die("usage: layers src/dync.in.h files...");
    for (int i = 1; i < argc; i++)
        if (is_root(argv[i])) read_order(argv[i]);
    for (int i = 1; i < argc; i++)
        if (!is_root(argv[i])) check_file(argv[i]);
    for (int i = 1; i < argc; i++)
        if (!is_root(argv[i])) check_comments(argv[i], argc - 1, argv + 1);
    check_inside(argc - 1, argv + 1);
    return n_breaches != 0;
}
