/* tests/models/random_forms.h: random programs of a few instructions over values of one shape, or
 * such that broadcast to it, compiled and plain: results, written arguments and gradients must be
 * alike. A failing program is shrunk and printed with its seed. The file that includes it says what
 * an instruction does (apply) and has the shapes (sizes, defined before). */
#ifndef DYNC_TESTS_RANDOM_FORMS_H
#define DYNC_TESTS_RANDOM_FORMS_H
#include "../capture/counter.h"
#if defined(__unix__) || defined(__APPLE__)
extern int setenv(const char *, const char *, int);
#endif

/* RANDOM: draws numbers. PASS: hands its operand on. */
enum { MAX_INS = 14, MAX_VALUES = 32, DIMS = 2, RANDOM = 9, N_OPS = 16, PASS };
typedef struct {
    int op, a, b, c;
    uint64_t seed;
} ins;
typedef struct {
    int n, n_args, train, shape;
    ins at[MAX_INS];
    int out[3];
} program;
typedef struct {
    dync_tensor *v[MAX_VALUES];
    int n;
    const program *p;
} pool;
static dync_tensor *apply(const pool *q, const ins *i);

static uint64_t state;
static int rnd(int n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int)((state >> 33) % (uint64_t)n);
}

static bool floating(const dync_tensor *t)
{
    dync_dtype d = dync_type(t);
    return d == DYNC_F32 || d == DYNC_F64 || d == DYNC_F16 || d == DYNC_BF16;
}
/* The whole shape: what broadcasts is expanded, sometimes. */
TEST__UNUSED static dync_tensor *full(const pool *q, dync_tensor *t)
{
    const int64_t *s = sizes[q->p->shape];
    return dync_expand(t, dync_shape(s[0], s[1]));
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
    /* a compiled function does not draw what nobody uses */
    dync_tensor *last = q.v[p->out[2]];
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
    printf("%d args [%d, %d]%s\n", p->n_args, (int)sizes[p->shape][0], (int)sizes[p->shape][1],
           p->train ? ", with gradients" : "");
    for (int i = 0; i < p->n; i++)
        printf("  v%d = op%d(v%d, v%d, v%d)\n", p->n_args + i, p->at[i].op, p->at[i].a, p->at[i].b,
               p->at[i].c);
    printf("  return v%d, v%d, v%d\n", p->out[0], p->out[1], p->out[2]);
}

/* ---- one program with some options ----------------------------------------------------------- */
typedef struct {
    dync_tensor *t[12];
    int n;
} outcome;

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
    dync_value r = f ? dync_call_values(f, p->n_args, args)
                     : run(args, p->n_args, (void *)(uintptr_t)p);
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
    if (!got || dync_type(got) != dync_type(want) || dync_ndim(got) != dync_ndim(want))
        return false;
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
    dync_compiled *f = dync_compile(run, .args = "a, b, c", .options = options,
                                    .user = (void *)(uintptr_t)p, .fullgraph = true);
    for (int call = 0; call < 2 && ok; call++) DYNC_SCOPE {
        dync_tensor *data[3];
        dync_manual_seed(seed);
        for (int i = 0; i < 3; i++)
            data[i] = dync_randn(dync_shape(sizes[p->shape][0], sizes[p->shape][1]));
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
    for (int last = p->n_args + p->n - 1;
         p->n > 1 && p->out[0] < last && p->out[1] < last && p->out[2] < last; last--)
        p->n--;
}

static void many(const char *cpu, const char *options, int count)
{
#if defined(__unix__) || defined(__APPLE__)
    if (cpu) setenv("DYNC_CPU", cpu, 0); /* one given outside stays */
#endif
    for (int i = 0; i < test_count(count) && !test__state.failures; i++) {
        uint64_t seed = test__state.seed * 1000003 + (uint64_t)i;
        state = seed * 0x9e3779b97f4a7c15u + 88172645463325252u;
        program p;
        make(&p);
        bool ok = false;
        DYNC_SCOPE {
            ok = agrees(&p, options, seed);
        }
        if (ok) continue;
        shrink(&p, options, seed);
        printf("program %d of --seed %llu, options \"%s\", shrunk:\n", i,
               (unsigned long long)test__state.seed, options ? options : "");
        show(&p);
        EXPECT(!"a compiled program differs from eager");
    }
}

#endif
