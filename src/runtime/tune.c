/* runtime/tune.c: options="autotune": the forms of a kernel are timed where the plan is made, and
 * the fastest is taken. Before: plan.c.
 *
 * Candidates: machine code for each instruction set of this machine, and the interpreter. Each gets
 * a millisecond at most, on memory of its own. What was found is kept for the process by the hash
 * of the kernel's text, the machine's instruction set and the threads; with "autotune=PATH" also in
 * that file: a line of two hexadecimal numbers each. A file that cannot be read or written does no
 * harm. Every form gives the same bits but for the order of some sums, so the choice is one of
 * time. */
#include "../dync.in.h"
#include "plan.h"
#include "../codegen/code.h"
#include "../codegen/interp_tile.h"
#include "../codegen/target.h"
DYNC__LEAN

#if !defined(DYNC_NO_TUNE)
enum { DYNC__TUNE_MOST = 1024, DYNC__TUNE_PATH = 512 };
/* form: isa, + 16 machine code */
typedef struct dync__tuned {
    uint64_t key;
    uint32_t form;
} dync__tuned;
static struct {
    dync__mutex lock;
    int n;
    dync__tuned found[DYNC__TUNE_MOST];
    char path[DYNC__TUNE_PATH]; /* the file that was read */
} dync__tune;

static dync__code *dync__tune_make(const dync__kernel *k, uint32_t form)
{
    return dync__code_new_for(k, DYNC__MIN((int)(form & 15), dync__target_level()), form >= 16);
}

static uint32_t dync__tune_look(uint64_t key)
{
    for (int i = 0; i < dync__tune.n; i++)
        if (dync__tune.found[i].key == key) return dync__tune.found[i].form;
    return UINT32_MAX;
}

static void dync__tune_keep(uint64_t key, uint32_t form)
{
    if (dync__tune.n < DYNC__TUNE_MOST && dync__tune_look(key) == UINT32_MAX)
        dync__tune.found[dync__tune.n++] = (dync__tuned){key, form};
}

#if !defined(DYNC_NO_STDIO)
static void dync__tune_read(const char *path)
{
    char line[64];
    FILE *f = strcmp(path, dync__tune.path) == 0 ? NULL : fopen(path, "rb");
    memcpy(dync__tune.path, path, strlen(path) + 1);
    while (f && fgets(line, sizeof line, f)) {
        uint64_t number[2] = {0, 0};
        int at = 0;
        for (const char *c = line; *c && *c != '\n' && at < 2; c++) {
            int digit = *c >= '0' && *c <= '9'   ? *c - '0'
                        : *c >= 'a' && *c <= 'f' ? *c - 'a' + 10
                                                 : -1;
            if (digit < 0)
                at++;
            else
                number[at] = number[at] << 4 | (uint64_t)digit;
        }
        if (at == 1 && (number[1] & 15) <= 2 && number[1] < 32)
            dync__tune_keep(number[0], (uint32_t)number[1]);
    }
    if (f) fclose(f);
}

static void dync__tune_write(const char *path, uint64_t key, uint32_t form)
{
    char line[64];
    FILE *f = fopen(path, "ab");
    int n = dync__format(line, sizeof line, "%llx %x\n", (unsigned long long)key, (unsigned)form);
    if (!f) return;
    fwrite(line, 1, (size_t)n, f);
    fclose(f);
}
#endif

/* Elements of each buffer that the kernel can reach; 0: not known, or too many. */
static int64_t dync__tune_reach(const dync__kernel *k, int buf)
{
    int64_t most = 0;
    for (int i = 0; i < k->inst.n; i++) {
        const dync__inst *in = &k->inst.at[i];
        if (in->buf != buf) continue;
        if (in->prim == DYNC__P_loadx || in->prim == DYNC__P_storex) return 0;
        const dync__access *a = &k->access.at[in->access];
        int64_t last = a->offset, first = a->offset;
        for (int d = 0; d < k->n_dims; d++)
            *(a->stride[d] > 0 ? &last : &first) += a->stride[d] * DYNC__MAX(k->extent[d] - 1, 0);
        if (first < 0 || last >= DYNC__TUNE_BYTES / 8) return 0;
        most = DYNC__MAX(most, last + 1);
    }
    return most;
}

static uint64_t dync__tune_time(const dync__code *code, void *const *buffers)
{
    uint64_t best = UINT64_MAX, begin = dync__now_ns(), now = begin;
    for (int i = 0; i < 1000 && (i < 2 || now - begin < DYNC__TUNE_NS); i++) {
        uint64_t start = now;
        if (dync__code_run(code, buffers, 1, 1) != DYNC_OK) return UINT64_MAX;
        now = dync__now_ns();
        best = DYNC__MIN(best, now - start);
    }
    return best;
}

static uint32_t dync__tune_measure(const dync__kernel *k)
{
    dync__arena arena = {0};
    int best_isa = dync__target_level();
    uint32_t found = 16u + (uint32_t)best_isa;
    uint64_t least = UINT64_MAX;
    void **buffers = dync__arena_alloc(&arena, (size_t)(k->buf.n + 1) * sizeof *buffers);
    bool ok = buffers != NULL;
    for (int i = 0; ok && i < k->buf.n; i++) {
        int64_t n = dync__tune_reach(k, i);
        ok = n > 0 &&
             (buffers[i] = dync__arena_alloc(
                  &arena, (size_t)n * dync__dtype_info(k->buf.at[i].dtype)->bytes + 64)) != NULL;
    }
    /* the instruction sets from the best down, then the interpreter */
    for (int c = 0; ok && c <= best_isa; c++) {
        uint32_t form = c < best_isa ? 16u + (uint32_t)(best_isa - c) : (uint32_t)best_isa;
        dync__code *code = dync__tune_make(k, form);
        uint64_t ns = code ? dync__tune_time(code, buffers) : UINT64_MAX;
        dync__code_free(code);
        if (ns < least - least / 32) {
            least = ns;
            found = form;
        }
        dync__log(DYNC__LOG_perf, "autotune %s: %s %d: %llu ns", k->name,
                  form >= 16 ? "machine code" : "interpreter", (int)(form & 15),
                  (unsigned long long)ns);
    }
    dync__arena_free(&arena);
    return found;
}

/* The fastest form of k. path: the file that remembers, "" for none. */
DYNC__FN dync__code *dync__tuned_code(const dync__kernel *k, const char *path)
{
    dync__str text = {0};
    dync__error_guard guard;
    dync__error_guard_begin(&guard);
    dync__kernel_print(&text, k);
    dync__str_addf(&text, "%d %d", dync__target_level(), dync__pool_threads());
    uint64_t key = dync__hash_bytes(dync__str_get(&text), text.n, 0);
    uint32_t form = UINT32_MAX;
    bool known = text.failed;
    dync__str_free(&text);
    if (!known) {
        dync__lock(&dync__tune.lock);
#if !defined(DYNC_NO_STDIO)
        bool file = *path && strlen(path) < DYNC__TUNE_PATH;
        if (file) dync__tune_read(path);
#endif
        form = dync__tune_look(key);
        known = form != UINT32_MAX;
        if (!known) {
            form = dync__tune_measure(k);
            dync__tune_keep(key, form);
#if !defined(DYNC_NO_STDIO)
            if (file) dync__tune_write(path, key, form);
#endif
        }
        dync__unlock(&dync__tune.lock);
    }
    (void)path;
    dync__error_guard_end(&guard);
    return form == UINT32_MAX ? dync__code_new(k) : dync__tune_make(k, form);
}
#endif
