/* codegen/: machine code of every level, whatever this machine has: random kernels, the pieces of
 * matrix products, convolutions and whole graphs are made for a machine that is only pretended, and
 * not run. Each piece is compared with objdump, and has no instruction that the level lacks. */
#include "../../src/dync.in.h"
#include "../../src/inductor/inductor.h"
#include "../../src/codegen/gemm_code.h"
#include "../../src/codegen/jit.h"
#include "codegen_random.h"
#define TEST_AFTER_EACH (dync_shutdown(), dync_clear_error(), dync_on_error(NULL, NULL))
#if DYNC__JIT
#include "objdump.h"

enum { AVX2 = DYNC__CPU_AVX2 | DYNC__CPU_FMA, AVX512 = AVX2 | DYNC__CPU_F16C | DYNC__CPU_AVX512 };
static const struct {
    const char *name;
    unsigned features;
} levels[] = {
    {"avx2 without f16c", AVX2},
    {"avx2", AVX2 | DYNC__CPU_F16C},
    {"avx512", AVX512},
    {"avx512, bf16, vnni", AVX512 | DYNC__CPU_BF16 | DYNC__CPU_VNNI},
};
enum { LEVELS = sizeof levels / sizeof levels[0], MOST_CODE = 600000 };

/* ---- what is made ---------------------------------------------------------------------------- */
static struct {
    objdump_code at[4096];
    int n;
    long bytes, all;
    unsigned features, seen;
} made;
enum {
    SEEN_YMM = 1,
    SEEN_ZMM = 2,
    SEEN_MASK = 4,
    SEEN_HALF = 8,
    SEEN_BF16 = 16,
    SEEN_VNNI = 32,
    SEEN_FMA = 64,
    SEEN_WORDS = 128
};

/* Registers above 15: EVEX's alone. */
static bool high_register(const char *line)
{
    for (const char *p = line; (p = strstr(p, "mm"));)
        if (atoi(p += 2) > 15) return true;
    return false;
}

static void judge(const char *line)
{
    unsigned has = made.features, seen = 0;
    bool wide = has & DYNC__CPU_AVX512,
         mask = strstr(line, "{k") || strstr(line, " k") || strstr(line, ",k");
    if (strstr(line, "ymm")) seen |= SEEN_YMM;
    if (strstr(line, "zmm")) seen |= SEEN_ZMM;
    if (mask) seen |= SEEN_MASK;
    if (strstr(line, "vcvtph2ps") || strstr(line, "vcvtps2ph")) seen |= SEEN_HALF;
    if (strstr(line, "bf16")) seen |= SEEN_BF16;
    if (strstr(line, "vpmaddwd")) seen |= SEEN_WORDS;
    if (strstr(line, "vpdp")) seen |= SEEN_VNNI;
    if (strstr(line, "vfmadd")) seen |= SEEN_FMA;
    bool allowed = (wide || (!(seen & (SEEN_ZMM | SEEN_MASK)) && !high_register(line))) &&
                   (!(seen & SEEN_HALF) || has & DYNC__CPU_F16C) &&
                   (!(seen & SEEN_BF16) || has & DYNC__CPU_BF16) &&
                   (!(seen & SEEN_VNNI) || has & DYNC__CPU_VNNI);
    if (!EXPECT(allowed)) printf("  %s\n", line);
    made.seen |= seen;
}

/* The pieces so far against objdump. */
static void settle(void)
{
    if (made.n) EXPECT(objdump_compare(made.at, made.n) != 0);
    for (int i = 0; i < made.n; i++) {
        free((void *)(uintptr_t)made.at[i].bytes);
        free((void *)(uintptr_t)made.at[i].listing);
        free((void *)(uintptr_t)made.at[i].label);
    }
    made.n = 0;
    made.bytes = 0;
}

static void *copied(const void *from, size_t n)
{
    void *to = malloc(n + 1);
    if (n) memcpy(to, from, n);
    return to;
}

static void keep(const dync__asm *a)
{
    char line[256];
    const char *listing = a->listing ? dync__str_get(a->listing) : "";
    if (!EXPECT(a->listing && !a->listing->failed)) return;
    EXPECT_EQ_INT(dync__x_evex_of(a), (made.features & DYNC__CPU_AVX512) != 0);
    made.at[made.n++] = (objdump_code){
        copied(a->code.at, (size_t)a->code.n), a->code.n, copied(listing, strlen(listing) + 1),
        copied(a->label.at, (size_t)a->label.n * sizeof *a->label.at)};
    while (objdump_next(&listing, line, sizeof line)) judge(line);
    made.bytes += a->code.n;
    made.all += a->code.n;
    if (made.n == DYNC__COUNT_OF(made.at) || made.bytes > MOST_CODE) settle();
}

static void pretend(unsigned features)
{
    /* code made for another level is not used again */
    dync_shutdown();
    memset(&made, 0, sizeof made);
    made.features = features;
    dync__cpu_pretend(features ? features | DYNC__CPU_KNOWN : 0);
    dync__a_watch(features ? keep : NULL);
}

/* What such code is made of must have been there. */
static void expect_seen(unsigned seen)
{
    settle();
    if (test__state.verbose) printf("  %ld bytes of code\n", made.all);
    if (!EXPECT((made.seen & seen) == seen)) printf("  seen %x, not all of %x\n", made.seen, seen);
}

static unsigned with_halves(unsigned features) { return features & DYNC__CPU_F16C ? SEEN_HALF : 0; }
static unsigned vectors_of(unsigned features)
{
    return features & DYNC__CPU_AVX512 ? SEEN_ZMM | SEEN_MASK : SEEN_YMM;
}

/* ---- random kernels -------------------------------------------------------------------------- */
TEST(random_kernels)
{
    for (int l = 0; l < LEVELS; l++) {
        /* so many have everything that is expected */
        int n = DYNC__MAX(test_count(150), 60), code_made = 0;
        pretend(levels[l].features);
        for (int i = 0; i < n; i++) {
            random_kernel g;
            random_build(&g, i % 2);
            dync__code *code = g.stored && !g.k->failed ? dync__code_new(g.k) : NULL;
            code_made += code && code->jit;
            dync__code_free(code);
            dync__arena_free(&g.arena);
        }
        EXPECT(code_made > n / 3);
        expect_seen(vectors_of(levels[l].features) | with_halves(levels[l].features));
        pretend(0);
    }
}

/* ---- matrix products, transpositions --------------------------------------------------------- */
static void pieces_of(int kind, int type)
{
    static const int adds[] = {0, DYNC__GT_ADD, DYNC__GT_BIAS};
    int lanes = dync__gt_lanes(type, 0), sides = kind == DYNC__GT_TILE ? 2 : 1,
        n_adds = kind == DYNC__GT_TILE && type != DYNC__GT_U8 ? 3
                 : kind <= DYNC__GT_DOTS                      ? 2
                                                              : 1;
    for (int rows = 1; rows <= (kind >= DYNC__GT_COPY ? 1 : 14); rows += 1 + (rows > 3))
        for (int columns = 1; columns <= 4 * lanes;
             columns += kind == DYNC__GT_DOTS || columns == 1 ? 1 : lanes - 1 + columns % 2)
            for (int way = 0; way < sides * n_adds; way++) {
                int flags = (way % sides ? DYNC__GT_A_ROWS : 0) | adds[way / sides] |
                            (columns % 3 ? 0 : DYNC__GT_HALF);
                dync__gt_args x = {.k = 64 + rows % 2};
                /* in C */
                bool partly = kind == DYNC__GT_PAIR && columns % lanes &&
                              !(made.features & DYNC__CPU_AVX512);
                if (partly || !dync__gt_fits(kind, type, flags, rows, columns)) continue;
                if (!EXPECT(dync__gt_find(kind, type, flags, rows, columns, &x) != NULL))
                    printf("  kind %d type %d rows %d columns %d\n", kind, type, rows, columns);
            }
}

static void transpositions(void)
{
    bool wide = dync__cpu_features() & DYNC__CPU_AVX512;
    for (int bytes = 1; bytes <= 8; bytes *= 2) {
        for (int n = 2; n <= DYNC__GT_FEW; n++)
            for (int woven = 0; woven < 2; woven++)
                EXPECT(dync__gt_code(dync__target_now(), DYNC__GT_WEAVE, DYNC__GT_F32, woven, bytes,
                                     n) != NULL);
        for (int flags = 0; flags < 3; flags++)
            EXPECT(dync__gt_code(dync__target_now(), DYNC__GT_STAGE, DYNC__GT_F32, flags, bytes,
                                 0) != NULL);
        for (int vl = 0; vl < 2 + wide; vl++)
            for (int fetch = 0; fetch < 2; fetch++)
                EXPECT(dync__gt_code(dync__target_now(), DYNC__GT_SWAP, DYNC__GT_F32, fetch, bytes,
                                     vl) != NULL);
        for (int fetch = 0; fetch < 2 && wide && bytes >= 4; fetch++)
            EXPECT(dync__gt_code(dync__target_now(), DYNC__GT_SWAP, DYNC__GT_F32, fetch, bytes,
                                 2 | 1 << 2) != NULL);
    }
}

TEST(matrix_products)
{
    for (int l = 0; l < LEVELS; l++) {
        unsigned has = levels[l].features;
        for (int type = DYNC__GT_F32; type <= DYNC__GT_AS_BF16; type++) {
            pretend(has);
            if (!dync__gt_can(type)) continue;
            for (int kind = DYNC__GT_TILE; kind <= DYNC__GT_PAIR; kind++) {
                bool pair = type == DYNC__GT_BF16 || type == DYNC__GT_U8,
                     as = type >= DYNC__GT_AS_F16;
                if ((kind == DYNC__GT_PAIR && !pair) || (kind == DYNC__GT_COPY && (pair || as)))
                    continue;
                pieces_of(kind, type);
            }
            expect_seen(type == DYNC__GT_F32    ? vectors_of(has) | SEEN_FMA
                        : type == DYNC__GT_BF16 ? SEEN_BF16
                        : type != DYNC__GT_U8   ? SEEN_FMA
                        : has & DYNC__CPU_VNNI  ? SEEN_VNNI
                                                : SEEN_WORDS);
        }
        pretend(has);
        transpositions();
        expect_seen(has & DYNC__CPU_AVX512 ? SEEN_ZMM : SEEN_YMM);
        pretend(0);
    }
}

/* ---- whole graphs ---------------------------------------------------------------------------- */
static dync_tensor *convolved(dync_tensor *x, dync_tensor *w)
{
    dync_tensor *y =
        dync_relu(dync_conv2d(x, w, NULL, dync_shape(1, 1), dync_shape(1, 1), dync_shape(1, 1), 1));
    y = dync_conv2d(dync_max_pool2d(y, dync_shape(2, 2), dync_shape(2, 2), dync_shape(0, 0),
                                    dync_shape(1, 1), false),
                    w, NULL, dync_shape(2, 2), dync_shape(1, 1), dync_shape(1, 1), 1);
    return dync_add(dync_tanh(y), 1);
}
static dync_tensor *attended(dync_tensor *x, dync_tensor *w)
{
    dync_tensor *q = dync_matmul(x, w),
                *s = dync_softmax(dync_matmul(q, dync_transpose(q, -1, -2)), -1);
    return dync_layer_norm(dync_add(dync_matmul(s, x), x), dync_shape(dync_size(x, -1)), NULL, NULL,
                           1e-5);
}
static dync_tensor *crossed(dync_tensor *x, dync_tensor *w)
{
    dync_tensor *t = dync_contiguous(dync_transpose(dync_add(x, 1), 0, 1));
    return dync_mul(t, dync_sum(dync_sin(w), dync_shape(0), true));
}
static dync_tensor *(*program)(dync_tensor *, dync_tensor *);
static dync_value as_list(const dync_value *args, int n, void *user)
{
    (void)n, (void)user;
    return dync_tuple(program(args[0].as.t, args[1].as.t));
}

static const dync__options plain_options = DYNC__OPTIONS_DEFAULT;
static void lower(dync_tensor *(*fn)(dync_tensor *, dync_tensor *), dync_tensor *x, dync_tensor *w,
                  unsigned seen)
{
    program = fn;
    dync_graph *g = dync_make_graph(as_list, x, w);
    REQUIRE(g != NULL);
    for (int l = 0; l < LEVELS; l++) {
        dync__lowered lowered;
        dync__a_watch(keep);
        memset(&made, 0, sizeof made);
        made.features = levels[l].features;
        dync__cpu_pretend(levels[l].features | DYNC__CPU_KNOWN);
        if (EXPECT_OK(dync__inductor_lower(dync__graph_peek(g), NULL, &plain_options, &lowered)))
            dync__lowered_free(&lowered);
        expect_seen(seen | vectors_of(levels[l].features));
        dync__a_watch(NULL);
        dync__cpu_pretend(0);
    }
}

TEST(graphs)
{
    DYNC_SCOPE {
        lower(attended, dync_randn(dync_shape(3, 64, 48)), dync_randn(dync_shape(48, 48)),
              SEEN_FMA);
        lower(crossed, dync_randn(dync_shape(130, 70)), dync_randn(dync_shape(50, 130)), 0);
        lower(convolved, dync_randn(dync_shape(1, 32, 20, 20)),
              dync_randn(dync_shape(32, 32, 3, 3)), SEEN_FMA);
    }
}
#else
TEST(no_jit_here) { EXPECT(true); }
#endif
TEST_MAIN
