/* The symbolic sizes of program files (program/size_table.c): what is written is read again, and
 * whatever a stranger writes there is refused, or what runs stays inside of its memory. */
#include "dync.in.h"
#include "fuzz/targets.h"
#include "test.h"

static dync_tensor *mixed(dync_tensor *x, dync_tensor *y)
{
    dync_tensor *z = dync_cat(dync_tuple(x, y), 0);
    z = dync_add(dync_mean(z, dync_shape(0), true), x);
    return dync_mul(dync_reshape(z, dync_shape(-1)), 0.5);
}

/* A file of two symbols; freed by the caller. */
static char *make_file(size_t *n)
{
    dync_scope scope = dync_scope_begin();
    dync_tensor *x = dync_ones(dync_shape(4, 6)), *y = dync_ones(dync_shape(5, 6));
    dync__str s = {0};
    char *file = NULL;
    dync_mark_dynamic_range(x, 0, 2, 40);
    dync_mark_dynamic(y, 0);
    dync_program *p = dync_export(dync_args(mixed, "x, y"), x, y);
    if (p && dync__program_write(dync__program_open(p, "test"), &s) == DYNC_OK)
        file = fuzz_text((const uint8_t *)s.at, *n = s.n);
    dync_program_free(p);
    dync__str_free(&s);
    dync_scope_end(&scope);
    return file;
}

static size_t find(const char *file, size_t n, const char *word)
{
    for (size_t i = 0; i + strlen(word) < n; i++)
        if (memcmp(file + i, word, strlen(word)) == 0) return i;
    return 0;
}

TEST(written_again_the_same)
{
    size_t n;
    char *file = make_file(&n);
    REQUIRE(file != NULL);
    dync__program *p = dync__program_read(file, n);
    REQUIRE(p != NULL);
    dync__str again = {0};
    EXPECT_OK(dync__program_write(p, &again));
    EXPECT_EQ_INT(again.n, n);
    EXPECT(again.n == n && memcmp(again.at, file, n) == 0);
    dync__str_free(&again);
    dync__program_free(p);
    free(file);
}

/* The file with `from` replaced by `to` behind the word `after`. */
static void refused(const char *after, const char *from, const char *to, const char *why)
{
    size_t n;
    char *file = make_file(&n);
    REQUIRE(file != NULL);
    size_t at = find(file, n, after);
    at += find(file + at, n - at, from);
    char *changed = malloc(n + strlen(to) + 64);
    REQUIRE(changed && at);
    size_t m = at;
    memcpy(changed, file, at);
    memcpy(changed + m, to, strlen(to));
    m += strlen(to);
    size_t rest = find(file, n, "tensors ");
    memcpy(changed + m, file + at + strlen(from), rest - at - strlen(from));
    m += rest - at - strlen(from);
    memcpy(changed + m, "tensors 0 0\n", 12);
    for (m += 12; m % 64; m++) changed[m] = 0;
    m += 8;
    fuzz_sum(changed, m);
    dync__program *p = dync__program_read(changed, m);
    if (p) printf("    loaded: %s -> %s\n", from, to);
    EXPECT(p == NULL);
    EXPECT_STATUS(dync_error(), DYNC_ERR_FORMAT);
    EXPECT_HAS_STR(dync_error_message(), why);
    dync_clear_error();
    dync__program_free(p);
    free(changed);
    free(file);
}

TEST(strangers)
{
    fuzz_begin();
    dync_on_error(NULL, NULL);
    refused("sizes ", "sizes 2", "sizes 65", "a line of sizes");
    refused("sizes ", "2 40 4\n", "1 40 4\n", "a size within its range");
    refused("sizes ", "2 40 4\n", "2 40 41\n", "a size within its range");
    refused("sizes ", "2 40 4\n", "2 40 3\n", "the graph's own number");
    refused("sizes ", "s 0\n", "s 2\n", "expected a number");
    refused("sizes ", "s 0\n", "zz 2\n", "a row of sizes");
    refused("sizes ", "s 0\n", "* 0 0\n", "an earlier row");
    refused("sizes ", "s 0\n", "s 1\n", "");
    refused("graph ", "f32[4, 6]", "f32[s0, 6]", "sizes that are numbers");
    refused("dync ", "program 3", "program 2", "");
}

/* Digits, lines and words changed anywhere in the section. */
TEST(anything)
{
    size_t n;
    char *file = make_file(&n);
    REQUIRE(file != NULL);
    size_t start = find(file, n, "sizes "), end = find(file, n, "tensors ");
    fuzz_begin();
    int loaded = 0;
    for (int i = 0; i < test_count(400); i++) {
        char *copy = fuzz_text((const uint8_t *)file, n);
        REQUIRE(copy != NULL);
        for (uint64_t k = test_random() % 3 + 1; k > 0; k--) {
            size_t at = start + (size_t)(test_random() % (end - start));
            static const char signs[] = "0123456789 \n+*/%smnfi";
            copy[at] = signs[test_random() % (sizeof signs - 1)];
        }
        fuzz_sum(copy, n);
        dync__program *p = fuzz_read(copy, n);
        if (p) fuzz_run_program(p);
        loaded += p != NULL;
        dync__program_free(p);
        free(copy);
    }
    EXPECT(loaded < test_count(400));
    free(file);
}

/* A graph that is right for the sizes that the file shows and wrong for others: its types are
 * inferred for each. */
TEST(right_for_one_size)
{
    size_t n;
    dync_scope scope = dync_scope_begin();
    char *file = make_file(&n);
    REQUIRE(file != NULL);
    dync__program *p = dync__program_read(file, n);
    REQUIRE(p != NULL);
    /* a size of a value in the middle is said to be a number */
    dync__node *node = NULL;
    for (int i = 0; i < p->graph->node.n; i++)
        if (p->graph->node.at[i]->op == DYNC__OP_cat) node = p->graph->node.at[i];
    REQUIRE(node != NULL);
    node->info[0].lay.shape[0] = 9;
    dync_on_error(NULL, NULL);
    dync_value args[2] = {DYNC_V(dync_ones(dync_shape(4, 6))), DYNC_V(dync_ones(dync_shape(7, 6)))};
    EXPECT(dync__program_run(p, 2, args).kind == DYNC_KIND_NONE);
    EXPECT_STATUS(dync_error(), DYNC_ERR_FORMAT);
    dync_clear_error();
    dync__program_free(p);
    free(file);
    dync_scope_end(&scope);
}
TEST_MAIN
