/* bench/training.c: AOT autograd: the time of its stage for a transformer block, a compiled
 * training step of the 10-wide module, and the bytes that forward keeps for backward, beside those
 * of saving everything. Medians of 15 samples; numbers only, as in bench.c.
 *
 *   make bench   or build/bench/training */
#define DYNC_IMPLEMENTATION
#include "dync.h"
#include "timing.h"

/* ---- models ---------------------------------------------------------------------------------- */
static dync_tensor *head(dync_tensor *y, int i)
{
    return dync_transpose(
        dync_reshape(dync_slice(y, 2, i * 256, (i + 1) * 256, 1), dync_shape(1, 128, 8, 32)), 1, 2);
}
static dync_tensor *block_forward(dync_module *m, dync_tensor *x)
{
    dync_tensor *y = dync_forward_call(dync_module_child(m, "qkv"),
                                       dync_forward_call(dync_module_child(m, "norm1"), x));
    dync_tensor *scores =
        dync_mul(dync_matmul(head(y, 0), dync_transpose(head(y, 1), -2, -1)), 0.17677669);
    dync_tensor *z = dync_transpose(dync_matmul(dync_softmax(scores, -1), head(y, 2)), 1, 2);
    x = dync_add(x, dync_forward_call(dync_module_child(m, "out"),
                                      dync_reshape(z, dync_shape(1, 128, 256))));
    y = dync_gelu(dync_forward_call(dync_module_child(m, "up"),
                                    dync_forward_call(dync_module_child(m, "norm2"), x)));
    return dync_add(x, dync_forward_call(dync_module_child(m, "down"), y));
}
static dync_module *block(void)
{
    dync_module *m = dync_module_new("Block", block_forward, NULL);
    dync_module_add(m, "norm1", dync_nn_layer_norm(256));
    dync_module_add(m, "norm2", dync_nn_layer_norm(256));
    dync_module_add(m, "qkv", dync_nn_linear(256, 768, true));
    dync_module_add(m, "out", dync_nn_linear(256, 256, true));
    dync_module_add(m, "up", dync_nn_linear(256, 1024, true));
    dync_module_add(m, "down", dync_nn_linear(1024, 256, true));
    return m;
}
static dync_value lstm_forward(dync_module *m, const dync_value *a, int n)
{
    (void)n;
    return dync_at(dync_module_call_values(dync_module_child(m, "rnn"), 1, a), 0);
}
static dync_module *lstm(void)
{
    dync_module *m = dync_module_new_values("LSTM", lstm_forward, "x", NULL);
    dync_module_add(m, "rnn", dync_nn_lstm(64, 64, 2, true));
    return m;
}
static dync_module *small(void)
{
    return dync_sequential(dync_nn_linear(10, 10, true), dync_nn_relu(),
                           dync_nn_linear(10, 10, true), dync_nn_sigmoid());
}

/* ---- what is measured ------------------------------------------------------------------------ */
static dync_dims shape_of(dync_tensor *t)
{
    dync_dims d = {.n = dync_ndim(t)};
    for (int i = 0; i < d.n; i++) d.d[i] = dync_size(t, i);
    return d;
}
/* Graphs go to a compiler that makes nothing of them: what is left is the AOT stage. */
typedef struct {
    double ns, saved, saved_inputs;
    bool counts;
    const char *options;
    dync_graph *forward;
} aot_stage;
static dync_value run_graph(void *state, const dync_value *args, int n)
{
    return dync_graph_run(state, args, n);
}
static dync_status keep_forward(dync_graph *g, const dync_value *ex, int n, const char *options,
                                dync_callable *out, void *user)
{
    (void)ex, (void)n, (void)options;
    ((aot_stage *)user)->forward = g;
    *out = (dync_callable){.run = run_graph, .state = g};
    return DYNC_OK;
}
static bool is_input(const dync_graph *g, const char *name)
{
    for (int i = 0; i < dync_graph_len(g); i++) {
        const dync_node *n = dync_graph_node(g, i);
        if (strcmp(dync_node_op(n), "placeholder") == 0 && strcmp(dync_node_name(n), name) == 0)
            return true;
    }
    return false;
}
static dync_status count_backward(dync_graph *g, const dync_value *ex, int n, const char *options,
                                  dync_callable *out, void *user)
{
    aot_stage *s = user;
    (void)options;
    for (int i = 0; i < n && s->counts; i++) {
        const char *name = dync_node_name(dync_graph_node(g, i));
        double bytes = (double)dync_numel(ex[i].as.t) * 4;
        if (strncmp(name, "tangents", 8) == 0) continue;
        s->saved += bytes;
        if (is_input(s->forward, name)) s->saved_inputs += bytes;
    }
    *out = (dync_callable){.run = run_graph, .state = g};
    return DYNC_OK;
}
static dync_status timed(dync_graph *g, const dync_value *ex, int n, const char *options,
                         dync_callable *out, void *user)
{
    aot_stage *s = user;
    dync_backend fw = {.name = "keep", .compile = keep_forward, .user = s},
                 bw = {.name = "count", .compile = count_backward, .user = s};
    dync_backend aot = dync_aot_autograd(&fw, &bw);
    (void)options;
    s->saved = s->saved_inputs = 0;
    double start = now_ns();
    dync_status status = aot.compile(g, ex, n, s->options, out, aot.user);
    s->ns = now_ns() - start;
    return status;
}

static void stage_of(const char *name, dync_module *(*make)(void), dync_dims shape)
{
    double t[SAMPLES], kept[2];
    aot_stage s = {0};
    char text[32];
    for (int all = 0; all < 2; all++)
        for (int i = 0; i < SAMPLES; i++) DYNC_SCOPE {
            dync_backend b = {.name = "timed", .compile = timed, .user = &s};
            dync_module *m = make();
            /* counting takes time of its own: the median does not see it */
            s.counts = i == 0;
            s.options = all ? "partition=default" : NULL;
            dync_compiled *f = dync_compile(m, .backend_object = &b);
            dync_call(f, dync_randn(shape));
            if (s.counts) kept[all] = s.saved - s.saved_inputs;
            if (!all) t[i] = s.ns;
            dync_compiled_free(f);
            dync_module_free(m);
        }
    printf("%-44s %9s  activations kept %.0f bytes, saving everything %.0f\n", name,
           show_ns(summary(t, SAMPLES).median, text, sizeof text), kept[0], kept[1]);
}

static dync_compiled *step;
static dync_tensor *x, *g;
static void run_step(void)
{
    DYNC_SCOPE {
        dync_backward_with(dync_call(step, x), g);
    }
}
static void run_forward(void)
{
    DYNC_SCOPE {
        dync_call(step, x);
    }
}

/* The forward and backward graphs of the step compiled by themselves: its kernels, and what a
 * callable costs. */
typedef struct {
    dync_callable run;
    dync_value arg[16];
    int n;
} kernels;
static kernels inner[2];
static dync_status take_graph(dync_graph *graph, const dync_value *ex, int n, const char *options,
                              dync_callable *out, void *user)
{
    kernels *k = user;
    dync_status status = dync_compile_graph("inductor", graph, ex, n, &k->run);
    (void)options;
    for (k->n = 0; k->n < n && k->n < 16; k->n++)
        k->arg[k->n] = dync_v_tensor(
            dync_retain(dync_randn_opt((dync_make){.shape = shape_of(ex[k->n].as.t)})));
    *out = (dync_callable){.run = run_graph, .state = graph};
    return status;
}
static void run_kernels(void)
{
    DYNC_SCOPE {
        for (int i = 0; i < 2; i++) inner[i].run.run(inner[i].run.state, inner[i].arg, inner[i].n);
    }
}
static void compile_kernels(dync_module *m)
{
    dync_backend fw = {.name = "fw", .compile = take_graph, .user = &inner[0]},
                 bw = {.name = "bw", .compile = take_graph, .user = &inner[1]};
    dync_backend aot = dync_aot_autograd(&fw, &bw);
    dync_compiled *f = dync_compile(m, .backend_object = &aot);
    DYNC_SCOPE {
        dync_call(f, x);
    }
    dync_compiled_free(f);
}
static void free_kernels(void)
{
    for (int i = 0; i < 2; i++) {
        if (inner[i].run.destroy) inner[i].run.destroy(inner[i].run.state);
        for (int k = 0; k < inner[i].n; k++) dync_release(inner[i].arg[k].as.t);
    }
}

static void show(const char *name, double *t, const char *goal)
{
    char text[32];
    printf("%-44s %9s%s\n", name, show_ns(summary(t, SAMPLES).median, text, sizeof text), goal);
}
static void small_step(void)
{
    double t[3][SAMPLES], alone[SAMPLES], over[SAMPLES];
    void (*const fn[3])(void) = {run_step, run_forward, run_forward};
    DYNC_SCOPE {
        dync_module *m = small();
        x = dync_randn(dync_shape(2, 10)), g = dync_ones(dync_shape(2, 10));
        compile_kernels(m);
        step = dync_compile(m, .backend = "inductor");
        for (int k = 0; k < 3; k++) {
            bool grad = dync_grad_mode_push(k < 2);
            long repeats = repeats_for(fn[k]);
            /* in turn: the machine's moods meet both */
            for (int i = 0; i < SAMPLES; i++) {
                t[k][i] = time_of(fn[k], repeats);
                if (k) continue;
                dync_set_grad_enabled(false);
                alone[i] = time_of(run_kernels, repeats);
                dync_set_grad_enabled(true);
                over[i] = t[0][i] - alone[i];
            }
            dync_grad_mode_pop(grad);
        }
        show("training step, 10-wide, batch 2", t[0], "");
        show("its two graphs alone", alone, "");
        show("the step over its graphs", over, "  goal 2 us");
        show("its forward", t[1], "");
        show("forward without grad mode", t[2], "");
        free_kernels();
        dync_compiled_free(step);
        dync_module_free(m);
    }
}

/* ---- another batch size: what its first call costs beyond its next ones ---------------------- */
static dync_module *net;
static dync_optim *opt;
static dync_tensor *loss_of(dync_tensor *a, dync_tensor *b)
{
    return dync_mse_loss(dync_forward_call(net, a), b);
}
static dync_tensor *whole_step(dync_tensor *a, dync_tensor *b)
{
    dync_optim_zero_grad(opt);
    dync_tensor *loss = loss_of(a, b);
    dync_backward(loss);
    dync_optim_step(opt);
    return loss;
}
static void new_sizes(const char *name, dync_compiled *f, bool backward)
{
    double t[SAMPLES];
    for (int64_t n = 2; n < 5 + SAMPLES; n++) /* the first ones are captured */
        DYNC_SCOPE {
        dync_tensor *a = dync_randn(dync_shape(n, 4)), *b = dync_sum(a, dync_shape(1), true);
        double first = now_ns();
        dync_tensor *loss = dync_call(f, a, b);
        if (backward) dync_backward(loss);
        if (n >= 5) t[n - 5] = now_ns() - first;
    }
    show(name, t, "  goal 100 us");
    dync_compiled_free(f);
}
static void changing_batch(void)
{
    net = dync_sequential(dync_nn_linear(4, 8, true), dync_nn_relu(), dync_nn_linear(8, 1, true));
    opt = dync_adamw(net, .lr = 1e-3);
    new_sizes("a new batch size: forward and backward", dync_compile(loss_of), true);
    new_sizes("a new batch size: captured step with AdamW",
              dync_compile(whole_step, .fullgraph = true), false);
    dync_optim_free(opt);
    dync_module_free(net);
}

int main(void)
{
    dync_init((dync_init_options){.threads = 1, .seed = 1});
    stage_of("AOT stage, transformer block 128x256", block, dync_shape(1, 128, 256));
    stage_of("AOT stage, LSTM 64-64, 2 layers, both ways, 92x4", lstm, dync_shape(92, 4, 64));
    small_step();
    changing_batch();
    dync_status status = dync_error();
    dync_shutdown();
    return status != DYNC_OK;
}
