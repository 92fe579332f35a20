/* Scatters into views of memory that the function made: the view's new value, put back into that
 * memory, may be scattered into once more, by an operator that leaves it as it is. Random ones
 * beside plain. */
#include "dync.h"
#define TEST_AFTER_EACH dync_shutdown()
#include "test.h"

typedef struct {
    int op, view, number, dim;
} step;
static step program[8];
static int program_n;

static int draw(int n) { return test_random_int(0, n - 1); }

/* A [4, 4] of a [4, 4] or of an [8, 4], by `how`. */
static dync_tensor *look(dync_tensor *t, int how)
{
    if (dync_size(t, 0) == 8)
        t = how % 2 ? dync_slice(t, 0, 0, 8, 2) : dync_slice(t, 0, how / 2 % 4, how / 2 % 4 + 4, 1);
    switch (how / 8 % 4) {
    case 0: return dync_transpose(t, 0, 1);
    case 1: return dync_view(dync_unsqueeze(t, 0), dync_shape(4, 4));
    case 2: return t;
    default: return dync_transpose(dync_transpose(t, 0, 1), 0, 1);
    }
}
static void write_into(dync_tensor *to, const step *s, dync_tensor *at, dync_tensor *from)
{
    switch (s->op % 4) {
    case 0: dync_scatter_add_(to, s->dim, at, from); break;
    case 1: dync_index_add_(to, s->dim, dync_select(at, 0, 1), from); break;
    case 2: dync_scatter_(to, s->dim, at, from); break;
    default: dync_mul_(to, 2); break;
    }
}
static dync_tensor *scattered(dync_tensor *to, const step *s, dync_tensor *at, dync_tensor *from)
{
    switch (s->op % 4) {
    case 0: return dync_scatter_add(to, s->dim, at, from);
    case 1: return dync_index_add(to, s->dim, dync_select(at, 0, 1), from);
    case 2: return dync_scatter(to, s->dim, at, from);
    default: return dync_mul(to, 2);
    }
}
static dync_value run(const dync_value *a, int n, void *user)
{
    (void)n, (void)user;
    dync_tensor *x = dync_as_tensor(a[0]), *at = dync_as_tensor(a[1]), *memory = dync_mul(x, 3);
    dync_value kept[9];
    int n_kept = 0;
    dync_tensor *view = look(memory, program[0].view), *from = look(x, program[0].number);
    for (int i = 0; i < program_n; i++) {
        const step *s = &program[i];
        if (s->number % 3 == 0) view = look(memory, s->view);
        if (s->number % 2)
            write_into(view, s, at, from);
        else
            kept[n_kept++] = DYNC_V(scattered(view, s, at, from));
    }
    kept[n_kept++] = DYNC_V(program[0].op & 8 ? view : memory);
    return dync_tuple_of(n_kept, kept);
}
static bool same(dync_value p, dync_value q)
{
    if (p.kind != DYNC_KIND_LIST || q.kind != DYNC_KIND_LIST || dync_len(p) != dync_len(q))
        return false;
    for (int i = 0; i < dync_len(p); i++)
        if (!dync_equal(dync_as_tensor(dync_at(p, i)), dync_as_tensor(dync_at(q, i)))) return false;
    return true;
}
static void compare(const char *backend)
{
    dync_compiled *c = dync_compile(dync_fnv(run), .backend = backend);
    for (int call = 0; call < 2; call++) DYNC_SCOPE {
        dync_tensor *at = dync_floor(dync_mul(dync_rand(dync_shape(4, 4)), 4));
        dync_tensor *x = dync_randn(dync_shape(program[0].op & 16 ? 8 : 4, 4));
        dync_value a[2] = {DYNC_V(dync_floor(dync_mul(x, 8))), DYNC_V(dync_to_dtype(at, DYNC_I64))};
        if (EXPECT(same(run(a, 2, NULL), dync_call_values(c, 2, a)))) continue;
        printf("    %s: %s\n", backend, dync_error_message());
        for (int i = 0; i < program_n; i++)
            printf("      op %d view %d number %d dim %d\n", program[i].op, program[i].view,
                   program[i].number, program[i].dim);
    }
    dync_compiled_free(c);
}
TEST(random_programs)
{
    for (int round = 0; round < test_count(300); round++) {
        program_n = 2 + draw(7);
        for (int i = 0; i < program_n; i++)
            program[i] = (step){draw(32), draw(64), draw(12), draw(2)};
        compare(round % 3 ? "inductor" : "aot_eager");
    }
}

/* The memory and what is scattered into the view's new value are both results. */
static dync_value both(const dync_value *a, int n, void *user)
{
    (void)n, (void)user;
    dync_tensor *memory = dync_mul(dync_as_tensor(a[0]), 2), *at = dync_as_tensor(a[1]);
    dync_tensor *view = dync_transpose(memory, 0, 1);
    dync_scatter_add_(view, 0, at, at);
    dync_tensor *after = dync_scatter_add(view, 0, at, at);
    return dync_tuple(memory, dync_sum(after, DYNC_ALL, false));
}
TEST(two_results)
{
    dync_compiled *c = dync_compile(dync_fnv(both));
    dync_value a[2] = {DYNC_V(dync_ones(dync_shape(1, 5), .dtype = DYNC_I64)),
                       DYNC_V(dync_ones(dync_shape(5, 1), .dtype = DYNC_I64))};
    EXPECT(same(both(a, 2, NULL), dync_call_values(c, 2, a)));
    dync_compiled_free(c);
}
TEST_MAIN
