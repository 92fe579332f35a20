/* tools/docs.c: takes the programs out of the documentation, so that they can be compiled and run.
 *
 *   docs folder README.md src/api/manual.h ...
 *
 * A program is a ```c block of a Markdown file, or a block indented by four more columns in a
 * header's comment, that contains "int main". The nth one of all becomes folder/n.c; a ```text
 * block right after one is what it prints: folder/n.txt. Prints the paths of the C files. */
#include "tool.h"

static int n_programs;
static const char *folder;

static void save(const char *text, size_t n, const char *suffix, bool announce)
{
    char path[TOOL_PATH];
    FILE *f;
    snprintf(path, sizeof path, "%s/doc%d.%s", folder, n_programs, suffix);
    f = fopen(path, "wb");
    if (!f || fwrite(text, 1, n, f) != n || fclose(f) != 0) tool_die("cannot write %s", path);
    if (announce) printf("%s\n", path);
}

static bool is_program(const char *text) { return strstr(text, "int main") != NULL; }

static void from_markdown(char *text)
{
    bool after_program = false;
    for (char *line = text, *end; *line; line += tool_line(line)) {
        bool c = strncmp(line, "```c\n", 5) == 0, output = strncmp(line, "```text\n", 8) == 0;
        char *body = line + tool_line(line);
        if (strncmp(line, "```", 3) != 0) continue;
        end = strstr(body, "\n```");
        if (!end) tool_die("a ``` block has no end");
        end[1] = 0;
        if (c && is_program(body)) {
            n_programs++;
            save(body, strlen(body), "c", true);
        } else if (output && after_program) {
            save(body, strlen(body), "txt", false);
        }
        after_program = c && is_program(body);
        end[1] = '`';
        line = end + 1; /* the closing line; the loop steps over it */
    }
}

/* Lines " *     code" and the empty " *" lines among them. */
static void from_comment(char *text)
{
    static const char indent[] = " *     ";
    char *block = tool_alloc(strlen(text) + 1);
    size_t n = 0;
    for (char *line = text;; line += tool_line(line)) {
        bool code = strncmp(line, indent, sizeof indent - 1) == 0,
             blank = strncmp(line, " *\n", 3) == 0;
        if (code) {
            size_t len = tool_line(line) - (sizeof indent - 1);
            memcpy(block + n, line + sizeof indent - 1, len);
            n += len;
        } else if (blank && n) {
            block[n++] = '\n';
        } else if (n) {
            block[n] = 0;
            if (is_program(block)) {
                n_programs++;
                save(block, n, "c", true);
            }
            n = 0;
        }
        if (!*line) break;
    }
    free(block);
}

int main(int argc, char **argv)
{
    if (argc < 3) tool_die("usage: docs folder files...");
    folder = argv[1];
    for (int i = 2; i < argc; i++) {
        char *text = tool_read(argv[i]);
        size_t n = strlen(argv[i]);
        if (!text) tool_die("cannot read %s", argv[i]);
        if (n > 3 && strcmp(argv[i] + n - 3, ".md") == 0)
            from_markdown(text);
        else
            from_comment(text);
        free(text);
    }
    return 0;
}
