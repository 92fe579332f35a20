/* tests/unit/text_target.h: targets (codegen/target.h) whose code is text: one line a verb, with
 * its operands in the order of DYNC__VERBS. What the table does not list does not get through, as
 * the checker (text_checker.h) has nothing but the lines. After src/codegen/gen.h, ../test.h.
 *
 *   text128   16 bytes, masks in vectors, no memory operands, no loads of parts of vectors: as NEON
 *   text512   64 bytes, mask registers, memory operands, parts of vectors of any element
 *
 * The bytes that are run only call the checker with the lines. */
#ifndef DYNC_TESTS_TEXT_TARGET_H
#define DYNC_TESTS_TEXT_TARGET_H

static const char *const text_names[] = {
#define DYNC__X(name, operands) #name,
    DYNC__VERBS(DYNC__X)
#undef DYNC__X
};
static const char *const text_operands[] = {
#define DYNC__X(name, operands) operands,
    DYNC__VERBS(DYNC__X)
#undef DYNC__X
};
/* An operand of the table without its class: gto and mto are `to`. */
static const char *text_operand(const char *word, char *name)
{
    static const char *const names[] = {"to", "x", "z", "y", "n", "m", "op", "L"};
    int skip = (word[0] == 'g' || word[0] == 'm') && word[1] > ' ' ? 1 : 0;
    for (int i = 0; i < (int)(sizeof names / sizeof names[0]); i++) {
        size_t n = strlen(names[i]);
        if (strncmp(word + skip, names[i], n) == 0 &&
            (word[skip + n] == 0 || word[skip + n] == ' '))
            strcpy(name, names[i]);
    }
    word += strcspn(word, " ");
    return *word ? word + 1 : NULL;
}
/* What an operand other than y is kept in. */
static int *text_field(dync__ins *i, const char *name)
{
    return strcmp(name, "to") == 0  ? &i->to
           : strcmp(name, "x") == 0 ? &i->x
           : strcmp(name, "z") == 0 ? &i->z
           : strcmp(name, "n") == 0 ? &i->n
           : strcmp(name, "m") == 0 ? &i->m
           : strcmp(name, "L") == 0 ? &i->label
                                    : &i->op;
}

/* ---- writing --------------------------------------------------------------------------------- */

static void text_add(dync__asm *a, const char *text)
{
    if (a->listing) dync__str_add(a->listing, text);
    for (; *text; text++)
        if (!dync__avec_push(a->arena, &a->code, (uint8_t)*text)) a->failed = true;
}

static void text_line(dync__asm *a, const dync__ins *i)
{
    char word[96], name[8] = "";
    dync__ins copy = *i;
    snprintf(word, sizeof word, "%s %d*%d", text_names[i->verb], i->v.type, i->v.lanes);
    text_add(a, word);
    for (const char *o = text_operands[i->verb]; o;) {
        const dync__place *y = &i->y;
        o = text_operand(o, name);
        if (strcmp(name, "y") != 0)
            snprintf(word, sizeof word, " %s=%d", name, *text_field(&copy, name));
        else if (y->is_mem)
            snprintf(word, sizeof word, " y=[%d+%d*%d+%d]", y->base, y->index, y->scale, y->disp);
        else
            snprintf(word, sizeof word, " y=%d", y->reg);
        text_add(a, word);
    }
    text_add(a, "\n");
}

/* A target without memory operands loads them first: to the result's register where nothing else is
 * read from it, else to a scratch register. */
static bool text_loads(const dync__asm *a, const dync__ins *i)
{
    bool reads = i->verb == DYNC__A_OP1 || i->verb == DYNC__A_OP2 ||
                 (i->verb >= DYNC__A_FMA && i->verb <= DYNC__A_PAIRS) || i->verb == DYNC__A_MERGE ||
                 i->verb == DYNC__A_COMPARE || i->verb == DYNC__A_COMPARE_BOOL ||
                 i->verb == DYNC__A_ZIP || i->verb == DYNC__A_BYTES;
    return reads && i->y.is_mem && a->t->n_masks == 0;
}

static void text_emit(dync__asm *a, const dync__ins *i)
{
    if (a->failed) return;
    if (!text_loads(a, i)) {
        text_line(a, i);
        return;
    }
    bool both = (i->verb >= DYNC__A_FMA && i->verb <= DYNC__A_DOT) || i->verb == DYNC__A_MERGE,
         own = !both && (i->verb == DYNC__A_OP1 || i->to != i->x);
    int r = own ? i->to : a->scratch(a, DYNC__CLASS_VECTOR);
    dync__ins load = {.verb = DYNC__A_LOAD, .v = i->v, .to = r, .y = i->y}, then = *i;
    then.y = dync__a_reg(r);
    text_line(a, &load);
    text_line(a, &then);
}

/* ---- reading --------------------------------------------------------------------------------- */

typedef struct text_program {
    struct text_program *next;
    const dync__target *t;
    char *text;
    dync__ins *ins; /* label: the line to go on at */
    uint8_t *pool;
    int n;
} text_program;
static text_program *text_programs; /* freed by text_free */

static bool text_read_line(const char *line, dync__ins *i)
{
    char verb[32], name[8] = "";
    int type, lanes, used = 0, reg;
    memset(i, 0, sizeof *i);
    if (sscanf(line, "%31s %d*%d%n", verb, &type, &lanes, &used) != 3) return false;
    while (i->verb < DYNC__N_VERBS && strcmp(verb, text_names[i->verb]) != 0) i->verb++;
    if (i->verb == DYNC__N_VERBS) return false;
    i->v = dync__vt_of(type, lanes);
    for (const char *o = text_operands[i->verb]; o;) {
        int base, index, scale, disp;
        line += used;
        used = 0;
        o = text_operand(o, name);
        if (strcmp(name, "y") != 0) {
            if (sscanf(line, " %*[a-zL]=%d%n", text_field(i, name), &used) != 1) return false;
        } else if (sscanf(line, " y=[%d+%d*%d+%d]%n", &base, &index, &scale, &disp, &used) == 4) {
            i->y = dync__a_index(base, index, scale, disp);
        } else {
            if (sscanf(line, " y=%d%n", &reg, &used) != 1) return false;
            i->y = dync__a_reg(reg);
        }
    }
    return line[used] == '\n';
}

static void text_run(int64_t *args, const text_program *p); /* text_checker.h */

/* The lines of a, their labels found; NULL: a line that is none. */
static text_program *text_read(const dync__asm *a)
{
    text_program *p = calloc(1, sizeof *p);
    int line = 0, labels = a->label.n, *at = calloc((size_t)labels + 1, sizeof *at);
    p->t = a->t;
    p->text = calloc(1, (size_t)a->code.n + 1);
    memcpy(p->text, a->code.at, (size_t)a->code.n);
    p->pool = calloc(1, (size_t)a->pool.n + 64);
    if (a->pool.n) memcpy(p->pool, a->pool.at, (size_t)a->pool.n);
    for (const char *c = p->text; *c; c++) p->n += *c == '\n';
    p->ins = calloc((size_t)p->n + 1, sizeof *p->ins);
    for (const char *c = p->text; *c; c = strchr(c, '\n') + 1, line++) {
        if (!EXPECT(text_read_line(c, &p->ins[line]))) printf("  %.80s\n", c);
        if (p->ins[line].verb == DYNC__A_LABEL) at[p->ins[line].label] = line;
    }
    for (int i = 0; i < p->n; i++) p->ins[i].label = at[p->ins[i].label];
    free(at);
    p->next = text_programs;
    return text_programs = p;
}

static void text_free(void)
{
    while (text_programs) {
        text_program *p = text_programs;
        text_programs = p->next;
        free(p->text);
        free(p->pool);
        free(p->ins);
        free(p);
    }
}

/* ---- the targets ----------------------------------------------------------------------------- */

enum { TEXT_BYTES = 22 };
static size_t text_finish(dync__asm *a) { return a->failed ? 0 : TEXT_BYTES; }

/* mov rsi, lines; mov rax, text_run; jmp rax */
static void text_write(const dync__asm *a, uint8_t *to)
{
    text_program *p = text_read(a);
    void (*run)(int64_t *, const text_program *) = text_run;
    memcpy(to, "\x48\xbe", 2);
    memcpy(to + 2, &p, 8);
    memcpy(to + 10, "\x48\xb8", 2);
    memcpy(to + 12, &run, 8);
    memcpy(to + 20, "\xff\xe0", 2);
}

static bool text_has_part(const dync__target *t, int bytes)
{
    (void)bytes;
    return t->n_masks > 0;
}

static bool text_is_float(int type) { return type == DYNC_F32 || type == DYNC_F64; }

/* What a target can do at all; BOOL: and, or, xor, comparisons. */
static bool text_can(const dync__target *t, int op, int type)
{
    bool wide = type == DYNC_I64 && t->n_masks == 0;
    switch (op) {
    case DYNC__P_div: return text_is_float(type);
    case DYNC__P_min:
    case DYNC__P_max:
    case DYNC__P_mul:
    case DYNC__P_shr: return !wide;
    case DYNC__P_rem:
    case DYNC__P_fma:
    case DYNC__P_select:
    case DYNC__P_random: return false;
    default: return dync__prim_is_pure(op);
    }
}

static int text_shape(const dync__target *t, int op, int type, int to)
{
    bool compares = op >= DYNC__P_lt && op <= DYNC__P_ne,
         swaps = op == DYNC__P_add || op == DYNC__P_mul || op == DYNC__P_and_ ||
                 op == DYNC__P_or_ || op == DYNC__P_xor_;
    if (!text_can(t, op, type)) return DYNC__SHAPE_NONE;
    if (op == DYNC__P_wrap) return DYNC__SHAPE_LONG;
    if (t->n_masks == 0) {
        if (op == DYNC__P_lt && (type == DYNC_I32 || type == DYNC_I64)) return DYNC__SHAPE_BACK;
        bool extreme = op == DYNC__P_min || op == DYNC__P_max;
        return extreme || (op == DYNC__P_cast && text_is_float(type) && !text_is_float(to))
                   ? DYNC__SHAPE_LONG
                   : DYNC__SHAPE_REGS;
    }
    if (type == DYNC_BOOL) return DYNC__SHAPE_REGS;
    return swaps && !compares ? DYNC__SHAPE_SWAPS : DYNC__SHAPE_ONE;
}

static const char text_no_scan[] = "running sums in vectors of two lanes";
static const char *text_refuses(const dync__target *t, int op, int type, int to)
{
    (void)type, (void)to;
    if (op == DYNC__P_scan && t->vector_bytes < 32) return text_no_scan;
    return NULL;
}

static int text_dot(const dync__target *t, int dtype)
{
    if (t->n_masks) return DYNC__DOT_ONE;
    return dtype == DYNC_U8 ? DYNC__DOT_PAIRS : DYNC__DOT_NONE;
}

static const dync__target text128 = {"text128",     3,          16,           32,       0,
                                     text_has_part, text_shape, text_refuses, text_dot, text_emit,
                                     text_finish,   text_write, NULL};
static const dync__target text512 = {"text512",     4,          64,           32,       7,
                                     text_has_part, text_shape, text_refuses, text_dot, text_emit,
                                     text_finish,   text_write, NULL};
#endif
