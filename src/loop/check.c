/* loop/check.c: the verifier of loop IR, run between passes. After every stage that makes or
 * changes kernels.
 *
 * Checked: operands exist, stand before their user and are visible in its section; types by the
 * primitive's row; buffers and accesses exist, stores go to outputs and loads come from inputs; row
 * code does not vary along inner loops; every access stays inside its buffer where the size is
 * known; no plain store of a kernel that is not `ordered` lets two indices write one element. The
 * first fault is reported as DYNC_ERR_INTERNAL with the instruction. */
#include "../dync.in.h"
#include "loop.h"
DYNC__COLD

static dync_status dync__check_fail(const dync__kernel *k, int i, const char *what)
{
    return dync__fail(DYNC_ERR_INTERNAL, "kernel %s: instruction %d (%s, section %d): %s", k->name,
                      i, dync__prim_info(k->inst.at[i].prim)->name, (int)k->inst.at[i].section,
                      what);
}

static char dync__check_letter(int type)
{
    switch (type) {
    case DYNC_F32: return 'f';
    case DYNC_F64: return 'd';
    case DYNC_I32: return 'i';
    case DYNC_I64: return 'l';
    case DYNC_BOOL: return 'b';
    default: return '?';
    }
}

static bool dync__check_allows(const dync__inst *in, int type)
{
    return strchr(dync__prim_info(in->prim)->types, dync__check_letter(type)) != NULL;
}

static bool dync__check_is_float(int type) { return type == DYNC_F32 || type == DYNC_F64; }

/* ---- types ----------------------------------------------------------------------------------- */

static const char *dync__check_reduce(const dync__inst *in, int operand)
{
    if (in->imm.i < DYNC__R_SUM || in->imm.i > DYNC__R_ARGMIN) return "no such reduction";
    if (!(in->section & 1)) return "a reduction stands in a phase";
    bool logical = in->imm.i == DYNC__R_ANY || in->imm.i == DYNC__R_ALL;
    if (logical != (operand == DYNC_BOOL))
        return "any and all take BOOL, the other reductions "
               "numbers";
    return in->type == dync__reduce_type((int)in->imm.i, operand) ? NULL : "the wrong result type";
}

static const char *dync__check_wrap(const dync__inst *in, int operand)
{
    int64_t t = in->imm.i;
    if (t < DYNC_F32 || t > DYNC_BOOL) return "no such storage dtype";
    if (in->type != operand || dync__dtype_info((int)t)->compute != operand || t == operand)
        return "the wrong storage "
               "dtype";
    return NULL;
}

static const char *dync__check_const(const dync__inst *in)
{
    if (in->type == DYNC_BOOL && in->imm.i != 0 && in->imm.i != 1) return "a BOOL is 0 or 1";
    if (in->type == DYNC_I32 && in->imm.i != (int64_t)(int32_t)in->imm.i)
        return "the constant "
               "does not fit I32";
    return NULL;
}

static const char *dync__check_bitcast(int from, int to)
{
    bool narrow = (from == DYNC_F32 && to == DYNC_I32) || (from == DYNC_I32 && to == DYNC_F32);
    bool wide = (from == DYNC_F64 && to == DYNC_I64) || (from == DYNC_I64 && to == DYNC_F64);
    return narrow || wide ? NULL : "bitcast goes between F32 and I32 or F64 and I64";
}

/* Normal numbers are floats, their two words I32 (F64: two uniform ones). */
static const char *dync__check_random(const dync__inst *in, int number)
{
    bool f = dync__check_is_float(in->type), kind[] = {true, f, in->type != DYNC_F32, !f};
    if (in->imm.i < 0 || in->imm.i > 3 || !kind[in->imm.i])
        return "neither uniform nor normal nor a word of that";
    return number == DYNC_I64 && (f || in->type == DYNC_I32) ? NULL
                                                             : "expected an I64 number and a float "
                                                               "or I32 result";
}

/* t: types of the operands */
static const char *dync__check_types(const dync__kernel *k, const dync__inst *in, const int *t)
{
    if (!dync__check_allows(in,
                            t[0] >= 0 ? (in->prim == DYNC__P_select ? t[1] : t[0]) : in->type) &&
        in->prim != DYNC__P_loadx && in->prim != DYNC__P_random)
        return "this type is not allowed";
    switch (in->prim) {
    case DYNC__P_const_: return dync__check_const(in);
    case DYNC__P_index: return in->type == DYNC_I64 ? NULL : "an index is I64";
    case DYNC__P_load:
    case DYNC__P_loadx:
    case DYNC__P_store:
    case DYNC__P_storex: {
        int compute = dync__dtype_info(k->buf.at[in->buf].dtype)->compute;
        int index = in->prim == DYNC__P_loadx ? t[0] : in->prim == DYNC__P_storex ? t[1] : DYNC_I64;
        bool number = k->access.at[in->access].rows > 0 && index == DYNC_I32;
        if (index != DYNC_I64 && !number) return "an element index is I64";
        if (in->type != compute) return "the type is not the compute type of the buffer's dtype";
        return dync__inst_has_value(in) || t[0] == compute ? NULL
                                                           : "the stored value is not of "
                                                             "the buffer's compute type";
    }
    case DYNC__P_reduce: return dync__check_reduce(in, t[0]);
    case DYNC__P_scan:
        return in->section & 1 && in->type == t[0] ? NULL
                                                   : "a scan stands in a "
                                                     "phase and has its "
                                                     "operand's type";
    case DYNC__P_random: return dync__check_random(in, t[0]);
    case DYNC__P_select:
        return t[0] == DYNC_BOOL && t[1] == t[2] && in->type == t[1] ? NULL
                                                                     : "expected BOOL and "
                                                                       "two operands of "
                                                                       "its type";
    case DYNC__P_cast: return dync__check_letter(in->type) != '?' ? NULL : "not a compute type";
    case DYNC__P_bitcast: return dync__check_bitcast(t[0], in->type);
    case DYNC__P_wrap: return dync__check_wrap(in, t[0]);
    default: break;
    }
    for (int i = 1; i < 3; i++)
        if (t[i] >= 0 && t[i] != t[0]) return "operands of different types";
    if (in->type != (dync__prim_info(in->prim)->result == 'B' ? DYNC_BOOL : t[0]))
        return "the wrong result type";
    return NULL;
}

/* ---- sections and memory --------------------------------------------------------------------- */

static const char *dync__check_visible(const dync__inst *arg, int section)
{
    if (!dync__inst_has_value(arg)) return "a store has no value";
    bool row_value = !(arg->section & 1);
    if (arg->prim == DYNC__P_reduce && arg->section == section)
        return "a reduction's result is "
               "used in its own phase";
    if (row_value || arg->section == section || arg->prim == DYNC__P_reduce || (section & 1))
        return NULL;
    return "row code uses a value of a phase";
}

/* The least and greatest element the access reaches; false on overflow. */
static bool dync__check_span(const dync__kernel *k, const dync__access *acc, int64_t *low,
                             int64_t *high)
{
    *low = *high = acc->offset;
    for (int d = 0; d < k->n_dims; d++) {
        int64_t reach, *end = acc->stride[d] < 0 ? low : high;
        if (!dync__mul_ok(acc->stride[d], k->extent[d] - 1, &reach) ||
            !dync__add_ok(*end, reach, end))
            return false;
    }
    int64_t reach, *end = acc->row_stride < 0 ? low : high;
    return !acc->rows ||
           (dync__mul_ok(acc->row_stride, acc->rows - 1, &reach) && dync__add_ok(*end, reach, end));
}

static bool dync__check_is_sized(const dync__kernel *k, const dync__access *acc)
{
    bool sized = dync__is_token(acc->offset) || dync__any_token(acc->rows, acc->row_stride);
    for (int d = 0; d < k->n_dims; d++) sized |= dync__any_token(acc->stride[d], k->extent[d]);
    return sized;
}

static const char *dync__check_access(const dync__kernel *k, const dync__inst *in)
{
    const dync__access *acc = &k->access.at[in->access];
    bool empty = false, meets = false;
    int n = in->section & 1 ? k->n_dims : k->n_outer;
    for (int d = 0; d < k->n_dims; d++) {
        if (d >= n && acc->stride[d] != 0) return "row code varies along an inner loop";
        meets |= d < n && acc->stride[d] == 0 && k->extent[d] > 1;
        empty |= d < n && k->extent[d] == 0;
    }
    if (meets && !empty && in->prim == DYNC__P_store && !k->ordered)
        return "a store lets several indices write one element";
    int64_t low, high, size = in->buf >= 0 ? k->buf.at[in->buf].size : -1;
    if (acc->rows < 0 || (acc->rows > 0 && in->prim != DYNC__P_loadx)) return "rows of no gather";
    if (empty || (in->prim == DYNC__P_loadx && !acc->rows) || in->prim == DYNC__P_storex)
        return NULL;
    if (dync__check_is_sized(k, acc)) return NULL; /* seen where they are numbers */
    if (!dync__check_span(k, acc, &low, &high)) return "the access overflows 64 bits";
    return size < 0 || (low >= 0 && high < size) ? NULL : "the access leaves its buffer";
}

static const char *dync__check_memory(const dync__kernel *k, const dync__inst *in)
{
    bool reads = in->prim == DYNC__P_load || in->prim == DYNC__P_loadx,
         writes = !dync__inst_has_value(in);
    bool has_access = reads || writes || in->prim == DYNC__P_index;
    if ((reads || writes) != (in->buf >= 0) || in->buf >= k->buf.n)
        return "a buffer is missing "
               "or not expected";
    if (has_access != (in->access >= 0) || in->access >= k->access.n)
        return "an access is "
               "missing or not "
               "expected";
    if (reads && !(k->buf.at[in->buf].mode & DYNC__BUF_IN))
        return "a load from a buffer that is "
               "no input";
    if (writes && !(k->buf.at[in->buf].mode & DYNC__BUF_OUT))
        return "a store to a buffer that "
               "is no output";
    return has_access ? dync__check_access(k, in) : NULL;
}

static const char *dync__check_inst(const dync__kernel *k, int i)
{
    const dync__inst *in = &k->inst.at[i];
    if (in->prim >= DYNC__N_PRIMS) return "no such primitive";
    if (in->section < 0 || (i > 0 && in->section < k->inst.at[i - 1].section))
        return "sections decrease";
    int t[3] = {-1, -1, -1}, n_args = dync__prim_info(in->prim)->n_args;
    for (int a = 0; a < 3; a++) {
        if ((a < n_args) != (in->arg[a] >= 0)) return "the wrong number of operands";
        if (a >= n_args) continue;
        if (in->arg[a] >= i) return "an operand does not stand before its user";
        const char *fault = dync__check_visible(&k->inst.at[in->arg[a]], in->section);
        if (fault) return fault;
        t[a] = k->inst.at[in->arg[a]].type;
    }
    const char *fault = dync__check_memory(k, in);
    return fault ? fault : dync__check_types(k, in, t);
}

static const char *dync__check_bound(const dync__kernel *k, const dync__bound *bound)
{
    if (bound->buf < 0 || bound->buf >= k->buf.n) return "there is no such buffer";
    const dync__buf *buf = &k->buf.at[bound->buf];
    int type = dync__dtype_info(buf->dtype)->compute;
    if (type != DYNC_I64 && type != DYNC_I32) return "indices are integers";
    if (!(buf->mode & DYNC__BUF_IN)) return "the buffer is no input";
    int64_t low = bound->lay.offset, high = low, reach;
    if (dync__layout_has_tokens(&bound->lay)) return NULL; /* seen where they are numbers */
    for (int d = 0; d < bound->lay.ndim; d++) {
        int64_t *end = bound->lay.stride[d] < 0 ? &low : &high;
        if (bound->lay.shape[d] <= 0) return NULL;
        if (!dync__mul_ok(bound->lay.stride[d], bound->lay.shape[d] - 1, &reach) ||
            !dync__add_ok(*end, reach, end))
            return "the layout overflows 64 bits";
    }
    return buf->size < 0 || (low >= 0 && high < buf->size) ? NULL : "the layout leaves its buffer";
}

DYNC__FN dync_status dync__kernel_check(const dync__kernel *k)
{
    if (k->failed)
        return dync__fail(DYNC_ERR_MEMORY, "kernel %s: memory ran out while it was built", k->name);
    if (k->n_outer < 0 || k->n_outer > k->n_dims || k->n_dims > DYNC__LOOP_MAX_DIMS)
        return dync__fail(DYNC_ERR_INTERNAL,
                          "kernel %s: expected 0 <= outer <= loops <= 16, got %d and %d", k->name,
                          k->n_outer, k->n_dims);
    for (int d = 0; d < k->n_dims; d++)
        if (k->extent[d] < 0)
            return dync__fail(DYNC_ERR_INTERNAL,
                              "kernel %s: loop %d: expected an extent of 0 or more, got %lld",
                              k->name, d, (long long)k->extent[d]);
    for (int i = 0; i < k->buf.n; i++)
        if (!dync__dtype_valid(k->buf.at[i].dtype))
            return dync__fail(DYNC_ERR_INTERNAL, "kernel %s: buffer %d: expected a dtype, got %d",
                              k->name, i, (int)k->buf.at[i].dtype);
    for (int i = 0; i < k->bound.n; i++) {
        const char *fault = dync__check_bound(k, &k->bound.at[i]);
        if (fault)
            return dync__fail(DYNC_ERR_INTERNAL, "kernel %s: indices %d: %s", k->name, i, fault);
    }
    for (int i = 0; i < k->inst.n; i++) {
        const char *fault = dync__check_inst(k, i);
        if (fault) return dync__check_fail(k, i, fault);
    }
    return DYNC_OK;
}
