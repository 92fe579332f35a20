/* tools/ir/eval.c: runs a kernel of loop IR index by index: the oracle that tests hold every
 * generator against. After src/loop/eval.c, which says what a primitive gives; no part of the
 * header.
 *
 * Slow and obvious by intent. Rows in order; in a row the sections in order; in a phase the inner
 * indices in order, each running the phase's instructions once. Values that outlive their phase are
 * kept in one array a value, an entry per inner index. Sums and products are accumulated in double
 * (sums with Neumaier's compensation, ZAMM 1974): closer to the exact value than any generator's
 * blocked sum, so tests compare those within a tolerance and everything else to the bit. Invariant:
 * no result depends on the compiler's floating-point flags; NaN is tested by bits. */
#include "ir.h"

DYNC__STRICT_FP_BEGIN

/* ---- kernels --------------------------------------------------------------------------------- */

/* one reduction under way */
typedef struct dync__eval_acc {
    double sum, low;
    dync__scalar best;
    int64_t position, n;
} dync__eval_acc;

typedef struct dync__eval_run {
    const dync__kernel *k;
    void *const *buffers;
    uint64_t seed, offset;
    int64_t n_inner;
    dync__scalar *value; /* of the current index, one per instruction */
    /* of the whole phase, where a later phase asks; else NULL */
    dync__scalar **kept;
    dync__eval_acc *acc;
    int64_t index[DYNC__LOOP_MAX_DIMS], position; /* position: linearised inner index */
} dync__eval_run;

static int64_t dync__eval_address(const dync__eval_run *r, int access)
{
    const dync__access *a = &r->k->access.at[access];
    uint64_t at = (uint64_t)a->offset;
    for (int d = 0; d < r->k->n_dims; d++) at += (uint64_t)a->stride[d] * (uint64_t)r->index[d];
    return (int64_t)at;
}

static dync_status dync__eval_element(const dync__eval_run *r, const dync__inst *in, int64_t extra,
                                      char **out)
{
    const dync__buf *b = &r->k->buf.at[in->buf];
    int64_t at = (int64_t)((uint64_t)dync__eval_address(r, in->access) + (uint64_t)extra);
    if (b->size >= 0 && (at < 0 || at >= b->size))
        return dync__fail(DYNC_ERR_INDEX, "kernel %s: element %lld of a buffer of %lld", r->k->name,
                          (long long)at, (long long)b->size);
    *out = (char *)r->buffers[in->buf] + at * dync__dtype_info(b->dtype)->bytes;
    return DYNC_OK;
}

static dync__scalar dync__eval_load(const char *p, int dtype)
{
    int type = dync__dtype_info(dtype)->compute;
    float x;
    /* as bits: a detour through double would quiet a signalling NaN */
    if (dtype == DYNC_F32) {
        memcpy(&x, p, sizeof x);
        return dync__eval_f32(x);
    }
    if (type == DYNC_F32) return dync__eval_f32((float)dync__load_f64(p, dtype));
    if (type == DYNC_F64) return dync__eval_f64(dync__load_f64(p, dtype));
    return dync__eval_int(type, (uint64_t)dync__load_i64(p, dtype));
}

static void dync__eval_store(char *p, int dtype, dync__scalar x)
{
    int type = dync__dtype_info(dtype)->compute;
    if (dtype == DYNC_F32)
        memcpy(p, &x.f, sizeof x.f);
    else if (type == DYNC_F32)
        dync__store_f64(p, dtype, (double)x.f);
    else if (type == DYNC_F64)
        dync__store_f64(p, dtype, x.d);
    else
        dync__store_i64(p, dtype, x.i);
}

static dync__scalar dync__eval_random(const dync__eval_run *r, const dync__inst *in, int64_t i)
{
    uint64_t at = r->offset + (uint64_t)i;
    if (in->type == DYNC_I32) {
        dync__scalar word = {.i = (int32_t)dync__rng_word(r->seed, at, (int)in->imm.i)};
        return word;
    }
    if (in->type == DYNC_F32) return dync__eval_f32(dync__rng_uniform_f32(r->seed, at));
    return dync__eval_f64(dync__rng_uniform_f64(r->seed, at, (int)in->imm.i / 2));
}

/* ---- reductions: begin, one step per inner index, end ---------------------------------------- */

static int dync__eval_operand_type(const dync__kernel *k, const dync__inst *in)
{
    return k->inst.at[in->arg[in->prim == DYNC__P_select ? 1 : 0]].type;
}

static dync__scalar dync__eval_extreme(int type, bool greatest)
{
    double inf = (double)INFINITY;
    if (type == DYNC_F32) return dync__eval_f32((float)(greatest ? inf : -inf));
    if (type == DYNC_F64) return dync__eval_f64(greatest ? inf : -inf);
    if (type == DYNC_I32)
        return dync__eval_int(type, (uint64_t)(int64_t)(greatest ? INT32_MAX : INT32_MIN));
    return dync__eval_int(type, (uint64_t)(greatest ? INT64_MAX : INT64_MIN));
}

static void dync__eval_acc_begin(dync__eval_acc *acc, int kind, int type)
{
    memset(acc, 0, sizeof *acc);
    acc->sum = kind == DYNC__R_PROD ? 1.0 : 0.0;
    if (kind == DYNC__R_MAX || kind == DYNC__R_MIN)
        acc->best = dync__eval_extreme(type, kind == DYNC__R_MIN);
    if (kind == DYNC__R_ALL || kind == DYNC__R_PROD) acc->best.i = 1;
}

static void dync__eval_add(dync__eval_acc *acc, double x)
{
    double sum = acc->sum + x;
    acc->low += fabs(acc->sum) >= fabs(x) ? (acc->sum - sum) + x : (x - sum) + acc->sum;
    acc->sum = sum;
}

/* Is x a better extreme than what stands? The first NaN beats everything. */
static bool dync__eval_beats(int kind, int type, dync__scalar x, dync__scalar best)
{
    bool less = kind == DYNC__R_MIN || kind == DYNC__R_ARGMIN;
    if (type == DYNC_F32 || type == DYNC_F64) {
        double a = type == DYNC_F32 ? (double)x.f : x.d,
               b = type == DYNC_F32 ? (double)best.f : best.d;
        if (dync__eval_nan64(b)) return false;
        return dync__eval_nan64(a) || (less ? a < b : a > b);
    }
    return less ? x.i < best.i : x.i > best.i;
}

static void dync__eval_acc_step(dync__eval_acc *acc, int kind, int type, dync__scalar x,
                                int64_t position)
{
    bool is_float = type == DYNC_F32 || type == DYNC_F64;
    double d = type == DYNC_F32 ? (double)x.f : type == DYNC_F64 ? x.d : 0.0;
    bool first = acc->n++ == 0;
    switch (kind) {
    case DYNC__R_SUM:
        if (is_float)
            dync__eval_add(acc, d);
        else
            acc->best.i = (int64_t)((uint64_t)acc->best.i + (uint64_t)x.i);
        break;
    case DYNC__R_PROD:
        acc->sum *= is_float ? d : 1.0;
        acc->best.i = (int64_t)((uint64_t)acc->best.i * (uint64_t)x.i);
        break;
    case DYNC__R_ANY: acc->best.i |= x.i; break;
    case DYNC__R_ALL: acc->best.i &= x.i; break;
    default:
        if (first || dync__eval_beats(kind, type, x, acc->best)) {
            acc->best = x;
            acc->position = position;
        }
    }
}

static dync__scalar dync__eval_acc_end(const dync__eval_acc *acc, int kind, int type)
{
    bool is_float = type == DYNC_F32 || type == DYNC_F64;
    if (kind == DYNC__R_ARGMAX || kind == DYNC__R_ARGMIN)
        return dync__eval_int(DYNC_I64, (uint64_t)acc->position);
    if (!is_float || kind == DYNC__R_MAX || kind == DYNC__R_MIN)
        return is_float ? acc->best : dync__eval_int(type, (uint64_t)acc->best.i);
    /* an infinite or NaN sum has a meaningless compensation */
    bool finite = (dync__eval_bits64(acc->sum) & 0x7ff0000000000000u) != 0x7ff0000000000000u;
    double sum = kind == DYNC__R_SUM && finite ? acc->sum + acc->low : acc->sum;
    return type == DYNC_F32 ? dync__eval_f32((float)sum) : dync__eval_f64(sum);
}

/* ---- one index, one section, one row --------------------------------------------------------- */

static dync__scalar dync__eval_arg(const dync__eval_run *r, const dync__inst *user, int i)
{
    dync__scalar none;
    memset(&none, 0, sizeof none);
    if (user->arg[i] < 0) return none;
    const dync__inst *made = &r->k->inst.at[user->arg[i]];
    bool earlier_phase = (made->section & 1) && made->section != user->section &&
                         made->prim != DYNC__P_reduce;
    return earlier_phase ? r->kept[user->arg[i]][r->position] : r->value[user->arg[i]];
}

static dync_status dync__eval_inst(dync__eval_run *r, int i)
{
    const dync__inst *in = &r->k->inst.at[i];
    dync__scalar a = dync__eval_arg(r, in, 0), b = dync__eval_arg(r, in, 1),
                 c = dync__eval_arg(r, in, 2);
    dync__scalar *out = &r->value[i];
    char *p = NULL;
    switch (in->prim) {
    case DYNC__P_const_: *out = dync__const_scalar(in); break;
    case DYNC__P_index:
        *out = dync__eval_int(DYNC_I64, (uint64_t)dync__eval_address(r, in->access));
        break;
    case DYNC__P_load:
    case DYNC__P_loadx:
        DYNC__TRY(dync__eval_element(r, in, in->prim == DYNC__P_loadx ? a.i : 0, &p));
        *out = dync__eval_load(p, r->k->buf.at[in->buf].dtype);
        break;
    case DYNC__P_store:
    case DYNC__P_storex:
        DYNC__TRY(dync__eval_element(r, in, in->prim == DYNC__P_storex ? b.i : 0, &p));
        dync__eval_store(p, r->k->buf.at[in->buf].dtype, a);
        break;
    case DYNC__P_reduce:
        dync__eval_acc_step(&r->acc[i], (int)in->imm.i, dync__eval_operand_type(r->k, in), a,
                            r->position);
        break;
    case DYNC__P_scan:
        dync__eval_acc_step(&r->acc[i], DYNC__R_SUM, in->type, a, r->position);
        *out = dync__eval_acc_end(&r->acc[i], DYNC__R_SUM, in->type);
        break;
    case DYNC__P_random: *out = dync__eval_random(r, in, a.i); break;
    default:
        *out = dync__prim_eval(in->prim, in->type, dync__eval_operand_type(r->k, in), a, b, c,
                               in->imm.i);
    }
    if (r->kept[i]) r->kept[i][r->position] = *out;
    return DYNC_OK;
}

/* The next index of loops [from, to), last fastest; false when they are through. */
static bool dync__eval_next(dync__eval_run *r, int from, int to)
{
    for (int d = to - 1; d >= from; d--) {
        if (++r->index[d] < r->k->extent[d]) return true;
        r->index[d] = 0;
    }
    return false;
}

static dync_status dync__eval_phase(dync__eval_run *r, int first, int end)
{
    const dync__kernel *k = r->k;
    for (int i = first; i < end; i++) /* a scan's immediate is 0: SUM */
        if (k->inst.at[i].prim == DYNC__P_reduce || k->inst.at[i].prim == DYNC__P_scan)
            dync__eval_acc_begin(&r->acc[i], (int)k->inst.at[i].imm.i,
                                 dync__eval_operand_type(k, &k->inst.at[i]));
    for (r->position = 0; r->position < r->n_inner; r->position++) {
        for (int i = first; i < end; i++) DYNC__TRY(dync__eval_inst(r, i));
        dync__eval_next(r, k->n_outer, k->n_dims);
    }
    r->position = 0;
    for (int i = first; i < end; i++)
        if (k->inst.at[i].prim == DYNC__P_reduce)
            r->value[i] = dync__eval_acc_end(&r->acc[i], (int)k->inst.at[i].imm.i,
                                             dync__eval_operand_type(k, &k->inst.at[i]));
    return DYNC_OK;
}

static dync_status dync__eval_row(dync__eval_run *r)
{
    const dync__kernel *k = r->k;
    for (int first = 0, end; first < k->inst.n; first = end) {
        int section = k->inst.at[first].section;
        for (end = first; end < k->inst.n && k->inst.at[end].section == section;) end++;
        if (section & 1) {
            DYNC__TRY(dync__eval_phase(r, first, end));
        } else {
            for (int i = first; i < end; i++) DYNC__TRY(dync__eval_inst(r, i));
        }
    }
    return DYNC_OK;
}

/* Gives every phase value that a later phase asks for an array over the inner loops. */
static dync_status dync__eval_keep(dync__eval_run *r)
{
    const dync__kernel *k = r->k;
    for (int i = 0; i < k->inst.n; i++) {
        for (int a = 0; a < 3; a++) {
            int from = k->inst.at[i].arg[a];
            if (from < 0 || r->kept[from]) continue;
            const dync__inst *made = &k->inst.at[from];
            if (!(made->section & 1) || made->section == k->inst.at[i].section ||
                made->prim == DYNC__P_reduce)
                continue;
            r->kept[from] = dync__alloc((size_t)r->n_inner * sizeof **r->kept);
            if (!r->kept[from]) return DYNC_ERR_MEMORY;
        }
    }
    return DYNC_OK;
}

static dync_status dync__eval_rows(dync__eval_run *r, int64_t n_rows)
{
    DYNC__TRY(dync__eval_keep(r));
    for (int64_t row = 0; row < n_rows; row++) {
        DYNC__TRY(dync__eval_row(r));
        dync__eval_next(r, 0, r->k->n_outer);
    }
    return DYNC_OK;
}

static dync_status dync__eval_bound(const dync__eval_run *r, const dync__bound *bound)
{
    const dync__buf *buf = &r->k->buf.at[bound->buf];
    int bytes = dync__dtype_info(buf->dtype)->bytes;
    int64_t n = 1;
    for (int d = 0; d < bound->lay.ndim; d++) n *= bound->lay.shape[d];
    for (int64_t i = 0; i < n; i++) {
        int64_t at = bound->lay.offset, rest = i;
        for (int d = bound->lay.ndim - 1; d >= 0; d--) {
            at += rest % bound->lay.shape[d] * bound->lay.stride[d];
            rest /= bound->lay.shape[d];
        }
        int64_t x = dync__eval_load((char *)r->buffers[bound->buf] + at * bytes, buf->dtype).i;
        if (x < 0 || x >= bound->size)
            return dync__fail(DYNC_ERR_INDEX, "index %lld outside of %lld", (long long)x,
                              (long long)bound->size);
    }
    return DYNC_OK;
}

DYNC__FN dync_status dync__kernel_eval(const dync__kernel *k, void *const *buffers,
                                       uint64_t rng_seed, uint64_t rng_offset)
{
    dync__eval_run r;
    dync__arena arena;
    memset(&r, 0, sizeof r);
    memset(&arena, 0, sizeof arena);
    int64_t n_rows = 1;
    r.n_inner = 1;
    for (int d = 0; d < k->n_dims; d++) {
        int64_t *n = d < k->n_outer ? &n_rows : &r.n_inner;
        if (!dync__mul_ok(*n, k->extent[d], n))
            return dync__fail(DYNC_ERR_SHAPE, "kernel %s: too many indices", k->name);
    }
    if (!(r.k = k = dync__kernel_expand(&arena, k, false))) {
        dync__arena_free(&arena);
        return DYNC_ERR_MEMORY;
    }
    r.buffers = buffers;
    for (int i = 0; i < k->bound.n; i++)
        if (dync__eval_bound(&r, &k->bound.at[i]) != DYNC_OK)
            return dync__arena_free(&arena), DYNC_ERR_INDEX;
    r.seed = rng_seed;
    r.offset = rng_offset;
    size_t n = (size_t)DYNC__MAX(k->inst.n, 1);
    r.value = dync__calloc(n * sizeof *r.value);
    r.kept = dync__calloc(n * sizeof *r.kept);
    r.acc = dync__calloc(n * sizeof *r.acc);
    dync_status status = r.value && r.kept && r.acc ? dync__eval_rows(&r, n_rows) : DYNC_ERR_MEMORY;
    for (size_t i = 0; r.kept && i < n; i++)
        dync__free(r.kept[i], (size_t)r.n_inner * sizeof **r.kept);
    dync__free(r.value, n * sizeof *r.value);
    dync__free(r.kept, n * sizeof *r.kept);
    dync__free(r.acc, n * sizeof *r.acc);
    dync__arena_free(&arena);
    return status;
}

DYNC__STRICT_FP_END
