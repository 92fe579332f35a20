/* Values of one compiled piece that a later one writes. What plain backward allows compiled code
 * allows, to the same gradients: a rule that computes again what forward has (a quotient) reads its
 * operands, not the result, though both are one node in the joint graph. */
#include "dync.h"
#include "test.h"
#include "tol.h"

static unsigned drawn;
static int draw(int n) { return drawn = drawn * 1664525u + 1013904223u, (int)(drawn >> 16) % n; }

enum { STEPS = 7, FORMS = 14 };
static int form[STEPS][3], result[2], written, how_written;

static dync_tensor *apply(int f, dync_tensor *x, dync_tensor *y)
{
    switch (f) {
    case 0: return dync_div(x, dync_add(dync_mul(y, y), 1));
    case 1: return dync_div(x, y);
    case 2: return dync_exp(dync_mul(x, 0.25));
    case 3: return dync_tanh(x);
    case 4: return dync_silu(x);
    case 5: return dync_gelu(x);
    case 6: return dync_mul(x, y);
    case 7: return dync_flip(x, dync_shape(-1));
    case 8: return dync_transpose(x, 0, 1);
    case 9: return dync_softmax(x, -1);
    case 13: return dync_add(dync_abs(x), 0.5);
    case 10: return dync_pow(dync_add(dync_abs(x), 0.5), 1.5);
    case 11: return dync_atan2(x, dync_add(y, 3));
    default: return dync_add(x, y);
    }
}

static void write_to(int how, dync_tensor *x)
{
    if (how == 0) dync_mul_(x, 2);
    if (how == 1) dync_exp_(x);
    if (how == 2) dync_fill_(dync_select(x, 0, 1), 0.5);
}

/* The value written is one that the second piece makes leave the first: it may be a result, an
 * operand of a rule, both or neither. */
static dync_tensor *program(dync_tensor *a, dync_tensor *b)
{
    dync_tensor *v[STEPS + 2] = {a, b};
    for (int i = 0; i < STEPS; i++) v[i + 2] = apply(form[i][0], v[form[i][1]], v[form[i][2]]);
    dync_tensor *y = dync_add(v[result[0]], v[result[1]]);
    dync_graph_break("here");
    write_to(how_written, v[written]);
    return y;
}

static void quiet(dync_status status, const char *message, void *user)
{
    (void)status, (void)message, (void)user;
}

static void run(dync_compiled *f, dync_tensor **grad)
{
    dync_tensor *at[2];
    dync_manual_seed(5);
    for (int i = 0; i < 2; i++)
        at[i] = dync_requires_grad_(dync_add(dync_rand(dync_shape(4, 4)), 0.5), true);
    dync_tensor *a = dync_clone(at[0]), *b = dync_clone(at[1]);
    dync_tensor *y = f ? dync_call(f, a, b) : program(a, b);
    dync_backward(dync_sum(dync_mul(y, y), DYNC_ALL, false));
    for (int i = 0; i < 2; i++) grad[i] = dync_grad(at[i]);
}

/* 1 where plain code allows the program. */
static int compare(void)
{
    static const char *const on[] = {"aot_eager", "inductor"};
    dync_tensor *want[2], *got[2];
    run(NULL, want);
    dync_status plain = dync_error();
    dync_clear_error();
    for (int k = 0; k < 2 && plain == DYNC_OK; k++) {
        dync_compiled *f = dync_compile(program, .backend = on[k]);
        for (int call = 0; call < 3; call++) {
            run(f, got);
            EXPECT_STATUS(dync_error(), DYNC_OK);
            for (int i = 0; i < 2; i++) {
                EXPECT(!got[i] == !want[i]);
                EXPECT(!got[i] ||
                       dync_allclose(got[i], want[i], 10 * TOL_F32_SUM, 10 * TOL_F32_SUM));
            }
        }
        dync_clear_error();
        dync_compiled_free(f);
    }
    return plain == DYNC_OK;
}

/* The rule of x / d computes x / d again, for d alone: it is not what the rule keeps. */
static dync_tensor *quotient(dync_tensor *x)
{
    dync_tensor *d = dync_add(dync_abs(x), 0.5), *q = dync_div(x, d),
                *y = dync_flip(q, dync_shape(0));
    dync_tensor *n = dync_sum(dync_neg(y), DYNC_ALL, false);
    dync_gradients(dync_v_tensor(n), dync_v_tensor(d), DYNC_NONE,
                   (dync_grad_options){.create_graph = true});
    dync_exp_(q);
    return y;
}
TEST(a_quotient_that_is_written)
{
    static const char *const on[] = {NULL, "aot_eager", "inductor"};
    dync_tensor *want = NULL;
    for (int k = 0; k < 3; k++) {
        dync_compiled *f = k ? dync_compile(quotient, .backend = on[k], .double_backward = true)
                             : NULL;
        for (int call = 0; call < 4; call++) {
            dync_manual_seed(3);
            dync_tensor *x = dync_requires_grad_(dync_randn(dync_shape(3, 3)), true),
                        *y = k ? dync_call(f, x) : quotient(x);
            dync_backward(dync_sum(y, DYNC_ALL, false));
            EXPECT_STATUS(dync_error(), DYNC_OK);
            if (!want) want = dync_grad(x);
            EXPECT(dync_allclose(dync_grad(x), want, TOL_F32_SUM, TOL_F32_SUM));
        }
        if (f) dync_compiled_free(f);
    }
}

/* What may be written in grad mode: a view of what was detached from a leaf and then written, and a
 * copy that reshape made without grad mode; a view made so may not. */
static dync_tensor *detached_row(dync_tensor *x, dync_tensor *y)
{
    dync_tensor *v = dync_detach(x);
    dync_addcmul_(v, y, y, 0.5);
    dync_sin_(dync_select(v, 0, 1));
    return dync_mul(v, y);
}
static dync_tensor *reshaped_copy(dync_tensor *x, dync_tensor *y)
{
    dync_tensor *v = NULL;
    DYNC_NO_GRAD v = dync_reshape(dync_transpose(x, 0, 1), dync_shape(-1));
    return dync_mul(dync_add_(v, dync_sum(dync_mul(y, 0.1), DYNC_ALL, false)), 2);
}
static dync_tensor *reshaped_view(dync_tensor *x, dync_tensor *y)
{
    dync_tensor *v = NULL;
    DYNC_NO_GRAD v = dync_reshape(dync_mul(x, 2), dync_shape(-1));
    return dync_mul_(v, dync_sum(y, DYNC_ALL, false));
}
static dync_tensor *quiet_view(dync_tensor *x, dync_tensor *y)
{
    dync_tensor *v = NULL;
    DYNC_NO_GRAD v = dync_unsqueeze(dync_mul(x, 2), 0);
    return dync_mul_(dync_select(v, 0, 0), y);
}
/* Nor does it begin to require grad when its base does. */
static dync_tensor *quiet_beside(dync_tensor *x, dync_tensor *y)
{
    dync_tensor *v = NULL, *base = dync_mul(dync_detach(x), 2);
    DYNC_NO_GRAD v = dync_unsqueeze(base, 0);
    dync_addcmul_(base, y, y, 0.5);
    return dync_add(base, dync_mul(v, dync_requires_grad(v) ? 2 : 3));
}
static dync_tensor *view_of_leaf(dync_tensor *x, dync_tensor *y)
{
    return dync_mul_(dync_select(x, 0, 1), dync_select(y, 0, 1));
}
/* Whatever is written, where the base has a history: it would not know the write. */
static dync_tensor *quiet_by_number(dync_tensor *x, dync_tensor *y)
{
    dync_tensor *v = NULL, *base = dync_mul(x, 2);
    DYNC_NO_GRAD v = dync_reshape(base, dync_shape(-1));
    return dync_mul_(v, 3) ? dync_mul(base, y) : NULL;
}
static dync_tensor *quiet_part(dync_tensor *x, dync_tensor *y)
{
    dync_tensor *v = NULL;
    DYNC_NO_GRAD v = dync_as_tensor(dync_at(dync_chunk(x, 3, 0), 1));
    return dync_zero_(v) ? dync_mul(x, y) : NULL;
}
static dync_tensor *quiet_handed(dync_tensor *x, dync_tensor *y)
{
    dync_tensor *v = NULL;
    DYNC_NO_GRAD v = dync_contiguous(x);
    return dync_zero_(v) ? dync_mul(x, y) : NULL;
}
TEST(which_views_may_be_written)
{
    static dync_tensor *(*const programs[])(dync_tensor *, dync_tensor *) = {
        detached_row, reshaped_copy, quiet_beside,    reshaped_view, quiet_view,
        view_of_leaf, quiet_part,    quiet_by_number, quiet_handed};
    static const char *const on[] = {NULL, "eager", "aot_eager", "aot_eager_decomp_partition",
                                     "inductor"};
    dync_on_error(quiet, NULL);
    for (int p = 0; p < 9; p++) {
        dync_tensor *want = NULL;
        for (int k = 0; k < 5; k++) {
            dync_compiled *f = k ? dync_compile(programs[p], .backend = on[k], .fullgraph = true)
                                 : NULL;
            for (int call = 0; call < 3; call++) {
                dync_manual_seed(9);
                dync_tensor *x = dync_randn(dync_shape(3, 4), .requires_grad = true),
                            *y = dync_randn(dync_shape(3, 4), .requires_grad = true),
                            *z = f ? dync_call(f, x, y) : programs[p](x, y);
                EXPECT(!z == (p >= 3));
                dync_backward(dync_sum(z, DYNC_ALL, false));
                EXPECT_STATUS(dync_error(), p < 3 ? DYNC_OK : DYNC_ERR_AUTOGRAD);
                if (!want) want = dync_grad(y);
                EXPECT(p >= 3 || dync_allclose(dync_grad(y), want, TOL_F32_SUM, TOL_F32_SUM));
                dync_clear_error();
            }
            if (f) dync_compiled_free(f);
        }
    }
}

TEST(random_programs)
{
    int allowed = 0;
    dync_on_error(quiet, NULL);
    for (int p = 0; p < 80; p++) {
        drawn = 4242u + (unsigned)p;
        for (int i = 0; i < STEPS; i++) {
            form[i][0] = draw(FORMS);
            for (int k = 1; k < 3; k++) form[i][k] = draw(i + 2);
        }
        result[0] = 2 + draw(STEPS), result[1] = 2 + draw(STEPS);
        written = draw(STEPS + 2), how_written = draw(3);
        int before = test__state.failures;
        allowed += compare();
        if (test__state.failures != before) printf("program %d\n", p);
    }
    EXPECT(allowed > 10 && allowed < 80);
}
TEST_MAIN
