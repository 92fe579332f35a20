/* ---- autograd ------------------------------------------------------------------ */
dync_status  dync_backward(dync_tensor *loss);                   /* grad of a non-scalar: dync_backward_with */
dync_status  dync_backward_with(dync_tensor *out, dync_tensor *grad_out);
typedef dync_tensor *(*dync_hook)(dync_tensor *grad, void *user);
typedef struct { bool retain_graph, create_graph, allow_unused; } dync_grad_options;
dync_status  dync_backward_opt(dync_value outputs, dync_value grad_outputs_or_none, dync_grad_options);
/* gradients of outputs with respect to inputs (lists or single tensors), as a list; .grad stays untouched: torch.autograd.grad */
dync_value   dync_gradients(dync_value outputs, dync_value inputs, dync_value grad_outputs_or_none, dync_grad_options);
dync_tensor *dync_grad(const dync_tensor *);                     /* accumulated gradient or NULL */
bool         dync_is_leaf(const dync_tensor *);
dync_value   dync_grad_fn_call(dync_tensor *out, dync_value grads); /* runs the node that made `out` alone; none where it has no node */
bool         dync_has_grad_fn(const dync_tensor *);
int          dync_grad_fn_hook(dync_tensor *out, dync_hook pre_or_null, dync_hook post_or_null, void *user);
void         dync_set_grad(dync_tensor *, dync_tensor *grad_or_null);
dync_tensor *dync_requires_grad_(dync_tensor *, bool), *dync_detach(dync_tensor *);
bool         dync_is_grad_enabled(void);
void         dync_set_grad_enabled(bool);                        /* traced: becomes part of the captured program */
#define DYNC_NO_GRAD for (bool dync_g_ = dync_grad_mode_push(false), dync_o_ = true; dync_o_; dync_o_ = (dync_grad_mode_pop(dync_g_), false))
bool dync_grad_mode_push(bool); void dync_grad_mode_pop(bool);
int          dync_register_hook(dync_tensor *, dync_hook, void *user);   /* id for dync_remove_hook */
void         dync_remove_hook(dync_tensor *, int id);
typedef struct dync_autograd_ctx dync_autograd_ctx;
typedef struct {
    const char *name;
    dync_value (*forward)(dync_autograd_ctx *, const dync_value *args, int nargs);
    dync_value (*backward)(dync_autograd_ctx *, const dync_value *grads, int ngrads); /* a gradient, or none, per argument */
} dync_autograd_function;
void         dync_save_for_backward(dync_autograd_ctx *, dync_tensor *);
dync_tensor *dync_saved(dync_autograd_ctx *, int i);
#define      dync_apply(fn, ...) dync_apply_values(fn, DYNC_COUNT(__VA_ARGS__), (dync_value[]){DYNC_MAP_V(__VA_ARGS__)})
dync_value   dync_apply_values(const dync_autograd_function *, int nargs, const dync_value *args);
dync_tensor *dync_trace_wrapped(dync_tensor *grad, dync_hook fn, void *user); /* runs fn in backward, stays one node in a graph */
/* A number of the user's that captured code reads and writes (a counter in a hook): traced as an input, written back after every run. */
typedef struct dync_cell dync_cell;
dync_cell   *dync_cell_new(const char *name, dync_value initial);   /* the name is the input's in printed graphs */
void         dync_cell_free(dync_cell *), dync_cell_set(dync_cell *, dync_value);
dync_value   dync_cell_get(dync_cell *);

/* backward itself captured at run time and handed to `backend` (dynamic shapes, fullgraph) while the block is open */
#define DYNC_COMPILED_AUTOGRAD(backend) for (bool dync_c_ = dync_compiled_autograd_begin(backend); dync_c_; dync_c_ = (dync_compiled_autograd_end(), false))
bool dync_compiled_autograd_begin(const char *backend); void dync_compiled_autograd_end(void);
