/* capture/script.c: operators that give back their own argument are followed as others are: in a
 * function with a break a script goes on to its end, and no call after the second adds to it. */
#include "../../src/dync.in.h"
#include "../../src/capture/script.h"
#define TEST_AFTER_EACH dync_shutdown()
#include "test.h"
#include "tol.h"

enum { CALLS = 12 };
static dync_tensor *given(int op, dync_tensor *x)
{
    switch (op) {
    case 0: return dync_contiguous(x);
    case 1: return dync_dropout(x, 0.5, false);
    case 2: return dync_to_dtype(x, DYNC_F32);
    case 3: return dync_to_device(x, DYNC_CPU);
    case 4: return dync_expand(x, dync_shape(4));
    case 5: return dync_expand_as(x, x);
    case 6: return dync_flatten(x, 0, 0);
    case 7: return dync_reshape(x, dync_shape(4));
    case 8: return dync_view_as(x, x);
    case 9: return dync_narrow(x, 0, 0, 4);
    case 10: return dync_movedim(x, dync_shape(0), dync_shape(0));
    case 11: return dync_pad(x, dync_shape(0, 0), 0);
    case 12: return dync_roll(x, dync_shape(0), dync_shape(0));
    case 13: return dync_repeat(x, dync_shape(1));
    case 14: return dync_einsum("i->i", dync_tuple(x));
    case 15: return dync_detach(x);
    case 16: return dync_nan_to_num(x, DYNC_NONE, DYNC_NONE, DYNC_NONE);
    case 17: return dync_dropout(dync_contiguous(x), 0.5, false);
    case 18: return dync_contiguous(dync_add_(dync_contiguous(dync_clone(x)), 1));
    case 19: return dync_max(dync_sum(x, DYNC_ALL, false));
    default: return NULL;
    }
}
enum { OPS = 20 };
static int op;
/* of an argument, of what was made before the break, behind it, and at the end */
static dync_tensor *argument(dync_tensor *x)
{
    dync_tensor *y = given(op, x);
    dync_graph_break("here");
    return dync_add(dync_mul(y, 2), x);
}
static dync_tensor *made(dync_tensor *x)
{
    dync_tensor *y = dync_mul(x, 2), *z = given(op, y);
    dync_graph_break("here");
    return dync_add(dync_sin(y), given(op, dync_mul(z, x)));
}
static dync_tensor *last(dync_tensor *x)
{
    dync_tensor *y = dync_mul(x, 2);
    dync_graph_break("here");
    return given(op, y);
}
typedef dync_tensor *(*function)(dync_tensor *);
static const function functions[] = {argument, made, last};

/* Events of all scripts; how many are ends. */
static int events(dync_compiled *f, int *ends)
{
    int n = 0;
    *ends = 0;
    for (dync__cache_entry *e = dync__compiled_open(f, "test")->entries; e; e = e->next)
        for (dync__script *s = e->scripts; s; s = s->next)
            for (int i = 0; i < s->event.n; i++, n++) *ends += s->event.at[i].kind == DYNC__EV_END;
    return n;
}

static void follows(function fn, bool grad)
{
    dync_compiled *f = dync_compile(fn);
    for (int call = 0, before = 0; call < CALLS; call++) DYNC_SCOPE {
        dync_tensor *x = dync_rand(dync_shape(4)), *a = dync_clone(x), *b = dync_clone(x);
        if (grad) dync_requires_grad_(a, true), dync_requires_grad_(b, true);
        dync_tensor *want = fn(a), *got = dync_call(f, b);
        EXPECT(dync_allclose(dync_detach(want), dync_detach(got), 1e-6, 1e-6));
        EXPECT(dync_requires_grad(want) == dync_requires_grad(got));
        if (grad && dync_requires_grad(want)) {
            EXPECT_OK(dync_backward(dync_sum(want, DYNC_ALL, false)));
            EXPECT_OK(dync_backward(dync_sum(got, DYNC_ALL, false)));
            EXPECT(dync_allclose(dync_grad(a), dync_grad(b), 1e-6, 1e-6));
        }
        int ends, n = events(f, &ends);
        if (!EXPECT(call < 2 || (ends == 1 && (call < 3 || n == before))))
            printf("    operator %d, call %d: %d events, %d before, %d ends\n", op, call, n, before,
                   ends);
        before = n;
    }
    EXPECT_STATUS(dync_error(), DYNC_OK);
    dync_compiled_free(f);
}

TEST(followed)
{
    for (op = 0; op < OPS; op++)
        for (int k = 0; k < 3; k++) {
            follows(functions[k], false);
            follows(functions[k], true);
        }
}

/* Where such a call goes another way it is traced on from there. */
static int way;
static dync_tensor *turns(dync_tensor *x)
{
    dync_tensor *y = dync_contiguous(x);
    dync_graph_break("here");
    dync_tensor *z = dync_contiguous(dync_mul(y, 3)), *same = dync_dropout(z, 0.1, false);
    if (way & 1) dync_add_(same, x);
    if (way & 2) dync_graph_break("there");
    return dync_sub(dync_contiguous(z), way & 4 ? y : x);
}
TEST(left)
{
    static const int ways[] = {0, 0, 0, 1, 1, 0, 2, 3, 3, 2, 7, 6, 5, 4, 4, 5, 6, 7, 0, 1, 2, 3};
    dync_compiled *f = dync_compile(turns);
    for (int i = 0; i < 22; i++) DYNC_SCOPE {
        way = ways[i];
        dync_tensor *x = dync_rand(dync_shape(4));
        EXPECT(dync_allclose(turns(x), dync_call(f, x), 1e-6, 1e-6));
    }
    EXPECT_STATUS(dync_error(), DYNC_OK);
    dync_compiled_free(f);
}
TEST_MAIN
