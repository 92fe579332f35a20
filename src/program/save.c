/* program/save.c: programs to files and back: program_file.c's form, C source (csource.c). After
 * both. */
#include "../dync.in.h"
#include "program.h"
DYNC__COLD

/* ---- files ----------------------------------------------------------------------------------- */

/* write: appends the file to a string. Nothing is written where it fails. */
static dync_status dync__program_save_as(const dync_program *handle, const char *path,
                                         const char *who,
                                         dync_status (*write)(const dync__program *, dync__str *))
{
    dync__str s = {0};
    const dync__program *p = NULL;
    DYNC__TRY(dync__program_to_save(handle, path, who, &p));
    DYNC__WRITES(path);
    dync_status status = write(p, &s);
    if (status == DYNC_OK && s.failed) status = DYNC_ERR_MEMORY;
    if (status == DYNC_OK) status = dync__file_write(path, s.at, s.n);
    dync__str_free(&s);
    return status;
}

DYNC_API dync_status(dync_program_save)(const dync_program *p, const char *path)
{
    return dync__program_save_as(p, path, "dync_program_save", dync__program_write);
}

/* The header beside a path that ends in .c; else there is none. */
static dync_status dync__program_save_source(const dync__program *p, const char *path,
                                             dync__str *header_path)
{
    dync__str source = {0}, header = {0};
    size_t n = strlen(path), base = n;
    bool two = n > 2 && strcmp(path + n - 2, ".c") == 0;
    dync__str_addn(header_path, path, two ? n - 2 : 0);
    dync__str_add(header_path, ".h");
    const char *name = dync__str_get(header_path);
    while (base > 0 && path[base - 1] != '/' && path[base - 1] != '\\') base--;
    dync_status status = header_path->failed ? DYNC_ERR_MEMORY
                         : two ? dync__program_csource(p, name + base, &source, &header)
                               : dync__program_csource(p, NULL, &source, NULL);
    if (status == DYNC_OK) status = dync__file_write(path, source.at, source.n);
    if (status == DYNC_OK && two) status = dync__file_write(name, header.at, header.n);
    dync__str_free(&source);
    dync__str_free(&header);
    return status;
}

DYNC_API dync_status(dync_program_save_c)(const dync_program *handle, const char *path)
{
    dync__str header_path = {0};
    const dync__program *p = NULL;
    DYNC__TRY(dync__program_to_save(handle, path, "dync_program_save_c", &p));
    DYNC__WRITES(path);
    dync_status status = dync__program_save_source(p, path, &header_path);
    dync__str_free(&header_path);
    return status;
}

DYNC_API dync_program *(dync_program_load)(const char *path)
{
    char *bytes;
    size_t n;
    if (!path) {
        dync__fail(DYNC_ERR_VALUE, "dync_program_load: expected a path, got NULL");
        return NULL;
    }
    if (dync__file_read(path, &bytes, &n) != DYNC_OK) return NULL;
    dync__program *p = dync__program_read(bytes, n);
    dync__free(bytes, n + 1);
    return dync__program_give(p);
}
