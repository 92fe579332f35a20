/* The emulator's sm_90a, instruction by instruction, against values worked out from the PTX ISA
 * (9.7.8.24, 9.7.12.15, 9.7.14), and what it refuses. */
#define _POSIX_C_SOURCE 200809L
#define DYNC_CUDA_NO_HEADER
#include "cuda_white.h"
#include "../test.h"
#if EMULATED

typedef struct {
    _Alignas(64) unsigned char bytes[128];
} map;
extern cudaError_t cudaLaunchKernelExC(const void *config, const void *kernel, void **args);

static void *device(size_t n, const void *from)
{
    void *p = NULL;
    static char zeros[1 << 16];
    EXPECT(n <= sizeof zeros && cudaMalloc(&p, n) == 0 &&
           cudaMemcpyAsync(p, from ? from : zeros, n, DYNC__CU_COPY_DEFAULT, NULL) == 0);
    return p;
}
static void fetch(void *to, const void *from, size_t n)
{
    EXPECT(cudaMemcpyAsync(to, from, n, DYNC__CU_COPY_DEFAULT, NULL) == 0);
}

static cudaKernel_t load(cudaLibrary_t *lib, const char *body, int threads, const char *more)
{
    char *text = malloc(strlen(body) + 1600), log[512] = "";
    void *values[] = {log};
    int options[] = {5};
    cudaKernel_t k = NULL;
    sprintf(
        text,
        ".version 8.0\n.target sm_90a\n.address_size 64\n.extern .shared .align 1024 .b8 dyn[];\n"
        ".visible .entry t(.param .b64 p0, .param .b64 p1, .param .align 64 .b8 m0[128])\n"
        ".maxntid %d, 1, 1\n%s\n{\n"
        ".reg .b64 %%out;\n.reg .b64 %%in;\n.reg .b64 %%map;\n.reg .u32 %%t;\n.reg .u32 %%s;\n"
        ".reg .pred %%p;\n.reg .pred %%q;\n.reg .pred %%d;\n.reg .u32 %%a;\n"
        ".reg .u32 %%b;\n.reg .b32 %%r<4>;\n.reg .b64 %%w;\n.reg .b64 %%o;\n.reg .b64 %%da;\n"
        ".reg .b64 %%db;\n.reg .b16 %%h;\n"
        "ld.param.b64 %%out, [p0];\nld.param.b64 %%in, [p1];\nmov.b64 %%map, m0;\n"
        "mov.u32 %%t, %%tid.x;\nmov.u32 %%s, dyn;\nsetp.eq.u32 %%p, %%t, 0;\n%s\nret;\n}\n",
        threads, more, body);
    int e = cudaLibraryLoadData(lib, text, options, values, 1, NULL, NULL, 0);
    if (!EXPECT(e == 0 && cudaLibraryGetKernel(&k, *lib, "t") == 0)) printf("  %s\n", log);
    free(text);
    return k;
}
/* Runs body with parameters out, in and a map; the runtime's error. */
static int run(const char *body, int blocks, int threads, const char *more, const map *m, void *out,
               void *in)
{
    static const map none;
    cudaLibrary_t lib = NULL;
    cudaKernel_t k = load(&lib, body, threads, more);
    void *args[] = {&out, &in, (void *)(uintptr_t)(m ? m : &none)};
    dim3 grid = {(unsigned)blocks, 1, 1}, block = {(unsigned)threads, 1, 1};
    int e = k ? cudaFuncSetAttribute((const void *)k, DYNC__CU_FUNC_SHARED, 200 * 1024) : 1;
    if (!e) e = cudaLaunchKernel((const void *)k, grid, block, args, 200 * 1024, NULL);
    if (!e) e = cudaDeviceSynchronize();
    if (lib) (void)cudaLibraryUnload(lib);
    return e;
}
static bool works(const char *body, int blocks, int threads, const char *more, const map *m,
                  void *out, void *in)
{
    int e = run(body, blocks, threads, more, m, out, in);
    if (e) printf("  %s\n", cuemu_detail());
    cuemu_reset();
    return EXPECT_EQ_INT(e, 0);
}
/* It fails, and says so. */
static void refuses(const char *words, const char *body, int threads, const char *more,
                    const map *m, void *out, void *in)
{
    setenv("CUEMU_QUIET", "1", 1);
    int e = run(body, 1, threads, more, m, out, in);
    if (!EXPECT(e != 0) || !EXPECT(strstr(cuemu_detail(), words) != NULL))
        printf("  wanted '%s', got '%s'\n", words, cuemu_detail());
    cuemu_reset();
}

#define SEVERAL(count)                               \
    "@%p mbarrier.init.shared::cta.b64 [%s], " count \
    ";\n@%p fence.mbarrier_init.release.cluster;\nbar.sync 0;\n"
#define WAIT(name, parity) \
    name ":\nmbarrier.try_wait.parity.shared::cta.b64 %d, [%s], " parity ";\n@!%d bra " name ";\n"
#define OWN_PLACE "mad.lo.u32 %a, %t, 4, %s;\n"
#define OUT "mul.wide.u32 %o, %t, 4;\nadd.u64 %o, %o, %out;\nst.global.u32 [%o], %r0;\n"
#define WRITE OWN_PLACE "add.u32 %b, %t, 100;\nst.shared.u32 [%a+64], %b;\n"
#define OTHER "sub.u32 %b, 63, %t;\nmad.lo.u32 %b, %b, 4, %s;\nld.shared.u32 %r0, [%b+64];\n"
#define LANE0 "bar.warp.sync 0xffffffff;\nand.b32 %b, %t, 31;\nsetp.eq.u32 %q, %b, 0;\n"

/* Two warps arrive in the first phase, one thread for two in the second; what was written before an
 * arrival is seen after the wait. */
TEST(mbarrier_phases)
{
    uint32_t got[64];
    void *out = device(256, NULL);
    works(SEVERAL("2") WAIT("BEFORE", "1") WRITE LANE0
          "@%q mbarrier.arrive.shared::cta.b64 %w, [%s];\n" WAIT("FIRST", "0") OTHER OUT
          "bar.sync 0;\n@%p mbarrier.arrive.shared::cta.b64 _, [%s], 2;\n" WAIT("SECOND", "1"),
          1, 64, "", NULL, out, NULL);
    fetch(got, out, 256);
    for (uint32_t i = 0; i < 64; i++) EXPECT_EQ_INT(got[i], 163 - i);
    /* bytes expected keep a phase open until they have come */
    works(SEVERAL("1") "@%p mbarrier.arrive.expect_tx.shared::cta.b64 _, [%s], 48;\n"
                       "@%p mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%s], 16;\n"
                       "@%p mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%s], 64;\n" WAIT("W",
                                                                                               "0"),
          1, 64, "", NULL, out, NULL);
    refuses(
        "wait for each other",
        SEVERAL("1") "@%p mbarrier.arrive.expect_tx.shared::cta.b64 _, [%s], 48;\n" WAIT("W", "0"),
        64, "", NULL, out, NULL);
    refuses("a race",
            SEVERAL("2") WRITE LANE0 "@%q mbarrier.arrive.shared::cta.b64 %w, [%s];\n" OTHER OUT,
            64, "", NULL, out, NULL);
    refuses("a race",
            "@%p mbarrier.init.shared::cta.b64 [%s], 2;\n" LANE0
            "@%q mbarrier.arrive.shared::cta.b64 %w, [%s];\n",
            64, "", NULL, out, NULL);
    refuses("more arrivals", SEVERAL("1") "@%p mbarrier.arrive.shared::cta.b64 _, [%s], 2;\n", 64,
            "", NULL, out, NULL);
    refuses("an mbarrier is there", SEVERAL("1") "@%p st.shared.u32 [%s], 3;\n", 64, "", NULL, out,
            NULL);
    (void)cudaFree(out);
}

/* Named barriers: the first warp goes on, the second waits for it. */
TEST(named_barriers)
{
    uint32_t got[64];
    void *out = device(256, NULL);
#define ROLES(first, second)                                                      \
    "setp.lt.u32 %q, %t, 32;\nmov.u32 %r0, 0;\n" WRITE "@!%q bra SECOND;\n" first \
    "bra END;\nSECOND:\n" second OTHER "END:\n" OUT
    works(ROLES("bar.arrive 3, 64;\n", "bar.sync 3, 64;\n"), 1, 64, "", NULL, out, NULL);
    fetch(got, out, 256);
    for (uint32_t i = 0; i < 64; i++) EXPECT_EQ_INT(got[i], i < 32 ? 0 : 163 - i);
    refuses("a race", ROLES("bar.arrive 3, 64;\n", ""), 64, "", NULL, out, NULL);
    refuses("wait for each other", ROLES("bar.arrive 3, 64;\nbar.sync 0;\n", "bar.sync 4, 64;\n"),
            64, "", NULL, out, NULL);
    (void)cudaFree(out);
}

TEST(arguments_of_tensor_maps)
{
    map m;
    uint64_t size[5] = {64, 64, 4, 4, 4}, stride[4] = {128, 8192, 32768, 131072};
    uint32_t box[5] = {64, 64, 1, 1, 1}, one[5] = {1, 1, 1, 1, 1};
    void *p = (void *)(uintptr_t)0x10000;
#define ENCODE(type, rank, base, swizzle) \
    cuemu_tensor_map_encode(&m, type, rank, base, size, stride, box, one, 0, swizzle, 2, 0)
    EXPECT_EQ_INT(ENCODE(9, 2, p, 3), 0);
    EXPECT_EQ_INT(ENCODE(9, 5, p, 3), 0);
    EXPECT_EQ_INT(ENCODE(13, 2, p, 3), 1);
    EXPECT_EQ_INT(ENCODE(9, 6, p, 3), 1);
    EXPECT_EQ_INT(ENCODE(9, 2, (void *)(uintptr_t)0x10008, 3), 1); /* base: 16 bytes */
    EXPECT_EQ_INT(cuemu_tensor_map_encode(m.bytes + 8, 9, 2, p, size, stride, box, one, 0, 3, 2, 0),
                  1);
    /* 128 bytes in a pattern of 64 */
    EXPECT_EQ_INT(ENCODE(9, 2, p, 2), 1);
    /* 256 bytes in one of 128 */
    EXPECT_EQ_INT(ENCODE(7, 2, p, 3), 1);
    EXPECT_EQ_INT(ENCODE(7, 2, p, 0), 0);
    stride[0] = 136;
    EXPECT_EQ_INT(ENCODE(9, 2, p, 3), 1);
    stride[0] = (uint64_t)1 << 40;
    EXPECT_EQ_INT(ENCODE(9, 2, p, 3), 1);
    stride[0] = 144;
    box[1] = 256;
    EXPECT_EQ_INT(ENCODE(9, 2, p, 3), 0);
    box[1] = 257;
    EXPECT_EQ_INT(ENCODE(9, 2, p, 3), 1);
    box[1] = 0;
    EXPECT_EQ_INT(ENCODE(9, 2, p, 3), 1);
    /* 24 bytes: no multiple of 16 */
    box[1] = 8, box[0] = 12;
    EXPECT_EQ_INT(ENCODE(9, 2, p, 3), 1);
    box[0] = 64, size[1] = 0;
    EXPECT_EQ_INT(ENCODE(9, 2, p, 3), 1);
    size[1] = ((uint64_t)1 << 32) + 1;
    EXPECT_EQ_INT(ENCODE(9, 2, p, 3), 1);
}

#define LOAD(more, at, bar, mask)                                                               \
    "@%p cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes" more \
    " [%s+1024], [%map, {" at "}], [%s" bar "]" mask ";\n"
#define COPY_OUT                                                                      \
    "mad.lo.u32 %a, %t, 16, %s;\nld.shared.v4.b32 {%r0, %r1, %r2, %r3}, [%a+1024];\n" \
    "mul.wide.u32 %o, %t, 16;\nadd.u64 %o, %o, %out;\n"                               \
    "st.global.v4.b32 [%o], {%r0, %r1, %r2, %r3};\n"
static uint16_t picture[10][48];
static map picture_map(void *at, int swizzle, uint32_t columns)
{
    map m;
    uint64_t size[2] = {40, 10}, stride[1] = {96};
    uint32_t box[2] = {columns, 8}, one[2] = {1, 1};
    EXPECT_EQ_INT(cuemu_tensor_map_encode(&m, 1, 2, at, size, stride, box, one, 0, swizzle, 2, 0),
                  0);
    return m;
}
/* A box that hangs over two sides of a matrix: zeros there; 16-byte chunks change places by the
 * row, as figure "swizzle modes" shows. */
TEST(tensor_loads)
{
    static const int bytes[] = {16, 32, 64, 128};
    for (int r = 0; r < 10; r++)
        for (int c = 0; c < 48; c++) picture[r][c] = (uint16_t)(r * 100 + c);
    void *in = device(sizeof picture, picture), *out = device(1024, NULL);
    for (int mode = 0; mode < 4; mode++) {
        map m = picture_map(in, mode, (uint32_t)bytes[mode] / 2);
        char body[1600];
        uint16_t got[512];
        char expect[100];
        sprintf(expect, "@%%p mbarrier.arrive.expect_tx.shared::cta.b64 _, [%%s], %d;\n",
                bytes[mode] * 8);
        strcpy(body, SEVERAL("1"));
        strcat(body, expect);
        strcat(body, LOAD("", "34, 5", "", "") WAIT("W", "0"));
        sprintf(expect, "setp.ge.u32 %%q, %%t, %d;\n@%%q ret;\n", bytes[mode] / 2);
        strcat(body, expect);
        strcat(body, COPY_OUT);
        if (!works(body, 1, 64, "", &m, out, NULL)) return;
        fetch(got, out, 1024);
        for (int r = 0; r < 8; r++)
            for (int c = 0; c < bytes[mode] / 2; c++) {
                int turn = mode == 3   ? r
                           : mode == 2 ? r / 2
                           : mode == 1 ? r / 4
                                       : 0,
                    at = r * bytes[mode] / 2 + (c / 8 ^ turn) * 8 + c % 8;
                EXPECT_EQ_INT(got[at], 5 + r < 10 && 34 + c < 40 ? (5 + r) * 100 + 34 + c : 0);
            }
    }
    map m = picture_map(in, 0, 8);
#define TX "@%p mbarrier.arrive.expect_tx.shared::cta.b64 _, [%s], 128;\n"
#define FEW "setp.ge.u32 %q, %t, 8;\n@%q ret;\n"
    EXPECT(works(SEVERAL("1") TX LOAD("", "-3, -2", "", "") WAIT("W", "0") FEW COPY_OUT, 1, 64, "",
                 &m, out, NULL));
    uint16_t got[64];
    fetch(got, out, 128);
    for (int i = 0; i < 64; i++)
        EXPECT_EQ_INT(got[i], i / 8 >= 2 && i % 8 >= 3 ? (i / 8 - 2) * 100 + i % 8 - 3 : 0);
    /* no wait */
    refuses("under way", SEVERAL("1") TX LOAD("", "0, 0", "", "") "bar.sync 0;\n" FEW COPY_OUT, 64,
            "", &m, out, NULL);
    refuses("fence.mbarrier_init",
            "@%p mbarrier.init.shared::cta.b64 [%s], 1;\nbar.sync 0;\n" TX LOAD("", "0, 0", "", ""),
            64, "", &m, out, NULL);
    refuses("ended before a copy", SEVERAL("1") TX LOAD("", "0, 0", "", ""), 64, "", &m, out, NULL);
    refuses("no mbarrier", SEVERAL("1") TX LOAD("", "0, 0", "+8", ""), 64, "", &m, out, NULL);
    refuses("wait for each other",
            SEVERAL("1") "@%p mbarrier.arrive.expect_tx.shared::cta.b64 _, [%s], 144;\n" LOAD(
                "", "0, 0", "", "") WAIT("W", "0"),
            64, "", &m, out, NULL);
    refuses("coordinates for a map",
            SEVERAL("1") TX
            "@%p cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
            "[%s+1024], [%map, {0, 0, 0}], [%s];\n",
            64, "", &m, out, NULL);
    refuses("no tensor map", SEVERAL("1") "mov.b64 %map, p0;\n" TX LOAD("", "0, 0", "", ""), 64, "",
            &m, out, NULL);
    (void)cudaFree(in);
    m = picture_map(in, 0, 8);
    refuses("in no allocation", SEVERAL("1") TX LOAD("", "0, 0", "", "") WAIT("W", "0"), 64, "", &m,
            out, NULL);
    (void)cudaFree(out);
}

#define STORE                                                                          \
    "@%p cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%map, {36, 7}], " \
    "[%s+1024];\n@%p cp.async.bulk.commit_group;\n"
#define FILL "mul.lo.u32 %b, %t, 65537;\nmad.lo.u32 %a, %t, 4, %s;\nst.shared.u32 [%a+1024], %b;\n"
/* 8 x 8 elements of which 3 x 4 are inside. */
TEST(tensor_stores)
{
    uint16_t got[10][48];
    memset(picture, 0xee, sizeof picture);
    void *out = device(sizeof picture, picture);
    map m = picture_map(out, 0, 8);
    EXPECT(works(FILL "fence.proxy.async.shared::cta;\nbar.sync 0;\n" STORE
                      "@%p cp.async.bulk.wait_group.read 0;\n",
                 1, 32, "", &m, NULL, NULL));
    fetch(got, out, sizeof got);
    for (int r = 0; r < 10; r++)
        for (int c = 0; c < 48; c++)
            EXPECT_EQ_INT(got[r][c],
                          r >= 7 && c >= 36 && c < 40 ? (r - 7) * 4 + (c - 36) / 2 : 0xeeee);
    refuses("without fence.proxy.async",
            FILL "bar.sync 0;\n" STORE "@%p cp.async.bulk.wait_group 0;\n", 32, "", &m, NULL, NULL);
    refuses("a race",
            FILL "fence.proxy.async.shared::cta;\n" STORE "@%p cp.async.bulk.wait_group 0;\n", 32,
            "", &m, NULL, NULL);
    refuses("wait_group", FILL "fence.proxy.async;\nbar.sync 0;\n" STORE, 32, "", &m, NULL, NULL);
    refuses("under way",
            FILL "fence.proxy.async;\nbar.sync 0;\n" STORE
                 "@%p st.shared.u32 [%s+1040], 1;\n@%p cp.async.bulk.wait_group 0;\n",
            32, "", &m, NULL, NULL);
    EXPECT(works(FILL "fence.proxy.async;\nbar.sync 0;\n" STORE STORE
                      "@%p cp.async.bulk.wait_group 1;\n@%p cp.async.bulk.wait_group.read 0;\n"
                      "@%p st.shared.u32 [%s+1040], 1;\n",
                 1, 32, "", &m, NULL, NULL));
    (void)cudaFree(out);
}

#define PAIR ".explicitcluster\n.reqnctapercluster 2, 1, 1"
#define MEET "barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;\n"
/* One block loads for both; each reads what the other wrote, and arrives at the other's
 * mbarrier. */
TEST(clusters)
{
    uint32_t got[4 * 64];
    for (int r = 0; r < 10; r++)
        for (int c = 0; c < 48; c++) picture[r][c] = (uint16_t)(r * 100 + c);
    void *in = device(sizeof picture, picture), *out = device(sizeof got, NULL);
    map m = picture_map(in, 0, 8);
#define RANK \
    ".reg .u32 %me;\n.reg .u32 %you;\nmov.u32 %me, %cluster_ctarank;\nxor.b32 %you, %me, 1;\n"
#define FAR "mapa.shared::cluster.u32 %a, %a, %you;\n"
#define BLOCK_OUT                                                                  \
    "mov.u32 %b, %ctaid.x;\nmad.lo.u32 %b, %b, 64, %t;\nmul.wide.u32 %o, %b, 4;\n" \
    "add.u64 %o, %o, %out;\nst.global.u32 [%o], %r0;\n"
    EXPECT(works(
        RANK OWN_PLACE
        "mov.u32 %b, %ctaid.x;\nmad.lo.u32 %b, %b, 1000, %t;\nst.shared.u32 [%a+64], %b;\n" MEET FAR
        "ld.shared::cluster.u32 %r0, [%a+64];\n" BLOCK_OUT MEET,
        4, 64, PAIR, &m, out, NULL));
    fetch(got, out, sizeof got);
    for (uint32_t b = 0; b < 4; b++)
        for (uint32_t t = 0; t < 64; t++) EXPECT_EQ_INT(got[b * 64 + t], (b ^ 1) * 1000 + t);
#define BOTH                                                  \
    RANK "@%p mbarrier.init.shared::cta.b64 [%s], 1;\n"       \
         "@%p fence.mbarrier_init.release.cluster;\n" MEET TX \
         "setp.eq.and.u32 %p, %me, 0, %p;\nmov.b16 %h, 3;\n"
    EXPECT(works(BOTH LOAD(".multicast::cluster", "1, 2", "", ", %h")
                     WAIT("W", "0") "and.b32 %a, %t, 31;\nmad.lo.u32 %a, %a, 4, %s;\n"
                                    "ld.shared.u32 %r0, [%a+1024];\n" BLOCK_OUT MEET,
                 2, 64, PAIR, &m, out, NULL));
    fetch(got, out, sizeof got);
    for (uint32_t i = 0; i < 128; i++) {
        uint32_t e = i % 32 * 2, low = (2 + e / 8) * 100 + 1 + e % 8;
        EXPECT_EQ_INT(got[i], low | (low + 1) << 16);
    }
    EXPECT(works(RANK SEVERAL("1") MEET
                 "mov.u32 %a, %s;\n" FAR
                 "@%p mbarrier.arrive.shared::cluster.b64 _, [%a];\n" WAIT("W", "0") MEET,
                 2, 64, PAIR, &m, out, NULL));
    refuses("a cluster of", "mov.b32 %r0, 0;\n@%p ld.shared.u32 %r0, [%s+33554432];\n", 64, "", &m,
            out, NULL);
    setenv("CUEMU_QUIET", "1", 1);
    EXPECT(run(RANK OWN_PLACE "st.shared.u32 [%a+64], %t;\n" FAR
                              "ld.shared::cluster.u32 %r0, [%a+64];\n" MEET,
               2, 64, PAIR, &m, out, NULL) != 0);
    EXPECT(strstr(cuemu_detail(), "a race") != NULL);
    cuemu_reset();
    EXPECT_EQ_INT(run(RANK, 3, 64, PAIR, &m, out, NULL), CUEMU_INVALID_CONFIG);
    cuemu_reset();
    /* the same by an attribute of the launch */
    struct {
        int id, pad;
        union {
            char size[64];
            dim3 cluster;
        } value;
    } attribute = {.id = 4, .value.cluster = {4, 1, 1}};
    struct {
        dim3 grid, block;
        size_t shared;
        cudaStream_t s;
        void *at;
        unsigned n;
    } config = {{4, 1, 1}, {64, 1, 1}, 1024, NULL, &attribute, 1};
    cudaLibrary_t lib = NULL;
    cudaKernel_t k = load(&lib,
                          "mov.u32 %a, %cluster_nctarank;\nmov.u32 %r0, %cluster_ctarank;\n"
                          "mad.lo.u32 %r0, %a, 10, %r0;\n" BLOCK_OUT,
                          64, "");
    void *args[] = {&out, &in, &m};
    EXPECT_EQ_INT(cudaLaunchKernelExC(&config, (const void *)k, args), 0);
    fetch(got, out, sizeof got);
    for (uint32_t b = 0; b < 4; b++) EXPECT_EQ_INT(got[b * 64], 40 + b);
    (void)cudaLibraryUnload(lib);
    (void)cudaFree(in);
    (void)cudaFree(out);
}

TEST(registers_and_elections)
{
    uint32_t got[64];
    void *out = device(256, NULL);
    EXPECT(works("mov.u32 %r0, 7;\nelect.sync _|%q, 0xffffffff;\n@%q mov.u32 %r0, 9;\n" OUT, 1, 64,
                 "", NULL, out, NULL));
    fetch(got, out, 256);
    for (int i = 0; i < 64; i++) EXPECT_EQ_INT(got[i], i % 32 ? 7 : 9);
#define GIVE(less, more)                                                                \
    "setp.lt.u32 %q, %t, 128;\n@!%q bra OTHERS;\nsetmaxnreg.dec.sync.aligned.u32 " less \
    ";\nbra END;\nOTHERS:\nsetmaxnreg.inc.sync.aligned.u32 " more ";\nEND:\n"
    /* 168 each at first: 24 + 240 + 240 of 512 */
    EXPECT(works(GIVE("24", "240"), 1, 384, ".minnctapersm 1", NULL, out, NULL));
    refuses("wait for each other", GIVE("40", "240"), 384, ".minnctapersm 1", NULL, out, NULL);
    refuses("registers where there are", GIVE("176", "232"), 384, ".minnctapersm 1", NULL, out,
            NULL);
    (void)cudaFree(out);
}

/* ---- wgmma ----------------------------------------------------------------------------------- */
typedef struct {
    const char *in, *acc;
    int bytes, depth;
} kind;
static const kind kinds[] = {{"bf16", "f32", 2, 16},
                             {"f16", "f32", 2, 16},
                             {"tf32", "f32", 4, 8},
                             {"s8", "s32", 1, 32},
                             {"u8", "s32", 1, 32}};
static int value_of(int which, int i, int k)
{
    return which ? (i * 5 + k * 3) % 7 - 3 : (i * 3 + k * 7) % 9 - 4;
}
static void put(unsigned char *at, const kind *k, int v)
{
    float f = (float)v;
    uint32_t u;
    memcpy(&u, &f, 4);
    if (k->bytes == 1)
        *at = (unsigned char)v;
    else if (k->bytes == 4)
        memcpy(at, &f, 4);
    else if (k->in[0] == 'b')
        u >>= 16, memcpy(at, &u, 2);
    else
        u = v == 0 ? 0 : ((u >> 16 & 0x8000) | (((u >> 23 & 255) - 112) << 10) | (u >> 13 & 1023)),
        memcpy(at, &u, 2);
}
/* Where element (line, k) lies: rows of w bytes (16: no pattern) in groups of eight; the canonical
 * layouts of "Matrix descriptor format". */
static int place(int w, int bytes, bool by_k, int line, int k, int lead, int stride)
{
    int along = by_k ? k : line, across = by_k ? line : k, per = w / bytes, inside = along % per,
        turn = w == 128  ? across % 8
               : w == 64 ? across % 8 / 2
               : w == 32 ? across % 8 / 4
                         : 0;
    int groups = along / per,
        at = across % 8 * w + (inside * bytes / 16 ^ turn) * 16 + inside * bytes % 16;
    if (w == 16)
        return at +
               (by_k ? groups * lead + across / 8 * stride : groups * stride + across / 8 * lead);
    return at + groups * lead + across / 8 * stride;
}
#define N 24
static bool product(const kind *t, int w, bool a_by_k, bool b_by_k, bool from_registers, int skip)
{
    enum { B_AT = 20480, ALL = 40960 };
    static unsigned char image[ALL];
    int depth = t->depth, lines[2] = {64, N}, lead[2], stride[2];
    bool by_k[2] = {a_by_k, b_by_k};
    memset(image, 0x7f, sizeof image);
    for (int s = 0; s < 2; s++) {
        lead[s] = by_k[s] || w != 16 ? 4096 : 128;
        stride[s] = by_k[s] && w == 16 ? 256 : by_k[s] ? 8 * w : w == 16 ? 512 : 8 * w;
        if (w == 16 && by_k[s]) lead[s] = 128;
        for (int i = 0; i < lines[s]; i++)
            for (int k = 0; k < depth; k++)
                put(image + s * B_AT + place(w, t->bytes, by_k[s], i, k + skip, lead[s], stride[s]),
                    t, value_of(s, i, k));
    }
    if (from_registers)
        for (int i = 0; i < 64; i++)
            for (int k = 0; k < depth; k++)
                put(image + (i * depth + k) * t->bytes, t, value_of(0, i, k));
    static char body[8000];
    int code = w == 128 ? 1 : w == 64 ? 2 : w == 32 ? 3 : 0, n = 0;
    n += sprintf(body + n,
                 ".reg .%s %%c<%d>;\n.reg .pred %%one;\nsetp.eq.u32 %%one, 0, 0;\n"
                 "mul.lo.u32 %%a, %%t, 16;\nCOPY:\ncvt.u64.u32 %%o, %%a;\nadd.u64 %%o, %%o, %%in;\n"
                 "ld.global.v4.b32 {%%r0, %%r1, %%r2, %%r3}, [%%o];\nadd.u32 %%b, %%s, %%a;\n"
                 "st.shared.v4.b32 [%%b], {%%r0, %%r1, %%r2, %%r3};\nadd.u32 %%a, %%a, 2048;\n"
                 "setp.lt.u32 %%q, %%a, %d;\n@%%q bra COPY;\nfence.proxy.async;\nbar.sync 0;\n",
                 t->acc, N / 2, ALL);
    /* k further on in the rows: the start moves within the pattern */
    for (int s = 0; s < 2; s++)
        n +=
            sprintf(body + n, "mov.b64 %%d%c, %llu;\n", 'a' + s,
                    (unsigned long long)((uint64_t)code << 62 | (uint64_t)(stride[s] >> 4) << 32 |
                                         (uint64_t)(lead[s] >> 4) << 16 |
                                         (uint64_t)((s * B_AT + (by_k[s] ? skip * t->bytes
                                                                         : skip / 8 * stride[s])) >>
                                                    4)));
    /* rows lane / 4 and + 8 of the warp's 16, words lane % 4 and half the depth on */
    if (from_registers)
        for (int i = 0; i < 4; i++)
            n += sprintf(
                body + n,
                "shr.u32 %%a, %%t, 5;\nmul.lo.u32 %%a, %%a, 16;\nand.b32 %%b, %%t, 31;\n"
                "shr.u32 %%b, %%b, 2;\nadd.u32 %%a, %%a, %%b;\nmul.lo.u32 %%a, %%a, 32;\n"
                "and.b32 %%b, %%t, 3;\n"
                "mad.lo.u32 %%a, %%b, 4, %%a;\ncvt.u64.u32 %%o, %%a;\nadd.u64 %%o, %%o, %%in;\n"
                "ld.global.u32 %%r%d, [%%o+%d];\n",
                i, i % 2 * 8 * 32 + i / 2 * 16);
    n += sprintf(body + n, "wgmma.fence.sync.aligned;\n");
    for (int twice = 0; twice < 2; twice++) { /* d = a b, then d = d + a b */
        n += sprintf(body + n, "wgmma.mma_async.sync.aligned.m64n%dk%d.%s.%s.%s {%%c0", N, depth,
                     t->acc, t->in, t->in);
        for (int i = 1; i < N / 2; i++) n += sprintf(body + n, ", %%c%d", i);
        n += sprintf(body + n, "}, %s, %%db, %s%%one%s",
                     from_registers ? "{%r0, %r1, %r2, %r3}" : "%da", twice ? "" : "!",
                     t->bytes == 1 ? "" : ", 1, 1");
        if (t->bytes == 2)
            n += sprintf(body + n, from_registers ? ", %d" : ", %d, %d",
                         from_registers ? !b_by_k : !a_by_k, !b_by_k);
        n += sprintf(body + n, ";\n");
    }
    n += sprintf(body + n,
                 "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n"
                 "mul.wide.u32 %%o, %%t, %d;\nadd.u64 %%o, %%o, %%out;\n",
                 N * 2);
    for (int i = 0; i < N / 2; i++)
        sprintf(body + strlen(body), "st.global.b32 [%%o+%d], %%c%d;\n", i * 4, i);
    void *in = device(ALL, image), *out = device(128 * N * 2, NULL);
    bool ok = works(body, 1, 128, "", NULL, out, in);
    static uint32_t got[128][N / 2];
    fetch(got, out, sizeof got);
    for (int i = 0; i < 64 && ok; i++)
        for (int j = 0; j < N && ok; j++) {
            int want = 0, thread = i / 16 * 32 + i % 8 * 4 + j % 8 / 2,
                reg = j / 8 * 4 + i % 16 / 8 * 2 + j % 2;
            for (int k = 0; k < depth; k++)
                want += (t->in[0] == 'u' ? value_of(0, i, k) & 255 : value_of(0, i, k)) *
                        (t->in[0] == 'u' ? value_of(1, j, k) & 255 : value_of(1, j, k));
            float f;
            memcpy(&f, &got[thread][reg], 4);
            ok = EXPECT_EQ_INT(t->acc[0] == 'f' ? (long long)f : (int32_t)got[thread][reg],
                               2 * want);
        }
    if (!ok)
        printf("  %s, rows of %d, by k %d %d, registers %d, skip %d\n", t->in, w, a_by_k, b_by_k,
               from_registers, skip);
    (void)cudaFree(in);
    (void)cudaFree(out);
    return ok;
}
TEST(products)
{
    for (int t = 0; t < 5; t++)
        for (int w = 16; w <= 128; w *= 2)
            for (int way = 0; way < (kinds[t].bytes == 2 ? 4 : 1); way++) {
                if (!EXPECT(product(&kinds[t], w, !(way & 1), !(way & 2), false, 0))) return;
                if (way == 0 && w == 128 &&
                    !EXPECT(product(&kinds[t], w, true, true, false, kinds[t].depth)))
                    return;
                if (!(way & 1) && !EXPECT(product(&kinds[t], w, true, !(way & 2), true, 0))) return;
            }
}

/* Accumulators and shared memory are the products' until they are waited for. */
TEST(products_under_way)
{
    float got[128];
    void *out = device(512, NULL);
    uint64_t d = (uint64_t)(256 >> 4) << 32 | (uint64_t)(128 >> 4) << 16;
    char body[4000];
#define MULTIPLY                                                                                 \
    "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%c0, %c1, %c2, %c3}, %da, %db, %one, " \
    "1, 1, 0, 0;\nwgmma.commit_group.sync.aligned;\n"
#define DONE "wgmma.wait_group.sync.aligned 0;\n"
#define FENCE "wgmma.fence.sync.aligned;\n"
/* bf16 1 */
#define ONES                                                                            \
    "COPY:\nst.shared.v4.b32 [%a], {1065369472, 1065369472, 1065369472, 1065369472};\n" \
    "add.u32 %a, %a, 2048;\nsetp.lt.u32 %q, %a, 4096;\n@%q bra COPY;\n"
#define BEGIN                                                                               \
    ".reg .f32 %%c<4>;\n.reg .pred %%one;\nsetp.eq.u32 %%one, 0, 0;\nmov.b64 %%da, %llu;\n" \
    "mov.b64 %%db, %llu;\nmul.lo.u32 %%a, %%t, 16;\n"
#define ZEROS "mov.b32 %c0, 0;\nmov.b32 %c1, 0;\nmov.b32 %c2, 0;\nmov.b32 %c3, 0;\n"
#define SHARED ONES "fence.proxy.async;\nbar.sync 0;\n" ZEROS
#define CASE(text) \
    (sprintf(body, BEGIN, (unsigned long long)d, (unsigned long long)d), strcat(body, text))
#define SEE "mul.wide.u32 %o, %t, 4;\nadd.u64 %o, %o, %out;\nst.global.b32 [%o], %c0;\n"
    EXPECT(works(CASE(SHARED FENCE MULTIPLY FENCE MULTIPLY DONE SEE), 1, 128, "", NULL, out, NULL));
    fetch(got, out, 512);
    EXPECT_NEAR(got[5], 32, 0);
    /* read too early: what was there */
    EXPECT(works(CASE(SHARED FENCE MULTIPLY SEE DONE), 1, 128, "", NULL, out, NULL));
    fetch(got, out, 512);
    EXPECT_NEAR(got[5], 0, 0);
    refuses("without wgmma.fence", CASE(SHARED MULTIPLY DONE), 128, "", NULL, out, NULL);
    refuses("without fence.proxy.async", CASE(ONES "bar.sync 0;\n" ZEROS FENCE MULTIPLY DONE), 128,
            "", NULL, out, NULL);
    refuses("a race", CASE(ONES "fence.proxy.async;\n" ZEROS FENCE MULTIPLY DONE), 128, "", NULL,
            out, NULL);
    refuses("still reads",
            CASE(SHARED FENCE MULTIPLY "bar.sync 0;\n@%p st.shared.u32 [%s+16], 0;\n" DONE), 128,
            "", NULL, out, NULL);
    refuses("never waited for", CASE(SHARED FENCE MULTIPLY), 128, "", NULL, out, NULL);
    /* three warps of four */
    refuses("wait for each other",
            CASE(SHARED "setp.lt.u32 %q, %t, 32;\n@%q ret;\n" FENCE MULTIPLY DONE), 128, "", NULL,
            out, NULL);
    refuses("whole warpgroups", CASE("bar.warp.sync 0xffffffff;\n" FENCE), 96, "", NULL, out, NULL);
    (void)cudaFree(out);
}
#else
TEST(nothing_to_do_on_hardware) {}
#endif
TEST_MAIN
