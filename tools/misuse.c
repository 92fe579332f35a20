/* tools/misuse.c: writes a C file that calls every public function wrongly, so that a new function
 * is tested for NULL and nonsense without anybody's remembering it.
 *
 *   misuse dync.h > build/gen/misuse.h
 *
 * Every DYNC_API prototype of the public half becomes one function `misuse_NAME(int k)`, which
 * calls it with what the pick_ functions of tests/api/test_every_function.c give for round k (0:
 * NULL, 0 and empty structs throughout), and one row of MISUSE_ALL. Every one that takes a handle
 * of an object also becomes `handle_NAME(int k)`, which calls it with given_KIND(k) in the place of
 * the handle and good arguments else, and one row of HANDLE_ALL(name, kind). */
#include <ctype.h>
#include "tool.h"

enum { MAX_PARAMS = 24, TEXT_CAP = 512 };
typedef struct function {
    char name[TEXT_CAP], result[TEXT_CAP], type[MAX_PARAMS][TEXT_CAP], param[MAX_PARAMS][TEXT_CAP];
    int n;
} function;

/* What tests cannot call in a row with others: they begin and end the library, or read what the
 * caller's format says. */
static const char *const left_out[] = {"dync_init", "dync_shutdown"};

static void trim(char *s)
{
    size_t n = strlen(s), skip = strspn(s, " ");
    while (n > skip && s[n - 1] == ' ') s[--n] = 0;
    memmove(s, s + skip, n - skip + 1);
}

/* One declaration "const char *name" or "int (*fn)(void *)" into type and name; a function pointer
 * keeps its text, with no name. */
static bool split_param(const char *text, char *type, char *name)
{
    char copy[TEXT_CAP];
    snprintf(copy, sizeof copy, "%s", text);
    trim(copy);
    size_t n = strlen(copy), end = n;
    if (strchr(copy, '(')) {
        snprintf(type, TEXT_CAP, "(*)");
        snprintf(name, TEXT_CAP, "fn");
        return true;
    }
    if (n > 2 && copy[n - 1] == ']') { /* an array is a pointer */
        end = (size_t)(strchr(copy, '[') - copy);
        copy[end] = 0;
    }
    size_t start = end;
    while (start > 0 && (isalnum((unsigned char)copy[start - 1]) || copy[start - 1] == '_'))
        start--;
    bool named = start > 0 && strcmp(copy + start, "void") != 0 &&
                 (copy[start - 1] == ' ' || copy[start - 1] == '*');
    snprintf(name, TEXT_CAP, "%s", named ? copy + start : "");
    if (named) copy[start] = 0;
    trim(copy);
    if (end < n) strcat(copy, " *"); /* shorter than what the brackets took */
    snprintf(type, TEXT_CAP, "%s", copy);
    return type[0] != 0;
}

/* The prototype after DYNC_API, up to its semicolon. */
static bool parse(const char *text, function *f)
{
    char flat[4 * TEXT_CAP];
    size_t n = 0;
    for (; *text && *text != ';' && n + 1 < sizeof flat; text++)
        if (!isspace((unsigned char)*text))
            flat[n++] = *text;
        else if (n && flat[n - 1] != ' ')
            flat[n++] = ' ';
    flat[n] = 0;
    char *name = strstr(flat, "dync_");
    while (name && !(strcspn(name, "( )*,") + 1 < strlen(name) &&
                     (name[strcspn(name, "( )*,")] == '(' ||
                      (name[strcspn(name, "( )*,")] == ')' && name > flat && name[-1] == '('))))
        name = strstr(name + 1, "dync_");
    if (!name || strstr(flat, "...") || strchr(flat, '{') || strchr(flat, '=')) return false;
    size_t length = strcspn(name, "( )*,");
    snprintf(f->name, sizeof f->name, "%.*s", (int)length, name);
    snprintf(f->result, sizeof f->result, "%.*s", (int)(name - flat - (name[-1] == '(')), flat);
    trim(f->result);
    char *p = strchr(name + length, '(');
    if (!p || f->result[0] == 0) return false;
    f->n = 0;
    int depth = 0;
    for (char *start = ++p;; p++) {
        if (*p == 0) return false;
        if (*p == '(') depth++;
        if ((*p == ',' && depth == 0) || (*p == ')' && depth == 0)) {
            char one[TEXT_CAP];
            snprintf(one, sizeof one, "%.*s", (int)(p - start), start);
            trim(one);
            if (one[0] && strcmp(one, "void") != 0) {
                if (f->n == MAX_PARAMS || !split_param(one, f->type[f->n], f->param[f->n]))
                    return false;
                f->n++;
            }
            if (*p == ')') return true;
            start = p + 1;
        } else if (*p == ')') {
            depth--;
        }
    }
}

static bool ends_with(const char *s, const char *end)
{
    size_t n = strlen(s), m = strlen(end);
    return n >= m && strcmp(s + n - m, end) == 0;
}

/* "graph" of "const dync_graph *"; NULL: no handle of an object. */
static const char *handle_kind(const char *type)
{
    static const char *const kinds[] = {"compiled",     "module",       "graph",  "node",
                                        "program",      "list",         "optim",  "cell",
                                        "autograd_ctx", "repro_reader", "tensors"};
    if (strncmp(type, "const ", 6) == 0) type += 6;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        char text[TEXT_CAP];
        snprintf(text, sizeof text, "dync_%s *", kinds[i]);
        if (strcmp(type, text) == 0) return kinds[i];
    }
    return NULL;
}

static bool is_path(const char *name)
{
    return strstr(name, "path") || strstr(name, "file") || strstr(name, "dir") ||
           strstr(name, "stream");
}

static bool is_zero(const function *f, int i)
{
    static const char *const picked[] = {
        "dync_value", "dync_dims", "dync_real", "float",    "bool",     "int", "int32_t",
        "int64_t",    "size_t",    "uint64_t",  "uint32_t", "unsigned", "long"};
    if (strchr(f->type[i], '*')) return false;
    for (size_t t = 0; t < sizeof picked / sizeof picked[0]; t++)
        if (strcmp(f->type[i], picked[t]) == 0) return false;
    return true;
}

/* Values carry handles on and do not look at them; functions of scopes and callees neither. */
static int handle_param(const function *f)
{
    bool carries = strncmp(f->name, "dync_v_", 7) == 0 || strcmp(f->result, "dync_callee") == 0;
    for (int i = 0; i < f->n && !carries; i++)
        if (handle_kind(f->type[i]) || strcmp(f->type[i], "dync_callee") == 0) return i;
    return -1;
}

/* Such that only the handle is wrong. */
static void print_good(const function *f, int i)
{
    const char *type = f->type[i];
    if (strcmp(type, "dync_tensor *") == 0 || strcmp(type, "const dync_tensor *") == 0)
        printf("tensors[0]");
    else if (strcmp(type, "const char *") == 0)
        printf("\"x\"");
    else if (strcmp(type, "dync_value") == 0)
        printf("DYNC_V(tensors[0])");
    else if (strcmp(type, "(*)") == 0 || strchr(type, '*'))
        printf("NULL");
    else if (is_zero(f, i))
        printf("a%d", i);
    else
        printf("0");
}

static void print_argument(const function *f, int i)
{
    static const char *const numbers[] = {"int",      "int32_t",  "int64_t",  "size_t",
                                          "uint64_t", "uint32_t", "unsigned", "long"};
    const char *type = f->type[i];
    if (strcmp(type, "dync_tensor *") == 0 || strcmp(type, "const dync_tensor *") == 0)
        printf("pick_tensor(k, %d)", i);
    else if (strcmp(type, "const char *") == 0)
        printf(is_path(f->param[i]) ? "pick_path(k, %d)" : "pick_text(k, %d)", i);
    else if (strcmp(type, "dync_value") == 0)
        printf("pick_value(k, %d)", i);
    else if (strcmp(type, "dync_dims") == 0)
        printf("pick_dims(k, %d)", i);
    else if (strcmp(type, "dync_real") == 0 || strcmp(type, "float") == 0)
        printf("(%s)pick_double(k, %d)", type, i);
    else if (strcmp(type, "bool") == 0)
        printf("pick_int(k, %d) > 1", i);
    else if (handle_kind(type))
        printf("pick_%s(k, %d)", handle_kind(type), i);
    else if (strcmp(type, "dync_callee") == 0)
        printf("pick_callee(k, %d)", i);
    else if (strchr(type, '*'))
        printf("NULL");
    else {
        for (size_t t = 0; t < sizeof numbers / sizeof numbers[0]; t++)
            if (strcmp(type, numbers[t]) == 0) {
                printf("(%s)pick_int(k, %d)", type, i);
                return;
            }
        printf("a%d", i); /* a struct or an enumeration: zero */
    }
}

/* handle: the parameter that given_KIND fills; -1: all are picked. */
static void print_call(const function *f, int handle)
{
    printf("static void %s_%s(int k)\n{\n    (void)k;\n", handle >= 0 ? "handle" : "misuse",
           f->name);
    for (int a = 0; a < f->n; a++)
        if (is_zero(f, a) && (handle >= 0 || strcmp(f->type[a], "dync_callee") != 0))
            printf("    %s a%d;\n    memset(&a%d, 0, sizeof a%d);\n    (void)a%d;\n", f->type[a], a,
                   a, a, a);
    printf("    %s(%s)(", strcmp(f->result, "void") == 0 ? "" : "(void)", f->name);
    for (int a = 0; a < f->n; a++) {
        printf("%s", a ? ", " : "");
        if (a == handle)
            printf("given_%s(k)", handle_kind(f->type[a]) ? handle_kind(f->type[a]) : "callee");
        else if (handle >= 0)
            print_good(f, a);
        else if (strcmp(f->type[a], "(*)") == 0)
            printf("NULL");
        else
            print_argument(f, a);
    }
    printf(");\n}\n");
}

int main(int argc, char **argv)
{
    static function seen[2048];
    int n = 0;
    char *text = argc == 2 ? tool_read(argv[1]) : NULL;
    if (!text) tool_die("usage: misuse dync.h > file");
    char *end = strstr(text, "defined(DYNC_IMPLEMENTATION)");
    if (end) *end = 0;
    for (char *c = text; (c = strstr(c, "/*")) != NULL;) { /* comments name functions too */
        char *close = strstr(c, "*/");
        if (!close) break;
        memset(c, ' ', (size_t)(close + 2 - c));
    }
    for (char *p = text; (p = strstr(p, "DYNC_API ")) != NULL;) {
        char *line = p;
        while (line > text && line[-1] != '\n') line--;
        p += strlen("DYNC_API ");
        function *f = &seen[n];
        if (*line == '#' || n == 2047 || !parse(p, f) || ends_with(f->name, "_at") ||
            strncmp(f->name, "dync__", 6) == 0)
            continue;
        bool skip = false;
        for (size_t i = 0; i < sizeof left_out / sizeof left_out[0]; i++)
            skip |= strcmp(left_out[i], f->name) == 0;
        for (int i = 0; i < n; i++) skip |= strcmp(seen[i].name, f->name) == 0;
        if (!skip) n++;
    }
    printf("/* generated by tools/misuse.c */\n");
    for (int i = 0; i < n; i++) {
        print_call(&seen[i], -1);
        if (handle_param(&seen[i]) >= 0) print_call(&seen[i], handle_param(&seen[i]));
    }
    printf("#define MISUSE_ALL(X)");
    for (int i = 0; i < n; i++) printf(" \\\n    X(%s)", seen[i].name);
    printf("\n#define HANDLE_ALL(X)");
    for (int i = 0; i < n; i++) {
        int at = handle_param(&seen[i]);
        const char *kind = at >= 0 ? handle_kind(seen[i].type[at]) : NULL;
        if (at >= 0) printf(" \\\n    X(%s, %s)", seen[i].name, kind ? kind : "callee");
    }
    printf("\n");
    return fflush(stdout) != 0;
}
