/* onnx/out_size.c: sizes and numbers of a model being written: constants, or, where they are
 * symbolic, computed from the sizes of its inputs. And the operands of a node. After
 * out_build.c. */
#include "../dync.in.h"
#if !defined(DYNC_NO_ONNX)
#include "out.h"
DYNC__COLD

/* ---- operands -------------------------------------------------------------------------------- */

DYNC__FN const dync__arg *dync__ox_arg(const dync__ox *w, int i)
{
    static const dync__arg none = {0};
    return i < w->node->nargs ? &w->node->args[i] : &none;
}

DYNC__FN bool dync__ox_has(const dync__ox *w, int i)
{
    return dync__ox_arg(w, i)->kind == DYNC__A_NODE;
}

/* What a getitem node takes is the node itself. */
static const dync__node *dync__ox_source(const dync__node *n, int *k)
{
    *k = 0;
    if (n->op == DYNC__NODE_GETITEM) {
        *k = (int)n->args[1].as.i;
        n = n->args[0].as.node;
    }
    return n;
}

DYNC__FN const dync__info *dync__ox_info(const dync__ox *w, const dync__arg *a)
{
    int k;
    (void)w;
    const dync__node *n = dync__ox_source(a->as.node, &k);
    return &n->info[k];
}

DYNC__FN dync__ox_name dync__ox_value(dync__ox *w, const dync__arg *a)
{
    int k;
    if (a->kind != DYNC__A_NODE) return "";
    const dync__node *n = dync__ox_source(a->as.node, &k);
    const char *const *value = w->scope->value[n->index];
    if (value && value[k]) return value[k];
    return dync__ox_refuse(w, "it takes a value that could not be written");
}

DYNC__FN dync__ox_name dync__ox_in(dync__ox *w, int i)
{
    return dync__ox_value(w, dync__ox_arg(w, i));
}

DYNC__FN const dync__info *dync__ox_of(const dync__ox *w, int i)
{
    return dync__ox_info(w, dync__ox_arg(w, i));
}

DYNC__FN int dync__ox_wide(int dtype)
{
    int type = dync__dtype_info(dtype)->compute;
    return type == DYNC_BOOL ? DYNC_I32 : type;
}

DYNC__FN dync__ox_name dync__ox_wide_in(dync__ox *w, int i)
{
    int dtype = dync__ox_of(w, i)->dtype;
    return dync__ox_cast(w, dync__ox_in(w, i), dtype, dync__ox_wide(dtype));
}

DYNC__FN dync__ox_name dync__ox_as_out(dync__ox *w, dync__ox_name x, int from, int k)
{
    return dync__ox_cast(w, x, from, w->node->info[k].dtype);
}

DYNC__FN bool dync__ox_used(const dync__ox *w, int k)
{
    const dync__graph *g = w->scope->graph;
    for (int i = w->node->index; i < g->node.n; i++) {
        const dync__node *n = g->node.at[i];
        if (n->op == DYNC__NODE_GETITEM && n->args[0].as.node == w->node && n->args[1].as.i == k)
            return n->n_users > 0;
    }
    return false;
}

/* The node that made the value gets the name of the graph's node. */
DYNC__FN void dync__ox_give(dync__ox *w, int k, dync__ox_name x)
{
    const char **value = (const char **)(uintptr_t)w->scope->value[w->node->index];
    if (!dync__ox_ok(w)) return;
    value[k] = x;
    bool made = false;
    char *name = w->node->nout > 1 ? dync__arena_printf(w->arena, "%s.out%d", w->node->name, k)
                                   : dync__arena_strdup(w->arena, w->node->name);
    if (w->scope->outer && name) name = dync__arena_printf(w->arena, "%s.in%d", name, ++w->n_names);
    for (int i = w->first; name && i < w->graph->node.n; i++) {
        dync__onnx_node *n = w->graph->node.at[i];
        for (int j = 0; made && j < n->input.n; j++)
            if (n->input.at[j] == x) n->input.at[j] = name;
        for (int j = 0; j < n->output.n; j++) {
            if (n->output.at[j] != x) continue;
            n->output.at[j] = n->name = value[k] = name;
            made = true;
        }
    }
    if (!name) w->status = DYNC_ERR_MEMORY;
}

DYNC__FN int dync__ox_axis(const dync__ox *w, int i, int ndim)
{
    int64_t dim = dync__ox_arg(w, i)->as.i;
    return (int)(dim < 0 ? dim + DYNC__MAX(ndim, 1) : dim);
}

DYNC__FN dync__ox_name dync__ox_reshape(dync__ox *w, dync__ox_name x, int n, const int64_t *shape)
{
    x = dync__ox_op2(w, "Reshape", x, dync__ox_shape(w, n, shape));
    bool zero = false;
    for (int d = 0; d < n; d++) zero = zero || shape[d] == 0 || dync__is_token(shape[d]);
    if (zero) dync__ox_set_i(w, "allowzero", 1); /* else a 0 would copy a size */
    return x;
}

DYNC__FN dync__ox_name dync__ox_expand(dync__ox *w, dync__ox_name x, int n, const int64_t *shape)
{
    return dync__ox_op2(w, "Expand", x, dync__ox_shape(w, n, shape));
}

DYNC__FN dync__ox_name dync__ox_range(dync__ox *w, int64_t n)
{
    dync__ox_name end = dync__is_token(n) ? dync__ox_reshape(w, dync__ox_size_of(w, n), 0, NULL)
                                          : dync__ox_int(w, n);
    return dync__ox_op3(w, "Range", dync__ox_int(w, 0), end, dync__ox_int(w, 1));
}

DYNC__FN bool dync__ox_plain(dync__ox *w, const dync__layout *lay, int64_t *numel)
{
    if (!dync__layout_has_tokens(lay) && dync__numel(lay->ndim, lay->shape, numel) == DYNC_OK)
        return true;
    dync__ox_refuse(w, "it needs the places of its elements, and a size is symbolic");
    return false;
}

/* ---- symbolic sizes -------------------------------------------------------------------------- */

/* An input of the outermost graph that has exactly this size, or what data gave it. */
static dync__ox_name dync__ox_symbol(dync__ox *w, int64_t token)
{
    const dync__ox_scope *s = w->scope;
    while (s->outer) s = s->outer;
    for (int i = 0; i < s->graph->node.n; i++) {
        const dync__node *in = s->graph->node.at[i];
        if (i >= s->graph->n_inputs && !dync__op_is_counted(in->op)) continue;
        for (int d = 0; in->has_info && d < in->info[0].lay.ndim; d++) {
            if (in->info[0].lay.shape[d] != token || !s->value[in->index] ||
                !s->value[in->index][0])
                continue;
            dync__ox_name name = dync__ox_op1(w, "Shape", s->value[in->index][0]);
            dync__ox_set_i(w, "start", d);
            dync__ox_set_i(w, "end", d + 1);
            return name;
        }
    }
    return dync__ox_refuse(w, "no input has one of its symbolic sizes, and no data gave it");
}

/* coefficient * atom * atom ..., as int64 of shape [1]. */
static dync__ox_name dync__ox_term(dync__ox *w, const dync__sz_term *t)
{
    dync__ox_name product = t->n && t->coef == 1 ? NULL : dync__ox_ints(w, 1, &t->coef);
    for (int i = 0; i < t->n; i++) {
        dync__ox_name atom = dync__ox_size_of(w, t->atom[i]);
        product = product ? dync__ox_op2(w, "Mul", product, atom) : atom;
    }
    return product;
}

/* A sum of products; of none it is 0. */
static dync__ox_name dync__ox_sum(dync__ox *w, const dync__sz_expr *e)
{
    dync__ox_name sum = NULL;
    for (int i = 0; i < e->n_terms; i++) {
        dync__ox_name term = dync__ox_term(w, &e->term[i]);
        sum = sum ? dync__ox_op2(w, "Add", sum, term) : term;
    }
    return sum ? sum : dync__ox_ints(w, 1, &(int64_t){0});
}

/* recursion: an expression's operands are sizes */
static dync__ox_name dync__ox_size_make(dync__ox *w, int64_t token)
{
    static const char *const op[] = {"Add", "Sub", "Mul", "Div", "Mod", "Min", "Max"};
    const dync__ox_scope *s = w->scope;
    while (s->outer) s = s->outer;
    const dync__sz_expr *e = s->graph->syms ? dync__symtab_find(s->graph->syms, token) : NULL;
    if (!e || e->kind == DYNC__SZ_SYMBOL) return dync__ox_symbol(w, token);
    if (e->kind == DYNC__SZ_SUM) return dync__ox_sum(w, e);
    if (e->kind < 0 || e->kind > DYNC__SZ_MAX)
        return dync__ox_refuse(w, "a symbolic size is made of what ONNX has no operator for");
    dync__ox_name a = dync__ox_size_of(w, e->a), b = dync__ox_size_of(w, e->b);
    return dync__ox_op2(w, op[e->kind], a, b);
}

/* Each is computed once, in the outermost graph. */
DYNC__FN dync__ox_name dync__ox_size_of(dync__ox *w, int64_t size)
{
    if (!dync__is_token(size)) return dync__ox_ints(w, 1, &size);
    for (int i = 0; i < w->sizes.n; i++)
        if (w->sizes.at[i].token == size) return w->sizes.at[i].name;
    dync__onnx_graph *inside = w->graph;
    const dync__node *node = w->node;
    w->graph = w->model->graph;
    w->node = NULL;
    dync__ox_size made = {size, dync__ox_size_make(w, size)};
    w->graph = inside;
    w->node = node;
    if (!dync__avec_push(w->arena, &w->sizes, made)) w->status = DYNC_ERR_MEMORY;
    return made.name;
}

DYNC__FN dync__ox_name dync__ox_shape(dync__ox *w, int n, const int64_t *sizes)
{
    dync__ox_name part[DYNC_MAX_DIMS];
    bool plain = true;
    for (int i = 0; i < n; i++) plain = plain && !dync__is_token(sizes[i]);
    if (plain) return dync__ox_ints(w, n, sizes);
    for (int i = 0; i < n; i++) part[i] = dync__ox_size_of(w, sizes[i]);
    if (n == 1) return part[0];
    dync__ox_name shape = dync__ox_emit(w, "Concat", n, part);
    dync__ox_set_i(w, "axis", 0);
    return shape;
}

/* ---- numbers --------------------------------------------------------------------------------- */

/* recursion: a number's operands are numbers, as float64 of shape [1] */
static dync__ox_name dync__ox_real(dync__ox *w, int64_t bits)
{
    static const char *const op[] = {"Add", "Sub", "Mul", "Div"};
    const dync__ox_scope *s = w->scope;
    while (s->outer) s = s->outer;
    const dync__sz_expr *e =
        dync__is_sf(bits) && s->graph->syms ? dync__symtab_find(s->graph->syms, bits) : NULL;
    if (!e)
        return dync__ox_reshape(w, dync__ox_scalar(w, DYNC_F64, dync__sf_double(bits)), 1,
                                &(int64_t){1});
    if (e->kind == DYNC__SF_OF)
        return dync__ox_cast(w, dync__ox_size_of(w, e->a), DYNC_I64, DYNC_F64);
    dync__ox_name a = dync__ox_real(w, e->a);
    if (e->kind == DYNC__SF_SQRT) return dync__ox_op1(w, "Sqrt", a);
    return dync__ox_op2(w, op[e->kind - DYNC__SF_ADD], a, dync__ox_real(w, e->b));
}

DYNC__FN dync__ox_name dync__ox_number(dync__ox *w, const dync__arg *a, int dtype)
{
    if (!dync__arg_is_number(a)) return dync__ox_refuse(w, "a number is symbolic");
    if (a->kind == DYNC__A_INT && dync__is_token(a->as.i))
        return dync__ox_cast(w, dync__ox_reshape(w, dync__ox_size_of(w, a->as.i), 0, NULL),
                             DYNC_I64, dtype);
    if (a->kind == DYNC__A_FLOAT && dync__is_sf(dync__sf_bits(a->as.f)))
        return dync__ox_cast(w,
                             dync__ox_reshape(w, dync__ox_real(w, dync__sf_bits(a->as.f)), 0, NULL),
                             DYNC_F64, dtype);
    if (a->kind == DYNC__A_INT && dtype == DYNC_I64) return dync__ox_int(w, a->as.i);
    return dync__ox_scalar(w, dtype, dync__arg_number(a));
}
#endif
