/* tests/unit/test_dense.c: convolutions, pools and sorts of operands that are not row major (pass
 * "dense"), at every level: inputs, weights and incoming gradients lie in channels last, with sides
 * transposed, spread, expanded or reversed in memory; the operator alone, behind and before loops,
 * twice on one operand, and one behind the other. Beside it is the same function of row-major
 * copies without the pass. Elements are small integers, of which every sum is exact, so results are
 * equal whatever form computes them. */
#include "../../src/dync.in.h"
#include "../../src/codegen/jit.h"
#define TEST_AFTER_EACH \
    (dync__cpu_pretend(0), dync_shutdown(), dync_clear_error(), dync_on_error(NULL, NULL))
#include "../test.h"

/* ---- how an operand lies --------------------------------------------------------------------- */
enum { ROW_MAJOR, CHANNELS_LAST, TRANSPOSED, SPREAD, EXPANDED, BATCH_INSIDE, WAYS };

static dync_tensor *integers(dync_dims shape, dync_dtype dtype)
{
    return dync_to_dtype(dync_floor(dync_mul(dync_sub(dync_rand(shape), 0.5), 7.0)), dtype);
}

/* [a, b, c, d] of small integers, in memory as `way` says. */
static dync_tensor *lying(int way, int64_t a, int64_t b, int64_t c, int64_t d, dync_dtype dtype)
{
    switch (way) {
    case CHANNELS_LAST:
        return dync_permute(integers(dync_shape(a, c, d, b), dtype), dync_shape(0, 3, 1, 2));
    case TRANSPOSED: return dync_transpose(integers(dync_shape(a, b, d, c), dtype), 2, 3);
    case SPREAD: {
        dync_tensor *x = integers(dync_shape(a, b, 2 * c, d + 3), dtype);
        return dync_slice(dync_slice(x, 2, 1, 2 * c, 2), 3, 2, d + 2, 1);
    }
    case EXPANDED:
        return dync_expand(integers(dync_shape(a, 1, c, d), dtype), dync_shape(a, b, c, d));
    case BATCH_INSIDE:
        return dync_permute(integers(dync_shape(b, c, a, d), dtype), dync_shape(2, 0, 1, 3));
    default: return integers(dync_shape(a, b, c, d), dtype);
    }
}

/* ---- functions ------------------------------------------------------------------------------- */
static struct {
    int op, around, stride, pad, dilation, groups;
} how;

static dync_tensor *conv(dync_tensor *x, dync_tensor *w)
{
    return dync_conv2d(x, w, NULL, dync_shape(how.stride), dync_shape(how.pad),
                       dync_shape(how.dilation), how.groups);
}

static dync_tensor *pool(dync_tensor *x)
{
    dync_tensor *y =
        dync_avg_pool2d(x, dync_shape(2), dync_shape(how.stride), dync_shape(0), false, true);
    return dync_mul(y, 4.0);
}

static dync_tensor *greatest(dync_tensor *x)
{
    dync_value v = dync_max_pool2d_with_indices(x, dync_shape(2), dync_shape(how.stride),
                                                dync_shape(0), dync_shape(1), false);
    dync_tensor *at = dync_as_tensor(dync_at(v, 1));
    return dync_add(dync_as_tensor(dync_at(v, 0)),
                    dync_to_dtype(dync_remainder(at, 16), dync_type(x)));
}

static dync_tensor *sorted(dync_tensor *x)
{
    dync_value v = dync_sort(x, how.pad + 1, how.stride == 2);
    return dync_add(dync_as_tensor(dync_at(v, 0)),
                    dync_to_dtype(dync_as_tensor(dync_at(v, 1)), dync_type(x)));
}

static dync_tensor *applied(dync_tensor *x, dync_tensor *w)
{
    switch (how.op) {
    case 0: return conv(x, w);
    case 1: return pool(x);
    case 2: return greatest(x);
    case 3: return sorted(x);
    case 4: return pool(conv(x, w));
    case 5: return conv(greatest(x), w);
    default: return dync_add(conv(x, w), conv(dync_neg(x), w));
    }
}

static dync_value function(const dync_value *v, int n, void *user)
{
    dync_tensor *x = dync_as_tensor(v[0]), *w = dync_as_tensor(v[1]);
    (void)n, (void)user;
    if (how.around & 1) x = dync_relu(x);
    dync_tensor *y = applied(x, w);
    if (how.around & 2) y = dync_sub(dync_mul(y, 2.0), 1.0);
    if (how.around & 4) y = dync_transpose(y, 1, 3);
    return dync_tuple(y, x);
}

/* ---- comparing ------------------------------------------------------------------------------- */
static const unsigned levels[] = {
    0,
    DYNC__CPU_AVX2 | DYNC__CPU_FMA | DYNC__CPU_F16C,
    DYNC__CPU_AVX2 | DYNC__CPU_FMA | DYNC__CPU_F16C | DYNC__CPU_AVX512,
};

static dync_tensor *leaf(dync_tensor *x) { return dync_requires_grad_(dync_detach(x), true); }

typedef struct sides {
    dync_tensor *y, *gx, *gw;
} sides;
/* f NULL: plainly. gy: how the gradient that arrives lies. */
static sides once(dync_compiled *f, dync_tensor *x, dync_tensor *w, dync_tensor *gy)
{
    dync_value args[2] = {DYNC_V(leaf(x)), DYNC_V(leaf(w))},
               v = f ? dync_call_values(f, 2, args) : function(args, 2, NULL);
    dync_tensor *y = dync_as_tensor(dync_at(v, 0));
    if (!y) return (sides){0};
    if (how.op != 3) dync_backward(dync_sum(dync_mul(y, gy), DYNC_ALL, false));
    return (sides){dync_detach(y), dync_grad(dync_as_tensor(args[0])),
                   dync_grad(dync_as_tensor(args[1]))};
}

static bool equal(const dync_tensor *a, const dync_tensor *b)
{
    if (!a || !b) return !a == !b;
    return dync_equal((dync_tensor *)(uintptr_t)a, (dync_tensor *)(uintptr_t)b);
}

static bool same(const sides *a, const sides *b)
{
    return equal(a->y, b->y) && equal(a->gx, b->gx) && equal(a->gw, b->gw);
}

static dync_tensor *copied(dync_tensor *x) { return dync_contiguous(dync_clone(x)); }

/* Sums of 16 bits end where their integers do. */
static dync_dtype dtype_of(int64_t terms)
{
    static const dync_dtype of[] = {DYNC_F32, DYNC_F32, DYNC_F64, DYNC_F16};
    dync_dtype dtype = of[test_random_int(0, 3)];
    return dtype == DYNC_F16 && terms > 16 ? DYNC_F32 : dtype;
}

static void draw(void)
{
    how.op = (int)test_random_int(0, 6);
    how.around = (int)test_random_int(0, 7);
    how.stride = (int)test_random_int(1, 2);
    how.pad = (int)test_random_int(0, 1);
    how.dilation = (int)test_random_int(1, 2);
}

static void one_program(int level)
{
    static const int64_t channels[] = {1, 3, 4, 8, 16, 17, 32};
    draw();
    int64_t n = test_random_int(1, 3), c = channels[test_random_int(0, 6)],
            o = channels[test_random_int(0, 6)], h = test_random_int(12, 23),
            side = test_random_int(0, 2) ? test_random_int(12, 40) : 12,
            kernel = test_random_int(1, 3);
    how.groups = test_random_int(0, 3) == 0 && o % c == 0 ? (int)c : 1;
    dync_dtype dtype = dtype_of(c * kernel * kernel / how.groups * n * h * side);
    int way[3] = {(int)test_random_int(0, WAYS - 1), (int)test_random_int(0, WAYS - 1),
                  (int)test_random_int(0, WAYS - 1)};
    dync_tensor *x = lying(way[0], n, c, h, side, dtype),
                *w = lying(way[1], o, c / how.groups, kernel, kernel, dtype);
    dync_value both[2] = {DYNC_V(x), DYNC_V(w)};
    EXPECT_OK(dync_config_set("disable", "dense"));
    dync_tensor *y = dync_as_tensor(dync_at(function(both, 2, NULL), 0));
    if (!EXPECT(y != NULL)) return;
    dync_tensor *gy =
        lying(way[2], dync_size(y, 0), dync_size(y, 1), dync_size(y, 2), dync_size(y, 3), dtype);
    sides plain = once(NULL, copied(x), copied(w), copied(gy));
    EXPECT_OK(dync_config_set("disable", ""));
    dync_compiled *f[2];
    for (int k = 0; k < 2; k++)
        f[k] = dync_compile(function, .args = "x, w", .fullgraph = true,
                            .dynamic = k ? DYNC_DYNAMIC_ON : DYNC_DYNAMIC_OFF);
    sides eager = once(NULL, x, w, gy), fixed = once(f[0], x, w, gy), sized = once(f[1], x, w, gy),
          again = once(f[1], x, w, gy);
    if (!EXPECT(same(&eager, &plain)) || !EXPECT(same(&fixed, &plain)) ||
        !EXPECT(same(&sized, &plain)) || !EXPECT(same(&again, &plain)) || !EXPECT_OK(dync_error()))
        fprintf(stderr,
                "level %d, op %d, around %d, stride %d, pad %d, dilation %d, groups %d, dtype %d, "
                "ways %d %d %d, [%d %d %d %d] by [%d .. %d]: %s\n",
                level, how.op, how.around, how.stride, how.pad, how.dilation, how.groups,
                (int)dtype, way[0], way[1], way[2], (int)n, (int)c, (int)h, (int)side, (int)o,
                (int)kernel, dync_error_message());
    for (int k = 0; k < 2; k++) dync_compiled_free(f[k]);
}

TEST(strided_operands_are_as_row_major_ones)
{
    unsigned has = dync__cpu_features();
    for (int level = 0; level < DYNC__COUNT_OF(levels); level++) {
        if ((has & levels[level]) != levels[level]) continue;
        dync__cpu_pretend(levels[level] | DYNC__CPU_KNOWN);
        for (int t = 0; t < test_count(40); t++) DYNC_SCOPE
            one_program(level);
        dync__cpu_pretend(0);
        dync_shutdown();
    }
}

TEST_MAIN
