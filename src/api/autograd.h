/* ---- autograd -------------------------------------------------------------------------------- */

/* dync_backward: accumulates the gradient of loss into every leaf it depends on. dync_backward_with
 * starts from grad_out instead of 1.
 *
 *   loss      one element, with a gradient history
 *   grad_out  shape and dtype of out
 *   errors    DYNC_ERR_AUTOGRAD (no history; history freed by an earlier call; a saved tensor was
 *             modified), DYNC_ERR_SHAPE, DYNC_ERR_MEMORY
 *   notes     frees the history: dync_backward_opt(.retain_graph) keeps it. Inside a traced
 *             function a graph break, but captured under fullgraph, where the tensors it reaches
 *             must be leaves (DYNC_ERR_UNSUPPORTED) and a loss that is returned has no history left
 *   thread    any: threads that share a leaf add to its gradient one after the other */
DYNC_API dync_status dync_backward(dync_tensor *loss);
DYNC_API dync_status dync_backward_at(dync_tensor *loss, dync_loc at);
#define dync_backward(...) DYNC__DIFFERENTIATES(DYNC_AT(dync_backward, __VA_ARGS__))
DYNC_API dync_status dync_backward_with(dync_tensor *out, dync_tensor *grad_out);
DYNC_API dync_status dync_backward_with_at(dync_tensor *out, dync_tensor *grad_out, dync_loc at);
#define dync_backward_with(...) DYNC__DIFFERENTIATES(DYNC_AT(dync_backward_with, __VA_ARGS__))

/* retain_graph: the history survives. create_graph: the gradients have a history of their own (and
 * the other's survives). allow_unused: an input that does not matter has gradient none instead of
 * an error. */
typedef struct {
    bool retain_graph, create_graph, allow_unused;
} dync_grad_options;

/* dync_backward_opt: dync_backward of several outputs at once.
 *   outputs                a tensor or a list
 *   grad_outputs_or_none   as many; none where the output is a scalar
 *   errors                 as dync_backward
 *   thread                 any */
DYNC_API dync_status dync_backward_opt(dync_value outputs, dync_value grad_outputs_or_none,
                                       dync_grad_options options);
DYNC_API dync_status dync_backward_opt_at(dync_value outputs, dync_value grad_outputs_or_none,
                                          dync_grad_options options, dync_loc at);
#define dync_backward_opt(...) DYNC__DIFFERENTIATES(DYNC_AT(dync_backward_opt, __VA_ARGS__))

/* dync_gradients: gradients of outputs with respect to inputs; .grad stays untouched.
 * torch.autograd.grad.
 *   inputs    a tensor or a list of them
 *   ->        a list of as many gradients, owned by the scope; none where unused and allowed
 *   errors    as dync_backward; DYNC_ERR_AUTOGRAD (an input that was not used)
 *   thread    any */
DYNC_API dync_value dync_gradients(dync_value outputs, dync_value inputs,
                                   dync_value grad_outputs_or_none, dync_grad_options options);
DYNC_API dync_value dync_gradients_at(dync_value outputs, dync_value inputs,
                                      dync_value grad_outputs_or_none, dync_grad_options options,
                                      dync_loc at);
#define dync_gradients(...) DYNC__DIFFERENTIATES(DYNC_AT(dync_gradients, __VA_ARGS__))

/* dync_grad: the gradient accumulated in a leaf.
 *   ->      borrowed from t until its next dync_set_grad; NULL where there is none, which is no
 *           error
 *   thread  any */
DYNC_API dync_tensor *dync_grad(const dync_tensor *t);

/* dync_set_grad: replaces it; NULL clears it.
 *   grad_or_null   shape, dtype and device of t; a reference is kept
 *   errors         DYNC_ERR_SHAPE, DYNC_ERR_DTYPE, DYNC_ERR_DEVICE
 *   notes          inside a traced function an effect, repeated in every call
 *   thread         not while running */
DYNC_API void dync_set_grad(dync_tensor *t, dync_tensor *grad_or_null);
DYNC_API void dync_set_grad_at(dync_tensor *t, dync_tensor *grad_or_null, dync_loc at);
#define dync_set_grad(...) DYNC_AT(dync_set_grad, __VA_ARGS__)

/* dync_is_leaf: t was made by the user, not by an operator with gradient. dync_has_grad_fn: the
 * opposite, with a node behind it.
 *   thread  any */
DYNC_API bool dync_is_leaf(const dync_tensor *t);
DYNC_API bool dync_has_grad_fn(const dync_tensor *t);

/* dync_grad_fn_call: runs the node that made `out` alone.
 *   grads   one per output of the node
 *   ->      a list of its inputs' gradients, owned by the scope; none where it has no node
 *   errors  DYNC_ERR_AUTOGRAD, DYNC_ERR_SHAPE
 *   thread  any */
DYNC_API dync_value dync_grad_fn_call(dync_tensor *out, dync_value grads);
DYNC_API dync_value dync_grad_fn_call_at(dync_tensor *out, dync_value grads, dync_loc at);
#define dync_grad_fn_call(...) DYNC__DIFFERENTIATES(DYNC_AT(dync_grad_fn_call, __VA_ARGS__))

typedef dync_tensor *(*dync_hook)(dync_tensor *grad, void *user);
/* dync_grad_fn_hook: hooks of the node that made `out`. Each runs once when the node does: pre sees
 * the gradient of `out` (NULL where none came), post the first of those that leave the node (NULL
 * where none does). What they return replaces it.
 *   pre_or_null, post_or_null   a hook that returns NULL changes nothing
 *   ->      an id, -1 on failure
 *   errors  DYNC_ERR_AUTOGRAD (no node)
 *   thread  not while running */
DYNC_API int dync_grad_fn_hook(dync_tensor *out, dync_hook pre_or_null, dync_hook post_or_null,
                               void *user);

/* dync_trace_meta_get: what is known of the node of backward that this thread is running, hooks
 * included.
 *   key   "grad_fn_seq_nr": its sequence number; "in_grad_fn": "1"
 *   ->    text owned by the scope; NULL where no node runs, or for another key
 *   errors  DYNC_ERR_VALUE (NULL)
 *   thread  any */
DYNC_API const char *dync_trace_meta_get(const char *key);

/* dync_requires_grad_: switches gradients of a leaf on or off.
 *   t       floating; a leaf, if switched off
 *   ->      t
 *   errors  DYNC_ERR_DTYPE, DYNC_ERR_AUTOGRAD
 *   thread  not while running */
DYNC_API dync_tensor *dync_requires_grad_(dync_tensor *t, bool on);
DYNC_API dync_tensor *dync_requires_grad__at(dync_tensor *t, bool on, dync_loc at);
#define dync_requires_grad_(...) DYNC_AT(dync_requires_grad_, __VA_ARGS__)

/* dync_detach: the same memory without gradient history. A view, owned by the scope.
 *   thread  any */
DYNC_API dync_tensor *dync_detach(dync_tensor *t);

/* dync_is_grad_enabled, dync_set_grad_enabled: does this thread record gradients? On at first.
 *   notes   traced: reading is a guard, setting becomes part of the captured program
 *   thread  any */
DYNC_API bool dync_is_grad_enabled(void);
DYNC_API void dync_set_grad_enabled(bool on);

/* DYNC_NO_GRAD { ... }: nothing in the block is recorded. push gives the mode from before, which
 * pop restores.
 *   thread  any */
#define DYNC_NO_GRAD                                                                      \
    for (bool dync_g_ DYNC__CLEANUP(dync_grad_mode_restore) = dync_grad_mode_push(false), \
                      dync_o_ = true;                                                     \
         dync_o_; dync_o_ = (dync_grad_mode_pop(dync_g_), false))
DYNC_API bool dync_grad_mode_push(bool on);
DYNC_API void dync_grad_mode_pop(bool before);
#if defined(__GNUC__)
__attribute__((unused)) static inline void dync_grad_mode_restore(bool *before)
{
    dync_grad_mode_pop(*before);
}
#endif

/* dync_register_hook: fn sees the gradient of t when it is computed, and may return another in its
 * place; NULL keeps it.
 *   t       requires grad
 *   ->      an id for dync_remove_hook, -1 on failure
 *   errors  DYNC_ERR_AUTOGRAD
 *   notes   hooks of a tensor run in the order of registration
 *   thread  not while running */
DYNC_API int dync_register_hook(dync_tensor *t, dync_hook fn, void *user);

/* dync_register_post_accumulate_hook: fn runs after a backward has added to the gradient of a leaf
 * (torch.Tensor's register_post_accumulate_grad_hook): an optimizer's step, then
 * dync_set_grad(param, NULL), frees each gradient as soon as it was used.
 *   param   a leaf that requires grad
 *   ->      an id for dync_remove_hook, -1 on failure
 *   errors  DYNC_ERR_AUTOGRAD, DYNC_ERR_VALUE
 *   notes   in a traced function every call registers it, as one that runs as written does; a
 *           backward in the same graph runs it as a part of that
 *   thread  not while running */
typedef void (*dync_param_hook)(dync_tensor *param, void *user);
DYNC_API int dync_register_post_accumulate_hook(dync_tensor *param, dync_param_hook fn, void *user);

/* dync_retain_grad: from now on t, which is no leaf, keeps its gradient in .grad as leaves do.
 *   errors  DYNC_ERR_AUTOGRAD (t does not require grad)
 *   thread  not while running */
DYNC_API dync_status dync_retain_grad(dync_tensor *t);

/* dync_remove_hook: an id that is not there does nothing.
 *   thread  not while running */
DYNC_API void dync_remove_hook(dync_tensor *t, int id);

/* An operator of one's own with its gradient. forward saves what backward needs; backward gives a
 * gradient, or none, per argument. */
typedef struct dync_autograd_ctx dync_autograd_ctx;
typedef struct {
    const char *name;
    dync_value (*forward)(dync_autograd_ctx *, const dync_value *args, int nargs);
    dync_value (*backward)(dync_autograd_ctx *, const dync_value *grads, int ngrads);
} dync_autograd_function;

/* dync_save_for_backward, dync_saved: keep a tensor from forward to backward; i counts in the order
 * of saving.
 *   ->      borrowed; NULL on failure
 *   errors  DYNC_ERR_INDEX, DYNC_ERR_AUTOGRAD (modified since), DYNC_ERR_MEMORY
 *   thread  any */
DYNC_API void dync_save_for_backward(dync_autograd_ctx *ctx, dync_tensor *t);
DYNC_API dync_tensor *dync_saved(dync_autograd_ctx *ctx, int i);

/* dync_apply(&fn, x, 2): calls an autograd function.
 *   ->      what forward returned, owned by the scope
 *   errors  DYNC_ERR_VALUE, and those of forward
 *   thread  any */
#define dync_apply(fn, ...) dync_apply_values(fn, DYNC_COUNT(__VA_ARGS__), DYNC_VALUES(__VA_ARGS__))
DYNC_API dync_value dync_apply_values(const dync_autograd_function *fn, int nargs,
                                      const dync_value *args);

/* dync_trace_wrapped: fn(grad), without recording gradients. For hooks: in graphs that AOT autograd
 * or dync_make_graph traces it is one node, never looked into, whose result has the form of grad;
 * dync_compile and compiled autograd go through fn.
 *   grad    any tensor
 *   fn      NULL from it stands for grad
 *   ->      owned by the scope
 *   errors  DYNC_ERR_VALUE, and those of fn
 *   thread  any */
DYNC_API dync_tensor *dync_trace_wrapped(dync_tensor *grad, dync_hook fn, void *user);

/* A number of the user's that captured code reads and writes (a counter in a hook): traced as an
 * input, written back after every run. */
typedef struct dync_cell dync_cell;

/* dync_cell_new: a cell that holds a number.
 *   name    the input's name in printed graphs; copied
 *   ->      released by dync_cell_free; NULL on failure
 *   errors  DYNC_ERR_VALUE, DYNC_ERR_MEMORY
 *   thread  any; dync_cell_free: not while running */
DYNC_API dync_cell *dync_cell_new(const char *name, dync_value initial);
DYNC_API void dync_cell_free(dync_cell *cell);

/* dync_cell_set, dync_cell_get: write and read. Traced: the value is a symbol, writing is an effect
 * of every call.
 *   errors  DYNC_ERR_VALUE
 *   thread  not while running */
DYNC_API void dync_cell_set(dync_cell *cell, dync_value value);
DYNC_API dync_value dync_cell_get(dync_cell *cell);

/* DYNC_COMPILED_AUTOGRAD(backend) { ... }: backward itself captured at run time and handed to
 * `backend` (dynamic shapes, fullgraph) while the block is open.
 *   backend   NULL: the default
 *   ->        begin: false where the backend does not exist; the block is then skipped
 *   errors    DYNC_ERR_VALUE
 *   thread    any */
#define DYNC_COMPILED_AUTOGRAD(backend)                             \
    for (bool dync_c_ DYNC__CLEANUP(dync_compiled_autograd_leave) = \
             dync_compiled_autograd_begin(backend);                 \
         dync_c_; dync_c_ = (dync_compiled_autograd_end(), false))
DYNC_API bool dync_compiled_autograd_begin(const char *backend);
DYNC_API void dync_compiled_autograd_end(void);
#if defined(__GNUC__)
__attribute__((unused)) static inline void dync_compiled_autograd_leave(bool *open)
{
    if (*open) dync_compiled_autograd_end();
}
#endif
