/* program/sizes.c: programs of symbolic sizes: what the sizes of a call are, whether the program is
 * for them, and its arguments' names. Before export.c.
 *
 * A size that was marked (dync_mark_dynamic) is a symbol of the graph's table, with its range;
 * what the export took for granted of sizes is a guard of that table. Both are checked by every
 * call, as a program has no other guards. */
#include "../dync.in.h"
#include "program.h"
DYNC__COLD

/* ---- names ----------------------------------------------------------------------------------- */

/* "L['bc'][0]" as an identifier: bc_0; without a source the node's own name. */
DYNC__FN void dync__program_input_name(const dync__graph *g, int i, char *out, size_t cap)
{
    const dync__node *node = g->node.at[i];
    const char *from = node->source ? node->source : node->name;
    if (from[0] == 'L' && from[1] == '[') from++;
    size_t n = 0;
    bool gap = false;
    for (const char *p = from; *p && n + 3 < cap; p++) {
        bool word = dync__is_word(*p);
        if (word && ((gap && n) || (dync__is_digit(*p) && !n))) out[n++] = '_';
        if (word) out[n++] = *p;
        gap = !word;
    }
    out[n] = 0;
    if (!n) dync__format(out, cap, "in%d", i);
}

/* ---- values ---------------------------------------------------------------------------------- */

/* The first dim of an input that is this very symbol. False: no argument has it as it is. */
static bool dync__program_symbol_place(const dync__graph *g, int symbol, int *input, int *dim)
{
    for (int i = 0; i < g->n_inputs; i++)
        for (int d = 0; d < g->node.at[i]->info[0].lay.ndim; d++)
            if (g->node.at[i]->info[0].lay.shape[d] == g->syms->symbol.at[symbol].token) {
                *input = i;
                *dim = d;
                return true;
            }
    return false;
}

/* ", s0 (dimension 0 of x) from 2 to 64" for each symbol that an argument has as it is. */
DYNC__FN void dync__program_ranges_text(const dync__graph *g, dync__str *s, const char *before)
{
    for (int k = 0; g->syms && k < g->syms->symbol.n; k++) {
        const dync__sz_symbol *symbol = &g->syms->symbol.at[k];
        char name[96];
        int input, dim;
        if (symbol->is || !dync__program_symbol_place(g, k, &input, &dim)) continue;
        dync__program_input_name(g, input, name, sizeof name);
        dync__str_add(s, before);
        dync__symtab_text(g->syms, symbol->token, false, s);
        dync__str_addf(s, " (dimension %d of %s) ", dim, name);
        if (symbol->high == INT64_MAX)
            dync__str_addf(s, "of at least %lld", (long long)symbol->low);
        else
            dync__str_addf(s, "from %lld to %lld", (long long)symbol->low, (long long)symbol->high);
        before = ", ";
    }
}

/* f32[s0, 6] */
DYNC__FN void dync__program_type_text(const dync__graph *g, const dync__info *info, dync__str *s)
{
    dync__str_addf(s, "%s[", dync__dtype_info(info->dtype)->fx);
    for (int d = 0; d < info->lay.ndim; d++) {
        if (d) dync__str_add(s, ", ");
        if (dync__is_token(info->lay.shape[d]) && g->syms)
            dync__symtab_text(g->syms, info->lay.shape[d], false, s);
        else
            dync__str_addf(s, "%lld", (long long)info->lay.shape[d]);
    }
    dync__str_addc(s, ']');
}

/* "s0 <= 2*s1": guard i of the graph's table. */
DYNC__FN void dync__program_guard_text(const dync__graph *g, int i, dync__str *s)
{
    static const char *const signs[] = {" == ", " < ", " != ", " <= "};
    const dync__sz_guard *guard = &g->syms->guard.at[i];
    dync__symtab_text(g->syms, guard->a, false, s);
    dync__str_add(s, signs[guard->rel]);
    dync__symtab_text(g->syms, guard->b, false, s);
}

/* What the first symbol or guard is that the call's sizes do not fit. */
static dync_status dync__program_refuse_sizes(const dync__program *p, const int64_t *value)
{
    const dync__symtab *t = p->graph->syms;
    dync__str s = {0};
    for (int i = 0; i < t->symbol.n; i++) {
        int input, dim;
        char name[96];
        const dync__sz_symbol *symbol = &t->symbol.at[i];
        int64_t now = dync__sz_hint(value[i]);
        if (!now || (now >= symbol->low && now <= symbol->high) ||
            !dync__program_symbol_place(p->graph, i, &input, &dim))
            continue;
        dync__program_input_name(p->graph, input, name, sizeof name);
        dync__str_addf(&s, "argument %s: dimension %d is %lld, expected ", name, dim,
                       (long long)now);
        if (symbol->high == INT64_MAX)
            dync__str_addf(&s, "at least %lld", (long long)symbol->low);
        else
            dync__str_addf(&s, "%lld to %lld", (long long)symbol->low, (long long)symbol->high);
        break;
    }
    for (int i = 0; i < t->guard.n && s.n == 0; i++) {
        if (dync__guard_holds(t, &t->guard.at[i], value)) continue;
        dync__str_add(&s, "sizes other than it was exported for: expected ");
        dync__program_guard_text(p->graph, i, &s);
        dync__program_ranges_text(p->graph, &s, ", with ");
    }
    dync_status status = dync__fail(DYNC_ERR_SHAPE, "program %s: %s", p->name, dync__str_get(&s));
    dync__str_free(&s);
    return status;
}

/* value[i] is symbol i in this call, 0 where no argument tells. Shapes are checked apart. */
DYNC__FN void dync__program_values(const dync__program *p, dync__tensor *const *in, int64_t *value)
{
    bool known[DYNC__PROGRAM_SYMBOLS];
    if (!p->graph->syms) return;
    dync__graph_bind(p->graph, in, value, known);
    /* what data decide is any that it may be: nobody asks for it before they do */
    for (int i = 0; i < p->graph->syms->symbol.n; i++)
        if (p->graph->syms->symbol.at[i].data) value[i] = p->graph->syms->symbol.at[i].low;
}

/* DYNC_ERR_SHAPE names the argument or the relation that does not hold. */
DYNC__FN dync_status dync__program_fits(const dync__program *p, const int64_t *value)
{
    if (!p->graph->syms || dync__symtab_fits(p->graph->syms, value)) return DYNC_OK;
    return dync__program_refuse_sizes(p, value);
}

/* Input i's layout in this call; false: its sizes have no value. 0 is none of a symbolic size. */
DYNC__FN bool dync__program_layout(const dync__program *p, int i, const int64_t *value,
                                   dync__layout *lay)
{
    const dync__layout *of = &p->graph->node.at[i]->info[0].lay;
    *lay = *of;
    if (p->graph->syms && !dync__layout_values(p->graph->syms, value, lay)) return false;
    for (int d = 0; d < lay->ndim; d++)
        if (lay->shape[d] == 0 && dync__is_token(of->shape[d])) return false;
    return true;
}

/* ---- programs from files --------------------------------------------------------------------- */

enum { DYNC__PROVEN_KEPT = 64 };
/* The last DYNC__PROVEN_KEPT sets of sizes are kept, in a ring. */
static bool dync__program_is_proven(dync__program *p, const int64_t *value, size_t bytes)
{
    bool found = false;
    dync__lock(&p->lock);
    for (int i = 0; p->proven && i < DYNC__MIN(p->n_proven, DYNC__PROVEN_KEPT) && !found; i++)
        found = memcmp(p->proven + i * p->graph->syms->symbol.n, value, bytes) == 0;
    dync__unlock(&p->lock);
    return found;
}

/* Elements of a node's arguments, broadcast; of nms those of the scores. */
static int64_t dync__program_elements(const dync__graph *g, const dync__node *n,
                                      const int64_t *value)
{
    int64_t most[DYNC_MAX_DIMS], all = 1; /* from the last dimension on */
    bool ok = true;
    for (int d = 0; d < DYNC_MAX_DIMS; d++) most[d] = 1;
    for (int i = dync__op_is_nms(n->op); i < n->nargs; i++) {
        if (n->args[i].kind != DYNC__A_NODE) continue;
        const dync__layout *lay = &n->args[i].as.node->info[0].lay;
        for (int d = 0; d < lay->ndim; d++) {
            int64_t size = dync__symtab_value(g->syms, lay->shape[lay->ndim - 1 - d], value, &ok);
            most[d] = size == 1 ? most[d] : size;
        }
    }
    for (int d = 0; d < DYNC_MAX_DIMS && ok; d++) all = dync__sz_times(all, most[d]);
    return ok ? all : DYNC__SZ_MOST;
}

/* The greatest that what data decide may be with these sizes of arguments, in value: limits are for
 * that. Types of what data decide were inferred as the file was read. An element that nothing
 * bounds stays as it is: the sizes that it gives are held by the limits as it runs
 * (dync__node_within). */
DYNC__FN void dync__program_most(const dync__graph *g, int64_t *value, bool wish)
{
    for (int i = 0; i < g->node.n; i++) {
        const dync__node *n = g->node.at[i];
        if (!dync__op_is_counted(n->op) || !n->has_info) continue;
        int64_t size = n->info[0].lay.shape[0], most = dync__op_is_item(n->op)
                                                           ? DYNC__ITEM_MOST
                                                           : dync__program_elements(g, n, value);
        for (int k = 0; k < g->syms->symbol.n; k++) {
            const dync__sz_symbol *s = &g->syms->symbol.at[k];
            bool uses[DYNC__PROGRAM_SYMBOLS] = {false};
            bool bounded = !dync__op_is_item(n->op) || s->high < DYNC__ITEM_MOST;
            if (s->data && bounded && dync__symtab_uses(g->syms, size, uses) && uses[k])
                value[k] = DYNC__MIN(wish ? value[k] : s->high, most);
        }
    }
}

/* The file showed the types of one set of sizes, which were inferred as it was loaded. Those of
 * another are what its symbols give: whether they are right is found when it first comes. Of sizes
 * that are symbols of a trace, the call being traced is looked into. */
DYNC__FN dync_status dync__program_prove(dync__program *p, const int64_t *sizes)
{
    int n = p->graph->syms ? p->graph->syms->symbol.n : 0;
    size_t bytes = (size_t)n * sizeof *sizes;
    int64_t value[DYNC__PROGRAM_SYMBOLS];
    dync__graph *g = NULL;
    for (int i = 0; i < n; i++) value[i] = dync__sz_hint(sizes[i]);
    dync__program_most(p->graph, value, false);
    dync_limits limits = dync__program_limits_get();
    if (n == 0 || dync__program_is_proven(p, value, bytes)) return DYNC_OK;
    dync_status status = dync__graph_concrete(p->graph, value, &g);
    if (status == DYNC_OK) status = dync__graph_check_shown(g, &limits);
    dync__graph_unref(g);
    if (status != DYNC_OK) return status;
    dync__lock(&p->lock);
    if (!p->proven) p->proven = dync__calloc(DYNC__PROVEN_KEPT * bytes);
    if (p->proven) {
        memcpy(p->proven + p->n_proven % DYNC__PROVEN_KEPT * n, value, bytes);
        p->n_proven = p->n_proven == 2 * DYNC__PROVEN_KEPT - 1 ? DYNC__PROVEN_KEPT
                                                               : p->n_proven + 1;
    } else {
        status = DYNC_ERR_MEMORY;
    }
    dync__unlock(&p->lock);
    return status;
}

/* tensor: the call's, by leaf. A program of a file is proven for them on the way, so that a wrong
 * one counts as "not for them". */
DYNC__FN bool dync__program_is_for(dync__program *p, dync__tensor *const *tensor)
{
    int64_t value[DYNC__PROGRAM_SYMBOLS] = {0};
    dync__tensor *in[DYNC__MAX_LEAVES];
    for (int i = 0; i < p->graph->n_inputs; i++) in[i] = tensor[p->leaf[i]];
    dync__program_values(p, in, value);
    if (p->graph->syms && !dync__symtab_fits(p->graph->syms, value)) return false;
    for (int i = 0; i < p->graph->n_inputs; i++) {
        dync__layout lay;
        if (in[i]->lay.ndim != p->graph->node.at[i]->info[0].lay.ndim ||
            !dync__program_layout(p, i, value, &lay))
            return false;
        for (int d = 0; d < lay.ndim; d++)
            if (lay.shape[d] != in[i]->lay.shape[d]) return false;
    }
    dync__error_guard guard;
    dync__error_guard_begin(&guard);
    bool right = !p->loaded || dync__program_prove(p, value) == DYNC_OK;
    (void)dync__error_guard_end(&guard);
    return right;
}

DYNC__FN void dync__program_unprove(dync__program *p)
{
    if (p->proven)
        dync__free(p->proven,
                   DYNC__PROVEN_KEPT * (size_t)p->graph->syms->symbol.n * sizeof *p->proven);
}

/* ---- what a program may be ------------------------------------------------------------------- */

/* The sizes of g in a copy of the table of its trace: guards in their simplest form, of symbols
 * that arguments still have. */
DYNC__FN bool dync__program_settle(dync__graph *g, const dync__symtab *of_trace)
{
    dync__symtab *t = dync__symtab_copy(of_trace, NULL);
    int kept = 0;
    if (!t) return false;
    for (int i = 0; i < t->guard.n; i++) {
        dync__sz_guard guard = t->guard.at[i];
        guard.a = dync__symtab_simple(t, guard.a);
        guard.b = dync__symtab_simple(t, guard.b);
        bool plain = !dync__is_token(guard.a) && !dync__is_token(guard.b);
        if (guard.a == guard.b && guard.rel != DYNC__SZ_LT && guard.rel != DYNC__SZ_NE) continue;
        if (!plain) t->guard.at[kept++] = guard;
    }
    t->guard.n = kept;
    dync__symtab_learnt(t); /* what was taken out is guarded again where it is asked again */
    bool settled = dync__graph_settle_sizes(g, t);
    dync__symtab_free(t);
    return settled;
}

static bool dync__program_size_known(void *user, int64_t *size)
{
    const dync__symtab *t = user;
    return (!dync__is_token(*size)) || (t && dync__symtab_find(t, *size));
}

/* Every symbol is told by an argument, every size is one of the table. */
DYNC__FN dync_status dync__program_sizes_check(dync__graph *g, const char *name)
{
    if (!dync__graph_each_size(g, dync__program_size_known, g->syms) || !dync__graph_tells_all(g))
        return dync__fail(DYNC_ERR_UNSUPPORTED,
                          "export of %s: a symbolic size that no argument tells; only dimensions "
                          "of arguments can be marked, not those of parameters and globals",
                          name);
    if (g->syms && g->syms->symbol.n > DYNC__PROGRAM_SYMBOLS)
        return dync__fail(DYNC_ERR_UNSUPPORTED, "export of %s: more than %d symbolic sizes", name,
                          (int)DYNC__PROGRAM_SYMBOLS);
    return DYNC_OK;
}
