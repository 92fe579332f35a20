/* C files that the exporter writes, in a folder of their own: written, compiled, run. $CC or cc. */
#ifndef TESTS_PROGRAM_EXPORTED_H
#define TESTS_PROGRAM_EXPORTED_H
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static char folder[160];

static inline void open_folder(const char *name)
{
    const char *dir = getenv("TMPDIR");
    int rc = -1;
    for (int i = 0; i < 100 && rc != 0; i++) { /* others may run the same test */
        snprintf(folder, sizeof folder, "%s/dync_%s_%d_%d", dir ? dir : "/tmp", name,
                 (int)(test_random() % 100000000), i);
        rc = mkdir(folder, 0700);
    }
    EXPECT_EQ_INT(rc, 0);
}

static inline FILE *open_file(const char *name, const char *mode)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return fopen(path, mode);
}

static inline bool save(dync_program *p, const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s.c", folder, name);
    return EXPECT(p != NULL) && EXPECT_OK(dync_program_save_c(p, path));
}

/* A command of sh in the folder, where $cc is the compiler with the warnings that exported files
 * are free of, as errors. An instrumented library is looked at while it writes the files; these are
 * then compiled the quick way, as plain builds instrument and optimise them. */
#if defined(TEST_ASAN) || defined(TEST_TSAN)
#define EXPORTED_LAST " -O0 -fno-sanitize=all"
#else
#define EXPORTED_LAST ""
#endif
static inline bool in_folder(const char *command)
{
    char all[4096];
    const char *cc = getenv("CC");
    snprintf(all, sizeof all,
             "cd %s && compile() { %s \"$@\"" EXPORTED_LAST
             "; } && cc='compile -ffp-contract=off -pedantic -Wall -Wextra -Wshadow -Wconversion "
             "-Werror' && %s",
             folder, cc ? cc : "cc", command);
    int rc = system(all);
    if (rc != 0) printf("    kept: %s (%s)\n", folder, command);
    return rc == 0;
}

/* Every C file of the folder with these flags; the program's output in `to`. */
static inline bool compile_and_run(const char *flags, const char *to)
{
    char command[2048];
    snprintf(command, sizeof command, "$cc %s *.c -lm -o run && ./run > %s", flags, to);
    return in_folder(command);
}

static inline void close_folder(void)
{
    char command[256];
    snprintf(command, sizeof command, "rm -r %s", folder);
    EXPECT_EQ_INT(system(command), 0);
}
#endif
