/* op/eager_whole.c: an eager call that is made of several operators gives by one plan what it gives
 * operator by operator: every composite row of the operator table, in several sizes and dtypes, on
 * inputs with gaps. Every call of a form gives the same bits: the first makes the plan, or runs the
 * operators where a number is no whole one. Sums of floats may be added in another order than
 * operator by operator; few are. */
#include "dync.in.h"
#include "op/rows.h"
#include "autograd/node.h"
#include "op_samples.h"
#include "every_operator.h"
#include "tol.h"

typedef struct outcome {
    dync_status status;
    dync__tensor *out[DYNC__MAX_OUT];
} outcome;

static outcome run_call(call *c)
{
    outcome o = {.status = DYNC_OK};
    dync_manual_seed(7);
    o.status = (dync__op_run)(c->op, c->nargs, c->args, o.out);
    dync_clear_error();
    return o;
}

static void let_go(outcome *o)
{
    for (int i = 0; i < DYNC__MAX_OUT && o->status == DYNC_OK; i++) dync__unref(o->out[i]);
}

static bool same_bits(const dync__tensor *a, const dync__tensor *b)
{
    if (!a || !b) return a == b;
    if (a->dtype != b->dtype || a->numel != b->numel || !dync__layout_equal(&a->lay, &b->lay))
        return false;
    for (int64_t i = 0; i < a->numel; i++)
        if (memcmp(element(a, i), element(b, i), dync__dtype_info(a->dtype)->bytes)) return false;
    return true;
}

/* Integers are equal; floats near to each other. */
static bool same_values(const dync__tensor *a, const dync__tensor *b)
{
    if (!a || !b || same_bits(a, b)) return a == b || (a && b);
    if (a->dtype != b->dtype || dync__dtype_info(a->dtype)->kind != 'f') return false;
    if (a->numel != b->numel || !dync__layout_equal(&a->lay, &b->lay)) return false;
    double near = a->dtype == DYNC_F64   ? TOL_F64_CHAIN
                  : a->dtype == DYNC_F32 ? TOL_F32_CHAIN
                                         : TOL_BF16_LAYER;
    for (int64_t i = 0; i < a->numel; i++) {
        double x = dync__load_f64(element(a, i), a->dtype),
               y = dync__load_f64(element(b, i), a->dtype);
        if (!(fabs(x - y) <= near * (1 + fabs(y))) && !(x != x && y != y)) return false;
    }
    return true;
}

static int plans_made(void)
{
    const dync__op_state *s = dync__tls.op_state;
    int n = 0;
    for (int i = 0; s && i < DYNC__EAGER_SETS; i++)
        for (int j = 0; j < DYNC__EAGER_WAYS; j++)
            n += s->entry[i][j] && s->entry[i][j]->tried && s->entry[i][j]->plan;
    return n;
}

static void quiet(dync_status status, const char *message, void *user)
{
    (void)status, (void)message, (void)user;
}

static int reordered; /* results of other bits than operator by operator */
static int compare_sample(const sample *s, how how)
{
    call c = {.how = how, .op = dync__op_find(s->op)};
    if (dync__op_info(c.op)->cls != DYNC__COMPOSITE) return 0;
    read_args(&c, s->args);
    if (dync__tls.op_state) dync__eager_forget(dync__tls.op_state);
    EXPECT_EQ_INT(dync_config_set("disable", "whole"), DYNC_OK);
    outcome plain = run_call(&c);
    EXPECT_EQ_INT(dync_config_set("disable", ""), DYNC_OK);
    int before = plans_made();
    outcome first = run_call(&c);
    for (int k = 1; k < 4; k++) {
        outcome next = run_call(&c);
        bool same = next.status == first.status, near = first.status == plain.status;
        for (int i = 0; i < DYNC__MAX_OUT && same && near && plain.status == DYNC_OK; i++) {
            same = same_bits(next.out[i], first.out[i]);
            near = same_values(first.out[i], plain.out[i]);
            reordered += !same_bits(first.out[i], plain.out[i]);
        }
        if (!EXPECT(same && near))
            printf("    %s(%s) of %s, sizes times %d, call %d: other than %s\n", s->op, s->args,
                   dync__dtype_info(how.dtype)->name, how.scale, k,
                   same ? "operator by operator" : "the first");
        let_go(&next);
    }
    let_go(&first);
    let_go(&plain);
    return plans_made() > before;
}

/* least: so many forms have a plan, so that it is plans that are compared. */
static void every_composite(how how, int least)
{
    int plans = 0;
    reordered = 0;
    bool off = dync__grad_off(true);
    dync_on_error(quiet, NULL);
    for (int i = 0; i < (int)(sizeof samples / sizeof samples[0]); i++) DYNC_SCOPE {
        plans += compare_sample(&samples[i], how);
    }
    dync__grad_off(off);
    if (!EXPECT(plans >= least)) printf("    %d plans\n", plans);
    if (!EXPECT(reordered <= 12)) printf("    %d other sums\n", reordered);
}
TEST(composites) { every_composite((how){DYNC_F32, 1, false}, 40); }
TEST(composites_five_times_as_large) { every_composite((how){DYNC_F32, 5, false}, 40); }
TEST(composites_f64_with_gaps) { every_composite((how){DYNC_F64, 3, true}, 40); }
TEST(composites_bf16) { every_composite((how){DYNC_BF16, 2, false}, 40); }

/* What a number stands for is in the plan: another number is another plan. */
TEST(numbers_are_told_apart)
{
    dync_tensor *x = dync_from(((float[]){1, 2, 3, 4}), dync_shape(1, 1, 2, 2));
    for (int k = 0; k < 12; k++) {
        dync_tensor *y = dync_pad(x, dync_shape(1, 0, 0, 0), dync_v_float(k % 3 + 0.5));
        EXPECT_NEAR(((const float *)dync_data(y))[0], k % 3 + 0.5, TOL_EXACT);
        EXPECT_NEAR(((const float *)dync_data(y))[1], 1, TOL_EXACT);
    }
}

/* What data forbid is the same error in every call. */
TEST(a_class_outside_is_told)
{
    dync_tensor *x = dync_ones(dync_shape(4, 3)),
                *i = dync_from(((int64_t[]){0, 9, 1, 2}), .dtype = DYNC_I64);
    char first[256] = "";
    dync_status status = DYNC_OK;
    dync_on_error(quiet, NULL);
    for (int k = 0; k < 4; k++) {
        EXPECT(dync_cross_entropy(x, i) == NULL);
        if (!k) snprintf(first, sizeof first, "%s", dync_error_message());
        if (!k) status = dync_error();
        EXPECT(status != DYNC_OK);
        EXPECT_EQ_INT(dync_error(), status);
        EXPECT_EQ_STR(dync_error_message(), first);
        dync_clear_error();
    }
}
TEST_MAIN
