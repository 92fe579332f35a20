/* capture/record.c: the recording: operators of traced code as nodes of the pending graph, their
 * results as fakes. After env.c, before sizes.c; cut.c turns the pending graph into segments. */
#include "../dync.in.h"
#include "trace.h"
DYNC__COLD

/* ---- inputs ---------------------------------------------------------------------------------- */
/* L['bc'][0] -> L_bc_0_, the name Dynamo gives. */
static const char *dync__source_name(dync__arena *arena, const char *source, char name[64])
{
    size_t n = 0;
    bool gap = false;
    for (const char *p = source; *p && n < 60; p++) {
        bool word = dync__is_word(*p);
        if (word && gap && n) name[n++] = '_';
        gap = !word;
        if (word) name[n++] = *p;
    }
    name[n++] = '_';
    name[n] = 0;
    return dync__arena_strdup(arena, name);
}

static void dync__name_lower(char *p)
{
    for (; *p; p++)
        if (*p >= 'A' && *p <= 'Z') *p = (char)(*p - 'A' + 'a');
}

DYNC__FN dync__node *dync__graph_input_of(dync__graph *g, const char *source,
                                          const dync__info *info)
{
    char name[64];
    const char *target = dync__source_name(&g->arena, source, name);
    dync__name_lower(name);
    dync__node *n = target ? dync__graph_placeholder(g, name, source, info) : NULL;
    if (n) n->target = target;
    return n;
}

static const char *dync__env_source(dync__tracer *t, int env)
{
    const dync__cache_entry *e = t->entry;
    for (int i = 0; i < e->n_tensors; i++)
        if (t->leaf[i] == env) return e->tensor[i].source;
    const dync__tnode *at = t->at ? t->at : t->on_tree ? e->root : NULL;
    for (int i = 0; at && i < at->foreign.n; i++)
        if (at->foreign.at[i].env == env)
            return e->foreign.at[at->foreign.at[i].index].guard.source;
    for (int i = 0; i < e->foreign.n; i++)
        if (t->env.real.at[env] && !e->foreign.at[i].owner &&
            e->foreign.at[i].id == t->env.real.at[env]->id)
            return e->foreign.at[i].guard.source;
    return NULL;
}

DYNC__FN bool dync__tracer_graph(dync__tracer *t)
{
    if (t->rec.graph) return true;
    t->rec.graph = dync__graph_new("GraphModule");
    t->rec.grad_off = dync__grad_is_off();
    return t->rec.graph != NULL;
}

DYNC__FN dync__node *dync__tracer_input(dync__tracer *t, dync__graph *g, int env)
{
    char name[64];
    const char *source = dync__env_source(t, env), *text = NULL;
    dync_value plain;
    bool cell = false;
    if (t->env.fake.at[env]->flags & DYNC__T_NUMBER)
        text = dync__number_text(t, t->env.fake.at[env], &plain, &source, &cell);
    dync__info info, *known = text ? NULL : &info;
    dync__info_of(&info, t->env.fake.at[env], -1);
    dync__node *n;
    if (source && !cell) {
        n = dync__graph_input_of(g, source, known);
    } else {
        if (cell)
            dync__format(name, sizeof name, "%s", source);
        else
            dync__format(name, sizeof name, "stack%d", env);
        dync__name_lower(name);
        n = dync__graph_placeholder(g, name, source, known);
        if (n && cell) n->target = dync__arena_strdup(&g->arena, source);
    }
    if (!n) return NULL;
    if (text) {
        n->scalar = dync__arg_value(plain);
        n->sym = dync__arena_strdup(&g->arena, text);
    }
    n->requires_grad[0] = (t->env.fake.at[env]->flags & DYNC__T_REQUIRES_GRAD) != 0;
    n->env = env;
    return n;
}

static dync__node *dync__tracer_placeholder(dync__tracer *t, int env)
{
    if (!t->env.holder.at[env]) t->env.holder.at[env] = dync__tracer_input(t, t->rec.graph, env);
    return t->env.holder.at[env];
}

DYNC__FN dync__node *dync__tracer_node(dync__tracer *t, dync__tensor *fake)
{
    if (!dync__tracer_graph(t)) return NULL;
    return fake->node ? fake->node : dync__tracer_placeholder(t, fake->node_output);
}

DYNC__FN dync__node *dync__number_node(dync__tracer *t, dync__number *x)
{
    return dync__tracer_node(t, x->fake);
}

/* ---- calls ----------------------------------------------------------------------------------- */
/* Deep copy of arguments in which tensors are nodes; lists into the graph's arena. */
DYNC__FN dync_status dync__tracer_args(dync__tracer *t, int n, const dync__arg *in, dync__arg *out)
{
    dync__number **operand = t->rec.operand;
    t->rec.operand = NULL; /* of the call itself, not of lists in it */
    for (int i = 0; i < n; i++) {
        out[i] = in[i];
        if (operand && operand[i]) {
            out[i] = dync__arg_node(dync__number_node(t, operand[i]));
            if (!out[i].as.node) return DYNC_ERR_MEMORY;
        } else if (in[i].kind == DYNC__A_TENSOR) {
            out[i].kind = DYNC__A_NODE;
            out[i].as.node = dync__tracer_node(t, in[i].as.t);
            if (!out[i].as.node) return DYNC_ERR_MEMORY;
        } else if (in[i].kind == DYNC__A_LIST) {
            if (!dync__tracer_graph(t)) return DYNC_ERR_MEMORY;
            out[i].as.list =
                dync__arena_alloc(&t->rec.graph->arena, (size_t)(in[i].n + 1) * sizeof *out);
            if (!out[i].as.list) return DYNC_ERR_MEMORY;
            DYNC__TRY(dync__tracer_args(t, in[i].n, in[i].as.list, out[i].as.list));
        }
    }
    return DYNC_OK;
}

DYNC__FN dync_status dync__tracer_adopt_args(dync__tracer *t, int n, dync__arg *args)
{
    for (int i = 0; i < n; i++) {
        if (args[i].kind == DYNC__A_TENSOR) {
            args[i].as.t = dync__tracer_adopt(t, args[i].as.t);
            if (!args[i].as.t) return dync_error() != DYNC_OK ? dync_error() : DYNC_ERR_MEMORY;
        } else if (args[i].kind == DYNC__A_LIST) {
            DYNC__TRY(dync__tracer_adopt_args(t, args[i].n, args[i].as.list));
        }
    }
    return DYNC_OK;
}

DYNC__FN bool dync__args_require_grad(int n, const dync__arg *args)
{
    for (int i = 0; i < n; i++) {
        if (args[i].kind == DYNC__A_TENSOR && (args[i].as.t->flags & DYNC__T_REQUIRES_GRAD))
            return true;
        if (args[i].kind == DYNC__A_LIST && dync__args_require_grad(args[i].n, args[i].as.list))
            return true;
    }
    return false;
}

/* Of tensors that are read for their sizes alone nothing comes. */
DYNC__FN bool dync__opcall_requires_grad(const dync__opcall *c)
{
    int n = c->row->flags & DYNC__OP_SIZES ? 1 : c->nargs;
    return !dync__grad_is_off() && !(c->row->flags & DYNC__OP_NONDIFF) &&
           dync__args_require_grad(n, c->args);
}

/* ---- results --------------------------------------------------------------------------------- */
/* A write has given self a history: so have its base and the other views of that which were made in
 * grad mode. */
static const dync__node *dync__tracer_base(const dync__tensor *x)
{
    const dync__node *n = x->node;
    while (
        n && n->op >= 0 && !n->no_grad && !dync__node_has(n, DYNC__OP_CUTS_GRAD) &&
        (dync__op_info(n->op)->cls == DYNC__VIEW || dync__op_info(n->op)->cls == DYNC__COMPOSITE) &&
        n->args[0].kind == DYNC__A_NODE)
        n = n->args[0].as.node;
    return n;
}

static void dync__tracer_spread(dync__tracer *t, const dync__tensor *self)
{
    const dync__node *base = dync__tracer_base(self);
    int env = !base ? self->node_output : base->kind == DYNC__N_PLACEHOLDER ? base->env : -1;
    for (int i = 0; i < t->rec.made.n + t->env.fake.n; i++) {
        dync__tensor *x = i < t->rec.made.n ? t->rec.made.at[i] : t->env.fake.at[i - t->rec.made.n];
        const dync__node *its = dync__tracer_base(x);
        int other = !its ? x->node_output : its->kind == DYNC__N_PLACEHOLDER ? its->env : -1;
        if (x == self || !dync__tracer_same_memory(t, x, self)) continue;
        bool real = env >= 0 && other >= 0 && t->env.real.at[env] && t->env.real.at[other];
        bool same = real ? dync__tensor_shares_history(t->env.real.at[env], t->env.real.at[other])
                         : its == base && env == other;
        if (same) x->flags |= DYNC__T_REQUIRES_GRAD | DYNC__T_WRITTEN;
    }
}

DYNC__FN bool dync__record_made(dync__tracer *t, dync__tensor *fake, dync__node *of)
{
    if (!dync__vec_push(&t->rec.made, fake)) {
        dync__unref(fake);
        return false;
    }
    fake->trace_id = t->id;
    fake->node = of;
    return true;
}

static bool dync__dtype_is_float(int dtype) { return dync__dtype_info(dtype)->kind == 'f'; }

/* The outputs of a recorded call as fakes of this trace: one node, or a getitem node each where
 * there are several. */
static dync_status dync__tracer_outputs(dync__tracer *t, dync__opcall *c, dync__node *n)
{
    bool grad = dync__opcall_requires_grad(c);
    for (int i = 0; i < c->nout; i++) {
        dync__tensor *x = c->out[i];
        if (!x) continue;
        bool floats = dync__dtype_is_float(x->dtype);
        if (c->row->cls == DYNC__INPLACE) {
            if (grad && floats) {
                if (!(x->flags & DYNC__T_REQUIRES_GRAD)) dync__tracer_spread(t, x);
                x->flags |= DYNC__T_REQUIRES_GRAD | DYNC__T_WRITTEN;
            }
            n->requires_grad[i] = (x->flags & DYNC__T_REQUIRES_GRAD) != 0;
            /* the tensor keeps its node: the graph says `x.add_(y)`, later uses read x */
            continue;
        }
        dync__node *of = c->nout > 1 ? dync__graph_getitem(t->rec.graph, n, i) : n;
        if (!of) return DYNC_ERR_MEMORY;
        if (grad && floats) x->flags |= DYNC__T_REQUIRES_GRAD;
        n->requires_grad[i] = of->requires_grad[0] = (x->flags & DYNC__T_REQUIRES_GRAD) != 0;
        /* an operator that returned its argument: later uses read the operator, the value is one */
        bool returned = x->trace_id == t->id && x->node;
        of->before = returned ? x->node : NULL;
        if (returned) {
            x->node = of;
            continue;
        }
        dync__ref(x);
        if (!dync__record_made(t, x, of)) return DYNC_ERR_MEMORY;
    }
    return DYNC_OK;
}

/* ---- nodes ----------------------------------------------------------------------------------- */
/* "L['self'].block.fc1" of the module whose forward runs, from the module that is compiled or the
 * outermost one. NULL: none. */
static const char *dync__tracer_module(dync__tracer *t)
{
    const dync__module *m = dync__module_running(), *root = dync__callee_module(&t->fn->callee),
                       *path[32];
    int n = 0;
    for (; m && m != root && n < DYNC__COUNT_OF(path); m = m->parent) path[n++] = m;
    if (n == 0) return NULL;
    static const char self[] = "self", module[] = "module", own[] = ".%s";
    dync__str s = {0};
    dync__str_addf(&s, "L['%s']", m ? self : path[--n]->name ? path[n]->name : module);
    while (n > 0) {
        n--;
        dync__str_addf(&s, own, path[n]->name ? path[n]->name : module);
    }
    const char *source = s.failed ? NULL
                                  : dync__arena_strdup(&t->rec.graph->arena, dync__str_get(&s));
    dync__str_free(&s);
    return source;
}

/* Does the tape take what the call gives for views? (What is detached is itself.) */
static bool dync__tracer_views(const dync__opcall *c)
{
    if ((c->row->cls != DYNC__VIEW && c->row->cls != DYNC__COMPOSITE) ||
        c->row->flags & DYNC__OP_NONDIFF || !c->nargs || c->args[0].kind != DYNC__A_TENSOR)
        return false;
    const dync__tensor *of = c->args[0].as.t, *to = c->nout ? c->out[0] : NULL;
    return to && to->storage == of->storage;
}

DYNC__FN dync_status dync__tracer_record(dync__tracer *t, dync__opcall *c)
{
    dync__arg args[DYNC__MAX_ARGS];
    dync__info info[DYNC__MAX_OUT];
    memset(info, 0, sizeof info);
    dync__number **operand = t->rec.operand;
    if (!dync__tracer_graph(t)) return DYNC_ERR_MEMORY;
    DYNC__TRY(dync__tracer_args(t, c->nargs, c->args, args));
    for (int i = 0; i < c->nout; i++) dync__info_of(&info[i], c->out[i], -1);
    dync__node *n = dync__graph_call(t->rec.graph, c->op, c->nargs, args, c->nout, info, NULL);
    if (!n) return DYNC_ERR_MEMORY;
    n->at = c->at;
    n->no_grad = dync__grad_is_off();
    n->view = dync__tracer_views(c);
    n->handed = n->view && c->out[0] == c->args[0].as.t;
    n->source = dync__tracer_module(t);
    t->rec.pending++;
    DYNC__TRY(dync__tracer_outputs(t, c, n));
    dync__script_op(t, c, operand);
    return DYNC_OK;
}

/* Grad mode is a node of the graph and counts for what is recorded next. */
DYNC__FN dync_status dync__record_grad_mode(dync__tracer *t, const dync__opcall *c)
{
    if (c->at.file) t->last_at = c->at;
    dync__script_op(t, c, NULL);
    dync__node *n = dync__tracer_graph(t)
                        ? dync__graph_call(t->rec.graph, c->op, 1, c->args, 0, NULL, NULL)
                        : NULL;
    dync__grad_off(!c->args[0].as.i);
    if (!n) return dync__tracer_fail(t, dync__fail_memory(0));
    n->env = -1;
    t->rec.pending++;
    return t->status;
}

/* A real tensor becomes an attribute of the graph; its fake, in the scope. NULL + error. */
DYNC__FN dync_tensor *dync__trace_bake(dync__tracer *t, dync__tensor *real)
{
    dync__layout lay = real->lay;
    dync__node *n = dync__tracer_graph(t) ? dync__graph_constant(t->rec.graph, real) : NULL;
    dync__tensor *fake = n ? dync__tensor_fake(real->dtype, real->device, &lay) : NULL;
    if (!fake || !dync__record_made(t, fake, n)) {
        dync__tracer_fail(t, dync__fail_memory(0));
        return NULL;
    }
    n->env = -1;
    t->rec.pending++;
    dync__ref(fake);
    if (dync__lints()) dync__lints()->constant(t, real, fake);
    return dync__give(fake);
}
