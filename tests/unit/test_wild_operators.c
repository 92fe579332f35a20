/* Every row of the operator table called by its name with arguments that nobody should give: wrong
 * ranks, negative and huge sizes, dims out of range, NULLs, lists of wrong length, other dtypes,
 * NaN, another device, empty, 0-dim, expanded and overlapping tensors, freed ones. Data end where a
 * page may not be touched. Eagerly and compiled: nothing crashes, and what is refused is refused
 * with an error of the user's. A case that crashes prints itself; `--seed N` starts elsewhere,
 * SOAK=N makes N times as many. */
#include "../../src/dync.in.h"
#include "../../src/graph/text.h"
#include "test.h"
#include "guarded.h"
#include <signal.h>
#include <unistd.h>
#include "every_operator.h"

enum { BUFFER = 48 << 20, MOST_DATA = 512, EAGER = 40, COMPILED = 2, TEXT = 4000 };

#if defined(TEST_ASAN)
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1:max_allocation_size_mb=48:detect_leaks=0";
}
#endif

/* ---- what is called, for the report of a crash ----------------------------------------------- */
static char text[TEXT];
static size_t length;
static void say(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = length < TEXT ? vsnprintf(text + length, TEXT - length, format, args) : 0;
    va_end(args);
    if (n > 0) length += (size_t)n;
    if (length > TEXT) length = TEXT;
}
static void crashed(int number)
{
    (void)!write(1, text, length < TEXT ? length : TEXT);
    (void)!write(1, "\n", 1);
    signal(number, SIG_DFL);
    raise(number);
}

/* ---- tensors --------------------------------------------------------------------------------- */
typedef struct case_data {
    guarded memory[64];
    int n;
} case_data;
static case_data pages;

static void *memory_of(size_t bytes, int dtype)
{
    guarded g = guarded_new(bytes);
    size_t item = dync__dtype_info(dtype)->bytes;
    pages.memory[pages.n++] = g;
    for (size_t i = 0; i < bytes / item; i++) {
        int kind = test_random_int(0, 9);
        double x = kind == 0   ? (double)NAN
                   : kind == 1 ? (double)INFINITY
                   : kind == 2 ? -1e30
                   : kind == 3 ? 0
                               : test_random_int(-4, 4);
        if (dync__dtype_info(dtype)->kind == 'i')
            dync__store_i64(g.data + i * item, dtype,
                            kind < 2 ? INT64_MIN + (int64_t)kind : test_random_int(-3, 6));
        else if (dync__dtype_info(dtype)->kind == 'b')
            g.data[i] = (char)test_random_int(0, 1);
        else
            dync__store_f64(g.data + i * item, dtype, x);
    }
    return g.data;
}

static int64_t a_size(void)
{
    return test_random_int(0, 12) == 0  ? test_random_int(6, 9)
           : test_random_int(0, 9) == 0 ? 0
                                        : test_random_int(1, 4);
}

/* Often as the one before, or with a size of it changed, so that operators of several tensors are
 * come to do something. */
static dync_dims last_shape;
static dync_dims a_shape(int rank)
{
    dync_dims shape = last_shape;
    int how = test_random_int(0, 5);
    if (how > 2 || (rank >= 0 && shape.n != rank)) {
        shape = (dync_dims){rank < 0 ? test_random_int(0, 5) : rank, {0}};
        for (int i = 0; i < shape.n; i++) shape.d[i] = a_size();
    } else if (how == 1 && shape.n) {
        shape.d[test_random_int(0, shape.n - 1)] = a_size();
    } else if (how == 2 && shape.n > 1 && rank < 0) {
        shape.d[0] = shape.d[--shape.n];
    }
    return last_shape = shape;
}

static dync_tensor *a_tensor(int rank)
{
    static int last_dtype;
    int dtype = test_random_int(0, 3)   ? last_dtype
                : test_random_int(0, 1) ? DYNC_F32
                                        : test_random_int(0, 9);
    dync_dims shape = a_shape(rank);
    int64_t numel = 1;
    last_dtype = dtype;
    for (int i = 0; i < shape.n; i++) numel *= shape.d[i];
    while (numel > MOST_DATA)
        for (int i = 0; i < shape.n && numel > MOST_DATA; i++) numel /= shape.d[i], shape.d[i] = 1;
    if (pages.n == 60 || test_random_int(0, 19) == 0) {
        say("meta%d ", shape.n);
        return dync_empty(shape, .dtype = (dync_dtype)dtype, .device = DYNC_META);
    }
    bool grad = dync__dtype_info(dtype)->kind == 'f' && test_random_int(0, 3) == 0;
    dync_tensor *t =
        dync_wrap(numel ? memory_of((size_t)numel * dync__dtype_info(dtype)->bytes, dtype) : NULL,
                  shape, .dtype = (dync_dtype)dtype, .requires_grad = grad);
    say("%s%s[", dync__dtype_info(dtype)->fx, grad ? "g" : "");
    for (int i = 0; i < shape.n; i++) say("%lld,", (long long)shape.d[i]);
    say("]");
    if (shape.n < 1 || !t) return t;
    int d = test_random_int(0, shape.n - 1), e = test_random_int(0, shape.n - 1);
    switch (test_random_int(0, 11)) {
    case 0: say(".T(%d,%d)", d, e); return dync_transpose(t, d, e);
    case 1: say("[::2 in %d]", d); return dync_slice(t, d, 0, shape.d[d], 2);
    case 2: say("[1: in %d]", d); return dync_slice(t, d, shape.d[d] > 1, shape.d[d], 1);
    case 3: {
        dync_dims wide = shape;
        if (shape.n >= DYNC_MAX_DIMS) return t;
        memmove(wide.d + 1, wide.d, (size_t)shape.n * sizeof wide.d[0]);
        wide.d[0] = test_random_int(1, 3);
        wide.n++;
        say(".expand(%lld, ...)", (long long)wide.d[0]);
        return dync_expand(t, wide);
    }
    case 4: {
        int64_t size = dync_size(t, d);
        if (size < 3 || shape.n != 1) return t;
        say(".overlapping");
        return dync_as_strided(t, dync_shape(size - 1, 2), dync_shape(1, 1), 0);
    }
    default: return t;
    }
}

/* ---- values ---------------------------------------------------------------------------------- */
static int64_t an_int(void)
{
    static const int64_t wild[] = {
        INT32_MAX,           INT32_MIN, INT64_MAX, INT64_MIN, (int64_t)1 << 40,
        -((int64_t)1 << 40), 1000000,   -100,      255,       1 << 16};
    int64_t i = test_random_int(0, 5) == 0 ? wild[test_random_int(0, 9)] : test_random_int(-3, 5);
    say("%lld ", (long long)i);
    return i;
}
static double a_float(void)
{
    const double wild[] = {(double)NAN, (double)INFINITY, -(double)INFINITY, 1e300, -1e300, 0, -0.0,
                           1e-320};
    double x = test_random_int(0, 4) == 0 ? wild[test_random_int(0, 7)] : test_random_real(-2, 2);
    say("%g ", x);
    return x;
}
static dync_value a_list_of_tensors(void)
{
    dync_value item[5];
    int n = test_random_int(0, 9) == 0 ? 0 : test_random_int(1, 4),
        rank = test_random_int(0, 3) ? test_random_int(0, 3) : -1;
    say("(");
    for (int i = 0; i < n; i++)
        item[i] = test_random_int(0, 24) == 0 ? DYNC_NONE : dync_v_tensor(a_tensor(rank));
    say(") ");
    return dync_tuple_of(n, item);
}
static dync_value a_list_of_ints(void)
{
    dync_value item[10];
    int n = test_random_int(0, 9) == 0 ? 9 : test_random_int(0, 4);
    say("{");
    for (int i = 0; i < n; i++) item[i] = DYNC_V(an_int());
    say("} ");
    return dync_tuple_of(n, item);
}
static dync_tensor *stale;
static dync_value anything(void)
{
    dync_value none = DYNC_NONE;
    switch (test_random_int(0, 10)) {
    case 0: say("none "); return none;
    case 1: say("true "); return DYNC_V((bool)true);
    case 2: say("text "); return DYNC_V("sum");
    case 3: say("NULL "); return dync_v_tensor(NULL);
    case 4: say("stale "); return dync_v_tensor(stale);
    case 5: return a_list_of_ints();
    case 6: return a_list_of_tensors();
    case 7: return DYNC_V(a_float());
    case 8: return DYNC_V(an_int());
    default: return dync_v_tensor(a_tensor(-1));
    }
}

static dync_value fitting(const dync__param *p)
{
    static const char *const texts[] = {"mean",     "sum",      "none",   "",
                                        "tanh",     "floor",    "trunc",  "reflect",
                                        "constant", "bilinear", "no such"};
    int code;
    switch ((int)p->type) {
    case DYNC__PARAM_TENSOR:
    case DYNC__PARAM_TENSOR_OPT:
    case DYNC__PARAM_VALUE:
    case DYNC__PARAM_VALUE_OPT:
        if ((p->type == DYNC__PARAM_TENSOR_OPT || p->type == DYNC__PARAM_VALUE_OPT) &&
            test_random_int(0, 2) == 0)
            return say("none "), DYNC_NONE;
        if ((p->type == DYNC__PARAM_VALUE || p->type == DYNC__PARAM_VALUE_OPT) &&
            test_random_int(0, 2) == 0)
            return DYNC_V(a_float());
        return dync_v_tensor(a_tensor(-1));
    case DYNC__PARAM_TENSORS: return a_list_of_tensors();
    case DYNC__PARAM_INT: return DYNC_V(an_int());
    case DYNC__PARAM_FLOAT: return DYNC_V(a_float());
    case DYNC__PARAM_BOOL: return DYNC_V((bool)test_random_int(0, 1));
    case DYNC__PARAM_DIMS: return a_list_of_ints();
    case DYNC__PARAM_DTYPE:
    case DYNC__PARAM_DEVICE:
        code = test_random_int(0, 3) ? test_random_int(0, p->type == DYNC__PARAM_DTYPE ? 9 : 0)
                                     : test_random_int(-2, 600);
        say("%d ", code);
        return DYNC_V(code);
    case DYNC__PARAM_STR: return DYNC_V(texts[test_random_int(0, 10)]);
    default: return anything();
    }
}

/* ---- cases ----------------------------------------------------------------------------------- */
static dync_value by_name(const dync_value *args, int nargs, void *name)
{
    return dync_op_call_values(name, nargs, args);
}

static dync_status expected_error(dync_status s)
{
    return s == DYNC_ERR_INTERNAL || (int)s > (int)DYNC_ERR_INTERNAL ? DYNC_ERR_INTERNAL : DYNC_OK;
}

/* Results are read to their last element. */
static void read_all(dync_value v)
{
    for (int i = 0; v.kind == DYNC_KIND_LIST && i < dync_len(v); i++) read_all(dync_at(v, i));
    dync_tensor *t = v.kind == DYNC_KIND_TENSOR ? v.as.t : NULL;
    if (!t || dync_numel(t) > 4096) return;
    if (dync_numel(t) < 64) (void)dync_str(t);
    if (dync_requires_grad(t) && dync_type(t) <= DYNC_BF16)
        (void)dync_backward_opt(DYNC_V(dync_sum(t, DYNC_ALL, false)), DYNC_NONE,
                                (dync_grad_options){.retain_graph = true});
}

static void one(int op, bool compiled)
{
    const dync__op_row *row = dync__op_info(op);
    dync_value args[DYNC__MAX_ARGS + 1];
    dync__param p;
    int n = 0;
    length = 0;
    say("%s%s: ", compiled ? "compiled " : "", row->name);
    DYNC_SCOPE {
        DYNC_SCOPE {
            stale = dync_ones(dync_shape(2));
        }
        for (; n < DYNC__MAX_ARGS && dync__schema_param(row->schema, n, &p); n++)
            args[n] = test_random_int(0, 9) ? fitting(&p) : anything();
        if (test_random_int(0, 39) == 0)
            n += n && test_random_int(0, 1) ? -1 : 1, args[n ? n - 1 : 0] = anything();
        dync_clear_error();
        char name[100];
        snprintf(name, sizeof name, "%s", row->name);
        if (compiled) {
            dync_compiled *f = dync_compile(by_name, .user = name,
                                            .dynamic = test_random_int(0, 1) ? DYNC_DYNAMIC_ON
                                                                             : DYNC_DYNAMIC_AUTO);
            read_all(dync_call_values(f, n, args));
            dync_compiled_free(f);
        } else {
            read_all(dync_op_call_values(name, n, args));
        }
        if (getenv("WILD_SHOW"))
            printf("%s => %d %s\n", text, (int)dync_error(), dync_error_message());
        if (!EXPECT(expected_error(dync_error()) == DYNC_OK))
            printf("  %s\n  %s\n", text, dync_error_message());
        dync_clear_error();
    }
    while (pages.n) guarded_free(pages.memory[--pages.n]);
}

static void quiet(dync_status status, const char *message, void *user)
{
    (void)status, (void)message, (void)user;
}

static void wild(bool compiled, int count)
{
    static void *buffer;
    const char *only = getenv("WILD"); /* one operator */
    signal(SIGSEGV, crashed);
    signal(SIGBUS, crashed);
    signal(SIGFPE, crashed);
    signal(SIGABRT, crashed);
    signal(SIGALRM, crashed);
    signal(SIGILL, crashed);
#if !defined(TEST_ASAN)
    /* so that a size of 2^31 is out of memory and not the machine's end */
    buffer = malloc(BUFFER);
    REQUIRE(buffer != NULL);
    EXPECT_OK(
        dync_init((dync_init_options){.memory = buffer, .memory_size = BUFFER, .threads = 1}));
#endif
    dync_on_error(quiet, NULL);
    for (int op = 0; op < DYNC__N_OPS; op++)
        for (int k = 0; k < count && (!only || strcmp(only, dync__op_info(op)->name) == 0); k++)
            one(op, compiled);
    dync_on_error(NULL, NULL);
    dync_shutdown();
    free(buffer);
}

TEST(eager) { wild(false, test_count(EAGER)); }
TEST(compiled) { wild(true, test_count(COMPILED)); }
TEST_MAIN
