/* tests/capture/test_upstream.c: what torch.compile does in corners of capture, done here too:
 * sizes that a slice leaves, inputs that nothing alive needs, tensors without data, hooks that are
 * not there, grad mode, symbolic tests, breaks under fullgraph. */
#include "counter.h"

/* ---- slices whose size is 0 or 1 in the traced call ------------------------------------------ */
static dync_tensor *every_second(dync_tensor *x)
{
    return dync_slice(dync_sin(x), 1, 0, INT64_MAX, 2);
}
static dync_tensor *from_the_third(dync_tensor *x)
{
    return dync_slice(dync_sin(x), 1, 2, INT64_MAX, 1);
}
static dync_tensor *all_but_two(dync_tensor *x) { return dync_slice(dync_sin(x), 1, 0, -2, 1); }

TEST(slices_of_size_0_or_1_guard_what_they_were)
{
    static const char *const backends[] = {"counter",   "eager",  "ts",
                                           "aot_eager", "aot_ts", "inductor"};
    dync_tensor *(*fns[])(dync_tensor *) = {every_second, from_the_third, all_but_two};
    for (int b = 0; b < 6; b++)
        for (int k = 0; k < 3; k++)
            for (int mode = 0; mode < 2; mode++) {
                counter c = {.inner = b ? backends[b] : NULL};
                dync_dynamic dynamic = mode ? DYNC_DYNAMIC_ON : DYNC_DYNAMIC_AUTO;
                dync_compiled *f =
                    dync_compile(fns[k], .backend_object = &COUNTER(c), .dynamic = dynamic);
                for (int again = 0; again < 2; again++) {
                    static const int width[] = {3, 2, 4, 5, 2, 3, 9, 4};
                    int before = c.frame_count;
                    for (int i = 0; i < 8; i++) DYNC_SCOPE {
                        dync_tensor *x = dync_rand(dync_shape(2, width[i])), *want = fns[k](x);
                        EXPECT(same(dync_call(f, x), want, 1e-6));
                    }
                    if (again) EXPECT_EQ_INT(c.frame_count, before);
                }
                dync_compiled_free(f);
            }
}

static dync_tensor *fixed_after_a_break(dync_tensor *x, dync_tensor *y)
{
    x = dync_sin(x);
    dync_graph_break("here");
    return dync_add(dync_mul(x, y), dync_ones(dync_shape(3, 3)));
}
TEST(a_size_that_is_fixed_after_a_break_compiles_once)
{
    counter c = {0};
    dync_compiled *f = dync_compile(fixed_after_a_break, .backend_object = &COUNTER(c),
                                    .dynamic = DYNC_DYNAMIC_ON);
    for (int i = 0; i < 4; i++) DYNC_SCOPE {
        dync_tensor *x = dync_rand(dync_shape(3, 3)), *y = dync_rand(dync_shape(3, 3));
        EXPECT(same(dync_call(f, x, y), fixed_after_a_break(x, y), 1e-6));
        EXPECT_EQ_INT(c.frame_count, 2);
    }
    dync_compiled_free(f);
}

/* ---- what only dead values need -------------------------------------------------------------- */
static dync_tensor *dead_product(dync_tensor *x, dync_tensor *y)
{
    dync_tensor *a = dync_sin(x), *b = dync_mul(y, x);
    (void)b;
    dync_graph_break("here");
    return dync_cos(a);
}
static dync_tensor *read_only(dync_tensor *x, dync_tensor *y)
{
    dync_tensor *a = dync_sin(x), *b = dync_mul(y, x);
    return dync_bool(dync_gt(dync_sum(b, DYNC_ALL, false), -100)) ? dync_cos(a) : b;
}
static dync_tensor *written_away(dync_tensor *x, dync_tensor *y)
{
    dync_tensor *a = dync_sin(x);
    dync_add_(dync_clone(x), dync_mul(a, y));
    dync_graph_break("here");
    return dync_cos(a);
}
static dync_tensor *both_live(dync_tensor *x, dync_tensor *y)
{
    dync_tensor *a = dync_sin(x), *b = dync_mul(y, x);
    dync_graph_break("here");
    return dync_add(dync_cos(a), dync_mul(b, 0.0));
}

/* As plain: an optimizer steps over a parameter without gradient, and moves one whose gradient is
 * zeros. */
TEST(inputs_of_dead_values_get_no_gradient)
{
    static const char *const backends[] = {"eager", "aot_eager", "aot_ts", "inductor"};
    dync_tensor *(*fns[])(dync_tensor *, dync_tensor *) = {dead_product, read_only, written_away,
                                                           both_live};
    for (int b = 0; b < 4; b++)
        for (int k = 0; k < 4; k++)
            for (int mode = 0; mode < 2; mode++) {
                dync_compiled *f =
                    dync_compile(fns[k], .backend = backends[b],
                                 .dynamic = mode ? DYNC_DYNAMIC_ON : DYNC_DYNAMIC_AUTO);
                for (int i = 0; i < 3; i++) DYNC_SCOPE {
                    dync_tensor *x = dync_rand(dync_shape(3 + i), .requires_grad = true),
                                *y = dync_rand(dync_shape(3 + i), .requires_grad = true);
                    dync_tensor *r = dync_call(f, x, y), *g;
                    EXPECT(r && dync_backward(dync_sum(r, DYNC_ALL, false)) == DYNC_OK);
                    g = dync_grad(x);
                    EXPECT(g &&
                           same(g, dync_neg(dync_mul(dync_sin(dync_sin(x)), dync_cos(x))), 1e-5));
                    EXPECT_EQ_INT(dync_grad(y) != NULL, k == 3);
                }
                dync_compiled_free(f);
            }
}

/* Slopes of dead values are infinite at 0; a gradient of zeros for them would be NaN. */
static dync_tensor *dead_root(dync_tensor *x)
{
    dync_tensor *a = dync_sin(x), *b = dync_sqrt(a), *c = dync_norm(x, 2, dync_shape(0), false);
    (void)b, (void)c;
    dync_graph_break("here");
    return dync_cos(dync_t(a));
}
TEST(dead_values_of_infinite_slope_leave_no_nan)
{
    static const char *const backends[] = {"eager", "aot_eager", "aot_ts", "inductor"};
    static const dync_dtype dtypes[] = {DYNC_F32, DYNC_F64, DYNC_F16, DYNC_BF16};
    for (int b = 0; b < 4; b++)
        for (int mode = 0; mode < 2; mode++) {
            dync_compiled *f = dync_compile(dead_root, .backend = backends[b],
                                            .dynamic = mode ? DYNC_DYNAMIC_ON : DYNC_DYNAMIC_AUTO);
            for (int i = 0; i < 12; i++) DYNC_SCOPE {
                dync_tensor *x = dync_zeros(dync_shape(3 + i / 4, 2), .dtype = dtypes[i % 4]), *g;
                dync_fill_(dync_select(x, 0, 1), 0.5);
                dync_requires_grad_(x, true);
                dync_tensor *r = dync_call(f, x);
                EXPECT(r && dync_backward(dync_sum(r, DYNC_ALL, false)) == DYNC_OK);
                g = dync_grad(x);
                EXPECT(g &&
                       same(dync_to_dtype(g, DYNC_F32),
                            dync_to_dtype(dync_neg(dync_mul(dync_sin(dync_sin(x)), dync_cos(x))),
                                          DYNC_F32),
                            1e-2));
            }
            dync_compiled_free(f);
        }
}

/* PyTorch subtracts from a bool in the gradients of these, and fails; so did a compiled function
 * whose backward was never asked for. */
static dync_tensor *power_of_truth(dync_tensor *x, dync_tensor *b) { return dync_pow(x, b); }
static dync_tensor *logadd_truth(dync_tensor *x, dync_tensor *b) { return dync_logaddexp(x, b); }
TEST(bools_beside_tensors_with_gradient)
{
    static const char *const backends[] = {NULL, "aot_eager", "inductor"};
    dync_tensor *(*fns[])(dync_tensor *, dync_tensor *) = {power_of_truth, logadd_truth};
    float values[] = {1, -2, 0.5f};
    bool truth[] = {true, false, true};
    for (int k = 0; k < 2; k++)
        for (int b = 0; b < 3; b++) DYNC_SCOPE {
            dync_tensor *x = dync_from(values, dync_shape(3), .requires_grad = true),
                        *t = dync_from(truth, dync_shape(3), .dtype = DYNC_BOOL), *r, *want;
            dync_compiled *f = backends[b] ? dync_compile(fns[k], .backend = backends[b]) : NULL;
            r = f ? dync_call(f, x, t) : fns[k](x, t);
            want = k ? dync_sigmoid(dync_sub(dync_detach(x), dync_to_dtype(t, DYNC_F32)))
                     : dync_to_dtype(t, DYNC_F32);
            EXPECT(r && dync_backward(dync_sum(r, DYNC_ALL, false)) == DYNC_OK);
            EXPECT(dync_grad(x) && same(dync_grad(x), want, 1e-6));
            dync_compiled_free(f);
        }
}

/* ---- numbers as inputs ----------------------------------------------------------------------- */
static dync_value times(const dync_value *a, int n, void *user)
{
    (void)n, (void)user;
    return dync_v_tensor(dync_mul(dync_as_tensor(a[0]), a[1]));
}
static dync_value plus_twice(const dync_value *a, int n, void *user)
{
    (void)n, (void)user;
    return dync_v_tensor(dync_add(dync_as_tensor(a[0]), dync_sym_add(a[1], a[1])));
}
static dync_tensor *plus_item(dync_tensor *x)
{
    double sum = dync_item(dync_sum(x, DYNC_ALL, false));
    return dync_add(dync_sin(x), sum);
}

TEST(every_backend_takes_numbers)
{
    static const char *const backends[] = {"eager", "ts", "aot_eager", "aot_ts", "inductor"};
    for (int b = 0; b < 5; b++)
        for (int mode = 0; mode < 3; mode++) {
            static const dync_dynamic dynamic[] = {DYNC_DYNAMIC_AUTO, DYNC_DYNAMIC_OFF,
                                                   DYNC_DYNAMIC_ON};
            dync_compiled *f = dync_compile(times, .args = "x, s", .symbolic = "s",
                                            .backend = backends[b], .dynamic = dynamic[mode]);
            dync_compiled *g = dync_compile(plus_twice, .args = "x, s", .symbolic = "s",
                                            .backend = backends[b], .dynamic = dynamic[mode]);
            dync_compiled *h =
                dync_compile(plus_item, .backend = backends[b], .dynamic = dynamic[mode]);
            for (int i = 0; i < 4; i++) DYNC_SCOPE {
                dync_tensor *x = dync_rand(dync_shape(2 + i % 2), .requires_grad = i > 1);
                EXPECT(same(dync_as_tensor(dync_call_value(f, x, dync_v_float(0.5 + i))),
                            dync_mul(x, 0.5 + i), 1e-6));
                EXPECT(same(dync_as_tensor(dync_call_value(g, x, dync_v_int(3 + i))),
                            dync_add(x, 6 + 2 * i), 1e-6));
                EXPECT(same(dync_call(h, x), plus_item(x), 1e-6));
            }
            dync_compiled_free(f);
            dync_compiled_free(g);
            dync_compiled_free(h);
        }
}

/* ---- meta tensors ---------------------------------------------------------------------------- */
static dync_tensor *layer(dync_tensor *x, dync_tensor *w)
{
    return dync_relu(dync_matmul(dync_sin(x), w));
}
static dync_tensor *writes_first(dync_tensor *x, dync_tensor *w)
{
    dync_add_(x, 1.0);
    return dync_mul(x, w);
}
static dync_tensor *breaks(dync_tensor *x, dync_tensor *w)
{
    x = dync_sin(x);
    dync_graph_break("here");
    return dync_add(dync_mul(x, w), dync_ones(dync_shape(3, 3), .device = DYNC_META));
}
static dync_tensor *meta(bool grad)
{
    return dync_rand(dync_shape(3, 3), .device = DYNC_META, .requires_grad = grad);
}
static bool is_meta(dync_tensor *x)
{
    return x && strcmp(dync_str(x), "tensor(..., device='meta', size=(3, 3))") == 0;
}

TEST(meta_tensors_give_meta_tensors)
{
    static const char *const backends[] = {"eager", "ts", "aot_eager", "aot_ts", "inductor"};
    dync_tensor *(*fns[])(dync_tensor *, dync_tensor *) = {layer, writes_first, breaks};
    EXPECT(is_meta(layer(meta(false), meta(false))));
    for (int b = 0; b < 5; b++)
        for (int k = 0; k < 3; k++)
            for (int mode = 0; mode < 2; mode++) {
                counter c = {.inner = backends[b]};
                dync_compiled *f =
                    dync_compile(fns[k], .backend_object = &COUNTER(c),
                                 .dynamic = mode ? DYNC_DYNAMIC_ON : DYNC_DYNAMIC_AUTO);
                int frames = 0;
                for (int i = 0; i < 3; i++) {
                    EXPECT(is_meta(dync_call(f, meta(false), meta(false))));
                    if (i) EXPECT_EQ_INT(c.frame_count, frames);
                    frames = c.frame_count;
                }
                dync_compiled_free(f);
            }
}

TEST(meta_tensors_have_gradients)
{
    static const char *const backends[] = {"eager", "aot_eager", "inductor"};
    for (int b = 0; b < 3; b++) {
        dync_compiled *f = dync_compile(layer, .backend = backends[b]);
        dync_tensor *w = meta(true);
        EXPECT_OK(dync_backward(dync_sum(dync_call(f, meta(false), w), DYNC_ALL, false)));
        EXPECT(is_meta(dync_grad(w)));
        dync_compiled_free(f);
    }
}

TEST(a_tensor_with_data_after_a_meta_tensor)
{
    char reason[512] = "";
    dync_compiled *f =
        dync_compile(layer, .args = "x, w", .guard_fail = keep_reason, .guard_fail_user = reason);
    dync_tensor *x = dync_rand(dync_shape(3, 3));
    EXPECT(is_meta(dync_call(f, meta(false), meta(false))));
    EXPECT(same(dync_call(f, x, x), layer(x, x), 1e-5));
    EXPECT_EQ_STR(reason, "tensor 'L['x']' dispatch key set mismatch. expected Meta, actual CPU");
    EXPECT(!dync_call(f, meta(false), x));
    EXPECT_HAS_STR(dync_error_message(), "Expected all tensors to be on the same device, but found "
                                         "at least two devices, meta and cpu!");
    dync_clear_error();
    EXPECT(is_meta(dync_call(f, meta(false), meta(false))));
    EXPECT(!dync_copy_(x, meta(false)));
    EXPECT_HAS_STR(dync_error_message(), "Cannot copy out of meta tensor; no data!");
    dync_clear_error();
    dync_compiled_free(f);
}

/* ---- grad mode ------------------------------------------------------------------------------- */
static dync_tensor *breaks_inside(dync_tensor *x)
{
    x = dync_sin(x);
    dync_set_grad_enabled(true);
    x = dync_cos(x);
    dync_graph_break("inside");
    return dync_mul(x, 2);
}
static dync_tensor *switches_around_a_frame(dync_tensor *x)
{
    dync_tensor *y = dync_exp(x);
    dync_set_grad_enabled(false);
    y = dync_frame(breaks_inside, y);
    return dync_add(dync_mul(y, x), y);
}

TEST(a_piece_has_the_grad_mode_that_the_one_before_left)
{
    static const char *const backends[] = {"eager", "aot_eager", "inductor"};
    for (int b = 0; b < 3; b++) {
        dync_compiled *f = dync_compile(switches_around_a_frame, .backend = backends[b]);
        for (int i = 0; i < 4; i++) DYNC_SCOPE {
            dync_tensor *x = dync_rand(dync_shape(3), .requires_grad = true),
                        *y = dync_requires_grad_(dync_clone(dync_detach(x)), true);
            dync_tensor *r = dync_call(f, x), *want = switches_around_a_frame(y);
            EXPECT(same(r, want, 1e-6));
            EXPECT_OK(dync_backward(dync_sum(r, DYNC_ALL, false)));
            EXPECT_OK(dync_backward(dync_sum(want, DYNC_ALL, false)));
            EXPECT(same(dync_grad(x), dync_grad(y), 1e-6));
        }
        dync_compiled_free(f);
    }
}

static dync_tensor *left_and_entered(dync_tensor *x)
{
    dync_tensor *y, *z;
    bool before = dync_grad_mode_push(false);
    y = dync_sin(x);
    dync_grad_mode_pop(before);
    before = dync_grad_mode_push(false);
    z = dync_cos(y);
    dync_grad_mode_pop(before);
    return dync_mul(z, x);
}
static dync_tensor *empty_region(dync_tensor *x)
{
    dync_grad_mode_pop(dync_grad_mode_push(false));
    return dync_sin(x);
}
static dync_tensor *region_and_number(dync_tensor *x)
{
    double sum = dync_item(dync_sum(x, DYNC_ALL, false));
    dync_grad_mode_pop(dync_grad_mode_push(false));
    return dync_add(dync_sin(x), sum);
}

TEST(a_region_left_and_entered_again_is_one)
{
    counter c = {0};
    dync_compiled *f = dync_compile(left_and_entered, .args = "x", .backend_object = &COUNTER(c));
    dync_tensor *x = dync_rand(dync_shape(3), .requires_grad = true);
    EXPECT(same(dync_call(f, x), left_and_entered(x), 1e-6));
    EXPECT_EQ_INT(c.op_count, 5);
    EXPECT_HAS_STR(dync_graph_readable(c.graphs[0]),
                   "        _set_grad_enabled = torch._C._set_grad_enabled(False);  "
                   "_set_grad_enabled = None\n\n"
                   "        sin: \"f32[3]\" = torch.sin(l_x_)\n\n"
                   "        cos: \"f32[3]\" = torch.cos(sin);  sin = None\n\n"
                   "        _set_grad_enabled_3 = torch._C._set_grad_enabled(True);  "
                   "_set_grad_enabled_3 = None\n\n"
                   "        mul: \"f32[3]\" = cos * l_x_;  cos = l_x_ = None\n");
    dync_compiled_free(f);
    counter d = {0};
    f = dync_compile(empty_region, .backend_object = &COUNTER(d));
    EXPECT(same(dync_call(f, x), dync_sin(x), 1e-6) && dync_is_grad_enabled());
    EXPECT_EQ_INT(d.op_count, 1);
    dync_compiled_free(f);
    counter e = {0};
    f = dync_compile(region_and_number, .backend_object = &COUNTER(e));
    for (int i = 0; i < 6; i++)
        DYNC_SCOPE { /* its place in the script is found although the pair is gone */
        x = dync_rand(dync_shape(3));
        EXPECT(same(dync_call(f, x), region_and_number(x), 1e-6));
    }
    EXPECT_EQ_INT(e.frame_count, 3);
    dync_compiled_free(f);
}

/* ---- breaks under fullgraph ------------------------------------------------------------------ */
static int own_line;
static dync_tensor *breaks_with_reason(dync_tensor *x)
{
    x = dync_sin(x);
    own_line = __LINE__ + 1;
    dync_graph_break("100%s of %n: why not");
    return dync_cos(x);
}
static dync_tensor *breaks_without(dync_tensor *x)
{
    dync_graph_break(NULL);
    return dync_cos(x);
}

TEST(a_break_under_fullgraph_tells_its_reason_after_the_fixed_text)
{
    static const char fixed[] =
        "'skip function graph_break in file _dynamo/decorators.py'\n\nfrom user code:\n";
    char own[200];
    dync_compiled *f = dync_compile(breaks_with_reason, .fullgraph = true),
                  *g = dync_compile(breaks_without, .fullgraph = true);
    EXPECT(!dync_call(f, dync_ones(dync_shape(2))));
    EXPECT_EQ_STR(dync_error_class(), "Unsupported");
    EXPECT(strncmp(dync_error_message(), fixed, strlen(fixed)) == 0);
    snprintf(own, sizeof own,
             "\ndync_graph_break: 100%%s of %%n: why not\n%s:%d in breaks_with_reason\n", __FILE__,
             own_line);
    EXPECT_HAS_STR(dync_error_message(), own);
    dync_clear_error();
    EXPECT(!dync_call(g, dync_ones(dync_shape(2))));
    EXPECT(strncmp(dync_error_message(), fixed, strlen(fixed)) == 0 &&
           !strstr(dync_error_message(), "null"));
    dync_clear_error();
    dync_compiled_free(f);
    dync_compiled_free(g);
}

/* ---- the parts of a graph -------------------------------------------------------------------- */
typedef struct {
    const char *name;
    dync_value value;
} named_value;
typedef struct {
    dync_graph *part[16];
    int n;
    const dync_graph *whole;
} split_graph;

static bool picks_mul(const dync_node *node, void *user)
{
    (void)user;
    return strcmp(dync_node_target(node), "mul") == 0;
}
static dync_value value_named(const named_value *known, int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (strcmp(known[i].name, name) == 0) return known[i].value;
    EXPECT(!"a name that nobody gave");
    return DYNC_NONE;
}

/* What the documentation says: inputs by name, results under the names of the output's inputs. */
static dync_value split_run(void *state, const dync_value *args, int nargs)
{
    split_graph *s = state;
    named_value known[64];
    int n = 0;
    dync_value r = DYNC_NONE;
    for (int i = 0; i < nargs; i++)
        known[n++] = (named_value){dync_node_name(dync_graph_node(s->whole, i)), args[i]};
    for (int k = 0; k < s->n; k++) {
        const dync_graph *g = s->part[k];
        int len = dync_graph_len(g), inputs = 0;
        dync_value in[16];
        dync_node *out[16];
        for (int i = 0; i < len; i++)
            if (strcmp(dync_node_op(dync_graph_node(g, i)), "placeholder") == 0)
                in[inputs++] = value_named(known, n, dync_node_name(dync_graph_node(g, i)));
        r = dync_graph_run(s->part[k], in, inputs);
        int outputs = dync_node_inputs(dync_graph_node(g, len - 1), out, 16);
        for (int i = 0; i < outputs && k + 1 < s->n; i++)
            known[n++] = (named_value){dync_node_name(out[i]), dync_at(r, i)};
    }
    return r;
}
static void split_destroy(void *state)
{
    split_graph *s = state;
    for (int i = 0; i < s->n; i++) dync_graph_free(s->part[i]);
    free(s);
}
static dync_status split_compile(dync_graph *g, const dync_value *ex, int n, const char *options,
                                 dync_callable *out, void *user)
{
    split_graph *s = calloc(1, sizeof *s);
    (void)ex, (void)n, (void)options;
    s->n = 16;
    s->whole = g;
    memset(out, 0, sizeof *out);
    *out = (dync_callable){.run = split_run, .destroy = split_destroy, .state = s};
    dync_status status = dync_graph_split(g, picks_mul, NULL, s->part, &s->n);
    *(int *)user = s->n;
    return status;
}
static dync_tensor *of_parts(dync_tensor *x, dync_tensor *y)
{
    dync_tensor *a = dync_sin(x), *b = dync_mul(a, y),
                *z = dync_ones(dync_shape(dync_dim(x, 0), 2));
    z = dync_mul(z, 2); /* a part of sizes alone */
    dync_tensor *c = dync_mul(dync_cat(dync_tuple(b, z), 1), 3);
    return dync_add(dync_sum(c, dync_shape(1), true), dync_mul(a, dync_exp(y)));
}

TEST(parts_connect_by_names)
{
    for (int mode = 0; mode < 2; mode++) {
        int parts = 0;
        dync_backend b = {.name = "parts", .compile = split_compile, .user = &parts};
        dync_compiled *f = dync_compile(of_parts, .backend_object = &b,
                                        .dynamic = mode ? DYNC_DYNAMIC_ON : DYNC_DYNAMIC_OFF);
        for (int n = 2; n < 6; n++) DYNC_SCOPE {
            dync_tensor *x = dync_rand(dync_shape(n, 3)), *y = dync_rand(dync_shape(n, 3));
            EXPECT(same(dync_call(f, x, y), of_parts(x, y), 1e-6));
        }
        EXPECT(parts > 4);
        dync_compiled_free(f);
    }
}
TEST_MAIN
