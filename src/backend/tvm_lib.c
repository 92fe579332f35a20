/* backend/tvm_lib.c: finding and calling Apache TVM's libraries. Before
 * tvm_pointwise.c.
 *
 * Three libraries: libtvm_ffi.so has the C functions, libtvm_runtime.so and libtvm_compiler.so
 * register what they call. The package keeps them in two folders (tvm_ffi/lib, tvm/lib); DYNC_TVM
 * names either folder, the one above both, or a library in it. They are opened once and stay. */
#include "../dync.in.h"
#include "tvm.h"
DYNC__COLD

/* ---- finding --------------------------------------------------------------------------------- */

/* Looked for once per process, successfully or not. */
static struct {
    dync__mutex lock;
    int tried; /* 1: there they are, -1: they are not */
    dync__tvm lib;
} dync__tvm_state;

DYNC__FN const char *dync__tvm_missing(void)
{
    return "libtvm_ffi.so, libtvm_runtime.so and libtvm_compiler.so were not found: DYNC_TVM names "
           "their folder, and `pip install apache-tvm` has them";
}

/* folder: "" for the loader's own places. between: the way from it to the library. between is tried
 * in order, up to NULL. NULL: not found; the loader says nothing. */
static void *dync__tvm_open(const char *folder, const char *const *between, const char *name)
{
    void *found = NULL;
    for (int i = 0; between[i] && !found; i++) {
        dync__str path = {0};
        dync__str_addf(&path, "%s%s%s", folder, between[i], name);
        if (!path.failed) found = dync__lib_open_for_all(dync__str_get(&path));
        dync__str_free(&path);
    }
    return found;
}

/* False where one is missing; what was opened stays open, as libraries with globals cannot be
 * closed. */
static bool dync__tvm_open_all(const char *folder, dync__tvm *out)
{
    static const char *const ffi[] = {"", "../../tvm_ffi/lib/", "tvm_ffi/lib/", NULL},
                             *const tvm[] = {"", "../../tvm/lib/", "tvm/lib/", NULL};
    void *base = dync__tvm_open(folder, ffi, "libtvm_ffi.so");
    if (!base) return false;
    /* the others find it by its name, now that it is loaded, and so does the code they make */
    if (!dync__tvm_open(folder, tvm, "libtvm_runtime.so") ||
        !dync__tvm_open(folder, tvm, "libtvm_compiler.so"))
        return false;
    out->get_global =
        (int (*)(const void *, void **))dync__lib_symbol(base, "TVMFFIFunctionGetGlobal");
    out->call = (int (*)(void *, dync__tvm_any *, int32_t, dync__tvm_any *))dync__lib_symbol(
        base, "TVMFFIFunctionCall");
    out->unref = (int (*)(void *))dync__lib_symbol(base, "TVMFFIObjectDecRef");
    out->take_error = (void (*)(void **))dync__lib_symbol(base, "TVMFFIErrorMoveFromRaised");
    return out->get_global && out->call && out->unref && out->take_error;
}

/* The folder that DYNC_TVM means, with a slash; of a library, its own. */
static bool dync__tvm_named(dync__tvm *out)
{
    const char *name = dync__env("DYNC_TVM");
    dync__str folder = {0};
    size_t n = name ? strlen(name) : 0;
    if (!n) return false;
    if (n > 3 && strcmp(name + n - 3, ".so") == 0) {
        while (n > 0 && name[n - 1] != '/') n--;
        dync__str_addn(&folder, name, n);
    } else {
        dync__str_addf(&folder, "%s%s", name, name[n - 1] == '/' ? "" : "/");
    }
    bool found = !folder.failed && dync__tvm_open_all(dync__str_get(&folder), out);
    dync__str_free(&folder);
    return found;
}

/* Beside the program or library that dync is part of. */
static bool dync__tvm_beside(dync__tvm *out)
{
    dync__str folder = {0};
    bool found = dync__lib_beside("", &folder) && dync__tvm_open_all(dync__str_get(&folder), out);
    dync__str_free(&folder);
    return found;
}

/* The environment's folder, the loader's own places, the program's folder. */
DYNC__FN const dync__tvm *dync__tvm_get(void)
{
    dync__lock(&dync__tvm_state.lock);
    if (dync__tvm_state.tried == 0) {
        dync__tvm *out = &dync__tvm_state.lib;
        bool found = dync__tvm_named(out) || dync__tvm_open_all("", out) || dync__tvm_beside(out);
        dync__tvm_state.tried = found ? 1 : -1;
    }
    int tried = dync__tvm_state.tried;
    dync__unlock(&dync__tvm_state.lock);
    return tried > 0 ? &dync__tvm_state.lib : NULL;
}

/* ---- values ---------------------------------------------------------------------------------- */

/* Every byte is set, the padding too. */
static dync__tvm_any dync__tvm_plain(int type)
{
    dync__tvm_any a;
    memset(&a, 0, sizeof a);
    a.type = type;
    return a;
}
DYNC__FN dync__tvm_any dync__tvm_none(void) { return dync__tvm_plain(DYNC__TVM_NONE); }
DYNC__FN dync__tvm_any dync__tvm_int(int64_t i)
{
    dync__tvm_any a = dync__tvm_plain(DYNC__TVM_INT);
    a.as.i = i;
    return a;
}
DYNC__FN dync__tvm_any dync__tvm_bool(bool b)
{
    dync__tvm_any a = dync__tvm_plain(DYNC__TVM_BOOL);
    a.as.i = b;
    return a;
}
DYNC__FN dync__tvm_any dync__tvm_text(const char *s)
{
    dync__tvm_any a = dync__tvm_plain(DYNC__TVM_TEXT);
    a.as.s = s;
    return a;
}
DYNC__FN dync__tvm_any dync__tvm_dtype(int dtype)
{
    dync__tvm_any a = dync__tvm_plain(DYNC__TVM_DTYPE);
    a.as.dtype = dync__dl_dtype_of(dtype);
    return a;
}

/* ---- calling --------------------------------------------------------------------------------- */

typedef struct dync__tvm_bytes {
    const char *data;
    size_t size;
} dync__tvm_bytes;
enum { DYNC__TVM_HEADER = 24 }; /* of an object: counts, type, what frees it */

/* TVM keeps the pending error per thread; reading takes it away. */
DYNC__FN void dync__tvm_error(const dync__tvm *lib, char *out, size_t cap)
{
    void *error = NULL;
    lib->take_error(&error);
    if (!error) {
        dync__format(out, cap, "TVM failed and did not say why");
        return;
    }
    dync__tvm_bytes text[2]; /* kind, message */
    memcpy(text, (char *)error + DYNC__TVM_HEADER, sizeof text);
    size_t n = 0;
    while (n < text[1].size && text[1].data[n] != '\n') n++;
    dync__format(out, cap, "%.*s: %.*s", (int)DYNC__MIN(text[0].size, 60), text[0].data,
                 (int)DYNC__MIN(n, 400), text[1].data);
    lib->unref(error);
}

/* Keeps the first failure with the function it came from. */
static dync__tvm_any dync__tvm_fail(dync__tvm_work *w, const char *name)
{
    char text[512];
    dync__tvm_error(w->lib, text, sizeof text);
    if (!w->failed) dync__format(w->message, sizeof w->message, "%s: %s", name, text);
    w->failed = true;
    return dync__tvm_none();
}

/* args are not written, though the type says that they may be */
static dync__tvm_any dync__tvm_ask(dync__tvm_work *w, const char *name, int n, dync__tvm_any *args)
{
    dync__tvm_any out = dync__tvm_none();
    dync__tvm_bytes key = {name, strlen(name)};
    void *fn = NULL;
    if (w->lib->get_global(&key, &fn) != 0) return dync__tvm_fail(w, name);
    if (!fn) {
        dync__format(w->message, sizeof w->message, "this TVM has no %s", name);
        w->failed = true;
        return out;
    }
    int status = w->lib->call(fn, args, n, &out);
    w->lib->unref(fn);
    if (status != 0) return dync__tvm_fail(w, name);
    if (out.type >= DYNC__TVM_OBJECT && !dync__vec_push(&w->owned, out.as.p)) {
        w->lib->unref(out.as.p);
        w->failed = true;
    }
    return out;
}

/* Objects that come back are counted into w and live until dync__tvm_end. NONE after a failure. */
DYNC__FN dync__tvm_any dync__tvm_call(dync__tvm_work *w, const char *name, int n,
                                      const dync__tvm_any *args)
{
    size_t bytes = (size_t)n * sizeof *args;
    dync__tvm_any *copy = w->failed ? NULL : dync__alloc(bytes + 1);
    dync__tvm_any out = dync__tvm_none();
    if (!copy) {
        w->failed = true;
        return out;
    }
    if (n) memcpy(copy, args, bytes);
    out = dync__tvm_ask(w, name, n, copy);
    dync__free(copy, bytes + 1);
    return out;
}

DYNC__FN void dync__tvm_end(dync__tvm_work *w)
{
    while (w->owned.n > 0) w->lib->unref(w->owned.at[--w->owned.n]);
    dync__vec_free(&w->owned);
}

/* ---- lists and numbers ----------------------------------------------------------------------- */

DYNC__FN dync__tvm_any dync__tvm_list(dync__tvm_work *w, int n, const dync__tvm_any *items)
{
    return dync__tvm_call(w, "ffi.Array", n, items);
}
/* At most 2 * DYNC_MAX_DIMS. */
DYNC__FN dync__tvm_any dync__tvm_ints(dync__tvm_work *w, int n, const int64_t *values)
{
    dync__tvm_any items[2 * DYNC_MAX_DIMS];
    for (int i = 0; i < n && i < 2 * DYNC_MAX_DIMS; i++) items[i] = dync__tvm_int(values[i]);
    return dync__tvm_list(w, n, items);
}
DYNC__FN dync__tvm_any dync__tvm_shape(dync__tvm_work *w, int n, const int64_t *values)
{
    dync__tvm_any items[2 * DYNC_MAX_DIMS];
    for (int i = 0; i < n && i < 2 * DYNC_MAX_DIMS; i++)
        items[i] = DYNC__TVM(w, "ir.IntImm", dync__tvm_dtype(DYNC_I64), dync__tvm_int(values[i]),
                             dync__tvm_none());
    return dync__tvm_list(w, n, items);
}
DYNC__FN dync__tvm_any dync__tvm_number(dync__tvm_work *w, int dtype, double x)
{
    dync__tvm_any f = dync__tvm_plain(DYNC__TVM_FLOAT);
    f.as.f = x;
    return DYNC__TVM(w, "ir.FloatImm", dync__tvm_dtype(dtype), f, dync__tvm_none());
}
