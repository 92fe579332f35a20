/* tests/unit/test_row_sums.c: sums, products and running sums over rows of dear values, at every
 * level: where few vectors are at once a loop takes two lots of them, each into sums of its own,
 * and running sums stay apart from what is dear. Bits are those of plain runs, which store the
 * values first, at every length around a lot and a grain. */
#include "../../src/dync.in.h"
#include "../../src/codegen/jit.h"
#define TEST_AFTER_EACH \
    (dync__cpu_pretend(0), dync_shutdown(), dync_clear_error(), dync_on_error(NULL, NULL))
#include "../test.h"

enum { KINDS = 14 };
static int kind;
static dync_value over_rows(const dync_value *v, int n, void *user)
{
    dync_tensor *x = dync_as_tensor(v[0]), *e = dync_exp(x), *t = dync_tanh(x);
    dync_dims rows = dync_shape(1);
    (void)n, (void)user;
    switch (kind) {
    case 0: return DYNC_V(dync_sum(e, rows, false));
    case 1: return DYNC_V(dync_sum(t, rows, false));
    case 2: return DYNC_V(dync_prod(dync_add(t, 1.0), rows, false));
    case 3: return DYNC_V(dync_add(dync_sum(e, rows, false), dync_sum(dync_sin(x), rows, false)));
    case 4: return DYNC_V(dync_sum(dync_exp(dync_to_dtype(x, DYNC_F64)), rows, false));
    case 5: return DYNC_V(dync_sum(e, DYNC_ALL, false));
    case 7: return DYNC_V(dync_cumsum(e, 1));
    case 8: return DYNC_V(dync_exp(dync_mul(dync_cumsum(x, 1), 0.01)));
    case 9: return DYNC_V(dync_mul(t, dync_cumsum(dync_relu(x), 1)));
    case 10: return DYNC_V(dync_cumsum(dync_cumsum(dync_sigmoid(x), 1), 0));
    case 11: return DYNC_V(dync_cumsum(dync_softmax(x, 1), 1));
    case 12: return DYNC_V(dync_cumsum(dync_exp(dync_to_dtype(x, DYNC_F64)), 1));
    case 6: return DYNC_V(dync_add(dync_amax(t, rows, false), dync_sum(t, rows, false)));
    default:
        return DYNC_V(
            dync_sum(dync_where(dync_gt(x, 0), dync_log(dync_abs(x)), dync_erf(x)), rows, false));
    }
}

TEST(lengths_of_rows)
{
    static const unsigned levels[] = {
        0, /* the interpreter */
        DYNC__CPU_AVX2 | DYNC__CPU_FMA | DYNC__CPU_F16C,
        DYNC__CPU_AVX2 | DYNC__CPU_FMA | DYNC__CPU_F16C | DYNC__CPU_AVX512,
    };
    unsigned has = dync__cpu_features();
    for (int l = 0; l < DYNC__COUNT_OF(levels); l++) {
        if ((has & levels[l]) != levels[l]) continue;
        dync_shutdown(); /* what plain runs have made for another level */
        dync__cpu_pretend(levels[l] | DYNC__CPU_KNOWN);
        for (kind = 0; kind < KINDS; kind++)
            for (int n = 1; n < 400; n += n < 70 || (n > 120 && n < 136) ? 1 : 13) DYNC_SCOPE {
                dync_compiled *f = dync_compile(over_rows, .dynamic = DYNC_DYNAMIC_OFF);
                dync_value x = DYNC_V(dync_randn(dync_shape(5, n)));
                dync_tensor *got = dync_as_tensor(dync_call_values(f, 1, &x)),
                            *want = dync_as_tensor(over_rows(&x, 1, NULL));
                if (!EXPECT(dync_equal(got, want)))
                    printf("    level %d, kind %d, %d elements\n", l, kind, n);
                dync_compiled_free(f);
            }
    }
    EXPECT_EQ_INT(dync_error(), DYNC_OK);
}
TEST_MAIN
