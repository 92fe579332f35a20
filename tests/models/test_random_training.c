/* Random training programs: operators, views of every kind, writes in place through them, detach,
 * sections without grad mode, breaks, hooks, over inputs that share memory and history, with
 * outputs that alias inputs and each other. Compiled on every AOT backend they must do what they do
 * eagerly: outputs, gradients, written inputs, who shares memory with whom, is_leaf, requires_grad.
 * A failing program is shrunk and printed with its seed; `--seed N` starts elsewhere. */
#include "../capture/counter.h"

enum {
    MAX_INS = 20,
    MAX_ARGS = 4,
    MAX_OUT = 5,
    MAX_VALUES = MAX_ARGS + MAX_INS,
    MAX_ALL = MAX_ARGS + MAX_OUT
};
typedef struct {
    int op, a, b;
    uint32_t r;
    bool no_grad;
} ins;
typedef struct {
    int n, n_args, n_out, out[MAX_OUT], arg[MAX_ARGS], after;
    bool breaks;
    ins at[MAX_INS];
} program;

static uint64_t state;
static uint32_t rnd(uint32_t n)
{
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (uint32_t)(state >> 33) % n;
}

/* ---- instructions ---------------------------------------------------------------------------- */
static dync_dims shape_of(dync_tensor *t)
{
    dync_dims d = {.n = dync_ndim(t)};
    for (int i = 0; i < d.n; i++) d.d[i] = dync_size(t, i);
    return d;
}
/* b in a form that broadcasts with a: itself, or a sum where the shapes do not go together. */
static dync_tensor *fit(dync_tensor *a, dync_tensor *b)
{
    dync_dims x = shape_of(a), y = shape_of(b);
    bool fits = y.n <= x.n;
    for (int i = 0; i < y.n && fits; i++)
        fits = y.d[y.n - 1 - i] == 1 || y.d[y.n - 1 - i] == x.d[x.n - 1 - i];
    return fits ? b : dync_sum(dync_mul(b, 0.1), DYNC_ALL, false);
}
static dync_tensor *halved(dync_tensor *g, void *user)
{
    (void)user;
    return dync_mul(g, 0.5);
}
static dync_tensor *watched(dync_tensor *g, void *user)
{
    (void)user, (void)g;
    return NULL;
}

static dync_tensor *first_column(dync_tensor *a)
{
    return dync_as_strided(a, dync_shape(dync_size(a, 0)), dync_shape(dync_stride(a, 0)), 0);
}
/* On a value that was just made: compiled code still can hang a hook there. */
static dync_tensor *hooked(dync_tensor *t, dync_hook fn)
{
    if (t && dync_requires_grad(t)) dync_register_hook(t, fn, NULL);
    return t;
}

/* clang-format off */
#define OPS(X)                                                                                                        \
    X(add, dync_add(a, fit(a, b))) X(mul, dync_mul(a, dync_sigmoid(fit(a, b)))) X(scale, dync_mul(a, k)) X(sin,       \
      dync_sin(a)) X(tanh, dync_tanh(a))                                                                              \
    X(relu, dync_relu(a)) X(softmax, dync_softmax(a, -1)) X(mean, dync_mean(a, DYNC_ALL, false)) X(sum,               \
      dync_sum(a, dync_shape(-1), true))                                                                              \
    X(where, dync_where(dync_gt(a, 0), a, dync_mul(a, k))) X(matmul,                                                  \
      n < 2 ? dync_mul(a, a) : dync_matmul(a, dync_transpose(a, -1, -2)))                                             \
    X(clone, dync_clone(a)) X(contiguous, dync_contiguous(a)) X(cat, n ? dync_cat(dync_tuple(a, a), 0) : dync_neg(a)) \
    X(stack, dync_stack(dync_tuple(a, dync_sin(a)), 0)) X(index_select,                                               \
      n ? dync_index_select(a, 0, dync_zeros(dync_shape(2), .dtype = DYNC_I64)) : a)                                  \
    /* views */                                                                                                       \
    X(transpose, n < 2 ? dync_unsqueeze(a, 0) : dync_transpose(a, 0, -1)) X(select,                                   \
      n ? dync_select(a, (int)(r % n), -1) : same_data(a))                                                            \
    X(slice, n ? dync_slice(a, (int)(r % n), r / 8 % 2, DYNC_END, 1 + r / 16 % 2) : same_data(a))                     \
    X(narrow, n ? dync_narrow(a, (int)(r % n), 0, (dync_size(a, (int)(r % n)) + 1) / 2) : same_data(a)) X(unsqueeze,  \
      dync_unsqueeze(a, (int)(r % (n + 1))))                                                                          \
    X(squeeze, dync_squeeze(a, n ? (int)(r % n) : 0)) X(view, dync_reshape(a, dync_shape(-1))) X(reshape,             \
      dync_reshape(a, dync_shape(1, -1)))                                                                             \
    X(expand, n && n < 4 ? dync_expand(dync_unsqueeze(a, 0), expanded(a)) : same_data(a)) X(diagonal,                 \
      n > 1 ? dync_diagonal(a, 0, 0, 1) : same_data(a))                                                               \
    X(as_strided, n ? first_column(r % 4 ? dync_clone(a) : dync_detach(a)) : same_data(a))                            \
    X(permute,                                                                                                        \
      n == 3 ? dync_permute(a, dync_shape(2, 0, 1)) : dync_movedim(a, dync_shape(0), dync_shape(-1))) X(detach,       \
      dync_detach(a))                                                                                                 \
    X(chunk, n ? dync_as_tensor(dync_at(dync_chunk(a, 2, 0), (int)(r % 2))) : a) X(unbind,                            \
      n ? dync_as_tensor(dync_at(dync_unbind(a, 0), 0)) : a)                                                          \
    /* in place */                                                                                                    \
    X(add_, dync_add_(a, fit(a, b))) X(mul_, dync_mul_(a, k)) X(mulb_, dync_mul_(a, dync_tanh(fit(a, b)))) X(copy_,   \
      dync_copy_(a, fit(a, b)))                                                                                       \
    X(fill_, dync_fill_(a, k)) X(zero_, dync_zero_(a)) X(sigmoid_, dync_sigmoid_(a)) X(sin_, dync_sin_(a)) X(relu_,   \
      dync_relu_(a))                                                                                                  \
    X(masked_fill_, dync_masked_fill_(a, dync_gt(a, 0.5), k)) X(clamp_, dync_clamp_(a, -0.7, 0.8)) X(addcmul_,        \
      dync_addcmul_(a, fit(a, b), fit(a, b), 0.5))                                                                    \
    X(lerp_, dync_lerp_(a, dync_clone(fit(a, b)), 0.25)) X(row_mul_,                                                  \
      n ? (dync_mul_(dync_select(a, 0, 0), k), a) : dync_mul_(a, k))                                                  \
    X(row_copy_, n ? (dync_copy_(dync_select(a, 0, -1), dync_cos(dync_select(a, 0, 0))), a) : dync_neg(a))            \
    X(column_, n > 1 ? (dync_add_(dync_select(dync_transpose(a, 0, 1), 0, 0), k), a) : dync_neg(a))                   \
    X(diagonal_, n > 1 ? (dync_sin_(dync_diagonal(a, 0, 0, 1)), a) : dync_neg(a))                                     \
    /* others */                                                                                                      \
    X(hook, hooked(dync_mul(a, 1.5), r % 2 ? halved : watched))                                                       \
    X(argmax, dync_argmax(a, n ? -1 : 0, false)) X(gt, dync_gt(a, k)) X(to_f64,                                       \
      dync_to_dtype(dync_to_dtype(a, DYNC_F64), DYNC_F32))                                                            \
    X(nop, a) X(graph_break, (dync_graph_break("random"), dync_add(a, 1)))
/* clang-format on */
#define X(name, expr) OP_##name,
enum { OPS(X) N_OPS };
#undef X
#define X(name, expr) #name,
static const char *const op_names[] = {OPS(X)};
#undef X

static dync_dims expanded(dync_tensor *a)
{
    dync_dims d = shape_of(a);
    for (int i = d.n++; i > 0; i--) d.d[i] = d.d[i - 1];
    d.d[0] = 2;
    return d;
}
static dync_tensor *same_data(dync_tensor *a) { return dync_unsqueeze(a, 0); }

static dync_tensor *apply(const ins *i, dync_tensor *a, dync_tensor *b)
{
    double k = (double)(i->r % 31) / 10 - 1.5;
    int n = dync_ndim(a);
    uint32_t r = i->r;
    (void)b, (void)k, (void)n;
    switch (i->op) {
#define X(name, expr) \
    case OP_##name: return expr;
        OPS(X)
#undef X
    default: return NULL;
    }
}

static dync_value run_some(const program *p, int n_ins, const dync_value *args)
{
    dync_tensor *v[MAX_VALUES];
    dync_value out[MAX_OUT];
    int n = 0;
    for (int i = 0; i < p->n_args; i++) v[n++] = dync_as_tensor(args[i]);
    for (int i = 0; i < n_ins; i++) {
        const ins *s = &p->at[i];
        dync_tensor *a = v[s->a];
        if (dync_type(a) != DYNC_F32) a = v[0];
        dync_tensor *b = dync_type(v[s->b]) == DYNC_F32 ? v[s->b] : v[0], *made = NULL;
        if (s->no_grad) {
            DYNC_NO_GRAD {
                made = apply(s, a, b);
            }
        } else
            made = apply(s, a, b);
        if (!(v[n++] = made)) return DYNC_NONE;
    }
    for (int i = 0; i < p->n_out; i++) out[i] = dync_v_tensor(v[p->out[i] < n ? p->out[i] : n - 1]);
    return dync_tuple_of(p->n_out, out);
}
static dync_value run(const dync_value *args, int n, void *user)
{
    const program *p = user;
    (void)n;
    return run_some(p, p->n, args);
}

/* ---- inputs ---------------------------------------------------------------------------------- */
/* All are made of two leaves and a plain tensor: */
enum {
    IN_LEAF,
    IN_PLAIN,
    IN_INNER,
    IN_ROWS,
    IN_ROWS2,
    IN_BASE,
    IN_TRANSPOSED,
    IN_DETACHED,
    IN_PLAIN_ROWS,
    IN_STRIDED,
    IN_EXPANDED,
    IN_EMPTY,
    IN_SCALAR,
    IN_FIRST,
    N_IN
};
static const char *const in_names[] = {
    "leaf",     "plain",           "inner",         "rows of base",   "other rows of base",
    "base",     "transposed base", "detached base", "rows of plain",  "strided",
    "expanded", "empty",           "scalar",        "the first again"};
typedef struct {
    dync_tensor *leaf[2], *arg[MAX_ARGS];
} inputs;
/* in calls with other sizes: more */
static int64_t rows = 3;
static inputs make_inputs(const program *p)
{
    inputs in;
    for (int i = 0; i < 2; i++) in.leaf[i] = dync_randn(dync_shape(rows, 4), .requires_grad = true);
    dync_tensor *plain = dync_randn(dync_shape(rows, 4)), *base = dync_mul(in.leaf[0], 1.25),
                *wide = dync_randn(dync_shape(rows + 1, 8));
    for (int i = 0; i < p->n_args; i++) {
        dync_tensor *t = NULL;
        switch (p->arg[i]) {
        case IN_LEAF: t = in.leaf[1]; break;
        case IN_PLAIN: t = plain; break;
        case IN_INNER: t = dync_mul(in.leaf[1], 0.75); break;
        case IN_ROWS: t = dync_slice(base, 0, 0, 2, 1); break;
        case IN_ROWS2: t = dync_slice(base, 0, 1, 3, 1); break;
        case IN_BASE: t = base; break;
        case IN_TRANSPOSED: t = dync_transpose(base, 0, 1); break;
        case IN_DETACHED: t = dync_detach(base); break;
        case IN_PLAIN_ROWS: t = dync_slice(plain, 0, 1, 3, 1); break;
        case IN_STRIDED: t = dync_slice(wide, 1, 0, DYNC_END, 2); break;
        case IN_EXPANDED: t = dync_expand(dync_select(plain, 0, 0), dync_shape(rows, 4)); break;
        case IN_EMPTY: t = dync_randn(dync_shape(0, 4)); break;
        case IN_SCALAR: t = dync_mean(in.leaf[0], DYNC_ALL, false); break;
        default: t = i ? in.arg[0] : plain; break;
        }
        in.arg[i] = t;
    }
    return in;
}

/* ---- one run --------------------------------------------------------------------------------- */
/* backend of compiled autograd, where backward is captured too */
static const char *captured;
typedef struct {
    int n_args, n;
    dync_tensor *t[MAX_ALL], *grad[2];
    dync_status forward, after, backward;
    char message[400];
} outcome;
static dync_status take_error(outcome *o)
{
    dync_status s = dync_error();
    if (s != DYNC_OK) snprintf(o->message, sizeof o->message, "%s", dync_error_message());
    dync_clear_error();
    return s;
}
static outcome run_once(dync_compiled *f, const program *p, int n_ins, uint64_t seed)
{
    outcome o = {.n = 0};
    dync_value args[MAX_ARGS];
    dync_tensor *loss = NULL;
    dync_manual_seed(seed);
    inputs in = make_inputs(p);
    for (int i = 0; i < p->n_args; i++) args[i] = dync_v_tensor(o.t[o.n++] = in.arg[i]);
    o.n_args = o.n;
    dync_value r = f ? dync_call_values(f, p->n_args, args) : run_some(p, n_ins, args);
    o.forward = take_error(&o);
    if (o.forward != DYNC_OK) return o;
    for (int i = 0; i < dync_len(r); i++) o.t[o.n++] = dync_as_tensor(dync_at(r, i));
    if (p->after == 1 && o.n > o.n_args && dync_type(o.t[o.n_args]) == DYNC_F32)
        dync_mul_(o.t[o.n_args], 3);
    if (p->after == 2 && p->n_args && dync_type(o.t[0]) == DYNC_F32) dync_sin_(o.t[0]);
    if (p->after == 3 && o.n > o.n_args && dync_type(o.t[o.n - 1]) == DYNC_F32) DYNC_NO_GRAD {
        dync_add_(o.t[o.n - 1], 1);
    }
    o.after = take_error(&o);
    for (int i = 0; i < o.n; i++) {
        if (!dync_requires_grad(o.t[i])) continue;
        dync_tensor *part = dync_sum(dync_mul(o.t[i], 0.5 + i), DYNC_ALL, false);
        loss = loss ? dync_add(loss, part) : part;
    }
    if (loss && f && captured) {
        DYNC_COMPILED_AUTOGRAD(captured) dync_backward(loss);
    } else if (loss) {
        dync_backward(loss);
    }
    o.backward = take_error(&o);
    for (int i = 0; i < 2; i++) o.grad[i] = dync_grad(in.leaf[i]);
    return o;
}

/* ---- comparing ------------------------------------------------------------------------------- */
static dync_tensor *numbers(dync_tensor *t)
{
    return dync_where(dync_ne(dync_detach(t), dync_detach(t)), 12345, dync_detach(t));
}
static bool equal(dync_tensor *a, dync_tensor *b)
{
    return dync_ndim(a) == dync_ndim(b) && same(numbers(a), numbers(b), 1e-3);
}
/* Distance in bytes where the two lie on one memory: overlapping, as far as their bounds tell. */
static bool meet(dync_tensor *a, dync_tensor *b, int64_t *distance)
{
    char *p[2] = {dync_data(a), dync_data(b)};
    int64_t span[2];
    for (int i = 0; i < 2; i++) {
        dync_tensor *t = i ? b : a;
        span[i] = 1;
        for (int d = 0; d < dync_ndim(t); d++) span[i] += (dync_size(t, d) - 1) * dync_stride(t, d);
        if (!dync_numel(t)) return false;
        span[i] *= dync_type(t) == DYNC_F32 ? 4 : dync_type(t) == DYNC_I64 ? 8 : 1;
    }
    *distance = (int64_t)((intptr_t)p[1] - (intptr_t)p[0]);
    return *distance < span[0] && -*distance < span[1];
}
static const char *differs(const program *p, const outcome *a, const outcome *b)
{
    if (a->forward != b->forward) return b->forward ? b->message : "an error that does not come";
    if (a->forward != DYNC_OK) return NULL;
    if (a->n != b->n) return "number of outputs";
    /* a view made without grad mode of a value that only a plain call still has */
    if (a->after && !b->after && strstr(a->message, "created in no_grad mode")) return NULL;
    if (a->after != b->after)
        return b->after ? b->message : "an error of a write that does not come";
    for (int i = 0; i < a->n; i++) {
        dync_tensor *x = a->t[i], *y = b->t[i];
        if (!equal(x, y)) return i < a->n_args ? "an input" : "an output";
        if (dync_requires_grad(x) != dync_requires_grad(y)) return "requires_grad";
        if (dync_is_leaf(x) != dync_is_leaf(y)) return "is_leaf";
        for (int k = 0; k < i; k++) {
            int64_t d = 0, e = 0;
            if ((x == a->t[k]) != (y == b->t[k])) return "identity";
            if (meet(x, a->t[k], &d) != meet(y, b->t[k], &e) || d * (d == e) != e * (d == e))
                return "memory";
        }
    }
    if (a->backward != DYNC_OK) return NULL; /* compiled code may be able to */
    /* one node holds what all values of a graph need, those too that the loss does not */
    if (b->backward != DYNC_OK && (p->breaks || p->after) &&
        strstr(b->message, "modified by an inplace operation"))
        return NULL;
    if (b->backward != DYNC_OK) return b->message;
    for (int i = 0; i < 2; i++) {
        /* one node stands for the whole: where eager has no gradient it may give zeros */
        if (!a->grad[i] && b->grad[i] &&
            dync_item(dync_sum(dync_abs(b->grad[i]), DYNC_ALL, false)) > 0)
            return "a gradient too many";
        if (a->grad[i] && !(b->grad[i] && equal(a->grad[i], b->grad[i]))) return "a gradient";
    }
    return NULL;
}
static bool growing;
static const char *fails(const program *p, const char *backend, uint64_t seed)
{
    static char text[430];
    const char *what = NULL;
    program mine = *p;
    dync_compiled *f = dync_compile(run, .args = "a, b, c, d", .backend = backend, .user = &mine,
                                    .fullgraph = !p->breaks);
    for (uint64_t call = 0; call < 3 && !what; call++) DYNC_SCOPE {
        rows = growing ? 3 + (int64_t)call : 3;
        outcome want = run_once(NULL, p, p->n, seed + call),
                got = run_once(f, p, p->n, seed + call);
        what = differs(p, &want, &got);
        if (what) snprintf(text, sizeof text, "call %d: %s", (int)call, what);
    }
    rows = 3;
    dync_compiled_free(f);
    dync_clear_error();
    return what ? text : NULL;
}

/* ---- programs -------------------------------------------------------------------------------- */
/* Instructions that eager refuses are not taken; those that make backward an error seldom. */
static void make(program *p, uint64_t seed)
{
    state = seed * 0x9e3779b97f4a7c15u + 88172645463325252u;
    memset(p, 0, sizeof *p);
    p->n_args = 1 + (int)rnd(MAX_ARGS);
    for (int i = 0; i < p->n_args; i++) p->arg[i] = (int)rnd(rnd(3) ? 10 : N_IN);
    p->after = rnd(2) ? 0 : (int)rnd(4);
    int want = 1 + (int)rnd(MAX_INS - 1);
    bool break_allowed = rnd(5) == 0, error_allowed = rnd(12) == 0;
    for (int tries = 0; p->n < want && tries < 60; tries++) {
        int have = p->n_args + p->n;
        ins *s = &p->at[p->n];
        *s = (ins){(int)rnd(OP_nop + (uint32_t)break_allowed * 2),
                   have - 1 - (int)rnd(have < 4 ? (uint32_t)have : 4), (int)rnd((uint32_t)have),
                   rnd(1 << 20), rnd(8) == 0};
        if (rnd(4) == 0) s->a = (int)rnd((uint32_t)p->n_args);
        p->out[0] = have, p->n_out = 1;
        DYNC_SCOPE {
            outcome o = run_once(NULL, p, p->n + 1, seed);
            if (o.forward == DYNC_OK && (o.backward == DYNC_OK || error_allowed)) {
                /* hooks on values end a graph */
                p->breaks = p->breaks || s->op == OP_graph_break || s->op == OP_hook;
                p->n++;
            }
        }
    }
    int have = p->n_args + p->n;
    p->n_out = rnd(20) ? 1 + (int)rnd(MAX_OUT) : 0;
    for (int i = 0; i < p->n_out; i++)
        p->out[i] = rnd(3) ? have - 1 - (int)rnd(have < 6 ? (uint32_t)have : 6)
                           : (int)rnd((uint32_t)have);
}
static int root(const program *p, int v)
{
    while (v >= p->n_args && v < p->n_args + p->n && p->at[v - p->n_args].op == OP_nop)
        v = p->at[v - p->n_args].a;
    return v;
}
static void show(const program *p)
{
    for (int i = 0; i < p->n_args; i++) printf("  v%d: %s\n", i, in_names[p->arg[i]]);
    for (int i = 0; i < p->n; i++)
        if (p->at[i].op != OP_nop)
            printf("  v%d = %s(v%d, v%d, r %u, k %.1f)%s\n", p->n_args + i, op_names[p->at[i].op],
                   root(p, p->at[i].a), root(p, p->at[i].b), p->at[i].r,
                   (double)(p->at[i].r % 31) / 10 - 1.5,
                   p->at[i].no_grad ? " without grad mode" : "");
    for (int i = 0; i < p->n_out; i++) printf("%sv%d", i ? ", " : "  return ", root(p, p->out[i]));
    printf("%s\n", p->after == 1   ? "; then out[0].mul_(3)"
                   : p->after == 2 ? "; then v0.sin_()"
                   : p->after == 3 ? "; then out[-1].add_(1) without grad mode"
                                   : "");
}
/* Makes it simpler step by step while it still fails. */
static void shrink(program *p, const char *backend, uint64_t seed)
{
    for (bool again = true; again;) {
        again = false;
        for (int i = 0; i < 3 * MAX_INS + 2 * MAX_ARGS + MAX_OUT + 1; i++) {
            program q = *p;
            if (i < MAX_INS) {
                if (i >= p->n || p->at[i].op == OP_nop) continue;
                q.at[i].op = OP_nop;
            } else if (i < 2 * MAX_INS) {
                if (i - MAX_INS >= p->n || !p->at[i - MAX_INS].no_grad) continue;
                q.at[i - MAX_INS].no_grad = false;
            } else if (i < 3 * MAX_INS) {
                if (p->n == 0 || i > 2 * MAX_INS || p->at[p->n - 1].op != OP_nop) continue;
                q.n--;
                for (int k = 0; k < q.n_out; k++)
                    if (q.out[k] == q.n_args + q.n) q.out[k] = q.at[q.n].a;
            } else if (i < 3 * MAX_INS + MAX_OUT) {
                int k = i - 3 * MAX_INS;
                if (k >= p->n_out) continue;
                memmove(q.out + k, q.out + k + 1, sizeof *q.out * (size_t)(q.n_out - 1 - k));
                q.n_out--;
            } else if (i < 3 * MAX_INS + MAX_OUT + MAX_ARGS) {
                int k = i - 3 * MAX_INS - MAX_OUT;
                if (k >= p->n_args || p->arg[k] == IN_PLAIN || p->arg[k] == IN_INNER) continue;
                q.arg[k] = IN_INNER;
            } else if (i < 3 * MAX_INS + MAX_OUT + 2 * MAX_ARGS) {
                int k = i - 3 * MAX_INS - MAX_OUT - MAX_ARGS;
                if (k >= p->n_args || p->arg[k] == IN_PLAIN) continue;
                q.arg[k] = IN_PLAIN;
            } else {
                if (!p->after) continue;
                q.after = 0;
            }
            bool smaller = false;
            DYNC_SCOPE {
                smaller = run_once(NULL, &q, q.n, seed).forward == DYNC_OK &&
                          fails(&q, backend, seed);
            }
            if (smaller) *p = q, again = true;
        }
    }
}
static void quiet(dync_status status, const char *message, void *user)
{
    (void)status, (void)message, (void)user;
}

static void many(const char *backend, int count)
{
    int bad = 0;
    dync_on_error(quiet, NULL);
    for (int i = 0; i < count && bad < 5; i++) {
        uint64_t seed = test__state.seed * 1000003 + (uint64_t)i;
        program p;
        const char *what = NULL;
        /* every program has graphs of its own: 256 are kept */
        if (captured) dync_reset();
        make(&p, seed);
        DYNC_SCOPE {
            what = fails(&p, backend, seed);
        }
        if (!what) continue;
        bad++;
        EXPECT(what == NULL); /* a compiled program differs from eager */
        shrink(&p, backend, seed);
        DYNC_SCOPE {
            what = fails(&p, backend, seed);
        }
        printf("program %d of --seed %llu on %s, shrunk: %s\n", i,
               (unsigned long long)test__state.seed, backend,
               what ? what : "it does not fail again");
        show(&p);
    }
}
#ifndef COUNT
#define COUNT 1500
#endif
TEST(random_training_aot_eager) { many("aot_eager", test_count(COUNT)); }
TEST(random_training_aot_eager_decomp_partition)
{
    many("aot_eager_decomp_partition", test_count(COUNT));
}
TEST(random_training_inductor) { many("inductor", test_count(COUNT)); }
TEST(random_training_with_other_sizes)
{
    growing = true;
    many("aot_eager", test_count(COUNT) / 3);
    many("inductor", test_count(COUNT) / 3);
}
TEST(random_training_compiled_autograd)
{
    captured = "aot_eager";
    many("eager", test_count(COUNT) / 5);
    captured = "inductor";
    many("aot_eager", test_count(COUNT) / 5);
}
TEST_MAIN
