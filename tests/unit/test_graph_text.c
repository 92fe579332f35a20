/* Graphs as text: torch.fx's form to the letter, the C form and back, names, the verifier. */
#include "dync.in.h"
#include "graph/graph.h"
#include "minify/write.h"
#include "test.h"
#include "every_operator.h"

static dync__info info_of(int dtype, int ndim, const int64_t *shape)
{
    dync__info info = {.dtype = dtype, .alias = -1};
    dync__layout_contiguous(&info.lay, ndim, shape);
    return info;
}
static dync__info f32_1(int64_t n) { return info_of(DYNC_F32, 1, (int64_t[]){n}); }
static dync__info f32_2(int64_t n, int64_t m) { return info_of(DYNC_F32, 2, (int64_t[]){n, m}); }

static dync__node *call1(dync__graph *g, int op, dync__node *x, dync__info info)
{
    dync__arg a = dync__arg_node(x);
    return dync__graph_call(g, op, 1, &a, 1, &info, NULL);
}
static dync__node *call2(dync__graph *g, int op, dync__arg a, dync__arg b, dync__info info,
                         const char *name)
{
    return dync__graph_call(g, op, 2, (dync__arg[]){a, b}, 1, &info, name);
}
static dync__arg tuple(int n, dync__arg *items)
{
    dync__arg a = {.kind = DYNC__A_LIST, .n = n};
    a.as.list = items;
    return a;
}
static void finish(dync__graph *g, dync__node *x)
{
    dync__arg item = dync__arg_node(x), all = tuple(1, &item);
    dync__graph_output(g, &all);
    EXPECT_OK(dync__graph_check(g));
}

/* print(parse(print(g))) == print(g) */
static void round_trip(dync__graph *g)
{
    char *text = dync_graph_str(dync__graph_handle(g));
    dync__graph *back = dync__graph_parse(text);
    if (!back) printf("%s\n", text);
    REQUIRE(back != NULL);
    EXPECT_EQ_STR(dync_graph_str(dync__graph_handle(back)), text);
    EXPECT_EQ_INT(dync_graph_len(dync__graph_handle(back)), dync_graph_len(dync__graph_handle(g)));
    dync__graph_unref(back);
}

TEST(readable_make_fx)
{
    dync__graph *g = dync__graph_new("_multiply_invoke");
    dync__info info = f32_1(2);
    dync__node *x = dync__graph_placeholder(g, "grad_1", NULL, &info);
    dync__arg a = dync__arg_node(x);
    dync__node *w = dync__graph_call(g, -1, 1, &a, 1, &info,
                                     "torch__dynamo__trace_wrapped_higher_order_op_self_invoke");
    dync__graph_rename(g, w, "trace_wrapped");
    dync__arg out = dync__arg_node(w);
    dync__graph_output(g, &out);
    EXPECT_EQ_STR(
        dync_graph_readable(dync__graph_handle(g)),
        "class _multiply_invoke(torch.nn.Module):\n"
        "    def forward(self, grad_1: \"f32[2]\"):\n"
        "        trace_wrapped: \"f32[2]\" = "
        "torch__dynamo__trace_wrapped_higher_order_op_self_invoke(grad_1);  grad_1 = None\n"
        "        return trace_wrapped\n");
    round_trip(g);
    dync__graph_unref(g);
}

TEST(readable_compiled_autograd)
{
    dync__graph *g = dync__graph_new(NULL);
    int64_t s0 = (int64_t)1 << 60;
    dync__info info = {
        .dtype = DYNC_F32, .alias = -1, .lay = {.ndim = 1, .shape = {s0}, .stride = {1}}};
    dync__graph_symbol(g, s0, "s0");
    dync__node *inputs = dync__graph_placeholder(g, "l_inputs_", "L['inputs']", NULL);
    inputs->target = "L_inputs_";
    dync__node *item = dync__graph_getitem(g, inputs, 0);
    item->info[0] = info;
    item->has_info = true;
    item->stack = "a";
    dync__arg arg = dync__arg_node(item);
    dync__node *g0 = dync__graph_call(g, DYNC__OP_clone, 1, &arg, 1, &info, "new_grad");
    g0->stack = "b";
    dync__node *r = call2(g, DYNC__OP_mul, arg, arg, info, "result");
    r->stack = "c";
    arg = dync__arg_node(r);
    dync__node *g1 = dync__graph_call(g, DYNC__OP_clone, 1, &arg, 1, &info, "new_grad");
    g1->stack = "d";
    dync__arg outs[2] = {dync__arg_node(g0), dync__arg_node(g1)}, all = tuple(2, outs);
    dync__graph_output(g, &all);
    EXPECT_OK(dync__graph_check(g));
    EXPECT_EQ_INT(dync__graph_op_count(g), 3);
    EXPECT_EQ_STR(dync_graph_readable(dync__graph_handle(g)),
                  "class GraphModule(torch.nn.Module):\n"
                  "    def forward(self, L_inputs_ : list):\n"
                  "        l_inputs_ = L_inputs_\n"
                  "\n"
                  "        getitem: \"f32[s0]\" = l_inputs_[0];  l_inputs_ = None\n"
                  "\n"
                  "        new_grad: \"f32[s0]\" = torch.clone(getitem)\n"
                  "\n"
                  "        result: \"f32[s0]\" = getitem * getitem;  getitem = None\n"
                  "\n"
                  "        new_grad_1: \"f32[s0]\" = torch.clone(result);  result = None\n"
                  "        return (new_grad, new_grad_1)\n");
    round_trip(g);
    dync__graph_unref(g);
}

TEST(readable_symbolic_number)
{
    dync__graph *g = dync__graph_new(NULL);
    dync__node *n = dync__graph_placeholder(g, "l_counter_", "L['counter']", NULL);
    n->target = "L_counter_";
    n->sym = "s1";
    n->scalar = dync__arg_i(0);
    dync__node *add = dync__graph_call(
        g, DYNC__OP_add, 2, (dync__arg[]){dync__arg_node(n), dync__arg_i(1)}, 1, NULL, NULL);
    add->sym = "s1 + 1";
    finish(g, add);
    EXPECT_HAS_STR(dync_graph_readable(dync__graph_handle(g)),
                   "def forward(self, L_counter_: \"Sym(s1)\"):\n");
    EXPECT_HAS_STR(dync_graph_readable(dync__graph_handle(g)),
                   "add: \"Sym(s1 + 1)\" = l_counter_ + 1;  l_counter_ = None\n");
    EXPECT_HAS_STR(dync_graph_str(dync__graph_handle(g)),
                   "dync_value add = dync_sym_add(l_counter_, DYNC_V(1));  /* Sym(s1 + 1) */");
    round_trip(g);
    dync__graph_unref(g);
}

TEST(repro_after_minifying)
{
    dync__graph *g = dync__graph_new(NULL);
    dync__info info = f32_2(20, 20);
    dync__node *x = dync__graph_placeholder(g, "x_19", NULL, &info);
    dync__arg a = dync__arg_node(x);
    finish(g, dync__graph_call(g, DYNC__OP_relu, 1, &a, 1, &info, "x_20"));
    dync__str s = {0};
    dync__write_fx_module(&s, g);
    EXPECT_EQ_STR(dync__str_get(&s), "class Repro(torch.nn.Module):\n"
                                     "    def __init__(self):\n"
                                     "        super().__init__()\n"
                                     "\n"
                                     "    def forward(self, x_19):\n"
                                     "        x_20 = torch.relu(x_19);  x_19 = None\n"
                                     "        return (x_20,)\n");
    dync__str_free(&s);
    dync__graph_unref(g);
}

TEST(names)
{
    dync__graph *g = dync__graph_new(NULL);
    /* no names of values, and those that only begin like them */
    static const char *const reserved[] = {"False", "false",  "finally", "I",    "abs",
                                           "slice", "switch", "zip",     "while"},
                             *const free_[] = {"fals",   "falsey", "FALSE", "i",
                                               "abs_of", "s",      "zi",    "_"};
    for (int i = 0; i < DYNC__COUNT_OF(reserved); i++) {
        char want[20];
        snprintf(want, sizeof want, "%s_1", reserved[i]);
        EXPECT_EQ_STR(dync__graph_unique(g, reserved[i]), want);
    }
    for (int i = 0; i < DYNC__COUNT_OF(free_); i++)
        EXPECT_EQ_STR(dync__graph_unique(g, free_[i]), free_[i]);
    EXPECT_EQ_STR(dync__graph_unique(g, "sin"), "sin");
    EXPECT_EQ_STR(dync__graph_unique(g, "sin"), "sin_1");
    EXPECT_EQ_STR(dync__graph_unique(g, "sin"), "sin_2");
    EXPECT_EQ_STR(dync__graph_unique(g, "x_19"), "x_19");
    EXPECT_EQ_STR(dync__graph_unique(g, "x_19"), "x_20");
    EXPECT_EQ_STR(dync__graph_unique(g, "sum"), "sum_1");       /* a builtin of Python */
    EXPECT_EQ_STR(dync__graph_unique(g, "double"), "double_1"); /* a keyword of C */
    EXPECT_EQ_STR(dync__graph_unique(g, "0.weight"), "_0_weight");
    EXPECT_EQ_STR(dync__graph_unique(g, "L['x'][0]"), "L_x_0_");
    EXPECT_EQ_STR(dync__graph_unique(g, ""), "_unnamed");
    dync__graph_unref(g);
}

TEST(c_form)
{
    dync__graph *g = dync__graph_new("mlp");
    dync__info x_info = f32_2(2, 3), w_info = f32_2(4, 3), b_info = f32_1(4), y_info = f32_2(2, 4);
    dync__node *x = dync__graph_placeholder(g, "l_x_", "L['x']", &x_info);
    x->target = "L_x_";
    dync__node *w = dync__graph_attr(g, "_0_weight", "0.weight", NULL);
    w->info[0] = w_info;
    w->has_info = w->requires_grad[0] = true;
    dync__tensor *value = dync__tensor_empty(DYNC_F32, DYNC_CPU, &b_info.lay);
    memcpy(dync__tensor_data(value), (float[]){0.5f, -1, 1e-7f, 3}, 16);
    dync__node *b = dync__graph_constant(g, value);
    dync__unref(value);
    dync__node *y = dync__graph_call(
        g, DYNC__OP_linear, 3,
        (dync__arg[]){dync__arg_node(x), dync__arg_node(w), dync__arg_node(b)}, 1, &y_info, NULL);
    y->requires_grad[0] = true;
    dync__node *z = call2(g, DYNC__OP_mul, dync__arg_node(y), dync__arg_f(2), y_info, NULL);
    int64_t shape[2] = {4, 2};
    dync__info v_info = f32_2(4, 2);
    v_info.alias = 0;
    dync__node *v =
        call2(g, DYNC__OP_view, dync__arg_node(z), dync__arg_dims(2, shape), v_info, NULL);
    call1(g, DYNC__OP_relu_, y, y_info);
    dync__info pair[2] = {f32_1(4), info_of(DYNC_I64, 1, (int64_t[]){4})};
    dync__node *m = dync__graph_call(
        g, DYNC__OP_max_dim, 3,
        (dync__arg[]){dync__arg_node(v), dync__arg_i(1), dync__arg_b(false)}, 2, pair, NULL);
    dync__node *m0 = dync__graph_getitem(g, m, 0), *m1 = dync__graph_getitem(g, m, 1);
    dync__arg deep[2] = {dync__arg_node(m1), dync__arg_i(7)},
              outs[3] = {dync__arg_node(m0), tuple(2, deep), dync__arg_none()},
              all = tuple(3, outs);
    dync__graph_output(g, &all);
    EXPECT_OK(dync__graph_check(g));
    EXPECT_EQ_STR(
        dync_graph_str(dync__graph_handle(g)),
        "dync_value mlp(dync_tensor *l_x_  /* f32[2, 3]; L_x_; L['x'] */\n"
        "    , dync_tensor *_0_weight)  /* f32[4, 3] grad; attr 0.weight */\n"
        "{\n"
        "    dync_tensor *_tensor_constant0 = dync_constant((float[]){0.5, -1, 1e-07, 3}, "
        "dync_shape(4));  /* f32[4] */\n"
        "    dync_tensor *linear = dync_linear(l_x_, _0_weight, _tensor_constant0);  /* f32[2, 4] "
        "grad */\n"
        "    dync_tensor *mul = dync_mul(linear, 2.0);  /* f32[2, 4] */\n"
        "    dync_tensor *view = dync_view(mul, dync_shape(4, 2));  /* f32[4, 2] @0 */\n"
        "    dync_relu_(linear);  /* relu_: f32[2, 4] */\n"
        "    dync_value max_dim = dync_max_dim(view, 1, false);  /* (f32[4], i64[4]) */\n"
        "    dync_tensor *getitem = dync_as_tensor(dync_at(max_dim, 0));  /* f32[4] */\n"
        "    dync_tensor *getitem_1 = dync_as_tensor(dync_at(max_dim, 1));  /* i64[4] */\n"
        "    return dync_tuple(getitem, dync_tuple(getitem_1, 7), DYNC_NONE);\n"
        "}\n");
    EXPECT_EQ_STR(dync_graph_readable(dync__graph_handle(g)),
                  "class mlp(torch.nn.Module):\n"
                  "    def forward(self, L_x_: \"f32[2, 3]\"):\n"
                  "        l_x_ = L_x_\n"
                  "\n"
                  "        _0_weight: \"f32[4, 3]\" = getattr(self, \"0\").weight\n"
                  "        _tensor_constant0: \"f32[4]\" = self._tensor_constant0\n"
                  "        linear: \"f32[2, 4]\" = torch.nn.functional.linear(l_x_, _0_weight, "
                  "_tensor_constant0);  l_x_ = _0_weight = _tensor_constant0 = None\n"
                  "        mul: \"f32[2, 4]\" = linear * 2.0\n"
                  "        view: \"f32[4, 2]\" = mul.view(4, 2);  mul = None\n"
                  "        relu_: \"f32[2, 4]\" = linear.relu_();  linear = relu_ = None\n"
                  "        max_dim = torch.max(view, 1, False);  view = None\n"
                  "        getitem: \"f32[4]\" = max_dim[0]\n"
                  "        getitem_1: \"i64[4]\" = max_dim[1];  max_dim = None\n"
                  "        return (getitem, (getitem_1, 7), None)\n");
    round_trip(g);
    dync__graph_unref(g);
}

/* Every kind of argument there is, and operators without a function of their own name. */
TEST(c_form_of_arguments)
{
    dync__graph *g = dync__graph_new(NULL);
    dync__info x_info = f32_2(2, 3);
    dync__node *x = dync__graph_placeholder(g, "x", NULL, &x_info);
    dync__arg a = dync__arg_node(x);
    int64_t shape[2] = {2, 3}, ones[2] = {1, 1}, zeros[2] = {0, 0};
    dync__info z_info = info_of(DYNC_F64, 2, shape);
    dync__node *z =
        dync__graph_call(g, DYNC__OP_zeros, 3,
                         (dync__arg[]){dync__arg_dims(2, shape), dync__arg_dtype(DYNC_F64),
                                       dync__arg_device(DYNC_CPU)},
                         1, &z_info, NULL);
    dync__graph_call(g, DYNC__OP__set_grad_enabled, 1, (dync__arg[]){dync__arg_b(false)}, 0, NULL,
                     NULL);
    dync__node *s = dync__graph_call(
        g, DYNC__OP_slice, 5,
        (dync__arg[]){a, dync__arg_i(1), dync__arg_i(0), dync__arg_i(INT64_MAX), dync__arg_i(1)}, 1,
        &x_info, NULL);
    dync__node *c = dync__graph_call(
        g, DYNC__OP_clamp, 3,
        (dync__arg[]){dync__arg_node(s), dync__arg_none(), dync__arg_f((double)INFINITY)}, 1,
        &x_info, NULL);
    dync__node *t =
        call2(g, DYNC__OP_to_dtype, dync__arg_node(c), dync__arg_dtype(DYNC_F64), z_info, NULL);
    dync__arg list[2] = {dync__arg_node(t), dync__arg_node(z)};
    dync__info cat_info = info_of(DYNC_F64, 2, (int64_t[]){4, 3});
    dync__node *cat = call2(g, DYNC__OP_cat, tuple(2, list), dync__arg_i(0), cat_info, NULL);
    dync__info sum_info = info_of(DYNC_F64, 0, NULL);
    dync__node *sum = dync__graph_call(
        g, DYNC__OP_sum, 3,
        (dync__arg[]){dync__arg_node(cat), dync__arg_dims(0, NULL), dync__arg_b(false)}, 1,
        &sum_info, NULL);
    dync__info conv = info_of(DYNC_F32, 4, (int64_t[]){1, 1, 2, 3});
    dync__node *k = dync__graph_call(g, DYNC__OP_convolution, 7,
                                     (dync__arg[]){a, a, dync__arg_none(), dync__arg_dims(2, ones),
                                                   dync__arg_dims(2, zeros),
                                                   dync__arg_dims(2, ones), dync__arg_i(1)},
                                     1, &conv, NULL);
    dync__node *n = dync__graph_call(
        g, -1, 3, (dync__arg[]){dync__arg_node(k), dync__arg_s("a\"b\\\n"), dync__arg_b(true)}, 1,
        &conv, "mylib::foo");
    dync__arg outs[2] = {dync__arg_node(sum), dync__arg_node(n)}, all = tuple(2, outs);
    dync__graph_output(g, &all);
    EXPECT_OK(dync__graph_check(g));
    const char *text = dync_graph_str(dync__graph_handle(g));
    EXPECT_HAS_STR(text, "dync_tensor *zeros = dync_zeros(dync_shape(2, 3), .dtype = DYNC_F64, "
                         ".device = DYNC_CPU);  /* f64[2, 3] */\n");
    EXPECT_HAS_STR(text, "    dync_set_grad_enabled(false);  /* _set_grad_enabled: none */\n");
    EXPECT_HAS_STR(text, "dync_slice(x, 1, 0, DYNC_END, 1);");
    EXPECT_HAS_STR(text, "dync_clamp(slice_1, DYNC_NONE, INFINITY);");
    EXPECT_HAS_STR(text, "dync_cat(dync_tuple(to_dtype, zeros), 0);");
    EXPECT_HAS_STR(text, "dync_sum(cat, DYNC_SCALAR, false);");
    EXPECT_HAS_STR(text, "dync_as_tensor(dync_op_call_values(\"convolution\", 7, "
                         "(dync_value[]){DYNC_V(x), DYNC_V(x), DYNC_NONE, dync_tuple(1, 1), "
                         "dync_tuple(0, 0), dync_tuple(1, 1), DYNC_V(1)}));");
    EXPECT_HAS_STR(text,
                   "dync_op_call_values(\"mylib::foo\", 3, (dync_value[]){DYNC_V(convolution), "
                   "DYNC_V(\"a\\\"b\\\\\\012\"), DYNC_TRUE}");
    const char *fx = dync_graph_readable(dync__graph_handle(g));
    EXPECT_HAS_STR(fx, "torch.zeros((2, 3), dtype=torch.float64, device=torch.device('cpu'))");
    EXPECT_HAS_STR(fx, "torch._C._set_grad_enabled(False)");
    EXPECT_HAS_STR(fx, "torch.clamp(slice_1, None, float('inf'))");
    EXPECT_HAS_STR(fx, &"slice_1.to(torch.float64)"[7]);
    EXPECT_HAS_STR(fx, "torch.cat([to_dtype, zeros], 0);  to_dtype = zeros = None");
    EXPECT_HAS_STR(fx, "torch.sum(cat);");
    EXPECT_HAS_STR(fx, "torch.ops.mylib.foo(convolution, 'a\"b\\\\\\x0a', True)");
    round_trip(g);
    dync__graph_unref(g);
}

/* By the names of the table of devices, which need not have any. */
TEST(c_form_of_devices)
{
    static const int devices[] = {DYNC_CPU, DYNC_META, DYNC_CUDA, DYNC_CUDA_AT(3),
                                  DYNC_CUDA_AT(127)};
    dync__graph *g = dync__graph_new("f");
    dync__node *last = NULL;
    for (int i = 0; i < DYNC__COUNT_OF(devices); i++) {
        dync__info info = f32_1(2);
        info.device = devices[i];
        dync__node *x = dync__graph_placeholder(g, NULL, NULL, &info);
        info.device = devices[DYNC__COUNT_OF(devices) - 1 - i];
        last = call2(g, DYNC__OP_to_device, dync__arg_node(x), dync__arg_device(info.device), info,
                     NULL);
    }
    finish(g, last);
    round_trip(g);
    char *text = dync_graph_str(dync__graph_handle(g));
    dync__graph *back = dync__graph_parse(text);
    REQUIRE(back != NULL);
    for (int i = 0, k = 0, left = DYNC__COUNT_OF(devices); i < back->node.n; i++)
        if (back->node.at[i]->kind == DYNC__N_PLACEHOLDER)
            EXPECT_EQ_INT(back->node.at[i]->info[0].device, devices[k++]);
        else if (back->node.at[i]->op == DYNC__OP_to_device)
            EXPECT_EQ_INT(back->node.at[i]->args[1].as.i, devices[--left]);
    dync__graph_unref(back);
    dync__graph_unref(g);
}

TEST(parse_refuses)
{
    static const char *const texts[] = {
        "",
        "int f(void)\n{\n}\n",
        "dync_value f(void)\n{\n    return dync_tuple(x);\n}\n",
        "dync_value f(dync_tensor *x)  /* f32[2 */\n{\n    return dync_tuple(x);\n}\n",
        "dync_value f(dync_tensor *x)  /* f32[9223372036854775807, 9223372036854775807] */\n{\n    "
        "return dync_tuple(x);\n}\n",
        "dync_value f(dync_tensor *x)  /* f32[2] */\n{\n    dync_tensor *y = dync_nosuch(x);  /* "
        "f32[2] */\n    return dync_tuple(y);\n}\n",
        "dync_value f(dync_tensor *x)  /* f32[2] */\n{\n    dync_tensor *y = dync_add(x);  /* "
        "f32[2] */\n    return dync_tuple(y);\n}\n",
        "dync_value f(dync_tensor *x)  /* f32[2] */\n{\n    dync_tensor *x = dync_relu(x);  /* "
        "f32[2] */\n    return dync_tuple(x);\n}\n",
        "dync_value f(dync_tensor *x)  /* f32[2] */\n{\n    dync_tensor *y = dync_relu(3);  /* "
        "f32[2] */\n    return dync_tuple(y);\n}\n",
        "dync_value f(dync_tensor *x)  /* f32[2] */\n{\n    dync_tensor *y = dync_relu(x);  /* "
        "(f32[2], f32[2]) */\n    return dync_tuple(y);\n}\n",
        "dync_value f(dync_tensor *x)  /* f32[2] */\n{\n    return dync_tuple(x);\n} x",
        "dync_value f(dync_tensor *x)  /* f32[2] cuda:128 */\n{\n    return dync_tuple(x);\n}\n",
        "dync_value f(dync_tensor *x)  /* f32[2] cuda:-1 */\n{\n    return dync_tuple(x);\n}\n",
    };
    dync_on_error(NULL, NULL);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        dync_clear_error();
        EXPECT(dync__graph_parse(texts[i]) == NULL);
        EXPECT_STATUS(dync_error(), DYNC_ERR_FORMAT);
    }
    dync_clear_error();
    EXPECT(dync__graph_parse(NULL) == NULL);
}

/* Every prefix and every flipped byte of a text is refused or parsed, never a crash. */
TEST(parse_survives)
{
    static const char text[] =
        "dync_value f(dync_tensor *x  /* f32[2, 3]{1, 2} +4 grad; L_x_; L['x'] */\n"
        "    , dync_tensor *w)  /* f32[4, 3]; attr 0.w */\n"
        "{\n"
        "    dync_tensor *_tensor_constant0 = dync_constant((int64_t[]){1, 2}, dync_shape(2), "
        ".dtype = DYNC_I64);  /* i64[2] */\n"
        "    dync_tensor *a = dync_linear(x, w, NULL);  /* f32[2, 4] */\n"
        "    dync_value m = dync_max_dim(a, -1, true);  /* (f32[2, 1], i64[2, 1]) */\n"
        "    dync_tensor *g = dync_as_tensor(dync_at(m, 1));  /* i64[2, 1] */\n"
        "    dync_tensor *t = dync_as_tensor(dync_op_call_values(\"threshold_backward\", 3, "
        "(dync_value[]){DYNC_V(a), DYNC_V(a), DYNC_V(0)}));  /* f32[2, 4] */\n"
        "    dync_tensor *c = dync_cat(dync_tuple_of(1, (dync_value[]){DYNC_V(t)}), 0);  /* f32[2, "
        "4] */\n"
        "    return dync_tuple(c, g, _tensor_constant0, 0.5, DYNC_NONE);\n"
        "}\n";
    char copy[sizeof text];
    dync__graph *whole = dync__graph_parse(text);
    EXPECT(whole != NULL);
    dync__graph_unref(whole);
    for (size_t n = 0; n + 1 < sizeof text - 1; n++) {
        memcpy(copy, text, n);
        copy[n] = 0;
        dync_clear_error();
        dync__graph *g = dync__graph_parse(copy);
        EXPECT(g == NULL);
        dync__graph_unref(g);
    }
    for (int round = 0; round < 20000; round++) {
        memcpy(copy, text, sizeof text);
        for (int k = test_random_int(1, 3); k > 0; k--)
            copy[test_random_int(0, (int)sizeof text - 2)] = (char)test_random_int(32, 126);
        dync_clear_error();
        dync__graph_unref(dync__graph_parse(copy));
    }
    dync_clear_error();
}

TEST(verifier)
{
    dync__graph *g = dync__graph_new(NULL);
    dync__info info = f32_1(2);
    dync__node *x = dync__graph_placeholder(g, "x", NULL, &info),
               *y = call1(g, DYNC__OP_relu, x, info), *z = call1(g, DYNC__OP_neg, y, info);
    finish(g, z);
    y->args[0].as.node = z; /* uses what comes later */
    EXPECT_STATUS(dync__graph_check(g), DYNC_ERR_INTERNAL);
    EXPECT_HAS_STR(dync_error_message(), "relu");
    dync_clear_error();
    y->args[0].as.node = x;
    y->nargs = 0;
    EXPECT_STATUS(dync__graph_check(g), DYNC_ERR_INTERNAL);
    dync_clear_error();
    y->nargs = 1;
    z->name = y->name;
    EXPECT_STATUS(dync__graph_check(g), DYNC_ERR_INTERNAL);
    dync_clear_error();
    dync__graph_unref(g);
}

TEST_MAIN
