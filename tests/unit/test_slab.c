/* base/slab.c: blocks from large pages. What is written stays, blocks that are given back come
 * again, and nothing is counted that is not there. (Plans in them: tests/nn/test_many_sizes.c) */
#include "../../src/dync.in.h"
#include "../../src/base/base.h"

#include "../test.h"

enum { BLOCKS = 600 };
typedef struct block {
    unsigned char *at;
    size_t bytes;
    unsigned char value;
} block;

static bool holds(const block *b)
{
    for (size_t i = 0; i < b->bytes; i++)
        if (b->at[i] != b->value) return false;
    return true;
}

TEST(blocks_hold_what_is_written)
{
    static block of[BLOCKS];
    int64_t before = dync__mem_read_stats().live_bytes;
    int from_pages = 0;
    if (!DYNC__SLABS) return;
    for (int step = 0; step < 8 * BLOCKS; step++) {
        block *b = &of[test_random() % BLOCKS];
        if (b->at) {
            EXPECT(holds(b));
            dync__slab_put(b->at, b->bytes);
            b->at = NULL;
            continue;
        }
        b->bytes = 1 + (size_t)(test_random() % (step % 7 ? 20000 : 300000));
        b->value = (unsigned char)(test_random() % 256);
        if (!(b->at = dync__slab_take(b->bytes))) continue;
        from_pages++;
        EXPECT((uintptr_t)b->at % 64 == 0 && b->bytes <= 256 << 10);
        memset(b->at, b->value, b->bytes);
    }
    for (int i = 0; i < BLOCKS; i++)
        if (of[i].at) {
            EXPECT(holds(&of[i]));
            dync__slab_put(of[i].at, of[i].bytes);
        }
    EXPECT(dync__mem_read_stats().live_bytes == before);
    printf("    %d blocks from large pages\n", from_pages);
}

TEST_MAIN
