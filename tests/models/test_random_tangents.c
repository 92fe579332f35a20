/* Random functions of two results, differentiated with tangents of every layout (dense, transposed,
 * expanded, slices of larger ones: those of 4096 elements and more are copied by an operator), one
 * result after the other or both, with values written in between, of one size or of several; every
 * backend beside plain. */
#include "dync.h"
#define TEST_AFTER_EACH dync_shutdown()
#include "test.h"

enum { STEPS = 6 };
static struct {
    int op[STEPS], from[STEPS], other[STEPS], n, out[2];
    int rows, cols, dtype;
} program;
static int draw(int n) { return test_random_int(0, n - 1); }

/* Their rules save arguments, results, or nothing. */
static dync_tensor *apply(int op, dync_tensor *a, dync_tensor *b)
{
    switch (op) {
    case 0: return dync_mul(a, b);
    case 1: return dync_sigmoid(a);
    case 2: return dync_tanh(dync_mul(a, 0.5));
    case 3: return dync_add(a, b);
    case 4: return dync_softmax(a, 1);
    case 5: return dync_sin(dync_tanh(a));
    case 6: return dync_sub(dync_mul(a, 2), dync_sum(b, dync_shape(1), true));
    case 7: return dync_mul(a, dync_select(b, 0, 1));
    case 8: return dync_where(dync_gt(dync_detach(b), 0), a, dync_neg(b));
    default: return dync_relu(dync_add(a, 0.1));
    }
}
static dync_value run(const dync_value *a, int n, void *user)
{
    (void)n, (void)user;
    dync_tensor *value[STEPS + 2] = {dync_as_tensor(a[0]), dync_as_tensor(a[1])};
    for (int i = 0; i < program.n; i++)
        value[i + 2] = apply(program.op[i], value[program.from[i]], value[program.other[i]]);
    dync_tensor *second = value[program.out[1]];
    return dync_tuple(dync_mul(value[program.out[0]], 2),
                      program.op[0] % 2 ? dync_transpose(dync_mul(second, 3), 0, 1)
                                        : dync_add(second, 1));
}
static void draw_sizes(void)
{
    static const int sizes[] = {64, 70, 65, 3, 128};
    program.rows = sizes[draw(5)];
    program.cols = sizes[draw(5)];
}
static void draw_program(void)
{
    draw_sizes();
    program.dtype = (int[]){DYNC_F32, DYNC_F32, DYNC_F64, DYNC_F16}[draw(4)];
    program.n = 1 + draw(STEPS);
    for (int i = 0; i < program.n; i++) {
        program.op[i] = draw(10);
        program.from[i] = draw(i + 2);
        program.other[i] = draw(i + 2);
    }
    for (int k = 0; k < 2; k++) program.out[k] = draw(program.n + 2);
}

static dync_tensor *drawn(int rows, int cols)
{
    return dync_to_dtype(dync_randn(dync_shape(rows, cols)), (dync_dtype)program.dtype);
}
static dync_tensor *tangent(int how, int rows, int cols)
{
    switch (how) {
    case 0: return drawn(rows, cols);
    case 1: return dync_transpose(drawn(cols, rows), 0, 1);
    case 2: return dync_expand(drawn(1, cols), dync_shape(rows, cols));
    case 3: return dync_expand(drawn(rows, 1), dync_shape(rows, cols));
    case 4: return dync_slice(drawn(rows, 2 * cols), 1, 0, DYNC_END, 2);
    case 5: return dync_transpose(dync_slice(drawn(cols, rows + 3), 1, 2, rows + 2, 1), 0, 1);
    default: return dync_expand(drawn(1, 1), dync_shape(rows, cols));
    }
}

/* What is done with the two results. */
typedef struct {
    int how[2], order, write, at;
} use;
typedef struct {
    dync_tensor *grad[2];
    dync_status status[2];
} found;
static void backward(found *f, int k, dync_tensor *y, int how)
{
    dync_tensor *t = tangent(how, (int)dync_size(y, 0), (int)dync_size(y, 1));
    if (!dync_requires_grad(y)) return;
    f->status[k] =
        dync_backward_opt(DYNC_V(y), DYNC_V(t), (dync_grad_options){.retain_graph = true});
    dync_clear_error();
}
static found differentiate(dync_compiled *c, const use *u)
{
    found f = {{NULL, NULL}, {DYNC_OK, DYNC_OK}};
    dync_value a[2];
    dync_manual_seed(7);
    for (int k = 0; k < 2; k++)
        a[k] = DYNC_V(dync_requires_grad_(dync_detach(drawn(program.rows, program.cols)), true));
    dync_value r = c ? dync_call_values(c, 2, a) : run(a, 2, NULL);
    if (r.kind != DYNC_KIND_LIST) return f;
    dync_tensor *y[2] = {dync_as_tensor(dync_at(r, 0)), dync_as_tensor(dync_at(r, 1))};
    DYNC_NO_GRAD {
        if (u->write == 1) dync_add_(a[u->at].as.t, 1);
        if (u->write == 2) dync_mul_(dync_detach(y[u->at]), 2);
    }
    int first = u->order & 1;
    backward(&f, first, y[first], u->how[0]);
    if (u->order & 2) backward(&f, 1 - first, y[1 - first], u->how[1]);
    for (int k = 0; k < 2; k++) f.grad[k] = dync_grad(a[k].as.t);
    return f;
}

/* Compiled may compute again what plain has saved: then it has a gradient where plain refuses, and
 * there is nothing to compare. */
static bool same(const found *want, const found *got)
{
    double tol = program.dtype == DYNC_F16 ? 2e-2 : 2e-4;
    if (want->status[0] != DYNC_OK || want->status[1] != DYNC_OK) return true;
    for (int k = 0; k < 2; k++) {
        if (got->status[k] != DYNC_OK || !want->grad[k] != !got->grad[k]) return false;
    }
    for (int k = 0; k < 2; k++)
        if (want->grad[k] && !dync_allclose(got->grad[k], want->grad[k], tol, tol)) return false;
    return true;
}
static void quiet(dync_status status, const char *message, void *user)
{
    (void)status, (void)message, (void)user;
}
static void say_program(void)
{
    for (int i = 0; i < program.n; i++)
        printf("      v%d = op %d of v%d, v%d\n", i + 2, program.op[i], program.from[i],
               program.other[i]);
    printf("      results v%d, v%d\n", program.out[0], program.out[1]);
}
static void compare(const char *backend)
{
    dync_compiled *c = dync_compile(dync_fnv(run), .backend = backend);
    for (int call = 0; call < 3; call++) DYNC_SCOPE {
        if (call && draw(3) == 0) draw_sizes(); /* a form from then on */
        use u = {{draw(7), draw(7)}, draw(4), draw(4), draw(2)};
        found want = differentiate(NULL, &u), got = differentiate(c, &u);
        if (EXPECT(same(&want, &got))) continue;
        printf("    %s: %d x %d of dtype %d, tangents %d %d, order %d, write %d at %d: %d %d, here "
               "%d %d\n",
               backend, program.rows, program.cols, program.dtype, u.how[0], u.how[1], u.order,
               u.write, u.at, (int)want.status[0], (int)want.status[1], (int)got.status[0],
               (int)got.status[1]);
        say_program();
    }
    dync_compiled_free(c);
}
/* The same tangents so often that backward is made again for their form: repeated ones, and where
 * only one of the two results is differentiated. */
static void compare_often(void)
{
    use u = {{draw(7), draw(7)}, draw(4), 0, 0};
    dync_compiled *c =
        dync_compile(dync_fnv(run), .dynamic = draw(2) ? DYNC_DYNAMIC_ON : DYNC_DYNAMIC_AUTO);
    bool sizes = draw(2);
    program.rows = 64 + draw(2) * 64;
    program.cols = 128;
    for (int call = 0; call < 40; call++) DYNC_SCOPE {
        found got = differentiate(c, &u);
        if (sizes && call % 10 == 9) program.rows += 3;
        if (call % 8 != 7 || (sizes && call % 10 == 9)) continue;
        found want = differentiate(NULL, &u);
        if (EXPECT(same(&want, &got))) continue;
        printf("    often: %d x %d of dtype %d, tangents %d %d, order %d, call %d\n", program.rows,
               program.cols, program.dtype, u.how[0], u.how[1], u.order, call);
        say_program();
        break;
    }
    dync_compiled_free(c);
}
TEST(forms_of_tangents)
{
    dync_on_error(quiet, NULL);
    for (int round = 0; round < test_count(60); round++) {
        draw_program();
        compare_often();
        if (round % 16 == 15) dync_reset();
    }
}
/* That it is made, of a sum outside, and used: its code is there beside the dense one's. */
static dync_tensor *doubled(dync_tensor *x) { return dync_mul(dync_tanh(x), 2); }
TEST(a_sum_outside_has_its_own_backward)
{
    dync_compiled *c = dync_compile(doubled, .args = "x");
    dync_tensor *x = dync_randn(dync_shape(128, 128), .requires_grad = true), *want;
    int64_t before = 0;
    dync_backward(dync_sum(doubled(x), DYNC_ALL, false));
    want = dync_clone(dync_grad(x));
    for (int call = 0; call < 40; call++) DYNC_SCOPE {
        dync_set_grad(x, NULL);
        dync_backward(dync_sum(dync_call(c, x), DYNC_ALL, false));
        EXPECT(dync_equal(dync_grad(x), want));
        if (!call) before = dync_compiled_info(c).code_bytes;
        if (call % 13) continue; /* and twice in one sum, one of them around another */
        dync_tensor *got, *twice;
        dync_set_grad(x, NULL);
        dync_backward(
            dync_sum(dync_add(dync_call(c, x), dync_call(c, dync_call(c, x))), DYNC_ALL, false));
        got = dync_clone(dync_grad(x));
        dync_set_grad(x, NULL);
        twice = dync_add(doubled(x), doubled(doubled(x)));
        dync_backward(dync_sum(twice, DYNC_ALL, false));
        EXPECT(dync_allclose(got, dync_grad(x), 1e-5, 1e-5));
    }
    if (before)
        EXPECT(dync_compiled_info(c).code_bytes > before);
    else
        printf("  no machine code here, whose bytes tell of another backward\n");
    dync_compiled_free(c);
    EXPECT_EQ_INT(dync_error(), DYNC_OK);
}
TEST(random_functions)
{
    static const char *const backends[] = {"inductor", "aot_eager", "inductor", "aot_ts", "eager"};
    dync_on_error(quiet, NULL);
    for (int round = 0; round < test_count(120); round++) {
        draw_program();
        compare(backends[round % 5]);
        if (round % 16 == 15) dync_reset();
    }
}
TEST_MAIN
