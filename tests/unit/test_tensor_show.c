/* tensor/show.c: what PyTorch 2.15 prints for the same tensors. Where `n` is 0 the elements are 0,
 * step, 2 * step... */
#include "../../src/dync.in.h"
#include "../../src/tensor/tensor.h"
#define TEST_AFTER_EACH (dync_shutdown(), dync_clear_error(), dync_on_error(NULL, NULL))
#include "../test.h"

static const struct {
    const char *name;
    int dtype, ndim;
    int64_t shape[3];
    int n;
    double value[6];
    const char *text;
} rows[] = {
    {"scalar", DYNC_F32, 0, {0}, 1, {3.5}, "tensor(3.5000)"},
    {"scalar_int_valued", DYNC_F32, 0, {0}, 1, {3}, "tensor(3.)"},
    {"integers",
     DYNC_F32,
     2,
     {2, 2},
     4,
     {1, 2, 3, -4},
     "tensor([[ 1.,  2.],\n        [ 3., -4.]])"},
    {"decimals",
     DYNC_F32,
     2,
     {2, 2},
     4,
     {1, -2.5, 0.125, 100},
     "tensor([[  1.0000,  -2.5000],\n        [  0.1250, 100.0000]])"},
    {"wide_range",
     DYNC_F32,
     1,
     {3},
     3,
     {0.001, 1, 2000.5},
     "tensor([1.0000e-03, 1.0000e+00, 2.0005e+03])"},
    {"large", DYNC_F32, 1, {2}, 2, {200000000.0, 100000000.0}, "tensor([2.0000e+08, 1.0000e+08])"},
    {"small", DYNC_F32, 1, {2}, 2, {5e-05, 0.0001}, "tensor([5.0000e-05, 1.0000e-04])"},
    {"special",
     DYNC_F32,
     1,
     {3},
     3,
     {(double)NAN, (double)INFINITY, -(double)INFINITY},
     "tensor([nan, inf, -inf])"},
    {"special_mixed",
     DYNC_F32,
     1,
     {4},
     4,
     {1.5, (double)NAN, (double)INFINITY, -(double)INFINITY},
     "tensor([1.5000,    nan,    inf,   -inf])"},
    {"special_whole",
     DYNC_F64,
     1,
     {3},
     3,
     {2, (double)INFINITY, 0},
     "tensor([2., inf, 0.], dtype=torch.float64)"},
    {"zeros", DYNC_F32, 1, {2}, 2, {0, -0.0}, "tensor([0., -0.])"},
    {"f64",
     DYNC_F64,
     2,
     {1, 3},
     3,
     {0.1, 0.25, 1000000000.0},
     "tensor([[1.0000e-01, 2.5000e-01, 1.0000e+09]], dtype=torch.float64)"},
    {"ints",
     DYNC_I64,
     2,
     {2, 3},
     6,
     {1, -20, 300, 4, 5, 6},
     "tensor([[  1, -20, 300],\n        [  4,   5,   6]])"},
    {"i8", DYNC_I8, 1, {3}, 3, {1, 2, -128}, "tensor([   1,    2, -128], dtype=torch.int8)"},
    {"bools", DYNC_BOOL, 1, {2}, 2, {1, 0}, "tensor([ True, False])"},
    {"f16", DYNC_F16, 1, {2}, 2, {0.1, 2}, "tensor([0.1000, 2.0000], dtype=torch.float16)"},
    {"bf16", DYNC_BF16, 1, {2}, 2, {0.1, 2}, "tensor([0.1001, 2.0000], dtype=torch.bfloat16)"},
    {"three_dims",
     DYNC_I32,
     3,
     {2, 1, 2},
     4,
     {1, 2, 3, 4},
     "tensor([[[1, 2]],\n\n        [[3, 4]]], dtype=torch.int32)"},
    {"lines",
     DYNC_F32,
     1,
     {14},
     0,
     {0},
     "tensor([ 0.0000,  1.5000,  3.0000,  4.5000,  6.0000,  7.5000,  9.0000, 10.5000,\n"
     "        12.0000, 13.5000, 15.0000, 16.5000, 18.0000, 19.5000])"},
    {"matrix_lines",
     DYNC_I64,
     2,
     {2, 25},
     0,
     {0},
     "tensor([[  0,   7,  14,  21,  28,  35,  42,  49,  56,  63,  70,  77,  84,  91,\n"
     "          98, 105, 112, 119, 126, 133, 140, 147, 154, 161, 168],\n"
     "        [175, 182, 189, 196, 203, 210, 217, 224, 231, 238, 245, 252, 259, 266,\n"
     "         273, 280, 287, 294, 301, 308, 315, 322, 329, 336, 343]])"},
    {"summary", DYNC_I64, 1, {1001}, 0, {0}, "tensor([   0,    1,    2,  ...,  998,  999, 1000])"},
    {"summary_2d",
     DYNC_F32,
     2,
     {40, 30},
     0,
     {0},
     "tensor([[0.0000e+00, 1.0000e+00, 2.0000e+00,  ..., 2.7000e+01, 2.8000e+01,\n"
     "         2.9000e+01],\n"
     "        [3.0000e+01, 3.1000e+01, 3.2000e+01,  ..., 5.7000e+01, 5.8000e+01,\n"
     "         5.9000e+01],\n"
     "        [6.0000e+01, 6.1000e+01, 6.2000e+01,  ..., 8.7000e+01, 8.8000e+01,\n"
     "         8.9000e+01],\n        ...,\n"
     "        [1.1100e+03, 1.1110e+03, 1.1120e+03,  ..., 1.1370e+03, 1.1380e+03,\n"
     "         1.1390e+03],\n"
     "        [1.1400e+03, 1.1410e+03, 1.1420e+03,  ..., 1.1670e+03, 1.1680e+03,\n"
     "         1.1690e+03],\n"
     "        [1.1700e+03, 1.1710e+03, 1.1720e+03,  ..., 1.1970e+03, 1.1980e+03,\n"
     "         1.1990e+03]])"},
};

static dync__tensor *make(int dtype, int ndim, const int64_t *shape)
{
    dync__layout lay;
    return dync__layout_contiguous(&lay, ndim, shape) == DYNC_OK
               ? dync__tensor_empty(dtype, DYNC_CPU, &lay)
               : NULL;
}

static bool shows(const dync__tensor *t, const char *expected)
{
    dync__str s = {0};
    dync__tensor_show(&s, t);
    bool same = EXPECT_EQ_STR(dync__str_get(&s), expected);
    dync__str_free(&s);
    return same;
}

TEST(like_pytorch)
{
    for (int i = 0; i < DYNC__COUNT_OF(rows); i++) {
        dync__tensor *t = make(rows[i].dtype, rows[i].ndim, rows[i].shape);
        double step = strcmp(rows[i].name, "lines") == 0          ? 1.5
                      : strcmp(rows[i].name, "matrix_lines") == 0 ? 7
                                                                  : 1;
        size_t bytes = dync__dtype_info(t->dtype)->bytes;
        for (int64_t k = 0; k < t->numel; k++)
            dync__store_f64((char *)dync__tensor_data(t) + (size_t)k * bytes, t->dtype,
                            rows[i].n ? rows[i].value[k] : step * (double)k);
        if (!shows(t, rows[i].text)) printf("    in row %s\n", rows[i].name);
        dync__unref(t);
    }
}

TEST(without_elements_or_data)
{
    dync__tensor *t = make(DYNC_F32, 1, (int64_t[]){0});
    shows(t, "tensor([])");
    dync__unref(t);
    t = make(DYNC_I64, 1, (int64_t[]){0});
    shows(t, "tensor([], dtype=torch.int64)");
    dync__unref(t);
    t = make(DYNC_F32, 3, (int64_t[]){2, 0, 3});
    shows(t, "tensor([], size=(2, 0, 3))");
    dync__layout lay = t->lay;
    dync__unref(t);
    t = dync__tensor_fake(DYNC_F64, DYNC_CPU, &lay);
    shows(t, "tensor(..., size=(2, 0, 3), dtype=torch.float64)");
    dync__unref(t);
    lay = (dync__layout){1, {5}, {1}, 0};
    t = dync__tensor_empty(DYNC_F32, DYNC_META, &lay);
    shows(t, "tensor(..., device='meta', size=(5,))");
    dync__unref(t);
}

TEST(suffixes)
{
    dync__tensor *t = make(DYNC_F64, 1, (int64_t[]){2});
    memset(dync__tensor_data(t), 0, 16);
    t->flags |= DYNC__T_REQUIRES_GRAD;
    shows(t, "tensor([0., 0.], dtype=torch.float64, requires_grad=True)");
    dync__unref(t);
    t = make(DYNC_F64, 1, (int64_t[]){6});
    for (int i = 0; i < 6; i++) ((double *)dync__tensor_data(t))[i] = 1.5;
    shows(t, "tensor([1.5000, 1.5000, 1.5000, 1.5000, 1.5000, 1.5000], dtype=torch.float64)");
    t->flags |= DYNC__T_REQUIRES_GRAD;
    shows(t,
          "tensor([1.5000, 1.5000, 1.5000, 1.5000, 1.5000, 1.5000], dtype=torch.float64,\n       "
          "requires_grad=True)");
    dync__unref(t);
}

TEST(strided)
{
    dync__tensor *t = make(DYNC_I64, 2, (int64_t[]){2, 3});
    for (int i = 0; i < 6; i++) ((int64_t *)dync__tensor_data(t))[i] = i;
    dync__layout turned = {2, {3, 2}, {1, 3}, 0}, spread = {2, {2, 2}, {0, 1}, 4};
    dync__tensor *a = dync__tensor_alias(t, DYNC_I64, &turned),
                 *b = dync__tensor_alias(t, DYNC_I64, &spread);
    shows(a, "tensor([[0, 3],\n        [1, 4],\n        [2, 5]])");
    shows(b, "tensor([[4, 5],\n        [4, 5]])");
    dync__unref(a);
    dync__unref(b);
    dync__unref(t);
}

TEST(brief)
{
    dync__tensor *t = make(DYNC_BF16, 2, (int64_t[]){2, 3});
    dync__str s = {0};
    dync__tensor_brief(&s, t);
    EXPECT_EQ_STR(dync__str_get(&s), "bf16[2, 3]");
    dync__str_free(&s);
    dync__unref(t);
}

TEST_MAIN
