/* loop/text.c: kernels as text. Any stage may print; tests and tools read it back
 * (tools/ir/read.c).
 *
 *   kernel softmax(in x f32[64000] @0, out y f32[64000] @1) outer o0<64 inner i0<1000 {
 *     phase 0 {
 *       v0 = load x[1000*o0 + i0]
 *       v1 = reduce.max v0  ; amax
 *     }
 *     row 1 { ... }                            the row code before phase 1
 *   }
 *
 * What picks rows has the row as a loop of its own in its access, its number is the operand, and
 * the indices that must be rows of it stand at the top: their offset, then extent:stride of each
 * dim.
 *
 *   kernel embedding(in j i64[4] @0, in w f32[6400] @1, out y f32[256] @2) inner i0<4, i1<64 {
 *     indices j[0, 4:1] < 100  ; embedding
 *     phase 0 {
 *       v0 = load j[i0]
 *       v1 = loadx w[i1 + 64*row<100], v0
 *
 * @n is the buffer's plan slot, [n] its elements, [?] unknown. Immediates follow the name:
 * const.f32 0.5, cast.i32 v1, random.f32.normal v2, wrap.u8 v3, reduce.sum v4. What follows `;` is
 * the operator of origin. Values are numbered in order; stores have no number. */
#include "../dync.in.h"
#include "loop.h"
DYNC__COLD

DYNC__DATA const char dync__draw_names[4][8] = {"uniform", "normal", "second", "first"};
DYNC__DATA const char dync__reduce_names[8][7] = {"sum", "prod", "max",    "min",
                                                  "any", "all",  "argmax", "argmin"};
DYNC__DATA const char dync__mode_names[4][6] = {"none", "in", "out", "inout"};

/* ---- printing -------------------------------------------------------------------------------- */

static bool dync__text_is_name(const char *s)
{
    if (!s || !dync__is_letter(*s)) return false;
    int n = 0;
    for (; s[n]; n++)
        if (n == 100 || (!dync__is_word(s[n]) && s[n] != '.')) return false;
    return true;
}

/* The buffer's own name where it is a name and nobody before it has it, else b<number>. */
static void dync__text_buf(dync__str *out, const dync__kernel *k, int buf)
{
    const char *name = k->buf.at[buf].name;
    bool usable = dync__text_is_name(name);
    /* a name b<number> could be taken for another buffer's number */
    if (usable && name[0] == 'b' && dync__is_digit(name[1])) usable = false;
    for (int i = 0; usable && i < buf; i++)
        if (k->buf.at[i].name && strcmp(k->buf.at[i].name, name) == 0) usable = false;
    if (usable)
        dync__str_add(out, name);
    else
        dync__str_addf(out, "b%d", buf);
}

static void dync__text_loop(dync__str *out, const dync__kernel *k, int dim)
{
    if (dim < k->n_outer)
        dync__str_addf(out, "o%d", dim);
    else
        dync__str_addf(out, "i%d", dim - k->n_outer);
}

/* One signed term of a linear form; the first one has no spaces around its sign. */
static void dync__text_sign(dync__str *out, bool negative, bool first)
{
    if (first)
        dync__str_add(out, negative ? "-" : "");
    else
        dync__str_add(out, negative ? " - " : " + ");
}

static unsigned long long dync__text_magnitude(int64_t x)
{
    return x < 0 ? 0 - (unsigned long long)x : (unsigned long long)x;
}

static void dync__text_access(dync__str *out, const dync__kernel *k, int access, bool rows)
{
    const dync__access *acc = &k->access.at[access];
    bool first = true;
    dync__str_addc(out, '[');
    for (int d = 0; d < k->n_dims; d++) {
        if (acc->stride[d] == 0) continue;
        dync__text_sign(out, acc->stride[d] < 0, first);
        if (acc->stride[d] != 1 && acc->stride[d] != -1)
            dync__str_addf(out, "%llu*", dync__text_magnitude(acc->stride[d]));
        dync__text_loop(out, k, d);
        first = false;
    }
    if (rows) {
        dync__text_sign(out, acc->row_stride < 0, first);
        if (acc->row_stride != 1 && acc->row_stride != -1)
            dync__str_addf(out, "%llu*", dync__text_magnitude(acc->row_stride));
        dync__str_addf(out, "row<%lld", (long long)acc->rows);
        first = false;
    }
    if (first || acc->offset != 0) {
        dync__text_sign(out, acc->offset < 0, first);
        dync__str_addf(out, "%llu", dync__text_magnitude(acc->offset));
    }
    dync__str_addc(out, ']');
}

static void dync__text_const(dync__str *out, const dync__inst *in)
{
    char number[64];
    if (in->type != DYNC_F32 && in->type != DYNC_F64) {
        dync__str_addf(out, "%lld", (long long)in->imm.i);
        return;
    }
    uint64_t bits = (uint64_t)in->imm.i, magnitude = bits & 0x7fffffffffffffffu;
    if (magnitude > 0x7ff0000000000000u) {
        dync__str_add(out, "nan");
        return;
    }
    if (bits >> 63) dync__str_addc(out, '-');
    double x;
    memcpy(&x, &magnitude, sizeof x);
    if (magnitude == 0x7ff0000000000000u)
        dync__format(number, sizeof number, "inf");
    else if (in->type == DYNC_F32)
        dync__float_text((float)x, number, sizeof number);
    else
        dync__double_text(x, number, sizeof number);
    dync__str_add(out, number);
}

/* name and the immediates that follow it */
static void dync__text_prim(dync__str *out, const dync__kernel *k, const dync__inst *in)
{
    dync__str_add(out, dync__prim_info(in->prim)->name);
    if (in->prim == DYNC__P_const_ || in->prim == DYNC__P_cast || in->prim == DYNC__P_bitcast ||
        in->prim == DYNC__P_random)
        dync__str_addf(out, ".%s", dync__dtype_info(in->type)->fx);
    if (in->prim == DYNC__P_random) dync__str_addf(out, ".%s", dync__draw_names[in->imm.i & 3]);
    if (in->prim == DYNC__P_select && in->imm.i) dync__str_add(out, ".cold");
    if (in->prim == DYNC__P_wrap) dync__str_addf(out, ".%s", dync__dtype_info((int)in->imm.i)->fx);
    if (in->prim == DYNC__P_reduce) dync__str_addf(out, ".%s", dync__reduce_names[in->imm.i & 7]);
    if (in->prim == DYNC__P_const_) {
        dync__str_addc(out, ' ');
        dync__text_const(out, in);
    }
    if (in->access >= 0 || in->buf >= 0) dync__str_addc(out, ' ');
    if (in->buf >= 0) dync__text_buf(out, k, in->buf);
    if (in->access >= 0) /* expanded: the operand is the offset */
        dync__text_access(out, k, in->access, k->access.at[in->access].rows > 0 && !in->imm.i);
}

static void dync__text_inst(dync__str *out, const dync__kernel *k, const dync__inst *in,
                            const int *number, int own)
{
    dync__str_add(out, "    ");
    if (dync__inst_has_value(in)) dync__str_addf(out, "v%d = ", own);
    dync__text_prim(out, k, in);
    bool comma = in->buf >= 0;
    for (int i = 0; i < dync__prim_info(in->prim)->n_args; i++) {
        dync__str_add(out, comma ? ", " : " ");
        dync__str_addf(out, "v%d", in->arg[i] >= 0 ? number[in->arg[i]] : -1);
        comma = true;
    }
    if (in->origin && *in->origin) dync__str_addf(out, "  ; %s", in->origin);
    dync__str_addc(out, '\n');
}

static void dync__text_head(dync__str *out, const dync__kernel *k)
{
    dync__str_addf(out, "kernel %s(", dync__text_is_name(k->name) ? k->name : "kernel");
    for (int i = 0; i < k->buf.n; i++) {
        const dync__buf *b = &k->buf.at[i];
        dync__str_addf(out, "%s%s ", i ? ", " : "", dync__mode_names[b->mode & 3]);
        dync__text_buf(out, k, i);
        dync__str_addf(out, " %s[", dync__dtype_info(b->dtype)->fx);
        if (b->size >= 0)
            dync__str_addf(out, "%lld", (long long)b->size);
        else
            dync__str_addc(out, '?');
        dync__str_addf(out, "] @%d", (int)b->id);
    }
    dync__str_addc(out, ')');
    for (int d = 0; d < k->n_dims; d++) {
        dync__str_add(out, d == k->n_outer ? " inner " : d == 0 ? " outer " : ", ");
        dync__text_loop(out, k, d);
        dync__str_addf(out, "<%lld", (long long)k->extent[d]);
    }
    dync__str_add(out, k->ordered ? " ordered {\n" : " {\n");
}

static void dync__text_bound(dync__str *out, const dync__kernel *k, const dync__bound *bound)
{
    dync__str_add(out, "  indices ");
    dync__text_buf(out, k, bound->buf);
    dync__str_addf(out, "[%lld", (long long)bound->lay.offset);
    for (int d = 0; d < bound->lay.ndim; d++)
        dync__str_addf(out, ", %lld:%lld", (long long)bound->lay.shape[d],
                       (long long)bound->lay.stride[d]);
    dync__str_addf(out, "] < %lld", (long long)bound->size);
    if (bound->origin && *bound->origin) dync__str_addf(out, "  ; %s", bound->origin);
    dync__str_addc(out, '\n');
}

DYNC__FN void dync__kernel_print(dync__str *out, const dync__kernel *k)
{
    size_t bytes = (size_t)DYNC__MAX(k->inst.n, 1) * sizeof(int);
    int *number = dync__alloc(bytes), values = 0, section = -1;
    if (!number) {
        out->failed = true;
        return;
    }
    dync__text_head(out, k);
    for (int i = 0; i < k->bound.n; i++) dync__text_bound(out, k, &k->bound.at[i]);
    for (int i = 0; i < k->inst.n; i++) {
        const dync__inst *in = &k->inst.at[i];
        number[i] = values;
        if (in->section != section) {
            if (section >= 0) dync__str_add(out, "  }\n");
            section = in->section;
            dync__str_addf(out, "  %s %d {\n", section & 1 ? "phase" : "row", section / 2);
        }
        dync__text_inst(out, k, in, number, values);
        values += dync__inst_has_value(in);
    }
    if (section >= 0) dync__str_add(out, "  }\n");
    dync__str_add(out, "}\n");
    dync__free(number, bytes);
}
