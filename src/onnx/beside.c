/* onnx/beside.c: elements of tensors in files beside the model. They lie in the model's folder and
 * nowhere else: a location is a relative path without `..`, and neither it nor a folder on the way
 * is a link. Source: onnx/onnx.proto, the page "External Data" of ONNX's documentation. Before
 * data.c. */
#include "../dync.in.h"
#include "onnx.h"
#if defined(__unix__) || defined(__APPLE__)
#include <sys/stat.h>
#if !defined(__GLIBC__) || !defined(__USE_XOPEN2K)
extern int lstat(const char *restrict, struct stat *restrict);
#endif
#endif
DYNC__COLD

/* A file of external data that was read; blob NULL: it could not be, which is reported at each use.
 */
typedef struct dync__onnx_outside {
    char *path;
    dync__blob *blob;
} dync__onnx_outside;

DYNC__FN void dync__onnx_files_end(dync__onnx_files *f)
{
    for (int i = 0; i < f->at.n; i++) {
        dync__onnx_outside *o = f->at.at[i];
        dync__blob_unref(o->blob);
        dync__strfree(o->path);
        dync__free(o, sizeof *o);
    }
    dync__vec_free(&f->at);
    dync__blob_unref(f->model);
    f->model = NULL;
}

static dync_status dync__onnx_outside_bad(const char *tensor, const char *path, const char *what)
{
    return dync__fail(DYNC_ERR_FORMAT, "ONNX file: tensor \"%s\": its data lie in \"%s\", %s",
                      tensor, path, what);
}

/* Nothing but names between slashes; none of them leads out. */
static bool dync__onnx_path_inside(const char *path)
{
    if (!*path || *path == '/' || strchr(path, '\\') || strchr(path, ':')) return false;
    for (const char *p = path; *p;) {
        const char *end = strchr(p, '/');
        size_t n = end ? (size_t)(end - p) : strlen(p);
        if (n == 0 || (n == 2 && p[0] == '.' && p[1] == '.')) return false;
        p += end ? n + 1 : n;
    }
    return true;
}

/* What folder/path is that is not read: a link or behind one; a folder, a device or a pipe, which
 * would be waited for. NULL: a file, or nothing. */
static const char *dync__onnx_path_other(const char *folder, const char *path)
{
#if defined(__unix__) || defined(__APPLE__)
    dync__str s = {0};
    struct stat info;
    const char *other = NULL;
    for (const char *p = path; p && !other;) {
        const char *end = strchr(p, '/');
        s.n = 0;
        dync__str_addf(&s, "%s/", folder);
        dync__str_addn(&s, path, end ? (size_t)(end - path) : strlen(path));
        bool is_there = s.failed || lstat(dync__str_get(&s), &info) == 0;
        if (s.failed || (is_there && (info.st_mode & 0170000) == 0120000))
            other = "which is a link or behind one";
        else if (is_there && !end && (info.st_mode & 0170000) != 0100000)
            other = "which is no file";
        p = end ? end + 1 : NULL;
    }
    dync__str_free(&s);
    return other;
#else
    return (void)folder, (void)path, NULL;
#endif
}

/* The file of this location, opened once. Checks come before anything is touched: the folder, the
 * path, links on the way. *out is owned by f, on failure too. */
static dync_status dync__onnx_outside_open(dync__onnx_files *f, const char *tensor,
                                           const char *path, dync__onnx_outside **out)
{
    for (int i = 0; i < f->at.n; i++)
        if (strcmp(f->at.at[i]->path, path) == 0) {
            *out = f->at.at[i];
            return DYNC_OK;
        }
    if (!f->folder)
        return dync__onnx_outside_bad(tensor, path, "but the model is not read from a folder");
    if (!dync__onnx_path_inside(path))
        return dync__onnx_outside_bad(tensor, path, "expected a path inside of the model's folder");
    const char *other = dync__onnx_path_other(f->folder, path);
    if (other) return dync__onnx_outside_bad(tensor, path, other);
    dync__onnx_outside *o = dync__calloc(sizeof *o);
    if (!o || !dync__vec_push(&f->at, o)) {
        dync__free(o, sizeof *o);
        return DYNC_ERR_MEMORY;
    }
    dync__str full = {0};
    dync__str_addf(&full, "%s/%s", f->folder, path);
    o->path = dync__strdup(path);
    if (!o->path) { /* no file without a path is found again */
        dync__str_free(&full);
        dync__free(o, sizeof *o);
        f->at.n--;
        return DYNC_ERR_MEMORY;
    }
    dync_status status = full.failed ? DYNC_ERR_MEMORY : dync__blob_open(full.at, &o->blob);
    dync__str_free(&full);
    *out = o;
    return status;
}

/* A count out of a text; false: it is none. */
static bool dync__onnx_count(const char *text, uint64_t *out)
{
    *out = 0;
    for (const char *p = text; *p; p++) {
        if (*p < '0' || *p > '9' || *out > (UINT64_MAX - 9) / 10) return false;
        *out = *out * 10 + (uint64_t)(*p - '0');
    }
    return *text != 0;
}

/* location, offset and length (by default 0, and to the end of the file) of the message: the bytes
 * lie in *blob, which f owns. */
DYNC__FN dync_status dync__onnx_outside_bytes(const dync__onnx_tensor *m, dync__onnx_files *f,
                                              dync__pb_bytes *out, dync__blob **blob)
{
    const char *path = NULL;
    uint64_t offset = 0, length = UINT64_MAX;
    bool ok = true;
    for (int i = 0; i < m->external_data.n; i++) {
        const dync__onnx_entry *e = m->external_data.at[i];
        if (strcmp(e->key, "location") == 0) path = e->value;
        if (strcmp(e->key, "offset") == 0) ok = ok && dync__onnx_count(e->value, &offset);
        if (strcmp(e->key, "length") == 0) ok = ok && dync__onnx_count(e->value, &length);
    }
    if (!path || !ok)
        return dync__fail(
            DYNC_ERR_FORMAT,
            "ONNX file: tensor \"%s\" says that its data lie in a file, but not where", m->name);
    dync__onnx_outside *o = NULL;
    DYNC__TRY(dync__onnx_outside_open(f, m->name, path, &o));
    size_t n = o->blob ? o->blob->n : 0; /* none: it could not be read before */
    if (!o->blob || offset > n || (length != UINT64_MAX && length > n - offset))
        return dync__onnx_outside_bad(m->name, path, "beyond its end");
    out->at = o->blob->bytes + offset;
    out->n = length == UINT64_MAX ? n - (size_t)offset : (size_t)length;
    *blob = o->blob;
    return DYNC_OK;
}
