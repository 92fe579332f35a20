/* codegen/gen_strip.c: short rows that go through each phase together. Random chains of norms,
 * softmaxes and folds, of every length around a vector and of as many rows as a strip has, more and
 * fewer: the bits are those of each row alone. */
#include "../../src/dync.in.h"
#include "../../src/codegen/jit.h"
#define TEST_AFTER_EACH \
    (dync__cpu_pretend(0), dync_shutdown(), dync_clear_error(), dync_on_error(NULL, NULL))
#include "../test.h"

enum { LINKS = 11, MOST = 5 };
static struct {
    int n, link[MOST];
    bool in_place, folded;
} chain;

static dync_tensor *link_of(dync_tensor *x, int link)
{
    int dim = dync_ndim(x) - 1;
    dync_dims last = dync_shape(dim);
    switch (link) {
    case 0: return dync_softmax(x, dim);
    case 1: return dync_layer_norm(x, dync_shape(dync_size(x, dim)), NULL, NULL, 1e-5);
    case 2: return dync_log_softmax(x, dim);
    case 3: return dync_sub(x, dync_mean(x, last, true));
    case 4: return dync_mul(x, dync_rsqrt(dync_add(dync_mean(dync_mul(x, x), last, true), 1e-3)));
    case 5: return dync_div(x, dync_add(dync_amax(dync_abs(x), last, true), 0.5));
    case 6: return dync_mul(x, dync_add(dync_argmax(x, dim, true), 1));
    case 7: return dync_where(dync_gt(x, dync_amin(x, last, true)), x, dync_mul(x, 0.5));
    case 8: return dync_add(x, dync_sum(dync_sigmoid(x), last, true));
    case 9: return dync_where(dync_any(dync_gt(x, 1.5), last, true), dync_neg(x), x);
    default: return dync_tanh(x);
    }
}

static dync_value rows(const dync_value *v, int n, void *user)
{
    dync_tensor *first = dync_as_tensor(v[0]), *x = first;
    (void)n, (void)user;
    for (int i = 0; i < chain.n; i++) x = link_of(x, chain.link[i]);
    if (chain.in_place) dync_copy_(first, x);
    return chain.folded ? DYNC_V(dync_sum(x, dync_shape(dync_ndim(x) - 1), false))
                        : dync_v_tensor(dync_add(x, 1.0));
}

/* What a strip has to find its way through: rows of one, two and three loops, not next to each
 * other, each row the same, every other element. */
static dync_tensor *input(int64_t n, int64_t length, dync_dtype type, int layout)
{
    dync_tensor *x = dync_randn(layout == 1   ? dync_shape(n, length + 3)
                                : layout == 2 ? dync_shape(2, n, 3, length)
                                : layout == 3 ? dync_shape(n, 2 * length)
                                : layout == 4 ? dync_shape(1, length)
                                              : dync_shape(n, length));
    x = dync_to_dtype(x, type);
    switch (layout) {
    case 1: return dync_slice(x, 1, 1, length + 1, 1);
    case 2: return dync_transpose(x, 0, 2);
    case 3: return dync_slice(x, 1, 0, 2 * length, 2);
    case 4: return dync_expand(x, dync_shape(n, length));
    default: return x;
    }
}

static dync_compiled *compiled(bool sized)
{
    return dync_compile(rows, .dynamic = sized ? DYNC_DYNAMIC_ON : DYNC_DYNAMIC_OFF,
                        .fullgraph = true);
}

/* Each row by itself, of what is in order: no row goes beside another. */
static bool alone(dync_tensor *x, dync_tensor *y, dync_tensor *left)
{
    int64_t length = dync_size(x, dync_ndim(x) - 1), n = dync_numel(x) / length,
            each = chain.folded ? 1 : length;
    dync_compiled *f = compiled(false);
    bool same = y && dync_numel(y) == n * each;
    x = dync_reshape(x, dync_shape(n, length));
    y = dync_reshape(y, dync_shape(n, each));
    left = dync_reshape(left, dync_shape(n, length));
    for (int64_t r = 0; r < n && same; r++) {
        dync_tensor *row = dync_clone(dync_slice(x, 0, r, r + 1, 1));
        dync_value v = dync_v_tensor(row);
        dync_tensor *want = dync_as_tensor(dync_call_values(f, 1, &v));
        same = dync_equal(dync_reshape(want, dync_shape(1, each)), dync_slice(y, 0, r, r + 1, 1)) &&
               dync_equal(row, dync_slice(left, 0, r, r + 1, 1));
    }
    dync_compiled_free(f);
    return same;
}

static void one_case(int level)
{
    static const dync_dtype types[] = {DYNC_F32, DYNC_F32, DYNC_F64, DYNC_BF16, DYNC_F16};
    dync_dtype type = types[test_random_int(0, 4)];
    int layout = test_random_int(0, 4), n = test_random_int(1, 11),
        length = test_random() % 3 ? test_random_int(16, 70) : test_random_int(70, 560);
    dync__pool_set_threads(test_random_int(1, 3));
    chain.n = test_random_int(1, MOST);
    chain.in_place = layout < 4 && test_random() % 3 == 0;
    chain.folded = test_random() % 4 == 0;
    for (int l = 0; l < chain.n; l++) chain.link[l] = test_random_int(0, LINKS - 1);
    dync_tensor *x = input(n, length, type, layout), *written = chain.in_place ? dync_clone(x) : x;
    dync_compiled *f = compiled(test_random() % 2);
    dync_value v = dync_v_tensor(written);
    dync_tensor *y = dync_as_tensor(dync_call_values(f, 1, &v));
    if (!EXPECT(alone(x, y, written)))
        printf("    level %d: %d rows of %d, %s, layout %d, chain of %d from %d\n", level, n,
               length, dync__dtype_info(type)->name, layout, chain.n, chain.link[0]);
    dync_compiled_free(f);
}

TEST(rows_in_strips_have_the_bits_of_rows_alone)
{
    static const unsigned levels[] = {
        DYNC__CPU_AVX2 | DYNC__CPU_FMA | DYNC__CPU_F16C,
        DYNC__CPU_AVX2 | DYNC__CPU_FMA | DYNC__CPU_F16C | DYNC__CPU_AVX512,
    };
    unsigned has = dync__cpu_features();
    for (int l = 0; l < DYNC__COUNT_OF(levels); l++) {
        if ((has & levels[l]) != levels[l]) continue;
        dync_shutdown(); /* what was made for another level */
        dync__cpu_pretend(levels[l] | DYNC__CPU_KNOWN);
        for (int i = 0; i < test_count(120); i++) DYNC_SCOPE
            one_case(l);
    }
    dync__pool_set_threads(0);
    EXPECT_EQ_INT(dync_error(), DYNC_OK);
}
TEST_MAIN
