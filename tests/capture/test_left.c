/* Traced functions that never return to their trace: longjmp, return out of a scope; a compiled
 * function whose library is gone; small stacks. C++ exceptions: tests/api/test_cxx.cpp. */
#include "counter.h"
#include <setjmp.h>
#include <pthread.h>

static jmp_buf away;
static int leaving; /* which leave() jumps; 0: none */
static int met;
static void leave(void)
{
    if (++met == leaving) longjmp(away, 1);
}
static dync_tensor *inner(dync_tensor *x)
{
    leave();
    dync_tensor *y = dync_exp(x);
    leave();
    return dync_add(y, 1);
}
static dync_tensor *doubled(dync_tensor *x)
{
    leave();
    return dync_mul(x, 2);
}
static dync_tensor *negated(dync_tensor *x)
{
    leave();
    return dync_neg(x);
}
/* Leaves at its beginning, among pending operators, in scopes, without grad, in a frame, between
 * two graphs, in a function that runs really, behind a break. */
static dync_tensor *winding(dync_tensor *x)
{
    leave();
    dync_tensor *y = dync_mul(x, 3);
    DYNC_SCOPE {
        dync_tensor *z = dync_sin(y);
        DYNC_NO_GRAD {
            leave();
            z = dync_add(z, 1);
        }
        y = dync_escape(dync_mul(z, y));
    }
    y = dync_frame(inner, y);
    dync_graph_break("here");
    leave();
    y = dync_frame(dync_disable(doubled), y);
    leave();
    return dync_add(y, x);
}
static dync_tensor *whole(dync_tensor *x)
{
    leave();
    dync_tensor *y = dync_sin(x);
    leave();
    return dync_mul(dync_frame(inner, y), x);
}
static dync_tensor *forked(dync_tensor *x)
{
    leave();
    dync_tensor *y = dync_mul(x, 2);
    if (dync_bool(dync_gt(dync_sum(y, DYNC_ALL, false), 0))) {
        leave();
        return dync_add(y, 1);
    }
    leave();
    return dync_sub(y, 1);
}

/* In the functions of operators, one inside the other. */
static dync_value leaving_test(const dync_value *a, int n, void *user)
{
    (void)n, (void)user;
    leave();
    return DYNC_V(dync_lt(dync_sum(dync_abs(dync_as_tensor(a[0])), DYNC_ALL, false), 20));
}
static dync_value leaving_round(const dync_value *a, int n, void *w)
{
    (void)n;
    dync_tensor *y = dync_mul(a[0], 2);
    leave();
    return DYNC_V(dync_add(y, dync_abs((dync_tensor *)w)));
}
static dync_value leaving_step(const dync_value *a, int n, void *w)
{
    (void)n;
    dync_tensor *h = dync_sin(dync_add(a[0], a[1]));
    DYNC_NO_GRAD {
        leave();
    }
    h = dync_as_tensor(dync_cond(dync_gt(dync_sum(h, DYNC_ALL, false), 0), doubled, negated, h));
    dync_value r = dync_while_loop(leaving_test, dync_bind(leaving_round, w, "x"), h);
    leave();
    return dync_tuple(h, dync_as_tensor(r));
}
static dync_tensor *looping(dync_tensor *x)
{
    dync_tensor *w = dync_mul(dync_select(x, 0, 0), 0.5);
    leave();
    dync_value r = dync_scan(dync_bind(leaving_step, w, "h, x"), dync_sin(w), x);
    leave();
    return dync_add(dync_as_tensor(dync_at(r, 1)), x);
}

/* A call that leaves at its n-th place; false: there is none. */
static bool left_at(int n, dync_compiled *f, dync_tensor *x)
{
    met = 0;
    leaving = n;
    bool jumped = setjmp(away) != 0;
    if (!jumped) (void)dync_call(f, x);
    leaving = 0;
    return jumped;
}
static int told;
static int count(const char *text, const char *part)
{
    int n = 0;
    for (const char *p = strstr(text, part); p; p = strstr(p + 1, part)) n++;
    return n;
}
static void from_every_place(dync_tensor *(*fn)(dync_tensor *), const char *backend, bool fullgraph,
                             int places)
{
    for (int warm = 0; warm < 2; warm++)
        for (int n = 1; n <= places; n++) DYNC_SCOPE {
            dync_tensor *x = dync_randn(dync_shape(3, 4)), *want = fn(x);
            dync_tensor *minus = dync_neg(x), *want_minus = fn(minus);
            dync_compiled *f = dync_compile(fn, .backend = backend, .fullgraph = fullgraph);
            if (warm) EXPECT(same(dync_call(f, x), want, 1e-5));
            if (left_at(n, f, warm ? minus : x)) told++;
            EXPECT(!dync_is_compiling()); /* the next call undoes it */
            EXPECT(same(dync_mul(x, 2), dync_add(x, x), 0));
            for (int i = 0; i < 2; i++) {
                EXPECT(same(dync_call(f, x), want, 1e-5));
                EXPECT(same(dync_call(f, minus), want_minus, 1e-5));
            }
            EXPECT_EQ_INT(dync_error(), DYNC_OK);
            dync_tensor *w = dync_requires_grad_(dync_ones(dync_shape(2)), true);
            EXPECT(dync_requires_grad(dync_mul(w, 2))); /* grad mode is on */
            dync_compiled_free(f);
        }
}
TEST(longjmp_out_of_functions_inside)
{
    from_every_place(looping, "inductor", true, 8);
    from_every_place(looping, "eager", false, 8);
}
TEST(longjmp_out_of_every_place)
{
    char said[65536] = "";
    REQUIRE(freopen("test_left.log", "wb", stderr) != NULL);
    from_every_place(winding, "inductor", false, 7);
    from_every_place(winding, "eager", false, 7);
    from_every_place(whole, "inductor", true, 4);
    from_every_place(forked, "inductor", false, 2);
    fflush(stderr);
    FILE *log = fopen("test_left.log", "rb");
    REQUIRE(log != NULL);
    said[fread(said, 1, sizeof said - 1, log)] = 0;
    fclose(log);
    remove("test_left.log");
    EXPECT(told >= 14 + 4 + 2); /* calls that follow code run no C function */
    EXPECT_EQ_INT(count(said, "was left while it was traced"), told);
}
TEST(freed_right_away)
{
    dync_tensor *x = dync_ones(dync_shape(2));
    dync_compiled *f = dync_compile(whole);
    EXPECT(left_at(2, f, x));
    dync_compiled_free(f);
    EXPECT(same(dync_exp(x), dync_exp(x), 0));
    EXPECT_EQ_INT(dync_error(), DYNC_OK);
}
/* Tensors and memory are those of before. */
static void stays_nothing(dync_tensor *(*fn)(dync_tensor *), int places)
{
    int64_t tensors = 0, bytes = 0;
    for (int i = 0; i < 40; i++) {
        DYNC_SCOPE {
            dync_tensor *x = dync_ones(dync_shape(3, 40));
            dync_compiled *f = dync_compile(fn, .backend = "eager");
            EXPECT(left_at(1 + i % places, f, x));
            EXPECT(dync_call(f, x) != NULL);
            dync_compiled_free(f);
        }
        if (i == 13) tensors = dync_memory_stats().live_tensors;
        if (i == 13) bytes = dync_memory_stats().live_bytes;
    }
    EXPECT_EQ_INT(dync_memory_stats().live_tensors, tensors);
    EXPECT(dync_memory_stats().live_bytes <= bytes + 4096);
}
TEST(nothing_stays) { stays_nothing(winding, 7); }
TEST(nothing_stays_of_functions_inside) { stays_nothing(looping, 8); }
/* ---- left while it runs as it is written ----------------------------------------------------- */
static dync_compiled *running;
static int asks;
static dync_tensor *asking(dync_tensor *x)
{
    leave();
    if (asks == 1) dync_shutdown();
    if (asks == 2) dync_compiled_free(running);
    if (asks == 3) dync_reset();
    return dync_add(x, 1);
}
static void quiet(dync_status status, const char *message, void *user)
{
    (void)status, (void)message, (void)user;
}
/* limit: calls beyond it run so, else all by the stance. */
static void as_written(bool limit)
{
    DYNC_SCOPE {
        dync_set_stance(limit ? NULL : "force_eager");
        running = dync_compile(asking, .dynamic = DYNC_DYNAMIC_OFF, .recompile_limit = 1);
        dync_on_error(quiet, NULL);
        if (limit) EXPECT(dync_call(running, dync_ones(dync_shape(1))) != NULL);
        for (int k = 0; k < 12; k++) {
            dync_tensor *x = dync_ones(dync_shape(2 + k));
            asks = k % 4;
            if (asks == 0) EXPECT(left_at(1, running, x));
            if (asks == 0) continue;
            EXPECT(dync_call(running, x) == NULL);
            EXPECT_STATUS(dync_error(), DYNC_ERR_VALUE);
            dync_clear_error();
        }
        asks = 0;
        EXPECT(dync_call(running, dync_ones(dync_shape(2))) != NULL);
        dync_compiled_free(running);
        EXPECT_STATUS(dync_error(), DYNC_OK);
        dync_on_error(NULL, NULL);
        dync_set_stance(NULL);
    }
}
TEST(nothing_is_freed_under_a_call_as_written)
{
    as_written(false);
    as_written(true);
}
TEST(nothing_stays_of_calls_as_written)
{
    dync_set_stance("force_eager");
    stays_nothing(whole, 2);
    dync_set_stance(NULL);
}
static dync_tensor *out_of_scopes(dync_tensor *x)
{
    DYNC_SCOPE {
        dync_tensor *y = dync_escape(dync_add(dync_mul(x, 2), 1));
        DYNC_SCOPE {
            (void)dync_neg(y);
            return y;
        }
    }
    return NULL;
}
TEST(return_out_of_scopes)
{
    static const char *const backends[] = {"eager", "inductor"};
    for (int k = 0; k < 2; k++) {
        dync_tensor *x = dync_ones(dync_shape(4));
        dync_compiled *f = dync_compile(out_of_scopes, .backend = backends[k]);
        int64_t tensors = 0;
        for (int i = 0; i < 4; i++) DYNC_SCOPE {
            EXPECT(same(dync_call(f, x), dync_full(dync_shape(4), 3.0), 0));
            if (i == 1) tensors = dync_memory_stats().live_tensors;
            if (i > 1) EXPECT_EQ_INT(dync_memory_stats().live_tensors, tensors);
        }
        dync_compiled_free(f);
    }
}

/* ---- a library that is gone ------------------------------------------------------------------ */
#if defined(__linux__)
#include <dlfcn.h>
static dync_tensor *times_two(dync_tensor *x) { return dync_mul(x, 2); }
/* Its function calls back: it needs no symbols of this program. */
static const char library[] =
    "struct t; typedef struct t *(*fn)(struct t *);\n"
    "fn back;\n"
    "const char *name = \"from_a_library\";\n"
    "struct t *from_a_library(struct t *x) { struct t *y = back(x); return back(y); }\n";
TEST(the_library_of_the_function_is_unloaded)
{
    FILE *c = fopen("test_left_lib.c", "wb");
    REQUIRE(c != NULL);
    fputs(library, c);
    fclose(c);
    const char *cc = getenv("CC") && *getenv("CC") ? getenv("CC") : "cc";
    char command[512];
    snprintf(command, sizeof command,
             "%s -shared -fPIC -o test_left_lib.so test_left_lib.c 2>/dev/null", cc);
    bool built = system(command) == 0;
    remove("test_left_lib.c");
    void *lib = built ? dlopen("./test_left_lib.so", RTLD_NOW) : NULL;
    remove("test_left_lib.so");
    if (!lib) return; /* no compiler here */
    dync_tensor *(*fn)(dync_tensor *), *(**back)(dync_tensor *), *x = dync_ones(dync_shape(3));
    *(void **)&fn = dlsym(lib, "from_a_library");
    *(void **)&back = dlsym(lib, "back");
    const char **name = dlsym(lib, "name");
    REQUIRE(fn && back && name);
    *back = times_two;
    dync_compile_options options = {.name = *name, .args = *name};
    dync_compiled *f = dync_compile_opt(dync_fn1(fn), *name, options);
    EXPECT(same(dync_call(f, x), dync_full(dync_shape(3), 4.0), 0));
    dlclose(lib);
    EXPECT_EQ_INT(dync_compiled_info(f).entries, 1);
    EXPECT(same(dync_call(f, x), dync_full(dync_shape(3), 4.0), 0)); /* by its code */
    dync_compiled_free(f);
    EXPECT_EQ_INT(dync_error(), DYNC_OK);
    EXPECT(dync_call(f, x) == NULL);
    dync_clear_error();
}
#endif

/* ---- small stacks ---------------------------------------------------------------------------- */
static dync_tensor *layers(dync_tensor *x)
{
    dync_tensor *y = dync_softmax(dync_relu(x), -1);
    y = dync_layer_norm(y, dync_shape(8), NULL, NULL, 1e-5);
    return dync_sum(dync_mul(y, dync_exp(x)), DYNC_ALL, false);
}
static dync_tensor *products(dync_tensor *x)
{
    return layers(dync_matmul(x, dync_ones(dync_shape(8, 8))));
}
static dync_tensor *(*on_stack)(dync_tensor *);
static void *on_a_small_stack(void *ok)
{
    dync_tensor *x = dync_requires_grad_(dync_randn(dync_shape(4, 8)), true),
                *y = dync_requires_grad_(dync_clone(dync_detach(x)), true);
    dync_compiled *f = dync_compile(on_stack), *g = dync_compile(on_stack, .fullgraph = true);
    bool good = true;
    for (int i = 0; i < 3; i++) good = good && same(dync_call(f, x), on_stack(y), 1e-5);
    good = good && dync_backward(dync_call(f, x)) == DYNC_OK;
    good = good && dync_backward(on_stack(y)) == DYNC_OK;
    good = good && same(dync_grad(x), dync_grad(y), 1e-4) && dync_call(g, x) != NULL;
    if (on_stack == products) {
        dync_explain_output o = dync_explain(on_stack, x);
        good = good && dync_explain_str(&o) && o.graph_count == 1;
    }
    good = good && dync_str(x) != NULL;
    good = good && dync_argsort(dync_rand(dync_shape(9000)), 0, false) != NULL;
    (void)dync_set_stance("force_eager");
    good = good && dync_call(f, x) != NULL;
    (void)dync_set_stance(NULL);
    good = good && dync_compiled_info(f).entries == 1;
    dync_compiled_free(f), dync_compiled_free(g);
    *(bool *)ok = good;
    return NULL;
}
static bool fits_in(size_t room, dync_tensor *(*fn)(dync_tensor *))
{
    /* unoptimised and instrumented frames are larger */
#if !defined(__OPTIMIZE__) || defined(TEST_ASAN) || defined(TEST_TSAN)
    room *= 8;
#endif
    bool ok = false;
    pthread_attr_t attr;
    pthread_t thread;
    on_stack = fn;
    bool made = pthread_attr_init(&attr) == 0 && pthread_attr_setstacksize(&attr, room) == 0 &&
                pthread_create(&thread, &attr, on_a_small_stack, &ok) == 0;
    if (made) pthread_join(thread, NULL);
    pthread_attr_destroy(&attr);
    return ok;
}
TEST(thirty_two_kilobytes_are_enough) { EXPECT(fits_in(32 << 10, layers)); }
TEST(sixty_four_with_products_and_explain) { EXPECT(fits_in(64 << 10, products)); }
TEST_MAIN
