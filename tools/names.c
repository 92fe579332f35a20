/* tools/names.c: nothing without the prefix leaks from dync.h.
 *
 *   names symbols < output of nm            every symbol of the object is dync_*
 *   names calls   < output of nm -u nothing that ends, jumps or prints behind the user's back
 *   names macros  < output of cc -dD -E     every macro that dync.h defines is DYNC* or dync_*
 *   names types   < output of readelf --debug-dump=info of an object compiled with -g3
 *                 -fno-eliminate-unused-debug-types
 *                                           every type, tag, enum constant, function and variable
 *                                           of dync.h is dync_*, DYNC_*
 *
 * Prints what breaks the rule; silent where nothing does. */
#include "tool.h"

enum { MAX_LINE = 1 << 16 };
static char line[MAX_LINE];
static int n_breaches, n_seen;

static bool has_prefix(const char *s, const char *prefix)
{
    return strncmp(s, prefix, strlen(prefix)) == 0;
}
static bool is_ours(const char *name)
{
    return has_prefix(name, "dync_") || has_prefix(name, "DYNC_") || strcmp(name, "DYNC_H") == 0;
}

static void check(const char *name, const char *what)
{
    n_seen++;
    if (is_ours(name)) return;
    printf("%s without the prefix: %s\n", what, name);
    n_breaches++;
}

/* "0000 t dync__x" or "     U malloc". Local names with a dot or $ were made by the compiler. */
static void check_symbols(void)
{
    char kind, name[1024];
    unsigned long long address;
    while (fgets(line, sizeof line, stdin)) {
        if (sscanf(line, "%llx %c %1000s", &address, &kind, name) != 3) continue;
        if (strchr(name, '$') || (strchr(name, '.') && !is_ours(name))) continue;
        if (has_prefix(name, "__asan") || has_prefix(name, "__odr_asan") ||
            has_prefix(name, "__tsan"))
            continue;
        check(name, "symbol");
    }
}

static void check_calls(void)
{
    static const char *const forbidden[] = {
        "abort",         "exit",          "_exit",         "_Exit",          "quick_exit",
        "longjmp",       "siglongjmp",    "printf",        "vprintf",        "puts",
        "putchar",       "sprintf",       "vsprintf",      "snprintf",       "vsnprintf",
        "fprintf",       "vfprintf",      "strtod",        "strtof",         "atof",
        "scanf",         "sscanf",        "fscanf",        "__assert_fail",  "raise",
        "system",        "rand",          "srand",         "strtok",         "setlocale",
        "__printf_chk",  "__fprintf_chk", "__sprintf_chk", "__snprintf_chk", "__vsnprintf_chk",
        "__vfprintf_chk"};
    char name[1024];
    while (fgets(line, sizeof line, stdin)) {
        if (sscanf(line, " U %1000s", name) != 1) continue;
        n_seen++;
        for (size_t i = 0; i < sizeof forbidden / sizeof forbidden[0]; i++)
            if (strcmp(name, forbidden[i]) == 0) {
                printf("the library calls %s\n", name);
                n_breaches++;
            }
    }
}

/* Line markers say which file a #define stands in. */
static void check_macros(void)
{
    char name[1024], file[1024];
    bool inside = false;
    while (fgets(line, sizeof line, stdin)) {
        if (sscanf(line, "# %*d \"%1000[^\"]\"", file) == 1) {
            const char *slash = strrchr(file, '/');
            inside = strcmp(slash ? slash + 1 : file, "dync.h") == 0;
        } else if (inside && sscanf(line, "#define %1000[A-Za-z0-9_]", name) == 1) {
            check(name, "macro");
        }
    }
}

/* One entry of the debug information. */
typedef struct entry {
    char tag[64], name[512];
    int level, file;
    bool declared_only;
} entry;
enum { MAX_ENTRIES = 200000 };
static entry *entries;
static int n_entries;

static void read_entries(void)
{
    int level, number;
    char word[512];
    entries = tool_alloc(MAX_ENTRIES * sizeof entries[0]);
    while (fgets(line, sizeof line, stdin)) {
        entry *e = n_entries ? &entries[n_entries - 1] : NULL;
        const char *colon = strrchr(line, ':');
        if (sscanf(line, " <%d><%*x>: Abbrev Number: %*d (%60[A-Za-z0-9_])", &level, word) == 2) {
            if (n_entries == MAX_ENTRIES) tool_die("too much debug information");
            e = &entries[n_entries++];
            e->level = level;
            strcpy(e->tag, word);
        } else if (e && strstr(line, "DW_AT_name") && colon &&
                   sscanf(colon + 1, " %500s", word) == 1) {
            strcpy(e->name, word);
        } else if (e && strstr(line, "DW_AT_declaration")) {
            e->declared_only = true;
        } else if (e && strstr(line, "DW_AT_decl_file") && colon &&
                   sscanf(colon + 1, " %d", &number) == 1) {
            e->file = number;
        }
    }
}

/* The number of dync.h is that of the type dync_tensor. Enum constants lie one level below their
 * type and have no file of their own. */
static void check_types(void)
{
    static const char *const tags[] = {"DW_TAG_typedef",    "DW_TAG_structure_type",
                                       "DW_TAG_union_type", "DW_TAG_enumeration_type",
                                       "DW_TAG_subprogram", "DW_TAG_variable"};
    int ours = -1;
    bool enumeration_is_ours = false;
    read_entries();
    for (int i = 0; i < n_entries && ours < 0; i++)
        if (strcmp(entries[i].name, "dync_tensor") == 0 && entries[i].file) ours = entries[i].file;
    if (ours < 0) tool_die("names: no debug information of dync.h");
    for (int i = 0; i < n_entries; i++) {
        const entry *e = &entries[i];
        if (strcmp(e->tag, "DW_TAG_enumeration_type") == 0)
            enumeration_is_ours = e->file == ours && e->level == 1;
        if (strcmp(e->tag, "DW_TAG_enumerator") == 0 && enumeration_is_ours)
            check(e->name, "enum constant");
        if (e->level != 1 || e->file != ours || !e->name[0]) continue;
        /* the system's, declared by hand */
        if (e->declared_only && strcmp(e->tag, "DW_TAG_subprogram") == 0) continue;
        for (size_t k = 0; k < sizeof tags / sizeof tags[0]; k++)
            if (strcmp(e->tag, tags[k]) == 0) check(e->name, tags[k] + strlen("DW_TAG_"));
    }
}

int main(int argc, char **argv)
{
    const char *what = argc == 2 ? argv[1] : "";
    if (strcmp(what, "symbols") == 0)
        check_symbols();
    else if (strcmp(what, "calls") == 0)
        check_calls();
    else if (strcmp(what, "macros") == 0)
        check_macros();
    else if (strcmp(what, "types") == 0)
        check_types();
    else
        tool_die("usage: names symbols|calls|macros|types < input");
    if (!n_seen) tool_die("names %s: the input names nothing", what);
    return n_breaches != 0;
}
