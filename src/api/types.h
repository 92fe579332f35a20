/* ---- values ---------------------------------------------------------------- */
typedef struct dync_tensor dync_tensor;     /* reference counted handle; owned by the innermost scope */
typedef struct dync_module dync_module;
typedef struct dync_compiled dync_compiled; /* a function compiled with guards: what dync_compile returns */
typedef struct dync_graph dync_graph;       /* FX-like graph of one capture */
typedef struct dync_node dync_node;
typedef struct dync_program dync_program;   /* a guard-free whole program with its weights: saved, loaded, exported */
typedef struct dync_list dync_list;
struct dync_explain_output;

typedef enum { DYNC_F32, DYNC_F64, DYNC_F16, DYNC_BF16, DYNC_I64, DYNC_I32, DYNC_I16, DYNC_I8, DYNC_U8, DYNC_BOOL } dync_dtype;
typedef enum { DYNC_CPU, DYNC_CUDA, DYNC_META } dync_device;
#define DYNC_CUDA_AT(index) ((dync_device)(DYNC_CUDA | (index) << 8))
typedef enum { DYNC_KIND_NONE, DYNC_KIND_BOOL, DYNC_KIND_INT, DYNC_KIND_FLOAT, DYNC_KIND_STR, DYNC_KIND_TENSOR,
               DYNC_KIND_LIST, DYNC_KIND_MODULE, DYNC_KIND_PTR, DYNC_KIND_SYM } dync_kind;
typedef struct dync_value {
    dync_kind kind;
    int32_t source;   /* private */
    union { bool b; int64_t i; double f; const char *s; dync_tensor *t; dync_list *l; dync_module *m; void *p; } as;
} dync_value;

/* DYNC_V(x): any C expression as a dync_value, so that dync_add(x, 2), dync_sub(1.0, x) and dync_call(f, x, 3, list) all work. */
#define DYNC_V_OF(x) _Generic((x), dync_value: dync_v_value, dync_tensor *: dync_v_tensor, dync_list *: dync_v_list, \
    const dync_tensor *: dync_v_const_tensor, dync_module *: dync_v_module, bool: dync_v_bool, signed char: dync_v_int, short: dync_v_int, int: dync_v_int, \
    long: dync_v_int, long long: dync_v_int, unsigned char: dync_v_int, unsigned short: dync_v_int, unsigned: dync_v_int, \
    unsigned long: dync_v_int, unsigned long long: dync_v_int, float: dync_v_float, double: dync_v_float, \
    char *: dync_v_str, const char *: dync_v_str, void *: dync_v_ptr)(x)
#if defined(__GNUC__)   /* x is written once, so that nested calls stay linear in their depth */
#define DYNC_V(x) DYNC_V_ONCE(DYNC_CAT(dync_v_, __COUNTER__), x)
#define DYNC_V_ONCE(v_, x) (__extension__({ __auto_type v_ = (x); DYNC_V_OF(v_); }))
#else
#define DYNC_V(x) DYNC_V_OF(x)
#endif
dync_value dync_v_value(dync_value), dync_v_tensor(dync_tensor *), dync_v_const_tensor(const dync_tensor *), dync_v_list(dync_list *), dync_v_module(dync_module *),
    dync_v_bool(bool), dync_v_int(int64_t), dync_v_float(double), dync_v_str(const char *), dync_v_ptr(void *);
#define dync_tuple(...) dync_tuple_of(DYNC_COUNT(__VA_ARGS__), (dync_value[]){DYNC_MAP_V(__VA_ARGS__)})
dync_value dync_tuple_of(int n, const dync_value *items);      /* also what a list is; nests */
int        dync_len(dync_value list);
dync_value dync_at(dync_value list, int i);
dync_tensor *dync_as_tensor(dync_value v);                     /* NULL and an error if v is no tensor */
#define DYNC_NONE  ((dync_value){DYNC_KIND_NONE, 0, {0}})
#define DYNC_TRUE  dync_v_bool(true)    /* C11's `true` is an int; a bool parameter takes 0 and 1 as well */
#define DYNC_FALSE dync_v_bool(false)
/* Plain numbers out of a value. Numbers are guarded by value, but for arguments named in .symbolic and cells, which inside a traced
 * function have kind DYNC_KIND_SYM: pass them on whole or combine them with dync_sym_*; these accessors specialise on them. */
int64_t      dync_as_int(dync_value v);
double       dync_as_float(dync_value v);
bool         dync_as_bool(dync_value v);
const char  *dync_as_str(dync_value v);
dync_value   dync_sym_add(dync_value, dync_value), dync_sym_sub(dync_value, dync_value), dync_sym_mul(dync_value, dync_value), dync_sym_floordiv(dync_value, dync_value);

/* ---- errors: sticky, per thread ---------------------------------------------
 * A call that fails returns NULL (or the status) and records the first error with the operator, the shapes involved and
 * the user's file:line; every call takes NULL for a tensor and passes it on (with no error pending, a NULL operand is itself
 * DYNC_ERR_VALUE), so a chain is checked once, at its end. Unless a handler is
 * set the first error is also printed to stderr, once. */
typedef enum { DYNC_OK = 0, DYNC_ERR_SHAPE, DYNC_ERR_DTYPE, DYNC_ERR_DEVICE, DYNC_ERR_VALUE, DYNC_ERR_INDEX, DYNC_ERR_MEMORY,
    DYNC_ERR_IO, DYNC_ERR_FORMAT, DYNC_ERR_AUTOGRAD, DYNC_ERR_UNSUPPORTED /* fullgraph met a break */,
    DYNC_ERR_BACKEND /* a backend failed to compile */, DYNC_ERR_COMPILE, DYNC_ERR_RUNTIME, DYNC_ERR_ACCURACY,
    DYNC_ERR_DATA_PTR /* data of a fake tensor */, DYNC_ERR_RECOMPILE_LIMIT /* only under fullgraph */, DYNC_ERR_INTERNAL } dync_status;
dync_status dync_error(void);              /* DYNC_OK or the first error since dync_clear_error; still readable after dync_shutdown */
const char *dync_error_message(void);      /* "" where none */
const char *dync_error_class(void);        /* upstream's class name, "BackendCompilerFailed", "ReluCompileError"…; "" where none */
void        dync_clear_error(void);
void        dync_on_error(void (*fn)(dync_status, const char *message, void *user), void *user);  /* e.g. abort in a demo */

/* ---- memory: scopes ----------------------------------------------------------
 * Every tensor an op makes is released when the innermost scope ends, so nested calls leak nothing.
 * DYNC_SCOPE { ... } for loops; dync_escape(t) hands t to the enclosing scope; retain/release for what outlives both.
 * With GCC and Clang leaving the block by break, return or goto closes it too (cleanup attribute), DYNC_NO_GRAD likewise; elsewhere
 * a scope left open is closed with the one around it. */
#define DYNC_SCOPE for (dync_scope dync_s_ = dync_scope_begin(); dync_s_.open; dync_scope_end(&dync_s_))
typedef struct { void *mark; bool open; } dync_scope;
dync_scope   dync_scope_begin(void);
void         dync_scope_end(dync_scope *);
dync_tensor *dync_escape(dync_tensor *);
dync_tensor *dync_retain(dync_tensor *);
void         dync_release(dync_tensor *);
typedef struct { void *memory; size_t memory_size; int threads; uint64_t seed; } dync_init_options; /* all optional */
dync_status  dync_init(dync_init_options);  /* optional; memory: take every allocation from this buffer (no malloc) */
void         dync_shutdown(void);           /* frees everything; a leak checker then reports nothing */
