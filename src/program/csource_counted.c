/* program/csource_counted.c: what data decide in C: counts and numbers that a step finds, which are
 * variables from there on. Before csource_steps.c, which calls such steps.
 *
 *   static void f_step2(const unsigned char *p0, int64_t *p1, int *count) { ... }
 *
 *   f_step2((unsigned char *)(void *)a, (int64_t *)(void *)(a + 16), &nonzero_n);
 *   if (nonzero_n > 4) { *rc = 2; return; }
 *
 * Arrays are as large as the greatest count. A count of which the graph is not right (the greatest
 * of nothing, for one) is found here, by inference with 0 and 1 in its place. */
#include "../dync.in.h"
#include "csource.h"
DYNC__COLD

/* ---- symbols --------------------------------------------------------------------------------- */

DYNC__FN const dync__node *dync__csource_teller(const dync__csource *c, int symbol)
{
    const dync__graph *g = c->program->graph;
    for (int i = 0; i < g->node.n; i++) {
        const dync__node *n = g->node.at[i];
        bool uses[DYNC__PROGRAM_SYMBOLS] = {false};
        if (dync__op_is_counted(n->op) && n->has_info &&
            dync__symtab_uses(g->syms, n->info[0].lay.shape[0], uses) && uses[symbol])
            return n;
    }
    return NULL;
}

DYNC__FN uint64_t dync__csource_data(const dync__csource *c)
{
    uint64_t data = 0;
    for (int i = 0; c->syms && i < c->syms->symbol.n; i++)
        if (c->syms->symbol.at[i].data) data |= (uint64_t)1 << i;
    return data;
}

static uint64_t dync__csource_in_size(const dync__csource *c, int64_t size)
{
    bool uses[DYNC__PROGRAM_SYMBOLS] = {false};
    uint64_t mask = 0;
    if (!dync__symtab_uses(c->syms, size, uses)) return 0;
    for (int i = 0; i < c->syms->symbol.n; i++)
        if (uses[i]) mask |= (uint64_t)1 << i;
    return mask;
}

/* Those that shapes of results have: the caller is told. */
DYNC__FN uint64_t dync__csource_told(const dync__csource *c)
{
    uint64_t told = 0;
    for (int i = 0; c->syms && i < c->main.n_out; i++)
        for (int d = 0; d < c->main.out[i].lay.ndim; d++)
            told |= dync__csource_in_size(c, c->main.out[i].lay.shape[d]);
    return told & dync__csource_data(c);
}

/* ---- counts that the graph is for ------------------------------------------------------------ */

/* Are the types right with these counts? Others are 2, or as many as there can be. */
static bool dync__csource_right(const dync__csource *c, int a, int b, int64_t count)
{
    const dync__symtab *t = c->program->graph->syms;
    int64_t value[DYNC__PROGRAM_SYMBOLS];
    dync__graph *g = NULL;
    /* none are unique of none alone, whose count is looked at by itself */
    if (count == 0 && (dync__csource_teller(c, a)->op == DYNC__OP_unique ||
                       dync__csource_teller(c, b)->op == DYNC__OP_unique))
        return true;
    for (int i = 0; i < t->symbol.n; i++)
        value[i] = i == a || i == b       ? count
                   : t->symbol.at[i].data ? DYNC__MAX(t->symbol.at[i].low, 2)
                                          : c->hint[i];
    dync__program_most(c->program->graph, value, true);
    bool met = value[a] == count;
    dync__symtab *before = dync__tls.syms;
    dync__error_guard guard;
    dync__tls.syms = NULL;
    dync__error_guard_begin(&guard);
    bool right = dync__graph_concrete(c->program->graph, value, &g) == DYNC_OK &&
                 dync__graph_check_shown(g, NULL) == DYNC_OK;
    (void)dync__error_guard_end(&guard);
    dync__tls.syms = before;
    dync__graph_unref(g);
    return right || !met;
}

/* Divisions by a count are not done with 0. */
static bool dync__csource_divides(const dync__csource *c, int symbol)
{
    for (int i = 0; i < c->syms->expr.n; i++) {
        const dync__sz_expr *e = &c->syms->expr.at[i];
        if ((e->kind == DYNC__SZ_DIV || e->kind == DYNC__SZ_MOD) &&
            dync__csource_in_size(c, e->b) >> symbol & 1)
            return true;
    }
    return false;
}

static void dync__csource_fail_if(const char *condition, int code, const char *why, dync__str *s)
{
    dync__str_addf(s, "    if (%s) { /* %s */\n        *rc = %d;\n        return;\n    }\n",
                   condition, why, code);
}

/* The codes that a call gives for it: of a count, of a number beyond what C's int holds. */
enum { DYNC__CSOURCE_COUNT = 2, DYNC__CSOURCE_CHECK = 3 };

static void dync__csource_check_counts(dync__csource *c, int symbol, dync__str *s)
{
    const char *name = c->syms->symbol.at[symbol].source;
    const dync__node *n = dync__csource_teller(c, symbol);
    dync__str text = {0};
    if (dync__op_is_item(n->op)) {
        dync__str_addf(&text, "%s >= 2147483647 || %s < -2147483646", name, name);
        dync__csource_fail_if(dync__str_get(&text), DYNC__CSOURCE_COUNT, "no int", s);
        dync__str_free(&text);
        if (!dync__csource_divides(c, symbol)) return;
        dync__str_addf(&text, "%s < 1", name);
        dync__csource_fail_if(dync__str_get(&text), DYNC__CSOURCE_COUNT, "a divisor", s);
    } else {
        int least = dync__csource_right(c, symbol, symbol, 0) && !dync__csource_divides(c, symbol)
                        ? 0
                    : dync__csource_right(c, symbol, symbol, 1) ? 1
                                                                : 2;
        dync__str_addf(&text, "%s < %d", name, least);
        if (least) dync__csource_fail_if(dync__str_get(&text), DYNC__CSOURCE_COUNT, "too few", s);
        for (int i = 0; i < symbol && !least; i++) {
            if (!c->syms->symbol.at[i].data || dync__csource_right(c, symbol, i, 0) ||
                !dync__csource_right(c, i, i, 0))
                continue;
            dync__str_free(&text);
            dync__str_addf(&text, "%s == 0 && %s == 0", name, c->syms->symbol.at[i].source);
            dync__csource_fail_if(dync__str_get(&text), DYNC__CSOURCE_COUNT, "too few", s);
        }
    }
    s->failed = s->failed || text.failed;
    dync__str_free(&text);
}

/* dync_check of a number that is complete with this symbol. */
static void dync__csource_check_ranges(dync__csource *c, int symbol, dync__str *s)
{
    const dync__graph *g = c->program->graph;
    int code = DYNC__CSOURCE_CHECK;
    for (int i = 0; i < g->node.n; i++) {
        const dync__node *n = g->node.at[i];
        dync__str text = {0}, why = {0};
        if (!dync__op_is_range(n->op)) continue;
        uint64_t uses = dync__csource_in_size(c, n->args[0].as.i) & dync__csource_data(c);
        if (uses >> symbol == 1) {
            dync__str_addc(&text, '(');
            dync__size_csource(&text, n->args[0].as.i);
            dync__str_addf(&text, ") < %lld || (", (long long)n->args[1].as.i);
            dync__size_csource(&text, n->args[0].as.i);
            dync__str_addf(&text, ") > %lld", (long long)n->args[2].as.i);
            dync__csource_check_name(n, &why);
            dync__csource_fail_if(dync__str_get(&text), code, dync__str_get(&why), s);
        }
        code++;
        s->failed = s->failed || text.failed || why.failed;
        dync__str_free(&text);
        dync__str_free(&why);
    }
}

/* "dync_check at FILE:LINE: from 0 to 4" */
DYNC__FN void dync__csource_check_name(const dync__node *n, dync__str *s)
{
    const char *file = n->at.file, *base = file;
    for (const char *p = file; p && *p; p++)
        if (*p == '/' || *p == '\\') base = p + 1;
    dync__str_add(s, "dync_check");
    if (base) {
        dync__str_add(s, " at ");
        for (; *base; base++) dync__str_addc(s, *base == '*' ? '_' : *base); /* in a comment */
        dync__str_addf(s, ":%d", (int)n->at.line);
    }
    dync__str_addf(s, ": from %lld to %lld", (long long)n->args[1].as.i,
                   (long long)n->args[2].as.i);
}

/* What follows the call of a step that tells: the caller's copy, what it must be. */
DYNC__FN void dync__csource_tell(dync__csource *c, int symbol, dync__str *s)
{
    const char *name = c->syms->symbol.at[symbol].source;
    if (dync__csource_told(c) >> symbol & 1) dync__str_addf(s, "    *%s_told = %s;\n", name, name);
    dync__csource_check_counts(c, symbol, s);
    dync__csource_check_ranges(c, symbol, s);
}

/* ", int *nonzero_n" for those that the caller is told. before: in front of each but the first */
DYNC__FN void dync__csource_told_list(const dync__csource *c, const char *before, const char *type,
                                      const char *behind, dync__str *s)
{
    uint64_t told = dync__csource_told(c);
    for (int i = 0; c->syms && i < c->syms->symbol.n; i++)
        if (told >> i & 1)
            dync__str_addf(s, "%s%s%s%s", before, type, c->syms->symbol.at[i].source, behind);
}

/* ---- steps ----------------------------------------------------------------------------------- */

static const char *const dync__counted_loops[] = {"i0", "i1", "i2", "i3", "i4", "i5", "i6", "i7"};

/* x[..] of operand k over loops of a shape with ndim dimensions: as broadcast. */
static void dync__csource_element(dync__str *s, const dync__operand *o, int k, int ndim)
{
    const char *var[DYNC_MAX_DIMS];
    for (int d = 0; d < o->lay.ndim; d++)
        var[d] = dync__sz_eq(o->lay.shape[d], 1) ? NULL
                                                 : dync__counted_loops[ndim - o->lay.ndim + d];
    dync__str_addf(s, "p%d[", k);
    dync__csource_index(s, o->lay.ndim, o->lay.stride, var, 0);
    dync__str_addc(s, ']');
}

/* Is it none of zero? Halves are stored as bits. */
static void dync__csource_is_set(dync__str *s, const dync__operand *o, int k, int ndim)
{
    bool half = o->dtype == DYNC_F16 || o->dtype == DYNC_BF16;
    dync__str_add(s, half ? "(" : "");
    dync__csource_element(s, o, k, ndim);
    dync__str_add(s, half ? " & 0x7fff) != 0" : " != 0");
}

/* Places of what is not zero, a dimension's behind another's: those are as far apart as there are
 * places, which are counted first. */
static void dync__csource_nonzero(dync__str *s, const dync__operand *o)
{
    int n = o->lay.ndim;
    for (int pass = 0; pass < 2; pass++) {
        int depth = 1;
        if (pass) dync__str_add(s, "    const int all = n;\n    n = 0;\n    (void)all;\n");
        for (int d = 0; d < n; d++)
            if (!dync__sz_eq(o->lay.shape[d], 1))
                depth = dync__csource_for(s, depth, dync__counted_loops[d], o->lay.shape[d]);
        dync__str_addf(s, "%*sif (", 4 * depth, "");
        dync__csource_is_set(s, o, 0, n);
        dync__str_add(s, ") {\n");
        for (int d = 0; d < n && pass; d++)
            dync__str_addf(s, "%*sp1[n + (int64_t)%d * all] = %s;\n", 4 * depth + 4, "", d,
                           dync__sz_eq(o->lay.shape[d], 1) ? "0" : dync__counted_loops[d]);
        dync__str_addf(s, "%*sn++;\n%*s}\n", 4 * depth + 4, "", 4 * depth, "");
    }
    if (!n) dync__str_add(s, "    (void)p1;\n");
}

static void dync__csource_selected(dync__str *s, const dync__operand *o)
{
    int n = DYNC__MAX(o[0].lay.ndim, o[1].lay.ndim), depth = 1;
    for (int d = 0; d < n; d++) {
        int x = d - n + o[0].lay.ndim, mask = d - n + o[1].lay.ndim;
        int64_t size = x >= 0 ? o[0].lay.shape[x] : 1;
        if (mask >= 0 && dync__sz_eq(size, 1)) size = o[1].lay.shape[mask];
        if (!dync__sz_eq(size, 1))
            depth = dync__csource_for(s, depth, dync__counted_loops[d], size);
    }
    dync__str_addf(s, "%*sif (", 4 * depth, "");
    dync__csource_is_set(s, &o[1], 1, n);
    dync__str_add(s, ") p2[n++] = ");
    dync__csource_element(s, &o[0], 0, n);
    dync__str_add(s, ";\n");
}

/* Each at its place among those before it; NaNs, which are all kept, come last. */
static void dync__csource_unique(dync__str *s, const dync__operand *o)
{
    const char *type = dync__dtype_c_type(o->dtype);
    int depth = 1;
    dync__str_add(s, "    int m = 0;\n");
    for (int d = 0; d < o->lay.ndim; d++)
        if (!dync__sz_eq(o->lay.shape[d], 1))
            depth = dync__csource_for(s, depth, dync__counted_loops[d], o->lay.shape[d]);
    dync__str_addf(s, "%*s{\n%*sconst %s v = ", 4 * depth, "", 4 * depth + 4, "", type);
    dync__csource_element(s, o, 0, o->lay.ndim);
    dync__str_add(s, ";\n");
    if (dync__dtype_info(o->dtype)->kind == 'f')
        dync__str_addf(s, "%*sconst int nan = v != v;\n", 4 * depth + 4, "");
    else
        dync__str_addf(s, "%*sconst int nan = 0;\n", 4 * depth + 4, "");
    static const char *const lines[] = {
        "int low = nan ? n : 0, high = nan ? n : m;",
        "while (low < high) {",
        "    const int middle = low + (high - low) / 2;",
        "    if (p1[middle] < v)",
        "        low = middle + 1;",
        "    else",
        "        high = middle;",
        "}",
        "if (nan || low == m || p1[low] != v) {",
        "    for (int k = n; k > low; k--) p1[k] = p1[k - 1];",
        "    p1[low] = v;",
        "    n++;",
        "    m += !nan;",
        "}",
    };
    for (int i = 0; i < DYNC__COUNT_OF(lines); i++)
        dync__str_addf(s, "%*s%s\n", 4 * depth + 4, "", lines[i]);
    dync__str_addf(s, "%*s}\n", 4 * depth, "");
}

/* The symbol that the step tells; its arrays are the call's, of a number without the result. */
DYNC__FN dync_status dync__csource_counted(dync__csource *c, dync__csource_step *step, dync__str *s)
{
    const dync__kcall *call = step->at.call;
    const dync__node *n = call->attr.opaque.node;
    const dync__operand *o = call->operand;
    bool item = dync__op_is_item(n->op);
    int in = call->n - 1;
    for (int i = 0; i < c->syms->symbol.n; i++)
        if ((dync__csource_in_size(c, n->info[0].lay.shape[0]) & dync__csource_data(c)) >> i & 1)
            step->tells = i;
    step->n = item ? 1 : call->n;
    if (dync__op_is_nms(n->op)) return dync__csource_refuse(call, "has no form in C");
    if (n->op == DYNC__OP_unique && (o->dtype == DYNC_F16 || o->dtype == DYNC_BF16))
        return dync__csource_refuse(call, "has no form for half precision; it has one for F32");
    dync__str_add(s, "static void @(");
    for (int i = 0; i < step->n; i++)
        dync__str_addf(s, "%s%s *p%d, ", i < in ? "const " : "", dync__dtype_c_type(o[i].dtype), i);
    dync__str_add(s, "int *count)\n{\n");
    if (item) {
        dync__str_add(s, "    const int64_t n = (int64_t)p0[0];\n    *count = n > 2147483647 ? "
                         "2147483647 : n < -2147483647 ? -2147483647 : (int)n;\n}\n");
        return s->failed ? DYNC_ERR_MEMORY : DYNC_OK;
    }
    dync__str_add(s, "    int n = 0;\n");
    if (n->op == DYNC__OP_nonzero) dync__csource_nonzero(s, o);
    if (n->op == DYNC__OP_masked_select) dync__csource_selected(s, o);
    if (n->op == DYNC__OP_unique) dync__csource_unique(s, o);
    dync__str_add(s, "    *count = n;\n}\n");
    return s->failed ? DYNC_ERR_MEMORY : DYNC_OK;
}
