/* cuda/attention*.c, recurrent.c, sort.c: random kernel calls in any layout, on the emulator,
 * against the CPU's kernels. */
#include "cuda_white.h"
#include "kernel/operand.h"
#include "../tol.h"
#define TEST_AFTER_EACH (dync_shutdown(), dync_clear_error(), dync_on_error(NULL, NULL))
#include "test.h"
extern int setenv(const char *, const char *, int);

#if !defined(RANDOM_CALLS)
#define RANDOM_CALLS 6
#endif

/* ---- a call on both sides -------------------------------------------------------------------- */

typedef struct {
    _Alignas(dync__kcall_full) char room[sizeof(dync__kcall_full)];
    int64_t span[DYNC__KCALL_OPERANDS];
    char *data[DYNC__KCALL_OPERANDS];
} a_call;
#define CALL(c) ((dync__kcall *)(void *)(c)->room)

/* An operand of random strides: some order of the dims, at times gaps, at times an offset. shared:
 * dims (bits) that all lie on one place. */
static dync__operand *add(a_call *c, int dtype, bool written, int n, const int64_t *shape,
                          int shared)
{
    dync__operand *o = &CALL(c)->operand[CALL(c)->n++];
    int order[DYNC_MAX_DIMS];
    bool dense = test_random() % 2 == 0;
    int64_t step = 1, gap = dense ? 0 : (int64_t)(test_random() % 3) * 3;
    memset(o, 0, sizeof *o);
    o->slot = CALL(c)->n - 1;
    o->dtype = (uint8_t)dtype;
    o->written = written;
    o->lay.ndim = (uint8_t)n;
    for (int i = 0; i < n; i++) order[i] = i;
    for (int i = 0; i < n && !dense; i++) {
        int j = i + (int)(test_random() % (unsigned)(n - i)), t = order[i];
        order[i] = order[j];
        order[j] = t;
    }
    for (int i = n - 1; i >= 0; i--) {
        int d = order[i];
        o->lay.shape[d] = shape[d];
        o->lay.stride[d] = shared >> d & 1 ? 0 : step;
        if (!(shared >> d & 1)) step = step * shape[d] + gap;
    }
    o->lay.offset = dense ? 0 : (int64_t)(test_random() % 4);
    c->span[CALL(c)->n - 1] = dync__layout_span(&o->lay);
    return o;
}

static double draw(void) { return (double)(test_random() % 2001) / 1000.0 - 1.0; }
static void fill_all(a_call *c)
{
    for (int i = 0; i < CALL(c)->n; i++) {
        int dtype = CALL(c)->operand[i].dtype, bytes = dync__dtype_info(dtype)->bytes;
        c->data[i] = calloc((size_t)c->span[i] + 1, (size_t)bytes);
        for (int64_t e = 0; e < c->span[i]; e++) {
            double x = draw();
            if (dync__dtype_info(dtype)->kind == 'f')
                dync__store_f64(c->data[i] + e * bytes, dtype, x);
            else if (dtype == DYNC_BOOL)
                c->data[i][e] = x > -0.6;
            else
                dync__store_i64(c->data[i] + e * bytes, dtype, (int64_t)(test_random() % 7) - 3);
        }
    }
}
static void drop_all(a_call *c)
{
    for (int i = 0; i < DYNC__KCALL_OPERANDS; i++) {
        free(c->data[i]);
        c->data[i] = NULL;
    }
}

/* Runs the call on data, in place: by the CPU's kernel, or on the device. */
static bool run_on_cpu(a_call *c)
{
    dync__kcall_full room;
    dync__kcall *call = &room.call;
    dync__kcall_copy(call, CALL(c));
    void *data[DYNC__KCALL_OPERANDS];
    for (int i = 0; i < call->n; i++) data[i] = c->data[i];
    bool ok = !call->row->prepare || EXPECT_OK(call->row->prepare(call));
    void *scratch = calloc(call->scratch_bytes + 1, 1);
    ok = ok && EXPECT_OK(call->row->run(call, data, scratch));
    free(scratch);
    for (int i = 0; i < DYNC__KCALL_PIECES; i++) dync__code_free(call->piece[i]);
    if (call->drop) call->drop(call->state);
    return ok;
}
static bool run_on_gpu(a_call *c, int shift)
{
    void *block[DYNC__KCALL_OPERANDS], *data[DYNC__KCALL_OPERANDS];
    size_t size[DYNC__KCALL_OPERANDS];
    int64_t before = dync_cuda_get_counters().host_steps;
    for (int i = 0; i < CALL(c)->n; i++) {
        size_t bytes = dync__dtype_info(CALL(c)->operand[i].dtype)->bytes;
        size[i] = (size_t)c->span[i] * bytes;
        block[i] = dync__cuda_alloc(DYNC_CUDA, size[i] + 64);
        data[i] = (char *)block[i] + (size_t)shift * bytes;
        if (size[i]) EXPECT_OK(dync__cuda_copy(DYNC_CUDA, data[i], DYNC_CPU, c->data[i], size[i]));
    }
    void *code = dync__cuda_call_new(DYNC_CUDA, CALL(c), NULL, NULL, true);
    bool ok = EXPECT(code != NULL) && EXPECT_OK(dync__cuda_run(code, data, 0, 0));
    for (int i = 0; ok && i < CALL(c)->n; i++)
        if (size[i])
            ok = EXPECT_OK(dync__cuda_copy(DYNC_CPU, c->data[i], DYNC_CUDA, data[i], size[i]));
    ok = ok && EXPECT_EQ_INT(dync_cuda_get_counters().host_steps, before);
    if (!ok) printf("%s\n", cuemu_detail());
    dync__cuda_code_free(code);
    for (int i = 0; i < CALL(c)->n; i++) dync__cuda_free(DYNC_CUDA, block[i], size[i] + 64);
    return ok;
}

/* All written elements alike to within tol, relative to the greatest of the operand; NaN is like
 * NaN. */
static bool alike(const a_call *a, const a_call *b, double tol)
{
    for (int i = 0; i < CALL(a)->n; i++) {
        int dtype = CALL(a)->operand[i].dtype, bytes = dync__dtype_info(dtype)->bytes;
        double most = 1;
        for (int64_t e = 0; e < b->span[i]; e++) {
            double v = fabs(dync__load_f64(b->data[i] + e * bytes, dtype));
            if (isfinite(v) && v > most) most = v;
        }
        for (int64_t e = 0; e < a->span[i]; e++) {
            double u = dync__load_f64(a->data[i] + e * bytes, dtype),
                   v = dync__load_f64(b->data[i] + e * bytes, dtype);
            bool same = u == v || (isnan(u) && isnan(v)) || fabs(u - v) <= tol * most;
            if (!EXPECT(same)) {
                printf("  %s, operand %d element %lld: got %.9g, CPU %.9g (greatest %.3g)\n",
                       CALL(a)->row->name, i, (long long)e, u, v, most);
                return false;
            }
        }
    }
    return true;
}

/* On both sides from equal data; the CPU's results are left in c. */
static bool agree(a_call *c, double tol)
{
    a_call g = *c;
    bool ok = true;
    for (int i = 0; i < CALL(c)->n; i++) {
        size_t bytes = (size_t)c->span[i] * dync__dtype_info(CALL(c)->operand[i].dtype)->bytes;
        g.data[i] = calloc(bytes + 1, 1);
        memcpy(g.data[i], c->data[i], bytes);
    }
    ok = run_on_cpu(c) && run_on_gpu(&g, test_random() % 3 == 0 ? 1 : 0) && alike(&g, c, tol);
    drop_all(&g);
    return ok;
}

/* ---- attention ------------------------------------------------------------------------------- */

typedef struct {
    int dtype, B, H, L, S, E, V, causal, mask;
    double scale;
} attention;

static void attention_attr(a_call *c, const attention *t, int place)
{
    CALL(c)->attr.attention = (dync__attr_attention){t->causal, false, (int8_t)place, t->scale};
}
static bool attention_decodes; /* forward alone; heads share keys and values */
static bool attention_tf32;
static bool attention_agrees(const attention *t, bool dense)
{
    a_call f, g;
    int64_t q[] = {t->B, t->H, t->L, t->E}, k[] = {t->B, t->H, t->S, t->E},
            v[] = {t->B, t->H, t->S, t->V}, y[] = {t->B, t->H, t->L, t->V},
            m[] = {t->B, t->H, t->L, t->S};
    int mask_type = t->mask == 1 ? DYNC_BOOL : t->dtype,
        log_type = t->dtype == DYNC_F64 ? DYNC_F64 : DYNC_F32;
    double tol = t->dtype == DYNC_F32   ? TOL_F32_SUM
                 : t->dtype == DYNC_F64 ? TOL_F64_CHAIN
                 : t->dtype == DYNC_F16 ? 4 * TOL_F16_1ULP
                                        : TOL_BF16_LAYER;
    if (attention_tf32) tol = 1e-2;
    memset(&f, 0, sizeof f);
    memset(&g, 0, sizeof g);
    CALL(&f)->row = &dync__kcall_attention;
    CALL(&g)->row = &dync__kcall_attention_grad;
    add(&f, t->dtype, false, 4, q, 0);
    add(&f, t->dtype, false, 4, k, t->H > 1 && !dense ? 2 : 0); /* heads may share keys */
    add(&f, t->dtype, false, 4, v, 0);
    add(&f, t->dtype, true, 4, y, 0);
    add(&f, log_type, true, 3, y, 0);
    if (t->mask) add(&f, mask_type, false, 4, m, t->mask == 1 ? 2 : 1);
    if (dense)
        for (int i = 0; i < CALL(&f)->n; i++) {
            int64_t shape[4];
            memcpy(shape, CALL(&f)->operand[i].lay.shape, sizeof shape);
            EXPECT_OK(dync__layout_contiguous(&CALL(&f)->operand[i].lay, i == 4 ? 3 : 4, shape));
            f.span[i] = dync__layout_span(&CALL(&f)->operand[i].lay);
        }
    for (int i = 1; i < 3 && attention_decodes; i++) CALL(&f)->operand[i].lay.stride[1] = 0;
    attention_attr(&f, t, t->mask ? 5 : -1);
    fill_all(&f);
    bool ok = agree(&f, tol);
    if (attention_decodes) {
        if (!ok)
            printf("  dtype %d B %d H %d L %d S %d E %d V %d mask %d dense %d\n", t->dtype, t->B,
                   t->H, t->L, t->S, t->E, t->V, t->mask, dense);
        drop_all(&f);
        return ok;
    }
    add(&g, t->dtype, false, 4, y, 0);
    for (int i = 0; i < 5; i++) {
        CALL(&g)->operand[CALL(&g)->n] = CALL(&f)->operand[i];
        CALL(&g)->operand[CALL(&g)->n++].written = false;
    }
    add(&g, t->dtype, true, 4, q, 0);
    add(&g, t->dtype, true, 4, k, 0);
    add(&g, t->dtype, true, 4, v, 0);
    if (t->mask) CALL(&g)->operand[CALL(&g)->n++] = CALL(&f)->operand[5];
    for (int i = 0; i < CALL(&g)->n; i++) {
        int64_t shape[4];
        memcpy(shape, CALL(&g)->operand[i].lay.shape, sizeof shape);
        if (dense)
            EXPECT_OK(dync__layout_contiguous(&CALL(&g)->operand[i].lay, i == 5 ? 3 : 4, shape));
        g.span[i] = dync__layout_span(&CALL(&g)->operand[i].lay);
    }
    attention_attr(&g, t, t->mask ? 9 : -1);
    fill_all(&g);
    for (int i = 0; i < 5; i++)
        memcpy(g.data[1 + i], f.data[i],
               (size_t)f.span[i] * dync__dtype_info(CALL(&f)->operand[i].dtype)->bytes);
    if (t->mask)
        memcpy(g.data[9], f.data[5], (size_t)f.span[5] * dync__dtype_info(mask_type)->bytes);
    ok = ok && agree(&g, tol);
    if (!ok)
        printf("  dtype %d B %d H %d L %d S %d E %d V %d causal %d mask %d scale %g dense %d\n",
               t->dtype, t->B, t->H, t->L, t->S, t->E, t->V, t->causal, t->mask, t->scale, dense);
    drop_all(&f);
    drop_all(&g);
    return ok;
}

TEST(attention_of_every_kind)
{
    static const attention kinds[] = {{DYNC_F32, 1, 2, 20, 70, 16, 16, 0, 0, 0.25},
                                      {DYNC_F32, 1, 1, 70, 40, 24, 10, 1, 0, 0.3},
                                      {DYNC_F32, 2, 1, 33, 33, 7, 65, 0, 1, 0.5},
                                      {DYNC_F32, 1, 1, 5, 9, 130, 8, 0, 2, -0.1},
                                      {DYNC_BF16, 1, 2, 20, 70, 16, 16, 0, 0, 0.25},
                                      {DYNC_BF16, 1, 1, 70, 130, 64, 64, 1, 0, 0.125},
                                      {DYNC_BF16, 2, 1, 33, 33, 72, 40, 0, 1, 0.2},
                                      {DYNC_F16, 1, 1, 100, 40, 128, 128, 1, 0, 0.1},
                                      {DYNC_F16, 1, 1, 17, 50, 200, 136, 0, 2, 0.1},
                                      {DYNC_BF16, 1, 1, 40, 24, 11, 5, 0, 2, 0.3},
                                      {DYNC_F64, 2, 1, 6, 9, 5, 4, 1, 0, 0.4},
                                      {DYNC_F16, 1, 1, 4, 6, 300, 3, 0, 1, 0.05}};
    for (int i = 0; i < DYNC__COUNT_OF(kinds); i++)
        for (int dense = 0; dense < 2; dense++)
            if (!attention_agrees(&kinds[i], dense)) return;
    if (EMULATED) EXPECT_EQ_INT(cuemu_live_bytes() - dync_cuda_memory_stats(0).reserved, 0);
}
/* Few queries, many keys: the keys are cut over blocks, and heads that share them are rows of one
 * tile. */
TEST(attention_of_few_queries)
{
    static const attention kinds[] = {{DYNC_BF16, 1, 2, 1, 1030, 64, 64, 0, 0, 0.125},
                                      {DYNC_F16, 1, 4, 3, 700, 72, 136, 0, 1, 0.2},
                                      {DYNC_F32, 1, 2, 1, 515, 40, 24, 0, 2, 0.25},
                                      {DYNC_F32, 2, 3, 5, 600, 16, 129, 0, 0, 0.5}};
    attention_decodes = true;
    for (int i = 0; i < DYNC__COUNT_OF(kinds); i++)
        for (int dense = 0; dense < 2; dense++)
            if (!attention_agrees(&kinds[i], dense)) return;
    attention_decodes = false;
    attention t = {DYNC_BF16, 1, 1, 2, 640, 16, 16, 0, 1, 0.25};
    EXPECT(attention_agrees(&t, true));
}
/* f32 where operands may have 10 bits: tensor cores. */
TEST(attention_by_tf32)
{
    static const attention kinds[] = {{DYNC_F32, 1, 2, 70, 130, 64, 40, 0, 0, 0.125},
                                      {DYNC_F32, 1, 1, 65, 65, 128, 16, 1, 0, 0.1},
                                      {DYNC_F32, 1, 1, 20, 50, 200, 132, 0, 1, 0.1},
                                      {DYNC_F32, 1, 2, 1, 600, 72, 64, 0, 2, 0.1},
                                      {DYNC_F32, 1, 1, 20, 50, 9, 13, 0, 0, 0.1}};
    EXPECT(!dync_cuda_allow_tf32(true));
    attention_decodes = attention_tf32 = true;
    for (int i = 0; i < DYNC__COUNT_OF(kinds); i++) EXPECT(attention_agrees(&kinds[i], true));
    attention_decodes = attention_tf32 = dync_cuda_allow_tf32(false) && false;
}
/* On compute capability 9.0: wgmma and TMA. */
TEST(attention_by_wgmma)
{
    static const attention kinds[] = {{DYNC_BF16, 1, 2, 70, 200, 64, 64, 0, 0, 0.125},
                                      {DYNC_F16, 2, 1, 140, 140, 128, 72, 1, 0, 0.1},
                                      {DYNC_BF16, 1, 1, 65, 130, 40, 128, 0, 1, 0.2},
                                      {DYNC_F16, 1, 1, 130, 40, 16, 8, 0, 2, 0.2}};
    int64_t before = cuemu_products;
    for (int i = 0; i < DYNC__COUNT_OF(kinds); i++)
        if (!attention_agrees(&kinds[i], true)) return;
    EXPECT(!EMULATED || cuemu_products > before);
}

TEST(random_attention)
{
    setenv("DYNC_CUDA_TARGET", "sm_80", 1);
    static const int dtypes[] = {DYNC_F32, DYNC_BF16, DYNC_F16};
    for (int i = 0; i < RANDOM_CALLS; i++) {
        unsigned wide = test_random() % 8 == 0 ? 256 : test_random() % 3 ? 32 : 128;
        attention t = {dtypes[test_random() % 3],
                       1 + (int)(test_random() % 2),
                       1 + (int)(test_random() % 2),
                       1 + (int)(test_random() % 90),
                       1 + (int)(test_random() % 90),
                       1 + (int)(test_random() % wide),
                       1 + (int)(test_random() % wide),
                       test_random() % 2 == 0,
                       0,
                       (double)(test_random() % 100) / 200.0};
        if (test_random() % 2) t.E = (t.E + 7) / 8 * 8, t.V = (t.V + 7) / 8 * 8;
        if (!t.causal) t.mask = (int)(test_random() % 3);
        if (!attention_agrees(&t, test_random() % 2)) return;
    }
}
/* ---- recurrent layers ------------------------------------------------------------------------ */

typedef struct {
    int dtype, gates, L, N, H, reverse, train;
} recurrent;

static void role(a_call *c, int which, int dtype, bool written, int n, int64_t a, int64_t b,
                 int64_t d, bool dense)
{
    int64_t shape[] = {a, b, d};
    CALL(c)->attr.rnn.role[which] = (int8_t)CALL(c)->n;
    dync__operand *o = add(c, dtype, written, n, shape, 0);
    if (dense) {
        EXPECT_OK(dync__layout_contiguous(&o->lay, n, shape));
        c->span[CALL(c)->n - 1] = dync__layout_span(&o->lay);
    }
}
static bool recurrent_agrees(const recurrent *t)
{
    a_call f, g;
    int G = t->gates * t->H, d = t->dtype;
    bool lstm = t->gates == 4, train = t->train && t->gates > 1;
    double tol = d == DYNC_F32 ? TOL_F32_SUM : d == DYNC_F64 ? TOL_F64_CHAIN : TOL_BF16_LAYER;
    /* sums of H terms in any order, as the machine's level has it */
    tol *= DYNC__MAX(1.0, t->H / 128.0);
    memset(&f, 0, sizeof f);
    memset(CALL(&f)->attr.rnn.role, -1, sizeof CALL(&f)->attr.rnn.role);
    CALL(&f)->row = &dync__kcall_rnn_layer;
    CALL(&f)->attr.rnn.gates = t->gates;
    CALL(&f)->attr.rnn.reverse = t->reverse;
    g = f;
    CALL(&g)->row = &dync__kcall_rnn_layer_grad;
    role(&f, DYNC__RNN_IN, d, false, 3, t->L, t->N, G, false);
    role(&f, DYNC__RNN_W, d, false, 2, G, t->H, 0, false);
    if (test_random() % 2) role(&f, DYNC__RNN_BIAS, d, false, 1, G, 0, 0, true);
    role(&f, DYNC__RNN_H0, d, false, 2, t->N, t->H, 0, false);
    if (lstm) role(&f, DYNC__RNN_C0, d, false, 2, t->N, t->H, 0, false);
    role(&f, DYNC__RNN_OUT, d, true, 3, t->L, t->N, t->H, true);
    if (lstm) role(&f, DYNC__RNN_CN, d, true, 2, t->N, t->H, 0, false);
    if (train) role(&f, DYNC__RNN_CELLS, d, true, 3, t->L, t->N, t->H, true);
    if (train) role(&f, DYNC__RNN_GATES, d, true, 3, t->L, t->N, G, false);
    fill_all(&f);
    bool ok = agree(&f, tol);
    if (ok && (train || t->gates == 1)) {
        static const int kept[] = {DYNC__RNN_W,   DYNC__RNN_H0,    DYNC__RNN_C0,
                                   DYNC__RNN_OUT, DYNC__RNN_CELLS, DYNC__RNN_GATES};
        int from[DYNC__KCALL_OPERANDS], n = 0;
        for (int i = 0; i < DYNC__COUNT_OF(kept); i++) {
            int64_t at = CALL(&f)->attr.rnn.role[kept[i]];
            if (at < 0) continue;
            CALL(&g)->attr.rnn.role[kept[i]] = (int8_t)n;
            CALL(&g)->operand[n] = CALL(&f)->operand[at];
            CALL(&g)->operand[n].written = false;
            g.span[n] = f.span[at];
            from[n++] = (int)at;
        }
        CALL(&g)->n = n;
        if (test_random() % 3) role(&g, DYNC__RNN_GOUT, d, false, 3, t->L, t->N, t->H, false);
        if (lstm && test_random() % 2) role(&g, DYNC__RNN_GC, d, false, 2, t->N, t->H, 0, false);
        role(&g, DYNC__RNN_IN, d, true, 3, t->L, t->N, G, false);
        role(&g, DYNC__RNN_GH0, d, true, 2, t->N, t->H, 0, false);
        if (lstm) role(&g, DYNC__RNN_GC0, d, true, 2, t->N, t->H, 0, false);
        fill_all(&g);
        for (int i = 0; i < n; i++)
            memcpy(g.data[i], f.data[from[i]], (size_t)g.span[i] * dync__dtype_info(d)->bytes);
        ok = agree(&g, tol);
        drop_all(&g);
    }
    if (!ok)
        printf("  dtype %d gates %d L %d N %d H %d reverse %d train %d\n", d, t->gates, t->L, t->N,
               t->H, t->reverse, t->train);
    drop_all(&f);
    return ok;
}

TEST(recurrent_layers)
{
    static const recurrent kinds[] = {
        {DYNC_F32, 4, 3, 5, 17, 0, 1},  {DYNC_F32, 3, 4, 3, 10, 1, 1},
        {DYNC_F32, 1, 5, 2, 7, 0, 1},   {DYNC_F32, 4, 1, 1, 1, 1, 1},
        {DYNC_F32, 4, 2, 3, 90, 0, 1},  {DYNC_F32, 4, 3, 2, 130, 1, 1},
        {DYNC_F32, 3, 2, 9, 129, 0, 1}, {DYNC_F32, 1, 3, 2, 270, 1, 1},
        {DYNC_BF16, 4, 3, 4, 20, 1, 1}, {DYNC_F16, 3, 2, 3, 131, 0, 1},
        {DYNC_F64, 4, 3, 4, 9, 0, 1},   {DYNC_F64, 3, 2, 2, 95, 1, 1},
        {DYNC_F32, 4, 2, 70, 33, 0, 1}, {DYNC_F32, 3, 2, 20, 129, 1, 1}};
    for (int i = 0; i < DYNC__COUNT_OF(kinds); i++)
        if (!recurrent_agrees(&kinds[i])) return;
    for (int i = 0; i < RANDOM_CALLS; i++) {
        recurrent t = {test_random() % 4 ? DYNC_F32 : DYNC_F64,
                       test_random() % 3   ? 4
                       : test_random() % 2 ? 3
                                           : 1,
                       1 + (int)(test_random() % 4),
                       1 + (int)(test_random() % 20),
                       1 + (int)(test_random() % 40),
                       test_random() % 2 == 0,
                       test_random() % 4 != 0};
        if (!recurrent_agrees(&t)) return;
    }
}
/* ---- sorting --------------------------------------------------------------------------------- */

static bool sort_agrees(int dtype, int n, const int64_t *shape, int dim, bool descending, int kinds)
{
    a_call c;
    memset(&c, 0, sizeof c);
    CALL(&c)->row = &dync__kcall_sort;
    add(&c, dtype, false, n, shape, 0);
    add(&c, dtype, true, n, shape, 0);
    add(&c, DYNC_I64, true, n, shape, 0);
    CALL(&c)->attr.sort = (dync__attr_sort){dim, descending};
    fill_all(&c);
    int bytes = dync__dtype_info(dtype)->bytes;
    /* few different values, with zeros of both signs, infinities and NaN */
    for (int64_t e = 0; e < c.span[0]; e++) {
        static const double odd[] = {0.0, -0.0, HUGE_VAL, -HUGE_VAL};
        int pick = (int)(test_random() % (unsigned)kinds);
        if (dync__dtype_info(dtype)->kind == 'f')
            dync__store_f64(c.data[0] + e * bytes, dtype,
                            pick < 4    ? odd[pick]
                            : pick == 4 ? (double)NAN
                                        : (pick - 20) * 0.25);
        else if (dtype == DYNC_BOOL)
            c.data[0][e] = pick & 1;
        else
            dync__store_i64(c.data[0] + e * bytes, dtype, pick - 20);
    }
    bool ok = agree(&c, 0);
    if (!ok)
        printf("  dtype %d lines along %d of %d: %lld %lld descending %d\n", dtype, dim, n,
               (long long)shape[0], (long long)shape[1], descending);
    drop_all(&c);
    return ok;
}
TEST(sorting)
{
    static const int dtypes[] = {DYNC_F32, DYNC_F64,  DYNC_I64, DYNC_BF16,
                                 DYNC_U8,  DYNC_BOOL, DYNC_I32, DYNC_F16};
    for (int i = 0; i < 8 + RANDOM_CALLS; i++) {
        int64_t shape[] = {1 + (int)(test_random() % 5),
                           1 + (int)(test_random() % (i % 4 ? 40 : 300)),
                           1 + (int)(test_random() % 3)};
        if (!sort_agrees(dtypes[i % 8], 3, shape, (int)(test_random() % 3), test_random() % 2,
                         test_random() % 2 ? 10 : 120))
            return;
    }
    static const int64_t lengths[][2] = {{2, 4097}, {1, 13000}}; /* merged from tiles */
    if (!sort_agrees(DYNC_F32, 2, lengths[0], 1, true, 120) ||
        !sort_agrees(DYNC_I32, 2, lengths[1], 1, false, 30) ||
        !sort_agrees(DYNC_F64, 2, lengths[0], 1, false, 90))
        return;
}
TEST_MAIN
