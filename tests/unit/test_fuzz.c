/* The corpora of tests/fuzz, crashes that were mended among them, through the functions that the
 * fuzzers feed. */
#include "dync.in.h"
#include "fuzz/targets.h"
#include "test.h"
#if defined(__unix__) || defined(__APPLE__)
#include <dirent.h>

static int run_file(int target, const char *path)
{
    FILE *f = fopen(path, "rb");
    uint8_t *bytes = f ? malloc(1 << 20) : NULL;
    size_t n = bytes ? fread(bytes, 1, 1 << 20, f) : 0;
    if (f) fclose(f);
    uint8_t *exact = malloc(n + 1); /* its end is the end of the memory */
    if (!bytes || !exact) return free(bytes), free(exact), 0;
    memcpy(exact, bytes, n);
    free(bytes);
    uint8_t *fits = realloc(exact, n ? n : 1);
    fuzz_one(target, fits ? fits : exact, n);
    free(fits ? fits : exact);
    return 1;
}

static void run_corpus(const char *name)
{
    char folder[512], path[1024];
    int target = -1, n = 0;
    for (int i = 0; i < (int)(sizeof fuzz_targets / sizeof *fuzz_targets); i++)
        if (strcmp(fuzz_targets[i].name, name) == 0) target = i;
    REQUIRE(target >= 0);
    snprintf(folder, sizeof folder, "%s", __FILE__);
    char *end = strstr(folder, "unit/test_fuzz.c");
    REQUIRE(end != NULL);
    snprintf(end, sizeof folder - (size_t)(end - folder), "fuzz/corpus/%s", name);
    fuzz_begin();
    DIR *d = opendir(folder);
    REQUIRE(d != NULL);
    for (struct dirent *e; (e = readdir(d));) {
        if (e->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        n += run_file(target, path);
    }
    closedir(d);
    EXPECT(n > 0);
    dync_set_limits((dync_limits){0});
    dync_shutdown();
    EXPECT_EQ_INT(dync_memory_stats().live_bytes, 0);
}

TEST(doors) { run_corpus("doors"); }
TEST(graph) { run_corpus("graph"); }
extern int setenv(const char *, const char *, int);
TEST_LONG(graph_as_c)
{
    const char *cc = getenv("CC");
    setenv("FUZZ_CC", cc ? cc : "cc", 1);
    run_corpus("graph");
    run_corpus("ops");
}
TEST(json) { run_corpus("json"); }
TEST(kernel) { run_corpus("kernel"); }
TEST(onnx) { run_corpus("onnx"); }
TEST(module) { run_corpus("module"); }
TEST(npy) { run_corpus("npy"); }
TEST(ops) { run_corpus("ops"); }
TEST(program) { run_corpus("program"); }
TEST(safetensors) { run_corpus("safetensors"); }
#else
TEST(no_folders) { SKIP("no folders to read"); }
#endif

TEST_MAIN
