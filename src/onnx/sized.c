/* onnx/sized.c: symbolic sizes while a model becomes a graph. After call.c.
 *
 * A size of an input that the model names (dim_param) or leaves open is a symbol of a table
 * (tensor/sym.h). What Shape gives is a known tensor of int64 whose elements may be sizes: moving
 * them needs nothing (their bits are copied), integer arithmetic on them is computed here, element
 * by element. Whatever else is done to such a tensor is recorded: it becomes a tensor that the
 * graph makes of its sizes. */
#include "../dync.in.h"
#include "record.h"
DYNC__COLD

enum { DYNC__ONNX_SIZES_MOST = 64 }; /* elements of a tensor of sizes that a graph makes */

static bool dync__onnx_is_size(int64_t x)
{
    return dync__is_token(x) && dync__tls.syms && dync__symtab_find(dync__tls.syms, x);
}

/* For dync__arg_each_size: true goes on to the next. */
static bool dync__onnx_size_plain(void *user, int64_t *size)
{
    (void)user;
    return !dync__onnx_is_size(*size) &&
           !(dync__is_sf(*size) && dync__symtab_find(dync__tls.syms, *size));
}

/* Is a number or a size among the arguments symbolic? */
DYNC__FN bool dync__onnx_call_is_sized(const dync__opcall *c)
{
    for (int i = 0; dync__tls.syms && i < c->nargs; i++)
        if (!dync__arg_each_size(&c->args[i], dync__onnx_size_plain, NULL)) return true;
    return false;
}

/* where element i of a tensor lies, i counted as those of `shape`, to which it broadcasts */
static const char *dync__onnx_element(const dync__tensor *t, int ndim, const int64_t *shape,
                                      int64_t i)
{
    int64_t at = t->lay.offset;
    for (int d = ndim - 1; d >= 0; d--) {
        int own = d - (ndim - t->lay.ndim);
        if (own >= 0 && t->lay.shape[own] != 1) at += i % shape[d] * t->lay.stride[own];
        i /= shape[d];
    }
    return (const char *)t->storage->data + at * dync__dtype_info(t->dtype)->bytes;
}

/* Is an element of this known tensor a symbolic size? */
DYNC__FN bool dync__onnx_holds_sizes(const dync__tensor *t)
{
    if (!t || !dync__tls.syms || t->dtype != DYNC_I64 || t->flags & DYNC__T_FAKE) return false;
    for (int64_t i = 0; i < t->numel; i++) {
        const char *at = dync__onnx_element(t, t->lay.ndim, t->lay.shape, i);
        if (dync__onnx_is_size(dync__load_i64(at, DYNC_I64))) return true;
    }
    return false;
}

/* ---- arithmetic ------------------------------------------------------------------------------ */

/* By the bounds that the table of symbols knows, else by the sizes that are tried, with a guard. */
static bool dync__onnx_at_least(int64_t least, int64_t x)
{
    double low, high;
    dync__sz_bounds(x, &low, &high);
    return low >= (double)least || !dync__sz_lt(x, least);
}

DYNC__FN bool dync__onnx_sizes_positive(const dync_tensor *h)
{
    const dync__tensor *t = dync__peek(h);
    if (!t || !dync__tls.syms || t->dtype != DYNC_I64 || t->flags & DYNC__T_FAKE) return false;
    for (int64_t i = 0; i < t->numel; i++) {
        const char *at = dync__onnx_element(t, t->lay.ndim, t->lay.shape, i);
        if (!dync__onnx_at_least(0, dync__load_i64(at, DYNC_I64))) return false;
    }
    return true;
}

static bool dync__onnx_divides(int op)
{
    return op == DYNC__OP_floor_divide || op == DYNC__OP_remainder || op == DYNC__OP_fmod;
}

/* op of two sizes; false: it is not computed with sizes */
static bool dync__onnx_size_of_two(int op, int64_t a, int64_t b, int64_t *out)
{
    switch (op) {
    case DYNC__OP_add: *out = dync__sz_add(a, b); return true;
    case DYNC__OP_sub: *out = dync__sz_sub(a, b); return true;
    case DYNC__OP_mul: *out = dync__sz_mul(a, b); return true;
    case DYNC__OP_maximum: *out = dync__sz_max(a, b); return true;
    case DYNC__OP_minimum: *out = dync__sz_min(a, b); return true;
    case DYNC__OP_eq: *out = dync__sz_eq(a, b); return true;
    case DYNC__OP_ne: *out = !dync__sz_eq(a, b); return true;
    case DYNC__OP_lt: *out = dync__sz_lt(a, b); return true;
    case DYNC__OP_gt: *out = dync__sz_lt(b, a); return true;
    case DYNC__OP_le: *out = !dync__sz_lt(b, a); return true;
    case DYNC__OP_ge: *out = !dync__sz_lt(a, b); return true;
    default: break;
    }
    /* rounding is the same for all kinds of division where nothing is negative */
    if (!dync__onnx_divides(op) || !dync__onnx_at_least(0, a) || !dync__onnx_at_least(1, b))
        return false;
    *out = op == DYNC__OP_floor_divide ? dync__sz_div(a, b) : dync__sz_mod(a, b);
    return true;
}

/* element i of an argument; false: it is no integer */
static bool dync__onnx_size_arg(const dync__arg *a, const dync__info *of, int64_t i, int64_t *out)
{
    *out = a->as.i;
    if (a->kind == DYNC__A_INT) return true;
    if (a->kind != DYNC__A_TENSOR || dync__dtype_info(a->as.t->dtype)->kind == 'f') return false;
    *out =
        dync__load_i64(dync__onnx_element(a->as.t, of->lay.ndim, of->lay.shape, i), a->as.t->dtype);
    return true;
}

/* Element i of a pointwise call; where's condition is known, or it would be no call on sizes. */
static bool dync__onnx_size_element(const dync__opcall *c, const dync__info *of, int64_t i,
                                    int64_t *out)
{
    int64_t a, b;
    if (!dync__onnx_size_arg(&c->args[0], of, i, &a)) return false;
    if (c->op == DYNC__OP_neg) return *out = dync__sz_sub(0, a), true;
    if (c->op == DYNC__OP_where) return dync__onnx_size_arg(&c->args[a ? 1 : 2], of, i, out);
    return c->nargs > 1 && dync__onnx_size_arg(&c->args[1], of, i, &b) &&
           dync__onnx_size_of_two(c->op, a, b, out);
}

/* The sum or product of all elements. */
static bool dync__onnx_size_reduce(dync__opcall *c, dync_status *status)
{
    const dync__tensor *x = c->args[0].as.t;
    dync__info info;
    dync__layout lay;
    memset(&info, 0, sizeof info);
    if (dync__op_infer(c, &info) != DYNC_OK || info.dtype != DYNC_I64 || x->numel == 0)
        return false;
    int64_t n = 1, all = c->op == DYNC__OP_prod;
    for (int d = 0; d < info.lay.ndim; d++) n *= info.lay.shape[d];
    if (n != 1) return false;
    for (int64_t i = 0; i < x->numel; i++) {
        const char *at = dync__onnx_element(x, x->lay.ndim, x->lay.shape, i);
        int64_t one = dync__load_i64(at, DYNC_I64);
        all = c->op == DYNC__OP_prod ? dync__sz_mul(all, one) : dync__sz_add(all, one);
    }
    *status = dync__layout_contiguous(&lay, info.lay.ndim, info.lay.shape);
    dync__tensor *t = *status == DYNC_OK ? dync__tensor_empty(DYNC_I64, DYNC_CPU, &lay) : NULL;
    if (!t) return *status = DYNC_ERR_MEMORY, true;
    dync__store_i64(t->storage->data, DYNC_I64, all);
    c->nout = 1;
    c->out[0] = t;
    return true;
}

/* A pointwise call on sizes, element by element. false: it is recorded instead. */
static bool dync__onnx_size_compute(dync__opcall *c, dync_status *status)
{
    dync__info info;
    if (c->op == DYNC__OP_sum || c->op == DYNC__OP_prod) return dync__onnx_size_reduce(c, status);
    memset(&info, 0, sizeof info);
    if (c->row->cls != DYNC__POINTWISE || c->row->nout != 1 ||
        dync__op_infer(c, &info) != DYNC_OK || (info.dtype != DYNC_I64 && info.dtype != DYNC_BOOL))
        return false;
    dync__layout lay;
    dync__tensor *t = NULL;
    if (dync__layout_contiguous(&lay, info.lay.ndim, info.lay.shape) == DYNC_OK)
        t = dync__tensor_empty(info.dtype, DYNC_CPU, &lay);
    *status = t ? DYNC_OK : DYNC_ERR_MEMORY;
    for (int64_t i = 0; t && i < t->numel; i++) {
        int64_t x = 0;
        bool known = dync__onnx_size_element(c, &info, i, &x);
        char *at = (char *)t->storage->data + i * dync__dtype_info(info.dtype)->bytes;
        if (known) dync__store_i64(at, info.dtype, x);
        if (known && !dync__tls.syms->failed) continue;
        dync__unref(t);
        *status = DYNC_ERR_MEMORY;
        return known;
    }
    c->nout = 1;
    c->out[0] = t;
    return true;
}

/* Operators that copy elements as they are: tokens pass through them like numbers. */
static bool dync__onnx_moves(int op)
{
    static const int moves[] = {DYNC__OP_cat,    DYNC__OP_stack,   DYNC__OP_index_select,
                                DYNC__OP_gather, DYNC__OP_clone,   DYNC__OP_contiguous,
                                DYNC__OP_flip,   DYNC__OP_reshape, DYNC__OP_narrow,
                                DYNC__OP_repeat, DYNC__OP_roll,    DYNC__OP_flatten,
                                DYNC__OP_scatter};
    for (int i = 0; i < DYNC__COUNT_OF(moves); i++)
        if (moves[i] == op) return true;
    return false;
}

/* What becomes of a call on known tensors: it runs now, it was computed (*status), or it is
 * recorded. */
DYNC__FN dync__onnx_known dync__onnx_known_call(dync__opcall *c, dync__tensor *const *in, int n,
                                                dync_status *status)
{
    bool holds = false, places = false;
    if (dync__onnx_call_is_sized(c) && c->row->cls != DYNC__POINTWISE) return DYNC__ONNX_RECORD;
    for (int i = 0; i < n; i++) {
        bool sizes = dync__onnx_holds_sizes(in[i]);
        holds = holds || sizes;
        places = places || (sizes && i && c->op != DYNC__OP_cat && c->op != DYNC__OP_stack);
    }
    if (!holds && !dync__onnx_call_is_sized(c)) return DYNC__ONNX_RUN;
    if (c->op == DYNC__OP_to_dtype
            ? c->args[1].as.i == DYNC_I64
            : !places && (c->row->cls == DYNC__VIEW || dync__onnx_moves(c->op)))
        return DYNC__ONNX_RUN;
    return dync__onnx_size_compute(c, status) ? DYNC__ONNX_COMPUTED : DYNC__ONNX_RECORD;
}

/* ---- sizes as data --------------------------------------------------------------------------- */

/* A tensor that holds sizes, made by operators: they are recorded. NULL + error */
DYNC__FN dync_tensor *dync__onnx_made_of_sizes(const dync__tensor *t)
{
    dync_tensor *part[DYNC__ONNX_SIZES_MOST];
    dync_dims one = {1, {1}}, shape = {t->lay.ndim, {0}};
    memcpy(shape.d, t->lay.shape, (size_t)t->lay.ndim * sizeof *shape.d);
    if (t->numel > DYNC__ONNX_SIZES_MOST) {
        dync__fail(DYNC_ERR_DATA_PTR, "ONNX: %lld numbers made of symbolic sizes",
                   (long long)t->numel);
        return NULL;
    }
    dync_make make = {0};
    make.shape = t->numel == 1 ? shape : one;
    make.dtype = DYNC_I64;
    for (int64_t i = 0; i < t->numel; i++) {
        int64_t x = dync__load_i64(dync__onnx_element(t, t->lay.ndim, t->lay.shape, i), DYNC_I64);
        part[i] = DYNC__MAKER(full)(dync__value_of_size(x), make);
    }
    if (t->numel == 1) return part[0];
    dync_tensor *all = dync__oi_list((int)t->numel, part, 0, false);
    return all && shape.n != 1 ? dync_reshape(all, shape) : all;
}

/* ---- symbols of a model ---------------------------------------------------------------------- */

/* How many sizes of an input calls tell. */
static int dync__onnx_open_sizes(const dync__onnx_port *p)
{
    int open = 0;
    for (int d = 0; d < p->ndim; d++) open += p->size[d] < 0;
    return open;
}

/* A power of two that sizes of an input are tried as multiples of; first: the first of several open
 * ones. Values of four such sizes (a volume), and squares of lengths, have to stay within what a
 * program may compute: of numbers alone, no words, there are tens of thousands. */
static int64_t dync__onnx_size_unit(const dync__onnx_loaded *l, const dync__onnx_port *p,
                                    dync__onnx_equal way, bool first)
{
    bool words = p->dtype < 0 || dync__dtype_info(p->dtype)->kind != 'f';
    int most = 0;
    for (int i = 0; i < l->n_inputs; i++)
        most = DYNC__MAX(most, dync__onnx_open_sizes(&l->input[i]));
    switch (way) {
    case DYNC__ONNX_EQUAL_NONE_SMALL:
    case DYNC__ONNX_EQUAL_FIRST_SMALL:
    case DYNC__ONNX_EQUAL_ALL_SMALL: return 2;
    case DYNC__ONNX_EQUAL_NONE_LONG: return first ? 2 : words ? 64 : 8192;
    default: return most > 3 ? 16 : 64;
    }
}

/* Of symbol k while the graph is made: such as most models take (they divide by powers of two, and
 * no two of them are equal), or the same for all that are `equal`. */
static int64_t dync__onnx_size_hint(int64_t unit, int k, bool equal)
{
    static const int64_t primes[] = {3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37};
    return unit * (equal ? 3 : primes[k % DYNC__COUNT_OF(primes)] * (1 + k / 11));
}

/* The size that this name was given to; 0: none yet. */
static int64_t dync__onnx_size_named(const dync__onnx_loaded *l, const char *name, size_t n)
{
    for (int i = 0; i < l->n_inputs; i++)
        for (int d = 0; d < l->input[i].ndim; d++) {
            const char *p = l->input[i].param[d];
            if (p && strlen(p) == n && memcmp(p, name, n) == 0 && l->input[i].symbol[d])
                return l->input[i].symbol[d];
        }
    return 0;
}

static const char *dync__onnx_blank(const char *p)
{
    while (*p == ' ') p++;
    return p;
}

/* "past + 2*new": a sum of products of numbers and names that other dimensions have; 0: it is none.
 */
static int64_t dync__onnx_size_sum(const dync__onnx_loaded *l, const char *p)
{
    int64_t sum = 0;
    for (char sign = '+';; sign = *p++) {
        int64_t product = 1;
        do {
            int64_t x = 0;
            p = dync__onnx_blank(*p == '*' ? p + 1 : p);
            size_t n = strcspn(p, " +-*/()%,");
            bool digits = n > 0 && n < 10 && strspn(p, "0123456789") == n;
            for (size_t i = 0; digits && i < n; i++) x = x * 10 + (p[i] - '0');
            if (!digits) x = dync__onnx_size_named(l, p, n);
            if (n == 0 || x == 0) return 0;
            product = dync__sz_mul(product, x);
            p = dync__onnx_blank(p + n);
        } while (*p == '*');
        sum = sign == '+' ? dync__sz_add(sum, product) : dync__sz_sub(sum, product);
        if (!*p) return sum;
        if (*p != '+' && *p != '-') return 0;
    }
}

/* A new symbol for dim d of input i, named as the model names it or by its place. false: too many.
 */
static bool dync__onnx_size_new(dync__onnx_loaded *l, dync__symtab *t, int i, int d,
                                dync__onnx_equal which)
{
    dync__onnx_port *p = &l->input[i];
    const char *source = p->param[d];
    bool first = true;
    for (int k = 0; k < d; k++) first = first && p->size[k] >= 0;
    bool all = which >= DYNC__ONNX_EQUAL_ALL;
    bool equal = all || (which >= DYNC__ONNX_EQUAL_FIRST && first);
    if (t->symbol.n >= DYNC__PROGRAM_SYMBOLS) return false;
    if (!source) source = dync__arena_printf(&l->arena, "%s.size()[%d]", p->name, d);
    int64_t unit = dync__onnx_size_unit(l, p, which, first && dync__onnx_open_sizes(p) > 1);
    int64_t hint = p->hint[d]   ? p->hint[d]
                   : p->like[d] ? p->like[d]
                                : dync__onnx_size_hint(unit, t->symbol.n, equal);
    bool number = hint == 1 || (p->fixed[d] && p->hint[d]);
    p->symbol[d] = !source ? -1 : number ? hint : dync__symtab_symbol(t, hint, source, false);
    return p->symbol[d] > 0;
}

/* Each dimension of each input as a number or a symbol of t: dimensions of one name share one, and
 * sums of names are sums. false: too many, or no memory. */
DYNC__FN bool dync__onnx_symbols(dync__onnx_loaded *l, dync__symtab *t, dync__onnx_equal equal)
{
    bool ok = true;
    for (int i = 0; i < l->n_inputs; i++)
        for (int d = 0; d < l->input[i].ndim; d++)
            l->input[i].symbol[d] = DYNC__MAX(l->input[i].size[d], 0);
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < l->n_inputs; i++)
            for (int d = 0; d < l->input[i].ndim && ok; d++) {
                dync__onnx_port *p = &l->input[i];
                if (p->size[d] >= 0 || p->symbol[d]) continue;
                if (pass == 0 && p->param[d] && strcspn(p->param[d], "+-*") < strlen(p->param[d]))
                    continue; /* when all names are known */
                if (p->param[d])
                    p->symbol[d] = dync__onnx_size_named(l, p->param[d], strlen(p->param[d]));
                if (!p->symbol[d] && pass == 1 && p->param[d])
                    p->symbol[d] = dync__onnx_size_sum(l, p->param[d]);
                ok = p->symbol[d] || dync__onnx_size_new(l, t, i, d, equal);
            }
    return ok;
}
