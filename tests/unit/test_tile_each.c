/* codegen/tile_each.c, one element at a time, beside the loops of codegen/interp_tile.c: every
 * primitive, cast, conversion, selection and fold, on edges and random values, in place and with
 * scalars. */
#include "../../src/dync.in.h"
#include "../../src/codegen/convert.h"
#include "../../src/codegen/target.h"
#include "codegen_random.h"
#include "../test.h"

enum { MOST = 131 };
static _Alignas(64) char in[3][MOST * 8 + 64], each[MOST * 8 + 64], loops[MOST * 8 + 64];
static const uint8_t types[] = {DYNC_F32, DYNC_F64, DYNC_I32, DYNC_I64, DYNC_BOOL};

static void any_value(char *at, int dtype)
{
    static const double floats[] = {NAN,          INFINITY,      -INFINITY, -0.0, 0,
                                    1e-7,         65519.0,       65520.0,   -3e9, 5e18,
                                    2147483648.0, -2147483648.0, 9.3e18,    0.5,  1.5};
    static const int64_t ints[] = {0,   1,         -1,        31,        32,        63,
                                   64,  INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, 127,
                                   128, 255,       256,       -129,      32768};
    uint64_t r = test_random();
    if (dtype == DYNC_BOOL)
        *at = (char)(r & 1);
    else if (dync__dtype_info(dtype)->kind == 'f')
        dync__store_f64(at, dtype, r % 3 ? test_random_real(-99, 99) : floats[r / 3 % 15]);
    else
        dync__store_i64(at, dtype, r % 3 ? (int64_t)test_random() : ints[r / 3 % 17]);
}

static void values(char *to, int dtype)
{
    for (int i = 0; i < MOST; i++) any_value(to + i * dync__dtype_info(dtype)->bytes, dtype);
}

/* Both forms on n elements; result: the dtype of what they write. */
static void agree(const char *what, dync__tile a, dync__tile b, int from, int result, bool spread)
{
    int n = 1 + (int)(test_random() % (MOST - 1)), scalars = spread ? (int)(test_random() % 8) : 0,
        bytes = dync__dtype_info(result)->bytes;
    if (!EXPECT((a.fn != NULL) == (b.fn != NULL)) || !a.fn) return;
    EXPECT(memcmp(a.bytes, b.bytes, sizeof a.bytes) == 0);
    for (int k = 0; k < 3; k++) {
        values(in[k], a.bytes[1 + k] == 1 && k == 0 && a.bytes[3] ? (int)DYNC_BOOL : from);
        if (scalars >> k & 1 && a.bytes[1 + k])
            dync__tile_spread(in[k], a.bytes[1 + k], (uint64_t *)(void *)in[k]);
    }
    dync__tile_run(&a, loops, in[0], in[1], in[2], n, scalars);
    dync__tile_run(&b, each, in[0], in[1], in[2], n, scalars);
    for (int i = 0; i < n; i++)
        if (!EXPECT(same(each, loops, result, i))) {
            printf("  %s of %s to %s, element %d\n", what, dync__dtype_info(from)->name,
                   dync__dtype_info(result)->name, i);
            return;
        }
    if (a.bytes[0] != a.bytes[1] || scalars & 1) return;
    memcpy(loops, in[0], sizeof loops);
    dync__tile_run(&b, loops, loops, in[1], in[2], n, scalars);
    EXPECT(memcmp(loops, each, (size_t)(n * bytes)) == 0);
}

TEST(primitives)
{
    for (int round = 0; round < 30; round++)
        for (int t = 0; t < 5; t++)
            for (int prim = DYNC__P_add; prim <= DYNC__TILE_MINSEL; prim++) {
                int as = prim < DYNC__N_PRIMS ? prim : (int)DYNC__P_max, type = types[t];
                const dync__prim_row *row = dync__prim_info(as);
                if (prim >= DYNC__N_PRIMS && t > 1) continue; /* clamps are of floats */
                if (row->result == 'T' || prim == DYNC__P_wrap || !strchr(row->types, "fdilb"[t]))
                    continue;
                int isa = prim == DYNC__P_fma ? dync__target_level() : (int)(test_random() % 2);
                if (isa > dync__target_level()) isa = 0;
                agree(row->name, dync__tile_find(isa, prim, type), dync__tile_find(-1, prim, type),
                      type, row->result == 'B' ? (int)DYNC_BOOL : type, row->n_args > 1);
            }
}

TEST(conversions)
{
    for (int round = 0; round < 30; round++) {
        for (int t = 0; t < 25; t++) {
            int from = types[t / 5], to = types[t % 5];
            if (from == to) continue;
            agree("cast", dync__tile_cast(0, from, to), dync__tile_cast(-1, from, to), from, to,
                  false);
        }
        for (int s = DYNC_F32; s <= DYNC_BOOL; s++) {
            int compute = dync__dtype_info(s)->compute;
            agree("widen", dync__tile_widen(0, s), dync__tile_widen(-1, s), s, compute, false);
            agree("narrow", dync__tile_narrow(0, s), dync__tile_narrow(-1, s), compute, s, false);
            agree("wrap", dync__tile_wrap(0, s), dync__tile_wrap(-1, s), compute, compute, false);
        }
    }
}

TEST(folds)
{
    for (int round = 0; round < 30; round++)
        for (int kind = DYNC__R_SUM; kind <= DYNC__R_ALL; kind++)
            for (int t = 0; t < 5; t++) {
                if ((kind >= DYNC__R_ANY) != (types[t] == DYNC_BOOL)) continue;
                int half = 1 << test_random() % 5;
                values(each, types[t]);
                memcpy(loops, each, sizeof loops);
                dync__tile_fold(kind, types[t], loops, half);
                dync__tile_each_fold(dync__reduce_prim(kind), types[t], each, half);
                EXPECT(same(each, loops, types[t], 0));
            }
}
/* Lines of f16 and bf16 by machine code beside the loops: each number there is, and all that round
 * to one, at every level, of any length from any place. */
TEST(lines_converted)
{
    enum { LINE = 700 };
    static _Alignas(64) char from[4 * LINE + 64], got[4 * LINE + 64], want[4 * LINE + 64];
    static float terms[LINE];
    static const int narrow[] = {DYNC_F16, DYNC_BF16};
    unsigned all = dync__cpu_features(),
             levels[] = {all, all & ~(unsigned)DYNC__CPU_BF16,
                         all & ~(unsigned)(DYNC__CPU_BF16 | DYNC__CPU_AVX512), 0};
    for (int i = 0; i < test_count(4000); i++) {
        dync__cpu_pretend(levels[i % 4] | DYNC__CPU_KNOWN);
        int dtype = narrow[i / 4 % 2], rounds = i / 8 % 2, step = rounds ? 4 : 2,
            level = dync__target_level();
        int64_t n = (int64_t)(test_random() % (LINE - 8)), skip = (int64_t)(test_random() % 8);
        for (int64_t k = 0; k < LINE; k++) {
            uint32_t bits = (uint32_t)test_random(), kind = (uint32_t)test_random() % 4;
            if (rounds && kind == 0) bits &= 0x807fffffu; /* subnormal */
            if (rounds && kind == 1)
                bits = (bits & 0x80001fffu) + 0x387f0000u + (bits >> 3 & 0x1fff);
            if (rounds && kind == 2 && bits % 8 == 0) bits |= 0x7f800000u;
            memcpy(from + k * step, &bits, (size_t)step);
        }
        dync__convert c =
            dync__convert_open(rounds ? dtype : (int)DYNC_F32, rounds ? (int)DYNC_F32 : dtype);
        dync__tile t = rounds ? dync__tile_narrow(level, dtype) : dync__tile_widen(level, dtype);
        bool adds = !rounds && test_random() % 2;
        if (adds) c = dync__convert_adds(dtype);
        for (int k = 0; k < LINE; k++) ((float *)(void *)got)[k] = (float)test_random_int(-9, 9);
        memcpy(want, got, sizeof got);
        dync__convert_run(&c, got + skip * (6 - step), from + skip * step, n);
        float *sum = (float *)(void *)want + skip;
        dync__tile_run(&t, adds ? (void *)terms : want + skip * (6 - step), from + skip * step,
                       NULL, NULL, n, 0);
        for (int64_t k = 0; adds && k < n; k++) sum[k] += terms[k];
        int to = rounds ? dtype : (int)DYNC_F32, bad = -1;
        for (int k = 0; k < LINE; k++)
            if (!same(got, want, to, k)) bad = k;
        if (!EXPECT(bad < 0)) {
            printf("  dtype %d, rounds %d, n %lld: %d\n", dtype, rounds, (long long)n, bad);
            break;
        }
    }
    dync__cpu_pretend(0);
}

TEST_MAIN
