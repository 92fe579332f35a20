/* program/csource_data.c: arrays of an exported C file: numbers as C has them, weights; names.
 * Before csource_state.c and csource_steps.c. */
#include "../dync.in.h"
#include "csource.h"
DYNC__COLD

/* ---- numbers --------------------------------------------------------------------------------- */

DYNC__FN void dync__csource_number(dync__str *s, const char *at, int dtype)
{
    char text[48];
    bool is_float = dtype == DYNC_F32 || dtype == DYNC_F64;
    double x = is_float ? dync__load_f64(at, dtype) : 0;
    if (!is_float) {
        int64_t i = dync__dtype_info(dtype)->kind == 'f' ? *(const uint16_t *)(const void *)at
                                                         : dync__load_i64(at, dtype);
        if (i == INT64_MIN)
            dync__str_add(s, "INT64_MIN");
        else
            dync__str_addf(s, "%lld", (long long)i);
    } else if (x - x != 0) {
        dync__str_add(s, x != x ? "NAN" : x > 0 ? "INFINITY" : "-INFINITY");
    } else {
        if (dtype == DYNC_F32)
            dync__float_text((float)x, text, sizeof text);
        else
            dync__double_text(x, text, sizeof text);
        dync__str_add(s, text);
        if (!strpbrk(text, ".e")) dync__str_add(s, ".0");
        if (dtype == DYNC_F32) dync__str_addc(s, 'f');
    }
}

/* const float NAME[n] = {...}; of all elements that the layout reaches, from the first on. */
DYNC__FN void dync__csource_array(dync__str *s, const char *name, const char *data, int dtype,
                                  int64_t n, bool constant)
{
    int bytes = dync__dtype_info(dtype)->bytes;
    dync__str_addf(s, "static %s%s %s[%lld] = {", constant ? "const " : "",
                   dync__dtype_c_type(dtype), name, (long long)DYNC__MAX(n, 1));
    for (int64_t i = 0; i < n; i++) {
        dync__str_add(s, i % 8 ? " " : "\n    ");
        dync__csource_number(s, data + i * bytes, dtype);
        if (i + 1 < n) dync__str_addc(s, ',');
    }
    dync__str_add(s, n ? "\n};\n" : "0};\n");
}

DYNC__FN int64_t dync__csource_span(const dync__layout *lay)
{
    int64_t span = 1;
    for (int d = 0; d < lay->ndim; d++) {
        if (lay->shape[d] == 0) return 0;
        span += (lay->shape[d] - 1) * lay->stride[d];
    }
    return span;
}

DYNC__FN int64_t dync__csource_numel(const dync__layout *lay)
{
    int64_t n = 1;
    for (int d = 0; d < lay->ndim; d++) n = dync__sz_mul(n, lay->shape[d]);
    return n;
}

/* Those that some step reads. */
DYNC__FN int64_t dync__csource_weights(const dync__csource *c, dync__str *s)
{
    int64_t bytes = 0;
    char name[160];
    for (int i = 0; i < c->weight.n; i++) {
        const dync__tensor *t = c->weight.at[i];
        int64_t n = dync__csource_span(&t->lay);
        dync__format(name, sizeof name, "%s_w%d", c->program->name, i);
        if (s) dync__csource_array(s, name, dync__tensor_data(t), t->dtype, n, true);
        bytes += n * dync__dtype_info(t->dtype)->bytes;
    }
    return bytes;
}

DYNC__FN int dync__csource_weight(dync__csource *c, int i)
{
    int n = c->aot.actual.n;
    const dync__tensor *t = i < n ? c->aot.actual.at[i].tensor : c->packed.at[i - n].dense;
    for (int k = 0; k < c->weight.n; k++)
        if (c->weight.at[k] == t) return k;
    return dync__avec_push(&c->names, &c->weight, t) ? c->weight.n - 1 : -1;
}

/* ---- names ----------------------------------------------------------------------------------- */

/* Words of C and C++ that are no names, and what headers or compilers have as macros or types: the
 * file's own header may follow any. (Names such as x_t are the user's own.) */
static const char dync__csource_words[] =
    " alignas alignof and and_eq asm auto bitand bitor bool break case catch char class compl "
    "const constexpr const_cast continue decltype default delete do double dynamic_cast else enum "
    "explicit export extern false float for friend goto if inline int long mutable namespace new "
    "noexcept not not_eq nullptr operator or or_eq private protected public register "
    "reinterpret_cast restrict return short signed sizeof static static_assert static_cast struct "
    "switch template this thread_local throw true try typedef typeid typename union unsigned using "
    "virtual void volatile wchar_t while xor xor_eq arena state NAN INFINITY NULL EOF I PI errno "
    "stdin stdout stderr linux unix i386 typeof typeof_unqual SIZE_MAX _Bool size_t ssize_t "
    "ptrdiff_t int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t intptr_t "
    "uintptr_t intmax_t uintmax_t float_t double_t div_t ldiv_t lldiv_t time_t clock_t fpos_t "
    "off_t max_align_t uint ulong ushort u_char u_short u_int u_long FILE va_list fd_set quad_t "
    "key_t id_t dev_t mode_t pid_t uid_t gid_t ino_t caddr_t daddr_t loff_t locale_t signgam "
    "timer_t clockid_t ";
static const char dync__csource_prefixes[] =
    "M_ FP_ MATH_ HUGE_VAL INT8 INT16 INT32 INT64 UINT __ "
    "INT_ UINT_ CHAR_ DYNC_ int_least int_fast uint_least uint_fast u_int";

DYNC__FN const char *dync__csource_word(dync__csource *c, const char *want)
{
    char word[128];
    bool taken = false;
    dync__format(word, sizeof word, " %s ", want);
    for (const char *p = dync__csource_prefixes; *p && !taken; p += strspn(p, " ")) {
        size_t n = strcspn(p, " ");
        taken = strncmp(want, p, n) == 0;
        p += n;
    }
    return taken || strstr(dync__csource_words, word) ? dync__arena_printf(&c->names, "%s_", want)
                                                      : dync__arena_strdup(&c->names, want);
}
