/* errors, the life of tensors, beginning and end of the library */

/* ---- errors: sticky, per thread
 * A call that fails returns NULL (or the status) and records the first error with the operator, the
 * shapes involved and the user's file:line; every call takes NULL for a tensor and passes it on
 * (with no error pending, a NULL operand is itself DYNC_ERR_VALUE), so a chain is checked once, at
 * its end. Unless a handler is set the first error is also printed to stderr, once. */
typedef enum {
    DYNC_OK = 0,
    DYNC_ERR_SHAPE,
    DYNC_ERR_DTYPE,
    DYNC_ERR_DEVICE,
    DYNC_ERR_VALUE,
    DYNC_ERR_INDEX,
    DYNC_ERR_MEMORY,
    DYNC_ERR_IO,
    DYNC_ERR_FORMAT,
    DYNC_ERR_AUTOGRAD,
    DYNC_ERR_UNSUPPORTED /* fullgraph met a break */,
    DYNC_ERR_BACKEND /* a backend failed to compile */,
    DYNC_ERR_COMPILE,
    DYNC_ERR_RUNTIME,
    DYNC_ERR_ACCURACY,
    DYNC_ERR_DATA_PTR /* data of a fake tensor */,
    DYNC_ERR_RECOMPILE_LIMIT /* only under fullgraph */,
    DYNC_ERR_INTERNAL
} dync_status;

/* dync_error: the first error of this thread since dync_clear_error.
 *   ->      DYNC_OK where there is none; still readable after dync_shutdown, so that main may
 *           return it
 *   thread  any */
DYNC_API dync_status dync_error(void);

/* dync_error_message: what went wrong, where, what was expected and what came; one line.
 *   ->      borrowed until the next dync_clear_error of this thread; "" where there is no error
 *   thread  any */
DYNC_API const char *dync_error_message(void);

/* dync_error_class: PyTorch's name for the error: "Unsupported", "BackendCompilerFailed", …
 *   ->      borrowed until the next dync_clear_error of this thread; "" where there is no error
 *   thread  any */
DYNC_API const char *dync_error_class(void);

/* dync_clear_error: forgets the error, so that the next one is recorded.
 *   thread  any */
DYNC_API void dync_clear_error(void);

/* dync_on_error: fn is called with each first error of this thread instead of printing it.
 *   fn      NULL: print again. It returns normally; it may call dync: what fails there is recorded
 *           and not told again
 *   thread  any */
DYNC_API void dync_on_error(void (*fn)(dync_status, const char *message, void *user), void *user);

/* ---- memory: scopes
 * Every tensor an operator makes is released when the innermost scope ends, so nested calls leak
 * nothing. DYNC_SCOPE { ... } for loops; dync_escape(t) hands t to the enclosing scope;
 * retain/release for what outlives both. With GCC and Clang leaving the block by break, return or
 * goto closes it too (cleanup attribute), DYNC_NO_GRAD likewise; elsewhere a scope left open is
 * closed with the one around it. */
#define DYNC_SCOPE                                                                            \
    for (dync_scope dync_s_ DYNC__CLEANUP(dync_scope_end) = dync_scope_begin(); dync_s_.open; \
         dync_scope_end(&dync_s_))
typedef struct {
    void *mark;
    bool open;
} dync_scope;

/* dync_scope_begin, dync_scope_end: what DYNC_SCOPE is made of.
 *   notes   ending a scope ends those inside it; ending it twice does nothing. begin gives a closed
 *           scope where memory is out
 *   errors  DYNC_ERR_MEMORY
 *   thread  any */
DYNC_API dync_scope dync_scope_begin(void);
DYNC_API void dync_scope_end(dync_scope *scope);

/* dync_escape: hands a tensor to the scope around the innermost one.
 *   t       owned by the innermost scope; a tensor of an outer scope stays where it is
 *   ->      t
 *   thread  any */
DYNC_API dync_tensor *dync_escape(dync_tensor *t);

/* dync_retain, dync_release: one reference more, or one less. A retained tensor outlives its scope
 * until it is released.
 *   t       NULL does nothing. What was made inside a traced function stands for a value of that
 *           call: used after it, it is an error, retained or not. Return it instead
 *   ->      t
 *   errors  DYNC_ERR_VALUE: released more often than retained
 *   thread  any */
DYNC_API dync_tensor *dync_retain(dync_tensor *t);
DYNC_API dync_tensor *dync_retain_at(dync_tensor *t, dync_loc at);
#if !defined(DYNC_NO_LOCATION)
#define dync_retain(...) DYNC_AT(dync_retain, __VA_ARGS__)
#endif
DYNC_API void dync_release(dync_tensor *t);
DYNC_API void dync_release_at(dync_tensor *t, dync_loc at);
#if !defined(DYNC_NO_LOCATION)
#define dync_release(...) DYNC_AT(dync_release, __VA_ARGS__)
#endif

/* dync_init: settings of the process, before anything else is called. Optional.
 *
 *   memory  every allocation is taken from this buffer and none from DYNC_MALLOC; it is borrowed
 *           until dync_shutdown
 *   threads of the pool, 0: one per core, or DYNC_THREADS of the environment
 *   seed    as dync_manual_seed
 *   errors  DYNC_ERR_VALUE: dync is in use already; a buffer too small to be of use
 *   thread  not while running */
/* all optional */
typedef struct {
    void *memory;
    size_t memory_size;
    int threads;
    uint64_t seed;
} dync_init_options;
DYNC_API dync_status dync_init(dync_init_options options);

/* dync_shutdown: frees everything; a leak checker then reports nothing. dync may be used again
 * afterwards.
 *   notes   handles from before are dead; dync_error stays readable
 *   errors  DYNC_ERR_VALUE, inside a function that is being traced, or called as it is written
 *   thread  not while running */
DYNC_API void dync_shutdown(void);
