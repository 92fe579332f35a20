/* tools/links.c: is every operator that a function calls by its number named for the linker?
 *
 * A small program keeps the rows of operators that its functions name (op/op.h: DYNC__USED and the
 * macros that take an operator); one called by its bare number alone would be missing there. Reads
 * the preprocessed implementation (cc -E) and looks at each function and table: a number that is
 * not compared needs the row of its operator beside it. The same of texts with floats: the text of
 * floats is linked by dync__float_shown. Prints the others; 1 if there are any. */
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Functions and tables, by the start of their name, whose numbers are only compared with those of
 * calls that exist; or a row says the same by a pointer; or all rows are entered before, as an
 * operator was found by its name. */
static const char *const compared[] = {
    "dync__columns_",      /* inplace_of: dync__row's functional names the row */
    "dync__i_",            /* an inference passes the number of its own call on */
    "dync__op_arith",      /* which arithmetic a call is */
    "dync__sym_rows",      /* the same, by name */
    "dync__aten_overload", /* how an operator is called in an exported program */
    "dync__attend_",       /* what a matched graph consists of */
    "dync__c_patterns",    /* how a node is printed */
    "dync__text_function", /* what a function inside it is called */
    "dync__parse_control", /* by the name in the text */
    "dync__enter",         /* the row of one_hot brings that of _one_hot_all */
    "dync__tvm_rows",      /* the rows of TVM: asked for nodes of a graph that exists */
};

enum { TEXT = 1 << 19, TOKENS = 1 << 16, NAME = 96 };
static char text[TEXT]; /* of one function or table, its tokens with a NUL behind each */
static int at[TOKENS], n_tokens, used;
static int bad, numbers, chunks;

static const char *token(int i) { return i >= 0 && i < n_tokens ? text + at[i] : ""; }

static bool is_compared(int i)
{
    static const char *const signs[] = {"==", "!=", "case"};
    for (size_t k = 0; k < sizeof signs / sizeof *signs; k++)
        if (!strcmp(token(i - 1), signs[k]) || (k < 2 && !strcmp(token(i + 1), signs[k])))
            return true;
    return false;
}

/* DYNC__OP_name, no flag (those are capitals) and no row. */
static bool is_number(const char *s)
{
    size_t n = strlen(s);
    return !strncmp(s, "DYNC__OP_", 9) && (islower((unsigned char)s[9]) || s[9] == '_') &&
           (n < 4 || strcmp(s + n - 4, "_row") != 0);
}

static bool has(const char *word)
{
    for (int i = 0; i < n_tokens; i++)
        if (!strcmp(token(i), word)) return true;
    return false;
}

static bool has_row(const char *number)
{
    char row[NAME];
    snprintf(row, sizeof row, "%s_row", number);
    return has(row);
}

/* The first name before ( [ or = that is not of the language: of the function or table. */
static const char *name_of_chunk(void)
{
    for (int i = 1; i < n_tokens; i++)
        if ((token(i)[0] == '(' || token(i)[0] == '[' || !strcmp(token(i), "=")) &&
            !strncmp(token(i - 1), "dync", 4))
            return token(i - 1);
    return token(0);
}

/* Does the first brace come after parameters? */
static bool ends_a_function(void)
{
    for (int i = 1; i < n_tokens; i++)
        if (token(i)[0] == '{') return token(i - 1)[0] == ')';
    return false;
}

/* Does a literal have a conversion of a float: %g, %.3f, %-8.1e? */
static bool shows_float(const char *s)
{
    if (*s != '"') return false;
    while ((s = strchr(s, '%')) != NULL) {
        s += 1 + strspn(s + 1, "-+ #0123456789.*");
        if (*s && strchr("gfe", *s)) return true;
        if (*s) s++; /* %% too */
    }
    return false;
}
static void look(void)
{
    bool skip = false;
    for (int i = 0; i < n_tokens && i < 3; i++) skip |= !strcmp(token(i), "enum");
    const char *name = name_of_chunk();
    for (size_t k = 0; k < sizeof compared / sizeof *compared; k++)
        skip |= !strncmp(name, compared[k], strlen(compared[k]));
    chunks++;
    for (int i = 0; i < n_tokens; i++)
        if (shows_float(token(i)) && !has("dync__float_shown") && !has("dync__float_told")) {
            printf("%s: %s shows a float without dync__float_shown\n", name, token(i));
            bad++;
        }
    for (int i = 0; i < n_tokens && !skip; i++) {
        if (!is_number(token(i))) continue;
        numbers++;
        if (is_compared(i) || has_row(token(i))) continue;
        printf("%s: %s is called by its number and not named for the linker\n", name, token(i));
        bad++;
    }
}

static void add(const char *s, size_t n)
{
    if (n_tokens == TOKENS || used + (int)n + 1 > TEXT) {
        fprintf(stderr, "links: a function is too long\n");
        exit(2);
    }
    at[n_tokens++] = used;
    memcpy(text + used, s, n);
    used += (int)n;
    text[used++] = 0;
}

/* One token of a line; its length. */
static size_t scan(const char *p)
{
    size_t n = 1;
    if (*p == '"' || *p == '\'') {
        while (p[n] && p[n] != *p) n += p[n] == '\\' && p[n + 1] ? 2 : 1;
        return n + 1;
    }
    if (isalnum((unsigned char)*p) || *p == '_') {
        while (isalnum((unsigned char)p[n]) || p[n] == '_') n++;
        return n;
    }
    return (p[0] == '=' || p[0] == '!') && p[1] == '=' ? 2 : 1;
}

int main(void)
{
    static char line[1 << 20];
    int depth = 0;
    bool was_body = false; /* the last token is a closing brace */
    while (fgets(line, sizeof line, stdin)) {
        if (line[0] == '#') continue;
        for (const char *p = line; *p;) {
            if (isspace((unsigned char)*p)) {
                p++;
                continue;
            }
            size_t n = scan(p);
            add(p, n);
            depth += (*p == '{' || *p == '(') - (*p == '}' || *p == ')');
            was_body = *p == '}';
            p += n;
            /* a function ends with its brace, all else with ; */
            if (depth == 0 && (token(n_tokens - 1)[0] == ';' || was_body)) {
                if (was_body && !ends_a_function()) continue; /* a table or type: its ; comes */
                look();
                n_tokens = used = 0;
            }
        }
    }
    if (!bad)
        printf("links: %d numbers of operators in %d functions and tables\n", numbers, chunks);
    return bad != 0;
}
