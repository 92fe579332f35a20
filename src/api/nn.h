/* ---- modules, losses, optimizers ------------------------------------------------ */
dync_module *dync_nn_linear(int64_t in, int64_t out, bool bias), *dync_nn_relu(void), *dync_nn_sigmoid(void),
    *dync_nn_conv2d(int64_t in, int64_t out, int kernel, int stride, int padding, bool bias), *dync_nn_batch_norm2d(int64_t features),
    *dync_nn_lstm(int64_t input, int64_t hidden, int layers, bool bidirectional);
#define dync_sequential(...) dync_sequential_of(DYNC_COUNT(__VA_ARGS__), (dync_module *[]){__VA_ARGS__})
dync_module *dync_sequential_of(int n, dync_module **);
typedef dync_tensor *(*dync_forward)(dync_module *self, dync_tensor *x);
dync_module *dync_module_new(const char *class_name, dync_forward forward, void *user);
/* forward of any arguments: dync_module_new_values("Net", net_forward, "a, b, e, f", user); called with dync_module_call(m, a, b, 2, 2) */
typedef dync_value (*dync_forward_values)(dync_module *self, const dync_value *args, int nargs);
dync_module *dync_module_new_values(const char *class_name, dync_forward_values, const char *args, void *user);
#define      dync_module_call(m, ...) dync_module_call_values(m, DYNC_COUNT(__VA_ARGS__), (dync_value[]){DYNC_MAP_V(__VA_ARGS__)})
dync_value   dync_module_call_values(dync_module *, int nargs, const dync_value *args);
void        *dync_module_user(const dync_module *);
dync_status  dync_module_register_class(const char *class_name, dync_forward_values); /* so that a saved module finds its forward */
dync_module *dync_module_open(const char *path);  /* a whole module: structure and state, from a file dync_module_save wrote */
dync_module *dync_module_child(dync_module *, const char *name);            /* dotted paths work: "encoder.0" */
void         dync_module_add(dync_module *, const char *name, dync_module *child);
dync_tensor *dync_module_param(dync_module *, const char *name), *dync_module_buffer(dync_module *, const char *name); /* dotted paths work */
bool         dync_module_is_compiled(const dync_module *);
void         dync_module_set_param(dync_module *, const char *name, dync_tensor *), dync_module_set_buffer(dync_module *, const char *name, dync_tensor *);
dync_tensor *dync_forward_call(dync_module *, dync_tensor *x);              /* runs the compiled form once dync_module_compile was called */
void         dync_module_train(dync_module *, bool), dync_module_free(dync_module *);
int          dync_module_parameters(dync_module *, dync_tensor **out, int capacity); /* returns how many there are */
dync_status  dync_module_save(dync_module *, const char *path), dync_module_load(dync_module *, const char *path); /* state as safetensors; save also writes the structure into its metadata */
