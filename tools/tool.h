/* tools/tool.h: what the build tools share: whole files, lines, and the include directives of C
 * sources. Plain C11, no libraries. */
#ifndef DYNC_TOOLS_TOOL_H
#define DYNC_TOOLS_TOOL_H
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(__GNUC__)
#define TOOL_UNUSED __attribute__((unused))
#else
#define TOOL_UNUSED
#endif
enum { TOOL_PATH = 512, TOOL_LEVEL = 16 };

TOOL_UNUSED static void tool_die(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    exit(1);
}

TOOL_UNUSED static void *tool_alloc(size_t n)
{
    void *p = calloc(1, n ? n : 1);
    if (!p) tool_die("out of memory");
    return p;
}

/* The file's text with LF line ends and one at the end, NUL-terminated; NULL where it cannot be
 * opened. */
TOOL_UNUSED static char *tool_read(const char *path)
{
    FILE *f = fopen(path, "rb");
    size_t n = 0, cap = 1 << 16, kept = 0;
    char *text;
    if (!f) return NULL;
    text = tool_alloc(cap + 2);
    for (size_t got; (got = fread(text + n, 1, cap - n, f)) > 0;) {
        n += got;
        if (n < cap) continue;
        text = realloc(text, (cap *= 2) + 2);
        if (!text) tool_die("out of memory");
    }
    fclose(f);
    for (size_t i = 0; i < n; i++)
        if (text[i] != '\r') text[kept++] = text[i];
    if (kept && text[kept - 1] != '\n') text[kept++] = '\n';
    text[kept] = 0;
    return text;
}

/* Length of the line at s, its newline included. */
TOOL_UNUSED static size_t tool_line(const char *s)
{
    const char *end = strchr(s, '\n');
    return end ? (size_t)(end - s) + 1 : strlen(s);
}

/* The word after # when the line is a directive: *rest points behind it. "" for other lines. */
TOOL_UNUSED static void tool_directive(const char *line, char word[16], const char **rest)
{
    size_t n = 0;
    word[0] = 0;
    while (*line == ' ' || *line == '\t') line++;
    if (*line != '#') return;
    for (line++; *line == ' ' || *line == '\t';) line++;
    while (n < 15 && ((*line >= 'a' && *line <= 'z') || *line == '_')) word[n++] = *line++;
    word[n] = 0;
    *rest = line;
}

/* "a/b/../c.h" becomes "a/c.h". */
TOOL_UNUSED static void tool_normalize(char *path)
{
    for (char *up; (up = strstr(path, "/../")) != NULL;) {
        char *start = up;
        while (start > path && start[-1] != '/') start--;
        if (start == up) return;
        memmove(start, up + 4, strlen(up + 4) + 1);
    }
}

/* True for #include "file": its path, relative to where `from` lies. */
TOOL_UNUSED static bool tool_include(const char *line, const char *from, char out[TOOL_PATH])
{
    char word[16];
    const char *rest = "", *end, *slash = strrchr(from, '/');
    size_t folder = slash ? (size_t)(slash - from) + 1 : 0;
    tool_directive(line, word, &rest);
    if (strcmp(word, "include") != 0) return false;
    while (*rest == ' ' || *rest == '\t') rest++;
    end = *rest == '"' ? strpbrk(rest + 1, "\"\n") : NULL;
    if (!end || *end != '"') return false;
    if (folder + (size_t)(end - rest) >= TOOL_PATH) tool_die("%s: path too long", from);
    memcpy(out, from, folder);
    memcpy(out + folder, rest + 1, (size_t)(end - rest) - 1);
    out[folder + (size_t)(end - rest) - 1] = 0;
    tool_normalize(out);
    return true;
}

/* True for a line that sets how what follows is optimised (base/priv.h): the word behind DYNC__. */
TOOL_UNUSED static bool tool_level(const char *line, char word[TOOL_LEVEL])
{
    static const char *const levels[] = {"COLD",  "LEAN",       "WARM", "HOT",
                                         "PLAIN", "BESIDE_JIT", "SPARE"};
    if (strncmp(line, "DYNC__", 6) != 0 || sscanf(line + 6, "%15[A-Z_]", word) != 1) return false;
    if (line[6 + strlen(word)] != '\n') return false;
    for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++)
        if (strcmp(word, levels[i]) == 0) return true;
    return false;
}
#endif
