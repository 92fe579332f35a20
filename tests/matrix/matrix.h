/* tests/matrix/matrix.h: a table of small functions (the headers below it) and one of the kinds of
 * inputs they are called with (inputs.h); compare.h runs one with the other, plainly and compiled.
 * The functions follow those of PyTorch's test_aotdispatch.py, test_repros.py, test_misc.py,
 * test_view.py and test_ctx_manager.py. Each takes a [3, 4], a [3, 4] and a [4]. */
#ifndef DYNC_TESTS_MATRIX_H
#define DYNC_TESTS_MATRIX_H
#include "test.h"

typedef struct matrix_function {
    const char *name;
    dync_function call;
    struct matrix_function *next;
} matrix_function;

static struct {
    matrix_function *first, **end;
    int n;
} matrix;

static void matrix_add(matrix_function *f)
{
    if (!matrix.first) matrix.end = &matrix.first;
    *matrix.end = f;
    matrix.end = &f->next;
    matrix.n++;
}
static matrix_function *matrix_at(int i)
{
    matrix_function *f = matrix.first;
    while (f && i--) f = f->next;
    return f;
}

/* A function registers itself before main, as a test does. */
#define FUNCTION(name)                                                           \
    static dync_value name(const dync_value *a, int n, void *user);              \
    static matrix_function matrix_##name = {#name, name, NULL};                  \
    __attribute__((constructor)) static void matrix_of_##name(void)              \
    {                                                                            \
        matrix_add(&matrix_##name);                                              \
    }                                                                            \
    static dync_value name(TEST__UNUSED const dync_value *a, TEST__UNUSED int n, \
                           TEST__UNUSED void *user)
#define ARG(i) dync_as_tensor(a[i])

static dync_tensor *row(dync_tensor *x, int i) { return dync_select(x, 0, i); }
static dync_tensor *total(dync_tensor *x) { return dync_sum(x, DYNC_ALL, false); }

#include "matrix/written.h"
#include "matrix/views.h"
#include "matrix/modes.h"
#include "matrix/breaks.h"
#include "matrix/own.h"
#include "matrix/frames.h"
#include "matrix/values.h"

/* What is not compared, and why; with_grad: only where something requires grad. */
typedef struct {
    const char *function, *reason;
    bool with_grad;
} matrix_reason;

static const matrix_reason *matrix_reason_of(const matrix_reason *list, int n, const char *function)
{
    for (int i = 0; i < n; i++)
        if (strcmp(list[i].function, function) == 0) return &list[i];
    return NULL;
}
#define INPUT_RETURNED "a custom function that returns its input, or a view of it, gives a copy"
#define CONTIGUOUS "several floating results of a custom function come contiguous"
static const matrix_reason matrix_refused[] = {
    {"allowed_with_break", "a function that is allowed in the graph must not break it", false},
    {"escaped_twice", "a second dync_escape of one tensor leaves no scope to escape from", false},
    {"own_identity", INPUT_RETURNED, true},
    {"own_identity_tuple", INPUT_RETURNED, true},
    {"own_identity_used", INPUT_RETURNED, true},
    {"own_identity_of_value", INPUT_RETURNED, true},
    {"own_view", INPUT_RETURNED, true},
    {"own_view_of_value", INPUT_RETURNED, true},
    {"own_write_of_value", INPUT_RETURNED, true},
    {"own_write_of_input", INPUT_RETURNED, true},
    {"own_detached", INPUT_RETURNED, true},
    {"own_mixed_dtypes", CONTIGUOUS, true},
    {"own_two_results", CONTIGUOUS, true},
    {"own_two_results_one_written", CONTIGUOUS, true},
    {"own_two_results_viewed", CONTIGUOUS, true},
    {"own_two_results_of_transposes", CONTIGUOUS, true},
    {"gradients_of_leaf_inside", "a result of its break lies transposed, and so do gradients",
     false},
};
enum { MATRIX_REFUSED = sizeof matrix_refused / sizeof *matrix_refused };
TEST__UNUSED static bool matrix_is_refused(const char *function, bool with_grad)
{
    const matrix_reason *r = matrix_reason_of(matrix_refused, MATRIX_REFUSED, function);
    return r && (with_grad || !r->with_grad);
}
#endif
