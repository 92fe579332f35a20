/* nn/layers.c: the modules at hand. After init.c and optim.c.
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
    static const char weight[] = "weight", bias[] = "bias";
    return dync_linear(x, dync__layer_tensor(m, weight), dync__layer_tensor(m, bias));
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

/* An object each: who makes one layer links its forward and no other's. */
#define DYNC__X(name, forward, values) \
    DYNC__DATA const dync__layer_class dync__class_##name = {DYNC__TEXT(#name), forward, values};
DYNC__LAYER_CLASSES(DYNC__X)
#undef DYNC__X

/* By name, all are reached. NULL for a class that is none of the library's. */
static const dync__layer_class *dync__layer_find(const char *name)
{
#define DYNC__X(name, ...) &dync__class_##name,
    static const dync__layer_class *const all[] = {DYNC__LAYER_CLASSES(DYNC__X)};
#undef DYNC__X
    for (int i = 0; i < DYNC__COUNT_OF(all); i++)
        if (strcmp(all[i]->name, name) == 0) return all[i];
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

DYNC__FN void dync__layer_take(dync__module *m, const dync__layer_class *c)
{
    m->layer = c->forward;
    m->layer_values = c->forward_values;
}

/* m->class_name says which. A built-in class comes before one of the user's. */
DYNC__FN dync_status dync__module_find_class(dync__module *m)
{
    const dync__layer_class *c = dync__layer_find(m->class_name);
    if (c) return dync__layer_take(m, c), DYNC_OK;
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
