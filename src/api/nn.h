/* ---- modules
 * A module owns its parameters, buffers and children. One made by the user is released by
 * dync_module_free; a child belongs to its parent. Names may be dotted paths: "encoder.0.weight".
 * Unless said otherwise: errors DYNC_ERR_VALUE (NULL, unknown name), DYNC_ERR_MEMORY; thread not
 * while running. */

/* The modules at hand, with PyTorch's initial values and names of parameters.
 *   sizes   >= 1; stride >= 1, padding >= 0
 *   ->      a module, to be freed or taken by dync_sequential or dync_module_add; NULL on failure
 *   thread  any */
DYNC_API dync_module *dync_nn_linear(int64_t in, int64_t out, bool bias);
DYNC_API dync_module *dync_nn_relu(void);
DYNC_API dync_module *dync_nn_sigmoid(void);
DYNC_API dync_module *dync_nn_conv2d(int64_t in, int64_t out, int kernel, int stride, int padding,
                                     bool bias);
DYNC_API dync_module *dync_nn_batch_norm2d(int64_t features);
DYNC_API dync_module *dync_nn_lstm(int64_t input, int64_t hidden, int layers, bool bidirectional);

DYNC_API dync_module *dync_nn_tanh(void);
DYNC_API dync_module *dync_nn_gelu(void);
DYNC_API dync_module *dync_nn_silu(void);
DYNC_API dync_module *dync_nn_softmax(int dim);
DYNC_API dync_module *dync_nn_flatten(void); /* all dims but the first */
/* 0 <= p <= 1; does something in training mode only */
DYNC_API dync_module *dync_nn_dropout(dync_real p);
DYNC_API dync_module *dync_nn_layer_norm(int64_t features); /* over the last dim */
DYNC_API dync_module *dync_nn_embedding(int64_t count, int64_t features);
DYNC_API dync_module *dync_nn_identity(void);
DYNC_API dync_module *dync_nn_leaky_relu(dync_real negative_slope);
DYNC_API dync_module *dync_nn_conv1d(int64_t in, int64_t out, int kernel, int stride, int padding,
                                     bool bias);
DYNC_API dync_module *dync_nn_conv_transpose2d(int64_t in, int64_t out, int kernel, int stride,
                                               int padding, bool bias);
/* channels: a multiple of groups */
DYNC_API dync_module *dync_nn_group_norm(int64_t groups, int64_t channels);
DYNC_API dync_module *dync_nn_rms_norm(int64_t features); /* over the last dim */
/* Recurrent layers are called with x [length, batch, input] or [length, input] and, if wanted, a
 * state [layers * directions, batch, hidden]; they give (out, state). The state is h, or (h, c) of
 * an LSTM. rnn: with tanh.
 *   thread  any */
DYNC_API dync_module *dync_nn_rnn(int64_t input, int64_t hidden, int layers, bool bidirectional);
DYNC_API dync_module *dync_nn_gru(int64_t input, int64_t hidden, int layers, bool bidirectional);
/* dync_module_call(m, query, key, value, mask): query [batch, L, features], key and value [batch,
 * S, features] (DYNC_NONE or left out: the query), a mask as scaled_dot_product_attention takes it;
 * gives [batch, L, features]; all of them may be without the batch. PyTorch's with batch_first.
 *   thread  any */
DYNC_API dync_module *dync_nn_multihead_attention(int64_t features, int heads);
DYNC_API dync_module *dync_nn_max_pool2d(int kernel, int stride, int padding);
DYNC_API dync_module *dync_nn_avg_pool2d(int kernel, int stride, int padding);

/* dync_sequential(a, b, c): one after the other, each called with what the one before gives, a
 * list, too; children are named "0", "1", "2".
 *   children   taken, also on failure
 *   ->         a module; NULL on failure
 *   thread     any */
#if defined(__cplusplus)
#define dync_sequential(...)                    \
    dync_sequential_of(DYNC_COUNT(__VA_ARGS__), \
                       dync_pack<dync_module *, DYNC_COUNT(__VA_ARGS__)>{{__VA_ARGS__}}.items)
#else
#define dync_sequential(...) \
    dync_sequential_of(DYNC_COUNT(__VA_ARGS__), (dync_module *[]){__VA_ARGS__})
#endif
DYNC_API dync_module *dync_sequential_of(int n, dync_module **children);

/* dync_module_new: a module of one's own.
 *   class_name   in printed graphs and files; copied
 *   forward      called by dync_forward_call
 *   user         what dync_module_user gives
 *   ->           a module; NULL on failure
 *   thread       any */
typedef dync_tensor *(*dync_forward)(dync_module *self, dync_tensor *x);
DYNC_API dync_module *dync_module_new(const char *class_name, dync_forward forward, void *user);

/* dync_module_new_values: the same with any arguments: dync_module_new_values("Net", net_forward,
 * "a, b, e, f", user).
 *   args    their names, for messages and graphs
 *   thread  any */
typedef dync_value (*dync_forward_values)(dync_module *self, const dync_value *args, int nargs);
DYNC_API dync_module *dync_module_new_values(const char *class_name, dync_forward_values forward,
                                             const char *args, void *user);

/* dync_module_call(m, a, b, 2, 2): runs the module, its compiled form once dync_module_compile was
 * called. dync_forward_call: the same for one tensor.
 *   ->      owned by the scope; none or NULL on failure
 *   thread  any, unless the module is being changed */
#define dync_module_call(m, ...) \
    dync_module_call_named(#m, m, DYNC_COUNT(__VA_ARGS__), DYNC_VALUES(__VA_ARGS__), DYNC_HERE)
/* text: G['text'] in graphs */
DYNC_API dync_value dync_module_call_named(const char *text, dync_module *m, int nargs,
                                           const dync_value *args, dync_loc at);
DYNC_API dync_value dync_module_call_values(dync_module *m, int nargs, const dync_value *args);
DYNC_API dync_value dync_module_call_values_at(dync_module *m, int nargs, const dync_value *args,
                                               dync_loc at);
DYNC_API dync_tensor *dync_forward_call(dync_module *m, dync_tensor *x);
DYNC_API dync_tensor *dync_forward_call_at(dync_module *m, dync_tensor *x, dync_loc at);
DYNC_API dync_tensor *dync_forward_call_named(const char *text, dync_module *m, dync_tensor *x,
                                              dync_loc at);
#define dync_forward_call(...) \
    dync_forward_call_named(DYNC_FIRST_TEXT(__VA_ARGS__, 0), __VA_ARGS__, DYNC_HERE)

/* dync_module_user: the pointer given to dync_module_new.
 *   thread  any */
DYNC_API void *dync_module_user(const dync_module *m);

/* dync_module_register_class: lets dync_module_open find the forward of a class of one's own.
 * Process-wide.
 *   thread  any */
DYNC_API dync_status dync_module_register_class(const char *class_name,
                                                dync_forward_values forward);

/* dync_module_open: a whole module, structure and state, from a file that dync_module_save wrote.
 *   ->      a module; NULL on failure
 *   errors  DYNC_ERR_IO, DYNC_ERR_FORMAT, DYNC_ERR_VALUE (a class that is not registered),
 *           DYNC_ERR_MEMORY
 *   thread  any */
DYNC_API dync_module *dync_module_open(const char *path);
DYNC_API dync_module *dync_module_open_at(const char *path, dync_loc at);
#define dync_module_open(...) DYNC_AT(dync_module_open, __VA_ARGS__)

/* dync_module_child: a child by its path.
 *   ->      borrowed; NULL on failure
 *   thread  any */
DYNC_API dync_module *dync_module_child(dync_module *m, const char *name);

/* dync_module_add: makes child a child of m.
 *   child   taken
 *   thread  not while running */
DYNC_API void dync_module_add(dync_module *m, const char *name, dync_module *child);

/* dync_module_param, dync_module_buffer: a parameter or buffer by its path.
 *   ->      borrowed; NULL on failure
 *   thread  any */
DYNC_API dync_tensor *dync_module_param(dync_module *m, const char *name);
DYNC_API dync_tensor *dync_module_param_at(dync_module *m, const char *name, dync_loc at);
#define dync_module_param(...) DYNC_AT(dync_module_param, __VA_ARGS__)
DYNC_API dync_tensor *dync_module_buffer(dync_module *m, const char *name);

/* dync_module_set_param, dync_module_set_buffer: adds or replaces one. Compiled forms notice; with
 * the tensor of before, the form of before is found.
 *   t       a reference is kept; a parameter becomes a leaf that requires grad
 *   thread  not while running */
DYNC_API void dync_module_set_param(dync_module *m, const char *name, dync_tensor *t);
DYNC_API void dync_module_set_buffer(dync_module *m, const char *name, dync_tensor *t);

/* dync_module_is_compiled: was dync_module_compile called on it?
 *   thread  any */
DYNC_API bool dync_module_is_compiled(const dync_module *m);

/* dync_module_train: training or evaluation mode (batch norm), children included. Modules are made
 * in training mode. In a traced function: later calls of compiled code do it too; an exported
 * program keeps the mode that it was made in.
 *   thread  not while running */
DYNC_API void dync_module_train(dync_module *m, bool training);

/* dync_module_is_training: for the forward of a module of one's own. Traced: a guard.
 *   ->      false on failure
 *   thread  any */
DYNC_API bool dync_module_is_training(const dync_module *m);

/* dync_module_free: releases a module and its children. NULL does nothing.
 *   thread  not while running */
DYNC_API void dync_module_free(dync_module *m);

/* dync_module_parameters: every parameter, children's included, in the order of their making.
 *   out     borrowed tensors, at most capacity of them; may be NULL if capacity is 0
 *   ->      how many there are
 *   thread  any */
DYNC_API int dync_module_parameters(dync_module *m, dync_tensor **out, int capacity);

/* dync_module_to_device, dync_module_to_dtype: moves every parameter and buffer, children's
 * included, with its gradient; converts those of floating dtype. The tensors stay the same ones, so
 * that optimizers made before go on; what compiled forms know of them is guarded.
 *   errors  DYNC_ERR_DEVICE, DYNC_ERR_DTYPE, DYNC_ERR_MEMORY: the tensors before the failing one
 *           have moved
 *   thread  not while running */
DYNC_API dync_status dync_module_to_device(dync_module *m, dync_device device);
DYNC_API dync_status dync_module_to_dtype(dync_module *m, dync_dtype dtype);

/* dync_module_save, dync_module_load: the state as safetensors; save writes the structure into its
 * metadata as well.
 *   errors  DYNC_ERR_IO, DYNC_ERR_FORMAT (not such a file), DYNC_ERR_VALUE (a name is missing or
 *           unknown), DYNC_ERR_SHAPE, DYNC_ERR_DTYPE
 *   notes   a failed load leaves the module as it was
 *   thread  dync_module_save: any; dync_module_load: not while running */
DYNC_API dync_status dync_module_save(dync_module *m, const char *path);
DYNC_API dync_status dync_module_save_at(dync_module *m, const char *path, dync_loc at);
#define dync_module_save(...) DYNC_AT(dync_module_save, __VA_ARGS__)
DYNC_API dync_status dync_module_load(dync_module *m, const char *path);
DYNC_API dync_status dync_module_load_at(dync_module *m, const char *path, dync_loc at);
#define dync_module_load(...) DYNC_AT(dync_module_load, __VA_ARGS__)

/* ---- optimizers
 * dync_sgd(net, .lr = 0.1, .momentum = 0.9), dync_adam(net, ...), dync_adamw(net, ...): an
 * optimizer of every parameter of a module; dync_optim_new takes the parameters one by one. Zero
 * means default:
 *
 *   lr             1e-3
 *   momentum       SGD: none
 *   nesterov       SGD: with momentum
 *   weight_decay   SGD, Adam: none, added to the gradient; AdamW: 1e-2 (negative: none), taken from
 *                  the parameter
 *   beta1, beta2   Adam, AdamW: 0.9, 0.999
 *   eps            Adam, AdamW: 1e-8
 *   ->             released by dync_optim_free; NULL on failure. References to the parameters are
 *                  kept
 *   errors         DYNC_ERR_VALUE, DYNC_ERR_MEMORY
 *   notes          formulas as PyTorch's. Parameters, state and learning rate are tensors written
 *                  in place, so a step inside a traced function is part of the captured program.
 *                  C++17: dync_sgd(net, options)
 *   thread         not while running */
typedef enum { DYNC_OPTIM_SGD, DYNC_OPTIM_ADAM, DYNC_OPTIM_ADAMW } dync_optim_kind;
typedef struct dync_optim_options {
    dync_real lr DYNC__ZERO;
    dync_real momentum DYNC__ZERO;
    bool nesterov DYNC__ZERO;
    dync_real weight_decay DYNC__ZERO;
    dync_real beta1 DYNC__ZERO;
    dync_real beta2 DYNC__ZERO;
    dync_real eps DYNC__ZERO;
    int last_ DYNC__ZERO; /* private: so that a call without options has one */
} dync_optim_options;
typedef struct dync_optim dync_optim;
DYNC_API dync_optim *dync_optim_new(dync_optim_kind kind, int n, dync_tensor *const *params,
                                    dync_optim_options options);
DYNC_API dync_optim *dync_optim_of(dync_optim_kind kind, dync_module *m,
                                   dync_optim_options options);
/* private: of SGD alone, which a program links without the others */
DYNC_API dync_optim *dync__sgd_of(dync_module *m, dync_optim_options options);
#if DYNC__DESIGNATORS
#define dync_sgd(...) DYNC__SGD(__VA_ARGS__, .last_ = 0)
#define dync_adam(...) DYNC__OPTIM(DYNC_OPTIM_ADAM, __VA_ARGS__, .last_ = 0)
#define dync_adamw(...) DYNC__OPTIM(DYNC_OPTIM_ADAMW, __VA_ARGS__, .last_ = 0)
#define DYNC__SGD(m, ...) dync__sgd_of(m, DYNC_LITERAL(dync_optim_options){__VA_ARGS__})
#define DYNC__OPTIM(kind, m, ...) \
    dync_optim_of(kind, m, DYNC_LITERAL(dync_optim_options){__VA_ARGS__})
#else
inline dync_optim *dync_sgd(dync_module *m, dync_optim_options o = dync_optim_options())
{
    return dync__sgd_of(m, o);
}
inline dync_optim *dync_adam(dync_module *m, dync_optim_options o = dync_optim_options())
{
    return dync_optim_of(DYNC_OPTIM_ADAM, m, o);
}
inline dync_optim *dync_adamw(dync_module *m, dync_optim_options o = dync_optim_options())
{
    return dync_optim_of(DYNC_OPTIM_ADAMW, m, o);
}
#endif

/* dync_optim_add_group: more parameters, with options of their own; the optimizer was made with
 * group 0, the next ones are 1, 2, ... Options that are zero are those of group 0 (weight_decay
 * negative: none).
 *   params  leaves that are not in the optimizer yet; references are kept
 *   errors  DYNC_ERR_VALUE (no parameters, one twice, options), DYNC_ERR_MEMORY: nothing is added
 *   notes   a group counts its own steps. Adam and AdamW count those in which a parameter had a
 *           gradient, as PyTorch's
 *   thread  not while running */
DYNC_API dync_status dync_optim_add_group(dync_optim *o, int n, dync_tensor *const *params,
                                          dync_optim_options options);

/* dync_optim_step: one step down the gradients in .grad; a parameter without one is left alone.
 *   errors  DYNC_ERR_VALUE (NULL), those of the operators
 *   thread  not while running */
DYNC_API dync_status dync_optim_step(dync_optim *o);
DYNC_API dync_status dync_optim_step_at(dync_optim *o, dync_loc at);
#define dync_optim_step(...) DYNC_AT(dync_optim_step, __VA_ARGS__)

/* dync_optim_zero_grad: clears .grad of every parameter.
 *   thread  not while running */
DYNC_API void dync_optim_zero_grad(dync_optim *o);

/* dync_optim_set_lr: a new learning rate, of every group, from the next step on.
 * dync_optim_set_group_lr: of one group.
 *   errors  DYNC_ERR_VALUE (a rate below 0, no such group)
 *   thread  not while running */
DYNC_API dync_status dync_optim_set_lr(dync_optim *o, dync_real lr);
DYNC_API dync_status dync_optim_set_lr_at(dync_optim *o, dync_real lr, dync_loc at);
DYNC_API dync_status dync_optim_set_group_lr(dync_optim *o, int group, dync_real lr);
DYNC_API dync_status dync_optim_set_group_lr_at(dync_optim *o, int group, dync_real lr,
                                                dync_loc at);
#if !defined(DYNC_NO_LOCATION)
#define dync_optim_set_lr(...) DYNC_AT(dync_optim_set_lr, __VA_ARGS__)
#define dync_optim_set_group_lr(...) DYNC_AT(dync_optim_set_group_lr, __VA_ARGS__)
#endif

/* dync_clip_grad_norm(net, 1.0): scales the gradients of all parameters of a module, in place, so
 * that their norm, as if they were one vector, is at most max_norm: by max_norm / (norm + 1e-6)
 * where that is below 1, as torch.nn.utils.clip_grad_norm_ does. Inside a traced function it is
 * captured.
 *   ->      the norm before, 0-dim, F32, or F64 where a gradient is; 0 where there are none; owned
 *           by the scope; NULL on failure
 *   errors  DYNC_ERR_VALUE (max_norm < 0 or NaN), those of the operators
 *   thread  not while running */
DYNC_API dync_tensor *dync_clip_grad_norm(dync_module *m, dync_real max_norm);
DYNC_API dync_tensor *dync_clip_grad_norm_at(dync_module *m, dync_real max_norm, dync_loc at);
#define dync_clip_grad_norm(...) DYNC_AT(dync_clip_grad_norm, __VA_ARGS__)

/* dync_optim_free: NULL does nothing.
 *   thread  not while running */
DYNC_API void dync_optim_free(dync_optim *o);

/* ---- checkpoints
 * dync_checkpoint_save("run.ckpt", {"net", .module = net}, {"adam", .optim = optim},
 *                      {"epoch", .i = &epoch}, {"best", .f = &best});
 * saves a run in one safetensors file: the parameters and buffers of modules ("net.0.weight"), the
 * state of optimizers (moments, counts of steps, learning rates), tensors and numbers of one's own,
 * and the state of the calling thread's random numbers. dync_checkpoint_load with the same items
 * puts all of it back in place: a run that goes on from there is the one that was not stopped, bit
 * for bit, in compiled functions too, which compile nothing anew.
 *   name    not empty, without dots, not "dync", each another one
 *   item    one of module, optim, tensor, i, f
 *   errors  DYNC_ERR_IO, DYNC_ERR_FORMAT (no checkpoint), DYNC_ERR_VALUE (items; a name is missing
 *           in the file or has no item), DYNC_ERR_SHAPE, DYNC_ERR_DTYPE, DYNC_ERR_DEVICE,
 *           DYNC_ERR_MEMORY
 *   notes   a failed load changes nothing, a failed save leaves the old file. Gradients and the
 *           mode of modules are not saved. Inside a traced function both are graph breaks. C++:
 *           dync_checkpoint_save_items(path, n, items)
 *   thread  save: any; load: not while running */
typedef struct dync_checkpoint_item {
    const char *name DYNC__ZERO;
    dync_module *module DYNC__ZERO;
    dync_optim *optim DYNC__ZERO;
    dync_tensor *tensor DYNC__ZERO;
    int64_t *i DYNC__ZERO;
    dync_real *f DYNC__ZERO;
} dync_checkpoint_item;
DYNC_API dync_status dync_checkpoint_save_items(const char *path, int n,
                                                const dync_checkpoint_item *items);
DYNC_API dync_status dync_checkpoint_load_items(const char *path, int n,
                                                const dync_checkpoint_item *items);
#if !defined(__cplusplus)
#define dync_checkpoint_save(path, ...)                        \
    dync_checkpoint_save_items(path, DYNC__ITEMS(__VA_ARGS__), \
                               (dync_checkpoint_item[]){__VA_ARGS__})
#define dync_checkpoint_load(path, ...)                        \
    dync_checkpoint_load_items(path, DYNC__ITEMS(__VA_ARGS__), \
                               (dync_checkpoint_item[]){__VA_ARGS__})
#define DYNC__ITEMS(...) \
    ((int)(sizeof((dync_checkpoint_item[]){__VA_ARGS__}) / sizeof(dync_checkpoint_item)))
#endif
