/* cc -O2 -I.. 01_hello.c -lm -pthread -o 01_hello
 *
 * Lesson 1: tensors, operators, scopes, errors. Nothing is compiled yet: every operator runs when
 * it is called. */
#define DYNC_IMPLEMENTATION
#include "dync.h"

int main(void)
{
    /* A tensor made from data copies them. Its shape is a list of sizes, its dtype float32 unless
     * said otherwise. */
    dync_tensor *a = dync_from(((float[]){1, 2, 3, 4, 5, 6}), dync_shape(2, 3));
    dync_tensor *b = dync_full(dync_shape(3), 10);
    dync_print(dync_add(a, b)); /* (2, 3) + (3): broadcast, as in NumPy and PyTorch */
    dync_print(dync_matmul(a, dync_transpose(a, 0, 1)));
    dync_print(dync_mean(a, dync_shape(1), false)); /* over dimension 1 */

    /* Any C number is an operand. Integers stay integers, until they are divided. */
    int64_t counts[4] = {1, 2, 3, 4};
    dync_tensor *c = dync_from(counts, dync_shape(4), .dtype = DYNC_I64);
    dync_print(dync_mul(c, 2));
    dync_print(dync_div(c, 2));

    /* A view shares memory: writing through it is seen in the whole. */
    dync_tensor *row = dync_select(a, 0, 1);
    dync_zero_(row);
    dync_print(a);

    /* What operators return belongs to the innermost scope and dies with it; only what must live
     * longer is escaped. */
    dync_tensor *total = NULL;
    for (int i = 0; i < 3; i++) DYNC_SCOPE {
        dync_tensor *square = dync_mul(a, a);
        if (i == 2) total = dync_escape(dync_sum(square, DYNC_ALL, false));
    }
    printf("total %g\n", dync_item(total));

    /* A call that fails returns NULL and says why, once; a chain of calls is checked at its end. */
    dync_on_error(NULL, NULL);
    dync_tensor *wrong = dync_exp(dync_matmul(a, dync_ones(dync_shape(2, 2))));
    if (!wrong) printf("no result, status %d, as it should be\n", dync_error() != DYNC_OK);
    dync_clear_error();

    dync_shutdown();
    return dync_error();
}
