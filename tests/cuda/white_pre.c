/* cuda/gemm_pre.c: what is done to a product's side on its way, against the same by a launch before
 * it. Numbers are small multiples of 1/4, so that sums are exact in any order and the results must
 * be the same bits. */
#include "cuda_white.h"
#include "cuda/gemm.h"
#include "../test.h"
extern int setenv(const char *, const char *, int);
__attribute__((constructor)) static void for_any_device(void)
{
    setenv("DYNC_CUDA_TARGET", "sm_80", 1);
}
#define TEST_AFTER_EACH (dync_shutdown(), dync_clear_error(), dync_on_error(NULL, NULL))

/* sides: bits of the operands that are made; from: dtype that they are made of; how: bits of what
 * is done (1 scale, 2 bias, 4 relu, 8 mask); way: how the memory in between and the operands lie
 * (bits: a by columns, b by columns, source the other way round, bias across). */
typedef struct {
    int dtype, sides, from, how, way, shift;
    int64_t batch, m, n, k;
} problem;

static uint32_t state = 1;
static uint32_t rnd(uint32_t n)
{
    return (state = state * 1664525u + 1013904223u) >> 8 & 0xffffff ? (state >> 8) % n : 0;
}

typedef struct {
    int dtype;
    int64_t elements;
    void *host, *device;
} memory;
static void *made(memory *x, int dtype, int64_t elements)
{
    size_t bytes = (size_t)elements * dync__dtype_info(dtype)->bytes;
    bool whole = dtype == DYNC_I8 || dtype == DYNC_U8 || dtype == DYNC_BOOL;
    *x = (memory){dtype, elements, malloc(bytes + 16), dync__cuda_alloc(DYNC_CUDA, bytes + 16)};
    for (int64_t e = 0; e < elements; e++) {
        double v = dtype == DYNC_BOOL ? (double)rnd(2)
                   : dtype == DYNC_U8 ? (double)rnd(8)
                   : whole            ? (double)rnd(17) - 8
                                      : ((double)rnd(33) - 16) / 4;
        dync__store_f64((char *)x->host + e * dync__dtype_info(dtype)->bytes, dtype, v);
    }
    EXPECT_OK(dync__cuda_copy(DYNC_CUDA, x->device, DYNC_CPU, x->host, bytes));
    return x->device;
}
static void gone(memory *x)
{
    if (!x->host) return;
    dync__cuda_free(DYNC_CUDA, x->device,
                    (size_t)x->elements * dync__dtype_info(x->dtype)->bytes + 16);
    free(x->host);
}

/* The operand of [batch, rows, columns], dense, perhaps by columns. */
static void lay_out(dync__operand *o, int slot, const problem *p, int64_t rows, int64_t columns,
                    bool by_columns)
{
    memset(o, 0, sizeof *o);
    o->slot = slot;
    o->dtype = (uint8_t)p->dtype;
    o->lay.ndim = 3;
    int64_t shape[3] = {p->batch, rows, columns},
            stride[3] = {rows * columns, by_columns ? 1 : columns, by_columns ? rows : 1};
    memcpy(o->lay.shape, shape, sizeof shape);
    memcpy(o->lay.stride, stride, sizeof stride);
}

/* What makes an operand: buffers 0 the source, 1 scale, 2 bias, 3 mask, MADE + .. the operand,
 * whose slot that is. */
enum { MADE = 4 };
static dync__kernel *maker(dync__arena *arena, const dync__operand *o, const problem *p,
                           int64_t *elements)
{
    bool transposed = p->way & 4, across = p->way & 8;
    int first = transposed ? 2 : 1, second = transposed ? 1 : 2; /* loops: batch, first, second */
    const int64_t *shape = o->lay.shape, *to = o->lay.stride;
    int64_t extent[3] = {shape[0], shape[first], shape[second]},
            store[DYNC__LOOP_MAX_DIMS] = {to[0], to[first], to[second]};
    int64_t load[DYNC__LOOP_MAX_DIMS] = {0}, line[DYNC__LOOP_MAX_DIMS] = {0},
            none[DYNC__LOOP_MAX_DIMS] = {0};
    load[0] = shape[1] * shape[2] + p->shift;
    load[1] = extent[2];
    load[2] = 1;
    line[across ? 1 : 2] = 1;
    dync__kernel *k = dync__kernel_new(arena, "maker", 0, 3, extent);
    dync__lb b = {.k = k, .section = 1, .origin = "maker"};
    int type = dync__dtype_info(p->dtype)->compute;
    int x = dync__lb_load(&b, dync__kernel_buf(k, 0, p->from, DYNC__BUF_IN, -1, "x"),
                          dync__kernel_access(k, p->shift, load));
    x = dync__lb_cast(&b, x, type);
    elements[0] = shape[0] * load[0] + p->shift;
    elements[1] = elements[2] = extent[across ? 1 : 2];
    elements[3] = shape[0] * shape[1] * shape[2];
    if (p->how & 1)
        x = dync__lb_op(
            &b, DYNC__P_mul, x,
            dync__lb_cast(&b,
                          dync__lb_load(&b,
                                        dync__kernel_buf(k, 1, DYNC_F32, DYNC__BUF_IN, -1, "scale"),
                                        dync__kernel_access(k, 0, p->how & 16 ? line : none)),
                          type),
            -1);
    if (p->how & 2)
        x = dync__lb_op(
            &b, DYNC__P_add, x,
            dync__lb_cast(&b,
                          dync__lb_load(&b,
                                        dync__kernel_buf(k, 2, p->dtype, DYNC__BUF_IN, -1, "bias"),
                                        dync__kernel_access(k, 0, line)),
                          type),
            -1);
    if (p->how & 4)
        x = dync__lb_op(&b, DYNC__P_max, x,
                        type == DYNC_I32 ? dync__lb_i(&b, type, 0) : dync__lb_f(&b, type, 0), -1);
    if (p->how & 8) {
        int64_t dense[DYNC__LOOP_MAX_DIMS] = {shape[1] * shape[2], extent[2], 1};
        int seen = dync__lb_load(&b, dync__kernel_buf(k, 3, DYNC_BOOL, DYNC__BUF_IN, -1, "mask"),
                                 dync__kernel_access(k, 0, dense));
        x = dync__lb_op(&b, DYNC__P_select, seen, x,
                        type == DYNC_I32 ? dync__lb_i(&b, type, 0) : dync__lb_f(&b, type, 0));
    }
    dync__lb_store(&b, dync__kernel_buf(k, o->slot, p->dtype, DYNC__BUF_OUT, -1, "made"),
                   dync__kernel_access(k, 0, store), x);
    dync__kernel_simplify(k);
    return k;
}

static int taken, asked;
#if defined(TEST_REAL_GPU)
#define COUNT_BANKS(on) ((void)0)
#else
#define COUNT_BANKS(on) (cuemu_count_banks = (on))
#endif
static bool agree(const problem *p, int form)
{
    dync__arena arena = {0};
    dync__kcall_full room;
    dync__kcall *call = &room.call;
    dync__kernel *k[3] = {NULL};
    memory source[2][5] = {{{0}}}, operand[3] = {{0}}, result = {0};
    const dync__kernel *with[3] = {NULL};
    void *buffers[24] = {NULL}, *apart[3];
    bool host[24] = {false}, ok = true;
    int n = 3;
    memset(&room, 0, sizeof room);
    call->n = 3;
    call->row = &dync__kcall_matmul;
    lay_out(&call->operand[0], MADE + 0, p, p->m, p->k, p->way & 1);
    lay_out(&call->operand[1], MADE + 1, p, p->k, p->n, p->way & 2);
    lay_out(&call->operand[2], MADE + 2, p, p->m, p->n, false);
    call->operand[2].written = true;
    for (int i = 0; i < 3; i++) {
        const int64_t *shape = call->operand[i].lay.shape;
        buffers[i] = apart[i] = made(&operand[i], p->dtype, shape[0] * shape[1] * shape[2]);
    }
    buffers[2] = made(&result, p->dtype, operand[2].elements);
    for (int s = 0; s < 2; s++) {
        int64_t elements[4];
        if (!(p->sides >> s & 1)) continue;
        with[1 + s] = k[s] = maker(&arena, &call->operand[s], p, elements);
        void *at[5];
        for (int i = 0; i < k[s]->buf.n; i++) {
            int id = k[s]->buf.at[i].id;
            at[i] = id == MADE + s ? apart[s]
                                   : made(&source[s][i], k[s]->buf.at[i].dtype, elements[id]);
            buffers[n++] = id == MADE + s ? NULL : at[i];
        }
        void *code = dync__cuda_kernel_new(DYNC_CUDA, k[s], host);
        ok = ok && EXPECT(code != NULL) && EXPECT_OK(dync__cuda_run(code, at, 0, 0));
        dync__cuda_code_free(code);
        asked++;
        taken += dync__gm_takes(DYNC_CUDA, call, k[s]) == 1 + s;
        buffers[s] = NULL; /* it has no memory */
    }
    for (int s = 0; s < 2; s++)
        if (with[1 + s]) buffers[s] = buffers[3];
    dync__cuda_code *fused = dync__cuda_call_new(DYNC_CUDA, call, with, host, true),
                    *plain = dync__cuda_call_new(DYNC_CUDA, call, NULL, NULL, true);
    ok = ok && EXPECT(fused && plain);
    if (ok && form) {
        dync__cuda_part *part = &fused->part.at[fused->part.n - 1];
        part->form[DYNC__CUDA_ANY].text.check[0] = (dync__ptx_check){2, 1 << 30, 1},
        part->form[DYNC__CUDA_ANY].text.n_checks = 1;
    }
    COUNT_BANKS(true);
    ok = ok && EXPECT_OK(dync__cuda_run(fused, buffers, 0, 0));
    COUNT_BANKS(false);
    ok = ok && EXPECT_OK(dync__cuda_run(plain, apart, 0, 0));
    size_t bytes = (size_t)result.elements * dync__dtype_info(p->dtype)->bytes;
    ok = ok && EXPECT_OK(dync__cuda_copy(DYNC_CPU, result.host, DYNC_CUDA, result.device, bytes));
    ok = ok &&
         EXPECT_OK(dync__cuda_copy(DYNC_CPU, operand[2].host, DYNC_CUDA, operand[2].device, bytes));
    for (int64_t e = 0; ok && e < result.elements; e++) {
        double a = dync__load_f64((char *)result.host + e * dync__dtype_info(p->dtype)->bytes,
                                  p->dtype),
               b = dync__load_f64((char *)operand[2].host + e * dync__dtype_info(p->dtype)->bytes,
                                  p->dtype);
        if (a == b) continue;
        printf("  element %lld: %.9g, apart %.9g\n", (long long)e, a, b);
        ok = false;
    }
    if (!ok) {
        printf("  dtype %d sides %d from %d how %d way %d shift %d batch %lld m %lld n %lld k %lld "
               "form %d\n  %s\n",
               p->dtype, p->sides, p->from, p->how, p->way, p->shift, (long long)p->batch,
               (long long)p->m, (long long)p->n, (long long)p->k, form, cuemu_detail());
        if (getenv("SHOW") && fused) {
            dync__str s = {0};
            dync__cuda_code_dump(&s, fused);
            printf("%s\n", dync__str_get(&s));
            dync__str_free(&s);
        }
    }
    dync__cuda_code_free(fused);
    dync__cuda_code_free(plain);
    for (int s = 0; s < 2; s++)
        for (int i = 0; i < 5; i++) gone(&source[s][i]);
    for (int i = 0; i < 3; i++) gone(&operand[i]);
    gone(&result);
    dync__arena_free(&arena);
    return ok;
}

TEST(every_way)
{
    static const int dtypes[][2] = {{DYNC_BF16, DYNC_F32}, {DYNC_F16, DYNC_I8},
                                    {DYNC_F32, DYNC_BF16}, {DYNC_F32, DYNC_F32},
                                    {DYNC_I8, DYNC_F32},   {DYNC_F64, DYNC_F32}};
    for (int t = 0; t < DYNC__COUNT_OF(dtypes); t++)
        for (int way = 0; way < 4; way++) {
            problem p = {.dtype = dtypes[t][0],
                         .from = dtypes[t][1],
                         .sides = 1 + (t + way) % 3,
                         .how = 5,
                         .way = way,
                         .batch = 1,
                         .m = 40,
                         .n = 56,
                         .k = 72};
            if (!agree(&p, t % 4 == way)) return;
        }
}

/* Large ones, by their texts alone: the tile leaves registers for what is loaded. */
TEST(large_texts)
{
    static const int dtypes[][2] = {{DYNC_BF16, DYNC_F32},
                                    {DYNC_F16, DYNC_I8},
                                    {DYNC_BF16, DYNC_BF16},
                                    {DYNC_F32, DYNC_BF16},
                                    {DYNC_I8, DYNC_F32}};
    for (int t = 0; t < DYNC__COUNT_OF(dtypes); t++)
        for (int sides = 1; sides < 4; sides++) {
            problem p = {.dtype = dtypes[t][0],
                         .from = dtypes[t][1],
                         .sides = sides,
                         .how = 5,
                         .batch = 1,
                         .m = 2048,
                         .n = 2048,
                         .k = 512};
            dync__arena arena = {0};
            dync__kcall_full room;
            dync__kcall *call = &room.call;
            const dync__kernel *with[3] = {NULL};
            bool host[24] = {false};
            int64_t elements[4];
            memset(&room, 0, sizeof room);
            call->n = 3;
            call->row = &dync__kcall_matmul;
            lay_out(&call->operand[0], MADE + 0, &p, p.m, p.k, false);
            lay_out(&call->operand[1], MADE + 1, &p, p.k, p.n, false);
            lay_out(&call->operand[2], MADE + 2, &p, p.m, p.n, false);
            for (int s = 0; s < 2; s++)
                if (sides >> s & 1) with[1 + s] = maker(&arena, &call->operand[s], &p, elements);
            dync__cuda_code *code = dync__cuda_call_new(DYNC_CUDA, call, with, host, true);
            EXPECT(code &&
                   strstr(dync__str_get(
                              &code->part.at[code->part.n - 1].form[DYNC__CUDA_ANY].text.text),
                          "made and stored"));
            dync__cuda_code_free(code);
            dync__arena_free(&arena);
        }
}

#if !defined(TEST_REAL_GPU)
/* Stores of what was made meet no bank twice; accumulators alone take m n / 32 more turns, as they
 * do without. */
TEST(no_bank_conflicts)
{
    static const int dtypes[][2] = {
        {DYNC_BF16, DYNC_F32}, {DYNC_F16, DYNC_I8}, {DYNC_F32, DYNC_BF16}};
    for (int t = 0; t < DYNC__COUNT_OF(dtypes); t++)
        for (int way = 0; way < 4; way += 3) {
            problem p = {.dtype = dtypes[t][0],
                         .from = dtypes[t][1],
                         .sides = 3,
                         .how = 4,
                         .way = way,
                         .batch = 1,
                         .m = 64,
                         .n = 64,
                         .k = 64};
            cuemu_bank_turns[0] = cuemu_bank_turns[1] = 0;
            if (!agree(&p, 0)) return;
            EXPECT(cuemu_bank_turns[0] > 500);
            EXPECT_EQ_INT(cuemu_bank_turns[1] - cuemu_bank_turns[0], t < 2 ? 64 * 64 / 32 : 0);
        }
}
#endif

/* On 9.0 a large product keeps wgmma and a launch before it; a small one does without either. */
TEST(choices)
{
    static const struct {
        int64_t m, n, k;
        int how;
        bool thin, taken;
    } want[] = {{512, 512, 512, 0, false, true},
                {4096, 4096, 4096, 0, false, false},
                {1, 8192, 8192, 17, true, true},
                {128, 128, 4096, 4, false, true},
                {8192, 8192, 8192, 4, false, false}};
    setenv("CUEMU_UNITS", "132", 1);
    setenv("CUEMU_CC", "90", 1);
    setenv("DYNC_CUDA_TARGET", "", 1);
    for (int i = 0; i < DYNC__COUNT_OF(want); i++) {
        problem p = {.dtype = DYNC_BF16,
                     .from = want[i].thin ? DYNC_I8 : DYNC_F32,
                     .how = want[i].how,
                     .way = want[i].thin ? 2 : 0,
                     .batch = 1,
                     .m = want[i].m,
                     .n = want[i].n,
                     .k = want[i].k};
        dync__arena arena = {0};
        dync__kcall_full room;
        dync__kcall *call = &room.call;
        int64_t elements[4];
        memset(&room, 0, sizeof room);
        call->n = 3;
        call->row = &dync__kcall_matmul;
        lay_out(&call->operand[0], MADE + 0, &p, p.m, p.k, false);
        lay_out(&call->operand[1], MADE + 1, &p, p.k, p.n, p.way & 2);
        lay_out(&call->operand[2], MADE + 2, &p, p.m, p.n, false);
        int s = want[i].thin;
        EXPECT_EQ_INT(
            dync__gm_takes(DYNC_CUDA, call, maker(&arena, &call->operand[s], &p, elements)),
            want[i].taken ? 1 + s : -1);
        dync__arena_free(&arena);
    }
}

TEST(few_rows)
{
    for (int i = 0; i < (test_count(1) > 1 ? 12 : 7); i++) {
        problem p = {.dtype = i % 3 == 2 ? DYNC_F32
                              : i % 3    ? DYNC_F16
                                         : DYNC_BF16,
                     .from = i % 2 ? DYNC_I8 : DYNC_F32,
                     .sides = 1 + i % 3,
                     .how = i % 4 < 2 ? 17 : 6,
                     .way = i & 3,
                     .batch = 1,
                     .m = i % 2 ? 1 + i % 5 : 128,
                     .n = i % 2 ? 128 : 1 + i % 5,
                     .k = 256};
        if (!agree(&p, 0)) return;
    }
}

TEST(random)
{
    static const int dtypes[] = {DYNC_BF16, DYNC_F16, DYNC_F32, DYNC_BF16, DYNC_I8, DYNC_F64};
    static const int from[] = {DYNC_F32, DYNC_BF16, DYNC_I8, DYNC_F16, DYNC_F64, DYNC_U8};
    int count = test_count(8);
    for (int i = 0; i < count; i++) {
        problem p = {.dtype = dtypes[rnd(6)],
                     .from = from[rnd(6)],
                     .sides = 1 + (int)rnd(3),
                     .how = (int)rnd(32),
                     .way = (int)rnd(16),
                     .shift = rnd(2) ? 0 : (int)rnd(3),
                     .batch = 1 + rnd(2),
                     .m = 2 + rnd(150),
                     .n = 2 + rnd(150),
                     .k = 2 + rnd(rnd(4) ? 100 : 500)};
        if (rnd(2)) p.m = (p.m + 7) / 8 * 8, p.n = (p.n + 7) / 8 * 8, p.k = (p.k + 7) / 8 * 8;
        if (p.dtype == DYNC_I8) p.how &= ~3; /* no sums beyond its range */
        if (p.dtype == DYNC_F16 || p.dtype == DYNC_BF16) p.how &= ~2;
        if ((double)p.m * (double)p.n * (double)p.k * (double)p.batch <= 4096) continue;
        if (!agree(&p, rnd(4) == 0)) return;
    }
    printf("  worth it by cost: %d of %d\n", taken, asked);
}
TEST_MAIN
