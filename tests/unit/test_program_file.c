/* Program files: written, read, run again; truncated and damaged ones refused. */
#include "dync.in.h"
#include "program/program.h"
#include "test.h"
#include "tol.h"

static const char mlp_text[] =
    "dync_value mlp(dync_tensor *x  /* f32[2, 3]; L_x_; L['x'] */\n"
    "    , dync_tensor *y  /* f32[2, 4]; L_y_; L['y'] */\n"
    "    , dync_tensor *w  /* f32[4, 3] grad; attr 0.weight */\n"
    "    , dync_tensor *wt  /* f32[3, 4]{1, 3}; attr view */\n"
    "    , dync_tensor *w2)  /* f32[4, 3] grad; attr tied */\n"
    "{\n"
    "    dync_tensor *_tensor_constant0 = dync_constant((float[]){1, -2, 0.5, 3}, dync_shape(4));  "
    "/* f32[4] */\n"
    "    dync_tensor *h = dync_linear(x, w, _tensor_constant0);  /* f32[2, 4] */\n"
    "    dync_tensor *r = dync_relu(h);  /* f32[2, 4] */\n"
    "    dync_tensor *k = dync_matmul(x, wt);  /* f32[2, 4] */\n"
    "    dync_tensor *s = dync_add(r, k);  /* f32[2, 4] */\n"
    "    dync_tensor *z = dync_linear(x, w2, NULL);  /* f32[2, 4] */\n"
    "    dync_tensor *o = dync_mul(s, y);  /* f32[2, 4] */\n"
    "    return dync_tuple(o, dync_tuple(z, 7));\n"
    "}\n";

static dync__tensor *weight(int64_t n, int64_t m, bool transposed)
{
    dync__layout lay;
    int64_t shape[2] = {n, m};
    dync__layout_contiguous(&lay, 2, shape);
    if (transposed) {
        lay.stride[0] = 1;
        lay.stride[1] = n;
    }
    dync__tensor *t = dync__tensor_empty(DYNC_F32, DYNC_CPU, &lay);
    float *data = dync__tensor_data(t);
    for (int i = 0; i < n * m; i++) data[i] = (float)(i % 5) - 1.5f;
    return t;
}

/* Called with (y, x) in a list: the graph's inputs are leaves 1 and 0. */
static dync__program *make(void)
{
    dync__graph *g = dync__graph_parse(mlp_text);
    dync__tensor *w = weight(4, 3, false), *wt = weight(3, 4, true);
    for (int i = 0; g && i < g->node.n; i++) {
        dync__node *node = g->node.at[i];
        if (node->kind != DYNC__N_GET_ATTR || node->value) continue;
        bool grad = node->requires_grad[0];
        dync__graph_attr_bind(node, node->info[0].lay.shape[0] == 3 ? wt : w);
        node->requires_grad[0] = grad;
    }
    dync__unref(w);
    dync__unref(wt);
    dync__program *p = dync__program_from_leaves(g, "my mlp", 2, (int[]){1, 0});
    dync__graph_unref(g);
    return p;
}

static void run(dync__program *p, float *out)
{
    DYNC_SCOPE {
        float x[6] = {1, 2, 3, -1, 0.5f, 2}, y[8] = {1, 2, 3, 4, 5, 6, 7, 8};
        dync_value args[1] = {
            dync_tuple(dync_from(y, dync_shape(2, 4)), dync_from(x, dync_shape(2, 3)))};
        dync_value r = dync__program_run(p, 1, args);
        EXPECT_EQ_INT(dync_len(r), 2);
        dync_tensor *o = dync_as_tensor(dync_at(r, 0)),
                    *z = dync_as_tensor(dync_at(dync_at(r, 1), 0));
        EXPECT(o && z);
        if (!o || !z) break;
        memcpy(out, dync_data(o), 8 * sizeof *out);
        memcpy(out + 8, dync_data(z), 8 * sizeof *out);
        EXPECT_EQ_INT(dync_as_int(dync_at(dync_at(r, 1), 1)), 7);
    }
}

TEST(round_trip)
{
    dync__program *p = make();
    REQUIRE(p != NULL);
    EXPECT_EQ_STR(p->name, "my_mlp");
    float want[16], got[16];
    run(p, want);
    EXPECT_NEAR(want[8], -1.5 * 1 - 0.5 * 2 + 0.5 * 3, TOL_ABS_F32);
    dync__str file = {0}, again = {0};
    REQUIRE_OK(dync__program_write(p, &file));
    dync__program *q = dync__program_read(file.at, file.n);
    REQUIRE(q != NULL);
    run(q, got);
    EXPECT_NEAR_F32(got, want, 16, TOL_EXACT, TOL_EXACT);
    REQUIRE_OK(dync__program_write(q, &again));
    EXPECT_EQ_INT(again.n, file.n);
    EXPECT(again.n == file.n && memcmp(again.at, file.at, file.n) == 0);
    const dync__tensor *values[3];
    int n = 0;
    for (int i = 0; i < q->graph->node.n; i++)
        if (q->graph->node.at[i]->kind == DYNC__N_GET_ATTR && n < 3)
            values[n++] = q->graph->node.at[i]->value;
    EXPECT(n == 3 && values[0] == values[2] && values[0] != values[1]); /* tied weights stay tied */
    dync__program_free(p);
    dync__program_free(q);
    dync__str_free(&file);
    dync__str_free(&again);
}

TEST(checks_its_arguments)
{
    dync__program *p = make();
    dync_on_error(NULL, NULL);
    dync_value args[2] = {DYNC_V(dync_ones(dync_shape(2, 4))), DYNC_V(dync_ones(dync_shape(2, 4)))};
    EXPECT_EQ_INT(dync__program_run(p, 2, args).kind, DYNC_KIND_NONE);
    EXPECT_STATUS(dync_error(), DYNC_ERR_SHAPE);
    EXPECT_HAS_STR(dync_error_message(), "f32[2, 4], expected f32[2, 3]");
    dync_clear_error();
    args[1] = DYNC_V(dync_ones(dync_shape(2, 3), .dtype = DYNC_F64));
    EXPECT_EQ_INT(dync__program_run(p, 2, args).kind, DYNC_KIND_NONE);
    EXPECT_STATUS(dync_error(), DYNC_ERR_DTYPE);
    dync_clear_error();
    EXPECT_EQ_INT(dync__program_run(p, 1, args).kind, DYNC_KIND_NONE);
    EXPECT_STATUS(dync_error(), DYNC_ERR_VALUE);
    dync_clear_error();
    EXPECT_EQ_INT(dync_program_run(NULL, 0, NULL).kind, DYNC_KIND_NONE);
    EXPECT_STATUS(dync_error(), DYNC_ERR_VALUE);
    dync_clear_error();
    EXPECT(dync_program_load(NULL) == NULL);
    dync_clear_error();
    EXPECT(dync_program_load("/nonexistent/file") == NULL);
    EXPECT_STATUS(dync_error(), DYNC_ERR_IO);
    dync_clear_error();
    EXPECT(dync_program_load_onnx("/nonexistent/x.onnx") == NULL);
    EXPECT_STATUS(dync_error(), DYNC_ERR_IO);
    dync_clear_error();
    dync__program_free(p);
}

/* Whatever is cut off or flipped: refused as a bad file, nothing leaks. */
TEST(damaged)
{
    dync__program *p = make();
    dync__str file = {0};
    REQUIRE_OK(dync__program_write(p, &file));
    dync__program_free(p);
    dync_on_error(NULL, NULL);
    int64_t before = dync_memory_stats().live_bytes;
    for (size_t n = 0; n < file.n; n++) {
        dync_clear_error();
        EXPECT(dync__program_read(file.at, n) == NULL);
        EXPECT_STATUS(dync_error(), DYNC_ERR_FORMAT);
    }
    for (size_t i = 0; i < file.n; i++) {
        char old = file.at[i];
        file.at[i] = (char)(old ^ (1 << test_random_int(0, 7)));
        dync_clear_error();
        EXPECT(dync__program_read(file.at, file.n) == NULL);
        EXPECT_STATUS(dync_error(), DYNC_ERR_FORMAT);
        file.at[i] = old;
    }
    dync_clear_error();
    EXPECT_EQ_INT(dync_memory_stats().live_bytes, before);
    dync__str_free(&file);
}

/* The same with the checksum made right again: every bound is checked, not only the sum. */
TEST(forged)
{
    dync__program *p = make();
    dync__str file = {0};
    REQUIRE_OK(dync__program_write(p, &file));
    dync__program_free(p);
    dync_on_error(NULL, NULL);
    char *copy = malloc(file.n);
    REQUIRE(copy != NULL);
    for (int round = 0; round < 8000; round++) {
        size_t n = file.n - (size_t)(round % 3 == 0 ? test_random_int(0, 300) : 0);
        memcpy(copy, file.at, n);
        for (int k = test_random_int(1, 3); k > 0; k--)
            copy[test_random_int(0, (int)n - 9)] = round % 2 ? (char)test_random_int('0', '9')
                                                             : (char)test_random_int(0, 255);
        uint64_t sum = dync__hash_bytes(copy, n - 8, 0x64796e63u);
        for (int i = 0; i < 8; i++) copy[n - 8 + (size_t)i] = (char)(sum >> 8 * i & 255);
        dync_clear_error();
        dync__program *q = dync__program_read(copy, n);
        if (!q) EXPECT(dync_error() == DYNC_ERR_FORMAT || dync_error() == DYNC_ERR_MEMORY);
        dync__program_free(q);
    }
    free(copy);
    dync_clear_error();
    dync__str_free(&file);
    dync_shutdown();
    EXPECT_EQ_INT(dync_memory_stats().live_bytes, 0);
}

TEST(no_memory)
{
    dync__program *p = make();
    dync__str file = {0};
    REQUIRE_OK(dync__program_write(p, &file));
    dync_on_error(NULL, NULL);
    for (int64_t nth = 1; nth < 5000; nth++) {
        int64_t before = dync_memory_stats().live_bytes;
        dync__str again = {0};
        dync_clear_error();
        dync__mem_fail_at(nth);
        dync__program *q = dync__program_read(file.at, file.n);
        dync_status status = q ? dync__program_write(q, &again) : dync_error();
        dync__mem_fail_at(0);
        dync__program_free(q);
        dync__str_free(&again);
        EXPECT_EQ_INT(dync_memory_stats().live_bytes, before);
        if (status == DYNC_OK) break;
        EXPECT_STATUS(status, DYNC_ERR_MEMORY);
    }
    dync_clear_error();
    dync__str_free(&file);
    dync__program_free(p);
}

TEST_MAIN
