/* program/csource_face.c: what the user of an exported C file sees: name.h, name_run, the
 * self-test (csource_test.c). After csource_control.c, before csource_print.c.
 *
 *   void f_run(const float x[2][10], float out[2][3]);
 *   int g_run(int x_dim0, const float x[][10], float out[][3]);       symbolic sizes; 0: done
 *
 * Arguments have the names and the order of the function's. An array whose inner sizes are symbolic
 * is given as its first element. */
#include "../dync.in.h"
#include "csource.h"
DYNC__COLD

/* ---- names ----------------------------------------------------------------------------------- */

static bool dync__csource_same_name(const char *a, const char *b) /* as macros, too */
{
    for (; *a && *b; a++, b++) {
        char x = *a >= 'a' && *a <= 'z' ? (char)(*a - 'a' + 'A') : *a;
        char y = *b >= 'a' && *b <= 'z' ? (char)(*b - 'a' + 'A') : *b;
        if (x != y) return false;
    }
    return *a == *b;
}

static bool dync__csource_taken(const dync__csource *c, const char *name)
{
    for (int i = 0; i < c->aot.n_inputs; i++)
        if (c->in_name[i] && dync__csource_same_name(c->in_name[i], name)) return true;
    for (int i = 0; i < c->main.n_out; i++)
        if (c->out_name[i] && dync__csource_same_name(c->out_name[i], name)) return true;
    for (int i = 0; c->syms && i < c->syms->symbol.n; i++)
        if (dync__csource_same_name(c->syms->symbol.at[i].source, name)) return true;
    return false;
}

static const char *dync__csource_name(dync__csource *c, const char *want)
{
    const char *name = dync__csource_word(c, want);
    for (int i = 1; name && dync__csource_taken(c, name); i++)
        name = dync__arena_printf(&c->names, "%s_%d", want, i);
    return name;
}

DYNC__FN dync_status dync__csource_names(dync__csource *c)
{
    char name[96];
    int n = c->aot.n_inputs, m = c->main.n_out;
    c->in_name = dync__arena_alloc(&c->names, (size_t)(n + 1) * sizeof *c->in_name);
    c->out_name = dync__arena_alloc(&c->names, (size_t)(m + 1) * sizeof *c->out_name);
    if (!c->in_name || !c->out_name) return DYNC_ERR_MEMORY;
    memset(c->in_name, 0, (size_t)n * sizeof *c->in_name);
    memset(c->out_name, 0, (size_t)m * sizeof *c->out_name);
    for (int i = 0; i < n; i++) {
        dync__program_input_name(c->program->graph, i, name, sizeof name);
        if (!(c->in_name[i] = dync__csource_name(c, name))) return DYNC_ERR_MEMORY;
    }
    for (int i = 0; i < m; i++) {
        dync__format(name, sizeof name, m == 1 ? "out" : "out%d", i);
        if (!(c->out_name[i] = dync__csource_name(c, name))) return DYNC_ERR_MEMORY;
    }
    return DYNC_OK;
}

/* ---- parameters ------------------------------------------------------------------------------ */

DYNC__FN const dync__info *dync__csource_input(const dync__csource *c, int i)
{
    return &c->aot.fw->node.at[i]->info[0];
}

DYNC__FN dync__info dync__csource_of(const dync__csource *c, int i)
{
    if (i < c->aot.n_inputs) return *dync__csource_input(c, i);
    const dync__lowered_out *o = &c->main.out[i - c->aot.n_inputs];
    return (dync__info){.dtype = o->dtype, .lay = o->lay};
}
static const char *dync__csource_param(const dync__csource *c, int i)
{
    return i < c->aot.n_inputs ? c->in_name[i] : c->out_name[i - c->aot.n_inputs];
}

/* May it be an array of arrays: all sizes but the first are numbers, none is 0? */
DYNC__FN bool dync__csource_is_array(const dync__layout *lay)
{
    bool plain = true;
    for (int d = 0; d < lay->ndim; d++)
        plain = plain && lay->shape[d] > 0 && (d == 0 || !dync__is_token(lay->shape[d]));
    return plain;
}

DYNC__FN void dync__csource_inner_sizes(const dync__layout *lay, dync__str *s)
{
    for (int d = 1; d < lay->ndim; d++) dync__str_addf(s, "[%lld]", (long long)lay->shape[d]);
}

/* "const " for what is only read */
DYNC__FN const char *dync__csource_const(const dync__csource *c, int i)
{
    return i < c->aot.n_inputs && !dync__csource_writes(c, i) ? "const " : "";
}

/* "step" for a program that changes something, else "run" */
static const char *dync__csource_verb(const dync__csource *c)
{
    return dync__csource_has_state(c) ? "step" : "run";
}

/* const float x[2][10] */
static void dync__csource_declare(const dync__csource *c, int i, dync__str *s)
{
    dync__info info = dync__csource_of(c, i);
    dync__str_addf(s, "%s%s ", dync__csource_const(c, i), dync__dtype_c_type(info.dtype));
    if (!dync__csource_is_array(&info.lay)) {
        dync__str_addf(s, "*%s", dync__csource_param(c, i));
        return;
    }
    dync__str_add(s, dync__csource_param(c, i));
    if (info.lay.ndim == 0)
        dync__str_add(s, "[1]");
    else if (dync__is_token(info.lay.shape[0]))
        dync__str_add(s, "[]");
    else
        dync__str_addf(s, "[%lld]", (long long)info.lay.shape[0]);
    dync__csource_inner_sizes(&info.lay, s);
}

static uint64_t dync__csource_all_symbols(const dync__csource *c)
{
    uint64_t all = 0;
    for (int i = 0; c->syms && i < c->syms->symbol.n; i++)
        if (!c->syms->symbol.at[i].is) all |= (uint64_t)1 << i;
    return all & ~dync__csource_data(c);
}

/* int f_run_in(f_arena *arena, int n, const float x[][10], float out[][3]) */
static void dync__csource_prototype(const dync__csource *c, const char *suffix, bool arena,
                                    dync__str *s)
{
    const char *before = "";
    const char *name = c->program->name;
    dync__str_addf(s, "%s %s_%s%s(", c->syms ? "int" : "void", name, dync__csource_verb(c), suffix);
    if (arena) {
        dync__str_addf(s, "%s_arena *arena", name);
        before = ", ";
    }
    if (arena && dync__csource_has_state(c)) dync__str_addf(s, ", %s_state *state", name);
    dync__csource_symbols(c, dync__csource_all_symbols(c), before, "int ", s);
    if (dync__csource_all_symbols(c)) before = ", ";
    for (int i = 0; i < c->aot.n_inputs + c->main.n_out; i++, before = ", ") {
        dync__str_add(s, before);
        dync__csource_declare(c, i, s);
    }
    dync__csource_told_list(c, before, "int *", "", s);
    dync__str_add(s, *before ? ")" : "void)");
}

/* ---- the header ------------------------------------------------------------------------------ */

static void dync__csource_shape(const dync__info *info, dync__str *s)
{
    dync__str_addf(s, "%s[", dync__dtype_info(info->dtype)->fx);
    for (int d = 0; d < info->lay.ndim; d++) {
        if (d) dync__str_add(s, ", ");
        dync__size_csource(s, info->lay.shape[d]);
    }
    dync__str_addc(s, ']');
}

static void dync__csource_upper(const char *name, dync__str *s)
{
    for (; *name; name++)
        dync__str_addc(s, *name >= 'a' && *name <= 'z' ? (char)(*name - 'a' + 'A') : *name);
}

static void dync__csource_sizes(const dync__csource *c, dync__str *s)
{
    for (int i = 0; i < c->aot.n_inputs + c->main.n_out; i++) {
        dync__info info = dync__csource_of(c, i);
        int64_t most = 0;
        (void)dync__csource_most(dync__csource_numel(&info.lay), &most);
        dync__str_addf(s, "#define %s_", c->upper);
        dync__csource_upper(dync__csource_param(c, i), s);
        dync__str_addf(s, "_SIZE %lld   /* ", (long long)most);
        dync__csource_shape(&info, s);
        dync__str_addf(s, "%s, row major */\n",
                       dync__is_token(dync__csource_numel(&info.lay)) ? " at most" : "");
    }
    for (int i = 0; c->syms && i < c->syms->symbol.n; i++) {
        const dync__sz_symbol *symbol = &c->syms->symbol.at[i];
        if (symbol->is || symbol->data) continue;
        dync__str_addf(s, "#define %s_", c->upper);
        dync__csource_upper(symbol->source, s);
        dync__str_addf(s, "_MIN %lld\n#define %s_", (long long)symbol->low, c->upper);
        dync__csource_upper(symbol->source, s);
        dync__str_addf(s, "_MAX %lld\n", (long long)symbol->high);
    }
    dync__str_addf(s, "#define %s_WEIGHT_BYTES %lld\n#define %s_ARENA_BYTES %lld\n", c->upper,
                   (long long)dync__csource_weights(c, NULL), c->upper, (long long)c->arena_bytes);
}

/* What a call gives where data decide that it cannot go on. */
static void dync__csource_codes(const dync__csource *c, dync__str *s)
{
    const dync__graph *g = c->program->graph;
    int code = 3;
    if (!dync__csource_data(c)) return;
    dync__str_add(s,
                  "Results whose\n * size data decide have room for the greatest; how many there "
                  "are is told in the last arguments.\n * 2: a count or a number of which it "
                  "cannot be computed, as the greatest of nothing");
    for (int i = 0; i < g->node.n; i++) {
        if (!dync__op_is_range(g->node.at[i]->op)) continue;
        dync__str_addf(s, ";\n * %d: ", code++);
        dync__csource_check_name(g->node.at[i], s);
    }
    dync__str_add(s, ". What was written until then stays.\n * ");
}

DYNC__FN void dync__csource_header(const dync__csource *c, dync__str *s)
{
    const char *name = c->program->name, *verb = dync__csource_verb(c);
    dync__str_addf(s,
                   "#ifndef %s_H\n#define %s_H\n#include <stdint.h>\n"
                   "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n",
                   c->upper, c->upper);
    dync__csource_sizes(c, s);
    dync__str_addf(s,
                   "\n/* What one run works in. */\n"
                   "typedef union %s_arena {\n    double f64;\n    int64_t i64;\n"
                   "    unsigned char bytes[%s_ARENA_BYTES + (%s_ARENA_BYTES == 0)];\n"
                   "} %s_arena;\n\n",
                   name, c->upper, c->upper, name);
    dync__csource_state_type(c, s);
    dync__str_add(s, "/* ");
    if (c->syms)
        dync__str_add(s, "0, or 1 where a size is none that it takes: nothing is written then. ");
    dync__csource_codes(c, s);
    dync__str_addf(s,
                   "Arrays lie row major and do not overlap.\n"
                   " * %s_%s works in a static arena%s: one call at a time. %s_%s_in works in the "
                   "one%s given. */\n",
                   name, verb, dync__csource_has_state(c) ? " and changes the state above" : "",
                   name, verb, dync__csource_has_state(c) ? "s" : "");
    dync__csource_prototype(c, "", false, s);
    dync__str_add(s, ";\n");
    dync__csource_prototype(c, "_in", true, s);
    dync__str_addf(
        s,
        ";\n\n/* With %s_SELF_TEST defined as the C file is compiled: values that differ "
        "from those the exporter computed. */\nint %s_self_test(void);\n\n"
        "#ifdef __cplusplus\n}\n#endif\n#endif\n",
        c->upper, name);
}

/* ---- running --------------------------------------------------------------------------------- */

static const char *dync__csource_condition(dync__csource *c)
{
    static const char *const signs[] = {" == ", " < ", " != ", " <= "};
    dync__str s = {0};
    const char *before = "";
    for (int i = 0; i < c->syms->symbol.n; i++) {
        const dync__sz_symbol *symbol = &c->syms->symbol.at[i];
        if (symbol->is || symbol->data) continue;
        dync__str_addf(&s, "%s%s >= %lld && %s <= %lld", before, symbol->source,
                       (long long)symbol->low, symbol->source, (long long)symbol->high);
        before = " && ";
    }
    for (int i = 0; i < c->syms->guard.n; i++, before = " && ") {
        const dync__sz_guard *g = &c->syms->guard.at[i];
        dync__str_add(&s, before);
        dync__size_csource(&s, g->a);
        dync__str_add(&s, signs[g->rel]);
        dync__size_csource(&s, g->b);
    }
    if (!*before) dync__str_add(&s, "1");
    const char *text = s.failed ? NULL : dync__arena_strdup(&c->names, dync__str_get(&s));
    dync__str_free(&s);
    return text;
}

/* The steps over the arrays' first elements: names of the user's do not reach there. */
DYNC__FN dync_status dync__csource_way_text(dync__csource *c, dync__csource_way *way)
{
    dync__str s = {0};
    const char *before = "";
    dync__str_add(&s, "static void @(");
    for (int i = 0; i < c->aot.n_inputs + c->main.n_out; i++, before = ", ") {
        bool in = i < c->aot.n_inputs;
        dync__str_addf(&s, "%s%s%s *%s%d", before, dync__csource_const(c, i),
                       dync__dtype_c_type(dync__csource_of(c, i).dtype), in ? "in" : "out",
                       in ? i : i - c->aot.n_inputs);
    }
    dync__str_addf(&s, "%sunsigned char *a", before);
    if (dync__csource_has_state(c)) dync__str_add(&s, ", #_state *s");
    dync__csource_told_list(c, ", ", "int *", "_told", &s);
    uint64_t data = dync__csource_data(c);
    dync__str_add(&s, data ? ", int *rc)\n{\n    (void)rc;\n" : ")\n{\n");
    for (int i = 0; data >> i; i++)
        if (data >> i & 1) /* one that no step tells is none of its sizes */
            dync__str_addf(&s, "    int %s = 0;\n    (void)%s;\n", c->syms->symbol.at[i].source,
                           c->syms->symbol.at[i].source);
    if (dync__csource_has_state(c)) dync__str_add(&s, "    (void)s;\n");
    if (!c->main.arena_bytes) dync__str_add(&s, "    (void)a;\n");
    dync__csource_body(c, &c->main, &s);
    dync__str_add(&s, "}\n");
    way->fn = s.failed ? NULL : dync__csource_function(c, &s);
    if (way->fn) ((dync__csource_fn *)(uintptr_t)way->fn)->uses &= ~data;
    way->condition = c->syms ? dync__csource_condition(c) : NULL;
    dync__str_free(&s);
    return way->fn && (!c->syms || way->condition) ? DYNC_OK : DYNC_ERR_MEMORY;
}

static void dync__csource_way_call(const dync__csource *c, const dync__csource_way *way,
                                   dync__str *s)
{
    dync__str_addf(s, "%s(", way->fn->name);
    for (int i = 0; i < c->aot.n_inputs + c->main.n_out; i++)
        dync__str_addf(s, "(%s%s *)%s, ", dync__csource_const(c, i),
                       dync__dtype_c_type(dync__csource_of(c, i).dtype), dync__csource_param(c, i));
    dync__str_add(s, dync__csource_has_state(c) ? "arena->bytes, state" : "arena->bytes");
    dync__csource_told_list(c, ", ", "", "", s);
    if (dync__csource_data(c)) dync__str_add(s, ", &rc");
    dync__csource_symbols(c, way->fn->uses, ", ", "", s);
    dync__str_add(s, ");\n");
}

/* f_run_in: the way that is for these sizes; f_run: the same in a static arena. */
DYNC__FN void dync__csource_run(const dync__csource *c, dync__str *s)
{
    const char *name = c->program->name;
    bool data = dync__csource_data(c) != 0;
    dync__csource_prototype(c, "_in", true, s);
    dync__str_add(s, data ? "\n{\n    int rc = 0;\n" : "\n{\n");
    for (int i = 0; i < c->way.n; i++) {
        if (c->syms)
            dync__str_addf(s, "    %sif (%s)\n    ", i ? "else " : "", c->way.at[i].condition);
        dync__str_add(s, "    ");
        dync__csource_way_call(c, &c->way.at[i], s);
    }
    dync__str_add(s, c->syms ? "    else\n        return 1;\n" : "");
    dync__str_add(s, data ? "    return rc;\n}\n\n" : c->syms ? "    return 0;\n}\n\n" : "}\n\n");
    dync__csource_prototype(c, "", false, s);
    dync__str_addf(s, "\n{\n    static %s_arena arena;\n    %s%s_%s_in(&arena", name,
                   c->syms ? "return " : "", name, dync__csource_verb(c));
    if (dync__csource_has_state(c)) dync__str_addf(s, ", &%s_current", name);
    dync__csource_symbols(c, dync__csource_all_symbols(c), ", ", "", s);
    for (int i = 0; i < c->aot.n_inputs + c->main.n_out; i++)
        dync__str_addf(s, ", %s", dync__csource_param(c, i));
    dync__csource_told_list(c, ", ", "", "", s);
    dync__str_add(s, ");\n}\n");
}
