/* tests/living/living.h: programs whose sizes, modes, state and ways change while they run. Each is
 * run plainly and compiled, from the same seed; the numbers it notes are the same, and the compiled
 * run makes exactly so many graphs and misses. Epochs of two modes and adversaries that are frozen
 * in turn: tests/capture/test_modes.c. */
#ifndef DYNC_TESTS_LIVING_H
#define DYNC_TESTS_LIVING_H
#include "dync.h"
#include "test.h"

enum { LIVING_MOST = 4096 };
typedef struct living {
    bool compiled;
    int n;
    double note[LIVING_MOST];
    int64_t settled; /* misses when the program said that it had met everything */
} living;

TEST__UNUSED static void note(living *p, double x)
{
    if (p->n < LIVING_MOST) p->note[p->n++] = x;
}
/* Every element counts, and its place. */
TEST__UNUSED static void note_tensor(living *p, dync_tensor *t)
{
    DYNC_SCOPE DYNC_NO_GRAD {
        dync_tensor *flat = dync_reshape(dync_to_dtype(dync_detach(t), DYNC_F64), dync_shape(-1)),
                    *place = dync_arange(1, (double)dync_numel(t) + 1, 1);
        note(p, dync_item(dync_sum(dync_mul(flat, dync_sin(dync_to_dtype(place, DYNC_F64))),
                                   DYNC_ALL, false)));
        note(p, (double)dync_numel(t));
    }
}
/* From here on nothing new comes. */
TEST__UNUSED static void settled(living *p) { p->settled = dync_get_counters().cache_misses; }

/* graphs, misses: of the whole compiled run; -1: as many as data and sizes ask for. */
TEST__UNUSED static void lives(void (*program)(living *), int graphs, int misses, double tol)
{
    static living plain, got;
    for (int compiled = 0; compiled < 2; compiled++) {
        living *p = compiled ? &got : &plain;
        memset(p, 0, sizeof *p);
        p->compiled = compiled;
        EXPECT_OK(dync_init((dync_init_options){.threads = 1, .seed = 7}));
        dync_counters before = dync_get_counters();
        program(p);
        dync_counters c = dync_get_counters();
        if (compiled) {
            EXPECT(c.graphs > before.graphs);
            if (graphs >= 0) EXPECT_EQ_INT(c.graphs - before.graphs, graphs);
            if (misses >= 0) EXPECT_EQ_INT(c.cache_misses - before.cache_misses, misses);
            EXPECT_EQ_INT(c.cache_misses, p->settled);
        }
        EXPECT_STATUS(dync_error(), DYNC_OK);
        dync_shutdown();
    }
    EXPECT(plain.n > 0);
    EXPECT_EQ_INT(got.n, plain.n);
    for (int i = 0; i < plain.n && i < got.n; i++)
        EXPECT_NEAR(got.note[i], plain.note[i], tol * (1 + fabs(plain.note[i])));
}
#endif
