/* Calls of functions with opaque breaks follow what earlier calls did (src/capture/replay.c).
 * Random programs that go many ways, and the cases where following must stop. All numbers are small
 * integers, so that compiled and eager results are equal to the last bit. */
#define TEST_AFTER_EACH dync_shutdown()
#include "counter.h"
#include <pthread.h>

/* ---- random programs ------------------------------------------------------------------------- */
enum {
    ADD,
    SUB,
    MUL,
    RELU,
    NEG,
    ADD_CONST,
    MAX,
    TRANSPOSE,
    ROW,
    SUMMED,
    IN_PLACE,
    IN_PLACE_INPUT,
    BREAK,
    IF_ITEM,
    IF_BOOL,
    READ_DATA,
    WRITE_DATA,
    DISABLED,
    DISABLED_WRITES,
    FRAME,
    GLOBAL,
    NO_GRAD,
    SCALED,
    CALLBACK,
    CHOSEN,
    COUNTED,
    GIVEN,
    N_OPS
};
enum { REGS = 8, SIZE = 3, LENGTH = 28, GLOBALS = 3 };
typedef struct ins {
    int op, to, a, b, k;
} ins;
typedef struct program {
    int n;
    ins at[LENGTH];
} program;
static program now;
static dync_tensor *globals[GLOBALS];

static dync_tensor *bounded(dync_tensor *x) { return dync_clamp(x, -9, 9); }
static dync_tensor *twice(dync_tensor *x) { return dync_add(x, x); }
static dync_tensor *written(dync_tensor *x) { return dync_add_(x, 1); }
static dync_tensor *plain_frame(dync_tensor *x, dync_tensor *y)
{
    return dync_sub(dync_relu(x), y);
}
static dync_tensor *broken_frame(dync_tensor *x, dync_tensor *y)
{
    dync_tensor *z = dync_sub(x, 2);
    dync_graph_break("in the frame");
    return dync_add(z, y);
}

static int run_from(dync_tensor **r, int i)
{
    const ins *c = &now.at[i];
    dync_tensor *a = r[c->a], *b = r[c->b], **to = &r[c->to];
    double item;
    switch (c->op) {
    case ADD: *to = bounded(dync_add(a, b)); break;
    case SUB: *to = bounded(dync_sub(a, b)); break;
    case MUL: *to = bounded(dync_mul(a, b)); break;
    case RELU: *to = dync_relu(a); break;
    case NEG: *to = dync_neg(a); break;
    case ADD_CONST: *to = bounded(dync_add(a, c->k)); break;
    case MAX: *to = dync_maximum(a, b); break;
    case TRANSPOSE: *to = dync_transpose(a, 0, 1); break;
    case ROW: *to = bounded(dync_add(b, dync_select(a, 0, 1))); break;
    case SUMMED: *to = bounded(dync_add(b, dync_sum(a, DYNC_ALL, false))); break;
    case IN_PLACE:
        *to = dync_clone(a);
        dync_add_(*to, b);
        *to = dync_clamp_(*to, -9, 9);
        break;
    /* b may be its transpose */
    case IN_PLACE_INPUT: dync_clamp_(dync_add_(r[c->a & 1], dync_clone(b)), -9, 9); break;
    case BREAK: dync_graph_break("a reason"); break;
    case IF_ITEM: item = dync_item(dync_sum(a, DYNC_ALL, false)); return item > c->k ? 1 : 2;
    case IF_BOOL: return dync_bool(dync_gt(dync_sum(a, DYNC_ALL, false), c->k)) ? 1 : 2;
    case READ_DATA: return ((const float *)dync_data(dync_contiguous(a)))[2] > 0 ? 1 : 2;
    case WRITE_DATA:
        *to = dync_clone(a);
        ((float *)dync_data(*to))[1] = (float)c->k;
        break;
    case DISABLED: *to = bounded(dync_frame(dync_disable(twice), a)); break;
    case DISABLED_WRITES:
        *to = dync_clone(a);
        dync_frame(dync_disable(written), *to);
        *to = bounded(*to);
        break;
    case FRAME:
        *to = bounded(c->k & 1 ? dync_frame(plain_frame, a, b) : dync_frame(broken_frame, a, b));
        break;
    case GLOBAL:
        dync_guard_tensor("global", &globals[(unsigned)c->k % GLOBALS]);
        *to = bounded(dync_add(a, globals[(unsigned)c->k % GLOBALS]));
        break;
    case NO_GRAD:
        DYNC_NO_GRAD { *to = bounded(dync_add(a, 1)); }
        break;
    case SCALED:
        item = dync_item(dync_select(dync_select(a, 0, 0), 0, 1));
        *to = bounded(dync_mul(b, item));
        break;
    case CALLBACK: dync_graph_break("another"); break;
    /* as many elements as data say */
    case CHOSEN:
        a = dync_masked_select(a, dync_gt(b, c->k));
        *to = bounded(dync_add(b, dync_sum(a, DYNC_ALL, false)));
        break;
    case COUNTED: *to = bounded(dync_add(a, (int)dync_size(dync_nonzero(b), 0))); break;
    case GIVEN: *to = c->k & 1 ? dync_contiguous(a) : dync_dropout(a, 0.5, false); break;
    default: break;
    }
    return 1;
}

static dync_value run_program(const dync_value *args, int n, void *user)
{
    dync_tensor *r[REGS];
    (void)user;
    for (int i = 0; i < REGS; i++) r[i] = dync_as_tensor(args[i % n]);
    for (int i = 0; i < now.n;) i += run_from(r, i);
    return dync_tuple(r[2], r[3], dync_tuple(r[4], r[2]), r[0]);
}

static int pick(int n) { return (int)(test_random() % (uint64_t)n); }
/* With gradients the arguments are not written: what backward saved of them would be too. */
static void make_program(bool grad)
{
    now.n = 6 + pick(LENGTH - 6);
    for (int i = 0; i < now.n; i++) {
        now.at[i] = (ins){pick(N_OPS), 2 + pick(REGS - 2), pick(REGS), pick(REGS), pick(9) - 4};
        if (grad && now.at[i].op == IN_PLACE_INPUT) now.at[i].op = ADD;
    }
}

static dync_tensor *small_integers(void)
{
    float v[SIZE * SIZE];
    for (int i = 0; i < SIZE * SIZE; i++) v[i] = (float)(pick(7) - 3);
    return dync_from(v, dync_shape(SIZE, SIZE));
}

static bool all_equal(dync_value a, dync_value b)
{
    if (a.kind != b.kind) return false;
    if (a.kind == DYNC_KIND_LIST) {
        bool equal = dync_len(a) == dync_len(b);
        for (int i = 0; equal && i < dync_len(a); i++)
            equal = all_equal(dync_at(a, i), dync_at(b, i));
        return equal;
    }
    return a.kind == DYNC_KIND_TENSOR && dync_requires_grad(a.as.t) == dync_requires_grad(b.as.t) &&
           dync_equal(a.as.t, b.as.t);
}

static void show_program(void)
{
    static const char *const names[] = {"add",
                                        "sub",
                                        "mul",
                                        "relu",
                                        "neg",
                                        "add_const",
                                        "max",
                                        "transpose",
                                        "row",
                                        "summed",
                                        "in_place",
                                        "in_place_input",
                                        "break",
                                        "if_item",
                                        "if_bool",
                                        "read_data",
                                        "write_data",
                                        "disabled",
                                        "disabled_writes",
                                        "frame",
                                        "global",
                                        "no_grad",
                                        "scaled",
                                        "break",
                                        "chosen",
                                        "counted",
                                        "given"};
    for (int i = 0; i < now.n; i++)
        printf("    %2d: r%d = %s r%d r%d %d\n", i, now.at[i].to, names[now.at[i].op], now.at[i].a,
               now.at[i].b, now.at[i].k);
}

/* d sum(y) / d leaf. */
static dync_value gradient(dync_value y, dync_tensor *leaf)
{
    dync_value loss = dync_v_tensor(dync_sum(y.as.t, DYNC_ALL, false));
    dync_value list = dync_gradients(loss, dync_v_tensor(leaf), DYNC_NONE,
                                     (dync_grad_options){.allow_unused = true});
    dync_value g = dync_len(list) ? dync_at(list, 0) : list;
    /* no graph on the way, or one without effect */
    return g.kind == DYNC_KIND_NONE ? dync_v_tensor(dync_zeros(dync_shape(SIZE, SIZE))) : g;
}

/* One call both ways, on equal arguments: no leaves, as they may be written. */
static bool same_both_ways(dync_compiled *f, bool grad)
{
    bool same = true;
    DYNC_SCOPE {
        dync_tensor *leaf[2];
        dync_value x[2][2];
        for (int i = 0; i < 2; i++) {
            dync_tensor *t = small_integers();
            for (int way = 0; way < 2; way++) {
                dync_tensor *copy = dync_clone(t);
                if (grad) leaf[way] = dync_requires_grad_(copy, true);
                x[way][i] = dync_v_tensor(grad ? dync_mul(copy, 1) : copy);
            }
        }
        dync_value want = run_program(x[0], 2, NULL), got = dync_call_values(f, 2, x[1]);
        same = dync_error() == DYNC_OK && all_equal(want, got) && all_equal(x[0][0], x[1][0]) &&
               all_equal(x[0][1], x[1][1]);
        if (same && grad && dync_requires_grad(dync_at(want, 0).as.t)) {
            dync_value a = gradient(dync_at(want, 0), leaf[0]),
                       b = gradient(dync_at(got, 0), leaf[1]);
            same = dync_error() == DYNC_OK && all_equal(a, b);
        }
    }
    return same;
}

static void programs(int n, const char *backend, bool grad)
{
    for (int p = 0; p < n; p++) DYNC_SCOPE {
        make_program(grad);
        for (int i = 0; i < GLOBALS; i++) globals[i] = small_integers();
        dync_compiled *f =
            dync_compile(run_program, .backend = backend, .args = "x, y", .recompile_limit = 64);
        bool same = true;
        for (int call = 0; call < 24 && same; call++) {
            if (pick(6) == 0) globals[pick(GLOBALS)] = small_integers();
            same = same_both_ways(f, grad);
            if (!EXPECT(same)) {
                printf("    program %d, call %d: %s\n", p, call,
                       dync_error() ? dync_error_message() : "another result");
                show_program();
            }
        }
        dync_clear_error();
        dync_compiled_free(f);
    }
}
TEST(random_programs_eager) { programs(120, "eager", false); }
TEST(random_programs_inductor) { programs(120, "inductor", false); }
TEST(random_programs_with_gradients) { programs(60, "inductor", true); }

/* ---- where following stops ------------------------------------------------------------------- */
static void quiet(dync_status status, const char *message, void *user)
{
    (void)status, (void)message, (void)user;
}
static int way;
static dync_tensor *kept;

static dync_tensor *keeps(dync_tensor *x)
{
    dync_tensor *y = dync_add(x, 1);
    dync_graph_break("here");
    dync_tensor *z = way && kept ? dync_add(y, kept) : dync_mul(y, 2);
    kept = y;
    return z;
}
TEST(a_handle_kept_from_an_earlier_call)
{
    dync_on_error(quiet, NULL);
    dync_tensor *x = dync_ones(dync_shape(4));
    dync_compiled *f = dync_compile(keeps);
    for (int i = 0; i < 20; i++) DYNC_SCOPE {
        way = i % 4 == 3;
        dync_tensor *r = dync_call(f, x);
        if (!way)
            EXPECT_NEAR(dync_item(dync_select(r, 0, 1)), 4, 0);
        else
            EXPECT_STATUS(dync_error(), DYNC_ERR_VALUE);
        dync_clear_error();
    }
    dync_compiled_free(f);
}

static dync_tensor *many(dync_tensor *x)
{
    dync_tensor *y[8];
    y[0] = dync_add(x, 1);
    for (int i = 1; i < 8; i++) y[i] = dync_add(y[i - 1], i);
    dync_graph_break("between");
    if (way == 8) return dync_mul(x, y[7]);
    if (way == 9) {
        /* what y was made of is written before y is used */
        dync_add_(x, 100);
        return dync_add(y[2], y[5]);
    }
    return way == 10 ? dync_add(dync_frame(dync_disable(written), x), y[4]) : dync_mul(y[way], 2);
}
TEST(another_way_wants_what_was_dropped)
{
    static const int ways[] = {7, 7,  7, 7, 3, 7, 8, 8, 8, 9, 9, 2,  10, 10,
                               7, 10, 9, 8, 1, 5, 0, 6, 4, 3, 9, 10, 2};
    dync_compiled *f = dync_compile(many);
    for (int first = 0; first < 3; first++) {
        for (int i = 0; i < 54; i++) DYNC_SCOPE {
            way = ways[(i * (first + 1) + first) % 27];
            dync_tensor *x = dync_full(dync_shape(5), i), *same = dync_clone(x);
            dync_tensor *got = dync_call(f, x), *want = many(same);
            if (!EXPECT(got && dync_equal(got, want) && dync_equal(x, same)))
                printf("    call %d, way %d\n", i, way);
        }
        dync_reset();
    }
    dync_compiled_free(f);
}

static dync_tensor *scoped(dync_tensor *x)
{
    dync_tensor *sum = dync_mul(x, 0);
    for (int i = 0; i < 3; i++) {
        dync_scope scope = dync_scope_begin();
        dync_tensor *t = dync_add(sum, dync_mul(x, i));
        if (i == 1) dync_graph_break("in a scope");
        sum = dync_escape(dync_add(t, 1));
        dync_scope_end(&scope);
    }
    return sum;
}
TEST(scopes_inside)
{
    dync_compiled *f = dync_compile(scoped);
    for (int i = 0; i < 10; i++) DYNC_SCOPE {
        dync_tensor *x = dync_full(dync_shape(3), i);
        EXPECT(dync_equal(dync_call(f, x), scoped(x)));
    }
    dync_compiled_free(f);
}

static dync_compiled *itself;
static int depth;
static dync_tensor *below(dync_tensor *x)
{
    if (depth == 0) return dync_neg(x);
    depth--;
    dync_tensor *r = dync_call(itself, x);
    depth++;
    return r;
}
static dync_tensor *recursive(dync_tensor *x)
{
    dync_tensor *y = dync_add(x, 1), *z = dync_frame(dync_disable(below), y);
    return dync_add(dync_mul(z, 2), y);
}
TEST(recursion)
{
    itself = dync_compile(recursive);
    for (int i = 0; i < 12; i++) DYNC_SCOPE {
        double x = i, want = x;
        depth = i % 4;
        double y[5];
        for (int d = 0; d <= depth; d++) want = y[d] = want + 1;
        want = -want;
        for (int d = depth; d >= 0; d--) want = 2 * want + y[d];
        EXPECT_NEAR(dync_item(dync_select(dync_call(itself, dync_full(dync_shape(2), x)), 0, 0)),
                    want, 0);
    }
    dync_compiled_free(itself);
}

TEST(what_crosses_changes)
{
    dync_compiled *f = dync_compile(keeps, .recompile_limit = 20);
    way = 0;
    for (int i = 0; i < 60; i++) DYNC_SCOPE {
        dync_tensor *base = dync_rand(dync_shape(4, 6)), *x = base;
        if (i % 5 == 1) x = dync_transpose(base, 0, 1);
        if (i % 5 == 2) x = dync_select(base, 0, 1);
        if (i % 5 == 3) x = dync_to_dtype(base, DYNC_F64);
        if (i % 5 == 4) x = dync_requires_grad_(base, true);
        dync_tensor *got = dync_call(f, x), *want = dync_mul(dync_add(x, 1), 2);
        EXPECT(dync_type(got) == dync_type(want) &&
               dync_requires_grad(got) == dync_requires_grad(want) &&
               dync_allclose(got, want, 1e-6, 1e-6));
    }
    dync_compiled_free(f);
}

TEST(following_allocates_nothing)
{
    dync_compiled *f = dync_compile(many);
    dync_tensor *x = dync_ones(dync_shape(64));
    for (int i = 0; i < 100; i++) DYNC_SCOPE {
        way = i % 2 ? 7 : 3, dync_call(f, x);
    }
    dync_memory before = dync_memory_stats();
    for (int i = 0; i < 2000; i++) DYNC_SCOPE {
        way = i % 2 ? 7 : 3, dync_call(f, x);
    }
    dync_memory after = dync_memory_stats();
    EXPECT_EQ_INT(after.mallocs, before.mallocs);
    EXPECT_EQ_INT(after.live_bytes, before.live_bytes);
    EXPECT_EQ_INT(after.live_tensors, before.live_tensors);
    dync_compiled_free(f);
}

/* ---- many ways, few segments ----------------------------------------------------------------- */
static dync_tensor *ten_ifs(dync_tensor *x)
{
    for (int i = 0; i < 10; i++) {
        if (dync_bool(dync_gt(dync_select(x, 0, i), 0)))
            x = dync_add(x, 0.5);
        else
            x = dync_sub(x, 0.5);
    }
    return x;
}
/* Operators whose result's shape depends on data are opaque breaks that give tensors. */
static dync_tensor *places(dync_tensor *x)
{
    return dync_sum(dync_nonzero(dync_relu(x)), dync_shape(0), false);
}
static dync_tensor *chosen(dync_tensor *x)
{
    dync_tensor *y = dync_masked_select(dync_mul(x, 3), dync_gt(x, 0));
    return dync_add(dync_sum(dync_mul(y, y), DYNC_ALL, false), (int)dync_size(y, 0));
}
static dync_tensor *distinct(dync_tensor *x) { return dync_add(dync_unique(dync_neg(x)), 1); }
TEST(shapes_that_depend_on_data)
{
    dync_tensor *(*const fn[])(dync_tensor *) = {places, chosen, distinct};
    const char *const backend[] = {"eager", "aot_eager", "inductor"};
    for (int k = 0; k < 9; k++) {
        dync_compiled *f = dync_compile(fn[k / 3], .backend = backend[k % 3]);
        for (int i = 0; i < 10; i++) DYNC_SCOPE {
            dync_tensor *x = dync_sub(dync_trunc(dync_mul(dync_rand(dync_shape(3, 4)), 5)), 2);
            dync_tensor *r = dync_call(f, x), *want = fn[k / 3](x);
            EXPECT(r && want && dync_equal(r, want));
            EXPECT_EQ_INT(dync_error(), DYNC_OK);
        }
        dync_compiled_free(f);
    }
    dync_compiled *f = dync_compile(chosen);
    for (int i = 0; i < 3; i++) DYNC_SCOPE {
        dync_tensor *x = dync_requires_grad_(dync_full(dync_shape(3), i + 1), true);
        EXPECT_EQ_INT(dync_backward(dync_call(f, x)), DYNC_OK);
        EXPECT(dync_grad(x) && dync_item(dync_select(dync_grad(x), 0, 2)) == 18 * (i + 1));
    }
    dync_compiled_free(f);
    f = dync_compile(places, .fullgraph = true);
    EXPECT(!dync_call(f, dync_ones(dync_shape(2))));
    EXPECT_EQ_INT(dync_error(), DYNC_ERR_UNSUPPORTED);
    dync_clear_error();
    dync_compiled_free(f);
}
/* Calls whose data decide the same sizes follow the calls before them. */
TEST(shapes_that_data_decide_again)
{
    dync_tensor *(*const fn[])(dync_tensor *) = {places, chosen, distinct};
    for (int k = 0; k < 3; k++) {
        dync_compiled *f = dync_compile(fn[k]);
        dync_tensor *x[2] = {dync_sub(dync_arange(0, 6, 1), 2), dync_sub(dync_arange(0, 6, 1), 4)};
        for (int i = 0; i < 6; i++) dync_call(f, x[i % 2]);
        dync_counters before = dync_get_counters();
        for (int i = 0; i < 20; i++) EXPECT(dync_equal(dync_call(f, x[i % 2]), fn[k](x[i % 2])));
        EXPECT_EQ_INT(dync_get_counters().graph_breaks, before.graph_breaks);
        dync_compiled_free(f);
    }
}
TEST(ten_ifs_are_about_twenty_segments)
{
    dync_compiled *f = dync_compile(ten_ifs);
    int64_t before = dync_get_counters().graphs;
    for (int i = 0; i < 400; i++) DYNC_SCOPE {
        dync_tensor *x = dync_randn(dync_shape(10));
        EXPECT(dync_allclose(dync_call(f, x), ten_ifs(x), 1e-6, 1e-6));
    }
    EXPECT(dync_get_counters().graphs - before <= 24);
    dync_compiled_free(f);
}

#if TEST__FORK
/* What the parent captured serves the child, and the parent goes on. */
TEST(after_fork)
{
    dync_compiled *f = dync_compile(many), *g = dync_compile(ten_ifs);
    dync_tensor *x = dync_ones(dync_shape(4)), *y = dync_randn(dync_shape(10));
    way = 7;
    for (int i = 0; i < 5; i++) DYNC_SCOPE {
        dync_call(f, x), dync_call(g, y);
    }
    pid_t child = fork();
    bool same = true;
    for (int i = 0; i < 20; i++) DYNC_SCOPE {
        way = i % 8;
        same = same && dync_equal(dync_call(f, x), many(x)) &&
               dync_allclose(dync_call(g, y), ten_ifs(y), 1e-6, 1e-6);
    }
    if (child == 0) _exit(same ? 0 : 1);
    int status = 1;
    EXPECT(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
           WEXITSTATUS(status) == 0);
    EXPECT(same);
    dync_compiled_free(f);
    dync_compiled_free(g);
}
#endif

/* ---- what the run has written ---------------------------------------------------------------- */
/* x is written with what requires a gradient, and the way that follows is new: the function is
 * traced as if x were still what it was, and x is written once. */
static dync_tensor *weight;
static dync_tensor *writes_with_a_history(dync_tensor *x)
{
    dync_mul_(x, weight);
    return dync_bool(dync_gt(dync_sum(x, DYNC_ALL, false), 0)) ? dync_add(x, 1) : dync_sub(x, 1);
}
TEST(a_new_way_after_a_write_with_a_history)
{
    weight = dync_full(dync_shape(3), 2.0, .requires_grad = true);
    dync_compiled *f = dync_compile(writes_with_a_history);
    for (int i = 0; i < 6; i++) DYNC_SCOPE {
        dync_tensor *x = dync_full(dync_shape(3), i % 3 == 1 ? -1.0 : 1.0), *y = dync_clone(x);
        dync_tensor *got = dync_call(f, x), *want = writes_with_a_history(y);
        EXPECT(got && dync_equal(got, want) && dync_equal(x, y));
        EXPECT(dync_requires_grad(x));
    }
    dync_compiled_free(f);
}

/* A part of y is written with what requires a gradient: so does y, in every call, and what the
 * function then does depends on it. */
static int by_part;
static dync_tensor *written_by_a_part(dync_tensor *x)
{
    dync_tensor *y = by_part < 2 ? dync_clone(x) : dync_mul(x, 1.0),
                *whole = dync_reshape(y, dync_shape(4, 3));
    dync_mul_(dync_slice(y, 1, 0, 2, 1), dync_slice(weight, 0, 0, 2, 1));
    if (by_part % 2) dync_graph_break("here");
    if (!dync_requires_grad(y) || !dync_requires_grad(whole)) return dync_neg(y);
    dync_backward_opt(DYNC_V(dync_sum(dync_mul(y, whole), DYNC_ALL, false)), DYNC_NONE,
                      (dync_grad_options){.retain_graph = true});
    return dync_mul(y, 2);
}
TEST(a_part_is_written_with_a_history)
{
    weight = dync_full(dync_shape(3), 2.0, .requires_grad = true);
    for (by_part = 0; by_part < 4; by_part++) {
        dync_compiled *f = dync_compile(written_by_a_part);
        for (int i = 0; i < 8; i++) DYNC_SCOPE {
            dync_tensor *x = dync_randn(dync_shape(4, 3)), *grad[2] = {NULL};
            dync_tensor *y[2] = {NULL};
            for (int k = 0; k < 2; k++) {
                dync_set_grad(weight, NULL);
                y[k] = k ? written_by_a_part(x) : dync_call(f, x);
                grad[k] = dync_grad(weight) ? dync_clone(dync_grad(weight)) : NULL;
            }
            EXPECT(y[0] && dync_equal(y[0], y[1]) && dync_requires_grad(y[0]));
            EXPECT(grad[0] && grad[1] && dync_allclose(grad[0], grad[1], 1e-5, 1e-5));
        }
        dync_compiled_free(f);
    }
}

/* ---- threads --------------------------------------------------------------------------------- */
static dync_compiled *shared;
static dync_tensor *by_item(dync_tensor *x)
{
    dync_tensor *y = dync_mul(dync_add(x, 1), x);
    double item = dync_item(dync_sum(y, DYNC_ALL, false));
    return item > 30 ? dync_sub(y, x) : dync_add(y, 5);
}
static void *calls(void *user)
{
    int seed = (int)(uintptr_t)user;
    for (int i = 0; i < 300; i++) DYNC_SCOPE {
        dync_tensor *x = dync_full(dync_shape(4), (i * 7 + seed) % 5), *r = dync_call(shared, x);
        if (!EXPECT(r && dync_equal(r, by_item(x)))) break;
    }
    return NULL;
}
TEST(many_threads)
{
    pthread_t t[6];
    shared = dync_compile(by_item);
    for (int i = 0; i < 6; i++) pthread_create(&t[i], NULL, calls, (void *)(uintptr_t)i);
    for (int i = 0; i < 6; i++) pthread_join(t[i], NULL);
    dync_compiled_free(shared);
}
TEST_MAIN
