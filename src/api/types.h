/* ---- handles --------------------------------------------------------------------------------- */
/* reference counted handle; owned by the innermost scope */
typedef struct dync_tensor dync_tensor;
/* parameters, buffers, children and a forward function */
typedef struct dync_module dync_module;
/* a function compiled with guards: what dync_compile returns */
typedef struct dync_compiled dync_compiled;
typedef struct dync_graph dync_graph; /* FX-like graph of one capture */
typedef struct dync_node dync_node;   /* one line of it; borrowed from the graph */
/* a guard-free whole program with its weights: saved, loaded, exported */
typedef struct dync_program dync_program;
typedef struct dync_list dync_list;       /* the items of a list value */
typedef struct dync_tensors dync_tensors; /* tensors under names: what a file of weights holds */
struct dync_explain_output;

typedef enum {
    DYNC_F32,
    DYNC_F64,
    DYNC_F16,
    DYNC_BF16,
    DYNC_I64,
    DYNC_I32,
    DYNC_I16,
    DYNC_I8,
    DYNC_U8,
    DYNC_BOOL
} dync_dtype;
typedef enum { DYNC_CPU, DYNC_CUDA, DYNC_META } dync_device;
#define DYNC_CUDA_AT(index) ((dync_device)(DYNC_CUDA | (index) << 8))

/* ---- values: what goes into and out of compiled functions ------------------------------------ */
typedef enum {
    DYNC_KIND_NONE,
    DYNC_KIND_BOOL,
    DYNC_KIND_INT,
    DYNC_KIND_FLOAT,
    DYNC_KIND_STR,
    DYNC_KIND_TENSOR,
    DYNC_KIND_LIST,
    DYNC_KIND_MODULE,
    DYNC_KIND_PTR,
    DYNC_KIND_SYM,
    DYNC_KIND_NODE, /* a value of a graph: what a node of it reads */
    DYNC_KIND_GRAPH /* a function inside an operator */
} dync_kind;
/* a number of the API: of options, arguments of operators, results that are read */
#if defined(DYNC_NO_F64)
typedef float dync_real;
#else
typedef double dync_real;
#endif
typedef struct dync_value {
    dync_kind kind;
    int32_t source; /* private */
    union {
        bool b;
        int64_t i;
        dync_real f;
        const char *s;
        dync_tensor *t;
        dync_list *l;
        dync_module *m;
        dync_node *n;
        dync_graph *g;
        void *p;
    } as;
} dync_value;

/* dync_v_int and its kin: one C value as a dync_value; DYNC_V picks among them. Tensors, lists and
 * strings are borrowed. A pointer value is passed on as it is and never followed.
 *   thread  any */
DYNC_API dync_value dync_v_value(dync_value v);
DYNC_API dync_value dync_v_tensor(dync_tensor *t);
DYNC_API dync_value dync_v_const_tensor(const dync_tensor *t);
DYNC_API dync_value dync_v_list(dync_list *l);
DYNC_API dync_value dync_v_module(dync_module *m);
DYNC_API dync_value dync_v_bool(bool b);
DYNC_API dync_value dync_v_int(int64_t i);
DYNC_API dync_value dync_v_float(dync_real f);
DYNC_API dync_value dync_v_str(const char *s);
DYNC_API dync_value dync_v_ptr(void *p);
DYNC_API dync_value dync_v_node(dync_node *n);
DYNC_API dync_value dync_v_graph(dync_graph *g);

/* DYNC_V(x): any C expression as a dync_value, so that dync_add(x, 2), dync_sub(1.0, x) and
 * dync_call(f, x, 3, list) all work. */
#if defined(__cplusplus)
#define DYNC_V(x) dync_v(x)
inline dync_value dync_v(dync_value v) { return v; }
inline dync_value dync_v(dync_tensor *t) { return dync_v_tensor(t); }
inline dync_value dync_v(const dync_tensor *t) { return dync_v_const_tensor(t); }
inline dync_value dync_v(dync_list *l) { return dync_v_list(l); }
inline dync_value dync_v(dync_module *m) { return dync_v_module(m); }
inline dync_value dync_v(dync_node *n) { return dync_v_node(n); }
inline dync_value dync_v(dync_graph *g) { return dync_v_graph(g); }
inline dync_value dync_v(bool b) { return dync_v_bool(b); }
inline dync_value dync_v(int i) { return dync_v_int(i); }
inline dync_value dync_v(unsigned i) { return dync_v_int(i); }
inline dync_value dync_v(long i) { return dync_v_int(i); }
inline dync_value dync_v(unsigned long i) { return dync_v_int(static_cast<int64_t>(i)); }
inline dync_value dync_v(long long i) { return dync_v_int(i); }
inline dync_value dync_v(unsigned long long i) { return dync_v_int(static_cast<int64_t>(i)); }
inline dync_value dync_v(float f) { return dync_v_float(static_cast<dync_real>(f)); }
inline dync_value dync_v(double f) { return dync_v_float(static_cast<dync_real>(f)); }
inline dync_value dync_v(const char *s) { return dync_v_str(s); }
inline dync_value dync_v(void *p) { return dync_v_ptr(p); }
inline dync_value dync_v(decltype(nullptr)) { return dync_v_tensor(nullptr); }
#else
/* Declared for its name, never defined: what the compiler says where a value is none of these. */
struct dync_expected_a_tensor_number_bool_text_list_module_or_void_pointer {
    int none;
};
dync_value dync_expected_a_tensor_number_bool_text_list_module_or_void_pointer(
    struct dync_expected_a_tensor_number_bool_text_list_module_or_void_pointer none);
#define DYNC_V_OF(x)                              \
    _Generic((x),                                 \
        dync_value: dync_v_value,                 \
        dync_tensor *: dync_v_tensor,             \
        dync_list *: dync_v_list,                 \
        const dync_tensor *: dync_v_const_tensor, \
        dync_module *: dync_v_module,             \
        dync_node *: dync_v_node,                 \
        dync_graph *: dync_v_graph,               \
        bool: dync_v_bool,                        \
        signed char: dync_v_int,                  \
        short: dync_v_int,                        \
        int: dync_v_int,                          \
        long: dync_v_int,                         \
        long long: dync_v_int,                    \
        unsigned char: dync_v_int,                \
        unsigned short: dync_v_int,               \
        unsigned: dync_v_int,                     \
        unsigned long: dync_v_int,                \
        unsigned long long: dync_v_int,           \
        float: dync_v_float,                      \
        double: dync_v_float,                     \
        char *: dync_v_str,                       \
        const char *: dync_v_str,                 \
        void *: dync_v_ptr,                       \
        default: dync_expected_a_tensor_number_bool_text_list_module_or_void_pointer)(x)
/* clang 22 calls __COUNTER__, which every call of an operator uses, an extension of C to come */
#if defined(__clang__) && defined(__has_warning)
#if __has_warning("-Wc2y-extensions")
#pragma clang diagnostic ignored "-Wc2y-extensions"
#endif
#endif
/* x is written once, so that nested calls stay linear in their depth */
#if defined(__GNUC__)
#define DYNC_V(x) DYNC_V_ONCE(DYNC_CAT(dync_v_, __COUNTER__), x)
#define DYNC_V_ONCE(v_, x)    \
    (__extension__({          \
        __auto_type v_ = (x); \
        DYNC_V_OF(v_);        \
    }))
#else
#define DYNC_V(x) DYNC_V_OF(x)
#endif
#endif

/* DYNC_T(x, what), DYNC_D(x, what): an operand that must be a tensor, or dims; DYNC_OTHER_T,
 * DYNC_OTHER_V: a call with another number of arguments, of an operator that gives a tensor or a
 * list. One line of the compiler says which operator and what it takes. */
#if defined(__GNUC__) && !defined(__cplusplus)
#define DYNC_T(x, what) DYNC_T_ONCE(DYNC_CAT(dync_t_, __COUNTER__), x, what)
#define DYNC_T_ONCE(t_, x, what)                                                           \
    (__extension__({                                                                       \
        __auto_type t_ = (x);                                                              \
        _Static_assert(                                                                    \
            _Generic(t_, dync_tensor *: 1, const dync_tensor *: 1, void *: 1, default: 0), \
            what " is no dync_tensor * (dync_as_tensor(v) is that of a dync_value)");      \
        _Generic(t_,                                                                       \
            dync_tensor *: t_,                                                             \
            const dync_tensor *: t_,                                                       \
            void *: t_,                                                                    \
            default: (dync_tensor *)0);                                                    \
    }))
#define DYNC_D(x, what) DYNC_D_ONCE(DYNC_CAT(dync_d_, __COUNTER__), x, what)
#define DYNC_D_ONCE(d_, x, what)                                             \
    (__extension__({                                                         \
        __auto_type d_ = (x);                                                \
        _Static_assert(_Generic(d_, dync_dims: 1, default: 0),               \
                       what " is no dync_dims: dync_shape(2, 3), DYNC_ALL"); \
        _Generic(d_, dync_dims: d_, default: DYNC_ALL);                      \
    }))
#else
#define DYNC_T(x, what) (x)
#define DYNC_D(x, what) (x)
#endif
#if defined(__cplusplus)
#define DYNC_OTHER_T(text, ...)     \
    ([]() -> dync_tensor * {        \
        static_assert(false, text); \
        return nullptr;             \
    }())
#define DYNC_OTHER_V(text, ...)     \
    ([]() -> dync_value {           \
        static_assert(false, text); \
        return DYNC_NONE;           \
    }())
#else
#define DYNC_OTHER_T(text, ...)     \
    ((dync_tensor *)sizeof(struct { \
        _Static_assert(0, text);    \
        int dync_;                  \
    }))
#define DYNC_OTHER_V(text, ...)     \
    (*(dync_value *)sizeof(struct { \
        _Static_assert(0, text);    \
        int dync_;                  \
    }))
#endif

/* What the macro of an operator dync_add calls: p, which packs arguments of these types for any
 * operator, with the operator's number and the place in the source. (Inside the implementation it
 * is the function dync_add itself, which knows the place.) */
#define DYNC_OP(f, p, op, ...) p(&op##_row, __VA_ARGS__, DYNC_HERE)
/* DYNC_OP_DIMS: the same of an operator that takes dims, which are written DYNC_D_OF. (Inside the
 * implementation they are handed on by their address: a copy for each call is much code.) */
#define DYNC_OP_DIMS(f, p, op, ...) DYNC_OP(f, p, op, __VA_ARGS__)
#define DYNC_D_OF(x, what) DYNC_D(x, what)
/* DYNC_SEQ2(f, p, op, a, b), DYNC_SEQ2_AND(f, p, op, a, b, more...), DYNC_SEQ3_AND(f, p, op, a, b,
 * c, more...): the same with a evaluated before b: in dync_sub(dync_exp(x), dync_sin(x)) exp comes
 * first on every compiler, so graphs and random numbers do not depend on it. (C leaves the order of
 * arguments open; elsewhere it stays so.) */
#if defined(__GNUC__) && !defined(__cplusplus)
#define DYNC_SEQ2(...) \
    DYNC_SEQ2_(DYNC_CAT(dync_x_, __COUNTER__), DYNC_CAT(dync_y_, __COUNTER__), __VA_ARGS__)
#define DYNC_SEQ2_(x_, y_, f, p, op, x, y) \
    (__extension__({                       \
        __auto_type x_ = (x);              \
        __auto_type y_ = (y);              \
        DYNC_OP(f, p, op, x_, y_);         \
    }))
#define DYNC_SEQ2_AND(...) \
    DYNC_SEQ2_AND_(DYNC_CAT(dync_x_, __COUNTER__), DYNC_CAT(dync_y_, __COUNTER__), __VA_ARGS__)
#define DYNC_SEQ2_AND_(x_, y_, f, p, op, x, y, ...) \
    (__extension__({                                \
        __auto_type x_ = (x);                       \
        __auto_type y_ = (y);                       \
        DYNC_OP(f, p, op, x_, y_, __VA_ARGS__);     \
    }))
#define DYNC_SEQ3_AND(...)                                                         \
    DYNC_SEQ3_AND_(DYNC_CAT(dync_x_, __COUNTER__), DYNC_CAT(dync_y_, __COUNTER__), \
                   DYNC_CAT(dync_z_, __COUNTER__), __VA_ARGS__)
#define DYNC_SEQ3_AND_(x_, y_, z_, f, p, op, x, y, z, ...) \
    (__extension__({                                       \
        __auto_type x_ = (x);                              \
        __auto_type y_ = (y);                              \
        __auto_type z_ = (z);                              \
        DYNC_OP(f, p, op, x_, y_, z_, __VA_ARGS__);        \
    }))
#else
#define DYNC_SEQ2(f, p, op, ...) DYNC_OP(f, p, op, __VA_ARGS__)
#define DYNC_SEQ2_AND(f, p, op, ...) DYNC_OP(f, p, op, __VA_ARGS__)
#define DYNC_SEQ3_AND(f, p, op, ...) DYNC_OP(f, p, op, __VA_ARGS__)
#endif
/* DYNC_OP_TWO(f, p, op, a, b): an operator of two values. (Inside the implementation a function of
 * their types is called with what they are, no dync_value.) */
#define DYNC_OP_TWO(f, p, op, x, y) DYNC_SEQ2(f, p, op, DYNC_V(x), DYNC_V(y))

/* DYNC_VALUES(a, b, ...): the arguments as an array of values that lives until the end of the full
 * expression. */
#if defined(__cplusplus)
template <class dync_T, size_t n> struct dync_pack {
    dync_T items[n];
};
#define DYNC_VALUES(...) \
    (dync_pack<dync_value, DYNC_COUNT(__VA_ARGS__)>{{DYNC_MAP_V(__VA_ARGS__)}}.items)
#else
#define DYNC_VALUES(...) \
    (dync_value[]) { DYNC_MAP_V(__VA_ARGS__) }
#endif

/* DYNC_VALUES_BEHIND(f, a, b): how many, and they; f may stand alone */
#define DYNC_VALUES_BEHIND(...) \
    DYNC_CAT(DYNC_VALUES_BEHIND_, DYNC_ONE_OR_MORE(__VA_ARGS__))(__VA_ARGS__)
#define DYNC_VALUES_BEHIND_1(f) 0, NULL
#define DYNC_VALUES_BEHIND_2(f, ...) DYNC_COUNT(__VA_ARGS__), DYNC_VALUES(__VA_ARGS__)

#define DYNC_NONE (DYNC_LITERAL(dync_value){DYNC_KIND_NONE, 0, {0}})
/* C11's `true` is an int; a bool parameter takes 0 and 1 as well */
#define DYNC_TRUE dync_v_bool(true)
#define DYNC_FALSE dync_v_bool(false)

/* dync_tuple(a, 2, dync_tuple(b, c)): a list of values; a list of C's and a tuple of Python's are
 * the same here. Lists nest.
 *
 *   items   copied; tensors keep a reference
 *   ->      a list, owned by the scope; none on failure
 *   errors  DYNC_ERR_VALUE (n < 0), DYNC_ERR_MEMORY
 *   thread  any */
#define dync_tuple(...) dync_tuple_of(DYNC_COUNT(__VA_ARGS__), DYNC_VALUES(__VA_ARGS__))
DYNC_API dync_value dync_tuple_of(int n, const dync_value *items);

/* dync_len: how many items a list has.
 *   ->      -1 where it is no list
 *   errors  DYNC_ERR_VALUE
 *   thread  any */
DYNC_API int dync_len(dync_value list);

/* dync_at: item i of a list.
 *   i       0 <= i < dync_len(list)
 *   ->      the item, borrowed from the list; none on failure
 *   errors  DYNC_ERR_VALUE, DYNC_ERR_INDEX
 *   thread  any */
DYNC_API dync_value dync_at(dync_value list, int i);
DYNC_API dync_value dync_at_at(dync_value list, int i, dync_loc at);
#define dync_at(...) DYNC_AT(dync_at, __VA_ARGS__)

/* dync_as_tensor: the tensor in a value.
 *   ->      borrowed; NULL and an error if v is no tensor
 *   errors  DYNC_ERR_VALUE
 *   thread  any */
DYNC_API dync_tensor *dync_as_tensor(dync_value v);
DYNC_API dync_tensor *dync_as_tensor_at(dync_value v, dync_loc at);
#define dync_as_tensor(...) DYNC_AT(dync_as_tensor, __VA_ARGS__)

/* dync_as_int, _float, _bool, _str: the plain number or text in a value.
 *
 *   v       int, float and bool convert into one another as in C; a text only through dync_as_str
 *   ->      0, false or NULL on failure
 *   errors  DYNC_ERR_VALUE
 *   notes   numbers are guarded by value, but for arguments named in .symbolic and cells: those
 *           have kind DYNC_KIND_SYM inside a traced function. Pass them on whole or combine them
 *           with dync_sym_*; these accessors specialise on them
 *   thread  any */
DYNC_API int64_t dync_as_int(dync_value v);
DYNC_API dync_real dync_as_float(dync_value v);
DYNC_API bool dync_as_bool(dync_value v);
DYNC_API const char *dync_as_str(dync_value v);

/* dync_sym_add, _sub, _mul, _floordiv, _mod, _min, _max, _float: arithmetic that keeps symbolic
 * numbers symbolic; on plain numbers it is plain arithmetic. floordiv rounds towards minus
 * infinity, mod has the sign of what is divided by, float converts.
 *   ->      an int or a float, or of DYNC_KIND_SYM; none on failure
 *   errors  DYNC_ERR_VALUE (no numbers; division by 0)
 *   notes   numbers of .symbolic and of cells are guarded by value where they go through _mod,
 *           _min, _max and _float, or meet a size
 *   thread  any */
DYNC_API dync_value dync_sym_add(dync_value a, dync_value b);
DYNC_API dync_value dync_sym_sub(dync_value a, dync_value b);
DYNC_API dync_value dync_sym_mul(dync_value a, dync_value b);
DYNC_API dync_value dync_sym_floordiv(dync_value a, dync_value b);
DYNC_API dync_value dync_sym_mod(dync_value a, dync_value b);
DYNC_API dync_value dync_sym_min(dync_value a, dync_value b);
DYNC_API dync_value dync_sym_max(dync_value a, dync_value b);
DYNC_API dync_value dync_sym_float(dync_value v);

/* dync_sym_lt, _le, _eq: comparisons. Of sizes they guard on their outcome alone; other symbolic
 * numbers are guarded by value.
 *   ->      false where one is no number
 *   errors  DYNC_ERR_VALUE
 *   thread  any */
DYNC_API bool dync_sym_lt(dync_value a, dync_value b);
DYNC_API bool dync_sym_le(dync_value a, dync_value b);
DYNC_API bool dync_sym_eq(dync_value a, dync_value b);

/* dync_as_dim, dync_as_real: a number for a C parameter, kept symbolic where it is a size: elements
 * of shapes, ends of slices and positions take dync_as_dim; dync_arange and other doubles
 * dync_as_real. To be passed on whole: arithmetic is dync_sym_*'s.
 *   ->      as dync_as_int, dync_as_float of other numbers, which guard on what is symbolic
 *   errors  DYNC_ERR_VALUE
 *   thread  any */
DYNC_API int64_t dync_as_dim(dync_value v);
DYNC_API dync_real dync_as_real(dync_value v);
