/* nn/nn.h: modules. After autograd/, before graph/. */
#ifndef DYNC__NN_H
#define DYNC__NN_H
#include "../autograd/autograd.h"

/* A parameter or buffer; the name is interned, the reference is the module's. */
typedef struct dync__module_entry {
    const char *name;
    dync__tensor *tensor;
    bool is_buffer;
} dync__module_entry;
typedef dync_tensor *(*dync__layer_forward)(dync__module *, dync_tensor *);
typedef dync_value (*dync__layer_forward_values)(dync__module *, const dync_value *args, int nargs);
struct dync__module {
    dync__root root;
    const char *class_name; /* "Linear" */
    const char *name;       /* within its parent, or the user's variable name */
    struct dync__module *parent;
    dync_forward forward; /* one of the four; the user's get handles */
    dync_forward_values forward_values;
    dync__layer_forward layer;
    dync__layer_forward_values layer_values;
    const char *args; /* argument names of forward_values, or NULL */
    void *user;
    DYNC__VEC(dync__module_entry) entry; /* parameters and buffers in order of registration */
    DYNC__VEC(dync__module *) child;
    bool training;
    /* The number of the state that it is in (training, tensors, children with theirs): guarded. A
     * state that was there before has the number that it had then (state.c). */
    uint64_t version;
    uint64_t id, last_version;
    bool watched; /* its states are remembered: a guard may name them */
    DYNC__VEC(struct dync__module_form *) past;
    struct dync__compiled *compiled; /* dync_module_compile's; NULL before */
    int64_t ints[8];
    double floats[4]; /* of built-in layers: kernel, stride, eps ... */
    void (*destroy)(struct dync__module *);
};
/* Hooks. call_compiled: of compile/, runs m->compiled (not asked while a trace is open: the forward
 * is then inlined). touched: of capture/, told of every module whose forward runs or whose
 * parameter, buffer or training flag is read while dync__tls.compiling. mode_switched: of capture/,
 * told then before dync_module_train switches one. */
DYNC__DATA_DECL void (*dync__module_touched)(dync__module *);
DYNC__DATA_DECL void (*dync__module_mode_switched)(dync__module *, bool training);
DYNC__DATA_DECL dync_value (*dync__module_call_compiled)(dync__module *, int nargs,
                                                         const dync_value *args);
DYNC__DATA_DECL void (*dync__module_drop_compiled)(dync__module *);
/* The innermost module whose forward runs in this thread, or NULL. */
DYNC__FN const dync__module *dync__module_running(void);
/* A module's own tensor by its name (no path), NULL where there is none; layers read their weights
 * with it. Borrowed. */
DYNC__FN dync__tensor *dync__module_tensor(const dync__module *, const char *name);
/* without a forward; NULL + DYNC_ERR_VALUE (no name), DYNC_ERR_MEMORY */
DYNC__FN dync__module *dync__module_alloc(const char *class_name);
/* may a part of a path be called that? */
DYNC__FN bool dync__module_part(const char *name);
DYNC__FN dync_status dync__module_args_check(const char *args_or_null);
/* its handle, for the user; NULL passes, and where memory is out */
DYNC__FN dync_module *dync__module_give(dync__module *taken);
DYNC__FN void dync__module_free(dync__module *); /* NULL allowed */
DYNC__FN void dync__module_add(dync__module *, const char *name, dync__module *taken);
/* adds or replaces; false: no memory, dropped */
DYNC__FN bool dync__module_put(dync__module *, const char *name, dync__tensor *taken,
                               bool is_buffer);
/* state.c. renumber: m has changed; bump: its ancestors with it; watch: from now on its states have
 * numbers that come back, and those of its children; forget: frees them. */
DYNC__FN void dync__module_renumber(dync__module *);
DYNC__FN void dync__module_bump(dync__module *);
DYNC__FN void dync__module_watch(dync__module *);
DYNC__FN void dync__module_states_use(void);
DYNC__FN void dync__module_forget(dync__module *);
/* it is read: tells capture/ while a function is traced */
DYNC__FN void dync__module_touch(const dync__module *);
/* what dync_module_train does to the module and those inside it */
DYNC__FN void dync__module_set_mode(dync__module *, bool training);
/* The forward of a class, built in or registered, into m; DYNC_ERR_VALUE where there is none
 * (layers.c). */
DYNC__FN dync_status dync__module_find_class(dync__module *m);
/* The i-th tensor of an optimizer's state (rates, counts, moments) and its name, "group0.lr",
 * "3.first"; borrowed; NULL behind the last. */
DYNC__FN dync__tensor *dync__optim_state(const dync__optim *, int i, char name[40]);
/* to be told once its state has been written */
DYNC__FN dync_status dync__optim_loaded(dync__optim *);
/* Initial values (init.c): each registers a new tensor in m, on failure of anything before it too
 * does nothing. false: an error is recorded. */
DYNC__FN bool dync__init_uniform(dync__module *m, const char *name, dync_dims shape, double bound);
DYNC__FN bool dync__init_normal(dync__module *m, const char *name, dync_dims shape);
DYNC__FN bool dync__init_full(dync__module *m, const char *name, dync_dims shape, int dtype,
                              double value, bool is_buffer);
/* Layers (layers.c) and those with files of their own. */
/* a weight, borrowed; NULL where there is none */
DYNC__FN dync_tensor *dync__layer_tensor(dync__module *, const char *name);
/* The library's classes. One of the two forwards is set: the first for layers of one tensor. */
#define DYNC__LAYER_CLASSES(X)                                   \
    X(AvgPool2d, dync__layer_avg_pool2d, NULL)                   \
    X(BatchNorm2d, dync__layer_batch_norm2d, NULL)               \
    X(Conv1d, dync__layer_conv1d, NULL)                          \
    X(Conv2d, dync__layer_conv2d, NULL)                          \
    X(ConvTranspose2d, dync__layer_conv_transpose2d, NULL)       \
    X(Dropout, dync__layer_dropout, NULL)                        \
    X(Embedding, dync__layer_embedding, NULL)                    \
    X(Flatten, dync__layer_flatten, NULL)                        \
    X(GELU, dync__layer_gelu, NULL)                              \
    X(GRU, NULL, dync__layer_recurrent)                          \
    X(GroupNorm, dync__layer_group_norm, NULL)                   \
    X(Identity, dync__layer_identity, NULL)                      \
    X(LSTM, NULL, dync__layer_recurrent)                         \
    X(LayerNorm, dync__layer_layer_norm, NULL)                   \
    X(LeakyReLU, dync__layer_leaky_relu, NULL)                   \
    X(Linear, dync__layer_linear, NULL)                          \
    X(MaxPool2d, dync__layer_max_pool2d, NULL)                   \
    X(MultiheadAttention, NULL, dync__layer_multihead_attention) \
    X(RMSNorm, dync__layer_rms_norm, NULL)                       \
    X(RNN, NULL, dync__layer_recurrent)                          \
    X(ReLU, dync__layer_relu, NULL)                              \
    X(Sequential, NULL, dync__layer_sequential)                  \
    X(SiLU, dync__layer_silu, NULL)                              \
    X(Sigmoid, dync__layer_sigmoid, NULL)                        \
    X(Softmax, dync__layer_softmax, NULL)                        \
    X(Tanh, dync__layer_tanh, NULL)
typedef struct dync__layer_class {
    const char *name;
    dync__layer_forward forward;
    dync__layer_forward_values forward_values;
} dync__layer_class;
#define DYNC__X(name, ...) DYNC__DATA_DECL const dync__layer_class dync__class_##name;
DYNC__LAYER_CLASSES(DYNC__X)
#undef DYNC__X
/* its forward into m */
DYNC__FN void dync__layer_take(dync__module *, const dync__layer_class *);
/* Of that class, without parameters yet; NULL + error. */
DYNC__FN dync__module *dync__layer_new(const dync__layer_class *);
/* the module, or NULL where its making failed */
DYNC__FN dync__module *dync__layer_done(dync__module *, bool ok);
/* all >= 1, or an error */
DYNC__FN bool dync__layer_sizes(const char *what, int n, const int64_t *sizes);
/* recursion: recurrent.c runs layers of the table in layers.c, and reads them by its functions */
DYNC__FN dync_value dync__layer_recurrent(dync__module *, const dync_value *args, int nargs);
/* recursion: attention.c does the same */
DYNC__FN dync_value dync__layer_multihead_attention(dync__module *, const dync_value *args,
                                                    int nargs);
/* What dync_module_parameters does: handles into out, borrowed; how many there are. */
DYNC__FN int dync__module_parameters(const dync__module *, dync_tensor **out, int capacity);
/* dync__module_call with a tensor in and out; NULL + error. */
DYNC__FN dync_tensor *dync__module_call_one(dync__module *, dync_tensor *x);
/* what dync_module_call does */
DYNC__FN dync_value dync__module_call(dync__module *, int nargs, const dync_value *args);
/* the plain forward, never the compiled one */
DYNC__FN dync_value dync__module_forward(dync__module *, int nargs, const dync_value *args);
/* The dotted path of a parameter from root, "0.weight", by tensor identity (into out); false if it
 * is not one of root's. */
DYNC__FN bool dync__module_path_of(const dync__module *root, const dync__tensor *, dync__str *out);
DYNC__FN dync__module *dync__module_walk(dync__module *m, const char *path, const char **last,
                                         const char *what);
#endif
