/* tests/random/generate.h: makes random programs. A step is chosen by its row; its operands come
 * from the row's maker (makers.h), or where it has none from its schema. left_out says which rows
 * no program calls, and why. */
#ifndef DYNC_TESTS_RANDOM_GENERATE_H
#define DYNC_TESTS_RANDOM_GENERATE_H
#include "makers.h"

/* ---- the others: by their schema ------------------------------------------------------------- */
static void put_dims(gen *g, step *s, int a)
{
    int64_t d[DYNC_MAX_DIMS];
    int n = a < 0 ? 0 : nd(g, a), k = 0;
    if (!chance(g, 20))
        for (int i = 0; i < n; i++)
            if (chance(g, 50)) d[k++] = chance(g, 70) ? i : i - n;
    put_d(s, k, d);
}
static double some_float(gen *g, const char *name)
{
    if (strcmp(name, "eps") == 0) return 1e-4;
    if (strcmp(name, "low") == 0) return -0.7;
    if (strcmp(name, "high") == 0) return 0.9;
    if (strcmp(name, "threshold") == 0) return 0.3;
    return 0.125 + 0.25 * rnd(g, 5); /* no threshold that data with ties meet */
}
static bool make_by_schema(gen *g, step *s)
{
    const row *r = &rows[s->row];
    char type[24], name[32];
    int want = strstr(r->flags, "OP_FLOAT") || strstr(r->schema, "float") ? FLOATS : NUMBERS,
        self = -1;
    if (chance(g, 6)) want = ANY;
    for (int i = 0; row_param(r->schema, i, type, name); i++) {
        bool value = strncmp(type, "Value", 5) == 0, maybe = type[strlen(type) - 1] == '?';
        if (i == 0 && (value || strncmp(type, "Tensor", 6) == 0)) {
            if ((self = some(g, chance(g, 75) ? FLOATS & want ? FLOATS : want : want, 0, 4)) < 0)
                return false;
            put_v(s, self);
        } else if (maybe && chance(g, 35))
            put_none(s);
        else if (value && chance(g, maybe ? 80 : 40))
            put_number(g, s);
        else if (value || strncmp(type, "Tensor", 6) == 0)
            put_v(s, with(g, self, chance(g, 75) ? class_of(type_of(g, self)) : want));
        else if (strcmp(type, "Dims") == 0)
            put_dims(g, s, self);
        else if (strcmp(type, "float") == 0)
            put_f(s, some_float(g, name));
        else if (strcmp(type, "bool") == 0)
            put_b(s, chance(g, 50));
        else if (strcmp(name, "correction") == 0)
            put_i(s, rnd(g, 2));
        else if (strcmp(name, "offset") == 0 || strcmp(name, "diagonal") == 0)
            put_i(s, rnd(g, 5) - 2);
        else
            put_i(s, some_dim(g, self));
    }
    return true;
}

static bool make_step(gen *g, step *s)
{
    char padded[48];
    snprintf(padded, sizeof padded, "%s", rows[s->row].name);
    for (size_t i = 0; i < sizeof makers / sizeof *makers; i++)
        if (among(makers[i].names, padded)) return makers[i].make(g, s);
    return make_by_schema(g, s);
}

/* ---- programs -------------------------------------------------------------------------------- */
/* Rows that no program calls, each with its reason. What AOT or gradients make of others is met
 * there. */
static const struct {
    const char *names, *why;
} left_out[] = {
    {" avg_pool2d_backward convolution_backward embedding_dense_backward "
     "max_pool2d_with_indices_backward native_batch_norm_backward"
     " native_layer_norm_backward _rnn_layer_backward "
     "_scaled_dot_product_flash_attention_for_cpu_backward sigmoid_backward tanh_backward"
     " threshold_backward diagonal_backward select_backward slice_backward as_strided_scatter ",
     "written by gradients of rows that are called"},
    {" _native_batch_norm_legit_functional _scaled_dot_product_flash_attention_for_cpu _rnn_layer "
     "_fourier _strided_view _clone_contiguous alias ",
     "written by decompositions, views and layers: tests/unit/test_compiled_rows.c calls them by "
     "themselves"},
    {" _set_grad_enabled manual_seed custom_gradient trace_wrapped set_ detach ",
     "effects and hooks of the C program: tests/capture"},
    {" grid_sample deform_conv2d roi_align _roi_align ",
     "values or gradients jump where a place meets an element: tests/unit/test_gradcheck.c"},
    {" lp_pool2d ", "a root whose gradient has no bound near zero: tests/unit/test_gradcheck.c"},
    {" max_unpool2d ", "which of several elements at one place stays is not told"},
    {" nms _nms_each ", "which boxes stay changes with a bit of a score"},
    {" _one_hot_all ", "one_hot calls it where no number of classes is given"},
    {" cond scan while_loop ", "call functions: tests/capture/test_control.c nests them at random"},
    {" _local_scalar_dense _check_range ",
     "numbers that data decide, under an option: tests/capture/test_data.c"},
    {" to_device ", "one device here"},
};
static const char *why_left_out(const char *name)
{
    for (size_t i = 0; i < sizeof left_out / sizeof *left_out; i++)
        if (among(left_out[i].names, name)) return left_out[i].why;
    return NULL;
}

/* The same row once more on other operands of the same form, and both joined: siblings in one
 * expression. */
static void add_sibling(gen *g, const step *first)
{
    static const char *const join[] = {"add", "mul", "sub", "maximum", "cat"};
    step s = *first, both = {.row = row_named(join[rnd(g, 5)])};
    for (int i = 0; i < s.nargs; i++)
        for (int k = 0; k < (s.a[i].kind == A_VALUE  ? 1
                             : s.a[i].kind == A_LIST ? s.a[i].n
                                                     : 0);
             k++)
            if (class_of(type_of(g, (int)s.a[i].d[k])) == FLOATS && chance(g, 80))
                s.a[i].d[k] = like(g, (int)s.a[i].d[k], type_of(g, (int)s.a[i].d[k]));
    for (int i = 0; i < s.nargs; i++)
        for (int k = 0; k < s.a[i].n && (s.a[i].kind == A_VALUE || s.a[i].kind == A_LIST); k++)
            if (s.a[i].d[k] < 0) return;
    if (!emit(g, &s)) return;
    if (strcmp(rows[both.row].name, "cat") == 0)
        put(&both, (arg){.kind = A_LIST, .n = 2, .d = {first->out[0], s.out[0]}}), put_i(&both, 0);
    else
        put_v(&both, first->out[0]), put_v(&both, s.out[0]);
    emit(g, &both);
}

static void choose_outputs(gen *g)
{
    program *p = g->p;
    bool used[MAX_VALUES] = {false};
    for (int i = 0; i < p->n_steps; i++)
        for (int k = 0; k < p->at[i].nargs; k++) {
            const arg *a = &p->at[i].a[k];
            for (int j = 0; j < a->n && (a->kind == A_VALUE || a->kind == A_LIST); j++)
                used[a->d[j]] = true;
        }
    for (int i = p->n_steps - 1; i >= 0 && p->n_out < MAX_RESULTS; i--)
        for (int k = 0; k < p->at[i].nout && p->n_out < MAX_RESULTS; k++)
            if (!used[p->at[i].out[k]] || rnd(g, 10) == 0) p->out[p->n_out++] = p->at[i].out[k];
    if (p->n_out == 0 && p->n_in) p->out[p->n_out++] = p->in[0].id;
}

static int some_symbol(gen *g)
{
    static const int many[] = {5, 6, 7, 8, 9, 12, 16, 17, 19, 33, 40, 65, 130};
    return chance(g, 6) ? rnd(g, 2) : chance(g, 12) ? 2 + rnd(g, 3) : many[rnd(g, 13)];
}

static bool row_breaks(int r) { return strstr(rows[r].flags, "DATA_SHAPE") != NULL; }

/* The program of a seed, which calls row seed mod N_CALLS if it can, and the sizes it was made
 * with. */
static sizes program_make(program *p, uint64_t seed)
{
    gen *g = calloc(1, sizeof *g);
    memset(p, 0, sizeof *p);
    if (!g) abort();
    g->p = p;
    g->r.s = p->seed = seed;
    for (int i = 0; i < N_SIZES; i++) g->s.n[i] = some_symbol(g);
    static const int base[] = {DYNC_F32, DYNC_F32, DYNC_F32, DYNC_F32,
                               DYNC_F32, DYNC_F64, DYNC_F16, DYNC_BF16};
    g->base = base[rnd(g, 8)];
    p->train = chance(g, 55);
    int first = (int)(seed % N_CALLS);
    bool breaks = row_breaks(first) || chance(g, 10);
    int want = 1 + rnd(g, chance(g, 50) ? 5 : 16);
    for (int tries = 0; tries < 40 + 6 * want && p->n_steps < want; tries++) {
        step s = {.row = p->n_steps == 0 && tries < 40 ? first : rnd(g, N_CALLS)};
        if (why_left_out(rows[s.row].name) || (row_breaks(s.row) && !breaks)) continue;
        int had_steps = p->n_steps, had_in = p->n_in, had_ids = p->n_ids, had_live = g->n_live;
        if (!make_step(g, &s) || !emit(g, &s)) {
            if (p->n_steps == had_steps) p->n_in = had_in, p->n_ids = had_ids, g->n_live = had_live;
            continue;
        }
        if (strncmp(rows[s.row].name, "empty", 5) == 0) {
            step fill = {.row = row_named("fill_")};
            put_v(&fill, s.out[0]), put_i(&fill, rnd(g, 3));
            emit(g, &fill);
        } else if (!row_is(s.row, "INPLACE") && chance(g, 20))
            add_sibling(g, &s);
    }
    choose_outputs(g);
    sizes made = g->s;
    free(g);
    return made;
}
#endif
