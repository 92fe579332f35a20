/* Random programs of concatenations, paddings, rolls and stacks that meet in pointwise operators,
 * and in each other: themselves, siblings cut elsewhere, views of each other, broadcasts, other
 * dtypes, writes in place, random numbers, several users. Compiled they must do what they do
 * eagerly, forward and in training, on each level of machine code and without fusion. A failing
 * program is shrunk and printed with its seed. */
#include <stdint.h>
static const int64_t sizes[][2] = {{4, 6},   {1, 8},  {3, 1},   {2, 33},
                                   {16, 17}, {5, 64}, {70, 64}, {600, 7}};
#include "random_forms.h"
#include "passes.h"

static const dync_dtype dtypes[] = {DYNC_F32, DYNC_F32, DYNC_F64, DYNC_BF16, DYNC_F16,
                                    DYNC_I32, DYNC_I64, DYNC_U8,  DYNC_BOOL};

static int sign_of(int dim, int ndim) { return rnd(2) ? dim : dim - ndim; }

/* `length` of t along dim, from a random place. */
static dync_tensor *piece(dync_tensor *t, int dim, int64_t length)
{
    int64_t start = rnd((int)(dync_size(t, dim) - length) + 1);
    return dync_slice(t, sign_of(dim, DIMS), start, start + length, 1);
}

/* One to five parts, some of them empty, whole again. */
static dync_tensor *joined(const pool *q, const ins *i)
{
    dync_value part[5];
    int dim = rnd(DIMS), n = 1 + rnd(5);
    int64_t left = sizes[q->p->shape][dim];
    for (int k = 0; k < n; k++) {
        const int from[] = {i->a, i->b, i->c};
        int64_t length = k == n - 1 ? left : rnd((int)left + 1);
        part[k] = DYNC_V(piece(full(q, q->v[from[rnd(3)]]), dim, length));
        left -= length;
    }
    return dync_cat(dync_tuple_of(n, part), sign_of(dim, DIMS));
}

/* [2, rows, columns] put together and taken apart by an operator or a view */
static dync_tensor *stacked(const pool *q, dync_tensor *a, dync_tensor *b)
{
    int dim = rnd(3);
    dync_tensor *x = full(q, a), *y = full(q, b);
    dync_tensor *s = dync_stack(dync_tuple(x, y), sign_of(dim, 3)),
                *t = rnd(2) ? s : dync_stack(dync_tuple(y, x), dim);
    s = dync_add(s, rnd(3) ? t : dync_unsqueeze(y, dim));
    return rnd(3) ? dync_select(s, dim, rnd(2)) : dync_amax(s, dync_shape(dim), false);
}

static dync_tensor *binary(int which, dync_tensor *a, dync_tensor *b)
{
    switch (which) {
    case 0: return dync_add(a, b);
    case 1: return dync_mul(a, b);
    case 2: return dync_maximum(a, b);
    case 3: return dync_where(dync_gt(a, b), a, b);
    case 4:
        return dync_type(a) == DYNC_BOOL || dync_type(b) == DYNC_BOOL ? dync_eq(a, b)
                                                                      : dync_sub(a, b);
    default: return dync_add(dync_mul(a, 2), b);
    }
}

static dync_tensor *joined_or_rolled(const pool *q, const ins *i, dync_tensor *t)
{
    int dim = rnd(DIMS);
    return rnd(2) ? joined(q, i)
                  : dync_roll(full(q, t), dync_shape(rnd(9) - 4), dync_shape(sign_of(dim, DIMS)));
}

static dync_tensor *narrow(const pool *q, dync_tensor *t)
{
    int which = rnd(4);
    if (which == 0) return dync_amax(full(q, t), dync_shape(rnd(DIMS)), true);
    return which == 1 ? dync_select(full(q, t), 0, 0) : dync_slice(full(q, t), rnd(DIMS), 0, 1, 1);
}

/* Two parts, each behind zeros or before them, one behind the other. */
static dync_tensor *padded_parts(const pool *q, dync_tensor *a, dync_tensor *b)
{
    dync_tensor *part[2] = {full(q, a), full(q, b)};
    int dim = rnd(DIMS);
    int64_t size = sizes[q->p->shape][dim], first = rnd((int)size + 1);
    for (int k = 0; k < 2; k++) {
        int64_t length = k ? size - first : first, inside = rnd((int)length + 1), pad[4] = {0},
                *of_dim = &pad[2 * (DIMS - 1 - dim)];
        of_dim[rnd(2)] = length - inside;
        part[k] = dync_pad(piece(part[k], dim, inside), dync_shape(pad[0], pad[1], pad[2], pad[3]),
                           DYNC_NONE);
    }
    return dync_cat(dync_tuple(part[0], part[1]), sign_of(dim, DIMS));
}

/* A part among zeros: in one step, in two, or one in the other. */
static dync_tensor *padded(const pool *q, const ins *i, dync_tensor *a)
{
    dync_tensor *x = rnd(3) ? full(q, a) : joined(q, i);
    for (int times = 1 + rnd(2); times > 0; times--) {
        int64_t pad[2 * DIMS], more[2 * DIMS];
        for (int d = 0; d < DIMS; d++) {
            int64_t size = sizes[q->p->shape][d], length = rnd((int)size + 1);
            int at = 2 * (DIMS - 1 - d), before = rnd((int)(size - length) + 1);
            x = piece(x, d, length);
            more[at] = rnd(before + 1), pad[at] = before - more[at];
            pad[at + 1] = size - length - before, more[at + 1] = 0;
        }
        dync_value value = rnd(4) ? DYNC_NONE : DYNC_V(1.5);
        if (dync_type(x) == DYNC_BOOL || !floating(x)) value = DYNC_NONE;
        x = dync_pad(x, dync_shape(pad[0], pad[1], pad[2], pad[3]), value);
        x = dync_pad(x, dync_shape(more[0], more[1], more[2], more[3]), DYNC_NONE);
    }
    return x;
}

static dync_tensor *written(const pool *q, const ins *i, dync_tensor *a, dync_tensor *b)
{
    dync_tensor *c = q->p->train || rnd(2) ? dync_clone(full(q, a)) : q->v[0], *from = full(q, b);
    int dim = rnd(DIMS), half = (int)(sizes[q->p->shape][dim] + 1) / 2;
    if (dync_type(c) == DYNC_BOOL || dync_type(c) != dync_type(from))
        return dync_copy_(c, dync_to_dtype(joined_or_rolled(q, i, b), dync_type(c)));
    if (rnd(2)) return dync_add_(c, dync_to_dtype(joined_or_rolled(q, i, b), dync_type(c)));
    dync_copy_(dync_slice(c, dim, 0, half, 1), dync_clone(piece(from, dim, half)));
    return c;
}

static dync_tensor *apply(const pool *q, const ins *i)
{
    dync_tensor *a = q->v[i->a], *b = q->v[i->b], *x, *y;
    state = i->seed;
    switch (i->op) {
    case 0:
    case 1: return joined(q, i);
    case 2:
        x = joined_or_rolled(q, i, a);
        return binary(rnd(6), x, rnd(4) ? joined_or_rolled(q, i, b) : x);
    case 3:
        x = dync_roll(full(q, a), dync_shape(1), dync_shape(rnd(DIMS))),
        y = dync_roll(full(q, a), dync_shape(-1), dync_shape(rnd(DIMS)));
        return dync_add(dync_add(x, y),
                        dync_roll(full(q, b), dync_shape(rnd(5) - 2), dync_shape(rnd(DIMS))));
    case 4: return stacked(q, a, b);
    case 5: return narrow(q, a);
    case 6:
        return q->p->train ? dync_tanh(a)
                           : dync_to_dtype(a, dtypes[rnd((int)(sizeof dtypes / sizeof *dtypes))]);
    case 7: return floating(a) ? dync_tanh(a) : dync_clone(a);
    case 8: return written(q, i, a, b);
    case RANDOM:
        x = floating(a) ? a : dync_to_dtype(a, DYNC_F32);
        return rnd(2) ? dync_dropout(x, 0.5, true)
                      : dync_add(joined_or_rolled(q, i, b), dync_rand_like(full(q, x)));
    case 10: return dync_transpose(dync_contiguous(dync_transpose(full(q, a), 0, 1)), 0, 1);
    case 11:
        x = joined_or_rolled(q, i, a), y = joined_or_rolled(q, i, b);
        return dync_where(dync_lt(x, y), rnd(2) ? y : b, rnd(2) ? x : joined(q, i));
    case 12: /* rotary embeddings: the second of two broadcast, both doubled */
        if (sizes[q->p->shape][1] % 2) return binary(rnd(6), a, b);
        x = full(q, a), y = piece(rnd(2) ? full(q, b) : dync_slice(full(q, b), 0, 0, 1, 1), 1,
                                  sizes[q->p->shape][1] / 2);
        return dync_mul(x, dync_cat(dync_tuple(y, y), -1));
    case 13: return rnd(2) ? padded(q, i, a) : binary(rnd(6), padded(q, i, a), b);
    case 14:
        x = padded_parts(q, a, b);
        return rnd(3) ? x : binary(rnd(6), x, rnd(2) ? x : padded_parts(q, b, a));
    case PASS: return a;
    default: return binary(rnd(6), a, b);
    }
}

TEST(avx512) { many("avx512", NULL, 500); }
TEST(avx2) { many("avx2", NULL, 300); }
TEST(no_machine_code) { many("none", NULL, 300); }
TEST(no_fuse) { many(NULL, "no_fuse", 300); }

/* The same forms while sizes stay symbolic. */
static dync_tensor *meet(dync_tensor *x, dync_tensor *y)
{
    dync_tensor *stencil = dync_sub(dync_add(dync_roll(x, dync_shape(1), dync_shape(0)),
                                             dync_roll(x, dync_shape(-1), dync_shape(0))),
                                    dync_mul(x, 2));
    dync_tensor *both =
        dync_mul(dync_cat(dync_tuple(x, y), 0), dync_cat(dync_tuple(y, stencil), 0));
    dync_tensor *square = dync_stack(dync_tuple(x, y), 1);
    return dync_add(both, dync_sum(dync_mul(square, square), DYNC_ALL, false));
}
TEST(symbolic_sizes)
{
    dync_compiled *f = dync_compile(meet, .args = "x, y", .dynamic = DYNC_DYNAMIC_ON);
    for (int n = 2; n < 40; n += 5) DYNC_SCOPE {
        dync_tensor *x = dync_randn(dync_shape(n, 3)), *y = dync_randn(dync_shape(n, 3));
        dync_requires_grad_(x, n % 2);
        dync_tensor *want = meet(x, y), *got = dync_call(f, x, y);
        EXPECT(same(got, want, 1e-4));
        if (n % 2 == 0) continue;
        const dync_grad_options plain = {0};
        dync_value of = dync_tuple(x);
        dync_tensor *g = dync_as_tensor(dync_at(
            dync_gradients(DYNC_V(dync_sum(want, DYNC_ALL, false)), of, DYNC_NONE, plain), 0));
        dync_tensor *h = dync_as_tensor(dync_at(
            dync_gradients(DYNC_V(dync_sum(got, DYNC_ALL, false)), of, DYNC_NONE, plain), 0));
        EXPECT(same(h, g, 1e-3));
    }
    dync_compiled_free(f);
}

static void some(void) { many(NULL, NULL, 15); }
TEST(without_each_pass) { without_each_pass(some); }

TEST_MAIN
