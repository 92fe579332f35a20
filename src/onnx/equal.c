/* onnx/equal.c: sizes that a model needs equal, learnt from a graph that did not come out. After
 * sized.c, before load.c.
 *
 * Sizes that calls tell are tried with hints that differ. Where two of them were found to differ
 * and that ended the trial, the next one has them equal. */
#include "../dync.in.h"
#include "record.h"
#include "../tensor/sym_list.h"
DYNC__COLD

enum { DYNC__ONNX_SEEK = 4096 }; /* sizes that are tried */

/* The size of an input that has a symbol of its own shall be as large as `other` is. false: it is
 * so, or it has none. */
static bool dync__onnx_liken(dync__onnx_loaded *l, const dync__symtab *t, int64_t size,
                             int64_t other)
{
    const dync__sz_expr *e = dync__symtab_find(t, size);
    bool uses[DYNC__PROGRAM_SYMBOLS] = {false}, changed = false;
    int64_t like = dync__sz_hint_in(t, other);
    if (!e || e->kind != DYNC__SZ_SYMBOL || !dync__symtab_uses(t, other, uses) || uses[e->symbol])
        return false;
    for (int i = 0; i < l->n_inputs && like > 1; i++)
        for (int d = 0; d < l->input[i].ndim; d++)
            if (l->input[i].symbol[d] == size && l->input[i].like[d] != like) {
                l->input[i].like[d] = like;
                changed = true;
            }
    return changed;
}

/* Two sizes that one symbol decides shall be equal: the next greater value of it with which they
 * are. false: there is none. */
static bool dync__onnx_seek_equal(dync__onnx_loaded *l, const dync__symtab *t, int64_t a, int64_t b)
{
    bool uses[DYNC__PROGRAM_SYMBOLS] = {false};
    int64_t value[DYNC__PROGRAM_SYMBOLS];
    int n = t->symbol.n, by = -1, used = 0;
    if (n > DYNC__PROGRAM_SYMBOLS || !dync__symtab_uses(t, a, uses) ||
        !dync__symtab_uses(t, b, uses))
        return false;
    for (int i = 0; i < n; i++) {
        value[i] = dync__sz_hint_in(t, t->symbol.at[i].token);
        if (uses[i]) by = i, used++;
    }
    if (used != 1 || t->symbol.at[by].data) return false;
    int64_t from = value[by], found = 0;
    dync__arena arena = {0};
    dync__sz_list list;
    bool begun = dync__sz_list_begin(&list, t, &arena);
    int64_t x = begun ? dync__sz_list_put(&list, a) : 0,
            y = begun ? dync__sz_list_put(&list, b) : 0;
    int64_t *at = begun ? dync__arena_alloc(&arena, ((size_t)list.step.n + 1) * sizeof *at) : NULL;
    for (int64_t k = from + 1; at && !list.failed && !found && k < from + DYNC__ONNX_SEEK; k++) {
        value[by] = k;
        bool ok = dync__sz_list_run(&list, value, at);
        int64_t size = dync__sz_placed(at, x);
        if (ok && size > 1 && size == dync__sz_placed(at, y)) found = k;
    }
    dync__arena_free(&arena);
    return found && dync__onnx_liken(l, t, t->symbol.at[by].token, found);
}

/* No graph came out: sizes that were tried were found to differ, and the model may need them equal
 * (a mask's length and past + new; what a network takes apart and puts together again). The last
 * ones, for they ended it. */
DYNC__FN bool dync__onnx_learn_equal(dync__onnx_loaded *l, const dync__symtab *t)
{
    for (int i = t->guard.n - 1; i >= 0; i--) {
        const dync__sz_guard *g = &t->guard.at[i];
        if (g->rel == DYNC__SZ_NE &&
            (dync__onnx_liken(l, t, g->a, g->b) || dync__onnx_liken(l, t, g->b, g->a) ||
             dync__onnx_seek_equal(l, t, g->a, g->b)))
            return true;
    }
    return false;
}
