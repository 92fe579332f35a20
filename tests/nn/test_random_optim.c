/* Random training loops: each optimizer with groups of options of their own, over leaves of both
 * precisions, in steps with batches of several sizes: learning rates that change, leaves that a
 * step does not use, gradients that add up, norms that are clipped. The step is one graph, or one
 * for the gradients and one for the optimizer, or has breaks; the leaves must be what the plain
 * loop makes of them after every step. `--seed N` starts elsewhere, SOAK=N goes on longer. */
#include "../models/sides.h"

enum { LEAVES = 4, WIDTH = 5, ROUNDS = 14 };
typedef enum { WHOLE, BROKEN, APART, FORMS } form;
typedef struct {
    form form;
    dync_optim_kind kind;
    dync_optim_options of[3];
    int group[LEAVES]; /* group 0 first: it has leaf 0 */
    bool twice, zero_first, on;
    double clip;
    uint32_t way;
} loop;
typedef struct {
    const loop *l;
    dync_tensor *leaf[LEAVES];
    dync_optim *optim;
} side;

static dync_tensor *used(dync_tensor *x, dync_tensor *w, uint32_t way)
{
    dync_tensor *v = dync_to_dtype(w, dync_type(x));
    switch (way % 4) {
    case 0: return dync_tanh(dync_matmul(x, v));
    case 1: return dync_sin(dync_add(dync_matmul(x, v), dync_select(v, 0, 0)));
    case 2: return dync_mul(dync_sigmoid(dync_matmul(x, v)), x);
    default: return dync_sub(dync_mul(x, dync_sum(v, dync_shape(0), false)), 0.25);
    }
}
static dync_tensor *loss_of(const side *s, dync_tensor *x, int64_t uses)
{
    for (int i = 0; i < LEAVES; i++)
        if (uses >> i & 1) x = used(x, s->leaf[i], s->l->way >> (2 * i));
    return dync_mean(dync_mul(x, x), DYNC_ALL, false);
}

static void clip(const side *s)
{
    if (s->l->clip <= 0) return;
    dync_tensor *sum = NULL;
    for (int i = 0; i < LEAVES; i++) {
        dync_tensor *g = dync_grad(s->leaf[i]);
        if (!g) continue;
        g = dync_to_dtype(dync_sum(dync_mul(g, g), DYNC_ALL, false), DYNC_F64);
        sum = sum ? dync_add(sum, g) : g;
    }
    dync_tensor *scale = dync_clamp(
        dync_mul(dync_reciprocal(dync_add(dync_sqrt(sum), 1e-6)), s->l->clip), DYNC_NONE, 1.0);
    for (int i = 0; i < LEAVES; i++)
        if (dync_grad(s->leaf[i]))
            dync_mul_(dync_grad(s->leaf[i]), dync_to_dtype(scale, dync_type(s->leaf[i])));
}

static dync_value gradients(const dync_value *a, int n, void *user)
{
    const side *s = user;
    (void)n;
    if (s->l->zero_first) dync_optim_zero_grad(s->optim);
    for (int k = 0; k <= s->l->twice; k++) {
        dync_tensor *loss = loss_of(s, k ? dync_cos(a[0].as.t) : a[0].as.t, a[1].as.i);
        if (s->l->form == BROKEN) dync_graph_break("before the gradients");
        dync_backward(loss);
        if (k == s->l->twice) return DYNC_V(dync_detach(loss));
    }
    return DYNC_NONE;
}
static dync_value update(const dync_value *a, int n, void *user)
{
    const side *s = user;
    (void)a, (void)n;
    clip(s);
    dync_optim_step(s->optim);
    if (!s->l->zero_first) dync_optim_zero_grad(s->optim);
    return a[0];
}
static dync_value step(const dync_value *a, int n, void *user)
{
    const side *s = user;
    dync_value loss = gradients(a, n, user);
    if (s->l->form == BROKEN) dync_graph_break("before the update");
    update(&loss, 1, user);
    return loss;
}

static dync_optim_options random_options(dync_optim_kind kind)
{
    dync_optim_options o = {.lr = 0.002 * (1 + (int)rnd(20))};
    if (rnd(2)) o.weight_decay = rnd(4) ? 0.05 * (1 + rnd(4)) : -1;
    if (kind == DYNC_OPTIM_SGD && rnd(2)) o.momentum = 0.5 + 0.1 * rnd(5), o.nesterov = rnd(2);
    if (kind != DYNC_OPTIM_SGD && rnd(2)) o.beta1 = 0.8, o.beta2 = 0.95, o.eps = 1e-6;
    return o;
}
static loop random_loop(void)
{
    loop l = {.form = (form)rnd(FORMS), .kind = (dync_optim_kind)rnd(3), .way = rnd(1u << 20)};
    for (int g = 0; g < 3; g++) l.of[g] = random_options(l.kind);
    for (int i = 1; i < LEAVES; i++) l.group[i] = (int)rnd(3);
    l.twice = rnd(3) == 0, l.zero_first = rnd(2), l.on = rnd(2);
    l.clip = rnd(3) ? 0 : 0.02 * (1 + rnd(10));
    return l;
}

static bool side_begin(side *s, const loop *l, const side *like)
{
    bool good = true;
    *s = (side){.l = l};
    for (int i = 0; i < LEAVES; i++) {
        dync_tensor *x = like ? dync_clone(dync_detach(like->leaf[i]))
                              : dync_mul(dync_randn(dync_shape(WIDTH, WIDTH)), 0.5);
        s->leaf[i] =
            dync_requires_grad_(like ? x : dync_to_dtype(x, i == 2 ? DYNC_F32 : DYNC_F64), true);
    }
    for (int g = 0; g < 3 && good; g++) {
        dync_tensor *of[LEAVES];
        int n = 0;
        for (int i = 0; i < LEAVES; i++)
            if (l->group[i] == g) of[n++] = s->leaf[i];
        if (g == 0)
            good = (s->optim = dync_optim_new(l->kind, n, of, l->of[0])) != NULL;
        else if (n)
            good = dync_optim_add_group(s->optim, n, of, l->of[g]) == DYNC_OK;
    }
    return good;
}

/* *at: the step after which it does not. */
static bool holds(const loop *l, int *at)
{
    side s[2];
    dync_compiled *f[2] = {NULL, NULL};
    bool good = true;
    dync_scope scope = dync_scope_begin();
    for (int k = 0; k < 2; k++) good = good && side_begin(&s[k], l, k ? &s[0] : NULL);
    int n_groups = 1;
    for (int g = 1; g < 3; g++)
        for (int i = 0, one = 1; i < LEAVES; i++)
            if (l->group[i] == g && one) n_groups++, one = 0;
    for (int k = 0; k < (l->form == APART ? 2 : 1); k++)
        f[k] = dync_compile(l->form != APART ? step
                            : k              ? update
                                             : gradients,
                            .args = k ? "loss" : "x, uses", .user = &s[0], .recompile_limit = 64,
                            .fullgraph = l->form == WHOLE,
                            .dynamic = l->on ? DYNC_DYNAMIC_ON : DYNC_DYNAMIC_AUTO);
    for (int i = 0; i < ROUNDS && good; i++) DYNC_SCOPE {
        static const int64_t all[] = {15, 15, 7, 11, 13, 1};
        dync_value a[2] = {
            DYNC_V(dync_to_dtype(dync_randn(dync_shape(2 + rnd(6), WIDTH)), DYNC_F64)),
            DYNC_V(all[rnd(6)])};
        *at = i;
        if (rnd(3) == 0) {
            double lr = 0.003 * (1 + rnd(9));
            int g = (int)rnd((uint32_t)n_groups);
            for (int k = 0; k < 2; k++)
                if (lr > 0.02)
                    dync_optim_set_lr(s[k].optim, lr);
                else
                    dync_optim_set_group_lr(s[k].optim, g, lr);
        }
        dync_value got = dync_call_values(f[0], 2, a), want = step(a, 2, &s[1]);
        if (f[1]) got = dync_call_values(f[1], 1, &got);
        good = dync_error() == DYNC_OK && alike(got.as.t, want.as.t, 1e-5);
        for (int k = 0; k < LEAVES && good; k++)
            good = alike(s[0].leaf[k], s[1].leaf[k], k == 2 ? 2e-5 : 1e-6) &&
                   !dync_grad(s[0].leaf[k]) == !dync_grad(s[1].leaf[k]) &&
                   (!dync_grad(s[0].leaf[k]) ||
                    alike(dync_grad(s[0].leaf[k]), dync_grad(s[1].leaf[k]), 2e-5));
    }
    for (int k = 0; k < 2; k++) dync_compiled_free(f[k]), dync_optim_free(s[k].optim);
    dync_scope_end(&scope);
    return good;
}

static void quiet(dync_status status, const char *message, void *user)
{
    (void)status, (void)message, (void)user;
}
TEST(as_the_plain_loop)
{
    int n = test_count(24), at = -1;
    dync_on_error(quiet, NULL);
    for (int k = 0; k < n; k++) {
        uint64_t number = test__state.seed * 1000003 + (uint64_t)k;
        state = 0x9e3779b97f4a7c15u * (number + 1) | 1;
        for (int i = 0; i < 8; i++) rnd(2);
        dync_manual_seed(state);
        loop l = random_loop();
        if (holds(&l, &at)) continue;
        printf("loop %d of seed %llu, step %d: form %d, kind %d, groups %d %d %d, %s%s%sclip %g: "
               "%s\n",
               k, (unsigned long long)test__state.seed, at, l.form, l.kind, l.group[1], l.group[2],
               l.group[3], l.twice ? "twice, " : "", l.zero_first ? "zero first, " : "",
               l.on ? "on, " : "", l.clip, dync_error_message());
        EXPECT(!"a compiled step does what the plain one does");
        dync_clear_error();
    }
    dync_on_error(NULL, NULL);
}

TEST_MAIN
