/* base/pool_trial.c: is a short loop worth a second thread, and how many pieces is a long one cut
 * into? Before: pool.c.
 *
 * Whether loops of middling length (POOL_NEAR_NS to POOL_FAR_NS) gain by a second thread is a
 * question of the machine and of the moment: two processors may be halves of one core, another
 * program may hold one of them. So it is measured, for lengths of about the same (by octaves): some
 * loops run alone and as many shared, in an order of chance; the faster way is kept for the next
 * hundred, and each time that is found again for twice as many, up to two thousand. */
#include "../dync.in.h"
#include "base.h"
DYNC__WARM
#if defined(DYNC_NO_THREADS)
DYNC__FN int dync__pool_pieces(int threads, double ns, int64_t most)
{
    (void)ns;
    return (int)DYNC__MIN(threads, most);
}
#else

/* octaves from POOL_NEAR_NS on, each with its trial */
enum { DYNC__POOL_LENGTHS = 4 };
static dync__pool_trial dync__pool_trials[DYNC__POOL_LENGTHS];

DYNC__FN dync__pool_trial *dync__pool_trial_of(int32_t ns)
{
    int i = 0;
    while (i + 1 < DYNC__POOL_LENGTHS && ns >= (2 * DYNC__POOL_NEAR_NS) << i) i++;
    return &dync__pool_trials[i];
}

/* With busy held: is the loop on trial to run alone? Chance, so that loops which follow each other
 * in a pattern are tried both ways. */
DYNC__FN bool dync__pool_tries_alone(dync__pool_trial *t)
{
    uint32_t x = t->chance ? t->chance : 2463534242u;
    x ^= x << 13, x ^= x >> 17, x ^= x << 5;
    t->chance = x;
    return x >> 31;
}

DYNC__FN void dync__pool_try_again(void)
{
    for (int i = 0; i < DYNC__POOL_LENGTHS; i++)
        DYNC__ATOMIC_STORE(&dync__pool_trials[i].way, DYNC__POOL_TRIED);
}

/* Sorts, by insertion: there are few. */
static float dync__pool_median(float *x, int n)
{
    for (int i = 1; i < n; i++)
        for (int k = i; k > 0 && x[k] < x[k - 1]; k--) {
            float y = x[k];
            x[k] = x[k - 1];
            x[k - 1] = y;
        }
    return (x[(n - 1) / 2] + x[n / 2]) / 2;
}

DYNC__FN void dync__pool_tried(dync__pool_trial *t, bool shared, int32_t expected, uint64_t took)
{
    int i = shared;
    if (t->n[i] < DYNC__POOL_TRIALS) t->took[i][t->n[i]++] = (float)took / (float)expected;
    if (t->n[0] < DYNC__POOL_TRIALS || t->n[1] < DYNC__POOL_TRIALS) return;
    float alone = dync__pool_median(t->took[0], DYNC__POOL_TRIALS),
          both = dync__pool_median(t->took[1], DYNC__POOL_TRIALS);
    int32_t way = both * 10 < alone * DYNC__POOL_TRIAL_GAIN ? DYNC__POOL_SHARED : DYNC__POOL_ALONE;
    t->next = way == t->settled ? DYNC__MIN(2 * t->next, DYNC__POOL_TRIAL_NEXT)
                                : DYNC__POOL_TRIAL_FIRST;
    t->settled = way;
    t->n[0] = t->n[1] = 0;
    DYNC__ATOMIC_STORE(&t->left, t->next);
    DYNC__ATOMIC_STORE(&t->way, way);
}

DYNC__FN int dync__pool_pieces(int threads, double ns, int64_t most)
{
    double each = ns / DYNC__POOL_PIECE_NS / threads;
    int pieces = each >= DYNC__POOL_PIECES ? DYNC__POOL_PIECES : each >= 1 ? (int)each : 1;
    int64_t n = DYNC__MIN((int64_t)threads * pieces, DYNC__MAX(most, 1));
    return (int)(n > threads ? n - n % threads : n); /* a last round in which all have work */
}
#endif
