/* ---- doors: tensors that come from elsewhere and go there ------------------------------------ */

/* dync_tensors_load: every tensor of a file, under its name. What the file is, its first bytes say:
 *
 *   safetensors        and model.safetensors.index.json, whose shards lie in the same folder
 *   .npz               stored or deflated; names without ".npy"
 *   .pt, .pth          PyTorch's zip files. Read as data: tensors, dicts, lists, tuples, numbers
 *                      and texts; a file that asks for anything else is refused by its name. Names
 *                      of nested dicts are joined: "model.0.weight"
 *   GGUF               F32, F16, BF16, F64, integers; Q4_0, Q8_0, Q4_K, Q6_K become F32. Sizes
 *                      stand as PyTorch has them, outermost first
 *
 *   ->      released by dync_tensors_free; NULL on failure
 *   errors  DYNC_ERR_IO, DYNC_ERR_FORMAT (what is wrong, where), DYNC_ERR_UNSUPPORTED (a dtype or a
 *           value that dync does not have), DYNC_ERR_VALUE (NULL), DYNC_ERR_MEMORY
 *   notes   the file is mapped, and tensors stand in the mapping where it is aligned for them, else
 *           they are copies: it must not be made shorter while they live. Writing into them never
 *           changes the file. Files come from strangers: every bound is checked, and no more memory
 *           is asked for than the file's size justifies
 *   thread  any */
DYNC_API dync_tensors *dync_tensors_load(const char *path);
DYNC_API dync_tensors *dync_tensors_load_at(const char *path, dync_loc at);
#define dync_tensors_load(...) DYNC_AT(dync_tensors_load, __VA_ARGS__)

/* dync_tensors_new: none yet. dync_tensors_put: adds t, or replaces the one of that name.
 * dync_tensors_set_note: a text beside them, safetensors' metadata.
 *   t       a reference is kept
 *   errors  DYNC_ERR_VALUE (NULL, an empty name), DYNC_ERR_MEMORY
 *   thread  not while running: no other thread uses the same */
DYNC_API dync_tensors *dync_tensors_new(void);
DYNC_API dync_status dync_tensors_put(dync_tensors *named, const char *name, dync_tensor *t);
DYNC_API dync_status dync_tensors_set_note(dync_tensors *named, const char *key, const char *text);

/* dync_tensors_save: as the path ends: .npz (stored) or anything else, safetensors.
 *   errors  DYNC_ERR_IO, DYNC_ERR_DTYPE (NumPy has no bfloat16), DYNC_ERR_DEVICE (a tensor without
 *           data), DYNC_ERR_UNSUPPORTED (an .npz of more than 4 GB), DYNC_ERR_VALUE (NULL),
 *           DYNC_ERR_MEMORY
 *   notes   .npz holds no notes
 *   thread  any */
DYNC_API dync_status dync_tensors_save(const dync_tensors *named, const char *path);
DYNC_API dync_status dync_tensors_save_at(const dync_tensors *named, const char *path, dync_loc at);
#define dync_tensors_save(...) DYNC_AT(dync_tensors_save, __VA_ARGS__)

/* dync_tensors_count, dync_tensors_name, dync_tensors_at: by number, in the order of the file.
 * dync_tensors_get: by name. dync_tensors_note: a text that the file holds beside its tensors
 * (metadata of safetensors and GGUF, numbers and texts of a checkpoint), NULL where there is none;
 * dync_tensors_note_key: which there are, NULL behind the last.
 *   ->      names and texts: borrowed; tensors: owned by the scope; NULL on failure
 *   errors  DYNC_ERR_INDEX, DYNC_ERR_VALUE (no such name: those that are like it are named)
 *   thread  any */
DYNC_API int dync_tensors_count(const dync_tensors *named);
DYNC_API const char *dync_tensors_name(const dync_tensors *named, int i);
DYNC_API dync_tensor *dync_tensors_at(const dync_tensors *named, int i);
DYNC_API dync_tensor *dync_tensors_get(const dync_tensors *named, const char *name);
DYNC_API const char *dync_tensors_note(const dync_tensors *named, const char *key);
DYNC_API const char *dync_tensors_note_key(const dync_tensors *named, int i);

/* dync_tensors_free: tensors that were given out stay. NULL does nothing.
 *   thread  not while running: no other thread uses the same */
DYNC_API void dync_tensors_free(dync_tensors *named);

/* What dync_module_load_named found: names, one a line, "" where there are none; owned by the
 * scope. */
typedef struct dync_named_report {
    int loaded, n_missing, n_unexpected;
    const char *missing;    /* the module has them, the file does not: left as they were */
    const char *unexpected; /* the file has them, the module does not */
} dync_named_report;

/* dync_module_load_named: writes tensors into the parameters and buffers of the same names. Values
 * are converted to the module's dtype.
 *   prefix   before each name of the module, "model."; NULL: none. Names without it do not count
 *   report   NULL: missing and unexpected names are DYNC_ERR_VALUE, which lists them; else they are
 *            told there and the others are loaded
 *   errors   DYNC_ERR_VALUE, DYNC_ERR_SHAPE, DYNC_ERR_DEVICE, DYNC_ERR_MEMORY
 *   notes    a failed load leaves the module as it was; compiled forms see the new values
 *   thread   not while running */
DYNC_API dync_status dync_module_load_named(dync_module *m, const dync_tensors *named,
                                            const char *prefix, dync_named_report *report);

/* dync_from_dlpack: the tensor of another library, through DLPack 1: no copy. dync_to_dlpack: one
 * of ours for another. managed, and what is given: a DLManagedTensor *, or with versioned a
 * DLManagedTensorVersioned *.
 *   managed  taken on success: its deleter is called when no tensor uses the memory any more, by
 *            whichever thread lets go last. On failure it stays the caller's
 *   ->       dync_from_dlpack: owned by the scope; NULL on failure. dync_to_dlpack: to be released
 *            by its deleter, as DLPack says, also after dync_shutdown; NULL on failure
 *   errors   DYNC_ERR_DTYPE (complex, lanes, unsigned beyond 8 bits, ...), DYNC_ERR_DEVICE (none
 *            that dync reaches), DYNC_ERR_UNSUPPORTED (another major version), DYNC_ERR_SHAPE,
 *            DYNC_ERR_VALUE (NULL, data that are not aligned), DYNC_ERR_AUTOGRAD (t requires grad:
 *            dync_detach it), DYNC_ERR_MEMORY
 *   notes    what is read-only, or has negative strides, is copied. Inside a traced function both
 *            are graph breaks
 *   thread   any */
DYNC_API dync_tensor *dync_from_dlpack(void *managed, bool versioned);
DYNC_API void *dync_to_dlpack(dync_tensor *t, bool versioned);
