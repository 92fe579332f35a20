/* codegen/gen_transpose.c over targets that are no machine (text_target.h, text_checker.h): each
 * form against two loops, with rows further apart than they are long and nothing written between
 * them. */
#include "../../src/dync.in.h"
#include "../../src/codegen/gemm_code.h"
#include "../../src/codegen/gen_transpose.h"
#define TEST_AFTER_EACH (dync_shutdown(), dync_clear_error(), dync_on_error(NULL, NULL))
#include "../test.h"
#if DYNC__JIT
#include "text_checker.h"

/* ---- a piece of code ------------------------------------------------------------------------- */

typedef struct form {
    const dync__target *t;
    int bytes, pieces, n; /* n: rows that are woven */
    bool square, fetch, woven;
} form;
enum { BLOCKS, WOVEN, FIRST_HALF, SECOND_HALF };

static int no_scratch(dync__asm *a, int class_)
{
    (void)class_;
    a->failed = true;
    return 0;
}

static bool run(const form *f, int what, dync__gt_args *x)
{
    dync__arena arena = {0};
    dync__asm a = {.scratch = no_scratch};
    dync__a_begin(&a, f->t, &arena);
    if (what == BLOCKS)
        dync__tr_blocks(&a, f->bytes, f->pieces, f->square, f->fetch);
    else if (what == WOVEN)
        dync__tr_weave(&a, f->bytes, f->n, f->woven);
    else
        dync__tr_stage(&a, f->bytes, what == SECOND_HALF, f->fetch);
    bool ok = EXPECT(!a.failed);
    if (ok) text_run((int64_t *)(void *)x, text_read(&a));
    dync__arena_free(&arena);
    return ok;
}

/* ---- matrices -------------------------------------------------------------------------------- */

enum { MATRIX = 1 << 20, UNTOUCHED = 0x5b };
static uint8_t *from, *to, *scratch;

static void begin(void)
{
    text_complaints = 0;
    memset(text_executed, 0, sizeof text_executed);
    from = malloc(MATRIX);
    to = malloc(MATRIX);
    scratch = malloc(DYNC__GT_SCRATCH + 64);
    for (int i = 0; i < MATRIX; i++) from[i] = (uint8_t)test_random();
}

static void end(void)
{
    EXPECT_EQ_INT(text_complaints, 0);
    free(from);
    free(to);
    free(scratch);
    text_free();
}

/* Is to[column, row] = from[row, column], and what lies between the rows of `to` as it was? */
static bool transposed(int bytes, int64_t rows, int64_t columns, int64_t from_step, int64_t to_step)
{
    for (int64_t c = 0; c < columns; c++) {
        for (int64_t r = 0; r < rows; r++)
            if (memcmp(to + c * to_step + r * bytes, from + r * from_step + c * bytes,
                       (size_t)bytes) != 0) {
                printf("  %d bytes, %d x %d: row %d column %d\n", bytes, (int)rows, (int)columns,
                       (int)r, (int)c);
                return false;
            }
        for (int64_t b = rows * bytes; b < to_step; b++)
            if (to[c * to_step + b] != UNTOUCHED) return false;
    }
    return to[columns * to_step] == UNTOUCHED;
}

static int some(int most) { return 1 + (int)(test_random() % (uint64_t)most); }

/* ---- blocks and squares ---------------------------------------------------------------------- */

static bool blocks(const dync__target *t, int bytes, int pieces, bool square)
{
    form f = {t, bytes, pieces, 0, square, test_random() % 2, false};
    int per = square ? 64 / bytes : 16 / bytes, groups = some(4), n = some(4),
        rows = n * pieces * 16 / bytes, columns = groups * per;
    int64_t from_step = columns * bytes + some(70), to_step = rows * bytes + some(70);
    memset(to, UNTOUCHED, MATRIX);
    dync__gt_args x = {.a = from,
                       .a_step = from_step,
                       .b = scratch,
                       .b_step = per * to_step,
                       .c = to,
                       .c_step = to_step,
                       .k = groups,
                       .blocks = n};
    return run(&f, BLOCKS, &x) && EXPECT(transposed(bytes, rows, columns, from_step, to_step));
}

static void all_blocks(const dync__target *t)
{
    int n = test_count(6);
    begin();
    for (int i = 0; i < n; i++)
        for (int bytes = 1; bytes <= 8; bytes *= 2)
            for (int pieces = 1; 16 * pieces <= t->vector_bytes; pieces *= 2) {
                bool squares = pieces == 4 && bytes >= 4 && dync__tr_has_squares(t);
                if (!EXPECT(blocks(t, bytes, pieces, false) &&
                            (!squares || blocks(t, bytes, pieces, true)))) {
                    end();
                    return;
                }
            }
    EXPECT(text_executed[DYNC__A_ZIP] > 0);
    EXPECT((text_executed[DYNC__A_PIECES] > 0) == dync__tr_has_squares(t));
    end();
}

/* ---- by a stage ------------------------------------------------------------------------------ */

static bool staged(const dync__target *t, int bytes)
{
    form f = {t, bytes, 0, 0, false, test_random() % 2, false};
    int wide = t->vector_bytes, least = wide / bytes, drawn = least * some(5),
        rows = DYNC__MIN(drawn, DYNC__GT_STAGED & -least), columns = 256 / bytes;
    int64_t from_step = 256 + some(70), to_step = rows * bytes + some(70);
    uint8_t *stage = scratch + 64 - (uintptr_t)scratch % 64;
    memset(to, UNTOUCHED, MATRIX);
    dync__gt_args in = {
        .a = from, .a_step = from_step, .b = stage, .c = stage, .blocks = rows * bytes / 16};
    dync__gt_args out = {
        .a = stage, .c = to, .c_step = to_step, .k = 256 / wide, .blocks = rows * bytes / wide};
    return run(&f, FIRST_HALF, &in) && run(&f, SECOND_HALF, &out) &&
           EXPECT(transposed(bytes, rows, columns, from_step, to_step));
}

static void all_staged(const dync__target *t)
{
    int n = test_count(4);
    begin();
    for (int i = 0; i < n; i++)
        for (int bytes = 1; bytes <= 8; bytes *= 2)
            if (!EXPECT(staged(t, bytes))) i = n;
    end();
}

/* ---- woven rows ------------------------------------------------------------------------------ */

static bool weave(const dync__target *t, int bytes, int n, bool woven)
{
    form f = {t, bytes, 0, n, false, false, woven};
    int times = some(5), length = times * dync__tr_woven(t) / bytes, rows = woven ? n : length,
        columns = woven ? length : n;
    int64_t from_step = columns * bytes + (woven ? some(70) : 0),
            to_step = rows * bytes + (woven ? 0 : some(70));
    memset(to, UNTOUCHED, MATRIX);
    dync__gt_args x = {.a = from, .a_step = from_step, .c = to, .c_step = to_step, .blocks = times};
    return run(&f, WOVEN, &x) && EXPECT(transposed(bytes, rows, columns, from_step, to_step));
}

static void all_woven(const dync__target *t)
{
    begin();
    for (int bytes = 1; bytes <= 8; bytes *= 2)
        for (int n = 2; n <= DYNC__GT_FEW; n++)
            for (int woven = 0; woven < 2; woven++)
                if (!EXPECT(weave(t, bytes, n, woven))) {
                    printf("  %d rows, woven %d\n", n, woven);
                    n = 99;
                }
    EXPECT(text_executed[DYNC__A_BYTES] > 0);
    EXPECT((text_executed[DYNC__A_PIECE_TO] > 0) == (t->vector_bytes > 16));
    end();
}

/* ---- whole matrices (transpose_run.c) -------------------------------------------------------- */

static bool whole(int bytes)
{
    int rows = some(200), columns = some(test_random() % 2 ? 12 : 300);
    bool woven = test_random() % 3 == 0, crowded = test_random() % 3 == 0;
    int64_t from_step = columns * bytes, to_step = rows * bytes;
    if (woven) from_step += some(2) * 40 - 40;
    if (crowded) from_step = (from_step + 4095) / 4096 * 4096, rows = some(60);
    if (!woven) to_step = rows * bytes + some(70);
    if (rows * from_step >= MATRIX || (columns + 1) * to_step >= MATRIX) return true;
    uint8_t *stage = test_random() % 2 || bytes == 1 ? scratch + 64 - (uintptr_t)scratch % 64
                                                     : NULL;
    memset(to, UNTOUCHED, MATRIX);
    dync__gt_swap(to, woven ? rows * bytes : to_step, from, from_step, rows, columns, bytes,
                  test_random() % 2, stage);
    return EXPECT(transposed(bytes, rows, columns, from_step, woven ? rows * bytes : to_step));
}

static void all_whole(const dync__target *t)
{
    int n = test_count(30);
    begin();
    dync_shutdown(); /* code made for another target is not used again */
    dync__target_pretend(t);
    for (int i = 0; i < n; i++)
        for (int bytes = 1; bytes <= 8; bytes *= 2)
            if (!EXPECT(whole(bytes))) i = n;
    EXPECT(text_executed[DYNC__A_ZIP] > 0 && text_executed[DYNC__A_BYTES] > 0);
    EXPECT((text_executed[DYNC__A_PIECES] > 0) == dync__tr_has_squares(t));
    dync__target_pretend(NULL);
    dync_shutdown();
    end();
}

TEST(whole_16_bytes) { all_whole(&text128); }
TEST(whole_64_bytes) { all_whole(&text512); }
TEST(blocks_16_bytes) { all_blocks(&text128); }
TEST(blocks_64_bytes) { all_blocks(&text512); }
TEST(staged_16_bytes) { all_staged(&text128); }
TEST(staged_64_bytes) { all_staged(&text512); }
TEST(woven_16_bytes) { all_woven(&text128); }
TEST(woven_64_bytes) { all_woven(&text512); }
#else
TEST(no_jit_here) { EXPECT(true); }
#endif
TEST_MAIN
