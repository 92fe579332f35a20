/* tests/unit/test_strided_sums.c: what a window over a storage shows several times is added up in
 * its gradient: by one scatter, and, as a small program does it, by windows whose elements are
 * apart (autograd/view.c). Both against sums by hand, on random windows; whole numbers, so that
 * every order gives the same. */
#include "../../src/dync.in.h"
#include "../../src/autograd/node.h"
#include "../test.h"

enum { MOST = 5 * 5 * 5 };

/* A window of up to three dims, in numbers from its lowest place on; strides from 1, as those of 0
 * are summed before. Returns the elements of the buffer that it lies in. */
static int64_t random_window(dync__layout *w, int64_t low)
{
    int64_t last = test_random_int(0, 4), beyond = test_random_int(0, 3);
    memset(w, 0, sizeof *w);
    w->ndim = test_random_int(1, 3);
    w->offset = low + last;
    for (int d = 0; d < w->ndim; d++) {
        w->shape[d] = test_random_int(1, 5);
        w->stride[d] = test_random_int(1, 6);
        last += (w->shape[d] - 1) * w->stride[d];
    }
    return last + 1 + beyond;
}

/* Elements of the window, in its order, at their places. */
static int by_hand(const dync__layout *w, int64_t low, const float *value, float *to)
{
    int64_t at[3] = {0};
    for (int n = 0;; n++) {
        int64_t place = w->offset - low;
        for (int d = 0; d < w->ndim; d++) place += at[d] * w->stride[d];
        to[place] += value[n];
        int d = w->ndim - 1;
        while (d >= 0 && ++at[d] == w->shape[d]) at[d--] = 0;
        if (d < 0) return n + 1;
    }
}

TEST(windows_as_scatter)
{
    int overlapping = 0;
    for (int t = 0; t < test_count(300); t++) DYNC_SCOPE {
        dync__layout w;
        float value[MOST], want[128] = {0}, start[128];
        int64_t low = test_random_int(0, 3), n = random_window(&w, low);
        for (int i = 0; i < MOST; i++) value[i] = (float)test_random_int(-9, 9);
        for (int i = 0; i < n; i++) want[i] = start[i] = (float)test_random_int(-9, 9);
        by_hand(&w, low, value, want);
        overlapping += !dync__layout_is_apart(&w);
        dync_dims shape = {w.ndim, {0}};
        for (int d = 0; d < w.ndim; d++) shape.d[d] = w.shape[d];
        dync_tensor *grad = dync_from(value, shape), *a = dync_from(start, dync_shape(n));
        dync_tensor *got[2] = {
            dync__strided_scatter(a, grad, &w, low, DYNC_CPU),
            dync__strided_windows(dync_clone(a), grad, &w, low, DYNC_F32, DYNC_CPU)};
        for (int k = 0; k < 2; k++) {
            const float *v = got[k] ? dync_data(got[k]) : NULL;
            EXPECT(v && dync_numel(got[k]) == n);
            for (int i = 0; v && i < n; i++) EXPECT(v[i] == want[i]);
        }
    }
    EXPECT(overlapping > test_count(100));
}
TEST_MAIN
