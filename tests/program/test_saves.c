/* What is saved is there whole, or the file before it still is: a disk without room, a folder
 * without rights, links. */
#include "dync.h"
#include "test.h"
#if defined(__unix__)
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
extern int symlink(const char *, const char *);
extern ssize_t readlink(const char *restrict, char *restrict, size_t);
extern char *mkdtemp(char *);

static char folder[64], path[128];
static dync_tensor *twice(dync_tensor *x) { return dync_mul(x, 2); }

static void begin(void)
{
    snprintf(folder, sizeof folder, "/tmp/dync_saves_XXXXXX");
    if (!mkdtemp(folder)) folder[0] = 0;
    snprintf(path, sizeof path, "%s/file", folder);
    dync_on_error(NULL, NULL);
}

/* How many entries the folder has; they are removed where `clean`. */
static int entries(bool clean)
{
    char name[512];
    int n = 0;
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d));) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
        n++;
        snprintf(name, sizeof name, "%s/%s", folder, e->d_name);
        if (clean) remove(name);
    }
    if (d) closedir(d);
    if (clean) remove(folder);
    return n;
}

static void put(const char *at, const char *text)
{
    FILE *f = fopen(at, "wb");
    if (f) fputs(text, f), fclose(f);
}

static bool holds(const char *at, const char *text)
{
    char got[64] = {0};
    FILE *f = fopen(at, "rb");
    size_t n = f ? fread(got, 1, sizeof got - 1, f) : 0;
    if (f) fclose(f);
    return f && n == strlen(text) && strcmp(got, text) == 0;
}

/* Every kind of file, by number; -1: no such. */
static dync_status save(int kind, const char *at)
{
    dync_tensor *x = dync_ones(dync_shape(1000));
    dync_status status = DYNC_ERR_INTERNAL;
    if (kind == 0 || kind == 1) {
        dync_program *p = dync_export(twice, x);
        if (p) status = kind ? dync_program_save_c(p, at) : dync_program_save(p, at);
        dync_program_free(p);
    }
    if (kind == 2) status = dync_npy_save(x, at);
    if (kind == 3) {
        dync_module *m = dync_nn_linear(64, 64, true);
        status = dync_module_save(m, at);
        dync_module_free(m);
    }
    if (kind == 4) {
        dync_explain_output out = dync_explain(twice, x);
        status = dync_explain_html(&out, at);
    }
    return status;
}
enum { KINDS = 5 };

/* The file may become 100 bytes long and no longer: what writing meets on a full disk. */
static dync_status save_without_room(int kind, const char *at)
{
    struct rlimit all, little;
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &all);
    little = all;
    little.rlim_cur = 100;
    setrlimit(RLIMIT_FSIZE, &little);
    dync_status status = save(kind, at);
    setrlimit(RLIMIT_FSIZE, &all);
    return status;
}

TEST(no_room_leaves_the_old_file)
{
    begin();
    for (int kind = 0; kind < KINDS; kind++) {
        put(path, "before");
        EXPECT_STATUS(save_without_room(kind, path), DYNC_ERR_IO);
        EXPECT_HAS_STR(dync_error_message(), path);
        dync_clear_error();
        EXPECT(holds(path, "before"));
        EXPECT_EQ_INT(entries(false), 1);
        remove(path);
        EXPECT_STATUS(save_without_room(kind, path), DYNC_ERR_IO); /* nor is there half a one */
        dync_clear_error();
        EXPECT_EQ_INT(entries(false), 0);
        EXPECT_OK(save(kind, path));
        EXPECT_EQ_INT(entries(false), 1);
    }
    entries(true);
}

/* A pipe is written as it is; a folder, or none, is an error. Never of /dev here: a fault would
 * replace it. */
TEST(pipes_and_folders)
{
    char bytes[8];
    struct stat s;
    begin();
    REQUIRE(mkfifo(path, 0600) == 0);
    for (int kind = 0; kind < KINDS; kind++) {
        int reader = open(path, O_RDONLY | O_NONBLOCK);
        EXPECT_OK(save(kind, path));
        EXPECT(read(reader, bytes, sizeof bytes) == (ssize_t)sizeof bytes);
        close(reader);
        EXPECT(stat(path, &s) == 0 && S_ISFIFO(s.st_mode));
        EXPECT_STATUS(save(kind, folder), DYNC_ERR_IO);
        dync_clear_error();
        EXPECT_STATUS(save(kind, "/nonexistent/folder/x"), DYNC_ERR_IO);
        dync_clear_error();
    }
    EXPECT_EQ_INT(entries(true), 1);
}

/* A link that the user names is kept, and what it points to replaced; permissions stay. */
TEST(links_and_permissions)
{
    char link[128], to[128];
    struct stat s;
    begin();
    snprintf(link, sizeof link, "%s/link", folder);
    put(path, "before");
    chmod(path, 0640);
    REQUIRE(symlink("file", link) == 0);
    EXPECT_OK(save(2, link));
    EXPECT_EQ_INT(readlink(link, to, sizeof to), 4);
    EXPECT(!holds(path, "before"));
    EXPECT(stat(path, &s) == 0 && (s.st_mode & 0777) == 0640 && s.st_size > 4000);
    EXPECT_EQ_INT(entries(true), 2);
}

/* In a process that has compiled nothing: another one made the file. */
TEST(a_loaded_program_is_explained)
{
    begin();
    pid_t child = fork();
    if (child == 0) {
        dync_program *p = dync_export(twice, dync_ones(dync_shape(3)));
        _exit(dync_program_save(p, path) == DYNC_OK ? 0 : 1);
    }
    int status = 1;
    REQUIRE(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    dync_program *p = dync_program_load(path);
    REQUIRE(p != NULL);
    dync_explain_output o = dync_explain(p, dync_ones(dync_shape(3)));
    EXPECT_EQ_INT(o.graph_count, 1);
    EXPECT_EQ_INT(o.graph_break_count, 0);
    EXPECT_EQ_INT(o.op_count, 1);
    if (EXPECT_EQ_INT(o.nguards, 1)) EXPECT_HAS_STR(o.guards[0], "f32[3]");
    EXPECT_HAS_STR(dync_explain_str(&o), "  Ops 1:\n    mul\n");
    dync_program_free(p);
    entries(true);
}

#else
TEST(no_unix) { SKIP("limits of file sizes are Unix's"); }
#endif

/* Files: which line of the program asked for them. */
static bool names_line(int line)
{
    char place[64];
    snprintf(place, sizeof place, "test_saves.c:%d)", line);
    bool named = dync_error() == DYNC_ERR_IO && strstr(dync_error_message(), place);
    if (!named) printf("    %s\n", dync_error_message());
    dync_clear_error();
    return named;
}
static void unheard(dync_status status, const char *message, void *user)
{
    (void)status, (void)message, (void)user;
}
#define BAD_FILE(expr) ((void)(expr), EXPECT(names_line(__LINE__)))
TEST(files_that_are_not_there)
{
    static const char nowhere[] = "/nowhere/at/all";
    dync_on_error(unheard, NULL);
    dync_module *net = dync_nn_linear(2, 2, true);
    dync_tensor *x = dync_ones(dync_shape(2, 2));
    dync_program *p = dync_export(net, x);
    dync_tensors *named = dync_tensors_new();
    BAD_FILE(dync_program_load(nowhere));
    BAD_FILE(dync_program_load_onnx(nowhere));
    BAD_FILE(dync_program_save(p, nowhere));
    BAD_FILE(dync_program_save_c(p, nowhere));
    BAD_FILE(dync_program_save_onnx(p, nowhere));
    BAD_FILE(dync_module_open(nowhere));
    BAD_FILE(dync_module_save(net, nowhere));
    BAD_FILE(dync_module_load(net, nowhere));
    BAD_FILE(dync_npy_load(nowhere));
    BAD_FILE(dync_npy_save(x, nowhere));
    BAD_FILE(dync_tensors_load(nowhere));
    BAD_FILE(dync_tensors_save(named, nowhere));
    dync_tensors_free(named);
    dync_program_free(p);
    dync_module_free(net);
}

TEST_MAIN
