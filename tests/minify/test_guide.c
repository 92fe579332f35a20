/* docs/minifier.md, tried literally: programs are saved under the name in their first line, ```sh
 * blocks are run one after the other in one folder, and each line of the ```text block behind one
 * must be part of what it says. `cc` is this build's compiler, which has dync's implementation
 * compiled already. */
#include "programs.h"

static char guide[1 << 16];

/* The next fenced block; its kind and its text. */
static const char *next_block(char **at, char *kind, size_t cap)
{
    char *open = strstr(*at, "\n```"), *text = open ? strchr(open + 4, '\n') : NULL,
         *end = text ? strstr(text, "\n```") : NULL;
    if (!end) return NULL;
    snprintf(kind, cap, "%.*s", (int)(text - open - 4), open + 4);
    *at = end + 4;
    end[1] = 0;
    return text + 1;
}

static void use_this_compiler(void)
{
    char text[4000], path[4000];
    snprintf(
        text, sizeof text,
        "#!/bin/sh\nPATH='%s'\nexec %s %s -DDYNC__IMPLEMENTED -I'%s' \"$@\" '%s/dync.o' %s -lm "
        "-pthread\n",
        program_env("PATH", "/usr/bin:/bin"), program_env("CC", "cc"), program_env("CFLAGS", ""),
        program_root, program_build, program_env("LDFLAGS", ""));
    program_write("bin/cc", text);
    EXPECT_EQ_INT(program_shell("chmod +x bin/cc"), 0);
    snprintf(path, sizeof path, "%s/bin:%s", program_dir, program_env("PATH", "/usr/bin:/bin"));
    EXPECT(setenv("PATH", path, 1) == 0);
}

/* What the page shows of repro.c is what is in it. */
static void shows_the_repro_as_it_is(void)
{
    static char repro[1 << 16];
    char path[1300];
    snprintf(path, sizeof path, "%s/repro.c", program_dir);
    program_read(path, repro, sizeof repro);
    program_read("docs/minifier.md", guide, sizeof guide);
    const char *at = strstr(guide, "    static dync_value Repro("),
               *end = at ? strstr(at, "\nOne operator") : NULL;
    REQUIRE(end != NULL && repro[0]);
    for (; at < end; at += strcspn(at, "\n") + 1) {
        char part[300];
        snprintf(part, sizeof part, "%.*s", (int)strcspn(at, "\n"), at);
        if (part[0]) EXPECT_HAS_STR(repro, part + 4);
    }
}

TEST(the_guide_works_literally)
{
    char *at = guide, kind[40];
    const char *text;
    int commands = 0, lines = 0;
    bool told = false;
    program_begin("guide");
    REQUIRE(program_read("docs/minifier.md", guide, sizeof guide)[0] != 0);
    EXPECT_EQ_INT(program_shell("mkdir bin"), 0);
    use_this_compiler();
    while ((text = next_block(&at, kind, sizeof kind)) != NULL) {
        char name[64] = "";
        if (strcmp(kind, "c") == 0 && sscanf(text, "/* %60s */", name) == 1)
            program_write(name, text);
        if (strcmp(kind, "sh") == 0) {
            program_shell(text);
            commands++;
        }
        for (const char *line = text; told && strcmp(kind, "text") == 0 && *line;
             line += strcspn(line, "\n") + 1) {
            char part[400];
            snprintf(part, sizeof part, "%.*s", (int)strcspn(line, "\n"), line);
            EXPECT_HAS_STR(program_out, part);
            lines++;
        }
        told = strcmp(kind, "sh") == 0;
    }
    EXPECT(commands >= 4 && lines >= 10);
    shows_the_repro_as_it_is();
}

TEST_MAIN
