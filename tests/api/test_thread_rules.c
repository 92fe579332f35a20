/* Every public function says its thread rule in the comment above it: `thread any` or `thread not
 * while running`. A section whose comment says what holds for all of it says it for each. */
#include "dync.h"
#include "test.h"

static char *whole(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f) return NULL;
    fseek(f, 0, SEEK_END);
    long n = ftell(f);
    rewind(f);
    char *text = malloc((size_t)n + 1);
    if (text && fread(text, 1, (size_t)n, f) == (size_t)n)
        text[n] = 0;
    else
        free(text), text = NULL;
    fclose(f);
    return text;
}

static bool says_rule(const char *comment, size_t n)
{
    static const char *const rules[] = {"any", "not while running"};
    for (const char *p = comment; (p = strstr(p, " *   thread ")) != NULL && p < comment + n; p++)
        for (int i = 0; i < 2; i++) {
            const char *rule = strstr(p, rules[i]);
            if (rule && rule < p + strcspn(p, "\n")) return true;
        }
    return false;
}

static const char *next_line(const char *p)
{
    p = strchr(p, '\n');
    return p ? p + 1 : NULL;
}

/* Functions of the text without a rule. A comment behind a blank line begins anew. */
static int without(const char *text, bool tell)
{
    bool section = false, here = false;
    int count = 0;
    for (const char *p = text; p && *p; p = next_line(p)) {
        if (strncmp(p, "/*", 2) == 0) {
            const char *end = strstr(p, "*/");
            if (!end) break;
            /* words about one of several declarations keep what was said of all of them */
            bool within = p > text + 1 && p[-2] != '\n' && strncmp(p, "/* ----", 7) != 0;
            here = says_rule(p, (size_t)(end - p)) || (here && within);
            if (strncmp(p, "/* ----", 7) == 0) section = here;
            p = end;
        } else if (strncmp(p, "DYNC_API ", 9) == 0 && !here && !section) {
            count++;
            if (tell) printf("  %.*s\n", (int)strcspn(p, "\n"), p);
        }
    }
    return count;
}

TEST(every_function_says_its_rule)
{
    char *text = whole("dync.h");
    if (!text) SKIP("not run in the folder of dync.h");
    char *end = strstr(text, "defined(DYNC_IMPLEMENTATION)");
    REQUIRE(end != NULL);
    *end = 0;
    EXPECT_EQ_INT(without(text, true), 0);
    free(text);
}

TEST(the_check_finds_what_is_missing)
{
    EXPECT_EQ_INT(
        without("/* dync_a: x.\n *   errors  none */\nDYNC_API int dync_a(void);\n", false), 1);
    EXPECT_EQ_INT(
        without("/* dync_a: x.\n *   thread  any */\nDYNC_API int dync_a(void);\nDYNC_API int "
                "dync_b(void);\n",
                false),
        0);
    EXPECT_EQ_INT(
        without("/* ---- all\n *   thread  not while running */\n/* dync_a: x. */\nDYNC_API int "
                "dync_a(void);\n",
                false),
        0);
    EXPECT_EQ_INT(
        without("/* ---- all\n *   thread  any */\n/* ---- others */\nDYNC_API int dync_a(void);\n",
                false),
        1);
    EXPECT_EQ_INT(
        without("/* dync_a: x.\n *   thread  sometimes */\nDYNC_API int dync_a(void);\n", false),
        1);
}
TEST_MAIN
