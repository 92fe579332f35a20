/* The forms of codegen/gemm_code.h as gen_gemm.c makes them, each by itself: for targets that are
 * no machine (text_target.h, vectors of 16 and of 64 bytes) and for the machine's own. Random
 * shapes, steps, dtypes, tails and lists that follow, against plain loops in double or in words;
 * operands end at pages that may not be touched, and what lies between the rows of a result stays.
 */
#include "../../src/dync.in.h"
#include "../../src/codegen/gemm_code.h"
#include "../../src/kernel/gemm.h"
#include "../test.h"
#include "../tol.h"
#include "guarded.h"
#define TEST_AFTER_EACH (dync_shutdown(), dync_clear_error(), dync_on_error(NULL, NULL))
#if DYNC__JIT
#include "text_checker.h"

enum { NONE, ADD, BIAS, RELU, SCALED, TWO_MORE, FOLLOWS }; /* what follows the sums */
enum { OPERANDS = 3, KINDS = 4, TYPES = 6, FILLED = 0x5a };
static int n_made[KINDS], n_of_type[TYPES], n_followed[FOLLOWS], n_parts, n_without;

typedef struct product {
    int kind, type, flags, rows, columns, blocks, follows;
    int64_t k, wide, b_wide; /* bytes of an element of a and c, of b */
    guarded a, b, c, more[OPERANDS];
    dync__gt_args x;
} product;

static bool is_float(const product *p) { return p->type != DYNC__GT_U8; }

/* Random numbers: floats in (-1, 1), bytes of any value. */
static void fill_with(guarded g, size_t bytes, int dtype)
{
    size_t size = dtype == DYNC_U8 ? 1 : (size_t)dync__dtype_info(dtype)->bytes;
    for (size_t at = 0; at + size <= bytes; at += size)
        if (dtype == DYNC_U8)
            *((uint8_t *)g.data + at) = (uint8_t)test_random();
        else
            dync__store_f64((char *)g.data + at, dtype, test_random_real(-1, 1));
}

static int a_dtype(int type)
{
    return type == DYNC__GT_F64    ? DYNC_F64
           : type == DYNC__GT_BF16 ? DYNC_BF16
           : type == DYNC__GT_U8   ? DYNC_U8
                                   : DYNC_F32;
}
static int b_dtype(int type)
{
    return type == DYNC__GT_AS_F16    ? DYNC_F16
           : type == DYNC__GT_AS_BF16 ? DYNC_BF16
                                      : a_dtype(type);
}
static int c_dtype(int type)
{
    return type == DYNC__GT_F64 ? DYNC_F64 : type == DYNC__GT_U8 ? DYNC_I32 : DYNC_F32;
}

static int64_t gap(int64_t bytes) { return bytes * test_random_int(0, 3); }

/* ---- what follows ---------------------------------------------------------------------------- */

static dync__after_op op_of(int prim, int type, int x, int y)
{
    dync__after_op op = {.prim = (uint8_t)prim, .type = (uint8_t)type};
    op.arg[0] = (int8_t)x, op.arg[1] = (int8_t)y, op.arg[2] = -1;
    return op;
}
static dync__after_op load_of(int type, int source, bool same)
{
    dync__after_op op = op_of(DYNC__P_load, type, -1, -1);
    op.source = (uint8_t)source;
    op.same = same;
    return op;
}

static int flags_of(const product *p)
{
    int type = c_dtype(p->type);
    dync__after list = {0};
    if (p->follows <= BIAS)
        return p->follows == ADD ? DYNC__GT_ADD : p->follows == BIAS ? DYNC__GT_BIAS : 0;
    list.n = 5;
    list.op[0] = load_of(type, 0, false);
    if (p->follows == RELU) { /* max(c + d, 0) */
        list.n_sources = 1;
        list.op[1] = load_of(type, 0, false);
        list.op[2] = op_of(DYNC__P_add, type, 0, 1);
        list.op[3] = op_of(DYNC__P_const_, type, -1, -1);
        list.op[4] = op_of(DYNC__P_max, type, 2, 3);
    } else if (p->follows == SCALED) { /* c more[0] of the row + d */
        list.n_sources = 2;
        list.op[1] = load_of(type, 1, true);
        list.op[2] = op_of(DYNC__P_mul, type, 0, 1);
        list.op[3] = load_of(type, 0, false);
        list.op[4] = op_of(DYNC__P_add, type, 2, 3);
    } else { /* (c - more[0]) more[1] */
        list.n_sources = 3;
        list.op[1] = load_of(type, 1, false);
        list.op[2] = op_of(DYNC__P_sub, type, 0, 1);
        list.op[3] = load_of(type, 2, false);
        list.op[4] = op_of(DYNC__P_mul, type, 2, 3);
    }
    return dync__gt_after(p->type == DYNC__GT_F64 ? DYNC__GT_F64 : DYNC__GT_F32, &list);
}

static double followed(const product *p, double sum, const double *with)
{
    switch (p->follows) {
    case ADD:
    case BIAS: return sum + with[0];
    case RELU: return sum + with[0] > 0 ? sum + with[0] : 0;
    case SCALED: return sum * with[1] + with[0];
    case TWO_MORE: return (sum - with[1]) * with[2];
    default: return sum;
    }
}

/* ---- tiles ----------------------------------------------------------------------------------- */

/* One step of k: products and their sum. */
static double step_of(int type, const char *a, const char *b)
{
    double sum = 0;
    int n = type == DYNC__GT_BF16 ? 2 : type == DYNC__GT_U8 ? 4 : 1;
    for (int i = 0; i < n; i++)
        sum +=
            type == DYNC__GT_U8
                ? (double)((const uint8_t *)a)[i] * (double)((const int8_t *)b)[i]
                : dync__load_f64(a + i * dync__dtype_info(a_dtype(type))->bytes, a_dtype(type)) *
                      dync__load_f64(b + i * dync__dtype_info(b_dtype(type))->bytes, b_dtype(type));
    return sum;
}

/* Has operand s of what follows one element a row? */
static bool one_a_row(const product *p, int s)
{
    return (p->follows == BIAS && s == 0) || (p->follows == SCALED && s == 1);
}

static void operands(product *p)
{
    int64_t columns = (int64_t)p->columns * p->blocks;
    for (int s = 0; s < OPERANDS; s++) {
        int64_t row = one_a_row(p, s) ? p->wide : columns * p->wide, step = row + gap(p->wide);
        size_t bytes = (size_t)((p->rows - 1) * step + row);
        p->more[s] = guarded_new(bytes);
        fill_with(p->more[s], bytes, c_dtype(p->type) == DYNC_I32 ? DYNC_U8 : c_dtype(p->type));
        if (s == 0)
            p->x.d = p->more[s].data, p->x.d_step = step;
        else
            p->x.more[s - 1] = p->more[s].data, p->x.more_step[s - 1] = step;
    }
}

static bool near(const product *p, const char *got, double wanted)
{
    if (!is_float(p)) return dync__load_i64(got, DYNC_I32) == (int32_t)(uint32_t)(int64_t)wanted;
    double x = dync__load_f64(got, c_dtype(p->type)),
           by = p->type == DYNC__GT_F64 ? 1e-13 : 1e-6 * (double)(p->k + 4);
    return fabs(x - wanted) <= by * (1 + fabs(wanted));
}

static bool compare_tile(const product *p, const dync__gt_args *was, const char *before, size_t n_c)
{
    int64_t columns = (int64_t)p->columns * p->blocks, steps_a = p->wide, steps_row = was->a_step;
    if (!(p->flags & DYNC__GT_A_ROWS)) steps_a = was->a_step, steps_row = p->wide;
    char *rest = malloc(n_c);
    memcpy(rest, p->c.data, n_c);
    for (int64_t i = 0; i < p->rows; i++)
        for (int64_t j = 0; j < columns; j++) {
            double sum = 0, with[OPERANDS];
            const char *b = (const char *)was->b + j * p->b_wide;
            for (int64_t s = 0; s < p->k; s++)
                sum += step_of(p->type, (const char *)was->a + i * steps_row + s * steps_a,
                               b + s * was->b_step);
            for (int s = 0; s < OPERANDS; s++) {
                const char *from = s ? was->more[s - 1] : was->d;
                from += i * (s ? was->more_step[s - 1] : was->d_step);
                from += one_a_row(p, s) ? 0 : j * p->wide;
                with[s] = dync__load_f64(from, c_dtype(p->type));
            }
            int64_t at = i * was->c_step + j * p->wide;
            double wanted = followed(p, sum, with);
            if (!near(p, rest + at, wanted)) {
                printf("  row %d column %d: got %.9g, wanted %.9g\n", (int)i, (int)j,
                       dync__load_f64(rest + at, c_dtype(p->type)), wanted);
                return free(rest), false;
            }
            memcpy(rest + at, before + at, (size_t)p->wide);
        }
    bool same = memcmp(rest, before, n_c) == 0; /* between the rows */
    if (!same) printf("  written between the rows\n");
    free(rest);
    return same;
}

static bool tile(product *p)
{
    int64_t columns = (int64_t)p->columns * p->blocks;
    bool rows = p->flags & DYNC__GT_A_ROWS;
    dync__gt_args *x = &p->x;
    x->k = p->k;
    x->blocks = p->blocks;
    x->a_step = (rows ? p->k : p->rows) * p->wide + gap(p->wide);
    x->b_step = columns * p->b_wide + gap(p->b_wide);
    x->b_next = p->columns * p->b_wide;
    x->c_step = columns * p->wide + gap(p->wide);
    size_t n_a = (size_t)(rows ? (p->rows - 1) * x->a_step + p->k * p->wide
                               : (p->k - 1) * x->a_step + p->rows * p->wide),
           n_b = (size_t)((p->k - 1) * x->b_step + columns * p->b_wide),
           n_c = (size_t)((p->rows - 1) * x->c_step + columns * p->wide);
    p->a = guarded_new(n_a), p->b = guarded_new(n_b), p->c = guarded_new(n_c);
    x->a = p->a.data, x->b = p->b.data, x->c = p->c.data;
    fill_with(p->a, n_a, a_dtype(p->type));
    fill_with(p->b, n_b, b_dtype(p->type));
    memset(p->c.data, FILLED, n_c);
    operands(p);
    char *before = malloc(n_c);
    memcpy(before, p->c.data, n_c);
    dync__gt_args was = *x;
    dync__gt_fn fn = dync__gt_find(p->kind, p->type, p->flags, p->rows, p->columns, x);
    bool ok = true;
    if (fn) fn(x);
    if (fn) ok = compare_tile(p, &was, before, n_c);
    n_made[p->kind] += fn != NULL, n_without += fn == NULL;
    if (fn) n_of_type[p->type]++, n_followed[p->follows]++;
    free(before);
    for (int s = 0; s < OPERANDS; s++) guarded_free(p->more[s]);
    return ok;
}

/* ---- inner products -------------------------------------------------------------------------- */

static bool dots(product *p)
{
    bool adds = p->flags >> DYNC__GT_AFTER, ok = true;
    dync__gt_args *x = &p->x;
    x->k = p->k;
    x->blocks = p->blocks;
    x->a_step = p->k * p->wide + gap(p->wide);
    x->b_step = p->k * p->b_wide + gap(p->b_wide);
    x->d_step = p->wide + gap(p->wide); /* between columns of c */
    x->c_step = x->d_step * p->columns * p->blocks + gap(p->wide);
    int64_t columns = (int64_t)p->columns * p->blocks;
    size_t n_a = (size_t)((p->rows - 1) * x->a_step + p->k * p->wide),
           n_b = (size_t)((columns - 1) * x->b_step + p->k * p->b_wide),
           n_c = (size_t)((p->rows - 1) * x->c_step + (columns - 1) * x->d_step + p->wide);
    p->a = guarded_new(n_a), p->b = guarded_new(n_b), p->c = guarded_new(n_c);
    x->a = p->a.data, x->b = p->b.data, x->c = p->c.data;
    fill_with(p->a, n_a, a_dtype(p->type));
    fill_with(p->b, n_b, b_dtype(p->type));
    fill_with(p->c, n_c, c_dtype(p->type) == DYNC_I32 ? DYNC_U8 : c_dtype(p->type));
    char *before = malloc(n_c);
    memcpy(before, p->c.data, n_c);
    dync__gt_args was = *x;
    dync__gt_fn fn = dync__gt_find(p->kind, p->type, p->flags, p->rows, p->columns, x);
    n_made[p->kind] += fn != NULL, n_without += fn == NULL;
    if (fn) fn(x), n_of_type[p->type]++;
    for (int64_t i = 0; fn && ok && i < p->rows; i++)
        for (int64_t j = 0; ok && j < columns; j++) {
            int64_t at = i * was.c_step + j * was.d_step;
            double sum = adds ? dync__load_f64(before + at, c_dtype(p->type)) : 0;
            for (int64_t s = 0; s < p->k; s++)
                sum += step_of(p->type, (const char *)was.a + i * was.a_step + s * p->wide,
                               (const char *)was.b + j * was.b_step + s * p->b_wide);
            ok = near(p, (char *)p->c.data + at, sum);
            if (!ok)
                printf("  row %d column %d: got %.9g, wanted %.9g\n", (int)i, (int)j,
                       dync__load_f64((char *)p->c.data + at, c_dtype(p->type)), sum);
        }
    free(before);
    return ok;
}

/* ---- packing --------------------------------------------------------------------------------- */

static bool packed(product *p)
{
    bool pair = p->kind == DYNC__GT_PAIR, ok = true;
    int64_t n = !pair ? 1 : p->type == DYNC__GT_BF16 ? 2 : 4, piece = p->wide / n;
    dync__gt_args *x = &p->x;
    x->k = p->k;
    x->blocks = 1;
    x->a_step = p->columns * piece + gap(piece);
    x->c_step = p->columns * p->wide + gap(p->wide);
    size_t n_a = (size_t)((p->k * n - 1) * x->a_step + p->columns * piece),
           n_c = (size_t)((p->k - 1) * x->c_step + p->columns * p->wide);
    p->a = guarded_new(n_a), p->c = guarded_new(n_c), p->b = guarded_new(1);
    x->a = p->a.data, x->c = p->c.data;
    fill_with(p->a, n_a, DYNC_U8);
    memset(p->c.data, FILLED, n_c);
    char *wanted = malloc(n_c);
    memset(wanted, FILLED, n_c);
    for (int64_t s = 0; s < p->k * n; s++)
        for (int64_t j = 0; j < p->columns; j++)
            memcpy(wanted + s / n * x->c_step + j * p->wide + s % n * piece,
                   (char *)p->a.data + s * x->a_step + j * piece, (size_t)piece);
    dync__gt_fn fn = dync__gt_find(p->kind, p->type, p->flags, 1, p->columns, x);
    n_made[p->kind] += fn != NULL, n_without += fn == NULL;
    if (fn) fn(x), n_of_type[p->type]++, ok = memcmp(p->c.data, wanted, n_c) == 0;
    free(wanted);
    return ok;
}

/* ---- random forms ---------------------------------------------------------------------------- */

/* False: the target has no such form. */
static bool draw(product *p)
{
    memset(p, 0, sizeof *p);
    p->kind = test_random() % 8 < 5 ? DYNC__GT_TILE : test_random_int(DYNC__GT_DOTS, DYNC__GT_PAIR);
    p->type = test_random_int(0, TYPES - 1);
    if (!dync__gt_can(p->type)) return false;
    if (p->kind == DYNC__GT_COPY && p->type > DYNC__GT_F64) return false;
    if (p->kind == DYNC__GT_PAIR && p->type != DYNC__GT_BF16 && p->type != DYNC__GT_U8)
        return false;
    p->wide = dync__gt_bytes(p->type), p->b_wide = dync__gt_b_bytes(p->type);
    p->flags = test_random() % 2 ? DYNC__GT_A_ROWS : 0;
    if (test_random() % 5 == 0 && p->kind == DYNC__GT_TILE) p->flags |= DYNC__GT_HALF;
    p->k = test_random_int(1, p->kind == DYNC__GT_DOTS ? 70 : 11);
    p->blocks = p->kind < DYNC__GT_COPY ? test_random_int(1, 3) : 1;
    int lanes = dync__gt_lanes(p->type, p->flags), most = p->kind == DYNC__GT_TILE ? 25 : 4;
    p->rows = test_random_int(1, test_random() % 2 ? 4 : most);
    p->columns = p->kind == DYNC__GT_DOTS ? test_random_int(1, 4)
                                          : test_random_int(1, lanes * test_random_int(1, 8));
    while (p->rows > 1 && !dync__gt_fits(p->kind, p->type, p->flags, p->rows, p->columns))
        p->rows--;
    if (!dync__gt_fits(p->kind, p->type, p->flags, p->rows, p->columns)) return false;
    if (p->kind != DYNC__GT_DOTS && (p->blocks > 1 || test_random() % 3 == 0))
        p->columns += -p->columns & (lanes - 1);
    p->follows = test_random_int(0, is_float(p) ? FOLLOWS - 1 : BIAS);
    if (p->kind > DYNC__GT_DOTS) p->follows = NONE;
    if (p->kind == DYNC__GT_DOTS) p->follows = p->follows % 2 ? ADD : NONE;
    int flags = flags_of(p);
    if (p->follows && !flags) return n_without++, false;
    p->flags |= flags;
    n_parts += p->columns % lanes != 0;
    return true;
}

static void begin(const dync__target *t)
{
    dync_shutdown();
    dync__target_pretend(t);
    dync__pool_set_threads(1);
    text_complaints = 0;
    memset(text_executed, 0, sizeof text_executed);
}

static void end(void)
{
    dync__target_pretend(NULL);
    dync__pool_set_threads(0);
    dync_shutdown();
    text_free();
}

static void random_forms(const dync__target *t)
{
    int n = test_count(600);
    begin(t);
    memset(n_made, 0, sizeof n_made);
    memset(n_of_type, 0, sizeof n_of_type);
    memset(n_followed, 0, sizeof n_followed);
    n_parts = n_without = 0;
    for (int i = 0; i < n && dync__target_now(); i++) {
        product p;
        if (i && i % 200 == 0) end(), begin(t); /* the table of forms holds 512 */
        if (!draw(&p)) continue;
        bool ok = p.kind == DYNC__GT_TILE   ? tile(&p)
                  : p.kind == DYNC__GT_DOTS ? dots(&p)
                                            : packed(&p);
        guarded_free(p.a), guarded_free(p.b), guarded_free(p.c);
        if (EXPECT(ok) && EXPECT_EQ_INT(text_complaints, 0)) continue;
        printf("  form %d: kind %d type %d flags %d rows %d columns %d k %d blocks %d follows %d\n",
               i, p.kind, p.type, p.flags, p.rows, p.columns, (int)p.k, p.blocks, p.follows);
        break;
    }
    if (dync__target_now() && n >= 600) {
        for (int kind = 0; kind < KINDS; kind++)
            EXPECT(n_made[kind] >= 5 || (kind == DYNC__GT_PAIR && !dync__target_now()->n_masks));
        for (int type = 0; type < TYPES; type++)
            EXPECT(n_of_type[type] >= 5 || !dync__gt_can(type));
        /* lists may want more registers than tiles leave of few */
        for (int f = 0; f < FOLLOWS; f++)
            EXPECT(n_followed[f] >= 5 || (f > BIAS && dync__target_now()->n_vectors < 32));
        EXPECT(n_parts >= 50);
        EXPECT(n_without <= n / 10);
    }
    if (test__state.verbose)
        printf("  tiles %d, dots %d, copies %d, pairs %d; parts %d, without code %d\n", n_made[0],
               n_made[1], n_made[2], n_made[3], n_parts, n_without);
    end();
}

/* ---- products of any size, cut into forms by kernel/gemm.c ----------------------------------- */

static bool whole(int64_t m, int64_t n, int64_t k, bool ta, bool tb, bool adds)
{
    guarded of[3] = {guarded_new((size_t)(m * k * 4)), guarded_new((size_t)(k * n * 4)),
                     guarded_new((size_t)(m * n * 4))};
    float *a = (void *)of[0].data, *b = (void *)of[1].data, *c = (void *)of[2].data;
    double *wanted = calloc((size_t)(m * n), sizeof *wanted);
    bool ok = true;
    fill_with(of[0], (size_t)(m * k * 4), DYNC_F32);
    fill_with(of[1], (size_t)(k * n * 4), DYNC_F32);
    fill_with(of[2], (size_t)(m * n * 4), DYNC_F32);
    for (int64_t e = 0; e < m * n; e++) {
        int64_t i = e / n, j = e % n;
        wanted[e] = adds ? (double)c[e] : 0;
        for (int64_t p = 0; p < k; p++)
            wanted[e] += (double)a[ta ? p * m + i : i * k + p] *
                         (double)b[tb ? j * k + p : p * n + j];
    }
    dync__gemm_f32(m, n, k, a, ta ? 1 : k, ta ? m : 1, b, tb ? 1 : n, tb ? k : 1, c, n, 1, adds);
    for (int64_t e = 0; ok && e < m * n; e++)
        ok = fabs((double)c[e] - wanted[e]) <= 1e-6 * (double)(k + 4) * (1 + fabs(wanted[e]));
    for (int i = 0; i < 3; i++) guarded_free(of[i]);
    free(wanted);
    return ok;
}

static void whole_products(const dync__target *t)
{
    begin(t);
    for (int i = 0, n = test_count(60); i < n; i++) {
        int64_t size[3];
        uint64_t r = test_random();
        for (int s = 0; s < 3; s++) size[s] = test_random_int(1, r >> s & 1 ? 70 : 9);
        bool ok = whole(size[0], size[1], size[2], r & 8, r & 16, r & 32);
        if (EXPECT(ok) && EXPECT_EQ_INT(text_complaints, 0)) continue;
        printf("  %d %d %d transposed %d %d adds %d\n", (int)size[0], (int)size[1], (int)size[2],
               (r & 8) != 0, (r & 16) != 0, (r & 32) != 0);
        break;
    }
    EXPECT(text_executed[DYNC__A_FMA] > 1000);
    end();
}

TEST(whole_products_16_bytes) { whole_products(&text128); }
TEST(whole_products_64_bytes) { whole_products(&text512); }
TEST(vectors_of_16_bytes)
{
    random_forms(&text128);
    EXPECT(text_executed[DYNC__A_PAIRS] > 0 && text_executed[DYNC__A_INSERT] > 0);
}
TEST(vectors_of_64_bytes)
{
    random_forms(&text512);
    EXPECT(text_executed[DYNC__A_DOT] > 0 && text_executed[DYNC__A_WIDEN] > 0);
}
TEST(this_machine) { random_forms(NULL); }
#else
TEST(no_jit_here) { EXPECT(true); }
#endif
TEST_MAIN
