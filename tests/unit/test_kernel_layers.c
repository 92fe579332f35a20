/* kernel/recurrent.c and attention.c: whole layers in one kernel, forward and backward, against
 * their decompositions in F64, for random sizes, masks and layouts; the same through compiled
 * functions and on fewer instructions. */
#include "../../src/dync.in.h"
#include "../../src/op/op.h"
#include "../test.h"
#include "../tol.h"
#include "every_operator.h"
#define TEST_AFTER_EACH (dync_shutdown(), dync_clear_error(), dync_on_error(NULL, NULL))

enum { MOST = 10 };
typedef struct layer {
    int op, nargs, n_out;
    dync__arg arg[MOST];
    bool diff[MOST];
    char text[200];
} layer;

static dync_tensor *uniform(dync_dims shape, double scale)
{
    dync_tensor *t = dync_empty(shape);
    float *p = dync_data(t);
    for (int64_t i = 0; i < dync_numel(t); i++) p[i] = (float)(scale * test_random_real(-1, 1));
    return t;
}

/* Outputs, then gradients of a fixed weighting of them; plain: by the decomposition. Arguments in
 * dtype. */
static int results(const layer *l, dync_dtype dtype, bool plain, dync_tensor **out)
{
    dync__arg args[MOST];
    dync_value in[MOST], y[4], seed[4];
    int n_in = 0, n = 0;
    for (int i = 0; i < l->nargs; i++) {
        args[i] = l->arg[i];
        if (args[i].kind != DYNC__A_HANDLE) continue;
        dync_tensor *t = args[i].as.h;
        if (dync_type(t) != DYNC_BOOL) t = dync_detach(dync_to_dtype(t, dtype));
        if (l->diff[i]) in[n_in++] = dync_v_tensor(dync_requires_grad_(t, true));
        args[i] = plain ? dync__arg_t(dync__open(t)) : dync__arg_h(t);
    }
    if (plain) {
        dync__opcall c = {
            .row = dync__op_info(l->op), .op = l->op, .nargs = l->nargs, .args = args};
        if (!EXPECT_STATUS(c.row->decompose(&c), DYNC_OK)) return 0;
        for (int i = 0; i < c.nout; i++) {
            dync_tensor *t = dync__give(c.out[i]);
            if (i < l->n_out) y[i] = dync_v_tensor(t);
        }
    } else {
        dync_value all = (dync__op_call_list)(l->op, l->nargs, args, DYNC_NOWHERE);
        for (int i = 0; i < l->n_out; i++) y[i] = dync_at(all, i);
    }
    for (int i = 0; i < l->n_out; i++) {
        if (!EXPECT(y[i].kind == DYNC_KIND_TENSOR)) return 0;
        out[n++] = y[i].as.t;
        dync_tensor *w =
            dync_cos(dync_to_dtype(dync_arange(0, (double)dync_numel(y[i].as.t), 1), DYNC_F64));
        seed[i] = dync_v_tensor(dync_to_dtype(dync_view_as(w, y[i].as.t), dtype));
    }
    dync_value grads = dync_gradients(dync_tuple_of(l->n_out, y), dync_tuple_of(n_in, in),
                                      dync_tuple_of(l->n_out, seed),
                                      (dync_grad_options){.allow_unused = true});
    for (int i = 0; i < n_in; i++)
        if (dync_at(grads, i).kind == DYNC_KIND_TENSOR) out[n++] = dync_at(grads, i).as.t;
    return n;
}

static void check(const layer *l, dync_dtype dtype, double tol)
{
    dync_tensor *got[MOST + 4], *want[MOST + 4];
    int n = results(l, dtype, false, got), m = results(l, DYNC_F64, true, want);
    bool ok = EXPECT_EQ_INT(n, m);
    for (int i = 0; ok && i < n; i++) {
        dync_tensor *a = dync_contiguous(dync_detach(dync_to_dtype(got[i], DYNC_F64))),
                    *b = dync_contiguous(dync_detach(want[i]));
        ok = EXPECT_EQ_INT(dync_numel(a), dync_numel(b)) &&
             EXPECT_NEAR_F64(dync_data(a), dync_data(b), dync_numel(a), tol, tol);
        if (!ok) printf("  result %d of %s\n", i, l->text);
    }
    EXPECT_STATUS(dync_error(), DYNC_OK);
}

static void arg(layer *l, dync_tensor *t, bool diff)
{
    l->diff[l->nargs] = t && diff;
    l->arg[l->nargs++] = t ? dync__arg_h(t) : dync__arg_none();
}

/* ---- recurrent layers ------------------------------------------------------------------------ */

static void random_rnn(dync_dtype dtype, double tol)
{
    static const int cells[] = {1, 3, 4};
    int gates = cells[test_random_int(0, 2)], L = test_random_int(1, 6), N = test_random_int(1, 9),
        H = test_random_int(1, 40);
    bool bias = test_random() & 1, reverse = test_random() & 1, turned = test_random() & 1;
    layer l = {.op = DYNC__OP__rnn_layer, .n_out = gates == 4 ? 2 : 1};
    snprintf(l.text, sizeof l.text, "gates %d L %d N %d H %d bias %d reverse %d turned %d", gates,
             L, N, H, bias, reverse, turned);
    dync_tensor *x = turned ? dync_transpose(uniform(dync_shape(N, L, gates * H), 1), 0, 1)
                            : uniform(dync_shape(L, N, gates * H), 1);
    arg(&l, x, true);
    arg(&l, uniform(dync_shape(gates * H, H), 1.0 / H), true);
    arg(&l, bias ? uniform(dync_shape(gates * H), 1) : NULL, true);
    arg(&l,
        turned ? dync_transpose(uniform(dync_shape(H, N), 1), 0, 1) : uniform(dync_shape(N, H), 1),
        true);
    arg(&l, gates == 4 ? uniform(dync_shape(N, H), 1) : NULL, true);
    l.arg[l.nargs++] = dync__arg_i(gates);
    l.arg[l.nargs++] = dync__arg_b(reverse);
    l.arg[l.nargs++] = dync__arg_b(true);
    check(&l, dtype, tol);
}

TEST(recurrent_layers)
{
    for (int i = 0; i < 60; i++) DYNC_SCOPE {
        random_rnn(i % 5 == 4 ? DYNC_F64 : DYNC_F32, i % 5 == 4 ? TOL_F64_CHAIN : TOL_F32_SUM);
    }
    for (int i = 0; i < 6; i++) DYNC_SCOPE {
        random_rnn(DYNC_BF16, TOL_BF16_LAYER);
    }
}

/* Layers, directions, states and batches as the modules have them: compiled against eager,
 * inference and training. */
TEST(recurrent_modules_compiled)
{
    for (int i = 0; i < 9; i++) DYNC_SCOPE {
        int in = test_random_int(1, 9), hidden = test_random_int(1, 20),
            layers = test_random_int(1, 3), L = test_random_int(1, 5);
        bool both = test_random() & 1;
        dync_module *m = i % 3 == 0   ? dync_nn_lstm(in, hidden, layers, both)
                         : i % 3 == 1 ? dync_nn_gru(in, hidden, layers, both)
                                      : dync_nn_rnn(in, hidden, layers, both);
        dync_compiled *f = dync_compile(m);
        for (int training = 0; training < 2; training++) {
            bool before = dync_grad_mode_push(training);
            dync_tensor *x = dync_requires_grad_(uniform(dync_shape(L, 3, in), 1), training), *g[2];
            for (int k = 0; k < 2; k++) {
                dync_value v = dync_v_tensor(x),
                           all = k ? dync_call_values(f, 1, &v) : dync_module_call_values(m, 1, &v);
                dync_tensor *y = dync_as_tensor(dync_at(all, 0));
                g[k] = y;
                if (!training) continue;
                dync_backward(dync_sum(dync_mul(y, y), DYNC_ALL, false));
                g[k] = dync_clone(dync_grad(x));
                dync_set_grad(x, NULL);
            }
            EXPECT(dync_allclose(g[0], g[1], TOL_F32_SUM, TOL_F32_CHAIN));
            dync_grad_mode_pop(before);
        }
        EXPECT_STATUS(dync_error(), DYNC_OK);
        dync_compiled_free(f);
        dync_module_free(m);
    }
}

/* ---- attention ------------------------------------------------------------------------------- */

/* A matrix [B.., rows, width] in one of several layouts. */
static dync_tensor *heads(int B, int H, int rows, int width, int how)
{
    if (how == 0) return uniform(dync_shape(B, H, rows, width), 1);
    if (how == 1) return dync_transpose(uniform(dync_shape(B, rows, H, width), 1), 1, 2);
    if (how == 2) return dync_transpose(uniform(dync_shape(B, H, width, rows), 1), 2, 3);
    return dync_slice(uniform(dync_shape(B, H, rows, width + 3), 1), 3, 2, width + 2, 1);
}

static void random_attention(dync_dtype dtype, double tol, int most)
{
    int B = test_random_int(1, 2), H = test_random_int(1, 3), L = test_random_int(1, most),
        S = test_random_int(1, most), E = test_random_int(1, 40);
    int V = test_random_int(1, 40), kind = test_random_int(0, 4);
    layer l = {.op = DYNC__OP__scaled_dot_product_flash_attention_for_cpu, .n_out = 1};
    snprintf(l.text, sizeof l.text, "attention B %d H %d L %d S %d E %d V %d mask %d", B, H, L, S,
             E, V, kind);
    arg(&l, heads(B, H, L, E, test_random_int(0, 3)), true);
    arg(&l, heads(B, H, S, E, test_random_int(0, 3)), true);
    arg(&l, heads(B, H, S, V, test_random_int(0, 3)), true);
    dync_tensor *mask = NULL;
    if (kind == 2 || kind == 3)
        mask = dync_gt(uniform(kind == 2 ? dync_shape(L, S) : dync_shape(B, 1, 1, S), 1),
                       kind == 2 ? 0.9 : -0.3);
    if (kind == 4)
        mask = uniform(test_random() & 1 ? dync_shape(B, H, L, S) : dync_shape(H, 1, S), 2);
    arg(&l, mask, false);
    l.arg[l.nargs++] = dync__arg_b(kind == 1);
    l.arg[l.nargs++] = dync__arg_f(test_random_real(0.1, 1));
    check(&l, dtype, tol);
}

/* Sizes inside one block and over several, which divide nothing; masks with rows that see
 * nothing. */
TEST(attention)
{
    for (int i = 0; i < 40; i++) DYNC_SCOPE {
        random_attention(DYNC_F32, TOL_F32_SUM, i % 4 ? 40 : 330);
    }
    for (int i = 0; i < 10; i++) DYNC_SCOPE {
        random_attention(DYNC_F64, TOL_F64_CHAIN, i % 4 ? 40 : 330);
    }
    for (int i = 0; i < 6; i++) DYNC_SCOPE {
        random_attention(DYNC_BF16, TOL_BF16_LAYER, 40);
    }
}

static dync_tensor *attends(dync_tensor *q, dync_tensor *k, dync_tensor *v)
{
    return dync_scaled_dot_product_attention(q, k, v, NULL, 0, true, DYNC_NONE);
}

/* The same bits for any number of threads; compiled as eager, forward and backward; the result lies
 * as the query does, so that heads split by a view are joined by one. */
TEST(attention_compiled)
{
    static float kept[2][2 * 3 * 200 * 16];
    for (int threads = 1; threads < 3; threads++) {
        dync_init((dync_init_options){.threads = threads, .seed = 7});
        DYNC_SCOPE {
            dync_tensor *x[3];
            x[0] = dync_detach(dync_transpose(dync_randn(dync_shape(2, 200, 3, 16)), 1, 2));
            dync_requires_grad_(x[0], true);
            for (int i = 1; i < 3; i++)
                x[i] = dync_randn(dync_shape(2, 3, 200, 16), .requires_grad = true);
            dync_compiled *f = dync_compile(attends, .args = "q, k, v", .fullgraph = true);
            dync_tensor *want = attends(x[0], x[1], x[2]), *got = dync_call(f, x[0], x[1], x[2]),
                        *dense = dync_contiguous(dync_detach(got));
            EXPECT(dync_allclose(want, got, TOL_F32_SUM, TOL_F32_CHAIN));
            EXPECT_EQ_INT(dync_stride(got, 2), 3 * 16);
            memcpy(kept[threads - 1], dync_data(dense), sizeof kept[0]);
            dync_backward(dync_sum(dync_mul(want, want), DYNC_ALL, false));
            dync_tensor *before = dync_clone(dync_grad(x[1]));
            dync_set_grad(x[1], NULL);
            dync_backward(dync_sum(dync_mul(got, got), DYNC_ALL, false));
            EXPECT(dync_allclose(before, dync_grad(x[1]), TOL_F32_SUM, TOL_F32_SUM));
            dync_compiled_free(f);
        }
        EXPECT_STATUS(dync_error(), DYNC_OK);
        dync_shutdown();
    }
    EXPECT(memcmp(kept[0], kept[1], sizeof kept[0]) == 0);
}

TEST_MAIN
