/* Bad input to the public functions of compile.h, graph.h, debug.h and program.h: NULL, wrong
 * counts and kinds, long lists, unknown names. Each is an error that says what was expected, and
 * the next correct call works. */
#define TEST_AFTER_EACH dync_shutdown()
#include "counter.h"

static void quiet(dync_status status, const char *message, void *user)
{
    (void)status, (void)message, (void)user;
}
static dync_tensor *twice(dync_tensor *x) { return dync_mul(x, 2); }
static dync_tensor *sum2(dync_tensor *x, dync_tensor *y) { return dync_add(x, y); }
static dync_value sum_all(const dync_value *a, int n, void *user)
{
    dync_tensor *s = dync_zeros(dync_shape(2));
    (void)user;
    for (int i = 0; i < n; i++) s = dync_add(s, a[i]);
    return DYNC_V(s);
}

static void still_works(const char *text, int line)
{
    dync_clear_error();
    dync_compiled *f = dync_compile(twice);
    dync_tensor *y = dync_call(f, dync_ones(dync_shape(2)));
    test__expect(y && dync_item(dync_select(y, 0, 1)) == 2 && dync_error() == DYNC_OK, __FILE__,
                 line, text);
    dync_compiled_free(f);
    dync_clear_error();
}
#define BAD(expr, status, part)                                               \
    do {                                                                      \
        dync_clear_error();                                                   \
        dync_on_error(quiet, NULL);                                           \
        (void)(expr);                                                         \
        test__eq_int(dync_error(), status, __FILE__, __LINE__, #expr);        \
        test__has_str(dync_error_message(), part, __FILE__, __LINE__, #expr); \
        still_works(#expr, __LINE__);                                         \
    } while (0)
/* NULL where NULL is allowed, or a harmless call: no error, no crash. */
#define FINE(expr)                                                      \
    do {                                                                \
        dync_clear_error();                                             \
        (void)(expr);                                                   \
        test__eq_int(dync_error(), DYNC_OK, __FILE__, __LINE__, #expr); \
    } while (0)

static dync_tensor *null_fn(dync_tensor *x)
{
    (void)x;
    return NULL;
}

TEST(compile)
{
    dync_tensor *(*none)(dync_tensor *) = NULL;
    dync_backend empty = {0};
    BAD(dync_compile(none), DYNC_ERR_VALUE, "NULL");
    BAD(dync_compile((dync_module *)NULL), DYNC_ERR_VALUE, "NULL");
    BAD(dync_compile((dync_compiled *)NULL), DYNC_ERR_VALUE, "NULL");
    BAD(dync_compile((dync_graph *)NULL), DYNC_ERR_VALUE, "NULL");
    BAD(dync_compile((dync_program *)NULL), DYNC_ERR_VALUE, "NULL");
    BAD(dync_compile(twice, .backend = "no such"), DYNC_ERR_VALUE, "no such");
    BAD(dync_compile(twice, .backend = ""), DYNC_ERR_VALUE, "inductor");
    BAD(dync_compile(twice, .backend_object = &empty), DYNC_ERR_VALUE, "compile");
    BAD(dync_compile(twice, .recompile_limit = -3), DYNC_ERR_VALUE, "-3");
    BAD(dync_module_compile((dync_module *)NULL), DYNC_ERR_VALUE, "NULL");
    FINE(dync_compiled_free(NULL));
    BAD(dync_compile(twice, .options = "nonsense=1"), DYNC_ERR_VALUE,
        "backend 'inductor' has no option 'nonsense'; it has: opt_level");
    BAD(dync_compile(twice, .options = "partition=maybe"), DYNC_ERR_VALUE,
        "option 'partition': expected min_cut or default, got 'maybe'");
    BAD(dync_compile(twice, .options = "winograd=3"), DYNC_ERR_VALUE,
        "option 'winograd': expected a number from 2 to 4 in steps of 2, got '3'");
    BAD(dync_compile(twice, .options = "no_fuse, threads=many"), DYNC_ERR_VALUE,
        "option 'threads': expected a number from 0 to 1048576, got 'many'");
    BAD(dync_compile(twice, .options = "threads=-1"), DYNC_ERR_VALUE,
        "option 'threads': expected a number");
    EXPECT(dync_compile(twice, .options = "winograd=2, threads=1, opt_level=0") != NULL);
    BAD(dync_compile(twice, .options = "fast_math=maybe"), DYNC_ERR_VALUE,
        "backend 'inductor': option 'fast_math': expected true or false, got 'maybe'");
    BAD(dync_compile(twice, .options = "threads"), DYNC_ERR_VALUE,
        "option 'threads': expected a number from 0 to 1048576, got no value");
    BAD(dync_compile(twice, .options = "threads="), DYNC_ERR_VALUE,
        "option 'threads': expected a number from 0 to 1048576, got ''");
    BAD(dync_compile(twice, .options = "threads=1.5"), DYNC_ERR_VALUE, "got '1.5'");
    BAD(dync_compile(twice, .options = "threads=2, no_fuse, threads=3"), DYNC_ERR_VALUE,
        "option 'threads' stands there twice");
    BAD(dync_compile(twice, .options = "no_fuse threads=2"), DYNC_ERR_VALUE,
        "has no option 'no_fuse threads'");
    BAD(dync_compile(twice, .options = "fuse"), DYNC_ERR_VALUE,
        "\n  autotune: true, false or a path of less than 512 characters (");
    BAD(dync_compile(twice, .options = "memory_budget=nan"), DYNC_ERR_VALUE,
        "option 'memory_budget': expected a number from 0 to 1, got 'nan'");
    BAD(dync_compile(twice, .options = "opt_level=4"), DYNC_ERR_VALUE,
        "option 'opt_level': expected a number from 0 to 3, got '4'");
    BAD(dync_compile(twice, .backend = "onnxrt", .options = "thread=1"), DYNC_ERR_VALUE,
        "backend 'onnxrt' has no option 'thread'; it has: opt_level, threads, providers");
    BAD(dync_compile(twice, .backend = "tvm", .options = "scheduler=auto"), DYNC_ERR_VALUE,
        "option 'scheduler': expected none, got 'auto'");
    BAD(dync_compile(twice, .backend = "dynamo_minifier_backend", .options = "compiler=eager"),
        DYNC_ERR_VALUE, "it has: compiler_name");
    EXPECT(dync_compile(
               twice, .options = " fast_math = off ,, autotune = a file.txt, cudagraphs=false,") !=
           NULL);
    BAD(dync_compile(twice, .backend = "aot_eager", .options = "no_fuse"), DYNC_ERR_VALUE,
        "backend 'aot_eager' has no option 'no_fuse'");
    BAD(dync_compile(twice, .args = "x, y"), DYNC_ERR_VALUE,
        "dync_compile: twice: .args: expected 1 name, got 2: 'x, y'");
    BAD(dync_compile(twice, .args = ",,, ,"), DYNC_ERR_VALUE, ".args: expected 1 name, got 0");
    BAD(dync_compile(dync_args(twice, "x, y")), DYNC_ERR_VALUE, ".args: expected 1 name, got 2");
    BAD(dync_compile(twice, .args = "2x"), DYNC_ERR_VALUE, "got '2x'");
    dync_tensor *ones = dync_ones(dync_shape(2));
    BAD(dync_export(dync_args(twice, "x, y"), ones), DYNC_ERR_VALUE,
        "dync_export: twice: .args: expected 1 name, got 2: 'x, y'");
    BAD(dync_export_step(dync_args(twice, "2x"), ones), DYNC_ERR_VALUE,
        "dync_export_step: twice: .args: expected names \"x, y\", got '2x'");
    BAD(dync_compile(sum2, .args = "x;y"), DYNC_ERR_VALUE, "expected names \"x, y\", got 'x;y'");
    BAD(dync_compile(sum2, .args = "x, y, x"), DYNC_ERR_VALUE, "got 'x' twice in 'x, y, x'");
    BAD(dync_compile(twice, .symbolic = "nobody"), DYNC_ERR_VALUE,
        ".symbolic: expected names of arguments (arg0, arg1, ... where .args names none), got "
        "'nobody'");
    BAD(dync_compile(sum2, .args = "x, y", .symbolic = "y, z"), DYNC_ERR_VALUE,
        ".symbolic: expected names of arguments (x, y), got 'z'");
    BAD(dync_compile(twice, .dynamic = (dync_dynamic)77), DYNC_ERR_VALUE,
        "dynamic is 77, expected DYNC_DYNAMIC_AUTO");
    dync_compiled *f = dync_compile(twice, .symbolic = "arg0", .name = "");
    FINE(dync_call(f, dync_ones(dync_shape(2))));
    dync_compiled_free(f);
}

TEST(calls)
{
    dync_compiled *f = dync_compile(sum2), *g = dync_compile(sum_all), *h = dync_compile(null_fn);
    dync_tensor *x = dync_ones(dync_shape(2)), *out = dync_zeros(dync_shape(2));
    static dync_value many[1100];
    for (int i = 0; i < 1100; i++) many[i] = DYNC_V(x);
    BAD(dync_call(NULL, x), DYNC_ERR_VALUE, "NULL");
    BAD(dync_call_values(f, 1, many), DYNC_ERR_VALUE, "2");
    BAD(dync_call_values(f, 0, NULL), DYNC_ERR_VALUE, "2");
    BAD(dync_call_values(f, -1, many), DYNC_ERR_VALUE, "-1");
    BAD(dync_call_values(g, -1, many), DYNC_ERR_VALUE, "-1");
    BAD(dync_call_values(g, 2, NULL), DYNC_ERR_VALUE, "NULL");
    BAD(dync_call_values(f, 2, NULL), DYNC_ERR_VALUE, "NULL");
    BAD(dync_call(f, x, 3), DYNC_ERR_VALUE, "tensor");
    BAD(dync_call(f, x, "text"), DYNC_ERR_VALUE, "tensor");
    BAD(dync_call(f, x, (dync_tensor *)NULL), DYNC_ERR_VALUE, "NULL");
    BAD(dync_call(h, x), DYNC_ERR_VALUE, "");
    FINE(dync_call_values(g, 64, many));
    EXPECT_NEAR(dync_item(dync_select(dync_as_tensor(dync_call_values(g, 64, many)), 0, 0)), 64, 0);
    BAD(dync_call_values(g, 513, many), DYNC_ERR_VALUE, "512");
    BAD(dync_call_values(g, 600, many), DYNC_ERR_VALUE, "512");
    for (int i = 0; i < 1100; i++) many[i] = DYNC_V(i);
    BAD(dync_call_values(g, 1100, many), DYNC_ERR_VALUE, "arguments");
    dync_value deep = DYNC_V(x);
    for (int i = 0; i < 40; i++) deep = dync_tuple(deep);
    BAD(dync_call_values(g, 1, &deep), DYNC_ERR_VALUE, "16");
    dync_value list = dync_tuple_of(200, many);
    BAD(dync_call_values(g, 1, &list), DYNC_ERR_VALUE, "");
    BAD(dync_call_into(NULL, out, x, x), DYNC_ERR_VALUE, "NULL");
    BAD(dync_call_into(f, dync_zeros(dync_shape(3)), x, x), DYNC_ERR_SHAPE, "");
    BAD(dync_call_into(f, dync_tuple(out, out), x, x), DYNC_ERR_VALUE, "result");
    BAD(dync_call_into(f, DYNC_NONE, x, x), DYNC_ERR_VALUE, "result");
    BAD(dync_call_into(f, (dync_tensor *)NULL, x, x), DYNC_ERR_VALUE, "NULL");
    FINE(dync_call_into(f, out, x, x));
    EXPECT_NEAR(dync_item(dync_select(out, 0, 0)), 2, 0);
    dync_compiled_free(f);
    dync_compiled_free(g);
    dync_compiled_free(h);
}

/* ---- inside ---------------------------------------------------------------------------------- */
static int what;
static dync_value inside(const dync_value *a, int n, void *user)
{
    static dync_value many[600];
    dync_tensor *x = dync_as_tensor(a[0]);
    (void)n, (void)user;
    for (int i = 0; i < 600; i++) many[i] = a[0];
    switch (what) {
    case 0: return dync_frame_values(dync_fn1(NULL), "none", 1, a);
    case 1: return dync_frame_values(dync_fn1(twice), "twice", 2, a);
    case 2: return dync_frame_values(dync_fn1(twice), "twice", -1, a);
    case 3: return dync_frame_values(dync_fnv(sum_all), "sum", 3, NULL);
    case 4: return dync_frame_values(dync_disable(sum_all), "sum", 600, many);
    case 5: dync_guard_int("k", NULL); return a[0];
    case 6: dync_guard_tensor("k", NULL); return a[0];
    case 7: dync_mark_dynamic(x, 9); return a[0];
    case 8: dync_dim(x, 9); return a[0];
    case 9: dync_dim_lt(NULL, 0, 1); return a[0];
    case 10: return dync_op_call_values("no such operator", 1, a);
    case 11: return dync_frame_values(dync_fn1(twice), NULL, 1, (dync_value[]){DYNC_V(3)});
    case 12: return dync_call_value(NULL, x);
    case 13: {
        dync_value deep = a[0];
        for (int i = 0; i < 40; i++) deep = dync_tuple(deep);
        return deep;
    }
    default: return DYNC_V(dync_matmul(x, NULL));
    }
}
/* What does not fit a call is told with the caller's place. */
static dync_compiled *endless_f;
static dync_tensor *endless(dync_tensor *x) { return dync_add(dync_call(endless_f, x), 1); }
static int countdown_left;
static dync_tensor *countdown(dync_tensor *x)
{
    return countdown_left-- > 0 ? dync_call(endless_f, dync_add(x, 1)) : x;
}

#define PLACED(expr, status, part)                                             \
    do {                                                                       \
        char place[64];                                                        \
        snprintf(place, sizeof place, "test_misuse.c:%d)", __LINE__);          \
        dync_clear_error();                                                    \
        dync_on_error(quiet, NULL);                                            \
        (void)(expr);                                                          \
        test__has_str(dync_error_message(), place, __FILE__, __LINE__, #expr); \
        BAD(expr, status, part);                                               \
    } while (0)

TEST(calls_that_do_not_fit_name_their_place)
{
    dync_tensor *x = dync_ones(dync_shape(2)), *null = NULL;
    dync_compiled *f = dync_compile(twice), *g = dync_compile(sum2), *n = dync_compile(null_fn),
                  *none = NULL;
    dync_tensor *gone;
    DYNC_SCOPE gone = dync_ones(dync_shape(2));
    for (int warm = 0; warm < 2; warm++) {
        /* one line each: compilers differ in which line a call of several has */
        /* clang-format off */
        PLACED(dync_call(none, x), DYNC_ERR_VALUE, "dync_call: the compiled function is NULL (");
        PLACED(dync_call(f, x, x), DYNC_ERR_VALUE, "twice takes 1 argument, got 2 (");
        PLACED(dync_call0(f), DYNC_ERR_VALUE, "twice takes 1 argument, got 0 (");
        PLACED(dync_call(f, null), DYNC_ERR_VALUE, "twice: argument 1: expected a tensor, got NULL (");
        PLACED(dync_call(g, x, 3), DYNC_ERR_VALUE, "sum2: argument 2: expected a tensor, got an int (");
        PLACED(dync_call(g, x, gone), DYNC_ERR_VALUE, "sum2: tensor used after its scope ended: made by ones at ");
        PLACED(dync_call_value(g, "a", x), DYNC_ERR_VALUE, "sum2: argument 1: expected a tensor, got a string (");
        PLACED(dync_call(n, x), DYNC_ERR_VALUE, "dync_call: expected null_fn to return a tensor, got none (");
        /* clang-format on */
        EXPECT(dync_call(f, x) && dync_call(g, x, x));
    }
    dync_compiled_free(f), dync_compiled_free(g), dync_compiled_free(n);
}

TEST(what_was_freed_names_the_place_of_the_call)
{
    dync_module *m = dync_nn_linear(2, 2, true);
    dync_compiled *f = dync_compile(m);
    dync_module_free(m);
    dync_tensor *x = dync_ones(dync_shape(1, 2));
    /* clang-format off */
    PLACED(dync_call(f, x), DYNC_ERR_VALUE, "dync_call: m was compiled from a module that has been freed (");
    /* clang-format on */
    dync_compiled_free(f);
}
static dync_tensor *exporting(dync_tensor *x)
{
    dync_program_free(dync_export(twice, x));
    return dync_add(x, 1);
}
TEST(an_export_inside_a_traced_function)
{
    dync_compiled *f = dync_compile(exporting);
    dync_tensor *x = dync_ones(dync_shape(2));
    BAD(dync_call(f, x), DYNC_ERR_UNSUPPORTED, "twice is exported inside a traced function");
    EXPECT(exporting(x) != NULL);
    dync_compiled_free(f);
}

static dync_tensor *placed(dync_tensor *x, dync_tensor *at) { return dync_scatter(x, 0, at, 1.0); }
static dync_tensor *added(dync_tensor *x, dync_tensor *at)
{
    return dync_index_add(x, 0, at, dync_ones(dync_shape(2)));
}
TEST(places_that_are_not_there_name_their_line)
{
    dync_compiled *f[] = {dync_compile(placed), dync_compile(added)};
    dync_tensor *x = dync_ones(dync_shape(3)),
                *at = dync_from((int64_t[]){1, 5}, dync_shape(2), .dtype = DYNC_I64);
    for (int k = 0; k < 2; k++) {
        BAD(dync_call(f[k], x, at), DYNC_ERR_INDEX, "index 5 is out of bounds");
        dync_call(f[k], x, at);
        EXPECT_HAS_STR(dync_error_message(), "(" __FILE__ ":");
        dync_clear_error();
        dync_compiled_free(f[k]);
    }
}
TEST(a_function_that_calls_itself_without_end)
{
    dync_tensor *x = dync_ones(dync_shape(2));
    endless_f = dync_compile(endless);
    for (int i = 0; i < 2; i++)
        BAD(dync_call(endless_f, x), DYNC_ERR_VALUE, "does the function call itself without end?");
    dync_compiled_free(endless_f);
    endless_f = dync_compile(countdown);
    countdown_left = 60;
    dync_tensor *y = dync_call(endless_f, x);
    EXPECT(y && dync_item(dync_select(y, 0, 0)) == 61);
    dync_compiled_free(endless_f);
}

TEST(inside_a_traced_function)
{
    static const char *const texts[] = {
        "NULL",   "1",    "-1", "NULL", "600", "NULL", "NULL", "9", "9", "NULL", "no such operator",
        "tensor", "NULL", "16", "NULL"};
    for (int traced = 1; traced >= 0; traced--)
        for (what = 0; what < 15; what++) {
            if (!traced && (what == 13 || what == 4)) continue; /* fine outside */
            dync_compiled *f = dync_compile(inside);
            dync_tensor *x = dync_ones(dync_shape(2));
            dync_value arg = DYNC_V(x);
            dync_clear_error();
            dync_on_error(quiet, NULL);
            dync_value r = traced ? dync_call_values(f, 1, &arg) : inside(&arg, 1, NULL);
            if (traced) EXPECT_EQ_INT(r.kind, DYNC_KIND_NONE);
            if (!EXPECT(dync_error() != DYNC_OK) ||
                !EXPECT_HAS_STR(dync_error_message(), texts[what]))
                printf("    case %d, traced %d\n", what, traced);
            still_works("inside", __LINE__);
            dync_compiled_free(f);
        }
}
/* What does not fit is told with the sizes of this call, also where the graph's are symbols; those
 * that data decide have names alone. */
static dync_tensor *product_of(dync_tensor *x, dync_tensor *y) { return dync_matmul(x, y); }
static dync_tensor *stack_of(dync_tensor *x, dync_tensor *y)
{
    return dync_stack(dync_tuple(dync_relu(x), y), 0);
}
static dync_tensor *places_of(dync_tensor *x, dync_tensor *y)
{
    return dync_gather(y, 0, dync_to_dtype(dync_masked_select(x, dync_gt(x, 0)), DYNC_I64));
}
TEST(sizes_are_those_of_the_call)
{
    dync_compile_options o = {.dynamic = DYNC_DYNAMIC_ON, .capture_dynamic_shapes = true};
    dync_tensor *x = dync_ones(dync_shape(5, 6)), *y = dync_ones(dync_shape(7, 8));
    BAD(dync_call(dync_compile_opt(DYNC_FN(product_of), "f", o), x, y), DYNC_ERR_SHAPE,
        "f32[5, 6] x f32[7, 8]: inner sizes 6 and 7 differ");
    BAD(dync_call(dync_compile_opt(DYNC_FN(stack_of), "f", o), x, y), DYNC_ERR_SHAPE,
        "[5, 6] and [7, 8]");
    dync_compiled *f = dync_compile_opt(DYNC_FN(product_of), "f", o);
    EXPECT(dync_call(f, x, dync_ones(dync_shape(6, 2))) != NULL);
    BAD(dync_call(f, dync_ones(dync_shape(9, 4)), x), DYNC_ERR_SHAPE,
        "f32[9, 4] x f32[5, 6]: inner sizes 4 and 5 differ");
    dync_compiled_free(f);
    o.fullgraph = true;
    BAD(dync_call(dync_compile_opt(DYNC_FN(places_of), "f", o), x, y), DYNC_ERR_SHAPE,
        "[u0] and [7, 8]");
}
TEST(outside_of_a_traced_function)
{
    int64_t k = 3;
    dync_tensor *x = dync_ones(dync_shape(2));
    FINE(dync_graph_break(NULL));
    FINE(dync_guard_int("k", &k));
    FINE(dync_guard_int(NULL, &k));
    FINE(dync_guard_tensor(NULL, &x));
    FINE(dync_mark_dynamic(x, 0));
    FINE(dync_reset());
    FINE(dync_remove_callback(12345));
    FINE(dync_remove_callback(-1));
    EXPECT(!dync_is_compiling());
    BAD(dync_on_compile_start(NULL, NULL), DYNC_ERR_VALUE, "NULL");
    BAD(dync_on_compile_end(NULL, NULL), DYNC_ERR_VALUE, "NULL");
    EXPECT(dync_frame(twice, x) != NULL);
}

/* ---- graphs ---------------------------------------------------------------------------------- */
static dync_graph *some_graph(void)
{
    return dync_make_graph(sum2, dync_ones(dync_shape(2)), dync_ones(dync_shape(2)));
}
static bool pick_all(const dync_node *n, void *user)
{
    (void)n, (void)user;
    return true;
}
TEST(graphs)
{
    dync_graph *g = some_graph(), *parts[8];
    dync_tensor *x = dync_ones(dync_shape(2));
    dync_value args[2] = {DYNC_V(x), DYNC_V(x)};
    int n = 8;
    REQUIRE(g);
    BAD(dync_graph_len(NULL), DYNC_ERR_VALUE, "NULL");
    BAD(dync_graph_node(NULL, 0), DYNC_ERR_VALUE, "NULL");
    BAD(dync_graph_node(g, -1), DYNC_ERR_INDEX, "-1");
    BAD(dync_graph_node(g, 4), DYNC_ERR_INDEX, "4");
    BAD(dync_node_op(NULL), DYNC_ERR_VALUE, "NULL");
    BAD(dync_node_target(NULL), DYNC_ERR_VALUE, "NULL");
    BAD(dync_node_name(NULL), DYNC_ERR_VALUE, "NULL");
    BAD(dync_node_inputs(NULL, NULL, 0), DYNC_ERR_VALUE, "NULL");
    EXPECT_EQ_INT(dync_node_inputs(dync_graph_node(g, 2), NULL, 0), 2);
    EXPECT_EQ_INT(dync_node_inputs(dync_graph_node(g, 2), NULL, -5), 2);
    BAD(dync_graph_str(NULL), DYNC_ERR_VALUE, "NULL");
    BAD(dync_graph_readable(NULL), DYNC_ERR_VALUE, "NULL");
    BAD(dync_graph_run(NULL, args, 2), DYNC_ERR_VALUE, "NULL");
    BAD(dync_graph_run(g, args, 1), DYNC_ERR_VALUE, "2");
    BAD(dync_graph_run(g, NULL, 2), DYNC_ERR_VALUE, "arguments");
    BAD(dync_graph_run(g, args, -2), DYNC_ERR_VALUE, "");
    BAD(dync_graph_run(g, (dync_value[]){DYNC_V(x), DYNC_V("text")}, 2), DYNC_ERR_VALUE, "");
    BAD(dync_graph_run(g, (dync_value[]){DYNC_V(x), DYNC_V((dync_tensor *)NULL)}, 2),
        DYNC_ERR_VALUE, "NULL");
    FINE(dync_graph_free(NULL));
    FINE(dync_graph_retain(NULL));
    BAD(dync_graph_split(NULL, pick_all, NULL, parts, &n), DYNC_ERR_VALUE, "NULL");
    BAD(dync_graph_split(g, NULL, NULL, parts, &n), DYNC_ERR_VALUE, "NULL");
    BAD(dync_graph_split(g, pick_all, NULL, NULL, &n), DYNC_ERR_VALUE, "NULL");
    BAD(dync_graph_split(g, pick_all, NULL, parts, NULL), DYNC_ERR_VALUE, "NULL");
    BAD(dync_make_graph((dync_tensor * (*)(dync_tensor *)) NULL, x), DYNC_ERR_VALUE, "NULL");
    BAD(dync_make_graph_values(dync_fn2(sum2), NULL, 1, args), DYNC_ERR_VALUE, "2");
    BAD(dync_make_graph_values(dync_fn2(sum2), "sum2", 2, NULL), DYNC_ERR_VALUE, "NULL");
    BAD(dync_make_graph(null_fn, x), DYNC_ERR_UNSUPPORTED, "no");
    BAD(dync_named(NULL, NULL), DYNC_OK, "");
    FINE(dync_named("y", x));
    FINE(dync_named(NULL, x));
}
static dync_status no_compile(dync_graph *g, const dync_value *ex, int n, const char *options,
                              dync_callable *out, void *user)
{
    (void)g, (void)ex, (void)n, (void)options, (void)out, (void)user;
    return DYNC_ERR_RUNTIME;
}
TEST(backends)
{
    dync_callable code;
    dync_graph *g = some_graph();
    dync_tensor *x = dync_ones(dync_shape(2));
    dync_value args[2] = {DYNC_V(x), DYNC_V(x)};
    BAD(dync_register_backend(NULL), DYNC_ERR_VALUE, "NULL");
    BAD(dync_register_backend(&(dync_backend){.compile = no_compile}), DYNC_ERR_VALUE, "name");
    BAD(dync_register_backend(&(dync_backend){.name = "", .compile = no_compile}), DYNC_ERR_VALUE,
        "name");
    BAD(dync_register_backend(&(dync_backend){.name = "mine"}), DYNC_ERR_VALUE, "compile");
    BAD(dync_register_backend(&(dync_backend){.name = "eager", .compile = no_compile}),
        DYNC_ERR_VALUE, "eager");
    FINE(dync_register_backend(&(dync_backend){.name = "mine", .compile = no_compile}));
    BAD(dync_register_backend(&(dync_backend){.name = "mine", .compile = no_compile}),
        DYNC_ERR_VALUE, "mine");
    BAD(dync_lookup_backend(NULL), DYNC_ERR_VALUE, "inductor");
    BAD(dync_lookup_backend("nobody"), DYNC_ERR_VALUE, "nobody");
    EXPECT(dync_list_backends(NULL, NULL, 0) > 3);
    EXPECT(dync_list_backends("", NULL, -1) > 3);
    BAD(dync_compile_graph("eager", NULL, args, 2, &code), DYNC_ERR_VALUE, "NULL");
    BAD(dync_compile_graph("eager", g, args, 2, NULL), DYNC_ERR_VALUE, "NULL");
    BAD(dync_compile_graph("nobody", g, args, 2, &code), DYNC_ERR_VALUE, "nobody");
    BAD(dync_compile_graph("inductor", g, NULL, 2, &code), DYNC_ERR_VALUE, "NULL");
    BAD(dync_compile_graph("inductor", g, args, 1, &code), DYNC_ERR_VALUE, "2");
    BAD(dync_aot_autograd(NULL, NULL), DYNC_ERR_VALUE, "NULL");
    dync_backend nothing = dync_aot_autograd(NULL, NULL);
    dync_clear_error();
    dync_compiled *f = dync_compile(sum2, .backend_object = &nothing);
    BAD(dync_call(f, x, x), DYNC_ERR_BACKEND, "NULL");
    dync_compiled_free(f);
    /* a callable used directly */
    if (EXPECT_OK(dync_compile_graph("inductor", g, args, 2, &code))) {
        BAD(code.run(code.state, args, 1), DYNC_ERR_VALUE, "2");
        BAD(code.run(code.state, (dync_value[]){DYNC_V(1), DYNC_V(2)}, 2), DYNC_ERR_VALUE,
            "tensor");
        BAD(code.run(code.state, (dync_value[]){DYNC_V(x), DYNC_V((dync_tensor *)NULL)}, 2),
            DYNC_ERR_VALUE, "NULL");
        BAD(code.run(code.state, (dync_value[]){DYNC_V(x), DYNC_V(dync_ones(dync_shape(7)))}, 2),
            DYNC_ERR_VALUE, "7");
        BAD(code.run(code.state,
                     (dync_value[]){DYNC_V(x), DYNC_V(dync_ones(dync_shape(2), .dtype = DYNC_F64))},
                     2),
            DYNC_ERR_VALUE, "float64");
        FINE(code.run(code.state, args, 2));
        if (code.destroy) code.destroy(code.state);
    }
}

/* ---- debug and programs ---------------------------------------------------------------------- */
TEST(explain_and_settings)
{
    dync_tensor *x = dync_ones(dync_shape(2));
    dync_value arg = DYNC_V(x);
    BAD(dync_explain((dync_tensor * (*)(dync_tensor *)) NULL, x), DYNC_ERR_VALUE, "NULL");
    BAD(dync_explain(sum2, x), DYNC_ERR_VALUE, "2");
    BAD(dync_explain_values(dync_fnv(sum_all), NULL, -1, &arg), DYNC_ERR_VALUE, "-1");
    BAD(dync_explain_values(dync_fnv(sum_all), "f", 2, NULL), DYNC_ERR_VALUE, "NULL");
    BAD(dync_explain_str(NULL), DYNC_ERR_VALUE, "NULL");
    BAD(dync_explain_html(NULL, "x.html"), DYNC_ERR_VALUE, "NULL");
    dync_explain_output o = dync_explain(twice, x), zero;
    memset(&zero, 0, sizeof zero);
    BAD(dync_explain_html(&o, NULL), DYNC_ERR_VALUE, "NULL");
    BAD(dync_explain_html(&o, "/nowhere/at/all.html"), DYNC_ERR_IO, "/nowhere");
    FINE(dync_explain_str(&zero));
    BAD(dync_config_set(NULL, "1"), DYNC_ERR_VALUE, "NULL");
    BAD(dync_config_set("nothing", "1"), DYNC_ERR_VALUE, "nothing");
    BAD(dync_config_set("repro_after", NULL), DYNC_ERR_VALUE, "");
    FINE(dync_set_log(NULL));
    FINE(dync_set_log(""));
    FINE(dync_set_log("nonsense"));
    FINE(dync_set_log(NULL));
}
static dync_tensor *breaks(dync_tensor *x)
{
    return dync_mul(x, dync_item(dync_sum(x, DYNC_ALL, false)));
}
TEST(programs)
{
    dync_tensor *x = dync_ones(dync_shape(2));
    dync_value args[2] = {DYNC_V(x), DYNC_V(x)};
    dync_program *p = dync_export(sum2, x, x);
    REQUIRE(p);
    BAD(dync_export((dync_tensor * (*)(dync_tensor *)) NULL, x), DYNC_ERR_VALUE, "NULL");
    BAD(dync_export(sum2, x), DYNC_ERR_VALUE, "2");
    BAD(dync_export(sum2, x, 3), DYNC_ERR_VALUE, "tensor");
    BAD(dync_export_values(dync_fn2(sum2), NULL, 2, NULL), DYNC_ERR_VALUE, "NULL");
    BAD(dync_export_values(dync_fnv(sum_all), NULL, -2, args), DYNC_ERR_VALUE, "-2");
    BAD(dync_export(breaks, x), DYNC_ERR_UNSUPPORTED, "item");
    BAD(dync_export(null_fn, x), DYNC_ERR_UNSUPPORTED, "no");
    BAD(dync_program_run(NULL, 2, args), DYNC_ERR_VALUE, "NULL");
    BAD(dync_program_run(p, 1, args), DYNC_ERR_VALUE, "2");
    BAD(dync_program_run(p, 2, NULL), DYNC_ERR_VALUE, "no arguments");
    BAD(dync_program_run(p, -1, args), DYNC_ERR_VALUE, "");
    BAD(dync_program_run(p, 2, (dync_value[]){DYNC_V(x), DYNC_V(dync_ones(dync_shape(3)))}),
        DYNC_ERR_SHAPE, "3");
    BAD(dync_program_run(
            p, 2, (dync_value[]){DYNC_V(x), DYNC_V(dync_ones(dync_shape(2), .dtype = DYNC_F64))}),
        DYNC_ERR_DTYPE, "f64");
    BAD(dync_program_run(p, 2, (dync_value[]){DYNC_V(x), DYNC_V(1)}), DYNC_ERR_VALUE, "");
    BAD(dync_program_run(p, 2, (dync_value[]){DYNC_V(x), DYNC_V((dync_tensor *)NULL)}),
        DYNC_ERR_VALUE, "NULL");
    BAD(dync_program_save(NULL, "p.dync"), DYNC_ERR_VALUE, "NULL");
    BAD(dync_program_save(p, NULL), DYNC_ERR_VALUE, "NULL");
    BAD(dync_program_save(p, "/nowhere/p.dync"), DYNC_ERR_IO, "/nowhere");
    BAD(dync_program_save_c(NULL, "p.c"), DYNC_ERR_VALUE, "NULL");
    BAD(dync_program_save_c(p, NULL), DYNC_ERR_VALUE, "NULL");
    BAD(dync_program_save_c(p, "/nowhere/p.c"), DYNC_ERR_IO, "/nowhere");
    BAD(dync_program_load(NULL), DYNC_ERR_VALUE, "NULL");
    BAD(dync_program_load("/nowhere/p.dync"), DYNC_ERR_IO, "/nowhere");
    BAD(dync_npy_save(NULL, "x.npy"), DYNC_ERR_VALUE, "NULL");
    BAD(dync_npy_save(x, NULL), DYNC_ERR_VALUE, "NULL");
    BAD(dync_npy_load(NULL), DYNC_ERR_VALUE, "NULL");
    FINE(dync_program_free(NULL));
    FINE(dync_program_run(p, 2, args));
    dync_program_free(p);
}
/* ---- every error names the line of the user's call: of functions that are no operators too, and
 * of what modules do inside */
static int net_line; /* of the call that fails */
static dync_tensor *net_forward(dync_module *m, dync_tensor *x)
{
    net_line = __LINE__ + 1;
    return dync_forward_call(dync_module_child(m, "a"), x);
}
enum { READS_SIZE = __LINE__ + 1 };
static dync_tensor *reads_size(dync_tensor *x) { return dync_size(x, 7) ? x : NULL; }
#define HERE_AT(expr, line)                                                            \
    do {                                                                               \
        char place[64];                                                                \
        dync_clear_error();                                                            \
        (void)(expr);                                                                  \
        snprintf(place, sizeof place, "test_misuse.c:%d)", line);                      \
        test__has_str(dync_error_message(), place, __FILE__, __LINE__, #expr);         \
        const char *first = strstr(dync_error_message(), "test_misuse.c");             \
        test__expect(first && !strstr(first + 1, "test_misuse.c"), __FILE__, __LINE__, \
                     "the place stands there once: " #expr);                           \
    } while (0)
#define HERE(expr) HERE_AT(expr, __LINE__)
/* The text is upstream's, then what there is: for use, for debugging, none that is there to
 * fail. */
TEST(backends_that_are_not_there)
{
    static const char *const wanted[] = {"inducter", "Eager", "aot-eager", "tensorrt", "x"},
                             *const meant[] = {"'inductor'", "'eager'", "'aot_eager'", NULL, NULL};
    char want[256];
    dync_on_error(quiet, NULL);
    for (int i = 0; i < 5; i++) {
        EXPECT(dync_compile(twice, .backend = wanted[i]) == NULL);
        EXPECT_EQ_STR(dync_error_class(), "InvalidBackend");
        snprintf(
            want, sizeof want,
            "Invalid backend: '%s', see `torch._dynamo.list_backends()` for available backends. "
            "%s%s%sThere are cudagraphs, inductor, onnxrt, tvm; "
            "for debugging aot_eager, ",
            wanted[i], meant[i] ? "Is " : "", meant[i] ? meant[i] : "", meant[i] ? " meant? " : "");
        EXPECT(strncmp(dync_error_message(), want, strlen(want)) == 0);
        EXPECT(!strstr(dync_error_message(), "TESTING_ONLY") &&
               !strstr(dync_error_message(), "minifier"));
        dync_clear_error();
    }
    dync_on_error(NULL, NULL);
    const char *names[64];
    int n = dync_list_backends("", names, 64), testing = 0;
    for (int i = 0; i < n; i++) testing += strstr(names[i], "TESTING_ONLY") != NULL;
    /* with those for debugging, not otherwise */
    EXPECT_EQ_INT(testing, 4);
    n = dync_list_backends("debug", names, 64);
    for (int i = 0; i < n; i++) EXPECT(!strstr(names[i], "TESTING_ONLY"));
}

/* A break under fullgraph: upstream's text first and unchanged, the places, once, then what
 * happened here and what to do. */
static int said_line; /* of the call that a message is to name */
#define SAYS_LINE said_line = __LINE__ + 1;
static dync_tensor *prints(dync_tensor *x)
{
    SAYS_LINE
    dync_print(x);
    return dync_relu(x);
}
static dync_tensor *says(dync_tensor *x)
{
    SAYS_LINE
    dync_host_print("hello");
    return dync_relu(x);
}
static dync_tensor *branches(dync_tensor *x)
{
    SAYS_LINE
    return dync_bool(dync_gt(dync_sum(x, DYNC_ALL, false), 0)) ? x : dync_relu(x);
}
static dync_tensor *items(dync_tensor *x)
{
    SAYS_LINE
    return dync_mul(x, dync_item(dync_sum(x, DYNC_ALL, false)));
}
static dync_tensor *finds(dync_tensor *x)
{
    SAYS_LINE
    return dync_nonzero(x);
}
static dync_tensor *texts(dync_tensor *x)
{
    SAYS_LINE
    return dync_str(x) ? dync_relu(x) : x;
}
TEST(breaks_under_fullgraph_speak_c)
{
    static const char print_text[] =
        "builtin: print [<class 'torch._dynamo.variables.constant.ConstantVariable'>] False";
    static const struct {
        dync_tensor *(*fn)(dync_tensor *);
        const char *text, *name, *words;
    } cases[] = {
        {prints, print_text, "prints",
         "dync_print and dync_host_print write while the function runs"},
        {says, print_text, "says", "dync_print and dync_host_print write while the function runs"},
        {branches, "generic_jump TensorVariable()", "branches",
         "dync_bool asks for a tensor's value, "
         "which decides what comes next: compute both sides and choose with dync_where"},
        {items, "Tensor.item", "items", "dync_item asks for a tensor's value: leave it a tensor"},
        {finds, "dynamic shape operator: aten.nonzero.default", "finds",
         "the shape of its result depends on values, which a graph does not have"},
        {texts, "Tensor.__repr__", "texts", "dync_str asks for a tensor's values"},
    };
    char want[1024];
    dync_on_error(quiet, NULL);
    for (int i = 0; i < 6; i++) {
        dync_compiled *f = dync_compile(cases[i].fn, .name = cases[i].name, .fullgraph = true);
        EXPECT(dync_call(f, dync_ones(dync_shape(3))) == NULL);
        EXPECT_EQ_STR(dync_error_class(), "Unsupported");
        snprintf(want, sizeof want, "%s\n\nfrom user code:\n%s:%d in %s\n\n", cases[i].text,
                 __FILE__, said_line, cases[i].name);
        EXPECT(strncmp(dync_error_message(), want, strlen(want)) == 0);
        EXPECT(strncmp(dync_error_message() + strlen(want), cases[i].words,
                       strlen(cases[i].words)) == 0);
        const char *end = strstr(dync_error_message(), ", or compile without .fullgraph");
        EXPECT(end && strlen(end) == strlen(", or compile without .fullgraph"));
        dync_clear_error();
        dync_compiled_free(f);
    }
    dync_on_error(NULL, NULL);
}

/* What newcomers do: upstream's sentence where there is one, then what to do in C; the place is
 * that of this call and not of one before. */
static dync_value gives_two(const dync_value *a, int n, void *user)
{
    (void)n, (void)user;
    return dync_tuple(a[0], 3);
}
static dync_tensor *asks_size(dync_tensor *x) { return dync_add(x, (double)dync_size(x, 0)); }
static dync_tensor *asks_data(dync_tensor *x) { return dync_data(x) ? x : dync_relu(x); }
TEST(mistakes_of_newcomers)
{
    dync_tensor *x = dync_randn(dync_shape(3, 4)),
                *leaf = dync_randn(dync_shape(3), .requires_grad = true),
                *marked = dync_randn(dync_shape(3));
    dync_compiled *two = dync_compile(gives_two), *once = dync_compile(twice),
                  *size = dync_compile(asks_size, .fullgraph = true);
    BAD(dync_backward(leaf), DYNC_ERR_AUTOGRAD,
        "grad can be implicitly created only for scalar outputs: this one has 3 elements. Sum "
        "it, or give its gradient to dync_backward_with");
    BAD(dync_backward(dync_sum(x, DYNC_ALL, false)), DYNC_ERR_AUTOGRAD,
        "does not have a grad_fn: nothing it was computed from is a dync_parameter or was made "
        "with .requires_grad");
    BAD(dync_add_(leaf, 1), DYNC_ERR_AUTOGRAD,
        "add_: a leaf Variable that requires grad is being used in an in-place operation. Write "
        "it inside of DYNC_NO_GRAD");
    BAD(dync_item(x), DYNC_ERR_VALUE,
        "a Tensor with 12 elements cannot be converted to Scalar: select one");
    BAD(dync_reshape(x, dync_shape(-1, -1)), DYNC_ERR_SHAPE,
        "shape [-1, -1]: only one dimension can be -1");
    BAD(dync_call(two, x), DYNC_ERR_VALUE,
        "expected gives_two to return a tensor, got a list: dync_call_value gives whatever it is");
    BAD(dync_call(once, x, x), DYNC_ERR_VALUE, "twice takes 1 argument, got 2");
    dync_tensor *q = dync_call(once, leaf);
    dync_value g = dync_gradients(DYNC_V(dync_sum(dync_mul(q, q), DYNC_ALL, false)), DYNC_V(leaf),
                                  DYNC_NONE, (dync_grad_options){.create_graph = true});
    BAD(dync_gradients(DYNC_V(dync_sum(dync_as_tensor(dync_at(g, 0)), DYNC_ALL, false)),
                       DYNC_V(leaf), DYNC_NONE, (dync_grad_options){0}),
        DYNC_ERR_AUTOGRAD,
        "torch.compile with aot_autograd does not currently support double backward: compile "
        "with .double_backward = true");
    dync_mark_dynamic(marked, 0);
    BAD(dync_call(size, marked), DYNC_ERR_VALUE,
        "dync_dim in shapes and dync_dim_lt, dync_dim_gt in tests leave it open");
    dync_tensor *r = dync_retain(dync_mul(x, 1));
    dync_release(r);
    BAD(dync_release(r), DYNC_ERR_VALUE, "released more often than retained");
    dync_clear_error();
    dync_release(r);
    /* the line of the release at hand, not of an earlier error */
    EXPECT(strstr(dync_error_message(), "test_misuse.c") != NULL);
    dync_clear_error();
    dync_compiled_free(two), dync_compiled_free(once), dync_compiled_free(size);
}
/* Who follows the NULL of dync_data dies before the error is shown: it is told at once. */
/* Of a size that is symbolic the message tells what it is now. */
static dync_tensor *asks_all(dync_tensor *x) { return dync_bool(dync_gt(x, 0)) ? x : NULL; }
static dync_tensor *reads_all(dync_tensor *x)
{
    return dync_mul(x, dync_item(dync_to_dtype(x, DYNC_I64)));
}
TEST(questions_about_many_values)
{
    dync_tensor *(*const fn[2])(dync_tensor *) = {asks_all, reads_all};
    for (int k = 0; k < 2; k++) {
        char plain[256];
        dync_on_error(quiet, NULL);
        (void)fn[k](dync_ones(dync_shape(3, 4)));
        snprintf(plain, sizeof plain, "%s", dync_error_message());
        EXPECT_HAS_STR(plain, k ? "a Tensor with 12 elements" : "more than one value");
        for (int dynamic = 0; dynamic < 2; dynamic++) {
            dync_compiled *f =
                dync_compile(fn[k], .dynamic = dynamic ? DYNC_DYNAMIC_ON : DYNC_DYNAMIC_OFF);
            BAD(dync_call(f, dync_ones(dync_shape(3, 4))), DYNC_ERR_VALUE, plain);
            dync_compiled_free(f);
        }
    }
}

TEST(data_of_a_graph_is_told_at_once)
{
    char said[2048] = "";
    REQUIRE(freopen("test_misuse.log", "wb", stderr) != NULL);
    dync_on_error(quiet, NULL);
    dync_compiled *f = dync_compile(asks_data, .fullgraph = true);
    EXPECT(dync_call(f, dync_ones(dync_shape(3))) == NULL);
    EXPECT_EQ_INT(dync_error(), DYNC_ERR_DATA_PTR);
    EXPECT_HAS_STR(
        dync_error_message(),
        "into an opaque custom op.\ndync_data gives NULL here: while a graph is made its tensors "
        "hold no elements.");
    dync_clear_error();
    dync_compiled_free(f);
    fflush(stderr);
    FILE *log = fopen("test_misuse.log", "rb");
    REQUIRE(log != NULL);
    said[fread(said, 1, sizeof said - 1, log)] = 0;
    fclose(log);
    remove("test_misuse.log");
    EXPECT_HAS_STR(said, "dync_data gives NULL at tests/capture/test_misuse.c:");
}

/* What an operator of the user's gives is read out of its schema, not searched for there. */
static dync_value gives_its_argument(const dync_value *a, int n, void *user)
{
    (void)n, (void)user;
    return a[0];
}
TEST(schemas_of_operators)
{
    static const char *const bad[] = {
        "(Tensor x) -> int",      "(Tensor x) -> TensorList",
        "(Tensor x) -> Tensor[]", "(Tensor x) -> (Tensor, int)",
        "(Tensor x) -> (Tensor",  "(Tensor x) -> Tensor Tensor Tensor",
        "(Tensor x) ->",          "(Tensor x) -> (Tensor,)"};
    static const char *const good[] = {"(Tensor x) -> Tensor", "(Tensor x) -> Tensor(a)",
                                       "(Tensor x) -> ( Tensor out , Tensor other )",
                                       "(Tensor(a!) x) -> ()", "(Tensor x)"};
    char name[32];
    dync_on_error(quiet, NULL);
    for (int i = 0; i < (int)(sizeof bad / sizeof *bad); i++) {
        snprintf(name, sizeof name, "test::bad%d", i);
        BAD(dync_op_register(name, bad[i], gives_its_argument, gives_its_argument, NULL),
            DYNC_ERR_VALUE, "each a Tensor");
    }
    for (int i = 0; i < (int)(sizeof good / sizeof *good); i++) {
        snprintf(name, sizeof name, "test::good%d", i);
        EXPECT_OK(dync_op_register(name, good[i], gives_its_argument, gives_its_argument, NULL));
    }
    dync_on_error(NULL, NULL);
}

TEST(places)
{
    dync_tensor *x = dync_ones(dync_shape(2, 3)),
                *leaf = dync_ones(dync_shape(3), .requires_grad = true);
    dync_on_error(quiet, NULL);
    HERE(dync_size(x, 5));
    HERE(dync_stride(x, 5));
    HERE(dync_zeros(dync_shape(-1)));
    HERE(dync_full(dync_shape(-1), 2, .dtype = DYNC_I64));
    HERE(dync_from(NULL, dync_shape(2)));
    HERE(dync_zeros(dync_shape(1), .dtype = DYNC_I64, .requires_grad = true));
    HERE(dync_arange(0, 1, 0));
    HERE(dync_backward(x));
    HERE(dync_backward_opt(dync_tuple(x, x), DYNC_NONE,
                           (dync_grad_options){.retain_graph = true, .create_graph = true}));
    HERE(dync_gradients(DYNC_V(dync_sum(leaf, DYNC_ALL, false)), DYNC_V(x), DYNC_NONE,
                        (dync_grad_options){0}));
    HERE((dync_set_grad(leaf, x), 0));
    HERE((dync_print(NULL), 0));
    HERE(dync_allclose(x, dync_ones(dync_shape(7)), 1, 1));
    HERE(dync_at(dync_tuple(x, x), 5));
    HERE(dync_to_dtype(x, (dync_dtype)99));
    HERE(dync_split(x, -3, 0));
    HERE(dync_optim_step(NULL));
    HERE(dync_compile(twice, .backend_object = &(dync_backend){0}));
    dync_module *linear = dync_nn_linear(4, 4, true),
                *net = dync_module_new("Net", net_forward, NULL);
    HERE(dync_forward_call(linear, x));
    HERE(dync_module_call(linear, x, x));
    dync_module *conv = dync_nn_conv2d(1, 1, 3, 1, 0, true);
    HERE(dync_forward_call(conv, x));
    dync_module_free(conv);
    dync_module_add(net, "a", linear);
    HERE_AT(dync_forward_call(net, x), net_line);
    dync_compiled *f = dync_compile(reads_size);
    HERE_AT(dync_call(f, x), READS_SIZE);
    dync_compiled_free(f);
    dync_module_free(net);
    dync_clear_error();
    dync_on_error(NULL, NULL);
}

/* A value from outside that has a history is no leaf, whatever the tape of a step takes it for. */
static dync_tensor *writes_and_keeps(dync_tensor *x)
{
    dync_tensor *y = dync_exp(x);
    dync_retain_grad(y);
    return dync_add(y, dync_mul_(x, 2.0));
}
TEST(a_write_of_what_has_a_history_in_a_step)
{
    dync_on_error(quiet, NULL);
    dync_compiled *f = dync_compile(writes_and_keeps, .fullgraph = true);
    dync_tensor *leaf = dync_ones(dync_shape(3), .requires_grad = true);
    BAD(dync_call(f, dync_mul(leaf, 1.0)), DYNC_ERR_UNSUPPORTED, "that has a history");
    BAD(dync_call(f, leaf), DYNC_ERR_AUTOGRAD, "a leaf Variable that requires grad");
    dync_compiled_free(f);
    dync_on_error(NULL, NULL);
}

/* Which of both a message blames does not depend on the tape, which is on or off as it walks. */
static dync_tensor *steps_from_nothing(dync_tensor *x)
{
    dync_tensor *loss = dync_sum(x, DYNC_ALL, false);
    if (dync_backward(loss) != DYNC_OK) return NULL;
    return loss;
}
static dync_tensor *asks_again(dync_tensor *x)
{
    dync_value g = dync_gradients(DYNC_V(dync_sum(x, DYNC_ALL, false)), DYNC_V(x), DYNC_NONE,
                                  (dync_grad_options){.create_graph = true});
    return dync_as_tensor(dync_at(g, 0));
}
TEST(gradients_of_what_has_no_history)
{
    dync_tensor *x = dync_ones(dync_shape(3)), *w = dync_ones(dync_shape(3), .requires_grad = true);
    for (int k = 0; k < 3; k++) {
        dync_compiled *f = dync_compile(steps_from_nothing, .fullgraph = k == 1),
                      *g = dync_compile(asks_again, .fullgraph = k == 1);
        BAD(k ? dync_call(f, x) : steps_from_nothing(x), DYNC_ERR_AUTOGRAD,
            "nothing it was computed");
        BAD(k ? dync_call(g, x) : asks_again(x), DYNC_ERR_AUTOGRAD, "nothing it was computed");
        DYNC_NO_GRAD {
            BAD(k ? dync_call(f, w) : steps_from_nothing(w), DYNC_ERR_AUTOGRAD,
                "gradients are off");
            BAD(k ? dync_call(g, w) : asks_again(w), DYNC_ERR_AUTOGRAD, "gradients are off");
        }
        dync_compiled_free(f);
        dync_compiled_free(g);
    }
    dync_clear_error();
    dync_on_error(NULL, NULL);
}

/* An index outside is an error in compiled code as it is in eager, in short and long indices, and
 * disturbs no later call. */
static dync_tensor *wide_of(dync_tensor *x, dync_tensor *i)
{
    return dync_expand(dync_unsqueeze(x, 0), dync_shape(dync_size(i, 0), 3));
}
static dync_tensor *gathers(dync_tensor *x, dync_tensor *i)
{
    SAYS_LINE
    return dync_mul(dync_gather(x, 0, i), 2);
}
static dync_tensor *selects(dync_tensor *x, dync_tensor *i)
{
    SAYS_LINE
    return dync_exp(dync_index_select(x, 0, i));
}
static dync_tensor *embeds(dync_tensor *x, dync_tensor *i)
{
    SAYS_LINE
    return dync_embedding(dync_unsqueeze(x, 1), i);
}
static dync_tensor *one_hots(dync_tensor *x, dync_tensor *i)
{
    SAYS_LINE
    return dync_matmul(dync_to_dtype(dync_one_hot(i, 3), DYNC_F32), x);
}
static dync_tensor *losses(dync_tensor *x, dync_tensor *i)
{
    SAYS_LINE
    return dync_cross_entropy(wide_of(x, i), i);
}
static dync_tensor *picked(dync_tensor *x, dync_tensor *i)
{
    SAYS_LINE
    return dync_nll_loss(wide_of(x, i), i);
}
/* Loops that do nothing else look at the index themselves: wherever it stands, in eager and
 * compiled, on several threads. */
static dync_tensor *row_embeds(dync_tensor *x, dync_tensor *i) { return dync_embedding(x, i); }
static dync_tensor *row_selects(dync_tensor *x, dync_tensor *i)
{
    return dync_index_select(x, 0, i);
}
static dync_tensor *column_selects(dync_tensor *x, dync_tensor *i)
{
    return dync_index_select(dync_t(x), 1, i);
}
static dync_tensor *element_gathers(dync_tensor *x, dync_tensor *i)
{
    return dync_gather(x, 0, dync_expand(dync_unsqueeze(i, 1), dync_shape(dync_size(i, 0), 5)));
}
static dync_tensor *row_gathers(dync_tensor *x, dync_tensor *i)
{
    return dync_gather(dync_t(x), 1, dync_reshape(i, dync_shape(1, -1)));
}
TEST(indices_outside_of_rows)
{
    dync_tensor *(*const fns[])(dync_tensor *, dync_tensor *) = {
        row_embeds, row_selects, column_selects, element_gathers, row_gathers};
    dync_on_error(quiet, NULL);
    for (int k = 0; k < 10; k++)
        for (int n = 3; n < 70000; n *= 150) DYNC_SCOPE {
            dync_tensor *(*fn)(dync_tensor *, dync_tensor *) = fns[k % 5];
            dync_compiled *f = dync_compile(fn, .dynamic = DYNC_DYNAMIC_OFF);
            dync_tensor *x = dync_reshape(
                            dync_to_dtype(dync_arange(0, 7 * 24, 1), k % 2 ? DYNC_F32 : DYNC_I64),
                            dync_shape(7, 24)),
                        *y;
            dync_tensor *i =
                dync_to_dtype(dync_remainder(dync_arange(0, n, 1), 7), k < 3 ? DYNC_I32 : DYNC_I64);
            for (int times = 0; times < 3; times++) {
                for (int at = 0; at < n; at += n / 2)
                    for (int64_t bad = -1; bad <= 7; bad += 8) {
                        dync_tensor *j = dync_clone(i);
                        dync_fill_(dync_select(j, 0, at), bad);
                        EXPECT((times == 1 ? fn(x, j) : dync_call(f, x, j)) == NULL);
                        EXPECT_EQ_INT(dync_error(), DYNC_ERR_INDEX);
                        EXPECT(strstr(dync_error_message(),
                                      bad < 0
                                          ? "index -1 is out of bounds for dimension with size 7"
                                          : "index 7 is out"));
                        dync_clear_error();
                    }
                EXPECT((y = times == 1 ? fn(x, i) : dync_call(f, x, i)) != NULL);
                EXPECT_OK(dync_error());
                EXPECT(dync_item(dync_select(dync_reshape(y, dync_shape(-1)), 0, -1)) ==
                       (k % 5 == 3   ? (n - 1) % 7 * 24 + 4
                        : k % 5 == 4 ? (n - 1) % 7 * 24
                                     : (n - 1) % 7 * 24 + 23));
            }
            dync_compiled_free(f);
        }
}
/* Loops over lines of a large table look at the index as they fetch ahead: the same error, on one
 * thread and several; what would have been written keeps its numbers. */
static dync_tensor *bags(dync_tensor *x, dync_tensor *i, dync_tensor *y)
{
    return (void)y, dync_sum(dync_embedding(x, i), dync_shape(1), false);
}
static dync_tensor *normed(dync_tensor *x, dync_tensor *i, dync_tensor *y)
{
    return (void)y,
           dync_layer_norm(dync_mul(dync_embedding(x, i), 2), dync_shape(40), NULL, NULL, 1e-5);
}
static dync_tensor *written(dync_tensor *x, dync_tensor *i, dync_tensor *y)
{
    return dync_copy_(y, dync_exp(dync_embedding(x, i)));
}
TEST(indices_outside_of_large_tables)
{
    dync_tensor *(*const fns[])(dync_tensor *, dync_tensor *, dync_tensor *) = {bags, normed,
                                                                                written};
    dync_on_error(quiet, NULL);
    for (int k = 0; k < 6; k++) DYNC_SCOPE {
        dync_compiled *f = dync_compile(fns[k % 3], .dynamic = DYNC_DYNAMIC_OFF);
        dync_tensor *x = dync_randn(dync_shape(30000, 40)),
                    *y = dync_zeros(dync_shape(700, 30, 40)), *want;
        dync_tensor *i =
            dync_reshape(dync_remainder(dync_mul(dync_arange(0, 700 * 30, 1), 7919), 30000),
                         dync_shape(700, 30));
        i = dync_to_dtype(i, k < 3 ? DYNC_I64 : DYNC_I32);
        EXPECT(dync_call(f, x, i, y) != NULL);
        dync_fill_(y, 0);
        for (int64_t at = 0; at <= 700 * 30 - 1; at += 10499)
            for (int64_t bad = -1; bad <= 30000; bad += 30001) {
                dync_tensor *j = dync_clone(i);
                dync_fill_(dync_select(dync_reshape(j, dync_shape(-1)), 0, at), bad);
                EXPECT(dync_call(f, x, j, y) == NULL);
                EXPECT_EQ_INT(dync_error(), DYNC_ERR_INDEX);
                EXPECT(strstr(dync_error_message(),
                              bad < 0 ? "index -1 is out of bounds for dimension with size 30000"
                                      : "index 30000 is out of bounds"));
                dync_clear_error();
                EXPECT(dync_item(dync_sum(y, DYNC_ALL, false)) == 0);
            }
        want = fns[k % 3](x, i, dync_zeros_like(y));
        EXPECT(dync_allclose(dync_call(f, x, i, y), want, 1e-4, 1e-4));
        EXPECT_OK(dync_error());
        dync_compiled_free(f);
    }
    dync_on_error(NULL, NULL);
}
TEST(indices_outside)
{
    dync_tensor *(*const fns[])(dync_tensor *, dync_tensor *) = {gathers,  selects, embeds,
                                                                 one_hots, losses,  picked};
    static const char *const ops[] = {
        "gather: ", "index_select: ", "embedding: ", "one_hot: ", "cross_entropy: ", "nll_loss: "};
    char place[64];
    dync_tensor *wide = dync_to_dtype(dync_arange(0, 3, 1), DYNC_F32);
    dync_on_error(quiet, NULL);
    for (int k = 0; k < 6; k++)
        for (int n = 2; n < 6000; n += 5000) {
            dync_compiled *f = dync_compile(fns[k], .dynamic = DYNC_DYNAMIC_OFF);
            dync_tensor *i = dync_zeros(dync_shape(n), .dtype = DYNC_I64);
            EXPECT(dync_call(f, wide, i) != NULL);
            for (int64_t bad = -1; bad <= 3; bad += 4) {
                dync_fill_(dync_select(i, 0, n - 1), bad);
                for (int compiled = 0; compiled < 2; compiled++) {
                    EXPECT((compiled ? dync_call(f, wide, i) : fns[k](wide, i)) == NULL);
                    EXPECT_EQ_INT(dync_error(), DYNC_ERR_INDEX);
                    EXPECT_EQ_STR(dync_error_class(), "IndexError");
                    if (k < 4)
                        EXPECT_HAS_STR(dync_error_message(),
                                       bad < 0
                                           ? "index -1 is out of bounds for dimension with size 3"
                                           : "index 3 is out of bounds");
                    else
                        EXPECT_HAS_STR(
                            dync_error_message(),
                            bad < 0
                                ? "target -1 is out of bounds: expected a class from 0 to 2, or "
                                  "-100"
                                : "target 3 is out of bounds");
                    /* the user's operator, and its line */
                    EXPECT(strncmp(dync_error_message(), ops[k], strlen(ops[k])) == 0);
                    snprintf(place, sizeof place, "test_misuse.c:%d)", said_line);
                    EXPECT_HAS_STR(dync_error_message(), place);
                    dync_clear_error();
                }
            }
            dync_fill_(i, 2);
            EXPECT(dync_call(f, wide, i) != NULL);
            EXPECT_OK(dync_error());
            dync_compiled_free(f);
        }
    dync_on_error(NULL, NULL);
}

TEST_MAIN
