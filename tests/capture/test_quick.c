/* tests/capture/test_quick.c: the short way of a call (capture/quick.c) beside the written one:
 * arguments near one another and far apart, one of them twice, in another order than they are
 * read. */
#include "counter.h"

enum { POOL = 48, MOST = 32, BETWEEN = 70 };
static int read_order[MOST], n_read;

static dync_value weighed(const dync_value *v, int n, void *user)
{
    dync_tensor *sum = dync_as_tensor(v[read_order[0] % n]);
    (void)user;
    for (int i = 1; i < n_read; i++)
        sum = dync_sub(dync_mul(sum, 0.5), dync_as_tensor(v[read_order[i] % n]));
    return dync_v_tensor(sum);
}

/* Which of the arguments that are read are one: a number for each way to be so. */
static uint64_t pattern(const int *which, int n)
{
    uint64_t hash = 1469598103934665603u;
    for (int i = 0; i < n; i++) {
        int first = 0;
        while (which[first] != which[i]) first++;
        hash = (hash ^ (uint64_t)first) * 1099511628211u;
    }
    return hash;
}

static void draw(int *which, int n, int twice)
{
    bool used[POOL] = {0};
    for (int i = 0; i < n; i++) {
        do which[i] = test_random_int(0, POOL - 1);
        while (used[which[i]]);
        used[which[i]] = true;
    }
    for (int i = 0; i < twice && n > 1; i++)
        which[test_random_int(0, n - 1)] = which[test_random_int(0, n - 1)];
}

/* Every call as written; a miss for each pattern that was not met, and no other. */
static bool some_calls(dync_tensor *const *pool, int n)
{
    dync_compiled *f = dync_compile(weighed, .recompile_limit = 64);
    uint64_t met[64];
    int n_met = 0, which[MOST];
    bool right = true;
    n_read = test_random_int(1, n);
    for (int i = 0; i < n_read; i++) read_order[i] = test_random_int(0, n - 1);
    for (int call = 0; call < 40 && right; call++) DYNC_SCOPE {
        dync_value v[MOST], got, want;
        draw(which, n, call % 3 == 2 && n_met < 20);
        for (int i = 0; i < n; i++) v[i] = dync_v_tensor(pool[which[i]]);
        got = dync_call_values(f, n, v);
        want = weighed(v, n, NULL);
        right = same(dync_as_tensor(got), dync_as_tensor(want), 0);
        uint64_t p = pattern(which, n);
        int at = 0;
        while (at < n_met && met[at] != p) at++;
        if (at == n_met) met[n_met++] = p;
        right = right && dync_compiled_info(f).misses == n_met;
    }
    dync_compiled_free(f);
    return right;
}

TEST(arguments_in_any_order_near_and_far)
{
    dync_tensor *pool[POOL];
    for (int i = 0; i < POOL; i++) {
        pool[i] = dync_rand(dync_shape(3));
        for (int k = 0; i % 5 == 4 && k < BETWEEN; k++) dync_ones(dync_shape(1));
    }
    static const int counts[] = {1, 2, 3, 4, 5, 9, 20, 32};
    for (int i = 0; i < (int)(sizeof counts / sizeof *counts); i++)
        for (int k = 0; k < 4; k++) EXPECT(some_calls(pool, counts[i]));
}

TEST_MAIN
