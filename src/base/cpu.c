/* base/cpu.c: what the processor can do. After os.c.
 *
 * Sources: Intel SDM vol. 1 ch. 13 (XGETBV before AVX), vol. 2 CPUID. */
#include "../dync.in.h"
#include "base.h"
DYNC__WARM

#if defined(__GNUC__) && defined(__x86_64__)
static void dync__os_cpuid(uint32_t leaf, uint32_t sub, uint32_t out[4])
{
    __asm__ volatile("cpuid"
                     : "=a"(out[0]), "=b"(out[1]), "=c"(out[2]), "=d"(out[3])
                     : "a"(leaf), "c"(sub));
}

static uint32_t dync__os_xcr0(void)
{
    uint32_t lo, hi;
    __asm__ volatile(".byte 0x0f, 0x01, 0xd0" : "=a"(lo), "=d"(hi) : "c"(0)); /* xgetbv */
    return lo;
}

static unsigned dync__os_probe_cpu(void)
{
    unsigned features = 0;
    uint32_t r[4], leaf7[4], max_sub;
    dync__os_cpuid(0, 0, r);
    if (r[0] < 7) return 0;
    dync__os_cpuid(1, 0, r);
    /* OSXSAVE; xmm and ymm are saved */
    if (!(r[2] & 1u << 27) || (dync__os_xcr0() & 6) != 6) return 0;
    bool zmm = (dync__os_xcr0() & 0xe6) == 0xe6;
    if (r[2] & 1u << 12) features |= DYNC__CPU_FMA;
    if (r[2] & 1u << 29) features |= DYNC__CPU_F16C;
    dync__os_cpuid(7, 0, leaf7);
    max_sub = leaf7[0];
    if (leaf7[1] & 1u << 5) features |= DYNC__CPU_AVX2;
    uint32_t need = 1u << 16 | 1u << 17 | 1u << 30 | 1u << 31; /* F DQ BW VL */
    if (zmm && (leaf7[1] & need) == need) {
        features |= DYNC__CPU_AVX512;
        if (leaf7[2] & 1u << 11) features |= DYNC__CPU_VNNI;
        if (max_sub >= 1) {
            dync__os_cpuid(7, 1, r);
            if (r[0] & 1u << 5) features |= DYNC__CPU_BF16;
        }
    }
    return features;
}

/* The leaf is AMD's (APM 3, appendix E.4.5); Intel's processors answer it too. */
DYNC__RARE static int32_t dync__os_probe_l2(void)
{
    uint32_t r[4];
    dync__os_cpuid(0x80000000u, 0, r);
    if (r[0] < 0x80000006u) return 0;
    dync__os_cpuid(0x80000006u, 0, r);
    return (int32_t)(r[2] >> 16) * 1024;
}
#else
static unsigned dync__os_probe_cpu(void) { return 0; }
static int32_t dync__os_probe_l2(void) { return 0; }
#endif

DYNC__FN int64_t dync__cpu_l2_bytes(void)
{
    static int32_t known; /* and one more */
    int32_t bytes = DYNC__ATOMIC_PEEK(&known);
    if (!bytes) DYNC__ATOMIC_STORE(&known, (bytes = 1 + dync__os_probe_l2()));
    return bytes - 1;
}

static unsigned dync__os_cpu; /* bit 31: it is known */

DYNC__FN void dync__cpu_pretend(unsigned features) { DYNC__ATOMIC_STORE(&dync__os_cpu, features); }

/* The word is found once; a second thread that comes at the same time finds the same. */
DYNC__RARE static unsigned dync__os_find_cpu(void)
{
    unsigned features = dync__os_probe_cpu();
    const char *cut = dync__env("DYNC_CPU");
    if (cut && strcmp(cut, "none") == 0) features = 0;
    if (cut && strcmp(cut, "avx2") == 0)
        features &= (unsigned)(DYNC__CPU_AVX2 | DYNC__CPU_FMA | DYNC__CPU_F16C);
    if (!(features & DYNC__CPU_FMA) || !(features & DYNC__CPU_AVX2))
        features &= ~(unsigned)(DYNC__CPU_AVX512 | DYNC__CPU_VNNI | DYNC__CPU_BF16);
    DYNC__ATOMIC_STORE(&dync__os_cpu, features | DYNC__CPU_KNOWN);
    return features;
}
/* Every tile of a product asks. */
DYNC__OFTEN DYNC__FN unsigned dync__cpu_features(void)
{
    unsigned features = DYNC__ATOMIC_PEEK(&dync__os_cpu);
    return features ? features & 0x7fffffffu : dync__os_find_cpu();
}
