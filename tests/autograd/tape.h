/* What the programs about the tape share: leaves, values by hand, errors that are expected. */
#ifndef TEST_TAPE_H
#define TEST_TAPE_H
#include "dync.h"
#include "test.h"
#include "tol.h"

static dync_tensor *leaf(int n, const float *x)
{
    return dync_from(x, dync_shape(n), .requires_grad = true);
}
#define LEAF(...) \
    leaf((int)(sizeof((float[]){__VA_ARGS__}) / sizeof(float)), (float[]){__VA_ARGS__})
#define EXPECT_VALUES(t, ...)                                                             \
    EXPECT_NEAR_F32(values(t), ((float[]){__VA_ARGS__}),                                  \
                    (int)(sizeof((float[]){__VA_ARGS__}) / sizeof(float)), TOL_F32_CHAIN, \
                    TOL_ABS_F32)
static dync_tensor *total(dync_tensor *t) { return dync_sum(t, DYNC_ALL, false); }

/* Row-major values of a small f32 tensor; NULL (and so a failure) where there is none. */
static const float *values(dync_tensor *t)
{
    static float out[4][64];
    static int turn;
    turn = (turn + 1) % 4;
    if (!t || dync_numel(t) > 64) return NULL;
    dync_tensor *dense = dync_contiguous(dync_detach(t));
    if (!dense || !dync_data(dense)) return NULL;
    memcpy(out[turn], dync_data(dense), (size_t)dync_numel(t) * sizeof(float));
    return out[turn];
}

/* The pending error has this status and text; cleared. */
static void expect_error(dync_status status, const char *text)
{
    EXPECT_STATUS(dync_error(), status);
    EXPECT_HAS_STR(dync_error_message(), text);
    dync_clear_error();
}

static void quiet(dync_status status, const char *message, void *user)
{
    (void)status, (void)message, (void)user;
}
#define QUIET dync_on_error(quiet, NULL)
#endif
