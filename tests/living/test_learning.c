/* Training that lives: image sizes that grow, replay, ragged batches, adapters, an early stop.
 * Adversaries and epochs of two modes: tests/capture/test_modes.c. */
#include "living.h"

static dync_module *net, *target;
static dync_optim *optim;

static dync_tensor *call1(living *p, dync_compiled *f, dync_function plain, int n, dync_value *args)
{
    return dync_as_tensor(p->compiled ? dync_call_values(f, n, args) : plain(args, n, NULL));
}
static dync_tensor *stepped(dync_tensor *loss)
{
    dync_optim_zero_grad(optim);
    dync_backward(loss);
    dync_optim_step(optim);
    return dync_detach(loss);
}
static void finish(dync_compiled *f)
{
    dync_compiled_free(f);
    dync_optim_free(optim);
    dync_module_free(net);
}
static void note_weights(living *p, dync_module *m)
{
    dync_tensor *w[32];
    int n = dync_module_parameters(m, w, 32);
    for (int i = 0; i < n; i++) note_tensor(p, w[i]);
}

/* ---- a curriculum of image sizes ------------------------------------------------------------- */
static dync_value image_step(const dync_value *a, int n, void *user)
{
    dync_tensor *y = dync_forward_call(net, dync_as_tensor(a[0]));
    y = dync_mean(dync_mean(y, dync_shape(3), false), dync_shape(2), false);
    (void)n, (void)user;
    return dync_v_tensor(stepped(dync_cross_entropy(y, dync_as_tensor(a[1]))));
}
static void curriculum(living *p)
{
    static const int sizes[] = {8, 10, 12, 16, 10, 20, 9, 8, 24, 17, 12, 30};
    net = dync_sequential(dync_nn_conv2d(3, 8, 3, 1, 1, true), dync_nn_batch_norm2d(8),
                          dync_nn_relu(), dync_nn_conv2d(8, 5, 3, 2, 1, true));
    optim = dync_sgd(net, .lr = 0.05, .momentum = 0.9);
    dync_compiled *f = dync_compile((dync_function)image_step, .fullgraph = true);
    for (int i = 0; i < 12; i++) DYNC_SCOPE {
        dync_value args[2] = {
            DYNC_V(dync_randn(dync_shape(4, 3, sizes[i], sizes[i]))),
            DYNC_V(dync_remainder(dync_to_dtype(dync_arange(i, i + 4, 1), DYNC_I64), 5))};
        note(p, dync_item(call1(p, f, image_step, 2, args)));
        if (i == 1) settled(p);
    }
    note_weights(p, net);
    note_tensor(p, dync_module_buffer(net, "1.running_var"));
    finish(f);
}
TEST(a_curriculum_of_image_sizes) { lives(curriculum, 2, 2, 1e-4); }

/* ---- deep Q-learning ------------------------------------------------------------------------- */
enum { CAP = 32, OBS = 4, ACTIONS = 3, BATCH = 8 };
/* One experience into the ring: rows of four states, an action, a reward, the next states. */
static dync_value store(const dync_value *a, int n, void *user)
{
    dync_tensor *at = dync_as_tensor(a[0]);
    for (int i = 1; i < 5; i++) {
        dync_tensor *ring = dync_as_tensor(a[i]), *row = dync_as_tensor(a[i + 4]);
        dync_scatter_(
            ring, 0,
            dync_expand(dync_reshape(at, dync_shape(1, 1)), dync_shape(1, dync_size(ring, 1))),
            row);
    }
    (void)n, (void)user;
    return dync_v_tensor(dync_add(at, 1));
}
static dync_value act(const dync_value *a, int n, void *user)
{
    (void)n, (void)user;
    return dync_v_tensor(dync_argmax(dync_forward_call(net, dync_as_tensor(a[0])), 1, false));
}
static dync_value learn(const dync_value *a, int n, void *user)
{
    dync_tensor *pick = dync_as_tensor(a[0]), *row[4];
    for (int i = 0; i < 4; i++) row[i] = dync_index_select(dync_as_tensor(a[i + 1]), 0, pick);
    dync_tensor *best =
        dync_amax(dync_detach(dync_forward_call(target, row[3])), dync_shape(1), false);
    dync_tensor *want = dync_add(dync_squeeze(row[2], 1), dync_mul(best, 0.9));
    dync_tensor *q =
        dync_gather(dync_forward_call(net, row[0]), 1, dync_to_dtype(row[1], DYNC_I64));
    (void)n, (void)user;
    return dync_v_tensor(stepped(dync_mse_loss(dync_squeeze(q, 1), want)));
}
static void replay(living *p)
{
    net = dync_sequential(dync_nn_linear(OBS, 16, true), dync_nn_tanh(),
                          dync_nn_linear(16, ACTIONS, true));
    target = dync_sequential(dync_nn_linear(OBS, 16, true), dync_nn_tanh(),
                             dync_nn_linear(16, ACTIONS, true));
    optim = dync_adam(net, .lr = 0.01);
    dync_compiled *keeps = dync_compile((dync_function)store, .fullgraph = true),
                  *acts = dync_compile((dync_function)act, .fullgraph = true),
                  *learns = dync_compile((dync_function)learn, .fullgraph = true);
    dync_tensor *ring[4] = {dync_zeros(dync_shape(CAP, OBS)), dync_zeros(dync_shape(CAP, 1)),
                            dync_zeros(dync_shape(CAP, 1)), dync_zeros(dync_shape(CAP, OBS))};
    unsigned state = 99;
    for (int t = 0; t < 80; t++) DYNC_SCOPE {
        dync_tensor *s = dync_randn(dync_shape(1, OBS)), *next = dync_randn(dync_shape(1, OBS)),
                    *a = NULL;
        DYNC_NO_GRAD {
            dync_value v[1] = {DYNC_V(s)};
            a = dync_reshape(dync_to_dtype(call1(p, acts, act, 1, v), DYNC_F32), dync_shape(1, 1));
            note(p, dync_item(a));
            dync_value e[9] = {DYNC_V(dync_to_dtype(dync_full(dync_shape(1), t % CAP), DYNC_I64)),
                               DYNC_V(ring[0]),
                               DYNC_V(ring[1]),
                               DYNC_V(ring[2]),
                               DYNC_V(ring[3]),
                               DYNC_V(s),
                               DYNC_V(a),
                               DYNC_V(dync_sum(dync_mul(s, s), dync_shape(1), true)),
                               DYNC_V(next)};
            note(p, dync_item(call1(p, keeps, store, 9, e)));
        }
        if (t < BATCH) continue;
        int64_t pick[BATCH];
        for (int i = 0; i < BATCH; i++) {
            state = state * 1103515245u + 12345u;
            pick[i] = (int64_t)((state >> 16) % (unsigned)(t < CAP ? t + 1 : CAP));
        }
        dync_value v[5] = {DYNC_V(dync_from(pick, dync_shape(BATCH), .dtype = DYNC_I64)),
                           DYNC_V(ring[0]), DYNC_V(ring[1]), DYNC_V(ring[2]), DYNC_V(ring[3])};
        note(p, dync_item(call1(p, learns, learn, 5, v)));
        if (t % 16 == 0) DYNC_NO_GRAD { /* the target follows */
            dync_tensor *from[8], *to[8];
            int n = dync_module_parameters(net, from, 8);
            dync_module_parameters(target, to, 8);
            for (int i = 0; i < n; i++) dync_copy_(to[i], from[i]);
        }
        if (t == BATCH) settled(p);
    }
    for (int i = 0; i < 4; i++) note_tensor(p, ring[i]);
    note_weights(p, net);
    dync_compiled_free(keeps);
    dync_compiled_free(acts);
    dync_module_free(target);
    finish(learns);
}
TEST(replay_of_what_was_seen) { lives(replay, 3, 3, 1e-4); }

/* ---- ragged batches -------------------------------------------------------------------------- */
/* x [length, batch, features], padded; lengths [batch]. What is padding counts nothing. */
static dync_module *lstm;
static dync_value ragged_step(const dync_value *a, int n, void *user)
{
    dync_tensor *x = dync_as_tensor(a[0]), *lengths = dync_as_tensor(a[1]);
    dync_value r = dync_module_call(lstm, x);
    dync_tensor *y = dync_squeeze(dync_forward_call(net, dync_as_tensor(dync_at(r, 0))), 2);
    dync_tensor *t = dync_arange(0, dync_as_real(dync_size_sym(x, 0)), 1),
                *on = dync_lt(dync_unsqueeze(t, 1), lengths);
    dync_tensor *miss = dync_sub(y, dync_sum(x, dync_shape(2), false));
    dync_tensor *loss = dync_div(dync_sum(dync_where(on, dync_mul(miss, miss), 0), DYNC_ALL, false),
                                 dync_sum(lengths, DYNC_ALL, false));
    (void)n, (void)user;
    return dync_v_tensor(stepped(loss));
}
static void ragged(living *p)
{
    static const int batch[] = {3, 5, 2, 7, 4, 3, 6, 5, 9, 2},
                     most[] = {6, 9, 4, 11, 5, 6, 7, 9, 3, 12};
    lstm = dync_nn_lstm(4, 8, 1, false);
    net = dync_nn_linear(8, 1, true);
    dync_tensor *w[8];
    int n = dync_module_parameters(net, w, 8);
    n += dync_module_parameters(lstm, w + n, 8 - n);
    optim = dync_optim_new(DYNC_OPTIM_SGD, n, w, (dync_optim_options){.lr = 0.05});
    dync_compiled *f = dync_compile((dync_function)ragged_step, .fullgraph = true);
    for (int i = 0; i < 10; i++) DYNC_SCOPE {
        float lengths[16];
        for (int k = 0; k < batch[i]; k++) lengths[k] = (float)(1 + (k * 5 + i) % most[i]);
        lengths[0] = (float)most[i];
        dync_value args[2] = {DYNC_V(dync_randn(dync_shape(most[i], batch[i], 4))),
                              DYNC_V(dync_from(lengths, dync_shape(batch[i])))};
        note(p, dync_item(call1(p, f, ragged_step, 2, args)));
        if (i == 1) settled(p);
    }
    note_weights(p, lstm);
    dync_module_free(lstm);
    finish(f);
}
TEST(ragged_batches) { lives(ragged, 2, 2, 1e-4); }

/* ---- adapters -------------------------------------------------------------------------------- */
/* x W + x A B: with one adapter or another in its place, or none; the base does not learn. */
static dync_value adapted_step(const dync_value *a, int n, void *user)
{
    dync_tensor *x = dync_as_tensor(a[0]), *y = dync_forward_call(net, x);
    (void)n, (void)user;
    if (a[2].kind == DYNC_KIND_NONE)
        return dync_v_tensor(dync_detach(dync_mse_loss(y, dync_as_tensor(a[1]))));
    dync_tensor *A = dync_as_tensor(a[2]), *B = dync_as_tensor(a[3]);
    y = dync_add(y, dync_mul(dync_matmul(dync_matmul(x, A), B), 0.5));
    dync_tensor *loss = dync_mse_loss(y, dync_as_tensor(a[1]));
    dync_value g = dync_gradients(DYNC_V(loss), dync_tuple(A, B), DYNC_NONE,
                                  (dync_grad_options){.retain_graph = false});
    DYNC_NO_GRAD {
        dync_sub_(A, dync_mul(dync_at(g, 0), 0.1));
        dync_sub_(B, dync_mul(dync_at(g, 1), 0.1));
    }
    return dync_v_tensor(dync_detach(loss));
}
static void adapters(living *p)
{
    net = dync_nn_linear(6, 5, true);
    optim = dync_sgd(net);
    dync_tensor *w[4], *adapter[2][2];
    int n = dync_module_parameters(net, w, 4);
    for (int i = 0; i < n; i++) dync_requires_grad_(w[i], false);
    for (int i = 0; i < 2; i++) {
        adapter[i][0] = dync_randn(dync_shape(6, 2), .requires_grad = true);
        adapter[i][1] = dync_zeros(dync_shape(2, 5), .requires_grad = true);
    }
    dync_compiled *f = dync_compile((dync_function)adapted_step, .fullgraph = true);
    dync_tensor *x = dync_randn(dync_shape(7, 6)), *y = dync_randn(dync_shape(7, 5));
    for (int i = 0; i < 24; i++) DYNC_SCOPE {
        int which = i % 3; /* one, the other, none */
        dync_value args[4] = {DYNC_V(x), DYNC_V(y), DYNC_NONE, DYNC_NONE};
        for (int k = 0; k < 2 && which < 2; k++) args[2 + k] = DYNC_V(adapter[which][k]);
        note(p, dync_item(call1(p, f, adapted_step, 4, args)));
        if (i == 12) DYNC_NO_GRAD { /* the first is merged into the base, and begins anew */
            dync_add_(w[0], dync_transpose(dync_mul(dync_matmul(adapter[0][0], adapter[0][1]), 0.5),
                                           0, 1));
            dync_zero_(adapter[0][1]);
        }
        if (i == 2) settled(p);
    }
    for (int i = 0; i < 4; i++) note_tensor(p, adapter[i / 2][i % 2]);
    finish(f);
}
TEST(adapters_come_and_go) { lives(adapters, 2, 2, 1e-4); }

/* ---- an early stop --------------------------------------------------------------------------- */
static dync_value train_or_validate(const dync_value *a, int n, void *user)
{
    (void)n, (void)user;
    dync_tensor *loss =
        dync_mse_loss(dync_forward_call(net, dync_as_tensor(a[0])), dync_as_tensor(a[1]));
    return dync_v_tensor(dync_module_is_training(net) ? stepped(loss) : dync_detach(loss));
}
/* Until validation has not improved for four epochs; then the best weights come back. */
static void early_stop(living *p, bool two)
{
    net = dync_sequential(dync_nn_linear(5, 24, true), dync_nn_tanh(), dync_nn_dropout(0.1),
                          dync_nn_linear(24, 1, true));
    optim = dync_adam(net, .lr = 0.05);
    dync_compiled *f = dync_compile((dync_function)train_or_validate, .fullgraph = true),
                  *g = dync_compile((dync_function)train_or_validate, .fullgraph = true);
    dync_tensor *x[2], *y[2], *w[8], *best[8];
    int n = dync_module_parameters(net, w, 8), worse = 0;
    double least = 1e9;
    for (int i = 0; i < 2; i++) {
        x[i] = dync_randn(dync_shape(16, 5));
        y[i] = dync_add(dync_sum(x[i], dync_shape(1), true), dync_randn(dync_shape(16, 1)));
    }
    DYNC_NO_GRAD for (int i = 0; i < n; i++)
        best[i] = dync_clone(w[i]);
    int epoch = 0;
    for (; epoch < 100 && worse < 4; epoch++) DYNC_SCOPE {
        dync_module_train(net, true);
        dync_value train[2] = {DYNC_V(x[0]), DYNC_V(y[0])}, valid[2] = {DYNC_V(x[1]), DYNC_V(y[1])};
        for (int i = 0; i < 3; i++) DYNC_SCOPE {
            note(p, dync_item(call1(p, f, train_or_validate, 2, train)));
        }
        dync_module_train(net, false);
        double loss = 0;
        DYNC_NO_GRAD loss = dync_item(call1(p, two ? g : f, train_or_validate, 2, valid));
        note(p, loss);
        worse = loss < least ? 0 : worse + 1;
        if (loss < least) DYNC_NO_GRAD
            for (int i = 0; i < n; i++) dync_copy_(best[i], w[i]);
        least = fmin(loss, least);
        if (epoch == 0) settled(p);
    }
    note(p, epoch);
    DYNC_NO_GRAD for (int i = 0; i < n; i++)
        dync_copy_(w[i], best[i]);
    dync_value valid[2] = {DYNC_V(x[1]), DYNC_V(y[1])};
    DYNC_NO_GRAD note(p, dync_item(call1(p, two ? g : f, train_or_validate, 2, valid)));
    dync_compiled_free(g);
    finish(f);
}
static void stop_one(living *p) { early_stop(p, false); }
static void stop_two(living *p) { early_stop(p, true); }
TEST(an_early_stop_in_one_function) { lives(stop_one, 2, 2, 1e-4); }
TEST(an_early_stop_in_two_functions) { lives(stop_two, 2, 2, 1e-4); }

TEST_MAIN
