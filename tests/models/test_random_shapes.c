/* Random programs whose sizes change from call to call: matrices of n by m and what follows from
 * them, for n and m that differ in every call, with automatic dynamic shapes, all sizes symbolic,
 * and static ones. Compiled on every backend they must do what they do eagerly, gradients included,
 * and however many sizes come there are few captures. `--seed N` starts elsewhere. */
#include "../capture/counter.h"

enum {
    NM,
    MN,
    NN,
    MM,
    COLUMN /* n, 1 */,
    ROW /* 1, m */,
    FLAT /* n*m */,
    BLOCK /* n, 2, m */,
    TYPES
};
enum { MAX_INS = 10, MAX_VALUES = 16 };
typedef struct {
    int op, a, b;
} ins;
typedef struct {
    int n;
    ins at[MAX_INS];
} program;
typedef struct {
    dync_tensor *v[MAX_VALUES];
    int type[MAX_VALUES], n;
} pool;

static uint64_t state;
static uint32_t rnd(uint32_t n)
{
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (uint32_t)(state >> 33) % n;
}

static dync_tensor *give(int *type, int t, dync_tensor *x) { return *type = t, x; }
static int transposed(int t) { return t == NM ? MN : t == MN ? NM : t; }

/* The value that instruction i makes, or NULL where its operands are not of the right kind. */
static dync_tensor *apply(const pool *q, const ins *i, int *type)
{
    int s = i->a % q->n, o = i->b % q->n, t = q->type[s];
    dync_tensor *a = q->v[s], *b = q->v[o], *x = q->v[0];
    bool matrix = t <= MM;
    switch (i->op) {
    case 0: return give(type, t, dync_tanh(a));
    case 1: return t == q->type[o] ? give(type, t, dync_add(a, b)) : NULL;
    case 2: return t == q->type[o] ? give(type, t, dync_mul(dync_sigmoid(a), b)) : NULL;
    case 3: return matrix ? give(type, transposed(t), dync_transpose(a, 0, 1)) : NULL;
    case 4:
        return t == NM ? give(type, NN, dync_mul(dync_matmul(a, dync_transpose(a, 0, 1)), 0.1))
                       : NULL;
    case 5:
        return t == NM ? give(type, MM, dync_mul(dync_matmul(dync_transpose(a, 0, 1), a), 0.1))
                       : NULL;
    case 6: return t == NM ? give(type, COLUMN, dync_mean(a, dync_shape(1), true)) : NULL;
    case 7: return t == NM ? give(type, ROW, dync_sum(a, dync_shape(0), true)) : NULL;
    case 8:
        return t == NM && (q->type[o] == COLUMN || q->type[o] == ROW)
                   ? give(type, NM, dync_sub(a, b))
                   : NULL;
    case 9: return t == NM ? give(type, FLAT, dync_reshape(a, dync_shape(-1))) : NULL;
    case 10:
        return t == FLAT
                   ? give(type, NM,
                          dync_view(dync_clone(a), dync_shape(dync_dim(x, 0), dync_dim(x, 1))))
                   : NULL;
    case 11:
        return t == NM && q->type[o] == NM ? give(type, BLOCK, dync_stack(dync_tuple(a, b), 1))
                                           : NULL;
    case 12: return t == BLOCK ? give(type, NM, dync_select(a, 1, i->b % 2)) : NULL;
    case 13: return matrix ? give(type, t, dync_softmax(a, i->b % 2)) : NULL;
    case 14:
        return t == NM ? give(type, NM,
                              dync_slice(dync_cat(dync_tuple(a, dync_neg(a)), 0), 0, 1,
                                         dync_dim(x, 0), 1))
                             ? dync_flip(a, dync_shape(0))
                             : NULL
                       : NULL;
    case 15:
        return t == ROW || t == COLUMN
                   ? give(type, NM, dync_expand(a, dync_shape(dync_dim(x, 0), dync_dim(x, 1))))
                   : NULL;
    case 16:
        return t == NM ? give(type, NM, dync_add(a, dync_ones(dync_shape(dync_dim(x, 0), 1))))
                       : NULL;
    case 17:
        return t == NM ? give(type, ROW,
                              dync_amax(dync_slice(a, 0, 1, DYNC_END, 1), dync_shape(0), true))
                       : NULL;
    case 18:
        return t == NM ? give(type, NM, dync_dim_gt(x, 0, 5) ? dync_sin(a) : dync_cos(a)) : NULL;
    case 19: {
        dync_tensor *c = dync_mul(a, 1);
        dync_add_(c, 1);
        return give(type, t, c);
    }
    case 20:
        return t == NM ? give(type, NM,
                              dync_layer_norm(a, dync_shape(dync_dim(x, 1)), NULL, NULL, 1e-5))
                       : NULL;
    case 21: dync_graph_break("random"); return give(type, t, dync_mul(a, 0.5));
    case 22:
        return give(type, t,
                    dync_bool(dync_gt(dync_sum(a, DYNC_ALL, false), 0)) ? dync_add(a, 1)
                                                                        : dync_mul(a, 2));
    case 23:
        return t == NM
                   ? give(type, NM,
                          dync_reshape(
                              dync_transpose(dync_reshape(a, dync_shape(-1, dync_dim(x, 0))), 0, 1),
                              dync_shape(dync_dim(x, 0), dync_dim(x, 1))))
                   : NULL;
    case 24: return t == NM ? give(type, NM, dync_cumsum(dync_mul(a, 0.1), i->b % 2)) : NULL;
    default:
        return t == NM && q->type[o] == NM
                   ? give(type, NM, dync_where(dync_lt(a, b), a, dync_mul(b, 0.5)))
                   : NULL;
    }
}
enum { OPS = 26 };

static dync_value run(const dync_value *args, int n, void *user)
{
    const program *p = user;
    pool q = {.n = 0};
    for (int i = 0; i < n; i++) q.v[q.n] = args[i].as.t, q.type[q.n++] = NM;
    for (int i = 0; i < p->n && q.n < MAX_VALUES; i++) {
        dync_tensor *r = apply(&q, &p->at[i], &q.type[q.n]);
        if (r) q.v[q.n++] = r;
        if (dync_error()) return DYNC_NONE;
    }
    dync_tensor *last = q.v[q.n - 1];
    return dync_tuple(last, dync_mul(q.v[q.n > 3 ? q.n - 2 : 0], 1),
                      dync_mean(last, DYNC_ALL, false));
}

static bool once(dync_compiled *f, const program *p, int64_t n, int64_t m, bool train)
{
    dync_tensor *in[2][2], *grad[2][2];
    dync_value out[2];
    bool good = true;
    for (int k = 0; k < 2; k++) {
        dync_tensor *x = dync_sub(dync_rand(dync_shape(n, m)), 0.5);
        for (int side = 0; side < 2; side++)
            in[side][k] = train ? dync_requires_grad_(dync_clone(x), true) : x;
    }
    for (int side = 0; side < 2; side++) {
        dync_value args[2] = {DYNC_V(in[side][0]), DYNC_V(in[side][1])};
        out[side] = side ? run(args, 2, (void *)(uintptr_t)p) : dync_call_values(f, 2, args);
        if (out[side].kind != DYNC_KIND_LIST) return false;
        dync_tensor *loss =
            dync_add(dync_as_tensor(dync_at(out[side], 2)),
                     dync_sum(dync_as_tensor(dync_at(out[side], 1)), DYNC_ALL, false));
        if (train) dync_backward(loss);
        for (int k = 0; k < 2; k++) grad[side][k] = train ? dync_grad(in[side][k]) : NULL;
    }
    for (int k = 0; k < 3; k++) {
        dync_tensor *a = dync_as_tensor(dync_at(out[0], k)),
                    *b = dync_as_tensor(dync_at(out[1], k));
        good = good && a && b && dync_type(a) == dync_type(b) && dync_ndim(a) == dync_ndim(b) &&
               dync_allclose(a, b, 1e-3, 1e-4);
    }
    for (int k = 0; k < 2 && train; k++) {
        bool both = grad[0][k] && grad[1][k];
        good = good && (!grad[0][k] == !grad[1][k] || !both) &&
               (!both || dync_allclose(grad[0][k], grad[1][k], 2e-3, 1e-3));
    }
    return good && dync_error() == DYNC_OK;
}

static bool holds(const program *p, const char *backend, dync_dynamic dynamic, uint64_t seed,
                  int *frames)
{
    dync_compiled *f = dync_compile(run, .args = "x, y", .user = (void *)(uintptr_t)p,
                                    .backend = backend, .dynamic = dynamic, .recompile_limit = 64);
    bool good = true;
    int64_t before = dync_get_counters().frames;
    state = seed;
    for (int i = 0; i < 8 && good; i++) DYNC_SCOPE {
        good = once(f, p, 2 + rnd(7), i == 6 ? 1 : 2 + rnd(6), i % 2);
    }
    *frames = (int)(dync_get_counters().frames - before);
    dync_compiled_free(f);
    return good;
}

static void shrink(program *p, const char *backend, dync_dynamic dynamic, uint64_t seed)
{
    for (bool less = true; less;) {
        less = false;
        for (int i = p->n - 1; i >= 0; i--) {
            program q = *p;
            int frames;
            memmove(&q.at[i], &q.at[i + 1], (size_t)(q.n - i - 1) * sizeof *q.at);
            q.n--;
            dync_clear_error();
            if (!holds(&q, backend, dynamic, seed, &frames)) {
                *p = q;
                less = true;
            }
        }
    }
}

static void programs(const char *backend, int count)
{
    static const dync_dynamic modes[] = {DYNC_DYNAMIC_AUTO, DYNC_DYNAMIC_ON, DYNC_DYNAMIC_OFF};
    for (int k = 0; k < count; k++) {
        uint64_t seed = state = 0x9e3779b97f4a7c15u * (test__state.seed + (uint64_t)k + 1) | 1;
        program p = {.n = 2 + (int)rnd(MAX_INS - 1)};
        for (int i = 0; i < p.n; i++) p.at[i] = (ins){(int)rnd(OPS), (int)rnd(64), (int)rnd(64)};
        dync_dynamic dynamic = modes[k % 8 == 7 ? 2 : k % 2];
        int frames = 0;
        if (holds(&p, backend, dynamic, seed, &frames)) continue;
        const char *message = dync_error_message();
        printf("program %d of seed %llu on %s, dynamic %d: %s\n", k,
               (unsigned long long)test__state.seed, backend, (int)dynamic, message);
        shrink(&p, backend, dynamic, seed);
        for (int i = 0; i < p.n; i++)
            printf("  op %d of %d, %d\n", p.at[i].op, p.at[i].a, p.at[i].b);
        EXPECT(!"a program with changing sizes does what it does eagerly");
        dync_clear_error();
        return;
    }
}

/* ---- backward inside ------------------------------------------------------------------------- */

/* The program without its breaks and branches on values, its loss, and the gradients of both
 * inputs. */
static dync_value trained(const dync_value *args, int n, void *user)
{
    dync_value out = run(args, n, user);
    if (out.kind != DYNC_KIND_LIST) return DYNC_NONE;
    dync_tensor *loss = dync_add(dync_as_tensor(dync_at(out, 2)),
                                 dync_sum(dync_as_tensor(dync_at(out, 1)), DYNC_ALL, false));
    return dync_tuple(loss, dync_gradients(DYNC_V(loss), dync_tuple(args[0], args[1]), DYNC_NONE,
                                           (dync_grad_options){.allow_unused = true}));
}

static bool close_values(dync_value a, dync_value b)
{
    if (a.kind == DYNC_KIND_TENSOR && b.kind == DYNC_KIND_TENSOR)
        return dync_allclose(a.as.t, b.as.t, 2e-3, 1e-3);
    bool list = a.kind == DYNC_KIND_LIST,
         good = a.kind == b.kind && (!list || dync_len(a) == dync_len(b));
    for (int i = 0; good && list && i < dync_len(a); i++)
        good = close_values(dync_at(a, i), dync_at(b, i));
    return good;
}

static void steps(const char *backend, int count)
{
    int64_t before = dync_get_counters().frames, many = 0;
    for (int k = 0; k < count; k++) {
        uint64_t seed = state = 0x9e3779b97f4a7c15u * (test__state.seed + (uint64_t)k + 77) | 1;
        program p = {.n = 2 + (int)rnd(MAX_INS - 1)};
        for (int i = 0; i < p.n; i++) {
            p.at[i] = (ins){(int)rnd(OPS), (int)rnd(64), (int)rnd(64)};
            if (p.at[i].op == 21 || p.at[i].op == 22) p.at[i].op = 6;
        }
        dync_compiled *f = dync_compile(trained, .args = "x, y", .user = &p, .backend = backend,
                                        .fullgraph = true, .recompile_limit = 64,
                                        .dynamic = k % 2 ? DYNC_DYNAMIC_ON : DYNC_DYNAMIC_AUTO);
        bool good = true;
        int64_t frames = dync_get_counters().frames;
        for (int i = 0; i < 7 && good; i++) DYNC_SCOPE {
            int64_t n = 3 + rnd(9), m = 3 + rnd(9);
            dync_value args[2];
            for (int j = 0; j < 2; j++)
                args[j] =
                    DYNC_V(dync_requires_grad_(dync_sub(dync_rand(dync_shape(n, m)), 0.5), true));
            dync_value want = trained(args, 2, &p);
            dync_value got = dync_call_values(f, 2, args);
            good = close_values(got, want) && dync_error() == DYNC_OK;
        }
        many += dync_get_counters().frames - frames > 4;
        dync_compiled_free(f);
        if (EXPECT(good)) continue;
        printf("    %s: program %d, seed %llu: %s\n", backend, k, (unsigned long long)seed,
               dync_error_message());
        dync_clear_error();
    }
    if (!EXPECT(many <= count / 5))
        printf("    %d of %d programs were captured more than 4 times, %d captures\n", (int)many,
               count, (int)(dync_get_counters().frames - before));
}

TEST(on_eager) { programs("eager", 150); }
TEST(on_aot_eager) { programs("aot_eager", 100); }
TEST(on_inductor) { programs("inductor", 150); }

TEST(steps_on_eager) { steps("eager", 120); }
TEST(steps_on_aot_eager) { steps("aot_eager", 80); }
TEST(steps_on_inductor) { steps("inductor", 120); }

TEST_MAIN
