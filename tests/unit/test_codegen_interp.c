/* codegen/interp*.c: the tile interpreter against the oracle of loop/eval.c, on random kernels in every mode, and by hand. */
#include "../../src/dync.in.h"
#include "../../src/codegen/interp.h"
#include "codegen_random.h"
#include "../tol.h"
#define TEST_AFTER_EACH (dync_shutdown(), dync_clear_error(), dync_on_error(NULL, NULL))

/* Runs k by the interpreter and by the oracle on equal random data; true where every output agrees. */
static bool agree(const dync__kernel *k, const int64_t *elements, int wild)
{
    void *mine[MAX_BUFS], *theirs[MAX_BUFS];
    bool ok = true;
    for (int i = 0; i < k->buf.n; i++) {
        size_t bytes = (size_t)elements[i] * dync__dtype_info(k->buf.at[i].dtype)->bytes;
        mine[i] = malloc(bytes + 1);
        theirs[i] = malloc(bytes + 1);
        fill(mine[i], k->buf.at[i].dtype, elements[i], wild);
        memcpy(theirs[i], mine[i], bytes);
    }
    dync__code *code = dync__code_new(k);
    ok = EXPECT(code != NULL) && EXPECT_OK(dync__kernel_eval(k, theirs, 7, 100)) && EXPECT_OK(dync__code_run(code, mine, 7, 100));
    for (int i = 0; ok && i < k->buf.n; i++)
        for (int64_t e = 0; ok && e < elements[i]; e++)
            if (!same(mine[i], theirs[i], k->buf.at[i].dtype, e)) {
                printf("  buffer %d element %lld: got %.9g, expected %.9g\n", i, (long long)e,
                       dync__load_f64((char *)mine[i] + e * dync__dtype_info(k->buf.at[i].dtype)->bytes, k->buf.at[i].dtype),
                       dync__load_f64((char *)theirs[i] + e * dync__dtype_info(k->buf.at[i].dtype)->bytes, k->buf.at[i].dtype));
                ok = false;
            }
    if (!ok) {
        dync__str text = {0};
        dync__kernel_print(&text, k);
        if (code) dync__code_dump(&text, code);
        printf("%s", dync__str_get(&text));
        dync__str_free(&text);
    }
    dync__code_free(code);
    for (int i = 0; i < k->buf.n; i++) {
        free(mine[i]);
        free(theirs[i]);
    }
    return ok;
}

static void random_kernels(int count, bool reductions)
{
    int ran = 0, modes[3] = {0, 0, 0};
    for (int i = 0; i < count; i++) {
        random_kernel g;
        random_build(&g, reductions);
        bool ok = true;
        if (g.stored && !g.k->failed) {
            ok = EXPECT_OK(dync__kernel_check(g.k)) && agree(g.k, g.elements, test_random() % 2 ? (reductions ? 1 : 2) : 0);
            dync__code *code = dync__code_new(g.k);
            if (code) modes[code->mode]++;
            dync__code_free(code);
            ran++;
        }
        dync__arena_free(&g.arena);
        if (!EXPECT(ok)) {
            printf("  kernel number %d\n", i);
            return;
        }
    }
    EXPECT(ran > count / 2);
    EXPECT(modes[0] > ran / 20 && modes[1] > ran / 20);
    if (test__state.verbose) printf("  chunk %d, block %d, vertical %d\n", modes[0], modes[1], modes[2]);
    EXPECT(!reductions || modes[2] > ran / 200);
    dync_shutdown();
    EXPECT_EQ_INT(dync__mem_read_stats().live_bytes, 0);
}

TEST(random_pointwise) { random_kernels(3000, false); }
TEST(random_reductions) { random_kernels(6000, true); }

TEST_MAIN
