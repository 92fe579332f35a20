/* tests/cuda_emulator/ptx_parse.c: PTX text as instructions with numbered registers. Only what the
 * library writes is understood; anything else is refused with its line, as the driver would. */
#include "ptx_ops.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    char name[64];
    int value;
    bool holds; /* of a register: written above, whatever a guard says */
} symbol;
typedef struct {
    ptx_module *m;
    char *at;
    int line;
    ptx_entry *e;
    symbol *reg, *label, *shared;
    int n_regs, n_labels, n_shared, cap_regs, cap_labels, cap_shared, cap_insts;
} parser;

static void *grow(void *p, int *cap, int need, size_t item)
{
    if (need <= *cap) return p;
    *cap = need * 2 + 64;
    return realloc(p, (size_t)*cap * item);
}

static int find(const symbol *s, int n, const char *name)
{
    for (int i = n - 1; i >= 0; i--)
        if (strcmp(s[i].name, name) == 0) return s[i].value;
    return -1;
}

static void refuse(parser *p, const char *what, const char *text)
{
    if (!p->m->error[0])
        snprintf(p->m->error, sizeof p->m->error, "ptxas error: line %d: %s: %.120s", p->line, what,
                 text);
}

static void skip(parser *p)
{
    for (;; p->at++) {
        if (*p->at == '\n')
            p->line++;
        else if (p->at[0] == '/' && p->at[1] == '/') {
            while (*p->at && *p->at != '\n') p->at++;
            p->at--;
        } else if (*p->at != ' ' && *p->at != '\t')
            return;
    }
}

static char *keep(parser *p, const char *text, size_t n)
{
    char *s = malloc(n + 1);
    memcpy(s, text, n);
    s[n] = 0;
    p->m->pieces = realloc(p->m->pieces, (size_t)(p->m->n_pieces + 1) * sizeof *p->m->pieces);
    p->m->pieces[p->m->n_pieces++] = s;
    return s;
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '$' || c == '%' || c == '.';
}

static ptx_type type_of(const char *w)
{
    static const struct {
        const char *name;
        ptx_type t;
    } types[] = {{"pred", T_PRED}, {"b8", T_B8},       {"u8", T_U8},         {"s8", T_S8},
                 {"b16", T_B16},   {"u16", T_U16},     {"s16", T_S16},       {"f16", T_F16},
                 {"bf16", T_BF16}, {"b32", T_B32},     {"u32", T_U32},       {"s32", T_S32},
                 {"f32", T_F32},   {"f16x2", T_F16X2}, {"bf16x2", T_BF16X2}, {"tf32", T_TF32},
                 {"b64", T_B64},   {"u64", T_U64},     {"s64", T_S64},       {"f64", T_F64},
                 {"b128", T_B128}};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (strcmp(types[i].name, w) == 0) return types[i].t;
    return T_NONE;
}

static void *room(parser *p, size_t n)
{
    char *s = calloc(1, n);
    p->m->pieces = realloc(p->m->pieces, (size_t)(p->m->n_pieces + 1) * sizeof *p->m->pieces);
    return p->m->pieces[p->m->n_pieces++] = s;
}
static int find_param(const parser *p, const char *name)
{
    for (int i = 0; i < p->e->n_params; i++)
        if (strcmp(p->e->param[i].name, name) == 0) return i;
    return -1;
}

static char *operand(parser *p, char *s, ptx_operand *o);
/* "{a, b, 3}" from behind the brace */
static char *list(parser *p, char *s, ptx_operand *o)
{
    int regs[PTX_LIST];
    uint64_t imm[PTX_LIST];
    bool is_imm[PTX_LIST];
    while (*s && *s != '}') {
        ptx_operand part;
        s = operand(p, s, &part);
        if (o->n == PTX_LIST)
            refuse(p, "too long a list", s);
        else {
            is_imm[o->n] = part.kind == O_IMM;
            imm[o->n] = part.imm;
            regs[o->n++] = part.reg;
        }
        while (*s == ' ' || *s == ',' || *s == '\n') s++;
        if (p->m->error[0]) return s + strlen(s);
    }
    o->list = room(p, ((size_t)o->n + 1) * sizeof *o->list);
    o->list_imm = room(p, ((size_t)o->n + 1) * sizeof *o->list_imm);
    o->list_is_imm = room(p, ((size_t)o->n + 1) * sizeof *o->list_is_imm);
    memcpy(o->list, regs, (size_t)o->n * sizeof *regs);
    memcpy(o->list_imm, imm, (size_t)o->n * sizeof *imm);
    memcpy(o->list_is_imm, is_imm, (size_t)o->n * sizeof *is_imm);
    return *s ? s + 1 : s;
}

/* One operand from s; what is after it. */
static char *operand(parser *p, char *s, ptx_operand *o)
{
    char name[80];
    size_t n = 0;
    memset(o, 0, sizeof *o);
    o->reg = o->param = -1;
    while (*s == ' ' || *s == '\n') s++;
    if (*s == '!') {
        o->negated = true;
        s++;
    }
    if (*s == '{') {
        o->kind = O_LIST;
        return list(p, s + 1, o);
    }
    if (*s == '[') {
        ptx_operand base;
        o->kind = O_ADDRESS;
        s++;
        while (*s == ' ') s++;
        for (n = 0; is_word(s[n]) && n + 1 < sizeof name; n++) name[n] = s[n];
        name[n] = 0;
        o->param = find_param(p, name);
        if (o->param < 0) {
            (void)operand(p, name, &base);
            o->reg = base.kind == O_REG ? base.reg : -1;
            if (base.kind == O_IMM) o->imm = base.imm;
            o->is_shared = base.is_shared;
        }
        s += n;
        while (*s == ' ') s++;
        if (*s == '+' || *s == '-') {
            bool minus = *s == '-';
            char *end = s + 1;
            int64_t by = (*end == '-' ? -1 : 1) *
                         (int64_t)strtoll(*end == '-' ? end + 1 : end, &end, 0);
            o->imm += (uint64_t)(minus ? -by : by);
            s = end;
        }
        while (*s == ' ' || *s == ',') s++;
        if (*s == '{') s = list(p, s + 1, o);
        while (*s && *s != ']') s++;
        return *s ? s + 1 : s;
    }
    if ((*s >= '0' && *s <= '9') || *s == '-') {
        o->kind = O_IMM;
        if (s[0] == '0' && (s[1] == 'f' || s[1] == 'F'))
            o->imm = strtoul(s + 2, &s, 16);
        else if (s[0] == '0' && (s[1] == 'd' || s[1] == 'D'))
            o->imm = strtoull(s + 2, &s, 16);
        else if (*s == '-')
            o->imm = (uint64_t)strtoll(s, &s, 0);
        else
            o->imm = strtoull(s, &s, 0);
        return s;
    }
    for (n = 0; is_word(s[n]) && n + 1 < sizeof name; n++) name[n] = s[n];
    name[n] = 0;
    if (n == 0) {
        refuse(p, "an operand was expected", s);
        return s + strlen(s);
    }
    if (strcmp(name, "_") == 0) return s + n; /* a result that nobody wants */
    static const char *const special[] = {
        "%tid.x",       "%tid.y",       "%tid.z",           "%ntid.x",
        "%ntid.y",      "%ntid.z",      "%ctaid.x",         "%ctaid.y",
        "%ctaid.z",     "%nctaid.x",    "%nctaid.y",        "%nctaid.z",
        "%laneid",      "%warpid",      "%cluster_ctarank", "%cluster_nctarank",
        "%clusterid.x", "%nclusterid.x"};
    for (int i = 0; i < 18; i++)
        if (strcmp(name, special[i]) == 0) {
            o->kind = O_REG;
            o->reg = PTX_SPECIAL + i;
            return s + n;
        }
    int reg = find(p->reg, p->n_regs, name),
        shared = reg < 0 ? find(p->shared, p->n_shared, name) : -1;
    if (reg >= 0) {
        o->kind = O_REG;
        o->reg = reg;
    } else if (shared >= 0) {
        o->kind = O_IMM;
        o->is_shared = true;
        o->imm = (uint64_t)shared;
        /* memory given at the launch, behind what the entry declares */
    } else if (p->m->external[0] && strcmp(name, p->m->external) == 0) {
        size_t align = (size_t)p->m->external_align;
        o->kind = O_IMM;
        o->is_shared = true;
        o->imm = p->e->dynamic_at = (p->e->shared_bytes + align - 1) / align * align;
    } else if (find_param(p, name) >= 0) {
        o->kind = O_IMM;
        o->imm = PTX_PARAM_ADDRESS + (uint64_t)p->e->param[find_param(p, name)].offset;
    } else if (name[0] != '%') {
        o->kind = O_LABEL;
        o->imm = (uint64_t)(uintptr_t)keep(p, name, n);
    } else {
        refuse(p, "an unknown register", name);
    }
    return s + n;
}

/* A guarded load leaves its register as it is where the guard is false. Where that is nothing,
 * ptxas (13.0, sm_90) takes another load of the same address in its place, under another guard. */
static void destination(parser *p, const ptx_inst *in)
{
    const ptx_operand *o = &in->o[0];
    if (in->n == 0 || in->op == OP_st || (o->kind != O_REG && o->kind != O_LIST)) return;
    for (int i = 0; i < (o->kind == O_LIST ? o->n : 1); i++) {
        int reg = o->kind == O_LIST ? o->list[i] : o->reg;
        if (reg < 0 || reg >= p->n_regs) continue;
        if (in->op == OP_ld && in->guard >= 0 && !p->reg[reg].holds)
            refuse(p, "a guarded load into a register that holds nothing", in->text);
        p->reg[reg].holds |= in->guard < 0;
    }
}

/* "@%p add.rn.f32 %a, %b, %c" */
static void instruction(parser *p, char *s)
{
    p->e->inst = grow(p->e->inst, &p->cap_insts, p->e->n_insts + 1, sizeof *p->e->inst);
    ptx_inst *in = &p->e->inst[p->e->n_insts++];
    memset(in, 0, sizeof *in);
    in->line = p->line;
    in->guard = -1;
    in->text = keep(p, s, strlen(s));
    if (*s == '@') {
        ptx_operand g;
        in->guard_not = s[1] == '!';
        s = operand(p, s + 1 + in->guard_not, &g);
        in->guard = g.reg;
        while (*s == ' ') s++;
    }
    char *end = s;
    while (*end && *end != ' ') end++;
    char *opcode = keep(p, s, (size_t)(end - s));
    char *dot = strchr(opcode, '.');
    if (dot) *dot = 0;
    in->op = ptx_op_of(opcode);
    if (in->op < 0) refuse(p, "an unknown instruction", opcode);
    while (dot) {
        char *w = dot + 1;
        dot = strchr(w, '.');
        if (dot) *dot = 0;
        if (strcmp(w, "shared::cluster") == 0) in->cluster = true;
        if (strncmp(w, "shared::", 8) == 0 && in->n_words < PTX_WORDS) w[6] = 0;
        if (in->n_words < PTX_WORDS) in->word[in->n_words++] = w;
        ptx_type t = type_of(w);
        if (t != T_NONE) {
            in->type2 = in->type;
            in->type = t;
        }
        if (strcmp(w, "v2") == 0) in->vec = 2;
        if (strcmp(w, "v4") == 0) in->vec = 4;
        if (strcmp(w, "param") == 0) in->space = PTX_PARAM;
        if (strcmp(w, "global") == 0 && in->space == 0) in->space = PTX_GLOBAL;
        if (strcmp(w, "shared") == 0 && in->space == 0) in->space = PTX_SHARED;
    }
    for (s = end; *s;) {
        while (*s == ' ' || *s == ',' || *s == '\n') s++;
        if (!*s) break;
        if (in->n == PTX_OPERANDS) {
            refuse(p, "too many operands", in->text);
            return;
        }
        s = operand(p, s, &in->o[in->n++]);
        if (*s == '|') { /* d|p */
            s = operand(p, s + 1, &in->o[PTX_OPERANDS - 1]);
            in->mode2 = 1;
        }
        while (*s == ' ' || *s == '\n') s++;
        if (*s && *s != ',') {
            refuse(p, "a comma was expected", in->text);
            return;
        }
    }
    if (p->m->error[0] == 0 && !ptx_decode(in))
        refuse(p, "a form that the emulator does not know", in->text);
    if (p->m->error[0] == 0) destination(p, in);
}

static void declare(parser *p, char *s)
{
    char name[64], type[16];
    int bytes, align;
    char *many = strchr(s, '<');
    /* %r<4>: %r0 .. %r3 */
    if (many && sscanf(s, ".reg .%15s %40[^<]<%d>", type, name, &bytes) == 3) {
        for (int i = 0; i < bytes; i++) {
            char one[96];
            snprintf(one, sizeof one, ".reg .%s %s%d", type, name, i);
            declare(p, one);
        }
    } else if (sscanf(s, ".reg .%15s %63s", type, name) == 2) {
        if (find(p->reg, p->n_regs, name) >= 0) refuse(p, "a register is declared twice", name);
        if (type_of(type) == T_NONE) refuse(p, "an unknown type", type);
        p->reg = grow(p->reg, &p->cap_regs, p->n_regs + 1, sizeof *p->reg);
        snprintf(p->reg[p->n_regs].name, sizeof name, "%s", name);
        p->reg[p->n_regs].value = p->n_regs;
        p->reg[p->n_regs].holds = false;
        p->n_regs++;
    } else if (sscanf(s, ".shared .align %d .b8 %63[^[][%d]", &align, name, &bytes) == 3) {
        p->shared = grow(p->shared, &p->cap_shared, p->n_shared + 1, sizeof *p->shared);
        p->e->shared_bytes = (p->e->shared_bytes + (size_t)align - 1) / (size_t)align *
                             (size_t)align;
        snprintf(p->shared[p->n_shared].name, sizeof name, "%s", name);
        p->shared[p->n_shared++].value = (int)p->e->shared_bytes;
        p->e->shared_bytes += (size_t)bytes;
        if (p->e->shared_bytes > 48 * 1024)
            refuse(p, "more than 48 KiB of static shared memory", s);
    } else {
        refuse(p, "an unknown declaration", s);
    }
}

/* ".param .b64 p0, .param .align 64 .b8 m0[128]" up to the brace; offsets as the ABI lays them. */
static void params(parser *p, const char *s, const char *end)
{
    ptx_entry *e = p->e;
    for (; s < end; s++) {
        char type[16], name[64];
        int align = 0, bytes = 0, each;
        if (strncmp(s, ".param", 6) != 0) continue;
        if (e->n_params == PTX_PARAMS) {
            refuse(p, "too many parameters", s);
            return;
        }
        if (sscanf(s, ".param .align %d .b8 %63[A-Za-z0-9_][%d]", &align, name, &bytes) != 3) {
            if (sscanf(s, ".param .%15s %63[A-Za-z0-9_]", type, name) != 2)
                refuse(p, "an unknown parameter", s);
            each = strcmp(type, "b64") == 0 || strcmp(type, "u64") == 0 ? 8 : 4;
            align = bytes = each;
        }
        snprintf(e->param[e->n_params].name, sizeof e->param[0].name, "%.15s", name);
        e->param_bytes = (e->param_bytes + align - 1) / align * align;
        e->param[e->n_params].offset = e->param_bytes;
        e->param[e->n_params++].bytes = bytes;
        e->param_bytes += bytes;
    }
}
static int number_after(const char *s, const char *what, const char *end, int otherwise)
{
    const char *at = strstr(s, what);
    return at && at < end ? atoi(at + strlen(what)) : otherwise;
}

static void body(parser *p)
{
    for (;;) {
        skip(p);
        if (*p->at == '}' || !*p->at) break;
        char *start = p->at, *end = start;
        while (*end && *end != ';' && *end != '\n' && (*end != ':' || end[1] == ':'))
            end += *end == ':' ? 2 : 1;
        if (*end == ':') {
            p->label = grow(p->label, &p->cap_labels, p->n_labels + 1, sizeof *p->label);
            snprintf(p->label[p->n_labels].name, sizeof p->label[0].name, "%.*s",
                     (int)(end - start), start);
            p->label[p->n_labels++].value = p->e->n_insts;
            p->at = end + 1;
            continue;
        }
        while (*end && *end != ';') end++;
        char *text = keep(p, start, (size_t)(end - start));
        if (*end != ';') {
            refuse(p, "a semicolon was expected", text);
            return;
        }
        if (*text == '.')
            declare(p, text);
        else
            instruction(p, text);
        for (char *c = start; c < end; c++) p->line += *c == '\n';
        p->at = end + 1;
        if (p->m->error[0]) return;
    }
    for (int i = 0; i < p->e->n_insts; i++)
        for (int k = 0; k < p->e->inst[i].n; k++) {
            ptx_operand *o = &p->e->inst[i].o[k];
            if (o->kind != O_LABEL) continue;
            int to = find(p->label, p->n_labels, (const char *)(uintptr_t)o->imm);
            if (to < 0) refuse(p, "an unknown label", (const char *)(uintptr_t)o->imm);
            o->imm = (uint64_t)to;
        }
    if (*p->at == '}') p->at++;
    p->e->n_regs = p->n_regs;
}

ptx_module *ptx_parse(const char *text)
{
    parser p;
    char name[128];
    memset(&p, 0, sizeof p);
    p.m = calloc(1, sizeof *p.m);
    p.m->text = malloc(strlen(text) + 1);
    strcpy(p.m->text, text);
    p.at = p.m->text;
    p.line = 1;
    while (!p.m->error[0]) {
        skip(&p);
        if (!*p.at) break;
        if (strncmp(p.at, ".version", 8) == 0 || strncmp(p.at, ".target", 7) == 0 ||
            strncmp(p.at, ".address_size", 13) == 0) {
            while (*p.at && *p.at != '\n') p.at++;
        } else if (sscanf(p.at, ".extern .shared .align %d .b8 %63[^[][]", &p.m->external_align,
                          p.m->external) == 2) {
            while (*p.at && *p.at != '\n') p.at++;
        } else if (sscanf(p.at, ".visible .entry %127[^(]", name) == 1) {
            p.m->entry = realloc(p.m->entry, (size_t)(p.m->n_entries + 1) * sizeof *p.m->entry);
            p.e = &p.m->entry[p.m->n_entries++];
            memset(p.e, 0, sizeof *p.e);
            strcpy(p.e->name, name);
            p.n_regs = p.n_labels = p.n_shared = p.cap_insts = 0;
            char *open = strchr(p.at, '{');
            if (open) params(&p, p.at, open);
            for (char *c = p.at; open && c < open; c++) p.line += *c == '\n';
            p.e->max_threads = number_after(p.at, ".maxntid", open, 1024);
            p.e->cluster = number_after(p.at, ".reqnctapercluster", open, 1);
            p.e->max_regs = number_after(p.at, ".maxnreg", open, 0);
            p.e->for_hopper = strstr(text, ".target sm_90a") != NULL;
            p.at = open ? open + 1 : p.at + strlen(p.at);
            body(&p);
        } else {
            refuse(&p, "an unknown directive", p.at);
        }
    }
    free(p.reg);
    free(p.label);
    free(p.shared);
    return p.m;
}

void ptx_free(ptx_module *m)
{
    if (!m) return;
    for (int i = 0; i < m->n_entries; i++) free(m->entry[i].inst);
    for (int i = 0; i < m->n_pieces; i++) free(m->pieces[i]);
    free(m->pieces);
    free(m->entry);
    free(m->text);
    free(m);
}
