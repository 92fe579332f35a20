/* tests/unit/test_nan.c: a NaN among many elements is found wherever it stands, whatever its bits,
 * and nothing else is taken for one. */
#include "../../src/dync.in.h"
#include "../../src/tensor/tensor.h"
#define TEST_AFTER_EACH (dync_clear_error(), dync_on_error(NULL, NULL))
#include "../test.h"

enum { MOST = 2600 };

static const struct {
    int dtype, bits, fraction;
} forms[] = {{DYNC_F64, 64, 52}, {DYNC_F32, 32, 23}, {DYNC_F16, 16, 10}, {DYNC_BF16, 16, 7}};

/* Any bits but those of a NaN, infinity and what is next to it often; or those of one. */
static uint64_t random_bits(int form, bool nan)
{
    uint64_t most = (UINT64_MAX >> (64 - forms[form].bits)) >> 1, sign = most + 1,
             infinity = most - (((uint64_t)1 << forms[form].fraction) - 1), x = test_random();
    if (nan) return infinity + 1 + x % (most - infinity) + (test_random_int(0, 1) ? sign : 0);
    uint64_t near = infinity - x % 2, any = x % (infinity + 1);
    return (test_random_int(0, 3) ? any : near) | (test_random_int(0, 1) ? sign : 0);
}

TEST(wherever_it_stands)
{
    static char data[8 * MOST];
    for (int t = 0; t < test_count(2000); t++) {
        int form = t % 4, bytes = forms[form].bits / 8;
        int64_t n = test_random_int(0, 2) ? test_random_int(1, MOST) : test_random_int(1020, 1030),
                at = test_random_int(0, (int)n - 1);
        for (int64_t i = 0; i < n; i++) {
            uint64_t x = random_bits(form, false);
            memcpy(data + i * bytes, &x, (size_t)bytes);
        }
        EXPECT(!dync__any_nan(forms[form].dtype, data, n));
        uint64_t x = random_bits(form, true);
        memcpy(data + at * bytes, &x, (size_t)bytes);
        EXPECT(dync__any_nan(forms[form].dtype, data, n));
        EXPECT(!dync__any_nan(forms[form].dtype, data, at));
    }
    EXPECT(!dync__any_nan(DYNC_I64, data, MOST));
}
TEST_MAIN
