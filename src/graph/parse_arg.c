/* graph/parse_arg.c: tokens, arguments and types of the C form of a graph. After text.c, before
 * parse.c. */
#include "../dync.in.h"
#include "control.h"
#include "parse.h"
#include "text.h"
DYNC__COLD

/* Always false, so that callers return it. Only the first failure is recorded, with line and rest
 * of the text. */
DYNC__FN bool dync__parse_fail(dync__parser *q, const char *expected)
{
    int line = 1, n = 0;
    if (q->status != DYNC_OK) return false;
    for (const char *c = q->text; c < q->p; c++) line += *c == '\n';
    while (n < 30 && q->p[n] && q->p[n] != '\n') n++;
    q->status = dync__fail(DYNC_ERR_FORMAT, "graph text, line %d: expected %s, got \"%.*s\"", line,
                           expected, n, q->p);
    return false;
}

DYNC__FN bool dync__parse_no_memory(dync__parser *q)
{
    if (q->status == DYNC_OK) q->status = DYNC_ERR_MEMORY;
    return false;
}

/* ---- tokens ---------------------------------------------------------------------------------- */

DYNC__FN void dync__parse_space(dync__parser *q)
{
    while (*q->p == ' ' || *q->p == '\n' || *q->p == '\t' || *q->p == '\r') q->p++;
}

/* Takes `word` if it stands here. Spaces in it match any space; a word that ends in a letter must
 * end there in the text too. */
DYNC__FN bool dync__parse_take(dync__parser *q, const char *word)
{
    const char *start = q->p;
    char last = 0;
    dync__parse_space(q);
    for (; *word; last = *word++) {
        if (*word == ' ') {
            dync__parse_space(q);
        } else if (*q->p == *word) {
            q->p++;
        } else {
            q->p = start;
            return false;
        }
    }
    if (dync__is_word(last) && dync__is_word(*q->p)) {
        q->p = start;
        return false;
    }
    return true;
}

/* As take, but it must stand here. */
DYNC__FN bool dync__parse_need(dync__parser *q, const char *word)
{
    return dync__parse_take(q, word) || dync__parse_fail(q, word);
}

/* An identifier into the arena; NULL where none stands here. */
DYNC__FN char *dync__parse_name(dync__parser *q)
{
    dync__parse_space(q);
    const char *start = q->p;
    while (dync__is_letter(*q->p) || (q->p > start && dync__is_digit(*q->p))) q->p++;
    if (q->p == start) return NULL;
    char *name = dync__arena_printf(&q->g->arena, "%.*s", (int)(q->p - start), start);
    if (!name) dync__parse_no_memory(q);
    return name;
}

/* False without an error where no integer stands here. */
DYNC__FN bool dync__parse_int(dync__parser *q, int64_t *out)
{
    dync__parse_space(q);
    const char *start = q->p;
    bool minus = *q->p == '-';
    int64_t v = 0;
    if (minus) q->p++;
    if (*q->p < '0' || *q->p > '9') {
        q->p = start;
        return false;
    }
    for (; *q->p >= '0' && *q->p <= '9'; q->p++) {
        int64_t digit = *q->p - '0';
        if (!dync__mul_ok(v, 10, &v) || !dync__add_ok(v, digit, &v))
            return dync__parse_fail(q, "an integer of 64 bits");
    }
    *out = minus ? -v : v;
    return true;
}

/* A name that a node before has; NULL, and nothing is consumed, where there is none. */
static dync__node *dync__parse_node(dync__parser *q)
{
    const char *start = q->p;
    char *name = dync__parse_name(q);
    uint64_t found;
    if (!name) return NULL;
    if (dync__map_get(&q->nodes, dync__hash_bytes(name, strlen(name), 0), &found)) {
        dync__node *node = (dync__node *)(uintptr_t)found;
        if (strcmp(node->name, name) == 0) return node;
    }
    q->p = start;
    return NULL;
}

/* The node must have got the very name: one that is taken or reserved would not print as it was
 * read. Counts against the limit of nodes. */
DYNC__FN bool dync__parse_add_node(dync__parser *q, dync__node *node, const char *name)
{
    if (!node) return dync__parse_no_memory(q);
    if (strcmp(node->name, name) != 0)
        return dync__parse_fail(q, "a name that is free and no reserved word");
    if (--q->most < 0)
        return dync__parse_fail(q, "fewer nodes, or a higher limit "
                                   "(dync_set_limits)");
    return dync__map_put(&q->nodes, dync__hash_bytes(name, strlen(name), 0),
                         (uint64_t)(uintptr_t)node) ||
           dync__parse_no_memory(q);
}

/* ---- arguments ------------------------------------------------------------------------------- */

/* Items up to the closing text; in the arena. */
DYNC__FN bool dync__parse_items(dync__parser *q, const char *close, int depth, dync__arg *out)
{
    DYNC__VEC(dync__arg) items = {0};
    if (depth > DYNC__PARSE_DEPTH) return dync__parse_fail(q, "a list that is less deep");
    while (!dync__parse_take(q, close)) {
        dync__arg item;
        if (items.n && !dync__parse_need(q, ",")) return false;
        if (!dync__parse_arg(q, depth + 1, &item)) return false;
        if (!dync__avec_push(&q->g->arena, &items, item)) return dync__parse_no_memory(q);
    }
    *out = (dync__arg){.kind = DYNC__A_LIST, .n = items.n};
    out->as.list = items.at;
    return true;
}

/* A list of integers as dimensions; false where it is none. */
static bool dync__parse_as_dims(dync__parser *q, dync__arg *a)
{
    if (a->kind == DYNC__A_DIMS) return true;
    if (a->kind != DYNC__A_LIST || a->n > DYNC_MAX_DIMS)
        return dync__parse_fail(q, "a shape before this");
    int64_t *dims = dync__arena_alloc(&q->g->arena, DYNC_MAX_DIMS * sizeof *dims);
    if (!dims) return dync__parse_no_memory(q);
    for (int i = 0; i < a->n; i++) {
        if (a->as.list[i].kind != DYNC__A_INT)
            return dync__parse_fail(q, "a shape of integers before this");
        dims[i] = a->as.list[i].as.i;
        if (dync__is_token(dims[i])) return dync__parse_fail(q, "sizes before this");
    }
    *a = dync__arg_dims(a->n, dims);
    return true;
}

/* An integer where neither point nor exponent stands, else a double. */
static bool dync__parse_number(dync__parser *q, dync__arg *out)
{
    dync__parse_space(q);
    const char *start = q->p, *end = start;
    bool minus = dync__parse_take(q, "-"), is_float = false;
    if (dync__parse_take(q, "INFINITY")) {
        *out = dync__arg_f(minus ? -(double)INFINITY : (double)INFINITY);
        return true;
    }
    if (!minus && dync__parse_take(q, "NAN")) {
        *out = dync__arg_f((double)NAN);
        return true;
    }
    for (q->p = end = start; (*end >= '0' && *end <= '9') || strchr("+-.eE", *end ? *end : '?');
         end++)
        is_float = is_float || *end == '.' || *end == 'e' || *end == 'E';
    if (!is_float) {
        *out = dync__arg_i(0);
        return dync__parse_int(q, &out->as.i);
    }
    *out = dync__arg_f(0);
    if (!dync__text_double(q->p, &end, &out->as.f)) return false;
    q->p = end;
    return true;
}

/* q->p is at the opening quote. Escapes are those that dync__str_quote_c writes: three octal
 * digits, and quote, backslash and question mark. */
DYNC__FN bool dync__parse_string(dync__parser *q, dync__arg *out)
{
    dync__str s = {0};
    for (q->p++; *q->p && *q->p != '"' && *q->p != '\n'; q->p++) {
        if (*q->p != '\\') {
            dync__str_addc(&s, *q->p);
        } else if (q->p[1] >= '0' && q->p[1] <= '3' && q->p[2] >= '0' && q->p[2] <= '7' &&
                   q->p[3] >= '0' && q->p[3] <= '7') {
            dync__str_addc(&s,
                           (char)((q->p[1] - '0') << 6 | (q->p[2] - '0') << 3 | (q->p[3] - '0')));
            q->p += 3;
        } else if (q->p[1] == '"' || q->p[1] == '\\' || q->p[1] == '?') {
            dync__str_addc(&s, *++q->p);
        } else {
            break;
        }
    }
    *out = dync__arg_s(dync__arena_strdup(&q->g->arena, dync__str_get(&s)));
    bool failed = s.failed || out->kind == DYNC__A_NONE;
    dync__str_free(&s);
    if (*q->p != '"') return dync__parse_fail(q, "a closing quote");
    q->p++;
    return !failed || dync__parse_no_memory(q);
}

/* A device, in C or by its name, as the table of devices spells it (tensor/device.h). False: none
 * stands here, or the text has failed. */
DYNC__FN bool dync__parse_device(dync__parser *q, bool code, int *device)
{
    for (int kind = 0; kind < DYNC__DEVICE_KINDS; kind++) {
        const dync__device *row = dync__device_row(kind);
        bool numbered = (row->is & DYNC__DEV_NUMBERED) != 0;
        const char *name = code ? row->code : row->name, *number = strchr(name, '%');
        char word[DYNC__DEVICE_TEXT];
        int64_t i = 0;
        dync__format(word, sizeof word, "%.*s%s",
                     (int)(number ? number - name : (ptrdiff_t)strlen(name)), name,
                     numbered && !code ? ":" : "");
        if (!dync__parse_take(q, word)) continue;
        if (numbered && (!dync__parse_int(q, &i) || i < 0 || i > 127))
            return dync__parse_fail(q, "a device number");
        *device = kind | (int)i << 8;
        return !number || dync__parse_need(q, number + 2);
    }
    return false;
}

/* Words that are arguments, with what they are. */
static const struct {
    const char *text;
    uint8_t kind;
    int value;
} dync__parse_words[] = {
    {"NULL", DYNC__A_NONE, 0},        {"DYNC_NONE", DYNC__A_NONE, 0},
    {"true", DYNC__A_BOOL, 1},        {"false", DYNC__A_BOOL, 0},
    {"DYNC_TRUE", DYNC__A_BOOL, 1},   {"DYNC_FALSE", DYNC__A_BOOL, 0},
    {"DYNC_SCALAR", DYNC__A_DIMS, 0}, {"DYNC_ALL", DYNC__A_DIMS, 0},
};

/* depth: of lists and wrappers around it, which is limited, as the text may be a stranger's. */
DYNC__FN bool dync__parse_arg(dync__parser *q, int depth, dync__arg *out)
{
    int64_t i;
    int device;
    *out = dync__arg_none();
    if (depth > DYNC__PARSE_DEPTH) return dync__parse_fail(q, "an expression that is less deep");
    for (int k = 0; k < DYNC__COUNT_OF(dync__parse_words); k++)
        if (dync__parse_take(q, dync__parse_words[k].text)) {
            out->kind = dync__parse_words[k].kind;
            out->as.i = dync__parse_words[k].value;
            if (out->kind == DYNC__A_DIMS) out->as.dims = NULL;
            return true;
        }
    for (int dtype = 0; dync__dtype_valid(dtype); dtype++)
        if (dync__parse_take(q, dync__dtype_c_name(dtype)))
            return *out = dync__arg_dtype(dtype), true;
    if (dync__parse_take(q, "DYNC_V("))
        return dync__parse_arg(q, depth + 1, out) && dync__parse_need(q, ")");
    if (dync__parse_take(q, "DYNC_END")) return *out = dync__arg_i(INT64_MAX), true;
    if (dync__parse_take(q, "(-DYNC_END - 1)")) return *out = dync__arg_i(INT64_MIN), true;
    if (dync__parse_device(q, true, &device)) return *out = dync__arg_device(device), true;
    if (q->status != DYNC_OK) return false;
    if (dync__parse_take(q, "dync_shape("))
        return dync__parse_items(q, ")", depth, out) && dync__parse_as_dims(q, out);
    if (dync__parse_take(q, "dync_tuple_of(0, NULL)")) return out->kind = DYNC__A_LIST, true;
    if (dync__parse_take(q, "dync_tuple(")) return dync__parse_items(q, ")", depth, out);
    if (dync__parse_take(q, "dync_tuple_of(")) {
        if (!dync__parse_int(q, &i) || !dync__parse_need(q, ", (dync_value[]){") ||
            !dync__parse_items(q, "}", depth, out))
            return dync__parse_fail(q, "a list");
        return (out->n == i || dync__parse_fail(q, "as many items as the list has")) &&
               dync__parse_need(q, ")");
    }
    if (dync__parse_take(q, "dync_dim(")) {
        dync__node *node = dync__parse_node(q);
        if (!node || !node->has_info || !dync__parse_need(q, ",") || !dync__parse_int(q, &i) ||
            i < 0 || i >= node->info[0].lay.ndim)
            return dync__parse_fail(q, "a dimension of a value");
        *out = dync__arg_i(node->info[0].lay.shape[i]);
        return dync__parse_need(q, ")");
    }
    dync__parse_space(q);
    if (*q->p == '"') return dync__parse_string(q, out);
    dync__node *node = dync__parse_node(q);
    if (node) return *out = dync__arg_node(node), true;
    return (q->status == DYNC_OK && dync__parse_number(q, out)) ||
           dync__parse_fail(q, "an argument");
}

/* The name of a function that stands in front and that nobody uses yet. */
static bool dync__parse_inside(dync__parser *q, dync__arg *out)
{
    const char *start = q->p;
    char *name = dync__parse_name(q);
    for (int i = 0; name && i < q->inside.n; i++) {
        dync__parsed_function *f = &q->inside.at[i];
        if (f->used || strcmp(f->graph->name, name) != 0) continue;
        f->used = true;
        *out = dync__arg_graph(f->graph);
        q->depth = DYNC__MAX(q->depth, f->depth + 1);
        return q->depth <= DYNC__PARSE_NESTED ||
               dync__parse_fail(q, "functions less deep inside each other before this");
    }
    q->p = start;
    return dync__parse_fail(q, "a function that stands in front, for the first time");
}

/* Reads the arguments of an operator by its pattern. */
DYNC__FN bool dync__parse_pattern(dync__parser *q, const char *pattern, const dync__op_row *row,
                                  dync__arg *args, int *nargs)
{
    dync__param param;
    char literal[2] = {0};
    *nargs = 0;
    for (const char *c = pattern; *c; c++) {
        if (*c == ' ') continue;
        if (*c != '{' || c[1] < '0' || c[1] > '9') {
            literal[0] = *c;
            dync__parse_space(q);
            if (*q->p++ != *c) return q->p--, dync__parse_fail(q, literal);
            continue;
        }
        int i = 0;
        for (c++; *c >= '0' && *c <= '9'; c++) i = 10 * i + (*c - '0');
        while (*c != '}') c++;
        if (i >= DYNC__MAX_ARGS || !dync__schema_param(row->schema, i, &param) ||
            !(param.type == DYNC__PARAM_GRAPH ? dync__parse_inside(q, &args[i])
                                              : dync__parse_arg(q, 0, &args[i])))
            return dync__parse_fail(q, "an argument");
        if (param.type == DYNC__PARAM_DIMS && !dync__parse_as_dims(q, &args[i])) return false;
        if (param.type == DYNC__PARAM_INT && args[i].kind == DYNC__A_INT &&
            dync__is_token(args[i].as.i))
            return dync__parse_fail(q, "a size before this");
        *nargs = DYNC__MAX(*nargs, i + 1);
    }
    return true;
}
