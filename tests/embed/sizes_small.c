/* A small program whose sizes have 32 bits: what does not fit them is refused by name, never
 * wrapped around, and numbers of I64 keep their 64. With DYNC__SIZES_32 on a machine of 64 bits. */
#define DYNC_IMPLEMENTATION
#include "dync.h"
#include <stdio.h>
#include <string.h>
#if !defined(DYNC_SMALL)
#error "built with DYNC_SMALL"
#endif
_Static_assert(sizeof(dync__size) == 4, "sizes of 32 bits");

static int bad;
#define CHECK(x)                                                                           \
    do {                                                                                   \
        if (!(x)) printf("line %d: %s (%s)\n", __LINE__, #x, dync_error_message()), bad++; \
    } while (0)
/* Refused with this status, and the message says so. */
static void refused(int line, const void *result, dync_status want, const char *text)
{
    bool ok = !result && dync_error() == want && strstr(dync_error_message(), text);
    if (!ok) printf("line %d: %d %s\n", line, (int)dync_error(), dync_error_message()), bad++;
    dync_clear_error();
}
#define REFUSED(x, status, text) refused(__LINE__, x, status, text)
#define BIG (INT64_C(1) << 32)

static dync_tensor *number(int64_t x) { return dync_from(&x, dync_shape(1), .dtype = DYNC_I64); }
static int64_t first(dync_tensor *t)
{
    const int64_t *x = t ? dync_data(t) : NULL;
    return x ? *x : -1;
}
static dync_tensor *table, *at;
static dync_tensor *row(dync_tensor *x) { return dync_index_select(x, 0, at); }
static dync_tensor *sum_of(dync_tensor *x)
{
    return dync_sum(dync_expand(x, dync_shape(1 << 13, 1 << 12)), DYNC_ALL, false);
}
static dync_tensor *outer(dync_tensor *x)
{
    return dync_sum(dync_add(x, dync_t(x)), DYNC_ALL, false);
}

static void shapes(void)
{
    dync_tensor *one = dync_ones(dync_shape(1, 1)), *few = dync_ones(dync_shape(2, 3));
    REFUSED(dync_zeros(dync_shape(BIG)), DYNC_ERR_SHAPE, "too many");
    REFUSED(dync_zeros(dync_shape(BIG + 1, 1)), DYNC_ERR_SHAPE, "too many");
    REFUSED(dync_zeros(dync_shape(1 << 16, 1 << 16)), DYNC_ERR_SHAPE, "too many");
    REFUSED(dync_zeros(dync_shape(1 << 16, 1 << 16, 1 << 16, 1 << 16)), DYNC_ERR_SHAPE, "too many");
    REFUSED(dync_zeros(dync_shape(INT64_C(1) << 62, 4)), DYNC_ERR_SHAPE, "too many");
    REFUSED(dync_zeros(dync_shape(0, BIG)), DYNC_ERR_SHAPE, "too many");
    REFUSED(dync_zeros(dync_shape(-BIG)), DYNC_ERR_SHAPE, "negative");
    REFUSED(dync_expand(one, dync_shape(1, BIG)), DYNC_ERR_SHAPE, "too many");
    REFUSED(dync_expand(one, dync_shape(1 << 16, 1 << 15)), DYNC_ERR_SHAPE, "too many");
    REFUSED(dync_repeat(few, dync_shape(BIG, 1)), DYNC_ERR_SHAPE, "too many");
    REFUSED(dync_reshape(few, dync_shape(BIG, -1)), DYNC_ERR_SHAPE, "");
    REFUSED(dync_as_strided(few, dync_shape(2, 2), dync_shape(BIG, 1), 0), DYNC_ERR_SHAPE, "");
    REFUSED(dync_as_strided(few, dync_shape(2, 2), dync_shape(1, 1), BIG), DYNC_ERR_SHAPE, "");
    REFUSED(dync_narrow(few, 1, BIG, 1), DYNC_ERR_INDEX, "");
    dync_tensor *none = dync_slice(few, 1, BIG, BIG + 2, 1);
    CHECK(none && dync_size(none, 1) == 0);
    CHECK(dync_size(dync_slice(few, 1, 0, BIG, 1), 1) == 3);
    CHECK(dync_size(dync_slice(few, 1, 0, 3, BIG + 1), 1) == 1); /* a step that is no 1 */
    dync_tensor *far = dync_as_strided(few, dync_shape(1, 2), dync_shape(BIG + 1, 1), 1);
    CHECK(far && dync_equal(dync_add(far, far), dync_full(dync_shape(1, 2), 2.0)));
}

static void numbers(void)
{
    int64_t big = BIG + 1;
    const int64_t index[2] = {0, BIG + 1};
    table = dync_reshape(dync_arange(0, 6, 1), dync_shape(3, 2));
    at = dync_from(index, dync_shape(2), .dtype = DYNC_I64);
    CHECK(first(dync_add(number(big), number(big))) == 2 * big);
    CHECK(first(dync_mul(number(big), 3)) == 3 * big);
    CHECK(first(dync_sum(dync_expand(number(big), dync_shape(5)), DYNC_ALL, false)) == 5 * big);
    CHECK(first(dync_matmul(dync_reshape(number(big), dync_shape(1, 1)),
                            dync_reshape(number(5), dync_shape(1, 1)))) == 5 * big);
    CHECK(first(dync_cumsum(number(big), 0)) == big);
    CHECK(first(dync_argmax(dync_from((float[]){1, 4, 2}, dync_shape(3)), 0, false)) == 1);
    REFUSED(dync_index_select(table, 0, at), DYNC_ERR_INDEX, "4294967297");
    REFUSED(dync_gather(table, 0, dync_reshape(at, dync_shape(2, 1))), DYNC_ERR_INDEX, "");
    dync_compiled *f = dync_compile(row, .fullgraph = true);
    REFUSED(dync_call(f, table), DYNC_ERR_INDEX, "");
    dync_compiled_free(f);
}

static void loops(void)
{
    dync_tensor *one = dync_ones(dync_shape(1, 1)), *tall = dync_ones(dync_shape(1 << 15, 1));
    REFUSED(dync_add(tall, dync_t(tall)), DYNC_ERR_SHAPE, "too many");
    REFUSED(dync_matmul(tall, dync_t(tall)), DYNC_ERR_SHAPE, "too many");
    dync_compiled *f = dync_compile(outer, .fullgraph = true);
    REFUSED(dync_call(f, tall), DYNC_ERR_SHAPE, "too many");
    dync_compiled *g = dync_compile(sum_of, .fullgraph = true);
    CHECK(dync_item(dync_call(g, one)) == 1 << 25);
    CHECK(dync_item(sum_of(one)) == 1 << 25);
    dync_compiled_free(f);
    dync_compiled_free(g);
}

int main(void)
{
    dync_on_error(NULL, NULL);
    DYNC_SCOPE {
        shapes();
    }
    DYNC_SCOPE {
        numbers();
    }
    DYNC_SCOPE {
        loops();
    }
    dync_shutdown();
    return bad != 0;
}
