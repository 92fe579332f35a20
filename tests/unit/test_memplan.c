/* runtime/memplan.c: offsets of random lifetimes are those of the plain search, and thousands alive
 * at once are placed in no time. */
#include "../../src/dync.in.h"
#include "../../src/runtime/plan.h"
#include "../test.h"

static bool meet(const dync__life *a, const dync__life *b)
{
    return a->first <= b->last && b->first <= a->last && a->offset < b->offset + b->bytes &&
           b->offset < a->offset + a->bytes;
}

/* The plain form: the largest life that has no place yet, at the first offset, of 0 and the ends of
 * those placed, where it meets nobody. */
static void place_plainly(dync__life *life, bool *placed, int n)
{
    for (;;) {
        int next = -1;
        int64_t best = -1;
        for (int i = 0; i < n; i++)
            if (!placed[i] && life[i].first >= 0 && (next < 0 || life[i].bytes > life[next].bytes))
                next = i;
        if (next < 0) return;
        dync__life *x = &life[next];
        for (int i = -1; i < n; i++) {
            if (i >= 0 && !placed[i]) continue;
            x->offset = i < 0 ? 0 : life[i].offset + life[i].bytes;
            bool free_there = best < 0 || x->offset < best;
            for (int k = 0; k < n && free_there; k++) free_there = !placed[k] || !meet(x, &life[k]);
            if (free_there) best = x->offset;
        }
        x->offset = best;
        placed[next] = true;
    }
}

static int draw(int below) { return test_random_int(0, below - 1); }

TEST(offsets_are_those_of_the_plain_search)
{
    enum { MOST = 60 };
    for (int round = 0; round < 300; round++) {
        dync__life life[MOST], plain[MOST];
        bool placed[MOST] = {false};
        dync__arena arena = {0};
        int64_t total = -1, end = 0;
        int n = draw(MOST) + 1, sizes = draw(6) + 1, steps = draw(40) + 1;
        for (int i = 0; i < n; i++) {
            int first = draw(steps);
            life[i] = (dync__life){.slot = i,
                                   .first = draw(8) ? first : -1,
                                   .last = first + draw(steps),
                                   .bytes = (int64_t)draw(sizes) * 100 + draw(2)};
            plain[i] = life[i];
            plain[i].bytes = (life[i].bytes + 63) / 64 * 64;
        }
        if (round % 2) { /* by sizes that are not those of now */
            for (int i = 0; i < n; i++) life[i].bytes += draw(2) * 100;
            dync__memplan_sort(life, n);
            for (int i = 0; i < n; i++) life[i].bytes = plain[life[i].slot].bytes;
        }
        EXPECT_OK(dync__memplan(&arena, life, n, &total));
        dync__arena_free(&arena);
        place_plainly(plain, placed, n);
        for (int i = 0; i < n; i++) {
            if (life[i].first < 0) continue;
            const dync__life *x = &plain[life[i].slot];
            if (!EXPECT(life[i].offset == x->offset)) return;
            end = end > x->offset + x->bytes ? end : x->offset + x->bytes;
        }
        EXPECT(total == end);
    }
}

static int64_t alive(const dync__life *life, int n, int at)
{
    int64_t sum = 0;
    for (int i = 0; i < n; i++)
        if (life[i].first >= 0 && life[i].first <= at && at <= life[i].last) sum += life[i].bytes;
    return sum;
}

/* Of chains, where each life meets the next one alone, nothing is lost; of others never more than
 * by the first plan, and little in the sum. */
TEST(tight_plans)
{
    enum { MOST = 40 };
    int64_t lost = 0, lost_before = 0, bounds = 0;
    for (int round = 0; round < 400; round++) {
        dync__life life[MOST];
        dync__arena arena = {0};
        int64_t total = -1, before = -1, bound = 0;
        bool chain = round % 2;
        int n = draw(MOST) + 1, steps = draw(30) + 1;
        for (int i = 0; i < n; i++) {
            int first = chain ? i : draw(steps);
            life[i] = (dync__life){.slot = i,
                                   .first = chain || draw(8) ? first : -1,
                                   .last = chain ? i + 1 : first + draw(6),
                                   .bytes = 64 * draw(40)};
        }
        for (int i = 0; i < n; i++)
            bound = DYNC__MAX(bound, alive(life, n, life[i].first < 0 ? 0 : life[i].first));
        EXPECT_OK(dync__memplan(&arena, life, n, &before));
        EXPECT_OK(dync__memplan_tight(&arena, life, n, &total));
        dync__arena_free(&arena);
        for (int i = 0; i < n; i++)
            for (int k = 0; k < i; k++)
                if (life[i].first >= 0 && life[k].first >= 0) EXPECT(!meet(&life[i], &life[k]));
        EXPECT(total >= bound && total <= before);
        if (chain && !EXPECT(total == bound)) return;
        lost += total - bound;
        lost_before += before - bound;
        bounds += bound;
    }
    if (test__state.verbose)
        printf("  lost %lld, at first %lld, of %lld\n", (long long)lost, (long long)lost_before,
               (long long)bounds);
    EXPECT(lost * 200 < bounds);
}

/* A search for each of them that begins anew at every neighbour takes minutes. */
TEST(thousands_alive_at_once)
{
    enum { N = 8000 };
    dync__life *life = calloc(N, sizeof *life);
    dync__arena arena = {0};
    int64_t total = 0, sum = 0;
    if (!EXPECT(life != NULL)) return;
    for (int i = 0; i < N; i++) {
        life[i] = (dync__life){.slot = i, .first = i, .last = 2 * N - i, .bytes = 64 * (i % 3 + 1)};
        sum += life[i].bytes;
    }
    EXPECT_OK(dync__memplan(&arena, life, N, &total));
    EXPECT(total == sum);
    dync__arena_free(&arena);
    free(life);
}
TEST_MAIN
