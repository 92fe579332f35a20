/* codegen/csrc.c: a kernel as readable C11, for programs that run without this library. After
 * csrc_value.c; before: program/csource.c.
 *
 *   static void NAME(const float *restrict b0, float *restrict b1) { for (int o0 = ...) { row
 *     code, phases } }
 * One parameter per buffer in their order; one loop per loop, one constant per value. The text
 * needs stdint.h and math.h. Values of an earlier phase are loaded again or kept in a static
 * array, one element per inner index. fma is a * b + c (a call where it has to round once); sums
 * are plain; everything else is what eval.c says. Sizes beyond int are refused; random numbers,
 * too, but in the exporter's files.
 * Sizes may be symbolic, of the table in force: the source of a symbol is its name in C. Where the
 * caller has room for them (dync__csrc_room), kept values lie there, and each buffer begins at its
 * first element that is read or written.
 * Invariant: names are v<number>, r<number> (a reduction under way), k<number> (kept), o<d> and
 * i<d> (loops). */
#include "../dync.in.h"
#include "codegen.h"
#include "csrc.h"
DYNC__COLD

/* ---- sections -------------------------------------------------------------------------------- */

static void dync__csrc_statement(dync__csrc *c, int i)
{
    const dync__inst *in = dync__csrc_inst(c, i);
    if (!(c->needed[i] & DYNC__CSRC_HERE) || in->prim == DYNC__P_const_ ||
        dync__csrc_is_known(c, in))
        return;
    dync__csrc_line(c);
    if (in->prim == DYNC__P_reduce) {
        dync__csrc_reduce_step(c, i);
    } else if (!dync__inst_has_value(in)) {
        dync__csrc_store(c, in);
    } else {
        dync__str_addf(c->out, "const %s v%d = ", dync__dtype_c_type(in->type), i);
        dync__csrc_value(c, in);
        dync__str_add(c->out, ";\n");
        if (!c->kept[i]) return;
        dync__csrc_line(c);
        dync__str_addf(c->out, "k%d[", i);
        dync__csrc_position(c);
        dync__str_addf(c->out, "] = v%d;\n", i);
    }
}

/* Opens loops [from, to); returns how many closing braces are due. */
static int dync__csrc_open(dync__csrc *c, int from, int to)
{
    int opened = 0;
    for (int d = from; d < to; d++) {
        char loop = d < c->k->n_outer ? 'o' : 'i';
        int number = d < c->k->n_outer ? d : d - c->k->n_outer;
        if (c->k->extent[d] == 1) continue;
        dync__csrc_line(c);
        dync__str_addf(c->out, "for (int %c%d = 0; %c%d < ", loop, number, loop, number);
        dync__csrc_size(c->out, c->k->extent[d], false);
        dync__str_addf(c->out, "; %c%d++) {\n", loop, number);
        c->indent++;
        opened++;
    }
    return opened;
}

static void dync__csrc_close(dync__csrc *c, int opened)
{
    for (; opened > 0; opened--) {
        c->indent--;
        dync__csrc_line(c);
        dync__str_add(c->out, "}\n");
    }
}

static void dync__csrc_phase(dync__csrc *c, int first, int end)
{
    bool any = false;
    for (int i = first; i < end; i++) {
        any |= (c->needed[i] & DYNC__CSRC_HERE) && dync__csrc_inst(c, i)->prim != DYNC__P_const_;
        if (c->needed[i] && dync__csrc_inst(c, i)->prim == DYNC__P_reduce)
            dync__csrc_reduce_begin(c, i);
        if (!c->needed[i] || dync__csrc_inst(c, i)->prim != DYNC__P_scan) continue;
        dync__csrc_line(c);
        dync__str_addf(c->out, "%s r%d = 0;\n",
                       dync__csrc_inst(c, i)->type == DYNC_I64 ? "uint64_t" : "double", i);
    }
    if (!any) return;
    int opened = dync__csrc_open(c, c->k->n_outer, c->k->n_dims);
    bool block = opened == 0; /* values of different phases never meet, but their scope must end */
    if (block) {
        dync__csrc_line(c);
        dync__str_add(c->out, "{\n");
        c->indent++;
    }
    for (int i = first; i < end; i++) dync__csrc_statement(c, i);
    dync__csrc_close(c, opened + block);
}

/* What is needed, and which values a later phase asks for. */
static void dync__csrc_analyse(dync__csrc *c)
{
    for (int i = c->k->inst.n - 1; i >= 0; i--) {
        const dync__inst *in = dync__csrc_inst(c, i);
        if (!dync__inst_has_value(in)) c->needed[i] = DYNC__CSRC_HERE;
        int of[3] = {in->arg[0], in->arg[1], in->arg[2]};
        if (c->needed[i]) (void)dync__csrc_rescales(c, i, of);
        for (int a = 0; a < 3 && c->needed[i]; a++) {
            if (of[a] < 0) continue;
            const dync__inst *arg = dync__csrc_inst(c, of[a]);
            bool crosses = dync__csrc_crosses(arg, in->section),
                 reloads = crosses && dync__csrc_reloads(c, arg);
            c->needed[of[a]] |= reloads ? DYNC__CSRC_ELSEWHERE : DYNC__CSRC_HERE;
            if (crosses && !reloads) c->kept[of[a]] = 1;
        }
        if (!c->needed[i]) continue;
        int dtype = in->prim == DYNC__P_wrap ? (int)in->imm.i
                    : in->buf >= 0           ? c->k->buf.at[in->buf].dtype
                                             : -1;
        if (dtype != DYNC_F16 && dtype != DYNC_BF16) continue;
        bool in_wrap = in->prim == DYNC__P_wrap, stores = !dync__inst_has_value(in);
        c->half_in[dtype == DYNC_BF16] |= in_wrap || !stores;
        c->half_out[dtype == DYNC_BF16] |= in_wrap || stores;
    }
}

DYNC__FN const char *dync__half_csource(bool out, bool bf16)
{
    static const char *const text[2][2] = {
        {"static float %s_from_f16(uint16_t h)\n{\n    uint32_t exp = h & 0x7c00u, mag = (h & "
         "0x7fffu) << 13;\n"
         "    union { uint32_t u; float f; } x = {mag + 0x38800000u};\n    x.f -= "
         "6.103515625e-05f;\n"
         "    if (exp) x.u = mag + (exp == 0x7c00u ? 0x70000000u : 0x38000000u);\n    x.u |= (h & "
         "0x8000u) << 16;\n    return x.f;\n}\n",
         "static float %s_from_bf16(uint16_t h)\n{\n    union { uint32_t u; float f; } x = "
         "{(uint32_t)h << 16};\n    return x.f;\n}\n"},
        {"static uint16_t %s_to_f16(float f)\n{\n    union { float f; uint32_t u; } x = {f}, y;\n"
         "    uint32_t mag = x.u & 0x7fffffffu, sign = x.u >> 16 & 0x8000u;\n"
         "    if (mag >= 0x47800000u) return (uint16_t)(sign | (mag > 0x7f800000u ? 0x7e00u : "
         "0x7c00u));\n"
         "    if (mag >= 0x38800000u) return (uint16_t)(sign | (mag + 0xc8000fffu + (mag >> 13 & "
         "1u)) >> 13);\n"
         "    y.u = mag;\n    y.f += 0.5f;\n    return (uint16_t)(sign | (y.u - "
         "0x3f000000u));\n}\n",
         "static uint16_t %s_to_bf16(float f)\n{\n    union { float f; uint32_t u; } x = {f};\n"
         "    if ((x.u & 0x7fffffffu) > 0x7f800000u) return (uint16_t)(x.u >> 16 | 0x40u);\n"
         "    return (uint16_t)((x.u + 0x7fffu + (x.u >> 16 & 1u)) >> 16);\n}\n"}};
    return text[out][bf16];
}

/* What converts f16 and bf16; files have one of each for all. */
static void dync__csrc_converters(dync__csrc *c)
{
    for (int t = 0; t < 2 && !c->room; t++) {
        if (c->half_in[t]) dync__str_addf(c->out, dync__half_csource(false, t), c->name);
        if (c->half_out[t]) dync__str_addf(c->out, dync__half_csource(true, t), c->name);
    }
}

/* The greatest that a size may be. */
static double dync__csrc_most(int64_t size)
{
    double low, high;
    dync__sz_bounds(size, &low, &high);
    return high;
}

static dync_status dync__csrc_check(const dync__csrc *c)
{
    double total = 1;
    for (int d = 0; d < c->k->n_dims; d++)
        if ((total *= DYNC__MAX(dync__csrc_most(c->k->extent[d]), 1)) > INT32_MAX)
            return dync__fail(DYNC_ERR_COMPILE,
                              "kernel %s: more than 2^31 indices do not go into C source",
                              c->k->name);
    for (int i = 0; i < c->k->inst.n; i++)
        if (c->needed[i] && dync__csrc_inst(c, i)->prim == DYNC__P_random && !c->room)
            return dync__fail(DYNC_ERR_COMPILE, "kernel %s: random numbers do not go into C source",
                              c->k->name);
    return DYNC_OK;
}

/* Where each buffer begins: the least offset of its accesses, all of the same symbols. */
static void dync__csrc_bases(dync__csrc *c)
{
    const dync__kernel *k = c->k;
    bool seen[DYNC__CSRC_BUFS] = {false};
    memset(c->base, 0, sizeof c->base);
    for (int i = 0; i < k->inst.n && c->room; i++) {
        int b = k->inst.at[i].buf;
        int64_t offset = b >= 0 && c->needed[i] ? k->access.at[k->inst.at[i].access].offset : 0;
        if (b < 0 || !c->needed[i]) continue;
        if (!seen[b])
            c->base[b] = offset;
        else if (c->base[b] != offset)
            c->base[b] = dync__is_token(offset) || dync__is_token(c->base[b])
                             ? 0
                             : DYNC__MIN(offset, c->base[b]);
        seen[b] = true;
    }
    for (int b = 0; c->room && b < k->buf.n; b++) c->room->base[b] = c->base[b];
}

/* Arrays of kept values, one element for each inner index. */
static void dync__csrc_keep(dync__csrc *c)
{
    const dync__kernel *k = c->k;
    int64_t bytes = 0;
    double inner = 1;
    for (int d = k->n_outer; d < k->n_dims; d++) inner *= dync__csrc_most(k->extent[d]);
    int64_t n = inner < 1 ? 1 : inner > INT32_MAX ? INT32_MAX : (int64_t)inner;
    for (int i = 0; i < k->inst.n; i++) {
        if (!c->kept[i] || !c->needed[i]) continue;
        const char *type = dync__dtype_c_type(k->inst.at[i].type);
        if (c->room)
            dync__str_addf(c->out, "    %s *restrict k%d = (%s *)(void *)(a + %lld);\n", type, i,
                           type, (long long)bytes);
        else
            dync__str_addf(c->out, "    static %s k%d[%lld];\n", type, i, (long long)n);
        bytes += (n * dync__dtype_info(k->inst.at[i].type)->bytes + 7) & ~(int64_t)7;
    }
    if (c->room) c->room->bytes = bytes;
}

static bool dync__csrc_keeps(const dync__csrc *c)
{
    bool any = false;
    for (int i = 0; i < c->k->inst.n; i++) any = any || (c->kept[i] && c->needed[i]);
    return any && c->room;
}

static void dync__csrc_function(dync__csrc *c)
{
    const dync__kernel *k = c->k;
    bool keeps = dync__csrc_keeps(c);
    dync__csrc_converters(c);
    dync__str_addf(c->out, "static void %s(", c->name);
    const char *before = "";
    for (int i = 0; i < k->buf.n; i++) {
        if (dync__csrc_known(c, i)) continue;
        dync__str_addf(c->out, "%s%s%s *restrict b%d", before,
                       k->buf.at[i].mode & DYNC__BUF_OUT ? "" : "const ",
                       dync__dtype_c_type(k->buf.at[i].dtype), i);
        before = ", ";
    }
    if (keeps) dync__str_add(c->out, *before ? ", unsigned char *a" : "unsigned char *a");
    bool draws = k->uses_random && c->room;
    if (draws) dync__str_addf(c->out, "%sconst uint64_t *r", *before || keeps ? ", " : "");
    dync__str_add(c->out, *before || keeps || draws ? ")\n{\n" : "void)\n{\n");
    c->indent = 1;
    if (draws) dync__str_add(c->out, "    (void)r;\n");
    dync__csrc_keep(c);
    for (int b = 0; b < k->buf.n; b++) {
        bool used = dync__csrc_known(c, b) != NULL;
        for (int i = 0; i < k->inst.n; i++) used |= c->needed[i] && k->inst.at[i].buf == b;
        if (!used) dync__str_addf(c->out, "    (void)b%d;\n", b);
    }
    int opened = dync__csrc_open(c, 0, k->n_outer);
    for (int first = 0, end; first < k->inst.n; first = end) {
        int section = k->inst.at[first].section;
        for (end = first; end < k->inst.n && k->inst.at[end].section == section;) end++;
        if (section & 1)
            dync__csrc_phase(c, first, end);
        else
            for (int i = first; i < end; i++) dync__csrc_statement(c, i);
    }
    dync__csrc_close(c, opened);
    dync__str_add(c->out, "}\n");
}

/* ---- one element ----------------------------------------------------------------------------- */

/* Each loop that a value but the argument and the result depends on, by bits. */
static uint32_t dync__csrc_loops(const dync__csrc *c)
{
    const dync__kernel *k = c->k;
    uint32_t loops = 0;
    for (int i = 0; i < k->inst.n; i++) {
        const dync__inst *in = &k->inst.at[i];
        if (!c->needed[i] || in->access < 0 || in->prim == DYNC__P_store || in->buf == c->in)
            continue;
        for (int d = 0; d < k->n_dims; d++)
            if (k->extent[d] != 1 && k->access.at[in->access].stride[d]) loops |= (uint32_t)1 << d;
    }
    return loops;
}

/* static inline float NAME(float x, int i0, const float *b1) { ... return v3; } */
static void dync__csrc_element(dync__csrc *c)
{
    const dync__kernel *k = c->k;
    int type = DYNC_F32;
    for (int i = 0; i < k->inst.n; i++)
        if (k->inst.at[i].prim == DYNC__P_store) type = k->buf.at[k->inst.at[i].buf].dtype;
    dync__csrc_converters(c);
    dync__str_addf(c->out, "static inline %s %s(%s x", dync__dtype_c_type(type), c->name,
                   dync__dtype_c_type(k->buf.at[c->in].dtype));
    for (int d = 0; d < k->n_dims; d++) {
        bool outer = d < k->n_outer;
        if (c->room->loops >> d & 1)
            dync__str_addf(c->out, ", int %c%d", outer ? 'o' : 'i', outer ? d : d - k->n_outer);
    }
    for (int b = 0; b < k->buf.n; b++)
        if (b != c->in && !(k->buf.at[b].mode & DYNC__BUF_OUT) && !dync__csrc_known(c, b))
            dync__str_addf(c->out, ", const %s *b%d", dync__dtype_c_type(k->buf.at[b].dtype), b);
    dync__str_add(c->out, ")\n{\n");
    c->indent = 1;
    for (int b = 0; b < k->buf.n; b++) {
        bool used = b == c->in || (k->buf.at[b].mode & DYNC__BUF_OUT) || dync__csrc_known(c, b);
        for (int i = 0; i < k->inst.n; i++) used |= c->needed[i] && k->inst.at[i].buf == b;
        if (!used) dync__str_addf(c->out, "    (void)b%d;\n", b);
    }
    bool uses_x = false;
    for (int i = 0; i < k->inst.n; i++)
        uses_x |= k->inst.at[i].buf == c->in && (c->needed[i] & DYNC__CSRC_HERE);
    if (!uses_x) dync__str_add(c->out, "    (void)x;\n");
    for (int i = 0; i < k->inst.n; i++) dync__csrc_statement(c, i);
    dync__str_add(c->out, "}\n");
}

/* ---- the way in ------------------------------------------------------------------------------ */

/* in: as in dync__csrc */
static dync_status dync__csrc_text(dync__str *out, const dync__kernel *k, const char *fn_name,
                                   int in, dync__csrc_room *room)
{
    dync__csrc c;
    dync__arena arena = {0};
    const dync__kernel *expanded = dync__kernel_expand(&arena, k, false);
    if (!expanded) return dync__arena_free(&arena), DYNC_ERR_MEMORY;
    k = expanded;
    size_t n = (size_t)DYNC__MAX(k->inst.n, 1);
    memset(&c, 0, sizeof c);
    c.out = out;
    c.k = k;
    c.name = fn_name;
    c.in = in;
    c.room = k->buf.n > DYNC__CSRC_BUFS ? NULL : room;
    c.needed = dync__calloc(2 * n);
    if (!c.needed) return dync__arena_free(&arena), DYNC_ERR_MEMORY;
    c.kept = c.needed + n;
    dync__csrc_analyse(&c);
    dync_status status = dync__csrc_check(&c);
    if (room && !c.room)
        status = dync__fail(DYNC_ERR_UNSUPPORTED, "C source: loops over more than %d arrays",
                            (int)DYNC__CSRC_BUFS);
    if (status == DYNC_OK) dync__csrc_bases(&c);
    if (status == DYNC_OK && in >= 0) room->loops = dync__csrc_loops(&c);
    if (status == DYNC_OK) (in >= 0 ? dync__csrc_element : dync__csrc_function)(&c);
    dync__free(c.needed, 2 * n);
    dync__arena_free(&arena);
    return status == DYNC_OK && out->failed ? DYNC_ERR_MEMORY : status;
}

DYNC__FN dync_status dync__kernel_csource(dync__str *out, const dync__kernel *k,
                                          const char *fn_name, dync__csrc_room *room)
{
    return dync__csrc_text(out, k, fn_name, -1, room);
}

DYNC__FN dync_status dync__element_csource(dync__str *out, const dync__kernel *k,
                                           const char *fn_name, int in, dync__csrc_room *room)
{
    return dync__csrc_text(out, k, fn_name, in, room);
}
