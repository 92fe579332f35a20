/* cuda/image.c: compiled images of texts, kept in files where that is asked for
 * (DYNC_CUDA_CACHE=FOLDER, dync_cuda_cache). After device.c, before launch.c.
 *
 * The driver's linker makes the image of a text for the device in use; it goes into
 * FOLDER/<hash>.cubin with the text, the device's capability and the driver's version in front of
 * it, and a hash of the whole. A file where anything differs is not used, and written anew: first
 * beside its place, then moved there, so that other processes see all or nothing. What fails here
 * costs only time: the text itself is loaded then. */
#include "../dync.in.h"
#include "cuda.h"
DYNC__COLD

enum { DYNC__IMAGE_PATH = 1024, DYNC__IMAGE_PTX = 1 /* CU_JIT_INPUT_PTX */ };
typedef struct dync__image_head {
    char magic[8];
    uint64_t device, driver, text_bytes, image_bytes, check;
} dync__image_head;
static struct {
    dync__mutex lock;
    bool asked;
    char folder[DYNC__IMAGE_PATH - 64];
} dync__images;

DYNC__FN dync_status dync__cuda_images_in(const char *folder)
{
    size_t n = folder ? strlen(folder) : 0;
    if (n >= sizeof dync__images.folder)
        return dync__fail(DYNC_ERR_VALUE, "a folder's name is at most %d bytes long",
                          (int)sizeof dync__images.folder - 1);
    if (n) DYNC__TRY(dync__folders_make(folder));
    dync__lock(&dync__images.lock);
    dync__images.asked = true;
    memcpy(dync__images.folder, folder ? folder : "", n + 1);
    dync__unlock(&dync__images.lock);
    return DYNC_OK;
}

/* The file of a text; false: none is kept. */
static bool dync__image_path(const dync__image_head *head, const char *text,
                             char path[DYNC__IMAGE_PATH])
{
    const char *folder = NULL;
    dync__error_guard guard;
    if (!dync__images.asked && (folder = dync__env("DYNC_CUDA_CACHE")) != NULL && *folder) {
        dync__error_guard_begin(&guard);
        if (dync__cuda_images_in(folder) != DYNC_OK)
            dync__log(DYNC__LOG_perf, "cuda: no images are kept: %s", dync_error_message());
        (void)dync__error_guard_end(&guard);
    }
    dync__lock(&dync__images.lock);
    dync__images.asked = true;
    bool is_on = dync__images.folder[0] != 0;
    uint64_t key[2] = {head->device, head->driver},
             hash = dync__hash_bytes(text, (size_t)head->text_bytes,
                                     dync__hash_bytes(key, sizeof key, 0));
    if (is_on)
        dync__format(path, DYNC__IMAGE_PATH, "%s/%016llx.cubin", dync__images.folder,
                     (unsigned long long)hash);
    dync__unlock(&dync__images.lock);
    return is_on;
}

static uint64_t dync__image_check(const dync__image_head *head, const char *text, const void *image)
{
    dync__image_head blank = *head;
    blank.check = 0;
    uint64_t hash =
        dync__hash_bytes(text, (size_t)head->text_bytes, dync__hash_bytes(&blank, sizeof blank, 0));
    return dync__hash_bytes(image, (size_t)head->image_bytes, hash);
}

static bool dync__image_read(const char *path, dync__image_head want, const char *text,
                             cudaLibrary_t *library)
{
    char *file = NULL;
    size_t n = 0;
    dync__image_head head;
    dync__error_guard guard;
    dync__error_guard_begin(&guard);
    bool ok = dync__file_read(path, &file, &n) == DYNC_OK && n >= sizeof head;
    if (ok) {
        memcpy(&head, file, sizeof head);
        want.image_bytes = head.image_bytes;
        want.check = head.check;
        ok = memcmp(&head, &want, sizeof head) == 0 && head.image_bytes > 0 &&
             n - sizeof head > head.text_bytes &&
             n - sizeof head - head.text_bytes == head.image_bytes &&
             memcmp(file + sizeof head, text, (size_t)head.text_bytes) == 0 &&
             head.check == dync__image_check(&head, text, file + sizeof head + head.text_bytes);
    }
    if (ok && cudaLibraryLoadData(library, file + sizeof head + head.text_bytes, NULL, NULL, 0,
                                  NULL, NULL, 0) != 0) {
        (void)cudaGetLastError();
        *library = NULL;
        ok = false;
    }
    if (file) dync__free(file, n + 1);
    (void)dync__error_guard_end(&guard);
    return ok;
}

static void dync__image_write(const char *path, const dync__image_head *head, const char *text,
                              const void *image)
{
    dync__str all = {0};
    dync__error_guard guard;
    dync__error_guard_begin(&guard);
    dync__str_addn(&all, (const char *)head, sizeof *head);
    dync__str_addn(&all, text, (size_t)head->text_bytes);
    dync__str_addn(&all, image, (size_t)head->image_bytes);
    if (all.failed || dync__file_write_own(path, dync__str_get(&all), all.n) != DYNC_OK)
        dync__log(DYNC__LOG_perf, "cuda: cannot keep an image in %s", path);
    dync__str_free(&all);
    (void)dync__error_guard_end(&guard);
}

/* The driver's linker, as far as it is used: all four functions or none. */
typedef struct dync__linker {
    int (*create)(unsigned n, int *options, void **values, void **state);
    int (*add)(void *state, int type, void *data, size_t bytes, const char *name, unsigned n,
               int *options, void **values);
    int (*complete)(void *state, void **image, size_t *bytes);
    int (*destroy)(void *state);
} dync__linker;
static bool dync__linker_of(dync__linker *l)
{
    dync__cuda_function f[] = {dync__cuda_driver_function("cuLinkCreate", 6050),
                               dync__cuda_driver_function("cuLinkAddData", 6050),
                               dync__cuda_driver_function("cuLinkComplete", 5050),
                               dync__cuda_driver_function("cuLinkDestroy", 5050)};
    if (!f[0] || !f[1] || !f[2] || !f[3]) return false;
    l->create = (int (*)(unsigned, int *, void **, void **))f[0];
    l->add = (int (*)(void *, int, void *, size_t, const char *, unsigned, int *, void **))f[1];
    l->complete = (int (*)(void *, void **, size_t *))f[2];
    l->destroy = (int (*)(void *))f[3];
    return true;
}

DYNC__FN bool dync__cuda_image_load(int index, const char *text, cudaLibrary_t *library)
{
    const dync__cuda_unit *u = dync__cuda_unit_of(index);
    dync__image_head head = {"dyncimg",
                             (uint64_t)(u->major * 10 + u->minor),
                             (uint64_t)dync__cuda_driver(),
                             strlen(text),
                             0,
                             0};
    char path[DYNC__IMAGE_PATH];
    dync__linker l;
    void *state = NULL, *image = NULL;
    size_t n = 0;
    if (!dync__image_path(&head, text, path)) return false;
    if (dync__image_read(path, head, text, library)) {
        (void)DYNC__ATOMIC_ADD(&dync__cuda_counters.images, 1);
        return true;
    }
    /* cudaFree: the device's context */
    if (cudaFree(NULL) != 0 || !dync__linker_of(&l) || l.create(0, NULL, NULL, &state) != 0)
        return false;
    bool ok = l.add(state, DYNC__IMAGE_PTX, (void *)(uintptr_t)text, (size_t)head.text_bytes + 1,
                    "dync", 0, NULL, NULL) == 0 &&
              l.complete(state, &image, &n) == 0 && n > 0;
    if (ok && cudaLibraryLoadData(library, image, NULL, NULL, 0, NULL, NULL, 0) != 0) {
        (void)cudaGetLastError();
        *library = NULL;
        ok = false;
    }
    if (ok) {
        head.image_bytes = n;
        head.check = dync__image_check(&head, text, image);
        dync__image_write(path, &head, text, image);
    }
    (void)l.destroy(state);
    return ok;
}
