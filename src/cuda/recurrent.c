/* cuda/recurrent.c: a layer of RNN, LSTM or GRU in one direction, and back through it, on a GPU.
 * After attention.c, before calls.c; the kernel call is kernel/recurrent.c's, with the same things
 * kept for backward.
 *
 *   block   where the weights are small a block has some rows of the batch and goes through all
 *           steps by itself: states in shared memory, weights there too if they fit, else read from
 *           the cache
 *   step    else a launch a step: a block has some units of some rows; states go by way of memory,
 *           by the parity of the step
 * A thread has one unit of `rb` rows: its products with the state, its gates, its state; what all
 * threads need of a step (forward the states, backward the gates' gradients) meets in shared
 * memory. Weights are first brought into the order [k][unit][gate], a 16-byte load per k. Backward
 * a step begins with the product of the step before it in time; one more product ends the layer. */
#include "../dync.in.h"
#include "tile.h"
#include "recurrent.h"
DYNC__COLD

/* ---- values: registers %v<n> ----------------------------------------------------------------- */

static int dync__ru_new(dync__ru *u)
{
    dync__str_addf(&u->t.p.regs, "    .reg .%s %%v%d;\n", u->ty, u->n);
    return u->n++;
}
static int dync__ru_op(dync__ru *u, const char *op, int a, int b)
{
    int v = dync__ru_new(u);
    if (b < 0)
        dync__ptx_line(&u->t.p, "%s.%s %%v%d, %%v%d", op, u->ty, v, a);
    else
        dync__ptx_line(&u->t.p, "%s.%s %%v%d, %%v%d, %%v%d", op, u->ty, v, a, b);
    return v;
}
static int dync__ru_add(dync__ru *u, int a, int b) { return dync__ru_op(u, "add.rn", a, b); }
static int dync__ru_sub(dync__ru *u, int a, int b) { return dync__ru_op(u, "sub.rn", a, b); }
static int dync__ru_mul(dync__ru *u, int a, int b) { return dync__ru_op(u, "mul.rn", a, b); }
static int dync__ru_fma(dync__ru *u, int a, int b, int c)
{
    int v = dync__ru_new(u);
    dync__ptx_line(&u->t.p, "fma.rn.%s %%v%d, %%v%d, %%v%d, %%v%d", u->ty, v, a, b, c);
    return v;
}
DYNC__FN int dync__ru_number(dync__ru *u, double x)
{
    dync__scalar s;
    int v = dync__ru_new(u);
    s.d = x;
    if (u->type == DYNC_F32) s.f = (float)x;
    dync__ptx_line(&u->t.p, "mov.%s %%v%d, %s", u->ty, v, dync__ptx_constant(&u->t.p, u->type, s));
    return v;
}
/* a < b ? x : y */
static int dync__ru_where(dync__ru *u, const char *how, int a, int b, int x, int y)
{
    const char *p = dync__ptx_temp(&u->t.p, "pred");
    int v = dync__ru_new(u);
    dync__ptx_line(&u->t.p, "setp.%s.%s %s, %%v%d, %%v%d", how, u->ty, p, a, b);
    dync__ptx_line(&u->t.p, "selp.%s %%v%d, %%v%d, %%v%d, %s", u->ty, v, x, y, p);
    return v;
}

/* 2^x. F64: x = n + r, a polynomial in r, n into the exponent; far beyond the ends of its range 0
 * and infinity come by themselves. */
static int dync__ru_exp2(dync__ru *u, int x)
{
    dync__ptx *p = &u->t.p;
    if (u->type == DYNC_F32) return dync__ru_op(u, "ex2.approx.ftz", x, -1);
    double term = 1;
    int most = dync__ru_number(u, 1000), least = dync__ru_number(u, -1000),
        y = dync__ru_where(u, "gt", x, most, most, x);
    y = dync__ru_where(u, "lt", y, least, least, y);
    int n = dync__ru_op(u, "cvt.rni.f64", y, -1), r = dync__ru_sub(u, y, n), sum = -1;
    double factor[14];
    for (int k = 0; k < 14; k++, term *= 0.69314718055994530942 / k) factor[k] = term;
    for (int k = 13; k >= 0; k--)
        sum = sum < 0 ? dync__ru_number(u, factor[k])
                      : dync__ru_fma(u, sum, r, dync__ru_number(u, factor[k]));
    const char *i = dync__ptx_temp(p, "s32"), *zero = dync__ptx_temp(p, "b32");
    int scale = dync__ru_new(u);
    dync__ptx_line(p, "cvt.rni.s32.f64 %s, %%v%d", i, n);
    dync__ptx_line(p, "add.s32 %s, %s, 1023", i, i);
    dync__ptx_line(p, "shl.b32 %s, %s, 20", i, i);
    dync__ptx_line(p, "mov.b32 %s, 0", zero);
    dync__ptx_line(p, "mov.b64 %%v%d, {%s, %s}", scale, zero, i);
    return dync__ru_where(u, "num", x, x, dync__ru_mul(u, sum, scale), x);
}

static int dync__ru_over(dync__ru *u, int a, int b) { return dync__ru_op(u, "div.rn", a, b); }

static int dync__ru_sigmoid(dync__ru *u, int x)
{
    int one = dync__ru_number(u, 1),
        e = dync__ru_exp2(u, dync__ru_mul(u, x, dync__ru_number(u, -1.4426950408889634074)));
    return dync__ru_over(u, one, dync__ru_add(u, one, e));
}

/* Near 0 a polynomial (Cephes, Moshier) or, in F64, a continued fraction, which keep the relative
 * error small; else 1 - 2 / (e^2|x| + 1). */
static int dync__ru_tanh(dync__ru *u, int x)
{
    static const double small[5] = {-5.70498872745e-3, 2.06390887954e-2, -5.37397155531e-2,
                                    1.33314422036e-1, -3.33332819422e-1};
    int one = dync__ru_number(u, 1), two = dync__ru_number(u, 2),
        size = dync__ru_op(u, "abs", x, -1), square = dync__ru_mul(u, x, x), near;
    int e = dync__ru_exp2(u, dync__ru_mul(u, size, dync__ru_number(u, 2 * 1.4426950408889634074)));
    int far = dync__ru_sub(u, one, dync__ru_over(u, two, dync__ru_add(u, e, one)));
    far = dync__ru_where(u, "lt", x, dync__ru_number(u, 0), dync__ru_op(u, "neg", far, -1), far);
    if (u->type == DYNC_F32) {
        near = dync__ru_number(u, small[0]);
        for (int i = 1; i < 5; i++)
            near = dync__ru_fma(u, near, square, dync__ru_number(u, small[i]));
        near = dync__ru_fma(u, dync__ru_mul(u, near, square), x, x);
    } else {
        near = dync__ru_number(u, 19);
        for (int m = 17; m > 0; m -= 2)
            near = dync__ru_add(u, dync__ru_number(u, m), dync__ru_over(u, square, near));
        near = dync__ru_over(u, x, near);
    }
    return dync__ru_where(u, "lt", size, dync__ru_number(u, 0.625), near, far);
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* Address of row r, gate g of an operand [.., N, gates H] that lies at `base`. */
static const char *dync__ru_address(dync__ru *u, int role, const char *base, int r, int g)
{
    dync__ptx *p = &u->t.p;
    const dync__operand *o = u->at[role];
    int64_t bytes = dync__dtype_info(o->dtype)->bytes, row = o->lay.stride[o->lay.ndim - 2] * bytes,
            column = o->lay.stride[o->lay.ndim - 1] * bytes;
    const char *at = dync__ptx_temp(p, "s64");
    dync__ptx_line(p, "mad.lo.s64 %s, %%row%d, %lld, %s", at, r, (long long)row, base);
    dync__ptx_line(p, "mad.lo.s64 %s, %%unit, %lld, %s", at, (long long)column, at);
    if (g) dync__ptx_line(p, "add.s64 %s, %s, %lld", at, at, (long long)(g * u->H * column));
    return at;
}
DYNC__FN char *dync__ru_base(int role, char *name)
{
    dync__format(name, 16, "%%at%d", role);
    return name;
}
/* The value there; 0 for threads that have none. */
static int dync__ru_load(dync__ru *u, int dtype, const char *at, int r)
{
    dync__ptx *p = &u->t.p;
    char guard[16], name[16], address[40];
    int v = dync__ru_number(u, 0);
    dync__format(guard, sizeof guard, "@%%ok%d ", r);
    dync__format(name, sizeof name, "%%v%d", v);
    dync__format(address, sizeof address, "%s", at);
    if (dync__ptx_is_plain(dtype)) {
        dync__cuda_tile_load(&u->t, dtype, name, address, guard);
        return v;
    }
    const char *raw = dync__ptx_temp(p, dync__ptx_raw_type(dtype));
    dync__ptx_line(p, "mov.b16 %s, 0", raw);
    dync__ptx_line(p, "%sld.global.b16 %s, [%s]", guard, raw, address);
    dync__ptx_widen(p, dtype, name, raw);
    return v;
}
DYNC__FN int dync__ru_get(dync__ru *u, int role, int r, int g)
{
    char base[16];
    return dync__ru_load(u, u->at[role]->dtype,
                         dync__ru_address(u, role, dync__ru_base(role, base), r, g), r);
}
DYNC__FN void dync__ru_put(dync__ru *u, int role, int r, int g, int v)
{
    char base[16], guard[16], name[16], at[40];
    if (!u->at[role] || v < 0) return;
    dync__format(at, sizeof at, "%s", dync__ru_address(u, role, dync__ru_base(role, base), r, g));
    dync__format(guard, sizeof guard, "@%%ok%d ", r);
    dync__format(name, sizeof name, "%%v%d", v);
    dync__cuda_tile_store(&u->t, u->at[role]->dtype, at, name, guard);
}

/* n elements of the arithmetic's type, 16 bytes at a time where they are that many: prefix<first>
 * ... */
static void dync__ru_many(dync__ru *u, const char *space, const char *prefix, int first, int n,
                          const char *from, int64_t at)
{
    dync__ptx *p = &u->t.p;
    int each = 16 / u->bytes;
    for (int i = 0; i < n; i += n % each ? 1 : each) {
        long long place = (long long)(at + i * u->bytes);
        if (n % each)
            dync__ptx_line(p, "ld.%s.%s %s%d, [%s+%lld]", space, u->ty, prefix, first + i, from,
                           place);
        else if (each == 2)
            dync__ptx_line(p, "ld.%s.v2.f64 {%s%d, %s%d}, [%s+%lld]", space, prefix, first + i,
                           prefix, first + i + 1, from, place);
        else
            dync__ptx_line(p, "ld.%s.v4.f32 {%s%d, %s%d, %s%d, %s%d}, [%s+%lld]", space, prefix,
                           first + i, prefix, first + i + 1, prefix, first + i + 2, prefix,
                           first + i + 3, from, place);
    }
}

/* ---- the product ----------------------------------------------------------------------------- */

/* %acc<gate rb + r> += the weights of `k` states, from offset `first` on, times what is shared. */
static void dync__ru_product_part(dync__ru *u, int first, int k)
{
    dync__ptx *p = &u->t.p;
    int shared = u->grad ? u->pack : 1;
    for (int r = 0; r < u->rb; r++)
        dync__ru_many(u, "shared", "%s", r * 4 * u->pack, k * shared, "%hp",
                      (int64_t)(r * u->row + first * shared) * u->bytes);
    for (int i = 0; i < k; i++)
        dync__ru_many(u, u->near ? "shared" : "global", "%w", i * u->pack, u->pack, "%wp",
                      (first + i) * u->H * u->pack * u->bytes);
    for (int i = 0; i < k; i++)
        for (int g = 0; g < u->gates; g++)
            for (int r = 0; r < u->rb; r++)
                dync__ptx_line(p, "fma.rn.%s %%acc%d, %%w%d, %%s%d, %%acc%d", u->ty, g * u->rb + r,
                               i * u->pack + g, r * 4 * u->pack + i * shared + (u->grad ? g : 0),
                               g * u->rb + r);
}

DYNC__FN void dync__ru_product(dync__ru *u)
{
    dync__ptx *p = &u->t.p;
    char label[24];
    int shared = u->grad ? u->pack : 1;
    for (int i = 0; i < u->gates * u->rb; i++)
        dync__ptx_line(p, "mov.%s %%acc%d, %s", u->ty, i,
                       u->type == DYNC_F32 ? "0f00000000" : "0d0000000000000000");
    dync__format(label, sizeof label, "PRODUCT%d", p->n_labels++);
    dync__ptx_line(p, "mov.b%d %%wp, %%wfirst", u->near ? 32 : 64);
    dync__ptx_line(p, "add.s32 %%hp, %%hfirst, %%iteration");
    if (u->H >= 4) {
        dync__ptx_line(p, "mov.b32 %%left, %lld", (long long)(u->H / 4));
        dync__cuda_tile_label(&u->t, "%s", label);
        dync__ru_product_part(u, 0, 4);
        dync__ptx_line(p, "add.s%d %%wp, %%wp, %lld", u->near ? 32 : 64,
                       (long long)(4 * u->H * u->pack * u->bytes));
        dync__ptx_line(p, "add.s32 %%hp, %%hp, %d", 4 * shared * u->bytes);
        dync__ptx_line(p, "sub.s32 %%left, %%left, 1");
        dync__ptx_line(p, "setp.gt.s32 %%more, %%left, 0");
        dync__ptx_line(p, "@%%more bra %s", label);
    }
    for (int i = 0; i < u->H % 4; i++) dync__ru_product_part(u, i, 1);
}

/* %acc as values of gate g, row r; backward its sum over the gates. */
static int dync__ru_acc(dync__ru *u, int g, int r)
{
    int v = dync__ru_new(u);
    dync__ptx_line(&u->t.p, "mov.%s %%v%d, %%acc%d", u->ty, v, g * u->rb + r);
    return v;
}

/* ---- gates ----------------------------------------------------------------------------------- */

DYNC__FN int dync__ru_state(dync__ru *u, char what, int r)
{
    int v = dync__ru_new(u);
    dync__ptx_line(&u->t.p, "mov.%s %%v%d, %%%c%d", u->ty, v, what, r);
    return v;
}
DYNC__FN void dync__ru_set_state(dync__ru *u, char what, int r, int v)
{
    dync__ptx_line(&u->t.p, "mov.%s %%%c%d, %%v%d", u->ty, what, r, v);
}

DYNC__FN void dync__ru_cell(dync__ru *u, int r)
{
    int gate[4], mine[4], value, cell = -1;
    for (int i = 0; i < u->gates; i++) {
        gate[i] = dync__ru_get(u, DYNC__RNN_IN, r, i);
        mine[i] = dync__ru_acc(u, i, r);
        if (u->at[DYNC__RNN_BIAS]) {
            int bias = dync__ru_new(u);
            dync__ptx_line(&u->t.p, "mov.%s %%v%d, %%bias%d", u->ty, bias, i);
            mine[i] = dync__ru_add(u, mine[i], bias);
        }
        if (u->gates != 3 || i < 2) gate[i] = dync__ru_add(u, gate[i], mine[i]);
    }
    if (u->gates == 4) {
        for (int i = 0; i < 4; i++)
            gate[i] = i == 2 ? dync__ru_tanh(u, gate[i]) : dync__ru_sigmoid(u, gate[i]);
        cell =
            dync__ru_fma(u, gate[1], dync__ru_state(u, 'c', r), dync__ru_mul(u, gate[0], gate[2]));
        value = dync__ru_mul(u, gate[3], dync__ru_tanh(u, cell));
        dync__ru_set_state(u, 'c', r, cell);
    } else if (u->gates == 3) {
        gate[0] = dync__ru_sigmoid(u, gate[0]);
        gate[1] = dync__ru_sigmoid(u, gate[1]);
        gate[2] = dync__ru_tanh(u, dync__ru_fma(u, gate[0], mine[2], gate[2]));
        value =
            dync__ru_fma(u, gate[1], dync__ru_sub(u, dync__ru_state(u, 'h', r), gate[2]), gate[2]);
        cell = mine[2];
    } else {
        value = dync__ru_tanh(u, gate[0]);
    }
    dync__ru_set_state(u, 'h', r, value);
    dync__ru_put(u, DYNC__RNN_OUT, r, 0, value);
    dync__ru_put(u, DYNC__RNN_CELLS, r, 0, cell);
    for (int i = 0; i < u->gates; i++) dync__ru_put(u, DYNC__RNN_GATES, r, i, gate[i]);
}

/* a (1 - a) d, and (1 - a a) d */
static int dync__ru_sigmoid_grad(dync__ru *u, int a, int d)
{
    return dync__ru_mul(u, dync__ru_mul(u, a, dync__ru_sub(u, dync__ru_number(u, 1), a)), d);
}
static int dync__ru_tanh_grad(dync__ru *u, int a, int d)
{
    return dync__ru_mul(u, dync__ru_sub(u, dync__ru_number(u, 1), dync__ru_mul(u, a, a)), d);
}

/* The state before this step: c (LSTM) or h (GRU), at the start or of the step before. */
static int dync__ru_before(dync__ru *u, int r)
{
    dync__ptx *p = &u->t.p;
    int start = u->gates == 4 ? DYNC__RNN_C0 : DYNC__RNN_H0,
        states = u->gates == 4 ? DYNC__RNN_CELLS : DYNC__RNN_OUT;
    char base[16], first[40], other[40];
    const dync__operand *o = u->at[states];
    int64_t by = o->lay.stride[0] * dync__dtype_info(o->dtype)->bytes * (u->reverse ? 1 : -1);
    dync__format(first, sizeof first, "%s",
                 dync__ru_address(u, start, dync__ru_base(start, base), r, 0));
    dync__format(other, sizeof other, "%s",
                 dync__ru_address(u, states, dync__ru_base(states, base), r, 0));
    dync__ptx_line(p, "add.s64 %s, %s, %lld", other, other, (long long)by);
    dync__ptx_line(p, "selp.b64 %s, %s, %s, %%first", other, first, other);
    return dync__ru_load(u, o->dtype, other, r);
}

DYNC__FN void dync__ru_cell_grad(dync__ru *u, int r)
{
    int gate[4], g[4], d = dync__ru_state(u, 'h', r);
    if (u->at[DYNC__RNN_GOUT]) d = dync__ru_add(u, d, dync__ru_get(u, DYNC__RNN_GOUT, r, 0));
    for (int i = 0; i < u->gates && u->gates > 1; i++)
        gate[i] = dync__ru_get(u, DYNC__RNN_GATES, r, i);
    if (u->gates == 4) {
        int t = dync__ru_tanh(u, dync__ru_get(u, DYNC__RNN_CELLS, r, 0));
        int e = dync__ru_add(u, dync__ru_state(u, 'c', r),
                             dync__ru_tanh_grad(u, t, dync__ru_mul(u, d, gate[3])));
        g[0] = dync__ru_sigmoid_grad(u, gate[0], dync__ru_mul(u, e, gate[2]));
        g[1] = dync__ru_sigmoid_grad(u, gate[1], dync__ru_mul(u, e, dync__ru_before(u, r)));
        g[2] = dync__ru_tanh_grad(u, gate[2], dync__ru_mul(u, e, gate[0]));
        g[3] = dync__ru_sigmoid_grad(u, gate[3], dync__ru_mul(u, d, t));
        dync__ru_set_state(u, 'c', r, dync__ru_mul(u, e, gate[1]));
    } else if (u->gates == 3) {
        int last = dync__ru_before(u, r), one = dync__ru_number(u, 1);
        g[2] = dync__ru_tanh_grad(u, gate[2], dync__ru_mul(u, d, dync__ru_sub(u, one, gate[1])));
        g[1] =
            dync__ru_sigmoid_grad(u, gate[1], dync__ru_mul(u, d, dync__ru_sub(u, last, gate[2])));
        g[0] = dync__ru_sigmoid_grad(u, gate[0],
                                     dync__ru_mul(u, g[2], dync__ru_get(u, DYNC__RNN_CELLS, r, 0)));
        /* goes on to the step before */
        dync__ru_set_state(u, 'h', r, dync__ru_mul(u, d, gate[1]));
    } else {
        g[0] = dync__ru_tanh_grad(u, dync__ru_get(u, DYNC__RNN_OUT, r, 0), d);
    }
    for (int i = 0; i < u->gates; i++) {
        dync__ru_put(u, DYNC__RNN_IN, r, i, g[i]);
        int v = u->gates == 3 && i == 2 ? dync__ru_mul(u, g[2], gate[0]) : g[i];
        if (u->step)
            dync__ptx_line(&u->t.p, "@%%ok%d st.global.%s [%%share%d+%d], %%v%d", r, u->ty, r,
                           i * u->bytes, v);
        else
            dync__ptx_line(&u->t.p, "@%%mine st.shared.%s [%%share+%d], %%v%d", u->ty,
                           (r * u->row + i) * u->bytes, v);
    }
}

DYNC__FN void dync__ru_add_product(dync__ru *u, int r)
{
    int v = dync__ru_acc(u, 0, r);
    for (int g = 1; g < u->gates; g++) v = dync__ru_add(u, v, dync__ru_acc(u, g, r));
    if (u->gates == 3) v = dync__ru_add(u, v, dync__ru_state(u, 'h', r));
    dync__ru_set_state(u, 'h', r, v);
}
