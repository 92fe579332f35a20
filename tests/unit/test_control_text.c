/* Graphs with functions inside as text: the C form by hand, back again, every function of random
 * nested programs; what the parser refuses. */
#define TEST_AFTER_EACH dync_shutdown()
#include "dync.in.h"
#include "graph/graph.h"
#include "test.h"
#include "../random/control.h"

static dync_value sine(const dync_value *a, int n, void *user)
{
    (void)n, (void)user;
    return dync_tuple(dync_sin(dync_as_tensor(a[0])));
}
static dync_value cosine(const dync_value *a, int n, void *user)
{
    (void)n, (void)user;
    dync_tensor *c = dync_cos(dync_as_tensor(a[1]));
    return dync_tuple(dync_mul(c, 2));
}
static dync_value choose(const dync_value *a, int n, void *user)
{
    (void)n, (void)user;
    return dync_cond(dync_as_tensor(a[0]), sine, cosine, dync_tuple(a[1], a[2]));
}

TEST(reads_as_c)
{
    dync_value in[3] = {DYNC_V(dync_gt(dync_zeros(DYNC_SCALAR), 0)),
                        DYNC_V(dync_zeros(dync_shape(3))), DYNC_V(dync_ones(dync_shape(3)))};
    dync_graph *g = dync_make_graph_values(dync_args(choose, "p, x, y"), "choose", 3, in);
    REQUIRE_OK(dync_error());
    EXPECT_EQ_STR(
        dync_graph_str(g),
        "static dync_value choose_true_graph_0(const dync_value *dync_args, int dync_nargs, "
        "void *dync_user)\n"
        "{\n"
        "    (void)dync_args, (void)dync_nargs, (void)dync_user;\n"
        "    dync_tensor *arg = dync_as_tensor(dync_args[0]);  /* f32[3] */\n"
        "    (void)dync_args[1];  /* arg_1: f32[3] */\n"
        "    dync_tensor *sin = dync_sin(arg);  /* f32[3] */\n"
        "    return dync_tuple(sin);\n"
        "}\n"
        "\n"
        "static dync_value choose_false_graph_0(const dync_value *dync_args, int dync_nargs, "
        "void *dync_user)\n"
        "{\n"
        "    (void)dync_args, (void)dync_nargs, (void)dync_user;\n"
        "    (void)dync_args[0];  /* arg: f32[3] */\n"
        "    dync_tensor *arg_1 = dync_as_tensor(dync_args[1]);  /* f32[3] */\n"
        "    dync_tensor *cos = dync_cos(arg_1);  /* f32[3] */\n"
        "    dync_tensor *mul = dync_mul(cos, 2);  /* f32[3] */\n"
        "    return dync_tuple(mul);\n"
        "}\n"
        "\n"
        "dync_value choose(dync_tensor *p_1  /* b8[] */\n"
        "    , dync_tensor *x_1  /* f32[3] */\n"
        "    , dync_tensor *y_1)  /* f32[3] */\n"
        "{\n"
        "    dync_tensor *cond = dync_as_tensor(dync_at(dync_cond(p_1, choose_true_graph_0, "
        "choose_false_graph_0, dync_tuple(x_1, y_1)), 0));  /* f32[3] */\n"
        "    return dync_tuple(cond);\n"
        "}\n");
}

static bool close_to(dync_value a, dync_value b)
{
    if (a.kind == DYNC_KIND_TENSOR && b.kind == DYNC_KIND_TENSOR) return dync_equal(a.as.t, b.as.t);
    bool same = a.kind == b.kind && dync_len(a) == dync_len(b);
    for (int i = 0; same && i < dync_len(a); i++) same = close_to(dync_at(a, i), dync_at(b, i));
    return same;
}

/* print(parse(print(g))) == print(g), and both compute the same. */
static bool round_trip(dync_graph *graph, const dync_value *args, int n)
{
    char *text = dync_graph_str(graph);
    dync__graph *back = dync__graph_parse(text);
    bool ok = EXPECT(back != NULL) &&
              EXPECT_EQ_STR(dync_graph_str(dync__graph_handle(back)), text) &&
              EXPECT_OK(dync__graph_check_types(back, NULL)) &&
              EXPECT(close_to(dync_graph_run(graph, args, n),
                              dync_graph_run(dync__graph_handle(back), args, n))) &&
              EXPECT_OK(dync_error());
    if (!ok) printf("%s\n", text);
    dync__graph_unref(back);
    return ok;
}

TEST(random_programs_come_back)
{
    for (int i = 0; i < test_count(60); i++) DYNC_SCOPE {
        random_seed = test__state.seed * 1000 + (uint64_t)i;
        dync_value in = random_inputs(i), args[2] = {dync_at(in, 0), dync_at(in, 1)};
        dync_graph *g = dync_make_graph_values(DYNC_FN(random_fn), "random", 2, args), *fw = NULL;
        REQUIRE_OK(dync_error());
        if (!round_trip(g, args, 2)) break;
        REQUIRE_OK(dync_aot_export(g, args, 2, false, &fw));
        if (!round_trip(fw, args, 2)) break;
        dync_graph_free(fw);
    }
}

/* Every random program's text is C that a compiler takes without a warning. */
TEST(compiles_as_c)
{
    char path[128], command[400];
    const char *cc = getenv("CC"), *dir = getenv("TMPDIR");
    dync__str s = {0};
    dync__str_add(&s, "#include \"dync.h\"\n");
    for (int i = 0; i < 8; i++) DYNC_SCOPE {
        random_seed = test__state.seed * 1000 + (uint64_t)i;
        dync_value in = random_inputs(i), args[2] = {dync_at(in, 0), dync_at(in, 1)};
        char name[32];
        snprintf(name, sizeof name, "random_%d", i);
        dync_graph *g = dync_make_graph_values(DYNC_FN(random_fn), name, 2, args);
        REQUIRE_OK(dync_error());
        dync__str_addf(&s, "%s\n", dync_graph_str(g));
    }
    snprintf(path, sizeof path, "%s/dync_text_%d.c", dir ? dir : "/tmp",
             (int)(test_random() % 100000000));
    FILE *f = fopen(path, "w");
    REQUIRE(f != NULL);
    fputs(dync__str_get(&s), f);
    fclose(f);
    dync__str_free(&s);
    snprintf(command, sizeof command, "%s -std=c11 -Wall -Wextra -Werror -I. -fsyntax-only %s",
             cc ? cc : "cc", path);
    EXPECT_EQ_INT(system(command), 0);
    remove(path);
}

TEST(draws_functions_as_clusters)
{
    dync_value in[3] = {DYNC_V(dync_gt(dync_zeros(DYNC_SCALAR), 0)),
                        DYNC_V(dync_zeros(dync_shape(3))), DYNC_V(dync_ones(dync_shape(3)))};
    dync_graph *g = dync_make_graph_values(dync_args(choose, "p, x, y"), "choose", 3, in);
    REQUIRE_OK(dync_error());
    char *dot = dync_graph_dot(g);
    EXPECT(strstr(dot, "    n3 [label=\"cond\\nf32[3]\"];\n    { n0; n1; n2; } -> n3;\n"
                       "    subgraph \"cluster_n3_1_\" {\n        label=\"true_graph_0\";\n"
                       "        n3_1_n0 [label=\"arg\\nf32[3]\", style=filled") != NULL);
    EXPECT(strstr(dot, "        { n3_1_n0; } -> n3_1_n2;\n") != NULL);
    EXPECT(strstr(dot, "    }\n    n3_2_n4 -> n3 [style=dashed];\n") != NULL);
}

/* ---- what is refused ------------------------------------------------------------------------- */
#define HEAD                                                              \
    "(const dync_value *dync_args, int dync_nargs, void *dync_user)\n{\n" \
    "    (void)dync_args, (void)dync_nargs, (void)dync_user;\n"
#define TAKES_X "    dync_tensor *x = dync_as_tensor(dync_args[0]);  /* f32[3] */\n"
#define SINE "    dync_tensor *sin = dync_sin(x);  /* f32[3] */\n    return dync_tuple(sin);\n}\n"
#define FN_(name) "static dync_value " name HEAD TAKES_X SINE
#define MAIN "dync_value f(dync_tensor *p  /* b8[] */\n    , dync_tensor *x)  /* f32[3] */\n{\n"
#define COND(a, b)                                                       \
    "    dync_tensor *c = dync_as_tensor(dync_at(dync_cond(p, " a ", " b \
    ", dync_tuple(x)), 0));  /* f32[3] */\n    return dync_tuple(c);\n}\n"

TEST(refuses)
{
    static const struct {
        const char *text, *why; /* NULL: taken */
    } rows[] = {
        {FN_("a") FN_("b") MAIN COND("a", "b"), NULL},
        {FN_("a") FN_("b") MAIN COND("a", "a"), "for the first time"},
        {FN_("a") FN_("b") MAIN COND("a", "c"), "for the first time"},
        {FN_("a") FN_("a") MAIN COND("a", "a"), "no function before this has"},
        {FN_("a") FN_("b") FN_("d") MAIN COND("a", "b"), "every function"},
        {MAIN COND("a", "b") FN_("a") FN_("b"), "for the first time"},
        {FN_("a") "static dync_value b" HEAD TAKES_X COND("a", "b"), "an argument"},
        {FN_("a") "static dync_value b" HEAD
                  "    dync_tensor *x = dync_as_tensor(dync_args[1]);  /* f32[3] */\n" SINE MAIN
                      COND("a", "b"),
         "the next input"},
        {FN_("a") "static dync_value b" HEAD
                  "    dync_tensor *x = dync_as_tensor(dync_args[0]);  /* f32[3]; attr w */\n" SINE
                      MAIN COND("a", "b"),
         "no attribute"},
        {FN_("a") "static dync_value b" HEAD TAKES_X "    return x;\n}\n" MAIN COND("a", "b"),
         "does not give a list of tensors"},
        {FN_("a") "static dync_value b" HEAD TAKES_X
                  "    dync_tensor *w = dync_constant((float[]){1}, dync_shape(1));  /* f32[1] */\n"
                  "    return dync_tuple(w);\n}\n" MAIN COND("a", "b"),
         "no tensor given to it"},
        {FN_("a") "static dync_value b" HEAD TAKES_X
                  "    return dync_tuple(x, x);\n}\n" MAIN COND("a", "b"),
         "another number of outputs"},
    };
    for (int i = 0; i < (int)(sizeof rows / sizeof *rows); i++) {
        dync__graph *g = dync__graph_parse(rows[i].text);
        bool ok = rows[i].why ? EXPECT(!g) && EXPECT_EQ_INT(dync_error(), DYNC_ERR_FORMAT) &&
                                    EXPECT(strstr(dync_error_message(), rows[i].why) != NULL)
                              : EXPECT(g != NULL);
        if (!ok) printf("    text %d: %s\n", i, dync_error_message());
        dync__graph_unref(g);
        dync_clear_error();
    }
}

/* Functions inside functions end: text that says more is refused, not run out of stack. */
TEST(refuses_what_is_too_deep)
{
    for (int depth = 8; depth <= 40; depth += 32) {
        dync__str s = {0};
        dync__str_add(&s, FN_("a0"));
        for (int i = 1; i < depth; i++)
            dync__str_addf(&s,
                           "static dync_value b%d" HEAD TAKES_X SINE
                           "static dync_value a%d" HEAD TAKES_X
                           "    dync_tensor *p = dync_any(x, DYNC_ALL, false);  /* b8[] */\n"
                           "    dync_tensor *c = dync_as_tensor(dync_at(dync_cond(p, a%d, b%d, "
                           "dync_tuple(x)), 0));  /* f32[3] */\n    return dync_tuple(c);\n}\n",
                           i, i, i - 1, i);
        dync__str_addf(&s,
                       FN_("z") MAIN
                       "    dync_tensor *c = dync_as_tensor(dync_at(dync_cond(p, "
                       "a%d, z, dync_tuple(x)), 0));  /* f32[3] */\n    return dync_tuple(c);\n}\n",
                       depth - 1);
        dync__graph *g = dync__graph_parse(dync__str_get(&s));
        EXPECT((g != NULL) == (depth == 8));
        if (depth > 8) EXPECT(strstr(dync_error_message(), "less deep") != NULL);
        dync__graph_unref(g);
        dync__str_free(&s);
        dync_clear_error();
    }
}

/* Every prefix and random changes of a text: refused or parsed, never a crash. */
TEST(survives)
{
    static const char text[] = FN_("a") FN_("b") MAIN COND("a", "b");
    char copy[sizeof text];
    for (size_t n = 0; n < sizeof text; n++) {
        memcpy(copy, text, n);
        copy[n] = 0;
        dync__graph_unref(dync__graph_parse(copy));
        dync_clear_error();
    }
    for (int i = 0; i < test_count(20000); i++) {
        memcpy(copy, text, sizeof text);
        for (int k = 0; k < 3; k++)
            copy[test_random() % (sizeof text - 1)] = text[test_random() % (sizeof text - 1)];
        dync__graph *g = dync__graph_parse(copy);
        if (g) (void)dync__graph_check_types(g, NULL);
        dync__graph_unref(g);
        dync_clear_error();
    }
}
TEST_MAIN
