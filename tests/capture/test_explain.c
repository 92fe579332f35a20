/* Pictures and pages: dync_graph_dot, dync_explain_html, the recompile history; and names of values
 * in printed graphs. */
#include "counter.h"

static dync_graph *kept;
static dync_status keep_compile(dync_graph *g, const dync_value *ex, int n, const char *options,
                                dync_callable *out, void *user)
{
    (void)ex, (void)n, (void)options, (void)user;
    if (!kept) kept = dync_graph_retain(g);
    memset(out, 0, sizeof *out);
    out->run = counter_run;
    out->state = g;
    return DYNC_OK;
}
static const dync_backend keep = {.name = "keep", .compile = keep_compile};
static char *readable_of(dync_tensor *(*fn)(dync_tensor *), dync_tensor *x)
{
    kept = NULL;
    dync_compiled *f = dync_compile(fn, .args = "x", .backend_object = &keep);
    EXPECT(same(fn(x), dync_call(f, x), 1e-6));
    dync_compiled_free(f);
    return kept ? dync_graph_readable(kept) : NULL;
}

/* ---- V19, M-15: names ------------------------------------------------------------------------ */
static dync_tensor *sines(dync_tensor *a)
{
    DYNC_LET(x, dync_sin(a));
    for (int i = 1; i < 20; i++) DYNC_SET(x, dync_sin(x));
    DYNC_SET(x, dync_relu(x));
    for (int i = 0; i < 20; i++) DYNC_SET(x, dync_cos(x));
    return x;
}
TEST(names_of_reassigned_values)
{
    char line[160];
    char *text = readable_of(sines, dync_randn(dync_shape(20, 20)));
    REQUIRE(text != NULL);
    EXPECT_EQ_INT(dync_graph_len(kept), 43);
    EXPECT_HAS_STR(text, "        x: \"f32[20, 20]\" = torch.sin(l_x_);  l_x_ = None\n");
    for (int i = 1; i < 20; i++) {
        if (i == 1)
            snprintf(line, sizeof line, "x_1: \"f32[20, 20]\" = torch.sin(x);  x = None\n");
        else
            snprintf(line, sizeof line, "x_%d: \"f32[20, 20]\" = torch.sin(x_%d);  x_%d = None\n",
                     i, i - 1, i - 1);
        EXPECT_HAS_STR(text, line);
    }
    EXPECT_HAS_STR(text, "x_20: \"f32[20, 20]\" = torch.relu(x_19);  x_19 = None\n");
    EXPECT_HAS_STR(text, "x_40: \"f32[20, 20]\" = torch.cos(x_39);  x_39 = None\n");
    EXPECT_HAS_STR(text, "return (x_40,)");
    dync_graph_free(kept);
}

static dync_tensor *plain_sines(dync_tensor *x)
{
    for (int i = 0; i < 3; i++) x = dync_sin(x);
    return dync_relu(x);
}
static dync_tensor *mixed(dync_tensor *x)
{
    DYNC_LET(hidden, dync_mul(x, 2));
    DYNC_LET(sin, dync_sin(hidden));
    dync_tensor *other = dync_sin(sin);
    /* the same value under another name: the later one counts */
    DYNC_LET(same, hidden);
    return dync_add(other, same);
}
TEST(names_without_and_with)
{
    char *text = readable_of(plain_sines, dync_randn(dync_shape(3)));
    REQUIRE(text != NULL);
    EXPECT_HAS_STR(text, "sin_2: \"f32[3]\" = torch.sin(sin_1);  sin_1 = None\n");
    EXPECT_HAS_STR(text, "relu: \"f32[3]\" = torch.relu(sin_2);  sin_2 = None\n");
    dync_graph_free(kept);
    text = readable_of(mixed, dync_randn(dync_shape(3)));
    REQUIRE(text != NULL);
    EXPECT_HAS_STR(text, "same: \"f32[3]\" = l_x_ * 2;  l_x_ = None\n");
    EXPECT_HAS_STR(text, "sin: \"f32[3]\" = torch.sin(same)\n");
    EXPECT_HAS_STR(text, "sin_1: \"f32[3]\" = torch.sin(sin);  sin = None\n");
    dync_graph_free(kept);
    DYNC_LET(eager, dync_named("again", dync_ones(dync_shape(1))));
    EXPECT(eager != NULL && dync_named("nothing", NULL) == NULL);
    EXPECT_EQ_INT(dync_error(), DYNC_OK);
}

/* ---- DOT ------------------------------------------------------------------------------------- */
TEST(dot_text)
{
    readable_of(plain_sines, dync_randn(dync_shape(3)));
    REQUIRE(kept != NULL);
    EXPECT_EQ_STR(dync_graph_dot(kept),
                  "digraph \"GraphModule\" {\n"
                  "    node [shape=box, fontname=\"monospace\", fontsize=11];\n"
                  "    n0 [label=\"L['x']\\nf32[3]\", style=filled, fillcolor=\"#dbeafe\"];\n"
                  "    n1 [label=\"sin\\nf32[3]\"];\n"
                  "    { n0; } -> n1;\n"
                  "    n2 [label=\"sin\\nf32[3]\"];\n"
                  "    { n1; } -> n2;\n"
                  "    n3 [label=\"sin\\nf32[3]\"];\n"
                  "    { n2; } -> n3;\n"
                  "    n4 [label=\"relu\\nf32[3]\"];\n"
                  "    { n3; } -> n4;\n"
                  "    n5 [label=\"output\", style=filled, fillcolor=\"#dcfce7\"];\n"
                  "    { n4; } -> n5;\n"
                  "}\n");
    dync_graph_free(kept);
    EXPECT(dync_graph_dot(NULL) == NULL);
    EXPECT_EQ_INT(dync_error(), DYNC_ERR_VALUE);
    dync_clear_error();
}

/* ---- pages ----------------------------------------------------------------------------------- */
static dync_tensor *two_parts(dync_tensor *x)
{
    dync_tensor *y = dync_add(dync_mul(x, x), x);
    dync_graph_break("a < b & \"c\"");
    return dync_softmax(dync_matmul(y, y), 1);
}
static char page[200000];
static const char *read_page(const char *path)
{
    FILE *file = fopen(path, "rb");
    size_t n = file ? fread(page, 1, sizeof page - 1, file) : 0;
    page[n] = 0;
    if (file) fclose(file);
    return page;
}
static int count(const char *text, const char *part)
{
    int n = 0;
    for (const char *p = text; (p = strstr(p, part)) != NULL; p++) n++;
    return n;
}

TEST(html_page)
{
    dync_tensor *x = dync_randn(dync_shape(4, 4));
    dync_explain_output e = dync_explain(two_parts, x);
    EXPECT_EQ_INT(e.graph_count, 2);
    EXPECT_EQ_INT(e.nrecompiles, 0);
    EXPECT_OK(dync_explain_html(&e, "build/test_explain.html"));
    const char *p = read_page("build/test_explain.html");
    EXPECT(strncmp(p, "<!doctype html>", 15) == 0);
    EXPECT_EQ_INT(count(p, "<svg "), 2);
    EXPECT_EQ_INT(count(p, "</svg>"), 2);
    EXPECT_EQ_INT(count(p, "class=\"in\""), 2);
    EXPECT_EQ_INT(count(p, "class=\"op\""), 4);
    EXPECT_HAS_STR(p, ">softmax</text>");
    EXPECT_HAS_STR(p, "a &lt; b &amp; &quot;c&quot;");
    EXPECT_HAS_STR(p, "<span class=\"here\">");
    EXPECT_HAS_STR(p, "dync_graph_break(&quot;a &lt; b &amp; \\&quot;c\\&quot;&quot;);");
    EXPECT_HAS_STR(p, "<h2>Guards</h2>");
    EXPECT(!strstr(p, "src=\"") && !strstr(p, "href=\"")); /* nothing beside it */
    EXPECT(!strstr(p, "Recompile history"));
    EXPECT_EQ_INT(dync_explain_html(&e, "build/no/such/folder/x.html"), DYNC_ERR_IO);
    dync_clear_error();
    EXPECT_EQ_INT(dync_explain_html(NULL, "x"), DYNC_ERR_VALUE);
    dync_clear_error();
    EXPECT_EQ_INT(dync_explain_html(&e, NULL), DYNC_ERR_VALUE);
    dync_clear_error();
}

/* A break in a file that is not there shows its place only. */
TEST(html_without_sources)
{
    static const dync_explain_break b = {"why", "nowhere.c:12 in f\nin g\n"};
    dync_explain_output e = {.nbreaks = 1, .breaks = &b};
    EXPECT_OK(dync_explain_html(&e, "build/test_explain.html"));
    const char *p = read_page("build/test_explain.html");
    EXPECT_HAS_STR(p, "<code>nowhere.c:12 in f</code>");
    EXPECT_HAS_STR(p, "<code>in g</code>");
    EXPECT(!strstr(p, "class=\"here\""));
    EXPECT_EQ_INT(dync_error(), DYNC_OK);
}

static dync_tensor *twice_it(dync_tensor *x) { return dync_mul(x, 2); }
TEST(recompile_history)
{
    dync_compiled *f = dync_compile(twice_it, .args = "x", .dynamic = DYNC_DYNAMIC_OFF);
    dync_tensor *x = dync_randn(dync_shape(3));
    dync_call(f, x);
    dync_call(f, dync_randn(dync_shape(4)));
    dync_call(f, dync_to_dtype(x, DYNC_F64));
    dync_explain_output e = dync_explain(f, x);
    REQUIRE(e.nrecompiles == 3 && e.recompiles);
    EXPECT_EQ_STR(e.recompiles[0], "first compiled");
    EXPECT_EQ_STR(e.recompiles[1],
                  "tensor 'L['x']' size mismatch at index 0. expected 3, actual 4");
    EXPECT_EQ_STR(e.recompiles[2], "tensor 'L['x']' dtype mismatch. expected Float, actual Double");
    EXPECT_OK(dync_explain_html(&e, "build/test_explain.html"));
    EXPECT_HAS_STR(read_page("build/test_explain.html"), "<h2>Recompile history</h2>");
    dync_compiled_free(f);
}
TEST_MAIN
