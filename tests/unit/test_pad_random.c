/* kernel/pad.c and the border of op/lower_pad.c: random arrays of every dtype, in several orders of
 * memory, with borders before and after, cut off, and none: what each place must hold, by one
 * kernel, operator by operator (DYNC_DISABLE=whole) and compiled; gradients the same way. */
#include "dync.in.h"
#include "op/rows.h"
#include "test.h"
#include "tol.h"

static const dync_dtype dtypes[] = {DYNC_F32, DYNC_F64, DYNC_F16, DYNC_BF16, DYNC_I64,
                                    DYNC_I32, DYNC_I16, DYNC_I8,  DYNC_U8,   DYNC_BOOL};
static int below(int n) { return test_random_int(0, n - 1); }

typedef struct padding {
    dync_dims amount; /* as dync_pad takes them */
    dync_value value;
} padding;
static padding now;

static dync_tensor *padded(dync_tensor *x) { return dync_pad(x, now.amount, now.value); }
/* twice in one expression, and what reads it beside */
static dync_tensor *padded_twice(dync_tensor *x)
{
    dync_tensor *y = padded(x);
    return dync_mul(dync_add(y, padded(dync_neg(x))), y);
}

/* Slices of larger arrays, dims in any order. */
static dync_tensor *drawn(dync_dtype dtype)
{
    int n = 1 + below(4);
    dync_dims shape = {.n = n}, order = {.n = n};
    for (int i = 0; i < n; i++) {
        shape.d[i] = 4 + (below(9) ? below(below(4) ? 6 : 150 / (n * n)) : -1);
        order.d[i] = i;
    }
    dync_tensor *x = dync_to_dtype(dync_mul(dync_randn(shape), DYNC_V(3)), dtype);
    for (int i = 0; i < n; i++) x = dync_slice(x, i, below(2), shape.d[i] - 2, 1);
    if (below(2)) x = dync_clone(x);
    for (int i = n - 1; i > 0; i--) {
        int j = below(i + 1);
        int64_t t = order.d[i];
        order.d[i] = order.d[j], order.d[j] = t;
    }
    return below(2) ? dync_permute(x, order) : x;
}

static void draw_amounts(const dync_tensor *x)
{
    int n = dync_ndim(x);
    now.amount.n = 2 * (1 + below(n));
    for (int i = 0; i < now.amount.n; i++) {
        int64_t size = dync_size(x, n - 1 - i / 2);
        int64_t a = below(3) == 0 ? 0 : below(5) == 0 ? -below(2) : below(30) ? below(4) : 70;
        now.amount.d[i] = 2 * a < -size ? 0 : a;
    }
    now.value = below(3) == 0   ? DYNC_NONE
                : below(2) == 0 ? dync_v_float(below(9) / 4.0 - 1)
                : below(4) == 0 ? dync_v_float(-0.0)
                                : dync_v_int(below(120));
}

/* Bytes of the element at that place of the result: of x, or of the border. */
static const char *expected(const char *x, const int64_t *size, const char *border, int n,
                            const int64_t *at, size_t bytes)
{
    int64_t place = 0;
    for (int d = 0; d < n; d++) {
        int k = 2 * (n - 1 - d);
        int64_t i = at[d] - (k < now.amount.n ? now.amount.d[k] : 0);
        if (i < 0 || i >= size[d]) return border;
        place = place * size[d] + i;
    }
    return x + (size_t)place * bytes;
}

static bool right(dync_tensor *x, dync_tensor *y, dync_dtype dtype)
{
    int n = dync_ndim(x);
    size_t bytes = dync__dtype_info(dtype)->bytes;
    int64_t size[DYNC_MAX_DIMS], at[DYNC_MAX_DIMS] = {0}, all = y ? dync_numel(y) : -1;
    dync_value value = now.value.kind == DYNC_KIND_NONE ? dync_v_int(0) : now.value;
    const char *from = dync_data(dync_contiguous(x)), *to = y ? dync_data(dync_contiguous(y)) : "",
               *border = dync_data(dync_full(dync_shape(1), value, .dtype = dtype));
    for (int d = 0; d < n; d++) size[d] = dync_size(x, d);
    for (int64_t i = 0; i < all; i++) {
        if (memcmp(to + (size_t)i * bytes, expected(from, size, border, n, at, bytes), bytes))
            return false;
        for (int d = n - 1; d >= 0 && ++at[d] == dync_size(y, d); d--) at[d] = 0;
    }
    return all >= 0;
}

static bool same_places(dync_tensor *a, dync_tensor *b)
{
    for (int d = 0; a && b && d < dync_ndim(a); d++)
        if (dync_size(a, d) != dync_size(b, d) || dync_stride(a, d) != dync_stride(b, d))
            return false;
    return a && b;
}

TEST(borders)
{
    for (int k = 0; k < 1500; k++) DYNC_SCOPE {
        dync_dtype dtype = dtypes[below((int)(sizeof dtypes / sizeof dtypes[0]))];
        dync_tensor *x = drawn(dtype);
        draw_amounts(x);
        bool below_zero = now.value.kind == DYNC_KIND_FLOAT && now.value.as.f < 0;
        if (dtype == DYNC_U8 && below_zero) now.value = DYNC_NONE; /* does not fit: an error */
        dync_tensor *y = padded(x), *again = padded(x);
        EXPECT_EQ_INT(dync_config_set("disable", "whole"), DYNC_OK);
        dync_tensor *plain = padded(x);
        EXPECT_EQ_INT(dync_config_set("disable", ""), DYNC_OK);
        bool ok = EXPECT(right(x, y, dtype)) && EXPECT(right(x, again, dtype)) &&
                  EXPECT(right(x, plain, dtype)) && EXPECT(same_places(y, plain));
        if (k % 15 == 0) {
            dync_compiled *f = dync_compile(padded), *twice = dync_compile(padded_twice);
            ok = EXPECT(right(x, dync_call(f, x), dtype)) && ok;
            if (dtype != DYNC_BOOL)
                ok = EXPECT(dync_equal(dync_call(twice, x), padded_twice(x))) && ok;
            dync_compiled_free(f);
            dync_compiled_free(twice);
        }
        if (!ok)
            printf("    round %d: %s, %d dims\n", k, dync__dtype_info(dtype)->name, dync_ndim(x));
    }
}

/* In pieces, which begin within rows. */
TEST(borders_shared)
{
    dync_dims shapes[] = {dync_shape(37, 61, 43), dync_shape(200001), dync_shape(70000, 3)};
    dync__pool_set_threads(3);
    dync__pool_force(DYNC__POOL_SHARED);
    for (int k = 0; k < 9; k++) DYNC_SCOPE {
        dync_tensor *x = dync_randn(shapes[k / 3]);
        now.amount = shapes[k / 3].n == 1 ? dync_shape(5, 2) : dync_shape(k % 3, 1, 2, 5 - k);
        now.value = DYNC_V(0.5);
        EXPECT(right(x, padded(x), DYNC_F32));
        dync_dtype dtype = dtypes[4 + k % 6];
        dync_tensor *y = dync_to_dtype(x, dtype);
        now.value = DYNC_V(1);
        EXPECT(right(y, padded(y), dtype));
    }
    dync__pool_force(DYNC__POOL_TRIED);
}

/* Of a slice: what comes in, inside zeros; of a border: what lies inside it. */
TEST(gradients)
{
    for (int k = 0; k < 300; k++) DYNC_SCOPE {
        dync_tensor *x = dync_detach(drawn(k % 2 ? DYNC_F32 : DYNC_F64));
        int dim = below(dync_ndim(x));
        int64_t size = dync_size(x, dim), begin = below((int)size + 1),
                end = begin + below((int)(size - begin) + 1);
        dync_requires_grad_(x, true);
        dync_tensor *part = dync_slice(x, dim, begin, end, 1);
        dync_tensor *w = dync_detach(dync_mul(dync_cos(part), DYNC_V(2)));
        dync_backward(dync_sum(dync_mul(part, w), DYNC_ALL, false));
        dync_tensor *gx = dync_grad(x), *zeros = dync_zeros_like(x);
        DYNC_NO_GRAD dync_copy_(dync_slice(zeros, dim, begin, end, 1), w);
        EXPECT(dync_equal(gx, zeros));
    }
}
TEST_MAIN
