/* graph/name.c: names in graphs, of nodes and of symbolic sizes. Before graph.c.
 *
 * Names follow torch.fx's Namespace (torch/fx/graph.py, create_name): illegal characters become _,
 * a taken name gets the next number. */
#include "../dync.in.h"
#include "graph.h"
DYNC__LEAN

enum { DYNC__NAME_SEED = 1, DYNC__BASE_SEED = 2 }; /* two kinds of keys share the map of names */

/* ---- names ----------------------------------------------------------------------------------- */

/* Words that are no names in Python (its keywords and builtins, as torch.fx has it), in C, or in
 * the headers a printed graph meets: by their first letter, whose case is the word's. */
static const char *const dync__name_words[32] = {
    [1] = DYNC__TEXT("abs alignas alignof all and any as ascii assert async atomic auto await "),
    [2] = DYNC__TEXT("bin bool break breakpoint bytearray bytes "),
    [3] =
        DYNC__TEXT("callable case catch char chr class classmethod compile complex const constexpr "
                   "continue "),
    [4] = DYNC__TEXT("decltype def default del delattr delete device dict dir divmod do double "),
    [5] = DYNC__TEXT("elif else enum enumerate errno eval except exec explicit export extern "),
    [6] = DYNC__TEXT("False false filter finally float for format friend from frozenset "),
    [7] = DYNC__TEXT("getattr global globals goto "),
    [8] = DYNC__TEXT("hasattr hash help hex "),
    [9] = DYNC__TEXT(
        "I INFINITY id if import in inf inline input int is isinstance issubclass iter "),
    [12] = DYNC__TEXT("lambda len linux list locals long "),
    [13] = DYNC__TEXT("main map max memoryview min mutable "),
    [14] = DYNC__TEXT("NAN NULL None namespace nan new next noexcept nonlocal not nullptr "),
    [15] = DYNC__TEXT("object oct open operator or ord "),
    [16] = DYNC__TEXT("pass pow print private property protected public "),
    [18] = DYNC__TEXT("raise range register repr restrict return reversed round "),
    [19] = DYNC__TEXT(
        "self set setattr short signed sizeof slice sorted static staticmethod stderr stdin "
        "stdout str struct sum super switch "),
    [20] = DYNC__TEXT("True template this throw torch true try tuple type typedef typename "),
    [21] = DYNC__TEXT("union unix unsigned using "),
    [22] = DYNC__TEXT("vars virtual void volatile "),
    [23] = DYNC__TEXT("wchar_t while with "),
    [24] = DYNC__TEXT("xor "),
    [25] = DYNC__TEXT("yield "),
    [26] = DYNC__TEXT("zip ")};

/* By need: of who shows graphs to a user. */
static const char *const *DYNC__BY_NEED dync__name_words_used = DYNC__AT_FIRST(dync__name_words);
DYNC__FN void dync__names_shown(void) { DYNC__PUT(dync__name_words_used, dync__name_words); }

/* s: cleaned, so it begins with a letter or _, whose list is empty. */
DYNC__BUSY static bool dync__name_is_reserved(const char *s)
{
    size_t n = strlen(s), same;
    if (!dync__name_words_used) return false;
    const char *word = dync__name_words_used[s[0] & 31];
    if (n && s[n - 1] >= '0' && s[n - 1] <= '9') return false; /* none of them has a number */
    for (; word && *word; word++) {
        for (same = 0; same < n && word[same] == s[same];) same++;
        if (n && same == n && word[n] == ' ') return true;
        while (*word != ' ') word++;
    }
    return false;
}

/* Names and bases are hashed with different seeds. The map holds hashes only: two names with one
 * hash would only cost a number. */
static uint64_t dync__name_key(const char *s, size_t n, uint64_t seed)
{
    return dync__hash_bytes(s, n, seed);
}

/* Letters, digits and single _ in place of runs of anything else; never empty, never a digit first.
 */
DYNC__FN char *dync__name_clean(dync__arena *arena, const char *hint)
{
    dync__str s = {0};
    bool gap = false, clean = hint && *hint && !dync__is_digit(*hint);
    for (const char *p = hint; clean && *p; p++) clean = dync__is_word(*p);
    if (clean) return dync__arena_strdup(arena, hint); /* most are */
    for (const char *p = hint ? hint : ""; *p; p++) {
        if (dync__is_word(*p)) {
            if (s.n == 0 && dync__is_digit(*p)) dync__str_addc(&s, '_');
            dync__str_addc(&s, *p);
        } else if (!gap) {
            dync__str_addc(&s, '_');
        }
        gap = !dync__is_word(*p);
    }
    if (s.n == 0) dync__str_add(&s, "_unnamed");
    char *out = s.failed ? NULL : dync__arena_strdup(arena, s.at);
    dync__str_free(&s);
    return out;
}

/* "x_19" is base "x" and 19; where there is no number, -1. */
static int64_t dync__name_split(const char *s, size_t *base_n)
{
    size_t n = strlen(s), i = n;
    int64_t number = 0, scale = 1;
    while (i > 0 && s[i - 1] >= '0' && s[i - 1] <= '9' && n - i < 9) {
        number += scale * (s[i - 1] - '0');
        scale *= 10;
        i--;
    }
    *base_n = n;
    if (i == n || i < 2 || s[i - 1] != '_') return -1;
    *base_n = i - 1;
    return number;
}

/* base_12; every node gets such a name: no format is parsed for it. */
static char *dync__name_numbered(dync__arena *arena, const char *base, size_t base_n,
                                 int64_t number)
{
    char digits[24];
    size_t n = 0;
    do digits[n++] = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    char *name = dync__arena_alloc(arena, base_n + n + 2), *p = name;
    if (!name) return NULL;
    memcpy(p, base, base_n);
    p += base_n;
    *p++ = '_';
    while (n > 0) *p++ = digits[--n];
    return name;
}

/* The hint itself if it is free, else the next number behind the base: x, x_1, x_2. The last number
 * of each base is kept, so that a graph of many equal calls is named in linear time. */
DYNC__FN const char *dync__graph_unique(dync__graph *g, const char *hint)
{
    if (!g || g->failed) return NULL;
    char *name = dync__name_clean(&g->arena, hint);
    if (!name) goto failed;
    size_t base_n;
    int64_t given = dync__name_split(name, &base_n), number = given;
    uint64_t base_key = dync__name_key(name, base_n, DYNC__BASE_SEED), last = 0;
    if (given <= 0) number = dync__map_get(&g->names, base_key, &last) ? (int64_t)last : 0;
    const char *base = name;
    uint64_t key = dync__name_key(name, strlen(name), DYNC__NAME_SEED);
    while (dync__map_get(&g->names, key, NULL) || dync__name_is_reserved(name)) {
        number++;
        name = dync__name_numbered(&g->arena, base, base_n, number);
        if (!name) goto failed;
        key = dync__name_key(name, strlen(name), DYNC__NAME_SEED);
    }
    if (!dync__map_put(&g->names, key, 1) || !dync__map_put(&g->names, base_key, (uint64_t)number))
        goto failed;
    return name;
failed:
    g->failed = true;
    return NULL;
}

/* The old name stays taken. */
DYNC__FN bool dync__graph_rename(dync__graph *g, dync__node *node, const char *name)
{
    if (!g || !node || g->failed) return false;
    if (strcmp(node->name, name) == 0) return true;
    const char *fresh = dync__graph_unique(g, name);
    if (!fresh) return false;
    node->name = fresh;
    return true;
}

/* Appended in the order of first use, which printers follow. */
DYNC__FN bool dync__graph_symbol(dync__graph *g, int64_t token, const char *text)
{
    char *copy = dync__arena_strdup(&g->arena, text);
    if (!copy) goto failed;
    for (int i = 0; i < g->symbol.n; i++)
        if (g->symbol.at[i].token == token) {
            g->symbol.at[i].text = copy;
            return true;
        }
    if (dync__avec_push(&g->arena, &g->symbol, ((dync__symbol){token, copy}))) return true;
failed:
    g->failed = true;
    return false;
}

DYNC__FN const char *dync__graph_symbol_text(const dync__graph *g, int64_t token)
{
    for (int i = 0; i < g->symbol.n; i++)
        if (g->symbol.at[i].token == token) return g->symbol.at[i].text;
    return NULL;
}

DYNC__FN bool dync__graph_takes_symbols(dync__graph *g, const dync__graph *from)
{
    if (from->syms && !g->syms) g->syms = dync__symtab_retain(from->syms);
    for (int i = 0; i < from->symbol.n; i++)
        if (!dync__graph_symbol(g, from->symbol.at[i].token, from->symbol.at[i].text)) return false;
    return true;
}
