/* tests/unit/test_nms.c: non-maximum suppression (op/nms.c) beside the plain way: of all boxes that
 * are left the best, then all that it overlaps are gone. */
#include "dync.in.h"
#include "op/op.h"
#include "test.h"

enum { BOXES = 60 };

static double at_f32(bool narrow, double x) { return narrow ? (double)(float)x : x; }

static double overlap(bool f, const double *a, const double *b)
{
    double common = 1, area[2];
    for (int i = 0; i < 2; i++) {
        double low = a[i] > b[i] ? a[i] : b[i], high = a[2 + i] < b[2 + i] ? a[2 + i] : b[2 + i];
        common *= at_f32(f, high > low ? high - low : 0);
    }
    for (int i = 0; i < 2; i++) {
        const double *x = i ? b : a;
        area[i] = at_f32(f, at_f32(f, x[2] - x[0]) * at_f32(f, x[3] - x[1]));
    }
    common = at_f32(f, common);
    return at_f32(f, common / at_f32(f, at_f32(f, area[0] + area[1]) - common));
}

static int plain(const dync__nms *s, const double *box, const double *score, int n, int64_t *kept)
{
    bool gone[BOXES] = {false};
    int found = 0;
    while (found < s->most) {
        int best = -1;
        for (int i = 0; i < n; i++)
            if (!gone[i] && score[i] > s->least && (best < 0 || score[i] > score[best])) best = i;
        if (best < 0) break;
        kept[found++] = best;
        for (int i = 0; i < n; i++)
            if (i == best || overlap(s->narrow, box + 4 * best, box + 4 * i) > s->overlap)
                gone[i] = true;
    }
    return found;
}

static int any(int n) { return (int)(test_random() % (uint64_t)n); }

/* Corners on a grid and few different scores, so that boxes are equal, empty and touch; some are
 * no numbers. */
TEST(as_the_plain_way)
{
    static const double odd[] = {NAN, INFINITY, -INFINITY, -0.0};
    for (int round = 0; round < test_count(2000); round++) {
        double box[4 * BOXES], score[BOXES];
        int64_t want[BOXES];
        int n = any(BOXES + 1);
        bool narrow = any(2);
        dync__nms s = {.most = any(3) ? any(12) : INT64_MAX,
                       .overlap = any(5) / 4.0,
                       .least = any(2) ? 0.3 : -HUGE_VAL,
                       .narrow = narrow};
        for (int i = 0; i < n; i++) {
            for (int k = 0; k < 2; k++) {
                box[4 * i + k] = at_f32(narrow, any(8) / 3.0);
                box[4 * i + 2 + k] = at_f32(narrow, box[4 * i + k] + any(6) / 3.0);
            }
            score[i] = at_f32(narrow, any(10) / 9.0);
            if (any(40) == 0) score[i] = odd[any(4)];
            if (any(60) == 0) box[4 * i + any(4)] = odd[any(4)];
        }
        int found = plain(&s, box, score, n, want);
        REQUIRE(dync__nms_run(&s, box, score, n) == DYNC_OK);
        EXPECT_EQ_INT(s.kept.n, found);
        for (int i = 0; i < found && i < s.kept.n; i++) EXPECT_EQ_INT(s.kept.at[i], want[i]);
        dync__vec_free(&s.kept);
    }
}

TEST_MAIN
