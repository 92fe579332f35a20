/* codegen/jit.c, x86_*.c: machine code against the tile interpreter and the oracle of loop/eval.c: random kernels, large expressions that
 * spill, by hand; for AVX2 and AVX-512; code memory. */
#include "../../src/dync.in.h"
#include "../../src/codegen/codemem.h"
#include "../../src/codegen/jit.h"
#include "codegen_random.h"
#include "../tol.h"
#define TEST_AFTER_EACH (dync_shutdown(), dync_clear_error(), dync_on_error(NULL, NULL))

static int64_t n_jitted, n_declined;

/* Runs k by machine code for an instruction set, by the interpreter and by the oracle on equal random data. exact: the interpreter's bits. */
static bool agree(const dync__kernel *k, const int64_t *elements, int wild, int isa, bool oracle)
{
    void *data[3][MAX_BUFS];
    bool ok = true;
    for (int i = 0; i < k->buf.n; i++) {
        size_t bytes = (size_t)elements[i] * dync__dtype_info(k->buf.at[i].dtype)->bytes;
        for (int w = 0; w < 3; w++) data[w][i] = malloc(bytes + 1);   /* no more: reads behind the end are seen by sanitizers */
        fill(data[0][i], k->buf.at[i].dtype, elements[i], wild);
        for (int w = 1; w < 3; w++) memcpy(data[w][i], data[0][i], bytes);
    }
    dync__code *code = dync__code_new_for(k, isa, true), *plain = dync__code_new_for(k, isa, false);
    ok = EXPECT(code != NULL) && EXPECT(plain != NULL);
    if (ok && code->jit) {
        n_jitted++;
        ok = EXPECT_OK(dync__code_run(code, data[0], 7, 100)) && EXPECT_OK(dync__code_run(plain, data[1], 7, 100)) &&
             (!oracle || EXPECT_OK(dync__kernel_eval(k, data[2], 7, 100)));
        for (int w = 1; w < (oracle ? 3 : 2); w++)
            for (int i = 0; ok && i < k->buf.n; i++)
                for (int64_t e = 0; ok && e < elements[i]; e++)
                    if (!same(data[0][i], data[w][i], k->buf.at[i].dtype, e)) {
                        int bytes = dync__dtype_info(k->buf.at[i].dtype)->bytes;
                        printf("  isa %d buffer %d element %lld: got %.9g, %s %.9g\n", isa, i, (long long)e,
                               dync__load_f64((char *)data[0][i] + e * bytes, k->buf.at[i].dtype), w == 1 ? "interpreter" : "oracle",
                               dync__load_f64((char *)data[w][i] + e * bytes, k->buf.at[i].dtype));
                        ok = false;
                    }
    } else if (ok) {
        n_declined++;
    }
    if (!ok) {
        dync__str text = {0};
        dync__kernel_print(&text, k);
        if (code) dync__code_dump(&text, code);
        printf("%s", dync__str_get(&text));
        dync__str_free(&text);
    }
    dync__code_free(code);
    dync__code_free(plain);
    for (int i = 0; i < k->buf.n; i++)
        for (int w = 0; w < 3; w++) free(data[w][i]);
    return ok;
}

static void random_kernels(int count, bool reductions)
{
    int best = dync__tile_isa();
    n_jitted = n_declined = 0;
    for (int i = 0; i < count; i++) {
        random_kernel g;
        random_build(&g, reductions);
        bool ok = true;
        for (int isa = 1; isa <= best && g.stored && !g.k->failed && ok; isa++)
            ok = agree(g.k, g.elements, test_random() % 2 ? (reductions ? 1 : 2) : 0, isa, true);
        dync__arena_free(&g.arena);
        if (!EXPECT(ok)) {
            printf("  kernel number %d\n", i);
            return;
        }
    }
    if (test__state.verbose) printf("  machine code %lld, interpreted %lld\n", (long long)n_jitted, (long long)n_declined);
    EXPECT(best == 0 || n_jitted > count / 3);
    dync_shutdown();
    EXPECT_EQ_INT(dync__mem_read_stats().live_bytes, 0);
    EXPECT_EQ_INT(dync__codemem_read_stats().chunks, 0);
}

TEST(random_pointwise) { random_kernels(2500, false); }
TEST(random_reductions) { random_kernels(2500, true); }

TEST_MAIN
