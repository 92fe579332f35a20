/* program/program.h: whole programs: a graph with its weights, without guards. After backend/,
 * before compile/. */
#ifndef DYNC__PROGRAM_H
#define DYNC__PROGRAM_H
#include "../capture/capture.h"

struct dync__program {
    dync__root root;
    const char *name;   /* a C identifier; owned */
    dync__graph *graph; /* a reference */
    int n_leaves;       /* tensors in the arguments of a call, lists flattened */
    int *leaf;          /* per input of the graph: which of them it is */
    const char **input; /* and its name, the argument's; in told */
    dync__mutex lock;
    bool loaded;  /* from a file: it may be a stranger's */
    bool copies;  /* a copy may take the place of an input: none is written or shown in an output */
    int compiled; /* 0 not tried, 1 there is a callable, -1 the interpreter runs */
    dync_callable callable;
    /* from a file, of symbolic sizes: those whose types were found right; how many came */
    int64_t *proven;
    int n_proven;
    /* made of a callable that knows its inputs itself: graph is NULL (onnx/load.c) */
    bool foreign;
    /* calls whose sizes the graph is not for go there; without run they are refused */
    dync_callable other;
    /* info.c: inputs and outputs by the names of a file; NULL: the graph's */
    dync_port *port;
    int n_port_in, n_port_out;
    dync__arena told;
};
/* info.c */
DYNC__FN dync_status dync__program_tell(dync__program *, int n_in, const dync_port *in, int n_out,
                                        const dync_port *out);
DYNC__FN dync_limits dync__program_limits_get(void); /* limits.c: none is 0 */
enum { DYNC__PROGRAM_SYMBOLS = 64 };
/* sizes.c: the argument that input i is, as an identifier */
DYNC__FN void dync__program_input_name(const dync__graph *, int i, char *out, size_t cap);
DYNC__FN void dync__program_ranges_text(const dync__graph *, dync__str *, const char *before);
DYNC__FN void dync__program_type_text(const dync__graph *, const dync__info *, dync__str *);
DYNC__FN void dync__program_guard_text(const dync__graph *, int i, dync__str *);
/* value[i], of DYNC__PROGRAM_SYMBOLS: symbol i in a call with these inputs; may the program run so;
 * the layout that input i must have */
DYNC__FN void dync__program_values(const dync__program *, dync__tensor *const *in, int64_t *value);
DYNC__FN dync_status dync__program_fits(const dync__program *, const int64_t *value);
/* Is it for a call with these tensors? As above, but nothing is said. */
DYNC__FN bool dync__program_is_for(dync__program *, dync__tensor *const *tensor);
DYNC__FN bool dync__program_layout(const dync__program *, int i, const int64_t *value,
                                   dync__layout *);
/* The types of a program from a file for these sizes, inferred once each: DYNC_ERR_FORMAT */
DYNC__FN dync_status dync__program_prove(dync__program *, const int64_t *value);
/* what data decide as great as it may be beside these sizes of arguments; wish: what value says, or
 * as much of it */
DYNC__FN void dync__program_most(const dync__graph *, int64_t *value, bool wish);
DYNC__FN void dync__program_unprove(dync__program *);
DYNC__FN bool dync__program_settle(dync__graph *, const dync__symtab *of_trace);
/* DYNC_ERR_UNSUPPORTED: a symbol that no argument tells */
DYNC__FN dync_status dync__program_sizes_check(dync__graph *, const char *name);
/* The program of a finished graph that returns what the function returned (not a tuple around it).
 * Keeps a reference and detaches the attributes from autograd (the memory stays shared). The inputs
 * are tensors, numbers were baked in: input i is tensor leaf[i] of the n_leaves tensors in the
 * arguments of a call, lists flattened. leaf NULL: one each, in order. */
DYNC__FN dync__program *dync__program_from_leaves(dync__graph *, const char *name, int n_leaves,
                                                  const int *leaf);
/* A program without a graph: it runs, but has nothing to be saved. The callable is taken where one
 * comes. n_leaves DYNC__PROGRAM_LISTS: some arguments are lists of any length, and the callable
 * checks them. */
enum { DYNC__PROGRAM_LISTS = -1 };
/* dync_port.type of such an argument or result: a list of tensors that are as the port says */
#define DYNC__PORT_SEQUENCE "sequence"
DYNC__FN dync__program *dync__program_from_callable(dync_callable, const char *name, int n_leaves);
DYNC__FN void dync__program_free(dync__program *); /* NULL allowed */
/* its handle, for the user; NULL passes */
DYNC__FN dync_program *dync__program_give(dync__program *taken);
/* info.c: the program behind the handle where it has a graph of its own and there is a path; the
 * error names who. */
DYNC__FN dync_status dync__program_to_save(const dync_program *, const char *path, const char *who,
                                           const dync__program **out);
DYNC__FN dync_value dync__program_run(dync__program *, int nargs, const dync_value *args);
/* The file of a program as bytes (program_file.c) and back. own: the program that reads wrote it
 * too: no operator is refused, nothing is limited. */
/* DYNC_ERR_UNSUPPORTED: a file may not hold it */
DYNC__FN dync_status dync__program_write(const dync__program *, dync__str *);
DYNC__FN dync_status dync__program_write_own(const dync__program *, dync__str *);
DYNC__FN dync__program *dync__program_read(const char *bytes,
                                           size_t n); /* NULL + DYNC_ERR_FORMAT, DYNC_ERR_MEMORY */
DYNC__FN dync__program *dync__program_read_own(const char *bytes, size_t n);
/* npy.c */
DYNC__FN dync_status dync__npy_write(const dync__tensor *, dync__str *);
DYNC__FN dync__tensor *dync__npy_read(
    const char *bytes, size_t n); /* owned; NULL + DYNC_ERR_FORMAT, DYNC_ERR_MEMORY */
/* Do the bytes behind *data stand as a tensor's do, row major in this machine's order? */
DYNC__FN bool dync__npy_is_plain(const char *bytes, size_t n, int *dtype, int *ndim, int64_t *shape,
                                 size_t *data);
DYNC__FN bool dync__big_endian(void);
DYNC__FN void dync__swap_items(char *data, size_t n,
                               size_t item); /* reverses the bytes of each item */
/* The program as a C file (csource.c) and its header, which the file includes by that name; NULL:
 * the file holds it. */
DYNC__FN dync_status dync__program_csource(const dync__program *, const char *header_or_null,
                                           dync__str *source, dync__str *header);

/* ---- safetensors (safetensors.c) ------------------------------------------------------------- */
/* Named tensors and texts: 8 bytes length of the header, little endian; the header, JSON; the
 * tensors' data, row major, without gaps. */
typedef struct dync__st_tensor {
    const char *name;
    int dtype, ndim;
    int64_t shape[DYNC_MAX_DIMS];
    const char *data; /* not aligned */
    size_t bytes;
} dync__st_tensor;
typedef struct dync__st_file {
    char *bytes; /* the whole file; owned if it was read */
    size_t n_bytes;
    dync__arena arena;
    int n;
    dync__st_tensor *tensor;
    const dync__json *metadata; /* object of strings, or NULL */
} dync__st_file;
typedef struct dync__st_item {
    const char *name;
    const dync__tensor *tensor;
} dync__st_item;
DYNC__FN dync_status dync__st_parse(dync__st_file *, char *bytes,
                                    size_t n); /* bytes are borrowed; DYNC_ERR_FORMAT */
DYNC__FN dync_status dync__st_read(dync__st_file *, const char *path);
DYNC__FN void dync__st_close(dync__st_file *); /* after a failure too */
DYNC__FN const dync__st_tensor *dync__st_find(const dync__st_file *, const char *name);
/* keys, values: n_texts pairs of metadata. */
DYNC__FN dync_status dync__st_write(dync__str *out, int n, const dync__st_item *, int n_texts,
                                    const char *const *keys, const char *const *values);
/* module_file.c: tensors of a file by name, borrowed, to be saved or written. who, what: for
 * messages. The caller frees the arena. */
typedef struct dync__state {
    const char *who, *what;
    dync__arena arena;
    DYNC__VEC(dync__st_item) item;
    DYNC__VEC(dync__tensor *) tensor; /* the same, to be written */
} dync__state;
/* name: in the arena, or NULL where there was no memory */
DYNC__FN dync_status dync__state_put(dync__state *, const char *name, dync__tensor *);
/* parameters and buffers with dotted paths behind prefix */
DYNC__FN dync_status dync__state_module(dync__state *, const dync__module *, const char *prefix,
                                        int depth);
/* Names must be the same on both sides; all is checked before anything is written. */
DYNC__FN dync_status dync__state_load(const dync__state *, const dync__st_file *);
/* Row-major data into any layout; its version goes up. */
DYNC__FN dync_status dync__state_write(dync__tensor *, const char *data);
/* module_file.c: the module that the file tells; NULL + DYNC_ERR_FORMAT, DYNC_ERR_MEMORY */
DYNC__FN dync__module *dync__module_from(dync__st_file *);
#endif
