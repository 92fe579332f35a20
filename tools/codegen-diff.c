/* tools/codegen-diff.c: which machine code differs between two files of records
 * (tests/codegen/record.c). `make codegen-diff` calls it.
 *
 *   codegen-diff OLD NEW FOLDER
 *
 * A kernel of both files must have the same code in both. What only one file has (tests came or
 * went, other forms are asked for) must be code that the other file knows as well, whoever asked
 * for it. The texts and listings of what differs go to FOLDER/changed. */
#define _POSIX_C_SOURCE 200809L
#include "tool.h"
#include <inttypes.h>
#include <stdint.h>
#include <sys/stat.h>

enum { NAME = 160, SHOWN = 30, LINE = 256 };
typedef struct record {
    char level[24], name[NAME];
    uint64_t key, code;
    size_t n, n_text; /* of the code; both 0 but in the first record of a code */
    const char *text, *bytes;
} record;
typedef struct side {
    record *at, *codes;
    size_t n, n_codes;
} side; /* codes: first records, by code */

/* ---- reading --------------------------------------------------------------------------------- */

static int by_key(const void *a, const void *b)
{
    const record *x = a, *y = b;
    int level = strcmp(x->level, y->level);
    return level                ? level
           : x->key != y->key   ? (x->key < y->key ? -1 : 1)
           : x->code != y->code ? (x->code < y->code ? -1 : 1)
                                : 0;
}
static int by_code(const void *a, const void *b)
{
    const record *x = a, *y = b;
    return x->code < y->code ? -1 : x->code > y->code;
}

static char *whole(const char *path, size_t *n)
{
    FILE *f = fopen(path, "rb");
    if (!f || fseek(f, 0, SEEK_END) != 0) tool_die("%s: cannot be read", path);
    *n = (size_t)ftell(f);
    rewind(f);
    char *all = tool_alloc(*n + 1);
    if (fread(all, 1, *n, f) != *n) tool_die("%s: cannot be read", path);
    fclose(f);
    return all;
}

static side read_side(const char *path)
{
    side s = {0};
    size_t n, room = 0;
    char *all = whole(path, &n);
    for (char *at = all; at < all + n; s.n++) {
        record r = {0};
        size_t kept;
        int used = 0;
        char *end = memchr(at, '\n', (size_t)(all + n - at));
        if (!end) tool_die("%s: torn", path);
        *end = 0;
        if (sscanf(at, "%23s %" SCNx64 " %" SCNx64 " %zu %zu %zu %n", r.level, &r.key, &r.code,
                   &r.n, &r.n_text, &kept, &used) != 6)
            tool_die("%s: no record: %s", path, at);
        snprintf(r.name, sizeof r.name, "%s", at + used);
        r.text = kept ? end + 1 : NULL;
        r.bytes = kept ? end + 1 + r.n_text : NULL;
        at = end + 1 + r.n_text + kept;
        if (s.n == room) s.at = realloc(s.at, (room = 2 * room + 1024) * sizeof *s.at);
        if (!s.at) tool_die("out of memory");
        s.at[s.n] = r;
    }
    s.codes = tool_alloc(s.n * sizeof *s.codes);
    for (size_t i = 0; i < s.n; i++)
        if (s.at[i].bytes) s.codes[s.n_codes++] = s.at[i];
    qsort(s.at, s.n, sizeof *s.at, by_key);
    qsort(s.codes, s.n_codes, sizeof *s.codes, by_code);
    return s;
}

static const record *code_of(const side *s, uint64_t code)
{
    record wanted = {.code = code};
    return bsearch(&wanted, s->codes, s->n_codes, sizeof *s->codes, by_code);
}

/* ---- what differs ---------------------------------------------------------------------------- */

typedef struct listing {
    char **line;
    size_t n;
} listing;

static listing disassemble(const char *folder, const char *name, const record *r)
{
    char path[TOOL_PATH], command[2 * TOOL_PATH], line[LINE];
    listing l = {0};
    snprintf(path, sizeof path, "%s/code.bin", folder);
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(r->bytes, 1, r->n, f) != r->n || fclose(f) != 0)
        tool_die("%s: cannot be written", path);
    snprintf(command, sizeof command,
             "objdump -D -b binary -m i386:x86-64 -M intel --no-show-raw-insn '%s' 2>/dev/null",
             path);
    f = popen(command, "r");
    while (f && fgets(line, sizeof line, f)) {
        char *colon = strchr(line, ':');
        if (line[0] != ' ' || !colon) continue;
        l.line = realloc(l.line, (l.n + 1) * sizeof *l.line);
        if (!l.line) tool_die("out of memory");
        line[strcspn(line, "\n")] = 0;
        l.line[l.n] = tool_alloc(strlen(line) + 1);
        strcpy(l.line[l.n++], line);
    }
    if (f) pclose(f);
    remove(path);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    f = fopen(path, "wb");
    if (!f) tool_die("%s: cannot be written", path);
    fprintf(f, "%s %s, %zu bytes\n%.*s\n", r->level, r->name, r->n, (int)r->n_text, r->text);
    for (size_t i = 0; i < l.n; i++) fprintf(f, "%s\n", strchr(l.line[i], ':') + 1);
    fclose(f);
    return l;
}

/* Instructions equal but for where they lie, where they jump to and how far their constants are
 * away. */
static bool alike(const char *a, const char *b)
{
    a = strchr(a, ':') + 1;
    b = strchr(b, ':') + 1;
    if (strcmp(a, b) == 0) return true;
    size_t n = strspn(a, "\t "), word = strcspn(a + n, " ");
    const char *pool = strstr(a, "[rip"), *other = strstr(b, "[rip");
    if (pool && other) return pool - a == other - b && memcmp(a, b, (size_t)(pool - a)) == 0;
    return a[n] == 'j' && memcmp(a, b, n + word) == 0;
}

static void show_pair(const char *folder, int number, const record *old, const record *new)
{
    char name[2][40];
    snprintf(name[0], sizeof name[0], "%02d.old", number);
    snprintf(name[1], sizeof name[1], "%02d.new", number);
    listing a = disassemble(folder, name[0], old), b = disassemble(folder, name[1], new);
    size_t i = 0;
    while (i < a.n && i < b.n && alike(a.line[i], b.line[i])) i++;
    if (a.n == 0)
        printf("      no objdump\n");
    else if (i == a.n && i == b.n)
        printf("      the same instructions, other places or constants\n");
    else
        printf("      instruction %zu:%s\n            now%*s:%s\n", i,
               i < a.n ? strchr(a.line[i], ':') + 1 : " the end", i > 999 ? 1 : 0, "",
               i < b.n ? strchr(b.line[i], ':') + 1 : " the end");
}

typedef struct report {
    const char *folder;
    int changed, gone, came;
    size_t kernels;
    uint64_t pair[4096];
    int n_pairs;
} report;

static void changed(report *r, const record *at, const record *old, const record *new)
{
    uint64_t pair = old->code * 3 ^ new->code;
    for (int i = 0; i < r->n_pairs; i++)
        if (r->pair[i] == pair) return;
    if (r->n_pairs < 4096) r->pair[r->n_pairs++] = pair;
    if (r->changed++ >= SHOWN) return;
    printf("  %02d %-7s %s: %zu bytes before, %zu now\n", r->changed, at->level, at->name, old->n,
           new->n);
    show_pair(r->folder, r->changed, old, new);
}

static void one_sided(int *count, const char *says, const record *at)
{
    if ((*count)++ < SHOWN) printf("  %s: %-7s %s, %zu bytes\n", says, at->level, at->name, at->n);
}

static size_t run_of(const side *s, size_t from)
{
    size_t n = from;
    while (n < s->n && s->at[n].key == s->at[from].key &&
           strcmp(s->at[n].level, s->at[from].level) == 0)
        n++;
    return n - from;
}

static bool has_code(const record *r, size_t n, uint64_t code)
{
    for (size_t i = 0; i < n; i++)
        if (r[i].code == code) return true;
    return false;
}

/* One kernel at one level, in both files. Code that both files know elsewhere has only been made
 * for another kernel first. */
static void compare(report *r, const side *old, const record *a, size_t n, const side *new,
                    const record *b, size_t m)
{
    size_t k = 0;
    for (size_t i = 0; i < n; i++) {
        if (has_code(b, m, a[i].code)) continue;
        while (k < m && has_code(a, n, b[k].code)) k++;
        bool known = code_of(new, a[i].code);
        if (k == m && !known) one_sided(&r->gone, "gone", &a[i]);
        if (k == m) continue;
        if (!known || !code_of(old, b[k].code))
            changed(r, &a[i], code_of(old, a[i].code), code_of(new, b[k].code));
        k++;
    }
    for (; k < m; k++)
        if (!has_code(a, n, b[k].code) && !code_of(old, b[k].code))
            one_sided(&r->came, "new", &b[k]);
}

int main(int argc, char **argv)
{
    static report r;
    char folder[TOOL_PATH - 40];
    if (argc != 4) tool_die("usage: codegen-diff OLD NEW FOLDER");
    side old = read_side(argv[1]), new = read_side(argv[2]);
    snprintf(folder, sizeof folder, "%s/changed", argv[3]);
    mkdir(folder, 0777);
    r.folder = folder;
    for (size_t i = 0, k = 0; i < old.n || k < new.n; r.kernels++) {
        int order = i == old.n ? 1 : k == new.n ? -1 : strcmp(old.at[i].level, new.at[k].level);
        if (!order && old.at[i].key != new.at[k].key)
            order = old.at[i].key < new.at[k].key ? -1 : 1;
        size_t n = order <= 0 ? run_of(&old, i) : 0, m = order >= 0 ? run_of(&new, k) : 0;
        if (order == 0) compare(&r, &old, old.at + i, n, &new, new.at + k, m);
        for (size_t x = 0; order < 0 && x < n; x++)
            if (!code_of(&new, old.at[i + x].code)) one_sided(&r.gone, "gone", &old.at[i + x]);
        for (size_t x = 0; order > 0 && x < m; x++)
            if (!code_of(&old, new.at[k + x].code)) one_sided(&r.came, "new", &new.at[k + x]);
        i += n;
        k += m;
    }
    if (!r.changed && !r.gone && !r.came)
        return printf("no change: %zu kernels, %zu pieces of code\n", r.kernels, new.n_codes), 0;
    printf("of %zu kernels: %d pieces of code changed, %d gone, %d new; listings in %s\n",
           r.kernels, r.changed, r.gone, r.came, folder);
    return 1;
}
