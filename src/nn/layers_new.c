/* nn/layers_new.c: constructors of layers. Before: layers.c. */
#include "../dync.in.h"
#include "../loop/loop.h"
#include "nn.h"
DYNC__COLD

/* ---- constructors ---------------------------------------------------------------------------- */

/* Without parameters yet. NULL and an error where there is no memory. */
DYNC__FN dync__module *dync__layer_new(const dync__layer_class *c)
{
    dync__module *m = dync__module_alloc(c->name);
    if (m) dync__layer_take(m, c);
    return m;
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
DYNC_API dync_module *dync_nn_relu(void)
{
    return dync__module_give(dync__layer_new(&dync__class_ReLU));
}
DYNC_API dync_module *dync_nn_sigmoid(void)
{
    return dync__module_give(dync__layer_new(&dync__class_Sigmoid));
}
DYNC_API dync_module *dync_nn_tanh(void)
{
    return dync__module_give(dync__layer_new(&dync__class_Tanh));
}
DYNC_API dync_module *dync_nn_gelu(void)
{
    return dync__module_give(dync__layer_new(&dync__class_GELU));
}
DYNC_API dync_module *dync_nn_silu(void)
{
    return dync__module_give(dync__layer_new(&dync__class_SiLU));
}
DYNC_API dync_module *dync_nn_flatten(void)
{
    return dync__module_give(dync__layer_new(&dync__class_Flatten));
}

DYNC_API dync_module *dync_nn_identity(void)
{
    return dync__module_give(dync__layer_new(&dync__class_Identity));
}

DYNC_API dync_module *dync_nn_leaky_relu(dync_real negative_slope)
{
    dync__module *m = dync__layer_new(&dync__class_LeakyReLU);
    if (m) m->floats[0] = negative_slope;
    return dync__module_give(m);
}

DYNC_API dync_module *dync_nn_softmax(int dim)
{
    dync__module *m = dync__layer_new(&dync__class_Softmax);
    if (m) m->ints[0] = dim;
    return dync__module_give(m);
}

DYNC_API dync_module *dync_nn_dropout(dync_real p)
{
    if (!(p >= 0 && p <= 1))
        return dync__fail(DYNC_ERR_VALUE,
                          "dropout probability has to be between 0 and 1, but got %g",
                          dync__float_told(p)),
               NULL;
    dync__module *m = dync__layer_new(&dync__class_Dropout);
    if (m) m->floats[0] = p;
    return dync__module_give(m);
}

/* weight [out, in] and bias [out], both uniform within 1 / sqrt(in). */
DYNC_API dync_module *dync_nn_linear(int64_t in, int64_t out, bool bias)
{
    static const char weights[] = "weight", biases[] = "bias";
    const int64_t sizes[2] = {in, out};
    dync__module *m =
        dync__layer_sizes("dync_nn_linear", 2, sizes) ? dync__layer_new(&dync__class_Linear) : NULL;
    if (!m) return NULL;
    m->ints[0] = in;
    m->ints[1] = out;
    double bound = 1 / dync__sqrt((double)in);
    bool ok = dync__init_uniform(m, weights, dync_shape(out, in), bound) &&
              (!bias || dync__init_uniform(m, biases, dync_shape(out), bound));
    return dync__module_give(dync__layer_done(m, ok));
}

/* dims: of the kernel; transposed: the weight is [in, out, ..], and PyTorch counts its fan by
 * out */
static dync__module *dync__layer_conv(const char *what, const dync__layer_class *c, int64_t in,
                                      int64_t out, int kernel, int stride, int padding, bool bias,
                                      int dims, bool transposed)
{
    const int64_t sizes[4] = {in, out, kernel, stride};
    if (padding < 0)
        return dync__fail(DYNC_ERR_VALUE, "%s: expected padding >= 0, got %d", what, padding), NULL;
    dync__module *m = dync__layer_sizes(what, 4, sizes) ? dync__layer_new(c) : NULL;
    if (!m) return NULL;
    memcpy(m->ints, sizes, sizeof sizes);
    m->ints[4] = padding;
    dync_dims shape = {2 + dims, {transposed ? in : out, transposed ? out : in, kernel, kernel}};
    double bound = 1 /
                   dync__sqrt((double)shape.d[1] * (dims == 2 ? (double)kernel * kernel : kernel));
    bool ok = dync__init_uniform(m, "weight", shape, bound) &&
              (!bias || dync__init_uniform(m, "bias", dync_shape(out), bound));
    return dync__layer_done(m, ok);
}

DYNC_API dync_module *dync_nn_conv1d(int64_t in, int64_t out, int kernel, int stride, int padding,
                                     bool bias)
{
    return dync__module_give(dync__layer_conv("dync_nn_conv1d", &dync__class_Conv1d, in, out,
                                              kernel, stride, padding, bias, 1, false));
}

DYNC_API dync_module *dync_nn_conv2d(int64_t in, int64_t out, int kernel, int stride, int padding,
                                     bool bias)
{
    return dync__module_give(dync__layer_conv("dync_nn_conv2d", &dync__class_Conv2d, in, out,
                                              kernel, stride, padding, bias, 2, false));
}

DYNC_API dync_module *dync_nn_conv_transpose2d(int64_t in, int64_t out, int kernel, int stride,
                                               int padding, bool bias)
{
    return dync__module_give(dync__layer_conv("dync_nn_conv_transpose2d",
                                              &dync__class_ConvTranspose2d, in, out, kernel, stride,
                                              padding, bias, 2, true));
}

DYNC_API dync_module *dync_nn_batch_norm2d(int64_t features)
{
    dync__module *m = dync__layer_sizes("dync_nn_batch_norm2d", 1, &features)
                          ? dync__layer_new(&dync__class_BatchNorm2d)
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
static dync__module *dync__layer_norm(const char *what, const dync__layer_class *c, int64_t first,
                                      int64_t features, bool bias)
{
    const int64_t sizes[2] = {first, features};
    dync__module *m = dync__layer_sizes(what, 2, sizes) ? dync__layer_new(c) : NULL;
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
        dync__layer_norm("dync_nn_layer_norm", &dync__class_LayerNorm, features, features, true));
}

DYNC_API dync_module *dync_nn_rms_norm(int64_t features)
{
    return dync__module_give(
        dync__layer_norm("dync_nn_rms_norm", &dync__class_RMSNorm, features, features, false));
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
        dync__layer_norm("dync_nn_group_norm", &dync__class_GroupNorm, groups, channels, true));
}

/* weight [count, features]. */
DYNC_API dync_module *dync_nn_embedding(int64_t count, int64_t features)
{
    const int64_t sizes[2] = {count, features};
    dync__module *m = dync__layer_sizes("dync_nn_embedding", 2, sizes)
                          ? dync__layer_new(&dync__class_Embedding)
                          : NULL;
    if (!m) return NULL;
    memcpy(m->ints, sizes, sizeof sizes);
    return dync__module_give(
        dync__layer_done(m, dync__init_normal(m, "weight", dync_shape(count, features))));
}

/* Nothing to initialise: a window, its stride and its padding. */
static dync__module *dync__layer_pool(const dync__layer_class *c, int kernel, int stride,
                                      int padding)
{
    const int64_t sizes[2] = {kernel, stride};
    if (padding < 0)
        return dync__fail(DYNC_ERR_VALUE, "%s: expected padding >= 0, got %d", c->name, padding),
               NULL;
    dync__module *m = dync__layer_sizes(c->name, 2, sizes) ? dync__layer_new(c) : NULL;
    if (!m) return NULL;
    memcpy(m->ints, sizes, sizeof sizes);
    m->ints[2] = padding;
    return m;
}

DYNC_API dync_module *dync_nn_max_pool2d(int kernel, int stride, int padding)
{
    return dync__module_give(dync__layer_pool(&dync__class_MaxPool2d, kernel, stride, padding));
}
DYNC_API dync_module *dync_nn_avg_pool2d(int kernel, int stride, int padding)
{
    return dync__module_give(dync__layer_pool(&dync__class_AvgPool2d, kernel, stride, padding));
}

/* Takes the children, which are named "0", "1", ..; on failure they are freed, those that were
 * added with the module. */
DYNC_API dync_module *dync_sequential_of(int n, dync_module **children)
{
    bool ok = n >= 0 && (n == 0 || children);
    dync__module *m = ok ? dync__layer_new(&dync__class_Sequential) : NULL;
    if (!ok) dync__fail(DYNC_ERR_VALUE, "dync_sequential: expected modules");
    for (int i = 0; ok && i < n; i++) {
        static const char own[] = "%d";
        char name[16];
        dync__format(name, sizeof name, own, i);
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
