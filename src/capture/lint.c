/* capture/lint.c: dync_set_lint, DYNC_LINT=1. The first compile of a function traces it twice, and
 * the second, tenth and hundredth call once more; a difference is an impure read: a C variable that
 * guards do not know, whose value of that moment would be baked in. After callback.c, before
 * trace.c, which reports what it records here.
 *
 * The first trace is the real one and fills a tape: operators with constants, constant tensors,
 * outcomes of branches, numbers returned. The second one runs nothing: branches go the way the tape
 * says, and its rows are compared with the tape's. A function with an opaque break must not run
 * twice for one call: it is traced again by the next call that its entry serves, and that trace is
 * compared, up to the first break, after which values decide. */
#include "../dync.in.h"
#include "lint.h"
DYNC__COLD

static const char dync__lint_true[] = "true", dync__lint_false[] = "false";
static DYNC__TLS dync__lint *dync__lint_now;

static dync__lint *dync__lint_of(const dync__tracer *t)
{
    dync__lint *l = dync__lint_now;
    return DYNC__UNLIKELY(l != NULL) && l->entry == t->entry && !l->failed && !l->over ? l : NULL;
}

/* ---- rows ------------------------------------------------------------------------------------ */
static void dync__lint_tensor(const dync__lint *l, const dync__tracer *t, const dync__tensor *x,
                              dync__str *s)
{
    uint64_t place;
    if (dync__map_get(&l->made, x->id, &place))
        dync__str_addf(s, "%%%d.%d", (int)(place / DYNC__MAX_OUT), (int)(place % DYNC__MAX_OUT));
    else if (!x->node && x->node_output < t->entry->n_leaf_env) {
        dync__str_addf(s, "@L%d",
                       (int)x->node_output); /* an argument: another tensor in the next call */
        dync__shape_text(s, x->lay.ndim, x->lay.shape);
    } else if (!x->node && x->node_output < t->env.real.n && t->env.real.at[x->node_output]) {
        if (t->env.origin.at[x->node_output].is_grad) /* another one in every call */
            dync__str_add(s, "@grad");
        else
            dync__str_addf(s, "@%llu", (unsigned long long)t->env.real.at[x->node_output]->id);
    }
}

/* A size or a number: a symbolic one by its symbols, which are those of both traces. A token that
 * was computed with is no symbol: it is told, as it is another number in the second trace. */
static void dync__lint_number(const dync__tracer *t, int64_t bits, dync__str *s)
{
    char number[40];
    if (dync__symtab_find(t->symbols.sizes, bits)) {
        dync__symtab_text(t->symbols.sizes, bits, false, s);
        return;
    }
    dync__double_text(dync__sf_double(bits), number, sizeof number);
    dync__str_add(s, number);
}

DYNC__FN uint64_t dync__lint_salt(const dync__tracer *t)
{
    dync__lint *l = dync__lint_of(t);
    if (!l || !l->second || l->entry->lint) return 0;
    l->salted = true;
    return 0x73616c74;
}

static void dync__lint_arg(const dync__lint *l, const dync__tracer *t, const dync__arg *a,
                           dync__str *s)
{
    switch ((dync__arg_kind)a->kind) {
    case DYNC__A_TENSOR: dync__lint_tensor(l, t, a->as.t, s); break;
    case DYNC__A_INT:
        if (dync__symtab_find(t->symbols.sizes, a->as.i))
            dync__symtab_text(t->symbols.sizes, a->as.i, false, s);
        else
            dync__str_addf(s, "%lld", (long long)a->as.i);
        break;
    case DYNC__A_BOOL: dync__str_add(s, a->as.i ? dync__lint_true : dync__lint_false); break;
    case DYNC__A_FLOAT: dync__lint_number(t, dync__sf_bits(a->as.f), s); break;
    case DYNC__A_DIMS: dync__shape_text(s, a->n, a->as.dims); break;
    case DYNC__A_DTYPE: dync__str_add(s, dync__dtype_info((int)a->as.i)->name); break;
    case DYNC__A_DEVICE: dync__str_addf(s, "device %lld", (long long)a->as.i); break;
    case DYNC__A_STR: dync__json_quote(s, a->as.s); break;
    case DYNC__A_PTR: dync__str_addf(s, "%p", a->as.p); break;
    case DYNC__A_LIST:
        for (int i = 0; i < a->n; i++) {
            dync__str_add(s, i ? ", " : "[");
            dync__lint_arg(l, t, &a->as.list[i], s);
        }
        dync__str_addc(s, ']');
        break;
    default: dync__str_add(s, "none"); break;
    }
}

static const char *dync__lint_row_name(const dync__lint_row *r)
{
    if (r->op == DYNC__LINT_BRANCH) return "a branch on a value";
    if (r->op == DYNC__LINT_RESULT) return "the result";
    if (r->op == DYNC__LINT_BREAK) return "a graph break";
    return r->op == DYNC__LINT_CONSTANT ? "dync_constant" : dync__op_info(r->op)->name;
}

/* ---- differences ----------------------------------------------------------------------------- */
static void dync__lint_tell(dync__lint *l, const char *what, dync_loc at, const char *more)
{
    if (l->told || dync_error() == DYNC_ERR_MEMORY) return;
    l->told = true;
    DYNC__COUNTER_ADD(lint_warnings, 1);
    char place[300] = "";
    if (at.file) dync__format(place, sizeof place, " at %.250s:%d", at.file, at.line);
    dync__warn(
        "lint: %s between two traces%s%s\n"
        "  A compiled function sees C variables as they were when it was traced: pass it as\n"
        "  an argument, declare it with dync_guard_int or dync_guard_tensor, or keep it in a\n"
        "  dync_cell.%s",
        what, place, more,
        l->salted ? " What dync_dim gives is no number to compute with: dync_size is." : "");
}

DYNC__FN void dync__lint_tell_row(dync__lint *l, const dync__lint_row *was,
                                  const dync__lint_row *now)
{
    char what[256];
    dync_loc at = now ? now->at : was->at;
    if (!was || !now)
        dync__format(what, sizeof what, "%s %s", dync__lint_row_name(was ? was : now),
                     was ? "disappeared" : "appeared");
    else
        dync__format(what, sizeof what, "%s became %s", dync__lint_row_name(was),
                     dync__lint_row_name(now));
    dync__lint_tell(l, what, at, "");
}

/* Are both texts of one argument, whatever its sizes? */
static bool dync__lint_same_argument(const char *a, const char *b)
{
    size_t n = strcspn(a, "[");
    return a[0] == '@' && a[1] == 'L' && a[n] && strncmp(a, b, n + 1) == 0;
}

static void dync__lint_compare(dync__lint *l, const dync__lint_row *now)
{
    const dync__lint_row *was = l->at < l->row.n ? &l->row.at[l->at++] : NULL;
    char what[256], more[256] = "";
    if (l->told) return;
    if (!was || was->op != now->op || was->nargs != now->nargs) {
        dync__lint_tell_row(l, was, now);
        return;
    }
    for (int i = 0; i < now->nargs; i++) {
        const char *a = was->arg[i], *b = now->arg[i];
        if (strcmp(a, b) == 0) continue;
        bool tensor = strpbrk(a, "%@") && a[0] != '"';
        if (tensor && dync__lint_same_argument(a, b)) {
            /* sizes that were different ones are equal in this call, and have one symbol */
            l->over = true;
            return;
        }
        if (tensor) {
            dync__format(what, sizeof what, "tensor %d of %s changed", i, dync__lint_row_name(now));
        } else {
            dync__format(what, sizeof what, "constant %.100s changed", a);
            dync__format(more, sizeof more, " (%s: now %.100s)", dync__lint_row_name(now), b);
        }
        dync__lint_tell(l, what, now->at, more);
        return;
    }
    if (was->data != now->data)
        dync__lint_tell(l, "the elements of a dync_constant changed", now->at, "");
}

static void dync__lint_add(dync__lint *l, const dync__lint_row *r)
{
    if (l->second)
        dync__lint_compare(l, r);
    else if (!dync__vec_push(&l->row, *r))
        l->failed = true;
}

/* The number of the row just added. */
static void dync__lint_name(dync__lint *l, const dync__tensor *x, int out)
{
    int row = (l->second ? l->at : l->row.n) - 1;
    if (x && !dync__map_put(&l->made, x->id, (uint64_t)row * DYNC__MAX_OUT + (uint64_t)out))
        l->failed = true;
}

/* ---- what trace.c, cut.c and reads.c report -------------------------------------------------- */
DYNC__FN void dync__lint_op(const dync__tracer *t, const dync__opcall *c)
{
    dync__lint *l = dync__lint_of(t);
    if (DYNC__LIKELY(!l)) return;
    dync__lint_row r = {.op = c->op, .at = c->at, .nargs = c->nargs};
    for (int i = 0; i < c->nargs && !l->failed; i++) {
        dync__str s = {0};
        dync__lint_arg(l, t, &c->args[i], &s);
        r.arg[i] = s.failed ? NULL : dync__arena_strdup(&l->arena, dync__str_get(&s));
        if (!r.arg[i]) l->failed = true;
        dync__str_free(&s);
    }
    if (l->failed) return;
    dync__lint_add(l, &r);
    for (int i = 0; i < c->nout; i++) dync__lint_name(l, c->out[i], i);
}

DYNC__FN void dync__lint_constant(const dync__tracer *t, const dync__tensor *real,
                                  const dync__tensor *fake)
{
    dync__lint *l = dync__lint_of(t);
    if (!l) return;
    dync__lint_row r = {.op = DYNC__LINT_CONSTANT, .at = dync__tls.at};
    if (real->storage->data && dync__device_is(real->device, DYNC__DEV_HOST))
        r.data = dync__hash_bytes(real->storage->data, real->storage->size_bytes, 0);
    dync__lint_add(l, &r);
    dync__lint_name(l, fake, 0);
}

DYNC__FN void dync__lint_branch(const dync__tracer *t, int64_t outcome)
{
    dync__lint *l = dync__lint_of(t);
    dync__lint_row r = {.op = DYNC__LINT_BRANCH, .at = t->last_at, .outcome = outcome};
    if (!l) return;
    const dync__lint_row *was = l->second && l->at < l->row.n ? &l->row.at[l->at] : NULL;
    /* other data, another way: no comparison */
    if (was && was->op == DYNC__LINT_BRANCH && was->outcome != outcome)
        l->over = true;
    else
        dync__lint_add(l, &r);
}

/* In the second trace: the outcome on tape. */
DYNC__FN bool dync__lint_answers(const dync__tracer *t, int64_t *outcome)
{
    dync__lint *l = dync__lint_of(t);
    /* a real call decides for itself */
    if (!l || !l->second || l->entry->lint) return false;
    const dync__lint_row *was = l->at < l->row.n ? &l->row.at[l->at] : NULL;
    dync__lint_row now = {.op = DYNC__LINT_BRANCH, .at = t->last_at};
    *outcome = was && was->op == DYNC__LINT_BRANCH ? was->outcome : 0;
    dync__lint_compare(l, &now);
    return true;
}

/* At an opaque break. In a second trace that runs nothing there is none to come to, unless the
 * function went another way: true. */
DYNC__FN bool dync__lint_stops(const dync__tracer *t, const char *reason)
{
    dync__lint *l = dync__lint_of(t);
    if (!l) return false;
    dync__lint_row r = {.op = DYNC__LINT_BREAK, .at = t->last_at};
    bool retrace = l->second && !l->entry->lint;
    if (!retrace) dync__lint_add(l, &r);
    l->over = true;
    if (!retrace) return false;
    char what[256];
    dync__format(what, sizeof what, "a graph break appeared (%.200s)", reason);
    dync__lint_tell(l, what, t->last_at, "");
    return true;
}

/* Numbers and texts that are returned are baked in. */
static void dync__lint_value(const dync_value *v, dync__str *s)
{
    char number[40];
    const dync__list *l;
    switch (v->kind) {
    case DYNC_KIND_INT: dync__str_addf(s, "%lld", (long long)v->as.i); break;
    case DYNC_KIND_BOOL: dync__str_add(s, v->as.b ? dync__lint_true : dync__lint_false); break;
    case DYNC_KIND_FLOAT:
        dync__double_text(v->as.f, number, sizeof number);
        dync__str_add(s, number);
        break;
    case DYNC_KIND_STR: dync__json_quote(s, v->as.s ? v->as.s : ""); break;
    case DYNC_KIND_TENSOR: dync__str_add(s, "tensor"); break;
    case DYNC_KIND_LIST:
        l = dync__value_list(*v);
        for (int i = 0; l && i < l->n; i++) {
            dync__str_add(s, i ? ", " : "[");
            dync__lint_value(&l->items[i], s);
        }
        dync__str_addc(s, ']');
        break;
    default: dync__str_add(s, "none"); break;
    }
}

DYNC__FN void dync__lint_result(const dync__tracer *t, const dync_value *result)
{
    dync__lint *l = dync__lint_of(t);
    if (!l) return;
    dync__lint_row r = {.op = DYNC__LINT_RESULT, .at = t->last_at, .nargs = 1};
    dync__str s = {0};
    dync__lint_value(result, &s);
    r.arg[0] = s.failed ? NULL : dync__arena_strdup(&l->arena, dync__str_get(&s));
    dync__str_free(&s);
    if (r.arg[0])
        dync__lint_add(l, &r);
    else
        l->failed = true;
}

/* The trace begins again, under the tape. */
DYNC__FN void dync__lint_restart(const dync__tracer *t)
{
    dync__lint *l = dync__lint_of(t);
    if (!l) return;
    l->row.n = l->at = 0;
    l->taped = true;
    dync__map_free(&l->made);
}

/* ---- the two traces ------------------------------------------------------------------------- */
/* Whose tape is written or compared from now on; returns the one before. */
DYNC__FN dync__lint *dync__lint_swap(dync__lint *now)
{
    dync__lint *before = dync__lint_now;
    dync__lint_now = now;
    return before;
}

DYNC__FN dync__lint *dync__lint_begin(const dync__cache_entry *e)
{
    dync__lint *l = dync__calloc(sizeof *l);
    if (!l) return NULL;
    l->entry = e;
    l->outer = dync__lint_now;
    dync__lint_now = l;
    return l;
}

DYNC__FN void dync__lint_free(dync__lint *l)
{
    if (!l) return;
    dync__vec_free(&l->row);
    dync__map_free(&l->made);
    dync__arena_free(&l->arena);
    dync__free(l, sizeof *l);
}

/* Around the trace of a call that an open entry serves: the first one is compared with the tape.
 * NULL: nothing to compare. */
DYNC__FN dync__lint *dync__lint_resume(dync__cache_entry *e)
{
    dync__lint *l = DYNC__ATOMIC_PEEK(&e->lint);
    if (DYNC__LIKELY(!l) || l->at || l->told) return NULL;
    int32_t idle = 0;
    if (!DYNC__ATOMIC_CAS(&e->lint_busy, &idle, 1)) return NULL; /* once, by one thread */
    l->outer = dync__lint_now;
    dync__lint_now = l;
    return l;
}

DYNC__FN void dync__lint_resumed(dync__lint *l)
{
    if (l) dync__lint_now = l->outer;
}
