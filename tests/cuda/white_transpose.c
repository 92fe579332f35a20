/* cuda/ptx_transpose.c: transposed accesses through shared memory. Random pointwise kernels whose
 * buffers lie in random orders of the loops, against the oracle, in every dtype and alignment; the
 * places in shared memory meet in no bank; the plain form beside it gives the same bits. */
#include "agree.h"
#define TEST_AFTER_EACH (dync_shutdown(), dync_clear_error(), dync_on_error(NULL, NULL))

static const int dtypes[] = {DYNC_F32, DYNC_F64, DYNC_F16, DYNC_BF16, DYNC_I64,
                             DYNC_I32, DYNC_I16, DYNC_I8,  DYNC_U8,   DYNC_BOOL};
static int transposed;

/* A buffer whose loops lie in memory in `order`, outermost first. */
static int access_of(dync__kernel *k, const int *order, int n, int gap, int64_t *elements)
{
    int64_t stride[DYNC__LOOP_MAX_DIMS] = {0}, next = 1;
    for (int i = n - 1; i >= 0; i--) {
        stride[order[i]] = next;
        next *= k->extent[order[i]];
        if (i == n - 1) next += gap;
    }
    *elements = next;
    return dync__kernel_access(k, 0, stride);
}

static void shuffle_order(int *order, int n)
{
    for (int d = 0; d < n; d++) order[d] = d;
    for (int d = n - 1; d > 0; d--) {
        int j = test_random_int(0, d), t = order[d];
        order[d] = order[j];
        order[j] = t;
    }
}

/* Sums what the first n_in buffers hold and stores it to the others; order: of each buffer. */
static bool turns(const int64_t *extent, int n, const int *dtype, int order[][4], int n_in,
                  int n_out, int gap, int shift)
{
    dync__arena arena = {0};
    dync__kernel *k = dync__kernel_new(&arena, "turn", 0, n, extent);
    dync__lb b = {.k = k, .section = 1};
    int64_t elements[MAX_BUFS];
    int sum = -1, type = DYNC_I64;
    for (int i = 0; i < n_in + n_out; i++) {
        int compute = dync__dtype_info(dtype[i])->compute;
        if (compute == DYNC_F32 || compute == DYNC_F64) type = DYNC_F32;
    }
    for (int i = 0; i < n_in; i++) {
        int at = access_of(k, order[i], n, gap, &elements[i]);
        int v = dync__lb_cast(
            &b,
            dync__lb_load(&b, dync__kernel_buf(k, i, dtype[i], DYNC__BUF_IN, elements[i], NULL),
                          at),
            type);
        sum = sum < 0 ? v : dync__lb_op(&b, DYNC__P_add, sum, v, -1);
    }
    for (int i = n_in; i < n_in + n_out; i++) {
        int at = access_of(k, order[i], n, gap, &elements[i]);
        int v = dync__lb_wrap(&b, dync__lb_cast(&b, sum, dync__dtype_info(dtype[i])->compute),
                              dtype[i]);
        dync__lb_store(&b, dync__kernel_buf(k, i, dtype[i], DYNC__BUF_OUT, elements[i], NULL), at,
                       v);
    }
    dync__kernel_schedule(k);
    dync__ptx_text text;
    bool host[MAX_BUFS] = {false};
    if (dync__ptx_kernel(k, host, 8, shift != 0, &text) == DYNC_OK)
        transposed += strstr(dync__str_get(&text.text), "// transposed") != NULL;
    dync__str_free(&text.text);
    bool ok = agree(k, elements, 0, shift, 0);
    dync__arena_free(&arena);
    return ok;
}

TEST(random_orders)
{
    int n_tests = 70;
    transposed = 0;
    for (int i = 0; i < n_tests; i++) {
        int n = test_random_int(2, 4), dtype[6], order[6][4], n_in = test_random_int(1, 3),
            n_out = test_random_int(1, 2);
        int64_t extent[4];
        for (int d = 0; d < n; d++)
            extent[d] = n == 2 ? test_random_int(16, 150) : test_random_int(1, n == 3 ? 40 : 20);
        if (test_random() % 2)
            for (int d = 0; d < n; d++) extent[d] = (extent[d] + 15) / 16 * 16 / (n == 4 ? 2 : 1);
        if (n == 4) extent[0] = 2;
        bool mixed = test_random() % 3 == 0;
        for (int b = 0; b < n_in + n_out; b++) {
            dtype[b] = mixed || b == 0 ? dtypes[test_random_int(0, DYNC__COUNT_OF(dtypes) - 1)]
                                       : dtype[0];
            shuffle_order(order[b], n);
        }
        if (!EXPECT(turns(extent, n, dtype, order, n_in, n_out, test_random() % 4 == 0,
                          test_random() % 5 == 0))) {
            printf("  kernel %d\n", i);
            return;
        }
    }
    EXPECT(transposed > n_tests / 3);
    EXPECT_EQ_INT(unsupported, 0);
}

/* Pictures by channels and pixels by channels, a sum of two transposed matrices, a matrix and its
 * own transpose. */
TEST(known_orders)
{
    int64_t picture[3] = {2, 48, 160}, square[2] = {128, 128};
    for (int t = 0; t < DYNC__COUNT_OF(dtypes); t++) {
        int same[3] = {dtypes[t], dtypes[t], dtypes[t]}, to_pixels[2][4] = {{0, 1, 2}, {0, 2, 1}},
            both[3][4] = {{1, 0}, {1, 0}, {0, 1}};
        transposed = 0;
        EXPECT(turns(picture, 3, same, to_pixels, 1, 1, 0, 0));
        EXPECT(turns(square, 2, same, both, 2, 1, 0, 0));
        both[1][0] = 0, both[1][1] = 1;
        EXPECT(turns(square, 2, same, both, 2, 1, 0, 0));
        EXPECT_EQ_INT(transposed, 3);
    }
}

#if EMULATED
/* Whole squares with accesses of 16 bytes: every access of shared memory takes the turns it needs
 * and no more. */
TEST(no_bank_conflicts)
{
    int64_t extent[2] = {256, 256};
    for (int t = 0; t < DYNC__COUNT_OF(dtypes); t++)
        for (int out = 0; out < 2; out++) {
            int dtype[2] = {dtypes[t], dtypes[t]}, order[2][4] = {{out, !out}, {!out, out}};
            cuemu_count_banks = true;
            cuemu_bank_turns[0] = cuemu_bank_turns[1] = 0;
            EXPECT(turns(extent, 2, dtype, order, 1, 1, 0, 0));
            cuemu_count_banks = false;
            if (!EXPECT(cuemu_bank_turns[0] > 0 && cuemu_bank_turns[1] == cuemu_bank_turns[0]))
                printf("  dtype %d out %d: %lld turns, %lld needed\n", dtypes[t], out,
                       (long long)cuemu_bank_turns[1], (long long)cuemu_bank_turns[0]);
        }
}
#endif
TEST_MAIN
