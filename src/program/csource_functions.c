/* program/csource_functions.c: the functions of an exported C file: equal texts are one, each takes
 * the symbolic sizes that it names. After csource_data.c; csource_steps.c and what it asks make
 * them. */
#include "../dync.in.h"
#include "csource.h"
DYNC__COLD

/* ---- symbols --------------------------------------------------------------------------------- */

DYNC__FN bool dync__csource_has_word(const char *text, const char *word)
{
    size_t n = strlen(word);
    for (const char *at = strstr(text, word); at; at = strstr(at + 1, word))
        if ((at == text || !dync__is_word(at[-1])) && !dync__is_word(at[n])) return true;
    return false;
}

DYNC__FN uint64_t dync__csource_uses(const dync__csource *c, const char *text)
{
    uint64_t uses = 0;
    for (int i = 0; c->syms && i < c->syms->symbol.n; i++)
        if (dync__csource_has_word(text, c->syms->symbol.at[i].source)) uses |= (uint64_t)1 << i;
    return uses;
}

DYNC__FN void dync__csource_symbols(const dync__csource *c, uint64_t uses, const char *before,
                                    const char *type, dync__str *s)
{
    for (int i = 0; c->syms && i < c->syms->symbol.n; i++) {
        if (!(uses >> i & 1)) continue;
        dync__str_addf(s, "%s%s%s", before, type, c->syms->symbol.at[i].source);
        before = ", ";
    }
}

DYNC__FN dync_status dync__csource_most(int64_t size, int64_t *most)
{
    double low, high;
    dync__sz_bounds(size, &low, &high);
    *most = high <= 0 ? 0 : high <= INT32_MAX ? (int64_t)high : INT32_MAX;
    if (high <= INT32_MAX) return DYNC_OK;
    return dync__fail(DYNC_ERR_UNSUPPORTED,
                      "C source: an array of more than 2^31 elements, at the greatest sizes");
}

/* ---- functions ------------------------------------------------------------------------------- */

/* The text with the function's name and, behind its parameters, the sizes it uses. */
static const char *dync__csource_named(dync__csource *c, const dync__csource_fn *f)
{
    dync__str s = {0};
    const char *head = strstr(f->text, "static void @("), *end = head ? strchr(head, ')') : NULL;
    for (const char *p = f->text; *p; p++) {
        if (p == end && f->uses) {
            bool none = s.n > 5 && memcmp(s.at + s.n - 5, "(void", 5) == 0;
            if (none) s.n -= 4;
            dync__csource_symbols(c, f->uses, none ? "" : ", ", "int ", &s);
        }
        if (*p == '@' || (*p == '#' && p[1] == '_')) /* a lone # is the preprocessor's */
            dync__str_add(&s, *p == '@' ? f->name : c->program->name);
        else
            dync__str_addc(&s, *p);
    }
    const char *named = s.failed ? NULL : dync__arena_strdup(&c->names, dync__str_get(&s));
    dync__str_free(&s);
    return named;
}

DYNC__FN const dync__csource_fn *dync__csource_function(dync__csource *c, const dync__str *text)
{
    dync__str copy = *text;
    const char *at = dync__str_get(&copy);
    for (int i = 0; i < c->fn.n; i++)
        if (strcmp(c->fn.at[i]->text, at) == 0) return c->fn.at[i];
    dync__csource_fn *f = dync__arena_alloc(&c->names, sizeof *f);
    if (!f) return NULL;
    f->text = dync__arena_strdup(&c->names, at);
    f->name = dync__arena_printf(&c->names, "%s_step%d", c->program->name, c->fn.n);
    f->uses = dync__csource_uses(c, at);
    return f->text && f->name && dync__avec_push(&c->names, &c->fn, f) ? f : NULL;
}

/* ---- constants ------------------------------------------------------------------------------- */

DYNC__FN const dync__tensor *dync__csource_constant(const dync__csource *c,
                                                    const dync__csource_unit *u, int32_t slot)
{
    const dync__slot *p = &u->pb.slot.at[slot];
    if (p->kind != DYNC__SLOT_INPUT) return NULL;
    if (p->index < u->n_in) return u->given ? u->given[p->index] : NULL;
    const dync__tensor *t = p->index < c->aot.actual.n ? c->aot.actual.at[p->index].tensor : NULL;
    for (int i = 0; t && i < c->state.n; i++)
        if (c->state.at[i]->storage == t->storage) return NULL;
    return t;
}

/* Only where it is read as the one element that it is. */
DYNC__FN void dync__csource_known(const dync__csource *c, const dync__csource_unit *u,
                                  const dync__kernel *k, dync__csrc_room *room)
{
    for (int b = 0; b < k->buf.n && b < DYNC__CSRC_BUFS; b++) {
        const dync__tensor *t = k->buf.at[b].mode & DYNC__BUF_OUT
                                    ? NULL
                                    : dync__csource_constant(c, u, k->buf.at[b].id);
        bool one = t && t->numel == 1 && t->dtype == k->buf.at[b].dtype;
        for (int i = 0; one && i < k->inst.n; i++)
            if (k->inst.at[i].buf == b)
                one = k->inst.at[i].prim == DYNC__P_load &&
                      k->access.at[k->inst.at[i].access].offset == 0;
        room->known[b] = one ? dync__tensor_data(t) : NULL;
    }
}

/* ---- vectors --------------------------------------------------------------------------------- */

static const char dync__vectors_choose[] =
    "/* Floats in a vector, where the compiler has GNU C's; 0: plain loops, the same sums. */\n"
    "#ifndef DYNC_VECTOR\n#if !defined __GNUC__\n#define DYNC_VECTOR 0\n"
    "#elif defined __AVX512F__\n#define DYNC_VECTOR 16\n#elif defined __AVX__\n"
    "#define DYNC_VECTOR 8\n"
    "#elif defined __SSE2__ || defined __aarch64__ || defined __VSX__ || defined __wasm_simd128__\n"
    "#define DYNC_VECTOR 4\n#elif defined __ARM_FEATURE_MVE && __ARM_FEATURE_MVE > 1\n"
    "#define DYNC_VECTOR 4\n#else\n#define DYNC_VECTOR 0\n#endif\n#endif\n";

static void dync__csource_vector_types(const dync__csource *c, dync__str *s)
{
    const char *name = c->program->name;
    bool used[3] = {false};
    char word[16];
    for (int k = 0; k < 3; k++) {
        dync__format(word, sizeof word, "#_n%d", 4 << k);
        for (int i = 0; i < c->fn.n; i++) used[k] = used[k] || strstr(c->fn.at[i]->text, word);
    }
    if (!used[0] && !used[1] && !used[2]) return;
    dync__str_add(s, dync__vectors_choose);
    dync__str_add(s, "#if DYNC_VECTOR\n");
    for (int k = 0; k < 3; k++) {
        int n = 4 << k;
        if (!used[k]) continue;
        dync__str_addf(s, "enum { %s_n%d = DYNC_VECTOR < %d ? DYNC_VECTOR : %d };\n", name, n, n,
                       n);
        dync__str_addf(s, "typedef float %s_v%d __attribute__((vector_size(4 * %s_n%d)));\n", name,
                       n, name, n);
        dync__str_addf(s, "typedef int32_t %s_i%d __attribute__((vector_size(4 * %s_n%d)));\n",
                       name, n, name, n);
        dync__str_addf(s,
                       "typedef float %s_u%d __attribute__((vector_size(4 * %s_n%d), aligned(4), "
                       "may_alias)); /* anywhere in memory */\n",
                       name, n, name, n);
    }
    dync__str_add(s, "#endif\n");
}

/* ---- pairs of 16 bits ------------------------------------------------------------------------ */

static const char dync__pairs_text[] =
    "/* Sums of bytes by instructions for pairs: 1; 2: the same in C; 0: one by one. */\n"
    "#ifndef DYNC_SMLAD\n"
    "#if defined __GNUC__ && defined __ARM_FEATURE_SIMD32 && !defined __ARM_FEATURE_MVE\n"
    "#define DYNC_SMLAD 1\n#else\n#define DYNC_SMLAD 0\n#endif\n#endif\n"
    "#if DYNC_SMLAD\n"
    "static inline uint32_t #_four(const int8_t *x)\n{\n    uint32_t u;\n"
    "    memcpy(&u, x, 4);\n    return u;\n}\n#endif\n"
    "#if DYNC_SMLAD == 1\n"
    "static inline uint32_t #_even(uint32_t x)\n{\n"
    "    uint32_t y;\n    __asm__(\"sxtb16 %0, %1\" : \"=r\"(y) : \"r\"(x));\n    return y;\n}\n"
    "static inline uint32_t #_odd(uint32_t x)\n{\n"
    "    uint32_t y;\n    __asm__(\"sxtb16 %0, %1, ror #8\" : \"=r\"(y) : \"r\"(x));\n"
    "    return y;\n}\n"
    "static inline int32_t #_smlad(uint32_t a, uint32_t b, int32_t s)\n{\n    int32_t y;\n"
    "    __asm__(\"smlad %0, %1, %2, %3\" : \"=r\"(y) : \"r\"(a), \"r\"(b), \"r\"(s));\n"
    "    return y;\n}\n#elif DYNC_SMLAD\n"
    "static inline int32_t #_byte(uint32_t x) { return (int8_t)(uint8_t)x; }\n"
    "static inline uint32_t #_even(uint32_t x)\n{\n"
    "    return ((uint32_t)#_byte(x) & 0xffff) | (uint32_t)#_byte(x >> 16) << 16;\n}\n"
    "static inline uint32_t #_odd(uint32_t x) { return #_even(x >> 8); }\n"
    "static inline int32_t #_smlad(uint32_t a, uint32_t b, int32_t s)\n{\n"
    "    const int32_t low = (int16_t)(uint16_t)a * (int16_t)(uint16_t)b,\n"
    "                  high = (int16_t)(uint16_t)(a >> 16) * (int16_t)(uint16_t)(b >> 16);\n"
    "    return (int32_t)((uint32_t)s + (uint32_t)low + (uint32_t)high);\n}\n#endif\n";

/* x m / 2^shift to the nearest, halves up: shift 0 to 62. From 33 on the upper word is enough. */
static const char dync__rescale_text[] =
    "static int32_t #_shifted(int64_t x, int32_t shift)\n{\n"
    "    if (shift) x = (x + ((int64_t)1 << (shift - 1))) >> shift;\n"
    "    return (int32_t)(uint32_t)(uint64_t)x;\n}\n"
    "static inline int32_t #_rescale(int32_t x, int32_t m, int32_t shift)\n{\n"
    "    const int64_t all = (int64_t)x * m;\n"
    "    if (shift < 33) return #_shifted(all, shift);\n"
    "    return ((int32_t)(all >> 32) + (1 << (shift - 33))) >> (shift - 32);\n}\n";

/* The text, where some function calls what begins so. */
static void dync__csource_helper(const dync__csource *c, dync__str *s, const char *call,
                                 const char *text)
{
    bool used = false;
    for (int i = 0; i < c->fn.n; i++) used = used || strstr(c->fn.at[i]->text, call);
    for (const char *p = text; used && *p; p++)
        if (*p == '#' && p[1] == '_')
            dync__str_add(s, c->program->name);
        else
            dync__str_addc(s, *p);
}

/* ---- all of them ----------------------------------------------------------------------------- */

/* Floats as bits and back: a union, which C and the compilers of C++ take so. */
static void dync__csource_bits(dync__csource *c, dync__str *s)
{
    static const char *const rows[][4] = {{"#_bits32(", "int32_t", "float", "i"},
                                          {"#_float32(", "float", "int32_t", "f"},
                                          {"#_bits64(", "int64_t", "double", "i"},
                                          {"#_float64(", "double", "int64_t", "f"}};
    for (int k = 0; k < DYNC__COUNT_OF(rows); k++) {
        bool used = false, gives = rows[k][3][0] == 'i';
        for (int i = 0; i < c->fn.n; i++) used = used || strstr(c->fn.at[i]->text, rows[k][0]);
        if (used)
            dync__str_addf(s,
                           "static %s %s%s%s x)\n{\n    union { %s f; %s i; } u;\n    u.%s = x;\n"
                           "    return u.%s;\n}\n",
                           rows[k][1], c->program->name, rows[k][0] + 1, rows[k][2],
                           rows[k][gives ? 2 : 1], rows[k][gives ? 1 : 2], gives ? "f" : "i",
                           rows[k][3]);
    }
    dync__str_addc(s, '\n');
}

/* Every function, in the order in which they call each other. */
DYNC__FN void dync__csource_functions(dync__csource *c, dync__str *s)
{
    dync__csource_vector_types(c, s);
    for (int k = 0; k < 4; k++) {
        static const char *const calls[] = {"#_from_f16(", "#_from_bf16(", "#_to_f16(",
                                            "#_to_bf16("};
        dync__str text = {0};
        dync__str_addf(&text, dync__half_csource(k > 1, k % 2), "#");
        dync__csource_helper(c, s, calls[k], dync__str_get(&text));
        s->failed = s->failed || text.failed;
        dync__str_free(&text);
    }
    dync__csource_helper(c, s, "#_smlad(", dync__pairs_text);
    dync__csource_helper(c, s, "#_rescale(", dync__rescale_text);
    dync__csource_bits(c, s);
    dync__csource_random(c, s);
    for (int i = 0; i < c->fn.n; i++) {
        const dync__csource_fn *f = c->fn.at[i];
        const char *text = dync__csource_named(c, f);
        if (!text) s->failed = true;
        dync__str_addf(s, "%s\n", text ? text : "");
    }
}
