/* Every allocation fails once where files are written and read, sizes stay symbolic, functions
 * stand inside operators, and graphs are taken apart: the call says DYNC_ERR_MEMORY, nothing leaks,
 * the next try works. */
#include "dync.in.h"
#include "base/base.h"
#include "tensor/tensor.h"
#include "test.h"
#include <stdio.h>
#include <unistd.h>

static void quiet(dync_status status, const char *message, void *user)
{
    (void)status, (void)message, (void)user;
}

static const char *path(const char *ending)
{
    static char at[4][100];
    static int last;
    last = (last + 1) % 4;
    snprintf(at[last], sizeof at[last], "/tmp/dync_fault_%d%s", (int)getpid(), ending);
    return at[last];
}

/* fn gives true when all went well. step: every how many-th allocation. */
static void fail_each(bool (*fn)(void), int64_t step)
{
    dync_on_error(quiet, NULL);
    for (int i = 0; i < 2; i++) DYNC_SCOPE {
        if (!EXPECT(fn())) printf("  %s\n", dync_error_message());
    }
    int64_t before = dync__live_tensors(), n = 1;
    for (;; n += step) {
        dync_scope scope = dync_scope_begin();
        dync__mem_fail_at(n);
        bool ok = fn(), reached = dync__tls.fail_at == 0;
        dync__mem_fail_at(0);
        dync_scope_end(&scope);
        if (!ok && !EXPECT_STATUS(dync_error(), DYNC_ERR_MEMORY))
            printf("  allocation %d: %s\n", (int)n, dync_error_message());
        if (!ok) EXPECT(reached);
        dync_clear_error();
        if (!EXPECT_EQ_INT(dync__live_tensors(), before)) printf("  allocation %d\n", (int)n);
        before = dync__live_tensors();
        if (!reached || n > 20000) break;
    }
    EXPECT(n > 3 && n < 20000);
    DYNC_SCOPE {
        if (!EXPECT(fn())) printf("  %s\n", dync_error_message());
    }
    static const char *const endings[] = {".dync",        ".c",    ".h",    ".onnx",
                                          ".safetensors", ".ckpt", ".html", ".json"};
    for (int i = 0; i < 8; i++) remove(path(endings[i]));
    dync_shutdown();
}

/* ---- programs -------------------------------------------------------------------------------- */
static dync_tensor *net(dync_tensor *x, dync_tensor *w)
{
    return dync_softmax(dync_relu(dync_matmul(x, w)), -1);
}
static dync_tensor *rows(int64_t n)
{
    dync_tensor *x = dync_ones(dync_shape(n, 4));
    dync_mark_dynamic_range(x, 0, 2, 64);
    return x;
}
static bool runs(dync_program *p, int64_t n)
{
    dync_value args[2] = {DYNC_V(dync_ones(dync_shape(n, 4))), DYNC_V(dync_ones(dync_shape(4, 3)))};
    dync_value r = dync_program_run(p, 2, args);
    if (r.kind == DYNC_KIND_LIST) r = dync_at(r, 0);
    return r.kind == DYNC_KIND_TENSOR && dync_size(dync_as_tensor(r), 0) == n;
}
static bool sized_program(void)
{
    dync_program *p = dync_export(net, rows(5), dync_ones(dync_shape(4, 3))), *q = NULL;
    bool ok = p && runs(p, 7) && dync_program_save(p, path(".dync")) == DYNC_OK &&
              (q = dync_program_load(path(".dync"))) != NULL && runs(q, 3) &&
              dync_program_save_c(q, path(".c")) == DYNC_OK && dync_program_info(q) != NULL;
    dync_program_free(p);
    dync_program_free(q);
    return ok;
}
TEST(sized_programs) { fail_each(sized_program, 1); }

static bool onnx_program(void)
{
    dync_program *p = dync_export(net, dync_ones(dync_shape(5, 4)), dync_ones(dync_shape(4, 3)));
    dync_program *q = NULL;
    bool ok = p && dync_program_save_onnx(p, path(".onnx")) == DYNC_OK &&
              (q = dync_program_load_onnx(path(".onnx"))) != NULL && runs(q, 5) &&
              dync_program_graph(q) != NULL;
    dync_program_free(p);
    dync_program_free(q);
    return ok;
}
TEST(onnx_programs) { fail_each(onnx_program, 1); }

/* ---- tensors --------------------------------------------------------------------------------- */
static bool tensors(void)
{
    dync_tensors *t = dync_tensors_new(), *u = NULL;
    bool ok = t && dync_tensors_put(t, "w", dync_ones(dync_shape(3, 4))) == DYNC_OK &&
              dync_tensors_put(t, "b", dync_zeros(dync_shape(2), .dtype = DYNC_I64)) == DYNC_OK &&
              dync_tensors_set_note(t, "kind", "a test") == DYNC_OK &&
              dync_tensors_save(t, path(".safetensors")) == DYNC_OK &&
              (u = dync_tensors_load(path(".safetensors"))) != NULL && dync_tensors_count(u) == 2 &&
              dync_tensors_get(u, "w") && dync_tensors_note(u, "kind");
    dync_tensors_free(t);
    dync_tensors_free(u);
    return ok;
}
TEST(named_tensors) { fail_each(tensors, 1); }

static bool others(void)
{
    dync_tensors *t = dync_tensors_load("examples/data/xor.pt");
    bool ok = t && dync_tensors_count(t) > 1 && dync_tensors_at(t, 0) && dync_tensors_name(t, 1);
    dync_tensors_free(t);
    return ok;
}
TEST(files_of_pytorch) { fail_each(others, 1); }

static bool reports(void)
{
    dync_tensor *x = dync_ones(dync_shape(5, 4)), *w = dync_ones(dync_shape(4, 3));
    dync_explain_output e = dync_explain(net, x, w);
    dync_profile_start();
    dync_tensor *y = e.graph_count ? net(x, w) : NULL;
    dync_profile_stop();
    return e.graph_count == 1 && y && dync_explain_html(&e, path(".html")) == DYNC_OK &&
           dync_profile_save(path(".json")) == DYNC_OK && dync_profile_table() != NULL;
}
TEST(pages_and_profiles) { fail_each(reports, 1); }

static bool checkpoints(void)
{
    dync_module *m = dync_sequential(dync_nn_linear(4, 3, true), dync_nn_batch_norm2d(2));
    dync_optim *o = m ? dync_adam(m, .lr = 0.1) : NULL;
    int64_t epoch = 3;
    bool ok = m && o &&
              dync_checkpoint_save(path(".ckpt"), {"net", .module = m}, {"adam", .optim = o},
                                   {"epoch", .i = &epoch}) == DYNC_OK &&
              dync_checkpoint_load(path(".ckpt"), {"net", .module = m}, {"adam", .optim = o},
                                   {"epoch", .i = &epoch}) == DYNC_OK;
    dync_optim_free(o);
    dync_module_free(m);
    return ok;
}
TEST(runs_are_resumed) { fail_each(checkpoints, 1); }

/* ---- compiled -------------------------------------------------------------------------------- */
static bool sizes(void)
{
    dync_tensor *w = dync_parameter(dync_ones(dync_shape(4, 3)));
    dync_compiled *f = dync_compile(net, .dynamic = DYNC_DYNAMIC_ON);
    bool ok = f != NULL;
    for (int n = 3; ok && n < 6; n++) {
        dync_tensor *y = dync_call(f, dync_ones(dync_shape(n, 4)), w);
        ok = y && dync_backward(dync_sum(dync_mul(y, y), DYNC_ALL, false)) == DYNC_OK;
    }
    ok = ok && dync_grad(w) != NULL;
    dync_compiled_free(f);
    return ok;
}
TEST(symbolic_sizes) { fail_each(sizes, 3); }

static dync_value less(const dync_value *a, int n, void *user)
{
    (void)n, (void)user;
    return DYNC_V(dync_lt(dync_sum(a[0].as.t, DYNC_ALL, false), 100));
}
static dync_value doubled(const dync_value *a, int n, void *user)
{
    (void)n, (void)user;
    return dync_tuple(dync_mul(a[0].as.t, 2));
}
static dync_tensor *loops(dync_tensor *x)
{
    dync_value r = dync_while_loop(dync_fnv(less), dync_fnv(doubled), x);
    return dync_as_tensor(r.kind == DYNC_KIND_LIST ? dync_at(r, 0) : r);
}
static bool loop(void)
{
    dync_compiled *f = dync_compile(loops);
    dync_tensor *y = f ? dync_call(f, dync_ones(dync_shape(3))) : NULL;
    bool ok = y && dync_item(dync_select(y, 0, 0)) == 64;
    dync_compiled_free(f);
    return ok;
}
TEST(loops_by_data) { fail_each(loop, 1); }

/* ---- graphs ---------------------------------------------------------------------------------- */
static bool graphs(void)
{
    dync_graph *g = dync_make_graph(net, dync_ones(dync_shape(5, 4)), dync_ones(dync_shape(4, 3)));
    dync_graph *h = g ? dync_graph_copy(g) : NULL;
    return g && h && dync_graph_str(h) && dync_graph_readable(h) && dync_graph_dot(h) &&
           dync_graph_eliminate_dead(h) >= 0 && dync_error() == DYNC_OK;
}
TEST(graphs_and_texts) { fail_each(graphs, 1); }

static dync_value tripled(const dync_value *a, int n, void *user)
{
    (void)n, (void)user;
    return DYNC_V(dync_mul(a[0], 3));
}
static dync_tensor *uses_tripled(dync_tensor *x)
{
    dync_value arg = DYNC_V(x);
    return dync_as_tensor(dync_op_call_values("fault::tripled", 1, &arg));
}
static bool custom_operator(void)
{
    static bool known;
    if (!known)
        known = dync_op_register("fault::tripled", "(Tensor x) -> Tensor", tripled, NULL, NULL) ==
                DYNC_OK;
    dync_compiled *f = dync_compile(uses_tripled);
    dync_tensor *x = dync_parameter(dync_ones(dync_shape(3)));
    dync_tensor *y = f ? dync_call(f, x) : NULL;
    bool ok = known && y && dync_backward(dync_sum(y, DYNC_ALL, false)) == DYNC_OK && dync_grad(x);
    dync_compiled_free(f);
    return ok;
}
TEST(custom_operators) { fail_each(custom_operator, 1); }

TEST_MAIN
