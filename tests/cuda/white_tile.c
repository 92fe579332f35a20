/* cuda/tile.c on the emulator: fragments of ldmatrix and mma.sync by the tables of the PTX manual,
 * written out here once more; when what cp.async copies may be read; the banks of swizzled rows, by
 * arithmetic and as the emulator counts them in whole products. */
#include "cuda_white.h"
#include "cuda/tile.h"
#define TEST_AFTER_EACH (dync_shutdown(), dync_clear_error(), dync_on_error(NULL, NULL))
#include "test.h"

/* Runs a text of one block over n buffers of `bytes` bytes each. */
static dync_status run(dync__cuda_tile *t, int threads, int n, void *const *data, size_t bytes)
{
    dync__cuda_code *code = calloc(1, sizeof *code);
    void *device[4] = {NULL};
    int32_t buf[] = {0, 1, 2, 3};
    code->device = DYNC_CUDA;
    dync__cuda_tile_entry(t, "test", 1, 1, 1, threads);
    dync_status status = dync__cuda_tile_end(t, code, buf) ? DYNC_OK : DYNC_ERR_MEMORY;
    for (int i = 0; i < n; i++) {
        device[i] = dync__cuda_alloc(DYNC_CUDA, bytes);
        if (status == DYNC_OK)
            status = dync__cuda_copy(DYNC_CUDA, device[i], DYNC_CPU, data[i], bytes);
    }
    if (status == DYNC_OK) status = dync__cuda_run(code, device, 0, 0);
    for (int i = 0; i < n; i++) {
        if (status == DYNC_OK)
            status = dync__cuda_copy(DYNC_CPU, data[i], DYNC_CUDA, device[i], bytes);
        dync__cuda_free(DYNC_CUDA, device[i], bytes);
    }
    for (int f = 0; f < DYNC__CUDA_FORMS && code->part.n; f++)
        dync__str_free(&code->part.at[0].form[f].text.text);
    dync__arena_free(&code->arena);
    free(code);
    return status;
}

/* ---- mma.sync: registers come from memory, word r of lane l at [l * n + r] ------------------- */
static void load_words(dync__cuda_tile *t, const char *reg, int n, int buffer)
{
    char at[24];
    dync__format(at, sizeof at, "%%at%d", buffer);
    dync__cuda_tile_wide(t, at, NULL);
    dync__ptx_line(&t->p, "mad.wide.u32 %s, %%lane, %d, %%b%d", at, n * 4, buffer);
    dync__cuda_tile_regs(t, "b32", reg, n);
    for (int r = 0; r < n; r++)
        dync__ptx_line(&t->p, "ld.global.b32 %s%d, [%s+%d]", reg, r, at, r * 4);
}
/* words[2] += words[0] * words[1]: fragments, a lane's registers after another's. */
static void multiply(int kind, uint32_t words[3][32 * 4])
{
    dync__cuda_tile t;
    dync__cuda_tile_begin(&t, 3);
    load_words(&t, "%fa", 4, 0);
    load_words(&t, "%fb", 2, 1);
    load_words(&t, "%acc", 4, 2);
    dync__cuda_tile_mma(&t, kind, "%acc", 0, "%fa", 0, "%fb", 0);
    for (int r = 0; r < 4; r++) dync__ptx_line(&t.p, "st.global.b32 [%%at2+%d], %%acc%d", r * 4, r);
    void *data[] = {words[0], words[1], words[2]};
    EXPECT_OK(run(&t, 32, 3, data, sizeof words[0]));
}

static uint32_t encode(int kind, double x)
{
    float f = (float)x;
    uint32_t w;
    memcpy(&w, &f, 4);
    return kind == DYNC__TILE_BF16   ? dync__f32_to_bf16(f)
           : kind == DYNC__TILE_F16  ? dync__f32_to_f16(f)
           : kind == DYNC__TILE_TF32 ? w
                                     : (uint32_t)(int)x & 255;
}

/* Element i of a lane's fragment of a and of b: its row and column, as the manual has them
 * (9.7.13.4). */
static void place_a(int kind, int lane, int i, int *row, int *k)
{
    int group = lane >> 2, in_group = lane % 4;
    if (kind == DYNC__TILE_TF32) { /* m16n8k8: a0 .. a3 */
        *row = i == 0 || i == 2 ? group : group + 8;
        *k = i < 2 ? in_group : in_group + 4;
    } else if (kind == DYNC__TILE_S8 || kind == DYNC__TILE_U8) { /* m16n8k32: a0 .. a15 */
        *row = i < 4 || (i >= 8 && i < 12) ? group : group + 8;
        *k = i < 8 ? in_group * 4 + (i & 3) : in_group * 4 + (i & 3) + 16;
    } else { /* m16n8k16: a0 .. a7 */
        *row = i < 2 || (i >= 4 && i < 6) ? group : group + 8;
        *k = i < 4 ? in_group * 2 + (i & 1) : in_group * 2 + (i & 1) + 8;
    }
}
static void place_b(int kind, int lane, int i, int *k, int *column)
{
    int in_group = lane % 4;
    *column = lane >> 2;
    if (kind == DYNC__TILE_TF32)
        *k = i == 0 ? in_group : in_group + 4;
    else if (kind == DYNC__TILE_S8 || kind == DYNC__TILE_U8)
        *k = i < 4 ? in_group * 4 + (i & 3) : in_group * 4 + (i & 3) + 16;
    else
        *k = i < 2 ? in_group * 2 + (i & 1) : in_group * 2 + (i & 1) + 8;
}

TEST(mma_as_the_manual_has_it)
{
    for (int kind = DYNC__TILE_BF16; kind <= DYNC__TILE_U8; kind++) {
        static uint32_t words[3][32 * 4];
        static double a[16][32], b[32][8];
        const dync__cuda_tile_kind *is = dync__cuda_tile_kind_of(kind);
        int per = 4 / is->bytes, depth = is->k;
        bool whole = kind >= DYNC__TILE_S8;
        memset(words, 0, sizeof words);
        for (int r = 0; r < 16; r++)
            for (int k = 0; k < depth; k++)
                a[r][k] = kind == DYNC__TILE_U8 ? (r * 13 + k * 7) % 256 : (r * 5 + k * 3) % 17 - 8;
        for (int k = 0; k < depth; k++)
            for (int c = 0; c < 8; c++)
                b[k][c] = kind == DYNC__TILE_U8 ? (k * 11 + c * 29) % 256
                                                : (k * 7 + c * 2) % 13 - 6;
        for (int lane = 0; lane < 32; lane++) {
            int row, k, column;
            for (int i = 0; i < 4 * per; i++) {
                place_a(kind, lane, i, &row, &k);
                words[0][lane * 4 + i / per] |= encode(kind, a[row][k])
                                                << (is->bytes * 8 * (i % per)) % 32;
            }
            for (int i = 0; i < 2 * per; i++) {
                place_b(kind, lane, i, &k, &column);
                words[1][lane * 2 + i / per] |= encode(kind, b[k][column])
                                                << (is->bytes * 8 * (i % per)) % 32;
            }
            for (int i = 0; i < 4; i++) {
                float f = (float)(lane + i);
                words[2][lane * 4 + i] = (uint32_t)(lane + i);
                if (!whole) memcpy(&words[2][lane * 4 + i], &f, 4);
            }
        }
        multiply(kind, words);
        for (int lane = 0; lane < 32; lane++)
            for (int i = 0; i < 4; i++) {
                int row = (lane >> 2) + (i < 2 ? 0 : 8), column = (lane % 4) * 2 + (i & 1);
                double want = lane + i, got;
                float f;
                EXPECT(row == dync__cuda_tile_acc_row(lane, i) &&
                       column == dync__cuda_tile_acc_col(lane, i));
                for (int k = 0; k < depth; k++) want += a[row][k] * b[k][column];
                memcpy(&f, &words[2][lane * 4 + i], 4);
                got = whole ? (double)(int32_t)words[2][lane * 4 + i] : (double)f;
                if (!EXPECT_NEAR(got, want, 0))
                    printf("  kind %d lane %d register %d\n", kind, lane, i);
            }
    }
}

/* tf32 has ten bits behind the point: those below are not looked at; s32 accumulators wrap. */
TEST(mma_drops_and_wraps)
{
    for (int kind = DYNC__TILE_TF32; kind <= DYNC__TILE_S8; kind++) {
        static uint32_t words[3][32 * 4];
        float one = 1, near_one = 1.0009765f; /* 1 + 2^-10 - a little */
        memset(words, 0, sizeof words);
        for (int i = 0; i < 32 * 4; i++) {
            if (kind == DYNC__TILE_TF32)
                memcpy(&words[0][i], &near_one, 4), memcpy(&words[1][i], &one, 4);
            else
                words[0][i] = words[1][i] = 0x7f7f7f7f, words[2][i] = 0x7fffffff;
        }
        multiply(kind, words);
        float f;
        memcpy(&f, &words[2][5], 4);
        if (kind == DYNC__TILE_TF32)
            EXPECT_NEAR((double)f, 8, 0);
        else
            EXPECT_EQ_INT((int32_t)words[2][5], (int32_t)(0x7fffffffu + 32u * 127 * 127));
    }
}

/* ---- ldmatrix: a tile of 64 rows of 64 halves whose element (r, c) is 64 r + c --------------- */
TEST(ldmatrix_reads_swizzled_rows)
{
    static uint16_t tile[64 * 64];
    static uint32_t got[64 * 32];
    for (int order = 0; order < 2; order++)
        for (int trans = 0; trans < 2; trans++)
            for (int pair = 0; pair < 4; pair++) {
                for (int i = 0; i < 64 * 64; i++) tile[i] = (uint16_t)i;
                dync__cuda_tile t;
                dync__cuda_tile_begin(&t, 2);
                dync__cuda_tile_rows r = {
                    .name = "%w", .rows = 64, .threads = 64, .row_bytes = 128};
                (void)dync__cuda_tile_shared(&t, 64 * 128, 1024);
                dync__cuda_tile_rows_begin(&t, &r, "%b0", NULL);
                dync__cuda_tile_rows_copy(&t, &r, "%smem", 0, NULL);
                dync__cuda_tile_commit(&t);
                dync__cuda_tile_wait(&t, 0);
                dync__cuda_tile_barrier(&t);
                dync__cuda_tile_set(&t, "u32", "%row0", "mov", "8");
                dync__cuda_tile_matrix(&t, "%l", 4, order, "%row0");
                dync__cuda_tile_set(&t, "u32", "%from", "add", "%%l%d, %%smem", pair);
                dync__cuda_tile_regs(&t, "b32", "%f", 4);
                dync__cuda_tile_ldmatrix(&t, trans, "%f", 0, "%from", 16 * 128);
                dync__cuda_tile_wide(&t, "%at", NULL);
                dync__ptx_line(&t.p, "mad.wide.u32 %%at, %%thr, 16, %%b1");
                dync__ptx_line(&t.p, "st.global.v4.b32 [%%at], {%%f0, %%f1, %%f2, %%f3}");
                void *data[] = {tile, got};
                EXPECT_OK(run(&t, 64, 2, data, sizeof got));
                for (int lane = 0; lane < 32; lane++)
                    /* matrix k starts at this row and column; the lane has row lane / 4 of it, or
                     * column */
                    for (int k = 0; k < 4; k++) {
                        int row = 24 + 8 * (order ? k / 2 : k % 2),
                            column = 16 * pair + 8 * (order ? k % 2 : k / 2), r0 = lane / 4,
                            c0 = lane % 4 * 2;
                        uint32_t low =
                            (uint32_t)((row + (trans ? c0 : r0)) * 64 + column + (trans ? r0 : c0));
                        uint32_t high = (uint32_t)((row + (trans ? c0 + 1 : r0)) * 64 + column +
                                                   (trans ? r0 : c0 + 1));
                        if (!EXPECT_EQ_INT(got[lane * 4 + k], (low & 0xffff) | high << 16)) return;
                    }
            }
}

/* Rows and bytes that do not exist are zeros and are not read. */
TEST(windows_end_where_memory_does)
{
    static uint16_t tile[20 * 64 + 8];
    static uint32_t got[64 * 32];
    for (int i = 0; i < 20 * 64; i++) tile[i] = (uint16_t)(i + 1);
    dync__cuda_tile t;
    dync__cuda_tile_begin(&t, 1);
    dync__cuda_tile_rows r = {.name = "%w", .rows = 32, .threads = 64, .row_bytes = 128};
    (void)dync__cuda_tile_shared(&t, 32 * 128, 1024);
    dync__cuda_tile_set(&t, "s32", "%rows", "mov", "19");
    dync__cuda_tile_set(&t, "s32", "%bytes", "mov", "54");
    dync__cuda_tile_rows_begin(&t, &r, "%b0", "%rows");
    dync__cuda_tile_rows_copy(&t, &r, "%smem", 0, "%bytes");
    dync__cuda_tile_commit(&t);
    dync__cuda_tile_wait(&t, 0);
    dync__cuda_tile_barrier(&t);
    dync__cuda_tile_wide(&t, "%at", NULL);
    dync__ptx_line(&t.p, "mad.wide.u32 %%at, %%thr, 64, %%b0");
    dync__cuda_tile_set(&t, "u32", "%from", "mad.lo", "%%thr, 64, %%smem");
    dync__cuda_tile_regs(&t, "b32", "%v", 16);
    for (int i = 0; i < 16; i++) dync__ptx_line(&t.p, "ld.shared.b32 %%v%d, [%%from+%d]", i, 4 * i);
    for (int i = 0; i < 16; i++) dync__ptx_line(&t.p, "st.global.b32 [%%at+%d], %%v%d", 4 * i, i);
    memcpy(got, tile, 20 * 128);
    void *data[] = {got};
    EXPECT_OK(run(&t, 64, 1, data, 32 * 128));
    for (int row = 0; row < 32; row++)
        for (int c = 0; c < 64; c++) {
            const uint16_t *h = (const uint16_t *)got + dync__cuda_tile_swizzle(row, c / 8) / 2 +
                                c % 8;
            if (!EXPECT_EQ_INT(*h, row < 19 && c < 27 ? row * 64 + c + 1 : 0)) return;
        }
}

#if EMULATED
static void say_nothing(dync_status status, const char *message, void *user)
{
    (void)status, (void)message, (void)user;
}
/* ---- when cp.async's bytes may be read ------------------------------------------------------- */
enum { READS_OWN, READS_OTHERS };
static dync_status read_after(bool commit, int wait, bool barrier, int whose)
{
    static uint32_t words[64];
    dync__cuda_tile t;
    for (uint32_t i = 0; i < 64; i++) words[i] = i + 100;
    dync__cuda_tile_begin(&t, 1);
    (void)dync__cuda_tile_shared(&t, 256, 16);
    dync__cuda_tile_wide(&t, "%at", NULL);
    dync__ptx_line(&t.p, "mad.wide.u32 %%at, %%thr, 4, %%b0");
    dync__cuda_tile_set(&t, "u32", "%to", "mad.lo", "%%thr, 4, %%smem");
    dync__cuda_tile_set(&t, "b32", "%other", whose == READS_OWN ? "and" : "xor", "%%thr, %d",
                        whose == READS_OWN ? 63 : 32);
    dync__ptx_line(&t.p, "mad.lo.u32 %%other, %%other, 4, %%smem");
    dync__cuda_tile_cp(&t, 4, "%to", 0, "%at", 0, NULL);
    if (commit) dync__cuda_tile_commit(&t);
    if (wait >= 0) dync__cuda_tile_wait(&t, wait);
    if (barrier) dync__cuda_tile_barrier(&t);
    dync__cuda_tile_set(&t, "b32", "%v", "mov", "0");
    dync__ptx_line(&t.p, "ld.shared.b32 %%v, [%%other]");
    dync__ptx_line(&t.p, "st.global.b32 [%%at], %%v");
    void *data[] = {words};
    dync_status status = run(&t, 64, 1, data, sizeof words);
    for (uint32_t i = 0; i < 64 && status == DYNC_OK; i++)
        EXPECT_EQ_INT(words[i], (whose == READS_OWN ? i : i ^ 32) + 100);
    return status;
}
TEST(cp_async_has_to_be_waited_for)
{
    dync_on_error(say_nothing, NULL);
    /* the thread sees its own copies after the wait */
    EXPECT_OK(read_after(true, 0, false, READS_OWN));
    EXPECT_OK(read_after(true, 0, true, READS_OTHERS)); /* those of others behind a barrier */
    static const struct {
        bool commit;
        int wait;
        bool barrier;
        int whose;
        const char *says;
    } wrong[] = {
        {true, -1, false, READS_OWN, "under way"}, {true, -1, true, READS_OWN, "under way"},
        {true, 1, true, READS_OWN, "under way"},   {false, 0, true, READS_OWN, "under way"},
        {true, 0, false, READS_OTHERS, "race"},    {true, -1, true, READS_OTHERS, "under way"}};
    for (int i = 0; i < DYNC__COUNT_OF(wrong); i++) {
        if (!EXPECT(read_after(wrong[i].commit, wrong[i].wait, wrong[i].barrier, wrong[i].whose) ==
                    DYNC_ERR_DEVICE))
            printf("  way %d\n", i);
        EXPECT_HAS_STR(cuemu_detail(), wrong[i].says);
        cuemu_reset();
        dync_clear_error();
    }
}
#endif

/* ---- banks ----------------------------------------------------------------------------------- */
/* The 8 rows of 16 bytes that a phase of ldmatrix reads, and the 8 chunks that 8 lanes of cp.async
 * write, are in 32 different banks. */
TEST(swizzled_rows_meet_in_no_bank)
{
    for (int fixed = 0; fixed < 8; fixed++) {
        uint32_t by_row = 0, by_chunk = 0;
        for (int i = 0; i < 8; i++)
            for (int word = 0; word < 4; word++) {
                by_row |= 1u << ((dync__cuda_tile_swizzle(8 + i, fixed) / 4 + word) % 32);
                by_chunk |= 1u << ((dync__cuda_tile_swizzle(fixed, i) / 4 + word) % 32);
            }
        EXPECT(by_row == 0xffffffffu && by_chunk == 0xffffffffu);
    }
}
TEST_MAIN
