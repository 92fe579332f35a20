/* Random programs of rolls: stencils of a value in one dim and in two, rolls of rolls, those of two
 * values in one expression, written out as concatenations, read by pointwise operators and by
 * others, of other dtypes, of what was written in place. Compiled they must do what they do
 * eagerly, forward and in training, on each level of machine code, without fusion and without each
 * pass. A failing program is shrunk and printed with its seed. */
#include <stdint.h>
static const int64_t sizes[][2] = {{4, 6}, {1, 8}, {3, 1}, {2, 33}, {16, 17}, {5, 64}, {40, 36}};
#include "random_forms.h"
#include "passes.h"

static const dync_dtype dtypes[] = {DYNC_F32, DYNC_F32, DYNC_F64, DYNC_BF16, DYNC_F16,
                                    DYNC_I32, DYNC_I64, DYNC_U8,  DYNC_BOOL};

/* A few places along one dim, along both, or of all elements. */
static dync_tensor *rolled(dync_tensor *t)
{
    int a = rnd(7) - 3, b = rnd(5) - 2;
    switch (rnd(5)) {
    case 0: return dync_roll(t, dync_shape(a), dync_shape(0));
    case 1: return dync_roll(t, dync_shape(a), dync_shape(-1));
    case 2: return dync_roll(t, dync_shape(a, b, b), dync_shape(1, 0, 1));
    case 3:
        return rnd(8) ? dync_roll(t, dync_shape(b, a), dync_shape(0, 1))
                      : dync_roll(t, dync_shape(a), dync_shape());
    default:
        return dync_roll(dync_roll(t, dync_shape(a), dync_shape(1)), dync_shape(b), dync_shape(0));
    }
}

/* cat(x[n - k:], x[:n - k]), with ends as people write them */
static dync_tensor *by_hand(dync_tensor *t)
{
    int dim = rnd(DIMS), n = (int)dync_size(t, dim), k = rnd(n < 4 ? n : 4);
    dync_tensor *tail = dync_slice(t, dim,
                                   rnd(2) ? n - k
                                   : k    ? -k
                                          : n,
                                   n + rnd(2) * 9, 1),
                *head = dync_slice(t, dim, rnd(2) ? 0 : -n - 3, n - k, 1);
    return dync_cat(dync_tuple(tail, head), dim);
}

static dync_tensor *binary(int which, dync_tensor *a, dync_tensor *b)
{
    bool truth = dync_type(a) == DYNC_BOOL || dync_type(b) == DYNC_BOOL;
    switch (which) {
    case 0: return dync_mul(a, b);
    case 1: return dync_maximum(a, b);
    case 2: return dync_where(dync_gt(a, b), a, b);
    case 3: return truth ? dync_eq(a, b) : dync_sub(a, b);
    case 4: return dync_add(dync_mul(a, 0.5), b);
    default: return dync_add(a, b);
    }
}

static dync_tensor *stencil(dync_tensor *t)
{
    dync_tensor *sum = NULL;
    for (int n = 1 + rnd(7); n > 0; n--) {
        dync_tensor *r = rnd(4) ? rolled(t) : by_hand(t);
        if (rnd(2)) r = dync_mul(r, 0.25 + 0.5 * rnd(3));
        sum = sum ? binary(rnd(9), sum, r) : r;
    }
    return sum;
}

static dync_tensor *read_by_others(const pool *q, dync_tensor *a)
{
    dync_tensor *x = rolled(full(q, a)), *y = rolled(full(q, a)),
                *z = dync_add(x, rolled(full(q, a)));
    switch (rnd(5)) {
    case 0: return dync_add(z, dync_amax(x, dync_shape(rnd(DIMS)), true));
    case 1: return dync_add(z, dync_transpose(dync_contiguous(dync_transpose(y, 0, 1)), 0, 1));
    case 2: return floating(a) ? dync_add(dync_cumsum(y, rnd(DIMS)), z) : z;
    case 3: return dync_add(z, dync_select(x, 0, 0));
    default: return dync_add(dync_view(y, dync_shape(dync_size(y, 0), dync_size(y, 1))), x);
    }
}

static dync_tensor *written(const pool *q, dync_tensor *a, dync_tensor *b)
{
    dync_tensor *c = q->p->train || rnd(2) ? dync_clone(full(q, a)) : q->v[0];
    dync_tensor *sum = rolled(c), *new = dync_to_dtype(stencil(full(q, b)), dync_type(c));
    return rnd(2) ? dync_add(sum, dync_copy_(c, new)) : dync_copy_(c, dync_add(sum, new));
}

static dync_tensor *apply(const pool *q, const ins *i)
{
    dync_tensor *a = q->v[i->a], *b = q->v[i->b], *x;
    state = i->seed;
    switch (i->op) {
    case 0:
    case 1:
    case 2: return stencil(full(q, a));
    case 3: return stencil(stencil(full(q, a)));
    case 4: return binary(rnd(6), stencil(full(q, a)), stencil(full(q, b)));
    case 5: return read_by_others(q, a);
    case 6:
        return q->p->train ? dync_tanh(a)
                           : dync_to_dtype(a, dtypes[rnd((int)(sizeof dtypes / sizeof *dtypes))]);
    case 7: return floating(a) ? dync_tanh(a) : dync_clone(a);
    case 8: return written(q, a, b);
    case RANDOM:
        x = floating(a) ? a : dync_to_dtype(a, DYNC_F32);
        return dync_add(stencil(full(q, b)), dync_rand_like(full(q, x)));
    case 10: return dync_transpose(dync_contiguous(dync_transpose(full(q, a), 0, 1)), 0, 1);
    case 11:
        return dync_where(dync_lt(rolled(full(q, a)), b), stencil(full(q, a)), rolled(full(q, b)));
    case 12: return dync_slice(full(q, a), rnd(DIMS), 0, 1, 1);
    case PASS: return a;
    default: return binary(rnd(6), a, b);
    }
}

TEST(avx512) { many("avx512", NULL, 300); }
TEST(avx2) { many("avx2", NULL, 300); }
TEST(no_machine_code) { many("none", NULL, 200); }
TEST(no_fuse) { many(NULL, "no_fuse", 200); }

static void some(void) { many(NULL, NULL, 15); }
TEST(without_each_pass) { without_each_pass(some); }

/* A step of a wave on a torus of any size, three dims, and one of cells that live and die. */
static dync_tensor *wave(dync_tensor *x, dync_tensor *y)
{
    dync_tensor *sum = dync_mul(x, -4);
    for (int dim = 1; dim < 3; dim++)
        for (int by = -2; by <= 2; by++)
            if (by) sum = dync_add(sum, dync_roll(x, dync_shape(by), dync_shape(dim)));
    dync_tensor *far = dync_roll(x, dync_shape(20), dync_shape(2));
    return dync_add(dync_mul(dync_sin(sum), far),
                    dync_roll(dync_mul(y, x), dync_shape(1, -1), dync_shape(1, 2)));
}
static dync_tensor *cells(dync_tensor *x, dync_tensor *y)
{
    dync_tensor *n = NULL;
    for (int i = 0; i < 9; i++) {
        dync_tensor *r = dync_roll(x, dync_shape(i / 3 - 1, i % 3 - 1), dync_shape(1, 2));
        if (i != 4) n = n ? dync_add(n, r) : r;
    }
    dync_tensor *lives =
        dync_logical_or(dync_eq(n, 3), dync_logical_and(dync_eq(n, 2), dync_gt(x, 0)));
    return dync_add(dync_to_dtype(lives, DYNC_F32), dync_mul(y, 0));
}
static void all_sizes(dync_tensor *(*fn)(dync_tensor *, dync_tensor *), bool train)
{
    dync_compiled *f =
        dync_compile(fn, .args = "x, y", .dynamic = DYNC_DYNAMIC_ON, .fullgraph = true);
    for (int n = 1; n < 45; n += n < 6 ? 1 : 7) DYNC_SCOPE {
        dync_tensor *x = dync_randn(dync_shape(2, n, n + 3)),
                    *y = dync_randn(dync_shape(2, n, n + 3));
        if (fn == cells) x = dync_to_dtype(dync_gt(x, 0), DYNC_F32);
        dync_requires_grad_(x, train);
        dync_requires_grad_(y, train);
        dync_tensor *want = fn(x, y), *got = dync_call(f, x, y);
        EXPECT(alike(got, want));
        if (!train) continue;
        const dync_grad_options plain = {0};
        dync_value of = dync_tuple(x, y);
        dync_tensor *loss[2] = {dync_sum(dync_mul(want, want), DYNC_ALL, false),
                                dync_sum(dync_mul(got, got), DYNC_ALL, false)};
        dync_value g[2];
        for (int i = 0; i < 2; i++) g[i] = dync_gradients(DYNC_V(loss[i]), of, DYNC_NONE, plain);
        for (int i = 0; i < 2; i++)
            EXPECT(alike(dync_as_tensor(dync_at(g[1], i)), dync_as_tensor(dync_at(g[0], i))));
    }
    EXPECT_OK(dync_error());
    dync_compiled_free(f);
}
TEST(symbolic_sizes) { all_sizes(wave, false), all_sizes(cells, false); }
TEST(symbolic_sizes_training) { all_sizes(wave, true); }

TEST_MAIN
