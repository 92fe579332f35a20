/* program/csource_test.c: the self-test of an exported C file: inputs, what the library computes
 * for them, and the comparison. After csource_face.c, before csource_print.c. */
#include "../dync.in.h"
#include "csource.h"
DYNC__COLD

/* The layout that a value has in the export. */
static bool dync__csource_exported(const dync__csource *c, dync__layout *lay)
{
    return !c->syms || dync__layout_values(c->syms, c->hint, lay);
}

/* Inputs between -1 and 1 from a fixed stream, integers all the same: 0, then 1. Where data decide
 * more than that, floats are all the same, too: -1, 0, 1. */
enum { DYNC__CSOURCE_TRIES = 2, DYNC__CSOURCE_DATA_TRIES = 5 };
static dync__tensor *dync__csource_example(const dync__csource *c, int i, int kind, uint64_t *at)
{
    dync__info info = *dync__csource_input(c, i);
    dync__layout lay;
    if (!dync__csource_exported(c, &info.lay) ||
        dync__layout_contiguous(&lay, info.lay.ndim, info.lay.shape) != DYNC_OK)
        return NULL;
    dync__tensor *t = dync__tensor_empty(info.dtype, DYNC_CPU, &lay);
    char *data = t ? dync__tensor_data(t) : NULL;
    bool is_float = dync__dtype_info(info.dtype)->kind == 'f';
    for (int64_t k = 0; data && k < t->numel; k++)
        dync__store_f64(data + k * dync__dtype_info(t->dtype)->bytes, t->dtype,
                        !is_float  ? kind % 2
                        : kind < 2 ? 2 * (double)dync__rng_uniform_f32(1, (*at)++) - 1
                                   : kind - 3);
    return t;
}

/* A program with state is run a few times: what it has learned shows in its results. */
enum { DYNC__CSOURCE_ROUNDS = 4 };

static dync_status dync__csource_expected(const dync__csource *c, dync__arg *inputs,
                                          dync__arena *arena, dync__arg *out)
{
    dync__handler *stack = dync__handler_swap(NULL);
    dync__symtab *syms = dync__tls.syms;
    uint64_t drawn = dync__tls.rng_offset;
    bool grad = dync_grad_mode_push(false);
    dync_scope scope = dync_scope_begin();
    dync__tensor **kept = dync__arena_alloc(arena, (size_t)(c->state.n + 1) * sizeof *kept);
    dync_status status = kept ? dync__csource_state_keep(c, kept) : DYNC_ERR_MEMORY;
    dync__tls.syms = NULL;
    for (int i = 0; i < (dync__csource_has_state(c) ? DYNC__CSOURCE_ROUNDS : 1); i++) {
        if (status != DYNC_OK) break;
        dync__arg_release(out);
        *out = (dync__arg){0};
        status = dync__graph_eval(c->flat, inputs, c->aot.n_inputs, arena, out);
    }
    dync__tls.syms = syms;
    if (kept) dync__csource_state_restore(c, kept);
    dync_scope_end(&scope);
    dync_grad_mode_pop(grad);
    dync__tls.rng_offset = drawn;
    (void)dync__handler_swap(stack);
    return status;
}

static void dync__csource_release(const dync__csource *c, dync__arg *inputs, dync__tensor **before)
{
    for (int i = 0; i < c->aot.n_inputs; i++) {
        dync__unref(before[i]);
        before[i] = NULL;
        dync__arg_release(&inputs[i]);
        inputs[i] = (dync__arg){0};
    }
}

/* Inputs that the program takes and its results: an index may be 0, a divisor 1. */
static dync_status dync__csource_examples(const dync__csource *c, dync__arg *inputs,
                                          dync__tensor **before, dync__arena *arena, dync__arg *out)
{
    dync_status status = DYNC_ERR_VALUE;
    dync__error_slot error;
    int tries = dync__csource_data(c) ? DYNC__CSOURCE_DATA_TRIES : DYNC__CSOURCE_TRIES;
    for (int kind = 0; kind < tries && status != DYNC_ERR_MEMORY; kind++) {
        uint64_t at = 0;
        dync__error_guard guard;
        dync__error_guard_begin(&guard);
        status = DYNC_OK;
        for (int i = 0; i < c->aot.n_inputs && status == DYNC_OK; i++) {
            inputs[i] = dync__arg_t(dync__csource_example(c, i, kind, &at));
            if (!inputs[i].as.t) status = DYNC_ERR_MEMORY;
            if (inputs[i].as.t && dync__csource_writes(c, i) &&
                !(before[i] = dync__contiguous_copy(inputs[i].as.t)))
                status = DYNC_ERR_MEMORY;
        }
        if (status == DYNC_OK) status = dync__csource_expected(c, inputs, arena, out);
        error = *dync__error_guard_end(&guard);
        if (status == DYNC_OK) return DYNC_OK;
        dync__csource_release(c, inputs, before);
    }
    if (!dync__csource_data(c) || status == DYNC_ERR_MEMORY) dync__error_raise(&error);
    return status;
}

/* (const float (*)[10])example0 */
static void dync__csource_cast(const dync__csource *c, int i, dync__str *s)
{
    dync__info info = dync__csource_of(c, i);
    if (info.lay.ndim > 1 && dync__csource_is_array(&info.lay)) {
        dync__str_addf(s, "(%s%s (*)", dync__csource_const(c, i), dync__dtype_c_type(info.dtype));
        dync__csource_inner_sizes(&info.lay, s);
        dync__str_addc(s, ')');
    }
    dync__str_addf(s, "example%d", i);
}

static void dync__csource_test_text(const dync__csource *c, const int64_t *numel, dync__str *s)
{
    const char *name = c->program->name, *before = "";
    int n = c->aot.n_inputs;
    bool state = dync__csource_has_state(c);
    dync__str_addf(s, "\nint %s_self_test(void)\n{\n    int bad = 0;\n", name);
    dync__csource_told_list(c, "", "    int ", " = -1;\n", s);
    if (state) {
        dync__str_addf(
            s,
            "    static %s_arena arena;\n    static %s_state state;\n"
            "    state = %s_current;\n    for (int round = 0; round < %d; round++)\n    ",
            name, name, name, (int)DYNC__CSOURCE_ROUNDS);
        before = ", ";
    }
    dync__str_addf(s, "    %s%s_%s(%s", c->syms ? "bad += " : "", name, state ? "step_in" : "run",
                   state ? "&arena, &state" : "");
    for (int i = 0; c->syms && i < c->syms->symbol.n; i++)
        if (!c->syms->symbol.at[i].is && !c->syms->symbol.at[i].data) {
            dync__str_addf(s, "%s%lld", before, (long long)c->hint[i]);
            before = ", ";
        }
    for (int i = 0; i < n + c->main.n_out; i++, before = ", ") {
        dync__str_add(s, before);
        dync__csource_cast(c, i, s);
    }
    dync__csource_told_list(c, ", ", "&", "", s);
    dync__str_add(s, ");\n");
    for (int i = 0; i < n + c->main.n_out; i++)
        if (numel[i])
            dync__str_addf(
                s,
                "    for (int i = 0; i < %lld; i++) {\n        double got = (double)example%d[i], "
                "want = (double)expected%d[i];\n"
                "        double off = got - want, limit = 1e-5 + 1e-4 * (want < 0 ? -want : "
                "want);\n"
                "        if (!(off < limit && -off < limit) && !(got >= want && got <= want) &&\n"
                "            !(got != got && want != want)) bad++;\n    }\n",
                (long long)numel[i], i, i);
    dync__str_addf(s,
                   "    return bad;\n}\n#endif\n\n#ifdef %s_MAIN\n#include <stdio.h>\n"
                   "int main(void)\n{\n    int bad = %s_self_test();\n"
                   "    printf(\"%s: %%d values are wrong\\n\", bad);\n    return bad != 0;\n}\n"
                   "#endif\n",
                   c->upper, name, name);
}

/* What it computes of the examples, and room for what the C file will. */
static dync_status dync__csource_results_text(const dync__csource *c, const dync__arg *out,
                                              int64_t *numel, dync__str *s)
{
    char name[32];
    for (int i = 0; out->kind == DYNC__A_LIST && i < out->n; i++) {
        int at = c->aot.n_inputs + i;
        dync__tensor *dense = dync__contiguous_copy(out->as.list[i].as.t);
        if (!dense) return DYNC_ERR_MEMORY;
        numel[at] = dense->numel;
        dync__format(name, sizeof name, "expected%d", at);
        if (dense->numel)
            dync__csource_array(s, name, dync__tensor_data(dense), dense->dtype, dense->numel,
                                true);
        int64_t room = dense->numel;
        if (dync__csource_data(c)) /* more than come */
            DYNC__TRY(dync__csource_most(dync__csource_numel(&c->main.out[i].lay), &room));
        dync__str_addf(s, "static %s example%d[%lld];\n", dync__dtype_c_type(dense->dtype), at,
                       (long long)DYNC__MAX(room, 1));
        dync__unref(dense);
    }
    return DYNC_OK;
}

/* None of the examples is one that its checks let pass. */
static dync_status dync__csource_no_test(const dync__csource *c, dync__str *s)
{
    dync__str_addf(s,
                   "\n#ifdef %s_SELF_TEST\n/* -1: no example was found that all its checks let "
                   "pass */\nint %s_self_test(void) { return -1; }\n#endif\n",
                   c->upper, c->program->name);
    return DYNC_OK;
}

DYNC__FN dync_status dync__csource_test(const dync__csource *c, dync__str *s)
{
    dync__arena arena = {0};
    dync__arg inputs[DYNC__MAX_LEAVES] = {{0}}, out = {0};
    dync__tensor *before[DYNC__MAX_LEAVES] = {NULL};
    int64_t numel[2 * DYNC__MAX_LEAVES] = {0};
    char name[32];
    dync_status status = dync__csource_examples(c, inputs, before, &arena, &out);
    if (status == DYNC_OK)
        dync__str_addf(s,
                       "\n/* cc -D%s_MAIN this.c -lm && ./a.out */\n#if defined(%s_MAIN) || "
                       "defined(%s_SELF_TEST)\n",
                       c->upper, c->upper, c->upper);
    for (int i = 0; i < c->aot.n_inputs && status == DYNC_OK; i++) {
        dync__tensor *x = inputs[i].as.t, *was = before[i] ? before[i] : x;
        dync__format(name, sizeof name, "example%d", i);
        dync__csource_array(s, name, dync__tensor_data(was), x->dtype, x->numel, !before[i]);
        if (!before[i]) continue;
        numel[i] = x->numel;
        dync__format(name, sizeof name, "expected%d", i);
        dync__csource_array(s, name, dync__tensor_data(x), x->dtype, x->numel, true);
    }
    if (status == DYNC_OK) status = dync__csource_results_text(c, &out, numel, s);
    if (status == DYNC_OK) dync__csource_test_text(c, numel, s);
    dync__csource_release(c, inputs, before);
    dync__arg_release(&out);
    dync__arena_free(&arena);
    if (status == DYNC_OK || status == DYNC_ERR_MEMORY || !dync__csource_data(c)) return status;
    return dync__csource_no_test(c, s);
}
