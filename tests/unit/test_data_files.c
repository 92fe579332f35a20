/* Program files with sizes that data decide, forged: what they say of such sizes is not believed.
 * What loads all the same runs within its arguments and limits (sanitizers watch). */
#include "dync.in.h"
#include "program/program.h"
#include "test.h"

static dync_tensor *fn(dync_tensor *x)
{
    dync_tensor *at =
        dync_select(dync_nonzero(dync_gt(dync_sum(x, dync_shape(1), false), 0.0)), 1, 0);
    dync_tensor *rows = dync_index_select(x, 0, at),
                *picked = dync_masked_select(x, dync_gt(x, 1.0));
    dync_value n = dync_item_sym(dync_select(at, 0, 0));
    dync_check(n, 0, 3);
    dync_tensor *square = dync_matmul(rows, dync_transpose(rows, 0, 1));
    dync_tensor *filled = dync_full(dync_shape(dync_as_dim(n), 2), 0.5);
    return dync_cat(dync_tuple(dync_reshape(square, dync_shape(-1)), picked,
                               dync_reshape(filled, dync_shape(-1))),
                    0);
}
/* Of 4 rows; the first is positive. */
static dync_tensor *input(void)
{
    dync_tensor *x = dync_randn(dync_shape(4, 3));
    dync_fill_(dync_select(x, 0, 0), 2.0);
    return x;
}
static void file_of(dync__str *s, bool marked)
{
    dync_tensor *x = input();
    if (marked) dync_mark_dynamic_range(x, 0, 2, 9);
    dync_program *p = dync_export(dync_args(fn, "x"), x);
    if (EXPECT(p != NULL)) EXPECT_OK(dync__program_write(dync__program_open(p, "test"), s));
    dync_program_free(p);
}
static dync__program *read_signed(char *bytes, size_t n)
{
    uint64_t sum = dync__hash_bytes(bytes, n - 8, 0x64796e63u);
    for (int i = 0; i < 8; i++) bytes[n - 8 + (size_t)i] = (char)(sum >> 8 * i & 255);
    return dync__program_read(bytes, n);
}

/* Text of the file, in another form of the same length. */
static void lies(const char *from, const char *to)
{
    dync__str s = {0};
    file_of(&s, false);
    dync_clear_error();
    char *at = NULL;
    for (size_t i = 0; i + strlen(from) < s.n && !at; i++)
        if (memcmp(s.at + i, from, strlen(from)) == 0) at = s.at + i;
    REQUIRE(at != NULL && strlen(from) == strlen(to));
    memcpy(at, to, strlen(to));
    dync__program *p = read_signed(s.at, s.n);
    if (!EXPECT(p == NULL)) printf("    %s -> %s\n", from, to);
    dync__program_free(p);
    EXPECT_STATUS(dync_error(), DYNC_ERR_FORMAT);
    dync_clear_error();
    dync__str_free(&s);
}
TEST(named_lies)
{
    dync_on_error(NULL, NULL);
    lies("dync program 4", "dync program 3"); /* nobody says what u0 is */
    lies("i64[2, 1]", "i64[3, 1]");
    lies("i64[2, 1]", "i64[9, 1]"); /* more than there are */
    lies("\nu 2\n", "\nu 9\n");
    lies("\nu 2\nu 2\n", "\nu 0\nu 0\n");
    lies("\ns 0\n", "\ns 1\n"); /* another's size: told behind it, or twice */
}

static void forge(bool marked)
{
    dync__str s = {0};
    int loaded = 0;
    file_of(&s, marked);
    dync_clear_error();
    dync_on_error(NULL, NULL);
    dync_set_limits((dync_limits){.elements = 4096, .work = 1 << 20});
    char *copy = malloc(s.n);
    size_t from = 0;
    while (from + 6 < s.n && memcmp(s.at + from, "\nsizes", 6) != 0) from++;
    REQUIRE(copy && from + 6 < s.n);
    for (int round = 0; round < (test_count(2000)); round++) DYNC_SCOPE {
        memcpy(copy, s.at, s.n);
        for (int k = test_random_int(1, 3); k > 0; k--) {
            size_t at = (size_t)test_random_int(round % 2 ? 0 : (int)from, (int)s.n - 9);
            while (round % 4 < 3 && at + 9 < s.n && (copy[at] < '0' || copy[at] > '9')) at++;
            copy[at] = (char)test_random_int('0', '9');
        }
        dync__program *p = read_signed(copy, s.n);
        if (p) {
            dync_value x = DYNC_V(input());
            (void)dync__program_run(p, 1, &x);
            loaded++;
        }
        dync__program_free(p);
        dync_clear_error();
    }
    free(copy);
    dync__str_free(&s);
    dync_set_limits((dync_limits){0});
    EXPECT(loaded > 0);
}
TEST(forged) { forge(false); }
TEST(forged_marked) { forge(true); }
TEST_MAIN
