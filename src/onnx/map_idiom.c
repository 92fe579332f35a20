/* onnx/map_idiom.c: several nodes that are one operator of dync, as exporters and dync's own writer
 * put it where ONNX, or the version that is written, has no node for it. After call.c.
 *
 * An idiom is a formula over ONNX's operators (out_rows.def.h has the writer's), a the operand. A
 * Cast is one to the type of a.
 * Nodes before the last one stay in the walk; neat.c drops them where nobody else reads them. */
#include "../dync.in.h"
#include "maps.h"
DYNC__COLD

/* dync's operator, formula; the last node has to be one that asks (dync__oi_idiom) */
/* clang-format off */
#define DYNC__OI_IDIOMS(X)                                                                                        \
    X(gelu,      "Mul(Mul(a,0.5),Add(1,Erf(Mul(a,0.7071067811865476))))")                                         \
    X(gelu,      "Mul(Mul(a,Add(Erf(Div(a,1.4142135623730951)),1)),0.5)")                                         \
    X(gelu,      "Mul(a,Mul(Add(Erf(Div(a,1.4142135623730951)),1),0.5))")                                         \
    X(gelu,      "Mul(Mul(a,0.5),Add(Erf(Mul(a,0.7071067811865476)),1))")                                         \
    X(gelu_tanh, "Mul(Mul(0.5,a),Add(1,Tanh(Mul(0.7978845608028654,Add(a,Mul(0.044715,Mul(Mul(a,a),a)))))))")     \
    X(silu,      "Mul(a,Sigmoid(a))")                                                                             \
    X(rsqrt,     "Div(1,Sqrt(a))")                                                                                \
    X(log2,      "Mul(Log(a),1.4426950408889634)")                                                                \
    X(log10,     "Mul(Log(a),0.4342944819032518)")                                                                \
    X(expm1,     "Mul(Tanh(Mul(a,0.5)),Add(Exp(a),1))")                                                           \
    X(sign,      "Sub(Cast(Greater(a,0)),Cast(Less(a,0)))")                                                       \
    X(where,     "Or(And(a,b),And(Not(a),c))")
/* clang-format on */

typedef struct dync__oi_match {
    const dync__onnx_call *c;
    const char *at; /* what is left of the formula */
    dync__onnx_place operand[3];
    bool bound[3];
    int ndim; /* the most dims of a number */
} dync__oi_match;

/* Is the value known, and this number in its own precision? */
static bool dync__oi_match_number(dync__oi_match *m, dync__onnx_place p, double number)
{
    if (p.up || p.at < 0) return false;
    const dync__tensor *t = dync__peek(m->c->frame->value[p.at].t);
    if (!t || t->flags & DYNC__T_FAKE || t->numel != 1) return false;
    double value = dync__load_f64(dync__tensor_data(t), t->dtype);
    m->ndim = DYNC__MAX(m->ndim, t->lay.ndim);
    return t->dtype == DYNC_F32 ? (float)value == (float)number : value == number;
}

static bool dync__oi_match_operand(dync__oi_match *m, dync__onnx_place p)
{
    int i = *m->at++ - 'a';
    if (m->bound[i]) return m->operand[i].up == p.up && m->operand[i].at == p.at;
    m->operand[i] = p;
    return m->bound[i] = true;
}

/* Has the result of the step the type of a? */
static bool dync__oi_match_type(const dync__oi_match *m, const dync__onnx_step *s)
{
    const dync__onnx_place a = m->operand[0];
    if (!m->bound[0] || a.up || a.at < 0 || s->out[0] < 0) return false;
    return dync__oi_type(m->c->frame->value[s->out[0]].t) ==
           dync__oi_type(m->c->frame->value[a.at].t);
}

/* recursion: operands inside operands. The formula goes on behind what was matched. */
static bool dync__oi_match_node(dync__oi_match *m, const dync__onnx_step *s)
{
    size_t n = strcspn(m->at, "(,)");
    if (!s || !s->row || s->node->output.n != 1) return false;
    if (strlen(s->row->name) != n || memcmp(s->row->name, m->at, n) != 0) return false;
    bool cast = strcmp(s->row->name, "Cast") == 0;
    if (s->node->attribute.n && !cast) return false;
    m->at += n;
    for (int i = 0; *m->at != ')'; i++) {
        m->at++; /* ( or , */
        if (i >= s->node->input.n) return false;
        dync__onnx_place p = s->in[i];
        const dync__onnx_body *b = m->c->frame->body;
        if (*m->at >= 'a' && *m->at <= 'c') {
            if (!dync__oi_match_operand(m, p)) return false;
        } else if (*m->at >= '0' && *m->at <= '9') {
            double number;
            if (!dync__text_double(m->at, &m->at, &number) || !dync__oi_match_number(m, p, number))
                return false;
        } else {
            int at = p.up || p.at < 0 ? -1 : b->maker[p.at];
            if (!dync__oi_match_node(m, at < 0 ? NULL : &b->step[at])) return false;
        }
    }
    m->at++;
    return !cast || dync__oi_match_type(m, s);
}

/* Operators as the table calls them: on operands a, b, c; NULL: not of such types. */
#define DYNC__OI_IDIOM_ONE(name)                                         \
    static dync_tensor *dync__oi_idiom_##name(dync_tensor *const *in)    \
    {                                                                    \
        bool real = dync__dtype_info(dync__oi_type(in[0]))->kind == 'f'; \
        return real ? (dync_##name)(in[0]) : NULL;                       \
    }
DYNC__OI_IDIOM_ONE(gelu)
DYNC__OI_IDIOM_ONE(gelu_tanh)
DYNC__OI_IDIOM_ONE(silu)
DYNC__OI_IDIOM_ONE(rsqrt)
DYNC__OI_IDIOM_ONE(log2)
DYNC__OI_IDIOM_ONE(log10)
DYNC__OI_IDIOM_ONE(expm1)
static dync_tensor *dync__oi_idiom_sign(dync_tensor *const *in) { return (dync_sign)(in[0]); }
static dync_tensor *dync__oi_idiom_where(dync_tensor *const *in)
{
    return (dync_where)(in[0], dync_v_tensor(in[1]), dync_v_tensor(in[2]));
}

DYNC__FN dync_tensor *dync__oi_idiom(const dync__onnx_call *c)
{
    static const struct {
        const char *formula;
        dync_tensor *(*fn)(dync_tensor *const *);
    } idiom[] = {
#define DYNC__X(name, formula) {formula, dync__oi_idiom_##name},
        DYNC__OI_IDIOMS(DYNC__X)
#undef DYNC__X
    };
    for (int i = 0; c->frame && i < DYNC__COUNT_OF(idiom); i++) {
        dync__oi_match m = {.c = c, .at = idiom[i].formula};
        dync_tensor *in[3] = {0};
        bool here = dync__oi_match_node(&m, c->step) && m.bound[0];
        for (int k = 0; k < 3 && here && m.bound[k]; k++) {
            in[k] = m.operand[k].up || m.operand[k].at < 0 ? NULL
                                                           : c->frame->value[m.operand[k].at].t;
            here = in[k] != NULL;
        }
        here = here && m.ndim <= dync__oi_rank(in[0]); /* numbers of more dims give it dims */
        dync_tensor *y = here ? idiom[i].fn(in) : NULL;
        if (y) return y;
    }
    return NULL;
}

/* ---- linear layers --------------------------------------------------------------------------- */

/* The step of this body that makes input i of a step, of that operator; NULL: another one. */
static const dync__onnx_step *dync__oi_idiom_step(const dync__onnx_call *c,
                                                  const dync__onnx_step *s, int i, const char *type)
{
    const dync__onnx_body *b = c->frame->body;
    if (i >= s->node->input.n || s->in[i].up || s->in[i].at < 0) return NULL;
    int at = b->maker[s->in[i].at];
    const dync__onnx_step *m = at < 0 ? NULL : &b->step[at];
    return m && m->row && !*m->row->domain && strcmp(m->row->name, type) == 0 ? m : NULL;
}

/* The value of input i of a step, where it is one of this body; else NULL. */
static dync_tensor *dync__oi_idiom_in(const dync__onnx_call *c, const dync__onnx_step *s, int i)
{
    bool here = i < s->node->input.n && !s->in[i].up && s->in[i].at >= 0;
    return here ? c->frame->value[s->in[i].at].t : NULL;
}

static bool dync__oi_idiom_known(const dync_tensor *h, int rank)
{
    const dync__tensor *t = dync__peek(h);
    return t && !(t->flags & DYNC__T_FAKE) && t->lay.ndim == rank;
}

DYNC__FN bool dync__oi_is_recorded(const dync_tensor *h)
{
    const dync__tensor *t = dync__peek(h);
    return t && t->flags & DYNC__T_FAKE && !dync__tls.compiling;
}

DYNC__FN dync_tensor *dync__oi_idiom_linear(const dync__onnx_call *c)
{
    bool add = strcmp(c->row->name, "Add") == 0;
    const dync__onnx_step *product = add ? dync__oi_idiom_step(c, c->step, 0, "MatMul") : c->step;
    const dync__onnx_step *moved = product ? dync__oi_idiom_step(c, product, 1, "Transpose") : NULL;
    if (!moved) return NULL;
    dync_tensor *x = dync__oi_idiom_in(c, product, 0), *w = dync__oi_idiom_in(c, moved, 0),
                *bias = add ? dync__oi_in(c, 1) : NULL;
    if (!dync__oi_is_recorded(x) || !dync__oi_idiom_known(w, 2) ||
        dync__dtype_info(dync__oi_type(w))->kind != 'f')
        return NULL;
    if (add &&
        (!dync__oi_idiom_known(bias, 1) || dync__oi_extent(bias, 0) != dync__oi_extent(w, 0)))
        return NULL;
    return dync_linear(x, w, bias);
}
