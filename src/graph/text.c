/* graph/text.c: what the printers (print_c.c, print_fx.c) and the parser (parse.c) of graphs share:
 * schemas, C patterns, types. */
#include "../dync.in.h"
#include "graph.h"
#include "text.h"
DYNC__LEAN

/* Logs and explanations go on without the text. */
DYNC__FN bool dync__graph_prints(dync__str *s)
{
    if (DYNC__LEFT_OUT(DYNC_NO_PRINT_GRAPH)) dync__str_add(s, "/* DYNC_NO_PRINT_GRAPH */\n");
    return !DYNC__LEFT_OUT(DYNC_NO_PRINT_GRAPH);
}

/* ---- schemas: "(Tensor self, Value other)" --------------------------------------------------- */

#define DYNC__X(text, type) {text, (int)sizeof text - 1, type}
static const struct {
    char text[12];
    int n;
    dync__param_type type;
    /* clang-format off */
} dync__param_types[] = {
    DYNC__X("Value", DYNC__PARAM_VALUE),      DYNC__X("Value?", DYNC__PARAM_VALUE_OPT),
    DYNC__X("Tensor", DYNC__PARAM_TENSOR),    DYNC__X("Tensor?", DYNC__PARAM_TENSOR_OPT),
    DYNC__X("Tensor[]", DYNC__PARAM_TENSORS), DYNC__X("int", DYNC__PARAM_INT),
    DYNC__X("int64", DYNC__PARAM_INT),        DYNC__X("float", DYNC__PARAM_FLOAT),
    DYNC__X("bool", DYNC__PARAM_BOOL),        DYNC__X("Dims", DYNC__PARAM_DIMS),
    DYNC__X("Dtype", DYNC__PARAM_DTYPE),      DYNC__X("Device", DYNC__PARAM_DEVICE),
    DYNC__X("str", DYNC__PARAM_STR),          DYNC__X("Ptr", DYNC__PARAM_PTR),
    DYNC__X("Graph", DYNC__PARAM_GRAPH),
    DYNC__X("Scalar", DYNC__PARAM_VALUE),     DYNC__X("Scalar?", DYNC__PARAM_VALUE_OPT), /* PyTorch's words */
    DYNC__X("SymInt", DYNC__PARAM_INT),       DYNC__X("int[]", DYNC__PARAM_DIMS),
    DYNC__X("SymInt[]", DYNC__PARAM_DIMS),    DYNC__X("ScalarType", DYNC__PARAM_DTYPE),
};
/* clang-format on */
#undef DYNC__X

/* *word, *n: up to a blank, comma or parenthesis that is not inside the word; returns what
 * follows. */
static const char *dync__schema_word(const char *p, const char **word, int *n)
{
    while (*p == ' ') p++;
    *word = p;
    for (int depth = 0; *p && ((*p != ' ' && *p != ',' && *p != ')') || depth); p++)
        depth += (*p == '(') - (*p == ')'); /* Tensor(a!) */
    *n = (int)(p - *word);
    return p;
}

/* Types with aliasing, "Tensor(a!)", count as the plain ones; a word that is not known is PTR. */
DYNC__FN bool dync__schema_next(const char *schema, const char **at, dync__param *out)
{
    const char *p = *at ? *at : schema, *word;
    int n;
    if (*p == '(' || *p == ',') p++;
    p = dync__schema_word(p, &word, &n);
    if (n == 0) return false;
    out->type = DYNC__PARAM_PTR;
    const char *alias = memchr(word, '(', (size_t)n);
    if (alias) n = (int)(alias - word);
    for (int i = 0; i < DYNC__COUNT_OF(dync__param_types); i++)
        if (dync__param_types[i].n == n && memcmp(dync__param_types[i].text, word, (size_t)n) == 0)
            out->type = dync__param_types[i].type;
    *at = dync__schema_word(p, &out->name, &out->name_n);
    return true;
}

DYNC__FN bool dync__schema_param(const char *schema, int i, dync__param *out)
{
    const char *at = NULL;
    while (dync__schema_next(schema, &at, out))
        if (i-- == 0) return true;
    return false;
}

/* ---- the C form of an operator --------------------------------------------------------------- */

/* Private rows whose public function has another shape. The other private rows are called by name.
 */
static const struct {
    int op;
    const char *pattern;
} dync__c_patterns[] = {
    {DYNC__OP_empty, "dync_empty({0}, .dtype = {1}, .device = {2})"},
    {DYNC__OP_zeros, "dync_zeros({0}, .dtype = {1}, .device = {2})"},
    {DYNC__OP_ones, "dync_ones({0}, .dtype = {1}, .device = {2})"},
    {DYNC__OP_rand, "dync_rand({0}, .dtype = {1}, .device = {2})"},
    {DYNC__OP_randn, "dync_randn({0}, .dtype = {1}, .device = {2})"},
    {DYNC__OP_full, "dync_full({0}, {1}, .dtype = {2}, .device = {3})"},
    {DYNC__OP_detach, "dync_detach({0})"},
    {DYNC__OP_set_, "dync_set_({0}, {1})"},
    {DYNC__OP_to_dtype, "dync_to_dtype({0}, {1})"},
    {DYNC__OP_to_device, "dync_to_device({0}, {1})"},
    {DYNC__OP__set_grad_enabled, "dync_set_grad_enabled({0})"},
    {DYNC__OP_manual_seed, "dync_manual_seed({0})"},
    {DYNC__OP__local_scalar_dense, "dync_item_sym({0})"},
    {DYNC__OP__check_range, "dync_check({0:v}, {1}, {2})"},
    {DYNC__OP_cond, "dync_cond({0}, {1}, {2}, {3})"},
    {DYNC__OP_scan, "dync_scan_op({0}, {1}, {2}, {3}, {4}, {5})"},
    {DYNC__OP_while_loop, "dync_while_loop_op({0}, {1}, {2}, {3}, {4})"},
};

/* Appends the pattern: see text.h. */
DYNC__FN void dync__graph_c_pattern(dync__str *s, int op)
{
    const dync__op_row *row = dync__op_info(op);
    dync__param param;
    int n = 0;
    for (int i = 0; i < DYNC__COUNT_OF(dync__c_patterns); i++)
        if (dync__c_patterns[i].op == op) {
            dync__str_add(s, dync__c_patterns[i].pattern);
            return;
        }
    while (dync__schema_param(row->schema, n, &param)) n++;
    bool by_name = (row->flags & DYNC__OP_PRIVATE) != 0;
    if (by_name) {
        if (row->nout == 1) dync__str_add(s, "dync_as_tensor(");
        dync__str_addf(s, "dync_op_call_values(\"%s\", %d, (dync_value[]){", row->name, n);
    } else {
        dync__str_addf(s, "dync_%s(", row->name);
    }
    for (int i = 0; i < n; i++)
        dync__str_addf(s, by_name ? "%s{%d:v}" : "%s{%d}", i ? ", " : "", i);
    dync__str_add(s, by_name ? row->nout == 1 ? "}))" : "})" : ")");
}

/* ---- types ----------------------------------------------------------------------------------- */

DYNC__FN void dync__text_size(dync__str *s, const dync__graph *g, int64_t size)
{
    const char *symbol = dync__graph_symbol_text(g, size);
    if (symbol)
        dync__str_add(s, symbol);
    else
        dync__str_addf(s, "%lld", (long long)size);
}

DYNC__FN void dync__text_shape(dync__str *s, const dync__graph *g, int ndim, const int64_t *sizes)
{
    dync__str_addc(s, '[');
    for (int d = 0; d < ndim; d++) {
        if (d) dync__str_add(s, ", ");
        dync__text_size(s, g, sizes[d]);
    }
    dync__str_addc(s, ']');
}

DYNC__FN void dync__text_info(dync__str *s, const dync__graph *g, const dync__info *info,
                              bool requires_grad)
{
    char device[DYNC__DEVICE_TEXT];
    dync__str_add(s, dync__dtype_info(info->dtype)->fx);
    dync__text_shape(s, g, info->lay.ndim, info->lay.shape);
    if (!dync__layout_is_contiguous(&info->lay)) {
        dync__str_addc(s, '{');
        for (int d = 0; d < info->lay.ndim; d++) {
            if (d) dync__str_add(s, ", ");
            dync__text_size(s, g, info->lay.stride[d]);
        }
        dync__str_addc(s, '}');
    }
    if (info->lay.offset) dync__str_addf(s, " +%lld", (long long)info->lay.offset);
    if (!dync__device_is(info->device, DYNC__DEV_HOST))
        dync__str_addf(s, " %s", dync__device_text(info->device, device));
    if (info->alias >= 0) dync__str_addf(s, " @%d", info->alias);
    if (requires_grad) dync__str_add(s, " grad");
}

DYNC__FN void dync__text_function(dync__str *s, const dync__node *node, int i)
{
    static const struct {
        int op, arg;
        const char *name;
    } names[] = {{DYNC__OP_cond, 1, "true_graph"},
                 {DYNC__OP_cond, 2, "false_graph"},
                 {DYNC__OP_scan, 0, "scan_combine_graph"},
                 {DYNC__OP_while_loop, 0, "while_loop_cond_graph"},
                 {DYNC__OP_while_loop, 1, "while_loop_body_graph"}};
    int before = 0;
    for (int k = 0; k < node->graph->node.n && node->graph->node.at[k] != node; k++)
        before += node->graph->node.at[k]->op == node->op;
    for (int k = 0; k < DYNC__COUNT_OF(names); k++)
        if (names[k].op == node->op && names[k].arg == i)
            dync__str_addf(s, "%s_%d", names[k].name, before);
}
