/* codegen/gemm_code.c: the table of the forms of gemm_code.h. Before: gemm_run.c finds and calls
 * them; under it: gen_gemm.c, which makes each one once, when it is first asked for.
 *
 * Readers search the table without a lock: a slot's key is written before its code, and neither
 * changes until shutdown. */
#include "../dync.in.h"
#include "gemm_code.h"
DYNC__LEAN
#if DYNC__JIT

typedef struct dync__gt_form {
    uint32_t key;
    dync__gt_fn fn; /* NULL: what follows is too much for its registers */
    dync__codeblock block;
} dync__gt_form;
enum { DYNC__GT_FORMS = 1024 };
static struct {
    dync__mutex lock;
    int n;
    uint32_t epoch;
    int32_t refused;
    dync__gt_form form[DYNC__GT_FORMS];
} dync__gts;

static void dync__gt_shutdown(void)
{
    dync__lock(&dync__gts.lock);
    for (int i = 0; i < DYNC__GT_FORMS; i++)
        if (dync__gts.form[i].fn) dync__codemem_free(&dync__gts.form[i].block);
    memset(dync__gts.form, 0, sizeof dync__gts.form);
    dync__gts.n = 0;
    dync__gts.epoch++;
    DYNC__ATOMIC_STORE(&dync__gts.refused, 0);
    dync__unlock(&dync__gts.lock);
}

static dync__gt_fn dync__gt_new(uint32_t key, uint32_t at, const dync__target *t, int kind,
                                int type, int rows, int vectors, int flags)
{
    dync__error_guard guard;
    dync__gt_fn fn = NULL;
    bool refused = false;
    dync__error_guard_begin(&guard); /* a failed allocation costs speed only */
    dync__lock(&dync__gts.lock);
    while (dync__gts.form[at].key && dync__gts.form[at].key != key) at = (at + 1) % DYNC__GT_FORMS;
    dync__gt_form *f = &dync__gts.form[at];
    if (f->key)
        fn = f->fn;
    else if (!dync__gts.refused && dync__gts.n < DYNC__GT_FORMS / 2) {
        dync__codeblock block = {0};
        bool made = dync__gt_generate(t, kind, type, rows, vectors, flags, &block, &refused);
        if (made || refused) {
            f->block = block;
            if (made) memcpy(&fn, &block.exec, sizeof fn);
            f->fn = fn;
            DYNC__ATOMIC_STORE(&f->key, key);
            dync__gts.n++;
        } else {
            DYNC__ATOMIC_STORE(&dync__gts.refused, 1);
        }
    }
    dync__unlock(&dync__gts.lock);
    (void)dync__error_guard_end(&guard);
    if (fn) dync__at_shutdown(dync__gt_shutdown);
    return fn;
}

DYNC__FN dync__gt_fn dync__gt_code(const dync__target *t, int kind, int type, int flags, int rows,
                                   int vectors)
{
    if (!t) return NULL;
    uint32_t key = 1u << 31 | (uint32_t)kind << 28 | (uint32_t)type << 25 |
                   ((uint32_t)flags & 15) << 21 | ((uint32_t)t->level & 7) << 18 |
                   (uint32_t)flags >> DYNC__GT_AFTER << 12 | (uint32_t)rows << 6 |
                   (uint32_t)vectors;
    uint32_t at = (key * 2654435761u) >> 22, found;
    for (; (found = DYNC__ATOMIC_LOAD(&dync__gts.form[at].key)); at = (at + 1) % DYNC__GT_FORMS)
        if (found == key) return dync__gts.form[at].fn;
    if (DYNC__ATOMIC_PEEK(&dync__gts.refused) || !dync__gt_can(type)) return NULL;
    return dync__gt_new(key, at, t, kind, type, rows, vectors, flags);
}

DYNC__FN uint32_t dync__gt_epoch(void) { return DYNC__ATOMIC_PEEK(&dync__gts.epoch); }

#else
DYNC__FN uint32_t dync__gt_epoch(void) { return 0; }
DYNC__FN dync__gt_fn dync__gt_code(const dync__target *t, int kind, int type, int flags, int rows,
                                   int vectors)
{
    (void)t, (void)kind, (void)type, (void)rows, (void)vectors, (void)flags;
    return NULL;
}
#endif
