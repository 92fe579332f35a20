/* tests/unit/objdump.h: machine code against objdump: the listing that the assembler wrote is what
 * objdump reads from the bytes, to the end, with jumps to where the labels stand and constants
 * where the pool is. Nothing is run. */
#ifndef DYNC_TESTS_OBJDUMP_H
#define DYNC_TESTS_OBJDUMP_H
#include "../../src/codegen/x86_enc.h"
#include "../test.h"

/* A piece of finished code. label: where each is, from its beginning. */
typedef struct objdump_code {
    const uint8_t *bytes;
    int n;
    const char *listing;
    const int32_t *label;
} objdump_code;

/* Without spaces, "XMMWORD PTR " and the like. */
static void objdump_normal(const char *from, char *to, size_t cap)
{
    size_t n = 0;
    while (*from && n + 1 < cap) {
        const char *ptr = strstr(from, " PTR ");
        const char *word = from;
        while (word > from - 1 && ptr && word < ptr && *word >= 'A' && *word <= 'Z') word++;
        if (ptr && word == ptr && *from >= 'A' && *from <= 'Z') {
            from = ptr + 5;
            continue;
        }
        if (*from != ' ' && *from != '\n' && *from != '\t') to[n++] = *from;
        from++;
    }
    to[n] = 0;
}

static void objdump_without(char *text, const char *part)
{
    for (char *at; (at = strstr(text, part));)
        memmove(at, at + strlen(part), strlen(at + strlen(part)) + 1);
}

/* objdump marks what has a shorter form, and prints a displacement of zero where the encoding needs
 * one. */
static bool objdump_same(const char *mine, const char *theirs)
{
    char a[256], b[256], *at;
    objdump_normal(mine, a, sizeof a);
    objdump_normal(theirs, b, sizeof b);
    if ((at = strstr(b, "#"))) *at = 0;
    if ((at = strstr(b, "+0x0]"))) memmove(at, at + 4, strlen(at + 4) + 1);
    objdump_without(b, "{evex}");
    if (strncmp(b, "rexmov", 6) == 0) memmove(b, b + 3, strlen(b + 3) + 1);
    return strcmp(a, b) == 0;
}

/* "[pool+0x40]" and "[rip+0x38] # 0x1c0": the place it names is cut out; -1: there is none. */
static long objdump_pool(char *text, const char *begin, const char *place)
{
    char *at = strstr(text, begin), *end = at ? strchr(at, ']') : NULL,
         *number = at ? strstr(at, place) : NULL;
    if (!end || !number) return -1;
    long where = strtol(number + strlen(place), NULL, 16);
    memmove(at, end, strlen(end) + 1);
    return where;
}

/* "vcmpps k1,zmm0,zmm2,0x1d" as objdump writes it: "vcmpge_oqps k1,zmm0,zmm2". */
static void objdump_named(char *line, size_t room)
{
    static const char *const names[] = {
        "eq",    "lt",     "le",     "unord",    "neq",    "nlt",    "nle",    "ord",
        "eq_uq", "nge",    "ngt",    "false",    "neq_oq", "ge",     "gt",     "true",
        "eq_os", "lt_oq",  "le_oq",  "unord_s",  "neq_us", "nlt_uq", "nle_uq", "ord_s",
        "eq_us", "nge_uq", "ngt_uq", "false_os", "neq_os", "ge_oq",  "gt_oq",  "true_us"};
    size_t stem = strncmp(line, "vpcmp", 5) == 0 ? 5 : strncmp(line, "vcmp", 4) == 0 ? 4 : 0;
    char *last = strrchr(line, ','), text[256];
    long which = stem && last ? strtol(last + 1, NULL, 16) : -1;
    if (which < 0 || which >= 32 || strncmp(last, ",0x", 3) != 0) return;
    snprintf(text, sizeof text, "%.*s%s%.*s", (int)stem, line, names[which],
             (int)(last - line) - (int)stem, line + stem);
    snprintf(line, room, "%s", text);
}

/* One line each, of code that lies `base` bytes into what objdump read. */
static bool objdump_agrees(const objdump_code *c, long base, const char *mine, const char *theirs)
{
    char a[256], b[256], jump[8], other[8];
    int label;
    unsigned long target;
    long pool = base + ((c->n + 63) & ~63);
    if (sscanf(mine, " %7s L%d", jump, &label) == 2)
        return sscanf(theirs, " %7s 0x%lx", other, &target) == 2 && strcmp(jump, other) == 0 &&
               (long)target == base + c->label[label];
    snprintf(a, sizeof a, "%s", mine);
    snprintf(b, sizeof b, "%s", theirs);
    long in_pool = objdump_pool(a, "[pool", "+"), place = objdump_pool(b, "[rip", "# ");
    bool same = objdump_same(a, b);
    if (!same) objdump_named(a, sizeof a);
    return (same || objdump_same(a, b)) && (in_pool < 0 ? -1 : pool + in_pool) == place;
}

/* The next instruction of a listing without its line end; labels and comments are passed over.
 * false: there is none. */
static bool objdump_next(const char **listing, char *line, size_t room)
{
    for (const char *end; *(*listing) && (end = strchr(*listing, '\n')); *listing = end + 1) {
        const char *text = *listing + strspn(*listing, " ");
        if (*text == ';' || *text == 'L') continue;
        snprintf(line, room, "%.*s", (int)(end - text), text);
        *listing = end + 1;
        return true;
    }
    return false;
}

/* What objdump says to all pieces one after another, into a file of the name `out`. false: there is
 * no objdump. */
static bool objdump_run(const objdump_code *code, int n, char *out, size_t room)
{
    char bin[64], command[256];
    snprintf(bin, sizeof bin, "/tmp/dync_x86_%d.bin", (int)getpid());
    snprintf(out, room, "/tmp/dync_x86_%d.txt", (int)getpid());
    FILE *f = fopen(bin, "wb");
    for (int i = 0; f && i < n; i++) fwrite(code[i].bytes, 1, (size_t)code[i].n, f);
    if (!f || fclose(f) != 0) return false;
    snprintf(command, sizeof command,
             "objdump -D -b binary -m i386:x86-64 -M intel --no-show-raw-insn %s > %s 2>/dev/null",
             bin, out);
    int status = system(command);
    remove(bin);
    return status == 0;
}

/* How many instructions were compared; 0: one differs, which is reported; -1: there is no
 * objdump. */
TEST__UNUSED static int objdump_compare(const objdump_code *code, int n)
{
    char out[64], line[512], mine[256];
    int at = 0, compared = 0, wrong = 0;
    long base = 0;
    FILE *f = objdump_run(code, n, out, sizeof out) ? fopen(out, "r") : NULL;
    if (!f) {
        printf("  no objdump: not compared\n");
        return -1;
    }
    const char *listing = n ? code[0].listing : "";
    while (fgets(line, sizeof line, f) && wrong < 10) {
        char *colon = strchr(line, ':');
        if (line[0] != ' ' || !colon) continue;
        while (at < n && strtol(line, NULL, 16) >= base + code[at].n) {
            /* the listing ends with the bytes */
            if (!EXPECT(!objdump_next(&listing, mine, sizeof mine))) wrong++;
            base += code[at++].n;
            listing = at < n ? code[at].listing : "";
        }
        if (!EXPECT(at < n && objdump_next(&listing, mine, sizeof mine))) break;
        if (!objdump_agrees(&code[at], base, mine, colon + 1)) {
            printf("  mine %s, objdump %s", mine, colon + 1);
            wrong++;
        }
        compared++;
    }
    fclose(f);
    remove(out);
    EXPECT_EQ_INT(wrong, 0);
    bool whole = EXPECT(at == n - 1 && !objdump_next(&listing, mine, sizeof mine));
    return wrong || !whole ? 0 : compared;
}
#endif
