/* compile/placed.c: public functions, of every layer, with the place of their call. After
 * compile.c. */
#include "../dync.in.h"
#include "../base/base.h"
DYNC__COLD

/* type, name, parameters with the place, arguments of the plain function: name_at sets the place,
 * calls name, and puts the place of before back. */
/* clang-format off */
#define DYNC__PLACED(X)                                                                                                \
    X(dync_value, dync_at, (dync_value list, int i, dync_loc at), (list, i))                                           \
    X(dync_tensor *, dync_as_tensor, (dync_value v, dync_loc at), (v))                                                 \
    X(dync_tensor *, dync_to_dtype, (dync_tensor *t, dync_dtype dtype, dync_loc at), (t, dtype))                       \
    X(dync_tensor *, dync_to_device, (dync_tensor *t, dync_device device, dync_loc at), (t, device))                   \
    X(dync_tensor *, dync_retain, (dync_tensor *t, dync_loc at), (t))                                                  \
    X(dync_program *, dync_program_load, (const char *path, dync_loc at), (path))                                      \
    X(dync_value, dync_program_run, (dync_program *p, int nargs, const dync_value *args, dync_loc at),                 \
      (p, nargs, args))                                                                                                \
    X(dync_value, dync_split, (dync_tensor *t, int64_t size, int dim, dync_loc at), (t, size, dim))                    \
    X(dync_value, dync_split_sizes, (dync_tensor *t, dync_dims sizes, int dim, dync_loc at), (t, sizes, dim))          \
    X(dync_value, dync_chunk, (dync_tensor *t, int chunks, int dim, dync_loc at), (t, chunks, dim))                    \
    X(dync_value, dync_unbind, (dync_tensor *t, int dim, dync_loc at), (t, dim))                                       \
    X(dync_tensor *, dync_module_param, (dync_module *m, const char *name, dync_loc at), (m, name))                    \
    X(dync_status, dync_module_load, (dync_module *m, const char *path, dync_loc at), (m, path))                       \
    X(dync_status, dync_program_save, (const dync_program *program, const char *path, dync_loc at), (program, path))   \
    X(dync_status, dync_program_save_c, (const dync_program *program, const char *path, dync_loc at), (program, path)) \
    X(dync_status, dync_program_save_onnx, (const dync_program *p, const char *path, dync_loc at), (p, path))          \
    X(dync_program *, dync_program_load_onnx, (const char *path, dync_loc at), (path))                                 \
    X(dync_status, dync_npy_save, (dync_tensor *t, const char *path, dync_loc at), (t, path))                          \
    X(dync_tensor *, dync_npy_load, (const char *path, dync_loc at), (path))                                           \
    X(dync_module *, dync_module_open, (const char *path, dync_loc at), (path))                                        \
    X(dync_status, dync_module_save, (dync_module *m, const char *path, dync_loc at), (m, path))                       \
    X(dync_tensors *, dync_tensors_load, (const char *path, dync_loc at), (path))                                      \
    X(dync_status, dync_tensors_save, (const dync_tensors *named, const char *path, dync_loc at), (named, path))       \
    X(dync_tensor *, dync_parameter, (dync_tensor *t, dync_loc at), (t))                                               \
    X(dync_tensor *, dync_set_, (dync_tensor *self, dync_tensor *other, dync_loc at), (self, other))                   \
    X(dync_tensor *, dync_arange, (dync_real start, dync_real end, dync_real step, dync_loc at), (start, end, step))   \
    X(int64_t, dync_size, (const dync_tensor *t, int dim, dync_loc at), (t, dim))                                      \
    X(dync_value, dync_size_sym, (const dync_tensor *t, int dim, dync_loc at), (t, dim))                               \
    X(dync_value, dync_item_sym, (dync_tensor *t, dync_loc at), (t))                                                   \
    X(dync_status, dync_check, (dync_value n, int64_t least, int64_t most, dync_loc at), (n, least, most))             \
    X(bool, dync_dim_lt, (const dync_tensor *t, int dim, int64_t n, dync_loc at), (t, dim, n))                         \
    X(bool, dync_dim_eq, (const dync_tensor *t, int dim, int64_t n, dync_loc at), (t, dim, n))                         \
    X(bool, dync_dim_gt, (const dync_tensor *t, int dim, int64_t n, dync_loc at), (t, dim, n))                         \
    X(int64_t, dync_stride, (const dync_tensor *t, int dim, dync_loc at), (t, dim))                                    \
    X(void *, dync_data, (dync_tensor *t, dync_loc at), (t))                                                           \
    X(char *, dync_str, (dync_tensor *t, dync_loc at), (t))                                                            \
    X(bool, dync_equal, (dync_tensor *a, dync_tensor *b, dync_loc at), (a, b))                                         \
    X(bool, dync_allclose, (dync_tensor *a, dync_tensor *b, dync_real rtol, dync_real atol, dync_loc at),              \
      (a, b, rtol, atol))                                                                                              \
    X(dync_status, dync_backward, (dync_tensor *loss, dync_loc at), (loss))                                            \
    X(dync_status, dync_backward_with, (dync_tensor *out, dync_tensor *grad_out, dync_loc at), (out, grad_out))        \
    X(dync_status, dync_backward_opt,                                                                                  \
      (dync_value outputs, dync_value grad_outputs_or_none, dync_grad_options options, dync_loc at),                   \
      (outputs, grad_outputs_or_none, options))                                                                        \
    X(dync_value, dync_gradients,                                                                                      \
      (dync_value outputs, dync_value inputs, dync_value grad_outputs_or_none, dync_grad_options options, dync_loc at),\
      (outputs, inputs, grad_outputs_or_none, options))                                                                \
    X(dync_value, dync_grad_fn_call, (dync_tensor *out, dync_value grads, dync_loc at), (out, grads))                  \
    X(dync_tensor *, dync_requires_grad_, (dync_tensor *t, bool on, dync_loc at), (t, on))                             \
    X(dync_value, dync_module_call_values, (dync_module *m, int nargs, const dync_value *args, dync_loc at),           \
      (m, nargs, args))                                                                                                \
    X(dync_tensor *, dync_forward_call, (dync_module *m, dync_tensor *x, dync_loc at), (m, x))                         \
    X(dync_tensor *, dync_clip_grad_norm, (dync_module *m, dync_real max_norm, dync_loc at), (m, max_norm))            \
    X(dync_status, dync_optim_step, (dync_optim *o, dync_loc at), (o))                                                 \
    X(dync_status, dync_optim_set_lr, (dync_optim *o, dync_real lr, dync_loc at), (o, lr))                             \
    X(dync_status, dync_optim_set_group_lr, (dync_optim *o, int group, dync_real lr, dync_loc at), (o, group, lr))     \
    X(dync_status, dync_call_into_values,                                                                              \
      (dync_compiled *f, dync_value out, int nargs, const dync_value *args, dync_loc at), (f, out, nargs, args))
/* the same of those that give nothing */
#define DYNC__PLACED_VOID(X)                                                                                           \
    X(dync_print, (dync_tensor *t, dync_loc at), (t))                                                                  \
    X(dync_set_grad, (dync_tensor *t, dync_tensor *grad_or_null, dync_loc at), (t, grad_or_null))                      \
    X(dync_release, (dync_tensor *t, dync_loc at), (t))                                                                \
    X(dync_compiled_free, (dync_compiled *f, dync_loc at), (f))
/* clang-format on */
#define DYNC__X(type, name, params, args) \
    DYNC_API type name##_at params        \
    {                                     \
        dync_loc outer = dync__tls.at;    \
        dync__tls.at = at;                \
        type result = (name)args;         \
        dync__tls.at = outer;             \
        return result;                    \
    }
DYNC__PLACED(DYNC__X)
#undef DYNC__X
#define DYNC__X(name, params, args)    \
    DYNC_API void name##_at params     \
    {                                  \
        dync_loc outer = dync__tls.at; \
        dync__tls.at = at;             \
        (name) args;                   \
        dync__tls.at = outer;          \
    }
DYNC__PLACED_VOID(DYNC__X)
#undef DYNC__X
/* What the user wrote for the module names it in the graph that is being made. */
DYNC_API dync_value dync_module_call_named(const char *text, dync_module *m, int nargs,
                                           const dync_value *args, dync_loc at)
{
    bool traced = dync__tls.compiling;
    if (traced) dync__tls.module_text = text;
    dync_value result = dync_module_call_values_at(m, nargs, args, at);
    if (traced) dync__tls.module_text = NULL;
    return result;
}
DYNC_API dync_tensor *dync_forward_call_named(const char *text, dync_module *m, dync_tensor *x,
                                              dync_loc at)
{
    bool traced = dync__tls.compiling;
    if (traced) dync__tls.module_text = text;
    dync_tensor *result = dync_forward_call_at(m, x, at);
    if (traced) dync__tls.module_text = NULL;
    return result;
}
