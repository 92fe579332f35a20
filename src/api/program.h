/* ---- programs: export, save, load ------------------------------------------------------------ */

/* dync_export(fn, x, y): the whole of fn as one program without guards, for arguments of these
 * shapes and dtypes. Its inputs are the tensors among the arguments, in their order, lists
 * flattened, whether fn uses them or not; numbers are baked in. Sizes are those given, but for
 * dimensions of arguments marked with dync_mark_dynamic or dync_mark_dynamic_range: those stay
 * symbols, of any size from 2 on or of their range.
 *   ->      released by dync_program_free; NULL on failure
 *   errors  DYNC_ERR_UNSUPPORTED (a graph break), DYNC_ERR_VALUE (a marked dimension that fn makes
 *           a number, or that is 0 or 1 here), DYNC_ERR_MEMORY
 *   thread  any */
#define dync_export(fn, ...) \
    dync_export_values(DYNC_FN(fn), #fn, DYNC_COUNT(__VA_ARGS__), DYNC_VALUES(__VA_ARGS__))
DYNC_API dync_program *dync_export_values(dync_callee callee, const char *name, int nargs,
                                          const dync_value *args);

/* dync_export_step(fn, x, y): the same of a step that changes things: fn may call dync_backward,
 * dync_optim_step and dync_optim_zero_grad, and write tensors that are no arguments. Those are the
 * program's state: dync_program_run changes them as fn would, and C source (dync_program_save_c)
 * has a copy in memory that is written. Every step begins without gradients, zero_grad or not.
 *   ->      released by dync_program_free; NULL on failure
 *   errors  those of dync_export; DYNC_ERR_VALUE (a parameter that holds a gradient, which fn would
 *           add to), DYNC_ERR_UNSUPPORTED (hooks, double backward into what is returned)
 *   notes   the export itself changes no tensor and draws no random number
 *   thread  any */
#define dync_export_step(fn, ...) \
    dync_export_step_values(DYNC_FN(fn), #fn, DYNC_COUNT(__VA_ARGS__), DYNC_VALUES(__VA_ARGS__))
DYNC_API dync_program *dync_export_step_values(dync_callee callee, const char *name, int nargs,
                                               const dync_value *args);

/* dync_program_run: runs it.
 *   args    dtypes and shapes as exported, marked sizes as far as they may go; any strides
 *   ->      owned by the scope; none on failure
 *   errors  DYNC_ERR_SHAPE (names argument, dimension and range), DYNC_ERR_DTYPE, DYNC_ERR_VALUE,
 *           DYNC_ERR_MEMORY; of a file with symbols DYNC_ERR_FORMAT, where its values do not have
 *           the types of these sizes or go beyond dync_limits
 *   thread  any */
DYNC_API dync_value dync_program_run(dync_program *program, int nargs, const dync_value *args);
DYNC_API dync_value dync_program_run_at(dync_program *program, int nargs, const dync_value *args,
                                        dync_loc at);
#define dync_program_run(...) DYNC_AT(dync_program_run, __VA_ARGS__)

/* dync_port: a tensor that goes into a program or comes out. name: of the argument, or as the file
 * has it; NULL: there is none. type: the file's, "uint16" where dtype is a wider one that holds it.
 * "sequence": a list of tensors of that dtype and shape, as ONNX has them.
 * shape: -1 stands for a size that may change; shape.n is -1 where the file tells no shape. */
typedef struct dync_port {
    const char *name, *type;
    dync_dtype dtype;
    dync_dims shape;
} dync_port;

/* dync_program_input, dync_program_output: what input or output i is, from 0 on; its name is NULL
 * where there are no more. dync_program_info: all of them as a text. dync_program_graph: its graph.
 *   ->      names live as long as the program; the text is owned by the scope; the graph is the
 *           program's, NULL where graphs are made for the sizes and values of calls (ONNX models in
 *           which data decide)
 *   errors  DYNC_ERR_VALUE (no program), DYNC_ERR_MEMORY
 *   thread  any */
DYNC_API dync_port dync_program_input(const dync_program *program, int i);
DYNC_API dync_port dync_program_output(const dync_program *program, int i);
DYNC_API char *dync_program_info(const dync_program *program);
DYNC_API dync_graph *dync_program_graph(const dync_program *program);

/* dync_program_save: a portable file. dync_program_save_onnx: an ONNX model.
 * dync_program_save_c: C99 (and C++) without malloc and dync.h, for a microcontroller. Beside a
 * path that ends in .c comes a header of the same name, which the file includes; with another path
 * there is one file, which holds it. Names come from what was exported, not from the path: of
 * dync_export(net, x), x of [2, 10], they begin with net:
 *
 *     void net_run(const float x[2][10], float out[2][3]);
 *     void net_run_in(net_arena *arena, const float x[2][10], float out[2][3]);
 *
 * Arguments have the order and the names of the function's (dync_args; else arg0, arg1, ...), used
 * or not; results are out, or out0, out1, ... net_run works in static memory, net_run_in in the
 * caller's. NET_X_SIZE, NET_ARENA_BYTES and NET_WEIGHT_BYTES tell sizes. Weights are const arrays.
 * net_self_test() compares with what the library computed, where NET_SELF_TEST is defined as the
 * file is compiled; NET_MAIN makes a program of it. Branches and loops that data decide are C's.
 * Marked sizes are numbers before the arrays, named by argument and dimension, and need a maximum,
 * for which memory is set aside: int net_run(int x_dim0, const float x[][10], ...), which gives 1
 * and writes nothing for a size that it does not take, else 0; an array whose inner sizes are
 * symbolic is given as its first element.
 * A program that changes something (dync_export_step) has a state beside: what it writes of its
 * own, parameters and what an optimizer keeps, and the seed and count of its random numbers, which
 * are those that the library would draw from here on.
 *
 *     typedef struct train_state { float net_0_weight[16][2], net_0_weight_momentum[16][2]; ...
 *         double lr[1]; } train_state;
 *     extern train_state train_current;
 *     void train_step(const float x[8][2], const int64_t label[8], float out[1]);
 *     void train_step_in(train_arena *arena, train_state *state, const float x[8][2], ...);
 *
 * train_step changes train_current, which begins as the tensors are now, train_step_in the
 * caller's: plain numbers, to be read, copied, kept in a file, set. What an optimizer keeps has the
 * name of its parameter before momentum, exp_avg, exp_avg_sq; its learning rate is lr (lr_1 of a
 * second group), which a schedule sets between steps. Arguments that it writes have no const.
 *   errors  DYNC_ERR_IO; DYNC_ERR_UNSUPPORTED (an operator the form cannot express; a marked size
 *           without a maximum), DYNC_ERR_MEMORY
 *   notes   as with every file that dync saves, the old one stays until the new one is whole: it is
 *           written beside, synced and renamed
 *   thread  any */
DYNC_API dync_status dync_program_save(const dync_program *program, const char *path);
DYNC_API dync_status dync_program_save_at(const dync_program *program, const char *path,
                                          dync_loc at);
#define dync_program_save(...) DYNC_AT(dync_program_save, __VA_ARGS__)
DYNC_API dync_status dync_program_save_c(const dync_program *program, const char *path);
DYNC_API dync_status dync_program_save_c_at(const dync_program *program, const char *path,
                                            dync_loc at);
#define dync_program_save_c(...) DYNC_AT(dync_program_save_c, __VA_ARGS__)
DYNC_API dync_status dync_program_save_onnx(const dync_program *program, const char *path);
DYNC_API dync_status dync_program_save_onnx_at(const dync_program *program, const char *path,
                                               dync_loc at);
#define dync_program_save_onnx(...) DYNC_AT(dync_program_save_onnx, __VA_ARGS__)

/* dync_program_load, dync_program_load_onnx: read such a file; every bound is checked. It may come
 * from a stranger: it names public operators and registered ones only, the types of all its values
 * are inferred again, and it stays within dync_limits.
 *   ->      released by dync_program_free; NULL on failure
 *   errors  DYNC_ERR_IO, DYNC_ERR_FORMAT, DYNC_ERR_UNSUPPORTED, DYNC_ERR_MEMORY
 *   notes   a registered operator is called with what the file says, as far as its schema and its
 *           meta function let it
 *   thread  any */
DYNC_API dync_program *dync_program_load(const char *path);
DYNC_API dync_program *dync_program_load_at(const char *path, dync_loc at);
#define dync_program_load(...) DYNC_AT(dync_program_load, __VA_ARGS__)
DYNC_API dync_program *dync_program_load_onnx(const char *path);
DYNC_API dync_program *dync_program_load_onnx_at(const char *path, dync_loc at);
#define dync_program_load_onnx(...) DYNC_AT(dync_program_load_onnx, __VA_ARGS__)

/* dync_limits: what a program file may ask for; another file is DYNC_ERR_FORMAT. 0: the default.
 * Where sizes are symbolic, they hold for those that the file shows, and for each set that it is
 * run with; those of elements for sizes that data decide, too.
 *   nodes     values of the graph; 100,000
 *   elements  of any one value, views and what is only expanded included; 2^36
 *   work      scalar operations of one run, estimated from the sizes; 10^15. A while_loop without a
 *             limit counts as one round: whether it ends, data decide */
typedef struct dync_limits {
    int64_t nodes, elements, work;
} dync_limits;

/* dync_set_limits: for files that are loaded from here on, by any thread.
 *   errors  DYNC_ERR_VALUE (a negative limit: nothing changes)
 *   thread  any */
DYNC_API dync_status dync_set_limits(dync_limits limits);

/* dync_program_free: NULL does nothing.
 *   thread  not while running */
DYNC_API void dync_program_free(dync_program *program);

/* dync_npy_save, dync_npy_load: one tensor as NumPy's .npy file.
 *   ->      dync_npy_load: owned by the scope; NULL on failure
 *   errors  DYNC_ERR_IO, DYNC_ERR_FORMAT, DYNC_ERR_DTYPE (NumPy has no bfloat16), DYNC_ERR_DEVICE,
 *           DYNC_ERR_MEMORY
 *   notes   saving copies a strided tensor row by row; loading takes either byte order and either
 *           memory order
 *   thread  any */
DYNC_API dync_status dync_npy_save(dync_tensor *t, const char *path);
DYNC_API dync_status dync_npy_save_at(dync_tensor *t, const char *path, dync_loc at);
#define dync_npy_save(...) DYNC_AT(dync_npy_save, __VA_ARGS__)
DYNC_API dync_tensor *dync_npy_load(const char *path);
DYNC_API dync_tensor *dync_npy_load_at(const char *path, dync_loc at);
#define dync_npy_load(...) DYNC_AT(dync_npy_load, __VA_ARGS__)
