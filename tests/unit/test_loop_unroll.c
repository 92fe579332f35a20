/* loop/unroll.c: kernels of short rows mean the same when they are written out, to the oracle and
 * as code of each level. */
#include "../../src/dync.in.h"
#include "../../src/codegen/interp.h"
#include "../../src/codegen/target.h"
#include "../../tools/ir/ir.h"
#define RANDOM_NO_SCANS
#include "codegen_random.h"
#define TEST_AFTER_EACH (dync_shutdown(), dync_clear_error(), dync_on_error(NULL, NULL))

typedef struct {
    char *data[MAX_BUFS];
} memory;

static memory filled(const random_kernel *g, const memory *like, int wild)
{
    memory m;
    for (int i = 0; i < g->k->buf.n; i++) {
        size_t bytes = (size_t)g->elements[i] * dync__dtype_info(g->k->buf.at[i].dtype)->bytes;
        m.data[i] = malloc(bytes + 1);
        if (like)
            memcpy(m.data[i], like->data[i], bytes);
        else
            fill(m.data[i], g->k->buf.at[i].dtype, g->elements[i], wild);
    }
    return m;
}

static bool alike(const random_kernel *g, const memory *a, const memory *b, const char *what)
{
    for (int i = 0; i < g->k->buf.n; i++)
        for (int64_t e = 0; e < g->elements[i]; e++)
            if (!same(a->data[i], b->data[i], g->k->buf.at[i].dtype, e)) {
                int bytes = dync__dtype_info(g->k->buf.at[i].dtype)->bytes;
                printf("  %s: buffer %d element %lld: got %.9g, expected %.9g\n", what, i,
                       (long long)e, dync__load_f64(a->data[i] + e * bytes, g->k->buf.at[i].dtype),
                       dync__load_f64(b->data[i] + e * bytes, g->k->buf.at[i].dtype));
                return false;
            }
    return true;
}

static void drop(const random_kernel *g, memory *m)
{
    for (int i = 0; i < g->k->buf.n; i++) free(m->data[i]);
}

/* before: the kernel as it was. */
static bool agrees(const random_kernel *g, const dync__kernel *before)
{
    memory begin = filled(g, NULL, 1), want = filled(g, &begin, 0);
    bool ok = EXPECT_OK(dync__kernel_check(g->k)) &&
              EXPECT_OK(dync__kernel_eval(before, (void **)want.data, 7, 100));
    /* -1: the oracle; 0: the interpreter */
    for (int isa = -1; isa <= dync__target_level() && ok; isa++) {
        memory got = filled(g, &begin, 0);
        /* all with fma, or none */
        dync__code *code =
            isa < 0 ? NULL : dync__code_new_for(g->k, isa ? isa : dync__target_level(), isa > 0);
        ok = EXPECT_OK(isa < 0 ? dync__kernel_eval(g->k, (void **)got.data, 7, 100)
                               : dync__code_run(code, (void **)got.data, 7, 100));
        ok = ok && EXPECT(alike(g, &got, &want,
                                isa < 0 ? "oracle"
                                : isa   ? "machine code"
                                        : "interpreter"));
        dync__code_free(code);
        drop(g, &got);
    }
    drop(g, &begin);
    drop(g, &want);
    return ok;
}

/* g's kernel as it is: unrolling orders its loops first. */
static dync__kernel kept(random_kernel *g)
{
    dync__kernel k = *g->k;
    memset(&k.access, 0, sizeof k.access);
    for (int i = 0; i < g->k->access.n; i++)
        (void)dync__avec_push(&g->arena, &k.access, g->k->access.at[i]);
    return k;
}

TEST(random_kernels)
{
    int unrolled = 0, n = test_count(1500);
    random_short = true;
    for (int i = 0; i < n; i++) {
        random_kernel g;
        random_build(&g, true);
        dync__kernel before = kept(&g);
        if (g.stored && !g.k->failed) dync__kernel_unroll(g.k);
        bool changed = g.k->n_outer != before.n_outer, ok = !changed || agrees(&g, &before);
        unrolled += changed;
        if (!ok) {
            dync__str text = {0};
            dync__kernel_print(&text, &before);
            dync__kernel_print(&text, g.k);
            printf("  kernel number %d\n%s", i, dync__str_get(&text));
            dync__str_free(&text);
        }
        dync__arena_free(&g.arena);
        if (!ok) return;
    }
    if (test__state.verbose) printf("  %d of %d written out\n", unrolled, n);
    EXPECT(unrolled > n / 8);
}

/* Every reduction over rows of 1 to 16, NaN and equal extremes among them. */
TEST(every_reduction)
{
    static const int types[] = {DYNC_F32, DYNC_F64, DYNC_I32, DYNC_I64, DYNC_BOOL};
    for (int length = 1; length <= 16; length++)
        for (int t = 0; t < 5; t++)
            for (int kind = DYNC__R_SUM; kind <= DYNC__R_ARGMIN; kind++) {
                if ((kind == DYNC__R_ANY || kind == DYNC__R_ALL) != (types[t] == DYNC_BOOL))
                    continue;
                /* 9 to the 8th rounds: the order shows */
                if (kind == DYNC__R_PROD && types[t] == DYNC_F32 && length > 7) continue;
                random_kernel g = {.elements = {300 * length, 300}};
                int64_t extent[2] = {300, length}, in[2] = {length, 1}, out[2] = {1, 0};
                g.k = dync__kernel_new(&g.arena, "reduce", 1, 2, extent);
                dync__lb b = {.k = g.k, .section = 1};
                int x = dync__lb_load(&b,
                                      dync__kernel_buf(g.k, 0, types[t], DYNC__BUF_IN, -1, NULL),
                                      dync__kernel_access(g.k, 0, in));
                x = dync__lb_reduce(&b, kind, x);
                b.section = 2;
                dync__lb_store(&b,
                               dync__kernel_buf(g.k, 1, dync__reduce_type(kind, types[t]),
                                                DYNC__BUF_OUT, -1, NULL),
                               dync__kernel_access(g.k, 0, out), x);
                dync__kernel before = kept(&g);
                dync__kernel_unroll(g.k);
                EXPECT_EQ_INT(g.k->n_outer, length < 16 ? 0 : 1);
                if (!g.k->n_outer && !EXPECT(agrees(&g, &before)))
                    printf("  rows of %d, type %d, kind %d\n", length, types[t], kind);
                dync__arena_free(&g.arena);
            }
}
/* What writes the elements of a row one by one goes along the memory of each. */
TEST(loops_in_the_order_of_memory)
{
    random_kernel g = {.elements = {4 * 300 * 6, 4 * 300 * 6}};
    int64_t extent[3] = {300, 6, 4}, stride[3] = {1, 300, 1800};
    g.k = dync__kernel_new(&g.arena, "less", 2, 3, extent);
    dync__lb b = {.k = g.k, .section = 1};
    int in = dync__kernel_buf(g.k, 0, DYNC_F32, DYNC__BUF_IN, -1, NULL),
        out = dync__kernel_buf(g.k, 1, DYNC_F32, DYNC__BUF_OUT, -1, NULL),
        at = dync__kernel_access(g.k, 0, stride);
    int most = dync__lb_reduce(&b, DYNC__R_MAX, dync__lb_load(&b, in, at));
    b.section = 3;
    dync__lb_store(&b, out, at, dync__lb_op(&b, DYNC__P_sub, dync__lb_load(&b, in, at), most, -1));
    dync__kernel before = kept(&g);
    dync__kernel_unroll(g.k);
    EXPECT_EQ_INT(g.k->n_outer, 0);
    EXPECT(g.k->access.at[g.k->inst.at[0].access].stride[g.k->n_dims - 1] == 1);
    EXPECT(agrees(&g, &before));
    dync__arena_free(&g.arena);
}
TEST_MAIN
