/* A program's own macros of one letter, made behind the header, do not reach into the header's. */
#include "dync.h"
#include "test.h"
#include "tol.h"
#define A 1
#define B 2
#define C 3
#define D 4
#define E 5
#define F 6
#define G 7
#define H 8
#define I 9
#define J 10
#define K 11
#define L 12
#define M 13
#define N 14
#define O 15
#define P 16
#define Q 17
#define R 18
#define S 19
#define T 20
#define U 21
#define V 22
#define W 23
#define X 24
#define Y 25
#define Z 26

static dync_tensor *none(void) { return dync_full(dync_shape(B, C), N); }
static dync_tensor *scaled(dync_tensor *x, dync_tensor *y)
{
    dync_value parts = dync_chunk(dync_cat(dync_tuple(x, y, dync_add(x, N)), 0), C, 0);
    return dync_mul(dync_as_tensor(dync_at(parts, B)), dync_sum(y, DYNC_ALL, false));
}

TEST(letters)
{
    dync_compiled *f = dync_compile(none), *g = dync_compile(scaled, .fullgraph = true);
    for (int call = 0; call < C; call++) DYNC_SCOPE {
        dync_tensor *x = dync_call(f),
                    *y = dync_full(dync_shape(B, C), K, .dtype = DYNC_F32, .requires_grad = true),
                    *z = dync_call(g, x, y);
        EXPECT_NEAR(dync_item(dync_select(dync_select(z, 0, 0), 0, 0)), 28 * 66, TOL_EXACT);
        EXPECT_OK(dync_backward(dync_sum(z, dync_shape(0, 1), false)));
        EXPECT(
            dync_allclose(dync_grad(y), dync_full(dync_shape(B, C), 28 * 6), TOL_EXACT, TOL_EXACT));
        DYNC_NO_GRAD dync_copy_(y, dync_from(((float[]){A, B, C}), dync_shape(C)));
        EXPECT_NEAR(dync_item(dync_einsum("ij,ij->", dync_tuple(y, y))), B * 14, TOL_EXACT);
        EXPECT_NEAR(dync_item(dync_pad(dync_select(dync_select(y, 0, 0), 0, 0), dync_shape(), N)),
                    A, TOL_EXACT);
    }
    dync_compiled_free(f);
    dync_compiled_free(g);
}
TEST_MAIN
