/* tests/codegen/record.c: writes every piece of machine code that a program makes to the file
 * CODE_RECORD, for `make codegen-diff`.
 *
 * It is linked into the tests with --wrap, so the library has nothing of it: each function below
 * stands before the library's own. Programs run at the level avx2; each kernel and each compiled
 * graph is made once more for the levels below, whose code is never run, so a machine without
 * AVX-512 does. A record is a line of what was made (level, key, hash of the code, sizes, name),
 * the kernel as text and the bytes; text and bytes stand in the first record of a code alone. Code
 * is position independent: constants lie behind it. */
#include "dync.in.h"
#include "codegen/gemm_code.h"
#include "codegen/interp.h"
#include "codegen/conv_code.h"
#include "inductor/inductor.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

enum { RUN = DYNC__CPU_AVX2 | DYNC__CPU_FMA | DYNC__CPU_F16C };
static const struct {
    const char *name;
    unsigned features;
} levels[] = {
    {"avx512", RUN | DYNC__CPU_AVX512 | DYNC__CPU_VNNI | DYNC__CPU_BF16},
};
enum { LEVELS = sizeof levels / sizeof levels[0], SEEN = 1 << 22 };

static _Thread_local struct {
    unsigned features;          /* pretended; 0: the machine's */
    bool nested;                /* what surrounds this is made for every level */
    const dync__kernel *kernel; /* what is being made */
    char name[160];
    int nth; /* piece of it */
} now;

unsigned __real_dync__cpu_features(void);
unsigned __wrap_dync__cpu_features(void);
size_t __real_dync__a_finish(dync__asm *);
size_t __wrap_dync__a_finish(dync__asm *);
dync__code *__real_dync__code_new(const dync__kernel *);
dync__code *__wrap_dync__code_new(const dync__kernel *);
dync__code *__real_dync__code_new_for(const dync__kernel *, int, bool);
dync__code *__wrap_dync__code_new_for(const dync__kernel *, int, bool);
dync__code *__real_dync__code_sized(const dync__kernel *);
dync__code *__wrap_dync__code_sized(const dync__kernel *);
dync_status __real_dync__inductor_lower(dync__graph *, const bool *, const dync__options *,
                                        dync__lowered *);
dync_status __wrap_dync__inductor_lower(dync__graph *, const bool *, const dync__options *,
                                        dync__lowered *);
dync__gt_fn __real_dync__gt_code(const dync__target *, int, int, int, int, int);
dync__gt_fn __wrap_dync__gt_code(const dync__target *, int, int, int, int, int);
dync__ccode __real_dync__ctile_code(dync__cheld *, const dync__ctile *);
dync__ccode __wrap_dync__ctile_code(dync__cheld *, const dync__ctile *);
dync__ccode __real_dync__cblock_code(dync__cheld *, int, int64_t, bool);
dync__ccode __wrap_dync__cblock_code(dync__cheld *, int, int64_t, bool);
__attribute__((weak)) dync_status __real_dync__kept_run(dync__plan *); /* older: none */
dync_status __wrap_dync__kept_run(dync__plan *);
void __wrap_dync__a_watch(void (*)(const dync__asm *));

/* ---- the file -------------------------------------------------------------------------------- */

static uint64_t hash_of(const void *bytes, size_t n, uint64_t h)
{
    h ^= 0xcbf29ce484222325u;
    for (size_t i = 0; i < n; i++) h = (h ^ ((const uint8_t *)bytes)[i]) * 0x100000001b3u;
    return h ? h : 1;
}

/* Is this word new to all processes? They share a table beside the file. */
static bool is_new(const char *path, uint64_t word)
{
    static uint64_t *seen;
    static dync__mutex lock;
    dync__lock(&lock);
    if (!seen) {
        char table[512];
        snprintf(table, sizeof table, "%s.seen", path);
        int f = open(table, O_RDWR | O_CREAT, 0666);
        if (f < 0 || ftruncate(f, SEEN * sizeof *seen) != 0) _exit(3);
        seen = mmap(NULL, SEEN * sizeof *seen, PROT_READ | PROT_WRITE, MAP_SHARED, f, 0);
        if (seen == MAP_FAILED) _exit(3);
        close(f);
    }
    dync__unlock(&lock);
    for (uint64_t at = word % SEEN;; at = (at + 1) % SEEN) {
        uint64_t was = 0;
        if (__atomic_compare_exchange_n(&seen[at], &was, word, false, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED))
            return true;
        if (was == word) return false;
    }
}

static const char *level_name(void)
{
    unsigned has = __wrap_dync__cpu_features();
    for (int l = 0; l < LEVELS; l++)
        if (has == levels[l].features) return levels[l].name;
    return has == RUN                  ? "avx2"
           : !(has & DYNC__CPU_AVX512) ? "avx2-no-f16c"
           : has & DYNC__CPU_BF16      ? "avx512-bf16"
                                       : "avx512-plain";
}

static void record(const dync__asm *a, size_t n)
{
    const char *path = getenv("CODE_RECORD"), *level = level_name();
    dync__str text = {0};
    if (!path || !*path || !n) return;
    uint8_t *code = calloc(n, 1);
    if (!code) return;
    dync__a_write(a, code);
    if (now.kernel) dync__kernel_print(&text, now.kernel);
    const char *says = now.kernel ? dync__str_get(&text) : now.name;
    uint64_t key = hash_of(says, strlen(says), (uint64_t)now.nth++),
             of_code = hash_of(code, n, hash_of(level, strlen(level), 0));
    if (is_new(path, key ^ of_code * 3)) {
        bool first = is_new(path, of_code);
        size_t room = strlen(says) + n + 400, at = 0;
        char *out = calloc(room, 1);
        if (out)
            at = (size_t)snprintf(out, 400, "%s %016llx %016llx %zu %zu %zu %.150s\n", level,
                                  (unsigned long long)key, (unsigned long long)of_code, n,
                                  first ? strlen(says) : 0, first ? n : 0,
                                  now.kernel ? now.kernel->name : now.name);
        if (out && first) {
            memcpy(out + at, says, strlen(says));
            memcpy(out + at + strlen(says), code, n);
            at += strlen(says) + n;
        }
        int f = out ? open(path, O_WRONLY | O_CREAT | O_APPEND, 0666) : -1;
        if (f < 0 || write(f, out, at) != (ssize_t)at)
            _exit(3); /* one write: processes do not mix */
        close(f);
        free(out);
    }
    dync__str_free(&text);
    free(code);
}

/* ---- what stands before the library's functions ---------------------------------------------- */

unsigned __wrap_dync__cpu_features(void)
{
    return now.features ? now.features : __real_dync__cpu_features();
}

size_t __wrap_dync__a_finish(dync__asm *a)
{
    size_t n = __real_dync__a_finish(a);
    record(a, n);
    return n;
}

/* A watcher would have listings written, which nobody reads here. */
void __wrap_dync__a_watch(void (*fn)(const dync__asm *)) { (void)fn; }

/* Is the code of other levels wanted as well? Not within what is made for every level, nor where a
 * test pretends a level itself. */
static bool for_all_levels(void)
{
    return !now.nested && !now.features && __real_dync__cpu_features() == RUN;
}

static void begin(const dync__kernel *k)
{
    now.kernel = k;
    now.nth = 0;
    now.name[0] = 0;
}

static dync__code *make(dync__code *(*maker)(const dync__kernel *), const dync__kernel *k)
{
    begin(k->failed ? NULL : k);
    dync__code *code = maker(k);
    begin(NULL);
    return code;
}

static dync__code *make_at_levels(dync__code *(*maker)(const dync__kernel *), const dync__kernel *k)
{
    bool all = for_all_levels() && !k->failed;
    for (int l = 0; all && l < LEVELS; l++) {
        dync__error_guard guard;
        dync__error_guard_begin(&guard);
        now.features = levels[l].features;
        dync__code_free(make(maker, k));
        now.features = 0;
        dync__error_guard_end(&guard);
    }
    return make(maker, k);
}

dync__code *__wrap_dync__code_new(const dync__kernel *k)
{
    return make_at_levels(__real_dync__code_new, k);
}

dync__code *__wrap_dync__code_sized(const dync__kernel *k)
{
    return make_at_levels(__real_dync__code_sized, k);
}

dync__code *__wrap_dync__code_new_for(const dync__kernel *k, int isa, bool jit)
{
    begin(k->failed ? NULL : k);
    dync__code *code = __real_dync__code_new_for(k, isa, jit);
    begin(NULL);
    return code;
}

dync_status __wrap_dync__inductor_lower(dync__graph *g, const bool *used,
                                        const dync__options *options, dync__lowered *out)
{
    bool all = for_all_levels() && dync__graph_device(g) == DYNC_CPU;
    now.nested = true;
    for (int l = 0; all && l < LEVELS; l++) {
        dync__error_guard guard;
        dync__lowered lowered;
        dync__error_guard_begin(&guard);
        now.features = levels[l].features;
        if (__real_dync__inductor_lower(g, used, options, &lowered) == DYNC_OK)
            dync__lowered_free(&lowered);
        now.features = 0;
        dync__error_guard_end(&guard);
    }
    dync_status status = __real_dync__inductor_lower(g, used, options, out);
    now.nested = false;
    return status;
}

/* What no argument reaches runs while a plan is made: never code of another level. */
dync_status __wrap_dync__kept_run(dync__plan *p)
{
    return now.features ? DYNC_OK : __real_dync__kept_run(p);
}

dync__gt_fn __wrap_dync__gt_code(const dync__target *t, int kind, int type, int flags, int rows,
                                 int vectors)
{
    /* Their table does not know levels: it would hand them to who runs. test_codegen_levels makes
     * all there are. */
    if (now.features) return NULL;
    begin(NULL);
    /* lists of what follows are numbered as they come: their contents tell */
    int plain = flags & ((1 << DYNC__GT_AFTER) - 1);
    dync__after after = {0};
    if (flags != plain) after = dync__gt_after_list(flags, type);
    snprintf(now.name, sizeof now.name,
             "gemm kind %d type %d flags %d rows %d vectors %d then %llx", kind, type, plain, rows,
             vectors, flags == plain ? 0 : (unsigned long long)hash_of(&after, sizeof after, 0));
    return __real_dync__gt_code(t, kind, type, flags, rows, vectors);
}

dync__ccode __wrap_dync__ctile_code(dync__cheld *held, const dync__ctile *t)
{
    begin(NULL);
    snprintf(now.name, sizeof now.name, "conv tile P %d B %d %016llx", (int)t->P, (int)t->B,
             (unsigned long long)hash_of(t, sizeof *t, 0));
    return __real_dync__ctile_code(held, t);
}

dync__ccode __wrap_dync__cblock_code(dync__cheld *held, int V, int64_t n, bool to_blocks)
{
    begin(NULL);
    snprintf(now.name, sizeof now.name, "conv blocks V %d n %d to %d", V, (int)n, to_blocks);
    return __real_dync__cblock_code(held, V, n, to_blocks);
}
