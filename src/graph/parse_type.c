/* graph/parse_type.c: types behind the values of a graph's text. Before: parse_arg.c. */
#include "../dync.in.h"
#include "control.h"
#include "parse.h"
#include "text.h"
DYNC__COLD

/* ---- types ----------------------------------------------------------------------------------- */

/* A plain size, or a symbol s0, s1, ..: a new one gets the next token. Tokens of a parsed text
 * begin at 2^61 and have no table behind them. */
static bool dync__parse_size(dync__parser *q, int64_t *out)
{
    if (dync__parse_int(q, out))
        return (*out >= 0 && !dync__is_token(*out)) || dync__parse_fail(q, "a size before "
                                                                           "this");
    char *name = q->status == DYNC_OK ? dync__parse_name(q) : NULL;
    if (!name || name[0] != 's' || !name[1] || strlen(name) > 6 ||
        strspn(name + 1, "0123456789") != strlen(name + 1))
        return dync__parse_fail(q, "a size before this");
    for (int i = 0; i < q->g->symbol.n; i++)
        if (strcmp(q->g->symbol.at[i].text, name) == 0)
            return *out = q->g->symbol.at[i].token, true;
    dync__symbol symbol = {.text = name};
    for (int i = 0; i < q->symbol.n; i++) /* of a function before this one */
        if (strcmp(q->symbol.at[i].text, name) == 0) symbol.token = q->symbol.at[i].token;
    if (!symbol.token) {
        if (q->symbol.n == DYNC__PARSE_SYMBOLS)
            return dync__parse_fail(q, "fewer symbols before this");
        symbol.token = ((int64_t)1 << 61) + q->symbol.n;
        if (!dync__vec_push(&q->symbol, symbol)) return dync__parse_no_memory(q);
    }
    *out = symbol.token;
    return dync__graph_symbol(q->g, *out, name) || dync__parse_no_memory(q);
}

/* Up to the closing text; at most DYNC_MAX_DIMS. */
static bool dync__parse_sizes(dync__parser *q, const char *close, int64_t *sizes, int *n)
{
    for (*n = 0; !dync__parse_take(q, close); (*n)++) {
        if (*n && !dync__parse_need(q, ",")) return false;
        if (*n == DYNC_MAX_DIMS) return dync__parse_fail(q, "fewer dimensions");
        if (!dync__parse_size(q, &sizes[*n])) return false;
    }
    return true;
}

/* Row-major strides of a shape whose bytes can be counted; the error of another shape is one of the
 * text. */
DYNC__FN bool dync__parse_layout(dync__parser *q, dync__layout *lay, int ndim, const int64_t *shape)
{
    int64_t n = 16;
    for (int d = 0; d < ndim; d++)
        if (shape[d] < 0 || !dync__mul_ok(n, DYNC__MAX(shape[d], 1), &n))
            return dync__parse_fail(q, "a shape that fits memory before this");
    return dync__layout_contiguous(lay, ndim, shape) == DYNC_OK || dync__parse_no_memory(q);
}

/* dtype[sizes]{strides} +offset device @alias grad: all but the first two are optional, as
 * dync__text_info prints them. */
static bool dync__parse_info(dync__parser *q, dync__info *info, bool *requires_grad)
{
    int64_t i;
    int n, dtype = -1;
    char word[8];
    *info = (dync__info){.alias = -1};
    for (int k = 0; dync__dtype_valid(k) && dtype < 0; k++) {
        dync__format(word, sizeof word, "%s[", dync__dtype_info(k)->fx);
        if (dync__parse_take(q, word)) dtype = k;
    }
    if (dtype < 0) return dync__parse_fail(q, "a type");
    info->dtype = dtype;
    if (!dync__parse_sizes(q, "]", info->lay.shape, &info->lay.ndim)) return false;
    if (dync__parse_take(q, "{")) {
        if (!dync__parse_sizes(q, "}", info->lay.stride, &n)) return false;
        if (n != info->lay.ndim) return dync__parse_fail(q, "a stride per dimension before this");
    } else {
        uint64_t stride = 1; /* symbolic sizes: the token of a product means nothing */
        for (int d = info->lay.ndim - 1; d >= 0; d--) {
            info->lay.stride[d] = (int64_t)stride;
            stride *= (uint64_t)DYNC__MAX(info->lay.shape[d], 1);
        }
        dync__layout checked;
        if (q->g->symbol.n == 0) {
            if (!dync__parse_layout(q, &checked, info->lay.ndim, info->lay.shape)) return false;
            info->lay = checked;
        }
    }
    if (dync__parse_take(q, "+") &&
        (!dync__parse_int(q, &info->lay.offset) || info->lay.offset < 0))
        return dync__parse_fail(q, "an offset");
    if (!dync__parse_device(q, false, &info->device) && q->status != DYNC_OK) return false;
    if (dync__parse_take(q, "@")) {
        if (!dync__parse_int(q, &i) || i < 0 || i >= DYNC__MAX_ARGS)
            return dync__parse_fail(q, "an argument's number");
        info->alias = (int)i;
    }
    *requires_grad = dync__parse_take(q, "grad");
    return true;
}

/* Sym(text), number, list, none, one type, or (several). */
DYNC__FN bool dync__parse_type(dync__parser *q, dync__parsed_type *t)
{
    *t = (dync__parsed_type){.n = 1};
    if (dync__parse_take(q, "Sym(")) {
        int depth = 1;
        const char *start = q->p;
        for (; *q->p && *q->p != '\n' && !(*q->p == '*' && q->p[1] == '/'); q->p++) {
            depth += (*q->p == '(') - (*q->p == ')');
            if (depth == 0) break;
        }
        t->sym = dync__arena_printf(&q->g->arena, "%.*s", (int)(q->p - start), start);
        return t->sym ? dync__parse_need(q, ")") : dync__parse_no_memory(q);
    }
    if (dync__parse_take(q, "number")) return t->number = true, true;
    if (dync__parse_take(q, "list")) return true;
    if (dync__parse_take(q, "none")) return t->n = 0, true;
    t->has_info = true;
    if (!dync__parse_take(q, "(")) return dync__parse_info(q, &t->info[0], &t->requires_grad[0]);
    for (t->n = 0; !dync__parse_take(q, ")"); t->n++) {
        if (t->n && !dync__parse_need(q, ",")) return false;
        if (t->n == DYNC__MAX_OUT) return dync__parse_fail(q, "fewer outputs");
        if (!dync__parse_info(q, &t->info[t->n], &t->requires_grad[t->n])) return false;
    }
    return true;
}

/* What was read about the node's values, into the node. */
DYNC__FN void dync__parse_set_type(dync__node *node, const dync__parsed_type *t)
{
    for (int i = 0; i < t->n && t->has_info; i++) {
        node->info[i] = t->info[i];
        node->requires_grad[i] = t->requires_grad[i];
    }
    node->has_info = t->has_info;
    node->sym = t->sym;
    node->nout = t->n;
    if (t->number || t->sym) node->scalar = dync__arg_i(0);
}
