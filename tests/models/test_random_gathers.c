/* Random programs of what reads by an index: embeddings, index_select, gather and one_hot, siblings
 * of them by one index, by several and by what was computed or written before, with sums across
 * rows, products, scatters and writes into arguments around them; indices of I32 and I64, none at
 * all, and some outside their range: then compiled calls fail as plain ones do, in the same words.
 * On each level of machine code, without fusion and without each pass. */
#include <stdint.h>
#include "../capture/counter.h"
#include "passes.h"
#if defined(__unix__) || defined(__APPLE__)
extern int setenv(const char *, const char *, int);
#endif

/* TABLE and OTHER: [rows, columns]; BY and ALSO: [n]; GRID: [n, columns], below columns. */
enum { TABLE, OTHER, BY, ALSO, GRID, N_ARGS, MAX_INS = 6, MAX_VALUES = 16 };
typedef struct {
    int n, train, indices, readers; /* readers: instructions that read by BY */
    int64_t rows, columns, count;
    struct {
        int op, a, b;
        uint64_t seed;
    } at[MAX_INS];
} program;

static uint64_t state;
static int rnd(int n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int)((state >> 33) % (uint64_t)n);
}

static dync_tensor *cell(dync_tensor *t) { return dync_sum(t, dync_shape(1), true); }

/* A value of [count, columns]. */
static dync_tensor *apply(const program *p, dync_tensor *const *arg, dync_tensor *a, dync_tensor *b,
                          int op)
{
    dync_tensor *by = arg[BY], *also = arg[ALSO], *x, *y;
    switch (op) {
    case 0: return dync_embedding(arg[TABLE], by);
    case 1: return dync_index_select(arg[OTHER], 0, by);
    case 2: /* siblings by one index */
        x = dync_embedding(arg[TABLE], by), y = dync_index_select(arg[OTHER], 0, by);
        return rnd(2) ? dync_add(x, y) : dync_mul(dync_sub(x, y), cell(y));
    case 3: /* by two */
        return dync_add(dync_embedding(arg[TABLE], by), dync_embedding(arg[OTHER], also));
    case 4: return dync_embedding(arg[TABLE], also);
    case 5: return dync_gather(a, 1, arg[GRID]);
    case 6: return dync_mul(dync_gather(a, 1, arg[GRID]), dync_gather(b, 1, arg[GRID]));
    case 7: /* an index that the program makes, with another user */
        x = dync_remainder(dync_add(also, 1 + rnd(3)), p->rows);
        return dync_add(dync_embedding(arg[TABLE], x), dync_unsqueeze(x, 1));
    case 8: return dync_embedding(arg[OTHER], dync_remainder(dync_argmax(a, 1, false), p->rows));
    case 9: return dync_add(a, dync_one_hot(by, p->rows > p->columns ? p->columns : p->rows));
    case 10: /* a softmax across what was picked */
        x = dync_embedding(arg[TABLE], by);
        return dync_softmax(rnd(2) ? x : dync_add(x, b), rnd(2));
    case 11:
        return dync_add(dync_matmul(a, dync_eye(p->columns, p->columns, DYNC_F32, DYNC_CPU)),
                        dync_embedding(arg[TABLE], by));
    case 12: /* the sum itself grows until a softmax's slopes, which cancel, are noise */
        x = dync_index_select(b, 0, arg[GRID + 1]);
        return p->count ? dync_sub(a, dync_mean(x, DYNC_ALL, false)) : a;
    case 13: return dync_index_add(a, 0, arg[GRID + 1], b);
    case 14: return dync_add(cell(a), dync_tanh(b));
    default: return dync_mul(dync_add(a, b), 0.5);
    }
}

static bool reads_by(int op) { return op <= 3 || op == 9 || op == 10 || op == 11; }

static dync_value run(const dync_value *args, int n, void *user)
{
    const program *p = user;
    dync_tensor *arg[N_ARGS + 1], *v[MAX_VALUES];
    for (int i = 0; i < n; i++) arg[i] = dync_as_tensor(args[i]);
    arg[GRID + 1] = dync_to_dtype(dync_arange(0, (double)p->count, 1), DYNC_I64);
    v[0] = dync_embedding(arg[TABLE], dync_mul(arg[ALSO], 0));
    v[1] = dync_mul(v[0], -0.25);
    dync_tensor *all = v[0];
    for (int i = 0; i < p->n; i++) {
        state = p->at[i].seed;
        v[i + 2] = apply(p, arg, v[p->at[i].a], v[p->at[i].b], p->at[i].op);
        if (!v[i + 2]) return DYNC_NONE;
        all = dync_add(all, v[i + 2]);
    }
    if (!p->train && p->n % 2) dync_mul_(arg[OTHER], 2); /* what the caller has */
    return dync_tuple(all, v[p->n + 1]);
}

static void make(program *p)
{
    static const int64_t columns[] = {1, 3, 8, 33, 64, 300};
    memset(p, 0, sizeof *p);
    p->train = rnd(4) == 0;
    p->indices = rnd(3) ? DYNC_I64 : DYNC_I32;
    p->rows = 1 + rnd(rnd(8) ? 9 : 600);
    p->columns = columns[rnd(6)];
    p->count = rnd(12) ? 1 + rnd(rnd(4) ? 9 : 70) : 0;
    if (rnd(40) == 0) p->count = 5000, p->columns = 4; /* as many as a check makes code for */
    p->n = 1 + rnd(MAX_INS);
    for (int i = 0; i < p->n; i++) {
        p->at[i].op = rnd(16);
        if (p->at[i].op == 9 && p->columns > p->rows) p->at[i].op = 0;
        if (p->at[i].op == 9) p->at[i].op = p->columns == p->rows ? 9 : 1;
        if ((p->at[i].op == 8 || p->at[i].op == 10) && !p->count) p->at[i].op = 1;
        p->readers += reads_by(p->at[i].op);
        p->at[i].a = rnd(i + 2);
        p->at[i].b = rnd(i + 2);
        p->at[i].seed = state;
    }
}

static dync_tensor *indices(int dtype, dync_dims shape, int64_t below)
{
    return dync_to_dtype(dync_mul(dync_rand(shape), (double)below), (dync_dtype)dtype);
}

/* One of BY outside its range. */
static dync_tensor *spoilt(const program *p, dync_tensor *by)
{
    const int64_t wrong[] = {-1, p->rows, -p->rows - 7, p->rows + 1000000};
    int64_t at = rnd((int)p->count), value = wrong[rnd(4)];
    dync_copy_(dync_slice(by, 0, at, at + 1, 1),
               dync_full(dync_shape(1), (double)value, .dtype = dync_type(by)));
    return by;
}

typedef struct {
    dync_status status;
    char words[300];
    dync_tensor *out[4];
} outcome;

static outcome run_once(dync_compiled *f, const program *p, dync_tensor *const *data)
{
    outcome o = {.status = DYNC_OK};
    dync_value args[N_ARGS];
    dync_tensor *in[N_ARGS];
    for (int i = 0; i < N_ARGS; i++) {
        in[i] = dync_clone(data[i]);
        if (p->train && i < BY) dync_requires_grad_(in[i], true);
        args[i] = DYNC_V(in[i]);
    }
    dync_value r = f ? dync_call_values(f, N_ARGS, args) : run(args, N_ARGS, (void *)(uintptr_t)p);
    if (r.kind == DYNC_KIND_LIST && dync_error() == DYNC_OK) {
        o.out[0] = dync_as_tensor(dync_at(r, 0));
        o.out[1] = dync_as_tensor(dync_at(r, 1));
        if (p->train && p->count)
            dync_backward(dync_mean(dync_mul(o.out[0], o.out[0]), DYNC_ALL, false));
        o.out[2] = p->train ? dync_grad(in[TABLE]) : in[TABLE];
        o.out[3] = p->train ? dync_grad(in[OTHER]) : in[OTHER];
    }
    o.status = dync_error();
    snprintf(o.words, sizeof o.words, "%s", dync_error_message());
    dync_clear_error();
    return o;
}

static bool alike(dync_tensor *got, dync_tensor *want)
{
    if (!got || !want)
        return !got == !want ||
               dync_item(dync_sum(dync_abs(got ? got : want), DYNC_ALL, false)) == 0;
    return dync_allclose(got, want, 1e-4, 1e-4);
}

/* `index 7 is out of bounds ...` and what stands before it, but the place in the program. */
static bool agrees(const program *p, const char *options, uint64_t seed, int *failed)
{
    bool ok = true;
    dync_compiled *f = dync_compile(run, .args = "table, other, by, also, grid", .options = options,
                                    .user = (void *)(uintptr_t)p, .fullgraph = true);
    for (int call = 0; call < 3 && ok; call++) DYNC_SCOPE {
        dync_manual_seed(seed);
        dync_tensor *data[N_ARGS] = {
            dync_randn(dync_shape(p->rows, p->columns)),
            dync_randn(dync_shape(p->rows, p->columns)),
            indices(p->indices, dync_shape(p->count), p->rows),
            indices(DYNC_I64, dync_shape(p->count), p->rows),
            indices(DYNC_I64, dync_shape(p->count, p->columns), p->columns)};
        state = seed + 1;
        bool wrong = call == 1 && p->count && p->readers;
        if (wrong) data[BY] = spoilt(p, data[BY]);
        outcome want = run_once(NULL, p, data), got = run_once(f, p, data);
        ok = want.status == got.status && want.status == (wrong ? DYNC_ERR_INDEX : DYNC_OK);
        if (wrong && p->readers == 1) ok &= strcmp(want.words, got.words) == 0;
        for (int i = 0; i < 4 && !wrong && ok; i++) ok = alike(got.out[i], want.out[i]);
        if (!ok)
            printf("call %d: plain %d \"%s\"\ncompiled %d \"%s\"\n", call, (int)want.status,
                   want.words, (int)got.status, got.words);
        *failed += wrong;
    }
    dync_compiled_free(f);
    return ok;
}

static void many(const char *cpu, const char *options, int count)
{
    int failed = 0;
#if defined(__unix__) || defined(__APPLE__)
    if (cpu) setenv("DYNC_CPU", cpu, 0); /* one given outside stays */
#endif
    dync_on_error(NULL, NULL);
    for (int i = 0; i < test_count(count) && !test__state.failures; i++) {
        uint64_t seed = test__state.seed * 1000003 + (uint64_t)i;
        state = seed * 0x9e3779b97f4a7c15u + 88172645463325252u;
        program p;
        make(&p);
        bool ok = false;
        DYNC_SCOPE {
            ok = agrees(&p, options, seed, &failed);
        }
        if (ok) continue;
        for (int k = p.n - 1; k >= 0; k--) { /* shrunk: from its end */
            program less = p;
            less.n = k;
            less.readers = 0;
            for (int r = 0; r < k; r++) less.readers += reads_by(less.at[r].op);
            DYNC_SCOPE {
                if (!agrees(&less, options, seed, &failed)) p = less;
            }
        }
        printf(
            "program %d of --seed %llu, options \"%s\": rows %lld, columns %lld, indices %lld of "
            "dtype %d%s\n",
            i, (unsigned long long)test__state.seed, options ? options : "", (long long)p.rows,
            (long long)p.columns, (long long)p.count, p.indices, p.train ? ", gradients" : "");
        for (int k = 0; k < p.n; k++)
            printf("  v%d = op%d(v%d, v%d)\n", k + 2, p.at[k].op, p.at[k].a, p.at[k].b);
        EXPECT(!"a compiled program differs from eager");
    }
    EXPECT(count < 100 || test_met(failed, count / 3 + 1));
}

TEST(avx512) { many("avx512", NULL, 300); }
TEST(avx2) { many("avx2", NULL, 200); }
TEST(no_machine_code) { many("none", NULL, 200); }
TEST(no_fuse) { many(NULL, "no_fuse", 200); }

static void some(void) { many(NULL, NULL, 20); }
TEST(without_each_pass) { without_each_pass(some); }

TEST_MAIN
