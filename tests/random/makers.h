/* tests/random/makers.h: operands of the rows whose operands depend on one another. makers[] says
 * which rows. */
#ifndef DYNC_TESTS_RANDOM_MAKERS_H
#define DYNC_TESTS_RANDOM_MAKERS_H
#include "choose.h"

static bool make_masked_fill(gen *g, step *s)
{
    int a = some(g, ANY, 0, 4);
    if (a < 0) return false;
    put_v(s, a);
    put_v(s, with(g, a, BOOLS));
    if (strcmp(rows[s->row].name, "masked_select") != 0) put_number(g, s);
    return true;
}
static bool make_where(gen *g, step *s)
{
    int a = some(g, NUMBERS, 0, 4);
    if (a < 0) return false;
    put_v(s, with(g, a, BOOLS));
    put_v(s, a);
    if (chance(g, 60))
        put_v(s, with(g, a, NUMBERS));
    else
        put_number(g, s);
    return true;
}
/* floor_divide, remainder, fmod, div, pow: a second operand that is not zero, a base that is
 * positive. */
static bool make_quotient(gen *g, step *s)
{
    bool power = strncmp(rows[s->row].name, "pow", 3) == 0;
    int a = some(g, NUMBERS, 0, 4);
    if (a < 0) return false;
    if (power && class_of(type_of(g, a)) == FLOATS && !row_is(s->row, "INPLACE") && chance(g, 80))
        a = after(g, "exp", after(g, "tanh", a));
    put_v(s, a);
    if (chance(g, 40)) {
        chance(g, 50) ? put_i(s, 1 + rnd(g, 3)) : put_f(s, 0.5 + rnd(g, 4));
        return true;
    }
    int64_t size[DYNC_MAX_DIMS];
    int n = nd(g, a);
    for (int i = 0; i < n; i++) size[i] = chance(g, 20) ? 1 : sz(g, a, i);
    input in = {.dtype = class_of(type_of(g, a)) == FLOATS ? type_of(g, a)
                         : chance(g, 70)                   ? type_of(g, a)
                                                           : g->base,
                .ndim = n,
                .data = DATA_POSITIVE};
    for (int i = 0; i < n; i++) in.size[i] = as_symbol(g, size[i]);
    if (chance(g, 30) && class_of(type_of(g, a)) == FLOATS)
        put_v(s, after(g, "exp", after(g, "tanh", with(g, a, FLOATS))));
    else
        put_v(s, add_input(g, in));
    return true;
}
/* Rows with a domain: the operand is brought there, mostly. */
static bool make_positive(gen *g, step *s)
{
    int a = some(g, FLOATS, 0, 4);
    if (chance(g, 85)) a = after(g, chance(g, 50) ? "exp" : "softplus", after(g, "tanh", a));
    put_v(s, a);
    return a >= 0;
}
static bool make_small(gen *g, step *s)
{
    int a = some(g, FLOATS, 0, 4);
    if (chance(g, 70)) a = after(g, chance(g, 50) ? "tanh" : "sin", a);
    put_v(s, a);
    return a >= 0;
}
static bool make_bitwise(gen *g, step *s)
{
    int a = some(g, INTS | BOOLS, 0, 4);
    put_v(s, a);
    if (a < 0 || strcmp(rows[s->row].name, "bitwise_not") == 0) return a >= 0;
    if (chance(g, 70))
        put_v(s, with(g, a, INTS | BOOLS));
    else
        put_i(s, rnd(g, 9) - 2);
    return true;
}
static bool make_to_dtype(gen *g, step *s)
{
    int dtype = chance(g, 70) ? rnd(g, 4) : DYNC_I64 + rnd(g, 6), a = some(g, ANY, 0, 4);
    if (a < 0) return false;
    if (!is_float(dtype) && dtype != DYNC_BOOL &&
        class_of(type_of(g, a)) == FLOATS) { /* what does not fit is undefined */
        step fit = {.row = row_named("nan_to_num")}, hold = {.row = row_named("clamp")};
        put_v(&fit, a), put_f(&fit, 0), put_f(&fit, 1), put_f(&fit, -1);
        if (!emit(g, &fit)) return false;
        put_v(&hold, fit.out[0]), put_f(&hold, dtype == DYNC_U8 ? 0 : -50), put_f(&hold, 50);
        if (!emit(g, &hold)) return false;
        a = hold.out[0];
    }
    put_v(s, a);
    put(s, arg_of(A_DTYPE, dtype));
    return true;
}
static void put_shape(gen *g, step *s)
{
    int64_t d[3];
    if (g->n_live && chance(g, 60)) {
        put(s, dims_like(g, g->live[rnd(g, g->n_live)]));
        return;
    }
    int n = rnd(g, 4);
    for (int i = 0; i < n; i++) d[i] = chance(g, 10) ? 0 : 1 + rnd(g, 6);
    put_d(s, n, d);
}
static bool make_factory(gen *g, step *s)
{
    bool full = strcmp(rows[s->row].name, "full") == 0, random = rows[s->row].name[0] == 'r';
    put_shape(g, s);
    if (full) put_number(g, s);
    put(s, arg_of(A_DTYPE, random ? g->base : some_dtype(g, ANY)));
    put_i(s, 0);
    return true;
}
static bool make_eye(gen *g, step *s)
{
    put_i(s, 1 + rnd(g, 6)), put_i(s, 1 + rnd(g, 6)), put(s, arg_of(A_DTYPE, some_dtype(g, ANY))),
        put_i(s, 0);
    return true;
}
static bool make_arange(gen *g, step *s)
{
    int start = rnd(g, 5) - 2;
    put_i(s, start), put_i(s, start + rnd(g, 9)), put_i(s, 1 + rnd(g, 2)),
        put(s, arg_of(A_DTYPE, DYNC_F32)), put_i(s, 0);
    return true;
}
/* empty, empty_like: undefined until they are filled, at once. */
static bool make_empty(gen *g, step *s)
{
    if (strcmp(rows[s->row].name, "empty") == 0)
        make_factory(g, s);
    else
        put_v(s, some(g, NUMBERS, 0, 4));
    return s->a[0].d[0] >= 0;
}
static bool make_norm(gen *g, step *s)
{
    static const double p[] = {1, 2, 0, 3, 2.5, INFINITY, -INFINITY};
    int a = some(g, FLOATS, 0, 4);
    int64_t d = a >= 0 ? some_dim(g, a) : 0;
    put_v(s, a);
    put_f(s, p[rnd(g, 7)]);
    if (strcmp(rows[s->row].name, "normalize") == 0)
        put_i(s, d), put_f(s, 1e-6);
    else
        put_d(s, chance(g, 75), &d), put_b(s, chance(g, 50));
    return a >= 0;
}
static bool make_topk(gen *g, step *s)
{
    int a = some(g, NUMBERS, 1, 3);
    if (a < 0) return false;
    int dim = some_dim(g, a);
    put_v(s, a), put_i(s, rnd(g, 1 + (int)(sz(g, a, dim) < 4 ? sz(g, a, dim) : 4))), put_i(s, dim),
        put_b(s, chance(g, 50)), put_b(s, true);
    return true;
}

/* ---- linear algebra -------------------------------------------------------------------------- */
static int matrix(gen *g, int dtype, int64_t n, int64_t m)
{
    for (int tries = 0; tries < 8; tries++) {
        int id = g->live[rnd(g, g->n_live)];
        if (nd(g, id) == 2 && type_of(g, id) == dtype && sz(g, id, 0) == n && sz(g, id, 1) == m)
            return id;
    }
    return shaped(g, dtype, 2, (int64_t[]){n, m});
}
static int64_t some_size(gen *g)
{
    return chance(g, 30) ? g->s.n[0] : chance(g, 40) ? g->s.n[1] : 1 + rnd(g, 6);
}
static bool make_mm(gen *g, step *s)
{
    const char *name = rows[s->row].name;
    bool add = strcmp(name, "addmm") == 0, whole = strcmp(name, "int_mm") == 0;
    int64_t m = some_size(g);
    int a = whole ? shaped(g, DYNC_I8, 2, (int64_t[]){some_size(g), some_size(g)})
                  : some(g, FLOATS, 2, 2);
    if (a < 0) return false;
    int b = matrix(g, type_of(g, a), sz(g, a, 1), m);
    if (add)
        put_v(s, chance(g, 50) ? vector(g, type_of(g, a), m)
                               : matrix(g, type_of(g, a), sz(g, a, 0), m));
    put_v(s, a), put_v(s, b);
    return true;
}
static bool make_bmm(gen *g, step *s)
{
    bool add = strcmp(rows[s->row].name, "baddbmm") == 0;
    int a = some(g, FLOATS, 3, 3);
    if (a < 0) return false;
    int64_t m = some_size(g);
    int b = shaped(g, type_of(g, a), 3, (int64_t[]){sz(g, a, 0), sz(g, a, 2), m});
    if (add)
        put_v(s, shaped(g, type_of(g, a), 3,
                        (int64_t[]){chance(g, 50) ? 1 : sz(g, a, 0), sz(g, a, 1), m}));
    put_v(s, a), put_v(s, b);
    return true;
}
static bool make_matmul(gen *g, step *s)
{
    int a = some(g, FLOATS, 1, 4);
    if (a < 0) return false;
    int n = nd(g, a), k = 0;
    int64_t size[DYNC_MAX_DIMS], m = some_size(g), depth = sz(g, a, n - 1);
    if (chance(g, 15)) return put_v(s, a), put_v(s, vector(g, type_of(g, a), depth)), true;
    if (chance(g, 50))
        for (int i = 0; i < n - 2; i++) size[k++] = chance(g, 30) ? 1 : sz(g, a, i);
    size[k++] = depth, size[k++] = m;
    put_v(s, a), put_v(s, shaped(g, type_of(g, a), k, size));
    return true;
}
static bool make_mv(gen *g, step *s)
{
    const char *name = rows[s->row].name;
    bool pair = strcmp(name, "dot") == 0 || strcmp(name, "outer") == 0;
    int a = some(g, FLOATS, pair ? 1 : 2, pair ? 1 : 2);
    if (a < 0) return false;
    if (strcmp(name, "addmv") == 0) put_v(s, vector(g, type_of(g, a), sz(g, a, 0)));
    put_v(s, a);
    put_v(s, vector(g, type_of(g, a),
                    strcmp(name, "outer") == 0 ? some_size(g) : sz(g, a, pair ? 0 : 1)));
    return true;
}
static bool make_linear(gen *g, step *s)
{
    int a = some(g, FLOATS, 1, 4);
    if (a < 0) return false;
    int64_t m = some_size(g);
    put_v(s, a), put_v(s, shaped(g, type_of(g, a), 2, (int64_t[]){m, sz(g, a, nd(g, a) - 1)}));
    put_v(s, chance(g, 60) ? vector(g, type_of(g, a), m) : -1);
    return true;
}
static bool make_einsum(gen *g, step *s)
{
    int64_t i = some_size(g), j = some_size(g), k = some_size(g);
    int dt = g->base, kind = rnd(g, 5), a, b = -1;
    static const char *const text[] = {"ij,jk->ki", "bij,bjk->bik", "ij->ji", "...i,i->...",
                                       "i,j->ij"};
    arg list = {.kind = A_LIST, .n = 2};
    switch (kind) {
    case 0: a = shaped(g, dt, 2, (int64_t[]){i, j}), b = shaped(g, dt, 2, (int64_t[]){j, k}); break;
    case 1:
        a = shaped(g, dt, 3, (int64_t[]){2, i, j}), b = shaped(g, dt, 3, (int64_t[]){2, j, k});
        break;
    case 2: a = some(g, FLOATS, 2, 2); break;
    case 3:
        a = some(g, FLOATS, 1, 3);
        if (a >= 0) b = vector(g, type_of(g, a), sz(g, a, -1));
        break;
    default: a = vector(g, dt, i), b = vector(g, dt, j);
    }
    list.d[0] = a, list.d[1] = b, list.n = kind == 2 ? 1 : 2;
    put(s, (arg){.kind = A_STR, .s = text[kind]});
    put(s, list);
    return a >= 0 && (b >= 0 || kind == 2);
}

/* ---- layers ---------------------------------------------------------------------------------- */
static int image(gen *g, int least)
{
    for (int tries = 0; tries < 6; tries++) {
        int id = g->live[rnd(g, g->n_live)];
        if (nd(g, id) == 4 && class_of(type_of(g, id)) == FLOATS && sz(g, id, 2) >= least &&
            sz(g, id, 3) >= least && dync_numel(g->v[id]) < 1500)
            return id;
    }
    int64_t c = chance(g, 30) ? 8 : 1 + rnd(g, 4);
    return shaped(g, g->base, 4,
                  (int64_t[]){1 + rnd(g, 2), c, least + rnd(g, 5),
                              chance(g, 30) ? g->s.n[1] + least : least + rnd(g, 7)});
}
static bool make_conv(gen *g, step *s)
{
    const char *name = rows[s->row].name;
    bool one = strcmp(name, "conv1d") == 0, back = strcmp(name, "conv_transpose2d") == 0;
    int k = one ? 1 : 2, x = one ? some(g, FLOATS, 3, 3) : image(g, 3);
    if (x < 0) return false;
    int64_t c = sz(g, x, 1), groups = c && chance(g, 25) ? c : 1, out = groups * (1 + rnd(g, 3)),
            stride = 1 + rnd(g, 2), pad = rnd(g, 2), dil = 1 + (rnd(g, 4) == 0);
    int64_t w[4] = {back ? c : out, back ? out / groups : c / groups, 1 + rnd(g, 3), 1 + rnd(g, 3)};
    put_v(s, x), put_v(s, shaped(g, type_of(g, x), k + 2, w));
    put_v(s, chance(g, 60) ? vector(g, type_of(g, x), out) : -1);
    put_d(s, k, (int64_t[]){stride, stride}), put_d(s, k, (int64_t[]){pad, pad});
    if (back)
        put_d2(s, 0, 0), put_i(s, groups), put_d2(s, dil, dil);
    else
        put_d(s, k, (int64_t[]){dil, dil}), put_i(s, groups);
    return true;
}
static bool make_int_conv(gen *g, step *s)
{
    int64_t c = 1 + rnd(g, 3), groups = chance(g, 40) ? c : 1, out = groups * (1 + rnd(g, 3)),
            x[4] = {some_size(g), c, 3 + rnd(g, 6), 3 + rnd(g, 6)},
            w[4] = {out, c / groups, 1 + rnd(g, 3), 1 + rnd(g, 3)};
    put_v(s, shaped(g, DYNC_I8, 4, x)), put_v(s, shaped(g, DYNC_I8, 4, w));
    put_v(s, chance(g, 60) ? vector(g, DYNC_I32, out) : -1);
    put_d2(s, 1 + rnd(g, 2), 1 + rnd(g, 2)), put_d2(s, rnd(g, 3), rnd(g, 2)), put_d2(s, 1, 1);
    put_i(s, groups);
    return true;
}
/* Shifts from 0 on: others have no meaning. */
static bool make_rescale(gen *g, step *s)
{
    int64_t n[2] = {some_size(g), some_size(g)};
    put_v(s, shaped(g, DYNC_I32, 2, n));
    put_v(s, vector(g, DYNC_I32, n[1]));
    put_v(s, add_input(g, (input){.dtype = DYNC_I32,
                                  .ndim = 1,
                                  .size = {as_symbol(g, n[1])},
                                  .data = DATA_INDEX,
                                  .below = 40}));
    return true;
}
static bool make_pool(gen *g, step *s)
{
    const char *name = rows[s->row].name;
    int x = image(g, 3);
    int64_t k = 2 + rnd(g, 2), stride = 1 + rnd(g, 2), pad = rnd(g, 2);
    put_v(s, x);
    if (strcmp(name, "adaptive_avg_pool2d") == 0 || strcmp(name, "upsample_nearest2d") == 0)
        put_d2(s, 1 + rnd(g, 4), 1 + rnd(g, 6));
    else if (strcmp(name, "pixel_shuffle") == 0) {
        s->nargs = 0;
        put_v(s, shaped(g, g->base, 4, (int64_t[]){1, 4, 2, g->s.n[0]})), put_i(s, 2);
    } else {
        put_d2(s, k, k), put_d2(s, stride, stride), put_d2(s, pad, pad);
        if (name[0] == 'm') put_d2(s, 1, 1 + rnd(g, 2));
        put_b(s, chance(g, 40));
        if (name[0] == 'a') put_b(s, chance(g, 50));
    }
    return x >= 0;
}
static bool make_upsample(gen *g, step *s)
{
    const char *name = rows[s->row].name;
    int k = strstr(name, "1d") ? 1 : strstr(name, "3d") ? 3 : 2;
    int64_t size[5] = {1 + rnd(g, 2), 1 + rnd(g, 3), 1 + rnd(g, 5), 1 + rnd(g, 5), 1 + rnd(g, 3)},
            out[3] = {1 + rnd(g, 6), 1 + rnd(g, 7), 1 + rnd(g, 3)};
    put_v(s, k == 2 ? image(g, 1) : shaped(g, g->base, 2 + k, size));
    put_d(s, k, out), put_b(s, chance(g, 50));
    return true;
}
static bool make_columns(gen *g, step *s)
{
    int64_t k[2] = {1 + rnd(g, 3), 1 + rnd(g, 2)}, apart = 1 + rnd(g, 2), pad = rnd(g, 2),
            stride = 1 + rnd(g, 2), size[2] = {4 + rnd(g, 3), 3 + rnd(g, 4)}, n = 1;
    if (strcmp(rows[s->row].name, "im2col") == 0) {
        put_v(s, image(g, 5));
    } else {
        for (int i = 0; i < 2; i++) n *= (size[i] + 2 * pad - apart * (k[i] - 1) - 1) / stride + 1;
        put_v(s,
              shaped(g, g->base, 3, (int64_t[]){1 + rnd(g, 2), (1 + rnd(g, 2)) * k[0] * k[1], n}));
        put_d(s, 2, size);
    }
    if (apart * (k[0] - 1) >= 4 + 2 * pad || apart * (k[1] - 1) >= 3 + 2 * pad) return false;
    put_d(s, 2, k), put_d2(s, apart, apart), put_d2(s, pad, pad), put_d2(s, stride, stride);
    return true;
}
static bool make_fourier(gen *g, step *s)
{
    const char *name = rows[s->row].name;
    int64_t n = 2 + rnd(g, 9), size[3] = {1 + rnd(g, 3), n, 2};
    if (strcmp(name, "stft") == 0) {
        put_v(s, shaped(g, g->base, 2, size)), put_i(s, 1 + rnd(g, (int)n)),
            put_i(s, 1 + rnd(g, 3));
        put_v(s, chance(g, 50) ? vector(g, g->base, s->a[1].d[0]) : -1);
        return put_b(s, chance(g, 50)), true;
    }
    bool real = strcmp(name, "fft_rfft") == 0, ends = chance(g, 60);
    if (!ends) size[1] = size[0], size[0] = n;
    put_v(s, shaped(g, g->base, real ? 2 : 3, size));
    if (chance(g, 50))
        put_none(s);
    else
        put_i(s, 2 + rnd(g, 9));
    put_i(s, ends ? -1 : 0);
    return ends || n > 1;
}
static bool make_affine(gen *g, step *s)
{
    int64_t n = 1 + rnd(g, 2);
    put_v(s, shaped(g, g->base, 3, (int64_t[]){n, 2, 3}));
    put_d(s, 4, (int64_t[]){n, 1, 1 + rnd(g, 3), 1 + rnd(g, 4)}), put_b(s, chance(g, 50));
    return true;
}
static bool make_batch_norm(gen *g, step *s)
{
    int x = some(g, FLOATS, 2, 4);
    if (x < 0) return false;
    int64_t c = sz(g, x, 1);
    int dt = type_of(g, x), mean = -1, var = -1;
    bool training = chance(g, 60), stats = !training || chance(g, 50);
    put_v(s, x), put_v(s, chance(g, 70) ? vector(g, dt, c) : -1),
        put_v(s, s->a[1].kind == A_VALUE ? vector(g, dt, c) : -1);
    for (int i = 0; i < 2 && stats; i++) {
        input in = {.dtype = dt, .ndim = 1, .data = DATA_POSITIVE, .size = {as_symbol(g, c)}};
        int id = add_input(g, in);
        if (id < 0) return false;
        g->p->in[g->p->n_in - 1].grad = false;
        g->v[id] = dync_detach(g->v[id]);
        *(i ? &var : &mean) = id;
    }
    put_v(s, mean), put_v(s, var), put_b(s, training), put_f(s, 0.1), put_f(s, 1e-3);
    return true;
}
static bool make_norm_layer(gen *g, step *s)
{
    const char *name = rows[s->row].name;
    bool group = strcmp(name, "group_norm") == 0, instance = strcmp(name, "instance_norm") == 0,
         rms = strcmp(name, "rms_norm") == 0;
    int x = some(g, FLOATS, instance ? 3 : group ? 2 : 1, 4);
    if (x < 0) return false;
    int n = nd(g, x), dt = type_of(g, x), k = 1 + rnd(g, n < 2 ? 1 : 2);
    if (n == 0 || (group && n < 2)) return false;
    int64_t shape[DYNC_MAX_DIMS], c = n > 1 ? sz(g, x, 1) : 1;
    arg of = {.kind = A_DIMS, .n = k};
    for (int i = 0; i < k; i++) shape[i] = sz(g, x, n - k + i), of.d[i] = n - k + i, of.from[i] = x;
    put_v(s, x);
    if (group)
        put_i(s, c % 2 == 0 && chance(g, 60) ? 2 : 1);
    else if (!instance)
        put(s, of);
    bool affine = chance(g, 60);
    put_v(s, !affine ? -1 : group || instance ? vector(g, dt, c) : shaped(g, dt, k, shape));
    if (rms) return chance(g, 50) ? put_none(s) : put_f(s, 1e-4), true;
    put_v(s, !affine ? -1 : group || instance ? vector(g, dt, c) : shaped(g, dt, k, shape));
    put_f(s, 1e-3);
    return true;
}
static bool make_attention(gen *g, step *s)
{
    int64_t b = 1 + rnd(g, 2), h = 1 + rnd(g, 2), l = some_size(g), m = some_size(g),
            e = 1 + rnd(g, 8), ev = chance(g, 70) ? e : 1 + rnd(g, 5);
    int dt = g->base, n = 2 + rnd(g, 3), off = 4 - n;
    bool causal = chance(g, 30), mask = !causal && chance(g, 40);
    put_v(s, shaped(g, dt, n, (int64_t[]){b, h, l, e} + off)),
        put_v(s, shaped(g, dt, n, (int64_t[]){b, h, m, e} + off)),
        put_v(s, shaped(g, dt, n, (int64_t[]){b, h, m, ev} + off));
    put_v(s, mask ? shaped(g, dt, 2, (int64_t[]){l, m}) : -1);
    put_f(s, 0), put_b(s, causal);
    if (chance(g, 50))
        put_none(s);
    else
        put_f(s, 0.5);
    return true;
}
static bool make_embedding(gen *g, step *s)
{
    int w = some(g, FLOATS, 2, 2);
    if (w < 0 || sz(g, w, 0) == 0) return false;
    int n = rnd(g, 3);
    put_v(s, w), put_v(s, shaped_index(g, n, (int64_t[]){some_size(g), 1 + rnd(g, 3)},
                                       sz(g, w, 0) < 3 ? sz(g, w, 0) : 3, -1));
    return true;
}
static bool make_one_hot(gen *g, step *s)
{
    int n = rnd(g, 3);
    put_v(s, shaped_index(g, n, (int64_t[]){some_size(g), 1 + rnd(g, 3)}, 3, -1)),
        put_i(s, 3 + rnd(g, 3));
    return true;
}
static bool make_prelu(gen *g, step *s)
{
    int a = some(g, FLOATS, 1, 4);
    if (a < 0) return false;
    put_v(s, a),
        put_v(s, vector(g, type_of(g, a), chance(g, 50) && nd(g, a) > 1 ? sz(g, a, 1) : 1));
    return true;
}
static bool make_class_loss(gen *g, step *s)
{
    int a = some(g, FLOATS, 2, 3);
    if (a < 0 || sz(g, a, 1) == 0) return false;
    int64_t size[3] = {sz(g, a, 0), nd(g, a) > 2 ? sz(g, a, 2) : 0};
    put_v(s, strcmp(rows[s->row].name, "nll_loss") == 0 ? after(g, "sigmoid", a) : a);
    put_v(s, shaped_index(g, nd(g, a) - 1, size, sz(g, a, 1) < 2 ? 1 : 2, -1));
    return true;
}
static bool make_loss(gen *g, step *s)
{
    const char *name = rows[s->row].name;
    bool bce = strcmp(name, "binary_cross_entropy") == 0,
         logits = strcmp(name, "binary_cross_entropy_with_logits") == 0,
         kl = strcmp(name, "kl_div") == 0;
    int a = some(g, FLOATS, 0, 4), b = a < 0 ? -1 : like(g, a, type_of(g, a));
    if (a < 0 || b < 0) return false;
    put_v(s, bce ? after(g, "sigmoid", a) : a),
        put_v(s, bce || logits || kl ? after(g, "sigmoid", b) : b);
    if (kl) put_b(s, chance(g, 30));
    if (strcmp(name, "huber_loss") == 0 || strcmp(name, "smooth_l1_loss") == 0)
        put_f(s, 0.5 + rnd(g, 2));
    return true;
}

/* ---- views and moves ------------------------------------------------------------------------- */
static bool make_view(gen *g, step *s) /* view, reshape: some dims as one, or one as two */
{
    int a = some(g, ANY, 0, 4), k = a < 0 ? 0 : nd(g, a), at = k ? rnd(g, k) : 0;
    if (a < 0) return false;
    arg d = {.kind = A_DIMS};
    int how = rnd(g, 4);
    for (int i = 0; i < k; i++) {
        if (how == 0 && i == at && i + 1 < k)
            d.d[d.n] = -1, d.from[d.n++] = -1, i++;
        else if (how == 1 && i == at && sz(g, a, i) % 2 == 0)
            d.d[d.n] = 2, d.from[d.n++] = -1, d.d[d.n] = -1, d.from[d.n++] = -1;
        else if (how == 2 && d.n == 0)
            d.d[d.n] = -1, d.from[d.n++] = -1, i = k;
        else
            d.d[d.n] = i, d.from[d.n++] = a;
    }
    if (how == 3) d.d[d.n] = 1, d.from[d.n++] = -1;
    put_v(s, a), put(s, d);
    return true;
}
static bool make_expand(gen *g, step *s)
{
    int a = some(g, ANY, 0, 3), to = some(g, ANY, 0, 4);
    if (a < 0 || to < 0) return false;
    if (strcmp(rows[s->row].name, "view_as") == 0) to = some(g, ANY, 0, 4);
    put_v(s, a);
    if (strcmp(rows[s->row].name, "expand") != 0) return put_v(s, to), to >= 0;
    if (chance(g, 50)) return put(s, dims_like(g, to)), true;
    arg d = {.kind = A_DIMS};
    if (chance(g, 50)) d.d[d.n] = 1 + rnd(g, 3), d.from[d.n++] = -1;
    for (int i = 0; i < nd(g, a); i++)
        d.d[d.n] = sz(g, a, i) == 1 ? 1 + rnd(g, 4) : -1, d.from[d.n++] = -1;
    put(s, d);
    return true;
}
static bool make_slice(gen *g, step *s)
{
    const char *name = rows[s->row].name;
    int a = some(g, ANY, 1, 4);
    if (a < 0 || nd(g, a) == 0) return false;
    int dim = some_dim(g, a);
    int64_t n = sz(g, a, dim), least = n < 4 ? n : 4;
    put_v(s, a), put_i(s, dim);
    if (strcmp(name, "select") == 0)
        return put_i(s, least ? rnd(g, 2 * (int)least) - (int)least : 0), least > 0;
    if (strcmp(name, "unfold") == 0) return put_i(s, 1 + rnd(g, 3)), put_i(s, 1 + rnd(g, 2)), true;
    int64_t start = rnd(g, (int)least + 1);
    if (strcmp(name, "narrow") == 0)
        return put_i(s, start), put_i(s, rnd(g, (int)(least - start) + 1)), true;
    put_i(s, chance(g, 20) ? -1 - rnd(g, 3) : start);
    put_i(s, chance(g, 50) ? DYNC_END : chance(g, 40) ? -1 : rnd(g, (int)least + 3));
    put_i(s, chance(g, 70) ? 1 : 2 + rnd(g, 2));
    return true;
}
static bool make_permute(gen *g, step *s)
{
    int a = some(g, ANY, 0, 4);
    int64_t d[DYNC_MAX_DIMS];
    if (a < 0) return false;
    int n = nd(g, a);
    for (int i = 0; i < n; i++) d[i] = i;
    for (int i = n - 1; i > 0; i--) {
        int k = rnd(g, i + 1);
        int64_t was = d[i];
        d[i] = d[k], d[k] = was;
    }
    put_v(s, a), put_d(s, n, d);
    return true;
}
static bool make_unflatten(gen *g, step *s)
{
    int a = some(g, ANY, 1, 3);
    if (a < 0) return false;
    int dim = some_dim(g, a);
    put_v(s, a), put_i(s, dim);
    if (chance(g, 50) && sz(g, a, dim) % 2 == 0)
        put_d2(s, 2, -1);
    else
        put_d2(s, -1, 1);
    return true;
}
/* Inside the elements of a: what lies beyond them in the memory is nobody's. */
static bool make_as_strided(gen *g, step *s)
{
    int a = some(g, ANY, 1, 3);
    if (a < 0) return false;
    int64_t n = 1 + rnd(g, 3), step0 = 1 + rnd(g, 2), step1 = rnd(g, 2);
    if (dync_numel(g->v[a]) < 1 + step0 + step1 * (n - 1)) return false;
    if ((a = after(g, "contiguous", a)) < 0) return false;
    put_v(s, after(g, "clone", a)), put_d2(s, 2, n), put_d2(s, step0, step1), put_i(s, 0);
    return true;
}
static bool make_cat(gen *g, step *s)
{
    bool stack = strcmp(rows[s->row].name, "stack") == 0;
    int a = some(g, ANY, stack ? 0 : 1, 3);
    if (a < 0) return false;
    int n = nd(g, a), dim = stack ? rnd(g, n + 1) : n ? rnd(g, n) : 0;
    arg list = {.kind = A_LIST, .n = 1 + rnd(g, 3), .d = {a}};
    for (int i = 1; i < list.n; i++) {
        int64_t size[DYNC_MAX_DIMS];
        int b = a;
        if (stack || chance(g, 60))
            b = chance(g, 20) ? a : like(g, a, type_of(g, a));
        else {
            for (int k = 0; k < n; k++) size[k] = k == dim ? rnd(g, 4) : sz(g, a, k);
            b = shaped(g, type_of(g, a), n, size);
        }
        if (b < 0) return false;
        list.d[i] = b;
    }
    put(s, list), put_i(s, chance(g, 70) ? dim : dim - n - stack);
    return true;
}
static bool make_flip(gen *g, step *s)
{
    const char *name = rows[s->row].name;
    int a = some(g, ANY, 0, 4);
    int64_t d[DYNC_MAX_DIMS], shift[DYNC_MAX_DIMS];
    if (a < 0) return false;
    int n = nd(g, a), k = 0;
    for (int i = 0; i < n; i++)
        if (chance(g, 50)) shift[k] = rnd(g, 7) - 3, d[k++] = chance(g, 70) ? i : i - n;
    put_v(s, a);
    if (strcmp(name, "roll") == 0) {
        if (k == 0) return put_d1(s, rnd(g, 7) - 3), put_d(s, 0, d), true;
        put_d(s, k, shift);
    }
    put_d(s, k, d);
    return true;
}
static bool make_repeat(gen *g, step *s)
{
    int a = some(g, ANY, 0, 3);
    int64_t d[DYNC_MAX_DIMS];
    if (a < 0) return false;
    int n = nd(g, a) + (chance(g, 25) ? 1 : 0);
    for (int i = 0; i < n; i++) d[i] = chance(g, 4) ? 0 : 1 + rnd(g, 2);
    put_v(s, a), put_d(s, n, d);
    return true;
}
static bool make_pad(gen *g, step *s)
{
    int a = some(g, NUMBERS, 1, 4);
    int64_t d[4];
    if (a < 0) return false;
    int k = 1 + rnd(g, nd(g, a) < 2 ? 1 : 2);
    for (int i = 0; i < 2 * k; i++) d[i] = rnd(g, 4) - (chance(g, 20) ? 1 : 0);
    put_v(s, a), put_d(s, 2 * k, d);
    if (chance(g, 50))
        put_none(s);
    else
        put_number(g, s);
    return true;
}
static bool make_movedim(gen *g, step *s)
{
    int a = some(g, ANY, 1, 4);
    if (a < 0) return false;
    put_v(s, a), put_d1(s, some_dim(g, a)), put_d1(s, some_dim(g, a));
    return true;
}
/* gather, scatter, index_select and their kin: the index has a's rank; where several would write
 * one place it names each once. */
static bool make_index(gen *g, step *s)
{
    const char *name = rows[s->row].name;
    bool along = strcmp(name, "take_along_dim") == 0, rowwise = strncmp(name, "index_", 6) == 0,
         writes = strncmp(name, "scatter", 7) == 0;
    int a = some(g, NUMBERS, rowwise ? 1 : 0, 3);
    if (a < 0) return false;
    int n = nd(g, a), dim = some_dim(g, a), at = n ? (dim + n) % n : 0;
    int64_t size[DYNC_MAX_DIMS] = {0}, deep = n ? sz(g, a, at) : 1,
            below = deep < 3   ? deep
                    : deep < 7 ? 3
                               : 5;
    for (int i = 0; i < n; i++)
        size[i] = i == at                            ? 1 + rnd(g, writes ? (int)below : 4)
                  : along                            ? sz(g, a, i)
                  : sz(g, a, i) < 2 || chance(g, 60) ? sz(g, a, i)
                                                     : sz(g, a, i) - 1;
    if (below == 0) return false;
    put_v(s, a);
    if (rowwise) {
        int64_t count = size[at];
        int index = shaped_index(g, 1, &count, below, -1);
        put_i(s, dim), put_v(s, index);
        for (int i = 0; i < n; i++) size[i] = i == at ? count : sz(g, a, i);
        if (strncmp(name, "index_add", 9) == 0) put_v(s, shaped(g, type_of(g, a), n, size));
        return true;
    }
    bool plain = strcmp(name, "scatter") == 0 || strcmp(name, "scatter_") == 0,
         number = plain && chance(g, 35);
    int index = shaped_index(g, n, size, below, plain && !number && n ? at : -1);
    if (along) return put_v(s, index), put_i(s, dim), true;
    put_i(s, dim), put_v(s, index);
    if (number)
        put_number(g, s);
    else if (writes)
        put_v(s, shaped(g, type_of(g, a), n, size));
    return true;
}
static bool make_list(gen *g, step *s)
{
    const char *name = rows[s->row].name;
    int a = some(g, ANY, 1, 4);
    if (a < 0 || nd(g, a) == 0) return false;
    int dim = some_dim(g, a);
    put_v(s, a);
    if (strcmp(name, "split") == 0)
        put_i(s, 1 + sz(g, a, dim) / (1 + rnd(g, 3)));
    else if (strcmp(name, "split_sizes") == 0)
        put_d2(s, sz(g, a, dim) / 2, sz(g, a, dim) - sz(g, a, dim) / 2);
    else if (strcmp(name, "chunk") == 0)
        put_i(s, 1 + rnd(g, 4));
    put_i(s, dim);
    return strcmp(name, "unbind") != 0 || sz(g, a, dim) <= MAX_OUT;
}
/* Random numbers in the place of an operand that only says the form. */
static bool make_random(gen *g, step *s)
{
    int a = some(g, FLOATS, 0, 4);
    put_v(s, a);
    if (strncmp(rows[s->row].name, "normal", 6) == 0)
        put_f(s, 0.5), put_f(s, 1.5);
    else
        put_f(s, -1), put_f(s, 2);
    return a >= 0;
}
static bool make_bernoulli(gen *g, step *s)
{
    int a = some(g, FLOATS, 0, 4);
    put_v(s, after(g, "sigmoid", a));
    if (strcmp(rows[s->row].name, "dropout") == 0) put_f(s, 0.4), put_b(s, chance(g, 70));
    return a >= 0;
}

static const struct {
    const char *names;
    maker make;
} makers[] = {
    {" masked_fill masked_fill_ masked_select ", make_masked_fill},
    {" where ", make_where},
    {" floor_divide remainder fmod div div_ pow pow_ ", make_quotient},
    {" acosh log log10 log1p log2 sqrt rsqrt reciprocal log_ sqrt_ ", make_positive},
    {" acos asin asinh atanh exp exp2 expm1 cosh sinh exp_ tan square ", make_small},
    {" bitwise_and bitwise_or bitwise_xor bitwise_not ", make_bitwise},
    {" to_dtype ", make_to_dtype},
    {" full ones rand randn zeros ", make_factory},
    {" eye ", make_eye},
    {" arange ", make_arange},
    {" empty empty_like ", make_empty},
    {" norm normalize ", make_norm},
    {" topk ", make_topk},
    {" mm addmm int_mm ", make_mm},
    {" bmm baddbmm ", make_bmm},
    {" matmul ", make_matmul},
    {" mv dot outer addmv ", make_mv},
    {" linear ", make_linear},
    {" einsum ", make_einsum},
    {" conv1d conv2d convolution conv_transpose2d ", make_conv},
    {" int_conv2d ", make_int_conv},
    {" rescale ", make_rescale},
    {" avg_pool2d max_pool2d max_pool2d_with_indices adaptive_avg_pool2d upsample_nearest2d "
     "pixel_shuffle ",
     make_pool},
    {" upsample_linear1d upsample_bilinear2d upsample_bicubic2d upsample_trilinear3d ",
     make_upsample},
    {" im2col col2im ", make_columns},
    {" fft_fft fft_ifft fft_irfft fft_rfft stft ", make_fourier},
    {" affine_grid ", make_affine},
    {" batch_norm ", make_batch_norm},
    {" layer_norm native_layer_norm group_norm instance_norm rms_norm ", make_norm_layer},
    {" scaled_dot_product_attention ", make_attention},
    {" embedding ", make_embedding},
    {" one_hot ", make_one_hot},
    {" prelu ", make_prelu},
    {" cross_entropy nll_loss ", make_class_loss},
    {" binary_cross_entropy binary_cross_entropy_with_logits kl_div huber_loss l1_loss mse_loss "
     "smooth_l1_loss ",
     make_loss},
    {" view reshape ", make_view},
    {" expand expand_as view_as ", make_expand},
    {" slice select narrow unfold ", make_slice},
    {" permute ", make_permute},
    {" unflatten ", make_unflatten},
    {" as_strided ", make_as_strided},
    {" cat stack ", make_cat},
    {" flip roll ", make_flip},
    {" repeat ", make_repeat},
    {" pad ", make_pad},
    {" movedim ", make_movedim},
    {" gather scatter scatter_ scatter_add scatter_add_ index_select index_add index_add_ "
     "take_along_dim ",
     make_index},
    {" split split_sizes chunk unbind ", make_list},
    {" normal normal_ uniform uniform_ ", make_random},
    {" bernoulli dropout ", make_bernoulli},
};
#endif
