/* tests/unit/test_sort_order.c: lines put in order, of every dtype, length and spread of keys. What
 * is asked of a result is what stable sorting means: each place once, each value that of its place,
 * and of two neighbours the first is less or equal and came earlier; where the first k are wanted,
 * none of the others comes before the last of them. */
#include "../../src/dync.in.h"
#include "../../src/kernel/sort_order.h"
#include "../../src/tensor/tensor.h"
#define TEST_AFTER_EACH (dync_shutdown(), dync_clear_error(), dync_on_error(NULL, NULL))
#include "../test.h"

enum { MOST = 8000, ROOM = 9 * DYNC__SORT_SLICE };

/* Lengths around where another way of sorting begins. */
static int64_t random_length(void)
{
    int64_t near[] = {
        1, 2, test_random_int(3, 130), DYNC__SORT_LONG, DYNC__SORT_DEAL, DYNC__SORT_WIDE, MOST - 2};
    return test_random_int(0, 3) ? near[test_random_int(0, 6)] + test_random_int(0, 2)
                                 : test_random_int(1, MOST);
}

static uint64_t random_key(int spread)
{
    uint64_t x = test_random();
    switch (spread) {
    case 0: return 7;
    case 1: return x & 3;
    case 2: return x & 0xffff0000u;           /* bytes that all have alike */
    case 3: return UINT64_MAX - (x & 0xffff); /* near the end */
    case 4: return x & UINT32_MAX;            /* the widest that takes one round */
    case 5: return x % ((uint64_t)1 << 33);   /* the narrowest that takes two */
    case 6: return x & 0xff000000000000ffu;
    default: return x;
    }
}

TEST(keys_of_every_spread)
{
    static uint64_t words[3 * MOST + 6];
    static uint32_t places[2 * MOST + 4];
    dync__order o = {.key = words, .a = words + MOST + 2, .b = words + 2 * MOST + 4};
    o.place = places, o.before = places + MOST + 2;
    int shared = 0;
    dync__pool_set_threads(3);
    for (int t = 0; t < test_count(400); t++) {
        int64_t n = random_length();
        int spread = t % 8;
        static bool seen[MOST + 2];
        memset(seen, 0, sizeof seen);
        o.least = UINT64_MAX, o.most = 0;
        o.threads =
            test_random_int(1, (int)DYNC__MAX(DYNC__MIN(n >> 11, 3), 1)); /* 2^11 keys for each */
        shared += o.threads > 1;
        for (int64_t i = 0; i < n; i++) {
            o.key[i] = random_key(spread);
            o.least = DYNC__MIN(o.least, o.key[i]);
            o.most = DYNC__MAX(o.most, o.key[i]);
        }
        dync__order_keys(&o, n);
        for (int64_t i = 0; i < n; i++) {
            uint32_t at = o.place[i], before = o.place[i ? i - 1 : 0];
            REQUIRE(at < n && !seen[at]);
            seen[at] = true;
            REQUIRE(!i || o.key[before] < o.key[at] || (o.key[before] == o.key[at] && before < at));
        }
    }
    dync__pool_set_threads(0);
    EXPECT(test_met(shared, 20));
}

/* ---- through the operators ------------------------------------------------------------------- */

static const int dtypes[] = {DYNC_F32, DYNC_F64, DYNC_F16, DYNC_BF16, DYNC_I64,
                             DYNC_I32, DYNC_I16, DYNC_I8,  DYNC_U8,   DYNC_BOOL};

static double random_element(int dtype, int spread)
{
    static const double odd[] = {0, -0.0, INFINITY, -INFINITY, NAN, 1, -1};
    bool floats = dync__dtype_info(dtype)->kind == 'f';
    if (dtype == DYNC_BOOL) return test_random_int(0, 1);
    if (floats && test_random_int(0, 9) == 0) return odd[test_random_int(0, 6)];
    if (spread == 0) return test_random_int(0, 3);
    if (floats) return test_random_real(-1, 1) * (spread == 1 ? 1 : 1e4);
    if (dtype == DYNC_I64 && spread == 2) return (double)((int64_t)test_random() >> 2);
    return test_random_int(dtype == DYNC_U8 ? 0 : -128, 127);
}

/* Whether what is at a comes before what is at b. The greatest is NaN. */
static bool comes_before(const char *x, int dtype, int64_t a, int64_t b, bool down)
{
    int64_t bytes = dync__dtype_info(dtype)->bytes;
    if (dync__dtype_info(dtype)->kind == 'f') {
        double u = dync__load_f64(x + a * bytes, dtype), v = dync__load_f64(x + b * bytes, dtype);
        if (u != u || v != v) return (u != u) == (v != v) ? a < b : down ? u != u : v != v;
        return u == v ? a < b : down ? u > v : u < v;
    }
    int64_t u = dync__load_i64(x + a * bytes, dtype), v = dync__load_i64(x + b * bytes, dtype);
    return u == v ? a < b : down ? u > v : u < v;
}

/* Line `line` of x [outer, n, inner] dense, and of results [outer, k, inner]. */
typedef struct sorted_line {
    const char *x, *values;
    const int64_t *index;
    int64_t n, k, inner, outer_at, inner_at;
    int dtype;
    bool down;
} sorted_line;

static bool line_is_sorted(const sorted_line *s)
{
    static char x[8 * ROOM];
    static bool seen[ROOM];
    size_t bytes = (size_t)dync__dtype_info(s->dtype)->bytes;
    int64_t last = -1;
    memset(seen, 0, sizeof seen);
    for (int64_t i = 0; i < s->n; i++)
        memcpy(x + (size_t)i * bytes,
               s->x + (size_t)((s->outer_at * s->n + i) * s->inner + s->inner_at) * bytes, bytes);
    for (int64_t i = 0; i < s->k; i++) {
        int64_t at = (s->outer_at * s->k + i) * s->inner + s->inner_at, place = s->index[at];
        if (place < 0 || place >= s->n || seen[place]) return false;
        seen[place] = true;
        if (memcmp(s->values + (size_t)at * bytes, x + (size_t)place * bytes, bytes) != 0)
            return false;
        if (i && !comes_before(x, s->dtype, last, place, s->down)) return false;
        last = place;
    }
    for (int64_t i = 0; i < s->n; i++)
        if (!seen[i] && !comes_before(x, s->dtype, last, i, s->down)) return false;
    return true;
}

/* Lines so long, of the dtype, sorted or their first k; returns whether few of many were asked. */
static bool random_lines(int dtype, int64_t n)
{
    int spread = test_random_int(0, 2);
    bool down = test_random_int(0, 1), top = test_random_int(0, 1);
    int64_t outer = test_random_int(1, 2), bytes = dync__dtype_info(dtype)->bytes,
            inner = test_random_int(0, 2) ? 1 : test_random_int(2, 3),
            k = top ? test_random_int(1, (int)(test_random_int(0, 1) ? n : n / 8 + 1)) : n;
    dync_tensor *x = dync_empty(dync_shape(outer, n, inner), .dtype = (dync_dtype)dtype);
    char *data = dync_data(x);
    bool rising = test_random_int(0, 4) == 0; /* each comes before, or after, all so far */
    for (int64_t i = 0; i < outer * n * inner; i++)
        dync__store_f64(data + i * bytes, dtype,
                        rising ? (double)(i / inner % n / 12) : random_element(dtype, spread));
    dync_value both = top ? dync_topk(x, k, 1, down, true) : dync_sort(x, 1, down);
    sorted_line s = {.x = data, .n = n, .k = k, .inner = inner, .dtype = dtype, .down = down};
    s.values = dync_data(dync_as_tensor(dync_at(both, 0)));
    s.index = dync_data(dync_as_tensor(dync_at(both, 1)));
    for (s.outer_at = 0; s.outer_at < outer; s.outer_at++)
        for (s.inner_at = 0; s.inner_at < inner; s.inner_at++)
            if (!EXPECT(line_is_sorted(&s)))
                fprintf(stderr, "%s [%d, %d, %d], k %d%s\n", dync__dtype_info(dtype)->name,
                        (int)outer, (int)n, (int)inner, (int)k, down ? ", descending" : "");
    return k <= n / DYNC__SORT_FEW && n >= DYNC__SORT_LONG;
}

TEST(lines_of_every_dtype)
{
    int few = 0;
    for (int t = 0; t < test_count(300); t++) DYNC_SCOPE
        few += random_lines(dtypes[t % 10], random_length());
    EXPECT(test_met(few, 20));
}

/* Fewer lines than threads, each long enough to be shared. */
TEST(long_lines_by_several_threads)
{
    for (int t = 0; t < test_count(40); t++) DYNC_SCOPE {
        dync__pool_set_threads(test_random_int(2, 7));
        random_lines(dtypes[t % 10], test_random_int(2 * DYNC__SORT_SLICE - 2, ROOM));
    }
    dync__pool_set_threads(0);
}
TEST_MAIN
