/* cuda/cuda.h: what the files that talk to the runtime share. After ptx.h. device.c: devices,
 * errors, streams; memory.c: the allocator and copies; image.c: compiled images in files; launch.c:
 * code; graphs.c: recorded graphs; loops.c, calls.c: kernel calls as PTX. */
#ifndef DYNC__CUDA_CUDA_H
#define DYNC__CUDA_CUDA_H
#include "public.h"
#include "ptx.h"
#include "../inductor/inductor.h"

enum { DYNC__CUDA_DEVICES = 16 };
/* a device: multiprocessors, compute capability */
typedef struct dync__cuda_unit {
    int units, major, minor;
} dync__cuda_unit;

/* ---- device.c -------------------------------------------------------------------------------- */
DYNC__FN int dync__cuda_count(void);
DYNC__FN const char *dync__cuda_why(void); /* there is none; "" */
DYNC__FN const dync__cuda_unit *dync__cuda_unit_of(int index);
DYNC__FN dync_status dync__cuda_known(int device);
DYNC__FN int dync__cuda_driver(void); /* 13000: CUDA 13.0 */
/* A function of the driver by name, as of that version; NULL: it has none. */
typedef void (*dync__cuda_function)(void);
DYNC__FN dync__cuda_function dync__cuda_driver_function(const char *name, unsigned version);
/* OK, or the error with the runtime's words, recorded. */
DYNC__FN dync_status dync__cuda_check(cudaError_t, const char *what);
/* the device of this thread's next calls */
DYNC__FN dync_status dync__cuda_enter(int device);
/* current in this thread */
DYNC__FN cudaStream_t dync__cuda_stream(int device);
struct dync_cuda_stream {
    int device;
    cudaStream_t stream;
};
struct dync_cuda_event {
    int device;
    cudaEvent_t event;
};
/* A graph being recorded by this thread: memory given back meanwhile is kept for it. */
typedef struct dync__cuda_kept {
    int device;
    void *p;
    size_t n;
} dync__cuda_kept;
typedef struct dync__cuda_recording {
    cudaStream_t stream;
    int device;
    DYNC__VEC(dync__cuda_kept) kept;
    void *rng; /* {seed, offset} on the device */
    uint64_t rng_first;
    /* left: a step went to the CPU, which no graph can record */
    bool failed, left;
} dync__cuda_recording;
typedef struct dync__cuda_thread {
    dync_cuda_stream *stream[DYNC__CUDA_DEVICES];
    dync__cuda_recording *recording;
} dync__cuda_thread;
DYNC__DATA_DECL DYNC__TLS dync__cuda_thread dync__cuda_tls;
DYNC__DATA_DECL dync_cuda_counters dync__cuda_counters;
DYNC__DATA_DECL int dync__cuda_tf32; /* dync_cuda_allow_tf32 */

/* ---- memory.c -------------------------------------------------------------------------------- */
DYNC__FN void *dync__cuda_alloc(int device, size_t n);
/* DYNC_CPU: page-locked memory */
DYNC__FN void dync__cuda_free(int device, void *p, size_t n);
DYNC__FN dync_status dync__cuda_copy(int to_device, void *dst, int from_device, const void *src,
                                     size_t n);
/* does not wait */
DYNC__FN dync_status dync__cuda_copy_later(int to_device, void *dst, int from_device,
                                           const void *src, size_t n);
DYNC__FN void *dync__cuda_alloc_pinned(size_t n);
DYNC__FN dync_cuda_memory dync__cuda_stats(int index);
/* kept blocks go back to the driver */
DYNC__FN void dync__cuda_trim(int device);
DYNC__FN void dync__cuda_trim_stream(int device, cudaStream_t);

/* ---- image.c: compiled images in files ------------------------------------------------------- */
/* NULL, "": none are kept */
DYNC__FN dync_status dync__cuda_images_in(const char *folder);
/* Loads the image of a text for the device, from its file or made now. False: none are kept, or it
 * was not to be; no error then. */
DYNC__FN bool dync__cuda_image_load(int index, const char *text, cudaLibrary_t *library);

/* ---- code: parts in order, each a text in up to four forms: for memory on boundaries and any
 * device, without
 * vector accesses, for this very device (dync__cuda_add_variant), and of f32 where the user allows
 * tf32 ---- */
enum {
    DYNC__CUDA_ANY,
    DYNC__CUDA_UNALIGNED,
    DYNC__CUDA_VARIANT,
    DYNC__CUDA_TF32,
    DYNC__CUDA_FORMS
};
/* a tensor map, and the address it was made for */
typedef struct dync__cuda_kept_map {
    uint64_t base, word[16];
} dync__cuda_kept_map;
typedef struct dync__cuda_form {
    dync__ptx_text text;
    dync__cuda_kept_map *kept;        /* of text.map */
    struct dync__cuda_module *module; /* loaded; NULL: not yet */
    bool made;
} dync__cuda_form;
/* What is done to the result of a kernel call: a kernel that loads it, whose buffers stand behind
 * the call's operands (host: one element in main memory); keep: the result itself is wanted too. k
 * NULL: nothing. pre: what makes operands 0 and 1, buffers behind those of k; or NULL. */
typedef struct dync__cuda_end {
    const dync__kernel *k, *pre[2];
    const bool *host;
    bool keep;
} dync__cuda_end;
/* A part that packs input `input` - 1 of the plan into a temporary: of what it did so last, and the
 * memory that keeps it; NULL: none yet. */
typedef struct dync__cuda_packed {
    int input, operand, temp;
    const void *from;
    uint64_t storage;
    uint32_t version;
    cudaStream_t stream;
    void *memory;
} dync__cuda_packed;
typedef struct dync__cuda_part {
    /* from which the forms are made, in the code's arena; NULL: form 0 is there */
    dync__kernel *kernel;
    dync__cuda_form form[DYNC__CUDA_FORMS];
    int n;        /* buffers of the text */
    int32_t *buf; /* of the code's buffers; below 0: temporary -1 - buf */
    bool *host;
    /* makes the forms instead of the kernel, which is what is done to the results */
    struct dync__gm *gemm;
    dync__kcall *call;         /* instead: run on the CPU, on copies */
    dync__cuda_packed *packed; /* or NULL */
} dync__cuda_part;
typedef struct dync__cuda_code {
    dync__arena arena;
    int device, n_buffers;
    DYNC__VEC(dync__cuda_part) part;
    DYNC__VEC(int64_t) temp;   /* bytes of each temporary */
    dync__mutex lock, packing; /* while a form is made; while kept memory is used */
    bool packs;
} dync__cuda_code;

/* ---- launch.c -------------------------------------------------------------------------------- */
DYNC__FN void *dync__cuda_kernel_new(int device, const dync__kernel *, const bool *host);
/* texts are made and loaded; NULL: the code is let go */
DYNC__FN void *dync__cuda_code_finish(dync__cuda_code *, bool ok);
DYNC__FN void *dync__cuda_call_new(int device, const dync__kcall *,
                                   const dync__kernel *const with[3], const bool *host, bool keep);
DYNC__FN dync_status dync__cuda_run(const void *code, void *const *buffers, uint64_t seed,
                                    uint64_t offset);
DYNC__FN void dync__cuda_code_free(void *code);
DYNC__FN void dync__cuda_code_dump(dync__str *, const void *code);
/* ---- graphs.c -------------------------------------------------------------------------------- */
DYNC__FN dync_status dync__cuda_record(int device, const dync__graph *, dync__inner *);

/* ---- loops.c, calls.c: kernel calls. Buffers of a loop kernel are operand numbers, or
 * DYNC__CUDA_TEMP - number. */
enum { DYNC__CUDA_TEMP = 1000 };
/* parts.c: a copy that lives as long as the code; a part over n buffers, NULL: the error is told */
DYNC__FN dync__kernel *dync__cuda_kernel_copy(dync__arena *, const dync__kernel *);
DYNC__FN dync__cuda_part *dync__cuda_part_new(dync__cuda_code *, int n);
/* a kernel in the code's arena as the next part */
DYNC__FN bool dync__cuda_add_loop(dync__cuda_code *, dync__kernel *);
/* One that packs an operand into a temporary: an input of the plan that stays as it is (weights) is
 * packed once. */
DYNC__FN bool dync__cuda_add_pack(dync__cuda_code *, dync__kernel *, const dync__kcall *,
                                  int operand, int temp);
/* takes the text over */
DYNC__FN bool dync__cuda_add_text(dync__cuda_code *, const dync__ptx_text *, int n,
                                  const int32_t *buf);
/* Variants by capability. dync__cuda_takes: does the device run texts of this target, in this
 * version of PTX (80: 8.0)? "sm_90a" is for 9.0 alone; the variable DYNC_CUDA_TARGET=sm_80 leaves
 * only what every device runs. dync__cuda_add_variant: such a text (launch[], shared_bytes, check[]
 * and map[] as in any text) for the part added last, with the same buffers; taken over. It runs
 * where the driver takes it and its checks hold, else the part's own text does, which is always
 * there too. Words come first (buffers, scratch; no random numbers), then m0, m1 ... of map[];
 * clusters by .reqnctapercluster. */
DYNC__FN bool dync__cuda_takes(int device, const char *target, int version);
DYNC__FN bool dync__cuda_add_variant(dync__cuda_code *, const dync__ptx_text *);
/* the same as another form; DYNC__CUDA_TF32: where that is allowed */
DYNC__FN bool dync__cuda_add_form(dync__cuda_code *, int form, const dync__ptx_text *);
DYNC__FN bool dync__cuda_add_gemm(dync__cuda_code *, struct dync__gm *, const dync__kernel *end,
                                  const bool *host, const int32_t *buf);
/* its buffer id in loop kernels; -1 no memory */
DYNC__FN int dync__cuda_add_temp(dync__cuda_code *, int64_t bytes);
DYNC__FN dync_status dync__cuda_call_loops(dync__cuda_code *, const dync__kcall *, bool *done);
DYNC__FN dync_status dync__cuda_call_text(dync__cuda_code *, const dync__kcall *, bool *done);
DYNC__FN dync_status dync__cuda_call_scatter(dync__cuda_code *, const dync__kcall *, bool *done);
DYNC__FN dync_status dync__cuda_call_attention(dync__cuda_code *, const dync__kcall *, bool *done);
DYNC__FN dync_status dync__cuda_call_recurrent(dync__cuda_code *, const dync__kcall *, bool *done);
DYNC__FN dync_status dync__cuda_call_sort(dync__cuda_code *, const dync__kcall *, bool *done);
/* x sorted along dim, stable: the values, and the places they had (i64). buf: of x, values,
 * places. */
DYNC__FN dync_status dync__cuda_add_sort(dync__cuda_code *, const dync__operand *x,
                                         const dync__operand *values, const dync__operand *places,
                                         int dim, bool descending, const int32_t *buf);
/* elements, dim skip counted as one; -1: all */
DYNC__FN int64_t dync__cuda_numel(const dync__operand *, int skip);

/* launch.c */
DYNC__FN const dync__cuda_form *dync__cuda_form_of(dync__cuda_code *c, dync__cuda_part *part,
                                                   int which);
#endif
