/* Random programs of concatenations, rolls and stacks that meet in pointwise operators: each other, themselves, siblings cut elsewhere, views
 * of each other, broadcast operands, other dtypes, writes in place, random numbers, several users. Compiled they must do what they do eagerly,
 * forward and in training, on each level of machine code and without fusion. A failing program is shrunk and printed with its seed. */
#include "../capture/counter.h"
#if defined(__unix__) || defined(__APPLE__)
extern int setenv(const char *, const char *, int);
#endif

enum { MAX_INS = 14, MAX_VALUES = 32, DIMS = 2, RANDOM = 9, N_OPS = 16, PASS };
typedef struct { int op, a, b, c; uint64_t seed; } ins;
typedef struct { int n, n_args, train, shape; ins at[MAX_INS]; int out[3]; } program;
static const int64_t sizes[][DIMS] = {{4, 6}, {1, 8}, {3, 1}, {2, 33}, {16, 17}, {5, 64}};
static const dync_dtype dtypes[] = {DYNC_F32, DYNC_F32, DYNC_F64, DYNC_BF16, DYNC_F16, DYNC_I32, DYNC_I64, DYNC_U8, DYNC_BOOL};

static uint64_t state;
static int rnd(int n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int)((state >> 33) % (uint64_t)n);
}

/* ---- what an instruction does: every value has the program's shape, or one that broadcasts to it --------------------------------- */
typedef struct { dync_tensor *v[MAX_VALUES]; int n; const program *p; } pool;

static bool floating(const dync_tensor *t)
{
    dync_dtype d = dync_type(t);
    return d == DYNC_F32 || d == DYNC_F64 || d == DYNC_F16 || d == DYNC_BF16;
}
static int sign_of(int dim, int ndim) { return rnd(2) ? dim : dim - ndim; }

/* The whole shape: what broadcasts is expanded, sometimes. */
static dync_tensor *full(const pool *q, dync_tensor *t)
{
    const int64_t *s = sizes[q->p->shape];
    return dync_expand(t, dync_shape(s[0], s[1]));
}

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
    dync_tensor *s = dync_stack(dync_tuple(x, y), sign_of(dim, 3)), *t = rnd(2) ? s : dync_stack(dync_tuple(y, x), dim);
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
    case 4: return dync_type(a) == DYNC_BOOL || dync_type(b) == DYNC_BOOL ? dync_eq(a, b) : dync_sub(a, b);
    default: return dync_add(dync_mul(a, 2), b);
    }
}

static dync_tensor *joined_or_rolled(const pool *q, const ins *i, dync_tensor *t)
{
    int dim = rnd(DIMS);
    return rnd(2) ? joined(q, i) : dync_roll(full(q, t), dync_shape(rnd(9) - 4), dync_shape(sign_of(dim, DIMS)));
}

static dync_tensor *narrow(const pool *q, dync_tensor *t)
{
    int which = rnd(4);
    if (which == 0) return dync_amax(full(q, t), dync_shape(rnd(DIMS)), true);
    return which == 1 ? dync_select(full(q, t), 0, 0) : dync_slice(full(q, t), rnd(DIMS), 0, 1, 1);
}

static dync_tensor *written(const pool *q, const ins *i, dync_tensor *a, dync_tensor *b)
{
    dync_tensor *c = q->p->train || rnd(2) ? dync_clone(full(q, a)) : q->v[0], *from = full(q, b);
    int dim = rnd(DIMS), half = (int)(sizes[q->p->shape][dim] + 1) / 2;
    if (dync_type(c) == DYNC_BOOL || dync_type(c) != dync_type(from)) return dync_copy_(c, dync_to_dtype(joined_or_rolled(q, i, b), dync_type(c)));
    if (rnd(2)) return dync_add_(c, dync_to_dtype(joined_or_rolled(q, i, b), dync_type(c)));
    dync_copy_(dync_slice(c, dim, 0, half, 1), dync_clone(piece(from, dim, half)));
    return c;
}

static dync_tensor *apply(const pool *q, const ins *i)
{
    dync_tensor *a = q->v[i->a], *b = q->v[i->b], *x, *y;
    state = i->seed;
    switch (i->op) {
    case 0: case 1: return joined(q, i);
    case 2:
        x = joined_or_rolled(q, i, a);
        return binary(rnd(6), x, rnd(4) ? joined_or_rolled(q, i, b) : x);
    case 3:
        x = dync_roll(full(q, a), dync_shape(1), dync_shape(rnd(DIMS))), y = dync_roll(full(q, a), dync_shape(-1), dync_shape(rnd(DIMS)));
        return dync_add(dync_add(x, y), dync_roll(full(q, b), dync_shape(rnd(5) - 2), dync_shape(rnd(DIMS))));
    case 4: return stacked(q, a, b);
    case 5: return narrow(q, a);
    case 6: return q->p->train ? dync_tanh(a) : dync_to_dtype(a, dtypes[rnd((int)(sizeof dtypes / sizeof *dtypes))]);
    case 7: return floating(a) ? dync_tanh(a) : dync_clone(a);
    case 8: return written(q, i, a, b);
    case RANDOM:
        x = floating(a) ? a : dync_to_dtype(a, DYNC_F32);
        return rnd(2) ? dync_dropout(x, 0.5, true) : dync_add(joined_or_rolled(q, i, b), dync_rand_like(full(q, x)));
    case 10: return dync_transpose(dync_contiguous(dync_transpose(full(q, a), 0, 1)), 0, 1);
    case 11:
        x = joined_or_rolled(q, i, a), y = joined_or_rolled(q, i, b);
        return dync_where(dync_lt(x, y), rnd(2) ? y : b, rnd(2) ? x : joined(q, i));
    case 12:      /* rotary embeddings: the second of two broadcast, both doubled */
        if (sizes[q->p->shape][1] % 2) return binary(rnd(6), a, b);
        x = full(q, a), y = piece(rnd(2) ? full(q, b) : dync_slice(full(q, b), 0, 0, 1, 1), 1, sizes[q->p->shape][1] / 2);
        return dync_mul(x, dync_cat(dync_tuple(y, y), -1));
    case PASS: return a;
    default: return binary(rnd(6), a, b);
    }
}

static dync_value run(const dync_value *args, int n, void *user)
{
    const program *p = user;
    pool q = {.p = p};
    dync_tensor *drawn = NULL;
    for (int i = 0; i < n; i++) q.v[q.n++] = dync_as_tensor(args[i]);
    for (int i = 0; i < p->n; i++) {
        dync_tensor *made = apply(&q, &p->at[i]);
        if (!made) return DYNC_NONE;
        q.v[q.n++] = made;
        if (p->at[i].op == RANDOM) drawn = drawn ? dync_add(drawn, made) : made;
    }
    dync_tensor *last = q.v[p->out[2]];        /* a compiled function does not draw what nobody uses */
    return dync_tuple(q.v[p->out[0]], q.v[p->out[1]], drawn ? dync_add(last, drawn) : last);
}

static void make(program *p)
{
    memset(p, 0, sizeof *p);
    p->n_args = 2 + rnd(2);
    p->train = rnd(3) == 0;
    p->shape = rnd((int)(sizeof sizes / sizeof *sizes));
    p->n = 1 + rnd(MAX_INS - 1);
    for (int i = 0; i < p->n; i++) {
        int have = p->n_args + i, near = have < 4 ? have : 4;
        p->at[i] = (ins){rnd(N_OPS), have - 1 - rnd(near), rnd(have), have - 1 - rnd(near), 0};
        p->at[i].seed = state;
    }
    for (int i = 0; i < 3; i++) p->out[i] = p->n_args + p->n - 1 - rnd(p->n < 4 ? p->n : 4);
}

static void show(const program *p)
{
    printf("%d args [%d, %d]%s\n", p->n_args, (int)sizes[p->shape][0], (int)sizes[p->shape][1], p->train ? ", with gradients" : "");
    for (int i = 0; i < p->n; i++)
        printf("  v%d = op%d(v%d, v%d, v%d)\n", p->n_args + i, p->at[i].op, p->at[i].a, p->at[i].b, p->at[i].c);
    printf("  return v%d, v%d, v%d\n", p->out[0], p->out[1], p->out[2]);
}

/* ---- one program with some options ------------------------------------------------------------------------------------------------ */
typedef struct { dync_tensor *t[12]; int n; } outcome;

static dync_tensor *loss_of(dync_value r)
{
    dync_tensor *loss = NULL;
    for (int i = 0; i < 3; i++) {
        dync_tensor *t = dync_as_tensor(dync_at(r, i));
        if (!t || !dync_requires_grad(t)) continue;
        dync_tensor *s = dync_mean(dync_mul(t, t), DYNC_ALL, false);
        loss = loss ? dync_add(loss, s) : s;
    }
    return loss;
}

static outcome run_once(dync_compiled *f, const program *p, dync_tensor *const *data, uint64_t seed)
{
    outcome o = {.n = 0};
    dync_value args[3];
    dync_tensor *in[3];
    dync_manual_seed(seed);
    for (int i = 0; i < p->n_args; i++) {
        in[i] = dync_clone(data[i]);
        if (p->train) dync_requires_grad_(in[i], true);
        args[i] = DYNC_V(in[i]);
    }
    dync_value r = f ? dync_call_values(f, p->n_args, args) : run(args, p->n_args, (void *)(uintptr_t)p);
    if (r.kind != DYNC_KIND_LIST) return o;
    for (int i = 0; i < 3; i++) o.t[o.n++] = dync_as_tensor(dync_at(r, i));
    dync_tensor *loss = p->train ? loss_of(r) : NULL;
    if (loss) dync_backward(loss);
    for (int i = 0; i < p->n_args; i++) {
        o.t[o.n++] = in[i];
        o.t[o.n++] = p->train ? dync_grad(in[i]) : NULL;
    }
    return o;
}

static bool alike(dync_tensor *got, dync_tensor *want)
{
    if (!want) return !got || dync_item(dync_sum(dync_abs(got), DYNC_ALL, false)) == 0;
    if (!got || dync_type(got) != dync_type(want) || dync_ndim(got) != dync_ndim(want)) return false;
    dync_dtype d = dync_type(want);
    double tol = d == DYNC_F64 ? 1e-6 : d == DYNC_F32 ? 1e-4 : floating(want) ? 4e-2 : 0;
    const double *x = dync_data(dync_contiguous(dync_to_dtype(dync_detach(got), DYNC_F64)));
    const double *y = dync_data(dync_contiguous(dync_to_dtype(dync_detach(want), DYNC_F64)));
    for (int64_t i = 0; i < dync_numel(want); i++)
        if (!test__is_near(x[i], y[i], tol + tol * fabs(y[i]))) return false;
    return dync_numel(got) == dync_numel(want);
}

static bool agrees(const program *p, const char *options, uint64_t seed)
{
    bool ok = true;
    dync_compiled *f = dync_compile(run, .args = "a, b, c", .options = options, .user = (void *)(uintptr_t)p, .fullgraph = true);
    for (int call = 0; call < 2 && ok; call++)
        DYNC_SCOPE {
            dync_tensor *data[3];
            dync_manual_seed(seed);
            for (int i = 0; i < 3; i++) data[i] = dync_randn(dync_shape(sizes[p->shape][0], sizes[p->shape][1]));
            outcome want = run_once(NULL, p, data, seed), got = run_once(f, p, data, seed);
            ok = want.n == got.n && want.n > 0 && dync_error() == DYNC_OK;
            for (int i = 0; i < want.n && ok; i++) ok = alike(got.t[i], want.t[i]);
        }
    if (dync_error() != DYNC_OK) printf("error: %s\n", dync_error_message()), dync_clear_error();
    dync_compiled_free(f);
    return ok;
}

/* An instruction less, or one that only passes its operand on, while the program still fails. */
static void shrink(program *p, const char *options, uint64_t seed)
{
    for (int i = 0; i < p->n; i++) {
        program q = *p;
        q.at[i] = (ins){.op = PASS, .a = p->at[i].a, .b = p->at[i].a};
        if (p->at[i].op != PASS && !agrees(&q, options, seed)) *p = q;
    }
    for (int last = p->n_args + p->n - 1; p->n > 1 && p->out[0] < last && p->out[1] < last && p->out[2] < last; last--) p->n--;
}

static void many(const char *cpu, const char *options, int count)
{
#if defined(__unix__) || defined(__APPLE__)
    if (cpu) setenv("DYNC_CPU", cpu, 0);                    /* one given outside stays */
#endif
    for (int i = 0; i < test_count(count) && !test__state.failures; i++) {
        uint64_t seed = test__state.seed * 1000003 + (uint64_t)i;
        state = seed * 0x9e3779b97f4a7c15u + 88172645463325252u;
        program p;
        make(&p);
        bool ok = false;
        DYNC_SCOPE { ok = agrees(&p, options, seed); }
        if (ok) continue;
        shrink(&p, options, seed);
        printf("program %d of --seed %llu, options \"%s\", shrunk:\n", i, (unsigned long long)test__state.seed, options ? options : "");
        show(&p);
        EXPECT(!"a compiled program differs from eager");
    }
}

TEST(avx512) { many("avx512", NULL, 500); }
TEST(avx2) { many("avx2", NULL, 300); }
TEST(no_machine_code) { many("none", NULL, 300); }
TEST(no_fuse) { many(NULL, "no_fuse", 300); }

/* The same forms while sizes stay symbolic. */
static dync_tensor *meet(dync_tensor *x, dync_tensor *y)
{
    dync_tensor *stencil = dync_sub(dync_add(dync_roll(x, dync_shape(1), dync_shape(0)), dync_roll(x, dync_shape(-1), dync_shape(0))), dync_mul(x, 2));
    dync_tensor *both = dync_mul(dync_cat(dync_tuple(x, y), 0), dync_cat(dync_tuple(y, stencil), 0));
    dync_tensor *square = dync_stack(dync_tuple(x, y), 1);
    return dync_add(both, dync_sum(dync_mul(square, square), DYNC_ALL, false));
}
TEST(symbolic_sizes)
{
    dync_compiled *f = dync_compile(meet, .args = "x, y", .dynamic = DYNC_DYNAMIC_ON);
    for (int n = 2; n < 40; n += 5)
        DYNC_SCOPE {
            dync_tensor *x = dync_randn(dync_shape(n, 3)), *y = dync_randn(dync_shape(n, 3));
            dync_requires_grad_(x, n % 2);
            dync_tensor *want = meet(x, y), *got = dync_call(f, x, y);
            EXPECT(same(got, want, 1e-4));
            if (n % 2 == 0) continue;
            const dync_grad_options plain = {0};
            dync_value of = dync_tuple(x);
            dync_tensor *g = dync_as_tensor(dync_at(dync_gradients(DYNC_V(dync_sum(want, DYNC_ALL, false)), of, DYNC_NONE, plain), 0));
            dync_tensor *h = dync_as_tensor(dync_at(dync_gradients(DYNC_V(dync_sum(got, DYNC_ALL, false)), of, DYNC_NONE, plain), 0));
            EXPECT(same(h, g, 1e-3));
        }
    dync_compiled_free(f);
}

TEST_MAIN
