/* Random programs of kernel calls whose operands and results meet: products, convolutions, pooling,
 * scatters, gathers, attention and norms whose result is their own operand, bias, residual or base,
 * is read by several, as it is and transposed, is written later; epilogues of what computes them.
 * Compiled they must do what they do eagerly, forward and in training, on each level of machine
 * code and without fusion. */
#include <stdint.h>
static const int64_t sizes[][2] = {{16, 16}, {32, 32}, {5, 5}, {1, 1}, {48, 48}};
#include "random_forms.h"
#include "passes.h"

static int64_t side(const pool *q) { return sizes[q->p->shape][0]; }
/* Numbers stay small, whatever is multiplied. */
static dync_tensor *tame(dync_tensor *t) { return dync_tanh(t); }
static dync_tensor *turned(dync_tensor *t) { return rnd(3) ? t : dync_transpose(t, 0, 1); }

static dync_tensor *product(const pool *q, const ins *i)
{
    dync_tensor *a = turned(q->v[i->a]), *b = turned(q->v[i->b]), *c = turned(q->v[i->c]), *y;
    switch (rnd(5)) {
    case 0: y = dync_matmul(a, b); break;
    case 1: y = dync_addmm(c, a, b); break;
    case 2: y = dync_addmm(dync_select(c, rnd(2), 0), a, a); break;
    case 3:
        y = dync_select(dync_bmm(dync_stack(dync_tuple(a, b), 0), dync_stack(dync_tuple(b, c), 0)),
                        0, rnd(2));
        break;
    default: y = dync_linear(a, b, rnd(2) ? dync_select(c, 0, 0) : NULL);
    }
    y = dync_div(y, (double)side(q));
    switch (rnd(6)) { /* what follows reads the result once, twice, or turned */
    case 0: return dync_relu(dync_add(y, c));
    case 1: return dync_add(dync_mul(y, y), dync_transpose(y, 0, 1));
    case 2: return dync_softmax(dync_add(y, dync_transpose(y, 0, 1)), rnd(2));
    case 3: return dync_sub(y, dync_mean(y, dync_shape(rnd(2)), true));
    case 4: return dync_add(dync_sigmoid(y), dync_matmul(y, y));
    default: return y;
    }
}

/* [side, side] as [1, side / 2, ., .], through one to three convolutions, and back. */
static dync_tensor *convolved(const pool *q, const ins *i)
{
    int64_t n = side(q), channels = n == 48 ? 48 : (n + 1) / 2, wide = 8,
            high = n * n / channels / wide;
    if (n < 16) return tame(dync_add(q->v[i->a], q->v[i->b]));
    dync_tensor *x = dync_reshape(q->v[i->a], dync_shape(1, channels, high, wide)),
                *r = dync_reshape(q->v[i->b], dync_shape(1, channels, high, wide));
    dync_tensor *w =
        dync_reshape(dync_slice(dync_reshape(q->v[i->c], dync_shape(-1)), 0, 0, channels, 1),
                     dync_shape(channels, 1, 1, 1));
    dync_tensor *full_w = dync_mul(dync_expand(w, dync_shape(channels, channels, 3, 3)),
                                   0.5 / (double)channels),
                *bias = dync_reshape(w, dync_shape(channels));
    dync_tensor *y = dync_conv2d(x, full_w, rnd(2) ? bias : NULL, dync_shape(1), dync_shape(1),
                                 dync_shape(1), 1);
    switch (rnd(6)) {
    case 0: y = dync_add(dync_relu(y), r); break;
    case 1:
        y = dync_add(y,
                     dync_conv2d(y, full_w, bias, dync_shape(1), dync_shape(1), dync_shape(1), 1));
        break;
    case 2:
        y = dync_mul(dync_conv2d(r, full_w, NULL, dync_shape(1), dync_shape(1), dync_shape(1), 1),
                     y);
        break;
    case 3:
        y = dync_add(y, dync_max_pool2d(dync_relu(y), dync_shape(3), dync_shape(1), dync_shape(1),
                                        dync_shape(1), false));
        break;
    case 4:
        y = dync_sub(dync_avg_pool2d(y, dync_shape(3), dync_shape(1), dync_shape(1), false, true),
                     dync_mul(y, y));
        break;
    default:
        y = dync_conv2d(dync_add(y, x), dync_expand(w, dync_shape(channels, 1, 3, 3)), NULL,
                        dync_shape(1), dync_shape(1), dync_shape(1), (int)channels);
    }
    return tame(dync_reshape(y, dync_shape(n, n)));
}

/* Indices of rows or columns from the values themselves. */
static dync_tensor *places(const pool *q, dync_tensor *t)
{
    return dync_to_dtype(dync_mul(dync_abs(tame(dync_detach(t))), (double)side(q) - 0.001),
                         DYNC_I64);
}

static dync_tensor *scattered(const pool *q, const ins *i)
{
    dync_tensor *a = q->v[i->a], *b = q->v[i->b], *at = places(q, q->v[i->c]), *y;
    int dim = rnd(2);
    switch (rnd(5)) {
    case 0: y = dync_scatter_add(a, dim, at, b); break;
    case 1: y = dync_scatter_add(dync_scatter_add(a, dim, at, a), dim, at, b); break;
    case 2: y = dync_index_add(a, dim, dync_select(at, 0, 0), rnd(2) ? a : b); break;
    case 3: y = dync_scatter_add(dync_zeros_like(a), dim, at, dync_gather(b, dim, at)); break;
    default:
        y = dync_scatter_add(dync_mul(a, 2), dim, at,
                             dync_index_select(b, dim, dync_select(at, 1, 0)));
    }
    return rnd(2) ? tame(y) : dync_sub(dync_mul(tame(y), 0.5), a);
}

static dync_tensor *gathered(const pool *q, const ins *i)
{
    dync_tensor *a = q->v[i->a], *at = places(q, q->v[i->b]), *row = dync_select(at, 0, 0);
    switch (rnd(4)) {
    case 0: return dync_add(dync_gather(a, 0, at), dync_gather(a, 1, at));
    case 1: return dync_mul(dync_index_select(a, 0, row), dync_index_select(a, 1, row));
    case 2: return dync_add(dync_embedding(a, row), dync_embedding(q->v[i->c], row));
    default: return dync_sub(dync_index_select(a, 0, row), a);
    }
}

static dync_tensor *attended(const pool *q, const ins *i)
{
    dync_tensor *a = q->v[i->a], *b = q->v[i->b], *c = q->v[i->c];
    dync_tensor *s = dync_mul(dync_matmul(a, dync_transpose(rnd(2) ? a : b, 0, 1)), 0.25);
    if (rnd(2)) s = dync_masked_fill(s, dync_eq(dync_tril(dync_ones_like(s), 0), 0), -INFINITY);
    dync_tensor *p = dync_softmax(s, -1), *y = dync_matmul(p, rnd(3) ? c : p);
    return rnd(3) ? y : dync_add(y, p);
}

static dync_tensor *written(const pool *q, const ins *i)
{
    dync_tensor *c = q->p->train || rnd(2) ? dync_clone(q->v[i->a]) : q->v[0], *b = q->v[i->b];
    switch (rnd(4)) {
    case 0: return dync_copy_(c, dync_div(dync_matmul(q->v[i->a], b), (double)side(q)));
    case 1: return dync_add_(c, tame(dync_matmul(b, b)));
    case 2: dync_copy_(dync_select(c, rnd(2), 0), dync_clone(dync_select(b, rnd(2), 0))); return c;
    default: dync_mul_(dync_transpose(c, 0, 1), dync_clone(b)); return c;
    }
}

static dync_tensor *apply(const pool *q, const ins *i)
{
    dync_tensor *a = q->v[i->a], *b = q->v[i->b];
    state = i->seed;
    switch (i->op) {
    case 0:
    case 1:
    case 2: return product(q, i);
    case 3:
    case 4: return convolved(q, i);
    case 5: return scattered(q, i);
    case 6: return gathered(q, i);
    case 7: return attended(q, i);
    case 8: return written(q, i);
    case RANDOM: return rnd(2) ? dync_dropout(a, 0.5, true) : dync_add(dync_rand_like(a), b);
    case 10:
        return dync_layer_norm(a, dync_shape(side(q)), rnd(2) ? dync_select(a, 0, 0) : NULL,
                               rnd(2) ? dync_select(b, 0, 0) : NULL, 1e-2);
    case 11: return dync_div(dync_cumsum(a, rnd(2)), (double)side(q));
    case 12: return dync_softmax(dync_add(a, b), rnd(2));
    case 13:
        return dync_add(dync_amax(a, dync_shape(rnd(2)), true),
                        dync_mul(b, dync_mean(b, dync_shape(rnd(2)), true)));
    case PASS: return a;
    default: return rnd(2) ? dync_mul(a, b) : tame(dync_add(dync_transpose(a, 0, 1), b));
    }
}

TEST(avx512) { many("avx512", NULL, 120); }
TEST(avx2) { many("avx2", NULL, 80); }
TEST(no_machine_code) { many("none", NULL, 40); }
TEST(no_fuse) { many(NULL, "no_fuse", 80); }

static void some(void) { many(NULL, NULL, 8); }
TEST(without_each_pass) { without_each_pass(some); }

TEST_MAIN
