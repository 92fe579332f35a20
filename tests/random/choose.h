/* tests/random/choose.h: what random programs are made of: arguments, new inputs, values that
 * exist, and steps that are run at once. What plain execution refuses, or what grows beyond bounds,
 * is dropped. */
#ifndef DYNC_TESTS_RANDOM_CHOOSE_H
#define DYNC_TESTS_RANDOM_CHOOSE_H
#include "interpret.h"

enum { FLOATS = 1, INTS = 2, BOOLS = 4, NUMBERS = FLOATS | INTS, ANY = 7 };
typedef struct gen {
    program *p;
    sizes s;
    rng r;
    int base; /* the dtype that most floats have */
    dync_tensor *v[MAX_VALUES];
    int live[MAX_VALUES], n_live;
} gen;
typedef bool (*maker)(gen *g, step *s);

static int rnd(gen *g, int n) { return rng_below(&g->r, n); }
static bool chance(gen *g, int percent) { return rng_chance(&g->r, percent); }
static int nd(const gen *g, int id) { return dync_ndim(g->v[id]); }
static int64_t sz(const gen *g, int id, int dim) { return dync_size(g->v[id], dim); }
static int type_of(const gen *g, int id) { return dync_type(g->v[id]); }
static int class_of(int dtype)
{
    return is_float(dtype) ? FLOATS : dtype == DYNC_BOOL ? BOOLS : INTS;
}

/* ---- arguments ------------------------------------------------------------------------------- */
static arg arg_of(arg_kind kind, int64_t d)
{
    return (arg){.kind = kind, .n = 1, .d = {d}, .from = {-1}};
}
static void put(step *s, arg a) { s->a[s->nargs++] = a; }
static void put_v(step *s, int id) { put(s, arg_of(id < 0 ? A_NONE : A_VALUE, id)); }
static void put_i(step *s, int64_t i) { put(s, arg_of(A_INT, i)); }
static void put_b(step *s, bool b) { put(s, arg_of(A_BOOL, b)); }
static void put_f(step *s, double f) { put(s, (arg){.kind = A_FLOAT, .f = f}); }
static void put_none(step *s) { put(s, (arg){.kind = A_NONE}); }
static void put_d(step *s, int n, const int64_t *d)
{
    arg a = {.kind = A_DIMS, .n = n};
    for (int i = 0; i < n; i++) a.d[i] = d[i], a.from[i] = -1;
    put(s, a);
}
static void put_d1(step *s, int64_t a) { put_d(s, 1, &a); }
static void put_d2(step *s, int64_t a, int64_t b) { put_d(s, 2, (int64_t[]){a, b}); }
/* The sizes of a value, to be read in every call; one more by hand where number >= 0 replaces dim.
 */
static arg dims_like(gen *g, int id)
{
    arg a = {.kind = A_DIMS, .n = nd(g, id)};
    for (int i = 0; i < a.n; i++) a.d[i] = i, a.from[i] = id;
    return a;
}
static double number(gen *g)
{
    static const double some[] = {0.5, 2, -1.5, 3, 0.1, 1, -1, 0.25, -0.3, 4, 0};
    return some[rnd(g, 11)];
}
static void put_number(gen *g, step *s)
{
    chance(g, 30) ? put_i(s, rnd(g, 6) - 2) : put_f(s, number(g));
}

/* ---- inputs ---------------------------------------------------------------------------------- */
static int new_id(gen *g) { return g->p->n_ids < MAX_VALUES ? g->p->n_ids++ : -1; }

/* A size that only a symbolic one can have is symbolic. */
static int as_symbol(const gen *g, int64_t size)
{
    for (int k = 0; k < N_SIZES; k++)
        if (size == g->s.n[k] && size > 4) return -1 - k;
    return (int)size;
}

static int add_input(gen *g, input in)
{
    program *p = g->p;
    int id = p->n_in < MAX_INPUTS ? new_id(g) : -1;
    if (id < 0) return -1;
    in.id = id;
    in.grad = is_float(in.dtype) && chance(g, 75);
    if (chance(g, 35)) in.layout = (layout_kind)rnd(g, N_LAYOUTS);
    p->in[p->n_in++] = in;
    g->v[id] = input_make(p, p->n_in - 1, &g->s, 0);
    if (!g->v[id] || dync_error()) {
        p->n_in--, p->n_ids--;
        dync_clear_error();
        return -1;
    }
    g->live[g->n_live++] = id;
    return id;
}

static int some_dtype(gen *g, int want)
{
    static const int whole[] = {DYNC_I64, DYNC_I64, DYNC_I64, DYNC_I32,
                                DYNC_I32, DYNC_I16, DYNC_I8,  DYNC_U8};
    if ((want & FLOATS) && (want == FLOATS || chance(g, 80)))
        return chance(g, 88) ? g->base : rnd(g, 4);
    if ((want & BOOLS) && (want == BOOLS || chance(g, 30))) return DYNC_BOOL;
    return (want & INTS) ? whole[rnd(g, 8)] : (want & FLOATS) ? g->base : DYNC_BOOL;
}

static int shaped(gen *g, int dtype, int n, const int64_t *size)
{
    input in = {.dtype = dtype, .ndim = n};
    for (int i = 0; i < n; i++) in.size[i] = as_symbol(g, size[i]);
    if (chance(g, 12))
        in.data = DATA_TIES;
    else if (chance(g, 15))
        in.data = DATA_POSITIVE;
    return add_input(g, in);
}
static int shaped_index(gen *g, int n, const int64_t *size, int64_t below, int distinct_dim)
{
    input in = {.dtype = DYNC_I64,
                .ndim = n,
                .data = distinct_dim < 0 ? DATA_INDEX : DATA_DISTINCT,
                .below = (int)below,
                .dim = distinct_dim < 0 ? 0 : distinct_dim};
    for (int i = 0; i < n; i++) in.size[i] = as_symbol(g, size[i]);
    return below > 0 ? add_input(g, in) : -1;
}
/* A new input of some form. */
static int fresh(gen *g, int want, int low, int high)
{
    int n = low + rnd(g, (high < 4 ? high : 4) - low + 1);
    int64_t size[DYNC_MAX_DIMS], total = 1;
    for (int i = 0; i < n; i++) {
        size[i] = chance(g, 35) ? g->s.n[0] : chance(g, 50) ? g->s.n[1] : 1 + rnd(g, 4);
        if (total * size[i] > 1200) size[i] = 1 + rnd(g, 2);
        total *= size[i] ? size[i] : 1;
    }
    return shaped(g, some_dtype(g, want), n, size);
}

/* ---- values that exist ----------------------------------------------------------------------- */
static bool suits(const gen *g, int id, int want, int low, int high)
{
    return (class_of(type_of(g, id)) & want) && nd(g, id) >= low && nd(g, id) <= high &&
           dync_numel(g->v[id]) <= 3000;
}
static int some(gen *g, int want, int low, int high)
{
    if (g->n_live == 0 || chance(g, 12)) return fresh(g, want, low, high);
    for (int tries = 0; tries < 12; tries++) {
        int back = chance(g, 60) ? rnd(g, g->n_live < 5 ? g->n_live : 5) : rnd(g, g->n_live);
        int id = g->live[g->n_live - 1 - back];
        if (suits(g, id, want, low, high)) return id;
    }
    return fresh(g, want, low, high);
}
static bool same_shape(const gen *g, int a, int b)
{
    if (nd(g, a) != nd(g, b)) return false;
    for (int i = 0; i < nd(g, a); i++)
        if (sz(g, a, i) != sz(g, b, i)) return false;
    return true;
}
/* A value of a's shape and class: one that exists, or a new input. */
static int like(gen *g, int a, int dtype)
{
    int64_t size[DYNC_MAX_DIMS];
    for (int tries = 0; tries < 10 && chance(g, 90); tries++) {
        int id = g->live[rnd(g, g->n_live)];
        if (same_shape(g, id, a) && type_of(g, id) == dtype) return id;
    }
    for (int i = 0; i < nd(g, a); i++) size[i] = sz(g, a, i);
    return shaped(g, dtype, nd(g, a), size);
}
static bool goes_with(const gen *g, int a, int b)
{
    for (int i = 1; i <= nd(g, a) && i <= nd(g, b); i++)
        if (sz(g, a, -i) != sz(g, b, -i) && sz(g, b, -i) != 1 && sz(g, a, -i) != 1) return false;
    return true;
}
/* A value that broadcasts with a. */
static int with(gen *g, int a, int want)
{
    int64_t size[DYNC_MAX_DIMS];
    for (int tries = 0; tries < 10; tries++) {
        int id = g->live[rnd(g, g->n_live)];
        if ((class_of(type_of(g, id)) & want) && goes_with(g, a, id)) return id;
    }
    int n = chance(g, 25) ? rnd(g, nd(g, a) + 1) : nd(g, a), off = nd(g, a) - n;
    for (int i = 0; i < n; i++) size[i] = chance(g, 25) ? 1 : sz(g, a, off + i);
    int dtype = class_of(type_of(g, a)) & want && chance(g, 80) ? type_of(g, a)
                                                                : some_dtype(g, want);
    return shaped(g, dtype, n, size);
}
static int vector(gen *g, int dtype, int64_t n) { return shaped(g, dtype, 1, &n); }
static int some_dim(gen *g, int id)
{
    int n = nd(g, id);
    return n ? rnd(g, 2 * n) - n : rnd(g, 2) - 1;
}

/* ---- steps ----------------------------------------------------------------------------------- */
static bool bounded(gen *g, int id)
{
    dync_tensor *t = g->v[id];
    bool good = dync_numel(t) <= 6000;
    if (!good || !is_float(dync_type(t)) || dync_numel(t) == 0) return good;
    DYNC_SCOPE {
        DYNC_NO_GRAD {
            double most = dync_item(dync_amax(dync_abs(t), DYNC_ALL, false));
            good = most < (dync_type(t) == DYNC_F16 ? 500 : 1e4);
        }
    }
    return good;
}

/* Do two elements share a place? What is written there in place is anybody's guess, in PyTorch too.
 */
static bool overlaps(const dync_tensor *t)
{
    int64_t reach = 0, step[DYNC_MAX_DIMS], size[DYNC_MAX_DIMS];
    int n = 0;
    for (int i = 0; i < dync_ndim(t); i++) {
        if (dync_size(t, i) < 2) continue;
        int at = n++;
        for (; at > 0 && step[at - 1] > dync_stride(t, i); at--)
            step[at] = step[at - 1], size[at] = size[at - 1];
        step[at] = dync_stride(t, i), size[at] = dync_size(t, i);
    }
    for (int i = 0; i < n; i++) {
        if (step[i] <= reach) return dync_numel(t) > 0;
        reach += step[i] * (size[i] - 1);
    }
    return false;
}

/* Runs the step and keeps it where it works. */
static bool emit(gen *g, step *s)
{
    program *p = g->p;
    int had = p->n_ids;
    bool inplace = row_is(s->row, "INPLACE"), list = rows[s->row].nout < 0;
    if (p->n_steps >= MAX_STEPS || had + MAX_OUT > MAX_VALUES) return false;
    for (int i = 0; i < s->nargs; i++)
        if (s->a[i].kind == A_VALUE && s->a[i].d[0] < 0) return false;
    if (inplace && overlaps(g->v[s->a[0].d[0]])) return false;
    for (int i = 0; i < MAX_OUT; i++) s->out[i] = had + i;
    dync_value out = step_value(s, g->v);
    s->nout = out.kind == DYNC_KIND_LIST ? dync_len(out) : 1;
    if (dync_error() || (out.kind != DYNC_KIND_TENSOR && out.kind != DYNC_KIND_LIST) ||
        s->nout > MAX_OUT || (list && s->nout == 0)) {
        dync_clear_error();
        return false;
    }
    bool good = true;
    for (int i = 0; i < s->nout; i++) {
        g->v[had + i] = out.kind == DYNC_KIND_LIST ? dync_as_tensor(dync_at(out, i)) : out.as.t;
        good = good && (inplace || bounded(g, had + i) || rnd(&(*g), 30) == 0);
    }
    if (!good) return false;
    p->n_ids += s->nout;
    p->at[p->n_steps++] = *s;
    for (int i = 0; i < s->nout; i++)
        if (!inplace && g->n_live < MAX_VALUES) g->live[g->n_live++] = had + i;
    return true;
}
/* A unary row on a: its result, or a where that does not work. */
static int after(gen *g, const char *name, int a)
{
    step s = {.row = row_named(name)};
    put_v(&s, a);
    return a >= 0 && emit(g, &s) ? s.out[0] : a;
}
#endif
