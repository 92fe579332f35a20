/* tests/cuda/agree.h: a kernel of loop IR on the device and by the oracle of loop/eval.c. */
#ifndef DYNC_TESTS_CUDA_AGREE_H
#define DYNC_TESTS_CUDA_AGREE_H
#include "cuda_white.h"
#define RANDOM_NO_SCANS /* they are calls there */
#include "../../tools/ir/ir.h"
#include "../unit/codegen_random.h"
#include "../tol.h"

static int unsupported;

static bool near(const void *a, const void *b, int dtype, int64_t i, double tol)
{
    int bytes = dync__dtype_info(dtype)->bytes;
    double u = dync__load_f64((const char *)a + i * bytes, dtype),
           v = dync__load_f64((const char *)b + i * bytes, dtype);
    return same(a, b, dtype, i) || fabs(u - v) <= tol * (fabs(v) > 1 ? fabs(v) : 1);
}

/* Runs k on the device and by the oracle on equal random data; shift: bytes by which its memory is
 * off the usual boundary, in elements. */
static bool agree(const dync__kernel *k, const int64_t *elements, int wild, int shift, double tol)
{
    char *host[2][MAX_BUFS];
    void *device[MAX_BUFS], *at[MAX_BUFS];
    bool on_host[MAX_BUFS] = {false}, ok = true;
    size_t size[MAX_BUFS];
    for (int i = 0; i < k->buf.n; i++) {
        int bytes = dync__dtype_info(k->buf.at[i].dtype)->bytes;
        size[i] = (size_t)(elements[i] + shift) * (size_t)bytes;
        for (int w = 0; w < 2; w++) host[w][i] = calloc(size[i] + 1, 1);
        fill(host[0][i], k->buf.at[i].dtype, elements[i] + shift, wild);
        memcpy(host[1][i], host[0][i], size[i]);
        device[i] = dync__cuda_alloc(DYNC_CUDA, size[i]);
        if (!EXPECT(device[i] != NULL)) return false;
        at[i] = (char *)device[i] + (size_t)shift * (size_t)bytes;
        if (size[i])
            EXPECT_OK(dync__cuda_copy(DYNC_CUDA, device[i], DYNC_CPU, host[0][i], size[i]));
    }
    void *code = dync__cuda_kernel_new(DYNC_CUDA, k, on_host);
    if (!code && dync_error() == DYNC_ERR_UNSUPPORTED)
        unsupported++;
    else
        ok = EXPECT(code != NULL) && EXPECT_OK(dync__cuda_run(code, at, 7, 100));
    for (int i = 0; ok && code && i < k->buf.n; i++) {
        int bytes = dync__dtype_info(k->buf.at[i].dtype)->bytes;
        if (size[i])
            ok = EXPECT_OK(dync__cuda_copy(DYNC_CPU, host[0][i], DYNC_CUDA, device[i], size[i]));
        at[i] = host[1][i] + (size_t)shift * (size_t)bytes;
    }
    if (ok && code) ok = EXPECT_OK(dync__kernel_eval(k, at, 7, 100));
    for (int i = 0; ok && code && i < k->buf.n; i++)
        for (int64_t e = 0; ok && e < elements[i] + shift; e++)
            if (!near(host[0][i], host[1][i], k->buf.at[i].dtype, e, tol)) {
                int bytes = dync__dtype_info(k->buf.at[i].dtype)->bytes;
                printf("  buffer %d element %lld: got %.9g, oracle %.9g\n", i, (long long)e - shift,
                       dync__load_f64(host[0][i] + e * bytes, k->buf.at[i].dtype),
                       dync__load_f64(host[1][i] + e * bytes, k->buf.at[i].dtype));
                ok = false;
            }
    if (!ok) {
        dync__str text = {0};
        dync__kernel_print(&text, k);
        if (code) dync__cuda_code_dump(&text, code);
        printf("%s%s\n", dync__str_get(&text), cuemu_detail());
        dync__str_free(&text);
    }
    dync__cuda_code_free(code);
    for (int i = 0; i < k->buf.n; i++) {
        dync__cuda_free(DYNC_CUDA, device[i], size[i]);
        free(host[0][i]);
        free(host[1][i]);
    }
    return ok;
}
#endif
