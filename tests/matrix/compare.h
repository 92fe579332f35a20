/* tests/matrix/compare.h: what a call did, as text (structure, dtypes, sizes, strides, flags,
 * which results are inputs or lie in their memory) and numbers (results, inputs, gradients, and
 * all again after writing into each result); two records are equal or differ. */
#ifndef DYNC_TESTS_MATRIX_COMPARE_H
#define DYNC_TESTS_MATRIX_COMPARE_H
#include <stdarg.h>

enum { MATRIX_TEXT = 16000, MATRIX_NUMBERS = 4000, MATRIX_OUTPUTS = 64 };
typedef struct {
    char text[MATRIX_TEXT], error[2048];
    double number[MATRIX_NUMBERS];
    int len, n_numbers, n_outputs;
    enum { WENT_WELL, CALL_FAILED, BACKWARD_FAILED } failed;
    dync_tensor *output[MATRIX_OUTPUTS];
} matrix_record;

TEST__PRINTF(2, 3) static void note(matrix_record *r, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (r->len < MATRIX_TEXT - 500) r->len += vsnprintf(r->text + r->len, 500, format, args);
    va_end(args);
}
static void note_number(matrix_record *r, double v)
{
    if (r->n_numbers < MATRIX_NUMBERS) r->number[r->n_numbers++] = v;
}
static void note_numbers(matrix_record *r, dync_tensor *t)
{
    DYNC_SCOPE {
        DYNC_NO_GRAD {
            dync_tensor *f = dync_to_dtype(dync_contiguous(dync_detach(t)), DYNC_F64);
            const double *d = (const double *)dync_data(f);
            for (int64_t i = 0; i < dync_numel(f); i++) note_number(r, d ? d[i] : -777);
        }
    }
}
static void note_tensor(matrix_record *r, dync_tensor *t)
{
    note(r, "dtype %d [", (int)dync_type(t));
    for (int i = 0; i < dync_ndim(t); i++) {
        int64_t size = dync_size(t, i);
        note(r, "%d/%d,", (int)size, size > 1 ? (int)dync_stride(t, i) : 0);
    }
    note(r, "]%s%s%s ", dync_requires_grad(t) ? " grad" : "", dync_is_leaf(t) ? " leaf" : "",
         dync_has_grad_fn(t) ? " fn" : "");
    note_numbers(r, t);
}
static void note_value(matrix_record *r, dync_value v)
{
    switch (v.kind) {
    case DYNC_KIND_NONE: note(r, "none "); break;
    case DYNC_KIND_INT: note(r, "int %ld ", (long)v.as.i); break;
    case DYNC_KIND_BOOL: note(r, "bool %d ", v.as.b); break;
    case DYNC_KIND_STR: note(r, "text %s ", v.as.s); break;
    case DYNC_KIND_FLOAT:
        note(r, "float ");
        note_number(r, v.as.f);
        break;
    case DYNC_KIND_TENSOR:
        note_tensor(r, v.as.t);
        if (r->n_outputs < MATRIX_OUTPUTS) r->output[r->n_outputs++] = v.as.t;
        break;
    case DYNC_KIND_LIST:
        note(r, "(");
        for (int i = 0; i < dync_len(v); i++) note_value(r, dync_at(v, i));
        note(r, ")");
        break;
    default: note(r, "kind %d ", (int)v.kind);
    }
}
static const char *place_of(dync_tensor *t)
{
    return dync_numel(t) ? (const char *)dync_data(dync_detach(t)) : NULL;
}
static int bytes_of(dync_dtype d) { return d == DYNC_F32 ? 4 : d == DYNC_F16 ? 2 : 8; }
/* base: where an argument's memory began, as the function may set it to other memory. */
static void note_places(matrix_record *r, const matrix_inputs *in, const char *const *base)
{
    for (int i = 0; i < r->n_outputs; i++) {
        const char *p = place_of(r->output[i]);
        for (int k = 0; k < 3 && p; k++) {
            if (r->output[i] == in->arg[k]) note(r, "out %d is in %d ", i, k);
            if (base[k] && p >= base[k] && p < base[k] + 12 * bytes_of(in->dtype))
                note(r, "out %d in in %d at %d ", i, k, (int)(p - base[k]));
        }
        for (int k = 0; k < i; k++)
            if (r->output[i] == r->output[k]) note(r, "out %d is out %d ", i, k);
    }
}
static bool take_error(matrix_record *r, int where)
{
    if (dync_error() == DYNC_OK) return false;
    r->failed = where == CALL_FAILED ? CALL_FAILED : BACKWARD_FAILED;
    snprintf(r->error, sizeof r->error, "%s: %s", dync_error_class(), dync_error_message());
    dync_clear_error();
    return true;
}
static void add_loss(dync_tensor **loss, dync_tensor *q)
{
    *loss = *loss ? dync_add(*loss, total(q)) : total(q);
}
static void note_gradients(matrix_record *r, const matrix_inputs *in)
{
    dync_tensor *loss = NULL;
    for (int i = 0; i < r->n_outputs; i++) {
        dync_tensor *t = r->output[i];
        if (dync_requires_grad(t)) add_loss(&loss, dync_mul(dync_mul(t, t), 0.5 + i));
    }
    for (int i = 0; i < 3; i++)
        if (dync_requires_grad(in->arg[i]) && !dync_is_leaf(in->arg[i]))
            add_loss(&loss, dync_mul(in->arg[i], 0.25 + i));
    if (loss) dync_backward(loss);
    if (take_error(r, BACKWARD_FAILED)) return;
    note(r, "| gradients ");
    for (int i = 0; i < in->n_leaves + 3; i++) {
        bool arg = i >= in->n_leaves;
        dync_tensor *t = arg ? in->arg[i - in->n_leaves] : in->leaf[i];
        dync_tensor *g = !arg || dync_is_leaf(t) ? dync_grad(t) : NULL;
        if (g)
            note_tensor(r, g);
        else
            note(r, "none ");
    }
}
/* Results share memory where writing into one is seen in another. */
static void note_after_writing(matrix_record *r, const matrix_inputs *in)
{
    note(r, "| written ");
    for (int i = 0; i < r->n_outputs; i++) {
        DYNC_NO_GRAD {
            dync_tensor *d = dync_detach(r->output[i]);
            if (dync_type(d) != DYNC_BOOL && dync_numel(d)) dync_add_(d, 1 + i * 3);
        }
        if (dync_error()) note(r, "error %d ", i);
        dync_clear_error();
    }
    for (int i = 0; i < r->n_outputs; i++) note_numbers(r, r->output[i]);
    for (int i = 0; i < 3; i++) note_numbers(r, in->arg[i]);
}

/* One call: of f itself where c is NULL. */
static void matrix_call(matrix_record *r, const matrix_function *f, const matrix_kind *kind,
                        int seed, dync_compiled *c)
{
    r->len = r->n_numbers = r->n_outputs = 0;
    r->failed = WENT_WELL;
    r->text[0] = r->error[0] = 0;
    dync_set_grad_enabled(true);
    dync_clear_error();
    dync_manual_seed(5);
    DYNC_SCOPE {
        matrix_inputs in;
        const char *base[3];
        dync_value a[3];
        matrix_make(&in, kind, seed);
        for (int i = 0; i < 3; i++) {
            base[i] = place_of(in.arg[i]);
            a[i] = DYNC_V(in.arg[i]);
        }
        if (kind->no_grad) dync_set_grad_enabled(false);
        dync_value v = c ? dync_call_values(c, 3, a) : f->call(a, 3, NULL);
        note(r, "mode %d ", dync_is_grad_enabled());
        dync_set_grad_enabled(true);
        if (!take_error(r, CALL_FAILED)) {
            note_value(r, v);
            note_places(r, &in, base);
            note(r, "| inputs ");
            for (int i = 0; i < 3; i++) note_tensor(r, in.arg[i]);
            note_gradients(r, &in);
            note_after_writing(r, &in);
        }
    }
    dync_set_grad_enabled(true);
    dync_clear_error();
}

static bool close_numbers(const matrix_record *want, const matrix_record *got)
{
    if (want->n_numbers != got->n_numbers) return false;
    for (int i = 0; i < want->n_numbers; i++)
        if (!test__is_near(got->number[i], want->number[i], 2e-4 * (1 + fabs(want->number[i]))))
            return false;
    return true;
}
/* NULL where they are equal. Both may fail: with which message is not asked. */
TEST__UNUSED static const char *matrix_differs(const matrix_record *want, const matrix_record *got)
{
    if (want->failed != got->failed) return "one fails";
    if (want->failed) return NULL;
    if (strcmp(want->text, got->text) != 0) return "structure";
    return close_numbers(want, got) ? NULL : "numbers";
}
static void matrix_tell(const char *what, const char *f, const char *kind, const char *way,
                        const matrix_record *want, const matrix_record *got)
{
    printf("    %s (%s), %s: %s\n", f, kind, way, what);
    printf("      plain %s\n      here  %s\n", want->failed ? want->error : want->text,
           got->failed ? got->error : got->text);
    if (want->failed || got->failed || strcmp(want->text, got->text) != 0) return;
    for (int i = 0, shown = 0; i < want->n_numbers && shown < 4; i++)
        if (!test__is_near(got->number[i], want->number[i], 2e-4 * (1 + fabs(want->number[i]))) &&
            ++shown)
            printf("      [%d] plain %.9g, here %.9g\n", i, want->number[i], got->number[i]);
}
static void quiet(dync_status status, const char *message, void *user)
{
    (void)status, (void)message, (void)user;
}
#endif
