/* dync_size_sym: sizes as numbers that stay symbolic: in operators, factories, slices, shapes,
 * masks and positions; arithmetic, comparisons, and who is told where a size becomes a number. */
#include "counter.h"

static const char *const backends[] = {"eager", "aot_eager", "inductor"};
/* No length halves to 1, which is a graph of its own, or is the number of columns. */
enum { N_BACKENDS = 3, FIRST = 4, LAST = 12, COLUMNS = 13 };
static dync_tensor *rows(int64_t n) { return dync_randn(dync_shape(n, COLUMNS)); }

/* Every length from FIRST to LAST equals plain; graphs: compiles of an entry that is symbolic at
 * once. */
static void all_lengths(dync_tensor *(*fn)(dync_tensor *), int graphs)
{
    for (int k = 0; k < N_BACKENDS; k++) {
        counter c = {.inner = backends[k]};
        dync_compiled *f = dync_compile(fn, .args = "x", .backend_object = &COUNTER(c),
                                        .dynamic = DYNC_DYNAMIC_ON);
        for (int64_t n = FIRST; n <= LAST; n++) DYNC_SCOPE {
            dync_tensor *x = rows(n), *got = dync_call(f, x), *want = fn(x);
            EXPECT(same(got, want, 1e-5));
        }
        EXPECT_EQ_INT(c.frame_count, graphs);
        EXPECT_EQ_INT(dync_error(), DYNC_OK);
        dync_compiled_free(f);
    }
}

/* ---- everywhere ------------------------------------------------------------------------------ */
static dync_tensor *in_operators(dync_tensor *x)
{
    dync_value n = dync_size_sym(x, 0);
    dync_tensor *y = dync_add(dync_mul(x, n), dync_sym_sub(n, DYNC_V(1)));
    dync_tensor *z = dync_div(y, dync_sym_float(n));
    return dync_where(dync_gt(y, n), z, dync_sym_mul(dync_sym_float(n), DYNC_V(0.5)));
}
static dync_tensor *in_factories(dync_tensor *x)
{
    dync_value n = dync_size_sym(x, 0), twice = dync_sym_mul(n, DYNC_V(2));
    int64_t rows_ = dync_as_dim(n);
    dync_tensor *a = dync_arange(0, dync_as_real(n), 1);
    dync_tensor *b = dync_arange(dync_as_real(twice), 0, -2);
    dync_tensor *c = dync_slice(dync_arange(1, dync_as_real(twice), 3), 0, 0, 2, 1);
    dync_tensor *d = dync_full(dync_shape(rows_), n, .dtype = DYNC_F32);
    dync_tensor *e = dync_sum(dync_eye(rows_, rows_, DYNC_F32, DYNC_CPU), dync_shape(0), false);
    dync_tensor *z = dync_zeros(dync_shape(dync_as_dim(twice)));
    z = dync_slice(z, 0, 0, rows_, 1);
    dync_tensor *s = dync_add(dync_add(dync_add(a, b), dync_add(d, e)), z);
    return dync_add(dync_mul(x, dync_unsqueeze(s, 1)), dync_sum(c, DYNC_ALL, false));
}
static dync_tensor *in_slices(dync_tensor *x)
{
    dync_value n = dync_size_sym(x, 0), half = dync_sym_floordiv(n, DYNC_V(2));
    dync_tensor *lo = dync_slice(x, 0, 0, dync_as_dim(half), 1);
    dync_tensor *hi = dync_slice(x, 0, dync_as_dim(half), dync_as_dim(n), 1);
    dync_tensor *last =
        dync_slice(x, 0, dync_as_dim(dync_sym_sub(n, DYNC_V(2))), dync_as_dim(n), 1);
    return dync_add(dync_cat(dync_tuple(hi, lo), 0), dync_mean(last, DYNC_ALL, false));
}
static dync_tensor *in_shapes(dync_tensor *x)
{
    dync_value n = dync_size_sym(x, 0), m = dync_size_sym(x, 1);
    dync_tensor *flat = dync_reshape(x, dync_shape(dync_as_dim(dync_sym_mul(n, m))));
    return dync_reshape(dync_exp(flat), dync_shape(dync_as_dim(m), dync_as_dim(n)));
}
/* A causal mask over scores, with positions of queries that begin at an offset. */
static dync_tensor *in_masks(dync_tensor *x)
{
    dync_value n = dync_size_sym(x, 0);
    dync_tensor *i = dync_unsqueeze(dync_arange(0, dync_as_real(n), 1), 1);
    dync_tensor *j = dync_unsqueeze(dync_arange(0, dync_as_real(n), 1), 0);
    dync_tensor *scores = dync_matmul(x, dync_transpose(x, 0, 1));
    scores = dync_masked_fill(scores, dync_gt(j, i), -1e9);
    scores = dync_masked_fill(scores, dync_gt(j, dync_sym_sub(n, DYNC_V(2))), -1e9);
    return dync_matmul(dync_softmax(scores, -1), x);
}
/* Remainders and bounds of a size as sizes, numbers and ends. */
static dync_tensor *in_bounds(dync_tensor *x)
{
    dync_value n = dync_size_sym(x, 0), mod = dync_sym_mod(n, DYNC_V(3)),
               least = dync_sym_min(n, DYNC_V(7)), most = dync_sym_max(n, DYNC_V(6));
    dync_tensor *a = dync_zeros(dync_shape(dync_as_dim(most), COLUMNS)),
                *b = dync_ones(dync_shape(dync_as_dim(dync_sym_add(mod, DYNC_V(1))))),
                *head = dync_slice(x, 0, 0, dync_as_dim(least), 1);
    a = dync_sum(dync_add(a, least), DYNC_ALL, false);
    b = dync_add(dync_sum(b, DYNC_ALL, false), dync_mul(x, dync_sym_min(mod, most)));
    return dync_add(dync_add(dync_mul(dync_sum(head, dync_shape(0), true), mod), a), b);
}
static dync_tensor *in_larger_factories(dync_tensor *x)
{
    dync_value half = dync_sym_floordiv(dync_size_sym(x, 0), DYNC_V(2));
    int64_t n = dync_as_dim(dync_sym_max(half, DYNC_V(2)));
    dync_tensor *z = dync_zeros(dync_shape(n, COLUMNS)),
                *e = dync_eye(n, COLUMNS, DYNC_F32, DYNC_CPU);
    z = dync_cat(dync_tuple(z, e, x), 0);
    return dync_softmax(dync_matmul(z, dync_transpose(x, 0, 1)), 0);
}
/* Numbers of a size alone, each made of the one before twice: told from tensors in one walk. */
static dync_tensor *in_chains(dync_tensor *x)
{
    dync_value n = dync_size_sym(x, 0);
    dync_tensor *c = dync_full(dync_shape(dync_as_dim(n), COLUMNS), n, .dtype = DYNC_F32);
    for (int i = 0; i < 64; i++) c = dync_sin(dync_add(c, c));
    return dync_mul(x, dync_add(c, dync_sum(c, dync_shape(1), true)));
}
TEST(operators_take_it) { all_lengths(in_operators, 1); }
TEST(remainders_and_bounds)
{
    all_lengths(in_bounds, 1);
    all_lengths(in_larger_factories, 1);
}
TEST(numbers_are_told_apart_once) { all_lengths(in_chains, 1); }
TEST(factories_take_it) { all_lengths(in_factories, 1); }
TEST(slices_take_it) { all_lengths(in_slices, 1); }
TEST(shapes_take_it) { all_lengths(in_shapes, 1); }
TEST(masks_and_positions_take_it) { all_lengths(in_masks, 1); }

static dync_tensor *trained(dync_tensor *x)
{
    dync_value n = dync_size_sym(x, 0);
    dync_tensor *p = dync_arange(0, dync_as_real(n), 1);
    dync_tensor *y = dync_mul(dync_sin(x), dync_unsqueeze(dync_div(p, n), 1));
    return dync_sum(dync_mul(y, dync_mul(x, n)), DYNC_ALL, false);
}
TEST(gradients)
{
    for (int k = 0; k < N_BACKENDS; k++) {
        counter c = {.inner = backends[k]};
        dync_compiled *f =
            dync_compile(trained, .backend_object = &COUNTER(c), .dynamic = DYNC_DYNAMIC_ON);
        for (int64_t n = FIRST; n <= LAST; n++) DYNC_SCOPE {
            dync_tensor *x = dync_requires_grad_(rows(n), true),
                        *y = dync_requires_grad_(dync_clone(dync_detach(x)), true);
            EXPECT_OK(dync_backward(trained(y)));
            EXPECT_OK(dync_backward(dync_call(f, x)));
            EXPECT(same(dync_grad(x), dync_grad(y), 1e-4));
        }
        EXPECT_EQ_INT(c.frame_count, 1);
        dync_compiled_free(f);
    }
}

/* ---- arithmetic ------------------------------------------------------------------------------ */
static int64_t as_written(int op, int64_t a, int64_t b)
{
    int64_t q = b ? (int64_t)floor((double)a / (double)b) : 0;
    switch (op) {
    case 0: return a + b;
    case 1: return a - b;
    case 2: return a * b;
    case 3: return q;
    case 4: return a - q * b;
    case 5: return a < b ? a : b;
    default: return a < b ? b : a;
    }
}
static dync_value (*const ops[])(dync_value, dync_value) = {
    dync_sym_add, dync_sym_sub, dync_sym_mul, dync_sym_floordiv,
    dync_sym_mod, dync_sym_min, dync_sym_max,
};
enum { N_OPS = sizeof ops / sizeof ops[0] };
TEST(plain_numbers)
{
    for (int op = 0; op < N_OPS; op++)
        for (int64_t a = -7; a <= 7; a++)
            for (int64_t b = -3; b <= 3; b++) {
                if (b == 0 && (op == 3 || op == 4)) continue;
                dync_value r = ops[op](DYNC_V(a), DYNC_V(b));
                EXPECT(r.kind == DYNC_KIND_INT && r.as.i == as_written(op, a, b));
                r = ops[op](DYNC_V((double)a), DYNC_V(b));
                EXPECT(r.kind == DYNC_KIND_FLOAT && r.as.f == (double)as_written(op, a, b));
            }
    EXPECT_EQ_INT(dync_sym_mod(DYNC_V(3), DYNC_V(0)).kind, DYNC_KIND_NONE);
    EXPECT_HAS_STR(dync_error_message(), "dync_sym_mod: division of 3 by zero");
    dync_clear_error();
    EXPECT(dync_sym_float(DYNC_V(3)).as.f == 3.0);
    EXPECT(dync_sym_lt(DYNC_V(2), DYNC_V(2.5)) && !dync_sym_lt(DYNC_V(2.5), DYNC_V(2)));
    EXPECT(dync_sym_le(DYNC_V(2), DYNC_V(2)) && dync_sym_eq(DYNC_V(2), DYNC_V(2.0)));
    EXPECT(!dync_sym_eq(DYNC_V(2), DYNC_V(3)) && !dync_sym_le(DYNC_V(3), DYNC_V(2)));
}
static int chain_of[12], chain_by[12];
/* A chain of random operations on a size, as what the tensor is multiplied by. */
static dync_tensor *chained(dync_tensor *x)
{
    dync_value n = dync_size_sym(x, 0), v = n;
    for (int i = 0; i < 6; i++) {
        dync_value by = chain_by[i] ? DYNC_V(chain_by[i]) : n;
        v = ops[chain_of[i]](v, by);
    }
    return dync_add(dync_mul(x, 0.0), dync_sym_float(v));
}
TEST(random_chains_equal_plain)
{
    uint32_t r = 12345;
    for (int round = 0; round < 60; round++) {
        for (int i = 0; i < 6; i++) {
            r = r * 1664525u + 1013904223u;
            chain_of[i] = (int)((r >> 16) % N_OPS);
            chain_by[i] = (int)((r >> 8) % 5);
            if (chain_of[i] == 2 && !chain_by[i]) chain_by[i] = 2; /* stays small */
        }
        dync_compiled *f = dync_compile(chained, .backend = backends[round % N_BACKENDS],
                                        .dynamic = DYNC_DYNAMIC_ON, .recompile_limit = 100);
        for (int64_t n = FIRST; n <= LAST; n++) DYNC_SCOPE {
            dync_tensor *x = rows(n);
            int64_t v = n;
            for (int i = 0; i < 6; i++)
                v = as_written(chain_of[i], v, chain_by[i] ? chain_by[i] : n);
            EXPECT(same(dync_call(f, x), dync_full(dync_shape(n, COLUMNS), (double)v), 0));
        }
        EXPECT_EQ_INT(dync_error(), DYNC_OK);
        dync_compiled_free(f);
    }
}

/* ---- comparisons ----------------------------------------------------------------------------- */
static dync_tensor *short_or_long(dync_tensor *x)
{
    dync_value n = dync_size_sym(x, 0);
    if (dync_sym_lt(n, DYNC_V(6))) return dync_mul(x, n);
    if (dync_sym_eq(dync_sym_mod(n, DYNC_V(2)), DYNC_V(0))) return dync_add(x, n);
    return dync_sub(x, n);
}
TEST(comparisons_guard_on_their_outcome) { all_lengths(short_or_long, 3); }

/* ---- who is told ----------------------------------------------------------------------------- */
enum { SIZE_LINE = __LINE__ + 3 };
static dync_tensor *asks_for_a_number(dync_tensor *x)
{
    return dync_mul(x, (double)dync_size(x, 0));
}
TEST(the_line_that_specialised_is_named)
{
    char said[8192] = "", want[256];
    REQUIRE(freopen("test_size_sym.log", "wb", stderr) != NULL);
    dync_set_log("recompiles");
    dync_compiled *f =
        dync_compile(asks_for_a_number, .args = "x", .backend = "eager", .recompile_limit = 3);
    for (int64_t n = 4; n < 10; n++)
        EXPECT(same(dync_call(f, rows(n)), dync_call(f, rows(n)), 1e30));
    dync_set_log(NULL);
    dync_compiled_information i = dync_compiled_info(f);
    dync_compiled_free(f);
    fflush(stderr);
    FILE *log = fopen("test_size_sym.log", "rb");
    REQUIRE(log != NULL);
    said[fread(said, 1, sizeof said - 1, log)] = 0;
    fclose(log);
    remove("test_size_sym.log");
    snprintf(want, sizeof want,
             "leave L['x'].size()[0] symbolic: %s:%d made it a number (dync_size_sym", __FILE__,
             SIZE_LINE);
    const char *told =
        strstr(said, "asks_for_a_number: to keep it from being compiled for each size, leave");
    EXPECT(told != NULL);
    EXPECT(told && !strstr(told + 40, "to keep it from being")); /* once */
    EXPECT_HAS_STR(said, want);
    const char *limit = strstr(said, "To compile it less often");
    REQUIRE(limit != NULL);
    EXPECT_HAS_STR(limit, want);
    EXPECT_EQ_INT(i.entries, 3);
    EXPECT(i.by.sizes >= 3);
    int64_t by[sizeof i.by / sizeof(int64_t)], sum = 0;
    memcpy(by, &i.by, sizeof by);
    for (size_t k = 0; k < sizeof by / sizeof *by; k++) sum += by[k];
    EXPECT_EQ_INT(i.misses, sum);
    EXPECT_EQ_INT(i.by.first, 1);
}

/* Out of the graph it is the number of the call, guarded. */
static dync_value returned(const dync_value *a, int n, void *user)
{
    (void)n, (void)user;
    dync_value rows_ = dync_size_sym(dync_as_tensor(a[0]), 0);
    return dync_tuple(dync_neg(dync_as_tensor(a[0])), dync_sym_add(rows_, DYNC_V(1)),
                      dync_sym_float(rows_));
}
TEST(returned_numbers_are_right)
{
    for (int k = 0; k < N_BACKENDS; k++) {
        dync_compiled *f = dync_compile(returned, .backend = backends[k],
                                        .dynamic = DYNC_DYNAMIC_ON, .recompile_limit = 100);
        for (int round = 0; round < 2; round++)
            for (int64_t n = FIRST; n <= LAST; n++) {
                dync_value r = dync_call_value(f, rows(n));
                EXPECT_EQ_INT(dync_at(r, 1).kind, DYNC_KIND_INT);
                EXPECT_EQ_INT(dync_at(r, 1).as.i, n + 1);
                EXPECT(dync_at(r, 2).kind == DYNC_KIND_FLOAT && dync_at(r, 2).as.f == (double)n);
            }
        EXPECT_EQ_INT(dync_compiled_info(f).entries, LAST - FIRST + 1);
        dync_compiled_free(f);
    }
}
TEST(outside_it_is_an_int)
{
    dync_value n = dync_size_sym(rows(5), -2);
    EXPECT(n.kind == DYNC_KIND_INT && n.as.i == 5);
    EXPECT_EQ_INT(dync_as_dim(n), 5);
    EXPECT(dync_as_real(n) == 5.0);
    EXPECT_EQ_INT(dync_size_sym(rows(5), 2).kind, DYNC_KIND_NONE);
    EXPECT_EQ_INT(dync_error(), DYNC_ERR_INDEX);
    dync_clear_error();
}
/* .symbolic numbers meet sizes: guarded by value, and right. */
static dync_value with_number(const dync_value *a, int n, void *user)
{
    (void)n, (void)user;
    dync_value rows_ = dync_size_sym(dync_as_tensor(a[0]), 0);
    dync_value v = dync_sym_max(dync_sym_add(a[1], rows_), DYNC_V(7));
    return DYNC_V(dync_mul(dync_as_tensor(a[0]), v));
}
TEST(numbers_of_run_time_beside_sizes)
{
    dync_compiled *f = dync_compile(with_number, .args = "x, d", .symbolic = "d",
                                    .dynamic = DYNC_DYNAMIC_ON, .recompile_limit = 100);
    for (int d = -2; d < 3; d++)
        for (int64_t n = FIRST; n < 8; n++) DYNC_SCOPE {
            dync_tensor *x = rows(n);
            int64_t v = d + n > 7 ? d + n : 7;
            EXPECT(same(dync_call(f, x, d), dync_mul(x, (double)v), 1e-6));
        }
    dync_compiled_free(f);
}

/* Channels are a quotient of two sizes, 1 at first: loops of one step by chance, whose neighbour
 * has the same stride. Where checks are on, steps of all sizes are compared with those of
 * numbers. */
static dync_tensor *folded(dync_tensor *x, dync_tensor *y)
{
    dync_dims size = dync_shape(6, 3), kernel = dync_shape(2, 1), one = dync_shape(1, 1);
    dync_tensor *a = dync_col2im(x, size, kernel, one, one, dync_shape(2, 2)),
                *b = dync_col2im(y, size, kernel, one, one, dync_shape(2, 2));
    return dync_sin(dync_sub(a, b));
}
TEST(a_size_that_is_one_by_chance)
{
    dync_compiled *f = dync_compile(folded, .dynamic = DYNC_DYNAMIC_ON);
    for (int i = 0; i < 8; i++) DYNC_SCOPE {
        dync_dims shape = dync_shape(2 + i % 3, i < 3 ? 2 : 2 + i, 12);
        if (shape.d[1] % 2) continue;
        dync_tensor *x = dync_randn(shape), *y = dync_randn(shape);
        EXPECT(same(dync_call(f, x, y), folded(x, y), 1e-5));
    }
    EXPECT_EQ_INT(dync_error(), DYNC_OK);
    dync_compiled_free(f);
}

TEST_MAIN
