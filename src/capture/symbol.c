/* capture/symbol.c: symbolic numbers of a trace: arguments named in .symbolic, cells (cell.c), and
 * what dync_sym_* makes of them. After effects.c, before cell.c.
 *
 * Inside a traced function such a number is a DYNC_KIND_SYM value. It stands in the environment as
 * a 0-dim tensor of int64 or float64 that is marked as a number, in graphs as a node without type:
 * an operator that takes it as a scalar operand has its node as an argument and is inferred with
 * the number it is in this call. Anything else that asks for the plain number specialises: the
 * number is guarded by value. */
#include "../dync.in.h"
#include "trace.h"
DYNC__COLD

/* ---- making ---------------------------------------------------------------------------------- */
/* By need: numbers among an operator's arguments, where a program makes any. */
static void dync__numbers_replace(dync__tracer *, dync__opcall *, dync__number **number);
static void (*DYNC__BY_NEED dync__numbers_replaced)(
    dync__tracer *, dync__opcall *, dync__number **number) = DYNC__AT_FIRST(dync__numbers_replace);
/* In the trace's scratch arena; fake is filled by the caller. NULL: the trace has failed. arg
 * -2: neither an argument nor a cell. */
static dync__number *dync__number_new(dync__tracer *t, dync_value plain, const char *text)
{
    dync__number *x = dync__arena_alloc(&t->scratch, sizeof *x);
    DYNC__PUT(dync__numbers_replaced, dync__numbers_replace);
    if (!x || !text || !dync__vec_push(&t->symbols.number, x)) {
        dync__tracer_fail(t, DYNC_ERR_MEMORY);
        return NULL;
    }
    x->plain = plain;
    x->text = text;
    x->arg = -2;
    return x;
}

/* Booleans count as integers. */
static dync__tensor *dync__number_fake(dync_value plain)
{
    dync__layout lay = {.ndim = 0};
    dync__tensor *fake = dync__tensor_fake(
        plain.kind == DYNC_KIND_FLOAT ? (int)DYNC__REAL : (int)DYNC_I64, DYNC_CPU, &lay);
    if (fake) fake->flags |= DYNC__T_NUMBER;
    return fake;
}

/* An input: it enters the environment. real is what stands there, taken over. */
DYNC__FN dync__number *dync__number_input(dync__tracer *t, dync_value plain, dync__tensor *real,
                                          const char *source)
{
    const char *text = dync__arena_printf(&t->scratch, "s%d",
                                          (t->symbols.sizes ? t->symbols.sizes->symbol.n : 0) +
                                              t->symbols.n_inputs++);
    dync__number *x = dync__number_new(t, plain, text);
    int env = x && real ? dync__tracer_env_add(t, real, dync__number_fake(plain)) : -1;
    dync__unref(real);
    if (env < 0) {
        dync__tracer_fail(t, DYNC_ERR_MEMORY);
        return NULL;
    }
    x->source = source;
    dync__ref(x->fake = t->env.fake.at[env]);
    return x;
}

/* The value that the traced function holds: a pointer to the number, valid inside this trace
 * only. */
DYNC__FN dync_value dync__number_sym(dync__number *x)
{
    dync_value v = {DYNC_KIND_SYM, 0, {0}};
    v.as.p = x;
    return x ? v : DYNC_NONE;
}

/* After the tensors: the arguments that are symbolic numbers, each in its place of the
 * environment. */
static dync_status dync__numbers_enter(dync__tracer *t)
{
    const dync__cache_entry *e = t->entry;
    for (int k = 0; k < e->n_numbers; k++) {
        int i = e->number_arg[k];
        const char *source = e->item[e->number_item[k]].source;
        dync__number *x =
            dync__number_input(t, t->call->args[i], dync__number_tensor(t->call->args[i]), source);
        if (!x) return DYNC_ERR_MEMORY;
        x->arg = k;
    }
    return DYNC_OK;
}
/* By need: linked where a function is compiled with .symbolic. */
static dync_status (*DYNC__BY_NEED dync__numbers_enter_used)(dync__tracer *) =
    DYNC__AT_FIRST(dync__numbers_enter);
DYNC__FN dync_status dync__numbers_open(dync__tracer *t)
{
    if (!t->entry->n_numbers) return DYNC_OK;
    return dync__numbers_enter_used ? dync__numbers_enter_used(t)
                                    : dync__unlinked("symbolic numbers");
}

/* In a call that follows a script, whose fake it is. */
DYNC__FN bool dync__number_again(dync__tracer *t, int k, dync__tensor *fake)
{
    const dync__cache_entry *e = t->entry;
    dync__number *x =
        dync__number_new(t, t->call->args[e->number_arg[k]],
                         dync__arena_printf(&t->scratch, "s%d",
                                            (t->symbols.sizes ? t->symbols.sizes->symbol.n : 0) +
                                                t->symbols.n_inputs++));
    if (!x) return false;
    x->source = e->item[e->number_item[k]].source;
    x->arg = k;
    dync__ref(x->fake = fake);
    return true;
}

DYNC__OFTEN DYNC__FN void dync__numbers_close(dync__tracer *t)
{
    for (int i = 0; i < t->symbols.number.n; i++) dync__unref(t->symbols.number.at[i]->fake);
    dync__vec_free(&t->symbols.number);
    dync__vec_free(&t->symbols.cell);
}

/* The argument as the function sees it. */
DYNC__OFTEN DYNC__FN bool dync__number_argument(dync__tracer *t, int i, dync_value *v)
{
    const dync__cache_entry *e = t->entry;
    for (int k = 0; k < e->n_numbers; k++)
        if (e->number_arg[k] == i && DYNC__ATOMIC_PEEK(&e->item[e->number_item[k]].free_value)) {
            *v = dync__number_sym(t->symbols.number.at[k]);
            return true;
        }
    return false;
}

/* ---- specialising ---------------------------------------------------------------------------- */
/* Guards the number by value from now on, and all that it was computed from. An entry whose tree
 * has served other values with this number free is dead: its paths assume too little. */
static void dync__number_fix(dync__tracer *t, dync__number *x)
{
    dync__cache_entry *e = t->entry;
    for (int i = 0; i < 2; i++)
        if (x->of[i]) dync__number_fix(t, x->of[i]);
    if (x->arg == DYNC__NUMBER_DATA)
        dync__fail_class(DYNC_ERR_UNSUPPORTED, "UserError",
                         "Could not guard on data-dependent expression %s: data decide it, and the "
                         "graph is made before they are known. Operators and dync_sym_* take it "
                         "whole; for anything else leave it a tensor",
                         x->text);
    if (x->arg >= 0) {
        dync__guard_item *g = &e->item[e->number_item[x->arg]];
        bool same = g->kind == DYNC_KIND_FLOAT
                        ? memcmp(&g->as.f, &x->plain.as.f, sizeof g->as.f) == 0
                        : g->as.i == x->plain.as.i;
        /* it has served other values on other ways */
        if (t->on_tree && !same) DYNC__ATOMIC_STORE(&e->dead, true);
        if (t->on_tree) DYNC__ATOMIC_STORE(&g->free_value, false);
    }
    for (int i = 0; x->cell && i < e->cells.n; i++)
        if (e->cells.at[i].cell == x->cell && t->on_tree && !e->cells.at[i].fixed) {
            e->cells.at[i].value = x->plain;
            DYNC__ATOMIC_STORE(&e->cells.at[i].fixed, true);
            if (t->path.n) DYNC__ATOMIC_STORE(&e->dead, true);
        }
}

/* Hook of tensor/value.c: a symbol is read as a plain number. Outside a trace, or in another
 * one, an error and 0. */
static dync_value dync__number_specialise(dync_value v)
{
    dync__tracer *t = dync__tracer_current();
    dync__number *x = dync__number_find(t, v.as.p);
    if (!x) {
        dync__fail(DYNC_ERR_VALUE, "a symbolic number was used outside the traced function that "
                                   "it belongs to");
        return dync_v_int(0);
    }
    dync__number_fix(t, x);
    return x->plain;
}

/* ---- operators with symbolic operands -------------------------------------------------------- */
/* A plain number of this call enters the environment. Its place, -1: no memory. */
DYNC__FN int dync__number_enter(dync__tracer *t, dync_value plain)
{
    dync__tensor *real = dync__number_tensor(plain);
    int env = real ? dync__tracer_env_add(t, real, dync__number_fake(plain)) : -1;
    dync__unref(real);
    return env;
}

/* Under the tape a symbol is the 0-dim tensor that it is in the environment, for rules to save:
 * where that is the same operator. */
static bool dync__number_as_tensor(const dync__opcall *c, int i)
{
    const dync__op_row *row = c->row->cls == DYNC__INPLACE && c->row->inplace_of >= 0
                                  ? dync__op_info(c->row->inplace_of)
                                  : c->row;
    const dync__arg *other = &c->args[i ? 0 : 1];
    return row->flags & DYNC__OP_ARITH && i < 2 && other->kind == DYNC__A_TENSOR &&
           !(other->as.t->flags & DYNC__T_NUMBER) &&
           dync__dtype_info(other->as.t->dtype)->kind == 'f';
}

/* Symbols among the arguments become the numbers they are; number[i] is set where the operator may
 * take the node instead. */
static void dync__numbers_replace(dync__tracer *t, dync__opcall *c, dync__number **number)
{
    for (int i = 0; i < c->nargs; i++) {
        dync__number *x = c->args[i].kind == DYNC__A_PTR ? dync__number_find(t, c->args[i].as.p)
                                                         : NULL;
        number[i] = NULL;
        if (!x) continue;
        bool tensor = t->tape.on && dync__number_as_tensor(c, i);
        if (!t->tape.on && dync__number_place(c->op, i))
            number[i] = x;
        else if (!tensor)
            dync__number_fix(t, x);
        c->args[i] = tensor ? dync__arg_t(x->fake) : dync__arg_value(x->plain);
    }
}
DYNC__FN void dync__number_operands(dync__tracer *t, dync__opcall *c, dync__number **number)
{
    if (dync__numbers_replaced) dync__numbers_replaced(t, c, number);
}

/* ---- arithmetic ------------------------------------------------------------------------------ */
/* The operand as sympy would print it: a sum inside a product gets parentheses. */
static const char *dync__number_operand_text(dync__tracer *t, const dync__number *x, dync_value v,
                                             bool product)
{
    char text[40];
    if (x) return product && x->sum ? dync__arena_printf(&t->scratch, "(%s)", x->text) : x->text;
    if (v.kind != DYNC_KIND_FLOAT)
        return dync__arena_printf(&t->scratch, "%lld", (long long)dync_as_int(v));
    dync__double_text(v.as.f, text, sizeof text);
    return dync__arena_strdup(&t->scratch, text);
}

/* A symbol's node (NULL in it: no memory), or the plain number. */
static dync__arg dync__number_operand(dync__tracer *t, dync__number *x, dync_value v)
{
    return x ? dync__arg_node(dync__number_node(t, x)) : dync__arg_value(v);
}

/* Node n of the pending graph is the number x. False: the trace has failed. */
static bool dync__number_made(dync__tracer *t, dync__number *x, dync__node *n)
{
    dync__tensor *fake = n ? dync__number_fake(x->plain) : NULL;
    if (!fake || !dync__record_made(t, fake, n)) {
        dync__tracer_fail(t, dync__fail_memory(0));
        return false;
    }
    n->has_info = false;
    n->scalar = dync__arg_value(x->plain);
    n->sym = dync__arena_strdup(&t->rec.graph->arena, x->text);
    n->at = t->last_at;
    t->rec.pending++;
    /* whoever holds the value: nobody knows, so it always leaves at a break */
    dync__ref(x->fake = fake);
    return true;
}

/* True: traced, *result is the symbol of the sum, difference, product or quotient. op: of the
 * operator table; plain: what it is now. */
DYNC__FN bool dync__number_apply(int op, dync_value a, dync_value b,
                                 dync_value (*compute)(int op, dync_value, dync_value),
                                 dync_value *result)
{
    dync__tracer *t = dync__tracer_current();
    dync__number *x = a.kind == DYNC_KIND_SYM ? dync__number_find(t, a.as.p) : NULL,
                 *y = b.kind == DYNC_KIND_SYM ? dync__number_find(t, b.as.p) : NULL;
    *result = DYNC_NONE;
    if ((a.kind == DYNC_KIND_SYM && !x) || (b.kind == DYNC_KIND_SYM && !y))
        return dync__fail(
                   DYNC_ERR_VALUE,
                   "a symbolic number was used outside the traced function that it belongs to"),
               true;
    dync_value plain = compute(op, x ? x->plain : a, y ? y->plain : b);
    if (plain.kind == DYNC_KIND_NONE || t->stopped) return true;
    const dync__arith *is = dync__op_arith(op);
    const char *left = dync__number_operand_text(t, x, a, is->tight),
               *right = dync__number_operand_text(t, y, b, is->tight_right);
    if (is->swaps && x && !y) {
        const char *hold = left;
        left = right;
        right = hold;
    }
    dync__number *z =
        left && right
            ? dync__number_new(t, plain,
                               dync__arena_printf(&t->scratch, is->closed ? "(%s%s%s)" : "%s%s%s",
                                                  left, is->sign, right))
            : NULL;
    if (!z || !dync__tracer_graph(t)) return true;
    z->sum = is->sum;
    z->of[0] = x;
    z->of[1] = y;
    dync__arg args[2] = {dync__number_operand(t, x, a), dync__number_operand(t, y, b)};
    bool made = (!x || args[0].as.node) && (!y || args[1].as.node);
    dync__node *n = made ? dync__graph_call(t->rec.graph, op, 2, args, 1, NULL, NULL) : NULL;
    if (dync__number_made(t, z, n)) *result = dync__number_sym(z);
    return true;
}

/* The node reads it when the graph runs. */
DYNC__FN dync_value dync__number_item(dync__tracer *t, dync__tensor *of)
{
    int k = 0;
    for (int i = 0; i < t->symbols.number.n; i++)
        k += t->symbols.number.at[i]->arg == DYNC__NUMBER_DATA;
    dync__number *x = dync__number_new(t, dync_v_float(DYNC__NUMBER_HINT),
                                       dync__arena_printf(&t->scratch, "zuf%d", k));
    if (!x || !dync__tracer_graph(t)) {
        dync__tracer_fail(t, dync__fail_memory(0));
        return DYNC_NONE;
    }
    dync__arg arg = dync__arg_node(dync__tracer_node(t, of));
    int op = DYNC__USED(DYNC__OP__local_scalar_dense);
    dync__node *n = arg.as.node ? dync__graph_call(t->rec.graph, op, 1, &arg, 1, NULL, "item")
                                : NULL;
    if (!dync__number_made(t, x, n)) return DYNC_NONE;
    dync__script_stop(t);
    x->arg = DYNC__NUMBER_DATA;
    return dync__number_sym(x);
}

DYNC__FN void dync__numbers_install(void)
{
    DYNC__ATOMIC_STORE(&dync__specialise_hook, dync__number_specialise);
}
/* Where a small program has such numbers. */
DYNC__FN void dync__capture_use_numbers(void)
{
    DYNC__PUT(dync__numbers_enter_used, dync__numbers_enter);
    dync__numbers_install();
}
