/* base/handle.h: the handles that users hold, and the one table of the objects behind them.
 *
 * A public `dync_graph *`, `dync_compiled *`, ... is no pointer but slot and generation packed into
 * a pointer-sized word. A slot's generation changes when its object ends, so that a handle from
 * before matches nothing: dync__graph_open(handle, "dync_graph_len") gives the object (dync__graph
 * *) or records who asked, for what, and where the object was made. dync__graph_handle goes back.
 * Tensors have slots of their own (tensor/tensor.h) and the same words; objects take the slot
 * numbers beyond theirs, so that a tensor given for an object, or the other way round, is found out
 * as well. */
#ifndef DYNC__HANDLE_H
#define DYNC__HANDLE_H
#include "base.h"

/* 64-bit: generation << 32 | (slot + 1) << 4. 32-bit: generation << 18 | (slot + 1). Slots stand in
 * chunks that never move; the tables of chunks have a fixed size. Tensors: slots below
 * DYNC__OBJECT_BASE. */
#if UINTPTR_MAX > 0xffffffffu
enum {
    DYNC__HANDLE_SHIFT = 4,
    DYNC__HANDLE_GENERATION = 32,
    DYNC__OBJECT_BASE = 1 << 24,
    DYNC__OBJECTS = 1 << 22
};
#define DYNC__HANDLE_GENERATIONS 0xffffffffu
#else
enum {
    DYNC__HANDLE_SHIFT = 0,
    DYNC__HANDLE_GENERATION = 18,
    DYNC__OBJECT_BASE = 3 << 16,
    DYNC__OBJECTS = (1 << 16) - 256
};
#define DYNC__HANDLE_GENERATIONS 0x3fffu
#endif
#if defined(DYNC_SMALL)
enum { DYNC__CHUNK_BITS = 4, DYNC__CHUNKS = 64, DYNC__OBJECT_CHUNKS = 64 };
#else
enum {
    DYNC__CHUNK_BITS = 8,
    DYNC__CHUNKS = DYNC__OBJECT_BASE >> DYNC__CHUNK_BITS,
    DYNC__OBJECT_CHUNKS = DYNC__OBJECTS >> DYNC__CHUNK_BITS
};
#endif
DYNC__INLINE uint32_t dync__handle_slot(uintptr_t word)
{
    return (uint32_t)((word >> DYNC__HANDLE_SHIFT) &
                      ((1u << (DYNC__HANDLE_GENERATION - DYNC__HANDLE_SHIFT)) - 1)) -
           1;
}
DYNC__INLINE uintptr_t dync__handle_word(uint32_t generation, uint32_t slot)
{
    return (uintptr_t)generation << DYNC__HANDLE_GENERATION | (uintptr_t)(slot + 1)
                                                                  << DYNC__HANDLE_SHIFT;
}

/* What stands behind handles: one row a kind. quick: comes and goes with calls, its slots are kept
 * by the thread. */
/*    id        name           quick, in messages */
/* clang-format off */
#define DYNC__OBJECT_KINDS(X)                                       \
    X(COMPILED, compiled,      0, "a compiled function")            \
    X(MODULE,   module,        0, "a module")                       \
    X(GRAPH,    graph,         0, "a graph")                        \
    X(NODE,     node,          0, "a node of a graph")              \
    X(PROGRAM,  program,       0, "a program")                      \
    X(LIST,     list,          1, "a list")                         \
    X(OPTIM,    optim,         0, "an optimizer")                   \
    X(CELL,     cell,          0, "a cell")                         \
    X(CONTEXT,  autograd_ctx,  1, "a context")                      \
    X(READER,   repro_reader,  0, "a reader")                       \
    X(TENSORS,  tensors,       0, "named tensors")
/* clang-format on */
enum {
#define DYNC__X(id, name, quick, text) DYNC__OBJECT_##id,
    DYNC__OBJECT_KINDS(DYNC__X)
#undef DYNC__X
        DYNC__OBJECT_KIND_COUNT
};

/* The first member of every object that has handles; zero: nobody has asked for one yet. */
typedef struct dync__object {
    uintptr_t handle;
    const char *file;
    int32_t line;
} dync__object;
/* What dync_shutdown frees where the user did not: the first member of a module, an optimizer, a
 * program, a cell. dync__root_set says how. */
typedef struct dync__root {
    dync__object object;
    struct dync__root **at, *next;
    void (*free)(struct dync__root *);
} dync__root;
typedef struct dync__object_slot {
    uint32_t generation; /* of the object in it, or of the next one */
    uint32_t kind;       /* of the object in it, or of the last one */
    void *object;
    const char *file; /* where that was made */
    int32_t line;
    uint32_t index, next; /* next: index + 1 of the next free one */
} dync__object_slot;
DYNC__DATA_DECL dync__object_slot *dync__object_slot_chunks[DYNC__OBJECT_CHUNKS];

/* NULL for NULL, for a stale handle and for one of another kind; records nothing. */
DYNC__INLINE void *dync__object_peek(const void *handle, uint32_t kind)
{
    uint32_t i = dync__handle_slot((uintptr_t)handle) - (uint32_t)DYNC__OBJECT_BASE;
    if (DYNC__UNLIKELY(i >= (uint32_t)DYNC__OBJECT_CHUNKS << DYNC__CHUNK_BITS)) return NULL;
    const dync__object_slot *s =
        DYNC__ATOMIC_LOAD(&dync__object_slot_chunks[i >> DYNC__CHUNK_BITS]);
    if (DYNC__UNLIKELY(!s)) return NULL;
    s += i & ((1u << DYNC__CHUNK_BITS) - 1);
    bool live = DYNC__ATOMIC_LOAD(&s->generation) ==
                    (uint32_t)((uintptr_t)handle >> DYNC__HANDLE_GENERATION) &&
                s->kind == kind;
    return DYNC__LIKELY(live) ? s->object : NULL;
}
/* NULL, and the error that `who` was given no such object: DYNC_ERR_VALUE. For NULL only where no
 * error is pending. */
DYNC__FN const char *dync__object_text(uint32_t kind); /* "a graph" */
DYNC__FN void *dync__object_fail(const void *handle, uint32_t kind, const char *who);
/* The word of an object, which gets its slot when it is first asked for; NULL and
 * DYNC_ERR_MEMORY. */
DYNC__FN void *dync__object_handle(dync__object *, uint32_t kind);
/* notes the user's line as where it was made */
DYNC__FN void dync__object_made(dync__object *);
/* its handle is stale from now on */
DYNC__FN void dync__object_end(dync__object *);
/* frees all slots (dync_shutdown) */
DYNC__FN void dync__objects_shutdown(void);

/* dync__graph_peek, dync__graph_open, dync__graph_handle and their kin. handle(NULL) is NULL. */
#define DYNC__X(id, name, quick, text)                                                            \
    typedef struct dync__##name dync__##name;                                                     \
    DYNC__INLINE dync__##name *dync__##name##_peek(const dync_##name *handle)                     \
    {                                                                                             \
        return dync__object_peek(handle, DYNC__OBJECT_##id);                                      \
    }                                                                                             \
    DYNC__INLINE dync__##name *dync__##name##_open(const dync_##name *handle, const char *who)    \
    {                                                                                             \
        void *object = dync__object_peek(handle, DYNC__OBJECT_##id);                              \
        return DYNC__LIKELY(object != NULL) ? object                                              \
                                            : dync__object_fail(handle, DYNC__OBJECT_##id, who);  \
    }                                                                                             \
    DYNC__INLINE dync_##name *dync__##name##_handle(const dync__##name *object)                   \
    {                                                                                             \
        return object ? dync__object_handle((dync__object *)(uintptr_t)object, DYNC__OBJECT_##id) \
                      : NULL;                                                                     \
    }
DYNC__OBJECT_KINDS(DYNC__X)
#undef DYNC__X
#endif
