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
DYNC__COLD

typedef struct dync__ru {
    dync__cuda_tile t;
    const dync__kcall *call;
    const dync__operand *at[DYNC__RNN_ROLES];
    /* pack: gates side by side in the weights; type of the arithmetic, bytes of it */
    int gates, pack, type, bytes;
    const char *ty;
    int64_t L, N, H;
    bool reverse, grad, step;
    /* of a block: units side by side, groups of rb rows; row: elements of one in what is shared */
    int units, groups, rb, row;
    bool near;             /* weights in shared memory */
    int state, weights, n; /* offsets in shared memory; values so far */
    /* buffers: weights; in step form what is shared (two copies), GRU's dh, c or dc */
    int temp[4];
} dync__ru;

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
static int dync__ru_number(dync__ru *u, double x)
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
/* of the step; of an operand without steps: its own */
static char *dync__ru_base(int role, char *name)
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
static int dync__ru_get(dync__ru *u, int role, int r, int g)
{
    char base[16];
    return dync__ru_load(u, u->at[role]->dtype,
                         dync__ru_address(u, role, dync__ru_base(role, base), r, g), r);
}
static void dync__ru_put(dync__ru *u, int role, int r, int g, int v)
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

static void dync__ru_product(dync__ru *u)
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

/* Row r of a step: %h<r> and %c<r> are the unit's states. */
static int dync__ru_state(dync__ru *u, char what, int r)
{
    int v = dync__ru_new(u);
    dync__ptx_line(&u->t.p, "mov.%s %%v%d, %%%c%d", u->ty, v, what, r);
    return v;
}
static void dync__ru_set_state(dync__ru *u, char what, int r, int v)
{
    dync__ptx_line(&u->t.p, "mov.%s %%%c%d, %%v%d", u->ty, what, r, v);
}

static void dync__ru_cell(dync__ru *u, int r)
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

/* Gradients of the gates of row r, to the operand and, as `pack` neighbours, to %share + r rows. */
static void dync__ru_cell_grad(dync__ru *u, int r)
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

/* dh of row r: the product, and what GRU hands on. */
static void dync__ru_add_product(dync__ru *u, int r)
{
    int v = dync__ru_acc(u, 0, r);
    for (int g = 1; g < u->gates; g++) v = dync__ru_add(u, v, dync__ru_acc(u, g, r));
    if (u->gates == 3) v = dync__ru_add(u, v, dync__ru_state(u, 'h', r));
    dync__ru_set_state(u, 'h', r, v);
}

/* ---- the kernel ------------------------------------------------------------------------------ */

/* Registers, rows, unit; where the thread's states and weights are. */
static void dync__ru_begin(dync__ru *u)
{
    dync__ptx *p = &u->t.p;
    static const char *const names[][2] = {
        {"s64", "%time"},   {"s32", "%index"}, {"s32", "%left"}, {"pred", "%more"},
        {"pred", "%first"}, {"pred", "%skip"}, {"b32", "%hp"},   {"b32", "%iteration"},
        {"b32", "%share"},  {"pred", "%mine"}};
    int threads = u->units * u->groups;
    char name[24];
    for (int i = 0; i < DYNC__COUNT_OF(names); i++) dync__ptx_reg(p, names[i][0], names[i][1]);
    dync__cuda_tile_regs(&u->t, u->ty, "%acc", u->gates * u->rb);
    dync__cuda_tile_regs(&u->t, u->ty, "%w", 4 * u->pack);
    dync__cuda_tile_regs(&u->t, u->ty, "%s", 4 * u->pack * u->rb);
    dync__cuda_tile_regs(&u->t, u->ty, "%h", u->rb);
    dync__cuda_tile_regs(&u->t, u->ty, "%c", u->rb);
    dync__cuda_tile_set(&u->t, "b32", "%tu", "and", "%%thr, %d", u->units - 1);
    dync__cuda_tile_set(&u->t, "u32", "%group", "div", "%%thr, %d", u->units);
    if (u->step) {
        dync__cuda_tile_special(&u->t, "%slice", "%ctaid.y");
        dync__ptx_line(p, "mad.lo.s32 %%tu, %%slice, %d, %%tu", u->units);
    }
    dync__ptx_line(p, "setp.lt.s32 %%mine, %%tu, %lld", (long long)u->H);
    dync__cuda_tile_wide(&u->t, "%unit", NULL);
    dync__ptx_line(p, "cvt.s64.s32 %%unit, %%tu");
    for (int r = 0; r < u->rb; r++) {
        dync__format(name, sizeof name, "%%row%d", r);
        dync__cuda_tile_wide(&u->t, name, NULL);
        const char *n = dync__ptx_temp(p, "s32");
        dync__ptx_line(p, "mad.lo.s32 %s, %%cta, %d, %d", n, u->groups * u->rb, r);
        dync__ptx_line(p, "mad.lo.s32 %s, %%group, %d, %s", n, u->rb, n);
        dync__ptx_line(p, "cvt.s64.s32 %s, %s", name, n);
        dync__format(name, sizeof name, "%%ok%d", r);
        dync__ptx_reg(p, "pred", name);
        dync__ptx_line(p, "setp.lt.and.s32 %s, %s, %lld, %%mine", name, n, (long long)u->N);
    }
    int copy = u->groups * u->rb * u->row * u->bytes;
    u->state = dync__cuda_tile_shared(&u->t, u->step ? copy : 2 * copy, 16);
    if (u->near)
        u->weights = dync__cuda_tile_shared(&u->t, (int)(u->H * u->H * u->pack * u->bytes), 16);
    dync__cuda_tile_set(&u->t, "s32", "%hfirst", "mad.lo", "%%group, %d, %%smem",
                        u->rb * u->row * u->bytes);
    dync__ptx_line(p, "add.s32 %%hfirst, %%hfirst, %d", u->state);
    dync__cuda_tile_set(&u->t, "s32", "%own", "mad.lo", "%%tu, %d, %%hfirst",
                        (u->grad ? u->pack : 1) * u->bytes);
    /* behind: in the copy that is not being read */
    dync__ptx_line(p, "add.s32 %%own, %%own, %d", u->step ? 0 : copy);
    dync__ptx_line(p, "mov.b32 %%iteration, 0");
    const char *clamped = dync__ptx_temp(p, "s32");
    dync__ptx_line(p, "min.s32 %s, %%tu, %lld", clamped, (long long)(u->H - 1));
    if (u->near) {
        dync__ptx_reg(p, "b32", "%wp");
        dync__cuda_tile_set(&u->t, "s32", "%wfirst", "mad.lo", "%s, %d, %%smem", clamped,
                            u->pack * u->bytes);
        dync__ptx_line(p, "add.s32 %%wfirst, %%wfirst, %d", u->weights);
    } else {
        dync__cuda_tile_wide(&u->t, "%wp", NULL);
        dync__cuda_tile_wide(&u->t, "%wfirst", NULL);
        dync__ptx_line(p, "mad.wide.s32 %%wfirst, %s, %d, %%b%d", clamped, u->pack * u->bytes,
                       u->temp[0]);
    }
    for (int role = 0; role < DYNC__RNN_ROLES; role++) {
        const dync__operand *o = u->at[role];
        if (!o || o->lay.ndim == 1) continue;
        dync__ru_base(role, name);
        dync__cuda_tile_set(&u->t, "s64", name, "add", "%%b%d, %lld", (int)(o - u->call->operand),
                            (long long)(o->lay.offset * dync__dtype_info(o->dtype)->bytes));
    }
    if (u->at[DYNC__RNN_BIAS]) {
        const dync__operand *o = u->at[DYNC__RNN_BIAS];
        int64_t bytes = dync__dtype_info(o->dtype)->bytes;
        dync__cuda_tile_regs(&u->t, u->ty, "%bias", u->gates);
        for (int g = 0; g < u->gates; g++) {
            char value[16];
            dync__format(value, sizeof value, "%%bias%d", g);
            const char *at = dync__ptx_temp(p, "s64");
            dync__ptx_line(p, "mad.lo.s64 %s, %%unit, %lld, %%b%d", at,
                           (long long)(o->lay.stride[0] * bytes), (int)(o - u->call->operand));
            dync__ptx_line(p, "add.s64 %s, %s, %lld", at, at,
                           (long long)((o->lay.offset + g * u->H * o->lay.stride[0]) * bytes));
            dync__ptx_line(p, "mov.%s %s, %s", u->ty, value,
                           u->type == DYNC_F32 ? "0f00000000" : "0d0000000000000000");
            dync__cuda_tile_load(&u->t, o->dtype, value, at, "@%mine ");
        }
    }
    if (!u->near) return;
    int64_t bytes = u->H * u->H * u->pack * u->bytes;
    int each = bytes % 16 == 0 ? 16 : 4;
    dync__cuda_tile_note(&u->t, "weights");
    dync__ptx_line(p, "mov.b32 %%left, %%thr");
    dync__cuda_tile_set(&u->t, "s32", "%to", "mad.lo", "%%thr, %d, %%smem", each);
    dync__cuda_tile_wide(&u->t, "%from", NULL);
    dync__ptx_line(p, "mad.wide.s32 %%from, %%thr, %d, %%b%d", each, u->temp[0]);
    dync__cuda_tile_label(&u->t, "WEIGHTS");
    dync__ptx_line(p, "setp.lt.s32 %%more, %%left, %lld", (long long)(bytes / each));
    dync__ptx_line(p, "@%%more cp.async.ca.shared.global [%%to+%d], [%%from], %d", u->weights,
                   each);
    dync__ptx_line(p, "add.s32 %%left, %%left, %d", threads);
    dync__ptx_line(p, "add.s32 %%to, %%to, %d", threads * each);
    dync__ptx_line(p, "add.s64 %%from, %%from, %d", threads * each);
    dync__ptx_line(p, "@%%more bra WEIGHTS");
    dync__cuda_tile_commit(&u->t);
    dync__cuda_tile_wait(&u->t, 0);
}

/* %at<role> of the operands with a step, for step %index. */
static void dync__ru_at_step(dync__ru *u)
{
    dync__ptx *p = &u->t.p;
    char name[16];
    if (u->reverse) dync__ptx_line(p, "sub.s32 %%left, %lld, %%index", (long long)(u->L - 1));
    dync__ptx_line(p, "cvt.s64.s32 %%time, %s", u->reverse ? "%left" : "%index");
    dync__ptx_line(p, "setp.eq.s32 %%first, %%index, 0");
    for (int role = 0; role < DYNC__RNN_ROLES; role++) {
        const dync__operand *o = u->at[role];
        int64_t bytes = o ? dync__dtype_info(o->dtype)->bytes : 0;
        if (!o || o->lay.ndim != 3) continue;
        dync__ru_base(role, name);
        dync__ptx_line(p, "mad.lo.s64 %s, %%time, %lld, %%b%d", name,
                       (long long)(o->lay.stride[0] * bytes), (int)(o - u->call->operand));
        dync__ptx_line(p, "add.s64 %s, %s, %lld", name, name, (long long)(o->lay.offset * bytes));
    }
}

/* A state of row r from an operand [N, H], 0 where there is none; those of all rows to one. */
static void dync__ru_take(dync__ru *u, char what, int r, int role)
{
    dync__ru_set_state(
        u, what, r, role >= 0 && u->at[role] ? dync__ru_get(u, role, r, 0) : dync__ru_number(u, 0));
}
static void dync__ru_leave(dync__ru *u, char what, int role)
{
    for (int r = 0; r < u->rb; r++) dync__ru_put(u, role, r, 0, dync__ru_state(u, what, r));
}

/* All steps of some rows. */
static void dync__ru_block_text(dync__ru *u)
{
    dync__ptx *p = &u->t.p;
    int copy = u->groups * u->rb * u->row * u->bytes;
    dync__ru_begin(u);
    for (int r = 0; r < u->rb; r++) {
        dync__ru_take(u, 'h', r, u->grad ? -1 : DYNC__RNN_H0);
        dync__ru_take(u, 'c', r, u->grad ? DYNC__RNN_GC : DYNC__RNN_C0);
        if (!u->grad)
            dync__ptx_line(p, "@%%mine st.shared.%s [%%own+%d], %%h%d", u->ty,
                           r * u->row * u->bytes - copy, r);
    }
    dync__cuda_tile_barrier(&u->t);
    dync__ptx_line(p, "mov.b32 %%index, %lld", (long long)(u->grad ? u->L - 1 : 0));
    dync__cuda_tile_label(&u->t, "STEP");
    dync__ru_at_step(u);
    if (u->grad) {
        dync__ptx_line(p, "setp.eq.s32 %%skip, %%index, %lld", (long long)(u->L - 1));
        dync__ptx_line(p, "@%%skip bra NONE");
    }
    dync__ru_product(u);
    for (int r = 0; u->grad && r < u->rb; r++) dync__ru_add_product(u, r);
    if (u->grad) dync__cuda_tile_label(&u->t, "NONE");
    dync__ptx_line(p, "sub.s32 %%share, %%own, %%iteration");
    for (int r = 0; r < u->rb; r++) {
        if (u->grad)
            dync__ru_cell_grad(u, r);
        else
            dync__ru_cell(u, r);
        if (!u->grad)
            dync__ptx_line(p, "@%%mine st.shared.%s [%%share+%d], %%h%d", u->ty,
                           r * u->row * u->bytes, r);
    }
    dync__ptx_line(p, "sub.s32 %%iteration, %d, %%iteration", copy);
    dync__cuda_tile_barrier(&u->t);
    dync__ptx_line(p, "add.s32 %%index, %%index, %d", u->grad ? -1 : 1);
    if (u->grad)
        dync__ptx_line(p, "setp.ge.s32 %%more, %%index, 0");
    else
        dync__ptx_line(p, "setp.lt.s32 %%more, %%index, %lld", (long long)u->L);
    dync__ptx_line(p, "@%%more bra STEP");
    if (u->grad) dync__ru_product(u);
    for (int r = 0; u->grad && r < u->rb; r++) dync__ru_add_product(u, r);
    if (u->grad) dync__ru_leave(u, 'h', DYNC__RNN_GH0);
    dync__ru_leave(u, 'c', u->grad ? DYNC__RNN_GC0 : DYNC__RNN_CN);
    dync__cuda_tile_entry(&u->t, u->call->row->name,
                          (u->N + u->groups * u->rb - 1) / (u->groups * u->rb), 1, 1,
                          u->units * u->groups);
}

/* A state of the thread's rows between launches, [N, H] at the register `base`. */
static void dync__ru_keep(dync__ru *u, char what, const char *base, bool store)
{
    for (int r = 0; r < u->rb; r++) {
        const char *at = dync__ptx_temp(&u->t.p, "s64");
        dync__ptx_line(&u->t.p, "mad.lo.s64 %s, %%row%d, %lld, %%unit", at, r, (long long)u->H);
        dync__ptx_line(&u->t.p, "mad.lo.s64 %s, %s, %d, %s", at, at, u->bytes, base);
        if (store)
            dync__ptx_line(&u->t.p, "@%%ok%d st.global.%s [%s], %%%c%d", r, u->ty, at, what, r);
        else
            dync__ptx_line(&u->t.p, "@%%ok%d ld.global.%s %%%c%d, [%s]", r, u->ty, what, r, at);
    }
}

/* What the step before left, [N, width] at %read, into shared memory. */
static void dync__ru_stage(dync__ru *u, int64_t width)
{
    dync__ptx *p = &u->t.p;
    int rows = u->groups * u->rb;
    static const char *const names[][2] = {
        {"u32", "%line"}, {"u32", "%place"}, {"s64", "%wide"}, {"s64", "%far"}};
    for (int i = 0; i < DYNC__COUNT_OF(names); i++) dync__ptx_reg(p, names[i][0], names[i][1]);
    dync__ptx_reg(p, u->ty, "%value");
    dync__ptx_line(p, "mov.b32 %%left, %%thr");
    dync__cuda_tile_label(&u->t, "STATES");
    dync__ptx_line(p, "div.u32 %%line, %%left, %lld", (long long)width);
    dync__ptx_line(p, "rem.u32 %%place, %%left, %lld", (long long)width);
    dync__ptx_line(p, "mad.lo.s32 %%hp, %%line, %d, %%smem", u->row * u->bytes);
    dync__ptx_line(p, "mad.lo.s32 %%hp, %%place, %d, %%hp", u->bytes);
    dync__ptx_line(p, "cvt.s64.s32 %%wide, %%place");
    dync__ptx_line(p, "mad.lo.s32 %%line, %%cta, %d, %%line", rows);
    dync__ptx_line(p, "cvt.s64.s32 %%far, %%line");
    dync__ptx_line(p, "mad.lo.s64 %%far, %%far, %lld, %%wide", (long long)width);
    dync__ptx_line(p, "mad.lo.s64 %%far, %%far, %d, %%read", u->bytes);
    dync__ptx_line(p, "setp.lt.s32 %%more, %%left, %lld", (long long)(rows * width));
    dync__ptx_line(p, "setp.lt.and.s32 %%skip, %%line, %lld, %%more", (long long)u->N);
    dync__ptx_line(p, "mov.%s %%value, %s", u->ty,
                   u->type == DYNC_F32 ? "0f00000000" : "0d0000000000000000");
    dync__ptx_line(p, "@%%skip ld.global.%s %%value, [%%far]", u->ty);
    dync__ptx_line(p, "@%%more st.shared.%s [%%hp+%d], %%value", u->ty, u->state);
    dync__ptx_line(p, "add.s32 %%left, %%left, %d", u->units * u->groups);
    dync__ptx_line(p, "@%%more bra STATES");
    dync__cuda_tile_barrier(&u->t);
}

/* One step of some units of some rows: the launch has its number in the parameter behind the
 * others. Backward there is one more, for the last product. */
static void dync__ru_step_text(dync__ru *u)
{
    dync__ptx *p = &u->t.p;
    int64_t width = u->grad ? u->H * u->pack : u->H;
    char name[24];
    dync__ru_begin(u);
    dync__cuda_tile_wide(&u->t, "%launch", NULL);
    dync__ptx_line(p, "ld.param.b64 %%launch, [p%d]", u->t.n_buffers + 1);
    dync__cuda_tile_wide(&u->t, "%odd", NULL);
    dync__ptx_line(p, "and.b64 %%odd, %%launch, 1");
    dync__cuda_tile_set(&u->t, "s64", "%read", "mad.lo", "%%odd, %lld, %%b%d",
                        (long long)(u->N * width * u->bytes), u->temp[1]);
    dync__ptx_line(p, "xor.b64 %%odd, %%odd, 1");
    dync__cuda_tile_set(&u->t, "s64", "%write", "mad.lo", "%%odd, %lld, %%b%d",
                        (long long)(u->N * width * u->bytes), u->temp[1]);
    dync__ptx_line(p, "cvt.s32.s64 %%index, %%launch");
    dync__cuda_tile_wide(&u->t, "%kept", NULL);
    dync__cuda_tile_wide(&u->t, "%cells", NULL);
    dync__ptx_line(p, "mov.b64 %%kept, %%b%d", u->temp[2]);
    dync__ptx_line(p, "mov.b64 %%cells, %%b%d", u->temp[3]);
    for (int r = 0; r < u->rb; r++) {
        dync__format(name, sizeof name, "%%share%d", r);
        dync__cuda_tile_wide(&u->t, name, NULL);
        dync__ptx_line(p, "mad.lo.s64 %s, %%row%d, %lld, %%unit", name, r, (long long)u->H);
        dync__ptx_line(p, "mad.lo.s64 %s, %s, %d, %%write", name, name,
                       (u->grad ? u->pack : 1) * u->bytes);
        dync__ru_take(u, 'h', r, -1);
        dync__ru_take(u, 'c', r, -1);
    }
    if (u->gates == 4) dync__ru_keep(u, 'c', "%cells", false);
    if (u->grad) {
        dync__ptx_line(p, "setp.eq.s32 %%first, %%index, 0");
        dync__ptx_line(p, "sub.s32 %%index, %lld, %%index", (long long)(u->L - 1));
        dync__ptx_line(p, "@%%first bra NONE");
    }
    dync__ru_stage(u, width);
    if (u->gates == 3) dync__ru_keep(u, 'h', u->grad ? "%kept" : "%read", false);
    dync__ru_product(u);
    for (int r = 0; u->grad && r < u->rb; r++) dync__ru_add_product(u, r);
    if (u->grad) {
        dync__cuda_tile_label(&u->t, "NONE");
        dync__ptx_line(p, "setp.lt.s32 %%skip, %%index, 0");
        dync__ptx_line(p, "@%%skip bra LAST");
    }
    dync__ru_at_step(u);
    for (int r = 0; r < u->rb; r++) {
        if (u->grad)
            dync__ru_cell_grad(u, r);
        else
            dync__ru_cell(u, r);
    }
    if (!u->grad)
        dync__ru_keep(u, 'h', "%write", true);
    else if (u->gates == 3)
        dync__ru_keep(u, 'h', "%kept", true);
    if (u->gates == 4) dync__ru_keep(u, 'c', "%cells", true);
    if (!u->grad) dync__ptx_line(p, "setp.ne.s32 %%skip, %%index, %lld", (long long)(u->L - 1));
    dync__ptx_line(p, u->grad ? "bra END" : "@%%skip bra END");
    dync__cuda_tile_label(&u->t, "LAST");
    if (u->grad) dync__ru_leave(u, 'h', DYNC__RNN_GH0);
    dync__ru_leave(u, 'c', u->grad ? DYNC__RNN_GC0 : DYNC__RNN_CN);
    dync__cuda_tile_label(&u->t, "END");
    u->t.steps = u->grad ? u->L + 1 : u->L;
    dync__cuda_tile_entry(&u->t, u->call->row->name,
                          (u->N + u->groups * u->rb - 1) / (u->groups * u->rb),
                          (u->H + u->units - 1) / u->units, 1, u->units * u->groups);
}

/* ---- the call -------------------------------------------------------------------------------- */

/* A temporary = an operand [N, H], or zeros. */
static bool dync__ru_copy(dync__ru *u, dync__cuda_code *code, int role, int to)
{
    const dync__operand *o = u->at[role];
    int64_t extent[2] = {u->N, u->H}, dense[2] = {u->H, 1};
    dync__kernel *k = dync__kernel_new(&code->arena, "rnn_state", 0, 2, extent);
    if (!k) return false;
    dync__lb b = {.k = k, .section = 1, .origin = "rnn_layer"};
    int v = o ? dync__lb_load(&b,
                              dync__kernel_buf(k, (int)(o - u->call->operand), o->dtype,
                                               DYNC__BUF_IN, -1, NULL),
                              dync__kernel_access(k, o->lay.offset, o->lay.stride))
              : dync__lb_f(&b, u->type, 0);
    dync__lb_store(&b, dync__kernel_buf(k, to, u->type, DYNC__BUF_OUT, -1, NULL),
                   dync__kernel_access(k, 0, dense), dync__lb_cast(&b, v, u->type));
    return dync__cuda_add_loop(code, k);
}

/* The weights as [k][unit][gate]: forward k is a state, backward a unit whose gates' gradients go
 * to the state `unit`. */
static bool dync__ru_weights(dync__ru *u, dync__cuda_code *code, int to)
{
    const dync__operand *w = u->at[DYNC__RNN_W];
    int64_t extent[3] = {u->H, u->H, u->gates}, dense[3] = {u->H * u->pack, u->pack, 1};
    int64_t from[3] = {w->lay.stride[!u->grad], w->lay.stride[u->grad], w->lay.stride[0] * u->H};
    dync__kernel *k = dync__kernel_new(&code->arena, "rnn_weights", 0, 3, extent);
    if (!k) return false;
    dync__lb b = {.k = k, .section = 1, .origin = "rnn_layer"};
    int v = dync__lb_load(
        &b, dync__kernel_buf(k, (int)(w - u->call->operand), w->dtype, DYNC__BUF_IN, -1, NULL),
        dync__kernel_access(k, w->lay.offset, from));
    dync__lb_store(&b, dync__kernel_buf(k, to, u->type, DYNC__BUF_OUT, -1, NULL),
                   dync__kernel_access(k, 0, dense), dync__lb_cast(&b, v, u->type));
    return dync__cuda_add_loop(code, k);
}

/* Blocks: few enough rows each that every multiprocessor has one, if there are that many rows;
 * false: not even one row fits. */
static bool dync__ru_shape(dync__ru *u, int multiprocessors)
{
    enum { THREADS = 256, SHARED = 96 * 1024 };
    int64_t weights = u->H * u->H * u->pack * u->bytes, slices = 1, most;
    u->step = u->H > THREADS || weights > 256 * 1024;
    u->units = 8;
    while (u->units < (u->step ? 32 : u->H)) u->units *= 2;
    if (u->step) slices = (u->H + u->units - 1) / u->units;
    u->row = (int)((u->H * (u->grad ? u->pack : 1) + 3) / 4 * 4);
    most = SHARED / ((int64_t)u->row * u->bytes * (u->step ? 1 : 2));
    for (u->groups = 1; u->groups < THREADS / u->units && u->groups < u->N &&
                        (u->units * u->groups < 32 || slices * u->N > multiprocessors * u->groups);)
        u->groups *= 2;
    for (u->rb = 1; u->rb < 4 && slices * u->N > 2 * multiprocessors * u->groups * u->rb;)
        u->rb *= 2;
    while (u->groups * u->rb > most && u->rb > 1) u->rb /= 2;
    while (u->groups * u->rb > most && u->groups > 1) u->groups /= 2;
    while (u->units * u->groups < 32) u->units *= 2;
    u->near = !u->step && weights + 2 * (int64_t)u->groups * u->rb * u->row * u->bytes <= SHARED;
    return most >= 1;
}

DYNC__FN dync_status dync__cuda_call_recurrent(dync__cuda_code *code, const dync__kcall *call,
                                               bool *done)
{
    dync__ru u;
    int32_t buf[DYNC__KCALL_OPERANDS + 4];
    memset(&u, 0, sizeof u);
    u.grad = call->row == dync__kernel_row(DYNC__K_rnn_layer_grad);
    *done = false;
    if (!u.grad && call->row != dync__kernel_row(DYNC__K_rnn_layer)) return DYNC_OK;
    u.call = call;
    const dync__attr_rnn *a = &call->attr.rnn;
    for (int i = 0; i < DYNC__RNN_ROLES; i++)
        u.at[i] = a->role[i] >= 0 ? &call->operand[a->role[i]] : NULL;
    const dync__layout *out = &u.at[DYNC__RNN_OUT]->lay;
    u.gates = (int)a->gates;
    u.pack = u.gates == 3 ? 4 : u.gates;
    u.reverse = a->reverse;
    u.type = dync__dtype_info(call->operand[0].dtype)->compute;
    u.bytes = dync__dtype_info(u.type)->bytes;
    u.ty = dync__ptx_type(u.type);
    u.L = out->shape[0];
    u.N = out->shape[1];
    u.H = out->shape[2];
    if (u.N > INT32_MAX / 2 || !dync__ru_shape(&u, dync__cuda_unit_of(code->device >> 8)->units))
        return DYNC_OK;
    *done = true;
    int64_t states = u.N * u.H * u.bytes,
            size[4] = {u.H * u.H * u.pack * u.bytes, states * 2 * (u.grad ? u.pack : 1), states,
                       states};
    int n = call->n, n_temps = u.step ? 4 : 1;
    for (int i = 0; i < n; i++) buf[i] = i;
    for (int i = 0; i < 4; i++) {
        u.temp[i] = n + DYNC__MIN(i, n_temps - 1);
        if (i < n_temps && (buf[n + i] = dync__cuda_add_temp(code, size[i])) < 0)
            return DYNC_ERR_MEMORY;
    }
    bool ok = dync__ru_weights(&u, code, buf[n]);
    if (u.step && !u.grad) ok = ok && dync__ru_copy(&u, code, DYNC__RNN_H0, buf[n + 1]);
    if (u.step && u.gates == 4)
        ok = ok && dync__ru_copy(&u, code, u.grad ? DYNC__RNN_GC : DYNC__RNN_C0, buf[n + 3]);
    if (!ok) return DYNC_ERR_MEMORY;
    dync__cuda_tile_begin(&u.t, n + n_temps);
    if (u.step)
        dync__ru_step_text(&u);
    else
        dync__ru_block_text(&u);
    return dync__cuda_tile_end(&u.t, code, buf) ? DYNC_OK : DYNC_ERR_MEMORY;
}
