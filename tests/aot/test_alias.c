/* Programs that write and alias, over inputs that share memory and history in every way: compiled
 * code gives what eager gives: values, written inputs, gradients, requires_grad, and the same
 * tensors on the same memory (seen by writing each output and looking everywhere). */
#include "../capture/counter.h"
#include "tol.h"

static const char *const backends[] = {"aot_eager", "aot_eager_decomp_partition",
                                       "aot_eager_default_partitioner", "aot_ts", "inductor"};
typedef dync_value (*program)(dync_tensor *x, dync_tensor *y);

/* ---- programs -------------------------------------------------------------------------------- */
static dync_tensor *row(dync_tensor *t, int64_t i) { return dync_select(t, 0, i); }
static dync_tensor *flat(dync_tensor *t) { return dync_reshape(t, dync_shape(-1)); }
#define P(name, ...)                                       \
    static dync_value name(dync_tensor *x, dync_tensor *y) \
    {                                                      \
        (void)x, (void)y;                                  \
        __VA_ARGS__                                        \
    }
P(write_then_view, dync_mul_(x, 2); return dync_tuple(dync_transpose(x, 0, 1), y);)
P(view_then_write, dync_tensor *v = dync_transpose(x, 0, 1); dync_mul_(x, 2);
  return dync_tuple(v, dync_mul(v, 3));)
P(written_and_returned, dync_add_(x, 1); return dync_tuple(x);)
P(row_written, dync_mul_(row(x, 1), 3); return dync_tuple(dync_mul(x, y));)
P(other_read, dync_mul_(x, 2); return dync_tuple(dync_mul(y, 3), dync_add(x, y));)
P(both_written, dync_mul_(x, 2); dync_add_(y, 1); return dync_tuple(dync_add(x, y), row(y, 0));)
P(written_after_use, dync_tensor *z = dync_add(x, y); dync_mul_(x, 2); return dync_tuple(z);)
P(twice_the_same, dync_tensor *z = dync_mul(x, y); return dync_tuple(z, dync_sin(z), z);)
P(views_of_one, dync_tensor *z = dync_mul(x, y); return dync_tuple(row(z, 0), row(z, 1), flat(z));)
P(value_and_view, dync_tensor *z = dync_mul(x, y); return dync_tuple(row(z, 0), z);)
P(value_and_detached, dync_tensor *z = dync_mul(x, y);
  return dync_tuple(dync_detach(row(z, 2)), z, dync_detach(z));)
P(nothing_returned, dync_mul_(x, 2); return dync_tuple_of(0, NULL);)
P(no_gradients, return dync_tuple(dync_mul(dync_detach(x), 2), dync_gt(y, 0));)
P(one_unused, return dync_tuple(dync_mul(x, 2));)
P(integers,
  return dync_tuple(dync_argmax(x, 1, false), dync_sum(dync_mul(y, y), dync_shape(0), false));)
P(written_without_grad, DYNC_NO_GRAD { dync_mul_(x, 2); } return dync_tuple(dync_mul(x, y));)
P(
    view_without_grad, dync_tensor *v = NULL;
    DYNC_NO_GRAD { v = row(x, 1); } return dync_tuple(v, dync_mul(x, y));)
P(hidden_write, dync_mul_(dync_detach(x), 2); return dync_tuple(x, dync_mul(y, 2));)
P(written_by_other, dync_mul_(x, dync_clone(y));
  return dync_tuple(dync_sum(x, DYNC_ALL, false), row(x, 0));)
P(transposed_write, dync_add_(row(dync_transpose(x, 0, 1), 2), dync_select(dync_clone(y), 1, 1));
  return dync_tuple(dync_mul(x, x));)
P(copied_over, dync_copy_(x, dync_sigmoid(y)); return dync_tuple(x, dync_mul(x, 2));)
P(chain_of_views, dync_tensor *v = row(x, 0), *w = dync_slice(v, 0, 1, 3, 1); dync_exp_(w);
  dync_add_(v, 1); return dync_tuple(w, v, dync_mul(x, 1));)
P(as_they_are, return dync_tuple(x, y, row(y, 1));)
P(value_written_by_view, dync_tensor *z = dync_add(x, y), *v = row(z, 0); dync_mul_(v, 2);
  return dync_tuple(z, v, row(z, 1));)
P(detached_then_own, dync_tensor *d = dync_detach(x); dync_mul_(d, dync_clone(y));
  return dync_tuple(d, dync_mul(y, 2));)
P(filled, dync_fill_(dync_slice(x, 1, 0, DYNC_END, 2), 0.5); return dync_tuple(dync_mul(x, y), x);)
P(written_twice, dync_tensor *v = row(x, 1); dync_sin_(v); dync_mul_(x, 3); dync_cos_(v);
  return dync_tuple(dync_mul(v, row(y, 1)));)
/* set_: another memory in place of its own; of an input, and of a value of the program */
P(other_memory, dync_tensor *z = dync_clone(dync_detach(y));
  dync_set_(z, dync_mul(dync_detach(y), 3)); return dync_tuple(dync_add(z, x));)
P(other_memory_of_value, dync_tensor *z = dync_mul(dync_detach(x), 2); dync_set_(z, dync_detach(y));
  return dync_tuple(dync_mul(z, x), z);)
P(nothing_in_it, dync_tensor *z = dync_slice(x, 0, 0, 0, 1); dync_mul_(z, 2);
  return dync_tuple(z, dync_sum(z, dync_shape(0), false), dync_cat(dync_tuple(z, x), 0));)
P(copied_and_cleared, dync_copy_(x, y); dync_zero_(y); return dync_tuple(dync_add(x, 1));)
P(equal_values, dync_tensor *a = dync_sin(x), *b = dync_sin(x); return dync_tuple(a, b, row(b, 0));)
P(row_written_twice, dync_add_(row(dync_transpose(x, 0, 1), 0), 1);
  dync_mul_(row(dync_transpose(x, 0, 1), 0), dync_clone(dync_select(y, 1, 0)));
  return dync_tuple(dync_mul(x, y));)
P(broadcast_write, dync_add_(x, dync_clone(row(y, 0))); dync_mul_(dync_unsqueeze(row(x, 1), 0), 2);
  return dync_tuple(dync_sum(x, dync_shape(0), false));)
/* upstream's test_aotdispatch.py, by its names */
static dync_tensor *item(dync_value v, int i) { return dync_as_tensor(dync_at(v, i)); }
P(squeeze_mutation, dync_tensor *t = dync_squeeze(dync_unsqueeze(dync_clone(x), -1), -1);
  dync_add_(t, 1); return dync_tuple(t, y);)
P(input_mutation_and_output_view, dync_add_(x, 1); return dync_tuple(flat(x));)
P(input_mutation_output_view_multiple, dync_mul_(x, 2); dync_add_(y, 3);
  return dync_tuple(dync_transpose(x, 0, 1), row(y, 0), dync_add(x, y), dync_unsqueeze(x, 0));)
P(input_mutation_alias_everything, dync_tensor *a = flat(x), *b = row(y, 1); dync_mul_(a, 2);
  dync_add_(b, 1); return dync_tuple(a, b, row(x, 0), flat(y), dync_add(x, y));)
P(input_mutation_requires_grad_detach, dync_mul_(dync_detach(x), 2);
  return dync_tuple(dync_add(x, 3));)
P(
    input_mutation_detach_twice, dync_mul_(dync_detach(dync_detach(row(x, 0))), 2);
    DYNC_NO_GRAD { dync_mul_(y, 3); } return dync_tuple(dync_add(x, y));)
P(output_aliases_intermediate_single, return dync_tuple(flat(dync_mul(x, 3)));)
P(output_aliases_intermediate_multiple, dync_tensor *z = dync_mul(x, 3);
  return dync_tuple(flat(z), dync_unsqueeze(z, 0), y);)
P(output_aliases_intermediate_and_returned, dync_tensor *z = dync_mul(x, 3),
  *v = dync_transpose(z, 0, 1);
  return dync_tuple(v, z, flat(y));)
P(output_aliases_intermediate_returned_multiple_times, dync_tensor *z = dync_mul(x, 3);
  return dync_tuple(z, flat(z), z, flat(z), dync_detach(z));)
P(output_aliases_intermediate_view_of_view, dync_tensor *z = dync_mul(x, 3), *v = flat(z);
  return dync_tuple(dync_reshape(v, dync_shape(6, 4)), dync_slice(v, 0, 2, 9, 3),
                    dync_expand(dync_unsqueeze(z, 0), dync_shape(2, 4, 6)));)
P(output_all_alias_types, dync_tensor *z = dync_mul(x, 2), *v = dync_transpose(z, 0, 1);
  dync_add_(y, 1);
  return dync_tuple(row(y, 0), v, row(z, 1), dync_clone(x), y, dync_detach(x), dync_sin(v));)
P(view_detach, dync_tensor *v = dync_detach(dync_transpose(x, 0, 1));
  return dync_tuple(v, dync_mul(y, v = dync_transpose(v, 0, 1)), v);)
P(multi_output_view_of_input, dync_value v = dync_unbind(x, 0);
  return dync_tuple(item(v, 0), item(v, 3), y);)
P(multi_output_view_of_intermediate, dync_value v = dync_unbind(dync_mul(x, y), 1);
  return dync_tuple(item(v, 0), item(v, 5));)
P(multi_output_view_and_base, dync_tensor *z = dync_mul(x, y); dync_value v = dync_chunk(z, 2, 0);
  return dync_tuple(item(v, 0), z, item(v, 1));)
P(multi_output_view_used, dync_value v = dync_split(dync_mul(x, 2), 2, 0);
  return dync_tuple(dync_mul(item(v, 0), item(v, 1)), item(v, 0));)
P(mutated_input_returned_as_its_own_view,
  dync_tensor *v = dync_transpose(dync_transpose(x, 0, 1), 0, 1);
  dync_mul_(x, 2); dync_add_(v, 1); return dync_tuple(v, x);)
P(write_after_return_value, dync_tensor *z = dync_mul(x, 2), *v = row(z, 0);
  dync_tensor *s = dync_sum(z, DYNC_ALL, false); dync_add_(v, dync_clone(row(y, 0)));
  return dync_tuple(z, s, v);)
P(index_written, dync_tensor *z = dync_clone(x);
  dync_copy_(dync_slice(z, 1, 1, 5, 2), dync_slice(y, 1, 0, 4, 2));
  dync_masked_fill_(z, dync_gt(y, 0), 0.5);
  return dync_tuple(z, dync_sum(dync_mul(z, x), DYNC_ALL, false));)
P(expand_written_by_element,
  dync_tensor *e = dync_expand(dync_unsqueeze(x, 0), dync_shape(3, 4, 6));
  dync_add_(dync_select(row(row(e, 0), 0), 0, 0), 5); return dync_tuple(dync_mul(e, 1), x);)
P(accumulate_in_place, dync_tensor *s = dync_zeros(dync_shape(6));
  for (int i = 0; i < 4; i++) dync_add_(s, dync_mul(row(x, i), row(y, 3 - i)));
  return dync_tuple(s);)
P(
    grad_mode_in_the_middle, dync_tensor *a = dync_sin(x), *b; DYNC_NO_GRAD {
        b = dync_cos(a);
        dync_mul_(b, 2);
    } dync_add_(a, b);
    return dync_tuple(a, b, dync_mul(a, y));)
P(
    written_three_ways, dync_mul_(x, 2); dync_add_(row(x, 0), 1); dync_sin_(dync_select(x, 1, 1));
    DYNC_NO_GRAD { dync_mul_(dync_slice(x, 0, 2, 4, 1), 0.5); } return dync_tuple(dync_mul(x, y));)
static const struct {
    const char *name;
    program fn;
} programs[] = {
#define E(p) {#p, p}
    E(write_then_view),
    E(view_then_write),
    E(written_and_returned),
    E(row_written),
    E(other_read),
    E(both_written),
    E(written_after_use),
    E(twice_the_same),
    E(views_of_one),
    E(value_and_view),
    E(value_and_detached),
    E(nothing_returned),
    E(no_gradients),
    E(one_unused),
    E(integers),
    E(written_without_grad),
    E(view_without_grad),
    E(hidden_write),
    E(written_by_other),
    E(transposed_write),
    E(copied_over),
    E(chain_of_views),
    E(as_they_are),
    E(value_written_by_view),
    E(detached_then_own),
    E(filled),
    E(written_twice),
    E(other_memory),
    E(other_memory_of_value),
    E(nothing_in_it),
    E(copied_and_cleared),
    E(equal_values),
    E(row_written_twice),
    E(broadcast_write),
    E(squeeze_mutation),
    E(input_mutation_and_output_view),
    E(input_mutation_output_view_multiple),
    E(input_mutation_alias_everything),
    E(input_mutation_requires_grad_detach),
    E(input_mutation_detach_twice),
    E(output_aliases_intermediate_single),
    E(output_aliases_intermediate_multiple),
    E(output_aliases_intermediate_and_returned),
    E(output_aliases_intermediate_returned_multiple_times),
    E(output_aliases_intermediate_view_of_view),
    E(output_all_alias_types),
    E(view_detach),
    E(multi_output_view_of_input),
    E(multi_output_view_of_intermediate),
    E(multi_output_view_and_base),
    E(multi_output_view_used),
    E(mutated_input_returned_as_its_own_view),
    E(write_after_return_value),
    E(index_written),
    E(expand_written_by_element),
    E(accumulate_in_place),
    E(grad_mode_in_the_middle),
    E(written_three_ways)};
enum { N_PROGRAMS = (int)(sizeof programs / sizeof programs[0]) };

/* ---- inputs: x and y, and the leaves behind them --------------------------------------------- */
typedef struct {
    dync_tensor *x, *y, *leaf[2];
    int n_leaves;
} inputs;
static dync_tensor *random_tensor(dync_dims shape, bool leaf)
{
    return dync_randn_opt((dync_make){.shape = shape, .requires_grad = leaf});
}
static inputs plain(void)
{
    return (inputs){
        random_tensor(dync_shape(4, 6), false), random_tensor(dync_shape(4, 6), false), {0}, 0};
}
static inputs leaves(void)
{
    dync_tensor *a = random_tensor(dync_shape(4, 6), true),
                *b = random_tensor(dync_shape(4, 6), true);
    return (inputs){a, b, {a, b}, 2};
}
static inputs inner(void)
{
    inputs in = leaves();
    in.x = dync_mul(in.x, 1.5), in.y = dync_mul(in.y, 0.5);
    return in;
}
static inputs second_leaf(void)
{
    inputs in = {
        random_tensor(dync_shape(4, 6), false), random_tensor(dync_shape(4, 6), true), {0}, 1};
    in.leaf[0] = in.y;
    return in;
}
static inputs views_of_base(void)
{
    dync_tensor *a = random_tensor(dync_shape(6, 6), true), *base = dync_mul(a, 2);
    return (inputs){dync_slice(base, 0, 0, 4, 1), dync_slice(base, 0, 2, 6, 1), {a}, 1};
}
static inputs base_and_view(void)
{
    dync_tensor *a = random_tensor(dync_shape(4, 6), true), *base = dync_mul(a, 2);
    return (inputs){base, dync_as_strided(base, dync_shape(4, 6), dync_shape(6, 1), 0), {a}, 1};
}
static inputs view_and_base(void)
{
    inputs in = base_and_view();
    return (inputs){in.y, in.x, {in.leaf[0]}, 1};
}
static inputs views_of_plain(void)
{
    dync_tensor *base = random_tensor(dync_shape(6, 6), false);
    return (inputs){dync_slice(base, 0, 0, 4, 1), dync_slice(base, 0, 2, 6, 1), {0}, 0};
}
static inputs with_detached(void)
{
    dync_tensor *a = random_tensor(dync_shape(4, 6), true), *b = dync_mul(a, 2);
    return (inputs){b, dync_detach(b), {a}, 1};
}
static inputs one_tensor(void)
{
    dync_tensor *a = random_tensor(dync_shape(4, 6), true), *b = dync_mul(a, 2);
    return (inputs){b, b, {a}, 1};
}
static inputs strided(void)
{
    dync_tensor *a = random_tensor(dync_shape(8, 6), true),
                *b = random_tensor(dync_shape(6, 4), true);
    return (inputs){
        dync_slice(dync_mul(a, 1), 0, 0, 8, 2), dync_transpose(dync_mul(b, 1), 0, 1), {a, b}, 2};
}
static inputs strided_plain(void)
{
    return (inputs){dync_slice(random_tensor(dync_shape(4, 12), false), 1, 0, 12, 2),
                    random_tensor(dync_shape(4, 6), false),
                    {0},
                    0};
}
static inputs rows_of_plain(void)
{
    dync_tensor *base = random_tensor(dync_shape(6, 6), false);
    return (inputs){dync_slice(base, 0, 2, 6, 1), random_tensor(dync_shape(4, 6), true), {0}, 0};
}
static inputs rows_and_detached(void)
{
    dync_tensor *a = random_tensor(dync_shape(6, 6), true), *base = dync_mul(a, 2);
    return (inputs){
        dync_slice(base, 0, 2, 6, 1), dync_slice(dync_detach(base), 0, 0, 4, 1), {a}, 1};
}
typedef inputs (*maker)(void);
static const struct {
    const char *name;
    maker make;
} makers[] = {E(plain),         E(leaves),           E(inner),         E(second_leaf),
              E(views_of_base), E(base_and_view),    E(view_and_base), E(views_of_plain),
              E(with_detached), E(one_tensor),       E(strided),       E(strided_plain),
              E(rows_of_plain), E(rows_and_detached)};
enum { N_MAKERS = (int)(sizeof makers / sizeof makers[0]) };

/* ---- comparing ------------------------------------------------------------------------------- */
static dync_value run_program(const dync_value *a, int n, void *user)
{
    (void)n;
    return programs[*(const int *)user].fn(dync_as_tensor(a[0]), dync_as_tensor(a[1]));
}
static bool same_flags(dync_tensor *a, dync_tensor *b)
{
    return dync_requires_grad(a) == dync_requires_grad(b) && dync_is_leaf(a) == dync_is_leaf(b) &&
           dync_has_grad_fn(a) == dync_has_grad_fn(b);
}
static bool equal(dync_tensor *a, dync_tensor *b)
{
    return same(dync_detach(a), dync_detach(b), 1e-5);
}
static bool backward_of(dync_value outs)
{
    dync_tensor *loss = NULL;
    for (int i = 0; i < dync_len(outs); i++) {
        dync_tensor *t = dync_as_tensor(dync_at(outs, i));
        if (!dync_requires_grad(t)) continue;
        dync_tensor *part = dync_sum(dync_mul(t, (double)(i + 1)), DYNC_ALL, false);
        loss = loss ? dync_add(loss, part) : part;
    }
    return loss && dync_backward(loss) == DYNC_OK;
}
/* Writes every output in turn; the others and the inputs must follow alike. */
static bool same_memory(inputs a, dync_value p, inputs b, dync_value q)
{
    for (int i = 0; i < dync_len(p); i++) {
        dync_tensor *s = dync_as_tensor(dync_at(p, i)), *t = dync_as_tensor(dync_at(q, i));
        if (dync_type(s) != DYNC_F32) continue;
        dync_add_(dync_detach(s), 100.0 * (i + 1));
        dync_add_(dync_detach(t), 100.0 * (i + 1));
        if (!equal(a.x, b.x) || !equal(a.y, b.y)) return false;
        for (int k = 0; k < dync_len(p); k++)
            if (!equal(dync_as_tensor(dync_at(p, k)), dync_as_tensor(dync_at(q, k)))) return false;
    }
    return true;
}

static const char *differs(dync_compiled *f, int prog, maker make, uint64_t seed)
{
    dync_value args[2];
    dync_manual_seed(seed);
    inputs a = make();
    dync_manual_seed(seed);
    inputs b = make();
    args[0] = dync_v_tensor(a.x), args[1] = dync_v_tensor(a.y);
    dync_value p = run_program(args, 2, &prog);
    dync_status want = dync_error();
    dync_clear_error();
    dync_value q = dync_call_value(f, b.x, b.y);
    dync_status got = dync_error();
    if (want != got) return dync_error_message();
    dync_clear_error();
    if (want != DYNC_OK) return NULL;
    if (!equal(a.x, b.x) || !equal(a.y, b.y)) return "inputs";
    if (!same_flags(a.x, b.x) || !same_flags(a.y, b.y)) return "flags of inputs";
    if (dync_len(p) != dync_len(q)) return "number of outputs";
    for (int i = 0; i < dync_len(p); i++) {
        dync_tensor *s = dync_as_tensor(dync_at(p, i)), *t = dync_as_tensor(dync_at(q, i));
        if (!equal(s, t)) return "outputs";
        if (!same_flags(s, t)) return "flags of outputs";
        if ((s == a.x) != (t == b.x) || (s == a.y) != (t == b.y))
            return "an input that is an output";
    }
    bool done = backward_of(p);
    dync_clear_error();
    backward_of(q);
    if (done && dync_error() != DYNC_OK) return dync_error_message();
    dync_clear_error();
    for (int i = 0; i < a.n_leaves && done; i++) {
        dync_tensor *s = dync_grad(a.leaf[i]), *t = dync_grad(b.leaf[i]);
        if (!s != !t || (s && !equal(s, t))) return "gradients";
    }
    return same_memory(a, p, b, q) ? NULL : "memory";
}

static void quiet(dync_status status, const char *message, void *user)
{
    (void)status, (void)message, (void)user;
}
/* One program on every kind of inputs and every backend, two calls each. */
static void every_way(program fn)
{
    int prog = 0;
    while (programs[prog].fn != fn) prog++;
    dync_on_error(quiet, NULL);
    for (int m = 0; m < N_MAKERS; m++)
        for (size_t b = 0; b < sizeof backends / sizeof backends[0]; b++) {
            dync_compiled *f = dync_compile(dync_bind(run_program, &prog, "x, y"),
                                            .backend = backends[b], .fullgraph = true);
            for (int call = 0; call < 2; call++) DYNC_SCOPE {
                const char *what = differs(f, prog, makers[m].make, (uint64_t)(7 * prog + call));
                if (!EXPECT(what == NULL))
                    printf("    %s on %s, %s, call %d: %s\n", programs[prog].name, makers[m].name,
                           backends[b], call, what);
                dync_clear_error();
            }
            dync_compiled_free(f);
        }
}

/* Upstream's programs that are easy to get wrong, each alone. Inputs that share a base and
 * zero-size ones are among the makers. */
TEST(mutation_then_view) { every_way(write_then_view); }
TEST(view_then_mutation) { every_way(view_then_write); }
TEST(input_returned_and_mutated) { every_way(written_and_returned); }
TEST(two_inputs_of_one_base)
{
    every_way(both_written);
    every_way(other_read);
}
TEST(metadata_only_mutation)
{
    every_way(other_memory);
    every_way(other_memory_of_value);
}
TEST(mutation_after_the_last_use) { every_way(written_after_use); }
TEST(outputs_duplicated)
{
    every_way(twice_the_same);
    every_way(views_of_one);
}
TEST(zero_size_tensors) { every_way(nothing_in_it); }
TEST(no_outputs) { every_way(nothing_returned); }
TEST(outputs_without_gradient) { every_way(no_gradients); }
TEST(unused_inputs) { every_way(one_unused); }
TEST(integer_outputs) { every_way(integers); }
TEST(programs_of_test_aotdispatch)
{
    for (int i = 0; i < N_PROGRAMS; i++)
        if (strcmp(programs[i].name, "squeeze_mutation") == 0)
            for (; i < N_PROGRAMS; i++) every_way(programs[i].fn);
}
TEST(other_programs)
{
    static const program others[] = {row_written,        value_and_view,
                                     value_and_detached, written_without_grad,
                                     view_without_grad,  hidden_write,
                                     written_by_other,   transposed_write,
                                     copied_over,        chain_of_views,
                                     as_they_are,        value_written_by_view,
                                     detached_then_own,  filled,
                                     written_twice,      copied_and_cleared,
                                     equal_values,       row_written_twice,
                                     broadcast_write};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) every_way(others[i]);
}
/* ---- views of inputs whose elements share places --------------------------------------------- */

static dync_tensor *transposed(dync_tensor *x) { return dync_t(x); }
static dync_tensor *two_columns(dync_tensor *x) { return dync_slice(x, 1, 1, 3, 1); }
static dync_tensor *one_row(dync_tensor *x) { return dync_select(x, 0, 1); }

/* The gradient has an element for each of x's, wherever these lie: cotangents 1, 2, 3, ... come
 * back to their places. */
TEST(views_of_expanded_and_overlapping_leaves)
{
    static dync_tensor *(*const fns[])(dync_tensor *) = {transposed, two_columns, one_row};
    static const float want[3][9] = {
        {1, 4, 7, 2, 5, 8, 3, 6, 9}, {0, 1, 2, 0, 3, 4, 0, 5, 6}, {0, 0, 0, 1, 2, 3, 0, 0, 0}};
    static const char *const names[] = {NULL, "eager", "aot_eager", "inductor"};
    for (int k = 0; k < 2 * 3 * 4; k++) DYNC_SCOPE {
        dync_tensor *memory = dync_arange(0, 9, 1);
        dync_tensor *x = k & 1 ? dync_as_strided(memory, dync_shape(3, 3), dync_shape(1, 1), 0)
                               : dync_expand(dync_slice(memory, 0, 0, 3, 1), dync_shape(3, 3));
        x = dync_requires_grad_(dync_detach(x), true);
        int fn = k / 2 % 3;
        dync_compiled *f = k / 6 ? dync_compile(fns[fn], .backend = names[k / 6], .fullgraph = true)
                                 : NULL;
        dync_tensor *y = f ? dync_call(f, x) : fns[fn](x);
        EXPECT_OK(
            dync_backward_with(y, dync_view_as(dync_arange(1, (double)dync_numel(y) + 1, 1), y)));
        dync_tensor *g = dync_contiguous(dync_grad(x));
        EXPECT_NEAR_F32((const float *)dync_data(g), want[fn], 9, TOL_EXACT, TOL_EXACT);
        dync_fill_(memory, 5); /* the view lies on the memory of x */
        EXPECT_NEAR(dync_item(dync_max(y)), 5, TOL_EXACT);
        dync_compiled_free(f);
    }
}
/* ---- windows of windows ---------------------------------------------------------------------- */

static dync_tensor *windows_of_windows(dync_tensor *x)
{
    return dync_unfold(dync_unfold(x, -1, 3, 2), 0, 3, 2);
}
static dync_tensor *windows_thrice(dync_tensor *x)
{
    return dync_unfold(dync_unfold(dync_unfold(x, 0, 9, 2), 1, 5, 2), 2, 3, 1);
}
static dync_tensor *strided_twice(dync_tensor *x)
{
    dync_tensor *windows = dync_as_strided(x, dync_shape(4, 3), dync_shape(2, 1), 0);
    return dync_as_strided(windows, dync_shape(3, 3), dync_shape(1, 2), 0);
}
static dync_tensor *strided_of_expanded(dync_tensor *x)
{
    dync_tensor *windows =
        dync_unfold(dync_expand(dync_unsqueeze(x, 0), dync_shape(2, 15)), 1, 3, 2);
    return dync_as_strided(windows, dync_shape(2, 15), dync_shape(0, 1), 0);
}

/* Sums of the cotangents 1, 2, 3, ... over the elements of y that x's element i stands at: y holds
 * x's own numbers, 0, 1, 2, ..., so it says itself where each is from. */
static void check_windows(dync_tensor *(*fn)(dync_tensor *), const char *backend, dync_dtype dtype)
{
    dync_tensor *x = dync_requires_grad_(dync_to_dtype(dync_arange(0, 15, 1), dtype), true);
    dync_compiled *f = backend ? dync_compile(fn, .backend = backend, .fullgraph = true) : NULL;
    dync_tensor *y = f ? dync_call(f, x) : fn(x), *of = dync_to_dtype(dync_detach(y), DYNC_F32);
    const float *from = dync_data(of = dync_contiguous(of));
    float want[15] = {0};
    for (int64_t i = 0; i < dync_numel(of); i++) want[(int)from[i]] += (float)(i + 1);
    dync_tensor *by = dync_arange(1, (double)dync_numel(y) + 1, 1);
    EXPECT_OK(dync_backward_with(y, dync_to_dtype(dync_view_as(by, y), dtype)));
    dync_tensor *g = dync_to_dtype(dync_grad(x), DYNC_F32);
    EXPECT_NEAR_F32((const float *)dync_data(g), want, 15, TOL_F32_CHAIN, TOL_ABS_F32);
    dync_compiled_free(f);
}

TEST(windows_of_windows_have_gradients)
{
    static dync_tensor *(*const fns[])(dync_tensor *) = {windows_of_windows, windows_thrice,
                                                         strided_twice, strided_of_expanded};
    static const char *const names[] = {NULL, "eager", "aot_eager", "inductor"};
    for (int k = 0; k < 4 * 4 * 2; k++) DYNC_SCOPE
        check_windows(fns[k / 4 % 4], names[k % 4], k / 16 ? DYNC_F64 : DYNC_F32);
}
/* ---- writes where elements share places ------------------------------------------------------ */

enum { WINDOWS = 40000, WIDTH = 16, HOP = 4, BASE = (WINDOWS - 1) * HOP + WIDTH };
static dync_tensor *windows(dync_tensor *x)
{
    return dync_as_strided(x, dync_shape(WINDOWS, WIDTH), dync_shape(HOP, 1), 0);
}
static dync_tensor *added(dync_tensor *x, dync_tensor *by)
{
    dync_tensor *base = dync_mul(x, 1);
    dync_add_(windows(base), by);
    return base;
}
static dync_tensor *copied(dync_tensor *x, dync_tensor *by)
{
    dync_tensor *base = dync_mul(x, 1);
    dync_copy_(windows(base), by);
    return base;
}
static dync_tensor *added_in_place(dync_tensor *x, dync_tensor *by)
{
    dync_add_(windows(x), by);
    return dync_mul(x, 1);
}

/* Each element is computed of what stood there before, and the last in row-major order stays; eager
 * as compiled. */
TEST(overlapping_writes)
{
    static dync_tensor *(*const fns[])(dync_tensor *, dync_tensor *) = {added, copied,
                                                                        added_in_place};
    static const char *const names[] = {NULL, "eager", "aot_eager", "inductor"};
    static float x0[BASE], by0[WINDOWS * WIDTH], want[BASE]; /* enough for several threads */
    for (int i = 0; i < BASE; i++) x0[i] = (float)i;
    for (int i = 0; i < WINDOWS * WIDTH; i++) by0[i] = (float)(i * 7 % 1000);
    for (int k = 0; k < 3 * 4; k++) DYNC_SCOPE {
        int fn = k / 4;
        for (int w = 0; w < WINDOWS; w++)
            for (int i = 0; i < WIDTH; i++)
                want[w * HOP + i] = (fn == 1 ? 0 : x0[w * HOP + i]) + by0[w * WIDTH + i];
        dync_tensor *x = dync_clone(dync_from(x0, dync_shape(BASE))),
                    *by = dync_from(by0, dync_shape(WINDOWS, WIDTH));
        dync_compiled *f = k % 4 ? dync_compile(fns[fn], .backend = names[k % 4], .fullgraph = true)
                                 : NULL;
        dync_tensor *y = f ? dync_call(f, x, by) : fns[fn](x, by);
        EXPECT_NEAR_F32((const float *)dync_data(y), want, BASE, TOL_EXACT, TOL_EXACT);
        if (fn == 2) EXPECT_NEAR_F32((const float *)dync_data(x), want, BASE, TOL_EXACT, TOL_EXACT);
        dync_compiled_free(f);
    }
}

/* Two equal values become one, which is a result and the base of another: the view, not dense, is
 * copied, and the copy is laid out as clone does it. The verifier of graphs looks on. */
static dync_value twice_and_windows(const dync_value *args, int n, void *user)
{
    (void)n, (void)user;
    dync_tensor *x = dync_as_tensor(args[0]);
    dync_tensor *a = dync_logical_and(x, -1), *b = dync_logical_and(x, -1);
    return dync_tuple(dync_mul(x, 2), dync_unfold(a, 1, 2, 2), b);
}
TEST(views_with_gaps_are_copied_as_by_clone)
{
    static const char *const names[] = {"eager", "aot_eager", "inductor"};
    dync_tensor *x = dync_transpose(dync_randn(dync_shape(2, 33, 3)), 0, 2);
    for (int k = 0; k < 3; k++) DYNC_SCOPE {
        dync_compiled *f = dync_compile(twice_and_windows, .args = "x", .backend = names[k]);
        dync_tensor *leaf = dync_requires_grad_(dync_clone(x), true);
        dync_value in = DYNC_V(leaf), want = twice_and_windows(&in, 1, NULL),
                   got = dync_call_values(f, 1, &in);
        for (int i = 0; i < 3; i++)
            EXPECT(dync_equal(dync_as_tensor(dync_at(want, i)), dync_as_tensor(dync_at(got, i))));
        dync_compiled_free(f);
    }
    EXPECT_EQ_INT(dync_error(), DYNC_OK);
}
TEST_MAIN
