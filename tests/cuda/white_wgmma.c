/* cuda/wgmma.c: products on a device of capability 9.0 against the CPU. Operands are small
 * multiples of 1/8, so that sums are exact in any order and the results have to be the same to the
 * bit. */
#include "cuda_white.h"
#include "../test.h"
#define TEST_AFTER_EACH (dync_shutdown(), dync_clear_error(), dync_on_error(NULL, NULL))

typedef struct {
    int64_t m, n, k, b0, b1;
    int trans, dtype;
    bool shared, falls_back, any; /* any: by either way */
} problem;

static uint32_t seed = 11;
static dync_tensor *operand(const problem *p, int64_t rows, int64_t columns, bool by_columns,
                            bool once)
{
    bool whole = p->dtype == DYNC_I8 || p->dtype == DYNC_U8;
    int64_t r = by_columns ? columns : rows, c = by_columns ? rows : columns,
            b0 = p->b0 && !once ? p->b0 : 1, b1 = p->b1 && !once ? p->b1 : 1, n = b0 * b1 * r * c;
    float *data = malloc((size_t)n * sizeof *data);
    for (int64_t i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        data[i] = whole ? (float)(seed >> 24) - (p->dtype == DYNC_I8 ? 128 : 0)
                        : (float)((int)(seed >> 24) % 17 - 8) / 8;
    }
    dync_tensor *x = dync_from(data, p->b1   ? dync_shape(b0, b1, r, c)
                                     : p->b0 ? dync_shape(b0, r, c)
                                             : dync_shape(r, c));
    free(data);
    x = dync_to_dtype(x, (dync_dtype)p->dtype);
    return by_columns ? dync_transpose(x, -1, -2) : x;
}

/* So few that small products take large tiles, clusters, and several tiles a block, on a GPU as on
 * the emulator. */
static void few_units(void)
{
    if (!EMULATED && dync_cuda_device_count() > 0)
        ((dync__cuda_unit *)(uintptr_t)dync__cuda_unit_of(0))->units = 6;
}

static bool same(const problem *p)
{
    bool ok = true;
    few_units();
    DYNC_SCOPE {
        dync_tensor *a = operand(p, p->m, p->k, p->trans & 1, false),
                    *b = operand(p, p->k, p->n, p->trans & 2, p->shared);
        int64_t before = cuemu_products;
        dync_tensor *y = dync_to_device(
                        dync_matmul(dync_to_device(a, DYNC_CUDA), dync_to_device(b, DYNC_CUDA)),
                        DYNC_CPU),
                    *want = dync_matmul(a, b);
        ok = EXPECT_EQ_INT(dync_error(), DYNC_OK) && EXPECT(dync_equal(y, want));
        ok = ok && (!EMULATED || p->any || EXPECT_EQ_INT(cuemu_products == before, p->falls_back));
        if (!ok)
            printf(
                "  m %lld n %lld k %lld batches %lld %lld trans %d dtype %d shared %d: %s\n  %s\n",
                (long long)p->m, (long long)p->n, (long long)p->k, (long long)p->b0,
                (long long)p->b1, p->trans, p->dtype, p->shared, dync_error_message(),
                cuemu_detail());
    }
    return ok;
}

/* Tiles of both sizes, alone and in clusters, several to a block, tails on every side; every way to
 * store either side. */
TEST(shapes)
{
    static const problem all[] = {
        {256, 256, 64, .b0 = 0},     {128, 512, 128, .b0 = 0},    {512, 512, 320, .b0 = 0},
        {300, 264, 200, .b0 = 0},    {1160, 136, 72, .b0 = 0},    {264, 1032, 104, .b0 = 0},
        {70, 600, 64, .b0 = 0},      {300, 300, 192, .b0 = 0},    {260, 264, 100, .trans = 1},
        {136, 520, 264, .trans = 1}, {136, 520, 264, .trans = 2}, {136, 520, 264, .trans = 3},
        {512, 200, 136, .trans = 3}, {256, 128, 136, .b0 = 0},    {512, 64, 72, .trans = 2},
        {520, 64, 136, .trans = 1}};
    for (int i = 0; i < DYNC__COUNT_OF(all); i++)
        for (int t = 0; t < 2; t++) {
            problem p = all[i];
            p.dtype = t ? DYNC_F16 : DYNC_BF16;
            if (!EXPECT(same(&p))) return;
        }
}

TEST(batches)
{
    static const problem all[] = {{128, 128, 64, .b0 = 3},
                                  {136, 200, 96, .b0 = 2, .b1 = 3},
                                  {136, 200, 96, .b0 = 2, .b1 = 3, .trans = 3},
                                  {72, 264, 80, .b0 = 2, .shared = true},
                                  {256, 128, 64, .b0 = 2, .b1 = 2, .shared = true, .trans = 2},
                                  {200, 136, 64, .b0 = 4, .trans = 1}};
    for (int i = 0; i < DYNC__COUNT_OF(all); i++) {
        problem p = all[i];
        p.dtype = DYNC_BF16;
        if (!EXPECT(same(&p))) return;
    }
}

/* Any sizes of both, every side either way, batches and their lack. */
TEST(random_problems)
{
    int64_t before = cuemu_products;
    for (int i = 0; i < test_count(10); i++) {
        problem p = {.m = 8 * test_random_int(9, 66),
                     .n = 8 * test_random_int(5, 66),
                     .k = 8 * test_random_int(8, 34),
                     .b0 = test_random() % 3 ? 0 : test_random_int(2, 3),
                     .trans = (int)test_random_int(0, 3),
                     .dtype = test_random() % 2 ? DYNC_F16 : DYNC_BF16,
                     .any = true};
        p.shared = p.b0 && test_random() % 2;
        if (!EXPECT(same(&p))) return;
    }
    EXPECT(!EMULATED || cuemu_products > before);
}

/* Bytes: both sides with k along the row, else copied or left to mma.sync. */
TEST(bytes)
{
    for (int t = 0; t < 2; t++) {
        problem p = {256, 256, 192, .trans = 2, .dtype = t ? DYNC_U8 : DYNC_I8},
                q = {200, 264, 160, .b0 = 2, .trans = 2, .dtype = t ? DYNC_U8 : DYNC_I8};
        EXPECT(same(&p) && same(&q));
    }
}

/* Small ones and those whose rows do not lie on boundaries go elsewhere, with the same result. */
TEST(what_it_does_not_take)
{
    static const problem all[] = {{64, 64, 64, .falls_back = true},
                                  {256, 250, 60, .b0 = 2, .falls_back = true},
                                  {33, 257, 65, .falls_back = true}};
    for (int i = 0; i < DYNC__COUNT_OF(all); i++) {
        problem p = all[i];
        p.dtype = DYNC_BF16;
        if (!EXPECT(same(&p))) return;
    }
}

static dync_tensor *layer(dync_tensor *x, dync_tensor *w, dync_tensor *bias, dync_tensor *more)
{
    return dync_add(dync_relu(dync_linear(x, w, bias)), more);
}
static dync_tensor *wide(dync_tensor *x, dync_tensor *w, dync_tensor *bias, dync_tensor *more)
{
    return dync_mul(dync_to_dtype(dync_linear(x, w, bias), DYNC_F32),
                    dync_to_dtype(more, DYNC_F32));
}
/* What follows is done by the product's kernel: bias, activation, a second operand, another dtype
 * of the result, odd columns. */
TEST(what_follows)
{
    static dync_tensor *(*const functions[])(dync_tensor *, dync_tensor *, dync_tensor *,
                                             dync_tensor *) = {layer, wide};
    for (int f = 0; f < 2; f++)
        for (int odd = 0; odd < 2; odd++) DYNC_SCOPE {
            problem p = {.dtype = DYNC_BF16};
            int64_t m = 300, n = odd ? 257 : 264, k = 136, before = cuemu_products;
            dync_tensor *x = operand(&p, m, k, false, false), *w = operand(&p, n, k, false, false),
                        *b = dync_reshape(operand(&p, 1, n, false, false), dync_shape(n));
            dync_tensor *r = operand(&p, m, n, false, false), *want = functions[f](x, w, b, r);
            dync_compiled *c = dync_compile(functions[f], .args = "x, w, bias, more");
            dync_tensor *got = dync_call(c, dync_to_device(x, DYNC_CUDA),
                                         dync_to_device(w, DYNC_CUDA), dync_to_device(b, DYNC_CUDA),
                                         dync_to_device(r, DYNC_CUDA));
            EXPECT_EQ_INT(dync_error(), DYNC_OK);
            EXPECT(!EMULATED || cuemu_products > before);
            if (!EXPECT(got && dync_allclose(dync_to_device(got, DYNC_CPU), want, 2e-2, 2e-2)))
                printf("  function %d odd %d: %s\n", f, odd, cuemu_detail());
            dync_compiled_free(c);
        }
}
TEST_MAIN
