/* base/pass.h: whoever asks for DYNC_LOG=passes meets each row by its name: passes over graphs,
 * steps and kernels where they ran, stages where they found something to do. */
#include "../../src/dync.in.h"
#include "../../src/base/pass.h"
#include "../../src/codegen/target.h"
#include "../test.h"
#define TEST_AFTER_EACH (dync_shutdown(), dync_clear_error(), dync_set_log(""))

/* One function a thing that some stage looks for. */
static dync_tensor *weight, *index_of, *state_of;
static dync_tensor *log_layer(dync_tensor *x)
{
    dync_tensor *y = dync_relu(dync_add(dync_matmul(x, weight), 1));
    y = dync_reshape(dync_reshape(y, dync_shape(-1)), dync_shape(64, 64)); /* an earlier value */
    return dync_mul(dync_cat(dync_tuple(y, x), 0), 2);
}
static dync_tensor *log_gathers(dync_tensor *x)
{
    dync_tensor *picked = dync_gather(x, 0, index_of);
    dync_tensor *angle = dync_mul(dync_arange(0.0, 4096.0, 1.0), 0.001);
    picked = dync_mul(picked, dync_reshape(dync_sin(dync_cumsum(angle, 0)), dync_shape(64, 64)));
    dync_tensor *to = dync_scatter_add(dync_mul(x, 0), 0, index_of, picked);
    return dync_max_pool2d(dync_reshape(dync_t(dync_add(to, x)), dync_shape(1, 1, 64, 64)),
                           dync_shape(2, 2), dync_shape(2, 2), dync_shape(0, 0), dync_shape(1, 1),
                           false);
}
static dync_tensor *log_pools(dync_tensor *x)
{
    dync_tensor *part = dync_narrow(x, 1, 3, 32);
    return dync_max_pool2d(dync_reshape(part, dync_shape(1, 64, 4, 8)), dync_shape(2, 2),
                           dync_shape(2, 2), dync_shape(0, 0), dync_shape(1, 1), false);
}
static dync_tensor *log_state(dync_tensor *x)
{
    dync_mul_(state_of, 0.5);
    dync_add_(state_of, x);
    return dync_sum(x, DYNC_ALL, false);
}
static dync_tensor *log_breaks(dync_tensor *x)
{
    dync_tensor *a = dync_mul(x, 2), *b = dync_exp(x);
    dync_graph_break("the second is read by nobody");
    return b ? dync_add(a, 1) : NULL;
}
static dync_tensor *log_tables(dync_tensor *x)
{
    return dync_add(x, dync_cos(dync_mul(dync_arange(0.0, 64.0, 1.0), 0.5)));
}
static dync_module *log_lstm;
static dync_tensor *log_recurrent(dync_tensor *x)
{
    return dync_as_tensor(dync_at(dync_module_call(log_lstm, x), 0));
}

static dync_tensor *log_tiles(dync_tensor *x) { return dync_relu(dync_add(dync_matmul(x, x), 1)); }
static dync_tensor *log_rows(dync_tensor *x)
{
    return dync_index_select(x, 0, dync_reshape(index_of, dync_shape(-1)));
}

/* dynamic: with other sizes from the second call on */
static void log_run(dync_tensor *(*fn)(dync_tensor *), dync_tensor *x, dync_dynamic dynamic,
                    int times)
{
    dync_compiled *c = dync_compile(fn, .dynamic = dynamic);
    for (int i = 0; i < times; i++) DYNC_SCOPE {
        dync_tensor *part = dynamic == DYNC_DYNAMIC_ON ? dync_narrow(x, 0, 0, 64 - i) : x,
                    *y = dync_call(c, part);
        EXPECT(y != NULL);
        if (y && dync_requires_grad(y)) EXPECT_OK(dync_backward(dync_sum(y, DYNC_ALL, false)));
    }
    dync_compiled_free(c);
}
static void log_programs(dync_tensor *x)
{
    dync_value v = DYNC_V(x);
    dync_tensor *sized = dync_randn(dync_shape(7, 64));
    dync_mark_dynamic_range(sized, 0, 2, 64);
    dync_program *p = dync_export(log_tables, sized);
    EXPECT(p && dync_program_run(p, 1, &v).kind == DYNC_KIND_TENSOR);
    dync_program_free(p);
    log_lstm = dync_nn_lstm(3, 4, 1, false);
    p = dync_export(log_recurrent, dync_randn(dync_shape(40, 1, 3)));
    EXPECT_OK(dync_program_save_c(p, "test_passes.out.c"));
    dync_program_free(p);
    dync_module_free(log_lstm);
}

TEST(each_pass_is_logged)
{
    /* what runs on a device (tests/cuda), what reads a file of ONNX (tests/onnx), and what machine
     * code does */
    static const int elsewhere[] = {DYNC__PASS_prologue, DYNC__PASS_qdq, DYNC__PASS_follow,
                                    DYNC__PASS_index_check, DYNC__PASS_epilogue};
    int some = dync__target_level() ? 2 : DYNC__COUNT_OF(elsewhere);
    REQUIRE(freopen("test_passes.log", "wb", stderr) != NULL);
    dync_set_log("passes");
    dync_manual_seed(1);
    dync_tensor *x = dync_randn(dync_shape(64, 64));
    weight = dync_randn(dync_shape(64, 64));
    dync_requires_grad_(weight, true);
    index_of = dync_to_dtype(dync_mul(dync_rand(dync_shape(64, 64)), 63), DYNC_I64);
    state_of = dync_zeros(dync_shape(64, 64));
    log_run(log_layer, x, DYNC_DYNAMIC_OFF, 64);
    log_run(log_gathers, x, DYNC_DYNAMIC_OFF, 2);
    log_run(log_pools, x, DYNC_DYNAMIC_OFF, 2);
    log_run(log_state, x, DYNC_DYNAMIC_OFF, 2);
    log_run(log_breaks, x, DYNC_DYNAMIC_OFF, 8);
    log_run(log_tiles, x, DYNC_DYNAMIC_OFF, 2);
    log_run(log_rows, x, DYNC_DYNAMIC_OFF, 2);
    log_run(log_tables, x, DYNC_DYNAMIC_ON, 4);
    log_programs(x);
    for (int i = 0; i < 4; i++) EXPECT(dync_layer_norm(x, dync_shape(64), NULL, NULL, 1e-5));
    dync_set_log("");
    fflush(stderr);
    char *text = NULL;
    size_t n = 0;
    EXPECT_OK(dync__file_read("test_passes.log", &text, &n));
    for (int i = 0; i < DYNC__N_PASSES; i++) {
        char line[64];
        snprintf(line, sizeof line, "[passes] %s of ", dync__pass_name(i));
        bool here = true;
        for (int k = 0; k < some; k++) here &= elsewhere[k] != i;
        if (here && !EXPECT(text && strstr(text, line) != NULL))
            printf("not logged: %s\n", dync__pass_name(i));
    }
    dync__free(text, n + 1);
    remove("test_passes.log");
    remove("test_passes.out.c");
    remove("test_passes.out.h");
}
TEST_MAIN
