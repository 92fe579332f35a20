/* codegen/gemm_code.c: the table of the forms of gemm_code.h. Before: gemm_run.c finds and calls
 * them; under it: gen_gemm.c, which makes each one once, when it is first asked for.
 *
 * Readers search the table without a lock: a slot's key is written before its code, and neither
 * changes until shutdown. A table that is half full is copied into one twice as large and kept for
 * those who read it. It grows without a limit of its own: a form that is not there is done in C,
 * which may round otherwise (no fused multiply-add), so who has one must have all. */
#include "../dync.in.h"
#include "gemm_code.h"
DYNC__LEAN
#if DYNC__JIT

typedef struct dync__gt_form {
    uint32_t key;
    dync__gt_fn fn; /* NULL: what follows is too much for its registers */
    dync__codeblock block;
} dync__gt_form;
typedef struct dync__gt_table dync__gt_table;
struct dync__gt_table {
    dync__gt_table *older;
    int bits, n; /* of its 2^bits slots, n are taken */
    dync__gt_form form[];
};
enum { DYNC__GT_FIRST_BITS = 8, DYNC__GT_MOST_BITS = 24 };
static struct {
    dync__mutex lock;
    dync__gt_table *table;
    uint32_t epoch;
    int32_t refused;
} dync__gts;

static size_t dync__gt_table_bytes(int bits)
{
    return sizeof(dync__gt_table) + (sizeof(dync__gt_form) << bits);
}

static void dync__gt_shutdown(void)
{
    dync__lock(&dync__gts.lock);
    dync__gt_table *t = dync__gts.table;
    DYNC__ATOMIC_STORE(&dync__gts.table, NULL);
    for (int i = 0; t && i < 1 << t->bits; i++)
        if (t->form[i].fn) dync__codemem_free(&t->form[i].block);
    while (t) {
        dync__gt_table *older = t->older;
        dync__free(t, dync__gt_table_bytes(t->bits));
        t = older;
    }
    dync__gts.epoch++;
    DYNC__ATOMIC_STORE(&dync__gts.refused, 0);
    dync__unlock(&dync__gts.lock);
}

/* The slot of a key, or the empty one where it belongs. */
DYNC__OFTEN static dync__gt_form *dync__gt_slot(dync__gt_table *t, uint32_t key)
{
    uint32_t at = (key * 2654435761u) >> (32 - t->bits), found;
    while ((found = DYNC__ATOMIC_LOAD(&t->form[at].key)) && found != key)
        at = (at + 1) & ((1u << t->bits) - 1);
    return &t->form[at];
}

/* With the lock held: a table with room for one more form; NULL: no memory. */
static dync__gt_table *dync__gt_room(void)
{
    dync__gt_table *t = dync__gts.table;
    if (t && t->n < 1 << (t->bits - 1)) return t;
    int bits = t ? t->bits + 1 : DYNC__GT_FIRST_BITS;
    dync__gt_table *more = bits <= DYNC__GT_MOST_BITS ? dync__calloc(dync__gt_table_bytes(bits))
                                                      : NULL;
    if (!more) return NULL;
    more->bits = bits;
    for (int i = 0; t && i < 1 << t->bits; i++)
        if (t->form[i].key) *dync__gt_slot(more, t->form[i].key) = t->form[i], more->n++;
    more->older = t;
    DYNC__ATOMIC_STORE(&dync__gts.table, more);
    return more;
}

static dync__gt_fn dync__gt_new(uint32_t key, const dync__target *t, int kind, int type, int rows,
                                int vectors, int flags)
{
    dync__error_guard guard;
    dync__gt_fn fn = NULL;
    bool refused = false;
    dync__error_guard_begin(&guard); /* a failed allocation costs speed only */
    dync__lock(&dync__gts.lock);
    dync__gt_table *table = dync__gt_room();
    dync__gt_form *f = table ? dync__gt_slot(table, key) : NULL;
    if (f && f->key) {
        fn = f->fn;
    } else if (f && !dync__gts.refused) {
        dync__codeblock block = {0};
        bool made = dync__gt_generate(t, kind, type, rows, vectors, flags, &block, &refused);
        if (made || refused) {
            f->block = block;
            if (made) memcpy(&fn, &block.exec, sizeof fn);
            f->fn = fn;
            DYNC__ATOMIC_STORE(&f->key, key);
            table->n++;
        } else {
            DYNC__ATOMIC_STORE(&dync__gts.refused, 1);
        }
    }
    dync__unlock(&dync__gts.lock);
    (void)dync__error_guard_end(&guard);
    if (table) dync__at_shutdown(dync__gt_shutdown);
    return fn;
}

/* Conversions need no masks. */
static bool dync__gt_makes(const dync__target *t, int kind, int type)
{
    if (kind != DYNC__GT_COPY || type < DYNC__GT_AS_F16) return dync__gt_can(type);
    return !t->refuses(t, DYNC__P_load, DYNC_F32, type == DYNC__GT_AS_F16 ? DYNC_F16 : DYNC_BF16);
}

DYNC__OFTEN DYNC__FN dync__gt_fn dync__gt_code(const dync__target *t, int kind, int type, int flags,
                                               int rows, int vectors)
{
    if (!t) return NULL;
    uint32_t key = 1u << 31 | (uint32_t)kind << 28 | (uint32_t)type << 25 |
                   ((uint32_t)flags & 15) << 21 | ((uint32_t)t->level & 7) << 18 |
                   (uint32_t)flags >> DYNC__GT_AFTER << 12 | (uint32_t)rows << 6 |
                   (uint32_t)vectors;
    dync__gt_table *table = DYNC__ATOMIC_LOAD(&dync__gts.table);
    const dync__gt_form *f = table ? dync__gt_slot(table, key) : NULL;
    if (f && DYNC__ATOMIC_LOAD(&f->key) == key) return f->fn;
    if (DYNC__ATOMIC_PEEK(&dync__gts.refused) || !dync__gt_makes(t, kind, type)) return NULL;
    return dync__gt_new(key, t, kind, type, rows, vectors, flags);
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
