/* runtime/follow.c, runtime/convs.c, codegen/gen_after.c: lists that follow the tiles of products
 * and convolutions, in random programs in which they meet themselves: a product (linear, matmul,
 * conv2d), pointwise operators behind it whose values have several users, comparisons and choices
 * among them, a second product on top, several results. Elements are small integers, so sums are
 * exact in any order: compiled is eager to the bit. */
#include "../../src/dync.in.h"
#include "../../src/runtime/plan.h"
#include "../test.h"
#define TEST_AFTER_EACH (dync_shutdown(), dync_clear_error(), dync_on_error(NULL, NULL))

/* ---- a program ------------------------------------------------------------------------------- */

enum { LINEAR, MATMUL, CONV, POINTWISE_CONV, KINDS };
enum {
    ADD,
    SUB,
    MUL,
    MINIMUM,
    MAXIMUM,
    RELU,
    NEG,
    ABS,
    SCALED,
    SQRT,
    LT,
    LE,
    EQ,
    NE,
    AND,
    OR,
    NOT,
    WHERE,
    NUMBER, /* a truth as 0 or 1 */
    SECOND, /* a product of a value */
    OPERATORS
};
static const char *const names[] = {"add", "sub",    "mul",  "minimum", "maximum", "relu",  "neg",
                                    "abs", "scaled", "sqrt", "lt",      "le",      "eq",    "ne",
                                    "and", "or",     "not",  "where",   "number",  "second"};
enum { VALUES = 24, INPUTS = 7, RESULTS = 3 };
/* most: no element is greater; whole: they are integers; full: as large as the product */
typedef struct value {
    int op, arg[3], factor;
    double most;
    bool truth, whole, full, wide; /* wide: of the second product */
} value;
/* Values 0 .. 3: the product, an operand as large, one for each column (channel), one for each
 * row. */
typedef struct program {
    int kind, biased, n, result[RESULTS], n_results, second;
    int64_t m, k, columns, high; /* high: rows and columns of the image of a convolution */
    value at[VALUES];
} program;
enum { FIRST = 4 };

static int pick(const program *p, bool truth, bool wide, double most)
{
    int found = -1, n = 0;
    for (int i = 0; i < p->n; i++) {
        bool fits = p->at[i].truth == truth && p->at[i].most <= most;
        if (i > 0 && i < FIRST) fits = fits && !wide;
        if (fits && (p->at[i].wide == wide) && test_random_int(0, n++) == 0) found = i;
    }
    return found;
}

/* One more value, or none where its operands are not there. */
static void grow(program *p)
{
    value v = {.op = test_random_int(0, OPERATORS - 1), .arg = {-1, -1, -1}, .whole = true};
    bool wide = p->second && test_random_int(0, 1), of_truths = v.op >= AND && v.op <= NOT;
    double most = v.op == MUL ? 1000 : v.op == SECOND ? 60 : 100000;
    int n = v.op == RELU || v.op == NEG || v.op == ABS || v.op == SCALED || v.op == SQRT ||
                    v.op == NOT || v.op == NUMBER || v.op == SECOND
                ? 1
                : 2;
    if (v.op == SECOND && p->second) return;
    if (v.op == SECOND) wide = false;
    for (int i = 0; i < n; i++) {
        v.arg[i] = pick(p, of_truths || v.op == NUMBER, wide, most);
        if (v.arg[i] < 0) return;
        v.most = i && v.op != MUL ? v.most + p->at[v.arg[i]].most : p->at[v.arg[i]].most;
        v.whole = v.whole && p->at[v.arg[i]].whole;
        v.full = v.full || p->at[v.arg[i]].full;
    }
    if (v.op == WHERE && (v.arg[2] = pick(p, true, wide, 1)) < 0) return;
    if (v.op == WHERE) v.full = v.full || p->at[v.arg[2]].full;
    if (v.op == SECOND && !(v.whole && v.full)) return;
    if (v.op == MUL) v.most = p->at[v.arg[0]].most * p->at[v.arg[1]].most;
    if (v.op == SCALED) v.factor = test_random_int(-3, 3), v.most *= 3;
    if (v.op == SQRT) v.whole = false;
    if (v.op == SECOND) p->second = 1, v.wide = true, v.most *= 3.0 * (double)p->columns;
    v.wide = v.wide || wide;
    v.truth = (v.op >= LT && v.op <= NE) || of_truths;
    if (v.truth || v.op == NUMBER) v.most = 1;
    p->at[p->n++] = v;
}

static program random_program(void)
{
    program p = {
        .kind = test_random_int(0, KINDS - 1), .biased = test_random_int(0, 1), .n = FIRST};
    bool conv = p.kind >= CONV;
    p.m = conv ? test_random_int(1, 2) : test_random_int(1, 60);
    p.k = test_random_int(1, conv ? 20 : 70);
    p.columns = test_random_int(1, conv ? 40 : 70);
    p.high = test_random_int(3, 12);
    int taps = p.kind == CONV ? 9 : 1, wanted = FIRST + test_random_int(1, VALUES - FIRST);
    p.at[0] = (value){.most = 9.0 * (double)p.k * taps + 3, .whole = true, .full = true};
    for (int i = 1; i < FIRST; i++) p.at[i] = (value){.most = 3, .whole = true, .full = i == 1};
    for (int tries = 0; p.n < wanted && tries < 200; tries++) grow(&p);
    p.n_results = test_random_int(1, RESULTS);
    p.result[0] = p.n - 1;
    for (int i = 1; i < p.n_results; i++) p.result[i] = test_random_int(0, p.n - 1);
    return p;
}

/* ---- what it does ---------------------------------------------------------------------------- */

static dync_tensor *product(const program *p, const dync_value *in)
{
    dync_tensor *x = in[0].as.t, *w = in[1].as.t, *b = p->biased ? in[5].as.t : NULL;
    switch (p->kind) {
    case LINEAR: return dync_linear(x, w, b);
    case MATMUL: return dync_matmul(x, w);
    default: {
        int64_t pad = p->kind == CONV;
        return dync_conv2d(x, w, b, dync_shape(1, 1), dync_shape(pad, pad), dync_shape(1, 1), 1);
    }
    }
}

static dync_tensor *applied(const program *p, const value *v, dync_tensor *const *t,
                            dync_tensor *second)
{
    dync_tensor *a = t[v->arg[0]], *b = v->arg[1] >= 0 ? t[v->arg[1]] : NULL;
    switch (v->op) {
    case ADD: return dync_add(a, b);
    case SUB: return dync_sub(a, b);
    case MUL: return dync_mul(a, b);
    case MINIMUM: return dync_minimum(a, b);
    case MAXIMUM: return dync_maximum(a, b);
    case RELU: return dync_relu(a);
    case NEG: return dync_neg(a);
    case ABS: return dync_abs(a);
    case SCALED: return dync_mul(a, (double)v->factor);
    case SQRT: return dync_sqrt(dync_abs(a));
    case LT: return dync_lt(a, b);
    case LE: return dync_le(a, b);
    case EQ: return dync_eq(a, b);
    case NE: return dync_ne(a, b);
    case AND: return dync_logical_and(a, b);
    case OR: return dync_logical_or(a, b);
    case NOT: return dync_logical_not(a);
    case WHERE: return dync_where(t[v->arg[2]], a, b);
    case NUMBER: return dync_to_dtype(a, DYNC_F32);
    default:
        return p->kind >= CONV ? dync_conv2d(a, second, NULL, dync_shape(1, 1), dync_shape(0, 0),
                                             dync_shape(1, 1), 1)
                               : dync_matmul(a, second);
    }
}

static dync_value run(const dync_value *in, int n, void *user)
{
    const program *p = user;
    dync_tensor *t[VALUES] = {NULL};
    dync_value results[RESULTS];
    (void)n;
    t[0] = product(p, in);
    for (int i = 1; i < FIRST; i++) t[i] = in[1 + i].as.t;
    for (int i = FIRST; i < p->n; i++) t[i] = applied(p, &p->at[i], t, in[6].as.t);
    for (int i = 0; i < p->n_results; i++) results[i] = DYNC_V(t[p->result[i]]);
    return dync_tuple_of(p->n_results, results);
}

/* ---- compiled and eager ---------------------------------------------------------------------- */

static dync_tensor *integers(dync_dims shape)
{
    return dync_sub(dync_floor(dync_mul(dync_rand(shape), 7)), 3);
}

static void inputs(const program *p, dync_value in[INPUTS])
{
    int64_t taps = p->kind == CONV ? 3 : 1, o = p->columns;
    bool conv = p->kind >= CONV;
    dync_tensor *t[INPUTS] = {
        conv ? integers(dync_shape(p->m, p->k, p->high, p->high))
             : integers(dync_shape(p->m, p->k)),
        conv                ? integers(dync_shape(o, p->k, taps, taps))
        : p->kind == LINEAR ? integers(dync_shape(o, p->k))
                            : integers(dync_shape(p->k, o)),
        conv ? integers(dync_shape(p->m, o, p->high, p->high)) : integers(dync_shape(p->m, o)),
        conv ? integers(dync_shape(o, 1, 1)) : integers(dync_shape(o)),
        conv ? integers(dync_shape(p->m, 1, p->high, p->high)) : integers(dync_shape(p->m, 1)),
        integers(dync_shape(o)),
        conv ? integers(dync_shape(17, o, 1, 1)) : integers(dync_shape(o, 17))};
    for (int i = 0; i < INPUTS; i++) in[i] = DYNC_V(t[i]);
}

static void show(const program *p)
{
    static const char *const kinds[] = {"linear", "matmul", "conv2d", "conv2d 1x1"};
    printf("  %s: m %d k %d columns %d high %d biased %d\n", kinds[p->kind], (int)p->m, (int)p->k,
           (int)p->columns, (int)p->high, p->biased);
    for (int i = FIRST; i < p->n; i++)
        printf("    v%d = %s v%d v%d v%d (%d)\n", i, names[p->at[i].op], p->at[i].arg[0],
               p->at[i].arg[1], p->at[i].arg[2], p->at[i].factor);
    for (int i = 0; i < p->n_results; i++) printf("    gives v%d\n", p->result[i]);
}

static bool same(dync_tensor *got, dync_tensor *wanted)
{
    if (!got || !wanted || dync_type(got) != dync_type(wanted) ||
        dync_numel(got) != dync_numel(wanted))
        return false;
    got = dync_contiguous(got);
    wanted = dync_contiguous(wanted);
    size_t bytes = (size_t)dync_numel(got) * dync__dtype_info(dync_type(got))->bytes;
    return memcmp(dync_data(got), dync_data(wanted), bytes) == 0;
}

static bool agree(program *p)
{
    dync_compiled *f = dync_compile(run, .user = p);
    bool ok = EXPECT(f != NULL);
    for (int call = 0; ok && call < 2; call++) DYNC_SCOPE {
        dync_value in[INPUTS];
        inputs(p, in);
        dync_value wanted = run(in, INPUTS, p), got = dync_call_values(f, INPUTS, in);
        for (int i = 0; ok && i < p->n_results; i++)
            ok = EXPECT(same(dync_as_tensor(dync_at(got, i)), dync_as_tensor(dync_at(wanted, i))));
    }
    dync_compiled_free(f);
    if (!ok) show(p);
    return ok;
}

TEST(compiled_is_eager)
{
    int n = test_count(150), used[OPERATORS] = {0}, seconds = 0;
    for (int i = 0; i < n; i++) {
        program p = random_program();
        dync__pool_set_threads(test_random_int(1, 3));
        bool ok = false;
        DYNC_SCOPE ok = agree(&p);
        if (!EXPECT(ok)) {
            printf("  program number %d\n", i);
            break;
        }
        for (int v = FIRST; v < p.n; v++) used[p.at[v].op]++;
        seconds += p.second;
    }
    for (int op = 0; n >= 150 && op < OPERATORS; op++)
        if (!EXPECT(used[op] >= 10)) printf("  too few: %s\n", names[op]);
    EXPECT(n < 150 || seconds >= 10);
    dync__pool_set_threads(0);
}
TEST_MAIN
