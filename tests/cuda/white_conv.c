/* cuda/conv.c: convolutions and their gradients as products on a GPU, of random shapes, strides,
 * padding, dilation, groups and layouts, against the CPU's kernels. The numbers are small integers,
 * whose sums are exact in any order: results are equal to the bit. */
#include "cuda_white.h"
#include "../test.h"
#include "../unit/kernel_rows.h"
#define TEST_AFTER_EACH (dync_shutdown(), dync_clear_error(), dync_on_error(NULL, NULL))

static int as_product, of_halves, direct, backward, weights;

/* A row-major array, with channels last, or with gaps. */
static dync__operand array_of(int dtype, const int64_t *shape, int how, int slot, bool written)
{
    dync__operand o;
    memset(&o, 0, sizeof o);
    o.dtype = (uint8_t)dtype;
    o.slot = slot;
    o.written = written;
    EXPECT_OK(dync__layout_contiguous(&o.lay, 4, shape));
    if (how == 1) {
        o.lay.stride[1] = 1;
        o.lay.stride[3] = shape[1];
        o.lay.stride[2] = shape[1] * shape[3];
    } else if (how == 2) {
        o.lay.offset = 3;
        for (int d = 0; d < 3; d++) o.lay.stride[d] += d == 2 ? 1 : shape[2];
        o.lay.stride[1] = o.lay.stride[2] * shape[2] + 1;
        o.lay.stride[0] = o.lay.stride[1] * shape[1] + 2;
    }
    return o;
}

static bool run_both(dync__kcall *call, const char *what)
{
    void *host[5] = {NULL}, *device[5] = {NULL}, *back = NULL;
    size_t bytes[5];
    bool ok = true;
    for (int i = 0; i < call->n; i++) {
        const dync__operand *o = &call->operand[i];
        int64_t n = dync__layout_span(&o->lay) + 8;
        int each = dync__dtype_info(o->dtype)->bytes;
        bytes[i] = (size_t)n * (size_t)each;
        host[i] = calloc(bytes[i], 1);
        for (int64_t e = 0; e < n; e++)
            dync__store_f64((char *)host[i] + e * each, o->dtype, test_random_int(-3, 3));
        device[i] = dync__cuda_alloc(DYNC_CUDA, bytes[i]);
        EXPECT_OK(dync__cuda_copy(DYNC_CUDA, device[i], DYNC_CPU, host[i], bytes[i]));
    }
    void *code = dync__cuda_call_new(DYNC_CUDA, call, NULL, NULL, false);
    ok = EXPECT(code != NULL) && EXPECT_OK(dync__cuda_run(code, device, 0, 0));
    dync__str text = {0};
    if (code) dync__cuda_code_dump(&text, code);
    as_product += strstr(dync__str_get(&text), "dync_gemm") != NULL;
    direct += strstr(dync__str_get(&text), "dync_conv_float") != NULL ||
              strstr(dync__str_get(&text), "dync_conv_bfloat") != NULL;
    backward += strstr(dync__str_get(&text), "dync_conv_back") != NULL;
    weights += strstr(dync__str_get(&text), "dync_conv_weight") != NULL;
    of_halves += strstr(dync__str_get(&text), "mma.sync") != NULL;
    if (ok) ok = EXPECT_OK(call->row->prepare(call));
    void *scratch = calloc(call->scratch_bytes + 1, 1);
    if (ok) ok = EXPECT_OK(call->row->run(call, host, scratch));
    int out = call->n - 1, each = dync__dtype_info(call->operand[out].dtype)->bytes;
    back = calloc(bytes[out], 1);
    if (ok) ok = EXPECT_OK(dync__cuda_copy(DYNC_CPU, back, DYNC_CUDA, device[out], bytes[out]));
    for (int64_t e = 0; ok && e < (int64_t)bytes[out] / each; e++) {
        double a = dync__load_f64((char *)back + e * each, call->operand[out].dtype),
               b = dync__load_f64((char *)host[out] + e * each, call->operand[out].dtype);
        ok = EXPECT(a == b);
        if (!ok) printf("  element %lld: got %g, CPU %g\n", (long long)e, a, b);
    }
    if (!ok) {
        printf("  %s %s\n%s\n", what, call->row->name, cuemu_detail());
        for (int i = 0; i < call->n; i++)
            for (int d = 0; d < 4 && i < 3; d++)
                printf(" %lld/%lld%s", (long long)call->operand[i].lay.shape[d],
                       (long long)call->operand[i].lay.stride[d], d == 3 ? "\n" : "");
        dync__str attr = {0};
        dync__attr_print(&attr, call->row->attr, &call->attr);
        printf("%s\n", dync__str_get(&attr));
        dync__str_free(&attr);
    }
    dync__str_free(&text);
    dync__cuda_code_free(code);
    if (call->drop) call->drop(call->state);
    free(scratch);
    free(back);
    for (int i = 0; i < call->n; i++) {
        dync__cuda_free(DYNC_CUDA, device[i], bytes[i]);
        free(host[i]);
    }
    return ok;
}

typedef struct {
    int64_t n, c, h, w, o, kh, kw, sy, sx, py, px, dy, dx, groups;
    int dtype, how[3];
    bool bias;
} geometry;

/* Forward, data gradient, weight gradient: 0 1 2. */
static dync__kcall_full call_of(const geometry *g, int kind)
{
    static const int rows[3] = {DYNC__K_conv2d, DYNC__K_conv2d_grad_input,
                                DYNC__K_conv2d_grad_weight};
    int64_t oh = (g->h + 2 * g->py - g->dy * (g->kh - 1) - 1) / g->sy + 1,
            ow = (g->w + 2 * g->px - g->dx * (g->kw - 1) - 1) / g->sx + 1;
    int64_t xs[4] = {g->n, g->c, g->h, g->w}, ws[4] = {g->o, g->c / g->groups, g->kh, g->kw},
            ys[4] = {g->n, g->o, oh, ow};
    int64_t *shape[3][3] = {{xs, ws, ys}, {ys, ws, xs}, {xs, ys, ws}};
    dync__kcall_full room;
    dync__kcall *call = &room.call;
    memset(&room, 0, sizeof room);
    call->row = kernel_row(rows[kind]);
    call->n = kind == 0 && g->bias ? 4 : 3;
    call->attr.conv =
        (dync__attr_conv){{g->sy, g->sx}, {g->py, g->px}, {g->dy, g->dx}, g->groups, .winograd = 0};
    for (int i = 0; i < 3; i++) {
        int at = i == 2 ? call->n - 1 : i;
        call->operand[at] = array_of(g->dtype, shape[kind][i], g->how[i], at, i == 2);
    }
    if (call->n == 4) {
        call->operand[2] = call->operand[0];
        call->operand[2].slot = 2;
        EXPECT_OK(dync__layout_contiguous(&call->operand[2].lay, 1, &g->o));
    }
    return room;
}

static bool all_three(const geometry *g)
{
    bool ok = true;
    if (g->h + 2 * g->py < g->dy * (g->kh - 1) + 1 || g->w + 2 * g->px < g->dx * (g->kw - 1) + 1)
        return true;
    for (int kind = 0; kind < 3 && ok; kind++) {
        dync__kcall_full room = call_of(g, kind);
        ok = run_both(&room.call, kind == 0   ? "forward"
                                  : kind == 1 ? "to the input"
                                              : "to the weight");
    }
    return ok;
}

/* The same of operands that lie in any way. */
static bool holds(geometry *g, int number)
{
    for (int k = 0; k < 3; k++) g->how[k] = test_random() % 2 ? 0 : test_random_int(1, 2);
    if (EXPECT(all_three(g))) return true;
    printf("  number %d\n", number);
    return false;
}

static void random_geometries(int count, int dtype, int channels)
{
    as_product = of_halves = 0;
    for (int i = 0; i < count; i++) {
        geometry g = {.n = test_random_int(1, 2),
                      .h = test_random_int(1, 9),
                      .w = test_random_int(1, 10),
                      .dtype = dtype,
                      .bias = test_random() % 2};
        g.groups = test_random() % 3 ? 1 : 2;
        g.c = channels * test_random_int(1, 3) * g.groups;
        g.o = channels * test_random_int(1, 3) * g.groups;
        g.kh = test_random_int(1, 3), g.kw = test_random_int(1, 4);
        g.sy = test_random_int(1, 3), g.sx = test_random_int(1, 2);
        g.py = test_random_int(0, 2), g.px = test_random_int(0, 2);
        g.dy = test_random_int(1, 2), g.dx = test_random_int(1, 2);
        if (!holds(&g, i)) return;
    }
    EXPECT(as_product > 0);
}
TEST(f32) { random_geometries(9, DYNC_F32, 7); }
/* Small whole numbers are exact with 10 bits too. */
TEST(tf32)
{
    int before = of_halves;
    EXPECT(!dync_cuda_allow_tf32(true));
    random_geometries(9, DYNC_F32, 13);
    (void)dync_cuda_allow_tf32(false);
    EXPECT(of_halves > before + 5);
}
TEST(f64) { random_geometries(5, DYNC_F64, 9); }
TEST(bf16_of_8_channels)
{
    random_geometries(10, DYNC_BF16, 8);
    EXPECT(of_halves == as_product);
}
TEST(f16_of_9_channels) { random_geometries(6, DYNC_F16, 9); }

/* A channel to a group: rectangles by the stride, of every width; sums over parts that blocks
 * have. */
#if !defined(RANDOM_DEPTHWISE)
#define RANDOM_DEPTHWISE 24
#endif
TEST(depthwise)
{
    static const int dtypes[] = {DYNC_F32, DYNC_BF16, DYNC_F16, DYNC_F64};
    backward = weights = 0;
    for (int i = 0; i < RANDOM_DEPTHWISE; i++) {
        geometry g = {.n = test_random_int(1, 3),
                      .c = test_random_int(1, 6),
                      .h = test_random_int(1, 20),
                      .w = i % 3 ? test_random_int(1, 24) : 8 * test_random_int(1, 3),
                      .dtype = dtypes[i % 4]};
        g.groups = g.c;
        g.o = g.c * (i % 5 ? 1 : test_random_int(2, 3));
        g.kh = test_random_int(1, 7), g.kw = test_random_int(1, 7);
        g.sy = test_random_int(1, 3), g.sx = test_random_int(1, 4);
        g.py = test_random_int(0, 4), g.px = test_random_int(0, 4);
        g.dy = test_random_int(1, 3), g.dx = test_random_int(1, 3);
        if (!holds(&g, i)) return;
    }
    EXPECT(backward > RANDOM_DEPTHWISE / 4 && weights > RANDOM_DEPTHWISE / 3);
    geometry large = {.n = 2,
                      .c = 2,
                      .h = 64,
                      .w = 62,
                      .o = 2,
                      .kh = 3,
                      .kw = 3,
                      .sy = 1,
                      .sx = 1,
                      .py = 1,
                      .px = 1,
                      .dy = 1,
                      .dx = 1,
                      .groups = 2,
                      .dtype = DYNC_F32};
    EXPECT(all_three(&large));
}

/* Larger pictures: several tiles, a cut sum, a plain product of planes. */
TEST(known_shapes)
{
    static const geometry shapes[] = {
        {2, 16, 12, 12, 24, 3, 3, 1, 1, 1, 1, 1, 1, 1, DYNC_BF16, {0, 0, 0}, true},
        {1, 32, 16, 16, 16, 1, 1, 1, 1, 0, 0, 1, 1, 1, DYNC_BF16, {0, 0, 0}, true},
        {2, 8, 14, 14, 16, 1, 1, 1, 1, 0, 0, 1, 1, 2, DYNC_F32, {0, 0, 0}, true},
        {2, 3, 19, 19, 16, 7, 7, 2, 2, 3, 3, 1, 1, 1, DYNC_F32, {0, 0, 0}, false},
        {1, 3, 16, 16, 8, 3, 3, 1, 1, 1, 1, 1, 1, 1, DYNC_F16, {0, 0, 0}, true},
        {3, 16, 10, 10, 16, 3, 3, 2, 2, 1, 1, 1, 1, 1, DYNC_BF16, {1, 1, 1}, false},
        {2, 8, 1, 40, 8, 1, 5, 1, 2, 0, 2, 1, 1, 1, DYNC_F32, {0, 0, 0}, true},
        {2, 12, 9, 9, 12, 3, 3, 1, 1, 1, 1, 1, 1, 12, DYNC_F32, {0, 0, 0}, true},
        {2, 8, 9, 9, 16, 3, 3, 2, 2, 1, 1, 2, 2, 8, DYNC_BF16, {0, 0, 0}, true},
        {1, 32, 9, 9, 32, 3, 3, 1, 1, 1, 1, 1, 1, 8, DYNC_F32, {0, 0, 0}, false},
        {2, 8, 16, 16, 128, 3, 3, 1, 1, 1, 1, 1, 1, 1, DYNC_BF16, {0, 0, 0}, true},
        {1, 128, 15, 17, 8, 3, 2, 1, 1, 1, 1, 1, 1, 1, DYNC_F16, {1, 1, 1}, true},
        {1, 8, 16, 16, 128, 3, 1, 1, 1, 1, 0, 1, 1, 1, DYNC_F32, {0, 0, 0}, false},
        {2, 8, 12, 16, 8, 5, 3, 1, 1, 2, 1, 1, 1, 8, DYNC_BF16, {0, 0, 0}, true},
        {1, 6, 10, 24, 12, 3, 3, 1, 2, 1, 1, 1, 2, 6, DYNC_F32, {0, 1, 0}, true},
        {1, 5, 9, 12, 5, 3, 4, 1, 1, 3, 4, 1, 1, 5, DYNC_F16, {0, 0, 2}, true}};
    direct = 0;
    for (int i = 0; i < DYNC__COUNT_OF(shapes); i++)
        if (!EXPECT(all_three(&shapes[i]))) printf("  shape %d\n", i);
    EXPECT(direct >= 7);
}
/* Layers as they are in use: texts of the large tiles, which are made and taken by the loader (and
 * by ptxas), but not run. */
TEST(texts_of_layers_in_use)
{
    static const geometry layers[] = {
        {32, 3, 224, 224, 64, 7, 7, 2, 2, 3, 3, 1, 1, 1, DYNC_BF16, {0, 0, 0}, true},
        {32, 64, 56, 56, 64, 3, 3, 1, 1, 1, 1, 1, 1, 1, DYNC_BF16, {0, 0, 0}, true},
        {32, 256, 14, 14, 512, 3, 3, 2, 2, 1, 1, 1, 1, 1, DYNC_F16, {1, 0, 1}, true},
        {32, 256, 56, 56, 64, 1, 1, 1, 1, 0, 0, 1, 1, 1, DYNC_BF16, {0, 0, 0}, true},
        {32, 128, 28, 28, 128, 3, 3, 1, 1, 1, 1, 1, 1, 1, DYNC_F32, {0, 0, 0}, true},
        {32, 96, 112, 112, 96, 3, 3, 1, 1, 1, 1, 1, 1, 96, DYNC_BF16, {0, 0, 0}, true},
        {32, 96, 112, 112, 96, 3, 3, 2, 2, 1, 1, 1, 1, 96, DYNC_F32, {0, 0, 0}, true},
        {32, 96, 112, 112, 96, 5, 5, 2, 2, 2, 2, 1, 1, 96, DYNC_BF16, {0, 0, 0}, true},
        {32, 96, 56, 56, 96, 7, 7, 1, 1, 3, 3, 1, 1, 96, DYNC_F32, {0, 0, 0}, true}};
    int large = 0;
    for (int i = 0; i < DYNC__COUNT_OF(layers); i++)
        for (int kind = 0; kind < 3; kind++) {
            dync__kcall_full room = call_of(&layers[i], kind);
            void *code = dync__cuda_call_new(DYNC_CUDA, &room.call, NULL, NULL, false);
            dync__str text = {0};
            if (EXPECT(code != NULL)) dync__cuda_code_dump(&text, code);
            large += strstr(dync__str_get(&text), "128x128") ||
                     strstr(dync__str_get(&text), "128x256") ||
                     strstr(dync__str_get(&text), "64x128");
            dync__str_free(&text);
            dync__cuda_code_free(code);
        }
    EXPECT(large > 6);
}
TEST_MAIN
