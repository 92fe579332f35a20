/* tests/unit/sample_lines.h: lines of samples that PyTorch gave (tests/oracle/ops.py says what a
 * line means): arguments read, results compared. */
#ifndef DYNC_TESTS_SAMPLE_LINES_H
#define DYNC_TESTS_SAMPLE_LINES_H
#include "dync.in.h"
#include "op/rows.h"
#include "autograd/autograd.h"
#include "test.h"
#include "tol.h"
#include "../ops/promotion.c"

enum { MAX_TENSORS = 8, MAX_ELEMENTS = 4096 };

typedef struct parser {
    const char *at;
    int64_t dims[16][DYNC_MAX_DIMS];
    int n_dims;
    dync__arg list[8];
    dync__tensor *made[32];
    int n_made;
    char text[4][64];
    int n_texts;
    bool relative; /* compares values near zero as strictly as others */
    /* compares values as sums of the size of the greatest of them, at least 1 */
    bool spread;
} parser;

/* ---- reading a line -------------------------------------------------------------------------- */

static bool take(parser *p, const char *text)
{
    size_t n = strlen(text);
    if (strncmp(p->at, text, n) != 0) return false;
    p->at += n;
    return true;
}

static double read_number(parser *p)
{
    const char *end;
    double x = 0;
    if (take(p, "-inf") || take(p, "-i")) return -HUGE_VAL;
    if (take(p, "inf") || take(p, "i")) return HUGE_VAL;
    if (take(p, "nan") || take(p, "n")) return (double)NAN;
    if (dync__text_double(p->at, &end, &x)) p->at = end;
    return x;
}

static int64_t read_int(parser *p)
{
    char *end;
    long long x = strtoll(p->at, &end, 10);
    p->at = end;
    return x;
}

static int read_dtype(parser *p)
{
    for (int d = 0; d < PROMOTION_DTYPES; d++) {
        size_t n = strlen(promotion_names[d]);
        if (strncmp(p->at, promotion_names[d], n) != 0) continue;
        p->at += n;
        for (int k = 0; k < PROMOTION_DTYPES; k++)
            if (strcmp(dync__dtype_info(k)->fx, promotion_names[d]) == 0) return k;
    }
    return -1;
}

static int read_dims(parser *p, int64_t *out)
{
    int n = 0;
    while (n < DYNC_MAX_DIMS && (*p->at == '-' || (*p->at >= '0' && *p->at <= '9'))) {
        out[n++] = read_int(p);
        if (!take(p, ",")) break;
    }
    return n;
}

/* The value at a storage index: the same formulas as `pattern` in tests/oracle/ops.py. */
static double pattern(char kind, int64_t seed, int64_t i)
{
    static const double special[] = {0.0,  -0.0, HUGE_VAL, -HUGE_VAL, 0,     1.0,
                                     -1.0, 0.5,  3.0,      -3.0,      100.0, -100.0};
    int64_t h = i * 37 + seed * 11;
    switch (kind) {
    case 'n': return (double)(h % 41 - 20) / 8;
    case 'p': return (double)(h % 41 + 1) / 8;
    case 'u': return (double)(h % 31 - 15) / 16;
    case 'q': return (double)(h % 31 + 1) / 32;
    case 's': return (i + seed) % 12 == 4 ? (double)NAN : special[(i + seed) % 12];
    case 'k': return (double)(h % 13 - 6);
    case 'w': return (double)(h % 13);
    case 'x': return (double)(h % 13 + 1);
    case 'b': return h % 3 == 0;
    case 'z': return (double)((i * 5 + 1) % seed);
    case 'r': return (double)(i * 7 % 23);
    case 'c': return (double)seed;
    default: return 0;
    }
}

/* tests/cuda runs these samples on a device. */
#if !defined(TEST_DEVICE)
#define TEST_DEVICE DYNC_CPU
#endif
static dync__storage *on_device(dync__storage *s)
{
    if (TEST_DEVICE == DYNC_CPU) return s;
    dync__storage *there = dync__storage_new(TEST_DEVICE, s->size_bytes);
    (void)dync__device_copy(TEST_DEVICE, there->data, DYNC_CPU, s->data, s->size_bytes);
    dync__storage_unref(s);
    return there;
}

static dync__arg read_tensor(parser *p)
{
    int64_t shape[DYNC_MAX_DIMS], stride[DYNC_MAX_DIMS], items;
    int dtype = read_dtype(p), n;
    bool empty = false;
    take(p, ":");
    n = read_dims(p, shape);
    take(p, ":");
    read_dims(p, stride);
    take(p, ":");
    dync__layout lay = {.ndim = n, .offset = read_int(p)};
    take(p, ":");
    char kind = *p->at++;
    int64_t seed = kind != '=' && (*p->at == '-' || (*p->at >= '0' && *p->at <= '9')) ? read_int(p)
                                                                                      : 0;
    items = lay.offset + 1;
    for (int d = 0; d < n; d++) {
        lay.shape[d] = shape[d];
        lay.stride[d] = stride[d];
        empty = empty || shape[d] == 0;
        items += (shape[d] - 1) * stride[d];
    }
    if (empty) items = lay.offset;
    size_t width = dync__dtype_info(dtype)->bytes;
    dync__storage *s = dync__storage_new(DYNC_CPU, (size_t)items * width);
    for (int64_t i = 0; i < items; i++) {
        if (kind == '=') take(p, " ");
        dync__store_f64((char *)s->data + (size_t)i * width, dtype,
                        kind == '=' ? read_number(p) : pattern(kind, seed, i));
    }
    s = on_device(s);
    dync__tensor *t = dync__tensor_new(s, dtype, &lay);
    p->made[p->n_made++] = t;
    return dync__arg_t(t);
}

static dync__arg read_arg(parser *p)
{
    if (take(p, "t:")) return read_tensor(p);
    if (take(p, "g:")) {
        dync__arg leaf = read_tensor(p);
        dync__tensor_set_requires_grad(leaf.as.t, true);
        return leaf;
    }
    if (take(p, "i:")) return dync__arg_i(read_int(p));
    if (take(p, "f:")) return dync__arg_f(read_number(p));
    if (take(p, "b:")) return dync__arg_b(read_int(p) != 0);
    if (take(p, "y:")) return dync__arg_dtype(read_dtype(p));
    if (take(p, "v:")) return dync__arg_device((int)read_int(p));
    if (take(p, "d:")) {
        int64_t *d = p->dims[p->n_dims++];
        return dync__arg_dims(read_dims(p, d), d);
    }
    if (take(p, "s:")) {
        char *text = p->text[p->n_texts++ % 4];
        size_t n = strcspn(p->at, ";|");
        memcpy(text, p->at, n);
        text[n] = 0;
        p->at += n;
        return dync__arg_s(text);
    }
    if (take(p, "[")) {
        dync__arg l = {.kind = DYNC__A_LIST, .as = {.list = p->list}};
        while (!take(p, "]")) {
            take(p, " ");
            bool leaf = take(p, "g:");
            if (!leaf) take(p, "t:");
            p->list[l.n++] = read_tensor(p);
            if (leaf) dync__tensor_set_requires_grad(p->list[l.n - 1].as.t, true);
        }
        return l;
    }
    take(p, "-");
    return dync__arg_none();
}

/* ---- comparing ------------------------------------------------------------------------------- */

static double tolerance(const char *op, int dtype)
{
    static const char *const sums[] = {
        "sum",    "mean",   "var",  "std",      "mm",   "bmm",       "addmm",     "linear",
        "matmul", "conv",   "norm", "softmax",  "loss", "entropy",   "logsumexp", "dot",
        "mv",     "cumsum", "prod", "avg_pool", "rnn",  "attention", "glu"};
    if (dtype == DYNC_F64) return TOL_F64_CHAIN;
    if (dtype == DYNC_BF16) return TOL_BF16_1ULP;
    if (dtype == DYNC_F16) return TOL_F16_1ULP;
    for (int i = 0; i < DYNC__COUNT_OF(sums); i++)
        if (strstr(op, sums[i])) return TOL_F32_SUM;
    return TOL_F32_CHAIN;
}

/* Zeros have the sign that PyTorch's have, but where the order of a sum or a tie of 0 and -0
 * decides. */
static bool same_zero(const char *op, double got, double want)
{
    static const char *const free_sign[] = {
        "maximum", "minimum", "sum",        "mean",  "layer_norm",
        "amax",    "amin",    "softshrink", "xlogy", "cosine_similarity"};
    if (want < 0 || want > 0 || got < 0 || got > 0 || want != want) return true;
    for (int i = 0; i < DYNC__COUNT_OF(free_sign); i++)
        if (strcmp(op, free_sign[i]) == 0) return true;
    return !signbit(got) == !signbit(want);
}

static void complain(const char *line, int out, const char *what, double got, double want)
{
    char text[400];
    dync__format(text, sizeof text, "%.250s\n    output %d: %s: got %.9g, expected %.9g", line, out,
                 what, got, want);
    test__fail(__FILE__, __LINE__, text);
}

/* Of n numbers, the greatest size that is finite; at least 1. */
static double read_spread(parser p, int64_t n)
{
    double most = 1;
    for (int64_t i = 0; i < n; i++) {
        double x = fabs(read_number(&p));
        if (x > most && x < HUGE_VAL) most = x;
        take(&p, " ");
    }
    return most;
}

static double sum_tolerance(int dtype)
{
    return dtype == DYNC_F64   ? TOL_F64_CHAIN
           : dtype == DYNC_F32 ? TOL_F32_SUM
           : dtype == DYNC_F16 ? TOL_F16_LAYER
                               : TOL_BF16_LAYER;
}

static void compare_values(parser *p, const char *line, const char *op, int out,
                           const dync__tensor *t)
{
    dync__tensor *dense = dync__contiguous_copy(t);
    const char *data = dync__tensor_data(dense);
    double tol = p->spread ? sum_tolerance(t->dtype) : tolerance(op, t->dtype),
           size = p->spread ? read_spread(*p, t->numel) : 0;
    for (int64_t i = 0; i < t->numel; i++) {
        double got = dync__load_f64(data + i * dync__dtype_info(t->dtype)->bytes, t->dtype),
               want = read_number(p);
        bool is_float = dync__dtype_info(t->dtype)->kind == 'f';
        double scale = p->spread                        ? size
                       : fabs(want) < 1 && !p->relative ? 1
                                                        : fabs(want),
               quantum = t->dtype == DYNC_F16 ? 0x1p-24 : 0;
        if (!test__is_near(got, want, is_float ? tol * scale + quantum : 0) ||
            (is_float && !p->spread && !same_zero(op, got, want))) {
            complain(line, out, "value", got, want);
            break;
        }
        take(p, " ");
    }
    dync__unref(dense);
}

static inline void compare(parser *p, const char *line, const char *op, int out,
                           const dync__tensor *t)
{
    int64_t shape[DYNC_MAX_DIMS], stride[DYNC_MAX_DIMS];
    int dtype = read_dtype(p);
    if (dtype != t->dtype) {
        complain(line, out, "dtype", t->dtype, dtype);
        return;
    }
    take(p, ":");
    int n = read_dims(p, shape);
    take(p, ":");
    bool any_strides = take(p, "*");
    read_dims(p, stride);
    take(p, ":");
    if (n != t->lay.ndim) {
        complain(line, out, "rank", t->lay.ndim, n);
        return;
    }
    for (int d = 0; d < n; d++) {
        if (shape[d] != t->lay.shape[d]) {
            complain(line, out, "size", (double)t->lay.shape[d], (double)shape[d]);
            return;
        }
        if (!any_strides && stride[d] != t->lay.stride[d] && shape[d] > 1 && t->numel)
            complain(line, out, "stride", (double)t->lay.stride[d], (double)stride[d]);
    }
    if (*p->at != '?') compare_values(p, line, op, out, t);
}
#endif
