/* Every public function with NULL, zero and nonsense arguments: none crashes, and the next correct
 * call works. The calls are generated from dync.h (tools/misuse.c), so that a new function is here
 * without anybody's adding it. What each error says is test_bad_input.c's. */
#include "dync.h"
#define TEST_AFTER_EACH dync_shutdown()
#include "test.h"

enum { ROUNDS = 40, BUFFER = 64 << 20 };
static dync_tensor *tensors[10], *stale; /* of every kind: the round picks */

/* Objects behind handles: live, freed, and a handle of another kind. */
#define KINDS(X) \
    X(compiled)  \
    X(module)    \
    X(graph) X(node) X(program) X(list) X(optim) X(cell) X(autograd_ctx) X(repro_reader) X(tensors)
#define X(kind) static dync_##kind *live_##kind, *dead_##kind;
KINDS(X)
#undef X
/* the test's number, so that each function meets other combinations */
static unsigned now;

static unsigned pick(int k, int i, unsigned n)
{
    unsigned x = (unsigned)k * 2654435761u + (unsigned)i * 40503u + now * 97u;
    x ^= x >> 15;
    x *= 2246822519u;
    x ^= x >> 13;
    return x % n;
}
static dync_tensor *pick_tensor(int k, int i)
{
    unsigned at = pick(k, i, 12);
    return k == 0 || at == 10 ? NULL : at == 11 ? stale : tensors[at];
}
static int64_t pick_int(int k, int i)
{
    static const int64_t numbers[] = {0,         1,         -1,        2,         7, -100,
                                      INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, 3};
    return k == 0 ? 0 : numbers[pick(k, i, sizeof numbers / sizeof numbers[0])];
}
static double pick_double(int k, int i)
{
    const double numbers[] = {0, 1, -1, (double)NAN, 1e300, (double)INFINITY, 0.5};
    return k == 0 ? 0 : numbers[pick(k, i, sizeof numbers / sizeof numbers[0])];
}
static const char *pick_text(int k, int i)
{
    static const char *const texts[] = {"", "mean", "no such thing", "%s%n", "a, b", NULL};
    return k == 0 ? NULL : texts[pick(k, i, sizeof texts / sizeof texts[0])];
}
static const char *pick_path(int k, int i)
{
    return k == 0 ? NULL : pick(k, i, 2) ? "" : "no/such/folder/file";
}
static dync_dims pick_dims(int k, int i)
{
    const dync_dims all[] = {{0, {0}},    {-1, {0}},       {99, {1}},           {1, {-1}},
                             {2, {2, 3}}, {2, {0, 1}},     {2, {INT64_MAX, 2}}, {1, {INT64_MIN}},
                             {1, {5}},    {3, {-1, -1, 1}}};
    return all[k == 0 ? 0 : pick(k, i, sizeof all / sizeof all[0])];
}
static dync_value pick_value(int k, int i)
{
    dync_value none = {0};
    switch (k == 0 ? 9u : pick(k, i, 10)) {
    case 0: return DYNC_V(1);
    case 1: return DYNC_V(-2.5);
    case 2: return DYNC_V(true);
    case 3: return DYNC_V("text");
    case 4: return dync_tuple(pick_tensor(k, i + 1), 3);
    case 5: return dync_v_list(pick(k, i + 2, 2) ? NULL : dead_list);
    case 6: return DYNC_V(INT64_MIN);
    case 7:
    case 8: return DYNC_V(pick_tensor(k, i));
    default: return none;
    }
}

#define X(kind)                                                                    \
    static dync_##kind *pick_##kind(int k, int i)                                  \
    {                                                                              \
        switch (k == 0 ? 3u : pick(k, i, 5)) {                                     \
        case 0: return dead_##kind;                                                \
        case 1: return (dync_##kind *)(void *)tensors[0];                          \
        case 2:                                                                    \
            return (dync_##kind *)(void *)(pick(k, i + 1, 2) ? (void *)live_module \
                                                             : (void *)live_list); \
        case 3: return NULL;                                                       \
        default: return live_##kind;                                               \
        }                                                                          \
    }                                                                              \
    static dync_##kind *given_##kind(int k)                                        \
    {                                                                              \
        return k == 0   ? dead_##kind                                              \
               : k == 1 ? (dync_##kind *)(void *)tensors[0]                        \
                        : (dync_##kind *)other(live_##kind);                       \
    }
static void *other(const void *not_this)
{
    return not_this == (void *)live_cell ? (void *)live_module : (void *)live_cell;
}
KINDS(X)
#undef X
static dync_tensor *twice(dync_tensor *x) { return dync_add(x, x); }
static dync_callee pick_callee(int k, int i)
{
    switch (k == 0 ? 9u : pick(k, i, 6)) {
    case 0: return DYNC_FN(twice);
    case 1: return dync_fnm(pick_module(k, i));
    case 2: return dync_fnc(pick_compiled(k, i));
    case 3: return dync_fng(pick_graph(k, i));
    case 4: return dync_fnp(pick_program(k, i));
    default: return dync_fnv(NULL);
    }
}
static dync_callee given_callee(int k)
{
    switch (k) {
    case 0: return dync_fnm(dead_module);
    case 1: return dync_fnc((dync_compiled *)(void *)tensors[0]);
    default: return dync_fng((dync_graph *)(void *)live_cell);
    }
}

#include "misuse.h"

static void quiet(dync_status status, const char *message, void *user)
{
    (void)status, (void)message, (void)user;
}

/* A context and a reader are given to functions and end with them: the last ones seen are dead. */
static dync_value keeps_context(dync_autograd_ctx *ctx, const dync_value *args, int nargs)
{
    (void)nargs;
    dead_autograd_ctx = ctx;
    return args[0];
}
static const dync_autograd_function function = {"keeps_context", keeps_context, keeps_context};
static void keeps_reader(dync_repro_reader *reader) { dead_repro_reader = reader; }
static dync_value nothing(const dync_value *args, int nargs, void *user)
{
    (void)args, (void)nargs, (void)user;
    return DYNC_V(tensors[0]);
}

static int line_made;
static void objects(void)
{
    dync_list *lists[2] = {NULL, NULL};
    DYNC_SCOPE {
        lists[0] = dync_tuple(1, 2).as.l;
        dead_graph = dync_make_graph(twice, tensors[0]);
        dead_node = dync_graph_node(dead_graph, 0);
        (void)dync_apply(&function, tensors[8]);
        char program[] = "test", *argv[] = {program, NULL};
        dync_run_repro(
            1, argv,
            (dync_repro){.mod = nothing, .load_args = keeps_reader, .load_args_version = 0});
        dync_clear_error();
    }
    lists[1] = dync_tuple(tensors[0], 3).as.l;
    dead_list = lists[0];
    live_list = lists[1];
    live_graph = dync_make_graph(twice, tensors[0]);
    live_node = dync_graph_node(live_graph, 1);
    live_module = dync_nn_linear(3, 2, true);
    dead_module = dync_nn_relu();
    dync_module_free(dead_module);
    line_made = __LINE__ + 1;
    dead_compiled = dync_compile(twice);
    live_compiled = dync_compile(twice);
    dync_compiled_free(dead_compiled);
    live_program = dync_export(twice, tensors[0]);
    dead_program = dync_export(twice, tensors[0]);
    dync_program_free(dead_program);
    live_optim = dync_sgd(live_module);
    dead_optim = dync_sgd(live_module);
    dync_optim_free(dead_optim);
    live_cell = dync_cell_new("n", DYNC_V(1));
    dead_cell = dync_cell_new("n", DYNC_V(1));
    dync_cell_free(dead_cell);
    live_tensors = dync_tensors_new();
    (void)dync_tensors_put(live_tensors, "x", tensors[0]);
    dead_tensors = dync_tensors_new();
    dync_tensors_free(dead_tensors);
    EXPECT(dead_list && live_list && dead_graph && live_graph && dead_node && live_node &&
           dead_module && live_module && dead_compiled && live_compiled);
    EXPECT(dead_program && live_program && dead_optim && live_optim && dead_cell && live_cell &&
           dead_autograd_ctx && dead_repro_reader && live_tensors && dead_tensors);
    EXPECT_OK(dync_error());
}

/* A buffer, so that a size of 2^31 is out of memory and not the machine's end; NULL: memory that
 * the address sanitizer watches. */
static bool begin(void *buffer)
{
    dync_on_error(quiet, NULL);
    if (dync_init((dync_init_options){
            .memory = buffer, .memory_size = buffer ? BUFFER : 0, .threads = 1}) != DYNC_OK) {
        /* something was retained, beyond the end of the library */
        EXPECT_HAS_STR(dync_error_message(), "dync has allocated memory already");
        dync_clear_error();
        return false;
    }
    DYNC_SCOPE {
        stale = dync_ones(dync_shape(2));
    }
    tensors[0] = dync_ones(dync_shape(2, 3));
    tensors[1] = dync_zeros(dync_shape(3, 2), .requires_grad = true);
    tensors[2] = dync_full(dync_shape(0), 1);
    tensors[3] = dync_full((dync_dims){0}, 2);
    tensors[4] = dync_ones(dync_shape(4), .dtype = DYNC_I64);
    tensors[5] = dync_ones(dync_shape(2, 3), .dtype = DYNC_BOOL);
    tensors[6] = dync_ones(dync_shape(2, 3, 4, 5));
    tensors[7] = dync_ones(dync_shape(2, 3, 4), .dtype = DYNC_F16);
    tensors[8] = dync_ones(dync_shape(3), .dtype = DYNC_F64);
    tensors[9] = dync_transpose(tensors[0], 0, 1);
    for (int i = 0; i < 10; i++) EXPECT(tensors[i] != NULL);
    objects();
    return true;
}

#include "misuse_inside.h"

/* From the table, before the library began, while it runs, after its end. */
static void misuse(void (*call)(int))
{
    void *buffer = malloc(BUFFER);
    if (!EXPECT(buffer != NULL)) return;
    called = call;
    dync_on_error(quiet, NULL);
    call(0);
    dync_shutdown();
    if (!begin(buffer)) return;
    for (int k = 0; k < ROUNDS; k++) {
        call(k);
        dync_clear_error();
    }
    dync_shutdown(); /* whatever modes, scopes and options they left */
    dync_clear_error();
    if (begin(buffer)) misuse_inside();
    dync_shutdown();
    dync_on_error(quiet, NULL);
    call(0);
    dync_clear_error();
    dync_shutdown();
    DYNC_SCOPE {
        EXPECT_NEAR(dync_item(dync_sum(dync_add(dync_ones(dync_shape(3)), 1), DYNC_ALL, false)), 6,
                    0);
    }
    EXPECT_EQ_INT(dync_error(), DYNC_OK);
    dync_shutdown();
    free(buffer);
}

/* A handle of an object that was freed, of a tensor, of another object: an error that says so, and
 * the library goes on. */
static void wrong_handle(void (*call)(int), const char *name, const char *kind)
{
    if (!EXPECT(begin(NULL))) return;
    for (int k = 0; k < 3; k++) {
        call(k);
        EXPECT_STATUS(dync_error(), DYNC_ERR_VALUE);
        bool said =
            strstr(dync_error_message(), k == 0   ? "was freed already"
                                         : k == 1 ? "got a tensor"
                                                  : "got a cell") ||
            (k == 2 && strcmp(kind, "cell") == 0 && strstr(dync_error_message(), "got a module"));
        if (!EXPECT(said))
            printf("  %s(%s): %s\n", name,
                   k == 0   ? "freed"
                   : k == 1 ? "a tensor"
                            : "another object",
                   dync_error_message());
        dync_clear_error();
    }
    dync_shutdown();
}

TEST(says_where_it_was_made)
{
    char made[400];
    if (!EXPECT(begin(NULL))) return;
    EXPECT(dync_call(dead_compiled, tensors[0]) == NULL);
    snprintf(made, sizeof made, "the compiled function was freed already: it was made at %s:%d",
             __FILE__, line_made);
    EXPECT_HAS_STR(dync_error_message(), "dync_call: ");
    EXPECT_HAS_STR(dync_error_message(), made);
    dync_clear_error();
    dync_compiled_free(dead_compiled);
    EXPECT_HAS_STR(dync_error_message(), "dync_compiled_free: ");
    EXPECT_HAS_STR(dync_error_message(), made);
    dync_clear_error();
    for (int k = 0; k < 3; k++) {
        EXPECT_EQ_INT(dync_len(dync_v_list(given_list(k))), -1);
        EXPECT_HAS_STR(dync_error_message(), k == 0 ? "dync_len: the list was freed already"
                                                    : "dync_len: expected a list, got a");
        dync_clear_error();
    }
    EXPECT(dync_cat(dync_v_list(dead_list), 0) == NULL);
    EXPECT_HAS_STR(dync_error_message(), "the list was freed already");
    dync_clear_error();
    EXPECT(dync_call(live_compiled, dync_v_list(dead_list)) == NULL);
    EXPECT(dync_error() == DYNC_ERR_VALUE);
    dync_clear_error();
    dync_graph_free(live_graph); /* the scope's, not the caller's */
    EXPECT_STATUS(dync_error(), DYNC_ERR_VALUE);
    dync_clear_error();
    EXPECT(dync_graph_len(live_graph) > 0);
    dync_shutdown();
    EXPECT(dync_call(live_compiled, NULL) == NULL); /* handles from before are dead */
    EXPECT_STATUS(dync_error(), DYNC_ERR_VALUE);
    dync_clear_error();
}

/* What was compiled from an object that is gone says so. */
TEST(compiled_from_what_is_gone)
{
    dync_on_error(quiet, NULL);
    dync_tensor *x = dync_ones(dync_shape(2, 3));
    dync_module *m = dync_nn_relu();
    dync_program *p = dync_export(twice, x);
    dync_compiled *of_module = dync_compile(m), *of_program = dync_compile(p);
    EXPECT(dync_call(of_module, x) && dync_call(of_program, x));
    dync_module_free(m);
    dync_program_free(p);
    EXPECT(dync_call(of_module, x) == NULL);
    EXPECT_HAS_STR(dync_error_message(), "was compiled from a module that has been freed");
    dync_clear_error();
    EXPECT(dync_call(of_program, dync_ones(dync_shape(4))) == NULL);
    EXPECT_HAS_STR(dync_error_message(), "was compiled from a program that has been freed");
    dync_clear_error();
}

#define X(name, kind)                              \
    TEST(handle_##name)                            \
    {                                              \
        now = (unsigned)__LINE__ + sizeof #name;   \
        wrong_handle(handle_##name, #name, #kind); \
    }
HANDLE_ALL(X)
#undef X
#define X(name)                                  \
    TEST(name)                                   \
    {                                            \
        now = (unsigned)__LINE__ + sizeof #name; \
        misuse(misuse_##name);                   \
    }
MISUSE_ALL(X)
TEST_MAIN
