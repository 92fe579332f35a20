/* tests/random/interpret.h: runs a program: its inputs, its steps, gradients of its inputs. Noise:
 * every operator that rounds is given operands and gives results moved by an ulp or two at random,
 * which says how far two honest ways of computing the same may differ. */
#ifndef DYNC_TESTS_RANDOM_INTERPRET_H
#define DYNC_TESTS_RANDOM_INTERPRET_H
#include "program.h"

static rng noise;
static bool noisy; /* while a run with noise goes on */

/* ---- inputs ---------------------------------------------------------------------------------- */
static double input_number(rng *r, const input *in, int64_t i, int64_t along)
{
    bool whole = !is_float(in->dtype);
    switch (in->data) {
    case DATA_POSITIVE: return whole ? 1 + rng_below(r, 7) : rng_real(r, 0.2, 2.0);
    case DATA_TIES: return 0.5 * (rng_below(r, 7) - 3);
    case DATA_INDEX: return rng_below(r, in->below);
    case DATA_DISTINCT: return (double)((along + i) % (in->below > 0 ? in->below : 1));
    case DATA_NORMAL: break;
    }
    if (in->dtype == DYNC_BOOL) return rng_below(r, 2);
    if (in->dtype == DYNC_U8) return rng_below(r, 8);
    if (whole) return rng_below(r, 15) - 7;
    return rng_real(r, -1, 1) + rng_real(r, -1, 1) + rng_real(r, -1, 1);
}

/* The elements row by row, as f64 or, of whole numbers, as i64. */
static dync_tensor *input_rows(rng *r, const input *in, dync_dims shape, bool exact)
{
    int64_t n = 1, inner = 1;
    for (int i = 0; i < shape.n; i++) n *= shape.d[i];
    for (int i = in->dim + 1; i < shape.n; i++) inner *= shape.d[i];
    double *data = malloc((size_t)(n + 1) * sizeof *data);
    if (!data) return NULL;
    int64_t length = shape.n ? shape.d[in->dim] : 1;
    for (int64_t i = 0; i < n; i++)
        data[i] = input_number(r, in, i / inner % (length ? length : 1),
                               inner > 1 ? i % inner : i / (length ? length : 1));
    dync_tensor *t = dync_from(data, shape, .dtype = DYNC_F64);
    free(data);
    t = dync_to_dtype(t, (dync_dtype)in->dtype);
    return exact && is_float(in->dtype) ? dync_to_dtype(t, DYNC_F64) : t;
}

static dync_tensor *input_make(const program *p, int k, const sizes *s, int data)
{
    const input *in = &p->in[k];
    rng r = {p->seed * 0x2545f4914f6cdd1du + (uint64_t)in->id * 7919 + (uint64_t)data * 104729};
    dync_dims shape = {.n = in->ndim};
    for (int i = 0; i < in->ndim; i++) shape.d[i] = input_size(in, i, s);
    dync_tensor *t;
    int last = in->ndim - 1;
    if (in->layout == LAYOUT_TRANSPOSED && in->ndim > 1 && in->data != DATA_DISTINCT) {
        int64_t first = shape.d[0];
        shape.d[0] = shape.d[last], shape.d[last] = first;
        t = dync_transpose(input_rows(&r, in, shape, p->exact), 0, last);
    } else if (in->layout == LAYOUT_GAPS && in->ndim && in->data != DATA_DISTINCT) {
        shape.d[last] *= 2;
        t = dync_slice(input_rows(&r, in, shape, p->exact), last, 0, DYNC_END, 2);
    } else if (in->layout == LAYOUT_EXPANDED && in->ndim && in->data != DATA_DISTINCT) {
        dync_dims whole = shape;
        shape.d[0] = shape.d[0] ? 1 : 0;
        t = dync_expand(input_rows(&r, in, shape, p->exact), whole);
    } else if (in->layout == LAYOUT_OFFSET && in->ndim && in->data != DATA_DISTINCT) {
        shape.d[0] += 1;
        t = dync_slice(input_rows(&r, in, shape, p->exact), 0, 1, DYNC_END, 1);
    } else
        t = input_rows(&r, in, shape, p->exact);
    return p->train && in->grad ? dync_requires_grad_(dync_detach(t), true) : t;
}

/* ---- noise ----------------------------------------------------------------------------------- */
/* Rows that round nothing: what they give is part of what they are given. */
static const char exact_rows[] =
    " bitwise_and bitwise_or bitwise_xor eq ge gt le logical_and logical_or logical_xor lt maximum "
    "minimum ne clamp masked_fill where abs"
    " bitwise_not ceil floor hardtanh isfinite isinf isnan logical_not neg relu relu6 round sgn "
    "sign trunc all amax amin any argmax argmin max"
    " max_dim min min_dim count_nonzero isclose nan_to_num max_pool2d max_pool2d_with_indices "
    "one_hot hardshrink threshold pixel_shuffle"
    " upsample_nearest2d pad movedim unfold im2col embedding argsort cat clone contiguous "
    "_clone_contiguous flip gather index_select masked_select nonzero repeat roll"
    " scatter sort stack take_along_dim topk tril triu unique copy fill int_mm int_conv2d rescale "
    "threshold_backward "
    "diagonal_backward select_backward"
    " slice_backward bernoulli dropout trunc to_device ";
static bool row_rounds(int r)
{
    return !row_is(r, "VIEW") && !row_is(r, "FACTORY") && !row_is(r, "LIST") &&
           !row_is(r, "EFFECT") && !among(exact_rows, rows[r].name) &&
           !among(" reshape flatten narrow unflatten view_as expand_as contiguous to_dtype ",
                  rows[r].name);
}

static double dtype_ulp(int dtype)
{
    return dtype == DYNC_F64   ? 0x1p-52
           : dtype == DYNC_F32 ? 0x1p-23
           : dtype == DYNC_F16 ? 0x1p-10
                               : 0x1p-7;
}
/* The least number above zero: what underflows is rounded to a multiple of it. */
static double dtype_least(int dtype)
{
    return dtype == DYNC_F64   ? 0x1p-1074
           : dtype == DYNC_F32 ? 0x1p-149
           : dtype == DYNC_F16 ? 0x1p-24
                               : 0x1p-133;
}

/* t, every element times 1, or 1 and an ulp more or less. */
static dync_tensor *moved(dync_tensor *t)
{
    dync_dims shape = {.n = dync_ndim(t)};
    int64_t n = 1;
    int dtype = dync_type(t);
    for (int i = 0; i < shape.n; i++) n *= shape.d[i] = dync_size(t, i);
    double *data = malloc((size_t)(n + 1) * sizeof *data);
    if (!data || !is_float(dtype)) return free(data), t;
    for (int64_t i = 0; i < n; i++) data[i] = 1 + (rng_below(&noise, 3) - 1) * dtype_ulp(dtype);
    dync_tensor *factor =
        dync_to_dtype(dync_from(data, shape, .dtype = DYNC_F64), (dync_dtype)dtype);
    free(data);
    return dync_mul(t, factor);
}
static dync_tensor *moved_gradient(dync_tensor *g, void *user) { return (void)user, moved(g); }

/* ---- one step -------------------------------------------------------------------------------- */
static dync_value arg_value(const arg *a, dync_tensor *const *v, bool move)
{
    dync_value item[DYNC_MAX_DIMS];
    switch (a->kind) {
    case A_NONE: return DYNC_NONE;
    case A_VALUE: return dync_v_tensor(move ? moved(v[a->d[0]]) : v[a->d[0]]);
    case A_INT:
    case A_DTYPE: return dync_v_int(a->d[0]);
    case A_FLOAT: return dync_v_float(a->f);
    case A_BOOL: return dync_v_bool(a->d[0] != 0);
    case A_STR: return dync_v_str(a->s);
    case A_DIMS:
        for (int i = 0; i < a->n; i++)
            item[i] = dync_v_int(a->from[i] < 0 ? a->d[i] : dync_dim(v[a->from[i]], (int)a->d[i]));
        return dync_tuple_of(a->n, item);
    case A_LIST:
        for (int i = 0; i < a->n; i++)
            item[i] = dync_v_tensor(move ? moved(v[a->d[i]]) : v[a->d[i]]);
        return dync_tuple_of(a->n, item);
    }
    return DYNC_NONE;
}
static dync_dims arg_dims(const arg *a, dync_tensor *const *v)
{
    dync_dims d = {.n = a->n};
    for (int i = 0; i < a->n; i++)
        d.d[i] = a->from[i] < 0 ? a->d[i] : dync_dim(v[a->from[i]], (int)a->d[i]);
    return d;
}

static dync_value step_function(const step *s, dync_tensor *const *v)
{
    dync_tensor *t = v[s->a[0].d[0]];
    switch (s->row - N_ROWS) {
    case 0: return dync_split(t, s->a[1].d[0], (int)s->a[2].d[0]);
    case 1: return dync_split_sizes(t, arg_dims(&s->a[1], v), (int)s->a[2].d[0]);
    case 2: return dync_chunk(t, (int)s->a[1].d[0], (int)s->a[2].d[0]);
    default: return dync_unbind(t, (int)s->a[1].d[0]);
    }
}

/* The makers that a program calls with options; every other time by name, as all else. */
static dync_tensor *step_maker(const step *s, dync_tensor *const *v)
{
    const char *name = rows[s->row].name;
    if (strcmp(name, "arange") == 0)
        return dync_arange((double)s->a[0].d[0], (double)s->a[1].d[0], (double)s->a[2].d[0]);
    if (strcmp(name, "eye") == 0)
        return dync_eye(s->a[0].d[0], s->a[1].d[0], (dync_dtype)s->a[2].d[0], DYNC_CPU);
    dync_make o = {.shape = arg_dims(&s->a[0], v), .dtype = (dync_dtype)s->a[s->nargs - 2].d[0]};
    if (strcmp(name, "zeros") == 0) return dync_zeros_opt(o);
    if (strcmp(name, "ones") == 0) return dync_ones_opt(o);
    if (strcmp(name, "rand") == 0) return dync_rand_opt(o);
    if (strcmp(name, "randn") == 0) return dync_randn_opt(o);
    if (strcmp(name, "empty") == 0) return dync_empty_opt(o);
    return dync_full_opt(arg_value(&s->a[1], v, false), o);
}

/* With noise a write in place is the row that it is made of, and a copy. */
static dync_value step_value(const step *s, dync_tensor *const *v)
{
    dync_value args[MAX_ARGS];
    const row *r = &rows[s->row];
    bool inplace = row_is(s->row, "INPLACE"), move = noisy && row_rounds(s->row);
    char plain[40] = "";
    if (s->row >= N_ROWS) return step_function(s, v);
    if (inplace) snprintf(plain, sizeof plain, "%.*s", (int)strlen(r->name) - 1, r->name);
    if (inplace && move)
        move = row_named(plain) >= 0 && row_rounds(row_named(plain)) &&
               !among(" normal uniform zero ", plain);
    if (s->out[0] % 2 && among(" zeros ones rand randn empty full arange eye ", r->name))
        return dync_v_tensor(step_maker(s, v));
    for (int i = 0; i < s->nargs; i++) args[i] = arg_value(&s->a[i], v, move);
    if (strcmp(r->name, "to_dtype") == 0)
        return dync_v_tensor(dync_to_dtype(args[0].as.t, (dync_dtype)s->a[1].d[0]));
    dync_value out = dync_op_call_values(inplace && move ? plain : r->name, s->nargs, args);
    if (!move) return out;
    if (inplace) return dync_v_tensor(dync_copy_(v[s->a[0].d[0]], moved(dync_as_tensor(out))));
    if (out.kind == DYNC_KIND_TENSOR) return dync_v_tensor(moved(out.as.t));
    dync_value list[MAX_OUT];
    int n = out.kind == DYNC_KIND_LIST ? dync_len(out) : 0;
    for (int i = 0; i < n && i < MAX_OUT; i++)
        list[i] = dync_v_tensor(moved(dync_as_tensor(dync_at(out, i))));
    return dync_tuple_of(n, list);
}

static bool step_run(const step *s, dync_tensor **v)
{
    dync_value out = step_value(s, v);
    if (out.kind == DYNC_KIND_TENSOR)
        v[s->out[0]] = out.as.t;
    else if (out.kind != DYNC_KIND_LIST || dync_len(out) < s->nout)
        return false;
    for (int i = 0; out.kind == DYNC_KIND_LIST && i < s->nout; i++)
        v[s->out[i]] = dync_as_tensor(dync_at(out, i));
    for (int i = 0; noisy && i < s->nout; i++)
        if (!row_is(s->row, "INPLACE") && v[s->out[i]] && dync_requires_grad(v[s->out[i]]))
            dync_register_hook(v[s->out[i]], moved_gradient, NULL);
    return true;
}

/* ---- the whole: as a function that can be compiled ------------------------------------------- */
static dync_value program_run(const dync_value *args, int n, void *user)
{
    const program *p = user;
    dync_tensor *v[MAX_VALUES] = {NULL};
    dync_value out[MAX_RESULTS];
    for (int i = 0; i < n; i++) v[p->in[i].id] = dync_as_tensor(args[i]);
    for (int i = 0; i < p->n_steps; i++)
        if (!step_run(&p->at[i], v)) return DYNC_NONE;
    for (int i = 0; i < p->n_out; i++) out[i] = dync_v_tensor(v[p->out[i]]);
    return dync_tuple_of(p->n_out, out);
}

/* What a call did: results, then the inputs, then their gradients (NULL: none), owned by the scope.
 */
enum { MAX_OUTCOME = MAX_RESULTS + 2 * MAX_INPUTS };
typedef struct outcome {
    int n;
    dync_tensor *at[MAX_OUTCOME];
    bool
        requires[
                MAX_RESULTS],
        no_backward;
    dync_status status;
    char message[300];
} outcome;

/* One float result after another times numbers between 0.5 and 1.5. */
static dync_status outcome_backward(const program *p, outcome *o)
{
    dync_value of[MAX_RESULTS], grad[MAX_RESULTS];
    int n = 0;
    for (int i = 0; i < p->n_out; i++) {
        bool again = false;
        for (int k = 0; k < i; k++) again = again || o->at[k] == o->at[i];
        if (again || !dync_requires_grad(o->at[i])) continue;
        rng r = {p->seed + (uint64_t)i * 31 + 5};
        input in = {.dtype = dync_type(o->at[i]), .data = DATA_POSITIVE};
        dync_dims shape = {.n = dync_ndim(o->at[i])};
        for (int k = 0; k < shape.n; k++) shape.d[k] = dync_size(o->at[i], k);
        of[n] = dync_v_tensor(o->at[i]);
        grad[n++] = dync_v_tensor(input_rows(&r, &in, shape, false));
    }
    o->no_backward = n == 0;
    return n ? dync_backward_opt(dync_tuple_of(n, of), dync_tuple_of(n, grad),
                                 (dync_grad_options){.retain_graph = false})
             : DYNC_OK;
}

static outcome program_call(const program *p, dync_compiled *f, const sizes *s, int data)
{
    outcome o = {.n = 0};
    dync_value args[MAX_INPUTS];
    dync_tensor *in[MAX_INPUTS];
    for (int i = 0; i < p->n_in; i++) args[i] = dync_v_tensor(in[i] = input_make(p, i, s, data));
    dync_manual_seed(p->seed + (uint64_t)data);
    dync_value r = f ? dync_call_values(f, p->n_in, args)
                     : program_run(args, p->n_in, (void *)(uintptr_t)p);
    bool good = dync_error() == DYNC_OK && r.kind == DYNC_KIND_LIST && dync_len(r) == p->n_out;
    for (int i = 0; i < p->n_out; i++) {
        o.at[o.n++] = good ? dync_as_tensor(dync_at(r, i)) : NULL;
        o.
            requires[
                    i] = good && dync_requires_grad(o.at[i]);
    }
    if (good && p->train) outcome_backward(p, &o);
    for (int i = 0; i < p->n_in; i++) o.at[o.n++] = in[i];
    for (int i = 0; i < p->n_in; i++)
        o.at[o.n++] = p->train && p->in[i].grad ? dync_grad(in[i]) : NULL;
    o.status = dync_error() ? dync_error() : good ? DYNC_OK : DYNC_ERR_INTERNAL;
    snprintf(o.message, sizeof o.message, "%s", dync_error_message());
    dync_clear_error();
    return o;
}
#endif
