/* op/eager_plan.c: an operator now, by a cached plan of that one operator: lowered, fused and
 * compiled once per key, then allocate outputs, bind pointers, run. After eager_check.c.
 *
 * The key is the operator, its attributes, and dtype, shape and strides of each tensor; plain
 * numbers of pointwise operators are inputs of the plan, so a learning rate that changes costs
 * nothing. Entries are compared word for word, never by hash alone. The cache is the thread's own
 * (no lock), two-way, bounded, and freed when the thread ends.
 *
 *   add(x [2, 3] f32 row major, 0.5)  is the key, one 64-bit word each:
 *   op, 2 arguments, default dtype | tensor, f32, rank 2, device | 2 | 3 | 3 | 1 | float
 *                                                   sizes and strides, dim by dim: shape, stride */
#include "../dync.in.h"
#include "rows.h"
DYNC__WARM

/* ---- the key --------------------------------------------------------------------------------- */

/* Are the number arguments inputs of the plan? pow chooses its formula by the exponent. */
DYNC__FN bool dync__eager_numbers_float(const dync__opcall *call)
{
    int op;
    return dync__row_takes_numbers(dync__eager_functional(call, &op));
}

static void dync__key_add(dync__eager_key *k, uint64_t w)
{
    if (k->n < DYNC__EAGER_WORDS) k->word[k->n] = w;
    k->n++;
}

/* Kind, dtype, rank, the fake flag and the device in one word, then size and stride of each dim.
 * The offset is not in it: a plan binds pointers to the first element. */
static void dync__key_tensor(dync__eager_key *k, const dync__tensor *t)
{
    unsigned n = (unsigned)t->lay.ndim;
    dync__key_add(k, DYNC__A_TENSOR | (uint64_t)t->dtype << 8 | (uint64_t)n << 16 |
                         (uint64_t)(t->flags & DYNC__T_FAKE) << 24 | (uint64_t)t->device << 32);
    for (unsigned d = 0; d < n; d++) {
        dync__key_add(k, (uint64_t)t->lay.shape[d]);
        dync__key_add(k, (uint64_t)t->lay.stride[d]);
    }
}

/* Its length, then eight bytes a word. */
static void dync__key_text(dync__eager_key *k, const char *s)
{
    size_t n = s ? strlen(s) : 0;
    dync__key_add(k, DYNC__A_STR | (uint64_t)(s != NULL) << 8 | (uint64_t)n << 16);
    for (size_t i = 0; i < n; i += 8) {
        uint64_t w = 0;
        memcpy(&w, s + i, DYNC__MIN(n - i, (size_t)8));
        dync__key_add(k, w);
    }
}

/* What cannot be told by words (pointers, graphs) makes the key unfit. */
static void dync__key_arg(dync__eager_key *k, const dync__arg *a, bool numbers_float)
{
    uint64_t bits;
    switch ((dync__arg_kind)a->kind) {
    case DYNC__A_TENSOR: dync__key_tensor(k, a->as.t); break;
    case DYNC__A_INT:
    case DYNC__A_BOOL:
    case DYNC__A_FLOAT:
        dync__key_add(k, a->kind);
        memcpy(&bits, &a->as, sizeof bits);
        if (!numbers_float) dync__key_add(k, bits);
        break;
    case DYNC__A_DIMS:
        dync__key_add(k, DYNC__A_DIMS | (uint64_t)(unsigned)a->n << 8);
        for (int i = 0; i < a->n && i < DYNC_MAX_DIMS; i++)
            dync__key_add(k, (uint64_t)a->as.dims[i]);
        break;
    case DYNC__A_LIST:
        dync__key_add(k, DYNC__A_LIST | (uint64_t)(unsigned)a->n << 8);
        for (int i = 0; i < a->n; i++) dync__key_arg(k, &a->as.list[i], numbers_float);
        break;
    case DYNC__A_DTYPE:
    case DYNC__A_DEVICE: dync__key_add(k, a->kind | (uint64_t)a->as.i << 8); break;
    case DYNC__A_NONE: dync__key_add(k, DYNC__A_NONE); break;
    case DYNC__A_STR: dync__key_text(k, a->as.s); break;
    case DYNC__A_HANDLE:
    case DYNC__A_NODE:
    case DYNC__A_GRAPH:
    case DYNC__A_PTR: k->fits = false; break;
    }
}

/* The default dtype belongs to the key: integer arguments of floating operators become it. The
 * mixing step is that of MurmurHash3's finaliser. */
DYNC__FN void dync__key_make(dync__eager_key *k, const dync__opcall *call)
{
    bool numbers_float = dync__eager_numbers_float(call);
    uint64_t h = 0x9e3779b97f4a7c15u;
    k->n = 0;
    k->fits = true;
    dync__key_add(k, (uint64_t)(unsigned)call->op | (uint64_t)(unsigned)call->nargs << 16 |
                         (uint64_t)dync__tls.default_dtype << 32);
    for (int i = 0; i < call->nargs; i++) dync__key_arg(k, &call->args[i], numbers_float);
    if (k->n > DYNC__EAGER_WORDS) k->fits = false;
    for (int i = 0; k->fits && i < k->n; i++) {
        h = (h ^ k->word[i]) * 0xff51afd7ed558ccdu;
        h ^= h >> 32;
    }
    k->hash = h;
}

/* ---- the cache ------------------------------------------------------------------------------- */

DYNC__RARE DYNC__FN void dync__eager_entry_free(dync__eager_entry *e)
{
    if (!e) return;
    dync__plan_free(e->plan);
    dync__free(e->word, (size_t)e->n_words * sizeof *e->word);
    dync__free(e, sizeof *e);
}

DYNC__FN void dync__eager_forget(dync__op_state *s)
{
    for (int i = 0; i < DYNC__EAGER_SETS; i++) {
        for (int j = 0; j < DYNC__EAGER_WAYS; j++) {
            dync__eager_entry_free(s->entry[i][j]);
            s->entry[i][j] = NULL;
        }
    }
}

/* NULL: a miss. The two ways of a set are kept in the order of their last use. */
DYNC__FN dync__eager_entry *dync__eager_find(const dync__eager_key *k)
{
    dync__op_state *s = dync__tls.op_state;
    if (!s || !k->fits) return NULL;
    dync__eager_entry **set = s->entry[k->hash % DYNC__EAGER_SETS];
    for (int j = 0; j < DYNC__EAGER_WAYS; j++) {
        dync__eager_entry *e = set[j];
        if (!e || e->hash != k->hash || e->n_words != k->n ||
            memcmp(e->word, k->word, (size_t)k->n * sizeof k->word[0]) != 0)
            continue;
        set[j] = set[0]; /* the last used one stands first */
        set[0] = e;
        return e;
    }
    return NULL;
}

/* False: not kept (no memory for that, or a key too long); the caller frees the entry after its
 * run. Drops the least recently used entry of the set. */
DYNC__RARE DYNC__FN bool dync__eager_keep(const dync__eager_key *k, dync__eager_entry *e)
{
    dync__op_state *s = k->fits ? dync__op_state_get() : NULL;
    if (!s || !(e->word = dync__alloc((size_t)k->n * sizeof k->word[0]))) return false;
    memcpy(e->word, k->word, (size_t)k->n * sizeof k->word[0]);
    e->n_words = k->n;
    e->hash = k->hash;
    dync__eager_entry **set = s->entry[k->hash % DYNC__EAGER_SETS];
    dync__eager_entry_free(set[DYNC__EAGER_WAYS - 1]);
    for (int j = DYNC__EAGER_WAYS - 1; j > 0; j--) set[j] = set[j - 1];
    set[0] = e;
    return true;
}
