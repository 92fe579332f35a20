/* Random programs: operators, views, writes in place, branches on values, breaks, frames, hooks,
 * several calls with changing data; some with backward and an update of their arguments inside,
 * under fullgraph. Compiled on every backend they must do what they do eagerly: results, written
 * arguments, gradients. A failing program is shrunk by dropping instructions and printed with its
 * seed; where one of its graphs fails alone, the minifier shrinks that and it is printed as C.
 * `--seed N` starts elsewhere. */
#include "../capture/counter.h"

enum { MAX_INS = 24, MAX_VALUES = 32 };
typedef struct {
    int op, a, b;
    double k;
} ins;
typedef struct {
    int n, n_args, train, inside;
    ins at[MAX_INS];
    int out[3];
} program;

static uint64_t state;
static uint32_t rnd(uint32_t n)
{
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (uint32_t)(state >> 33) % n;
}

/* ---- what an instruction does to the pool of values (all f32 [4, 6]) ------------------------- */
typedef struct {
    dync_tensor *v[MAX_VALUES];
    int n;
    const program *p;
} pool;
static dync_tensor *inner_frame(dync_tensor *x, dync_tensor *y)
{
    return dync_add(dync_tanh(x), y);
}
static dync_tensor *broken_frame(dync_tensor *x, dync_tensor *y)
{
    dync_tensor *a = dync_mul(x, 0.5);
    dync_graph_break("random");
    return dync_sub(a, dync_cos(y));
}

static dync_tensor *halved(dync_tensor *g, void *user)
{
    (void)user;
    return dync_mul(g, 0.5);
}

static dync_tensor *apply(pool *q, const ins *i)
{
    dync_tensor *a = q->v[i->a], *b = q->v[i->b];
    bool train = q->p->train;
    switch (i->op) {
    case 0: return dync_add(a, b);
    case 1: return dync_mul(a, dync_sigmoid(b));
    case 2: return dync_sub(a, i->k);
    case 3: return dync_tanh(a);
    case 4: return dync_relu(dync_add(a, i->k));
    case 5: return dync_exp(dync_neg(dync_abs(a)));
    case 6: return dync_softmax(a, i->k > 0 ? 1 : 0);
    case 7: return dync_sub(a, dync_mean(b, dync_shape(1), true));
    case 8: return dync_add(a, dync_sum(b, dync_shape(0), true));
    case 9: return dync_reshape(dync_transpose(a, 0, 1), dync_shape(4, 6));
    case 10: return dync_matmul(dync_matmul(a, dync_transpose(b, 0, 1)), a);
    case 11: return dync_where(dync_gt(a, b), a, dync_mul(b, i->k));
    case 12: return dync_cat(dync_tuple(dync_slice(a, 1, 3, 6, 1), dync_slice(b, 1, 0, 3, 1)), 1);
    case 13: return dync_add(dync_expand(dync_select(a, 0, 1), dync_shape(4, 6)), b);
    case 14: return dync_maximum(a, dync_amax(b, dync_shape(1), true));
    case 15: return dync_div(a, dync_add(dync_sqrt(dync_add(dync_mul(b, b), 1)), 1));
    case 16:
        return dync_clone(dync_permute(dync_view(a, dync_shape(2, 2, 6)), dync_shape(1, 0, 2)))
                   ? dync_view(dync_clone(a), dync_shape(4, 6))
                   : NULL;
    case 17: return dync_sin(dync_mul(a, 2));
    /* in place: on a fresh copy where gradients are wanted from the original */
    case 18: {
        dync_tensor *c = train ? dync_mul(a, 1.5) : a;
        dync_add_(c, b);
        return c;
    }
    case 19: {
        dync_tensor *c = train ? dync_add(a, 1) : a;
        dync_mul_(dync_select(c, 1, 2), i->k);
        return c;
    }
    case 20: {
        dync_tensor *c = dync_mul(a, 1);
        dync_copy_(dync_slice(c, 0, 1, 3, 1), dync_slice(b, 0, 0, 2, 1));
        return c;
    }
    /* a view of a */
    case 21: return dync_transpose(dync_slice(dync_transpose(a, 0, 1), 0, 0, 6, 1), 0, 1);
    case 22:
        return dync_bool(dync_gt(dync_sum(a, DYNC_ALL, false), i->k)) ? dync_add(a, 1)
                                                                      : dync_mul(b, 2);
    case 23: dync_graph_break("random"); return dync_add(a, b);
    case 24: return dync_frame(inner_frame, a, b);
    case 25: return dync_frame(broken_frame, a, b);
    case 26: return dync_mul(a, dync_item(dync_mean(dync_sigmoid(b), DYNC_ALL, false)));
    case 27:
        /* the value just made: later it may be too late, and compiled code says so */
        a = q->v[q->n - 1];
        if (dync_requires_grad(a)) dync_register_hook(a, halved, NULL);
        return dync_add(a, b);
    default: return dync_gelu(dync_sub(a, b));
    }
}
enum { N_OPS = 29 };
static bool breaks(int op) { return op == 22 || op == 23 || op == 25 || op == 26; }

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

static dync_value run(const dync_value *args, int n, void *user)
{
    const program *p = user;
    pool q = {.p = p};
    for (int i = 0; i < n; i++) q.v[q.n++] = dync_as_tensor(args[i]);
    for (int i = 0; i < p->n; i++) {
        dync_tensor *made = apply(&q, &p->at[i]);
        if (!made) return DYNC_NONE;
        q.v[q.n++] = made;
    }
    dync_value r = dync_tuple(q.v[p->out[0]], q.v[p->out[1]], q.v[p->out[2]]);
    dync_tensor *loss = p->inside ? loss_of(r) : NULL;
    if (!loss) return r;
    if (dync_backward(loss) != DYNC_OK) return DYNC_NONE;
    for (int i = 0; i < n; i++) {
        dync_tensor *x = dync_as_tensor(args[i]), *g = dync_grad(x);
        DYNC_NO_GRAD {
            if (g) dync_sub_(x, dync_mul(g, 0.1));
        }
        if (p->inside == 2) dync_set_grad(x, NULL);
    }
    return r;
}

static void make(program *p)
{
    memset(p, 0, sizeof *p);
    p->n_args = 2 + (int)rnd(2);
    p->train = (int)rnd(2);
    p->inside = p->train ? (int)rnd(3) : 0;
    p->n = 1 + (int)rnd(MAX_INS - 1);
    for (int i = 0; i < p->n; i++) {
        int have = p->n_args + i;
        int op = (int)rnd(N_OPS);
        if (p->inside && breaks(op)) op = 0;
        p->at[i] = (ins){op, have - 1 - (int)rnd(have < 5 ? (uint32_t)have : 5),
                         (int)rnd((uint32_t)have), (double)rnd(400) / 100 - 2};
    }
    for (int i = 0; i < 3; i++)
        p->out[i] = p->n_args + p->n - 1 - (int)rnd(p->n < 4 ? (uint32_t)p->n : 4);
}

static void show(const program *p)
{
    printf("%d args%s%s\n", p->n_args, p->train ? ", with gradients" : "",
           p->inside ? ", backward inside" : "");
    for (int i = 0; i < p->n; i++)
        printf("  v%d = op%d(v%d, v%d, %.2f)\n", p->n_args + i, p->at[i].op, p->at[i].a, p->at[i].b,
               p->at[i].k);
    printf("  return v%d, v%d, v%d\n", p->out[0], p->out[1], p->out[2]);
}

/* ---- one program on one backend -------------------------------------------------------------- */
typedef struct {
    dync_tensor *t[12];
    int n;
} outcome;
static void keep(outcome *o, dync_tensor *t) { o->t[o->n++] = t ? dync_detach(t) : NULL; }

static outcome run_once(dync_compiled *f, const program *p, dync_tensor *const *data)
{
    outcome o = {.n = 0};
    dync_value args[3];
    dync_tensor *in[3];
    for (int i = 0; i < p->n_args; i++) {
        in[i] = dync_clone(data[i]);
        if (p->train) dync_requires_grad_(in[i], true);
        args[i] = DYNC_V(in[i]);
    }
    dync_value r = f ? dync_call_values(f, p->n_args, args)
                     : run(args, p->n_args, (void *)(uintptr_t)p);
    if (r.kind != DYNC_KIND_LIST) return o;
    for (int i = 0; i < 3; i++) keep(&o, dync_as_tensor(dync_at(r, i)));
    dync_tensor *loss = p->train && !p->inside ? loss_of(r) : NULL;
    if (loss) dync_backward(loss);
    for (int i = 0; i < p->n_args; i++) {
        keep(&o, in[i]);
        keep(&o, p->train ? dync_grad(in[i]) : NULL);
    }
    return o;
}

static bool agrees(const program *p, const char *backend, uint64_t data_seed)
{
    bool ok = true;
    dync_compiled *f = dync_compile(run, .args = "a, b, c", .backend = backend,
                                    .user = (void *)(uintptr_t)p, .fullgraph = p->inside != 0);
    dync_manual_seed(data_seed);
    for (int call = 0; call < 3 && ok; call++) DYNC_SCOPE {
        dync_tensor *data[3];
        for (int i = 0; i < 3; i++) data[i] = dync_randn(dync_shape(4, 6));
        outcome want = run_once(NULL, p, data), got = run_once(f, p, data);
        ok = want.n == got.n && want.n > 0 && dync_error() == DYNC_OK;
        for (int i = 0; i < want.n && ok; i++) {
            /* one node stands for a whole segment: where eager has no gradient it may give
                 * zeros, as PyTorch's does */
            if (!want.t[i])
                ok = !got.t[i] || dync_item(dync_sum(dync_abs(got.t[i]), DYNC_ALL, false)) == 0;
            else
                ok = got.t[i] && dync_allclose(got.t[i], want.t[i], 1e-3, 1e-4);
        }
    }
    if (dync_error() != DYNC_OK) printf("error: %s\n", dync_error_message()), dync_clear_error();
    dync_compiled_free(f);
    return ok;
}

/* Drops instructions while the program still fails. */
static void shrink(program *p, const char *backend, uint64_t data_seed)
{
    for (bool again = true; again;) {
        again = false;
        for (int i = p->n - 1; i >= 0; i--) {
            program q = *p;
            int gone = p->n_args + i;
            for (int k = i; k + 1 < p->n; k++) q.at[k] = p->at[k + 1];
            q.n--;
            for (int k = i; k < q.n; k++) {
                if (q.at[k].a >= gone) q.at[k].a -= q.at[k].a > gone || gone > 0;
                if (q.at[k].b >= gone) q.at[k].b -= q.at[k].b > gone || gone > 0;
            }
            for (int k = 0; k < 3; k++)
                if (q.out[k] >= gone) q.out[k]--;
            if (q.n > 0 && !agrees(&q, backend, data_seed)) {
                *p = q;
                again = true;
            }
        }
    }
}

/* The graphs of a failing program, each alone: is there one whose results are wrong? */
typedef struct {
    char backend[64];
    int nodes;
} suspect;
static dync_status compile_suspect(dync_graph *g, const dync_value *ex, int n, const char *options,
                                   dync_callable *out, void *user)
{
    suspect *s = user;
    (void)options;
    if (!s->nodes && dync_fails_accuracy(g, ex, n, s->backend)) {
        dync_minified m = dync_minify(g, dync_tuple_of(n, ex), dync_fails_accuracy, s->backend);
        if (m.graph) printf("this graph is wrong on %s:\n%s", s->backend, dync_graph_str(m.graph));
        s->nodes = m.graph ? dync_graph_len(m.graph) : 0;
    }
    return dync_lookup_backend("eager")->compile(g, ex, n, NULL, out, NULL);
}
static int print_small(const program *p, const char *backend, uint64_t data_seed)
{
    suspect s = {.nodes = 0};
    snprintf(s.backend, sizeof s.backend, "%s", backend);
    dync_backend b = {.name = "suspect", .compile = compile_suspect, .user = &s};
    dync_compiled *f = dync_compile(run, .args = "a, b, c", .backend_object = &b,
                                    .user = (void *)(uintptr_t)p, .fullgraph = p->inside != 0);
    dync_manual_seed(data_seed);
    DYNC_SCOPE {
        dync_tensor *data[3];
        for (int i = 0; i < 3; i++) data[i] = dync_randn(dync_shape(4, 6));
        run_once(f, p, data);
    }
    dync_compiled_free(f);
    return s.nodes;
}

static void many(const char *backend, int count)
{
    for (int i = 0; i < count && !test__state.failures; i++) {
        uint64_t seed = test__state.seed * 1000003 + (uint64_t)i;
        state = seed * 0x9e3779b97f4a7c15u + 88172645463325252u;
        program p;
        make(&p);
        bool ok = false;
        DYNC_SCOPE {
            ok = agrees(&p, backend, seed);
        }
        if (ok) continue;
        shrink(&p, backend, seed);
        printf("program %d of --seed %llu on %s, shrunk:\n", i,
               (unsigned long long)test__state.seed, backend);
        show(&p);
        print_small(&p, backend, seed);
        EXPECT(!"a compiled program differs from eager");
    }
}
#ifndef COUNT
#define COUNT 700
#endif
TEST(random_programs_eager) { many("eager", COUNT); }
TEST(random_programs_aot_eager) { many("aot_eager", COUNT); }
TEST(random_programs_inductor) { many("inductor", COUNT); }

/* What a failure looks like: a backend that is wrong where there is a relu. */
TEST(failures_are_printed_small)
{
    static const char wrong[] = "relu_accuracy_error_TESTING_ONLY";
    int found = 0;
    for (uint64_t seed = 1; seed < 60 && found < 3; seed++) {
        program p;
        state = seed * 0x9e3779b97f4a7c15u;
        make(&p);
        if (agrees(&p, wrong, seed)) continue;
        shrink(&p, wrong, seed);
        EXPECT(p.n <= 4);
        EXPECT_EQ_INT(print_small(&p, wrong, seed), 3);
        found++;
    }
    EXPECT_EQ_INT(found, 3);
}
TEST_MAIN
