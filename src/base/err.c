/* base/err.c: the first error of a thread, and the public functions that read it.
 *
 * The slot lives in dync__tls and needs no memory, so running out of memory can be told and the
 * error outlives dync_shutdown. Invariant: slot.status == DYNC_OK exactly while nothing is pending;
 * then both texts are "". */
#include "../dync.in.h"
#include "base.h"
DYNC__WARM

/* One row per status: its upstream class where the error names none. */
/* clang-format off */
#define DYNC__STATUSES(X)                                                                                        \
    X(OK, "") X(ERR_SHAPE, "RuntimeError") X(ERR_DTYPE, "RuntimeError") X(ERR_DEVICE, "RuntimeError")            \
    X(ERR_VALUE, "ValueError") X(ERR_INDEX, "IndexError") X(ERR_MEMORY, "MemoryError") X(ERR_IO, "OSError")      \
    X(ERR_FORMAT, "FormatError") X(ERR_AUTOGRAD, "RuntimeError") X(ERR_UNSUPPORTED, "Unsupported")               \
    X(ERR_BACKEND, "BackendCompilerFailed") X(ERR_COMPILE, "TorchDynamoException") X(ERR_RUNTIME, "RuntimeError") \
    X(ERR_ACCURACY, "AccuracyError") X(ERR_DATA_PTR, "RuntimeError") X(ERR_RECOMPILE_LIMIT, "RecompileError")    \
    X(ERR_INTERNAL, "InternalTorchDynamoError")
/* clang-format on */

typedef struct dync__status_row {
    const char *name, *class_name;
} dync__status_row;
static const dync__status_row dync__status_rows[] = {
#define DYNC__X(name, class_name) \
    [DYNC_##name] = {DYNC__TEXT("DYNC_" #name), DYNC__TEXT(class_name)},
    DYNC__STATUSES(DYNC__X)
#undef DYNC__X
};

static const dync__status_row *dync__err_row(dync_status status)
{
    int i = (int)status;
    return &dync__status_rows[i >= 0 && i < DYNC__COUNT_OF(dync__status_rows) ? i
                                                                              : DYNC_ERR_INTERNAL];
}

DYNC__RARE DYNC__FN const char *dync__status_name(dync_status status)
{
    return dync__err_row(status)->name;
}
DYNC__FN uint64_t dync__error_count(void) { return dync__tls.error_count; }

DYNC__RARE static void dync__err_report(const dync__error_slot *e)
{
    if (dync__tls.quiet) return;
    if (dync__tls.error_handler) {
        if (dync__tls.telling) return; /* one that clears the error and fails again would not end */
        dync__tls.telling = true;
        dync__tls.error_handler(e->status, e->message, dync__tls.error_user);
        dync__tls.telling = false;
        return;
    }
#ifndef DYNC_NO_STDIO
    char line[sizeof e->message + 16];
    dync__format(line, sizeof line, "dync: %s\n", e->message);
    fputs(line, stderr);
#endif
}

#if defined(DYNC_NO_TEXT)
DYNC__RARE DYNC__FN dync_status dync__fail_bare(dync_status status, const char *class_name)
{
    dync__error_slot *e = &dync__tls.error;
    dync__tls.error_count++;
    if (status == DYNC_OK) status = DYNC_ERR_INTERNAL;
    if (e->status != DYNC_OK) return status;
    if (!class_name) class_name = dync__err_row(status)->class_name;
    size_t n = DYNC__MIN(strlen(class_name), sizeof e->class_name - 1);
    memcpy(e->class_name, class_name, n);
    memcpy(e->message, class_name, n);
    e->class_name[n] = e->message[n] = 0;
    e->status = status;
    dync__err_report(e);
    return status;
}
#else
/* "op: text (file:line)"; a text that is too long loses its end, not the place. */
DYNC__RARE static dync_status dync__err_record(dync_status status, const char *class_name,
                                               const char *fmt, va_list args)
{
    dync__error_slot *e = &dync__tls.error;
    dync__tls.error_count++;
    if (status == DYNC_OK) status = DYNC_ERR_INTERNAL;
    if (e->status != DYNC_OK) return status;
    char place[256] = "";
    size_t n = 0, room = sizeof e->message;
    if (dync__tls.at.file)
        dync__format(place, sizeof place, " (%.200s:%d)", dync__tls.at.file, dync__tls.at.line);
    room -= strlen(place);
    if (dync__tls.op) n = (size_t)dync__format(e->message, room, "%.64s: ", dync__tls.op);
    int length = dync__formatv(e->message + n, room - n, fmt, args);
    n += length < 0 || (size_t)length >= room - n ? room - n - 1 : (size_t)length;
    memcpy(e->message + n, place, strlen(place) + 1);
    e->status = status;
    dync__format(e->class_name, sizeof e->class_name, "%s",
                 class_name ? class_name : dync__err_row(status)->class_name);
    dync__err_report(e);
    return status;
}

DYNC__RARE DYNC__FN dync_status dync__fail(dync_status status, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    status = dync__err_record(status, NULL, fmt, args);
    va_end(args);
    return status;
}

DYNC__RARE DYNC__FN dync_status dync__fail_class(dync_status status, const char *class_name,
                                                 const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    status = dync__err_record(status, class_name, fmt, args);
    va_end(args);
    return status;
}
#endif

DYNC__RARE DYNC__FN dync_status dync__left_out(const char *what, const char *with)
{
    return dync__fail(DYNC_ERR_UNSUPPORTED, "%s is not part of this program: it was built with %s",
                      what, with);
}
/* A linker that does not know weak names as api/link.h has them. */
DYNC__RARE DYNC__FN dync_status dync__gradients_missing(void)
{
    return dync__fail(
        DYNC_ERR_BACKEND,
        "the gradients of compiled code were not linked: call dync_compile_opt, which "
        "names them, or define DYNC_NO_AUTOGRAD");
}

DYNC__RARE DYNC__FN dync_status dync__unlinked(const char *what)
{
    return dync__fail(DYNC_ERR_BACKEND, "%s: what compiled code has for it was not linked", what);
}

/* What was last refused, also where a guard hid the error: who learns of it from a flag reports 0
 * bytes. */
static DYNC__TLS size_t dync__err_refused;

DYNC__RARE DYNC__FN dync_status dync__fail_memory(size_t bytes)
{
    if (bytes) dync__err_refused = bytes;
    bytes = dync__err_refused;
    if (bytes == SIZE_MAX) return dync__fail(DYNC_ERR_MEMORY, "out of memory: a size overflows");
    if (dync__heap.enough)
        return dync__fail(DYNC_ERR_MEMORY,
                          "out of memory: %zu bytes; the buffer of dync_init has %zu and "
                          "needs %zu to go on",
                          bytes, (size_t)(dync__heap.end - dync__heap.begin), dync__heap.enough);
    if (!bytes) return dync__fail(DYNC_ERR_MEMORY, "out of memory");
    return dync__fail(DYNC_ERR_MEMORY, "out of memory: %zu bytes", bytes);
}

/* ---- guards ---------------------------------------------------------------------------------- */

DYNC__FN void dync__error_guard_begin(dync__error_guard *g)
{
    g->outer = dync__tls.error;
    g->errors_before = dync__tls.error_count;
    g->quiet_before = dync__tls.quiet;
    dync_clear_error();
    dync__tls.quiet = true;
}

DYNC__RARE DYNC__FN dync__error_slot *dync__error_guard_end(dync__error_guard *g)
{
    dync__error_slot inner = dync__tls.error;
    dync__tls.error = g->outer;
    /* what was guarded did not happen, unless it is raised again */
    dync__tls.error_count = g->errors_before;
    dync__tls.quiet = g->quiet_before;
    g->outer = inner;
    return &g->outer;
}

DYNC__RARE DYNC__FN void dync__error_raise(const dync__error_slot *e)
{
    if (e->status == DYNC_OK) return;
    dync__tls.error_count++;
    if (dync__tls.error.status != DYNC_OK) return;
    dync__tls.error = *e;
    dync__err_report(&dync__tls.error);
}

/* ---- public ---------------------------------------------------------------------------------- */

DYNC__RARE DYNC_API dync_status dync_error(void) { return dync__tls.error.status; }
DYNC__RARE DYNC_API const char *dync_error_message(void) { return dync__tls.error.message; }
DYNC__RARE DYNC_API const char *dync_error_class(void) { return dync__tls.error.class_name; }

DYNC__RARE DYNC_API void dync_clear_error(void)
{
    dync__tls.error.status = DYNC_OK;
    dync__tls.error.message[0] = 0;
    dync__tls.error.class_name[0] = 0;
}

DYNC__RARE DYNC_API void dync_on_error(void (*fn)(dync_status, const char *message, void *user),
                                       void *user)
{
    dync__tls.telling = false;
    dync__tls.error_handler = fn;
    dync__tls.error_user = user;
}
