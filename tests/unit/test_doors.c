/* Files of named tensors and DLPack: files that NumPy, PyTorch and gguf wrote 
 * (tests/oracle/doors.py), round trips, bad files: cut off at each byte, and changed at random. */
#include "dync.in.h"
#include "door/door.h"
#include "tensor/dlpack.h"
#define TEST_AFTER_EACH dync_shutdown()
#include "test.h"

static void quiet(dync_status status, const char *message, void *user)
{
    (void)status, (void)message, (void)user;
}

static const char *seed(const char *name)
{
    static char path[1024];
    snprintf(path, sizeof path, "%s", __FILE__);
    char *end = strstr(path, "unit/test_doors.c");
    if (end) snprintf(end, sizeof path - (size_t)(end - path), "fuzz/corpus/doors/%s", name);
    return path;
}

/* elements as doubles, row major */
static double at(dync_tensor *t, int i)
{
    dync__tensor *dense = t ? dync__contiguous_copy(dync__open(t)) : NULL;
    double x = dense && i < dense->numel
                   ? dync__load_f64((char *)dync__tensor_data(dense) +
                                        i * dync__dtype_info(dense->dtype)->bytes,
                                    dense->dtype)
                   : (double)NAN;
    dync__unref(dense);
    return x;
}

static void check_ramp(const dync_tensors *c, const char *name, double step)
{
    dync_tensor *t = dync_tensors_get(c, name);
    REQUIRE(t != NULL);
    EXPECT_EQ_INT(dync_ndim(t), 2);
    EXPECT_EQ_INT(dync_size(t, 0), 4);
    EXPECT_EQ_INT(dync_size(t, 1), 6);
    for (int i = 0; i < 24; i++) EXPECT_NEAR(at(t, i), i * step, 0);
}

TEST(npz)
{
    static const char *const files[] = {"stored.npz", "deflated.npz"};
    for (int i = 0; i < 2; i++) {
        dync_tensors *c = dync_tensors_load(seed(files[i]));
        REQUIRE(c != NULL);
        EXPECT_EQ_INT(dync_tensors_count(c), 6 + i);
        EXPECT_EQ_STR(dync_tensors_name(c, 0), "ramp");
        check_ramp(c, "ramp", 0.5);
        check_ramp(c, "turned", 0.5);
        check_ramp(c, "big", 0.5);
        EXPECT_EQ_INT(dync_type(dync_tensors_get(c, "ints")), DYNC_I64);
        EXPECT_NEAR(at(dync_tensors_get(c, "ints"), 0), -3, 0);
        EXPECT_NEAR(at(dync_tensors_get(c, "on"), 0), 1, 0);
        EXPECT_EQ_INT(dync_size(dync_tensors_get(c, "none"), 1), 3);
        if (i == 1) {
            dync_tensor *text = dync_tensors_get(c, "text");
            REQUIRE(text != NULL);
            EXPECT(memcmp(dync_data(text), "the same words again, the same words again the", 46) ==
                   0);
            EXPECT(memcmp((char *)dync_data(text) + 43 * 19, "the same words again, ", 22) == 0);
        }
        dync_tensors_free(c);
    }
}

TEST(checkpoints)
{
    dync_tensors *c = dync_tensors_load(seed("state.pt"));
    REQUIRE(c != NULL);
    EXPECT_EQ_INT(dync_tensors_count(c), 7);
    for (int i = 0; i < 6; i++) EXPECT_NEAR(at(dync_tensors_get(c, "0.weight"), i), i, 0);
    for (int i = 0; i < 3; i++) EXPECT_NEAR(at(dync_tensors_get(c, "1.bias"), i), i + 3, 0);
    EXPECT_EQ_INT(dync_type(dync_tensors_get(c, "1.num_batches_tracked")), DYNC_I64);
    dync_tensors_free(c);
    c = dync_tensors_load(seed("nested.pt"));
    REQUIRE(c != NULL);
    EXPECT_EQ_INT(dync_type(dync_tensors_get(c, "model.w")), DYNC_F16);
    for (int i = 0; i < 12; i++) {
        EXPECT_NEAR(at(dync_tensors_get(c, "views.0"), i), i, 0);
        EXPECT_NEAR(at(dync_tensors_get(c, "views.1"), i), i % 3 * 4 + i / 3, 0);
    }
    EXPECT_NEAR(at(dync_tensors_get(c, "views.2"), 3), 10, 0);
    EXPECT_NEAR(at(dync_tensors_get(c, "7.0"), 0), 2, 0);
    EXPECT_EQ_STR(dync_tensors_note(c, "epoch"), "3");
    EXPECT_EQ_STR(dync_tensors_note(c, "loss"), "0.5");
    EXPECT_EQ_STR(dync_tensors_note(c, "name"), "net");
    EXPECT_EQ_STR(dync_tensors_note(c, "on"), "true");
    EXPECT(dync_tensors_note(c, "7.1") == NULL);
    dync_tensors_free(c);
    dync_on_error(quiet, NULL);
    EXPECT(dync_tensors_load(seed("evil.pt")) == NULL);
    EXPECT_STATUS(dync_error(), DYNC_ERR_UNSUPPORTED);
    EXPECT_HAS_STR(dync_error_message(), "posix.system");
    dync_clear_error();
}

TEST(gguf)
{
    static const char *const blocks[] = {"Q4_K", "Q6_K"};
    dync_tensors *c = dync_tensors_load(seed("small.gguf"));
    REQUIRE(c != NULL);
    check_ramp(c, "f32", 0.5);
    check_ramp(c, "f16", 0.5);
    EXPECT_EQ_STR(dync_tensors_note(c, "n"), "7");
    EXPECT_EQ_STR(dync_tensors_note(c, "eps"), "0.25");
    EXPECT_EQ_STR(dync_tensors_note(c, "words"), "[\"a\", \"b\"]");
    /* within half a step of what was packed */
    for (int i = 0; i < 64; i++) {
        EXPECT_NEAR(at(dync_tensors_get(c, "Q8_0"), i), i, 63.0 / 127);
        EXPECT_NEAR(at(dync_tensors_get(c, "Q4_0"), i), i, i < 32 ? 4 : 8);
    }
    for (int k = 0; k < 2; k++) {
        char name[16];
        snprintf(name, sizeof name, "%s.npy", blocks[k]);
        dync_tensor *want = dync_npy_load(seed(name)), *got = dync_tensors_get(c, blocks[k]);
        EXPECT_EQ_INT(dync_size(got, 1), 256);
        EXPECT(dync_allclose(got, want, 1e-6, 0));
    }
    dync_tensors_free(c);
}

TEST(shards_and_notes)
{
    dync_tensors *c = dync_tensors_load(seed("index.json"));
    REQUIRE(c != NULL);
    EXPECT_EQ_INT(dync_tensors_count(c), 2);
    EXPECT_NEAR(at(dync_tensors_get(c, "a"), 1), 2, 0);
    EXPECT_NEAR(at(dync_tensors_get(c, "b"), 1), 2, 0);
    EXPECT_EQ_STR(dync_tensors_note(c, "format"), "pt");
    EXPECT_EQ_STR(dync_tensors_note_key(c, 0), "format");
    EXPECT(dync_tensors_note_key(c, 1) == NULL);
    dync_tensors_free(c);
}

/* What is written into a tensor of a file stays here; mapped ones live longer than the
 * collection. */
TEST(files_stay_as_they_are)
{
    dync_tensors *c = dync_tensors_load(seed("small.gguf"));
    REQUIRE(c != NULL);
    dync_tensor *t = dync_tensors_get(c, "f32");
    dync_tensors_free(c);
    dync_add_(t, 1);
    EXPECT_NEAR(at(t, 2), 2, 0);
    c = dync_tensors_load(seed("small.gguf"));
    EXPECT_NEAR(at(dync_tensors_get(c, "f32"), 2), 1, 0);
    dync_tensors_free(c);
}

TEST(round_trips)
{
    static const char *const paths[] = {"/tmp/dync_test_doors.npz", "/tmp/dync_test_doors.st"};
    for (int k = 0; k < 2; k++) {
        dync_tensors *c = dync_tensors_new(), *back;
        for (int d = DYNC_F32; d <= DYNC_BOOL; d++) {
            char name[8];
            snprintf(name, sizeof name, "x.%d", d);
            dync_tensor *t = dync_to_dtype(dync_randn(dync_shape(3, 4)), (dync_dtype)d);
            if (d != DYNC_BF16 || k == 1)
                EXPECT_OK(dync_tensors_put(c, name, dync_transpose(t, 0, 1)));
        }
        EXPECT_OK(dync_tensors_put(c, "empty", dync_zeros(dync_shape(0, 2))));
        EXPECT_OK(dync_tensors_put(c, "empty", dync_zeros(dync_shape(2, 0)))); /* replaced */
        EXPECT_OK(dync_tensors_set_note(c, "who", "\"me\""));
        REQUIRE_OK(dync_tensors_save(c, paths[k]));
        back = dync_tensors_load(paths[k]);
        REQUIRE(back != NULL);
        EXPECT_EQ_INT(dync_tensors_count(back), dync_tensors_count(c));
        for (int i = 0; i < dync_tensors_count(c); i++) {
            dync_tensor *a = dync_tensors_at(c, i),
                        *b = dync_tensors_get(back, dync_tensors_name(c, i));
            REQUIRE(b != NULL);
            EXPECT_EQ_INT(dync_type(a), dync_type(b));
            EXPECT(dync_equal(a, b));
        }
        if (k == 1) EXPECT_EQ_STR(dync_tensors_note(back, "who"), "\"me\"");
        dync_tensors_free(c);
        dync_tensors_free(back);
        remove(paths[k]);
    }
}

TEST(modules)
{
    dync_tensors *c = dync_tensors_load(seed("state.pt"));
    dync_module *net = dync_sequential(dync_nn_linear(2, 3, true), dync_nn_batch_norm2d(3));
    dync_named_report report;
    REQUIRE_OK(dync_module_load_named(net, c, NULL, NULL));
    EXPECT_NEAR(at(dync_module_param(net, "0.weight"), 5), 5, 0);
    EXPECT_NEAR(at(dync_module_param(net, "0.bias"), 0), 1, 0);
    dync_on_error(quiet, NULL);
    dync_module *other = dync_sequential(dync_nn_linear(2, 3, false), dync_nn_linear(3, 3, true));
    dync_tensor *before = dync_clone(dync_module_param(other, "0.weight"));
    /* strict: nothing is written */
    EXPECT_STATUS(dync_module_load_named(other, c, NULL, NULL), DYNC_ERR_SHAPE);
    EXPECT(dync_equal(before, dync_module_param(other, "0.weight")));
    dync_clear_error();
    dync_module *part =
        dync_sequential(dync_nn_linear(2, 3, true), dync_nn_relu(), dync_nn_linear(3, 1, true));
    EXPECT_STATUS(dync_module_load_named(part, c, NULL, NULL), DYNC_ERR_VALUE);
    EXPECT_HAS_STR(dync_error_message(), "missing in the file 2: \"2.weight\", \"2.bias\"");
    EXPECT_HAS_STR(dync_error_message(), "unexpected in the file 5: \"1.weight\"");
    dync_clear_error();
    REQUIRE_OK(dync_module_load_named(part, c, NULL, &report));
    EXPECT_EQ_INT(report.loaded, 2);
    EXPECT_EQ_STR(report.missing, "2.weight\n2.bias\n");
    EXPECT_EQ_INT(report.n_unexpected, 5);
    EXPECT_NEAR(at(dync_module_param(part, "0.weight"), 4), 4, 0);
    dync_tensors_free(c);
    /* another dtype, behind a prefix; a compiled form sees the new values */
    dync_module *one = dync_nn_linear(2, 1, false);
    dync_tensor *x = dync_ones(dync_shape(1, 2));
    dync_module_compile(one);
    (void)dync_forward_call(one, x);
    c = dync_tensors_new();
    EXPECT_OK(
        dync_tensors_put(c, "model.weight", dync_full(dync_shape(1, 2), 3, .dtype = DYNC_F64)));
    EXPECT_OK(dync_tensors_put(c, "other", x));
    REQUIRE_OK(dync_module_load_named(one, c, "model.", NULL));
    EXPECT_NEAR(dync_item(dync_forward_call(one, x)), 6, 0);
    dync_tensors_free(c);
    dync_module_free(net);
    dync_module_free(other);
    dync_module_free(part);
    dync_module_free(one);
}

/* ---- DLPack ---------------------------------------------------------------------------------- */

static int deleted;
static void delete_it(dync__dl_versioned *m)
{
    (void)m;
    deleted++;
}

TEST(dlpack)
{
    dync_tensor *t = dync_arange(0, 12, 1);
    t = dync_transpose(dync_view(t, dync_shape(3, 4)), 0, 1);
    for (int versioned = 0; versioned < 2; versioned++) {
        void *m = dync_to_dlpack(dync_select(t, 0, 1), versioned);
        REQUIRE(m != NULL);
        const dync__dl_tensor *d = versioned ? &((dync__dl_versioned *)m)->tensor
                                             : &((dync__dl_managed *)m)->tensor;
        EXPECT_EQ_INT(d->ndim, 1);
        EXPECT_EQ_INT(d->shape[0], 3);
        EXPECT_EQ_INT(d->strides[0], 4);
        dync_tensor *back = dync_from_dlpack(m, versioned);
        REQUIRE(back != NULL);
        EXPECT_NEAR(at(back, 2), 9, 0);
        EXPECT(dync_data(back) == d->data);
    }
    float data[6] = {1, 2, 3, 4, 5, 6};
    int64_t shape[2] = {2, 3}, stride[2] = {-3, 1};
    dync__dl_versioned m = {.major = 1,
                            .minor = 0,
                            .deleter = delete_it,
                            .tensor = {.data = data,
                                       .device = 1,
                                       .ndim = 2,
                                       .dtype = {2, 32, 1},
                                       .shape = shape,
                                       .byte_offset = 12,
                                       .strides = stride}};
    DYNC_SCOPE {
        dync_tensor *x = dync_from_dlpack(&m, true); /* backwards: a copy */
        EXPECT_NEAR(at(x, 0), 4, 0);
        EXPECT_NEAR(at(x, 3), 1, 0);
        EXPECT_EQ_INT(deleted, 1);
    }
    EXPECT_EQ_INT(deleted, 1);
    m.tensor.strides = NULL;
    m.tensor.byte_offset = 0;
    DYNC_SCOPE {
        dync_tensor *x = dync_from_dlpack(&m, true);
        EXPECT(dync_data(x) == data);
        EXPECT_EQ_INT(deleted, 1);
    }
    EXPECT_EQ_INT(deleted, 2);
    dync_on_error(quiet, NULL);
    m.major = 2;
    EXPECT(!dync_from_dlpack(&m, true));
    EXPECT_STATUS(dync_error(), DYNC_ERR_UNSUPPORTED);
    dync_clear_error();
    m.major = 1;
    m.tensor.byte_offset = 1;
    EXPECT(!dync_from_dlpack(&m, true));
    EXPECT_STATUS(dync_error(), DYNC_ERR_VALUE);
    dync_clear_error();
    m.tensor.byte_offset = 0;
    m.tensor.device = 8;
    EXPECT(!dync_from_dlpack(&m, true));
    EXPECT_STATUS(dync_error(), DYNC_ERR_DEVICE);
    dync_clear_error();
    EXPECT(!dync_to_dlpack(dync_zeros(dync_shape(2), .requires_grad = true), true));
    EXPECT_STATUS(dync_error(), DYNC_ERR_AUTOGRAD);
    dync_clear_error();
    EXPECT_EQ_INT(deleted, 2); /* what failed stays the caller's */
}

/* ---- bad files ------------------------------------------------------------------------------- */

static const char *const seeds[] = {"stored.npz", "deflated.npz",      "state.pt",  "nested.pt",
                                    "small.gguf", "shard.safetensors", "index.json"};

/* The bytes stand at the end of their memory, so that a sanitizer sees a step beyond. */
static dync_status read_bytes(const char *bytes, size_t n)
{
    char *copy = dync__alloc(n + 1);
    if (!copy) return DYNC_ERR_MEMORY;
    if (n) memcpy(copy, bytes, n);
    copy[n] = 0;
    dync__blob *b = dync__blob_take(copy, n, false);
    dync__tensors *c = dync__tensors_make();
    char folder[1024];
    snprintf(folder, sizeof folder, "%s", seed(""));
    dync_status status = c && b ? dync__tensors_read(c, b, folder) : DYNC_ERR_MEMORY;
    if (status != DYNC_OK && dync_error() == DYNC_OK) EXPECT(!"an error without a message");
    dync__tensors_drop(c);
    dync__blob_unref(b);
    dync_clear_error();
    return status;
}

TEST(cut_off)
{
    dync_on_error(quiet, NULL);
    for (size_t k = 0; k < sizeof seeds / sizeof *seeds; k++) {
        char *bytes;
        size_t n;
        REQUIRE_OK(dync__file_read(seed(seeds[k]), &bytes, &n));
        EXPECT_OK(read_bytes(bytes, n)); /* the library has its caches from here on */
        /* zeros that fill up the last row of small.gguf belong to no tensor: 210 of 224 */
        size_t whole = strstr(seeds[k], "gguf") ? n - 14 : n;
        for (size_t i = 0; i < whole; i++) {
            int64_t before = dync_memory_stats().live_bytes;
            EXPECT(read_bytes(bytes, i) != DYNC_OK);
            EXPECT_EQ_INT(dync_memory_stats().live_bytes, before);
        }
        dync__free(bytes, n + 1);
    }
}

TEST(changed)
{
    dync_on_error(quiet, NULL);
    int n_seeds = (int)(sizeof seeds / sizeof *seeds), count = test_count(10000);
    int64_t most = 0;
    for (int k = 0; k < n_seeds; k++) {
        char *bytes;
        size_t n;
        REQUIRE_OK(dync__file_read(seed(seeds[k]), &bytes, &n));
        (void)read_bytes(bytes, n);
        for (int i = 0; i < count / n_seeds; i++) {
            char *changed = malloc(n);
            REQUIRE(changed != NULL);
            memcpy(changed, bytes, n);
            int changes = 1 + (int)(test_random() % 4);
            for (int c = 0; c < changes; c++) {
                size_t where = (size_t)(test_random() % n);
                uint64_t how = test_random();
                if (how % 3 == 0)
                    changed[where] = (char)(how >> 8);
                else if (how % 3 == 1)
                    changed[where] ^= (char)(1 << (how >> 8 & 7));
                else
                    memset(changed + where, how & 256 ? 255 : 0, where + 4 <= n ? 4 : n - where);
            }
            int64_t before = dync_memory_stats().live_bytes;
            (void)read_bytes(changed, n);
            EXPECT_EQ_INT(dync_memory_stats().live_bytes, before);
            most = dync_memory_stats().peak_bytes > most ? dync_memory_stats().peak_bytes : most;
            free(changed);
        }
        dync__free(bytes, n + 1);
    }
    EXPECT(most < 64 << 20); /* files of a few kilobytes */
}

/* What is wrong and where. */
TEST(messages)
{
    dync_on_error(quiet, NULL);
    char *bytes;
    size_t n;
    REQUIRE_OK(dync__file_read(seed("small.gguf"), &bytes, &n));
    dync__blob *b = dync__blob_take(bytes, 20, false);
    b->n = 20;
    dync__tensors *c = dync__tensors_make();
    EXPECT_STATUS(dync__tensors_read(c, b, NULL), DYNC_ERR_FORMAT);
    EXPECT_HAS_STR(dync_error_message(), "GGUF, byte 16: expected 8 bytes of the count of values");
    dync_clear_error();
    dync__tensors_drop(c);
    b->n = n;
    dync__blob_unref(b);
    EXPECT(!dync_tensors_load("/nonexistent"));
    EXPECT_STATUS(dync_error(), DYNC_ERR_IO);
    dync_clear_error();
    c = NULL;
    dync_tensors *named = dync_tensors_load(seed("state.pt"));
    EXPECT(!dync_tensors_get(named, "net.0.weight"));
    EXPECT_HAS_STR(dync_error_message(), "it has \"0.weight\"");
    dync_clear_error();
    dync_tensors_free(named);
}

/* Every allocation may fail. */
TEST(no_memory)
{
    dync_on_error(quiet, NULL);
    for (size_t k = 0; k < sizeof seeds / sizeof *seeds; k++)
        for (int64_t i = 1;; i++) {
            int64_t before = dync_memory_stats().live_bytes;
            dync__mem_fail_at(i);
            dync_tensors *c = dync_tensors_load(seed(seeds[k]));
            dync__mem_fail_at(0);
            if (!c) EXPECT_STATUS(dync_error(), DYNC_ERR_MEMORY);
            dync_clear_error();
            dync_tensors_free(c);
            dync_scope scope = dync_scope_begin();
            dync_scope_end(&scope);
            if (!c) EXPECT_EQ_INT(dync_memory_stats().live_bytes <= before + 65536, 1);
            if (c) break;
            REQUIRE(i < 5000);
        }
}

TEST_MAIN
