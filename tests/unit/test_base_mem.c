/* base/mem.c, base/err.c, base/log.c, base/os.c: memory, errors, files. */
#include "../../src/dync.in.h"
#include "../../src/base/base.h"
#define TEST_AFTER_EACH (dync_shutdown(), dync_clear_error(), dync_on_error(NULL, NULL))
#include "../test.h"

/* ---- memory ---------------------------------------------------------------------------------- */

TEST(blocks_do_not_overlap_and_keep_their_bytes)
{
    enum { N = 200 };
    static unsigned char *block[N];
    static size_t size[N];
    static bool data[N];
    for (int step = 0; step < 20000; step++) {
        size_t i = test_random() % N;
        if (block[i]) {
            for (size_t k = 0; k < size[i]; k += 13) REQUIRE(block[i][k] == (unsigned char)i);
            if (data[i])
                dync__free_data(block[i], size[i]);
            else
                dync__free(block[i], size[i]);
            block[i] = NULL;
            continue;
        }
        size[i] = test_random() % (test_random() % 8 ? 2000 : 300000);
        data[i] = test_random() % 2;
        block[i] = data[i] ? dync__alloc_data(size[i]) : dync__alloc(size[i]);
        REQUIRE(block[i] && (uintptr_t)block[i] % (data[i] ? 64 : _Alignof(max_align_t)) == 0);
        memset(block[i], (int)i, size[i]);
    }
    for (size_t i = 0; i < N; i++) {
        if (data[i])
            dync__free_data(block[i], size[i]);
        else
            dync__free(block[i], size[i]);
    }
    EXPECT_EQ_INT(dync__mem_read_stats().live_bytes, 0);
}

TEST(statistics)
{
    dync__mem_stats before = dync__mem_read_stats();
    void *p = dync__alloc(1000), *q = dync__alloc_data(5000000);
    dync__mem_stats with = dync__mem_read_stats();
    EXPECT_EQ_INT(with.live_bytes - before.live_bytes, 5001000);
    dync__free(p, 1000);
    dync__free_data(q, 5000000);
    dync__mem_stats after = dync__mem_read_stats();
    EXPECT_EQ_INT(after.live_bytes, before.live_bytes);
    EXPECT(after.peak_bytes >= before.live_bytes + 5001000);
    for (int i = 0; i < 100; i++) {
        p = dync__alloc(1000);
        q = dync__alloc_data(5000000);
        dync__free(p, 1000);
        dync__free_data(q, 5000000);
    }
    EXPECT_EQ_INT(dync__mem_read_stats().mallocs, after.mallocs); /* all from the cache */
}

TEST(zero_bytes_and_null)
{
    void *p = dync__alloc(0), *q = dync__alloc(0);
    EXPECT(p && q && p != q);
    dync__free(p, 0);
    dync__free(q, 0);
    dync__free(NULL, 10);
    dync__free_data(NULL, 10);
}

TEST(realloc_keeps_the_bytes)
{
    static const size_t sizes[] = {1,      20,       15,       300,      1024, 1025, 5000,
                                   100000, 70000000, 80000000, 71000000, 100,  0,    10};
    size_t n = 0;
    unsigned char *p = NULL;
    for (int i = 0; i < DYNC__COUNT_OF(sizes); i++) {
        unsigned char *q = dync__realloc(p, n, sizes[i]);
        REQUIRE(q);
        for (size_t k = 0; k < n && k < sizes[i]; k += 997) EXPECT(q[k] == (unsigned char)(k * 7));
        for (size_t k = 0; k < sizes[i]; k++) q[k] = (unsigned char)(k * 7);
        p = q;
        n = sizes[i];
    }
    dync__free(p, n);
    EXPECT_EQ_INT(dync__mem_read_stats().live_bytes, 0);
}

TEST(failures_are_injected_and_told)
{
    dync__error_guard g;
    char *p = dync__alloc(100);
    strcpy(p, "kept");
    for (int kind = 0; kind < 4; kind++) {
        dync__error_guard_begin(&g);
        dync__mem_fail_at(2);
        void *first = dync__alloc(8), *second = kind == 0   ? dync__alloc(8)
                                                : kind == 1 ? dync__calloc(8)
                                                : kind == 2 ? dync__alloc_data(8)
                                                            : dync__realloc(p, 100, 5000);
        EXPECT(first && !second);
        dync__free(first, 8);
        EXPECT_STATUS(dync__error_guard_end(&g)->status, DYNC_ERR_MEMORY);
    }
    EXPECT_EQ_STR(p, "kept");
    dync__free(p, 100);
    dync__error_guard_begin(&g);
    EXPECT(!dync__alloc(SIZE_MAX) && !dync__alloc_data(SIZE_MAX - 3) &&
           !dync__calloc((size_t)PTRDIFF_MAX));
    EXPECT_STATUS(dync__error_guard_end(&g)->status, DYNC_ERR_MEMORY);
}

/* A builder that only keeps a flag, after an error that a guard hid. */
TEST(a_later_report_names_the_bytes_that_were_refused)
{
    dync__error_guard g;
    dync__error_guard_begin(&g);
    dync__mem_fail_at(1);
    EXPECT(!dync__alloc(12345));
    EXPECT_STATUS(dync__error_guard_end(&g)->status, DYNC_ERR_MEMORY);
    EXPECT(dync_error() == DYNC_OK);
    dync__error_guard_begin(&g);
    EXPECT_STATUS(dync__fail_memory(0), DYNC_ERR_MEMORY);
    EXPECT_HAS_STR(dync_error_message(), "out of memory: 12345 bytes");
    dync__error_guard_end(&g);
}

TEST(a_static_buffer_serves_everything)
{
    static _Alignas(16) char memory[1 << 20];
    enum { N = 64 };
    void *block[N];
    size_t size[N];
    REQUIRE(dync__mem_set_buffer(memory + 3, sizeof memory - 3));
    for (int round = 0; round < 50; round++) {
        for (int i = 0; i < N; i++) {
            size[i] = test_random() % 9000;
            block[i] = dync__alloc(size[i]);
            REQUIRE(block[i] && (char *)block[i] >= memory &&
                    (char *)block[i] + size[i] <= memory + sizeof memory);
            REQUIRE((uintptr_t)block[i] % _Alignof(max_align_t) == 0);
            memset(block[i], i, size[i]);
        }
        for (int i = 0; i < N; i++) dync__free(block[(i * 37) % N], size[(i * 37) % N]);
    }
    dync__error_guard g;
    dync__error_guard_begin(&g);
    EXPECT(!dync__alloc(sizeof memory));
    dync__error_guard_end(&g);
    /* the cache was given back and the pieces are one again */
    void *most = dync__alloc(sizeof memory - 20000);
    EXPECT(most != NULL);
    dync__free(most, sizeof memory - 20000);
    EXPECT(!dync__mem_set_buffer(NULL, 0)); /* in use */
    dync__thread_end(&dync__tls);
    EXPECT(!dync__mem_in_use());
    EXPECT(dync__mem_set_buffer(NULL, 0));
    EXPECT(!dync__mem_set_buffer(memory, 100));
    void *p = dync__alloc(10);
    EXPECT((char *)p < memory || (char *)p >= memory + sizeof memory);
    dync__free(p, 10);
}

TEST(trimming_gives_everything_back)
{
    for (size_t n = 1; n < 200000; n = n * 3 / 2 + 1) {
        void *p = dync__alloc(n), *q = dync__alloc_data(n);
        dync__free(p, n);
        dync__free_data(q, n);
    }
    EXPECT(dync__mem_in_use());
    dync__thread_end(&dync__tls);
    EXPECT(!dync__mem_in_use());
}

/* ---- errors ---------------------------------------------------------------------------------- */

static int handled;
static char handled_message[1024];
static void on_error(dync_status status, const char *message, void *user)
{
    handled += status == DYNC_ERR_SHAPE && *(int *)user == 7;
    strncpy(handled_message, message, sizeof handled_message - 1);
}

TEST(the_first_error_stays)
{
    int seven = 7;
    uint64_t count = dync__error_count();
    handled = 0;
    dync_on_error(on_error, &seven);
    EXPECT(dync_error() == DYNC_OK);
    EXPECT_EQ_STR(dync_error_message(), "");
    EXPECT_EQ_STR(dync_error_class(), "");
    dync__tls.op = "add";
    dync__tls.at = (dync_loc){"train.c", 41, "main"};
    EXPECT_STATUS(dync__fail(DYNC_ERR_SHAPE, "shapes %s and %s do not broadcast", "[2, 3]", "[4]"),
                  DYNC_ERR_SHAPE);
    EXPECT_STATUS(dync__fail(DYNC_ERR_VALUE, "later"), DYNC_ERR_VALUE);
    EXPECT_STATUS(dync_error(), DYNC_ERR_SHAPE);
    EXPECT_EQ_STR(dync_error_message(), "add: shapes [2, 3] and [4] do not broadcast (train.c:41)");
    EXPECT_EQ_STR(dync_error_class(), "RuntimeError");
    EXPECT_EQ_INT(handled, 1);
    EXPECT_EQ_STR(handled_message, dync_error_message());
    EXPECT(dync__error_count() == count + 2);
    dync_clear_error();
    EXPECT(dync_error() == DYNC_OK && !*dync_error_message() && !*dync_error_class());
    dync__tls.op = NULL;
    dync__tls.at = (dync_loc){0};
    dync__fail_class(DYNC_ERR_VALUE, "InvalidBackend", "no such backend");
    EXPECT_EQ_STR(dync_error_message(), "no such backend");
    EXPECT_EQ_STR(dync_error_class(), "InvalidBackend");
}

static int told;
static void fails_again(dync_status status, const char *message, void *user)
{
    (void)status, (void)message, (void)user;
    if (++told > 1000) return; /* without end */
    dync_clear_error();
    dync__fail(DYNC_ERR_SHAPE, "in the handler");
}
TEST(a_handler_that_fails_is_not_called_again)
{
    dync_on_error(fails_again, NULL);
    for (int i = 1; i < 4; i++) {
        dync__fail(DYNC_ERR_VALUE, "outside");
        EXPECT_EQ_INT(told, i);
        EXPECT_STATUS(dync_error(), DYNC_ERR_SHAPE);
        EXPECT_EQ_STR(dync_error_message(), "in the handler");
        dync_clear_error();
    }
    dync_on_error(NULL, NULL);
}

TEST(a_long_message_keeps_its_place)
{
    static char text[3000];
    dync_on_error(on_error, &handled);
    memset(text, 'x', sizeof text - 1);
    dync__tls.at = (dync_loc){"file.c", 3, NULL};
    dync__fail(DYNC_ERR_VALUE, "%s", text);
    size_t n = strlen(dync_error_message());
    EXPECT_EQ_INT(n, 1023);
    EXPECT_EQ_STR(dync_error_message() + n - 11, " (file.c:3)");
    dync__tls.at = (dync_loc){0};
}

TEST(status_names_and_classes)
{
    dync_on_error(on_error, &handled);
    EXPECT_EQ_STR(dync__status_name(DYNC_OK), "DYNC_OK");
    EXPECT_EQ_STR(dync__status_name(DYNC_ERR_RECOMPILE_LIMIT), "DYNC_ERR_RECOMPILE_LIMIT");
    EXPECT_EQ_STR(dync__status_name((dync_status)77), "DYNC_ERR_INTERNAL");
    static const struct {
        dync_status status;
        const char *class_name;
    } rows[] = {{DYNC_ERR_VALUE, "ValueError"},
                {DYNC_ERR_INDEX, "IndexError"},
                {DYNC_ERR_MEMORY, "MemoryError"},
                {DYNC_ERR_IO, "OSError"},
                {DYNC_ERR_UNSUPPORTED, "Unsupported"},
                {DYNC_ERR_BACKEND, "BackendCompilerFailed"},
                {DYNC_ERR_RECOMPILE_LIMIT, "RecompileError"}};
    for (int i = 0; i < DYNC__COUNT_OF(rows); i++) {
        dync_clear_error();
        dync__fail(rows[i].status, "x");
        EXPECT_EQ_STR(dync_error_class(), rows[i].class_name);
    }
}

TEST(guards_hide_and_restore)
{
    int seven = 7;
    dync__error_guard outer, inner;
    handled = 0;
    dync_on_error(on_error, &seven);
    dync__fail(DYNC_ERR_SHAPE, "outer");
    dync__error_guard_begin(&outer);
    EXPECT(dync_error() == DYNC_OK);
    dync__fail(DYNC_ERR_SHAPE, "middle");
    dync__error_guard_begin(&inner);
    dync__fail(DYNC_ERR_INDEX, "inner");
    EXPECT_EQ_STR(dync__error_guard_end(&inner)->message, "inner");
    EXPECT_EQ_STR(dync_error_message(), "middle");
    const dync__error_slot *e = dync__error_guard_end(&outer);
    EXPECT_EQ_STR(dync_error_message(), "outer");
    EXPECT_EQ_INT(handled, 1);
    dync__error_raise(e);
    EXPECT_EQ_STR(dync_error_message(), "outer");
    dync_clear_error();
    dync__error_raise(e);
    EXPECT_EQ_STR(dync_error_message(), "middle");
    EXPECT_EQ_INT(handled, 2);
}

/* ---- log, files, cpu ------------------------------------------------------------------------- */

TEST(log_stages_are_chosen_by_name)
{
    dync__log_set("graph, asm");
    EXPECT(dync__log_on(DYNC__LOG_graph) && dync__log_on(DYNC__LOG_asm) &&
           !dync__log_on(DYNC__LOG_guards) && !dync__log_on(-1));
    dync__log_set("");
    EXPECT(!dync__log_on(DYNC__LOG_graph));
    dync__log_set("graph");
    dync__log(DYNC__LOG_graph, "%01000d", 5);
    dync__log_text(DYNC__LOG_graph, "title", "one\ntwo\n");
    dync__log_set(NULL);
    EXPECT(!dync__log_on(DYNC__LOG_graph));
}

TEST(files)
{
    char path[] = "/tmp/dync_test_XXXXXX";
    extern int mkstemp(char *); /* hidden by plain -std=c11 */
    int fd = mkstemp(path);
    REQUIRE(fd >= 0);
    close(fd);
    size_t n = 0, size = 100000;
    char *data = malloc(size), *back = NULL;
    for (size_t i = 0; i < size; i++) data[i] = (char)(i * 31);
    EXPECT_OK(dync__file_write(path, data, size));
    EXPECT_OK(dync__file_read(path, &back, &n));
    EXPECT(n == size && memcmp(back, data, n) == 0 && back[n] == 0);
    dync__free(back, n + 1);
    EXPECT_OK(dync__file_write(path, NULL, 0));
    EXPECT_OK(dync__file_read(path, &back, &n));
    EXPECT(n == 0 && back[0] == 0);
    dync__free(back, 1);
    remove(path);
    free(data);
    dync__error_guard g;
    dync__error_guard_begin(&g);
    EXPECT_STATUS(dync__file_read(path, &back, &n), DYNC_ERR_IO);
    EXPECT_HAS_STR(dync_error_message(), path);
    dync__error_guard_end(&g);
    dync__error_guard_begin(&g);
    EXPECT_STATUS(dync__file_write("/nonexistent/x", "", 0), DYNC_ERR_IO);
    EXPECT_STATUS(dync__file_read(NULL, &back, &n), DYNC_ERR_VALUE);
    dync__error_guard_end(&g);
    dync__error_guard_begin(&g);
    /* a directory opens but cannot be read */
    EXPECT_STATUS(dync__file_read("/tmp", &back, &n), DYNC_ERR_IO);
    dync__error_guard_end(&g);
}

TEST(machine)
{
    uint64_t start = dync__now_ns();
    while (dync__now_ns() == start) {}
    EXPECT(dync__now_ns() > start);
    EXPECT(dync__cpu_count() >= 1);
    unsigned f = dync__cpu_features();
    EXPECT(f == dync__cpu_features());
    EXPECT(!(f & DYNC__CPU_AVX512) || (f & DYNC__CPU_AVX2));
}

TEST_MAIN
