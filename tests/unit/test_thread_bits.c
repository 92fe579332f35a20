/* base/pool.c: time decides whether a loop of middling length is shared among threads, so no result
 * may depend on it. Every differentiable row of the operator table, in several sizes, and random
 * larger calls of what has a way of its own of being shared: outputs and gradients have the same
 * bits when all loops run alone and when all are shared among 2 to 7 threads, eager and
 * compiled. */
#include "dync.in.h"
#include "autograd/node.h"
#define TEST_AFTER_EACH                                                              \
    (dync__pool_force(DYNC__POOL_TRIED), dync__pool_set_threads(0), dync_shutdown(), \
     dync_clear_error(), dync_on_error(NULL, NULL))
#include "op_samples.h"
#include "every_operator.h"

/* ---- what a call made, as bytes -------------------------------------------------------------- */
typedef struct made {
    char *at;
    size_t n, room;
    dync_status status;
} made;

static void keep(made *m, dync_tensor *t)
{
    dync__tensor *x = t ? dync__open(dync_contiguous(dync_detach(t))) : NULL;
    size_t bytes = x ? (size_t)x->numel * (size_t)dync__dtype_info(x->dtype)->bytes : 0;
    if (m->n + bytes > m->room) m->at = realloc(m->at, m->room = 2 * (m->n + bytes));
    if (bytes)
        memcpy(m->at + m->n,
               (char *)x->storage->data + x->lay.offset * dync__dtype_info(x->dtype)->bytes, bytes);
    m->n += bytes;
}

/* Outputs, then the gradients of a sum of all floating ones by elements of their own. */
static void keep_all(made *m, int n, dync_tensor **out, int n_params, dync_tensor **param)
{
    dync_tensor *loss = NULL;
    for (int i = 0; i < n; i++) keep(m, out[i]);
    for (int i = 0; i < n; i++) {
        if (!out[i] || !dync_requires_grad(out[i])) continue;
        dync_tensor *wave = dync_cos(dync_mul(out[i], 3.7)), *part;
        part = dync_sum(dync_mul(out[i], dync_detach(wave)), DYNC_ALL, false);
        loss = loss ? dync_add(loss, part) : part;
    }
    if (loss && dync_backward(loss) == DYNC_OK)
        for (int i = 0; i < n_params; i++) keep(m, dync_grad(param[i]));
    m->status = dync_error();
    dync_clear_error();
}

static bool same(const made *a, const made *b)
{
    return a->status == b->status && a->n == b->n && (!a->n || memcmp(a->at, b->at, a->n) == 0);
}

/* threads 0: alone */
static void share(int threads)
{
    dync__pool_set_threads(threads ? threads : 5);
    dync__pool_force(threads ? DYNC__POOL_SHARED : DYNC__POOL_ALONE);
}
static const int shares[] = {0, 2, 5};

/* ---- samples --------------------------------------------------------------------------------- */
static made run_sample(const sample *s, how how)
{
    made m = {0};
    DYNC_SCOPE {
        call c = {.how = how, .op = dync__op_find(s->op)};
        dync__tensor *out[DYNC__MAX_OUT] = {NULL};
        dync_tensor *got[DYNC__MAX_OUT] = {NULL}, *param[MAX_TENSORS];
        read_args(&c, s->args);
        dync_manual_seed(7);
        if (dync__op_info(c.op)->cls == DYNC__INPLACE)
            c.args[0] = dync__arg_t(dync__open(dync_clone(dync__handle(c.args[0].as.t))));
        m.status = (dync__op_run)(c.op, c.nargs, c.args, out);
        for (int i = 0; i < DYNC__MAX_OUT; i++) got[i] = out[i] ? dync__give(out[i]) : NULL;
        for (int i = 0; i < c.n_params; i++) param[i] = dync__handle(c.param[i]);
        keep_all(&m, DYNC__MAX_OUT, got, c.n_params, param);
    }
    return m;
}

static void quiet(dync_status status, const char *message, void *user)
{
    (void)status, (void)message, (void)user;
}

static void every_sample(how how)
{
    int calls = 0;
    dync_on_error(quiet, NULL);
    for (int i = 0; i < (int)(sizeof samples / sizeof samples[0]); i++) {
        uint64_t random = test__state.random;
        made alone = {0};
        for (int k = 0; k < (int)(sizeof shares / sizeof shares[0]); k++) {
            share(shares[k]);
            test__state.random = random;
            made m = run_sample(&samples[i], how);
            if (!k) {
                alone = m;
                calls += m.status == DYNC_OK;
                continue;
            }
            if (!EXPECT(same(&alone, &m)))
                printf("    %s(%s) of %s, sizes times %d: otherwise with %d threads\n",
                       samples[i].op, samples[i].args, dync__dtype_info(how.dtype)->name, how.scale,
                       shares[k]);
            free(m.at);
        }
        free(alone.at);
    }
    EXPECT(calls > 100);
}
TEST(samples) { every_sample((how){DYNC_F32, 1, false}); }
TEST(samples_nine_times_as_large) { every_sample((how){DYNC_F32, 9, false}); }
TEST(samples_f64_with_gaps) { every_sample((how){DYNC_F64, 7, true}); }
TEST(samples_bf16) { every_sample((how){DYNC_BF16, 8, false}); }

/* ---- larger calls ---------------------------------------------------------------------------- */
/* $A to $J stand for sizes, which differ from round to round. */
static const sample larger[] = {
    {"linear", "t$A,$C t$B,$C t$B"},
    {"linear", "t$A,$H t$B,$H n"},
    {"linear", "t$D,$A,$C t$B,$C t$B"},
    {"matmul", "t$A,$C t$C,$B"},
    {"matmul", "v$A,$C v$C,$B"},
    {"matmul", "t$A,$H t$H,$B"},
    {"matmul", "t$H t$H,$B"},
    {"matmul", "t$A,$H t$H"},
    {"matmul", "t$E,$D,$A t$E,$A,$D"},
    {"matmul", "v$H,$D v$D,$H"},
    {"addmm", "t$B t$A,$C t$C,$B"},
    {"conv2d", "t$D,$E,$A,$C t$F,$E,3,3 t$F D1,1 D1,1 D1,1 i1"},
    {"conv2d", "t$D,$E,$A,$C t$F,$E,3,3 n D2,2 D1,1 D1,1 i1"},
    {"conv2d", "t$D,$B,$E,$F t$C,$B,1,1 t$C D1,1 D0,0 D1,1 i1"},
    {"conv2d", "t$D,$B,$A,$F t$B,1,3,3 t$B D1,1 D1,1 D1,1 i$B"},
    {"conv2d", "t$D,$E,$A,$C t$F,$E,5,3 t$F D1,1 D2,1 D2,1 i1"},
    {"conv2d", "t$I,$E,$F,$F t$B,$E,3,3 n D1,1 D1,1 D1,1 i1"},
    {"conv2d", "t$I,1,$A,$F t$F,1,3,3 t$F D1,1 D1,1 D1,1 i1"},
    {"conv2d", "t$I,$F,$E,$F t$F,1,3,3 n D2,1 D1,1 D1,1 i$F"},
    {"conv1d", "t$D,$E,$H t$F,$E,3 t$F D1 D1 D1 i1"},
    {"max_pool2d", "s$D,$E,$A,$C D2,2 D2,2 D0,0 D1,1 B0"},
    {"avg_pool2d", "t$D,$E,$A,$C D3,3 D2,2 D1,1 B0 B1"},
    {"scaled_dot_product_attention", "t$D,$A,$E t$D,$C,$E t$D,$C,$F n f0 B0 n"},
    {"scaled_dot_product_attention", "t$D,$A,$E t$D,$A,$E t$D,$A,$E n f0 B1 n"},
    {"layer_norm", "t$A,$H D$H t$H t$H f1e-5"},
    {"softmax", "t$A,$H i1"},
    {"softmax", "t$H,$A i0"},
    {"log_softmax", "t$D,$A,$C i1"},
    {"sum", "t$A,$H D0 B0"},
    {"sum", "t$H,$A D1 B0"},
    {"sum", "t$C,$H,$D D1 B0"},
    {"sum", "t$A,$B,$H D B0"},
    {"mean", "t$H,$C D0 B0"},
    {"var", "t$A,$H D1 i1 B0"},
    {"var", "t$H,$A D0 i1 B0"},
    {"logsumexp", "t$A,$H D1 B0"},
    {"prod", "p$A,$H D1 B0"},
    {"cumsum", "t$A,$H i1"},
    {"cumsum", "t$H,$A i0"},
    {"max_dim", "s$H,$A i0 B0"},
    {"sort", "s$A,$H i1 B0"},
    {"sort", "s$H,$A i0 B1"},
    {"index_add", "t$A,$C i0 x$H:$A t$H,$C"},
    {"index_add", "t$C,$A i1 x$H:$A t$C,$H"},
    {"scatter_add", "t$A,$C i0 x$H,$C:$A t$H,$C"},
    {"scatter_add", "t$C,$A i1 x$C,$H:$A t$C,$H"},
    {"index_select", "t$A,$C i0 x$H:$A"},
    {"gather", "t$A,$C i0 x$H,$C:$A"},
    {"embedding", "t$A,$C x$H:$A"},
    {"_rnn_layer", "t$A,$D,$I t$I,$E t$I t$D,$E t$D,$E i4 B0 B1"},
    {"_rnn_layer", "t$A,$D,$J t$J,$E t$J t$D,$E n i3 B0 B1"},
    {"cat", "[ t$A,$C t$B,$C t$D,$C ] i0"},
    {"flip", "t$A,$H D0,1"},
};

/* Some sizes are whole tiles and vectors, some are not. */
static void random_sizes(int64_t *size)
{
    static const int whole[] = {1, 4, 8, 14, 16, 28, 32, 64};
    for (int i = 0; i < 3; i++)
        size[i] = test_random() % 3 ? test_random_int(1, 90) : whole[test_random() % 8];
    size[3] = test_random_int(1, 5);
    size[4] = test_random() % 3 ? test_random_int(1, 24) : 16;
    size[5] = test_random() % 3 ? test_random_int(1, 24) : 32;
    size[7] = test_random() % 6 ? test_random_int(1, 700) : test_random_int(5000, 20000);
    size[8] = 4 * size[4];
    size[9] = 3 * size[4];
}

static void with_sizes(char *to, size_t room, const char *text, const int64_t *size)
{
    size_t n = 0;
    for (; *text && n + 24 < room; text++)
        if (*text == '$')
            n += (size_t)snprintf(to + n, room - n, "%lld", (long long)size[*++text - 'A']);
        else
            to[n++] = *text;
    to[n] = 0;
}

/* The call and what follows in loops, which joins it when it is compiled. */
static dync_value followed(const dync_value *values, int n, void *user)
{
    const call *c = user;
    dync__arg args[DYNC__MAX_ARGS], list[4];
    dync__tensor *out[DYNC__MAX_OUT] = {NULL};
    dync_value made[DYNC__MAX_OUT];
    (void)n;
    take_tensors(c, args, list, values);
    if ((dync__op_run)(c->op, c->nargs, args, out) != DYNC_OK) return DYNC_NONE;
    n = 0;
    for (int i = 0; i < DYNC__MAX_OUT; i++) {
        if (!out[i]) continue;
        dync_tensor *t = dync__give(out[i]);
        bool real = dync_type(t) == DYNC_F32;
        made[n++] = dync_v_tensor(real ? dync_add(dync_silu(t), dync_mul(t, 0.37)) : t);
    }
    return dync_tuple_of(n, made);
}

static made run_followed(dync_compiled *f, call *c)
{
    made m = {0};
    DYNC_SCOPE {
        dync_tensor *got[DYNC__MAX_OUT], *param[MAX_TENSORS];
        dync_value values[MAX_TENSORS];
        int n = 0;
        for (int i = 0; i < c->nargs; i++)
            for (int k = 0; k < (c->args[i].kind == DYNC__A_LIST ? c->args[i].n : 1); k++) {
                const dync__arg *a = c->args[i].kind == DYNC__A_LIST ? &c->args[i].as.list[k]
                                                                     : &c->args[i];
                if (a->kind == DYNC__A_TENSOR) values[n++] = dync_v_tensor(dync__handle(a->as.t));
            }
        for (int i = 0; i < c->n_params; i++)
            dync_set_grad(param[i] = dync__handle(c->param[i]), NULL);
        dync_value v = f ? dync_call_values(f, n, values) : followed(values, n, c);
        m.status = dync_error();
        n = m.status == DYNC_OK ? dync_len(v) : 0;
        for (int i = 0; i < n; i++) got[i] = dync_as_tensor(dync_at(v, i));
        keep_all(&m, n, got, c->n_params, param);
    }
    return m;
}

/* True: it is a call. */
static bool larger_call(const sample *s)
{
    char text[200];
    int64_t size[10] = {0};
    bool is_call = false;
    random_sizes(size);
    with_sizes(text, sizeof text, s->args, size);
    DYNC_SCOPE {
        call c = {.how = {DYNC_F32, 1, test_random() % 4 == 0}, .op = dync__op_find(s->op)};
        read_args(&c, text);
        dync_compiled *forms[2] = {NULL, dync_compile(followed, .user = &c)};
        for (int form = 0; form < 2; form++) {
            share(0);
            made alone = run_followed(forms[form], &c);
            is_call = alone.status == DYNC_OK;
            for (int k = 0; k < 2 && is_call; k++) {
                int threads = test_random_int(2, 7);
                share(threads);
                made m = run_followed(forms[form], &c);
                if (!EXPECT(same(&alone, &m)))
                    printf("    %s(%s)%s, %s: otherwise with %d threads\n", s->op, text,
                           c.how.strided ? " with gaps" : "", form ? "compiled" : "eager", threads);
                free(m.at);
            }
            free(alone.at);
        }
        dync_compiled_free(forms[1]);
    }
    return is_call;
}
TEST(larger_calls)
{
    int rounds = test_count(1), calls = 0, n = (int)(sizeof larger / sizeof larger[0]);
    dync_on_error(quiet, NULL);
    for (int round = 0; round < rounds; round++)
        for (int i = 0; i < n; i++) calls += larger_call(&larger[i]);
    EXPECT(calls > rounds * n * 3 / 4);
}

/* ---- products, run by run -------------------------------------------------------------------- */
static dync_value product(const dync_value *values, int n, void *user)
{
    (void)n, (void)user;
    return dync_v_tensor(dync_linear(values[0].as.t, values[1].as.t, NULL));
}

/* The first runs pack a weight or not, later ones have it; one that the user may write never is. */
TEST(products_have_the_same_bits_in_every_run)
{
    static const int ks[] = {40, 130, 300, 700};
    static const int dtypes[] = {DYNC_F32, DYNC_F64, DYNC_BF16, DYNC_F16};
    for (int i = 0; i < 200; i++) {
        int m = i < 120 ? i / 4 + 1 : test_random_int(1, 90), n = test_random_int(2, 60);
        int dtype = i < 120 ? DYNC_F32 : dtypes[test_random() % 4];
        DYNC_SCOPE {
            dync_compiled *f = dync_compile(product);
            dync_tensor *x = dync_to_dtype(dync_randn(dync_shape(m, ks[i % 4])), dtype);
            dync_tensor *w = dync_to_dtype(dync_randn(dync_shape(n, ks[i % 4])), dtype);
            if (i % 5 == 4) w = dync_wrap(dync_data(w), dync_shape(n, ks[i % 4]), .dtype = dtype);
            made first = {0};
            for (int run = 0; run < 5; run++) {
                made now = {0};
                dync_tensor *y = dync_call(f, x, w);
                if (run == 3) REQUIRE(dync_data(w) != NULL);
                keep(run ? &now : &first, y);
                if (run && !EXPECT(same(&first, &now)))
                    printf("    m %d n %d k %d of %s, run %d\n", m, n, ks[i % 4],
                           dync__dtype_info(dtype)->name, run);
                free(now.at);
            }
            free(first.at);
            dync_compiled_free(f);
        }
    }
}
TEST_MAIN
