/* What compiles again, and why: sizes, numbers, dtypes, layouts, grad mode, aliases, what stands
 * outside. */
#include "upstream.h"
#include "guards.h"

/* A compiled function behind a counter: frames after each call, the reason of the last guard that
 * failed; each result is the plain one. */
typedef struct {
    counter c;
    dync_backend backend;
    dync_compiled *f;
    dync_function fn;
    char reason[512];
    double frames[16];
    int n;
} guarded;
static void begin(guarded *g, dync_function fn, const char *args, dync_compile_options o)
{
    memset(g, 0, sizeof *g);
    g->backend = COUNTER(g->c);
    g->fn = fn;
    o.args = args;
    o.backend_object = &g->backend;
    o.guard_fail = keep_reason;
    o.guard_fail_user = g->reason;
    g->f = dync_compile_opt(dync_fnv(fn), "fn", o);
}
static dync_tensor *call(guarded *g, int n, const dync_value *args)
{
    dync_tensor *got = dync_as_tensor(dync_call_values(g->f, n, args));
    EXPECT(same(got, dync_as_tensor(g->fn(args, n, NULL)), 1e-3));
    g->frames[g->n++] = g->c.frame_count;
    return got;
}
#define CALL(g, ...) call(g, DYNC_COUNT(__VA_ARGS__), (dync_value[]){DYNC_MAP_V(__VA_ARGS__)})
#define END(g)                                                           \
    do {                                                                 \
        tell_numbers("frames", (g)->frames, (g)->n, __FILE__, __LINE__); \
        dync_compiled_free((g)->f);                                      \
    } while (0)
#define REASON(g) TELL_TEXT("reason", (g)->reason)
static const dync_compile_options AUTO = {.dynamic = DYNC_DYNAMIC_AUTO},
                                  OFF = {.dynamic = DYNC_DYNAMIC_OFF},
                                  ON = {.dynamic = DYNC_DYNAMIC_ON};
#define FUNCTION(name, expression)                                 \
    static dync_value name(const dync_value *a, int n, void *user) \
    {                                                              \
        (void)n, (void)user, (void)a;                              \
        return DYNC_V(expression);                                 \
    }
#define T(i) dync_as_tensor(a[i])

FUNCTION(product, dync_mul(a[0], a[1]))
static void product_of(dync_compile_options o, bool told)
{
    static const int sizes[] = {2, 3, 4, 4, 5, 5, 6};
    guarded g;
    begin(&g, product, "x, y", o);
    for (int i = 0; i < 7; i++) CALL(&g, ramp(sizes[i], 0), ramp(sizes[i], 1));
    if (told) REASON(&g);
    END(&g);
}
SCENARIO(sizes_become_symbolic_with_the_second) { product_of(AUTO, true); }
SCENARIO(sizes_stay_numbers) { product_of(OFF, true); }
SCENARIO(sizes_are_symbolic_at_once) { product_of(ON, false); }

FUNCTION(twice_plus_1, dync_add(dync_mul(T(0), 2), 1))
SCENARIO(sizes_0_and_1_are_compiled_for_themselves)
{
    static const int sizes[] = {4, 1, 0, 7, 1, 0};
    guarded g;
    begin(&g, twice_plus_1, "x", ON);
    for (int i = 0; i < 6; i++) CALL(&g, sizes[i] ? ramp(sizes[i], 0) : dync_zeros(dync_shape(0)));
    REASON(&g);
    END(&g);
}

FUNCTION(sine, dync_sin(T(0)))
SCENARIO(one_size_of_two_changes)
{
    guarded g;
    begin(&g, sine, "x", AUTO);
    for (int n = 2; n < 5; n++) CALL(&g, ramp_at(dync_shape(n, 3), 0, false));
    CALL(&g, ramp_at(dync_shape(2, 4), 0, false));
    CALL(&g, ramp_at(dync_shape(5, 5), 0, false));
    REASON(&g);
    END(&g);
}

FUNCTION(two_sums, dync_add(total(T(0)), total(T(1))))
SCENARIO(sizes_that_were_equal_differ)
{
    static const int sizes[][2] = {{2, 2}, {2, 3}, {4, 4}, {4, 5}};
    guarded g;
    begin(&g, two_sums, "a, b", ON);
    for (int i = 0; i < 4; i++) CALL(&g, ramp(sizes[i][0], 0), ramp(sizes[i][1], 0));
    REASON(&g);
    END(&g);
}
SCENARIO(sizes_that_differed_are_equal)
{
    static const int sizes[][2] = {{2, 3}, {2, 2}, {5, 5}};
    guarded g;
    begin(&g, two_sums, "a, b", ON);
    for (int i = 0; i < 3; i++) CALL(&g, ramp(sizes[i][0], 0), ramp(sizes[i][1], 0));
    END(&g);
}

FUNCTION(matrices, dync_matmul(T(0), T(1)))
SCENARIO(product_whose_sizes_agree)
{
    static const int sizes[][3] = {{2, 3, 4}, {5, 6, 7}, {3, 2, 9}};
    guarded g;
    begin(&g, matrices, "a, b", ON);
    for (int i = 0; i < 3; i++)
        CALL(&g, ramp_at(dync_shape(sizes[i][0], sizes[i][1]), 0, false),
             ramp_at(dync_shape(sizes[i][1], sizes[i][2]), 0, false));
    END(&g);
}

FUNCTION(by_flag, dync_as_bool(a[0]) ? dync_mul(a[1], 2) : dync_mul(a[1], a[1]))
SCENARIO(bool_argument_and_sizes)
{
    guarded g;
    begin(&g, by_flag, "x, y", AUTO);
    CALL(&g, DYNC_TRUE, ramp(2, 0));
    CALL(&g, DYNC_FALSE, ramp(2, 0));
    for (int n = 3; n < 6; n++) CALL(&g, DYNC_TRUE, ramp(n, 0));
    REASON(&g);
    END(&g);
}

SCENARIO(tensor_and_number_take_turns)
{
    dync_compile_options o = AUTO;
    guarded g;
    o.symbolic = "y";
    begin(&g, product, "x, y", o);
    CALL(&g, ramp(2, 0), ramp(2, 0));
    CALL(&g, ramp(3, 0), 3);
    CALL(&g, ramp(4, 0), ramp(4, 0));
    CALL(&g, ramp(5, 0), 4);
    CALL(&g, ramp(6, 0), ramp(6, 0));
    REASON(&g);
    END(&g);
}
SCENARIO(numbers_by_value)
{
    guarded g;
    begin(&g, product, "x, y", OFF);
    for (int i = 0; i < 4; i++) CALL(&g, ramp(3, 0), 3 + i % 2);
    REASON(&g);
    END(&g);
}
SCENARIO(integers_become_symbolic)
{
    dync_compile_options o = AUTO;
    guarded g;
    double automatic[] = {1, 2, 2, 2}; /* by name, and then at once */
    o.symbolic = "y";
    begin(&g, product, "x, y", o);
    for (int i = 0; i < 4; i++) CALL(&g, ramp(3, 0), 3 + i);
    EXPECT_EQ_INT(g.c.frame_count, 1);
    memcpy(g.frames, automatic, sizeof automatic);
    TELL_TEXT("reason", "L['y'] == 3");
    END(&g);
}

FUNCTION(by_text, strcmp(dync_as_str(a[1]), "sin") == 0 ? dync_sin(T(0)) : dync_cos(T(0)))
SCENARIO(text_argument)
{
    guarded g;
    begin(&g, by_text, "x, mode", AUTO);
    CALL(&g, ramp(3, 0), "sin");
    CALL(&g, ramp(3, 0), "cos");
    CALL(&g, ramp(3, 0), "sin");
    REASON(&g);
    END(&g);
}

FUNCTION(with_bias,
         a[1].kind == DYNC_KIND_NONE ? dync_mul(a[0], 2) : dync_add(dync_mul(a[0], 2), a[1]))
SCENARIO(none_or_a_tensor)
{
    guarded g;
    begin(&g, with_bias, "x, bias", AUTO);
    CALL(&g, ramp(3, 0), DYNC_NONE);
    CALL(&g, ramp(3, 0), ramp(3, 0));
    CALL(&g, ramp(3, 0), DYNC_NONE);
    REASON(&g);
    END(&g);
}

static dync_value sum_of_list(const dync_value *a, int n, void *user)
{
    dync_tensor *sum = dync_as_tensor(dync_at(a[0], 0));
    (void)n, (void)user;
    for (int i = 1; i < dync_len(a[0]); i++) sum = dync_add(sum, dync_at(a[0], i));
    return DYNC_V(sum);
}
SCENARIO(list_gets_longer)
{
    dync_tensor *x = ramp(3, 0), *y = ramp(3, 1), *z = ramp(3, 2);
    guarded g;
    begin(&g, sum_of_list, "items", AUTO);
    CALL(&g, dync_tuple(x, x));
    CALL(&g, dync_tuple(x, y));
    CALL(&g, dync_tuple(x, y, z));
    CALL(&g, dync_tuple(x, y));
    REASON(&g);
    END(&g);
}

FUNCTION(doubled, dync_add(a[0], a[0]))
SCENARIO(dtype_changes)
{
    guarded g;
    begin(&g, doubled, "x", AUTO);
    CALL(&g, ramp(3, 0));
    CALL(&g, dync_to_dtype(ramp(3, 0), DYNC_F64));
    CALL(&g, ramp(3, 0));
    CALL(&g, dync_to_dtype(ramp(3, 0), DYNC_F16));
    REASON(&g);
    END(&g);
}

FUNCTION(twice_sum, dync_mul(total(T(0)), 2))
SCENARIO(rank_changes)
{
    guarded g;
    begin(&g, twice_sum, "x", AUTO);
    CALL(&g, ramp(6, 0));
    CALL(&g, ramp_at(dync_shape(2, 3), 0, false));
    CALL(&g, ramp(6, 0));
    REASON(&g);
    END(&g);
}

FUNCTION(twice, dync_mul(a[0], 2))
SCENARIO(strides_change)
{
    dync_tensor *x = ramp_at(dync_shape(4, 3), 0, false);
    guarded g;
    begin(&g, twice, "x", OFF);
    CALL(&g, x);
    CALL(&g, dync_t(ramp_at(dync_shape(3, 4), 0, false)));
    CALL(&g, x);
    REASON(&g);
    END(&g);
}
SCENARIO(size_mismatch_is_told)
{
    guarded g;
    begin(&g, twice, "x", OFF);
    CALL(&g, ramp(3, 0));
    CALL(&g, ramp(5, 0));
    REASON(&g);
    END(&g);
}

FUNCTION(cut_off, dync_detach(dync_mul(a[0], 2)))
SCENARIO(requires_grad_changes)
{
    guarded g;
    begin(&g, cut_off, "x", AUTO);
    CALL(&g, ramp(3, 0));
    CALL(&g, ramp_at(dync_shape(3), 0, true));
    CALL(&g, ramp(3, 0));
    REASON(&g);
    END(&g);
}
SCENARIO(grad_mode_changes)
{
    guarded g;
    begin(&g, sine, "x", AUTO);
    for (int i = 0; i < 4; i++) {
        dync_set_grad_enabled(i % 2 == 0);
        CALL(&g, ramp_at(dync_shape(3), 0, true));
    }
    dync_set_grad_enabled(true);
    REASON(&g);
    END(&g);
}

/* ---- what arguments share -------------------------------------------------------------------- */
static dync_tensor *writes_a(dync_tensor *a, dync_tensor *b, dync_tensor *c)
{
    dync_add_(a, b);
    return dync_add(c, 1);
}
SCENARIO(written_argument_aliases_another)
{
    dync_tensor *x = ramp(3, 0), *y = ramp(3, 1), *z = ramp(3, 2), *one = dync_clone(x);
    counter c = {0};
    dync_compiled *f = dync_compile(writes_a, .backend_object = &COUNTER(c), .fullgraph = true);
    TELL_TENSOR("apart", dync_call(f, dync_clone(x), y, z));
    TELL_TENSOR("swapped", dync_call(f, dync_clone(z), y, x));
    EXPECT_EQ_INT(c.frame_count, 1);
    TELL_TENSOR("alias", dync_call(f, one, y, one));
    TELL("frames", c.frame_count);
    dync_compiled_free(f);
}

static dync_tensor *global_g, *global_h;
static dync_tensor *writes_by_global(dync_tensor *a)
{
    dync_guard_tensor("g", &global_g);
    dync_guard_tensor("h", &global_h);
    dync_add_(a, global_g);
    return dync_add(global_h, 1);
}
SCENARIO(argument_is_the_written_global)
{
    counter c = {0};
    dync_compiled *f =
        dync_compile(writes_by_global, .backend_object = &COUNTER(c), .fullgraph = true);
    global_g = ramp(3, 1), global_h = ramp(3, 2);
    TELL_TENSOR("apart", dync_call(f, ramp(3, 0)));
    TELL_TENSOR("alias", dync_call(f, global_h));
    TELL_TENSOR("h", global_h);
    TELL("frames", c.frame_count);
    dync_compiled_free(f);
}

static dync_tensor *doubles_a(dync_tensor *a, dync_tensor *b)
{
    dync_mul_(a, 2);
    return dync_add(a, b);
}
static dync_tensor *part(dync_tensor *x, int from, int to) { return dync_slice(x, 0, from, to, 1); }
SCENARIO(views_that_overlap_and_do_not)
{
    static const char *const backends[] = {"eager", "aot_eager", "inductor"};
    for (int b = 0; b < 3; b++) {
        dync_compiled *f = dync_compile(doubles_a, .backend = backends[b], .fullgraph = true);
        dync_tensor *base = ramp(6, 0);
        TELL_TENSOR("apart", dync_call(f, part(base, 0, 3), part(base, 3, 6)));
        TELL_TENSOR("base", base);
        base = ramp(6, 0);
        TELL_TENSOR("overlap", dync_call(f, part(base, 0, 3), part(base, 1, 4)));
        TELL_TENSOR("base_after", base);
        dync_compiled_free(f);
    }
}

/* ---- what is read from outside --------------------------------------------------------------- */
static int64_t global_n;
static dync_value times_global(const dync_value *a, int n, void *user)
{
    (void)n, (void)user;
    dync_guard_int("n", &global_n);
    return DYNC_V(dync_mul(a[0], global_n));
}
SCENARIO(global_number_changes)
{
    guarded g;
    begin(&g, times_global, "x", OFF);
    for (int i = 0; i < 4; i++) {
        global_n = 2 + i % 2;
        CALL(&g, ramp(3, 0));
    }
    END(&g);
}
static dync_tensor *global_t;
static dync_tensor *plus_global(dync_tensor *x)
{
    dync_guard_tensor("t", &global_t);
    return dync_add(x, global_t);
}
SCENARIO(global_tensor_is_replaced)
{
    counter c = {0};
    dync_compiled *f = dync_compile(plus_global, .backend_object = &COUNTER(c));
    global_t = ramp(3, 0);
    TELL_TENSOR("one", dync_call(f, ramp(3, 0)));
    global_t = ramp(3, 4);
    TELL_TENSOR("two", dync_call(f, ramp(3, 0)));
    TELL("frames", c.frame_count);
    dync_compiled_free(f);
}

/* ---- sizes that are asked about -------------------------------------------------------------- */
FUNCTION(small_or_large, dync_dim_lt(T(0), 0, 5) ? dync_mul(a[0], 2) : dync_add(a[0], 10))
SCENARIO(test_of_a_size_guards_its_outcome)
{
    static const int sizes[] = {2, 3, 4, 6, 7, 9};
    guarded g;
    begin(&g, small_or_large, "x", ON);
    for (int i = 0; i < 6; i++) CALL(&g, ramp(sizes[i], 0));
    REASON(&g);
    END(&g);
}
TEST_MAIN
