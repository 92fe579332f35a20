/* kernel/conv.c, pooling.c, sort.c, scatter.c against plain loops over strided operands. */
#include "../../src/dync.in.h"
#include "../../src/kernel/operand.h"
#include "../../src/codegen/codemem.h"
#include "../test.h"
#include "../tol.h"
#include "kernel_rows.h"
#define TEST_AFTER_EACH (dync_shutdown(), dync_clear_error(), dync_on_error(NULL, NULL))

enum { ROOM = 40000 };
typedef struct call {
    void *data[4];
    _Alignas(dync__kcall_full) char room[sizeof(dync__kcall_full)];
} call;
#define CALL(k) ((dync__kcall *)(void *)(k)->room)

/* Row major, or with the dims in another order and gaps. */
static void add(call *k, int dtype, int ndim, const int64_t *shape, bool odd)
{
    dync__operand *o = &CALL(k)->operand[CALL(k)->n];
    int order[DYNC_MAX_DIMS];
    int64_t next = odd ? 2 : 1;
    memset(o, 0, sizeof *o);
    o->dtype = (uint8_t)dtype;
    o->lay.ndim = ndim;
    o->lay.offset = odd ? 5 : 0;
    for (int d = 0; d < ndim; d++) order[d] = odd ? (d + 1) % ndim : d;
    for (int i = ndim - 1; i >= 0; i--) {
        o->lay.shape[order[i]] = shape[order[i]];
        o->lay.stride[order[i]] = next;
        next *= shape[order[i]];
    }
    int64_t room = DYNC__MAX(ROOM, next + 8);
    k->data[CALL(k)->n] = calloc((size_t)room, 8);
    for (int64_t i = 0; i < room; i++)
        dync__store_f64((char *)k->data[CALL(k)->n] + i * dync__dtype_info(dtype)->bytes, dtype,
                        test_random_int(-6, 6));
    CALL(k)->n++;
}

static char *at(const call *k, int operand, int64_t a, int64_t b, int64_t c, int64_t d)
{
    const dync__operand *o = &CALL(k)->operand[operand];
    int64_t i[4] = {a, b, c, d}, off = o->lay.offset;
    for (int j = 0; j < o->lay.ndim; j++) off += i[j] * o->lay.stride[j];
    return (char *)k->data[operand] + off * dync__dtype_info(o->dtype)->bytes;
}

static double get(const call *k, int operand, int64_t a, int64_t b, int64_t c, int64_t d)
{
    return dync__load_f64(at(k, operand, a, b, c, d), CALL(k)->operand[operand].dtype);
}

static void begin(call *k, int kernel)
{
    memset(k, 0, sizeof *k);
    CALL(k)->row = kernel_row(kernel);
}

static bool run(call *k)
{
    return EXPECT_OK(CALL(k)->row->prepare(CALL(k))) &&
           EXPECT_OK(CALL(k)->row->run(CALL(k), k->data, NULL));
}

static void end(call *k)
{
    if (CALL(k)->drop) CALL(k)->drop(CALL(k)->state);
    for (int i = 0; i < 4; i++) free(k->data[i]);
}

/* ---- convolution ----------------------------------------------------------------------------- */

/* a: stride, pad, dilation (down and across), groups */
typedef struct sizes {
    int64_t n, c, h, w, o, kh, kw, oh, ow, a[7];
} sizes;

static dync__attr conv_attr(const int64_t *a, int winograd)
{
    return (dync__attr){
        .conv = {{a[0], a[1]}, {a[2], a[3]}, {a[4], a[5]}, a[6], .winograd = winograd}};
}

static bool random_sizes(sizes *s, bool pointwise)
{
    int64_t groups = test_random_int(1, 3), gc = test_random_int(1, 3);
    bool depthwise = test_random() % 4 == 0;
    bool many = test_random() % 2; /* channels enough for several vectors */
    if (many && depthwise) groups = test_random_int(4, 40);
    if (many && !depthwise) gc = test_random_int(1, 40 / (int)groups);
    s->n = test_random_int(1, 3);
    s->c = depthwise ? groups : groups * gc;
    s->o = depthwise && test_random() % 4
               ? groups
               : groups * test_random_int(1, many && !depthwise ? 60 / (int)groups : 4);
    s->h = test_random_int(1, 9);
    s->w = test_random() % 3 ? test_random_int(1, 11) : test_random_int(12, 45);
    if (pointwise && test_random() % 3 == 0) s->h = s->w = 1;
    s->kh = pointwise ? 1 : test_random_int(1, 4);
    s->kw = pointwise ? 1 : test_random_int(1, 4);
    for (int i = 0; i < 2; i++) {
        s->a[i] = pointwise || test_random() % 2 ? 1 : test_random_int(1, 3);
        s->a[2 + i] = pointwise ? 0 : test_random_int(0, 3);
        s->a[4 + i] = pointwise ? 1 : test_random_int(1, 3);
    }
    s->a[6] = groups;
    int64_t ry = s->h + 2 * s->a[2] - s->a[4] * (s->kh - 1) - 1,
            rx = s->w + 2 * s->a[3] - s->a[5] * (s->kw - 1) - 1;
    if (ry < 0 || rx < 0) return false;
    s->oh = ry / s->a[0] + 1;
    s->ow = rx / s->a[1] + 1;
    int64_t x = s->n * s->c * s->h * s->w, y = s->n * s->o * s->oh * s->ow,
            w = s->o * (s->c / groups) * s->kh * s->kw;
    return DYNC__MAX(DYNC__MAX(x, y), w) < ROOM / 2 - 10;
}

/* Adds up x * w * g over every index triple that a convolution joins, into whichever of them is the
 * result. */
static void plain_conv(const sizes *s, double *x, double *w, double *y, int result)
{
    int64_t gc = s->c / s->a[6], go = s->o / s->a[6];
    for (int64_t n = 0; n < s->n; n++)
        for (int64_t o = 0; o < s->o; o++)
            for (int64_t oy = 0; oy < s->oh; oy++)
                for (int64_t ox = 0; ox < s->ow; ox++)
                    for (int64_t c = 0; c < gc; c++)
                        for (int64_t ky = 0; ky < s->kh; ky++)
                            for (int64_t kx = 0; kx < s->kw; kx++) {
                                int64_t iy = oy * s->a[0] - s->a[2] + ky * s->a[4],
                                        ix = ox * s->a[1] - s->a[3] + kx * s->a[5];
                                if (iy < 0 || iy >= s->h || ix < 0 || ix >= s->w) continue;
                                double *px =
                                    &x[((n * s->c + o / go * gc + c) * s->h + iy) * s->w + ix];
                                double *pw = &w[((o * gc + c) * s->kh + ky) * s->kw + kx],
                                       *py = &y[((n * s->o + o) * s->oh + oy) * s->ow + ox];
                                if (result == 0) *py += *px * *pw;
                                if (result == 1) *px += *py * *pw;
                                if (result == 2) *pw += *px * *py;
                            }
}

static double *dense(const call *k, int operand)
{
    const int64_t *s = CALL(k)->operand[operand].lay.shape;
    double *p = malloc(ROOM * sizeof *p), *q = p;
    for (int64_t a = 0; a < s[0]; a++)
        for (int64_t b = 0; b < s[1]; b++)
            for (int64_t c = 0; c < s[2]; c++)
                for (int64_t d = 0; d < s[3]; d++) *q++ = get(k, operand, a, b, c, d);
    return p;
}

static void check_conv_of(int kernel, int dtype, sizes s)
{
    call k;
    int64_t xs[4] = {s.n, s.c, s.h, s.w}, ws[4] = {s.o, s.c / s.a[6], s.kh, s.kw},
            ys[4] = {s.n, s.o, s.oh, s.ow};
    bool bias = kernel == DYNC__K_conv2d && test_random() % 2;
    int result = kernel == DYNC__K_conv2d ? 0 : kernel == DYNC__K_conv2d_grad_input ? 1 : 2;
    begin(&k, kernel);
    CALL(&k)->attr = conv_attr(s.a, 0);
    add(&k, dtype, 4, result == 1 ? ys : xs, test_random() % 3 == 0);
    add(&k, dtype, 4, result == 2 ? ys : ws, test_random() % 3 == 0);
    if (bias) add(&k, dtype, 1, &s.o, true);
    add(&k, dtype, 4, result == 0 ? ys : result == 1 ? xs : ws, test_random() % 3 == 0);
    REQUIRE(run(&k));
    int last = CALL(&k)->n - 1;
    double *first = dense(&k, 0), *second = dense(&k, 1), *want = calloc(ROOM, sizeof *want),
           *got = dense(&k, last);
    if (result == 0) plain_conv(&s, first, second, want, 0);
    if (result == 1) plain_conv(&s, want, second, first, 1);
    if (result == 2) plain_conv(&s, first, want, second, 2);
    if (bias)
        for (int64_t i = 0; i < s.n * s.o * s.oh * s.ow; i++)
            want[i] += get(&k, 2, i / (s.oh * s.ow) % s.o, 0, 0, 0);
    int64_t count = dync__operand_numel(&CALL(&k)->operand[last]);
    /* small integers: exact, but for the result's rounding */
    EXPECT_NEAR_F64(got, want, count,
                    dtype == DYNC_BF16  ? TOL_BF16_1ULP
                    : dtype == DYNC_F16 ? TOL_F16_1ULP
                                        : 0,
                    0);
    free(first), free(second), free(want), free(got);
    end(&k);
}

static void check_conv(int kernel, int dtype, bool pointwise)
{
    sizes s;
    if (random_sizes(&s, pointwise)) check_conv_of(kernel, dtype, s);
}

/* Groups of images have sums of their own where an image is short. */
TEST(weight_gradient_of_many_images)
{
    for (int i = 0; i < test_count(12); i++) {
        int64_t g = i % 4 == 3 ? 2 : 1, c = g * test_random_int(10 / (int)g, 12 / (int)g),
                h = test_random_int(8, 10), w = test_random_int(8, 10),
                o = g * test_random_int(10, 24), most = (ROOM / 2 - 11) / (DYNC__MAX(c, o) * h * w);
        check_conv_of(DYNC__K_conv2d_grad_weight, DYNC_F32,
                      (sizes){.n = most,
                              .c = c,
                              .h = h,
                              .w = w,
                              .o = o,
                              .kh = 3,
                              .kw = 4,
                              .oh = h,
                              .ow = w - 1,
                              .a = {1, 1, 1, 1, 1, 1, g}});
    }
}

TEST(convolution_and_its_gradients)
{
    static const int kernels[] = {DYNC__K_conv2d, DYNC__K_conv2d_grad_input,
                                  DYNC__K_conv2d_grad_weight};
    for (int i = 0; i < test_count(600); i++)
        check_conv(kernels[i % 3],
                   i % 5 == 0   ? DYNC_F64
                   : i % 7 == 0 ? DYNC_BF16
                                : DYNC_F32,
                   i % 4 == 0);
    for (int i = 0; i < test_count(200); i++) check_conv(kernels[i % 3], DYNC_F64, false);
}

/* By pairs of bf16 where the machine multiplies them, and by way of f32; each with all layouts,
 * threads, channels that leave half a pair empty. */
TEST(convolution_of_sixteen_bits)
{
    static const int kernels[] = {DYNC__K_conv2d, DYNC__K_conv2d, DYNC__K_conv2d_grad_input,
                                  DYNC__K_conv2d_grad_weight};
    unsigned all = dync__cpu_features(),
             levels[] = {all, all & ~(unsigned)DYNC__CPU_BF16,
                         all & ~(unsigned)(DYNC__CPU_BF16 | DYNC__CPU_AVX512), 0};
    for (int i = 0; i < test_count(480); i++) {
        dync__cpu_pretend(levels[i / 4 % 4] | DYNC__CPU_KNOWN);
        dync__pool_set_threads(i % 5 ? 1 : 3);
        check_conv(kernels[i % 4], test_random() % 3 ? DYNC_BF16 : DYNC_F16, i % 3 == 0);
    }
    dync__cpu_pretend(0);
    dync__pool_set_threads(0);
}

/* By tiles of m x m places. Weights are multiples of what the transform of weights divides by, and
 * small: all sums are exact but for the rounding of 1/6 and its kin (m 4), which moves a product by
 * 2^-24 of the transformed values, at most 400 times the weights here. */
static void check_winograd(int kernel, int m)
{
    sizes s = {test_random_int(1, 2),
               test_random_int(16, 26),
               test_random_int(1, 11),
               test_random_int(1, 11),
               test_random_int(16, 26),
               3,
               3,
               0,
               0,
               {1, 1, test_random_int(0, 2), test_random_int(0, 2), 1, 1, test_random_int(1, 2)}};
    double unit = m == 4 ? 576 : 1;
    call k;
    s.oh = s.h + 2 * s.a[2] - 2;
    s.ow = s.w + 2 * s.a[3] - 2;
    if (s.oh <= 0 || s.ow <= 0) return;
    s.c *= s.a[6];
    s.o *= s.a[6];
    int64_t xs[4] = {s.n, s.c, s.h, s.w}, ws[4] = {s.o, s.c / s.a[6], 3, 3},
            ys[4] = {s.n, s.o, s.oh, s.ow};
    bool forward = kernel == DYNC__K_conv2d, bias = forward && test_random() % 2;
    begin(&k, kernel);
    CALL(&k)->attr = conv_attr(s.a, m);
    add(&k, DYNC_F32, 4, forward ? xs : ys, false);
    add(&k, DYNC_F32, 4, ws, test_random() % 3 == 0);
    if (bias) add(&k, DYNC_F32, 1, &s.o, true);
    add(&k, DYNC_F32, 4, forward ? ys : xs, test_random() % 3 == 0);
    for (int e = 0; e < ROOM; e++) ((float *)k.data[1])[e] *= (float)unit;
    dync__pool_set_threads(1 + (int)(test_random() % 3));
    REQUIRE(run(&k));
    int last = CALL(&k)->n - 1;
    double *first = dense(&k, 0), *w = dense(&k, 1), *want = calloc(ROOM, sizeof *want),
           *got = dense(&k, last);
    plain_conv(&s, forward ? first : want, w, forward ? want : first, forward ? 0 : 1);
    if (bias)
        for (int64_t i = 0; i < s.n * s.o * s.oh * s.ow; i++)
            want[i] += get(&k, 2, i / (s.oh * s.ow) % s.o, 0, 0, 0);
    EXPECT_NEAR_F64(got, want, dync__operand_numel(&CALL(&k)->operand[last]), 0,
                    m == 4 ? unit * 1e-3 : 0);
    free(first), free(w), free(want), free(got);
    end(&k);
    dync__pool_set_threads(0);
}

TEST(convolution_by_winograd)
{
    for (int i = 0; i < test_count(160); i++)
        check_winograd(i % 2 ? DYNC__K_conv2d : DYNC__K_conv2d_grad_input, i / 2 % 2 ? 4 : 2);
}

TEST(convolution_without_executable_memory)
{
    static const int kernels[] = {DYNC__K_conv2d, DYNC__K_conv2d_grad_input,
                                  DYNC__K_conv2d_grad_weight};
    dync__codemem_force(DYNC__CODEMEM_REFUSED);
    for (int i = 0; i < 60; i++) check_conv(kernels[i % 3], DYNC_F32, false);
    dync__codemem_force(DYNC__CODEMEM_TWICE);
}

/* ---- convolution of bytes -------------------------------------------------------------------- */

/* Bytes of their whole range; a bias that makes sums wrap. */
static void random_bytes(call *k, bool bias)
{
    for (int b = 0; b < 2; b++)
        for (int e = 0; e < ROOM; e++)
            ((int8_t *)k->data[b])[e] = (int8_t)(test_random() % 8 ? test_random() : 128);
    for (int e = 0; bias && e < ROOM; e++) ((int32_t *)k->data[2])[e] = (int32_t)test_random();
}

/* By fours of bytes where the machine has them, by floats, and without machine code: all that plain
 * loops give, to the bit. Weights that change between the runs of one call count as they are. */
static void check_int_conv(bool pointwise)
{
    unsigned all = dync__cpu_features(),
             levels[] = {all, all & ~(unsigned)DYNC__CPU_VNNI,
                         all & ~(unsigned)(DYNC__CPU_VNNI | DYNC__CPU_AVX512 | DYNC__CPU_BF16), 0};
    sizes s;
    call k;
    if (!random_sizes(&s, pointwise)) return;
    int64_t xs[4] = {s.n, s.c, s.h, s.w}, ws[4] = {s.o, s.c / s.a[6], s.kh, s.kw},
            ys[4] = {s.n, s.o, s.oh, s.ow}, count = s.n * s.o * s.oh * s.ow;
    bool bias = test_random() % 2;
    begin(&k, DYNC__K_int_conv2d);
    CALL(&k)->attr = conv_attr(s.a, 0);
    add(&k, DYNC_I8, 4, xs, test_random() % 3 == 0);
    add(&k, DYNC_I8, 4, ws, test_random() % 3 == 0);
    if (bias) add(&k, DYNC_I32, 1, &s.o, true);
    add(&k, DYNC_I32, 4, ys, test_random() % 3 == 0);
    for (int l = 0; l < 4; l++) {
        dync__cpu_pretend(levels[l] | DYNC__CPU_KNOWN);
        random_bytes(&k, bias);
        if (!EXPECT_OK(CALL(&k)->row->prepare(CALL(&k)))) break;
        for (int again = 0; again < 2; again++) {
            if (again) random_bytes(&k, bias);
            dync__pool_set_threads(test_random() % 8 ? 1 : 3);
            if (!EXPECT_OK(CALL(&k)->row->run(CALL(&k), k.data, NULL))) break;
            double *x = dense(&k, 0), *w = dense(&k, 1), *want = calloc(ROOM, sizeof *want),
                   *got = dense(&k, CALL(&k)->n - 1);
            plain_conv(&s, x, w, want, 0);
            for (int64_t i = 0; i < count; i++) {
                double add = bias ? get(&k, 2, i / (s.oh * s.ow) % s.o, 0, 0, 0) : 0;
                want[i] = (int32_t)(uint32_t)(uint64_t)((int64_t)want[i] + (int64_t)add);
            }
            EXPECT_NEAR_F64(got, want, count, 0, 0);
            free(x), free(w), free(want), free(got);
        }
        CALL(&k)->drop(CALL(&k)->state);
        CALL(&k)->drop = NULL;
    }
    end(&k);
    dync__cpu_pretend(0);
    dync__pool_set_threads(0);
}

TEST(convolution_of_bytes)
{
    for (int i = 0; i < test_count(120); i++) check_int_conv(i % 4 == 0);
}

/* Layers that come and go do not leave their code behind: ever new widths, one at a time. */
TEST(code_of_layers_that_are_gone_is_freed)
{
    int64_t live[3];
    for (int64_t i = 0; i < 480; i++) {
        int64_t w = 20 + i, xs[4] = {1, 3, 5, w}, ws[4] = {8, 3, 3, 3}, ys[4] = {1, 8, 3, w - 2};
        call k;
        begin(&k, i % 2 ? DYNC__K_conv2d_grad_weight : DYNC__K_conv2d);
        CALL(&k)->attr = conv_attr((int64_t[]){1, 1, 0, 0, 1, 1, 1}, 0);
        add(&k, DYNC_F32, 4, xs, false);
        add(&k, DYNC_F32, 4, i % 2 ? ys : ws, false);
        add(&k, DYNC_F32, 4, i % 2 ? ws : ys, false);
        REQUIRE(run(&k));
        end(&k);
        if (i % 160 == 159) live[i / 160] = dync__codemem_read_stats().chunks;
    }
    EXPECT(live[2] <= live[1]);
}

/* Channels for many vectors, rows for several jobs; values that round. */
TEST(threads_do_not_change_a_bit_of_a_convolution)
{
    static const struct {
        int64_t n, c, h, o, k, s, g;
    } layers[] = {{1, 24, 17, 40, 3, 1, 1}, {2, 3, 33, 16, 7, 2, 1},  {1, 48, 21, 48, 3, 2, 48},
                  {1, 32, 9, 96, 1, 1, 2},  {20, 8, 12, 16, 3, 1, 1}, {7, 40, 9, 24, 3, 1, 1}};
    static const int kernels[] = {DYNC__K_conv2d, DYNC__K_conv2d_grad_input,
                                  DYNC__K_conv2d_grad_weight};
    for (int i = 0; i < 3 * (int)DYNC__COUNT_OF(layers); i++) {
        int64_t n = layers[i / 3].n, c = layers[i / 3].c, h = layers[i / 3].h, o = layers[i / 3].o,
                kk = layers[i / 3].k, s = layers[i / 3].s, g = layers[i / 3].g;
        int64_t oh = (h + kk / 2 * 2 - kk) / s + 1, xs[4] = {n, c, h, h},
                ws[4] = {o, c / g, kk, kk}, ys[4] = {n, o, oh, oh};
        int64_t attr[7] = {s, s, kk / 2, kk / 2, 1, 1, g};
        call k;
        begin(&k, kernels[i % 3]);
        CALL(&k)->attr = conv_attr(attr, 0);
        add(&k, DYNC_F32, 4, i % 3 == 1 ? ys : xs, false);
        add(&k, DYNC_F32, 4, i % 3 == 2 ? ys : ws, false);
        add(&k, DYNC_F32, 4, i % 3 == 0 ? ys : i % 3 == 1 ? xs : ws, false);
        for (int b = 0; b < 2; b++)
            for (int e = 0; e < ROOM; e++)
                ((float *)k.data[b])[e] = (float)test_random_int(-1000, 1000) / 777;
        size_t bytes = (size_t)dync__operand_numel(&CALL(&k)->operand[2]) * sizeof(float);
        float *one = malloc(bytes);
        dync__pool_set_threads(1);
        REQUIRE(run(&k));
        memcpy(one, k.data[2], bytes);
        for (int threads = 2; threads < 5; threads++) {
            dync__pool_set_threads(threads);
            memset(k.data[2], 0x55, bytes);
            EXPECT_OK(CALL(&k)->row->run(CALL(&k), k.data, NULL));
            EXPECT_EQ_INT(memcmp(one, k.data[2], bytes), 0);
        }
        free(one);
        end(&k);
    }
    dync__pool_set_threads(0);
}

TEST(convolution_in_several_blocks_of_rows)
{
    for (int i = 0; i < 3; i++) {
        static const int kernels[] = {DYNC__K_conv2d, DYNC__K_conv2d_grad_input,
                                      DYNC__K_conv2d_grad_weight};
        int64_t xs[4] = {1, 8, 60, 60}, ws[4] = {4, 8, 4, 4}, ys[4] = {1, 4, 57, 57};
        sizes s = {1, 8, 60, 60, 4, 4, 4, 57, 57, {1, 1, 0, 0, 1, 1, 1}};
        double *got[3];
        for (int threads = 1; threads <= 3; threads += 2) {
            call k;
            begin(&k, kernels[i]);
            CALL(&k)->attr = conv_attr(s.a, 0);
            add(&k, DYNC_F32, 4, i == 1 ? ys : xs, false);
            add(&k, DYNC_F32, 4, i == 2 ? ys : ws, false);
            add(&k, DYNC_F32, 4, i == 0 ? ys : i == 1 ? xs : ws, false);
            /* the same for both runs */
            for (int e = 0; e < ROOM; e++) {
                ((float *)k.data[0])[e] = (float)(e * 7 % 11 - 5);
                ((float *)k.data[1])[e] = (float)(e * 5 % 13 - 6);
            }
            dync__pool_set_threads(threads);
            REQUIRE(run(&k));
            double *first = dense(&k, 0), *second = dense(&k, 1),
                   *want = calloc(ROOM, sizeof *want);
            got[threads / 2] = dense(&k, 2);
            if (i == 0) plain_conv(&s, first, second, want, 0);
            if (i == 1) plain_conv(&s, want, second, first, 1);
            if (i == 2) plain_conv(&s, first, want, second, 2);
            EXPECT_NEAR_F64(got[threads / 2], want, dync__operand_numel(&CALL(&k)->operand[2]), 0,
                            0);
            free(first), free(second), free(want);
            end(&k);
        }
        dync__pool_set_threads(0);
        free(got[0]), free(got[1]);
    }
}

/* ---- pooling --------------------------------------------------------------------------------- */

static void check_pool(bool max, bool nan)
{
    int64_t planes[2] = {test_random_int(1, 3), test_random_int(1, test_random() % 2 ? 2 : 40)},
            h = test_random_int(1, 9), w = test_random_int(1, 9);
    int64_t kh = test_random_int(1, 3), kw = test_random_int(1, 3), sy = test_random_int(1, 3),
            sx = test_random_int(1, 3);
    int64_t py = test_random_int(0, (int)kh / 2), px = test_random_int(0, (int)kw / 2),
            dy = max ? test_random_int(1, 2) : 1, dx = max ? test_random_int(1, 2) : 1;
    int64_t ry = h + 2 * py - dy * (kh - 1) - 1, rx = w + 2 * px - dx * (kw - 1) - 1;
    bool include = test_random() % 2;
    if (ry < 0 || rx < 0) return;
    int64_t oh = ry / sy + 1, ow = rx / sx + 1;
    /* one more window that starts inside */
    bool ceiled = test_random() % 2 && ry % sy && oh * sy < h + py;
    oh += ceiled;
    int64_t xs[4] = {planes[0], planes[1], h, w}, ys[4] = {planes[0], planes[1], oh, ow};
    call f, b, bare;
    begin(&f, max ? DYNC__K_max_pool2d : DYNC__K_avg_pool2d);
    dync__attr attr = {.pool = {{kh, kw}, {sy, sx}, {py, px}, {dy, dx}, ceiled, include, 0}};
    CALL(&f)->attr = attr;
    add(&f, DYNC_F32, 4, xs, test_random() % 2);
    add(&f, DYNC_F32, 4, ys, test_random() % 2);
    if (max) add(&f, DYNC_I64, 4, ys, test_random() % 2);
    /* windows of nothing but -inf: the first of the picture */
    for (int64_t i = 0; nan && i < planes[0] * planes[1] * h * w; i++)
        if (test_random() % 4)
            dync__store_f64(
                at(&f, 0, i / (planes[1] * h * w), i / (h * w) % planes[1], i / w % h, i % w),
                DYNC_F32, -INFINITY);
    if (nan) dync__store_f64(at(&f, 0, 0, 0, h / 2, w / 2), DYNC_F32, NAN);
    REQUIRE(run(&f));
    begin(&bare, DYNC__K_max_pool2d); /* without an index, by machine code */
    CALL(&bare)->attr = attr;
    add(&bare, DYNC_F32, 4, xs, test_random() % 2);
    add(&bare, DYNC_F32, 4, ys, test_random() % 2);
    for (int64_t i = 0; i < planes[0] * planes[1] * h * w; i++) {
        int64_t a[4] = {i / (planes[1] * h * w), i / (h * w) % planes[1], i / w % h, i % w};
        dync__store_f64(at(&bare, 0, a[0], a[1], a[2], a[3]), DYNC_F32,
                        get(&f, 0, a[0], a[1], a[2], a[3]));
    }
    if (max) REQUIRE(run(&bare));
    begin(&b, max ? DYNC__K_max_pool2d_grad : DYNC__K_avg_pool2d_grad);
    CALL(&b)->attr = attr;
    add(&b, DYNC_F32, 4, ys, test_random() % 2);
    if (max) {
        add(&b, DYNC_I64, 4, ys, false);
        for (int64_t i = 0; i < planes[0] * planes[1] * oh * ow; i++)
            ((int64_t *)b.data[1])[i] = (int64_t)get(
                &f, 2, i / (planes[1] * oh * ow), i / (oh * ow) % planes[1], i / ow % oh, i % ow);
    }
    add(&b, DYNC_F32, 4, xs, test_random() % 2);
    REQUIRE(run(&b));
    int gx = CALL(&b)->n - 1;
    double *want = calloc((size_t)(planes[0] * planes[1] * h * w), sizeof *want);
    for (int64_t i = 0; i < planes[0] * planes[1] * oh * ow; i++) {
        int64_t p = i / (planes[1] * oh * ow), q = i / (oh * ow) % planes[1], oy = i / ow % oh,
                ox = i % ow, place = -1, n = 0, covered = 0;
        double best = -INFINITY, sum = 0, g = get(&b, 0, p, q, oy, ox),
               *plane = want + (p * planes[1] + q) * h * w;
        for (int64_t ky = 0; ky < kh; ky++)
            for (int64_t kx = 0; kx < kw; kx++) {
                int64_t iy = oy * sy - py + ky * dy, ix = ox * sx - px + kx * dx;
                if (iy < h + py && ix < w + px) covered++;
                if (iy < 0 || iy >= h || ix < 0 || ix >= w) continue;
                double v = get(&f, 0, p, q, iy, ix);
                if (place < 0 || v != v || v > best) best = v, place = iy * w + ix;
                sum += v;
                n++;
            }
        if (max) {
            EXPECT_NEAR(get(&f, 1, p, q, oy, ox), best, TOL_EXACT);
            EXPECT_NEAR(get(&bare, 1, p, q, oy, ox), best, TOL_EXACT);
            place = place < 0 ? 0 : place;
            EXPECT_NEAR(get(&f, 2, p, q, oy, ox), (double)place, TOL_EXACT);
            plane[place] += g;
            continue;
        }
        double size = (double)(include ? covered : n);
        EXPECT_NEAR(get(&f, 1, p, q, oy, ox), n ? sum / size : 0, 1e-6);
        for (int64_t e = 0; e < kh * kw; e++) {
            int64_t iy = oy * sy - py + e / kw, ix = ox * sx - px + e % kw;
            if (iy >= 0 && iy < h && ix >= 0 && ix < w) plane[iy * w + ix] += g / size;
        }
    }
    for (int64_t i = 0; i < planes[0] * planes[1] * h * w; i++)
        EXPECT_NEAR(get(&b, gx, i / (planes[1] * h * w), i / (h * w) % planes[1], i / w % h, i % w),
                    want[i], 1e-5);
    free(want);
    end(&f);
    end(&b);
    end(&bare);
}

TEST(max_pooling)
{
    for (int i = 0; i < test_count(300); i++) check_pool(true, i % 5 == 0);
}

TEST(average_pooling)
{
    for (int i = 0; i < test_count(300); i++) check_pool(false, false);
}

TEST(max_pooling_of_infinities_and_nan)
{
    int64_t xs[4] = {1, 1, 2, 4}, ys[4] = {1, 1, 1, 2};
    static const float x[8] = {-INFINITY, -INFINITY, 1, NAN, -INFINITY, -INFINITY, NAN, 2};
    call k;
    begin(&k, DYNC__K_max_pool2d);
    CALL(&k)->attr = (dync__attr){.pool = {{2, 2}, {2, 2}, {0, 0}, {1, 1}, false, false, 0}};
    add(&k, DYNC_F32, 4, xs, false);
    add(&k, DYNC_F32, 4, ys, false);
    add(&k, DYNC_I64, 4, ys, false);
    memcpy(k.data[0], x, sizeof x);
    REQUIRE(run(&k));
    EXPECT_NEAR(get(&k, 1, 0, 0, 0, 0), -INFINITY, 0);
    EXPECT_EQ_INT(get(&k, 2, 0, 0, 0, 0), 0);
    EXPECT_NEAR(get(&k, 1, 0, 0, 0, 1), NAN, 0);
    /* the last NaN, as in PyTorch */
    EXPECT_EQ_INT(get(&k, 2, 0, 0, 0, 1), 6);
    end(&k);
}

/* ---- along a dim ----------------------------------------------------------------------------- */

TEST(sorting_is_stable_and_puts_nan_as_the_greatest)
{
    static const int dtypes[] = {DYNC_F32, DYNC_F64, DYNC_BF16, DYNC_I64,
                                 DYNC_I8,  DYNC_U8,  DYNC_BOOL};
    for (int i = 0; i < test_count(210); i++) {
        int64_t shape[3] = {test_random_int(1, 3), test_random_int(1, 60), test_random_int(1, 3)};
        int dtype = dtypes[i % 7];
        bool is_float = i % 7 < 3, down = test_random() % 2;
        call k;
        begin(&k, DYNC__K_sort);
        CALL(&k)->attr.sort = (dync__attr_sort){1, down};
        add(&k, dtype, 3, shape, test_random() % 2);
        add(&k, dtype, 3, shape, test_random() % 2);
        add(&k, DYNC_I64, 3, shape, test_random() % 2);
        for (int64_t j = 0; is_float && j < shape[1]; j += 7)
            dync__store_f64(at(&k, 0, 0, j, 0, 0), dtype, j % 2 ? NAN : -0.0);
        REQUIRE(run(&k));
        for (int64_t a = 0; a < shape[0]; a++)
            for (int64_t c = 0; c < shape[2]; c++)
                for (int64_t j = 0; j < shape[1]; j++) {
                    int64_t from = (int64_t)get(&k, 2, a, j, c, 0);
                    REQUIRE(from >= 0 && from < shape[1]);
                    EXPECT_NEAR(get(&k, 1, a, j, c, 0), get(&k, 0, a, from, c, 0), TOL_EXACT);
                    if (j == 0) continue;
                    double before = get(&k, 1, a, j - 1, c, 0), now = get(&k, 1, a, j, c, 0);
                    if (down) {
                        double t = before;
                        before = now;
                        now = t;
                    }
                    EXPECT(now != now || before <= now);
                    if (before == now || (before != before && now != now))
                        EXPECT(get(&k, 2, a, j - 1, c, 0) < (double)from);
                }
        end(&k);
    }
}

TEST(scattering)
{
    static const int dtypes[] = {DYNC_F32, DYNC_F64, DYNC_F16, DYNC_I64,
                                 DYNC_I8,  DYNC_I32, DYNC_I16};
    for (int i = 0; i < test_count(420); i++) {
        int kernel = i % 3 == 0   ? DYNC__K_scatter
                     : i % 3 == 1 ? DYNC__K_scatter_add
                                  : DYNC__K_index_add,
            dtype = dtypes[i % 7];
        int64_t base[2] = {test_random_int(1, 6), test_random_int(1, 6)},
                dim = test_random_int(0, 1), places[2], source[2];
        for (int d = 0; d < 2; d++) {
            places[d] = d == dim                      ? test_random_int(0, 8)
                        : kernel == DYNC__K_index_add ? base[d]
                                                      : test_random_int(1, (int)base[d]);
            source[d] = places[d] + (kernel == DYNC__K_index_add ? 0 : test_random_int(0, 2));
        }
        call k;
        begin(&k, kernel);
        CALL(&k)->attr.scatter = (dync__attr_scatter){dim, kernel == DYNC__K_index_add ? 2 : 1};
        add(&k, dtype, 2, base, test_random() % 2);
        if (kernel == DYNC__K_index_add)
            add(&k, DYNC_I64, 1, &places[dim], false);
        else
            add(&k, DYNC_I64, 2, places, false);
        add(&k, dtype, 2, source, test_random() % 2);
        add(&k, dtype, 2, base, test_random() % 2);
        int64_t count = kernel == DYNC__K_index_add ? places[dim] : places[0] * places[1];
        for (int64_t e = 0; e < count; e++)
            ((int64_t *)k.data[1])[e] = test_random_int(0, (int)base[dim] - 1);
        double want[6][6];
        for (int64_t e = 0; e < base[0] * base[1]; e++)
            want[e / base[1]][e % base[1]] = get(&k, 0, e / base[1], e % base[1], 0, 0);
        for (int64_t e = 0; e < places[0] * places[1]; e++) {
            int64_t x[2] = {e / places[1], e % places[1]};
            double v = get(&k, 2, x[0], x[1], 0, 0);
            x[dim] = ((int64_t *)k.data[1])[kernel == DYNC__K_index_add ? x[dim] : e];
            double *to = &want[x[0]][x[1]];
            *to = kernel == DYNC__K_scatter ? v : *to + (kernel == DYNC__K_index_add ? 2 * v : v);
            if (dtype == DYNC_I8) *to = (double)(int8_t)*to;
        }
        REQUIRE(run(&k));
        for (int64_t e = 0; e < base[0] * base[1]; e++)
            EXPECT_NEAR(get(&k, 3, e / base[1], e % base[1], 0, 0), want[e / base[1]][e % base[1]],
                        TOL_EXACT);
        if (count > 0) {
            ((int64_t *)k.data[1])[count - 1] = base[dim];
            dync_on_error(NULL, NULL);
            EXPECT_STATUS(CALL(&k)->row->run(CALL(&k), k.data, NULL), DYNC_ERR_INDEX);
            dync_clear_error();
        }
        end(&k);
    }
}

/* Enough places for threads: what is written, its order and a wrong index do not depend on them. */
TEST(scattering_over_threads)
{
    static const int kernels[] = {DYNC__K_scatter, DYNC__K_scatter_add, DYNC__K_index_add},
                     dtypes[] = {DYNC_F32, DYNC_F64, DYNC_I16, DYNC_BF16,
                                 DYNC_U8,  DYNC_I32, DYNC_I64};
    enum { MOST = 64 };
    for (int i = 0; i < 21; i++) {
        int kernel = kernels[i % 3], dtype = dtypes[i % 7];
        bool slices = kernel == DYNC__K_index_add;
        int64_t base[3] = {test_random_int(45, 60), test_random_int(45, 60),
                           test_random_int(45, 60)},
                dim = i / 3 % 3, places[3], x[3];
        for (int d = 0; d < 3; d++)
            places[d] = d == dim ? test_random_int(60, MOST)
                                 : base[d] - (slices ? 0 : test_random_int(0, 3));
        call k;
        begin(&k, kernel);
        CALL(&k)->attr.scatter = (dync__attr_scatter){dim, slices && i % 2 == 0 ? 3 : 1};
        add(&k, dtype, 3, base, i % 4 == 1);
        if (slices)
            add(&k, DYNC_I64, 1, &places[dim], false);
        else
            add(&k, DYNC_I64, 3, places, false);
        add(&k, dtype, 3, places, i % 4 == 2);
        add(&k, dtype, 3, base, i % 4 == 3);
        int64_t *index = k.data[1],
                count = slices ? places[dim] : places[0] * places[1] * places[2],
                all = base[0] * base[1] * base[2];
        for (int64_t e = 0; e < count; e++) index[e] = test_random_int(0, (int)base[dim] - 1);
        double *want = malloc((size_t)all * sizeof *want);
        for (int64_t e = 0; e < all; e++)
            want[e] = get(&k, 0, e / (base[1] * base[2]), e / base[2] % base[1], e % base[2], 0);
        for (int64_t e = 0; e < places[0] * places[1] * places[2]; e++) {
            x[0] = e / (places[1] * places[2]), x[1] = e / places[2] % places[1],
            x[2] = e % places[2];
            double v = get(&k, 2, x[0], x[1], x[2], 0);
            x[dim] = index[slices ? x[dim] : e];
            double *to = &want[(x[0] * base[1] + x[1]) * base[2] + x[2]];
            *to = kernel == DYNC__K_scatter ? v
                                            : *to + (slices ? CALL(&k)->attr.scatter.alpha * v : v);
            if (dtype == DYNC_U8) *to = (double)(uint8_t)(int64_t)*to;
        }
        for (int threads = 1; threads <= 3; threads += 2) {
            dync__pool_set_threads(threads);
            REQUIRE(run(&k));
            for (int64_t e = 0; e < all; e++)
                REQUIRE(fabs(get(&k, 3, e / (base[1] * base[2]), e / base[2] % base[1], e % base[2],
                                 0) -
                             want[e]) <= (dtype == DYNC_BF16 ? fabs(want[e]) / 128 : 0));
            int64_t at = test_random_int(0, (int)count - 1), was = index[at];
            index[at] = i % 2 ? base[dim] : -1;
            dync_on_error(NULL, NULL);
            EXPECT_STATUS(CALL(&k)->row->run(CALL(&k), k.data, NULL), DYNC_ERR_INDEX);
            dync_clear_error();
            index[at] = was;
        }
        free(want);
        end(&k);
    }
    dync__pool_set_threads(0);
}

TEST(adding_rows_of_an_embedding)
{
    static const int dtypes[] = {DYNC_F32, DYNC_F64, DYNC_BF16, DYNC_F16};
    for (int i = 0; i < 48; i++) {
        int64_t base[3] = {test_random_int(1, 3), 5, test_random_int(1, 40)},
                n = test_random_int(0, 9), source[3] = {base[0], n, base[2]};
        call k;
        begin(&k, DYNC__K_index_add);
        CALL(&k)->attr.scatter = (dync__attr_scatter){1, -2};
        add(&k, dtypes[i / 4 % 4], 3, base, i % 4 == 1);
        add(&k, DYNC_I64, 1, &n, false);
        add(&k, dtypes[i / 4 % 4], 3, source, i % 4 == 2);
        add(&k, dtypes[i / 4 % 4], 3, base, i % 4 == 3);
        for (int64_t e = 0; e < n; e++) ((int64_t *)k.data[1])[e] = test_random_int(0, 4);
        REQUIRE(run(&k));
        for (int64_t e = 0; e < base[0] * base[1] * base[2]; e++) {
            int64_t a = e / (base[1] * base[2]), b = e / base[2] % base[1], c = e % base[2];
            double want = get(&k, 0, a, b, c, 0);
            for (int64_t j = 0; j < n; j++)
                if (((int64_t *)k.data[1])[j] == b) want -= 2 * get(&k, 2, a, j, c, 0);
            EXPECT_NEAR(get(&k, 3, a, b, c, 0), want, TOL_EXACT);
        }
        end(&k);
    }
}

TEST(nothing_to_do)
{
    static const struct {
        int kernel;
        int n;
        int64_t shape[3][2];
    } calls[] = {{DYNC__K_sort, 3, {{3, 0}, {3, 0}, {3, 0}}},
                 {DYNC__K_scatter, 4, {{0, 3}, {0, 3}, {0, 3}}},
                 {DYNC__K_scatter_add, 4, {{2, 3}, {0, 3}, {2, 3}}}};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        call k;
        begin(&k, calls[i].kernel);
        if (calls[i].kernel == DYNC__K_sort)
            CALL(&k)->attr.sort = (dync__attr_sort){1, false};
        else
            CALL(&k)->attr.scatter = (dync__attr_scatter){1, 1};
        for (int o = 0; o < calls[i].n; o++) {
            bool index = (calls[i].kernel == DYNC__K_sort && o == 2) || (calls[i].n == 4 && o == 1);
            add(&k, index ? DYNC_I64 : DYNC_F32, 2, calls[i].shape[o == 3 ? 0 : o], false);
        }
        EXPECT(run(&k));
        end(&k);
    }
}

TEST(attributes_are_printed_by_name)
{
    static const struct {
        int kernel;
        dync__attr attr;
        const char *text;
    } calls[] = {{DYNC__K_matmul, {{{0}, {0}, {0}, 0, 0}}, ""},
                 {DYNC__K_conv2d,
                  {.conv = {{2, 1}, {0, 3}, {1, 1}, 4, 2}},
                  " stride [2, 1] pad [0, 3] dilation [1, 1] groups 4 winograd 2"},
                 {DYNC__K_sort, {.sort = {1, true}}, " dim 1 descending 1"},
                 {DYNC__K_attention,
                  {.attention = {true, false, -1, 0.125}},
                  " causal 1 fast 0 mask -1 scale 0.125"},
                 {DYNC__K_rnn_layer,
                  {.rnn = {4, true, false, {0, 1, -1, 2, 3, 4, 5, -1, -1, -1, -1, -1, -1}}},
                  " gates 4 reverse 1 fast 0 role [0, 1, -1, 2, 3, 4, 5, -1, -1, -1, -1, -1, -1]"}};
    for (int i = 0; i < DYNC__COUNT_OF(calls); i++) {
        dync__str s = {0};
        dync__attr_print(&s, kernel_row(calls[i].kernel)->attr, &calls[i].attr);
        EXPECT_EQ_STR(dync__str_get(&s), calls[i].text);
        dync__str_free(&s);
    }
}

/* Every allocation fails once: the status says so, nothing leaks, the next run is right. */
static void starve(call *k, const char *name)
{
    REQUIRE_OK(CALL(k)->row->prepare(CALL(k)));
    dync__pool_set_threads(1);
    for (int nth = 1; nth < 20; nth++) {
        dync__error_guard guard;
        dync__error_guard_begin(&guard);
        dync__mem_fail_at(nth);
        dync_status status = CALL(k)->row->run(CALL(k), k->data, NULL);
        dync__mem_fail_at(0);
        const dync__error_slot *slot = dync__error_guard_end(&guard);
        if (status == DYNC_OK) break;
        if (!EXPECT_STATUS(status, DYNC_ERR_MEMORY) ||
            !EXPECT_STATUS(slot->status, DYNC_ERR_MEMORY))
            printf("  %s\n", name);
    }
    EXPECT_OK(CALL(k)->row->run(CALL(k), k->data, NULL));
    end(k);
}

TEST(memory_runs_out)
{
    static const int kernels[] = {DYNC__K_conv2d, DYNC__K_conv2d_grad_input,
                                  DYNC__K_conv2d_grad_weight};
    int64_t xs[4] = {2, 6, 8, 9}, ws[4] = {8, 6, 3, 3}, ys[4] = {2, 8, 6, 7},
            conv[7] = {1, 1, 0, 0, 1, 1, 1}, ps[4] = {2, 6, 4, 4};
    int64_t two[2] = {5, 7};
    dync__attr pool = {.pool = {{2, 2}, {2, 2}, {0, 0}, {1, 1}, false, false, 0}};
    call k;
    for (int i = 0; i < 3; i++) {
        begin(&k, kernels[i]);
        CALL(&k)->attr = conv_attr(conv, 0);
        add(&k, DYNC_F32, 4, i == 1 ? ys : xs, true);
        add(&k, DYNC_F32, 4, i == 2 ? ys : ws, true);
        add(&k, DYNC_F32, 4, i == 0 ? ys : i == 1 ? xs : ws, true);
        starve(&k, CALL(&k)->row->name);
    }
    for (int i = 0; i < 2; i++) {
        begin(&k, i ? DYNC__K_max_pool2d_grad : DYNC__K_max_pool2d);
        CALL(&k)->attr = pool;
        add(&k, DYNC_F32, 4, i ? ps : xs, true);
        add(&k, i ? DYNC_I64 : DYNC_F32, 4, ps, true);
        add(&k, i ? DYNC_F32 : DYNC_I64, 4, i ? xs : ps, true);
        starve(&k, CALL(&k)->row->name);
        begin(&k, i ? DYNC__K_avg_pool2d_grad : DYNC__K_avg_pool2d);
        CALL(&k)->attr = pool;
        add(&k, DYNC_F32, 4, i ? ps : xs, true);
        add(&k, DYNC_F32, 4, i ? xs : ps, true);
        starve(&k, CALL(&k)->row->name);
    }
    begin(&k, DYNC__K_sort);
    for (int i = 0; i < 3; i++) add(&k, i == 2 ? DYNC_I64 : DYNC_F16, 2, two, true);
    starve(&k, "sort");
    begin(&k, DYNC__K_scatter_add);
    for (int i = 0; i < 4; i++) add(&k, i == 1 ? DYNC_I64 : DYNC_F16, 2, two, true);
    for (int64_t e = 0; e < 35; e++)
        dync__store_f64(at(&k, 1, e / 7, e % 7, 0, 0), DYNC_I64, (double)(e % 5));
    starve(&k, "scatter_add");
}

TEST_MAIN
