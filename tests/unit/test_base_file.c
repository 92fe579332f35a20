/* base/file.c where dync chose the place: links that a stranger may have put there are not
 * followed. tests/program/test_saves.c has the rest. */
#include "dync.in.h"
#include "base/base.h"
#include "test.h"
#if defined(__unix__)
#include <sys/stat.h>
extern int symlink(const char *, const char *);
extern char *mkdtemp(char *);

static char folder[64], path[128], victim[128];

static bool begin(void)
{
    snprintf(folder, sizeof folder, "/tmp/dync_files_XXXXXX");
    dync_on_error(NULL, NULL);
    if (!mkdtemp(folder)) return false;
    snprintf(path, sizeof path, "%s/file", folder);
    snprintf(victim, sizeof victim, "%s/victim", folder);
    return dync__file_write(victim, "precious", 8) == DYNC_OK && symlink("victim", path) == 0;
}

static bool holds(const char *at, const char *text)
{
    char *got;
    size_t n;
    bool same = dync__file_read(at, &got, &n) == DYNC_OK && n == strlen(text) &&
                memcmp(got, text, n) == 0;
    if (got) dync__free(got, n + 1);
    dync_clear_error();
    return same;
}

static void end(void)
{
    remove(path);
    remove(victim);
    remove(folder);
}

TEST(own_files_replace_a_link)
{
    REQUIRE(begin());
    EXPECT_OK(dync__file_write_own(path, "new", 3));
    EXPECT(holds(path, "new") && holds(victim, "precious"));
    end();
}

TEST(own_lines_follow_no_link)
{
    REQUIRE(begin());
    dync__file_append_own(path, "line\n", 5);
    EXPECT(holds(victim, "precious"));
    remove(path);
    dync__file_append_own(path, "a\n", 2);
    dync__file_append_own(path, "b\n", 2);
    EXPECT(holds(path, "a\nb\n"));
    end();
}

TEST(own_folders_are_no_links)
{
    char inside[160];
    REQUIRE(begin());
    remove(path);
    REQUIRE(symlink(folder, path) == 0);
    EXPECT_STATUS(dync__folders_make(path), DYNC_ERR_IO);
    dync_clear_error();
    snprintf(inside, sizeof inside, "%s/inside", path);
    EXPECT_OK(dync__folders_make(inside)); /* above it links are the user's */
    remove(inside);
    end();
}

TEST(links_that_users_name)
{
    REQUIRE(begin());
    EXPECT_OK(dync__file_write(path, "new", 3));
    EXPECT(holds(victim, "new") && holds(path, "new"));
    remove(victim);
    /* a link to nothing: what it names is made */
    EXPECT_OK(dync__file_write(path, "made", 4));
    EXPECT(holds(victim, "made"));
    remove(path);
    REQUIRE(symlink("file", path) == 0); /* to itself */
    EXPECT_STATUS(dync__file_write(path, "x", 1), DYNC_ERR_IO);
    dync_clear_error();
    end();
}

TEST(no_memory)
{
    REQUIRE(begin());
    for (int64_t nth = 1; nth < 50; nth++) {
        dync__mem_fail_at(nth);
        dync_status status = dync__file_write(path, "replaced", 8);
        dync__mem_fail_at(0);
        dync_clear_error();
        if (status == DYNC_OK) break;
        EXPECT_STATUS(status, DYNC_ERR_MEMORY);
        EXPECT(holds(victim, "precious"));
    }
    EXPECT(holds(victim, "replaced"));
    end();
}
#else
TEST(no_unix) { SKIP("links are Unix's here"); }
#endif

TEST_MAIN
