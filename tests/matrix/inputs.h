/* tests/matrix/inputs.h: the kinds of inputs. A kind makes the three arguments, or leaves some NULL
 * for the common ones: fresh leaves, which require grad where the kind says so. */
#ifndef DYNC_TESTS_MATRIX_INPUTS_H
#define DYNC_TESTS_MATRIX_INPUTS_H

typedef struct {
    dync_tensor *arg[3], *leaf[8];
    int n_leaves, seed;
    dync_dtype dtype;
} matrix_inputs;

static dync_tensor *leaf_of(matrix_inputs *in, dync_dims size, int more, bool grad)
{
    float v[64];
    for (int i = 0; i < 64; i++)
        v[i] = (float)((i * 7 + (in->seed + more) * 5) % 11 - 5) / 4 + (float)(i % 3) * 0.125f;
    dync_tensor *t = dync_from(v, size);
    if (in->dtype == DYNC_I64) t = dync_mul(t, 4);
    if (in->dtype != DYNC_F32) t = dync_to_dtype(t, in->dtype);
    if (grad) dync_requires_grad_(t, true);
    return in->leaf[in->n_leaves++] = t;
}
static dync_tensor *matrix_leaf(matrix_inputs *in, int more, bool grad)
{
    return leaf_of(in, dync_shape(3, 4), more, grad);
}
static dync_tensor *value_of(matrix_inputs *in, int more)
{
    return dync_mul(matrix_leaf(in, more, true), 1);
}

static void plain_leaves(matrix_inputs *in) { (void)in; }
static void first_is_value(matrix_inputs *in) { in->arg[0] = value_of(in, 0); }
static void same_leaf(matrix_inputs *in) { in->arg[0] = in->arg[1] = matrix_leaf(in, 0, false); }
static void same_value(matrix_inputs *in) { in->arg[0] = in->arg[1] = value_of(in, 0); }
static void halves_of(matrix_inputs *in, dync_tensor *base)
{
    in->arg[0] = dync_slice(base, 0, 0, 3, 1);
    in->arg[1] = dync_slice(base, 0, 1, 4, 1);
}
static void overlapping(matrix_inputs *in)
{
    halves_of(in, leaf_of(in, dync_shape(4, 4), 0, false));
}
static void overlapping_values(matrix_inputs *in)
{
    halves_of(in, dync_mul(leaf_of(in, dync_shape(4, 4), 0, true), 1));
}
static void leaf_and_none(matrix_inputs *in)
{
    in->arg[0] = matrix_leaf(in, 0, true);
    in->arg[1] = matrix_leaf(in, 1, false);
    in->arg[2] = leaf_of(in, dync_shape(4), 2, false);
}
static void transposed(matrix_inputs *in)
{
    in->arg[0] = dync_transpose(leaf_of(in, dync_shape(4, 3), 0, false), 0, 1);
}
static void transposed_value(matrix_inputs *in)
{
    in->arg[0] = dync_transpose(dync_mul(leaf_of(in, dync_shape(4, 3), 0, true), 1), 0, 1);
}
static void row_of_first(matrix_inputs *in)
{
    in->arg[0] = matrix_leaf(in, 0, false);
    in->arg[2] = dync_select(in->arg[0], 0, 1);
}
static void empty(matrix_inputs *in)
{
    in->arg[0] = leaf_of(in, dync_shape(0, 4), 0, false);
    in->arg[1] = leaf_of(in, dync_shape(0, 4), 0, false);
}
static void detached_of_second(matrix_inputs *in)
{
    in->arg[1] = value_of(in, 0);
    in->arg[0] = dync_detach(in->arg[1]);
}
static void view_of_second(matrix_inputs *in)
{
    in->arg[1] = value_of(in, 0);
    in->arg[0] = dync_view(in->arg[1], dync_shape(3, 4));
}
static void value_and_its_row(matrix_inputs *in)
{
    in->arg[0] = dync_mul(matrix_leaf(in, 0, true), 2);
    in->arg[1] = matrix_leaf(in, 1, false);
    in->arg[2] = dync_select(in->arg[0], 0, 2);
}
static void second_expanded(matrix_inputs *in)
{
    in->arg[1] = dync_expand(leaf_of(in, dync_shape(1, 4), 0, false), dync_shape(3, 4));
}
static void row_of_second_value(matrix_inputs *in)
{
    in->arg[1] = value_of(in, 0);
    in->arg[2] = dync_select(in->arg[1], 0, 1);
}

typedef struct {
    const char *name;
    void (*make)(matrix_inputs *);
    bool grad_second, grad_third; /* of those that make() left */
    bool no_grad;                 /* the function runs without gradients */
    dync_dtype dtype;
} matrix_kind;

static const matrix_kind matrix_kinds[] = {
    {"plain", plain_leaves, false, false, false, DYNC_F32},
    {"leaves", plain_leaves, true, true, false, DYNC_F32},
    {"a value, leaves", first_is_value, true, true, false, DYNC_F32},
    {"one tensor twice", same_leaf, false, false, false, DYNC_F32},
    {"overlapping slices", overlapping, false, false, false, DYNC_F32},
    {"overlapping slices of a value", overlapping_values, false, false, false, DYNC_F32},
    {"a leaf, plain", leaf_and_none, false, false, false, DYNC_F32},
    {"transposed", transposed, false, false, false, DYNC_F32},
    {"a transposed value, a leaf", transposed_value, true, false, false, DYNC_F32},
    {"third a row of the first", row_of_first, false, false, false, DYNC_F32},
    {"f64", plain_leaves, false, false, false, DYNC_F64},
    {"leaves, no_grad", plain_leaves, true, true, true, DYNC_F32},
    {"one value twice", same_value, false, false, false, DYNC_F32},
    {"empty", empty, false, false, false, DYNC_F32},
    {"i64", plain_leaves, false, false, false, DYNC_I64},
    {"first detached of the second", detached_of_second, false, false, false, DYNC_F32},
    {"first a view of the second", view_of_second, false, false, false, DYNC_F32},
    {"transposed, no_grad", transposed, false, false, true, DYNC_F32},
    {"a value and its row", value_and_its_row, false, false, false, DYNC_F32},
    {"f16", plain_leaves, false, false, false, DYNC_F16},
    {"second expanded", second_expanded, false, false, false, DYNC_F32},
    {"third a row of the second, a value", row_of_second_value, false, false, false, DYNC_F32},
};
enum { MATRIX_KINDS = sizeof matrix_kinds / sizeof *matrix_kinds };

static void matrix_make(matrix_inputs *in, const matrix_kind *kind, int seed)
{
    memset(in, 0, sizeof *in);
    in->seed = seed;
    in->dtype = kind->dtype;
    kind->make(in);
    if (!in->arg[0]) in->arg[0] = matrix_leaf(in, 0, kind->grad_second);
    if (!in->arg[1]) in->arg[1] = matrix_leaf(in, 1, kind->grad_second);
    if (!in->arg[2]) in->arg[2] = leaf_of(in, dync_shape(4), 2, kind->grad_third);
}
#endif
