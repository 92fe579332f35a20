/* cuda/gemm*.c: products as texts, on random shapes, dtypes, strides, batches and boundaries,
 * against the CPU's kernel of the same call. */
#include "cuda_white.h"
#include "cuda/gemm.h"
#include "../test.h"
#include "../unit/kernel_rows.h"
extern int setenv(const char *, const char *, int);
/* What 9.0 does by wgmma instead has its own tests (white_wgmma.c). */
__attribute__((constructor)) static void for_any_device(void)
{
    setenv("DYNC_CUDA_TARGET", "sm_80", 1);
}
#define TEST_AFTER_EACH (dync_shutdown(), dync_clear_error(), dync_on_error(NULL, NULL))

typedef struct {
    int dtype, rank;
    int64_t batch[2], m, n, k;
    int trans, shift, pad, bias;
    bool broadcast;
} problem;

static uint32_t state = 1;
static uint32_t rnd(uint32_t n)
{
    return (state = state * 1664525u + 1013904223u) >> 8 & 0xffffff ? (state >> 8) % n : 0;
}

/* An operand of rows x columns, perhaps stored by columns, its rows padded, its memory shifted. */
static int64_t lay_out(dync__operand *o, const problem *p, int slot, int64_t rows, int64_t columns,
                       bool by_columns, bool once)
{
    int64_t inner = by_columns ? rows : columns, outer = by_columns ? columns : rows,
            step = inner + p->pad;
    memset(o, 0, sizeof *o);
    o->slot = slot;
    o->dtype = (uint8_t)p->dtype;
    o->lay.ndim = p->rank;
    o->lay.offset = p->shift;
    o->lay.shape[p->rank - 2] = rows;
    o->lay.shape[p->rank - 1] = columns;
    o->lay.stride[p->rank - 2] = by_columns ? 1 : step;
    o->lay.stride[p->rank - 1] = by_columns ? step : 1;
    int64_t all = outer * step;
    for (int d = p->rank - 3; d >= 0; d--) {
        o->lay.shape[d] = p->batch[d];
        o->lay.stride[d] = once ? 0 : all;
        if (!once) all *= p->batch[d];
    }
    return all + p->shift;
}

static bool agree(const problem *p, int form)
{
    dync__kcall_full room;
    dync__kcall *call = &room.call;
    int64_t elements[4], bytes = dync__dtype_info(p->dtype)->bytes;
    void *host[4] = {NULL}, *want[4] = {NULL}, *device[4] = {NULL};
    memset(&room, 0, sizeof room);
    call->n = p->bias ? 4 : 3;
    call->row = kernel_row(p->bias ? DYNC__K_addmm : DYNC__K_matmul);
    elements[0] = lay_out(&call->operand[0], p, 0, p->m, p->k, p->trans & 1, false);
    elements[1] = lay_out(&call->operand[1], p, 1, p->k, p->n, p->trans & 2, p->broadcast);
    elements[call->n - 1] =
        lay_out(&call->operand[call->n - 1], p, call->n - 1, p->m, p->n, p->trans & 4, false);
    call->operand[call->n - 1].written = true;
    if (p->bias) {
        elements[2] = lay_out(&call->operand[2], p, 2, p->m, p->n, false, false);
        if (p->bias == 1) call->operand[2].lay.stride[0] = 0;
    }
    for (int i = 0; i < call->n; i++) {
        size_t n = (size_t)(elements[i] * bytes);
        host[i] = malloc(n + 16);
        want[i] = malloc(n + 16);
        for (int64_t e = 0; e < elements[i]; e++) {
            bool whole = p->dtype != DYNC_F32 && p->dtype != DYNC_F64 && p->dtype != DYNC_BF16 &&
                         p->dtype != DYNC_F16;
            double v = whole ? (double)rnd(256) - (p->dtype == DYNC_U8 ? 0 : 128)
                             : ((double)rnd(2001) - 1000) / 500;
            dync__scalar x;
            x.d = v;
            if (whole) x.i = (int64_t)v;
            dync__store_f64((char *)host[i] + e * bytes, p->dtype, v);
            (void)x;
        }
        memcpy(want[i], host[i], n);
        device[i] = dync__cuda_alloc(DYNC_CUDA, n);
        EXPECT_OK(dync__cuda_copy(DYNC_CUDA, device[i], DYNC_CPU, host[i], n));
    }
    dync__cuda_code *code = dync__cuda_call_new(DYNC_CUDA, call, NULL, NULL, true);
    bool ok = EXPECT(code != NULL);
    if (ok && form) {
        dync__cuda_part *part = &code->part.at[code->part.n - 1];
        if (part->gemm)
            part->form[DYNC__CUDA_ANY].text.check[0] = (dync__ptx_check){0, 1 << 30, 1},
            part->form[DYNC__CUDA_ANY].text.n_checks = 1;
    }
    ok = ok && EXPECT_OK(dync__cuda_run(code, device, 0, 0));
    int last = call->n - 1;
    ok = ok && EXPECT_OK(dync__cuda_copy(DYNC_CPU, host[last], DYNC_CUDA, device[last],
                                         (size_t)(elements[last] * bytes)));
    if (ok && call->row->prepare) ok = EXPECT_OK(call->row->prepare(call));
    void *scratch = call->scratch_bytes ? malloc(call->scratch_bytes) : NULL;
    ok = ok && EXPECT_OK(call->row->run(call, want, scratch));
    free(scratch);
    double tol = p->dtype == DYNC_F64    ? 1e-12
                 : p->dtype == DYNC_F32  ? 2e-5
                 : p->dtype == DYNC_BF16 ? 1.6e-2
                 : p->dtype == DYNC_F16  ? 2e-3
                                         : 0;
    for (int64_t e = 0; ok && e < elements[last]; e++) {
        double a = dync__load_f64((char *)host[last] + e * bytes, p->dtype),
               b = dync__load_f64((char *)want[last] + e * bytes, p->dtype);
        double scale = fabs(b) > 1 ? fabs(b) : 1;
        if (!(fabs(a - b) <=
              tol * (scale + sqrt((double)p->k) * (p->dtype == DYNC_F32 ? 1 : 0.1)))) {
            printf("  element %lld: got %.9g, CPU %.9g\n", (long long)e, a, b);
            ok = false;
        }
    }
    if (!ok) {
        printf("  dtype %d batch %lld x %lld m %lld n %lld k %lld trans %d shift %d pad %d bias %d "
               "broadcast %d form %d\n  %s\n",
               p->dtype, (long long)p->batch[0], (long long)p->batch[1], (long long)p->m,
               (long long)p->n, (long long)p->k, p->trans, p->shift, p->pad, p->bias, p->broadcast,
               form, cuemu_detail());
        if (getenv("SHOW") && code) {
            dync__str s = {0};
            dync__cuda_code_dump(&s, code);
            printf("%s\n", dync__str_get(&s));
            dync__str_free(&s);
        }
    }
    dync__cuda_code_free(code);
    if (call->drop) call->drop(call->state);
    for (int i = 0; i < call->n; i++) {
        dync__cuda_free(DYNC_CUDA, device[i], (size_t)(elements[i] * bytes));
        free(host[i]);
        free(want[i]);
    }
    return ok;
}

/* One of each way into shared memory, for each kind of arithmetic. */
TEST(every_way)
{
    static const int dtypes[] = {DYNC_F32, DYNC_BF16, DYNC_F16, DYNC_I8, DYNC_U8,
                                 DYNC_F64, DYNC_I64,  DYNC_I32, DYNC_I16};
    for (int t = 0; t < DYNC__COUNT_OF(dtypes); t++)
        for (int trans = 0; trans < 4; trans++)
            for (int form = 0; form < 2; form++) {
                /* they share their texts with those before */
                if (t > 3 && trans != 3 * form) continue;
                problem p = {
                    .dtype = dtypes[t], .rank = 2, .m = 72, .n = 80, .k = 96, .trans = trans};
                if (!EXPECT(agree(&p, form))) return;
            }
}

#if EMULATED
/* Turns that accesses of shared memory take, over those they need: whole tiles, every way in. None
 * in the stages; where a thread stores 16 bytes of narrow elements its two reads of four sums take
 * a turn more each. Bytes with lines side by side (PIECES) are not meant to be fast. */
TEST(no_bank_conflicts)
{
    static const int dtypes[] = {DYNC_BF16, DYNC_I8, DYNC_F32, DYNC_F64};
    for (int t = 0; t < DYNC__COUNT_OF(dtypes); t++)
        for (int trans = 0; trans < 4; trans++) {
            problem p = {
                .dtype = dtypes[t], .rank = 2, .m = 128, .n = 128, .k = 128, .trans = trans};
            cuemu_count_banks = true;
            cuemu_bank_turns[0] = cuemu_bank_turns[1] = 0;
            EXPECT(agree(&p, 0));
            cuemu_count_banks = false;
            int64_t more = cuemu_bank_turns[1] - cuemu_bank_turns[0],
                    want = p.dtype == DYNC_BF16 || p.dtype == DYNC_I8 ? 128 * 128 / 32 : 0;
            if (p.dtype != DYNC_I8 || trans == 2) EXPECT_EQ_INT(more, want);
            EXPECT(cuemu_bank_turns[0] > 1000);
        }
}
#endif

/* The choice by shape on 132 multiprocessors: large tiles where they fill the device, cut depth
 * where few tiles do not. */
extern int setenv(const char *, const char *, int);
TEST(choices)
{
    static const struct {
        int dtype;
        int64_t m, n, k;
        int tile_m, tile_n;
        int64_t splits;
    } want[] = {
        {DYNC_BF16, 8192, 8192, 8192, 128, 256, 1}, {DYNC_BF16, 4096, 4096, 4096, 128, 256, 1},
        {DYNC_BF16, 1024, 1024, 1024, 128, 64, 1},  {DYNC_BF16, 512, 512, 512, 64, 64, 1},
        {DYNC_BF16, 256, 256, 16384, 128, 64, 16},  {DYNC_BF16, 64, 4096, 4096, 64, 128, 4},
        {DYNC_BF16, 16, 4096, 4096, 64, 128, 4},    {DYNC_F32, 4096, 4096, 4096, 128, 128, 1},
        {DYNC_F32, 512, 512, 512, 64, 64, 2},       {DYNC_F32, 64, 64, 65536, 64, 64, 32}};
    setenv("CUEMU_UNITS", "132", 1);
    setenv("DYNC_CUDA_TARGET", "sm_80", 1);
    for (int i = 0; i < DYNC__COUNT_OF(want); i++) {
        dync__kcall_full room;
        dync__kcall *call = &room.call;
        memset(&room, 0, sizeof room);
        call->n = 3;
        call->row = &dync__kcall_matmul;
        problem p = {.dtype = want[i].dtype, .rank = 2};
        (void)lay_out(&call->operand[0], &p, 0, want[i].m, want[i].k, false, false);
        (void)lay_out(&call->operand[1], &p, 1, want[i].k, want[i].n, false, false);
        (void)lay_out(&call->operand[2], &p, 2, want[i].m, want[i].n, false, false);
        call->operand[2].written = true;
        dync__cuda_code *code = dync__cuda_call_new(DYNC_CUDA, call, NULL, NULL, true);
        REQUIRE(code && code->part.at[0].gemm);
        const dync__gm *g = code->part.at[0].gemm;
        if (!EXPECT(g->tile.m == want[i].tile_m && g->tile.n == want[i].tile_n &&
                    g->splits == want[i].splits))
            printf("  %lld x %lld x %lld: %d x %d, %lld splits\n", (long long)want[i].m,
                   (long long)want[i].n, (long long)want[i].k, g->tile.m, g->tile.n,
                   (long long)g->splits);
        dync__cuda_code_free(code);
    }
}

/* Sides that lie on no boundary are copied once where there is much to do with them. */
TEST(repacked_sides)
{
    for (int trans = 0; trans < 4; trans++) {
        problem p = {.dtype = trans == 2 ? DYNC_I8 : DYNC_BF16,
                     .rank = 3,
                     .batch = {2},
                     .m = trans & 1 ? 260 : 33,
                     .n = trans & 1 ? 37 : 258,
                     .k = 35,
                     .trans = trans,
                     .broadcast = trans == 3};
        if (!EXPECT(agree(&p, 0))) return;
    }
}

/* Up to eight rows or columns: dense depth and dense columns, the depth cut or not, ends that
 * divide nothing. */
TEST(few_rows)
{
    static const int dtypes[] = {DYNC_F32, DYNC_BF16, DYNC_F16, DYNC_F64};
    int before = 0;
    for (int t = 0; t < DYNC__COUNT_OF(dtypes); t++)
        for (int trans = 0; trans < 4; trans++)
            for (int few = 1; few <= 8; few += few == 1 ? 2 : 5)
                for (int deep = 0; deep < 2; deep++) {
                    if (t > 1 && few != 3) continue;
                    problem p = {.dtype = dtypes[t],
                                 .rank = 2 + deep,
                                 .m = few,
                                 .n = deep ? 40 : 264,
                                 .k = deep ? 1600 : 72,
                                 .trans = trans};
                    p.batch[0] = 2;
                    p.bias = deep ? 0 : 1;
                    if (trans == 1) p.m = p.n, p.n = few, p.bias = deep ? 0 : 2;
                    if (!EXPECT(agree(&p, 0))) return;
                    before++;
                }
    EXPECT_EQ_INT(before, 64);
}

/* Depth 1, whose step in memory is on no boundary where lines are: dense (33 elements to a row),
 * padded, by columns. */
TEST(depth_of_one)
{
    static const int dtypes[] = {DYNC_F32, DYNC_BF16, DYNC_F64, DYNC_I8};
    for (int t = 0; t < DYNC__COUNT_OF(dtypes); t++)
        for (int trans = 0; trans < 4; trans++) {
            problem p = {.dtype = dtypes[t],
                         .rank = 4,
                         .batch = {3, 1},
                         .m = 136,
                         .n = 33,
                         .k = 1,
                         .trans = trans,
                         .broadcast = true};
            p.pad = t == 2 ? 3 : 0;
            if (!EXPECT(agree(&p, 0))) return;
        }
}

TEST(random_products)
{
    static const int dtypes[] = {DYNC_F32,  DYNC_BF16, DYNC_F16, DYNC_F32,
                                 DYNC_BF16, DYNC_I8,   DYNC_F64, DYNC_I32};
    static const int64_t sizes[] = {1, 2, 7, 16, 33, 64, 65, 100, 128, 136};
    int count = test_count(40);
    for (int i = 0; i < count; i++) {
        problem p = {.dtype = dtypes[rnd(8)],
                     .rank = 2 + (int)rnd(3),
                     .m = sizes[rnd(10)],
                     .n = sizes[rnd(10)],
                     .k = sizes[rnd(10)]};
        p.batch[0] = 1 + rnd(3), p.batch[1] = 1 + rnd(2);
        p.trans = (int)rnd(8), p.shift = rnd(3) ? 0 : (int)rnd(9),
        p.pad = rnd(2)   ? 0
                : rnd(2) ? 8
                         : (int)rnd(5);
        p.broadcast = rnd(2), p.bias = p.rank == 2 ? (int)rnd(3) : 0;
        if (rnd(5) == 0) p.k = 300 + rnd(700), p.m = 1 + rnd(70), p.n = 1 + rnd(70), p.rank = 2;
        if (!EXPECT(agree(&p, rnd(4) == 0))) {
            printf("  problem number %d\n", i);
            return;
        }
    }
}
TEST_MAIN
