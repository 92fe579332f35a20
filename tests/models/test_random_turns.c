/* Random programs in turns: one compiled function called with several sizes, with and without
 * gradients, in grad mode and out of it, a module of it in training and not, each again and again,
 * its branches on data both ways. Values that only one way uses, results of a sort, a count or a
 * cast that are used twice, writes through views of inputs, operators with functions inside. It
 * must do what plain calls do: results, inputs, gradients, the module's statistics. `--seed N`
 * starts elsewhere, SOAK=N goes on longer. */
#include "sides.h"

enum { MAX_INS = 10, MAX_VALUES = 14, OPS = 36, TURNS = 18, COLUMNS = 6 };
typedef struct {
    int op, a, b;
} ins;
typedef struct {
    int n;
    ins at[MAX_INS];
    bool marked, on, free_columns;
} program;
typedef struct {
    const program *p;
    dync_module *norm;
} caller;
typedef struct {
    dync_tensor *v[MAX_VALUES];
    int n;
} pool;

/* ---- functions inside operators -------------------------------------------------------------- */
static dync_value inner(const dync_value *a, int n, void *user)
{
    dync_tensor *x = a[0].as.t;
    (void)n;
    switch (*(const int *)user % 4) {
    case 0: return DYNC_V(dync_tanh(x));
    case 1: return DYNC_V(dync_mul(dync_sigmoid(x), x));
    case 2: return DYNC_V(dync_sub(x, dync_mean(x, DYNC_ALL, false)));
    default: return DYNC_V(dync_mul(dync_softmax(x, -1), dync_cos(x)));
    }
}
static dync_value inner_step(const dync_value *a, int n, void *user)
{
    dync_value x = DYNC_V(dync_add(dync_mul(a[0].as.t, 0.5), a[1].as.t));
    dync_tensor *h = dync_as_tensor(inner(&x, n, user));
    return dync_tuple(h, dync_mul(h, 0.5));
}
static dync_tensor *all_of(dync_tensor *x) { return dync_sum(x, DYNC_ALL, false); }
static dync_tensor *controlled(dync_tensor *a, dync_tensor *b, int op, int kind)
{
    static const int number[8] = {0, 1, 2, 3, 0, 1, 2, 3};
    void *one = (void *)(uintptr_t)&number[kind % 4], *two = (void *)(uintptr_t)&number[kind % 3];
    if (op == 0)
        return dync_as_tensor(dync_cond(dync_gt(all_of(b), 0), dync_bind(inner, one, "x"),
                                        dync_bind(inner, two, "x"), a));
    if (op == 1) return dync_as_tensor(dync_map(dync_bind(inner, one, "x"), a));
    dync_value r = dync_scan(dync_bind(inner_step, one, "h, x"), dync_select(b, 0, 0), a);
    return dync_as_tensor(dync_at(r, 1));
}

/* ---- what sizes and data decide -------------------------------------------------------------- */
static dync_tensor *cast(dync_tensor *x, dync_dtype to) { return dync_to_dtype(x, to); }
static dync_tensor *sorted_twice(dync_tensor *a, dync_tensor *b, int dim, bool down)
{
    dync_value s = dync_sort(a, dim, down);
    dync_tensor *order = dync_as_tensor(dync_at(s, 1));
    return dync_add(dync_mul(dync_as_tensor(dync_at(s, 0)), 0.5),
                    dync_add(dync_gather(b, dim, order), dync_mul(cast(order, DYNC_F64), 0.01)));
}
static dync_tensor *found_twice(dync_tensor *a, dync_tensor *b)
{
    dync_tensor *at = dync_nonzero(dync_gt(a, 0)), *row = dync_select(at, 1, 0);
    return dync_add(dync_mul(b, 0.5),
                    dync_mul(dync_add(dync_sum(dync_index_select(a, 0, row), dync_shape(0), false),
                                      cast(all_of(at), DYNC_F64)),
                             0.001));
}
static dync_tensor *selected_twice(dync_tensor *a, dync_tensor *b)
{
    dync_tensor *x = dync_masked_select(a, dync_gt(b, 0));
    return dync_add(a, dync_mul(dync_add(all_of(x), all_of(dync_tanh(x))), 0.01));
}
static dync_tensor *cast_twice(dync_tensor *a, bool whole)
{
    dync_tensor *x = cast(whole ? dync_mul(a, 8.3) : a, whole ? DYNC_I64 : DYNC_F32);
    dync_tensor *y = whole ? cast(dync_eq(x, 0), DYNC_F64) : cast(dync_mul(x, x), DYNC_F64);
    return dync_add(dync_mul(cast(x, DYNC_F64), 0.25), y);
}
static dync_tensor *written_twice(dync_tensor *a, dync_tensor *b, int dim)
{
    dync_tensor *y = dync_clone(a), *row = dync_select(y, dim, 0);
    dync_add_(row, dync_select(b, dim, -1));
    dync_mul_(dync_slice(y, 1 - dim, 1, DYNC_END, 2), 0.5);
    return dync_add(y, dync_unsqueeze(row, dim));
}
/* An input, through a view of it, and then read by another. */
static dync_tensor *input_written(dync_tensor *x, dync_tensor *b, int kind)
{
    dync_tensor *v = kind % 3 == 0   ? dync_transpose(x, 0, 1)
                     : kind % 3 == 1 ? dync_slice(x, 0, 1, DYNC_END, 2)
                                     : dync_select(x, 1, -1);
    switch (kind / 3 % 4) {
    case 0: dync_mul_(v, 0.75); break;
    case 1: dync_tanh_(v); break;
    case 2: dync_copy_(dync_select(x, 0, -1), dync_select(b, 0, 0)); break;
    default: dync_masked_fill_(v, dync_gt(v, 0.5), 0.25); break;
    }
    return dync_mul(dync_flip(x, dync_shape(0)), 0.5);
}
static dync_tensor *two_ways(const pool *q, dync_tensor *a, dync_tensor *b, int kind)
{
    dync_tensor *other = q->v[kind % q->n], *unused = dync_exp(dync_tanh(b));
    if (dync_bool(dync_gt(all_of(kind % 2 ? a : q->v[0]), 0))) return dync_mul(dync_cos(a), 0.5);
    if (kind % 5 == 0) return dync_sub(a, unused);
    return dync_add(dync_mul(a, 0.5), kind % 3 ? other : unused);
}
static dync_tensor *normed(const caller *c, dync_tensor *a)
{
    dync_tensor *x = dync_unsqueeze(dync_unsqueeze(cast(a, DYNC_F32), 2), 3);
    return cast(dync_squeeze(dync_squeeze(dync_forward_call(c->norm, x), 3), 2), DYNC_F64);
}
static dync_tensor *without_grad(dync_tensor *a, dync_tensor *b)
{
    dync_tensor *y = NULL;
    DYNC_NO_GRAD {
        y = dync_mul(dync_sin(a), 0.5);
    }
    return dync_add(dync_mul(y, b), dync_detach(a));
}

/* Every value is n by m. */
static dync_tensor *apply(const caller *c, const pool *q, const ins *i)
{
    dync_tensor *a = q->v[i->a % q->n], *b = q->v[i->b % q->n], *x = q->v[0];
    int64_t n = dync_dim(x, 0), m = dync_dim(x, 1);
    int dim = i->b % 2;
    switch (i->op) {
    case 0: return dync_tanh(a);
    case 1: return dync_add(a, b);
    case 2: return dync_mul(dync_sigmoid(a), b);
    case 3: return dync_sub(a, dync_mean(b, dync_shape(dim), true));
    case 4: return dync_softmax(dync_add(a, b), dim);
    case 5: return dync_transpose(dync_relu(dync_transpose(a, 0, 1)), 0, 1);
    case 6: return dync_tanh(dync_matmul(a, dync_matmul(dync_transpose(b, 0, 1), a)));
    case 7: return dync_mul(dync_cumsum(a, dim), 0.1);
    case 8: return sorted_twice(a, b, dim, i->a % 3 == 0);
    case 9: return dync_scatter(b, dim, dync_argsort(a, dim, false), dync_mul(a, 0.5));
    case 10: return found_twice(a, b);
    case 11: return selected_twice(a, b);
    case 12: return cast_twice(a, false);
    case 13: return cast_twice(a, true);
    case 14:
    case 15:
    case 16: return two_ways(q, a, b, i->b);
    case 17: return dync_graph_break("turns"), dync_add(a, 0.5);
    case 18: return dync_mul(a, 1 / (1 + fabs(dync_item(dync_detach(all_of(b))))));
    case 19: return written_twice(a, b, dim);
    case 20:
    case 21: return input_written(q->v[i->a % 2], b, i->b);
    case 22: return controlled(a, b, 0, i->b);
    case 23: return controlled(a, b, 1, i->b);
    case 24: return controlled(a, b, 2, i->b);
    case 25: return dync_where(dync_lt(a, b), a, dync_mul(b, 0.5));
    case 26: return dync_index_add(a, dim, dync_argsort(dync_select(x, 1 - dim, 0), 0, true), b);
    case 27: return dync_roll(a, dync_shape(1), dync_shape(dim));
    case 28: return dync_slice(dync_cat(dync_tuple(a, dync_neg(b)), dim), dim, 0, dim ? m : n, 1);
    case 29: return dync_reshape(dync_add(dync_reshape(a, dync_shape(-1)), 1.0), dync_shape(n, m));
    case 30: return dync_sub(a, dync_amax(b, dync_shape(dim), true));
    case 31: return c->norm ? normed(c, a) : dync_layer_norm(a, dync_shape(m), NULL, NULL, 1e-5);
    case 32: return without_grad(a, b);
    case 33: /* a number, which a marked size may not become */
        return !c->p->marked && dync_size(x, 0) > 5 ? dync_sin(a) : dync_mul(a, 0.5);
    case 34: return dync_mul(a, dync_dim_gt(x, 0, 6) ? dync_sin(b) : dync_cos(b));
    default: return dync_gelu(a);
    }
}

static dync_value run(const dync_value *args, int n, void *user)
{
    const caller *c = user;
    pool q = {.n = 0};
    for (int i = 0; i < n; i++) q.v[q.n++] = args[i].as.t;
    for (int i = 0; i < c->p->n && q.n < MAX_VALUES; i++) {
        dync_tensor *r = apply(c, &q, &c->p->at[i]);
        if (dync_error()) return DYNC_NONE;
        q.v[q.n++] = r;
    }
    return dync_tuple(q.v[q.n - 1], dync_mul(q.v[q.n - 2], 1), dync_mean(q.v[2], DYNC_ALL, false));
}

/* ---- turns ----------------------------------------------------------------------------------- */
enum { RESULTS = 3, ALL = RESULTS + 4 + 2 };
typedef struct {
    int64_t n, m;
    bool train, grad_mode, training;
    double shift;
} turn;
static turn random_turn(const program *p)
{
    static const int64_t some[] = {2, 3, 4, 5, 7, 8, 9, 12, 17};
    turn t = {some[rnd(4) + rnd(6)], COLUMNS, rnd(2), rnd(4) != 0, rnd(2), rnd(2) ? 0.4 : -0.4};
    if (p->free_columns) t.m = some[rnd(9)];
    return t;
}

/* What one side has of a call: results, inputs, gradients, statistics. */
static bool side(const caller *c, dync_compiled *f, const turn *t, dync_tensor *const *data,
                 dync_tensor **got)
{
    dync_tensor *leaf[2];
    dync_value args[2], out = DYNC_NONE;
    for (int k = 0; k < 2; k++) {
        leaf[k] = dync_clone(data[k]);
        if (t->train) dync_requires_grad_(leaf[k], true);
        args[k] = DYNC_V(t->train ? dync_mul(leaf[k], 1) : leaf[k]);
        if (f && c->p->marked) dync_mark_dynamic(args[k].as.t, 0);
    }
    if (c->norm) dync_module_train(c->norm, t->training);
    dync_set_grad_enabled(t->grad_mode);
    out = f ? dync_call_values(f, 2, args) : run(args, 2, (void *)(uintptr_t)c);
    dync_set_grad_enabled(true);
    for (int k = 0; k < ALL; k++) got[k] = NULL;
    if (dync_error() || out.kind != DYNC_KIND_LIST) return false;
    for (int k = 0; k < RESULTS; k++) got[k] = dync_as_tensor(dync_at(out, k));
    dync_tensor *loss = dync_add(all_of(dync_mul(got[0], got[0])), all_of(dync_sin(got[1])));
    if (dync_requires_grad(loss)) dync_backward(loss);
    for (int k = 0; k < 2; k++) {
        got[RESULTS + k] = args[k].as.t;
        got[RESULTS + 2 + k] = t->train ? dync_grad(leaf[k]) : NULL;
    }
    for (int k = 0; k < 2 && c->norm; k++)
        got[RESULTS + 4 + k] =
            dync_clone(dync_module_buffer(c->norm, k ? "running_var" : "running_mean"));
    return dync_error() == DYNC_OK;
}

/* A graph may save arguments where what it does step by step saves results, as PyTorch's do:
 * writing over them is refused. Or it has copied what is written over. */
static bool refuses_write(void)
{
    return strstr(dync_error_message(), "modified by an inplace operation") != NULL;
}

/* *bad: the turn that goes wrong; *what: of got, -1: an error compiled, -2: plainly alone. */
static bool holds(const program *p, uint64_t seed, int *bad, int *what)
{
    bool uses_norm = false, singles = false, good = true;
    for (int i = 0; i < p->n; i++) {
        uses_norm |= p->at[i].op == 31 && !p->free_columns;
        singles |= uses_norm || p->at[i].op == 12; /* of f32 within */
    }
    caller c[2] = {{p, NULL}, {p, NULL}};
    for (int k = 0; k < 2 && uses_norm; k++) c[k].norm = dync_nn_batch_norm2d(COLUMNS);
    dync_compiled *f = dync_compile(run, .args = "x, y", .user = &c[0], .recompile_limit = 256,
                                    .dynamic = p->on ? DYNC_DYNAMIC_ON : DYNC_DYNAMIC_AUTO);
    state = seed;
    for (int i = 0; i < TURNS && good; i++) DYNC_SCOPE {
        turn t = random_turn(p);
        dync_tensor *data[2], *got[2][ALL];
        for (int k = 0; k < 2; k++)
            data[k] = cast(dync_add(dync_randn(dync_shape(t.n, t.m)), t.shift), DYNC_F64);
        *bad = i;
        bool fine = side(&c[1], NULL, &t, data, got[1]), over = refuses_write();
        dync_status plain = dync_error();
        *what = fine ? -1 : -2;
        dync_clear_error();
        good = side(&c[0], f, &t, data, got[0]) == fine && (fine || dync_error() == plain);
        if (refuses_write() || over) good = true, i = TURNS; /* what the norms know may differ */
        if (!fine || i == TURNS) dync_clear_error();
        for (int k = 0; k < ALL && good && fine && i < TURNS; k++) {
            good = alike(got[0][k], got[1][k], singles ? 1e-5 : k >= RESULTS + 2 ? 1e-5 : 1e-6);
            *what = k;
        }
    }
    dync_compiled_free(f);
    for (int k = 0; k < 2; k++) dync_module_free(c[k].norm);
    return good;
}

static void shrink(program *p, uint64_t seed)
{
    int bad, what;
    for (bool less = true; less;) {
        less = false;
        for (int i = p->n - 1; i >= 0; i--) {
            program q = *p;
            memmove(&q.at[i], &q.at[i + 1], (size_t)(q.n - i - 1) * sizeof *q.at);
            q.n--;
            dync_clear_error();
            if (!holds(&q, seed, &bad, &what)) *p = q, less = true;
        }
    }
}

static void quiet(dync_status status, const char *message, void *user)
{
    (void)status, (void)message, (void)user;
}
TEST(as_plain_in_every_turn)
{
    int n = test_count(40), bad, what;
    dync_on_error(quiet, NULL);
    for (int k = 0; k < n; k++) {
        uint64_t number = test__state.seed * 1000003 + (uint64_t)k;
        uint64_t seed = state = 0x9e3779b97f4a7c15u * (number + 1) | 1;
        for (int i = 0; i < 8; i++) rnd(2);
        program p = {.n = 1 + (int)rnd(MAX_INS)};
        p.on = rnd(2), p.marked = rnd(4) == 0, p.free_columns = rnd(3) == 0;
        for (int i = 0; i < p.n; i++) p.at[i] = (ins){(int)rnd(OPS), (int)rnd(64), (int)rnd(64)};
        dync_manual_seed(seed);
        if (test__state.verbose > 1) printf("program %d\n", k);
        if (holds(&p, seed, &bad, &what)) continue;
        printf("program %d of seed %llu: %s\n", k, (unsigned long long)test__state.seed,
               dync_error_message());
        shrink(&p, seed);
        dync_clear_error();
        holds(&p, seed, &bad, &what);
        for (int i = 0; i < p.n; i++)
            printf("  op %d of %d, %d\n", p.at[i].op, p.at[i].a, p.at[i].b);
        printf("  in turn %d, value %d%s%s%s: %s\n", bad, what, p.on ? ", on" : "",
               p.marked ? ", marked" : "", p.free_columns ? ", both sizes" : "",
               dync_error_message());
        EXPECT(!"a compiled function does what it does plainly, in every turn");
        dync_clear_error();
    }
    dync_on_error(NULL, NULL);
}

TEST_MAIN
