/* Rows A of the conformance list, second part: export, tables of sequence numbers, split graphs,
 * double backward, modules. */
#include "../capture/counter.h"

static const char *const backends[] = {
    "eager", "aot_eager", "inductor", "aot_eager_default_partitioner", "aot_eager_decomp_partition",
    "aot_ts"};
enum { N_BACKENDS = 6 };

/* ---- A-01 ------------------------------------------------------------------------------------ */
static dync_value lstm_forward(dync_module *self, const dync_value *a, int n)
{
    (void)n;
    return dync_tuple(dync_module_call_values(dync_module_child(self, "rnn"), 1, a));
}
static dync_tensor *strided_input(void)
{
    return dync_as_strided(dync_rand(dync_shape(23552)), dync_shape(92, 4, 64),
                           dync_shape(1, 5888, 92), 0);
}
static dync_tensor *nested(dync_value v, int i)
{
    dync_value inner = dync_at(v, 0), states = dync_at(inner, 1);
    return dync_as_tensor(i == 0 ? dync_at(inner, 0) : dync_at(states, i - 1));
}
TEST(A_01_LSTM)
{
    dync_module *m = dync_module_new_values("LSTMModule", lstm_forward, "x", NULL);
    dync_module_add(m, "rnn", dync_nn_lstm(64, 64, 2, true));
    dync_tensor *x = strided_input();
    EXPECT(!dync_requires_grad(x));
    dync_value want = dync_module_call(m, x);
    for (int b = 1; b < 3; b++) {
        dync_compiled *f = dync_compile(m, .args = "x", .backend = backends[b]);
        dync_value got = dync_call_value(f, x);
        for (int i = 0; i < 3; i++) EXPECT(same(nested(want, i), nested(got, i), 1e-4));
        EXPECT_EQ_INT(dync_size(nested(got, 0), 0), 92);
        EXPECT_EQ_INT(dync_size(nested(got, 0), 1), 4);
        EXPECT_EQ_INT(dync_size(nested(got, 0), 2), 128);
        for (int i = 1; i < 3; i++)
            EXPECT(dync_ndim(nested(got, i)) == 3 && dync_size(nested(got, i), 0) == 4 &&
                   dync_size(nested(got, i), 1) == 4 && dync_size(nested(got, i), 2) == 64);
        EXPECT_EQ_INT(dync_error(), DYNC_OK);
        dync_compiled_free(f);
    }
    dync_module_free(m);
}

/* ---- exported, then compiled ----------------------------------------------------- */
static dync_value conv_inner(dync_module *self, const dync_value *a, int n)
{
    (void)n;
    return dync_v_tensor(dync_forward_call(dync_module_child(self, "conv"), dync_as_tensor(a[0])));
}
TEST(A_06_call_fn_with_non_const_inputs_aot_safe)
{
    dync_module *m = dync_module_new_values("ModuleSpecialFwd", conv_inner, "inp", NULL);
    dync_module_add(m, "conv", dync_nn_conv2d(3, 20, 5, 1, 0, true));
    dync_tensor *rx = dync_randn(dync_shape(3, 10, 10)),
                *real = dync_as_tensor(dync_module_call(m, rx));
    EXPECT(dync_ndim(real) == 3 && dync_size(real, 0) == 20 && dync_size(real, 1) == 6 &&
           dync_size(real, 2) == 6);
    dync_program *p = dync_export(m, rx);
    REQUIRE(p != NULL);
    dync_value arg = dync_v_tensor(rx);
    EXPECT(
        same(dync_detach(real), dync_detach(dync_as_tensor(dync_program_run(p, 1, &arg))), 1e-5));
    for (int b = 0; b < N_BACKENDS; b++) {
        dync_compiled *f = dync_compile(p, .backend = backends[b]);
        EXPECT(same(dync_detach(real), dync_detach(dync_call(f, rx)), 1e-4));
        EXPECT_EQ_INT(dync_error(), DYNC_OK);
        dync_compiled_free(f);
    }
    dync_program_free(p);
    dync_module_free(m);
}

static dync_value no_grad_add(dync_module *self, const dync_value *a, int n)
{
    dync_tensor *param = dync_as_tensor(a[0]), *y = dync_as_tensor(a[1]);
    bool before = dync_is_grad_enabled();
    (void)self, (void)n;
    dync_set_grad_enabled(false);
    dync_add_(param, y);
    dync_set_grad_enabled(before);
    return dync_v_tensor(y);
}
TEST(A_07_call_fn_with_non_const_inputs_aot_unsafe)
{
    dync_module *m = dync_module_new_values("ModuleSpecialFwd", no_grad_add, "x, y", NULL);
    dync_tensor *x = dync_parameter(dync_randn(dync_shape(4))), *y = dync_randn(dync_shape(4)),
                *was = dync_clone(dync_detach(x));
    dync_value args[2];
    args[0] = dync_v_tensor(x), args[1] = dync_v_tensor(y);
    dync_tensor *real = dync_as_tensor(dync_module_call_values(m, 2, args));
    dync_program *p = dync_export(m, x, y);
    REQUIRE(p != NULL);
    /* exporting writes nothing */
    EXPECT(same(dync_detach(x), dync_add(was, y), 1e-6));
    EXPECT(same(real, dync_as_tensor(dync_program_run(p, 2, args)), 1e-6));
    EXPECT(same(dync_detach(x), dync_add(was, dync_mul(y, 2)), 1e-5)); /* running does */
    for (int b = 0; b < 3; b++) {
        dync_tensor *before = dync_clone(dync_detach(x));
        dync_compiled *f = dync_compile(p, .backend = backends[b]);
        EXPECT(same(y, dync_call(f, x, y), 1e-6));
        EXPECT(same(dync_detach(x), dync_add(before, y), 1e-5));
        EXPECT(dync_is_grad_enabled());
        EXPECT_EQ_INT(dync_error(), DYNC_OK);
        dync_compiled_free(f);
    }
    dync_program_free(p);
    dync_module_free(m);
}

/* ---- A-21 ------------------------------------------------------------------------------------ */
static dync_value model_forward(dync_module *m, const dync_value *a, int n)
{
    dync_tensor *x = dync_as_tensor(a[0]), *y = x;
    static const char *const layers[] = {"conv1", "bn1", "relu1"};
    (void)n;
    for (int i = 0; i < 3; i++) y = dync_forward_call(dync_module_child(m, layers[i]), y);
    y = dync_flatten(dync_add(x, y), 0, -1);
    y = dync_forward_call(dync_module_child(m, "fc1"), y);
    return dync_tuple(
        dync_as_tensor(dync_module_call(dync_module_child(m, "loss_fn"), y, dync_as_tensor(a[1]))));
}
static dync_value l1_forward(dync_module *m, const dync_value *a, int n)
{
    (void)m, (void)n;
    return dync_v_tensor(dync_l1_loss(dync_as_tensor(a[0]), dync_as_tensor(a[1])));
}
static dync_module *model(int64_t features)
{
    dync_module *m = dync_module_new_values("Model", model_forward, "x, target", NULL);
    dync_module_add(m, "conv1", dync_nn_conv2d(16, 16, 1, 1, 0, true));
    dync_module_add(m, "bn1", dync_nn_batch_norm2d(16));
    dync_module_add(m, "relu1", dync_nn_relu());
    dync_module_add(m, "fc1", dync_nn_linear(features, 1, true));
    dync_module_add(m, "loss_fn",
                    dync_module_new_values("L1Loss", l1_forward, "input, target", NULL));
    dync_module_train(m, true);
    return m;
}
typedef struct {
    char table[8192];
    int n_inputs;
    dync_value outputs;
} exported;
static dync_status export_compile(dync_graph *g, const dync_value *ex, int n, const char *options,
                                  dync_callable *out, void *user)
{
    exported *e = user;
    dync_graph *joint = NULL;
    (void)options;
    if (dync_aot_export(g, ex, n, true, &joint) == DYNC_OK) {
        snprintf(e->table, sizeof e->table, "%s", dync_graph_seq_table(joint));
        e->n_inputs = n;
        dync_graph_free(joint);
    }
    return dync_compile_graph("eager", g, ex, n, out);
}
static const char *const seq_rows[] = {
    "0|aten.convolution.default|l__self___conv1",
    "0|aten.add.Tensor|l__self___bn1",
    "1|aten._native_batch_norm_legit_functional.default|l__self___bn1",
    "2|aten.relu.default|l__self___relu1",
    "2|aten.detach.default|l__self___relu1",
    "2|aten.detach.default|l__self___relu1",
    "3|aten.add.Tensor|add",
    "4|aten.view.default|flatten",
    "5|aten.view.default|l__self___fc1",
    "6|aten.t.default|l__self___fc1",
    "7|aten.addmm.default|l__self___fc1",
    "8|aten.view.default|l__self___fc1",
    "9|aten.sub.Tensor|l__self___loss_fn",
    "10|aten.abs.default|l__self___loss_fn",
    "11|aten.mean.default|l__self___loss_fn",
    "11|aten.ones_like.default|",
    "11|aten.expand.default|",
    "11|aten.div.Scalar|",
    "10|aten.sgn.default|",
    "10|aten.mul.Tensor|",
    "8|aten.view.default|",
    "7|aten.t.default|",
    "7|aten.mm.default|",
    "7|aten.t.default|",
    "7|aten.mm.default|",
    "7|aten.t.default|",
    "7|aten.sum.dim_IntList|",
    "7|aten.view.default|",
    "6|aten.t.default|",
    "5|aten.view.default|",
    "4|aten.view.default|",
    "2|aten.detach.default|",
    "2|aten.detach.default|",
    "2|aten.threshold_backward.default|",
    "1|aten.native_batch_norm_backward.default|",
    "0|aten.convolution_backward.default|",
    "11|aten.add.Tensor|"};
TEST(A_21_aot_sequence_nr)
{
    exported e = {0};
    dync_backend b = {.name = "export", .compile = export_compile, .user = &e};
    dync_module *m = model(1638400);
    dync_compiled *f = dync_compile(m, .backend_object = &b, .fullgraph = true);
    dync_tensor *x = dync_rand(dync_shape(100, 16, 32, 32), .requires_grad = true),
                *target = dync_rand(dync_shape(1));
    EXPECT(dync_call_value(f, x, target).kind == DYNC_KIND_LIST);
    char want[8192] = "SeqNr|OrigAten|SrcFn\n";
    for (size_t i = 0; i < sizeof seq_rows / sizeof seq_rows[0]; i++)
        snprintf(want + strlen(want), sizeof want - strlen(want), "%s\n", seq_rows[i]);
    EXPECT_EQ_STR(e.table, want);
    EXPECT_EQ_INT(dync_error(), DYNC_OK);
    dync_compiled_free(f);
    dync_module_free(m);
}

/* ---- the profiler sees backward nodes with their numbers ------------------------------- */
static dync_value grad_with_create_graph(const dync_value *a, int n, void *user)
{
    dync_value y = dync_module_call_values(user, 2, a);
    (void)n;
    return dync_gradients(dync_at(y, 0), a[0],
                          DYNC_V(dync_ones(DYNC_SCALAR, .requires_grad = true)),
                          (dync_grad_options){.create_graph = true});
}
/* Hooks before and after a node: what the thread says of the node inside, in pairs. */
typedef struct meta_seen {
    int before, after, numbered;
} meta_seen;
static dync_tensor *meta_before(dync_tensor *g, void *user)
{
    meta_seen *s = user;
    (void)g;
    s->before++;
    if (dync_trace_meta_get("grad_fn_seq_nr") && dync_trace_meta_get("in_grad_fn")) s->numbered++;
    return NULL;
}
static dync_tensor *meta_after(dync_tensor *g, void *user)
{
    (void)g;
    ((meta_seen *)user)->after++;
    return NULL;
}
static dync_value three_forward(dync_autograd_ctx *ctx, const dync_value *args, int nargs)
{
    dync_tensor *x = dync_as_tensor(args[0]);
    (void)ctx, (void)nargs;
    return dync_tuple(dync_clone(dync_slice(x, 0, 0, 7, 1)), dync_clone(dync_slice(x, 0, 7, 23, 1)),
                      dync_clone(dync_slice(x, 0, 23, 32, 1)));
}
static dync_value three_backward(dync_autograd_ctx *ctx, const dync_value *grads, int n)
{
    dync_value all = dync_tuple_of(n, grads);
    (void)ctx;
    return dync_v_tensor(dync_cat(all, 0));
}

TEST(A_22_split_with_sizes_cleans_up_traceback_meta)
{
    static const dync_autograd_function three = {"Three", three_forward, three_backward};
    for (int shared = 0; shared < 2; shared++) {
        meta_seen seen = {0, 0, 0};
        dync_tensor *x = dync_randn(dync_shape(32), .requires_grad = true), *sum = NULL;
        dync_tensor *split_sizes =
            dync_from((int64_t[]){7, 16, 9}, dync_shape(3), .dtype = DYNC_I64);
        const int64_t *n = dync_data(split_sizes);
        dync_value parts = shared ? dync_apply(&three, x)
                                  : dync_split_sizes(x, dync_shape(n[0], n[1], n[2]), 0);
        EXPECT_EQ_INT(dync_len(parts), 3);
        for (int i = 0; i < 3; i++) {
            dync_tensor *p = dync_as_tensor(dync_at(parts, i)), *s;
            EXPECT(dync_grad_fn_hook(p, meta_before, meta_after, &seen) >= 0);
            s = dync_sum(p, DYNC_ALL, false);
            sum = sum ? dync_add(sum, s) : s;
        }
        EXPECT(dync_trace_meta_get("grad_fn_seq_nr") == NULL);
        EXPECT_OK(dync_backward(sum));
        EXPECT_EQ_INT(seen.before, 3);
        EXPECT_EQ_INT(seen.after, 3);
        EXPECT_EQ_INT(seen.numbered, 3);
        EXPECT(dync_trace_meta_get("grad_fn_seq_nr") == NULL);
        EXPECT(dync_trace_meta_get("in_grad_fn") == NULL);
        EXPECT(dync_equal(dync_grad(x), dync_ones(dync_shape(32))));
    }
    dync_shutdown();
}

TEST(A_24_eager_sequence_nr)
{
    dync_module *m = model(1638400);
    dync_tensor *x = dync_rand(dync_shape(100, 16, 32, 32), .requires_grad = true),
                *target = dync_rand(dync_shape(1));
    dync_compiled *f =
        dync_compile(dync_bind(grad_with_create_graph, m, "x, target"), .backend = "aot_eager");
    dync_profile_event_info e;
    int found = 0;
    dync_profile_start();
    dync_value gx = dync_call_value(f, x, target);
    dync_profile_stop();
    EXPECT(gx.kind == DYNC_KIND_LIST || gx.kind == DYNC_KIND_TENSOR);
    for (int i = 0; dync_profile_event(i, &e); i++) {
        size_t len = strlen(e.name);
        if (len < 9 || (strcmp(e.name + len - 9, "Backward0") != 0 &&
                        strcmp(e.name + len - 9, "Backward1") != 0))
            continue;
        found++;
        EXPECT(e.seq_nr >= 0);
        EXPECT(e.time_ns >= 0 && e.thread >= 0);
    }
    EXPECT(found > 0);
    EXPECT_EQ_INT(dync_error(), DYNC_OK);
    dync_compiled_free(f);
    dync_module_free(m);
}

/* ---- exported forward only ------------------------------------------------------------- */
static dync_value run_exported(void *state, const dync_value *args, int n)
{
    return dync_graph_run(state, args, n);
}
static void free_exported(void *state) { dync_graph_free(state); }
static dync_status forward_compile(dync_graph *g, const dync_value *ex, int n, const char *options,
                                   dync_callable *out, void *user)
{
    dync_graph *fw = NULL;
    (void)options;
    memset(out, 0, sizeof *out);
    dync_status status = dync_aot_export(g, ex, n, false, &fw);
    if (status != DYNC_OK) return status;
    ++*(int *)user;
    out->run = run_exported;
    out->destroy = free_exported;
    out->state = fw;
    return DYNC_OK;
}
TEST(A_23_aot_export_joint_simple)
{
    int ran = 0;
    dync_backend b = {.name = "export_forward", .compile = forward_compile, .user = &ran};
    dync_module *m = dync_nn_linear(5, 7, true);
    dync_tensor *x = dync_rand(dync_shape(3, 4, 5)), *want = dync_forward_call(m, x);
    dync_compiled *f = dync_compile(m, .backend_object = &b);
    EXPECT(same(dync_detach(want), dync_detach(dync_call(f, x)), 1e-6));
    EXPECT_EQ_INT(ran, 1);
    EXPECT_EQ_INT(dync_error(), DYNC_OK);
    dync_compiled_free(f);
    dync_module_free(m);
}
static dync_tensor *writes_input(dync_tensor *x) { return dync_add_(x, 1); }
TEST(export_forward_refuses_writes)
{
    int ran = 0;
    dync_backend b = {.name = "export_forward", .compile = forward_compile, .user = &ran};
    dync_compiled *f = dync_compile(writes_input, .backend_object = &b);
    EXPECT(dync_call(f, dync_rand(dync_shape(3))) == NULL);
    EXPECT(
        strstr(dync_error_message(), "aot_export_joint_simple does not support input mutations"));
    EXPECT_EQ_INT(ran, 0);
    dync_clear_error();
    dync_compiled_free(f);
    EXPECT(dync_graph_seq_table(NULL) == NULL);
    EXPECT_EQ_INT(dync_error(), DYNC_ERR_VALUE);
    dync_clear_error();
    EXPECT_EQ_INT(dync_aot_export(NULL, NULL, 0, true, NULL), DYNC_ERR_VALUE);
    dync_clear_error();
}

/* The joint graph computes: outputs and gradients as eager's. */
typedef struct {
    dync_graph *joint;
} kept;
static dync_status keep_joint(dync_graph *g, const dync_value *ex, int n, const char *options,
                              dync_callable *out, void *user)
{
    (void)options;
    dync_status status = dync_aot_export(g, ex, n, true, &((kept *)user)->joint);
    return status == DYNC_OK ? dync_compile_graph("eager", g, ex, n, out) : status;
}
static dync_tensor *vector_fn(dync_tensor *x, dync_tensor *w)
{
    return dync_tanh(dync_matmul(x, w));
}
TEST(joint_export_with_tangents_runs)
{
    kept k = {0};
    dync_backend b = {.name = "joint", .compile = keep_joint, .user = &k};
    dync_compiled *f = dync_compile(vector_fn, .args = "x, w", .backend_object = &b);
    dync_tensor *x = dync_randn(dync_shape(3, 4)),
                *w = dync_randn(dync_shape(4, 2), .requires_grad = true),
                *g = dync_randn(dync_shape(3, 2));
    dync_tensor *y = dync_call(f, x, w);
    REQUIRE(k.joint != NULL);
    dync_backward_with(y, g);
    dync_value args[3] = {{0}, {0}, {0}};
    args[0] = dync_v_tensor(x), args[1] = dync_v_tensor(dync_detach(w)), args[2] = dync_v_tensor(g);
    dync_value r = dync_graph_run(k.joint, args, 3);
    EXPECT_EQ_INT(dync_len(r), 3);
    EXPECT(same(dync_detach(y), dync_as_tensor(dync_at(r, 0)), 1e-6));
    EXPECT_EQ_INT(dync_at(r, 1).kind, DYNC_KIND_NONE);
    EXPECT(same(dync_grad(w), dync_as_tensor(dync_at(r, 2)), 1e-6));
    dync_graph_free(k.joint);
    dync_compiled_free(f);
}

/* ---- double backward, really ----------------------------------------------------------------- */
static dync_tensor *exp_sin(dync_tensor *x) { return dync_exp(dync_sin(x)); }
static dync_tensor *first_of(dync_value v)
{
    return dync_as_tensor(v.kind == DYNC_KIND_LIST ? dync_at(v, 0) : v);
}
TEST(double_backward_as_asked)
{
    for (int b = 1; b < 3; b++) {
        dync_compiled *f =
            dync_compile(exp_sin, .args = "x", .backend = backends[b], .double_backward = true);
        dync_tensor *x = dync_randn(dync_shape(5), .requires_grad = true), *second[2];
        for (int k = 0; k < 2; k++) {
            dync_tensor *y = dync_sum(k ? dync_call(f, x) : exp_sin(x), DYNC_ALL, false);
            dync_tensor *gx = first_of(dync_gradients(DYNC_V(y), DYNC_V(x), DYNC_NONE,
                                                      (dync_grad_options){.create_graph = true}));
            second[k] = first_of(dync_gradients(DYNC_V(dync_sum(dync_mul(gx, gx), DYNC_ALL, false)),
                                                DYNC_V(x), DYNC_NONE, (dync_grad_options){0}));
        }
        EXPECT(same(second[0], second[1], 1e-4));
        EXPECT_EQ_INT(dync_error(), DYNC_OK);
        dync_compiled_free(f);
    }
}
/* sin(x) * c, where c = x + x*x is constant to gradients, one part detached and one made while they
 * are off: cos(x) * c, then -sin(x) * c. */
static dync_tensor *partly_constant(dync_tensor *x)
{
    dync_tensor *fixed;
    DYNC_NO_GRAD {
        fixed = dync_mul(x, x);
    }
    return dync_mul(dync_sin(x), dync_add(dync_detach(x), fixed));
}
TEST(double_backward_of_partly_constant)
{
    float at[] = {0.5f, -1, 2};
    for (int b = 1; b < 3; b++)
        for (int dynamic = 0; dynamic < 2; dynamic++) {
            dync_compiled *f = dync_compile(
                partly_constant, .args = "x", .backend = backends[b], .double_backward = true,
                .dynamic = dynamic ? DYNC_DYNAMIC_ON : DYNC_DYNAMIC_OFF);
            DYNC_SCOPE {
                dync_tensor *x = dync_from(at, dync_shape(3), .requires_grad = true),
                            *y = dync_sum(dync_call(f, x), DYNC_ALL, false);
                dync_tensor *gx = first_of(dync_gradients(
                    DYNC_V(y), DYNC_V(x), DYNC_NONE, (dync_grad_options){.create_graph = true}));
                dync_tensor *ggx =
                    first_of(dync_gradients(DYNC_V(dync_sum(gx, DYNC_ALL, false)), DYNC_V(x),
                                            DYNC_NONE, (dync_grad_options){0}));
                for (int i = 0; i < 3; i++) {
                    double v = at[i], c = v + v * v;
                    EXPECT_NEAR(dync_item(dync_select(gx, 0, i)), cos(v) * c, 1e-5);
                    EXPECT_NEAR(dync_item(dync_select(ggx, 0, i)), -sin(v) * c, 1e-5);
                }
            }
            EXPECT_EQ_INT(dync_error(), DYNC_OK);
            dync_compiled_free(f);
        }
}
/* A write makes rows of strided inputs, which AOT's forward graph then has in their place: they
 * keep their histories. */
static dync_tensor *cube_times_sum(dync_tensor *x, dync_tensor *sum)
{
    dync_add_(sum, 1);
    return dync_mul(dync_mul(x, x), dync_mul(x, sum));
}
static dync_tensor *with_holes(dync_dims shape, bool requires_grad)
{
    dync_tensor *wide = dync_randn(dync_shape(shape.d[0], 2 * shape.d[1])),
                *t = dync_detach(dync_slice(wide, 1, 1, DYNC_END, 2));
    return requires_grad ? dync_requires_grad_(t, true) : t;
}
TEST(double_backward_of_strided_inputs_beside_a_written_one)
{
    for (int b = 1; b < 3; b++)
        for (int dynamic = 0; dynamic < 2; dynamic++) {
            dync_compiled *f = dync_compile(
                cube_times_sum, .args = "x, sum", .backend = backends[b], .double_backward = true,
                .dynamic = dynamic ? DYNC_DYNAMIC_ON : DYNC_DYNAMIC_OFF);
            DYNC_SCOPE {
                dync_tensor *leaf = with_holes(dync_shape(2, 3), true),
                            *sum = with_holes(dync_shape(2, 3), false), *copy = dync_clone(sum);
                for (int k = 0; k < 2; k++) {
                    dync_tensor *x = k ? dync_slice(dync_mul(with_holes(dync_shape(2, 6), true), 1),
                                                    1, 0, DYNC_END, 2)
                                       : leaf;
                    dync_tensor *y = dync_call(f, x, sum), *want = cube_times_sum(x, copy),
                                *pair[2] = {y, want}, *g[2], *h[2];
                    for (int i = 0; i < 2; i++) {
                        g[i] = first_of(dync_gradients(DYNC_V(dync_sum(pair[i], DYNC_ALL, false)),
                                                       DYNC_V(x), DYNC_NONE,
                                                       (dync_grad_options){.create_graph = true}));
                        h[i] = first_of(
                            dync_gradients(DYNC_V(dync_sum(dync_mul(g[i], g[i]), DYNC_ALL, false)),
                                           DYNC_V(x), DYNC_NONE, (dync_grad_options){0}));
                    }
                    EXPECT(same(dync_detach(g[0]), dync_detach(g[1]), 1e-5));
                    EXPECT(same(h[0], h[1], 1e-5));
                    EXPECT(same(sum, copy, 1e-6));
                }
            }
            EXPECT_EQ_INT(dync_error(), DYNC_OK);
            dync_compiled_free(f);
        }
}
/* Parts written in place and a copy over a turned value: the forward graph that is run again holds
 * windows. */
static dync_tensor *written_parts(dync_tensor *x, dync_tensor *s)
{
    dync_tensor *y = dync_mul(dync_transpose(x, 0, 1), s);
    dync_add_(dync_select(y, 0, 1), dync_mul(dync_select(s, 0, 0), 2));
    dync_tensor *z = dync_copy_(dync_mul(dync_transpose(x, 0, 1), 1.0), dync_sin(s));
    dync_mul_(dync_slice(y, 1, 0, DYNC_END, 2), dync_slice(z, 1, 0, DYNC_END, 2));
    return dync_mul(y, dync_sin(z));
}
TEST(double_backward_of_written_parts)
{
    for (int b = 1; b < 3; b++) {
        dync_compiled *f = dync_compile(written_parts, .args = "x, s", .backend = backends[b],
                                        .double_backward = true);
        dync_tensor *x = dync_randn(dync_shape(5, 4), .requires_grad = true),
                    *s = dync_randn(dync_shape(4, 5), .requires_grad = true), *got[2][4];
        for (int k = 0; k < 2; k++) {
            dync_tensor *y =
                dync_sum(k ? dync_call(f, x, s) : written_parts(x, s), DYNC_ALL, false);
            dync_value first = dync_gradients(DYNC_V(y), dync_tuple(x, s), DYNC_NONE,
                                              (dync_grad_options){.create_graph = true});
            for (int i = 0; i < 2; i++) got[k][i] = dync_as_tensor(dync_at(first, i));
            dync_tensor *both =
                dync_sum(dync_add(dync_mul(got[k][0], got[k][0]), dync_t(dync_sin(got[k][1]))),
                         DYNC_ALL, false);
            dync_value second =
                dync_gradients(DYNC_V(both), dync_tuple(x, s), DYNC_NONE, (dync_grad_options){0});
            for (int i = 0; i < 2; i++) got[k][2 + i] = dync_as_tensor(dync_at(second, i));
        }
        for (int i = 0; i < 4; i++) EXPECT(same(got[0][i], got[1][i], 1e-4));
        EXPECT_EQ_INT(dync_error(), DYNC_OK);
        dync_compiled_free(f);
    }
}
static dync_tensor *scaled_dropout(dync_tensor *x, dync_tensor *w)
{
    return dync_tanh(dync_mul(dync_mul(x, w), dync_rand(dync_shape(6))));
}
TEST(double_backward_with_random_numbers)
{
    for (int b = 1; b < 3; b++) {
        dync_compiled *f = dync_compile(scaled_dropout, .args = "x, w", .backend = backends[b],
                                        .double_backward = true);
        dync_tensor *x = dync_randn(dync_shape(6), .requires_grad = true), *w = dync_mul(x, 2),
                    *got[2][2];
        for (int k = 0; k < 2; k++) {
            dync_manual_seed(3);
            dync_tensor *y =
                dync_sum(k ? dync_call(f, x, w) : scaled_dropout(x, w), DYNC_ALL, false);
            dync_tensor *gx = first_of(
                dync_gradients(DYNC_V(y), DYNC_V(x), DYNC_NONE,
                               (dync_grad_options){.create_graph = true, .retain_graph = true}));
            got[k][0] = dync_detach(gx);
            got[k][1] = first_of(dync_gradients(DYNC_V(dync_sum(dync_mul(gx, gx), DYNC_ALL, false)),
                                                DYNC_V(x), DYNC_NONE,
                                                (dync_grad_options){.retain_graph = true}));
        }
        EXPECT(same(got[0][0], got[1][0], 1e-4) && same(got[0][1], got[1][1], 1e-4));
        EXPECT_EQ_INT(dync_error(), DYNC_OK);
        dync_compiled_free(f);
    }
}

/* ---- what is saved must not be written ------------------------------------------------------- */
TEST(saved_value_written_is_an_error)
{
    for (int b = 1; b < 3; b++) {
        dync_compiled *f = dync_compile(exp_sin, .args = "x", .backend = backends[b]);
        dync_tensor *x = dync_mul(dync_randn(dync_shape(3), .requires_grad = true), 1),
                    *y = dync_call(f, x);
        DYNC_NO_GRAD {
            dync_add_(x, 1);
        }
        EXPECT_EQ_INT(dync_backward(dync_sum(y, DYNC_ALL, false)), DYNC_ERR_AUTOGRAD);
        EXPECT(strstr(dync_error_message(), "has been modified by an inplace operation"));
        dync_clear_error();
        dync_compiled_free(f);
    }
}

/* ---- options, configuration ------------------------------------------------------------------ */
TEST(aot_options)
{
    static const char *const good[] = {"partition=default", "partition=min_cut, memory_budget=0",
                                       "decompositions=all", "memory_budget=0.5"};
    static const char *const bad[] = {"partition=some", "memory_budget=2", "decompositions=x",
                                      "speed=1"};
    dync_tensor *x = dync_randn(dync_shape(3), .requires_grad = true);
    for (int i = 0; i < 4; i++) {
        dync_compiled *f = dync_compile(exp_sin, .backend = "aot_eager", .options = good[i]);
        dync_set_grad(x, NULL);
        EXPECT_OK(dync_backward(dync_sum(dync_call(f, x), DYNC_ALL, false)));
        EXPECT(same(dync_grad(x), dync_detach(dync_mul(exp_sin(x), dync_cos(x))), 1e-5));
        dync_compiled_free(f);
        f = dync_compile(exp_sin, .backend = "aot_eager", .options = bad[i]);
        EXPECT(dync_call(f, x) == NULL);
        EXPECT(dync_error() != DYNC_OK);
        dync_clear_error();
        dync_compiled_free(f);
    }
    EXPECT_EQ_INT(dync_config_set("activation_memory_budget", "1.5"), DYNC_ERR_VALUE);
    dync_clear_error();
    EXPECT_OK(dync_config_set("activation_memory_budget", "1"));
}

/* ---- a split graph, each part compiled ------------------------------------------------- */
static dync_value maybe_dupe(const dync_value *a, int n, void *user)
{
    dync_tensor *x = dync_as_tensor(a[0]), *y = dync_add(x, 1), *z = dync_add(x, 2);
    (void)n, (void)user;
    return dync_numel(x) < 5 ? dync_tuple(y, y) : dync_tuple(y, z);
}
static dync_value dupe_op(dync_tensor *a)
{
    dync_value v = dync_v_tensor(a);
    return dync_op_call_values("custom::maybe_dupe_op", 1, &v);
}
static dync_value dupe_split(const dync_value *a, int n, void *user)
{
    (void)n, (void)user;
    dync_value bc = dupe_op(dync_as_tensor(a[0]));
    return dync_tuple(dync_mul_(dync_as_tensor(dync_at(bc, 0)), dync_at(bc, 1)));
}
static bool is_mul(const dync_node *n, void *user)
{
    (void)user;
    return strncmp(dync_node_name(n), "mul", 3) == 0;
}
typedef struct {
    dync_graph *part[4];
    dync_callable code[4];
    bool made[4];
    int n;
    dync_backend aot;
} split_state;
static dync_value split_run(void *state, const dync_value *args, int n)
{
    split_state *s = state;
    dync_value values[8];
    memcpy(values, args, (size_t)n * sizeof *args);
    for (int i = 0; i < s->n; i++) {
        if (!s->made[i]) {
            if (s->aot.compile(s->part[i], values, n, NULL, &s->code[i], s->aot.user) != DYNC_OK)
                return DYNC_NONE;
            s->made[i] = true;
        }
        dync_value r = s->code[i].run(s->code[i].state, values, n);
        n = dync_len(r);
        for (int k = 0; k < n; k++) values[k] = dync_at(r, k);
    }
    return dync_tuple_of(n, values);
}
static void split_destroy(void *state)
{
    split_state *s = state;
    for (int i = 0; i < s->n; i++) {
        if (s->made[i] && s->code[i].destroy) s->code[i].destroy(s->code[i].state);
        dync_graph_free(s->part[i]);
    }
}
static split_state split_states[2];
static int n_split;
static dync_status split_compile(dync_graph *g, const dync_value *ex, int n, const char *options,
                                 dync_callable *out, void *user)
{
    (void)ex, (void)n, (void)options;
    split_state *s = &split_states[n_split++];
    s->n = 4;
    s->aot = *(const dync_backend *)user;
    memset(out, 0, sizeof *out);
    out->run = split_run;
    out->destroy = split_destroy;
    out->state = s;
    return dync_graph_split(g, is_mul, NULL, s->part, &s->n);
}
TEST(A_19_multiple_aot_autograd_calls_dupe_args)
{
    EXPECT_OK(dync_op_register("custom::maybe_dupe_op", "(Tensor a) -> (Tensor, Tensor)",
                               maybe_dupe, maybe_dupe, NULL));
    dync_backend eager = *dync_lookup_backend("eager"), aot = dync_aot_autograd(&eager, NULL);
    dync_backend b = {.name = "split", .compile = split_compile, .user = &aot};
    dync_compiled *f = dync_compile(dync_bind(dupe_split, NULL, "a"), .backend_object = &b,
                                    .fullgraph = true, .dynamic = DYNC_DYNAMIC_OFF);
    dync_value r = dync_call_value(f, dync_ones(dync_shape(4)));
    EXPECT(same(dync_as_tensor(dync_at(r, 0)), dync_full(dync_shape(4), 4.0), 0));
    r = dync_call_value(f, dync_ones(dync_shape(6)));
    EXPECT(same(dync_as_tensor(dync_at(r, 0)), dync_full(dync_shape(6), 6.0), 0));
    EXPECT_EQ_INT(n_split, 2);
    EXPECT_EQ_INT(split_states[0].n, 2);
    EXPECT_EQ_INT(dync_error(), DYNC_OK);
    dync_compiled_free(f);
}

/* ---- data of fakes --------------------------------------------------------- */
static dync_tensor *shallow(dync_tensor *given)
{
    dync_tensor *x = dync_randn(dync_shape(3)), *y = dync_shallow_copy(x),
                *of_given = dync_shallow_copy(given);
    EXPECT(y && dync_ndim(y) == dync_ndim(x) && dync_size(y, 0) == dync_size(x, 0));
    EXPECT(of_given && dync_size(of_given, 0) == dync_size(given, 0));
    return dync_add(y, of_given);
}
TEST(A_29_data_ptr_access_copy)
{
    dync_make_graph_mode(DYNC_TRACE_FAKE);
    dync_graph *g = dync_make_graph(shallow, dync_randn(dync_shape(3)));
    EXPECT(g != NULL);
    EXPECT_EQ_INT(dync_error(), DYNC_OK);
}
static dync_value touches_data(const dync_value *a, int n, void *user)
{
    (void)n, (void)user;
    dync_data(dync_as_tensor(a[0]));
    return dync_v_tensor(dync_clone(dync_as_tensor(a[0])));
}
static dync_tensor *foo(dync_tensor *x)
{
    dync_value v = dync_v_tensor(x);
    return dync_as_tensor(dync_op_call_values("mylib::foo", 1, &v));
}
static dync_tensor *foo_graph_input(dync_tensor *x) { return foo(x); }
static dync_tensor *foo_fresh(dync_tensor *x) { return foo(dync_clone(x)); }
static void data_refused(void)
{
    EXPECT_EQ_INT(dync_error(), DYNC_ERR_DATA_PTR);
    EXPECT_EQ_STR(dync_error_class(), "RuntimeError");
    EXPECT_HAS_STR(dync_error_message(),
                   "Cannot access data pointer of Tensor (e.g. FakeTensor, FunctionalTensor).");
    dync_clear_error();
}
TEST(A_30_data_ptr_access_fails_in_forward)
{
    EXPECT_OK(dync_op_register("mylib::foo", "(Tensor x) -> Tensor", touches_data, NULL, NULL));
    dync_tensor *(*fns[])(dync_tensor *) = {foo_graph_input, foo_fresh};
    for (int i = 0; i < 2; i++) {
        dync_tensor *x = dync_randn(dync_shape(3));
        dync_make_graph_mode(DYNC_TRACE_FAKE);
        dync_make_graph(fns[i], x);
        data_refused();
        dync_make_graph_mode(DYNC_TRACE_SYMBOLIC);
        dync_make_graph(fns[i], x);
        data_refused();
        dync_make_graph_mode(DYNC_TRACE_REAL);
        dync_compiled *f = dync_compile(fns[i], .backend = "eager", .fullgraph = true);
        EXPECT(dync_call(f, x) == NULL);
        data_refused();
        dync_compiled_free(f);
    }
}
static bool backward_called;
static dync_value data_fw(dync_autograd_ctx *c, const dync_value *a, int n)
{
    (void)c, (void)n;
    return dync_v_tensor(dync_clone(dync_as_tensor(a[0])));
}
static dync_value data_bw(dync_autograd_ctx *c, const dync_value *g, int n)
{
    (void)c, (void)n;
    backward_called = true;
    dync_data(dync_as_tensor(g[0]));
    return dync_v_tensor(dync_clone(dync_as_tensor(g[0])));
}
static const dync_autograd_function data_function = {
    .name = "Foo", .forward = data_fw, .backward = data_bw};
static dync_value apply_data(const dync_value *a, int n, void *user)
{
    (void)n, (void)user;
    return dync_apply(&data_function, dync_as_tensor(a[0]));
}
static dync_tensor *foo2(dync_tensor *x)
{
    dync_value v = dync_v_tensor(x);
    return dync_as_tensor(dync_op_call_values("mylib::foo2", 1, &v));
}
TEST(A_31_data_ptr_access_fails_in_backward)
{
    EXPECT_OK(dync_op_register("mylib::foo2", "(Tensor x) -> Tensor", apply_data, NULL, NULL));
    dync_tensor *x = dync_randn(dync_shape(3), .requires_grad = true);
    dync_compiled *f = dync_compile(foo2, .backend = "aot_eager", .fullgraph = true);
    EXPECT(dync_call(f, x) == NULL);
    data_refused();
    EXPECT(backward_called);
    dync_compiled_free(f);
}

/* A custom function inside one graph: its gradient is the user's. */
static dync_value cube_fw(dync_autograd_ctx *c, const dync_value *a, int n)
{
    dync_tensor *x = dync_as_tensor(a[0]);
    (void)n;
    dync_save_for_backward(c, x);
    return dync_v_tensor(dync_mul(dync_mul(dync_mul(x, x), x), a[1]));
}
static dync_value cube_bw(dync_autograd_ctx *c, const dync_value *g, int n)
{
    dync_tensor *x = dync_saved(c, 0);
    (void)n;
    /* 7, not 3: to tell it from the true gradient */
    return dync_tuple(dync_mul(dync_mul(g[0], dync_mul(x, x)), 7), DYNC_NONE);
}
static const dync_autograd_function cube = {
    .name = "Cube", .forward = cube_fw, .backward = cube_bw};
static dync_tensor *uses_cube(dync_tensor *x)
{
    return dync_add(dync_as_tensor(dync_apply(&cube, dync_sin(x), 2.0)), dync_mul(x, 3));
}
TEST(custom_function_in_one_graph)
{
    for (int b = 0; b < 5; b++) {
        dync_compiled *f =
            dync_compile(uses_cube, .args = "x", .backend = backends[b], .fullgraph = true);
        for (int call = 0; call < 2; call++) {
            dync_tensor *x = dync_randn(dync_shape(4), .requires_grad = true), *y[2], *g[2];
            for (int k = 0; k < 2; k++) {
                y[k] = k ? dync_call(f, x) : uses_cube(x);
                EXPECT_OK(dync_backward(dync_sum(y[k], DYNC_ALL, false)));
                g[k] = dync_clone(dync_grad(x));
                dync_set_grad(x, NULL);
            }
            EXPECT(same(dync_detach(y[0]), dync_detach(y[1]), 1e-5) && same(g[0], g[1], 1e-5));
        }
        EXPECT_EQ_INT(dync_error(), DYNC_OK);
        dync_compiled_free(f);
    }
}
TEST_MAIN
