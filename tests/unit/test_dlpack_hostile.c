/* tests/unit/test_dlpack_hostile.c: DLPack structures that lie: an error or a tensor, never a
 * crash, and the owner's deleter runs just where a tensor was given. Random fields, then what
 * was found. */
#include "../../src/dync.in.h"
#include "../../src/tensor/dlpack.h"
#include "../test.h"

static uint32_t seed = 3;
static int any(int n)
{
    seed = seed * 1664525u + 1013904223u;
    return (int)((seed >> 8) % (uint32_t)n);
}

static int n_deleted;
static void deleted(dync__dl_managed *m) { (void)m, n_deleted++; }
static void deleted_versioned(dync__dl_versioned *m) { (void)m, n_deleted++; }

/* Hands it over in both forms; true: a tensor was made. */
static bool given(const dync__dl_tensor *d, bool read_only)
{
    bool any_made = false;
    for (int versioned = 0; versioned < 2; versioned++) {
        dync__dl_managed plain = {.tensor = *d, .deleter = deleted};
        dync__dl_versioned with = {.major = DYNC__DL_MAJOR,
                                   .deleter = deleted_versioned,
                                   .flags = read_only ? DYNC__DL_READ_ONLY : 0,
                                   .tensor = *d};
        bool made = false;
        n_deleted = 0;
        DYNC_SCOPE {
            dync_tensor *t = versioned ? dync_from_dlpack(&with, true)
                                       : dync_from_dlpack(&plain, false);
            made = t != NULL;
            EXPECT(made == (dync_error() == DYNC_OK));
        }
        EXPECT_EQ_INT(n_deleted, made);
        dync_clear_error();
        any_made = any_made || made;
    }
    return any_made;
}

/* Addresses are not followed unless data are copied, which the last argument keeps from being: all
 * sizes and strides may be anything. */
TEST(random_fields)
{
    static const int64_t odd[] = {0,
                                  1,
                                  2,
                                  3,
                                  -1,
                                  -2,
                                  INT64_MIN,
                                  INT64_MAX,
                                  INT64_MAX / 2,
                                  (int64_t)1 << 31,
                                  (int64_t)1 << 40,
                                  (int64_t)1 << 59};
    static double data[64];
    int n_made = 0;
    for (int round = 0; round < test_count(20000); round++) {
        int64_t shape[9], stride[9];
        dync__dl_tensor d = {.data = any(8) ? data : NULL, .device = any(12) ? 1 : any(20)};
        d.ndim = any(20) ? any(5) : any(70) - 2;
        if (any(3)) /* of a dtype that there is */
            d.dtype = (dync__dl_dtype){2, 32, 1};
        else
            d.dtype = (dync__dl_dtype){(uint8_t)any(18), (uint8_t)(any(2) ? 8 << any(5) : any(256)),
                                       (uint16_t)(any(4) ? 1 : any(5))};
        d.byte_offset = any(4) ? 0 : any(2) ? (uint64_t)any(17) : UINT64_MAX - (uint64_t)any(9);
        for (int i = 0; i < 9; i++) {
            shape[i] = any(3) ? any(4) : odd[any(sizeof odd / sizeof *odd)];
            stride[i] = any(2) ? any(5) : odd[any(sizeof odd / sizeof *odd)];
            /* what goes backwards is copied: from memory that is not ours */
            if (stride[i] < 0 && stride[i] != INT64_MIN) stride[i] = 0;
        }
        d.shape = any(16) ? shape : NULL;
        d.strides = any(4) ? stride : NULL;
        n_made += given(&d, false);
    }
    EXPECT(n_made > 100);
}

TEST(what_was_found)
{
    static float data[4] = {1, 2, 3, 4};
    int64_t huge[3] = {(int64_t)1 << 40, (int64_t)1 << 40, 0}, two[1] = {2}, least[1] = {INT64_MIN},
            far[1] = {-((int64_t)1 << 60)}, back[1] = {-1};
    dync__dl_tensor d = {.data = data, .device = 1, .ndim = 3, .dtype = {2, 32, 1}, .shape = huge};
    (void)given(&d, false); /* the product of the first two is no number */
    d.ndim = 1;
    d.shape = two;
    d.strides = least;
    EXPECT(!given(&d, false));
    d.strides = far;
    EXPECT(!given(&d, false));
    d.strides = back;
    d.byte_offset = 3 * sizeof *data;
    EXPECT(given(&d, false) && given(&d, true));
    DYNC_SCOPE {
        dync__dl_managed m = {.tensor = d, .deleter = deleted};
        dync_tensor *t = dync_from_dlpack(&m, false);
        REQUIRE(t != NULL);
        const float *x = dync_data(t);
        EXPECT(x[0] == 4 && x[1] == 3);
    }
    d.data = NULL;
    EXPECT(!given(&d, false));
}

TEST_MAIN
