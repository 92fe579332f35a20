/* Programs that are easy to get wrong: views and writes in every order, aliases, odd shapes and
 * types, what leaves a function and what stays behind. Each is run eagerly and compiled, on every
 * backend, several times: results and written arguments must agree. */
#define TEST_AFTER_EACH dync_shutdown()
#include "counter.h"

static const char *const backends[] = {"eager", "eager_noexcept", "aot_eager", "inductor"};
enum { N_BACKENDS = 4, CALLS = 4 };

typedef dync_value (*make_inputs)(int call); /* a list of arguments */

static bool same_values(dync_value a, dync_value b)
{
    if (a.kind != b.kind) return false;
    switch (a.kind) {
    case DYNC_KIND_TENSOR: {
        dync_tensor *x = a.as.t, *y = b.as.t;
        bool equal = dync_ndim(x) == dync_ndim(y) && dync_type(x) == dync_type(y) &&
                     dync_requires_grad(x) == dync_requires_grad(y);
        for (int i = 0; equal && i < dync_ndim(x); i++) equal = dync_size(x, i) == dync_size(y, i);
        return equal && dync_allclose(x, y, 1e-3, 1e-4);
    }
    case DYNC_KIND_LIST:
        if (dync_len(a) != dync_len(b)) return false;
        for (int i = 0; i < dync_len(a); i++)
            if (!same_values(dync_at(a, i), dync_at(b, i))) return false;
        return true;
    case DYNC_KIND_BOOL: return a.as.b == b.as.b;
    case DYNC_KIND_INT: return a.as.i == b.as.i;
    case DYNC_KIND_FLOAT: return memcmp(&a.as.f, &b.as.f, sizeof a.as.f) == 0;
    case DYNC_KIND_STR: return strcmp(a.as.s, b.as.s) == 0;
    default: return true;
    }
}

static int unpack(dync_value list, dync_value *args)
{
    for (int i = 0; i < dync_len(list); i++) args[i] = dync_at(list, i);
    return dync_len(list);
}

/* Eager against compiled: what comes back, and what became of the arguments. */
static void check(const char *name, dync_function fn, make_inputs inputs)
{
    for (int b = 0; b < N_BACKENDS; b++) {
        dync_compiled *f = dync_compile(fn, .backend = backends[b], .name = name);
        for (int call = 0; call < CALLS; call++) {
            DYNC_SCOPE {
                dync_value want_args[70], got_args[70];
                dync_manual_seed((uint64_t)(call + 1));
                dync_value want_in = inputs(call);
                dync_manual_seed((uint64_t)(call + 1));
                dync_value got_in = inputs(call);
                int n = unpack(want_in, want_args);
                unpack(got_in, got_args);
                dync_manual_seed(77);
                dync_value want = fn(want_args, n, NULL);
                dync_manual_seed(77);
                dync_value got = dync_call_values(f, n, got_args);
                if (!EXPECT_OK(dync_error()) || !EXPECT(same_values(want, got)) ||
                    !EXPECT(same_values(want_in, got_in)))
                    printf("    %s, backend %s, call %d\n", name, backends[b], call);
                dync_clear_error();
            }
        }
        dync_compiled_free(f);
    }
}
#define PROGRAM(name, inputs)                                            \
    static dync_value name##_fn(const dync_value *a, int n, void *user); \
    TEST(name) { check(#name, name##_fn, inputs); }                      \
    static dync_value name##_fn(const dync_value *a, int n, void *user)
#define T(i) dync_as_tensor(a[i])
#define UNUSED (void)a, (void)n, (void)user

/* ---- inputs ---------------------------------------------------------------------------------- */
static dync_value one(int call)
{
    (void)call;
    return dync_tuple(dync_randn(dync_shape(4, 6)));
}
static dync_value two(int call)
{
    (void)call;
    return dync_tuple(dync_randn(dync_shape(4, 6)), dync_randn(dync_shape(4, 6)));
}
static dync_value same_twice(int call)
{
    dync_tensor *x = dync_randn(dync_shape(4, 6));
    if (call == 2) return dync_tuple(x, dync_clone(x)); /* not the same one */
    return dync_tuple(x, x);
}
static dync_value views_of_one(int call)
{
    dync_tensor *base = dync_randn(dync_shape(8, 6));
    /* they overlap */
    if (call % 2 == 1)
        return dync_tuple(dync_slice(base, 0, 0, 4, 1), dync_slice(base, 0, 2, 6, 1));
    return dync_tuple(dync_slice(base, 0, 0, 4, 1), dync_slice(dync_clone(base), 0, 2, 6, 1));
}
static dync_value empty(int call)
{
    (void)call;
    return dync_tuple(dync_randn(dync_shape(0, 6)), dync_randn(dync_shape(4, 0)));
}
static dync_value scalars(int call)
{
    return dync_tuple(dync_full(DYNC_SCALAR, 1.5 + call), dync_full(DYNC_SCALAR, -2));
}
static dync_value none(int call)
{
    (void)call;
    return dync_tuple_of(0, NULL);
}
static dync_value strided(int call)
{
    dync_tensor *x = dync_randn(dync_shape(6, 4));
    (void)call;
    return dync_tuple(dync_transpose(x, 0, 1),
                      dync_slice(dync_randn(dync_shape(9, 12)), 1, 1, 12, 2));
}
static dync_value expanded(int call)
{
    (void)call;
    return dync_tuple(dync_expand(dync_randn(dync_shape(1, 6)), dync_shape(4, 6)),
                      dync_randn(dync_shape(4, 6)));
}
static dync_value offset(int call)
{
    dync_tensor *x = dync_randn(dync_shape(40));
    return dync_tuple(dync_view(dync_slice(x, 0, call * 2, call * 2 + 24, 1), dync_shape(4, 6)),
                      dync_randn(dync_shape(4, 6)));
}
static dync_value with_grad(int call)
{
    (void)call;
    return dync_tuple(dync_randn(dync_shape(4, 6), .requires_grad = true),
                      dync_randn(dync_shape(4, 6)));
}
static dync_value changing(int call)
{
    return dync_tuple(dync_randn(dync_shape(2 + call, 6)), dync_randn(dync_shape(6)));
}
static dync_value types(int call)
{
    static const dync_dtype dtype[CALLS] = {DYNC_F32, DYNC_F64, DYNC_F16, DYNC_BF16};
    return dync_tuple(dync_to_dtype(dync_randn(dync_shape(4, 6)), dtype[call]),
                      dync_to_dtype(dync_randn(dync_shape(4, 6)), dtype[call]));
}
static dync_value integers(int call)
{
    static const dync_dtype dtype[CALLS] = {DYNC_I64, DYNC_I32, DYNC_U8, DYNC_BOOL};
    dync_tensor *x = dync_view(dync_arange(0, 24, 1), dync_shape(4, 6));
    return dync_tuple(dync_to_dtype(x, dtype[call]), dync_to_dtype(dync_add(x, 3), dtype[call]));
}
static dync_value plain(int call)
{
    dync_tensor *x = dync_randn(dync_shape(3));
    return dync_tuple(x, call < 2 ? "left" : "right", call & 1, 2 + call, 0.5,
                      dync_tuple(x, DYNC_NONE, dync_tuple(1, dync_randn(dync_shape(3)))));
}

/* ---- writes and views ------------------------------------------------------------------------ */
PROGRAM(write_then_view, one)
{
    UNUSED;
    dync_mul_(T(0), 2);
    return DYNC_V(dync_transpose(T(0), 0, 1));
}
PROGRAM(view_then_write, one)
{
    UNUSED;
    dync_tensor *v = dync_select(T(0), 0, 1), *w = dync_add(v, 1);
    dync_add_(T(0), 3);
    return dync_tuple(v, w, dync_mul(v, w));
}
PROGRAM(view_of_view_written, one)
{
    UNUSED;
    dync_tensor *v = dync_slice(dync_transpose(T(0), 0, 1), 0, 1, 5, 2), *before = dync_clone(v);
    dync_mul_(v, 10);
    dync_add_(dync_select(T(0), 0, 0), 1);
    return dync_tuple(before, v, dync_sum(T(0), DYNC_ALL, false));
}
PROGRAM(argument_returned_and_written, two)
{
    UNUSED;
    dync_add_(T(0), T(1));
    return dync_tuple(T(0), T(1), T(0));
}
PROGRAM(argument_returned, two)
{
    UNUSED;
    return dync_tuple(T(1), T(0));
}
PROGRAM(one_argument_back, one)
{
    UNUSED;
    return a[0];
}
PROGRAM(same_argument_twice_written, same_twice)
{
    UNUSED;
    dync_add_(T(0), 1);
    return DYNC_V(dync_mul(T(1), 2));
}
PROGRAM(same_argument_twice, same_twice)
{
    UNUSED;
    return DYNC_V(dync_sub(T(0), dync_mul(T(1), 2)));
}
PROGRAM(views_of_one_written, views_of_one)
{
    UNUSED;
    dync_mul_(T(0), 3);
    return DYNC_V(dync_add(T(1), 1));
}
PROGRAM(views_of_one_both_written, views_of_one)
{
    UNUSED;
    dync_mul_(T(0), 3);
    dync_add_(T(1), dync_exp(T(0)));
    return dync_tuple(T(0), dync_sum(T(1), DYNC_ALL, false));
}
PROGRAM(views_of_one_after_a_break, views_of_one)
{
    UNUSED;
    dync_tensor *y = dync_add(T(0), 1);
    dync_graph_break("here");
    dync_mul_(T(0), 3);
    return dync_tuple(dync_add(T(1), y));
}
PROGRAM(written_between_uses, two)
{
    UNUSED;
    dync_tensor *x = dync_mul(T(0), 2), *y = dync_exp(x);
    dync_add_(x, 1);
    dync_tensor *z = dync_mul(x, y);
    dync_fill_(x, 0.5);
    return dync_tuple(y, z, x);
}
PROGRAM(copied_into_itself, one)
{
    UNUSED;
    dync_copy_(dync_slice(T(0), 0, 0, 2, 1), dync_slice(T(0), 0, 2, 4, 1));
    return DYNC_V(dync_neg(T(0)));
}

/* ---- what leaves ----------------------------------------------------------------------------- */
PROGRAM(output_twice, one)
{
    UNUSED;
    dync_tensor *y = dync_exp(dync_neg(T(0)));
    return dync_tuple(y, y, dync_tuple(y));
}
PROGRAM(outputs_are_views, one)
{
    UNUSED;
    dync_tensor *y = dync_tanh(T(0));
    return dync_tuple(dync_select(y, 0, 0), y, dync_transpose(y, 0, 1), dync_slice(y, 1, 1, 3, 1));
}
PROGRAM(views_alone_leave, one)
{
    UNUSED;
    dync_tensor *y = dync_tanh(T(0));
    return dync_tuple(dync_select(y, 0, 1), dync_select(y, 0, 2));
}
PROGRAM(nothing_leaves, one)
{
    UNUSED;
    dync_tanh(T(0));
    return DYNC_NONE;
}
PROGRAM(nothing_leaves_but_a_write, one)
{
    UNUSED;
    dync_tanh(T(0));
    dync_mul_(T(0), 2);
    return DYNC_NONE;
}
PROGRAM(nothing_at_all, one)
{
    UNUSED;
    return DYNC_NONE;
}
PROGRAM(numbers_leave, one)
{
    UNUSED;
    return dync_tuple(3, 2.5, true, "text", DYNC_NONE, dync_exp(T(0)), dync_tuple_of(0, NULL));
}
PROGRAM(integers_leave, one)
{
    UNUSED;
    return dync_tuple(dync_argmax(T(0), 1, false), dync_gt(T(0), 0));
}
PROGRAM(nested_lists, two)
{
    UNUSED;
    dync_tensor *s = dync_add(T(0), T(1));
    return dync_tuple(dync_tuple(s, dync_tuple(T(0), dync_tuple(dync_mul(s, 2)))), 1,
                      dync_tuple(dync_tuple(s)));
}
PROGRAM(texts_leave_after_a_break, one)
{
    UNUSED;
    dync_tensor *y = dync_exp(T(0));
    dync_graph_break("here");
    return dync_tuple("a text", dync_add(y, 1));
}
PROGRAM(input_not_used, two)
{
    UNUSED;
    return DYNC_V(dync_add(T(1), 1));
}
PROGRAM(no_arguments, none)
{
    UNUSED;
    return dync_tuple(dync_add(dync_ones(dync_shape(3)), 1), dync_arange(0, 5, 1));
}

/* ---- odd forms ------------------------------------------------------------------------------- */
PROGRAM(no_elements, empty)
{
    UNUSED;
    return dync_tuple(dync_add(T(0), 1), dync_sum(T(0), DYNC_ALL, false),
                      dync_sum(T(0), dync_shape(0), true), dync_matmul(T(1), T(0)),
                      dync_cat(dync_tuple(T(0), T(0)), 0));
}
PROGRAM(no_elements_written, empty)
{
    UNUSED;
    dync_add_(T(0), 1);
    return dync_tuple(T(0), dync_softmax(T(0), 1));
}
PROGRAM(zero_dims, scalars)
{
    UNUSED;
    return dync_tuple(dync_mul(T(0), T(1)), dync_add(dync_exp(T(1)), 2),
                      dync_sum(T(0), DYNC_ALL, false));
}
PROGRAM(zero_dims_written, scalars)
{
    UNUSED;
    dync_mul_(T(0), T(1));
    return DYNC_V(dync_unsqueeze(T(0), 0));
}
PROGRAM(strided_inputs, strided)
{
    UNUSED;
    return dync_tuple(dync_add(T(0), dync_slice(T(1), 0, 0, 4, 1)), dync_softmax(T(0), 1));
}
PROGRAM(strided_input_written, strided)
{
    UNUSED;
    dync_add_(T(0), 1);
    dync_mul_(T(1), 2);
    return DYNC_V(dync_sum(T(1), dync_shape(0), false));
}
PROGRAM(expanded_input, expanded)
{
    UNUSED;
    return DYNC_V(dync_mul(T(0), T(1)));
}
PROGRAM(offset_input, offset)
{
    UNUSED;
    return dync_tuple(dync_mul(T(0), T(1)), dync_select(T(0), 0, 3));
}
PROGRAM(offset_input_written, offset)
{
    UNUSED;
    dync_mul_(dync_select(T(0), 0, 1), 4);
    return dync_tuple(T(0), dync_transpose(T(0), 0, 1));
}
PROGRAM(offset_as_strided, offset)
{
    UNUSED;
    return DYNC_V(dync_add(dync_as_strided(T(0), dync_shape(3, 2), dync_shape(1, 2), 4), 1));
}
PROGRAM(changing_shapes, changing)
{
    UNUSED;
    return DYNC_V(dync_relu(dync_add(T(0), T(1))));
}
PROGRAM(float_types, types)
{
    UNUSED;
    return dync_tuple(dync_add(dync_mul(T(0), T(1)), 1), dync_sum(T(0), dync_shape(1), false),
                      dync_relu(T(1)));
}
PROGRAM(float_types_written, types)
{
    UNUSED;
    dync_mul_(T(0), 0.5);
    return DYNC_V(dync_sub(T(0), T(1)));
}
PROGRAM(integer_types, integers)
{
    UNUSED;
    return dync_tuple(dync_add(T(0), T(1)), dync_mul(T(0), 2.5), dync_sum(T(1), DYNC_ALL, false),
                      dync_eq(T(0), T(1)));
}
PROGRAM(plain_arguments, plain)
{
    UNUSED;
    dync_tensor *x = T(0);
    if (strcmp(dync_as_str(a[1]), "left") == 0) x = dync_neg(x);
    if (dync_as_bool(a[2])) x = dync_mul(x, a[3]);
    x = dync_add(x, a[4]);
    return DYNC_V(dync_add(x, dync_as_tensor(dync_at(dync_at(a[5], 2), 1))));
}

/* ---- control --------------------------------------------------------------------------------- */
PROGRAM(scopes_inside, two)
{
    UNUSED;
    dync_tensor *acc = T(0);
    for (int i = 0; i < 3; i++) DYNC_SCOPE {
        dync_tensor *t = dync_mul(acc, T(1));
        acc = dync_escape(dync_add(t, dync_exp(dync_neg(dync_abs(t)))));
    }
    return DYNC_V(acc);
}
PROGRAM(early_return_inside_a_scope, two)
{
    UNUSED;
    DYNC_SCOPE {
        dync_tensor *t = dync_mul(T(0), 2);
        if (dync_bool(dync_gt(dync_sum(T(1), DYNC_ALL, false), 0)))
            return DYNC_V(dync_escape(dync_add(t, 1)));
    }
    return DYNC_V(dync_sub(T(0), 5));
}
static dync_value steps(int call) { return dync_tuple(dync_full(DYNC_SCALAR, 100 - 7 * call)); }
PROGRAM(hundred_branches, steps)
{
    UNUSED;
    dync_tensor *x = T(0);
    int count = 0;
    while (dync_bool(dync_gt(x, 0))) {
        x = dync_sub(x, 1);
        count++;
    }
    return dync_tuple(x, count);
}
static dync_tensor *factorial(dync_tensor *x, dync_tensor *k)
{
    if (!dync_bool(dync_gt(k, 0))) return x;
    return dync_frame(factorial, dync_mul(x, k), dync_sub(k, 1));
}
static dync_value recursion(int call)
{
    return dync_tuple(dync_ones(dync_shape(3)), dync_full(DYNC_SCALAR, 1 + call));
}
PROGRAM(recursion_through_frames, recursion)
{
    UNUSED;
    return DYNC_V(dync_frame(factorial, T(0), T(1)));
}
PROGRAM(no_grad_inside, with_grad)
{
    UNUSED;
    dync_tensor *y = NULL;
    DYNC_NO_GRAD {
        y = dync_mul(T(0), 2);
    }
    return dync_tuple(y, dync_mul(T(0), T(1)), dync_add(y, T(0)));
}
PROGRAM(random_numbers, one)
{
    UNUSED;
    dync_tensor *noise = dync_randn(dync_shape(4, 6)),
                *mask = dync_lt(dync_rand(dync_shape(4, 6)), 0.5);
    return dync_tuple(dync_add(T(0), noise), dync_where(mask, T(0), dync_neg(T(0))),
                      dync_dropout(T(0), 0.3, true));
}
PROGRAM(random_numbers_around_a_break, one)
{
    UNUSED;
    dync_tensor *noise = dync_randn(dync_shape(4, 6));
    dync_graph_break("here");
    return dync_tuple(noise, dync_add(dync_rand(dync_shape(4, 6)), noise));
}
PROGRAM(random_numbers_and_a_branch, two)
{
    UNUSED;
    dync_tensor *noise = dync_randn(dync_shape(4, 6)), *unused = dync_rand(dync_shape(2));
    (void)unused;
    if (dync_bool(dync_gt(dync_sum(T(1), DYNC_ALL, false), 0)))
        noise = dync_mul(noise, dync_rand(dync_shape(4, 6)));
    return DYNC_V(dync_add(noise, dync_dropout(T(0), 0.5, true)));
}
TEST_MAIN
