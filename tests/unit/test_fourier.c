/* tests/unit/test_fourier.c: transforms of every kind and many lengths beside sums written out in
 * f64: eager, compiled, of another dim, cut and filled with zeros; gradients by their adjoint. */
#define TEST_AFTER_EACH dync_shutdown()
#include "../../src/dync.in.h"
#include "../test.h"

enum { FFT, IFFT, RFFT, IRFFT, KINDS };
static const char *const kind_name[] = {"fft", "ifft", "rfft", "irfft"};
static int64_t length;
static int dim;

#define TRANSFORM(name)                                                      \
    static dync_tensor *name(dync_tensor *x)                                 \
    {                                                                        \
        return dync_fft_##name(x, length ? DYNC_V(length) : DYNC_NONE, dim); \
    }
TRANSFORM(fft)
TRANSFORM(ifft)
TRANSFORM(rfft)
TRANSFORM(irfft)
static dync_tensor *(*const transform[])(dync_tensor *) = {fft, ifft, rfft, irfft};

/* of one row of n, in pairs; in: so many numbers are there */
static void by_sums(int kind, const double *x, int64_t in, int64_t n, double *y)
{
    bool pairs = kind != RFFT, back = kind == IFFT || kind == IRFFT;
    int64_t bins = n / 2 + 1, out = kind == RFFT ? bins : n, most = kind == IRFFT ? bins : n;
    double *wave = malloc((size_t)n * 2 * sizeof *wave);
    for (int64_t i = 0; i < n; i++) {
        double angle = (back ? 2 : -2) * 3.14159265358979323846 * (double)i / (double)n;
        wave[2 * i] = cos(angle), wave[2 * i + 1] = sin(angle);
    }
    for (int64_t k = 0; k < out; k++) {
        double re = 0, im = 0;
        for (int64_t j = 0; j < in && j < most; j++) {
            const double *w = &wave[j * k % n * 2];
            double xr = x[pairs ? 2 * j : j], xi = pairs ? x[2 * j + 1] : 0,
                   counts = kind != IRFFT          ? 1
                            : j == 0 || 2 * j == n ? 1
                                                   : 2;
            re += counts * (xr * w[0] - xi * w[1]);
            im += xr * w[1] + xi * w[0];
        }
        double scale = back ? 1 / (double)n : 1;
        if (kind == IRFFT)
            y[k] = re * scale;
        else
            y[2 * k] = re * scale, y[2 * k + 1] = im * scale;
    }
    free(wave);
}

/* rows of `in` numbers along the last dim, transformed to n; NULL: as they are */
static bool agrees(int kind, dync_tensor *got, dync_tensor *x, int64_t in, int64_t n, double tol)
{
    int64_t out = kind == RFFT ? n / 2 + 1 : n, wide = kind == IRFFT ? out : 2 * out,
            each = kind == RFFT ? in : 2 * in, rows = dync_numel(x) / each;
    double *want = malloc((size_t)wide * sizeof *want), worst = 0, most = 0;
    if (!got || dync_numel(got) != rows * wide) return free(want), false;
    const double *from = dync_data(dync_contiguous(dync_to_dtype(dync_detach(x), DYNC_F64))),
                 *to = dync_data(dync_contiguous(dync_to_dtype(dync_detach(got), DYNC_F64)));
    for (int64_t r = 0; r < rows; r++) {
        by_sums(kind, from + r * each, in, n, want);
        for (int64_t i = 0; i < wide; i++) {
            worst = fmax(worst, fabs(want[i] - to[r * wide + i]));
            most = fmax(most, fabs(want[i]));
        }
    }
    free(want);
    return worst <= tol * (1e-30 + most);
}

static void one(int kind, int64_t rows, int64_t n, int64_t cut, dync_dtype dtype, bool compiled)
{
    double tol = dtype == DYNC_F64 ? 1e-12 : 4e-6;
    int64_t in = (kind == IRFFT ? n / 2 + 1 : n) + cut;
    if (in < 1) return;
    length = cut || kind == IRFFT ? n : 0;
    dim = -1;
    dync_tensor *x = kind == RFFT ? dync_randn(dync_shape(rows, in), .dtype = dtype)
                                  : dync_randn(dync_shape(rows, in, 2), .dtype = dtype);
    dync_tensor *plain = transform[kind](x);
    bool good = agrees(kind, plain, x, in, n, tol);
    if (compiled) {
        dync_compiled *f = dync_compile_opt(DYNC_FN(transform[kind]), kind_name[kind],
                                            (dync_compile_options){.dynamic = DYNC_DYNAMIC_OFF});
        for (int again = 0; again < 2; again++)
            good = agrees(kind, dync_call(f, x), x, in, n, tol) && good;
        dync_compiled_free(f);
    }
    if (!EXPECT(good))
        printf("    %s of %lld rows of %lld, %lld given\n", kind_name[kind], (long long)rows,
               (long long)n, (long long)in);
}

TEST(lengths)
{
    static const int64_t others[] = {127, 128, 130, 144, 169,  192,  243,  251,
                                     256, 480, 500, 512, 1000, 1024, 2310, 4489};
    for (int kind = 0; kind < KINDS; kind++) {
        for (int64_t n = 1; n <= 100; n += n < 40 ? 1 : 3) DYNC_SCOPE
            one(kind, 1 + n % 3, n, 0, n % 2 ? DYNC_F64 : DYNC_F32, n % 9 == 0);
        for (size_t i = 0; i < sizeof others / sizeof *others; i++) DYNC_SCOPE
            one(kind, 2, others[i], 0, i % 3 ? DYNC_F32 : DYNC_F64, i % 4 == 1);
    }
}

/* Where sines are 0 and cosines 1 they are so exactly: the first and the last bin of real numbers
 * are real (but the first of long odd lengths, docs/limits.md); whole numbers of a length of four
 * give whole numbers. */
TEST(right_angles)
{
    for (int64_t n = 1; n <= 64; n++) DYNC_SCOPE {
        length = 0;
        dim = -1;
        dync_tensor *y = rfft(dync_randn(dync_shape(3, n), .dtype = n % 2 ? DYNC_F64 : DYNC_F32)),
                    *im = dync_select(y, -1, 1);
        bool first = dync_bool(dync_any(dync_select(im, 1, 0), DYNC_ALL, false)),
             last = dync_bool(dync_any(dync_select(im, 1, -1), DYNC_ALL, false));
        if (!EXPECT((!first || (n > 32 && n % 2)) && (!last || n % 2)))
            printf("    of %lld\n", (long long)n);
    }
    dync_tensor *y = fft(dync_from((float[]){1, 10, 2, 20, 3, 30, 5, 50}, dync_shape(4, 2)));
    const float want[] = {11, 110, -32, -17, -3, -30, 28, -23};
    EXPECT(dync_equal(y, dync_from(want, dync_shape(4, 2))));
}

/* Rows in lanes and one by one, of every kind of length, as the kernel has them. */
TEST(rows)
{
    static const int64_t lengths[] = {64, 67, 81, 128, 134, 162, 210, 256, 361, 512, 1000};
    for (int kind = 0; kind < KINDS; kind++)
        for (int64_t rows = 1; rows < 20; rows += 3) DYNC_SCOPE {
            int64_t n = lengths[(rows + 3 * kind) % (sizeof lengths / sizeof *lengths)];
            one(kind, rows, n, 0, rows % 2 ? DYNC_F32 : DYNC_F64, rows % 4 == 0);
        }
}

TEST(cut_and_filled)
{
    for (int kind = 0; kind < KINDS; kind++)
        for (int64_t n = 1; n < 140; n += 11)
            for (int64_t cut = -3; cut <= 3; cut++) DYNC_SCOPE
                one(kind, 2, n, cut, DYNC_F64, false);
}

/* The transformed dim in front gives what it gives at the end. */
TEST(another_dim)
{
    for (int kind = 0; kind < KINDS; kind++)
        for (int64_t n = 5; n < 200; n += 31) DYNC_SCOPE {
            dync_tensor *x = kind == RFFT ? dync_randn(dync_shape(3, n, 4))
                                          : dync_randn(dync_shape(3, n, 4, 2));
            length = 0;
            dim = 2;
            dync_tensor *last = transform[kind](dync_transpose(x, 1, 2));
            dim = 1;
            EXPECT(dync_allclose(transform[kind](x), dync_transpose(last, 1, 2), 1e-6, 1e-5));
        }
}

/* <g, F d> = <F' g, d>: what backward gives is the adjoint. */
TEST(gradients)
{
    for (int compiled = 0; compiled < 2; compiled++)
        for (int kind = 0; kind < KINDS; kind++)
            for (int64_t n = 2; n < 180; n += 29) DYNC_SCOPE {
                dync_dims shape = kind == RFFT ? dync_shape(2, n) : dync_shape(2, n, 2);
                dync_tensor *x = dync_randn(shape, .dtype = DYNC_F64),
                            *d = dync_randn(shape, .dtype = DYNC_F64);
                dync_compiled *f = dync_compile_opt(DYNC_FN(transform[kind]), kind_name[kind],
                                                    (dync_compile_options){0});
                length = 0;
                dim = -1;
                dync_requires_grad_(x, true);
                dync_tensor *y = compiled ? dync_call(f, x) : transform[kind](x);
                dync_tensor *g = dync_randn_like(dync_detach(y));
                EXPECT_OK(dync_backward(dync_sum(dync_mul(y, g), DYNC_ALL, false)));
                double left = dync_item(dync_sum(dync_mul(transform[kind](d), g), DYNC_ALL, false)),
                       right = dync_item(dync_sum(dync_mul(dync_grad(x), d), DYNC_ALL, false));
                if (!EXPECT_NEAR(left, right, 1e-9 * (1 + fabs(left))))
                    printf("    %s of %lld\n", kind_name[kind], (long long)n);
                dync_compiled_free(f);
            }
}
TEST_MAIN
