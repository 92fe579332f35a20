/* ---- compile: the heart ---------------------------------------------------------- */
/* What can be compiled: a C function of 0..6 tensors returning a tensor, the general form below, a module, a graph, a program,
 * another compiled function (peeled off). */
typedef dync_value (*dync_function)(const dync_value *args, int nargs, void *user);
typedef enum { DYNC_DYNAMIC_AUTO, DYNC_DYNAMIC_OFF, DYNC_DYNAMIC_ON } dync_dynamic;
typedef struct {
    const char *name;      /* default: the function's name in the source */
    const char *args;      /* argument names for messages and printed graphs, "x, y"; default "arg0, arg1, ..." */
    const char *backend;   /* default "inductor" */
    const struct dync_backend *backend_object; /* wins over .backend and needs no registration */
    const char *symbolic;  /* names of number arguments that stay symbolic, "d, scale" */
    const char *options;   /* backend options, "opt_level=0, threads=1" */
    bool fullgraph;        /* a graph break is an error: DYNC_ERR_UNSUPPORTED naming the reason and place */
    dync_dynamic dynamic;
    int recompile_limit;   /* default 8 */
    bool error_on_recompile;
    bool double_backward;  /* keep double backward working through the compiled function (default: upstream's error) */
    void *user;            /* for the general form */
    int last_;
    void (*guard_fail)(const char *reason, void *user); void *guard_fail_user; /* once per cached entry that refused a call */
} dync_compile_options;
#define dync_compile(...) DYNC_COMPILE_(__VA_ARGS__, .last_ = 0)   /* dync_compile(fn) or dync_compile(fn, .args = "x, y", ...) */
#define DYNC_COMPILE_(fn, ...) dync_compile_opt(DYNC_FN(fn), #fn, (dync_compile_options){__VA_ARGS__})
typedef struct dync_callee { int kind, flags; void (*fn)(void); void *object, *user; const char *name, *args; } dync_callee; /* opaque */
#define DYNC_FN(f) _Generic((f), dync_tensor *(*)(void): dync_fn0, dync_tensor *(*)(dync_tensor *): dync_fn1, \
    dync_tensor *(*)(dync_tensor *, dync_tensor *): dync_fn2, dync_tensor *(*)(dync_tensor *, dync_tensor *, dync_tensor *): dync_fn3, \
    dync_tensor *(*)(dync_tensor *, dync_tensor *, dync_tensor *, dync_tensor *): dync_fn4, \
    dync_tensor *(*)(dync_tensor *, dync_tensor *, dync_tensor *, dync_tensor *, dync_tensor *): dync_fn5, \
    dync_tensor *(*)(dync_tensor *, dync_tensor *, dync_tensor *, dync_tensor *, dync_tensor *, dync_tensor *): dync_fn6, \
    dync_function: dync_fnv, dync_module *: dync_fnm, dync_compiled *: dync_fnc, dync_graph *: dync_fng, dync_program *: dync_fnp, \
    dync_callee: dync_fn_same)(f)
dync_callee dync_fn0(dync_tensor *(*)(void)), dync_fn1(dync_tensor *(*)(dync_tensor *)), dync_fn2(dync_tensor *(*)(dync_tensor *, dync_tensor *)),
    dync_fn3(dync_tensor *(*)(dync_tensor *, dync_tensor *, dync_tensor *)),
    dync_fn4(dync_tensor *(*)(dync_tensor *, dync_tensor *, dync_tensor *, dync_tensor *)),
    dync_fn5(dync_tensor *(*)(dync_tensor *, dync_tensor *, dync_tensor *, dync_tensor *, dync_tensor *)),
    dync_fn6(dync_tensor *(*)(dync_tensor *, dync_tensor *, dync_tensor *, dync_tensor *, dync_tensor *, dync_tensor *)),
    dync_fnv(dync_function), dync_fnm(dync_module *), dync_fnc(dync_compiled *), dync_fng(dync_graph *), dync_fnp(dync_program *), dync_fn_same(dync_callee);
/* A callee with argument names for graphs and messages, where dync_compile's .args is not at hand: dync_frame(dync_args(bad, "param, y"), a, a) */
#define dync_args(fn, names)       dync_bind_callee(DYNC_FN(fn), #fn, NULL, names)
#define dync_bind(fn, user, names) dync_bind_callee(DYNC_FN(fn), #fn, user, names)   /* with the user pointer of the general form */
dync_callee dync_bind_callee(dync_callee, const char *name, void *user, const char *args);
dync_compiled *dync_compile_opt(dync_callee, const char *fn_name, dync_compile_options);
void           dync_compiled_free(dync_compiled *);
#define dync_call(f, ...)       dync_as_tensor(dync_call_value(f, __VA_ARGS__))   /* one tensor back */
#define dync_call0(f)           dync_as_tensor(dync_call_values(f, 0, NULL))       /* no arguments */
#define dync_call_value(f, ...) dync_call_values(f, DYNC_COUNT(__VA_ARGS__), (dync_value[]){DYNC_MAP_V(__VA_ARGS__)})
dync_value     dync_call_values(dync_compiled *, int nargs, const dync_value *args);
#define dync_call_into(f, out, ...) dync_call_into_values(f, DYNC_V(out), DYNC_COUNT(__VA_ARGS__), (dync_value[]){DYNC_MAP_V(__VA_ARGS__)})
dync_status    dync_call_into_values(dync_compiled *, dync_value out, int nargs, const dync_value *args); /* out: a tensor or a list of them, written in place */
/* Inside a compiled function: a nested call that Dynamo would treat as its own frame. Plain C calls inline. */
#define dync_frame(fn, ...)     dync_as_tensor(dync_frame_values(DYNC_FN(fn), #fn, DYNC_COUNT(__VA_ARGS__), (dync_value[]){DYNC_MAP_V(__VA_ARGS__)}))
dync_value     dync_frame_values(dync_callee, const char *name, int nargs, const dync_value *args);
void           dync_graph_break(const char *reason);
void           dync_host_print(const char *text);    /* prints; inside a traced function a graph break, reason "print" */
void           dync_set_verify(bool);                /* run every cached call both ways and report the first difference */
void           dync_set_lint(bool);                  /* trace twice at the first compile and report what differs: impure reads */
bool           dync_is_compiling(void);
void           dync_guard_int(const char *global_name, const int64_t *address), dync_guard_tensor(const char *global_name, dync_tensor **address);
void           dync_mark_dynamic(dync_tensor *, int dim);   /* dync_size of a marked dimension inside the function is then an error */
int64_t        dync_dim(const dync_tensor *, int dim);   /* for an element of a shape argument only: the size, kept symbolic where it is dynamic */
bool           dync_dim_lt(const dync_tensor *, int dim, int64_t n), dync_dim_eq(const dync_tensor *, int dim, int64_t n),
               dync_dim_gt(const dync_tensor *, int dim, int64_t n);  /* guard on the outcome only; dync_size(x, dim) guards on the size */
void           dync_reset(void);                     /* forget every compiled entry, guard failure record and compile callback; configuration stays */
/* Wrappers to call through dync_frame, or to compile: dync_frame(dync_disable(fn), x) */
#define        dync_disable(fn)                dync_disable_callee(DYNC_FN(fn))
#define        dync_allow_in_graph(fn)         dync_allow_in_graph_callee(DYNC_FN(fn))
#define        dync_assume_constant_result(fn) dync_assume_constant_result_callee(DYNC_FN(fn))
dync_callee    dync_disable_callee(dync_callee), dync_allow_in_graph_callee(dync_callee), dync_assume_constant_result_callee(dync_callee);
int            dync_on_compile_start(void (*fn)(void *user), void *user), dync_on_compile_end(void (*fn)(void *user), void *user);
void           dync_remove_callback(int id);
void           dync_module_compile_opt(dync_module *, const char *name, dync_compile_options);
#define        dync_module_compile(...) DYNC_MODULE_COMPILE_(__VA_ARGS__, .last_ = 0)
#define        DYNC_MODULE_COMPILE_(m, ...) dync_module_compile_opt(m, #m, (dync_compile_options){__VA_ARGS__})
