/* The profiler: row A-24, and what each event tells. */
#include "../../dync.h"
#include "test.h"

typedef struct {
    dync_module *conv1, *bn1, *fc1;
} model;
static dync_value model_forward(dync_module *self, const dync_value *args, int nargs)
{
    (void)nargs;
    dync_tensor *x = dync_as_tensor(args[0]), *target = dync_as_tensor(args[1]), *y = x;
    x = dync_forward_call(dync_module_child(self, "conv1"), x);
    x = dync_forward_call(dync_module_child(self, "bn1"), x);
    x = dync_forward_call(dync_module_child(self, "relu1"), x);
    x = dync_flatten(dync_add(x, y), 0, -1);
    x = dync_forward_call(dync_module_child(self, "fc1"), x);
    return dync_tuple(dync_l1_loss(x, target));
}

/* The loss and its gradient, which is a graph break. */
static dync_value grad_with_create_graph(const dync_value *args, int nargs, void *user)
{
    (void)nargs, (void)user;
    dync_value y = dync_module_call_values(args[0].as.m, 2, args + 1);
    dync_tensor *seed = dync_full(DYNC_SCALAR, 1.0, .requires_grad = true);
    return dync_gradients(dync_at(y, 0), args[1], dync_v_tensor(seed),
                          (dync_grad_options){.create_graph = true});
}

static bool is_backward(const char *name)
{
    const char *at = strstr(name, "Backward");
    return at && (at[8] == '0' || at[8] == '1');
}

TEST(a24_eager_sequence_nr)
{
    dync_module *m = dync_module_new_values("Model", model_forward, "x, target", NULL);
    dync_module_add(m, "conv1", dync_nn_conv2d(16, 16, 1, 1, 0, true));
    dync_module_add(m, "bn1", dync_nn_batch_norm2d(16));
    dync_module_add(m, "relu1", dync_nn_relu());
    dync_module_add(m, "fc1", dync_nn_linear(1638400, 1, true));
    dync_tensor *x = dync_rand(dync_shape(100, 16, 32, 32), .requires_grad = true),
                *target = dync_rand(dync_shape(1));
    dync_compiled *f =
        dync_compile(grad_with_create_graph, .args = "mod, x, target", .backend = "aot_eager");
    for (int compiled = 0; compiled < 2; compiled++) {
        dync_value args[3] = {dync_v_module(m), dync_v_tensor(x), dync_v_tensor(target)};
        int64_t seen[64];
        int n = 0, forward = 0;
        dync_profile_start();
        dync_value g = compiled ? dync_call_values(f, 3, args)
                                : grad_with_create_graph(args, 3, NULL);
        dync_profile_stop();
        REQUIRE(dync_error() == DYNC_OK && g.kind == DYNC_KIND_LIST);
        dync_profile_event_info e;
        for (int i = 0; dync_profile_event(i, &e); i++) {
            EXPECT(e.time_ns >= 0 && e.start_ns >= 0 && e.thread >= 1);
            if (!is_backward(e.name) && e.seq_nr >= 0) forward++;
            if (!is_backward(e.name) || n == 64) continue;
            bool known = false;
            for (int k = 0; k < n; k++) known = known || seen[k] == e.seq_nr;
            if (!known) seen[n++] = e.seq_nr;
            EXPECT(e.seq_nr >= 0);
            EXPECT_EQ_INT(e.fwd_thread, e.thread);
        }
        EXPECT(compiled || n >= 7);
        EXPECT(forward > 0);
    }
    dync_compiled_free(f);
    dync_module_free(m);
}

static bool event_named(const char *name, dync_profile_event_info *out)
{
    for (int i = 0; dync_profile_event(i, out); i++)
        if (strcmp(out->name, name) == 0) return true;
    return false;
}

TEST(events_tell_sequence_numbers_shapes_and_nesting)
{
    dync_tensor *x = dync_ones(dync_shape(2, 3), .requires_grad = true);
    dync_mul(x, x);
    dync_profile_event_info e, b;
    EXPECT(!dync_profile_event(0, &e));
    dync_profile_start();
    dync_tensor *y = dync_sum(dync_mul(x, 2.0), DYNC_ALL, false);
    dync_backward(y);
    dync_profile_stop();
    dync_neg(x);
    REQUIRE(event_named("aten::mul", &e));
    EXPECT_EQ_STR(e.shapes, "[[2, 3], []]");
    EXPECT_EQ_INT(e.fwd_thread, -1);
    EXPECT(e.time_ns > 0);
    REQUIRE(event_named("MulBackward0", &b));
    EXPECT_EQ_INT(b.seq_nr, e.seq_nr);
    EXPECT_EQ_INT(b.fwd_thread, e.thread);
    EXPECT(b.start_ns > e.start_ns);
    REQUIRE(event_named("SumBackward0", &b));
    EXPECT_EQ_INT(b.seq_nr, e.seq_nr + 1);
    REQUIRE(event_named("torch::autograd::AccumulateGrad", &b));
    EXPECT_EQ_INT(b.seq_nr, -1);
    EXPECT(!event_named("aten::neg", &b));
    EXPECT(!dync_profile_event(-1, &b));
    dync_profile_start(); /* forgets */
    dync_profile_stop();
    EXPECT(!dync_profile_event(0, &e));
}

static dync_tensor *twice(dync_tensor *x) { return dync_mul(x, 2.0); }

TEST(compiled_calls_are_events)
{
    dync_compiled *f = dync_compile(twice);
    dync_tensor *x = dync_ones(dync_shape(4));
    dync_call(f, x);
    dync_profile_start();
    dync_call(f, x);
    dync_profile_stop();
    dync_profile_event_info e;
    EXPECT(event_named("Torch-Compiled Region: twice", &e));
    EXPECT(!event_named("aten::mul", &e));
    dync_compiled_free(f);
}

static char *slurp(const char *path)
{
    static char text[1 << 16];
    FILE *f = fopen(path, "rb");
    if (!f) return NULL;
    text[fread(text, 1, sizeof text - 1, f)] = 0;
    fclose(f);
    return text;
}

/* Braces, brackets and quotes pair: what a viewer needs to open it. */
static bool balanced(const char *p)
{
    char open[64];
    int n = 0;
    for (; *p; p++) {
        if (*p == '"')
            while (*++p && *p != '"') p += *p == '\\';
        if (!*p) return false;
        if (*p == '{' || *p == '[') open[n++] = *p;
        if ((*p == '}' || *p == ']') && (n == 0 || open[--n] != (*p == '}' ? '{' : '[')))
            return false;
    }
    return n == 0;
}

TEST(trace_file_and_table)
{
    char path[128];
    dync_tensor *x = dync_ones(dync_shape(64, 64), .requires_grad = true);
    dync_profile_start();
    for (int i = 0; i < 3; i++) dync_backward(dync_sum(dync_matmul(x, x), DYNC_ALL, false));
    dync_profile_stop();
    snprintf(path, sizeof path, "/tmp/dync_trace_%d.json", (int)getpid());
    REQUIRE(dync_profile_save(path) == DYNC_OK);
    const char *text = slurp(path);
    remove(path);
    REQUIRE(text);
    EXPECT(balanced(text));
    EXPECT_HAS_STR(text, "\"traceEvents\": [");
    EXPECT_HAS_STR(text, "\"ph\": \"X\"");
    EXPECT_HAS_STR(text, "\"name\": \"aten::matmul\"");
    EXPECT_HAS_STR(text, "\"Input Dims\": [[64, 64], [64, 64]]");
    EXPECT_HAS_STR(text, "\"cat\": \"fwdbwd\"");
    const char *table = dync_profile_table();
    REQUIRE(table);
    EXPECT_HAS_STR(table, "Name");
    EXPECT_HAS_STR(table, "# of Calls");
    EXPECT_HAS_STR(table, "SumBackward0");
    double last = 101, percent; /* sorted by own time */
    for (const char *line = strchr(table, '\n') + 1; sscanf(line, "%*s %lf%%", &percent) == 1;
         line = strchr(line, '\n') + 1) {
        EXPECT(percent <= last + 1e-9);
        last = percent;
    }
    EXPECT(dync_profile_save(NULL) == DYNC_ERR_VALUE);
    dync_clear_error();
    EXPECT(dync_profile_save("/no/such/place/x.json") == DYNC_ERR_IO);
    dync_clear_error();
}
TEST_MAIN
