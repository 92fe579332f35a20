/* Program files that no dync wrote: whatever they name or claim, loading refuses them, or what is
 * run stays inside of its memory. */
#include "dync.in.h"
#include "fuzz/targets.h"
#include "test.h"
#include "every_operator.h"

/* A program of these parameters, statements and result; `loads`: may it be loaded? What loads is
 * run, interpreted and written as C. */
static void expect_file(const char *params, const char *body, const char *result, bool loads,
                        const char *why)
{
    dync__str s = {0};
    size_t n;
    /* the parenthesis stands before the last type */
    const char *last = params;
    for (const char *p = params; (p = strstr(p, "dync_tensor *")); p++) last = p;
    int before = (int)(strstr(last, "  /*") - params);
    dync__str_addf(&s, "dync_value f(%.*s)%s\n{\n%s    return %s;\n}\n", before, params,
                   params + before, body, result);
    char *file = fuzz_file(dync__str_get(&s), &n);
    REQUIRE(file != NULL);
    dync_clear_error();
    dync__program *p = dync__program_read(file, n);
    if ((p != NULL) != loads || (!p && !strstr(dync_error_message(), why))) {
        printf("%s, expected \"%s\": %s\n%s", p ? "loaded" : "refused", why, dync_error_message(),
               dync__str_get(&s));
        EXPECT(!"this file");
    }
    if (!p) EXPECT(dync_error() == DYNC_ERR_FORMAT || dync_error() == DYNC_ERR_MEMORY);
    dync_clear_error();
    if (p) fuzz_run_program(p);
    dync__program_free(p);
    free(file);
    dync__str_free(&s);
}

/* One statement y = expression of type `type` over x. */
static void refused(const char *x_type, const char *expression, const char *type, const char *why)
{
    char params[256], body[1024];
    snprintf(params, sizeof params, "dync_tensor *x  /* %s */", x_type);
    snprintf(body, sizeof body, "    dync_tensor *y = %s;  /* %s */\n", expression, type);
    expect_file(params, body, "y", false, why);
}

/* The library's own operators trust what the library's own passes give them: a file may not call
 * them. */
TEST(private_operators)
{
    fuzz_begin();
    refused("f32[4]",
            "dync_as_tensor(dync_op_call_values(\"_strided_view\", 4, (dync_value[]){DYNC_V(x), "
            "dync_tuple(4), dync_tuple(1), DYNC_V(100)}))",
            "f32[4] +100 @0", "may not call _strided_view");
    refused("f32[4]",
            "dync_as_tensor(dync_op_call_values(\"trace_wrapped\", 2, (dync_value[]){DYNC_V(x), "
            "DYNC_V(0)}))",
            "f32[4]", "may not call trace_wrapped");
    refused("f32[4]",
            "dync_as_tensor(dync_op_call_values(\"custom_gradient\", 4, (dync_value[]){DYNC_V(x), "
            "dync_tuple(x), dync_tuple(x), DYNC_V(7)}))",
            "f32[4]", "may not call custom_gradient");
    refused(
        "f32[4]",
        "dync_as_tensor(dync_op_call_values(\"as_strided_scatter\", 5, (dync_value[]){DYNC_V(x), "
        "DYNC_V(x), dync_tuple(4), dync_tuple(1), DYNC_V(9)}))",
        "f32[4]", "may not call as_strided_scatter");
    expect_file(
        "dync_tensor *q  /* f32[2, 3, 4] */, dync_tensor *k  /* f32[2, 5, 4] */, dync_tensor *l  "
        "/* f32[2, 1] */",
        "    dync_value y = "
        "dync_op_call_values(\"_scaled_dot_product_flash_attention_for_cpu_backward\", 9, "
        "(dync_value[]){DYNC_V(q), DYNC_V(q), "
        "DYNC_V(k), DYNC_V(k), DYNC_V(q), DYNC_V(l), DYNC_NONE, DYNC_FALSE, DYNC_V(1.0)});  /* "
        "(f32[2, 3, 4], f32[2, 5, 4], f32[2, 5, 4]) */\n"
        "    dync_tensor *g = dync_as_tensor(dync_at(y, 0));  /* f32[2, 3, 4] */\n",
        "g", false, "a gradient takes what the forward call gave");
    for (int op = 0; op < DYNC__N_OPS; op++) { /* each private row, by its name alone */
        const dync__op_row *row = dync__op_info(op);
        char call[128];
        if (!(row->flags & DYNC__OP_PRIVATE) || (row->flags & DYNC__OP_FILE)) continue;
        snprintf(call, sizeof call, "dync_op_call_values(\"%s\", 0, NULL)", row->name);
        refused("f32[4]", call, "f32[4]", "");
    }
}

/* dync_at of what is no list, of a list's end, of an operator that nobody knows. */
TEST(items)
{
    fuzz_begin();
    refused("f32[4]", "dync_as_tensor(dync_at(x, 100000))", "f32[4]",
            "an output that its argument does not have");
    refused("f32[4]", "dync_as_tensor(dync_at(x, 0))", "f32[4]",
            "an output that its argument does not have");
    expect_file(
        "dync_tensor *x  /* f32[4] */",
        "    dync_value u = dync_op_call_values(\"my::op\", 1, (dync_value[]){DYNC_V(x)});  /* "
        "(f32[4], f32[4]) */\n"
        "    dync_tensor *y = dync_as_tensor(dync_at(u, 2));  /* f32[4] */\n",
        "y", false, "an output that its argument does not have");
    expect_file(
        "dync_tensor *x  /* f32[4] */",
        "    dync_value u = dync_op_call_values(\"my::op\", 1, (dync_value[]){DYNC_V(x)});  /* "
        "(f32[4], f32[4]) */\n"
        "    dync_tensor *y = dync_as_tensor(dync_at(u, 1));  /* f32[4] */\n",
        "y", false, "no operator named my::op");
    expect_file("dync_tensor *x  /* f32[4] */",
                "    dync_value u = dync_sort(x, 0, false);  /* (f32[4], i64[4]) */\n"
                "    dync_tensor *y = dync_as_tensor(dync_at(u, 2));  /* f32[4] */\n",
                "y", false, "an output that its argument does not have");
    expect_file("dync_tensor *x  /* f32[4] */",
                "    dync_tensor *r = dync_relu(x);  /* f32[4] */\n"
                "    dync_tensor *y = dync_as_tensor(dync_at(r, 3));  /* f32[4] */\n",
                "y", false, "an output that its argument does not have");
    expect_file(
        "dync_tensor *x  /* f32[4] */",
        "    dync_value u = dync_sort(x, 0, false);  /* (f32[4], i64[4]) */\n"
        "    dync_tensor *v = dync_as_tensor(dync_at(u, 1));  /* i64[4] */\n    dync_tensor *y = "
        "dync_as_tensor(dync_at(v, 1));  /* f32[4] */\n",
        "y", false, "an output that its argument does not have");
}

/* Layouts that reach further than memory, sizes that are symbols or nearly, a layout that is not
 * what the operator gives. */
TEST(layouts)
{
    fuzz_begin();
    refused("f32[2]{4611686018427387904}", "dync_relu(x)", "f32[2]", "lies further apart");
    refused("f32[2, 2]{1, 9223372036854775807}", "dync_relu(x)", "f32[2, 2]", "lies further apart");
    refused("f32[2] +9223372036854775807", "dync_relu(x)", "f32[2]", "lies further apart");
    refused("f32[1152921504606846976, 0]{0, 0}", "dync_relu(x)", "f32[1152921504606846976, 0]",
            "a size");
    refused("f32[4294967296, 4294967296]{0, 0}", "dync_relu(x)", "f32[1]", "more elements");
    refused("f32[300, 300]{0, 0}", "dync_sum(x, dync_shape(0, 1), false)", "f32[]", "limit");
    refused("f32[4]", "dync_expand(x, dync_shape(1000000, 4))", "f32[1000000, 4]{0, 1} @0",
            "limit");
    refused("f32[4]", "dync_expand(x, dync_shape(1152921504606846976, 4))", "f32[4]", "sizes");
    refused("f32[4]", "dync_relu(x)", "f32[5]", "its type is not what");
    refused("f32[s0]", "dync_relu(x)", "f32[s0]", "are numbers");
    refused("f32[size]", "dync_relu(x)", "f32[size]", "a size");
    refused("f32[s99999999999]", "dync_relu(x)", "f32[s0]", "a size");
    refused("f32[4]", "dync_select(x, 0, 1152921504606846979)", "f32[]", "a size");
    refused("f32[4]", "dync_as_strided(x, dync_shape(4), dync_shape(1), 1)", "f32[4] +1 @0",
            "reach element 4");
    refused("f32[4]", "dync_as_strided(x, dync_shape(4), dync_shape(-1), 3)", "f32[4]", "negative");
    refused("f32[4]",
            "dync_cat(dync_tuple(x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, "
            "x, x, x, x, x, x, x, x, x, x), 0)",
            "f32[4]", "its type is not");
    refused(
        "f32[4]",
        "dync_cat(dync_tuple_of(66, (dync_value[]){DYNC_V(x), DYNC_V(x), DYNC_V(x), DYNC_V(x), "
        "DYNC_V(x), DYNC_V(x), DYNC_V(x), DYNC_V(x), DYNC_V(x), DYNC_V(x), "
        "DYNC_V(x), DYNC_V(x), DYNC_V(x), DYNC_V(x), DYNC_V(x), DYNC_V(x), DYNC_V(x), DYNC_V(x), "
        "DYNC_V(x), DYNC_V(x), DYNC_V(x), DYNC_V(x), DYNC_V(x), DYNC_V(x), "
        "DYNC_V(x), DYNC_V(x), DYNC_V(x), DYNC_V(x), DYNC_V(x), DYNC_V(x), DYNC_V(x), DYNC_V(x), "
        "DYNC_V(x), DYNC_V(x), DYNC_V(x), DYNC_V(x), DYNC_V(x), DYNC_V(x), "
        "DYNC_V(x), DYNC_V(x), DYNC_V(x), DYNC_V(x), DYNC_V(x), DYNC_V(x), DYNC_V(x), DYNC_V(x), "
        "DYNC_V(x), DYNC_V(x), DYNC_V(x), DYNC_V(x), DYNC_V(x), DYNC_V(x), "
        "DYNC_V(x), DYNC_V(x), DYNC_V(x), DYNC_V(x), DYNC_V(x), DYNC_V(x), DYNC_V(x), DYNC_V(x), "
        "DYNC_V(x), DYNC_V(x), DYNC_V(x), DYNC_V(x), DYNC_V(x), DYNC_V(x)}), 0)",
        "f32[9]", "its type is not");
}

/* Nodes, elements, work: more than the limits is refused, and the limits can be set. */
TEST(limits)
{
    fuzz_begin();
    dync__str body = {0};
    for (int i = 0; i < 300; i++)
        dync__str_addf(&body, "    dync_tensor *y%d = dync_relu(x);  /* f32[2] */\n", i);
    expect_file("dync_tensor *x  /* f32[2] */", dync__str_get(&body), "y7", false, "fewer nodes");
    EXPECT_OK(dync_set_limits((dync_limits){.nodes = 400}));
    expect_file("dync_tensor *x  /* f32[2] */", dync__str_get(&body), "y7", true, "");
    dync__str_free(&body);
    const char *mm = "    dync_tensor *y = dync_mm(x, x);  /* f32[64, 64] */\n";
    expect_file("dync_tensor *x  /* f32[64, 64] */", mm, "y", true, "");
    EXPECT_OK(dync_set_limits((dync_limits){.work = 100000}));
    expect_file("dync_tensor *x  /* f32[64, 64] */", mm, "y", false,
                "more work than the limit of 100000");
    EXPECT_OK(dync_set_limits((dync_limits){.elements = 1000}));
    expect_file("dync_tensor *x  /* f32[64, 64] */", mm, "y", false,
                "more elements than the limit of 1000");
    EXPECT_STATUS(dync_set_limits((dync_limits){.work = -1}), DYNC_ERR_VALUE);
    dync_clear_error();
    /* unchanged */
    expect_file("dync_tensor *x  /* f32[64, 64] */", mm, "y", false,
                "more elements than the limit of 1000");
}

/* as_strided of an input reads what lies around it: not in a program that a file brought. */
TEST(neighbours)
{
    fuzz_begin();
    size_t n;
    char *file = fuzz_file(
        "dync_value f(dync_tensor *x)  /* f32[4] */\n{\n"
        "    dync_tensor *y = dync_as_strided(x, dync_shape(4), dync_shape(1), 0);  /* f32[4] @0 "
        "*/\n    return y;\n}\n",
        &n);
    dync__program *p = dync__program_read(file, n);
    REQUIRE(p != NULL);
    dync_tensor *all = dync_arange(0, 12, 1), *part = dync_slice(all, 0, 4, 8, 1);
    dync_value arg = DYNC_V(part), got = dync__program_run(p, 1, &arg);
    EXPECT(got.kind == DYNC_KIND_NONE);
    EXPECT_STATUS(dync_error(), DYNC_ERR_VALUE);
    EXPECT_HAS_STR(dync_error_message(), "part of a larger");
    dync_clear_error();
    arg = DYNC_V(dync_clone(part));
    got = dync__program_run(p, 1, &arg);
    EXPECT(dync_equal(dync_as_tensor(got), part));
    dync__program_free(p);
    free(file);
}

/* Text in comments, names and strings does not leave them. */
TEST(texts)
{
    fuzz_begin();
    expect_file("dync_tensor *x  /* f32[2]; L_x_; L['x']*/ int evil; /* */", "", "x", false, "");
    expect_file("dync_tensor *x  /* f32[2]; attr a*/int evil(void);/* */", "", "x", false, "");
    expect_file("dync_tensor *int  /* f32[2] */", "", "int", false, "no reserved word");
    expect_file("dync_tensor *x  /* f32[2] */",
                "    dync_tensor *y = dync_op_call_values(\"a\\\"); evil(); (\\\"\", 0, NULL);  /* "
                "f32[2] */\n",
                "y", false, "");
}

/* Names are checked where they are registered, and what is printed as C, Python, a page or a
 * picture is quoted all the same. */
static dync_value nothing(const dync_value *args, int n, void *user)
{
    (void)args, (void)n, (void)user;
    return DYNC_NONE;
}
static dync_tensor *same(dync_module *m, dync_tensor *x) { return m ? x : NULL; }
static dync_status no_backend(dync_graph *g, const dync_value *inputs, int n, const char *options,
                              dync_callable *out, void *user)
{
    (void)g, (void)inputs, (void)n, (void)options, (void)out, (void)user;
    return DYNC_ERR_BACKEND;
}
#define REFUSED(call)                                \
    do {                                             \
        call;                                        \
        EXPECT_STATUS(dync_error(), DYNC_ERR_VALUE); \
        dync_clear_error();                          \
    } while (0)

TEST(names_are_checked)
{
    static const char *const evil[] = {
        "a b", "x\"); system(\"id", "*/ int evil; /*", "a\nb", "\?\?/", "a.b c", "x;y", "<script>"};
    fuzz_begin();
    for (size_t i = 0; i < sizeof evil / sizeof *evil; i++) {
        char name[128], schema[128];
        snprintf(name, sizeof name, "lib::%s", evil[i]);
        REFUSED(dync_op_register(name, "(Tensor x) -> Tensor", nothing, NULL, NULL));
        snprintf(name, sizeof name, "%s::op", evil[i]);
        REFUSED(dync_op_register(name, "(Tensor x) -> Tensor", nothing, NULL, NULL));
        snprintf(schema, sizeof schema, "(Tensor %c%s) -> Tensor",
                 evil[i][0] == 'x' || evil[i][0] == 'a' ? '*' : 'x', evil[i]);
        REFUSED(dync_op_register("lib::op", schema, nothing, NULL, NULL));
        REFUSED(dync_register_backend(&(dync_backend){.name = evil[i], .compile = no_backend}));
        REFUSED(dync_module_new(evil[i], same, NULL));
        dync_module *m = dync_module_new("M", same, NULL);
        REFUSED(dync_module_add(m, evil[i], dync_nn_relu()));
        if (!strchr(evil[i], '.'))
            REFUSED(dync_module_set_param(m, evil[i], dync_ones(dync_shape(1))));
        dync_module_free(m);
    }
    REFUSED(dync_module_new_values("M", NULL, "x, a'] = 1", NULL));
    EXPECT_OK(dync_op_register("lib::op", "(Tensor x) -> Tensor", nothing, NULL, NULL));
}

TEST(printed_text_is_quoted)
{
    dync__str s = {0};
    dync__str_quote_c(&s, "a\"b\\c\n\x7f?"
                          "?/?\xff");
    EXPECT_EQ_STR(dync__str_get(&s), "\"a\\\"b\\\\c\\012\\177?\\?/?\\377\"");
    s.n = 0;
    /* a function of the user's, called by an expression */
    dync__graph *g = dync__graph_new("G");
    dync__info info = {
        .dtype = DYNC_F32, .alias = -1, .lay = {.ndim = 1, .shape = {2}, .stride = {1}}};
    dync__node *x = dync__graph_placeholder(g, "x", "L['x'] */ int evil; /*", &info);
    dync__arg arg = dync__arg_node(x), list;
    dync__node *y = dync__graph_call(g, -1, 1, &arg, 1, &info, "o->f\"); evil(\"");
    REQUIRE(y != NULL);
    list = dync__arg_node(y);
    REQUIRE(dync__graph_output(g, &list) != NULL);
    dync__graph_print_c(&s, g);
    EXPECT_HAS_STR(dync__str_get(&s), "dync_op_call_values(\"o_f_evil_\", 1");
    EXPECT(strstr(dync__str_get(&s), "*/ int evil") == NULL);
    dync__str_free(&s);
    dync__graph_unref(g);
}

/* What inference promises to kernels, checked where the operators are called by name as well. */
static dync_value by_name(const char *name, int n, const dync_value *args)
{
    dync_value r = dync_op_call_values(name, n, args);
    return r;
}

TEST(gradients_by_name)
{
    fuzz_begin();
    dync_tensor *q = dync_ones(dync_shape(2, 3, 4)), *k = dync_ones(dync_shape(2, 5, 4)),
                *l = dync_ones(dync_shape(2, 1)), *small = dync_ones(dync_shape(1));
    dync_value att[9] = {DYNC_V(q), DYNC_V(q), DYNC_V(k),  DYNC_V(k),  DYNC_V(q),
                         DYNC_V(l), DYNC_NONE, DYNC_FALSE, DYNC_V(1.0)};
    EXPECT(by_name("_scaled_dot_product_flash_attention_for_cpu_backward", 9, att).kind ==
           DYNC_KIND_NONE);
    EXPECT_STATUS(dync_error(), DYNC_ERR_SHAPE);
    dync_clear_error();
    att[5] = DYNC_V(dync_ones(dync_shape(2, 3)));
    EXPECT(by_name("_scaled_dot_product_flash_attention_for_cpu_backward", 9, att).kind ==
           DYNC_KIND_LIST);
    for (int i = 0; i < 6; i++) { /* each of them too small */
        dync_value whole = att[i];
        att[i] = DYNC_V(small);
        EXPECT(by_name("_scaled_dot_product_flash_attention_for_cpu_backward", 9, att).kind ==
               DYNC_KIND_NONE);
        EXPECT(dync_error() != DYNC_OK && dync_error() != DYNC_ERR_INTERNAL);
        dync_clear_error();
        att[i] = whole;
    }
    dync_tensor *y = dync_ones(dync_shape(6, 2, 3)), *w = dync_ones(dync_shape(12, 3)),
                *h = dync_ones(dync_shape(2, 3)), *g = dync_ones(dync_shape(6, 2, 12));
    dync_value rnn[10] = {DYNC_V(y), DYNC_NONE, DYNC_V(w), DYNC_V(h), DYNC_V(h),
                          DYNC_V(y), DYNC_V(y), DYNC_V(g), DYNC_V(4), DYNC_FALSE};
    EXPECT(by_name("_rnn_layer_backward", 10, rnn).kind == DYNC_KIND_LIST);
    EXPECT_OK(dync_error());
    for (int i = 0; i < 8; i++) {
        dync_value whole = rnn[i];
        rnn[i] = DYNC_V(small);
        EXPECT(by_name("_rnn_layer_backward", 10, rnn).kind == DYNC_KIND_NONE);
        EXPECT(dync_error() != DYNC_OK && dync_error() != DYNC_ERR_INTERNAL);
        dync_clear_error();
        rnn[i] = whole;
    }
    dync_tensor *x = dync_ones(dync_shape(1, 2, 5, 5)), *f = dync_ones(dync_shape(3, 2, 3, 3)),
                *gy = dync_ones(dync_shape(1, 3, 3, 3)), *wrong = dync_ones(dync_shape(1, 3, 9, 9));
    dync_value one = dync_tuple(1, 1), none = dync_tuple(0, 0);
    dync_value conv[10] = {DYNC_V(gy), DYNC_V(x), DYNC_V(f), one,       none,
                           one,        DYNC_V(1), DYNC_TRUE, DYNC_TRUE, DYNC_TRUE};
    EXPECT(by_name("convolution_backward", 10, conv).kind == DYNC_KIND_LIST);
    conv[0] = DYNC_V(wrong);
    EXPECT(by_name("convolution_backward", 10, conv).kind == DYNC_KIND_NONE);
    EXPECT_STATUS(dync_error(), DYNC_ERR_SHAPE);
    dync_clear_error();
    dync_value avg[7] = {DYNC_V(gy), DYNC_V(x),  dync_tuple(2, 2), dync_tuple(2, 2),
                         none,       DYNC_FALSE, DYNC_TRUE};
    EXPECT(by_name("avg_pool2d_backward", 7, avg).kind == DYNC_KIND_NONE);
    EXPECT_STATUS(dync_error(), DYNC_ERR_SHAPE);
    dync_clear_error();
    dync_value max[3] = {DYNC_V(gy), DYNC_V(x), DYNC_V(dync_to_dtype(gy, DYNC_I64))};
    EXPECT(by_name("max_pool2d_with_indices_backward", 3, max).kind == DYNC_KIND_NONE);
    EXPECT_STATUS(dync_error(), DYNC_ERR_SHAPE);
    dync_clear_error();
    dync_value emb[3] = {DYNC_V(y), DYNC_V(dync_to_dtype(l, DYNC_I64)), DYNC_V(5)};
    EXPECT(by_name("embedding_dense_backward", 3, emb).kind == DYNC_KIND_NONE);
    EXPECT_STATUS(dync_error(), DYNC_ERR_SHAPE);
    dync_clear_error();
}

/* Arithmetic on sizes that an expanded tensor can have: refused, and nothing overflows on the way
 * (UBSan sees it). */
TEST(sizes_that_overflow)
{
    fuzz_begin();
    EXPECT_OK(dync_set_limits((dync_limits){.elements = INT64_MAX, .work = INT64_MAX}));
    const char *big = "f32[1, 1, 1, 1099511627776]{0, 0, 0, 0}";
    refused(
        big,
        "dync_conv_transpose2d(x, x, NULL, dync_shape(2147483647), dync_shape(0), dync_shape(0), "
        "1, dync_shape(2147483647))",
        "f32[1]", "too large");
    refused(big,
            "dync_conv_transpose2d(x, x, NULL, dync_shape(9223372036854775807), dync_shape(0), "
            "dync_shape(0), 1, dync_shape(1))",
            "f32[1]", "32 bits");
    refused(
        big,
        "dync_conv2d(x, x, NULL, dync_shape(1), dync_shape(2147483647), dync_shape(2147483647), 1)",
        "f32[1]", "Kernel size can't be greater");
    refused("f32[0, 1, 1099511627776]{0, 0, 0}", "dync_pixel_shuffle(x, 2147483647)", "f32[1]",
            "too large");
    refused(
        "f32[4]",
        "dync_pad(x, dync_shape((-DYNC_END - 1), 9223372036854775807), DYNC_V(\"constant\"), 0)",
        "f32[1]", "");
    refused("f32[4]", "dync_pad(x, dync_shape((-DYNC_END - 1), 0), 0)", "f32[1]",
            "negative or too large");
    refused("f32[4]", "dync_repeat(x, dync_shape(4611686018427387904, 4))", "f32[1]",
            "too many elements");
    refused("f32[4]", "dync_slice(x, 0, (-DYNC_END - 1), DYNC_END, DYNC_END)", "f32[9]",
            "its type is not");
    refused("f32[4]", "dync_select(x, 0, (-DYNC_END - 1))", "f32[]", "out of range");
    refused("f32[4, 4]", "dync_diagonal(x, (-DYNC_END - 1), 0, 1)", "f32[9]", "");
    refused("f32[4]", "dync_unflatten(x, 0, dync_shape(4611686018427387904, 4))", "f32[1]",
            "invalid size");
    refused("f32[4]", "dync_narrow(x, 0, DYNC_END, DYNC_END)", "f32[1]", "exceeds dimension size");
    refused("f32[4]", "dync_roll(x, dync_shape((-DYNC_END - 1)), dync_shape(0))", "f32[9]",
            "its type is not");
    refused("f32[4]", "dync_unfold(x, 0, 2, DYNC_END)", "f32[9, 9]", "");
    refused("f32[4, 4]", "dync_tril(x, (-DYNC_END - 1))", "f32[4]", "its type is not");
    refused("i64[4]", "dync_one_hot(x, DYNC_END)", "i64[4, 4]", "too many elements");
    refused("f32[1, 1, 4, 4]",
            "dync_max_pool2d(x, dync_shape(2147483647), dync_shape(1), dync_shape(1073741823), "
            "dync_shape(2147483647), true)",
            "f32[9]", "Output size is too small");
}

/* Every operator that a file may name, with too few arguments, too many, and arguments of the wrong
 * kind. */
TEST(wrong_arguments)
{
    static const char *const arguments[] = {"",
                                            "x",
                                            "x, x",
                                            "x, x, x",
                                            "x, 0, 0",
                                            "x, dync_shape(-1, -1)",
                                            "x, -9223372036854775807, 9223372036854775807, 5",
                                            "x, dync_shape(9223372036854775807)",
                                            "1, 2",
                                            "dync_tuple(x, x), 9",
                                            "dync_tuple(), 0",
                                            "x, \"->\"",
                                            "NULL, NULL, NULL"};
    fuzz_begin();
    for (int op = 0; op < DYNC__N_OPS; op++)
        for (size_t i = 0; i < sizeof arguments / sizeof *arguments; i++) {
            char text[512];
            snprintf(text, sizeof text,
                     "dync_value f(dync_tensor *x)  /* f32[4] */\n{\n    dync_tensor *y = "
                     "dync_%s(%s);  /* f32[4] */\n    return y;\n}\n",
                     dync__op_info(op)->name, arguments[i]);
            fuzz_graph((const uint8_t *)text, strlen(text));
            dync_clear_error();
        }
}

TEST_MAIN
