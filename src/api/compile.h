/* ---- compile: the heart
 * What can be compiled: a C function of 0..6 tensors that returns one, the general form, a module,
 * a graph, a program, another compiled function (peeled off). */
typedef dync_value (*dync_function)(const dync_value *args, int nargs, void *user);
typedef enum { DYNC_DYNAMIC_AUTO, DYNC_DYNAMIC_OFF, DYNC_DYNAMIC_ON } dync_dynamic;
typedef struct dync_compile_options {
    const char *name DYNC__ZERO; /* default: the function's name in the source */
    /* argument names for messages and printed graphs, "x, y"; default "arg0, arg1, ..." */
    const char *args DYNC__ZERO;
    const char *backend DYNC__ZERO; /* default "inductor" */
    /* wins over .backend and needs no registration */
    const struct dync_backend *backend_object DYNC__ZERO;
    /* names of number arguments that stay symbolic, "d, scale" */
    const char *symbolic DYNC__ZERO;
    /* backend options, "opt_level=0, threads=1": an unknown name or value is DYNC_ERR_VALUE, which
     * lists them. Of inductor:
     *   threads    at most so many
     *   opt_level  0: as no_fuse
     *   fast_math, no_fuse
     *   autotune   kernels are timed when compiled, a few milliseconds each; "autotune=PATH"
     *              remembers the choices in that file
     *   winograd   F32 convolutions of 3x3 and stride 1 by transformed tiles of 4x4 or 2x2 where
     *              that is faster. They differ from direct sums by 2e-6 to 3e-6 of their rms,
     *              "winograd=2", 2x2 alone, by 5e-7 to 1e-6; a NaN fills its tile */
    const char *options DYNC__ZERO;
    /* a graph break is an error: DYNC_ERR_UNSUPPORTED naming the reason and place. Backward inside
     * is captured: a whole training step is one graph */
    bool fullgraph DYNC__ZERO;
    /* AUTO: a size seen with a second value becomes symbolic; OFF: never; ON: at once */
    dync_dynamic dynamic DYNC__ZERO;
    int recompile_limit DYNC__ZERO; /* default 8 */
    bool error_on_recompile DYNC__ZERO;
    /* dync_item_sym stays in the graph; without it, it breaks the graph as dync_item does. As
     * torch._dynamo.config.capture_scalar_outputs */
    bool capture_scalars DYNC__ZERO;
    /* so do dync_nonzero, dync_masked_select and dync_unique, whose results have as many elements
     * as data say: u0, u1, ... in the graph's shapes. As capture_dynamic_output_shape_ops */
    bool capture_dynamic_shapes DYNC__ZERO;
    /* keep double backward working through the compiled function (default: upstream's error, but
     * where a function of fullgraph itself asks for gradients with create_graph) */
    bool double_backward DYNC__ZERO;
    void *user DYNC__ZERO; /* for the general form */
    /* once per entry that refused a call */
    void (*guard_fail)(const char *reason, void *user) DYNC__ZERO;
    void *guard_fail_user DYNC__ZERO;
    const char *repro_after DYNC__ZERO; /* minifier: "dynamo", "aot", "none"; default: setting */
    int repro_level DYNC__ZERO;         /* 1 to 4; default: the setting */
    int last_ DYNC__ZERO;               /* private: so that a call without options has one */
    dync_loc at_ DYNC__ZERO;            /* private: the caller's place */
} dync_compile_options;

/* A callable as compile, frame, explain and their kin take it. Opaque: made by DYNC_FN from
 * whatever can be compiled.
 *   thread  any */
typedef struct dync_callee {
    int kind, flags;
    void (*fn)(void);
    void *object, *user;
    const char *name, *args;
} dync_callee;
DYNC_API dync_callee dync_fn0(dync_tensor *(*fn)(void));
DYNC_API dync_callee dync_fn1(dync_tensor *(*fn)(dync_tensor *));
DYNC_API dync_callee dync_fn2(dync_tensor *(*fn)(dync_tensor *, dync_tensor *));
DYNC_API dync_callee dync_fn3(dync_tensor *(*fn)(dync_tensor *, dync_tensor *, dync_tensor *));
DYNC_API dync_callee dync_fn4(dync_tensor *(*fn)(dync_tensor *, dync_tensor *, dync_tensor *,
                                                 dync_tensor *));
DYNC_API dync_callee dync_fn5(dync_tensor *(*fn)(dync_tensor *, dync_tensor *, dync_tensor *,
                                                 dync_tensor *, dync_tensor *));
DYNC_API dync_callee dync_fn6(dync_tensor *(*fn)(dync_tensor *, dync_tensor *, dync_tensor *,
                                                 dync_tensor *, dync_tensor *, dync_tensor *));
DYNC_API dync_callee dync_fnv(dync_function fn);
DYNC_API dync_callee dync_fnm(dync_module *m);
DYNC_API dync_callee dync_fnc(dync_compiled *f);
DYNC_API dync_callee dync_fng(dync_graph *g);
DYNC_API dync_callee dync_fnp(dync_program *p);
DYNC_API dync_callee dync_fn_same(dync_callee callee);
DYNC_API dync_callee dync_fn_none(const void *what); /* anything else: DYNC_ERR_VALUE */
#if defined(__cplusplus)
#define DYNC_FN(f) dync_fn(f)
inline dync_callee dync_fn(dync_tensor *(*f)(void)) { return dync_fn0(f); }
inline dync_callee dync_fn(dync_tensor *(*f)(dync_tensor *)) { return dync_fn1(f); }
inline dync_callee dync_fn(dync_tensor *(*f)(dync_tensor *, dync_tensor *)) { return dync_fn2(f); }
inline dync_callee dync_fn(dync_tensor *(*f)(dync_tensor *, dync_tensor *, dync_tensor *))
{
    return dync_fn3(f);
}
inline dync_callee dync_fn(dync_tensor *(*f)(dync_tensor *, dync_tensor *, dync_tensor *,
                                             dync_tensor *))
{
    return dync_fn4(f);
}
inline dync_callee dync_fn(dync_tensor *(*f)(dync_tensor *, dync_tensor *, dync_tensor *,
                                             dync_tensor *, dync_tensor *))
{
    return dync_fn5(f);
}
inline dync_callee dync_fn(dync_tensor *(*f)(dync_tensor *, dync_tensor *, dync_tensor *,
                                             dync_tensor *, dync_tensor *, dync_tensor *))
{
    return dync_fn6(f);
}
inline dync_callee dync_fn(dync_function f) { return dync_fnv(f); }
inline dync_callee dync_fn(dync_module *m) { return dync_fnm(m); }
inline dync_callee dync_fn(dync_compiled *f) { return dync_fnc(f); }
inline dync_callee dync_fn(dync_graph *g) { return dync_fng(g); }
inline dync_callee dync_fn(dync_program *p) { return dync_fnp(p); }
inline dync_callee dync_fn(dync_callee callee) { return callee; }
template <class dync_T> struct dync_never {
    static const bool value = false;
};
template <class dync_R, class... dync_A> inline dync_callee dync_fn(dync_R (*)(dync_A...))
{
    static_assert(dync_never<dync_R>::value, "dync_compile and its kin take a function of 0 to 6 "
                                             "dync_tensor * that returns one, or a dync_function");
    return dync_fn0(nullptr);
}
#else
#define DYNC_FN_OF(f, of)                                                                        \
    _Generic((f),                                                                                \
        dync_tensor * (*)(void): of(0, 1),                                                       \
        dync_tensor * (*)(dync_tensor *): of(1, 1),                                              \
        dync_tensor * (*)(dync_tensor *, dync_tensor *): of(2, 1),                               \
        dync_tensor * (*)(dync_tensor *, dync_tensor *, dync_tensor *): of(3, 1),                \
        dync_tensor * (*)(dync_tensor *, dync_tensor *, dync_tensor *, dync_tensor *): of(4, 1), \
        dync_tensor * (*)(dync_tensor *, dync_tensor *, dync_tensor *, dync_tensor *,            \
                          dync_tensor *): of(5, 1),                                              \
        dync_tensor * (*)(dync_tensor *, dync_tensor *, dync_tensor *, dync_tensor *,            \
                          dync_tensor *, dync_tensor *): of(6, 1),                               \
        dync_function: of(v, 1),                                                                 \
        dync_module *: of(m, 1),                                                                 \
        dync_compiled *: of(c, 1),                                                               \
        dync_graph *: of(g, 1),                                                                  \
        dync_program *: of(p, 1),                                                                \
        dync_callee: of(_same, 1),                                                               \
        default: of(_none, 0))
#define DYNC_FN_CALL(kind, known) dync_fn##kind
#define DYNC_FN_KNOWN(kind, known) known
#if defined(__GNUC__)
#define DYNC_FN(f)                                                                           \
    (__extension__({                                                                         \
        _Static_assert(                                                                      \
            DYNC_FN_OF(f, DYNC_FN_KNOWN),                                                    \
            "dync_compile and its kin take a function of 0 to 6 dync_tensor * that "         \
            "returns one, a dync_function, or a module, graph, program or dync_compiled *"); \
        DYNC_FN_OF(f, DYNC_FN_CALL)(f);                                                      \
    }))
#else
#define DYNC_FN(f) DYNC_FN_OF(f, DYNC_FN_CALL)(f)
#endif
#endif

/* dync_args, dync_bind: a callee with argument names for graphs and messages, where dync_compile's
 * .args is not at hand: dync_frame(dync_args(bad, "param, y"), a, a); dync_bind also gives the user
 * pointer of the general form.
 *   names   copied when the callee is used
 *   thread  any */
#define dync_args(fn, names) DYNC__BIND(DYNC_FN(fn), #fn, NULL, names)
#define dync_bind(fn, user, names) DYNC__BIND(DYNC_FN(fn), #fn, user, names)
DYNC_API dync_callee dync_bind_callee(dync_callee callee, const char *name, void *user,
                                      const char *args);

/* dync_compile(fn) or dync_compile(fn, .args = "x, y", ...): a function with guards and compiled
 * code; compiling happens in the first call.
 *
 *   fn       what can be compiled, see above; modules, graphs and programs are borrowed
 *   ->       released by dync_compiled_free; NULL on failure
 *   errors   DYNC_ERR_VALUE (NULL, unknown backend), DYNC_ERR_MEMORY
 *   notes    C++17: dync_compile(fn, options) with a dync_compile_options
 *   thread   any */
#if DYNC__DESIGNATORS
#define dync_compile(...) DYNC_COMPILE_(__VA_ARGS__, .at_ = DYNC_HERE)
#define DYNC_COMPILE_(fn, ...) \
    DYNC__COMPILE(DYNC_FN(fn), #fn, DYNC_LITERAL(dync_compile_options){__VA_ARGS__})
#else
#define dync_compile(...) DYNC_COMPILE_(__VA_ARGS__, dync_compile_options(), 0)
#define DYNC_COMPILE_(fn, options, ...) DYNC__COMPILE(DYNC_FN(fn), #fn, options)
#endif
DYNC_API dync_compiled *dync_compile_opt(dync_callee callee, const char *fn_name,
                                         dync_compile_options options);

/* dync_compiled_free: releases it and its cached code. NULL does nothing.
 *   errors  DYNC_ERR_VALUE, inside a call of it
 *   thread  not while running */
DYNC_API void dync_compiled_free(dync_compiled *f);
DYNC_API void dync_compiled_free_at(dync_compiled *f, dync_loc at);
#if !defined(DYNC_NO_LOCATION)
#define dync_compiled_free(...) DYNC_AT(dync_compiled_free, __VA_ARGS__)
#endif

/* dync_call(f, a, 3, list): runs the compiled function. The first call with new guards traces and
 * compiles; later ones run the code. dync_call gives one tensor, dync_call_value whatever the
 * function returns; dync_call(f), or dync_call0, calls without arguments.
 *
 *   args    any values; lists nest
 *   ->      owned by the scope; NULL or none on failure
 *   errors  those of the function; DYNC_ERR_UNSUPPORTED and DYNC_ERR_RECOMPILE_LIMIT under
 *           .fullgraph; DYNC_ERR_BACKEND
 *   notes   a call during which an error is recorded returns nothing and caches nothing. In the
 *           steady state a call makes no malloc
 *   thread  any */
#define dync_call(...) \
    dync_call_tensor_at(DYNC_HEAD(__VA_ARGS__), DYNC_VALUES_BEHIND(__VA_ARGS__), DYNC_HERE)
#define dync_call0(f) dync_call_tensor_at(f, 0, NULL, DYNC_HERE)
#define dync_call_value(...) \
    dync_call_values_at(DYNC_HEAD(__VA_ARGS__), DYNC_VALUES_BEHIND(__VA_ARGS__), DYNC_HERE)
DYNC_API dync_value dync_call_values(dync_compiled *f, int nargs, const dync_value *args);
DYNC_API dync_value dync_call_values_at(dync_compiled *f, int nargs, const dync_value *args,
                                        dync_loc at);
DYNC_API dync_tensor *dync_call_tensor_at(dync_compiled *f, int nargs, const dync_value *args,
                                          dync_loc at);

/* dync_call_into(f, out, a, b): the same, results written into tensors of the caller's. For calls
 * in real time.
 *   out     a tensor or a list of them, of the results' shapes; one of another dtype gets what
 *           dync_copy_ makes of the result
 *   errors  as dync_call; DYNC_ERR_SHAPE
 *   thread  any, into tensors that no other thread uses */
#define dync_call_into(f, out, ...)                                                             \
    dync_call_into_values_at(f, DYNC_V(out), DYNC_COUNT(__VA_ARGS__), DYNC_VALUES(__VA_ARGS__), \
                             DYNC_HERE)
DYNC_API dync_status dync_call_into_values(dync_compiled *f, dync_value out, int nargs,
                                           const dync_value *args);
DYNC_API dync_status dync_call_into_values_at(dync_compiled *f, dync_value out, int nargs,
                                              const dync_value *args, dync_loc at);

/* ---- inside a compiled function; outside of one they do what they can, or nothing ------------ */

/* dync_frame(fn, x): a nested call that Dynamo would treat as its own frame; breaks inside it are
 * its own. Plain C calls inline.
 *   ->      as dync_call; outside of a compiled function fn is simply called
 *   thread  any */
#define dync_frame(fn, ...)                                                        \
    dync_as_tensor(dync_frame_values_at(DYNC_FN(fn), #fn, DYNC_COUNT(__VA_ARGS__), \
                                        DYNC_VALUES(__VA_ARGS__), DYNC_HERE))
DYNC_API dync_value dync_frame_values_at(dync_callee callee, const char *name, int nargs,
                                         const dync_value *args, dync_loc at);
DYNC_API dync_value dync_frame_values(dync_callee callee, const char *name, int nargs,
                                      const dync_value *args);

/* dync_graph_break: ends the graph here; what follows until the next operator runs in every call,
 * in its place.
 *   reason  shown by dync_explain
 *   thread  any */
DYNC_API void dync_graph_break(const char *reason);
DYNC_API void dync_graph_break_at(const char *reason, dync_loc at);
#define dync_graph_break(reason) dync_graph_break_at(reason, DYNC_HERE)

/* dync_host_print: writes text to stdout; a graph break, reason "print".
 *   thread  any */
DYNC_API void dync_host_print(const char *text);
DYNC_API void dync_host_print_at(const char *text, dync_loc at);
#define dync_host_print(text) dync_host_print_at(text, DYNC_HERE)

/* dync_is_compiling: true while a function is being traced. A guard.
 *   thread  any */
DYNC_API bool dync_is_compiling(void);

/* dync_guard_int, dync_guard_tensor: declares a C variable the function reads: it is read again in
 * every call, and a changed value (or another tensor) is another entry.
 *   global_name   copied; the guard's name, G['name']
 *   address       borrowed while the compiled function lives
 *   thread  any */
DYNC_API void dync_guard_int(const char *global_name, const int64_t *address);
DYNC_API void dync_guard_tensor(const char *global_name, dync_tensor **address);

/* dync_mark_dynamic: this dimension is symbolic from the first compile on. What makes it a number
 * inside a traced function (dync_size, a test that one size passes) is then an error that names the
 * line: class ConstraintViolationError. dync_dim is meant.
 * dync_mark_dynamic_range: the same, and its sizes are from min to max: comparisons that are alike
 * for all of them are no guards, a call outside is compiled for itself, and a function that goes
 * two ways within is an error, as above. As torch._dynamo.mark_dynamic(t, dim, min=, max=).
 *   dim       -rank <= dim < rank
 *   min, max  0 <= min <= size of dim <= max, 2 <= max, min < max
 *   errors    DYNC_ERR_INDEX, DYNC_ERR_VALUE
 *   notes     sizes 0 and 1 are compiled for themselves, whatever min is. Two marked dimensions
 *             that must be equal are guarded to be; ranges must be the same then
 *   thread    not while running */
DYNC_API void dync_mark_dynamic(dync_tensor *t, int dim);
DYNC_API void dync_mark_dynamic_range(dync_tensor *t, int dim, int64_t min, int64_t max);

/* dync_dim: the size of a dimension, kept symbolic where it is dynamic; for an element of a shape
 * argument and nothing else. Converted to a float it is DYNC_ERR_VALUE; other arithmetic on it is a
 * wrong number, which dync_set_lint shows. dync_dim_lt, _eq, _gt: compare it with n and guard on
 * the outcome only; dync_size(x, dim) guards on the size.
 *   thread  any */
DYNC_API int64_t dync_dim(const dync_tensor *t, int dim);
DYNC_API bool dync_dim_lt(const dync_tensor *t, int dim, int64_t n);
DYNC_API bool dync_dim_lt_at(const dync_tensor *t, int dim, int64_t n, dync_loc at);
#define dync_dim_lt(...) DYNC_AT(dync_dim_lt, __VA_ARGS__)
DYNC_API bool dync_dim_eq(const dync_tensor *t, int dim, int64_t n);
DYNC_API bool dync_dim_eq_at(const dync_tensor *t, int dim, int64_t n, dync_loc at);
#define dync_dim_eq(...) DYNC_AT(dync_dim_eq, __VA_ARGS__)
DYNC_API bool dync_dim_gt(const dync_tensor *t, int dim, int64_t n);
DYNC_API bool dync_dim_gt_at(const dync_tensor *t, int dim, int64_t n, dync_loc at);
#define dync_dim_gt(...) DYNC_AT(dync_dim_gt, __VA_ARGS__)

/* Wrappers to call through dync_frame, or to compile: dync_frame(dync_disable(fn), x).
 *   dync_disable                  fn runs as it is, in every call, between two graphs
 *   dync_allow_in_graph           fn becomes one node of the graph and is not looked into; it gives
 *                                 a tensor or up to 8 and reads no values (it runs once over
 *                                 tensors without data, for their shapes)
 *   dync_assume_constant_result   fn runs once; its result is baked in
 *   thread  any */
#define dync_disable(fn) dync_disable_callee(DYNC_FN(fn))
#define dync_allow_in_graph(fn) dync_allow_in_graph_callee(DYNC_FN(fn))
#define dync_assume_constant_result(fn) dync_assume_constant_result_callee(DYNC_FN(fn))
DYNC_API dync_callee dync_disable_callee(dync_callee callee);
DYNC_API dync_callee dync_allow_in_graph_callee(dync_callee callee);
DYNC_API dync_callee dync_assume_constant_result_callee(dync_callee callee);

/* ---- around compiling ------------------------------------------------------------------------ */

/* dync_set_verify: runs every cached call both ways, the C function on copies of the arguments, and
 * reports the first difference in results and written tensors as DYNC_ERR_ACCURACY, class
 * RuntimeError. Where a call is traced, each graph is compared with its interpretation.
 * DYNC_VERIFY=1 in the environment does it too, for a program as it is.
 *   notes   tolerance, absolute and relative: f32 1e-4, f64 1e-9, f16 1e-2, bf16 5e-2. The function
 *           runs once more in each call: effects that dync does not see (a C variable it counts up)
 *           happen twice. Tensors of other devices are not compared. What the function writes of
 *           tensors that threads share is undone in between: verify such calls from one thread
 * dync_set_lint: traces twice at the first compile and again at the second, tenth and hundredth
 * call of what it compiled, and warns once of what differs, with its line: impure reads, such as a
 * global that has changed, a count of layers, an array that was rewritten. Counted by
 * dync_get_counters. DYNC_LINT=1 does it too.
 *   notes   functions with an opaque break are traced by every call anyhow: the second is compared.
 *           Steps that set gradients or hooks are left alone. The function runs once more at those
 *           calls, on tensors without data
 * Both are process-wide and off at first, unless the environment says otherwise; what the program
 * sets wins.
 *   thread  any */
DYNC_API void dync_set_verify(bool on);
DYNC_API void dync_set_lint(bool on);

/* dync_set_stance: what compiled functions do, as torch.compiler.set_stance. Process-wide.
 *   stance   "default" (NULL too)   they compile where no entry serves a call
 *            "force_eager"          every call runs the C function as it is written
 *            "eager_on_recompile"   entries serve calls; where something would be compiled, the
 *                                   call runs as it is written (behind a branch or a break: the
 *                                   part that is new), and nothing is kept
 *            "fail_on_recompile"    the same, but such a call is DYNC_ERR_RECOMPILE_LIMIT
 *   errors   DYNC_ERR_VALUE, naming the stances
 *   notes    a call that fails behind a branch has written what stands before it
 *   thread   any */
DYNC_API dync_status dync_set_stance(const char *stance);

/* dync_reset: forgets every compiled entry, guard failure record and compile callback;
 * configuration stays.
 *   errors  DYNC_ERR_VALUE, inside a call of a compiled function
 *   thread  not while running */
DYNC_API void dync_reset(void);

/* dync_on_compile_start, _end: fn runs before and after each compilation.
 *   ->      an id for dync_remove_callback, -1 on failure
 *   thread  any */
DYNC_API int dync_on_compile_start(void (*fn)(void *user), void *user);
DYNC_API int dync_on_compile_end(void (*fn)(void *user), void *user);
DYNC_API void dync_remove_callback(int id);

/* dync_module_compile(m, .backend = "eager"): compiles a module in place: dync_forward_call and
 * dync_module_call run its compiled form.
 *   errors  as dync_compile
 *   thread  not while running */
#if DYNC__DESIGNATORS
#define dync_module_compile(...) DYNC_MODULE_COMPILE_(__VA_ARGS__, .at_ = DYNC_HERE)
#define DYNC_MODULE_COMPILE_(m, ...) \
    DYNC__MODULE_COMPILE(m, #m, DYNC_LITERAL(dync_compile_options){__VA_ARGS__})
#else
#define dync_module_compile(...) DYNC_MODULE_COMPILE_(__VA_ARGS__, dync_compile_options(), 0)
#define DYNC_MODULE_COMPILE_(m, options, ...) DYNC__MODULE_COMPILE(m, #m, options)
#endif
DYNC_API void dync_module_compile_opt(dync_module *m, const char *name,
                                      dync_compile_options options);
