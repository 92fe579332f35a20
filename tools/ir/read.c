/* tools/ir/read.c: kernels of loop IR from their text, for tests and dync-opt. The form is that of
 * src/loop/text.c, which prints it; no part of the header.
 *
 * Invariant: print(parse(t)) == t for every printed t. Parsing trusts nothing: every reference is
 * checked, but meaning (types, bounds) is src/loop/check.c's. */
#include "ir.h"

static bool dync__text_is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
static bool dync__text_is_digit(char c) { return c >= '0' && c <= '9'; }

/* ---- parsing: a cursor that holds its first error -------------------------------------------- */

typedef struct dync__text_reader {
    dync__arena *arena;
    dync__kernel *k;
    const char *at;
    int line;
    bool failed;
    DYNC__VEC(int32_t) value; /* instruction of each value number, -1 where undefined */
} dync__text_reader;

static void dync__text_fail(dync__text_reader *r, const char *expected)
{
    if (r->failed) return;
    r->failed = true;
    int n = 0;
    while (n < 24 && r->at[n] && r->at[n] != '\n') n++;
    dync__fail(DYNC_ERR_FORMAT, "kernel text, line %d: expected %s, got '%.*s'", r->line, expected,
               n, r->at);
}

static void dync__text_space(dync__text_reader *r, bool lines)
{
    while (*r->at == ' ' || *r->at == '\t' || *r->at == '\r' || (lines && *r->at == '\n'))
        r->line += *r->at++ == '\n';
}

/* Is `word` next (as a whole word where it is one)? Takes it. */
static bool dync__text_take(dync__text_reader *r, const char *word)
{
    size_t n = strlen(word);
    dync__text_space(r, false);
    if (r->failed || strncmp(r->at, word, n) != 0) return false;
    char next = r->at[n];
    if (dync__text_is_letter(word[n - 1]) &&
        (dync__text_is_letter(next) || dync__text_is_digit(next)))
        return false;
    r->at += n;
    return true;
}

static void dync__text_expect(dync__text_reader *r, const char *word)
{
    if (!dync__text_take(r, word)) dync__text_fail(r, word);
}

static const char *dync__text_word(dync__text_reader *r, char *out, size_t cap)
{
    size_t n = 0;
    dync__text_space(r, false);
    if (!r->failed && dync__text_is_letter(*r->at))
        while (n + 1 < cap &&
               (dync__text_is_letter(*r->at) || dync__text_is_digit(*r->at) || *r->at == '.'))
            out[n++] = *r->at++;
    out[n] = 0;
    if (n == 0) dync__text_fail(r, "a name");
    return out;
}

/* Digits; the magnitude may reach 2^63 where the number is negative. */
static int64_t dync__text_int(dync__text_reader *r, bool negative)
{
    uint64_t x = 0, limit = (uint64_t)INT64_MAX + negative;
    dync__text_space(r, false);
    if (!dync__text_is_digit(*r->at)) dync__text_fail(r, "a whole number");
    while (!r->failed && dync__text_is_digit(*r->at)) {
        unsigned digit = (unsigned)(*r->at - '0');
        if (x > (limit - digit) / 10) dync__text_fail(r, "a number of 64 bits");
        x = x * 10 + digit;
        r->at++;
    }
    if (r->failed) return 0;
    return negative ? (int64_t)(0 - x) : (int64_t)x;
}

static int64_t dync__text_signed(dync__text_reader *r)
{
    bool negative = dync__text_take(r, "-");
    return dync__text_int(r, negative);
}

static int dync__text_small(dync__text_reader *r, int limit, const char *what)
{
    int64_t x = dync__text_int(r, false);
    if (!r->failed && x >= limit) dync__text_fail(r, what);
    return r->failed ? 0 : (int)x;
}

static int dync__text_dtype(dync__text_reader *r, const char *name)
{
    for (int t = DYNC_F32; t <= DYNC_BOOL; t++)
        if (strcmp(dync__dtype_info(t)->fx, name) == 0) return t;
    dync__text_fail(r, "a dtype");
    return DYNC_F32;
}

static void dync__text_read_bufs(dync__text_reader *r)
{
    char mode[16], name[128], dtype[16];
    dync__text_expect(r, "(");
    if (dync__text_take(r, ")")) return;
    do {
        dync__text_word(r, mode, sizeof mode);
        int bits = 0;
        while (bits < 4 && strcmp(dync__mode_names[bits], mode) != 0) bits++;
        if (bits == 4) dync__text_fail(r, "in, out, inout or none");
        dync__text_word(r, name, sizeof name);
        int type = dync__text_dtype(r, dync__text_word(r, dtype, sizeof dtype));
        dync__text_expect(r, "[");
        int64_t size = dync__text_take(r, "?") ? -1 : dync__text_int(r, false);
        dync__text_expect(r, "]");
        dync__text_expect(r, "@");
        int64_t id = dync__text_signed(r);
        if (id > INT32_MAX || id < INT32_MIN) dync__text_fail(r, "a slot of 32 bits");
        if (r->failed) return;
        int before = r->k->buf.n;
        dync__kernel_buf(r->k, (int32_t)id, type, bits, size, name);
        if (r->k->buf.n == before) dync__text_fail(r, "each slot once");
    } while (dync__text_take(r, ","));
    dync__text_expect(r, ")");
}

static void dync__text_read_loops(dync__text_reader *r, char letter, bool outer)
{
    if (!dync__text_take(r, outer ? "outer" : "inner")) return;
    int n = 0;
    do {
        char name[16], wanted[16];
        dync__format(wanted, sizeof wanted, "%c%d", letter, n++);
        if (strcmp(dync__text_word(r, name, sizeof name), wanted) != 0)
            dync__text_fail(r, "loops numbered in order");
        if (r->k->n_dims == DYNC__LOOP_MAX_DIMS) dync__text_fail(r, "at most 16 loops");
        dync__text_expect(r, "<");
        int64_t extent = dync__text_int(r, false);
        if (r->failed) return;
        r->k->extent[r->k->n_dims++] = extent;
        r->k->n_outer += outer;
    } while (dync__text_take(r, ","));
}

/* [3*o0 - i1 + 7] */
static int dync__text_read_access(dync__text_reader *r)
{
    dync__access acc;
    memset(&acc, 0, sizeof acc);
    dync__text_expect(r, "[");
    bool negative = dync__text_take(r, "-");
    do {
        int64_t factor = negative ? -1 : 1;
        dync__text_space(r, false);
        bool number = dync__text_is_digit(*r->at), loop = !number;
        if (number) {
            factor = dync__text_int(r, negative);
            loop = dync__text_take(r, "*");
        }
        if (loop) {
            if (dync__text_take(r, "row")) {
                dync__text_expect(r, "<");
                acc.rows = dync__text_signed(r);
                acc.row_stride = factor;
                if (acc.rows <= 0) dync__text_fail(r, "one row or more");
                negative = dync__text_take(r, "-");
                continue;
            }
            dync__text_space(r, false);
            bool outer = *r->at == 'o';
            if (!outer && *r->at != 'i') dync__text_fail(r, "a loop or a number");
            if (r->failed) return -1;
            r->at++;
            int n = outer ? r->k->n_outer : r->k->n_dims - r->k->n_outer;
            int d = dync__text_small(r, n, "a loop of this kernel") + (outer ? 0 : r->k->n_outer);
            if (!r->failed) acc.stride[d] = factor;
        } else {
            acc.offset = factor;
        }
        negative = dync__text_take(r, "-");
    } while (!r->failed && (negative || dync__text_take(r, "+")));
    dync__text_expect(r, "]");
    return r->failed ? -1 : dync__kernel_access_of(r->k, &acc);
}

static int dync__text_read_buf(dync__text_reader *r)
{
    char name[128], number[16];
    dync__text_word(r, name, sizeof name);
    for (int i = 0; i < r->k->buf.n; i++) {
        dync__format(number, sizeof number, "b%d", i);
        if (strcmp(r->k->buf.at[i].name, name) == 0 || strcmp(number, name) == 0) return i;
    }
    dync__text_fail(r, "a buffer of this kernel");
    return -1;
}

static void dync__text_read_const(dync__text_reader *r, dync__inst *in)
{
    if (in->type != DYNC_F32 && in->type != DYNC_F64) {
        in->imm.i = dync__text_signed(r);
        bool fits = in->type == DYNC_I64 ||
                    (in->type == DYNC_I32 && in->imm.i == (int64_t)(int32_t)in->imm.i) ||
                    (in->type == DYNC_BOOL && (in->imm.i == 0 || in->imm.i == 1));
        if (!fits) dync__text_fail(r, "a constant that fits its type");
        return;
    }
    uint64_t sign = dync__text_take(r, "-") ? (uint64_t)1 << 63 : 0, bits = 0;
    if (dync__text_take(r, "nan")) {
        bits = 0x7ff8000000000000u;
    } else if (dync__text_take(r, "inf")) {
        bits = 0x7ff0000000000000u;
    } else {
        double x = 0;
        dync__text_space(r, false);
        if (!dync__text_is_digit(*r->at) || !dync__text_double(r->at, &r->at, &x))
            dync__text_fail(r, "a number");
        if (in->type == DYNC_F32) x = (double)(float)x;
        memcpy(&bits, &x, sizeof bits);
    }
    in->imm.i = (int64_t)(bits | sign);
}

/* Splits "reduce.sum" at its first dot and returns what follows, an empty string if nothing. */
static char *dync__text_suffix(char *word)
{
    char *dot = strchr(word, '.');
    if (!dot) return word + strlen(word);
    *dot = 0;
    return dot + 1;
}

static void dync__text_read_suffix(dync__text_reader *r, dync__inst *in, char *suffix)
{
    const char *rest = "";
    switch (in->prim) {
    case DYNC__P_random:
        rest = dync__text_suffix(suffix);
        while (in->imm.i < 4 && strcmp(dync__draw_names[in->imm.i], rest) != 0) in->imm.i++;
        if (in->imm.i == 4) dync__text_fail(r, "uniform, normal, second or first");
        in->type = (uint8_t)dync__text_dtype(r, suffix);
        break;
    case DYNC__P_const_:
    case DYNC__P_cast:
    case DYNC__P_bitcast: in->type = (uint8_t)dync__text_dtype(r, suffix); break;
    case DYNC__P_wrap: in->imm.i = dync__text_dtype(r, suffix); break;
    case DYNC__P_select:
        in->imm.i = *suffix != 0;
        if (in->imm.i && strcmp(suffix, "cold") != 0) dync__text_fail(r, "cold");
        break;
    case DYNC__P_reduce:
        while (in->imm.i < 8 && strcmp(dync__reduce_names[in->imm.i], suffix) != 0) in->imm.i++;
        if (in->imm.i == 8) dync__text_fail(r, "a kind of reduction");
        break;
    default:
        if (*suffix) dync__text_fail(r, "no suffix here");
    }
}

static void dync__text_read_args(dync__text_reader *r, dync__inst *in)
{
    for (int i = 0; i < dync__prim_info(in->prim)->n_args; i++) {
        if (i > 0 || in->buf >= 0) dync__text_expect(r, ",");
        dync__text_space(r, false);
        if (*r->at != 'v') dync__text_fail(r, "a value");
        if (r->failed) return;
        r->at++;
        int number = dync__text_small(r, INT32_MAX, "a value");
        if (r->failed || number >= r->value.n || r->value.at[number] < 0) {
            dync__text_fail(r, "a value defined before");
            return;
        }
        in->arg[i] = r->value.at[number];
    }
}

/* The result's type follows from the operands but where a suffix gave it. */
static void dync__text_result_type(const dync__kernel *k, dync__inst *in)
{
    const dync__prim_row *row = dync__prim_info(in->prim);
    if (in->buf >= 0)
        in->type = dync__dtype_info(k->buf.at[in->buf].dtype)->compute;
    else if (in->prim == DYNC__P_index)
        in->type = DYNC_I64;
    else if (row->result == 'B')
        in->type = DYNC_BOOL;
    else if (row->result == 'S')
        in->type = k->inst.at[in->arg[in->prim == DYNC__P_select ? 1 : 0]].type;
    if (in->prim == DYNC__P_reduce) in->type = (uint8_t)dync__reduce_type((int)in->imm.i, in->type);
}

/* What follows a `;`, or NULL. */
static const char *dync__text_read_origin(dync__text_reader *r)
{
    if (!dync__text_take(r, ";")) return NULL;
    dync__text_space(r, false);
    int n = 0;
    while (r->at[n] && r->at[n] != '\n') n++;
    const char *origin = dync__arena_printf(r->arena, "%.*s", n, r->at);
    r->at += n;
    return origin;
}

/* indices j[3, 5:4, 4:1] < 1000 */
static void dync__text_read_bound(dync__text_reader *r)
{
    dync__bound bound;
    memset(&bound, 0, sizeof bound);
    bound.buf = dync__text_read_buf(r);
    dync__text_expect(r, "[");
    bound.lay.offset = dync__text_signed(r);
    while (!r->failed && dync__text_take(r, ",")) {
        int d = bound.lay.ndim;
        if (d == DYNC_MAX_DIMS) dync__text_fail(r, "fewer dims");
        if (r->failed) return;
        bound.lay.shape[d] = dync__text_signed(r);
        dync__text_expect(r, ":");
        bound.lay.stride[d] = dync__text_signed(r);
        bound.lay.ndim++;
    }
    dync__text_expect(r, "]");
    dync__text_expect(r, "<");
    bound.size = dync__text_signed(r);
    bound.origin = dync__text_read_origin(r);
    bound.order = r->k->bound.n;
    if (!r->failed) dync__kernel_bound(r->k, &bound);
}

static void dync__text_read_inst(dync__text_reader *r, int section)
{
    char word[64];
    int number = -1;
    dync__inst in = dync__inst_make(0, 0, -1, -1, -1);
    dync__text_space(r, false);
    if (*r->at == 'v' && dync__text_is_digit(r->at[1])) {
        r->at++;
        number = dync__text_small(r, 1 << 24, "a value number below 2^24");
        dync__text_expect(r, "=");
    }
    dync__text_word(r, word, sizeof word);
    char *suffix = dync__text_suffix(word);
    int prim = 0;
    while (prim < DYNC__N_PRIMS && strcmp(dync__prim_info(prim)->name, word) != 0) prim++;
    if (prim == DYNC__N_PRIMS) dync__text_fail(r, "a primitive");
    if (r->failed) return;
    in.prim = (uint8_t)prim;
    in.section = (int16_t)section;
    if (dync__inst_has_value(&in) != (number >= 0))
        dync__text_fail(r, "v<number> = before a "
                           "value, nothing before a "
                           "store");
    dync__text_read_suffix(r, &in, suffix);
    bool memory = prim == DYNC__P_load || prim == DYNC__P_loadx || prim == DYNC__P_store ||
                  prim == DYNC__P_storex;
    if (memory) in.buf = dync__text_read_buf(r);
    if (memory || prim == DYNC__P_index) in.access = dync__text_read_access(r);
    if (prim == DYNC__P_const_) dync__text_read_const(r, &in);
    dync__text_read_args(r, &in);
    if (r->failed) return;
    dync__text_result_type(r->k, &in);
    in.origin = dync__text_read_origin(r);
    while (number >= r->value.n)
        if (!dync__avec_push(r->arena, &r->value, -1)) break;
    if (number >= 0 && number < r->value.n) r->value.at[number] = r->k->inst.n;
    if (number >= r->value.n || !dync__avec_push(r->arena, &r->k->inst, in)) r->k->failed = true;
    if (prim == DYNC__P_random) r->k->uses_random = true;
}

static void dync__text_read_body(dync__text_reader *r)
{
    int last = -1;
    dync__text_expect(r, "{");
    for (;;) {
        dync__text_space(r, true);
        if (r->failed || r->k->failed || dync__text_take(r, "}")) return;
        if (last < 0 && dync__text_take(r, "indices")) {
            dync__text_read_bound(r);
            continue;
        }
        bool phase = dync__text_take(r, "phase");
        if (!phase && !dync__text_take(r, "row")) dync__text_fail(r, "row, phase or }");
        int section = 2 * dync__text_small(r, INT16_MAX / 2, "a smaller section") + phase;
        if (section <= last) dync__text_fail(r, "sections in order");
        last = section;
        dync__text_expect(r, "{");
        for (;;) {
            dync__text_space(r, true);
            if (r->failed || r->k->failed || dync__text_take(r, "}")) break;
            dync__text_read_inst(r, section);
        }
    }
}

DYNC__FN dync__kernel *dync__kernel_parse(dync__arena *arena, const char *text)
{
    char name[128];
    dync__text_reader r;
    memset(&r, 0, sizeof r);
    if (!text) {
        dync__fail(DYNC_ERR_VALUE, "kernel text: expected a text, got NULL");
        return NULL;
    }
    r.arena = arena;
    r.at = text;
    r.line = 1;
    dync__text_space(&r, true);
    dync__text_expect(&r, "kernel");
    dync__text_word(&r, name, sizeof name);
    if (r.failed) return NULL;
    r.k = dync__kernel_new(arena, name, 0, 0, NULL);
    if (!r.k) return NULL;
    dync__text_read_bufs(&r);
    dync__text_read_loops(&r, 'o', true);
    dync__text_read_loops(&r, 'i', false);
    r.k->ordered = dync__text_take(&r, "ordered");
    dync__text_read_body(&r);
    dync__text_space(&r, true);
    if (!r.failed && !r.k->failed && *r.at) dync__text_fail(&r, "nothing after the kernel");
    return r.failed || r.k->failed ? NULL : r.k;
}
