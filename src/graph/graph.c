/* graph/graph.c: FX-like graphs: nodes, uses, names. After nn/ (the tracers of capture/ and aot/
 * fill graphs), before the passes and printers.
 *
 * A graph owns its arena (nodes, arguments, texts), its map of names and a reference on every
 * attribute tensor. Nodes stand in execution order: placeholders first, the output last. Nothing in
 * the arena is freed before the graph is. Names follow torch.fx's Namespace (torch/fx/graph.py,
 * create_name): illegal characters become _, a taken name gets the next number. Out of memory is
 * sticky: graph->failed, and every later call gives NULL or false. */
#include "../dync.in.h"
#include "graph.h"

DYNC__DATA dync_status (*dync__graph_custom_call)(dync__node *, int nargs, dync__arg *args,
                                                  dync__tensor **out) = NULL;

enum { DYNC__NAME_SEED = 1, DYNC__BASE_SEED = 2 }; /* two kinds of keys share the map of names */

DYNC__FN dync__graph *dync__graph_new(const char *name)
{
    dync__graph *g = dync__calloc(sizeof *g);
    if (!g) return NULL;
    g->refs = 1;
    dync__object_made(&g->object);
    g->name = dync__arena_strdup(&g->arena, name ? name : "GraphModule");
    if (!g->name) {
        dync__graph_unref(g);
        return NULL;
    }
    return g;
}

DYNC__FN dync__graph *dync__graph_ref(dync__graph *g)
{
    if (g) (void)DYNC__ATOMIC_INC(&g->refs);
    return g;
}

DYNC__FN void dync__graph_unref(dync__graph *g)
{
    if (!g || DYNC__ATOMIC_DEC(&g->refs) > 0) return;
    dync__object_end(&g->object);
    for (int i = 0; i < g->seen.n; i++) dync__object_end(&g->seen.at[i]->object);
    for (int i = 0; i < g->attr.n; i++) dync__unref(g->attr.at[i]);
    dync__map_free(&g->names);
    dync__symtab_free(g->syms);
    dync__arena_free(&g->arena);
    dync__free(g, sizeof *g);
}

/* ---- names ----------------------------------------------------------------------------------- */

/* Words that are no names in Python (its keywords and builtins, as torch.fx has it), in C, or in
 * the headers a printed graph meets. */
DYNC__BUSY static bool dync__name_is_reserved(const char *s)
{
    static const char *const words[] = {
        "False",      "None",     "True",     "and",       "as",           "assert",   "async",
        "await",      "break",    "class",    "continue",  "def",          "del",      "elif",
        "else",       "except",   "finally",  "for",       "from",         "global",   "if",
        "import",     "in",       "is",       "lambda",    "nonlocal",     "not",      "or",
        "pass",       "raise",    "return",   "try",       "while",        "with",     "yield",
        "abs",        "all",      "any",      "ascii",     "bin",          "bool",     "breakpoint",
        "bytearray",  "bytes",    "callable", "chr",       "classmethod",  "compile",  "complex",
        "delattr",    "dict",     "dir",      "divmod",    "enumerate",    "eval",     "exec",
        "filter",     "float",    "format",   "frozenset", "getattr",      "globals",  "hasattr",
        "hash",       "help",     "hex",      "id",        "input",        "int",      "isinstance",
        "issubclass", "iter",     "len",      "list",      "locals",       "map",      "max",
        "memoryview", "min",      "next",     "object",    "oct",          "open",     "ord",
        "pow",        "print",    "property", "range",     "repr",         "reversed", "round",
        "set",        "setattr",  "slice",    "sorted",    "staticmethod", "str",      "sum",
        "super",      "tuple",    "type",     "vars",      "zip",          "auto",     "case",
        "char",       "const",    "default",  "do",        "double",       "enum",     "extern",
        "goto",       "inline",   "long",     "register",  "restrict",     "short",    "signed",
        "sizeof",     "static",   "struct",   "switch",    "typedef",      "union",    "unsigned",
        "void",       "volatile", "alignas",  "alignof",   "atomic",       "catch",    "constexpr",
        "decltype",   "delete",   "explicit", "export",    "false",        "friend",   "mutable",
        "namespace",  "new",      "noexcept", "nullptr",   "operator",     "private",  "protected",
        "public",     "template", "this",     "throw",     "true",         "typename", "using",
        "virtual",    "wchar_t",  "xor",      "I",         "NULL",         "NAN",      "INFINITY",
        "errno",      "linux",    "unix",     "stdin",     "stdout",       "stderr",   "main",
        "self",       "torch",    "inf",      "nan",       "device",
    };
    size_t n = strlen(s);
    if (n && s[n - 1] >= '0' && s[n - 1] <= '9') return false; /* none of them has a number */
    for (int i = 0; i < DYNC__COUNT_OF(words); i++)
        if (words[i][0] == s[0] && strcmp(words[i], s) == 0) return true;
    return false;
}

static uint64_t dync__name_key(const char *s, size_t n, uint64_t seed)
{
    return dync__hash_bytes(s, n, seed);
}

/* Letters, digits and single _ in place of runs of anything else; never empty, never a digit first.
 */
static char *dync__name_clean(dync__arena *arena, const char *hint)
{
    dync__str s = {0};
    bool gap = false;
    for (const char *p = hint ? hint : ""; *p; p++) {
        bool ok = (*p >= '0' && *p <= '9') || (*p >= 'a' && *p <= 'z') ||
                  (*p >= 'A' && *p <= 'Z') || *p == '_';
        if (ok) {
            if (s.n == 0 && *p >= '0' && *p <= '9') dync__str_addc(&s, '_');
            dync__str_addc(&s, *p);
        } else if (!gap) {
            dync__str_addc(&s, '_');
        }
        gap = !ok;
    }
    if (s.n == 0) dync__str_add(&s, "_unnamed");
    char *out = s.failed ? NULL : dync__arena_strdup(arena, s.at);
    dync__str_free(&s);
    return out;
}

/* "x_19" is base "x" and 19; where there is no number, -1. */
static int64_t dync__name_split(const char *s, size_t *base_n)
{
    size_t n = strlen(s), i = n;
    int64_t number = 0, scale = 1;
    while (i > 0 && s[i - 1] >= '0' && s[i - 1] <= '9' && n - i < 9) {
        number += scale * (s[i - 1] - '0');
        scale *= 10;
        i--;
    }
    *base_n = n;
    if (i == n || i < 2 || s[i - 1] != '_') return -1;
    *base_n = i - 1;
    return number;
}

/* base_12; every node gets such a name: no format is parsed for it. */
static char *dync__name_numbered(dync__arena *arena, const char *base, size_t base_n,
                                 int64_t number)
{
    char digits[24];
    size_t n = 0;
    do digits[n++] = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    char *name = dync__arena_alloc(arena, base_n + n + 2), *p = name;
    if (!name) return NULL;
    memcpy(p, base, base_n);
    p += base_n;
    *p++ = '_';
    while (n > 0) *p++ = digits[--n];
    return name;
}

DYNC__FN const char *dync__graph_unique(dync__graph *g, const char *hint)
{
    if (!g || g->failed) return NULL;
    char *name = dync__name_clean(&g->arena, hint);
    if (!name) goto failed;
    size_t base_n;
    int64_t given = dync__name_split(name, &base_n), number = given;
    uint64_t base_key = dync__name_key(name, base_n, DYNC__BASE_SEED), last = 0;
    if (given <= 0) number = dync__map_get(&g->names, base_key, &last) ? (int64_t)last : 0;
    const char *base = name;
    while (dync__map_get(&g->names, dync__name_key(name, strlen(name), DYNC__NAME_SEED), NULL) ||
           dync__name_is_reserved(name)) {
        number++;
        name = dync__name_numbered(&g->arena, base, base_n, number);
        if (!name) goto failed;
    }
    if (!dync__map_put(&g->names, dync__name_key(name, strlen(name), DYNC__NAME_SEED), 1) ||
        !dync__map_put(&g->names, base_key, (uint64_t)number))
        goto failed;
    return name;
failed:
    g->failed = true;
    return NULL;
}

DYNC__FN bool dync__graph_rename(dync__graph *g, dync__node *node, const char *name)
{
    if (!g || !node || g->failed) return false;
    if (strcmp(node->name, name) == 0) return true;
    const char *fresh = dync__graph_unique(g, name);
    if (!fresh) return false;
    node->name = fresh;
    return true;
}

DYNC__FN bool dync__graph_symbol(dync__graph *g, int64_t token, const char *text)
{
    char *copy = dync__arena_strdup(&g->arena, text);
    if (!copy) goto failed;
    for (int i = 0; i < g->symbol.n; i++)
        if (g->symbol.at[i].token == token) {
            g->symbol.at[i].text = copy;
            return true;
        }
    if (dync__avec_push(&g->arena, &g->symbol, ((dync__symbol){token, copy}))) return true;
failed:
    g->failed = true;
    return false;
}

DYNC__FN const char *dync__graph_symbol_text(const dync__graph *g, int64_t token)
{
    for (int i = 0; i < g->symbol.n; i++)
        if (g->symbol.at[i].token == token) return g->symbol.at[i].text;
    return NULL;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

DYNC__FN bool dync__arg_copy(dync__arena *arena, const dync__arg *in, dync__arg *out)
{
    *out = *in;
    switch (in->kind) {
    case DYNC__A_DIMS:
        out->as.dims = dync__arena_copy(arena, in->as.dims, (size_t)in->n * sizeof *in->as.dims);
        return out->as.dims != NULL;
    case DYNC__A_STR: out->as.s = dync__arena_strdup(arena, in->as.s); return out->as.s != NULL;
    case DYNC__A_LIST:
        out->as.list = dync__arena_alloc(arena, (size_t)in->n * sizeof *in->as.list);
        if (!out->as.list) return false;
        for (int i = 0; i < in->n; i++)
            if (!dync__arg_copy(arena, &in->as.list[i], &out->as.list[i])) return false;
        return true;
    default: return true;
    }
}

/* A node of no inputs at position `at`; the nodes behind it move up. */
static dync__node *dync__graph_insert(dync__graph *g, int at, dync__node_kind kind,
                                      const char *name_hint)
{
    if (!g || g->failed) return NULL;
    dync__node *node = dync__arena_alloc(&g->arena, sizeof *node);
    const char *name = node ? dync__graph_unique(g, name_hint) : NULL;
    if (!name || !dync__avec_push(&g->arena, &g->node, node)) {
        g->failed = true;
        return NULL;
    }
    node->kind = kind;
    node->op = -1;
    node->name = node->target = name;
    node->nout = 1;
    node->seq_nr = -1;
    node->graph = g;
    for (int i = 0; i < DYNC__MAX_OUT; i++) node->info[i].alias = -1;
    for (int i = g->node.n - 1; i > at; i--) {
        g->node.at[i] = g->node.at[i - 1];
        g->node.at[i]->index = i;
    }
    g->node.at[at] = node;
    node->index = at;
    return node;
}

static bool dync__node_set_text(dync__graph *g, const char **field, const char *text)
{
    if (!text) return true;
    *field = dync__arena_strdup(&g->arena, text);
    if (!*field) g->failed = true;
    return !g->failed;
}

DYNC__FN dync__node *dync__graph_placeholder(dync__graph *g, const char *name, const char *source,
                                             const dync__info *info)
{
    dync__node *node = dync__graph_insert(g, g ? g->n_inputs : 0, DYNC__N_PLACEHOLDER, name);
    if (!node) return NULL;
    g->n_inputs++;
    if (info) {
        node->info[0] = *info;
        node->info[0].alias = -1;
        node->has_info = true;
    }
    return dync__node_set_text(g, &node->source, source) ? node : NULL;
}

DYNC__FN dync__node *dync__graph_attr(dync__graph *g, const char *name, const char *path,
                                      dync__tensor *value)
{
    if (value && g && !g->failed && !dync__avec_reserve(&g->arena, &g->attr, g->attr.n + 1))
        g->failed = true;
    dync__node *node = dync__graph_insert(g, g ? g->node.n : 0, DYNC__N_GET_ATTR, name);
    if (!node || !dync__node_set_text(g, &node->target, path)) return NULL;
    if (value) dync__graph_attr_bind(node, value);
    return node;
}

DYNC__FN bool dync__graph_attr_bind(dync__node *node, dync__tensor *value)
{
    dync__graph *g = node->graph;
    if (!dync__avec_push(&g->arena, &g->attr, value)) {
        g->failed = true;
        return false;
    }
    dync__ref(value);
    node->value = value;
    node->info[0] = (dync__info){
        .dtype = value->dtype, .device = value->device, .lay = value->lay, .alias = -1};
    node->requires_grad[0] = (value->flags & DYNC__T_REQUIRES_GRAD) != 0;
    node->has_info = true;
    return true;
}

static const char dync__constant_prefix[] = "_tensor_constant";

DYNC__FN dync__node *dync__graph_constant(dync__graph *g, dync__tensor *value)
{
    char path[48];
    int n = 0;
    if (!g) return NULL;
    for (int i = 0; i < g->node.n; i++) n += dync__node_is_constant(g->node.at[i]);
    dync__format(path, sizeof path, "%s%d", dync__constant_prefix, n);
    return dync__graph_attr(g, path, path, value);
}

DYNC__FN bool dync__node_is_constant(const dync__node *node)
{
    return node->kind == DYNC__N_GET_ATTR &&
           strncmp(node->target, dync__constant_prefix, sizeof dync__constant_prefix - 1) == 0 &&
           !node->requires_grad[0];
}

static bool dync__node_set_args(dync__node *node, int nargs, const dync__arg *args)
{
    dync__graph *g = node->graph;
    node->nargs = nargs;
    node->args = dync__arena_alloc(&g->arena, (size_t)nargs * sizeof *args);
    g->failed = g->failed || !node->args;
    for (int i = 0; i < nargs && !g->failed; i++)
        g->failed = !dync__arg_copy(&g->arena, &args[i], &node->args[i]);
    return !g->failed;
}

/* "library::name" of a registered operator; of a function of the user's, whatever expression named
 * it, a name. */
static const char *dync__op_target(dync__arena *arena, const char *name)
{
    const char *colons = name ? strstr(name, "::") : NULL;
    bool fits = colons && dync__is_name(name, (size_t)(colons - name)) &&
                dync__is_name(colons + 2, strlen(colons + 2));
    return fits ? dync__arena_strdup(arena, name) : dync__name_clean(arena, name);
}

DYNC__FN dync__node *dync__graph_call(dync__graph *g, int op, int nargs, const dync__arg *args,
                                      int nout, const dync__info *info, const char *name_hint)
{
    const dync__op_row *row = op >= 0 ? dync__op_info(op) : NULL;
    bool is_method = row && row->fx && row->fx[0] == '.';
    const char *op_name = row ? row->name : name_hint;
    const char *colons = !name_hint && row ? strstr(row->name, "::") : NULL; /* mylib::foo: foo */
    dync__node *node = dync__graph_insert(g, g ? g->node.n : 0,
                                          is_method ? DYNC__N_CALL_METHOD : DYNC__N_CALL_FUNCTION,
                                          name_hint ? name_hint
                                          : colons  ? colons + 2
                                                    : op_name);
    if (!node || !dync__node_set_args(node, nargs, args)) return NULL;
    node->op = op;
    node->nout = nout;
    node->target = row ? row->name : dync__op_target(&g->arena, op_name);
    node->at = dync__tls.at;
    if (info && nout <= DYNC__MAX_OUT) {
        for (int i = 0; i < nout; i++) node->info[i] = info[i];
        node->has_info = nout > 0;
    }
    if (!node->target) g->failed = true;
    return g->failed ? NULL : node;
}

DYNC__FN dync__node *dync__graph_getitem(dync__graph *g, dync__node *list, int i)
{
    dync__arg args[2] = {{0}, dync__arg_i(i)};
    if (!list) return NULL;
    args[0] = dync__arg_node(list);
    bool known = list->kind != DYNC__N_PLACEHOLDER && list->has_info && i >= 0 && i < list->nout;
    dync__node *node = dync__graph_call(g, DYNC__NODE_GETITEM, 2, args, 1,
                                        known ? &list->info[i] : NULL, "getitem");
    if (node && known) {
        node->info[0].alias = -1;
        node->requires_grad[0] = list->requires_grad[i];
    }
    if (node) node->at = list->at;
    return node;
}

DYNC__FN dync__node *dync__graph_output(dync__graph *g, const dync__arg *value)
{
    dync__node *node = dync__graph_insert(g, g ? g->node.n : 0, DYNC__N_OUTPUT, "output");
    if (!node || !dync__node_set_args(node, 1, value)) return NULL;
    node->nout = 0;
    dync__graph_renumber(g);
    return node;
}

/* ---- uses ------------------------------------------------------------------------------------ */

static void dync__arg_each_node(dync__arg *arg, void (*fn)(void *user, dync__arg *), void *user)
{
    if (arg->kind == DYNC__A_NODE) fn(user, arg);
    if (arg->kind == DYNC__A_LIST)
        for (int i = 0; i < arg->n; i++) dync__arg_each_node(&arg->as.list[i], fn, user);
}

DYNC__FN void dync__node_each_input(dync__node *node, void (*fn)(void *user, dync__arg *),
                                    void *user)
{
    for (int i = 0; i < node->nargs; i++) dync__arg_each_node(&node->args[i], fn, user);
}

static void dync__count_use(void *user, dync__arg *arg)
{
    (void)user;
    arg->as.node->n_users++;
}

DYNC__FN void dync__graph_renumber(dync__graph *g)
{
    for (int i = 0; i < g->node.n; i++) {
        g->node.at[i]->index = i;
        g->node.at[i]->n_users = 0;
    }
    for (int i = 0; i < g->node.n; i++) dync__node_each_input(g->node.at[i], dync__count_use, NULL);
}

static bool dync__row_writes(const dync__op_row *row)
{
    return row->cls == DYNC__INPLACE || row->cls == DYNC__EFFECT ||
           (row->flags & DYNC__OP_WRITES) != 0;
}

DYNC__FN bool dync__node_is_pure(const dync__node *node)
{
    if (node->kind == DYNC__N_GET_ATTR || node->op == DYNC__NODE_GETITEM) return true;
    if (node->kind == DYNC__N_PLACEHOLDER || node->kind == DYNC__N_OUTPUT || node->op < 0)
        return false;
    const dync__op_row *row = dync__op_info(node->op);
    return !dync__row_writes(row) && !(row->flags & DYNC__OP_RANDOM);
}

DYNC__FN bool dync__graph_has_writes(const dync__graph *g)
{
    for (int i = 0; i < g->node.n; i++) {
        const dync__node *node = g->node.at[i];
        if (dync__node_is_call(node) && node->op != DYNC__NODE_GETITEM &&
            (node->op < 0 || dync__row_writes(dync__op_info(node->op))))
            return true;
    }
    return false;
}

static void dync__mark_reaches(void *user, dync__arg *a)
{
    bool *reaches = user;
    if (a->as.node->mark) *reaches = true;
}

/* Does the operator give memory of its own? What may hand an argument on does not count. */
static bool dync__op_makes_fresh(int op)
{
    const dync__op_row *row = op >= 0 ? dync__op_info(op) : NULL;
    return row && !(row->flags & DYNC__OP_MAY_ALIAS) &&
           (row->cls == DYNC__POINTWISE || row->cls == DYNC__REDUCE || row->cls == DYNC__FACTORY);
}

/* A mark follows every value that may lie on an input. */
DYNC__FN bool dync__graph_writes_inputs(dync__graph *g)
{
    for (int i = 0; i < g->node.n; i++) {
        dync__node *node = g->node.at[i];
        const dync__op_row *row = node->op >= 0 ? dync__op_info(node->op) : NULL;
        bool reaches = false;
        dync__node_each_input(node, dync__mark_reaches, &reaches);
        bool first = node->nargs > 0 && node->args[0].kind == DYNC__A_NODE &&
                     node->args[0].as.node->mark;
        /* lies on its second argument from now on */
        if (row && row->flags & DYNC__OP_RETARGETS) first = reaches;
        if (row && row->cls == DYNC__INPLACE ? first
            : row                            ? reaches && (row->flags & DYNC__OP_WRITES)
                  : reaches && dync__node_is_call(node) && node->op != DYNC__NODE_GETITEM)
            return true;
        if (row && row->cls == DYNC__INPLACE) reaches = first;
        node->mark = node->kind == DYNC__N_PLACEHOLDER ||
                             (reaches && !dync__op_makes_fresh(node->op))
                         ? node
                         : NULL;
    }
    return false;
}

DYNC__FN int dync__graph_op_count(const dync__graph *g)
{
    int n = 0;
    for (int i = 0; g && i < g->node.n; i++) {
        const dync__node *node = g->node.at[i];
        n += dync__node_is_call(node) && node->op != DYNC__NODE_GETITEM;
    }
    return n;
}

/* ---- what users see -------------------------------------------------------------------------- */

DYNC_API dync_graph *dync_graph_retain(dync_graph *handle)
{
    dync__graph *g = handle ? dync__graph_open(handle, "dync_graph_retain") : NULL;
    if (!g) return NULL;
    (void)DYNC__ATOMIC_INC(&g->retains);
    return dync__graph_handle(dync__graph_ref(g));
}

/* A reference of the user's: those of scopes and of compiled functions are not his to give up. */
DYNC_API void dync_graph_free(dync_graph *handle)
{
    dync__graph *g = handle ? dync__graph_open(handle, "dync_graph_free") : NULL;
    if (!g) return;
    int32_t n = DYNC__ATOMIC_PEEK(&g->retains);
    while (n > 0 && !DYNC__ATOMIC_CAS(&g->retains, &n, n - 1)) {}
    if (n > 0)
        dync__graph_unref(g);
    else
        dync__fail(DYNC_ERR_VALUE, "dync_graph_free: the graph is borrowed or was freed already");
}

DYNC__FN dync_graph *dync__graph_give(dync__graph *owned)
{
    dync_graph *handle = dync__graph_handle(owned);
    if (handle)
        (void)DYNC__ATOMIC_INC(&owned->retains);
    else
        dync__graph_unref(owned);
    return handle;
}

DYNC__FN dync_status dync__graph_ask(const dync_backend *b, dync__graph *g,
                                     const dync_value *examples, int n, const char *options,
                                     dync_callable *out)
{
    dync_graph *handle = dync__graph_handle(g);
    return handle ? b->compile(handle, examples, n, options, out, b->user) : DYNC_ERR_MEMORY;
}

/* Its graph ends it, and so keeps those that somebody asked for. */
DYNC__FN dync_node *dync__node_show(const dync__node *n)
{
    static dync__mutex lock;
    dync__node *node = (dync__node *)(uintptr_t)n;
    dync__lock(&lock);
    bool known = node->object.handle ||
                 dync__avec_push(&node->graph->arena, &node->graph->seen, node);
    dync_node *handle = known ? dync__node_handle(node) : NULL;
    dync__unlock(&lock);
    return handle;
}

DYNC_API int dync_graph_len(const dync_graph *handle)
{
    const dync__graph *g = dync__graph_open(handle, "dync_graph_len");
    return g ? g->node.n : 0;
}

DYNC_API dync_node *dync_graph_node(const dync_graph *handle, int i)
{
    const dync__graph *g = dync__graph_open(handle, "dync_graph_node");
    if (!g) return NULL;
    if (i >= 0 && i < g->node.n) return dync__node_show(g->node.at[i]);
    dync__fail(DYNC_ERR_INDEX, "dync_graph_node: expected 0 <= index < %d, got %d", g->node.n, i);
    return NULL;
}

DYNC_API const char *dync_node_op(const dync_node *handle)
{
    const dync__node *node = dync__node_open(handle, "dync_node_op");
    static const char *const names[] = {"placeholder", "get_attr",    "call_function",
                                        "call_method", "call_module", "output"};
    return node ? names[node->kind] : "";
}

DYNC_API const char *dync_node_target(const dync_node *handle)
{
    const dync__node *node = dync__node_open(handle, "dync_node_target");
    return node ? node->target : "";
}
DYNC_API const char *dync_node_name(const dync_node *handle)
{
    const dync__node *node = dync__node_open(handle, "dync_node_name");
    return node ? node->name : "";
}

typedef struct dync__collect {
    dync_node **out;
    int n, capacity;
} dync__collect;
static void dync__collect_input(void *user, dync__arg *arg)
{
    dync__collect *c = user;
    if (c->n < c->capacity) c->out[c->n] = dync__node_show(arg->as.node);
    c->n++;
}

DYNC_API int dync_node_inputs(const dync_node *handle, dync_node **out, int capacity)
{
    dync__collect c = {out, 0, out ? capacity : 0};
    const dync__node *node = dync__node_open(handle, "dync_node_inputs");
    if (!node) return 0;
    for (int i = 0; i < node->nargs; i++)
        dync__arg_each_node(&node->args[i], dync__collect_input, &c);
    return c.n;
}
