/* compile/compile.c: wires the stages; the only file that knows them all.
 *
 *   dync_compile   callee, options, backend -> dync_compiled    capture/cache.c, backend/registry.c
 *   dync_call      guards -> entry, or trace -> segments        capture/
 *   segment        graph -> backend.compile                     backend/
 *   inductor       graph -> joint -> forward + backward         aot/
 *                  functional graph -> loops, kernel calls      inductor/lower.c, op/lower.c
 *                  -> fused, scheduled, planned -> code         runtime/plan.c, loop/, codegen/ */
#include "../dync.in.h"
#include "compile.h"
#include "../backend/backend.h"
#include "../minify/minify.h"
#include "../program/program.h"
DYNC__COLD

/* ---- modules --------------------------------------------------------------------------------- */
/* The module hook: a compiled module is called like a compiled function. */
static dync_value dync__compile_call_module(dync__module *m, int nargs, const dync_value *args)
{
    return dync_call_values(dync__compiled_handle(m->compiled), nargs, args);
}
/* The module ends: entries that guard it go, and its own compiled form. */
static void dync__compile_drop_module(dync__module *m)
{
    dync__capture_forget_module(m);
    dync__compiled_free(m->compiled);
    m->compiled = NULL;
}

/* ---- options --------------------------------------------------------------------------------- */
/* Is the word of n characters one of those in `names`? -1: no; else which. */
static int dync__compile_name_at(const char *names, const char *word, size_t n)
{
    int i = 0;
    for (const char *p = names + strspn(names, " ,"); *p; p += strspn(p, " ,"), i++) {
        size_t k = strcspn(p, " ,");
        if (k == n && memcmp(p, word, n) == 0) return i;
        p += k;
    }
    return -1;
}

/* .args: as many identifiers as the function has arguments, no two the same. arity -1: any number;
 * by: the public function that the user called. */
static dync_status dync__compile_check_args(const char *by, const char *fn, const char *args,
                                            int arity)
{
    int n = 0;
    for (const char *p = args + strspn(args, " ,"); *p; p += strspn(p, " ,"), n++) {
        size_t k = strcspn(p, " ,");
        if (!dync__is_name(p, k))
            return dync__fail(DYNC_ERR_VALUE,
                              "%s: %s: .args: expected names \"x, y\", got '%.*s' in '%s'", by, fn,
                              (int)k, p, args);
        if (dync__compile_name_at(args, p, k) != n)
            return dync__fail(DYNC_ERR_VALUE,
                              "%s: %s: .args: expected different names, got '%.*s' twice in '%s'",
                              by, fn, (int)k, p, args);
        p += k;
    }
    if (arity >= 0 && n != arity)
        return dync__fail(DYNC_ERR_VALUE, "%s: %s: .args: expected %d name%s, got %d: '%s'", by, fn,
                          arity, arity == 1 ? "" : "s", n, args);
    return DYNC_OK;
}

/* .symbolic: names of arguments. */
static dync_status dync__compile_check_symbolic(const char *fn, const char *symbolic,
                                                const char *args, int arity)
{
    for (const char *p = symbolic + strspn(symbolic, " ,"); *p; p += strspn(p, " ,")) {
        size_t k = strcspn(p, " ,");
        bool known = args && dync__compile_name_at(args, p, k) >= 0;
        for (int i = 0; !known && !args && i < (arity < 0 ? DYNC__MAX_LEAVES : arity); i++) {
            char name[24];
            known = dync__format(name, sizeof name, "arg%d", i) == (int)k &&
                    memcmp(name, p, k) == 0;
        }
        if (!known)
            return dync__fail(
                DYNC_ERR_VALUE,
                "dync_compile: %s: .symbolic: expected names of arguments (%s), got '%.*s'", fn,
                args    ? args
                : arity ? "arg0, arg1, ... where .args names none"
                        : "it has none",
                (int)k, p);
        p += k;
    }
    return DYNC_OK;
}

static dync_status dync__compile_check_names(const char *by, const char *fn, const char *args,
                                             const char *symbolic, int arity)
{
    if (args) DYNC__TRY(dync__compile_check_args(by, fn, args, arity));
    return symbolic ? dync__compile_check_symbolic(fn, symbolic, args, arity) : DYNC_OK;
}

/* By need: where arguments have names (api/link.h). */
static dync_status (*DYNC__BY_NEED dync__compile_named)(
    const char *by, const char *fn, const char *args, const char *symbolic,
    int arity) = DYNC__AT_FIRST(dync__compile_check_names);
static void dync__compile_use_names(void)
{
    DYNC__PUT(dync__compile_named, dync__compile_check_names);
}

/* The function's name in messages: the option, the callee's, what the macro saw, "fn". */
static dync_status dync__compile_check(const char *by, const dync_callee *callee,
                                       const char *fn_name, const dync_compile_options *o,
                                       const dync_backend *backend)
{
    const char *args = o->args ? o->args : callee->args, *fn = o->name        ? o->name
                                                               : callee->name ? callee->name
                                                               : fn_name      ? fn_name
                                                                              : "fn";
    if (args || o->symbolic) {
        if (!dync__compile_named) return dync__unlinked("names of arguments");
        DYNC__TRY(dync__compile_named(by, fn, args, o->symbolic, dync__callee_arity(callee)));
    }
    if (DYNC__SYM_NONE &&
        (o->dynamic == DYNC_DYNAMIC_ON || o->capture_scalars || o->capture_dynamic_shapes))
        return dync__left_out("dync_compile: a size or number that stays open", "DYNC_NO_SYMBOLIC");
    dync__options parsed;
    return dync__backend_options(backend->compile, o->options, &parsed);
}

/* What reads the texts among the options; NULL where the caller knows that there are none. */
typedef struct dync__compile_texts {
    const dync_backend *(*backend)(const char *name);
    bool (*repro_after)(const char *text, int *after);
} dync__compile_texts;
static const dync__compile_texts *dync__compile_read(void)
{
    static const dync__compile_texts texts = {dync_lookup_backend, dync__repro_after_parse};
    dync__backend_options_use();
    dync__compile_use_names();
    dync__raw_calls();
    dync__callable_boxes();
    dync__names_shown();
    return &texts;
}

DYNC__MEETING(reasons)
/* Everything is checked before anything is made. Hooks are installed here and not at start, so that
 * a program which never compiles links none of it. NULL + error. */
static dync__compiled *dync__compile_make(const char *by, dync_callee callee, const char *fn_name,
                                          dync_compile_options options,
                                          const dync__compile_texts *texts)
{
    if (dync__callee_check(&callee, by) != DYNC_OK) return NULL;
    dync__compiled *inner = dync__callee_compiled(&callee);
    /* peeled off: the new backend replaces the old */
    if (inner) {
        if (!options.args) options.args = inner->args;
        if (!options.name) options.name = inner->name;
        callee = inner->callee;
    }
    const dync_backend *backend = options.backend_object;
    if (!backend && options.backend && !(backend = texts->backend(options.backend))) return NULL;
    if (!backend) backend = dync__backend_default();
    if (!backend->compile) {
        dync__fail(DYNC_ERR_VALUE, "dync_compile: backend '%s' has no compile function",
                   backend->name ? backend->name : "?");
        return NULL;
    }
    if (options.recompile_limit < 0) {
        dync__fail(DYNC_ERR_VALUE,
                   "dync_compile: recompile_limit is %d, expected 0 (the default) or more",
                   options.recompile_limit);
        return NULL;
    }
    if ((unsigned)options.dynamic > DYNC_DYNAMIC_ON) {
        dync__fail(DYNC_ERR_VALUE,
                   "dync_compile: dynamic is %d, expected DYNC_DYNAMIC_AUTO, DYNC_DYNAMIC_OFF or "
                   "DYNC_DYNAMIC_ON",
                   (int)options.dynamic);
        return NULL;
    }
    if (dync__compile_check(by, &callee, fn_name, &options, backend) != DYNC_OK) return NULL;
    static const char none[] = "none";
    int after = 0;
    if ((texts && !texts->repro_after(options.repro_after, &after)) || options.repro_level < 0 ||
        options.repro_level > 4) {
        dync__fail(DYNC_ERR_VALUE,
                   "dync_compile: repro_after is '%s' and repro_level %d, "
                   "expected none, dynamo or aot and 1 to 4",
                   options.repro_after ? options.repro_after : none, options.repro_level);
        return NULL;
    }
    if (after) DYNC__NEEDS(DYNC_NO_MINIFY, ".repro_after", NULL);
    if (options.repro_after) options.repro_after = dync__repro_after_name(after);
    if (options.recompile_limit == 0) options.recompile_limit = 8;
    dync__capture_install();
    DYNC__MEET(reasons); /* code is measured that was compiled before anybody asks */
    if (!DYNC__SYM_NONE) dync__aot_use_stages();
#if !defined(DYNC_NO_STDIO)
    /* it has nowhere to write otherwise */
    if (!DYNC__LEFT_OUT(DYNC_NO_MINIFY)) dync__hook_install();
#endif
    DYNC__ATOMIC_STORE(&dync__module_drop_compiled, dync__compile_drop_module);
    dync__at_shutdown(dync__compiled_free_all);
    return dync__compiled_new(callee, fn_name, &options, backend);
}

/* What compiled code has for abilities that a program may lack is in place from here on
 * (api/link.h). */
#if defined(DYNC_SMALL)
#if DYNC__LINKS_BY_USE
#define DYNC__MET DYNC__KEPT
#else
#define DYNC__MET
#endif
DYNC__MET DYNC_API void dync__compile_gradients(void)
{
    dync__aot_use_gradients();
    dync__capture_use_gradients();
}
DYNC__MET DYNC_API void dync__compile_hooks(void)
{
    dync__capture_use_hooks();
    dync__aot_use_stages();
}
/* A value may leave its graph after that has used it (hook_trace.c). */
DYNC__MET DYNC_API void dync__compile_late(void)
{
    dync__capture_use_late();
    dync__aot_use_stages();
}
DYNC__MET DYNC_API void dync__compile_flags(void) { dync__capture_use_flags(); }
DYNC__MET DYNC_API void dync__compile_asks(void)
{
    dync__capture_use_asks();
    dync__aot_use_stages();
}
DYNC__MET DYNC_API void dync__compile_cells(void)
{
    dync__capture_use_cells();
    dync__capture_use_numbers();
    dync__aot_use_numbers();
}
DYNC__MET DYNC_API void dync__compile_inside(void) { dync__aot_use_inside(); }
DYNC__MET DYNC_API void dync__compile_graphs(void)
{
    dync__aot_use_stages();
    dync__aot_use_lists();
    dync__capture_use_numbers();
    dync__aot_use_numbers();
    dync__inductor_use_opaque();
    dync__aot_use_views();
}
DYNC__MET DYNC_API void dync__compile_joins(void) { dync__inductor_use_joins(); }
/* Parts that are written, inputs on one memory: of programs that write and call an operator that
 * gives views by name. Others interpret a graph that has them. */
DYNC__MET DYNC_API void dync__compile_views(void) { dync__aot_use_views(); }
DYNC__MEETING(views)
DYNC__MET DYNC_API void dync__compile_writes(void)
{
    dync__aot_use_writes();
    dync__inductor_use_writes();
    DYNC__MEET(views);
}
DYNC__MET DYNC_API void dync__compile_opaque(void) { dync__inductor_use_opaque(); }
DYNC__MET DYNC_API void dync__compile_constants(void) { dync__capture_use_constants(); }
DYNC__MET DYNC_API void dync__compile_shows(void) { dync__capture_use_shows(); }
DYNC__MET DYNC_API void dync__compile_makes(void) { dync__capture_use_makes(); }
DYNC__MET DYNC_API void dync__compile_reduces(void) { dync__unroll_rows(); }
/* a call of dync_compile with .double_backward */
DYNC_API void dync__compile_twice(void) { dync__aot_use_twice(); }
/* one with .args or .symbolic, dync_args */
DYNC_API void dync__compile_names(void) { dync__compile_use_names(); }
/* one with .symbolic */
DYNC_API void dync__compile_numbers(void)
{
    dync__capture_use_numbers();
    dync__aot_use_numbers();
}
/* one with .backend_object */
DYNC_API void dync__compile_objects(void)
{
    dync__raw_calls();
    dync__callable_boxes();
    dync__names_shown();
}
/* one with .guard_fail or .error_on_recompile; a program that asks why calls missed */
DYNC__MET DYNC_API void dync__compile_reasons(void)
{
    dync__capture_use_reasons();
    dync__aot_use_measure();
    dync__inductor_use_measure();
}
DYNC_API void dync__compile_all(void)
{
    dync__compile_gradients();
    dync__compile_hooks();
    dync__compile_late();
    dync__compile_flags();
    dync__compile_asks();
    dync__compile_cells();
    dync__compile_inside();
    dync__compile_graphs();
    dync__compile_joins();
    dync__compile_writes();
    dync__compile_views();
    dync__compile_constants();
    dync__compile_shows();
    dync__compile_makes();
    dync__compile_reduces();
    dync__compile_twice();
    dync__compile_names();
    dync__compile_reasons();
}
#else
static void dync__compile_all(void) {}
#endif

/* What follows calls with breaks and branches, and runs them. */
static void dync__compile_breaks(void)
{
    dync__scripts_install();
    dync__tree_branches();
    dync__aot_use_narrow();
    dync__inductor_use_narrow();
}

/* Errors name the place of the dync_compile call. */
static dync_compiled *dync__compile_at(dync_callee callee, const char *fn_name,
                                       const dync_compile_options *options,
                                       const dync__compile_texts *texts)
{
    dync_loc outer = dync__tls.at;
    if (options->at_.file) dync__tls.at = options->at_;
    dync_compiled *handle =
        dync__compiled_handle(dync__compile_make("dync_compile", callee, fn_name, *options, texts));
    dync__tls.at = outer;
    return handle;
}
DYNC__FN dync__compiled *dync__compile_by(const char *by, dync_callee callee, const char *fn_name,
                                          dync_compile_options options)
{
    dync__compile_breaks();
    dync__compile_all();
    return dync__compile_make(by, callee, fn_name, options, dync__compile_read());
}
DYNC_API dync_compiled *dync_compile_opt(dync_callee callee, const char *fn_name,
                                         dync_compile_options options)
{
    dync__compile_breaks();
    dync__compile_all();
    return dync__compile_at(callee, fn_name, &options, dync__compile_read());
}
#if defined(DYNC_SMALL)
DYNC_API dync_compiled *dync__compile_usual(dync_callee callee, const char *fn_name,
                                            dync_compile_options options)
{
    options.backend = NULL;
    dync__compile_breaks();
    return dync__compile_at(callee, fn_name, &options, NULL);
}
DYNC_API dync_compiled *dync__compile_whole(dync_callee callee, const char *fn_name,
                                            dync_compile_options options)
{
    options.backend = NULL;
    options.fullgraph = true;
    return dync__compile_at(callee, fn_name, &options, NULL);
}
#endif

/* A module compiled again loses its entries. */
static void dync__compile_module(dync_module *handle, const char *name,
                                 dync_compile_options options, const dync__compile_texts *texts)
{
    dync__module *m = dync__module_open(handle, "dync_module_compile");
    dync__compile_breaks();
    dync__compile_all();
    dync__compile_use_names();
    if (!m) return;
    DYNC__ATOMIC_STORE(&dync__module_call_compiled, dync__compile_call_module);
    if (!options.args && !m->args) options.args = "x";
    dync__compiled *f =
        dync__compiled_peek(dync__compile_at(dync_fnm(handle), name, &options, texts));
    if (!f) return;
    dync__compiled_free(m->compiled);
    m->compiled = f;
}
DYNC_API void dync_module_compile_opt(dync_module *handle, const char *name,
                                      dync_compile_options options)
{
    dync__compile_module(handle, name, options, dync__compile_read());
}
#if defined(DYNC_SMALL)
DYNC_API void dync__module_compile_usual(dync_module *handle, const char *name,
                                         dync_compile_options options)
{
    options.backend = NULL;
    dync__compile_module(handle, name, options, NULL);
}
#endif
