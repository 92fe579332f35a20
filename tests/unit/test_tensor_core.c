/* tensor/: handles, scopes, lists, values, storage, dync_init and dync_shutdown. */
#include "../../src/dync.in.h"
#include "../../src/tensor/tensor.h"
#define TEST_AFTER_EACH (dync_shutdown(), dync_clear_error(), dync_on_error(NULL, NULL))
#include "../test.h"

static void silent(dync_status status, const char *message, void *user)
{
    (void)status;
    (void)message;
    (void)user;
}

static dync__tensor *make(int64_t n)
{
    dync__layout lay;
    if (dync__layout_contiguous(&lay, 1, &n) != DYNC_OK) return NULL;
    return dync__tensor_empty(DYNC_F32, DYNC_CPU, &lay);
}

static dync_tensor *give(int64_t n) { return dync__give(make(n)); }

/* ---- handles --------------------------------------------------------------------------------- */

TEST(handles_open_and_go_stale)
{
    dync_on_error(silent, NULL);
    dync__tls.op = "add";
    dync__tls.at = (dync_loc){"file.c", 12, "main"};
    dync__tensor *t = make(10);
    dync_tensor *h = dync__handle(t);
    EXPECT_EQ_PTR(dync__open(h), t);
    EXPECT(t->refs == 1 && t->numel == 10 && t->storage->size_bytes == 40 && t->id != 0);
    dync__tls.op = "mul";
    dync__tls.at = (dync_loc){0};
    dync__unref(t);
    EXPECT(dync__peek(h) == NULL && dync_error() == DYNC_OK);
    EXPECT(dync__open(h) == NULL);
    EXPECT_STATUS(dync_error(), DYNC_ERR_VALUE);
    EXPECT_EQ_STR(dync_error_message(),
                  "mul: tensor used after its scope ended: made by add at file.c:12");
    dync__tls.op = NULL;
    dync__tensor *again = make(3);
    EXPECT_EQ_PTR(again, t); /* the same slot, another generation */
    EXPECT(dync__handle(again) != h && !dync__peek(h));
    dync__unref(again);
}

TEST(null_and_forged_handles)
{
    dync_on_error(silent, NULL);
    EXPECT(!dync__handle(NULL) && !dync__give(NULL));
    EXPECT(!dync__open(NULL));
    EXPECT_STATUS(dync_error(), DYNC_ERR_VALUE);
    EXPECT_EQ_STR(dync_error_message(), "expected a tensor, got NULL");
    dync_clear_error();
    dync__fail(DYNC_ERR_SHAPE, "before");
    EXPECT(!dync__open(NULL));
    EXPECT_EQ_STR(dync_error_message(), "before");
    for (int i = 0; i < 1000; i++)
        EXPECT(!dync__peek((dync_tensor *)(uintptr_t)(test_random() | 1u << 31)));
}

TEST(many_tensors_and_reuse)
{
#if defined(DYNC_SMALL)
    enum { N = 500 };
#else
    enum { N = 5000 };
#endif
    static dync__tensor *t[N];
    static dync_tensor *h[N];
    int64_t before = dync__live_tensors();
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < N; i++) {
            t[i] = make(i % 20);
            h[i] = dync__handle(t[i]);
        }
        EXPECT_EQ_INT(dync__live_tensors() - before, N);
        for (int i = 0; i < N; i++) REQUIRE(dync__peek(h[i]) == t[i]);
        for (int i = 0; i < N; i++) dync__unref(t[(i * 7) % N]);
        for (int i = 0; i < N; i++) REQUIRE(!dync__peek(h[i]));
    }
    EXPECT_EQ_INT(dync__live_tensors(), before);
}

TEST(ids_are_never_reused)
{
    uint64_t last = 0;
    for (int i = 0; i < 5000; i++) {
        dync__tensor *t = make(1);
        REQUIRE(t->storage->id > last && t->id > t->storage->id);
        last = t->id;
        dync__unref(t);
    }
}

TEST(aliases_share_storage)
{
    dync__tensor *t = make(10);
    dync__layout lay = t->lay;
    lay.shape[0] = 3;
    lay.offset = 4;
    dync__tensor *view = dync__tensor_alias(t, DYNC_F32, &lay);
    EXPECT(view->storage == t->storage && t->storage->refs == 2 && view->numel == 3);
    EXPECT_EQ_PTR(dync__tensor_data(view), (char *)dync__tensor_data(t) + 16);
    dync__unref(t);
    EXPECT_EQ_INT(view->storage->refs, 1);
    dync__unref(view);
}

TEST(storages)
{
    dync_on_error(silent, NULL);
    float own[4] = {1, 2, 3, 4};
    dync__layout lay = {1, {2}, {2}, 1};
    dync__tensor *t =
        dync__tensor_new(dync__storage_borrow(DYNC_CPU, own, sizeof own), DYNC_F32, &lay);
    EXPECT_EQ_PTR(dync__tensor_data(t), own + 1);
    dync__tensor *copy = dync__contiguous_copy(t);
    EXPECT(((float *)dync__tensor_data(copy))[0] == 2 &&
           ((float *)dync__tensor_data(copy))[1] == 4);
    dync__unref(copy);
    dync__unref(t);
    EXPECT(own[3] == 4);
    dync__tensor *fake = dync__tensor_fake(DYNC_F64, DYNC_CPU, &lay);
    EXPECT((fake->flags & DYNC__T_FAKE) && !dync__tensor_data(fake) &&
           fake->storage->size_bytes == 32);
    EXPECT(!dync__contiguous_copy(fake));
    EXPECT_STATUS(dync_error(), DYNC_ERR_DATA_PTR);
    dync__unref(fake);
    dync__tensor *meta = dync__tensor_empty(DYNC_F32, DYNC_META, &lay);
    EXPECT(meta && !dync__tensor_data(meta));
    dync__unref(meta);
    dync_clear_error();
    EXPECT(!dync__tensor_empty(DYNC_F32, DYNC_CUDA, &lay));
    EXPECT_STATUS(dync_error(), DYNC_ERR_DEVICE);
    dync__unref(NULL);
    dync__storage_unref(NULL);
}

TEST(copies_of_strided_tensors)
{
    dync__layout lay = {3, {2, 3, 4}, {12, 4, 1}, 0};
    dync__tensor *t = dync__tensor_empty(DYNC_I32, DYNC_CPU, &lay);
    for (int i = 0; i < 24; i++) ((int32_t *)dync__tensor_data(t))[i] = i;
    dync__layout turned = {3, {4, 3, 2}, {1, 4, 12}, 0};
    dync__tensor *view = dync__tensor_alias(t, DYNC_I32, &turned),
                 *copy = dync__contiguous_copy(view);
    const int32_t *p = dync__tensor_data(copy);
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 3; j++)
            for (int k = 0; k < 2; k++) EXPECT_EQ_INT(p[(i * 3 + j) * 2 + k], i + 4 * j + 12 * k);
    dync__unref(copy);
    dync__unref(view);
    dync__unref(t);
}

/* ---- scopes ---------------------------------------------------------------------------------- */

/* Expanded, permuted, sliced, with dimensions of one element: element by element. */
TEST(copies_of_random_layouts)
{
    static const dync_dtype dtypes[] = {DYNC_U8, DYNC_F16, DYNC_F32, DYNC_I64};
    for (int turn = 0; turn < test_count(600); turn++) {
        dync_dtype dtype = dtypes[turn % 4];
        size_t bytes = dync__dtype_info(dtype)->bytes;
        dync__layout lay = {.ndim = test_random_int(0, 5)};
        int order[DYNC_MAX_DIMS];
        int64_t next = 1, numel = 1;
        for (int d = 0; d < lay.ndim; d++) order[d] = d;
        for (int d = lay.ndim - 1; d > 0; d--) {
            int j = turn % 3 ? d : test_random_int(0, d), was = order[d];
            order[d] = order[j];
            order[j] = was;
        }
        for (int i = lay.ndim - 1; i >= 0; i--) {
            int d = order[i];
            lay.shape[d] = test_random() % 5 ? test_random_int(1, 7) : 1;
            lay.stride[d] = test_random() % 4 ? next : 0;
            if (lay.stride[d]) next *= lay.shape[d] * (test_random() % 5 ? 1 : 2);
            numel *= lay.shape[d];
        }
        dync__storage *s = dync__storage_new(DYNC_CPU, (size_t)next * bytes);
        REQUIRE(s);
        for (size_t i = 0; i < (size_t)next * bytes; i++)
            ((uint8_t *)s->data)[i] = (uint8_t)test_random();
        dync__tensor *t = dync__tensor_new(s, dtype, &lay), *copy = dync__contiguous_copy(t);
        REQUIRE(t && copy);
        bool same = true;
        for (int64_t e = 0; e < numel; e++) {
            int64_t at = 0, left = e;
            for (int d = lay.ndim - 1; d >= 0; left /= lay.shape[d--])
                at += left % lay.shape[d] * lay.stride[d];
            same &= memcmp((char *)copy->storage->data + (size_t)e * bytes,
                           (char *)s->data + (size_t)at * bytes, bytes) == 0;
        }
        EXPECT(same);
        dync__unref(copy);
        dync__unref(t);
    }
}

TEST(scopes_release)
{
    dync_tensor *outer = give(3);
    dync_scope s = dync_scope_begin();
    EXPECT_EQ_INT(dync__scope_depth(), 1);
    dync_tensor *inner = give(4);
    EXPECT(dync__peek(inner));
    dync_scope_end(&s);
    EXPECT(!s.open && !dync__peek(inner) && dync__peek(outer) && dync__scope_depth() == 0);
    dync_scope_end(&s); /* again: nothing */
    dync_scope_end(NULL);
    DYNC_SCOPE {
        inner = give(5);
    }
    EXPECT(!dync__peek(inner));
}

TEST(open_scopes_end_with_the_one_around)
{
    dync_scope a = dync_scope_begin(), b = dync_scope_begin();
    dync_tensor *t = give(2);
    dync_scope_end(&a);
    EXPECT(!dync__peek(t) && dync__scope_depth() == 0);
    dync_tensor *u = give(2);
    dync_scope_end(&b); /* gone already: must not touch u */
    EXPECT(dync__peek(u));
}

TEST(escape_hands_over_once)
{
    dync_scope a = dync_scope_begin();
    dync_scope b = dync_scope_begin();
    dync_tensor *x = give(1), *y = give(2), *z = give(3);
    EXPECT_EQ_PTR(dync_escape(y), y);
    dync_scope_end(&b);
    EXPECT(!dync__peek(x) && dync__peek(y) && !dync__peek(z));
    dync_scope c = dync_scope_begin();
    EXPECT_EQ_PTR(dync_escape(y), y); /* not of this scope: stays where it is */
    dync_scope_end(&c);
    EXPECT(dync__peek(y));
    dync_escape(y);
    dync_scope_end(&a);
    EXPECT(dync__peek(y));
    EXPECT_EQ_PTR(dync_escape(y), y); /* at the root: nothing above */
}

static int order[8], n_order;
static void note(void *arg) { order[n_order++] = *(int *)arg; }

TEST(release_is_last_in_first_out)
{
    static int one = 1, two = 2, three = 3;
    n_order = 0;
    dync_scope s = dync_scope_begin();
    EXPECT(dync__scope_defer(note, &one));
    dync_tensor *t = give(1);
    EXPECT(dync__scope_defer(note, &two));
    char *memory = dync__scope_alloc(100);
    EXPECT(memory && memory[99] == 0);
    EXPECT(dync__scope_defer(note, &three));
    dync_escape(t);
    dync_scope_end(&s);
    EXPECT(n_order == 3 && order[0] == 3 && order[1] == 2 && order[2] == 1);
    EXPECT(dync__peek(t));
}

static void give_more(void *arg) { *(dync_tensor **)arg = give(9); }

TEST(what_a_release_adds_is_released)
{
    dync_tensor *made = NULL;
    dync_scope s = dync_scope_begin();
    dync__scope_defer(give_more, &made);
    dync_scope_end(&s);
    EXPECT(made && !dync__peek(made));
}

TEST(retain_and_release)
{
    dync_on_error(silent, NULL);
    dync_tensor *t = NULL;
    DYNC_SCOPE {
        t = dync_retain(give(3));
        EXPECT_EQ_PTR(dync_retain(t), t);
    }
    EXPECT(dync__peek(t));
    dync_release(t);
    EXPECT(dync__peek(t));
    dync_release(t);
    EXPECT(!dync__peek(t) && dync_error() == DYNC_OK);
    dync_release(t);
    EXPECT_STATUS(dync_error(), DYNC_ERR_VALUE);
    dync_clear_error();
    dync_tensor *in_scope = give(2);
    /* never retained: an error, and the scope still owns it */
    dync_release(in_scope);
    EXPECT_STATUS(dync_error(), DYNC_ERR_VALUE);
    EXPECT(dync__peek(in_scope));
    dync_clear_error();
    dync_release(NULL);
    EXPECT(dync_error() == DYNC_OK && !dync_retain(NULL));
}

TEST(keep_moves_the_result_only)
{
    dync_scope s = dync_scope_begin();
    dync_tensor *x = give(1), *y = give(2);
    dync_scope inner = dync_scope_begin();
    dync_tensor *z = give(3);
    (void)inner;
    dync_value v = dync_v_tensor(z);
    dync__scope_end_keep(&s, &v);
    EXPECT(!dync__peek(x) && !dync__peek(y) && dync__peek(z) && dync__scope_depth() == 0);
    s = dync_scope_begin();
    dync_tensor *p = give(1), *q = give(2), *dropped = give(3);
    dync_value nested = dync_tuple(q, 5), list = dync_tuple(p, nested, "text");
    dync__scope_end_keep(&s, &list);
    EXPECT(dync__peek(p) && dync__peek(q) && !dync__peek(dropped));
    EXPECT(dync_len(list) == 3 && dync_as_tensor(dync_at(dync_at(list, 1), 0)) == q);
    dync_scope outer = dync_scope_begin();
    s = dync_scope_begin();
    v = list;
    dync__scope_end_keep(&s, &v); /* owned further out */
    dync_scope_end(&outer);
    EXPECT(dync_len(list) == 3 && dync__peek(p));
    v = DYNC_NONE;
    s = dync_scope_begin();
    dync__scope_end_keep(&s, &v);
    EXPECT(!s.open);
}

/* ---- lists and values ------------------------------------------------------------------------ */

TEST(lists_hold_their_items)
{
    dync_on_error(silent, NULL);
    dync_tensor *t = NULL;
    dync_value list = DYNC_NONE;
    dync_scope outer = dync_scope_begin();
    list = dync__list_new(2);
    DYNC_SCOPE {
        t = give(4);
        dync__list_set(list, 0, dync_v_tensor(t));
    }
    EXPECT(dync__peek(t));
    dync__list_set(list, 0, dync_v_int(3));
    EXPECT(!dync__peek(t));
    EXPECT(dync_at(list, 1).kind == DYNC_KIND_NONE);
    dync_at(list, 2);
    EXPECT_STATUS(dync_error(), DYNC_ERR_INDEX);
    dync_clear_error();
    dync_at(list, -1);
    EXPECT_STATUS(dync_error(), DYNC_ERR_INDEX);
    dync_clear_error();
    EXPECT_EQ_INT(dync_len(dync_v_int(3)), -1);
    EXPECT_STATUS(dync_error(), DYNC_ERR_VALUE);
    dync_clear_error();
    EXPECT(dync_len(dync_tuple_of(0, NULL)) == 0 && dync_error() == DYNC_OK);
    EXPECT(dync_tuple_of(-1, NULL).kind == DYNC_KIND_NONE && dync_error() == DYNC_ERR_VALUE);
    dync_scope_end(&outer);
}

TEST(numbers_out_of_values)
{
    dync_on_error(silent, NULL);
    EXPECT(dync_as_int(DYNC_V(7)) == 7 && dync_as_int(DYNC_TRUE) == 1 &&
           dync_as_float(DYNC_V(2.5)) == 2.5);
    EXPECT(dync_as_float(DYNC_V(3)) == 3.0 && dync_as_bool(DYNC_V(true)) &&
           !dync_as_bool(DYNC_FALSE) && dync_as_bool(DYNC_V(2)));
    EXPECT_EQ_STR(dync_as_str(DYNC_V("abc")), "abc");
    EXPECT(dync_as_int(DYNC_V(-2.9)) == -2 && dync_as_int(DYNC_V(1e30)) == INT64_MAX &&
           dync_as_bool(DYNC_V(0.5)) && !dync_as_bool(DYNC_V(0.0)));
    EXPECT(dync_error() == DYNC_OK);
    static const struct {
        const char *message;
        int what;
    } wrong[] = {{"expected an int, got a string", 0}, {"expected a float, got a string", 1},
                 {"expected a bool, got a list", 2},   {"expected a string, got an int", 3},
                 {"expected a tensor, got an int", 4}, {"expected a tensor, got none", 5}};
    for (int i = 0; i < DYNC__COUNT_OF(wrong); i++) {
        dync_clear_error();
        switch (wrong[i].what) {
        case 0: EXPECT_EQ_INT(dync_as_int(DYNC_V("2")), 0); break;
        case 1: EXPECT(dync_as_float(DYNC_V("x")) == 0.0); break;
        case 2: EXPECT(!dync_as_bool(dync_tuple(1))); break;
        case 3: EXPECT(!dync_as_str(DYNC_V(1))); break;
        case 4: EXPECT(!dync_as_tensor(DYNC_V(1))); break;
        default: EXPECT(!dync_as_tensor(DYNC_NONE)); break;
        }
        EXPECT_STATUS(dync_error(), DYNC_ERR_VALUE);
        EXPECT_EQ_STR(dync_error_message(), wrong[i].message);
    }
}

static dync_value three(dync_value v)
{
    (void)v;
    return dync_v_int(3);
}

TEST(symbols_specialise_through_the_hook)
{
    dync_value symbol = {DYNC_KIND_SYM, 0, {0}};
    dync__specialise_hook = three;
    EXPECT(dync_as_int(symbol) == 3 && dync_as_float(symbol) == 3.0 && dync_as_bool(symbol));
    dync__specialise_hook = NULL;
}

static int observed[8], n_observed;
static void observe(const dync__tensor *t, int what, int dim)
{
    (void)t;
    observed[n_observed++] = what * 10 + dim;
}

TEST(metadata)
{
    dync_on_error(silent, NULL);
    dync__layout lay;
    dync__layout_contiguous(&lay, 2, (int64_t[]){3, 4});
    dync_tensor *t = dync__give(dync__tensor_empty(DYNC_I16, DYNC_CPU, &lay)),
                *fake = dync__give(dync__tensor_fake(DYNC_F64, DYNC_CPU, &lay));
    EXPECT(dync_ndim(t) == 2 && dync_size(t, 0) == 3 && dync_size(t, -1) == 4 &&
           dync_stride(t, 0) == 4 && dync_numel(t) == 12 && dync_type(t) == DYNC_I16);
    EXPECT_EQ_INT(dync_size(t, 2), -1);
    EXPECT_STATUS(dync_error(), DYNC_ERR_INDEX);
    dync_clear_error();
    EXPECT(dync_ndim(NULL) == -1 && dync_error() == DYNC_ERR_VALUE);
    EXPECT(dync_numel(NULL) == -1 && dync_stride(NULL, 0) == -1 && dync_type(NULL) == DYNC_F32 &&
           !dync_requires_grad(NULL) && !dync_requires_grad(t));
    dync__observe_hook = observe;
    EXPECT(dync_size(t, 1) == 4 && n_observed == 0);
    EXPECT(dync_size(fake, -1) == 4 && dync_ndim(fake) == 2);
    EXPECT(n_observed == 2 && observed[0] == DYNC__OBSERVE_SIZE * 10 + 1 &&
           observed[1] == DYNC__OBSERVE_NDIM * 10);
    dync__observe_hook = NULL;
}

/* ---- the library as a whole ------------------------------------------------------------------ */

TEST(init_once_and_first)
{
    dync_on_error(silent, NULL);
    EXPECT_OK(dync_init((dync_init_options){.threads = 2, .seed = 5}));
#if !defined(DYNC_NO_THREADS)
    EXPECT_EQ_INT(dync__pool_threads(), 2);
#endif
    EXPECT(dync__tls.rng_seed == 5);
    EXPECT_STATUS(dync_init((dync_init_options){0}), DYNC_ERR_VALUE);
    dync_shutdown();
    dync_clear_error();
    give(3);
    EXPECT_STATUS(dync_init((dync_init_options){0}), DYNC_ERR_VALUE);
    dync_shutdown();
    EXPECT_STATUS(dync_error(), DYNC_ERR_VALUE); /* still readable */
    dync_clear_error();
    EXPECT_STATUS(dync_init((dync_init_options){.threads = -1}), DYNC_ERR_VALUE);
    dync_clear_error();
    EXPECT_STATUS(dync_init((dync_init_options){.memory_size = 10}), DYNC_ERR_VALUE);
    dync_clear_error();
    EXPECT_OK(dync_init((dync_init_options){0}));
}

TEST(shutdown_frees_everything_and_starts_anew)
{
    dync_on_error(silent, NULL);
    for (int round = 0; round < 3; round++) {
        dync_tensor *kept = dync_retain(give(1000)), *loose = give(5);
        dync_scope open = dync_scope_begin();
        dync_value list = dync_tuple(kept, loose);
        dync__intern("a name");
        (void)open;
        (void)list;
        dync_shutdown();
        EXPECT(!dync__mem_in_use() && !dync__peek(kept) && !dync__peek(loose));
        dync_memory m = dync_memory_stats();
        EXPECT(m.live_bytes == 0 && m.live_tensors == 0);
        dync_tensor *again = give(2);
        EXPECT(dync__peek(again) && !dync__peek(kept) && !dync__peek(loose) && again != kept);
    }
    dync_shutdown();
    dync_shutdown();
    EXPECT(!dync__mem_in_use());
}

TEST(a_buffer_instead_of_malloc)
{
    static _Alignas(16) char memory[1 << 20];
    dync_on_error(silent, NULL);
    EXPECT_STATUS(dync_init((dync_init_options){.memory = memory, .memory_size = 100}),
                  DYNC_ERR_VALUE);
    const char *least = strstr(dync_error_message(), "expected ");
    REQUIRE(least && strstr(least, "got 100"));
    size_t n = strtoul(least + 9, NULL, 10);
    dync_clear_error();
    EXPECT_STATUS(dync_init((dync_init_options){.memory = memory + 1, .memory_size = n - 1}),
                  DYNC_ERR_VALUE);
    dync_clear_error();
    REQUIRE_OK(dync_init((dync_init_options){.memory = memory + 1, .memory_size = n}));
    dync_shutdown();
    REQUIRE_OK(dync_init((dync_init_options){.memory = memory, .memory_size = sizeof memory}));
    for (int i = 0; i < 1000; i++) {
        DYNC_SCOPE {
            dync_tensor *t = give(1000);
            char *p = t ? dync__tensor_data(dync__open(t)) : NULL;
            REQUIRE(p && p >= memory && p + 4000 <= memory + sizeof memory);
        }
    }
    DYNC_SCOPE {
        int n = 0;
        while (give(10000)) n++; /* until it is full */
        EXPECT(n > 10 && n < 27 && dync_error() == DYNC_ERR_MEMORY);
    }
    dync_clear_error();
    EXPECT(give(10000) != NULL);
    dync_shutdown();
    EXPECT(!dync__mem_in_use());
}

/* which keeps no blocks for reuse and has few slots */
#if !defined(DYNC_SMALL)
TEST(steady_state_makes_no_malloc)
{
    int64_t mallocs = 0;
    for (int i = 0; i < 100; i++) {
        if (i == 2) mallocs = dync_memory_stats().mallocs;
        DYNC_SCOPE {
            for (int k = 0; k < 50; k++) give(k * k * k);
            dync_tuple(give(3), 4);
        }
    }
    EXPECT_EQ_INT(dync_memory_stats().mallocs, mallocs);
}

#if UINTPTR_MAX > 0xffffffffu
TEST(one_hint_about_a_full_scope)
{
    for (int i = 0; i < 100010; i++) REQUIRE(give(0));
    EXPECT_EQ_INT(dync__live_tensors(), 100010);
    dync_shutdown();
    EXPECT_EQ_INT(dync__live_tensors(), 0);
}
#endif
#endif

/* Every allocation fails once: a clean error, nothing lost. */
TEST(failing_allocations)
{
    dync_on_error(silent, NULL);
    for (int kind = 0; kind < 4; kind++) {
        for (int n = 1;; n++) {
            dync_shutdown();
            dync_clear_error();
            dync__mem_fail_at(n);
            bool ok = false;
            dync_scope s = dync_scope_begin();
            switch (kind) {
            case 0: ok = give(10) != NULL; break;
            case 1:
                ok = dync_len(dync_tuple_of(2, (dync_value[]){DYNC_V(give(3)), DYNC_V(1)})) == 2;
                break;
            case 2: ok = dync__scope_alloc(10) && dync__scope_defer(note, &n); break;
            default: {
                dync__tensor *t = dync__open(give(3));
                ok = t && dync_as_tensor(DYNC_V(dync__give(dync__contiguous_copy(t))));
                break;
            }
            }
            n_order = 0;
            dync_scope_end(&s);
            dync__mem_fail_at(0);
            if (dync_error() == DYNC_OK) {
                EXPECT(ok && n > 2);
                break;
            }
            EXPECT_STATUS(dync_error(), DYNC_ERR_MEMORY);
            /* a scope that could not begin left its tensors to the root */
            dync__scope_end_all();
            EXPECT_EQ_INT(dync_memory_stats().live_tensors, 0);
            dync_shutdown();
            REQUIRE(!dync__mem_in_use() && n < 100);
        }
    }
}

TEST_MAIN
