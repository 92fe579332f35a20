/* tensor/tensor.h: dtypes, shapes, storage, tensors, scopes. After base/, before loop/.
 *
 * A public `dync_tensor *` is an opaque handle: slot index and generation packed into a
 * pointer-sized word, never dereferenced. dync__open turns it into the slot (dync__tensor *) or
 * records "used after its scope ended"; dync__handle goes back. Internally everything works on
 * dync__tensor *, which is stable while a reference is held. */
#ifndef DYNC__TENSOR_H
#define DYNC__TENSOR_H
#include "device.h"
#include "../base/handle.h"

/* ---- dtypes: one row each (dtype.c). F32 F64 F16 BF16 I64 I32 I16 I8 U8 BOOL in the order of
 * dync_dtype */
/*    id    name c_type bytes kind(f float i int b bool) fx guard name safetensors numpy onnx ptx
 *          compute */
/* clang-format off */
#define DYNC__DTYPES(X)                                                                      \
    X(F32,  float32,  float,    4, 'f', "f32",  "Float",    "F32",  "<f4", 1,  "f32", F32)   \
    X(F64,  float64,  double,   8, 'f', "f64",  "Double",   "F64",  "<f8", 11, "f64", F64)   \
    X(F16,  float16,  uint16_t, 2, 'f', "f16",  "Half",     "F16",  "<f2", 10, "f16", F32)   \
    X(BF16, bfloat16, uint16_t, 2, 'f', "bf16", "BFloat16", "BF16", "",    16, "bf16", F32)  \
    X(I64,  int64,    int64_t,  8, 'i', "i64",  "Long",     "I64",  "<i8", 7,  "s64", I64)   \
    X(I32,  int32,    int32_t,  4, 'i', "i32",  "Int",      "I32",  "<i4", 6,  "s32", I32)   \
    X(I16,  int16,    int16_t,  2, 'i', "i16",  "Short",    "I16",  "<i2", 5,  "s16", I32)   \
    X(I8,   int8,     int8_t,   1, 'i', "i8",   "Char",     "I8",   "|i1", 3,  "s8",  I32)   \
    X(U8,   uint8,    uint8_t,  1, 'i', "u8",   "Byte",     "U8",   "|u1", 2,  "u8",  I32)   \
    X(BOOL, bool,     uint8_t,  1, 'b', "b8",   "Bool",     "BOOL", "|b1", 9,  "pred", BOOL)
/* clang-format on */
/* The dtype of a number of the API, which is the widest of floats that kernels compute in. A type
 * is asked by dync__is_f64 where what is behind it is left out without F64. */
enum { DYNC__REAL = DYNC__F64_NONE ? DYNC_F32 : DYNC_F64 };
DYNC__INLINE bool dync__is_f64(int dtype) { return !DYNC__F64_NONE && dtype == DYNC_F64; }
typedef struct dync__dtype_row {
    const char *name;
    uint8_t bytes;
    char kind;
    const char *fx, *guard, *safetensors, *numpy; /* numpy "": it has none */
    int onnx;
    const char *ptx;
    uint8_t compute; /* the type arithmetic on it is done in: F32 F64 I64 I32 BOOL */
} dync__dtype_row;
/* never NULL: a bad dtype gives F32's row */
DYNC__FN const dync__dtype_row *dync__dtype_info(int dtype);
DYNC__FN const char *dync__dtype_c_type(int dtype); /* "float", "uint16_t" */
DYNC__FN const char *dync__dtype_c_name(int dtype); /* "DYNC_F32" */
DYNC__FN bool dync__dtype_valid(int dtype);
DYNC__FN int dync__promote(int a, int b); /* torch.promote_types */
/* torch.result_type: each operand has a dtype and a category (dimensioned tensor 2, 0-dim tensor 1,
 * plain number 0; plain bool BOOL, int I64, float default dtype). The highest category of a kind
 * decides, as in PyTorch. */
/* start with {-1, -1, -1} */
typedef struct dync__promoter {
    int dim_dtype, zero_dtype, number_dtype;
} dync__promoter;
DYNC__FN void dync__promoter_add(dync__promoter *, int dtype, int category);
DYNC__FN int dync__promoter_result(const dync__promoter *);
/* torch.can_cast: float into int is false, ... */
DYNC__FN bool dync__can_cast(int from, int to);
/* One element at p of dtype to and from double / int64 (int and bool dtypes are exact through the
 * i64 pair). */
DYNC__FN double dync__load_f64(const void *p, int dtype);
DYNC__FN int64_t dync__load_i64(const void *p, int dtype);
/* float to int truncates and saturates; NaN gives 0 */
DYNC__FN void dync__store_f64(void *p, int dtype, double x);
DYNC__FN void dync__store_i64(void *p, int dtype, int64_t x); /* narrowing wraps */

/* ---- layouts (shape.c) ----------------------------------------------------------------------- */
/* in elements */
typedef struct dync__layout {
    int ndim;
    int64_t shape[DYNC_MAX_DIMS], stride[DYNC_MAX_DIMS], offset;
} dync__layout;
/* DYNC_ERR_SHAPE: not 0 .. DYNC_MAX_DIMS */
DYNC__FN dync_status dync__check_rank(int ndim);
/* DYNC_ERR_SHAPE: negative or overflow */
DYNC__FN dync_status dync__numel(int ndim, const int64_t *shape, int64_t *out);
/* row major; checks rank, sizes, bytes overflow (x 16) */
DYNC__FN dync_status dync__layout_contiguous(dync__layout *, int ndim, const int64_t *shape);
/* to the stride of a dimension of one element */
DYNC__FN bool dync__layout_equal(const dync__layout *, const dync__layout *);
/* of one shape; strides of size-1 dims are ignored */
DYNC__FN bool dync__layout_lies_like(const dync__layout *, const dync__layout *);
/* strides of size-1 dims are ignored */
DYNC__FN bool dync__layout_is_contiguous(const dync__layout *);
/* non-overlapping and dense under some order of dims */
DYNC__FN bool dync__layout_is_dense(const dync__layout *);
/* surely no two indices at one address */
DYNC__FN bool dync__layout_is_apart(const dync__layout *);
/* surely two indices, one address (expand); size-1 and empty: no */
DYNC__FN bool dync__layout_overlaps_itself(const dync__layout *);
/* -ndim <= dim < ndim, else DYNC_ERR_INDEX; ndim 0 acts as 1 */
DYNC__FN dync_status dync__dim_wrap(int dim, int ndim, int *out);
/* DYNC_ERR_SHAPE */
DYNC__FN dync_status dync__broadcast(int na, const int64_t *a, int nb, const int64_t *b, int *n_out,
                                     int64_t *out);
/* -1 keeps a size; broadcast: stride 0 */
DYNC__FN dync_status dync__layout_expand(const dync__layout *in, int ndim, const int64_t *shape,
                                         dync__layout *out);
/* The strides a view of `in` with this shape needs (one -1 is inferred); *possible false where a
 * copy would be needed. */
DYNC__FN dync_status dync__layout_view(const dync__layout *in, int ndim, const int64_t *shape,
                                       dync__layout *out, bool *possible);
/* plain sizes: elements, bytes and places count in int64, no negative stride */
DYNC__FN bool dync__layout_is_countable(const dync__layout *);
/* elements of storage it reaches: 1 + the last, 0 where empty */
DYNC__FN int64_t dync__layout_span(const dync__layout *);
/* [2, 3]: symbolic sizes as this call has them, u0 where data decide */
DYNC__FN void dync__shape_text(dync__str *, int ndim, const int64_t *shape);

/* ---- storage and tensors (tensor.c) ---------------------------------------------------------- */
enum {
    DYNC__STORAGE_BORROWED = 1,
    DYNC__STORAGE_FAKE = 2,
    DYNC__STORAGE_JOINED = 4 /* the data follow in the same block */,
    DYNC__STORAGE_EXPOSED =
        8 /* dync_data gave the address away: may be written without a new version */,
    DYNC__STORAGE_PINNED = 16 /* main memory of a device: its driver frees it */,
    DYNC__STORAGE_FOREIGN = 32 /* somebody else's memory: a function gives it back */
};
typedef struct dync__storage {
    int32_t refs;
    uint16_t flags, device;
    uint32_t version; /* bumped by every write in place */
    void *data;       /* NULL when fake or empty */
    size_t size_bytes;
    uint64_t id;
    void *trace; /* capture/ and aot/: per-trace state of a fake storage */
} dync__storage;

enum {
    DYNC__T_REQUIRES_GRAD = 1 /* leaf flag or made by a differentiable op */,
    DYNC__T_FAKE = 2,
    DYNC__T_PARAMETER = 4,
    DYNC__T_NAMED = 8,
    DYNC__T_NUMBER = 16 /* capture/: a symbolic number, 0-dim int64 or float64 */,
    DYNC__T_KEPT = 32 /* a fake that a script hands out: one thread at a time has it */,
    DYNC__T_WRITTEN =
        64 /* capture/: a fake that has a history since it was written in place: no leaf */
};
typedef struct dync__range {
    int64_t low, high; /* both 0: none */
} dync__range;
typedef struct dync__tensor {
    /* 0: the slot is free; then numel is the next free slot of the shared list */
    int32_t refs;
    uint32_t generation, slot;
    int32_t retains; /* of refs, those the user took with dync_retain */
    uint8_t dtype, flags;
    uint16_t device;      /* dync_device, index in bits 8.. */
    uint32_t marked_dims; /* bit d: dync_mark_dynamic */
    dync__storage *storage;
    struct dync__grad_meta *grad; /* autograd/: NULL until needed */
    /* graph/: the value this tensor stands for while a trace is open */
    struct dync__node *node;
    int32_t node_output; /* which output of node */
    int64_t numel;
    uint64_t trace_id;   /* the trace node belongs to */
    uint64_t id;         /* never reused */
    dync__range *ranges; /* of the dims, DYNC_MAX_DIMS; NULL: no mark has one */
    const char *name;    /* interned, or NULL */
    const char *op;      /* what made it */
    dync_loc at;
    dync__layout lay; /* last: Thumb reaches what is before it by short instructions */
} dync__tensor;

/* watch.c: a tensor that is read later as it is now. A write in place to its storage first gives
 * *tensor, the watch's own, a copy of its own, with that one's version. */
typedef struct dync__watch {
    struct dync__watch *next, **from; /* in a list; from NULL: nothing is watched */
    dync__tensor **tensor;
    uint32_t *version;
} dync__watch;
/* begin: those whose tensor is set. n at once, since threads wait for each other. */
DYNC__FN void dync__watch_begin(int n, dync__watch *w);
DYNC__FN void dync__watch_end(int n, dync__watch *w);
/* NULL while nothing is watched; so programs that never watch do not link it */
DYNC__DATA_DECL void (*dync__watch_write)(const dync__storage *);
/* Before whatever writes in place and makes a new version. */
DYNC__INLINE void dync__storage_writes(const dync__storage *s)
{
    void (*write)(const dync__storage *) = DYNC__ATOMIC_LOAD(&dync__watch_write);
    if (write) write(s);
}

/* Slots stand in chunks that never move. A slot's generation changes when it is freed, so that a
 * handle from before does not match (base/handle.h). */
DYNC__DATA_DECL dync__tensor *dync__chunks[DYNC__CHUNKS];
/* NULL for NULL and for a stale handle; records nothing. */
DYNC__INLINE dync__tensor *dync__peek(const dync_tensor *handle)
{
    uintptr_t word = (uintptr_t)handle;
    uint32_t slot = dync__handle_slot(word);
    if (DYNC__UNLIKELY(slot >= (uint32_t)DYNC__CHUNKS << DYNC__CHUNK_BITS)) return NULL;
    dync__tensor *chunk = DYNC__ATOMIC_LOAD(&dync__chunks[slot >> DYNC__CHUNK_BITS]);
    if (DYNC__UNLIKELY(!chunk)) return NULL;
    dync__tensor *t = chunk + (slot & ((1u << DYNC__CHUNK_BITS) - 1));
    return DYNC__LIKELY(DYNC__ATOMIC_PEEK(&t->generation) ==
                        (uint32_t)(word >> DYNC__HANDLE_GENERATION))
               ? t
               : NULL;
}
DYNC__FN const char *dync__kind_name(dync_kind); /* "an int", for messages */
/* the error of a handle whose scope has ended; op: who made it, NULL: the user */
DYNC__FN dync_status dync__stale(const char *op, dync_loc at);
/* NULL, and the error that dync__open promises */
DYNC__FN dync__tensor *dync__open_fail(const dync_tensor *handle);
/* NULL: NULL handle (DYNC_ERR_VALUE unless an error is pending) or stale (DYNC_ERR_VALUE naming its
 * maker). */
DYNC__INLINE dync__tensor *dync__open(const dync_tensor *handle)
{
    dync__tensor *t = dync__peek(handle);
    return DYNC__LIKELY(t != NULL) ? t : dync__open_fail(handle);
}
/* NULL for NULL */
DYNC__INLINE dync_tensor *dync__handle(const dync__tensor *t)
{
    if (!t) return NULL;
    return (dync_tensor *)dync__handle_word(t->generation, t->slot);
}
/* A new tensor with one reference, owned by the caller; storage's count is taken over (pass one
 * reference). dtype, device, layout as given; op and `at` from dync__tls. */
DYNC__FN dync__tensor *dync__tensor_new(dync__storage *taken, int dtype, const dync__layout *);
/* fresh storage of the layout's span */
DYNC__FN dync__tensor *dync__tensor_empty(int dtype, int device, const dync__layout *dense);
/* fresh fake storage */
DYNC__FN dync__tensor *dync__tensor_fake(int dtype, int device, const dync__layout *);
/* shares storage */
DYNC__FN dync__tensor *dync__tensor_alias(const dync__tensor *base, int dtype,
                                          const dync__layout *);
DYNC__FN void dync__ref(dync__tensor *);
/* its handles are stale from now on, though it lives */
DYNC__FN void dync__handle_end(dync__tensor *);
/* NULL allowed; the last one frees: grad meta by hook, storage */
DYNC__FN void dync__unref(dync__tensor *);
DYNC__FN dync__storage *dync__storage_new(int device, size_t size_bytes); /* one reference */
DYNC__FN dync__storage *dync__storage_borrow(int device, void *data, size_t size_bytes);
/* Memory that release(owner) gives back when nobody uses it any more, from any thread; not called
 * where NULL is returned. flags: more of them. */
DYNC__FN dync__storage *dync__storage_foreign(int device, void *data, size_t size_bytes, int flags,
                                              void (*release)(void *), void *owner);
DYNC__FN void dync__storage_ref(dync__storage *);
DYNC__FN void dync__storage_unref(dync__storage *);
DYNC__INLINE void *dync__tensor_data(const dync__tensor *t)
{
    char *p = t->storage->data;
    return p && t->lay.offset ? p + t->lay.offset * dync__dtype_info(t->dtype)->bytes : p;
}
/* Hooks that upper layers install; NULL until then.
 * free_grad_meta: autograd/.
 * observe: capture/; called when the user asks a fake tensor for its metadata, before it is told.
 * specialise: capture/; the plain number a DYNC_KIND_SYM value stands for. */
enum {
    DYNC__OBSERVE_NDIM,
    DYNC__OBSERVE_SIZE,
    DYNC__OBSERVE_STRIDE,
    DYNC__OBSERVE_NUMEL,
    DYNC__OBSERVE_DTYPE,
    DYNC__OBSERVE_REQUIRES_GRAD
};
DYNC__DATA_DECL void (*dync__free_grad_meta)(struct dync__grad_meta *);
DYNC__DATA_DECL void (*dync__observe_hook)(const dync__tensor *, int what, int dim);
DYNC__DATA_DECL dync_value (*dync__specialise_hook)(dync_value);
DYNC__FN dync_status dync__tensor_zero(dync__tensor *); /* its whole storage */
/* Is a NaN among n elements that lie one after another? (nan.c) */
DYNC__FN bool dync__any_nan(int dtype, const void *data, int64_t n);
/* frees every tensor left and all slots (dync_shutdown) */
DYNC__FN void dync__tensors_shutdown(void);
DYNC__FN int64_t dync__live_tensors(void);
/* in main memory; plain C loop; for printing, saving, dync_from: not an operator */
DYNC__FN dync__tensor *dync__contiguous_copy(const dync__tensor *);

/* ---- scopes (scope.c): what the user's calls return belongs to the innermost one ------------- */
/* Takes over the caller's reference, puts the tensor into the innermost scope and returns its
 * handle. NULL passes. */
DYNC__FN dync_tensor *dync__give(dync__tensor *owned);
/* zeroed memory that dies with the innermost scope */
DYNC__FN void *dync__scope_alloc(size_t n);
/* fn(arg) when the innermost scope ends; false: no memory, not registered */
DYNC__FN bool dync__scope_defer(void (*fn)(void *), void *arg);
/* Ends scope s but hands every tensor inside v (lists and texts too) to the scope around it. */
DYNC__FN void dync__scope_end_keep(dync_scope *s, dync_value *v);
DYNC__FN int dync__scope_depth(void);
/* capture/: released(fake) where a fake's scope has ended while it is traced, and one reference is
 * left. Not called: nothing of it is linked. */
DYNC__FN void dync__scope_watch_fakes(void (*released)(dync__tensor *));
/* every scope of this thread, the root included (dync_shutdown) */
DYNC__FN void dync__scope_end_all(void);
/* Lists: items keep a reference on their tensors; the list belongs to the scope. */
struct dync__list {
    dync__object object;
    int n;
    int32_t refs;
    dync_value *items;
};
/* The list in a value; NULL where it is none, with an error where that list is gone. */
DYNC__INLINE dync__list *dync__value_list(dync_value v)
{
    return v.kind == DYNC_KIND_LIST && v.as.l ? dync__list_open(v.as.l, NULL) : NULL;
}
/* items NONE, in the scope; kind NONE on no memory */
DYNC__FN dync_value dync__list_new(int n);
/* the same, the caller's own; NULL + error */
DYNC__FN dync__list *dync__list_make(int n);
/* takes a reference on a tensor or list, drops the old item's */
DYNC__FN void dync__list_set(dync_value list, int i, dync_value item);
DYNC__FN void dync__list_ref(dync__list *);
DYNC__FN void dync__list_unref(dync__list *);

/* ---- printing (show.c) ----------------------------------------------------------------------- */
/* NumPy's form: tensor([[1., 2.], [3., 4.]]) as PyTorch prints */
DYNC__FN void dync__tensor_show(dync__str *, const dync__tensor *);
DYNC__FN void dync__tensor_brief(dync__str *, const dync__tensor *); /* f32[2, 3] for messages */
#endif
