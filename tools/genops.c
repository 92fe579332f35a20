/* tools/genops.c: writes what follows from the operator table, src/op/ops.def.h.
 *
 *   genops api         src/api/ops.h: what all operators share, and their numbers
 *   genops api KIND    src/api/ops_KIND.h: documentation, prototypes and location macros of the
 *                      public operators of src/op/ops_KIND.def.h
 *   genops entries     src/op/entries.c: the bodies, which pack arguments and call dync__op_call
 *
 * It is compiled against the table, so a new row needs no change here. Output goes to stdout. */
#include <ctype.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../src/op/ops.def.h"

typedef struct op_row {
    const char *name, *cls, *schema;
    int nout;
    const char *grad, *flags, *doc;
} op_row;
static const op_row rows[] = {
#define ROW(name, cls, schema, nout, infer, expr, lower, grad, decompose, fx, flags, inplace_of, \
            doc)                                                                                 \
    {#name, #cls, schema, nout, #grad, #flags, doc},
    DYNC__OPS(ROW)
#undef ROW
};
enum { N_ROWS = sizeof rows / sizeof rows[0], MAX_PARAMS = 16, NAME_CAP = 64 };
/* Those that may give a view of an argument. */
static const char *const views[] = {
#define NAME(name, ...) #name,
    DYNC__OPS_VIEW(NAME)
#undef NAME
};
/* The rows by kind: each kind follows the one before. */
typedef struct op_kind {
    const char *name, *what;
    int n;
} op_kind;
static const op_kind kinds[] = {
#define ONE(...) +1
#define KIND(name, list, what) {#name, what, list(ONE)},
    DYNC__OPS_KINDS(KIND)
#undef KIND
#undef ONE
};

/* One row per schema type: its C type in the public half, how the macro passes it on, how the entry
 * packs it. %s is its name, @ the function's. */
typedef struct param_type {
    const char *schema, *c, *pass, *pack;
} param_type;
/* clang-format off */
static const param_type types[] = {
    {"Value",    "dync_value ",      "DYNC_V(%s)", "dync__arg_value(%s)"},
    {"Value?",   "dync_value ",      "DYNC_V(%s)", "dync__arg_value(%s)"},
    {"Tensor",   "dync_tensor *",    "DYNC_T(%s, \"@: %s\")", "dync__arg_h(%s)"},
    {"Tensor?",  "dync_tensor *",    "%s",         "%s ? dync__arg_h(%s) : dync__arg_none()"},
    {"Tensor[]", "dync_value ",      "DYNC_V(%s)", "dync__arg_value(%s)"},
    {"int",      "int ",             "%s",         "dync__arg_i(%s)"},
    {"int64",    "int64_t ",         "%s",         "dync__arg_i(%s)"},
    {"float",    "dync_real ",       "%s",         "dync__arg_f(%s)"},
    {"bool",     "bool ",            "%s",         "dync__arg_b(%s)"},
    {"Dims",     "dync_dims ",       "DYNC_D(%s, \"@: %s\")", "dync__arg_dims(%s->n, %s->d)"},
    {"Dtype",    "dync_dtype ",      "%s",         "dync__arg_dtype((int)%s)"},
    {"Device",   "dync_device ",     "%s",         "dync__arg_device((int)%s)"},
    {"str",      "const char *",     "%s",         "dync__arg_s(%s)"},
};
/* clang-format on */
typedef struct param {
    const param_type *type;
    char name[NAME_CAP];
} param;

/* What is printed comes to `line` and is written at its end: broken at spaces outside strings where
 * it is wider than WIDTH, with a backslash inside macros. */
enum { WIDTH = 100, LINE_CAP = 4096 };
static char line[LINE_CAP];
static size_t line_len;

/* Where a line breaks before column `limit`: at the last space behind a comma, or in a comment the
 * last space of all; outside strings, else inside one (quoted: it is cut in two). 0: nowhere. */
static size_t last_space(const char *s, size_t limit, bool comment, bool *quoted)
{
    size_t comma = 0, space = 0, any = 0;
    bool inside = false;
    for (size_t i = 0; s[i] && i < limit; i++) {
        if (s[i] == '\\' && inside)
            i++;
        else if (s[i] == '"')
            inside = !inside;
        if (s[i] != ' ' || i <= 8) continue;
        any = i;
        if (!inside) space = i;
        if (!inside && s[i - 1] == ',') comma = i;
    }
    *quoted = !comma && !space && !comment;
    return comma && !comment ? comma : space ? space : any;
}

static void write_line(void)
{
    bool macro = line[0] == '#', comment = line[0] == '/', quoted = false;
    char *s = line;
    size_t indent = 0;
    line[line_len] = 0;
    char *soft = strchr(line, '\v');
    if (soft) {
        size_t rest = strlen(soft + 5);
        if ((size_t)(soft - line) + 1 + rest <= WIDTH) {
            *soft = ' ';
            memmove(soft + 1, soft + 5, rest + 1);
        } else {
            *soft = 0;
            if (strlen(line) + 2 > WIDTH) { /* a long list of parameters */
                size_t cut = last_space(line, WIDTH - 3, false, &quoted);
                printf("%.*s \\\n    %s \\\n", (int)cut, line, line + cut + 1);
            } else {
                printf("%s \\\n", line);
            }
            s = soft + 5;
            indent = 4;
        }
    }
    while (indent + strlen(s) > WIDTH) {
        size_t cut = last_space(s, WIDTH - indent - (macro ? 3 : 1), comment, &quoted);
        if (cut == 0) break;
        printf("%*s%.*s%s%s\n", (int)indent, "", (int)(cut + quoted), s, quoted ? "\"" : "",
               macro ? " \\" : "");
        s += cut + !quoted;
        indent = 4;
        if (quoted) *s = '"';
        if (comment) indent = 1, s = memcpy(s - 2, "* ", 2);
    }
    printf("%*s%s\n", (int)indent, "", s);
    line_len = 0;
}

static void put_char(char c)
{
    if (c == '\n')
        write_line();
    else if (line_len + 1 < LINE_CAP)
        line[line_len++] = c;
}

static void put_text(const char *s)
{
    while (*s) put_char(*s++);
}

/* How many characters were printed. */
static int put(const char *format, ...)
{
    char text[LINE_CAP];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    put_text(text);
    return n;
}

static void fail(const op_row *row, const char *what, const char *at)
{
    fprintf(stderr, "genops: row %s: %s: \"%s\" in schema \"%s\"\n", row->name, what, at,
            row->schema);
    exit(1);
}

static const param_type *find_type(const op_row *row, const char *word)
{
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (strcmp(types[i].schema, word) == 0) return &types[i];
    fail(row, "unknown type", word);
    return NULL;
}

/* One word into out; stops at a space, comma or closing parenthesis. */
static const char *read_word(const op_row *row, const char *s, char *out)
{
    size_t n = 0;
    while (*s == ' ') s++;
    for (; *s && !strchr(" ,)", *s); s++) {
        if (n + 1 == NAME_CAP) fail(row, "word too long", s);
        out[n++] = *s;
    }
    out[n] = 0;
    return s;
}

static int parse_schema(const op_row *row, param *out)
{
    const char *s = row->schema;
    char word[NAME_CAP];
    int n = 0;
    if (*s != '(') fail(row, "expected (", s);
    for (s++; *s && *s != ')';) {
        if (n == MAX_PARAMS) fail(row, "too many parameters", s);
        s = read_word(row, s, word);
        out[n].type = find_type(row, word);
        s = read_word(row, s, out[n].name);
        if (!isalpha((unsigned char)out[n].name[0])) fail(row, "expected a name", s);
        n++;
        while (*s == ' ') s++;
        if (*s == ',')
            s++;
        else if (*s != ')')
            fail(row, "expected , or )", s);
    }
    if (*s != ')') fail(row, "expected )", s);
    return n;
}

/* Prints a form with each %s replaced by name, @ by the operator's function. */
static void print_form(const char *form, const char *name, const char *op)
{
    for (; *form; form++) {
        if (form[0] == '%' && form[1] == 's') {
            put_text(name);
            form++;
        } else if (form[0] == '@')
            put("dync_%s", op);
        else
            put_char(*form);
    }
}

static void print_params(const param *p, int n, int with_location)
{
    for (int i = 0; i < n; i++) put("%s%s%s", i ? ", " : "", p[i].type->c, p[i].name);
    if (with_location)
        put("%sdync_loc at", n ? ", " : "");
    else if (!n)
        put("void");
}

static const char *result_type(const op_row *row)
{
    return row->nout == 1 ? "dync_tensor *" : row->nout == 0 ? "void " : "dync_value ";
}

static int is_public(const op_row *row) { return strstr(row->flags, "DYNC__OP_PRIVATE") == NULL; }

/* The signature of a row as one word: its types, and what it returns. Rows of one signature share
 * the function that packs. */
typedef struct signature {
    char word[2 * MAX_PARAMS + 8];
    const op_row *first;
} signature;
static signature signatures[N_ROWS];
static int n_signatures;

static signature *find_signature(const op_row *row)
{
    static const char letters[] = "VVTOLilfbdyes"; /* one for each of types */
    param p[MAX_PARAMS];
    char word[2 * MAX_PARAMS + 8];
    int n = parse_schema(row, p), at = 0;
    word[at++] = row->nout == 1 ? '1' : row->nout == 0 ? '0' : 'n';
    for (int i = 0; i < n; i++) word[at++] = letters[p[i].type - types];
    word[at] = 0;
    for (int i = 0; i < n_signatures; i++)
        if (strcmp(signatures[i].word, word) == 0) return &signatures[i];
    strcpy(signatures[n_signatures].word, word);
    signatures[n_signatures].first = row;
    return &signatures[n_signatures++];
}

static bool is_dims(const param *p) { return strcmp(p->type->schema, "Dims") == 0; }

static bool has_dims(const param *p, int n)
{
    for (int i = 0; i < n; i++)
        if (is_dims(&p[i])) return true;
    return false;
}

/* What the function of a signature takes: (const dync__row *op, ..., dync_loc at). by_address: of
 * the one that is called inside the library, with dims as pointers; at NULL: the thread's place. */
static void print_packer_params(const param *p, int n, bool by_address)
{
    put("(const dync__row *op, ");
    if (by_address) {
        for (int i = 0; i < n; i++)
            put("%s%s, ", is_dims(&p[i]) ? "const dync_dims *" : p[i].type->c, p[i].name);
        put("const dync_loc *at)");
        return;
    }
    print_params(p, n, 1);
    put(")");
}

/* Its parameters are x0, x1, ... */
static int packer_params(const op_row *row, param *p)
{
    int n = parse_schema(row, p);
    for (int i = 0; i < n; i++) snprintf(p[i].name, sizeof p[i].name, "x%d", i);
    return n;
}

/* ---- src/api/ops*.h -------------------------------------------------------------------------- */

static void print_doc(const op_row *row)
{
    put("/* dync_%s: %s.", row->name, row->doc);
    if (strcmp(row->cls, "INPLACE") == 0) put(" In place; returns self.");
    if (strcmp(row->cls, "VIEW") == 0) put(" A view: shares self's memory.");
    if (row->nout > 1) put(" A list of %d tensors.", row->nout);
    if (strstr(row->flags, "DYNC__OP_NONDIFF")) put(" No gradient.");
    if (strstr(row->flags, "DYNC__OP_DATA_SHAPE"))
        put(" The shape depends on data: a graph break.");
    put(" */\n");
}

/* How many leading operands may be operator calls themselves: they are evaluated in order
 * (DYNC_SEQ2, DYNC_SEQ3_AND). */
static int ordered_operands(const param *p, int n)
{
    int k = 0;
    while (k < n && k < 3 &&
           (strcmp(p[k].type->schema, "Tensor") == 0 || strcmp(p[k].type->schema, "Value") == 0))
        k++;
    return k;
}

static bool is_view(const op_row *row)
{
    for (size_t i = 0; i < sizeof views / sizeof views[0]; i++)
        if (!strcmp(views[i], row->name)) return true;
    return false;
}

static void print_api(const op_row *row)
{
    param p[MAX_PARAMS];
    int n = parse_schema(row, p);
    print_doc(row);
    put("DYNC_API %s(dync_%s)(", result_type(row), row->name);
    print_params(p, n, 0);
    put(");\n");
    /* the second macro has the names, the first one counts */
    if (n) {
        put("#define dync_%s(...)\v    DYNC_TAKES_%d(DYNC_%s, DYNC_OTHER_%s, "
            "__VA_ARGS__)(\"dync_%s takes %d argument%s: ",
            row->name, n, row->name, row->nout > 1 ? "V" : "T", row->name, n, n > 1 ? "s" : "");
        for (int i = 0; i < n; i++) put("%s%s", i ? ", " : "", p[i].name);
        put("\", __VA_ARGS__)\n#define DYNC_%s(text_", row->name);
        for (int i = 0; i < n; i++) put(", %s", p[i].name);
    } else
        put("#define dync_%s(", row->name);
    int k = ordered_operands(p, n);
    const char *word = find_signature(row)->word;
    bool two = strcmp(word, "1VV") == 0, dims = k < 2 && has_dims(p, n), view = is_view(row);
    put(")\v    %s", view ? "DYNC_VIEW(" : "");
    if (two)
        put("DYNC_OP_TWO");
    else if (k > 1)
        put("DYNC_SEQ%d%s", k == 3 && n > 3 ? 3 : 2, n > 2 ? "_AND" : "");
    else
        put("DYNC_OP%s", dims ? "_DIMS" : "");
    put("(dync_%s, dync__op_%s, DYNC__OP_%s", row->name, word, row->name);
    for (int i = 0; i < n; i++) {
        const char *pass = p[i].type->pass;
        put(", ");
        print_form(two                      ? "%s"
                   : dims && is_dims(&p[i]) ? "DYNC_D_OF(%s, \"@: %s\")"
                                            : pass,
                   p[i].name, row->name);
    }
    put(")%s\n", view ? ")" : "");
}

static bool is_first_of_rule(int i)
{
    for (int k = 0; k < i; k++)
        if (!strcmp(rows[k].grad, rows[i].grad)) return false;
    return strcmp(rows[i].grad, "none") != 0;
}

/* For an assembler's .irp: api/link.h. */
static void print_rules(void)
{
    put("/* The gradient rules that rows name (api/link.h). */\n#define DYNC__RULE_NAMES");
    int column = 99;
    const char *comma = "";
    for (int i = 0; i < (int)N_ROWS; i++) {
        if (!is_first_of_rule(i)) continue;
        if (column + (int)strlen(rows[i].grad) > 92)
            column = put("%s \\\n    \"", *comma ? "\"" : "") - 3;
        column += put("%s%s", comma, rows[i].grad);
        comma = ",";
    }
    put("\"\n");
}

/* The operators' numbers, then one function a signature: it packs the arguments of whichever
 * operator it is told. */
static void print_numbers(void)
{
    int column = put("enum {");
    for (int i = 0; i < (int)N_ROWS; i++) {
        if (column + (int)strlen(rows[i].name) + 12 > 98) column = (put("\n   "), 3);
        column += put(" DYNC__OP_%s,", rows[i].name);
    }
    put("\n    DYNC__N_OPS\n};\n");
    put("/* What a program links of an operator hangs on its row, which is "
        "named by the macro and the "
        "function of the operator\n * that the program calls (op/op.h). */\n");
    put("typedef struct dync__row {\n    const struct dync__op_row *columns;\n"
        "    const struct dync__grad_rule *rule;\n    const struct dync__row *functional;\n"
        "    int number;\n} dync__row;\n");
    column = put("DYNC__ROW_LINKAGE const dync__row");
    for (int i = 0; i < (int)N_ROWS; i++) {
        if (column + (int)strlen(rows[i].name) + 16 > 98) column = (put("\n   "), 3);
        column += put(" DYNC__OP_%s_row%c", rows[i].name, i + 1 < (int)N_ROWS ? ',' : ';');
    }
    put("\n");
    print_rules();
}

static void print_packer_heads(void)
{
    for (int i = 0; i < (int)N_ROWS; i++) {
        if (!is_public(&rows[i]) || find_signature(&rows[i])->first != &rows[i]) continue;
        const char *result = result_type(&rows[i]), *word = find_signature(&rows[i])->word;
        param p[MAX_PARAMS];
        int n = packer_params(&rows[i], p);
        put("DYNC_API %sdync__op_%s", result, word);
        print_packer_params(p, n, false);
        put(";\n");
        if (!has_dims(p, n)) continue;
        put("DYNC_API %sdync__op_%s_of", result, word);
        print_packer_params(p, n, true);
        put(";\n");
    }
}

static const char api_head[] =
    "/* ---- operators: PyTorch's names, semantics, type promotion and broadcasting ----\n"
    " *\n"
    " * Generated from src/op/ops.def.h by tools/genops.c: edit the table, then `make headers`.\n"
    " *\n"
    " * Each operator is a function, dync_add, and a macro of that name that hands on its place\n"
    " * in the source, so that an error says file and line. (dync_add)(a, b) is the function.\n"
    " * A trailing _ works in place. What holds for all of them:\n"
    " *\n"
    " *   dync_value  any C expression: a tensor, a number, a bool (DYNC_V): dync_add(x, 2),\n"
    " *               dync_sub(1.0, x)\n"
    " *   dims        a shape literal of dimensions, dync_shape(0, -1); DYNC_ALL is all of them\n"
    " *   dim         -rank <= dim < rank; negative counts from the end\n"
    " *   ->          a new tensor, owned by the scope; NULL on failure\n"
    " *   errors      DYNC_ERR_SHAPE, DYNC_ERR_DTYPE, DYNC_ERR_DEVICE, DYNC_ERR_INDEX,\n"
    " *               DYNC_ERR_VALUE, DYNC_ERR_MEMORY\n"
    " *   notes       NULL operands give NULL; a failed call leaves its operands as they were\n"
    " *   thread      any */\n"
    "#define DYNC_ALL (DYNC_LITERAL(dync_dims){0, {0}})              /* every dimension */\n"
    "#define DYNC_END INT64_MAX                                       /* open slice end */\n";

/* ---- src/op/entries.c ------------------------------------------------------------------------ */

/* What an entry's macro takes behind the name: the signature, what it returns and takes, and what
 * it hands on. */
static void print_entry_rest(const op_row *row, const param *p, int n)
{
    put("%s, %s, (", find_signature(row)->word, result_type(row));
    print_params(p, n, 0);
    put(")");
    for (int i = 0; i < n; i++) put(", %s%s", is_dims(&p[i]) ? "&" : "", p[i].name);
    put(")\n");
}

/* The function of a signature, and the macro of its operators where there are several. */
static void print_packer(const op_row *row, bool several)
{
    param p[MAX_PARAMS];
    int n = packer_params(row, p);
    const char *word = find_signature(row)->word, *kind = has_dims(p, n) ? "_DIMS" : "";
    put("\nDYNC__PACKER%s(%s, %s, %s, ", kind, word, result_type(row),
        row->nout > 1 ? "dync__op_call_list" : "dync__op_call");
    print_packer_params(p, n, false);
    if (*kind) {
        put(",\n    ");
        print_packer_params(p, n, true);
        put(", (op");
        for (int i = 0; i < n; i++) put(", %s%s", is_dims(&p[i]) ? "&" : "", p[i].name);
        put(", &at)");
    }
    put(",\n    ");
    for (int i = 0; i < n; i++) {
        print_form(p[i].type->pack, p[i].name, row->name);
        put(i + 1 < n ? ", " : ")\n");
    }
    if (several)
        put("#define DYNC__ENTRY_%s(name) DYNC__ENTRY%s(dync_##name, DYNC__OP_##name, ", word,
            kind);
    else
        put("DYNC__ENTRY%s(dync_%s, DYNC__OP_%s, ", kind, row->name, row->name);
    print_entry_rest(row, p, n);
}

/* Each packer, then the functions of all operators with its signature. */
static void print_entries(void)
{
    for (int i = 0; i < (int)N_ROWS; i++) {
        const signature *s = is_public(&rows[i]) ? find_signature(&rows[i]) : NULL;
        int column = 0, users = 0;
        if (!s || s->first != &rows[i]) continue;
        for (int k = i; k < (int)N_ROWS; k++)
            users += is_public(&rows[k]) && find_signature(&rows[k]) == s;
        print_packer(&rows[i], users > 1);
        for (int k = i; users > 1 && k < (int)N_ROWS; k++) {
            if (!is_public(&rows[k]) || find_signature(&rows[k]) != s) continue;
            if (column > 72) column = (put("\n"), 0);
            column += put("%sDYNC__ENTRY_%s(%s)", column ? " " : "", s->word, rows[k].name);
        }
        if (column) put("\n");
    }
}

static const char entries_head[] =
    "/* op/entries.c: the public functions of the operators. After dispatch.c, which opens the "
    "handles packed here.\n"
    " *\n"
    " * Generated from src/op/ops.def.h by tools/genops.c: edit the table, then `make headers`. "
    "*/\n"
    "#include \"../dync.in.h\"\n"
    "#include \"op.h\"\n"
    "DYNC__COLD\n\n"
    "/* What packs the arguments of all operators of one signature, and the function of one "
    "operator. */\n"
    "#define DYNC__PACKER(sig, result, call, params, ...) \\\n"
    "    DYNC_API result dync__op_##sig params \\\n"
    "    { \\\n"
    "        dync__arg args[] = {__VA_ARGS__}; \\\n"
    "        return (call)(dync__op_use(op), DYNC__COUNT_OF(args), args, at); \\\n"
    "    }\n"
    "#define DYNC__ENTRY(name, op, sig, result, params, ...) \\\n"
    "    DYNC_API result (name) params { return dync__op_##sig(&op##_row, "
    "__VA_ARGS__, dync__tls.at); }\n"
    "/* The same where there are dims: as pointers inside the library, where `at` NULL is the "
    "thread's place. */\n"
    "#define DYNC__PACKER_DIMS(sig, result, call, params, of_params, handed, ...) \\\n"
    "    DYNC_API result dync__op_##sig##_of of_params \\\n"
    "    { \\\n"
    "        dync__arg args[] = {__VA_ARGS__}; \\\n"
    "        return (call)(dync__op_use(op), DYNC__COUNT_OF(args), args, at ? *at : "
    "dync__tls.at); \\\n"
    "    } \\\n"
    "    DYNC_API result dync__op_##sig params { return dync__op_##sig##_of handed; }\n"
    "#define DYNC__ENTRY_DIMS(name, op, sig, result, params, ...) \\\n"
    "    DYNC_API result (name) params { return dync__op_##sig##_of(&op##_row, "
    "__VA_ARGS__, NULL); }\n";

/* 0: written */
static int print_kind(const char *kind)
{
    int first = 0, k = 0;
    while (k < (int)(sizeof kinds / sizeof kinds[0]) && strcmp(kinds[k].name, kind) != 0)
        first += kinds[k++].n;
    if (k == (int)(sizeof kinds / sizeof kinds[0])) {
        fprintf(stderr, "genops: DYNC__OPS_KINDS has no %s\n", kind);
        return 2;
    }
    put("/* ---- operators: %s (op/ops_%s.def.h) ----\n"
        " *   errors, notes  as of all operators (api/ops.h)\n"
        " *   thread         any */\n",
        kinds[k].what, kind);
    for (int i = first; i < first + kinds[k].n; i++)
        if (is_public(&rows[i])) print_api(&rows[i]);
    return fflush(stdout) != 0 || ferror(stdout);
}

int main(int argc, char **argv)
{
    bool api = argc > 1 && argc < 4 && strcmp(argv[1], "api") == 0;
    if (!api && !(argc == 2 && strcmp(argv[1], "entries") == 0)) {
        fprintf(stderr, "usage: genops api [KIND]|entries\n");
        return 2;
    }
    if (argc == 3) return print_kind(argv[2]);
    put_text(api ? api_head : entries_head);
    if (api) {
        print_numbers();
        print_packer_heads();
    } else
        print_entries();
    return fflush(stdout) != 0 || ferror(stdout);
}
