/* nn/layers.c: the modules at hand. After init.c, before optim.c.
 *
 * One row per class: its name in files, its forward. What a layer is configured by stands in ints
 * and floats of the module, so that a file restores it; its weights are found by PyTorch's names.
 *
 *   class            ints                                    floats
 *   Linear           in, out
 *   Conv*            in, out, kernel, stride, padding
 *   *Pool2d          kernel, stride, padding
 *   BatchNorm2d      features                                momentum, eps
 *   LayerNorm        features, features                      eps
 *   RMSNorm          features, features                      (eps is the dtype's)
 *   GroupNorm        groups, channels                        eps
 *   Embedding        count, features
 *   Softmax          dim                                     LeakyReLU: slope, Dropout: p */
#include "../dync.in.h"
#include "nn.h"
DYNC__COLD

/* Called in every forward, so that a traced one sees which module and tensor it reads. */
DYNC__FN dync_tensor *dync__layer_tensor(dync__module *m, const char *name)
{
    return dync__handle(dync__module_tensor(m, name));
}

/* ---- forward --------------------------------------------------------------------------------- */

/* Forwards of one tensor: NULL in gives NULL out, as operators pass it on. m is borrowed. A layer
 * without a bias has no such tensor, and NULL is none to the operator. */
static dync_tensor *dync__layer_linear(dync__module *m, dync_tensor *x)
{
    return dync_linear(x, dync__layer_tensor(m, "weight"), dync__layer_tensor(m, "bias"));
}

static dync_tensor *dync__layer_identity(dync__module *m, dync_tensor *x) { return (void)m, x; }
static dync_tensor *dync__layer_relu(dync__module *m, dync_tensor *x)
{
    return (void)m, dync_relu(x);
}
static dync_tensor *dync__layer_sigmoid(dync__module *m, dync_tensor *x)
{
    return (void)m, dync_sigmoid(x);
}
static dync_tensor *dync__layer_tanh(dync__module *m, dync_tensor *x)
{
    return (void)m, dync_tanh(x);
}
static dync_tensor *dync__layer_gelu(dync__module *m, dync_tensor *x)
{
    return (void)m, dync_gelu(x);
}
static dync_tensor *dync__layer_silu(dync__module *m, dync_tensor *x)
{
    return (void)m, dync_silu(x);
}
static dync_tensor *dync__layer_leaky_relu(dync__module *m, dync_tensor *x)
{
    return dync_leaky_relu(x, m->floats[0]);
}
static dync_tensor *dync__layer_softmax(dync__module *m, dync_tensor *x)
{
    return dync_softmax(x, (int)m->ints[0]);
}
/* All dims but the batch, as nn.Flatten does by default. */
static dync_tensor *dync__layer_flatten(dync__module *m, dync_tensor *x)
{
    return (void)m, dync_flatten(x, 1, -1);
}
static dync_tensor *dync__layer_dropout(dync__module *m, dync_tensor *x)
{
    return dync_dropout(x, m->floats[0], m->training);
}
static dync_tensor *dync__layer_embedding(dync__module *m, dync_tensor *x)
{
    return dync_embedding(dync__layer_tensor(m, "weight"), x);
}

static dync_tensor *dync__layer_conv2d(dync__module *m, dync_tensor *x)
{
    dync_dims stride = {2, {m->ints[3], m->ints[3]}}, padding = {2, {m->ints[4], m->ints[4]}},
              one = {2, {1, 1}};
    return dync_conv2d(x, dync__layer_tensor(m, "weight"), dync__layer_tensor(m, "bias"), stride,
                       padding, one, 1);
}

static dync_tensor *dync__layer_conv1d(dync__module *m, dync_tensor *x)
{
    dync_dims stride = {1, {m->ints[3]}}, padding = {1, {m->ints[4]}}, one = {1, {1}};
    return dync_conv1d(x, dync__layer_tensor(m, "weight"), dync__layer_tensor(m, "bias"), stride,
                       padding, one, 1);
}

static dync_tensor *dync__layer_conv_transpose2d(dync__module *m, dync_tensor *x)
{
    dync_dims stride = {2, {m->ints[3], m->ints[3]}}, padding = {2, {m->ints[4], m->ints[4]}},
              zero = {2, {0, 0}}, one = {2, {1, 1}};
    return dync_conv_transpose2d(x, dync__layer_tensor(m, "weight"), dync__layer_tensor(m, "bias"),
                                 stride, padding, zero, 1, one);
}

/* The count of batches is a buffer of PyTorch's files; momentum does not depend on it here. */
static dync_tensor *dync__layer_batch_norm2d(dync__module *m, dync_tensor *x)
{
    dync_tensor *batches = dync__layer_tensor(m, "num_batches_tracked");
    if (m->training && batches) dync_add_(batches, 1);
    return dync_batch_norm(x, dync__layer_tensor(m, "weight"), dync__layer_tensor(m, "bias"),
                           dync__layer_tensor(m, "running_mean"),
                           dync__layer_tensor(m, "running_var"), m->training, m->floats[0],
                           m->floats[1]);
}

static dync_tensor *dync__layer_layer_norm(dync__module *m, dync_tensor *x)
{
    dync_dims shape = {1, {m->ints[0]}};
    return dync_layer_norm(x, shape, dync__layer_tensor(m, "weight"), dync__layer_tensor(m, "bias"),
                           m->floats[0]);
}

static dync_tensor *dync__layer_group_norm(dync__module *m, dync_tensor *x)
{
    return dync_group_norm(x, m->ints[0], dync__layer_tensor(m, "weight"),
                           dync__layer_tensor(m, "bias"), m->floats[0]);
}

static dync_tensor *dync__layer_rms_norm(dync__module *m, dync_tensor *x)
{
    dync_dims shape = {1, {m->ints[0]}};
    return dync_rms_norm(x, shape, dync__layer_tensor(m, "weight"), DYNC_NONE);
}

/* The same number for height and width. */
static dync_dims dync__layer_pair(int64_t n)
{
    dync_dims dims = {2, {n, n}};
    return dims;
}

static dync_tensor *dync__layer_max_pool2d(dync__module *m, dync_tensor *x)
{
    return dync_max_pool2d(x, dync__layer_pair(m->ints[0]), dync__layer_pair(m->ints[1]),
                           dync__layer_pair(m->ints[2]), dync__layer_pair(1), false);
}

/* Padding counts in the mean, as in PyTorch's default. */
static dync_tensor *dync__layer_avg_pool2d(dync__module *m, dync_tensor *x)
{
    return dync_avg_pool2d(x, dync__layer_pair(m->ints[0]), dync__layer_pair(m->ints[1]),
                           dync__layer_pair(m->ints[2]), false, true);
}

/* What a module gives is the one argument of the next: a list, too. */
static dync_value dync__layer_sequential(dync__module *m, const dync_value *args, int nargs)
{
    if (nargs != 1) dync__fail(DYNC_ERR_VALUE, "Sequential: expected one argument, got %d", nargs);
    dync_value x = nargs == 1 ? args[0] : DYNC_NONE;
    for (int i = 0; i < m->child.n && x.kind != DYNC_KIND_NONE; i++)
        x = dync__module_call(m->child.at[i], 1, &x);
    return x;
}

/* ---- classes --------------------------------------------------------------------------------- */

/* One of the two forwards is set: the first for layers of one tensor. */
typedef struct dync__layer_class {
    const char *name;
    dync__layer_forward forward;
    dync__layer_forward_values forward_values;
} dync__layer_class;
static const dync__layer_class dync__layer_classes[] = {
    {"AvgPool2d", dync__layer_avg_pool2d, NULL},
    {"BatchNorm2d", dync__layer_batch_norm2d, NULL},
    {"Conv1d", dync__layer_conv1d, NULL},
    {"Conv2d", dync__layer_conv2d, NULL},
    {"ConvTranspose2d", dync__layer_conv_transpose2d, NULL},
    {"Dropout", dync__layer_dropout, NULL},
    {"Embedding", dync__layer_embedding, NULL},
    {"Flatten", dync__layer_flatten, NULL},
    {"GELU", dync__layer_gelu, NULL},
    {"GRU", NULL, dync__layer_recurrent},
    {"GroupNorm", dync__layer_group_norm, NULL},
    {"Identity", dync__layer_identity, NULL},
    {"LSTM", NULL, dync__layer_recurrent},
    {"LayerNorm", dync__layer_layer_norm, NULL},
    {"LeakyReLU", dync__layer_leaky_relu, NULL},
    {"Linear", dync__layer_linear, NULL},
    {"MaxPool2d", dync__layer_max_pool2d, NULL},
    {"MultiheadAttention", NULL, dync__layer_multihead_attention},
    {"RMSNorm", dync__layer_rms_norm, NULL},
    {"RNN", NULL, dync__layer_recurrent},
    {"ReLU", dync__layer_relu, NULL},
    {"Sequential", NULL, dync__layer_sequential},
    {"SiLU", dync__layer_silu, NULL},
    {"Sigmoid", dync__layer_sigmoid, NULL},
    {"Softmax", dync__layer_softmax, NULL},
    {"Tanh", dync__layer_tanh, NULL},
};

/* NULL for a class that is none of the library's. */
static const dync__layer_class *dync__layer_find(const char *name)
{
    for (int i = 0; i < DYNC__COUNT_OF(dync__layer_classes); i++)
        if (strcmp(dync__layer_classes[i].name, name) == 0) return &dync__layer_classes[i];
    return NULL;
}

/* Classes of the user, process-wide. */
typedef struct dync__user_class {
    const char *name;
    dync_forward_values forward;
} dync__user_class;
static struct {
    dync__mutex lock;
    DYNC__VEC(dync__user_class) at;
} dync__user_classes;

static void dync__user_classes_free(void) { dync__vec_free(&dync__user_classes.at); }

/* A name registered again gets the new forward; modules that exist keep theirs. */
DYNC_API dync_status dync_module_register_class(const char *class_name, dync_forward_values forward)
{
    if (!class_name || !*class_name || !forward)
        return dync__fail(DYNC_ERR_VALUE,
                          "dync_module_register_class: expected a name and a forward");
    if (dync__layer_find(class_name))
        return dync__fail(DYNC_ERR_VALUE, "duplicate name: %s", class_name);
    dync__user_class c = {dync__intern(class_name), forward};
    if (!c.name) return DYNC_ERR_MEMORY;
    dync__at_shutdown(dync__user_classes_free);
    dync__lock(&dync__user_classes.lock);
    bool done = false;
    for (int i = 0; i < dync__user_classes.at.n; i++)
        if (strcmp(dync__user_classes.at.at[i].name, class_name) == 0) {
            dync__user_classes.at.at[i].forward = forward;
            done = true;
        }
    if (!done) done = dync__vec_push(&dync__user_classes.at, c);
    dync__unlock(&dync__user_classes.lock);
    return done ? DYNC_OK : DYNC_ERR_MEMORY;
}

/* m->class_name says which. A built-in class comes before one of the user's. */
DYNC__FN dync_status dync__module_find_class(dync__module *m)
{
    const dync__layer_class *c = dync__layer_find(m->class_name);
    if (c) {
        m->layer = c->forward;
        m->layer_values = c->forward_values;
        return DYNC_OK;
    }
    dync__lock(&dync__user_classes.lock);
    for (int i = 0; i < dync__user_classes.at.n; i++)
        if (strcmp(dync__user_classes.at.at[i].name, m->class_name) == 0)
            m->forward_values = dync__user_classes.at.at[i].forward;
    dync__unlock(&dync__user_classes.lock);
    if (m->forward_values) return DYNC_OK;
    return dync__fail(DYNC_ERR_VALUE,
                      "module class \"%s\" is not known: dync_module_register_class comes first",
                      m->class_name);
}

/* ---- constructors ---------------------------------------------------------------------------- */

/* Without parameters yet. NULL and an error where there is no memory. */
DYNC__FN dync__module *dync__layer_new(const char *class_name)
{
    dync__module *m = dync__module_alloc(class_name);
    if (m && dync__module_find_class(m) == DYNC_OK) return m;
    dync__module_free(m);
    return NULL;
}

/* m, or NULL where its making failed. */
DYNC__FN dync__module *dync__layer_done(dync__module *m, bool ok)
{
    if (ok) return m;
    dync__module_free(m);
    return NULL;
}

DYNC__FN bool dync__layer_sizes(const char *what, int n, const int64_t *sizes)
{
    for (int i = 0; i < n; i++) {
        if (sizes[i] < 1)
            return dync__fail(DYNC_ERR_VALUE, "%s: expected sizes >= 1, got %lld", what,
                              (long long)sizes[i]),
                   false;
        /* a few of them side by side are counted without a check */
        if (sizes[i] > INT64_MAX / 16)
            return dync__fail(DYNC_ERR_SHAPE, "%s: a size of %lld is too large", what,
                              (long long)sizes[i]),
                   false;
    }
    return true;
}

/* Constructors give handles; a module without a parent lives until dync_module_free or shutdown. */
DYNC_API dync_module *dync_nn_relu(void) { return dync__module_give(dync__layer_new("ReLU")); }
DYNC_API dync_module *dync_nn_sigmoid(void)
{
    return dync__module_give(dync__layer_new("Sigmoid"));
}
DYNC_API dync_module *dync_nn_tanh(void) { return dync__module_give(dync__layer_new("Tanh")); }
DYNC_API dync_module *dync_nn_gelu(void) { return dync__module_give(dync__layer_new("GELU")); }
DYNC_API dync_module *dync_nn_silu(void) { return dync__module_give(dync__layer_new("SiLU")); }
DYNC_API dync_module *dync_nn_flatten(void)
{
    return dync__module_give(dync__layer_new("Flatten"));
}

DYNC_API dync_module *dync_nn_identity(void)
{
    return dync__module_give(dync__layer_new("Identity"));
}

DYNC_API dync_module *dync_nn_leaky_relu(double negative_slope)
{
    dync__module *m = dync__layer_new("LeakyReLU");
    if (m) m->floats[0] = negative_slope;
    return dync__module_give(m);
}

DYNC_API dync_module *dync_nn_softmax(int dim)
{
    dync__module *m = dync__layer_new("Softmax");
    if (m) m->ints[0] = dim;
    return dync__module_give(m);
}

DYNC_API dync_module *dync_nn_dropout(double p)
{
    if (!(p >= 0 && p <= 1))
        return dync__fail(DYNC_ERR_VALUE,
                          "dropout probability has to be between 0 and 1, but got %g", p),
               NULL;
    dync__module *m = dync__layer_new("Dropout");
    if (m) m->floats[0] = p;
    return dync__module_give(m);
}

/* weight [out, in] and bias [out], both uniform within 1 / sqrt(in). */
DYNC_API dync_module *dync_nn_linear(int64_t in, int64_t out, bool bias)
{
    const int64_t sizes[2] = {in, out};
    dync__module *m = dync__layer_sizes("dync_nn_linear", 2, sizes) ? dync__layer_new("Linear")
                                                                    : NULL;
    if (!m) return NULL;
    m->ints[0] = in;
    m->ints[1] = out;
    double bound = 1 / sqrt((double)in);
    bool ok = dync__init_uniform(m, "weight", dync_shape(out, in), bound) &&
              (!bias || dync__init_uniform(m, "bias", dync_shape(out), bound));
    return dync__module_give(dync__layer_done(m, ok));
}

/* dims: of the kernel; transposed: the weight is [in, out, ..], and PyTorch counts its fan by
 * out */
static dync__module *dync__layer_conv(const char *what, const char *class_name, int64_t in,
                                      int64_t out, int kernel, int stride, int padding, bool bias,
                                      int dims, bool transposed)
{
    const int64_t sizes[4] = {in, out, kernel, stride};
    if (padding < 0)
        return dync__fail(DYNC_ERR_VALUE, "%s: expected padding >= 0, got %d", what, padding), NULL;
    dync__module *m = dync__layer_sizes(what, 4, sizes) ? dync__layer_new(class_name) : NULL;
    if (!m) return NULL;
    memcpy(m->ints, sizes, sizeof sizes);
    m->ints[4] = padding;
    dync_dims shape = {2 + dims, {transposed ? in : out, transposed ? out : in, kernel, kernel}};
    double bound = 1 / sqrt((double)shape.d[1] * (dims == 2 ? (double)kernel * kernel : kernel));
    bool ok = dync__init_uniform(m, "weight", shape, bound) &&
              (!bias || dync__init_uniform(m, "bias", dync_shape(out), bound));
    return dync__layer_done(m, ok);
}

DYNC_API dync_module *dync_nn_conv1d(int64_t in, int64_t out, int kernel, int stride, int padding,
                                     bool bias)
{
    return dync__module_give(dync__layer_conv("dync_nn_conv1d", "Conv1d", in, out, kernel, stride,
                                              padding, bias, 1, false));
}

DYNC_API dync_module *dync_nn_conv2d(int64_t in, int64_t out, int kernel, int stride, int padding,
                                     bool bias)
{
    return dync__module_give(dync__layer_conv("dync_nn_conv2d", "Conv2d", in, out, kernel, stride,
                                              padding, bias, 2, false));
}

DYNC_API dync_module *dync_nn_conv_transpose2d(int64_t in, int64_t out, int kernel, int stride,
                                               int padding, bool bias)
{
    return dync__module_give(dync__layer_conv("dync_nn_conv_transpose2d", "ConvTranspose2d", in,
                                              out, kernel, stride, padding, bias, 2, true));
}

DYNC_API dync_module *dync_nn_batch_norm2d(int64_t features)
{
    dync__module *m = dync__layer_sizes("dync_nn_batch_norm2d", 1, &features)
                          ? dync__layer_new("BatchNorm2d")
                          : NULL;
    if (!m) return NULL;
    m->ints[0] = features;
    m->floats[0] = 0.1;  /* momentum */
    m->floats[1] = 1e-5; /* eps */
    dync_dims n = dync_shape(features);
    bool ok = dync__init_full(m, "weight", n, DYNC_F32, 1, false) &&
              dync__init_full(m, "bias", n, DYNC_F32, 0, false) &&
              dync__init_full(m, "running_mean", n, DYNC_F32, 0, true) &&
              dync__init_full(m, "running_var", n, DYNC_F32, 1, true) &&
              dync__init_full(m, "num_batches_tracked", DYNC_SCALAR, DYNC_I64, 0, true);
    return dync__module_give(dync__layer_done(m, ok));
}

/* Weights of one, and a bias of zero, for `features`; first is ints[0]. */
static dync__module *dync__layer_norm(const char *what, const char *class_name, int64_t first,
                                      int64_t features, bool bias)
{
    const int64_t sizes[2] = {first, features};
    dync__module *m = dync__layer_sizes(what, 2, sizes) ? dync__layer_new(class_name) : NULL;
    if (!m) return NULL;
    memcpy(m->ints, sizes, sizeof sizes);
    m->floats[0] = 1e-5;
    dync_dims n = dync_shape(features);
    bool ok = dync__init_full(m, "weight", n, DYNC_F32, 1, false) &&
              (!bias || dync__init_full(m, "bias", n, DYNC_F32, 0, false));
    return dync__layer_done(m, ok);
}

DYNC_API dync_module *dync_nn_layer_norm(int64_t features)
{
    return dync__module_give(
        dync__layer_norm("dync_nn_layer_norm", "LayerNorm", features, features, true));
}

DYNC_API dync_module *dync_nn_rms_norm(int64_t features)
{
    return dync__module_give(
        dync__layer_norm("dync_nn_rms_norm", "RMSNorm", features, features, false));
}

DYNC_API dync_module *dync_nn_group_norm(int64_t groups, int64_t channels)
{
    if (groups > 0 && channels % groups)
        return dync__fail(DYNC_ERR_VALUE,
                          "dync_nn_group_norm: num_channels must be divisible by "
                          "num_groups, got %lld and %lld",
                          (long long)channels, (long long)groups),
               NULL;
    return dync__module_give(
        dync__layer_norm("dync_nn_group_norm", "GroupNorm", groups, channels, true));
}

/* weight [count, features]. */
DYNC_API dync_module *dync_nn_embedding(int64_t count, int64_t features)
{
    const int64_t sizes[2] = {count, features};
    dync__module *m =
        dync__layer_sizes("dync_nn_embedding", 2, sizes) ? dync__layer_new("Embedding") : NULL;
    if (!m) return NULL;
    memcpy(m->ints, sizes, sizeof sizes);
    return dync__module_give(
        dync__layer_done(m, dync__init_normal(m, "weight", dync_shape(count, features))));
}

/* Nothing to initialise: a window, its stride and its padding. */
static dync__module *dync__layer_pool(const char *class_name, int kernel, int stride, int padding)
{
    const int64_t sizes[2] = {kernel, stride};
    if (padding < 0)
        return dync__fail(DYNC_ERR_VALUE, "%s: expected padding >= 0, got %d", class_name, padding),
               NULL;
    dync__module *m = dync__layer_sizes(class_name, 2, sizes) ? dync__layer_new(class_name) : NULL;
    if (!m) return NULL;
    memcpy(m->ints, sizes, sizeof sizes);
    m->ints[2] = padding;
    return m;
}

DYNC_API dync_module *dync_nn_max_pool2d(int kernel, int stride, int padding)
{
    return dync__module_give(dync__layer_pool("MaxPool2d", kernel, stride, padding));
}
DYNC_API dync_module *dync_nn_avg_pool2d(int kernel, int stride, int padding)
{
    return dync__module_give(dync__layer_pool("AvgPool2d", kernel, stride, padding));
}

/* Takes the children, which are named "0", "1", ..; on failure they are freed, those that were
 * added with the module. */
DYNC_API dync_module *dync_sequential_of(int n, dync_module **children)
{
    bool ok = n >= 0 && (n == 0 || children);
    dync__module *m = ok ? dync__layer_new("Sequential") : NULL;
    if (!ok) dync__fail(DYNC_ERR_VALUE, "dync_sequential: expected modules");
    for (int i = 0; ok && i < n; i++) {
        char name[16];
        dync__format(name, sizeof name, "%d", i);
        dync__module *child = children[i] ? dync__module_open(children[i], "dync_sequential")
                                          : NULL;
        if (m && child)
            dync__module_add(m, name, child);
        else if (m)
            dync__fail(DYNC_ERR_VALUE, "dync_sequential: module %d is NULL", i);
        else if (child && !child->parent)
            dync__module_free(child);
    }
    if (m && m->child.n == n) return dync__module_give(m);
    dync__module_free(m);
    return NULL;
}
