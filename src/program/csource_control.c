/* program/csource_control.c: operators with functions inside as C: an if, or a loop over the code
 * of the function. After csource_steps.c, which writes that code.
 *
 * As inductor/control.c runs them: carried values go back and forth between the step's results and
 * the bytes it works in, slices of what is scanned and stacked are read and written where they lie.
 * What the functions work in comes behind the carried values. */
#include "../dync.in.h"
#include "../graph/control.h"
#include "csource.h"
DYNC__COLD

/* A function inside: its C function, and the bytes it works in. */
typedef struct dync__csource_inner {
    const dync__csource_fn *fn;
    int64_t bytes;
} dync__csource_inner;

/* static void NAME(const float *in0, float *out0, unsigned char *a) { ... } */
static dync_status dync__csource_inner_text(dync__csource *c, dync__csource_unit *u, dync__str *s)
{
    const dync__graph *g = u->graph;
    const char *before = "";
    dync__str_add(s, "static void @(");
    for (int i = 0; i < u->n_in; i++, before = ", ")
        dync__str_addf(s, "%sconst %s *in%d", before,
                       dync__dtype_c_type(g->node.at[i]->info[0].dtype), i);
    for (int i = 0; i < u->n_out; i++, before = ", ")
        dync__str_addf(s, "%s%s *out%d", before, dync__dtype_c_type(u->out[i].dtype), i);
    if (u->arena_bytes) dync__str_addf(s, "%sunsigned char *a", before);
    dync__str_add(s, u->arena_bytes || *before ? ")\n{\n" : "void)\n{\n");
    dync__csource_body(c, u, s);
    dync__str_add(s, "}\n");
    return s->failed ? DYNC_ERR_MEMORY : DYNC_OK;
}

/* recursion: a function may have some inside */
static dync_status dync__csource_inner_make(dync__csource *c, const dync__kcall *call,
                                            const dync__tensor **given, dync__graph *g,
                                            dync__csource_inner *out)
{
    dync__csource_unit u;
    dync__str text = {0};
    memset(&u, 0, sizeof u);
    u.graph = g;
    u.n_in = g->n_inputs;
    u.given = given;
    dync_status status = dync__inductor_steps(g, c->syms != NULL, &u.arena, &u.pb, &u.lowered);
    u.n_out = u.lowered.n_out;
    u.out = u.lowered.out;
    for (int i = 0; i < u.pb.slot.n && status == DYNC_OK; i++)
        if (u.pb.slot.at[i].kind == DYNC__SLOT_INPUT && u.pb.slot.at[i].index >= u.n_in)
            status = dync__csource_refuse(call, "has a function that holds a tensor of its own; "
                                                "give it as an argument");
    if (status == DYNC_OK && u.pb.rng_used)
        status = dync__csource_refuse(call, "has a function that draws random numbers; draw them "
                                            "outside and give them as an argument");
    if (status == DYNC_OK) status = dync__csource_unit_plan(c, &u);
    if (status == DYNC_OK) status = dync__csource_inner_text(c, &u, &text);
    if (status == DYNC_OK && !(out->fn = dync__csource_function(c, &text)))
        status = DYNC_ERR_MEMORY;
    out->bytes = u.arena_bytes;
    dync__str_free(&text);
    dync__csource_unit_free(&u);
    return status;
}

/* What a scan's function takes behind carried values and slices: constants of the unit around it,
 * or NULL. Of other operators nothing is known. */
static const dync__tensor **dync__csource_inner_given(const dync__csource *c, dync__csource_unit *u,
                                                      const dync__control *k,
                                                      const dync__kcall *call)
{
    const dync__tensor **given =
        dync__arena_alloc(&u->arena, (size_t)(call->n + 1) * sizeof *given);
    for (int i = 0; given && i < call->n; i++) {
        bool same = !k->pred && !k->test && i >= k->n_in + k->n_xs;
        const dync__tensor *t = same ? dync__csource_constant(c, u, call->operand[i].slot) : NULL;
        given[i] = t && call->operand[i].lay.offset == 0 ? t : NULL;
    }
    return given;
}

/* ---- text ------------------------------------------------------------------------------------ */

typedef struct dync__csource_loop {
    dync__csource *c;
    const dync__control *control;
    const dync__kcall *call;
    dync__str *s;
    int64_t inner; /* bytes of the carried values; those of the functions stand behind */
    int first_out;
} dync__csource_loop;

static int64_t dync__csource_item(const dync__layout *lay, int from)
{
    int64_t n = 1;
    for (int d = from; d < lay->ndim; d++) n = dync__sz_mul(n, lay->shape[d]);
    return n;
}

/* The rest of a call's arguments: the bytes, the sizes. */
static void dync__csource_end_call(const dync__csource_loop *l, const dync__csource_inner *f,
                                   const char *before)
{
    if (f->bytes) {
        dync__str_addf(l->s, l->inner ? "%sa + %lld" : "%sa", before, (long long)l->inner);
        before = ", ";
    }
    dync__csource_symbols(l->c, f->fn->uses, before, "", l->s);
    dync__str_add(l->s, ");\n");
}

static void dync__csource_cond(const dync__csource_loop *l, const dync__csource_inner *f)
{
    for (int way = 0; way < 2; way++) {
        dync__str_addf(l->s, "    %s\n        %s(", way ? "else" : "if (*p0)", f[way].fn->name);
        for (int i = 1; i < l->call->n; i++) dync__str_addf(l->s, "%sp%d", i > 1 ? ", " : "", i);
        dync__csource_end_call(l, &f[way], l->call->n > 1 ? ", " : "");
    }
}

/* What a round's function takes: carried values, slices, the rest. */
static const char *dync__csource_round_in(const dync__csource_loop *l)
{
    const dync__control *k = l->control;
    const char *before = "";
    for (int i = 0; i < l->first_out; i++, before = ", ") {
        dync__str_addf(l->s, i < k->n_in ? "%sc%d" : "%sp%d", before, i);
        if (i < k->n_in || i >= k->n_in + k->n_xs) continue;
        bool first = false;
        dync__term_csource(l->s, dync__csource_item(&l->call->operand[i].lay, 1), "t", &first);
    }
    return before;
}

static void dync__csource_round(const dync__csource_loop *l, const dync__csource_inner *body)
{
    const dync__control *k = l->control;
    if (k->n_in) dync__str_add(l->s, "        now = !now;\n");
    dync__str_addf(l->s, "        %s(", body->fn->name);
    const char *before = dync__csource_round_in(l);
    for (int i = 0; i < k->n_out; i++, before = ", ") {
        if (i < k->n_in) {
            dync__str_addf(l->s, "%sside%d[now]", before, i);
            continue;
        }
        bool first = false;
        dync__str_addf(l->s, "%sp%d", before, l->first_out + i);
        dync__term_csource(l->s, dync__csource_item(&l->call->operand[l->first_out + i].lay, 1),
                           "t", &first);
    }
    dync__csource_end_call(l, body, before);
    for (int i = 0; i < k->n_in; i++) dync__str_addf(l->s, "        c%d = side%d[now];\n", i, i);
    dync__str_add(l->s, "    }\n");
}

/* Bytes of the second place of carried value i. */
static dync_status dync__csource_side(const dync__csource_loop *l, int i, int64_t *bytes)
{
    const dync__operand *o = l->call->operand + l->first_out + i;
    int64_t most;
    DYNC__TRY(dync__csource_most(dync__csource_item(&o->lay, 0), &most));
    *bytes = (most * dync__dtype_info(o->dtype)->bytes + 7) & ~(int64_t)7;
    return DYNC_OK;
}

static void dync__csource_sides(const dync__csource_loop *l)
{
    const dync__operand *operand = l->call->operand;
    int64_t at = 0, bytes = 0;
    for (int i = 0; i < l->control->n_in; i++, at += bytes) {
        const char *type = dync__dtype_c_type(operand[i].dtype);
        dync__str_addf(l->s, "    %s *side%d[2] = {p%d, (%s *)(void *)(a + %lld)};\n", type, i,
                       l->first_out + i, type, (long long)at);
        dync__str_addf(l->s, "    const %s *c%d = p%d;\n", type, i, i);
        if (dync__csource_side(l, i, &bytes) != DYNC_OK) return; /* it was asked for before */
    }
}

static void dync__csource_repeat(const dync__csource_loop *l, const dync__csource_inner *f)
{
    const dync__control *k = l->control;
    dync__csource_sides(l);
    if (k->n_in) dync__str_add(l->s, "    int now = 1;\n");
    if (k->test) {
        dync__str_add(l->s, "    uint8_t on = 0;\n");
        if (k->most > 0)
            dync__str_addf(l->s, "    for (int64_t round = 0; round < %lld; round++) {\n",
                           (long long)k->most);
        else
            dync__str_add(l->s, "    for (;;) {\n");
        dync__str_addf(l->s, "        %s(", f[1].fn->name);
        const char *before = dync__csource_round_in(l);
        dync__str_addf(l->s, "%s&on", before);
        dync__csource_end_call(l, &f[1], ", ");
        dync__str_add(l->s, "        if (!on) break;\n");
    } else {
        int64_t length = l->call->operand[k->n_in].lay.shape[0];
        dync__str_add(l->s, k->reverse ? "    for (int t = " : "    for (int t = 0; t < ");
        dync__size_csource(l->s, length);
        dync__str_add(l->s, k->reverse ? " - 1; t >= 0; t--) {\n" : "; t++) {\n");
    }
    dync__csource_round(l, f);
    for (int i = 0; i < k->n_in; i++) {
        const dync__operand *o = l->call->operand + l->first_out + i;
        dync__str_addf(l->s, "    if (c%d != p%d) memcpy(p%d, c%d, sizeof *c%d * (size_t)(", i,
                       l->first_out + i, l->first_out + i, i, i);
        dync__size_csource(l->s, dync__csource_item(&o->lay, 0));
        dync__str_add(l->s, "));\n");
    }
}

/* Carried values have a second place, then the functions work behind them, one at a time. */
static dync_status dync__csource_loop_room(dync__csource_loop *l, const dync__csource_inner *f,
                                           int n_fns, int64_t *bytes)
{
    int64_t side, inner = 0;
    for (int i = 0; i < l->control->n_in && !l->control->pred; i++) {
        DYNC__TRY(dync__csource_side(l, i, &side));
        l->inner += side;
    }
    for (int i = 0; i < n_fns; i++) inner = DYNC__MAX(inner, f[i].bytes);
    *bytes = l->inner + inner;
    return DYNC_OK;
}

DYNC__FN dync_status dync__csource_control(dync__csource *c, dync__csource_unit *u,
                                           dync__csource_step *step, dync__str *text)
{
    const dync__kcall *call = step->at.call;
    const dync__node *n = call->attr.opaque.node;
    dync__control control;
    dync__csource_inner f[2];
    DYNC__TRY(dync__control_open(&control, n->op, n->nargs, n->args));
    dync__csource_loop l = {.c = c, .control = &control, .call = call, .s = text};
    l.first_out = control.pred ? 1 + control.n_in : control.n_in + control.n_xs + control.n_more;
    dync__graph *second = control.pred ? control.fn[1] : control.test;
    const dync__tensor **given = dync__csource_inner_given(c, u, &control, call);
    if (!given) return DYNC_ERR_MEMORY;
    DYNC__TRY(dync__csource_inner_make(c, call, given, control.fn[0], &f[0]));
    if (second) DYNC__TRY(dync__csource_inner_make(c, call, given, second, &f[1]));
    DYNC__TRY(dync__csource_loop_room(&l, f, second ? 2 : 1, &step->scratch));
    dync__str_add(text, "static void @(");
    for (int i = 0; i < call->n; i++)
        dync__str_addf(text, "%s%s%s *p%d", i ? ", " : "", i < l.first_out ? "const " : "",
                       dync__dtype_c_type(call->operand[i].dtype), i);
    dync__str_add(text, step->scratch ? ", unsigned char *a)\n{\n" : ")\n{\n");
    if (control.pred)
        dync__csource_cond(&l, f);
    else
        dync__csource_repeat(&l, f);
    dync__str_add(text, "}\n");
    return text->failed ? DYNC_ERR_MEMORY : DYNC_OK;
}
