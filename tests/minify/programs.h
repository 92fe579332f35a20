/* tests/minify/programs.h: programs compiled and run by the tests of the minifier, each test in a
 * folder of its own under the build folder. They link the dync.o that the test itself was linked
 * with; CC, CFLAGS and LDFLAGS are those that make was given. */
#ifndef DYNC_TESTS_MINIFY_PROGRAMS_H
#define DYNC_TESTS_MINIFY_PROGRAMS_H
#include "dync.h"
#include "test.h"
/* -std=c11 hides them */
extern int setenv(const char *, const char *, int), unsetenv(const char *);

#if !defined(PROGRAM_OBJECTS)
#define PROGRAM_OBJECTS "\"$B\"/dync.o"
#endif
/* repository, build folder, this test's folder */
static char program_root[900], program_build[1000], program_dir[1100];
/* what the last program said, both streams */
static char program_out[1 << 18];

static const char *program_env(const char *name, const char *otherwise)
{
    const char *text = getenv(name);
    return text && *text ? text : otherwise;
}

/* What a test compiled goes when the next begins or the program ends: sanitized, a program has
 * 30 MB. What it wrote stays. */
static void program_remove_executables(void)
{
    char command[1400];
    snprintf(command, sizeof command, "find '%s' -type f -perm -100 -size +1000k -exec rm -f {} +",
             program_dir);
    if (program_dir[0] && system(command) != 0)
        printf("not removed: programs of %s\n", program_dir);
}

/* A fresh folder; the build folder is two above the test program's. */
TEST__UNUSED static void program_begin(const char *test)
{
    char command[2600];
    if (!program_dir[0]) atexit(program_remove_executables);
    program_remove_executables();
    if (!getcwd(program_root, sizeof program_root)) strcpy(program_root, ".");
    snprintf(program_build, sizeof program_build, "%s", test__state.program);
    for (int i = 0; i < 3; i++) {
        char *slash = strrchr(program_build, '/');
        if (slash) *slash = 0;
    }
    if (program_build[0] != '/') {
        char relative[900];
        snprintf(relative, sizeof relative, "%.800s", program_build);
        snprintf(program_build, sizeof program_build, "%.400s/%.500s", program_root, relative);
    }
    snprintf(program_dir, sizeof program_dir, "%s/minify/%s", program_build, test);
    snprintf(command, sizeof command, "rm -rf '%s' && mkdir -p '%s'", program_dir, program_dir);
    EXPECT(system(command) == 0);
    unsetenv("DYNC_REPRO_AFTER");
    unsetenv("DYNC_DEBUG_DIR");
}

static char *program_read(const char *path, char *out, size_t cap)
{
    FILE *f = fopen(path, "rb");
    size_t n = f ? fread(out, 1, cap - 1, f) : 0;
    out[n] = 0;
    if (f) fclose(f);
    return out;
}

TEST__UNUSED static void program_write(const char *name, const char *text)
{
    char path[1300];
    snprintf(path, sizeof path, "%s/%s", program_dir, name);
    FILE *f = fopen(path, "wb");
    EXPECT(f && fputs(text, f) >= 0 && fclose(f) == 0);
}

/* A shell command in the test's folder: its exit status; program_out is what it said. */
TEST__UNUSED static int program_shell(const char *command)
{
    char whole[6000], path[1300];
    snprintf(path, sizeof path, "%s/said.txt", program_dir);
    snprintf(whole, sizeof whole, "cd '%s' && { %s\n} >'%s' 2>&1", program_dir, command, path);
    fflush(NULL);
    int status = system(whole);
    program_read(path, program_out, sizeof program_out);
    return status == -1 ? -1 : WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* sources: paths, absolute or in the test's folder, quoted where the shell wants it. */
TEST__UNUSED static bool program_compile(const char *sources, const char *program)
{
    char command[5000];
    snprintf(command, sizeof command,
             "B='%s'; %s -std=c11 -Wall -Wextra -Werror %s -I'%s' "
             "-DDYNC__IMPLEMENTED %s " PROGRAM_OBJECTS " %s -lm -pthread -o '%s'",
             program_build, program_env("CC", "cc"), program_env("CFLAGS", "-O1"), program_root,
             sources, program_env("LDFLAGS", ""), program);
    int status = program_shell(command);
    if (status != 0) printf("%s\n%s\n", command, program_out);
    return EXPECT(status == 0);
}

TEST__UNUSED static bool program_compile_path(const char *path, const char *program)
{
    char quoted[1300];
    snprintf(quoted, sizeof quoted, "'%.1200s'", path);
    return program_compile(quoted, program);
}

/* The path that ends in minifier_launcher.c, out of what a program said:
 * re.search(r"(\S+)minifier_launcher.py"), but for the folder of the repository, whose name may
 * have spaces. */
TEST__UNUSED static bool program_launcher(char *out, size_t cap)
{
    const char *end = strstr(program_out, "minifier_launcher.c"), *start = end;
    if (!end) return false;
    size_t root = strlen(program_root);
    while (start > program_out && start[-1] != ' ' && start[-1] != '\n') start--;
    for (size_t i = (size_t)(start - program_out) + 1; i-- > 0 && program_out[i] != '\n';)
        if (strncmp(program_out + i, program_root, root) == 0) start = program_out + i;
    end += strlen("minifier_launcher.c");
    snprintf(out, cap, "%.*s", (int)(end - start), start);
    return true;
}

/* The torch.fx class in a repro's comment: blank lines dropped, surrounding blanks stripped. */
TEST__UNUSED static const char *program_module_text(const char *path)
{
    static char file[1 << 18], text[1 << 16];
    size_t n = 0;
    const char *at = strstr(program_read(path, file, sizeof file), "class Repro"),
               *end = at ? strstr(at, "*/") : NULL;
    for (; at && at < end && n + 1 < sizeof text; at++)
        if (*at != '\n' || (n && text[n - 1] != '\n')) text[n++] = *at;
    while (n && (text[n - 1] == '\n' || text[n - 1] == ' ')) n--;
    text[n] = 0;
    return text;
}
#endif
