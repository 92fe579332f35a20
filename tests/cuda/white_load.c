/* cuda/launch.c, image.c: texts become code: once for equal texts, by the device's capability and
 * the driver's version, from files of images; what the driver says of a text that it refuses. */
#include "cuda_white.h"
#define TEST_AFTER_EACH (dync_shutdown(), dync_clear_error(), dync_on_error(NULL, NULL))
#include "test.h"
extern int setenv(const char *, const char *, int), unsetenv(const char *), pclose(FILE *);
extern FILE *popen(const char *, const char *);
static void say_nothing(dync_status status, const char *message, void *user)
{
    (void)status, (void)message, (void)user;
}

/* out[0] = number, by one thread of one block. */
static dync__ptx_text text_of(const char *target, int number, const char *more)
{
    dync__ptx_text t;
    memset(&t, 0, sizeof t);
    dync__ptx_header(&t.text, target);
    dync__str_addf(
        &t.text,
        ".visible .entry f(.param .b64 p0, .param .b64 p1)\n{\n.reg .b64 %%b0;\n.reg .u32 "
        "%%n;\nld.param.b64 %%b0, [p0];\n"
        "mov.u32 %%n, %d;\n%sst.global.u32 [%%b0], %%n;\nret;\n}\n",
        number, more);
    t.n_launches = 1;
    t.launch[0] = (dync__ptx_launch){.entry = "f", .grid = {1, 1, 1}, .block = 1};
    return t;
}

typedef struct run {
    int32_t result;
    dync_status status;
} run;
static dync__cuda_code *code_of(int device, const dync__ptx_text *any,
                                const dync__ptx_text *variant)
{
    int32_t buf[] = {0};
    dync__cuda_code *c = calloc(1, sizeof *c);
    c->device = device;
    c->n_buffers = 1;
    EXPECT(dync__cuda_add_text(c, any, 1, buf));
    if (variant) EXPECT(dync__cuda_add_variant(c, variant));
    return c;
}
static run run_code(int device, dync__cuda_code *c)
{
    run r = {-1, DYNC_OK};
    void *p = dync__cuda_alloc(device, 4);
    r.status = dync__cuda_run(c, &p, 0, 0);
    if (r.status == DYNC_OK) EXPECT_OK(dync__cuda_copy(DYNC_CPU, &r.result, device, p, 4));
    dync__cuda_free(device, p, 4);
    return r;
}
static void end_code(dync__cuda_code *c)
{
    for (int f = 0; f < DYNC__CUDA_FORMS; f++) dync__str_free(&c->part.at[0].form[f].text.text);
    dync__arena_free(&c->arena);
    free(c);
}

TEST(equal_texts_are_one_module)
{
    int64_t before = dync_cuda_get_counters().loads;
    int devices = dync_cuda_device_count() > 1 ? 2 : 1;
    for (int i = 0; i < 5; i++) {
        dync__ptx_text t = text_of("sm_80", 7 + i / 4, "");
        dync__cuda_code *c = code_of(DYNC_CUDA_AT(i % devices), &t, NULL);
        EXPECT_EQ_INT(run_code(DYNC_CUDA_AT(i % devices), c).result, 7 + i / 4);
        end_code(c);
    }
    EXPECT_EQ_INT(dync_cuda_get_counters().loads - before, 2);
}

TEST(what_the_driver_says_is_told)
{
    dync_on_error(say_nothing, NULL);
    dync__ptx_text t = text_of("sm_80", 1, "frobnicate.u32 %n, %n;\n");
    dync__cuda_code *c = code_of(DYNC_CUDA, &t, NULL);
    EXPECT_EQ_INT(run_code(DYNC_CUDA, c).status, DYNC_ERR_DEVICE);
    EXPECT_HAS_STR(dync_error_message(), "the driver refused the kernel f: ");
    EXPECT_HAS_STR(dync_error_message(), "frobnicate");
    EXPECT_HAS_STR(dync_error_message(), "a PTX JIT compilation failed (cudaErrorInvalidPtx)");
    dync_clear_error();
    end_code(c);
    EXPECT_NEAR(dync_item(dync_sum(dync_ones(dync_shape(3)), DYNC_ALL, false)), 3, 0);
}

/* A kernel's error is told by the call that waits for it, in the runtime's words; on a GPU nothing
 * goes on there in this process. */
TEST(an_address_that_is_none)
{
    if (test__state.no_fork) SKIP("the process loses its GPU");
    setenv("CUEMU_QUIET", "1", 1);
    dync_on_error(say_nothing, NULL);
    dync__ptx_text t = text_of("sm_80", 1, "");
    dync__cuda_code *c = code_of(DYNC_CUDA, &t, NULL);
    void *nowhere = (void *)(uintptr_t)64;
    EXPECT_OK(dync__cuda_run(c, &nowhere, 0, 0));
    EXPECT_EQ_INT(dync_cuda_synchronize(0), DYNC_ERR_DEVICE);
    EXPECT_HAS_STR(dync_error_message(),
                   "an illegal memory access was encountered (cudaErrorIllegalAddress)");
    dync_clear_error();
    /* and by every one after it */
    EXPECT_EQ_INT(dync_cuda_synchronize(0), DYNC_ERR_DEVICE);
    dync_clear_error();
    EXPECT(!dync_to_device(dync_ones(dync_shape(3)), DYNC_CUDA));
    dync_clear_error();
    EXPECT_NEAR(dync_item(dync_sum(dync_ones(dync_shape(3)), DYNC_ALL, false)), 3, 0);
    end_code(c);
}

#if EMULATED
static bool takes(const char *cc, const char *driver, const char *target, int version)
{
    setenv("CUEMU_DRIVER", driver, 1);
    setenv("CUEMU_CC", cc, 1);
    return dync__cuda_takes(DYNC_CUDA, target, version);
}
TEST(a_device_of_9_0_takes)
{
    EXPECT(takes("90", "12080", "sm_90a", 80) && takes("90", "13000", "sm_90a", 80) &&
           takes("90", "12000", "sm_90a", 80));
    EXPECT(!takes("90", "11080", "sm_90a", 80) && takes("90", "11080", "sm_80", 70));
    EXPECT(takes("90", "12080", "sm_90", 87) && !takes("90", "12080", "sm_90", 88) &&
           takes("90", "12090", "sm_90", 88));
    EXPECT(takes("90", "13000", "sm_90", 90) && !takes("90", "12090", "sm_90", 90) &&
           !takes("90", "13000", "sm_90", 91) && takes("90", "13010", "sm_90", 91));
    EXPECT(!takes("90", "13000", "sm_100a", 86) && takes("90", "13000", "sm_80", 71));
    setenv("DYNC_CUDA_TARGET", "sm_80", 1);
    EXPECT(!takes("90", "13000", "sm_90a", 80) && takes("90", "13000", "sm_80", 71));
}
TEST(a_device_of_10_0_takes)
{
    EXPECT(!takes("100", "13000", "sm_90a", 80) && takes("100", "13000", "sm_100a", 86) &&
           takes("100", "13000", "sm_90", 80));
}
TEST(a_device_of_8_6_takes)
{
    EXPECT(!takes("86", "13000", "sm_90a", 80) && takes("86", "13000", "sm_80", 71));
}
#endif

TEST(a_variant_runs_where_it_can)
{
    dync__ptx_text any = text_of("sm_80", 1, ""), variant = text_of("sm_80", 2, "");
    variant.n_checks = 1;
    variant.check[0] = (dync__ptx_check){0, 16, 0};
    dync__cuda_code *c = code_of(DYNC_CUDA, &any, &variant);
    void *p = dync__cuda_alloc(DYNC_CUDA, 64);
    /* not loaded: code of the library is finished first */
    EXPECT_EQ_INT(run_code(DYNC_CUDA, c).result, 1);
    end_code(c);
    any = text_of("sm_80", 1, ""), variant = text_of("sm_80", 2, "");
    variant.n_checks = 1;
    variant.check[0] = (dync__ptx_check){0, 16, 0};
    c = dync__cuda_code_finish(code_of(DYNC_CUDA, &any, &variant), true);
    REQUIRE(c);
    EXPECT_EQ_INT(run_code(DYNC_CUDA, c).result, 2);
    void *odd = (char *)p + 4;
    int32_t result = 0;
    /* not on its boundary */
    EXPECT_OK(dync__cuda_run(c, &odd, 0, 0));
    EXPECT_OK(dync__cuda_copy(DYNC_CPU, &result, DYNC_CUDA, odd, 4));
    EXPECT_EQ_INT(result, 1);
    end_code(c);
    any = text_of("sm_80", 1, ""), variant = text_of("sm_80", 2, "frobnicate.u32 %n, %n;\n");
    /* the driver refuses it: no error, the other runs */
    c = dync__cuda_code_finish(code_of(DYNC_CUDA, &any, &variant), true);
    REQUIRE(c);
    EXPECT_EQ_INT(dync_error(), DYNC_OK);
    EXPECT_EQ_INT(run_code(DYNC_CUDA, c).result, 1);
    end_code(c);
    dync__cuda_free(DYNC_CUDA, p, 64);
}

/* ---- images in files ------------------------------------------------------------------------- */
static char folder[600];
static int64_t loads, images;
/* A new process, as far as loaded code is concerned; what was loaded and what of it came from
 * files. */
static bool runs_again(int number)
{
    dync_cuda_counters before = dync_cuda_get_counters();
    dync__ptx_text t = text_of("sm_80", number, "");
    dync__cuda_code *c = code_of(DYNC_CUDA, &t, NULL);
    run r = run_code(DYNC_CUDA, c);
    end_code(c);
    loads = dync_cuda_get_counters().loads - before.loads;
    images = dync_cuda_get_counters().images - before.images;
    dync_shutdown();
    return r.status == DYNC_OK && r.result == number;
}
static bool files_of(const char *what, char *out, size_t cap)
{
    char command[900];
    snprintf(command, sizeof command, what, folder);
    FILE *f = popen(command, "r");
    size_t n = f ? fread(out, 1, cap - 1, f) : 0;
    out[n] = 0;
    return f && pclose(f) == 0;
}
TEST(images_are_kept_in_files)
{
    char text[900];
    unsetenv("DYNC_CUDA_CACHE");
    snprintf(folder, sizeof folder, "%s.images/deep", test__state.program);
    (void)files_of("rm -rf $(dirname %s)", text, sizeof text);
    EXPECT(runs_again(5) && loads == 1 && images == 0); /* nobody asked */
    EXPECT(!files_of("ls %s 2>/dev/null", text, sizeof text));
    EXPECT_OK(dync_cuda_cache(folder));
    EXPECT(runs_again(5) && loads == 1 && images == 0);
    EXPECT(runs_again(5) && loads == 1 && images == 1);
    EXPECT(runs_again(6) && images == 0 && runs_again(6) && images == 1 && runs_again(5) &&
           images == 1);
    EXPECT(files_of("ls %s | grep -c '^[0-9a-f]*.cubin$'", text, sizeof text) && atoi(text) == 2);
    EXPECT(files_of("ls %s | wc -l", text, sizeof text) && atoi(text) == 2); /* and no drafts */
    static const char *const damage[] = {
        "for f in %s/*; do head -c 60 $f > $f.x; mv $f.x $f; done",
        "for f in %s/*; do : > $f; done",
        "for f in %s/*; do (cat $f; echo more) > $f.x; mv $f.x $f; done",
        "for f in %s/*; do tr 5 4 < $f > $f.x; mv $f.x $f; done",
        "for f in %s/*; do tr d e < $f > $f.x; mv $f.x $f; done"};
    for (int i = 0; i < DYNC__COUNT_OF(damage); i++) {
        EXPECT(files_of(damage[i], text, sizeof text));
        if (!EXPECT(runs_again(5) && images == 0 && runs_again(5) && images == 1))
            printf("  damage %d\n", i);
    }
    EXPECT(files_of("chmod 555 %s", text, sizeof text) && runs_again(9));
    EXPECT(files_of("chmod 755 %s", text, sizeof text));
#if EMULATED
    /* another driver: images of its own */
    setenv("CUEMU_DRIVER", "12080", 1);
    EXPECT(runs_again(5) && images == 0 && runs_again(5) && images == 1);
    setenv("CUEMU_DRIVER", "13000", 1);
    EXPECT(runs_again(5) && images == 1);
    /* no linker: texts, as ever */
    setenv("CUEMU_NO_LINKER", "1", 1);
    EXPECT(runs_again(5) && images == 1 && runs_again(77) && images == 0 && runs_again(77) &&
           images == 0);
#endif
    EXPECT_OK(dync_cuda_cache(NULL));
    EXPECT(runs_again(5) && images == 0);
    dync_on_error(say_nothing, NULL);
    EXPECT_EQ_INT(dync_cuda_cache("/dev/null/no"), DYNC_ERR_IO);
    dync_clear_error();
    EXPECT(runs_again(5) && images == 0);
    (void)files_of("rm -rf $(dirname %s)", text, sizeof text);
}
TEST(the_environment_asks_for_images)
{
    char text[900];
    snprintf(folder, sizeof folder, "%s.env", test__state.program);
    (void)files_of("rm -rf %s", text, sizeof text);
    setenv("DYNC_CUDA_CACHE", folder, 1);
    EXPECT(runs_again(5) && images == 0 && runs_again(5) && images == 1);
    (void)files_of("rm -rf %s", text, sizeof text);
}
TEST_MAIN
