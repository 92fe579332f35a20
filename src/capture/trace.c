/* capture/trace.c: the recording handler. A C function runs once over fake tensors; every operator
 * that passes dispatch becomes a node of the pending graph. After segment.c, before cut.c, which
 * turns the pending graph into segments at breaks and at the end.
 *
 * A fake belongs to a trace by trace_id. While its operator is pending, fake->node is its node;
 * once cut (or for inputs from the start) node is NULL and node_output is its place in the
 * environment. */
#include "../dync.in.h"
#include "trace.h"
#include "../autograd/node.h"

DYNC__FN dync__tracer *dync__tracer_peek(void) { return dync__tls.capture_state; }
DYNC__FN dync__tracer *dync__tracer_current(void)
{
    dync__tracer *t = dync__tls.capture_state;
    if (t) t->way->own(t);
    return t;
}

DYNC__FN bool dync__tracer_owns(const dync__tracer *t, const dync__tensor *x)
{
    return (x->flags & DYNC__T_FAKE) &&
           (x->trace_id == t->id || (t->inferring && x->trace_id == ~t->id));
}

DYNC__FN dync_status dync__tracer_fail(dync__tracer *t, dync_status status)
{
    if (t->status == DYNC_OK) t->status = status;
    t->stopped = true;
    return status;
}

/* ---- the environment ------------------------------------------------------------------------- */
/* Adds a value: real (a reference is taken, may be NULL) and its fake (taken over). */
DYNC__FN int dync__tracer_env_add(dync__tracer *t, dync__tensor *real, dync__tensor *fake)
{
    int n = t->env.real.n;
    if (!fake || !dync__vec_reserve(&t->env.real, n + 1) ||
        !dync__vec_reserve(&t->env.fake, n + 1) || !dync__vec_reserve(&t->env.holder, n + 1) ||
        !dync__vec_reserve(&t->env.origin, n + 1)) {
        dync__unref(fake);
        return -1;
    }
    if (real) dync__ref(real);
    t->env.real.at[t->env.real.n++] = real;
    t->env.fake.at[t->env.fake.n++] = fake;
    t->env.holder.at[t->env.holder.n++] = NULL;
    t->env.origin.at[t->env.origin.n++] = (dync__origin){NULL, NULL, 0, 0, false};
    fake->trace_id = t->id;
    fake->node = NULL;
    fake->node_output = n;
    return n;
}

static dync__tensor *dync__fake_of(const dync__tensor *real, const dync__layout *lay)
{
    dync__tensor *fake = dync__tensor_fake(real->dtype, real->device, lay);
    if (!fake) return NULL;
    fake->storage->size_bytes = real->storage->size_bytes;
    fake->flags |= real->flags & (DYNC__T_REQUIRES_GRAD | DYNC__T_PARAMETER);
    fake->name = real->name;
    return fake;
}

/* A real tensor met for the first time: an argument, or a foreign one (a global, a module's
 * parameter). */
DYNC__FN int dync__tracer_env_real(dync__tracer *t, dync__tensor *real)
{
    return dync__tracer_env_add(t, real, dync__fake_of(real, &real->lay));
}

static const char *dync__foreign_source(dync__tracer *t, const dync__tensor *real,
                                        dync__cache_entry *e)
{
    dync__module *root = dync__callee_module(&t->fn->callee);
    dync__str path = {0};
    const char *source = NULL;
    if (root && dync__module_path_of(root, real, &path))
        source = dync__arena_printf(&e->arena, "L['self'].%s", dync__str_get(&path));
    for (int i = 0; !source && i < e->modules.n; i++) {
        dync__str_free(&path);
        const dync__module_guard *g = &e->modules.at[i];
        const char *name = g->text                               ? g->text
                           : g->module->name && *g->module->name ? g->module->name
                                                                 : "net";
        if (dync__module_path_of(g->module, real, &path))
            source = dync__arena_printf(&e->arena, "G['%s'].%s", name, dync__str_get(&path));
    }
    dync__str_free(&path);
    if (!source && real->name) source = dync__arena_printf(&e->arena, "G['%s']", real->name);
    return source ? source : dync__arena_printf(&e->arena, "G['tensor_%d']", e->foreign.n);
}

/* The record of a foreign tensor: by the variable where it was declared, else by (handle, id). */
static int dync__foreign_find(const dync__cache_entry *e, const dync__tensor *real,
                              dync_tensor **address)
{
    int k = 0;
    for (; k < e->foreign.n; k++) {
        const dync__foreign *f = &e->foreign.at[k];
        if (f->owner) continue;
        if (address      ? f->address == address
            : f->address ? dync__peek(*f->address) == real
                         : f->id == real->id)
            break;
    }
    return k;
}

/* Where a foreign tensor stands in the environment; it is guarded and held weakly by (handle, id),
 * or read again from its address. */
DYNC__FN int dync__record_foreign(dync__tracer *t, dync__tensor *real,
                                  dync_tensor **address_or_null, const char *source_or_null)
{
    dync__cache_entry *e = t->entry;
    int env = -1, k = dync__foreign_find(e, real, address_or_null);
    /* the entry has it beside the arguments, whatever it is now */
    bool apart = k < e->foreign.n && e->foreign.at[k].guard.same_as < 0;
    for (int i = apart ? e->n_leaf_env : 0; env < 0 && i < t->env.real.n; i++)
        if (t->env.real.at[i] == real && !t->env.origin.at[i].is_grad)
            env = i; /* a gradient is guarded through its owner, this one by itself */
    if (env >= e->n_leaf_env) return env;
    /* the variable holds one of this call's arguments: guarded, it may differ later */
    bool argument = env >= 0;
    if (!argument) {
        env = dync__tracer_env_real(t, real);
        dync__script_foreign(t, env);
    }
    /* off the tree nothing is kept: the next call meets it anew */
    if (env < 0 || !t->on_tree) return env;
    if (k == e->foreign.n) {
        dync__foreign f = {
            .handle = dync__handle(real), .id = real->id, .address = address_or_null};
        const char *source = source_or_null ? source_or_null : dync__foreign_source(t, real, e);
        if (!source || dync__tensor_guard_make(&e->arena, &f.guard, real, source) != DYNC_OK)
            return -1;
        dync__foreign_aliases(e, t->call, &f, real);
        if (!dync__entry_push(e, &e->foreign, f)) return -1;
    }
    t->env.origin.at[env].foreign = argument ? 0 : k + 1;
    /* in place already; on a replayed way it is recorded */
    if (argument || !t->at) return env;
    dync__foreign_use use = {.env = env, .index = k};
    return dync__avec_push(&e->arena, &t->at->foreign, use) ? env : -1;
}

/* The fake a tensor stands as in this trace; NULL + error. */
DYNC__FN dync__tensor *dync__tracer_adopt(dync__tracer *t, dync__tensor *x)
{
    if (dync__tracer_owns(t, x)) return x;
    if (x->flags & DYNC__T_FAKE) {
        dync__fail(
            DYNC_ERR_VALUE,
            "expected a tensor of this call, got one that was made while another call was traced "
            "and kept in a variable (made by %s)",
            x->op ? x->op : "?");
        return NULL;
    }
    int env = t->way->foreign(t, x, NULL, NULL);
    return env < 0 ? NULL : t->env.fake.at[env];
}

/* ---- nodes ----------------------------------------------------------------------------------- */
static dync__info dync__info_of(const dync__tensor *x)
{
    dync__info m = {.dtype = x->dtype, .device = x->device, .lay = x->lay, .alias = -1};
    return m;
}

/* L['bc'][0] -> L_bc_0_, the name Dynamo gives. */
static const char *dync__source_name(dync__arena *arena, const char *source, char name[64])
{
    size_t n = 0;
    bool gap = false;
    for (const char *p = source; *p && n < 60; p++) {
        bool word = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') ||
                    (*p >= '0' && *p <= '9') || *p == '_';
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
        if (t->env.leaf[i] == env) return e->tensor[i].source;
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
    t->rec.grad_off = dync__tls.grad_enabled_off;
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
    dync__info info = dync__info_of(t->env.fake.at[env]), *known = text ? NULL : &info;
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

static dync_status dync__tracer_adopt_args(dync__tracer *t, int n, dync__arg *args)
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

static bool dync__dtype_is_float(int dtype) { return dync__dtype_info(dtype)->kind == 'f'; }

/* The real storage that a fake one stands for; NULL: none, it is of this graph. */
static const dync__storage *dync__tracer_real_storage(const dync__tracer *t,
                                                      const dync__storage *fake)
{
    for (int i = 0; i < t->env.fake.n; i++)
        if (t->env.fake.at[i]->storage == fake && t->env.real.at[i])
            return t->env.real.at[i]->storage;
    return NULL;
}

DYNC__FN bool dync__tracer_same_memory(const dync__tracer *t, const dync__tensor *a,
                                       const dync__tensor *b)
{
    const dync__storage *real = a->storage == b->storage ? NULL
                                                         : dync__tracer_real_storage(t, a->storage);
    return a->storage == b->storage || (real && real == dync__tracer_real_storage(t, b->storage));
}

/* A write has given self a history: so have its base and the other views of that. */
static const dync__node *dync__tracer_base(const dync__tensor *x)
{
    const dync__node *n = x->node;
    while (
        n && n->op >= 0 && !dync__node_has(n, DYNC__OP_CUTS_GRAD) &&
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

/* The outputs of a recorded call as fakes of this trace: one node, or a getitem node each where
 * there are several. */
static dync_status dync__tracer_outputs(dync__tracer *t, dync__opcall *c, dync__node *n)
{
    bool grad = !dync__tls.grad_enabled_off && !(c->row->flags & DYNC__OP_NONDIFF) &&
                dync__args_require_grad(c->nargs, c->args);
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
        x->trace_id = t->id;
        x->node = of;
        dync__ref(x);
        if (!dync__vec_push(&t->rec.made, x)) {
            dync__unref(x);
            return DYNC_ERR_MEMORY;
        }
    }
    return DYNC_OK;
}

/* "L['self'].block.fc1" of the module whose forward runs, from the module that is compiled or the
 * outermost one. NULL: none. */
static const char *dync__tracer_module(dync__tracer *t)
{
    const dync__module *m = dync__module_running(), *root = dync__callee_module(&t->fn->callee),
                       *path[32];
    int n = 0;
    for (; m && m != root && n < DYNC__COUNT_OF(path); m = m->parent) path[n++] = m;
    if (n == 0) return NULL;
    dync__str s = {0};
    dync__str_addf(&s, "L['%s']", m ? "self" : path[--n]->name ? path[n]->name : "module");
    while (n > 0) {
        n--;
        dync__str_addf(&s, ".%s", path[n]->name ? path[n]->name : "module");
    }
    const char *source = s.failed ? NULL
                                  : dync__arena_strdup(&t->rec.graph->arena, dync__str_get(&s));
    dync__str_free(&s);
    return source;
}

DYNC__FN dync_status dync__tracer_record(dync__tracer *t, dync__opcall *c)
{
    dync__arg args[DYNC__MAX_ARGS];
    dync__info info[DYNC__MAX_OUT];
    memset(info, 0, sizeof info);
    dync__number **operand = t->rec.operand;
    if (!dync__tracer_graph(t)) return DYNC_ERR_MEMORY;
    DYNC__TRY(dync__tracer_args(t, c->nargs, c->args, args));
    for (int i = 0; i < c->nout; i++) info[i] = dync__info_of(c->out[i]);
    dync__node *n = dync__graph_call(t->rec.graph, c->op, c->nargs, args, c->nout, info, NULL);
    if (!n) return DYNC_ERR_MEMORY;
    n->at = c->at;
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
    dync__tls.grad_enabled_off = !c->args[0].as.i;
    if (!n) return dync__tracer_fail(t, dync__fail_memory(0));
    n->env = -1;
    t->rec.pending++;
    return t->status;
}

static void dync__drop_outputs(dync__opcall *c)
{
    for (int i = 0; i < c->nout; i++) {
        dync__unref(c->out[i]);
        c->out[i] = NULL;
    }
}

/* Operators that need data: the shape of the result depends on it. Run really, after a cut; the
 * result is a fresh input. */
static dync_status dync__tracer_opaque_op(dync__tracer *t, dync__opcall *c)
{
    char reason[96];
    dync__script_stop(t);
    dync__format(reason, sizeof reason, "dynamic shape operator: aten.%s.default", c->row->name);
    dync_status status = dync__trace_break(t, reason, NULL);
    dync__arg args[DYNC__MAX_ARGS];
    for (int i = 0; i < c->nargs && status == DYNC_OK; i++) {
        args[i] = c->args[i];
        if (args[i].kind == DYNC__A_TENSOR && !(args[i].as.t = dync__trace_real(t, args[i].as.t)))
            status = DYNC_ERR_MEMORY;
    }
    if (status != DYNC_OK) return status;
    dync__opcall real = *c;
    real.args = args;
    dync__trace_pause pause = dync__trace_pause_begin(t);
    status = dync__dispatch(&real);
    dync__trace_pause_end(t, pause);
    c->nout = real.nout;
    for (int i = 0; i < c->nout && status == DYNC_OK; i++) {
        int env = dync__tracer_env_real(t, real.out[i]);
        dync__unref(real.out[i]);
        if (env < 0) return DYNC_ERR_MEMORY;
        dync__ref(c->out[i] = t->env.fake.at[env]);
    }
    return status;
}

/* The entry needs a guard that it was not asked for so far: a call that it served may not fit what
 * it would guard. */
DYNC__FN void dync__tracer_guard_more(dync__tracer *t, bool *kind)
{
    if (!t->on_tree || DYNC__ATOMIC_PEEK(kind)) return;
    DYNC__ATOMIC_STORE(kind, true);
    if (t->path.n && !dync__guards_hold(t->entry, t->call))
        DYNC__ATOMIC_STORE(&t->entry->dead, true);
}

/* The arguments as fakes of this trace, and what a guard must know of the call. */
DYNC__FN dync_status dync__tracer_enter(dync__tracer *t, dync__opcall *c)
{
    if (t->stopped) return t->status != DYNC_OK ? t->status : DYNC_ERR_RUNTIME;
    dync_status status = dync__tracer_adopt_args(t, c->nargs, c->args);
    if (status != DYNC_OK) return status;
    t->last_at = c->at;
    if (c->at.file && !DYNC__ATOMIC_PEEK(&t->fn->file)) {
        DYNC__ATOMIC_STORE(&t->fn->line, c->at.line);
        DYNC__ATOMIC_STORE(&t->fn->file, c->at.file);
    }
    if (DYNC__UNLIKELY(t->symbols.sizes != NULL) && (status = dync__opcall_numbers(c)) != DYNC_OK)
        return dync__tracer_fail(t, status);
    /* counts from the storage's beginning */
    if (c->row->flags & DYNC__OP_BEYOND) dync__tracer_guard_more(t, &t->entry->offsets);
    if (c->row->cls == DYNC__INPLACE || (c->row->flags & DYNC__OP_WRITES))
        dync__tracer_guard_more(t, &t->entry->mutates);
    return DYNC_OK;
}

/* Fakes as results, and a node. */
DYNC__FN dync_status dync__tracer_answer(dync__tracer *t, dync__opcall *c)
{
    if (c->row->flags & DYNC__OP_DATA_SHAPE) return dync__tracer_opaque_op(t, c);
    DYNC__TRY(dync__op_fake(c));
    dync_status status = dync__tracer_record(t, c);
    if (status != DYNC_OK) {
        dync__drop_outputs(c);
        return dync__tracer_fail(t, dync__fail_memory(0));
    }
    dync__lint_op(t, c);
    return DYNC_OK;
}

DYNC__FN dync_status dync__tracer_call(dync__handler *self, dync__opcall *c)
{
    dync__tracer *t = self->state;
    dync__number *operand[DYNC__MAX_ARGS];
    if (c->op == DYNC__OP__set_grad_enabled) return dync__record_grad_mode(t, c);
    DYNC__TRY(dync__tracer_enter(t, c));
    DYNC__TRY(dync__tracer_leaf_written(c));
    if (t->symbols.number.n) {
        dync__number_operands(t, c, operand);
        t->rec.operand = operand;
    }
    dync_status status = dync__tracer_answer(t, c);
    t->rec.operand = NULL;
    return status;
}

/* What the tape says before anything else when the program runs eagerly: an in-place write to a
 * leaf that requires grad, or to a view of one, in grad mode. */
DYNC__FN dync_status dync__tracer_leaf_written(const dync__opcall *c)
{
    if (c->row->cls != DYNC__INPLACE || dync__tls.grad_enabled_off || !c->nargs ||
        c->args[0].kind != DYNC__A_TENSOR)
        return DYNC_OK;
    const dync__tensor *x = c->args[0].as.t;
    if (!(x->flags & DYNC__T_REQUIRES_GRAD) || x->node || (x->flags & DYNC__T_WRITTEN))
        return DYNC_OK;
    const dync__tracer *t = dync__tracer_peek();
    dync__tensor *real = t && dync__tracer_owns(t, x) ? t->env.real.at[x->node_output] : NULL;
    return real ? dync__inplace_check(real) : DYNC_OK;
}

/* ---- opening and closing --------------------------------------------------------------------- */
DYNC__FN dync_status dync__tracer_open(dync__tracer *t, dync__compiled *f, dync__cache_entry *e,
                                       const dync__callargs *call, const dync__path *path_or_null)
{
    static uint64_t ids;
    memset(t, 0, sizeof *t);
    t->fn = f;
    t->entry = e;
    t->call = call;
    t->id = DYNC__ATOMIC_INC(&ids);
    t->handler.call = dync__tracer_call;
    t->handler.state = t;
    t->way = dync__recording_way();
    t->outer = dync__tls.capture_state;
    t->frames_before = DYNC__ATOMIC_PEEK(&f->n_frames);
    t->grad_mode_before = !dync__tls.grad_enabled_off;
    dync__tls.capture_state = t;
    dync__tls.compiling = true;
    dync__handler_push(&t->handler);
    t->symbols.outer = dync__tls.syms;
    dync__tls.syms = NULL;
    bool fresh = !e->leaf_env,
         scripted = !path_or_null && DYNC__ATOMIC_LOAD(&e->open) && !dync__capture_log_now;
    if (path_or_null) dync__path_begin(t, path_or_null);
    if (scripted && dync__replay_begin(t)) return t->status;
    DYNC__TRY(dync__shapes_open(t));
    if (fresh && !(e->leaf_env = dync__arena_alloc(&e->arena, (size_t)(call->n_tensors + 1) *
                                                                  sizeof *e->leaf_env)))
        return DYNC_ERR_MEMORY;
    for (int i = 0; i < call->n_tensors; i++) {
        int same = e->tensor[i].same_as;
        t->env.leaf[i] =
            same >= 0 ? t->env.leaf[same]
                      : dync__tracer_env_add(
                            t, call->tensor[i],
                            dync__fake_of(call->tensor[i],
                                          t->symbols.sizes ? &e->leaf[i] : &call->tensor[i]->lay));
        if (t->env.leaf[i] < 0) return DYNC_ERR_MEMORY;
        if (fresh) e->leaf_env[i] = t->env.leaf[i];
    }
    if (fresh) e->n_leaf_env = t->env.real.n;
    DYNC__TRY(dync__numbers_open(t));
    if (scripted) dync__script_begin(t);
    return DYNC_OK;
}

DYNC__FN void dync__tracer_close(dync__tracer *t)
{
    bool failed = t->status != DYNC_OK;
    t->way->close(t);
    dync__taped_close(t);
    dync__effects_free(t);
    dync__numbers_close(t);
    for (int i = 0; i < t->rec.made.n; i++) {
        t->rec.made.at[i]->node = NULL;
        if (!dync__script_takes(t, t->rec.made.at[i])) dync__unref(t->rec.made.at[i]);
    }
    for (int i = 0; i < t->env.real.n; i++) {
        dync__unref(t->env.real.at[i]);
        dync__unref(t->env.fake.at[i]);
    }
    dync__graph_unref(t->rec.graph);
    for (int i = 0; i < t->transient.n; i++) dync__segment_free(t->transient.at[i]);
    dync__vec_free(&t->transient);
    dync__vec_free(&t->rec.made);
    dync__vec_free(&t->env.real);
    dync__vec_free(&t->env.fake);
    dync__vec_free(&t->env.holder);
    dync__vec_free(&t->env.origin);
    dync__vec_free(&t->rec.frames);
    dync__arena_free(&t->scratch);
    dync__script_end(t, failed);
    dync__handler_pop(&t->handler);
    dync__tls.capture_state = t->outer;
    dync__tls.compiling = t->outer != NULL;
    dync__shapes_close(t);
}

/* Real work in the middle of a trace (an opaque call, a backend): as if no trace were open. */
DYNC__FN dync__trace_pause dync__trace_pause_begin(dync__tracer *t)
{
    dync__trace_pause p = {dync__handler_swap(NULL), dync__tls.compiling};
    dync__tls.compiling = false;
    dync__tls.capture_state = NULL;
    dync__tls.syms = NULL;
    if (t->tape.on) dync__bottom_swap(t->tape.bottom_before);
    return p;
}
DYNC__FN void dync__trace_pause_end(dync__tracer *t, dync__trace_pause p)
{
    dync__handler_swap(p.top);
    if (t->tape.on) dync__bottom_swap(&t->tape.recorder);
    dync__tls.compiling = p.compiling;
    dync__tls.capture_state = t;
    dync__tls.syms = t->symbols.sizes;
}

/* The arguments as the traced function sees them: tensors are fakes, lists are rebuilt. */
typedef struct dync__trace_leaves {
    dync__tracer *t;
    int k;
} dync__trace_leaves;
static dync_tensor *dync__trace_leaf(void *user, dync_tensor *h)
{
    dync__trace_leaves *l = user;
    (void)h;
    return dync__handle(l->t->env.fake.at[l->t->env.leaf[l->k++]]);
}

DYNC__FN dync_status dync__trace_arguments(dync__tracer *t, dync_value *out)
{
    dync__trace_leaves leaves = {t, 0};
    for (int i = 0; i < t->call->nargs; i++) {
        if (dync__number_argument(t, i, &out[i])) continue;
        out[i] = dync__value_map(t->call->args[i], dync__trace_leaf, &leaves);
        if (out[i].kind == DYNC_KIND_NONE && t->call->args[i].kind != DYNC_KIND_NONE)
            return DYNC_ERR_MEMORY;
    }
    return DYNC_OK;
}
